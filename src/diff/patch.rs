//! Applies a diff to a tree or structure.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::sync::Arc;

use crate::bug::{OrBug, bug};
use crate::error::{Cause, Difference, DifferenceKind, Error, Result};
use crate::model::{Labels, Name, NodeData, TreeDef, Value};
use crate::path::{Key, Path};
use crate::treedef::difference::{MOST_DIFFERENCES, expect_none, subtree_mismatch};
use crate::treedef::insertion::insertion_order;
use crate::treedef::lookup;
use crate::treedef::node_ref::{Children, NodeRef};
use crate::treedef::options::options_mismatch;
use crate::treedef::pairs::equal_subtrees;
use crate::treedef::parts::PartsBuilder;

use super::change::{Change, ChangeKind, Diff};
use super::node::{DiffNode, Diffable, below};

impl TreeDef {
    /// Applies a [`diff`](TreeDef::diff) to this structure.
    ///
    /// Needs the feature `diff`.
    ///
    /// The structure may differ from the original one in places that the diff does not change.
    ///
    /// # Errors
    ///
    /// Returns an error with the path if this structure differs in a place that the diff changes.
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let old: TreeDef = "[(*, *), *]".parse()?;
    /// let diff = old.diff(&"[(*, None), *]".parse()?);
    /// let other: TreeDef = "[(*, *), [*; 1000]]".parse()?;
    /// assert_eq!(other.patch(&diff)?.to_string(), "[(*, None), [*; 1000]]");
    ///
    /// let error = TreeDef::patch(&"[(*, ()), *]".parse()?, &diff).unwrap_err();
    /// assert_eq!(error.to_string(), "expected `*`, found `()` at `[0].1`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn patch(&self, diff: &Diff<TreeDef>) -> Result<TreeDef> {
        patch(self, diff, &|()| None)
    }
}

