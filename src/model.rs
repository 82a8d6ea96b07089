//! The data: what a leaf is, how a structure is stored, what holds in it.
//!
//! A structure is one flat vector of [`Node`]s in *pre-order*, because serde rebuilds from the top down and asks for a
//! node before its children. Equal neighbours are one node with a count (a *run*), so that a million equal
//! siblings cost as much as one. Names, field lists, map keys and statics stand in a side table of [`Shape`]s.
//!
//! ```text
//! vec![Point { x: 1.0, y: 2.0 }; 3]            [Point { x: *, y: * }; 3]
//!
//! nodes   0  Seq     ×1   span 3   children 3   leaves 6   work 10   depth 2
//!         1  Struct  ×3   span 2   children 2   leaves 2   work 3    depth 1   shape 0
//!         2  Leaf    ×2   span 1   children 0   leaves 1   work 1    depth 0
//! shapes  0  Point { x, y }
//! ```
//!
//! # Invariants
//!
//! Everything that reads an [`Encoding`] relies on these; `builder` alone makes one.
//!
//! 1. `nodes[0]` is the root, `repeat` 1, and its span is the whole vector.
//! 2. The children of node `i` are the runs that start at `i + 1` and follow each other by `span` until `i + span`.
//!    `children` is the sum of their `repeat`, `leaves` and `maps` the sums of theirs times `repeat` (a leaf counts
//!    itself, a map too), `work` likewise, but saturating. Atoms have none; `Some` and newtypes have exactly one.
//! 3. Runs are maximal: neighbouring runs differ. Hence equal structures are equal vectors.
//! 4. Kinds with names have a shape; `Struct` and `StructVariant` have as many fields as children, `Map` as many keys.
//!    Keys are in canonical order unless the encoding says [`Options::insertion`]. A `Static` shape holds its value.
//! 5. Shapes are distinct, all used, and numbered by first use in `nodes`.
//! 6. A [`Value`] inside holds scalars only at its leaves, and no statics.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The name of a type, a field or a variant: borrowed from the type that was walked, or read from a text or file.
pub type Name = Cow<'static, str>;

/// One value of the flat vector: a serde scalar of its own kind, or a whole subtree that was declared a leaf.
///
/// Equality and hash go by kind and bits: `0.0` and `-0.0` differ, a NaN equals itself, `1i32` and `1i64` differ.
///
/// ```
/// use treedef::Leaf;
///
/// let leaf = Leaf::from(1.5f32);
/// assert_eq!(leaf.to_string(), "1.5f32");
/// assert_eq!(f32::try_from(leaf)?, 1.5);
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
    /// The leaf that an absent value is under [`none_is_leaf`](crate::Flattener::none_is_leaf).
    None,
    I128(Packed<i128>),
    U128(Packed<u128>),
    // Those that own memory stand together, and dropping them is little code: so the check that a number owns none is
    // compiled into the loop that drops a vector. A box in place of the `Arc` would make that a recursion, and a call.
    Str(Box<str>),
    Bytes(Box<[u8]>),
    /// A whole subtree in the place of one leaf.
    Opaque(Arc<Value>),
}

/// A 128-bit integer that is aligned as a 64-bit one, so that a [`Leaf`] stays within 24 bytes.
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

/// The kind of a [`Leaf`]. It prints as the type: `f32`, `str`, `bytes`, `none`, `leaf` for an opaque one.
///
/// ```
/// use treedef::{Leaf, LeafKind};
///
/// assert_eq!(Leaf::from("a").kind(), LeafKind::Str);
/// assert!(LeafKind::F32.is_float() && !LeafKind::F32.is_integer());
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

/// A whole serde value: what a map key, a static and an opaque leaf hold.
///
/// It compares, hashes and orders by structure and scalars, and prints as a treedef does with literals in place of `*`.
/// The order is the one in which maps keep their keys: kinds in the order of [`NodeKind`] and [`LeafKind`], integers by
/// value and then width (of one width the signed first), floats by `total_cmp`, strings by bytes, everything else
/// lexicographically.
///
/// ```
/// use treedef::Value;
///
/// let value = Value::of(&(1, "a", Some(2.0)))?;
/// assert_eq!(value.to_string(), r#"(1, "a", Some(2.0))"#);
/// assert_eq!(value.to_string().parse::<Value>()?, value);
/// assert_eq!(value.into_typed::<(i32, String, Option<f64>)>()?, (1, "a".to_owned(), Some(2.0)));
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Value(pub(crate) Content);

