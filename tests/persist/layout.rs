//! The layout of format 1, written down a second time, for crafted files.

use std::io::Cursor;
use std::ops::Range;

use crc32fast::hash;
use treedef::{Leaf, Limits, Result, Tree, TreeDef, TreeReader};

pub(crate) const MAGIC: [u8; 8] = *b"\x89PYT\r\n\x1a\n";
pub(crate) const HEADER: usize = 96;
/// Where the numbers of nodes and leaves stand in the header, then the lengths of the structure, the
/// orders, the values, the kinds and the leaves, then the checksums of the parts before the leaves.
pub(crate) const COUNTS: usize = 16;
pub(crate) const LENGTHS: usize = 32;
pub(crate) const CHECKSUMS: usize = 72;
/// Of the leaves that have a checksum of their own.
pub(crate) const CHUNK: usize = 1 << 16;
pub(crate) const NONE: u32 = u32::MAX;

/// Bytes in a row of each table of a structure: text, names, node data, labels and nodes, then the
/// tables of its values.
pub(crate) const STRUCTURE: [usize; 8] = [1, 4, 13, 4, 17, 12, 9, 8];
pub(crate) const NODES: usize = 4;
pub(crate) const VALUES: usize = 5;
pub(crate) const ORDERS: [usize; 2] = [12, 8];
pub(crate) const KINDS: [usize; 2] = [9, 8];

pub(crate) enum Loaded {
    TreeDef(TreeDef),
    Tree(Tree<Leaf>),
}

impl Loaded {
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>> {
        match self {
            Loaded::TreeDef(treedef) => treedef.to_bytes(),
            Loaded::Tree(tree) => tree.to_bytes(),
        }
    }

    pub(crate) fn treedef(&self) -> &TreeDef {
        match self {
            Loaded::TreeDef(treedef) => treedef,
            Loaded::Tree(tree) => tree.treedef(),
        }
    }
}

/// Reads a file as a treedef or as a tree. A tree that is read in parts is the same.
pub(crate) fn load(bytes: &[u8]) -> Result<Loaded> {
    if let Ok(treedef) = TreeDef::from_bytes(bytes) {
        return Ok(Loaded::TreeDef(treedef));
    }
    let tree = Tree::from_bytes(bytes);
    let by_parts = TreeReader::new(Cursor::new(bytes), Limits::default());
    match (&tree, by_parts.and_then(|mut reader| reader.subtree(""))) {
        (Ok(tree), Ok(by_parts)) => assert_eq!(by_parts.to_bytes()?, tree.to_bytes()?),
        (Err(_), Err(_)) => {}
        (Err(error), Ok(_)) => panic!("by parts it was read: {error}"),
        (Ok(_), Err(error)) => panic!("by parts it was not read: {error}"),
    }
    tree.map(Loaded::Tree)
}

pub(crate) fn long(bytes: &[u8], at: usize) -> Option<usize> {
    let field = bytes.get(at..)?.first_chunk()?;
    usize::try_from(u64::from_le_bytes(*field)).ok()
}

pub(crate) fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    bytes[at..at + field.len()].copy_from_slice(field);
}

/// A header whose checksums do not fit yet: of a treedef or a tree, with the numbers of nodes and
/// leaves, and the lengths of its parts.
pub(crate) fn header(is_tree: bool, flags: u8, counts: [u64; 2], lengths: [u64; 5]) -> Vec<u8> {
    let mut header = MAGIC.to_vec();
    header.extend([1, 0, 1 + u8::from(is_tree), 0, flags, 0, 0, 0]);
    header.extend(counts.into_iter().chain(lengths).flat_map(u64::to_le_bytes));
    header.resize(HEADER, 0);
    header
}

