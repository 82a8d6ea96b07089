//! The state of a model that has changed.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use treedef::__private::{OrBug, entries};
use treedef::{NodeRef, Path, TreeDef};

use crate::error::{Result, place};
use crate::leaf::Trainable;
use crate::saved::settle;
use crate::state::{State, origins};
use crate::transform::{ACCUMULATE, APPLY_IF_FINITE, Slots, Transform};

/// The result of [`State::migrate`]. It prints as one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateMigration {
    /// The parameters whose moments start afresh: they are new, have another shape, or were not trained by
    /// the same transform. A node represents all leaves below it.
    pub fresh: Vec<Path>,
    /// The parameters whose moments are dropped: they no longer exist, or are no longer trained by the same
    /// transform. A node represents all leaves below it.
    pub dropped: Vec<Path>,
    /// The transforms that start afresh, with their counts, because the state had no transform of that name
    /// in that place.
    pub transforms: Vec<String>,
    /// The parts of the state that the optimiser does not have: transforms with their counts, and
    /// accumulated gradients.
    pub lost: Vec<String>,
}

impl StateMigration {
    /// Whether everything was kept.
    pub fn is_empty(&self) -> bool {
        *self == StateMigration::default()
    }
}

impl fmt::Display for StateMigration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("nothing changed");
        }
        let mut said = Vec::new();
        if !self.fresh.is_empty() {
            said.push(format!("fresh moments for {}", quoted(&self.fresh)));
        }
        if !self.dropped.is_empty() {
            said.push(format!("dropped moments of {}", quoted(&self.dropped)));
        }
        if !self.transforms.is_empty() {
            said.push(format!("fresh transforms {}", self.transforms.join(", ")));
        }
        if !self.lost.is_empty() {
            said.push(format!("dropped {}", self.lost.join(", ")));
        }
        f.write_str(&said.join("; "))
    }
}

fn quoted(paths: &[Path]) -> String {
    let shown: Vec<String> = paths.iter().take(SHOWN).map(place).collect();
    match paths.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The maximum number of paths in a message.
const SHOWN: usize = 10;

impl<T: Serialize, L: Trainable> State<T, L> {
    /// The state for a changed model, or for another optimiser.
    ///
    /// The moments of a leaf are found by the path of the leaf and the name of the transform, in any
    /// pattern, group or chain; transforms of a chain keep their order. Moments that are not found, or have
    /// another shape, start afresh, and the report names them. Such a moment is zero, but the count goes
    /// on, so [`adam`](crate::adam) corrects its bias like the bias of an old moment: the first steps of a
    /// new parameter are longer. If leaves with different counts are combined, the most frequent count
    /// wins, and only its moments are kept. Accumulated gradients are kept for all leaves or for none.
    ///
    /// A new field with a default has no moments in a state that was read. A step returns an error; here it
    /// starts afresh. A field that was read by an `alias` keeps its moments if a leaf has several different
    /// ones, as with `adam`; a single moment cannot be distinguished from a default.
    ///
    /// # Errors
    ///
    /// As [`init`](crate::Optimiser::init).
    ///
    /// ```
    /// use treedef::Tree;
    /// use treedef_optim::{Optimiser, State, adam};
    ///
    /// let mut state = adam(0.1).init::<f64, _>(&vec![1.0, 2.0])?;
    /// adam(0.1).step(vec![1.0, 2.0], vec![0.5, 0.5], &mut state)?;
    ///
    /// // One more number.
    /// let model = vec![1.0, 2.0, 3.0];
    /// let (mut state, report) = state.migrate(&adam(0.1), &model)?;
    /// assert_eq!(report.to_string(), "fresh moments for `[2]`");
    /// assert_eq!(state.count(), 1);
    /// adam(0.1).step(model, vec![0.5; 3], &mut state)?;
    /// # Ok::<(), treedef_optim::Error>(())
    /// ```
    pub fn migrate<O: Transform<L> + ?Sized>(
        mut self,
        optimiser: &O,
        model: &T,
    ) -> Result<(State<T, L>, StateMigration)> {
        let tree = L::tree(model)?;
        let mut state = State::of(optimiser, &tree)?;
        let (treedef, parameters) = tree.into_parts();
        let mut origins = match &self.treedef {
            Some(old) => origins(old, &treedef),
            None => (0..parameters.len()).map(Some).collect(),
        };
        if !self.slots.has_leaves() {
            // There are only counts, of the remaining leaves.
            settle(&mut self.slots, &origins);
            self.treedef = Some(treedef.clone());
            origins = (0..parameters.len()).map(Some).collect();
        }
        let old_leaves = self.treedef.as_ref().map_or(0, TreeDef::num_leaves);
        let mut is_present = vec![true; old_leaves];
        for range in &self.absent {
            is_present.get_mut(range.clone()).into_iter().flatten().for_each(|leaf| *leaf = false);
        }
        for origin in &mut origins {
            *origin = origin.filter(|leaf| is_present.get(*leaf) != Some(&false));
        }
        let (mut fresh, mut old) = (Vec::new(), Vec::new());
        parts(&mut state.slots, vec![true; parameters.len()], &mut fresh);
        parts(&mut self.slots, is_present, &mut old);
        let mut moving = Moving {
            is_fresh: vec![false; parameters.len()],
            is_dropped: vec![false; old_leaves],
            after: vec![0; parameters.len()],
            parameters,
            origins,
            old,
            report: StateMigration::default(),
        };
        fresh.into_iter().for_each(|part| moving.fill(part));
        let mut report = moving.report_lost();
        report.fresh = highest(&treedef, &moving.is_fresh);
        if let Some(old) = &self.treedef {
            report.dropped = highest(old, &moving.is_dropped);
        }
        Ok((state, report))
    }
}

/// The highest nodes all of whose leaves are chosen.
fn highest(treedef: &TreeDef, chosen: &[bool]) -> Vec<Path> {
    fn collect(node: NodeRef<'_>, path: Path, chosen: &[bool], found: &mut Vec<Path>) {
        let below = chosen.get(node.leaf_range()).or_bug();
        if !below.contains(&true) {
            return;
        }
        if !below.contains(&false) {
            found.push(path);
            return;
        }
        // As deep as the structure, whose depth is limited.
        for (key, child) in entries(node) {
            let keys = path.keys().iter().cloned().chain([key]);
            collect(child, keys.collect(), chosen, found);
        }
    }
    let mut found = Vec::new();
    collect(treedef.root(), Path::default(), chosen, &mut found);
    found
}

/// A transform that contains no others, or remembers something beside them.
struct Part<'s, L> {
    transform: &'s str,
    count: &'s mut u64,
    leaves: &'s mut Vec<(Cow<'static, str>, Vec<L>)>,
    /// The leaves that it concerns.
    holds: Vec<bool>,
    /// Whether a new transform has used a part of it.
    is_used: bool,
}

