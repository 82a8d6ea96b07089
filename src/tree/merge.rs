//! Splits a tree by leaves, without nodes that become empty, and merges such parts.
//!
//! The idea is haiku's `data_structures.partition` and `merge`, which support two levels of dicts.

use std::ops::Range;
use std::sync::Arc;

use crate::bug::{OrBug, bug};
use crate::error::{Cause, Error, Result};
use crate::model::{Labels, NodeData, NodeKind, Tree, TreeDef};
use crate::path::{Key, Path};
use crate::treedef::compare::{self, Heads, Labelled, have_leaves};
use crate::treedef::difference::mismatch_at;
use crate::treedef::node_ref::{NodeRef, Overlap};

use crate::positions::{destinations, permute, sorted_positions};
use crate::treedef::edit::EditWalk;
use crate::treedef::insertion::insertion_order;
use crate::treedef::pairs::{equal_subtrees, expect_agreement, in_same_order};
use crate::treedef::parts::PartsBuilder;
use crate::treedef::walk::Event;

use super::choice::Choice;

impl<L> Tree<L> {
    /// Keeps the leaves that `kept` chooses.
    ///
    /// A node that loses all its leaves is removed with its field or key. A node that never had
    /// leaves stays if its parent stays. Elements after a removed element move up.
    ///
    /// # When to use which
    ///
    /// If you also need the other leaves, use [`split`](Self::split), which fails if one of the two parts
    /// is not a tree, e.g. if all leaves below a newtype are kept. If every leaf has to keep its place, use
    /// [`partition`](Self::partition), where all three are compared.
    ///
    /// # Errors
    ///
    /// As [`Choice`]. Also when no leaf remains and the root is a leaf or a newtype; when there are
    /// more nodes than [`Limits::max_work`](crate::Limits::max_work) allows.
    ///
    /// ```
    /// use treedef::{Leaf, Tree};
    ///
    /// let tree = Tree::of(&(1, ["a", "b"], Some(2.5)))?;
    /// let numbers = tree.filter(|_: &_, leaf: &Leaf| leaf.kind().is_number())?;
    /// assert_eq!(numbers.to_string(), "(1, Some(2.5))");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn filter(self, kept: impl Choice<L>) -> Result<Tree<L>> {
        let stays = self.chosen(kept)?;
        let treedef = thinned(&self.treedef, &stays, self.leaves_in_memory())?;
        let leaves = self.leaves.into_iter().zip(stays);
        let kept = leaves.filter_map(|(leaf, stays)| stays.then_some(leaf)).collect();
        Ok(Tree::from_parts(treedef, kept))
    }

    /// Two trees without holes: the leaves that `first` chooses, and the others.
    ///
    /// [`merge`](Self::merge) puts them together again, perhaps with fields and entries in another
    /// order. It cannot if elements of a sequence or tuple were removed, if the root is a `Some`,
    /// or if a map has a key twice.
    ///
    /// # When to use which
    ///
    /// If you need only one part, use [`filter`](Self::filter). If leaves have to keep their places, or the
    /// elements of a sequence are divided, use [`partition`](Self::partition), where all three are
    /// compared.
    ///
    /// # Errors
    ///
    /// As [`filter`](Self::filter), of both parts.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree =
    ///     Tree::new(r#"{"linear": {"b": *, "w": *}, "out": {"w": *}}"#.parse()?, vec![2, 1, 3])?;
    /// let (weights, others) = tree.clone().split("**.w")?;
    /// assert_eq!(weights.to_string(), r#"{"linear": {"w": 1}, "out": {"w": 3}}"#);
    /// assert_eq!(others.to_string(), r#"{"linear": {"b": 2}}"#);
    /// assert_eq!(Tree::merge([weights, others])?, tree);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn split(self, first: impl Choice<L>) -> Result<(Tree<L>, Tree<L>)> {
        let chosen = self.chosen(first)?;
        let part = |yes: bool| usize::from(!yes);
        let mut parts = self.parted(2, chosen.into_iter().map(part).collect())?.into_iter();
        match (parts.next(), parts.next()) {
            (Some(yes), Some(no)) => Ok((yes, no)),
            _ => Err(bug!("two parts are not two")),
        }
    }

    /// Splits the tree into `parts` trees; `part` returns the index of the tree for each leaf. With
    /// two parts it is [`split`](Self::split).
    ///
    /// # Errors
    ///
    /// As [`filter`](Self::filter). Also when `part` returns an index that is not less than
    /// `parts`; the error has the path. Also when visiting every node for each part exceeds
    /// [`Limits::max_work`](crate::Limits::max_work).
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::new(r#"{"a": *, "b": {"c": *}, "d": *}"#.parse()?, vec![0, 1, 0])?;
    /// let parts = tree.split_into(3, |_, leaf| *leaf)?;
    /// let printed: Vec<String> = parts.iter().map(Tree::to_string).collect();
    /// assert_eq!(printed, [r#"{"a": 0, "d": 0}"#, r#"{"b": {"c": 1}}"#, "{}"]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn split_into(
        self,
        parts: usize,
        mut part: impl FnMut(&Path, &L) -> usize,
    ) -> Result<Vec<Tree<L>>> {
        self.expect_parts(parts)?;
        let mut chosen = Vec::with_capacity(self.leaves.len());
        for (path, leaf) in self.iter() {
            let number = part(&path, leaf);
            if number >= parts {
                let none = format_args!("there is no part {number} among {parts}");
                return Err(Error::argument(none).at(path));
            }
            chosen.push(number);
        }
        self.parted(parts, chosen)
    }

    /// Each part visits the whole structure, and may be a copy of it.
    fn expect_parts(&self, parts: usize) -> Result<()> {
        let looked_at = self.treedef.root().work().saturating_mul(parts);
        self.treedef.limits.expect_work(looked_at, self.leaves_in_memory())
    }

    /// The parts. `chosen` has the number of the part for each leaf.
    fn parted(self, parts: usize, chosen: Vec<usize>) -> Result<Vec<Tree<L>>> {
        self.expect_parts(parts)?;
        let there = self.leaves_in_memory();
        let mut leaves: Vec<Vec<L>> = (0..parts).map(|_| Vec::new()).collect();
        for (leaf, number) in self.leaves.into_iter().zip(&chosen) {
            leaves[*number].push(leaf); // less than `parts`, as checked before
        }
        let tree = |(number, leaves)| {
            let stays: Vec<bool> = chosen.iter().map(|chosen| *chosen == number).collect();
            Ok(Tree::from_parts(thinned(&self.treedef, &stays, there)?, leaves))
        };
        leaves.into_iter().enumerate().map(tree).collect()
    }

    /// Merges the fields and entries of all `parts` into one tree.
    ///
    /// Elements and positions are merged by index, so their number must be the same in all parts. Fields
    /// are in the order of their first occurrence. Entries are sorted by their keys, and their insertion
    /// order is also the order of their first occurrence.
    ///
    /// # When to use which
    ///
    /// `merge` puts parts together that have no leaf in common. [`patch`](Self::patch) applies changes,
    /// which may replace and remove leaves, and checks the old leaves. [`migrate`](Self::migrate) reads an
    /// older tree into a type; the type picks the parts that it knows and fills the rest with its defaults.
    ///
    /// # Errors
    ///
    /// Returns an error when `parts` is empty; when two parts have different nodes, or both a leaf,
    /// in one place. The error has the path.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let a = Tree::new(r#"{"l": {"w": *}}"#.parse()?, vec![1])?;
    /// let b = Tree::new(r#"{"l": {"b": *}, "m": *}"#.parse()?, vec![2, 3])?;
    /// let merged = Tree::merge([a.clone(), b])?;
    /// assert_eq!(merged.to_string(), r#"{"l": {"b": 2, "w": 1}, "m": 3}"#);
    ///
    /// let error = Tree::merge([a.clone(), a]).unwrap_err();
    /// assert_eq!(error.to_string(), r#"two parts have this leaf at `["l"]["w"]`"#);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn merge(parts: impl IntoIterator<Item = Tree<L>>) -> Result<Tree<L>> {
        let mut parts = parts.into_iter();
        let first = parts.next().ok_or(Cause::Nothing("there are no parts to merge"))?;
        parts.try_fold(first, merged)
    }
}

