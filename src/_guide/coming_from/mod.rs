//! Coming from another library: what each function is called here, and what differs.
//!
//! | you know | read |
//! |---|---|
//! | JAX | [`jax`] |
//! | optree | [`optree`] |
//! | PyTorch's `_pytree` | [`torch`] |
//! | `tf.nest` | [`tf_nest`] |
//! | TensorFlow's `_FetchMapper`, `Session.run` | [`fetch_mapper`] |
//! | Detectron2's `TracingAdapter` | [`detectron2`] |
//! | dm-tree | [`dm_tree`] |
//! | Equinox, Flax, Chex, Haiku, Penzai | [`equinox`] |
//! | `serde_json::Value` | [`serde_json`] |
//! | `ndarray` | [`ndarray`] |
//! | burn | [`burn`] |
//! | candle | the crate `treedef-candle`, which has a page of its own |
//!
//! Each page has tables from their names to ours, with one line about what differs, and an example
//! that uses most of it.
//!
//! # What is common
//!
//! **serde instead of registration.** `#[derive(Serialize, Deserialize)]` makes a type a node, and
//! nothing is global. For other settings of a registry, use attributes on fields
//! ([`as_static`](fn@as_static), [`as_opaque`](fn@as_opaque)) or the rules of a [`Flattener`], so that
//! different flatteners can treat one type in different ways.
//!
//! **Values and trees.** [`flatten`](flatten()), [`map`](map()) and similar functions take and
//! return typed values. The leaves of a [`Tree`] may have any type, so most operations are methods
//! of it. [`Tree::of`] makes a tree from a value, and [`Tree::into_typed`] makes a value from a
//! tree. A treedef needs no example value.
//!
//! **None** is a node without leaves, and `Some` is a node with one child. With
//! [`none_is_leaf`](Flattener::none_is_leaf), `None` is a leaf and `Some(x)` has the structure of
//! `x`, unless `x` is itself a `None`, a `Some` or a unit. The holes of [`Tree::partition`] are
//! `Option`s around the leaves, so they are never confused with a `None` of the value.
//!
//! **Maps** are sorted by key, for keys of any type. A rebuilt value gets its entries in their
//! insertion order. All operations on trees keep this order and put new entries last.
//! [`MapOrder::Insertion`] makes it part of the structure. The fields of a struct are in the order
//! of their declaration.
//!
//! **Static** values are called aux data, metadata, context or constants elsewhere: they are stored
//! in the treedef.
//!
//! **Leaves are typed.** They are scalars, and each [`Leaf`] has its own kind, so `1` and `1.0`
//! differ. A treedef does not contain the kinds, a [`signature`](signature()) does. A `Vec` or an
//! array is a container, unless a mark or rule makes it one leaf.
//!
//! **`is_leaf`** sees the path, the kind and the name of a node, because serde shows these before the
//! content. It cannot look at the value.
//!
//! **Nothing broadcasts by itself.** Functions of several trees require equal structures. Prefixes
//! are accepted only by functions that say so: [`Tree::broadcast_to`], [`Tree::flatten_up_to`],
//! [`Tree::partition`].
//!
//! **Options are kept.** A treedef remembers the options it was made with, such as `none_is_leaf`
//! and insertion order. Two treedefs can be combined if their options are equal. A treedef that was
//! made without options and contains no map, `None` or `Some`, for example a single leaf, can be
//! combined with any other.
//!
//! **Errors** name the path. Where two structures differ they name both sides, and
//! [`Error::differences`](crate::Error::differences) lists the differences as data. The number of
//! leaves is always checked, and depth is limited.
//!
//! # Everything that JAX and optree have
//!
//! | there | here |
//! |---|---|
//! | flatten | [`flatten(&value)?`](flatten()), [`flatten_as::<f64>(&value)?`](flatten_as) |
//! | flatten with path, with accessor | [`tree.iter()`](Tree::iter) |
//! | flatten one level, with keys | [`treedef.root().children()`](NodeRef::children), [`NodeRef::key`], [`Tree::subtree`] |
//! | flatten up to | [`tree.flatten_up_to(&prefix)?`](Tree::flatten_up_to) |
//! | unflatten | [`unflatten::<T>(&treedef, leaves)?`](unflatten()), [`Tree::new`] |
//! | leaves | [`flatten(&value)?.0`](flatten()), [`Tree::leaves`] |
//! | iter | [`tree.iter()`](Tree::iter); not lazy over a value: serde walks it in one go |
//! | structure | [`structure(&value)?`](structure()) |
//! | paths, accessors | [`treedef.leaf_paths()`](TreeDef::leaf_paths), [`TreeDef::leaf_path`] |
//! | entries, entry | [`NodeRef::key`], [`NodeRef::fields`], [`NodeRef::entry_keys`] |
//! | children, child | [`treedef.root().children()`](NodeRef::children), [`NodeRef::child`] |
//! | is leaf, for values, and strict for treedefs | [`treedef.root().is_leaf()`](NodeRef::is_leaf) |
//! | is leaf, not strict | `treedef.num_nodes() == 1`: [`TreeDef::num_nodes`] |
//! | predicates for leaves, of value, of path and value | [`Flattener::opaque_where`] sees path, kind and name, not the value. Also [`Flattener::mark_opaque`], [`Flattener::leaves_where`] |
//! | policies for None | [`Flattener::none_is_leaf`]; as an error, [`Tree::try_map`] |
//! | all leaves | [`NodeRef::children`] and [`NodeRef::is_leaf`] |
//! | is node, of a type | none: types are not registered; for a value, [`NodeRef::kind`] |
//! | map | [`map(&value, f)?`](map()), [`Tree::map`], [`Tree::try_map`] |
//! | map in place | [`Tree::leaves_mut`], [`Tree::select_mut`]; for a value, only `unflatten_into` with the feature `in_place` |
//! | map with path, with accessor | [`tree.map_with_path(f)`](Tree::map_with_path) |
//! | map of several trees | [`x.zip_with(y, f)?`](Tree::zip_with), [`Tree::zip`], [`Tree::stack`] |
//! | broadcast prefix: tree, list, from treedefs | [`prefix.broadcast_to(&treedef)?`](Tree::broadcast_to); the list is its [`Tree::leaves`] |
//! | broadcast common: tree, list, treedefs | [`treedef.common_suffix(&other)?`](TreeDef::common_suffix), then [`Tree::broadcast_to`] |
//! | broadcast map, with path, with accessor | [`Tree::zip_with`] or [`Tree::zip`] of the two broadcast trees, then [`Tree::map_with_path`] |
//! | transpose, inner given | [`tree.transpose(&outer, &inner)?`](Tree::transpose) |
//! | transpose, inner inferred | [`tree.treedef().inner_of(&outer)?`](TreeDef::inner_of) |
//! | transpose map, with path, with accessor | [`tree.try_map(f)?.compose()?`](Tree::compose), then [`Tree::transpose`] |
//! | partition | [`tree.partition(p)?`](Tree::partition), [`Tree::combine`]; without holes: [`Tree::split`], [`Tree::split_into`], [`Tree::merge`] |
//! | replace Nones | [`Tree::edit`]; or [`Flattener::none_is_leaf`] and [`Tree::map`] |
//! | reduce, associatively, sum, max, min, all, any | none: [`Tree::leaves`] is a slice, use its iterators |
//! | ravel, unravel | [`tree.ravel()?`](Tree::ravel), [`Ravel::unravel`]; for a vector of one kind, [`Flattener::leaves_where`] and [`Flattener::flatten_as`] |
//! | Partial | none: a function is not a serde value; a closure holds what it is called with |
//! | static nodes | [`Static`], [`Flattener::mark_static`] |
//! | dataclass nodes: data, meta, dropped fields | `derive`; [`as_static`](fn@as_static); `#[serde(skip)]` |
//! | custom nodes with keys | `derive`, or `impl Serialize` |
//! | namespaces | not needed: use several [`Flattener`]s |
//! | unregister | none: nothing is registered |
//! | insertion order | [`Flattener::map_order`] |
//! | prefix errors | [`Error::differences`](crate::Error::differences) |
//! | equality errors: trees, treedefs | [`x.diff(&y)`](Tree::diff), [`TreeDef::diff`], [`TreeDef::check_equal`] |
//! | compose | [`treedef.compose(&inner)?`](TreeDef::compose), [`Tree::compose`] |
//! | transform | [`treedef.edit_up(f)?`](TreeDef::edit_up), [`TreeDef::edit`] |
//! | walk, traverse | [`tree.edit_up(f)?`](Tree::edit_up), [`Tree::edit`] |
//! | from iterable tree | [`unflatten::<T>(&treedef, flatten(&nested)?.0)?`](unflatten()) |
//! | node data | [`NodeRef::kind`], [`NodeRef::name`], [`NodeRef::variant`], [`NodeRef::fields`], [`NodeRef::entry_keys`], [`NodeRef::static_value`] |
//! | rebuild from node data and children | [`TreeDefBuilder`](crate::TreeDefBuilder), or [`TreeDef::edit_up`] |
//! | constructors for every kind | [`TreeDef::leaf`], [`seq`](TreeDef::seq), [`seq_of`](TreeDef::seq_of), [`tuple`](TreeDef::tuple), [`map`](TreeDef::map), [`named_struct`](TreeDef::named_struct), and [`TreeDefBuilder`](crate::TreeDefBuilder) for all others, or a text: `"None".parse()?` |
//! | one level | [`treedef.edit(f)?`](TreeDef::edit) with a leaf for each child |
//! | is one level | [`NodeRef::is_leaf`] of all [`NodeRef::children`] |
//! | is prefix, is suffix, strict or not | [`treedef.is_prefix_of(&other)`](TreeDef::is_prefix_of); add `!=` for strict |
//! | ordering operators | none: use `is_prefix_of` |
//! | numbers of leaves, nodes, children | [`TreeDef::num_leaves`], [`TreeDef::num_nodes`], [`NodeRef::num_children`] |
//! | type, kind | [`NodeRef::name`], [`NodeRef::kind`] |
//! | equality, hash | `Eq + Hash`; [`TreeDef::fingerprint`] |
//! | text | `Display`, `FromStr`; `jax::text` of `treedef-pytrees` |
//! | pickle, proto | [`TreeDef::save`], [`TreeDef::to_bytes`], serde; the bytes differ from JAX's and optree's |
//! | key classes | [`Key`] |
//! | keystr: simple, separator | `jax::keystrs` of `treedef-pytrees`, [`Path::to_joined_string`] |
//! | codify | `format!("t{path}")`: a [`Path`] prints as Rust where possible |
//! | accessor: call | [`Tree::get`], [`Tree::subtree`] |
//! | accessor: join, slice | [`Path::join`], [`Path::child`], [`Path::keys`] and `collect` |

pub mod jax;
pub mod optree;
pub mod torch;
pub mod tf_nest;
pub mod fetch_mapper;
pub mod detectron2;
pub mod dm_tree;
pub mod equinox;
pub mod serde_json;
pub mod ndarray;
pub mod burn;

#[cfg(doc)]
use crate::{
    Flattener, Key, Leaf, MapOrder, NodeRef, Path, Ravel, Static, Tree, TreeDef, as_opaque,
    as_static, flatten, flatten_as, map, signature, structure, unflatten,
};
