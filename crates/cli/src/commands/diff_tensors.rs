//! `diff` of two files of tensors. Only those that differ are decoded.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::RandomState;

use treedef::{ChangeKind, Leaf, Tolerance, Tree};
use treedef_exchange::__is_of_structure;

use crate::failure::Result;
use crate::format::Format;
use crate::paint::paint_change;
use crate::paths::{readable, shown};
use crate::stored::{Slot, Stored};

use super::changes::{far, line, replaced, snapped, without_renames};
use super::print::{print, print_json};

/// A tensor in a comparison. Those with equal numbers have one id.
#[derive(Clone)]
struct Item<'s> {
    slot: &'s Slot,
    id: u64,
}

impl PartialEq for Item<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.slot.leaf == other.slot.leaf
    }
}

impl fmt::Display for Item<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.slot.leaf.value {
            Some(value) => value.fmt(f),
            None => self.slot.leaf.fmt(f),
        }
    }
}

/// Whether two files have the same tensors and the same metadata, by their bytes.
pub(super) fn are_equal(old: &Stored, new: &Stored) -> Result<bool> {
    if old.tree.treedef() != new.tree.treedef() || old.metadata != new.metadata {
        return Ok(false);
    }
    for (slot, other) in old.tree.leaves().iter().zip(new.tree.leaves()) {
        if !old.is_same(slot, (new, other))? {
            return Ok(false);
        }
    }
    Ok(true)
}

pub(super) fn diff_tensors(
    old: &Stored,
    new: &Stored,
    tolerance: Tolerance,
    json: bool,
) -> Result<bool> {
    let [before, after] = items(old, new)?;
    let diff = before.diff(&after);
    let mut lines = metadata_lines([old, new], json, __is_of_structure);
    for change in without_renames(&diff, |path| before.subtree(path).ok()) {
        let mut far_apart = None;
        let line = match &change.kind {
            ChangeKind::Replaced { old: was, new: is, .. } => {
                let [was, is] = [was, is].map(|tree| tree.leaves().first());
                match (was, is) {
                    (Some(was), Some(is))
                        if was.slot.leaf.is_alike(&is.slot.leaf)
                            && old.unread(was.slot).or_else(|| new.unread(is.slot)).is_some() =>
                    {
                        let (path, leaf) = (readable(&change.path), &was.slot.leaf);
                        format!("~ {path}: {leaf}, other bytes")
                    }
                    (Some(was), Some(is)) if was.slot.leaf.is_alike(&is.slot.leaf) => {
                        let (was, is) = (old.read(was.slot)?, new.read(is.slot)?);
                        far_apart = far(&was, &is, tolerance);
                        let is_close = match &far_apart {
                            Some(far) => far.count == 0,
                            None => snapped(&was, is.clone(), tolerance)? == was,
                        };
                        if is_close {
                            continue;
                        }
                        replaced(&readable(&change.path), &was, &is, far_apart.as_ref())
                    }
                    _ => line(&change),
                }
            }
            _ => line(&change),
        };
        let numbers = far_apart.map(|far| far.to_json());
        let object = json.then(
            || serde_json::json!({"path": shown(&change.path), "line": line, "numbers": numbers}),
        );
        lines.push((line, object));
    }
    report_lines(&lines, json)
}

