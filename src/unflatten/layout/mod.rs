//! A node with a fixed layout, from which [plain data](super::plain) is read.

pub(super) mod packed;
pub(super) mod derived;

use crate::model::Leaf;
use crate::treedef::node_ref::NodeRef;

use derived::Proofs;
use packed::PackedLayout;

pub(super) struct FixedNode<'de> {
    pub(super) layout: PackedLayout,
    /// The node that has the node data.
    pub(super) root: NodeRef<'de>,
    pub(super) compact: bool,
    pub(super) proofs: Proofs,
    /// Room for leaves that are neither `f64` nor `Leaf`, and are converted before they are read.
    pub(super) kept: Vec<Leaf>,
}

impl<'de> FixedNode<'de> {
    pub(super) fn new(layout: PackedLayout, root: NodeRef<'de>, compact: bool) -> Self {
        FixedNode { layout, root, compact, proofs: Proofs::default(), kept: Vec::new() }
    }
}
