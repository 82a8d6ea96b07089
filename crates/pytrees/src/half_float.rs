//! Half floats, which serde passes as numbers in a newtype.

use treedef::{Dtype, NodeKind, NodeRef};

/// The type of the half floats in a block: numbers in newtypes of this name.
pub fn half_float(block: NodeRef<'_>) -> Option<Dtype> {
    let (mut node, mut above) = (block, block);
    while let Some(child) = node.children().find(|child| child.num_leaves() > 0) {
        (node, above) = (child, node);
    }
    let name = above.name().filter(|_| above.kind() == NodeKind::NewtypeStruct);
    match name {
        Some("f16") => Some(Dtype::F16),
        Some("bf16") => Some(Dtype::Bf16),
        _ => None,
    }
}
