//! A cache whose key is the structure of the input, as a compile cache needs it.
//!
//! ```
//! use std::collections::HashMap;
//!
//! use treedef::{TreeDef, structure};
//!
//! let mut plans: HashMap<TreeDef, String> = HashMap::new();
//! let mut compiled = 0;
//! for batch in [vec![1.0, 2.0], vec![3.0, 4.0], vec![5.0]] {
//!     plans.entry(structure(&batch)?).or_insert_with_key(|treedef| {
//!         compiled += 1;
//!         format!("a plan for {} numbers", treedef.num_leaves())
//!     });
//! }
//! assert_eq!(compiled, 2);
//! # Ok::<(), treedef::Error>(())
//! ```
//!
//! | one entry for | key |
//! |---|---|
//! | each structure | [`structure`](crate::structure()) |
//! | each structure with each kind of leaves, such as `f32` and `f64` | [`signature`](crate::signature()) |
//! | lists of any length | [`without_lengths`](crate::Tree::without_lengths) of either, as a text |
//!
//! In a file or between machines, use the `fingerprint` of a structure, or the text of a signature:
//!
//! ```
//! use treedef::signature;
//!
//! let signature = signature(&(1, vec![2.5f32; 3]))?;
//! assert_eq!(signature.to_string(), "(i32, [f32, f32, f32])");
//! assert_eq!(signature.without_lengths()?.to_string(), "(i32, [f32; _])");
//! # Ok::<(), treedef::Error>(())
//! ```
