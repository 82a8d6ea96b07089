//! The structures that are returned, with their folded parts.

use std::fmt;
use std::sync::Arc;

use treedef::{LeafKind, Tree};

/// A structure with the kinds of its leaves. Where sequences or maps are folded, each is a leaf.
///
/// ```
/// use treedef_structures::Structures;
///
/// let mut structures = Structures::new().fold_lengths(true);
/// structures.add(&serde_json::from_str(r#"{"id": 1, "tags": ["a", "b"]}"#)?)?;
/// structures.add(&serde_json::from_str(r#"{"id": 2, "tags": []}"#)?)?;
/// let all = structures.by_count()?;
/// assert_eq!(all[0].structure.to_string(), r#"{"id": u64, "tags": [str; 0–2]}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Structure = Tree<StructureLeaf>;

/// A leaf of a [`Structure`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StructureLeaf {
    /// A scalar: `u64`.
    Scalar(Kinds),
    /// A folded sequence: `[str; 0–512]`.
    Seq(Arc<Collection>),
    /// A folded map, with keys that are data: `{*: f64; 3–90}`.
    Map(Arc<Collection>),
}

/// The elements of folded sequences, or the values of folded maps.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Collection {
    /// The minimum number of elements.
    pub shortest: u64,
    /// The maximum number of elements.
    pub longest: u64,
    /// One of each distinct element, in the order of their texts.
    pub elements: Vec<Structure>,
}

/// The kinds that a scalar of a [`Structure`] may have: one, or more if numbers are folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kinds {
    /// This kind.
    One(LeafKind),
    /// All integers: `int`.
    Integers,
    /// All floats: `float`.
    Floats,
    /// All numbers: `number`.
    Numbers,
}

impl fmt::Display for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kinds::One(kind) => kind.fmt(f),
            Kinds::Integers => f.pad("int"),
            Kinds::Floats => f.pad("float"),
            Kinds::Numbers => f.pad("number"),
        }
    }
}

/// As in the text of a structure.
///
/// ```
/// use treedef_structures::Structures;
///
/// let mut structures = Structures::new().fold_keys(2);
/// structures.add(&serde_json::from_str(r#"{"Ada": 1.5, "Bob": 2.5, "Cay": 0.5}"#)?)?;
/// assert_eq!(structures.by_count()?[0].structure.leaves()[0].to_string(), "{*: f64; 3}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl fmt::Display for StructureLeaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (collection, open, close) = match self {
            StructureLeaf::Scalar(kinds) => return kinds.fmt(f),
            StructureLeaf::Seq(collection) => (collection, "[", "]"),
            StructureLeaf::Map(collection) => (collection, "{*", "}"),
        };
        f.write_str(open)?;
        if open == "{*" && !collection.elements.is_empty() {
            f.write_str(": ")?;
        }
        for (position, element) in collection.elements.iter().enumerate() {
            let between = if position == 0 { "" } else { ", " };
            write!(f, "{between}{element}")?;
        }
        let Collection { shortest, longest, .. } = **collection;
        // `[str, u64; 3]` would mean three integers.
        let is_clear = open == "{*" || collection.elements.len() <= 1;
        match (shortest, longest) {
            (_, 0) => {}
            (shortest, longest) if shortest == longest && is_clear => write!(f, "; {longest}")?,
            (shortest, longest) => write!(f, "; {shortest}–{longest}")?,
        }
        f.write_str(close)
    }
}
