//! Finds the places where two trees or structures differ.

use std::borrow::Cow;

use crate::error::{Difference, DifferenceKind, Error, Result};
use crate::leaf::float::{Half, widen};
use crate::message::{brief, counted, joined};
use crate::model::{Array, Leaf, NodeKind, Tree, TreeDef, Value};
use crate::path::{Key, Path};
use crate::treedef::compare::{
    Heads, Labelled, Site, Step, Steps, Task, View, by_label, compare, have_leaves,
};
use crate::treedef::node_ref::{NodeRef, Overlap};

/// A node, with the leaves of its tree if they are compared.
#[derive(Clone, Copy)]
struct ComparedNode<'a> {
    node: NodeRef<'a>,
    leaves: Option<ComparedLeaves<'a>>,
    /// Whether a `Some` may be around it on one side only: inside a static or an opaque leaf of a tree
    /// with `none_is_leaf`, where `None` is a node.
    any_some: bool,
}

/// The leaves of a tree, or the scalars of a value.
#[derive(Clone, Copy)]
enum ComparedLeaves<'a> {
    Tree(&'a [Leaf]),
    Value(&'a Value),
}

/// A difference without its path: its kind, what was expected, and what was found.
type Found = (DifferenceKind, String, String);

/// The view of a [comparison](compare) that lists differences as texts.
struct Differences {
    heads: Heads,
    /// Whether an expected leaf matches any subtree.
    prefix: bool,
    /// Whether values are compared, and not only structures.
    with_leaves: bool,
    /// Whether an `f64` equals the `f32` that it was widened from.
    widened: bool,
    found: Vec<Difference>,
}

/// All places where `found` differs from `expected`, including leaves, in the order of `expected`.
///
/// The names of types are ignored, and so is whether a value is static or an opaque leaf. If two
/// nodes have different kinds, their children are not compared: that is one difference.
pub(crate) fn tree_differences(
    expected: &Tree<Leaf>,
    found: &Tree<Leaf>,
    widened: bool,
) -> Vec<Difference> {
    Differences { widened, ..Differences::of_values() }.of_trees(expected, found)
}

/// All places where `found` differs from `expected`, without leaves. Of equal siblings that differ
/// in the same way, only the first is reported.
#[cold]
pub(crate) fn structure_differences(
    expected: &TreeDef,
    found: &TreeDef,
    ignore_statics: bool,
) -> Vec<Difference> {
    let heads = Heads { statics: !ignore_statics, ..Heads::EQUAL };
    Differences { heads, ..Differences::of_structures() }.between(expected.root(), found.root())
}

/// All places where `prefix` is not a prefix of `full`. Statics are compared on request.
#[cold]
pub(crate) fn prefix_differences(
    prefix: NodeRef<'_>,
    full: NodeRef<'_>,
    statics: bool,
) -> Vec<Difference> {
    let heads = Heads { statics, ..Heads::EQUAL };
    Differences { heads, prefix: true, ..Differences::of_structures() }.between(prefix, full)
}

/// All places where `found` differs from `expected`, except in kinds of containers and type names.
#[cold]
pub(crate) fn loose_differences(expected: &TreeDef, found: &TreeDef) -> Vec<Difference> {
    let heads = Heads { names: false, exact: false, ..Heads::EQUAL };
    Differences { heads, ..Differences::of_structures() }.between(expected.root(), found.root())
}

/// Returns an error if there are differences.
pub(crate) fn expect_none(differences: Vec<Difference>) -> Result<()> {
    if differences.is_empty() { Ok(()) } else { Err(Error::structure(differences)) }
}

/// The error for two nodes that differ, without comparing their children.
#[cold]
pub(crate) fn mismatch_at(path: Path, expected: NodeRef<'_>, found: NodeRef<'_>) -> Error {
    if let Some(kind) = Heads::EQUAL.difference(expected, found) {
        return Error::structure(vec![differ(path, kind, quoted(expected), quoted(found))]);
    }
    let steps =
        Differences::of_structures().children(ComparedNode::of(expected), ComparedNode::of(found));
    let kept = |Step { child, task }| match task {
        Task::Keep((kind, expected, found)) => {
            let path = child.map_or_else(|| path.clone(), |(key, _)| path.child(key));
            Some(differ(path, kind, expected, found))
        }
        Task::Compare(..) => None,
    };
    Error::structure(steps.into_iter().filter_map(kept).collect())
}

/// The error for two nodes that differ in themselves or below.
#[cold]
pub(crate) fn subtree_mismatch(path: &Path, expected: NodeRef<'_>, found: NodeRef<'_>) -> Error {
    let mut differences = Differences::of_structures().between(expected, found);
    differences.iter_mut().for_each(|below| below.path = path.join(&below.path));
    Error::structure(differences)
}

/// The maximum number of listed differences between structures. Small ones may have 2⁶⁰.
pub(crate) const MOST_DIFFERENCES: usize = 1 << 12;

impl Differences {
    fn of_structures() -> Self {
        Differences {
            heads: Heads::EQUAL,
            prefix: false,
            with_leaves: false,
            widened: false,
            found: Vec::new(),
        }
    }

    fn of_values() -> Self {
        let heads = Heads { names: false, ..Heads::EQUAL };
        Differences { heads, with_leaves: true, ..Differences::of_structures() }
    }

    fn between(mut self, expected: NodeRef<'_>, found: NodeRef<'_>) -> Vec<Difference> {
        compare(&mut self, ComparedNode::of(expected), ComparedNode::of(found));
        self.found
    }

    fn of_trees(mut self, a: &Tree<Leaf>, b: &Tree<Leaf>) -> Vec<Difference> {
        fn side(tree: &Tree<Leaf>) -> ComparedNode<'_> {
            let leaves = Some(ComparedLeaves::Tree(&tree.leaves));
            ComparedNode { leaves, ..ComparedNode::of(tree.treedef.root()) }
        }
        compare(&mut self, side(a), side(b));
        self.found
    }

    /// The values to compare at two nodes, or `None` if they are equal.
    fn seen<'a>(
        &self,
        mut a: ComparedNode<'a>,
        mut b: ComparedNode<'a>,
    ) -> Option<(ComparedNode<'a>, ComparedNode<'a>)> {
        loop {
            (a, b) = (a.seen(), b.seen());
            if a.is_none() && b.is_none() || self.prefix && a.node.is_leaf() {
                return None;
            }
            let Some(inside) = without_some(a, b) else { return Some((a, b)) };
            (a, b) = inside;
        }
    }

    fn different_leaves(&self, a: ComparedNode<'_>, b: ComparedNode<'_>) -> Option<Found> {
        self.difference(&*a.leaf()?, &*b.leaf()?)
    }

    /// The comparison of a float with the half that it was made from: see
    /// [`ArrayRule::Half`](crate::ArrayRule::Half).
    fn half(&self, a: ComparedNode<'_>, b: ComparedNode<'_>) -> Option<Option<Found>> {
        Some(self.difference(&*a.leaf()?, &b.half()?))
    }

    fn difference(&self, expected: &Leaf, found: &Leaf) -> Option<Found> {
        let same = expected == found || self.widened && is_widened(expected, found);
        (!same).then(|| (DifferenceKind::Leaf, quoted_leaf(expected), quoted_leaf(found)))
    }

    fn children<'a>(
        &self,
        a: ComparedNode<'a>,
        b: ComparedNode<'a>,
    ) -> Steps<ComparedNode<'a>, Found> {
        if a.node.is_labelled() { self.labelled(a, b) } else { self.listed(a, b) }
    }

    /// Compares children by their fields or keys.
    fn labelled<'a>(
        &self,
        a: ComparedNode<'a>,
        b: ComparedNode<'a>,
    ) -> Steps<ComparedNode<'a>, Found> {
        let nothing = || "nothing".to_owned();
        let label = |key: &Key| if self.heads.exact { key.clone() } else { key.form() };
        let children = by_label(a.node, b.node, &label);
        let mut steps = Vec::with_capacity(children.len());
        let matched = children.iter().all(|(_, child)| matches!(child, Labelled::Both(..)));
        let in_order = !self.heads.exact || a.node.same_labels(b.node);
        if matched && !in_order && !self.with_leaves {
            let (expected, found) = (quoted_labels(a.node), quoted_labels(b.node));
            steps.push(Step::here((DifferenceKind::Order, expected, found)));
        }
        steps.extend(children.into_iter().map(|(key, child)| match child {
            Labelled::Both(child, _, other) => Step::pair(key, 1, a.child(child), b.child(other)),
            Labelled::First(child) => {
                Step::found(key, 1, (DifferenceKind::Missing, quoted(child), nothing()))
            }
            Labelled::Second(_, other) => {
                Step::found(key, 1, (DifferenceKind::Extra, nothing(), quoted(other)))
            }
        }));
        steps
    }

    /// Compares children by position.
    fn listed<'a>(
        &self,
        a: ComparedNode<'a>,
        b: ComparedNode<'a>,
    ) -> Steps<ComparedNode<'a>, Found> {
        let same = a.node.num_children() == b.node.num_children();
        let length = || (DifferenceKind::Length, children(a.node), children(b.node));
        let length = (!same).then(|| Step::here(length()));
        let mut steps: Steps<_, _> = length.into_iter().collect();
        let mut pairs = a.node.overlaps(b.node);
        // If leaves are compared, each pair with leaves is visited on its own.
        let most = |a, b, _| if self.with_leaves && have_leaves(a, b) { 1 } else { usize::MAX };
        while let Some(Overlap { position, a: child, b: other, count }) = pairs.next_up_to(most) {
            let key = a.node.child_key(position);
            steps.push(Step::pair(key, count, a.child(child), b.child(other)));
        }
        steps
    }
}