/// Where the parts are, as far as their lengths lead to any: the structure, the orders, the values,
/// the kinds, the checksums of the chunks of leaves, and the leaves.
pub(crate) fn parts(bytes: &[u8]) -> Vec<Range<usize>> {
    let [structure, orders, values, kinds, leaves] =
        [0, 1, 2, 3, 4].map(|part| long(bytes, LENGTHS + 8 * part));
    let chunks = leaves.and_then(|leaves| leaves.div_ceil(CHUNK).checked_mul(4));
    let mut end = HEADER;
    let parts = [structure, orders, values, kinds, chunks, leaves].into_iter();
    let parts = parts.map_while(|length| {
        let start = end;
        end = start.checked_add(length?).filter(|end| *end <= bytes.len())?;
        Some(start..end)
    });
    parts.collect()
}

/// Makes all checksums fit, as far as the lengths in the file lead to parts.
pub(crate) fn repair(bytes: &mut [u8]) {
    repair_all(bytes, 0);
}

/// The same, except that the checksum of the leaves has wrong bits.
pub(crate) fn repair_all(bytes: &mut [u8], wrong: u32) {
    if bytes.len() < HEADER {
        return;
    }
    let parts = parts(bytes);
    if let Some(chunks) = parts.get(4) {
        let (before, leaves) = bytes.split_at_mut(chunks.end);
        let checksums = before[chunks.start..].chunks_mut(4);
        for (checksum, block) in checksums.zip(leaves.chunks(CHUNK)) {
            put(checksum, 0, &(hash(block) ^ wrong).to_le_bytes());
        }
    }
    for (at, part) in parts.into_iter().take(5).enumerate() {
        let checksum = hash(&bytes[part]);
        put(bytes, CHECKSUMS + 4 * at, &checksum.to_le_bytes());
    }
    let checksum = hash(&bytes[..HEADER - 4]);
    put(bytes, HEADER - 4, &checksum.to_le_bytes());
}

/// The positions of the lengths, in the header and in every table.
pub(crate) fn lengths(bytes: &[u8]) -> Vec<usize> {
    let mut found: Vec<usize> = (COUNTS..CHECKSUMS).step_by(8).collect();
    let parts = parts(bytes);
    let [structure, orders, values, kinds] = [0, 1, 2, 3].map(|part: usize| &parts[part]);
    found.extend(lengths_of_values(bytes, structure.start, structure.end));
    if !orders.is_empty() {
        found.extend(lengths_of_tables(bytes, orders.start, &ORDERS));
    }
    if !values.is_empty() {
        found.extend(lengths_of_values(bytes, values.start, values.end));
    }
    if !kinds.is_empty() {
        found.extend(lengths_of_tables(bytes, kinds.start, &KINDS));
    }
    found
}

/// Where the length stands of the part that is around a place.
pub(crate) fn around(bytes: &[u8], place: usize) -> Option<usize> {
    let part = parts(bytes).iter().position(|part| part.contains(&place))?;
    Some(LENGTHS + 8 * part.min(4))
}

/// The tables of structures from `start` on, and the tables of the values unless the part ends there.
fn lengths_of_values(bytes: &[u8], start: usize, end: usize) -> Vec<usize> {
    let mut found = lengths_of_tables(bytes, start, &STRUCTURE[..VALUES]);
    let values = found[NODES] + 8 + STRUCTURE[NODES] * long(bytes, found[NODES]).unwrap();
    if values < end {
        found.extend(lengths_of_tables(bytes, values, &STRUCTURE[VALUES..]));
    }
    found
}

fn lengths_of_tables(bytes: &[u8], mut at: usize, widths: &[usize]) -> Vec<usize> {
    let mut found = Vec::new();
    for width in widths {
        found.push(at);
        at += 8 + width * long(bytes, at).unwrap();
    }
    found
}

/// The name of a node in a file.
pub(crate) mod kind {
    pub(crate) const LEAF: u8 = 0;
    pub(crate) const NONE: u8 = 1;
    pub(crate) const UNIT: u8 = 3;
    pub(crate) const SEQ: u8 = 6;
    pub(crate) const MAP: u8 = 9;
    pub(crate) const STRUCT: u8 = 10;
    pub(crate) const STATIC: u8 = 15;
}
