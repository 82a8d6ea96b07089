//! The pages of the guide. They are only text: there is nothing to import.
//!
//! - [`which_crate`]: by task, the crate, its feature and the first line.
//! - [`glossary`]: the words.
//! - [`coming_from`]: for users of JAX, optree, PyTorch and others, what each function is called
//!   here.
//! - [`cookbook`]: a page for each of the common tasks.
//! - [`objects`]: leaves that are any Rust object, such as a tensor or a dual number.
//! - [`arrays`]: what vectors, matrices and the types of array crates look like, and their shapes.
//! - [`fitting`]: any solver or sampler on any struct, with bounds, fixed and tied parts, and names.
//! - [`files`]: what saved treedefs and trees promise, and their format byte by byte.
//! - [`speed`]: how long each operation takes, at run time and to build, and why.

pub mod arrays;
pub mod coming_from;
pub mod cookbook;
#[cfg(feature = "persist")]
pub mod files;
#[doc(alias = "argmin")]
#[doc(alias = "bounds")]
#[doc(alias = "least squares")]
#[doc(alias = "sampler")]
pub mod fitting;
#[doc(alias = "words")]
pub mod glossary;
pub mod objects;
pub mod speed;
#[doc(alias = "features")]
pub mod which_crate;