/// Collects the transforms of a state in order.
fn parts<'s, L>(slots: &'s mut Slots<L>, mut holds: Vec<bool>, found: &mut Vec<Part<'s, L>>) {
    let Slots { transform, count, leaves, parts: inner, holds: ranges, .. } = slots;
    if let Some(ranges) = ranges {
        let mut selected = vec![false; holds.len()];
        for range in ranges {
            let both = selected.iter_mut().zip(&holds).take(range.end).skip(range.start);
            both.for_each(|(selected, holds)| *selected = *holds);
        }
        holds = selected;
    }
    if inner.is_empty() || !leaves.is_empty() || transform == APPLY_IF_FINITE {
        let (transform, holds) = (&**transform, holds.clone());
        found.push(Part { transform, count, leaves, holds, is_used: false });
    }
    inner.iter_mut().for_each(|inner| parts(inner, holds.clone(), found));
}

/// The transforms that neither count nor remember anything.
const FORGETFUL: [&str; 7] = [
    "check_finite",
    "clip",
    "clip_by_global_norm",
    "project",
    "scale",
    "set_to_zero",
    "weight_decay",
];

/// The transforms whose memory moves to any level: gradients so far, and errors in a row.
const AT_ANY_LEVEL: [&str; 2] = [ACCUMULATE, APPLY_IF_FINITE];

/// The parts that move from an old state into a new one.
struct Moving<'s, L> {
    parameters: Vec<L>,
    /// For each leaf the old one with its path.
    origins: Vec<Option<usize>>,
    old: Vec<Part<'s, L>>,
    /// For each leaf the first old transform after those that are used.
    after: Vec<usize>,
    is_fresh: Vec<bool>,
    is_dropped: Vec<bool>,
    report: StateMigration,
}

