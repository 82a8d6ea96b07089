//! Reads a document straight into a recording, without a value in between.

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
use crate::model::{Leaf, Limits, NodeHead, NodeKind, Options, Tree, Value};

use super::recording::Recording;
use super::rules::Keep;

/// Reads a document of a self-describing format into a tree, within limits.
///
/// With [`Limits::default`], use `Tree::<Leaf>::deserialize`, which `serde_json::from_str` calls. A
/// map that has a key twice is read with both entries: [`NodeRef::entry_keys`](crate::NodeRef) has
/// them next to each other.
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
        let (options, sink) = (Options::default(), Sink::Leaves(Vec::new()));
        let mut recording = Recording::new(sink, options, self.limits, false, None);
        Reader(&mut recording).deserialize(document)?;
        let (treedef, sink, _) = recording.finish().map_err(de::Error::custom)?;
        let treedef = treedef.within_limits().map_err(de::Error::custom)?;
        Ok(Tree::from_parts(treedef, Leaf::from_sink(sink)))
    }
}

/// The variant as which `ciborium` tells a tag of CBOR: a number beside a value.
pub(crate) const CBOR_TAG: &str = "@@TAGGED@@";

/// Records the next value.
struct Reader<'r>(&'r mut Recording);

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, document: D) -> Result<(), D::Error> {
        document.deserialize_any(self)
    }
}

/// Records a key, if there is one.
struct KeyReader<'r>(&'r mut Recording);

impl<'de> DeserializeSeed<'de> for KeyReader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, document: D) -> Result<(), D::Error> {
        let KeyReader(recording) = self;
        told(recording, |recording| recording.key().map(drop))?;
        call_stack::grow!(Reader(recording).deserialize(document))?;
        told(recording, |recording| recording.key_came(Ok(())))
    }
}

/// Records a child of the innermost open compound.
struct ChildReader<'r>(&'r mut Recording);

impl<'de> DeserializeSeed<'de> for ChildReader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, document: D) -> Result<(), D::Error> {
        let ChildReader(recording) = self;
        let level = recording.level();
        call_stack::grow!(Reader(recording.child(true)).deserialize(document))?;
        told(recording, |recording| recording.child_came(level, Ok(())))
    }
}

/// Runs a step of the recording. An error of the recording becomes an error of the format, with the
/// path. The format reports its own errors itself.
fn told<E: de::Error>(
    recording: &mut Recording,
    step: impl FnOnce(&mut Recording) -> Result<()>,
) -> Result<(), E> {
    step(recording).map_err(|error| E::custom(recording.failed_here(error)))
}

macro_rules! record {
    ($reader:ident, $kind:ident, $value:ident) => {
        told($reader.0, |recording| recording.scalar(Scalar::$kind($value)))
    };
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    visit_scalars!(record -> ());

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        told(self.0, Recording::unit)
    }

    fn visit_none<E: de::Error>(self) -> Result<(), E> {
        told(self.0, Recording::none)
    }

    fn visit_some<D: Deserializer<'de>>(self, inside: D) -> Result<(), D::Error> {
        told(self.0, Recording::open_some)?;
        ChildReader(self.0).deserialize(inside)?;
        told(self.0, Recording::close)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inside: D) -> Result<(), D::Error> {
        self.deserialize(inside)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        told(self.0, |recording| recording.open(NodeHead::new(NodeKind::Seq)))?;
        while seq.next_element_seed(ChildReader(self.0))?.is_some() {}
        told(self.0, Recording::close)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        told(self.0, |recording| recording.open(NodeHead::new(NodeKind::Map)))?;
        while map.next_key_seed(KeyReader(self.0))?.is_some() {
            told(self.0, |recording| recording.value(true).map(drop))?;
            map.next_value_seed(ChildReader(self.0))?;
        }
        told(self.0, Recording::close)
    }

    /// A variant becomes a map of one entry, from its name to its payload.
    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<(), A::Error> {
        let (name, variant) = data.variant::<String>()?;
        told(self.0, |recording| {
            recording.open(NodeHead::new(NodeKind::Map))?;
            recording.key()?.scalar(Scalar::Str(&name))?;
            recording.key_came(Ok(()))?;
            recording.value(true).map(drop)
        })?;
        if name == CBOR_TAG {
            // Read as a newtype, it would lose its number.
            let level = self.0.level();
            variant.tuple_variant(2, Reader(self.0.child(true)))?;
            told(self.0, |recording| recording.child_came(level, Ok(())))?;
        } else {
            variant.newtype_variant_seed(ChildReader(self.0))?;
        }
        told(self.0, Recording::close)
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(document: D) -> Result<Self, D::Error> {
        let mut recording = Recording::of_value(Options::default(), Limits::default());
        told(&mut recording, |recording| recording.begin_keeping(Keep::Static, false))?;
        Reader(&mut recording).deserialize(document)?;
        recording.finish_value().map_err(de::Error::custom)
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
