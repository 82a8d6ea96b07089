//! From JAX: `jax.tree`, `jax.tree_util`, `jax.flatten_util` and `PyTreeDef`.
//!
//! For users of JAX's pytrees. `jax.tree.map` and `jax.tree_util.tree_map` are the same function,
//! and are listed once. In the tables `value` is any serde value, `tree` a [`Tree`], `leaves` a
//! vector of leaves, `treedef` a [`TreeDef`], `f` a function, `p` a predicate.
//!
//! # Trees
//!
//! | there | here | what differs |
//! |---|---|---|
//! | `tree.flatten(x)` | [`flatten(&value)?`](flatten()) | each [`Leaf`] has its own kind; [`flatten_as`] makes a `Vec<f64>` |
//! | `tree.unflatten(d, leaves)` | [`unflatten::<T>(&treedef, leaves)?`](unflatten()) | a typed value; leaves of any type make a tree: [`Tree::new`] |
//! | … with trees as leaves | [`trees.compose()?`](Tree::compose) | on a `Tree<Tree<L>>` |
//! | `tree.leaves(x)` | [`flatten(&value)?.0`](flatten()) | |
//! | `tree.structure(x)` | [`structure(&value)?`](structure()) | makes no leaves |
//! | `tree.map(f, x)` | [`map(&value, f)?`](map()) | keeps the type of the value; for leaves of another type use [`Tree::map`] |
//! | `tree.map(f, x, y)` | [`x.zip_with(y, f)?`](Tree::zip_with) | both must have the same structure |
//! | `tree.map(f, x, y, z)` | [`x.zip(y)?.zip(z)?.map(f)`](Tree::zip) | `f` takes `((x, y), z)` |
//! | `tree.map(f, prefix, x)` | [`x.flatten_up_to(&treedef)?`](Tree::flatten_up_to) | with the treedef of `prefix`, then [`Tree::zip_with`]; leaf by leaf: [`Tree::broadcast_to`] |
//! | `tree.flatten_with_path(x)`, `tree.leaves_with_path(x)`, `generate_key_paths(x)` | [`tree.iter()`](Tree::iter) | pairs of a [`Path`] and a leaf |
//! | `tree.map_with_path(f, x)` | [`tree.map_with_path(f)`](Tree::map_with_path) | then [`into_typed`](Tree::into_typed) for the value |
//! | `tree.reduce(f, x, init)` | [`tree.leaves().iter().fold(init, f)`](Tree::leaves) | leaves are a slice, with all methods of iterators |
//! | `tree.reduce_associative(f, x)` | [`tree.leaves()`](Tree::leaves) | a slice, for any parallel iterator |
//! | `tree.all(x)` | [`tree.leaves().iter().all(p)`](Tree::leaves) | `any`, `sum`, `max` likewise |
//! | `tree.transpose(outer, inner, x)` | [`tree.transpose(&outer, &inner)?`](Tree::transpose) | both structures are compared, not only counts |
//! | `tree.transpose(outer, None, x)` | [`tree.treedef().inner_of(&outer)?`](TreeDef::inner_of) | finds `inner` |
//! | `tree.broadcast(prefix, full)` | [`prefix.broadcast_to(&treedef)?`](Tree::broadcast_to) | |
//! | `vmap(f, in_axes=(None, 0))` | [`axes.broadcast_to(&treedef)?`](Tree::broadcast_to) | both are flattened with [`none_is_leaf`](Flattener::none_is_leaf), so that a `None` is a leaf |
//! | `broadcast_prefix(prefix, full)` | [`prefix.broadcast_to(&treedef)?`](Tree::broadcast_to) | the leaves alone are its [`Tree::leaves`] |
//! | `broadcast_flattened_prefix_…` | [`Tree::new(prefix, leaves)?`](Tree::new) | then [`Tree::broadcast_to`] |
//! | `is_leaf=p`, `is_leaf_takes_path=True` | [`opaque_where(p)`](Flattener::opaque_where) | sees path, kind and name, not the value |
//! | a leaf that is any object | [`flatten_objects(&value)?`](crate::flatten_objects()) | of one Rust type; all else is static: see [`object`](crate::object) |
//! | `all_leaves(xs)` | [`treedef.root().children()`](NodeRef::children) | `.all(NodeRef::is_leaf)` |
//! | `flatten_one_level(x)` | [`treedef.root().children()`](NodeRef::children) | only structures; for subtrees use [`Tree::subtree`] |
//! | `flatten_one_level_with_keys(x)` | [`treedef.root().key(0)`](NodeRef::key) | one key at a time |
//! | `is_tree_node(type)` | [`!treedef.root().is_leaf()`](NodeRef::is_leaf) | for a value, not for a type |
//! | `keystr(path)` | `path.to_string()` | our own format, which parses back; JAX's: `jax::keystrs` of `treedef-pytrees` |
//! | `keystr(path, simple=True, separator='/')` | [`path.to_joined_string("/")`](Path::to_joined_string) | a separator inside a key is escaped |
//! | `SequenceKey`, `FlattenedIndexKey` | [`Key::Index(0)`](Key::Index), [`Key::Position(0)`](Key::Position) | sequences, tuples |
//! | `DictKey` | [`Key::Entry(value)`](Key::Entry) | any serde value |
//! | `GetAttrKey` | [`Key::Field("w".into())`](Key::Field) | variants have keys of their own |
//! | `prefix_errors(prefix, full)` | [`error.differences()`](crate::Error::differences) | the differences as data, from the error of [`Tree::broadcast_to`] and similar functions |
//! | `equality_errors(x, y)`, `equality_errors_pytreedef` | [`x.diff(&y)`](Tree::diff), [`treedef.diff(&other)`](TreeDef::diff) | data, a report, and a patch |
//! | `tree.map(jnp.zeros_like, x)` | [`tree.map(\|_\| 0.0)`](Tree::map) | for a value: [`map(&value, \|_: f64\| 0.0)?`](map()) |
//! | `tree.map(jnp.shape, x)`, `jax.eval_shape(f, x)` | [`signature(&value)?`](signature()) | a `Vec` or an array is structure: `[f32; 9]`. One length is [`NodeRef::num_children`]. Nothing is traced: `f` runs |
//! | `ravel_pytree(x)` | [`tree.ravel()?`](Tree::ravel) | exact or an error; for a vector of one kind, [`Flattener::leaves_where`] and [`Flattener::flatten_as`] |
//! | `Partial(f, x)` | none | a function is not a serde value; a closure holds what it is called with |
//! | `FlatTree` | [`Tree::new(treedef, leaves)?`](Tree::new) | `Tree<L>` is the same idea |
//!
//! # optax, orbax, Flax
//!
//! The optimisers of optax are in the package `treedef-optim`, with their names and defaults, and equal to optax in
//! its tests; `model` and `grads` are values of your own type. Its page `FROM_EQUINOX_AND_OPTAX.md` says for each
//! function of optax what it is there, or why it is missing. In the other rows, `params`, `updates` and `grads`
//! are of type `Tree<f64>`, and `state` is a value of your own type `State`.
//!
//! | there | here | what differs |
//! |---|---|---|
//! | `optax.adam(0.1)`, `.init(params)` | `adam(0.1)`, `.init::<f64, _>(&model)?` | of `treedef-optim`; the state has the type of the model |
//! | `optimizer.update(grads, state)` with `apply_updates` | `optimiser.step(model, grads, &mut state)?` | also in place, or on trees |
//! | `optax.chain(…)`, `optax.masked(tx, mask)`, `optax.multi_transform` | `chain!(…)`, `tx.only("**.w")`, `partition(…)` | patterns in the place of masks |
//! | `jax.grad(f)`, `jax.hessian(f)` | `dual::value_and_grad(f, &model)?`, `dual::hessian(f, &model)?` | of `treedef-optim`; the model is generic over its numbers |
//! | `optax.apply_updates(params, updates)` alone | [`params.zip_with(updates, \|p, u\| p + u)?`](Tree::zip_with) | equal structures |
//! | `optax.global_norm(grads)` | `grads.leaves().iter().map(\|g\| g * g).sum::<f64>().sqrt()` | [`Tree::leaves`] is a slice |
//! | a mask of a tree | [`updates.select_mut("**.w")?`](Tree::select_mut) | a pattern; as a tree of `bool`s: [`params.mask("**.w")?`](Tree::mask) and [`Tree::partition`] |
//! | labels for subtrees | [`labels.broadcast_to(&treedef)?`](Tree::broadcast_to), [`Tree::zip_with`] | a label may stand for a subtree; a part for each label: [`Tree::partition`] |
//! | `optax.flatten(tx)` | [`flatten_as::<f64>(&params)?`](flatten_as) | one vector, of all leaves |
//! | orbax `checkpointer.save(path, state)` | [`Tree::of(&state)?.save(path)?`](Tree::save) | one file, with structure and checksums |
//! | … `.restore(path, target)` | [`Tree::load(path)?.into_typed()?`](Tree::into_typed) | the type is the target; one that has changed: [`Tree::migrate`] |
//! | … `.metadata(path)` | [`Tree::load(path)?.treedef()`](Tree::treedef) | for what orbax wrote itself: the package `treedef-pytrees` |
//! | `flax.serialization.to_bytes(x)`, `from_bytes(target, bytes)` | [`tree.to_bytes()?`](Tree::to_bytes), [`Tree::from_bytes(&bytes)?`](Tree::from_bytes) | not msgpack |
//! | `TrainState.create(…)`, `.replace(step=1)` | a struct with `derive` | the step is a leaf; a name or a size is static: [`as_static`](fn@as_static) |
//! | the rest of Flax, Equinox, Chex | [their page](super::equinox) | |
//!
//! # Registration
//!
//! | there | here | what differs |
//! |---|---|---|
//! | `register_pytree_node`, `register_pytree_with_keys`, `…_class` | `#[derive(Serialize, Deserialize)]` | nothing is global; field names are the keys; by hand: `impl Serialize` |
//! | `register_dataclass`: `meta_fields`, `jax.tree.static()` | [`#[serde(serialize_with = "treedef::as_static")]`](fn@as_static) | on the field; for types of others: [`mark_static`](Flattener::mark_static) |
//! | `register_dataclass`: `drop_fields` | `#[serde(skip)]` | comes back as its serde default |
//! | `register_static` | [`Static(value)`](Static) | around any value; for all values of a type: [`mark_static`](Flattener::mark_static) |
//! | `PyTreeRegistry`: `enable_none=False`, `none_leaf_registry` | [`Flattener::new().none_is_leaf(true)`](Flattener::none_is_leaf) | kept in the treedef |
//! | `default_registry` | [`Flattener::new()`](Flattener) | a value, not a global |
//!
//! # `PyTreeDef`
//!
//! | there | here | what differs |
//! |---|---|---|
//! | `d.unflatten(leaves)` | [`unflatten::<T>(&treedef, leaves)?`](unflatten()) | |
//! | `d.flatten_up_to(x)` | [`tree.flatten_up_to(&treedef)?`](Tree::flatten_up_to) | a tree of trees |
//! | `d.compose(inner)` | [`treedef.compose(&inner)?`](TreeDef::compose) | |
//! | `d.walk(f_node, f_leaf, leaves)` | [`tree.edit_up(f)?`](Tree::edit_up) | to fold, replace each node by one leaf |
//! | `d.children()`, `treedef_children(d)` | [`treedef.root().children()`](NodeRef::children) | copies nothing; [`NodeRef::to_treedef`] does |
//! | `d.node_data()` | [`treedef.root().kind()`](NodeRef::kind) | with [`name`](NodeRef::name), [`fields`](NodeRef::fields), [`keys`](NodeRef::entry_keys), [`static_value`](NodeRef::static_value) |
//! | `from_node_data_and_children` | [`TreeDef::seq(treedefs)?`](TreeDef::seq) | a constructor for each kind, so the number of children is always right |
//! | `treedef_tuple(ds)` | [`TreeDef::tuple(treedefs)?`](TreeDef::tuple) | |
//! | `d.from_iterable_tree(xs)` | [`unflatten::<T>(&treedef, flatten(&nested)?.0)?`](unflatten()) | only the numbers of leaves are compared |
//! | `treedef_is_leaf(d)` | [`treedef.num_nodes() == 1`](TreeDef::num_nodes) | `treedef_is_strict_leaf`: [`NodeRef::is_leaf`] |
//! | `d.num_leaves`, `d.num_nodes` | [`treedef.num_leaves()`](TreeDef::num_leaves) | `Some` and newtypes are nodes too |
//! | `d == e`, `hash(d)` | [`treedef == other`](TreeDef) | `Eq + Hash`; the hash covers names, keys and statics |
//! | `str(d)` | `d.to_string()` | our own format, which parses back; JAX's: `jax::text` of `treedef-pytrees` |
//! | `d.serialize_using_proto()` | [`treedef.to_bytes()?`](TreeDef::to_bytes) | for all kinds and keys; not the format of JAX |
//! | `deserialize_using_proto(…)` | [`TreeDef::from_bytes(&bytes)?`](TreeDef::from_bytes) | checked and bounded |
//! | `pickle.dumps(d)` | `serde_json::to_string(&treedef)?` | a treedef is `Serialize` in any format |
//! | `jax.export`, `pytree_serialization.save` | [`treedef.save(path)?`](TreeDef::save) | with leaves: [`Tree::save`] |
//! | `register_…_serialization` | none | the file contains names, keys and statics directly |
//!
//! # An example of most functions
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use treedef::{
//!     Edit, Flattener, Leaf, NodeKind, Path, Tree, TreeDef, flatten, map, structure, unflatten,
//! };
//!
//! #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
//! struct Linear {
//!     w: Vec<f64>,
//!     b: Option<f64>,
//!     #[serde(serialize_with = "treedef::as_static")]
//!     act: String,
//! }
//!
//! let model = vec![Linear { w: vec![1.0, 2.0], b: None, act: "relu".into() }];
//! let (leaves, treedef) = flatten(&model)?;
//! assert_eq!(treedef.to_string(), r#"[Linear { w: [*, *], b: None, act: static "relu" }]"#);
//! assert_eq!(unflatten::<Vec<Linear>>(&treedef, &leaves)?, model);
//! assert_eq!(TreeDef::from_bytes(&treedef.to_bytes()?)?, treedef);
//! assert_eq!(map(&model, |leaf: Leaf| leaf)?, model);
//!
//! let tree = Tree::new(treedef.clone(), leaves)?.try_map(f64::try_from)?;
//! let paths: Vec<Path> = tree.iter().map(|(path, _)| path).collect();
//! assert_eq!(paths[1].to_string(), "[0].w[1]");
//! assert_eq!(
//!     (paths[1].to_joined_string("/"), tree.leaves().iter().sum::<f64>()),
//!     ("0/w/1".into(), 3.0)
//! );
//! assert_eq!(tree.clone().zip_with(tree.clone(), |a, b| a * b)?.leaves(), [1.0, 4.0]);
//! assert_eq!(
//!     tree.as_ref().map(|_| 0.0).to_string(),
//!     r#"[Linear { w: [0, 0], b: None, act: static "relu" }]"#
//! );
//! assert_eq!(treedef.node("[0].w")?.num_children(), 2);
//!
//! // On request, one leaf for each layer stands for everything below it.
//! let rates = Tree::new("[*]".parse()?, vec![0.5])?;
//! let each = rates.broadcast_to(&treedef)?;
//! assert_eq!(each.leaves(), [0.5, 0.5]);
//! assert_eq!(each.zip_with(tree.clone(), |rate, w| rate * w)?.leaves(), [0.5, 1.0]);
//! let scaled = tree
//!     .flatten_up_to(rates.treedef())?
//!     .zip_with(rates, |layer, rate| layer.leaves()[1] * rate)?;
//! assert_eq!(scaled.leaves(), [1.0]);
//!
//! // Transpose, with the inner structure inferred; and a fold.
//! let rows = Tree::of(&[(1, 2), (3, 4), (5, 6)])?;
//! let outer = TreeDef::tuple([TreeDef::leaf(), TreeDef::leaf(), TreeDef::leaf()])?;
//! let inner = rows.treedef().inner_of(&outer)?;
//! assert_eq!(rows.clone().transpose(&outer, &inner)?.to_string(), "((1, 3, 5), (2, 4, 6))");
//! assert!(rows.transpose(&inner, &outer).is_err());
//! let sum =
//!     tree.edit_up(|_, below| Ok(Edit::Replace(Tree::leaf(below.leaves().iter().sum()))))?;
//! assert_eq!(sum, Tree::leaf(3.0));
//!
//! let nones = Flattener::new().none_is_leaf(true);
//! assert_eq!(nones.flatten(&model)?.0[2], Leaf::None);
//! let pairs = Flattener::new().opaque_where(|_, node| node.kind == NodeKind::Tuple);
//! assert_eq!(pairs.structure(&vec![(1, 2)])?.to_string(), "[*]");
//! let error = structure(&[(1, 2)])?.check_equal(&structure(&[(1, [2])])?).unwrap_err();
//! assert_eq!(error.differences()[0].path, ".0.1".parse()?);
//! # Ok::<(), treedef::Error>(())
//! ```
//!
//! # Files that both sides read
//!
//! The package `treedef-pytrees`, in `crates/pytrees`, writes and reads JAX's own formats, with
//! the order in which JAX flattens the leaves:
//!
//! ```text
//! let lowered = jax::proto(&treedef, &Lowering::new())?;
//! send(&lowered.data, lowered.permute(&leaves)?); // PyTreeDef.deserialize_using_proto
//! let model: Model = lowered.restore(received)?.into_typed()?;
//! ```
//!
//! # What differs on purpose
//!
//! - **None** is a node without leaves, as in JAX, and is a prefix only of itself. `Some` is a node
//!   too, with the key `?`, so `Some(1)` and `1` have different structures. With
//!   [`none_is_leaf`](Flattener::none_is_leaf), `None` is a leaf, and `Some(x)` has the structure of `x`.
//! - **Keys of maps** are sorted as in JAX, but may be of any type, even mixed. A map type that
//!   has an insertion order is rebuilt in it: mapping `{'z': 1, 'a': 2}` does not reorder it. `1`, `1.0`
//!   and `true` are three keys.
//! - **Fields of structs** are in the order of their declaration. Field names and type names are
//!   part of the structure.
//! - **An array is a container.** A `Vec<f64>` is a sequence of leaves. To keep an array as one
//!   leaf, see [`as_opaque`](fn@as_opaque), [`Opaque`] and [`Flattener::mark_opaque`].
//! - **Prefixes broadcast only on request**: [`Tree::zip_with`] requires equal structures.
//! - **Hashes** cover names, keys and statics, so different structures seldom collide.
//!   [`TreeDef::fingerprint`] is the same in every process.
//! - **Errors** name the first path that differs, and both sides, in every operation.
//! - **Depth** is limited, to 128 levels by default ([`Limits::max_depth`]): deeper values give
//!   an error, not a crash.
//! - **The number of leaves** is always checked, and so are both structures of a transposition.
//! - **Mapping to `None`** does not drop leaves from a structure. [`Tree::filter`] does, and
//!   [`Tree::partition`] leaves holes.
//!
//! # What you no longer need
//!
//! - Registration, flattening functions and their duplicates.
//! - Hashable statics: statics are serde values.
//! - A template to load a checkpoint into.

#[cfg(doc)]
use crate::{
    Flattener, Key, Leaf, Limits, NodeRef, Opaque, Path, Static, Tree, TreeDef, as_opaque,
    as_static, flatten, flatten_as, map, signature, structure, unflatten,
};
