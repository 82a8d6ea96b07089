//! Structures counted, beside a model that has all documents in memory, and the laws of merging.

use std::collections::{BTreeMap, BTreeSet};

use allocation_counter::measure;
use proptest::prelude::*;
use proptest::sample::Index;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Value as Json, json};
use treedef::{Leaf, Limits, NodeKind, NodeRef, Structure, StructureLeaf, Structures, Tree};

/// What is folded.
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

/// Documents of which many are alike.
fn any_json() -> impl Strategy<Value = Json> {
    let scalar = prop_oneof![
        Just(Json::Null),
        Just(json!(true)),
        Just(json!("a")),
        Just(json!(1)),
        Just(json!(-1)),
        Just(json!(0.5)),
    ];
    scalar.prop_recursive(4, 16, 4, |inside| {
        prop_oneof![
            prop::collection::vec(inside.clone(), 0..4).prop_map(Json::from),
            prop::collection::hash_map("[a-d]", inside, 0..4)
                .prop_map(|map| map.into_iter().collect()),
        ]
    })
}

fn read(structures: &mut Structures, text: &str) -> serde_json::Result<bool> {
    structures.seed().deserialize(&mut serde_json::Deserializer::from_str(text))
}

/// Counts by reading from the first index on.
fn counted(folds: Folds, documents: &[Json], first: u64) -> Structures {
    let mut structures = folds.none();
    structures.set_next_index(first);
    for document in documents {
        read(&mut structures, &document.to_string()).unwrap();
    }
    structures
}

/// Text, count, first and last, in the order of the texts.
type Table = Vec<(String, u64, u64, u64)>;

fn table(structures: &Structures) -> Table {
    let all = structures.by_count().unwrap();
    assert!(all.is_sorted_by(|a, b| a.count >= b.count));
    let row = |it: &treedef::StructureCount| (shown(&it.structure), it.count, it.first, it.last);
    let mut rows: Table = all.iter().map(row).collect();
    rows.sort();
    rows
}

/// All nodes one by one.
fn shown(structure: &Structure) -> String {
    fn show(node: NodeRef<'_>, leaves: &[StructureLeaf]) -> String {
        let below: Vec<String> = node.children().map(|child| show(child, leaves)).collect();
        match node.kind() {
            NodeKind::Unit => "null".to_owned(),
            NodeKind::Seq => format!("[{}]", below.join(" ")),
            NodeKind::Map => {
                let entries = node.entry_keys().iter().zip(below);
                entries
                    .fold(String::from("{"), |text, (key, below)| format!("{text}{key}:{below} "))
                    + "}"
            }
            NodeKind::Leaf => match &leaves[node.leaf_range().start] {
                StructureLeaf::Scalar(kinds) => kinds.to_string(),
                StructureLeaf::Seq(folded) => pooled("seq", folded),
                StructureLeaf::Map(folded) => pooled("map", folded),
                other => panic!("{other:?}"),
            },
            other => panic!("{other}"),
        }
    }
    fn pooled(kind: &str, folded: &treedef::Collection) -> String {
        let elements: BTreeSet<String> = folded.elements.iter().map(shown).collect();
        assert_eq!(elements.len(), folded.elements.len());
        format!("{kind} {}-{} {elements:?}", folded.shortest, folded.longest)
    }
    show(structure.treedef().root(), structure.leaves())
}

/// The model: a structure with its pools in place.
#[derive(Clone)]
enum Form {
    Scalar(String),
    Seq(Vec<Form>),
    Map(BTreeMap<String, Form>),
    Pool(&'static str, usize, usize, Vec<Form>),
}

impl Form {
    /// All but what is in pools.
    fn identity(&self) -> String {
        match self {
            Form::Scalar(kind) => kind.clone(),
            Form::Seq(all) => {
                all.iter().fold("[".to_owned(), |text, it| text + &it.identity() + " ")
            }
            Form::Map(all) => all
                .iter()
                .fold("{".to_owned(), |text, (key, it)| text + key + ":" + &it.identity() + " "),
            Form::Pool(kind, ..) => (*kind).to_owned(),
        }
    }

    fn join(&mut self, other: &Form) {
        match (self, other) {
            (Form::Seq(these), Form::Seq(others)) => {
                these.iter_mut().zip(others).for_each(|(it, other)| it.join(other));
            }
            (Form::Map(these), Form::Map(others)) => {
                these.values_mut().zip(others.values()).for_each(|(it, other)| it.join(other));
            }
            (Form::Pool(_, least, most, pool), Form::Pool(_, min, max, others)) => {
                (*least, *most) = ((*least).min(*min), (*most).max(*max));
                others.iter().for_each(|other| put(pool, other));
            }
            _ => {}
        }
    }

