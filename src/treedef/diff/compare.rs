//! Finds the changes between two trees or structures.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use crate::error::DifferenceKind;
use crate::model::{Labels, Name, TreeDef};
use crate::path::{Key, Path};

use super::align::{Aligned, align};
use super::classes::Classes;
use super::{Change, ChangeKind, Diff, DiffSide, Diffable};

impl TreeDef {
    /// Returns the changes that turn this structure into `new`.
    ///
    /// Elements of sequences are compared by position if the lengths are equal. Otherwise the
    /// comparison pairs as many equal elements as possible. Fields and entries are compared by name
    /// or key. A missing child was renamed if it equals exactly one new child, and no other missing
    /// child equals that one.
    ///
    /// Time and memory depend on the stored structure, in which equal siblings are one node. If
    /// there are more than 65,536 changes, the diff is one change that replaces the whole.
    ///
    /// ```
    /// use treedef::{ChangeKind, TreeDef};
    ///
    /// let old: TreeDef = "[Point { x: *, y: * }; 1000000]".parse()?;
    /// let new: TreeDef = "[Point { x: *, y: *, z: * }; 1000000]".parse()?;
    /// let diff = old.diff(&new);
    /// let [change] = diff.changes() else { panic!("one change") };
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
    let (a, b) = (DiffSide::of(old, &classes.old), DiffSide::of(new, &classes.new));
    // Only the comparison of leaves needs them.
    let node_data = old.own_leaves().map(|_| &old.structure().encoding.node_data[..]);
    let node_data = node_data.unwrap_or_default().iter().enumerate();
    let with_twins = node_data.filter(|(_, data)| data.labels.has_twins()).map(|(at, _)| at);
    let mut comparison = Differ {
        changes: Vec::new(),
        pending: Vec::new(),
        steps: Vec::new(),
        with_twins: with_twins.collect(),
        whole: (a, b),
        // Leaves without a size take no memory, so their number is not counted.
        most: MOST_CHANGES.saturating_add(match size_of::<T::Leaf>() {
            0 => 0,
            _ => old.own_leaves().map_or(0, <[_]>::len),
        }),
    };
    match a.node.options() == b.node.options() {
        true => comparison.pending.push(Task::Pair(ROOT, a, b)),
        false => comparison.replaced(ROOT, DifferenceKind::Options, a, b),
    }
    comparison.run()
}

/// Two nodes to compare, or a change to report. The next task is last.
enum Task<'a, T: Diffable> {
    Pair(StepId, DiffSide<'a, T::Leaf>, DiffSide<'a, T::Leaf>),
    Report(StepId, ChangeKind<T>),
}

/// A node that is compared: the index of its step in [`Differ::steps`], or `None` for the root.
type StepId = Option<usize>;

const ROOT: StepId = None;

/// The step from a node to a child, and the number of siblings that it covers.
struct PathStep {
    above: StepId,
    key: Key,
    span: usize,
}

struct Differ<'a, T: Diffable> {
    changes: Vec<Change<T>>,
    pending: Vec<Task<'a, T>>,
    /// Paths are built only for changes. All of them would take memory quadratic in the depth.
    steps: Vec<PathStep>,
    /// The node data of the old structure that contains a field or key twice.
    with_twins: HashSet<usize>,
    /// The two roots. If there are more than `most` changes, the whole tree is replaced instead:
    /// two small structures may differ in 2⁶⁰ places.
    whole: (DiffSide<'a, T::Leaf>, DiffSide<'a, T::Leaf>),
    most: usize,
}

/// The maximum number of listed changes, in addition to one for each leaf.
const MOST_CHANGES: usize = 1 << 16;

impl<'a, T: Diffable> Differ<'a, T> {
    fn run(mut self) -> Diff<T> {
        while let Some(next) = self.pending.pop() {
            if self.changes.len() > self.most {
                self.changes.clear();
                self.replaced(ROOT, DifferenceKind::Node, self.whole.0, self.whole.1);
                break;
            }
            match next {
                Task::Pair(place, a, b) => self.compare(place, a, b),
                Task::Report(place, kind) => self.report(place, kind),
            }
        }
        Diff { changes: self.changes }
    }

    fn child(&mut self, above: StepId, key: Key, span: usize) -> StepId {
        self.steps.push(PathStep { above, key, span });
        Some(self.steps.len() - 1)
    }

