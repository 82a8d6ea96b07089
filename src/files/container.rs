//! The container of a file: its header, and its parts with a checksum each.

use std::borrow::Cow;
use std::ops::Range;

use crc32fast::hash;

use crate::bug::bug;
use crate::error::{Cause, Error, Result};
use crate::model::{Limits, Options};

use super::wire::{FixedWidth, invalid, near, rows, wide};

/// The content of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    TreeDef = 1,
    Tree = 2,
}

/// As in PNG: a high bit, both line endings and an end-of-file character. A transfer as text would
/// change one of them.
const MAGIC: [u8; 8] = *b"\x89PYT\r\n\x1a\n";
/// The format that this release writes, and the latest that it reads.
const FORMAT: u16 = 1;
/// The number of bytes of a header, with its own checksum at the end.
pub(super) const HEADER: usize = Header::BYTES + u32::BYTES;

/// The bits of [`Header::options`]. A reader refuses unknown bits, because it would rebuild a
/// different structure.
const INSERTION: u32 = 1;
const NONE_IS_LEAF: u32 = 2;
const COMPACT: u32 = 4;

rows! {
    Header {
        magic: [u8; 8],
        format: u16,
        kind: u16,
        options: u32,
        /// The number of rows of nodes in the structure, including keys and statics.
        nodes: u64,
        /// The number of leaves of the structure.
        leaves: u64,
        /// The lengths of the structure, the orders, the values, the kinds and the leaves.
        lengths: [u64; 5],
        /// The checksums of the [parts](Part).
        checksums: [u32; 5],
    }
}

/// A part of a file with one checksum. The leaves are no such part: they follow behind the checksums of their
/// chunks, so that some can be read without the others.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Structure,
    Orders,
    Values,
    Kinds,
    Chunks,
}

pub(super) const STRUCTURE: &str = "the structure";
pub(super) const ORDERS: &str = "the order of maps";
pub(super) const VALUES: &str = "the values among the leaves";
pub(super) const KINDS: &str = "the kinds of the leaves";
const PARTS: [&str; 5] = [STRUCTURE, ORDERS, VALUES, KINDS, "the checksums of the leaves"];

/// The number of bytes of leaves that share a checksum.
pub(super) const CHUNK: u64 = 1 << 16;

/// The content of a new file.
pub(super) struct NewFile<'a> {
    pub(super) kind: Kind,
    pub(super) options: Options,
    /// The numbers of rows of nodes and of leaves.
    pub(super) counts: [usize; 2],
    /// The structure, the orders, the values, the kinds and the leaves.
    pub(super) parts: [&'a [u8]; 5],
}

impl NewFile<'_> {
    pub(super) fn write(&self) -> Vec<u8> {
        let [structure, orders, values, kinds, leaves] = self.parts;
        let mut chunks = Vec::new();
        for chunk in leaves.chunks(near(CHUNK)) {
            hash(chunk).write(&mut chunks);
        }
        let len = |part: &[u8]| wide(part.len());
        let [nodes, count] = self.counts;
        let mut header = Vec::with_capacity(HEADER);
        let parts = Header {
            magic: MAGIC,
            format: FORMAT,
            kind: self.kind as u16,
            options: option_bits(self.options),
            nodes: wide(nodes),
            leaves: wide(count),
            lengths: [len(structure), len(orders), len(values), len(kinds), len(leaves)],
            checksums: [hash(structure), hash(orders), hash(values), hash(kinds), hash(&chunks)],
        };
        parts.write(&mut header);
        hash(&header).write(&mut header);
        [&header, structure, orders, values, kinds, &chunks, leaves].concat()
    }
}

/// Bytes in memory, or read on demand.
pub(super) trait ByteSource<'a> {
    fn length(&mut self) -> Result<u64>;

    /// The bytes of a range that is within the length.
    fn bytes(&mut self, range: Range<u64>) -> Result<Cow<'a, [u8]>>;
}

impl<'a> ByteSource<'a> for &'a [u8] {
    fn length(&mut self) -> Result<u64> {
        Ok(wide(self.len()))
    }

    fn bytes(&mut self, range: Range<u64>) -> Result<Cow<'a, [u8]>> {
        let within = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
        let bytes = within.and_then(|(start, end)| self.get(start..end));
        bytes.map(Cow::Borrowed).ok_or_else(|| bug!("a part is beyond the file"))
    }
}

/// Where the parts of a file are.
pub(super) struct Container {
    /// The numbers of rows of nodes and of leaves.
    pub(super) counts: [u64; 2],
    pub(super) options: Options,
    parts: [(Range<u64>, u32); 5],
    pub(super) leaves: Range<u64>,
}

