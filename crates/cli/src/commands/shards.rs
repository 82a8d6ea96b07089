//! `convert` of checkpoints: copied tensor by tensor, in little memory, however large they are.

use std::io::Write;

use treedef_exchange::{Source, safetensors};

use crate::args::{Output, Report, Shards};
use crate::checkpoint::Checkpoint;
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::input::Input;
use crate::progress::Progress;

use super::print::report_json;

/// What is to be converted: tensors that are copied, or a document.
pub(super) enum Conversion {
    Copied(bool),
    Document(Box<Input>),
}

/// Copies tensors where both sides are safetensors and one of them is a checkpoint in shards.
pub(super) fn copy(
    input: Input,
    to: &Output,
    format: Format,
    shards: Shards,
    report: Report,
) -> Result<Conversion> {
    let Input { name, .. } = &input;
    let name = name.clone();
    let is_asked = shards.shards.is_some() || shards.separate;
    let source = match input.checkpoint {
        Some(Checkpoint::Safetensors(source)) => source,
        Some(_) => {
            let message =
                "its tensors are not converted; `show` lists them, and `summary` prints metadata";
            return Err(Failure::at(name, message));
        }
        None if is_asked => {
            let message = "`--shards` and `--separate` are for safetensors that are not compressed";
            return Err(Failure::at(name, message));
        }
        None => return Ok(Conversion::Document(Box::new(Input { checkpoint: None, ..input }))),
    };
    if format != Format::Safetensors {
        if is_asked {
            return Err(Failure::new("`--shards` and `--separate` write safetensors"));
        }
        let checkpoint = Some(Checkpoint::Safetensors(source));
        return Ok(Conversion::Document(Box::new(Input { checkpoint, ..input })));
    }
    let source = if shards.separate { source.separate() } else { source };
    let bytes = source.num_bytes();
    let progress = Progress::new(bytes);
    let shown = progress.clone();
    let source =
        source.observed(move |bytes| shown.add(usize::try_from(bytes).unwrap_or(usize::MAX)));
    let written = written(&source, to, shards);
    progress.end();
    written?;
    if report.json {
        let output = to.output.as_ref().map(|path| path.display().to_string());
        let told = serde_json::json!({
            "file": name, "format": format.name(), "output": output, "bytes": bytes, "lost": [],
        });
        return report_json(&told, to.output.is_some()).map(Conversion::Copied);
    }
    Ok(Conversion::Copied(true))
}

fn written(source: &Source<'_>, to: &Output, shards: Shards) -> Result<()> {
    match (shards.shards, &to.output) {
        (Some(max_bytes), Some(folder)) => {
            if folder.is_file() {
                return Err(Failure::at(folder.display(), "a file, `--shards` writes a folder"));
            }
            safetensors::save_sharded(source, folder, max_bytes)?;
        }
        (Some(_), None) => {
            return Err(Failure::new("into which folder? Pass `--output folder`"));
        }
        (None, Some(path)) => safetensors::save(source, path)?,
        (None, None) => {
            let mut out = std::io::stdout().lock();
            safetensors::write(source, &mut out)?;
            out.flush()?;
        }
    }
    Ok(())
}
