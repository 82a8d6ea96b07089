//! An open compound, and what may come in a place.

use crate::model::{NodeHead, NodeKind};

use super::rules::Keep;

/// What the next call stands for.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Child,
    /// The inside of a `Some`, where `None` is a leaf.
    InsideSome,
    Key,
}

/// What becomes of the children of a frame.
#[derive(Clone, Copy)]
pub(super) enum Role {
    /// They are the children of a node.
    Node,
    /// There is one, and it takes the place of the frame.
    Through,
    /// There is one, and it is kept as one value. A frame that no call of serde opened closes itself with its child.
    Kept(Kept, bool),
}

/// What is kept as one value.
#[derive(Clone, Copy)]
pub(super) enum Kept {
    Key,
    Static,
    Leaf,
}

impl Kept {
    pub(super) fn of(keep: Keep) -> Self {
        match keep {
            Keep::Static => Kept::Static,
            Keep::Leaf => Kept::Leaf,
        }
    }
}

/// An open compound.
pub(super) struct Frame {
    pub(super) role: Role,
    pub(super) head: NodeHead<'static>,
    /// Where its nodes begin, and where those of the next child do.
    pub(super) at: usize,
    pub(super) next: usize,
    /// The last run of children.
    pub(super) last: Option<usize>,
    pub(super) children: usize,
    /// A shape whose first keys, so many, are those that this map has so far.
    pub(super) known: Option<(usize, usize)>,
    /// A map's key was recorded, and its value not yet.
    pub(super) awaits_value: bool,
    /// The child is the inside of a `Some`, where `None` is a leaf.
    pub(super) around_some: bool,
    /// Rules may ask for the path of its children.
    pub(super) watched: bool,
    /// It counts as a level of depth.
    pub(super) counts: bool,
    /// The type of something below owns something.
    pub(super) owning: bool,
    /// Where its own begin.
    pub(super) first_leaf: usize,
    pub(super) first_map: usize,
    pub(super) first_arrival: usize,
    pub(super) first_label: usize,
}

impl Frame {
    /// The place of a whole value.
    pub(super) const ROOT: Frame = Frame {
        role: Role::Through,
        head: NodeHead::new(NodeKind::Tuple),
        at: 0,
        next: 0,
        last: None,
        children: 0,
        known: None,
        awaits_value: false,
        around_some: false,
        watched: false,
        counts: false,
        owning: false,
        first_leaf: 0,
        first_map: 0,
        first_arrival: 0,
        first_label: 0,
    };
}
