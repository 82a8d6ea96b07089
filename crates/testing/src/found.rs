//! The node that a path finds.

use treedef::{Path, Result, ToPath, TreeDef};

/// The printed path of the node that a path finds: this node is replaced, and the path of the
/// replacement is returned.
pub fn resolved(treedef: &TreeDef, path: impl ToPath) -> Result<Path> {
    const MARK: &str = "the node that was found";
    let mark: TreeDef = format!("`{MARK}`").parse()?;
    let marked = treedef.replace(path, &mark)?;
    let found = marked.nodes().find(|(_, node)| node.name() == Some(MARK));
    Ok(found.map(|(path, _)| path).unwrap())
}
