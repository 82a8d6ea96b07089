//! The output of subcommands, and its destination.

use std::io::{BufWriter, Write};
use std::path::Path;

use serde::Serialize;

use crate::args::Output;
use crate::comparing::losses::Loss;
use crate::failure::{Failure, Result};
use crate::file;
use crate::format::Format;
use crate::formats::json::visible;
use crate::reading::compression::compressed;

/// Prints a text with colours, which are removed if the output is not a terminal.
pub(super) fn print(text: &str) -> Result<bool> {
    let mut out = anstream::stdout().lock();
    unless_closed(out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::from))
}

/// A reader that closed the pipe has read enough of a report, and does not change the exit code.
fn unless_closed<T>(printed: Result<T>) -> Result<bool> {
    match printed {
        Ok(_) | Err(Failure::BrokenPipe) => Ok(true),
        Err(failure) => Err(failure),
    }
}

/// Reports the losses of a format.
pub(super) fn warn_of_loss(name: &str, loss: &Loss, format: Format) {
    let yellow = anstyle::AnsiColor::Yellow.on_default();
    message!("treedef: {name}: {yellow}{}{yellow:#}", loss.line(&format.name()));
}

/// Fails under `--strict` if something would be lost, with a list.
pub(super) fn expect_kept(name: &str, format: Format, lost: &[Loss], to: &Output) -> Result<()> {
    if !to.strict || lost.is_empty() {
        return Ok(());
    }
    for loss in lost {
        warn_of_loss(name, loss, format);
    }
    Err(Failure::at(name, "nothing was written, as something would be lost (`--strict`)"))
}

pub(super) fn write_bytes(bytes: &[u8]) -> Result<bool> {
    write_to(None, bytes)
}

pub(super) fn print_json(value: &impl Serialize) -> Result<bool> {
    report_json(value, true)
}

/// Writes a generated text, or JSON with the text and the name of its file.
pub(super) fn write_text(text: &[u8], file: Option<String>) -> Result<bool> {
    match file {
        Some(file) => {
            print_json(&serde_json::json!({"file": file, "text": String::from_utf8_lossy(text)}))
        }
        None => write_bytes(text),
    }
}

/// Prints a report as JSON; to standard error if the document goes to standard output.
pub(super) fn report_json(report: &impl Serialize, is_free: bool) -> Result<bool> {
    let text = json_text(report)?;
    if is_free {
        return unless_closed(write_bytes(text.as_bytes()));
    }
    std::io::stderr().lock().write_all(text.as_bytes())?;
    Ok(true)
}

fn json_text(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(value)?;
    Ok(visible(&text).into_owned() + "\n")
}

/// Writes JSON to a file as it is, whatever its name, or prints it.
pub(super) fn write_json(output: Option<&Path>, value: &impl Serialize) -> Result<bool> {
    let Some(path) = output else { return print_json(value) };
    let text = json_text(value)?;
    file::write_with(path, |out| Ok(out.write_all(text.as_bytes())?))?;
    Ok(true)
}

/// Writes bytes to a file, or to standard output.
pub(super) fn write_to(output: Option<&Path>, bytes: &[u8]) -> Result<bool> {
    write_with(output, |out| Ok(out.write_all(bytes)?))
}

/// Writes generated pieces to a file, or to standard output.
pub(super) fn write_with(
    output: Option<&Path>,
    make: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<bool> {
    match output {
        None => {
            let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
            let made = make(&mut out).and_then(|()| Ok(out.flush()?));
            // After a failure, the rest is useless.
            drop(out.into_parts());
            made?;
        }
        Some(path) => file::write_with(path, |out| compressed(path, out, make))?,
    }
    Ok(true)
}
