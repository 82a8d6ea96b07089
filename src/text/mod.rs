//! Prints and parses treedefs, values and paths.
//!
//! The text that `Display` prints parses back to an equal treedef, value or path. The grammar is in the guide.

mod literal;
mod lex;
mod print;
mod kinds;
mod syntax;
mod parse;
#[cfg(feature = "diff")]
mod exact;
mod path;
mod pattern;
mod selector;
mod serde;
mod lengths;

#[cfg(feature = "diff")]
pub(crate) use exact::{ExactText, read_kinds, read_leaves, write_kinds, write_leaves};
pub(crate) use kinds::KindsAndShapes;
pub(crate) use parse::parse_signature;
#[cfg(feature = "insta")]
pub(crate) use parse::{parse_signature_without_lengths, parse_structure_without_lengths};
pub(crate) use print::{LeafText, LeafTexts, WithoutLengths, bare_value, write_tree};
pub(crate) use serde::as_text;
pub(crate) use serde::parsed;
