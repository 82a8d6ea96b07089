//! Structures out of structures.

mod graft;
mod step;
mod construct;
mod compose;
mod prefix;
mod transpose;
