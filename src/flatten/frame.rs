//! Open compounds, and the places where a value may come.

use crate::model::{NodeHead, NodeKind};

use super::rules::Keep;

/// What the next call serializes.
#[derive(Clone, Copy, Default)]
pub(super) enum NextValue {
    #[default]
    Child,
    /// The inside of a `Some`, if the option `none_is_leaf` is set.
    InsideSome,
    Key,
}

/// What the children of a frame become.
#[derive(Clone, Copy)]
pub(super) enum Role {
    /// Children of a node.
    Node,
    /// The only child takes the place of the frame.
    Through,
    /// The only child is kept as one value.
    Kept {
        keep: Keep,
        /// No serde call opened the frame, so none closes it: it closes together with its child.
        closes_with_child: bool,
    },
}

/// Node data from before, and how many of its keys are those of a map so far.
#[derive(Clone, Copy)]
pub(super) struct KnownData {
    pub(super) data: usize,
    pub(super) count: usize,
}

/// An open compound.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) role: Role,
    pub(super) kind: NodeKind,
    pub(super) name: &'static str,
    pub(super) variant: &'static str,
    /// The index of the first node of the frame, and of the first node of its next child.
    pub(super) at: usize,
    pub(super) next: usize,
    /// The last run of children, if there are any.
    pub(super) last: usize,
    pub(super) children: usize,
    /// For a map: its keys so far, while they are known. For a static: its value, without keys.
    pub(super) known: Option<KnownData>,
    /// A key of the map was recorded, but its value was not.
    pub(super) awaits_value: bool,
    /// The child is the inside of a `Some`, and the option `none_is_leaf` is set.
    pub(super) around_some: bool,
    /// Rules may need the paths of the children.
    pub(super) watched: bool,
    /// The frame counts as a level of depth.
    pub(super) counts: bool,
    /// The type of a value in the subtree owns something.
    pub(super) owning: bool,
    /// The first leaf, map, insertion and label of the frame.
    pub(super) first_leaf: usize,
    pub(super) first_map: usize,
    pub(super) first_insertion: usize,
    pub(super) first_label: usize,
}

impl Default for Frame {
    fn default() -> Self {
        Frame::ROOT
    }
}

impl Frame {
    /// The frame around the whole value.
    pub(super) const ROOT: Frame = Frame {
        role: Role::Through,
        kind: NodeKind::Tuple,
        name: "",
        variant: "",
        at: 0,
        next: 0,
        last: 0,
        children: 0,
        known: None,
        awaits_value: false,
        around_some: false,
        watched: false,
        counts: false,
        owning: false,
        first_leaf: 0,
        first_map: 0,
        first_insertion: 0,
        first_label: 0,
    };

    pub(super) fn head(&self) -> NodeHead<'static> {
        NodeHead { kind: self.kind, name: self.name, variant: self.variant }
    }

    /// The last run of children.
    #[inline]
    pub(super) fn last(&self) -> Option<usize> {
        (self.children > 0).then_some(self.last)
    }

    /// Counts a child, which belongs to the run `last`.
    pub(super) fn count(&mut self, last: usize) {
        self.last = last;
        self.children += 1; // at most the calls
    }
}
