//! Diffs in documents of other formats: a record `changes` with a list of records. Unused fields
//! are left out. Subtrees are exact [texts](ExactText), which are parsed again.

use std::cell::Cell;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};

use crate::error::{DifferenceKind, Result};
use crate::model::{Limits, Name};
use crate::path::{Key, Path};
use crate::text::ExactText;

use super::change::{Change, ChangeKind, Diff};

/// A record of the fields that a change may have: without the unused ones, or as a tuple.
macro_rules! sparse_record {
    ($(#[$doc:meta])* $record:ident { $($field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Default)]
        struct $record {
            $($field: Option<$type>,)*
        }

        impl Serialize for $record {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let used = [$(self.$field.is_some()),*];
                let used = used.into_iter().filter(|is_used| *is_used).count();
                // A struct would be a list in some formats, where the order of the fields counts.
                let mut record = serializer.serialize_map(Some(used))?;
                $(if let Some(value) = &self.$field {
                    record.serialize_entry(stringify!($field), value)?;
                })*
                record.end()
            }
        }

        impl<'de> Deserialize<'de> for $record {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_map(ChangeFields)
            }
        }

        struct ChangeFields;

        impl<'de> Visitor<'de> for ChangeFields {
            type Value = $record;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a change")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<$record, A::Error> {
                const FIELDS: &[&str] = &[$(stringify!($field)),*];
                let mut record = $record::default();
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        $(stringify!($field) => {
                            if record.$field.replace(map.next_value()?).is_some() {
                                return Err(de::Error::duplicate_field(stringify!($field)));
                            }
                        })*
                        other => return Err(de::Error::unknown_field(other, FIELDS)),
                    }
                }
                Ok(record)
            }
        }
    };
}

