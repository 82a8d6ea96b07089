//! `diff` of two files of tensors. Only tensors that differ are decoded.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::RandomState;

use treedef::__private::OrBug;
use treedef::{ChangeKind, Leaf, NodeKind, Path, Tolerance, Tree};
use treedef_tensors::{__is_of_structure, __narrowed};

use crate::color::{bare_numbers, paint_change};
use crate::comparing::tensor_file::{TensorFile, TensorSlot};
use crate::failure::Result;
use crate::format::Format;
use crate::paths::{part_at, readable, shown};
use crate::tensors::names::NameTree;

use super::changes::{far, folded, line, replaced, snapped, without_renames};
use super::print::{print, print_json};
use super::scope::Scope;

/// A tensor in a comparison. Tensors with equal numbers have one id.
#[derive(Clone)]
struct ComparedTensor<'s> {
    slot: &'s TensorSlot,
    id: u64,
}

impl PartialEq for ComparedTensor<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.slot.leaf == other.slot.leaf
    }
}

impl fmt::Display for ComparedTensor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.slot.leaf.value {
            Some(value) => value.fmt(f),
            None => self.slot.leaf.fmt(f),
        }
    }
}

/// Whether two files have the same tensors and the same metadata, compared by bytes.
pub(super) fn are_equal(old: &TensorFile, new: &TensorFile) -> Result<bool> {
    if old.tree.treedef() != new.tree.treedef() || old.metadata != new.metadata {
        return Ok(false);
    }
    for (slot, other) in old.tree.leaves().iter().zip(new.tree.leaves()) {
        if slot.name != other.name || !old.is_same(slot, (new, other))? {
            return Ok(false);
        }
    }
    Ok(true)
}

pub(super) fn diff_tensors(
    [old, new]: [&TensorFile; 2],
    tolerance: Tolerance,
    json: bool,
    scope: &Scope,
) -> Result<bool> {
    let has_metadata = |key: &str| !scope.has_rest() || __is_of_structure(key);
    let mut lines = metadata_lines([old, new].map(TensorFile::metadata), json, has_metadata);
    lines.extend(value_lines([old, new], json, scope));
    // PyTorch's files have containers and values of their own beside the tensors.
    let changes = match [old.format, new.format] {
        [Format::Pytorch, Format::Pytorch] => by_tree([old, new], tolerance, scope)?,
        _ => by_name([old, new], |_| true, tolerance, scope)?,
    };
    if json {
        lines.extend(changes.into_iter().map(|change| change.into_json()));
    } else {
        let places = changes.iter().map(|change| (&change.path, 1));
        let texts: Vec<String> = changes.iter().map(|change| change.line.clone()).collect();
        lines.extend(folded(places, &texts).into_iter().map(|line| (line, None)));
    }
    report_lines(&lines, json)
}

/// The changes of plain values in the structure.
fn value_lines(files: [&TensorFile; 2], json: bool, scope: &Scope) -> Vec<Line> {
    let mut values = BTreeMap::<Path, [Option<String>; 2]>::new();
    for (side, stored) in files.iter().enumerate() {
        let statics = stored.tree.treedef().nodes();
        for (path, node) in statics.filter(|(_, node)| node.kind() == NodeKind::Static) {
            let text = node.to_treedef().to_string();
            let text = bare_numbers(text.strip_prefix("static ").unwrap_or(&text));
            if scope.has(&path)
                && let Some(place) = values.entry(path).or_default().get_mut(side)
            {
                *place = Some(text);
            }
        }
    }
    let changed = values.into_iter().filter(|(_, [old, new])| old != new);
    let line = |(path, values): (Path, [Option<String>; 2])| {
        let at = readable(&path);
        let line = match values {
            [Some(old), Some(new)] => format!("~ {at}: {old} → {new}"),
            [Some(old), None] => format!("- {at}: {old}"),
            [None, new] => format!("+ {at}: {}", new.or_bug()),
        };
        let object = json.then(|| serde_json::json!({"path": shown(&path), "line": line}));
        (line, object)
    };
    changed.map(line).collect()
}

