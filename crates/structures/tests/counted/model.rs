//! Counting with all documents in memory, written from the docs alone, and the laws of merging.
//!
//! For example, the documents `{"a": [1]}`, `{"a": [0.5, 2]}` and `{"a": []}`, with lengths folded:
//!
//! 1. [`Place::of`] sees all values at each place, to know which keys are data. Here none are.
//! 2. [`Place::form`] makes each document a [`Form`]: a map whose `a` is a pool of the elements that
//!    there were, with the shortest and the longest length.
//! 3. The three forms differ only in what is in their pools, so [`Form::identity`] is one text, and
//!    they are one row. [`Form::join`] puts the pools together: `seq 0-2 {"f64", "u64"}`, count 3.
//!
//! The rows must equal the rows of `Structures`, which never has more than one document in memory.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use proptest::prelude::*;
use proptest::sample::Index;
use serde::Deserialize;
use serde::de::DeserializeSeed;
use serde_json::{Value as Json, json};
use treedef::__private::key_form;
use treedef::{Key, Leaf, NodeKind, NodeRef, Tree, Value};
use treedef_structures::{Structure, StructureLeaf, Structures};
use treedef_testing::cases::config;

use super::{Folds, any_folds, read};

/// Documents, many of them equal.
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
    let row = |it: &treedef_structures::StructureCount| {
        (shown(&it.structure), it.count, it.first, it.last)
    };
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
    fn pooled(kind: &str, folded: &treedef_structures::Collection) -> String {
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
    /// Everything except the pools.
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

/// One place in all documents: whether its keys are data, and the places below.
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

/// Whether a map has two keys that are the same value.
fn has_twins(node: NodeRef<'_>) -> bool {
    let keys = (0..node.num_children()).filter_map(|position| match node.key(position)? {
        Key::Entry(key) => Some(key_form(&key)),
        _ => None,
    });
    let keys: Vec<Value> = keys.collect();
    let distinct: HashSet<&Value> = keys.iter().collect();
    distinct.len() < keys.len() || node.runs().any(|(child, _)| has_twins(child))
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn counts_are_those_of_the_model(documents in prop::collection::vec(any_json(), 0..20), folds in any_folds()) {
        prop_assert_eq!(table(&counted(folds, &documents, 0)), model(&documents, folds));
    }

    #[test]
    fn a_tree_counts_as_what_is_read(documents in prop::collection::vec(any_json(), 0..12), folds in any_folds()) {
        let (mut structures, mut of_arrays) = (folds.none(), folds.none());
        for document in &documents {
            structures.add(&Tree::of(document)?)?;
            of_arrays.add(&Tree::of(document)?.with_arrays()?)?;
        }
        prop_assert_eq!(table(&structures), table(&counted(folds, &documents, 0)));
        prop_assert_eq!(of_arrays, structures);
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

    /// A document is refused if it makes one structure too many, after all that it folds.
    #[test]
    fn as_many_structures_are_counted_as_fit(documents in prop::collection::vec(any_json(), 0..12), folds in any_folds(), most in 1..4usize) {
        let (mut structures, mut counted) = (folds.none().max_structures(most), Vec::new());
        for document in documents {
            let tree = Tree::of(&document)?;
            counted.push(document);
            let fits = model(&counted, folds).len() <= most;
            prop_assert_eq!(structures.add(&tree).is_ok(), fits);
            counted.truncate(counted.len() - usize::from(!fits));
        }
        prop_assert_eq!(table(&structures), model(&counted, folds));
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

    /// All kinds of serde, as from a format that has them all. For two keys of a map that are the same value,
    /// such as `()` and `None`, a reader cannot know which one a tree would have first.
    #[test]
    fn any_data_counts_as_its_tree(data in treedef_testing::data::data(), folds in any_folds()) {
        let read = |data: &treedef_testing::data::Data| serde_value::to_value(data).ok();
        if let Some(value) = read(&data) {
            let (mut structures, mut trees) = (folds.none(), folds.none());
            let tree = Tree::<Leaf>::deserialize(value.clone());
            let seeded = structures.seed().deserialize(value);
            match tree {
                Ok(tree) => {
                    prop_assume!(!has_twins(tree.treedef().root()));
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
