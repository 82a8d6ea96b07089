//! Random values of the whole serde data model. No single type with derive has all of them.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;

use proptest::prelude::*;
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, IgnoredAny, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde::{Deserialize, Serialize};

type Name = &'static str;

/// One value for each of the 29 kinds. Floats are bits, so that `==` is exact.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    Bool(bool),
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    I128(i128),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    U128(u128),
    F32(u32),
    F64(u64),
    Char(char),
    Str(String),
    Bytes(Vec<u8>),
    None,
    Some(Box<Data>),
    Unit,
    UnitStruct(Name),
    UnitVariant(Name, Name),
    NewtypeStruct(Name, Box<Data>),
    NewtypeVariant(Name, Name, Box<Data>),
    Seq(Vec<Data>),
    Tuple(Vec<Data>),
    TupleStruct(Name, Vec<Data>),
    TupleVariant(Name, Name, Vec<Data>),
    Map(Vec<(Data, Data)>),
    Struct(Name, Vec<(Name, Data)>),
    StructVariant(Name, Name, Vec<(Name, Data)>),
}

pub const NAMES: [Name; 12] =
    ["A", "Point", "static", "", "a b", "`", "None", "i32", "w\n", "層", "x", "r#type"];

fn name() -> impl Strategy<Value = Name> {
    prop::sample::select(&NAMES[..])
}

fn scalar() -> impl Strategy<Value = Data> {
    prop_oneof![
        any::<bool>().prop_map(Data::Bool),
        any::<i8>().prop_map(Data::I8),
        any::<i16>().prop_map(Data::I16),
        any::<i32>().prop_map(Data::I32),
        any::<i64>().prop_map(Data::I64),
        any::<i128>().prop_map(Data::I128),
        any::<u8>().prop_map(Data::U8),
        any::<u16>().prop_map(Data::U16),
        any::<u32>().prop_map(Data::U32),
        any::<u64>().prop_map(Data::U64),
        any::<u128>().prop_map(Data::U128),
        any::<u32>().prop_map(Data::F32),
        any::<u64>().prop_map(Data::F64),
        any::<char>().prop_map(Data::Char),
        ".{0,6}".prop_map(Data::Str),
        prop::collection::vec(any::<u8>(), 0..5).prop_map(Data::Bytes),
    ]
}

fn atom() -> impl Strategy<Value = Data> {
    prop_oneof![
        4 => scalar(),
        1 => Just(Data::None),
        1 => Just(Data::Unit),
        1 => name().prop_map(Data::UnitStruct),
        1 => (name(), name()).prop_map(|(name, variant)| Data::UnitVariant(name, variant)),
    ]
}

/// Children. Neighbours are often equal, so that runs form, break and merge.
fn children(child: impl Strategy<Value = Data> + Clone) -> impl Strategy<Value = Vec<Data>> {
    prop::collection::vec((child, 1usize..4), 0..4)
        .prop_map(|runs| runs.into_iter().flat_map(|(child, repeat)| vec![child; repeat]).collect())
}

fn fields(child: impl Strategy<Value = Data>) -> impl Strategy<Value = Vec<(Name, Data)>> {
    prop::collection::vec((name(), child), 0..5).prop_map(|mut fields| {
        let mut seen = Vec::new();
        fields.retain(|(name, _)| {
            !seen.contains(name) && {
                seen.push(*name);
                true
            }
        });
        fields
    })
}

