//! serde's side of every walk: each call of the data model, handed on in our words.

use std::fmt::{Display, Write};

use serde::{Serialize, Serializer, ser};

use crate::error::Error;
use crate::leaf::Scalar;
use crate::markers;
use crate::model::NodeKind;

use super::rules::{Keep, NodeHead};
use super::scalar::scalar_calls;

/// What a node is, before its children.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) kind: NodeKind,
    pub(super) name: &'static str,
    pub(super) variant: &'static str,
}

impl Head {
    #[inline]
    pub(super) fn new(kind: NodeKind) -> Self {
        Head { kind, name: "", variant: "" }
    }

    pub(super) fn seen(self) -> NodeHead<'static> {
        NodeHead { kind: self.kind, name: self.name, variant: self.variant }
    }
}

/// The place where one node goes, in a walk that records or in one that compares.
pub(super) trait Walk: Sized {
    type Ok;
    type Error: ser::Error + From<Error>;
    type Sequence: Siblings<Ok = Self::Ok, Error = Self::Error>;
    type Fields: Fields<Ok = Self::Ok, Error = Self::Error>;
    type Entries: Entries<Ok = Self::Ok, Error = Self::Error>;

    fn leaf(self, scalar: Scalar<'_>) -> Result<Self::Ok, Self::Error>;
    fn none(self) -> Result<Self::Ok, Self::Error>;
    fn some<T: Serialize + ?Sized>(self, value: &T) -> Result<Self::Ok, Self::Error>;
    fn unit(self) -> Result<Self::Ok, Self::Error>;
    /// A node that never has children.
    fn atom(self, head: Head) -> Result<Self::Ok, Self::Error>;
    /// A node with exactly one child.
    fn wrapper<T: Serialize + ?Sized>(self, head: Head, value: &T)
    -> Result<Self::Ok, Self::Error>;
    /// A value with a mark.
    fn keep<T: Serialize + ?Sized>(self, keep: Keep, value: &T) -> Result<Self::Ok, Self::Error>;
    /// A sequence, or something like a tuple, which says to have `count` children.
    fn sequence(self, head: Head, count: Option<usize>) -> Result<Self::Sequence, Self::Error>;
    /// A struct or struct variant that says to have `count` fields.
    fn fields(self, head: Head, count: usize) -> Result<Self::Fields, Self::Error>;
    fn entries(self) -> Result<Self::Entries, Self::Error>;
    /// A whole sequence of any length.
    fn collect<I: Iterator>(self, items: I) -> Result<Self::Ok, Self::Error>
    where
        I::Item: Serialize;
    fn is_human_readable(&self) -> bool;
}

/// The children of an open node, without labels.
pub(super) trait Siblings {
    type Ok;
    type Error: ser::Error;

    fn child<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Self::Error>;
    fn end(self) -> Result<Self::Ok, Self::Error>;
}

/// The fields of an open struct or struct variant.
pub(super) trait Fields {
    type Ok;
    type Error: ser::Error;

    fn field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Self::Error>;
    fn end(self) -> Result<Self::Ok, Self::Error>;
}

/// The entries of an open map.
pub(super) trait Entries {
    type Ok;
    type Error: ser::Error;

    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Self::Error>;
    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Self::Error>;
    fn end(self) -> Result<Self::Ok, Self::Error>;
}

/// A walk as serde sees it.
pub(super) struct Walker<W>(pub(super) W);

impl<W: Walk> Serializer for Walker<W> {
    type Ok = W::Ok;
    type Error = W::Error;
    type SerializeSeq = Walker<W::Sequence>;
    type SerializeTuple = Walker<W::Sequence>;
    type SerializeTupleStruct = Walker<W::Sequence>;
    type SerializeTupleVariant = Walker<W::Sequence>;
    type SerializeMap = Walker<W::Entries>;
    type SerializeStruct = Walker<W::Fields>;
    type SerializeStructVariant = Walker<W::Fields>;

    scalar_calls!(|self, scalar| self.0.leaf(scalar));

