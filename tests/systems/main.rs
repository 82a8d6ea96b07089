//! The features of other systems, with ours: their own examples with their own values.
//!
//! Comments name intended differences. The exact texts of errors are ours.

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
