//! The reference vectors: 300 random trees and the results of `jax.tree_util` 0.10.2 for them.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, SerializeTuple, Serializer};
use serde_json::Value as Json;

/// A tree in a vector: `{"list": […]}`, `{"tuple": […]}`, `{"dict": [[key, tree], …]}`, `"none"` or
/// `{"leaf": x}`.
pub struct Vector<'a>(pub &'a Json);

impl Serialize for Vector<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some((kind, inside)) = self.0.as_object().and_then(|object| object.iter().next())
        else {
            return serializer.serialize_none();
        };
        let items = || inside.as_array().unwrap();
        match kind.as_str() {
            "leaf" => inside.serialize(serializer),
            "list" => {
                let mut seq = serializer.serialize_seq(None)?;
                items().iter().try_for_each(|item| seq.serialize_element(&Vector(item)))?;
                seq.end()
            }
            "tuple" => {
                let mut tuple = serializer.serialize_tuple(items().len())?;
                items().iter().try_for_each(|item| tuple.serialize_element(&Vector(item)))?;
                tuple.end()
            }
            "dict" => {
                let mut map = serializer.serialize_map(None)?;
                items()
                    .iter()
                    .try_for_each(|entry| map.serialize_entry(&entry[0], &Vector(&entry[1])))?;
                map.end()
            }
            _ => unreachable!("{kind}"),
        }
    }
}

pub fn vectors() -> Vec<Json> {
    include_str!("../vectors/jax.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub fn texts(json: &Json) -> Vec<&str> {
    json.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}
