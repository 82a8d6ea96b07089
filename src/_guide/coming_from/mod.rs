//! Coming from another library of pytrees: what is called how, and what differs. A page for each.
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
//!
//! Each page has tables from their names to ours, with what differs in a line, and an example that does most of it.
//!
//! # What is common
//!
//! **serde in place of registration.** `#[derive(Serialize, Deserialize)]` makes a type a node, and nothing is global.
//! What a registry says besides stands at the field ([`as_static`](fn@as_static), [`as_opaque`](fn@as_opaque)) or in a
//! [`Flattener`], so that one type has as many views as there are flatteners.
//!
//! **Values and trees.** [`flatten`](flatten()), [`map`](map()) and their like take and give typed values. The leaves
//! of a [`Tree`] may be of any type, so most operations are on it: [`Tree::of`] makes one, [`Tree::into_typed`] leads
//! back. A treedef stands on its own, without an example.
//!
//! **None** is a node without leaves, and `Some` is a node with one child. With
//! [`none_is_leaf`](Flattener::none_is_leaf) the one is a leaf and the other is not there. The holes of
//! [`Tree::partition`] are `Option`s of leaves: never the same thing.
//!
//! **Maps** stand in the order of their keys, whatever these are. The order in which the entries came is given back
//! when a value is rebuilt; what makes another structure (replace, filter, edit, the subtree at a path) forgets it.
//! [`MapOrder::Insertion`] makes that order part of the structure. The fields of a struct stand in the order of their
//! declaration.
//!
//! **Static** is what others call aux data, metadata, context or constants: values that travel in the treedef.
//!
//! **Leaves are typed.** They are scalars, each [`Leaf`] of its own kind, so `1` and `1.0` differ. A treedef does not
//! know the kinds, a [`signature`](signature()) does. A `Vec` or an array is a container, unless a mark or rule makes
//! it one leaf.
//!
//! **What `is_leaf` sees** is what serde shows before it enters a node: its path, kind and name. It cannot look at the
//! value.
//!
//! **Nothing broadcasts by itself.** Functions of several trees want equal structures; prefixes are taken where the
//! name says so: [`Tree::zip_prefix`], [`Tree::broadcast_to`], [`Tree::partition_mask`].
//!
//! **Options stay.** A treedef remembers `none_is_leaf` and the order of insertion, and goes with others that were made
//! likewise. One that was made without options and has neither a map nor a `None` or `Some`, a leaf say, goes with all.
//!
//! **Errors** name the path, and where two structures differ both sides;
//! [`Error::differences`](crate::Error::differences) has them as data. The number of leaves is always checked, and
//! depth is limited.
//!
//! # Everything that JAX and optree have
//!
//! | there | here |
//! |---|---|
//! | flatten | [`flatten(&value)?`](flatten()), [`flatten_as::<f64>(&value)?`](flatten_as) |
//! | flatten with path, with accessor | [`tree.iter()`](Tree::iter) |
//! | flatten one level, with keys | [`treedef.children()`](TreeDef::children), [`NodeRef::key`], [`Tree::subtree`] |
//! | flatten up to | [`tree.flatten_up_to(&prefix)?`](Tree::flatten_up_to) |
//! | unflatten | [`unflatten::<T>(&treedef, leaves)?`](unflatten()), [`Tree::new`] |
//! | leaves | [`leaves(&value)?`](leaves()), [`Tree::leaves`] |
//! | iter | [`tree.iter()`](Tree::iter); none that is lazy over a value, as serde walks one in one go |
//! | structure | [`structure(&value)?`](structure()) |
//! | paths, accessors | [`treedef.leaf_paths()`](TreeDef::leaf_paths), [`TreeDef::leaf_path`] |
//! | entries, entry | [`NodeRef::key`], [`NodeRef::fields`], [`NodeRef::entry_keys`] |
//! | children, child | [`treedef.children()`](TreeDef::children), [`NodeRef::children`], [`NodeRef::child`] |
//! | is leaf, of values and strictly of treedefs | `treedef.root().kind() == NodeKind::Leaf`: [`NodeRef::kind`] |
//! | is leaf, loosely | `treedef.num_nodes() == 1`: [`TreeDef::num_nodes`] |
//! | predicates for leaves, of value, of path and value | [`Flattener::is_leaf`]: of path, kind and name; of the value none. Also [`Flattener::opaque_type`], [`Flattener::opaque_at`], [`Flattener::leaves_where`] |
//! | policies for None | [`Flattener::none_is_leaf`]; as an error, [`Tree::try_map`] |
//! | all leaves | [`NodeRef::children`] and [`NodeRef::kind`] |
//! | is node, of a type | none: types are not registered; of a value [`NodeRef::kind`] |
//! | map | [`map(&value, f)?`](map()), [`Tree::map`], [`try_map`](try_map()), [`map_as`] |
//! | map in place | [`Tree::leaves_mut`], [`Tree::select_mut`]; of a value none, but `unflatten_into` with the feature `in_place` |
//! | map with path, with accessor | [`map_with_path(&value, f)?`](map_with_path()), [`Tree::map_with_path`] |
//! | map of several trees | [`x.zip_with(y, f)?`](Tree::zip_with), [`Tree::zip`], [`Tree::zip_prefix`], [`Tree::stack`] |
//! | broadcast prefix: tree, list, from treedefs | [`prefix.broadcast_to(&treedef)?`](Tree::broadcast_to); the list is its [`Tree::leaves`] |
//! | broadcast common: tree, list, treedefs | [`treedef.common_suffix(&other)?`](TreeDef::common_suffix), then [`Tree::broadcast_to`] |
//! | broadcast map, with path, with accessor | [`Tree::zip_with`] or [`Tree::zip`] of the two that were broadcast, then [`Tree::map_with_path`] |
//! | transpose, inner given | [`tree.transpose(&outer, &inner)?`](Tree::transpose) |
//! | transpose, inner inferred | [`tree.treedef().inner_of(&outer)?`](TreeDef::inner_of) |
//! | transpose map, with path, with accessor | [`tree.try_map(f)?.compose()?`](Tree::compose), then [`Tree::transpose`] |
//! | partition | [`tree.partition(p)`](Tree::partition), [`Tree::partition_into`], [`Tree::combine`]; dropping: [`Tree::split`], [`Tree::split_into`], [`Tree::merge`] |
//! | replace Nones | [`Tree::edit`]; or [`Flattener::none_is_leaf`] and [`Tree::map`] |
//! | reduce, associatively, sum, max, min, all, any | none of our own: [`Tree::leaves`] is a slice |
//! | ravel, unravel | [`tree.ravel()?`](Tree::ravel), [`Ravel::unravel`]; [`Tree::into_buffers`] |
//! | Partial | none: a function is no serde value; see [`FlatFn`] |
//! | static nodes | [`Static`], [`Flattener::static_type`] |
//! | dataclass nodes: data, meta, dropped fields | `derive`; [`as_static`](fn@as_static); `#[serde(skip)]` |
//! | custom nodes with keys | `derive`, or `impl Serialize` |
//! | namespaces | none needed: a [`Flattener`] is a view |
//! | unregister | none: nothing is registered |
//! | insertion order | [`Flattener::map_order`] |
//! | prefix errors | [`Error::differences`](crate::Error::differences) |
//! | equality errors: trees, treedefs | [`x.diff(&y)`](Tree::diff), [`TreeDef::diff`], [`TreeDef::check_equal`] |
//! | compose | [`treedef.compose(&inner)?`](TreeDef::compose), [`Tree::compose`] |
//! | transform | [`treedef.edit_up(f)?`](TreeDef::edit_up), [`TreeDef::edit`] |
//! | walk, traverse | [`tree.edit_up(f)?`](Tree::edit_up), [`Tree::edit`] |
//! | from iterable tree | [`unflatten::<T>(&treedef, leaves(&nested)?)?`](unflatten()) |
//! | node data | [`NodeRef::kind`], [`NodeRef::name`], [`NodeRef::variant`], [`NodeRef::fields`], [`NodeRef::entry_keys`], [`NodeRef::static_value`] |
//! | rebuild from node data and children | the constructors, or [`TreeDef::edit_up`] |
//! | constructors for every kind | [`TreeDef::leaf`], [`none`](TreeDef::none), [`some`](TreeDef::some), [`unit`](TreeDef::unit), [`seq`](TreeDef::seq), [`seq_of`](TreeDef::seq_of), [`tuple`](TreeDef::tuple), [`map`](TreeDef::map), [`named_struct`](TreeDef::named_struct), [`tuple_struct`](TreeDef::tuple_struct), [`newtype_struct`](TreeDef::newtype_struct), [`unit_struct`](TreeDef::unit_struct), [`unit_variant`](TreeDef::unit_variant), [`newtype_variant`](TreeDef::newtype_variant), [`tuple_variant`](TreeDef::tuple_variant), [`struct_variant`](TreeDef::struct_variant), [`static_value`](TreeDef::static_value) |
//! | one level | [`treedef.root().one_level()?`](NodeRef::one_level) |
//! | is one level | [`treedef.root().one_level()? == treedef`](NodeRef::one_level) |
//! | is prefix, is suffix, strictly | [`treedef.is_prefix_of(&other)`](TreeDef::is_prefix_of); with `!=` for strictly |
//! | ordering operators | none: one relation has one name |
//! | numbers of leaves, nodes, children | [`TreeDef::num_leaves`], [`TreeDef::num_nodes`], [`NodeRef::num_children`] |
//! | type, kind | [`NodeRef::name`], [`NodeRef::kind`] |
//! | equality, hash | `Eq + Hash`; [`TreeDef::fingerprint`] |
//! | text | `Display`, `FromStr`; [`TreeDef::to_jax_string`] |
//! | pickle, proto | [`TreeDef::save`], [`TreeDef::to_bytes`], serde; not the bytes of either |
//! | key classes | [`Key`] |
//! | keystr: simple, separator | [`Path::to_jax_string`], [`Path::to_joined_string`] |
//! | codify | `format!("t{path}")`: a [`Path`] prints as Rust, as far as that goes |
//! | accessor: call | [`Tree::get`], [`Tree::subtree`] |
//! | accessor: join, slice | [`Path::child`], [`Path::keys`] and `collect` |

pub mod jax;
pub mod optree;
pub mod torch;
pub mod tf_nest;
pub mod fetch_mapper;
pub mod detectron2;
pub mod dm_tree;
pub mod equinox;

#[cfg(doc)]
use crate::{
    FlatFn, Flattener, Key, Leaf, MapOrder, NodeRef, Path, Ravel, Static, Tree, TreeDef, as_opaque,
    as_static, flatten, flatten_as, leaves, map, map_as, map_with_path, signature, structure,
    try_map, unflatten,
};