pub fn data() -> impl Strategy<Value = Data> {
    atom().prop_recursive(4, 40, 6, |inside| {
        let boxed = inside.clone().prop_map(Box::new);
        prop_oneof![
            boxed.clone().prop_map(Data::Some),
            (name(), boxed.clone()).prop_map(|(name, inside)| Data::NewtypeStruct(name, inside)),
            (name(), name(), boxed)
                .prop_map(|(name, variant, inside)| Data::NewtypeVariant(name, variant, inside)),
            children(inside.clone()).prop_map(Data::Seq),
            children(inside.clone()).prop_map(Data::Tuple),
            (name(), children(inside.clone()))
                .prop_map(|(name, children)| Data::TupleStruct(name, children)),
            (name(), name(), children(inside.clone()))
                .prop_map(|(name, variant, children)| Data::TupleVariant(name, variant, children)),
            prop::collection::vec((inside.clone(), inside.clone()), 0..5).prop_map(
                |mut entries| {
                    let mut seen: Vec<Data> = Vec::new();
                    entries.retain(|(key, _)| {
                        !seen.contains(key) && {
                            seen.push(key.clone());
                            true
                        }
                    });
                    Data::Map(entries)
                }
            ),
            (name(), fields(inside.clone())).prop_map(|(name, fields)| Data::Struct(name, fields)),
            (name(), name(), fields(inside))
                .prop_map(|(name, variant, fields)| Data::StructVariant(name, variant, fields)),
        ]
    })
}

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Data::Bool(value) => serializer.serialize_bool(*value),
            Data::I8(value) => serializer.serialize_i8(*value),
            Data::I16(value) => serializer.serialize_i16(*value),
            Data::I32(value) => serializer.serialize_i32(*value),
            Data::I64(value) => serializer.serialize_i64(*value),
            Data::I128(value) => serializer.serialize_i128(*value),
            Data::U8(value) => serializer.serialize_u8(*value),
            Data::U16(value) => serializer.serialize_u16(*value),
            Data::U32(value) => serializer.serialize_u32(*value),
            Data::U64(value) => serializer.serialize_u64(*value),
            Data::U128(value) => serializer.serialize_u128(*value),
            Data::F32(bits) => serializer.serialize_f32(f32::from_bits(*bits)),
            Data::F64(bits) => serializer.serialize_f64(f64::from_bits(*bits)),
            Data::Char(value) => serializer.serialize_char(*value),
            Data::Str(value) => serializer.serialize_str(value),
            Data::Bytes(value) => serializer.serialize_bytes(value),
            Data::None => serializer.serialize_none(),
            Data::Some(inside) => serializer.serialize_some(inside),
            Data::Unit => serializer.serialize_unit(),
            Data::UnitStruct(name) => serializer.serialize_unit_struct(name),
            Data::UnitVariant(name, variant) => serializer.serialize_unit_variant(name, 0, variant),
            Data::NewtypeStruct(name, inside) => serializer.serialize_newtype_struct(name, inside),
            Data::NewtypeVariant(name, variant, inside) => {
                serializer.serialize_newtype_variant(name, 0, variant, inside)
            }
            Data::Seq(children) => {
                let mut seq = serializer.serialize_seq(None)?;
                children.iter().try_for_each(|child| seq.serialize_element(child))?;
                seq.end()
            }
            Data::Tuple(children) => {
                let mut tuple = serializer.serialize_tuple(children.len())?;
                children.iter().try_for_each(|child| tuple.serialize_element(child))?;
                tuple.end()
            }
            Data::TupleStruct(name, children) => {
                let mut tuple = serializer.serialize_tuple_struct(name, children.len())?;
                children.iter().try_for_each(|child| tuple.serialize_field(child))?;
                tuple.end()
            }
            Data::TupleVariant(name, variant, children) => {
                let mut tuple =
                    serializer.serialize_tuple_variant(name, 0, variant, children.len())?;
                children.iter().try_for_each(|child| tuple.serialize_field(child))?;
                tuple.end()
            }
            Data::Map(entries) => {
                let mut map = serializer.serialize_map(None)?;
                entries.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
                map.end()
            }
            Data::Struct(name, fields) => {
                let mut fields_of = serializer.serialize_struct(name, fields.len())?;
                fields
                    .iter()
                    .try_for_each(|(name, field)| fields_of.serialize_field(name, field))?;
                fields_of.end()
            }
            Data::StructVariant(name, variant, fields) => {
                let mut fields_of =
                    serializer.serialize_struct_variant(name, 0, variant, fields.len())?;
                fields
                    .iter()
                    .try_for_each(|(name, field)| fields_of.serialize_field(name, field))?;
                fields_of.end()
            }
        }
    }
}

thread_local! {
    /// The value that [`Read`] expects. A `Data` has no type from which it could be known.
    static EXPECTED: RefCell<Option<Data>> = const { RefCell::new(None) };
    /// Lists of names that serde needs for ever. Each list leaks once, however many values are
    /// read.
    static KEPT: RefCell<HashSet<&'static [Name]>> = RefCell::default();
}

