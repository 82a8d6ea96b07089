//! Reads a document straight onto a tape, without a value in between.

use std::fmt;

use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

use crate::call_stack;
use crate::error::Result;
use crate::leaf::leaf_type::Emit;
use crate::leaf::sink::Sink;
use crate::leaf::{Scalar, visit_scalars};
use crate::model::{Leaf, Limits, NodeKind, Options, Tree, TreeDef, Value};

use super::tape::Tape;
use super::walk::Request;

/// Reads a document of a self-describing format into a tree, within limits.
///
/// With [`Limits::default`], use `Tree::<Leaf>::deserialize`, which `serde_json::from_str` calls. A
/// map that has a key twice is read with both entries: [`NodeRef::entry_keys`](crate::NodeRef) has
/// them next to each other.
///
/// Numbers are those that the reader of the format gives. serde_json gives an `f64` for a number that
/// 64 bits do not hold. With its feature `arbitrary_precision` it gives the text of each number, which a
/// tree keeps and which is written as a number again.
///
/// ```
/// use serde::de::DeserializeSeed;
/// use treedef::{Limits, TreeSeed};
///
/// let seed = TreeSeed::new(Limits::default().max_depth(2));
/// let json = &mut serde_json::Deserializer::from_str(r#"{"a": [1, [2]]}"#);
/// let error = seed.deserialize(json).unwrap_err();
/// assert!(error.to_string().starts_with("nested deeper than 2 levels at `[\"a\"][1]`"));
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct TreeSeed {
    limits: Limits,
}

impl TreeSeed {
    /// Reads within these limits.
    ///
    /// ```
    /// use serde::de::DeserializeSeed;
    /// use treedef::{Limits, TreeSeed};
    ///
    /// let json = &mut serde_json::Deserializer::from_str(r#"{"a": [1, 2]}"#);
    /// let tree = TreeSeed::new(Limits::default().max_depth(2)).deserialize(json).unwrap();
    /// assert_eq!(tree.to_string(), r#"{"a": [1u64, 2u64]}"#);
    /// ```
    pub fn new(limits: Limits) -> Self {
        TreeSeed { limits }
    }
}

impl<'de> DeserializeSeed<'de> for TreeSeed {
    type Value = Tree<Leaf>;

    fn deserialize<D: Deserializer<'de>>(self, document: D) -> Result<Tree<Leaf>, D::Error> {
        let leaves = Sink::Leaves(Vec::new());
        let mut tape = Tape::begin(Request::new(leaves, Options::default(), self.limits), None);
        match (Reader { tape: &mut tape, at: 0 }).deserialize(document) {
            Ok(at) => {
                let (treedef, leaves) = tape.finish(Ok(at)).map_err(de::Error::custom)?;
                let treedef = TreeDef { walked: false, ..treedef };
                let treedef = treedef.within_limits().map_err(de::Error::custom)?;
                Ok(Tree::from_parts(treedef, Leaf::from_sink(leaves)))
            }
            Err(error) => {
                tape.spare();
                Err(error)
            }
        }
    }
}

/// The variant as which `ciborium` tells a tag of CBOR: a number beside a value.
pub(crate) const CBOR_TAG: &str = "@@TAGGED@@";

/// Writes the next value. Returns the position behind it.
struct Reader<'t> {
    tape: &'t mut Tape,
    at: usize,
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, document: D) -> Result<usize, D::Error> {
        call_stack::grow!(document.deserialize_any(self))
    }
}

/// Writes a key, if there is one.
struct KeyReader<'t> {
    tape: &'t mut Tape,
    at: usize,
}

impl<'de> DeserializeSeed<'de> for KeyReader<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, document: D) -> Result<usize, D::Error> {
        let KeyReader { tape, at } = self;
        let outer = tape.expect_key();
        let next = Reader { tape, at }.deserialize(document)?;
        let came = tape.key_came(outer, next);
        told(tape, at, came)
    }
}

/// Writes an element of a sequence.
struct ElementReader<'t> {
    tape: &'t mut Tape,
    at: usize,
}