/// The changes of tensors that no tree shows: their types, if the tree has the structure that was written,
/// parts that no patch contains, and everything in GGUF.
pub(super) fn lines_beside_values(
    files: [&TensorFile; 2],
    is_structured: bool,
    json: bool,
) -> Result<Vec<Line>> {
    let is_beside = |slots: [Option<&TensorSlot>; 2]| {
        // In the tree, small floats have another type than in the file.
        let are_alike = matches!(slots, [Some(old), Some(new)] if old.leaf.is_alike(&new.leaf));
        let is_small = |slot: &TensorSlot| __narrowed(&slot.leaf.dtype, []).is_some();
        let is_typed = |slot: &TensorSlot| {
            let has_type = slot.dtype().is_some() || are_alike && is_small(slot);
            !is_structured || has_type && slot.leaf.size > 0
        };
        let mut slots = files.into_iter().zip(slots).filter_map(|(file, slot)| Some((file, slot?)));
        slots.any(|(file, slot)| {
            slot.leaf.value.is_none() && (file.is_in_no_patch(slot) || !is_typed(slot))
        })
    };
    let changes = by_name(files, is_beside, Tolerance::default(), &Scope::default())?;
    let line = |it: TensorChange| if json { it.into_json() } else { (it.line, None) };
    Ok(changes.into_iter().map(line).collect())
}

/// The change of a tensor.
struct TensorChange {
    /// Its position in the old file, or in the new one if it exists only there.
    path: Path,
    name: Option<String>,
    line: String,
    numbers: Option<serde_json::Value>,
}

impl TensorChange {
    fn into_json(self) -> Line {
        let TensorChange { path, name, line, numbers } = self;
        let path = shown(&path);
        let object = match name {
            Some(name) => {
                serde_json::json!({"path": path, "name": name, "line": line, "numbers": numbers})
            }
            None => serde_json::json!({"path": path, "line": line, "numbers": numbers}),
        };
        (line, Some(object))
    }
}

/// Compares each tensor with the tensor of the same name in the other file.
fn by_name(
    files: [&TensorFile; 2],
    is_compared: impl Fn([Option<&TensorSlot>; 2]) -> bool,
    tolerance: Tolerance,
    scope: &Scope,
) -> Result<Vec<TensorChange>> {
    let mut named = BTreeMap::<&str, [Option<(Path, &TensorSlot)>; 2]>::new();
    for (side, stored) in files.iter().enumerate() {
        for (path, slot) in stored.tree.treedef().leaf_paths().zip(stored.tree.leaves()) {
            if scope.has(&path)
                && let Some(place) = named.entry(&slot.name).or_default().get_mut(side)
            {
                *place = Some((path, slot));
            }
        }
    }
    let named = named.into_iter().map(|(name, pair)| (name.to_owned(), pair));
    let mut changes = Vec::new();
    // The tree of all names has them in the order in which a file with all of them would be shown.
    for pair in NameTree::of(named).into_tree()?.into_parts().1 {
        let slots = pair.each_ref().map(|it| it.as_ref().map(|(_, slot)| *slot));
        if !is_compared(slots) {
            continue;
        }
        let [old, new] = pair;
        let Some((path, first)) = old.or(new) else { continue };
        let at = readable(&path);
        let (line, numbers) = match slots {
            [Some(was), Some(is)] => match compared(files, [was, is], &at, tolerance)? {
                Some(compared) => compared,
                None => continue,
            },
            [Some(was), None] => (format!("- {at}: {}", was.leaf), None),
            _ => (format!("+ {at}: {}", first.leaf), None),
        };
        changes.push(TensorChange { path, name: Some(first.name.clone()), line, numbers });
    }
    Ok(changes)
}

