//! Opening and reading documents.

use std::borrow::Cow;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, SeqAccess, Visitor};
use treedef::{Edit, Leaf, LeafKind, NodeKind, Tree, TreeDef, TreeSeed};

use crate::args::{Limits, Reading};
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::paint::{counted, grouped};
use crate::safetensors;
use crate::tensors::{self, TensorLeaf};
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
    size: Option<u64>,
    skip_bad: bool,
    limits: Limits,
}

/// Opens a file, or standard input for `-`. Its format is that of `--format`, or of the extension,
/// or `otherwise` for standard input.
pub(crate) fn open(path: &Path, reading: Reading, otherwise: Format) -> Result<Input> {
    let Reading { format, skip_bad, limits } = reading;
    let is_stdin = path.as_os_str() == "-";
    if !is_stdin && path.is_dir() {
        return Err(Failure::at(path.display(), "a folder, pass the files in it"));
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
    Ok(Input { name, format, reader, size, skip_bad, limits })
}

impl Input {
    /// Reads what is known of the structure: of tensors the names, types and shapes. Of
    /// safetensors, only the header is read.
    pub(crate) fn document(mut self) -> Result<Document> {
        match self.format {
            Format::Safetensors => safetensors::read(&mut self.reader, self.size)
                .map(Document::Tensors)
                .map_err(|failure| failure.in_file(&self.name)),
            Format::Npz | Format::Npy => self.with_bytes(|bytes, format, limits| {
                tensors::shapes(&tensors::read(bytes, format, limits)?).map(Document::Tensors)
            }),
            _ => self.values(),
        }
    }

    /// Reads the document with its values, if it has any.
    pub(crate) fn values(self) -> Result<Document> {
        if self.format != Format::Jsonl || !self.skip_bad {
            return self.with_bytes(read_within);
        }
        let name = self.name.clone();
        self.with_bytes(|bytes, format, limits| {
            read_within(&without_bad_lines(bytes, &name, limits), format, limits)
        })
    }

    /// As [`tree`](Self::tree), with the number of the line of each document if it is of JSON
    /// lines.
    pub(crate) fn tree_with_lines(self) -> Result<(Tree<Leaf>, Option<Vec<u64>>)> {
        if self.format != Format::Jsonl {
            return Ok((self.tree()?, None));
        }
        let (name, skip_bad) = (self.name.clone(), self.skip_bad);
        self.with_bytes(|bytes, format, limits| {
            let mut bytes = Cow::Borrowed(bytes);
            if skip_bad {
                bytes = without_bad_lines(&bytes, &name, limits).into();
            }
            let lines = (1..).zip(bytes.split(|byte| *byte == b'\n'));
            let lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
            let lines = lines.map(|(number, _)| number).collect();
            match read_within(&bytes, format, limits)? {
                Document::Tree(tree) => Ok((tree, Some(lines))),
                _ => Err(Failure::new("it has no values")),
            }
        })
    }

    /// As [`document`](Self::document), and whether it is a sequence of documents: of JSON lines,
    /// or of a YAML file with several.
    pub(crate) fn document_of_many(self) -> Result<(Document, bool)> {
        match self.format {
            Format::Jsonl => Ok((self.document()?, true)),
            Format::Yaml => self.with_bytes(|bytes, _, limits| {
                let trees = yaml::trees(text(bytes)?, limits)?;
                let is_many = trees.len() > 1;
                yaml::joined(trees).map(|tree| (Document::Tree(tree), is_many))
            }),
            _ => Ok((self.document()?, false)),
        }
    }

    /// The documents of a file that may have several.
    pub(crate) fn trees(self) -> Result<Vec<Tree<Leaf>>> {
        if self.format == Format::Yaml {
            return self.with_bytes(|bytes, _, limits| yaml::trees(text(bytes)?, limits));
        }
        Ok(vec![self.tree()?])
    }

    /// Reads a document that has values.
    pub(crate) fn tree(self) -> Result<Tree<Leaf>> {
        let name = self.name.clone();
        match self.values()? {
            Document::Tree(tree) => Ok(tree),
            _ => Err(Failure::at(name, "it has no values; `show` and `check --like` can read it")),
        }
    }

    /// Reads everything, and makes something of it.
    pub(crate) fn with_bytes<T>(
        self,
        make: impl FnOnce(&[u8], Format, Limits) -> Result<T>,
    ) -> Result<T> {
        let Input { name, format, reader, limits, size, .. } = self;
        let most = u64::try_from(limits.max_bytes()).unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        let too_large = size.is_some_and(|size| size > most);
        if !too_large {
            let read = reader.take(most.saturating_add(1)).read_to_end(&mut bytes);
            read.map_err(|error| Failure::from(error).in_file(&name))?;
        }
        if too_large || bytes.len() > limits.max_bytes() {
            let hint = match format {
                Format::Jsonl => "; `shapes` has no such limit",
                Format::Safetensors => "; `show` and `diff --structure` read only the header",
                _ => "",
            };
            let message = format!("more than {most} bytes, `--max-bytes` allows more{hint}");
            return Err(Failure::at(name, message));
        }
        make(&bytes, format, limits).map_err(|failure| failure.in_file(&name))
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
            let number = Cell::new(0);
            let lines = Lines { lines: bytes.split(|byte| *byte == b'\n'), number: &number };
            seed.deserialize(lines).map_err(|error| {
                let column = error.column();
                let Failure::Told { message, .. } = json_failure(error) else {
                    return Failure::BrokenPipe;
                };
                Failure::at(format!("{}:{column}", number.get()), message)
            })?
        }
        Format::Toml => toml_tree(text(bytes)?, seed)?,
        Format::Yaml => yaml::tree(text(bytes)?, limits)?,
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
        Format::Safetensors | Format::Npz | Format::Npy => {
            tensors::tree(&tensors::read(bytes, format, limits)?, limits)?
        }
    }))
}

