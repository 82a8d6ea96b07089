//! The command `treedef`.

use std::process::ExitCode;

fn main() -> ExitCode {
    treedef_cli::run(std::env::args_os())
}
