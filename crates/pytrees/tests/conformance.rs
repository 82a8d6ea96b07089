//! The results of jax 0.10.2, torch 2.15 and optree 0.20 for 300 random trees, recorded in `vectors/python.jsonl`.
//! Leaves are numbered in the order of declaration and insertion.

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple, Serializer,
};
use serde_json::Value as Json;
use treedef::{Flattener, Leaf, MapOrder, Tree};
use treedef_pytrees::{Lowering, jax, orbax, python, torch};

const VECTORS: &str = include_str!("vectors/python.jsonl");

fn vectors() -> impl Iterator<Item = Json> {
    VECTORS.lines().map(|line| serde_json::from_str(line).unwrap())
}

/// A tree of a vector, as serde sees a Rust value of the same form.
struct Value<'a>(&'a Json);

fn leaked(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Json::Object(node) = self.0 else { return serializer.serialize_none() };
        let (kind, content) = node.iter().next().unwrap();
        let items = || content.as_array().unwrap();
        let entry = |entry: &'static str| entry;
        match entry(leaked(kind)) {
            "leaf" => serializer.serialize_u64(content.as_u64().unwrap()),
            "list" => {
                let mut seq = serializer.serialize_seq(None)?;
                items().iter().try_for_each(|item| seq.serialize_element(&Value(item)))?;
                seq.end()
            }
            "tuple" => {
                let mut tuple = serializer.serialize_tuple(items().len())?;
                items().iter().try_for_each(|item| tuple.serialize_element(&Value(item)))?;
                tuple.end()
            }
            "dict" => {
                let mut map = serializer.serialize_map(None)?;
                for entry in items() {
                    match &entry[0] {
                        Json::String(key) => map.serialize_entry(key, &Value(&entry[1]))?,
                        key => map.serialize_entry(&key.as_i64().unwrap(), &Value(&entry[1]))?,
                    }
                }
                map.end()
            }
            "struct" => {
                let mut fields = serializer.serialize_struct("Struct", items().len())?;
                for field in items() {
                    let name = leaked(field[0].as_str().unwrap());
                    fields.serialize_field(name, &Value(&field[1]))?;
                }
                fields.end()
            }
            other => panic!("{other}"),
        }
    }
}

fn tree(vector: &Json, order: MapOrder) -> Tree<Leaf> {
    let flattener = Flattener::new().map_order(order);
    let (leaves, treedef) = flattener.flatten(&Value(&vector["value"])).unwrap();
    Tree::new(treedef, leaves).unwrap()
}

/// The numbers of the leaves in the recorded order.
fn numbers(order: &[Option<usize>], tree: &Tree<Leaf>) -> Json {
    order.iter().map(|ours| ours.map(|ours| tree.leaves()[ours].as_u64().unwrap())).collect()
}