impl<L: Trainable> Moving<'_, L> {
    /// The old transform of this name that remembers a leaf.
    fn source(&self, transform: &str, leaf: usize) -> Option<usize> {
        let origin = (*self.origins.get(leaf)?)?;
        let after = if AT_ANY_LEVEL.contains(&transform) { 0 } else { *self.after.get(leaf)? };
        let fits = |old: &Part<'_, L>| {
            old.transform == transform && old.holds.get(origin).copied().unwrap_or(true)
        };
        (after..self.old.len()).find(|at| self.old.get(*at).is_some_and(fits))
    }

    /// Fills a new transform.
    fn fill(&mut self, mut part: Part<'_, L>) {
        let held = part.holds.iter().enumerate().filter(|(_, holds)| **holds);
        let held: Vec<(usize, Option<usize>)> =
            held.map(|(leaf, _)| (leaf, self.source(part.transform, leaf))).collect();
        let count_of = |at: usize| self.old.get(at).map(|old| *old.count);
        let mut counts: Vec<(u64, usize)> = Vec::new();
        for count in held.iter().filter_map(|(_, source)| count_of((*source)?)) {
            match counts.iter_mut().find(|(other, _)| *other == count) {
                Some((_, leaves)) => *leaves += 1,
                None => counts.push((count, 1)),
            }
        }
        let most = counts.into_iter().max_by_key(|(count, leaves)| (*leaves, *count));
        let Some((count, leaves)) = most else {
            let is_known = held.is_empty() || FORGETFUL.contains(&part.transform);
            if !is_known && !AT_ANY_LEVEL.contains(&part.transform) {
                let names: Vec<String> =
                    self.old.iter().map(|old| format!("`{}`", old.transform)).collect();
                let names = names.join(", ");
                self.report
                    .transforms
                    .push(format!("`{}` (the state has {names})", part.transform));
            }
            return;
        };
        // A mean of fewer gradients would count like a mean of all.
        if part.transform == ACCUMULATE && (count == 0 || leaves < held.len()) {
            return;
        }
        *part.count = count;
        for (leaf, source) in held {
            let is_kept = match source {
                Some(source) => self.fill_leaf(&mut part, leaf, source),
                None => part.leaves.is_empty(),
            };
            self.is_fresh.iter_mut().skip(leaf).take(1).for_each(|fresh| *fresh |= !is_kept);
        }
    }

    /// Fills the moments of a leaf from an old transform. Returns whether that has all of them, with the
    /// same count.
    fn fill_leaf(&mut self, part: &mut Part<'_, L>, leaf: usize, source: usize) -> bool {
        let (Some(old), Some(Some(origin)), Some(parameter)) =
            (self.old.get_mut(source), self.origins.get(leaf), self.parameters.get(leaf))
        else {
            return false;
        };
        if !AT_ANY_LEVEL.contains(&part.transform) {
            self.after.iter_mut().skip(leaf).take(1).for_each(|after| *after = source + 1);
        }
        // The rest is dropped at the end.
        old.holds.iter_mut().skip(*origin).take(1).for_each(|holds| *holds = false);
        if !old.is_used {
            old.is_used = true;
            let without = |leaves: &[(Cow<'_, str>, Vec<L>)], others: &[(Cow<'_, str>, Vec<L>)]| {
                let is_other = |name: &str| others.iter().any(|(other, _)| other == name);
                let names = leaves.iter().filter(|(name, _)| !is_other(name));
                names
                    .map(|(name, _)| format!("`{name}` of `{}`", part.transform))
                    .collect::<Vec<_>>()
            };
            self.report.transforms.extend(without(part.leaves, old.leaves));
            self.report.lost.extend(without(old.leaves, part.leaves));
        }
        if old.count != part.count {
            return false;
        }
        let mut is_kept = true;
        for (name, leaves) in &mut *part.leaves {
            let Some((_, found)) = old.leaves.iter().find(|(other, _)| other == name) else {
                continue;
            };
            match (leaves.get_mut(leaf), found.get(*origin)) {
                (Some(into), Some(found)) if found.is_like(parameter) => *into = found.clone(),
                _ => is_kept = false,
            }
        }
        is_kept
    }

    /// The report, with everything that no new transform has used.
    fn report_lost(&mut self) -> StateMigration {
        for old in &self.old {
            let is_mean = old.transform == ACCUMULATE;
            let count = *old.count;
            if is_mean && count == 0 || FORGETFUL.contains(&old.transform) {
                continue;
            }
            let has_other = self.old.iter().any(|other| {
                let is_alike = other.transform == old.transform && !is_mean;
                other.is_used && is_alike && (!old.leaves.is_empty() || *other.count == count)
            });
            if old.is_used || has_other {
                let held = old.holds.iter().map(|holds| *holds && !old.leaves.is_empty());
                self.is_dropped.iter_mut().zip(held).for_each(|(dropped, held)| *dropped |= held);
            } else if is_mean {
                let s = if count == 1 { "" } else { "s" };
                self.report.lost.push(format!("`{ACCUMULATE}` with {count} gradient{s}"));
            } else if !old.leaves.is_empty() || count > 0 {
                self.report.lost.push(format!("`{}`", old.transform));
            }
        }
        std::mem::take(&mut self.report)
    }
}
