//! The data types: leaves, and how a structure is stored, with its invariants.
//!
//! A structure is one flat vector of [`Node`]s in *pre-order*, because serde rebuilds from the top
//! down and asks for a node before its children. Equal neighbours are a *run*: one node with a
//! repeat count. So a million equal siblings need as much memory as one. Names, field lists, map
//! keys and statics are in a side table of [`NodeData`].
//!
//! ```text
//! vec![Point { x: 1.0, y: 2.0 }; 3]            [Point { x: *, y: * }; 3]
//!
//! nodes      0  Seq     ×1   span 3   children 3   leaves 6   work 10   depth 2
//!            1  Struct  ×3   span 2   children 2   leaves 2   work 3    depth 1   data 0
//!            2  Leaf    ×2   span 1   children 0   leaves 1   work 1    depth 0
//! node_data  0  Point { x, y }
//! ```
//!
//! # Invariants
//!
//! All code that reads an [`Encoding`] relies on these invariants. Only `encoding` makes an
//! encoding, except for a lone leaf, which `value` makes.
//!
//! 1. `nodes[0]` is the root. Its `repeat` is 1, and its `span` is the length of the vector.
//! 2. The children of node `i` are runs. The first is at `i + 1`, each next one is `span` further, and the
//!    last ends at `i + span`. `children` is the sum of their `repeat`. `leaves` is the sum of their `leaves`
//!    times `repeat`; `maps` and `work` are the same kind of sum, and `work` saturates. A leaf counts itself
//!    in `leaves`, a map in `maps`, and each node in `work`, with the work of its names, keys or static. Atoms
//!    have no children; `Some` and newtypes have exactly one.
//! 3. Runs are maximal: neighbouring runs differ. Hence equal structures are equal vectors.
//! 4. Kinds with names have node data. `Struct` and `StructVariant` have as many fields as
//!    children, `Map` has as many keys. Keys are in canonical order unless
//!    [`Options::insertion`] is set. A `Static` has its value.
//! 5. Node data is distinct, all of it is used, and it is numbered by first use in `nodes`.
//! 6. A [`Value`] in node data has only scalars as leaves, and no statics.
//!
//! The words of the code are in `ARCHITECTURE.md`.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, Mutex, OnceLock};

/// The name of a type, a field or a variant: borrowed from the type that was walked, or read from a
/// text or a file.
pub type Name = Cow<'static, str>;

/// An element of the flat vector: a serde scalar, or a whole subtree that was declared a leaf.
///
/// Equality and hash compare kind and bits: `0.0` and `-0.0` differ, a NaN equals itself, and
/// `1i32` and `1i64` differ.
///
/// ```
/// use treedef::Leaf;
///
/// let leaf = Leaf::from(1.5f32);
/// assert_eq!(leaf.to_string(), "1.5f32");
/// assert_eq!(leaf.as_f64(), Some(1.5));
/// assert_eq!(f32::try_from(leaf)?, 1.5);
/// assert_eq!((Leaf::from("a").as_str(), Leaf::from(true).as_bool()), (Some("a"), Some(true)));
/// assert_eq!((Leaf::from(7u8).as_u64(), Leaf::from(-7).as_u64()), (Some(7), None));
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each variant is the scalar of its name")]
pub enum Leaf {
    Bool(bool),
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    F32(f32),
    F64(f64),
    Char(char),
    /// An absent value under [`none_is_leaf`](crate::Flattener::none_is_leaf).
    None,
    I128(Packed<i128>),
    U128(Packed<u128>),
    // The variants that own memory are neighbours, and dropping them is little code. So the
    // compiler inlines the check whether a leaf owns memory into the loop that drops a vector. With
    // a `Box` instead of the `Arc`, dropping would be recursive, and each leaf would need a call.
    Str(Box<str>),
    Bytes(Box<[u8]>),
    /// A whole subtree as one leaf.
    Opaque(Arc<Value>),
}

