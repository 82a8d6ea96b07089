//! serde_json with `arbitrary_precision`: numbers are texts in a struct of a magic name.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use treedef::{TreeDef, flatten, unflatten, unflatten_strict};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Inside {
    seq: Vec<Value>,
    option: Option<Value>,
    #[serde(flatten)]
    rest: serde_json::Map<String, Value>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Untagged {
    Value { value: Value },
}

#[track_caller]
fn holds<T: Serialize + for<'de> Deserialize<'de> + PartialEq + std::fmt::Debug>(value: T) {
    let (leaves, treedef) = flatten(&value).unwrap();
    assert_eq!(treedef.to_string().parse::<TreeDef>().unwrap(), treedef);
    assert_eq!(unflatten_strict::<T>(&treedef, &leaves).unwrap(), value);
    let rebuilt: T = unflatten(&treedef, &leaves).unwrap();
    assert_eq!(flatten(&rebuilt).unwrap(), (leaves, treedef));
    assert_eq!(rebuilt, value);
}

fn value() -> Value {
    let text = r#"{"a": [1, -0.0, 123456789012345678901234567890.5, 1e1000], "b": {"c": null, "d": 1.10}}"#;
    serde_json::from_str(text).unwrap()
}

#[test]
fn numbers_keep_every_digit() {
    holds(value());
    holds(value()["a"][2].clone());
    let rest = value().as_object().unwrap().clone();
    holds(Inside { seq: vec![value(), Value::Null, 7.into()], option: Some(value()), rest });
    holds(Untagged::Value { value: value() });
}

#[test]
fn a_number_is_one_string() {
    let (leaves, treedef) = flatten(&value()["a"][2]).unwrap();
    assert_eq!(leaves, ["123456789012345678901234567890.5".into()]);
    assert_eq!(
        treedef.to_string(),
        "`$serde_json::private::Number` { `$serde_json::private::Number`: * }"
    );
}

/// A document of any format has numbers again, if they are the same numbers there.
#[test]
fn numbers_are_numbers_again() {
    use treedef::{Leaf, Tree};

    let text =
        r#"[1,-7,1.10,1e3,-0.0,-0,18446744073709551616,123456789012345678901234567890.5,1e1000]"#;
    let document: Tree<Leaf> = serde_json::from_str(text).unwrap();
    let value: Value = serde_json::from_str(text).unwrap();
    for tree in [document, Tree::of(&value).unwrap()] {
        assert_eq!(serde_json::to_string(&tree).unwrap(), serde_json::to_string(&value).unwrap());
        let ron = ron::to_string(&tree).unwrap();
        assert_eq!(
            ron,
            r#"[1,-7,1.1,1000.0,-0.0,-0.0,"18446744073709551616","123456789012345678901234567890.5","1e+1000"]"#
        );
    }
}

#[test]
fn numbers_of_a_treespec_are_numbers() {
    use treedef_pytrees::{Lowering, torch};

    for key in ["0.9452706955539223", "-0.0", "3i64", "18446744073709551615i128", "true"] {
        let treedef: TreeDef = format!("{{{key}: *}}").parse().unwrap();
        let spec = torch::treespec(&treedef, &Lowering::new()).unwrap();
        assert_eq!(torch::from_treespec(&spec.data).unwrap().treedef, treedef, "{key}");
    }
}

#[test]
fn numbers_count_as_in_a_tree() {
    use serde::de::DeserializeSeed;
    use treedef::{Leaf, Tree};
    use treedef_structures::Structures;

    let text = r#"{"a": 1.5, "b": {"$serde_json::private::Number": "1.5"}}"#;
    let (mut read, mut added) = (Structures::new(), Structures::new());
    read.seed().deserialize(&mut serde_json::Deserializer::from_str(text)).unwrap();
    let tree: Tree<Leaf> = serde_json::from_str(text).unwrap();
    added.add(&tree).unwrap();
    let listed = |structures: &Structures| structures.by_count().unwrap()[0].structure.to_string();
    assert_eq!(listed(&read), listed(&added));
    let schema = serde_json::to_value(read.to_json_schema().unwrap()).unwrap();
    let number = serde_json::json!({"anyOf": [{"type": "number"}, {"type": "string"}]});
    assert_eq!(schema["properties"]["a"], number);
    assert_eq!(schema["properties"]["b"]["type"], "object");
}
