//! How fast treedef is, and why: a page without code.
//!
//! # The figures
//!
//! Nanoseconds per leaf, and in brackets the ratio to bincode 2 in the same run. bincode writes the
//! same value into a prepared slice and reads it back, without any structure. Hardly any walk through
//! serde can be faster. For comparison, `serde_json::to_value` builds a document of
//! nodes, and `from_value` reads one. The figures are medians of three runs of
//! `cargo bench -p treedef-benches --bench ratios` on 2026-11-27, on two shared cores of an x86-64
//! server, rustc 1.95.
//!
//! | to | 20 matrices, `f32` | 100,000 particles | 27 numbers | 28 numbers | 1,000 structs of 64 fields |
//! |---|---|---|---|---|---|
//! | [`flatten_like`](crate::TreeDef::flatten_like) | 1.2 (3.9) | 1.4 (2.2) | 6.1 (5.7) | 3.4 (7.2) | 1.0 (4.1) |
//! | [`flatten_as`](crate::flatten_as) | 1.3 (4.2) | 1.9 (3.0) | 9.4 (8.7) | 6.5 (13) | 1.2 (4.9) |
//! | [`flatten`](crate::flatten()), into [`Leaf`](crate::Leaf)s | 4.7 (15) | 7.4 (12) | 10 (9.4) | 7.0 (15) | 2.5 (10) |
//! | numbers collected into `Leaf`s | 2.3 (7.5) | 3.0 (4.8) | 1.1 (1.0) | 1.0 (2.1) | 1.1 (4.5) |
//! | `to_value` | 13 | 120 | 28 | 25 | 88 |
//! | [`unflatten`](crate::unflatten()) from numbers | 1.6 (1.2) | 2.3 (1.3) | 17 (2.3) | 10 (8.0) | 0.8 (1.4) |
//! | … from leaves, moved | 9.2 (6.7) | 9.1 (5.4) | 20 (2.7) | 13 (10) | 5.3 (10) |
//! | `from_value` | 15 | 52 | 46 | 25 | 39 |
//!
//! | to | `HashMap` of 10,000 | 10,000 small maps | 100,000 variants | 100,000 strings | 1 MB of JSON |
//! |---|---|---|---|---|---|
//! | `flatten_like` | 8.0 | 16 | 16 | 27 | 20 |
//! | `flatten` | 61 | 17 | 59 | **38** | **50** |
//! | `to_value` | 98 | 60 | 250 | 36 | 42 |
//! | `unflatten` from leaves, borrowed | – | 52 | 49 | **43** | **61** |
//! | … moved | 37 | **54** | 52 | **26** | **63** |
//! | `from_value` | 47 | 54 | 180 | 24 | 53 |
//!
//! Figures are bold where `serde_json` is at least as fast. treedef then takes up to 9 percent longer, with two
//! exceptions. Strings that are copied out of borrowed leaves take 80 percent longer: `from_value` moves them. A document
//! takes a fifth longer in both directions: treedef looks up each key and makes nodes. The 27 numbers are in fourteen
//! structs and vectors, the 28 in ten.
//!
//! `flatten_like`, `flatten_as` and `unflatten` take nearly the same time per leaf for 10³ leaves
//! as for 10⁶. Every function runs once before it is timed. A call that allocates a large vector
//! for the first time also pays for fresh memory, and at 10⁷ leaves every call does: that costs
//! more than the walk. Whether the allocator has memory ready differs from machine to machine: on
//! another one, `flatten` has taken 2.0 to 4.9 ns for the particles, and 44 to 57 for the document.
//!
//! The next tables have instructions per leaf, for a layer, 1,000 particles, 100 wide structs, and parts of the other
//! values: `cargo bench -p treedef-benches --bench instructions`. Instructions do not depend on other load of the machine,
//! and CI fails if a count changes by more than 3 %. «From leaves» includes a clone of the leaves.
//!
//! | to | matrix, `f32` | particles | 27 numbers | 28 numbers | structs of 64 fields |
//! |---|---|---|---|---|---|
//! | `flatten_like` | 8 | 15 | 109 | 62 | 17 |
//! | `flatten_as` | 8 | 15 | 128 | 80 | 17 |
//! | `flatten` | 15 | 24 | 139 | 89 | 26 |
//! | `unflatten` from `f64` | 28 | 10 | 204 | 112 | 7 |
//! | … from `f32` | 17 | 55 | – | – | – |
//! | … from leaves | 96 | 75 | 287 | 193 | 70 |
//!
//! | to | `HashMap` | small maps | variants | strings | JSON |
//! |---|---|---|---|---|---|
//! | `flatten_like` | 112 | 256 | 119 | 263 | 132 |
//! | `flatten` | 508 | 266 | 385 | 431 | 395 |
//! | `unflatten` from leaves | 407 | 813 | 316 | 509 | 509 |
//!
//! A vector of 100,000 numbers:
//!
//! | to | `f64` | `f32` | `f32` as `f64` | `i64` | `u8` |
//! |---|---|---|---|---|---|
//! | `flatten_as` | 2.9 | 2.2 | 4.5 | 3.9 | 3.6 |
//! | `flatten`: 6 of these instructions drop the leaves | 13 | 12 | – | 13 | 33 |
//! | `flatten_as`, element by element | 18 | | | | |
//!
//! Rebuilding takes 13 to 14 instructions per leaf from floats of the same width, and 41 (`i64`) or 49 (vectors of 100
//! `i32`) for integers. For a vector of 10⁷ `f64`, `flatten_as` takes 17.1 ns per leaf, `clone` 17.7, and `flatten_like`
//! 5.9, as its buffer is allocated already (`ratios -- long`, 2026-11-29, Intel Xeon). If the buffer of `flatten_like` is a
//! slice, the numbers are copied once more.
//!
//! Vectors of 64 numbers take 11 instructions per leaf, and vectors of 8 take 38. Other containers of 100,000 `f64`, counted
//! on 2026-11-29 by a program outside of this repository, where a `Vec` took 3.2, 13 and 16:
//!
//! | | `flatten_as` | `flatten` | `unflatten` from `f64` |
//! |---|---|---|---|
//! | slice, set, deque; `DVector` and `DMatrix` of `nalgebra` 0.33 | 3.2 | 13 | 16 |
//! | `[f64; 16]`, in a `Vec` | 6.8 | | 21 |
//! | `nalgebra::Matrix4`, in a `Vec` | 14 | | 21 |
//! | `faer::Mat` 0.22 | 22 | 27 | 29 |
//! | `ndarray` 0.16, one and two dimensions | 25 | 36 | 16 |
//!
//! The first row passes all elements to serde at once (`collect_seq`), and the others pass them one by one. For `ndarray`
//! and `faer`, which also serialize sizes, `flatten_as` is the function of a [`Flattener`](crate::Flattener) with
//! [`leaves_where`](crate::Flattener::leaves_where). `serde_json::to_value` takes 63 to 73. Bytes through `serde_bytes` are
//! one leaf.
//!
//! `benches/peers` has a table of 2026-11-24 that compares with the pytree libraries of Python.
//!
//! # Where elements vary
//!
//! Elements with different structures cost more than elements with equal ones, because each run of equal elements needs
//! a node of its own. This table compares with `serde_json::Value`, too, for lists of 5,000 elements or of 1,000 maps, in
//! nanoseconds per leaf, or per element of a list without leaves. It is of 2026-11-29, from
//! `cargo bench -p treedef-benches --bench ratios -- shapes` on two shared cores (Intel Xeon, a virtual machine): each figure
//! is the least of four runs, and × is the quotient of two. It is bold where `serde_json` is faster. `flatten` makes
//! [`Leaf`](crate::Leaf)s, and `unflatten` gets leaves that it may move.
//!
//! | list of | `flatten` | `to_value` | × | `unflatten` | `from_value` | × |
//! |---|---|---|---|---|---|---|
//! | `Option<f64>`, each third `None` | 17 | 8.6 | **2.05** | 18 | 8.6 | **2.11** |
//! | … at random | 17 | 8.7 | **1.97** | 17 | 8.8 | **1.91** |
//! | `Option<Option<f64>>` | 30 | 8.5 | **3.55** | 22 | 8.1 | **2.72** |
//! | `Option` of a struct of three | 11 | 119 | 0.10 | 24 | 46 | 0.53 |
//! | `Option<String>` | 51 | 27 | **1.92** | 27 | 17 | **1.61** |
//! | `Option` of an enum | 66 | 98 | 0.68 | 57 | 90 | 0.63 |
//! | `(Option<f64>, f64, Option<f32>)` | 30 | 26 | **1.15** | 35 | 21 | **1.63** |
//! | structs that skip fields | 47 | 79 | 0.60 | 32 | 59 | 0.54 |
//! | unit variants | 40 | 34 | **1.20** | 41 | 28 | **1.48** |
//! | `(Unit, f64)` | 45 | 75 | 0.60 | 70 | 63 | **1.12** |
//! | enums | 45 | 97 | 0.46 | 44 | 90 | 0.49 |
//! | numbers, texts and lists | 53 | 36 | **1.48** | 157 | 170 | 0.92 |
//! | `bool` | 1.1 | 8.3 | 0.13 | 4.9 | 6.1 | 0.80 |
//! | `u8` | 7.4 | 8.3 | 0.89 | 5.0 | 7.9 | 0.63 |
//! | `u128` | 3.5 | 8.4 | 0.41 | 5.0 | 7.3 | 0.69 |
//! | `struct N(f64)` | 2.2 | 8.6 | 0.25 | 6.6 | 9.2 | 0.72 |
//! | `Box<f64>` | 1.6 | 8.8 | 0.19 | 28 | 27 | **1.04** |
//! | `Cow<str>` | 34 | 34 | **1.02** | 23 | 20 | **1.16** |
//! | `Vec<f64>` of 0 to 10 | 17 | 17 | 0.99 | 16 | 23 | 0.70 |
//! | `Vec<Vec<f64>>` of 0 to 3 | 83 | 56 | **1.48** | 62 | 70 | 0.89 |
//! | `BTreeSet<u32>` | 8.0 | 8.7 | 0.92 | 66 | 65 | **1.02** |
//! | `VecDeque<f64>` | 1.8 | 8.7 | 0.21 | 5.7 | 9.0 | 0.64 |
//! | maps, each in its order | 90 | 72 | **1.25** | 83 | 79 | **1.05** |
//! | maps with other keys | 215 | 74 | **2.89** | 73 | 79 | 0.92 |
//! | maps by number | 19 | 61 | 0.31 | 40 | 53 | 0.76 |
//! | maps by unit | 51 | 69 | 0.74 | 79 | 83 | 0.95 |
//! | maps in a map | 86 | 86 | **1.01** | 92 | 99 | 0.93 |
//! | options of maps | 65 | 60 | **1.08** | 68 | 76 | 0.90 |
//! | flattened maps | 21 | 66 | 0.32 | 74 | 83 | 0.89 |
//! | documents | 45 | 38 | **1.19** | 61 | 54 | **1.13** |
//!
//! Lists of 40 types that were drawn at random (`-- generated`, 2026-11-29, one run): `flatten` takes less time than
//! `to_value` for 22, and `unflatten` less than `from_value` for 31. The longest for `flatten` are `Option<One<Option<i64>>>`
//! (3.6 ×), `[Option<One<Unit>>; 3]` and `[Box<Option<u8>>; 3]` (2.7 ×), and `Option<Vec<Option<i64>>>` (2.6 ×): options
//! inside of other options, newtypes and boxes. `One` is a newtype, and `Unit` has three unit variants.
//!
//! `to_value` does not support pairs as keys. A map with 300 pairs as keys costs 1,518 instructions per leaf with `flatten`,
//! and 856 with `flatten_like`.
//!
//! # Build time of a type
//!
//! One program flattens and rebuilds one value; another does the same with `to_value` and
//! `from_value` of `serde_json`. The times are CPU time for compiling and linking the program
//! alone, the least of three. `benches/build/measure` builds them, and more formats and types, one
//! after another, on two shared cores, rustc 1.95.
//!
//! | | base | `serde_json` | treedef | ratio | text, kB |
//! |---|---|---|---|---|---|
//! | dev: five structs | 0.31 s | 0.42 s | 0.50 s | 1.2 | 836, 2,083 |
//! | … `cargo_metadata::Metadata` | 0.18 s | 0.45 s | 0.54 s | 1.2 | 1,560, 2,864 |
//! | release: five structs | 0.93 s | 1.75 s | 2.17 s | 1.2 | 537, 999 |
//! | … `cargo_metadata::Metadata` | 3.5 s | 5.6 s | 6.5 s | 1.2 | 904, 1,397 |
//!
//! The rows are of 2026-11-25.
//!
//! Calling another function on the same type costs little: `structure`, `signature`, `flatten_as`, `map`,
//! `unflatten_borrowed` and `unflatten_strict` add no measurable build time, and up to 7 % of machine code (`.text`).
//! `flatten_like` is the same serializer: it adds 2.2 % to the lines of LLVM IR. For `Metadata` the
//! compiler makes 77,900 of these lines, 1.1 times as many as with `serde_json`. CI counts them. The
//! remaining cost above `serde_json` is for sequences: every element type is compiled for the
//! serializer of plain data too. An element is passed by reference, and at compile time we cannot
//! tell whether the referenced type owns memory.
//!
//! # Build time of the library
//!
//! The CPU time to build an empty program with each library and its dependencies from scratch,
//! and in brackets the number of crates. `benches/build/measure clean`, 2026-11-28, two busy
//! cores, which take some 15 % longer than free ones, rustc 1.95.
//!
//! | | serde with derive | … and `serde_json` | … and treedef without features | … and treedef |
//! |---|---|---|---|---|
//! | dev | 8.5 s (7) | 10.6 s (11) | 15.8 s (12) | 18.9 s (17) |
//! | release | 8.7 s (7) | 13.1 s (11) | 34.2 s (12) | 40.0 s (17) |
//!
//! Beside serde, treedef adds 31 s in release and 10 s in dev; `serde_json` adds 4.4 s and 2.1 s. The library itself takes
//! some 27 s of the 31, `bincode` and `thiserror` 2.2, `hashbrown` 0.9, `crc32fast` 0.5 and `hmac-sha256` 0.2.
//!
//! # The ideas
//!
//! *Follow instead of record.* A walk writes one word for each serde call, except for scalars, which are only
//! counted. At the end it makes nodes from the words. Before it begins, it has a list of expected words: the words of the last structure
//! of the thread, or of the treedef of `flatten_like`. The list outlives the walk. While the
//! value makes the same calls, each call is compared with a word, and nothing is written. If all calls
//! are as expected, the structure is known, too. So the third call of `flatten` on values with equal
//! structures allocates the leaves and nothing else. At the first difference, the words so far are
//! copied, and recording begins. A thread remembers up to eight structures that occurred twice, or once in `flatten_like`, with
//! up to 1,024 words and 64 different keys and statics (64 KiB of text) each. The words of a larger
//! structure are stored in its treedef by the first `flatten_like`, followed from the second on, and freed with it.
//! Including the buffers for its next walk, a thread keeps at most 4.5 MiB until it ends.
//!
//! *Take numbers in chunks.* After the first number of a sequence, the walk uses a serializer that accepts only numbers.
//! For a `Vec<f64>` the compiler removes the path of its error. So the loop has
//! no branch, and copies several numbers at a time into a chunk of 512. Each full chunk is appended to the leaves at once,
//! and is tested for NaNs as a whole.
//!
//! *Take plain data in rows.* Plain data owns no memory: numbers, and structs, tuples and options
//! of numbers, and also unit variants. An element is expected to make the same calls as a previous one, whose words are
//! in the script or the record. So each of its calls is compared with one word, by code that is specific to the type. If an option or a
//! variant differs, the call is compared with the word of another recorded form that begins in the same way. The numbers
//! are collected as bits, and are converted together, in one loop for each kind. This applies to elements of up to 64
//! leaves. It also applies when they are rebuilt: floats from floats of any width, and integers from integers of any
//! width, if they fit.
//!
//! *Store equal neighbours as one node.* So the expected structure of a million elements is a
//! handful of nodes that stay in the fastest cache.
//!
//! *Record into memory that is there.* A thread keeps the memory of its last recording. So what
//! `flatten` allocates is its result, and little else. If an element of a sequence makes the same calls
//! as one of the last 32 different elements, it is recorded as one word. The nodes of a long sequence
//! are made while it is walked, so that its words are never all in memory at once.
//!
//! *Pass state by value.* The position in the script is passed from call to call and back, in a
//! register. Serializing a leaf leaves the position unchanged. So if the position is unchanged after an
//! element, the element was a leaf. The path of an error is made on the way out, and only when there is an error.
//!
//! *Do not compile what a type cannot need.* Every serializer and deserializer is compiled in the build
//! of the user, once for each type in a value. So there is one general serializer and one general
//! deserializer, for leaves of any type. They contain only the code that depends on the type;
//! everything else is compiled once, in this crate. A second pair, for plain data, is compiled only for
//! types that own no memory, which includes references to any type. serde_derive lets a struct be read
//! from a map and from a sequence. The deserializer always passes a map: a sequence becomes a map
//! from the names of the fields to the elements.
//!
//! *Compare names by address first.* A recorded structure borrowed its names from the same type
//! that is walked, so the addresses are usually equal.
//!
//! *Read structs of plain data by position,* if the type has exactly the fields of the
//! structure, in the same order. All other structs are read by name. If a visitor rejects a sequence,
//! its struct is read by name, too.
//!
//! *Keep the place on the stack.* Rebuilding is one walk in pre-order. Each compound that is being
//! read keeps the place of its next child, in seven words. So nothing is put back after a child, and
//! the path of an error is made only when there is one.
//!
//! # Cases that cost more
//!
//! - A [`Leaf`](crate::Leaf) takes 24 bytes, and a string leaf an allocation. A vector of numbers
//!   is 2 to 9 times as fast for thousands of leaves, and hardly faster for 28. A hand-written loop that makes the same leaves of the matrices
//!   takes 2.3 ns where `flatten` takes 4.7.
//! - Elements that contain a string, a variant with fields, a map, a sequence or a static are not plain data, and
//!   are not read in rows. Their calls are compared one by one.
//! - A map whose entries arrive in random order is sorted, and so are its leaves: a quarter of the
//!   instructions for a map of 1,000 triples. `flatten_like` is fast as long as the map is the same.
//! - Elements with different structures have nodes of their own. A list of a million enums, alternately `Empty` and
//!   `Circle(f64)`, takes 97 MB as leaves and treedef, and 131 MB while it is flattened.
//! - Rules by type or path apply to the finished tree: all leaves are put into a vector first. If `flatten_like` meets the
//!   same small structure again, it does what the rules did the last time on this thread: it compares the statics, and
//!   allocates only their texts and bytes. `leaves_where` applies during the walk.
//! - A parsed structure owns its names, so names are compared letter by letter: up to a seventh more instructions.
//! - If an element was expected to look like the previous one but differs, it is serialized twice.
//!   [`Flattener::serialize_once`](crate::Flattener::serialize_once) prevents that. If a plain type
//!   does not fit the structure, it is read a second time, by the general path.
//!
//! # Which call when
//!
//! | you | use |
//! |---|---|
//! | flatten values of one structure over and over | [`TreeDef::flatten_like`](crate::TreeDef::flatten_like), with a buffer that you reuse |
//! | have leaves of one kind | [`flatten_as`](crate::flatten_as), [`map`](crate::map()) with the type of the leaves |
//! | have leaves of several kinds | [`flatten`](crate::flatten()) |
//! | rebuild from numbers that you keep | [`unflatten`](crate::unflatten()) from a slice |
//! | rebuild from strings that you do not keep | [`unflatten`](crate::unflatten()) from the vector itself, which moves them |
//! | only look at strings | [`unflatten_borrowed`](crate::unflatten_borrowed) |
//! | only want the structure | [`structure`](crate::structure), which stores no leaves |
