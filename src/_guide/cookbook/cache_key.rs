//! A cache whose key is the structure of the input, as that of a compiler.
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
//! If `f32` and `f64` need different plans, the key is the [`signature`](crate::signature()). In a
//! file or between machines, it is the `TreeDef::fingerprint`, which is the same for `f32` and `f64`.
//! The text of the signature tells them apart:
//!
//! ```
//! use treedef::signature;
//!
//! assert_eq!(signature(&(1, 2.5f32))?.to_string(), "(i32, f32)");
//! # Ok::<(), treedef::Error>(())
//! ```
