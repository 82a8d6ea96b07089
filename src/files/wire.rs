//! The tables of a file: flat rows of integers of fixed width, independent of the types in memory. bincode writes and
//! reads each integer.

use bincode::config;

use crate::error::{Cause, Error, Result};
use crate::model::{LeafKind, NodeKind};

/// A number, or a row of numbers: in bincode's legacy configuration one after another, little endian.
pub(super) trait FixedWidth: Sized {
    const BYTES: usize;

    fn write(&self, out: &mut Vec<u8>);

    /// Takes it from the front of the bytes, if there are enough.
    fn read(bytes: &mut &[u8]) -> Option<Self>;
}

/// Rows are composed of numbers, so that bincode's generic code is compiled for these four types only.
macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl FixedWidth for $number {
            const BYTES: usize = size_of::<$number>();

            fn write(&self, out: &mut Vec<u8>) {
                // Only a vector that runs out of memory fails here, which ends the process.
                let written = bincode::encode_into_std_write(*self, out, config::legacy());
                debug_assert!(matches!(written, Ok(bytes) if bytes == Self::BYTES));
            }

            fn read(bytes: &mut &[u8]) -> Option<Self> {
                let (number, used) = bincode::decode_from_slice(bytes, config::legacy()).ok()?;
                *bytes = bytes.get(used..)?;
                Some(number)
            }
        }
    )*};
}

numbers! { u8 u16 u32 u64 }

impl<T: FixedWidth + Copy + Default, const N: usize> FixedWidth for [T; N] {
    const BYTES: usize = N * T::BYTES;

    fn write(&self, out: &mut Vec<u8>) {
        for number in self {
            number.write(out);
        }
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let mut numbers = [T::default(); N];
        for number in &mut numbers {
            *number = T::read(bytes)?;
        }
        Some(numbers)
    }
}

macro_rules! rows {
    ($($(#[$doc:meta])* $row:ident { $($(#[$of:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(super) struct $row {
            $($(#[$of])* pub(super) $field: $type,)*
        }

        impl $crate::files::wire::FixedWidth for $row {
            const BYTES: usize = 0 $(+ <$type as $crate::files::wire::FixedWidth>::BYTES)*;

            fn write(&self, out: &mut Vec<u8>) {
                $(self.$field.write(out);)*
            }

            fn read(bytes: &mut &[u8]) -> Option<Self> {
                Some($row { $($field: $crate::files::wire::FixedWidth::read(bytes)?,)* })
            }
        }
    )*};
}

pub(super) use rows;

rows! {
    /// The numbers of rows of each table that belong to a value, after the rows of the previous value.
    /// A scalar has no nodes.
    ValueRow {
        nodes: u32,
        node_data: u32,
        scalars: u32,
    }

    NodeDataRow {
        name: u32,
        variant: u32,
        form: u8,
        labels: u32,
    }

    /// One run of equal siblings.
    NodeRow {
        kind: u8,
        /// The index of the node data in the same structure, numbered by first use; or [`NO_INDEX`].
        data: u32,
        span: u32,
        repeat: u64,
    }

    /// A run of scalars of one kind.
    KindRow {
        kind: u8,
        count: u64,
    }

    /// The insertion order of a map.
    OrderRow {
        /// The number of the structure: first the keys and statics, then the structure itself, then
        /// the values of opaque leaves.
        structure: u32,
        /// The number of maps before this one in its structure.
        map: u64,
    }
}

/// Appends a table: the number of its rows, and the rows.
pub(super) fn write_table<T: FixedWidth>(rows: &[T], part: &mut Vec<u8>) {
    wide(rows.len()).write(part);
    part.reserve(rows.len() * T::BYTES);
    rows.iter().for_each(|row| row.write(part));
}

/// Appends a text like a table of bytes.
pub(super) fn write_text(text: &str, part: &mut Vec<u8>) {
    wide(text.len()).write(part);
    part.extend_from_slice(text.as_bytes());
}

/// Reads a table from the front of `part`.
pub(super) fn read_table<T: FixedWidth>(part: &mut &[u8], name: &'static str) -> Result<Vec<T>> {
    let mut table = take_table(part, T::BYTES, name)?;
    let mut rows = Vec::with_capacity(table.len() / T::BYTES);
    while let Some(row) = T::read(&mut table) {
        rows.push(row);
    }
    Ok(rows)
}

pub(super) fn read_text<'a>(part: &mut &'a [u8], name: &'static str) -> Result<&'a str> {
    str::from_utf8(take_table(part, 1, name)?).map_err(|_| invalid(name, "its names are not UTF-8"))
}

/// The bytes of a table whose rows have `width` bytes.
pub(super) fn take_table<'a>(
    part: &mut &'a [u8],
    width: usize,
    name: &'static str,
) -> Result<&'a [u8]> {
    let rows = u64::read(part).and_then(|rows| usize::try_from(rows).ok());
    let bytes = rows.and_then(|rows| rows.checked_mul(width));
    let split = bytes.and_then(|bytes| part.split_at_checked(bytes));
    let (table, rest) = split.ok_or_else(|| invalid(name, "a table ends early"))?;
    *part = rest;
    Ok(table)
}

/// No node data, or the empty name.
pub(super) const NO_INDEX: u32 = u32::MAX;

pub(super) mod form {
    pub(in crate::files) const NONE: u8 = 0;
    pub(in crate::files) const FIELDS: u8 = 1;
    pub(in crate::files) const KEYS: u8 = 2;
    pub(in crate::files) const STATIC: u8 = 3;
}

#[cold]
pub(super) fn invalid(part: &'static str, reason: &'static str) -> Error {
    Error::invalid_file(part, reason)
}

/// A number of rows, which has 32 bits in a file.
pub(super) fn count(rows: usize) -> Result<u32> {
    u32::try_from(rows).ok().filter(|rows| *rows != NO_INDEX).ok_or_else(|| Cause::TooLarge.into())
}

/// A size as it is stored in a file.
pub(super) fn wide(size: usize) -> u64 {
    size as u64 // `usize` is at most 64 bits wide
}

/// A size in a file as it is in memory.
pub(super) fn near(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}

/// The codes of node kinds in files. They must never change.
macro_rules! node_kinds {
    ($($kind:ident = $code:literal)*) => {
        pub(super) fn node_code(kind: NodeKind) -> u8 {
            match kind {
                $(NodeKind::$kind => $code,)*
            }
        }

        pub(super) fn node_kind(code: u8) -> Option<NodeKind> {
            Some(match code {
                $($code => NodeKind::$kind,)*
                _ => return None,
            })
        }
    };
}

node_kinds! {
    Leaf = 0
    None = 1
    Some = 2
    Unit = 3
    UnitStruct = 4
    NewtypeStruct = 5
    Seq = 6
    Tuple = 7
    TupleStruct = 8
    Map = 9
    Struct = 10
    UnitVariant = 11
    NewtypeVariant = 12
    TupleVariant = 13
    StructVariant = 14
    Static = 15
}

/// The code of a leaf kind in files: its index in [`LeafKind::ALL`].
pub(super) fn leaf_code(kind: LeafKind) -> u8 {
    kind as u8 // the same, see below
}

const _: () = {
    let (mut index, mut kinds) = (0, LeafKind::ALL);
    while let [kind, after @ ..] = kinds {
        assert!(*kind as usize == index, "a kind has another place in the list");
        (index, kinds) = (index + 1, after);
    }
};

pub(super) fn leaf_kind(code: u8) -> Option<LeafKind> {
    LeafKind::ALL.get(usize::from(code)).copied()
}
