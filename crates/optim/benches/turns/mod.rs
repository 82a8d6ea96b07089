//! Programs that are measured in turns.

use std::time::Instant;

pub(crate) type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The least times of several programs that take turns, in nanoseconds for one of `times` calls.
pub(crate) fn least<const N: usize>(
    rounds: usize,
    times: usize,
    mut programs: [&mut dyn FnMut() -> Result; N],
) -> Result<[f64; N]> {
    let mut least = [f64::INFINITY; N];
    for _ in 0..rounds {
        for (program, least) in programs.iter_mut().zip(&mut least) {
            let begin = Instant::now();
            for _ in 0..times {
                program()?;
            }
            *least = least.min(begin.elapsed().as_nanos() as f64 / times as f64);
        }
    }
    Ok(least)
}
