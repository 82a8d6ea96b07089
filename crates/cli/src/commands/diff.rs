//! `diff` and `apply`.

use std::fmt::Display;
use std::path::Path;

use serde::Serialize;
use treedef::{Array, Change, ChangeKind, Diff, Edit, Leaf, NodeKind, Tolerance, Tree, TreeDef};

use crate::args::{Output, Reading, Report};
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::input::{self, Document, Input};
use crate::json::json_failure;
use crate::paint::{bare_numbers, paint_change, with_null};
use crate::paths::{readable, shown};
use crate::tensors::{Halves, TensorLeaf, numbers, numeral, of_array, with_short_halves};

use super::{convert::write_as, has_arrays, kinds, print, print_json};

pub(super) fn diff(
    files: [&Path; 2],
    reading: Reading,
    structure: bool,
    tolerance: Tolerance,
    patch: bool,
    json: bool,
) -> Result<bool> {
    let [old, new] = files.map(|file| input::open(file, reading, Format::Json));
    let (old, new) = (old?, new?);
    let of_tensors = [old.format, new.format].map(Format::is_of_tensors);
    let same_format = old.format == new.format || of_tensors == [true; 2];
    let style = Style {
        is_typed: same_format && old.format.is_typed(),
        has_null: old.format.has_null() || new.format.has_null(),
    };
    // Names, types and shapes of tensors are known without their numbers.
    let read = |input: Input| {
        if structure && of_tensors == [true; 2] { input.document() } else { input.values() }
    };
    match (read(old)?, read(new)?) {
        (Document::Tree(old), Document::Tree(new)) => {
            let (old, new) = if same_format { (old, new) } else { (plain(old)?, plain(new)?) };
            if structure {
                return report(&changes(&kinds(old)?, &kinds(new)?), json, style.typed());
            }
            let close = snapped(&old, new, tolerance)?;
            let diff = old.diff(&close);
            if patch {
                return write_patch(&old, &close, &diff);
            }
            let changes = without_renames(&diff, |path| old.subtree(path).ok());
            if has_arrays(&old) || has_arrays(&close) {
                report_arrays(&changes, tolerance, json, style)
            } else {
                report(&changes, json, style)
            }
        }
        (Document::Tensors(old), Document::Tensors(new)) => {
            let texts = |tree: Tree<TensorLeaf>| tree.map(|it| it.to_string());
            report(&changes(&texts(old), &texts(new)), json, style.typed())
        }
        (Document::Signature(old), Document::Signature(new)) => {
            report(&changes(&old, &new), json, style.typed())
        }
        (old, new) => {
            let (old, new) = (treedef_of(old), treedef_of(new));
            let part = |path: &treedef::Path| old.node(path).ok().map(|node| node.to_treedef());
            report(&without_renames(&old.diff(&new), part), json, style.typed())
        }
    }
}

fn changes<L: Clone + PartialEq>(old: &Tree<L>, new: &Tree<L>) -> Vec<Change<Tree<L>>> {
    without_renames(&old.diff(new), |path| old.subtree(path).ok())
}

/// The changes of a diff. In a document, what has another key is another thing: that it was renamed
/// is a guess. `part` is the old document at a path.
pub(super) fn without_renames<T: Clone>(
    diff: &Diff<T>,
    part: impl Fn(&treedef::Path) -> Option<T>,
) -> Vec<Change<T>> {
    let mut all = Vec::new();
    for change in diff.changes() {
        let (ChangeKind::Renamed { to }, Some(it)) = (&change.kind, part(&change.path)) else {
            all.push(change.clone());
            continue;
        };
        let (mut removed, mut added) = (change.clone(), change.clone());
        added.path = change.path.parent().unwrap_or_default().child(to.clone());
        removed.kind = ChangeKind::Removed(it.clone());
        added.kind = ChangeKind::Added { position: 0, new: it };
        all.extend([removed, added]);
    }
    all
}

/// How the lines of changes are written.
#[derive(Clone, Copy)]
struct Style {
    /// Whether the kinds of numbers are in them.
    is_typed: bool,
    has_null: bool,
}

impl Style {
    fn typed(self) -> Self {
        Style { is_typed: true, ..self }
    }

    fn of(self, line: String) -> String {
        let line = if self.is_typed { line } else { bare_numbers(&line) };
        if self.has_null { with_null(&line) } else { line }
    }
}

