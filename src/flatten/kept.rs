//! Subtrees that are kept as one value: keys, statics and opaque leaves.

use crate::error::{ErrorKind, Result};
use crate::leaf::Scalar;
use crate::leaf::float::Half;
use crate::model::{
    Labels, Leaf, LeafKind, MAX_KEY_NESTING, NodeHead, NodeKind, Options, Tree, Value,
};
use crate::treedef::encoding::{LabelsRef, NodeDataRef};
use crate::treedef::node_ref::NodeRef;
use crate::treedef::text::brief;

use super::frame::{Frame, KnownData, NextValue, Role};
use super::recording::Recording;
use super::rules::Keep;

impl Recording {
    pub(super) fn begin_keeping(&mut self, keep: Keep, closes_with_child: bool) -> Result<()> {
        if self.keeping >= MAX_KEY_NESTING {
            return Err(ErrorKind::Depth { limit: MAX_KEY_NESTING }.into());
        }
        self.start_keeping(keep, closes_with_child);
        Ok(())
    }

    pub(super) fn start_keeping(&mut self, keep: Keep, closes_with_child: bool) {
        self.keeping += 1;
        self.expect_next(NextValue::Child);
        let role = Role::Kept { keep, closes_with_child };
        self.push(role, NodeHead::new(NodeKind::Static));
        self.frame.first_leaf = self.kept.len();
    }

    /// Takes out the kept value and puts it in its place.
    pub(super) fn end_keeping(&mut self) -> Result<()> {
        let Role::Kept { keep, closes_with_child } = self.frame.role else { return Ok(()) };
        if let Some(KnownData { data, .. }) = self.frame.known {
            self.pop_kept();
            self.builder.open(NodeKind::Static, data);
            return Ok(());
        }
        let value = self.kept_value()?;
        match keep {
            Keep::Key => self.other_key(value),
            Keep::Static => self.put_static(&value),
            Keep::Leaf | Keep::Half => {
                self.met_opaque = true;
                self.last_is_none = is_nothing(&value);
                let leaf = match keep {
                    Keep::Half => float_of(value),
                    _ => Leaf::from(value),
                };
                let kind = leaf.kind();
                let opaque = (kind == LeafKind::Opaque).then(|| leaf.clone());
                if !self.leaves.push_leaf(leaf) {
                    let by = if closes_with_child { "a rule" } else { "a mark" };
                    let error = match opaque {
                        Some(leaf) => self.wrong_kind(kind, || {
                            format!("{by} made one opaque leaf of `{}`", brief(&leaf))
                        }),
                        None => self.wrong_scalar(kind),
                    };
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Ends the recording of a value that is kept as a whole.
    pub(super) fn finish_value(mut self: Box<Self>) -> Result<Value> {
        let value = self.kept_value()?;
        self.spare();
        Ok(value)
    }

    /// Takes out the kept value.
    fn kept_value(&mut self) -> Result<Value> {
        self.expect_no_failure()?;
        let Frame { at, first_leaf, first_map, first_insertion, .. } = self.frame;
        self.pop_kept();
        let mut leaves = self.kept.split_off(first_leaf);
        if self.builder.nodes.len() == at
            && let Some(leaf) = leaves.pop()
        {
            return Ok(Value::from(leaf));
        }
        let mut insertions = self.insertions.split_off(first_insertion);
        insertions.iter_mut().for_each(|insertion| insertion.map -= first_map);
        self.maps = first_map;
        let treedef = self.builder.extract(at, Options::default(), insertions);
        Ok(Value::from_tree(Tree::from_parts(treedef.with_limits(self.limits), leaves)))
    }

    fn pop_kept(&mut self) {
        self.pop();
        self.expect_next(NextValue::Child);
    }

    /// Keeps a scalar.
    pub(super) fn keep_scalar(&mut self, scalar: Scalar<'_>) {
        let is_static = matches!(self.frame.role, Role::Kept { keep: Keep::Static, .. });
        let is_static = is_static && self.keeping == 1;
        match is_static.then(|| self.builder.node_data.static_of(scalar)).flatten() {
            Some(data) => self.frame.known = Some(KnownData { data, count: 0 }),
            None => self.kept.push(scalar.into()),
        }
    }

    pub(super) fn put_static(&mut self, value: &Value) {
        let labels = LabelsRef::Static(value);
        let data = self.builder.node_data.intern(NodeDataRef { name: &"", variant: &"", labels });
        self.builder.open(NodeKind::Static, data);
    }

    /// Whether the complete child would be read as `None` if serde asked for an option. serde's
    /// buffers look through newtypes, and treat a unit as `None`.
    pub(super) fn reads_as_none(&self) -> bool {
        let nodes = &self.builder.nodes[self.frame.next..];
        let inside = nodes.iter().find(|node| node.kind != NodeKind::NewtypeStruct);
        let Some(inside) = inside else { return self.last_is_none };
        match inside.kind {
            NodeKind::Unit | NodeKind::UnitStruct => true,
            NodeKind::Leaf => self.last_is_none,
            NodeKind::Static => {
                match self.builder.node_data.get(inside.data).map(|data| &data.labels) {
                    Some(Labels::Static(value)) => is_nothing(value),
                    _ => false,
                }
            }
            _ => false,
        }
    }
}

/// The float whose bits are in a newtype. Another newtype of that name holds a scalar already, or
/// is one opaque leaf.
fn float_of(value: Value) -> Leaf {
    let half = value.root().name().and_then(Half::named);
    match (half, &*value.leaves()) {
        (Some(half), [Leaf::U16(bits)]) => Leaf::F32(half.widen(*bits)),
        (Some(_), [leaf]) if value.root().child(0).is_some_and(NodeRef::is_leaf) => leaf.clone(),
        _ => Leaf::from(value),
    }
}

/// Whether a value is an option or a unit, possibly inside newtypes.
fn is_nothing(value: &Value) -> bool {
    let kind = value.root().inside_newtypes().kind();
    matches!(kind, NodeKind::None | NodeKind::Some | NodeKind::Unit | NodeKind::UnitStruct)
}
