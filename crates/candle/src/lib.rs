//! What a user of candle needs beside it: layers as plain structs.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod nn;
