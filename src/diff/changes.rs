//! Finds the changes between two trees or structures.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;
use std::mem;
use std::ops::Range;
use std::rc::Rc;

use crate::bug::OrBug;
use crate::error::DifferenceKind;
use crate::model::{Labels, Name, TreeDef};
use crate::path::Key;
use crate::treedef::compare::{
    Heads, Labelled, Site, Step, Steps, View, by_label, compare, compare_at,
};
use crate::treedef::node_ref::NodeRef;

use super::align::{Aligned, align, align_by_content};
use super::change::{Change, ChangeKind, Diff};
use super::classes::Classes;
use super::node::{DiffNode, Diffable};
use super::shifted::{FEWEST, is_list, may_be_shifted, with_lists};

/// # Differences
impl TreeDef {
    /// Returns the changes that turn this structure into `new`.
    ///
    /// Needs the feature `diff`.
    ///
    /// Elements of sequences are paired so that as many as possible are equal. Beyond 4,096 removed
    /// and added elements, they are paired piece by piece, and there may be more changes than
    /// necessary. Two sequences of one length are compared by position, unless removing a few
    /// elements and adding others makes fewer changes: from `[1, 2, 3, 4]` to `[2, 3, 4, 5]` there
    /// are two.
    ///
    /// Fields and entries are compared by name or key. A missing child was renamed if it equals
    /// exactly one new child, and no other missing child equals that one.
    ///
    /// Time and memory depend on the stored structure, in which equal siblings are one node. A diff
    /// takes at most some 2²⁶ steps to pair elements and to find renames. Beyond them, elements are
    /// paired by position, and a child with another name is another one. If there are more than 65,536
    /// changes, or if the structures were made with different options, the diff is one change that
    /// replaces the whole.
    ///
    /// ```
    /// use treedef::{ChangeKind, TreeDef};
    ///
    /// let old: TreeDef = "[Point { x: *, y: * }; 1000000]".parse()?;
    /// let new: TreeDef = "[Point { x: *, y: *, z: * }; 1000000]".parse()?;
    /// let diff = old.diff(&new);
    /// let [change] = &diff.changes[..] else { panic!("one change") };
    /// assert_eq!((change.path.to_string().as_str(), change.places()), ("[0].z", 1_000_000));
    /// assert_eq!(change.kind, ChangeKind::Added { position: 2, new: TreeDef::leaf() });
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn diff(&self, new: &TreeDef) -> Diff<TreeDef> {
        diff(self, new)
    }
}

pub(crate) fn diff<T: Diffable>(old: &T, new: &T) -> Diff<T> {
    let classes = Classes::of(&old.structure().encoding, &new.structure().encoding);
    let (a, b) = (DiffNode::of(old, &classes.old), DiffNode::of(new, &classes.new));
    // Needed only to compare leaves.
    let node_data = old.own_leaves().map(|_| &old.structure().encoding.node_data[..]);
    let node_data = node_data.unwrap_or_default().iter().enumerate();
    let with_twins = node_data.filter(|(_, data)| data.labels.has_twins()).map(|(at, _)| at);
    let leaves = old.own_leaves().map_or(0, <[_]>::len);
    let mut changes = Changes {
        changes: Vec::new(),
        work: MOST_WORK.saturating_add(leaves.saturating_mul(WORK_PER_LEAF)),
        with_twins: with_twins.collect(),
        with_lists: old.own_leaves().map(|_| with_lists(&old.structure().encoding)),
        differing: Differing::default(),
        by_content: false,
        attempts: 0,
        // Leaves of size zero use no memory, so their number is not counted.
        most: MOST_CHANGES.saturating_add(match size_of::<T::Leaf>() {
            0 => 0,
            _ => leaves,
        }),
    };
    let same_options = a.node.options() == b.node.options();
    if same_options {
        compare(&mut changes, a, b);
    }
    if !same_options || changes.is_full() {
        let by = if same_options { DifferenceKind::Node } else { DifferenceKind::Options };
        changes.changes.clear();
        changes.keep_change(&Site::default(), replaced(by, a, b));
    }
    Diff { changes: changes.changes }
}

