//! Trees read from documents, beside the trees of the values that the formats read themselves.

use proptest::prelude::*;
use serde::de::DeserializeSeed;
use serde_json::{Value as Json, json};
use treedef::{Leaf, Limits, Tree, TreeSeed, Value};
use treedef_testing::cases::config;

fn any_json() -> impl Strategy<Value = Json> {
    let scalar = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<i32>().prop_map(|eighths| Json::from(f64::from(eighths) / 8.0)),
        ".{0,3}".prop_map(Json::from),
    ];
    scalar.prop_recursive(5, 64, 6, |inside| {
        prop_oneof![
            prop::collection::vec(inside.clone(), 0..6).prop_map(Json::from),
            (inside.clone(), 0..5usize).prop_map(|(same, count)| Json::from(vec![same; count])),
            prop::collection::hash_map("[ab]{0,2}", inside, 0..5)
                .prop_map(|map| map.into_iter().collect()),
        ]
    })
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn a_document_is_the_tree_of_its_value(json in any_json()) {
        let text = json.to_string();
        let json: Json = serde_json::from_str(&text)?; // numbers are of the kinds that their text has
        let tree: Tree<Leaf> = serde_json::from_str(&text)?;
        prop_assert_eq!(&tree, &Tree::of(&json)?);
        let again: Json = serde_json::from_str(&serde_json::to_string(&tree)?)?;
        prop_assert_eq!(&again, &json);
        let value: Value = serde_json::from_str(&text)?;
        prop_assert_eq!(value, Value::of(&json)?);
    }

    #[test]
    fn damaged_documents_are_refused_or_read(json in any_json(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut text = json.to_string().into_bytes();
        let at = at.index(text.len());
        text[at] = byte;
        if let Ok(tree) = serde_json::from_slice::<Tree<Leaf>>(&text) {
            prop_assert_eq!(tree.leaves().len(), tree.treedef().num_leaves());
            prop_assert!(serde_json::from_slice::<serde::de::IgnoredAny>(&text).is_ok());
        }
    }
}