fn bytes_of_hex(hex: &Json) -> Vec<u8> {
    let hex = hex.as_str().unwrap();
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn bytes_of_base64(text: &Json) -> Vec<u8> {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.decode(text.as_str().unwrap()).unwrap()
}

#[test]
fn jax_reads_and_writes_the_same_protocol_buffers() {
    for vector in vectors() {
        for order in [MapOrder::Canonical, MapOrder::Insertion] {
            let tree = tree(&vector, order);
            let lowered = jax::proto(tree.treedef(), &Lowering::new()).unwrap();
            assert_eq!(lowered.data, bytes_of_hex(&vector["jax_proto"]), "{}", vector["value"]);
            assert_eq!(numbers(&lowered.order, &tree), vector["jax_leaves"]);
            let there = lowered.permute(tree.leaves()).unwrap();
            assert_eq!(lowered.restore(there.into_iter().flatten()).unwrap(), tree);
        }
        let raised = jax::from_proto(&bytes_of_hex(&vector["jax_proto"])).unwrap();
        assert_eq!(jax::text(&raised.treedef).unwrap().data, vector["jax"].as_str().unwrap());
        let text = jax::text(tree(&vector, MapOrder::Canonical).treedef()).unwrap();
        assert_eq!(text.data, vector["jax"].as_str().unwrap());
        assert!(raised.order.iter().copied().eq((0..raised.order.len()).map(Some)));
    }
}

#[test]
fn jax_reads_and_writes_the_same_flatbuffers() {
    for vector in vectors() {
        let tree = tree(&vector, MapOrder::Canonical);
        let theirs = jax::from_flatbuffer(&bytes_of_base64(&vector["jax_flatbuffer"])).unwrap();
        let expected = jax::from_proto(&bytes_of_hex(&vector["jax_proto"])).unwrap();
        assert_eq!(theirs.treedef, expected.treedef);
        let lowered = jax::flatbuffer(tree.treedef(), &Lowering::new()).unwrap();
        assert_eq!(jax::from_flatbuffer(&lowered.data).unwrap().treedef, expected.treedef);
        assert_eq!(numbers(&lowered.order, &tree), vector["jax_leaves"]);
    }
}

#[test]
fn torch_reads_and_writes_the_same_treespecs() {
    for vector in vectors() {
        let tree = tree(&vector, MapOrder::Insertion);
        let lowered = torch::treespec(tree.treedef(), &Lowering::new()).unwrap();
        assert_eq!(lowered.data, vector["torch"].as_str().unwrap());
        assert_eq!(numbers(&lowered.order, &tree), vector["torch_leaves"]);
        let raised = torch::from_treespec(&lowered.data).unwrap();
        assert_eq!(raised.order.len(), lowered.order.len());
        // A None is a leaf there, and round-trips as one.
        let restored = raised.restore(lowered.permute(tree.leaves()).unwrap()).unwrap();
        let leaves = restored.leaves().iter().flatten().count();
        assert_eq!(leaves, tree.leaves().len());
    }
}

#[test]
fn literals_say_what_python_says() {
    for vector in vectors() {
        let tree = tree(&vector, MapOrder::Canonical);
        let literal = python::literal(tree.treedef(), &Lowering::new()).unwrap();
        assert_eq!(numbers(&literal.order, &tree), vector["optree_leaves"]);
        let expected = jax::from_proto(&bytes_of_hex(&vector["jax_proto"])).unwrap();
        assert_eq!(python::from_literal(&literal.data).unwrap().treedef, expected.treedef);

        let theirs = python::from_literal(vector["literal"].as_str().unwrap()).unwrap();
        assert_eq!(theirs.treedef, expected.treedef);
        let count = theirs.order.len();
        let numbered = theirs.restore(0..count).unwrap();
        let jax: Json = numbered.leaves().iter().copied().collect();
        assert_eq!(jax, vector["jax_leaves"]);
    }
}

/// The output of orbax 0.12.8 for a tree with empty containers, a named tuple, a None, a number and a string.
#[test]
fn a_checkpoint_of_orbax() {
    let metadata = orbax::metadata(include_str!("vectors/orbax_metadata.json")).unwrap();
    assert_eq!(
        metadata.tree.treedef().to_string(),
        r#"{"a": *, "b": {"c": *, "e": {}, "i": *, "l": [], "n": None, "s": *}, "layers": [{"w": *}; 2], "p": {"x": *, "y": *}, "t": [*]}"#
    );
    assert_eq!(metadata.tree.get(r#"["b"]["c"]"#).unwrap().write_shape, Some(vec![2, 3]));
    assert_eq!(metadata.tree.get(r#"["b"]["s"]"#).unwrap().value_type, "string");
}

/// The same with `support_rich_types`.
#[test]
fn a_checkpoint_of_orbax_with_rich_types() {
    let metadata = orbax::metadata(include_str!("vectors/orbax_rich_metadata.json")).unwrap();
    assert_eq!(
        metadata.tree.treedef().to_string(),
        r#"{"a": *, "b": {"e": {}, "i": *, "l": [], "n": None, "s": *, "t": (,)}, "layers": [{"w": *}; 2], "p": `__main__.P` { x: *, y: * }, "t": (*,)}"#
    );
    assert_eq!(metadata.raised.classes[0].1, "__main__.P");
    assert_eq!(metadata.tree.get(r#"["t"].0"#).unwrap().write_shape, Some(Vec::new()));
}
