//! Structures made of structures: laws, the reference vectors of JAX, and errors.

mod changes;
mod checks;
mod compressed;
mod conformance;
mod documents;
mod edits;
mod errors;
mod lists;
mod orders;
mod patch_files;
mod structures;
mod trees;

use treedef_testing::{data, vectors};