    /// Equal neighbours in a sequence are one run, with one pool.
    fn with_runs(mut self) -> Self {
        if let Form::Seq(all) = &mut self {
            let mut first = 0;
            for at in 1..=all.len() {
                if at == all.len() || all[at].identity() != all[first].identity() {
                    let (start, rest) = all[first..at].split_at_mut(1);
                    rest.iter().for_each(|it| start[0].join(it));
                    rest.fill(start[0].clone());
                    first = at;
                }
            }
        }
        self
    }

    fn shown(&self) -> String {
        match self {
            Form::Scalar(kind) => kind.clone(),
            Form::Seq(all) => {
                let all: Vec<String> = all.iter().map(Form::shown).collect();
                format!("[{}]", all.join(" "))
            }
            Form::Map(all) => {
                let entry = |(key, it): (&String, &Form)| format!("{key:?}:{} ", it.shown());
                format!("{{{}}}", all.iter().map(entry).collect::<String>())
            }
            Form::Pool(kind, least, most, pool) => {
                let elements: BTreeSet<String> = pool.iter().map(Form::shown).collect();
                format!("{kind} {least}-{most} {elements:?}")
            }
        }
    }
}

fn put(pool: &mut Vec<Form>, form: &Form) {
    match pool.iter_mut().find(|it| it.identity() == form.identity()) {
        Some(known) => known.join(form),
        None => pool.push(form.clone()),
    }
}

/// What is at one place in all documents: whether its keys are data, and the places below.
struct Place {
    is_folded: bool,
    below: BTreeMap<Option<String>, Place>,
}

impl Place {
    fn of(all: &[&Json], folds: Folds) -> Place {
        let maps = || all.iter().filter_map(|json| json.as_object());
        let keys: BTreeSet<&String> = maps().flat_map(|map| map.keys()).collect();
        let is_folded = folds.keys.is_some_and(|most| keys.len() > most);
        let mut groups: BTreeMap<Option<String>, Vec<&Json>> = BTreeMap::new();
        for map in maps() {
            for (key, value) in map {
                let key = if is_folded { "*" } else { key };
                groups.entry(Some(key.to_owned())).or_default().push(value);
            }
        }
        let elements = all.iter().filter_map(|json| json.as_array()).flatten();
        groups.insert(None, elements.collect());
        if groups.values().all(Vec::is_empty) {
            groups.clear();
        }
        let below = groups.into_iter().map(|(key, all)| (key, Place::of(&all, folds))).collect();
        Place { is_folded, below }
    }

