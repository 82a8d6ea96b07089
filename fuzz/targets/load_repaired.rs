//! Files whose header and checksums are made to fit, so that the code behind them is reached.

use treedef::__private::limited;

use super::load::load;

#[path = "../../tests/persist/layout.rs"]
#[allow(dead_code, reason = "the tests need all of it")]
mod layout;

use layout::{CHUNK, HEADER, LENGTHS, MAGIC, header, kind, long, repair_all};

pub fn run(bytes: &[u8]) {
    let _ = load(&File::read(bytes).write());
}

/// What a repaired file leads to: the error without its numbers and names, or that it loads.
pub fn outcome(bytes: &[u8]) -> String {
    let file = File::read(bytes);
    let [treedef, tree] = load(&file.write());
    match if file.is_tree { tree } else { treedef } {
        Ok(()) => "loads".to_owned(),
        Err(error) => match limited(&error) {
            Some(what) => format!("{what} beyond the limit"),
            None if error.to_string().starts_with("damage in") => "damaged leaves".to_owned(),
            None => error.to_string(),
        },
    }
}

/// The parts of a file.
struct File {
    /// The first byte of the magic where all is to fit, otherwise the checksum of the leaves does not.
    control: u8,
    is_tree: bool,
    flags: u8,
    parts: [Vec<u8>; 5],
}

/// The places in [`File::parts`].
const STRUCTURE: usize = 0;
const ORDERS: usize = 1;
const VALUES: usize = 2;
const KINDS: usize = 3;
const LEAVES: usize = 4;

impl File {
    /// Takes lengths as they are where they fit, and as far as there are bytes where they do not.
    fn read(bytes: &[u8]) -> File {
        let mut header = [0; HEADER];
        let start = bytes.len().min(HEADER);
        header[..start].copy_from_slice(&bytes[..start]);
        let mut rest = &bytes[start..];
        let is_tree = header[10].is_multiple_of(2);
        let mut take = |length: u64| {
            let length = usize::try_from(length).unwrap_or(usize::MAX).min(rest.len());
            let (part, after) = rest.split_at(length);
            rest = after;
            part.to_vec()
        };
        let length = |part: usize| number(&header, LENGTHS + 8 * part);
        let structure = take(if is_tree { length(STRUCTURE) } else { u64::MAX });
        let [orders, values, kinds] = [ORDERS, VALUES, KINDS].map(|part| take(length(part)));
        let _checksums = take(4 * length(LEAVES).div_ceil(CHUNK as u64).min(1 << 16));
        let leaves = take(u64::MAX);
        File {
            control: header[0],
            is_tree,
            flags: header[12] & 7,
            parts: [structure, orders, values, kinds, leaves],
        }
    }

    fn write(&self) -> Vec<u8> {
        let [structure, orders, values, kinds, leaves] = if self.is_tree {
            self.parts.each_ref().map(|part| &part[..])
        } else {
            [&self.parts[STRUCTURE][..], &[], &[], &[], &[]]
        };
        let (nodes, count) = counts(structure).unwrap_or_default();
        let lengths = [structure, orders, values, kinds, leaves].map(|part| part.len() as u64);
        let header = header(self.is_tree, self.flags, [nodes, count], lengths);
        let checksums = vec![0; 4 * leaves.len().div_ceil(CHUNK)];
        let mut file = [&header, structure, orders, values, kinds, &checksums, leaves].concat();
        repair_all(&mut file, u32::from(self.control != MAGIC[0]));
        file
    }

