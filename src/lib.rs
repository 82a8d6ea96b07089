#![doc = include_str!("overview.md")]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod model;
mod path;
mod pattern;
mod error;
mod argument;
mod markers;
mod float;
mod leaf;
mod sink;
mod leaf_type;
mod conversion;
mod node;
mod walk;
mod limits;
mod value;
mod order;
mod slots;
mod builder;
mod stack;
mod text;
mod diff;
mod algebra;
mod change;
mod flatten;
mod unflatten;
mod migration;
mod tree;
mod map;
mod assertion;
mod adapter;
#[cfg(feature = "persist")]
mod persist;
#[cfg(feature = "insta")]
mod snapshot;
pub mod _guide;
#[cfg(doctest)]
mod readme;

pub use crate::{
    adapter::FlatFn,
    algebra::Edit,
    argument::{ToPath, ToPattern},
    assertion::{
        assert_all_close, assert_all_equal, assert_equivalent_structure, assert_same_structure,
    },
    change::{Change, ChangeKind, Diff},
    error::{Difference, DifferenceKind, Error, ErrorKind, Result},
    flatten::{Flattener, NodeHead, flatten, flatten_as, leaves, signature, structure},
    leaf_type::LeafType,
    map::{map, map_as, map_with_path, pack_as, try_map},
    markers::{Opaque, Static, as_opaque, as_static},
    migration::Migration,
    model::{Leaf, LeafKind, Limits, MapOrder, Name, NodeKind, Packed, Tree, TreeDef, Value},
    node::{Children, NodeRef},
    path::{Key, Path},
    pattern::Pattern,
    tree::{Buffers, Ravel, Segment, Tolerance, Unique},
    unflatten::{Leaves, unflatten, unflatten_borrowed, unflatten_strict},
    walk::{LeafPaths, Nodes},
};

#[cfg(feature = "persist")]
pub use crate::persist::Fingerprint;

#[cfg(feature = "in_place")]
pub use crate::unflatten::unflatten_into;

#[cfg(feature = "insta")]
#[doc(hidden)]
pub use insta as __insta;
