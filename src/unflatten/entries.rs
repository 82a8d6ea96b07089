//! The entries of a map, of a struct or of a variant.

use std::sync::Arc;

use serde::de::{Deserialize, DeserializeSeed, MapAccess};

use crate::error::{Error, Result};
use crate::model::{Labels, Name, NodeData, NodeKind, Value};
use crate::path::{Key, Path};
use crate::treedef::node_ref::NodeRef;

use super::children::NextChild;
use super::cursor::{Cursor, Found, Location, NodeDeserializer, OpenCompound};
use super::hints;

/// The entries of a map, the fields of a struct, the elements of a sequence that is read as a
/// struct, or a variant as one entry from its name to its payload.
pub(super) struct Entries<'c, 'de> {
    cursor: &'c mut Cursor<'de>,
    keys: EntryKeys<'de>,
    /// Where the locations of the children of a map with an order begin, in `Cursor::locations`. They are there so that
    /// this has nothing to drop.
    locations: usize,
    count: usize,
    /// How many keys were handed out.
    position: usize,
    /// Whether the value of the last key was not handed out. The cursor is at its place, unless the
    /// key is a structure of its own.
    is_pending: bool,
    /// How many values were handed out.
    read: usize,
    /// The location behind the last key and its value. `found` still describes the value.
    next: NextChild<'de>,
    parent: OpenCompound,
    /// The fields of the struct that is read, if it says them.
    fields: &'static [&'static str],
}

