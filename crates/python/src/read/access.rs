//! The content of an object: its items, its entries, the content of its variant.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use serde::de::value::{BytesDeserializer, StrDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use crate::error::{Error, ErrorKind, Result};
use crate::mark::MARK;
use crate::read::context::{ObjectDeserializer, PathStep, ReadContext, UnusedKeys};
use crate::read::names::describe;
use crate::read::object::ObjectEntries;

enum List<'py> {
    List(Bound<'py, PyList>),
    Tuple(Bound<'py, PyTuple>),
}

/// The items of a list or a tuple.
pub(crate) struct ItemAccess<'a, 'py> {
    place: ObjectDeserializer<'a, 'py>,
    list: List<'py>,
    next: usize,
    length: usize,
}

impl<'a, 'py> ItemAccess<'a, 'py> {
    pub(crate) fn list(place: ObjectDeserializer<'a, 'py>, list: Bound<'py, PyList>) -> Self {
        let length = list.len();
        ItemAccess { place, list: List::List(list), next: 0, length }
    }

    pub(crate) fn tuple(place: ObjectDeserializer<'a, 'py>, tuple: Bound<'py, PyTuple>) -> Self {
        let length = tuple.len();
        ItemAccess { place, list: List::Tuple(tuple), next: 0, length }
    }

    pub(crate) fn visit<'de, V: Visitor<'de>>(
        mut self,
        length: Option<usize>,
        visitor: V,
    ) -> Result<V::Value> {
        let at = self.place.at;
        self.place.context.enter(at, self.length)?;
        if let Some(length) = length.filter(|length| *length != self.length) {
            let found = describe(self.place.object);
            let message = format_args!("expected a sequence of {length}, found {found}");
            return Err(Error::new(ErrorKind::Value, message));
        }
        visitor.visit_seq(&mut self)
    }
}

impl<'de> SeqAccess<'de> for &mut ItemAccess<'_, '_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        if self.next == self.length {
            return Ok(None);
        }
        let ObjectDeserializer { at, context, .. } = self.place;
        let at = at.child(PathStep::Item(self.next));
        // Code that runs while an item is read may make the list shorter.
        let item = match &self.list {
            List::List(list) => list.get_item(self.next),
            List::Tuple(tuple) => tuple.get_item(self.next),
        };
        self.next += 1;
        let object = &item.map_err(|error| Error::from(error).at(|| at.path()))?;
        let value = seed.deserialize(ObjectDeserializer { object, at: &at, context });
        value.map(Some).map_err(|error| error.at(|| at.path()))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.length - self.next)
    }
}

/// The entries of a dict, or the attributes of an object.
pub(crate) struct FieldAccess<'a, 'py> {
    place: ObjectDeserializer<'a, 'py>,
    entries: ObjectEntries<'py>,
    /// Whether the request is for a struct, whose names are texts.
    of_struct: bool,
    /// The key of one more entry, which is a mark.
    mark: Option<&'static str>,
    next: usize,
    /// The entry whose key was read last.
    entry: Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>,
}

impl<'a, 'py> FieldAccess<'a, 'py> {
    pub(crate) fn new(
        place: ObjectDeserializer<'a, 'py>,
        entries: ObjectEntries<'py>,
        of_struct: bool,
    ) -> Result<Self> {
        place.context.enter(place.at, entries.len())?;
        Ok(FieldAccess { place, entries, of_struct, mark: None, next: 0, entry: None })
    }

    pub(crate) fn with_mark(self, mark: Option<&'static str>) -> Self {
        FieldAccess { mark, ..self }
    }

    pub(crate) fn visit<'de, V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value> {
        visitor.visit_map(&mut self).map_err(|error| match error.kind() {
            ErrorKind::Key if !error.has_path() => {
                let found = self.entries.found(self.place.context.py);
                error.and(format_args!(", found {found}"))
            }
            _ => error,
        })
    }
}

