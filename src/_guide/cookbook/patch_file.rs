//! Send changes through a file: the difference of two documents is data, with the feature `diff`.
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
//! The file may have any format: TOML, for example, or MessagePack. A patch keeps the kind of each
//! number, so it fits trees from the same source: a tree that was read from JSON has `80u64`.
//! A document is written in the order in which it was read if the format's crate keeps that order:
//! `toml` and `serde_json` do so with their feature `preserve_order`.
