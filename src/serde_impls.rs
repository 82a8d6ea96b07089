//! `Serialize` and `Deserialize` of public structs. They are written by hand, because a derive
//! would enable `serde/derive` for every user of this crate.

use std::fmt;
use std::mem::discriminant;
use std::str::FromStr;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::error::{Difference, DifferenceKind, Error, ErrorKind};
use crate::model::{Limits, Name};
use crate::path::{Key, Path};
use crate::tree::Migration;
use crate::treedef::diff::{Change, ChangeKind, Diff};
use crate::treedef::text::{as_text, brief};

/// Implements both traits for a struct whose fields are all required.
macro_rules! as_record {
    ($($record:ident $(<$param:ident>)? { $($field:ident),* })*) => {$(
        impl $(<$param: Serialize>)? Serialize for $record $(<$param>)? {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                const FIELDS: &[&str] = &[$(stringify!($field)),*];
                let mut record = serializer.serialize_struct(stringify!($record), FIELDS.len())?;
                $(record.serialize_field(stringify!($field), &self.$field)?;)*
                record.end()
            }
        }

        impl<'de $(, $param: Deserialize<'de>)?> Deserialize<'de> for $record $(<$param>)? {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                const FIELDS: &[&str] = &[$(stringify!($field)),*];
                struct Fields<T>(std::marker::PhantomData<T>);

                impl<'de $(, $param: Deserialize<'de>)?> Visitor<'de> for Fields<$record $(<$param>)?> {
                    type Value = $record $(<$param>)?;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!("a ", stringify!($record)))
                    }

                    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                        $(
                            let $field = seq.next_element()?;
                            let $field = $field.ok_or_else(|| de::Error::missing_field(stringify!($field)))?;
                        )*
                        Ok($record { $($field),* })
                    }

                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                        $(let mut $field = None;)*
                        while let Some(key) = map.next_key::<String>()? {
                            match key.as_str() {
                                $(stringify!($field) => $field = Some(map.next_value()?),)*
                                other => return Err(de::Error::unknown_field(other, FIELDS)),
                            }
                        }
                        $(let $field = $field.ok_or_else(|| de::Error::missing_field(stringify!($field)))?;)*
                        Ok($record { $($field),* })
                    }
                }

                deserializer.deserialize_struct(stringify!($record), FIELDS, Fields(std::marker::PhantomData))
            }
        }
    )*};
}

pub(crate) use as_record;

as_record! {
    Limits { max_depth, max_work, max_bytes, max_nodes, max_text, max_names }
    Difference { path, kind, expected, found }
    Migration { filled, dropped, renamed, computed, changed }
    ChangeRecord<T> { path, spans, change, by, position, old, new, to, names, keys }
}

/// A change as it is serialized. Fields that its kind does not use are empty. A subtree is in a
/// list, because a subtree can be null too.
struct ChangeRecord<T> {
    path: Path,
    spans: Vec<usize>,
    change: String,
    by: Option<DifferenceKind>,
    position: Option<usize>,
    old: Option<(T,)>,
    new: Option<(T,)>,
    to: Option<Key>,
    names: Option<(Name, Name)>,
    keys: Vec<Key>,
}

impl<'a, T> From<&'a Change<T>> for ChangeRecord<&'a T> {
    fn from(change: &'a Change<T>) -> Self {
        let record = ChangeRecord {
            path: change.path.clone(),
            spans: change.spans.clone(),
            change: String::new(),
            by: None,
            position: None,
            old: None,
            new: None,
            to: None,
            names: None,
            keys: Vec::new(),
        };
        match &change.kind {
            ChangeKind::Removed(old) => {
                ChangeRecord { change: "removed".to_owned(), old: Some((old,)), ..record }
            }
            ChangeKind::Added { position, new } => ChangeRecord {
                change: "added".to_owned(),
                position: Some(*position),
                new: Some((new,)),
                ..record
            },
            ChangeKind::Replaced { by, old, new } => ChangeRecord {
                change: "replaced".to_owned(),
                by: Some(*by),
                old: Some((old,)),
                new: Some((new,)),
                ..record
            },
            ChangeKind::Renamed { to } => {
                ChangeRecord { change: "renamed".to_owned(), to: Some(to.clone()), ..record }
            }
            ChangeKind::Retyped { old, new } => ChangeRecord {
                change: "retyped".to_owned(),
                names: Some((old.clone(), new.clone())),
                ..record
            },
            ChangeKind::Reordered { keys } => {
                ChangeRecord { change: "reordered".to_owned(), keys: keys.clone(), ..record }
            }
        }
    }
}

impl<T> ChangeRecord<T> {
    /// Returns `None` if the change is invalid, e.g. if a field that its kind needs is missing.
    fn read(self) -> Option<Change<T>> {
        let keys = self.path.keys();
        let is_key = |key: &Key| keys.last().map(discriminant) == Some(discriminant(key));
        let spans = self.spans.len() == keys.len() && !self.spans.contains(&0);
        if !spans || !self.to.as_ref().is_none_or(is_key) {
            return None;
        }
        let kind = match self.change.as_str() {
            "removed" => ChangeKind::Removed(self.old?.0),
            "added" => ChangeKind::Added { position: self.position?, new: self.new?.0 },
            "replaced" => ChangeKind::Replaced { by: self.by?, old: self.old?.0, new: self.new?.0 },
            "renamed" => ChangeKind::Renamed { to: self.to? },
            "retyped" => {
                let (old, new) = self.names?;
                ChangeKind::Retyped { old, new }
            }
            "reordered" => ChangeKind::Reordered { keys: self.keys },
            _ => return None,
        };
        Some(Change { path: self.path, kind, spans: self.spans })
    }
}

/// Serializes the list of changes. A diff of structures comes back unchanged. Subtrees with leaves
/// become documents, so kinds that a document does not keep are lost.
impl<T: Serialize> Serialize for Diff<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.changes.iter().map(ChangeRecord::from))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Diff<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let records = Vec::<ChangeRecord<T>>::deserialize(deserializer)?;
        let changes: Option<Vec<_>> = records.into_iter().map(ChangeRecord::read).collect();
        let changes = changes.ok_or_else(|| de::Error::custom("a change that is not complete"))?;
        Ok(Diff { changes })
    }
}

/// The names of the kinds of differences.
const KIND_NAMES: [(DifferenceKind, &str); 10] = {
    use DifferenceKind as Is;
    [
        (Is::Missing, "missing"),
        (Is::Extra, "extra"),
        (Is::Node, "node"),
        (Is::Name, "name"),
        (Is::Variant, "variant"),
        (Is::Length, "length"),
        (Is::Order, "order"),
        (Is::Static, "static"),
        (Is::Leaf, "leaf"),
        (Is::Options, "options"),
    ]
};

impl fmt::Display for DifferenceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = KIND_NAMES.iter().find(|(kind, _)| kind == self).map_or("", |(_, name)| name);
        f.pad(name)
    }
}

impl FromStr for DifferenceKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let known = KIND_NAMES.iter().find(|(_, name)| *name == text).map(|(kind, _)| *kind);
        known.ok_or_else(|| {
            let (expected, found) = ("the kind of a difference", format!("`{}`", brief(&text)));
            ErrorKind::Syntax { offset: 0, expected, found }.into()
        })
    }
}

as_text! { DifferenceKind }