/// A child in the new tree.
enum PatchedChild<'a, 'c, T: Diffable> {
    /// Equal siblings of the old tree, and their number.
    Old(NodeRef<'a>, usize),
    /// Equal siblings of the old tree, their number, and the changes at and below them.
    Changed(NodeRef<'a>, usize, Applied<'c, T>),
    New(&'c T, usize),
}

/// Changes at and below a child.
struct Applied<'c, T> {
    changes: &'c [Change<T>],
    /// The number of siblings between the child that the paths of the changes name and this one.
    after: usize,
}

impl<T> Clone for Applied<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Applied<'_, T> {}

/// Prints a leaf for a message, if it can be printed.
type LeafPrint<'p, T> = &'p dyn Fn(&<T as Diffable>::Leaf) -> Option<String>;

/// Applies a diff. `print` is for a message.
pub(crate) fn patch<T: Diffable>(old: &T, diff: &Diff<T>, print: LeafPrint<'_, T>) -> Result<T> {
    let side = DiffNode::of(old, &[]);
    let root = match &diff.changes[..] {
        [] => return Ok(old.clone()),
        [Change { path, kind: ChangeKind::Replaced { old, new, .. }, .. }] if path.is_root() => {
            let (expected, found) = (old.structure().root().options(), side.node.options());
            if expected != found {
                return Err(options_mismatch(expected, found));
            }
            expect(old, side, path, print)?;
            return Ok(new.clone());
        }
        changes => PatchedChild::Changed(side.node, 1, Applied { changes, after: 0 }),
    };
    let treedef = old.structure();
    let (mut builder, mut leaves) =
        (PartsBuilder::onto(treedef.root(), treedef.limits), Vec::new());
    let mut after = Vec::new();
    builder.assemble(root, |builder, depth, part| {
        match part {
            PatchedChild::Old(node, repeat) => {
                builder.insert(node, repeat)?;
                leaves.extend_from_slice(below(node, side.leaves, repeat));
            }
            PatchedChild::New(new, repeat) => {
                builder.insert_copies(new.structure(), repeat)?;
                leaves.extend_from_slice(new.own_leaves().unwrap_or_default());
            }
            PatchedChild::Changed(node, repeat, applied) => {
                after.truncate(depth);
                after.push(applied.after);
                let plan = Plan::of(side.at(node), applied.changes, depth, print);
                let plan = plan.map_err(|error| {
                    after.iter().skip(1).enumerate().fold(error, |error, (depth, after)| {
                        advanced(error, depth, *after) // the root has no siblings
                    })
                })?;
                let data = plan.data();
                builder.open_new(node.kind(), data.as_ref().map(NodeData::as_ref), repeat);
                builder.set_insertion_order(plan.insertion_order());
                return Ok(Some(plan.children.into_iter().flat_map(|child| child.part.by_order())));
            }
        }
        Ok(None)
    })?;
    let treedef = builder.finish()?;
    // Leaves of size zero have one value, so changes of such leaves may repeat.
    if size_of::<T::Leaf>() == 0
        && let Some(leaf) = leaves.first().cloned()
    {
        leaves.resize(treedef.num_leaves(), leaf);
    }
    // A diff that was read from a document may repeat a subtree that has leaves.
    if old.own_leaves().is_none() || leaves.len() == treedef.num_leaves() {
        Ok(T::join(treedef, leaves))
    } else {
        Err(Cause::DoesNotApply(REPEATED.to_owned()).into())
    }
}

/// Checks that the old subtree equals the one in the change.
fn expect<T: Diffable>(
    old: &T,
    found: DiffNode<'_, T::Leaf>,
    path: &Path,
    print: LeafPrint<'_, T>,
) -> Result<()> {
    let root = old.structure().root();
    if !equal_subtrees(root, found.node) {
        return Err(subtree_mismatch(path, root, found.node));
    }
    let differs = |(_, (old, found)): &(usize, (&T::Leaf, &T::Leaf))| {
        old != found && (equals_itself(*old) || equals_itself(*found))
    };
    let pairs = old.own_leaves().unwrap_or_default().iter().zip(found.below()).enumerate();
    let differences = pairs.filter(differs).take(MOST_DIFFERENCES).map(|(at, (old, found))| {
        let quoted = |leaf| Some(format!("`{}`", print(leaf)?));
        let path = path.join(&root.path_to_leaf(at));
        let (expected, found) = quoted(old)
            .zip(quoted(found))
            .ok_or_else(|| refused("the leaf differs from the one in the change", &path))?;
        Ok(Difference { path, kind: DifferenceKind::Leaf, expected, found })
    });
    expect_none(differences.collect::<Result<_>>()?)
}

/// Whether a leaf equals itself. A NaN does not: it stands for any NaN.
fn equals_itself<L: PartialEq>(leaf: &L) -> bool {
    let again = leaf;
    leaf == again
}

/// A node of the new tree, made from a node of the old tree and the changes at and below it.
struct Plan<'a, 'c, T: Diffable> {
    node: NodeRef<'a>,
    /// The depth of the node below the root.
    depth: usize,
    /// The remaining children of the old node, and how many were visited.
    rest: Children<'a>,
    came: usize,
    /// The children of the new node so far.
    children: Vec<PlannedChild<'a, 'c, T>>,
    name: Option<&'c Name>,
    /// The insertion positions of the entries of the old node, if it is a map with sorted keys.
    ranks: Vec<usize>,
    print: LeafPrint<'c, T>,
}

struct PlannedChild<'a, 'c, T: Diffable> {
    /// Fields and entries have one.
    key: Option<Key>,
    /// The insertion position of an entry of a map.
    rank: usize,
    part: PatchedChild<'a, 'c, T>,
}

impl<'a, 'c, T: Diffable> Plan<'a, 'c, T> {
    fn of(
        side: DiffNode<'a, T::Leaf>,
        changes: &'c [Change<T>],
        depth: usize,
        print: LeafPrint<'c, T>,
    ) -> Result<Self> {
        let (node, rest, children) = (side.node, side.node.children(), Vec::new());
        let ranks = if node.is_sorted_map() { node.insertion_ranks() } else { Vec::new() };
        let mut plan = Plan { node, depth, rest, came: 0, children, name: None, ranks, print };
        let (mut added, mut order) = (Vec::new(), None);
        for group in changes.chunk_by(|a, b| a.point(depth) == b.point(depth)) {
            let first = group.first().ok_or_else(|| bug!("a group has no change"))?;
            match first.point(depth) {
                ChangePoint::Old(key) => plan.change(side, key, first, group)?,
                ChangePoint::New(key) if node.kind().has_one_child() || !node.takes(key) => {
                    let here = first.path.parent().or_bug();
                    return Err(refused("no place for the added child", &here));
                }
                ChangePoint::New(_) => added.extend(group),
                ChangePoint::Itself => {
                    for change in group {
                        match &change.kind {
                            ChangeKind::Retyped { old, .. } if node.name() != Some(old) => {
                                return Err(refused("the type has another name", &change.path));
                            }
                            ChangeKind::Retyped { new, .. } => plan.name = Some(new),
                            ChangeKind::Reordered { keys } => order = Some((keys, &change.path)),
                            // A node cannot be replaced or moved as a whole and also be changed
                            // inside.
                            _ => return Err(refused(WHOLE, &change.path)),
                        }
                    }
                }
            }
        }
        plan.keep(node.num_children());
        if let Some((keys, path)) = order {
            plan.reorder(keys).ok_or_else(|| refused(MOVED, path))?;
        }
        if !added.is_empty() {
            plan.add(&added)?;
        }
        plan.expect_new_keys(changes)?;
        if node.is_sorted_map() {
            plan.children.sort_by_cached_key(|child| child.entry().cloned());
        }
        Ok(plan)
    }

