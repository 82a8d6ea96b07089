//! The command as a process: its arguments, its last words and its exit code.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crate::args::Args;
use crate::commands;
use crate::failure::Failure;

/// Runs the command with its arguments, of which the first is its own name. Returns 0, or 1 if
/// there are differences, or 2 if something failed.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args = Args::parse_from(args);
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
