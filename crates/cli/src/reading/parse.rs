//! Documents from bytes.

use std::cell::Cell;
use std::io::{self, Read};

use serde::de::{Deserialize, DeserializeSeed, Deserializer};
use treedef::__private::OrBug;
use treedef::{Edit, Leaf, LeafKind, NodeKind, Tree, TreeDef, TreeSeed};
use treedef_tensors::{gguf, pytorch};

use crate::args::{DuplicateKeys, Limits};
use crate::color::{counted, without_null};
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::formats::cbor_numbers::of_cbor;
use crate::formats::cbor_tags::Tags;
use crate::formats::duplicate_keys;
use crate::formats::json::{NOT_LINES, json_failure, json_of, json_tree};
use crate::formats::json_lines::{LineOptions, Lines};
use crate::formats::json5;
use crate::formats::toml_dates::Dates;
use crate::formats::yaml;
use crate::numbers::exact;
use crate::numbers::long_numbers;
use crate::numbers::ron::of_ron;
use crate::reading::encodings::{Encoding, Utf8Reader};
use crate::tensors::trees::{self, TensorLeaf};
use crate::tensors::values;

/// Deeper than a tree may be, so that the tree's own error, with its path, is reported.
const DEEPEST: usize = 1 << 10;

/// The byte order mark, with which Windows begins a text in UTF-8.
pub(crate) const MARK: &[u8] = b"\xef\xbb\xbf";

/// The content of a file.
#[derive(Debug)]
#[non_exhaustive]
pub enum Document {
    /// A structure with its leaves.
    Tree(Tree<Leaf>),
    /// A structure with the kinds of its leaves.
    Signature(Tree<LeafKind>),
    /// A structure.
    Structure(TreeDef),
    /// The names and shapes of tensors, and the values beside them.
    Tensors(Tree<TensorLeaf>),
}

impl Document {
    pub(crate) fn treedef(&self) -> &TreeDef {
        match self {
            Document::Tree(tree) => tree.treedef(),
            Document::Signature(tree) => tree.treedef(),
            Document::Structure(treedef) => treedef,
            Document::Tensors(tree) => tree.treedef(),
        }
    }

    /// Checks that a command may visit [each node](Limits::expect_visits).
    pub(crate) fn expect_visits(&self, limits: Limits) -> Result<()> {
        match self {
            Document::Tree(tree) => limits.expect_visits(tree.treedef(), tree.leaves().len()),
            Document::Signature(tree) => limits.expect_visits(tree.treedef(), tree.leaves().len()),
            Document::Structure(treedef) => limits.expect_visits(treedef, 0),
            // Each was read from a header.
            Document::Tensors(_) => Ok(()),
        }
    }
}

/// Reads a document, within the default limits of the command. Each tensor is a leaf, with an
/// [`Array`](treedef::Array) in it.
///
/// # Errors
///
/// Returns an error with line and column if the format provides them.
pub fn read(bytes: &[u8], format: Format) -> Result<Document> {
    let bytes = bytes.strip_prefix(MARK).filter(|_| format.is_text()).unwrap_or(bytes);
    if let Some(encoding) = Encoding::of(bytes).filter(|_| format.is_text()) {
        let (mut text, rest) = (Vec::new(), bytes.get(encoding.mark()..).or_bug());
        Utf8Reader::new(rest, encoding).read_to_end(&mut text)?;
        return read_within(&text, format, Limits::default());
    }
    read_within(bytes, format, Limits::default())
}

