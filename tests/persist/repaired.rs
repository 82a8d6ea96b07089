//! Damage behind checksums that fit, as only an attacker makes it: refused, or a file that somebody could have written.

use std::collections::HashSet;

use fastrand::Rng;
use treedef::TreeDef;

use crate::layout::{HEADER, lengths, load, long, put, repair};
use crate::operations::{all_of_leaves, all_of_treedef, within_bounds};
use crate::specimens::files;

/// Where the version stands of which the writer was; it may be any from the version of the file on.
const WRITER: usize = 10;

#[derive(Default)]
struct Outcomes {
    refused: usize,
    read: usize,
    /// Everything has been done with these.
    seen: HashSet<TreeDef>,
}

impl Outcomes {
    #[track_caller]
    fn assert_at_least(&self, refused: usize, read: usize) {
        let found = (self.refused, self.read);
        assert!(found.0 >= refused && found.1 >= read, "{found:?}");
    }

    #[track_caller]
    fn expect(&mut self, mut bytes: Vec<u8>, original: &[u8], name: &str) {
        repair(&mut bytes);
        if bytes == original {
            return;
        }
        match within_bounds(name, bytes.len(), || load(&bytes)) {
            Err(_) => self.refused += 1,
            Ok(loaded) => {
                self.read += 1;
                let mut written = loaded.to_bytes().unwrap();
                put(&mut written, WRITER, &bytes[WRITER..WRITER + 2]);
                repair(&mut written);
                assert_eq!(written, bytes, "{name}");
                if self.seen.insert(loaded.treedef().clone()) {
                    all_of_treedef(loaded.treedef(), bytes.len());
                }
                all_of_leaves(&loaded, bytes.len());
            }
        }
    }
}

const LONG: [u64; 12] = [
    0,
    1,
    2,
    1 << 20,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    1 << 40,
    1 << 60,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];
const SHORT: [u32; 7] = [0, 1, 2, 1 << 20, 1 << 31, u32::MAX - 1, u32::MAX];

fn is_checksum(at: usize) -> bool {
    (HEADER - 8..HEADER).contains(&at)
}

#[test]
fn changed_bytes_are_refused_or_valid() {
    let mut outcomes = Outcomes::default();
    for (name, bytes) in files() {
        for at in (0..bytes.len()).filter(|at| !is_checksum(*at)) {
            let byte = bytes[at];
            for new in [0, 1, 0x7f, 0x80, 0xff, byte.wrapping_add(1), byte.wrapping_sub(1)] {
                let mut changed = bytes.clone();
                changed[at] = new;
                outcomes.expect(changed, &bytes, &name);
            }
        }
    }
    outcomes.assert_at_least(40_000, 1_000);
}

#[test]
fn changed_fields_are_refused_or_valid() {
    let mut outcomes = Outcomes::default();
    for (name, bytes) in files() {
        for at in (0..bytes.len() - 3).filter(|at| !is_checksum(*at)) {
            let long = LONG.map(|new| new.to_le_bytes().to_vec());
            let short = SHORT.map(|new| new.to_le_bytes().to_vec());
            for field in long.iter().chain(&short) {
                if at + field.len() <= bytes.len() {
                    let mut changed = bytes.clone();
                    put(&mut changed, at, field);
                    outcomes.expect(changed, &bytes, &name);
                }
            }
        }
    }
    outcomes.assert_at_least(100_000, 1_000);
}

/// A row that is lost or comes twice, in a table and a header that say so.
#[test]
fn lost_and_doubled_rows_are_refused_or_valid() {
    let mut outcomes = Outcomes::default();
    for (name, bytes) in files() {
        for length in lengths(&bytes) {
            for (width, row) in [1, 4, 8, 9, 12, 13, 17].into_iter().zip((0..4).cycle()) {
                let start = length + 8 + row * width;
                let Some(row) = bytes.get(start..start + width) else { continue };
                let (mut lost, mut doubled) = (bytes.clone(), bytes.clone());
                for (at, by) in [(length, 1), (16, width)] {
                    let old = long(&bytes, at).unwrap();
                    put(&mut lost, at, &old.wrapping_sub(by).to_le_bytes());
                    put(&mut doubled, at, &old.wrapping_add(by).to_le_bytes());
                }
                drop(lost.drain(start..start + width));
                drop(doubled.splice(start..start, row.iter().copied()));
                outcomes.expect(lost, &bytes, &name);
                outcomes.expect(doubled, &bytes, &name);
            }
        }
    }
    outcomes.assert_at_least(2_000, 0);
}

#[test]
fn several_changes_are_refused_or_valid() {
    let (files, mut rng) = (files(), Rng::with_seed(2));
    let mut outcomes = Outcomes::default();
    while outcomes.refused + outcomes.read < 50_000 {
        let (name, bytes) = &files[rng.usize(..files.len())];
        let mut changed = bytes.clone();
        for _ in 0..rng.usize(2..=4) {
            let at = rng.usize(HEADER..bytes.len());
            changed[at] =
                if rng.bool() { bytes[rng.usize(HEADER..bytes.len())] } else { rng.u8(..4) };
        }
        outcomes.expect(changed, bytes, name);
    }
    outcomes.assert_at_least(40_000, 1_000);
}
