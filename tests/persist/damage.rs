//! Damage of every kind: a file is read as it was written, or refused.

use std::collections::HashSet;

use fastrand::Rng;
use treedef_testing::cases::cases;

use crate::layout::load;
use crate::specimens::files;

/// Files that were written, and how many damaged ones were refused.
struct Refusals {
    written: HashSet<Vec<u8>>,
    refused: usize,
}

impl Refusals {
    fn new(files: &[(String, Vec<u8>)]) -> Self {
        Refusals { written: files.iter().map(|(_, bytes)| bytes.clone()).collect(), refused: 0 }
    }

    #[track_caller]
    fn expect(&mut self, bytes: &[u8], name: &str, damage: &str) {
        if load(bytes).is_err() {
            self.refused += 1;
            return;
        }
        assert!(self.written.contains(bytes), "{name} was read after {damage}: {bytes:?}");
    }
}

#[test]
fn every_bit_matters() {
    let files = files();
    let mut refusals = Refusals::new(&files);
    for (name, bytes) in &files {
        let mut damaged = bytes.clone();
        for bit in 0..bytes.len() * 8 {
            damaged[bit / 8] ^= 1 << (bit % 8);
            refusals.expect(&damaged, name, &format!("bit {bit} changed"));
            damaged[bit / 8] ^= 1 << (bit % 8);
        }
    }
    let bits: usize = files.iter().map(|(_, bytes)| bytes.len() * 8).sum();
    assert_eq!(refusals.refused, bits);
    assert!(bits >= 80_000, "{bits} cases");
}

#[test]
fn every_length_matters() {
    let files = files();
    let mut refusals = Refusals::new(&files);
    for (name, bytes) in &files {
        for length in 0..bytes.len() {
            refusals.expect(&bytes[..length], name, &format!("it was cut to {length} bytes"));
            refusals.expect(&bytes[bytes.len() - length..], name, "it lost its start");
        }
        for extra in 1..=64 {
            for filling in [vec![0; extra], vec![0xff; extra], bytes[..extra].to_vec()] {
                let longer = [&bytes[..], &filling].concat();
                refusals.expect(&longer, name, &format!("{extra} bytes were added"));
                let pushed = [&filling[..], bytes].concat();
                refusals.expect(&pushed, name, &format!("{extra} bytes were put before it"));
            }
        }
        for (other, more) in &files {
            refusals.expect(&[&bytes[..], more].concat(), name, &format!("{other} was added"));
        }
    }
    assert!(refusals.refused >= 30_000, "{} cases", refusals.refused);
}

#[test]
fn every_pair_of_bytes_matters() {
    let files = files();
    let mut refusals = Refusals::new(&files);
    for (name, bytes) in &files {
        let mut damaged = bytes.clone();
        for at in 1..bytes.len() {
            damaged.swap(at - 1, at);
            refusals.expect(&damaged, name, &format!("bytes {} and {at} were swapped", at - 1));
            damaged.swap(at - 1, at);
            let shorter = [&bytes[..at], &bytes[at + 1..]].concat();
            refusals.expect(&shorter, name, &format!("byte {at} was lost"));
            let doubled = [&bytes[..at], &bytes[at - 1..]].concat();
            refusals.expect(&doubled, name, &format!("byte {} came twice", at - 1));
        }
    }
    assert!(refusals.refused >= 25_000, "{} cases", refusals.refused);
}

fn damage(bytes: &[u8], other: &[u8], rng: &mut Rng) -> (Vec<u8>, &'static str) {
    let mut damaged = bytes.to_vec();
    let (at, from) = (rng.usize(..bytes.len()), rng.usize(..other.len()));
    let end = at + rng.usize(1..=(bytes.len() - at).min(64));
    let length = (end - at).min(other.len() - from);
    let what = match rng.u8(..8) {
        0 => {
            (0..rng.usize(2..=16)).for_each(|_| damaged[rng.usize(..bytes.len())] = rng.u8(..));
            "bytes were set"
        }
        1 => {
            damaged[at..end].fill(0);
            "a block was zeroed"
        }
        2 => {
            rng.fill(&mut damaged[at..end]);
            "a block was overwritten"
        }
        3 => {
            damaged.truncate(at);
            damaged.extend_from_slice(&other[from..]);
            "the end of another file was spliced in"
        }
        4 => {
            damaged[at..at + length].copy_from_slice(&other[from..from + length]);
            "a block of another file was copied in"
        }
        5 => {
            damaged.rotate_left(at);
            "its halves were swapped"
        }
        6 => {
            damaged[at..end].reverse();
            "a block was reversed"
        }
        _ => {
            drop(damaged.drain(at..end));
            "a block was lost"
        }
    };
    (damaged, what)
}

fn damage_at_random(seed: u64, cases: usize) {
    let files = files();
    let mut refusals = Refusals::new(&files);
    let mut rng = Rng::with_seed(seed);
    while refusals.refused < cases {
        let (name, bytes) = &files[rng.usize(..files.len())];
        let (_, other) = &files[rng.usize(..files.len())];
        let (damaged, what) = damage(bytes, other, &mut rng);
        refusals.expect(&damaged, name, what);
    }
}

#[test]
fn random_damage_is_refused() {
    damage_at_random(1, cases(1_000_000) as usize);
}