/// As [`read`], within these limits.
pub(crate) fn read_within(bytes: &[u8], format: Format, limits: Limits) -> Result<Document> {
    let seed = TreeSeed::new(limits.of_trees());
    if bytes.is_empty() && !matches!(format, Format::Jsonl | Format::Toml | Format::Yaml) {
        return Err(Failure::new(format!("empty, expected {}", format.name())));
    }
    Ok(Document::Tree(match format {
        Format::Json => json_document(bytes, seed).map_err(|failure| {
            let has_more =
                || std::str::from_utf8(bytes).is_ok_and(|it| json5_document(it, seed).is_ok());
            if !has_more() {
                return failure;
            }
            let what = "comments, trailing commas or more of JSON5: pass `--format json5`";
            let message = format!("{}; the document has {what}", failure.message());
            failure.with_message(message)
        })?,
        Format::Json5 => json5_document(text(bytes)?, seed)?,
        Format::Jsonl => {
            let duplicate_keys = DuplicateKeys::Warn;
            let options = LineOptions { skip_bad: false, duplicate_keys, limits };
            Lines::of(Box::new(bytes), options).joined(|leaf| leaf)?
        }
        Format::Toml => toml_tree(text(bytes)?, seed)?.0,
        Format::Yaml => yaml::tree(text(bytes)?, limits, false)?,
        Format::Ron => {
            let options = ron::Options::default().with_recursion_limit(DEEPEST);
            let read = |text: &str| {
                options.from_str_seed(text, seed).map_err(|error| {
                    let at = error.span.start;
                    Failure::at(format!("{}:{}", at.line, at.col), error.code)
                })
            };
            let tree = of_ron(text(bytes)?, read)?;
            // The reader returns an `f32` for every number that fits, also for a written `f64`.
            exact::with_doubles(tree)
        }
        Format::Cbor => cbor_tree(bytes, seed, DuplicateKeys::Warn)?.0,
        Format::Msgpack => {
            let mut rest = bytes;
            let tree = seed.deserialize(&mut rmp_serde::Deserializer::new(&mut rest));
            let tree = tree.map_err(|error| msgpack_failure(&error, bytes.len() - rest.len()))?;
            expect_end(rest, bytes)?;
            tree
        }
        Format::Tree => Tree::from_bytes_as(bytes, limits.of_trees())?,
        Format::Treedef => return structure(bytes, limits.of_trees()),
        Format::Gguf => gguf::read(bytes, None)?.metadata().clone(),
        Format::Pytorch => pytorch::from_bytes(bytes)?.tree()?,
        Format::Orbax => return Err(Failure::new("pass the folder of the checkpoint")),
        Format::Safetensors | Format::Npz | Format::Npy => {
            values::tree(&trees::source(bytes, format, limits)?, limits)?
        }
    }))
}

fn json_document(bytes: &[u8], seed: TreeSeed) -> Result<Tree<Leaf>> {
    long_numbers::of_json(bytes, |bytes| {
        let mut json = json_of(bytes);
        let tree = seed.deserialize(&mut json).map_err(json_failure)?;
        json.end().map_err(|error| {
            let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let hint = match error.line() {
                ..=1 => "",
                _ if json_tree(first, seed).is_ok() => " (for JSON lines pass `--format jsonl`)",
                line => {
                    let before = bytes.split(|byte| *byte == b'\n').nth(line - 1);
                    let is_document = before.is_some_and(|it| it.trim_ascii().starts_with(b"{"));
                    if is_document { NOT_LINES } else { "" }
                }
            };
            let failure = json_failure(error);
            failure.with_message(format!("expected the end of the document{hint}"))
        })?;
        Ok(tree)
    })
}

fn json5_document(text: &str, seed: TreeSeed) -> Result<Tree<Leaf>> {
    json5::of_json5(text, |bytes| json_document(bytes, seed))
}

/// Whether the library saved it.
pub(crate) fn is_saved(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x89PYT")
}

