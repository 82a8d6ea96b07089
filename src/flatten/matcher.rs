//! serde's side of a [known structure](super::known): a value beside it. Nothing is recorded, leaves go straight to their
//! slots.
//!
//! This is the fast walk: the place and the slot travel by value, and the error has no size, so that they stay in registers.
//! It finds that a value has a structure or that it has another one, not what is different: that takes the
//! [recorder](super::recorder), which walks the value again.

use std::fmt::Display;

use serde::{Serialize, Serializer, ser};

use crate::error::{Matched, Mismatch};
use crate::model::NodeKind;

use super::calls::scalars;
use super::children::{Children, Matcher};
use super::entries::Entries;
use super::frame::Head;
use super::rules::Keep;

impl<'m, 't> Serializer for Matcher<'m, 't> {
    type Ok = usize;
    type Error = Mismatch;
    type SerializeSeq = Children<'m, 't>;
    type SerializeTuple = Children<'m, 't>;
    type SerializeTupleStruct = Children<'m, 't>;
    type SerializeTupleVariant = Children<'m, 't>;
    type SerializeMap = Entries<'m, 't>;
    type SerializeStruct = Children<'m, 't>;
    type SerializeStructVariant = Children<'m, 't>;

    scalars!(
        #[inline]
        |self, scalar| self.scalar(scalar)
    );

    #[inline]
    fn serialize_none(self) -> Matched<usize> {
        self.known.atom(self.at, self.slot, Head::new(NodeKind::None))
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Matched<usize> {
        self.around(Head::new(NodeKind::Some), value)
    }

    #[inline]
    fn serialize_unit(self) -> Matched<usize> {
        self.known.atom(self.at, self.slot, Head::new(NodeKind::Unit))
    }

    #[inline]
    fn serialize_unit_struct(self, name: &'static str) -> Matched<usize> {
        let head = Head { name, ..Head::new(NodeKind::UnitStruct) };
        self.known.atom(self.at, self.slot, head)
    }

    #[inline]
    fn serialize_unit_variant(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Matched<usize> {
        let head = Head { kind: NodeKind::UnitVariant, name, variant };
        self.known.atom(self.at, self.slot, head)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Matched<usize> {
        match Keep::marked_by(name) {
            None => self.around(Head { name, ..Head::new(NodeKind::NewtypeStruct) }, value),
            Some(keep) => self.keep(keep, value),
        }
    }

    #[inline]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Matched<usize> {
        self.around(Head { kind: NodeKind::NewtypeVariant, name, variant }, value)
    }

    #[inline]
    fn serialize_seq(self, _: Option<usize>) -> Matched<Children<'m, 't>> {
        self.enter(Head::new(NodeKind::Seq))
    }

    #[inline]
    fn serialize_tuple(self, _: usize) -> Matched<Children<'m, 't>> {
        self.enter(Head::new(NodeKind::Tuple))
    }

    #[inline]
    fn serialize_tuple_struct(self, name: &'static str, _: usize) -> Matched<Children<'m, 't>> {
        self.enter(Head { name, ..Head::new(NodeKind::TupleStruct) })
    }

    #[inline]
    fn serialize_tuple_variant(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Matched<Children<'m, 't>> {
        self.enter(Head { kind: NodeKind::TupleVariant, name, variant })
    }

    fn serialize_map(self, _: Option<usize>) -> Matched<Entries<'m, 't>> {
        let keys = self.known.keys(self.at);
        Ok(Entries::new(self.enter(Head::new(NodeKind::Map))?, keys))
    }

    #[inline]
    fn serialize_struct(self, name: &'static str, _: usize) -> Matched<Children<'m, 't>> {
        self.fields(Head { name, ..Head::new(NodeKind::Struct) })
    }

    #[inline]
    fn serialize_struct_variant(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Matched<Children<'m, 't>> {
        self.fields(Head { kind: NodeKind::StructVariant, name, variant })
    }

    #[inline]
    fn collect_seq<I: IntoIterator<Item: Serialize>>(self, items: I) -> Matched<usize> {
        match self.enter(Head::new(NodeKind::Seq)) {
            Ok(children) => children.elements(items.into_iter()),
            Err(mismatch) => Err(mismatch),
        }
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Matched<usize> {
        self.display(format_args!("{value}"))
    }

    fn is_human_readable(&self) -> bool {
        self.known.is_human_readable()
    }
}

macro_rules! children {
    ($($trait:ident $method:ident($($name:ident)?) $verb:ident;)*) => {$(
        impl ser::$trait for Children<'_, '_> {
            type Ok = usize;
            type Error = Mismatch;

            #[inline]
            fn $method<T: Serialize + ?Sized>(&mut self, $($name: &'static str,)? value: &T) -> Matched<()> {
                self.$verb($($name,)? value)
            }

            #[inline]
            fn end(self) -> Matched<usize> {
                self.end()
            }
        }
    )*};
}

children! {
    SerializeSeq serialize_element() child;
    SerializeTuple serialize_element() child;
    SerializeTupleStruct serialize_field() child;
    SerializeTupleVariant serialize_field() child;
    SerializeStruct serialize_field(name) field;
    SerializeStructVariant serialize_field(name) field;
}
