//! The entries of a map, of a struct or of a variant.

use std::collections::HashSet;
use std::iter::Take;

use serde::de::{DeserializeSeed, Expected, MapAccess};

use crate::error::{Error, ErrorKind, Result};
use crate::message::limited;
use crate::model::{Name, NodeKind, Value};
use crate::path::Path;
use crate::treedef::lookup::{COMPARED, distance};
use crate::treedef::node_ref::{Children, NodeRef};

use super::cursor::{At, Cursor, Level, NodeDeserializer};

/// The entries of a map, the fields of a struct, the elements of a sequence that is read as a
/// struct, or a variant as one entry from its name to its payload.
pub(super) struct Entries<'c, 'de> {
    cursor: &'c mut Cursor<'de>,
    map: At<'de>,
    /// The level of the values.
    level: Level<'de>,
    order: EntryOrder<'de>,
    names: &'de [Name],
    /// The fields of the struct that is read, if it is one.
    fields: Option<&'static [&'static str]>,
    /// The number of keys and of values that were handed out.
    keys: usize,
    values: usize,
    /// The value of the last key with its position, until it is handed out.
    value: Option<(usize, NodeRef<'de>)>,
}

enum EntryOrder<'de> {
    Canonical(Children<'de>),
    Insertion {
        order: &'de [usize],
        children: Vec<NodeRef<'de>>,
    },
    /// The elements of a sequence, as the first fields of a struct, and no more than it has. If a
    /// field has aliases, they are among the fields, and a visitor of serde_derive rejects the
    /// second name of that field.
    Fields(Take<Children<'de>>),
    /// One entry, for a variant.
    Variant,
}

impl<'c, 'de> Entries<'c, 'de> {
    pub(super) fn of(
        cursor: &'c mut Cursor<'de>,
        fields: Option<&'static [&'static str]>,
        expected: &dyn Expected,
    ) -> Result<Self> {
        cursor.unwrap()?;
        let (map, mut level) = (cursor.at, cursor.at.level);
        let (order, names): (_, &[Name]) = match (map.kind, fields) {
            (NodeKind::NewtypeVariant | NodeKind::TupleVariant | NodeKind::StructVariant, _) => {
                (EntryOrder::Variant, &[])
            }
            (NodeKind::Struct | NodeKind::Map, _) => {
                level = cursor.deeper()?;
                (EntryOrder::of(map.node), map.node.fields())
            }
            // No field at all is more likely to be another type than a struct of options.
            (NodeKind::Seq | NodeKind::Tuple | NodeKind::TupleStruct, Some(fields))
                if map.node.num_children() > 0 || fields.is_empty() =>
            {
                level = cursor.deeper()?;
                (EntryOrder::Fields(map.node.children().take(fields.len())), &[])
            }
            _ => return Err(cursor.unexpected(expected)),
        };
        Ok(Entries { cursor, map, level, order, names, fields, keys: 0, values: 0, value: None })
    }

    /// Goes to the key of the next entry, if there is one.
    fn go_to_key(&mut self) -> bool {
        let Some((position, child)) = self.order.get(self.map.node, self.keys) else {
            return false;
        };
        self.keys += 1;
        self.value = Some((position, child));
        if let Some(name) = self.taken().last() {
            self.cursor.go_to_name(name, self.level);
        } else if let Some(name) = self.names.get(position) {
            self.cursor.go_to_name(name, self.level);
        } else if let Some(key) = self.map.node.entry_keys().get(position) {
            self.cursor.go_to_key(key, self.level);
        } else {
            // Every entry of a map has a key, so this is a variant.
            self.cursor.go_to_name(self.map.node.variant().unwrap_or_default(), self.level);
        }
        true
    }

    /// Goes to the value of the last key, and returns its position.
    fn go_to_value(&mut self) -> Result<usize> {
        let Some((position, child)) = self.value.take() else {
            return Err(Error::protocol(
                "a `Deserialize` implementation asked for a map's value before its key",
            ));
        };
        self.values += 1;
        if let EntryOrder::Variant = self.order {
            self.cursor.at = self.map;
            self.cursor.go_to_payload()?;
        } else {
            self.cursor.go(child, self.level);
        }
        Ok(position)
    }

    #[cold]
    fn under(&self, error: Error, position: usize) -> Error {
        match self.order {
            EntryOrder::Variant => self.map.under_payload(error),
            _ => self.map.under(error, position),
        }
    }

    /// The fields that elements of a sequence were taken as.
    fn taken(&self) -> &'static [&'static str] {
        match (&self.order, self.fields) {
            (EntryOrder::Fields(_), Some(fields)) => fields.get(..self.keys).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Visitors of structs may leave fields out, but an entry of a map or an element that was not
    /// read is an error.
    pub(super) fn end(&self) -> Result<()> {
        let must_be_read =
            self.map.kind == NodeKind::Map || matches!(self.order, EntryOrder::Fields(_));
        match self.map.node.num_children().saturating_sub(self.values) {
            left if left > 0 && must_be_read => Err(self.map.unread(left)),
            _ => Ok(()),
        }
    }

    /// Completes an error of the visitor or of a child.
    #[cold]
    pub(super) fn outside(&self, error: Error) -> Error {
        let (node, fields) = (self.map.node, self.fields.unwrap_or_default());
        let error = error.with_fields(|| match &self.order {
            EntryOrder::Fields(_) => self.taken().iter().copied().map(Name::Borrowed).collect(),
            _ => field_names(node),
        });
        self.map.outside(match error.kind() {
            ErrorKind::MissingField { field, .. } if error.is_at_root() => {
                let old = old_name(node.fields(), fields, field);
                error.with_hint(match old {
                    Some(old) => {
                        let old = limited(&format_args!("{old:?}"), 60);
                        format!("renamed? `#[serde(alias = {old})]`; new? `#[serde(default)]`")
                    }
                    None => "new? `#[serde(default)]`".to_owned(),
                })
            }
            ErrorKind::Message(message)
                if matches!(self.order, EntryOrder::Fields(_))
                    && error.is_at_root()
                    && message.starts_with("duplicate field") =>
            {
                let taken = limited(&format_args!("`{}`", self.taken().join("`, `")), 60);
                error.with_hint(format!("the elements were taken as the fields {taken}"))
            }
            _ => error,
        })
    }
}

impl<'de> EntryOrder<'de> {
    fn of(node: NodeRef<'de>) -> Self {
        match node.insertion_order() {
            Some(order) => EntryOrder::Insertion { order, children: node.children().collect() },
            None => EntryOrder::Canonical(node.children()),
        }
    }

    /// The value of the next entry, with its position.
    #[inline]
    fn get(&mut self, node: NodeRef<'de>, next: usize) -> Option<(usize, NodeRef<'de>)> {
        match self {
            EntryOrder::Canonical(children) => Some((next, children.next()?)),
            EntryOrder::Insertion { order, children } => {
                let position = *order.get(next)?;
                Some((position, *children.get(position)?))
            }
            EntryOrder::Fields(elements) => Some((next, elements.next()?)),
            EntryOrder::Variant => (next == 0).then_some((0, node)),
        }
    }
}

/// The name that a missing field perhaps had before. It is one of those that the type does not
/// know: the one that is spelled nearly so; or the only one, if the type finds all other fields.
///
/// Nothing is suggested if the type did not say which fields it has, as one with a flattened field.
#[cold]
fn old_name<'n>(present: &'n [Name], fields: &[&str], missing: &str) -> Option<&'n Name> {
    if fields.is_empty() {
        return None;
    }
    let known: HashSet<&str> = fields.iter().copied().collect();
    let unknown: Vec<&Name> =
        present.iter().filter(|name| !known.contains(name.as_ref())).take(COMPARED).collect();
    let spelled = unknown.iter().filter_map(|name| Some((distance(missing, name)?, *name)));
    let nearest = spelled.min_by_key(|(distance, _)| *distance).map(|(_, name)| name);
    nearest.or_else(|| match unknown[..] {
        [only] if present.len() == fields.len() => Some(only),
        _ => None,
    })
}