/// A structure: a file of the library, or its text. Lines that begin with `#` are comments, except its options, such as
/// `#[none_is_leaf]`.
fn structure(bytes: &[u8], limits: treedef::Limits) -> Result<Document> {
    if is_saved(bytes) {
        return Ok(Document::Structure(TreeDef::from_bytes_with(bytes, limits)?));
    }
    let is_read = |line: &&str| !line.starts_with('#') || line.starts_with("#[");
    let lines = text(bytes)?.lines().filter(is_read);
    let text = without_null(&lines.collect::<Vec<_>>().join("\n"));
    match Tree::parse_with(&text, limits) {
        Ok(signature) => Ok(Document::Signature(signature)),
        Err(error) => match TreeDef::parse_with(&text, limits) {
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

/// A document in CBOR without its tags, and the places of the tags of values. Of entries with the same key,
/// only the last one has a tag if only that one is chosen, and otherwise none has.
pub(crate) fn cbor_tree(
    bytes: &[u8],
    seed: TreeSeed,
    choice: DuplicateKeys,
) -> Result<(Tree<Leaf>, Tags)> {
    let (mut tree, has_dropped) = of_cbor(bytes, |bytes| {
        let mut rest = bytes;
        let tree = tagged_tree(&mut rest, seed);
        let tree = tree.map_err(|error| cbor_failure(error, bytes.len() - rest.len()))?;
        expect_end(rest, bytes)?;
        Ok(tree)
    })?;
    if choice == DuplicateKeys::Last && duplicate_keys::first(&tree).is_some() {
        tree = duplicate_keys::last_ones(tree)?;
    }
    let (tree, mut tags) = Tags::taken_from(tree)?;
    tags.has_dropped |= has_dropped;
    tags.drop_twins(&tree);
    Ok((with_one_nothing(tree)?, tags))
}

/// ciborium passes null as `None`. The other formats that have a null pass it as `()`.
fn with_one_nothing(tree: Tree<Leaf>) -> Result<Tree<Leaf>> {
    if !tree.treedef().nodes().any(|(_, node)| node.kind() == NodeKind::None) {
        return Ok(tree);
    }
    let unit = Tree::of(&())?;
    Ok(tree.edit(|_, node, _| match node.kind() {
        NodeKind::None => Ok(Edit::Replace(unit.clone())),
        _ => Ok(Edit::Keep),
    })?)
}

/// ciborium does not support seeds.
fn tagged_tree(
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

fn cbor_failure(error: ciborium::de::Error<io::Error>, near: usize) -> Failure {
    use ciborium::de::Error;
    Failure::new(match error {
        Error::Io(_) => "cut off: the document ends too early".to_owned(),
        Error::Syntax(at) => format!("not CBOR at byte {at}"),
        Error::Semantic(_, message) if message.contains("expected non-break") => {
            "not CBOR: the end of a list outside of a list".to_owned()
        }
        Error::Semantic(None, message) if message.contains("known simple value") => {
            format!("a simple value that has no meaning here, which ends at byte {near}")
        }
        Error::Semantic(Some(at), message) => format!("{message} at byte {at}"),
        Error::Semantic(None, message) => format!("{message} near byte {near}"),
        Error::RecursionLimitExceeded => "nested too deep".to_owned(),
    })
}

/// The message of the crate `toml`, without its own text about depth.
fn toml_said(message: &str) -> &str {
    if message.starts_with("cannot recurse further") { "nested too deep" } else { message }
}

fn msgpack_failure(error: &rmp_serde::decode::Error, near: usize) -> Failure {
    use rmp_serde::decode::Error;
    Failure::new(match error {
        Error::InvalidMarkerRead(_) | Error::InvalidDataRead(_) => {
            "cut off: the document ends too early".to_owned()
        }
        Error::TypeMismatch(_) => format!("not MessagePack near byte {near}"),
        Error::DepthLimitExceeded => "nested too deep".to_owned(),
        other => format!("{other} near byte {near}"),
    })
}

/// A document in TOML, with texts for its dates, and the places of the dates.
pub(crate) fn toml_tree(text: &str, seed: TreeSeed) -> Result<(Tree<Leaf>, Dates)> {
    // The library skips one more.
    if text.starts_with('\u{feff}') {
        return Err(Failure::at("1:1", "a second byte order mark, delete it"));
    }
    let read = |text: &str| toml::Deserializer::parse(text).and_then(|toml| seed.deserialize(toml));
    let tree = long_numbers::of_toml(text, read);
    let tree = tree.map_err(|error| match error.span() {
        Some(span) => {
            Failure::at(position(text.as_bytes(), span.start), toml_said(error.message()))
        }
        None => Failure::new(toml_said(error.message())),
    })?;
    let (tree, mut dates) = Dates::taken_from(tree)?;
    dates.has_cut = !dates.is_empty() && long_numbers::has_long_seconds(text);
    Ok((tree, dates))
}