/// A scalar needs no structure of its own: most keys and statics are one.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Content {
    Scalar(Leaf),
    Tree(Box<Tree<Leaf>>),
}

/// A treedef with the leaves that belong to it, of any type.
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
pub struct Tree<L> {
    pub(crate) treedef: TreeDef,
    /// As many as `treedef` has leaves.
    pub(crate) leaves: Vec<L>,
}

/// The structure of a value without its leaves: what kind every container is, its names, keys and statics.
///
/// It is immutable and cheap to clone. Two treedefs are equal when the structures are; what was remembered beside it
/// (the order in which map entries arrived, the [`Limits`]) takes no part in equality or hash.
///
/// The text form reads like the value with `*` for a leaf, and parses back:
///
/// ```
/// use treedef::TreeDef;
///
/// let (_, treedef) = treedef::flatten(&(vec![1.0, 2.0], Some("a")))?;
/// assert_eq!(treedef.to_string(), "([*, *], Some(*))");
/// assert_eq!("([*, *], Some(*))".parse::<TreeDef>()?, treedef);
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone)]
pub struct TreeDef {
    pub(crate) encoding: Arc<Encoding>,
    /// The maps whose entries arrived in another order than the canonical one, by `map`.
    pub(crate) arrivals: Option<Arc<[Arrival]>>,
    pub(crate) limits: Limits,
    /// A walk through a value made it, so rebuilding takes no more work than that.
    pub(crate) walked: bool,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Encoding {
    pub(crate) options: Options,
    pub(crate) nodes: Box<[Node]>,
    pub(crate) shapes: Box<[Shape]>,
}

/// Options of the walk that made a treedef which rebuilding and comparing must know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Options {
    /// Map entries stand in the order in which they arrived, which is part of the structure.
    pub(crate) insertion: bool,
    /// `None` is a leaf, and `Some(x)` just `x` unless `x` is itself None, Some or unit.
    pub(crate) none_is_leaf: bool,
    /// The value was asked for its compact form, not its human-readable one.
    pub(crate) compact: bool,
}

/// `repeat` equal siblings, described once; followed by the children of one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    pub(crate) kind: NodeKind,
    /// Compounds inside each other at and below one of the siblings, those of keys and statics too.
    pub(crate) depth: u32,
    /// Index into `shapes`, or [`Shape::NONE`].
    pub(crate) shape: usize,
    pub(crate) repeat: usize,
    /// Nodes of the vector in this subtree, this one included: adding it leads to the next run.
    pub(crate) span: usize,
    pub(crate) children: usize,
    /// Leaves in one of the siblings.
    pub(crate) leaves: usize,
    /// Maps in one of the siblings: what finds a map's [`Arrival`].
    pub(crate) maps: usize,
    /// Nodes that rebuilding one of the siblings visits at most, in keys and statics too; `usize::MAX` if there are
    /// more.
    pub(crate) work: usize,
}

/// What a node is: one kind for each row of serde's data model, scalars apart.
///
/// The order of the kinds is part of the canonical order of map keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum NodeKind {
    /// A scalar, or a subtree that was declared a leaf: `*`.
    Leaf,
    /// An absent `Option`: `None`. No leaf, unless [`none_is_leaf`](crate::Flattener::none_is_leaf) says so.
    None,
    /// A present `Option`, around one child: `Some(*)`.
    Some,
    /// `()`.
    Unit,
    /// A struct without fields, e.g. `struct Marker;`: `Marker`.
    UnitStruct,
    /// A struct around one unnamed field, e.g. `struct Meters(f64);`: `Meters(*)`.
    NewtypeStruct,
    /// A sequence of any length, e.g. `Vec<T>` or a set: `[*, *]`.
    Seq,
    /// A tuple or an array, `(A, B)` or `[T; N]`: `(*, *)`.
    Tuple,
    /// A struct with several unnamed fields, e.g. `struct Rgb(u8, u8, u8);`: `Rgb(*, *, *)`.
    TupleStruct,
    /// A map with keys of any kind, or a struct that contains a `#[serde(flatten)]` field: `{"a": *}`.
    Map,
    /// A struct with named fields: `Point { x: *, y: * }`.
    Struct,
    /// A variant without payload, e.g. `Shape::Empty`.
    UnitVariant,
    /// A variant around one unnamed field: `Shape::Circle(*)`.
    NewtypeVariant,
    /// A variant with several unnamed fields: `Shape::Line(*, *)`.
    TupleVariant,
    /// A variant with named fields: `Shape::Box { w: *, h: * }`.
    StructVariant,
    /// A value that travels in the treedef instead of in the leaves: `static "relu"`.
    Static,
}

