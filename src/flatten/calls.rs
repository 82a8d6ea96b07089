//! Macros for groups of serde calls.

/// The calls for scalars. `floats` handles floats, `others` all other kinds.
macro_rules! scalars {
    (|$this:ident, $scalar:ident| #[$inline_float:meta] floats: $float:expr, #[$inline:meta] others: $other:expr,) => {
        scalars! { |$this, $scalar| #[$inline_float] $float;
            serialize_f32(f32) => F32;
            serialize_f64(f64) => F64;
        }
        scalars! { |$this, $scalar| #[$inline] $other;
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
            serialize_char(char) => Char;
            serialize_str(&str) => Str;
            serialize_bytes(&[u8]) => Bytes;
        }
    };
    (|$this:ident, $scalar:ident| #[$inline:meta] $then:expr; $($method:ident($type:ty) => $kind:ident;)*) => {$(
        #[$inline]
        fn $method($this, value: $type) -> Result<Self::Ok, Self::Error> {
            let $scalar = crate::leaf::Scalar::$kind(value);
            $then
        }
    )*};
}

/// The calls for numbers that fit into 64 bits. One expression handles all of them, with the kind
/// and the bits of the number.
macro_rules! numbers {
    (|$this:ident, $kind:ident, $bits:ident| $then:expr) => {
        numbers! {
            |$this, $kind, $bits| $then;
            serialize_bool(bool, value) => Bool, u64::from(value);
            serialize_i8(i8, value) => I8, i64::from(value).cast_unsigned();
            serialize_i16(i16, value) => I16, i64::from(value).cast_unsigned();
            serialize_i32(i32, value) => I32, i64::from(value).cast_unsigned();
            serialize_i64(i64, value) => I64, value.cast_unsigned();
            serialize_u8(u8, value) => U8, u64::from(value);
            serialize_u16(u16, value) => U16, u64::from(value);
            serialize_u32(u32, value) => U32, u64::from(value);
            serialize_u64(u64, value) => U64, value;
            serialize_f32(f32, value) => F32, u64::from(value.to_bits());
            serialize_f64(f64, value) => F64, value.to_bits();
            serialize_char(char, value) => Char, u64::from(value);
        }
    };
    (|$this:ident, $kind:ident, $bits:ident| $then:expr;
     $($method:ident($type:ty, $value:ident) => $variant:ident, $number:expr;)*) => {$(
        #[inline(always)]
        fn $method($this, $value: $type) -> Result<Self::Ok, Self::Error> {
            let ($kind, $bits) = (crate::model::LeafKind::$variant, $number);
            $then
        }
    )*};
}

/// The calls for nodes with a name or with children, except options, newtype structs and maps. Each
/// expression gets the kind and the names of the node as `head`.
macro_rules! nodes {
    (|$this:ident, $head:ident, $value:ident| atom: $atom:expr, around: $around:expr, open: $open:expr, fields: $fields:expr,) => {
        fn serialize_unit_struct($this, name: &'static str) -> Result<Self::Ok, Self::Error> {
            let $head = NodeHead { name, ..NodeHead::new(NodeKind::UnitStruct) };
            $atom
        }

        fn serialize_unit_variant(
            $this,
            name: &'static str,
            _: u32,
            variant: &'static str,
        ) -> Result<Self::Ok, Self::Error> {
            let $head = NodeHead { kind: NodeKind::UnitVariant, name, variant };
            $atom
        }

        #[inline]
        fn serialize_newtype_variant<T: Serialize + ?Sized>(
            $this,
            name: &'static str,
            _: u32,
            variant: &'static str,
            $value: &T,
        ) -> Result<Self::Ok, Self::Error> {
            let $head = NodeHead { kind: NodeKind::NewtypeVariant, name, variant };
            $around
        }

        #[inline]
        fn serialize_seq($this, _: Option<usize>) -> Result<Self::SerializeSeq, Self::Error> {
            let $head = NodeHead::new(NodeKind::Seq);
            $open
        }

        #[inline]
        fn serialize_tuple($this, _: usize) -> Result<Self::SerializeTuple, Self::Error> {
            let $head = NodeHead::new(NodeKind::Tuple);
            $open
        }

        #[inline]
        fn serialize_tuple_struct(
            $this,
            name: &'static str,
            _: usize,
        ) -> Result<Self::SerializeTupleStruct, Self::Error> {
            let $head = NodeHead { name, ..NodeHead::new(NodeKind::TupleStruct) };
            $open
        }

        #[inline]
        fn serialize_tuple_variant(
            $this,
            name: &'static str,
            _: u32,
            variant: &'static str,
            _: usize,
        ) -> Result<Self::SerializeTupleVariant, Self::Error> {
            let $head = NodeHead { kind: NodeKind::TupleVariant, name, variant };
            $open
        }

        #[inline]
        fn serialize_struct(
            $this,
            name: &'static str,
            _: usize,
        ) -> Result<Self::SerializeStruct, Self::Error> {
            let $head = NodeHead { name, ..NodeHead::new(NodeKind::Struct) };
            $fields
        }

        #[inline]
        fn serialize_struct_variant(
            $this,
            name: &'static str,
            _: u32,
            variant: &'static str,
            _: usize,
        ) -> Result<Self::SerializeStructVariant, Self::Error> {
            let $head = NodeHead { kind: NodeKind::StructVariant, name, variant };
            $fields
        }
    };
}

/// Calls that a serializer does not expect.
macro_rules! mismatches {
    (|$this:ident| $then:expr; $($method:ident($($type:ty),*) -> $ok:ty;)*) => {$(
        fn $method($this, $(_: $type),*) -> Result<$ok, Self::Error> {
            Err($then)
        }
    )*};
}

/// The text of a value, or `None` if its `Display` fails, where `to_string` would panic.
pub(super) fn text_of(value: std::fmt::Arguments<'_>) -> Option<String> {
    let mut text = String::new();
    std::fmt::Write::write_fmt(&mut text, value).ok().map(|()| text)
}

pub(super) use {mismatches, nodes, numbers, scalars};
