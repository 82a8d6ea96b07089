//! Elements of a sequence that are read without a step of the cursor.

use serde::de::Deserialize;

use crate::leaf::leaf_type::Typed;
use crate::leaf::{Scalar, each_scalar};
use crate::model::{LeafKind, Value};

use super::super::children::NextChild;
use super::super::cursor::{Cursor, Found, LEAF};
use super::plain::{lone, may_be_leaf};

/// The fewest elements of a run for which a layout is made.
const RUN: usize = 8;

/// The next elements of a run.
pub(in crate::unflatten) struct Ahead<'de> {
    are: RunKind,
    /// The leaves, if they are floats. They are not in [`RunKind`], so that reading one takes only one test.
    pub(in crate::unflatten) floats: Floats<'de>,
}

/// Leaves that are floats. Only one of the two slices has any.
#[derive(Clone, Copy, Default)]
pub(in crate::unflatten) struct Floats<'de> {
    f64s: &'de [f64],
    f32s: &'de [f32],
    /// How many were read.
    pub(in crate::unflatten) read: usize,
}

impl Floats<'_> {
    /// The number that is left.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in crate::unflatten) fn len(&self) -> usize {
        self.f64s.len() + self.f32s.len() - self.read // one is 0
    }

    /// Reads the next one, for a type that has the size of a float.
    #[inline(always)]
    pub(in crate::unflatten) fn next<'t, T: Deserialize<'t>>(&mut self) -> Option<T> {
        if const { size_of::<T>() == size_of::<f64>() } {
            match self.f64s.get(self.read) {
                Some(value) => self.passed(lone(Scalar::F64(*value))?),
                None => self.passed(lone(Scalar::F32(*self.f32s.get(self.read)?))?),
            }
        } else if const { size_of::<T>() == size_of::<f32>() } {
            match self.f32s.get(self.read) {
                Some(value) => self.passed(lone(Scalar::F32(*value))?),
                None => self.passed(lone(Scalar::F64(*self.f64s.get(self.read)?))?),
            }
        } else {
            None
        }
    }

    #[inline(always)]
    fn passed<T>(&mut self, value: T) -> Option<T> {
        self.read += 1; // there is one
        Some(value)
    }
}

/// Reads a leaf. Code for each kind reads leaves of the size of the type, which are most, and `i64`s.
#[inline(always)]
fn of_typed<'t, T: Deserialize<'t>>(leaves: Typed<'_>, leaf: usize) -> Option<T> {
    each_scalar! { [bool signed unsigned] ($kind $type) => {
        match leaves {
            $(Typed::$kind(leaves)
                if const {
                    size_of::<T>() == size_of::<$type>() || matches!(LeafKind::$kind, LeafKind::I64)
                } =>
            {
                lone(Scalar::$kind(*leaves.get(leaf)?))
            })*
            _ => lone(leaves.scalar(leaf)?),
        }
    }}
}

/// Knowledge about the elements.
#[derive(Clone, Copy)]
enum RunKind {
    /// They may have a fixed layout, or be in an array: it was not looked for.
    Unknown,
    /// They are read one by one.
    OneByOne,
    /// Leaves of another type than floats.
    Leaves,
    /// Floats, which [`NextChild`] does not count.
    Floats,
    /// They have the layout that is with the cursor. If the cursor reads something else, that may change.
    Fixed,
}

impl From<RunKind> for Ahead<'_> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn from(are: RunKind) -> Self {
        Ahead { are, floats: Floats::default() }
    }
}

impl<'de> Ahead<'de> {
    /// Knowledge about the remaining elements of a run.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in crate::unflatten) fn of(cursor: &Cursor<'de>, next: &mut NextChild<'de>) -> Self {
        match next.found {
            LEAF => {
                if let Some(leaves) = cursor.supply.f64s.get(next.leaves()) {
                    Ahead::f64s(leaves, next)
                } else if let Some(leaves) = cursor.supply.f32s.get(next.leaves()) {
                    Ahead::f32s(leaves, next)
                } else {
                    RunKind::Leaves.into()
                }
            }
            Found::ValueLeaf => RunKind::Unknown.into(),
            _ if next.left >= RUN => RunKind::Unknown.into(),
            _ => RunKind::OneByOne.into(),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn f64s(leaves: &'de [f64], next: &mut NextChild<'de>) -> Self {
        next.pass_leaves();
        Ahead { are: RunKind::Floats, floats: Floats { f64s: leaves, ..Floats::default() } }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn f32s(leaves: &'de [f32], next: &mut NextChild<'de>) -> Self {
        next.pass_leaves();
        Ahead { are: RunKind::Floats, floats: Floats { f32s: leaves, ..Floats::default() } }
    }

    /// For leaves of an array that is one leaf.
    fn in_array(holder: &'de Value, next: &mut NextChild<'de>) -> Self {
        let Some(array) = holder.as_array() else { return RunKind::OneByOne.into() };
        if let Some(numbers) = array.numbers_at(next.leaves()) {
            Ahead::f32s(numbers, next)
        } else if let Some(numbers) = array.numbers_at(next.leaves()) {
            Ahead::f64s(numbers, next)
        } else {
            RunKind::OneByOne.into()
        }
    }

    /// Whether they may have a fixed layout, or be in an array.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in crate::unflatten) fn may_be_fixed(&self) -> bool {
        matches!(self.are, RunKind::Unknown | RunKind::Fixed)
    }

    /// Whether they are leaves, but no floats.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in crate::unflatten) fn are_leaves(&self) -> bool {
        matches!(self.are, RunKind::Leaves)
    }

