//! `apply`.

use std::path::Path;

use treedef::{ChangeKind, Diff, Edit, Leaf, Tree};
use treedef_tensors::Source;

use crate::args::{Limits, Output, ReadArgs, Report};
use crate::color::{bare_numbers, with_null};
use crate::comparing::common_form::{restored, with_paths};
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::formats::json::json_failure;
use crate::formats::keys::with_keys_for;
use crate::numbers::exact;
use crate::paths::part_at;
use crate::reading::input::{self, Input, name_of, read_beside};
use crate::tensors::checkpoint::expect_room;
use crate::tensors::files;
use crate::tensors::leaf::tensor_of;
use crate::tensors::patch::patched;
use crate::tensors::trees;
use crate::tensors::values::{PatchTree, tree_and_beside, with_values};

use super::convert::{ConvertedDocument, document, format_of, write_as};

type Patch = Diff<Tree<Leaf>>;

pub(super) fn apply(
    file: &Path,
    patch: &Path,
    to: &Output,
    reading: ReadArgs,
    report: Report,
) -> Result<bool> {
    let input = input::open(file, reading, Format::Json)?;
    let (name, format) = (input.name.clone(), input.format);
    let patch_name = name_of(patch);
    let text = read_beside(patch)?;
    let diff: Patch = serde_json::from_slice(&text)
        .map_err(|error| not_a_patch(error, file, patch).in_file(&patch_name))?;
    let to_format = format_of(to, Some(format))?;
    let formats = (format, to_format);
    let written = match format {
        Format::Pytorch => input.with_pytorch(|file, limits| {
            expect_room(file.num_bytes(), limits)?;
            let first = PatchTree::of_pytorch(file, limits)?;
            to_tensors(&file.source()?, first, &diff, formats, limits)
        })?,
        format if format.is_of_tensors() => input.with_tensors(|source, limits| {
            expect_room(source.num_bytes(), limits)?;
            let first = match PatchTree::structured(source, limits)? {
                Some(old) => old,
                None => PatchTree::by_name(source, false, limits)?,
            };
            to_tensors(source, first, &diff, formats, limits)
        })?,
        _ => return to_document(input, diff, to, reading, report),
    };
    written.put(&name, to, report)
}

fn to_document(
    input: Input,
    mut diff: Patch,
    to: &Output,
    reading: ReadArgs,
    report: Report,
) -> Result<bool> {
    let (name, format) = (input.name.clone(), input.format);
    let (tree, mut rest) = input.tree_and_rest()?;
    let mut new = after(&tree, &diff);
    if new.is_err() {
        // The keys may be from another format, and the numbers from tensors.
        with_numbers(&mut diff)?;
        diff = with_keys_for(&tree, diff, format.has_text_keys())?;
        new = after(&tree, &diff);
    }
    let new = new.and_then(|new| {
        reading.limits.expect_visits(new.treedef(), new.leaves().len())?;
        Ok(new)
    });
    let new = new.map_err(|failure| {
        let failure = failure.in_file(&name);
        let message = with_null(failure.message()).replace("`()`", "`null`");
        if format.has_null() { failure.with_message(message) } else { failure }
    })?;
    rest.tags.drop_changed(&diff.changes);
    rest.dates.drop_moved(&diff.changes);
    write_as((&new, &rest), (&name, format), to, reading.limits, report)
}

/// Puts the numbers of a tensor in place of a leaf that is a whole tensor, which only their files have.
fn with_numbers(diff: &mut Patch) -> Result<()> {
    for change in &mut diff.changes {
        let parts = match &mut change.kind {
            ChangeKind::Removed(part) | ChangeKind::Added { new: part, .. } => vec![part],
            ChangeKind::Replaced { old, new, .. } => vec![old, new],
            _ => Vec::new(),
        };
        for part in parts {
            *part = part.clone().edit(|_, node, leaves| {
                let leaf = leaves.first().filter(|_| node.is_leaf()).cloned();
                let tensor = leaf.and_then(|leaf| tensor_of("", &Tree::leaf(leaf)).ok()?);
                // A part without numbers is not found in the document, and the error names it.
                let numbers = tensor.and_then(|tensor| tensor.tree().ok());
                Ok(numbers.map_or(Edit::Keep, Edit::Replace))
            })?;
        }
    }
    Ok(())
}

/// The tree after a patch.
fn after(tree: &Tree<Leaf>, diff: &Patch) -> Result<Tree<Leaf>> {
    match tree.patch(diff) {
        Ok(new) => Ok(new),
        Err(_) => after_plain(tree, tree.clone(), diff),
    }
}