    /// The insertion position of an entry of the old node. It only matters in a sorted map.
    fn rank(&self, position: usize) -> usize {
        self.ranks.get(position).copied().unwrap_or(0)
    }

    /// The insertion order of the entries of a map, if its keys are sorted. Added entries are last.
    fn insertion_order(&self) -> Option<Arc<[usize]>> {
        let ranks: Vec<usize> = self.children.iter().map(|child| child.rank).collect();
        insertion_order(&ranks).filter(|_| self.node.is_sorted_map())
    }

    /// Keeps the remaining children of the old node before `position`.
    fn keep(&mut self, position: usize) {
        let labelled = self.node.is_labelled();
        while self.came < position {
            let most = if labelled { 1 } else { position - self.came };
            let Some((child, count)) = self.rest.next_up_to(most) else {
                return debug_assert!(false, "a child is missing");
            };
            let key = self.node.key(self.came).filter(|_| labelled);
            let (rank, part) = (self.rank(self.came), PatchedChild::Old(child, count));
            self.children.push(PlannedChild { key, rank, part });
            self.came += count;
        }
    }

    /// The number of children that a change is about.
    fn span(&self, change: &Change<T>) -> Result<usize> {
        let span = change.span(self.depth);
        if span > 1 && self.node.is_labelled() {
            let said = format!("a field or a key has one child, not {span}");
            return Err(refused(said, &change.path));
        }
        Ok(span)
    }

    /// Applies a group of changes to a child of the old node, or to several equal children.
    fn change(
        &mut self,
        side: DiffNode<'a, T::Leaf>,
        key: &Key,
        change: &Change<T>,
        group: &'c [Change<T>],
    ) -> Result<()> {
        // Built only for an error: all paths together would use memory quadratic in the depth.
        let here = |depth| change.path.keys().iter().take(depth).cloned().collect::<Path>();
        let missing =
            || Cause::NoSuchChild { key: key.clone(), node: self.node.brief(), nearest: None };
        let same = || match key {
            Key::Entry(_) => lookup::position(self.node, key),
            _ => Ok(None),
        };
        let position = match self.node.position(key) {
            None => same().map_err(|error| error.at(here(self.depth)))?,
            found => found,
        };
        let position = position.ok_or_else(|| Error::from(missing()).at(here(self.depth)))?;
        if position < self.came {
            return Err(refused(MOVED, &here(self.depth)));
        }
        self.keep(position);
        let own = self.node.key(position).filter(|_| matches!(key, Key::Entry(_)));
        let key = own.as_ref().unwrap_or(key);
        let span = self.span(change)?;
        if let Some(other) = group.iter().find(|it| it.span(self.depth) != span) {
            let said = "the changes of one child are about different numbers of its siblings";
            return Err(refused(said, &other.path));
        }
        // In a place that the diff does not change, the elements may differ.
        let mut after = 0;
        while after < span {
            let has_leaves = |child| side.at(child).counts_leaves();
            let is_single = self.rest.clone().next().is_some_and(has_leaves);
            let most = if is_single { 1 } else { span - after };
            let Some((child, count)) = self.rest.next_up_to(most) else {
                let said = format!("expected {span} children from here on, found {after}");
                return Err(refused(said, &here(self.depth + 1)));
            };
            self.came += count;
            let planned =
                self.changed((side.at(child), count), key, Applied { changes: group, after });
            let planned = planned.map_err(|error| advanced(error, self.depth, after))?;
            let rank = self.rank(position);
            let child = |(key, part)| PlannedChild { key: Some(key), rank, part };
            self.children.extend(planned.map(child));
            after += count; // at most the span
        }
        Ok(())
    }

