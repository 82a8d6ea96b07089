//! The schemas of structures, and the documents that they were counted in.

use jsonschema::Validator;
use proptest::prelude::*;
use serde::de::DeserializeSeed;
use serde_json::{Value as Json, json};
use treedef::Tree;
use treedef_structures::Structures;
use treedef_testing::cases::config;

fn any_json(numbers: bool) -> impl Strategy<Value = Json> {
    let texts = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        "[a-c]{0,2}".prop_map(Json::from)
    ];
    let all = prop_oneof![
        any::<u64>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<i32>().prop_map(|eighths| Json::from(f64::from(eighths) / 8.0)),
        Just(json!(-0.0)),
        Just(json!(1e300)),
        ".{0,3}".prop_map(Json::from),
    ];
    let scalar = if numbers { prop_oneof![texts, all].boxed() } else { texts.boxed() };
    scalar.prop_recursive(4, 48, 5, |inside| {
        prop_oneof![
            prop::collection::vec(inside.clone(), 0..5).prop_map(Json::from),
            (inside.clone(), 0..70usize).prop_map(|(same, count)| Json::from(vec![same; count])),
            prop::collection::hash_map("[a-c/~\"%ä]{0,2}", inside, 0..4)
                .prop_map(|map| map.into_iter().collect()),
        ]
    })
}

fn any_folds() -> impl Strategy<Value = Structures> {
    let all = (any::<bool>(), prop::option::of(0..6usize), any::<bool>(), any::<bool>());
    all.prop_map(|(lengths, keys, widths, numbers)| {
        let folded =
            Structures::new().fold_lengths(lengths).fold_widths(widths).fold_numbers(numbers);
        keys.iter().fold(folded, |folded, keys| folded.fold_keys(*keys))
    })
}

fn counted(mut structures: Structures, documents: &[Json]) -> Structures {
    for document in documents {
        let text = document.to_string();
        structures.seed().deserialize(&mut serde_json::Deserializer::from_str(&text)).unwrap();
    }
    structures
}

/// The schema, which is valid itself.
fn validator(structures: &Structures) -> Validator {
    let schema = serde_json::to_value(structures.to_json_schema().unwrap()).unwrap();
    assert!(jsonschema::draft202012::meta::is_valid(&schema), "{schema}");
    jsonschema::draft202012::new(&schema).unwrap_or_else(|error| panic!("{error}: {schema}"))
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn documents_are_valid(documents in prop::collection::vec(any_json(true), 1..15), folded in any_folds()) {
        let validator = validator(&counted(folded, &documents));
        for document in &documents {
            let error = validator.validate(document).err().map(|error| error.to_string());
            prop_assert_eq!(error, None, "{}", document);
        }
    }

    /// Without numbers, of which JSON Schema has fewer kinds.
    #[test]
    fn others_are_not(document in any_json(false), other in any_json(false)) {
        let structures = counted(Structures::new(), &[document]);
        let is_same = !structures.clone().add(&Tree::of(&other)?)?;
        prop_assert_eq!(validator(&structures).is_valid(&other), is_same);
    }
}

#[test]
fn what_is_folded_has_bounds() {
    let folded = Structures::new().fold_lengths(true).fold_keys(2).fold_widths(true);
    let documents =
        [json!({"a": [1, "x"], "b": {"k": 1, "l": 2, "m": -3}}), json!({"a": [], "b": {"n": 1}})];
    let validator = validator(&counted(folded, &documents));
    for (document, is_valid) in [
        (json!({"a": [-7], "b": {"other": 1, "keys": 2}}), true),
        (json!({"a": ["x", "y"], "b": {"other": 1}}), true),
        (json!({"a": [1, 2, 3], "b": {"k": 1}}), false),
        (json!({"a": [null], "b": {"k": 1}}), false),
        (json!({"a": [], "b": {}}), false),
        (json!({"a": [], "b": {"k": 0.5}}), false),
        (json!({"a": []}), false),
        (json!({"a": [], "b": {"k": 1}, "c": 1}), false),
    ] {
        assert_eq!(validator.is_valid(&document), is_valid, "{document}");
    }
}

/// Structures of types, as serde_json writes their values.
#[test]
fn values_of_types_are_valid() {
    #[derive(serde::Serialize)]
    enum Shape {
        Empty,
        Circle(f32),
        Line(u8, char),
        Box { w: Option<i128>, unit: () },
    }
    let shapes = [
        Shape::Empty,
        Shape::Circle(0.5),
        Shape::Line(1, 'x'),
        Shape::Box { w: Some(-1), unit: () },
    ];
    let map = std::collections::BTreeMap::from([(1u8, true), (2, false)]);
    let value = (&shapes, map, treedef::Static("s"), treedef::Opaque(vec![1, 2]));
    let mut structures = Structures::new();
    structures.add(&Tree::of(&value).unwrap()).unwrap();
    let validator = validator(&structures);
    let document = serde_json::to_value(&value).unwrap();
    assert!(validator.is_valid(&document), "{document}");
    assert!(!validator.is_valid(&json!([["Other"], {"1": true, "2": false}, "s", []])));
}
