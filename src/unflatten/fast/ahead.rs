//! Elements of a sequence that are read without a step of the cursor.

use std::ops::Range;

use serde::de::Deserialize;

use crate::model::Value;

use super::super::children::NextChild;
use super::super::cursor::{Cursor, Found, LEAF};
use super::layout::FixedNode;
use super::plain::lone;

/// The fewest elements of a run for which a layout is made.
const RUN: usize = 8;

/// What is known of the next elements of a run.
pub(in crate::unflatten) enum Ahead<'de> {
    /// They may have a fixed layout, or something else: it was not looked for.
    Unknown,
    /// They are read one by one.
    Nothing,
    /// The remaining leaves.
    F64(&'de [f64]),
    F32(&'de [f32]),
    /// The remaining nodes have this fixed layout.
    Fixed(Box<FixedNode<'de>>),
}

impl<'de> Ahead<'de> {
    /// What is known of the elements that are left of a run.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in crate::unflatten) fn of(cursor: &Cursor<'de>, next: &NextChild<'de>) -> Self {
        match next.found {
            LEAF => {
                let leaves = next.place.leaf..next.place.leaf + next.left;
                if let Some(leaves) = cursor.supply.f64s.get(leaves.clone()) {
                    Ahead::F64(leaves)
                } else if let Some(leaves) = cursor.supply.f32s.get(leaves) {
                    Ahead::F32(leaves)
                } else {
                    Ahead::Nothing
                }
            }
            Found::Kept => Ahead::Unknown,
            _ if next.left >= RUN => Ahead::Unknown,
            _ => Ahead::Nothing,
        }
    }

    /// For leaves of an array that is one leaf.
    fn in_array(holder: &'de Value, leaves: Range<usize>) -> Self {
        let Some(array) = holder.as_array() else { return Ahead::Nothing };
        if let Some(numbers) = array.numbers_at::<f32>(leaves.clone()) {
            return Ahead::F32(numbers);
        }
        array.numbers_at(leaves).map_or(Ahead::Nothing, Ahead::F64)
    }

    /// Whether the next element is read like any other value.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in crate::unflatten) fn is_nothing(&self) -> bool {
        matches!(self, Ahead::Nothing)
    }

    /// The number of remaining leaves, if these are leaves.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in crate::unflatten) fn leaves(&self) -> Option<usize> {
        match self {
            Ahead::F64(leaves) => Some(leaves.len()),
            Ahead::F32(leaves) => Some(leaves.len()),
            _ => None,
        }
    }

    /// Reads the next leaf of a run.
    #[inline(always)]
    pub(in crate::unflatten) fn next_leaf<'t, T: Deserialize<'t>>(&mut self) -> Option<T> {
        match self {
            Ahead::F64(leaves) if const { size_of::<T>() == 8 } => {
                let (leaf, rest) = leaves.split_first()?;
                let value = lone(*leaf)?;
                *leaves = rest;
                Some(value)
            }
            Ahead::F32(leaves) if const { size_of::<T>() == 4 } => {
                let (leaf, rest) = leaves.split_first()?;
                let value = lone(*leaf)?;
                *leaves = rest;
                Some(value)
            }
            _ => None,
        }
    }

    /// Hands over to the cursor, which takes the next step.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(in crate::unflatten) fn hand_over(&mut self, next: &mut NextChild<'de>) {
        if let Some(left) = self.leaves() {
            *self = Ahead::Nothing;
            next.pass(next.left - left);
        }
    }

    /// Reads the next element, if it is a number or has a fixed layout.
    #[inline(always)]
    pub(in crate::unflatten) fn next_plain<T: Deserialize<'de>>(
        &mut self,
        cursor: &Cursor<'de>,
        next: &mut NextChild<'de>,
    ) -> Option<T> {
        if let Ahead::Unknown = self {
            *self = Ahead::looked_for(cursor, next);
            if let Some(value) = self.next_leaf() {
                return Some(value);
            }
        }
        if let Ahead::Fixed(fixed) = self
            && next.left > 0
        {
            if let Ok(value) = fixed.read(&cursor.supply, next.place.leaf) {
                next.left -= 1;
                next.place.leaf += fixed.layout.leaves; // and no map
                return Some(value);
            }
            *self = Ahead::Nothing;
        }
        None
    }

    /// For a run of which it is not known.
    #[inline(never)]
    fn looked_for(cursor: &Cursor<'de>, next: &NextChild<'de>) -> Self {
        match Ahead::of(cursor, next) {
            // One element of the next run is read before that is looked for.
            _ if next.left == 0 => Ahead::Unknown,
            Ahead::Unknown => match (cursor.structures.kept, next.found) {
                (None, _) => {
                    let fixed = FixedNode::of(cursor, next.place.rest);
                    fixed.map_or(Ahead::Nothing, |fixed| Ahead::Fixed(Box::new(fixed)))
                }
                (Some(holder), Found::Kept) => {
                    Ahead::in_array(holder, next.place.leaf..next.place.leaf + next.left)
                }
                _ => Ahead::Nothing,
            },
            ahead => ahead,
        }
    }
}