    /// The keys that lead to a place, and the number of siblings that each covers.
    fn way(&self, place: StepId) -> (Vec<Key>, Vec<usize>) {
        let step = |place: StepId| self.steps.get(place?);
        let steps = std::iter::successors(step(place), |last| step(last.above));
        let (mut keys, mut spans): (Vec<Key>, Vec<usize>) =
            steps.map(|step| (step.key.clone(), step.span)).unzip();
        keys.reverse();
        spans.reverse();
        (keys, spans)
    }

    fn report(&mut self, place: StepId, kind: ChangeKind<T>) {
        let (keys, spans) = self.way(place);
        self.changes.push(Change { path: Path(keys), spans, kind });
    }

    fn replaced(
        &mut self,
        place: StepId,
        by: DifferenceKind,
        a: DiffSide<'a, T::Leaf>,
        b: DiffSide<'a, T::Leaf>,
    ) {
        let (old, new) = (T::cut(a.node, a.leaves), T::cut(b.node, b.leaves));
        self.report(place, ChangeKind::Replaced { by, old, new });
    }

    fn compare(&mut self, place: StepId, a: DiffSide<'a, T::Leaf>, b: DiffSide<'a, T::Leaf>) {
        if a.same_structure(b) {
            return self.compare_leaves(place, a, b);
        }
        let (node, other) = (a.node, b.node);
        let by = if node.kind() != other.kind() {
            Some(DifferenceKind::Node)
        } else if node.variant() != other.variant() {
            Some(DifferenceKind::Variant)
        } else if node.static_value() != other.static_value() {
            Some(DifferenceKind::Static)
        } else {
            None
        };
        if let Some(by) = by {
            return self.replaced(place, by, a, b);
        }
        let first = self.pending.len();
        match node.is_labelled() {
            false => self.compare_listed(place, a, b),
            true if self.compare_labelled(place, a, b).is_some() => {}
            true => return self.replaced(place, DifferenceKind::Order, a, b),
        }
        self.pending[first..].reverse(); // the next task is last
        if let (Some(old), Some(new)) = (node.name(), other.name())
            && old != new
        {
            let name = |name: &str| Name::from(name.to_owned());
            self.report(place, ChangeKind::Retyped { old: name(old), new: name(new) });
        }
    }

    /// Compares the leaves of two equal structures.
    fn compare_leaves(
        &mut self,
        place: StepId,
        a: DiffSide<'a, T::Leaf>,
        b: DiffSide<'a, T::Leaf>,
    ) {
        let pairs = a.below(1).iter().zip(b.below(1));
        let mut reported = 0;
        for (index, _) in pairs.enumerate().filter(|(_, (old, new))| old != new) {
            let (first, other) = (a.node.first_leaf() + index, b.node.first_leaf() + index);
            if first < reported {
                continue;
            }
            let (mut here, mut old, mut new) = (place, a.node, b.node);
            let steps = a.node.steps_to_leaf(first).zip(b.node.steps_to_leaf(other));
            for ((above, position, child), (_, _, other)) in steps {
                // The second of two equal fields has no own path, so the whole struct is replaced.
                if self.with_twins.contains(&above.raw().data) {
                    break;
                }
                let Some(key) = above.key(position) else { break };
                here = self.child(here, key, 1);
                (old, new) = (child, other);
            }
            reported = old.leaf_range().end;
            self.replaced(here, DifferenceKind::Leaf, a.at(old), b.at(new));
        }
    }

