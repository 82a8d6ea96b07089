//! A value beside a [rigid](crate::rigid) node: on the way only names are compared, and in the end the form.
//!
//! This is for elements of which many are alike. If one is perhaps different, the [matcher](super::matcher) or the
//! [recording](crate::flatten::recording) takes it from its beginning.

use std::cell::Cell;
use std::mem;

use serde::Serialize;

use crate::error::{Matched, Mismatch};
use crate::flatten::rules::Keep;
use crate::flatten::serializer::{Entries, Fields, Head, Siblings, Walk, Walker};
use crate::leaf::Scalar;
use crate::leaf_type::Emit;
use crate::model::{Form, Labels, Leaf, Limits, Name, NodeKind, Options, Rigid, Shape, Value};
use crate::node::is_name;
use crate::rigid::{Open, Outset, Place, WINDOW};
use crate::sink::Kinds;

use super::known::Known;
use super::slots::{Fill, PutInWindow, Slots};

/// What a value is compared with.
pub(super) struct RigidValue<'t> {
    node: &'t Rigid,
    shapes: &'t [Shape],
    /// How opaque leaves are recorded.
    options: Options,
    depth_left: usize,
    kinds: Kinds,
    /// Whether something was not as it should be, and how many leaves were, if that is known.
    parted: Cell<Option<Option<usize>>>,
    /// Leaves before something that is not looked at, if there is such a thing.
    unseen: Cell<Option<usize>>,
}

impl<'t> RigidValue<'t> {
    fn new(node: &'t Rigid, known: &'t Known<'_>) -> Self {
        let Known { shapes, depth_left, kinds, .. } = *known;
        RigidValue {
            node,
            shapes,
            options: known.of_opaque(),
            depth_left,
            kinds,
            parted: Cell::default(),
            unseen: Cell::default(),
        }
    }

    #[cold]
    fn part(&self, called: Form) {
        if self.parted.get().is_none() {
            self.parted.set(Some(self.node.leaves_in_common(called)));
        }
    }

    /// What is called after so many leaves is perhaps as it should be, but not known here.
    #[cold]
    fn give_up(&self, leaves: usize) -> Mismatch {
        if self.unseen.get().is_none() {
            self.unseen.set(Some(leaves));
        }
        Mismatch
    }

    /// Why a value was not put.
    fn difference(&self) -> Difference {
        match (self.unseen.get(), self.parted.get()) {
            (Some(leaves), _) => Difference::Unseen(leaves),
            (None, Some(Some(leaves))) => Difference::After(leaves),
            (None, _) => Difference::Unknown,
        }
    }
}

/// Elements that were put.
pub(in crate::flatten) struct RigidRun<S, T> {
    /// What is left of the slots.
    pub(in crate::flatten) slots: S,
    pub(in crate::flatten) put: usize,
    /// The first that is perhaps different.
    pub(in crate::flatten) different: Option<(T, Difference)>,
}

/// Whether a value is different that was asked in part.
#[derive(Clone, Copy)]
pub(in crate::flatten) enum Difference {
    Unknown,
    /// It is, and so many leaves were as expected before.
    After(usize),
    /// So many leaves were as expected, and the rest was not looked at.
    Unseen(usize),
}

/// Puts up to `count` elements that are all like a node, if it is rigid, as far as there are slots.
#[inline]
pub(in crate::flatten) fn put_rigid<S: Slots, I: Iterator>(
    known: &Known<'_>,
    node: &Rigid,
    slots: S,
    count: usize,
    items: &mut I,
) -> RigidRun<S, I::Item>
where
    I::Item: Serialize,
{
    let element = RigidValue::new(node, known);
    let (slots, put, different) = slots.put_in_windows(&element, count, items);
    RigidRun { slots, put, different: different.map(|item| (item, element.difference())) }
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
    /// Whether only fields that own nothing are looked at, so that no other type is compiled for this walk.
    const PLAIN_ONLY: bool;

    fn put(&mut self, index: usize, leaf: Self::Leaf) -> Matched<()>;
}

