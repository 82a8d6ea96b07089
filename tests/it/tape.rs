//! Random bytes as decisions.

use std::rc::Rc;

/// Decisions, one byte each. At its end all decisions are 0, the simplest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tape {
    bytes: Rc<[u8]>,
    pub(crate) at: usize,
}

impl Tape {
    pub(crate) fn of(bytes: impl Into<Vec<u8>>) -> Self {
        Tape { bytes: bytes.into().into(), at: 0 }
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        usize::from(byte) % bound
    }

    pub(crate) fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.below(256) as u8)
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    pub(crate) fn name(&mut self) -> &'static str {
        ["a", "b", "c", "None", "a b", ""][self.below(6)]
    }
}
