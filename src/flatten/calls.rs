//! Macros for groups of serde calls.

/// The calls for scalars. `floats` handles floats, `others` all other kinds.
macro_rules! scalars {
    (|$this:ident, $scalar:ident| #[$inline_float:meta] floats: $float:expr, #[$inline:meta] others: $other:expr,) => {
        $crate::leaf::each_scalar! { [floats] => scalars |$this, $scalar| #[$inline_float] $float; }
        $crate::leaf::each_scalar! { [bool integers char texts] => scalars |$this, $scalar| #[$inline] $other; }
    };
    (
        |$this:ident, $scalar:ident| #[$inline:meta] $then:expr;
        $($kind:ident: $type:ty, {$method:ident $visit:ident $deserialize:ident};)*
    ) => {$(
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
        $crate::leaf::each_scalar! { [unsigned] => numbers
            |$this, $kind, $bits, value| $then, u64::from(value);
            Bool: bool, {serialize_bool visit_bool deserialize_bool};
            Char: char, {serialize_char visit_char deserialize_char};
        }
        $crate::leaf::each_scalar! { [signed] => numbers
            |$this, $kind, $bits, value| $then, i64::from(value).cast_unsigned();
        }
        $crate::leaf::each_scalar! { [floats] => numbers
            |$this, $kind, $bits, value| $then, u64::from(value.to_bits());
        }
    };
    (
        |$this:ident, $kind:ident, $bits:ident, $value:ident| $then:expr, $number:expr;
        $($variant:ident: $type:ty, {$method:ident $visit:ident $deserialize:ident};)*
    ) => {$(
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

/// The traits for the children of compounds. Each call goes to a method of the type.
macro_rules! children {
    (
        $children:ty => $ok:ty, $error:ty; #[$inline:meta];
        $($trait:ident: $($method:ident($($label:ident)?) $verb:ident),+;)*
    ) => {$(
        impl serde::ser::$trait for $children {
            type Ok = $ok;
            type Error = $error;

            $(
                #[$inline]
                fn $method<T: Serialize + ?Sized>(
                    &mut self,
                    $($label: &'static str,)?
                    value: &T,
                ) -> Result<(), $error> {
                    self.$verb($($label,)? value)
                }
            )+

            #[$inline]
            fn end(self) -> Result<$ok, $error> {
                self.end()
            }
        }
    )*};
}

/// The text of a value, or `None` if its `Display` fails, where `to_string` would panic.
pub(super) fn text_of(value: std::fmt::Arguments<'_>) -> Option<String> {
    let mut text = String::new();
    std::fmt::Write::write_fmt(&mut text, value).ok().map(|()| text)
}

pub(crate) use mismatches;
pub(super) use {children, nodes, numbers, scalars};
