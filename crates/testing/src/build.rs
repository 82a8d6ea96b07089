//! Structures from the public builder.

use treedef::{NodeHead, NodeKind, Result, TreeDef, TreeDefBuilder};

/// A node of any kind with the names of its type and variant. `fields` are the names of its
/// children, and empty if the kind has none.
pub fn node(
    kind: NodeKind,
    [name, variant]: [&str; 2],
    fields: &[&str],
    children: impl IntoIterator<Item = TreeDef>,
) -> Result<TreeDef> {
    let mut builder = TreeDefBuilder::new();
    builder.open(NodeHead { kind, name, variant }, 1)?;
    let mut fields = fields.iter();
    for child in children {
        if let Some(field) = fields.next() {
            builder.field((*field).to_owned())?;
        }
        builder.insert(&child, 1)?;
    }
    if !kind.is_atom() {
        builder.close()?;
    }
    builder.finish()
}
