//! The layout of format 1, written down a second time: what a crafted file is made of.

use std::io::Cursor;

use crc32c::{crc32c, crc32c_append};
use treedef::{Leaf, Limits, Result, Tree, TreeDef, TreeReader};

pub(crate) const MAGIC: [u8; 8] = *b"\x89PYT\r\n\x1a\n";
pub(crate) const HEADER: usize = 64;
/// Of the table that stands after the structure of a tree.
pub(crate) const TRAILER: usize = 48;
/// Of the leaves that have a checksum of their own.
pub(crate) const CHUNK: usize = 1 << 16;
pub(crate) const NONE: u32 = u32::MAX;

/// Bytes in a row of each table of a structure: text, names, node data, labels and nodes, then
/// those of its values.
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

/// Reads a file as whichever of the two it is. A tree comes out the same if it is read by its parts.
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

/// A header whose checksums do not fit yet: of a treedef or a tree, then the bytes of the
/// structure, its nodes and leaves, and the bytes of the rest.
pub(crate) fn header(is_tree: bool, flags: u8, fields: [u64; 4]) -> Vec<u8> {
    let mut header = MAGIC.to_vec();
    header.extend([1, 0, 1, 0, 1 + u8::from(is_tree), 1, flags, 0]);
    header.extend(fields.into_iter().flat_map(u64::to_le_bytes));
    header.resize(HEADER, 0);
    header
}

/// Makes all checksums fit, as far as the lengths in the file lead to parts.
pub(crate) fn repair(bytes: &mut [u8]) {
    repair_all(bytes, 0);
}

/// The same, but for those of the leaves, of which some bits are wrong.
pub(crate) fn repair_all(bytes: &mut [u8], wrong: u32) {
    if bytes.len() < HEADER {
        return;
    }
    if let Some((structure, rest)) =
        long(bytes, 16).and_then(|length| bytes[HEADER..].split_at_mut_checked(length))
    {
        let checksum = crc32c(structure);
        repair_rest(rest, wrong);
        put(bytes, HEADER - 8, &checksum.to_le_bytes());
    }
    let checksum = crc32c(&bytes[..HEADER - 4]);
    put(bytes, HEADER - 4, &checksum.to_le_bytes());
}

fn repair_rest(rest: &mut [u8], wrong: u32) {
    let Some((table, parts)) = rest.split_at_mut_checked(TRAILER) else { return };
    let [orders, values, kinds, leaves] = [0, 8, 16, 24].map(|at| long(table, at));
    let chunks = leaves.and_then(|leaves| leaves.div_ceil(CHUNK).checked_mul(4));
    let Some((chunks, parts)) = chunks.and_then(|length| parts.split_at_mut_checked(length)) else {
        return;
    };
    let mut parts = &*parts;
    for (length, at) in [orders, values, kinds].into_iter().zip([32, 36, 40]) {
        let split = length.and_then(|length| parts.split_at_checked(length));
        let Some((part, rest)) = split else { break };
        put(table, at, &crc32c(part).to_le_bytes());
        parts = rest;
    }
    for (checksum, chunk) in chunks.chunks_mut(4).zip(parts.chunks(CHUNK)) {
        put(checksum, 0, &(crc32c(chunk) ^ wrong).to_le_bytes());
    }
    let checksum = crc32c_append(crc32c(&table[..TRAILER - 4]), chunks);
    put(table, TRAILER - 4, &checksum.to_le_bytes());
}

/// Where the lengths stand: those of the header, of the parts, and of every table.
pub(crate) fn lengths(bytes: &[u8]) -> Vec<usize> {
    let structure = HEADER + long(bytes, 16).unwrap();
    let mut found = vec![16, 24, 32, 40];
    found.extend(lengths_of_values(bytes, HEADER, structure));
    if long(bytes, 40) == Some(0) {
        return found;
    }
    found.extend([0, 8, 16, 24].map(|at| structure + at));
    let [orders, values, leaves] = [0, 8, 24].map(|at| long(bytes, structure + at).unwrap());
    let orders_start = structure + TRAILER + 4 * leaves.div_ceil(CHUNK);
    let (values_start, kinds_start) = (orders_start + orders, orders_start + orders + values);
    if orders > 0 {
        found.extend(lengths_of_tables(bytes, orders_start, &ORDERS));
    }
    if values > 0 {
        found.extend(lengths_of_values(bytes, values_start, kinds_start));
    }
    found.extend(lengths_of_tables(bytes, kinds_start, &KINDS));
    found
}

/// Where the lengths stand of what is around a place: the structure, or a part and the rest that it
/// belongs to.
pub(crate) fn around(bytes: &[u8], place: usize) -> Vec<usize> {
    let structure = HEADER + long(bytes, 16).unwrap();
    let mut found = Vec::new();
    if (HEADER..structure).contains(&place) {
        found.push(16);
    } else if place >= structure + TRAILER {
        let lengths = [0, 8, 16, 24].map(|at| structure + at);
        let [.., leaves] = lengths.map(|at| long(bytes, at).unwrap());
        let mut end = structure + TRAILER + 4 * leaves.div_ceil(CHUNK);
        let part = lengths.into_iter().find(|at| {
            end += long(bytes, *at).unwrap();
            place < end
        });
        found.extend(part.into_iter().chain([40]));
    }
    found
}

/// The tables of structures from `start` on, and those of the values unless the part is at its end.
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

/// What a node is called in a file.
pub(crate) mod kind {
    pub(crate) const LEAF: u8 = 0;
    pub(crate) const NONE: u8 = 1;
    pub(crate) const UNIT: u8 = 3;
    pub(crate) const SEQ: u8 = 6;
    pub(crate) const MAP: u8 = 9;
    pub(crate) const STRUCT: u8 = 10;
    pub(crate) const STATIC: u8 = 15;
}
