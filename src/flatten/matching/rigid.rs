//! A value beside a [rigid](crate::rigid) node: on the way only names are compared, and in the end the form.
//!
//! This is for elements of which many are alike, and for small values. If one is perhaps different, the
//! [matcher](super::matcher) takes it from its beginning; if it is for sure, it is recorded.

use std::cell::Cell;
use std::{array, mem};

use serde::Serialize;

use crate::error::{Matched, Mismatch};
use crate::flatten::rules::Keep;
use crate::flatten::scalar::scalar_leaf;
use crate::flatten::serializer::{Entries, Fields, Head, Siblings, Walk, Walker};
use crate::leaf::Scalar;
use crate::leaf_type::Emit;
use crate::model::{
    Form, Labels, Leaf, Limits, Name, Node, NodeKind, Options, Rigid, Shape, Value,
};
use crate::node::is_name;
use crate::rigid::{Open, Outset, Place, RUN, WINDOW};

use super::known::Known;
use super::slots::{Fill, PutInWindow, Slots};

/// What a value is compared with.
pub(super) struct RigidValue<'t> {
    node: &'t Rigid,
    shapes: &'t [Shape],
    /// How opaque leaves are recorded.
    options: Options,
    depth_left: usize,
    /// Whether something was not as it should be, and how many leaves were, if that is known.
    parted: Cell<Option<Option<usize>>>,
}

impl<'t> RigidValue<'t> {
    fn new(node: &'t Rigid, known: &'t Known<'_>) -> Self {
        let Known { shapes, depth_left, .. } = *known;
        RigidValue { node, shapes, options: known.of_opaque(), depth_left, parted: Cell::default() }
    }

    #[cold]
    fn part(&self, called: Form) {
        if self.parted.get().is_none() {
            self.parted.set(Some(self.node.leaves_in_common(called)));
        }
    }

    /// What is called is perhaps as it should be, but not known here.
    #[cold]
    fn part_somewhere(&self) {
        self.parted.set(Some(None));
    }

    /// How many leaves were as they should be, if a value is different for sure.
    fn parted(&self) -> Option<usize> {
        self.parted.get().flatten()
    }
}

/// Elements that were put.
pub(in crate::flatten) struct RigidRun<S, T> {
    /// What is left of the slots.
    pub(in crate::flatten) slots: S,
    pub(in crate::flatten) put: usize,
    /// The first that is perhaps different; if it is for sure, with how many slots were left where that was found.
    pub(in crate::flatten) different: Option<(T, Option<usize>)>,
}

/// Puts up to `count` elements that are all like a node, if it is rigid, as far as there are slots.
#[inline]
pub(in crate::flatten) fn put_rigid<S: Slots, I: Iterator>(
    known: &Known<'_>,
    nodes: &[Node],
    slots: S,
    count: usize,
    items: &mut I,
) -> RigidRun<S, I::Item>
where
    I::Item: Serialize,
{
    let node = if count < RUN { None } else { Rigid::of(nodes) };
    let Some(node) = node else { return RigidRun { slots, put: 0, different: None } };
    let element = RigidValue::new(&node, known);
    let (slots, put, different) = slots.put_in_windows(&element, count, items);
    let left = element.parted().map(|leaves| slots.left().saturating_sub(leaves)); // it had that many
    RigidRun { slots, put, different: different.map(|item| (item, left)) }
}

/// Puts the leaves of a whole value into a buffer, if its structure is rigid. If not, or if it is perhaps different, gives
/// none; if it is for sure, how many leaves were as expected.
#[inline]
pub(super) fn put_whole<L: Emit, T: Serialize + ?Sized>(
    known: &Known<'_>,
    node: &Rigid,
    value: &T,
    buffer: &mut Vec<L>,
) -> Option<Result<(), usize>> {
    let expected = RigidValue::new(node, known);
    let mut window: [L; WINDOW] = array::from_fn(|_| L::filler());
    match expected.put::<_, _, false>(&mut window, value) {
        Ok(()) => {
            buffer.resize_with(node.leaves, L::filler);
            buffer.iter_mut().zip(&mut window).for_each(|(slot, leaf)| mem::swap(slot, leaf));
            Some(Ok(()))
        }
        Err(Mismatch) => expected.parted().map(Err),
    }
}

