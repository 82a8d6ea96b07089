//! Trees and signatures as text: printing and parsing.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::model::{LeafKind, Limits, Tree};
use crate::treedef::text::{LeafTexts, parse_signature, write_tree};

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

impl Tree<LeafKind> {
    /// Parses a signature within other limits than [`Limits::default`], which `parse` uses.
    ///
    /// `max_work` bounds the leaves that `; n` expands to, because they are stored one by one.
    ///
    /// # Errors
    ///
    /// As [`TreeDef::parse_with`](crate::TreeDef::parse_with).
    pub fn parse_with(text: &str, limits: Limits) -> Result<Self> {
        parse_signature(text, limits)
    }
}

impl FromStr for Tree<LeafKind> {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse_with(text, Limits::default())
    }
}