/// A 128-bit integer with the alignment of a 64-bit one, so that a [`Leaf`] has 24 bytes.
///
/// ```
/// use treedef::{Leaf, Packed};
///
/// assert_eq!(Packed(-1i128).get(), -1);
/// assert!(matches!(Leaf::from(7u128), Leaf::U128(seven) if seven.get() == 7));
/// assert_eq!(size_of::<Leaf>(), 24);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(Rust, packed(8))]
pub struct Packed<T: Copy>(pub T);

impl<T: Copy> Packed<T> {
    /// The integer.
    #[inline]
    pub fn get(self) -> T {
        self.0
    }
}

impl<T: Copy> From<T> for Packed<T> {
    #[inline]
    fn from(value: T) -> Self {
        Packed(value)
    }
}

impl From<Packed<i128>> for i128 {
    #[inline]
    fn from(packed: Packed<i128>) -> Self {
        packed.get()
    }
}

impl From<Packed<u128>> for u128 {
    #[inline]
    fn from(packed: Packed<u128>) -> Self {
        packed.get()
    }
}

/// The kind of a [`Leaf`]. It prints as its name, e.g. `f32`, `str`, `bytes`, `none`, `opaque`.
///
/// ```
/// use treedef::{Leaf, LeafKind};
///
/// assert_eq!(Leaf::from("a").kind(), LeafKind::Str);
/// assert!(LeafKind::F32.is_float() && LeafKind::F32.is_number() && !LeafKind::F32.is_integer());
/// assert_eq!(LeafKind::F32.to_string(), "f32");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each variant is the scalar of its name")]
pub enum LeafKind {
    Bool,
    I8,
    I16,
    I32,
    I64,
    I128,
    U8,
    U16,
    U32,
    U64,
    U128,
    F32,
    F64,
    Char,
    Str,
    Bytes,
    None,
    /// A whole subtree that was declared a leaf.
    Opaque,
}

/// A whole serde value: the content of a map key, a static or an opaque leaf.
///
/// Equality, hash and order use the structure and the scalars. A value prints like a treedef with
/// literals in place of `*`.
///
/// Maps sort their keys by this order: kinds in the order of [`NodeKind`] and [`LeafKind`],
/// integers by value and then by width (signed before unsigned of the same width), floats by
/// `total_cmp`, strings by bytes, everything else lexicographically.
///
/// ```
/// use treedef::{Leaf, Value};
///
/// let value = Value::of(&(1, "a", Some(2.0)))?;
/// assert_eq!(value.to_string(), r#"(1, "a", Some(2.0))"#);
/// assert_eq!((value.root().num_children(), value.leaves().len()), (3, 3));
/// assert_eq!(Value::of("a")?.as_leaf(), Some(&Leaf::from("a")));
/// assert_eq!(value.to_string().parse::<Value>()?, value);
/// assert_eq!(value.into_typed::<(i32, String, Option<f64>)>()?, (1, "a".to_owned(), Some(2.0)));
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone)]
pub struct Value(pub(crate) Content);

/// A scalar is stored without a structure, because most keys and statics are scalars.
#[derive(Clone)]
pub(crate) enum Content {
    Scalar(Leaf),
    /// The keys of one map that are alike share their structure.
    Tree(Arc<TreeDef>, Box<[Leaf]>),
    Array(Arc<Array>),
}

/// An array that is one leaf: numbers of one type in one buffer, with their shape.
///
/// It is the content of an opaque leaf ([`Leaf::as_array`]) that
/// [`Flattener::arrays`](crate::Flattener::arrays) or
/// [`Tree::with_arrays`](crate::Tree::with_arrays) made, or that was read from a file. Clones share
/// the buffer, and so do all numbers of one type that were flattened together: one remaining array
/// keeps all of them in memory.
///
/// ```
/// use treedef::{Dtype, Tree};
///
/// let tree = Tree::of(&(vec![[0.5f32; 3]; 2], "a"))?.with_arrays()?;
/// let array = tree.leaves()[0].as_array().unwrap();
/// assert_eq!((array.dtype(), array.shape()), (Dtype::F32, &[2, 3][..]));
/// assert!(!array.is_column_major() && array.other_leaves().next().is_none());
/// assert_eq!(array.as_slice::<f32>(), Some(&[0.5; 6][..]));
/// assert!(tree.leaves()[1].as_array().is_none());
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone)]
pub struct Array {
    /// The structure of the array as serde sees it, e.g. nested sequences.
    pub(crate) treedef: TreeDef,
    /// The leaves before the numbers, e.g. the dimensions of an `ndarray` array.
    pub(crate) before: Box<[Leaf]>,
    pub(crate) numbers: Arc<Column>,
    /// Where the numbers of this array are in `numbers`.
    pub(crate) range: Range<usize>,
    /// The leaves after the numbers.
    pub(crate) after: Box<[Leaf]>,
    pub(crate) dtype: Dtype,
    pub(crate) shape: Box<[usize]>,
    pub(crate) column_major: bool,
    /// The byte string that serde sees in place of the numbers, if there is one. It is made on
    /// first use.
    pub(crate) bytes: Option<Arc<dyn Lazy<Leaf>>>,
}

