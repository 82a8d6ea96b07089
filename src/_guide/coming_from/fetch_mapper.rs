//! From TensorFlow 1: `_FetchMapper`, `_FetchHandler` and `Session.run`.
//!
//! For users of `Session.run`, which takes nested fetches, computes each distinct fetch once, and
//! returns results with the same nesting. In the table `tree` is a [`Tree`] of the fetches,
//! `unique` its [`Unique`], `f` a function, `p` a predicate.
//!
//! | there | here | what differs |
//! |---|---|---|
//! | `_FetchMapper.for_fetch(fetches)` | [`Tree::of(&fetches)?`](Tree::of) | or [`Tree::new`], with leaves of any type |
//! | `_ListFetchMapper`, `_DictFetchMapper`, `_AttrsFetchMapper` | [`tree.treedef()`](Tree::treedef) | one structure for the whole tree |
//! | `mapper.unique_fetches()` | [`tree.unique_by(key).leaves`](Tree::unique_by) | in the order of their first occurrence |
//! | `mapper._value_indices` | [`tree.unique_by(key).inverse`](Unique::inverse) | a `Tree<usize>` with an index for each leaf, instead of one table for each level |
//! | `_uniquify_fetches(mappers)` | [`tree.unique_by(f)`](Tree::unique_by) | by `Eq + Hash`, or by a key such as the address of an `Rc` |
//! | `mapper.build_results(values)` | [`unique.rebuild(&results)?`](Unique::rebuild) | their number is checked |
//! | `_ElementFetchMapper`, expansion of one fetch to several | [`tree.try_map(f)?.compose()?`](Tree::compose) | `f` makes a tree of each leaf |
//! | `contraction_fn` | [`results.flatten_up_to(&treedef)?`](Tree::flatten_up_to) | with the treedef before the expansion; then [`Tree::map`] |
//! | `register_…_conversion_functions` | none | you pass the two functions yourself |
//! | `_FetchHandler(graph, fetches, feeds)` | [`tree.partition(p)?`](Tree::partition) | the fed leaves, and the leaves to compute |
//! | `handler.fetches()`, `handler.targets()` | [`unique.leaves.iter().filter(p)`](Unique::leaves) | |
//! | `handler.build_results(session, values)` | [`Tree::combine([fed, computed])?`](Tree::combine) | you choose the result of an operation, such as `None` in an `Option` |
//! | `Session.run(fetches)` | [`unique.rebuild(&results)?`](Unique::rebuild) | you compute the results in between |
//! | `make_callable` | a closure of [`unflatten`](crate::unflatten()), `f` and [`flatten_as`](crate::flatten_as) | |
//! | `partial_run` | none | |
//! | `Argument fetch = None has invalid type` | [`tree.try_map(f)?`](Tree::try_map) | with `none_is_leaf`, `f` refuses [`Leaf::None`]; the error has the path |
//!
//! # An example of most functions
//!
//! ```
//! use treedef::{Flattener, Leaf, Tree};
//!
//! // The fetches, some of them twice.
//! let text = r#"{"k1": MyData { a: *, b: * }, "k2": [*, *, *, *]}"#;
//! let wanted = Tree::new(text.parse()?, vec!["a", "b", "b", "a", "a", "op"])?;
//! let unique = wanted.clone().unique_by(|name| *name);
//! assert_eq!(unique.leaves, ["a", "b", "op"]);
//! assert_eq!(unique.inverse.leaves(), [0, 1, 1, 0, 0, 2]);
//!
//! // Each is computed once; an operation has no value.
//! let compute = |name: &&str| (*name != "op").then(|| format!("V{name}"));
//! let results: Vec<Option<String>> = unique.leaves.iter().map(compute).collect();
//! let found = unique.rebuild(&results)?;
//! assert_eq!(
//!     found.leaves()[2..],
//!     [results[1].clone(), results[0].clone(), results[0].clone(), None]
//! );
//! assert_eq!(
//!     unique.rebuild(&results[..2]).unwrap_err().to_string(),
//!     "expected 3 leaves, found 2"
//! );
//!
//! // Two names of one thing, found by a key.
//! let aliases = Tree::new("(*, *)".parse()?, vec!["a:0", "a"])?
//!     .unique_by(|name| name.trim_end_matches(":0").to_owned());
//! assert_eq!((aliases.leaves, aliases.inverse.leaves()), (vec!["a:0"], &[0, 0][..]));
//!
//! // Fed values are not computed.
//! let (fed, rest) = wanted.clone().partition(|_: &_, name: &&str| *name == "a")?;
//! let fed = fed.map(|name| name.map(|_| 99));
//! let computed = rest.map(|name| name.map(str::len));
//! assert_eq!(Tree::combine([fed, computed])?.leaves(), [99, 1, 1, 99, 99, 2]);
//!
//! // One leaf becomes three values, and then one again.
//! let sparse = Tree::new("(*, *)".parse()?, vec!["st", "a"])?;
//! let expand = |name| match name {
//!     "st" => Tree::new("(*, *, *)".parse()?, vec!["indices", "values", "shape"]),
//!     other => Ok(Tree::leaf(other)),
//! };
//! let expanded = sparse.clone().try_map(expand)?.compose()?;
//! assert_eq!(expanded.to_string(), "((indices, values, shape), a)");
//! let contracted =
//!     expanded.flatten_up_to(sparse.treedef())?.map(|below| below.leaves().join("+"));
//! assert_eq!(contracted.leaves(), ["indices+values+shape", "a"]);
//!
//! // `None` is an error if you want it to be, with the path.
//! let (leaves, treedef) = Flattener::new().none_is_leaf(true).flatten(&(1, [Some(2), None]))?;
//! let refuse = |leaf| if leaf == Leaf::None { Err("None cannot be fetched") } else { Ok(leaf) };
//! let error = Tree::new(treedef, leaves)?.try_map(refuse).unwrap_err();
//! assert_eq!(error.to_string(), "None cannot be fetched at `.1.1`");
//! # Ok::<(), treedef::Error>(())
//! ```
//!
//! # What differs on purpose
//!
//! - **Equality** compares the leaves or a key, not addresses.
//! - **None** is a node or a leaf, and an error only if you say so.
//! - **Too many or too few results** are an error. TensorFlow drops surplus results.
//! - **Keys of maps** are sorted, and a map is rebuilt in insertion order. **Fields** are in the order of
//!   their declaration.
//! - **The kind of a container** is preserved. In TensorFlow subclasses of lists become plain
//!   lists.
//! - **The index is flat**: one index for the whole tree, so that one vector of results serves all
//!   levels.
//!
//! # What you no longer need
//!
//! Conversion functions in a global list, and a mapper for each kind of container.

#[cfg(doc)]
use crate::{Leaf, Tree, Unique};
