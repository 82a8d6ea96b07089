//! Finds all equal subtrees of two structures in one pass.

use std::collections::HashMap;

use crate::model::{Encoding, NodeData};

/// A number for each node of two structures. Equal subtrees have equal numbers; the `repeat` of a
/// node does not matter.
///
/// Two subtrees are then compared in one step, and all subtrees along a path in as many steps as
/// the path has keys.
pub(super) struct Classes {
    pub(super) old: Vec<usize>,
    pub(super) new: Vec<usize>,
}

impl Classes {
    pub(super) fn of(old: &Encoding, new: &Encoding) -> Self {
        let mut numbers = ClassTable::default();
        Classes { old: numbers.number(old), new: numbers.number(new) }
    }
}

#[derive(Default)]
struct ClassTable<'a> {
    node_data: HashMap<&'a NodeData, usize>,
    /// The number of a subtree by the kind of its root, the number of its node data, and number and
    /// `repeat` of each run of children.
    subtrees: HashMap<Box<[usize]>, usize>,
}

impl<'a> ClassTable<'a> {
    fn number(&mut self, encoding: &'a Encoding) -> Vec<usize> {
        let mut data = |data: &'a NodeData| {
            let next = self.node_data.len();
            *self.node_data.entry(data).or_insert(next)
        };
        let node_data: Vec<usize> = encoding.node_data.iter().map(&mut data).collect();
        let nodes = &encoding.nodes;
        let mut classes = vec![0; nodes.len()];
        let mut subtree = Vec::new();
        // Children come after their parent.
        for (at, node) in nodes.iter().enumerate().rev() {
            let data = node_data.get(node.data()).copied().unwrap_or(NodeData::NONE);
            subtree.clear();
            subtree.extend([node.kind as usize, data]);
            let mut run = at + 1;
            while run < at + node.span() {
                // In range: within the span (invariant 2).
                subtree.extend([classes[run], nodes[run].repeat]);
                run += nodes[run].span();
            }
            let next = self.subtrees.len();
            classes[at] = match self.subtrees.get(&subtree[..]) {
                Some(known) => *known,
                None => *self.subtrees.entry(subtree[..].into()).or_insert(next),
            };
        }
        classes
    }
}
