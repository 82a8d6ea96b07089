//! Texts of treedefs, values, paths and patterns.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by a panic")]

mod there_and_back;
mod forms;
mod pretty;
mod bounds;
mod conformance;
mod joined;

use treedef_testing::vectors;
