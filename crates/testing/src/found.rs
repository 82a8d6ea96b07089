//! Which node a path finds.

use treedef::{Path, Result, ToPath, TreeDef};

/// The path of the node that a path finds, as it prints: that of another structure put in its place.
pub fn resolved(treedef: &TreeDef, path: impl ToPath) -> Result<Path> {
    const MARK: &str = "the node that was found";
    let mark: TreeDef = format!("`{MARK}`").parse()?;
    let marked = treedef.replace(path, &mark)?;
    let found = marked.nodes().find(|(_, node)| node.name() == Some(MARK));
    Ok(found.map(|(path, _)| path).unwrap())
}