impl Container {
    /// Reads a header, and checks it against the length of the file.
    pub(super) fn open(
        source: &mut dyn ByteSource<'_>,
        kind: Kind,
        limits: Limits,
    ) -> Result<Self> {
        let length = source.length()?;
        let start = source.bytes(0..length.min(wide(HEADER)))?;
        let header = Header::check(&start, kind, limits)?;
        let [structure, orders, values, kinds, leaves] = header.lengths;
        let chunks = leaves.div_ceil(CHUNK).saturating_mul(4); // too many are beyond any file
        let mut end = Some(wide(HEADER));
        let mut next = |bytes: u64| {
            let start = end.unwrap_or(u64::MAX);
            end = end.and_then(|end| end.checked_add(bytes));
            start..end.unwrap_or(u64::MAX)
        };
        let [a, b, c, d, e] = header.checksums;
        let parts = [
            (next(structure), a),
            (next(orders), b),
            (next(values), c),
            (next(kinds), d),
            (next(chunks), e),
        ];
        let leaves = next(leaves);
        let end = end.ok_or_else(|| invalid("the header", "its lengths are beyond 64 bits"))?;
        check_length(end, length)?;
        // Not every reader reads an empty part, so its checksum is checked here.
        let fits = parts.iter().all(|(range, checksum)| !range.is_empty() || *checksum == 0);
        check(fits, "an empty part has a checksum")?;
        let (counts, options) = ([header.nodes, header.leaves], options_of(header.options));
        Ok(Container { counts, options, parts, leaves })
    }

    /// Whether a part has no bytes.
    pub(super) fn is_empty(&self, part: Part) -> bool {
        self.parts.get(part as usize).is_some_and(|(range, _)| range.is_empty())
    }

    /// The bytes of a part.
    pub(super) fn part<'a>(
        &self,
        source: &mut dyn ByteSource<'a>,
        part: Part,
    ) -> Result<Cow<'a, [u8]>> {
        let place = part as usize;
        let (Some((range, checksum)), Some(name)) = (self.parts.get(place), PARTS.get(place))
        else {
            return Err(bug!("a part has no place"));
        };
        let bytes = source.bytes(range.clone())?;
        if hash(&bytes) == *checksum { Ok(bytes) } else { Err(damaged(name)) }
    }

    /// The chunks of leaves that contain these bytes, and the range of the chunks' bytes.
    /// `checksums` is the part of all chunks; `named` names the leaves in damaged bytes.
    pub(super) fn chunks<'a>(
        &self,
        source: &mut dyn ByteSource<'a>,
        checksums: &[u8],
        bytes: &Range<u64>,
        named: impl FnOnce(Range<u64>) -> String,
    ) -> Result<(Range<u64>, Cow<'a, [u8]>)> {
        let Range { start, end } = self.leaves;
        let first = bytes.start / CHUNK;
        let at = first * CHUNK;
        let last = bytes.end.next_multiple_of(CHUNK).min(end - start);
        let read = source.bytes(start + at..start + last)?;
        let checksums = checksums.chunks_exact(4).skip(near(first));
        let (mut chunk_start, mut damage) = (at, None::<Range<u64>>);
        for (chunk, checksum) in read.chunks(near(CHUNK)).zip(checksums) {
            let chunk_end = chunk_start + wide(chunk.len());
            if hash(chunk).to_le_bytes() != *checksum {
                let start = damage.map_or(chunk_start, |damage| damage.start);
                damage = Some(start..chunk_end);
            }
            chunk_start = chunk_end;
        }
        match damage {
            None => Ok((at..last, read)),
            Some(damage) => Err(damaged(&named(damage))),
        }
    }
}

impl Header {
    fn check(start: &[u8], expected: Kind, limits: Limits) -> Result<Self> {
        let magic = start.get(..MAGIC.len()).unwrap_or(start);
        if magic.is_empty() || !MAGIC.starts_with(magic) {
            return Err(not_ours(start, expected));
        }
        let (mut bytes, short) = (start, || cut_off(wide(HEADER), wide(start.len())));
        let header = Header::read(&mut bytes).ok_or_else(short)?;
        let checksum = u32::read(&mut bytes).ok_or_else(short)?;
        if start.get(..Header::BYTES).map(hash) != Some(checksum) {
            return Err(damaged("the header"));
        }
        let known = |what, found: u32, known, is_known: bool| {
            if is_known {
                Ok(())
            } else {
                Err(Error::from(Cause::Unsupported { what, found, known }))
            }
        };
        check(header.format > 0, "no release wrote this format")?;
        known("format", header.format.into(), "1", header.format == FORMAT)?;
        let unknown = header.options & !(INSERTION | NONE_IS_LEAF | COMPACT);
        known("option", unknown, "1, 2 and 4", unknown == 0)?;
        let kind = [Kind::TreeDef, Kind::Tree].into_iter().find(|it| *it as u16 == header.kind);
        known("kind", header.kind.into(), "1 and 2", kind.is_some())?;
        if let Some(kind) = kind.filter(|kind| *kind != expected) {
            let (expected, found) = (expected.name(), kind.name().to_owned());
            let error = Error::from(Cause::FileKind { expected, found });
            return Err(error.with_hint(match kind {
                Kind::Tree => "`Tree::load` and `Tree::from_bytes` read it",
                Kind::TreeDef => "`TreeDef::load` and `TreeDef::from_bytes` read it",
            }));
        }
        let [structure, of_leaves @ ..] = header.lengths;
        check(expected == Kind::Tree || of_leaves == [0; 4], "a treedef has leaves")?;
        limits.expect_bytes(usize::try_from(structure).unwrap_or(usize::MAX))?;
        limits.expect_nodes(usize::try_from(header.nodes).unwrap_or(usize::MAX))?;
        Ok(header)
    }
}

