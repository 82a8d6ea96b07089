//! From PyTorch: `torch.utils._pytree`, `_cxx_pytree` and `TreeSpec`.
//!
//! For users of PyTorch's pytrees. In the tables `value` is any serde value, `tree` a [`Tree`],
//! `treedef` a [`TreeDef`], `path` a [`Path`], `f` a function, `p` a predicate.
//!
//! # Trees
//!
//! | there | here | what differs |
//! |---|---|---|
//! | `tree_flatten(x)` | [`flatten(&value)?`](flatten()) | `None` is a node and maps are sorted: see below |
//! | `tree_unflatten(leaves, spec)` | [`unflatten::<T>(&treedef, leaves)?`](unflatten()) | a typed value |
//! | `tree_leaves(x)`, `tree_structure(x)` | [`flatten(&value)?.0`](flatten()), [`structure(&value)?`](structure()) | |
//! | `tree_iter(x)` | [`tree.iter()`](Tree::iter) | not lazy over a value: serde walks it in one go |
//! | `tree_is_leaf(x)` | [`treedef.root().is_leaf()`](NodeRef::is_leaf) | |
//! | `tree_map(f, x)` | [`map(&value, f)?`](map()) | for leaves of another type use [`Tree::map`] |
//! | `tree_map(f, x, *rests)` | [`x.zip_with(y, f)?`](Tree::zip_with) | equal structures; if `x` is a prefix, [`Tree::broadcast_to`] first |
//! | `tree_map_(f, x)` | [`tree.leaves_mut()`](Tree::leaves_mut) | a slice; a tree is changed in place, a value is not |
//! | `tree_map_only(T, f, x)`, `map_as(T)(f)` | [`tree.map(f)`](Tree::map) | `f` matches on [`Leaf`] and returns other leaves unchanged. With leaves of one kind: [`map(&value, \|x: f64\| …)?`](map()) |
//! | … for many calls | [`leaves_where(LeafKind::is_float)`](Flattener::leaves_where) | only the floats are leaves; all other scalars are static |
//! | `tree_map_only_(T, f, x)` | [`tree.leaves_mut()`](Tree::leaves_mut) | `f` matches in the same way |
//! | `tree_all(p, x)`, `tree_any(p, x)` | [`tree.leaves().iter().all(p)`](Tree::leaves) | for an empty tree: `all` is true, `any` is false |
//! | `tree_all_only(T, p, x)`, `tree_any_only(T, p, x)` | [`tree.leaves()`](Tree::leaves), [`Leaf::as_f64`] | `filter_map` them, then `all(p)` or `any(p)` |
//! | `tree_flatten_with_path(x)`, `tree_leaves_with_path(x)` | [`tree.iter()`](Tree::iter) | |
//! | `tree_map_with_path(f, x)` | [`tree.map_with_path(f)`](Tree::map_with_path) | |
//! | `keystr(kp)` | `path.to_string()` | our own format, which parses back |
//! | `key_get(x, kp)` | [`tree.get(&path)?`](Tree::get), [`tree.subtree(&path)?`](Tree::subtree) | also [`Tree::get_mut`] |
//! | `SequenceKey`, `MappingKey`, `GetAttrKey` | [`Key::Index(0)`](Key::Index), [`Key::Entry(value)`](Key::Entry), [`Key::Field("w".into())`](Key::Field) | |
//! | `_broadcast_to_and_flatten(x, spec)`, `broadcast_prefix` | [`x.broadcast_to(&treedef)?`](Tree::broadcast_to) | returns an error instead of `None`; the list is its [`Tree::leaves`] |
//! | `arg_tree_leaves(a, b)` | [`flatten(&(a, b))?.0`](flatten()) | |
//! | `is_leaf=p` | [`opaque_where(p)`](Flattener::opaque_where) | sees path, kind and name, not the value |
//!
//! # Registration
//!
//! | there | here | what differs |
//! |---|---|---|
//! | `register_pytree_node`, `register_dataclass`, `_register_namedtuple` | `#[derive(Serialize, Deserialize)]` | |
//! | `serialized_type_name="a.B"` | `#[serde(rename = "a.B")]` | otherwise the name of the type |
//! | `drop_field_names` | `#[serde(skip)]` | comes back as its serde default |
//! | `register_constant(T)` | [`mark_static("Norm")?`](Flattener::mark_static) | or [`Static`], or [`as_static`](fn@as_static) on a field; treedefs with constants can also be printed and saved |
//! | `to_dumpable_context`, `from_dumpable_context` | none | keys and statics are serde values |
//! | a class that holds tensors on a device, or another handle | [`flatten_objects(&value)?`](crate::flatten_objects()) | any object is a leaf: see [`object`](crate::object) |
//! | `is_constant_class(T)` | [`treedef.root().kind() == NodeKind::Static`](NodeRef::kind) | for a node, not for a type |
//! | `is_namedtuple(x)`, `is_structseq(x)` | [`treedef.root().kind() == NodeKind::Struct`](NodeRef::kind) | |
//! | `_deregister_pytree_node` | none | nothing is registered |
//!
//! # `TreeSpec`
//!
//! | there | here | what differs |
//! |---|---|---|
//! | `s.type` | [`treedef.root().name()`](NodeRef::name) | and [`NodeRef::kind`] |
//! | `s.context` | [`treedef.root().entry_keys()`](NodeRef::entry_keys) | or [`fields`](NodeRef::fields), [`static_value`](NodeRef::static_value) |
//! | `s.num_nodes`, `s.num_leaves` | [`treedef.num_nodes()`](TreeDef::num_nodes), [`treedef.num_leaves()`](TreeDef::num_leaves) | |
//! | `s.num_children`, `s.child(i)` | [`treedef.root().num_children()`](NodeRef::num_children), [`treedef.root().child(0)`](NodeRef::child) | |
//! | `s.children()`, `s.children_specs` | [`treedef.root().children()`](NodeRef::children) | |
//! | `s.is_leaf()`, `isinstance(s, LeafSpec)` | [`treedef.root().is_leaf()`](NodeRef::is_leaf) | |
//! | `s.flatten_up_to(x)` | [`tree.flatten_up_to(&treedef)?`](Tree::flatten_up_to) | |
//! | `s.unflatten(leaves)` | [`unflatten::<T>(&treedef, leaves)?`](unflatten()) | |
//! | `s == t`, `hash(s)` | [`treedef == other`](TreeDef) | the structure of a sorted map does not depend on its insertion order |
//! | `copy.deepcopy(s)` | `treedef.clone()` | shares all memory |
//! | `treespec_dumps(s)`, `treespec_loads(text)`, `pytree_to_str`, `str_to_pytree` | [`treedef.to_string()`](TreeDef), [`text.parse::<TreeDef>()?`](TreeDef) | for all kinds and keys; not the JSON of PyTorch |
//! | … as JSON, as bytes | `serde_json::to_string(&treedef)?`, [`treedef.to_bytes()?`](TreeDef::to_bytes) | |
//! | `treespec_pprint(s)` | `format!("{treedef:#}")` | on several lines if it is long |
//! | `treespec_leaf()`, `LeafSpec()` | [`TreeDef::leaf()`](TreeDef::leaf) | |
//! | `treespec_tuple(specs)`, `treespec_dict(m)` | [`TreeDef::tuple(treedefs)?`](TreeDef::tuple), [`TreeDef::map(entries)?`](TreeDef::map) | |
//! | `s.paths()`, `s.accessors()` | [`treedef.leaf_paths()`](TreeDef::leaf_paths) | |
//! | `s.entries()` | [`treedef.root().key(0)`](NodeRef::key) | one at a time |
//!
//! # An example of most functions
//!
//! ```
//! use indexmap::IndexMap;
//! use serde::{Deserialize, Serialize};
//! use treedef::{Flattener, Leaf, LeafKind, MapOrder, NodeKind, Tree, TreeDef};
//!
//! #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
//! struct Linear {
//!     w: Vec<f64>,
//!     b: Option<f64>,
//! }
//!
//! // As in PyTorch: `None` is a leaf, and maps keep their insertion order.
//! let torch = Flattener::new().none_is_leaf(true).map_order(MapOrder::Insertion);
//! let value = IndexMap::from([
//!     ("enc".to_owned(), Linear { w: vec![1.0, 2.0], b: Some(0.5) }),
//!     ("dec".to_owned(), Linear { w: vec![3.0], b: None }),
//! ]);
//! let (leaves, treedef) = torch.flatten(&value)?;
//! assert_eq!((leaves.len(), &leaves[4]), (5, &Leaf::None));
//! let text = "#[insertion, none_is_leaf] \
//!     {\"enc\": Linear { w: [*, *], b: * }, \"dec\": Linear { w: [*], b: * }}";
//! assert_eq!((treedef.to_string().as_str(), text.parse::<TreeDef>()?), (text, treedef.clone()));
//! assert_eq!(treedef::unflatten::<IndexMap<String, Linear>>(&treedef, &leaves)?, value);
//! assert_eq!(
//!     (treedef.num_nodes(), treedef.num_leaves(), treedef.root().num_children()),
//!     (10, 5, 2)
//! );
//!
//! let path = treedef.leaf_path(1)?;
//! assert_eq!(path.to_string(), r#"["enc"].w[1]"#);
//! let tree = Tree::new(treedef, leaves)?;
//! assert_eq!(tree.get(&path)?, &Leaf::F64(2.0));
//! assert_eq!(tree.subtree(r#"["dec"]"#)?.leaves().len(), 2);
//! let scaled = tree.clone().map(|leaf| match leaf {
//!     Leaf::F64(x) => Leaf::F64(10.0 * x),
//!     other => other,
//! });
//! assert!(scaled.leaves().iter().filter_map(Leaf::as_f64).all(|x| x >= 5.0));
//! assert!(tree.leaves().iter().any(|leaf| leaf.kind() == LeafKind::None));
//!
//! // Which arguments are batched, as `in_dims` of `vmap`.
//! let full = treedef::structure(&(0, (0, [0, 0])))?;
//! let dims = Tree::of(&(5, 6))?.broadcast_to(&full)?;
//! assert_eq!(dims.to_string(), "(5, (6, (6, 6)))");
//! let error = Tree::of(&[5])?.broadcast_to(&full).unwrap_err();
//! assert_eq!(error.to_string(), "the prefix has 1 child, the tree 2 children at the root");
//!
//! // Statics are kept, and come back.
//! let (leaves, treedef) =
//!     Flattener::new().leaves_where(LeafKind::is_float).flatten_as::<f64>(&("l2", 0.5))?;
//! assert_eq!((leaves, treedef.root().child(0).unwrap().kind()), (vec![0.5], NodeKind::Static));
//! assert_eq!(treedef::unflatten::<(String, f64)>(&treedef, [9.0])?, ("l2".to_owned(), 9.0));
//! assert_eq!(TreeDef::from_bytes(&treedef.to_bytes()?)?, treedef);
//! # Ok::<(), treedef::Error>(())
//! ```
//!
//! # Treespecs that both sides read
//!
//! The package `treedef-pytrees`, in `crates/pytrees`, writes and reads the JSON of
//! `treespec_dumps`. `None` is a leaf there, so `permute` also returns a `None` for each of them:
//!
//! ```text
//! let lowered = torch::treespec(&treedef, &Lowering::new())?;
//! send(&lowered.data, lowered.permute(&leaves)?);        // treespec_loads, tree_unflatten
//! let model: Model = lowered.restore(received)?.into_typed()?;
//! ```
//!
//! # What differs on purpose
//!
//! - **None** is a node without leaves unless [`none_is_leaf`](Flattener::none_is_leaf) is set. In
//!   PyTorch it is a leaf, except as a field of a registered dataclass. `Some` is a node too.
//! - **Maps** are sorted by key, so that equal maps have equal treedefs. An `IndexMap` still gets
//!   its own order back. [`MapOrder::Insertion`](crate::MapOrder::Insertion) makes the order part
//!   of the structure.
//! - **Both options** are kept in the treedef. Two treedefs can be combined if their options are
//!   equal, or if one was made without options and contains no map, `None` or `Some`.
//! - **Fields of structs** are in the order of their declaration, as in PyTorch.
//! - **Prefixes broadcast only on request.** [`Tree::zip_with`] requires equal structures.
//! - **Container types of the same shape** look the same to serde: `Vec`, `VecDeque` and sets are
//!   sequences. Default factories and maximum lengths are part of the structure in PyTorch, but
//!   serde does not show them.
//! - **Errors** name the path and both sides.
//! - **Depth** is limited, to 128 levels by default: deeper values give an error, not a stack
//!   overflow.
//! - **Loading checks**: a text or file that is not a treedef is an error, never a treedef that fails
//!   later.
//!
//! # What you no longer need
//!
//! - Registration, and names for serializing.
//! - Contexts that JSON can represent.
//! - `is_leaf` for `None`.

#[cfg(doc)]
use crate::{
    Flattener, Key, Leaf, NodeRef, Path, Static, Tree, TreeDef, as_static, flatten, map, structure,
    unflatten,
};
