//! A tensor as a struct that holds an array: `{ v, dim, data }` of `ndarray`, `{ shape, data }` of
//! others, `{ bytes, shape, dtype }` of `burn`.

use std::borrow::Cow;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, VariantAccess, Visitor,
};
use treedef::__private::ArrayFields;

use crate::bug::OrBug;
use crate::load::array_repr::ArrayRepr;
use crate::load::failure::Failure;
use crate::load::key::{text, version};
use crate::load::tensor_slice::TensorSlice;
use crate::load::value_deserializer::ValueDeserializer;
use crate::shape::{MAX_DIMS, display};
use crate::tensor::Dtype;

/// A boolean in the memory of `burn`: a byte.
const BYTE: &str = "Native";

/// The maximum number of dimensions that a type may request.
const MOST_PRINTED: usize = MAX_DIMS + 1;

/// The fields of the struct, with the shape before the numbers.
pub(crate) struct ArrayAccess<'de> {
    slice: TensorSlice<'de>,
    array: ArrayFields,
    /// Below and positions, backwards.
    fields: Vec<(&'static str, usize)>,
    value: usize,
    /// The number of dimensions that the type read as the shape. `None` if it has more.
    rank: Option<usize>,
}

impl<'de> ArrayAccess<'de> {
    pub(crate) fn new(
        slice: TensorSlice<'de>,
        array: ArrayFields,
        names: &'static [&'static str],
    ) -> Self {
        slice.entry.requested.set(true);
        let mut fields: Vec<_> = names.iter().copied().zip(0..).collect();
        fields.sort_by_key(|(_, position)| *position != array.data()); // the numbers are last
        ArrayAccess { slice, array, fields, value: 0, rank: None }
    }
}

impl<'de> MapAccess<'de> for ArrayAccess<'de> {
    type Error = Failure;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Failure> {
        let Some((name, position)) = self.fields.pop() else { return Ok(None) };
        self.value = position;
        seed.deserialize(text(name)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Failure> {
        let position = Some(self.value);
        if position == self.array.version() {
            return seed.deserialize(version());
        }
        if position == Some(self.array.shape()) {
            return seed.deserialize(ShapeDeserializer { slice: self.slice, rank: &mut self.rank });
        }
        if position == self.array.dtype() {
            return seed.deserialize(DtypeDeserializer(self.slice));
        }
        match (self.array.dtype(), self.rank) {
            (Some(_), _) => seed.deserialize(BytesDeserializer(self.slice)),
            (None, Some(rank)) => seed.deserialize(ValueDeserializer::Flat(self.slice, rank)),
            // The wrong shape was reported already.
            (None, None) => seed.deserialize(SeqDeserializer::new(std::iter::empty::<u64>())),
        }
    }
}

/// The shape of a tensor as a value.
struct ShapeDeserializer<'a, 'de> {
    slice: TensorSlice<'de>,
    rank: &'a mut Option<usize>,
}

impl<'de> ShapeDeserializer<'_, 'de> {
    fn all(&self) -> &'de [usize] {
        self.slice.array.dims.get(self.slice.depth..).or_bug()
    }

    /// The first dimensions. The elements have the others.
    fn first(self, length: usize) -> Option<&'de [usize]> {
        let TensorSlice { context, entry, array, depth, .. } = self.slice;
        let dims = self.all().get(..length);
        *self.rank = dims.map(<[usize]>::len);
        if dims.is_none() {
            let sizes = vec!["_"; depth.saturating_add(length).min(MOST_PRINTED)];
            context.report_mismatch(entry, display(array.dtype, &sizes));
        }
        dims
    }
}

/// A number as large as a dimension.
fn size(dim: usize) -> u64 {
    u64::try_from(dim).unwrap_or(u64::MAX)
}

macro_rules! one_size {
    ($($deserialize:ident)*) => {
        $(fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
            let dims = self.first(1);
            visitor.visit_u64(dims.and_then(<[usize]>::first).copied().map_or(0, size))
        })*
    };
}

impl<'de> Deserializer<'de> for ShapeDeserializer<'_, 'de> {
    type Error = Failure;

