//! Finds out whether a value is a text, a treedef or a tree, without a walk.
//!
//! A snapshot of a treedef or a tree shows its structure, not the structure of the text or document
//! that serde sees. serde cannot tell the types apart, so the value informs the thread. For
//! example, `Shape::of(&treedef)` serializes the treedef into [`Text`]. The treedef notices that a
//! `Shape` is being determined in this thread, and asks the serializer whether it is
//! human-readable; the serializer of `Shape::of` takes note of the question.
#![cfg_attr(not(feature = "insta"), allow(dead_code, reason = "only snapshots ask"))]

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::ser::{Impossible, Serialize, Serializer};

use crate::calls::mismatches;
use crate::error::Result;
use crate::flatten::{flatten, structure};
use crate::model::{Leaf, Tree, TreeDef, Value};

/// The kind of a value in a snapshot.
pub(crate) enum Shape {
    /// A treedef, which has no leaves. Without the feature for files it is not a value.
    #[cfg_attr(not(feature = "persist"), allow(dead_code))]
    Structure(TreeDef),
    Tree(Tree<Leaf>),
}

thread_local! {
    static ASKED: Cell<Question> = const { Cell::new(Question::None) };
    static ANSWER: RefCell<Option<Result<Shape>>> = const { RefCell::new(None) };
}

#[derive(Clone, Copy, PartialEq)]
enum Question {
    None,
    Open,
    /// The serializer that is being asked.
    Heard,
}

/// Answers if its own serializer is asking.
pub(crate) fn answer(serializer: &impl Serializer, shape: impl FnOnce() -> Result<Shape>) {
    if ASKED.get() == Question::None {
        return;
    }
    serializer.is_human_readable();
    if ASKED.get() == Question::Heard {
        ASKED.set(Question::None); // leaves are walked meanwhile
        let shape = shape();
        ANSWER.with_borrow_mut(|answer| *answer = Some(shape));
    }
}

/// The treedef or the tree that a value is.
fn asked<T: Serialize + ?Sized>(value: &T) -> Option<Result<Shape>> {
    ASKED.set(Question::Open);
    let _ = text_of(value); // only the answer matters
    ASKED.set(Question::None);
    ANSWER.take()
}

impl Shape {
    /// The shape of a tree, whose leaves may be of any type.
    pub(super) fn of_tree<L: Serialize>(tree: &Tree<L>) -> Result<Self> {
        let leaf = |leaf: &L| Value::of(leaf).map(Leaf::from);
        let leaves = tree.leaves.iter().map(leaf).collect::<Result<_>>()?;
        Ok(Shape::Tree(Tree::from_parts(tree.treedef.clone(), leaves)))
    }

    /// A treedef, a tree, or any other value as a tree.
    pub(crate) fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        asked(value).unwrap_or_else(|| {
            let (leaves, treedef) = flatten(value)?;
            Ok(Shape::Tree(Tree::from_parts(treedef, leaves)))
        })
    }

    /// The structure of a value. For a treedef or a tree, its own structure.
    pub(crate) fn structure_of<T: Serialize + ?Sized>(value: &T) -> Result<TreeDef> {
        match asked(value) {
            None => structure(value),
            Some(shape) => match shape? {
                Shape::Structure(treedef) => Ok(treedef),
                Shape::Tree(tree) => Ok(tree.treedef),
            },
        }
    }
}

/// The text, if the value is one.
pub(super) fn text_of(value: &(impl Serialize + ?Sized)) -> Option<String> {
    value.serialize(Text).ok()
}

/// A serializer that accepts only texts.
struct Text;

type Never = Impossible<String, fmt::Error>;

impl Serializer for Text {
    type Ok = String;
    type Error = fmt::Error;
    type SerializeSeq = Never;
    type SerializeTuple = Never;
    type SerializeTupleStruct = Never;
    type SerializeTupleVariant = Never;
    type SerializeMap = Never;
    type SerializeStruct = Never;
    type SerializeStructVariant = Never;

    fn is_human_readable(&self) -> bool {
        if ASKED.get() == Question::Open {
            ASKED.set(Question::Heard);
        }
        true
    }

    fn serialize_str(self, text: &str) -> Result<String, fmt::Error> {
        Ok(text.to_owned())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<String, fmt::Error> {
        Err(fmt::Error)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: &T,
    ) -> Result<String, fmt::Error> {
        Err(fmt::Error)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<String, fmt::Error> {
        Err(fmt::Error)
    }

    mismatches! { |self| fmt::Error;
        serialize_bool(bool) -> String;
        serialize_i8(i8) -> String;
        serialize_i16(i16) -> String;
        serialize_i32(i32) -> String;
        serialize_i64(i64) -> String;
        serialize_u8(u8) -> String;
        serialize_u16(u16) -> String;
        serialize_u32(u32) -> String;
        serialize_u64(u64) -> String;
        serialize_f32(f32) -> String;
        serialize_f64(f64) -> String;
        serialize_char(char) -> String;
        serialize_bytes(&[u8]) -> String;
        serialize_none() -> String;
        serialize_unit() -> String;
        serialize_unit_struct(&'static str) -> String;
        serialize_unit_variant(&'static str, u32, &'static str) -> String;
        serialize_seq(Option<usize>) -> Never;
        serialize_tuple(usize) -> Never;
        serialize_tuple_struct(&'static str, usize) -> Never;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Never;
        serialize_map(Option<usize>) -> Never;
        serialize_struct(&'static str, usize) -> Never;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Never;
    }
}
