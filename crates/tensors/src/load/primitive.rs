//! The types of numbers, and the bytes that they have in tensors.

use half::{bf16, f16};
use treedef::__private::narrow_to_odd;

use crate::load::entry::LoadEntry;
use crate::load::failure::Failure;
use crate::load::tensor_reader::ReadState;
use crate::tensor::Dtype;

/// The requests for numbers, which `self.number()` answers.
macro_rules! deserialize_numbers {
    () => {
        $crate::load::primitive::deserialize_numbers! {
            deserialize_u8 visit_u8,
            deserialize_i8 visit_i8,
            deserialize_u16 visit_u16,
            deserialize_i16 visit_i16,
            deserialize_u32 visit_u32,
            deserialize_i32 visit_i32,
            deserialize_u64 visit_u64,
            deserialize_i64 visit_i64,
            deserialize_f32 visit_f32,
            deserialize_f64 visit_f64,
        }
    };
    ($($deserialize:ident $visit:ident,)+) => {
        $(#[inline]
        fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
            visitor.$visit(self.number()?)
        })+
    };
}

pub(crate) use deserialize_numbers;

/// A number type, and the bytes that it has in tensors.
pub(crate) trait Primitive: Sized + Copy + Default {
    const DTYPE: Dtype;
    fn read(bytes: &[u8]) -> Option<Self>;
    fn from_f64(_: f64) -> Option<Self> {
        None
    }
}

macro_rules! numbers {
    ($($dtype:ident $type:ty $(, $from:expr)?;)*) => {
        $(impl Primitive for $type {
            const DTYPE: Dtype = Dtype::$dtype;
            #[inline]
            fn read(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(<$type>::from_le_bytes)
            }
            $(fn from_f64(value: f64) -> Option<Self> {
                let convert: fn(f64) -> $type = $from;
                let number = convert(value);
                (f64::from(number).is_finite() || !value.is_finite()).then_some(number)
            })?
        })*
    };
}

#[allow(clippy::cast_possible_truncation, reason = "an overflow is infinite, which is refused")]
const TO_F32: fn(f64) -> f32 = |value| value as f32;

numbers! {
    U8 u8;
    I8 i8;
    U16 u16;
    I16 i16;
    U32 u32;
    I32 i32;
    U64 u64;
    I64 i64;
    F16 f16, |value| f16::from_f32(narrow_to_odd(value));
    Bf16 bf16, |value| bf16::from_f32(narrow_to_odd(value));
    F32 f32, TO_F32;
    F64 f64, |value| value;
}

/// A float of any width.
pub(crate) fn float(dtype: Dtype, bytes: &[u8]) -> Option<f64> {
    match dtype {
        Dtype::F16 => f16::read(bytes).map(f64::from),
        Dtype::Bf16 => bf16::read(bytes).map(f64::from),
        Dtype::F32 => f32::read(bytes).map(f64::from),
        Dtype::F64 => f64::read(bytes),
        _ => None,
    }
}

/// The error if a number of a tensor would become infinite as a float of another type.
pub(crate) fn overflow(
    entry: &LoadEntry<'_>,
    dtype: Dtype,
    reading: &ReadState,
) -> Option<Failure> {
    let array = entry.array()?;
    let fits = |value: &f64| match dtype {
        Dtype::F16 => <f16 as Primitive>::from_f64(*value).is_some(),
        Dtype::Bf16 => <bf16 as Primitive>::from_f64(*value).is_some(),
        Dtype::F32 => <f32 as Primitive>::from_f64(*value).is_some(),
        _ => true,
    };
    let bytes = array.tensor.all(reading);
    let numbers = bytes.chunks_exact(array.dtype.size());
    let large = numbers.filter_map(|bytes| float(array.dtype, bytes)).find(|value| !fits(value))?;
    Some(too_large(large, dtype, entry.name.to_string()))
}

/// The reason why a float is not converted.
pub(crate) fn too_large(value: f64, dtype: Dtype, name: String) -> Failure {
    Failure::Custom(format!("{value:e} does not fit into {dtype}"), Some(name))
}
