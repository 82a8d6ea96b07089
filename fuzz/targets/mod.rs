//! The fuzz targets: each takes any bytes, and panics where the library breaks a promise.

pub mod load;
pub mod load_repaired;
pub mod parse;
pub mod round_trip;
pub mod hostile_serialize;
pub mod hostile_deserialize;
pub mod differential;
pub mod operations;
mod structures;

use proptest::test_runner::TestCaseError;

/// A target on some bytes.
pub type Run = fn(&[u8]);

pub const TARGETS: [(&str, Run); 8] = [
    ("load", load::run),
    ("load_repaired", load_repaired::run),
    ("parse", parse::run),
    ("round_trip", round_trip::run),
    ("hostile_serialize", hostile_serialize::run),
    ("hostile_deserialize", hostile_deserialize::run),
    ("differential", differential::run),
    ("operations", operations::run),
];

/// The first byte, which chooses among what a target does, and the rest.
fn choice(bytes: &[u8], of: u8) -> (u8, &[u8]) {
    bytes.split_first().map_or((0, bytes), |(first, rest)| (first % of, rest))
}

/// Bytes of the longest message.
const MESSAGE: usize = 2048;

/// Refuses a long error.
fn checked<T>(result: treedef::Result<T>) -> Option<T> {
    if let Err(error) = &result {
        let message = error.to_string();
        assert!(message.len() <= MESSAGE, "{} bytes: {message}", message.len());
    }
    result.ok()
}

fn hold<T>(result: Result<T, TestCaseError>) {
    if let Err(error) = result {
        panic!("{error}");
    }
}
