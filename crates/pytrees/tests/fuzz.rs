//! The fuzz target of Python's structures, without the fuzzer.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by a panic")]

#[path = "../../../fuzz/targets/pytrees.rs"]
mod pytrees;

use treedef_testing::replay::{self, Target};

const TARGETS: [Target; 1] = [("pytrees", pytrees::run)];

#[test]
fn the_target_holds_on_its_corpus() {
    replay::corpora(&TARGETS);
}

#[test]
fn the_target_holds_on_random_bytes_and_changed_seeds() {
    let mut random = fastrand::Rng::with_seed(7);
    replay::changed_seeds(&TARGETS, |below| random.usize(..below));
}