/// Adds a hint if a node cannot be a struct of this name.
#[cold]
pub(super) fn explain(error: Error, name: &str) -> Error {
    match name {
        "$__serde_spanned_private_Spanned" => error.with_hint(
            "a `Spanned` serializes as its value alone and cannot come back: keep spans elsewhere",
        ),
        _ => error,
    }
}

/// The names of the fields of a struct. A struct with a flattened field is a map.
fn field_names(node: NodeRef<'_>) -> Vec<Name> {
    let keys =
        node.entry_keys().iter().filter_map(Value::as_str).map(|key| Name::Owned(key.to_owned()));
    node.fields().iter().cloned().chain(keys).collect()
}

impl<'de> MapAccess<'de> for &mut Entries<'_, 'de> {
    type Error = Error;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        if !self.go_to_key() {
            return Ok(None);
        }
        match seed.deserialize(NodeDeserializer(self.cursor)) {
            Ok(key) => Ok(Some(key)),
            // The path inside a key is dropped, because it is not a path inside the map.
            Err(error) => Err(error.at(Path::root())),
        }
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        let position = match self.go_to_value() {
            Ok(position) => position,
            Err(error) => return Err(error),
        };
        match seed.deserialize(NodeDeserializer(self.cursor)) {
            Ok(value) => Ok(value),
            Err(error) => Err(self.under(error, position)),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        match &self.order {
            EntryOrder::Variant => Some(1 - self.keys.min(1)),
            EntryOrder::Fields(elements) => Some(elements.len()),
            _ => Some(self.map.node.num_children() - self.keys),
        }
    }
}
