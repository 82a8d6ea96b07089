//! Objects in the containers of an example.
//!
//! The example is read once, into a plan. A value becomes plain objects first, which are then converted to the classes
//! of the plan, unless they already have them. The objects are new and not shared, so a dict is filled in place.

mod scalar;
mod array;
mod plan;
mod instance;
mod read;
mod put;

pub(crate) use crate::write::like::plan::Plan;
pub(crate) use crate::write::like::put::like;