/// Data that is computed from the data beside it on first use: the bytes of an array, which would
/// otherwise be in memory twice; the index of the runs of a structure. It is behind a trait because
/// clippy would warn users of each map whose keys are paths (`mutable_key_type`).
pub(crate) trait Lazy<T>: Send + Sync + UnwindSafe + RefUnwindSafe {
    fn get(&self, make: &dyn Fn() -> T) -> &T;
}

impl<T: Send + Sync + UnwindSafe + RefUnwindSafe> Lazy<T> for OnceLock<T> {
    fn get(&self, make: &dyn Fn() -> T) -> &T {
        self.get_or_init(make)
    }
}

/// The serde calls of a value, as a walk recorded them. Another value of the same structure makes the
/// same calls, so they need only be compared. [`flatten`](mod@crate::flatten) writes and reads it.
pub(crate) struct Script {
    pub(crate) words: Arc<[Word]>,
    /// The keys and statics, which words have by number.
    pub(crate) labels: Arc<[Value]>,
    /// Swaps that bring the leaves of the walk into the order of the structure, one after the other.
    pub(crate) swaps: Box<[Swap]>,
    /// The insertion order of the entries of maps, which the encoding does not contain.
    pub(crate) insertions: Option<Arc<[Insertion]>>,
}

/// A serde call, or a part of one: the name of a field or of a variant has a word of its own. It says as
/// well how many leaves came since the word before, unless it has a number of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    /// The name of a type, a variant or a field.
    pub(crate) name: &'static str,
    /// The tag, and above it the count of leaves, or the number.
    pub(crate) code: u64,
}

/// Two ranges of items to swap: their common length and their first items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Swap {
    pub a: usize,
    pub b: usize,
    pub len: usize,
}

/// The script of a structure, if one is kept beside it. It is behind a trait as [`Lazy`] is.
pub(crate) trait ScriptCache: Send + Sync + UnwindSafe + RefUnwindSafe {
    fn get(&self) -> Option<Arc<Script>>;
    fn put(&self, script: Arc<Script>);
}

/// While another thread is in here, there is nothing to get, and nothing is put.
impl ScriptCache for Mutex<Option<Arc<Script>>> {
    fn get(&self) -> Option<Arc<Script>> {
        self.try_lock().ok()?.clone()
    }

    fn put(&self, script: Arc<Script>) {
        if let Ok(mut place) = self.try_lock() {
            *place = Some(script);
        }
    }
}

/// Leaves of one kind in one buffer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Column {
    Bool(Vec<bool>),
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    I128(Vec<i128>),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    U128(Vec<u128>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Char(Vec<char>),
    Str(Vec<String>),
    /// Bytes, absent values and opaque leaves.
    Other(Vec<Leaf>),
}

/// The type of the elements of an [`Array`], by its name in JAX's notation.
///
/// ```
/// use treedef::Dtype;
///
/// assert_eq!(Dtype::Bf16.to_string(), "bf16");
/// assert_eq!(Dtype::C64.size(), 8);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each variant is the type of its name")]
pub enum Dtype {
    Bool,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    /// The bits of a `half::f16`.
    F16,
    /// The upper half of an `f32`.
    Bf16,
    F32,
    F64,
    /// Two `f32`: the real part and the imaginary part.
    C64,
    /// Two `f64`: the real part and the imaginary part.
    C128,
}

