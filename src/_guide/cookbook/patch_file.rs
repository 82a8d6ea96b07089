//! Send changes through a file: with the feature `diff`, the difference of two documents is data.
//!
//! ```
//! use treedef::{Diff, Leaf, Tree};
//!
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct Server { host: String, port: u16 }
//!
//! let server = |port| Server { host: "a".to_owned(), port };
//! let (old, new) = (Tree::of(&server(80))?, Tree::of(&server(443))?);
//! let patch = serde_json::to_string(&old.diff(&new))?; // write it to a file
//!
//! let patch: Diff<Tree<Leaf>> = serde_json::from_str(&patch)?;
//! assert_eq!(patch.to_string(), "1 change\n~ .port: 80u16 → 443u16");
//! let patched: Server = old.patch(&patch)?.into_typed()?;
//! assert_eq!((patched.host.as_str(), patched.port), ("a", 443));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The file may have any format, such as TOML or MessagePack. A patch contains the kind of each number,
//! so it fits trees from the same source: in a tree that was read from JSON, the port is `80u64`. A
//! document is written in the order in which it was read if the format's crate keeps that order, as
//! `toml` and `serde_json` do with their feature `preserve_order`.
