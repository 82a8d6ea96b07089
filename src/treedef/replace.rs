//! Replacing one subtree of a structure.

use crate::argument::ToPath;
use crate::error::Result;
use crate::model::TreeDef;
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
    /// let replaced = treedef.replace(".layers[1]", &TreeDef::none())?;
    /// assert_eq!(replaced.to_string(), "Model { layers: [(*, *), None, (*, *)], step: * }");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn replace(&self, path: impl ToPath, new: &TreeDef) -> Result<TreeDef> {
        let path = self.resolve(path)?;
        let mut builder = PartsBuilder::onto(self.root(), self.limits);
        let mut node = self.root();
        let mut after = Vec::new();
        for key in path.keys() {
            let position = node.position(key).unwrap_or(0); // it was found
            builder.open(node, 1)?;
            let (child, rest) = split(&mut builder, node, position)?;
            after.push(rest);
            node = child.unwrap_or(node); // `position` is the index of a child, so there is one
        }
        builder.insert(new.root(), 1)?;
        while let Some(rest) = after.pop() {
            for (child, repeat) in rest {
                builder.insert(child, repeat)?;
            }
            builder.close()?;
        }
        builder.finish()
    }
}

pub(crate) type Runs<'a> = Vec<(NodeRef<'a>, usize)>;

/// Inserts the children before `position`. Returns the child at `position`, and the runs after it.
pub(crate) fn split<'a>(
    builder: &mut PartsBuilder,
    node: NodeRef<'a>,
    position: usize,
) -> Result<(Option<NodeRef<'a>>, Runs<'a>)> {
    let (mut left, mut found, mut rest) = (position, None, Vec::new());
    for (child, repeat) in node.runs() {
        if found.is_some() {
            rest.push((child, repeat));
            continue;
        }
        let before = left.min(repeat);
        if before > 0 {
            builder.insert(child, before)?;
        }
        left -= before;
        if before < repeat {
            found = Some(child.later(before));
            if repeat - before > 1 {
                rest.push((child.later(before + 1), repeat - before - 1));
            }
        }
    }
    Ok((found, rest))
}