/// A treedef with its leaves, which may be of any type.
///
/// | to | call |
/// |---|---|
/// | [make](#make) a tree | [`of`](Tree::of), [`of_as`](Tree::of_as), [`new`](Tree::new), [`leaf`](Tree::leaf), [`of_objects`](Tree::of_objects), [`Flattener::tree`](crate::Flattener::tree) |
/// | take it [apart](#take-apart), or rebuild its value | [`treedef`](Tree::treedef), [`leaves`](Tree::leaves), [`leaves_mut`](Tree::leaves_mut), [`into_parts`](Tree::into_parts), [`into_typed`](Tree::into_typed), [`into_objects`](Tree::into_objects) |
/// | print and parse [signatures](#signatures) | [`parse_with`](Tree::parse_with), [`with_shapes`](Tree::with_shapes), [`without_lengths`](Tree::without_lengths) |
/// | go [leaf by leaf](#leaf-by-leaf) | [`map`](Tree::map), [`try_map`](Tree::try_map), [`map_with_path`](Tree::map_with_path), [`as_ref`](Tree::as_ref), [`iter`](Tree::iter), [`iter_mut`](Tree::iter_mut) |
/// | [combine](#combine-with-another) it with another tree | [`zip_with`](Tree::zip_with), [`zip`](Tree::zip), [`flatten_up_to`](Tree::flatten_up_to), [`broadcast_to`](Tree::broadcast_to) |
/// | find leaves by [path or pattern](#find-by-path-or-pattern) | [`get`](Tree::get), [`get_mut`](Tree::get_mut), [`select`](Tree::select), [`select_mut`](Tree::select_mut), [`mask`](Tree::mask), [`subtree`](Tree::subtree) |
/// | [split](#split-and-join) it, and join the parts | [`partition`](Tree::partition), [`combine`](Tree::combine), [`filter`](Tree::filter), [`split`](Tree::split), [`split_into`](Tree::split_into), [`merge`](Tree::merge) |
/// | change the [structure](#change-the-structure) | [`replace`](Tree::replace), [`insert`](Tree::insert), [`set_text`](Tree::set_text), [`remove`](Tree::remove), [`edit_at`](Tree::edit_at), [`edit`](Tree::edit), [`edit_up`](Tree::edit_up) |
/// | work on trees [in trees](#trees-in-trees) and on many trees | [`compose`](Tree::compose), [`transpose`](Tree::transpose), [`stack`](Tree::stack), [`unstack`](Tree::unstack) |
/// | get [vectors](#vectors) of numbers | [`ravel`](Tree::ravel), [`unique_by`](Tree::unique_by) |
/// | see the [arrays](#arrays) in it | [`blocks`](Tree::blocks), [`with_arrays`](Tree::with_arrays), [`without_arrays`](Tree::without_arrays), [`summary`](Tree::summary) |
/// | [compare](#compare) | [`check_close`](Tree::check_close), [`diff`](Tree::diff), [`patch`](Tree::patch) |
/// | [save and load](#save-and-load), or read as a type that has changed | [`migrate`](Tree::migrate), [`to_bytes`](Tree::to_bytes), [`from_bytes`](Tree::from_bytes), [`from_bytes_as`](Tree::from_bytes_as), [`save`](Tree::save), [`load`](Tree::load) |
///
/// ```
/// use treedef::Tree;
///
/// let tree = Tree::of(&[("a", 1), ("b", 2)])?;
/// assert_eq!(tree.to_string(), r#"(("a", 1), ("b", 2))"#);
/// assert_eq!(tree.treedef().to_string(), "((*, *); 2)");
/// assert_eq!(tree.leaves().len(), 4);
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
#[doc(alias = "pytree")]
pub struct Tree<L> {
    pub(crate) treedef: TreeDef,
    /// Its length is the number of leaves of `treedef`.
    pub(crate) leaves: Vec<L>,
}