/// The structure with only the kept leaves, without nodes that lose all their leaves.
fn thinned(treedef: &TreeDef, stays: &[bool], in_memory: usize) -> Result<TreeDef> {
    // The number of kept leaves before each leaf, and at the end of all leaves.
    let mut total = 0;
    let mut before = vec![0];
    before.extend(stays.iter().map(|stays| {
        total += usize::from(*stays);
        total
    }));
    let kept = |range: Range<usize>| {
        let count = |index| before.get(index).copied().or_bug();
        count(range.end) - count(range.start)
    };
    let mut walk = EditWalk::singly(treedef, in_memory)?;
    while let Some(met) = walk.step() {
        let Event::Enter { node, .. } = met else {
            walk.leave()?;
            continue;
        };
        match kept(node.leaf_range()) {
            all if all == node.num_leaves() => walk.keep()?,
            0 if !walk.path().is_root() || node.kind() == NodeKind::Leaf => walk.remove()?,
            _ => walk.enter()?,
        }
    }
    walk.finish()
}

/// Two nodes that are merged into one, and the children that remain.
struct MergedNode<'a> {
    labels: Labels,
    order: Option<Arc<[usize]>>,
    children: MergedChildren<'a>,
}

/// The subtree of one or both trees in a place. For runs without leaves, the number is the number
/// of siblings.
enum MergeSource<'a> {
    First(NodeRef<'a>),
    Second(NodeRef<'a>),
    Both(NodeRef<'a>, NodeRef<'a>, usize),
}

fn merged<L>(first: Tree<L>, second: Tree<L>) -> Result<Tree<L>> {
    expect_agreement(&first.treedef, &second.treedef)?;
    let [mut a_leaves, mut b_leaves] = [first.leaves, second.leaves]
        .map(|leaves| leaves.into_iter().map(Some).collect::<Vec<_>>());
    let mut leaves = Vec::with_capacity(a_leaves.len().saturating_add(b_leaves.len()));
    let mut move_from = |from: &mut Vec<Option<L>>, node: NodeRef<'_>| {
        let below = from.get_mut(node.leaf_range()).or_bug();
        leaves.extend(below.iter_mut().filter_map(Option::take));
    };
    let mut builder = PartsBuilder::onto(first.treedef.root(), first.treedef.limits);
    let mut path = Path::root();
    let roots = (None, MergeSource::Both(first.treedef.root(), second.treedef.root(), 1));
    builder.assemble(roots, |builder, depth, (key, part)| {
        path.0.truncate(depth.saturating_sub(1)); // keeps the path of the parent
        path.0.extend(key);
        match part {
            MergeSource::First(node) => {
                move_from(&mut a_leaves, node);
                builder.insert(node, 1)?;
            }
            MergeSource::Second(node) => {
                move_from(&mut b_leaves, node);
                builder.insert(node, 1)?;
            }
            MergeSource::Both(a, b, repeat) if !have_leaves(a, b) && equal_subtrees(a, b) => {
                builder.insert(a, repeat)?;
            }
            MergeSource::Both(a, b, repeat) => {
                let MergedNode { labels, order, children } = MergedNode::of(a, b, &path)?;
                let data = a.data().map(|data| NodeData { labels, ..data.clone() });
                builder.open_new(a.kind(), data.as_ref().map(NodeData::as_ref), repeat);
                builder.set_insertion_order(order);
                return Ok(Some(children.into_iter()));
            }
        }
        Ok(None)
    })?;
    Ok(Tree::from_parts(builder.finish()?, leaves))
}

