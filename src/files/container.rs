//! The container format of a file: its header, lengths and checksums.

use std::ops::RangeInclusive;

use crc32c::{crc32c, crc32c_append};

use crate::bug::bug;
use crate::error::{Cause, Error, Result};
use crate::model::{Limits, Options};

use super::wire::{self, invalid, wide};

/// What a file holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    TreeDef,
    Tree,
}

/// As in PNG: a high bit, both line endings and an end-of-file character. A transfer as text would
/// change one of them.
const MAGIC: [u8; 8] = *b"\x89PYT\r\n\x1a\n";
/// The version that this release writes, and the highest version that it reads.
const VERSION: u16 = 1;
/// bincode 2, little endian, integers of fixed width.
const BINCODE: u8 = 1;
pub(super) const HEADER: usize = 64;

/// The bits of [`Header::options`]. A reader refuses unknown bits, because it would rebuild a
/// different structure.
const INSERTION: u16 = 1;
const NONE_IS_LEAF: u16 = 2;
const COMPACT: u16 = 4;

/// The first 64 bytes of a file.
pub(super) struct Header {
    pub(super) kind: Kind,
    pub(super) options: Options,
    /// The number of bytes of the structure.
    pub(super) structure: u64,
    /// The number of rows of nodes in the structure part, including those of keys and statics.
    pub(super) nodes: u64,
    pub(super) leaves: u64,
    /// The number of bytes after the structure.
    pub(super) rest: u64,
    /// The checksum of the structure.
    pub(super) checksum: u32,
}

/// The fields of a header except its own checksum: the magic bytes, the version that a reader has
/// to know and that of the writer, the kind and the codec, the flags, the counts, and the checksum
/// of the structure.
type HeaderFields = ([u8; 8], [u16; 2], (u8, u8), u16, [u64; 5], u32);

impl Header {
    pub(super) fn write(&self) -> Result<Vec<u8>> {
        let Header { kind, options, structure, nodes, leaves, rest, checksum } = *self;
        let codes = (kind.code(), BINCODE);
        let counts = [structure, nodes, leaves, rest, 0];
        let fields: HeaderFields = (MAGIC, [VERSION; 2], codes, flags(options), counts, checksum);
        let mut header = Vec::with_capacity(HEADER);
        wire::write(&fields, &mut header)?;
        wire::write(&crc32c(&header), &mut header)?;
        Ok(header)
    }

    /// Reads the header of a file. `start` is the whole file or its first 64 bytes.
    pub(super) fn read(start: &[u8], expected: Kind, limits: Limits) -> Result<Self> {
        let magic = start.get(..MAGIC.len()).unwrap_or(start);
        if magic.is_empty() || !MAGIC.starts_with(magic) {
            return Err(not_ours(start, expected));
        }
        let header: &[u8; HEADER] =
            start.first_chunk().ok_or_else(|| cut_off(wide(HEADER), wide(start.len())))?;
        if crc32c(&header[..HEADER - 4]).to_le_bytes() != header[HEADER - 4..] {
            return Err(damaged("the header"));
        }
        let (_, [version, written], (kind, codec), flags, counts, checksum): HeaderFields =
            wire::read(&mut &header[..], "the header")?;
        let known = |what, found: u16, known, is_known: bool| {
            if is_known {
                Ok(())
            } else {
                Err(Error::from(Cause::Unsupported { what, found, known }))
            }
        };
        known("format version", version, "up to 1", version <= VERSION)?;
        let of_version = (1..=written).contains(&version);
        check(of_version, "no release wrote this version")?;
        known("codec", codec.into(), "1", codec == BINCODE)?;
        let unknown = flags & !(INSERTION | NONE_IS_LEAF | COMPACT);
        known("flag", unknown, "1, 2 and 4", unknown == 0)?;
        let kind = Kind::of(kind).ok_or_else(|| {
            Error::from(Cause::Unsupported { what: "kind", found: kind.into(), known: "1 and 2" })
        })?;
        if kind != expected {
            let (expected, found) = (expected.name(), kind.name().to_owned());
            let error = Error::from(Cause::FileKind { expected, found });
            return Err(match kind {
                Kind::Tree => error.with_hint("`Tree::load` and `Tree::from_bytes` read it"),
                Kind::TreeDef => {
                    error.with_hint("`TreeDef::load` and `TreeDef::from_bytes` read it")
                }
            });
        }
        let [structure, nodes, leaves, rest, reserved] = counts;
        check(reserved == 0, "the reserved bytes are not 0")?;
        check(kind == Kind::Tree || rest == 0, "a treedef has leaves")?;
        limits.expect_bytes(usize::try_from(structure).unwrap_or(usize::MAX))?;
        limits.expect_nodes(usize::try_from(nodes).unwrap_or(usize::MAX))?;
        Ok(Header { kind, options: options(flags), structure, nodes, leaves, rest, checksum })
    }