/// As serde's data model calls it: `tuple struct`, `newtype variant`.
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
    /// Whether nodes of this kind carry a type's name.
    pub(crate) fn is_named(self) -> bool {
        use NodeKind as Is;
        matches!(self, Is::UnitStruct | Is::NewtypeStruct | Is::TupleStruct | Is::Struct)
            || self.is_variant()
    }

    /// Whether nodes of this kind have neither children nor a place for them.
    pub(crate) fn is_atom(self) -> bool {
        use NodeKind as Is;
        matches!(
            self,
            Is::Leaf | Is::None | Is::Unit | Is::UnitStruct | Is::UnitVariant | Is::Static
        )
    }

    /// Whether nodes of this kind are around one child, no more and no less.
    pub(crate) fn has_one_child(self) -> bool {
        use NodeKind as Is;
        matches!(self, Is::Some | Is::NewtypeStruct | Is::NewtypeVariant)
    }

    /// Whether options say what nodes of this kind mean: the order of entries, and what an absent value is.
    pub(crate) fn depends_on_options(self) -> bool {
        matches!(self, NodeKind::Map | NodeKind::None | NodeKind::Some)
    }

    /// Whether this is one of the four kinds of enum variants.
    pub fn is_variant(self) -> bool {
        use NodeKind as Is;
        matches!(self, Is::UnitVariant | Is::NewtypeVariant | Is::TupleVariant | Is::StructVariant)
    }
}

/// What a node of some kind has beside its children. Each distinct one is stored once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The type's name; empty for maps and statics.
    pub(crate) name: Name,
    /// The variant's name; empty for other kinds.
    pub(crate) variant: Name,
    pub(crate) labels: Labels,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Labels {
    None,
    Fields(Box<[Name]>),
    Keys(Box<[Value]>),
    Static(Value),
}

/// The order in which the entries of one map arrived.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    /// Which map: how many maps precede it in pre-order, runs expanded.
    pub(crate) map: usize,
    /// The canonical position of the entry that arrived first, second, …
    pub(crate) order: Box<[usize]>,
}

/// What a treedef may cost: to rebuild from, to print, to save, and to make another of.
///
/// They travel beside a treedef, outside its equality and its text. A structure that is made, by an operation, a parser
/// or a file, is refused when it is beyond them, and so is what would be saved and not loaded again. A text of forty
/// bytes can stand for 2⁶⁴ leaves, so what an operation makes is counted before it is made.
///
/// | limit | default | what it bounds | beyond it |
/// |---|---|---|---|
/// | [`max_depth`](Self::max_depth) | 128, as in serde_json and ron | containers inside each other, keys included | recursive code needs stack for each level |
/// | [`max_work`](Self::max_work) | 2²⁴ beyond 64 for each leaf in memory | nodes that rebuilding visits; leaves, columns and parts that an operation makes; scalars that a `; n` in a key or static stands for | `[(); 1000000000000]` is a text of 19 bytes |
/// | [`max_nodes`](Self::max_nodes) | 2²⁴ | nodes that are stored, of which equal neighbours are one; 72 bytes each | composing two structures multiplies their nodes |
/// | [`max_bytes`](Self::max_bytes) | 2²⁹ | the structure in a file, its leaves apart | a file of other things |
/// | [`max_text`](Self::max_text) | 2²⁷ beyond 16 for each byte in a file | the bytes that a structure prints, about | a struct that holds two equal structs, which hold two equal structs |
/// | [`max_names`](Self::max_names) | 2²⁰ beyond 16 for each byte in a file | the bytes of all names in memory | a file has each name once, for any number of fields |
///
/// So ten million leaves or absent values pass, and statics and names of megabytes. What a walk through a value made is
/// in memory already: it is rebuilt whatever `work` says. It is only refused when it is saved.
///
/// ```
/// use treedef::{ErrorKind, Limits, TreeDef};
///
/// let bomb: TreeDef = "[(); 1152921504606846976]".parse()?;
/// let error = treedef::unflatten::<Vec<()>>(&bomb, Vec::<f64>::new()).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Work { .. }));
///
/// let generous = bomb.with_limits(Limits::default().max_depth(1_000));
/// assert_eq!(generous.limits().max_depth, 1_000);
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Containers inside each other, map keys included.
    pub max_depth: usize,
    /// Nodes that are visited or made beyond 64 for each leaf.
    pub max_work: usize,
    /// Bytes of the structure in a file, its leaves apart.
    pub max_bytes: usize,
    /// Nodes of a structure, of which equal neighbours are one.
    pub max_nodes: usize,
    /// Bytes that the text of a structure has, about, beyond 16 for each byte in a file.
    pub max_text: usize,
    /// Bytes of all names that a file makes in memory, beyond 16 for each byte in the file.
    pub max_names: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_depth: 128,
            max_work: 1 << 24,
            max_bytes: 1 << 29,
            max_nodes: 1 << 24,
            max_text: 1 << 27,
            max_names: 1 << 20,
        }
    }
}

