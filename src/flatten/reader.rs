//! Reads a document straight onto a tape, without a value in between.

use std::cell::Cell;
use std::fmt;

use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, EnumAccess, IgnoredAny, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

use crate::call_stack;
use crate::error::Result;
use crate::leaf::sink::Sink;
use crate::leaf::{Scalar, each_scalar};
use crate::model::{Leaf, Limits, NodeKind, Options, Tree, TreeDef, Value};
use crate::path::{Key, Path};
use crate::type_names;

use super::tape::{Settings, Tape};
use super::walk::ValueWalk;

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
/// let seed = TreeSeed::new(Limits { max_depth: 2, ..Limits::default() });
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
    /// let limits = Limits { max_depth: 2, ..Limits::default() };
    /// let tree = TreeSeed::new(limits).deserialize(json).unwrap();
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
        let mut walk =
            ValueWalk::begin(leaves, Settings::new(Options::default(), self.limits), None);
        match (Reader { tape: &mut walk.tape, at: 0, place: DocumentPlace::Root })
            .deserialize(document)
        {
            Ok(at) => {
                let (treedef, leaves) = walk.finish(Ok(at)).map_err(de::Error::custom)?;
                let treedef = TreeDef { walked: false, ..treedef };
                let treedef = treedef.within_limits().map_err(de::Error::custom)?;
                Ok(Tree::from_parts(treedef, leaves.into_leaves()))
            }
            Err(error) => {
                walk.spare();
                Err(error)
            }
        }
    }
}

/// The enum and the variant as which `ciborium` tells a tag of CBOR: a number beside a value.
pub const CBOR_TAG: [&str; 2] = ["@@TAG@@", "@@TAGGED@@"];

/// The struct as which `toml` tells a date, and its only field.
pub(crate) const TOML_DATE: [&str; 2] = ["$__toml_private_Datetime", "$__toml_private_datetime"];

/// The struct as which `serde_json` tells a number of any length, and its only field.
pub(crate) const JSON_NUMBER: [&str; 2] = ["$serde_json::private::Number"; 2];

/// If this map is a format's private struct: its name and only field. The keys cannot tell, because a document may
/// contain the same key; only the type of the `MapAccess` can.
pub fn private_struct<A>() -> Option<[&'static str; 2]> {
    if type_names::is::<A>("toml_datetime::de::DatetimeDeserializer")
        || type_names::is::<A>("toml_edit::de::datetime::DatetimeDeserializer")
        || type_names::is::<A>("toml::de::DatetimeDeserializer")
    {
        return Some(TOML_DATE);
    }
    type_names::is::<A>("serde_json::number::NumberDeserializer").then_some(JSON_NUMBER)
}

/// Whether this enum is a tag of CBOR.
pub fn is_cbor_tag<A>() -> bool {
    type_names::is::<A>("ciborium::tag::TagAccess")
}

/// A place in a document that is read.
#[derive(Clone, Copy)]
enum DocumentPlace<'p> {
    Root,
    Inside(&'p DocumentPlace<'p>),
    Element(&'p DocumentPlace<'p>, usize),
    /// The value of the entry whose key has this number.
    Entry(&'p DocumentPlace<'p>, usize),
    /// The key of an entry, whose parts have the path of the map.
    Key(&'p DocumentPlace<'p>),
}

impl DocumentPlace<'_> {
    /// The path to the place.
    #[cold]
    fn path(&self, tape: &Tape) -> Path {
        let (mut place, mut keys) = (self, Vec::new());
        loop {
            place = match place {
                DocumentPlace::Root => return keys.into_iter().rev().collect(),
                DocumentPlace::Inside(outer) => {
                    keys.push(Key::Some);
                    outer
                }
                DocumentPlace::Element(outer, index) => {
                    keys.push(Key::Index(*index));
                    outer
                }
                DocumentPlace::Entry(outer, key) => {
                    keys.extend(tape.drivers.recorder.labels.value(*key).cloned().map(Key::Entry));
                    outer
                }
                DocumentPlace::Key(outer) => {
                    keys.clear();
                    outer
                }
            };
        }
    }
}

/// Writes the next value. Returns the position behind it.
struct Reader<'t> {
    tape: &'t mut Tape,
    at: usize,
    place: DocumentPlace<'t>,
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = usize;

    /// Fails the walk also after an error of the format in the middle of the value: a format may take its own error
    /// for the end of a list.
    fn deserialize<D: Deserializer<'de>>(self, document: D) -> Result<usize, D::Error> {
        let Reader { tape, at, place } = self;
        let began = &Cell::new(false);
        let reader = Reader { tape: &mut *tape, at, place };
        let read = call_stack::grow!(document.deserialize_any(ReaderVisitor { reader, began }));
        if read.is_err() && began.get() {
            tape.fail();
        }
        read
    }
}

/// Writes a key of a map, if there is one.
struct KeyReader<'t> {
    tape: &'t mut Tape,
    at: usize,
    map: &'t DocumentPlace<'t>,
}

impl<'de> DeserializeSeed<'de> for KeyReader<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, document: D) -> Result<usize, D::Error> {
        let KeyReader { tape, at, map } = self;
        let outer = tape.expect_key();
        let key = Reader { tape: &mut *tape, at, place: DocumentPlace::Key(map) };
        let next = key.deserialize(document).inspect_err(|_| {
            tape.fail();
        })?;
        let came = tape.end_key(outer, next);
        told(tape, map, came)
    }
}

/// Writes an element of a sequence.
struct ElementReader<'t>(Reader<'t>);

