//! Opening and reading documents.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path;

use serde::de::{Deserialize, DeserializeSeed, Deserializer};
use treedef::{Leaf, LeafKind, Tree, TreeDef, TreeSeed};
use treedef_exchange::gguf;

use crate::args::{DuplicateKeys, Limits, Reading};
use crate::checkpoint::{self, Checkpoint};
use crate::comments::has_comments;
use crate::dates::Dates;
use crate::duplicates::resolved;
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::json::{json_failure, json_of};
use crate::json_lines::{LineOptions, Lines};
use crate::paint::{counted, without_null};
use crate::safetensors;
use crate::tensors::{self, TensorLeaf, more_than};
use crate::yaml;

/// Deeper than a tree may be: its own limit is told with the path.
const DEEPEST: usize = 1 << 10;

/// What Windows begins a text in UTF-8 with: the byte order mark.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// What a file holds.
#[derive(Debug)]
#[non_exhaustive]
pub enum Document {
    /// A structure with its leaves.
    Tree(Tree<Leaf>),
    /// A structure with the kinds of its leaves.
    Signature(Tree<LeafKind>),
    /// A structure.
    Structure(TreeDef),
    /// The names and shapes of tensors.
    Tensors(Tree<TensorLeaf>),
}

/// A file that was opened, or standard input.
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) format: Format,
    /// Decompressed.
    pub(crate) reader: Box<dyn Read + Send>,
    /// The size of the file, if it is one and is not compressed.
    pub(crate) size: Option<u64>,
    /// Its path then.
    pub(crate) plain: Option<path::PathBuf>,
    /// Tensors that stay in their files. Then there is nothing to read.
    pub(crate) checkpoint: Option<Checkpoint>,
    pub(crate) skip_bad: bool,
    pub(crate) duplicate_keys: DuplicateKeys,
    pub(crate) limits: Limits,
}

/// What a document has beside its tree.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    pub(crate) has_comments: bool,
    /// Whether there are tags of YAML.
    pub(crate) has_tags: bool,
    pub(crate) dates: Dates,
}

/// Opens a file, or standard input for `-`. Its format is that of `--format`, or of the extension,
/// or `otherwise` for standard input.
pub(crate) fn open(path: &path::Path, reading: Reading, otherwise: Format) -> Result<Input> {
    let Reading { format, skip_bad, duplicate_keys, limits } = reading;
    let is_stdin = path.as_os_str() == "-";
    let checkpoint = if is_stdin { None } else { checkpoint::open(path, format)? };
    if let Some((format, checkpoint)) = checkpoint {
        let (name, reader) = (path.display().to_string(), Box::new(io::empty()));
        let (size, plain, checkpoint) = (None, None, Some(checkpoint));
        return Ok(Input {
            name,
            format,
            reader,
            size,
            plain,
            checkpoint,
            skip_bad,
            duplicate_keys,
            limits,
        });
    }
    let format = match format {
        Some(format) => format,
        None if is_stdin => otherwise,
        None => Format::of_path(path)?,
    };
    let name = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
    let of_file = |error: io::Error| Failure::from(error).in_file(&name);
    let (raw, size): (Box<dyn Read + Send>, _) = if is_stdin {
        (Box::new(io::stdin()), None)
    } else {
        let file = File::open(path).map_err(of_file)?;
        let data = file.metadata().map_err(of_file)?;
        let size = data.is_file().then_some(data.len());
        (Box::new(file), size)
    };
    let mut raw = BufReader::with_capacity(1 << 16, raw);
    let mut start = Vec::new();
    raw.by_ref().take(4).read_to_end(&mut start).map_err(of_file)?;
    let whole = Cursor::new(start.clone()).chain(raw);
    let (mut reader, size): (Box<dyn Read + Send>, _) = match start.get(..) {
        Some([0x1f, 0x8b, ..]) => (Box::new(flate2::read::MultiGzDecoder::new(whole)), None),
        Some([0x28, 0xb5, 0x2f, 0xfd]) => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(whole);
            (Box::new(decoder.map_err(|error| Failure::at(&name, error))?), None)
        }
        _ => (Box::new(whole), size),
    };
    if format.is_text() {
        let mut start = Vec::new();
        let most = u64::try_from(MARK.len()).unwrap_or_default();
        reader.by_ref().take(most).read_to_end(&mut start).map_err(of_file)?;
        if start != MARK {
            reader = Box::new(Cursor::new(start).chain(reader));
        }
    }
    let plain = size.map(|_| path.to_owned());
    let checkpoint = None;
    Ok(Input { name, format, reader, size, plain, checkpoint, skip_bad, duplicate_keys, limits })
}

