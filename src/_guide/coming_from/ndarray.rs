#![cfg_attr(not(doctest), doc = include_str!("ndarray.md"))]
// The package `ecosystem` has `ndarray`, and tests the page.

#[cfg(doc)]
use crate::{Array, ArrayRule, Flattener, NodeRef, Tree, TreeDef, flatten_as, unflatten};