impl<'a> MergedNode<'a> {
    fn of(a: NodeRef<'a>, b: NodeRef<'a>, path: &Path) -> Result<Self> {
        let is_leaf = |node: NodeRef<'_>| node.kind() == NodeKind::Leaf;
        if is_leaf(a) && is_leaf(b) {
            let twice = Error::argument("two parts have this leaf");
            return Err(twice.at(path.clone()));
        }
        let labelled = a.is_labelled();
        let same = Heads::EQUAL.difference(a, b).is_none();
        if !same || !labelled && a.num_children() != b.num_children() {
            return Err(mismatch_at(path.clone(), a, b));
        }
        let (children, order) =
            if labelled { merged_by_label(a, b) } else { (merged_by_position(a, b), None) };
        let (mut keys, mut fields) = (Vec::new(), Vec::new());
        for (key, _) in &children {
            keys.extend(key.as_ref().and_then(Key::entry).cloned());
            fields.extend(key.as_ref().and_then(Key::field).cloned());
        }
        let labels = match a.kind() {
            NodeKind::Map => Labels::Keys(keys.into()),
            _ if labelled => Labels::Fields(fields.into()),
            _ => Labels::None,
        };
        Ok(MergedNode { labels, order, children })
    }
}

type MergedChildren<'a> = Vec<(Option<Key>, MergeSource<'a>)>;

