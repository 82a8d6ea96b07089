//! From `serde_json::Value`: documents whose type is not known, and values that become documents.
//!
//! In the table `value` is any serde value, `document` a `Value` of `serde_json`, `tree` a
//! [`Tree`], `text` a JSON text. A path such as `.servers[0].port` finds fields and keys alike.
//!
//! | there | here | what differs |
//! |---|---|---|
//! | `to_value(&value)?` | [`Tree::of(&value)?`](Tree::of) | NaN, 128 bits, newtypes, the variant of an enum and the type of each number are kept |
//! | `from_value::<T>(document)?` | [`tree.into_typed::<T>()?`](Tree::into_typed) | an error has the path |
//! | `from_str::<Value>(text)?` | `serde_json::from_str::<Tree<Leaf>>(text)?` | the same with YAML, TOML and all formats that describe themselves; limits by [`TreeSeed`](crate::TreeSeed) |
//! | `to_string(&document)?` | `serde_json::to_string(&tree)?` | the text that the value itself would give |
//! | `document["a"][0]`, `pointer("/a/0")` | [`tree.get(".a[0]")?`](Tree::get), [`tree.subtree(".a")?`](Tree::subtree) | a missing part is an error with the nearest name, not `Null` |
//! | `*document.pointer_mut(p)? = json!(1)` | [`*tree.get_mut(path)? = Leaf::from(1)`](Tree::get_mut), [`tree.replace(path, new)?`](Tree::replace) | a leaf for a leaf; a subtree for a subtree |
//! | `map.insert(key, v)`, `list.push(v)` | [`tree.insert(path, new)?`](Tree::insert) | |
//! | `map.remove(key)`, `take()` | [`tree.remove(path)?`](Tree::remove) | returns the subtree |
//! | `as_f64()`, `is_string()` | [`leaf.as_f64()`](Leaf::as_f64), [`leaf.kind()`](Leaf::kind) | |
//! | a recursive function | [`tree.iter()`](Tree::iter), [`tree.select("**.name")?`](Tree::select), [`tree.edit(f)?`](Tree::edit) | no recursion, whatever the depth |
//! | `a == b` | `a == b`, [`a.diff(&b)`](Tree::diff) | the diff lists the changes path by path (feature `diff`) |
//! | the crate `json-patch` | [`tree.patch(&diff)?`](Tree::patch) | keeps the old values, so it refuses another document; not RFC 6902 |
//! | `Value::Null` | a node `()`, without a leaf | a `None` of a typed value is `None` |
//! | `json!({"a": 1})` | `Tree::of(&json!({"a": 1}))?` | there is no macro of our own |
//!
//! # An example of most functions
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use serde_json::json;
//! use treedef::{Leaf, Tree};
//!
//! let text = r#"{"name": "demo",
//!     "servers": [{"host": "a", "port": 80}, {"host": "b", "port": 81}]}"#;
//! let mut tree: Tree<Leaf> = serde_json::from_str(text)?;
//! assert_eq!(tree.get(".servers[1].port")?.as_u64(), Some(81));
//! *tree.get_mut(".servers[1].port")? = Leaf::U64(8081);
//! tree.insert(".servers[2]", Tree::of(&json!({"host": "c", "port": 82}))?)?;
//! tree.remove(".name")?;
//! let ports: Vec<u64> = tree.select("**.port")?.filter_map(|(_, leaf)| leaf.as_u64()).collect();
//! assert_eq!(ports, [80, 8081, 82]);
//!
//! let error = tree.get(".servers[0].prot").unwrap_err();
//! assert!(error.to_string().contains("did you mean"), "{error}");
//!
//! #[derive(Serialize, Deserialize)]
//! struct Config { servers: Vec<Server> }
//!
//! #[derive(Serialize, Deserialize)]
//! struct Server { host: String, port: u16 }
//!
//! // A number that is too large for its field is an error with the path.
//! let mut wrong = tree.clone();
//! *wrong.get_mut(".servers[0].port")? = Leaf::U64(80_000);
//! let error = wrong.into_typed::<Config>().map(|_| ()).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     r#"invalid value: integer `80000`, expected u16 at `["servers"][0]["port"]`"#
//! );
//! let config: Config = tree.clone().into_typed()?;
//! assert_eq!(config.servers[2].host, "c");
//!
//! // The tree of a typed value holds what JSON cannot.
//! let values = (f64::NAN, u128::MAX, [1.5f32]);
//! assert_eq!(json!(f64::NAN), json!(null));
//! assert_eq!(serde_json::from_str::<Tree<Leaf>>("null")?.to_string(), "()");
//! let back: (f64, u128, [f32; 1]) = Tree::of(&values)?.into_typed()?;
//! assert!(back.0.is_nan() && back.1 == u128::MAX);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What `serde_json` does better
//!
//! - **Many changes of structure.** A `Value` is made of vectors and maps, so `push` costs nothing.
//!   [`insert`](Tree::insert), [`remove`](Tree::remove) and [`replace`](Tree::replace) rebuild the
//!   treedef each time. Setting leaves is cheap in both.
//! - **Single look-ups.** `document["a"]` is one search in a map. A path is parsed, then followed from
//!   the root.
//! - **`match`.** A `Value` is an enum of six variants that you can match on. A tree has methods instead.
//! - **Documents alone.** To read JSON, look at it and write it again, you need only a `Value`.
//!   [The page about speed](super::super::speed) compares the two.
//!
//! # What differs on purpose
//!
//! - **Order.** Maps are compared without regard to the order of their entries, and written in the order
//!   in which they were read. No feature such as `preserve_order` is needed, unless the tree is made from
//!   a `Value`: then the `Value` must have kept the order.
//! - **Numbers** have the kind that they were read with: `1`, `1.0` and `-1` are `u64`, `f64` and `i64`.
//! - **A key that occurs twice** gives two entries. In a `Value` the last one wins.
//! - **Depth** is limited, to 128 levels by default, as in `serde_json`.

#[cfg(doc)]
use crate::{Leaf, Tree};
