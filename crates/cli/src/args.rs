//! The arguments.

use std::path::PathBuf;

use clap::{ArgGroup, Args as Group, Parser, Subcommand, ValueEnum, value_parser};
use treedef::TreeDef;

use crate::failure::{Failure, Result};
use crate::format::Format;

/// Shows, counts, compares and checks the structures of documents.
///
/// The extension tells the format: json, json5, jsonc, jsonl, toml, yaml, cbor, msgpack, ron, tree, treedef,
/// safetensors, npz, npy, gguf, pt, pth; each also with .gz or .zst. Tensors under other names, such as .bin and
/// .ckpt, are recognised by their first bytes. For a checkpoint in shards, give the folder or its index; for one of
/// orbax, the folder. `-` is standard input.
#[derive(Debug, Parser)]
#[command(name = "treedef", version, max_term_width = 100)]
#[command(
    after_help = "Exit code: 0; 1 if there are differences, violations or no match, or if `shapes` skips lines without \
                  `--skip-bad`; 2 if something failed."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Prints the structure: keys, kinds and shapes, with equal neighbours once
    Show {
        #[command(flatten)]
        file: OneFile,
        /// Leave out the lengths of sequences
        #[arg(long)]
        fold_lengths: bool,
        /// Show at most N levels
        #[arg(long, value_name = "N")]
        depth: Option<usize>,
        #[command(flatten)]
        json: Json,
    },
    /// Prints a document with its values, and shape and statistics for long arrays
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
        reading: ReadArgs,
        /// Compare keys, lengths and kinds only, not values
        #[arg(long, conflicts_with = "patch")]
        structure: bool,
        /// Allow numbers to differ by up to X times the old number
        #[arg(long, default_value_t = 0.0, value_name = "X", value_parser = tolerance)]
        rtol: f64,
        /// Allow numbers to differ by up to X
        #[arg(long, default_value_t = 0.0, value_name = "X", value_parser = tolerance)]
        atol: f64,
        /// Allow floats to be up to N steps apart
        #[arg(long, default_value_t = 0, value_name = "N")]
        ulps: u64,
        /// Compare numbers by value only, so that the integer 1 equals the float 1.0
        #[arg(long, conflicts_with = "patch")]
        fold_numbers: bool,
        /// Print a patch for `treedef apply`
        #[arg(long, conflicts_with_all = ["at", "only", "ignore"])]
        patch: bool,
        /// Write the patch to FILE [default: standard output]
        #[arg(short, long, value_name = "FILE", requires = "patch")]
        output: Option<PathBuf>,
        #[command(flatten)]
        part: ScopeArgs,
        #[command(flatten)]
        renaming: Renaming,
        #[command(flatten)]
        json: Json,
    },
    /// Applies a patch of `treedef diff --patch`
    Apply {
        /// The document to patch (the file is not modified)
        file: PathBuf,
        /// The patch, as `treedef diff --patch` prints it
        patch: PathBuf,
        #[command(flatten)]
        to: Output,
        #[command(flatten)]
        reading: ReadArgs,
        #[command(flatten)]
        report: Report,
    },
    /// Checks documents against a structure or a JSON Schema, and lists every violation
    Check(Check),
    /// Prints the leaves at and below a path, e.g. `'**.name'` or `'items[*].id'`
    Select {
        /// A path; `.*` is any name, `[*]` any index or key, `**` any number of names, indices and keys
        pattern: String,
        #[command(flatten)]
        file: OneFile,
        /// Print every number of long tensors
        #[arg(long)]
        full: bool,
        /// Print a document that has only these leaves, as JSON
        #[arg(long)]
        tree: bool,
        #[command(flatten)]
        json: Json,
    },
    /// Converts a document to another format, and reports losses on standard error
    Convert {
        #[command(flatten)]
        file: OneFile,
        #[command(flatten)]
        to: Output,
        #[command(flatten)]
        shards: Shards,
        #[command(flatten)]
        report: Report,
    },
    /// Prints a hash of the structure of each file, the same on every machine
    Fingerprint {
        /// The documents
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Print the SHA-256 of the bytes of each tensor, and of the text of each other value
        #[arg(long)]
        tensors: bool,
        #[command(flatten)]
        reading: ReadArgs,
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
        reading: ReadArgs,
        /// Output file [default: standard output]
        #[arg(short, long, value_name = "PAGE.html")]
        output: Option<PathBuf>,
        #[command(flatten)]
        report: Report,
    },
    /// Prints completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
        /// Print JSON: the script, and the name of its file
        #[arg(long)]
        json: bool,
    },
    /// Prints the man page
    Man {
        /// Print JSON: the page, and the name of its file
        #[arg(long)]
        json: bool,
    },
}

