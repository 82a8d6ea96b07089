//! From Equinox, Flax, Chex, Haiku and Penzai: their additions to JAX's pytrees.
//!
//! For users who edit, filter, compare and save models as trees. JAX's own functions are on [its
//! page](super::jax). In the tables `value` is any serde value, `tree` a [`Tree`], `path` a
//! [`Path`], `pattern` a [`Pattern`], `f` a function, `p` a predicate.
//!
//! # Equinox
//!
//! | there | here | what differs |
//! |---|---|---|
//! | `partition(tree, p)` | [`tree.partition(p)?`](Tree::partition) | holes are `Option`s, never confused with `None` |
//! | `partition(tree, mask)` | [`tree.partition(&mask)?`](Tree::partition) | the mask is a prefix, a `Tree<bool>` |
//! | `filter(tree, p)`, `inverse=True` | [`tree.partition(p)?.0`](Tree::partition), [`tree.partition(p)?.1`](Tree::partition) | our [`Tree::filter`] drops leaves, as Haiku's does |
//! | `filter(tree, p, replace=x)` | [`part.map(f)`](Tree::map) | `f` is `unwrap_or` |
//! | `combine(a, b)` | [`Tree::combine([a, b])?`](Tree::combine) | each leaf is in exactly one part; if the first part wins: `a.zip_with(b, Option::or)?` |
//! | `is_array`, `is_inexact_array`, … | [`leaf.kind().is_float()`](LeafKind::is_float) | leaves are scalars; with [`flatten_objects`](crate::flatten_objects()) the tensors are the leaves, and all else is static |
//! | `tree_at(where, tree, replace=x)` | [`tree.replace(&path, new)?`](Tree::replace) | returns the old subtree; for one leaf: [`Tree::get_mut`] |
//! | `tree_at(where, tree, replace_fn=f)` | [`tree.edit_at(pattern, f)?`](Tree::edit_at) | a path or pattern instead of a lambda |
//! | `tree_equal(a, b)` | `a == b` | compares structures and leaves; a [`Leaf`] by kind and bits, so a NaN equals itself |
//! | `tree_equal(a, b, rtol=r, atol=a)` | [`a.check_close(&b, tolerance)?`](Tree::check_close) | kinds of numbers may differ; NaN is close to NaN |
//! | `tree_flatten_one_level(x)` | [`treedef.root().children()`](NodeRef::children) | |
//! | `tree_check(x)` | none | a value owns its parts; an `Rc` that occurs twice becomes two, and a cycle exceeds the depth limit |
//! | `tree_pformat(x, width=80)`, `tree_pprint` | `format!("{tree:#80}")` | with the leaves; without them: `{treedef:#}` |
//! | … `short_arrays`, `struct_as_array` | [`signature(&value)?`](signature()) | shows kinds instead of leaves, and equal neighbours once |
//! | … `truncate_leaf`, `indent` | none | |
//! | `tree_serialise_leaves(path, tree)` | [`tree.save(path)?`](Tree::save) | with the structure, checksums and a version |
//! | `tree_deserialise_leaves(path, like)` | [`Tree::load(path)?.into_typed()?`](Tree::into_typed) | needs no template; for a type that has changed: [`Tree::migrate`] |
//! | … `filter_spec` | [`tree.filter(f)?.save(path)?`](Tree::filter) | |
//! | `field(static=True)`, `static_field` | [`#[serde(serialize_with = "treedef::as_static")]`](fn@as_static) | |
//! | `field(converter=f)` | `#[serde(deserialize_with = "f")]` | called when the value is rebuilt |
//! | `filter_value_and_grad(f)(model)` | `dual::value_and_grad(f, &model)?`, `candle::value_and_grad(f, &model)?` | of the package `treedef-optim`, which has optax's optimisers, too: `adam(0.1).step(model, grads, &mut state)?` |
//! | `filter_grad`, with `filter_spec` | `adam(0.1).only("**.w")`, `.freeze("embedding")` | all floats have gradients; patterns choose what is trained |
//! | `apply_updates(model, updates)` | [`model.zip_with(updates, f)?`](Tree::zip_with) | updates are `Option`s |
//! | `Module` | `#[derive(Serialize, Deserialize)]` | |
//! | `Partial` | none | a function is not a serde value; a closure holds what it is called with |
//! | `filter_eval_shape(f, x)` | [`signature(&f(x))?`](signature()) | the function runs: nothing is traced |
//! | `nn.inference_mode(model)` | [`tree.select_mut(pattern)?`](Tree::select_mut) | `**.inference` |
//!
//! # Flax
//!
//! | there | here | what differs |
//! |---|---|---|
//! | `flatten_dict(xs)`, `nnx.traversals.flatten_mapping` | [`tree.iter()`](Tree::iter) | for any value, not only dicts |
//! | `flatten_dict(xs, sep='/')` | [`path.to_joined_string("/")`](Path::to_joined_string) | a separator inside a key is escaped |
//! | … `keep_empty_nodes=True`, `empty_node` | [`tree.treedef()`](Tree::treedef) | empty nodes are part of the structure |
//! | … `is_leaf=p` | [`opaque_where(p)`](Flattener::opaque_where) | |
//! | `unflatten_dict(flat)`, `unflatten_mapping` | [`Tree::new(treedef, leaves)?`](Tree::new) | needs a treedef, not only paths |
//! | `path_aware_map(f, xs)` | [`tree.map_with_path(f)`](Tree::map_with_path) | |
//! | `flatten_to_sequence(x)` | [`tree.iter()`](Tree::iter) | |
//! | `t.iterate(x)`, `ModelParamTraversal(p).iterate(x)` | [`tree.select(pattern)?`](Tree::select) | `each()['w']` is the pattern `[*]["w"]`; for other selections filter [`Tree::iter`] |
//! | `t.update(f, x)` | [`tree.select_mut(pattern)?`](Tree::select_mut) | in place |
//! | `t.set(values, x)` | [`tree.select_mut(pattern)?`](Tree::select_mut) | `.zip(leaves)` does not check the number of leaves |
//! | `t.merge(…)`, `t.compose(…)` | none | patterns cannot be combined |
//! | `cursor(x)['a']['x'] += 1`, `.build()` | [`*tree.get_mut(&path)? += 1`](Tree::get_mut) | |
//! | `cursor(x).find_all(p)`, `.apply_update(f)` | [`tree.iter()`](Tree::iter), [`tree.map_with_path(f)`](Tree::map_with_path) | |
//! | `struct.dataclass`, `field(pytree_node=False)` | [`#[serde(serialize_with = "treedef::as_static")]`](fn@as_static) | on the field, after `derive` |
//! | `to_state_dict(x)` | `serde_json::to_value(&tree)?` | a tree serializes as the nested document; lists stay lists |
//! | `from_state_dict(x, state)` | [`Tree::of(&state)?.into_typed()?`](Tree::into_typed) | |
//!
//! # Chex
//!
//! | there | here | what differs |
//! |---|---|---|
//! | `assert_trees_all_equal(a, b)` | `assert_eq!(a, b)` of two trees | compares kinds and bits; [`a.diff(&b)`](Tree::diff) prints where they differ. For more than two, compare each with the first |
//! | `assert_trees_all_close(a, b)` | [`a.check_close(&b, tolerance)?`](Tree::check_close) | of two trees; exact without a tolerance |
//! | `assert_trees_all_close_ulp(a, b, maxulp=2)` | [`Tolerance::ulps`] | |
//! | `assert_trees_all_equal_structs(a, b)` | [`a.check_equal(&b)?`](TreeDef::check_equal) | of two treedefs |
//! | `assert_trees_all_equal_dtypes(a, b)` | `assert_eq!(signature(&a)?, signature(&b)?)` | the kinds of all leaves |
//! | `assert_trees_all_equal_shapes`, `…_sizes`, `…_shapes_and_dtypes` | [`a.check_equal(&b)?`](TreeDef::check_equal) | a `Vec<f64>` is structure. None for opaque arrays |
//! | `assert_tree_shape`, `…_shape_prefix`, `…_shape_suffix` | [`shallow.is_prefix_of(&treedef)`](TreeDef::is_prefix_of) | if arrays are structure; none for suffixes |
//! | `assert_trees_all_equal_comparator` | [`a.zip(b)?.try_map(f)?`](Tree::try_map) | the error has the path |
//! | `assert_tree_all_finite(t)`, `assert_tree_no_nones(t)` | [`tree.try_map(f)?`](Tree::try_map) | `f` returns an error; `None`s are leaves with `none_is_leaf` |
//! | `assert_tree_has_only_ndarrays(t)` | [`flatten_as::<f64>(&value)?`](flatten_as) | an error unless all leaves are of one kind |
//! | `assert_tree_is_on_device`, … | none | |
//! | `chex.dataclass`, `mappable_dataclass`, `.to_tuple()`, `.from_tuple()` | `#[derive(Serialize, Deserialize)]` | fields are in the order of their declaration, not sorted |
//! | `.replace(x=1)` | `P { x: 1, ..p }` | Rust's own syntax |
//!
//! # Haiku
//!
//! | there | here | what differs |
//! |---|---|---|
//! | `partition(p, s)` | [`tree.split(p)?`](Tree::split) | `p` gets path and leaf, or is a pattern or a mask; for trees of any depth |
//! | `partition_n(f, s, n)` | [`tree.split_into(3, f)?`](Tree::split_into) | with holes: [`Tree::partition`], again for the rest |
//! | `filter(p, s)` | [`tree.filter(p)?`](Tree::filter) | |
//! | `map(f, s)` | [`tree.map_with_path(f)`](Tree::map_with_path) | |
//! | `merge(a, b)` | [`Tree::merge([a, b])?`](Tree::merge) | two leaves at one path are an error; the last never wins |
//! | `is_subset(a, b)` | [`treedef.diff(&other).changes`](Diff::changes) | true if all changes are [`ChangeKind::Added`] |
//! | `traverse(s)` | [`tree.iter()`](Tree::iter) | |
//! | `tree_size(s)` | [`tree.leaves().len()`](Tree::leaves) | |
//! | `tree_bytes(s)` | `size_of_val(&*leaves)` | of the vector of one kind that [`flatten_as`] makes |
//! | `to_haiku_dict`, `to_immutable_dict`, `to_mutable_dict` | none | |
//!
//! # Penzai
//!
//! | there | here | what differs |
//! |---|---|---|
//! | `select(t).at(f)`, `.at_keypaths(paths)` | [`tree.subtree(&path)?`](Tree::subtree) | |
//! | `.at_instances_of(T)`, `.at_subtrees_where(p)`, `.where(p)`, `.at_equal_to(x)` | [`tree.edit(f)?`](Tree::edit) | `f` checks [`NodeRef::name`], the path or the leaves |
//! | `.at_pytree_leaves()`, `.at_children()`, `.at_childless()` | [`tree.iter()`](Tree::iter), [`treedef.root().children()`](NodeRef::children) | |
//! | `.get()`, `.get_sequence()`, `.get_by_path()`, `.count()`, `.is_empty()` | [`tree.select(pattern)?`](Tree::select) | an iterator of leaves with their paths |
//! | `.set(x)`, `.apply(f)` | [`tree.edit_at(pattern, f)?`](Tree::edit_at) | `f` returns an [`Edit`]; for leaves only, in place: [`Tree::select_mut`] |
//! | `.set_sequence(xs)`, `.set_by_path(m)` | [`*tree.get_mut(&path)? = leaf`](Tree::get_mut) | one at a time |
//! | `.remove_from_parent()` | [`tree.edit_at(pattern, f)?`](Tree::edit_at) | `f` returns [`Edit::Remove`]; returns the removed subtrees; for one path: [`Tree::remove`] |
//! | `.partition()` | [`tree.split(p)?`](Tree::split) | with holes: [`Tree::partition`] |
//! | `.insert_before(x)`, `.insert_after(x)` | [`tree.insert(&path, x)?`](Tree::insert) | the index that `x` then has |
//! | `.apply_and_inline(f)` | none | replace the sequence that contains it |
//! | `.invert()`, `.refine(f)`, `.deselect()` | none | a selection is not a value |
//! | `combine(a, b)`, `NotInThisPartition` | [`Tree::combine([a, b])?`](Tree::combine) | holes are `Option`s of leaves |
//! | `Struct`, `pytree_dataclass` | `#[derive(Serialize, Deserialize)]` | |
//! | `pretty_keystr(path, t)` | `path.to_string()` | |
//! | `treescope.render_to_text(t)`, `using_expansion_strategy` | `format!("{tree:#60}")` | 60 columns wide; no HTML |
//!
//! # An example of most functions
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use treedef::{ChangeKind, Edit, Leaf, Tolerance, Tree, TreeDef, signature};
//!
//! #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
//! struct Linear {
//!     w: Vec<f32>,
//!     b: Option<f64>,
//!     #[serde(serialize_with = "treedef::as_static")]
//!     kind: String,
//! }
//!
//! #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
//! struct Model {
//!     enc: Linear,
//!     tag: String,
//! }
//!
//! let enc = Linear { w: vec![1.0; 6], b: Some(0.5), kind: "dense".into() };
//! assert_eq!(
//!     signature(&enc)?.to_string(),
//!     r#"Linear { w: [f32; 6], b: Some(f64), kind: static "dense" }"#
//! );
//! let model = Model { enc, tag: "t".into() };
//! let tree = Tree::of(&model)?;
//! let (floats, others) = tree.clone().partition(|_: &_, leaf: &Leaf| leaf.kind().is_float())?;
//! assert_eq!(others.leaves()[7], Some(Leaf::from("t")));
//! assert_eq!(
//!     floats.clone().zip_with(others.clone(), Option::or)?.leaves()[7],
//!     Some(Leaf::from("t"))
//! );
//! assert_eq!(Tree::combine([floats, others])?, tree);
//! let mask = Tree::new("Model { enc: *, tag: * }".parse()?, vec![true, false])?;
//! assert_eq!(tree.clone().partition(&mask)?.0.leaves()[7], None);
//!
//! // Edits.
//! let mut edited = tree.clone();
//! let old = edited.replace(".enc.w", Tree::of(&[9f32, 8.0])?)?;
//! assert_eq!((old.leaves().len(), edited.into_typed::<Model>()?.enc.w), (6, vec![9.0, 8.0]));
//! let mut edited = tree.clone();
//! *edited.get_mut(".tag")? = Leaf::from("new");
//! edited.select_mut("**.w[*]")?.for_each(|(_, leaf)| *leaf = Leaf::F32(2.0));
//! assert_eq!(edited.select("**.w[*]")?.count(), 6);
//! let mut rest = edited.clone();
//! rest.edit_at("**.w", |_, _, leaves| Ok(Edit::Replace(Tree::of(&leaves.len())?)))?;
//! let removed = rest.edit_at("**.b", |_, _, _| Ok(Edit::Remove))?;
//! assert_eq!(
//!     format!("{rest:#60}"),
//!     "Model {\n  enc: Linear { w: 6u64, kind: static \"dense\" },\n  tag: \"new\",\n}"
//! );
//! assert_eq!(removed[0].0.to_joined_string("/"), "enc/b");
//!
//! // Comparing, saving.
//! assert!(tree != edited && tree.check_close(&tree, Tolerance::default()).is_ok());
//! let tolerance = Tolerance { rtol: 1e-6, ..Tolerance::default() };
//! Tree::of(&[1.0, 2.0])?.check_close(&Tree::of(&[1.0, 2.0 + 1e-9])?, tolerance)?;
//! let same = |(a, b): (Leaf, Leaf)| if a == b { Ok(a) } else { Err("not equal") };
//! let error = Tree::of(&(1, 3))?.zip(Tree::of(&(2, 3))?)?.try_map(same).unwrap_err();
//! assert_eq!(error.to_string(), "not equal at `.0`");
//! assert_eq!(Tree::from_bytes(&tree.to_bytes()?)?.into_typed::<Model>()?, model);
//! let state = serde_json::to_value(&tree).unwrap();
//! assert_eq!(Tree::of(&state)?.into_typed::<Model>()?, model);
//!
//! // Dropping, and merging again.
//! let p =
//!     Tree::new(r#"{"linear": {"b": *, "w": *}, "out": {"w": *}}"#.parse()?, vec![2, 1, 3])?;
//! let (yes, no) = p.clone().split("**.w")?;
//! assert!(
//!     no.treedef()
//!         .diff(p.treedef())
//!         .changes
//!         .iter()
//!         .all(|change| matches!(change.kind, ChangeKind::Added { .. }))
//! );
//! assert_eq!(Tree::merge([yes, no])?, p);
//! assert_eq!(p.partition(|_: &_, n: &usize| *n == 3)?.0.leaves(), [None, None, Some(3)]);
//! assert!("Model { enc: *, tag: * }".parse::<TreeDef>()?.is_prefix_of(tree.treedef()));
//! # Ok::<(), treedef::Error>(())
//! ```
//!
//! # What differs on purpose
//!
//! - **Holes** are `Option`s around the leaves. A `None` of the value is a node and keeps its place.
//! - **Paths and patterns** replace lambdas: they can be printed, stored and compared. A path that
//!   leads nowhere is an error.
//! - **A checkpoint** contains its structure. Leaves find their fields by name, and a number that
//!   does not fit its field is an error. [`Tree::migrate`] reports what serde filled, dropped and
//!   converted.
//! - **Keys** are sorted, even mixed ones. **Fields** are in the order of their declaration.
//!   Separators inside keys are escaped.
//! - **A leaf that is in two parts**, or in none, is an error when parts are combined. So is a
//!   duplicate leaf in a merge.
//! - **Prefixes** are accepted as masks only by functions that say so. Nothing broadcasts by
//!   itself.
//! - **Errors and assertions** name the path, also when structures differ.
//! - **Depth** is limited, to 128 levels by default.
//!
//! # What you no longer need
//!
//! - `is_leaf` for `None`s.
//! - Templates for loading.
//! - Static fields that can be hashed.

#[cfg(all(doc, feature = "diff"))]
use crate::{ChangeKind, Diff};
#[cfg(doc)]
use crate::{
    Edit, Flattener, Leaf, LeafKind, NodeRef, Path, Pattern, Tolerance, Tree, TreeDef, as_static,
    flatten_as, signature,
};
