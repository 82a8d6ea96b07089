//! Short functions to write a structure, a tree or a path.

use serde::Serialize;
use treedef::{Leaf, Path, Pattern, Tree, TreeDef};

pub(crate) fn def(text: &str) -> TreeDef {
    text.parse().unwrap()
}

pub(crate) fn path(text: &str) -> Path {
    text.parse().unwrap()
}

pub(crate) fn pattern(text: &str) -> Pattern {
    text.parse().unwrap()
}

/// A tree whose nodes have no type in Rust: Python's lists hold values of any type.
pub(crate) fn tree<L>(text: &str, leaves: impl Into<Vec<L>>) -> Tree<L> {
    Tree::new(def(text), leaves.into()).unwrap()
}

pub(crate) fn of<T: Serialize + ?Sized>(value: &T) -> Tree<Leaf> {
    Tree::of(value).unwrap()
}

/// The leaves 0, 1, 2, …
pub(crate) fn numbered(text: &str) -> Tree<usize> {
    let treedef = def(text);
    let leaves = (0..treedef.num_leaves()).collect();
    Tree::new(treedef, leaves).unwrap()
}

pub(crate) fn paths(treedef: &TreeDef) -> Vec<String> {
    treedef.leaf_paths().map(|path| path.to_string()).collect()
}

/// The text of the error.
#[track_caller]
pub(crate) fn said<T>(result: treedef::Result<T>) -> String {
    match result {
        Ok(_) => panic!("nothing was refused"),
        Err(error) => error.to_string(),
    }
}
