//! Texts of treedefs, values, paths and patterns, and those that JAX prints.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by a panic")]

mod there_and_back;
mod forms;
mod pretty;
mod bounds;
mod conformance;
mod python;

use treedef_testing::vectors;
