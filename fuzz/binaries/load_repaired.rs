//! `load_repaired` under libFuzzer.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use treedef_fuzz::load_repaired::{mutate, run};

fuzz_target!(|bytes: &[u8]| run(bytes));
fuzz_mutator!(|bytes: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate(bytes, size, max_size, seed, fuzzer_mutate)
});
