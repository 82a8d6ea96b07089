//! Trees and signatures as text: printing and parsing.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::model::{LeafKind, Limits, Tree};
use crate::text::{KindsAndShapes, LeafTexts, parse_signature, write_tree};

/// Prints the structure with the leaves in their places. Siblings are equal if they print the same.
///
/// ```
/// use treedef::Tree;
///
/// let tree = Tree::new("Model { w: [*; 9], b: (*, *) }".parse()?, vec!["up"; 11])?;
/// assert_eq!(tree.to_string(), "Model { w: [up; 9], b: (up, up) }");
/// assert_eq!(format!("{tree:#24}"), "Model {\n  w: [up; 9],\n  b: (up, up),\n}");
/// # Ok::<(), treedef::Error>(())
/// ```
impl<L: fmt::Display> fmt::Display for Tree<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_tree(f, &self.treedef, &LeafTexts::of(&self.leaves)?)
    }
}

impl<L: fmt::Debug> fmt::Debug for Tree<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree")
            .field("treedef", &self.treedef)
            .field("leaves", &self.leaves)
            .finish()
    }
}

/// # Signatures
impl Tree<LeafKind> {
    /// Parses a signature within `limits`; `parse` uses [`Limits::default`].
    ///
    /// `max_work` bounds the leaves that `; n` expands to, because they are stored one by one.
    ///
    /// # Errors
    ///
    /// As [`TreeDef::parse_with`](crate::TreeDef::parse_with).
    ///
    /// ```
    /// use treedef::{Limits, Tree};
    ///
    /// let limits = Limits { max_work: 2000, ..Limits::default() };
    /// let signature = Tree::parse_with("(str, [f32; 1000])", limits)?;
    /// assert_eq!(signature, treedef::signature(&("a", vec![0.5f32; 1000]))?);
    /// assert!(Tree::parse_with("(str, [f32; 9999])", limits).is_err());
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn parse_with(text: &str, limits: Limits) -> Result<Self> {
        parse_signature(text, limits)
    }
}

/// A signature whose arrays print with their shapes.
struct WithShapes<'a>(&'a Tree<LeafKind>);

impl Tree<LeafKind> {
    /// The signature in the notation of JAX, where an array is its kind and its shape.
    ///
    /// Sequences have brackets, tuples and Rust arrays have parentheses: a `Vec<[f32; 3]>` with 100
    /// elements is `f32[100](3)`. A lone leaf has no dimensions, as `u64[]`. The text parses back
    /// to the same signature. `{:#}` prints one field a line.
    ///
    /// ```
    /// use serde::Serialize;
    /// use treedef::{LeafKind, Tree};
    ///
    /// #[derive(Serialize)]
    /// struct Layer { w: Vec<Vec<f32>>, b: [f32; 4], step: u64 }
    ///
    /// let layer = Layer { w: vec![vec![0.0; 4]; 3], b: [0.0; 4], step: 7 };
    /// let signature = treedef::signature(&layer)?;
    /// let text = signature.with_shapes().to_string();
    /// assert_eq!(text, "Layer { w: f32[3, 4], b: f32(4), step: u64[] }");
    /// assert_eq!(text.parse::<Tree<LeafKind>>()?, signature);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "eval_shape")]
    #[doc(alias = "ShapeDtypeStruct")]
    pub fn with_shapes(&self) -> impl fmt::Display + fmt::Debug {
        WithShapes(self)
    }
}

impl fmt::Display for WithShapes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_tree(f, &self.0.treedef, &KindsAndShapes(&self.0.leaves))
    }
}

impl fmt::Debug for WithShapes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WithShapes({self})")
    }
}

impl FromStr for Tree<LeafKind> {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse_with(text, Limits::default())
    }
}
