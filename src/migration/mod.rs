//! Rebuilds values of a type that has changed since they were flattened.

mod report;
mod groups;
mod sides;
mod origins;
mod following;
mod leafless;
mod migrate;

pub use groups::{MigrationGroup, MigrationKind};
pub use report::Migration;
