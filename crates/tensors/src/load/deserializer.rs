//! The deserializer: the type requests a struct, a map, a sequence or a number.

use std::borrow::Cow;
use std::iter::empty;

use half::{bf16, f16};
use serde::de::value::{SeqDeserializer, U16Deserializer};
use serde::de::{Deserializer, IntoDeserializer, Visitor};
use treedef::__private::ArrayFields;
use treedef::Leaf;

use crate::literal::{ABSENT, EMPTY, NO_ELEMENTS, PRESENT, UNIT};
use crate::load::access::{
    NameEnumAccess, NameMapAccess, NameSeqAccess, StructAccess, TensorSeqAccess,
};
use crate::load::array_access::ArrayAccess;
use crate::load::array_repr::ArrayRepr;
use crate::load::failure::Failure;
use crate::load::matrix;
use crate::load::primitive::{Primitive, deserialize_numbers};
use crate::load::tensor_slice::TensorSlice;
use crate::load::value_deserializer::ValueDeserializer;
use crate::tensor::Dtype;

/// The maximum number of names that are listed if a variant is expected.
const NAMED: usize = 5;
/// The reason why there may be no variant.
const NO_VARIANT: &str =
    ", found nothing (`Loader::fill_from` has what a file without our metadata does not say)";

impl<'de> ValueDeserializer<'de> {
    /// The fields of a struct, each with its name.
    pub(crate) fn fields<V: Visitor<'de>>(
        self,
        type_name: &str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let name = self.name();
        let fields = StructAccess::new(self.without_tensor(), type_name, fields)?;
        fields.visit(visitor).map_err(|error| error.at(|| name))
    }

    /// A text, or a number of 128 bits.
    fn visit_text<V: Visitor<'de>>(
        self,
        kind: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        match self.text(kind)? {
            Some(Leaf::Str(text)) => visitor.visit_str(&text),
            Some(Leaf::Char(char)) => visitor.visit_char(char),
            Some(Leaf::Bytes(bytes)) => visitor.visit_bytes(&bytes),
            Some(Leaf::I128(number)) => visitor.visit_i128(number.get()),
            Some(Leaf::U128(number)) => visitor.visit_u128(number.get()),
            Some(other) => {
                Err(Failure::Custom(format!("expected {kind}, found `{other}`"), Some(self.name())))
            }
            // The missing leaf was reported.
            None => match kind {
                "char" => visitor.visit_char('\0'),
                "i128" => visitor.visit_i128(0),
                "u128" => visitor.visit_u128(0),
                "bytes" => visitor.visit_bytes(&[]),
                _ => visitor.visit_str(""),
            },
        }
    }

    fn sequence<V: Visitor<'de>>(
        self,
        length: Option<usize>,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        if let ValueDeserializer::Scope(scope) = &self {
            scope.check_depth()?;
            if let Some(items) = NameSeqAccess::stacked(scope) {
                return items.visit(length, visitor).map_err(|error| error.at(|| self.name()));
            }
        }
        if let ValueDeserializer::Flat(slice, rank) = &self {
            return TensorSeqAccess::flat(*slice, *rank)
                .visit(visitor)
                .map_err(|error| error.at(|| self.name()));
        }
        let name = || self.name();
        if let Some(slice) = self.slice() {
            slice.entry.requested.set(true);
            if slice.is_column_major() {
                return matrix::visit(
                    slice,
                    matches!(self, ValueDeserializer::Scope(_)),
                    length,
                    visitor,
                )
                .map_err(|error| error.at(name));
            }
            return match slice.length() {
                Some(found) if length.is_none_or(|length| length == found) => {
                    TensorSeqAccess::new(slice, found).visit(visitor)
                }
                _ => NameSeqAccess::placeholder(slice.mismatch(), length).visit(length, visitor),
            }
            .map_err(|error| error.at(name));
        }
        let items = match &self {
            ValueDeserializer::Scope(scope) => {
                match scope.count().or(scope.is_empty().then_some(0)) {
                    Some(count) => NameSeqAccess::named(scope, length.unwrap_or(count)),
                    None => NameSeqAccess::placeholder(self.placeholder(), length),
                }
            }
            _ => NameSeqAccess::placeholder(self.placeholder(), length),
        };
        items.visit(length, visitor).map_err(|error| error.at(name))
    }

    fn half<N: Primitive, V: Visitor<'de>>(
        self,
        bits: fn(N) -> u16,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let bits: U16Deserializer<Failure> = bits(self.number::<N>()?).into_deserializer();
        visitor.visit_newtype_struct(bits)
    }

    /// An element without a request: serde keeps it in a buffer.
    fn any_number<V: Visitor<'de>>(
        self,
        slice: TensorSlice<'de>,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        match slice.array.dtype {
            Dtype::Bool => visitor.visit_bool(self.bool()?),
            Dtype::U8 => visitor.visit_u8(self.number()?),
            Dtype::I8 => visitor.visit_i8(self.number()?),
            Dtype::U16 => visitor.visit_u16(self.number()?),
            Dtype::I16 => visitor.visit_i16(self.number()?),
            Dtype::U32 => visitor.visit_u32(self.number()?),
            Dtype::I32 => visitor.visit_i32(self.number()?),
            Dtype::U64 => visitor.visit_u64(self.number()?),
            Dtype::I64 => visitor.visit_i64(self.number()?),
            Dtype::F64 => visitor.visit_f64(self.number()?),
            // Bits in a newtype are a half float, and no number.
            Dtype::F16 if !slice.context.convert => self.half(f16::to_bits, visitor),
            Dtype::Bf16 if !slice.context.convert => self.half(bf16::to_bits, visitor),
            _ => visitor.visit_f32(self.number()?),
        }
    }
}