#[derive(Clone, Copy)]
enum EntryKeys<'de> {
    Names(&'de [Name]),
    Keys(&'de [Value]),
    /// In insertion order.
    Inserted(&'de [Value], &'de Arc<[usize]>),
    /// The elements of a sequence, as the first fields of a struct, and no more than it has. If a
    /// field has aliases, they are among the fields, and a visitor of serde_derive rejects the
    /// second name of that field.
    Fields(&'static [&'static str]),
    /// One entry, for a variant.
    Variant(&'de str),
}

impl<'c, 'de> Entries<'c, 'de> {
    /// The entries of the node at the cursor, which [may be read](Cursor::is_map).
    #[inline(never)]
    pub(super) fn of(cursor: &'c mut Cursor<'de>, fields: &'static [&'static str]) -> Self {
        let labels = cursor.data().map(|data| &data.labels);
        let (keys, count, maps) = match (cursor.found, labels) {
            (Found::Node(NodeKind::Struct), Some(Labels::Fields(names))) => {
                (EntryKeys::Names(names), names.len(), 0)
            }
            (Found::Node(NodeKind::Map), Some(Labels::Keys(keys)))
                if cursor.structures.current.insertions.is_none() =>
            {
                (EntryKeys::Keys(keys), keys.len(), 1)
            }
            _ => return Entries::of_other(cursor, fields),
        };
        let (parent, mut next) = (cursor.parent(), NextChild::of(cursor));
        next.location.map += maps; // at most the nodes
        cursor.descend(1);
        Entries::new(cursor, parent, keys, count, next, fields)
    }

    /// The entries of a map with insertions, of a variant, or of a sequence that is read as a struct.
    #[inline(never)]
    fn of_other(cursor: &'c mut Cursor<'de>, fields: &'static [&'static str]) -> Self {
        let (parent, mut next) = (cursor.parent(), NextChild::of(cursor));
        match (cursor.found, cursor.data()) {
            (Found::Node(NodeKind::Map), Some(NodeData { labels: Labels::Keys(keys), .. })) => {
                next.location.map += 1;
                let count = keys.len();
                let locations = cursor.locations.len();
                let keys = match cursor.here().insertion_order() {
                    Some(order) => {
                        keep_places(cursor, &next);
                        EntryKeys::Inserted(keys, order)
                    }
                    None => EntryKeys::Keys(keys),
                };
                cursor.descend(1);
                Entries { locations, ..Entries::new(cursor, parent, keys, count, next, fields) }
            }
            (found, Some(data)) if found.is_variant() => {
                cursor.enter_payload();
                let (keys, next) = (EntryKeys::Variant(&data.variant), NextChild::only(cursor));
                Entries::new(cursor, parent, keys, 1, next, fields)
            }
            _ => {
                let count = cursor.node().children.min(fields.len());
                cursor.descend(1);
                Entries::new(cursor, parent, EntryKeys::Fields(fields), count, next, fields)
            }
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn new(
        cursor: &'c mut Cursor<'de>,
        parent: OpenCompound,
        keys: EntryKeys<'de>,
        count: usize,
        next: NextChild<'de>,
        fields: &'static [&'static str],
    ) -> Self {
        let (locations, position, is_pending, read) = (0, 0, false, 0);
        Entries { cursor, keys, locations, count, position, is_pending, read, next, parent, fields }
    }

    /// Goes to the next key, if there is one. Unless it is a structure of its own, reading it moves
    /// nothing. So this goes to the place of its value at once.
    ///
    /// Rare cases are a call of their own at the end, so that the rest needs no room on the stack.
    #[inline(never)]
    fn step(&mut self) -> bool {
        let position = self.position;
        if position == self.count {
            return false;
        }
        if !self.cursor.is_in_structure_of(&self.parent) {
            return self.step_from_key();
        }
        if !matches!(self.keys, EntryKeys::Names(_) | EntryKeys::Keys(_)) {
            return self.step_to_other();
        }
        self.step_to_value();
        match self.keys {
            EntryKeys::Names(names) => match names.get(position) {
                Some(name) => self.cursor.go_to_name(name),
                None => return false,
            },
            EntryKeys::Keys(keys) => match keys.get(position).map(|key| (key, key.as_str())) {
                Some((_, Some(text))) => self.cursor.go_to_name(text),
                Some((key, None)) => return self.enter_key(key),
                None => return false,
            },
            _ => {}
        }
        true
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn step_to_value(&mut self) {
        self.position += 1;
        self.is_pending = true;
        if self.next.left > 0 || self.next.turn(self.cursor) {
            self.next.step_in_run(self.cursor); // there is one for each key
        }
    }

    #[inline(never)]
    fn step_from_key(&mut self) -> bool {
        self.cursor.back_to(&self.parent);
        self.step()
    }

    #[inline(never)]
    fn step_to_other(&mut self) -> bool {
        // In range: `position` is less than the number of keys.
        match self.keys {
            EntryKeys::Inserted(keys, _) => {
                self.position += 1;
                self.is_pending = true;
                let position = self.go_to_inserted();
                self.cursor.go_to_key(&keys[position]);
            }
            EntryKeys::Fields(names) => {
                self.step_to_value();
                self.cursor.go_to_name(names[self.position - 1]);
            }
            EntryKeys::Variant(name) => {
                self.step_to_value();
                self.cursor.go_to_name(name);
            }
            _ => {}
        }
        true
    }

    #[inline(never)]
    fn enter_key(&mut self, key: &'de Value) -> bool {
        self.cursor.go_to_key(key);
        true
    }

    /// Goes to the value of the last key, unless it was handed out.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn go_to_value(&mut self) -> bool {
        if !self.is_pending {
            return false;
        }
        self.is_pending = false;
        self.read += 1; // at most the keys
        if !self.cursor.is_in_structure_of(&self.parent) {
            self.leave_key();
        }
        (self.cursor.found, self.cursor.depth.newtypes) = (self.next.found, 0);
        true
    }

    /// Goes from a key that is a structure of its own to the place of its value.
    #[inline(never)]
    fn leave_key(&mut self) {
        if let EntryKeys::Inserted(..) = self.keys {
            self.go_to_inserted();
        } else {
            self.cursor.back_to(&self.parent);
            self.next.pass_back(1);
            self.next.step_in_run(self.cursor);
        }
    }

    /// Goes to the place of the value of the last key, in a map with an order. Returns its position.
    #[inline(never)]
    fn go_to_inserted(&mut self) -> usize {
        self.cursor.back_to(&self.parent);
        let position = self.last_position();
        let next = &mut self.next;
        let run = &next.location.rest[0]; // a map with an order has entries
        self.cursor.location = match next.after {
            0 => Location {
                rest: next.location.rest,
                leaf: next.location.leaf + position * run.leaves,
                map: next.location.map + position * run.maps,
            },
            _ => self.cursor.locations[self.locations + position], // they were stored
        };
        next.found = self.cursor.found_of(self.cursor.node().kind);
        position
    }

    /// The position of the last key in the structure.
    fn last_position(&self) -> usize {
        let position = self.position - 1; // a value has a key
        match self.keys {
            EntryKeys::Inserted(_, order) => order[position], // as many as keys
            _ => position,
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

    /// Adds a key that was refused to the path of its error. The path inside the key is dropped,
    /// because it is not a path inside the map. The cursor stays, because the visitor may go on.
    #[cold]
    fn key_failed(&self, error: Error) -> Error {
        let error = error.at(Path::root());
        let key = match self.keys {
            EntryKeys::Keys(keys) | EntryKeys::Inserted(keys, _) => keys.get(self.last_position()),
            _ => None,
        };
        match key {
            Some(key) => error.under(Key::Entry(key.clone())),
            None => error,
        }
    }

    /// Visitors of structs may leave fields out, but an entry of a map, the payload of a variant or an element
    /// that was not read is an error.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn end(&mut self) -> Result<()> {
        self.cursor.ascend(&self.parent);
        match self.keys {
            EntryKeys::Names(_) => Ok(()),
            EntryKeys::Keys(_) | EntryKeys::Variant(_) if self.read == self.count => Ok(()),
            _ => self.end_of_all(),
        }
    }

    #[inline(never)]
    fn end_of_all(&mut self) -> Result<()> {
        self.forget_places();
        match self.cursor.node_of(&self.parent).num_children() - self.read {
            0 => Ok(()),
            left => Err(self.cursor.unread(&self.parent, left)),
        }
    }

    fn forget_places(&mut self) {
        if let EntryKeys::Inserted(..) = self.keys {
            self.cursor.locations.truncate(self.locations);
        }
    }

    /// Completes an error of the visitor or of a child.
    #[cold]
    pub(super) fn failed(&mut self, error: Error) -> Error {
        self.forget_places();
        self.cursor.ascend(&self.parent);
        let taken = match self.keys {
            EntryKeys::Fields(names) => names.get(..self.position),
            _ => None,
        };
        let error = hints::of_struct(self.cursor.node_of(&self.parent), self.fields, taken, error);
        self.cursor.outside_of(&self.parent, error)
    }
}

/// Stores the locations of the children of a map, unless they are one run.
fn keep_places<'de>(cursor: &mut Cursor<'de>, next: &NextChild<'de>) {
    if next.after > 0 {
        let location = |child: NodeRef<'de>| Location {
            rest: child.stored_from_here(),
            leaf: child.first_leaf(),
            map: child.first_map(),
        };
        let children = cursor.here().children();
        cursor.locations.extend(children.map(location));
    }
}

#[cold]
fn value_before_key() -> Error {
    Error::protocol("a `Deserialize` implementation asked for a map's value before its key")
}

impl<'de> MapAccess<'de> for &mut Entries<'_, 'de> {
    type Error = Error;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        if !self.step() {
            return Ok(None);
        }
        match seed.deserialize(NodeDeserializer(self.cursor)) {
            Ok(key) => Ok(Some(key)),
            Err(error) => Err(self.key_failed(error)),
        }
    }

    #[inline]
    fn next_key<K: Deserialize<'de>>(&mut self) -> Result<Option<K>> {
        if !self.step() {
            return Ok(None);
        }
        match K::deserialize(NodeDeserializer(self.cursor)) {
            Ok(key) => Ok(Some(key)),
            Err(error) => Err(self.key_failed(error)),
        }
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        if !self.go_to_value() {
            return Err(value_before_key());
        }
        match seed.deserialize(NodeDeserializer(self.cursor)) {
            Ok(value) => Ok(value),
            Err(error) => Err(self.under(error)),
        }
    }

    #[inline]
    fn next_value<V: Deserialize<'de>>(&mut self) -> Result<V> {
        if !self.go_to_value() {
            return Err(value_before_key());
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