/// The changes of tensors that are not read, so that they are in no tree of values.
pub(super) fn unread_lines(old: &Stored, new: &Stored, json: bool) -> Result<Vec<Line>> {
    let slots = |stored: &Stored| {
        let all = stored.tree.treedef().leaf_paths().zip(stored.tree.leaves().iter().cloned());
        let unread = all.filter(|(_, slot)| stored.unread(slot).is_some());
        unread.map(|(path, slot)| (readable(&path), slot)).collect::<BTreeMap<_, _>>()
    };
    let (before, after) = (slots(old), slots(new));
    let mut lines = Vec::new();
    for (path, slot) in &before {
        match after.get(path) {
            None => lines.push((path, format!("- {path}: {}", slot.leaf))),
            Some(other) if !slot.leaf.is_alike(&other.leaf) => {
                lines.push((path, format!("~ {path}: {} → {}", slot.leaf, other.leaf)));
            }
            Some(other) if !old.is_same(slot, (new, other))? => {
                lines.push((path, format!("~ {path}: {}, other bytes", slot.leaf)));
            }
            Some(_) => {}
        }
    }
    let added = after.iter().filter(|(path, _)| !before.contains_key(*path));
    lines.extend(added.map(|(path, slot)| (path, format!("+ {path}: {}", slot.leaf))));
    let object = |path: &String, line: &String| {
        json.then(|| serde_json::json!({"path": path, "line": line, "numbers": null}))
    };
    Ok(lines.into_iter().map(|(path, line)| (line.clone(), object(path, &line))).collect())
}

/// A line, and what JSON says instead.
pub(super) type Line = (String, Option<serde_json::Value>);

pub(super) fn report_lines(lines: &[Line], json: bool) -> Result<bool> {
    if json {
        print_json(&lines.iter().filter_map(|(_, object)| object.as_ref()).collect::<Vec<_>>())?;
    } else {
        print(&lines.iter().map(|(line, _)| paint_change(line) + "\n").collect::<String>())?;
    }
    Ok(lines.is_empty())
}

/// The tensors of both. Those at one path are compared byte by byte; if the files have other names
/// and lengths of lists, an equal one may also stand elsewhere.
fn items<'s>(old: &'s Stored, new: &'s Stored) -> Result<[Tree<Item<'s>>; 2]> {
    let slots = |stored: &'s Stored| stored.tree.leaves().iter();
    let ids: [Vec<u64>; 2] = if old.tree.treedef() == new.tree.treedef() {
        let ids = 0..u64::try_from(old.tree.leaves().len()).unwrap_or(u64::MAX);
        let mut differ = Vec::new();
        for (id, (slot, other)) in ids.clone().zip(slots(old).zip(slots(new))) {
            // An id of its own.
            let is_same = old.is_same(slot, (new, other))?;
            differ.push(if is_same { id } else { u64::MAX - id });
        }
        [ids.collect(), differ]
    } else {
        let keys = RandomState::new();
        let hashed = |stored: &'s Stored| {
            slots(stored).map(|slot| stored.hash(slot, &keys)).collect::<Result<Vec<_>>>()
        };
        [hashed(old)?, hashed(new)?]
    };
    let [a, b] = ids;
    let tree = |stored: &'s Stored, ids: Vec<u64>| {
        let items = slots(stored).zip(ids).map(|(slot, id)| Item { slot, id }).collect();
        Tree::new(stored.tree.treedef().clone(), items)
    };
    Ok([tree(old, a)?, tree(new, b)?])
}

/// The changes of the metadata, where both formats have any, but not of the keys that are part of a
/// structure.
pub(super) fn metadata_lines(
    [old, new]: [&Stored; 2],
    json: bool,
    is_part: impl Fn(&str) -> bool,
) -> Vec<Line> {
    if ![[Format::Safetensors; 2], [Format::Gguf; 2]].contains(&[old.format, new.format]) {
        return Vec::new();
    }
    let (old, new) = (&old.metadata, &new.metadata);
    let keys = old.keys().chain(new.keys().filter(|key| !old.contains_key(*key)));
    let changed = keys.filter(|key| old.get(*key) != new.get(*key) && !is_part(key));
    let line = |key: &String| {
        let text = |text: &String| Leaf::from(text.as_str()).to_string();
        let text = match (old.get(key).map(text), new.get(key).map(text)) {
            (Some(old), None) => format!("- metadata {key:?}: {old}"),
            (None, Some(new)) => format!("+ metadata {key:?}: {new}"),
            (old, new) => {
                let [old, new] = [old, new].map(Option::unwrap_or_default);
                format!("~ metadata {key:?}: {old} → {new}")
            }
        };
        let object = json.then(|| serde_json::json!({"metadata": key, "line": text}));
        (text, object)
    };
    changed.map(line).collect()
}
