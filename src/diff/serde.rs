//! Diffs in documents of other formats.
//!
//! | format | form |
//! |---|---|
//! | human-readable | a record `changes`: a list of records without the fields that are not used |
//! | other | a list of records with all fields, behind a first one whose `change` is `text` |
//! | both, as earlier versions wrote it | a list of records with all fields; subtrees are documents |
//!
//! In the first two, subtrees are [texts](ExactText) from which they come back.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::discriminant;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::error::DifferenceKind;
use crate::model::{Limits, Name};
use crate::path::{Key, Path};
use crate::records::as_record;
use crate::text::ExactText;

use super::change::{Change, ChangeKind, Diff};

as_record! {
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

/// What the first record is called if subtrees are texts.
const TEXT: &str = "text";

impl<T> ChangeRecord<T> {
    fn new(change: &str) -> Self {
        ChangeRecord {
            path: Path::root(),
            spans: Vec::new(),
            change: change.to_owned(),
            by: None,
            position: None,
            old: None,
            new: None,
            to: None,
            names: None,
            keys: Vec::new(),
        }
    }

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

    /// The same with other subtrees.
    fn try_map<U, E>(self, mut f: impl FnMut(T) -> Result<U, E>) -> Result<ChangeRecord<U>, E> {
        let ChangeRecord { path, spans, change, by, position, old, new, to, names, keys } = self;
        let old = old.map(|(old,)| f(old)).transpose()?.map(|old| (old,));
        let new = new.map(|(new,)| f(new)).transpose()?.map(|new| (new,));
        Ok(ChangeRecord { path, spans, change, by, position, old, new, to, names, keys })
    }
}

impl<'a, T> From<&'a Change<T>> for ChangeRecord<&'a T> {
    fn from(change: &'a Change<T>) -> Self {
        let record = |kind: &str| ChangeRecord {
            path: change.path.clone(),
            spans: change.spans.clone(),
            ..ChangeRecord::new(kind)
        };
        match &change.kind {
            ChangeKind::Removed(old) => ChangeRecord { old: Some((old,)), ..record("removed") },
            ChangeKind::Added { position, new } => {
                ChangeRecord { position: Some(*position), new: Some((new,)), ..record("added") }
            }
            ChangeKind::Replaced { by, old, new } => ChangeRecord {
                by: Some(*by),
                old: Some((old,)),
                new: Some((new,)),
                ..record("replaced")
            },
            ChangeKind::Renamed { to } => {
                ChangeRecord { to: Some(to.clone()), ..record("renamed") }
            }
            ChangeKind::Retyped { old, new } => {
                ChangeRecord { names: Some((old.clone(), new.clone())), ..record("retyped") }
            }
            ChangeKind::Reordered { keys } => {
                ChangeRecord { keys: keys.clone(), ..record("reordered") }
            }
        }
    }
}

/// A record without the fields that are not used. A subtree is a text, so it is never null.
struct SparseRecord(ChangeRecord<String>);

impl Serialize for SparseRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ChangeRecord { path, spans, change, by, position, old, new, to, names, keys } = &self.0;
        let spans = Some(spans).filter(|spans| spans.iter().any(|span| *span != 1));
        let keys = Some(keys).filter(|_| change == "reordered");
        let used = [spans.is_some(), by.is_some(), position.is_some(), old.is_some()];
        let others = [new.is_some(), to.is_some(), names.is_some(), keys.is_some()];
        let count = 2 + used.into_iter().chain(others).filter(|is_used| *is_used).count();
        // A struct would be a list in some formats, where the order of the fields counts.
        let mut record = serializer.serialize_map(Some(count))?;
        record.serialize_entry("path", path)?;
        record.serialize_entry("change", change)?;
        macro_rules! fields {
            ($($field:ident)*) => {$(
                if let Some(value) = $field {
                    record.serialize_entry(stringify!($field), value)?;
                }
            )*};
        }
        let (old, new) = (old.as_ref().map(|old| &old.0), new.as_ref().map(|new| &new.0));
        fields! { by position old new to names keys spans }
        record.end()
    }
}

