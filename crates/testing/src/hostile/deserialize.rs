//! `Deserialize` implementations that request the wrong thing, stop early, and continue after
//! errors.
//!
//! The scalars of each value are unique, so a leaf of a neighbour is noticed.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use proptest::prelude::*;
use serde::Deserialize;
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, IgnoredAny, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use treedef::{Leaf, NodeKind, TreeDef};

use super::differential::leaves;
use super::{Plain, Tape};

/// The state that all askers of one run share.
struct Run {
    tape: RefCell<Tape>,
    /// Requests the kinds that are there, and reads everything.
    honest: bool,
    leaves: Cell<usize>,
    /// The text of an error that the library has to report.
    owed: Cell<Option<&'static str>>,
}

impl Run {
    fn below(&self, bound: usize) -> usize {
        if self.honest { 0 } else { self.tape.borrow_mut().below(bound) }
    }

    fn sometimes(&self) -> bool {
        !self.honest && self.tape.borrow_mut().one_in(8)
    }
}

/// The fields of each requested struct.
const FIELDS: &[&str] = &["a", "b"];

/// Requests a value, assuming that it is `plain`.
#[derive(Clone, Copy)]
struct Asker<'p> {
    plain: &'p Plain,
    run: &'p Run,
}

type Read = Result<(), String>;

impl<'de> DeserializeSeed<'de> for Asker<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        assert!(deserializer.is_human_readable());
        let run = self.run;
        let method = if run.sometimes() { 1 + run.below(30) } else { 0 };
        let result = match method {
            0 => deserializer.deserialize_any(self),
            1 => deserializer.deserialize_bool(self),
            2 => deserializer.deserialize_i8(self),
            3 => deserializer.deserialize_i16(self),
            4 => deserializer.deserialize_i32(self),
            5 => deserializer.deserialize_i64(self),
            6 => deserializer.deserialize_i128(self),
            7 => deserializer.deserialize_u8(self),
            8 => deserializer.deserialize_u16(self),
            9 => deserializer.deserialize_u32(self),
            10 => deserializer.deserialize_u64(self),
            11 => deserializer.deserialize_u128(self),
            12 => deserializer.deserialize_f32(self),
            13 => deserializer.deserialize_f64(self),
            14 => deserializer.deserialize_char(self),
            15 => deserializer.deserialize_str(self),
            16 => deserializer.deserialize_string(self),
            17 => deserializer.deserialize_bytes(self),
            18 => deserializer.deserialize_byte_buf(self),
            19 => deserializer.deserialize_option(self),
            20 => deserializer.deserialize_unit(self),
            21 => deserializer.deserialize_unit_struct("a", self),
            22 => deserializer.deserialize_newtype_struct("a", self),
            23 => deserializer.deserialize_seq(self),
            24 => deserializer.deserialize_tuple(3, self),
            25 => deserializer.deserialize_tuple_struct("a", 3, self),
            26 => deserializer.deserialize_map(self),
            27 => deserializer.deserialize_struct("a", FIELDS, self),
            28 => deserializer.deserialize_enum("a", FIELDS, self),
            29 => deserializer.deserialize_identifier(self),
            _ => return deserializer.deserialize_ignored_any(IgnoredAny).map(|_| ()),
        };
        if let Some(owed) = run.owed.take() {
            assert!(result.is_err(), "{owed} was not noticed");
        }
        result
    }
}

/// A number can be requested as another type, and a character or bytes can be a name.
fn same_scalar(a: &Leaf, b: &Leaf) -> bool {
    if let (Leaf::Str(text), Leaf::Char(char)) = (a, b) {
        return **text == char.to_string();
    }
    if let (Leaf::Str(text), Leaf::Bytes(bytes)) = (a, b) {
        return text.as_bytes() == &**bytes;
    }
    let integer = |leaf: &Leaf| {
        leaf.kind()
            .is_integer()
            .then(|| leaf.to_string().trim_end_matches(leaf.kind().name()).to_owned())
    };
    a == b || integer(a).is_some() && integer(a) == integer(b)
}

impl<'p> Asker<'p> {
    fn at(self, plain: &'p Plain) -> Asker<'p> {
        Asker { plain, ..self }
    }

    /// Newtypes are skipped wherever another kind is requested.
    fn inside(self) -> Asker<'p> {
        match self.plain.kind {
            NodeKind::NewtypeStruct => self.at(&self.plain.children[0]).inside(),
            _ => self,
        }
    }

    fn scalar(self, received: impl Into<Leaf>) {
        let received = received.into();
        let plain = self.inside().plain;
        match plain.kind {
            NodeKind::Leaf => {
                assert!(
                    same_scalar(&received, &plain.scalar),
                    "{received:?} is not {:?}",
                    plain.scalar
                );
                self.run.leaves.update(|n| n + 1);
            }
            NodeKind::UnitVariant => assert_eq!(received, Leaf::from(plain.variant)),
            NodeKind::Seq | NodeKind::Tuple => {
                let bytes: Option<Vec<u8>> =
                    leaves(plain).into_iter().map(|leaf| leaf.try_into().ok()).collect();
                assert_eq!(Some(received), bytes.map(Leaf::from));
            }
            _ => panic!("{received:?} came from {plain:?}"),
        }
    }

