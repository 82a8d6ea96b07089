//! Scalars in a file: runs of one kind, then the bytes of each scalar. Kinds and bits are kept.

use std::ops::Range;

use crate::bug::OrBug;
use crate::error::Result;
use crate::leaf::Scalar;
use crate::leaf::each_scalar;
use crate::model::LeafKind;

use super::wire::{KindRow, invalid, leaf_code, leaf_kind, near, read_table, wide, write_table};

const FEWER: &str = "it has too few scalars";
const MORE: &str = "it has too many scalars";

/// Describes the bytes after it: runs of scalars of one kind.
#[derive(Default)]
pub(super) struct ScalarRows {
    pub(super) runs: Vec<KindRow>,
    /// The number of bytes of each `str` and `bytes`.
    pub(super) lengths: Vec<u64>,
}

impl ScalarRows {
    pub(super) fn write(&self, part: &mut Vec<u8>) {
        write_table(&self.runs, part);
        write_table(&self.lengths, part);
    }

    pub(super) fn read(part: &mut &[u8], name: &'static str) -> Result<Self> {
        let rows = ScalarRows { runs: read_table(part, name)?, lengths: read_table(part, name)? };
        for run in &rows.runs {
            if run.count == 0 || leaf_kind(run.kind).is_none() {
                return Err(invalid(name, "a run of scalars is empty or of an unknown kind"));
            }
        }
        if rows.runs.windows(2).any(|pair| matches!(pair, [a, b] if a.kind == b.kind)) {
            return Err(invalid(name, "neighbouring runs of scalars are of one kind"));
        }
        Ok(rows)
    }
}

/// The kind of a run, checked when it was read.
fn kind_of(run: KindRow) -> LeafKind {
    let kind = leaf_kind(run.kind);
    debug_assert!(kind.is_some(), "a run has an unknown kind");
    kind.unwrap_or(LeafKind::None)
}

#[derive(Default)]
pub(super) struct ScalarWriter {
    pub(super) rows: ScalarRows,
    pub(super) bits: Vec<u8>,
}

impl ScalarWriter {
    pub(super) fn push(&mut self, scalar: Scalar<'_>) {
        self.count(scalar.kind());
        let bits = &mut self.bits;
        each_scalar! { [integers floats] ($kind $type) => {
            match scalar {
                Scalar::Bool(value) => bits.push(value.into()),
                $(Scalar::$kind(value) => bits.extend_from_slice(&value.to_le_bytes()),)*
                Scalar::Char(value) => bits.extend_from_slice(&u32::from(value).to_le_bytes()),
                Scalar::Str(value) => self.push_bytes(value.as_bytes()),
                Scalar::Bytes(value) => self.push_bytes(value),
                // One byte, so that every leaf takes space in the file.
                Scalar::None => bits.push(0),
            }
        }}
    }

    /// Adds a placeholder for an opaque leaf. Its value is in another part.
    pub(super) fn push_opaque(&mut self) {
        self.count(LeafKind::Opaque);
        self.bits.push(0);
    }

    fn push_bytes(&mut self, bytes: &[u8]) {
        self.rows.lengths.push(wide(bytes.len()));
        self.bits.extend_from_slice(bytes);
    }

    fn count(&mut self, kind: LeafKind) {
        let kind = leaf_code(kind);
        match self.rows.runs.last_mut() {
            // Cannot overflow: the scalars are in memory.
            Some(run) if run.kind == kind => run.count += 1,
            _ => self.rows.runs.push(KindRow { kind, count: 1 }),
        }
    }
}

/// The scalars of a part, and their places.
pub(super) struct Selection {
    pub(super) rows: ScalarRows,
    /// The position in the bytes after the tables.
    pub(super) bytes: Range<u64>,
    /// The number among the opaque leaves.
    pub(super) opaque: Range<u64>,
}

/// The tables of a part. Any scalar can be found without reading all.
pub(super) struct IndexedRows {
    rows: ScalarRows,
    /// The beginning of every 64th run. A place for each run would use more memory than the tables.
    runs: Vec<RowOffsets>,
    /// The sum of the lengths before every 64th length, and of all.
    sums: Vec<u64>,
    /// The end of the last run.
    end: RowOffsets,
}

/// The distance of indexed scalars.
const STRIDE: usize = 64;

