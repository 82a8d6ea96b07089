//! Files that are cut off or have other bytes.

use treedef_tensors::pytorch::{self, Pytorch};
use treedef_testing::cases::cases;

use crate::vector;

const FILES: [&str; 12] = [
    "checkpoint.pt",
    "dtypes.pt",
    "evil.pt",
    "numpy.pt",
    "odd.pt",
    "old_format.pt",
    "parameter.pt",
    "shared.pt",
    "sparse.pt",
    "state_dict.pt",
    "views.pt",
    "whole_model.pt",
];

/// Reads a whole file. Returns its faults.
fn read_all(file: &Pytorch<'_>) -> Option<String> {
    let source = match file.source() {
        Ok(source) => source,
        Err(error) => return Some(error.to_string()),
    };
    for stored in source.iter() {
        stored.read_bytes().unwrap();
    }
    let _ = file.tree();
    None
}

#[test]
fn a_file_that_is_cut_off_is_an_error() {
    for name in FILES {
        let bytes = vector(name);
        for length in 0..bytes.len() {
            let cut = &bytes[..length];
            let read = pytorch::from_bytes(cut);
            let error = read.map(|file| read_all(&file)).map_err(|error| error.to_string());
            assert!(error != Ok(None), "{name} cut to {length} bytes");
        }
    }
}

#[test]
fn other_bytes_are_an_error_or_another_value() {
    let mut rng = fastrand::Rng::with_seed(53);
    for name in FILES {
        let bytes = vector(name);
        for _ in 0..cases(2000) {
            let mut bytes = bytes.clone();
            for _ in 0..rng.usize(1..4) {
                let at = rng.usize(..bytes.len());
                bytes[at] = if rng.bool() { rng.u8(..) } else { bytes[at] ^ (1 << rng.u8(..8)) };
            }
            if let Ok(file) = pytorch::from_bytes(&bytes) {
                let _ = read_all(&file);
            }
        }
    }
}
