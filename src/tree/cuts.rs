//! Replaces or removes subtrees by a function, a path or a pattern.

use crate::bug::OrBug;
use crate::error::Result;
use crate::model::{Tree, TreeDef};
use crate::path::Path;
use crate::treedef::edit::EditWalk;
use crate::treedef::limits::in_memory;
use crate::treedef::node_ref::NodeRef;
use crate::treedef::walk::Event;

/// The edited structure, and the subtrees that are replaced or removed, with their paths or
/// without.
pub(super) fn cuts<'a, L>(
    treedef: &'a TreeDef,
    leaves: &[L],
    with_paths: bool,
    mut f: impl FnMut(&Path, NodeRef<'_>, &[L]) -> Result<Action<L>>,
) -> Result<(TreeDef, Vec<Cut<'a, L>>)> {
    let mut walk = EditWalk::singly(treedef, in_memory(leaves))?;
    let mut cuts = Vec::new();
    while let Some(met) = walk.step() {
        let Event::Enter { node, .. } = met else {
            walk.leave()?;
            continue;
        };
        let below = leaves.get(node.leaf_range()).or_bug();
        let new = match f(walk.path(), node, below).map_err(|error| error.or_at(walk.path()))? {
            Action::Enter => {
                walk.enter()?;
                continue;
            }
            Action::Keep => {
                walk.keep()?;
                continue;
            }
            Action::Remove => {
                walk.remove()?;
                Vec::new()
            }
            Action::Replace(new) => {
                walk.put(&new.treedef)?;
                new.leaves
            }
        };
        let path = if with_paths { walk.path().clone() } else { Path::root() };
        cuts.push(Cut { path, node, new });
    }
    Ok((walk.finish()?, cuts))
}

/// The action for a node.
pub(super) enum Action<L> {
    /// Keep the node, and visit the nodes below it.
    Enter,
    /// Keep the node with everything below it.
    Keep,
    Remove,
    Replace(Tree<L>),
}

/// A subtree that is cut out, and the leaves that replace its own.
pub(super) struct Cut<'a, L> {
    pub(super) path: Path,
    pub(super) node: NodeRef<'a>,
    pub(super) new: Vec<L>,
}
