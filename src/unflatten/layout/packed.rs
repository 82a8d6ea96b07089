//! Nodes whose form fits into a number: structs, tuples, units and `Option`s, and nothing else.
//!
//! A type that always has the same form calls serde in a way that is known when the type is compiled. So if its calls are
//! put into a [`LayoutCode`], that is a constant, and to compare it with the form of a node is to compare two numbers. Types that
//! vary are compared as well, only not as fast. Names are no part of a form: they are compared one by one.

use crate::error::{Matched, Mismatch};
use crate::model::{Node, NodeKind};

/// A node whose form fits into a number.
#[derive(Debug)]
pub(in crate::unflatten) struct PackedLayout {
    pub(in crate::unflatten) form: LayoutCode,
    pub(in crate::unflatten) leaves: usize,
    /// Of each compound in it that needs one, in pre-order: the index of its shape, or how many children it has.
    pub(in crate::unflatten) notes: [u16; PackedLayout::NOTES],
}

impl PackedLayout {
    pub(in crate::unflatten) const NOTES: usize = 8;
}

/// What stands in a [`PackedLayout`] node, in pre-order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::unflatten) struct LayoutCode(pub(in crate::unflatten) u128);

/// The most leaves of a rigid node. It is given so many slots, even if it needs less: their number being a constant,
/// nobody has to check that there are enough.
pub(in crate::unflatten) const WINDOW: usize = 64;

/// So many elements are worth a look whether they are rigid.
pub(in crate::unflatten) const RUN: usize = 4;

/// A form has a bit for each leaf. Anything else has a one, its kind, and its number of children: short or long. Two nodes
/// of the same form have the same leaves in the same places.
impl LayoutCode {
    /// Begins with a one, so that forms of different lengths differ.
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
    /// The first of these nodes with all below it, if it is rigid.
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

    /// No deeper than the form can hold. So many compounds have a note so far.
    fn add(&mut self, nodes: &[Node], noted: &mut usize) -> Option<()> {
        let own = nodes.first()?;
        let mut runs = nodes.get(1..own.span)?;
        match own.kind {
            NodeKind::Leaf => return self.form.leaves(1).map(|form| self.form = form),
            _ => self.form = self.form.compound(own.kind, own.children)?,
        }
        if is_noted(own.kind) {
            let note = if own.kind.is_named() { own.shape } else { own.children };
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

/// Which compounds have a note in a [`PackedLayout`] node.
#[inline(always)]
fn is_noted(kind: NodeKind) -> bool {
    kind.is_named() || matches!(kind, NodeKind::None | NodeKind::Some)
}

/// A walk over a value that should have the form of a rigid node: what has been called so far, and what the leaves are put
/// into or come from.
pub(in crate::unflatten) struct Steps<'w, D> {
    rigid: &'w PackedLayout,
    form: LayoutCode,
    leaves: usize,
    notes: usize,
    pub(in crate::unflatten) data: D,
}

impl<'w, D> Steps<'w, D> {
    /// Before the first call.
    #[inline(always)]
    pub(in crate::unflatten) fn new(rigid: &'w PackedLayout, data: D) -> Self {
        Steps { rigid, form: LayoutCode::EMPTY, leaves: 0, notes: 0, data }
    }

    /// Whether the whole of the node was called, and nothing else.
    #[inline(always)]
    pub(in crate::unflatten) fn is_complete(&self) -> bool {
        self.form == self.rigid.form
    }

    /// How many notes have come.
    #[inline(always)]
    pub(in crate::unflatten) fn num_notes(&self) -> usize {
        self.notes
    }

    /// The note of the compound that comes next, if that has one.
    #[inline(always)]
    pub(in crate::unflatten) fn next_note(&self) -> Matched<usize> {
        self.rigid.notes.get(self.notes).copied().map(usize::from).ok_or(Mismatch)
    }

    /// How many leaves have come.
    #[inline(always)]
    pub(in crate::unflatten) fn num_leaves(&self) -> usize {
        self.leaves
    }

    /// A leaf: its index.
    #[inline(always)]
    pub(in crate::unflatten) fn leaf(&mut self) -> Matched<usize> {
        self.form = self.form.leaves(1).ok_or(Mismatch)?;
        self.leaves += 1; // at most the bits of a form
        Ok(self.leaves - 1)
    }

    /// A compound that will have so many children: its note, if it has one.
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
        self.notes += 1; // in range, as was seen
        Ok(Some(note.into()))
    }
}
