//! The terms, their meanings, and where to read on.
//!
//! # Values and trees
//!
//! | term | means | more |
//! |---|---|---|
//! | pytree | any nested value seen as a tree: containers are its nodes, scalars its leaves. The word is JAX's | [coming from Python](super::coming_from) |
//! | leaf | one value of the flat vector: a scalar, or a subtree that a rule or a mark makes a leaf | [what is a leaf?](crate#what-is-a-leaf), [`Leaf`] |
//! | structure | a value without its leaves | [`structure`] |
//! | treedef | a structure as a value, to print, compare, save or use as a key | [`TreeDef`] |
//! | tree | a treedef with its leaves, which may be of any type | [`Tree`] |
//! | signature | a structure with the kinds of its leaves: a `Tree<LeafKind>` | [`signature`] |
//! | kind of a leaf | the type of a scalar, such as `f32` or `str`. It belongs to the leaf, not to the structure | [`LeafKind`] |
//! | kind of a node | struct, sequence, map, …: a part of the structure | [`NodeKind`] |
//! | node | a place in a structure: a leaf, a container, a static or an empty value | [`NodeRef`], [`NodeKind`] |
//! | field, entry, element | a child of a struct, of a map, of a sequence | [`NodeRef::fields`], [`NodeRef::entry_keys`] |
//! | insertion order | the order in which a map had its entries before they were sorted by key | [`MapOrder`] |
//! | run | equal neighbours, stored and printed once: `[Layer { w: * }; 3]` | [how it works](crate#how-it-works) |
//! | key, path | one step from a node to a child; all steps from the root, `.layers[0].w` | [`Key`], [`Path`] |
//! | pattern | a set of paths: `layers[*].bias`, `**.weight` | [`Pattern`] |
//! | prefix | a smaller tree; each of its leaves represents a whole subtree of the larger tree | [`Tree::broadcast_to`], [`TreeDef::is_prefix_of`] |
//! | fingerprint | 128 bits that name a structure on every machine | [`TreeDef::fingerprint`] |
//! | limits | how large and how deep a structure from an untrusted source may be | [`Limits`] |
//!
//! # Other values
//!
//! | term | means | more |
//! |---|---|---|
//! | static | a value that belongs to the structure: it is compared, hashed and saved with the treedef. Elsewhere: aux data, metadata, context | [statics](crate#what-belongs-to-the-structure), [`as_static`](fn@as_static) |
//! | opaque leaf | a whole subtree as one leaf | [`as_opaque`](fn@as_opaque), [`Flattener::mark_opaque`] |
//! | object leaf | a leaf that is any Rust object, such as a tensor; serde does not look into it | [objects](super::objects) |
//! | array | numbers of one type in one leaf, with a shape | [arrays](super::arrays), [`Array`] |
//! | block | a rectangular part of a structure: an array that is still single leaves | [`TreeDef::blocks`] |
//! | shape | the sizes of an array or a block, such as `[3, 4]`. It is not the structure | [`Tree::with_shapes`] |
//! | mark | an attribute that makes a field static, opaque or an object | [statics](crate#what-belongs-to-the-structure) |
//! | rule | the same for a type of another crate, by type and field or by path | [`Flattener`] |
//! | mask | a prefix of bools, which chooses leaves | [`Tree::mask`], [`Choice`] |
//! | hole | the `None` in the place of a leaf that is in another part | [`Tree::partition`] |
//! | tied | two fields that share one object or tensor are tied | [shared leaves](super::objects#shared-leaves) |
//!
//! # Operations
//!
//! | term | means | more |
//! |---|---|---|
//! | flatten, unflatten | from a value to its leaves and its treedef, and back | [`flatten`](flatten()), [`unflatten`](unflatten()) |
//! | map, zip | apply a function to each leaf; to each pair of leaves at the same path in two trees | [`Tree::map`], [`Tree::zip_with`] |
//! | broadcast | repeat each leaf of a prefix for all leaves below it | [`Tree::broadcast_to`] |
//! | compose, transpose | put one structure into each leaf of another; swap the inner and the outer structure | [`TreeDef::compose`], [`Tree::transpose`] |
//! | partition, combine | divide the leaves between two trees of the same structure, with holes; put them together again | [`Tree::partition`], [`Tree::combine`] |
//! | split, merge | the same without holes: each part has only the nodes above its leaves | [`Tree::split`], [`Tree::merge`] |
//! | stack, unstack | combine trees of one structure into one tree whose leaves are lists; split it again | [`Tree::stack`], [`Tree::unstack`] |
//! | ravel | all numbers as one vector of `f64`, without loss | [`Tree::ravel`] |
//! | diff, patch | the differences between two trees, as data; apply them | [`Tree::diff`], [`Tree::patch`] |
//! | migrate | read a tree into a type that has changed, with a report | [`Tree::migrate`] |
//!
//! # The other crates
//!
//! | term | means | in |
//! |---|---|---|
//! | parameters | the free numbers of a model as a vector. The others are fixed, or tied to one that is free | `treedef-optim`: [fitting](super::fitting) |
//! | state | the data that an optimiser needs for its next step: a serde value | `treedef-optim` |
//! | group | the leaves that one of several optimisers trains. optax calls the name of a group a label | `treedef-optim` |
//! | adapter | small matrices that are trained beside a frozen one (LoRA) | `treedef-candle` |
//! | checkpoint | a file with the parameters of a model: a saved [`Tree`], or tensors by name in another format | `treedef-tensors` |
//! | source | an open checkpoint: its headers are read, its tensors not yet | `treedef-tensors` |
//! | loader, export | the rules that turn names of tensors into fields, and fields into names | `treedef-tensors` |
//! | lower, raise | turn a treedef into a structure of Python, and back | `treedef-pytrees` |
//! | fold | count structures that differ only in lengths, keys or kinds as one | `treedef-structures` |
//! | handshake | the ranks of a job compare structures before they send numbers | `treedef-mpi` |

#[allow(unused_imports, reason = "the page links to them")]
use crate::{
    Array, Choice, Flattener, Key, Leaf, LeafKind, Limits, MapOrder, NodeKind, NodeRef, Path,
    Pattern, Tree, TreeDef, as_opaque, as_static, flatten, signature, structure, unflatten,
};
