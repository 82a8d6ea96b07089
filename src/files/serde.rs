//! Treedefs in other serde documents.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde::ser::{self, Serialize, Serializer};

use crate::model::TreeDef;
use crate::tree::shape::{self, Shape};

/// Human-readable formats get the text that [`FromStr`](std::str::FromStr) reads, other formats the
/// bytes of [`TreeDef::to_bytes`].
///
/// ```
/// use treedef::TreeDef;
///
/// let treedef = treedef::structure(&(1.0, vec!["a", "b"]))?;
/// assert_eq!(serde_json::to_string(&treedef)?, r#""(*, [*, *])""#);
/// assert_eq!(serde_json::from_str::<TreeDef>(r#""(*, [*, *])""#)?, treedef);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Serialize for TreeDef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        shape::answer(&serializer, || Ok(Shape::Structure(self.clone())));
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            serializer.serialize_bytes(&self.to_bytes().map_err(ser::Error::custom)?)
        }
    }
}

impl<'de> Deserialize<'de> for TreeDef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(TreeDefVisitor)
        } else {
            deserializer.deserialize_bytes(TreeDefVisitor)
        }
    }
}

struct TreeDefVisitor;

impl<'de> Visitor<'de> for TreeDefVisitor {
    type Value = TreeDef;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a treedef, as text or bytes")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<TreeDef, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<TreeDef, E> {
        TreeDef::from_bytes(bytes).map_err(E::custom)
    }

    /// Some formats have no bytes and use a sequence instead.
    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<TreeDef, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = elements.next_element()? {
            bytes.push(byte);
        }
        self.visit_bytes(&bytes)
    }
}
