//! Trees as named tensors, their files, and types that are read from them.

#[path = "../random/mod.rs"]
mod random;

mod attacks;
mod export;
mod layouts;
mod loading;
mod safetensors;

use treedef_exchange::{Error, Tensors};

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
