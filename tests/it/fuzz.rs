//! The fuzz targets without the fuzzer.

use treedef_testing::replay;

use crate::fuzz_targets::TARGETS;

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
