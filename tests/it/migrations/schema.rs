//! Types that are made at run time, and their values. They call serde as derived code does; the
//! structs with `#[serde(flatten)]` fields are derived.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

use serde::de::{self, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeSeq, SerializeStruct};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Identifies a field across the versions of a type, with any name.
pub(super) type Id = usize;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    U16,
    I64,
    F32,
    F64,
    Text,
    /// A text that is checked: of two numbers that are equal.
    Checked,
}

#[derive(Clone, Debug)]
pub(super) enum Schema {
    Leaf(Kind),
    Some(Box<Schema>),
    /// A vector; its values in tests have two elements.
    Seq(Box<Schema>),
    /// With `split`, the fields from there on belong to a second struct, and both are flattened.
    Struct {
        fields: Vec<Field>,
        split: Option<usize>,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) id: Id,
    pub(super) name: &'static str,
    /// The name that is read, if it is another one.
    pub(super) alias: Option<&'static str>,
    /// The value of an absent field.
    pub(super) default: Option<Val>,
    pub(super) schema: Schema,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Val {
    Number(Kind, f64),
    None,
    Some(Box<Val>),
    Seq(Vec<Val>),
    Struct(HashMap<Id, Val>),
}

impl Schema {
    /// A value in which each leaf has a number of its own.
    pub(super) fn value(&self, next: &mut u32) -> Val {
        match self {
            Schema::Leaf(kind) => {
                *next += 1;
                Val::Number(*kind, f64::from(*next))
            }
            Schema::Some(inner) => Val::Some(Box::new(inner.value(next))),
            Schema::Seq(inner) => Val::Seq(vec![inner.value(next), inner.value(next)]),
            Schema::Struct { fields, .. } => {
                let value = |field: &Field| (field.id, field.schema.value(next));
                Val::Struct(fields.iter().map(value).collect())
            }
        }
    }
}

/// A value with its type, to be serialized.
struct Typed<'a>(&'a Schema, &'a Val);

impl Serialize for Typed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Typed(schema, value) = *self;
        match (schema, value) {
            (_, Val::Number(Kind::U16, number)) => (*number as u16).serialize(serializer),
            (_, Val::Number(Kind::I64, number)) => (*number as i64).serialize(serializer),
            (_, Val::Number(Kind::F32, number)) => (*number as f32).serialize(serializer),
            (_, Val::Number(Kind::F64, number)) => number.serialize(serializer),
            (_, Val::Number(Kind::Text, number)) => format!("no {number}").serialize(serializer),
            (_, Val::Number(Kind::Checked, number)) => {
                format!("{number}={number}").serialize(serializer)
            }
            (_, Val::None) => serializer.serialize_none(),
            (Schema::Some(schema), Val::Some(value)) => {
                serializer.serialize_some(&Typed(schema, value))
            }
            (Schema::Seq(schema), Val::Seq(elements)) => {
                let mut seq = serializer.serialize_seq(Some(elements.len()))?;
                elements
                    .iter()
                    .try_for_each(|element| seq.serialize_element(&Typed(schema, element)))?;
                seq.end()
            }
            (Schema::Struct { fields, split: None }, Val::Struct(values)) => {
                Part(fields, values).serialize(serializer)
            }
            (Schema::Struct { fields, split: Some(split) }, Val::Struct(values)) => {
                let (first, second) = fields.split_at(*split);
                Flattened { first: Part(first, values), second: Part(second, values) }
                    .serialize(serializer)
            }
            _ => unreachable!("{value:?} is no {schema:?}"),
        }
    }
}

/// The derive works as for users.
#[derive(Serialize)]
struct Flattened<'a> {
    #[serde(flatten)]
    first: Part<'a>,
    #[serde(flatten)]
    second: Part<'a>,
}

/// Fields of a struct.
struct Part<'a>(&'a [Field], &'a HashMap<Id, Val>);

