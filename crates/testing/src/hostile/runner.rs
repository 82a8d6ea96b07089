//! Runs tests on tapes from proptest.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestCaseResult, TestRng, TestRunner};

use crate::tape::Tape;

/// Runs a test on tapes of up to `length` bytes.
pub fn with_tapes(cases: u32, length: usize, test: impl Fn(Tape) -> TestCaseResult) {
    let config = crate::cases::config(cases);
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let result = runner.run(&vec(any::<u8>(), 0..length), |bytes| test(Tape::of(bytes)));
    if let Err(error) = result {
        panic!("{error}");
    }
}