/// The sizes before a scalar. A hostile file may exceed 64 bits, but then it exceeds the part, too.
#[derive(Clone, Copy, Default)]
struct RowOffsets {
    scalars: u64,
    bytes: u64,
    opaque: u64,
    lengths: u64,
}

impl IndexedRows {
    /// Checks that the tables describe this number of scalars and of bytes.
    pub(super) fn new(
        rows: ScalarRows,
        part: &'static str,
        scalars: u64,
        bytes: u64,
    ) -> Result<Self> {
        let (mut sum, mut sums) = (0u64, vec![0]);
        sums.extend(rows.lengths.chunks(STRIDE).map(|lengths| {
            sum = lengths.iter().fold(sum, |sum, length| sum.saturating_add(*length));
            sum
        }));
        let end = RowOffsets::default();
        let mut indexed = IndexedRows { rows, runs: Vec::new(), sums, end };
        for runs in indexed.rows.runs.chunks(STRIDE) {
            indexed.runs.push(indexed.end);
            indexed.end =
                runs.iter().fold(indexed.end, |place, run| indexed.after(place, run, run.count));
        }
        let end = indexed.end;
        let there = [scalars, wide(indexed.rows.lengths.len()), bytes];
        let needed = [end.scalars, end.lengths, end.bytes];
        if there == needed {
            return Ok(indexed);
        }
        let is_short = there.iter().zip(needed).any(|(there, needed)| *there < needed);
        Err(invalid(part, if is_short { FEWER } else { MORE }))
    }

    /// The number of opaque leaves.
    pub(super) fn opaque(&self) -> u64 {
        self.end.opaque
    }

    /// The sum of the first lengths.
    fn sum(&self, count: u64) -> u64 {
        let lengths = &self.rows.lengths;
        let count = near(count).min(lengths.len()); // more if the file is hostile
        let before = count / STRIDE;
        let lengths = lengths.get(before * STRIDE..count).or_bug();
        let sum = self.sums.get(before).copied().or_bug();
        lengths.iter().fold(sum, |sum, length| sum.saturating_add(*length))
    }

    /// The place behind `count` scalars of a run, which begins at `place`.
    fn after(&self, place: RowOffsets, run: &KindRow, count: u64) -> RowOffsets {
        let kind = kind_of(*run);
        let mut after = RowOffsets { scalars: place.scalars.saturating_add(count), ..place };
        if kind == LeafKind::Opaque {
            after.opaque = place.opaque.saturating_add(count);
        }
        let bytes = match kind.width() {
            Some(width) => count.saturating_mul(width),
            None => {
                after.lengths = place.lengths.saturating_add(count);
                self.sum(after.lengths) - self.sum(place.lengths)
            }
        };
        after.bytes = place.bytes.saturating_add(bytes);
        after
    }

    /// The runs from the last indexed one whose beginning satisfies the predicate, each with its
    /// place.
    fn from(
        &self,
        is_before: impl Fn(&RowOffsets) -> bool,
    ) -> impl Iterator<Item = (RowOffsets, KindRow)> {
        let first = self.runs.partition_point(is_before).saturating_sub(1);
        let mut next = self.runs.get(first).copied().unwrap_or_default();
        self.rows.runs.iter().skip(first * STRIDE).map(move |run| {
            let place = next;
            next = self.after(place, run, run.count);
            (place, *run)
        })
    }

    /// The existing scalars of a range.
    pub(super) fn select(&self, range: &Range<u64>) -> Selection {
        let (mut start, mut end, mut runs) = (None, RowOffsets::default(), Vec::new());
        for (place, run) in self.from(|run| run.scalars <= range.start) {
            if range.is_empty() || place.scalars >= range.end {
                break;
            }
            let before = range.start.saturating_sub(place.scalars);
            if before < run.count {
                let count = run.count.min(range.end - place.scalars) - before;
                let begin = self.after(place, &run, before);
                end = self.after(begin, &run, count);
                start.get_or_insert(begin);
                runs.push(KindRow { kind: run.kind, count });
            }
        }
        let start = start.unwrap_or(end);
        let lengths = self.rows.lengths.get(near(start.lengths)..near(end.lengths)).or_bug();
        Selection {
            rows: ScalarRows { runs, lengths: lengths.to_vec() },
            bytes: start.bytes..end.bytes,
            opaque: start.opaque..end.opaque,
        }
    }