fn kept(names: Vec<Name>) -> &'static [Name] {
    KEPT.with_borrow_mut(|kept| match kept.get(&*names) {
        Some(known) => known,
        None => {
            let names: &[Name] = names.leak();
            kept.insert(names);
            names
        }
    })
}

/// A value that requests the kinds of another value, as a derived type would.
#[derive(Debug, PartialEq)]
pub struct Read(pub Data);

impl Read {
    /// Runs `f`. In it, `Read` requests the kinds of `expected`.
    pub fn like<R>(expected: &Data, f: impl FnOnce() -> R) -> R {
        EXPECTED.set(Some(expected.clone()));
        f()
    }
}

impl Serialize for Read {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Read {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = EXPECTED.with_borrow(Clone::clone).unwrap_or(Data::Unit);
        expected.deserialize(deserializer).map(Read)
    }
}

impl<'de> DeserializeSeed<'de> for &Data {
    type Value = Data;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Data, D::Error> {
        let fields_of =
            |fields: &[(Name, Data)]| kept(fields.iter().map(|(name, _)| *name).collect());
        match self {
            Data::Bool(_) => d.deserialize_bool(self),
            Data::I8(_) => d.deserialize_i8(self),
            Data::I16(_) => d.deserialize_i16(self),
            Data::I32(_) => d.deserialize_i32(self),
            Data::I64(_) => d.deserialize_i64(self),
            Data::I128(_) => d.deserialize_i128(self),
            Data::U8(_) => d.deserialize_u8(self),
            Data::U16(_) => d.deserialize_u16(self),
            Data::U32(_) => d.deserialize_u32(self),
            Data::U64(_) => d.deserialize_u64(self),
            Data::U128(_) => d.deserialize_u128(self),
            Data::F32(_) => d.deserialize_f32(self),
            Data::F64(_) => d.deserialize_f64(self),
            Data::Char(_) => d.deserialize_char(self),
            Data::Str(_) => d.deserialize_string(self),
            Data::Bytes(_) => d.deserialize_byte_buf(self),
            Data::None | Data::Some(_) => d.deserialize_option(self),
            Data::Unit => d.deserialize_unit(self),
            Data::UnitStruct(name) => d.deserialize_unit_struct(name, self),
            Data::NewtypeStruct(name, _) => d.deserialize_newtype_struct(name, self),
            Data::Seq(_) => d.deserialize_seq(self),
            Data::Tuple(children) => d.deserialize_tuple(children.len(), self),
            Data::TupleStruct(name, children) => {
                d.deserialize_tuple_struct(name, children.len(), self)
            }
            Data::Map(_) => d.deserialize_map(self),
            Data::Struct(name, fields) => d.deserialize_struct(name, fields_of(fields), self),
            Data::UnitVariant(name, variant)
            | Data::NewtypeVariant(name, variant, _)
            | Data::TupleVariant(name, variant, _)
            | Data::StructVariant(name, variant, _) => {
                d.deserialize_enum(name, kept(vec![variant]), self)
            }
        }
    }
}

macro_rules! visit_scalars {
    ($($visit:ident($type:ty), $variant:ident, $value:ident => $data:expr;)*) => {$(
        fn $visit<E: de::Error>(self, $value: $type) -> Result<Data, E> {
            match self {
                Data::$variant(_) => Ok(Data::$variant($data)),
                _ => Err(E::custom(concat!(stringify!($variant), " came unasked"))),
            }
        }
    )*};
}

