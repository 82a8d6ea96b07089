//! The subcommands.

mod show;
mod shapes;
mod diff;
mod check;
mod select;
mod convert;
mod view;

use std::io::Write;
use std::path::Path;

use clap::CommandFactory;
use serde::Serialize;
use treedef::{Key, Leaf, LeafKind, Tree};

use crate::args::{Args, Command};
use crate::failure::{Failure, Result};
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
        Command::Diff { old, new, format, structure, rtol, atol, ulps, patch, json } => {
            let tolerance = treedef::Tolerance::new().rtol(rtol).atol(atol).ulps(ulps);
            diff::diff([&old, &new], format.format, structure, tolerance, patch, json.json)
        }
        Command::Apply { file, patch, to, format } => {
            diff::apply(&file, &patch, &to, format.format)
        }
        Command::Check { files, like, format, folds, json } => {
            check::check(&files, &like, format.format, folds, json.json)
        }
        Command::Select { pattern, file, tree, json } => {
            select::select(&pattern, &file, tree, json.json)
        }
        Command::Convert { file, to } => convert::convert(&file, &to),
        Command::Fingerprint { files, format, json } => {
            show::fingerprint(&files, format.format, json.json)
        }
        Command::View { file, new, format, output } => {
            view::view(&file, new.as_deref(), format.format, output.as_deref())
        }
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "treedef", &mut script);
            write_bytes(&script)
        }
        Command::Man => {
            let mut page = Vec::new();
            let command = Args::command();
            clap_mangen::Man::new(command.clone()).render(&mut page)?;
            for subcommand in command.get_subcommands().filter(|it| !it.is_hide_set()) {
                clap_mangen::Man::new(subcommand.clone()).render(&mut page)?;
            }
            write_bytes(&page)
        }
    }
}

/// Prints a text with colours, which are left out if the output is no terminal.
fn print(text: &str) -> Result<bool> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(true)
}

fn write_bytes(bytes: &[u8]) -> Result<bool> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(true)
}

fn print_json(value: &impl Serialize) -> Result<bool> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    write_bytes(&text)
}

fn document(path: &Path, format: Option<Format>) -> Result<(String, Document)> {
    let input = input::open(path, format, Format::Json)?;
    Ok((input.name.clone(), input.document()?))
}

fn tree(path: &Path, format: Option<Format>) -> Result<(String, Tree<Leaf>)> {
    let input = input::open(path, format, Format::Json)?;
    Ok((input.name.clone(), input.tree()?))
}

fn kinds(tree: Tree<Leaf>) -> Tree<LeafKind> {
    tree.map(|leaf| leaf.kind())
}

/// A path with `.name` for the key `["name"]`, which `select` finds too.
fn readable(path: &treedef::Path) -> String {
    if path.is_root() {
        return "the root".to_owned();
    }
    let is_word = |text: &str| {
        text.chars().all(|c| c.is_alphanumeric() || c == '_')
            && text.starts_with(|c: char| c.is_alphabetic() || c == '_')
    };
    let key = |key: &Key| match key {
        Key::Entry(value) => match value.as_str() {
            Some(name) if is_word(name) => format!(".{name}"),
            _ => key.to_string(),
        },
        _ => key.to_string(),
    };
    path.keys().iter().map(key).collect()
}

/// Writes bytes to a file, or to standard output.
fn write_to(output: Option<&Path>, bytes: &[u8]) -> Result<bool> {
    match output {
        None => write_bytes(bytes),
        Some(path) => {
            let written = std::fs::write(path, bytes);
            let named = |error| Failure::from(error).in_file(&path.display().to_string());
            written.map_err(named).map(|()| true)
        }
    }
}
