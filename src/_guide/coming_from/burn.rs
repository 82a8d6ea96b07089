#![cfg_attr(not(doctest), doc = include_str!("burn.md"))]
// The package `ecosystem` has burn's tensors, and tests the page.

#[cfg(doc)]
use crate::{Flattener, Tree, TreeDef};