/// The view of a [comparison](compare) that keeps the subtrees that differ.
struct Changes<T> {
    changes: Vec<Change<T>>,
    /// The node data of the old structure that contains a field or key twice.
    with_twins: HashSet<usize>,
    /// Whether a node of the old structure is or contains a list whose elements may be paired by
    /// content. Only the comparison of leaves uses it.
    with_lists: Option<Vec<bool>>,
    differing: Differing,
    /// Whether the elements of the next two lists are paired by their content.
    by_content: bool,
    /// The number of lists around this one whose elements are being paired by content.
    attempts: usize,
    /// If there are more changes, the whole tree is replaced instead: two small structures may
    /// differ in 2⁶⁰ places.
    most: usize,
    /// The number of leaves that the whole diff may still compare in order to pair elements by
    /// their content and to find renames.
    work: usize,
}

/// The number of leaves that any diff may compare for this; each leaf of the old tree adds more.
const MOST_WORK: usize = 1 << 26;
const WORK_PER_LEAF: usize = 1 << 6;

/// The same for each node and leaf of two lists that are compared once more.
const WORK_AGAIN: usize = 1 << 3;

/// The maximum number of nested lists that are paired by content at once.
const MOST_ATTEMPTS: usize = 8;

/// The maximum number of listed changes, in addition to one for each leaf.
const MOST_CHANGES: usize = 1 << 16;

type Compared<'a, T> = DiffNode<'a, <T as Diffable>::Leaf>;
type ChangeSteps<'a, T> = Steps<Compared<'a, T>, Finding<'a, T>>;

enum Finding<'a, T: Diffable> {
    Change(ChangeKind<T>),
    /// Two lists of one length whose elements were compared, and the number of changes before them.
    Lists(Compared<'a, T>, Compared<'a, T>, usize),
}

impl<'a, T: Diffable> View<'a> for Changes<T>
where
    T::Leaf: 'a,
{
    type Compared = Compared<'a, T>;
    type Found = Finding<'a, T>;

    fn compare(
        &mut self,
        site: &Site,
        a: Compared<'a, T>,
        b: Compared<'a, T>,
    ) -> ChangeSteps<'a, T> {
        if mem::take(&mut self.by_content) {
            return listed(a, b, align_by_content(a, b, &mut self.work));
        }
        if a.same_class(b) {
            return self.same_structure(site, a, b);
        }
        let before = self.changes.len();
        let retyped = match Heads::EQUAL.difference(a.node, b.node) {
            Some(DifferenceKind::Name) => {
                Some(Step::here(Finding::Change(retyped(a.node, b.node))))
            }
            Some(by) => return vec![Step::here(Finding::Change(replaced(by, a, b)))],
            None => None,
        };
        let below = if a.node.is_labelled() {
            labelled(a, b, &mut self.work)
        } else {
            let mut steps = listed(a, b, align(a, b, &mut self.work));
            if is_list(a.node) && a.node.num_children() == b.node.num_children() {
                steps.push(Step::here(Finding::Lists(a, b, before)));
            }
            Some(steps)
        };
        match below {
            Some(below) => retyped.into_iter().chain(below).collect(),
            None => vec![Step::here(Finding::Change(replaced(DifferenceKind::Order, a, b)))],
        }
    }

    fn keep(&mut self, site: &Site, found: Finding<'a, T>) {
        match found {
            Finding::Change(kind) => self.keep_change(site, kind),
            Finding::Lists(a, b, before) => self.revise(site, a, b, before),
        }
    }

    fn next_sibling(&self, _: Compared<'a, T>) -> Option<Compared<'a, T>> {
        None
    }

    fn num_found(&self) -> usize {
        self.changes.len()
    }

    fn is_full(&self) -> bool {
        self.changes.len() > self.most
    }
}

