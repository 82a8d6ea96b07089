//! Finding what is different.

use std::collections::HashMap;

use crate::algebra::same_structure;
use crate::error::DifferenceKind;
use crate::model::{Name, Tree, TreeDef};
use crate::path::{Key, Path};

use super::align::{Aligned, align};
use super::{Change, ChangeKind, Diff, Side, Subtree};

impl TreeDef {
    /// What turns this structure into another.
    ///
    /// Elements of sequences of one length are compared by their positions, else so that most are equal; fields and
    /// keys by their names. What is gone under one name and new under another, and nothing else is like it, was
    /// renamed. Time and memory of the distinct structure.
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

impl<L: Clone + PartialEq> Tree<L> {
    /// What turns this tree into another: [`TreeDef::diff`], and the leaves that are not equal.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let old = Tree::of(&vec![("a", 1), ("b", 2), ("c", 3)])?;
    /// let new = Tree::of(&vec![("a", 1), ("c", 4)])?;
    /// let diff = old.diff(&new);
    /// assert_eq!(diff.to_string(), "\
    /// 3 changes
    /// ~ [1].0: \"b\" → \"c\"
    /// ~ [1].1: 2 → 4
    /// - [2]: (\"c\", 3)");
    /// assert_eq!(old.patch(&diff)?, new);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn diff(&self, new: &Tree<L>) -> Diff<Tree<L>> {
        diff(self, new)
    }
}

fn diff<T: Subtree>(old: &T, new: &T) -> Diff<T> {
    let (a, b) = (Side::of(old), Side::of(new));
    let mut comparison = Comparison { changes: Vec::new(), pending: Vec::new() };
    match a.node.options() == b.node.options() {
        true => comparison.pending.push(Pending::Pair(Place::default(), a, b)),
        false => comparison.replaced(Place::default(), DifferenceKind::Options, a, b),
    }
    comparison.run()
}

/// Two nodes to compare, or a change whose turn comes; the next last.
enum Pending<'a, T: Subtree> {
    Pair(Place, Side<'a, T::Leaf>, Side<'a, T::Leaf>),
    Report(Change<T>),
}

/// Where, and for each key how many siblings are meant.
#[derive(Clone, Default)]
struct Place {
    path: Path,
    spans: Vec<usize>,
}

impl Place {
    fn child(&self, key: Key, span: usize) -> Place {
        let mut spans = self.spans.clone();
        spans.push(span);
        Place { path: self.path.child(key), spans }
    }

    fn change<T>(self, kind: ChangeKind<T>) -> Change<T> {
        Change { path: self.path, spans: self.spans, kind }
    }
}

struct Comparison<'a, T: Subtree> {
    changes: Vec<Change<T>>,
    pending: Vec<Pending<'a, T>>,
}

impl<'a, T: Subtree> Comparison<'a, T> {
    fn run(mut self) -> Diff<T> {
        while let Some(next) = self.pending.pop() {
            match next {
                Pending::Pair(place, a, b) => self.compare(place, a, b),
                Pending::Report(change) => self.changes.push(change),
            }
        }
        Diff { changes: self.changes }
    }

    fn replaced(
        &mut self,
        place: Place,
        by: DifferenceKind,
        a: Side<'a, T::Leaf>,
        b: Side<'a, T::Leaf>,
    ) {
        let (old, new) = (T::cut(a.node, a.leaves), T::cut(b.node, b.leaves));
        self.changes.push(place.change(ChangeKind::Replaced { by, old, new }));
    }

    fn compare(&mut self, place: Place, a: Side<'a, T::Leaf>, b: Side<'a, T::Leaf>) {
        if same_structure(a.node, b.node) {
            return self.compare_leaves(&place.path, a, b);
        }
        let (node, other) = (a.node, b.node);
        let by = match () {
            _ if node.kind() != other.kind() => Some(DifferenceKind::Node),
            _ if node.variant() != other.variant() => Some(DifferenceKind::Variant),
            _ if node.static_value() != other.static_value() => Some(DifferenceKind::Static),
            _ => None,
        };
        if let Some(by) = by {
            return self.replaced(place, by, a, b);
        }
        if let (Some(old), Some(new)) = (node.name(), other.name())
            && old != new
        {
            let name = |name: &str| Name::from(name.to_owned());
            let kind = ChangeKind::Retyped { old: name(old), new: name(new) };
            self.changes.push(place.clone().change(kind));
        }
        let below = match node.is_labelled() {
            true => compare_labelled(&place, a, b),
            false => Some(compare_listed(&place, a, b)),
        };
        match below {
            Some(below) => self.pending.extend(below.into_iter().rev()),
            None => self.replaced(place, DifferenceKind::Order, a, b),
        }
    }

    /// Compares the leaves of two equal structures.
    fn compare_leaves(&mut self, path: &Path, a: Side<'a, T::Leaf>, b: Side<'a, T::Leaf>) {
        let pairs = a.below(1).iter().zip(b.below(1));
        for (index, _) in pairs.enumerate().filter(|(_, (old, new))| old != new) {
            let (first, other) = (a.node.first_leaf() + index, b.node.first_leaf() + index);
            let leaf = |side: Side<'a, T::Leaf>, index| side.node.leaf_with_index(index);
            let (Some(old), Some(new)) = (leaf(a, first), leaf(b, other)) else { continue };
            let below = a.node.path_to_leaf(first);
            let path: Path = path.keys().iter().chain(below.keys()).cloned().collect();
            let place = Place { spans: vec![1; path.keys().len()], path };
            self.replaced(place, DifferenceKind::Leaf, a.at(old), b.at(new));
        }
    }
}