impl<'de> MapAccess<'de> for &mut FieldAccess<'_, '_> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        let ObjectDeserializer { at, context, .. } = self.place;
        while self.next < self.entries.len() {
            let key = self.entries.key(self.next, context.py)?;
            let found = self.entries.value(self.next, &key);
            self.next += 1;
            let found =
                found.map_err(|error| error.at(|| at.child(self.entries.step(&key)).path()));
            let Some(found) = found? else { continue };
            let value = match key.cast::<PyString>() {
                Ok(_) => seed.deserialize(KeyDeserializer(&key)),
                // It is not a field. As a number, serde would read it as the position of one.
                Err(_) if self.of_struct => seed.deserialize(StrDeserializer::new(&describe(&key))),
                Err(_) => {
                    let at = at.child(PathStep::Key(&key));
                    let value =
                        seed.deserialize(ObjectDeserializer { object: &key, at: &at, context });
                    value.map_err(|error| error.at(|| at.path()))
                }
            };
            self.entry = Some((key, found));
            return value.map(Some);
        }
        self.mark.take().map(|key| seed.deserialize(StrDeserializer::new(key))).transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value> {
        let Some((key, object)) = self.entry.take() else {
            return seed.deserialize(BytesDeserializer::new(MARK));
        };
        let ObjectDeserializer { at, context, .. } = self.place;
        let at = at.child(self.entries.step(&key));
        let value = seed.deserialize(ObjectDeserializer { object: &object, at: &at, context });
        value.map_err(|error| error.at(|| at.path()))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len() - self.next)
    }
}

/// A name that is a text of Python. It is never a number, which serde would read as a field.
pub(crate) struct KeyDeserializer<'a, 'py>(pub(crate) &'a Bound<'py, PyAny>);

impl<'de> Deserializer<'de> for KeyDeserializer<'_, '_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0.cast::<PyString>() {
            Ok(text) => visitor.visit_str(text.to_str()?),
            Err(_) => Err(Error::expected("str", describe(self.0))),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.0.cast::<PyString>() {
            Ok(text) => {
                StrDeserializer::new(text.to_str()?).deserialize_enum(name, variants, visitor)
            }
            Err(_) => Err(Error::expected("str", describe(self.0))),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// The name of a variant, and its content if it has one.
pub(crate) struct ObjectVariant<'a, 'py> {
    place: ObjectDeserializer<'a, 'py>,
    name: Bound<'py, PyAny>,
    content: Option<Bound<'py, PyAny>>,
}

impl<'a, 'py> ObjectVariant<'a, 'py> {
    pub(crate) fn new(
        place: ObjectDeserializer<'a, 'py>,
        name: Bound<'py, PyAny>,
        content: Option<Bound<'py, PyAny>>,
    ) -> Self {
        ObjectVariant { place, name, content }
    }

    /// Whether it is a name alone.
    pub(crate) fn is_unit(&self) -> bool {
        self.content.is_none()
    }

    fn read<T>(self, read: impl FnOnce(ObjectDeserializer<'_, 'py>) -> Result<T>) -> Result<T> {
        let ObjectDeserializer { at, context, .. } = self.place;
        match &self.content {
            Some(object) => {
                let at = at.child(PathStep::Key(&self.name));
                read(ObjectDeserializer { object, at: &at, context })
                    .map_err(|error| error.at(|| at.path()))
            }
            None => {
                let name = describe(&self.name);
                let expected = format_args!("a dict with the content of the variant");
                Err(Error::expected(expected, name).at(|| at.path()))
            }
        }
    }
}

impl<'de> EnumAccess<'de> for ObjectVariant<'_, '_> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self)> {
        Ok((seed.deserialize(KeyDeserializer(&self.name))?, self))
    }
}

impl<'de> VariantAccess<'de> for ObjectVariant<'_, '_> {
    type Error = Error;

    fn unit_variant(self) -> Result<()> {
        match &self.content {
            None => Ok(()),
            Some(_) => self.read(|place| place.deserialize_unit(serde::de::IgnoredAny).map(|_| ())),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value> {
        self.read(|place| seed.deserialize(place))
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value> {
        self.read(|place| place.deserialize_tuple(length, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.read(|place| place.deserialize_struct("the variant", fields, visitor))
    }
}

impl ReadContext<'_> {
    /// Handles the keys that the type did not request.
    pub(crate) fn finish(&self) -> Result<()> {
        let unused = self.unused.borrow();
        let paths = || unused.join(", ");
        match self.unused_keys {
            _ if unused.is_empty() => Ok(()),
            UnusedKeys::Ignored => Ok(()),
            UnusedKeys::Error => {
                Err(Error::new(ErrorKind::Key, format_args!("unused: {}", paths())))
            }
            UnusedKeys::Warning => {
                let warnings = self.py.import(intern!(self.py, "warnings"))?;
                warnings
                    .call_method1(intern!(self.py, "warn"), (format!("unused: {}", paths()),))?;
                Ok(())
            }
        }
    }
}