/// The node inside a `Some` that only one side has, with the node of the other side.
fn without_some<'a>(
    a: ComparedNode<'a>,
    b: ComparedNode<'a>,
) -> Option<(ComparedNode<'a>, ComparedNode<'a>)> {
    if !a.any_some && !b.any_some {
        return None;
    }
    match (a.node.kind(), b.node.kind()) {
        (NodeKind::Some, NodeKind::Some) => None,
        (NodeKind::Some, _) => Some((a.child(a.node.child(0)?), b)),
        (_, NodeKind::Some) => Some((a, b.child(b.node.child(0)?))),
        _ => None,
    }
}

impl<'a> View<'a> for Differences {
    type Compared = ComparedNode<'a>;
    type Found = Found;

    fn compare(
        &mut self,
        _site: &Site,
        a: ComparedNode<'a>,
        b: ComparedNode<'a>,
    ) -> Steps<ComparedNode<'a>, Found> {
        let Some((a, b)) = self.seen(a, b) else { return Vec::new() };
        if let Some(found) = self.half(a, b) {
            return found.into_iter().map(Step::here).collect();
        }
        let head = self.heads.difference(a.node, b.node);
        let found = head.map(|kind| (kind, quoted(a.node), quoted(b.node)));
        let mut steps: Steps<ComparedNode<'a>, Found> = found.into_iter().map(Step::here).collect();
        match a.node.kind() {
            _ if head.is_some_and(|kind| kind != DifferenceKind::Name) => {}
            NodeKind::Leaf => steps.extend(self.different_leaves(a, b).map(Step::here)),
            _ => steps.extend(self.children(a, b)),
        }
        steps
    }

    fn keep(&mut self, site: &Site, (kind, expected, found): Found) {
        self.found.push(differ(site.path.clone(), kind, expected, found));
    }

    fn next_sibling(&self, node: ComparedNode<'a>) -> Option<ComparedNode<'a>> {
        self.with_leaves.then(|| node.child(node.node.later(1)))
    }

    fn num_found(&self) -> usize {
        self.found.len()
    }

    fn is_full(&self) -> bool {
        !self.with_leaves && self.found.len() >= MOST_DIFFERENCES
    }
}

