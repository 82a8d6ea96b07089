//! Opening and reading documents.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::mem;
use std::path;
use std::sync::atomic::{AtomicBool, Ordering};

use treedef::__private::OrBug;
use treedef::{Leaf, Tree, TreeSeed};
use treedef_tensors::pytorch::{self, Pytorch};
use treedef_tensors::{__STAND_IN, __stand_in, Descriptor, Source, gguf, safetensors};

use crate::args::{DuplicateKeys, Limits, ReadArgs};
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::formats::cbor_tags::Tags;
use crate::formats::duplicate_keys::resolved;
use crate::formats::json_lines::{LineOptions, Lines};
use crate::formats::keys::with_free_keys;
use crate::formats::toml_dates::Dates;
use crate::formats::yaml;
use crate::formats::{cbor_numbers, msgpack_extensions as msgpack};
use crate::numbers::{exact, ron};
use crate::reading::comments::has_comments;
use crate::reading::compression::{Gzip, Zstd, is_zstd};
use crate::reading::encodings::{Encoding, Utf8Reader};
use crate::reading::parse::{Document, MARK, cbor_tree, read_within, text, toml_tree};
use crate::tensors::checkpoint::{self, Checkpoint};
use crate::tensors::names::NameTree;
use crate::tensors::trees::{self, TensorLeaf, more_than};
use crate::tensors::values::{BesideTree, tree_and_beside};

/// The name of `-` in messages.
pub(crate) const STDIN: &str = "standard input";

/// A file that was opened, or standard input.
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) format: Format,
    /// Decompressed.
    pub(crate) reader: Box<dyn Read + Send>,
    /// The size of the file, if it is one and is not compressed.
    pub(crate) size: Option<u64>,
    /// Tensors that stay in their files. Then there is nothing to read.
    pub(crate) checkpoint: Option<Checkpoint>,
    pub(crate) skip_bad: bool,
    pub(crate) duplicate_keys: DuplicateKeys,
    pub(crate) limits: Limits,
}

/// The data of a document beside its tree.
#[derive(Debug, Default)]
pub(crate) struct DocumentExtras {
    pub(crate) has_comments: bool,
    /// Whether there are tags of YAML.
    pub(crate) has_tags: bool,
    /// Whether there are anchors of YAML.
    pub(crate) has_anchors: bool,
    /// Whether there are extensions of MessagePack.
    pub(crate) has_extensions: bool,
    /// Whether there are texts of MessagePack that are not UTF-8.
    pub(crate) has_damaged_texts: bool,
    /// Whether there is `undefined` of CBOR.
    pub(crate) has_undefined: bool,
    /// The first name of a struct or a variant in RON.
    pub(crate) ron_name: Option<String>,
    /// Whether there are structs or tuples of RON.
    pub(crate) has_structs: bool,
    /// Whether the tree is a sequence of several documents of a YAML file.
    pub(crate) is_many: bool,
    pub(crate) dates: Dates,
    /// Tags of CBOR.
    pub(crate) tags: Tags,
    pub(crate) beside: BesideTree,
}

/// The first bytes of a reader, at most `most`. The reader returns them again.
pub(crate) fn peek(reader: &mut Box<dyn Read + Send>, most: usize) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    reader.by_ref().take(most as u64).read_to_end(&mut start)?; // not wider
    let rest = mem::replace(reader, Box::new(io::empty()));
    *reader = Box::new(Cursor::new(start.clone()).chain(rest));
    Ok(start)
}

/// Opens a file, or standard input for `-`. Its format comes from `--format`, or from the
/// extension, or is `otherwise` for standard input.
pub(crate) fn open(path: &path::Path, reading: ReadArgs, otherwise: Format) -> Result<Input> {
    open_or(path, reading, |is_stdin, _| is_stdin.then_some(otherwise))
}

/// Opens the reference of a check: a document, or a printed structure, also from a pipe without a name.
pub(crate) fn open_like(
    path: &path::Path,
    reading: ReadArgs,
    is_printed: impl FnOnce(&[u8]) -> bool,
) -> Result<Input> {
    let reading = ReadArgs { format: None, ..reading };
    open_or(path, reading, |is_stdin, start| {
        let is_document = is_stdin && !is_printed(start);
        Some(if is_document { Format::Json } else { Format::Treedef })
    })
}

