//! `diff` and `apply`.

use std::fmt::Display;
use std::path::Path;

use serde::Serialize;
use treedef::{Change, Diff, Edit, Leaf, NodeKind, Tolerance, Tree, TreeDef};

use crate::args::Output;
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::input::{self, Document, json_failure};
use crate::paint::{bare_numbers, paint_change};

use super::{convert::write_as, kinds, print, print_json, readable};

pub(super) fn diff(
    files: [&Path; 2],
    format: Option<Format>,
    structure: bool,
    tolerance: Tolerance,
    patch: bool,
    json: bool,
) -> Result<bool> {
    let [old, new] = files.map(|file| input::open(file, format, Format::Json));
    let (old, new) = (old?, new?);
    let same_format = old.format == new.format;
    let is_typed = same_format && old.format == Format::Tree;
    match (old.document()?, new.document()?) {
        (Document::Tree(old), Document::Tree(new)) => {
            let (old, new) = match same_format {
                true => (old, new),
                false => (plain(old)?, plain(new)?),
            };
            if structure {
                return report(&kinds(old).diff(&kinds(new)), json, true);
            }
            let close = snapped(&old, new, tolerance)?;
            let diff = old.diff(&close);
            if patch {
                return write_patch(&old, &close, &diff);
            }
            report(&diff, json, is_typed)
        }
        (Document::Tensors(old), Document::Tensors(new)) if !patch => {
            let texts = |tree: Tree<crate::safetensors::TensorLeaf>| tree.map(|it| it.to_string());
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
    let tree = tree.map(|leaf| {
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
    Ok(tree.edit(|_, node, _| match node.kind() {
        NodeKind::None => Ok(Edit::Replace(unit.clone())),
        _ => Ok(Edit::Keep),
    })?)
}

/// The new tree with the old number wherever the two are close.
fn snapped(old: &Tree<Leaf>, new: Tree<Leaf>, tolerance: Tolerance) -> Result<Tree<Leaf>> {
    if tolerance == Tolerance::new() {
        return Ok(new);
    }
    let snap = |old: &Leaf, leaf: Leaf| {
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

/// Prints the changes. The kinds of integers are left out unless the documents are typed.
fn report<T: Display + Serialize>(diff: &Diff<T>, json: bool, is_typed: bool) -> Result<bool> {
    if json {
        print_json(diff)?;
    } else {
        let shown = |change| match is_typed {
            true => line(change),
            false => bare_numbers(&line(change)),
        };
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
    format: Option<Format>,
) -> Result<bool> {
    let input = input::open(file, format, Format::Json)?;
    let (name, format) = (input.name.clone(), input.format);
    let tree = input.tree()?;
    let patch_name = patch.display().to_string();
    let text = std::fs::read(patch).map_err(|error| Failure::from(error).in_file(&patch_name))?;
    let diff: Diff<Tree<Leaf>> =
        serde_json::from_slice(&text).map_err(|error| json_failure(error).in_file(&patch_name))?;
    let patched = tree.patch(&diff).map_err(|error| Failure::from(error).in_file(&name))?;
    write_as(&patched, (&name, format), to, Some(format))
}