#[test]
fn equal_neighbours_are_one_run() {
    let text = format!("[{}]", vec![r#"{"a": [1, 2], "b": "x"}"#; 10_000].join(","));
    let tree: Tree<Leaf> = serde_json::from_str(&text).unwrap();
    assert_eq!(tree.treedef().to_string(), r#"[{"a": [*, *], "b": *}; 10000]"#);
    assert!(tree.treedef().to_bytes().unwrap().len() < 350);
}

#[test]
fn a_key_may_stand_twice() {
    let tree: Tree<Leaf> = serde_json::from_str(r#"{"a": 1, "b": {"a": 0}, "a": 2}"#).unwrap();
    assert_eq!(tree.to_string(), r#"{"a": 1u64, "a": 2u64, "b": {"a": 0u64}}"#);
}

#[test]
fn limits_hold_and_errors_have_a_path() {
    let read = |text: &str, limits| {
        let json = &mut serde_json::Deserializer::from_str(text);
        TreeSeed::new(limits).deserialize(json).map_err(|error| error.to_string())
    };
    let limits = Limits::default();
    assert_eq!(
        read(r#"[{"a": {"b": [[]]}}]"#, Limits { max_depth: 3, ..limits }).unwrap_err(),
        r#"nested deeper than 3 levels at `[0]["a"]["b"]` (see `Limits::max_depth`) at line 1 column 14"#
    );
    assert_eq!(
        read(r#"[[1], "a", 2]"#, Limits { max_nodes: 2, ..limits }).unwrap_err(),
        "4 nodes, the limit is 2 (see `Limits::max_nodes`)"
    );
    assert!(read(r#"[[1], [2], "a"]"#, Limits { max_nodes: 4, ..limits }).is_ok());
    let deep = "[".repeat(100_000);
    assert!(read(&deep, limits).unwrap_err().starts_with("recursion limit exceeded"));
    assert_eq!(
        read(r#"{"a": [1, tru]}"#, limits).unwrap_err(),
        "expected ident at line 1 column 14"
    );
}

#[test]
fn a_leaf_reads_what_stands_there() {
    let leaf = |text: &str| serde_json::from_str::<Leaf>(text).unwrap();
    assert_eq!(leaf("7"), Leaf::U64(7));
    assert_eq!(leaf("-7"), Leaf::I64(-7));
    assert_eq!(leaf("0.5"), Leaf::F64(0.5));
    assert_eq!(leaf("\"a\""), Leaf::from("a"));
    assert_eq!(leaf("null"), Leaf::None);
    assert_eq!(leaf("[1, 2]"), Leaf::from(Value::of(&json!([1, 2])).unwrap()));
    let all: Vec<Leaf> = serde_json::from_str("[true, null]").unwrap();
    assert_eq!(serde_json::to_string(&all).unwrap(), "[true,null]");
}

/// The items of a list or a map in a format. A careless reader takes an error of its own for the end. Another one
/// asks at the end of a list for the type of its elements, as `treedef-python` does for an empty array.
struct Items<'a> {
    items: &'a [Json],
    is_careless: bool,
}

impl<'de> serde::de::SeqAccess<'de> for Items<'_> {
    type Error = serde::de::value::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Self::Error> {
        let Some((first, rest)) = self.items.split_first() else {
            if !self.is_careless {
                drop(seed.deserialize(Torn(&"torn".into())));
            }
            return Ok(None);
        };
        self.items = rest;
        let read = seed.deserialize(Torn(first));
        if self.is_careless { Ok(read.ok()) } else { read.map(Some) }
    }
}

impl<'de> serde::de::MapAccess<'de> for Items<'_> {
    type Error = serde::de::value::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Self::Error> {
        serde::de::SeqAccess::next_element_seed(self, seed)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, Self::Error> {
        serde::de::SeqAccess::next_element_seed(self, seed)?.ok_or(serde::de::Error::custom("torn"))
    }
}

/// A document whose maps have a careless reader. The text `torn` is an error, also inside of a list.
struct Torn<'a>(&'a Json);

impl<'de> serde::Deserializer<'de> for Torn<'_> {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: serde::de::Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        match self.0 {
            Json::String(torn) if torn == "torn" => Err(serde::de::Error::custom("torn")),
            Json::Array(items) => visitor.visit_seq(Items { items, is_careless: false }),
            Json::Object(entries) => {
                let list: Vec<Json> = entries.values().cloned().collect();
                visitor.visit_map(Items { items: &list, is_careless: true })
            }
            Json::Number(number) => visitor.visit_f64(number.as_f64().unwrap()),
            _ => visitor.visit_unit(),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The tree would have a hole.
#[test]
fn a_format_that_swallows_its_own_error_is_refused() {
    for document in [
        json!({"a": ["torn"], "b": 1.0}),
        json!({"a": [1.0, [2.0, "torn"]]}),
        json!({"a": "torn", "b": 1.0}),
        json!([{"a": 1.0, "b": [1.0, "torn"]}, 2.0]),
        json!([{"a": 1.0, "b": 2.0, "c": [["torn"]]}, 3.0]),
    ] {
        let read = TreeSeed::default().deserialize(Torn(&document));
        assert!(read.is_err(), "{document}: {}", read.unwrap());
    }
    let whole = json!({"a": 1.0, "b": 2.0});
    assert_eq!(TreeSeed::default().deserialize(Torn(&whole)).unwrap().to_string(), "{1.0: 2.0}");
    let lists = json!([[], 1.0, [2.0, [], 3.0]]);
    let read = TreeSeed::default().deserialize(Torn(&lists)).unwrap();
    assert_eq!(read.to_string(), "[[], 1.0, [2.0, [], 3.0]]");
}
