//! What formats tell serde under private names: it comes back in the format, and is a text, a number or
//! what has a tag in others.

use std::collections::BTreeMap;

use serde::Serialize;
use treedef::{Leaf, Tree, Value};

/// As each of these formats writes a document.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

fn yaml(value: &impl Serialize) -> String {
    serde_yaml_ng::to_string(value).unwrap()
}

fn toml(value: &impl Serialize) -> String {
    toml::to_string(value).unwrap()
}

fn cbor(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    ciborium::into_writer(value, &mut bytes).unwrap();
    bytes
}

fn plist(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    plist::to_writer_xml(&mut bytes, value).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn dates_of_toml() {
    let text =
        "dates = [2024-02-29, 12:30:45, 2024-02-29T12:30:45]\nwhen = 2024-02-29T12:30:45.5+02:00\n";
    let document: Tree<Leaf> = toml::from_str(text).unwrap();
    let value: toml::Table = toml::from_str(text).unwrap();
    let of_value = Tree::of(&value).unwrap();
    for tree in [document, of_value] {
        let written: toml::Table = toml::from_str(&toml(&tree)).unwrap();
        assert_eq!(written, value);
        insta::allow_duplicates! {
            insta::assert_snapshot!(json(&tree), @r#"{"dates":["2024-02-29","12:30:45","2024-02-29T12:30:45"],"when":"2024-02-29T12:30:45.5+02:00"}"#);
            insta::assert_snapshot!(yaml(&tree), @"
            dates:
            - 2024-02-29
            - 12:30:45
            - 2024-02-29T12:30:45
            when: 2024-02-29T12:30:45.5+02:00
            ");
        }
        let back: BTreeMap<String, serde_json::Value> =
            ciborium::from_reader(cbor(&tree).as_slice()).unwrap();
        assert_eq!(back["when"], "2024-02-29T12:30:45.5+02:00");
        // In a tree all is as serde tells it.
        assert_eq!(Tree::of(&tree).unwrap(), tree);
        assert_eq!(tree.clone().into_typed::<toml::Table>().unwrap(), value);
    }
    // What a program puts there has to be a date.
    let mut tree: Tree<Leaf> = toml::from_str("when = 2024-02-29").unwrap();
    tree.leaves_mut()[0] = "soon".into();
    assert!(toml::to_string(&tree).is_err());
    assert_eq!(json(&tree), r#"{"when":"soon"}"#);
    // A map that merely has such a key is a map.
    tree.leaves_mut()[0] = 7u8.into();
    assert_eq!(json(&tree), r#"{"when":{"$__toml_private_datetime":7}}"#);
    let date: toml::value::Datetime = "2024-02-29".parse().unwrap();
    let in_leaf = Leaf::from(Value::of(&date).unwrap());
    assert_eq!(json(&in_leaf), r#""2024-02-29""#);
    let statics = treedef::Flattener::new().mark_static("**").unwrap();
    let tree = statics.tree(&BTreeMap::from([("when", date)])).unwrap();
    assert_eq!(toml(&tree), "when = 2024-02-29\n");
    assert_eq!(json(&tree), r#"{"when":"2024-02-29"}"#);
}

/// Older versions of `toml` read dates by other types, and write them in the same form.
#[test]
fn dates_of_older_tomls() {
    let text = "when = 2024-02-29T12:30:45.5+02:00\n\n[[who]]\nborn = 1979-05-27\n";
    let trees: [Tree<Leaf>; 3] = [
        toml::from_str(text).unwrap(),
        toml_0_8::from_str(text).unwrap(),
        toml_0_5::from_str(text).unwrap(),
    ];
    for tree in trees {
        assert_eq!(
            json(&tree),
            r#"{"when":"2024-02-29T12:30:45.5+02:00","who":[{"born":"1979-05-27"}]}"#
        );
        assert_eq!(toml_0_8::to_string(&tree).unwrap(), text);
        assert_eq!(toml_0_5::to_string(&tree).unwrap(), text);
        let value: toml_0_8::Value = tree.clone().into_typed().unwrap();
        assert_eq!(value, toml_0_8::from_str(text).unwrap());
        let value: toml_0_5::Value = tree.clone().into_typed().unwrap();
        assert_eq!(value, toml_0_5::from_str(text).unwrap());
    }
}

#[test]
fn raw_values() {
    let raw = serde_json::value::RawValue::from_string(r#"{"kept":  [1.50, 0]}"#.to_owned());
    let tree = Tree::of(&[raw.unwrap()]).unwrap();
    assert_eq!(json(&tree), r#"[{"kept":  [1.50, 0]}]"#);
    insta::assert_snapshot!(yaml(&tree), @r#"- '{"kept":  [1.50, 0]}'"#);
    let raw = ron::value::RawValue::from_ron("Some(  (1, 'x'))").unwrap();
    let tree = Tree::of(&(raw,)).unwrap();
    assert_eq!(ron::to_string(&tree).unwrap(), "(Some(  (1, 'x')))");
    assert_eq!(json(&tree), r#"["Some(  (1, 'x'))"]"#);
    // What is no value cannot have been read as one.
    for text in ["1, \"admin\": true", "1 2", "]"] {
        let raw = serde_json::value::RawValue::from_string("1".to_owned());
        let mut tree = Tree::of(&[raw.unwrap()]).unwrap();
        tree.leaves_mut()[0] = text.into();
        assert_eq!(json(&tree), serde_json::json!([text]).to_string());
    }
}

#[test]
fn tags_of_cbor() {
    use ciborium::Value as Cbor;

    let value = Cbor::Map(vec![(
        Cbor::Text("when".to_owned()),
        Cbor::Tag(
            1,
            Box::new(Cbor::Array(vec![Cbor::Float(0.5), Cbor::Tag(9, Box::new(Cbor::Null))])),
        ),
    )]);
    let bytes = cbor(&value);
    let document: Tree<Leaf> = ciborium::from_reader(bytes.as_slice()).unwrap();
    insta::assert_snapshot!(document, @r#"{"when": `@@TAG@@`::`@@TAGGED@@`(1u64, [0.5, `@@TAG@@`::`@@TAGGED@@`(9u64, None)])}"#);
    assert_eq!(Tree::of(&document).unwrap(), document);
    for tree in [document, Tree::of(&value).unwrap()] {
        assert_eq!(cbor(&tree), bytes);
        assert_eq!(json(&tree), r#"{"when":[0.5,null]}"#);
    }
}

/// Whoever writes a document may choose its keys.
#[test]
fn such_names_are_ordinary_keys_of_a_document() {
    for name in [
        "$__toml_private_datetime",
        "$serde_json::private::Number",
        "$serde_json::private::RawValue",
        "$ron::private::RawValue",
        "@@TAGGED@@",
    ] {
        for value in ["\"2024-02-29\"", "\"x\\\", \\\"admin\\\": true\"", "[1,2]"] {
            let text = format!("{{\"user\":{{{name:?}:{value}}}}}");
            let tree: Tree<Leaf> = serde_json::from_str(&text).unwrap();
            assert_eq!(json(&tree), text);
            let back: [Tree<Leaf>; 4] = [
                toml::from_str(&toml(&tree)).unwrap(),
                serde_yaml_ng::from_str(&yaml(&tree)).unwrap(),
                ron::from_str(&ron::to_string(&tree).unwrap()).unwrap(),
                ciborium::from_reader(cbor(&tree).as_slice()).unwrap(),
            ];
            back.iter().for_each(|tree| assert_eq!(json(tree), text));
        }
    }
}

#[test]
fn extensions_of_message_pack() {
    let value = rmpv::Value::Ext(7, vec![1, 2]);
    let bytes = rmp_serde::to_vec(&value).unwrap();
    let tree = Tree::of(&value).unwrap();
    assert_eq!(rmp_serde::to_vec(&tree).unwrap(), bytes);
    assert_eq!(json(&tree), "[7,[1,2]]");
    // serde does not tell the name when they are read.
    let document: Tree<Leaf> = rmp_serde::from_slice(&bytes).unwrap();
    insta::assert_snapshot!(document, @r#"[7i8, b"\x01\x02"]"#);
}

#[test]
fn dates_and_uids_of_plist() {
    let date = plist::Value::from(plist::Date::from_xml_format("2024-02-29T12:30:45Z").unwrap());
    let tree = Tree::of(&BTreeMap::from([("when", date)])).unwrap();
    assert!(plist(&tree).contains("<date>2024-02-29T12:30:45Z</date>"), "{}", plist(&tree));
    assert_eq!(json(&tree), r#"{"when":"2024-02-29T12:30:45Z"}"#);
    let document: Tree<Leaf> = plist::from_bytes(plist(&tree).as_bytes()).unwrap();
    insta::assert_snapshot!(document, @r#"{"when": "2024-02-29T12:30:45Z"}"#);
    let uid = plist::Value::Uid(plist::Uid::new(7));
    assert_eq!(json(&Tree::of(&uid).unwrap()), "7");
}

#[test]
fn links_of_ipld() {
    use ipld_core::ipld::Ipld;

    let link = "bafkreie74tgmnxqwojhtumgh5dzfj46gi4mynlfr7dmm7duwzyvnpw7h7m".parse().unwrap();
    let value = Ipld::List(vec![Ipld::Link(link)]);
    let bytes = serde_ipld_dagcbor::to_vec(&value).unwrap();
    let tree = Tree::of(&value).unwrap();
    assert_eq!(serde_ipld_dagcbor::to_vec(&tree).unwrap(), bytes);
    assert_eq!(tree.into_typed::<Ipld>().unwrap(), value);
    let document: Tree<Leaf> = serde_ipld_dagcbor::from_slice(&bytes).unwrap();
    assert_eq!(document.treedef().to_string(), "[*]"); // its bytes
}

/// A tag is a map with one entry, and stays one: such maps are in other documents, too.
#[test]
fn tags_of_yaml() {
    let text = "a: !Circle 0.5\nb: !Empty\n";
    let document: Result<Tree<Leaf>, _> = serde_yaml_ng::from_str(text);
    insta::assert_snapshot!(document.unwrap(), @r#"{"a": {"Circle": 0.5}, "b": {"Empty": ()}}"#);
    let value: serde_yaml_ng::Value = serde_yaml_ng::from_str(text).unwrap();
    let tree = Tree::of(&value).unwrap();
    insta::assert_snapshot!(tree, @r#"{"a": {"!Circle": 0.5}, "b": {"!Empty": ()}}"#);
    insta::assert_snapshot!(yaml(&tree), @"
    a:
      '!Circle': 0.5
    b:
      '!Empty': null
    ");
}