impl Input {
    /// Reads what is known of the structure: of tensors the names, types and shapes, of JSON lines
    /// the kinds of leaves. Of safetensors, only the header is read.
    pub(crate) fn document(mut self) -> Result<Document> {
        if let Some(checkpoint) = &self.checkpoint {
            let shapes = checkpoint.shapes().map_err(|failure| failure.in_file(&self.name))?;
            return Ok(Document::Tensors(shapes));
        }
        match self.format {
            Format::Jsonl => self.joined(|leaf| leaf.kind()).map(Document::Signature),
            Format::Safetensors => safetensors::read(&mut self.reader, self.size)
                .map(Document::Tensors)
                .map_err(|failure| failure.in_file(&self.name)),
            Format::Gguf => {
                let gguf = gguf::read(&mut self.reader, None).map_err(Failure::from);
                let shapes = gguf.and_then(|gguf| Checkpoint::Gguf(gguf).shapes());
                shapes.map(Document::Tensors).map_err(|failure| failure.in_file(&self.name))
            }
            Format::Npz | Format::Npy => self.with_bytes(|bytes, format, limits| {
                tensors::shapes(&tensors::read(bytes, format, limits)?).map(Document::Tensors)
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
            values_of(bytes, (&name, format), duplicate_keys, limits)
        })
    }

    /// The documents of JSON lines.
    pub(crate) fn lines(self) -> Lines<'static> {
        let Input { reader, skip_bad, duplicate_keys, limits, .. } = self;
        Lines::of(reader, LineOptions { skip_bad, duplicate_keys, limits })
    }

    /// All documents of JSON lines as one sequence, with what is made of each leaf.
    pub(crate) fn joined<L>(self, make: impl Fn(Leaf) -> L) -> Result<Tree<L>> {
        let name = self.name.clone();
        let mut lines = self.lines();
        let tree = lines.joined(make).map_err(|failure| failure.in_file(&name))?;
        lines.tell(&name);
        Ok(tree)
    }

    /// Reads a document that has values, and what no tree of it has.
    pub(crate) fn tree_and_rest(self) -> Result<(Tree<Leaf>, Rest)> {
        if self.format == Format::Jsonl {
            return Ok((self.joined(|leaf| leaf)?, Rest::default()));
        }
        let (name, duplicate_keys) = (self.name.clone(), self.duplicate_keys);
        self.with_bytes(|bytes, format, limits| {
            let mut dates = Dates::default();
            let document = if format == Format::Toml {
                let seed = TreeSeed::new(limits.of_trees());
                let (tree, found) = toml_tree(text(bytes)?, seed)?;
                dates = found;
                Document::Tree(tree)
            } else {
                values_of(bytes, (&name, format), duplicate_keys, limits)?
            };
            match document {
                Document::Tree(tree) => {
                    let has_comments = has_comments(bytes, format, &tree, limits);
                    let has_tags = format == Format::Yaml && yaml::has_tags(text(bytes)?, limits);
                    Ok((tree, Rest { has_comments, has_tags, dates }))
                }
                _ => Err(Failure::new(NO_VALUES)),
            }
        })
    }

