//! Trees and tensors as files of tensors.

use treedef::__private::OrBug;
use treedef::{Leaf, Path, Tree};
use treedef_tensors::{Error, ErrorKind, Export, Source, npy, npz, safetensors};

use crate::color::listed;
use crate::failure::{Failure, Result};
use crate::format::{Format, TensorFormat};
use crate::paths::readable;
use crate::tensors::names::display_name;
use crate::tensors::values::lost_metadata;

/// numpy's name for an array that was saved without one.
const NO_NAME: &str = "arr_0";
/// The maximum number of paths in an error.
const LISTED: usize = 10;

/// Options for writing trees. Only safetensors can store values that are not tensors.
pub(crate) fn export(format: Format) -> Export {
    let has_place = format == Format::Safetensors;
    Export::new().structure_in_metadata(has_place).rest_in_metadata(has_place)
}

/// A tree as a file of tensors. In safetensors, the metadata has the structure and all values that
/// are not numbers.
pub(crate) fn write(tree: &Tree<Leaf>, format: Format) -> Result<Vec<u8>> {
    let tensors = export(format).tensors(tree).map_err(|error| refused(&error, format))?;
    to_bytes(&Source::from(&tensors), format)
}

/// Copies tensors unchanged, and reports losses, also of the metadata of the file.
pub(crate) fn copy(
    source: &Source<'_>,
    format: Format,
    has_metadata: bool,
) -> Result<(Vec<u8>, Vec<String>)> {
    let mut lost = Vec::new();
    let has_place = format == Format::Safetensors;
    let source = &if format == Format::Npz { separate(source)? } else { source.clone() };
    if has_metadata && !has_place {
        lost.extend(lost_metadata(source.metadata_keys()));
    }
    let source = holdable(source, format, &mut lost)?;
    for stored in source.iter() {
        match (stored.name(), format) {
            ("", Format::Npz) => lost.push(format!("an array without a name became `{NO_NAME}`")),
            (name, Format::Npy) if !name.is_empty() => lost.push(format!("the name `{name}`")),
            _ => {}
        }
    }
    Ok((to_bytes(&source, format)?, lost))
}

/// The tensors under each of their names.
pub(crate) fn separate<'s>(source: &Source<'s>) -> Result<Source<'s>> {
    source.__check_ties()?;
    Ok(source.separate())
}

/// Values that files of tensors cannot hold: numpy's records.
pub(crate) fn records_of(source: &Source<'_>) -> impl Iterator<Item = String> {
    let name =
        |name: &String| if name.is_empty() { String::new() } else { format!(" of `{name}`") };
    let names = source.__records().iter().map(name);
    names.map(|of| format!("the records{of}, of which each field is an array there"))
}

/// The tensors whose types the format has. If it lacks small floats, they are widened.
pub(crate) fn holdable<'s>(
    source: &Source<'s>,
    format: Format,
    lost: &mut Vec<String>,
) -> Result<Source<'s>> {
    let holds = match format.of_tensors() {
        Some(TensorFormat::Safetensors) => safetensors::__holds,
        Some(TensorFormat::Npz | TensorFormat::Npy) => npy::__holds,
        Some(TensorFormat::Gguf | TensorFormat::Pytorch | TensorFormat::Orbax) | None => {
            return Err(only_read(format));
        }
    };
    let mut tensors = Vec::new();
    for stored in source.iter() {
        let (name, descriptor, widened) = (stored.name(), stored.descriptor(), stored.widened());
        if holds(descriptor) {
            tensors.push(stored.clone());
        } else if holds(widened.descriptor()) {
            lost.push(format!(
                "the type of {}, {descriptor}, which is f32 there",
                display_name(name)
            ));
            tensors.push(widened);
        } else {
            lost.push(format!("{}, {descriptor}, which it has no type for", display_name(name)));
        }
    }
    if let (true, Some(first)) = (tensors.is_empty(), source.iter().next()) {
        let (name, first) = (display_name(first.name()), first.descriptor());
        let others = if source.iter().len() > 1 { ", nor for the others" } else { "" };
        let message = format!("{} has no type for {name}, {first}{others}", format.name());
        return Err(Failure::new(message));
    }
    let texts = source
        .metadata_keys()
        .map(|key| (key.to_owned(), source.metadata(key).or_bug().to_owned()));
    Ok(Source::of(tensors, texts)?)
}

fn to_bytes(source: &Source<'_>, format: Format) -> Result<Vec<u8>> {
    let written = match format.of_tensors() {
        Some(TensorFormat::Npz) => {
            let named = source.iter().map(|stored| match stored.name() {
                "" => stored.renamed(NO_NAME),
                _ => stored.clone(),
            });
            Source::of(named, []).and_then(npz::to_bytes)
        }
        Some(TensorFormat::Npy) => {
            let mut all = source.iter();
            let (Some(stored), None) = (all.next(), all.next()) else {
                let message = "npy holds one array, and here are others: `--to npz` holds them";
                return Err(Failure::new(message));
            };
            npy::to_bytes(stored)
        }
        Some(TensorFormat::Safetensors) => {
            let mut bytes = Vec::new();
            safetensors::write(source, &mut bytes).map(|()| bytes)
        }
        Some(TensorFormat::Gguf | TensorFormat::Pytorch | TensorFormat::Orbax) | None => {
            return Err(only_read(format));
        }
    };
    written.map_err(|error| refused(&error, format))
}

fn only_read(format: Format) -> Failure {
    Failure::new(format!("{} is only read", format.name()))
}

/// The reason why a format cannot hold it, with the paths and what to do.
pub(crate) fn refused(error: &Error, format: Format) -> Failure {
    let reason = match error.kind() {
        ErrorKind::NoDtype(leaves) => {
            let place = |path: &Path| {
                let quote = if path.is_root() { "" } else { "`" };
                format!("{quote}{}{quote}", readable(path))
            };
            let leaves = leaves.iter().map(|(path, kind)| format!("{kind} at {}", place(path)));
            let leaves = listed(&leaves.collect::<Vec<_>>(), LISTED);
            format!("there are {leaves}; `--to safetensors` holds them")
        }
        _ => error.to_string(),
    };
    Failure::new(format!("{} cannot hold it: {reason}", format.name()))
}