impl<'de> Visitor<'de> for &Data {
    type Value = Data;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{self:?}")
    }

    visit_scalars! {
        visit_bool(bool), Bool, value => value;
        visit_i8(i8), I8, value => value;
        visit_i16(i16), I16, value => value;
        visit_i32(i32), I32, value => value;
        visit_i64(i64), I64, value => value;
        visit_i128(i128), I128, value => value;
        visit_u8(u8), U8, value => value;
        visit_u16(u16), U16, value => value;
        visit_u32(u32), U32, value => value;
        visit_u64(u64), U64, value => value;
        visit_u128(u128), U128, value => value;
        visit_f32(f32), F32, value => value.to_bits();
        visit_f64(f64), F64, value => value.to_bits();
        visit_char(char), Char, value => value;
        visit_str(&str), Str, value => value.to_owned();
        visit_bytes(&[u8]), Bytes, value => value.to_owned();
    }

    fn visit_none<E: de::Error>(self) -> Result<Data, E> {
        Ok(Data::None)
    }

    fn visit_some<D: Deserializer<'de>>(self, d: D) -> Result<Data, D::Error> {
        match self {
            Data::Some(inside) => inside.deserialize(d).map(|inside| Data::Some(Box::new(inside))),
            _ => Err(de::Error::custom("Some came unasked")),
        }
    }

    fn visit_unit<E: de::Error>(self) -> Result<Data, E> {
        match self {
            Data::Unit | Data::UnitStruct(_) => Ok(self.clone()),
            _ => Err(E::custom("unit came unasked")),
        }
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, d: D) -> Result<Data, D::Error> {
        match self {
            Data::NewtypeStruct(name, inside) => {
                inside.deserialize(d).map(|inside| Data::NewtypeStruct(name, Box::new(inside)))
            }
            _ => Err(de::Error::custom("a newtype came unasked")),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Data, A::Error> {
        let (Data::Seq(expected)
        | Data::Tuple(expected)
        | Data::TupleStruct(_, expected)
        | Data::TupleVariant(_, _, expected)) = self
        else {
            return Err(de::Error::custom("a sequence came unasked"));
        };
        // No panic, because the library may make a guess, and drops it if it fails.
        if seq.size_hint() != Some(expected.len()) {
            return Err(de::Error::custom("a wrong number was announced"));
        }
        let read: Result<Vec<_>, _> = expected
            .iter()
            .map(|child| {
                seq.next_element_seed(child)?.ok_or_else(|| de::Error::custom("too few elements"))
            })
            .collect();
        Ok(match self {
            Data::Seq(_) => Data::Seq(read?),
            Data::TupleStruct(name, _) => Data::TupleStruct(name, read?),
            Data::TupleVariant(name, variant, _) => Data::TupleVariant(name, variant, read?),
            _ => Data::Tuple(read?),
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Data, A::Error> {
        let too_few = || de::Error::custom("too few entries");
        Ok(match self {
            Data::Map(entries) => {
                let read: Result<Vec<_>, _> = entries
                    .iter()
                    .map(|(key, value)| {
                        Ok((
                            map.next_key_seed(key)?.ok_or_else(too_few)?,
                            map.next_value_seed(value)?,
                        ))
                    })
                    .collect();
                Data::Map(read?)
            }
            Data::Struct(_, fields) | Data::StructVariant(_, _, fields) => {
                let mut read = Vec::new();
                while let Some(key) = map.next_key::<String>()? {
                    match fields.iter().find(|(name, _)| *name == key) {
                        Some((name, field)) => read.push((*name, map.next_value_seed(field)?)),
                        None => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                match self {
                    Data::StructVariant(name, variant, _) => {
                        Data::StructVariant(name, variant, read)
                    }
                    Data::Struct(name, _) => Data::Struct(name, read),
                    _ => return Err(too_few()),
                }
            }
            _ => return Err(de::Error::custom("a map came unasked")),
        })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Data, A::Error> {
        let (found, payload) = data.variant::<String>()?;
        let (Data::UnitVariant(_, variant)
        | Data::NewtypeVariant(_, variant, _)
        | Data::TupleVariant(_, variant, _)
        | Data::StructVariant(_, variant, _)) = self
        else {
            return Err(de::Error::custom("a variant came unasked"));
        };
        if found != *variant {
            return Err(de::Error::unknown_variant(&found, &[]));
        }
        match self {
            Data::NewtypeVariant(name, variant, inside) => payload
                .newtype_variant_seed(&**inside)
                .map(|inside| Data::NewtypeVariant(name, variant, Box::new(inside))),
            Data::TupleVariant(_, _, children) => payload.tuple_variant(children.len(), self),
            Data::StructVariant(..) => payload.struct_variant(&[], self),
            _ => payload.unit_variant().map(|()| self.clone()),
        }
    }
}