    /// Reads a document that has values.
    pub(crate) fn tree(self) -> Result<Tree<Leaf>> {
        let name = self.name.clone();
        match self.values()? {
            Document::Tree(tree) => Ok(tree),
            _ => Err(Failure::at(name, NO_VALUES)),
        }
    }

    /// Reads everything, and makes something of it.
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

/// Reads a document as it was chosen: with maps that have a key twice or without them.
fn values_of(
    bytes: &[u8],
    (name, format): (&str, Format),
    choice: DuplicateKeys,
    limits: Limits,
) -> Result<Document> {
    match format {
        Format::Yaml if choice == DuplicateKeys::Error => {
            return yaml::tree(text(bytes)?, limits, true).map(Document::Tree);
        }
        // They say themselves that a key occurs twice, or have none.
        Format::Toml | Format::Tree => return read_within(bytes, format, limits),
        _ => {}
    }
    match read_within(bytes, format, limits)? {
        Document::Tree(tree) => {
            let (tree, warning) = resolved(tree, bytes, format, choice)?;
            warning.iter().for_each(|it| warn(name, it));
            Ok(Document::Tree(tree))
        }
        document => Ok(document),
    }
}

/// Reads a document, within the default limits of the command. Each tensor is a leaf, with an
/// [`Array`](treedef::Array) in it.
///
/// # Errors
///
/// Returns an error with line and column where the format knows them.
pub fn read(bytes: &[u8], format: Format) -> Result<Document> {
    let bytes = bytes.strip_prefix(MARK).filter(|_| format.is_text()).unwrap_or(bytes);
    read_within(bytes, format, Limits::default())
}

/// As [`read`], within these limits.
pub(crate) fn read_within(bytes: &[u8], format: Format, limits: Limits) -> Result<Document> {
    let seed = TreeSeed::new(limits.of_trees());
    if bytes.is_empty() && !matches!(format, Format::Jsonl | Format::Toml | Format::Yaml) {
        return Err(Failure::new(format!("empty, expected {}", format.name())));
    }
    Ok(Document::Tree(match format {
        Format::Json => {
            let mut json = json_of(bytes);
            let tree = seed.deserialize(&mut json);
            tree.and_then(|tree| json.end().map(|()| tree)).map_err(json_failure)?
        }
        Format::Jsonl => {
            let duplicate_keys = DuplicateKeys::Warn;
            let options = LineOptions { skip_bad: false, duplicate_keys, limits };
            Lines::of(Box::new(bytes), options).joined(|leaf| leaf)?
        }
        Format::Toml => toml_tree(text(bytes)?, seed)?.0,
        Format::Yaml => yaml::tree(text(bytes)?, limits, false)?,
        Format::Ron => {
            let options = ron::Options::default().with_recursion_limit(DEEPEST);
            options.from_str_seed(text(bytes)?, seed).map_err(|error| {
                let at = error.span.start;
                Failure::at(format!("{}:{}", at.line, at.col), error.code)
            })?
        }
        Format::Cbor => {
            let mut rest = bytes;
            let tree = cbor_tree(&mut rest, seed).map_err(cbor_failure)?;
            expect_end(rest, bytes)?;
            tree
        }
        Format::Msgpack => {
            let mut rest = bytes;
            let tree = seed.deserialize(&mut rmp_serde::Deserializer::new(&mut rest));
            let tree = tree.map_err(|error| {
                Failure::new(format!("{error} near byte {}", bytes.len() - rest.len()))
            })?;
            expect_end(rest, bytes)?;
            tree
        }
        Format::Tree => Tree::from_bytes_as(bytes, limits.of_trees())?,
        Format::Treedef => return structure(bytes),
        Format::Gguf => gguf::read(bytes, None)?.metadata().clone(),
        Format::Orbax => return Err(Failure::new("pass the folder of the checkpoint")),
        Format::Safetensors | Format::Npz | Format::Npy => {
            tensors::tree(&tensors::read(bytes, format, limits)?, limits)?
        }
    }))
}

/// Whether the library saved it.
pub(crate) fn is_saved(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x89PYT")
}

/// A structure: a file of the library, or its text, where lines that start with `#` are comments.
fn structure(bytes: &[u8]) -> Result<Document> {
    if is_saved(bytes) {
        return Ok(Document::Structure(TreeDef::from_bytes(bytes)?));
    }
    let lines = text(bytes)?.lines().filter(|line| !line.starts_with('#'));
    let text = without_null(&lines.collect::<Vec<_>>().join("\n"));
    match text.parse::<Tree<LeafKind>>() {
        Ok(signature) => Ok(Document::Signature(signature)),
        Err(error) => match text.parse::<TreeDef>() {
            Ok(treedef) => Ok(Document::Structure(treedef)),
            Err(_) => Err(error.into()),
        },
    }
}

pub(crate) fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| {
        let place = position(bytes, error.valid_up_to());
        Failure::at(place, "not UTF-8, convert the file or pass its `--format`")
    })
}