impl PutInWindow for RigidValue<'_> {
    #[inline]
    fn num_leaves(&self) -> usize {
        self.node.leaves
    }

    #[inline(always)]
    fn put<L: Emit, T: Serialize + ?Sized, const USED: bool>(
        &self,
        window: &mut [L; WINDOW],
        value: &T,
    ) -> Matched<()> {
        let place = Outset(Window::<_, USED>(&mut *window));
        let matched = value.serialize(Walker(RigidWalk { expected: self, place }));
        if matched.is_err() && !USED && mem::needs_drop::<L>() {
            // What is filled again must not own anything.
            window.fill_with(L::filler);
        }
        matched
    }
}

/// The walk, at the element or inside it.
pub(super) struct RigidWalk<'w, P> {
    expected: &'w RigidValue<'w>,
    place: P,
}

/// Slots that are filled by their index.
pub(super) trait Put {
    type Leaf: Emit;

    fn put(&mut self, index: usize, leaf: Self::Leaf) -> Matched<()>;
}

/// Those of the element, and some more.
pub(super) struct Window<'w, L, const USED: bool>(&'w mut [L; WINDOW]);

impl<L: Emit, const USED: bool> Put for Window<'_, L, USED> {
    type Leaf = L;

    #[inline(always)]
    fn put(&mut self, index: usize, leaf: L) -> Matched<()> {
        Fill::<_, USED>::put_in(self.0.get_mut(index).ok_or(Mismatch)?, leaf);
        Ok(())
    }
}

impl<'w, P: Place<'w, Data: Put>> RigidWalk<'w, P> {
    #[inline(always)]
    fn children(self, head: Head, count: usize) -> Matched<RigidChildren<'w, P::Open>> {
        let RigidWalk { expected, place } = self;
        let mut open = place.open(expected.node);
        let note = open.steps().compound(head.kind, count)?;
        let shape =
            note.filter(|_| head.kind.is_named()).and_then(|note| expected.shapes.get(note));
        let fields: &[Name] = match shape {
            Some(shape) if !is_name(&shape.name, head.name) => return Err(Mismatch),
            Some(Shape { labels: Labels::Fields(fields), .. }) => fields,
            _ => &[],
        };
        Ok(RigidChildren { expected, open, fields, count, came: 0 })
    }

    #[inline(always)]
    fn put(self, leaf: impl FnOnce() -> Option<<P::Data as Put>::Leaf>) -> Matched<()> {
        let mut open = self.place.open(self.expected.node);
        let leaf = leaf().ok_or(Mismatch)?;
        let index = open.steps().leaf()?;
        open.steps().data.put(index, leaf)?;
        open.close()
    }
}