/// Those of the element, and some more.
pub(super) struct Window<'w, L, const USED: bool>(&'w mut [L; WINDOW]);

impl<L: Emit, const USED: bool> Put for Window<'_, L, USED> {
    type Leaf = L;
    /// Where a known structure is filled, all types are compiled for such a walk in any case.
    const PLAIN_ONLY: bool = !USED;

    #[inline(always)]
    fn put(&mut self, index: usize, leaf: L) -> Matched<()> {
        Fill::<_, USED>::put_in(self.0.get_mut(index).ok_or(Mismatch)?, leaf);
        Ok(())
    }
}

impl<'w, P: Place<'w, Data: Put>> RigidWalk<'w, P> {
    #[cold]
    fn give_up<T>(self) -> Matched<T> {
        let leaves = self.place.open(self.expected.node).steps().num_leaves();
        Err(self.expected.give_up(leaves))
    }

    #[inline(always)]
    fn children(self, head: Head, count: usize) -> Matched<RigidChildren<'w, P::Open>> {
        let RigidWalk { expected, place } = self;
        let mut open = place.open(expected.node);
        let leaves = open.steps().num_leaves();
        let note = match open.steps().compound(head.kind, count) {
            Ok(note) => note,
            Err(Mismatch) => return Err(expected.give_up(leaves)),
        };
        let shape =
            note.filter(|_| head.kind.is_named()).and_then(|note| expected.shapes.get(note));
        let fields: &[Name] = match shape {
            Some(shape) if !is_name(&shape.name, head.name) => {
                return Err(expected.give_up(leaves));
            }
            Some(Shape { labels: Labels::Fields(fields), .. }) => fields,
            _ => &[],
        };
        Ok(RigidChildren { expected, open, fields, count, came: 0 })
    }

    #[inline(always)]
    fn put(self, leaf: impl FnOnce() -> Option<<P::Data as Put>::Leaf>) -> Matched<()> {
        let mut open = self.place.open(self.expected.node);
        let Some(leaf) = leaf() else {
            return Err(self.expected.give_up(open.steps().num_leaves()));
        };
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
        let kinds = self.expected.kinds;
        self.put(|| Emit::from_scalar(scalar).filter(|_| kinds.has(scalar.kind())))
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
        let &RigidValue { options, depth_left, kinds, .. } = self.expected;
        match keep {
            Keep::Leaf => self.put(|| {
                let value =
                    Value::recorded(value, options, Limits::default().depth(depth_left)).ok()?;
                Some(Leaf::from(value))
                    .filter(|leaf| kinds.has(leaf.kind()))
                    .and_then(Emit::from_leaf)
            }),
            Keep::Static => self.give_up(),
        }
    }

    #[inline(always)]
    fn sequence(self, head: Head, count: Option<usize>) -> Matched<Self::Sequence> {
        match count {
            Some(count) => self.children(head, count),
            None => self.give_up(),
        }
    }

    #[inline(always)]
    fn fields(self, head: Head, count: usize) -> Matched<Self::Fields> {
        let mut fields = self.children(head, count)?;
        // The count is a constant, so the positions of the names need not be checked one by one.
        match fields.fields.len() == count {
            true => Ok(fields),
            false => Err(fields.expected.give_up(fields.open.steps().num_leaves())),
        }
    }

    fn entries(self) -> Matched<Self::Entries> {
        self.give_up()
    }

    fn collect<I: Iterator>(self, _: I) -> Matched<()>
    where
        I::Item: Serialize,
    {
        self.give_up()
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
        // Elements are lent, so what they are says nothing; what their fields are does.
        if const { <O::Data as Put>::PLAIN_ONLY && mem::needs_drop::<T>() } {
            let _ = self.expected.give_up(self.open.steps().num_leaves());
            return self.lose();
        }
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
