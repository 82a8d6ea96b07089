//! [`Tree`](crate::Tree): a structure with its leaves, and its operations.

mod access;
mod text;
mod summary;
mod map;
mod zip;
pub(crate) mod prefix;
mod select;
mod partition;
mod transpose;
mod replace;
mod insert;
mod traverse;
mod lengths;
mod merge;
mod stack;
mod unique;
mod ravel;
mod buffers;
mod blocks;
mod arrays;
mod close;
mod diff;
mod document;
mod migration;
#[cfg(feature = "persist")]
mod file;

pub use blocks::TreeBlocks;
pub use buffers::Buffers;
pub use close::Tolerance;
pub use migration::Migration;
pub use ravel::Ravel;
pub use summary::Summary;
pub use text::WithShapes;
pub use unique::Unique;