fn treedef_of(document: Document) -> TreeDef {
    match document {
        Document::Tree(tree) => tree.treedef().clone(),
        Document::Signature(tree) => tree.treedef().clone(),
        Document::Structure(treedef) => treedef,
        Document::Tensors(tree) => tree.treedef().clone(),
    }
}

/// A tree for the comparison of formats, which have other kinds of integers and of nothing.
fn plain(tree: Tree<Leaf>) -> Result<Tree<Leaf>> {
    let tree = numbers(tree, Halves::Short)?.map(|leaf| {
        let integer =
            leaf.as_i128().map(|number| match (u64::try_from(number), i64::try_from(number)) {
                (Ok(number), _) => Leaf::from(number),
                (_, Ok(number)) => Leaf::from(number),
                _ => leaf.clone(),
            });
        match &leaf {
            // As it is printed.
            Leaf::F32(number) => number.to_string().parse::<f64>().map_or(leaf, Leaf::from),
            Leaf::Char(c) => Leaf::from(c.to_string()),
            _ => integer.unwrap_or(leaf),
        }
    });
    let unit = Tree::new(TreeDef::unit(), Vec::new())?;
    Ok(tree.edit(|_, node, leaves| match (node.kind(), leaves) {
        (NodeKind::None, _) => Ok(Edit::Replace(unit.clone())),
        (NodeKind::NewtypeStruct, [leaf]) => Ok(Edit::Replace(Tree::leaf(leaf.clone()))),
        _ => Ok(Edit::Keep),
    })?)
}

/// The new tree with the old number wherever the two are close.
fn snapped(old: &Tree<Leaf>, new: Tree<Leaf>, tolerance: Tolerance) -> Result<Tree<Leaf>> {
    if tolerance == Tolerance::new() {
        return Ok(new);
    }
    let snap = |old: &Leaf, leaf: Leaf| {
        if let (Some(was), Some(array)) = (old.as_array(), leaf.as_array()) {
            let is_close = Far::between(was, array, tolerance).is_some_and(|far| far.count == 0);
            return if is_close { old.clone() } else { leaf };
        }
        let is_close = old != &leaf
            && leaf.kind().is_number()
            && Tree::leaf(leaf.clone()).check_close(&Tree::leaf(old.clone()), tolerance).is_ok();
        if is_close { old.clone() } else { leaf }
    };
    if old.treedef() == new.treedef() {
        let (treedef, leaves) = new.into_parts();
        let leaves = old.leaves().iter().zip(leaves).map(|(old, leaf)| snap(old, leaf)).collect();
        return Ok(Tree::new(treedef, leaves)?);
    }
    Ok(new.map_with_path(|path, leaf| match old.get(path) {
        Ok(old) => snap(old, leaf),
        Err(_) => leaf,
    }))
}

/// One line for a change, with a readable path.
pub(super) fn line<T: Display>(change: &Change<T>) -> String {
    let text = change.to_string();
    let path = change.path.to_string();
    match text.get(2..).and_then(|rest| rest.strip_prefix(&path)) {
        Some(rest) if !path.is_empty() => {
            format!("{}{}{rest}", text.get(..2).unwrap_or_default(), readable(&change.path))
        }
        _ => text,
    }
}

/// How far two arrays of one type and shape are apart.
struct Far {
    /// How many numbers are not close.
    count: usize,
    of: usize,
    /// Where they are furthest apart, and both numbers there.
    most: Option<(treedef::Path, String, String)>,
}

impl Far {
    /// `None` if they have other types or shapes.
    fn between(old: &Array, new: &Array, tolerance: Tolerance) -> Option<Far> {
        let exact = |array| of_array(array, Halves::Exact).ok();
        let (arrays, (old, new)) = ((old, new), (exact(old)?, exact(new)?));
        if old.treedef() != new.treedef() {
            return None;
        }
        let close = |a: &Leaf, b: &Leaf| {
            a == b || Tree::leaf(b.clone()).check_close(&Tree::leaf(a.clone()), tolerance).is_ok()
        };
        let (mut count, mut most) = (0, None);
        let pairs = old.leaves().iter().zip(new.leaves()).enumerate();
        for (index, (a, b)) in pairs.filter(|(_, (a, b))| !close(a, b)) {
            count += 1;
            let apart = apart(a, b);
            if most.as_ref().is_none_or(|(_, furthest)| apart > *furthest) {
                most = Some((index, apart));
            }
        }
        let place = most.and_then(|(index, _)| {
            // The newtype of a half float is no step.
            let short = |array| of_array(array, Halves::Short).ok();
            let (old, new) = (short(arrays.0)?, short(arrays.1)?);
            let path = old.treedef().leaf_path(index).ok()?;
            let text = |tree: &Tree<Leaf>| tree.leaves().get(index).map(numeral);
            Some((path, text(&old)?, text(&new)?))
        });
        Some(Far { count, of: old.leaves().len(), most: place })
    }
}

