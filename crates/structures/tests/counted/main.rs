//! Counted structures: their texts, their cost, and their errors.

mod hostile;
mod model;

use allocation_counter::measure;
use proptest::prelude::*;
use serde::de::DeserializeSeed;
use serde_json::json;
use treedef::{Leaf, Limits, Tree};
use treedef_structures::Structures;

/// The folded structures.
#[derive(Clone, Copy, Debug, Default)]
struct Folds {
    lengths: bool,
    keys: Option<usize>,
    widths: bool,
    numbers: bool,
}

impl Folds {
    fn of(self, structures: Structures) -> Structures {
        let folded = structures.fold_lengths(self.lengths).fold_widths(self.widths);
        let folded = folded.fold_numbers(self.numbers);
        self.keys.iter().fold(folded, |folded, keys| folded.fold_keys(*keys))
    }

    fn none(self) -> Structures {
        self.of(Structures::new())
    }
}

fn any_folds() -> impl Strategy<Value = Folds> {
    let all = (any::<bool>(), prop::option::of(0..4usize), any::<bool>(), any::<bool>());
    all.prop_map(|(lengths, keys, widths, numbers)| Folds { lengths, keys, widths, numbers })
}

fn read(structures: &mut Structures, text: &str) -> serde_json::Result<bool> {
    structures.seed().deserialize(&mut serde_json::Deserializer::from_str(text))
}

fn of_texts<'t>(structures: Structures, texts: impl IntoIterator<Item = &'t str>) -> Structures {
    let mut structures = structures;
    for text in texts {
        read(&mut structures, text).unwrap();
    }
    structures
}

/// All structures, one in a line, with their counts.
fn listed(structures: &Structures) -> String {
    let all = structures.by_count().unwrap();
    let line = |it: &treedef_structures::StructureCount| {
        format!("{} ({}–{}): {}", it.count, it.first, it.last, it.structure)
    };
    all.iter().map(line).collect::<Vec<_>>().join("\n")
}

const EVENTS: [&str; 6] = [
    r#"{"id": 1, "tags": ["a", "b"], "at": {"2024-01-01": 1.5}}"#,
    r#"{"id": -1, "tags": [], "at": {"2024-01-02": 1.5, "2024-01-03": 2, "2024-01-04": 2, "2024-01-05": 2}}"#,
    r#"{"id": 2, "error": {"code": 7}}"#,
    r#"{"id": 3, "tags": ["a", 1, {"x": [[]]}, {"x": [[1], [null]]}], "at": {}}"#,
    r#"{"error": {"code": 8}, "id": 2}"#,
    "[]",
];

