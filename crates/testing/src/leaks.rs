//! Memory that is never given back: live bytes that grow with the number of calls.

/// What the caches with a bound may grow by in many rounds.
pub const SLACK: usize = 2_048;

/// By how many bytes each third of the calls grows what is `live`, if that is more than caches may.
/// `run` gets the number of its round, so that each can have a structure of its own.
pub fn growth(live: impl Fn() -> usize, rounds: usize, run: impl Fn(usize)) -> Option<usize> {
    (0..rounds).for_each(&run);
    // A cache is filled once, and a leak grows again and again.
    let growth = [1, 2].map(|times| {
        let before = live();
        (times * rounds..(times + 1) * rounds).for_each(&run);
        live().saturating_sub(before)
    });
    growth.into_iter().min().filter(|growth| *growth > SLACK)
}