    /// The next run begins. Its first element has to be read before it is known what the others are, unless they are
    /// too few for a layout.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in crate::unflatten) fn turn(&mut self, next: &NextChild<'de>) {
        self.are = match next.found {
            LEAF | Found::ValueLeaf => RunKind::Unknown,
            _ if next.left > RUN => RunKind::Unknown,
            _ => RunKind::OneByOne,
        };
    }

    /// Whether elements are read without the cursor.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in crate::unflatten) fn has_some(&self) -> bool {
        matches!(self.are, RunKind::Floats | RunKind::Fixed)
    }

    /// Hands over to the cursor, which takes the next step.
    #[inline(never)]
    pub(in crate::unflatten) fn hand_over(&mut self, next: &mut NextChild<'de>) {
        next.pass_back(self.floats.len());
        *self = RunKind::OneByOne.into();
    }

    /// Reads the next leaf, if that is no float, for a type that may be a number.
    #[inline(always)]
    pub(in crate::unflatten) fn next_leaf<'t, T: Deserialize<'t>>(
        &mut self,
        cursor: &Cursor<'de>,
        next: &mut NextChild<'de>,
    ) -> Option<T> {
        let are_leaves = self.are_leaves() && next.left > 0;
        if !are_leaves || const { !may_be_leaf::<T>() } {
            return None;
        }
        let leaf = next.location.leaf;
        let value = match cursor.supply.as_leaves().get(leaf) {
            Some(leaf) => lone(leaf),
            None => cursor.supply.other_typed().and_then(|leaves| of_typed(leaves, leaf)),
        };
        match value {
            Some(_) => next.pass_leaf(),
            None => self.are = RunKind::OneByOne,
        }
        value
    }

    /// Reads the next element, if it has a fixed layout, or is a float after all.
    #[inline(always)]
    pub(in crate::unflatten) fn next_fixed<T: Deserialize<'de>>(
        &mut self,
        cursor: &mut Cursor<'de>,
        next: &mut NextChild<'de>,
    ) -> Option<T> {
        if let RunKind::Unknown = self.are {
            *self = Ahead::looked_for(cursor, next);
            if let Some(value) = self.floats.next() {
                return Some(value);
            }
        }
        if matches!(self.are, RunKind::Fixed)
            && let Some(fixed) = &mut cursor.fixed
            && next.left > 0
        {
            if let Ok(value) = fixed.read(&cursor.supply, next.location.leaf) {
                next.left -= 1;
                next.location.leaf += fixed.layout.leaves; // and no map
                return Some(value);
            }
            self.are = RunKind::OneByOne;
        }
        None
    }

    /// For a run whose layout is not known.
    #[inline(never)]
    fn looked_for(cursor: &mut Cursor<'de>, next: &mut NextChild<'de>) -> Self {
        // One element of the next run is read before that is looked for.
        if next.left == 0 {
            return RunKind::Unknown.into();
        }
        let ahead = Ahead::of(cursor, next);
        match (ahead.are, cursor.structures.value) {
            (RunKind::Unknown, None) => {
                let mut fixed = cursor.fixed_node();
                match cursor.lay_out(&mut fixed, next.location.rest) {
                    Some(()) => {
                        cursor.fixed = Some(Box::new(fixed));
                        RunKind::Fixed.into()
                    }
                    None => RunKind::OneByOne.into(),
                }
            }
            (RunKind::Unknown, Some(holder)) if next.found == Found::ValueLeaf => {
                Ahead::in_array(holder, next)
            }
            (RunKind::Unknown, _) => RunKind::OneByOne.into(),
            _ => ahead,
        }
    }
}
