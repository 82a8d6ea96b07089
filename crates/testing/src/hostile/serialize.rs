//! `Serialize` implementations that lie, fail, ignore errors and stop early.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde::ser::{
    Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use treedef::{Flattener, Key, Leaf, MapOrder, NodeKind, Path, Value};

use super::differential::{check, check_paths};
use super::value::{KINDS, draw_scalar, serialize_scalar};
use super::{Plain, Tape};

/// The calls of a value when it is serialized.
#[derive(Debug)]
pub enum Script {
    Scalar(Leaf),
    /// A text that is written in pieces.
    Display(Vec<&'static str>),
    Atom(Plain),
    Wrapper(Plain, Box<Script>),
    Compound {
        head: Plain,
        claim: Option<usize>,
        steps: Vec<Step>,
        breaks_off: bool,
    },
    /// A different script each time.
    Changing(Rc<(Cell<usize>, Vec<Script>)>),
    Error,
}

/// One call on an open compound.
#[derive(Debug)]
pub struct Step {
    pub call: Call,
    pub field: &'static str,
    pub script: Script,
    /// Whether it continues after an error.
    pub swallows: bool,
}

impl Step {
    pub fn is_plain(&self) -> bool {
        self.call == Call::Child && !self.swallows
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Call {
    Child,
    Skip,
    Key,
    Value,
}

const DEPTH: usize = 4;

/// The kinds of nodes with any number of children.
const COMPOUNDS: [NodeKind; 7] = [
    NodeKind::Seq,
    NodeKind::Map,
    NodeKind::Struct,
    NodeKind::Tuple,
    NodeKind::TupleStruct,
    NodeKind::StructVariant,
    NodeKind::TupleVariant,
];

impl Script {
    /// A script with the calls of a plain tree. In each place it differs with a probability of
    /// `lies` in 16.
    pub fn draw(tape: &mut Tape, depth: usize, lies: usize) -> Script {
        let kind = match depth {
            0 => NodeKind::Leaf,
            DEPTH => COMPOUNDS[tape.below(COMPOUNDS.len())],
            _ => KINDS[tape.below(15)],
        };
        let head = Plain { name: tape.name(), variant: tape.name(), ..Plain::of(kind) };
        let lie = |tape: &mut Tape| tape.below(16) >= 16 - lies;
        if lie(tape) && lie(tape) {
            return Script::Error;
        }
        if depth > 0 && tape.one_in(16) {
            let scripts = (0..3).map(|_| Script::draw(tape, depth - 1, lies)).collect();
            return Script::Changing(Rc::new((Cell::new(0), scripts)));
        }
        if kind == NodeKind::Leaf && tape.one_in(8) {
            return Script::Display(vec!["", "a", ""]);
        }
        if kind == NodeKind::Leaf {
            return Script::Scalar(draw_scalar(tape));
        }
        if head.is_atom() {
            return Script::Atom(head);
        }
        if !head.has_any_number() {
            return Script::Wrapper(head, Box::new(Script::draw(tape, depth - 1, lies)));
        }
        let claim = match tape.below(5) {
            0 => None,
            1 => Some(0),
            2 => Some(3),
            3 => Some(usize::try_from(1u64 << 40).unwrap_or(1 << 30)),
            _ => Some(usize::MAX),
        };
        let mut steps: Vec<Step> = Vec::new();
        for _ in 0..tape.below(6) {
            let mut push = |tape: &mut Tape, call: Call| {
                let script = match steps.last() {
                    // The same script again: a run, or a change in the middle of a run.
                    Some(Step { script: Script::Changing(changing), .. }) if !tape.one_in(4) => {
                        Script::Changing(changing.clone())
                    }
                    _ => Script::draw(tape, depth - 1, lies),
                };
                steps.push(Step { call, field: tape.name(), script, swallows: lie(tape) });
            };
            if kind == NodeKind::Map {
                if !lie(tape) {
                    push(tape, Call::Key);
                }
                if !lie(tape) {
                    push(tape, Call::Value);
                }
            } else {
                let call = if lie(tape) { Call::Skip } else { Call::Child };
                push(tape, call);
            }
        }
        Script::Compound { head, claim, steps, breaks_off: lie(tape) && lie(tape) }
    }

    pub fn of(tape: &mut Tape) -> Script {
        let lies = [0, 3, 8][tape.below(3)];
        Script::draw(tape, DEPTH, lies)
    }

    /// Resets changing scripts to the beginning.
    pub fn reset(&self) {
        match self {
            Script::Wrapper(_, inner) => inner.reset(),
            Script::Compound { steps, .. } => steps.iter().for_each(|step| step.script.reset()),
            Script::Changing(changing) => {
                changing.0.set(0);
                changing.1.iter().for_each(Script::reset);
            }
            _ => {}
        }
    }

    pub fn now(changing: &(Cell<usize>, Vec<Script>)) -> &Script {
        let (calls, scripts) = changing;
        calls.set(calls.get() + 1);
        &scripts[(calls.get() - 1) % scripts.len()]
    }

    /// The value that is emitted, or the path to the error.
    pub fn play(&self) -> Result<Plain, Vec<Key>> {
        match self {
            Script::Scalar(leaf) => Ok(Plain::leaf(leaf.clone())),
            Script::Display(pieces) => Ok(Plain::leaf(&*pieces.concat())),
            Script::Atom(head) => Ok(without_names(head)),
            Script::Wrapper(head, inner) => match inner.play() {
                Ok(child) => Ok(Plain { children: vec![child], ..without_names(head) }),
                Err(path) => Err(extended(step_key(head, 0, "", None), path)),
            },
            Script::Changing(changing) => Script::now(changing).play(),
            Script::Error => Err(Vec::new()),
            Script::Compound { head, steps, breaks_off, .. } => {
                let mut plain = without_names(head);
                let mut key: Option<Plain> = None;
                for Step { call, field, script, .. } in steps {
                    match call {
                        Call::Skip => continue,
                        Call::Key if key.is_some() => return Err(Vec::new()),
                        Call::Key => key = Some(script.play().map_err(|_| Vec::new())?),
                        Call::Value if key.is_none() => return Err(Vec::new()),
                        Call::Child | Call::Value => {
                            let way = step_key(head, plain.children.len(), field, key.as_ref());
                            plain.children.push(script.play().map_err(|path| extended(way, path))?);
                            plain.keys.extend(key.take());
                            if matches!(head.kind, NodeKind::Struct | NodeKind::StructVariant) {
                                plain.fields.push(field);
                            }
                        }
                    }
                }
                if key.is_some() || *breaks_off { Err(Vec::new()) } else { Ok(plain) }
            }
        }
    }

    /// Whether it emits a different value each time, so that it must be serialized once only.
    pub fn changes(&self) -> bool {
        match self {
            Script::Wrapper(_, inner) => inner.changes(),
            Script::Compound { steps, .. } => steps.iter().any(|step| step.script.changes()),
            Script::Changing(_) => true,
            _ => false,
        }
    }

    pub fn swallows(&self) -> bool {
        match self {
            Script::Wrapper(_, inner) => inner.swallows(),
            Script::Compound { steps, .. } => {
                steps.iter().any(|step| step.swallows || step.script.swallows())
            }
            Script::Changing(changing) => changing.1.iter().any(Script::swallows),
            _ => false,
        }
    }
}

fn without_names(head: &Plain) -> Plain {
    Plain {
        name: if head.is_named() { head.name } else { "" },
        variant: if head.kind.is_variant() { head.variant } else { "" },
        ..head.clone()
    }
}

fn extended(key: Key, path: Vec<Key>) -> Vec<Key> {
    [key].into_iter().chain(path).collect()
}

fn step_key(head: &Plain, position: usize, field: &'static str, key: Option<&Plain>) -> Key {
    match (head.kind, key) {
        (NodeKind::Some, _) => Key::Some,
        (NodeKind::Seq, _) => Key::Index(position),
        (NodeKind::Map, Some(key)) => Key::Entry(Value::of(key).unwrap()),
        (NodeKind::Struct, _) => Key::Field(field.into()),
        (NodeKind::StructVariant, _) => Key::VariantField(head.variant.into(), field.into()),
        (kind, _) if kind.is_variant() => Key::VariantPosition(head.variant.into(), position),
        _ => Key::Position(position),
    }
}

impl Serialize for Script {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (head, steps) = match self {
            Script::Scalar(leaf) => return serialize_scalar(leaf, serializer),
            Script::Display(pieces) => return serializer.collect_str(&Pieces(pieces)),
            Script::Atom(head) => return head.serialize(serializer),
            Script::Changing(changing) => return Script::now(changing).serialize(serializer),
            Script::Error => return Err(S::Error::custom("of its own")),
            Script::Wrapper(Plain { kind, name, variant, .. }, inner) => {
                return match kind {
                    NodeKind::Some => serializer.serialize_some(inner),
                    NodeKind::NewtypeStruct => serializer.serialize_newtype_struct(name, inner),
                    _ => serializer.serialize_newtype_variant(name, 7, variant, inner),
                };
            }
            Script::Compound { head, steps, .. } => (head, steps),
        };
        let Script::Compound { claim, breaks_off, .. } = self else { unreachable!() };
        let (name, variant, length) = (head.name, head.variant, claim.unwrap_or(1));
        macro_rules! play {
            ($open:ident($($argument:expr),*), $child:pat, $step:pat => $result:expr) => {{
                let mut compound = serializer.$open($($argument),*)?;
                for step in steps {
                    let ($child, $step) = (&mut compound, step);
                    match $result {
                        Err(error) if !step.swallows => return Err(error),
                        _ => {}
                    }
                }
                if *breaks_off { Err(S::Error::custom("broken off")) } else { compound.end() }
            }};
        }
        macro_rules! elements {
            ($add:ident, $open:ident($($argument:expr),*)) => {
                play!($open($($argument),*), c, step => match step.call {
                    Call::Skip => Ok(()),
                    _ => c.$add(&step.script),
                })
            };
        }
        macro_rules! fields {
            ($open:ident($($argument:expr),*)) => {
                play!($open($($argument),*), c, step => match step.call {
                    Call::Skip => c.skip_field(step.field),
                    _ => c.serialize_field(step.field, &step.script),
                })
            };
        }
        match head.kind {
            NodeKind::Seq if steps.iter().all(Step::is_plain) && !breaks_off => {
                serializer.collect_seq(steps.iter().map(|step| &step.script))
            }
            NodeKind::Seq => elements!(serialize_element, serialize_seq(*claim)),
            NodeKind::Tuple => elements!(serialize_element, serialize_tuple(length)),
            NodeKind::TupleStruct => {
                elements!(serialize_field, serialize_tuple_struct(name, length))
            }
            NodeKind::TupleVariant => {
                elements!(serialize_field, serialize_tuple_variant(name, 7, variant, length))
            }
            NodeKind::Struct => fields!(serialize_struct(name, length)),
            NodeKind::StructVariant => fields!(serialize_struct_variant(name, 7, variant, length)),
            _ => play!(serialize_map(*claim), c, step => match step.call {
                Call::Key => c.serialize_key(&step.script),
                _ => c.serialize_value(&step.script),
            }),
        }
    }
}

/// Prints pieces; `!` is an error.
struct Pieces<'a>(&'a [&'static str]);

impl fmt::Display for Pieces<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|piece| if *piece == "!" { Err(fmt::Error) } else { f.write_str(piece) })
    }
}

