//! Following gives the same words as recording alone, and copied nodes are those that are read: on
//! random values, which also fail, go on after an error, and walk other values meanwhile.

use std::cell::Cell;

use fastrand::Rng;
use serde::ser::{Error as _, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple};
use serde::{Serialize, Serializer};
use treedef_testing::cases::cases;

use crate::leaf::sink::Sink;
use crate::model::{Leaf, Limits, Options, TreeDef, Word};

use super::labels::{LabelTable, Most};
use super::nodes::{Made, WordReader};
use super::serializer::Writer;
use super::tape::Tape;
use super::walk::Request;
use super::word::same;

#[derive(Clone, Debug)]
enum Model {
    Number(f64),
    Text(&'static str),
    Nothing,
    Present(Box<Model>),
    Newtype(Box<Model>),
    Seq(Vec<Model>),
    Collected(Vec<Model>),
    Tuple(Vec<Model>),
    Struct(Vec<(&'static str, Model)>),
    Map(Vec<(Model, Model)>),
    Variant(&'static str),
    Static(Box<Model>),
    /// Fails.
    Fails,
    /// A sequence that goes on after its first element has failed.
    GoesOn(Vec<Model>),
    /// Walks the value by itself, and then as a part.
    Walks(Box<Model>),
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

impl Serialize for Model {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Model::Number(number) => serializer.serialize_f64(*number),
            Model::Text(text) => serializer.serialize_str(text),
            Model::Nothing => serializer.serialize_none(),
            Model::Present(inside) => serializer.serialize_some(inside),
            Model::Newtype(inside) => serializer.serialize_newtype_struct("N", inside),
            Model::Seq(elements) => {
                let mut seq = serializer.serialize_seq(None)?;
                elements.iter().try_for_each(|element| seq.serialize_element(element))?;
                seq.end()
            }
            Model::Collected(elements) => serializer.collect_seq(elements),
            Model::Tuple(elements) => {
                let mut tuple = serializer.serialize_tuple(elements.len())?;
                elements.iter().try_for_each(|element| tuple.serialize_element(element))?;
                tuple.end()
            }
            Model::Struct(fields) => {
                let mut fields_of = serializer.serialize_struct("S", fields.len())?;
                fields
                    .iter()
                    .try_for_each(|(name, field)| fields_of.serialize_field(name, field))?;
                fields_of.end()
            }
            Model::Map(entries) => {
                let mut map = serializer.serialize_map(None)?;
                entries.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
                map.end()
            }
            Model::Variant(name) => serializer.serialize_unit_variant("E", 0, name),
            Model::Static(inside) => crate::as_static(inside, serializer),
            Model::Fails => Err(S::Error::custom("fails")),
            Model::GoesOn(elements) => {
                let mut seq = serializer.serialize_seq(None)?;
                for element in elements {
                    let _ = seq.serialize_element(element);
                }
                seq.end()
            }
            Model::Walks(inside) => {
                let _ = crate::flatten(inside);
                inside.serialize(serializer)
            }
        }
    }
}

fn draw(rng: &mut Rng, depth: usize, fails: bool) -> Model {
    let inside = |rng: &mut Rng| Box::new(draw(rng, depth - 1, fails));
    let several = |rng: &mut Rng| -> Vec<Model> {
        let mut elements: Vec<Model> = Vec::new();
        for _ in 0..rng.usize(..5) {
            let element = match elements.first() {
                Some(_) if rng.bool() => elements[rng.usize(..elements.len())].clone(),
                _ => draw(rng, depth - 1, fails),
            };
            let times = if rng.u8(..4) == 0 { rng.usize(1..9) } else { 1 };
            elements.extend(std::iter::repeat_n(element, times));
        }
        elements
    };
    match if depth == 0 { rng.u8(..4) } else { rng.u8(..16) } {
        0 | 1 => Model::Number(rng.f64()),
        2 => Model::Text("text"),
        3 => Model::Nothing,
        4 => Model::Present(inside(rng)),
        5 => Model::Newtype(inside(rng)),
        6 => Model::Seq(several(rng)),
        7 | 8 => Model::Collected(several(rng)),
        9 => Model::Tuple(several(rng)),
        10 => Model::Struct(
            NAMES.iter().take(rng.usize(..5)).map(|name| (*name, *inside(rng))).collect(),
        ),
        11 => Model::Map(
            several(rng)
                .into_iter()
                .map(|value| (Model::Text(NAMES[rng.usize(..4)]), value))
                .collect(),
        ),
        12 => Model::Variant(NAMES[rng.usize(..4)]),
        13 => Model::Static(inside(rng)),
        14 if fails => match rng.u8(..3) {
            0 => Model::Fails,
            1 => Model::GoesOn(several(rng)),
            _ => Model::Walks(inside(rng)),
        },
        _ => Model::Seq(several(rng)),
    }
}

/// Changes a part of a value, so that it is followed for a while.
fn change(rng: &mut Rng, value: &mut Model) {
    match value {
        Model::Present(inside) | Model::Newtype(inside) | Model::Static(inside) if rng.bool() => {
            change(rng, inside)
        }
        Model::Seq(elements) | Model::Collected(elements) | Model::Tuple(elements)
            if !elements.is_empty() =>
        {
            let place = rng.usize(..elements.len());
            match rng.u8(..4) {
                0 => drop(elements.remove(place)),
                1 => elements.insert(place, elements[place].clone()),
                2 => elements.truncate(place),
                _ => change(rng, &mut elements[place]),
            }
        }
        Model::Struct(fields) if !fields.is_empty() => {
            let place = rng.usize(..fields.len());
            change(rng, &mut fields[place].1);
        }
        Model::Map(entries) if !entries.is_empty() => {
            let place = rng.usize(..entries.len());
            change(rng, &mut entries[place].1);
        }
        other => *other = draw(rng, 2, false),
    }
}

/// What a walk gave.
struct Walked {
    words: Vec<Word>,
    labels: Vec<String>,
    leaves: Vec<Leaf>,
    /// The value had the words that were expected, and none of its own.
    followed: bool,
}

fn walk(tape: &mut Tape, value: &Model) -> Option<Walked> {
    let end = value.serialize(Writer { tape: &mut *tape, at: 0 });
    let at = tape.ended(end).ok()?;
    let at = tape.count_leaves(at);
    let Tape { drivers, leaves, .. } = tape;
    let (followed, words) = match drivers.end(at) {
        Some(known) => (true, known.script.words.to_vec()),
        None => (false, drivers.recorder.words.clone()),
    };
    let labels = &mut drivers.recorder.labels;
    assert_copies_are_right(&words, labels);
    let (words, labels) = labels.used(words, Most::ANY)?;
    let labels = labels.iter().map(|label| label.value.to_string()).collect();
    let Sink::Leaves(leaves) = leaves else { return None };
    Some(Walked { words, labels, leaves: std::mem::take(leaves), followed })
}

/// The nodes are the same if no child is copied from one that is like it.
fn assert_copies_are_right(words: &[Word], labels: &mut LabelTable) {
    let mut made = |mut reader: WordReader| {
        let made = reader.made_of(words, labels, Options::default());
        made.map(|Made { treedef, swaps }| (format!("{:?}", treedef.insertions), treedef, swaps))
    };
    let mut reader = WordReader::default();
    reader.seen.uncopied = usize::MAX;
    let read = made(reader);
    assert_eq!(made(WordReader::default()).ok(), read.ok());
}

/// What `flatten` gives if there is room for few words.
fn nodes_made_early(value: &Model) -> crate::Result<(Vec<Leaf>, TreeDef)> {
    let mut tape = Box::<Tape>::default();
    tape.prepare(request(), None);
    tape.settings.most_words = 4;
    let end = value.serialize(Writer { tape: &mut tape, at: 0 });
    EARLY.set(EARLY.get() + u32::from(tape.drivers.recorder.has_early_nodes()));
    let (treedef, leaves) = tape.finish(end)?;
    let Sink::Leaves(leaves) = leaves else { return Ok((Vec::new(), treedef)) };
    Ok((leaves, treedef))
}

type Outcome = Result<(Vec<Leaf>, TreeDef, String), String>;

fn outcome(walked: crate::Result<(Vec<Leaf>, TreeDef)>) -> Outcome {
    let (leaves, treedef) = walked.map_err(|error| error.to_string())?;
    let orders = format!("{:?}", treedef.insertions);
    Ok((leaves, treedef, orders))
}

thread_local! {
    /// How many walks made nodes early.
    static EARLY: Cell<u32> = const { Cell::new(0) };
}

fn request() -> Request {
    Request::new(Sink::Leaves(Vec::new()), Options::default(), Limits::default())
}

#[test]
fn following_gives_the_words_of_recording_alone() {
    let followed = Cell::new(0u32);
    let seeds = cases(4_000);
    for seed in 0..seeds.into() {
        let mut rng = Rng::with_seed(seed);
        let mut value = draw(&mut rng, 4, seed % 4 == 0);
        for _ in 0..4 {
            let mut alone = Box::<Tape>::default();
            alone.prepare(Request { predicts: false, ..request() }, None);
            let expected = walk(&mut alone, &value);

            let mut tape = Tape::begin(request(), None);
            let found = walk(&mut tape, &value);
            tape.spare();
            let kept = crate::flatten(&value);
            assert_eq!(found.is_some(), expected.is_some(), "{value:?}");
            assert_eq!(kept.is_ok(), expected.is_some(), "{value:?}");
            if let (Some(found), Some(expected)) = (found, expected) {
                let (words, others) = (&found.words, &expected.words);
                assert!(same(words, others), "{value:?}\n{words:?}\n{others:?}");
                let all = |walked: Walked| (walked.labels, walked.leaves);
                followed.set(followed.get() + u32::from(found.followed));
                assert_eq!(all(found), all(expected), "{value:?}");
            }
            assert_eq!(outcome(nodes_made_early(&value)), outcome(kept), "{value:?}");
            drop(crate::flatten(&value)); // the second time on this tape: the next walk expects it
            if rng.bool() {
                change(&mut rng, &mut value);
            }
        }
    }
    assert!(EARLY.get() > seeds / 4, "nodes were made early for only {} values", EARLY.get());
    assert!(followed.get() > seeds / 4, "only {} values were followed to the end", followed.get());
}
