//! A node with a fixed layout, from which [plain data](super::plain) is read.

pub(super) mod packed;
pub(super) mod derived;
mod fixed;

pub(in crate::unflatten) use fixed::FixedNode;
