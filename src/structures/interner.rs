//! Distinct nodes and labels, each stored once. A number stands for each.
//!
//! Nodes are found by hash, and then compared in full: a collision costs time, never a count.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::error::{ErrorKind, Result};
use crate::model::{Limits, NodeKind, Value};

use super::structure::Kinds;

/// No label, node or place.
pub(super) const NO_ID: u32 = u32::MAX;

/// A node without its children.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Head {
    Scalar(Kinds),
    /// A folded sequence. What is in it is in a [`Pool`](super::pool::Pool).
    Seq,
    /// A folded map, as a folded sequence.
    Map,
    /// The name is the static value of a static.
    Node {
        kind: NodeKind,
        name: u32,
        variant: u32,
    },
}

impl Head {
    pub(super) fn of(kind: NodeKind) -> Self {
        Head::Node { kind, name: NO_ID, variant: NO_ID }
    }
}

/// A run of equal children. Entries of maps have the label of their key, fields that of their name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Child {
    pub(super) label: u32,
    pub(super) node: u32,
    pub(super) repeat: usize,
}

#[derive(Clone)]
pub(super) struct InternedNode {
    pub(super) head: Head,
    /// Those of a map are sorted by label.
    pub(super) children: Box<[Child]>,
    /// The number of folded sequences and maps that are this node or below it, a run counted once.
    pub(super) pools: usize,
    /// The number of nodes and leaves of a tree of this, in which only nodes have runs.
    pub(super) size: usize,
    /// The number of leaves.
    leaves: usize,
    /// The index of the structure whose root this is.
    pub(super) entry: usize,
}

#[derive(Clone, Default)]
pub(super) struct Interner {
    pub(super) nodes: Vec<InternedNode>,
    table: HashTable<u32>,
    pub(super) labels: Vec<Value>,
    label_table: HashTable<u32>,
    hasher: DefaultHashBuilder,
    pub(super) limits: Limits,
    /// What all takes in memory, in nodes. 16 bytes of text count as one.
    pub(super) cost: usize,
}

impl Interner {
    /// Adds to what is in memory, or returns an error if that is too much.
    pub(super) fn charge(&mut self, nodes: usize) -> Result<()> {
        self.limits.expect_nodes(self.cost.saturating_add(nodes))?;
        self.cost += nodes;
        Ok(())
    }

    pub(super) fn forget_nodes(&mut self) {
        self.nodes.clear();
        self.table.clear();
        self.cost = self.labels.iter().map(|label| 1 + super::cost_of(label)).sum();
    }

    /// Nodes and labels have their own numbers, so they are in range.
    pub(super) fn node(&self, id: u32) -> &InternedNode {
        &self.nodes[id as usize]
    }

    pub(super) fn label(&self, label: u32) -> Option<&Value> {
        self.labels.get(label as usize)
    }

    pub(super) fn text(&self, label: u32) -> &str {
        self.label(label).and_then(Value::as_str).unwrap_or_default()
    }

    #[inline]
    pub(super) fn text_is(&self, label: u32, text: &str) -> bool {
        self.label(label).and_then(Value::as_str) == Some(text)
    }

    pub(super) fn intern(&mut self, head: Head, children: &[Child]) -> Result<u32> {
        let hash = self.hasher.hash_one((head, children));
        let is_it = |id: &u32| {
            let node = &self.nodes[*id as usize];
            node.head == head && *node.children == *children
        };
        if let Some(known) = self.table.find(hash, is_it) {
            return Ok(*known);
        }
        self.charge(1 + children.len())?;
        let id = number(self.nodes.len())?;
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

    pub(super) fn intern_text(&mut self, text: &str) -> Result<u32> {
        let hash = self.hasher.hash_one(text);
        let is_it = |label: &u32| self.labels[*label as usize].as_str() == Some(text);
        match self.label_table.find(hash, is_it) {
            Some(known) => Ok(*known),
            None => self.add_label(hash, Value::from(crate::model::Leaf::from(text))),
        }
    }

    pub(super) fn intern_label(&mut self, label: &Value) -> Result<u32> {
        if let Some(text) = label.as_str() {
            return self.intern_text(text);
        }
        let hash = self.hasher.hash_one(label);
        match self.label_table.find(hash, |known| self.labels[*known as usize] == *label) {
            Some(known) => Ok(*known),
            None => self.add_label(hash, label.clone()),
        }
    }

    #[cold]
    fn add_label(&mut self, hash: u64, label: Value) -> Result<u32> {
        self.charge(1 + super::cost_of(&label))?;
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
pub(super) fn number(count: usize) -> Result<u32> {
    let number = u32::try_from(count).ok().filter(|number| *number != NO_ID);
    number.ok_or_else(|| ErrorKind::TooLarge.into())
}
