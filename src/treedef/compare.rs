//! Compares two structures from the root down. Lists of differences and diffs are two views of it.
//!
//! [`compare`] visits pairs of nodes in pre-order. A [`View`] decides which properties are compared, how
//! children are paired, and how a difference is stored: as texts, or as the subtrees that differ. It lists
//! all differences, with paths. [`PairWalk`](super::walk::PairWalk) is for operations on two structures: it
//! pairs children by position, lazily, and its caller stops at the first difference. As a view it would
//! need 2.2 times as many instructions, for a vector and keys that nobody reads.

use crate::error::DifferenceKind;
use crate::model::NodeKind;
use crate::path::{Key, Path};
use crate::positions::sorted_positions;
use crate::treedef::node_ref::NodeRef;

/// The differences that a comparison looks for.
pub(crate) trait View<'a> {
    /// A node of one of the two structures, with the data that belongs to it, e.g. its leaves.
    type Compared: Copy + 'a;
    /// A difference without its site.
    type Found;

    /// Compares two nodes. Returns the differences, and the pairs of children to compare next.
    fn compare(
        &mut self,
        site: &Site,
        a: Self::Compared,
        b: Self::Compared,
    ) -> Steps<Self::Compared, Self::Found>;

    fn keep(&mut self, site: &Site, found: Self::Found);

    /// The next sibling of a node, if equal siblings are compared one by one until one pair has no
    /// difference. Otherwise they are compared once.
    fn next_sibling(&self, node: Self::Compared) -> Option<Self::Compared>;

    /// The number of differences so far.
    fn num_found(&self) -> usize;

    /// Whether there are enough differences to stop.
    fn is_full(&self) -> bool;
}

/// The place where two structures are compared.
#[derive(Clone, Default)]
pub(crate) struct Site {
    pub(crate) path: Path,
    /// For each key of the path, the number of equal siblings that the comparison covers, starting
    /// there.
    pub(crate) spans: Vec<usize>,
}

/// The next step: at the site itself, or at a child and its next siblings, with their number.
pub(crate) struct Step<S, F> {
    pub(crate) child: Option<(Key, usize)>,
    pub(crate) task: Task<S, F>,
}

pub(crate) type Steps<S, F> = Vec<Step<S, F>>;

pub(crate) enum Task<S, F> {
    Compare(S, S),
    Keep(F),
}

impl<S, F> Step<S, F> {
    pub(crate) fn here(found: F) -> Self {
        Step { child: None, task: Task::Keep(found) }
    }

    pub(crate) fn found(key: Key, span: usize, found: F) -> Self {
        Step { child: Some((key, span)), task: Task::Keep(found) }
    }

    pub(crate) fn pair(key: Key, span: usize, a: S, b: S) -> Self {
        Step { child: Some((key, span)), task: Task::Compare(a, b) }
    }
}

/// A step that is pending, and the length of the path above it.
struct Pending<S, F> {
    above: usize,
    step: Step<S, F>,
    /// The number of differences before an equal sibling of the two nodes was compared.
    before: Option<usize>,
}

/// Compares two structures by their roots.
pub(crate) fn compare<'a, V: View<'a>>(view: &mut V, a: V::Compared, b: V::Compared) {
    compare_at(view, Site::default(), a, b);
}

/// Compares two subtrees.
pub(crate) fn compare_at<'a, V: View<'a>>(
    view: &mut V,
    mut site: Site,
    a: V::Compared,
    b: V::Compared,
) {
    // In pre-order. The next is last.
    let root = Step { child: None, task: Task::Compare(a, b) };
    let mut pending = vec![Pending { above: site.spans.len(), step: root, before: None }];
    while let Some(Pending { above, step: Step { child, task }, before }) = pending.pop() {
        if view.is_full() {
            return;
        }
        if before == Some(view.num_found()) {
            continue; // what brought no difference once brings none again
        }
        site.path.0.truncate(above);
        site.spans.truncate(above);
        if let Some((key, mut span)) = child {
            if let Task::Compare(a, b) = task
                && span > 1
                && let Some((a, b)) = view.next_sibling(a).zip(view.next_sibling(b))
            {
                let mut next = key.clone();
                next.advance(1);
                let step = Step::pair(next, span - 1, a, b);
                pending.push(Pending { above, step, before: Some(view.num_found()) });
                span = 1;
            }
            site.enter(key, span);
        }
        match task {
            Task::Keep(found) => view.keep(&site, found),
            Task::Compare(a, b) => {
                let (next, above) = (view.compare(&site, a, b), site.spans.len());
                let next = next.into_iter().rev();
                pending.extend(next.map(|step| Pending { above, step, before: None }));
            }
        }
    }
}