/// The structure of a value without its leaves: the kinds of all containers, and the names, keys
/// and statics.
///
/// It is immutable and cheap to clone, and threads can share it. Equality and hash compare only the structure. They ignore
/// the insertion order of map entries and the [`Limits`].
///
/// The text form looks like the value, with `*` for each leaf, and parses back:
///
/// ```
/// use treedef::TreeDef;
///
/// let (_, treedef) = treedef::flatten(&(vec![1.0, 2.0], Some("a")))?;
/// assert_eq!(treedef.to_string(), "([*, *], Some(*))");
/// assert_eq!("([*, *], Some(*))".parse::<TreeDef>()?, treedef);
/// # Ok::<(), treedef::Error>(())
/// ```
#[doc(alias = "PyTreeDef")]
#[doc(alias = "PyTreeSpec")]
#[doc(alias = "TreeSpec")]
#[doc(alias = "treespec")]
#[derive(Clone)]
pub struct TreeDef {
    pub(crate) encoding: Arc<Encoding>,
    /// The maps whose entries did not arrive in canonical order, sorted by `map`.
    pub(crate) insertions: Option<Arc<[Insertion]>>,
    pub(crate) limits: Limits,
    /// Whether it was made by walking a value. Rebuilding such a structure needs no more work than
    /// that walk.
    pub(crate) walked: bool,
}

pub(crate) struct Encoding {
    pub(crate) options: Options,
    pub(crate) nodes: Box<[Node]>,
    pub(crate) node_data: Box<[NodeData]>,
    /// Computed from `nodes`. A structure of few nodes has none.
    pub(crate) run_index: Option<Box<dyn Lazy<RunIndex>>>,
    /// The script for values of this structure, if it is too large for the memory of a thread.
    pub(crate) script: Box<dyn ScriptCache>,
}

/// The places of the runs of children, for nodes with many of them, so that a lookup need not visit
/// all earlier runs.
pub(crate) struct RunIndex {
    /// The nodes with many runs, in order, each with the index of its first mark.
    pub(crate) wide: Vec<(usize, usize)>,
    pub(crate) marks: Vec<RunMark>,
}

/// A run of children, and the numbers of children, leaves and maps of the parent before it.
#[derive(Clone, Copy)]
pub(crate) struct RunMark {
    /// Index into the nodes.
    pub(crate) run: usize,
    pub(crate) children: usize,
    pub(crate) leaves: usize,
    pub(crate) maps: usize,
}

/// The options of the walk that made a treedef. Rebuilding and comparing need them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Options {
    /// Map entries are in insertion order, which is part of the structure.
    pub(crate) insertion: bool,
    /// `None` is a leaf, and `Some(x)` is only `x` unless `x` is itself None, Some or unit.
    pub(crate) none_is_leaf: bool,
    /// The value was asked for its compact form, not for its human-readable form.
    pub(crate) compact: bool,
}

/// `repeat` equal siblings, stored once. The children of one of them follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    pub(crate) kind: NodeKind,
    /// The number of nested compounds at and below one sibling, including keys and statics.
    pub(crate) depth: u32,
    /// Index into `node_data`, or [`NodeData::NONE`].
    pub(crate) data: u32,
    /// The number of nodes of the vector in this subtree, including this one. The next run is
    /// `span` further.
    pub(crate) span: u32,
    pub(crate) repeat: usize,
    pub(crate) children: usize,
    /// The number of leaves in one sibling.
    pub(crate) leaves: usize,
    /// The number of maps in one sibling, which leads to the [`Insertion`] of a map.
    pub(crate) maps: usize,
    /// The maximum number of nodes that rebuilding one sibling visits, including keys and statics,
    /// plus one for each 16 bytes of names and texts; at most `usize::MAX`.
    pub(crate) work: usize,
}

impl Node {
    /// The maximum number of nodes. Indices have 32 bits, because in large structures they take most of the memory.
    pub(crate) const MOST: usize = NodeData::NONE;

    #[inline(always)]
    pub(crate) fn data(&self) -> usize {
        self.data as usize
    }

    #[inline(always)]
    pub(crate) fn set_data(&mut self, data: usize) {
        self.data = data as u32; // at most the number of nodes
    }