/// Several equal pairs are one item only if the insertion orders of all their maps are equal.
fn merged_by_position<'a>(a: NodeRef<'a>, b: NodeRef<'a>) -> MergedChildren<'a> {
    let (mut pairs, mut children) = (a.overlaps(b), Vec::new());
    let most = |x, y| if have_leaves(x, y) { 1 } else { in_same_order(x, y) };
    while let Some(Overlap { position, a: x, b: y, count }) = pairs.next_up_to(most) {
        children.push((a.key(position), MergeSource::Both(x, y, count)));
    }
    children
}

/// The children of both, and the insertion order of the entries of a map: first the entries of `a`.
fn merged_by_label<'a>(
    a: NodeRef<'a>,
    b: NodeRef<'a>,
) -> (MergedChildren<'a>, Option<Arc<[usize]>>) {
    let merged = |key: Key, child: Labelled<'a, 'a>| match child {
        Labelled::Both(a, _, b) => (Some(key), MergeSource::Both(a, b, 1)),
        Labelled::First(a) => (Some(key), MergeSource::First(a)),
        Labelled::Second(_, b) => (Some(key), MergeSource::Second(b)),
    };
    let children = compare::by_label(a, b, &Key::clone).into_iter();
    if !a.is_sorted_map() {
        return (children.map(|(key, child)| merged(key, child)).collect(), None);
    }
    let (first, second) = (a.insertion_ranks(), b.insertion_ranks());
    let rank = |at: usize, child: &Labelled<'_, '_>| match child {
        Labelled::Second(position, _) => first.len() + second.get(*position).copied().or_bug(),
        Labelled::First(_) | Labelled::Both(..) => first.get(at).copied().or_bug(),
    };
    let (mut ranks, mut merged_children) = (Vec::new(), Vec::new());
    for (at, (key, child)) in children.enumerate() {
        ranks.push(rank(at, &child));
        merged_children.push(merged(key, child));
    }
    let entry = |at: usize| merged_children[at].0.as_ref().and_then(Key::entry);
    let sorted = sorted_positions(ranks.len(), &mut |a, b| entry(a).cmp(&entry(b)));
    permute(destinations(&sorted), |a, b| {
        ranks.swap(a, b);
        merged_children.swap(a, b);
    });
    (merged_children, insertion_order(&ranks))
}
