//! Structures and trees as plain nested nodes: nothing is shared or compressed, and every operation
//! is a recursion.

mod node;
pub mod build;
pub mod draw;
pub mod text;

pub use node::{Constant, Head, LEAF, Node, Shape, Total, Width};