impl<'a, T: Diffable> Changes<T>
where
    T::Leaf: 'a,
{
    /// Compares two equal structures.
    fn same_structure(
        &mut self,
        site: &Site,
        a: Compared<'a, T>,
        b: Compared<'a, T>,
    ) -> ChangeSteps<'a, T> {
        let all = self.differing(a, b);
        let (before, differing) = (self.changes.len(), within(a.node, &all));
        if !self.goes_on(a.node, differing) {
            self.compare_leaves(site, a, b, differing);
            self.revise_list(site, a, b, before);
            return Vec::new();
        }
        let (mut steps, mut site) = (Vec::new(), site.clone());
        for (position, x, y, below) in a.different_children(b, differing) {
            let key = a.node.child_key(position);
            // Changes are kept in order, so later changes have to wait for a child that waits.
            if !steps.is_empty() || self.goes_on(x.node, below) {
                steps.push(Step::pair(key, 1, x, y));
                continue;
            }
            let before = self.changes.len();
            site.enter(key, 1);
            self.compare_leaves(&site, x, y, below);
            self.revise_list(&site, x, y, before);
            site.leave();
        }
        if self.is_list(a.node) {
            steps.push(Step::here(Finding::Lists(a, b, before)));
        }
        steps
    }

    fn keep_change(&mut self, site: &Site, kind: ChangeKind<T>) {
        let Site { path, spans } = site;
        self.changes.push(Change { path: path.clone(), spans: spans.clone(), kind });
    }

    fn has_list(&self, node: NodeRef<'_>) -> bool {
        self.with_lists.as_ref().is_some_and(|all| all.get(node.index()).copied().or_bug())
    }

    fn is_list(&self, node: NodeRef<'_>) -> bool {
        self.has_list(node) && is_list(node)
    }

    /// Whether the children of a node are compared on their own, because there are lists in them
    /// with enough different leaves.
    fn goes_on(&self, node: NodeRef<'_>, differing: &[usize]) -> bool {
        differing.len() >= FEWEST
            && self.has_list(node)
            // No path leads to the second of two equal fields.
            && !self.with_twins.contains(&node.raw().data())
            && node.runs().any(|(child, _)| self.has_list(child))
    }

    /// Pairs the elements of two lists of one length by their content, if there are fewer changes
    /// then than by position. `before` is the number of changes before the lists.
    fn revise(&mut self, site: &Site, a: Compared<'a, T>, b: Compared<'a, T>, before: usize) {
        let found = self.changes.len().saturating_sub(before);
        if self.attempts >= MOST_ATTEMPTS || !may_be_shifted(a, b, found, &mut self.work) {
            return;
        }
        let size = |side: Compared<'a, T>| side.below().len() + side.node.subtree().len();
        let cost = (size(a) + size(b)).saturating_mul(WORK_AGAIN); // in memory
        let Some(work) = self.work.checked_sub(cost) else { return };
        self.work = work;
        let (by_position, most) = (self.changes.split_off(before), self.most);
        self.most = before.saturating_add(found) - 1; // at least 3 were found
        self.attempts += 1;
        self.by_content = true;
        let differing = self.differing.clone();
        compare_at(self, site.clone(), a, b);
        self.differing = differing;
        if self.is_full() {
            self.changes.truncate(before);
            self.changes.extend(by_position);
        }
        self.attempts -= 1;
        self.most = most;
    }

    fn revise_list(&mut self, site: &Site, a: Compared<'a, T>, b: Compared<'a, T>, before: usize) {
        if self.is_list(a.node) {
            self.revise(site, a, b, before);
        }
    }

    /// The indices of the leaves of the old tree that differ, also between equal structures. Each
    /// leaf is compared once, even if nodes below the two are compared next.
    fn differing(&mut self, a: Compared<'a, T>, b: Compared<'a, T>) -> Rc<Vec<usize>> {
        let (range, new) = (a.node.leaf_range(), b.node.first_leaf());
        let known = &self.differing;
        let is_known = known.old.start <= range.start
            && range.end <= known.old.end
            && range.start - known.old.start == new.wrapping_sub(known.new);
        if !is_known {
            let pairs = a.below().iter().zip(b.below()).enumerate();
            let differ = pairs.filter(|(_, (old, new))| old != new);
            let leaves = Rc::new(differ.map(|(index, _)| range.start + index).collect());
            self.differing = Differing { old: range, new, leaves };
        }
        Rc::clone(&self.differing.leaves)
    }

    /// Keeps the leaves of two equal structures that differ.
    fn compare_leaves(
        &mut self,
        site: &Site,
        a: Compared<'a, T>,
        b: Compared<'a, T>,
        differing: &[usize],
    ) {
        let mut reported = 0;
        for first in differing.iter().copied() {
            if first < reported {
                continue;
            }
            let other = first - a.node.first_leaf() + b.node.first_leaf();
            let (mut site, mut old, mut new) = (site.clone(), a.node, b.node);
            let steps = a.node.steps_to_leaf(first).zip(b.node.steps_to_leaf(other));
            for ((above, position, child), (_, _, other)) in steps {
                // No path leads to the second of two equal fields, so the whole struct is
                // replaced.
                if self.with_twins.contains(&above.raw().data()) {
                    break;
                }
                site.enter(above.child_key(position), 1);
                (old, new) = (child, other);
            }
            reported = old.leaf_range().end;
            self.keep_change(&site, replaced(DifferenceKind::Leaf, a.at(old), b.at(new)));
        }
    }
}

