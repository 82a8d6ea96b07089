//! Operations on the leaves of trees: the structure says where they stand, and whether two trees go together.

mod map;
mod zip;
mod select;
mod partition;
mod stack;
mod unique;
mod ravel;
mod buffers;
mod close;
mod document;

pub use buffers::{Buffers, Segment};
pub use close::Tolerance;
pub use ravel::Ravel;
pub use unique::Unique;
