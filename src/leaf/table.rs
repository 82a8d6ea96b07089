//! The table of the scalar kinds, for code that has a case for each of them.

/// Repeats a template for the rows of some groups, in the order of [`LeafKind`](crate::model::LeafKind).
///
/// `each_scalar! { [floats] ($kind $type) => { $(impl Float for $type {})* } }` is
/// `impl Float for f32 {} impl Float for f64 {}`. Rows of its own may follow the groups:
/// `[floats { Str: String; }]`. With `($kind $type $serialize $visit)` a row has its calls of serde.
///
/// Methods of an impl cannot be repeated by a template. There, `each_scalar!([floats] => then 1;)`
/// calls `then! { 1; F32: f32, {…}; F64: f64, {…}; }`, with all of serde's calls in the braces.
/// `each_scalar!([floats] fn serialize => scalar)` writes the methods of a serializer, such as
/// `self.scalar(Scalar::F32(value))`. With `visit` it writes the methods of a visitor.
///
/// `signed` and `unsigned` have at most 64 bits. Files store the index of a kind, so the order of
/// the rows must never change.
macro_rules! each_scalar {
    ([$($group:ident)* $({$($kind:ident: $type:ty;)*})?] ($($names:tt)*) => $template:tt) => {
        $crate::leaf::each_scalar! {
            @rows [$($group)*] (@repeat [$($names)*] $template) $($($kind: $type, {};)*)?
        }
    };
    ([$($group:ident)*] #[$inline:meta] fn $call:ident => $then:ident) => {
        $crate::leaf::each_scalar! { @rows [$($group)*] (@$call $then #[$inline]) }
    };
    ([$($group:ident)*] => $then:ident $($head:tt)*) => {
        $crate::leaf::each_scalar! { @rows [$($group)*] (=> $then $($head)*) }
    };

    // The uses of the rows.
    (@rows [] (@repeat [$d:tt $kind:ident $_d:tt $type:ident] {$($template:tt)*}) $($rows:tt)*) => {
        macro_rules! repeat {
            ($d($d $kind:ident: $d $type:ty, $d calls:tt;)*) => { $($template)* };
        }
        repeat! { $($rows)* }
    };
    (
        @rows []
        (@repeat [
            $d:tt $kind:ident $_t:tt $type:ident $_s:tt $serialize:ident $_v:tt $visit:ident
        ] {$($template:tt)*})
        $($rows:tt)*
    ) => {
        macro_rules! repeat {
            ($d($d $kind:ident: $d $type:ty, {$d $serialize:ident $d $visit:ident $d de:ident};)*) => {
                $($template)*
            };
        }
        repeat! { $($rows)* }
    };
    (
        @rows [] (@serialize $then:ident #[$inline:meta])
        $($kind:ident: $type:ty, {$method:ident $visit:ident $deserialize:ident};)*
    ) => {$(
        #[$inline]
        fn $method(self, value: $type) -> Result<Self::Ok, Self::Error> {
            self.$then($crate::leaf::Scalar::$kind(value))
        }
    )*};
    (
        @rows [] (@visit $then:ident #[$inline:meta])
        $($kind:ident: $type:ty, {$serialize:ident $method:ident $deserialize:ident};)*
    ) => {$(
        #[$inline]
        fn $method<E: serde::de::Error>(self, value: $type) -> Result<Self::Value, E> {
            self.$then($crate::leaf::Scalar::$kind(value))
        }
    )*};
    (@rows [] (=> $then:ident $($head:tt)*) $($rows:tt)*) => {
        $then! { $($head)* $($rows)* }
    };

    // The groups.
    (@rows [sized $($more:ident)*] $end:tt $($rows:tt)*) => {
        $crate::leaf::each_scalar! { @rows [bool integers floats char $($more)*] $end $($rows)* }
    };
    (@rows [integers $($more:ident)*] $end:tt $($rows:tt)*) => {
        $crate::leaf::each_scalar! { @rows [signed i128 unsigned u128 $($more)*] $end $($rows)* }
    };
    (@rows [bool $($more:ident)*] $end:tt $($rows:tt)*) => {
        $crate::leaf::each_scalar! { @rows [$($more)*] $end $($rows)*
            Bool: bool, {serialize_bool visit_bool deserialize_bool};
        }
    };
    (@rows [signed $($more:ident)*] $end:tt $($rows:tt)*) => {
        $crate::leaf::each_scalar! { @rows [$($more)*] $end $($rows)*
            I8: i8, {serialize_i8 visit_i8 deserialize_i8};
            I16: i16, {serialize_i16 visit_i16 deserialize_i16};
            I32: i32, {serialize_i32 visit_i32 deserialize_i32};
            I64: i64, {serialize_i64 visit_i64 deserialize_i64};
        }
    };
    (@rows [i128 $($more:ident)*] $end:tt $($rows:tt)*) => {
        $crate::leaf::each_scalar! { @rows [$($more)*] $end $($rows)*
            I128: i128, {serialize_i128 visit_i128 deserialize_i128};
        }
    };
    (@rows [unsigned $($more:ident)*] $end:tt $($rows:tt)*) => {
        $crate::leaf::each_scalar! { @rows [$($more)*] $end $($rows)*
            U8: u8, {serialize_u8 visit_u8 deserialize_u8};
            U16: u16, {serialize_u16 visit_u16 deserialize_u16};
            U32: u32, {serialize_u32 visit_u32 deserialize_u32};
            U64: u64, {serialize_u64 visit_u64 deserialize_u64};
        }
    };
    (@rows [u128 $($more:ident)*] $end:tt $($rows:tt)*) => {
        $crate::leaf::each_scalar! { @rows [$($more)*] $end $($rows)*
            U128: u128, {serialize_u128 visit_u128 deserialize_u128};
        }
    };
    (@rows [floats $($more:ident)*] $end:tt $($rows:tt)*) => {
        $crate::leaf::each_scalar! { @rows [$($more)*] $end $($rows)*
            F32: f32, {serialize_f32 visit_f32 deserialize_f32};
            F64: f64, {serialize_f64 visit_f64 deserialize_f64};
        }
    };
    (@rows [char $($more:ident)*] $end:tt $($rows:tt)*) => {
        $crate::leaf::each_scalar! { @rows [$($more)*] $end $($rows)*
            Char: char, {serialize_char visit_char deserialize_char};
        }
    };
    (@rows [texts $($more:ident)*] $end:tt $($rows:tt)*) => {
        $crate::leaf::each_scalar! { @rows [$($more)*] $end $($rows)*
            Str: &str, {serialize_str visit_str deserialize_str};
            Bytes: &[u8], {serialize_bytes visit_bytes deserialize_bytes};
        }
    };
}

pub(crate) use each_scalar;