/// The leaves below a node.
fn within<'l>(node: NodeRef<'_>, leaves: &'l [usize]) -> &'l [usize] {
    let range = node.leaf_range();
    let start = leaves.partition_point(|leaf| *leaf < range.start);
    let end = leaves.partition_point(|leaf| *leaf < range.end);
    leaves.get(start..end).or_bug()
}

/// The leaves that differ in two equal structures.
#[derive(Clone, Default)]
struct Differing {
    /// The leaves of the first.
    old: Range<usize>,
    /// The first leaf of the second.
    new: usize,
    /// Indices in the old tree, in order.
    leaves: Rc<Vec<usize>>,
}

fn replaced<T: Diffable>(
    by: DifferenceKind,
    a: Compared<'_, T>,
    b: Compared<'_, T>,
) -> ChangeKind<T> {
    ChangeKind::Replaced { by, old: T::cut(a.node, a.leaves), new: T::cut(b.node, b.leaves) }
}

fn retyped<T>(old: NodeRef<'_>, new: NodeRef<'_>) -> ChangeKind<T> {
    let name = |node: NodeRef<'_>| Name::from(node.name().or_bug().to_owned());
    ChangeKind::Retyped { old: name(old), new: name(new) }
}

/// Compares the children of two lists that correspond.
fn listed<'a, T: Diffable>(
    a: Compared<'a, T>,
    b: Compared<'a, T>,
    aligned: Vec<Aligned<'a>>,
) -> ChangeSteps<'a, T> {
    let (mut steps, mut added) = (Vec::new(), Vec::new());
    let (mut old, mut new) = (0, 0);
    let key = |side: Compared<'a, T>, position| side.node.child_key(position);
    for aligned in aligned {
        match aligned {
            Aligned::Same(count) => (old, new) = (old + count, new + count),
            Aligned::Pair(x, y, count) => {
                steps.push(Step::pair(key(a, old), count, a.at(x), b.at(y)));
                (old, new) = (old + count, new + count);
            }
            Aligned::Removed(x, span) => {
                let removed = ChangeKind::Removed(T::cut(x, a.leaves));
                steps.push(Step::found(key(a, old), span, Finding::Change(removed)));
                old += span;
            }
            Aligned::Added(y, span) => {
                let kind = ChangeKind::Added { position: new, new: T::cut(y, b.leaves) };
                added.push(Step::found(key(b, new), span, Finding::Change(kind)));
                new += span;
            }
        }
    }
    steps.extend(added);
    steps
}