impl<'a> ComparedNode<'a> {
    fn of(node: NodeRef<'a>) -> Self {
        ComparedNode { node, leaves: None, any_some: false }
    }

    fn leaf(self) -> Option<Cow<'a, Leaf>> {
        let index = Some(self.node.first_leaf()).filter(|_| self.node.is_leaf())?;
        match self.leaves? {
            ComparedLeaves::Tree(leaves) => leaves.get(index).map(Cow::Borrowed),
            ComparedLeaves::Value(value) => value.scalar(index).map(|leaf| Cow::Owned(leaf.into())),
        }
    }

    /// Returns the value inside a static or an opaque leaf. If leaves are compared, it does not
    /// matter whether a value is static or a leaf.
    fn seen(self) -> Self {
        let value = match self.leaf() {
            Some(Cow::Borrowed(Leaf::Opaque(value))) => Some(&**value),
            _ => self.node.static_value().filter(|_| self.leaves.is_some()),
        };
        match value {
            Some(value) => ComparedNode {
                node: value.root(),
                leaves: Some(ComparedLeaves::Value(value)),
                any_some: self.any_some || self.node.options().none_is_leaf,
            },
            None => self,
        }
    }

    /// The float whose bits are in this newtype of the crate `half`.
    fn half(self) -> Option<Leaf> {
        let named = self.node.name().and_then(Half::named);
        let half = named.filter(|_| self.node.kind() == NodeKind::NewtypeStruct)?;
        match *self.child(self.node.child(0)?).leaf()? {
            Leaf::U16(bits) => Some(Leaf::F32(half.widen(bits))),
            _ => None,
        }
    }

    /// Whether this is `None`, as a node or as a leaf.
    fn is_none(self) -> bool {
        self.node.kind() == NodeKind::None || self.leaf().as_deref() == Some(&Leaf::None)
    }

    fn child(self, node: NodeRef<'a>) -> Self {
        ComparedNode { node, ..self }
    }
}

/// An `f32` that was flattened into `f64` leaves.
pub(crate) fn is_widened(wide: &Leaf, narrow: &Leaf) -> bool {
    match (wide, narrow) {
        (Leaf::F64(wide), Leaf::F32(narrow)) => wide.to_bits() == widen(*narrow).to_bits(),
        _ => false,
    }
}

fn differ(path: Path, kind: DifferenceKind, expected: String, found: String) -> Difference {
    Difference { path, kind, expected, found }
}

pub(crate) fn quoted(node: NodeRef<'_>) -> String {
    format!("`{}`", node.brief())
}

fn quoted_labels(node: NodeRef<'_>) -> String {
    format!("`{}`", joined(node.entries().map(|(key, _)| key), "`, `"))
}

fn children(node: NodeRef<'_>) -> String {
    counted(node.num_children(), "child", "children")
}

/// The literal of a leaf, cut off if it is long. A long array is its type, shape and statistics.
pub(crate) fn quoted_leaf(leaf: &Leaf) -> String {
    let words = leaf.as_array().and_then(Array::in_few_words);
    format!("`{}`", words.unwrap_or_else(|| brief(leaf)))
}
