//! A node whose layout is known.

use crate::model::{Leaf, Node, NodeData};

use super::super::super::cursor::Cursor;
use super::derived::Proofs;
use super::packed::PackedLayout;

pub(in crate::unflatten) struct FixedNode<'de> {
    pub(in crate::unflatten::fast) layout: PackedLayout,
    pub(in crate::unflatten::fast) node_data: &'de [NodeData],
    pub(in crate::unflatten::fast) compact: bool,
    pub(in crate::unflatten::fast) proofs: Proofs,
    /// Room for leaves that are neither `f64` nor `Leaf`, and are converted before they are read.
    pub(in crate::unflatten::fast) converted: Vec<Leaf>,
}

impl<'de> FixedNode<'de> {
    /// The first node of the current structure from here on, if it has a layout and is not too
    /// deep.
    pub(in crate::unflatten::fast) fn of(cursor: &Cursor<'de>, nodes: &'de [Node]) -> Option<Self> {
        let layout = PackedLayout::of(nodes)?;
        if nodes.first()?.depth > cursor.left.levels {
            return None;
        }
        let node_data = &cursor.treedef.encoding.node_data;
        let (compact, proofs) = (cursor.compact, Proofs::default());
        Some(FixedNode { layout, node_data, compact, proofs, converted: Vec::new() })
    }
}