impl Limits {
    /// Sets the number of containers that may stand inside each other.
    #[must_use]
    pub fn max_depth(self, max_depth: usize) -> Self {
        Limits { max_depth, ..self }
    }

    /// Sets the number of nodes that may be visited or made beyond 64 for each leaf.
    #[must_use]
    pub fn max_work(self, max_work: usize) -> Self {
        Limits { max_work, ..self }
    }

    /// Sets the bytes that the structure in a file may take.
    #[must_use]
    pub fn max_bytes(self, max_bytes: usize) -> Self {
        Limits { max_bytes, ..self }
    }

    /// Sets the nodes that a structure may have.
    #[must_use]
    pub fn max_nodes(self, max_nodes: usize) -> Self {
        Limits { max_nodes, ..self }
    }

    /// Sets the bytes that the text of a structure may have beyond 16 for each byte in a file.
    #[must_use]
    pub fn max_text(self, max_text: usize) -> Self {
        Limits { max_text, ..self }
    }

    /// Sets the bytes that all names may take in memory beyond 16 for each byte in a file.
    #[must_use]
    pub fn max_names(self, max_names: usize) -> Self {
        Limits { max_names, ..self }
    }

    /// Those of something made of two: each the more generous.
    pub(crate) fn or(self, other: Limits) -> Self {
        Limits {
            max_depth: self.max_depth.max(other.max_depth),
            max_work: self.max_work.max(other.max_work),
            max_bytes: self.max_bytes.max(other.max_bytes),
            max_nodes: self.max_nodes.max(other.max_nodes),
            max_text: self.max_text.max(other.max_text),
            max_names: self.max_names.max(other.max_names),
        }
    }
}

/// In which order the entries of a map stand in a treedef.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MapOrder {
    /// By their keys, so that equal maps have equal treedefs. The order in which they arrived is remembered beside it;
    /// of equal maps inside keys and statics, which are stored once, that of the first.
    #[default]
    Canonical,
    /// As they arrived; the order is part of the structure, as in Python's `OrderedDict`.
    /// Maps inside keys and statics stand in the order of their keys all the same, and so they come back.
    Insertion,
}

/// Keys inside keys inside keys are compared and dropped recursively, so their nesting is always bounded.
pub(crate) const MAX_KEY_NESTING: usize = 128;

/// A node that is about to be walked: what [`is_leaf`](crate::Flattener::is_leaf) sees of it beside its path.
#[derive(Clone, Copy, Debug)]
pub struct NodeHead<'a> {
    pub(crate) kind: NodeKind,
    pub(crate) name: &'a str,
    pub(crate) variant: &'a str,
}

impl Shape {
    /// The shape of a kind that has neither names nor keys.
    pub(crate) const NONE: usize = usize::MAX;
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
    pub(crate) fn arrivals(&self) -> &[Arrival] {
        self.arrivals.as_deref().unwrap_or_default()
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