/// The part of two documents that is compared.
#[derive(Debug, Group)]
pub(crate) struct ScopeArgs {
    /// Compare only the part at PATH, e.g. `model` in a training checkpoint. If only one side has PATH,
    /// compare it with the whole other document
    #[arg(long, value_name = "PATH", help_heading = "Parts")]
    pub(crate) at: Option<String>,
    /// Compare only the parts that match PATH, a path as in `select`. May be repeated
    #[arg(long, value_name = "PATH", help_heading = "Parts")]
    pub(crate) only: Vec<String>,
    /// Ignore the parts that match PATH. May be repeated
    #[arg(long, value_name = "PATH", help_heading = "Parts")]
    pub(crate) ignore: Vec<String>,
}

/// The names of tensors in two files.
#[derive(Debug, Group)]
pub(crate) struct Renaming {
    /// Compare tensors FROM of the old file with TO of the new one: `*` is one part of a name, `**`
    /// any number of parts; the rest of the name, e.g. `.weight`, stays. May be repeated
    #[arg(long, num_args = 2, value_names = ["FROM", "TO"], conflicts_with = "patch", help_heading = "Names of tensors")]
    pub(crate) rename: Vec<String>,
    /// A file with the names for one `--rename` on each line, as printed by `--suggest`
    #[arg(long, value_name = "FILE", conflicts_with = "patch", help_heading = "Names of tensors")]
    pub(crate) renames: Option<PathBuf>,
    /// Print the renames that the shapes, words and order of the tensors suggest
    #[arg(long, conflicts_with_all = ["patch", "structure"], help_heading = "Names of tensors")]
    pub(crate) suggest: bool,
}

impl Renaming {
    /// Whether it has none of its options.
    pub(crate) fn is_empty(&self) -> bool {
        self.rename.is_empty() && self.renames.is_none() && !self.suggest
    }
}

#[derive(Debug, Group)]
#[cfg_attr(feature = "schema", command(group = ArgGroup::new("expected").required(true).args(["like", "schema"])))]
#[cfg_attr(not(feature = "schema"), command(group = ArgGroup::new("expected").required(true).args(["like"])))]
pub(crate) struct Check {
    /// The documents
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// A document with the right structure, or the output of `show`, or of `shapes` with one
    /// structure, in a file `….treedef`, where an entry `"key"?:` may be missing or null
    #[arg(long, value_name = "FILE")]
    pub(crate) like: Option<PathBuf>,
    /// A JSON Schema
    #[cfg(feature = "schema")]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["fold_lengths", "fold_widths", "fold_numbers"])]
    pub(crate) schema: Option<PathBuf>,
    /// A folder with other schemas that the schema refers to, if they are not next to it; nothing is downloaded.
    /// May be repeated
    #[cfg(feature = "schema")]
    #[arg(long, value_name = "DIR", requires = "schema")]
    pub(crate) schema_dir: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
    #[command(flatten)]
    pub(crate) folds: Folds,
    #[command(flatten)]
    pub(crate) part: ScopeArgs,
    /// List at most N violations of a file; 0 for all
    #[arg(long, default_value_t = 1_000, value_name = "N")]
    pub(crate) max: usize,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Group)]
