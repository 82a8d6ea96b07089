//! `apply`.

use std::path::Path;

use treedef::{Diff, Leaf, Tree};
use treedef_exchange::Source;

use crate::args::{Limits, Output, Reading, Report};
use crate::checkpoint::expect_room;
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::input::{self, Input};
use crate::json::json_failure;
use crate::patching::patched;
use crate::plain::{restored, with_paths};
use crate::tensor_files;
use crate::values::{self, PatchTree};

use super::convert::{Written, format_of, write_as};

type Patch = Diff<Tree<Leaf>>;

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
    let diff: Patch = serde_json::from_slice(&text)
        .map_err(|error| not_a_patch(error, file, patch).in_file(&patch_name))?;
    let has_tensors = matches!(format, Format::Safetensors | Format::Npz | Format::Npy);
    let to_format = format_of(to, Some(format))?;
    if has_tensors && to_format.is_of_tensors() {
        return apply_to_tensors(input, &diff, to_format)?.put(&name, to, told);
    }
    let (tree, mut rest) = input.tree_and_rest()?;
    rest.tags.drop_changed(diff.changes());
    let new = after(&tree, &diff).map_err(|failure| failure.in_file(&name))?;
    write_as((&new, &rest), (&name, format), to, reading.limits, told)
}

/// The tree after a patch.
fn after(tree: &Tree<Leaf>, diff: &Patch) -> Result<Tree<Leaf>> {
    match tree.patch(diff) {
        Ok(new) => Ok(new),
        Err(error) => after_plain(tree, tree.clone(), diff)?.ok_or_else(|| error.into()),
    }
}

/// The tree after a patch that was made with another format, if it is one. Such a patch has no widths of
/// numbers, one form of nothing, and each number of an array by itself.
fn after_plain(tree: &Tree<Leaf>, values: Tree<Leaf>, diff: &Patch) -> Result<Option<Tree<Leaf>>> {
    let plain = with_paths(values)?;
    let new = plain.patch(diff).ok();
    new.map(|new| restored(tree, &plain, &new)).transpose()
}

/// The tree of a file that a patch is for, the same after the patch, and whether the patch was made with
/// another format.
fn tensors_after(
    source: &Source<'_>,
    diff: &Patch,
    limits: Limits,
) -> Result<(PatchTree, Tree<Leaf>, bool)> {
    let named = || PatchTree::by_name(source, limits);
    let structured = PatchTree::structured(source)?;
    let has_structure = structured.is_some();
    let old = structured.map_or_else(named, Ok)?;
    let error = match old.tree.patch(diff) {
        Ok(new) => return Ok((old, new, false)),
        Err(error) => error,
    };
    // One that was made with a file without a structure has the names.
    if has_structure {
        let old = named()?;
        if let Ok(new) = old.tree.patch(diff) {
            return Ok((old, new, false));
        }
    }
    let new = after_plain(&old.tree, values::tree(source, limits)?, diff)?;
    new.map(|new| (old, new, true)).ok_or_else(|| error.into())
}

fn apply_to_tensors(input: Input, diff: &Patch, format: Format) -> Result<Written> {
    input.with_tensors(|source, limits| {
        expect_room(source.num_bytes(), limits)?;
        let (old, new, is_plain) = tensors_after(source, diff, limits)?;
        let (tensors, mut lost) = patched(source, &old, &new, (is_plain, format))?;
        let (bytes, not_held) = tensor_files::copy(&tensors, format, true)?;
        lost.extend(not_held);
        Ok(Written::new(bytes, format, lost))
    })
}

/// Says what a patch is, and whether the other file is one.
fn not_a_patch(error: serde_json::Error, file: &Path, patch: &Path) -> Failure {
    let failure = json_failure(error);
    let mut message = format!(
        "not a patch ({}): that is `{{\"changes\": [{{\"path\": …, \"change\": …}}]}}`, \
         which `treedef diff --patch` prints",
        failure.message()
    );
    let other = std::fs::read(file).unwrap_or_default();
    if serde_json::from_slice::<Patch>(&other).is_ok() {
        let (file, patch) = (file.display(), patch.display());
        message += &format!("; the document comes first: `treedef apply {patch} {file}`");
    }
    failure.with_message(message)
}
