//! Kernels on slices of numbers.

use crate::number::{Kernel, Number};

/// Runs a kernel on slices of one length. It is not inlined, so that the compiler knows that the constants
/// of the kernel are not among the numbers, and vectorises the loop.
#[inline(never)]
pub(super) fn run<N: Number + Copy, K: Kernel<S, R>, const S: usize, const R: usize>(
    kernel: &K,
    main: &mut [N],
    slots: [&mut [N]; S],
    read: [&[N]; R],
) {
    // The same length for all, as the callers have checked, so that the loop has no checks.
    let length = main.len();
    let mut slots = slots.map(|slot| &mut slot[..length]);
    let read = read.map(|read| &read[..length]);
    for at in 0..length {
        let before = slots.each_ref().map(|slot| slot[at]);
        let (new, remembered) = kernel.run(main[at], before, read.map(|read| read[at]));
        main[at] = new;
        for (slot, new) in slots.iter_mut().zip(remembered) {
            slot[at] = new;
        }
    }
}
