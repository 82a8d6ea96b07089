//! Memory leaks: live bytes that grow with the number of calls.

/// The maximum growth of the caches in many rounds.
pub const SLACK: usize = 2_048;

/// The growth of `live` in a third of the calls, in bytes, if it is more than caches may grow.
/// `run` gets the number of its round, so that each round can have its own structure.
pub fn growth(live: impl Fn() -> usize, rounds: usize, run: impl Fn(usize)) -> Option<usize> {
    (0..rounds).for_each(&run);
    // A cache is filled once; a leak grows again and again.
    let growth = [1, 2].map(|times| {
        let before = live();
        (times * rounds..(times + 1) * rounds).for_each(&run);
        live().saturating_sub(before)
    });
    growth.into_iter().min().filter(|growth| *growth > SLACK)
}