/// The content that an option reads as `None`.
fn absent_value<'de>() -> impl Deserializer<'de, Error = Failure> {
    ().into_deserializer()
}

macro_rules! deserialize_texts {
    ($($deserialize:ident $kind:literal,)*) => {
        $(fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
            self.visit_text($kind, visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for ValueDeserializer<'de> {
    type Error = Failure;

    deserialize_numbers! {}

    deserialize_texts! {
        deserialize_str "str",
        deserialize_string "str",
        deserialize_char "char",
        deserialize_i128 "i128",
        deserialize_u128 "u128",
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_bool(self.bool()?)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.slice() {
            Some(slice)
                if slice.array.dtype == Dtype::U8
                    && slice.array.dims.len() == 1
                    && slice.depth == 0 =>
            {
                slice.entry.requested.set(true);
                slice.entry.count_read(slice.array.num_numbers());
                match slice.all_bytes() {
                    Cow::Borrowed(bytes) => visitor.visit_borrowed_bytes(bytes),
                    Cow::Owned(bytes) => visitor.visit_byte_buf(bytes),
                }
            }
            _ => self.visit_text("bytes", visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self {
            ValueDeserializer::Placeholder(placeholder) if placeholder.mismatched.is_none() => {
                visitor.visit_none()
            }
            ValueDeserializer::Scope(scope) if scope.text() == Some(ABSENT) => visitor.visit_none(),
            ValueDeserializer::Scope(scope) if scope.text() == Some(PRESENT) => {
                visitor.visit_some(absent_value())
            }
            place => visitor.visit_some(place),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        if let ValueDeserializer::Scope(scope) = &self {
            scope.text(); // it counts as read
        }
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        match name {
            "f16" => self.half(f16::to_bits, visitor),
            "bf16" => self.half(bf16::to_bits, visitor),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.sequence(None, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.sequence(Some(length), visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.open(name, |place| place.sequence(Some(length), visitor))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let place = self.without_tensor();
        let name = place.name();
        match &place {
            ValueDeserializer::Scope(scope) => scope.check_depth()?,
            ValueDeserializer::Placeholder(placeholder) => placeholder.check_depth()?,
            _ => {}
        }
        NameMapAccess::new(place).visit(visitor).map_err(|error| error.at(|| name))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        type_name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let Some(array) = ArrayFields::of(fields) else {
            return self.fields(type_name, fields, visitor);
        };
        match (&self, self.slice()) {
            // An array in a stacked element would be written as a tensor of its own.
            (ValueDeserializer::Slice(slice), _) => {
                let expected = "a tensor for each array (see `Loader::stack`)";
                slice.context.report_mismatch(slice.entry, expected.to_owned());
                Err(Failure::Reported)
            }
            (_, Some(slice)) => visitor
                .visit_map(ArrayAccess::new(slice, array, fields))
                .map_err(|error| error.at(|| self.name())),
            _ => self.fields(type_name, fields, visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let place = self.name();
        let found = match &self {
            ValueDeserializer::Scope(scope) => match scope.text() {
                Some(text) => format!(", found {text}"),
                None => {
                    let tensor = scope.tensor().map(|slice| slice.array.display());
                    let below = scope.children().into_iter().map(|name| format!("`{name}`"));
                    let found: Vec<String> = tensor.into_iter().chain(below).take(NAMED).collect();
                    if found.is_empty() {
                        String::new()
                    } else {
                        format!(", found {}", found.join(", "))
                    }
                }
            },
            ValueDeserializer::Placeholder(placeholder) if placeholder.mismatched.is_none() => {
                NO_VARIANT.to_owned()
            }
            _ => String::new(),
        };
        match NameEnumAccess::new(self, variants) {
            Some(variant) => visitor.visit_enum(variant).map_err(|error| error.at(|| place)),
            None => Err(Failure::Custom(
                format!("expected the name of one variant of {name}{found}"),
                Some(place),
            )),
        }
    }

    /// serde does not show the type: it fills a buffer, or the type accepts anything.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        if let Some(slice) = self.slice() {
            slice.entry.buffered.set(true);
            let is_whole = matches!(self, ValueDeserializer::Scope(_));
            match slice.context.repr(slice.entry) {
                ArrayRepr::Struct { names, .. } if is_whole => {
                    if let Some(array) = ArrayFields::of(names) {
                        return visitor.visit_map(ArrayAccess::new(slice, array, names));
                    }
                }
                ArrayRepr::Matrix(sizes) if is_whole => {
                    return matrix::visit_tuple(slice, sizes, visitor);
                }
                _ => {}
            }
            return match slice.length() {
                Some(_) if slice.is_column_major() && is_whole => {
                    matrix::visit_numbers(slice, visitor)
                }
                Some(_) => self.sequence(None, visitor),
                None => ValueDeserializer::Slice(slice).any_number(slice, visitor),
            };
        }
        if let ValueDeserializer::Flat(..) = &self {
            return self.sequence(None, visitor);
        }
        let ValueDeserializer::Scope(scope) = &self else {
            if let ValueDeserializer::Placeholder(placeholder) = &self
                && placeholder
                    .mismatched
                    .is_some_and(|entry| placeholder.is_shape_of(entry, usize::le))
            {
                return visitor.visit_seq(SeqDeserializer::<_, Failure>::new(empty::<()>()));
            }
            self.placeholder().report(None, "anything");
            return visitor.visit_unit();
        };
        match scope.text() {
            Some(ABSENT) => return visitor.visit_none(),
            Some(PRESENT) => return visitor.visit_some(absent_value()),
            Some(EMPTY) => return self.deserialize_map(visitor),
            Some(NO_ELEMENTS) => return self.sequence(None, visitor),
            Some(UNIT) => return visitor.visit_unit(),
            Some(_) => return self.visit_text("str", visitor),
            None => {}
        }
        let children = scope.children();
        let are_indices = children.iter().all(|part| part.parse::<usize>().is_ok());
        match scope.count() {
            Some(count)
                if are_indices
                    && count == children.len()
                    && scope.context.keys_below(scope.name()).is_none() =>
            {
                self.sequence(None, visitor)
            }
            _ => self.deserialize_map(visitor),
        }
    }

    /// The tensors below stay unused.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_str(visitor)
    }
}
