//! Send changes through a file: the difference of two documents is data.
//!
//! ```
//! use treedef::{Diff, Leaf, Tree};
//!
//! let old: Tree<Leaf> = serde_json::from_str(r#"{"host": "a", "port": 80}"#)?;
//! let new: Tree<Leaf> = serde_json::from_str(r#"{"host": "a", "port": 443}"#)?;
//! let patch = serde_json::to_string(&old.diff(&new))?; // write it to a file
//!
//! let patch: Diff<Tree<Leaf>> = serde_json::from_str(&patch)?;
//! assert_eq!(patch.to_string(), "1 change\n~ [\"port\"]: 80u64 → 443u64");
//! let (host, port) = (r#"["host"]"#, r#"["port"]"#);
//! let patched = old.patch(&patch)?;
//! assert_eq!((patched.get(host)?, patched.get(port)?), (&"a".into(), &Leaf::U64(443)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! JSON has one kind of integer, so a patch from JSON fits trees that were read from JSON, too.