/// The error of a tree that differs from the old one of a patch. The library prints long numbers as structs.
fn not_there(error: treedef::Error, tree: &Tree<Leaf>, diff: &Patch) -> Failure {
    if !exact::is_printed(&error.to_string()) {
        return Failure::new(bare_numbers(&error.to_string()));
    }
    let path = error.path().clone();
    let expected = diff.changes.iter().find_map(|change| {
        let (ChangeKind::Replaced { old, .. } | ChangeKind::Removed(old)) = &change.kind else {
            return None;
        };
        let below = path.keys().strip_prefix(change.path.keys())?;
        part_at(old, &below.iter().cloned().collect())
    });
    match expected.zip(part_at(tree, &path)) {
        Some((expected, found)) => {
            let text = |part: Tree<Leaf>| bare_numbers(&part.to_string());
            let (expected, found) = (text(expected), text(found));
            Failure::new(format!("expected `{expected}`, found `{found}` at `{path}`"))
        }
        None => Failure::new(bare_numbers(&error.to_string())),
    }
}

/// The tree after a patch that was made with another format. Such a patch has no widths of numbers, one
/// form of nothing, and each number of an array on its own. Long numbers are compared by value.
///
/// # Errors
///
/// The error names a value that differs, and not only its form.
fn after_plain(tree: &Tree<Leaf>, values: Tree<Leaf>, diff: &Patch) -> Result<Tree<Leaf>> {
    let (plain, mut plain_diff) = (with_paths(values)?, diff.clone());
    for change in &mut plain_diff.changes {
        if let ChangeKind::Replaced { old, .. } | ChangeKind::Removed(old) = &mut change.kind {
            *old = with_paths(old.clone())?;
        }
    }
    let new = plain.patch(&plain_diff).map_err(|error| not_there(error, tree, diff))?;
    restored(tree, &plain, &new)
}

/// Applies a patch to tensors. `first` is the tree from which the patch was made, unless the other file had
/// only names or numbers without types.
fn to_tensors(
    source: &Source<'_>,
    first: PatchTree,
    diff: &Patch,
    (from, to): (Format, Format),
    limits: Limits,
) -> Result<ConvertedDocument> {
    let (old, new, is_plain) = tensors_after(source, first, diff, limits)?;
    limits.expect_visits(new.treedef(), new.leaves().len())?;
    if !to.is_of_tensors() {
        let (_, beside) = tree_and_beside(source, limits)?;
        let tree = with_values(new, false, limits)?;
        return document(tree, trees::types(source), beside.lost(), (from, to), limits);
    }
    let (tensors, mut lost) = patched(source, &old, &new, (is_plain, to))?;
    let (bytes, not_held) = files::copy(&tensors, to, true)?;
    lost.extend(not_held);
    lost.extend(files::records_of(source));
    Ok(ConvertedDocument::new(bytes, to, lost))
}

/// The tree that a patch is for, the same tree after the patch, and whether the patch was made with another
/// format.
fn tensors_after(
    source: &Source<'_>,
    first: PatchTree,
    diff: &Patch,
    limits: Limits,
) -> Result<(PatchTree, Tree<Leaf>, bool)> {
    if let Ok(new) = first.tree.patch(diff) {
        return Ok((first, new, false));
    }
    let separate = source.separate();
    for (source, has_values) in [(source, false), (&separate, false), (&separate, true)] {
        let named = PatchTree::by_name(source, has_values, limits)?;
        if let Ok(new) = named.tree.patch(diff) {
            return Ok((named, new, false));
        }
    }
    let values = with_values(first.tree.clone(), true, limits)?;
    let new = after_plain(&first.tree, values, diff)?;
    Ok((first, new, true))
}

/// Describes the kind of a patch, and whether the other file is one.
fn not_a_patch(error: serde_json::Error, file: &Path, patch: &Path) -> Failure {
    let failure = json_failure(error);
    let mut message = format!(
        "not a patch ({}): that is `{{\"changes\": [{{\"path\": …, \"change\": …}}]}}`, \
         which `treedef diff --patch` prints",
        failure.message()
    );
    // A pipe was read.
    let other = if file.is_file() { std::fs::read(file).unwrap_or_default() } else { Vec::new() };
    if serde_json::from_slice::<Patch>(&other).is_ok() {
        let (file, patch) = (file.display(), patch.display());
        message += &format!("; the document comes first: `treedef apply {patch} {file}`");
    }
    failure.with_message(message)
}
