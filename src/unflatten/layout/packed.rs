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
    /// One note for each compound that needs it, in pre-order: the index of its node data, or the
    /// number of its children.
    pub(in crate::unflatten) notes: [u16; PackedLayout::NOTES],
}

impl PackedLayout {
    pub(in crate::unflatten) const NOTES: usize = 8;
}

/// The form of a node and its subtree, in pre-order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::unflatten) struct LayoutCode(pub(in crate::unflatten) u128);

/// The maximum number of leaves of a layout.
pub(in crate::unflatten) const WINDOW: usize = 64;

/// The minimum number of elements for which a layout is read.
pub(in crate::unflatten) const RUN: usize = 4;

/// A leaf is a zero bit. Any other node is a one bit, its kind and its number of children, in a
/// short or a long code. Two nodes of the same form have the same leaves in the same places.
impl LayoutCode {
    /// Begins with a one bit, so that forms of different lengths differ.
    const EMPTY: LayoutCode = LayoutCode(1);
    const SHORT: usize = 8;
    const LONG: usize = 12;

    #[inline(always)]
    fn leaves(self, count: usize) -> Option<LayoutCode> {
        let bits = u32::try_from(count).ok().filter(|bits| *bits <= self.0.leading_zeros())?;
        self.0.checked_shl(bits).map(LayoutCode)
    }

    #[inline(always)]
    fn compound(self, kind: NodeKind, count: usize) -> Option<LayoutCode> {
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
            count @ 0..8 => (1 << 7 | kind << 4 | count, Self::SHORT),
            count @ 8..128 => (1 << 11 | kind << 8 | 1 << 7 | count, Self::LONG),
            _ => return None,
        };
        let LayoutCode(before) = self.leaves(length)?;
        Some(LayoutCode(before | code))
    }
}

impl PackedLayout {
    /// The layout of the first node with its subtree, if it has one.
    pub(in crate::unflatten) fn of(nodes: &[Node]) -> Option<Self> {
        let leaves = nodes.first()?.leaves;
        if leaves > WINDOW {
            return None;
        }
        let mut rigid =
            PackedLayout { form: LayoutCode::EMPTY, leaves, notes: [0; PackedLayout::NOTES] };
        rigid.add(nodes, &mut 0)?;
        Some(rigid)
    }

    /// Recursion ends at the latest when the form is full. `noted` counts the notes so far.
    fn add(&mut self, nodes: &[Node], noted: &mut usize) -> Option<()> {
        let own = nodes.first()?;
        let mut runs = nodes.get(1..own.span)?;
        match own.kind {
            NodeKind::Leaf => return self.form.leaves(1).map(|form| self.form = form),
            _ => self.form = self.form.compound(own.kind, own.children)?,
        }
        if is_noted(own.kind) {
            let note = if own.kind.is_named() { own.data } else { own.children };
            *self.notes.get_mut(*noted)? = note.try_into().ok()?;
            *noted += 1;
        }
        while let Some(run) = runs.first() {
            match run.kind {
                NodeKind::Leaf => self.form = self.form.leaves(run.repeat)?,
                _ => (0..run.repeat).try_for_each(|_| self.add(runs, noted))?,
            }
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

/// A walk over a value that should have a known form. `data` is where the leaves come from.
pub(in crate::unflatten) struct Steps<'w, D> {
    rigid: &'w PackedLayout,
    form: LayoutCode,
    leaves: usize,
    notes: usize,
    pub(in crate::unflatten) data: D,
}

impl<'w, D> Steps<'w, D> {
    /// A walk before the first call.
    #[inline(always)]
    pub(in crate::unflatten) fn new(rigid: &'w PackedLayout, data: D) -> Self {
        Steps { rigid, form: LayoutCode::EMPTY, leaves: 0, notes: 0, data }
    }

    /// Whether exactly the calls of the layout were made.
    #[inline(always)]
    pub(in crate::unflatten) fn is_complete(&self) -> bool {
        self.form == self.rigid.form
    }

    /// The number of notes so far.
    #[inline(always)]
    pub(in crate::unflatten) fn num_notes(&self) -> usize {
        self.notes
    }

    /// The note of the next compound, if it has one.
    #[inline(always)]
    pub(in crate::unflatten) fn next_note(&self) -> Matched<usize> {
        self.rigid.notes.get(self.notes).copied().map(usize::from).ok_or(Mismatch)
    }

    /// The number of leaves so far.
    #[inline(always)]
    pub(in crate::unflatten) fn num_leaves(&self) -> usize {
        self.leaves
    }

    /// Adds a leaf, and returns its index.
    #[inline(always)]
    pub(in crate::unflatten) fn leaf(&mut self) -> Matched<usize> {
        self.form = self.form.leaves(1).ok_or(Mismatch)?;
        self.leaves += 1; // at most the bits of a form
        Ok(self.leaves - 1)
    }

    /// Adds a compound with `count` children, and returns its note if it has one.
    #[inline(always)]
    pub(in crate::unflatten) fn compound(
        &mut self,
        kind: NodeKind,
        count: usize,
    ) -> Matched<Option<usize>> {
        self.form = self.form.compound(kind, count).ok_or(Mismatch)?;
        if !is_noted(kind) {
            return Ok(None);
        }
        let note = *self.rigid.notes.get(self.notes).ok_or(Mismatch)?;
        self.notes += 1; // in range, as checked above
        Ok(Some(note.into()))
    }
}
