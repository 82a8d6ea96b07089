//! `convert`.

use std::collections::BTreeSet;
use std::io::{self, Write};

use serde::Serialize;
use treedef::{Leaf, NodeKind, Tree};

use crate::args::{Limits, OneFile, Output, Report, Shards};
use crate::comparing::losses::{Loss, losses};
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::output;
use crate::reading::input::{self, DocumentExtras, Input};
use crate::reading::parse::{Document, read_within};
use crate::tensors::checkpoint::expect_room;
use crate::tensors::files;
use crate::tensors::trees::{self, HalfFormat};
use crate::tensors::values::tree_and_beside;

use super::print::{expect_kept, report_json, warn_of_loss, write_to, write_with};
use super::shards::{Conversion, calls_of, copy, names_of, types_of, values_of};

pub(super) fn convert(file: &OneFile, to: &Output, shards: Shards, report: Report) -> Result<bool> {
    let input = input::open(&file.file, file.reading, Format::Json)?;
    let (name, from) = (input.name.clone(), input.format);
    let otherwise = shards.shards.map(|_| Format::Safetensors);
    let format = match otherwise {
        Some(format) => to.to.unwrap_or(format),
        None => format_of(to, None)?,
    };
    let input = match copy(input, to, format, shards, report)? {
        Conversion::Copied(done) => return Ok(done),
        Conversion::Document(input) => *input,
    };
    if from == Format::Jsonl && matches!(format, Format::Json | Format::Jsonl) {
        return copy_lines(input, to, format, report);
    }
    let written = match (from.is_of_tensors(), format) {
        (true, to) if from == Format::Pytorch && to.is_of_tensors() => {
            input.with_pytorch(|file, limits| {
                let (file, renamed) = file.with_distinct_names();
                let source = file.source()?;
                expect_room(source.num_bytes(), limits)?;
                let (bytes, lost) = files::copy(&source.separate(), to, false)?;
                let lost = lost.into_iter().map(Loss::of).chain(calls_of(&file));
                let lost = names_of(renamed).chain(lost).chain(values_of(&file, to)).collect();
                Ok(ConvertedDocument { bytes, format, lost })
            })?
        }
        (true, to) if to.is_of_tensors() => input.with_tensors(|source, _| {
            let (bytes, mut lost) = files::copy(source, to, true)?;
            lost.extend(files::records_of(source));
            Ok(ConvertedDocument::new(bytes, format, lost))
        })?,
        (true, to) if from == Format::Pytorch => input.with_pytorch(|file, limits| {
            expect_room(file.num_bytes(), limits)?;
            document(file.tree()?, types_of(file), Vec::new(), (from, to), limits)
        })?,
        (true, to) => input.with_tensors(|source, limits| {
            let (tree, beside) = tree_and_beside(source, limits)?;
            document(tree, trees::types(source), beside.lost(), (from, to), limits)
        })?,
        _ => {
            let (tree, rest) = input.tree_and_rest()?;
            let written = write_rest(&tree, &rest, (from, format), file.reading.limits);
            written.map_err(|failure| failure.in_file(&name))?
        }
    };
    written.put(&name, to, report)
}

/// The tree of tensors of these types as a document. `lost` has the parts that are missing in the
/// tree.
pub(super) fn document(
    tree: Tree<Leaf>,
    types: BTreeSet<String>,
    lost: Vec<String>,
    (from, to): (Format, Format),
    limits: Limits,
) -> Result<ConvertedDocument> {
    let mut written = write(&plain(tree, to)?, from, to, limits, halves(to, types))?;
    written.lost.splice(0..0, lost.into_iter().map(Loss::of));
    Ok(written)
}

/// The numbers of arrays as leaves, unless the format has arrays. JSON and similar formats have only
/// doubles.
fn plain(tree: Tree<Leaf>, to: Format) -> Result<Tree<Leaf>> {
    let halves = if to.is_text() { HalfFormat::Double } else { HalfFormat::Exact };
    if to == Format::Tree { Ok(tree) } else { trees::numbers(tree, halves) }
}