    /// The number of bytes of the whole file.
    pub(super) fn total(&self) -> Result<u64> {
        let total =
            self.structure.checked_add(self.rest).and_then(|body| body.checked_add(wide(HEADER)));
        total.ok_or_else(|| invalid("the header", "its lengths are beyond 64 bits"))
    }

    /// Splits a whole file, without its header, into the structure and the rest.
    pub(super) fn parts<'a>(&self, file: &'a [u8]) -> Result<(&'a [u8], &'a [u8])> {
        let expected = self.total()?;
        check_length(expected, wide(file.len()))?;
        let (_, body) = file.split_at_checked(HEADER).ok_or_else(too_short)?;
        let structure = usize::try_from(self.structure).map_err(|_| Cause::TooLarge)?;
        let (structure, rest) = body.split_at_checked(structure).ok_or_else(too_short)?;
        self.verify(structure)?;
        Ok((structure, rest))
    }

    pub(super) fn verify(&self, structure: &[u8]) -> Result<()> {
        let fits = crc32c(structure) == self.checksum;
        if fits { Ok(()) } else { Err(damaged("the structure")) }
    }
}

/// The parts of a tree's file after the structure. All except `leaves` have been verified.
///
/// The leaves have one checksum for every [`CHUNK`], so the damaged leaves can be found.
pub(super) struct Trailer<'a> {
    pub(super) orders: &'a [u8],
    pub(super) values: &'a [u8],
    pub(super) kinds: &'a [u8],
    pub(super) leaves: &'a [u8],
    /// One for each chunk of the leaves.
    checksums: &'a [u8],
}

pub(super) const ORDERS: &str = "the order of maps";
pub(super) const VALUES: &str = "the values among the leaves";
pub(super) const KINDS: &str = "the kinds of the leaves";
const TABLE: &str = "the table of parts";

/// The number of bytes of leaves that share a checksum.
pub(super) const CHUNK: usize = 1 << 16;
/// Four lengths, three checksums of parts, and one of the table and the chunks' checksums.
pub(super) const TABLE_BYTES: usize = 48;

/// How long the parts of a tree's file after the structure are, and their checksums.
pub(super) struct Table {
    pub(super) lengths: [u64; 4],
    checksums: [u32; 3],
    checksum: u32,
    /// The checksum that this table gives, before those of the chunks.
    found: u32,
}

impl Table {
    pub(super) fn read(table: &[u8]) -> Result<Self> {
        let table: &[u8; TABLE_BYTES] = table.first_chunk().ok_or_else(lengths_do_not_fit)?;
        let (lengths, checksums, checksum) = wire::read(&mut &table[..], TABLE)?;
        Ok(Table { lengths, checksums, checksum, found: crc32c(&table[..TABLE_BYTES - 4]) })
    }

    /// How many of the bytes after the table are the checksums of chunks.
    pub(super) fn bytes_of_checksums(&self) -> Result<u64> {
        let [.., leaves] = self.lengths;
        leaves.div_ceil(wide(CHUNK)).checked_mul(4).ok_or_else(lengths_do_not_fit)
    }

    /// Checks that these are the checksums of the chunks.
    pub(super) fn verify(&self, checksums: &[u8]) -> Result<()> {
        let fits = crc32c_append(self.found, checksums) == self.checksum;
        if fits { Ok(()) } else { Err(damaged(TABLE)) }
    }

    /// Checks the first three parts. `None` is a part that is not read.
    pub(super) fn verify_parts(&self, parts: [Option<&[u8]>; 3]) -> Result<()> {
        for ((part, name), checksum) in
            parts.into_iter().zip([ORDERS, VALUES, KINDS]).zip(self.checksums)
        {
            if part.is_some_and(|part| crc32c(part) != checksum) {
                return Err(damaged(name));
            }
        }
        Ok(())
    }
}

/// The error if the lengths in a table do not fit each other.
#[cold]
pub(super) fn lengths_do_not_fit() -> Error {
    invalid(TABLE, "its lengths do not fit")
}

/// The error if a table leads beyond the file before it was verified: the table is damaged.
#[cold]
pub(super) fn damaged_table() -> Error {
    damaged(TABLE)
}

