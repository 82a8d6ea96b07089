//! The table of the scalar kinds, for code that has a case for each of them.

/// Calls a macro with the rows of some groups, in the order of
/// [`LeafKind`](crate::model::LeafKind).
///
/// `each_scalar!([floats] => then 1, 2;)` calls `then! { 1, 2; F32: f32, {…}; F64: f64, {…}; }`. In
/// the braces are serde's calls for the type. `signed` and `unsigned` have at most 64 bits.
///
/// Files have the index of a kind, so the order of the rows must never change.
macro_rules! each_scalar {
    ([] => $then:ident $($rows:tt)*) => {
        $then! { $($rows)* }
    };
    ([sized $($more:ident)*] => $then:ident $($rows:tt)*) => {
        $crate::leaf::each_scalar! { [bool integers floats char $($more)*] => $then $($rows)* }
    };
    ([integers $($more:ident)*] => $then:ident $($rows:tt)*) => {
        $crate::leaf::each_scalar! { [signed i128 unsigned u128 $($more)*] => $then $($rows)* }
    };
    ([bool $($more:ident)*] => $then:ident $($rows:tt)*) => {
        $crate::leaf::each_scalar! { [$($more)*] => $then $($rows)*
            Bool: bool, {serialize_bool visit_bool deserialize_bool};
        }
    };
    ([signed $($more:ident)*] => $then:ident $($rows:tt)*) => {
        $crate::leaf::each_scalar! { [$($more)*] => $then $($rows)*
            I8: i8, {serialize_i8 visit_i8 deserialize_i8};
            I16: i16, {serialize_i16 visit_i16 deserialize_i16};
            I32: i32, {serialize_i32 visit_i32 deserialize_i32};
            I64: i64, {serialize_i64 visit_i64 deserialize_i64};
        }
    };
    ([i128 $($more:ident)*] => $then:ident $($rows:tt)*) => {
        $crate::leaf::each_scalar! { [$($more)*] => $then $($rows)*
            I128: i128, {serialize_i128 visit_i128 deserialize_i128};
        }
    };
    ([unsigned $($more:ident)*] => $then:ident $($rows:tt)*) => {
        $crate::leaf::each_scalar! { [$($more)*] => $then $($rows)*
            U8: u8, {serialize_u8 visit_u8 deserialize_u8};
            U16: u16, {serialize_u16 visit_u16 deserialize_u16};
            U32: u32, {serialize_u32 visit_u32 deserialize_u32};
            U64: u64, {serialize_u64 visit_u64 deserialize_u64};
        }
    };
    ([u128 $($more:ident)*] => $then:ident $($rows:tt)*) => {
        $crate::leaf::each_scalar! { [$($more)*] => $then $($rows)*
            U128: u128, {serialize_u128 visit_u128 deserialize_u128};
        }
    };
    ([floats $($more:ident)*] => $then:ident $($rows:tt)*) => {
        $crate::leaf::each_scalar! { [$($more)*] => $then $($rows)*
            F32: f32, {serialize_f32 visit_f32 deserialize_f32};
            F64: f64, {serialize_f64 visit_f64 deserialize_f64};
        }
    };
    ([char $($more:ident)*] => $then:ident $($rows:tt)*) => {
        $crate::leaf::each_scalar! { [$($more)*] => $then $($rows)*
            Char: char, {serialize_char visit_char deserialize_char};
        }
    };
    ([texts $($more:ident)*] => $then:ident $($rows:tt)*) => {
        $crate::leaf::each_scalar! { [$($more)*] => $then $($rows)*
            Str: &str, {serialize_str visit_str deserialize_str};
            Bytes: &[u8], {serialize_bytes visit_bytes deserialize_bytes};
        }
    };
}

pub(crate) use each_scalar;
