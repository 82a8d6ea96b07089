//! Nodes whose form does not vary: structs, tuples and units around leaves, and nothing else.
//!
//! A type that always has the same form calls serde in a way that is known when the type is compiled. So if its calls are
//! put into a [`Form`], that is a constant, and to compare it with the form of a node is to compare two numbers. Types that
//! vary are compared as well, only not as fast. Names are no part of a form: they are compared one by one.

use crate::error::{Matched, Mismatch};
use crate::model::{Node, NodeKind};

/// The most leaves of a rigid node. It is given so many slots, even if it needs less: their number being a constant,
/// nobody has to check that there are enough.
pub(crate) const WINDOW: usize = 64;

/// So many elements are worth a look whether they are rigid.
pub(crate) const RUN: usize = 4;

/// The most structs, newtypes and the like in a rigid node.
const NAMED: usize = 8;

/// What stands in a rigid node, in pre-order: a bit for each leaf, and eleven for anything else, which say how many children
/// follow. Two nodes of the same form have the same leaves in the same places.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Form(u128);

impl Form {
    /// Begins with a one, so that forms of different lengths differ.
    const EMPTY: Form = Form(1);

    #[inline(always)]
    fn leaves(self, count: usize) -> Option<Form> {
        let bits = u32::try_from(count).ok().filter(|bits| *bits <= self.0.leading_zeros())?;
        self.0.checked_shl(bits).map(Form)
    }

    #[inline(always)]
    fn compound(self, kind: NodeKind, count: usize) -> Option<Form> {
        let kind = match kind {
            NodeKind::Tuple => 0,
            NodeKind::TupleStruct => 1,
            NodeKind::Struct => 2,
            NodeKind::NewtypeStruct => 3,
            NodeKind::Unit => 4,
            NodeKind::UnitStruct => 5,
            _ => return None,
        };
        let count = u128::try_from(count).ok().filter(|count| *count < 1 << 7)?;
        let Form(before) = self.leaves(11)?;
        Some(Form(before | 1 << 10 | kind << 7 | count))
    }
}

impl Form {
    /// How many leaves come before the first difference to another form.
    fn leaves_in_common(self, other: Form) -> usize {
        let ([mut own, mut others], mut leaves) = ([self, other].map(Form::bits), 0);
        loop {
            let of_one = |(bits, left): (u128, u32)| match left {
                0 => None,
                _ if bits >> 127 == 0 => Some((0, 1)),
                _ => Some((bits >> 117, 11)),
            };
            match (of_one(own), of_one(others)) {
                (Some(next), Some(same)) if next == same => {
                    let (_, length) = next;
                    [own, others] =
                        [own, others].map(|(bits, left)| (bits << length, left - length));
                    leaves += usize::from(length == 1);
                }
                _ => return leaves,
            }
        }
    }

    /// From the highest bit on, and how many.
    fn bits(self) -> (u128, u32) {
        let Form(form) = self;
        let before = form.leading_zeros() + 1; // it is not zero
        (form.checked_shl(before).unwrap_or(0), 128 - before)
    }
}

/// A rigid node, and what is known of each compound in it that has a name, in pre-order.
pub(crate) struct Rigid<N> {
    form: Form,
    leaves: usize,
    named: [Option<N>; NAMED],
    names: usize,
}

impl<N: Copy> Rigid<N> {
    /// The first of these nodes with all below it, if it is rigid.
    pub(crate) fn of(nodes: &[Node], known: impl Fn(&Node) -> Option<N>) -> Option<Self> {
        let leaves = nodes.first()?.leaves;
        if leaves > WINDOW {
            return None;
        }
        let mut rigid = Rigid { form: Form::EMPTY, leaves, named: [None; NAMED], names: 0 };
        rigid.add(nodes, &known)?;
        Some(rigid)
    }

    /// No deeper than the form can hold.
    fn add(&mut self, nodes: &[Node], known: &impl Fn(&Node) -> Option<N>) -> Option<()> {
        let own = nodes.first()?;
        self.form = match own.kind {
            NodeKind::Leaf => self.form.leaves(1),
            kind => self.form.compound(kind, own.children),
        }?;
        if own.kind.is_named() {
            *self.named.get_mut(self.names)? = Some(known(own)?);
            self.names += 1;
        }
        let mut runs = nodes.get(1..own.span)?;
        while let Some(run) = runs.first() {
            match run.kind {
                NodeKind::Leaf => self.form = self.form.leaves(run.repeat)?,
                _ => (0..run.repeat).try_for_each(|_| self.add(runs, known))?,
            }
            runs = runs.get(run.span..)?;
        }
        Some(())
    }

