//! Operations on the leaves of trees: the structure says where they stand, and whether two trees go together.

mod map;
mod zip;
mod select;
mod partition;
mod stack;
mod unique;

pub use unique::Unique;