/// Opens a file. `otherwise` is the format if neither its name nor its first bytes determine it.
fn open_or(
    path: &path::Path,
    reading: ReadArgs,
    otherwise: impl FnOnce(bool, &[u8]) -> Option<Format>,
) -> Result<Input> {
    let ReadArgs { format, skip_bad, duplicate_keys, limits, .. } = reading;
    let is_stdin = path.as_os_str() == "-";
    let newest = if is_stdin { path.to_owned() } else { checkpoint::newest(path)? };
    let path = newest.as_path();
    let checkpoint = if is_stdin { None } else { checkpoint::open(path, reading)? };
    if let Some((format, checkpoint)) = checkpoint {
        let (name, reader) = (path.display().to_string(), Box::new(io::empty()));
        let (size, checkpoint) = (None, Some(checkpoint));
        return Ok(Input {
            name,
            format,
            reader,
            size,
            checkpoint,
            skip_bad,
            duplicate_keys,
            limits,
        });
    }
    let name = name_of(path);
    let of_file = |error: io::Error| Failure::from(error).in_file(&name);
    let (raw, size): (Box<dyn Read + Send>, _) = if is_stdin {
        (Box::new(stdin()?), None)
    } else {
        let file = File::open(path).map_err(of_file)?;
        let data = file.metadata().map_err(of_file)?;
        let size = data.is_file().then_some(data.len());
        (Box::new(file), size)
    };
    let mut raw = BufReader::with_capacity(1 << 16, raw);
    let mut start = Vec::new();
    raw.by_ref().take(__STAND_IN as u64).read_to_end(&mut start).map_err(of_file)?;
    if let Some(what) = __stand_in(&start) {
        return Err(Failure::at(name, what));
    }
    expect_compressed(path, &start)?;
    let whole = Cursor::new(start.clone()).chain(raw);
    let (mut reader, size): (Box<dyn Read + Send>, _) = match start.get(..) {
        Some([0x1f, 0x8b, ..]) => (Box::new(Gzip::new(whole)), None),
        Some(start) if is_zstd(start) => {
            let not_zstd =
                |_| Failure::at(&name, "damaged: it begins like a file of zstd, but is not one");
            (Box::new(Zstd::new(whole).map_err(not_zstd)?), None)
        }
        _ => (Box::new(whole), size),
    };
    let format = match format.map_or_else(|| Format::of_path(path), Ok) {
        Ok(format) => format,
        Err(unclear) => {
            let start = peek(&mut reader, __STAND_IN).map_err(of_file)?;
            let begun = Format::of_start(&start).map_err(|failure| failure.in_file(&name))?;
            begun.or_else(|| otherwise(is_stdin, &start)).ok_or(unclear)?
        }
    };
    if format.is_text() {
        let mut start = Vec::new();
        reader.by_ref().take(4).read_to_end(&mut start).map_err(of_file)?;
        let encoding = Encoding::of(&start);
        let mark = match encoding {
            Some(encoding) => encoding.mark(),
            None => MARK.len() * usize::from(start.starts_with(MARK)),
        };
        let rest = Cursor::new(start.split_off(mark)).chain(reader);
        reader = match encoding {
            Some(encoding) => Box::new(Utf8Reader::new(rest, encoding)),
            None => Box::new(rest),
        };
    }
    let checkpoint = None;
    Ok(Input { name, format, reader, size, checkpoint, skip_bad, duplicate_keys, limits })
}

/// The name of a file for error messages.
pub(crate) fn name_of(path: &path::Path) -> String {
    if path.as_os_str() == "-" { STDIN.to_owned() } else { path.display().to_string() }
}

/// Standard input. Only one of the files may be it.
fn stdin() -> Result<io::Stdin> {
    static IS_READ: AtomicBool = AtomicBool::new(false);
    if IS_READ.swap(true, Ordering::Relaxed) {
        return Err(Failure::new("standard input `-` is one file, pass the name of the other"));
    }
    Ok(io::stdin())
}

