//! The pages of the guide. They are only text: there is nothing to import.
//!
//! - [`which_crate`]: the crate, the feature and the first line of code for each task.
//! - [`glossary`]: the words and their meanings.
//! - [`coming_from`]: for users of JAX, optree, PyTorch and others, the equivalent of each function.
//! - [`cookbook`]: recipes for common tasks.
//! - [`objects`]: leaves that are Rust objects, such as tensors or dual numbers.
//! - [`arrays`]: how vectors, matrices and the types of array crates are flattened, and how to see
//!   their shapes.
//! - [`fitting`]: any solver or sampler on any struct, with bounds, fixed and tied parameters, and names.
//! - [`text`]: the grammar of the text of structures, values, paths and patterns.
//! - [`files`]: the promises for saved treedefs and trees, and their format byte by byte.
//! - [`speed`]: the cost of each operation, at run time and to build, and the reasons.

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
pub mod text;
#[doc(alias = "features")]
pub mod which_crate;
