#![doc = include_str!("../README.md")]
#![warn(missing_docs, unreachable_pub, missing_debug_implementations)]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod structure;
mod pool;
mod interner;
mod places;
mod recorder;
mod view;
mod count;
mod invariants;
mod seed;
mod serde_impls;
mod schema;

pub use count::{StructureCount, Structures};
pub use seed::StructureSeed;
pub use structure::{Collection, Kinds, Structure, StructureLeaf};