impl Kind {
    fn noun(self) -> &'static str {
        match self {
            Kind::TreeDef => "a file with a treedef",
            Kind::Tree => "a file with a tree",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::TreeDef => "a treedef alone",
            Kind::Tree => "a tree with its leaves",
        }
    }
}

pub(super) fn option_bits(options: Options) -> u32 {
    let Options { insertion, none_is_leaf, compact } = options;
    let bit = |set: bool, bit: u32| if set { bit } else { 0 };
    bit(insertion, INSERTION) | bit(none_is_leaf, NONE_IS_LEAF) | bit(compact, COMPACT)
}

fn options_of(bits: u32) -> Options {
    let is_set = |bit: u32| bits & bit != 0;
    Options {
        insertion: is_set(INSERTION),
        none_is_leaf: is_set(NONE_IS_LEAF),
        compact: is_set(COMPACT),
    }
}

/// Checks that the length of a file is the length in its header.
fn check_length(expected: u64, found: u64) -> Result<()> {
    match found.checked_sub(expected) {
        None => Err(cut_off(expected, found)),
        Some(0) => Ok(()),
        Some(extra) => {
            let bytes = if extra == 1 { "byte" } else { "bytes" };
            let message =
                format!("expected the end after {expected} bytes, found {extra} {bytes} more");
            Err(Cause::Damaged(message).into())
        }
    }
}

fn check(holds: bool, reason: &'static str) -> Result<()> {
    if holds { Ok(()) } else { Err(invalid("the header", reason)) }
}

#[cold]
fn damaged(part: &str) -> Error {
    Cause::Damaged(format!("damage in {part}: the checksum does not match")).into()
}

#[cold]
pub(super) fn cut_off(expected: u64, found: u64) -> Error {
    let message = format!("cut off: expected at least {expected} bytes, found {found}");
    Cause::Damaged(message).into()
}

/// The error for bytes that are not a file of this library. It names their probable format.
#[cold]
fn not_ours(start: &[u8], expected: Kind) -> Error {
    let known: [(&[u8], &str); 7] = [
        (b"\x89PNG", "a PNG image"),
        (b"\x7fELF", "an ELF program"),
        (b"PK\x03\x04", "a zip archive"),
        (b"\x1f\x8b", "a gzip archive"),
        (b"\x28\xb5\x2f\xfd", "a zstd archive"),
        (b"\x89HDF", "an HDF5 file"),
        (b"\x93NUMPY", "a NumPy array"),
    ];
    let found = match known.iter().find(|(magic, _)| start.starts_with(magic)) {
        Some((_, name)) => (*name).to_owned(),
        None if start.is_empty() => "nothing".to_owned(),
        None if start.iter().all(|byte| *byte == 0) => "zeros".to_owned(),
        None => match beginning_of_text(start) {
            Some(text) => format!("a text that begins with `{text}`"),
            None => {
                let first = start.get(..8).unwrap_or(start);
                format!("bytes that begin with `{}`", first.escape_ascii())
            }
        },
    };
    let error = Error::from(Cause::FileKind { expected: expected.noun(), found });
    // These three letters usually survive a transfer as text or a wrong encoding.
    if start.get(..8).unwrap_or(start).windows(3).any(|letters| letters == b"PYT") {
        error.with_hint("it was one, and a transfer or an editor changed it as text")
    } else {
        error
    }
}

/// The first characters, if they look like text.
fn beginning_of_text(start: &[u8]) -> Option<String> {
    let first = start.get(..24).unwrap_or(start);
    let whole = match str::from_utf8(first) {
        Ok(text) => text,
        // The bytes may end inside of a character.
        Err(error) if error.error_len().is_none() => {
            str::from_utf8(first.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    let is_text = |char: char| !char.is_control() || char.is_ascii_whitespace();
    let spaced = |char: char| if char.is_control() { ' ' } else { char };
    let shown: String = whole.chars().map(spaced).collect();
    whole.chars().all(is_text).then(|| shown.trim().to_owned())
}
