//! Subtrees of a tree in a file, without reading the rest.

use std::fmt;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path as FilePath, PathBuf};

use crate::argument::{ToPath, ToPattern};
use crate::error::{Error, Result};
use crate::leaf::leaf_type::LeafType;
use crate::model::{Leaf, Limits, Tree, TreeDef};
use crate::path::Path;
use crate::treedef::node_ref::NodeRef;

use super::container::ByteSource;
use super::file::{SeekSource, open};
use super::tree::TreeParts;

/// A tree in a file. Its subtrees are read without the rest.
///
/// Opening reads and checks the structure, which is small. A subtree then reads the bytes of its
/// own leaves, in chunks of 64 KiB with a checksum each. So the result is verified as by
/// [`Tree::load`]; damage elsewhere in the leaves is not noticed.
///
/// Leaves that are whole values ([`Opaque`](crate::Opaque), or the arrays of
/// [`Flattener::arrays`](crate::Flattener::arrays)) share one checksum: the first subtree with such
/// a leaf reads all of them.
///
/// ```
/// use treedef::{Limits, Tree, TreeReader};
///
/// let file = std::env::temp_dir().join(format!("parts-{}.tree", std::process::id()));
/// Tree::of(&(vec![0.5; 100_000], vec![("w", 1.5), ("b", 2.5)]))?.save(&file)?;
///
/// let mut reader = TreeReader::open(&file, Limits::default())?;
/// assert_eq!(reader.treedef().to_string(), "([*; 100000], [(*, *); 2])");
/// assert_eq!(reader.subtree(".1[0]")?.to_string(), r#"("w", 1.5)"#);
/// # std::fs::remove_file(file).unwrap();
/// # Ok::<(), treedef::Error>(())
/// ```
pub struct TreeReader<R> {
    name: Option<PathBuf>,
    treedef: TreeDef,
    source: SeekSource<R>,
    parts: TreeParts<'static>,
}

impl TreeReader<File> {
    /// Opens a file that [`Tree::save`] wrote.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new); the error has the name of the file.
    pub fn open(file: impl AsRef<FilePath>, limits: Limits) -> Result<Self> {
        let name = file.as_ref().to_owned();
        match open(&name).and_then(|file| TreeReader::new(file, limits)) {
            Ok(reader) => Ok(TreeReader { name: Some(name), ..reader }),
            Err(error) => Err(error.in_file(name)),
        }
    }
}

impl<R: Read + Seek> TreeReader<R> {
    /// Reads the structure of a tree that [`Tree::to_bytes`] wrote, from the start to the end of
    /// `reader`.
    ///
    /// # Errors
    ///
    /// Returns an error when the structure is damaged, when the length is not the one in the header,
    /// when it is of a later format or of another kind of file, or exceeds a limit; also errors of
    /// `reader`.
    ///
    /// ```
    /// use std::io::Cursor;
    /// use treedef::{Limits, Tree, TreeReader};
    ///
    /// let bytes = Tree::of(&("a", [1, 2]))?.to_bytes()?;
    /// let mut reader = TreeReader::new(Cursor::new(bytes), Limits::default())?;
    /// assert_eq!(reader.subtree(".1")?.to_string(), "(1, 2)");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn new(reader: R, limits: Limits) -> Result<Self> {
        let mut source = SeekSource::new(reader)?;
        let (treedef, parts) = TreeParts::open(&mut source, limits)?;
        Ok(TreeReader { name: None, treedef, source, parts })
    }

    /// The structure of the whole tree.
    pub fn treedef(&self) -> &TreeDef {
        &self.treedef
    }

    /// Reads the subtree at a path. The result is the same as [`Tree::subtree`] of the whole tree.
    ///
    /// # Errors
    ///
    /// Returns an error when the path leads nowhere; when the bytes of the subtree are damaged, with
    /// the indices and paths of the leaves; also errors of the reader.
    pub fn subtree(&mut self, path: impl ToPath) -> Result<Tree<Leaf>> {
        self.subtree_as(path)
    }

    /// As [`subtree`](Self::subtree), with leaves of type `L`.
    ///
    /// # Errors
    ///
    /// As [`subtree`](Self::subtree); also when a leaf has another kind.
    ///
    /// ```
    /// use std::io::Cursor;
    /// use treedef::{Limits, Tree, TreeReader};
    ///
    /// let bytes = Tree::of(&("a", [1.5, 2.5]))?.to_bytes()?;
    /// let mut reader = TreeReader::new(Cursor::new(bytes), Limits::default())?;
    /// assert_eq!(reader.subtree_as::<f64>(".1")?.leaves(), [1.5, 2.5]);
    ///
    /// let error = reader.subtree_as::<f64>("").unwrap_err();
    /// assert_eq!(error.to_string(), "expected f64, found str at `.0`");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn subtree_as<L: LeafType>(&mut self, path: impl ToPath) -> Result<Tree<L>> {
        let path = path.to_path()?;
        let TreeReader { name, treedef, source, parts } = self;
        let part = treedef.node(&*path).and_then(|node| subtree(parts, source, treedef, node));
        part.map_err(|error| in_file(name.as_deref(), error))
    }

    /// Reads the subtrees at the topmost nodes that a pattern matches, one after the other, with
    /// their paths.
    ///
    /// # Errors
    ///
    /// Returns an error when the text is not a pattern, or when it matches no node of the tree.
    /// Each subtree may have the errors of [`subtree`](Self::subtree).
    ///
    /// ```
    /// use std::io::Cursor;
    /// use treedef::{Limits, Tree, TreeReader};
    ///
    /// let bytes = Tree::new("[Layer { w: [*; 2], b: * }; 2]".parse()?, vec![1, 2, 3, 4, 5, 6])?
    ///     .to_bytes()?;
    /// let mut reader = TreeReader::new(Cursor::new(bytes), Limits::default())?;
    /// let weights = reader.subtrees("**.w")?.collect::<treedef::Result<Vec<_>>>()?;
    /// let printed: Vec<String> =
    ///     weights.iter().map(|(path, tree)| format!("{path}: {tree}")).collect();
    /// assert_eq!(printed, ["[0].w: [1, 2]", "[1].w: [4, 5]"]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn subtrees(
        &mut self,
        pattern: impl ToPattern,
    ) -> Result<impl Iterator<Item = Result<(Path, Tree<Leaf>)>>> {
        let pattern = pattern.to_pattern()?.into_owned();
        let TreeReader { name, treedef, source, parts } = self;
        treedef.expect_match(&pattern).map_err(|error| in_file(name.as_deref(), error))?;
        Ok(treedef.matches(pattern).map(|(path, node)| {
            let part = subtree(parts, source, treedef, node);
            Ok((path, part.map_err(|error| in_file(name.as_deref(), error))?))
        }))
    }
}

fn subtree<L: LeafType>(
    parts: &mut TreeParts<'static>,
    source: &mut dyn ByteSource<'static>,
    treedef: &TreeDef,
    node: NodeRef<'_>,
) -> Result<Tree<L>> {
    let leaves = parts.leaves(source, treedef, node.leaf_range())?;
    Ok(Tree::from_parts(node.to_treedef(), leaves))
}

fn in_file(name: Option<&FilePath>, error: Error) -> Error {
    match name {
        Some(name) => error.in_file(name.to_owned()),
        None => error,
    }
}

impl<R> fmt::Debug for TreeReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeReader")
            .field("file", &self.name)
            .field("treedef", &self.treedef)
            .finish_non_exhaustive()
    }
}
