//! Code that exists only for speed. To learn how a value is rebuilt, skip this folder: without it, the
//! values are the same, and only `benches/ratios` differs.
//!
//! - [`ahead`]: elements of a sequence that are numbers are taken from a slice of leaves, without a
//!   step of the cursor; elements of a fixed layout are read beside each other.
//! - [`plain`]: the deserializers of these two.
//!
//! Their [layout](super::layout) is known before they are read.

pub(super) mod plain;
pub(super) mod ahead;

pub(super) use plain::{is_plain, may_be_leaf, read_whole};
