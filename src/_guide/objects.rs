//! Leaves that are objects: tensors on a device, dual numbers, handles.
//!
//! A leaf need not be a serde scalar. [`flatten_objects`](crate::flatten_objects()) collects all
//! objects of one Rust type. The type only has to be `Clone + 'static`. All other values become
//! static. [The page of the module](crate::object) shows the attributes for fields. Cloning a
//! tensor, an `Rc` or a handle copies a pointer, not the numbers.
//!
//! # What you can do with them
//!
//! A [`Tree`](crate::Tree) of objects has all operations of other trees, by path and by pattern. For
//! functions that may fail, as functions of tensors do, there are methods that begin with `try_`:
//!
//! ```
//! use std::rc::Rc;
//!
//! use serde::{Deserialize, Serialize};
//! use treedef::Tree;
//!
//! type Tensor = Rc<[f32]>; // stands for a tensor of your framework
//!
//! #[derive(Serialize, Deserialize)]
//! struct Linear {
//!     #[serde(with = "treedef::object")]
//!     w: Tensor,
//!     #[serde(with = "treedef::object::option", default)]
//!     b: Option<Tensor>,
//!     dropout: f64,
//! }
//!
//! let model = Linear { w: [1.0, 2.0].into(), b: Some([0.5].into()), dropout: 0.1 };
//! let parameters = Tree::<Tensor>::of_objects(&model)?;
//!
//! // Weight decay of the weights alone.
//! let mut decayed = parameters.clone();
//! for (_, tensor) in decayed.select_mut("**.w")? {
//!     *tensor = tensor.iter().map(|x| 0.5 * x).collect();
//! }
//! // A running average, which fails where the shapes differ.
//! let average = decayed.zip(parameters)?.try_map(|(a, b)| {
//!     if a.len() != b.len() {
//!         return Err("another shape");
//!     }
//!     Ok(a.iter().zip(&*b).map(|(a, b)| 0.5 * (a + b)).collect::<Tensor>())
//! })?;
//! let model: Linear = average.into_objects()?;
//! assert_eq!((&*model.w, model.b.as_deref()), (&[0.75, 1.5][..], Some(&[0.5][..])));
//! # Ok::<(), treedef::Error>(())
//! ```
//!
//! # Tested with
//!
//! | object | crate | use | tested |
//! |---|---|---|---|
//! | `Tensor` | `candle-core` 0.11, CPU | models, gradients as a model, descent, files | `crates/candle`; `ecosystem/objects/tests/candle.rs`, the example `tensors` there |
//! | `Dual64`, `DualSVec64<N>` | `num-dual` 0.15 | gradients of a struct that is generic over its numbers | `ecosystem/objects/tests/duals.rs` |
//! | `Rc<T>`, a handle that is freed once | | any handle | `examples/handles.rs` |
//! | `Tensor` of `tch`, `Array` of `mlx-rs`, `Tensor` of burn, buffers of `wgpu` | | | not tested; they are `Clone`, or are in an `Rc` |
//!
//! For gradients and optimisers of such models, see `crates/optim`; for candle, with its layers as plain
//! structs and files in one line, `crates/candle`.
//!
//! # Duals, and other types that have serde
//!
//! Some types implement serde but lose a part of themselves: the derivative of a dual number, or a
//! tape. As objects they stay complete. A struct that is generic over its numbers can change from one
//! type of number to another:
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use treedef::Tree;
//!
//! #[derive(Serialize, Deserialize)]
//! #[serde(bound = "")]
//! struct Orbit<T: Clone + 'static> {
//!     #[serde(with = "treedef::object")]
//!     mass: T,
//!     #[serde(with = "treedef::object::vec")]
//!     velocity: Vec<T>,
//! }
//!
//! let orbit = Orbit { mass: 2.0, velocity: vec![3.0, 4.0] };
//! let ranges: Orbit<std::ops::Range<f64>> =
//!     Tree::<f64>::of_objects(&orbit)?.map(|x| x - 1.0..x + 1.0).into_objects()?;
//! assert_eq!(ranges.mass, 1.0..3.0);
//!
//! // Of plain numbers it is plain data, also in other formats.
//! assert_eq!(serde_json::to_string(&orbit)?, r#"{"mass":2.0,"velocity":[3.0,4.0]}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Shared leaves
//!
//! Two fields may hold the same tensor, as tied weights do. They are two leaves.
//! [`unique_by`](crate::Tree::unique_by) lists each object once, and puts the new object into all
//! places of the old one, so tied weights stay tied:
//!
//! ```
//! use std::rc::Rc;
//!
//! use treedef::{Object, Tree};
//!
//! type Weight = Object<Rc<f64>>;
//! let tied = Rc::new(2.0);
//! let model: [Weight; 3] = [Object(tied.clone()), Object(Rc::new(5.0)), Object(tied)];
//!
//! let unique = Tree::<Rc<f64>>::of_objects(&model)?.unique_by(Rc::as_ptr);
//! let halved: Vec<Rc<f64>> = unique.leaves.iter().map(|x| Rc::new(**x / 2.0)).collect();
//! let [first, second, third]: [Weight; 3] = unique.rebuild(&halved)?.into_objects()?;
//! assert_eq!((*first.0, *second.0), (1.0, 2.5));
//! assert!(Rc::ptr_eq(&first.0, &third.0));
//! # Ok::<(), treedef::Error>(())
//! ```
//!
//! The gradient of a tied weight is the sum of the gradients at its places: `unique.inverse` has the
//! index of the weight for each place.
//!
//! # Cost
//!
//! Flattening clones each object once and makes one allocation for all of them. Rebuilding moves the
//! objects; only inside `untagged` and `flatten`, where serde reads from a buffer of its own, perhaps
//! twice, are they cloned. Types without objects cost nothing extra, neither at run time nor to build.
//!
//! For 300 pointers in 100 structs, `flatten_objects` takes 17 ns each beyond the clone and
//! `unflatten_objects` 58 ns (`cargo bench -p treedef-benches --bench operations`, two shared cores of
//! an x86-64 server, rustc 1.95).
//!
//! # Errors
//!
//! Each error has the path and says what to write:
//!
//! - [`flatten_objects`](crate::flatten_objects()) fails at an object of another type, and at an object in a
//!   map key, in a static or in an opaque leaf.
//! - [`unflatten_objects`](crate::unflatten_objects()) also fails if the rebuilt type does not read an object.
//! - All other walks, and formats such as JSON, fail at an object, unless it is a number, a `bool`, a `char`
//!   or a `String`: they treat it as that scalar.
//!
//! One loss is not reported. serde tries the variants of an `untagged` enum in turn, and turns a failed
//! `flatten` of an `Option` into `None`. If such an attempt reads an object and then fails, and nothing else
//! reads the object, it is dropped.