/// Checks that a file with the name of a compressed file is compressed.
fn expect_compressed(path: &path::Path, start: &[u8]) -> Result<()> {
    let name = path.to_string_lossy().to_lowercase();
    let what = match name.rsplit_once('.') {
        Some((_, "gz")) if !start.starts_with(&[0x1f, 0x8b]) => "gzip",
        Some((_, "zst" | "zstd")) if !is_zstd(start) => "zstd",
        _ => return Ok(()),
    };
    let message = format!(
        "named as a file of {what}, and begins as none: it is damaged, or has another name"
    );
    Err(Failure::at(path.display(), message))
}

/// Reads a text that belongs to a document: a patch, a schema, names.
pub(crate) fn read_beside(path: &path::Path) -> Result<Vec<u8>> {
    let of_file = |failure: Failure| failure.in_file(&name_of(path));
    let bytes = if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        stdin()?.read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    let bytes = bytes.map_err(|error| of_file(error.into()))?;
    if let Some(what) = __stand_in(&bytes) {
        return Err(of_file(Failure::new(what)));
    }
    let Some(encoding) = Encoding::of(&bytes) else {
        return Ok(bytes.strip_prefix(MARK).map_or(bytes.clone(), <[u8]>::to_vec));
    };
    let (mut text, rest) = (Vec::new(), bytes.get(encoding.mark()..).or_bug());
    Utf8Reader::new(rest, encoding)
        .read_to_end(&mut text)
        .map_err(|error| of_file(error.into()))?;
    Ok(text)
}

impl Input {
    /// Reads the known part of the structure: names, types and shapes of tensors, the kinds of
    /// leaves of JSON lines. Of safetensors, only the header is read.
    pub(crate) fn document(mut self) -> Result<Document> {
        if let Some(checkpoint) = &self.checkpoint {
            let shapes = checkpoint.shapes().map_err(|failure| failure.in_file(&self.name))?;
            return Ok(Document::Tensors(shapes));
        }
        match self.format {
            Format::Jsonl => self.joined(|leaf| exact::kind(&leaf)).map(Document::Signature),
            Format::Safetensors => {
                let header = safetensors::read_header(&mut self.reader).map_err(Failure::from);
                let tensors = header.and_then(|tensors| {
                    let named = |it: &Descriptor| (it.name().to_owned(), TensorLeaf::of(it));
                    NameTree::of(tensors.iter().map(named)).into_tree()
                });
                tensors.map(Document::Tensors).map_err(|failure| failure.in_file(&self.name))
            }
            Format::Gguf => {
                let gguf = gguf::read(&mut self.reader, None).map_err(Failure::from);
                if let Some((number, count)) = gguf.as_ref().ok().and_then(gguf::Gguf::part) {
                    let what =
                        format!("part {number} of {count}: the tensors of the others are not here");
                    message!("treedef: {}", Failure::at(&self.name, what));
                }
                let shapes = gguf.and_then(|gguf| Checkpoint::Gguf(gguf).shapes());
                shapes.map(Document::Tensors).map_err(|failure| failure.in_file(&self.name))
            }
            Format::Pytorch => self.with_pytorch(|file, _| {
                let entries = file.lazy_tree();
                Ok(Document::Tensors(entries.as_ref().map(TensorLeaf::of_entry)))
            }),
            Format::Npz | Format::Npy => self.with_bytes(|bytes, format, limits| {
                trees::shapes(&trees::source(bytes, format, limits)?).map(Document::Tensors)
            }),
            _ => self.values(),
        }
    }

