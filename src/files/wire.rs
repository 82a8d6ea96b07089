//! The rows of a file: flat, of fixed width, and independent of the types in memory.

use bincode::config;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::bug::{OrBug, bug};
use crate::error::{Cause, Error, Result};
use crate::model::{LeafKind, NodeKind};

/// The tables that describe nodes.
pub(super) struct Tables<'a> {
    /// All names, one after another. Each is stored once, in the order of the first use below.
    pub(super) text: &'a str,
    /// The number of bytes of each name.
    pub(super) names: Vec<u32>,
    pub(super) node_data: Vec<NodeDataRow>,
    /// Beside each row of `node_data`: the names of its fields, or the numbers of its keys or its
    /// static.
    pub(super) labels: Vec<u32>,
}

/// The keys and statics, if there are any. Their scalars follow: see [`super::scalars`].
#[derive(Default)]
pub(super) struct Values {
    /// A value comes after the values that are keys of its own maps.
    pub(super) rows: Vec<ValueRow>,
    pub(super) scalars: ScalarRows,
}

/// The number of rows of each table that belong to a value, after those of the previous value. A
/// scalar has no nodes.
#[derive(Clone, Copy)]
pub(super) struct ValueRow {
    pub(super) nodes: u32,
    pub(super) node_data: u32,
    pub(super) scalars: u32,
}

#[derive(Clone, Copy)]
pub(super) struct NodeDataRow {
    pub(super) name: u32,
    pub(super) variant: u32,
    pub(super) form: u8,
    pub(super) labels: u32,
}

/// One run of equal siblings. The rows follow their number, which has 64 bits.
#[derive(Clone, Copy)]
pub(super) struct NodeRow {
    pub(super) kind: u8,
    /// The index of the node data in the same structure, numbered by first use; or [`NO_INDEX`].
    pub(super) data: u32,
    pub(super) span: u32,
    pub(super) repeat: u64,
}

impl NodeRow {
    pub(super) const BYTES: usize = 17;
}

/// Describes the bytes after it: runs of scalars of one kind.
#[derive(Default)]
pub(super) struct ScalarRows {
    pub(super) runs: Vec<KindRow>,
    /// The number of bytes of each `str` and `bytes`.
    pub(super) lengths: Vec<u64>,
}

#[derive(Clone, Copy)]
pub(super) struct KindRow {
    pub(super) kind: u8,
    pub(super) count: u64,
}

/// The insertion orders of maps. `positions` contains those of one map after another.
#[derive(Default)]
pub(super) struct Orders {
    pub(super) maps: Vec<OrderRow>,
    pub(super) positions: Vec<u64>,
}

#[derive(Clone, Copy)]
pub(super) struct OrderRow {
    /// The number of the structure: first the keys and statics, then the structure itself, then the
    /// values of opaque leaves.
    pub(super) structure: u32,
    /// The number of maps before this one in its structure.
    pub(super) map: u64,
}

/// In bincode, a struct is a sequence of its fields, like a tuple.
macro_rules! as_tuples {
    ($($name:ident: $($field:ident),+;)*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                ($(&self.$field,)+).serialize(serializer)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let ($($field,)+) = Deserialize::deserialize(deserializer)?;
                Ok($name { $($field),+ })
            }
        }
    )*};
}

as_tuples! {
    Values: rows, scalars;
    ValueRow: nodes, node_data, scalars;
    NodeDataRow: name, variant, form, labels;
    NodeRow: kind, data, span, repeat;
    ScalarRows: runs, lengths;
    KindRow: kind, count;
    Orders: maps, positions;
    OrderRow: structure, map;
}

impl Serialize for Tables<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.text, &self.names, &self.node_data, &self.labels).serialize(serializer)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Tables<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (text, names, node_data, labels) = Deserialize::deserialize(deserializer)?;
        Ok(Tables { text, names, node_data, labels })
    }
}

/// No node data, or the empty name.
pub(super) const NO_INDEX: u32 = u32::MAX;

pub(super) mod form {
    pub(in crate::files) const NONE: u8 = 0;
    pub(in crate::files) const FIELDS: u8 = 1;
    pub(in crate::files) const KEYS: u8 = 2;
    pub(in crate::files) const STATIC: u8 = 3;
}

