//! The state of a model that has changed.

use serde::Serialize;
use treedef::__private::{OrBug, broken, entries, leaf_difference};
use treedef::{Key, Leaf, Migration, NodeRef, Path, TreeDef};

use crate::error::Result;
use crate::leaf::Trainable;
use crate::saved::settle;
use crate::state::{State, origins};
use crate::transform::{ACCUMULATE, APPLY_IF_FINITE, Slots, Transform};

impl<T: Serialize, L: Trainable> State<T, L> {
    /// The state for a changed model, or for another optimiser, with the report that
    /// [`Tree::migrate`](treedef::Tree::migrate) gives, too.
    ///
    /// The moments of a leaf are found by the path of the leaf and the name of the transform, in any
    /// pattern, group or chain; transforms of a chain keep their order. Moments that are not found start
    /// afresh. Such a moment is zero, but the count goes on, so [`adam`](crate::adam) corrects its bias like
    /// the bias of an old moment: the first steps of a new parameter are longer. If leaves with different
    /// counts are combined, the most frequent count wins, and only its moments are kept. Accumulated
    /// gradients are kept for all leaves or for none. The means of [`adafactor`](crate::adafactor) are kept as they are, of rows and
    /// columns or of each number: another `min_dim_size_to_factor` needs a new state.
    ///
    /// The paths of the report are paths of the state as a tree, for example `.leaves["mu"].layers[2]`:
    /// - [`filled`](Migration::filled): moments that start afresh, because their leaf is new, or was not
    ///   trained by the same transform.
    /// - [`dropped`](Migration::dropped): moments whose leaf no longer exists, or is no longer trained by the
    ///   same transform, and counts.
    /// - [`renamed`](Migration::renamed): transforms whose memory moved to another place of the optimiser.
    /// - [`changed`](Migration::changed): transforms in the place of others, and moments that start afresh
    ///   because their leaf has another type or shape.
    ///
    /// A path represents everything below it that a transform trains. The rest was kept.
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
    /// use treedef_optim::{Optimiser, State, adam, chain, transform::clip};
    ///
    /// let mut state = adam(0.1).init::<f64, _>(&vec![1.0, 2.0])?;
    /// adam(0.1).step(vec![1.0, 2.0], vec![0.5, 0.5], &mut state)?;
    ///
    /// // One more number, and one more transform.
    /// let (model, optimiser) = (vec![1.0, 2.0, 3.0], chain!(clip(1.0), adam(0.1)));
    /// let (mut state, report) = state.migrate(&optimiser, &model)?;
    /// assert_eq!(format!("{report:#}").lines().collect::<Vec<_>>(), [
    ///     r#"filled `.parts[1].leaves["mu"][2]`"#,
    ///     r#"filled `.parts[1].leaves["nu"][2]`"#,
    ///     "renamed the root to `.parts[1]`",
    /// ]);
    /// assert_eq!(state.count(), 1);
    /// optimiser.step(model, vec![0.5; 3], &mut state)?;
    /// # Ok::<(), treedef_optim::Error>(())
    /// ```
    pub fn migrate<O: Transform<L> + ?Sized>(
        mut self,
        optimiser: &O,
        model: &T,
    ) -> Result<(State<T, L>, Migration)> {
        let tree = L::tree(model)?;
        let mut state = State::of(optimiser, &tree)?;
        let (treedef, parameters) = tree.into_parts();
        let all = || (0..parameters.len()).map(Some).collect();
        let mut origins = self.treedef.as_ref().map_or_else(all, |old| origins(old, &treedef));
        if !self.slots.has_leaves() {
            // There are only counts, of the remaining leaves.
            settle(&mut self.slots, &origins);
            self.treedef = Some(treedef.clone());
            origins = all();
        }
        let old_treedef =
            self.treedef.as_ref().ok_or_else(|| broken("a state has no structure"))?;
        let mut is_present = vec![true; old_treedef.num_leaves()];
        for range in &self.absent {
            is_present.get_mut(range.clone()).into_iter().flatten().for_each(|leaf| *leaf = false);
        }
        for origin in &mut origins {
            *origin = origin.filter(|leaf| is_present.get(*leaf) != Some(&false));
        }
        let (mut new, mut old) = (Vec::new(), Vec::new());
        memories(&mut state.slots, &Path::root(), vec![true; parameters.len()], &mut new);
        memories(&mut self.slots, &Path::root(), is_present, &mut old);
        let mut moving = Moving {
            treedef: &treedef,
            after: vec![0; parameters.len()],
            parameters,
            origins,
            old,
            unmatched: Vec::new(),
            report: Migration::default(),
        };
        new.into_iter().try_for_each(|memory| moving.fill(memory))?;
        let report = moving.finish(old_treedef);
        Ok((state, report))
    }
}

