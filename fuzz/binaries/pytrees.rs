//! `pytrees` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| treedef_fuzz::pytrees::run(bytes));