    /// How many leaves come before the first difference between the node and what was called.
    #[cold]
    pub(crate) fn leaves_in_common(&self, called: Form) -> usize {
        self.form.leaves_in_common(called)
    }

    /// How many leaves it has: at most [`WINDOW`].
    #[inline]
    pub(crate) fn num_leaves(&self) -> usize {
        self.leaves
    }
}

/// A walk over a value that should have the form of a rigid node: what has been called so far, and what the leaves are put
/// into or come from.
pub(crate) struct Steps<'w, N, D> {
    rigid: &'w Rigid<N>,
    form: Form,
    leaves: usize,
    names: usize,
    pub(crate) data: D,
}

impl<N: Copy, D> Steps<'_, N, D> {
    /// How many leaves have come.
    #[inline(always)]
    pub(crate) fn num_leaves(&self) -> usize {
        self.leaves
    }

    /// A leaf: its index.
    #[inline(always)]
    pub(crate) fn leaf(&mut self) -> Matched<usize> {
        self.form = self.form.leaves(1).ok_or(Mismatch)?;
        self.leaves += 1; // at most the bits of a form
        Ok(self.leaves - 1)
    }

    /// A compound that will have so many children; what is known of it, if it has a name.
    #[inline(always)]
    pub(crate) fn compound(&mut self, kind: NodeKind, count: usize) -> Matched<Option<N>> {
        self.form = self.form.compound(kind, count).ok_or(Mismatch)?;
        if !kind.is_named() {
            return Ok(None);
        }
        let known = self.rigid.named.get(self.names).ok_or(Mismatch)?.ok_or(Mismatch)?;
        self.names += 1; // in range, as was seen
        Ok(Some(known))
    }

    /// What was called so far, to be [looked at](Rigid::leaves_in_common) aside.
    #[inline(always)]
    pub(crate) fn form(&self) -> Form {
        self.form
    }
}

/// Where a walk is: before the node, or at one inside it.
pub(crate) trait Place<'w, N> {
    type Data;
    type Open: Open<'w, N, Data = Self::Data>;

    fn open(self, rigid: &'w Rigid<N>) -> Self::Open;
}

/// A node that was opened at a place.
pub(crate) trait Open<'w, N> {
    type Data;

    fn steps(&mut self) -> &mut Steps<'w, N, Self::Data>;

    /// A mismatch, if this is the end of the walk, and not all of the node has come, or something else.
    fn close(self) -> Matched<()>;
}

/// A walk that has not begun. It sets out with its data alone, so that how far it has come is a constant in the code of the
/// value's type, whether that is compiled into the caller or not.
pub(crate) struct Outset<D>(pub(crate) D);

impl<'w, N: Copy + 'w, D> Place<'w, N> for Outset<D> {
    type Data = D;
    type Open = Steps<'w, N, D>;

    #[inline(always)]
    fn open(self, rigid: &'w Rigid<N>) -> Steps<'w, N, D> {
        Steps { rigid, form: Form::EMPTY, leaves: 0, names: 0, data: self.0 }
    }
}

impl<'w, N: Copy, D> Place<'w, N> for &mut Steps<'w, N, D> {
    type Data = D;
    type Open = Self;

    #[inline(always)]
    fn open(self, _: &'w Rigid<N>) -> Self {
        self
    }
}

impl<'w, N: Copy, D> Open<'w, N> for Steps<'w, N, D> {
    type Data = D;

    #[inline(always)]
    fn steps(&mut self) -> &mut Self {
        self
    }

    #[inline(always)]
    fn close(self) -> Matched<()> {
        if self.form == self.rigid.form { Ok(()) } else { Err(Mismatch) }
    }
}

impl<'w, N: Copy, D> Open<'w, N> for &mut Steps<'w, N, D> {
    type Data = D;

    #[inline(always)]
    fn steps(&mut self) -> &mut Steps<'w, N, D> {
        self
    }

    #[inline(always)]
    fn close(self) -> Matched<()> {
        Ok(())
    }
}
