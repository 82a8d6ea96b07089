//! Numbers that no float of 64 bits holds, exact in each format.

pub(crate) mod exact;
pub(crate) mod long_numbers;
pub(crate) mod ron;
