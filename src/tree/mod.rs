//! [`Tree`](crate::Tree): a structure with its leaves, and its operations.

// The docs of `Tree` show its methods in this order, in the groups of the table there.
mod access;
mod text;
mod lengths;
mod map;
mod zip;
pub(crate) mod prefix;
mod choice;
mod select;
mod partition;
mod merge;
mod replace;
mod insert;
mod traverse;
mod transpose;
mod stack;
mod ravel;
mod unique;
mod objects;
mod check_close;
pub(crate) mod shape;
mod raw;
pub(crate) mod private;
mod document;

pub use check_close::Tolerance;
pub use choice::Choice;
pub use ravel::Ravel;
pub use unique::Unique;