impl<'de> DeserializeSeed<'de> for ElementReader<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, document: D) -> Result<usize, D::Error> {
        let ElementReader(Reader { tape, at, place }) = self;
        let next = Reader { tape, at, place }.deserialize(document)?;
        // A leaf writes nothing.
        Ok(if next == at { at } else { tape.element(next) })
    }
}

/// Makes an error of the tape one of the format, with the path. The format reports its own errors
/// itself.
fn told<T, E: de::Error>(
    tape: &mut Tape,
    place: &DocumentPlace<'_>,
    result: Result<T>,
) -> Result<T, E> {
    result.map_err(|error| {
        tape.fail();
        E::custom(error.at(place.path(tape)))
    })
}

/// A [`Reader`] whose value may begin.
struct ReaderVisitor<'t> {
    reader: Reader<'t>,
    /// Whether it did. An error before it leaves the tape as it was.
    began: &'t Cell<bool>,
}

impl<'t> ReaderVisitor<'t> {
    fn begin(self) -> Reader<'t> {
        self.began.set(true);
        self.reader
    }

    fn scalar<E: de::Error>(self, scalar: Scalar<'_>) -> Result<usize, E> {
        let Reader { tape, at, place } = self.begin();
        let next = tape.scalar(at, scalar);
        told(tape, &place, next)
    }
}

impl<'de> Visitor<'de> for ReaderVisitor<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    each_scalar! { [sized texts] #[inline] fn visit => scalar }

    fn visit_unit<E: de::Error>(self) -> Result<usize, E> {
        let Reader { tape, at, place } = self.begin();
        let next = tape.atom(at, NodeKind::Unit, "");
        told(tape, &place, next)
    }

    fn visit_none<E: de::Error>(self) -> Result<usize, E> {
        let Reader { tape, at, place } = self.begin();
        let next = tape.none(at);
        told(tape, &place, next)
    }

    fn visit_some<D: Deserializer<'de>>(self, inside: D) -> Result<usize, D::Error> {
        let Reader { tape, at, place } = self.begin();
        let opened = tape.open(at, NodeKind::Some, "");
        let at = told(tape, &place, opened)?;
        let place = DocumentPlace::Inside(&place);
        let at = Reader { tape: &mut *tape, at, place }.deserialize(inside)?;
        tape.ascend();
        Ok(at)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inside: D) -> Result<usize, D::Error> {
        self.begin().deserialize(inside)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<usize, A::Error> {
        let Reader { tape, at, place } = self.begin();
        let opened = tape.open_seq(at);
        let mut at = told(tape, &place, opened)?;
        let mut index = 0;
        loop {
            let element = DocumentPlace::Element(&place, index);
            let element = ElementReader(Reader { tape: &mut *tape, at, place: element });
            match seq.next_element_seed(element)? {
                Some(next) => (at, index) = (next, index + 1), // at most the elements
                None => break,
            }
        }
        let closed = tape.close_seq(at);
        told(tape, &place, closed)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<usize, A::Error> {
        let Reader { tape, at, place } = self.begin();
        if let Some([name, field]) = private_struct::<A>() {
            let opened = tape.open(at, NodeKind::Struct, name);
            let mut at = told(tape, &place, opened)?;
            if map.next_key::<IgnoredAny>()?.is_some() {
                let next = tape.field(at, field);
                at = map.next_value_seed(Reader { tape: &mut *tape, at: next, place })?;
            }
            let closed = tape.close(at);
            return told(tape, &place, closed);
        }
        let opened = tape.open(at, NodeKind::Map, "");
        let mut at = told(tape, &place, opened)?;
        while let Some(next) = map.next_key_seed(KeyReader { tape: &mut *tape, at, map: &place })? {
            let place = DocumentPlace::Entry(&place, tape.last_label());
            at = map.next_value_seed(Reader { tape: &mut *tape, at: next, place })?;
        }
        let closed = tape.close(at);
        told(tape, &place, closed)
    }

    /// A variant becomes a map of one entry, from its name to its payload.
    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<usize, A::Error> {
        let Reader { tape, at, place } = self.begin();
        let (name, variant) = data.variant::<String>()?;
        if is_cbor_tag::<A>() {
            // Read as a newtype, it would lose its number.
            return variant.tuple_variant(2, TagReader(Reader { tape, at, place }));
        }
        let opened = tape.open(at, NodeKind::Map, "");
        let at = told(tape, &place, opened)?;
        tape.expect_key();
        let key = tape.scalar(at, Scalar::Str(&name));
        let at = told(tape, &place, key)?;
        let entry = DocumentPlace::Entry(&place, tape.last_label());
        let payload = Reader { tape: &mut *tape, at, place: entry };
        let at = variant.newtype_variant_seed(payload)?;
        let closed = tape.close(at);
        told(tape, &place, closed)
    }
}

/// Writes a tag of CBOR, with the path of what has it.
struct TagReader<'t>(Reader<'t>);

impl<'de> Visitor<'de> for TagReader<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tag and a value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> Result<usize, A::Error> {
        let TagReader(Reader { tape, at, place }) = self;
        let [name, variant] = CBOR_TAG;
        let opened = tape.open_variant(at, NodeKind::TupleVariant, name, variant);
        let mut at = told(tape, &place, opened)?;
        while let Some(next) = pair.next_element_seed(Reader { tape: &mut *tape, at, place })? {
            at = next;
        }
        let closed = tape.close(at);
        told(tape, &place, closed)
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(document: D) -> Result<Self, D::Error> {
        let mut walk = ValueWalk::begin_captured();
        match (Reader { tape: &mut walk.tape, at: 0, place: DocumentPlace::Root })
            .deserialize(document)
        {
            Ok(at) => walk.finish_captured(Ok(at)).map_err(de::Error::custom),
            Err(error) => {
                walk.spare();
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
