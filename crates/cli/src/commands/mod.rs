//! The subcommands.

mod show;
mod changes;
mod diff_tensors;
mod renames;
mod hashes;
mod diff;
mod shapes;
mod check;
mod nearest;
mod select;
mod shards;
mod convert;
mod view;

use std::io::{BufWriter, Write};
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Generator;
use serde::Serialize;
use treedef::{Leaf, LeafKind, Tree};

use crate::args::{Args, Command, Reading};
use crate::failure::Result;
use crate::file;
use crate::format::Format;
use crate::input::{self, Document};

/// Runs a subcommand. Returns `false` for differences, violations, or no match.
pub(crate) fn run(command: Command) -> Result<bool> {
    match command {
        Command::Show { file, fold_lengths, depth, json } => {
            show::show(&file, fold_lengths, depth, json.json)
        }
        Command::Summary { file, json } => show::summary(&file, json.json),
        Command::Shapes(args) => shapes::shapes(&args),
        Command::Diff { old, new, reading, structure, rtol, atol, ulps, patch, renaming, json } => {
            let tolerance = treedef::Tolerance::new().rtol(rtol).atol(atol).ulps(ulps);
            if !renaming.is_empty() {
                let how = (structure, tolerance, json.json);
                return diff::diff_renamed([&old, &new], reading, &renaming, how);
            }
            diff::diff([&old, &new], reading, structure, tolerance, patch, json.json)
        }
        Command::Apply { file, patch, to, reading, report } => {
            diff::apply(&file, &patch, &to, reading, report)
        }
        Command::Check(args) => check::check(&args),
        Command::Select { pattern, file, full, tree, json } => {
            select::select(&pattern, &file, full, tree, json.json)
        }
        Command::Convert { file, to, shards, report } => {
            convert::convert(&file, &to, shards, report)
        }
        Command::Fingerprint { files, tensors: true, reading, json } => {
            hashes::hashes(&files, reading, json.json)
        }
        Command::Fingerprint { files, reading, json, .. } => {
            show::fingerprint(&files, reading, json.json)
        }
        Command::View { file, new, reading, output, report } => {
            view::view(&file, new.as_deref(), reading, output.as_deref(), report)
        }
        Command::Completions { shell, json } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "treedef", &mut script);
            write_text(&script, json.then(|| shell.file_name("treedef")))
        }
        Command::Man { json } => {
            let mut page = Vec::new();
            let mut command = Args::command();
            clap_mangen::Man::new(command.clone()).render(&mut page)?;
            // The names of the pages are those that the first page refers to.
            command.build();
            for subcommand in command.get_subcommands().filter(|it| it.get_name() != "help") {
                clap_mangen::Man::new(subcommand.clone()).render(&mut page)?;
            }
            write_text(&page, json.then(|| "treedef.1".to_owned()))
        }
    }
}

/// Prints a text with colours, which are left out if the output is not a terminal.
fn print(text: &str) -> Result<bool> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(true)
}

fn write_bytes(bytes: &[u8]) -> Result<bool> {
    write_to(None, bytes)
}

fn print_json(value: &impl Serialize) -> Result<bool> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    write_bytes(&text)
}

/// Writes a generated text, or JSON of it with the name of the file that it belongs in.
fn write_text(text: &[u8], file: Option<String>) -> Result<bool> {
    match file {
        Some(file) => {
            print_json(&serde_json::json!({"file": file, "text": String::from_utf8_lossy(text)}))
        }
        None => write_bytes(text),
    }
}

fn document(path: &Path, reading: Reading) -> Result<(String, Document)> {
    let input = input::open(path, reading, Format::Json)?;
    Ok((input.name.clone(), input.document()?))
}

fn has_arrays(tree: &Tree<Leaf>) -> bool {
    tree.leaves().iter().any(|leaf| leaf.as_array().is_some())
}

/// The kinds of the leaves, also of those in arrays.
fn kinds(tree: Tree<Leaf>) -> Result<Tree<LeafKind>> {
    let tree = if has_arrays(&tree) { tree.without_arrays()? } else { tree };
    Ok(tree.map(|leaf| leaf.kind()))
}

/// Writes bytes to a file, or to standard output.
fn write_to(output: Option<&Path>, bytes: &[u8]) -> Result<bool> {
    write_with(output, |out| Ok(out.write_all(bytes)?))
}

/// Writes what is made piece by piece to a file, or to standard output.
fn write_with(
    output: Option<&Path>,
    make: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<bool> {
    match output {
        None => {
            let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
            let made = make(&mut out).and_then(|()| Ok(out.flush()?));
            // The rest of what failed is of no use.
            drop(out.into_parts());
            made?;
        }
        Some(path) => file::write_with(path, make)?,
    }
    Ok(true)
}
