//! The source of a value: names below a prefix, a part of a tensor, or nothing.

use half::{bf16, f16};
use treedef::__private::narrow_to_odd;
use treedef::{Leaf, Value};

use crate::bug::OrBug;
use crate::load::entry::{Entry, is_float};
use crate::load::failure::Failure;
use crate::load::names::Below;
use crate::load::numbers::Reading;
use crate::load::part::{Absent, Part};
use crate::shape::display;
use crate::tensor::Dtype;

/// A source of a value.
#[derive(Clone)]
pub(crate) enum Place<'de> {
    Names(Below<'de>),
    Part(Part<'de>),
    /// The elements of so many dimensions as one sequence.
    Flat(Part<'de>, usize),
    Absent(Box<Absent<'de>>),
}

/// The requests for numbers, which `self.number()` answers.
macro_rules! deserialize_numbers {
    () => {
        $crate::load::place::deserialize_numbers! {
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
pub(crate) trait Number: Sized + Copy + Default {
    const DTYPE: Dtype;
    fn read(bytes: &[u8]) -> Option<Self>;
    fn from_f64(_: f64) -> Option<Self> {
        None
    }
}

macro_rules! numbers {
    ($($dtype:ident $type:ty $(, $from:expr)?;)*) => {
        $(impl Number for $type {
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
fn float(dtype: Dtype, bytes: &[u8]) -> Option<f64> {
    match dtype {
        Dtype::F16 => f16::read(bytes).map(f64::from),
        Dtype::Bf16 => bf16::read(bytes).map(f64::from),
        Dtype::F32 => f32::read(bytes).map(f64::from),
        Dtype::F64 => f64::read(bytes),
        _ => None,
    }
}

/// The error if a number of a tensor would become infinite as a float of another type.
pub(crate) fn overflow(entry: &Entry<'_>, dtype: Dtype, reading: &Reading) -> Option<Failure> {
    let array = entry.array()?;
    let fits = |value: &f64| match dtype {
        Dtype::F16 => <f16 as Number>::from_f64(*value).is_some(),
        Dtype::Bf16 => <bf16 as Number>::from_f64(*value).is_some(),
        Dtype::F32 => <f32 as Number>::from_f64(*value).is_some(),
        _ => true,
    };
    let bytes = array.tensor.all(reading);
    let numbers = bytes.chunks_exact(array.dtype.size());
    let large = numbers.filter_map(|bytes| float(array.dtype, bytes)).find(|value| !fits(value))?;
    Some(too_large(large, dtype, entry.name.to_string()))
}

/// The reason why a float is not converted.
fn too_large(value: f64, dtype: Dtype, name: String) -> Failure {
    Failure::Custom(format!("{value:e} does not fit into {dtype}"), Some(name))
}

impl<'de> Place<'de> {
    pub(crate) fn name(&self) -> String {
        match self {
            Place::Names(names) => names.name().to_owned(),
            Place::Part(part) | Place::Flat(part, _) => part.entry.name.to_string(),
            Place::Absent(absent) => absent.full_name(),
        }
    }

    /// The tensor that is here, if there is one.
    pub(crate) fn part(&self) -> Option<Part<'de>> {
        match self {
            Place::Names(names) => names.tensor(),
            Place::Part(part) => Some(*part),
            Place::Flat(..) | Place::Absent(_) => None,
        }
    }

    /// A replacement that shows the requested type if it cannot be provided.
    pub(crate) fn absent(&self) -> Absent<'de> {
        match self {
            Place::Names(names) => Absent::new(names.table, names.name().to_owned(), names.depth),
            Place::Part(part) | Place::Flat(part, _) => part.mismatch(),
            Place::Absent(absent) => Absent::clone(absent),
        }
    }

    /// A place without a tensor, for code that needs names.
    pub(crate) fn without_tensor(self) -> Self {
        match self {
            Place::Part(part) | Place::Flat(part, _) => {
                let name = part.entry.name.to_string();
                Place::Absent(Box::new(Absent::new(part.table, name, part.depth)))
            }
            other => other,
        }
    }

    #[inline]
    pub(crate) fn number<N: Number>(self) -> Result<N, Failure> {
        if let Place::Part(part) = &self
            && part.array.dtype == N::DTYPE
            && let Some(number) = part.bytes().and_then(N::read)
        {
            part.entry.count_read(1);
            return Ok(number);
        }
        self.number_of_file()
    }

    /// A number of a tensor in a file.
    #[inline(never)]
    fn number_of_file<N: Number>(self) -> Result<N, Failure> {
        if let Place::Part(part) = &self
            && part.array.dtype == N::DTYPE
            && let Some(number) = part.with_bytes(N::read).flatten()
        {
            part.entry.count_read(1);
            return Ok(number);
        }
        self.other_number()
    }

    /// A number of another type, or a failure.
    #[cold]
    fn other_number<N: Number>(self) -> Result<N, Failure> {
        let Some(part) = self.part() else {
            self.absent().report(Some(N::DTYPE), "");
            return Ok(N::default());
        };
        part.entry.count_read(1);
        let dtype = part.array.dtype;
        match part.with_bytes(|bytes| (N::read(bytes), float(dtype, bytes))) {
            Some((number, _)) if dtype == N::DTYPE => return Ok(number.or_bug()),
            Some((_, value)) if part.table.convert && is_float(dtype) && is_float(N::DTYPE) => {
                return value
                    .and_then(N::from_f64)
                    .ok_or_else(|| too_large(value.or_bug(), N::DTYPE, self.name()));
            }
            Some(_) => {
                let expected = display(N::DTYPE, &part.array.dims);
                part.table.change(part.entry, expected);
            }
            None => part.mismatch().report(Some(N::DTYPE), ""),
        }
        Ok(N::default())
    }

    pub(crate) fn bool(self) -> Result<bool, Failure> {
        let Some(part) = self.part() else {
            self.absent().report(Some(Dtype::Bool), "");
            return Ok(false);
        };
        part.entry.count_read(1);
        match (part.with_bytes(|bytes| bytes.first().copied()), part.array.dtype) {
            (Some(Some(0)), Dtype::Bool) => Ok(false),
            (Some(Some(1)), Dtype::Bool) => Ok(true),
            (Some(Some(byte)), Dtype::Bool) => {
                Err(Failure::Custom(format!("the byte {byte} is not a bool"), Some(self.name())))
            }
            (Some(_), _) => {
                part.table.change(part.entry, display(Dtype::Bool, &part.array.dims));
                Ok(false)
            }
            (None, _) => {
                part.mismatch().report(Some(Dtype::Bool), "");
                Ok(false)
            }
        }
    }

    /// The leaf that the metadata has under this name.
    pub(crate) fn text(&self, kind: &'static str) -> Result<Option<Leaf>, Failure> {
        let text = match self {
            Place::Names(names) => names.text(),
            _ => None,
        };
        let Some(text) = text else {
            self.clone().without_tensor().absent().report(None, kind);
            return Ok(None);
        };
        let value: Result<Value, treedef::Error> = text.parse();
        let value = value.map_err(|error| Failure::Custom(error.to_string(), Some(self.name())))?;
        Ok(Some(value.into()))
    }
}
