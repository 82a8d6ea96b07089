//! The subcommands.

mod print;
mod scope;
mod show;
mod changes;
mod diff_tensors;
mod renames;
mod hashes;
mod shards;
mod convert;
mod diff;
mod apply;
mod counts;
mod shapes;
mod check;
mod nearest;
mod select;
mod page_leaf;
mod view_nodes;
mod view;
mod run;

pub(crate) use run::run;