impl<'w, P: Place<'w, Data: Put>> Walk for RigidWalk<'w, P> {
    type Ok = ();
    type Error = Mismatch;
    type Sequence = RigidChildren<'w, P::Open>;
    type Fields = RigidChildren<'w, P::Open>;
    type Entries = RigidChildren<'w, P::Open>;

    #[inline(always)]
    fn leaf(self, scalar: Scalar<'_>) -> Matched<()> {
        self.put(|| Emit::from_scalar(scalar))
    }

    #[inline(always)]
    fn none(self) -> Matched<()> {
        self.atom(Head::new(NodeKind::None))
    }

    #[inline(always)]
    fn some<T: Serialize + ?Sized>(self, value: &T) -> Matched<()> {
        self.wrapper(Head::new(NodeKind::Some), value)
    }

    #[inline(always)]
    fn unit(self) -> Matched<()> {
        self.atom(Head::new(NodeKind::Unit))
    }

    #[inline(always)]
    fn atom(self, head: Head) -> Matched<()> {
        Siblings::end(self.children(head, 0)?)
    }

    #[inline(always)]
    fn wrapper<T: Serialize + ?Sized>(self, head: Head, value: &T) -> Matched<()> {
        let mut inside = self.children(head, 1)?;
        inside.child(value)?;
        Siblings::end(inside)
    }

    fn keep<T: Serialize + ?Sized>(self, keep: Keep, value: &T) -> Matched<()> {
        let &RigidValue { options, depth_left, .. } = self.expected;
        match keep {
            Keep::Leaf => self.put(|| {
                let value =
                    Value::recorded(value, options, Limits::default().depth(depth_left)).ok()?;
                Emit::from_leaf(Leaf::from(value))
            }),
            Keep::Static => Err(Mismatch),
        }
    }

    #[inline(always)]
    fn sequence(self, head: Head, count: Option<usize>) -> Matched<Self::Sequence> {
        match count {
            Some(count) => self.children(head, count),
            None => {
                self.expected.part_somewhere();
                Err(Mismatch)
            }
        }
    }

    #[inline(always)]
    fn fields(self, head: Head, count: usize) -> Matched<Self::Fields> {
        let fields = self.children(head, count)?;
        // The count is a constant, so the positions of the names need not be checked one by one.
        if fields.fields.len() == count { Ok(fields) } else { Err(Mismatch) }
    }

    fn entries(self) -> Matched<Self::Entries> {
        Err(Mismatch)
    }

    #[inline]
    fn collect<I: Iterator>(self, items: I) -> Matched<()>
    where
        I::Item: Serialize,
    {
        let RigidWalk { expected, place } = self;
        let mut open = place.open(expected.node);
        let (steps, compact, mut count) = (open.steps(), expected.options.compact, 0);
        for item in items {
            let leaf = scalar_leaf(&item, compact).inspect_err(|_| expected.part_somewhere())?;
            steps.data.put(steps.num_leaves() + count, leaf)?;
            count += 1; // so many there are
        }
        steps.sequence(count)?;
        open.close()
    }

    #[inline]
    fn is_human_readable(&self) -> bool {
        !self.expected.options.compact
    }
}

/// The children of a compound.
pub(super) struct RigidChildren<'w, O> {
    expected: &'w RigidValue<'w>,
    open: O,
    fields: &'w [Name],
    count: usize,
    came: usize,
}

impl<'w, O: Open<'w, Data: Put>> RigidChildren<'w, O> {
    /// Whoever swallows a mismatch must not succeed.
    #[inline(always)]
    fn lose(&mut self) -> Matched<()> {
        self.came = usize::MAX;
        self.expected.part(self.open.steps().form());
        Err(Mismatch)
    }
}

impl<'w, O: Open<'w, Data: Put>> Siblings for RigidChildren<'w, O> {
    type Ok = ();
    type Error = Mismatch;

    #[inline(always)]
    fn child<T: Serialize + ?Sized>(&mut self, value: &T) -> Matched<()> {
        let walk = RigidWalk { expected: self.expected, place: self.open.steps() };
        if self.came >= self.count || value.serialize(Walker(walk)).is_err() {
            return self.lose();
        }
        self.came += 1;
        Ok(())
    }

    #[inline(always)]
    fn end(mut self) -> Matched<()> {
        let called = self.open.steps().form();
        if self.came == self.count && self.open.close().is_ok() {
            return Ok(());
        }
        self.expected.part(called);
        Err(Mismatch)
    }
}

impl<'w, O: Open<'w, Data: Put>> Fields for RigidChildren<'w, O> {
    type Ok = ();
    type Error = Mismatch;

    #[inline(always)]
    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Matched<()> {
        match self.fields.get(self.came) {
            Some(field) if is_name(field, name) => self.child(value),
            _ => self.lose(),
        }
    }

    #[inline(always)]
    fn end(self) -> Matched<()> {
        Siblings::end(self)
    }
}

/// There are none.
impl<'w, O: Open<'w, Data: Put>> Entries for RigidChildren<'w, O> {
    type Ok = ();
    type Error = Mismatch;

    fn key<T: Serialize + ?Sized>(&mut self, _: &T) -> Matched<()> {
        self.lose()
    }

    fn value<T: Serialize + ?Sized>(&mut self, _: &T) -> Matched<()> {
        self.lose()
    }

    fn end(self) -> Matched<()> {
        Err(Mismatch)
    }
}
