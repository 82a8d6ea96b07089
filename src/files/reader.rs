//! Subtrees of a tree in a file, of which the rest is not read.

use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};

use crc32c::crc32c;

use crate::argument::{ToPath, ToPattern};
use crate::error::{Cause, Error, Result};
use crate::leaf::leaf_type::LeafType;
use crate::model::{Leaf, Limits, Tree, TreeDef};
use crate::path::Path;
use crate::treedef::node_ref::NodeRef;

use super::container::{
    CHUNK, HEADER, Header, Kind, TABLE_BYTES, Table, VALUES, check_length, cut_off, damaged,
    damaged_table, lengths_do_not_fit,
};
use super::file::{open, reserve};
use super::orders::OrderReader;
use super::scalars::{IndexedRows, Selection};
use super::structure::structure_of;
use super::tree::{LEAVES, name_damage, opaque_leaf, read_kinds, read_leaves, read_values};
use super::wire::{invalid, wide};

/// A tree in a file, of which subtrees are read without the rest.
///
/// Opening reads and checks the structure, which is small. A subtree then takes the bytes of its
/// own leaves, in blocks of 64 KiB, each with a checksum that is checked. So what is read is
/// verified as by [`Tree::load`]; damage elsewhere in the leaves is not seen.
///
/// Leaves that are whole values ([`Opaque`](crate::Opaque), or the arrays of
/// [`Flattener::arrays`](crate::Flattener::arrays)) share one checksum: a subtree that has one reads
/// all of them, once.
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
    contents: Contents<R>,
}

/// All except the structure.
struct Contents<R> {
    source: Bytes<R>,
    table: Table,
    /// One checksum for each chunk of the leaves.
    checksums: Vec<u8>,
    /// The tables of the leaves.
    indexed: IndexedRows,
    /// The insertion orders of the values among the leaves.
    orders: OrderReader,
    /// Where the values among the leaves are.
    values: Range<u64>,
    /// These values, once they were read.
    opaque: Option<Vec<Leaf>>,
    /// Where the leaves are.
    leaves: Range<u64>,
    /// The chunk of the leaves that was read last, and where it begins.
    last: Option<(u64, Vec<u8>)>,
}

/// Bytes that are read by their places.
struct Bytes<R> {
    reader: R,
    length: u64,
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
    /// Reads the structure of what [`Tree::to_bytes`] wrote, from the start to the end of `reader`.
    ///
    /// # Errors
    ///
    /// Returns an error when the structure is damaged, when the length is not that of the header,
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
    pub fn new(mut reader: R, limits: Limits) -> Result<Self> {
        let length = reader.seek(SeekFrom::End(0)).map_err(Cause::Io)?;
        let mut source = Bytes { reader, length };
        let header = source.at(0, length.min(wide(HEADER)))?;
        let header = Header::read(&header, Kind::Tree, limits)?;
        check_length(header.total()?, length)?;
        let structure = source.at(wide(HEADER), header.structure)?;
        header.verify(&structure)?;

        let mut at = wide(HEADER) + header.structure; // at most the length of the file
        let mut next = |bytes: u64, otherwise: fn() -> Error| {
            let start = at;
            at = start.checked_add(bytes).filter(|end| *end <= length).ok_or_else(otherwise)?;
            Ok::<_, Error>(start..at)
        };
        let table = source.part(&next(wide(TABLE_BYTES), lengths_do_not_fit)?)?;
        let table = Table::read(&table)?;
        // The lengths are not verified yet. If they do not fit, the table is damaged.
        let checksums = source.part(&next(table.bytes_of_checksums()?, damaged_table)?)?;
        table.verify(&checksums)?;
        let mut parts = [const { 0..0 }; 4];
        for (part, bytes) in parts.iter_mut().zip(table.lengths) {
            *part = next(bytes, lengths_do_not_fit)?;
        }
        if at != length {
            return Err(lengths_do_not_fit());
        }
        let [orders, values, kinds, leaves] = parts;
        let (orders, kinds) = (source.part(&orders)?, source.part(&kinds)?);
        table.verify_parts([Some(&orders), None, Some(&kinds)])?;
        let mut orders = OrderReader::new(&orders)?;
        let treedef = structure_of(&header, &structure, &mut orders, limits)?;
        let rows = read_kinds(&kinds)?;
        rows.expect(LEAVES, header.leaves, leaves.end - leaves.start)?;
        if values.is_empty() {
            orders.clone().finish()?;
        } else if rows.opaque() == 0 {
            return Err(invalid(VALUES, "there are too many"));
        }
        let (indexed, opaque, last) = (IndexedRows::new(rows), None, None);
        let contents =
            Contents { source, table, checksums, indexed, orders, values, opaque, leaves, last };
        Ok(TreeReader { name: None, treedef, contents })
    }

    /// The structure of the whole tree.
    pub fn treedef(&self) -> &TreeDef {
        &self.treedef
    }

