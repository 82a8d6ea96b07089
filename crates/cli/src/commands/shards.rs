//! `convert` of checkpoints: copied tensor by tensor, in little memory, however large they are.

use std::collections::BTreeSet;

use treedef_tensors::pytorch::{Pytorch, PytorchLeaf};
use treedef_tensors::{Error, Source, safetensors};

use crate::args::{Limits, Output, Report, Shards};
use crate::color::listed;
use crate::comparing::losses::Loss;
use crate::failure::{Failure, Result};
use crate::file;
use crate::format::Format;
use crate::reading::compression::is_made_in_memory;
use crate::reading::input::Input;
use crate::reading::progress::Progress;
use crate::tensors::checkpoint::{Checkpoint, expect_room};
use crate::tensors::files::{holdable, separate};

use super::print::{expect_kept, report_json, warn_of_loss, write_with};

/// The input of a conversion: tensors that are copied, or a document.
pub(super) enum Conversion {
    Copied(bool),
    Document(Box<Input>),
}

/// Copies tensors into safetensors from a checkpoint of safetensors or a file of PyTorch.
pub(super) fn copy(
    input: Input,
    to: &Output,
    format: Format,
    shards: Shards,
    report: Report,
) -> Result<Conversion> {
    let (name, limits) = (input.name.clone(), input.limits);
    // A file of numpy has tied tensors under each of their names in any case.
    let is_separate = shards.separate && format != Format::Npz;
    let is_asked = shards.shards.is_some() || is_separate || shards.keep_values;
    let mut lost = Vec::new();
    let source = match input.checkpoint {
        Some(Checkpoint::Pytorch(opened)) if format == Format::Safetensors => {
            let of_file = |error: Error| Failure::from(error).in_file(&name);
            let (file, renamed) = opened.file.with_distinct_names();
            lost.extend(names_of(renamed));
            lost.extend(calls_of(&opened.file));
            if shards.keep_values {
                file.source_with_values().map_err(of_file)?
            } else {
                lost.extend(values_of(&opened.file, format));
                file.source().map_err(of_file)?
            }
        }
        Some(Checkpoint::Safetensors(source)) => source,
        Some(checkpoint @ Checkpoint::Pytorch(_)) => {
            if is_asked {
                return Err(Failure::new(ONLY_SAFETENSORS));
            }
            let checkpoint = Some(checkpoint);
            return Ok(Conversion::Document(Box::new(Input { checkpoint, ..input })));
        }
        Some(checkpoint) => {
            let metadata = match checkpoint {
                Checkpoint::Gguf(_) => ", and `summary` prints metadata",
                _ => "",
            };
            let message = format!("its tensors are not converted; `show` lists them{metadata}");
            return Err(Failure::at(name, message));
        }
        None if is_asked => {
            let message = "`--shards`, `--separate` and `--keep-values` are for tensors that are not compressed";
            return Err(Failure::at(name, message));
        }
        None => return Ok(Conversion::Document(Box::new(Input { checkpoint: None, ..input }))),
    };
    if format != Format::Safetensors {
        if is_asked {
            return Err(Failure::new(ONLY_SAFETENSORS));
        }
        let checkpoint = Some(Checkpoint::Safetensors(source));
        return Ok(Conversion::Document(Box::new(Input { checkpoint, ..input })));
    }
    let source = if shards.separate { separate(&source)? } else { source };
    let mut not_held = Vec::new();
    let source = holdable(&source, format, &mut not_held).map_err(|it| it.in_file(&name))?;
    lost.extend(not_held.into_iter().map(Loss::of));
    expect_kept(&name, format, &lost, to)?;
    let bytes = source.num_bytes();
    let progress = Progress::new(bytes);
    let shown = progress.clone();
    let source =
        source.observed(move |bytes| shown.add(usize::try_from(bytes).unwrap_or(usize::MAX)));
    let written = written(&source, to, shards, limits);
    progress.end();
    written?;
    if report.json {
        let output = to.output.as_ref().map(|path| path.display().to_string());
        let report = serde_json::json!({
            "file": name, "format": format.name(), "output": output, "bytes": bytes, "lost": lost,
        });
        return report_json(&report, to.output.is_some()).map(Conversion::Copied);
    }
    for loss in &lost {
        warn_of_loss(&name, loss, format);
    }
    Ok(Conversion::Copied(true))
}

const ONLY_SAFETENSORS: &str = "`--shards`, `--separate` and `--keep-values` write safetensors";
/// The maximum number of names of values that are printed.
const LISTED: usize = 5;

/// The types of the elements.
pub(super) fn types_of(file: &Pytorch<'_>) -> BTreeSet<String> {
    let entries = file.lazy_tree();
    let types = entries.leaves().iter().filter_map(|entry| match entry {
        PytorchLeaf::Tensor(stored) => Some(stored.descriptor().type_name().to_owned()),
        _ => None,
    });
    types.collect()
}

/// Other names of tensors.
pub(super) fn names_of(renamed: Vec<(String, String)>) -> impl Iterator<Item = Loss> {
    renamed.into_iter().map(|(name, new)| {
        Loss::of(format!("the name `{name}` of a second tensor, which is `{new}` there"))
    })
}

/// The tensors that torch makes by a call and for which only the storage is written.
pub(super) fn calls_of(file: &Pytorch<'_>) -> Vec<Loss> {
    let entries = file.lazy_tree();
    let mut lost = Vec::new();
    for (path, node) in entries.treedef().nodes() {
        let of_torch = node.name().and_then(|name| name.strip_prefix("<torch._utils._rebuild_"));
        let save = match of_torch {
            Some("qtensor>") => "`tensor.dequantize()`",
            Some("tensor_v2>") => "`tensor.resolve_conj().resolve_neg()`",
            Some("tensor_v3>") => {
                "`tensor.resolve_conj().resolve_neg()`, or `tensor.to(torch.complex64)`"
            }
            _ => continue,
        };
        let name = path.to_joined_string(".");
        lost.push(Loss::of(format!(
            "`{name}`, whose numbers torch makes of others: `{name}.0` has these; save {save} for them"
        )));
    }
    lost
}

/// The values in a file of PyTorch that are not tensors.
pub(super) fn values_of(file: &Pytorch<'_>, to: Format) -> Option<Loss> {
    let paths = file.values().map(|(path, _)| path).chain(file.__empties().map(|(path, _)| path));
    let names: Vec<String> =
        paths.map(|path| format!("`{}`", path.to_joined_string("."))).collect();
    let hint = match to {
        Format::Safetensors => " (`--keep-values` puts it into the metadata)",
        _ => "",
    };
    let what = format!("leaves that are not tensors, {}{hint}", listed(&names, LISTED));
    (!names.is_empty()).then(|| Loss::of(what))
}

fn written(source: &Source<'_>, to: &Output, shards: Shards, limits: Limits) -> Result<()> {
    match (shards.shards, &to.output) {
        (Some(max_bytes), Some(folder)) => {
            if folder.is_file() {
                return Err(Failure::at(folder.display(), "a file, `--shards` writes a folder"));
            }
            file::interruptible(source, |source| {
                safetensors::save_sharded(source, folder, max_bytes)
            })?;
        }
        (Some(_), None) => {
            return Err(Failure::new("into which folder? Pass `--output folder`"));
        }
        (None, path) => {
            if path.as_ref().is_some_and(|path| is_made_in_memory(path)) {
                expect_room(source.num_bytes(), limits)?;
            }
            write_with(path.as_deref(), |out| Ok(safetensors::write(source, out)?))?;
        }
    }
    Ok(())
}