    #[inline(always)]
    pub(crate) fn span(&self) -> usize {
        self.span as usize
    }
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Node>() == 56, "the docs of `Limits` say so");

/// The kind of a node: the kinds of serde's data model, but one kind for all scalars.
///
/// The order of the kinds is part of the canonical order of map keys.
///
/// ```
/// use treedef::NodeKind;
///
/// let kind = treedef::structure(&Some([1.5, 2.5]))?.root().kind();
/// assert_eq!((kind, kind.to_string().as_str()), (NodeKind::Some, "Some"));
/// assert!(NodeKind::None.is_atom() && NodeKind::UnitVariant.is_variant());
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum NodeKind {
    /// A scalar, or a subtree that was declared a leaf: `*`.
    Leaf,
    /// An absent `Option`: `None`. It is not a leaf, unless
    /// [`none_is_leaf`](crate::Flattener::none_is_leaf) is set.
    None,
    /// A present `Option`, with one child: `Some(*)`.
    Some,
    /// `()`.
    Unit,
    /// A struct without fields, e.g. `struct Marker;`: `Marker`.
    UnitStruct,
    /// A struct with one unnamed field, e.g. `struct Meters(f64);`: `Meters(*)`.
    NewtypeStruct,
    /// A sequence of any length, e.g. `Vec<T>` or a set: `[*, *]`.
    Seq,
    /// A tuple or an array, `(A, B)` or `[T; N]`: `(*, *)`.
    Tuple,
    /// A struct with several unnamed fields, e.g. `struct Rgb(u8, u8, u8);`: `Rgb(*, *, *)`.
    TupleStruct,
    /// A map with keys of any kind, or a struct that contains a `#[serde(flatten)]` field:
    /// `{"a": *}`.
    Map,
    /// A struct with named fields: `Point { x: *, y: * }`.
    Struct,
    /// A variant without payload, e.g. `Shape::Empty`.
    UnitVariant,
    /// A variant with one unnamed field: `Shape::Circle(*)`.
    NewtypeVariant,
    /// A variant with several unnamed fields: `Shape::Line(*, *)`.
    TupleVariant,
    /// A variant with named fields: `Shape::Box { w: *, h: * }`.
    StructVariant,
    /// A value that belongs to the treedef, not to the leaves: `static "relu"`.
    Static,
}

/// The name in serde's data model, e.g. `tuple struct` or `newtype variant`.
impl fmt::Display for NodeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            NodeKind::Leaf => "leaf",
            NodeKind::None => "None",
            NodeKind::Some => "Some",
            NodeKind::Unit => "unit",
            NodeKind::UnitStruct => "unit struct",
            NodeKind::NewtypeStruct => "newtype struct",
            NodeKind::Seq => "sequence",
            NodeKind::Tuple => "tuple",
            NodeKind::TupleStruct => "tuple struct",
            NodeKind::Map => "map",
            NodeKind::Struct => "struct",
            NodeKind::UnitVariant => "unit variant",
            NodeKind::NewtypeVariant => "newtype variant",
            NodeKind::TupleVariant => "tuple variant",
            NodeKind::StructVariant => "struct variant",
            NodeKind::Static => "static",
        })
    }
}

impl NodeKind {
    /// Whether nodes of this kind have the name of a type.
    pub(crate) fn is_named(self) -> bool {
        use NodeKind as Is;
        matches!(self, Is::UnitStruct | Is::NewtypeStruct | Is::TupleStruct | Is::Struct)
            || self.is_variant()
    }

    /// Whether nodes of this kind can never have children.
    pub fn is_atom(self) -> bool {
        use NodeKind as Is;
        matches!(
            self,
            Is::Leaf | Is::None | Is::Unit | Is::UnitStruct | Is::UnitVariant | Is::Static
        )
    }

    /// Whether nodes of this kind have exactly one child.
    pub(crate) fn has_one_child(self) -> bool {
        use NodeKind as Is;
        matches!(self, Is::Some | Is::NewtypeStruct | Is::NewtypeVariant)
    }

