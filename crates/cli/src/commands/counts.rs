//! Counts of structures in a file, so that the parts of a log can be counted separately and added
//! up later.
//!
//! A file has a line of JSON for each part. So the outputs of many processes can be concatenated, and any
//! tool that forwards lines can transport them.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use treedef_structures::Structures;

use crate::args::{ReadArgs, Shapes};
use crate::failure::{Failure, Result};
use crate::format::{Format, extension};
use crate::formats::json::BadLines;
use crate::formats::json_lines::LineReader;
use crate::reading::documents::DocumentPlace;
use crate::reading::input::{self, Input, STDIN};
use crate::reading::parallel_lines::Tally;

use super::print::write_with;

/// The beginning of each line.
const BEGIN: &[u8] = br#"{"treedef_shapes":"#;
const VERSION: u32 = 1;

/// The structures of files, with their places.
pub(super) struct CountedFiles {
    pub(super) tally: Tally,
    pub(super) files: Vec<CountedFile>,
    /// Whether the formats have a null.
    pub(super) has_null: bool,
    /// Whether keys are folded. Then structures do not show duplicate keys.
    pub(super) folds_keys: bool,
    /// Whether some counts were saved before. They cannot be folded further.
    pub(super) has_saved: bool,
    /// Why no schema allows a document, if JSON cannot hold one.
    pub(super) not_in_json: Option<String>,
}

/// A file whose documents were counted.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct CountedFile {
    /// None for standard input.
    pub(super) name: Option<String>,
    /// The index of its first document; of JSON lines, of its first line.
    pub(super) first: u64,
    /// The meaning of an index.
    pub(super) indices: Indices,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Indices {
    /// None: there is one document.
    One,
    Lines,
    Documents,
    /// The elements of the sequence at a path.
    Elements(String),
}

impl CountedFiles {
    /// The file of a document.
    pub(super) fn file(&self, index: u64) -> Option<&CountedFile> {
        self.files.iter().rev().find(|file| file.first <= index)
    }

    /// A file and the place in it, by the index of the document.
    pub(super) fn place(&self, index: u64) -> String {
        self.file(index).map_or_else(String::new, |CountedFile { name, first, indices }| {
            let (number, name) = (index - first + 1, name.as_deref().unwrap_or(STDIN));
            match indices {
                Indices::One => DocumentPlace::Whole.in_file(name),
                Indices::Lines => DocumentPlace::Line(number).in_file(name),
                Indices::Documents => DocumentPlace::Document(number).in_file(name),
                Indices::Elements(path) => {
                    let dot =
                        if path.is_empty() || path.starts_with(['.', '[']) { "" } else { "." };
                    format!("{name}: {dot}{path}[{}]", index - first)
                }
            }
        })
    }
}

/// A part, as a line of a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Counts {
    /// The version of this form. It is the first field, so the beginning of a line identifies it.
    treedef_shapes: u32,
    /// The number of lines or documents, including unreadable ones.
    lines: u64,
    files: Vec<CountedFile>,
    bad: BadLines,
    twice: BadLines,
    has_null: bool,
    decimals: bool,
    folds_keys: bool,
    not_in_json: Option<String>,
    structures: Box<RawValue>,
}

/// Files in the order in which they are counted: first documents, then counts, sorted by name, so that the
/// order of the arguments does not matter.
pub(super) fn in_order(files: &[PathBuf]) -> impl Iterator<Item = &Path> {
    let (mut counts, others): (Vec<&Path>, Vec<&Path>) =
        files.iter().map(PathBuf::as_path).partition(|file| is_named_so(file));
    counts.sort();
    others.into_iter().chain(counts)
}

fn is_named_so(path: &Path) -> bool {
    extension(path) == "counts"
}

/// Opens documents or counts.
pub(super) fn open(file: &Path, reading: ReadArgs) -> Result<Input> {
    let format = if is_named_so(file) { Some(Format::Jsonl) } else { reading.format };
    input::open(file, ReadArgs { format, ..reading }, Format::Jsonl)
}

/// Writes the counts, for `--save`.
pub(super) fn save(counted: &CountedFiles, args: &Shapes, path: &Path) -> Result<()> {
    let counts = Counts {
        treedef_shapes: VERSION,
        lines: counted.tally.lines,
        files: counted.files.clone(),
        bad: counted.tally.bad.clone(),
        twice: counted.tally.twice.clone(),
        has_null: counted.has_null,
        decimals: args.decimals,
        folds_keys: counted.folds_keys,
        not_in_json: counted.not_in_json.clone(),
        structures: serde_json::value::to_raw_value(&counted.tally.structures)?,
    };
    let path = (path.as_os_str() != "-").then_some(path);
    write_with(path, |out| {
        serde_json::to_writer(&mut *out, &counts)?;
        Ok(out.write_all(b"\n")?)
    })?;
    Ok(())
}

