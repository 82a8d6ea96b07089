//! How many random cases a test runs.

use proptest::test_runner::Config;

/// `TREEDEF_CASES` times as many cases as a test names. CI sets it to 1; without it, a tenth is run.
pub fn cases(all: u32) -> u32 {
    let factor = std::env::var("TREEDEF_CASES").map_or(0.1, |text| {
        text.parse::<f64>().unwrap_or_else(|error| panic!("TREEDEF_CASES={text}: {error}"))
    });
    (f64::from(all) * factor).ceil() as u32 // a factor that is too large gives the most there are
}

/// Of a table of cases, every how many-th is run.
pub fn stride() -> usize {
    const ALL: u32 = 1_000;
    (ALL / cases(ALL).clamp(1, ALL)) as usize // at least 1
}

/// Whether all cases are run: a single one that takes many seconds is left to CI.
pub fn all() -> bool {
    stride() == 1
}

/// The same as the configuration of a `proptest!`, which writes no file for what fails.
pub fn config(all: u32) -> Config {
    Config { cases: cases(all), failure_persistence: None, ..Config::default() }
}