    /// Compares children by position, or so that as many as possible are equal.
    fn compare_listed(
        &mut self,
        place: StepId,
        a: DiffSide<'a, T::Leaf>,
        b: DiffSide<'a, T::Leaf>,
    ) {
        let mut added = Vec::new();
        let (mut old, mut new) = (0, 0);
        let key = |side: DiffSide<'a, T::Leaf>, position| {
            side.node.key(position).unwrap_or(Key::Position(position))
        };
        for aligned in align(a, b) {
            match aligned {
                Aligned::Pair(x, y, alike) => {
                    let (x, y) = (a.at(x), b.at(y));
                    if !x.equals(y, alike) {
                        let child = self.child(place, key(a, old), alike);
                        self.pending.push(Task::Pair(child, x, y));
                    }
                    (old, new) = (old + alike, new + alike);
                }
                Aligned::Removed(x, span) => {
                    let child = self.child(place, key(a, old), span);
                    let removed = ChangeKind::Removed(T::cut(x, a.leaves));
                    self.pending.push(Task::Report(child, removed));
                    old += span;
                }
                Aligned::Added(y, span) => {
                    let child = self.child(place, key(b, new), span);
                    let kind = ChangeKind::Added { position: new, new: T::cut(y, b.leaves) };
                    added.push(Task::Report(child, kind));
                    new += span;
                }
            }
        }
        self.pending.extend(added);
    }

    /// Compares children by their fields or keys. Returns `None` if a field or key occurs twice.
    fn compare_labelled(
        &mut self,
        place: StepId,
        a: DiffSide<'a, T::Leaf>,
        b: DiffSide<'a, T::Leaf>,
    ) -> Option<()> {
        let (old, new) = (Labelled::of(a)?, Labelled::of(b)?);
        let missing: Vec<usize> =
            (0..old.keys.len()).filter(|at| !new.places.contains_key(&old.keys[*at])).collect();
        let extra: Vec<usize> =
            (0..new.keys.len()).filter(|at| !old.places.contains_key(&new.keys[*at])).collect();
        let renamed = renamed(&old, &missing, &new, &extra);

        let stays =
            |at: usize, key: &Key| new.places.get(key).or_else(|| renamed.get(&at)).copied();
        let mut stay: Vec<usize> =
            old.keys.iter().enumerate().filter_map(|(at, key)| stays(at, key)).collect();
        if !stay.is_sorted() && !a.node.is_sorted_map() {
            stay.sort_unstable();
            let keys = stay.iter().map(|at| new.keys[*at].clone()).collect();
            self.pending.push(Task::Report(place, ChangeKind::Reordered { keys }));
        }
        for (at, (key, child)) in old.keys.iter().zip(&old.children).enumerate() {
            let to = stays(at, key);
            if to.is_some_and(|to| child.equals(new.children[to], 1)) && !renamed.contains_key(&at)
            {
                continue;
            }
            let here = self.child(place, key.clone(), 1);
            self.pending.push(match to {
                Some(to) if renamed.contains_key(&at) => {
                    let to = new.keys[to].clone(); // in range: `to` is the position of a key
                    Task::Report(here, ChangeKind::Renamed { to })
                }
                Some(to) => Task::Pair(here, *child, new.children[to]),
                None => Task::Report(here, ChangeKind::Removed(T::cut(child.node, a.leaves))),
            });
        }
        let is_new = |at: &usize| !renamed.values().any(|to| to == at);
        for position in extra.into_iter().filter(is_new) {
            let node = new.children[position].node;
            let here = self.child(place, new.keys[position].clone(), 1);
            let kind = ChangeKind::Added { position, new: T::cut(node, b.leaves) };
            self.pending.push(Task::Report(here, kind));
        }
        Some(())
    }
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

/// The children of a struct or map.
struct Labelled<'a, L> {
    keys: Vec<Key>,
    /// One for each of `keys`.
    children: Vec<DiffSide<'a, L>>,
    /// The index of each key.
    places: HashMap<Key, usize>,
}

impl<'a, L> Labelled<'a, L> {
    /// Returns `None` if a field or key occurs twice.
    fn of(side: DiffSide<'a, L>) -> Option<Self> {
        let entries = side.node.entries().map(|(key, child)| (key, side.at(child)));
        let (keys, children): (Vec<Key>, Vec<_>) = entries.unzip();
        let places: HashMap<Key, usize> = keys.iter().cloned().zip(0..).collect();
        (places.len() == side.node.num_children()).then_some(Labelled { keys, children, places })
    }
}

/// The maximum number of missing or new fields or keys for which renames are detected.
const MOST_RENAMES: usize = 256;

/// The new index of each renamed child, by its old index. A missing child was renamed if it equals
/// exactly one new child, and no other missing child equals that one.
fn renamed<L: PartialEq>(
    old: &Labelled<'_, L>,
    missing: &[usize],
    new: &Labelled<'_, L>,
    extra: &[usize],
) -> HashMap<usize, usize> {
    if missing.len().max(extra.len()) > MOST_RENAMES {
        return HashMap::new();
    }
    let alike = |from: usize, to: usize| old.children[from].equals(new.children[to], 1);
    let only = |mut found: Box<dyn Iterator<Item = usize> + '_>| {
        found.next().filter(|_| found.next().is_none())
    };
    let pairs = missing.iter().filter_map(|&from| {
        let to = only(Box::new(extra.iter().copied().filter(move |&to| alike(from, to))))?;
        only(Box::new(missing.iter().copied().filter(move |&other| alike(other, to))))?;
        Some((from, to))
    });
    pairs.collect()
}