    /// Reads the subtree at a path: what [`Tree::subtree`] gives of the whole.
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
        let TreeReader { name, treedef, contents } = self;
        let part = treedef.node(&*path).and_then(|node| contents.subtree(treedef, node));
        part.map_err(|error| in_file(name.as_deref(), error))
    }

    /// Reads the subtrees at the topmost nodes that a pattern names, one after the other, with their
    /// paths.
    ///
    /// # Errors
    ///
    /// Returns an error when the text is not a pattern, or when it names no node of the tree. Each
    /// subtree has the errors of [`subtree`](Self::subtree).
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
        let TreeReader { name, treedef, contents } = self;
        treedef.expect_match(&pattern, None).map_err(|error| in_file(name.as_deref(), error))?;
        Ok(treedef.matches(pattern).map(|(path, node)| {
            let part = contents.subtree(treedef, node);
            Ok((path, part.map_err(|error| in_file(name.as_deref(), error))?))
        }))
    }
}

impl<R: Read + Seek> Contents<R> {
    fn subtree<L: LeafType>(&mut self, treedef: &TreeDef, node: NodeRef<'_>) -> Result<Tree<L>> {
        let leaves = self.leaves(treedef, node.leaf_range())?;
        Ok(Tree::from_parts(node.to_treedef().with_limits(treedef.limits), leaves))
    }

    fn leaves<L: LeafType>(&mut self, treedef: &TreeDef, range: Range<usize>) -> Result<Vec<L>> {
        let Selection { rows, bytes, opaque } =
            self.indexed.select(&(wide(range.start)..wide(range.end)));
        let bits = self.bits(treedef, &bytes)?;
        if !opaque.is_empty() {
            self.read_opaque(treedef.limits)?;
        }
        let values = self.opaque.as_deref().unwrap_or_default();
        let values = values.get(near(opaque.start)..near(opaque.end)).unwrap_or_default();
        read_leaves(treedef, range, rows, &bits, values.iter().cloned())
    }

    /// Bytes of the leaves, verified.
    fn bits(&mut self, treedef: &TreeDef, range: &Range<u64>) -> Result<Vec<u8>> {
        let mut bits = Vec::new();
        reserve(&mut bits, range.end - range.start)?;
        let mut at = range.start;
        while at < range.end {
            let start = at - at % wide(CHUNK);
            let chunk = start..(start + wide(CHUNK)).min(self.leaves.end - self.leaves.start);
            let end = chunk.end.min(range.end);
            let bytes = self.chunk(treedef, &chunk)?;
            let inside = near(at - start)..near(end - start);
            bits.extend_from_slice(bytes.get(inside).unwrap_or_default());
            at = end;
        }
        Ok(bits)
    }

    /// A chunk of the leaves.
    fn chunk(&mut self, treedef: &TreeDef, chunk: &Range<u64>) -> Result<&[u8]> {
        let bytes = match self.last.take() {
            Some((start, bytes)) if start == chunk.start => bytes,
            _ => {
                let start = self.leaves.start;
                let bytes = self.source.part(&(start + chunk.start..start + chunk.end))?;
                let mut checksums = self.checksums.chunks(4);
                let checksum = checksums.nth(near(chunk.start) / CHUNK).unwrap_or_default();
                if crc32c(&bytes).to_le_bytes() != checksum {
                    let damage = near(chunk.start)..=near(chunk.end - 1);
                    return Err(damaged(&name_damage(treedef, &self.indexed.rows, damage)));
                }
                bytes
            }
        };
        Ok(&self.last.insert((chunk.start, bytes)).1)
    }

    /// Reads the values among the leaves.
    fn read_opaque(&mut self, limits: Limits) -> Result<()> {
        if self.opaque.is_none() {
            let bytes = self.source.part(&self.values)?;
            self.table.verify_parts([None, Some(&bytes), None])?;
            let values = read_values(&bytes, self.orders.clone(), limits)?;
            let (found, needed) = (wide(values.len()), self.indexed.rows.opaque());
            if found != needed {
                let reason =
                    if found < needed { "there are too few" } else { "there are too many" };
                return Err(invalid(VALUES, reason));
            }
            self.opaque = Some(values.into_iter().map(opaque_leaf).collect());
        }
        Ok(())
    }
}

fn in_file(name: Option<&FilePath>, error: Error) -> Error {
    match name {
        Some(name) => error.in_file(name.to_owned()),
        None => error,
    }
}

impl<R: Read + Seek> Bytes<R> {
    fn part(&mut self, range: &Range<u64>) -> Result<Vec<u8>> {
        self.at(range.start, range.end - range.start)
    }

    fn at(&mut self, start: u64, length: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        reserve(&mut bytes, length)?;
        self.reader.seek(SeekFrom::Start(start)).map_err(Cause::Io)?;
        let read = self.reader.by_ref().take(length).read_to_end(&mut bytes);
        if wide(read.map_err(Cause::Io)?) == length {
            return Ok(bytes);
        }
        // It was longer when it was opened.
        let found = self.reader.seek(SeekFrom::End(0)).map_err(Cause::Io)?;
        Err(cut_off(self.length, found))
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

/// A place in memory.
fn near(at: u64) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}
