//! Elements of a sequence that are read without a step of the cursor.

use std::iter::Copied;
use std::slice::Iter;

use serde::de::Deserialize;

use crate::leaf::Scalar;
use crate::model::Value;

use super::super::children::NextChild;
use super::super::cursor::{Cursor, Found, LEAF};
use super::plain::lone;

/// The fewest elements of a run for which a layout is made.
const RUN: usize = 8;

/// The next elements of a run.
pub(in crate::unflatten) struct Ahead<'de> {
    are: RunKind,
    /// The remaining leaves, if they are floats. Only one of the two has any. They are beside what
    /// the elements are, so that a leaf costs one test.
    f64s: Copied<Iter<'de, f64>>,
    f32s: Copied<Iter<'de, f32>>,
}

/// What is known of the elements.
#[derive(Clone, Copy)]
enum RunKind {
    /// They may have a fixed layout, or be in an array: it was not looked for.
    Unknown,
    /// They are read one by one.
    OneByOne,
    /// Leaves of another type than floats.
    Leaves,
    /// Floats, of which [`NextChild`] counts none.
    Floats,
    /// They have the layout that is with the cursor. What is read by the cursor may change that.
    Fixed,
}

impl From<RunKind> for Ahead<'_> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn from(are: RunKind) -> Self {
        Ahead { are, f64s: [].iter().copied(), f32s: [].iter().copied() }
    }
}

impl<'de> Ahead<'de> {
    /// What is known of the elements that are left of a run.
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
            Found::Kept => RunKind::Unknown.into(),
            _ if next.left >= RUN => RunKind::Unknown.into(),
            _ => RunKind::OneByOne.into(),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn f64s(leaves: &'de [f64], next: &mut NextChild<'de>) -> Self {
        next.pass_leaves();
        Ahead { f64s: leaves.iter().copied(), ..RunKind::Floats.into() }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn f32s(leaves: &'de [f32], next: &mut NextChild<'de>) -> Self {
        next.pass_leaves();
        Ahead { f32s: leaves.iter().copied(), ..RunKind::Floats.into() }
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

    /// Whether each element is read like any other value.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in crate::unflatten) fn are_one_by_one(&self) -> bool {
        matches!(self.are, RunKind::OneByOne)
    }

    /// The next element of the next run has to be read before it is known what the others are.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in crate::unflatten) fn forget(&mut self) {
        self.are = RunKind::Unknown;
    }

    /// The number of floats.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in crate::unflatten) fn len(&self) -> usize {
        self.f64s.len() + self.f32s.len() // one is 0
    }

    /// Whether there are no floats.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in crate::unflatten) fn is_empty(&self) -> bool {
        self.f64s.len() == 0 && self.f32s.len() == 0
    }

    /// Reads the next leaf, if it is a float, for a type that has the size of one.
    #[inline(always)]
    pub(in crate::unflatten) fn next_float<'t, T: Deserialize<'t>>(&mut self) -> Option<T> {
        if const { size_of::<T>() == size_of::<f64>() } {
            lone(&mut self.f64s, Scalar::F64).or_else(|| lone(&mut self.f32s, Scalar::F32))
        } else if const { size_of::<T>() == size_of::<f32>() } {
            lone(&mut self.f32s, Scalar::F32).or_else(|| lone(&mut self.f64s, Scalar::F64))
        } else {
            None
        }
    }

    /// Whether elements are read without the cursor.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in crate::unflatten) fn has_some(&self) -> bool {
        matches!(self.are, RunKind::Floats | RunKind::Fixed)
    }

    /// Hands over to the cursor, which takes the next step.
    #[inline(never)]
    pub(in crate::unflatten) fn hand_over(&mut self, next: &mut NextChild<'de>) {
        next.pass_back(self.len());
        *self = RunKind::OneByOne.into();
    }

    /// Reads the next leaf, if that is no float, for a type that is no larger than a number.
    #[inline(always)]
    pub(in crate::unflatten) fn next_leaf<'t, T: Deserialize<'t>>(
        &mut self,
        cursor: &Cursor<'de>,
        next: &mut NextChild<'de>,
    ) -> Option<T> {
        let are_leaves = matches!(self.are, RunKind::Leaves) && next.left > 0;
        if !are_leaves || const { size_of::<T>() > size_of::<u64>() } {
            return None;
        }
        let leaf = next.place.leaf;
        let value = match cursor.supply.as_leaves().get(leaf) {
            Some(leaf) => lone(&mut Some(leaf).into_iter(), |leaf| leaf),
            None => lone(&mut cursor.supply.other_scalar(leaf).into_iter(), |scalar| scalar),
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
            if let Some(value) = self.next_float() {
                return Some(value);
            }
        }
        if matches!(self.are, RunKind::Fixed)
            && let Some(fixed) = &mut cursor.fixed
            && next.left > 0
        {
            if let Ok(value) = fixed.read(&cursor.supply, next.place.leaf) {
                next.left -= 1;
                next.place.leaf += fixed.layout.leaves; // and no map
                return Some(value);
            }
            self.are = RunKind::OneByOne;
        }
        None
    }

    /// For a run of which it is not known.
    #[inline(never)]
    fn looked_for(cursor: &mut Cursor<'de>, next: &mut NextChild<'de>) -> Self {
        // One element of the next run is read before that is looked for.
        if next.left == 0 {
            return RunKind::Unknown.into();
        }
        let ahead = Ahead::of(cursor, next);
        match (ahead.are, cursor.structures.kept) {
            (RunKind::Unknown, None) => match cursor.layout_of(next.place.rest) {
                Some(fixed) => {
                    cursor.fixed = Some(Box::new(fixed));
                    RunKind::Fixed.into()
                }
                None => RunKind::OneByOne.into(),
            },
            (RunKind::Unknown, Some(holder)) if next.found == Found::Kept => {
                Ahead::in_array(holder, next)
            }
            (RunKind::Unknown, _) => RunKind::OneByOne.into(),
            _ => ahead,
        }
    }
}