/// The difference of two numbers, to find the greatest. What is not a number is furthest.
fn apart(a: &Leaf, b: &Leaf) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "to compare differences")]
    let float = |leaf: &Leaf| match leaf {
        Leaf::F32(number) => f64::from(*number),
        leaf => leaf.as_f64().or(leaf.as_i128().map(|it| it as f64)).unwrap_or(f64::NAN),
    };
    let apart = (float(a) - float(b)).abs();
    if apart.is_nan() { f64::INFINITY } else { apart }
}

/// One line for a change. Arrays are not printed number by number.
pub(super) fn line_of_values(change: &Change<Tree<Leaf>>, tolerance: Tolerance) -> String {
    let path = readable(&change.path);
    let summary = |tree: &Tree<Leaf>| match with_short_halves(tree.clone()) {
        Ok(tree) => bare_numbers(&tree.summary().to_string()),
        Err(_) => bare_numbers(&tree.summary().to_string()),
    };
    match &change.kind {
        ChangeKind::Replaced { old, new, .. } if has_arrays(old) || has_arrays(new) => {
            let far = far(old, new, tolerance).map(|(array, far)| {
                let most = far.most.map_or_else(String::new, |(place, a, b)| {
                    format!(", most at {}: {a} → {b}", readable(&place))
                });
                format!("~ {path}: {array}: {} of {} numbers differ{most}", far.count, far.of)
            });
            far.unwrap_or_else(|| format!("~ {path}: {} → {}", summary(old), summary(new)))
        }
        ChangeKind::Removed(old) if has_arrays(old) => format!("- {path}: {}", summary(old)),
        ChangeKind::Added { new, .. } if has_arrays(new) => format!("+ {path}: {}", summary(new)),
        // A kind is worth its characters where it is all that changed.
        ChangeKind::Replaced { old, new, .. }
            if bare_numbers(&old.to_string()) == bare_numbers(&new.to_string()) =>
        {
            line(change)
        }
        _ => bare_numbers(&line(change)),
    }
}

/// How far two trees are apart that are one array each.
fn far<'a>(
    old: &'a Tree<Leaf>,
    new: &Tree<Leaf>,
    tolerance: Tolerance,
) -> Option<(&'a Array, Far)> {
    let array = |tree: &'a Tree<Leaf>| {
        tree.leaves().first().filter(|_| tree.treedef().root().is_leaf())?.as_array()
    };
    let old = array(old)?;
    let new = new.leaves().first().filter(|_| new.treedef().root().is_leaf())?.as_array()?;
    Some((old, Far::between(old, new, tolerance)?))
}

/// Prints the changes of a document with arrays. As JSON, each has its line.
fn report_arrays(
    changes: &[Change<Tree<Leaf>>],
    tolerance: Tolerance,
    json: bool,
    style: Style,
) -> Result<bool> {
    let lines = changes.iter().map(|change| {
        let line = line_of_values(change, tolerance);
        (change, if style.has_null { with_null(&line) } else { line })
    });
    if json {
        let object = |(change, line): (&Change<Tree<Leaf>>, String)| {
            let far = match &change.kind {
                ChangeKind::Replaced { old, new, .. } => far(old, new, tolerance),
                _ => None,
            };
            let differ = far.map(|(_, far)| serde_json::json!({"count": far.count, "of": far.of}));
            serde_json::json!({"path": shown(&change.path), "line": line, "numbers": differ})
        };
        print_json(&lines.map(object).collect::<Vec<_>>())?;
    } else {
        print(&lines.map(|(_, line)| paint_change(&line) + "\n").collect::<String>())?;
    }
    Ok(changes.is_empty())
}

