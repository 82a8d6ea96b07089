//! Structures as bytes.

use crate::error::Result;
use crate::model::{Limits, TreeDef};

use super::container::{ByteSource, Container, Kind, NewFile, Part, STRUCTURE};
use super::decode::{Decoded, EncodedBytes, decode};
use super::encode::{EncodedPart, encode_part};
use super::orders::OrderReader;
use super::wire::{invalid, wide};

impl TreeDef {
    /// Encodes the treedef as the bytes of a file.
    ///
    /// Equal treedefs have equal bytes on every machine. [`Limits`] and insertion orders are not included.
    ///
    /// # Errors
    ///
    /// Returns an error when the treedef exceeds its own [`Limits`], because
    /// [`from_bytes`](Self::from_bytes) would refuse the bytes. Also returns an error when it has
    /// more than 2³² nodes or names.
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let treedef = treedef::structure(&vec![(1.0, "a"); 1_000_000])?;
    /// let bytes = treedef.to_bytes()?;
    /// assert!(bytes.len() < 200);
    /// assert_eq!(TreeDef::from_bytes(&bytes)?, treedef);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "treespec_dumps")]
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let encoded = encode_part(std::iter::empty(), Some(self))?;
        self.to_file(Kind::TreeDef, &encoded, [&[]; 4])
    }

    /// Reads bytes that [`to_bytes`](Self::to_bytes) wrote, within [`Limits::default`].
    ///
    /// # Errors
    ///
    /// Returns an error when the bytes were changed or cut off, are of a later format or another
    /// kind of file, or exceed a limit.
    #[doc(alias = "treespec_loads")]
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        TreeDef::from_bytes_with(bytes, Limits::default())
    }

    /// Reads bytes that [`to_bytes`](Self::to_bytes) wrote, within the given limits.
    ///
    /// # Errors
    ///
    /// Same as [`from_bytes`](Self::from_bytes).
    pub fn from_bytes_with(bytes: &[u8], limits: Limits) -> Result<Self> {
        read_structure(&mut &*bytes, limits)
    }

    /// Checks that the limits of this treedef allow it to be loaded again.
    fn expect_loadable(&self, nodes: usize, bytes: usize) -> Result<()> {
        let (limits, root) = (self.limits, self.root());
        limits.expect_bytes(bytes)?;
        limits.expect_nodes(nodes)?;
        limits.expect_depth(root.levels())?;
        limits.expect_names(self.encoding.bytes_of_names(), bytes)?;
        limits.expect_printed(&self.encoding)?;
        // A file does not record that the treedef was made from a value, for which any work is
        // allowed.
        if self.walked { limits.expect_work(root.work(), self.num_leaves()) } else { Ok(()) }
    }

    /// A file with a structure, and with the orders, values, kinds and leaves of a tree.
    pub(super) fn to_file(
        &self,
        kind: Kind,
        encoded: &EncodedPart<'_>,
        [orders, values, kinds, leaves]: [&[u8]; 4],
    ) -> Result<Vec<u8>> {
        let structure = encoded.part()?;
        self.expect_loadable(encoded.nodes(), structure.len())?;
        let (options, counts) = (self.encoding.options, [encoded.nodes(), self.num_leaves()]);
        let parts = [&structure, orders, values, kinds, leaves];
        Ok(NewFile { kind, options, counts, parts }.write())
    }
}

/// Reads a file with a structure alone.
pub(super) fn read_structure(source: &mut dyn ByteSource<'_>, limits: Limits) -> Result<TreeDef> {
    let container = Container::open(source, Kind::TreeDef, limits)?;
    structure_of(&container, source, &mut OrderReader::new(&[])?, limits)
}

/// Reads the structure of a file, and checks it against the header.
pub(super) fn structure_of(
    container: &Container,
    source: &mut dyn ByteSource<'_>,
    orders: &mut OrderReader,
    limits: Limits,
) -> Result<TreeDef> {
    let bytes = &container.part(source, Part::Structure)?;
    let part = EncodedBytes { name: STRUCTURE, bytes, structure: Some(container.options) };
    let Decoded { structure, nodes, .. } = decode(&part, orders, limits)?;
    let treedef = structure.ok_or_else(|| invalid(STRUCTURE, "there is none"))?;
    if [wide(nodes), wide(treedef.num_leaves())] == container.counts {
        Ok(treedef)
    } else {
        Err(invalid("the header", "it counts a wrong number of nodes or leaves"))
    }
}
