//! From arguments to a subcommand.

use clap::CommandFactory;
use clap_complete::Generator;

use crate::args::{Args, Command};
use crate::failure::Result;

use super::print::write_text;
use super::scope::Scope;
use super::{apply, check, convert, diff, hashes, select, shapes, show, view};

/// Runs a subcommand. Returns `false` for differences, violations, or no match.
pub(crate) fn run(command: Command) -> Result<bool> {
    match command {
        Command::Show { file, fold_lengths, depth, json } => {
            show::show(&file, fold_lengths, depth, json.json)
        }
        Command::Summary { file, json } => show::summary(&file, json.json),
        Command::Shapes(args) => shapes::shapes(&args),
        Command::Diff {
            old,
            new,
            reading,
            structure,
            rtol,
            atol,
            ulps,
            fold_numbers,
            patch,
            output,
            part,
            renaming,
            json,
        } => {
            let tolerance = treedef::Tolerance { rtol, atol, ulps };
            let scope = Scope::of(&part)?;
            if !renaming.is_empty() {
                let how = (structure, tolerance, json.json);
                return diff::diff_renamed([&old, &new], reading, &renaming, how, &scope);
            }
            let how = (structure, fold_numbers);
            let output = output.as_deref();
            let options = diff::Options { tolerance, patch, output, json: json.json };
            diff::diff([&old, &new], reading, how, options, &scope)
        }
        Command::Apply { file, patch, mut to, reading, report } => {
            to.strict = reading.strict;
            apply::apply(&file, &patch, &to, reading, report)
        }
        Command::Check(args) => check::check(&args),
        Command::Select { pattern, file, full, tree, json } => {
            select::select(&pattern, &file, full, tree, json.json)
        }
        Command::Convert { file, mut to, shards, report } => {
            to.strict = file.reading.strict;
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
            // The pages are named as the first page refers to them.
            command.build();
            for subcommand in command.get_subcommands().filter(|it| it.get_name() != "help") {
                clap_mangen::Man::new(subcommand.clone()).render(&mut page)?;
            }
            write_text(&page, json.then(|| "treedef.1".to_owned()))
        }
    }
}
