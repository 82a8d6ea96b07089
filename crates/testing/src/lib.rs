//! Code that several tests of `treedef` and the fuzz targets share.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by a panic")]

pub mod build;
pub mod cases;
pub mod found;
pub mod data;
pub mod tape;
pub mod replay;
pub mod structures;
pub mod hostile;
pub mod leaks;
pub mod plain;
pub mod vectors;
