//! Trees as named tensors, their files, and types that are read from them.

mod arrays;
mod attacks;
mod differences;
mod empties;
mod export;
mod flattened;
mod layouts;
mod loading;
mod matrices;
mod rules;
mod safetensors;
mod small_floats;
mod stacks;
mod unread;

use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef::{Tree, TreeDef};
use treedef_tensors::{Error, Export, Loader, Tensors};

#[track_caller]
fn refused<T>(result: Result<T, Error>, expected: &str) {
    match result {
        Ok(_) => panic!("it was taken, but for: {expected}"),
        Err(error) => assert_eq!(error.to_string(), expected),
    }
}

/// `name: type[shape]`, in order.
fn listed(tensors: &Tensors<'_>) -> Vec<String> {
    tensors.iter().map(|(name, tensor)| format!("{name}: {tensor}")).collect()
}

fn def(text: &str) -> TreeDef {
    text.parse().unwrap()
}

/// A tree whose leaves are their indices.
fn tree(text: &str) -> Tree<f32> {
    let treedef = def(text);
    let leaves = (0..treedef.num_leaves()).map(|leaf| leaf as f32).collect();
    Tree::new(treedef, leaves).unwrap()
}

/// The result of reading a type from the tensors of a value.
fn read<T: Serialize + DeserializeOwned>(
    loader: &Loader,
    value: &impl Serialize,
) -> Result<T, Error> {
    let tree = Tree::of(value).unwrap();
    let export = Export::new().rest_in_metadata(true).structure_in_metadata(false);
    loader.load(&export.tensors(&tree).unwrap())
}

fn message<T: Serialize + DeserializeOwned>(value: &impl Serialize) -> String {
    match read::<T>(&Loader::new(), value) {
        Ok(_) => panic!("it was read"),
        Err(error) => error.to_string(),
    }
}

#[track_caller]
fn comes_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T) {
    assert_eq!(read::<T>(&Loader::new(), &value).unwrap(), value);
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Layer {
    w: Vec<[f32; 2]>,
    b: f32,
}

fn layer() -> Layer {
    Layer { w: vec![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], b: 7.0 }
}
