//! Visits two structures in parallel, where one is a prefix of the other.

use crate::error::Result;
use crate::model::{NodeKind, TreeDef};
use crate::treedef::difference::{
    expect_none, options_mismatch, prefix_differences, structure_differences, structure_mismatch,
};
use crate::treedef::node_ref::{NodeRef, Overlaps};

/// Whether two nodes are equal, apart from everything below them.
pub(crate) fn same_head(a: NodeRef<'_>, b: NodeRef<'_>) -> bool {
    a.kind() == b.kind() && a.num_children() == b.num_children() && a.data() == b.data()
}

/// Whether two subtrees are equal.
pub(crate) fn same_structure(a: NodeRef<'_>, b: NodeRef<'_>) -> bool {
    a.num_leaves() == b.num_leaves()
        && a.subtree().len() == b.subtree().len()
        && in_step(a, b, |_, subtree| subtree.kind() == NodeKind::Leaf)
}

/// Visits two structures in parallel, down to the leaves of `prefix`. Equal pairs are visited once.
///
/// `at_leaf` gets each leaf of `prefix` and the subtree at its place. Returns `false` when the
/// structures differ above the leaves, or when `at_leaf` returns `false`.
pub(crate) fn in_step<'a, 'b>(
    prefix: NodeRef<'a>,
    full: NodeRef<'b>,
    mut at_leaf: impl FnMut(NodeRef<'a>, NodeRef<'b>) -> bool,
) -> bool {
    let mut open = Vec::new();
    let mut next = Some((prefix, full));
    loop {
        match next {
            Some((leaf, subtree)) if leaf.kind() == NodeKind::Leaf => {
                match at_leaf(leaf, subtree) {
                    true => {}
                    false => return false,
                }
            }
            Some((a, b)) if same_head(a, b) => open.push(a.overlaps(b)),
            Some(_) => return false,
            None => {}
        }
        let Some(pairs) = open.last_mut() else { return true };
        next = pairs.next().map(|(a, b, _)| (a, b));
        if next.is_none() {
            open.pop();
        }
    }
}

/// Whether `prefix` equals `full` above its leaves.
pub(crate) fn is_prefix(prefix: NodeRef<'_>, full: NodeRef<'_>) -> bool {
    in_step(prefix, full, |_, _| true)
}

/// Returns an error with the differences if `prefix` is not a prefix of `full`.
pub(crate) fn expect_prefix(prefix: &TreeDef, full: &TreeDef) -> Result<()> {
    let (a, b) = (prefix.root(), full.root());
    match (options_fit(prefix, full) || options_meet(prefix, full), is_prefix(a, b)) {
        (true, true) => Ok(()),
        (true, false) => {
            let differences = prefix_differences(a, b);
            let none = differences.first().is_some_and(|first| first.expected == "`None`");
            let error = structure_mismatch(differences).of_prefix();
            let hint =
                "for a `None` in the place of a leaf, flatten the prefix with `none_is_leaf`";
            Err(if none { error.with_hint(hint) } else { error })
        }
        (false, _) => Err(options_mismatch(prefix.encoding.options, full.encoding.options)),
    }
}

/// Returns an error with the differences if the two structures are not equal.
pub(crate) fn expect_equal(expected: &TreeDef, found: &TreeDef) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    expect_agreement(expected, found)?;
    expect_none(structure_differences(expected, found, false))
}

/// Returns an error if the structures have different options and both depend on them, because they
/// cannot be compared.
pub(crate) fn expect_agreement(a: &TreeDef, b: &TreeDef) -> Result<()> {
    match options_fit(a, b) || options_fit(b, a) {
        true => Ok(()),
        false => Err(options_mismatch(a.encoding.options, b.encoding.options)),
    }
}

/// Whether `treedef` would be the same with the options of `other`.
pub(crate) fn options_fit(treedef: &TreeDef, other: &TreeDef) -> bool {
    treedef.encoding.options == other.encoding.options || !treedef.root().depends_on_options()
}

/// Whether no option that differs is about a node that both structures have. So a prefix with `None`
/// as a leaf, as for `vmap`'s `in_axes`, fits a structure that has neither `None` nor `Some`.
fn options_meet(a: &TreeDef, b: &TreeDef) -> bool {
    let (ours, theirs) = (a.encoding.options, b.encoding.options);
    let either_without = |kinds: &[NodeKind]| {
        let has = |treedef: &TreeDef| {
            treedef.encoding.nodes.iter().any(|node| kinds.contains(&node.kind))
        };
        !has(a) || !has(b)
    };
    (ours.none_is_leaf == theirs.none_is_leaf || either_without(&[NodeKind::None, NodeKind::Some]))
        && (ours.insertion == theirs.insertion || either_without(&[NodeKind::Map]))
        && ours.compact == theirs.compact
}

/// Iterates over the leaves of a prefix and the subtrees at their places. Skips leafless runs.
pub(crate) struct LeafSteps<'a, 'b> {
    root: Option<(NodeRef<'a>, NodeRef<'b>)>,
    open: Vec<Overlaps<'a, 'b>>,
}

impl<'a, 'b> LeafSteps<'a, 'b> {
    /// `prefix` must be a prefix of `full`.
    pub(crate) fn new(prefix: NodeRef<'a>, full: NodeRef<'b>) -> Self {
        LeafSteps { root: Some((prefix, full)), open: Vec::new() }
    }
}

impl<'a, 'b> Iterator for LeafSteps<'a, 'b> {
    type Item = (NodeRef<'a>, NodeRef<'b>);

    fn next(&mut self) -> Option<Self::Item> {
        let root = self.root.take();
        let mut next = root.or_else(|| next_with_leaves(self.open.last_mut()?));
        loop {
            match next {
                Some((leaf, subtree)) if leaf.kind() == NodeKind::Leaf => {
                    return Some((leaf, subtree));
                }
                Some((a, b)) => self.open.push(a.overlaps(b)),
                None => {
                    self.open.pop();
                }
            }
            next = next_with_leaves(self.open.last_mut()?);
        }
    }
}

/// The next pair whose first node has leaves. Skips each run without leaves in one step.
fn next_with_leaves<'a, 'b>(pairs: &mut Overlaps<'a, 'b>) -> Option<(NodeRef<'a>, NodeRef<'b>)> {
    loop {
        let singly =
            |a: NodeRef<'_>, _: NodeRef<'_>| if a.num_leaves() > 0 { 1 } else { usize::MAX };
        match pairs.next_up_to(singly)? {
            (a, b, _) if a.num_leaves() > 0 => return Some((a, b)),
            _ => {}
        }
    }
}
