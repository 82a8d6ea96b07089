//! The entries of a map, of a struct or of a variant.

use serde::de::{Deserialize, DeserializeSeed, MapAccess};

use crate::error::{Error, Result};
use crate::model::{Labels, Name, NodeKind, Value};
use crate::path::Path;
use crate::treedef::node_ref::NodeRef;

use super::children::NextChild;
use super::cursor::{Cursor, Found, NodeDeserializer, Parent, Place};
use super::hints;

/// The entries of a map, the fields of a struct, the elements of a sequence that is read as a
/// struct, or a variant as one entry from its name to its payload.
pub(super) struct Entries<'c, 'de> {
    cursor: &'c mut Cursor<'de>,
    keys: EntryKeys<'de>,
    count: usize,
    /// How many keys were handed out.
    position: usize,
    /// Whether the value of the last key was not handed out.
    is_pending: bool,
    /// How many values were passed over, because the next key was asked for before them.
    passed: usize,
    next: NextChild<'de>,
    parent: Parent,
    /// The fields of the struct that is read, if it says them.
    fields: &'static [&'static str],
}

enum EntryKeys<'de> {
    Names(&'de [Name]),
    Keys(&'de [Value]),
    /// In insertion order. `places` has the place of each child, unless they are one run.
    Inserted {
        keys: &'de [Value],
        order: &'de [usize],
        places: Box<[Place<'de>]>,
    },
    /// The elements of a sequence, as the first fields of a struct, and no more than it has. If a
    /// field has aliases, they are among the fields, and a visitor of serde_derive rejects the
    /// second name of that field.
    Fields(&'static [&'static str]),
    /// One entry, for a variant.
    Variant(&'de str),
}

impl<'c, 'de> Entries<'c, 'de> {
    /// Those of the node at the cursor, which [may be read](Cursor::is_map).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn of(cursor: &'c mut Cursor<'de>, fields: &'static [&'static str]) -> Self {
        let (parent, next) = (cursor.parent(), NextChild::of(cursor));
        let (keys, count) = match (cursor.found, cursor.data().map(|data| &data.labels)) {
            (Found::Node(NodeKind::Struct), Some(Labels::Fields(names))) => {
                (EntryKeys::Names(names), names.len())
            }
            (Found::Node(NodeKind::Map), Some(Labels::Keys(keys))) => {
                (EntryKeys::of_map(cursor, keys, &next), keys.len())
            }
            _ => return Self::of_other(cursor, fields),
        };
        cursor.descend(1);
        let (position, is_pending, passed) = (0, false, 0);
        Entries { cursor, keys, count, position, is_pending, passed, next, parent, fields }
    }

    /// Those of a variant, or of a sequence that is read as a struct.
    #[inline(never)]
    fn of_other(cursor: &'c mut Cursor<'de>, fields: &'static [&'static str]) -> Self {
        let (parent, next) = (cursor.parent(), NextChild::of(cursor));
        let (keys, count, next) = match cursor.data() {
            Some(data) if cursor.found.is_variant() => {
                cursor.enter_payload();
                (EntryKeys::Variant(&data.variant), 1, NextChild::only(cursor))
            }
            _ => {
                let count = cursor.node().children.min(fields.len());
                cursor.descend(1);
                (EntryKeys::Fields(fields), count, next)
            }
        };
        let (position, is_pending, passed) = (0, false, 0);
        Entries { cursor, keys, count, position, is_pending, passed, next, parent, fields }
    }

    /// Goes on to the next entry, if there is one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn step(&mut self) -> bool {
        if self.position == self.count {
            return false;
        }
        if self.is_pending {
            self.pass_over_value();
        }
        self.position += 1;
        self.is_pending = true;
        true
    }

    #[inline(never)]
    fn pass_over_value(&mut self) {
        self.passed += 1;
        self.cursor.back_to(&self.parent);
        if !matches!(self.keys, EntryKeys::Inserted { .. }) {
            self.next.skip(self.cursor, &self.parent);
        }
    }

    /// Goes to the current key.
    #[inline(never)]
    fn go_to_key(&mut self) {
        self.cursor.back_to(&self.parent);
        // In range: `position` is at most the number of keys.
        let position = self.position - 1;
        let key = match &self.keys {
            EntryKeys::Names(names) => return self.cursor.go_to_name(&names[position]),
            EntryKeys::Fields(names) => return self.cursor.go_to_name(names[position]),
            EntryKeys::Variant(name) => return self.cursor.go_to_name(name),
            EntryKeys::Keys(keys) => &keys[position],
            EntryKeys::Inserted { keys, order, .. } => &keys[order[position]],
        };
        self.cursor.go_to_key(key);
    }

    /// Goes to the value of the last key.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn go_to_value(&mut self) -> Result<()> {
        if !self.is_pending {
            return Err(Error::protocol(
                "a `Deserialize` implementation asked for a map's value before its key",
            ));
        }
        self.is_pending = false;
        match self.keys {
            EntryKeys::Inserted { .. } => self.go_to_inserted(),
            _ => drop(self.next.step(self.cursor, &self.parent)), // there is one for each key
        }
        Ok(())
    }

    #[inline(never)]
    fn go_to_inserted(&mut self) {
        let EntryKeys::Inserted { order, places, .. } = &self.keys else { return };
        let (next, position) = (&self.next, order[self.position - 1]);
        self.cursor.back_to(&self.parent);
        let run = &next.place.rest[0]; // a map with an order has entries
        let cursor = &mut *self.cursor;
        cursor.place = places.get(position).copied().unwrap_or(Place {
            rest: next.place.rest,
            leaf: next.place.leaf + position * run.leaves,
            map: next.place.map + position * run.maps,
        });
        cursor.room.newtypes = 0;
        cursor.found = cursor.found_of(cursor.node().kind);
    }

    /// The position of the last key in the structure.
    fn last_position(&self) -> usize {
        match &self.keys {
            EntryKeys::Inserted { order, .. } => order[self.position - 1],
            _ => self.position - 1, // a value has a key
        }
    }

    #[cold]
    fn under(&mut self, error: Error) -> Error {
        let kind = self.cursor.node_of(&self.parent).kind();
        match self.keys {
            EntryKeys::Variant(_) if kind != NodeKind::NewtypeVariant => error,
            _ => self.cursor.under(&self.parent, self.last_position(), error),
        }
    }

    /// Visitors of structs may leave fields out, but an entry of a map or an element that was not
    /// read is an error.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn end(&mut self) -> Result<()> {
        self.cursor.ascend(&self.parent);
        match self.keys {
            EntryKeys::Names(_) | EntryKeys::Variant(_) => Ok(()),
            _ => self.end_of_all(),
        }
    }

    #[inline(never)]
    fn end_of_all(&mut self) -> Result<()> {
        let read = self.position - self.passed - usize::from(self.is_pending);
        match self.cursor.node_of(&self.parent).num_children() - read {
            0 => Ok(()),
            left => Err(self.cursor.unread(&self.parent, left)),
        }
    }

    /// Completes an error of the visitor or of a child.
    #[cold]
    pub(super) fn failed(&mut self, error: Error) -> Error {
        self.cursor.ascend(&self.parent);
        let taken = match self.keys {
            EntryKeys::Fields(names) => names.get(..self.position),
            _ => None,
        };
        let error = hints::of_struct(self.cursor.node_of(&self.parent), self.fields, taken, error);
        self.cursor.outside_of(&self.parent, error)
    }
}

