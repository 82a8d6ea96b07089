//! The arguments.

use std::path::PathBuf;

use clap::{Args as Group, Parser, Subcommand};

use crate::format::Format;

/// Shows, counts, compares and checks the structures of documents.
///
/// Formats are known by their extensions: json, jsonl, toml, yaml, cbor, msgpack, ron, tree,
/// treedef, safetensors; each also with .gz or .zst. A file `-` is standard input.
#[derive(Debug, Parser)]
#[command(name = "treedef", version, max_term_width = 100)]
#[command(
    after_help = "Exit code: 0; 1 if there are differences, violations or no match; 2 if something failed."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Prints the structure of a document: keys, kinds, shapes; equal neighbours once
    Show {
        #[command(flatten)]
        file: OneFile,
        /// Leave out the lengths of sequences
        #[arg(long)]
        fold_lengths: bool,
        /// Show so many levels
        #[arg(long, value_name = "N")]
        depth: Option<usize>,
        #[command(flatten)]
        json: Json,
    },
    /// Prints a document with its values; an array is its shape and statistics
    Summary {
        #[command(flatten)]
        file: OneFile,
        #[command(flatten)]
        json: Json,
    },
    /// Counts the distinct structures of many documents, e.g. of JSON lines
    Shapes(Shapes),
    /// Compares two documents: keys, kinds and values
    Diff {
        /// The old document
        old: PathBuf,
        /// The new one
        new: PathBuf,
        #[command(flatten)]
        format: FormatOf,
        /// Compare keys, lengths and kinds only, not values
        #[arg(long, conflicts_with = "patch")]
        structure: bool,
        /// Allow numbers to differ by so many times the old number
        #[arg(long, default_value_t = 0.0, value_name = "X")]
        rtol: f64,
        /// Allow numbers to differ by so much
        #[arg(long, default_value_t = 0.0, value_name = "X")]
        atol: f64,
        /// Allow floats to be so many steps apart
        #[arg(long, default_value_t = 0, value_name = "N")]
        ulps: u64,
        /// Print a patch for `treedef apply`
        #[arg(long)]
        patch: bool,
        #[command(flatten)]
        json: Json,
    },
    /// Applies a patch of `treedef diff --patch`
    Apply {
        /// The document to change; it stays as it is
        file: PathBuf,
        /// The patch
        patch: PathBuf,
        #[command(flatten)]
        to: Output,
        #[command(flatten)]
        format: FormatOf,
    },
    /// Checks documents against the structure of another, and lists every violation
    Check {
        /// The documents
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// A document with the right structure, or a structure: what `show` printed, in a file `….treedef`
        #[arg(long, value_name = "FILE")]
        like: PathBuf,
        #[command(flatten)]
        format: FormatOf,
        #[command(flatten)]
        folds: Folds,
        #[command(flatten)]
        json: Json,
    },
    /// Prints the leaves at and below a path, e.g. `'**.name'` or `'items[*].id'`
    Select {
        /// A path; `.*` is any field, `[*]` any index or key, `**` any number of steps
        pattern: String,
        #[command(flatten)]
        file: OneFile,
        /// Print a document with nothing but these leaves
        #[arg(long)]
        tree: bool,
        #[command(flatten)]
        json: Json,
    },
    /// Converts a document to another format, and says on standard error what was lost
    Convert {
        #[command(flatten)]
        file: OneFile,
        #[command(flatten)]
        to: Output,
    },
    /// Prints a hash of the structure of each document, the same on every machine
    Fingerprint {
        /// The documents
        #[arg(required = true)]
        files: Vec<PathBuf>,
        #[command(flatten)]
        format: FormatOf,
        #[command(flatten)]
        json: Json,
    },
    /// Makes a page that shows a document, or the differences of two
    View {
        /// The document
        file: PathBuf,
        /// A new version of it
        new: Option<PathBuf>,
        #[command(flatten)]
        format: FormatOf,
        /// Where to write the page; otherwise standard output
        #[arg(short, long, value_name = "PAGE.html")]
        output: Option<PathBuf>,
    },
    /// Prints completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Prints the man page
    #[command(hide = true)]
    Man,
}

#[derive(Debug, Group)]
pub(crate) struct Shapes {
    /// The documents: each line of JSON lines, and each file of other formats
    #[arg(default_value = "-")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) format: FormatOf,
    #[command(flatten)]
    pub(crate) folds: Folds,
    /// Keys are data where there are more than N at one place: `{*: f64}`
    #[arg(long, value_name = "N")]
    pub(crate) fold_keys: Option<usize>,
    /// The documents are the elements of the outermost sequence, or of that at PATH
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) elements: Option<String>,
    /// Fail at the first line that is not JSON
    #[arg(long)]
    pub(crate) strict: bool,
    /// Show so many structures; 0 for all
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub(crate) top: usize,
    /// Print a JSON Schema (draft 2020-12) of the documents
    #[arg(long, conflicts_with = "json")]
    pub(crate) schema: bool,
    #[command(flatten)]
    pub(crate) json: Json,
    /// Use so many threads; otherwise one for each core
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
}

#[derive(Clone, Copy, Debug, Group)]
pub(crate) struct Folds {
    /// Sequences may have any length: `[str; 0–512]`
    #[arg(long)]
    pub(crate) fold_lengths: bool,
    /// All integers are `int`, all floats `float`
    #[arg(long)]
    pub(crate) fold_widths: bool,
    /// All numbers are `number`
    #[arg(long)]
    pub(crate) fold_numbers: bool,
}

#[derive(Debug, Group)]
pub(crate) struct OneFile {
    /// The document
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) format: FormatOf,
}

#[derive(Clone, Copy, Debug, Group)]
pub(crate) struct FormatOf {
    /// The format that is read, instead of that of the extension
    #[arg(short, long, value_enum, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) format: Option<Format>,
}

#[derive(Debug, Group)]
pub(crate) struct Output {
    /// Where to write; the extension says the format. Otherwise standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The format that is written, instead of that of the extension
    #[arg(short, long, value_enum, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) to: Option<Format>,
}

#[derive(Clone, Copy, Debug, Group)]
pub(crate) struct Json {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
