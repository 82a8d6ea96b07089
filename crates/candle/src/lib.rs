//! What a user of candle needs beside it: layers as plain structs, and adapters of low rank.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod nn;
pub mod lora;
