//! Files of `torch.save`.

mod crafted;
mod damage;
mod reading;
mod vectors;

use treedef::Tree;
use treedef_tensors::pytorch::{Pytorch, PytorchLeaf};

/// A file that torch 2.15 wrote.
fn vector(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/vectors/torch/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).unwrap()
}

/// The tree as a text: of a tensor its name, type and shape.
fn listed(file: &Pytorch<'_>) -> String {
    let text = |entry| match entry {
        PytorchLeaf::Tensor(stored) => format!("{}: {}", stored.name(), stored.descriptor()),
        PytorchLeaf::Value(leaf) => leaf.to_string(),
        _ => unreachable!(),
    };
    let tree: Tree<String> = file.lazy_tree().map(text);
    tree.to_string()
}