/// The memory of one transform.
struct Memory<'s, L> {
    /// The path of the transform in the state.
    path: Path,
    transform: &'s str,
    count: &'s mut u64,
    moments: Vec<Moment<'s, L>>,
    /// The leaves that the transform trains.
    holds: Vec<bool>,
    /// The leaves that no new transform has continued yet.
    is_free: Vec<bool>,
    /// Whether a new transform has continued it, with its count.
    is_continued: bool,
}

struct Moment<'s, L> {
    /// The path in the state.
    path: Path,
    name: &'s str,
    leaves: &'s mut Vec<L>,
    /// Whether a leaf moved, or is in the report.
    is_settled: Vec<bool>,
}

/// Collects the memories of a state in the order of its transforms.
fn memories<'s, L>(
    slots: &'s mut Slots<L>,
    path: &Path,
    mut holds: Vec<bool>,
    found: &mut Vec<Memory<'s, L>>,
) {
    let Slots { transform, count, leaves, parts, holds: ranges, .. } = slots;
    if let Some(ranges) = ranges {
        let mut selected = vec![false; holds.len()];
        for range in ranges {
            let both = selected.iter_mut().zip(&holds).take(range.end).skip(range.start);
            both.for_each(|(selected, holds)| *selected = *holds);
        }
        holds = selected;
    }
    if parts.is_empty() || !leaves.is_empty() || transform == APPLY_IF_FINITE {
        let above = path.child(field("leaves"));
        let moments = leaves.iter_mut().map(|(name, leaves)| Moment {
            path: above.child(Key::Entry(Leaf::from(&**name).into())),
            name,
            leaves,
            is_settled: vec![false; holds.len()],
        });
        found.push(Memory {
            path: path.clone(),
            transform,
            count,
            moments: moments.collect(),
            holds: holds.clone(),
            is_free: holds.clone(),
            is_continued: false,
        });
    }
    let above = path.child(field("parts"));
    for (at, part) in parts.iter_mut().enumerate() {
        memories(part, &above.child(Key::Index(at)), holds.clone(), found);
    }
}

fn field(name: &'static str) -> Key {
    Key::Field(name.into())
}

impl<L> Memory<'_, L> {
    /// The paths of the moments that are not settled. A node represents all moments below it.
    fn unsettled(&self, treedef: &TreeDef) -> Vec<Path> {
        let mut found = Vec::new();
        for Moment { path, is_settled, .. } in &self.moments {
            highest(treedef.root(), path.clone(), &self.holds, is_settled, &mut found);
        }
        found
    }
}

/// The highest nodes with leaves of a transform and without a settled one.
fn highest(
    node: NodeRef<'_>,
    path: Path,
    holds: &[bool],
    is_settled: &[bool],
    found: &mut Vec<Path>,
) {
    let [below, settled] = [holds, is_settled].map(|leaves| leaves.get(node.leaf_range()).or_bug());
    if below.iter().zip(settled).all(|(holds, is_settled)| !holds || *is_settled) {
        return;
    }
    if !settled.contains(&true) {
        return found.push(path);
    }
    // As deep as the structure, whose depth is limited.
    for (key, child) in entries(node) {
        highest(child, path.child(key), holds, is_settled, found);
    }
}

/// The transforms whose memory moves to any level: gradients so far, and errors in a row.
const AT_ANY_LEVEL: [&str; 2] = [ACCUMULATE, APPLY_IF_FINITE];

/// The memories that move from an old state into a new one.
struct Moving<'s, L> {
    treedef: &'s TreeDef,
    parameters: Vec<L>,
    /// For each leaf the old one with its path.
    origins: Vec<Option<usize>>,
    old: Vec<Memory<'s, L>>,
    /// For each leaf the first old memory after those that are used.
    after: Vec<usize>,
    /// The new transforms that start afresh, with their paths.
    unmatched: Vec<(Path, &'s str)>,
    report: Migration,
}

