//! The number of random cases of a test.

use proptest::test_runner::Config;

/// The number of cases of a test times `TREEDEF_CASES`. CI sets it to 1; without it, a twentieth is
/// run.
pub fn cases(all: u32) -> u32 {
    let factor = std::env::var("TREEDEF_CASES").map_or(0.05, |text| {
        text.parse::<f64>().unwrap_or_else(|error| panic!("TREEDEF_CASES={text}: {error}"))
    });
    (f64::from(all) * factor).ceil() as u32 // a factor that is too large gives the most there are
}

/// The distance between the cases of a table that are run.
pub fn stride() -> usize {
    const ALL: u32 = 1_000;
    (ALL / cases(ALL).clamp(1, ALL)) as usize // at least 1
}

/// About a twentieth of the rows of a table, always the same ones for a seed, or all rows in CI.
pub fn sample<T>(seed: u64, rows: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    let (mut rng, stride) = (fastrand::Rng::with_seed(seed), stride());
    rows.into_iter().filter(move |_| rng.usize(..stride) == 0)
}

/// Whether all cases are run. A single case that takes many seconds runs only in CI.
pub fn all() -> bool {
    stride() == 1
}

/// The number of cases as a configuration for `proptest!`. Failures are not written to a file.
pub fn config(all: u32) -> Config {
    let cases = cases(all);
    let max_global_rejects = cases.saturating_mul(4).max(1024);
    Config { cases, max_global_rejects, failure_persistence: None, ..Config::default() }
}
