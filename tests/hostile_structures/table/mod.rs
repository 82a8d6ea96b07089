//! A row for each public operation: its name, and the calls that test it.

mod construct;
mod read;
mod nodes;
mod text;
#[cfg(feature = "persist")]
mod files;
mod trees;
mod select;
mod pairs;
mod edits;
mod changes;
mod values;
mod typed;
mod flattener;
mod counted;

use std::io::{self, Write};

use treedef::{Error, Result};

use crate::cases::Cases;

/// The name is as in the sources: `Type::method`, `function`, `Trait for Type`.
pub(crate) type Row = (&'static str, fn(&mut Cases));

pub(crate) fn rows() -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    rows.extend(construct::ROWS);
    rows.extend(read::ROWS);
    rows.extend(nodes::ROWS);
    rows.extend(text::ROWS);
    #[cfg(feature = "persist")]
    rows.extend(files::ROWS);
    rows.extend(trees::ROWS);
    rows.extend(select::ROWS);
    rows.extend(pairs::ROWS);
    rows.extend(edits::ROWS);
    rows.extend(changes::ROWS);
    rows.extend(values::ROWS);
    rows.extend(typed::ROWS);
    rows.extend(flattener::ROWS);
    rows.extend(counted::ROWS);
    rows
}

pub(crate) fn names() -> Vec<&'static str> {
    rows().into_iter().map(|(name, _)| name).collect()
}

/// Writes a document to nowhere.
fn to_json(value: &impl serde::Serialize) -> Result<()> {
    serde_json::to_writer(io::sink(), value).map_err(Error::custom)
}

/// The hash of something.
fn hash(value: &impl std::hash::Hash) -> u64 {
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
    BuildHasherDefault::<DefaultHasher>::default().hash_one(value)
}

/// Prints in all forms.
fn print(value: &impl std::fmt::Display) -> Result<usize> {
    let text = value.to_string();
    let pretty = format!("{value:#}");
    write!(io::sink(), "{text:.10}").map_err(Error::custom)?;
    Ok(text.len() + pretty.len())
}

/// Prints as debug output.
fn debug(value: &impl std::fmt::Debug) -> Result<usize> {
    Ok(format!("{value:?}").len() + format!("{value:#?}").len())
}
