//! Average the weights of checkpoints of one model, which differ in their step.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use treedef::{Flattener, LeafKind, unflatten};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Model { step: u64, w: Vec<f32>, b: f32 }
//!
//! // Each came from `Tree::load(file)?.into_typed()?`.
//! let checkpoints = [
//!     Model { step: 100, w: vec![1.0, 2.0], b: 0.5 },
//!     Model { step: 200, w: vec![3.0, 4.0], b: 1.5 },
//! ];
//! // Everything but floats is static, and may differ from the first checkpoint.
//! let floats = Flattener::new().leaves_where(LeafKind::is_float).ignore_statics(true);
//! let (mut mean, treedef) = floats.flatten_as::<f32>(&checkpoints[0])?;
//! let mut leaves = Vec::new();
//! for (model, count) in checkpoints.iter().zip(1u8..).skip(1) {
//!     floats.flatten_like(&treedef, model, &mut leaves)?;
//!     let pairs = mean.iter_mut().zip(&leaves);
//!     pairs.for_each(|(mean, leaf)| *mean += (leaf - *mean) / f32::from(count));
//! }
//! let average: Model = unflatten(&treedef, mean)?;
//! assert_eq!((average.w, average.b, average.step), (vec![2.0, 3.0], 1.0, 100));
//! # Ok::<(), treedef::Error>(())
//! ```
//!
//! If `trees` of type `Vec<Tree<f32>>` have equal statics, one line is enough:
//! `Tree::stack(trees)?.map(|xs| xs.iter().sum::<f32>() / xs.len() as f32)`.
