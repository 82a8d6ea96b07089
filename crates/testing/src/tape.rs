//! Random bytes as decisions.

use std::rc::Rc;

/// Decisions, one byte each. After the end, all decisions are 0, the simplest.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    bytes: Rc<[u8]>,
    pub at: usize,
}

impl Tape {
    pub fn of(bytes: impl Into<Vec<u8>>) -> Self {
        Tape { bytes: bytes.into().into(), at: 0 }
    }

    pub fn below(&mut self, bound: usize) -> usize {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        usize::from(byte) % bound
    }

    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.below(256) as u8)
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    pub fn name(&mut self) -> &'static str {
        ["a", "b", "c", "None", "a b", ""][self.below(6)]
    }
}
