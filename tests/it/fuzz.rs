//! The fuzz targets without the fuzzer: on their corpora, on what once broke them, on random bytes.

use std::fs;
use std::path::Path;

use treedef_testing::cases::cases;

use crate::fuzz_targets::TARGETS;

fn inputs(folder: &str, target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(folder).join(target);
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect()
}

/// Runs a target, and prints the input that it does not survive.
fn run(name: &str, target: fn(&[u8]), input: &[u8]) {
    if let Err(panic) = std::panic::catch_unwind(|| target(input)) {
        eprintln!("{name} broke on b\"{}\"", input.escape_ascii());
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn targets_hold_on_their_corpora() {
    for (name, target) in TARGETS {
        let corpus = inputs("corpus", name);
        assert!(!corpus.is_empty(), "{name} has no corpus");
        corpus.iter().for_each(|input| run(name, target, input));
    }
}

#[test]
fn what_once_broke_a_target_no_longer_does() {
    for (name, target) in TARGETS {
        inputs("regressions", name).iter().for_each(|input| run(name, target, input));
    }
}

#[test]
fn targets_hold_on_random_bytes_and_changed_seeds() {
    let mut random = fastrand::Rng::with_seed(7);
    for (name, target) in TARGETS {
        let mut corpus = inputs("corpus", name);
        corpus.sort(); // folders are listed in any order
        for _ in 0..cases(1_000) {
            let bytes: Vec<u8> = (0..random.usize(..200)).map(|_| random.u8(..)).collect();
            run(name, target, &bytes);
            let mut changed = random.choice(&corpus).unwrap().clone();
            for _ in 0..random.usize(1..4) {
                change(&mut changed, &mut random);
            }
            run(name, target, &changed);
        }
    }
}

fn change(bytes: &mut Vec<u8>, random: &mut fastrand::Rng) {
    let at = random.usize(..=bytes.len());
    match (random.u8(..4), bytes.get_mut(at)) {
        (0, Some(byte)) => *byte ^= 1 << random.u8(..8),
        (1, Some(byte)) => *byte = random.u8(..),
        (2, Some(_)) => drop(bytes.remove(at)),
        _ => bytes.insert(at, random.u8(..)),
    }
}