    fn form(&self, json: &Json, folds: Folds) -> Form {
        let below = |key: Option<&str>, json| self.below[&key.map(str::to_owned)].form(json, folds);
        let pool = |kind, all: Vec<Form>| {
            let mut pool = Vec::new();
            all.iter().for_each(|form| put(&mut pool, form));
            Form::Pool(kind, all.len(), all.len(), pool)
        };
        match json {
            Json::Array(all) => {
                let all: Vec<Form> = all.iter().map(|json| below(None, json)).collect();
                if folds.lengths { pool("seq", all) } else { Form::Seq(all).with_runs() }
            }
            Json::Object(map) if self.is_folded => {
                pool("map", map.values().map(|json| below(Some("*"), json)).collect())
            }
            Json::Object(map) => Form::Map(
                map.iter().map(|(key, json)| (key.clone(), below(Some(key), json))).collect(),
            ),
            Json::Null => Form::Scalar("null".to_owned()),
            Json::Bool(_) => Form::Scalar("bool".to_owned()),
            Json::String(_) => Form::Scalar("str".to_owned()),
            Json::Number(_) if folds.numbers => Form::Scalar("number".to_owned()),
            Json::Number(number) => {
                let is_float = number.as_i64().is_none();
                let kind = match (is_float, folds.widths, number.is_u64()) {
                    (true, true, _) => "float",
                    (true, false, _) => "f64",
                    (false, true, _) => "int",
                    (false, false, true) => "u64",
                    (false, false, false) => "i64",
                };
                Form::Scalar(kind.to_owned())
            }
        }
    }
}

fn model(documents: &[Json], folds: Folds) -> Table {
    let place = Place::of(&documents.iter().collect::<Vec<_>>(), folds);
    let mut rows: BTreeMap<String, (Form, u64, u64, u64)> = BTreeMap::new();
    for (index, document) in (0..).zip(documents) {
        let form = place.form(document, folds);
        let row = rows.entry(form.identity()).or_insert((form.clone(), 0, index, index));
        row.0.join(&form);
        (row.1, row.3) = (row.1 + 1, index);
    }
    let rows =
        rows.into_values().map(|(form, count, first, last)| (form.shown(), count, first, last));
    let mut rows: Table = rows.collect();
    rows.sort();
    rows
}

proptest! {
    #[test]
    fn counts_are_those_of_the_model(documents in prop::collection::vec(any_json(), 0..20), folds in any_folds()) {
        prop_assert_eq!(table(&counted(folds, &documents, 0)), model(&documents, folds));
    }

    #[test]
    fn a_tree_counts_as_what_is_read(documents in prop::collection::vec(any_json(), 0..12), folds in any_folds()) {
        let mut structures = folds.none();
        for document in &documents {
            structures.add(&Tree::of(document)?)?;
        }
        prop_assert_eq!(table(&structures), table(&counted(folds, &documents, 0)));
    }

    #[test]
    fn to_fold_later_is_to_fold_from_the_beginning(documents in prop::collection::vec(any_json(), 0..12), folds in any_folds(), half in any_folds()) {
        let first = Folds {
            lengths: folds.lengths && half.lengths,
            keys: folds.keys.and_then(|keys| Some(keys + half.keys?)),
            widths: folds.widths && half.widths,
            numbers: folds.numbers && half.numbers,
        };
        let later = folds.of(counted(first, &documents, 0));
        prop_assert_eq!(later, counted(folds, &documents, 0));
    }

    #[test]
    fn parts_are_merged_in_any_order(
        documents in prop::collection::vec(any_json(), 0..16),
        folds in any_folds(),
        cuts in prop::array::uniform2(any::<Index>()),
    ) {
        let mut cuts = cuts.map(|cut| cut.index(documents.len() + 1));
        cuts.sort();
        let [a, b, c] = [0..cuts[0], cuts[0]..cuts[1], cuts[1]..documents.len()]
            .map(|range| counted(folds, &documents[range.clone()], range.start as u64));
        let merged = |mut a: Structures, b: &Structures| a.merge(b).map(|()| a);
        let whole = counted(folds, &documents, 0);
        let left = merged(merged(a.clone(), &b)?, &c)?;
        let right = merged(a.clone(), &merged(b.clone(), &c)?)?;
        let backwards = merged(merged(c, &b)?, &a)?;
        prop_assert_eq!(&left, &whole);
        prop_assert_eq!(&right, &whole);
        prop_assert_eq!(&backwards, &whole);
        prop_assert_eq!(&merged(folds.none(), &whole)?, &whole);
    }

    /// Documents that cannot be read to their end leave nothing.
    #[test]
    fn what_is_refused_leaves_nothing(documents in prop::collection::vec(any_json(), 0..12), folds in any_folds(), at in any::<Index>()) {
        let mut structures = folds.none();
        for document in &documents {
            let text = json!([document, {"a": document, "e": 1}]).to_string();
            let cut = at.index(text.len());
            read(&mut structures, &text[..cut]).unwrap_err();
            read(&mut structures, &document.to_string())?;
        }
        prop_assert_eq!(structures, counted(folds, &documents, 0));
    }

    /// All kinds of serde, as a format that knows them all would give them.
    #[test]
    fn any_data_counts_as_its_tree(data in crate::data::data(), folds in any_folds()) {
        let read = |data: &crate::data::Data| serde_value::to_value(data).ok();
        if let Some(value) = read(&data) {
            let (mut structures, mut trees) = (folds.none(), folds.none());
            let tree = Tree::<Leaf>::deserialize(value.clone());
            let seeded = structures.seed().deserialize(value);
            match tree {
                Ok(tree) => {
                    prop_assert!(seeded? && trees.add(&tree)?);
                    let texts = [&structures, &trees].map(|it| it.by_count().map(|all| all[0].structure.to_string()));
                    prop_assert_eq!(texts[0].as_ref().ok(), texts[1].as_ref().ok());
                    let text = serde_json::to_string(&trees)?;
                    prop_assert_eq!(serde_json::from_str::<Structures>(&text)?, trees);
                }
                Err(error) => drop(seeded.expect_err(&error.to_string())),
            }
        }
    }

    #[test]
    fn damaged_documents_are_refused_or_counted(json in any_json(), folds in any_folds(), at in any::<Index>(), byte in any::<u8>()) {
        let mut text = json.to_string().into_bytes();
        let at = at.index(text.len());
        text[at] = byte;
        let mut structures = folds.none();
        let counted = structures.seed().deserialize(&mut serde_json::Deserializer::from_slice(&text));
        let mut reader = serde_json::Deserializer::from_slice(&text);
        prop_assert_eq!(counted.is_ok(), Tree::<Leaf>::deserialize(&mut reader).is_ok());
        prop_assert_eq!(structures.documents(), u64::from(counted.is_ok()));
    }

    #[test]
    fn structures_come_back_from_a_document(documents in prop::collection::vec(any_json(), 0..12), folds in any_folds()) {
        let mut structures = counted(folds, &documents, 7);
        for document in documents.iter().take(3) {
            structures.add(&Tree::of(document)?)?;
        }
        let text = serde_json::to_string(&structures)?;
        let back: Structures = serde_json::from_str(&text)?;
        prop_assert_eq!(&back, &structures);
        let config = bincode::config::standard();
        let bytes = bincode::serde::encode_to_vec(&structures, config).unwrap();
        let (back, _): (Structures, usize) = bincode::serde::decode_from_slice(&bytes, config).unwrap();
        prop_assert_eq!(&back, &structures);
    }
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
    let line = |it: &treedef::StructureCount| {
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
    1 (3–3): {(1, 'c'): ()}
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
    // What a document needs is its own pools, one after the other.
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

#[test]
fn limits_hold_and_what_was_counted_stays() {
    let limits = Limits::default();
    let mut structures =
        Structures::new().limits(limits.max_nodes(40).max_depth(3)).max_structures(2);
    read(&mut structures, "[1, 2]").unwrap();
    let said = |error: serde_json::Error| error.to_string();
    insta::assert_snapshot!(said(read(&mut structures, "[[[[]]]]").unwrap_err()), @"nested deeper than 3 levels at `[0][0][0]` (`Flattener::max_depth` and `Limits::max_depth` allow more) at line 1 column 5");
    let wide: Vec<String> = (0..40).map(|at| format!("\"k{at}\": 1")).collect();
    insta::assert_snapshot!(said(read(&mut structures, &format!("{{{}}}", wide.join(","))).unwrap_err()), @"41 nodes, the limit is 40 (see `Limits::max_nodes`) at line 1 column 140");
    read(&mut structures, "[3, 4]").unwrap();
    read(&mut structures, "true").unwrap();
    insta::assert_snapshot!(said(read(&mut structures, "null").unwrap_err()), @"3 distinct structures, the limit is 2 (see `Structures::max_structures` and `fold_lengths`)");
    assert_eq!(listed(&structures), "2 (0–1): [u64, u64]\n1 (2–2): bool");

    let other = of_texts(Structures::new().fold_lengths(true), ["1"]);
    insta::assert_snapshot!(structures.merge(&other).unwrap_err(), @"expected structures with nothing folded, found some with lengths folded: fold both the same");
    let mut few = of_texts(Structures::new().max_structures(2), ["1", "2"]);
    let more = of_texts(Structures::new().max_structures(2), ["true", "null"]);
    insta::assert_snapshot!(few.merge(&more).unwrap_err(), @"3 distinct structures, the limit is 2 (see `Structures::max_structures` and `fold_lengths`)");
    assert_eq!(listed(&few), "2 (0–1): u64");
}

/// A run of a billion units, a document of keys, arrays of all lengths.
#[test]
fn hostile_trees_are_counted_or_refused() {
    for text in [
        "[(); 10000000000]",
        "[[[]; 10000000000]; 10000000000]",
        "([None; 18446744073709551615], ())",
    ] {
        let tree: Tree<Leaf> = Tree::new(text.parse().unwrap(), vec![]).unwrap();
        for folded in [Structures::new(), Structures::new().fold_lengths(true)] {
            let mut structures = folded;
            structures.add(&tree).unwrap();
            assert_eq!(structures.by_count().unwrap().len(), 1);
            let text = serde_json::to_string(&structures).unwrap();
            assert_eq!(serde_json::from_str::<Structures>(&text).unwrap(), structures);
        }
    }
    let mut structures = Structures::new().limits(Limits::default().max_nodes(100_000));
    let refused = (0..1_000)
        .find_map(|length| read(&mut structures, &json!(vec![1; length]).to_string()).err());
    assert!(refused.unwrap().to_string().contains("see `Limits::max_nodes`"));
}

#[test]
fn damaged_structures_are_refused() {
    let folded = Structures::new().fold_lengths(true).fold_keys(4);
    let text = serde_json::to_string(&of_texts(folded, EVENTS)).unwrap();
    let damaged = |from: &str, to: &str| {
        assert!(text.contains(from), "{from} is not in {text}");
        let read = serde_json::from_str::<Structures>(&text.replacen(from, to, 1));
        read.map_err(|error| error.to_string()).unwrap_err()
    };
    insta::assert_snapshot!(damaged("\"count\":2", "\"count\":0"), @"invalid file, structures: a structure that no document has");
    insta::assert_snapshot!(damaged("\"first\":2", "\"first\":5"), @"invalid file, structures: a structure that no document has");
    insta::assert_snapshot!(damaged("seq 0 0 0", "seq 0 7 0"), @"expected the leaf of a structure, found `seq 0 7 0` at byte 0 at line 1 column 435");
    insta::assert_snapshot!(damaged("seq 0 0 0", "seq 0 7 1"), @"invalid file, structures: a part of a structure is missing");
    insta::assert_snapshot!(damaged("seq 0 0 0", "u64 \",\"u64"), @"expected the leaf of a structure, found `u64 ` at byte 0 at line 1 column 430");
    insta::assert_snapshot!(damaged("[\"seq 0 0 0\"]]", "[\"u64\"]],[\"*\",[\"u64\"]]"), @"invalid file, structures: a structure has a part too many");
    insta::assert_snapshot!(damaged("[\"seq 0 0 0", "[\"u64\",\"seq 0 0 0"), @"expected 1 leaf, found 2");
    insta::assert_snapshot!(damaged("fold_keys", "fold_key"), @"unknown field `fold_key`, expected one of `fold_lengths`, `fold_keys`, `fold_widths`, `fold_numbers`, `next_index`, `structures` at line 1 column 31");

    let deep = "[\"*\",[\"seq 1 1 1\"]],".repeat(100_000) + "[\"*\",[\"u64\"]]";
    let text = format!(
        r#"{{"fold_lengths":true,"fold_keys":null,"fold_widths":true,"fold_numbers":true,"next_index":1,"structures":[{{"structure":[{deep}],"count":1,"first":0,"last":0,"example":null}}]}}"#
    );
    let error = serde_json::from_str::<Structures>(&text).unwrap_err();
    assert!(error.to_string().starts_with("nested deeper than 256 levels"), "{error}");
}

/// A document of nested sequences or maps, which no format has to read.
#[derive(Clone)]
struct Deep {
    levels: usize,
    map: bool,
    /// Whether the one element was read.
    read: bool,
}

impl<'de> Deserializer<'de> for Deep {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match (self.levels, self.map) {
            (0, _) => visitor.visit_u64(1),
            (_, true) => visitor.visit_map(self),
            (_, false) => visitor.visit_seq(self),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any
    }
}

impl<'de> SeqAccess<'de> for Deep {
    type Error = serde::de::value::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Self::Error> {
        let inside = Deep { levels: self.levels - 1, ..*self };
        let is_first = !std::mem::replace(&mut self.read, true);
        is_first.then(|| seed.deserialize(inside)).transpose()
    }
}

impl<'de> MapAccess<'de> for Deep {
    type Error = serde::de::value::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Self::Error> {
        let is_first = !std::mem::replace(&mut self.read, true);
        is_first.then(|| seed.deserialize("a".into_deserializer())).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, Self::Error> {
        seed.deserialize(Deep { levels: self.levels - 1, map: self.map, read: false })
    }
}

/// All that recurses: in a thread's stack, without optimisation.
#[test]
fn the_deepest_structures_fit_the_stack() {
    let limits = Limits::default().max_depth(1_000);
    for (map, keys) in [(false, usize::MAX), (false, 0), (true, usize::MAX), (true, 0)] {
        let folded = Structures::new().fold_lengths(keys == 0).fold_keys(keys).limits(limits);
        let mut structures = folded.clone();
        structures.seed().deserialize(Deep { levels: 256, map, read: false }).unwrap();
        structures.to_json_schema().unwrap_err();
        let mut twice = structures.clone();
        twice.merge(&structures).unwrap();
        assert!(twice != structures && format!("{twice:?}").contains("u64"));
        let all = twice.by_count().unwrap();
        assert!(all[0].diff().is_empty());
        assert!(!twice.add_structure(&all[0].structure).unwrap());
        let text = serde_json::to_string(&twice).unwrap();
        // A document of treedefs has the depth that is allowed by default.
        let error = serde_json::from_str::<Structures>(&text).unwrap_err().to_string();
        assert!(error.starts_with("nested deeper than 128 levels"), "{error}");

        let error = folded.clone().seed().deserialize(Deep { levels: 257, map, read: false });
        let said = error.unwrap_err().to_string();
        assert!(said.starts_with("nested deeper than 256 levels"), "{said}");
    }
}
