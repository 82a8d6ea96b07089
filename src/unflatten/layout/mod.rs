//! A node of a fixed layout, from which [plain data](super::plain) is read.

pub(super) mod rigid;
pub(super) mod derived;

use crate::model::Leaf;
use crate::treedef::node::NodeRef;

use derived::Proofs;
use rigid::Rigid;

pub(super) struct Fixed<'de> {
    pub(super) layout: Rigid,
    /// Where its shapes are.
    pub(super) root: NodeRef<'de>,
    pub(super) compact: bool,
    pub(super) proofs: Proofs,
    /// Room for leaves of other types than those that are read as they are.
    pub(super) kept: Vec<Leaf>,
}

impl<'de> Fixed<'de> {
    pub(super) fn new(layout: Rigid, root: NodeRef<'de>, compact: bool) -> Self {
        Fixed { layout, root, compact, proofs: Proofs::default(), kept: Vec::new() }
    }
}