impl Serialize for Part<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Struct", self.0.len())?;
        for field in self.0 {
            fields.serialize_field(field.name, &Typed(&field.schema, &self.1[&field.id]))?;
        }
        fields.end()
    }
}

/// Reads a value of a type.
#[derive(Clone, Copy)]
struct Reader<'a>(&'a Schema);

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Val;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Val, D::Error> {
        match self.0 {
            Schema::Leaf(kind) => number(*kind, deserializer),
            Schema::Some(_) => deserializer.deserialize_option(self),
            Schema::Seq(_) => deserializer.deserialize_seq(self),
            Schema::Struct { fields, split: None } => {
                deserializer.deserialize_struct("Struct", names(fields), Fields(fields))
            }
            Schema::Struct { fields, split: Some(split) } => {
                let (first, second) = fields.split_at(*split);
                PARTS.with_borrow_mut(|parts| parts.extend([second.to_vec(), first.to_vec()]));
                let depth = PARTS.with_borrow(|parts| parts.len() - 2);
                let read = ReadFlattened::deserialize(deserializer);
                PARTS.with_borrow_mut(|parts| parts.truncate(depth));
                let ReadFlattened { first: ReadPart(mut all), second: ReadPart(second) } = read?;
                all.extend(second);
                Ok(Val::Struct(all))
            }
        }
    }
}

fn number<'de, D: Deserializer<'de>>(kind: Kind, deserializer: D) -> Result<Val, D::Error> {
    let number = match kind {
        Kind::U16 => f64::from(u16::deserialize(deserializer)?),
        Kind::I64 => i64::deserialize(deserializer)? as f64,
        Kind::F32 => f64::from(f32::deserialize(deserializer)?),
        Kind::F64 => f64::deserialize(deserializer)?,
        Kind::Checked => {
            let text = String::deserialize(deserializer)?;
            let number = text.split_once('=').filter(|(number, check)| number == check);
            let number = number.and_then(|(number, _)| number.parse().ok());
            number.ok_or_else(|| de::Error::custom("the numbers differ"))?
        }
        Kind::Text => {
            let text = String::deserialize(deserializer)?;
            let number = text.strip_prefix("no ").and_then(|number| number.parse().ok());
            number.ok_or_else(|| de::Error::custom("no number"))?
        }
    };
    Ok(Val::Number(kind, number))
}

thread_local! {
    /// The parts that the next derived types read, the next last.
    static PARTS: RefCell<Vec<Vec<Field>>> = const { RefCell::new(Vec::new()) };
    /// The type that the next [`Root`] reads, and the type that it becomes.
    static ROOT: RefCell<Option<Version>> = const { RefCell::new(None) };
}

#[derive(Deserialize)]
struct ReadFlattened {
    #[serde(flatten)]
    first: ReadPart,
    #[serde(flatten)]
    second: ReadPart,
}

struct ReadPart(HashMap<Id, Val>);

