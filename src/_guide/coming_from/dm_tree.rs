//! From dm-tree: DeepMind's `tree`.
//!
//! For users of `tree`, where any value is its own structure. That works here too: `example` and
//! `value` are any serde value. `tree` is a [`Tree`], `shallow` a [`TreeDef`], `below` is
//! `tree.flatten_up_to(&shallow)?`, `f` a function.
//!
//! | there | here | what differs |
//! |---|---|---|
//! | `is_nested(s)` | [`!treedef.root().is_leaf()`](NodeRef::is_leaf) | with the [`structure`] of the value |
//! | `flatten(s)` | [`flatten(&value)?.0`](flatten()) | beside it is the treedef |
//! | `flatten_with_path(s)` | [`tree.iter()`](Tree::iter) | |
//! | `unflatten_as(s, flat)` | [`unflatten::<T>(&treedef, leaves)?`](unflatten()) | with the [`structure`] of an example; for leaves of any type: [`Tree::new`] |
//! | `assert_same_structure(s, t)` | [`a.check_equal(&b)?`](TreeDef::check_equal) | of two treedefs; returns an error, whose `unwrap` prints the differences |
//! | `assert_same_structure(s, t, check_types=False)` | [`a.check_equivalent(&b)?`](TreeDef::check_equivalent) | |
//! | `map_structure(f, s)` | [`map(&value, f)?`](map()) | for leaves of another type: [`Tree::map`] |
//! | `map_structure(f, s, t)` | [`x.zip_with(y, f)?`](Tree::zip_with) | equal structures; for more than two: [`Tree::zip`] |
//! | `map_structure_with_path(f, s)` | [`tree.map_with_path(f)`](Tree::map_with_path) | for two: [`Tree::zip`], then [`Tree::map_with_path`] |
//! | `flatten_up_to(shallow, s)` | [`tree.flatten_up_to(&shallow)?`](Tree::flatten_up_to) | a tree of trees; a shallow map needs all keys |
//! | `flatten_with_path_up_to(shallow, s)` | [`below.iter()`](Tree::iter) | |
//! | `map_structure_up_to(shallow, f, s)` | [`below.map(f)`](Tree::map) | for two: [`Tree::zip_with`] |
//! | `map_structure_with_path_up_to(…)` | [`below.map_with_path(f)`](Tree::map_with_path) | |
//! | … with keys that are missing in `shallow` | [`tree.filter(f)?`](Tree::filter) | drop them first |
//! | `traverse(f, s)` | [`tree.edit(f)?`](Tree::edit) | `f` sees path, node and leaves, and returns an [`Edit`] |
//! | `traverse(f, s, top_down=False)` | [`tree.edit_up(f)?`](Tree::edit_up) | `f` sees each node with its edited children |
//! | `traverse_with_path(f, s)` | [`tree.edit(f)?`](Tree::edit) | |
//! | `None`, a replacement, `MAP_TO_NONE` | [`Edit::Keep`], [`Edit::Replace(tree)`](Edit::Replace) | the tree of a `None` has the structure `"None".parse()?`; there is also [`Edit::Remove`] |
//! | `Structure[K]` | [`Tree::<f64>::new(treedef, leaves)?`](Tree::new) | |
//! | `StructureKV[K, V]` | [`Key`] | keys of any kind |
//!
//! # An example of most functions
//!
//! ```
//! use serde_json::Value;
//! use treedef::{Edit, Leaf, NodeKind, Tree, TreeDef, flatten, structure, unflatten};
//!
//! let s = serde_json::json!({"b": [1, [2, 3]], "a": {"z": 4}});
//! assert_eq!(flatten(&s)?.0, [4u64, 1, 2, 3].map(Leaf::U64));
//! let tree = Tree::of(&s)?;
//! let paths: Vec<String> = tree.iter().map(|(path, _)| path.to_string()).collect();
//! assert_eq!(paths, [r#"["a"]["z"]"#, r#"["b"][0]"#, r#"["b"][1][0]"#, r#"["b"][1][1]"#]);
//! assert_eq!(
//!     unflatten::<Value>(&structure(&s)?, ["w", "x", "y", "z"].map(Leaf::from))?,
//!     serde_json::json!({"b": ["x", ["y", "z"]], "a": {"z": "w"}})
//! );
//! let depths = tree.clone().map_with_path(|path, _| Leaf::from(path.keys().len() as u64));
//! let expected = serde_json::json!({"b": [2, [3, 3]], "a": {"z": 2}});
//! assert_eq!(depths.into_typed::<Value>()?, expected);
//!
//! let shallow: TreeDef = r#"{"a": *, "b": [*, *]}"#.parse()?;
//! let below = tree.flatten_up_to(&shallow)?.map(|below| below.to_string());
//! assert_eq!(below.leaves(), [r#"{"z": 4u64}"#, "1u64", "[2u64, 3u64]"]);
//! let only_a = tree.clone().filter(r#"["a"]"#)?;
//! assert_eq!(only_a.to_string(), r#"{"a": {"z": 4u64}}"#);
//!
//! // From the root down: replaced nodes are not entered.
//! let mut visited = 0;
//! let inner = |below: &[Leaf], kind| kind == NodeKind::Seq && below.len() == 2;
//! let cut = tree.clone().edit(|_, node, below| {
//!     visited += 1;
//!     Ok(if inner(below, node.kind()) { Edit::Replace(Tree::of("CUT")?) } else { Edit::Keep })
//! })?;
//! assert_eq!(
//!     (cut.to_string(), visited),
//!     (r#"{"a": {"z": 4u64}, "b": [1u64, "CUT"]}"#.into(), 6)
//! );
//!
//! // From the leaves up: sums of sums. One place becomes `None`, and one is removed.
//! let numbers = tree.try_map(u64::try_from)?;
//! let sums = numbers.clone().edit_up(|_, below| Ok(match below.treedef().root().kind() {
//!     NodeKind::Seq => Edit::Replace(Tree::leaf(below.leaves().iter().sum())),
//!     _ => Edit::Keep,
//! }))?;
//! assert_eq!(sums.to_string(), r#"{"a": {"z": 4}, "b": 6}"#);
//! let none = Tree::new("None".parse()?, vec![])?;
//! let edited = numbers.edit(|_, node, below| Ok(match (node.kind(), below) {
//!     (NodeKind::Leaf, [4]) => Edit::Replace(none.clone()),
//!     (NodeKind::Leaf, [1]) => Edit::Remove,
//!     _ => Edit::Keep,
//! }))?;
//! assert_eq!(edited.to_string(), r#"{"a": {"z": None}, "b": [[2, 3]]}"#);
//! structure(&[1, 2])?.check_equivalent(&structure(&vec![3, 4])?)?;
//! # Ok::<(), treedef::Error>(())
//! ```
//!
//! # What differs on purpose
//!
//! - **None** is a node without leaves. In dm-tree it is a leaf; [`Flattener::none_is_leaf`] makes
//!   it one here.
//! - **Keys** are sorted as in dm-tree, even mixed ones, and maps are rebuilt in insertion order.
//!   **Fields** of structs are in the order of their declaration, as for attrs.
//! - **The structure is a value of its own**, a [`TreeDef`], that can be stored, printed and
//!   compared.
//! - **Kinds and keys are always checked.** In dm-tree `map_structure_with_path` and the `…_up_to`
//!   family skip keys that are missing in `shallow`, and accept other types.
//! - **Your own types are nodes**: derived structs and enums, not only attrs and namedtuples.
//! - **Errors** name the first path that differs and both sides, and contain the differences.
//! - **The number of leaves** is always checked. **Depth** is limited, to 128 levels by default.
//!
//! # What you no longer need
//!
//! attrs for your own nodes; a sentinel for `None`.

#[cfg(doc)]
use crate::{Edit, Flattener, Key, NodeRef, Tree, TreeDef, flatten, map, structure, unflatten};
