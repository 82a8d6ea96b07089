//! Files of treedefs and trees: what is promised of them, and their format.
//!
//! [`TreeDef::to_bytes`], [`save`](TreeDef::save) and their inverses keep a structure;
//! [`Tree::to_bytes`](crate::Tree::to_bytes) and [`Tree::save`](crate::Tree::save) keep a structure and its leaves: a
//! checkpoint. All of it is in the feature `persist`, which is on by default.
//!
//! # What is promised
//!
//! - **A file loads for ever.** Every release reads the files of every release before it, on every platform. A file of
//!   a later format is refused with [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported).
//! - **Damage is found.** Every byte stands under a CRC-32C; a change of up to 32 neighbouring bits cannot escape it.
//!   The error names the damaged part, among leaves their indices and paths.
//! - **Nothing hostile gets through.** What was written to deceive, checksums and all, becomes an error or a treedef
//!   like any other: no panic, no endless loop, no more memory than some times the file. [`Limits`] bound what is left.
//! - **One structure, one file.** Equal treedefs have equal bytes; whatever loads is written again with the very same
//!   bytes (by the release that wrote it). So files can be compared and hashed; [`TreeDef::fingerprint`] does.
//! - **Saving is all or nothing.** A file is written beside its place, flushed to the disk, and put there by a rename.
//!   Whoever reads sees the old or the new one; a crash leaves the old one, and at most a temporary that the next save
//!   removes.
//!
//! Checksums are no signatures: who can change a file can mend them too. Compare a [`Fingerprint`] that came another
//! way.
//!
//! # Format 1
//!
//! All integers are little endian and of fixed width. The tables are what bincode 2 writes with its `legacy`
//! configuration, which is plain enough to be said here: a struct is its fields one after another, a table or string is
//! its length as a `u64` and then its rows or UTF-8 bytes. `NONE` is 2³² − 1. Checksums are CRC-32C (Castagnoli).
//!
//! ## Header, 64 bytes, the same in all formats to come
//!
//! | at | bytes | what |
//! |---|---|---|
//! | 0 | 8 | `89 50 59 54 0D 0A 1A 0A` |
//! | 8 | 2 | the format that a reader has to know: 1 |
//! | 10 | 2 | the format that the writer knew: not less |
//! | 12 | 1 | 1: a treedef, 2: a tree |
//! | 13 | 1 | codec of the tables: 1 |
//! | 14 | 2 | options of the treedef, by bits: 1 insertion, 2 none_is_leaf, 4 compact. A reader refuses others |
//! | 16 | 8 | bytes of the structure, which follows the header |
//! | 24 | 8 | rows in its table of nodes |
//! | 32 | 8 | leaves of the treedef |
//! | 40 | 8 | bytes after the structure: 0 for a treedef |
//! | 48 | 8 | 0 |
//! | 56 | 4 | checksum of the structure |
//! | 60 | 4 | checksum of the 60 bytes before |
//!
//! A reader checks in this order: magic, checksum of the header, format, codec, options, kind, limits, lengths against
//! the file, checksums of the parts, tables.
//!
//! ## Structure
//!
//! | field | type | what |
//! |---|---|---|
//! | text | string | all names, one after another |
//! | names | table of `u32` | the bytes of each name, none 0 |
//! | shapes | table of { name `u32`, variant `u32`, form `u8`, labels `u32` } | numbers of names, or `NONE` for the empty one; form 0: no labels, 1: fields, 2: keys, 3: the value of a static |
//! | labels | table of `u32` | of each shape in turn, as many as it says: numbers of names, or of values |
//! | nodes | table of { kind `u8`, shape `u32`, span `u32`, repeat `u64` } | in pre-order; a row is a run of `repeat` equal siblings, and `span` rows are it and all below one of them |
//!
//! If there are keys or statics, also
//!
//! | field | type | what |
//! |---|---|---|
//! | values | table of { nodes `u32`, shapes `u32`, scalars `u32` } | how many rows of each table belong to a value |
//! | runs | table of { kind `u8`, count `u64` } | kinds of the scalars in `values`, neighbours differ |
//! | lengths | table of `u64` | the bytes of each `str` and `bytes` among them |
//! | bits | the rest | the scalars, as little endian integers and floats, `bool` and absent ones as a byte, `char` as `u32` |
//!
//! The first rows of `nodes`, `shapes` and `labels` belong to the first value, and so on; those of the treedef come
//! last. Shapes are numbered from 0 in each. A value that is a scalar has no nodes and one scalar; other values are
//! structures, without statics and with scalars in the place of the leaves. A value comes after those that are keys in
//! it, and is used once, in the order of the labels.
//!
//! Kinds of nodes, from 0: leaf, None, Some, unit, unit struct, newtype struct, seq, tuple, tuple struct, map, struct,
//! unit variant, newtype variant, tuple variant, struct variant, static. Kinds of scalars, from 0: bool, i8, i16, i32,
//! i64, i128, u8, u16, u32, u64, u128, f32, f64, char, str, bytes, none, opaque (the last two among leaves only).
//!
//! What makes a structure valid: a span covers its children's and no more; runs are maximal, and `repeat` is not 0;
//! `Some` and newtypes have one child, atoms (leaf to unit struct but `Some`, unit variants, statics) none; named kinds
//! have a shape with their name, structs with a field and maps with a key for each child; keys stand in their
//! [order](crate::Value) unless the treedef is in insertion order. Names and shapes are distinct, all used, and
//! numbered by first use: names in the order of shapes (name, variant, fields; those of values first), shapes in that
//! of nodes.
//!
//! ## After the structure of a tree
//!
//! | at | bytes | what |
//! |---|---|---|
//! | 0 | 4 × 8 | bytes of the four parts below |
//! | 32 | 3 × 4 | checksums of the first three |
//! | 44 | 4 | checksum of the 44 bytes before and the checksums after |
//! | 48 | 4 each | checksum of each 2¹⁶ bytes of the fourth part, the last ones fewer |
//!
//! 1. *The order of maps*: tables of { structure `u32`, map `u64` } and of `u64`. Where entries arrived in another
//!    order than that of their keys: which structure (the values of the first structure by their numbers, then itself,
//!    then the values of the second part), which map of it in pre-order, runs expanded; and for the entry that arrived
//!    first, second, … its canonical position, of one map after another. Empty if there is none.
//! 2. *The values among the leaves*: the fields of a structure, without a treedef at the end of the tables. Empty if
//!    there is none.
//! 3. *The kinds of the leaves*: `runs` and `lengths` as above.
//! 4. *The leaves*: `bits` as above. An opaque leaf is a byte 0 and stands for the next value of the second part.
//!
//! # Why bincode, and how it would be left
//!
//! bincode is the codec that this project was asked to use, it is fast, and what it writes here is specified above. It
//! is no longer maintained (RUSTSEC-2025-0141); its version 3 does not compile, by intent. Hence:
//!
//! - It is pinned to `=2.0.1`, without the features that we do not need, and none of its types is in a public
//!   signature.
//! - It only ever decodes flat tables of integers that a checksum has vouched for, borrowed from bytes that are there:
//!   neither the lengths that abort it on other input nor nesting can occur. What it returns is checked as if it were
//!   hostile.
//! - The byte at 13 of the header names the codec. Another one gets another number; this one's reader is a page of code
//!   by the tables above, and stays, so that old files load without bincode too.
//!
//! Projects that check advisories say so in their `deny.toml`:
//!
//! ```toml
//! [advisories]
//! ignore = [{ id = "RUSTSEC-2025-0141", reason = "pinned by treedef behind its own checked format" }]
//! ```

#[allow(unused_imports, reason = "the page links to them")]
use crate::{Fingerprint, Limits, TreeDef};
