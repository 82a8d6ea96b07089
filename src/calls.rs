//! Macros for groups of serde calls.

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
        #[cfg_attr(not(debug_assertions), inline(always))]
        fn $method($this, $value: $type) -> Result<Self::Ok, Self::Error> {
            let ($kind, $bits) = (crate::model::LeafKind::$variant, $number);
            $then
        }
    )*};
}

/// Calls that a serializer does not expect.
macro_rules! mismatches {
    (|$this:ident| $then:expr; $($method:ident($($type:ty),*) -> $ok:ty;)*) => {$(
        fn $method($this, $(_: $type),*) -> Result<$ok, Self::Error> {
            Err($then)
        }
    )*};
}

/// The traits for the children of compounds. Each call is forwarded to a method of the type.
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
pub(crate) fn text_of(value: std::fmt::Arguments<'_>) -> Option<String> {
    let mut text = String::new();
    std::fmt::Write::write_fmt(&mut text, value).ok().map(|()| text)
}

pub(crate) use {children, mismatches, numbers};
