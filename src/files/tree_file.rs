//! The methods of [`Tree`] for bytes and files.

use std::path::Path;

use crate::error::Result;
use crate::leaf::leaf_type::LeafType;
use crate::model::{Leaf, Limits, Tree};

use super::file::{load_tree, save};
use super::tree::{read, write};

impl<L: LeafType> Tree<L> {
    /// The tree as the bytes of a file: structure, leaves, and the insertion orders of maps.
    ///
    /// Every leaf keeps its kind and its bits, including NaNs and 128-bit integers.
    ///
    /// # Errors
    ///
    /// Returns an error when the structure exceeds its own [`Limits`], because
    /// [`from_bytes`](Tree::from_bytes) would then refuse the bytes; when there are more than 2³²
    /// nodes, names, or values among the leaves.
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
        write(self)
    }
}

impl Tree<Leaf> {
    /// Reads a tree that [`to_bytes`](Self::to_bytes) wrote, within [`Limits::default`].
    ///
    /// # Errors
    ///
    /// Returns an error when the bytes are damaged, cut off, of a later format, of another kind of
    /// file, or exceed a limit. If leaves are damaged, the error has their indices and paths.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::of(&("a", vec![1.5; 3]))?;
    /// let bytes = tree.to_bytes()?;
    /// assert_eq!(Tree::from_bytes(&bytes)?, tree);
    ///
    /// let error = Tree::from_bytes(&bytes[..10]).unwrap_err();
    /// assert_eq!(error.to_string(), "cut off: expected at least 96 bytes, found 10");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Tree::from_bytes_as(bytes, Limits::default())
    }

    /// Reads a tree that [`to_bytes`](Self::to_bytes) wrote, with leaves of type `L`. The leaves
    /// must have that type; `f64` also accepts `f32`.
    ///
    /// # Errors
    ///
    /// As [`from_bytes`](Self::from_bytes); also when a leaf has another kind.
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
        read(&mut &*bytes, limits)
    }
}

impl<L: LeafType> Tree<L> {
    /// Writes the tree to a file. The old contents stay until the new ones are safe on the disk.
    ///
    /// # Errors
    ///
    /// As [`to_bytes`](Self::to_bytes). Also errors of the operating system; the old file is then
    /// unchanged, unless only flushing the folder failed.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let file = std::env::temp_dir().join(format!("saved-{}.tree", std::process::id()));
    /// let model = (vec![0.5f32; 1000], "adam".to_owned());
    /// Tree::of(&model)?.save(&file)?;
    /// assert_eq!(Tree::load(&file)?.into_typed::<(Vec<f32>, String)>()?, model);
    /// # std::fs::remove_file(file).unwrap();
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        save(path.as_ref(), &self.to_bytes()?)
    }
}

impl Tree<Leaf> {
    /// Reads a tree from a file that [`save`](Self::save) wrote, within [`Limits::default`].
    ///
    /// # When to use which
    ///
    /// Use a [`TreeReader`](crate::TreeReader) to read a part of a file, or to read the whole as leaves of
    /// one type or within other limits: `TreeReader::open(path, limits)?.subtree_as::<f64>("")`. For bytes
    /// in memory, use [`from_bytes`](Self::from_bytes) and [`from_bytes_as`](Tree::from_bytes_as).
    ///
    /// # Errors
    ///
    /// As [`from_bytes`](Self::from_bytes); also errors of the operating system. The error has the
    /// name of the file.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let file = std::env::temp_dir().join(format!("loaded-{}.tree", std::process::id()));
    /// Tree::of(&[("w", 1.5), ("b", 2.5)])?.save(&file)?;
    /// let tree = Tree::load(&file)?;
    /// assert_eq!(tree.to_string(), r#"(("w", 1.5), ("b", 2.5))"#);
    /// # std::fs::remove_file(&file).unwrap();
    ///
    /// let error = Tree::load(&file).unwrap_err();
    /// assert_eq!(error.file(), Some(&*file));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        load_tree(path.as_ref())
    }
}
