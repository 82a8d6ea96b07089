//! Files of treedefs and trees: promises and format.
//!
//! [`TreeDef::to_bytes`], [`save`](TreeDef::save) and their inverses store a structure.
//! [`Tree::to_bytes`](crate::Tree::to_bytes) and [`Tree::save`](crate::Tree::save) store a
//! structure with its leaves: a checkpoint. All of this needs the feature `persist`, which is on by
//! default.
//!
//! # Promises
//!
//! - **A file loads for ever.** Every release reads the files of all earlier releases. A file of a
//!   later format is refused with an error that names it.
//! - **A file does not depend on the machine that wrote it.** Its integers have a fixed width and
//!   are little endian. A 32-bit machine refuses a structure with 2³² or more leaves or children. The
//!   tests of files pass on x86-64. They have passed for i686 (32 bits), and the comparison with files
//!   of x86-64 for s390x (big endian, under Miri); CI's jobs for these two have not run yet.
//! - **Damage is found.** Every byte is covered by a CRC-32, which detects every change within 32
//!   neighbouring bits. The error names the damaged part. If leaves are damaged, it gives their
//!   indices and paths.
//! - **Hostile files do no harm.** Even with correct checksums, a crafted file gives an error or an
//!   ordinary treedef: no panic, no endless loop, and no more memory than a small multiple of the file.
//!   [`Limits`] bound everything else.
//! - **One structure, one file.** Equal treedefs have equal bytes. If you load a file and save it
//!   again with the release that wrote it, you get the same bytes. So files can be compared and
//!   hashed.
//! - **Saving is all or nothing.** The new file is written beside the old one, flushed to the disk,
//!   and renamed into place. A reader sees either the old file or the new one. A crash leaves the
//!   old file and at most a temporary file, which the next save removes. This is tested on Linux.
//!
//! Checksums are not signatures: someone who can change a file can also correct its checksums. If
//! you do not trust the place where a file is stored, compare a hash of the whole file, such as
//! SHA-256. A [`Fingerprint`] identifies only the structure: two checkpoints with different numbers
//! have the same one. It is the first 16 bytes of the SHA-256 of the options, as the `u32` in the
//! header, followed by the part *Structure*.
//!
//! # Format 1
//!
//! The integers are written by bincode 2 in its legacy configuration: little endian and of fixed
//! width. A row is its fields one after another. A table or string is its length as a `u64`,
//! followed by its rows or UTF-8 bytes. `NONE` is 2³² − 1. Checksums are CRC-32 as in zip and PNG; the
//! checksum of no bytes is 0.
//!
//! A file is a header, followed by the parts whose lengths are in the header, in that order. Before the leaves are the
//! checksums of their chunks, 4 bytes for each 2¹⁶ bytes or part of them. The file of a treedef has only the structure.
//!
//! ## Header, 96 bytes
//!
//! | at | bytes | content |
//! |---|---|---|
//! | 0 | 8 | `89 50 59 54 0D 0A 1A 0A` |
//! | 8 | 2 | the format: 1 |
//! | 10 | 2 | 1: a treedef, 2: a tree |
//! | 12 | 4 | options of the treedef, as bits: 1 insertion, 2 none_is_leaf, 4 compact. A reader refuses unknown bits |
//! | 16 | 8 | number of rows in the table of nodes |
//! | 24 | 8 | number of leaves of the treedef |
//! | 32 | 5 × 8 | lengths in bytes: of the structure, the order of maps, the values among the leaves, the kinds of the leaves, and the leaves |
//! | 72 | 5 × 4 | checksums: of each of the first four parts, and of the checksums of the leaves |
//! | 92 | 4 | checksum of the preceding 92 bytes |
//!
//! The magic, the format and the checksum of the header keep their places in all future formats. A
//! reader checks in this order: magic, checksum of the header, format, options, kind, limits,
//! lengths against the file; then the checksum of each part before its tables.
//!
//! ## Structure
//!
//! | field | type | content |
//! |---|---|---|
//! | text | string | all names, one after another |
//! | names | table of `u32` | the length of each name in bytes, never 0 |
//! | node data | table of { name `u32`, variant `u32`, form `u8`, labels `u32` } | `name` and `variant` are indices of names, or `NONE` for an empty name; `labels` is the number of labels; form 0: no labels, 1: fields, 2: keys, 3: the value of a static |
//! | labels | table of `u32` | the labels of each row of node data in turn: indices of names, or of values |
//! | nodes | table of { kind `u8`, data `u32`, span `u32`, repeat `u64` } | in pre-order; a row is a run of `repeat` equal siblings, and `span` is the number of rows of one sibling with everything below it |
//!
//! If there are keys or statics, these tables follow:
//!
//! | field | type | content |
//! |---|---|---|
//! | values | table of { nodes `u32`, node data `u32`, scalars `u32` } | the number of rows of each table, and of scalars, that belong to each value |
//! | runs | table of { kind `u8`, count `u64` } | kinds of the scalars in `values`; neighbouring runs differ in kind |
//! | lengths | table of `u64` | the length in bytes of each `str` and `bytes` among them |
//! | bits | the rest | the scalars: integers and floats in little endian, `bool` and `none` as a byte, `char` as `u32` |
//!
//! The first rows of nodes, node data and labels belong to the first value, the next rows to the
//! second value, and so on. The rows of the treedef come last. Node data is numbered from 0 in each
//! value and in the treedef. A value that is a scalar has no nodes and one scalar. Other values are
//! structures without statics, with scalars in place of the leaves. If a value contains a map, the
//! values of its keys are stored before it. Each value is used once, in the order of the labels.
//!
//! Kinds of nodes, from 0: leaf, None, Some, unit, unit struct, newtype struct, seq, tuple, tuple
//! struct, map, struct, unit variant, newtype variant, tuple variant, struct variant, static. Kinds
//! of scalars, from 0: bool, i8, i16, i32, i64, i128, u8, u16, u32, u64, u128, f32, f64, char, str,
//! bytes, none, opaque (the last two among leaves only).
//!
//! A structure is valid if all of the following holds:
//!
//! - A span covers the node and the spans of its children, and no more. Runs are maximal, and
//!   `repeat` is not 0.
//! - `Some` and newtypes have one child. Atoms have none: leaf, None, unit, unit struct, unit
//!   variant and static.
//! - Named kinds have node data with their name. Structs have a field for each child, and maps have a
//!   key for each child. Keys are in their [order](crate::Value) unless the treedef is in insertion
//!   order.
//! - Names and node data are distinct, all are used, and they are numbered by first use: node data
//!   in the order of the nodes, names in the order of the node data (name, variant, fields; the node
//!   data of values first).
//!
//! ## After the structure of a tree
//!
//! 1. *The order of maps*: tables of { structure `u32`, map `u64` } and of `u64`. The first table
//!    lists the maps whose insertion order is not the order of their keys. `structure` is an index
//!    into this list: the values in the tables of the structure, the structure itself, the values of
//!    part 2. `map` is the index of the map in that structure, in pre-order, with runs expanded. The
//!    second table has, for one map after another, the canonical position of the entry that was
//!    inserted first, second, and so on. Empty if there is no such map.
//! 2. *The values among the leaves*: the fields of a structure, without a treedef at the end of the
//!    tables. Empty if there are no such values.
//! 3. *The kinds of the leaves*: `runs` and `lengths` as above.
//! 4. *The checksums of the leaves*: one for each chunk of 2¹⁶ bytes of the leaves; the last chunk may
//!    be shorter. So a reader can read and check some leaves without the others.
//! 5. *The leaves*: `bits` as above. An opaque leaf is a byte 0, and refers to the next value of
//!    the second part.
//!
//! # How bincode is used, and how it could be replaced
//!
//! bincode is small and fast, and the bytes that it writes are specified above. It is no longer
//! maintained (RUSTSEC-2025-0141), and its version 3 intentionally does not compile. Hence:
//!
//! - It is pinned to `=2.0.1`, without the features that we do not need. None of its types is in a
//!   public signature.
//! - It writes and reads only single integers of 1 to 8 bytes, in two calls in `src/files/wire.rs`;
//!   tables and strings are our own code. It reads them from bytes whose checksum was verified, and
//!   they are checked as if they were hostile.
//! - `to_le_bytes` and `from_le_bytes` could replace it without a change of the format.
//!
//! Projects that check advisories need this in their `deny.toml`:
//!
//! ```toml
//! [advisories]
//! ignore = [{ id = "RUSTSEC-2025-0141", reason = "pinned by treedef, behind checks" }]
//! ```

#[allow(unused_imports, reason = "the page links to them")]
use crate::{Fingerprint, Limits, TreeDef};