/// A change as JSON.
#[derive(Serialize)]
struct Told<'a, T> {
    path: String,
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<Part<'a, T>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new: Option<Part<'a, T>>,
    /// How many siblings one after another changed so, if it is more than this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    places: Option<usize>,
}

/// A part of a document, or a name.
#[derive(Serialize)]
#[serde(untagged)]
enum Part<'a, T> {
    Of(&'a T),
    Named(String),
}

fn told<T>(change: &Change<T>) -> Told<'_, T> {
    let names = |old: &dyn Display, new: &dyn Display| {
        (Some(Part::Named(old.to_string())), Some(Part::Named(new.to_string())))
    };
    let (what, (old, new)) = match &change.kind {
        ChangeKind::Removed(old) => ("removed", (Some(Part::Of(old)), None)),
        ChangeKind::Added { new, .. } => ("added", (None, Some(Part::Of(new)))),
        ChangeKind::Replaced { old, new, .. } => {
            ("replaced", (Some(Part::Of(old)), Some(Part::Of(new))))
        }
        ChangeKind::Renamed { to } => ("renamed", (None, Some(Part::Named(to.to_string())))),
        ChangeKind::Retyped { old, new } => ("retyped", names(old, new)),
        ChangeKind::Reordered { keys } => {
            let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
            ("reordered", (None, Some(Part::Named(keys.join(" ")))))
        }
        _ => ("changed", (None, None)),
    };
    let places = Some(change.places()).filter(|places| *places > 1);
    Told { path: shown(&change.path), change: what, old, new, places }
}

/// Prints the changes. The kinds of integers are left out unless the documents are typed.
fn report<T: Display + Serialize>(changes: &[Change<T>], json: bool, style: Style) -> Result<bool> {
    if json {
        print_json(&changes.iter().map(told).collect::<Vec<_>>())?;
    } else {
        let lines = changes.iter().map(|change| paint_change(&style.of(line(change))) + "\n");
        print(&lines.collect::<String>())?;
    }
    Ok(changes.is_empty())
}

/// Prints the diff as JSON, if it means the same when it is read again.
fn write_patch(old: &Tree<Leaf>, new: &Tree<Leaf>, diff: &Diff<Tree<Leaf>>) -> Result<bool> {
    let text = serde_json::to_string(diff)?;
    let again = serde_json::from_str::<Diff<Tree<Leaf>>>(&text);
    let result = again.ok().and_then(|diff| old.patch(&diff).ok());
    if result.as_ref() != Some(new) {
        let message = "a patch is JSON, which cannot hold these values exactly, e.g. f32, NaN or \
            structs; convert both files to JSON first";
        return Err(Failure::new(message));
    }
    print_json(diff)?;
    Ok(diff.is_empty())
}

pub(super) fn apply(
    file: &Path,
    patch: &Path,
    to: &Output,
    reading: Reading,
    told: Report,
) -> Result<bool> {
    let input = input::open(file, reading, Format::Json)?;
    let (name, format) = (input.name.clone(), input.format);
    let patch_name = patch.display().to_string();
    let text = std::fs::read(patch).map_err(|error| Failure::from(error).in_file(&patch_name))?;
    let diff: Diff<Tree<Leaf>> = serde_json::from_slice(&text)
        .map_err(|error| not_a_patch(error, file, patch).in_file(&patch_name))?;
    let (tree, has_comments) = input.tree_and_comments()?;
    let patched = tree.patch(&diff).map_err(|error| Failure::from(error).in_file(&name))?;
    write_as((&patched, has_comments), (&name, format), to, reading.limits, told)
}

/// Says what a patch is, and whether the other file is one.
fn not_a_patch(error: serde_json::Error, file: &Path, patch: &Path) -> Failure {
    let failure = json_failure(error);
    let mut message = format!(
        "not a patch ({}): that is a list such as `[{{\"path\": …, \"change\": \"replaced\", …}}]`, \
         which `treedef diff --patch` prints",
        failure.message()
    );
    let other = std::fs::read(file).unwrap_or_default();
    if serde_json::from_slice::<Diff<Tree<Leaf>>>(&other).is_ok() {
        let (file, patch) = (file.display(), patch.display());
        message += &format!("; the document comes first: `treedef apply {patch} {file}`");
    }
    failure.with_message(message)
}
