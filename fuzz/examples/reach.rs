//! What a million random changes to the seeds of `load_repaired` lead to: how many load, and which errors the others give.

use std::collections::BTreeMap;
use std::path::Path;

use treedef_fuzz::load_repaired::{mutate, outcome};

fn main() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/load_repaired");
    let mut seeds: Vec<Vec<u8>> = std::fs::read_dir(corpus)
        .unwrap()
        .map(|entry| std::fs::read(entry.unwrap().path()).unwrap())
        .collect();
    seeds.sort();
    let mut random = fastrand::Rng::with_seed(7);
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..1_000_000 {
        let seed = random.choice(&seeds).unwrap();
        let mut bytes = seed.clone();
        bytes.resize(4096, 0);
        let mut size = seed.len();
        for _ in 0..random.usize(1..4) {
            let choice = random.u32(..);
            size = mutate(&mut bytes, size, 4096, choice, |part, length, most| {
                change(part, length, most, &mut random)
            });
        }
        *seen.entry(outcome(&bytes[..size])).or_default() += 1;
    }
    let mut seen: Vec<(String, usize)> = seen.into_iter().collect();
    seen.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    for (outcome, times) in seen {
        println!("{times:>8} {outcome}");
    }
}

fn change(part: &mut [u8], length: usize, most: usize, random: &mut fastrand::Rng) -> usize {
    let at = random.usize(..=length);
    match random.u8(..4) {
        0 if at < length => part[at] ^= 1 << random.u8(..8),
        1 if at < length => part[at] = random.u8(..),
        2 if at < length => {
            part.copy_within(at + 1..length, at);
            return length - 1;
        }
        _ if length < most => {
            part.copy_within(at..length, at + 1);
            part[at] = random.u8(..);
            return length + 1;
        }
        _ => {}
    }
    length
}
