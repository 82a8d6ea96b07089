//! Layouts of structs, tuples, units and `Option`s, packed into a number.
//!
//! If a type always makes the same serde calls, they are known at compile time. So their
//! [`LayoutCode`] is a constant, and comparing it with the code of a node means comparing two
//! numbers. Types whose calls vary work as well, but are slower. Names are not part of a code, and
//! are compared one by one.

use crate::error::{Matched, Mismatch};
use crate::model::{Node, NodeKind};

/// A node whose code fits into a number.
#[derive(Debug)]
pub(in crate::unflatten::fast) struct PackedLayout {
    pub(in crate::unflatten::fast) code: LayoutCode,
    pub(in crate::unflatten::fast) leaves: usize,
    /// One extra for each compound that needs it, in pre-order: the index of its node data, or the
    /// number of its children.
    pub(in crate::unflatten::fast) extras: [u16; PackedLayout::EXTRAS],
}

impl PackedLayout {
    pub(in crate::unflatten::fast) const EXTRAS: usize = 8;
}

/// The code of a node and its subtree, in pre-order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::unflatten::fast) struct LayoutCode(pub(in crate::unflatten::fast) u128);

/// The maximum number of leaves of a layout.
pub(in crate::unflatten::fast) const WINDOW: usize = 64;

/// A leaf is a zero bit. Any other node is a one bit, its kind and its number of children, in few
/// bits or in many. Two nodes of the same code have the same leaves in the same places.
impl LayoutCode {
    /// Begins with a one bit, so that codes of different lengths differ.
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
    pub(in crate::unflatten::fast) fn of(nodes: &[Node]) -> Option<Self> {
        let leaves = nodes.first()?.leaves;
        if leaves > WINDOW {
            return None;
        }
        let mut layout =
            PackedLayout { code: LayoutCode::EMPTY, leaves, extras: [0; PackedLayout::EXTRAS] };
        layout.add(nodes, &mut 0)?;
        Some(layout)
    }

    /// Recursion ends at the latest when the code is full.
    fn add(&mut self, nodes: &[Node], extras_so_far: &mut usize) -> Option<()> {
        let own = nodes.first()?;
        let mut runs = nodes.get(1..own.span)?;
        match own.kind {
            NodeKind::Leaf => return self.code.leaves(1).map(|code| self.code = code),
            _ => self.code = self.code.compound(own.kind, own.children)?,
        }
        if has_extra(own.kind) {
            let extra = if own.kind.is_named() { own.data } else { own.children };
            *self.extras.get_mut(*extras_so_far)? = extra.try_into().ok()?;
            *extras_so_far += 1;
        }
        while let Some(run) = runs.first() {
            match run.kind {
                NodeKind::Leaf => self.code = self.code.leaves(run.repeat)?,
                _ => (0..run.repeat).try_for_each(|_| self.add(runs, extras_so_far))?,
            }
            runs = runs.get(run.span..)?;
        }
        Some(())
    }
}

/// Whether a compound of this kind has an extra in a [`PackedLayout`].
#[inline(always)]
fn has_extra(kind: NodeKind) -> bool {
    kind.is_named() || matches!(kind, NodeKind::None | NodeKind::Some)
}

/// A walk over a value that should have a known code. `data` is where the leaves come from.
pub(in crate::unflatten::fast) struct LayoutSteps<'w, D> {
    layout: &'w PackedLayout,
    code: LayoutCode,
    leaves: usize,
    extras: usize,
    pub(in crate::unflatten::fast) data: D,
}

impl<'w, D> LayoutSteps<'w, D> {
    /// A walk before the first call.
    #[inline(always)]
    pub(in crate::unflatten::fast) fn new(layout: &'w PackedLayout, data: D) -> Self {
        LayoutSteps { layout, code: LayoutCode::EMPTY, leaves: 0, extras: 0, data }
    }

    /// Whether exactly the calls of the layout were made.
    #[inline(always)]
    pub(in crate::unflatten::fast) fn is_complete(&self) -> bool {
        self.code == self.layout.code
    }

    /// The number of extras so far.
    #[inline(always)]
    pub(in crate::unflatten::fast) fn num_extras(&self) -> usize {
        self.extras
    }

    /// The extra of the next compound, if it has one.
    #[inline(always)]
    pub(in crate::unflatten::fast) fn next_extra(&self) -> Matched<usize> {
        self.layout.extras.get(self.extras).copied().map(usize::from).ok_or(Mismatch)
    }

    /// The number of leaves so far.
    #[inline(always)]
    pub(in crate::unflatten::fast) fn num_leaves(&self) -> usize {
        self.leaves
    }

    /// Adds a leaf, and returns its index.
    #[inline(always)]
    pub(in crate::unflatten::fast) fn leaf(&mut self) -> Matched<usize> {
        self.code = self.code.leaves(1).ok_or(Mismatch)?;
        self.leaves += 1; // at most the bits of a code
        Ok(self.leaves - 1)
    }

    /// Adds a compound with `count` children, and returns its extra if it has one.
    #[inline(always)]
    pub(in crate::unflatten::fast) fn compound(
        &mut self,
        kind: NodeKind,
        count: usize,
    ) -> Matched<Option<usize>> {
        self.code = self.code.compound(kind, count).ok_or(Mismatch)?;
        if !has_extra(kind) {
            return Ok(None);
        }
        let extra = *self.layout.extras.get(self.extras).ok_or(Mismatch)?;
        self.extras += 1; // in range, as checked above
        Ok(Some(extra.into()))
    }
}