    /// Changes one table or the bytes after the tables of one part, so that all others stay where they are.
    fn mutate(&mut self, choice: u32, change: impl FnOnce(&mut Vec<u8>)) {
        let (part, widths): (usize, &[usize]) = match (choice % 32, self.is_tree) {
            (0, _) => return self.flags = (choice >> 8) as u8 & 7,
            (1, true) => return self.control ^= 1,
            (2..7, true) => (LEAVES, &[]),
            (7..12, true) => (KINDS, &layout::KINDS),
            (12..15, true) => (ORDERS, &layout::ORDERS),
            (15..20, true) => (VALUES, &layout::STRUCTURE),
            _ => (STRUCTURE, &layout::STRUCTURE),
        };
        let mut rest = &self.parts[part][..];
        let tables: Vec<&[u8]> =
            widths.iter().map_while(|width| table(&mut rest, *width)).collect();
        let place = (choice >> 8) as usize % (tables.len() + 2);
        if place > tables.len() {
            return change(&mut self.parts[part]);
        }
        let mut changed = tables.get(place).copied().unwrap_or(rest).to_vec();
        change(&mut changed);
        let mut written = Vec::new();
        for (number, table) in tables.iter().enumerate() {
            let table = if number == place { &changed } else { *table };
            let rows = table.len() / widths[number];
            written.extend((rows as u64).to_le_bytes());
            written.extend(&table[..rows * widths[number]]);
        }
        written.extend(if place == tables.len() { &changed } else { rest });
        self.parts[part] = written;
    }

    /// The bytes that [`read`](Self::read) makes this file of.
    fn seed(&self) -> Vec<u8> {
        let mut bytes = self.write();
        bytes[0] = self.control;
        bytes
    }
}

/// A mutation of the bytes of a file that leaves its lengths right; `change` has the arguments of libFuzzer's own.
pub fn mutate(
    bytes: &mut [u8],
    size: usize,
    max_size: usize,
    choice: u32,
    change: impl FnOnce(&mut [u8], usize, usize) -> usize,
) -> usize {
    let mut file = File::read(&bytes[..size]);
    let room = max_size.saturating_sub(size + HEADER + 4);
    file.mutate(choice, |part| {
        let length = part.len();
        part.resize(length + room.max(1), 0);
        let most = part.len();
        let length = change(part, length, most);
        part.truncate(length);
    });
    let seed = file.seed();
    let size = seed.len().min(max_size);
    bytes[..size].copy_from_slice(&seed[..size]);
    size
}

/// The nodes in the tables of a structure, and the leaves of the structure that comes last.
fn counts(part: &[u8]) -> Option<(u64, u64)> {
    let mut rest = part;
    let (tables, [rows_of_values, ..]) = layout::STRUCTURE.split_at(layout::VALUES) else {
        return None;
    };
    let mut nodes = &[][..];
    for width in tables {
        nodes = table(&mut rest, *width)?;
    }
    let row = layout::STRUCTURE[layout::NODES];
    let values = table(&mut rest, *rows_of_values).unwrap_or_default().chunks(*rows_of_values);
    let in_values: usize = values.map(|row| number(&row[..4], 0) as usize).sum();
    let (mut leaves, mut open) = (0u64, vec![(usize::MAX, 1u64)]);
    for (at, row) in nodes.chunks(row).skip(in_values).enumerate() {
        open.retain(|(end, _)| at < *end);
        let times = open.last().map_or(1, |(_, times)| *times).checked_mul(number(row, 9))?;
        leaves = leaves.checked_add(if row[0] == kind::LEAF { times } else { 0 })?;
        open.push((at.saturating_add(number(&row[5..9], 0) as usize), times));
    }
    Some(((nodes.len() / row) as u64, leaves))
}

/// The rows of a table, which the number of them precedes.
fn table<'a>(part: &mut &'a [u8], width: usize) -> Option<&'a [u8]> {
    let rows = long(part, 0)?;
    let (rows, after) = part[8..].split_at_checked(rows.checked_mul(width)?)?;
    *part = after;
    Some(rows)
}

/// The little-endian number of up to eight bytes at a place; missing ones are 0.
fn number(bytes: &[u8], at: usize) -> u64 {
    let digits = bytes.iter().skip(at).take(8).rev();
    digits.fold(0, |number, digit| number << 8 | u64::from(*digit))
}
