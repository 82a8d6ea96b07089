//! [`Tree`](crate::Tree): a structure with its leaves, and its operations.

mod methods;
mod text;
mod choice;
mod merge;
mod insert;
mod cuts;
mod ravel;
mod unique;
mod check_close;
pub(crate) mod shape;
pub(crate) mod raw;
pub(crate) mod private;
mod document;

pub use check_close::Tolerance;
pub use choice::Choice;
pub use ravel::Ravel;
pub use unique::Unique;
