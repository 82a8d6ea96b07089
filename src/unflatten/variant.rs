//! The variant of an enum: its name and its payload.

use std::cell::Cell;

use serde::Deserialize;
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, Expected, Unexpected, VariantAccess, Visitor,
};

use crate::error::{Error, ErrorKind, Result};
use crate::message::limited;
use crate::model::{LeafKind, NodeKind};

use super::cursor::{At, Cursor, NodeDeserializer};

/// A node that is read as a variant.
pub(super) struct Variant<'c, 'de> {
    cursor: &'c mut Cursor<'de>,
    form: VariantForm,
    node: At<'de>,
    /// Set when the payload is requested.
    asked: &'c Cell<bool>,
}

/// The form of the variant in the structure.
#[derive(Clone, Copy)]
enum VariantForm {
    Variant,
    /// A map of one entry.
    Entry,
    /// A string leaf.
    Name,
}

impl<'c, 'de> Variant<'c, 'de> {
    /// Goes to the name of the variant.
    pub(super) fn of(
        cursor: &'c mut Cursor<'de>,
        asked: &'c Cell<bool>,
        expected: &dyn Expected,
    ) -> Result<Self> {
        cursor.unwrap()?;
        let node = cursor.at;
        let form = match (node.kind, node.node.entry_keys()) {
            (kind, _) if kind.is_variant() => {
                cursor.go_to_name(node.node.variant().unwrap_or_default(), node.level);
                VariantForm::Variant
            }
            (NodeKind::Map, [key]) => {
                cursor.go_to_key(key, node.level);
                VariantForm::Entry
            }
            (NodeKind::Leaf, _) if cursor.leaf_kind() == Some(LeafKind::Str) => {
                cursor.pass()?;
                VariantForm::Name
            }
            _ => return Err(cursor.unexpected(expected)),
        };
        Ok(Variant { cursor, form, node, asked })
    }

    /// The place of the cursor before it went to the name.
    pub(super) fn node(&self) -> At<'de> {
        self.node
    }

    /// Goes to the payload.
    fn go_to_payload(&mut self, expected: &str) -> Result<()> {
        self.asked.set(true);
        self.cursor.at = self.node;
        match self.form {
            VariantForm::Variant => self.cursor.go_to_payload(),
            VariantForm::Entry => self.cursor.go_to_child(),
            VariantForm::Name => Err(de::Error::invalid_type(Unexpected::UnitVariant, &expected)),
        }
    }

    /// Adds the path of the payload to its error.
    #[cold]
    fn under(&self, error: Error) -> Error {
        match self.form {
            VariantForm::Variant => self.node.under_payload(error),
            VariantForm::Entry => self.node.under(error, 0),
            VariantForm::Name => error,
        }
    }
}

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self)> {
        match seed.deserialize(NodeDeserializer(self.cursor)) {
            Ok(name) => Ok((name, self)),
            Err(error) => Err(error),
        }
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = Error;

    fn unit_variant(mut self) -> Result<()> {
        if let VariantForm::Name = self.form {
            return Ok(());
        }
        self.go_to_payload("unit variant")?;
        <()>::deserialize(NodeDeserializer(self.cursor)).map_err(|error| self.under(error))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(mut self, seed: T) -> Result<T::Value> {
        if let Err(error) = self.go_to_payload("newtype variant") {
            return Err(error);
        }
        match seed.deserialize(NodeDeserializer(self.cursor)) {
            Ok(value) => Ok(value),
            Err(error) => Err(self.under(error)),
        }
    }

    fn tuple_variant<V: Visitor<'de>>(mut self, count: usize, visitor: V) -> Result<V::Value> {
        if let Err(error) = self.go_to_payload("tuple variant") {
            return Err(error);
        }
        match NodeDeserializer(self.cursor).deserialize_tuple(count, visitor) {
            Ok(value) => Ok(value),
            Err(error) => Err(self.under(error)),
        }
    }

    fn struct_variant<V: Visitor<'de>>(
        mut self,
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

/// Rejects a value that was made without reading the payload.
pub(super) fn end(node: At<'_>, asked: bool) -> Result<()> {
    match node.node.num_children() {
        // At a name, `node.node` is the node that has the name, so its children do not count.
        children if children > 0 && !asked && node.kind != NodeKind::Leaf => {
            Err(node.unread(children))
        }
        _ => Ok(()),
    }
}

/// Completes an error of the visitor of an enum.
#[cold]
pub(super) fn explain(node: At<'_>, error: Error) -> Error {
    node.outside(match error.kind() {
        ErrorKind::UnknownVariant { variant, .. }
            if node.kind.is_variant() && error.is_at_root() =>
        {
            let variant = limited(&format_args!("{variant:?}"), 60);
            error.with_hint(format!("renamed? `#[serde(alias = {variant})]`"))
        }
        _ => error,
    })
}