impl<'a> Trailer<'a> {
    pub(super) fn write(parts: [&[u8]; 3], leaves: &[u8]) -> Result<Vec<u8>> {
        let [orders, values, kinds] = parts;
        let lengths = [orders, values, kinds, leaves].map(|part| wide(part.len()));
        let mut table = Vec::with_capacity(TABLE_BYTES);
        wire::write(&(lengths, parts.map(crc32c)), &mut table)?;
        let mut chunks = Vec::new();
        for chunk in leaves.chunks(CHUNK) {
            chunks.extend_from_slice(&crc32c(chunk).to_le_bytes());
        }
        wire::write(&crc32c_append(crc32c(&table), &chunks), &mut table)?;
        Ok([&table, &chunks, orders, values, kinds, leaves].concat())
    }

    /// Splits the bytes after the structure into parts.
    pub(super) fn read(rest: &'a [u8]) -> Result<Self> {
        let table = Table::read(rest)?;
        let (_, rest) = rest.split_at_checked(TABLE_BYTES).ok_or_else(lengths_do_not_fit)?;
        let length = |length: u64| usize::try_from(length).map_err(|_| lengths_do_not_fit());
        let checksums = length(table.bytes_of_checksums()?)?;
        let (checksums, mut rest) = rest.split_at_checked(checksums).ok_or_else(damaged_table)?;
        table.verify(checksums)?;
        let mut parts = [rest; 4];
        for (part, bytes) in parts.iter_mut().zip(table.lengths) {
            (*part, rest) = rest.split_at_checked(length(bytes)?).ok_or_else(lengths_do_not_fit)?;
        }
        if !rest.is_empty() {
            return Err(lengths_do_not_fit());
        }
        let [orders, values, kinds, leaves] = parts;
        table.verify_parts([orders, values, kinds].map(Some))?;
        Ok(Trailer { orders, values, kinds, leaves, checksums })
    }

    /// The range of the leaves' bytes from the first damaged chunk to the last, or `None`.
    pub(super) fn damage(&self) -> Option<RangeInclusive<usize>> {
        let chunks = self.leaves.chunks(CHUNK).zip(self.checksums.chunks(4)).enumerate();
        let mut damaged = chunks
            .filter(|(_, (chunk, checksum))| crc32c(chunk).to_le_bytes() != **checksum)
            .map(|(index, (chunk, _))| (index * CHUNK, index * CHUNK + chunk.len() - 1));
        let (first, end) = damaged.next()?;
        Some(first..=damaged.next_back().map_or(end, |(_, end)| end))
    }
}

impl Kind {
    fn code(self) -> u8 {
        match self {
            Kind::TreeDef => 1,
            Kind::Tree => 2,
        }
    }

    fn of(code: u8) -> Option<Self> {
        [Kind::TreeDef, Kind::Tree].into_iter().find(|kind| kind.code() == code)
    }

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

pub(super) fn flags(options: Options) -> u16 {
    let Options { insertion, none_is_leaf, compact } = options;
    let flag = |set: bool, bit: u16| if set { bit } else { 0 };
    flag(insertion, INSERTION) | flag(none_is_leaf, NONE_IS_LEAF) | flag(compact, COMPACT)
}

fn options(flags: u16) -> Options {
    let is_set = |bit: u16| flags & bit != 0;
    Options {
        insertion: is_set(INSERTION),
        none_is_leaf: is_set(NONE_IS_LEAF),
        compact: is_set(COMPACT),
    }
}

/// Checks that a file has as many bytes as its header says.
pub(super) fn check_length(expected: u64, found: u64) -> Result<()> {
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
pub(super) fn damaged(part: &str) -> Error {
    Cause::Damaged(format!("damage in {part}: the checksum does not fit")).into()
}

#[cold]
pub(super) fn cut_off(expected: u64, found: u64) -> Error {
    let message = format!("cut off: expected at least {expected} bytes, found {found}");
    Cause::Damaged(message).into()
}

/// The error for bytes that are not a file of this library. It says what they probably are.
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
        error.with_hint(
            "it was one, and was changed by a transfer or an editor that took it for text",
        )
    } else {
        error
    }
}

/// The first characters, if they look like text.
fn beginning_of_text(start: &[u8]) -> Option<String> {
    let first = start.get(..24).unwrap_or(start);
    let whole = match str::from_utf8(first) {
        Ok(text) => text,
        // The bytes may end within a character.
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

/// The length of the file was checked before.
#[cold]
fn too_short() -> Error {
    bug!("a file is shorter than it is")
}
