//! The structures of a log: how many there are, how often each occurs, and how they differ.
//!
//! ```
//! use serde::de::DeserializeSeed;
//! use treedef_structures::Structures;
//!
//! let mut structures = Structures::new().fold_lengths(true);
//! for line in [r#"{"id": 1, "tags": ["a"]}"#, r#"{"id": 2, "tags": []}"#, r#"{"id": 3}"#] {
//!     structures.seed().deserialize(&mut serde_json::Deserializer::from_str(line))?;
//! }
//! let all = structures.by_count()?;
//! assert_eq!(all[0].structure.to_string(), r#"{"id": u64, "tags": [str; 0–1]}"#);
//! assert_eq!((all[0].count, all[1].first), (2, 2));
//! assert_eq!(all[1].diff().to_string(), "1 change\n- [\"tags\"]: [str; 0–1]");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The lines are counted without building a tree for each, so memory grows only with the number of
//! distinct structures. Counts of several machines can be merged. The crate is `treedef-structures`.
