//! Files.

mod wire;
mod scalars;
mod encode;
mod orders;
mod decode;
mod container;
mod tree;
mod fingerprint;
mod serde;
mod file;

use crate::error::Result;
use crate::model::{Limits, TreeDef};

use container::{Header, Kind};
use decode::{Decoded, Part, decode};
use encode::{Encoded, encode};
use orders::OrderReader;
use wire::wide;

pub use fingerprint::Fingerprint;

const STRUCTURE: &str = "the structure";

impl TreeDef {
    /// The treedef as the bytes of a file.
    ///
    /// Equal treedefs have equal bytes, on every platform. [`Limits`] and remembered orders of maps are not among them.
    ///
    /// # Errors
    ///
    /// When it has more than 2³² nodes or names.
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
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let Encoded { mut part, nodes, .. } = encode(std::iter::empty(), Some(self))?;
        let header = self.header(Kind::TreeDef, &part, nodes, 0);
        part.splice(..0, header.write());
        Ok(part)
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote, within [`Limits::default`].
    ///
    /// # Errors
    ///
    /// When the bytes are anything else: changed, cut off, of a later format, of another kind of file, beyond a limit.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        TreeDef::from_bytes_with(bytes, Limits::default())
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote, within other limits.
    ///
    /// # Errors
    ///
    /// As [`from_bytes`](Self::from_bytes).
    pub fn from_bytes_with(bytes: &[u8], limits: Limits) -> Result<Self> {
        let header = Header::read(bytes, Kind::TreeDef, limits)?;
        let (structure, _) = header.parts(bytes)?;
        structure_of(&header, structure, &mut OrderReader::new(&[])?, limits)
    }

    fn header(&self, kind: Kind, part: &[u8], nodes: usize, rest: usize) -> Header {
        Header {
            kind,
            options: self.encoding.options,
            structure: wide(part.len()),
            nodes: wide(nodes),
            leaves: wide(self.num_leaves()),
            rest: wide(rest),
            checksum: crc32c::crc32c(part),
        }
    }
}

/// Reads the structure of a file, and checks what its header says of it.
fn structure_of(
    header: &Header,
    bytes: &[u8],
    orders: &mut OrderReader,
    limits: Limits,
) -> Result<TreeDef> {
    let part = Part { name: STRUCTURE, bytes, structure: Some(header.options) };
    let Decoded { structure, nodes, .. } = decode(&part, orders, limits)?;
    let treedef = structure.ok_or_else(|| wire::invalid(STRUCTURE, "there is none"))?;
    match (wide(nodes), wide(treedef.num_leaves())) == (header.nodes, header.leaves) {
        true => Ok(treedef),
        false => Err(wire::invalid("the header", "it counts other nodes or leaves than there are")),
    }
}
