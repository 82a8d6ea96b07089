//! What exists only for speed. Whoever reads how a value is rebuilt may skip this folder: without
//! it, the same values come out, and only `benches/ratios` differs.
//!
//! - [`ahead`]: elements of a sequence that are numbers are taken from a slice of leaves, without a
//!   step of the cursor; elements of a fixed layout are read beside each other.
//! - [`plain`]: the deserializers of these two.
//!
//! Their [layout](super::layout) is known before they are read.

pub(super) mod plain;
pub(super) mod ahead;

pub(super) use plain::{is_plain, may_be_leaf, read_whole};