/// The types that the target does not keep: a text keeps no short floats, and only files of tensors have small
/// floats and the dates and texts of numpy. Other losses of types are found by reading the output.
fn halves(to: Format, types: BTreeSet<String>) -> BTreeSet<String> {
    let is_of_numpy = |dtype: &str| {
        ["str", "bytes", "datetime64", "timedelta64"].iter().any(|start| dtype.starts_with(start))
    };
    let is_short = |dtype: &str| matches!(dtype, "f16" | "bf16" | "f32");
    let is_small = |dtype: &str| ["f4", "f6_", "f8_"].iter().any(|start| dtype.starts_with(start));
    types
        .into_iter()
        .filter(|dtype| is_short(dtype) && to.is_text() || is_small(dtype) || is_of_numpy(dtype))
        .collect()
}

/// Writes each line when it is read. JSON can hold everything that was in JSON, so nothing is lost.
fn copy_lines(input: Input, to: &Output, format: Format, report: Report) -> Result<bool> {
    let name = input.name.clone();
    let (mut lines, mut bytes) = (input.lines(), 0);
    write_with(to.output.as_deref(), |out| {
        let mut out = CountingWriter { out, bytes: &mut bytes };
        output::write_documents(&mut out, format == Format::Jsonl, || {
            let next = lines.next().map_err(|failure| failure.in_file(&name))?;
            Ok(next.map(|(_, tree)| tree))
        })
    })?;
    lines.warn(&name);
    report_output(&name, (format, bytes), &[], to, report)
}

/// Counts the bytes that are written.
struct CountingWriter<'a> {
    out: &'a mut dyn Write,
    bytes: &'a mut usize,
}

impl Write for CountingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        *self.bytes += written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes a tree to its destination, and reports losses.
pub(super) fn write_as(
    (tree, rest): (&Tree<Leaf>, &DocumentExtras),
    (name, from): (&str, Format),
    to: &Output,
    limits: Limits,
    report: Report,
) -> Result<bool> {
    let written = write_rest(tree, rest, (from, format_of(to, Some(from))?), limits);
    written.map_err(|failure| failure.in_file(name))?.put(name, to, report)
}

/// Writes a tree and the data beside it, as far as the format can hold them.
fn write_rest(
    tree: &Tree<Leaf>,
    rest: &DocumentExtras,
    (from, to): (Format, Format),
    limits: Limits,
) -> Result<ConvertedDocument> {
    let are_documents = rest.is_many && tree.treedef().root().kind() == NodeKind::Seq;
    let mut written = match to {
        Format::Yaml if are_documents => {
            let bytes = output::write_yaml_documents(tree)?;
            compared(tree, bytes, (from, to), limits, BTreeSet::new())?
        }
        _ => write(tree, from, to, limits, BTreeSet::new())?,
    };
    if !rest.dates.is_empty() && to == Format::Toml {
        written.bytes = output::write(&rest.dates.put_into(tree.clone())?, to)?;
    }
    if rest.dates.has_dropped || !rest.dates.is_empty() && to != Format::Toml {
        written.lost.insert(0, Loss::of("dates, which are texts there"));
    }
    if rest.dates.has_cut {
        written.lost.insert(0, Loss::of("digits of seconds behind the ninth"));
    }
    if !rest.tags.is_empty() && to == Format::Cbor {
        written.bytes = output::write(&rest.tags.put_into(tree.clone())?, to)?;
    }
    if rest.tags.has_dropped || !rest.tags.is_empty() && to != Format::Cbor {
        written.lost.insert(0, Loss::of("tags of CBOR"));
    }
    if are_documents && !matches!(to, Format::Yaml | Format::Jsonl) {
        written.lost.insert(0, Loss::of("the documents, which are one list there"));
    }
    written.lost.splice(0..0, rest.beside.lost().into_iter().map(Loss::of));
    if rest.has_tags {
        written.lost.insert(0, Loss::of("tags such as `!Ref`"));
    }
    if rest.has_anchors {
        written.lost.insert(0, Loss::of("anchors and merge keys, which are written out there"));
    }
    if rest.has_undefined {
        written.lost.insert(0, Loss::of("`undefined` of CBOR, which is null there"));
    }
    if rest.has_damaged_texts {
        written.lost.insert(0, Loss::of("texts that are not UTF-8, which are bytes there"));
    }
    if rest.has_structs && to == Format::Ron {
        let what = "structs and tuples of RON, which are maps and lists there";
        written.lost.insert(0, Loss::of(what));
    }
    if let Some(name) = &rest.ron_name {
        written.lost.insert(0, Loss::of(format!("names of RON, such as `{name}`")));
    }
    if rest.has_extensions {
        written.lost.insert(0, Loss::of("extensions of MessagePack, which are lists there"));
    }
    if rest.has_comments {
        written.lost.insert(0, Loss::of("comments"));
    }
    Ok(written)
}