/// A structure: a file of the library, or its text, where lines that start with `#` are comments.
fn structure(bytes: &[u8]) -> Result<Document> {
    if bytes.starts_with(b"\x89PYT") {
        return Ok(Document::Structure(TreeDef::from_bytes(bytes)?));
    }
    let lines = text(bytes)?.lines().filter(|line| !line.starts_with('#'));
    let text = lines.collect::<Vec<_>>().join("\n");
    match text.parse::<Tree<LeafKind>>() {
        Ok(signature) => Ok(Document::Signature(signature)),
        Err(error) => match text.parse::<TreeDef>() {
            Ok(treedef) => Ok(Document::Structure(treedef)),
            Err(_) => Err(error.into()),
        },
    }
}

fn text(bytes: &[u8]) -> Result<&str> {
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
            "{rest} more bytes after the document, which ends at byte {}",
            bytes.len() - rest
        ))),
    }
}

/// The failure of a document in JSON, whose message ends with the position.
pub(crate) fn json_failure(error: serde_json::Error) -> Failure {
    let (line, column) = (error.line(), error.column());
    let message = error.to_string();
    let position = format!(" at line {line} column {column}");
    match message.strip_suffix(&position) {
        Some(message) if column == 0 => Failure::at(line, message),
        Some(message) => Failure::at(format!("{line}:{column}"), message),
        None => Failure::new(message),
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

fn toml_tree(text: &str, seed: TreeSeed) -> Result<Tree<Leaf>> {
    let tree = toml::Deserializer::parse(text).and_then(|toml| seed.deserialize(toml));
    let tree = tree.map_err(|error| match error.span() {
        Some(span) => Failure::at(position(text.as_bytes(), span.start), error.message()),
        None => Failure::new(error.message()),
    })?;
    // A date is a map with this one key, to serde.
    let is_date = |key: &treedef::Value| key.as_str() == Some("$__toml_private_datetime");
    if !text.contains(':') {
        return Ok(tree);
    }
    Ok(tree.edit(|_, node, leaves| match (node.kind(), node.entry_keys(), leaves) {
        (NodeKind::Map, [key], [date]) if is_date(key) => {
            Ok(Edit::Replace(Tree::leaf(date.clone())))
        }
        _ => Ok(Edit::Keep),
    })?)
}

/// A reader of JSON that leaves it to the tree how deep a document may be.
pub(crate) fn json_of(bytes: &[u8]) -> serde_json::Deserializer<serde_json::de::SliceRead<'_>> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    json.disable_recursion_limit();
    json
}

/// The most bad lines that are listed.
const LISTED: usize = 10;

/// Lines that are not documents.
#[derive(Debug, Default)]
pub(crate) struct Bad {
    pub(crate) count: u64,
    /// The indices of the first ones, with column and message.
    pub(crate) first: Vec<(u64, usize, String)>,
}

impl Bad {
    pub(crate) fn of(index: u64, error: &serde_json::Error) -> Self {
        let message = error.to_string();
        let end = message.rfind(" at line ").unwrap_or(message.len());
        let message = message.get(..end).unwrap_or_default().to_owned();
        Bad { count: 1, first: vec![(index, error.column(), message)] }
    }

    pub(crate) fn add(&mut self, other: Bad) {
        self.count += other.count;
        self.first.extend(other.first);
        self.first.sort();
        self.first.truncate(LISTED);
    }

    /// Lists them on standard error, where `place` is that of an index.
    pub(crate) fn tell(&self, place: impl Fn(u64) -> String) {
        for (index, column, message) in &self.first {
            let failure = Failure::at(format!("{}:{column}", place(*index)), message);
            anstream::eprintln!("treedef: {failure}");
        }
        let listed = u64::try_from(self.first.len()).unwrap_or(u64::MAX);
        let more = self.count.saturating_sub(listed);
        if self.count > 0 {
            let bad = counted(self.count, "line is", "lines are");
            let rest =
                if more > 0 { format!(" ({} not listed)", grouped(more)) } else { String::new() };
            anstream::eprintln!("treedef: {bad} not JSON and passed over{rest}");
        }
    }
}

/// JSON lines, where each line that cannot be read is blank. Lists these lines on standard error, by
/// their numbers from 1.
fn without_bad_lines(bytes: &[u8], name: &str, limits: Limits) -> Vec<u8> {
    let (mut good, mut bad) = (Vec::with_capacity(bytes.len()), Bad::default());
    for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        if number > 1 {
            good.push(b'\n');
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let mut json = json_of(line);
        let read = TreeSeed::new(limits.of_trees()).deserialize(&mut json);
        match read.and_then(|_| json.end()) {
            Ok(()) => good.extend_from_slice(line),
            Err(error) => bad.add(Bad::of(number, &error)),
        }
    }
    bad.tell(|line| format!("{name}:{line}"));
    good
}

/// JSON lines as one sequence.
struct Lines<'n, I> {
    lines: I,
    /// That of the line that was read last, from 1.
    number: &'n Cell<usize>,
}

impl<'de, I: Iterator<Item = &'de [u8]>> Deserializer<'de> for Lines<'_, I> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_seq(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any
    }
}

impl<'de, I: Iterator<Item = &'de [u8]>> SeqAccess<'de> for Lines<'_, I> {
    type Error = serde_json::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Self::Error> {
        for line in self.lines.by_ref() {
            self.number.set(self.number.get() + 1);
            if !line.trim_ascii().is_empty() {
                let mut json = json_of(line);
                let value = seed.deserialize(&mut json)?;
                return json.end().map(|()| Some(value));
            }
        }
        Ok(None)
    }
}
