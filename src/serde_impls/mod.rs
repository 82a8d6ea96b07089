//! `Serialize` and `Deserialize` of public structs. They are written by hand, because a derive
//! would enable `serde/derive` for every user of this crate.

mod records;
#[cfg(feature = "diff")]
mod diff;