pub(super) fn format_of(to: &Output, otherwise: Option<Format>) -> Result<Format> {
    match (to.to, &to.output, otherwise) {
        (Some(format), _, _) => Ok(format),
        (None, Some(path), _) => Format::of_path_or(path, "--to"),
        (None, None, Some(format)) => Ok(format),
        (None, None, None) => {
            Err(Failure::new("to which format? Pass `--to toml` or `--output file.toml`"))
        }
    }
}

/// A document, and its losses so far.
pub(super) struct ConvertedDocument {
    bytes: Vec<u8>,
    format: Format,
    lost: Vec<Loss>,
}

/// A part of a document as JSON. Returns its losses, too.
pub(super) fn part_in_json(
    part: &Tree<Leaf>,
    from: Format,
    limits: Limits,
) -> Result<(Vec<u8>, Vec<Loss>)> {
    let ConvertedDocument { bytes, lost, .. } =
        write(part, from, Format::Json, limits, BTreeSet::new())?;
    Ok((bytes, lost))
}

/// Writes a tree, and reads it again to find losses. `types` are lost already.
fn write(
    tree: &Tree<Leaf>,
    from: Format,
    format: Format,
    limits: Limits,
    types: BTreeSet<String>,
) -> Result<ConvertedDocument> {
    compared(tree, output::write(tree, format)?, (from, format), limits, types)
}

/// The written bytes of a tree, which are read again to find losses.
fn compared(
    tree: &Tree<Leaf>,
    bytes: Vec<u8>,
    (from, format): (Format, Format),
    limits: Limits,
    types: BTreeSet<String>,
) -> Result<ConvertedDocument> {
    let lost = match read_within(&bytes, format, limits.of_output()) {
        Ok(Document::Tree(back)) => {
            let [before, after] =
                [tree.clone(), back].map(|it| trees::numbers(it, HalfFormat::Exact));
            losses(&before?, &after?, from.is_typed(), types)
        }
        Ok(_) => vec![Loss::of("the values")],
        Err(failure) => {
            vec![Loss::of(format!("all of it: what was written is not read again: {failure}"))]
        }
    };
    Ok(ConvertedDocument { bytes, format, lost })
}

#[derive(Serialize)]
struct JsonReport<'a> {
    file: &'a str,
    format: String,
    output: Option<String>,
    bytes: usize,
    lost: &'a [Loss],
}

impl ConvertedDocument {
    pub(super) fn new(bytes: Vec<u8>, format: Format, lost: Vec<String>) -> Self {
        ConvertedDocument { bytes, format, lost: lost.into_iter().map(Loss::of).collect() }
    }

    pub(super) fn put(self, name: &str, to: &Output, report: Report) -> Result<bool> {
        expect_kept(name, self.format, &self.lost, to)?;
        write_to(to.output.as_deref(), &self.bytes)?;
        report_output(name, (self.format, self.bytes.len()), &self.lost, to, report)
    }
}

/// Reports the output and the losses.
fn report_output(
    name: &str,
    (format, bytes): (Format, usize),
    lost: &[Loss],
    to: &Output,
    report: Report,
) -> Result<bool> {
    if report.json {
        let output = to.output.as_ref().map(|path| path.display().to_string());
        let format = format.name();
        return report_json(
            &JsonReport { file: name, format, output, bytes, lost },
            to.output.is_some(),
        );
    }
    for loss in lost {
        warn_of_loss(name, loss, format);
    }
    Ok(true)
}
