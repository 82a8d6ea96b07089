//! What each of the systems that people come from does, done by us: their own examples with their
//! own values.
//!
//! Where ours differs on purpose, a comment says so where it does. The exact texts of errors are
//! ours.

mod common;

mod chex;
mod defects;
mod detectron2;
mod dm_tree;
mod equinox;
mod fetch_mapper;
mod flax;
mod haiku;
mod jax;
mod optree;
mod penzai;
mod tf_nest;
mod torch;
