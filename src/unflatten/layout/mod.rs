//! A node of a fixed layout, from which [plain data](super::plain) is read.

pub(super) mod packed;
pub(super) mod derived;

use crate::model::Leaf;
use crate::treedef::node::NodeRef;

use derived::Proofs;
use packed::PackedLayout;

pub(super) struct FixedNode<'de> {
    pub(super) layout: PackedLayout,
    /// Where its shapes are.
    pub(super) root: NodeRef<'de>,
    pub(super) compact: bool,
    pub(super) proofs: Proofs,
    /// Room for leaves of other types than those that are read as they are.
    pub(super) kept: Vec<Leaf>,
}

impl<'de> FixedNode<'de> {
    pub(super) fn new(layout: PackedLayout, root: NodeRef<'de>, compact: bool) -> Self {
        FixedNode { layout, root, compact, proofs: Proofs::default(), kept: Vec::new() }
    }
}
