//! [`Tree`](crate::Tree): a structure with its leaves, and its operations.

// The page of `Tree` shows its methods in this order, in the groups of the table there.
mod access;
mod text;
mod lengths;
mod map;
mod zip;
pub(crate) mod prefix;
mod select;
mod partition;
mod merge;
mod replace;
mod insert;
mod traverse;
mod transpose;
mod stack;
mod ravel;
mod buffers;
mod unique;
mod objects;
mod blocks;
mod arrays;
mod summary;
mod check_close;
#[cfg(feature = "diff")]
mod diff;
pub(crate) mod private;
mod document;
#[cfg(feature = "migrate")]
mod migration;
#[cfg(feature = "persist")]
mod file;

pub use blocks::TreeBlocks;
pub use buffers::Buffers;
pub use check_close::Tolerance;
#[cfg(feature = "migrate")]
pub use migration::{Migration, MigrationGroup, MigrationKind};
pub use ravel::Ravel;
pub use summary::Summary;
pub use text::WithShapes;
pub use unique::Unique;
