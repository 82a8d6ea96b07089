//! The memory of a transform.

use std::borrow::Cow;
use std::ops::Range;
use std::slice;

use super::{Number, NumberArrays, Rule, Scope, Selection, Step, contains};
use treedef::__private::OrBug;

use crate::error::{Error, Result};
use crate::leaf::Trainable;
use crate::number::Update;

/// The memory of a transform between two steps: a count, leaves beside the parameters' leaves, and
/// the slots of the transforms inside it. The [module](crate::transform) has an example.
#[derive(Clone, Debug)]
pub struct Slots<L> {
    pub(crate) transform: Cow<'static, str>,
    /// The number of steps. A schedule begins at 0.
    pub count: u64,
    pub(crate) leaves: Vec<(Cow<'static, str>, Vec<L>)>,
    pub(crate) parts: Vec<Slots<L>>,
    /// The leaves that the inner transforms concern, if these are selected. Unknown in a state that was
    /// read and has no leaves.
    pub(crate) holds: Option<Vec<Range<usize>>>,
    /// Computed when it is needed; not part of the state.
    pub(crate) selection: Option<Selection>,
    /// Computed when they are needed; not part of the state.
    pub(crate) blocks: Option<NumberArrays>,
    /// The settings of Adafactor for which the slots were checked; not part of the state.
    pub(crate) checked_for: Option<(usize, f64)>,
    /// A leaf that an `only` excludes from a learning rate; not part of the state.
    pub(crate) still: Option<usize>,
}

impl<L: Trainable> Slots<L> {
    /// Creates slots without leaves for the transform of that name. The name is stored, so that a state of
    /// another optimiser is detected.
    pub fn new(transform: &'static str) -> Self {
        let (leaves, parts) = (Vec::new(), Vec::new());
        let transform = transform.into();
        Slots {
            transform,
            count: 0,
            leaves,
            parts,
            holds: None,
            selection: None,
            blocks: None,
            checked_for: None,
            still: None,
        }
    }

    /// Adds one number for each number of the parameters, usually 0.
    ///
    /// # Errors
    ///
    /// Returns an error when a leaf has no zero.
    pub fn with_filled(
        mut self,
        name: &'static str,
        number: f64,
        scope: Scope<'_>,
        parameters: &[L],
    ) -> Result<Self> {
        let zeros = parameters.iter().enumerate().map(|(leaf, parameter)| {
            parameter.zero().map_err(|source| Error::Operation {
                path: scope.treedef.leaf_path(leaf).ok().or_bug(),
                source,
            })
        });
        let mut zeros = zeros.collect::<Result<Vec<L>>>()?;
        if number != 0.0 {
            // Including leaves of other transforms: they may belong to this one later.
            let all = 0..zeros.len();
            let everywhere = Scope { ranges: slice::from_ref(&all), ..scope };
            everywhere.run(&Update(Plus(number)), &mut zeros, [], [parameters])?;
        }
        self.leaves.push((name.into(), zeros));
        Ok(self)
    }

    /// Adds the slots of transforms inside this one.
    pub(crate) fn with_parts(mut self, parts: impl IntoIterator<Item = Slots<L>>) -> Self {
        self.parts.extend(parts);
        self.still = self.parts.iter().find_map(|part| part.still);
        self
    }

    /// Adds the parameters themselves.
    pub(crate) fn with_copies(mut self, name: &'static str, parameters: &[L]) -> Self {
        self.leaves.push((name.into(), parameters.to_vec()));
        self
    }

    /// The arrays of a step.
    pub(crate) fn blocks(&mut self, step: &Step<'_, L>) -> Result<&NumberArrays> {
        let kept = self.blocks.take().filter(|kept| kept.is_of(step.scope));
        let make = || NumberArrays::of(step.scope, step.parameters);
        Ok(self.blocks.insert(kept.map_or_else(make, Ok)?))
    }

    /// Selects the leaves that the inner transforms concern.
    pub(crate) fn holding(mut self, ranges: &[Range<usize>]) -> Self {
        self.holds = Some(ranges.to_vec());
        self
    }

    /// Checks that the inner transforms concern the same leaves as before, because their memory belongs to
    /// these.
    pub(crate) fn expect_holds(
        &self,
        part: impl FnOnce() -> String,
        step: &Step<'_, L>,
    ) -> Result<()> {
        let (Some(holds), Some(selection)) = (&self.holds, &self.selection) else { return Ok(()) };
        let ranges = &selection.inside;
        if holds != ranges && self.parts.iter().any(Slots::has_leaves) {
            // An array without numbers belongs to no one.
            let is_empty = |leaf: &L| leaf.to_numbers().is_ok_and(|numbers| numbers.is_empty());
            for (leaf, parameter) in step.parameters.iter().enumerate() {
                let [before, now] = [holds, ranges].map(|ranges| contains(ranges, leaf));
                if before != now && !is_empty(parameter) {
                    let path = step.scope.treedef.leaf_path(leaf)?;
                    return Err(Error::Selection { part: part(), path, is_new: now });
                }
            }
        }
        Ok(())
    }

