//! The state of a model that has changed.

use std::collections::VecDeque;
use std::{fmt, slice};

use serde::Serialize;
use treedef::{NodeRef, Path, TreeDef};

use crate::error::{Error, Result, place};
use crate::leaf::Leaf;
use crate::state::State;
use crate::transform::{ACCUMULATE, Slots, Transform};

/// What became of a state by [`State::migrate`]. It prints as one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateMigration {
    /// The parameters whose moments begin afresh: they are new, or have another shape. A node stands
    /// for all leaves below it.
    pub fresh: Vec<Path>,
    /// The parameters that are no longer there, in the same way.
    pub dropped: Vec<Path>,
    /// The transforms that begin afresh, because the state had another in their place.
    pub transforms: Vec<String>,
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
            said.push(format!("dropped those of {}", quoted(&self.dropped)));
        }
        if !self.transforms.is_empty() {
            said.push(format!("fresh transforms {}", self.transforms.join(", ")));
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

/// The most paths in a message.
const SHOWN: usize = 10;

impl<T: Serialize, L: Leaf> State<T, L> {
    /// The state for a model that has changed since, or for another optimiser.
    ///
    /// Moments are found by their paths. What has no path in the state, or another shape there, begins
    /// afresh, and the report names it. Such a moment is zero, and the count goes on, so the correction of
    /// the bias by [`adam`](crate::adam) is that of an old moment: the first steps of a new parameter are
    /// longer. A chain may have got or lost transforms. For names that have changed, read the state by
    /// `Tree::migrate` of treedef first, which follows the aliases of the type.
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
    /// // A number more.
    /// let model = vec![1.0, 2.0, 3.0];
    /// let (mut state, report) = state.migrate(&adam(0.1), &model)?;
    /// assert_eq!(report.to_string(), "fresh moments for `[2]`");
    /// assert_eq!(state.count(), 1);
    /// adam(0.1).step(model, vec![0.5; 3], &mut state)?;
    /// # Ok::<(), treedef_optim::Error>(())
    /// ```
    pub fn migrate<O: Transform<L> + ?Sized>(
        self,
        optimiser: &O,
        model: &T,
    ) -> Result<(State<T, L>, StateMigration)> {
        let tree = L::tree(model)?;
        let mut fresh = State::of(optimiser, &tree)?;
        let mut report = StateMigration::default();
        let Some(old) = &self.treedef else {
            // No moments: only counts.
            keep(&mut fresh.slots, self.slots, &[], &mut report);
            return Ok((fresh, report));
        };
        let (treedef, parameters) = tree.into_parts();
        let origins = origins(old, &treedef)?;
        // A leaf of another shape begins afresh, too.
        let fits = |(leaf, origin): (usize, &Option<usize>)| {
            origin.filter(|origin| is_alike(&self.slots, *origin, parameters.get(leaf)))
        };
        let kept: Vec<Option<usize>> = origins.iter().enumerate().map(fits).collect();
        report.fresh = highest(&treedef, &kept.iter().map(Option::is_none).collect::<Vec<_>>());
        let mut is_dropped = vec![true; old.num_leaves()];
        for origin in origins.iter().flatten() {
            is_dropped.iter_mut().skip(*origin).take(1).for_each(|dropped| *dropped = false);
        }
        report.dropped = highest(old, &is_dropped);
        keep(&mut fresh.slots, self.slots, &kept, &mut report);
        Ok((fresh, report))
    }
}

/// The highest nodes all of whose leaves are chosen.
fn highest(treedef: &TreeDef, chosen: &[bool]) -> Vec<Path> {
    fn collect(node: NodeRef<'_>, path: Path, chosen: &[bool], found: &mut Vec<Path>) {
        let below = chosen.get(node.leaf_range()).unwrap_or_default();
        if !below.contains(&true) {
            return;
        }
        if !below.contains(&false) {
            found.push(path);
            return;
        }
        // As deep as the structure, whose depth is limited.
        for (position, child) in node.children().enumerate() {
            let keys = path.keys().iter().cloned().chain(node.key(position));
            collect(child, keys.collect(), chosen, found);
        }
    }
    let mut found = Vec::new();
    collect(treedef.root(), Path::default(), chosen, &mut found);
    found
}

/// For each leaf of the new structure the one of the old with its path.
fn origins(old: &TreeDef, new: &TreeDef) -> Result<Vec<Option<usize>>> {
    if old == new {
        return Ok((0..new.num_leaves()).map(Some).collect());
    }
    let find = |path: Path| match old.leaf_index(&path) {
        Ok(leaf) => Ok(Some(leaf)),
        Err(error) if error.is_not_found() => Ok(None),
        // Another node than a leaf is there.
        Err(_) => Ok(None),
    };
    new.leaf_paths().map(find).collect::<Result<_, Error>>()
}

fn is_alike<L: Leaf>(slots: &Slots<L>, origin: usize, parameter: Option<&L>) -> bool {
    let alike = |leaf: Option<&L>| match (leaf, parameter) {
        (Some(leaf), Some(parameter)) => leaf.is_like(parameter),
        _ => false,
    };
    slots.leaves.iter().all(|(_, leaves)| alike(leaves.get(origin)))
        && slots.parts.iter().all(|part| is_alike(part, origin, parameter))
}

/// Transforms around another one, whose moments do not depend on them.
const AROUND: [&str; 3] = ["only", "frozen", ACCUMULATE];

/// The only transform inside of one that is around it.
fn inside<L>(slots: &Slots<L>) -> Option<&Slots<L>> {
    slots.parts.first().filter(|_| AROUND.contains(&&*slots.transform))
}

/// The name of a transform, without those around it.
fn name_of<L>(slots: &Slots<L>) -> &str {
    inside(slots).map_or(&slots.transform, name_of)
}

/// Moves what is kept of old slots into fresh ones.
fn keep<L: Leaf>(
    fresh: &mut Slots<L>,
    mut old: Slots<L>,
    kept: &[Option<usize>],
    report: &mut StateMigration,
) {
    if fresh.transform != old.transform {
        if inside(fresh).is_some()
            && let Some(inner) = fresh.parts.first_mut()
        {
            return keep(inner, old, kept, report);
        }
        if inside(&old).is_some() {
            return keep(fresh, old.parts.swap_remove(0), kept, report); // it is there
        }
    }
    if [&fresh.transform, &old.transform].iter().any(|transform| **transform == "chain") {
        let is_chain = old.transform == "chain";
        let old = if is_chain { old.parts } else { vec![old] };
        let is_chain = fresh.transform == "chain";
        let fresh = if is_chain { &mut *fresh.parts } else { slice::from_mut(fresh) };
        return keep_in_order(fresh, old, kept, report);
    }
    if fresh.transform != old.transform || fresh.parts.len() != old.parts.len() {
        report
            .transforms
            .push(format!("`{}` (the state has `{}`)", fresh.transform, old.transform));
        return;
    }
    fresh.count = old.count;
    for (name, leaves) in &mut fresh.leaves {
        let Some((_, found)) = old.leaves.iter().find(|(other, _)| other == name) else {
            report.transforms.push(format!("`{name}` of `{}`", fresh.transform));
            continue;
        };
        for (leaf, origin) in leaves.iter_mut().zip(kept) {
            if let Some(found) = origin.and_then(|origin| found.get(origin)) {
                *leaf = found.clone();
            }
        }
    }
    for (fresh, old) in fresh.parts.iter_mut().zip(old.parts) {
        keep(fresh, old, kept, report);
    }
}

/// The same for a chain, which other transforms may have joined or left. Each takes the next old one of
/// its name.
fn keep_in_order<L: Leaf>(
    fresh: &mut [Slots<L>],
    old: Vec<Slots<L>>,
    kept: &[Option<usize>],
    report: &mut StateMigration,
) {
    let names: Vec<String> = old.iter().map(|old| format!("`{}`", name_of(old))).collect();
    let mut old = VecDeque::from(old);
    for fresh in fresh {
        let at = old.iter().position(|old| name_of(old) == name_of(fresh));
        if let Some(at) = at
            && let Some(found) = old.drain(..=at).next_back()
        {
            keep(fresh, found, kept, report);
        } else if remembers(fresh) {
            let names = names.join(", ");
            report.transforms.push(format!("`{}` (the state has {names})", name_of(fresh)));
        }
    }
}

/// Whether a transform has leaves.
fn remembers<L>(slots: &Slots<L>) -> bool {
    !slots.leaves.is_empty() || slots.parts.iter().any(remembers)
}
