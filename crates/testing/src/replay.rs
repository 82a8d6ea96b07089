//! Runs fuzz targets without the fuzzer: on their corpora, on inputs that once failed, on random
//! bytes.

use std::fs;
use std::path::Path;

use crate::cases::cases;

/// A target and the name of its folders.
pub type Target = (&'static str, fn(&[u8]));

fn inputs(folder: &str, target: &str) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let Ok(entries) = fs::read_dir(root.join(folder).join(target)) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort(); // folders are listed in any order
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Runs a target, and prints the input if it panics.
fn run((name, target): Target, input: &[u8]) {
    if let Err(panic) = std::panic::catch_unwind(|| target(input)) {
        eprintln!("{name} broke on b\"{}\"", input.escape_ascii());
        std::panic::resume_unwind(panic);
    }
}

/// Runs targets on their corpora. No corpus may be missing.
pub fn corpora(targets: &[Target]) {
    for target in targets {
        let corpus = inputs("corpus", target.0);
        assert!(!corpus.is_empty(), "{} has no corpus", target.0);
        corpus.iter().for_each(|input| run(*target, input));
    }
}

/// Runs targets on inputs that once failed, and returns the number of these inputs.
pub fn regressions(targets: &[Target]) -> usize {
    let of_target = |target: &Target| {
        let inputs = inputs("regressions", target.0);
        inputs.iter().for_each(|input| run(*target, input));
        inputs.len()
    };
    targets.iter().map(of_target).sum()
}

/// Runs targets on random bytes and on changed seeds. `below` returns a random number below another.
pub fn changed_seeds(targets: &[Target], mut below: impl FnMut(usize) -> usize) {
    for target in targets {
        let corpus = inputs("corpus", target.0);
        for _ in 0..cases(1_000) {
            let bytes: Vec<u8> = (0..below(200)).map(|_| byte(&mut below)).collect();
            run(*target, &bytes);
            let mut changed = corpus.get(below(corpus.len())).unwrap().clone();
            for _ in 0..1 + below(3) {
                change(&mut changed, &mut below);
            }
            run(*target, &changed);
        }
    }
}

fn byte(below: &mut impl FnMut(usize) -> usize) -> u8 {
    below(256).try_into().unwrap_or(u8::MAX)
}

fn change(bytes: &mut Vec<u8>, below: &mut impl FnMut(usize) -> usize) {
    let at = below(bytes.len() + 1);
    match (below(4), bytes.get_mut(at)) {
        (0, Some(byte)) => *byte ^= 1 << below(8),
        (1, Some(old)) => *old = byte(below),
        (2, Some(_)) => drop(bytes.remove(at)),
        _ => bytes.insert(at, byte(below)),
    }
}
