//! How fast, and why: a page to read, without code.
//!
//! # The figures
//!
//! Nanoseconds per leaf, and in brackets the ratio to bincode 2 in the same run. bincode writes the same value into a
//! prepared slice and reads it back, without any structure: near the limit of what a walk by serde can do. Last comes
//! `serde_json::to_value`, or `from_value`, which builds a document of nodes. Medians of three runs of
//! `cargo bench --bench ratios`, each of medians, on two shared cores of an x86-64 server, rustc 1.95.
//!
//! | to | 20 matrices, `f32` | 100,000 particles | 28 numbers | 1,000 structs of 64 fields |
//! |---|---|---|---|---|
//! | [`flatten_like`](crate::TreeDef::flatten_like) | 0.21 (1.1) | 0.94 (2.0) | 1.3 (2.5) | 0.79 (2.3) |
//! | [`flatten_as`](crate::flatten_as) | 0.20 (1.1) | 1.3 (2.5) | 2.7 (5.1) | 0.97 (2.8) |
//! | [`flatten`](crate::flatten()), into [`Leaf`](crate::Leaf)s | 4.1 (22) | 5.0 (9.9) | 4.3 (8.3) | 2.3 (6.5) |
//! | a slice of numbers collected into `Leaf`s | 2.9 (16) | 3.2 (6.0) | 1.2 (2.4) | 1.1 (3.2) |
//! | `to_value` | 13 (70) | 190 (400) | 30 (56) | 140 (400) |
//! | [`unflatten`](crate::unflatten()) from numbers | 1.2 (1.0) | 1.5 (1.2) | 2.0 (1.2) | 0.68 (1.0) |
//! | … from leaves, handed over | 12 (9.5) | 9.8 (8.1) | 9.4 (5.4) | 5.8 (8.8) |
//! | `from_value` | 16 (13) | 40 (32) | 27 (16) | 42 (65) |
//!
//! | to | `HashMap` of 10,000 | 10,000 small maps | 100,000 variants | 100,000 strings | 1 MB of JSON |
//! |---|---|---|---|---|---|
//! | `flatten_like` | 15 | 15 | 10 | 21 | 15 |
//! | `flatten` | 61 | 16 | 88 | 42 | 51 |
//! | `to_value` | 110 | 67 | 280 | 43 | 45 |
//! | `unflatten` from leaves, lent | – | 70 | 34 | 49 | 66 |
//! | … handed over | 47 | 69 | 39 | 26 | 65 |
//! | `from_value` | 46 | 78 | 150 | 30 | 63 |
//!
//! `flatten_like`, `flatten_as` and `unflatten` take nearly the same time per leaf for 10³ leaves as for 10⁶. Everyone runs
//! once before it is timed; what makes a large vector for the first time pays for fresh memory besides, and at 10⁷ leaves
//! always: that is more than the walk. Whether an allocator has it at hand differs from run to run: `flatten` has taken 2.2
//! to 4.9 ns for the matrices, and 48 to 86 for the document.
//!
//! `benches/peers` has a table beside the pytrees of Python.
//!
//! # The ideas
//!
//! *The next one looks like the last.* A walk does not record what it meets, it compares it with what it expects: in
//! `flatten_like` with the known structure, in a sequence of plain data with the element before. Comparing costs a few instructions a leaf, recording some hundred a
//! node. Where an element is different it is recorded, and becomes what is expected of the next; the keys that it has
//! in common with the last, or with another of the newest, are shared. Room for the nodes of the next structure stays
//! with the thread, two megabytes at most.
//!
//! *Equal neighbours are one node.* So the expectation for a million elements is a handful of nodes that stay in the
//! nearest cache.
//!
//! *What cannot vary is compared once.* A struct or tuple of leaves, or of others like it, asks serde for the same every
//! time, so what it asks for is known when it is compiled. Put into one number, exactly, that is a constant in the code of
//! the element: the whole structure of an element comes down to one comparison, and to one of each name. The slots are a
//! window of constant size, so that none of them needs a check. `Option`s are no constants, but go
//! into the same one comparison. All this holds for elements of up to 64 leaves, and when they are rebuilt.
//!
//! *State travels by value.* While comparing, the place in the leaves and the place in the structure are handed from call to
//! call and back, in registers; the leaves are written straight to their slots; and the error has no size. The message is
//! made by a second, slower walk that records and finds the path. An error of no size is also what lets a value that is
//! rebuilt stay in registers on its way to its vector.
//!
//! *A run of scalars needs a serializer that knows only scalars,* and a deserializer that knows only leaves.
//!
//! *What a type cannot need is not compiled for it.* Every serializer and deserializer that a value may meet is compiled once
//! for each type in it, in the build of the user. So there is one deserializer, and those that are fast are compiled only
//! for types that own no memory.
//!
//! *A row is counted once.* An array or a tuple says how many elements it has, mostly a constant; a struct that is rebuilt
//! says how many fields. Where a node has as many leaves, and nothing else, their places need not be checked one by one.
//!
//! *Names are compared by where they stand.* A structure that was recorded borrowed them from the very type that is walked.
//!
//! *Structs are read by position where that is safe:* where serde_derive wrote the visitor, and the fields are exactly those
//! of the structure, in their order. Any other is asked by name.
//!
//! # What costs what
//!
//! - [`Leaf`](crate::Leaf)s take 24 bytes, and a string among them an allocation. A vector of numbers is 1.6 to 20 times
//!   as fast; and a loop by hand that makes the same leaves of the matrices takes 1.9 ns where `flatten` takes 2.2.
//! - Each element that differs from the one before it is recorded, and each variant of an enum differs from the others.
//!   Documents without any regularity are where `serde_json::to_value` is ahead.
//! - A map whose entries come in random order is sorted. `flatten_like` remembers the order in which they came, and is
//!   fast as long as it is the same map; else each entry is looked up.
//! - Rules, `leaves_where` and `none_is_leaf` take the recording walk, without expectations, in `flatten_like` too.
//! - A structure that was parsed has names of its own, so that they are compared letter by letter: about twice the time.
//! - An element that was expected to look like the last, and does not, is serialized twice:
//!   [`Flattener::serialize_once`](crate::Flattener::serialize_once) prevents that. Plain data that asks for
//!   something else than the structure has, or refuses what it gets, is read twice, from leaves that stay.
//! - An `Option` or a sequence of numbers inside an element makes it one that can vary: about twice the time of one that
//!   cannot, where all are alike. An enum, another sequence, a map or a static: two to three times.
//!
//! # Which call when
//!
//! | you | take |
//! |---|---|
//! | flatten values of one structure over and over | [`TreeDef::flatten_like`](crate::TreeDef::flatten_like), with a buffer that stays |
//! | have leaves of one kind | [`flatten_as`](crate::flatten_as), [`map_only`](crate::map_only) |
//! | have leaves of several kinds | [`flatten`](crate::flatten()) |
//! | rebuild from numbers that you keep | [`unflatten`](crate::unflatten()) from a slice |
//! | rebuild from strings that you do not keep | [`unflatten`](crate::unflatten()) from the vector itself, which moves them |
//! | only look at strings | [`unflatten_borrowed`](crate::unflatten_borrowed) |
//! | only want the structure | [`structure`](crate::structure), which stores no leaves |