pub(crate) struct Shapes {
    /// The documents: each line of JSON lines, each file of other formats; or saved counts
    #[arg(default_value = "-")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
    #[command(flatten)]
    pub(crate) folds: Folds,
    /// Treat the keys of a map as data if there are more than N: `{*: f64}`
    #[arg(long, value_name = "N")]
    pub(crate) fold_keys: Option<usize>,
    /// Distinguish numbers that an f64 does not preserve, e.g. 1e400, from other floats: `decimal(f64)`
    #[arg(long)]
    pub(crate) decimals: bool,
    /// Treat each element of the outermost sequence (or of the one at PATH) as a document
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) elements: Option<String>,
    /// Show at most N structures; 0 for all
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub(crate) top: usize,
    /// List the places of the documents that have structure N: `log.jsonl:56`
    #[arg(long, alias = "only", value_name = "N", conflicts_with_all = ["schema", "rare"])]
    pub(crate) list: Option<usize>,
    /// List the places of the documents whose structure occurs at most N times, each with the
    /// number of its structure
    #[arg(long, value_name = "N", conflicts_with = "schema")]
    pub(crate) rare: Option<u64>,
    /// Print a JSON Schema (draft 2020-12) of the documents
    #[arg(long, conflicts_with = "json")]
    pub(crate) schema: bool,
    /// Save the counts instead of showing them; `-` is standard output. `treedef shapes *.counts` adds
    /// them up, in any order
    #[arg(long, value_name = "FILE", conflicts_with_all = ["schema", "json", "list", "rare"])]
    pub(crate) save: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: Json,
    /// Maximum number of distinct structures
    #[arg(long, value_name = "N", default_value_t = 1 << 16, help_heading = "Limits")]
    pub(crate) max_structures: usize,
    /// Number of threads [default: one for each core]
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

impl Folds {
    /// Whether anything is folded.
    pub(crate) fn any(self) -> bool {
        self.fold_lengths || self.fold_widths || self.fold_numbers
    }
}

#[derive(Debug, Group)]
pub(crate) struct OneFile {
    /// The document
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}

#[derive(Clone, Copy, Debug, Group)]
pub(crate) struct ReadArgs {
    /// Input format [default: by extension]
    #[arg(short, long, value_enum, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) format: Option<Format>,
    /// Skip lines that cannot be read, and report their number on standard error
    #[arg(long)]
    pub(crate) skip_bad: bool,
    /// If a map has a key twice: `error` (`shapes` counts such lines and exits with 1), `warn` and
    /// keep both, or keep the `last`
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = DuplicateKeys::Error, hide_possible_values = true)]
    pub(crate) duplicate_keys: DuplicateKeys,
    /// Fail if something would be skipped or lost: a line that cannot be read, a file that an index
    /// does not list, anything that the output format cannot store
    #[arg(long, conflicts_with = "skip_bad")]
    pub(crate) strict: bool,
    /// The variant of a model in a folder, e.g. `fp16` for `model.fp16.safetensors`
    #[arg(long, value_name = "NAME", value_parser = variant, help_heading = "Checkpoints")]
    pub(crate) variant: Option<&'static str>,
    /// Follow symbolic links that lead out of the folder of a checkpoint
    #[arg(long, help_heading = "Checkpoints")]
    pub(crate) follow_links: bool,
    /// Whether damaged tensors are only reported, because only names, types and shapes are needed.
    #[arg(skip)]
    pub(crate) allow_damage: bool,
    #[command(flatten)]
    pub(crate) limits: Limits,
}

/// Arguments live as long as the process.
fn variant(name: &str) -> std::result::Result<&'static str, std::convert::Infallible> {
    Ok(Box::leak(name.into()))
}

/// How to treat a map that has a key twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DuplicateKeys {
    /// Fail
    #[default]
    Error,
    /// Keep both, and warn
    Warn,
    /// Keep the last
    Last,
}

