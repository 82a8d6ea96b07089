//! Structures out of structures.

mod graft;
mod step;
mod compose;
mod prefix;
mod transpose;
