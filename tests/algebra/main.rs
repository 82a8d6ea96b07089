//! Structures made of structures: laws, the reference vectors of JAX, and what is refused.

#[allow(dead_code, reason = "values are not rebuilt here")]
#[path = "../it/data.rs"]
mod data;
#[path = "../text/vectors.rs"]
mod vectors;

mod changes;
mod checks;
mod compressed;
mod conformance;
mod documents;
mod edits;
mod errors;
mod structures;
mod trees;
