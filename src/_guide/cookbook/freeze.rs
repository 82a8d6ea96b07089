//! Freeze a part of a model: an optimiser does not see it, and it comes back unchanged.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use treedef::{Flattener, LeafKind, unflatten};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Model { name: String, encoder: Vec<f64>, head: Vec<f64> }
//!
//! let model = Model { name: "fox".into(), encoder: vec![1.0, 2.0], head: vec![3.0] };
//! let trainable = Flattener::new().leaves_where(LeafKind::is_float).mark_static(".encoder")?;
//! assert_eq!(trainable.unmatched_rules(&model)?, [""; 0]); // a typo would freeze nothing
//! let (mut leaves, treedef) = trainable.flatten_as::<f64>(&model)?;
//! assert_eq!(leaves, [3.0]);
//!
//! leaves[0] -= 0.5; // a step of the optimiser
//! let model: Model = unflatten(&treedef, leaves)?;
//! assert_eq!((model.encoder, model.head), (vec![1.0, 2.0], vec![2.5]));
//! # Ok::<(), treedef::Error>(())
//! ```
//!
//! A path may be a [`Pattern`](crate::Pattern): `**.b` freezes all fields `b`. A pattern that matches
//! nothing is not an error, because a list may be empty;
//! [`unmatched_rules`](crate::Flattener::unmatched_rules) lists such patterns.
