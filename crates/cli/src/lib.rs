#![doc = include_str!("../README.md")]
#![warn(missing_docs, unreachable_pub)]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod paths;
mod failure;
mod format;
mod file;
mod compression;
mod args;
mod paint;
mod names;
mod tensors;
mod far;
mod json;
mod checkpoint;
mod progress;
mod dates;
mod tags;
mod duplicates;
mod json_lines;
mod yaml;
mod parse;
mod comments;
mod input;
mod notation;
mod documents;
mod stored;
#[cfg(feature = "schema")]
mod schema;
mod losses;
mod output;
mod lines;
mod commands;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

pub use failure::{Failure, Result};
pub use format::Format;

pub use output::write;
pub use parse::{Document, read};

/// Runs the command with its arguments, of which the first is its own name. Returns 0, or 1 if
/// there are differences, or 2 if something failed.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args = args::Args::parse_from(args);
    match commands::run(args.command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        // Who closed the pipe has read enough.
        Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Err(failure) => {
            let bold = anstyle::Style::new().bold();
            let red = anstyle::AnsiColor::Red.on_default().bold();
            anstream::eprintln!("{bold}treedef:{bold:#} {red}{failure}{red:#}");
            ExitCode::from(2)
        }
    }
}
