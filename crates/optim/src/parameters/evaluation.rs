//! Computes leaves from a vector, and a vector from leaves.

use std::cell::Cell;

use serde::Serialize;
use serde::de::DeserializeOwned;
#[cfg(not(feature = "in_place"))]
use treedef::unflatten;

use super::differentiable::Differentiable;
use super::error::{Error, Result, quoted};
use super::interval::Interval;
use super::plan::{Constraint, Plan, Run, Work};

/// The maximum number of leaves for which a thread keeps memory: 8 MiB.
const KEPT: usize = 1 << 20;

/// The largest float of 32 bits.
const LARGEST_NARROW: f64 = f32::MAX as f64;

thread_local! {
    static LEAVES: Cell<Vec<f64>> = const { Cell::new(Vec::new()) };
}

impl Plan {
    /// Calls a function with the leaves for a vector.
    pub(super) fn with_leaves<R>(
        &self,
        x: &[f64],
        then: impl FnOnce(&[f64]) -> Result<R>,
    ) -> Result<R> {
        self.expect_length("the vector", x.len())?;
        // The vector is the leaves.
        if let [run] = &*self.runs
            && let Work::Copy(range) = run.work
            && run.leaves == self.start.len()
        {
            self.check_copied(run, range, x)?;
            return then(x);
        }
        // Inside `then`, a `Deserialize` may also ask for leaves: it finds an empty vector.
        let mut leaves = LEAVES.try_with(Cell::take).unwrap_or_default();
        leaves.clear();
        let result = self.fill(x, &mut leaves).and_then(|()| then(&leaves));
        if leaves.len() <= KEPT {
            let _ = LEAVES.try_with(|kept| kept.set(leaves)); // it fails only at the end of the thread
        }
        result
    }

    pub(super) fn expect_length(&self, what: &'static str, found: usize) -> Result<()> {
        let expected = self.initial.len();
        if found == expected { Ok(()) } else { Err(Error::Length { what, expected, found }) }
    }

    /// Puts the leaves of a vector into an empty one.
    fn fill(&self, x: &[f64], leaves: &mut Vec<f64>) -> Result<()> {
        for run in &self.runs {
            let x = &x[run.x..run.x + run.inputs];
            // Fixed and tied leaves before the run, and numbers that did not move, are the same as
            // at the start.
            leaves.extend_from_slice(&self.start[leaves.len()..run.leaf]);
            if let Work::Copy(range) = run.work {
                self.check_copied(run, range, x)?;
                leaves.extend_from_slice(x);
                continue;
            }
            leaves.extend_from_slice(&self.start[run.leaf..run.leaf + run.leaves]);
            let initial = &self.initial[run.x..run.x + run.inputs];
            let y = &mut leaves[run.leaf..];
            match run.work {
                Work::Copy(_) => {}
                Work::Transform(transform, range) => {
                    for (at, (x, (initial, y))) in x.iter().zip(initial.iter().zip(y)).enumerate() {
                        // Numbers that did not move stay exactly the same.
                        if x != initial {
                            *y = transform.value(*x);
                            let leaf = run.leaf + at;
                            if !range.contains(self.rounded(leaf, *y)) || !x.is_finite() {
                                return Err(self.refused(leaf, *x, *y, range));
                            }
                        }
                    }
                }
                Work::Block(block) => {
                    if x == initial {
                        continue;
                    }
                    if let Some(at) = x.iter().position(|x| !x.is_finite()) {
                        return Err(self.outside(run.leaf + at, x[at], "finite"));
                    }
                    block.value(x, y);
                    let rounded = y.iter().enumerate();
                    let rounded = rounded.map(|(at, y)| self.rounded(run.leaf + at, *y));
                    if let Some(at) = block.broken_at(rounded) {
                        return Err(self.outside_block(block, run.leaf + at, y[at]));
                    }
                }
            }
        }
        leaves.extend_from_slice(&self.start[leaves.len()..]);
        self.repeat_tied(leaves);
        Ok(())
    }

    pub(super) fn repeat_tied<N: Clone>(&self, leaves: &mut [N]) {
        for tie in &self.ties {
            // A tied leaf is after the leaf that it is tied to.
            let (first, others) = leaves.split_at_mut(tie.to);
            for (at, other) in others.iter_mut().take(tie.leaves).enumerate() {
                match first.get(tie.from + at) {
                    Some(leaf) => *other = leaf.clone(),
                    None => break,
                }
            }
        }
    }

