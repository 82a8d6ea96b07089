//! Reference vectors: 300 random trees with what `jax.tree_util` 0.10.2 says of them.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, SerializeTuple, Serializer};
use serde_json::Value as Json;
use treedef::{Flattener, Leaf, Tree};

/// A tree of a vector: `{"list": […]}`, `{"tuple": […]}`, `{"dict": [[key, tree], …]}`, `"none"` or `{"leaf": x}`.
struct Vector<'a>(&'a Json);

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

fn vectors() -> Vec<Json> {
    include_str!("../vectors/jax.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn texts(json: &Json) -> Vec<&str> {
    json.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

#[test]
fn there_are_300_vectors() {
    assert_eq!(vectors().len(), 300);
}

#[test]
fn structures_print_as_in_jax() {
    for vector in vectors() {
        let tree = Tree::of(&Vector(&vector["value"])).unwrap();
        assert_eq!(tree.treedef().to_jax_string().unwrap(), vector["jax"].as_str().unwrap());
    }
}

#[test]
fn leaves_and_counts_are_those_of_jax() {
    for vector in vectors() {
        let tree = Tree::of(&Vector(&vector["value"])).unwrap();
        let expected: Vec<Leaf> = vector["leaves"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|leaf| treedef::leaves(leaf).unwrap())
            .collect();
        assert_eq!(tree.leaves(), expected);
        assert_eq!(tree.treedef().num_leaves(), vector["num_leaves"]);
        assert_eq!(tree.treedef().num_nodes(), vector["num_nodes"]);
    }
}

#[test]
fn paths_render_as_in_jax() {
    for vector in vectors() {
        let treedef = treedef::structure(&Vector(&vector["value"])).unwrap();
        let rendered: Vec<_> = treedef.leaf_paths().map(|path| path.to_jax_string()).collect();
        assert_eq!(rendered, texts(&vector["keystr"]));
        let joined: Vec<_> = treedef.leaf_paths().map(|path| path.joined("/")).collect();
        assert_eq!(joined, texts(&vector["simple_keystr"]));
    }
}

#[test]
fn structures_are_equal_when_those_of_jax_are() {
    let mut equal = 0;
    for vector in vectors() {
        let (value, other) = (Vector(&vector["value"]), Vector(&vector["other"]));
        let same = treedef::structure(&value).unwrap() == treedef::structure(&other).unwrap();
        assert_eq!(
            same,
            vector["equal"].as_bool().unwrap(),
            "{} and {}",
            vector["value"],
            vector["other"]
        );
        equal += usize::from(same);
    }
    assert!(equal > 30 && equal < 270, "{equal} of 300 are equal, so this shows little");
}

/// JAX can be told to take None for a leaf, too: then a structure has as many leaves more as it has Nones.
#[test]
fn none_is_a_leaf_when_told_so() {
    for vector in vectors() {
        let nones = vector["jax"].as_str().unwrap().matches("None").count();
        let flattener = Flattener::new().none_is_leaf(true);
        let (leaves, treedef) = flattener.flatten(&Vector(&vector["value"])).unwrap();
        assert_eq!(leaves.len(), vector["leaves"].as_array().unwrap().len() + nones);
        assert_eq!(
            treedef.to_jax_string().unwrap(),
            vector["jax"].as_str().unwrap().replace("None", "*")
        );
    }
}
