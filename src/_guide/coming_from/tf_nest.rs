//! From TensorFlow: `tf.nest`, and the part of `tensorflow.python.util.nest` that is in use.
//!
//! For users of `tf.nest`, where any value is its own structure. That works here too: `example` and
//! `value` are any serde value. `tree` is a [`Tree`], `shallow` and `treedef` are [`TreeDef`]s,
//! `below` is `tree.flatten_up_to(&shallow)?`, `f` a function, `p` a predicate.
//!
//! # `tf.nest`
//!
//! | there | here | what differs |
//! |---|---|---|
//! | `flatten(s)` | [`flatten(&value)?.0`](flatten()) | beside it is the treedef |
//! | `pack_sequence_as(s, flat)` | [`unflatten::<T>(&treedef, leaves)?`](unflatten()) | with the [`structure`] of an example |
//! | … with leaves of any type | [`Tree::new(treedef, leaves)?`](Tree::new) | |
//! | `map_structure(f, s)` | [`map(&value, f)?`](map()) | for leaves of another type use [`Tree::map`] |
//! | `map_structure(f, s, t)` | [`x.zip_with(y, f)?`](Tree::zip_with) | equal structures; for more than two: [`Tree::zip`] |
//! | `map_structure(f, s, t, check_types=False)` | `Tree::of(&y.into_typed::<T>()?)?` | no single call: convert `y` to the type of `x`, then as above |
//! | `assert_same_structure(s, t)` | [`a.check_equal(&b)?`](TreeDef::check_equal) | of two treedefs; returns an error, whose `unwrap` prints the differences |
//! | `assert_same_structure(s, t, check_types=False)` | [`a.check_equivalent(&b)?`](TreeDef::check_equivalent) | a sequence matches a tuple, and a map a struct |
//! | `is_nested(s)`, `is_nested_or_composite(s)` | [`!treedef.root().is_leaf()`](NodeRef::is_leaf) | with the [`structure`] of the value |
//! | `expand_composites=True` | [`tree.try_map(f)?.compose()?`](Tree::compose) | `f` makes a tree of each leaf; [`Tree::flatten_up_to`] goes back |
//! | `__tf_flatten__`, `__tf_unflatten__`, attrs | `#[derive(Serialize, Deserialize)]` | |
//!
//! # `util.nest`
//!
//! | there | here | what differs |
//! |---|---|---|
//! | `flatten_up_to(shallow, s)` | [`tree.flatten_up_to(&shallow)?`](Tree::flatten_up_to) | a tree of trees |
//! | `flatten_with_tuple_paths_up_to(…)` | [`below.iter()`](Tree::iter) | |
//! | `map_structure_up_to(shallow, f, s)` | [`below.map(f)`](Tree::map) | for two: [`Tree::zip_with`] |
//! | `map_structure_with_tuple_paths_up_to` | [`below.map_with_path(f)`](Tree::map_with_path) | |
//! | `map_structure_with_paths`, `…_with_tuple_paths` | [`tree.map_with_path(f)`](Tree::map_with_path) | `f` gets a [`Path`] |
//! | `assert_shallow_structure(shallow, s)` | [`shallow.is_prefix_of(&treedef)`](TreeDef::is_prefix_of) | for an error: [`flatten_up_to`](Tree::flatten_up_to). A shallow map needs all keys |
//! | `yield_flat_paths(s)` | [`treedef.leaf_paths()`](TreeDef::leaf_paths) | |
//! | `flatten_with_tuple_paths(s)` | [`tree.iter()`](Tree::iter) | |
//! | `flatten_with_joined_string_paths(s, separator)` | [`path.to_joined_string("/")`](Path::to_joined_string) | a separator inside a key is escaped |
//! | `get_traverse_shallow_structure(p, s)` | [`treedef.edit(f)?`](TreeDef::edit) | `f` returns [`TreeDef::leaf`] for each node that is not to be entered |
//! | `list_to_tuple(s)` | [`treedef.edit_up(f)?`](TreeDef::edit_up) | on the structure; the leaves stay |
//! | `sequence_like(instance, args)` | [`unflatten::<T>(&treedef, leaves)?`](unflatten()) | with the [`structure`] of the instance |
//! | `flatten_dict_items(d)` | none | a key is one value, and is not split |
//! | `is_mapping(s)`, `is_attrs(s)`, `is_namedtuple(s)` | [`treedef.root().kind()`](NodeRef::kind) | [`NodeKind::Map`], [`NodeKind::Struct`] |
//! | `data.util.nest` | [`opaque_where(p)`](Flattener::opaque_where) | `p` is true for [`NodeKind::Seq`], so lists are leaves |
//!
//! # An example of most functions
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use serde::{Deserialize, Serialize};
//! use treedef::{Edit, Flattener, NodeKind, NodeRef, Tree, TreeDef, structure, unflatten};
//!
//! #[derive(Debug, PartialEq, Serialize, Deserialize)]
//! struct Point {
//!     x: i32,
//!     y: Vec<i32>,
//! }
//!
//! #[derive(Debug, PartialEq, Serialize, Deserialize)]
//! struct S {
//!     b: Point,
//!     a: BTreeMap<String, i32>,
//!     c: (),
//! }
//!
//! let s =
//!     S { b: Point { x: 1, y: vec![2, 3] }, a: BTreeMap::from([("z".to_owned(), 4)]), c: () };
//! let tree = Tree::of(&s)?;
//! let joined: Vec<String> = tree
//!     .iter()
//!     .map(|(path, leaf)| format!("{}={leaf}", path.to_joined_string("/")))
//!     .collect();
//! assert_eq!(joined, ["b/x=1", "b/y/0=2", "b/y/1=3", "a/z=4"]);
//! assert_eq!(unflatten::<S>(&structure(&s)?, [5, 6, 7, 8])?.b, Point { x: 5, y: vec![6, 7] });
//! let letters = Tree::new(structure(&s)?, vec!["w", "x", "y", "z"])?;
//! assert_eq!(letters.to_string(), r#"S { b: Point { x: w, y: [x, y] }, a: {"z": z}, c: () }"#);
//! let numbers = tree.clone().try_map(i32::try_from)?;
//! let squares = numbers.clone().zip_with(numbers.clone(), |a, b| a * b)?.into_typed::<S>()?;
//! assert_eq!(squares.b, Point { x: 1, y: vec![4, 9] });
//!
//! let shallow: TreeDef = "S { b: *, a: *, c: () }".parse()?;
//! assert!(shallow.is_prefix_of(tree.treedef()));
//! let sizes = tree.flatten_up_to(&shallow)?.map(|below| below.leaves().len());
//! assert_eq!(sizes.to_string(), "S { b: 3, a: 1, c: () }");
//! let without_points = tree.treedef().edit(|node| Ok(match node.name() {
//!     Some("Point") => Edit::Replace(TreeDef::leaf()),
//!     _ => Edit::Keep,
//! }))?;
//! assert_eq!(without_points.to_string(), r#"S { b: *, a: {"z": *}, c: () }"#);
//! let tuples = tree.treedef().edit_up(|node| Ok(match node.root().kind() {
//!     NodeKind::Seq => {
//!         let children = node.root().children().map(NodeRef::to_treedef);
//!         Edit::Replace(TreeDef::tuple(children)?)
//!     }
//!     _ => Edit::Keep,
//! }))?;
//! let tuples = Tree::new(tuples, numbers.into_parts().1)?;
//! assert_eq!(tuples.to_string(), r#"S { b: Point { x: 1, y: (2, 3) }, a: {"z": 4}, c: () }"#);
//!
//! // With and without the types of containers.
//! structure(&s)?.check_equal(&structure(&unflatten::<S>(&structure(&s)?, [0; 4])?)?)?;
//! let dict = serde_json::json!({"b": {"x": 1, "y": [2, 3]}, "a": {"z": 4}, "c": null});
//! let untyped = structure(&dict["b"])?;
//! assert!(untyped.check_equivalent(&structure(&s.b)?).is_ok());
//! assert_eq!(Tree::of(&Tree::of(&dict["b"])?.into_typed::<Point>()?)?, Tree::of(&s.b)?);
//! let lists = Flattener::new().opaque_where(|_, node| node.kind == NodeKind::Seq);
//! assert_eq!(lists.structure(&s.b)?.to_string(), "Point { x: *, y: * }");
//!
//! // A leaf that becomes several.
//! let lengths = Tree::new(structure(&(0, 0))?, vec![2, 1])?;
//! let fanned = lengths.try_map(|n| Tree::new(structure(&vec![0; n])?, vec![n; n]))?.compose()?;
//! assert_eq!(fanned.to_string(), "([2, 2], [1])");
//! # Ok::<(), treedef::Error>(())
//! ```
//!
//! # What differs on purpose
//!
//! - **None** is a node without leaves. In `tf.nest` it is an atom; [`Flattener::none_is_leaf`]
//!   makes it one here.
//! - **Keys** are sorted as in `tf.nest`, even mixed ones, and maps are rebuilt in insertion order.
//!   **Fields** of structs are in the order of their declaration.
//! - **The structure is a value of its own**, a [`TreeDef`], that can be stored, printed and
//!   compared. An example value is only one way to get it.
//! - **`check_types`** has two equivalents: equal, including all kinds and names, and
//!   [equivalent](TreeDef::check_equivalent). Maps of different types are equal. Structs with
//!   different names are only equivalent.
//! - **Equivalent structures may have their leaves in different orders**: a map sorts by key, a
//!   struct by declaration. So no function zips them.
//! - **Prefixes have all keys**: a map that lacks a key of the full map is not a prefix of it.
//! - **Errors** name the first path that differs and both sides, and contain the differences.
//! - **The number of leaves** is always checked. **Depth** is limited, to 128 levels by default.
//!
//! # What you no longer need
//!
//! Hooks for your own types; `expand_composites`.

#[cfg(doc)]
use crate::{
    Flattener, NodeKind, NodeRef, Path, Tree, TreeDef, flatten, map, structure, unflatten,
};
