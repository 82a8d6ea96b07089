//! Makes one value of a subtree, for a static or an opaque leaf.

use std::{mem, vec};

use crate::bug::bug;
use crate::error::{Cause, Result};
use crate::leaf::float::Half;
use crate::model::{Leaf, Limits, MAX_KEY_NESTING, NodeData, NodeKind, Options, Tree, Value};
use crate::treedef::encoding::{LabelsRef, NAMELESS, NodeDataRef};
use crate::treedef::node_ref::NodeRef;
use crate::treedef::parts::PartsBuilder;
use crate::treedef::walk::{Event, Visits, Walk};

/// The value of a subtree with these leaves. A value has no statics and no opaque leaves, its maps are
/// sorted, and what is absent is a node.
pub(super) fn value_of(root: NodeRef<'_>, mut leaves: Vec<Leaf>) -> Result<Value> {
    if root.is_leaf()
        && let Some(leaf) = leaves.pop()
    {
        return Ok(leaf.into());
    }
    if is_value(root, &leaves) {
        return Ok(Value::from_tree(Tree::from_parts(root.to_structure_of_value(), leaves)));
    }
    let limits = Limits { max_nodes: usize::MAX, ..root.treedef.limits };
    let mut parts = Parts {
        builder: PartsBuilder::with_options(Options::default(), limits),
        leaves: Vec::with_capacity(leaves.len()),
        from: leaves.into_iter(),
        open: Vec::new(),
    };
    parts.copy(root)?;
    let (builder, leaves) = (mem::take(&mut parts.builder), mem::take(&mut parts.leaves));
    let value = Value::from_tree(Tree::from_parts(builder.finish_part(), leaves));
    if value.root().levels() >= MAX_KEY_NESTING && nesting(value.root()) >= MAX_KEY_NESTING {
        return Err(Cause::Depth { limit: MAX_KEY_NESTING }.into());
    }
    Ok(value)
}

/// Whether a subtree is a value as it is.
fn is_value(root: NodeRef<'_>, leaves: &[Leaf]) -> bool {
    let mut nodes = root.subtree().iter();
    let is_scalar = |leaf: &Leaf| !matches!(leaf, Leaf::Opaque(_) | Leaf::None);
    root.levels() < MAX_KEY_NESTING
        && (!root.options().insertion || root.raw().maps == 0)
        && leaves.iter().all(is_scalar)
        && nodes.all(|node| node.kind != NodeKind::Static)
}

/// A value that is made of a subtree.
struct Parts<'a> {
    builder: PartsBuilder,
    leaves: Vec<Leaf>,
    /// The leaves of the subtree that are left.
    from: vec::IntoIter<Leaf>,
    /// The open nodes, each with the number of leaves before it.
    open: Vec<(NodeRef<'a>, usize)>,
}

impl<'a> Parts<'a> {
    fn copy(&mut self, root: NodeRef<'a>) -> Result<()> {
        let mut walk = Walk::new(root, Visits::Everywhere);
        while let Some(event) = walk.next() {
            match event {
                Event::Enter { node, .. } => self.enter(node)?,
                Event::Leave => self.leave()?,
            }
        }
        Ok(())
    }

    fn enter(&mut self, node: NodeRef<'a>) -> Result<()> {
        self.open.push((node, self.leaves.len()));
        if let Some(value) = node.static_value() {
            return self.insert(value);
        }
        if !node.is_leaf() {
            self.builder.open_new(node.kind(), node.data().map(NodeData::as_ref), 1);
            if !node.options().insertion {
                self.builder.set_insertion_order(node.insertion_order().cloned());
            }
            return Ok(());
        }
        match self.from.next() {
            Some(Leaf::Opaque(value)) => self.insert(&value),
            Some(Leaf::None) | None => self.builder.atom(NodeKind::None, None, 1),
            Some(leaf) => {
                self.leaves.push(leaf);
                self.builder.atom(NodeKind::Leaf, None, 1)
            }
        }
    }

    fn insert(&mut self, value: &Value) -> Result<()> {
        self.leaves.extend_from_slice(&value.leaves());
        self.builder.insert(value.root(), 1)
    }

    fn leave(&mut self) -> Result<()> {
        let Some((node, first)) = self.open.pop() else { return Err(bug!("no node is open")) };
        match node.kind() {
            NodeKind::Leaf | NodeKind::Static => return Ok(()),
            NodeKind::Map if node.options().insertion => {
                let mut keys = node.entry_keys().to_vec();
                let swaps = self.builder.sort_entries(&mut keys, Some(first));
                swaps.into_iter().for_each(|swap| swap.apply(&mut self.leaves));
                let labels = LabelsRef::Keys(&keys);
                let data = NodeDataRef { name: NAMELESS, variant: NAMELESS, labels };
                self.builder.set_data(NodeKind::Map, Some(data));
            }
            _ => {}
        }
        self.builder.close()
    }
}

/// How many levels of keys are in keys.
fn nesting(node: NodeRef<'_>) -> usize {
    let mut most = 0;
    for data in node.node_data() {
        for key in data.values() {
            if key.as_leaf().is_none() {
                most = most.max(1 + nesting(key.root())); // each is in memory
            }
        }
    }
    most
}

/// The float whose bits are in a newtype. Another newtype of that name holds a scalar already, or
/// is one opaque leaf.
pub(super) fn float_of(value: Value) -> Leaf {
    let half = value.root().name().and_then(Half::named);
    match (half, &*value.leaves()) {
        (Some(half), [Leaf::U16(bits)]) => Leaf::F32(half.widen(*bits)),
        (Some(_), [leaf]) if value.root().child(0).is_some_and(NodeRef::is_leaf) => leaf.clone(),
        _ => Leaf::from(value),
    }
}
