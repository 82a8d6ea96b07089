//! A node of a fixed layout, from which [plain data](super::plain) is read.

use crate::model::Leaf;
use crate::node::NodeRef;

use super::derived::Proofs;
use super::rigid::Rigid;

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