#[test]
fn the_text_of_what_is_folded() {
    let folded = Structures::new().fold_lengths(true).fold_keys(4).fold_widths(true);
    insta::assert_snapshot!(listed(&of_texts(folded, EVENTS)), @r#"
    3 (0–3): {"at": {*: float, int; 0–4}, "id": int, "tags": [int, str, {"x": [[(), int; 0–1]; 1–2]}; 0–4]}
    2 (2–4): {"error": {"code": int}, "id": int}
    1 (5–5): []
    "#);
    insta::assert_snapshot!(listed(&of_texts(Structures::new(), EVENTS)), @r#"
    2 (2–4): {"error": {"code": u64}, "id": u64}
    1 (0–0): {"at": {"2024-01-01": f64}, "id": u64, "tags": [str, str]}
    1 (1–1): {"at": {"2024-01-02": f64, "2024-01-03": u64, "2024-01-04": u64, "2024-01-05": u64}, "id": i64, "tags": []}
    1 (3–3): {"at": {}, "id": u64, "tags": [str, u64, {"x": [[]]}, {"x": [[u64], [()]]}]}
    1 (5–5): []
    "#);
}

#[test]
fn each_differs_from_the_most_frequent() {
    let folded = Structures::new().fold_lengths(true).fold_keys(4).fold_numbers(true);
    let all = of_texts(folded, EVENTS).by_count().unwrap();
    let diffs: Vec<String> = all.iter().map(|it| it.diff().to_string()).collect();
    insta::assert_snapshot!(diffs.join("\n\n"), @r#"
    no changes

    3 changes
    - ["at"]: {*: number; 0–4}
    - ["tags"]: [number, str, {"x": [[(), number; 0–1]; 1–2]}; 0–4]
    + ["error"]: {"code": number}

    1 change
    ~ the root: {"at": {*: number; 0–4}, "id": number, "tags": [number, str,… → []
    "#);
}

#[test]
fn typed_values_count_with_their_names() {
    #[derive(serde::Serialize)]
    enum Shape {
        Empty,
        Circle(f32),
        Box { w: u8, h: Option<u8> },
    }
    let mut structures = Structures::new();
    for shape in [Shape::Empty, Shape::Circle(0.5), Shape::Box { w: 1, h: None }] {
        structures.add(&Tree::of(&(vec![&shape, &shape], treedef::Static("s"))).unwrap()).unwrap();
    }
    let marks: Tree<Leaf> = Tree::of(&std::collections::BTreeMap::from([((1, 'c'), ())])).unwrap();
    structures.add(&marks).unwrap();
    insta::assert_snapshot!(listed(&structures), @r#"
    1 (0–0): ([Shape::Empty, Shape::Empty], static "s")
    1 (1–1): ([Shape::Circle(f32); 2], static "s")
    1 (2–2): ([Shape::Box { w: u8, h: None }; 2], static "s")
    1 (3–3): {[1u64, "c"]: ()}
    "#);
    let text = serde_json::to_string(&structures).unwrap();
    assert_eq!(serde_json::from_str::<Structures>(&text).unwrap(), structures);
}

#[test]
fn the_first_small_document_is_the_example() {
    let large = json!({"a": vec![1; 2_000]});
    let mut structures = Structures::new().fold_lengths(true);
    for (index, document) in
        [(0, &large), (9, &json!({"a": [9]})), (4, &json!({"a": [4]})), (5, &json!({"a": []}))]
    {
        structures.set_next_index(index);
        structures.add(&Tree::of(document).unwrap()).unwrap();
    }
    let all = structures.by_count().unwrap();
    assert_eq!(all[0].example.as_ref().unwrap().to_string(), r#"{"a": [4u64]}"#);
    assert_eq!((all[0].count, all[0].first, all[0].last), (4, 0, 9));
}

#[test]
fn memory_is_that_of_the_structures_and_not_of_the_documents() {
    let texts: Vec<String> = (0..50)
        .map(|at| {
            json!({"id": at, "tags": vec!["x"; at], "a": {format!("k{at}"): [[at]]}}).to_string()
        })
        .collect();
    let mut structures = Structures::new().fold_lengths(true);
    let mut all = |times: usize| {
        measure(|| {
            for text in texts.iter().cycle().take(times * texts.len()) {
                read(&mut structures, text).unwrap();
            }
        })
    };
    let first = all(1);
    let rest = all(100);
    assert!(first.bytes_current > 0, "{first:?}");
    assert_eq!(rest.bytes_current, 0, "{rest:?}");
    // A document needs only its own pools, one after the other.
    assert!(rest.bytes_max < 4_000, "{rest:?}");
    assert_eq!(structures.documents(), 50 * 101);
}

#[test]
fn what_was_recorded_is_not_recorded_again_while_there_is_no_garbage() {
    let text = |at: usize| {
        let fields = (0..15).filter(|bit| at >> bit & 1 == 1).map(|bit| format!("\"f{bit}\": 1"));
        format!(r#"{{"a": {{{}}}}}"#, fields.collect::<Vec<_>>().join(","))
    };
    let texts: Vec<String> = (0..1 << 15).map(text).collect();
    let mut structures = Structures::new();
    let counted = measure(|| {
        for text in &texts {
            assert!(read(&mut structures, text).unwrap());
        }
    });
    // Each has two nodes of its own.
    assert!(counted.count_total < 4 * texts.len() as u64, "{counted:?}");

    // They are elements of one known structure.
    let mut structures = Structures::new().fold_lengths(true);
    let counted = measure(|| {
        for text in &texts {
            read(&mut structures, &format!("[{text}]")).unwrap();
        }
    });
    assert_eq!(structures.by_count().unwrap().len(), 1);
    assert!(counted.count_total < 8 * texts.len() as u64, "{counted:?}");
}

#[test]
fn a_known_structure_without_folds_allocates_nothing() {
    let text = r#"{"id": 1, "b": [1, 2, {"c": null}], "a": {"x": true, "d": "text"}}"#;
    let mut structures = Structures::new();
    read(&mut structures, text).unwrap();
    assert_eq!(measure(|| assert!(!read(&mut structures, text).unwrap())).count_total, 0);
}

/// Neither documents that are refused nor keys that are data stay in memory.
#[test]
fn garbage_is_removed() {
    let mut structures = Structures::new().fold_keys(10);
    let mut all = |times: std::ops::Range<usize>| {
        measure(|| {
            for at in times {
                read(&mut structures, &format!(r#"{{"x{at}": {{"y{at}": tru"#)).unwrap_err();
                read(&mut structures, &format!(r#"{{"a": {{"z{at}": {{"b": 1}}, "y": 1}}}}"#))
                    .unwrap();
            }
        })
    };
    all(0..10_000);
    let rest = all(10_000..100_000);
    assert!(rest.bytes_max < 4_000_000, "{rest:?}");
    assert_eq!(listed(&structures), r#"100000 (0–99999): {"a": {*: u64, {"b": u64}; 2}}"#);
}

fn counted<'a>(
    mut structures: Structures,
    texts: impl IntoIterator<Item = &'a str>,
) -> treedef::Result<Structures> {
    for text in texts {
        structures.add(&serde_json::from_str(text).unwrap())?;
    }
    Ok(structures)
}

/// To fold maps where only the refused document has some makes no room, so nothing is copied.
#[test]
fn a_refusal_does_not_copy_what_was_counted() {
    let mut structures = Structures::new().fold_keys(3).max_structures(500);
    for length in 0..500 {
        structures.add(&Tree::of(&vec![1; length]).unwrap()).unwrap();
    }
    structures.settle().unwrap();
    let map = json!({"a": 1, "b": 2, "c": 3, "d": 4});
    for document in [json!([map, 1]), json!([[map]]), map] {
        let tree = Tree::of(&document).unwrap();
        let refused = measure(|| drop(structures.add(&tree).unwrap_err()));
        assert!(refused.count_total < 500, "{document}: {refused:?}");
    }
}

/// 3,600 pairs of 60 known structures and 60 known elements: all structures together are limited.
#[test]
fn known_structures_grow_to_the_limit_and_are_then_refused_at_once() {
    let pair = |i: usize, j: usize| json!({format!("k{i}"): [{format!("a{j}"): 1}]});
    let pairs = (0..60).map(|i| pair(i, 0)).chain((0..60).map(|j| pair(0, j)));
    let pairs: Vec<_> = pairs.chain((0..3_600).map(|at| pair(at / 60, at % 60))).collect();
    let limits = Limits { max_nodes: 900, ..Limits::default() };
    let mut structures = Structures::new().fold_lengths(true).limits(limits);
    let (mut refused, mut allocations) = (0, 0);
    for document in &pairs {
        let text = document.to_string();
        let counted = measure(|| refused += u64::from(read(&mut structures, &text).is_err()));
        allocations += counted.count_total;
    }
    assert_eq!(refused + structures.documents(), pairs.len() as u64);
    assert!(refused > 1_000, "{refused}");
    assert!(allocations < 30 * pairs.len() as u64, "{allocations}");
    // The counted structures are within the limit, so they are also read within it.
    let saved = serde_json::to_string(&structures).unwrap();
    let mut json = serde_json::Deserializer::from_str(&saved);
    assert_eq!(Structures::deserialize_with(&mut json, limits).unwrap(), structures);
}

/// Garbage beside more structures than the limit of now allows.
#[test]
fn garbage_that_cannot_be_removed_stays() {
    let mut structures = Structures::new();
    for at in 0..500 {
        read(&mut structures, &format!(r#"{{"k{at}": 1}}"#)).unwrap();
        read(&mut structures, &format!(r#"{{"x{at}": {{"y{at}": tru"#)).unwrap_err();
    }
    let mut structures = structures.limits(Limits { max_nodes: 2_000, ..Limits::default() });
    let refused = |structures: &mut Structures| measure(|| drop(read(structures, "[[7, true]]")));
    assert!(refused(&mut structures).count_total > 1_000, "it was tried");
    let again = refused(&mut structures);
    assert!(again.count_total < 50, "{again:?}");
    assert_eq!(structures.documents(), 500);
}

#[test]
fn the_first_alike_is_of_the_last_counted_document() {
    let mut structures = Structures::new().fold_keys(1);
    assert_eq!(structures.first_alike(), None);
    for (text, first) in
        [(r#"{"a":1}"#, 0), (r#"{"b":1}"#, 1), (r#"{"c":1}"#, 2), ("[1]", 3), (r#"{"d":1}"#, 2)]
    {
        read(&mut structures, text).unwrap();
        assert_eq!(structures.first_alike(), Some(first), "{text}");
    }
    structures.settle().unwrap();
    assert_eq!(structures.first_alike(), Some(0), "all maps are one structure");

    let mut full = structures.clone().max_structures(2);
    read(&mut full, "true").unwrap_err();
    assert_eq!(full.first_alike(), Some(0), "a refused document is not counted");

    let saved = serde_json::to_string(&structures).unwrap();
    let mut part: Structures = serde_json::from_str(&saved).unwrap();
    assert_eq!(part.first_alike(), None);
    part.merge(&structures).unwrap();
    assert_eq!(part.first_alike(), None);
    read(&mut part, "[2]").unwrap();
    assert_eq!(part.first_alike(), Some(3));
}

/// Structures that a fold made one need the room of one, in any order.
#[test]
fn what_was_folded_makes_room() {
    let texts = [r#"{"a":1}"#, r#"{"b":1}"#, r#"{"c":1}"#, r#"{"d":1}"#, r#"{"e":1}"#, "[]"];
    for (most, start) in [(5, 0), (5, 5), (3, 0)] {
        let structures = Structures::new().fold_keys(3).max_structures(most);
        let texts = texts.iter().cycle().skip(start).take(6).copied();
        let all = counted(structures, texts).unwrap().by_count().unwrap();
        assert_eq!((all.len(), all[0].count), (2, 5), "{most} {start}");
    }
    let part = |texts: &[&'static str]| {
        let structures = Structures::new().fold_keys(3).max_structures(3);
        counted(structures, texts.iter().copied()).unwrap()
    };
    let mut one = part(&texts[..3]);
    one.merge(&part(&[r#"{"d":1}"#, r#"{"e":1}"#, r#"{"f":1}"#])).unwrap();
    assert_eq!(one.by_count().unwrap()[0].count, 6);
    // Where folding makes no room, it is refused.
    let full = Structures::new().fold_keys(3).max_structures(2);
    assert!(counted(full, ["1", "true", r#"{"a":1,"b":1,"c":1,"d":1}"#]).is_err());
}

#[test]
fn arrays_count_as_what_they_stand_for() {
    let nested = [
        Tree::of(&[1.0f32, 2.0, 3.0]).unwrap(),
        Tree::of(&vec![1.0f64, 2.0]).unwrap(),
        Tree::of(&vec![1.0f32, 2.0]).unwrap(),
        Tree::of(&("w", vec![vec![1u8, 2], vec![3, 4]])).unwrap(),
        Tree::of(&vec![true; 9]).unwrap(),
    ];
    for folds in [
        Folds::default(),
        Folds { lengths: true, widths: true, ..Folds::default() },
        Folds { lengths: true, keys: Some(0), numbers: true, ..Folds::default() },
    ] {
        let (mut plain, mut arrays) = (folds.none(), folds.none());
        for tree in &nested {
            plain.add(tree).unwrap();
            arrays.add(&tree.clone().with_arrays().unwrap()).unwrap();
        }
        assert_eq!(arrays, plain);
        let schema = |it: &Structures| serde_json::to_value(it.to_json_schema().unwrap()).unwrap();
        assert_eq!(schema(&arrays), schema(&plain));
        let text = serde_json::to_string(&arrays).unwrap();
        assert_eq!(serde_json::from_str::<Structures>(&text).unwrap(), plain);
        let different = arrays.by_count().unwrap().len();
        arrays.merge(&plain).unwrap();
        assert_eq!(arrays.by_count().unwrap().len(), different);
        assert_eq!(arrays.documents(), 2 * plain.documents());
    }
    let mut all = Structures::new();
    for tree in &nested {
        all.add(&tree.clone().with_arrays().unwrap()).unwrap();
    }
    insta::assert_snapshot!(listed(&all), @r"
    1 (0–0): (f32, f32, f32)
    1 (1–1): [f64, f64]
    1 (2–2): [f32, f32]
    1 (3–3): (str, [[u8, u8]; 2])
    1 (4–4): [bool; 9]
    ");
}

#[test]
fn an_opaque_leaf_that_is_no_array_may_be_anything() {
    let mut structures = Structures::new();
    for value in [vec!["a"], vec![]] {
        structures.add(&Tree::of(&treedef::Opaque(value)).unwrap()).unwrap();
    }
    let mixed = Tree::of(&(treedef::Opaque(["a"]), vec![1u8, 2])).unwrap();
    structures.add(&mixed.with_arrays().unwrap()).unwrap();
    insta::assert_snapshot!(listed(&structures), @r"
    2 (0–1): opaque
    1 (2–2): (opaque, [u8, u8])
    ");
    let schema = serde_json::to_value(structures.to_json_schema().unwrap()).unwrap();
    assert_eq!(schema["anyOf"][0], json!({}));
}

/// A date of TOML and a tag of CBOR have private names, which no key of a document is.
#[test]
fn values_of_a_format_count_as_in_a_tree() {
    use serde::{Deserialize, Deserializer};

    struct Read(Structures);

    impl<'de> Deserialize<'de> for Read {
        fn deserialize<D: Deserializer<'de>>(document: D) -> Result<Self, D::Error> {
            let mut structures = Structures::new();
            structures.seed().deserialize(document)?;
            Ok(Read(structures))
        }
    }

    fn schema(structures: &Structures) -> String {
        serde_json::to_string(&structures.to_json_schema().unwrap()).unwrap()
    }

    let toml = "d = 1979-05-27\nk = { \"$__toml_private_datetime\" = \"1979-05-27\" }";
    let document = || toml::Deserializer::parse(toml).unwrap();
    let tree = Tree::<Leaf>::deserialize(document()).unwrap();
    for folds in [Folds { keys: Some(0), ..Folds::default() }, Folds::default()] {
        let (mut read, mut added) = (folds.none(), folds.none());
        for _ in 0..2 {
            read.seed().deserialize(document()).unwrap();
            added.add(&tree).unwrap();
        }
        assert_eq!(listed(&read), listed(&added));
    }
    let Read(dates) = Read::deserialize(document()).unwrap();
    insta::assert_snapshot!(listed(&dates), @r#"1 (0–0): {"d": `$__toml_private_Datetime` { `$__toml_private_datetime`: str }, "k": {"$__toml_private_datetime": str}}"#);
    insta::assert_snapshot!(serde_json::to_string(&tree).unwrap(), @r#"{"d":"1979-05-27","k":{"$__toml_private_datetime":"1979-05-27"}}"#);
    insta::assert_snapshot!(schema(&dates), @r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"d":{"type":"string"},"k":{"type":"object","properties":{"$__toml_private_datetime":{"type":"string"}},"required":["$__toml_private_datetime"],"additionalProperties":false}},"required":["d","k"],"additionalProperties":false}"#);

    // [1(1), 2([null])]
    let cbor: &[u8] = b"\x82\xc1\x01\xc2\x81\xf6";
    let Read(tags) = ciborium::from_reader(cbor).unwrap();
    let (tree, mut added) =
        (ciborium::from_reader::<Tree<Leaf>, _>(cbor).unwrap(), Structures::new());
    added.add(&tree).unwrap();
    assert_eq!(listed(&tags), listed(&added));
    insta::assert_snapshot!(listed(&tags), @"1 (0–0): [`@@TAG@@`::`@@TAGGED@@`(u64, u64), `@@TAG@@`::`@@TAGGED@@`(u64, [None])]");
    insta::assert_snapshot!(serde_json::to_string(&tree).unwrap(), @"[1,[null]]");
    insta::assert_snapshot!(schema(&tags), @r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"array","prefixItems":[{"type":"integer","minimum":0},{"type":"array","items":{"type":"null"},"minItems":1,"maxItems":1}],"items":false,"minItems":2,"maxItems":2}"#);
}

#[test]
fn a_structure_is_new_once_more_after_a_fold() {
    let tree = Tree::of(&json!({"a": 1})).unwrap();
    let add_thrice = |settles: bool| {
        let mut structures = Structures::new().fold_keys(0);
        let is_new = [(); 3].map(|()| {
            if settles {
                structures.settle().unwrap();
            }
            structures.add(&tree).unwrap()
        });
        assert_eq!(listed(&structures), "3 (0–2): {*: u64; 1}");
        is_new
    };
    assert_eq!(add_thrice(false), [true, true, false]);
    assert_eq!(add_thrice(true), [true, false, false]);
}

fn tree(text: &str) -> Tree<Leaf> {
    let treedef: treedef::TreeDef = text.parse().unwrap();
    let leaves = vec![Leaf::from(true); treedef.num_leaves()];
    Tree::new(treedef, leaves).unwrap()
}

/// Each structure has them in one form, whatever the documents are and in which order they come.
#[test]
fn keys_of_one_value_are_one() {
    let trees = [
        r#"{1u8: *, -2i8: *, (): *, [3u8]: *, 'x': *, Shade::Red: *}"#,
        r#"{1u64: *, -2i64: *, None: *, [3u64]: *, "x": *, "Red": *}"#,
        r#"{Some(1i32): *, -2i128: *, Nothing: *, (3u16,): *, "x": *, Color::Red: *}"#,
    ];
    let mut structures = Structures::new();
    for text in trees {
        let mut one = Structures::new();
        one.add(&tree(text)).unwrap();
        insta::allow_duplicates! {
            insta::assert_snapshot!(one.by_count().unwrap()[0].structure, @r#"{-2i64: bool, 1u64: bool, "Red": bool, "x": bool, null: bool, [3u64]: bool}"#);
        }
        structures.merge(&one).unwrap();
    }
    let all = structures.by_count().unwrap();
    assert_eq!((all.len(), all[0].count), (1, 3));
    let other = r#"{1: *, -2: *, "()": *, [3]: *, "x": *, "Red": *}"#;
    assert!(structures.add(&tree(other)).unwrap());
}

/// The shown keys do not depend on a document that was refused.
#[test]
fn a_refused_document_leaves_no_keys() {
    let limits = Limits { max_depth: 2, ..Limits::default() };
    let [mut one, mut other] = [(); 2].map(|()| Structures::new().limits(limits));
    other.add(&tree("{1u8: [[[*]]]}")).unwrap_err();
    for structures in [&mut one, &mut other] {
        structures.add(&tree("{1u64: *}")).unwrap();
    }
    other.add(&tree("{1u16: [[[*]]]}")).unwrap_err();
    assert_eq!(one, other);
    assert_eq!(listed(&other), "1 (0–0): {1u64: bool}");
}

/// Keys are named as serde_json writes them.
#[test]
fn a_schema_has_the_keys_that_json_has() {
    #[derive(serde::Serialize, PartialEq, Eq, PartialOrd, Ord)]
    enum Color {
        Red,
    }
    #[derive(serde::Serialize, PartialEq, Eq, PartialOrd, Ord)]
    struct Id(String);
    fn properties<K: serde::Serialize + Ord>(key: K) -> serde_json::Value {
        let value = std::collections::BTreeMap::from([(key, 1u8)]);
        let mut structures = Structures::new();
        structures.add(&treedef::Tree::of(&value).unwrap()).unwrap();
        let schema = serde_json::to_value(structures.to_json_schema().unwrap()).unwrap();
        let json = serde_json::to_string(&value).unwrap();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let (found, expected) = (&schema["properties"], json.as_object().unwrap());
        assert!(found.as_object().unwrap().keys().eq(expected.keys()), "{schema} {json}");
        schema["required"].clone()
    }
    assert_eq!(properties(Color::Red), serde_json::json!(["Red"]));
    assert_eq!(properties(Id("x".to_owned())), serde_json::json!(["x"]));
    assert_eq!(properties(Some("y")), serde_json::json!(["y"]));
    assert_eq!(properties(-7i64), serde_json::json!(["-7"]));

    // JSON has no such keys. Folded maps do not have their keys any more.
    let units = treedef::Tree::of(&std::collections::BTreeMap::from([((), 1u8)])).unwrap();
    let mut structures = Structures::new();
    structures.add(&units).unwrap();
    let error = structures.to_json_schema().unwrap_err();
    insta::assert_snapshot!(error, @"JSON has no such keys at `[null]`");
    let schema = serde_json::to_value(structures.fold_keys(0).to_json_schema().unwrap()).unwrap();
    assert_eq!(schema["maxProperties"], 1);

    // A float may be written in several ways.
    let mut structures = Structures::new();
    let floats = treedef::Tree::of(&Floats).unwrap();
    structures.add(&floats).unwrap();
    let schema = serde_json::to_value(structures.to_json_schema().unwrap()).unwrap();
    assert_eq!(schema["maxProperties"], 2);
    assert!(schema.get("required").is_none());
}

/// A map whose keys are floats.
struct Floats;

impl serde::Serialize for Floats {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(1e-5, 1), (1e16, 2)])
    }
}