impl<'de> EntryKeys<'de> {
    /// The keys of a map, in the order in which its entries came.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn of_map(cursor: &Cursor<'de>, keys: &'de [Value], next: &NextChild<'de>) -> Self {
        match cursor.structures.current.insertions {
            None => EntryKeys::Keys(keys),
            Some(_) => EntryKeys::inserted(cursor, keys, next),
        }
    }

    #[inline(never)]
    fn inserted(cursor: &Cursor<'de>, keys: &'de [Value], next: &NextChild<'de>) -> Self {
        let Some(order) = cursor.here().insertion_order() else { return EntryKeys::Keys(keys) };
        let mut places = Vec::new();
        if next.after > 0 {
            let children = cursor.here().children();
            let place = |child: NodeRef<'de>| Place {
                rest: child.stored_from_here(),
                leaf: child.first_leaf(),
                map: child.first_map(),
            };
            places = children.map(place).collect();
        }
        EntryKeys::Inserted { keys, order, places: places.into() }
    }
}

impl<'de> MapAccess<'de> for &mut Entries<'_, 'de> {
    type Error = Error;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        if !self.step() {
            return Ok(None);
        }
        self.go_to_key();
        match seed.deserialize(NodeDeserializer(self.cursor)) {
            Ok(key) => Ok(Some(key)),
            // The path inside a key is dropped, because it is not a path inside the map.
            Err(error) => Err(error.at(Path::root())),
        }
    }

    #[inline]
    fn next_key<K: Deserialize<'de>>(&mut self) -> Result<Option<K>> {
        if !self.step() {
            return Ok(None);
        }
        self.go_to_key();
        match K::deserialize(NodeDeserializer(self.cursor)) {
            Ok(key) => Ok(Some(key)),
            Err(error) => Err(error.at(Path::root())),
        }
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        if let Err(error) = self.go_to_value() {
            return Err(error);
        }
        match seed.deserialize(NodeDeserializer(self.cursor)) {
            Ok(value) => Ok(value),
            Err(error) => Err(self.under(error)),
        }
    }

    #[inline]
    fn next_value<V: Deserialize<'de>>(&mut self) -> Result<V> {
        if let Err(error) = self.go_to_value() {
            return Err(error);
        }
        match V::deserialize(NodeDeserializer(self.cursor)) {
            Ok(value) => Ok(value),
            Err(error) => Err(self.under(error)),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.count - self.position)
    }
}
