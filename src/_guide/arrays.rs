//! Arrays: how vectors, matrices and the types of array crates are flattened, and how to see their
//! shapes.
//!
//! To serde, an array of numbers is a sequence of numbers, so each number is a leaf. An optimiser
//! wants them like that. If you want to handle the array as a whole, there are three ways.
//!
//! # Blocks: arrays without a change
//!
//! [`TreeDef::blocks`](crate::TreeDef::blocks) finds the rectangular parts of any structure, and
//! [`Tree::blocks`](crate::Tree::blocks) adds their leaves, borrowed. A block has a path, a shape
//! and a range of leaves:
//!
//! ```
//! use treedef::Tree;
//!
//! let tree = Tree::of(&(vec![[0.5f32; 3]; 100], 7u64))?;
//! let (block, leaves) = tree.blocks().next().unwrap();
//! assert_eq!(block.path.to_string(), ".0");
//! assert_eq!((&block.shape[..], leaves.len()), (&[100, 3][..], 300));
//! # Ok::<(), treedef::Error>(())
//! ```
//!
//! # Shapes in signatures and summaries
//!
//! [`with_shapes`](crate::Tree::with_shapes) prints a signature as JAX prints shapes, and the text
//! parses back to the same signature. [`summary`](crate::Tree::summary) adds statistics.
//!
//! | value | signature | with shapes |
//! |---|---|---|
//! | `Vec<Vec<f32>>`, 3 rows of 4 | `[[f32, f32, f32, f32]; 3]` | `f32[3, 4]` |
//! | `[[f64; 4]; 3]` | `((f64, f64, f64, f64); 3)` | `f64(3, 4)` |
//! | `Vec<[f32; 3]>` of 100 | `[(f32, f32, f32); 100]` | `f32[100](3)` |
//! | `u64` | `u64` | `u64[]` |
//!
//! # One leaf for each array
//!
//! With [`Flattener::arrays`](crate::Flattener::arrays), each array is one leaf: an
//! [`Array`](crate::Array) with its [`Dtype`](crate::Dtype), its shape, and its numbers in one
//! buffer of their type. The buffer takes 4 bytes for an `f32` instead of the 24 of a
//! [`Leaf`](crate::Leaf), and flattening is as fast as [`flatten_as`](crate::flatten_as) of that
//! type. Rebuilding gives an equal value.
//! [`Tree::with_arrays`](crate::Tree::with_arrays) does the same with an existing tree, for example
//! one that was read from JSON.
//!
//! | type | without `arrays` | with `arrays` |
//! |---|---|---|
//! | `Vec<Vec<f32>>`, `[[f32; 4]; 3]` | 12 leaves | `f32[3, 4]` |
//! | rows of different lengths | each number | an array for each row |
//! | `ndarray::Array2<f32>`, `ArrayD` (0.15 to 0.17) | version, sizes and each number | `f32[2, 3]` |
//! | `nalgebra::Vector3<f64>` | 3 leaves | `f64[3]` |
//! | `nalgebra::SMatrix<f64, 2, 3>` (0.32 to 0.35), `glam::Mat3` | each number | `f64[6]`, `f32[9]`: they do not serialize their shape; with [`ArrayRule::Matrix`](crate::ArrayRule::Matrix) `f64[2, 3]`, `f32[3, 3]`, column-major |
//! | `nalgebra::DMatrix<f64>` (0.32 to 0.35) | each number, and two sizes | `f64[6]` and two sizes; with [`ArrayRule::Nalgebra`](crate::ArrayRule::Nalgebra) `f64[2, 3]`, column-major |
//! | `Vec<half::f16>`, `half::bf16` | their bits, as `u16` | `f16[3]`, `bf16[3]` |
//! | `Vec<num_complex::Complex<f32>>` | two leaves each | `f32[3, 2]`: a pair to serde; with [`ArrayRule::Complex`](crate::ArrayRule::Complex) `c64[3]` |
//! | a struct with the fields `re` and `im` | two leaves each | `c64`, `c128` |
//! | a struct with the fields `shape` and `data`, or `dim` and `data` | sizes and each number | an array of that shape |
//! | burn's `TensorData` (0.17 to 0.22) | one byte string, and sizes | an array of its shape and type; a quantized one stays as it is |
//! | no elements: `Vec<f32>` or `[[f32; 0]; 3]` | no leaves | no leaves: the type of the elements is unknown |
//! | `String`, `char`, 128-bit integers | each a leaf | each a leaf |
//!
//! Rules are not saved. A loaded tree has its arrays, but pairs and lists are not turned into complex
//! numbers or matrices again. A tensor without elements keeps its type only if its struct stores the
//! type, as burn's does.
//!
//! The [`signature`](crate::signature) of an array that is one leaf is `opaque`. To print types and
//! shapes, use the signature without `arrays`:
//! `Flattener::new().signature(&value)?.with_shapes()`. For a long array, messages and
//! [`summary`](crate::Tree::summary) print type and shape instead of the numbers.
//!
//! `ndarray` serializes numbers in row-major order, whatever their order in memory is, so an array in
//! Fortran order comes back in the standard order.
//!
//! Types that do not implement serde's traits, such as the tensors of candle and tch, can be leaves
//! as they are: a [`Tree`](crate::Tree) has leaves of any type.
//!
//! Arrays can be changed like other leaves:
//!
//! ```
//! use treedef::{Flattener, Leaf};
//!
//! let flattener = Flattener::new().arrays(true);
//! let weights = flattener.tree(&([[1.0f32, 2.0], [3.0, 4.0]], "relu"))?;
//! let halved = weights.try_map(|leaf| match leaf.as_array() {
//!     Some(array) => array.map(|x: f32| x / 2.0).map(Leaf::from),
//!     None => Ok(leaf),
//! })?;
//! let (w, _): ([[f32; 2]; 2], String) = halved.into_typed()?;
//! assert_eq!(w, [[0.5, 1.0], [1.5, 2.0]]);
//! # Ok::<(), treedef::Error>(())
//! ```
//!
//! The package `treedef-tensors` in `crates/tensors` writes files that Python can read:
//! safetensors, npz and flax. It writes each array as one tensor, with `arrays` or without.