    /// Whether the type alone determines the children of a node of this kind: no map, sequence or variant.
    pub(crate) fn is_fixed(self) -> bool {
        use NodeKind as Is;
        matches!(
            self,
            Is::None
                | Is::Some
                | Is::Unit
                | Is::UnitStruct
                | Is::NewtypeStruct
                | Is::Tuple
                | Is::TupleStruct
                | Is::Struct
        )
    }

    /// Whether the meaning of this kind depends on options: on the order of entries, or on
    /// `none_is_leaf`.
    pub(crate) fn depends_on_options(self) -> bool {
        matches!(self, NodeKind::Map | NodeKind::None | NodeKind::Some)
    }

    /// Whether this is one of the four kinds of enum variants.
    pub fn is_variant(self) -> bool {
        use NodeKind as Is;
        matches!(self, Is::UnitVariant | Is::NewtypeVariant | Is::TupleVariant | Is::StructVariant)
    }
}

/// The data of a node beside its kind and children: names and labels. Distinct node data is stored
/// once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeData {
    /// The type's name; empty for maps and statics.
    pub(crate) name: Name,
    /// The variant's name; empty for other kinds.
    pub(crate) variant: Name,
    pub(crate) labels: Labels,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Labels {
    #[default]
    None,
    Fields(Box<[Name]>),
    Keys(Box<[Value]>),
    Static(Value),
}

/// The insertion order of the entries of one map.
#[derive(Clone, Debug)]
pub(crate) struct Insertion {
    /// The number of maps before this one in pre-order, with runs expanded.
    pub(crate) map: usize,
    /// The canonical position of the entry that was inserted first, second, …
    pub(crate) order: Arc<[usize]>,
}

/// Limits for the cost of rebuilding, printing, saving and transforming a treedef.
///
/// A treedef carries its limits; they are not part of its equality or its text. Operations, parsers
/// and readers of files return an error instead of a structure beyond the limits. Saving also
/// returns an error if the result could not be loaded again. A text of forty bytes can describe 2⁶⁴
/// leaves, so operations compute the size of their result first.
///
/// | limit | default | what it bounds | why |
/// |---|---|---|---|
/// | [`max_depth`](Self::max_depth) | 128, as in serde_json and ron | nested containers, keys included | recursive code needs stack for each level |
/// | [`max_work`](Self::max_work) | 2²⁴, plus 64 for each leaf in memory | nodes that rebuilding or printing visits, where 16 bytes of names, keys and statics count as one; leaves, columns and parts that an operation makes; scalars and texts that `; n` in a key or static expands to | `[(); 1000000000000]` is a text of 19 bytes |
/// | [`max_nodes`](Self::max_nodes) | 2²⁴ | stored nodes of 56 bytes each; equal neighbours count as one | composing two structures multiplies their nodes |
/// | [`max_bytes`](Self::max_bytes) | 2²⁹ | the bytes of the structure in a file, without the leaves | the file may hold something else |
///
/// A text has a run of equal elements once, as `; n`, but it has each field of a struct. If a struct holds
/// two equal structs, which hold two equal structs, and so on, a small structure has a long text. So printing
/// is limited by the nodes of the text, plus 64 for each stored node. A file has each name once, for any
/// number of fields. So the names in memory may take `max_work / 16` bytes, 1 MiB by default, plus 16 times the size of
/// the file.
///
/// The defaults allow ten million leaves or absent values, and megabytes of statics and names. A
/// structure that was made by walking a value can always be rebuilt, whatever `max_work` is; beyond
/// the limits, it only cannot be saved.
///
/// ```
/// use treedef::{ErrorKind, Limits, TreeDef};
///
/// let bomb: TreeDef = "[(); 1152921504606846976]".parse()?;
/// let error = treedef::unflatten::<Vec<()>>(&bomb, Vec::<f64>::new()).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Limit);
///
/// let generous = bomb.with_limits(Limits { max_depth: 1_000, ..Limits::default() });
/// assert_eq!(generous.limits().max_depth, 1_000);
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// The maximum number of nested containers, including map keys.
    pub max_depth: usize,
    /// The maximum number of nodes that are visited or made, in addition to 64 for each leaf.
    pub max_work: usize,
    /// The maximum number of bytes of the structure in a file, without the leaves.
    pub max_bytes: usize,
    /// The maximum number of nodes of a structure; equal neighbours count as one.
    pub max_nodes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { max_depth: 128, max_work: 1 << 24, max_bytes: 1 << 29, max_nodes: 1 << 24 }
    }
}