/// Compares children by their fields or keys. Returns `None` if a field or key occurs twice.
fn labelled<'a, T: Diffable>(
    a: Compared<'a, T>,
    b: Compared<'a, T>,
    work: &mut usize,
) -> Option<ChangeSteps<'a, T>> {
    let twins =
        |side: Compared<'_, T>| side.node.data().is_some_and(|data| data.labels.has_twins());
    if twins(a) || twins(b) {
        return None;
    }
    let children = by_label(a.node, b.node, &Key::clone);
    let renamed = renamed(&children, a, b, work);
    let new_names: HashSet<usize> = renamed.values().copied().collect();
    let (mut steps, mut added) = (Vec::new(), Vec::new());
    let ranks = if b.node.is_sorted_map() { b.node.insertion_ranks() } else { Vec::new() };

    let renamed_to = |at: usize| children.get(*renamed.get(&at)?);
    let stays = |(at, (_, child)): (usize, &(Key, Labelled<'_, '_>))| match child {
        Labelled::Both(_, position, _) => Some(*position),
        Labelled::First(_) => match renamed_to(at)? {
            (_, Labelled::Second(position, _)) => Some(*position),
            _ => None,
        },
        Labelled::Second(..) => None,
    };
    let mut stay: Vec<usize> = children.iter().enumerate().filter_map(stays).collect();
    if !stay.is_sorted() && !a.node.is_sorted_map() {
        stay.sort_unstable();
        let keys = stay.into_iter().map(|position| b.node.child_key(position)).collect();
        steps.push(Step::here(Finding::Change(ChangeKind::Reordered { keys })));
    }
    for (at, (key, child)) in children.iter().enumerate() {
        let key = key.clone();
        match *child {
            Labelled::Both(x, _, y) if a.at(x).equals(b.at(y)) => {}
            Labelled::Both(x, _, y) => steps.push(Step::pair(key, 1, a.at(x), b.at(y))),
            Labelled::First(x) => {
                let kind = match renamed_to(at) {
                    Some((to, _)) => ChangeKind::Renamed { to: to.clone() },
                    None => ChangeKind::Removed(T::cut(x, a.leaves)),
                };
                steps.push(Step::found(key, 1, Finding::Change(kind)));
            }
            Labelled::Second(position, y) if !new_names.contains(&at) => {
                let kind = ChangeKind::Added { position, new: T::cut(y, b.leaves) };
                let step = Step::found(key, 1, Finding::Change(kind));
                added.push((ranks.get(position).copied(), step));
            }
            Labelled::Second(..) => {}
        }
    }
    // Entries of a map are added in their insertion order.
    added.sort_by_key(|(ranks, _)| *ranks);
    steps.extend(added.into_iter().map(|(_, step)| step));
    Some(steps)
}

/// For each renamed child of the old node the new one, by their indices in `children`. A missing
/// child was renamed if it equals exactly one new child, and no other missing child equals that
/// one. If there is not enough `work` to know, it was not.
fn renamed<'a, L: PartialEq>(
    children: &[(Key, Labelled<'a, 'a>)],
    a: DiffNode<'a, L>,
    b: DiffNode<'a, L>,
    work: &mut usize,
) -> HashMap<usize, usize> {
    // Only children of one class can be equal.
    let mut classes: BTreeMap<usize, (Vec<_>, Vec<_>)> = BTreeMap::new();
    for (at, (_, child)) in children.iter().enumerate() {
        match *child {
            Labelled::First(old) => {
                classes.entry(a.at(old).class()).or_default().0.push((at, a.at(old)));
            }
            Labelled::Second(_, new) => {
                classes.entry(b.at(new).class()).or_default().1.push((at, b.at(new), 0));
            }
            Labelled::Both(..) => {}
        }
    }
    let mut renamed = HashMap::new();
    for (missing, mut extra) in classes.into_values() {
        let mut candidates = Vec::new();
        for (at, old) in missing {
            let (mut equal, mut last) = (0, 0);
            for (place, (_, new, olds)) in extra.iter_mut().enumerate() {
                let Some(is_same) = old.same(*new, work) else { return renamed };
                if is_same {
                    (equal, last) = (equal + 1, place);
                    *olds += 1;
                }
                if equal > 1 {
                    break;
                }
            }
            candidates.extend((equal == 1).then_some((at, last)));
        }
        let only = |(at, place)| {
            let (to, _, olds): &(usize, _, usize) = extra.get(place)?;
            (*olds == 1).then_some((at, *to))
        };
        renamed.extend(candidates.into_iter().filter_map(only));
    }
    renamed
}

impl Labels {
    /// Whether a field or key occurs twice.
    fn has_twins(&self) -> bool {
        fn twins<T: Eq + Hash>(all: &[T]) -> bool {
            let mut seen = HashSet::new();
            !all.iter().all(|label| seen.insert(label))
        }
        match self {
            Labels::Fields(fields) => twins(fields),
            Labels::Keys(keys) => twins(keys),
            Labels::None | Labels::Static(_) => false,
        }
    }
}