    /// Applies changes to equal children of the old node. Returns the new nodes, with the key.
    fn changed(
        &self,
        (old_child, count): (DiffNode<'a, T::Leaf>, usize),
        key: &Key,
        applied: Applied<'c, T>,
    ) -> Result<Option<(Key, PatchedChild<'a, 'c, T>)>> {
        let change = applied.changes.first().ok_or_else(|| bug!("a child has no change"))?;
        let changed = PatchedChild::Changed(old_child.node, count, applied);
        let is_whole = change.path.keys().len() == self.depth + 1;
        Ok(Some(match &change.kind {
            _ if !is_whole => (key.clone(), changed),
            ChangeKind::Removed(_) | ChangeKind::Renamed { .. } | ChangeKind::Replaced { .. }
                if applied.changes.len() > 1 =>
            {
                return Err(refused(WHOLE, &change.path));
            }
            ChangeKind::Removed(_) if self.node.kind().has_one_child() => {
                return Err(refused("the only child of a node cannot be removed", &change.path));
            }
            ChangeKind::Removed(old) => {
                expect(old, old_child, &change.path, self.print)?;
                return Ok(None);
            }
            ChangeKind::Renamed { to } if !self.node.is_labelled() || !self.node.takes(to) => {
                return Err(refused("no place for the new field or key", &change.path));
            }
            ChangeKind::Renamed { to } => (to.clone(), PatchedChild::Old(old_child.node, count)),
            ChangeKind::Replaced { old, new, .. } => {
                expect(old, old_child, &change.path, self.print)?;
                (key.clone(), PatchedChild::New(new, count))
            }
            _ => (key.clone(), changed),
        }))
    }

    /// Checks that no other child has the key to which one was renamed.
    fn expect_new_keys(&self, changes: &[Change<T>]) -> Result<()> {
        let renamed = changes.iter().filter_map(|change| match &change.kind {
            ChangeKind::Renamed { to } => {
                (change.path.keys().len() == self.depth + 1).then_some((to, &change.path))
            }
            _ => None,
        });
        let renamed: HashMap<&Key, &Path> = renamed.collect();
        let mut seen = HashSet::new();
        let keys = self.children.iter().filter_map(|child| child.key.as_ref());
        match keys.filter_map(|key| renamed.get_key_value(key)).find(|(key, _)| !seen.insert(*key))
        {
            Some((_, path)) => Err(refused(EXISTS, path)),
            None => Ok(()),
        }
    }

    /// Sorts the remaining children by `keys`. Returns `None` if their keys differ from these.
    fn reorder(&mut self, keys: &[Key]) -> Option<()> {
        let places: HashMap<&Key, usize> = keys.iter().zip(0..).collect();
        let place = |child: &PlannedChild<'_, '_, T>| places.get(child.key.as_ref()?).copied();
        let all = self.children.len() == places.len();
        if !all || self.children.iter().any(|child| place(child).is_none()) {
            return None;
        }
        self.children.sort_by_key(place);
        Some(())
    }

    /// Inserts the added children, in the order of their positions.
    fn add(&mut self, added: &[&'c Change<T>]) -> Result<()> {
        let labelled = self.node.is_labelled();
        let keys = self.children.iter().filter_map(|child| child.key.clone());
        let mut keys: HashSet<Key> = keys.filter(|_| labelled).collect();
        let mut old = mem::take(&mut self.children).into_iter();
        let (mut next, mut count) = (old.next(), 0);
        for (rank, change) in (self.ranks.len()..).zip(added) {
            let ChangeKind::Added { position, new } = &change.kind else {
                return Err(bug!("nothing was added"));
            };
            let key = change.path.keys().get(self.depth).filter(|_| labelled).cloned();
            if key.clone().is_some_and(|key| !keys.insert(key)) {
                return Err(refused(EXISTS, &change.path));
            }
            while count < *position
                && let Some(child) = next
            {
                let (part, rest) = child.part.split(position - count);
                count += part.count();
                self.children.push(PlannedChild { part, ..child });
                let rest = rest.map(|part| PlannedChild { key: None, rank: 0, part });
                next = rest.or_else(|| old.next());
            }
            if count != *position && !self.node.is_sorted_map() {
                return Err(refused(
                    "there are too few children before the added one",
                    &change.path,
                ));
            }
            let span = self.span(change)?;
            count = count.saturating_add(span);
            self.children.push(PlannedChild { key, rank, part: PatchedChild::New(new, span) });
        }
        self.children.extend(next);
        self.children.extend(old);
        Ok(())
    }

    /// The names and labels of the new node.
    fn data(&self) -> Option<NodeData> {
        let data = self.node.data()?;
        let keys = || self.children.iter().filter_map(|child| child.key.as_ref());
        let labels = match data.labels {
            Labels::Keys(_) => Labels::Keys(keys().filter_map(Key::entry).cloned().collect()),
            Labels::Fields(_) => Labels::Fields(keys().filter_map(Key::field).cloned().collect()),
            Labels::None | Labels::Static(_) => data.labels.clone(),
        };
        let name = self.name.unwrap_or(&data.name).clone();
        Some(NodeData { name, labels, ..data.clone() })
    }
}

const REPEATED: &str = "a change repeats a subtree with leaves";
const EXISTS: &str = "the new field or key exists already";
const MOVED: &str = "the order of the fields or keys differs";
const WHOLE: &str = "a node cannot be replaced as a whole and also be changed inside, and the root can only be replaced";

/// The error for a later sibling: `after` places behind the child that the paths name at a depth.
#[cold]
fn advanced(mut error: Error, depth: usize, after: usize) -> Error {
    let advance = |path: &mut Path| {
        if let Some(key) = path.0.get_mut(depth) {
            key.advance(after);
        }
    };
    if let Cause::Structure(differences) = error.cause_mut() {
        differences.iter_mut().for_each(|difference| advance(&mut difference.path));
    }
    let mut path = error.path().clone();
    advance(&mut path);
    error.at(path)
}

#[cold]
fn refused(said: impl Into<String>, path: &Path) -> Error {
    Error::from(Cause::DoesNotApply(said.into())).at(path.clone())
}

impl<T: Diffable> PlannedChild<'_, '_, T> {
    fn entry(&self) -> Option<&Value> {
        self.key.as_ref().and_then(Key::entry)
    }
}

impl<T: Diffable> PatchedChild<'_, '_, T> {
    /// Siblings that are changed one by one, because the insertion orders of their maps differ.
    fn by_order(self) -> impl Iterator<Item = Self> {
        let mut rest = Some(self);
        std::iter::from_fn(move || {
            let part = rest.take()?;
            let most = match part {
                PatchedChild::Changed(node, count, _) => node.in_same_order(count),
                PatchedChild::Old(..) | PatchedChild::New(..) => usize::MAX,
            };
            let (first, more) = part.split(most);
            rest = more;
            Some(first)
        })
    }

    /// Splits off the first `most` siblings. Returns them and the rest.
    fn split(self, most: usize) -> (Self, Option<Self>) {
        let left = self.count().saturating_sub(most);
        if left == 0 {
            return (self, None);
        }
        let (first, rest) = match self {
            PatchedChild::Old(node, _) => {
                (PatchedChild::Old(node, most), PatchedChild::Old(node.later(most), left))
            }
            PatchedChild::Changed(node, _, applied) => {
                let after = applied.after + most; // at most the siblings
                let rest = Applied { after, ..applied };
                (
                    PatchedChild::Changed(node, most, applied),
                    PatchedChild::Changed(node.later(most), left, rest),
                )
            }
            PatchedChild::New(new, _) => {
                (PatchedChild::New(new, most), PatchedChild::New(new, left))
            }
        };
        (first, Some(rest))
    }

    fn count(&self) -> usize {
        match self {
            PatchedChild::Old(_, count)
            | PatchedChild::Changed(_, count, _)
            | PatchedChild::New(_, count) => *count,
        }
    }
}

/// The place of a change, seen from a node on its path.
#[derive(PartialEq)]
enum ChangePoint<'c> {
    /// The node itself.
    Itself,
    /// A child of the old node, or something below it.
    Old(&'c Key),
    /// A child that was added.
    New(&'c Key),
}

impl<T> Change<T> {
    fn point(&self, depth: usize) -> ChangePoint<'_> {
        match (self.path.keys().get(depth), &self.kind) {
            (None, _) => ChangePoint::Itself,
            (Some(key), ChangeKind::Added { .. }) if self.path.keys().len() == depth + 1 => {
                ChangePoint::New(key)
            }
            (Some(key), _) => ChangePoint::Old(key),
        }
    }

    /// The number of siblings that the change covers at this depth.
    fn span(&self, depth: usize) -> usize {
        self.spans.get(depth).copied().or_bug()
    }
}