impl<'s, L: Trainable> Moving<'s, L> {
    /// The old memory of a transform of this name that trained a leaf.
    fn source(&self, transform: &str, leaf: usize) -> Option<usize> {
        let origin = (*self.origins.get(leaf)?)?;
        let after = if AT_ANY_LEVEL.contains(&transform) { 0 } else { *self.after.get(leaf)? };
        let parameter = self.parameters.get(leaf)?;
        // A mean of gradients of another shape does not count.
        let is_like = |moment: &Moment<'_, L>| {
            transform != ACCUMULATE
                || moment.leaves.get(origin).is_some_and(|from| from.is_like(parameter))
        };
        let fits = |old: &Memory<'_, L>| {
            old.transform == transform
                && old.is_free.get(origin).copied().unwrap_or(true)
                && old.moments.iter().all(is_like)
        };
        (after..self.old.len()).find(|at| self.old.get(*at).is_some_and(fits))
    }

    /// Fills the memory of a new transform.
    fn fill(&mut self, mut new: Memory<'s, L>) -> Result<()> {
        let held = new.holds.iter().enumerate().filter(|(_, holds)| **holds);
        let held: Vec<(usize, Option<usize>)> =
            held.map(|(leaf, _)| (leaf, self.source(new.transform, leaf))).collect();
        let mut counts: Vec<(u64, usize)> = Vec::new();
        for old in held.iter().filter_map(|(_, source)| self.old.get((*source)?)) {
            match counts.iter_mut().find(|(count, _)| count == old.count) {
                Some((_, leaves)) => *leaves += 1,
                None => counts.push((*old.count, 1)),
            }
        }
        let most = counts.into_iter().max_by_key(|(count, leaves)| (*leaves, *count));
        // A mean of fewer gradients would count like a mean of all.
        let is_whole = |(count, leaves): &(u64, usize)| {
            new.transform != ACCUMULATE || *count == 0 || *leaves == held.len()
        };
        match most.filter(is_whole) {
            Some((count, _)) => {
                *new.count = count;
                for (leaf, source) in held {
                    if let Some(source) = source {
                        self.fill_leaf(&mut new, leaf, source)?;
                    }
                }
            }
            None => self.unmatched.push((new.path.clone(), new.transform)),
        }
        self.report.filled.extend(new.unsettled(self.treedef));
        Ok(())
    }

    /// Fills the moments of a leaf from an old memory, if that has the same count.
    fn fill_leaf(&mut self, new: &mut Memory<'_, L>, leaf: usize, source: usize) -> Result<()> {
        let (Some(old), Some(Some(origin)), Some(parameter), Some(after)) = (
            self.old.get_mut(source),
            self.origins.get(leaf),
            self.parameters.get(leaf),
            self.after.get_mut(leaf),
        ) else {
            return Err(broken("a moment has no source").into());
        };
        if !AT_ANY_LEVEL.contains(&new.transform) {
            *after = source + 1;
        }
        old.is_free.iter_mut().skip(*origin).take(1).for_each(|is_free| *is_free = false);
        if old.count != new.count {
            return Ok(());
        }
        old.is_continued = true;
        if old.path != new.path && (!old.moments.is_empty() || *old.count > 0) {
            let paths = (old.path.clone(), new.path.clone());
            if !self.report.renamed.contains(&paths) {
                self.report.renamed.push(paths);
            }
        }
        for moment in &mut new.moments {
            let Some(old) = old.moments.iter_mut().find(|old| old.name == moment.name) else {
                continue;
            };
            let (Some(into), Some(from)) = (moment.leaves.get_mut(leaf), old.leaves.get(*origin))
            else {
                return Err(broken("a moment lost a leaf").into());
            };
            if from.is_like(parameter) {
                *into = from.clone();
            } else {
                let path = moment.path.join(&self.treedef.leaf_path(leaf)?);
                let changed = leaf_difference(path, from.describe(), into.describe());
                self.report.changed.push(changed);
            }
            moment.is_settled.iter_mut().skip(leaf).take(1).for_each(|settled| *settled = true);
            old.is_settled.iter_mut().skip(*origin).take(1).for_each(|settled| *settled = true);
        }
        Ok(())
    }

    /// The report, with everything that no new transform has continued.
    fn finish(self, old_treedef: &TreeDef) -> Migration {
        let mut report = self.report;
        for old in self.old {
            if !old.is_continued && *old.count > 0 {
                report.dropped.push(old.path.child(field("count")));
            }
            report.dropped.extend(old.unsettled(old_treedef));
            let in_its_place = self.unmatched.iter().find(|(path, _)| *path == old.path);
            let Some((_, transform)) = in_its_place.filter(|_| !old.is_continued) else { continue };
            if *transform != old.transform {
                let [from, to] = [old.transform, transform].map(|name| format!("`{name:?}`"));
                let path = old.path.child(field("transform"));
                report.changed.push(leaf_difference(path, from, to));
            }
        }
        report
    }
}
