//! Snapshot tests of structures and signatures with `insta`.

pub mod calls;
mod macros;