/// Whether an input is a file of counts. Its first bytes are put back.
pub(super) fn is_one(input: &mut Input) -> Result<bool> {
    if !matches!(input.format, Format::Json | Format::Jsonl) {
        return Ok(false);
    }
    Ok(input::peek(&mut input.reader, BEGIN.len())? == BEGIN)
}

/// Adds the parts of a file of counts to the counts so far.
pub(super) fn add(counted: &mut CountedFiles, input: Input, args: &Shapes) -> Result<()> {
    if args.list.is_some() || args.rare.is_some() {
        return Err(Failure::new(
            "counts, which do not list documents: pass the files that were counted",
        ));
    }
    let mut lines = LineReader::of(input.reader);
    while lines.advance(args.reading.limits)? {
        let counts = serde_json::from_slice(&lines.line);
        let counts: Counts = counts.map_err(|error| Failure::at(lines.number, error))?;
        let part = match lines.number {
            1 => input.name.clone(),
            number => format!("{}, part {number}", input.name),
        };
        add_part(counted, counts, &part, args).map_err(|failure| match failure {
            Failure::BrokenPipe => failure,
            failure => Failure::at(lines.number, failure),
        })?;
    }
    Ok(())
}

fn add_part(counted: &mut CountedFiles, counts: Counts, part: &str, args: &Shapes) -> Result<()> {
    if counts.treedef_shapes != VERSION {
        let version = counts.treedef_shapes;
        return Err(Failure::new(format!(
            "counts of version {version}, and this command reads version {VERSION}: count the part anew"
        )));
    }
    if counts.decimals != args.decimals {
        let message = if counts.decimals {
            "counted with `--decimals`: pass it here, too"
        } else {
            "counted without `--decimals`: leave it out, or count the part with it"
        };
        return Err(Failure::new(message));
    }
    check(&counts)?;
    let mut json = serde_json::Deserializer::from_str(counts.structures.get());
    let limits = args.reading.limits.of_trees();
    let mut structures = Structures::deserialize_with(&mut json, limits)?;
    if structures.next_index() > counts.lines || structures.documents() > counts.lines {
        return Err(Failure::new(NOT_SAVED));
    }
    let first = counted.tally.lines;
    let lines =
        first.checked_add(counts.lines).ok_or_else(|| Failure::new("too many documents"))?;
    structures.shift(first);
    structures = structures.max_structures(args.max_structures);
    // The first part determines how it is folded, unless an option does.
    let is_first = counted.files.is_empty() && !args.folds.any() && args.fold_keys.is_none();
    if is_first {
        counted.tally.structures = structures;
        counted.folds_keys = counts.folds_keys;
    } else {
        counted.tally.structures.merge(&structures)?;
    }
    for mut file in counts.files {
        let name = file.name.take().unwrap_or_else(|| part.to_owned());
        if counted.files.iter().any(|other| other.name.as_ref() == Some(&name)) {
            return Err(Failure::new(format!(
                "{name} is in these counts and in others, so it would be counted twice: pass each once"
            )));
        }
        counted.files.push(CountedFile { name: Some(name), first: first + file.first, ..file });
    }
    counted.tally.bad.add(counts.bad.shifted(first));
    counted.tally.twice.add(counts.twice.shifted(first));
    counted.has_null &= counts.has_null;
    counted.not_in_json = counted.not_in_json.take().or(counts.not_in_json);
    counted.tally.lines = lines;
    Ok(())
}

const NOT_SAVED: &str = "these counts were not saved by `shapes --save`";

/// The assumptions about places and counts: a line is counted once, files follow one another from the first index on, and all indices are
/// lines.
fn check(counts: &Counts) -> Result<()> {
    let firsts = || counts.files.iter().map(|file| file.first);
    let mut bad = counts.bad.first.iter().chain(&counts.twice.first).map(|(index, ..)| *index);
    let are_right = counts.bad.count <= counts.lines
        && counts.twice.count <= counts.lines
        && firsts().next().is_none_or(|first| first == 0)
        && firsts().is_sorted()
        && firsts().all(|first| first <= counts.lines)
        && bad.all(|index| index < counts.lines);
    if are_right { Ok(()) } else { Err(Failure::new(NOT_SAVED)) }
}
