//! The fuzz targets of files of others, without the fuzzer.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by a panic")]

#[path = "../../../fuzz/targets/arrays.rs"]
mod arrays;
#[path = "../../../fuzz/targets/gguf.rs"]
mod gguf;
#[path = "../../../fuzz/targets/pytorch.rs"]
mod pytorch;
#[path = "../../../fuzz/targets/shards.rs"]
mod shards;
#[path = "../../../fuzz/targets/tensors.rs"]
mod tensors;

use treedef_testing::replay::{self, Target};

const TARGETS: [Target; 5] = [
    ("arrays", arrays::run),
    ("gguf", gguf::run),
    ("pytorch", pytorch::run),
    ("shards", shards::run),
    ("tensors", tensors::run),
];

#[test]
fn targets_hold_on_their_corpora() {
    replay::corpora(&TARGETS);
}

#[test]
fn what_once_broke_a_target_no_longer_does() {
    assert!(replay::regressions(&TARGETS) > 0);
}

#[test]
fn targets_hold_on_random_bytes_and_changed_seeds() {
    let mut random = fastrand::Rng::with_seed(7);
    replay::changed_seeds(&TARGETS, |below| random.usize(..below));
}