impl<'de> Deserialize<'de> for ReadPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = PARTS.with_borrow_mut(Vec::pop).expect("the reader left two");
        match deserializer.deserialize_struct("Part", names(&fields), Fields(&fields))? {
            Val::Struct(values) => Ok(ReadPart(values)),
            other => unreachable!("{other:?}"),
        }
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Val;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }

    fn visit_none<E: de::Error>(self) -> Result<Val, E> {
        Ok(Val::None)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Val, E> {
        Ok(Val::None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Val, D::Error> {
        let Schema::Some(inner) = self.0 else { unreachable!("only options ask for one") };
        Ok(Val::Some(Box::new(Reader(inner).deserialize(deserializer)?)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Val, A::Error> {
        let Schema::Seq(inner) = self.0 else { unreachable!("only vectors ask for one") };
        let mut elements = Vec::new();
        while let Some(element) = seq.next_element_seed(Reader(inner))? {
            elements.push(element);
        }
        Ok(Val::Seq(elements))
    }
}

/// Reads the fields of a struct, as a derived visitor.
struct Fields<'a>(&'a [Field]);

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = Val;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("struct Struct")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Val, A::Error> {
        let mut values = HashMap::new();
        while let Some(name) = map.next_key::<Name>()? {
            let is_meant = |field: &&Field| field.name == name.0 || field.alias == Some(&name.0);
            match self.0.iter().find(is_meant) {
                None => drop(map.next_value::<IgnoredAny>()?),
                Some(field) => {
                    let value = map.next_value_seed(Reader(&field.schema))?;
                    if values.insert(field.id, value).is_some() {
                        return Err(de::Error::duplicate_field(field.name));
                    }
                }
            }
        }
        for field in self.0.iter() {
            if values.contains_key(&field.id) {
                continue;
            }
            let value = match (&field.default, &field.schema) {
                (Some(default), _) => default.clone(),
                (None, Schema::Some(_)) => Val::None,
                (None, _) => return Err(de::Error::missing_field(field.name)),
            };
            values.insert(field.id, value);
        }
        Ok(Val::Struct(values))
    }
}

/// The name of a field. Derived code asks for an identifier.
struct Name(String);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AsName;

        impl Visitor<'_> for AsName {
            type Value = Name;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("field identifier")
            }

            fn visit_str<E>(self, name: &str) -> Result<Name, E> {
                Ok(Name(name.to_owned()))
            }
        }
        deserializer.deserialize_identifier(AsName)
    }
}

/// All names that are read, as in derived code.
fn names(fields: &[Field]) -> &'static [&'static str] {
    thread_local! {
        static KNOWN: RefCell<HashMap<Vec<&'static str>, &'static [&'static str]>> = RefCell::default();
    }
    let names: Vec<&'static str> =
        fields.iter().flat_map(|field| [Some(field.name), field.alias]).flatten().collect();
    KNOWN.with_borrow_mut(|known| {
        *known.entry(names).or_insert_with_key(|names| Vec::leak(names.clone()))
    })
}

/// A version of a type: the type that it reads, and the conversion by `#[serde(from)]`.
#[derive(Clone, Debug)]
pub(super) struct Version {
    pub(super) read: Schema,
    pub(super) made: Schema,
}

impl Version {
    /// Makes this version the one that [`Root`] has.
    pub(super) fn enter(&self) {
        ROOT.set(Some(self.clone()));
    }
}

/// A value of the version that was entered.
pub(super) struct Root(pub(super) Schema, pub(super) Val);

impl Serialize for Root {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Typed(&self.0, &self.1).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Root {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Version { read, made } = ROOT.with_borrow(Clone::clone).expect("entered");
        let value = Reader(&read).deserialize(deserializer)?;
        let mut all = HashMap::new();
        spread(&read, &value, &mut all);
        let value = gathered(&made, &value, &all);
        Ok(Root(made, value))
    }
}

/// All fields that are not inside of vectors, by their id.
fn spread(schema: &Schema, value: &Val, all: &mut HashMap<Id, Val>) {
    match (schema, value) {
        (Schema::Some(schema), Val::Some(value)) => spread(schema, value, all),
        (Schema::Struct { fields, .. }, Val::Struct(values)) => {
            for field in fields {
                all.insert(field.id, values[&field.id].clone());
                spread(&field.schema, &values[&field.id], all);
            }
        }
        _ => {}
    }
}

/// The value of a type whose fields may have been elsewhere.
fn gathered(schema: &Schema, value: &Val, all: &HashMap<Id, Val>) -> Val {
    match (schema, value) {
        (Schema::Some(schema), Val::Some(value)) => {
            Val::Some(Box::new(gathered(schema, value, all)))
        }
        (Schema::Struct { fields, .. }, Val::Struct(values)) => {
            let value =
                |field: &Field| values.get(&field.id).or_else(|| all.get(&field.id)).cloned();
            let gather = |field: &Field| {
                let value = value(field).unwrap_or(Val::None);
                (field.id, gathered(&field.schema, &value, all))
            };
            Val::Struct(fields.iter().map(gather).collect())
        }
        _ => value.clone(),
    }
}