impl Site {
    pub(crate) fn enter(&mut self, key: Key, span: usize) {
        self.path.push(key);
        self.spans.push(span);
    }

    #[cfg(feature = "diff")]
    pub(crate) fn leave(&mut self) {
        self.path.pop();
        self.spans.pop();
    }
}

/// Which properties of two nodes are compared, besides kind and variant.
#[derive(Clone, Copy)]
pub(crate) struct Heads {
    /// The names of types.
    pub(crate) names: bool,
    /// The values of statics.
    pub(crate) statics: bool,
    /// A sequence differs from a tuple, and a map from a struct.
    pub(crate) exact: bool,
}

impl Heads {
    pub(crate) const EQUAL: Heads = Heads { names: true, statics: true, exact: true };

    /// How two nodes differ, apart from their children. Names come last, because the children of
    /// two nodes whose names differ can be compared nevertheless.
    pub(crate) fn difference(self, a: NodeRef<'_>, b: NodeRef<'_>) -> Option<DifferenceKind> {
        if !self.same_kind(a.kind(), b.kind()) {
            Some(DifferenceKind::Node)
        } else if a.variant() != b.variant() {
            Some(DifferenceKind::Variant)
        } else if self.statics && a.static_value() != b.static_value() {
            Some(DifferenceKind::Static)
        } else if self.names && a.name() != b.name() {
            Some(DifferenceKind::Name)
        } else {
            None
        }
    }

    fn same_kind(self, a: NodeKind, b: NodeKind) -> bool {
        use NodeKind as Is;
        let class = |kind| match kind {
            Is::Tuple | Is::TupleStruct => Is::Seq,
            Is::Struct => Is::Map,
            Is::UnitStruct => Is::Unit,
            other => other,
        };
        a == b || !self.exact && class(a) == class(b)
    }
}

/// A field or an entry that one or both of two nodes have. For the second node, with its position.
#[derive(Clone, Copy)]
pub(crate) enum Labelled<'a, 'b> {
    First(NodeRef<'a>),
    Second(usize, NodeRef<'b>),
    Both(
        NodeRef<'a>,
        #[cfg_attr(not(feature = "diff"), allow(dead_code, reason = "only a diff reads it"))] usize,
        NodeRef<'b>,
    ),
}

/// Pairs the children of two nodes whose labels are equal. Children that only `b` has are last.
///
/// If a map has a key twice, the first is paired with the first, and so on.
pub(crate) fn by_label<'a, 'b>(
    a: NodeRef<'a>,
    b: NodeRef<'b>,
    label: &dyn Fn(&Key) -> Key,
) -> Vec<(Key, Labelled<'a, 'b>)> {
    let in_order = |node: NodeRef<'_>| {
        let count = node.num_children();
        let labels: Vec<Key> =
            (0..count).map(|position| label(&node.child_key(position))).collect();
        let order = sorted_positions(count, &mut |a, b| labels[a].cmp(&labels[b]));
        (labels, order)
    };
    let ((labels, firsts), (others, seconds)) = (in_order(a), in_order(b));
    // The child of `b` for each of `a`, and the reverse.
    let mut pairs = vec![None; labels.len()];
    let mut is_alone = vec![true; others.len()];
    let mut next = seconds.as_slice();
    for first in firsts {
        while let [second, rest @ ..] = next
            && others[*second] <= labels[first]
        {
            next = rest;
            if others[*second] == labels[first] {
                (pairs[first], is_alone[*second]) = (Some(*second), false);
                break;
            }
        }
    }
    let there: Vec<NodeRef<'b>> = b.children().collect();
    let mut children = Vec::with_capacity(labels.len());
    for (first, (key, child)) in a.entries().enumerate() {
        children.push((
            key,
            match pairs[first] {
                Some(second) => Labelled::Both(child, second, there[second]),
                None => Labelled::First(child),
            },
        ));
    }
    for (second, (key, child)) in b.entries().enumerate() {
        if is_alone[second] {
            children.push((key, Labelled::Second(second, child)));
        }
    }
    children
}

/// Whether one of two nodes has leaves.
pub(crate) fn have_leaves(a: NodeRef<'_>, b: NodeRef<'_>) -> bool {
    a.num_leaves() > 0 || b.num_leaves() > 0
}
