//! `diff` and `apply`.

use std::fmt::Display;
use std::path::Path;

use serde::Serialize;
use treedef::{Array, Change, ChangeKind, Diff, Edit, Leaf, NodeKind, Tolerance, Tree, TreeDef};

use crate::args::{Output, Reading, Report};
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::input::{self, Document, Input, json_failure};
use crate::paint::{bare_numbers, paint_change};
use crate::tensors::{TensorLeaf, numbers, of_array, with_short_numbers};

use super::{convert::write_as, has_arrays, kinds, print, print_json, readable};

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
    let is_typed = same_format && old.format.is_typed();
    // Names, types and shapes of tensors are known without their numbers.
    let read = |input: Input| {
        if structure && of_tensors == [true; 2] { input.document() } else { input.values() }
    };
    match (read(old)?, read(new)?) {
        (Document::Tree(old), Document::Tree(new)) => {
            let (old, new) = if same_format { (old, new) } else { (plain(old)?, plain(new)?) };
            if structure {
                return report(&kinds(old)?.diff(&kinds(new)?), json, true);
            }
            let close = snapped(&old, new, tolerance)?;
            let diff = old.diff(&close);
            if patch {
                return write_patch(&old, &close, &diff);
            }
            if has_arrays(&old) || has_arrays(&close) {
                report_arrays(&diff, tolerance, json)
            } else {
                report(&diff, json, is_typed)
            }
        }
        (Document::Tensors(old), Document::Tensors(new)) => {
            let texts = |tree: Tree<TensorLeaf>| tree.map(|it| it.to_string());
            report(&texts(old).diff(&texts(new)), json, true)
        }
        (Document::Signature(old), Document::Signature(new)) => report(&old.diff(&new), json, true),
        (old, new) => report(&treedef_of(old).diff(&treedef_of(new)), json, true),
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
    let tree = numbers(tree)?.map(|leaf| {
        let integer =
            leaf.as_i128().map(|number| match (u64::try_from(number), i64::try_from(number)) {
                (Ok(number), _) => Leaf::from(number),
                (_, Ok(number)) => Leaf::from(number),
                _ => leaf.clone(),
            });
        match &leaf {
            Leaf::F32(number) => Leaf::from(f64::from(*number)),
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
    most: Option<(treedef::Path, Leaf, Leaf)>,
}

impl Far {
    /// `None` if they have other types or shapes.
    fn between(old: &Array, new: &Array, tolerance: Tolerance) -> Option<Far> {
        let (old, new) = (of_array(old), of_array(new));
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
            let path = old.treedef().leaf_path(index).ok()?;
            Some((path, old.leaves().get(index)?.clone(), new.leaves().get(index)?.clone()))
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
    let summary = |tree: &Tree<Leaf>| match with_short_numbers(tree.clone()) {
        Ok(tree) => tree.summary().to_string(),
        Err(_) => tree.summary().to_string(),
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
        _ => line(change),
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
fn report_arrays(diff: &Diff<Tree<Leaf>>, tolerance: Tolerance, json: bool) -> Result<bool> {
    let lines = diff.changes().iter().map(|change| (change, line_of_values(change, tolerance)));
    if json {
        let object = |(change, line): (&Change<Tree<Leaf>>, String)| {
            let far = match &change.kind {
                ChangeKind::Replaced { old, new, .. } => far(old, new, tolerance),
                _ => None,
            };
            let differ = far.map(|(_, far)| serde_json::json!({"count": far.count, "of": far.of}));
            serde_json::json!({"path": change.path.to_string(), "line": line, "numbers": differ})
        };
        print_json(&lines.map(object).collect::<Vec<_>>())?;
    } else {
        print(&lines.map(|(_, line)| paint_change(&line) + "\n").collect::<String>())?;
    }
    Ok(diff.is_empty())
}

/// Prints the changes. The kinds of integers are left out unless the documents are typed.
fn report<T: Display + Serialize>(diff: &Diff<T>, json: bool, is_typed: bool) -> Result<bool> {
    if json {
        print_json(diff)?;
    } else {
        let shown = |change| if is_typed { line(change) } else { bare_numbers(&line(change)) };
        let lines = diff.changes().iter().map(|change| paint_change(&shown(change)) + "\n");
        print(&lines.collect::<String>())?;
    }
    Ok(diff.is_empty())
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
    let tree = input.tree()?;
    let patch_name = patch.display().to_string();
    let text = std::fs::read(patch).map_err(|error| Failure::from(error).in_file(&patch_name))?;
    let diff: Diff<Tree<Leaf>> =
        serde_json::from_slice(&text).map_err(|error| json_failure(error).in_file(&patch_name))?;
    let patched = tree.patch(&diff).map_err(|error| Failure::from(error).in_file(&name))?;
    write_as(&patched, (&name, format), to, reading.limits, told)
}
