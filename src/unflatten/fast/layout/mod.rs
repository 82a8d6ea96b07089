//! A node with a fixed layout, from which [plain data](super::plain) is read.

pub(super) mod packed;
pub(super) mod derived;

use crate::model::{Leaf, Node, NodeData};

use super::super::cursor::Cursor;
use derived::Proofs;
use packed::PackedLayout;

pub(in crate::unflatten) struct FixedNode<'de> {
    pub(super) layout: PackedLayout,
    pub(super) node_data: &'de [NodeData],
    pub(super) compact: bool,
    pub(super) proofs: Proofs,
    /// Room for leaves that are neither `f64` nor `Leaf`, and are converted before they are read.
    pub(super) kept: Vec<Leaf>,
}

impl<'de> FixedNode<'de> {
    /// The first node of the current structure from here on, if it has a layout and is not too
    /// deep.
    pub(super) fn of(cursor: &Cursor<'de>, nodes: &'de [Node]) -> Option<Self> {
        let layout = PackedLayout::of(nodes)?;
        if nodes.first()?.depth > cursor.left.levels {
            return None;
        }
        let node_data = &cursor.treedef.encoding.node_data;
        let (compact, proofs) = (cursor.compact, Proofs::default());
        Some(FixedNode { layout, node_data, compact, proofs, kept: Vec::new() })
    }
}