    /// Checks numbers that are used as leaves directly.
    fn check_copied(&self, run: &Run, range: Interval, x: &[f64]) -> Result<()> {
        // Usually all are valid, which the processor can check for several numbers at once.
        let Interval { lower, upper, .. } = range;
        let largest = if run.narrow { LARGEST_NARROW } else { f64::INFINITY };
        let (low, high) = (lower.max(-largest), upper.min(largest));
        let bounded = low.is_finite() || high.is_finite();
        if all_finite(x) && (!bounded || all_between(x, low, high)) {
            return Ok(());
        }
        let holds = |(at, x): (usize, &f64)| {
            x.is_finite()
                && self.rounded(run.leaf + at, *x).is_finite()
                && (range == Interval::ALL || range.contains(*x))
        };
        match x.iter().enumerate().position(|(at, x)| !holds((at, x))) {
            Some(at) => Err(self.refused(run.leaf + at, x[at], x[at], range)),
            None => Ok(()),
        }
    }

    #[cold]
    fn refused(&self, leaf: usize, x: f64, y: f64, range: Interval) -> Error {
        if !x.is_finite() {
            return self.outside(leaf, x, "finite");
        }
        if range == Interval::ALL {
            return self.outside(leaf, y, "finite as `f32`");
        }
        self.outside(leaf, y, &range.to_string())
    }

    pub(super) fn rebuilt_into<T: DeserializeOwned>(
        &self,
        leaves: &[f64],
        model: &mut T,
    ) -> Result<()> {
        #[cfg(feature = "in_place")]
        treedef::unflatten_into(model, &self.treedef, leaves)?;
        #[cfg(not(feature = "in_place"))]
        {
            *model = unflatten(&self.treedef, leaves)?;
        }
        Ok(())
    }

    /// The leaves of a model with this structure.
    pub(super) fn leaves_of(
        &self,
        model: &(impl Serialize + ?Sized),
        ignore_statics: bool,
    ) -> Result<Vec<f64>> {
        let flattener = self.flattener.clone().ignore_statics(ignore_statics);
        let mut leaves = Vec::new();
        if self.objects {
            flattener.flatten_objects_like(&self.treedef, model, &mut leaves)?;
        } else {
            flattener.flatten_like(&self.treedef, model, &mut leaves)?;
        }
        Ok(leaves)
    }

    /// The vector for which the leaves are exactly these.
    pub(super) fn point(&self, leaves: &[f64]) -> Result<Vec<f64>> {
        for (leaf, found) in leaves.iter().enumerate() {
            let first = self.tied_to[leaf];
            let (expected, why) = if self.rules[leaf] == Constraint::Fixed {
                (self.start[leaf], "fixed".to_owned())
            } else if first != leaf {
                (leaves[first], format!("tied to {}", quoted(&self.path(first))))
            } else {
                if !found.is_finite() {
                    return Err(self.outside(leaf, *found, "finite"));
                }
                continue;
            };
            if *found != expected && !(found.is_nan() && expected.is_nan()) {
                let path = self.path(leaf);
                return Err(Error::NotAPoint { path, expected, found: *found, why });
            }
        }
        self.inverse(leaves)
    }

    /// The leaves in any type of number, without checks. Numbers that did not move stay exactly the same, as in `fill`.
    #[cfg_attr(not(feature = "num-dual"), allow(dead_code))]
    pub(super) fn leaves_as<N: Differentiable>(&self, x: &[N]) -> Vec<N> {
        let mut leaves: Vec<N> = self.start.iter().map(|leaf| N::of(*leaf)).collect();
        for run in &self.runs {
            let x = &x[run.x..run.x + run.inputs];
            let initial = &self.initial[run.x..run.x + run.inputs];
            let start = &self.start[run.leaf..run.leaf + run.leaves];
            let y = &mut leaves[run.leaf..run.leaf + run.leaves];
            match run.work {
                Work::Copy(_) => y.clone_from_slice(x),
                Work::Transform(transform, _) => {
                    for (at, x) in x.iter().enumerate() {
                        let value = transform.value(x.clone());
                        let is_start = x.real() == initial[at];
                        y[at] = if is_start { value.moved_to(start[at]) } else { value };
                    }
                }
                Work::Block(block) => {
                    block.value(x, y);
                    if x.iter().map(N::real).eq(initial.iter().copied()) {
                        for (y, start) in y.iter_mut().zip(start) {
                            *y = y.clone().moved_to(*start);
                        }
                    }
                }
            }
        }
        self.repeat_tied(&mut leaves);
        leaves
    }
}

/// Whether all numbers are finite, without a branch for each.
fn all_finite(x: &[f64]) -> bool {
    const SIGN: u64 = 1 << 63;
    const LOWEST_OF_EXPONENT: u64 = 1 << 52;
    // An exponent of ones carries into the sign.
    let carried = |x: &f64| (x.to_bits() & !SIGN) + LOWEST_OF_EXPONENT;
    x.iter().fold(0, |all, x| all | carried(x)) & SIGN == 0
}

/// Whether all numbers are between the ends, or at one, without a branch for each.
fn all_between(x: &[f64], low: f64, high: f64) -> bool {
    x.iter().fold(true, |all, x| all & (low <= *x) & (*x <= high))
}