/// The line and the column of a byte.
fn position(bytes: &[u8], at: usize) -> String {
    let before = bytes.get(..at).unwrap_or(bytes);
    let line = memchr::memchr_iter(b'\n', before).count() + 1;
    let start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
    let column =
        before.get(start..).map_or(0, |line| String::from_utf8_lossy(line).chars().count());
    format!("{line}:{}", column + 1)
}

fn expect_end(rest: &[u8], bytes: &[u8]) -> Result<()> {
    match rest.len() {
        0 => Ok(()),
        rest => Err(Failure::new(format!(
            "{} after the document, which ends at byte {}",
            counted(u64::try_from(rest).unwrap_or(u64::MAX), "more byte", "more bytes"),
            bytes.len() - rest
        ))),
    }
}

/// ciborium takes no seed.
fn cbor_tree(
    rest: &mut &[u8],
    seed: TreeSeed,
) -> Result<Tree<Leaf>, ciborium::de::Error<io::Error>> {
    thread_local!(static SEED: Cell<TreeSeed> = Cell::default());

    struct Seeded(Tree<Leaf>);

    impl<'de> Deserialize<'de> for Seeded {
        fn deserialize<D: Deserializer<'de>>(document: D) -> Result<Self, D::Error> {
            SEED.get().deserialize(document).map(Seeded)
        }
    }

    SEED.set(seed);
    let Seeded(tree) = ciborium::de::from_reader_with_recursion_limit(rest, DEEPEST)?;
    Ok(tree)
}

fn cbor_failure(error: ciborium::de::Error<io::Error>) -> Failure {
    use ciborium::de::Error;
    Failure::new(match error {
        Error::Io(_) => "cut off: the document ends too early".to_owned(),
        Error::Syntax(at) => format!("not CBOR at byte {at}"),
        Error::Semantic(Some(at), message) => format!("{message} at byte {at}"),
        Error::Semantic(None, message) => message,
        Error::RecursionLimitExceeded => "nested too deep".to_owned(),
    })
}

/// A document in TOML, with texts for its dates, and where they are.
fn toml_tree(text: &str, seed: TreeSeed) -> Result<(Tree<Leaf>, Dates)> {
    let tree = toml::Deserializer::parse(text).and_then(|toml| seed.deserialize(toml));
    let tree = tree.map_err(|error| match error.span() {
        Some(span) => Failure::at(position(text.as_bytes(), span.start), error.message()),
        None => Failure::new(error.message()),
    })?;
    Ok(Dates::taken_from(tree)?)
}

/// Says that a document has a key twice.
pub(crate) fn warn(place: &str, message: &str) {
    let failure = Failure::at(place, format!("{message}, and both are kept"));
    anstream::eprintln!("treedef: {failure}");
}
