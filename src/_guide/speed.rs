//! How fast treedef is, and why: a page without code.
//!
//! # The figures
//!
//! Nanoseconds per leaf, and in brackets the ratio to bincode 2 in the same run. bincode writes the
//! same value into a prepared slice and reads it back, without any structure. That is near the
//! limit of what a walk through serde can do. The last row is `serde_json::to_value` or
//! `from_value`, which builds a document of nodes. The figures are medians of
//! `cargo bench --bench ratios`, on two shared cores of an x86-64 server, rustc 1.95.
//!
//! | to | 20 matrices, `f32` | 100,000 particles | 28 numbers | 1,000 structs of 64 fields |
//! |---|---|---|---|---|
//! | [`flatten_like`](crate::TreeDef::flatten_like) | 0.7 (5) | 1.3 (3.3) | 5.9 (10) | 1.0 (2.7) |
//! | [`flatten_as`](crate::flatten_as) | 1.2 (8) | 1.8 (4.6) | 38 (45) | 1.5 (4.1) |
//! | [`flatten`](crate::flatten()), into [`Leaf`](crate::Leaf)s | 2.7 (19) | 2.9 (7.5) | 41 (48) | 2.3 (6.3) |
//! | a slice of numbers collected into `Leaf`s | 1.2 (9) | 1.4 (3.7) | 1.6 (2.7) | 0.9 (2.5) |
//! | `to_value` | 14 | 190 | 29 | 130 |
//! | [`unflatten`](crate::unflatten()) from numbers | 2.2 (1.8) | 1.3 (1.3) | 19 (10) | 0.9 (1.3) |
//! | … from leaves, moved | 19 (16) | 7.4 (7.3) | 28 (15) | 4.2 (6.0) |
//! | `from_value` | 15 | 40 | 27 | 50 |
//!
//! | to | `HashMap` of 10,000 | 10,000 small maps | 100,000 variants | 100,000 strings | 1 MB of JSON |
//! |---|---|---|---|---|---|
//! | `flatten_like` | 29 | 44 | 20 | 28 | 24 |
//! | `flatten` | 100 | 53 | 90 | 54 | 49 |
//! | `to_value` | 120 | 77–95 | 330 | 42 | 44 |
//! | `unflatten` from leaves, borrowed | – | 97 | 83 | 60 | 84 |
//! | … moved | 75 | 100 | 85 | 42 | 84 |
//! | `from_value` | 51 | 90 | 180 | 29 | 66 |
//!
//! `flatten_like`, `flatten_as` and `unflatten` take nearly the same time per leaf for 10³ leaves
//! as for 10⁶. Every function runs once before it is timed. A call that allocates a large vector
//! for the first time also pays for fresh memory, and at 10⁷ leaves every call does: that costs
//! more than the walk. Whether the allocator has memory ready differs from run to run. For example,
//! `flatten` has taken 2.2 to 4.9 ns for the matrices, and 48 to 86 for the document.
//!
//! `benches/peers` has a table that compares with the pytree libraries of Python.
//!
//! # What a type costs to build
//!
//! One program flattens and rebuilds one value; another does the same with `to_value` and
//! `from_value` of `serde_json`. The times are CPU time for compiling and linking the program
//! alone, the least of three. `benches/build/measure` builds them, and more formats and types, one
//! after another, on two shared cores, rustc 1.95.
//!
//! | | base | `serde_json` | treedef | ratio | text, kB |
//! |---|---|---|---|---|---|
//! | dev: five structs | 0.28 s | 0.35 s | 0.46 s | 1.3 | 836, 1,791 |
//! | … `cargo_metadata::Metadata` | 0.17 s | 0.44 s | 0.52 s | 1.2 | 1,560, 2,568 |
//! | … `openapiv3::OpenAPI` | 1.2 s | 1.4 s | 1.9 s | 1.4 | 2,867, 4,823 |
//! | … a Kubernetes `Pod` | 1.4 s | 2.7 s | 2.7 s | 1.0 | 4,287, 5,530 |
//! | … sixty structs and enums | 2.9 s | 4.1 s | 4.1 s | 1.0 | 4,699, 5,546 |
//! | release: five structs | 1.1 s | 2.1 s | 2.1 s | 1.0 | 537, 863 |
//! | … `cargo_metadata::Metadata` | 3.6 s | 7.6 s | 6.1 s | 0.8 | 904, 1,228 |
//! | … `openapiv3::OpenAPI` | 16 s | 20 s | 25 s | 1.3 | 1,788, 2,467 |
//! | … a Kubernetes `Pod` | 12 s | 21 s | 24 s | 1.1 | 2,386, 2,638 |
//! | … sixty structs and enums | 22 s | 30 s | 32 s | 1.1 | 2,442, 2,587 |
//!
//! `OpenAPI` reads its schemas with `serde_json` itself, so with `serde_json` a part of the program
//! is shared.
//!
//! Another call on the same type costs little: `structure`, `signature`, `flatten_as`, `map`,
//! borrowed and strict add nothing to the time that can be measured, and up to 7 % to the text.
//! `flatten_like` has a serializer of its own: 11 % more of both. For `Metadata` the compiler makes
//! 83,000 lines of LLVM IR, 1.2 times as many as with `serde_json`, and 100,000 with
//! `flatten_like`. CI counts these lines. The remaining cost above `serde_json` is for sequences:
//! every element type is compiled for the serializer of plain data too. An element is passed by
//! reference, and at compile time we cannot tell whether the referenced type owns memory.
//!
//! # The ideas
//!
//! *Compare instead of record.* Recording a node takes some hundred instructions, comparing it with
//! the expected node takes a few. In `flatten_like` the structure is given. The leaves are written
//! straight to their slots. At the first difference this walk stops, and the value is recorded.
//! `flatten` does not compare a value with the last one of its type, because then the comparing
//! serializer would be compiled for every type that is flattened. So for 28 numbers `flatten_like`
//! is about seven times as fast as `flatten`.
//!
//! *Take plain data in rows.* Plain data owns no memory: numbers, and structs, tuples and options
//! of numbers. An element is expected to look like the previous one. Lone numbers are taken by a
//! loop that copies. An element with a fixed layout makes the same serde calls each time. So the
//! calls of one element are stored, and each call of the next element is compared with one stored
//! call, by code that is specific to the type. This holds for elements of up to 64 leaves, and also
//! when they are rebuilt.
//!
//! *Store equal neighbours as one node.* So the expected structure of a million elements is a
//! handful of nodes that stay in the fastest cache.
//!
//! *Record into memory that is there.* A thread keeps the memory of its last recording. So what
//! `flatten` allocates is its result, and little else.
//!
//! *Pass state by value.* During a comparison, the position in the leaves and the position in the
//! structure are passed from call to call and back, in registers, and the error type has no size.
//! The recording walk makes the message. An error without size also lets a rebuilt value stay in
//! registers on its way to its vector.
//!
//! *Do not compile what a type cannot need.* Every serializer and deserializer that a value may
//! meet is compiled once for each type in it, in the build of the user. So there are only three:
//! one serializer that records, one that compares, and one deserializer, for leaves of any type.
//! They contain only what depends on the type; everything else is compiled once, in this crate. The
//! serializers and deserializers for plain data are compiled only for types that own no memory.
//! serde_derive lets a struct be read from a map and from a sequence. The deserializer needs only
//! the first: it reads a sequence as a map from the names of the fields to the elements.
//!
//! *Compare names by address first.* A recorded structure borrowed its names from the same type
//! that is walked, so the addresses are usually equal.
//!
//! *Read structs by position where that is safe:* where serde_derive wrote the visitor, and the
//! fields are exactly those of the structure, in the same order.
//!
//! *Know fields by their numbers.* Where serde_derive gives the same field for a name and for its
//! number, the number is handed out, and no name is compared. A thread finds that out once for each
//! struct type. All other structs are read by name.
//!
//! *Keep the place on the stack.* Rebuilding is one walk in pre-order. Each compound that is being
//! read keeps the place of its next child, in seven words. So nothing is put back after a child, and
//! the path of an error is made only when there is one.
//!
//! # What costs what
//!
//! - A [`Leaf`](crate::Leaf) takes 24 bytes, and a string leaf an allocation. A vector of numbers
//!   is 1.6 to 20 times as fast. A hand-written loop that makes the same leaves of the matrices
//!   takes 1.2 ns where `flatten` takes 2.7.
//! - An element that is not plain data is recorded: one that contains a string, an enum, a map, a
//!   sequence or a static.
//! - A map whose entries arrive in random order is sorted. `flatten_like` remembers the insertion
//!   order, and is fast as long as it gets the same map. Otherwise each entry is looked up.
//! - Rules, `leaves_where` and `none_is_leaf` use the recording walk, without predictions, in
//!   `flatten_like` too.
//! - A parsed structure owns its names, so names are compared letter by letter: about twice the
//!   time.
//! - If an element was expected to look like the previous one but differs, it is serialized twice.
//!   [`Flattener::serialize_once`](crate::Flattener::serialize_once) prevents that. If a plain type
//!   does not fit the structure, it is read a second time, by the general path.
//!
//! # Which call when
//!
//! | you | use |
//! |---|---|
//! | flatten values of one structure over and over | [`TreeDef::flatten_like`](crate::TreeDef::flatten_like), with a buffer that you reuse |
//! | have leaves of one kind | [`flatten_as`](crate::flatten_as), [`map_as`](crate::map_as) |
//! | have leaves of several kinds | [`flatten`](crate::flatten()) |
//! | rebuild from numbers that you keep | [`unflatten`](crate::unflatten()) from a slice |
//! | rebuild from strings that you do not keep | [`unflatten`](crate::unflatten()) from the vector itself, which moves them |
//! | only look at strings | [`unflatten_borrowed`](crate::unflatten_borrowed) |
//! | only want the structure | [`structure`](crate::structure), which stores no leaves |