/// The line for two tensors, and their distance. `None` if they are equal, or close.
fn compared(
    [old, new]: [&TensorFile; 2],
    [was, is]: [&TensorSlot; 2],
    at: &str,
    tolerance: Tolerance,
) -> Result<Option<(String, Option<serde_json::Value>)>> {
    if old.is_same(was, (new, is))? {
        return Ok(None);
    }
    if !was.leaf.is_alike(&is.leaf) {
        return Ok(Some((format!("~ {at}: {} → {}", was.leaf, is.leaf), None)));
    }
    if old.unread(was).or_else(|| new.unread(is)).is_some() {
        return Ok(Some((format!("~ {at}: {}, other bytes", was.leaf), None)));
    }
    let (was, is) = (old.read(was)?, new.read(is)?);
    let far_apart = far(&was, &is, tolerance);
    let is_close = match &far_apart {
        Some(far) => far.count == 0,
        None => snapped(&was, is.clone(), tolerance)? == was,
    };
    let line = replaced(at, &was, &is, far_apart.as_ref());
    Ok((!is_close).then(|| (line, far_apart.map(|far| far.to_json()))))
}

/// Compares the trees of two files of PyTorch.
fn by_tree(
    [old, new]: [&TensorFile; 2],
    tolerance: Tolerance,
    scope: &Scope,
) -> Result<Vec<TensorChange>> {
    let [before, after] = items(old, new)?;
    let mut changes = Vec::new();
    let all = without_renames(&before.diff(&after), |path| part_at(&before, path));
    for change in scope.changes(all) {
        let tensors = match &change.kind {
            ChangeKind::Replaced { old: was, new: is, .. } => only(was).zip(only(is)),
            _ => None,
        };
        let (line, numbers) = match tensors {
            Some((was, is)) if was.slot.leaf.is_alike(&is.slot.leaf) => {
                let slots = [was.slot, is.slot];
                match compared([old, new], slots, &readable(&change.path), tolerance)? {
                    Some(compared) => compared,
                    None => continue,
                }
            }
            _ => (line(&change), None),
        };
        changes.push(TensorChange { path: change.path, name: None, line, numbers });
    }
    Ok(changes)
}

/// The leaf, if the tree is a single one.
fn only<T>(tree: &Tree<T>) -> Option<&T> {
    tree.leaves().first().filter(|_| tree.treedef().root().is_leaf())
}

/// A line, and its equivalent in JSON.
pub(super) type Line = (String, Option<serde_json::Value>);

pub(super) fn report_lines(lines: &[Line], json: bool) -> Result<bool> {
    if json {
        print_json(&lines.iter().filter_map(|(_, object)| object.as_ref()).collect::<Vec<_>>())?;
    } else {
        print(&lines.iter().map(|(line, _)| paint_change(line) + "\n").collect::<String>())?;
    }
    Ok(lines.is_empty())
}

/// The tensors of both. Tensors at one path are compared byte by byte; if the files have other
/// names and lengths of lists, an equal tensor may also be elsewhere.
fn items<'s>(old: &'s TensorFile, new: &'s TensorFile) -> Result<[Tree<ComparedTensor<'s>>; 2]> {
    let slots = |stored: &'s TensorFile| stored.tree.leaves().iter();
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
        let hashed = |stored: &'s TensorFile| {
            slots(stored).map(|slot| stored.hash(slot, &keys)).collect::<Result<Vec<_>>>()
        };
        [hashed(old)?, hashed(new)?]
    };
    let [a, b] = ids;
    let tree = |stored: &'s TensorFile, ids: Vec<u64>| {
        let items = slots(stored).zip(ids).map(|(slot, id)| ComparedTensor { slot, id }).collect();
        Tree::new(stored.tree.treedef().clone(), items)
    };
    Ok([tree(old, a)?, tree(new, b)?])
}

/// The changes of the metadata, if both formats have any, without keys that are part of a
/// structure.
pub(super) fn metadata_lines(
    [(format, old), (of_new, new)]: [(Format, &BTreeMap<String, String>); 2],
    json: bool,
    is_part: impl Fn(&str) -> bool,
) -> Vec<Line> {
    if format != of_new || !matches!(format, Format::Safetensors | Format::Gguf) {
        return Vec::new();
    }
    let keys = old.keys().chain(new.keys().filter(|key| !old.contains_key(*key)));
    let changed = keys.filter(|key| old.get(*key) != new.get(*key) && !is_part(key));
    let line = |key: &String| {
        // GGUF has values of all kinds, which are printed already.
        let text = |text: &String| match format {
            Format::Gguf => text.clone(),
            _ => Leaf::from(text.as_str()).to_string(),
        };
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
