//! From optree: its functions on trees, `PyTreeSpec`, `PyTreeAccessor` and the registry.
//!
//! For users of optree. Functions that have the same name and meaning in JAX are also on [that
//! page](super::jax). In the tables `value` is any serde value, `tree` a [`Tree`], `treedef` a
//! [`TreeDef`], `path` a [`Path`], `f` a function, `p` a predicate.
//!
//! # Trees
//!
//! | there | here | what differs |
//! |---|---|---|
//! | `tree_flatten(x)` | [`flatten(&value)?`](flatten()) | each [`Leaf`] has its own kind |
//! | `tree_unflatten(spec, leaves)` | [`unflatten::<T>(&treedef, leaves)?`](unflatten()) | a typed value |
//! | `tree_leaves(x)`, `tree_structure(x)` | [`flatten(&value)?.0`](flatten()), [`structure(&value)?`](structure()) | |
//! | `tree_iter(x)` | [`tree.iter()`](Tree::iter) | not lazy over a value: serde walks it in one go |
//! | `tree_flatten_with_path(x)`, `…_with_accessor(x)` | [`tree.iter()`](Tree::iter) | a [`Path`] is path and accessor |
//! | `tree_paths(x)`, `tree_accessors(x)` | [`treedef.leaf_paths()`](TreeDef::leaf_paths) | one at a time: [`TreeDef::leaf_path`] |
//! | `tree_is_leaf(x)` | [`treedef.root().is_leaf()`](NodeRef::is_leaf) | |
//! | `all_leaves(xs)` | [`treedef.root().children()`](NodeRef::children) | `.all(NodeRef::is_leaf)` |
//! | `tree_map(f, x)` | [`map(&value, f)?`](map()) | |
//! | `tree_map(f, x, y)` | [`x.zip_with(y, f)?`](Tree::zip_with) | equal structures; a prefix by [`Tree::broadcast_to`] first |
//! | `tree_map_(f, x)` | [`tree.leaves_mut()`](Tree::leaves_mut) | a slice; a tree is changed in place, a value is not |
//! | `tree_map_with_path(f, x)`, `…_with_accessor(f, x)` | [`tree.map_with_path(f)`](Tree::map_with_path) | |
//! | `tree_map_with_path_(f, x)`, `…_with_accessor_` | [`tree.select_mut(pattern)?`](Tree::select_mut) | the leaves that match a [`Pattern`]; `**` matches all |
//! | `tree_replace_nones(x, tree)` | [`tree.edit(f)?`](Tree::edit) | or, with `none_is_leaf`, [`Tree::map`] each [`Leaf::None`] |
//! | `tree_partition(p, x)` | [`tree.partition(p)?`](Tree::partition) | holes are `Option`s, which [`Tree::combine`] fills |
//! | `tree_transpose(outer, inner, x)` | [`tree.transpose(&outer, &inner)?`](Tree::transpose) | compares both; [`TreeDef::inner_of`] finds `inner` |
//! | `tree_transpose_map(f, x)` | [`tree.try_map(f)?.compose()?`](Tree::compose) | then [`Tree::transpose`] |
//! | `tree_transpose_map_with_path(f, x)`, `…_with_accessor` | [`tree.map_with_path(f).compose()?`](Tree::map_with_path) | likewise |
//! | `tree_broadcast_prefix(x, full)` | [`x.broadcast_to(&treedef)?`](Tree::broadcast_to) | |
//! | `broadcast_prefix(x, full)` | [`x.broadcast_to(&treedef)?`](Tree::broadcast_to) | the list is its [`Tree::leaves`] |
//! | `tree_broadcast_common(x, y)` | [`treedef.common_suffix(&other)?`](TreeDef::common_suffix) | then [`Tree::broadcast_to`] for each |
//! | `broadcast_common(x, y)` | [`x.broadcast_to(&common)?.leaves()`](Tree::leaves) | the same for each |
//! | `tree_broadcast_map(f, x, y)` | [`x.zip_with(y, f)?`](Tree::zip_with) | after broadcasting both |
//! | `tree_broadcast_map_with_path(f, x, y)`, `…_with_accessor` | [`pairs.map_with_path(f)`](Tree::map_with_path) | on the pairs of [`Tree::zip`] |
//! | `tree_reduce(f, x, init)` | [`tree.leaves().iter().fold(init, f)`](Tree::leaves) | |
//! | `tree_sum`, `tree_max`, `tree_min`, `tree_all`, `tree_any` | [`tree.leaves().iter().sum::<f64>()`](Tree::leaves) | methods of iterators; `max` of an empty tree is `None` |
//! | `tree_flatten_one_level(x)` | [`treedef.root().children()`](NodeRef::children) | with [`NodeRef::key`], [`NodeRef::kind`], [`NodeRef::name`] |
//! | `prefix_errors(prefix, full)` | [`error.differences()`](crate::Error::differences) | the differences as data, from the error of [`Tree::broadcast_to`] and similar functions |
//! | `tree_ravel(x)` | [`tree.ravel()?`](Tree::ravel) | exact or an error |
//! | `functools.partial` | none | a function is not a serde value; a closure holds what it is called with |
//! | `PyTree[T]`, `PyTreeTypeVar` | [`Tree::<f64>::new(treedef, leaves)?`](Tree::new) | checked by the compiler |
//!
//! # `PyTreeSpec`
//!
//! Each method is also a function `treespec_…`.
//!
//! | there | here | what differs |
//! |---|---|---|
//! | `s.unflatten(leaves)` | [`unflatten::<T>(&treedef, leaves)?`](unflatten()) | |
//! | `s.flatten_up_to(x)` | [`tree.flatten_up_to(&treedef)?`](Tree::flatten_up_to) | a map never matches a struct; in optree all dicts are alike |
//! | `s.broadcast_to_common_suffix(t)` | [`treedef.common_suffix(&other)?`](TreeDef::common_suffix) | |
//! | `s.compose(inner)` | [`treedef.compose(&inner)?`](TreeDef::compose) | |
//! | `s.transform(f_node, f_leaf)` | [`treedef.edit_up(f)?`](TreeDef::edit_up) | a node may become any structure; from the root down: [`TreeDef::edit`] |
//! | `s.edit(leaves, f_node, f_leaf)`, `s.walk(…)` | [`tree.edit_up(f)?`](Tree::edit_up) | to fold, replace each node by one leaf |
//! | `s.paths()`, `s.accessors()` | [`treedef.leaf_paths()`](TreeDef::leaf_paths) | |
//! | `s.entries()`, `s.entry(i)` | [`treedef.root().key(0)`](NodeRef::key) | one at a time; no negative indices |
//! | `s.children()`, `s.child(i)` | [`treedef.root().children()`](NodeRef::children), [`treedef.root().child(0)`](NodeRef::child) | [`NodeRef::to_treedef`] makes a treedef of a node |
//! | `s.one_level()` | [`treedef.edit(f)?`](TreeDef::edit) | a leaf for each child: see below |
//! | `s.is_one_level()` | [`NodeRef::is_leaf`] of all [`NodeRef::children`] | true for a leaf, too |
//! | `s.is_leaf()`, `treespec_is_strict_leaf(s)` | [`treedef.root().is_leaf()`](NodeRef::is_leaf) | not strict: `treedef.num_nodes() == 1` |
//! | `s.is_prefix(t)`, `s <= t` | [`treedef.is_prefix_of(&other)`](TreeDef::is_prefix_of) | no operators |
//! | `s.is_suffix(t)`, `s >= t` | [`other.is_prefix_of(&treedef)`](TreeDef::is_prefix_of) | |
//! | `s < t`, `strict=True` | [`treedef != other && treedef.is_prefix_of(&other)`](TreeDef::is_prefix_of) | |
//! | `s == t`, `hash(s)` | [`treedef == other`](TreeDef) | both cover names, keys, statics and options |
//! | `s.num_leaves`, `len(s)`, `s.num_nodes` | [`treedef.num_leaves()`](TreeDef::num_leaves), [`treedef.num_nodes()`](TreeDef::num_nodes) | |
//! | `s.num_children` | [`treedef.root().num_children()`](NodeRef::num_children) | |
//! | `s.type`, `s.kind`, `PyTreeKind` | [`treedef.root().kind()`](NodeRef::kind) | a [`NodeKind`]; for the type use [`NodeRef::name`] |
//! | `s.none_is_leaf`, `s.namespace` | none | but the text shows it: `#[none_is_leaf] [*]` |
//! | `repr(s)` | [`treedef.to_string()`](TreeDef) | parses back with `text.parse()?` |
//! | `pickle.dumps(s)` | [`treedef.to_bytes()?`](TreeDef::to_bytes) | or any serde format |
//! | `treespec_leaf()`, `treespec_none()` | [`TreeDef::leaf()`](TreeDef::leaf), `"None".parse()?` | |
//! | `treespec_tuple(…)`, `treespec_list(…)`, `treespec_deque(…)` | [`TreeDef::tuple(treedefs)?`](TreeDef::tuple), [`TreeDef::seq(treedefs)?`](TreeDef::seq) | a deque is a sequence; no `maxlen` |
//! | `treespec_dict(…)`, `…_ordereddict`, `…_defaultdict`, `…_frozendict` | [`TreeDef::map(entries)?`](TreeDef::map) | there is one kind of map; no factories |
//! | `treespec_namedtuple(…)`, `…_structseq` | [`TreeDef::named_struct("P", fields)?`](TreeDef::named_struct) | |
//! | `treespec_from_collection(x)` | [`"[*, None]".parse::<TreeDef>()?`](TreeDef) | a text with `*` for leaves |
//!
//! # Accessors
//!
//! | there | here | what differs |
//! |---|---|---|
//! | `acc(x)` | [`tree.get(&path)?`](Tree::get), [`tree.subtree(&path)?`](Tree::subtree) | also [`Tree::get_mut`] and [`Tree::replace`] |
//! | `acc.path`, `acc[1:]` | [`path.keys()`](Path::keys) | a slice; `collect` makes a path from keys |
//! | `acc + other` | [`a.join(&b)`](Path::join) | for one key: [`Path::child`] |
//! | `acc * 2` | none | |
//! | `acc.codify('t')` | `format!("t{path}")` | Rust where possible: `t.layers[0].w["b"]` |
//! | `SequenceEntry`, `MappingEntry`, `NamedTupleEntry`, `DataclassEntry`, … | [`Key::Index(0)`](Key::Index) | each [`Key`] variant tells the kind of its node |
//!
//! # Registry
//!
//! | there | here | what differs |
//! |---|---|---|
//! | `register_pytree_node(…)`, `…_class`, `optree.dataclasses`, `integrations.attrs` | `#[derive(Serialize, Deserialize)]` | |
//! | `field(pytree_node=False)` | [`#[serde(serialize_with = "treedef::as_static")]`](fn@as_static) | |
//! | `unregister_pytree_node`, `register_pytree_node.get` | none | nothing is registered |
//! | `namespace='ns'`, `pytree.reexport(…)` | [`mark_static("Linear.name")?`](Flattener::mark_static) | for several views of one type, use several [`Flattener`]s |
//! | `none_is_leaf=True` | [`Flattener::new().none_is_leaf(true)`](Flattener::none_is_leaf) | |
//! | `dict_insertion_ordered(True)` | [`map_order(MapOrder::Insertion)`](Flattener::map_order) | the order is part of the structure |
//! | `is_leaf=p` | [`opaque_where(p)`](Flattener::opaque_where) | sees path, kind and name, not the value |
//!
//! # An example of most functions
//!
//! ```
//! use treedef::{Edit, Flattener, MapOrder, NodeKind, Path, Tree, TreeDef, flatten, unflatten};
//!
//! let value = vec![(1.0, Some(2.0)), (3.0, None)];
//! let (leaves, treedef) = flatten(&value)?;
//! assert_eq!(unflatten::<Vec<(f64, Option<f64>)>>(&treedef, &leaves)?, value);
//! let mut tree = Tree::new(treedef.clone(), leaves)?.try_map(f64::try_from)?;
//! tree.leaves_mut().iter_mut().for_each(|x| *x *= 10.0);
//! let path = treedef.leaf_path(1)?;
//! assert_eq!((format!("t{path}"), tree.get(&path)?), ("t[0].1?".into(), &20.0));
//! let (small, large) = tree.clone().partition(|_: &_, x: &f64| *x < 15.0)?;
//! assert_eq!(Tree::combine([large, small])?, tree);
//! let filled = tree.clone().edit(|_, node, _| Ok(match node.kind() {
//!     NodeKind::None => Edit::Replace(Tree::leaf(0.0)),
//!     _ => Edit::Keep,
//! }))?;
//! assert_eq!(filled.leaves(), [10.0, 20.0, 30.0, 0.0]);
//!
//! // Both sides as far as either goes.
//! let (x, y) = (Tree::of(&(1, (2, 3)))?, Tree::of(&((4, 5), 6))?);
//! let common = x.treedef().common_suffix(y.treedef())?;
//! assert!(x.treedef().is_prefix_of(&common) && y.treedef().is_prefix_of(&common));
//! let (x, y) = (x.broadcast_to(&common)?, y.broadcast_to(&common)?);
//! assert_eq!(
//!     (x.to_string(), y.to_string()),
//!     ("((1, 1), (2, 3))".into(), "((4, 5), (6, 6))".into())
//! );
//! let named = x.zip(y)?.map_with_path(|path, (a, b)| format!("{path}={a}{b}"));
//! assert_eq!(named.leaves()[3], ".1.1=36");
//!
//! // Each leaf becomes a pair, and a list of pairs a pair of lists.
//! let list = Tree::new(TreeDef::seq_of(&TreeDef::leaf(), 3)?, vec![1, 2, 3])?;
//! let outer = list.treedef().clone();
//! let pairs = list.try_map(|x| Tree::new("(*, *)".parse()?, vec![x, 10 * x]))?.compose()?;
//! let inner = pairs.treedef().inner_of(&outer)?;
//! assert_eq!(pairs.transpose(&outer, &inner)?.to_string(), "([1, 2, 3], [10, 20, 30])");
//!
//! // One level, and a rewrite.
//! let mut first = true;
//! let one_level = treedef.edit(|_| Ok(match std::mem::take(&mut first) {
//!     true => Edit::Keep,
//!     false => Edit::Replace(TreeDef::leaf()),
//! }))?;
//! assert!(one_level != treedef && one_level.is_prefix_of(&treedef));
//! let joined: Path = path.keys()[..1].iter().chain(path.keys()).cloned().collect();
//! assert_eq!(
//!     (one_level.to_string(), joined.to_string()),
//!     ("[*, *]".into(), "[0][0].1?".into())
//! );
//! let ordered = Flattener::new().map_order(MapOrder::Insertion).none_is_leaf(true);
//! assert_eq!(ordered.structure(&value)?.to_string(), "#[insertion, none_is_leaf] [(*, *); 2]");
//! # Ok::<(), treedef::Error>(())
//! ```
//!
//! # Structures that both sides read
//!
//! optree stores its treespecs only as pickles. The package `treedef-pytrees`, in
//! `crates/pytrees`, writes a Python literal that optree flattens to the same structure:
//!
//! ```text
//! let lowered = python::literal(&treedef, &Lowering::new())?; // {'b': 2, 'w': [0, 1]}
//! send(&lowered.data, lowered.permute(&leaves)?); // tree_structure(ast.literal_eval(text))
//! let model: Model = lowered.restore(received)?.into_typed()?;
//! ```
//!
//! # What differs on purpose
//!
//! - **None** is a node without leaves by default, as in optree, and `Some` is a node too. With
//!   [`none_is_leaf`](Flattener::none_is_leaf), `None` is a leaf and `Some(x)` has the structure of
//!   `x`. The treedef remembers this option, so treedefs made with it and without it differ.
//!   [`TreeDef::leaf`] and the other constructors make treedefs without it.
//! - **Maps** keep the insertion order of their entries beside the treedef, as in optree, also when
//!   the structure is edited. Leaves are in the order of the keys. All maps are of one
//!   kind, and a map never equals a struct. [`TreeDef::check_equivalent`] is a less exact
//!   comparison.
//! - **Keys** of mixed types are sorted too. There is no fallback to insertion order.
//! - **Fields of structs** are in the order of their declaration, and their paths have names.
//! - **Prefixes broadcast only on request.** [`Tree::zip_with`] requires equal structures.
//! - **Hashes** cover statics, which optree leaves out of its hash.
//! - **Errors** name the path and both sides, also in mapping functions.
//! - **Depth** is limited to 128 by default. [`Limits::max_depth`] sets it.
//! - **An outer structure without leaves** has no inner structure, so [`TreeDef::inner_of`] returns
//!   an error. [`Tree::transpose`] itself accepts it.
//!
//! # What you no longer need
//!
//! - Registration, namespaces and types for entries.
//! - `none_is_leaf` and `namespace` in every call.

#[cfg(doc)]
use crate::{
    Flattener, Key, Leaf, Limits, NodeKind, NodeRef, Path, Pattern, Tree, TreeDef, as_static,
    flatten, map, structure, unflatten,
};
