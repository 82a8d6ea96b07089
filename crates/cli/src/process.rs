//! The command as a process: its arguments, its final message and its exit code.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::args::Args;
use crate::commands;
use crate::failure::{Failure, are_all_printed};

/// Runs the command with its arguments; the first is its own name. Returns 0, or 1 if there are
/// differences, or 2 if something failed.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let done = match Args::try_parse_from(args) {
        Ok(args) => commands::run(args.command),
        // The help and the version are not errors, and go to standard output.
        Err(error) => match error.print().and_then(|()| io::stdout().flush()) {
            Ok(()) if error.use_stderr() => return ExitCode::from(2),
            printed => printed.map(|()| true).map_err(Failure::from),
        },
    };
    match done {
        Ok(_) if !are_all_printed() => ExitCode::from(2),
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        // A reader that closed the pipe has read enough.
        Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Err(failure) => {
            let bold = anstyle::Style::new().bold();
            let red = anstyle::AnsiColor::Red.on_default().bold();
            message!("{bold}treedef:{bold:#} {red}{failure}{red:#}");
            ExitCode::from(2)
        }
    }
}
