//! The variant of an enum: its name and its payload.

use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, Expected, Unexpected, VariantAccess, Visitor,
};

use crate::error::{Error, Result};
use crate::leaf::Scalar;
use crate::model::{NodeKind, Value};

use super::cursor::{Cursor, Found, Interior, Location, NodeDeserializer, OpenCompound};
use super::hints;

/// A node that is read as a variant. The cursor is at its name.
pub(super) struct Variant<'c, 'de> {
    cursor: &'c mut Cursor<'de>,
    parent: OpenCompound,
    form: VariantForm,
    /// The node.
    found: Found,
    location: Location<'de>,
}

/// The form of the variant in the structure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum VariantForm {
    Variant,
    /// A map of one entry.
    Entry,
    /// A string leaf.
    Name,
}

impl<'c, 'de> Variant<'c, 'de> {
    /// Goes to the name of the variant.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn of(cursor: &'c mut Cursor<'de>, expected: &dyn Expected) -> Result<Self> {
        if !cursor.found.is_variant()
            && let Err(error) = cursor.settle()
        {
            return Err(error);
        }
        let (parent, found, location) = (cursor.parent(), cursor.found, cursor.location);
        let form = match (found, cursor.data()) {
            (found, Some(data)) if found.is_variant() => {
                cursor.descend(0);
                cursor.go_to_name(&data.variant);
                VariantForm::Variant
            }
            _ => match cursor.go_to_name_of_other(expected) {
                Ok(form) => form,
                Err(error) => return Err(error),
            },
        };
        cursor.asked = false;
        Ok(Variant { cursor, parent, form, found, location })
    }

    /// Goes to the payload.
    #[cfg_attr(not(debug_assertions), inline)]
    fn go_to_payload(&mut self, expected: &str) -> Result<()> {
        self.cursor.asked = true;
        match self.form {
            VariantForm::Variant => {
                self.cursor.found = self.found; // reading a name moves nothing
                if self.cursor.go_to_payload() { Ok(()) } else { Err(self.cursor.too_deep()) }
            }
            _ => self.go_to_other_payload(expected),
        }
    }

    #[inline(never)]
    fn go_to_other_payload(&mut self, expected: &str) -> Result<()> {
        if let VariantForm::Name = self.form {
            return Err(de::Error::invalid_type(Unexpected::UnitVariant, &expected));
        }
        self.cursor.go_to_parent(&self.parent, self.found, self.location);
        if self.cursor.go_to_entry() { Ok(()) } else { Err(self.cursor.too_deep()) }
    }

    /// Adds the path of the payload to its error.
    #[cold]
    fn under(&mut self, error: Error) -> Error {
        let has_key = match self.form {
            VariantForm::Variant => self.found == Found::Node(NodeKind::NewtypeVariant),
            form => form == VariantForm::Entry,
        };
        if has_key { self.cursor.under(&self.parent, 0, error) } else { error }
    }

    /// Rejects a value that was made without reading the payload.
    #[cfg_attr(not(debug_assertions), inline)]
    pub(super) fn end(&mut self) -> Result<()> {
        self.cursor.ascend(&self.parent);
        if self.cursor.asked { Ok(()) } else { self.end_without_payload() }
    }

    #[inline(never)]
    fn end_without_payload(&mut self) -> Result<()> {
        self.cursor.asked = true;
        match self.cursor.node_of(&self.parent).num_children() {
            children if children > 0 && self.form != VariantForm::Name => {
                Err(self.cursor.unread(&self.parent, children))
            }
            _ => Ok(()),
        }
    }

    /// Completes an error of the visitor.
    #[cold]
    pub(super) fn failed(&mut self, error: Error) -> Error {
        self.cursor.asked = true;
        self.cursor.ascend(&self.parent);
        let error = hints::of_variant(self.found.is_variant(), error);
        self.cursor.outside_of(&self.parent, error)
    }
}

impl<'de> Cursor<'de> {
    /// Goes to the name of the variant: the only key of a map, or a string leaf. Takes no levels for an error.
    #[inline(never)]
    fn go_to_name_of_other(&mut self, expected: &dyn Expected) -> Result<VariantForm> {
        let keys: &'de [Value] = self.here().entry_keys();
        match keys {
            [key] if self.found == Found::Node(NodeKind::Map) => {
                self.descend(0);
                self.go_to_key(key);
                Ok(VariantForm::Entry)
            }
            _ if matches!(self.scalar(), Some(Scalar::Str(_))) => match self.pass() {
                Interior::TooDeep => Err(self.too_deep()),
                _ => {
                    self.descend(0);
                    Ok(VariantForm::Name)
                }
            },
            _ => Err(self.unexpected(expected)),
        }
    }
}

impl<'de> EnumAccess<'de> for &mut Variant<'_, 'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self)> {
        let name = seed.deserialize(NodeDeserializer(self.cursor));
        self.cursor.asked = false; // the payload was not
        match name {
            Ok(name) => Ok((name, self)),
            Err(error) => Err(error),
        }
    }
}

impl<'de> VariantAccess<'de> for &mut Variant<'_, 'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<()> {
        if let VariantForm::Name = self.form {
            return Ok(());
        }
        self.go_to_payload("unit variant")?;
        if self.cursor.is_unit() {
            return Ok(());
        }
        let error = self.cursor.unexpected(&"unit");
        Err(self.under(error))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value> {
        if let Err(error) = self.go_to_payload("newtype variant") {
            return Err(error);
        }
        match seed.deserialize(NodeDeserializer(self.cursor)) {
            Ok(value) => Ok(value),
            Err(error) => Err(self.under(error)),
        }
    }

    fn tuple_variant<V: Visitor<'de>>(self, count: usize, visitor: V) -> Result<V::Value> {
        if let Err(error) = self.go_to_payload("tuple variant") {
            return Err(error);
        }
        match NodeDeserializer(self.cursor).deserialize_tuple(count, visitor) {
            Ok(value) => Ok(value),
            Err(error) => Err(self.under(error)),
        }
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        if let Err(error) = self.go_to_payload("struct variant") {
            return Err(error);
        }
        match NodeDeserializer(self.cursor).deserialize_struct("", fields, visitor) {
            Ok(value) => Ok(value),
            Err(error) => Err(self.under(error)),
        }
    }
}
