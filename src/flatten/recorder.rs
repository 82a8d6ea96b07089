//! The recording as a walk: what each kind of node is recorded as.

use serde::Serialize;

use crate::error::{Error, Result};
use crate::leaf::Scalar;
use crate::model::NodeKind;

use super::compound::Compound;
use super::recording::{Recorded, Recorder};
use super::rules::Keep;
use super::serializer::{Head, Siblings, Walk, Walker};

impl<'r> Walk for Recorder<'r> {
    type Ok = Recorded;
    type Error = Error;
    type Sequence = Compound<'r>;
    type Fields = Compound<'r>;
    type Entries = Compound<'r>;

    #[inline]
    fn leaf(self, scalar: Scalar<'_>) -> Result<Recorded> {
        self.scalar(scalar)
    }

    fn none(self) -> Result<Recorded> {
        match (self.recording.options().none_is_leaf, self.inside_some) {
            (false, _) => self.atom(Head::new(NodeKind::None)),
            (true, false) => self.scalar(Scalar::None),
            (true, true) => self.wrapper(Head::new(NodeKind::Some), &None::<()>),
        }
    }

    fn some<T: Serialize + ?Sized>(self, value: &T) -> Result<Recorded> {
        let none_is_leaf = self.recording.options().none_is_leaf;
        if none_is_leaf && !self.inside_some {
            return self.elided_some(value);
        }
        let mut some = self.compound(Head::new(NodeKind::Some))?;
        some.child_in(none_is_leaf, value)?;
        some.close()
    }

    fn unit(self) -> Result<Recorded> {
        match self.inside_some {
            false => self.atom(Head::new(NodeKind::Unit)),
            true => self.wrapper(Head::new(NodeKind::Some), &()),
        }
    }

    fn atom(self, head: Head) -> Result<Recorded> {
        self.childless(head)
    }

    fn wrapper<T: Serialize + ?Sized>(self, head: Head, value: &T) -> Result<Recorded> {
        let mut compound = self.compound(head)?;
        compound.child(value)?;
        compound.close()
    }

    fn keep<T: Serialize + ?Sized>(self, keep: Keep, value: &T) -> Result<Recorded> {
        self.keeping(keep, value)
    }

    fn sequence(self, head: Head, _: Option<usize>) -> Result<Compound<'r>> {
        self.compound(head)
    }

    fn fields(self, head: Head, _: usize) -> Result<Compound<'r>> {
        self.compound(head)
    }

    fn entries(self) -> Result<Compound<'r>> {
        self.compound(Head::new(NodeKind::Map))
    }

    fn collect<I: Iterator>(self, items: I) -> Result<Recorded>
    where
        I::Item: Serialize,
    {
        let mut siblings = self.compound(Head::new(NodeKind::Seq))?;
        siblings.elements(items.fuse())?;
        siblings.close()
    }

    fn is_human_readable(&self) -> bool {
        !self.recording.is_compact()
    }
}

impl Recorder<'_> {
    /// Records the inside of a `Some` in its place, where `None` is a leaf; or the `Some`, where else it would read as
    /// `None`.
    pub(super) fn elided_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Recorded> {
        let Recorder { recording, template, depth, .. } = self;
        let place = Recorder { recording: &mut *recording, template, depth, inside_some: true };
        let inside = value.serialize(Walker(place))?;
        match recording.reads_as_none(inside, template) {
            true => recording.wrap_in_some(inside, template),
            false => Ok(inside),
        }
    }
}