pub(super) fn write(tables: &impl Serialize, part: &mut Vec<u8>) -> Result<()> {
    bincode::serde::encode_into_std_write(tables, part, config::legacy())
        .map(drop)
        // A vector fails only when memory is full.
        .map_err(|_| bug!("a table was not encoded"))
}

/// Appends a row to a table of bytes.
pub(super) fn write_row(row: &NodeRow, table: &mut Vec<u8>) -> Result<()> {
    let mut bytes = [0; NodeRow::BYTES];
    bincode::serde::encode_into_slice(row, &mut bytes, config::legacy())
        // It fits: a test checks the length of a row.
        .map_err(|_| bug!("a row has another length"))?;
    table.extend_from_slice(&bytes);
    Ok(())
}

/// Reads owned tables from the front of `part`. Before it reads a table, serde reserves at most
/// 1 MiB for it, whatever its length claims to be.
pub(super) fn read<T: DeserializeOwned>(part: &mut &[u8], name: &'static str) -> Result<T> {
    let read = bincode::serde::decode_from_slice(part, config::legacy());
    take_decoded(part, name, read)
}

/// Reads the tables of a structure from the front of `part`.
pub(super) fn read_tables<'a>(part: &mut &'a [u8], name: &'static str) -> Result<Tables<'a>> {
    let read = bincode::serde::borrow_decode_from_slice(part, config::legacy());
    take_decoded(part, name, read)
}

/// Reads rows of nodes from the front of `part`. The iterator decodes each row lazily.
pub(super) fn read_rows<'a>(
    part: &mut &'a [u8],
    name: &'static str,
) -> Result<impl ExactSizeIterator<Item = Result<NodeRow>> + use<'a>> {
    let rows: u64 = read(part, name)?;
    let bytes = usize::try_from(rows).ok().and_then(|rows| rows.checked_mul(NodeRow::BYTES));
    let split = bytes.and_then(|bytes| part.split_at_checked(bytes));
    let (table, rest) = split.ok_or_else(|| invalid(name, "a table ends early"))?;
    *part = rest;
    Ok(table.chunks_exact(NodeRow::BYTES).map(move |mut row| read(&mut row, name)))
}

fn take_decoded<T>(
    part: &mut &[u8],
    name: &'static str,
    read: Result<(T, usize), bincode::error::DecodeError>,
) -> Result<T> {
    let (tables, used) = read.map_err(|_| invalid(name, "a table ends early, or is not UTF-8"))?;
    *part = part.get(used..).or_bug();
    Ok(tables)
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

/// The codes of node kinds in files: the index in this list. They must never change.
const NODE_KINDS: [NodeKind; 16] = {
    use NodeKind as Is;
    [
        Is::Leaf,
        Is::None,
        Is::Some,
        Is::Unit,
        Is::UnitStruct,
        Is::NewtypeStruct,
        Is::Seq,
        Is::Tuple,
        Is::TupleStruct,
        Is::Map,
        Is::Struct,
        Is::UnitVariant,
        Is::NewtypeVariant,
        Is::TupleVariant,
        Is::StructVariant,
        Is::Static,
    ]
};

/// The index of an item in a list of fewer than 256 items.
fn code<T: PartialEq>(list: &[T], item: T) -> u8 {
    let place = list.iter().position(|known| *known == item);
    place.and_then(|place| u8::try_from(place).ok()).unwrap_or(u8::MAX)
}

pub(super) fn node_code(kind: NodeKind) -> u8 {
    code(&NODE_KINDS, kind)
}

pub(super) fn node_kind(code: u8) -> Option<NodeKind> {
    NODE_KINDS.get(usize::from(code)).copied()
}

/// The code of a leaf kind in files: its index in [`LeafKind::ALL`].
pub(super) fn leaf_code(kind: LeafKind) -> u8 {
    code(LeafKind::ALL, kind)
}

pub(super) fn leaf_kind(code: u8) -> Option<LeafKind> {
    LeafKind::ALL.get(usize::from(code)).copied()
}