/// The order of the entries of a map in a treedef.
///
/// ```
/// use treedef::TreeDef;
///
/// let by_key: TreeDef = r#"{"w": *, "b": *}"#.parse()?;
/// let by_insertion: TreeDef = r#"#[insertion] {"w": *, "b": *}"#.parse()?;
/// assert_eq!(by_key.to_string(), r#"{"b": *, "w": *}"#);
/// assert_eq!(by_insertion.to_string(), r#"#[insertion] {"w": *, "b": *}"#);
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MapOrder {
    /// By key, so that equal maps have equal treedefs. The treedef also remembers the insertion
    /// order, but does not compare it. Each tree or treedef that is made from it keeps the order, with
    /// new entries last. The insertion order is lost
    ///
    /// - in the text of a treedef;
    /// - in the file of a treedef ([`TreeDef::to_bytes`]); the file of a tree ([`Tree::to_bytes`]) has it;
    /// - in keys and statics: equal maps are stored once, with the order of the first;
    /// - in copies, if an operation would store more than [`Limits::max_nodes`] orders.
    #[default]
    Canonical,
    /// By insertion order, which is part of the structure, as in Python's `OrderedDict`. Maps in
    /// keys and statics are always as with [`Canonical`](Self::Canonical).
    Insertion,
}

/// The maximum nesting of keys in keys. It is always checked, because comparing and dropping keys
/// is recursive.
pub(crate) const MAX_KEY_NESTING: usize = 128;

/// The kind and the names of a node: an argument of
/// [`TreeDefBuilder::open`](crate::TreeDefBuilder::open), and of the function in
/// [`opaque_where`](crate::Flattener::opaque_where).
///
/// ```
/// use treedef::{NodeHead, NodeKind};
///
/// let head = NodeHead { name: "Point", ..NodeKind::Struct.into() };
/// assert_eq!((head.kind, head.name, head.variant), (NodeKind::Struct, "Point", ""));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NodeHead<'a> {
    /// The kind.
    pub kind: NodeKind,
    /// The name of the type; empty if the kind has none.
    pub name: &'a str,
    /// The name of the variant; empty if the node is no enum variant.
    pub variant: &'a str,
}

impl NodeData {
    /// The index for nodes that have neither names nor keys.
    pub(crate) const NONE: usize = u32::MAX as usize;
}

impl Encoding {
    /// The compared fields; all others follow from them.
    fn compared(&self) -> (Options, &[Node], &[NodeData]) {
        (self.options, &self.nodes, &self.node_data)
    }
}

impl PartialEq for Encoding {
    fn eq(&self, other: &Self) -> bool {
        self.compared() == other.compared()
    }
}

impl Eq for Encoding {}

impl Hash for Encoding {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.compared().hash(state);
    }
}

impl PartialEq for TreeDef {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.encoding, &other.encoding) || self.encoding == other.encoding
    }
}

impl Eq for TreeDef {}

impl Hash for TreeDef {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.encoding.hash(state);
    }
}

impl TreeDef {
    /// Panics in debug builds if an invariant is broken.
    #[inline]
    pub(crate) fn checked(self) -> Self {
        #[cfg(debug_assertions)]
        if let Err(broken) = self.check() {
            unreachable!("a structure is broken: {broken}");
        }
        self
    }

    pub(crate) fn insertions(&self) -> &[Insertion] {
        self.insertions.as_deref().unwrap_or_default()
    }
}

impl<L> Tree<L> {
    pub(crate) fn from_parts(treedef: TreeDef, leaves: Vec<L>) -> Self {
        debug_assert_eq!(
            treedef.encoding.nodes.first().map(|root| root.leaves),
            Some(leaves.len())
        );
        Tree { treedef, leaves }
    }
}
