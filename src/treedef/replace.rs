//! Replacing one subtree of a structure.

use crate::argument::ToPath;
use crate::bug::OrBug;
use crate::error::Result;
use crate::model::TreeDef;
use crate::path::Path;
use crate::treedef::node_ref::NodeRef;

use super::parts::PartsBuilder;

impl TreeDef {
    /// This structure with the subtree at a path replaced by `new`. A run around it is split.
    ///
    /// # Errors
    ///
    /// Returns an error when no node is at the path, or when the structures have different options.
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let treedef: TreeDef = "Model { layers: [(*, *); 3], step: * }".parse()?;
    /// let replaced = treedef.replace(".layers[1]", &"None".parse()?)?;
    /// assert_eq!(replaced.to_string(), "Model { layers: [(*, *), None, (*, *)], step: * }");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn replace(&self, path: impl ToPath, new: &TreeDef) -> Result<TreeDef> {
        self.rebuilt(&self.resolve(path)?, |builder, _| builder.insert(new.root(), 1))
    }

    /// This structure with the node at an existing path replaced by whatever `put` inserts.
    pub(crate) fn rebuilt<'a>(
        &'a self,
        path: &Path,
        mut put: impl FnMut(&mut PartsBuilder, NodeRef<'a>) -> Result<()>,
    ) -> Result<TreeDef> {
        let mut builder = PartsBuilder::onto(self.root(), self.limits);
        builder.assemble((self.root(), 1, true), |builder, depth, (node, repeat, is_above)| {
            if !is_above {
                builder.insert(node, repeat)?;
                return Ok(None);
            }
            let Some(key) = path.keys().get(depth) else {
                return put(builder, node).map(|()| None);
            };
            builder.open(node, 1)?;
            Ok(Some(runs_around(node, node.position(key).or_bug())))
        })?;
        builder.finish()
    }
}

/// The runs of children, with the child at `position` as a run of its own, and whether a run is
/// that child.
pub(crate) fn runs_around(
    node: NodeRef<'_>,
    position: usize,
) -> impl Iterator<Item = (NodeRef<'_>, usize, bool)> {
    let (mut children, mut next) = (node.children(), 0);
    std::iter::from_fn(move || {
        let is_it = next == position;
        let most = if is_it { 1 } else { position.checked_sub(next).unwrap_or(usize::MAX) };
        let (child, repeat) = children.next_up_to(most)?;
        next += repeat; // at most the number of children
        Some((child, repeat, is_it))
    })
}