sparse_record! {
    /// A change as it is serialized. Subtrees, paths and keys are texts.
    ChangeRecord {
        path: String,
        change: String,
        by: DifferenceKind,
        position: usize,
        old: String,
        new: String,
        to: String,
        names: (Name, Name),
        keys: Vec<String>,
        spans: Vec<usize>,
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct DiffRecord {
    changes: Vec<ChangeRecord>,
}

impl ChangeRecord {
    fn write<T: ExactText>(change: &Change<T>, work: &Cell<usize>) -> Result<Self> {
        let text = |tree: &T| tree.to_exact_text(work).map(Some);
        let (kind, of_kind) = match &change.kind {
            ChangeKind::Removed(old) => {
                ("removed", ChangeRecord { old: text(old)?, ..Self::default() })
            }
            ChangeKind::Added { position, new } => {
                let (position, new) = (Some(*position), text(new)?);
                ("added", ChangeRecord { position, new, ..Self::default() })
            }
            ChangeKind::Replaced { by, old, new } => {
                let (by, old, new) = (Some(*by), text(old)?, text(new)?);
                ("replaced", ChangeRecord { by, old, new, ..Self::default() })
            }
            ChangeKind::Renamed { to } => {
                ("renamed", ChangeRecord { to: Some(to.to_exact_text(work)?), ..Self::default() })
            }
            ChangeKind::Retyped { old, new } => {
                let names = Some((old.clone(), new.clone()));
                ("retyped", ChangeRecord { names, ..Self::default() })
            }
            ChangeKind::Reordered { keys } => {
                let keys = keys.iter().map(|key| key.to_exact_text(work)).collect::<Result<_>>()?;
                ("reordered", ChangeRecord { keys: Some(keys), ..Self::default() })
            }
        };
        let spans = Some(&change.spans).filter(|spans| spans.iter().any(|span| *span != 1));
        Ok(ChangeRecord {
            path: Some(change.path.to_exact_text(work)?),
            change: Some(kind.to_owned()),
            spans: spans.cloned(),
            ..of_kind
        })
    }

    /// Returns `None` if the change is invalid, e.g. if its fields are not the fields of its kind.
    fn read<T: ExactText>(self, work: &mut usize) -> Result<Option<Change<T>>> {
        fn parse<P: ExactText>(text: Option<String>, work: &mut usize) -> Result<Option<P>> {
            text.map(|text| P::from_exact_text(&text, work)).transpose()
        }
        let (old, new) = (parse(self.old, work)?, parse(self.new, work)?);
        let Some(path) = parse::<Path>(self.path, work)? else { return Ok(None) };
        let to = parse::<Key>(self.to, work)?;
        let keys =
            self.keys.map(|keys| keys.into_iter().map(|key| Key::from_exact_text(&key, work)));
        let keys = keys.map(Iterator::collect::<Result<_>>).transpose()?;
        let spans = self.spans.unwrap_or_else(|| vec![1; path.keys().len()]);
        if spans.len() != path.keys().len() || spans.contains(&0) {
            return Ok(None);
        }
        let kind = self.change.as_deref().unwrap_or_default();
        let of_kind = (self.by, self.position, old, new, to, self.names, keys);
        let kind = match (kind, of_kind) {
            ("removed", (None, None, Some(old), None, None, None, None)) => {
                ChangeKind::Removed(old)
            }
            ("added", (None, Some(position), None, Some(new), None, None, None)) => {
                ChangeKind::Added { position, new }
            }
            ("replaced", (Some(by), None, Some(old), Some(new), None, None, None)) => {
                ChangeKind::Replaced { by, old, new }
            }
            ("renamed", (None, None, None, None, Some(to), None, None)) => {
                ChangeKind::Renamed { to }
            }
            ("retyped", (None, None, None, None, None, Some((old, new)), None)) => {
                ChangeKind::Retyped { old, new }
            }
            ("reordered", (None, None, None, None, None, None, Some(keys))) => {
                ChangeKind::Reordered { keys }
            }
            _ => return Ok(None),
        };
        Ok(Some(Change { path, kind, spans }))
    }
}

/// Serializes the list of changes: of structures, of signatures, and of trees with leaves of a
/// [`LeafType`](crate::LeafType). A diff comes back unchanged: subtrees are texts with the kinds
/// of leaves, e.g. `80u16`, and with the entries of maps in insertion order.
///
/// The list is the field `changes` of a record, because some formats (e.g. TOML) cannot have a list at
/// their root.
///
/// ```
/// use treedef::{Diff, Leaf, Tree};
///
/// let (old, new) = (Tree::of(&("a", 80u16))?, Tree::of(&("a", 443u16))?);
/// let json = serde_json::to_string(&old.diff(&new))?;
/// let change = r#"{"path":".1","change":"replaced","by":"leaf","old":"80u16","new":"443u16"}"#;
/// assert_eq!(json, format!(r#"{{"changes":[{change}]}}"#));
///
/// let diff: Diff<Tree<Leaf>> = serde_json::from_str(&json)?;
/// assert_eq!(old.patch(&diff)?, new);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<T: ExactText> Serialize for Diff<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let work = Cell::new(Limits::default().max_work);
        let records = self.changes.iter().map(|change| ChangeRecord::write(change, &work));
        let changes = records.collect::<Result<_>>().map_err(S::Error::custom)?;
        DiffRecord { changes }.serialize(serializer)
    }
}

/// Reads what `Serialize` writes.
impl<'de, T: ExactText> Deserialize<'de> for Diff<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let records = DiffRecord::deserialize(deserializer)?.changes;
        let mut work = Limits::default().max_work;
        let changes = records.into_iter().enumerate().map(|(index, record)| {
            let told =
                |what: &dyn fmt::Display| de::Error::custom(format!("change {index}: {what}"));
            let change = record.read(&mut work).map_err(|error| told(&error))?;
            change.ok_or_else(|| told(&"its fields do not fit together"))
        });
        Ok(Diff { changes: changes.collect::<Result<_, _>>()? })
    }
}
