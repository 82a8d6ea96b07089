//! A structure and its leaves in one file.

use crate::error::{Error, ErrorKind, Result};
use crate::leaf::{Emit, LeafType};
use crate::model::{Leaf, LeafKind, Limits, Tree, TreeDef, Value};

use super::container::{Header, Kind, Trailer, damaged};
use super::decode::{Decoded, Part, decode};
use super::encode::{Encoded, encode};
use super::orders::{self, OrderReader};
use super::scalars::{ScalarReader, ScalarWriter, Stored};
use super::structure_of;
use super::wire::{self, Orders, ScalarRows, wide};

const VALUES: &str = "the values among the leaves";
const LEAVES: &str = "the leaves";

impl<L: LeafType> Tree<L> {
    /// The tree as the bytes of a file: structure, leaves, and the remembered orders of maps.
    ///
    /// Every leaf keeps its kind and its bits, NaNs and 128-bit integers too.
    ///
    /// # Errors
    ///
    /// When it has more than 2³² nodes, names or values among the leaves.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let bytes = Tree::of(&("a", f32::NAN, u128::MAX))?.to_bytes()?;
    /// let tree = Tree::from_bytes(&bytes)?;
    /// let (_, nan, most) = tree.into_value::<(String, f32, u128)>()?;
    /// assert_eq!((nan.to_bits(), most), (f32::NAN.to_bits(), u128::MAX));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let structure = encode(std::iter::empty(), Some(&self.treedef))?;
        let (mut writer, mut opaque) = (ScalarWriter::default(), Vec::new());
        for leaf in &self.leaves {
            match (leaf.as_scalar(), leaf.opaque()) {
                (Some(scalar), _) => writer.push(scalar),
                (None, Some(value)) => {
                    writer.push_opaque();
                    opaque.push(value);
                }
                (None, None) => {} // every leaf is one of the two
            }
        }
        let mut leaves = Vec::with_capacity(writer.bits.len() + 64);
        wire::write(&writer.rows, &mut leaves)?;
        leaves.append(&mut writer.bits);

        let Encoded { part, nodes, structures, orders } = structure;
        let values = match opaque.is_empty() {
            true => None,
            false => Some(encode(opaque.into_iter(), None)?),
        };
        let mut remembered = Orders::default();
        orders::write(&orders, 0, &mut remembered)?;
        if let Some(values) = &values {
            orders::write(&values.orders, structures, &mut remembered)?;
        }
        let mut order = Vec::new();
        if !remembered.maps.0.is_empty() {
            wire::write(&remembered, &mut order)?;
        }
        let values = values.map(|values| values.part).unwrap_or_default();
        let rest = Trailer::write(&order, &values, &leaves);
        let header = self.treedef.header(Kind::Tree, &part, nodes, rest.len());
        Ok([&header.write()[..], &part, &rest].concat())
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote, within [`Limits::default`].
    ///
    /// The leaves may be of any type that the kinds in the file go into: [`Leaf`] for all, `f64` for `f32` too.
    ///
    /// # Errors
    ///
    /// When the bytes are anything else: changed, cut off, of a later format, of another kind of file, beyond a limit; when a
    /// leaf is of another kind. Damage among the leaves is told by their indices and paths.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Tree::from_bytes_with(bytes, Limits::default())
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote, within other limits.
    ///
    /// # Errors
    ///
    /// As [`from_bytes`](Self::from_bytes).
    pub fn from_bytes_with(bytes: &[u8], limits: Limits) -> Result<Self> {
        let header = Header::read(bytes, Kind::Tree, limits)?;
        let (structure, rest) = header.parts(bytes)?;
        let parts = Trailer::read(rest)?;
        let mut orders = OrderReader::new(parts.orders)?;
        let treedef = structure_of(&header, structure, &mut orders, limits)?;
        let values = match parts.values.is_empty() {
            true => Vec::new(),
            false => {
                let part = Part { name: VALUES, bytes: parts.values, structure: None };
                let Decoded { values, .. } = decode(&part, &mut orders, limits)?;
                match values.is_empty() {
                    true => return Err(wire::invalid(VALUES, "there are none")),
                    false => values,
                }
            }
        };
        orders.finish()?;
        if let Some(damage) = parts.damage() {
            return Err(damaged(&name_damage(&treedef, parts.leaves, damage)));
        }
        let leaves = read_leaves(&treedef, parts.leaves, values)?;
        Ok(Tree::from_parts(treedef, leaves))
    }
}

fn read_leaves<L: Emit>(treedef: &TreeDef, mut part: &[u8], values: Vec<Value>) -> Result<Vec<L>> {
    let rows = wire::read(&mut part, LEAVES)?;
    let mut scalars = ScalarReader::new(LEAVES, rows, part)?;
    let mut values = values.into_iter();
    let mut leaves = Vec::with_capacity(treedef.num_leaves().min(scalars.at_most()));
    for index in 0..treedef.num_leaves() {
        let (leaf, found) = match scalars.next()? {
            Stored::Scalar(scalar) => (L::from_scalar(scalar), scalar.kind()),
            Stored::Opaque => {
                let value = values.next();
                let value = value.ok_or_else(|| wire::invalid(VALUES, "there are too few"))?;
                (L::from_leaf(Leaf::Opaque(Box::new(value))), LeafKind::Opaque)
            }
        };
        leaves.push(leaf.ok_or_else(|| {
            let error = Error::from(ErrorKind::LeafKind { expected: L::KIND, found });
            error.at(treedef.leaf_path(index).unwrap_or_default()) // the index is one of the treedef's
        })?);
    }
    scalars.finish()?;
    match values.next() {
        None => Ok(leaves),
        Some(_) => Err(wire::invalid(VALUES, "there are too many")),
    }
}

/// The leaves whose bytes are damaged, as far as what says where they stand is whole.
fn name_damage(treedef: &TreeDef, part: &[u8], (first, end): (usize, usize)) -> String {
    let mut bits = part;
    let rows: Option<ScalarRows> = wire::read(&mut bits, LEAVES).ok();
    let tables = part.len() - bits.len();
    let (Some(rows), true) = (rows, tables <= first) else { return LEAVES.to_owned() };
    let leaf = |byte: usize| {
        let leaf = rows.scalar_at(wide(byte.saturating_sub(tables)));
        usize::try_from(leaf).unwrap_or(usize::MAX)
    };
    let (first, last) = (leaf(first), leaf(end.saturating_sub(1)));
    match (treedef.leaf_path(first), treedef.leaf_path(last)) {
        (Ok(from), Ok(to)) => format!("leaves {first} to {last}, `{from}` to `{to}`,"),
        _ => LEAVES.to_owned(),
    }
}
