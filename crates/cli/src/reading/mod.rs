//! From the bytes of a file, a folder or standard input to a document.

pub(crate) mod compression;
pub(crate) mod encodings;
pub(crate) mod progress;
pub(crate) mod parse;
pub(crate) mod comments;
pub(crate) mod input;
pub(crate) mod documents;
pub(crate) mod parallel_lines;
