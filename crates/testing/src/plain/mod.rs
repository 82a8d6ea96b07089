//! Structures and trees as plain nested nodes: nothing shared, nothing compressed, every operation
//! a recursion.

mod node;
pub mod build;
pub mod draw;
pub mod text;

pub use node::{Constant, Head, LEAF, Node, Shape, Total, Width};