/// A script from a tape either fails at its error or emits its value. Returns whether it emitted.
pub fn errs_or_emits(mut tape: Tape) -> Result<bool, TestCaseError> {
    let script = Script::of(&mut tape);
    let played = script.play();
    script.reset();
    let emits = played.is_ok();
    let flattener = Flattener::new().serialize_once(script.changes());
    match (flattener.flatten(&script), played) {
        (Ok((leaves, treedef)), Ok(plain)) => {
            let plain = plain.sorted();
            check(&plain, &treedef, &leaves, "")?;
            if !plain.has_twins() {
                check_paths(&treedef)?;
            }
        }
        (Err(error), Err(way)) => {
            let expected: Path = way.into_iter().collect();
            // After an ignored error, the path of the next one is not checked.
            if !script.swallows() {
                prop_assert!(
                    error.path().keys().starts_with(expected.keys()),
                    "{error}, not at {expected}"
                );
            }
        }
        (found, played) => prop_assert!(false, "{found:?} instead of {played:?}"),
    }
    Ok(emits)
}

pub fn emits_in_order_of_insertion(mut tape: Tape) -> TestCaseResult {
    let script = Script::of(&mut tape);
    let played = script.play();
    script.reset();
    let flattener = Flattener::new().map_order(MapOrder::Insertion);
    let found = flattener.serialize_once(script.changes()).flatten(&script);
    prop_assert_eq!(found.is_ok(), played.is_ok());
    if let (Ok((leaves, treedef)), Ok(mut plain)) = (found, played) {
        plain.sort(true);
        check(&plain, &treedef, &leaves, "#[insertion] ")?;
    }
    Ok(())
}

/// `None` as a leaf has its own rules. This only checks that nothing panics, and that the text
/// parses back.
pub fn emits_none_as_a_leaf(mut tape: Tape) -> TestCaseResult {
    let script = Script::of(&mut tape);
    let played = script.play();
    script.reset();
    let found = Flattener::new().none_is_leaf(true).flatten(&script);
    prop_assert_eq!(found.is_ok(), played.is_ok());
    if let (Ok((leaves, treedef)), Ok(plain)) = (found, played) {
        prop_assert_eq!(treedef.num_leaves(), leaves.len());
        prop_assert_eq!(&treedef.to_string().parse::<treedef::TreeDef>().unwrap(), &treedef);
        if !plain.sorted().has_twins() {
            check_paths(&treedef)?;
        }
    }
    Ok(())
}
