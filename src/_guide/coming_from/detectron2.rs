//! From Detectron2: `flatten_to_tuple`, `Schema` and `TracingAdapter` of `export/flatten.py`.
//!
//! For users who have a model with nested inputs and outputs, and a compiler, a tracer or a C
//! library that takes only flat vectors. In the table `value` and `example` are any serde value,
//! `treedef` is a [`TreeDef`], `f` a function, and `inputs` and `outputs` are the treedefs of its
//! arguments and results.
//!
//! | there | here | what differs |
//! |---|---|---|
//! | `flatten_to_tuple(obj)` | [`flatten(&value)?`](flatten()) | for leaves of one kind, such as `f32`: [`flatten_as`] |
//! | `schema(values)` | [`unflatten::<T>(&treedef, leaves)?`](unflatten()) | the number of leaves must be exact, at every level |
//! | `Schema` | [`structure(&value)?`](structure()) | a [`TreeDef`]: `Eq + Hash`, printed, parsed, saved |
//! | `IdentitySchema`, `ListSchema`, `TupleSchema`, `DictSchema` | [`treedef.root().kind()`](NodeRef::kind) | a [`NodeKind`] |
//! | `InstancesSchema`, `TensorWrapSchema` | `#[derive(Serialize, Deserialize)]` | any type; no type is looked up by name |
//! | tensors on a device as leaves | [`flatten_objects(&value)?`](crate::flatten_objects()) | any object is a leaf: see [`object`](crate::object) |
//! | `schema.schemas` | [`treedef.root().children()`](NodeRef::children) | |
//! | `schema.keys` | [`treedef.root().entry_keys()`](NodeRef::entry_keys) | of any kind, not only strings |
//! | `schema.sizes`, `_split`, `_concat` | [`TreeDef::node`], [`NodeRef::leaf_range`] | the indices of the leaves below a path |
//! | `dump_dataclass(schema)`, `instantiate(config)` | [`treedef.to_string()`](TreeDef), [`text.parse::<TreeDef>()?`](TreeDef) | or [`TreeDef::to_bytes`], or JSON through serde |
//! | `TracingAdapter(model, inputs)`, `inference_func=f` | a closure of [`unflatten`](unflatten()), `f` and [`flatten_as`], as below | several arguments are a tuple |
//! | `TracingAdapter(…, allow_non_tensor=True)` | [`Flattener::flatten_as`] in its place | with [`leaves_where`](Flattener::leaves_where): all other scalars are static, and kept |
//! | `adapter.flattened_inputs`, `adapter.inputs_schema` | [`let (leaves, inputs) = flatten_as(&example)?`](flatten_as) | |
//! | `adapter.outputs_schema` | the treedef that the closure returns beside the leaves | |
//! | `adapter.forward(*flat)` | `closure(&leaves)?` | to refuse an output of another structure: [`flatten_like`](TreeDef::flatten_like) of `outputs` |
//! | `adapter._create_wrapper(traced)` | [`unflatten(&outputs, traced(x))?`](unflatten()) | `x` is from [`flatten_like`](TreeDef::flatten_like) of `inputs`, which checks the structure, too |
//!
//! # An example of most functions
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use treedef::{Flattener, LeafKind, TreeDef, flatten_as, unflatten};
//!
//! type Object = (i32, (Vec<i32>, std::collections::BTreeMap<String, Vec<i32>>));
//! let names = [("name".to_owned(), vec![7, 9]), ("name2".to_owned(), vec![3])];
//! let object: Object = (3, (vec![5, 6], names.into()));
//! let (leaves, treedef) = flatten_as::<i32>(&object)?;
//! assert_eq!(leaves, [3, 5, 6, 7, 9, 3]);
//! assert_eq!(treedef.to_string(), r#"(*, ([*, *], {"name": [*, *], "name2": [*]}))"#);
//! assert_eq!(unflatten::<Object>(&treedef, &leaves)?, object);
//! assert_eq!(treedef.node(".1.1")?.leaf_range(), 3..6);
//! assert_eq!(treedef.to_string().parse::<TreeDef>()?, treedef);
//! let error = unflatten::<Object>(&treedef, &leaves[..5]).unwrap_err();
//! assert_eq!(error.to_string(), "expected 6 leaves, found 5");
//!
//! #[derive(Debug, PartialEq, Serialize, Deserialize)]
//! struct Inputs {
//!     a: Vec<f64>,
//!     b: (Vec<f64>,),
//!     mode: String,
//! }
//!
//! #[derive(Debug, PartialEq, Serialize, Deserialize)]
//! struct Outputs {
//!     sum: Vec<f64>,
//!     parts: (Vec<f64>, Vec<f64>),
//! }
//!
//! let model = |Inputs { a, b: (b,), mode }: Inputs| {
//!     let sum = a.iter().zip(&b).map(|(x, y)| x + y).filter(|_| mode == "add").collect();
//!     Outputs { sum, parts: (a.iter().map(|x| 2.0 * x).collect(), b) }
//! };
//! let inputs = |a: [f64; 2], b: &[f64], mode: &str| Inputs {
//!     a: a.into(),
//!     b: (b.into(),),
//!     mode: mode.into(),
//! };
//! let floats = Flattener::new().leaves_where(LeafKind::is_float);
//! let (_, treedef) = floats.flatten_as::<f64>(&inputs([1.0, 2.0], &[10.0, 20.0], "add"))?;
//! assert_eq!(
//!     treedef.to_string(),
//!     r#"Inputs { a: [*, *], b: ([*, *],), mode: static "add" }"#
//! );
//! let flat = |leaves: &[f64]| floats.flatten_as::<f64>(&model(unflatten(&treedef, leaves)?));
//! let (leaves, outputs) = flat(&[1.0, 2.0, 10.0, 20.0])?;
//! assert_eq!(leaves, [11.0, 22.0, 2.0, 4.0, 10.0, 20.0]);
//! assert_eq!(outputs.to_string(), "Outputs { sum: [*, *], parts: ([*, *]; 2) }");
//!
//! // The typed signature over a flat function that was compiled from `flat`.
//! let compiled =
//!     |x: &[f64]| vec![x[0] + x[2], x[1] + x[3], 2.0 * x[0], 2.0 * x[1], x[2], x[3]];
//! let mut leaves = Vec::new();
//! floats.flatten_like(&treedef, &inputs([0.0, 1.0], &[5.0, 5.0], "add"), &mut leaves)?;
//! let made: Outputs = unflatten(&outputs, compiled(&leaves))?;
//! assert_eq!(made, Outputs { sum: vec![5.0, 6.0], parts: (vec![0.0, 2.0], vec![5.0, 5.0]) });
//!
//! // Inputs of another structure are refused, and so are outputs.
//! let mut refused =
//!     |value: &Inputs| floats.flatten_like(&treedef, value, &mut leaves).unwrap_err();
//! let error = refused(&inputs([0.0, 1.0], &[5.0], "add"));
//! assert_eq!(error.to_string(), "expected 2 children, found 1 child at `.b.0`");
//! assert_eq!(refused(&inputs([0.0, 1.0], &[5.0, 5.0], "mul")).path().to_string(), ".mode");
//! let longer = Outputs { sum: vec![0.0; 3], parts: (vec![0.0; 2], vec![0.0; 2]) };
//! let error = outputs.flatten_like(&longer, &mut leaves).unwrap_err();
//! assert_eq!(error.to_string(), "expected 2 children, found 3 children at `.sum`");
//! # Ok::<(), treedef::Error>(())
//! ```
//!
//! # What differs on purpose
//!
//! - **Constants** are statics: they are part of the structure, and are compared and kept.
//!   Detectron2 drops them together with the schema.
//! - **The number of leaves** is checked everywhere. In Detectron2 a single leaf, or a container
//!   without children, accepts any number.
//! - **Keys of maps** are sorted as in Detectron2, but may be of any type, and a map gets its own
//!   order back.
//! - **Structs** come back with their own types, and their fields are in the order of their
//!   declaration.
//! - **None** is a node without leaves. In Detectron2 it is a leaf; [`Flattener::none_is_leaf`]
//!   makes it one here.
//! - **Inputs of later calls** are compared with the first by `flatten_like`, not only outputs. The
//!   error has the path.
//! - **A treedef** can be hashed, so it can be the key of a cache of compiled functions. See
//!   [`TreeDef::fingerprint`].
//!
//! # What you no longer need
//!
//! A schema for each type, names by which types are looked up, `allow_non_tensor`.

#[cfg(doc)]
use crate::{Flattener, NodeKind, NodeRef, TreeDef, flatten, flatten_as, structure, unflatten};
