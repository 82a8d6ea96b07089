//! Distinct nodes and labels, each stored once and represented by a number.
//!
//! Nodes are found by hash, and then compared in full: a collision costs time, never a count.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use treedef::__private::{OrBug, expect_nodes, key_form, too_large, work_of};
use treedef::{Leaf, Limits, NodeKind, Result, Value};

use crate::structure::Kinds;

/// No label, node or place.
pub(crate) const NO_ID: u32 = u32::MAX;

/// A node without its children.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Head {
    Scalar(Kinds),
    /// A folded sequence. Its content is in a [`Pool`](super::pool::Pool).
    Seq,
    /// A folded map. Its content is in a pool, too.
    Map,
    /// The name is the static value of a static.
    Node {
        kind: NodeKind,
        name: u32,
        variant: u32,
    },
}

impl Head {
    pub(crate) fn of(kind: NodeKind) -> Self {
        Head::Node { kind, name: NO_ID, variant: NO_ID }
    }
}

/// A run of equal children. Entries of maps have the label of their key, fields the label of their
/// name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Child {
    pub(crate) label: u32,
    pub(crate) node: u32,
    pub(crate) repeat: usize,
}

#[derive(Clone)]
pub(crate) struct InternedNode {
    pub(crate) head: Head,
    /// The children of a map are sorted by label.
    pub(crate) children: Box<[Child]>,
    /// The number of folded sequences and maps at or below this node, where a run counts once.
    pub(crate) pools: usize,
    /// The number of nodes and leaves of the tree at this node. Only nodes have runs.
    pub(crate) size: usize,
    /// The number of leaves.
    pub(crate) leaves: usize,
    /// The index of the structure whose root this is.
    pub(crate) entry: usize,
}

#[derive(Clone, Default)]
pub(crate) struct Interner {
    pub(crate) nodes: Vec<InternedNode>,
    table: HashTable<u32>,
    pub(crate) labels: Vec<Value>,
    label_table: HashTable<u32>,
    pub(crate) hasher: DefaultHashBuilder,
    pub(crate) limits: Limits,
    /// The memory of everything, in nodes. 16 bytes of text count as one.
    pub(crate) cost: usize,
}

impl Interner {
    /// Adds to the memory, or returns an error if it exceeds the limit.
    pub(crate) fn charge(&mut self, nodes: usize) -> Result<()> {
        expect_nodes(self.limits, self.cost.saturating_add(nodes))?;
        self.cost += nodes;
        Ok(())
    }

    pub(crate) fn forget_nodes(&mut self) {
        self.nodes.clear();
        self.table.clear();
        self.cost = self.labels.iter().map(|label| 1 + work_of(label)).sum();
    }

    /// Nodes and labels have their own numbers, so they are in range.
    pub(crate) fn node(&self, id: u32) -> &InternedNode {
        &self.nodes[id as usize]
    }

    pub(crate) fn label(&self, label: u32) -> Option<&Value> {
        self.labels.get(label as usize)
    }

    /// A text among the labels; nothing for no label.
    pub(crate) fn text(&self, label: u32) -> &str {
        if label == NO_ID { "" } else { self.label(label).and_then(Value::as_str).or_bug() }
    }

    #[inline]
    pub(crate) fn text_is(&self, label: u32, text: &str) -> bool {
        self.label(label).and_then(Value::as_str) == Some(text)
    }

    pub(crate) fn intern(&mut self, head: Head, children: &[Child]) -> Result<u32> {
        let hash = self.hasher.hash_one((head, children));
        if let Some(known) = self.find(hash, head, children) {
            return Ok(known);
        }
        self.charge(1 + children.len())?;
        let id = number(self.nodes.len())?;
        let (pools, leaves, size) = self.sums(head, children);
        let children = children.into();
        self.nodes.push(InternedNode { head, children, pools, size, leaves, entry: usize::MAX });
        let (nodes, hasher) = (&self.nodes, &self.hasher);
        let hash_of = |id: &u32| {
            let node = &nodes[*id as usize];
            hasher.hash_one((node.head, &*node.children))
        };
        self.table.insert_unique(hash, id, hash_of);
        Ok(id)
    }

    pub(crate) fn find(&self, hash: u64, head: Head, children: &[Child]) -> Option<u32> {
        let is_equal = |id: &u32| {
            let node = &self.nodes[*id as usize];
            node.head == head && *node.children == *children
        };
        self.table.find(hash, is_equal).copied()
    }

    /// The number of pools, leaves, and nodes with leaves of a node with these children.
    pub(crate) fn sums(&self, head: Head, children: &[Child]) -> (usize, usize, usize) {
        let own = usize::from(matches!(head, Head::Seq | Head::Map));
        let leaf = usize::from(own == 1 || matches!(head, Head::Scalar(_)));
        let (mut pools, mut leaves, mut size) = (own, leaf, 1 + leaf);
        for child in children {
            let node = self.node(child.node);
            pools = pools.saturating_add(node.pools);
            leaves = leaves.saturating_add(node.leaves.saturating_mul(child.repeat));
            let others = node.leaves.saturating_mul(child.repeat.saturating_sub(1));
            size = size.saturating_add(node.size).saturating_add(others);
        }
        (pools, leaves, size)
    }

    pub(crate) fn intern_text(&mut self, text: &str) -> Result<u32> {
        let hash = self.hasher.hash_one(text);
        let is_equal = |label: &u32| self.labels[*label as usize].as_str() == Some(text);
        match self.label_table.find(hash, is_equal) {
            Some(known) => Ok(*known),
            None => self.add_label(hash, Value::from(Leaf::from(text))),
        }
    }

    pub(crate) fn intern_label(&mut self, label: &Value) -> Result<u32> {
        if let Some(text) = label.as_str() {
            return self.intern_text(text);
        }
        let hash = self.hasher.hash_one(label);
        match self.label_table.find(hash, |known| self.labels[*known as usize] == *label) {
            Some(known) => Ok(*known),
            None => self.add_label(hash, label.clone()),
        }
    }

    /// The label of a key. Keys of one value have one label.
    pub(crate) fn intern_key(&mut self, key: &Value) -> Result<u32> {
        match key.as_leaf() {
            Some(Leaf::Str(text)) => self.intern_text(text),
            Some(Leaf::Char(char)) => self.intern_text(char.encode_utf8(&mut [0; 4])),
            _ => self.intern_label(&key_form(key)),
        }
    }

    #[cold]
    fn add_label(&mut self, hash: u64, label: Value) -> Result<u32> {
        self.charge(1 + work_of(&label))?;
        let number = number(self.labels.len())?;
        self.labels.push(label);
        let (labels, hasher) = (&self.labels, &self.hasher);
        self.label_table.insert_unique(hash, number, |label| {
            let label = &labels[*label as usize];
            label.as_str().map_or_else(|| hasher.hash_one(label), |text| hasher.hash_one(text))
        });
        Ok(number)
    }
}

/// The number of the next item, after `count` items.
pub(crate) fn number(count: usize) -> Result<u32> {
    let number = u32::try_from(count).ok().filter(|number| *number != NO_ID);
    number.ok_or_else(too_large)
}
