//! The layout of format 1, written down a second time: what a crafted file is made of.

use crc32c::{crc32c, crc32c_append};
use serde::Serialize;
use treedef::{Leaf, Result, Tree, TreeDef};

pub(crate) const HEADER: usize = 64;
/// Of the table that stands after the structure of a tree.
pub(crate) const TRAILER: usize = 48;
const CHUNK: usize = 1 << 16;
pub(crate) const NONE: u32 = u32::MAX;

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

/// Reads a file as whichever of the two it is.
pub(crate) fn load(bytes: &[u8]) -> Result<Loaded> {
    match TreeDef::from_bytes(bytes) {
        Ok(treedef) => Ok(Loaded::TreeDef(treedef)),
        Err(_) => Tree::from_bytes(bytes).map(Loaded::Tree),
    }
}

pub(crate) fn long(bytes: &[u8], at: usize) -> Option<usize> {
    let field = bytes.get(at..)?.first_chunk()?;
    usize::try_from(u64::from_le_bytes(*field)).ok()
}

pub(crate) fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    bytes[at..at + field.len()].copy_from_slice(field);
}

/// Makes all checksums fit, as far as the lengths in the file lead to parts.
pub(crate) fn repair(bytes: &mut [u8]) {
    if bytes.len() < HEADER {
        return;
    }
    if let Some((structure, rest)) =
        long(bytes, 16).and_then(|length| bytes[HEADER..].split_at_mut_checked(length))
    {
        let checksum = crc32c(structure);
        repair_rest(rest);
        put(bytes, HEADER - 8, &checksum.to_le_bytes());
    }
    let checksum = crc32c(&bytes[..HEADER - 4]);
    put(bytes, HEADER - 4, &checksum.to_le_bytes());
}

fn repair_rest(rest: &mut [u8]) {
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
        put(checksum, 0, &crc32c(chunk).to_le_bytes());
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
        found.extend(lengths_of_tables(bytes, orders_start, &[12, 8]));
    }
    if values > 0 {
        found.extend(lengths_of_values(bytes, values_start, kinds_start));
    }
    found.extend(lengths_of_tables(bytes, kinds_start, &[9, 8]));
    found
}

/// Where the lengths stand of what is around a place: the structure, or a part and the rest that it belongs to.
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
    let mut found = lengths_of_tables(bytes, start, &[1, 4, 13, 4, 17]);
    let nodes = *found.last().unwrap();
    let values = nodes + 8 + 17 * long(bytes, nodes).unwrap();
    if values < end {
        found.extend(lengths_of_tables(bytes, values, &[12, 9, 8]));
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

/// The tables of a structure, to be filled with what no value could be.
#[derive(Clone, Default, Serialize)]
pub(crate) struct Tables {
    pub(crate) text: String,
    pub(crate) names: Vec<u32>,
    /// Name, variant, form, labels.
    pub(crate) shapes: Vec<(u32, u32, u8, u32)>,
    pub(crate) labels: Vec<u32>,
    /// Kind, shape, span, repeat.
    pub(crate) nodes: Vec<(u8, u32, u32, u64)>,
}

/// The keys and statics of a structure.
#[derive(Clone, Default, Serialize)]
pub(crate) struct Values {
    /// Nodes, shapes, scalars.
    pub(crate) rows: Vec<(u32, u32, u32)>,
    /// Kind, count.
    pub(crate) runs: Vec<(u8, u64)>,
    pub(crate) lengths: Vec<u64>,
}

impl Tables {
    pub(crate) fn name(&mut self, name: &str) -> u32 {
        let number = self.names.len();
        self.text.push_str(name);
        self.names.push(name.len().try_into().unwrap());
        number.try_into().unwrap()
    }

    /// A file whose header and checksums fit.
    pub(crate) fn file(&self, values: Option<(&Values, &[u8])>, leaves: u64) -> Vec<u8> {
        let tables = |tables| bincode::serde::encode_to_vec(tables, bincode::config::legacy());
        let mut part = tables(self).unwrap();
        if let Some((values, bits)) = values {
            let values = bincode::serde::encode_to_vec(values, bincode::config::legacy());
            part.extend(values.unwrap());
            part.extend_from_slice(bits);
        }
        let mut file = "*".parse::<TreeDef>().unwrap().to_bytes().unwrap();
        file.truncate(HEADER);
        let counts = [part.len(), self.nodes.len()].map(|count| (count as u64).to_le_bytes());
        put(&mut file, 16, &counts.concat());
        put(&mut file, 32, &leaves.to_le_bytes());
        file.extend(part);
        repair(&mut file);
        file
    }
}