    one_size! {
        deserialize_u8 deserialize_i8 deserialize_u16 deserialize_i16 deserialize_u32
        deserialize_i32 deserialize_u64 deserialize_i64 deserialize_u128 deserialize_i128
    }

    /// serde keeps it in a buffer.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.slice.context.repr(self.slice.entry) {
            ArrayRepr::Struct { is_size: true, .. } => self.deserialize_u64(visitor),
            repr => {
                let inner = if let ArrayRepr::Struct { inner, .. } = repr { inner } else { 0 };
                let length = self.all().len().saturating_sub(inner);
                self.deserialize_tuple(length, visitor)
            }
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        // A report was made if there are fewer.
        let dims = self.first(length).unwrap_or_default();
        let sizes = (0..length).map(|at| dims.get(at).copied().map_or(0, size));
        visitor.visit_seq(SeqDeserializer::<_, Failure>::new(sizes))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_newtype_struct(self)
    }

    serde::forward_to_deserialize_any! {
        bool f32 f64 char str string bytes byte_buf option unit unit_struct seq map struct enum
        identifier ignored_any
    }
}

/// All numbers as one byte string.
struct BytesDeserializer<'de>(TensorSlice<'de>);

impl<'de> Deserializer<'de> for BytesDeserializer<'de> {
    type Error = Failure;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let BytesDeserializer(slice) = self;
        slice.entry.count_read(slice.num_left());
        match slice.all_bytes() {
            Cow::Borrowed(bytes) => visitor.visit_borrowed_bytes(bytes),
            Cow::Owned(bytes) => visitor.visit_byte_buf(bytes),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let BytesDeserializer(slice) = self;
        let mut bytes =
            SeqDeserializer::<_, Failure>::new(slice.all_bytes().into_owned().into_iter());
        let value = visitor.visit_seq(&mut bytes)?;
        bytes.end()?;
        slice.entry.count_read(slice.num_left());
        Ok(value)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_newtype_struct(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct tuple tuple_struct map struct enum identifier
    }
}

/// The type of the elements, as the variant of its name.
struct DtypeDeserializer<'de>(TensorSlice<'de>);

impl<'de> Deserializer<'de> for DtypeDeserializer<'de> {
    type Error = Failure;

    /// serde keeps it in a buffer, and only burn has such an enum.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let dtype = self.0.array.tensor.dtype();
        match (dtype, self.0.context.repr(self.0.entry)) {
            (Dtype::Bool, ArrayRepr::Struct { has_store: true, .. }) => {
                visitor.visit_map(MapDeserializer::new([("Bool", BYTE)].into_iter()))
            }
            (Dtype::Bool, _) => visitor.visit_str("Bool"),
            _ => visitor.visit_string(dtype.name().to_ascii_uppercase()),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let dtype = self.0.array.tensor.dtype();
        let is_of_it = |variant: &&&str| variant.eq_ignore_ascii_case(dtype.name());
        match variants.iter().find(is_of_it) {
            Some(variant) => visitor.visit_enum(DtypeVariant(variant, dtype)),
            None => Err(Failure::Custom(format!("{name} has no variant for {dtype}"), None)),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct DtypeVariant(&'static str, Dtype);

impl<'de> EnumAccess<'de> for DtypeVariant {
    type Error = Failure;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Failure> {
        Ok((seed.deserialize(text(self.0))?, self))
    }
}

impl<'de> VariantAccess<'de> for DtypeVariant {
    type Error = Failure;

    fn unit_variant(self) -> Result<(), Failure> {
        Ok(())
    }

    /// Later versions have the representation of a boolean in memory.
    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Failure> {
        match self.1 {
            Dtype::Bool => seed.deserialize(BYTE.into_deserializer()),
            _ => Err(self.other()),
        }
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Failure> {
        Err(self.other())
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Failure> {
        Err(self.other())
    }
}

impl DtypeVariant {
    fn other(&self) -> Failure {
        Failure::Custom(format!("the variant `{}` has more than a name", self.0), None)
    }
}