    /// Reads the document with its values, if it has any. Lines are one sequence.
    pub(crate) fn values(self) -> Result<Document> {
        if self.format == Format::Jsonl {
            return self.joined(|leaf| leaf).map(Document::Tree);
        }
        let (name, duplicate_keys) = (self.name.clone(), self.duplicate_keys);
        if let Some(checkpoint) = &self.checkpoint {
            let values = checkpoint.values(self.limits);
            return match values.map_err(|failure| failure.in_file(&name))? {
                Some(tree) => Ok(Document::Tree(tree)),
                None => Err(Failure::at(name, NO_VALUES)),
            };
        }
        self.with_bytes(|bytes, format, limits| {
            match values_of(bytes, (&name, format), duplicate_keys, limits)? {
                Document::Tree(tree) if format.has_free_widths() => {
                    let tree = exact::with_doubles(tree).map(exact::with_free_width);
                    Ok(Document::Tree(with_free_keys(tree)?))
                }
                document => Ok(document),
            }
        })
    }

    /// The documents of JSON lines.
    pub(crate) fn lines(self) -> Lines<'static> {
        let Input { reader, skip_bad, duplicate_keys, limits, .. } = self;
        Lines::of(reader, LineOptions { skip_bad, duplicate_keys, limits })
    }

    /// All documents of JSON lines as one sequence, with a function applied to each leaf.
    pub(crate) fn joined<L>(self, make: impl Fn(Leaf) -> L) -> Result<Tree<L>> {
        let name = self.name.clone();
        let mut lines = self.lines();
        let tree = lines.joined(make).map_err(|failure| failure.in_file(&name))?;
        lines.warn(&name);
        Ok(tree)
    }

    /// Reads a document that has values, and its data beside the tree.
    pub(crate) fn tree_and_rest(self) -> Result<(Tree<Leaf>, DocumentExtras)> {
        if self.format == Format::Jsonl {
            return Ok((self.joined(|leaf| leaf)?, DocumentExtras::default()));
        }
        if self.format == Format::Pytorch {
            return Ok((self.tree()?, DocumentExtras::default())); // all of it is in the tree
        }
        if self.format.is_of_tensors() {
            return self.with_tensors(|source, limits| {
                let (tree, beside) = tree_and_beside(source, limits)?;
                Ok((tree, DocumentExtras { beside, ..DocumentExtras::default() }))
            });
        }
        let (name, duplicate_keys) = (self.name.clone(), self.duplicate_keys);
        self.with_bytes(|bytes, format, limits| {
            let (mut dates, mut tags) = (Dates::default(), Tags::default());
            let seed = TreeSeed::new(limits.of_trees());
            let document = match format {
                Format::Toml => {
                    let (tree, found) = toml_tree(text(bytes)?, seed)?;
                    dates = found;
                    Document::Tree(tree)
                }
                Format::Cbor => {
                    let (tree, found) = cbor_tree(bytes, seed, duplicate_keys)?;
                    tags = found;
                    Document::Tree(with_unique_keys(tree, bytes, (&name, format), duplicate_keys)?)
                }
                _ => values_of(bytes, (&name, format), duplicate_keys, limits)?,
            };
            document.expect_visits(limits)?;
            match document {
                Document::Tree(tree) => {
                    let has_comments = has_comments(bytes, format, limits);
                    let yaml = if format == Format::Yaml { text(bytes)? } else { "" };
                    let has_tags = yaml::has_tags(yaml, limits);
                    let is_many = yaml::num_documents(yaml) > 1;
                    let of = |its_format: Format| if format == its_format { bytes } else { &[] };
                    let ron = text(of(Format::Ron))?;
                    let rest = DocumentExtras {
                        has_comments,
                        has_tags,
                        has_anchors: yaml::has_anchors(yaml, limits),
                        has_extensions: msgpack::has_extensions(of(Format::Msgpack)),
                        has_damaged_texts: msgpack::has_damaged_texts(of(Format::Msgpack)),
                        has_undefined: cbor_numbers::has_undefined(of(Format::Cbor)),
                        ron_name: ron::first_name(ron).map(str::to_owned),
                        has_structs: ron::has_structs(ron),
                        is_many,
                        dates,
                        tags,
                        beside: BesideTree::default(),
                    };
                    Ok((tree, rest))
                }
                _ => Err(Failure::new(NO_VALUES)),
            }
        })
    }

    /// Applies a function to tensors. It may read all of them.
    pub(crate) fn with_tensors<T>(
        self,
        make: impl FnOnce(&Source<'_>, Limits) -> Result<T>,
    ) -> Result<T> {
        let Some(checkpoint) = &self.checkpoint else {
            return self.with_bytes(|bytes, format, limits| {
                make(&trees::source(bytes, format, limits)?, limits)
            });
        };
        let made = checkpoint.source(self.limits).and_then(|source| make(&source, self.limits));
        made.map_err(|failure| failure.in_file(&self.name))
    }

    /// Applies a function to a file of PyTorch.
    pub(crate) fn with_pytorch<T>(
        self,
        make: impl FnOnce(&Pytorch<'_>, Limits) -> Result<T>,
    ) -> Result<T> {
        let Some(Checkpoint::Pytorch(opened)) = &self.checkpoint else {
            let name = self.name.clone();
            return self.with_bytes(|bytes, _, limits| {
                let file = pytorch::from_bytes(bytes)?;
                checkpoint::expect_sound(&file, &name)?;
                checkpoint::warn_of(&file, &name);
                make(&file, limits)
            });
        };
        make(&opened.file, self.limits).map_err(|failure| failure.in_file(&self.name))
    }

    /// Reads a document that has values.
    pub(crate) fn tree(self) -> Result<Tree<Leaf>> {
        let name = self.name.clone();
        match self.values()? {
            Document::Tree(tree) => Ok(tree),
            _ => Err(Failure::at(name, NO_VALUES)),
        }
    }

    /// Reads everything, and applies a function to it.
    pub(crate) fn with_bytes<T>(
        self,
        make: impl FnOnce(&[u8], Format, Limits) -> Result<T>,
    ) -> Result<T> {
        let Input { name, format, reader, limits, size, .. } = self;
        if self.checkpoint.is_some() {
            let message = "a checkpoint, which this command does not read; `treedef show` does";
            return Err(Failure::at(name, message));
        }
        let most = u64::try_from(limits.max_bytes()).unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        let too_large = size.is_some_and(|size| size > most);
        if !too_large {
            let read = reader.take(most.saturating_add(1)).read_to_end(&mut bytes);
            read.map_err(|error| Failure::from(error).in_file(&name))?;
        }
        if too_large || bytes.len() > limits.max_bytes() {
            let hint = match format {
                Format::Safetensors => "; `show` and `diff --structure` read only the header",
                _ => "",
            };
            let message = more_than(limits.max_bytes()) + hint;
            return Err(Failure::at(name, message));
        }
        make(&bytes, format, limits).map_err(|failure| failure.in_file(&name))
    }
}

const NO_VALUES: &str = "it has no values; `show` and `check --like` can read it";

/// Reads a document with the chosen treatment of duplicate keys.
fn values_of(
    bytes: &[u8],
    (name, format): (&str, Format),
    choice: DuplicateKeys,
    limits: Limits,
) -> Result<Document> {
    match format {
        // Its reader reports the place, and compares spellings.
        Format::Yaml if choice == DuplicateKeys::Error => {
            let tree = yaml::tree(text(bytes)?, limits, true)?;
            return with_unique_keys(tree, bytes, (name, format), choice).map(Document::Tree);
        }
        // They report duplicate keys themselves, or have none.
        Format::Toml | Format::Tree => return read_within(bytes, format, limits),
        _ => {}
    }
    match read_within(bytes, format, limits)? {
        Document::Tree(tree) => {
            with_unique_keys(tree, bytes, (name, format), choice).map(Document::Tree)
        }
        document => Ok(document),
    }
}

/// The tree with the chosen treatment of duplicate keys, with a warning if there is one.
fn with_unique_keys(
    tree: Tree<Leaf>,
    bytes: &[u8],
    (name, format): (&str, Format),
    choice: DuplicateKeys,
) -> Result<Tree<Leaf>> {
    let (tree, warning) = resolved(tree, bytes, format, choice)?;
    warning.iter().for_each(|it| warn(name, it));
    Ok(tree)
}

/// Reports a duplicate key.
pub(crate) fn warn(place: &str, message: &str) {
    let failure = Failure::at(place, format!("{message}, and both are kept"));
    message!("treedef: {failure}");
}