    #[inline]
    fn serialize_none(self) -> Result<W::Ok, W::Error> {
        self.0.none()
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<W::Ok, W::Error> {
        self.0.some(value)
    }

    #[inline]
    fn serialize_unit(self) -> Result<W::Ok, W::Error> {
        self.0.unit()
    }

    #[inline]
    fn serialize_unit_struct(self, name: &'static str) -> Result<W::Ok, W::Error> {
        self.0.atom(Head { name, ..Head::new(NodeKind::UnitStruct) })
    }

    #[inline]
    fn serialize_unit_variant(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<W::Ok, W::Error> {
        self.0.atom(Head { kind: NodeKind::UnitVariant, name, variant })
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<W::Ok, W::Error> {
        match name {
            markers::STATIC => self.0.keep(Keep::Static, value),
            markers::LEAF => self.0.keep(Keep::Leaf, value),
            _ => self.0.wrapper(Head { name, ..Head::new(NodeKind::NewtypeStruct) }, value),
        }
    }

    #[inline]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<W::Ok, W::Error> {
        self.0.wrapper(Head { kind: NodeKind::NewtypeVariant, name, variant }, value)
    }

    #[inline]
    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, W::Error> {
        self.0.sequence(Head::new(NodeKind::Seq), None).map(Walker)
    }

    #[inline]
    fn serialize_tuple(self, count: usize) -> Result<Self::SerializeSeq, W::Error> {
        self.0.sequence(Head::new(NodeKind::Tuple), Some(count)).map(Walker)
    }

    #[inline]
    fn serialize_tuple_struct(
        self,
        name: &'static str,
        count: usize,
    ) -> Result<Self::SerializeSeq, W::Error> {
        let head = Head { name, ..Head::new(NodeKind::TupleStruct) };
        self.0.sequence(head, Some(count)).map(Walker)
    }

    #[inline]
    fn serialize_tuple_variant(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        count: usize,
    ) -> Result<Self::SerializeSeq, W::Error> {
        let head = Head { kind: NodeKind::TupleVariant, name, variant };
        self.0.sequence(head, Some(count)).map(Walker)
    }

    #[inline]
    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, W::Error> {
        self.0.entries().map(Walker)
    }

    #[inline]
    fn serialize_struct(
        self,
        name: &'static str,
        count: usize,
    ) -> Result<Self::SerializeStruct, W::Error> {
        self.0.fields(Head { name, ..Head::new(NodeKind::Struct) }, count).map(Walker)
    }

    #[inline]
    fn serialize_struct_variant(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        count: usize,
    ) -> Result<Self::SerializeStruct, W::Error> {
        self.0.fields(Head { kind: NodeKind::StructVariant, name, variant }, count).map(Walker)
    }

    #[inline]
    fn collect_seq<I>(self, items: I) -> Result<W::Ok, W::Error>
    where
        I: IntoIterator<Item: Serialize>,
    {
        self.0.collect(items.into_iter())
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<W::Ok, W::Error> {
        let mut text = String::new();
        // `to_string` would panic where `Display` fails.
        write!(text, "{value}")
            .map_err(|_| Error::protocol("a `Display` implementation failed"))?;
        self.0.leaf(Scalar::Str(&text))
    }

    #[inline]
    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

macro_rules! compounds {
    ($($trait:ident as $walk:ident: $($method:ident($($label:ident: $type:ty)?) => $verb:ident),+;)*) => {$(
        impl<C: $walk> ser::$trait for Walker<C> {
            type Ok = C::Ok;
            type Error = C::Error;

            $(
                #[inline(always)]
                fn $method<T: Serialize + ?Sized>(
                    &mut self,
                    $($label: $type,)?
                    value: &T,
                ) -> Result<(), C::Error> {
                    self.0.$verb($($label,)? value)
                }
            )+

            #[inline]
            fn end(self) -> Result<C::Ok, C::Error> {
                self.0.end()
            }
        }
    )*};
}

compounds! {
    SerializeSeq as Siblings: serialize_element() => child;
    SerializeTuple as Siblings: serialize_element() => child;
    SerializeTupleStruct as Siblings: serialize_field() => child;
    SerializeTupleVariant as Siblings: serialize_field() => child;
    SerializeMap as Entries: serialize_key() => key, serialize_value() => value;
    SerializeStruct as Fields: serialize_field(name: &'static str) => field;
    SerializeStructVariant as Fields: serialize_field(name: &'static str) => field;
}