impl<'de> Deserialize<'de> for SparseRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const FIELDS: &[&str] =
            &["path", "change", "by", "position", "old", "new", "to", "names", "keys", "spans"];
        struct SparseFields;

        impl<'de> Visitor<'de> for SparseFields {
            type Value = SparseRecord;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a change")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let (mut record, mut spans) = (ChangeRecord::new(""), None);
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "path" => record.path = map.next_value()?,
                        "change" => record.change = map.next_value()?,
                        "by" => record.by = Some(map.next_value()?),
                        "position" => record.position = Some(map.next_value()?),
                        "old" => record.old = Some((map.next_value()?,)),
                        "new" => record.new = Some((map.next_value()?,)),
                        "to" => record.to = Some(map.next_value()?),
                        "names" => record.names = Some(map.next_value()?),
                        "keys" => record.keys = map.next_value()?,
                        "spans" => spans = Some(map.next_value()?),
                        other => return Err(de::Error::unknown_field(other, FIELDS)),
                    }
                }
                record.spans = spans.unwrap_or_else(|| vec![1; record.path.keys().len()]);
                Ok(SparseRecord(record))
            }
        }

        deserializer.deserialize_map(SparseFields)
    }
}

/// The changes as records, whose subtrees are texts.
fn to_texts<T: ExactText, E: serde::ser::Error>(
    diff: &Diff<T>,
) -> impl Iterator<Item = Result<ChangeRecord<String>, E>> {
    let work = Cell::new(Limits::default().max_work);
    diff.changes.iter().map(move |change| {
        let text = |tree: &T| tree.to_exact_text(&work).map_err(E::custom);
        ChangeRecord::from(change).try_map(text)
    })
}

fn from_texts<T: ExactText, E: de::Error>(
    records: impl IntoIterator<Item = ChangeRecord<String>>,
) -> Result<Diff<T>, E> {
    let mut work = Limits::default().max_work;
    let mut read = |text: String| T::from_exact_text(&text, &mut work).map_err(E::custom);
    let records = records.into_iter().map(|record| complete(record.try_map(&mut read)?));
    Ok(Diff { changes: records.collect::<Result<_, E>>()? })
}

fn complete<T, E: de::Error>(record: ChangeRecord<T>) -> Result<Change<T>, E> {
    record.read().ok_or_else(|| E::custom("a change that is not complete"))
}

/// Serializes the list of changes: of structures, of signatures, and of trees with leaves of a
/// [`LeafType`](crate::LeafType). A diff comes back unchanged: subtrees are texts with the kinds
/// of leaves, e.g. `80u16`, and with the entries of maps in the order in which they came.
///
/// In a human-readable format the list is the field `changes` of a record, because some formats
/// (e.g. TOML) cannot have a list at their root.
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
        let texts = to_texts(self);
        if serializer.is_human_readable() {
            let records: Result<Vec<_>, _> = texts.map(|it| it.map(SparseRecord)).collect();
            let mut record = serializer.serialize_map(Some(1))?;
            record.serialize_entry("changes", &records?)?;
            return record.end();
        }
        let count = self.changes.len().saturating_add(1);
        let mut list = serializer.serialize_seq(Some(count))?;
        list.serialize_element(&ChangeRecord::<String>::new(TEXT))?;
        for text in texts {
            list.serialize_element(&text?)?;
        }
        list.end()
    }
}

/// Reads the form that `Serialize` writes, and the one before it: a list, in which a subtree is a
/// document. There `80u16` is `80`, and comes back as the format reads it, e.g. as `80u64`.
impl<'de, T: ExactText> Deserialize<'de> for Diff<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_any(DiffVisitor(PhantomData))
        } else {
            deserializer.deserialize_seq(DiffVisitor(PhantomData))
        }
    }
}

/// A subtree that is a document.
struct AsDocument<T>(T);

impl<'de, T: ExactText> Deserialize<'de> for AsDocument<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::from_document(deserializer).map(AsDocument)
    }
}

struct DiffVisitor<T>(PhantomData<T>);

impl<'de, T: ExactText> Visitor<'de> for DiffVisitor<T> {
    type Value = Diff<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the changes of a diff")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Diff<T>, A::Error> {
        let mut changes = Vec::new();
        while let Some(record) = seq.next_element::<ChangeRecord<AsDocument<T>>>()? {
            if record.change == TEXT && changes.is_empty() {
                let mut texts = Vec::new();
                while let Some(text) = seq.next_element()? {
                    texts.push(text);
                }
                return from_texts(texts);
            }
            let record = record.try_map(|AsDocument(tree)| Ok::<_, A::Error>(tree))?;
            changes.push(complete(record)?);
        }
        Ok(Diff { changes })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Diff<T>, A::Error> {
        let mut changes: Option<Vec<SparseRecord>> = None;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "changes" => changes = Some(map.next_value()?),
                other => return Err(de::Error::unknown_field(other, &["changes"])),
            }
        }
        let changes = changes.ok_or_else(|| de::Error::missing_field("changes"))?;
        from_texts(changes.into_iter().map(|SparseRecord(record)| record))
    }
}