impl<'de> DeserializeSeed<'de> for ElementReader<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, document: D) -> Result<usize, D::Error> {
        let ElementReader { tape, at } = self;
        let next = Reader { tape, at }.deserialize(document)?;
        // A leaf writes nothing.
        Ok(if next == at { at } else { tape.element(next) })
    }
}

/// Makes an error of the tape one of the format, with the path. The format reports its own errors
/// itself.
fn told<E: de::Error>(tape: &mut Tape, at: usize, result: Result<usize>) -> Result<usize, E> {
    result.map_err(|error| E::custom(tape.failed_here(at, error)))
}

macro_rules! write {
    ($reader:ident, $kind:ident, $value:ident) => {{
        let Reader { tape, at } = $reader;
        let next = tape.scalar(at, Scalar::$kind($value));
        told(tape, at, next)
    }};
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    visit_scalars!(write -> usize);

    fn visit_unit<E: de::Error>(self) -> Result<usize, E> {
        let Reader { tape, at } = self;
        let next = tape.atom(at, NodeKind::Unit, "");
        told(tape, at, next)
    }

    fn visit_none<E: de::Error>(self) -> Result<usize, E> {
        let Reader { tape, at } = self;
        let next = tape.none(at);
        told(tape, at, next)
    }

    fn visit_some<D: Deserializer<'de>>(self, inside: D) -> Result<usize, D::Error> {
        let Reader { tape, at } = self;
        let opened = tape.open(at, NodeKind::Some, "");
        let at = told(tape, at, opened)?;
        let at = Reader { tape: &mut *tape, at }.deserialize(inside)?;
        tape.ascend();
        Ok(at)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inside: D) -> Result<usize, D::Error> {
        self.deserialize(inside)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<usize, A::Error> {
        let Reader { tape, at } = self;
        let opened = tape.open_seq(at);
        let mut at = told(tape, at, opened)?;
        while let Some(next) = seq.next_element_seed(ElementReader { tape: &mut *tape, at })? {
            at = next;
        }
        Ok(tape.close_seq(at))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<usize, A::Error> {
        let Reader { tape, at } = self;
        let opened = tape.open(at, NodeKind::Map, "");
        let mut at = told(tape, at, opened)?;
        while let Some(next) = map.next_key_seed(KeyReader { tape: &mut *tape, at })? {
            at = map.next_value_seed(Reader { tape: &mut *tape, at: next })?;
        }
        Ok(tape.close(at))
    }

    /// A variant becomes a map of one entry, from its name to its payload.
    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<usize, A::Error> {
        let Reader { tape, at } = self;
        let (name, variant) = data.variant::<String>()?;
        let opened = tape.open(at, NodeKind::Map, "");
        let at = told(tape, at, opened)?;
        tape.expect_key();
        let key = tape.scalar(at, Scalar::Str(&name));
        let at = told(tape, at, key)?;
        let payload = Reader { tape: &mut *tape, at };
        let at = if name == CBOR_TAG {
            // Read as a newtype, it would lose its number.
            variant.tuple_variant(2, payload)?
        } else {
            variant.newtype_variant_seed(payload)?
        };
        Ok(tape.close(at))
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(document: D) -> Result<Self, D::Error> {
        let mut tape = Tape::begin_whole(Options::default(), Limits::default());
        match (Reader { tape: &mut tape, at: 0 }).deserialize(document) {
            Ok(at) => tape.finish_whole(Ok(at)).map_err(de::Error::custom),
            Err(error) => {
                tape.spare();
                Err(error)
            }
        }
    }
}

/// A scalar becomes the leaf of its kind, a unit or an absent value [`Leaf::None`], and any other
/// value an opaque leaf.
impl<'de> Deserialize<'de> for Leaf {
    fn deserialize<D: Deserializer<'de>>(document: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(document)?;
        match value.root().kind() {
            NodeKind::Unit => Ok(Leaf::None),
            _ => Ok(Leaf::from(value)),
        }
    }
}
