//! Trees in files.

use std::path::Path;

use crate::error::Result;
use crate::leaf::leaf_type::LeafType;
use crate::model::{Leaf, Limits, Tree};
use crate::treedef::persist::{load_tree, read_tree, save, write_tree};

impl<L: LeafType> Tree<L> {
    /// The tree as the bytes of a file: structure, leaves, and the remembered orders of maps.
    ///
    /// Every leaf keeps its kind and its bits, NaNs and 128-bit integers too.
    ///
    /// # Errors
    ///
    /// When the structure is beyond its own [`Limits`], so that [`from_bytes`](Tree::from_bytes) would refuse the bytes;
    /// when it has more than 2³² nodes, names or values among the leaves.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let bytes = Tree::of(&("a", f32::NAN, u128::MAX))?.to_bytes()?;
    /// let tree = Tree::from_bytes(&bytes)?;
    /// let (_, nan, most) = tree.into_typed::<(String, f32, u128)>()?;
    /// assert_eq!((nan.to_bits(), most), (f32::NAN.to_bits(), u128::MAX));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        write_tree(self)
    }
}

impl Tree<Leaf> {
    /// Reads what [`to_bytes`](Self::to_bytes) wrote, within [`Limits::default`].
    ///
    /// # Errors
    ///
    /// When the bytes are anything else: changed, cut off, of a later format, of another kind of file, beyond a limit.
    /// Damage among the leaves is told by their indices and paths.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Tree::from_bytes_as(bytes, Limits::default())
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote, as a tree with leaves of one type: that of the leaves in the file, or
    /// `f64` for `f32` too.
    ///
    /// # Errors
    ///
    /// As [`from_bytes`](Self::from_bytes), and when a leaf is of another kind.
    ///
    /// ```
    /// use treedef::{Limits, Tree};
    ///
    /// let bytes = Tree::of(&([1.0f64, 2.0], 0.5f32))?.to_bytes()?;
    /// let tree = Tree::from_bytes_as::<f64>(&bytes, Limits::default())?;
    /// assert_eq!(tree.leaves(), [1.0, 2.0, 0.5]);
    ///
    /// let error = Tree::from_bytes_as::<f32>(&bytes, Limits::default()).unwrap_err();
    /// assert_eq!(error.to_string(), "expected f32, found f64 at `.0.0`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn from_bytes_as<L: LeafType>(bytes: &[u8], limits: Limits) -> Result<Tree<L>> {
        read_tree(bytes, limits)
    }
}

impl<L: LeafType> Tree<L> {
    /// Writes the tree to a file, whose old contents stay until the new ones are safe on the disk.
    ///
    /// # Errors
    ///
    /// What the operating system says: then the old file is as it was, unless all went well but flushing the folder.
    /// And as [`to_bytes`](Self::to_bytes).
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        save(path.as_ref(), &self.to_bytes()?)
    }
}

impl Tree<Leaf> {
    /// Reads a tree from a file that [`save`](Self::save) wrote, within [`Limits::default`].
    ///
    /// # Errors
    ///
    /// As [`from_bytes`](Self::from_bytes), and what the operating system says; the error names the file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Tree::load_as(path, Limits::default())
    }

    /// Reads a tree with leaves of one type from a file.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load), and when a leaf is of another kind.
    pub fn load_as<L: LeafType>(path: impl AsRef<Path>, limits: Limits) -> Result<Tree<L>> {
        load_tree(path.as_ref(), limits)
    }
}