/// Limits for documents.
#[derive(Clone, Copy, Debug, Group)]
pub(crate) struct Limits {
    /// Maximum nesting depth, up to 256
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = value_parser!(u16).range(1..=256), help_heading = "Limits")]
    max_depth: u16,
    /// Maximum number of nodes; equal neighbours count as one
    #[arg(long, value_name = "N", default_value_t = 1 << 24, help_heading = "Limits")]
    max_nodes: usize,
    /// Maximum number of bytes of a document, or of a line of JSON lines, also after decompression
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = size, help_heading = "Limits")]
    max_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { max_depth: 128, max_nodes: 1 << 24, max_bytes: 4 << 30 }
    }
}

impl Limits {
    pub(crate) fn max_depth(self) -> usize {
        self.max_depth.into()
    }

    pub(crate) fn max_nodes(self) -> usize {
        self.max_nodes
    }

    pub(crate) fn max_bytes(self) -> usize {
        usize::try_from(self.max_bytes).unwrap_or(usize::MAX)
    }

    /// The limits for a document that was written, which may be longer than the one that was read.
    pub(crate) fn of_output(self) -> Self {
        Limits { max_bytes: u64::MAX, ..self }
    }

    /// The same limits for the library. A tree within `max_nodes` can be printed and rebuilt.
    pub(crate) fn of_trees(self) -> treedef::Limits {
        let default = treedef::Limits::default();
        let work = default.max_work.max(self.max_nodes);
        treedef::Limits {
            max_depth: self.max_depth(),
            max_nodes: self.max_nodes,
            max_work: work,
            ..default
        }
    }

    /// Checks that a command may visit each node of a structure. Files and patches have equal
    /// neighbours once, so a short one may have any number of them. The leaves in memory were read one by one,
    /// so a file with many may have more nodes.
    pub(crate) fn expect_visits(self, treedef: &TreeDef, leaves: usize) -> Result<()> {
        let nodes = treedef.num_nodes();
        let most = self.max_nodes.saturating_add(leaves.saturating_mul(NODES_PER_LEAF));
        if nodes <= most {
            return Ok(());
        }
        let message =
            format!("{nodes} nodes to visit, the limit is {most} (`--max-nodes` allows more)");
        Err(Failure::new(message))
    }
}

/// The nodes that each leaf in memory allows, as in the library.
const NODES_PER_LEAF: usize = 64;

/// The files of a checkpoint.
#[derive(Clone, Copy, Debug, Group)]
pub(crate) struct Shards {
    /// Write a folder of safetensors in files of at most SIZE, with their index, e.g. `5GB`
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Checkpoints")]
    pub(crate) shards: Option<u64>,
    /// Write tied tensors once for each of their names
    #[arg(long, help_heading = "Checkpoints")]
    pub(crate) separate: bool,
    /// Store values of a PyTorch file that are not tensors as JSON in the metadata of safetensors
    #[arg(long, help_heading = "Checkpoints")]
    pub(crate) keep_values: bool,
}

/// The allowed difference of numbers: not below 0, and not NaN.
fn tolerance(text: &str) -> std::result::Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| *number >= 0.0);
    number.ok_or_else(|| "expected a number from 0 on".to_owned())
}

/// A number of bytes: `5GB`, `512MiB`, `1000`.
fn size(text: &str) -> std::result::Result<u64, String> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit: u64 = match unit.trim().to_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1_000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "t" | "tb" => 1_000_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        _ => return Err("a size is a number and a unit, such as 5GB or 512MiB".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| format!("no number of bytes: `{text}`"))?;
    let bytes = number.checked_mul(unit).filter(|bytes| *bytes > 0);
    bytes.ok_or_else(|| "expected at least a byte, and less than 2⁶⁴".to_owned())
}

#[derive(Debug, Group)]
pub(crate) struct Output {
    /// Output file; its extension tells the format [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Output format [default: by extension]
    #[arg(short, long, value_enum, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) to: Option<Format>,
    /// Copied from [`ReadArgs`].
    #[arg(skip)]
    pub(crate) strict: bool,
}

#[derive(Clone, Copy, Debug, Group)]
pub(crate) struct Json {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, Group)]
pub(crate) struct Report {
    /// Print a JSON report of what was written and lost (to standard error without `--output`)
    #[arg(long)]
    pub(crate) json: bool,
}