    /// Remembers which leaves the inner transforms concern, when the step of all transforms is done: after an error, the
    /// state is as it was.
    pub(crate) fn hold(&mut self) {
        if let Some(Selection { inside, .. }) = &self.selection
            && self.holds.as_ref() != Some(inside)
        {
            self.holds = Some(inside.clone());
        }
    }

    /// Whether it remembers something of each leaf.
    pub(crate) fn has_leaves(&self) -> bool {
        !self.leaves.is_empty() || self.parts.iter().any(Slots::has_leaves)
    }

    /// Whether a transform in it concerns only some leaves.
    pub(crate) fn selects(&self) -> bool {
        self.holds.is_some() || self.parts.iter().any(Slots::selects)
    }

    /// The leaves of these names.
    ///
    /// # Errors
    ///
    /// Returns an error when the slots belong to another transform.
    #[inline]
    pub fn leaves<const N: usize>(
        &mut self,
        transform: &'static str,
        names: [&'static str; N],
    ) -> Result<[&mut [L]; N]> {
        Ok(self.counted(transform, names)?.1)
    }

    /// Sorts the leaves by these names: in a file they are in alphabetical order.
    fn arrange(&mut self, names: &[&'static str]) {
        if !self.leaves.iter().map(|(name, _)| &**name).eq(names.iter().copied()) {
            self.leaves.sort_by_key(|(name, _)| names.iter().position(|other| other == name));
        }
    }

    /// The count, and the leaves of these names.
    ///
    /// # Errors
    ///
    /// As [`leaves`](Self::leaves).
    #[inline]
    pub fn counted<const N: usize>(
        &mut self,
        transform: &'static str,
        names: [&'static str; N],
    ) -> Result<(&mut u64, [&mut [L]; N])> {
        self.arrange(&names);
        let found = self.leaves.iter().map(|(name, _)| &**name);
        if self.transform != transform || !found.eq(names) || !self.parts.is_empty() {
            return Err(self.another(transform, &names, 0));
        }
        let mut leaves = self.leaves.iter_mut().map(|(_, leaves)| &mut **leaves);
        // As many as there are names, as checked above.
        Ok((&mut self.count, names.map(|_| leaves.next().or_bug())))
    }

    /// The slots of the transforms inside, with the count, the leaves of these names and the leaves that
    /// were selected.
    pub(crate) fn inside<const N: usize, const P: usize>(
        &mut self,
        transform: &'static str,
        names: [&'static str; N],
    ) -> Result<Inside<'_, L, N, P>> {
        self.arrange(&names);
        let found = self.leaves.iter().map(|(name, _)| &**name);
        if self.transform != transform || !found.eq(names) || self.parts.len() != P {
            return Err(self.another(transform, &names, P));
        }
        let mut leaves = self.leaves.iter_mut().map(|(_, leaves)| &mut **leaves);
        let leaves = names.map(|_| leaves.next().or_bug());
        let parts = self.parts.get_mut(..P).and_then(|parts| parts.try_into().ok());
        match parts {
            Some(parts) => Ok(Inside { count: &mut self.count, leaves, parts }),
            None => Err(Error::Argument("a state lost its parts".to_owned())), // counted above
        }
    }

    #[cold]
    pub(crate) fn another(&self, transform: &str, names: &[&str], parts: usize) -> Error {
        let described = |transform: &str, names: Vec<&str>, parts: usize| {
            let names = match names.as_slice() {
                [] => String::new(),
                names => format!(" with `{}`", names.join("`, `")),
            };
            let parts = match parts {
                0 => String::new(),
                1 => " of one transform".to_owned(),
                parts => format!(" of {parts} transforms"),
            };
            format!("`{transform}`{names}{parts}")
        };
        let found = self.leaves.iter().map(|(name, _)| &**name).collect();
        Error::State {
            expected: described(transform, names.to_vec(), parts),
            found: described(&self.transform, found, self.parts.len()),
            hint: " (see `State::migrate`)",
        }
    }
}

/// The slots of a transform that has others inside it.
pub(crate) struct Inside<'s, L, const N: usize, const P: usize> {
    pub(crate) count: &'s mut u64,
    pub(crate) leaves: [&'s mut [L]; N],
    pub(crate) parts: &'s mut [Slots<L>; P],
}

/// Adds a number.
#[derive(Clone, Copy)]
struct Plus(f64);

impl Rule<0> for Plus {
    fn next<X: Number>(&self, gradient: X, _: X, []: [X; 0]) -> (X, [X; 0]) {
        (gradient.plus(self.0), [])
    }
}
