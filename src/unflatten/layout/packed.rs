//! Layouts of structs, tuples, units and `Option`s, packed into a number.
//!
//! A type that always has the same form makes serde calls that are known at compile time. So the
//! [`LayoutCode`] of these calls is a constant, and comparing it with the form of a node means
//! comparing two numbers. Types whose form varies work as well, but are slower. Names are not part
//! of a form, and are compared one by one.

use crate::error::{Matched, Mismatch};
use crate::model::{Node, NodeKind};

/// A node whose form fits into a number.
#[derive(Debug)]
pub(in crate::unflatten) struct PackedLayout {
    pub(in crate::unflatten) form: LayoutCode,
    pub(in crate::unflatten) leaves: usize,
    /// One note for each compound that needs it, in pre-order: the index of its shape, or the
    /// number of its children.
    pub(in crate::unflatten) notes: [u16; PackedLayout::NOTES],
}

impl PackedLayout {
    pub(in crate::unflatten) const NOTES: usize = 8;
}

/// The form of a node and its subtree, in pre-order: a leaf is a zero bit; any other node is a one
/// bit, its kind and its number of children, in a short or a long code. Two nodes of the same form
/// have the same leaves in the same places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::unflatten) struct LayoutCode {
    /// The last 128 bits.
    bits: u128,
    /// The number of all bits. So a form that is too long equals none.
    length: usize,
}

/// The maximum number of leaves of a layout.
pub(in crate::unflatten) const WINDOW: usize = 64;

const MOST_BITS: usize = 128;

/// The minimum number of elements for which a layout is read.
pub(in crate::unflatten) const RUN: usize = 4;

impl LayoutCode {
    #[inline(always)]
    fn leaf(&mut self) {
        self.bits <<= 1;
        self.length += 1; // at most one for each call
    }

    #[inline(always)]
    fn compound(&mut self, kind: NodeKind, count: usize) -> Option<()> {
        let kind = match kind {
            NodeKind::Tuple => 0,
            NodeKind::TupleStruct => 1,
            NodeKind::Struct => 2,
            NodeKind::UnitStruct | NodeKind::NewtypeStruct => 3,
            NodeKind::None | NodeKind::Some => 4,
            NodeKind::Unit => 5,
            _ => return None,
        };
        let (code, length) = match u128::try_from(count).ok()? {
            count @ 0..8 => (1 << 7 | kind << 4 | count, 8),
            count @ 8..128 => (1 << 11 | kind << 8 | 1 << 7 | count, 12),
            _ => return None,
        };
        self.bits = self.bits << length | code;
        self.length += length; // as for leaves
        Some(())
    }
}

impl PackedLayout {
    /// The layout of the first node with its subtree, if it has one.
    pub(in crate::unflatten) fn of(nodes: &[Node]) -> Option<Self> {
        let leaves = nodes.first()?.leaves;
        if leaves > WINDOW {
            return None;
        }
        let notes = [0; PackedLayout::NOTES];
        let mut packed = PackedLayout { form: LayoutCode::default(), leaves, notes };
        packed.add(nodes, &mut 0)?;
        Some(packed).filter(|packed| packed.form.length <= MOST_BITS)
    }

    /// Recursion ends at the latest when the form is full. `noted` counts the notes so far.
    fn add(&mut self, nodes: &[Node], noted: &mut usize) -> Option<()> {
        let own = nodes.first().filter(|_| self.form.length <= MOST_BITS)?;
        let mut runs = nodes.get(1..own.span)?;
        match own.kind {
            NodeKind::Leaf => {
                self.form.leaf();
                return Some(());
            }
            _ => self.form.compound(own.kind, own.children)?,
        }
        if is_noted(own.kind) {
            let note = if own.kind.is_named() { own.shape } else { own.children };
            *self.notes.get_mut(*noted)? = note.try_into().ok()?;
            *noted += 1;
        }
        while let Some(run) = runs.first() {
            (0..run.repeat).try_for_each(|_| self.add(runs, noted))?;
            runs = runs.get(run.span..)?;
        }
        Some(())
    }
}

/// Whether a compound of this kind has a note in a [`PackedLayout`].
#[inline(always)]
fn is_noted(kind: NodeKind) -> bool {
    kind.is_named() || matches!(kind, NodeKind::None | NodeKind::Some)
}

/// A walk over a value that should have a known form.
pub(in crate::unflatten) struct Steps<'w> {
    packed: &'w PackedLayout,
    form: LayoutCode,
    leaves: usize,
    notes: usize,
}

impl<'w> Steps<'w> {
    /// A walk before the first call.
    #[inline(always)]
    pub(in crate::unflatten) fn new(packed: &'w PackedLayout) -> Self {
        Steps { packed, form: LayoutCode::default(), leaves: 0, notes: 0 }
    }

    /// Whether exactly the calls of the layout were made.
    #[inline(always)]
    pub(in crate::unflatten) fn is_complete(&self) -> bool {
        self.form == self.packed.form
    }

    /// The number of notes so far.
    #[inline(always)]
    pub(in crate::unflatten) fn num_notes(&self) -> usize {
        self.notes
    }

    /// The note of the next compound, if it has one.
    #[inline(always)]
    pub(in crate::unflatten) fn next_note(&self) -> Matched<usize> {
        self.packed.notes.get(self.notes).copied().map(usize::from).ok_or(Mismatch)
    }

    /// The number of leaves so far.
    #[inline(always)]
    pub(in crate::unflatten) fn num_leaves(&self) -> usize {
        self.leaves
    }

    #[inline(always)]
    pub(in crate::unflatten) fn leaf(&mut self) {
        self.form.leaf();
        self.leaves += 1; // at most one for each call
    }

    /// Adds a compound with `count` children.
    #[inline(always)]
    pub(in crate::unflatten) fn compound(&mut self, kind: NodeKind, count: usize) -> Matched<()> {
        self.form.compound(kind, count).ok_or(Mismatch)?;
        self.notes += usize::from(is_noted(kind)); // at most one for each call
        Ok(())
    }
}