/// Children by their positions, or by how most are equal.
fn compare_listed<'a, T: Subtree>(
    place: &Place,
    a: Side<'a, T::Leaf>,
    b: Side<'a, T::Leaf>,
) -> Vec<Pending<'a, T>> {
    let (mut pending, mut added) = (Vec::new(), Vec::new());
    let (mut old, mut new) = (0, 0);
    let key = |side: Side<'a, T::Leaf>, position| {
        side.node.key(position).unwrap_or(Key::Position(position))
    };
    for aligned in align(a, b) {
        match aligned {
            Aligned::Pair(x, y, alike) => {
                let (x, y) = (a.at(x), b.at(y));
                if x.below(alike) != y.below(alike) || !same_structure(x.node, y.node) {
                    pending.push(Pending::Pair(place.child(key(a, old), alike), x, y));
                }
                (old, new) = (old + alike, new + alike);
            }
            Aligned::Removed(x, span) => {
                let removed = ChangeKind::Removed(T::cut(x, a.leaves));
                pending.push(Pending::Report(place.child(key(a, old), span).change(removed)));
                old += span;
            }
            Aligned::Added(y, span) => {
                let kind = ChangeKind::Added { position: new, new: T::cut(y, b.leaves) };
                added.push(Pending::Report(place.child(key(b, new), span).change(kind)));
                new += span;
            }
        }
    }
    pending.extend(added);
    pending
}

/// Children by their fields or keys; nothing, if one stands there twice.
fn compare_labelled<'a, T: Subtree>(
    place: &Place,
    a: Side<'a, T::Leaf>,
    b: Side<'a, T::Leaf>,
) -> Option<Vec<Pending<'a, T>>> {
    let (old, new) = (Labelled::of(a)?, Labelled::of(b)?);
    let missing: Vec<usize> =
        (0..old.keys.len()).filter(|at| !new.places.contains_key(&old.keys[*at])).collect();
    let extra: Vec<usize> =
        (0..new.keys.len()).filter(|at| !old.places.contains_key(&new.keys[*at])).collect();
    let renamed = renamed(&old, &missing, &new, &extra);

    let (mut pending, mut stay) = (Vec::new(), Vec::new());
    for (at, (key, child)) in old.keys.iter().zip(&old.children).enumerate() {
        let here = place.child(key.clone(), 1);
        let to = new.places.get(key).or_else(|| renamed.get(&at)).copied();
        stay.extend(to);
        pending.extend(match to {
            Some(to) if renamed.contains_key(&at) => {
                let to = new.keys[to].clone(); // the place of a key
                Some(Pending::Report(here.change(ChangeKind::Renamed { to })))
            }
            Some(to) => Some(Pending::Pair(here, *child, new.children[to])),
            None => {
                let removed = ChangeKind::Removed(T::cut(child.node, a.leaves));
                Some(Pending::Report(here.change(removed)))
            }
        });
    }
    if !stay.is_sorted() && !a.node.is_sorted_map() {
        stay.sort_unstable();
        let keys = stay.iter().map(|at| new.keys[*at].clone()).collect();
        pending.insert(0, Pending::Report(place.clone().change(ChangeKind::Reordered { keys })));
    }
    let is_new = |at: &usize| !renamed.values().any(|to| to == at);
    pending.extend(extra.into_iter().filter(is_new).map(|position| {
        let node = new.children[position].node;
        let kind = ChangeKind::Added { position, new: T::cut(node, b.leaves) };
        Pending::Report(place.child(new.keys[position].clone(), 1).change(kind))
    }));
    Some(pending)
}

/// The children of a struct or map.
struct Labelled<'a, L> {
    keys: Vec<Key>,
    /// As many as `keys`.
    children: Vec<Side<'a, L>>,
    /// Where each key stands.
    places: HashMap<Key, usize>,
}

impl<'a, L> Labelled<'a, L> {
    /// Nothing, if a field or key stands there twice.
    fn of(side: Side<'a, L>) -> Option<Self> {
        let entries = side.node.entries().map(|(key, child)| (key, side.at(child)));
        let (keys, children): (Vec<Key>, Vec<_>) = entries.unzip();
        let places: HashMap<Key, usize> = keys.iter().cloned().zip(0..).collect();
        (places.len() == side.node.num_children()).then_some(Labelled { keys, children, places })
    }
}

/// Beyond so many fields or keys on a side, none is looked for under another name.
const MOST_RENAMES: usize = 256;

/// Where what is missing stands under another name: what is like it, if just one is and it is like nothing else that is
/// missing.
fn renamed<L: PartialEq>(
    old: &Labelled<'_, L>,
    missing: &[usize],
    new: &Labelled<'_, L>,
    extra: &[usize],
) -> HashMap<usize, usize> {
    if missing.len().max(extra.len()) > MOST_RENAMES {
        return HashMap::new();
    }
    let alike = |from: usize, to: usize| {
        let (a, b) = (old.children[from], new.children[to]);
        a.below(1) == b.below(1) && same_structure(a.node, b.node)
    };
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
