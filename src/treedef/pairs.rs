//! Visits two structures in parallel, where one is a prefix of the other.

use crate::error::{Difference, DifferenceKind, Error, Result};
use crate::model::{NodeKind, Options, TreeDef};
use crate::treedef::difference::{prefix_differences, structure_differences};
use crate::treedef::node_ref::{NodeRef, Overlap};
use crate::treedef::options::options_mismatch;
use crate::treedef::parts::PartsBuilder;
use crate::treedef::walk::{MostPairs, PairEvent, PairWalk};

/// Whether two nodes are equal, apart from everything below them.
pub(crate) fn same_head(a: NodeRef<'_>, b: NodeRef<'_>) -> bool {
    a.kind() == b.kind() && a.num_children() == b.num_children() && a.data() == b.data()
}

/// The number of siblings of two nodes, of `most`, starting with these, whose maps have the same insertion orders.
pub(crate) fn in_same_order(a: NodeRef<'_>, b: NodeRef<'_>, most: usize) -> usize {
    a.in_same_order(most).min(b.in_same_order(most))
}

/// Whether two subtrees are equal.
pub(crate) fn equal_subtrees(a: NodeRef<'_>, b: NodeRef<'_>) -> bool {
    a.num_leaves() == b.num_leaves()
        && a.subtree().len() == b.subtree().len()
        && in_step(a, b, Statics::Compared, |_, _, _, count| count)
            .all(|step| step.is_some_and(|(_, subtree)| subtree.is_leaf()))
}

/// Whether the statics of a prefix are compared with the whole, or stand for any.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Statics {
    Compared,
    Any,
}

/// The leaves of `prefix` with the subtrees of `full` at their places, and `None` where the two
/// differ above the leaves. `most` is as for a [`PairWalk`].
pub(crate) fn in_step<'a, 'b>(
    prefix: NodeRef<'a>,
    full: NodeRef<'b>,
    statics: Statics,
    most: MostPairs,
) -> impl Iterator<Item = Option<(NodeRef<'a>, NodeRef<'b>)>> {
    let mut walk = PairWalk::new(prefix, full, most);
    std::iter::from_fn(move || {
        loop {
            let PairEvent::Enter(Overlap { a, b, .. }) = walk.next()? else { continue };
            if a.is_leaf() {
                walk.skip();
                return Some(Some((a, b)));
            }
            let stands_for_any = statics == Statics::Any
                && (a.kind(), b.kind()) == (NodeKind::Static, NodeKind::Static);
            if !stands_for_any && !same_head(a, b) {
                return Some(None);
            }
        }
    })
}

/// Whether `prefix` equals `full` above its leaves.
pub(crate) fn is_prefix(prefix: NodeRef<'_>, full: NodeRef<'_>, statics: Statics) -> bool {
    in_step(prefix, full, statics, |_, _, _, count| count).all(|step| step.is_some())
}

/// The leaves of a prefix of `full`, with the subtrees at their places.
pub(crate) fn leaf_steps<'a, 'b>(
    prefix: NodeRef<'a>,
    full: NodeRef<'b>,
) -> impl Iterator<Item = (NodeRef<'a>, NodeRef<'b>)> {
    // Equal pairs without leaves are visited as one.
    in_step(
        prefix,
        full,
        Statics::Any,
        |_, a, _, count| if a.num_leaves() == 0 { count } else { 1 },
    )
    .flatten()
}

/// Returns an error with the differences if `prefix` is not a prefix of `full`.
pub(crate) fn expect_prefix(prefix: &TreeDef, full: &TreeDef, statics: Statics) -> Result<()> {
    if !options_fit(prefix, full) && !options_meet(prefix, full) {
        return Err(options_mismatch(prefix.encoding.options, full.encoding.options));
    }
    if is_prefix(prefix.root(), full.root(), statics) {
        return Ok(());
    }
    let differences = prefix_differences(prefix.root(), full.root(), statics == Statics::Compared);
    let is_none = differences.first().is_some_and(|first| {
        let place = prefix.find(&first.path).ok().filter(|_| first.kind == DifferenceKind::Node);
        place.is_some_and(|(_, node)| node.kind() == NodeKind::None)
    });
    let error = Error::structure(differences).of_prefix();
    let hint = "for a `None` in the place of a leaf, flatten the prefix with `none_is_leaf`";
    Err(if is_none { error.with_hint(hint) } else { error })
}

/// Returns an error with the differences if the two structures are not equal.
pub(crate) fn expect_equal(expected: &TreeDef, found: &TreeDef) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    expect_agreement(expected, found)?;
    let differences = structure_differences(expected, found, false);
    if differences.is_empty() {
        return Ok(());
    }
    Err(differ(
        differences,
        "statics are part of the structure; to ignore them, see `Flattener::ignore_statics`",
    ))
}

/// The error for two structures that differ. The hint applies if only statics differ.
#[cold]
pub(crate) fn differ(differences: Vec<Difference>, hint_of_statics: &'static str) -> Error {
    let are_statics = differences.iter().all(|found| found.kind == DifferenceKind::Static);
    let error = Error::structure(differences);
    if are_statics { error.with_hint(hint_of_statics) } else { error }
}

/// As [`expect_equal`]. Returns the first with the options of the second, if it has none itself.
pub(crate) fn unified(treedef: TreeDef, other: &TreeDef) -> Result<TreeDef> {
    expect_equal(&treedef, other)?;
    with_options_of(treedef, other)
}

/// The structure with the options of another, which fit, if it has none itself.
pub(crate) fn with_options_of(treedef: TreeDef, other: &TreeDef) -> Result<TreeDef> {
    let options = other.encoding.options;
    if treedef.encoding.options != Options::default() || options == Options::default() {
        return Ok(treedef);
    }
    let mut builder = PartsBuilder::with_options(options, treedef.limits);
    builder.insert(treedef.root(), 1)?;
    Ok(builder.finish_part())
}

/// Returns an error if the structures have different options and both depend on them, because they
/// cannot be compared.
pub(crate) fn expect_agreement(a: &TreeDef, b: &TreeDef) -> Result<()> {
    if options_fit(a, b) || options_fit(b, a) {
        Ok(())
    } else {
        Err(options_mismatch(a.encoding.options, b.encoding.options))
    }
}

/// Whether `treedef` would be the same with the options of `other`.
pub(crate) fn options_fit(treedef: &TreeDef, other: &TreeDef) -> bool {
    treedef.encoding.options == other.encoding.options || !treedef.root().depends_on_options()
}

/// Whether no option that differs concerns a node that both structures have. For example, a prefix
/// with `None` as a leaf, as for `vmap`'s `in_axes`, fits a structure without `None` and `Some`.
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
