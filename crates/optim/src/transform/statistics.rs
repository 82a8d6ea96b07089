//! The tensors of a model that are not parameters.

use std::borrow::Cow;
use std::ops::Range;

use treedef::{Key, NodeRef, Path, TreeDef};

use super::scope::{contains, ranges};
use crate::leaf::Trainable;

const FIELDS: [&str; 2] = ["running_mean", "running_var"];

/// The leaves in the fields `running_mean` and `running_var` of a struct that has both, such as a batch
/// norm: statistics that no optimiser changes.
pub fn running_statistics(treedef: &TreeDef) -> Vec<Range<usize>> {
    let mut nodes = vec![treedef.root()];
    let mut has_some = false;
    while let Some(node) = nodes.pop() {
        has_some |= has_statistics(node);
        nodes.extend(node.runs().map(|(child, _)| child).filter(|child| !child.is_leaf()));
    }
    if !has_some {
        return Vec::new();
    }
    let paths = treedef.leaf_paths().enumerate();
    ranges(paths.filter(|(_, path)| is_statistic(treedef, path)).map(|(leaf, _)| leaf))
}

fn has_statistics(node: NodeRef<'_>) -> bool {
    let has = |field: &str| node.fields().iter().any(|name| &**name == field);
    FIELDS.into_iter().all(has)
}

fn is_statistic(treedef: &TreeDef, path: &Path) -> bool {
    let is_field = |key: &Key| matches!(key, Key::Field(name) if FIELDS.contains(&&**name));
    path.keys().iter().enumerate().filter(|(_, key)| is_field(key)).any(|(at, _)| {
        let around: Path = path.keys().iter().take(at).cloned().collect();
        treedef.node(&around).is_ok_and(has_statistics)
    })
}

/// The leaves that are no running statistics, which no step changes.
pub(crate) fn parameters_of(treedef: &TreeDef) -> Vec<Range<usize>> {
    let all = 0..treedef.num_leaves();
    match &*running_statistics(treedef) {
        [] => vec![all],
        statistics => ranges(all.filter(|leaf| !contains(statistics, *leaf))),
    }
}

/// The parameters that are trained: integers are not.
pub(crate) fn trained<'r, L: Trainable>(
    leaves: &[L],
    parameters_at: &'r [Range<usize>],
) -> Cow<'r, [Range<usize>]> {
    if L::IS_NUMBER || leaves.iter().all(L::is_float) {
        return parameters_at.into();
    }
    let is_float = |leaf: &usize| leaves.get(*leaf).is_some_and(L::is_float);
    ranges(parameters_at.iter().cloned().flatten().filter(is_float)).into()
}
