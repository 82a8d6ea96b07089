//! By task: the crate that you need, the feature to turn on, and the first line of code.
//!
//! # Your own values
//!
//! | to | crate | begin with |
//! |---|---|---|
//! | hand its numbers as one vector to a solver, a C library or a GPU, and get it back | `treedef` | [`flatten_as::<f64>(&value)?`](crate::flatten_as), [`unflatten(&treedef, leaves)?`](crate::unflatten()) |
//! | … with bounds, fixed and tied parameters, and the errors of a fit: [fitting](super::fitting) | `treedef-optim` | `treedef_optim::Parameters::new(&model)?` |
//! | … over and over, without an allocation | `treedef`; `in_place` | [`treedef.flatten_like(&value, &mut leaves)?`](crate::TreeDef::flatten_like), `unflatten_into` |
//! | change the parts that a pattern names | `treedef` | [`Tree::of(&value)?.select_mut("**.w")?`](crate::Tree::select_mut) |
//! | train it with dual numbers, or with your own gradient | `treedef-optim`; `num-dual` | `treedef_optim::dual::value_and_grad(loss, &model)?` |
//! | save it with its structure: [files](super::files) | `treedef` | [`Tree::of(&value)?.save(path)?`](crate::Tree::save) |
//! | … and read it into a type that has changed | `treedef`; `migrate` | [`Tree::load(path)?.migrate::<Model>()?`](crate::Tree::migrate) |
//! | see what changed between two configurations, and apply it elsewhere | `treedef`; `diff` | [`Tree::of(&old)?.diff(&Tree::of(&new)?)`](crate::Tree::diff) |
//! | cache results by the structure of the input: [an example](super::cookbook::cache_key) | `treedef` | [`structure(&value)?.fingerprint()`](crate::TreeDef::fingerprint) |
//! | notice in a test that a structure has changed | `treedef`; `insta` | `treedef::assert_structure_snapshot!(value)` |
//! | edit a document whose type is not known, such as JSON | `treedef` | [from `serde_json`](super::coming_from::serde_json) |
//! | flatten a value that nests a million levels deep | `treedef`; `stacker` | [`max_depth: 1_000_000`](crate::Limits::max_depth) for [`Flattener::limits`](crate::Flattener::limits) |
//!
//! # Tensors and models
//!
//! | you have | crate | begin with |
//! |---|---|---|
//! | a model of candle to train | `treedef-candle` | `treedef_candle::value_and_grad(loss, &model)?` |
//! | … to save with the state of its training, and to load | `treedef-candle` | `treedef_candle::load(path, &device)?` |
//! | … to fine-tune with low-rank adapters (LoRA) | `treedef-candle` | `treedef_candle::lora::lora(&model, …)?` |
//! | tensors of another framework: [objects](super::objects) | `treedef` | [`flatten_objects::<Tensor>(&model)?`](crate::flatten_objects()) |
//! | a model of burn | `treedef-tensors` | [from burn](super::coming_from::burn) |
//! | arrays of `ndarray`, nalgebra or glam: [arrays](super::arrays) | `treedef` | [`Flattener::new().arrays(true)`](crate::Flattener::arrays) |
//! | files of PyTorch | `treedef-tensors` | `treedef_tensors::pytorch::open(path)?` |
//! | safetensors, one file or shards | `treedef-tensors` | `treedef_tensors::safetensors::open(path)?` |
//! | npz, npy or flax | `treedef-tensors` | `treedef_tensors::npz::from_bytes(&bytes)?.load()?` |
//! | the names, types and shapes in a GGUF file | `treedef-tensors` | `treedef_tensors::gguf::open(path)?` |
//! | tensors whose names differ from your fields | `treedef-tensors` | `treedef_tensors::Loader::new().rename("h.*.w", "*.weight")` |
//!
//! # Other processes
//!
//! | you have | crate | begin with |
//! |---|---|---|
//! | a function that Python calls, with dicts, dataclasses and arrays | `treedef-python` | `treedef_python::from_python(object)?` |
//! | … or any pytree, as one vector of its numbers | `treedef-python` | `treedef_python::flat_from_python::<f64>(tree, Rules::Jax)?` |
//! | structures of JAX, PyTorch, optree or orbax | `treedef-pytrees` | `treedef_pytrees::jax::proto(&treedef, &Lowering::new())?` |
//! | an MPI job that sums gradients or other values | `treedef-mpi` | `treedef_mpi::Collective::new(&world, &value)?` |
//! | … or trains a model of candle | `treedef-candle`; `mpi` | `treedef_candle::mpi::AllReduce::new(&world, &model)?` |
//! | a million JSON documents whose structure you do not know | `treedef-structures` | `treedef_structures::Structures::new()` |
//! | files, and no Rust | `treedef-cli` | `treedef show file`, `treedef diff old new` |
//!
//! # If two crates fit
//!
//! - `treedef-candle` re-exports `treedef-optim` and `treedef-tensors` as `optim` and `tensors`, so
//!   a program with candle needs only this crate. If it reads npz, flax's files or GGUF, or uses dual numbers, name
//!   `treedef-tensors` or `treedef-optim` beside it, with its features.
//! - For a file that only your program reads, use [`Tree::save`](crate::Tree::save), which stores every
//!   value with its structure. For a file that other programs read, use `treedef-tensors`.
//! - `treedef-structures` counts structures inside of your program; the command `treedef shapes` counts
//!   them in files.
//! - `treedef-python` converts values from and to Python in one process. Between processes, use files or the
//!   bytes of `treedef-tensors`.