    /// The index of the scalar that contains a byte.
    pub(super) fn scalar_at(&self, byte: u64) -> u64 {
        let last =
            self.from(|run| run.bytes <= byte).take_while(|(run, _)| run.bytes <= byte).last();
        let Some((place, run)) = last else { return 0 };
        let (mut low, mut high) = (0, run.count);
        while low + 1 < high {
            let middle = low.midpoint(high);
            if self.after(place, &run, middle).bytes <= byte { low = middle } else { high = middle }
        }
        place.scalars + low
    }
}

impl LeafKind {
    /// The number of bytes of a scalar of this kind. `None` if it varies.
    fn width(self) -> Option<u64> {
        match self {
            LeafKind::None | LeafKind::Opaque => Some(1),
            kind => kind.size().map(wide),
        }
    }
}

/// A leaf of a file.
pub(super) enum FileLeaf<'a> {
    Scalar(Scalar<'a>),
    Opaque,
}

pub(super) struct ScalarReader<'a> {
    /// The name of the part in errors.
    part: &'static str,
    runs: std::vec::IntoIter<KindRow>,
    kind: LeafKind,
    left_in_run: u64,
    lengths: std::vec::IntoIter<u64>,
    bits: &'a [u8],
}

impl<'a> ScalarReader<'a> {
    pub(super) fn new(part: &'static str, rows: ScalarRows, bits: &'a [u8]) -> Self {
        let (runs, lengths) = (rows.runs.into_iter(), rows.lengths.into_iter());
        ScalarReader { part, runs, kind: LeafKind::None, left_in_run: 0, lengths, bits }
    }

    /// An upper bound for the number of remaining scalars: each has at least one byte or one
    /// length.
    pub(super) fn at_most(&self) -> usize {
        self.bits.len().saturating_add(self.lengths.len())
    }

    pub(super) fn next(&mut self) -> Result<FileLeaf<'a>> {
        if self.left_in_run == 0 {
            let run = self.runs.next().ok_or_else(|| self.short())?;
            self.kind = kind_of(run);
            self.left_in_run = run.count;
        }
        self.left_in_run -= 1;
        let scalar = {
            each_scalar! { [integers floats] ($kind $type) => {
                match self.kind {
                    LeafKind::Bool => match self.take()? {
                        [0] => Scalar::Bool(false),
                        [1] => Scalar::Bool(true),
                        [_] => return Err(invalid(self.part, "a bool is neither 0 nor 1")),
                    },
                    $(LeafKind::$kind => Scalar::$kind(<$type>::from_le_bytes(self.take()?)),)*
                    LeafKind::Char => {
                        let char = char::from_u32(u32::from_le_bytes(self.take()?));
                        Scalar::Char(char.ok_or_else(|| invalid(self.part, "a char is not a valid code point"))?)
                    }
                    LeafKind::Str => {
                        let text = str::from_utf8(self.take_bytes()?);
                        Scalar::Str(text.map_err(|_| invalid(self.part, "a string is not UTF-8"))?)
                    }
                    LeafKind::Bytes => Scalar::Bytes(self.take_bytes()?),
                    LeafKind::None => {
                        self.take_nothing()?;
                        Scalar::None
                    }
                    LeafKind::Opaque => {
                        self.take_nothing()?;
                        return Ok(FileLeaf::Opaque);
                    }
                }
            }}
        };
        Ok(FileLeaf::Scalar(scalar))
    }

    /// Checks that every scalar has been read.
    pub(super) fn finish(mut self) -> Result<()> {
        let read = self.left_in_run == 0 && self.runs.next().is_none();
        if read && self.lengths.next().is_none() && self.bits.is_empty() {
            Ok(())
        } else {
            Err(invalid(self.part, MORE))
        }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.bits.split_first_chunk().ok_or_else(|| self.short())?;
        self.bits = rest;
        Ok(*taken)
    }

    fn take_nothing(&mut self) -> Result<()> {
        match self.take()? {
            [0] => Ok(()),
            [_] => Err(invalid(self.part, "the byte of an absent value is not 0")),
        }
    }

    fn take_bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.lengths.next().and_then(|length| usize::try_from(length).ok());
        let split = length.and_then(|length| self.bits.split_at_checked(length));
        let (taken, rest) = split.ok_or_else(|| self.short())?;
        self.bits = rest;
        Ok(taken)
    }

    #[cold]
    fn short(&self) -> crate::error::Error {
        invalid(self.part, FEWER)
    }
}
