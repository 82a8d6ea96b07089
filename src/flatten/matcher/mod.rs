//! serde's side of matching: walks a value beside a [known structure](known) and puts its leaves
//! into their slots.
//!
//! This walk records nothing, and is fast: place and slot are passed by value, and the error has no
//! size, so they stay in registers. The walk finds whether a value has a structure, but not what is
//! different. For that the [recorder](super::recorder) walks the value again.

pub(super) mod known;
pub(super) mod children;
mod entries;

use std::fmt::Display;

use serde::{Serialize, Serializer};

use crate::error::{Matched, Mismatch};
use crate::model::{NodeHead, NodeKind};

use super::calls::{children, nodes, scalars};
use super::rows::{Progress, put_row};
use super::rules::Keep;
use children::{MatchedChildren, Matcher};
use entries::MatchedEntries;

impl<'m, 't> Serializer for Matcher<'m, 't> {
    type Ok = usize;
    type Error = Mismatch;
    type SerializeSeq = MatchedChildren<'m, 't>;
    type SerializeTuple = MatchedChildren<'m, 't>;
    type SerializeTupleStruct = MatchedChildren<'m, 't>;
    type SerializeTupleVariant = MatchedChildren<'m, 't>;
    type SerializeMap = MatchedEntries<'m, 't>;
    type SerializeStruct = MatchedChildren<'m, 't>;
    type SerializeStructVariant = MatchedChildren<'m, 't>;

    // Only floats for float slots need the fastest path. The other calls are compiled once for each
    // kind.
    scalars! { |self, scalar|
        #[inline] floats: self.float(scalar),
        #[inline(never)] others: self.scalar(scalar),
    }

    nodes! { |self, head, value|
        atom: self.known.atom(self.at, self.slot, head),
        around: self.around(head, value),
        open: self.enter(head),
        fields: self.fields(head),
    }

    #[inline]
    fn serialize_none(self) -> Matched<usize> {
        self.known.atom(self.at, self.slot, NodeHead::new(NodeKind::None))
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Matched<usize> {
        self.around(NodeHead::new(NodeKind::Some), value)
    }

    #[inline]
    fn serialize_unit(self) -> Matched<usize> {
        self.known.atom(self.at, self.slot, NodeHead::new(NodeKind::Unit))
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Matched<usize> {
        match Keep::marked_by(name) {
            None => self.around(NodeHead { name, ..NodeHead::new(NodeKind::NewtypeStruct) }, value),
            Some(keep) => self.keep(keep, value),
        }
    }

    fn serialize_map(self, _: Option<usize>) -> Matched<MatchedEntries<'m, 't>> {
        let keys = self.known.keys(self.at);
        Ok(MatchedEntries::new(self.enter(NodeHead::new(NodeKind::Map))?, keys))
    }

    /// Takes the elements of a run in rows.
    #[inline]
    fn collect_seq<I: IntoIterator<Item: Serialize>>(self, items: I) -> Matched<usize> {
        let mut seq = match self.enter(NodeHead::new(NodeKind::Seq)) {
            Ok(seq) => seq,
            Err(mismatch) => return Err(mismatch),
        };
        let (mut items, mut progress) = (items.into_iter(), Progress::default());
        let mut next = items.next();
        while let Some(item) = next {
            let owning = seq.known.owning;
            if let Err(mismatch) = seq.child(&item) {
                return Err(mismatch);
            }
            next = put_row(seq.row(owning, &mut progress), &mut items);
            if let Err(mismatch) = seq.row_came(&mut progress) {
                return Err(mismatch);
            }
        }
        seq.end()
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Matched<usize> {
        self.display(format_args!("{value}"))
    }

    fn is_human_readable(&self) -> bool {
        self.known.is_human_readable()
    }
}

children! {
    MatchedChildren<'_, '_> => usize, Mismatch; #[inline];
    SerializeSeq: serialize_element() child;
    SerializeTuple: serialize_element() child;
    SerializeTupleStruct: serialize_field() child;
    SerializeTupleVariant: serialize_field() child;
    SerializeStruct: serialize_field(name) field;
    SerializeStructVariant: serialize_field(name) field;
}
