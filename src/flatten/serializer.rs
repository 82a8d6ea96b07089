//! serde's side of the walk: every call of the data model, handed to the recording.

use std::fmt::{Display, Write};

use serde::{Serialize, Serializer, ser};

use crate::error::{Error, Result};
use crate::leaf::{Emit, Scalar};
use crate::markers;
use crate::model::NodeKind;

use super::compound::Compound;
use super::recording::{Head, Recorded, Recorder};
use super::rules::Keep;

macro_rules! scalars {
    ($($method:ident($type:ty) => $scalar:ident;)*) => {$(
        #[inline]
        fn $method(self, value: $type) -> Result<Recorded> {
            self.leaf(Scalar::$scalar(value))
        }
    )*};
}

impl<'r, L: Emit> Serializer for Recorder<'r, L> {
    type Ok = Recorded;
    type Error = Error;
    type SerializeSeq = Compound<'r, L>;
    type SerializeTuple = Compound<'r, L>;
    type SerializeTupleStruct = Compound<'r, L>;
    type SerializeTupleVariant = Compound<'r, L>;
    type SerializeMap = Compound<'r, L>;
    type SerializeStruct = Compound<'r, L>;
    type SerializeStructVariant = Compound<'r, L>;

    scalars! {
        serialize_bool(bool) => Bool;
        serialize_i8(i8) => I8;
        serialize_i16(i16) => I16;
        serialize_i32(i32) => I32;
        serialize_i64(i64) => I64;
        serialize_i128(i128) => I128;
        serialize_u8(u8) => U8;
        serialize_u16(u16) => U16;
        serialize_u32(u32) => U32;
        serialize_u64(u64) => U64;
        serialize_u128(u128) => U128;
        serialize_f32(f32) => F32;
        serialize_f64(f64) => F64;
        serialize_char(char) => Char;
        serialize_str(&str) => Str;
        serialize_bytes(&[u8]) => Bytes;
    }

    fn serialize_none(self) -> Result<Recorded> {
        self.none()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Recorded> {
        self.some(value)
    }

    fn serialize_unit(self) -> Result<Recorded> {
        self.unit()
    }

    fn serialize_unit_struct(self, name: &'static str) -> Result<Recorded> {
        self.atom(Head { name, ..Head::new(NodeKind::UnitStruct) })
    }

    fn serialize_unit_variant(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Recorded> {
        self.atom(Head { kind: NodeKind::UnitVariant, name, variant })
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Recorded> {
        match name {
            markers::STATIC => self.keep(Keep::Static, value),
            markers::LEAF => self.keep(Keep::Leaf, value),
            _ => self.wrapper(Head { name, ..Head::new(NodeKind::NewtypeStruct) }, value),
        }
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Recorded> {
        self.wrapper(Head { kind: NodeKind::NewtypeVariant, name, variant }, value)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Compound<'r, L>> {
        self.compound(Head::new(NodeKind::Seq))
    }

    fn serialize_tuple(self, _: usize) -> Result<Compound<'r, L>> {
        self.compound(Head::new(NodeKind::Tuple))
    }

    fn serialize_tuple_struct(self, name: &'static str, _: usize) -> Result<Compound<'r, L>> {
        self.compound(Head { name, ..Head::new(NodeKind::TupleStruct) })
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Compound<'r, L>> {
        self.compound(Head { kind: NodeKind::TupleVariant, name, variant })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Compound<'r, L>> {
        self.compound(Head::new(NodeKind::Map))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Compound<'r, L>> {
        self.compound(Head { name, ..Head::new(NodeKind::Struct) })
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Compound<'r, L>> {
        self.compound(Head { kind: NodeKind::StructVariant, name, variant })
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<Recorded> {
        let mut text = String::new();
        // `to_string` would panic where `Display` fails.
        write!(text, "{value}")
            .map_err(|_| Error::protocol("a `Display` implementation failed"))?;
        self.leaf(Scalar::Str(&text))
    }

    fn is_human_readable(&self) -> bool {
        Recorder::is_human_readable(self)
    }
}

macro_rules! compounds {
    ($($trait:ident: $($method:ident($($label:ident: $type:ty)?) => $verb:ident),+;)*) => {$(
        impl<L: Emit> ser::$trait for Compound<'_, L> {
            type Ok = Recorded;
            type Error = Error;

            $(
                #[inline]
                fn $method<T: Serialize + ?Sized>(&mut self, $($label: $type,)? value: &T) -> Result<()> {
                    self.$verb($($label,)? value)
                }
            )+

            #[inline]
            fn end(self) -> Result<Recorded> {
                Compound::end(self)
            }
        }
    )*};
}

compounds! {
    SerializeSeq: serialize_element() => child;
    SerializeTuple: serialize_element() => child;
    SerializeTupleStruct: serialize_field() => child;
    SerializeTupleVariant: serialize_field() => child;
    SerializeMap: serialize_key() => key, serialize_value() => value;
    SerializeStruct: serialize_field(name: &'static str) => field;
    SerializeStructVariant: serialize_field(name: &'static str) => field;
}