    /// The content of a variant, as a plain value.
    fn payload(plain: &Plain) -> Plain {
        let kind = match plain.kind {
            NodeKind::UnitVariant => NodeKind::Unit,
            NodeKind::TupleVariant => NodeKind::Tuple,
            NodeKind::StructVariant => NodeKind::Struct,
            _ => return plain.children[0].clone(),
        };
        Plain { kind, variant: "", ..plain.clone() }
    }
}

macro_rules! scalars {
    ($($method:ident($type:ty);)*) => {$(
        fn $method<E: de::Error>(self, value: $type) -> Result<(), E> {
            self.scalar(value);
            Ok(())
        }
    )*};
}

impl<'de> Visitor<'de> for Asker<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    scalars! {
        visit_bool(bool);
        visit_i8(i8);
        visit_i64(i64);
        visit_u8(u8);
        visit_u64(u64);
        visit_u128(u128);
        visit_f64(f64);
        visit_char(char);
        visit_str(&str);
        visit_bytes(&[u8]);
    }

    fn visit_none<E: de::Error>(self) -> Result<(), E> {
        // A unit is an absent option, if an option is requested.
        assert!(matches!(self.inside().plain.kind, NodeKind::None | NodeKind::Unit));
        Ok(())
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        assert!(matches!(self.inside().plain.kind, NodeKind::Unit | NodeKind::UnitStruct));
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<(), D::Error> {
        match self.inside().plain {
            Plain { kind: NodeKind::Some, children, .. } => {
                self.at(&children[0]).deserialize(inner)
            }
            _ => self.deserialize(inner),
        }
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<(), D::Error> {
        match self.plain {
            Plain { kind: NodeKind::NewtypeStruct, children, .. } => {
                self.at(&children[0]).deserialize(inner)
            }
            _ => self.deserialize(inner),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Plain { kind, children, .. } = self.inside().plain;
        assert!(matches!(kind, NodeKind::Seq | NodeKind::Tuple | NodeKind::TupleStruct));
        for (read, child) in children.iter().enumerate() {
            assert_eq!(seq.size_hint(), Some(children.len() - read));
            if self.run.sometimes() {
                self.run.owed.set(Some("an element that was not read"));
                return Ok(());
            }
            if self.run.sometimes() {
                assert!(seq.next_element::<IgnoredAny>()?.is_some());
                continue;
            }
            match seq.next_element_seed(self.at(child)) {
                Ok(element) => assert!(element.is_some()),
                Err(error) if self.run.below(3) == 0 => return Err(error),
                Err(_) => {}
            }
        }
        for _ in 0..3 {
            assert_eq!(seq.size_hint(), Some(0));
            assert!(seq.next_element_seed(self)?.is_none());
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Plain { kind, fields, keys, children, variant, .. } = self.inside().plain;
        let payload;
        let (keys, children): (Vec<Plain>, &[Plain]) = match kind {
            NodeKind::Map => (keys.clone(), children),
            NodeKind::Struct => {
                (fields.iter().map(|field| Plain::leaf(*field)).collect(), children)
            }
            // A struct was requested.
            NodeKind::Seq | NodeKind::Tuple | NodeKind::TupleStruct => {
                let count = FIELDS.len().min(children.len());
                (
                    FIELDS[..count].iter().map(|name| Plain::leaf(*name)).collect(),
                    &children[..count],
                )
            }
            _ => {
                assert!(kind.is_variant() && *kind != NodeKind::UnitVariant);
                payload = Asker::payload(self.inside().plain);
                (vec![Plain::leaf(*variant)], std::slice::from_ref(&payload))
            }
        };
        use NodeKind as Is;
        let must_be_read = matches!(kind, Is::Map | Is::Seq | Is::Tuple | Is::TupleStruct);
        if self.run.sometimes() {
            assert!(map.next_value_seed(self).is_err(), "a value came before its key");
        }
        let names = Run {
            leaves: Cell::new(0),
            tape: self.run.tape.clone(),
            owed: Cell::new(None),
            ..*self.run
        };
        for (read, (key, child)) in keys.iter().zip(children).enumerate() {
            assert_eq!(map.size_hint(), Some(keys.len() - read));
            if self.run.sometimes() {
                if must_be_read {
                    self.run.owed.set(Some("an entry that was not read"));
                }
                return Ok(());
            }
            match map.next_key_seed(Asker { plain: key, run: &names }) {
                Ok(key) => assert!(key.is_some()),
                Err(error) if self.run.below(3) == 0 => return Err(error),
                Err(_) => {}
            }
            if self.run.sometimes() {
                // Two keys without a value between them.
                continue;
            }
            match map.next_value_seed(self.at(child)) {
                Err(error) if self.run.below(3) == 0 => return Err(error),
                _ => {}
            }
            if self.run.sometimes() {
                assert!(map.next_value_seed(self.at(child)).is_err(), "a value came twice");
            }
        }
        for _ in 0..2 {
            assert_eq!(map.size_hint(), Some(0));
            assert!(map.next_key::<IgnoredAny>()?.is_none());
        }
        if must_be_read && keys.len() < self.inside().plain.children.len() {
            self.run.owed.set(Some("an element for which there is no field"));
        }
        Ok(())
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<(), A::Error> {
        let plain = self.inside().plain;
        let (name, payload) = match plain.kind {
            NodeKind::Leaf => (plain.clone(), None),
            NodeKind::Map => (plain.keys[0].clone(), Some(plain.children[0].clone())),
            _ => (Plain::leaf(plain.variant), Some(Asker::payload(plain))),
        };
        let names = Run {
            leaves: Cell::new(0),
            tape: self.run.tape.clone(),
            owed: Cell::new(None),
            ..*self.run
        };
        // The name of a variant that is requested as an enum is an enum with this name, and so on:
        // see the test below.
        let (_, variant) = match plain.kind {
            NodeKind::Leaf => data.variant::<String>().map(|(text, variant)| {
                assert_eq!(Leaf::from(text), name.scalar);
                ((), variant)
            })?,
            _ => data.variant_seed(Asker { plain: &name, run: &names })?,
        };
        let unit = Plain::of(NodeKind::Unit);
        let asker = self.at(payload.as_ref().unwrap_or(&unit));
        match self.run.below(5) {
            0 => variant.newtype_variant_seed(asker),
            1 => variant.tuple_variant(3, asker),
            2 => variant.struct_variant(FIELDS, asker),
            3 => variant.unit_variant(),
            _ => Ok(()),
        }
    }
}

thread_local! {
    static SCRIPT: RefCell<Option<(Rc<Plain>, Rc<Run>)>> = const { RefCell::new(None) };
}

/// Runs the script of this thread.
#[derive(Debug)]
struct Scripted;

impl<'de> Deserialize<'de> for Scripted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (plain, run) = SCRIPT.with_borrow(|script| script.clone()).unwrap();
        Asker { plain: &plain, run: &run }.deserialize(deserializer).map(|()| Scripted)
    }
}

fn run(plain: &Rc<Plain>, tape: Tape, honest: bool, read: impl FnOnce() -> Read) -> (Read, usize) {
    let run = Rc::new(Run {
        tape: RefCell::new(tape),
        honest,
        leaves: Cell::new(0),
        owed: Cell::new(None),
    });
    SCRIPT.set(Some((plain.clone(), run.clone())));
    (read(), run.leaves.get())
}

/// Makes each scalar of a leaf or a key unique.
fn make_unique(plain: &mut Plain, next: &mut u64) {
    *next += 1;
    let number = *next;
    plain.scalar = match plain.scalar {
        Leaf::U8(_) if number < 256 => Leaf::U8(number as u8),
        Leaf::F64(_) => Leaf::F64(number as f64),
        Leaf::Str(_) => Leaf::from(format!("text {number}")),
        Leaf::Bool(_) => Leaf::from(number.to_le_bytes().as_slice()),
        Leaf::I8(_) => Leaf::I64(-(number as i64)),
        Leaf::U128(_) => Leaf::from(u128::from(number) << 64),
        Leaf::Char(_) => Leaf::Char(char::from_u32(0x4e00 + number as u32).unwrap_or('x')),
        _ => Leaf::U64(number),
    };
    plain.keys.iter_mut().for_each(|key| make_unique(key, next));
    plain.children.iter_mut().for_each(|child| make_unique(child, next));
}

fn unflatten(treedef: &TreeDef, leaves: &[Leaf], how: usize) -> Read {
    let result = match how {
        0 => treedef::unflatten::<Scripted>(treedef, leaves.to_vec()),
        1 => treedef::unflatten::<Scripted>(treedef, leaves),
        _ => treedef::unflatten_borrowed::<Scripted>(treedef, leaves),
    };
    result.map(|_| ()).map_err(|error| error.to_string())
}

/// Reads the value of a tape with some of the three functions that rebuild, first as it is, then
/// with wrong requests: a leaf that is read must be the right one. Returns whether the wrong
/// requests succeeded, for each value of some size.
pub fn hands_out_no_wrong_leaf(
    mut tape: Tape,
    functions: Range<usize>,
) -> Result<Vec<bool>, TestCaseError> {
    let mut plain = Plain::draw(&mut tape, 4);
    make_unique(&mut plain, &mut 0);
    let (leaves, treedef) = treedef::flatten(&plain).unwrap();
    let plain = Rc::new(plain);
    let mut seen = Vec::new();
    for how in functions {
        let (result, read) = run(&plain, tape.clone(), true, || unflatten(&treedef, &leaves, how));
        prop_assert_eq!(result, Ok(()));
        prop_assert_eq!(read, leaves.len());
        tape.at += how;
        let (result, _) = run(&plain, tape.clone(), false, || unflatten(&treedef, &leaves, how));
        if treedef.num_nodes() > 3 {
            seen.push(result.is_ok());
        }
    }
    Ok(seen)
}
