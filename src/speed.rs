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
//! | [`flatten_like`](crate::TreeDef::flatten_like) | 0.16 (1.2) | 0.75 (1.8) | 3.1 (4.0) | 0.70 (1.9) |
//! | [`flatten_as`](crate::flatten_as) | 0.58 (4.2) | 1.0 (2.5) | 77 (100) | 0.93 (2.4) |
//! | [`flatten`](crate::flatten()), into [`Leaf`](crate::Leaf)s | 2.5 (18) | 3.4 (7.9) | 100 (140) | 3.7 (9.1) |
//! | a slice of numbers collected into `Leaf`s | 1.6 (12) | 1.7 (3.8) | 1.3 (2.1) | 0.96 (2.5) |
//! | `to_value` | 12 | 160 | 31 | 150 |
//! | [`unflatten`](crate::unflatten()) from numbers | 2.4 (1.8) | 1.3 (1.6) | 25 (11) | 0.99 (1.3) |
//! | … from leaves, handed over | 22 (17) | 7.0 (8.3) | 37 (15) | 7.5 (10) |
//! | `from_value` | 19 | 41 | 31 | 72 |
//!
//! | to | `HashMap` of 10,000 | 10,000 small maps | 100,000 variants | 100,000 strings | 1 MB of JSON |
//! |---|---|---|---|---|---|
//! | `flatten_like` | 22 | 19 | 11 | 23 | 19 |
//! | `flatten` | 140 | 59 | 220 | 43 | 64 |
//! | `to_value` | 140 | 220 | 560 | 44 | 57 |
//! | `unflatten` from leaves, lent | – | 100 | 91 | 63 | 86 |
//! | … handed over | 79 | 100 | 93 | 54 | 89 |
//! | `from_value` | 51 | 88 | 190 | 40 | 68 |
//!
//! `flatten_like`, `flatten_as` and `unflatten` take nearly the same time per leaf for 10³ leaves as for 10⁶. Everyone runs
//! once before it is timed; what makes a large vector for the first time pays for fresh memory besides, and at 10⁷ leaves
//! always: that is more than the walk. Whether an allocator has it at hand differs from run to run: `flatten` has taken 2.2
//! to 4.9 ns for the matrices, and 48 to 86 for the document.
//!
//! `benches/peers` has a table beside the pytrees of Python.
//!
//! # What a type costs to build
//!
//! A dev build of a program that flattens and rebuilds one value, and of the same with `to_value` and `from_value`: CPU time
//! of the program alone, and text. `benches/build/measure` builds them.
//!
//! | | `serde_json` | treedef |
//! |---|---|---|
//! | five structs | 0.54 s, 836 kB | 0.93 s, 1,817 kB |
//! | `cargo_metadata::Metadata` | 0.58 s, 1,560 kB | 1.3 s, 2,970 kB |
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
