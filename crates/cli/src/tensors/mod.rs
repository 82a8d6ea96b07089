//! Files of tensors: their names as paths, their tensors as leaves, and patches of them.

pub(crate) mod names;
pub(crate) mod leaf;
pub(crate) mod trees;
pub(crate) mod values;
pub(crate) mod files;
pub(crate) mod distance;
pub(crate) mod checkpoint;
pub(crate) mod patch;
