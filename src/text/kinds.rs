//! Prints signatures.

use std::fmt::{self, Write};

use crate::bug::missing;
use crate::message::joined;
use crate::model::{LeafKind, NodeKind};
use crate::treedef::node_ref::NodeRef;

use super::print::{LeafText, delimiters};

/// The kind and the shape of arrays: `f32[3, 4]`.
pub(crate) struct KindsAndShapes<'a>(pub(crate) &'a [LeafKind]);

impl LeafText for KindsAndShapes<'_> {
    fn write(&self, index: usize, out: &mut dyn Write) -> fmt::Result {
        self.0.get(index).map_or_else(|| missing("a leaf"), |kind| write!(out, "{kind}"))
    }

    fn same(&self, a: usize, b: usize) -> bool {
        self.0.get(a) == self.0.get(b)
    }

    fn array(&self, node: NodeRef<'_>) -> Option<String> {
        let dims = plain_dims(node)?;
        let kinds = self.0.get(node.leaf_range())?;
        let kind = kinds.first().filter(|first| kinds.iter().all(|kind| kind == *first))?;
        let mut text = kind.to_string();
        for container in dims.chunk_by(|(a, _), (b, _)| a == b) {
            let (start, end) = container.first().map_or(("", ""), |(kind, _)| delimiters(*kind));
            text.push_str(start);
            text.push_str(&joined(container.iter().map(|(_, size)| size), ", "));
            text.push_str(end);
        }
        if dims.is_empty() {
            text.push_str("[]");
        }
        Some(text)
    }
}

/// The containers of a signature's array from the outside in, if a node consists only of sequences
/// and tuples of leaves of one kind: `[(f32; 3); 100]` is `f32[100](3)`.
pub(crate) fn plain_dims(root: NodeRef<'_>) -> Option<Vec<(NodeKind, usize)>> {
    let mut dims = Vec::new();
    let mut node = root;
    while !node.is_leaf() {
        if !matches!(node.kind(), NodeKind::Seq | NodeKind::Tuple) {
            return None;
        }
        dims.push((node.kind(), node.num_children()));
        node = node.only_run()?;
    }
    Some(dims)
}
