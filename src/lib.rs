#![doc = include_str!("overview.md")]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
// The guide links to items of all features. With one of them off, some links are broken. CI checks them with all on.
#![cfg_attr(
    not(all(
        feature = "diff",
        feature = "in_place",
        feature = "insta",
        feature = "migrate",
        feature = "persist"
    )),
    allow(rustdoc::broken_intra_doc_links)
)]

mod model;
mod path;
mod pattern;
mod message;
mod positions;
mod hash_index;
mod cause;
mod error;
mod bug;
mod selector;
mod type_names;
mod argument;
mod call_stack;
mod destination;
mod replacement;
mod leaf;
mod calls;
mod treedef;
mod text;
mod difference_kind;
mod flatten;
mod unflatten;
mod tree;
mod arrays;
#[cfg(feature = "persist")]
mod files;
#[cfg(feature = "diff")]
mod diff;
#[cfg(feature = "migrate")]
mod migration;
mod map;
#[cfg(feature = "insta")]
mod snapshot;
#[doc(hidden)]
pub mod __private;
pub mod _guide;
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub use crate::{
    argument::{ToPath, ToPattern},
    arrays::{Block, Blocks},
    error::{Difference, DifferenceKind, Error, ErrorKind, Result},
    flatten::{
        ArrayRule, Flattener, TreeSeed, flatten, flatten_as, flatten_objects, signature, structure,
    },
    leaf::{
        buffer::LeafBuffer,
        leaf_type::LeafType,
        markers::{Opaque, Static, as_opaque, as_static},
        object::{self, Object},
    },
    map::map,
    model::{
        Array, Dtype, Leaf, LeafKind, Limits, MapOrder, Name, NodeHead, NodeKind, Packed, Tree,
        TreeDef, Value,
    },
    path::{Key, Path},
    pattern::Pattern,
    selector::Selector,
    tree::{Choice, Ravel, Tolerance, Unique},
    treedef::{Children, Edit, LeafPaths, NodeRef, Nodes, TreeDefBuilder},
    unflatten::{Leaves, unflatten, unflatten_borrowed, unflatten_objects, unflatten_strict},
};

#[cfg(feature = "diff")]
pub use crate::diff::{Change, ChangeKind, Diff};

#[cfg(feature = "migrate")]
pub use crate::migration::Migration;

#[cfg(feature = "persist")]
pub use crate::files::{Fingerprint, TreeReader};

#[cfg(feature = "in_place")]
pub use crate::unflatten::unflatten_into;

#[cfg(feature = "insta")]
#[doc(hidden)]
pub use {crate::snapshot::calls as __snapshot, insta as __insta};
