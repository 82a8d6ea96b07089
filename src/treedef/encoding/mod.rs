//! Builds an encoding: opens a node, adds its children, closes it. Keeps the invariants of `model`.

mod node_data;
mod builder;

pub(crate) use builder::{EncodingBuilder, SPARE, empty};
pub(crate) use node_data::{LabelsRef, NAMELESS, NodeDataRef};
