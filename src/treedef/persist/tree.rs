//! A tree in a file: its structure and its leaves.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::error::{ErrorKind, Result};
use crate::leaf::leaf_type::{Emit, LeafType};
use crate::model::{Leaf, LeafKind, Limits, Tree, TreeDef, Value};
use crate::treedef::arrays::in_one_buffer;
use crate::treedef::limits::PrintCost;

use super::container::{Header, KINDS, Kind, Trailer, VALUES, damaged};
use super::decode::{Decoded, Part, decode};
use super::encode::encode_part;
use super::orders::{self, OrderReader};
use super::scalars::{ScalarReader, ScalarWriter, Stored};
use super::structure::structure_of;
use super::wire::{self, Orders, ScalarRows, wide};

const LEAVES: &str = "the leaves";

pub(crate) fn write<L: LeafType>(tree: &Tree<L>) -> Result<Vec<u8>> {
    let structure = encode_part(std::iter::empty(), Some(&tree.treedef))?;
    let (mut writer, mut opaque) = (ScalarWriter::default(), Vec::new());
    for leaf in &tree.leaves {
        match (leaf.as_scalar(), leaf.opaque()) {
            (Some(scalar), _) => writer.push(scalar),
            (None, Some(value)) => {
                writer.push_opaque();
                opaque.push(value);
            }
            (None, None) => {} // every leaf is a scalar or opaque
        }
    }
    let (mut kinds, leaves) = (Vec::new(), writer.bits);
    wire::write(&writer.rows, &mut kinds)?;

    let values =
        if opaque.is_empty() { None } else { Some(encode_part(opaque.iter().copied(), None)?) };
    let mut remembered = Orders::default();
    orders::write(&structure.orders, 0, &mut remembered)?;
    if let Some(values) = &values {
        orders::write(&values.orders, structure.numbers, &mut remembered)?;
    }
    let mut order = Vec::new();
    if !remembered.maps.is_empty() {
        wire::write(&remembered, &mut order)?;
    }
    let values = values.map_or(Ok(Vec::new()), |values| values.part(0))?;
    let printed = opaque.iter().map(|value| PrintCost::of_value(value));
    let printed = printed.fold(PrintCost::default(), PrintCost::and);
    tree.treedef.limits.expect_stored(printed, values.len())?;
    let names = opaque.iter().map(|value| value.bytes_of_names());
    tree.treedef.limits.expect_names(names.fold(0, usize::saturating_add), values.len())?;
    let rest = Trailer::write([&order, &values, &kinds], &leaves)?;
    let mut file = tree.treedef.begin_file(Kind::Tree, &structure, rest.len())?;
    file.extend_from_slice(&rest);
    Ok(file)
}

pub(crate) fn read<L: LeafType>(bytes: &[u8], limits: Limits) -> Result<Tree<L>> {
    let header = Header::read(bytes, Kind::Tree, limits)?;
    let (structure, rest) = header.parts(bytes)?;
    let parts = Trailer::read(rest)?;
    let mut orders = OrderReader::new(parts.orders)?;
    let treedef = structure_of(&header, structure, &mut orders, limits)?;
    let values = if parts.values.is_empty() {
        Vec::new()
    } else {
        let part = Part { name: VALUES, bytes: parts.values, structure: None };
        let Decoded { values, .. } = decode(&part, &mut orders, limits)?;
        if values.is_empty() {
            return Err(wire::invalid(VALUES, "there are none"));
        }
        values
    };
    orders.finish()?;
    let mut kinds = parts.kinds;
    let rows: ScalarRows = wire::read(&mut kinds, KINDS)?;
    if !kinds.is_empty() {
        return Err(wire::invalid(KINDS, "they go on behind the tables"));
    }
    if let Some(damage) = parts.damage() {
        return Err(damaged(&name_damage(&treedef, &rows, damage)));
    }
    let leaves = read_leaves(&treedef, rows, parts.leaves, values)?;
    Ok(Tree::from_parts(treedef, leaves))
}

fn read_leaves<L: Emit>(
    treedef: &TreeDef,
    rows: ScalarRows,
    bits: &[u8],
    values: Vec<Value>,
) -> Result<Vec<L>> {
    let mut scalars = ScalarReader::new(LEAVES, rows, bits)?;
    let mut values = values.into_iter();
    let mut leaves = Vec::with_capacity(treedef.num_leaves().min(scalars.at_most()));
    for index in 0..treedef.num_leaves() {
        let (leaf, found) = match scalars.next()? {
            Stored::Scalar(scalar) => (L::from_scalar(scalar), scalar.kind()),
            Stored::Opaque => {
                let value = values.next();
                let value = value.ok_or_else(|| wire::invalid(VALUES, "there are too few"))?;
                let leaf = Leaf::Opaque(Arc::new(in_one_buffer(value)));
                (L::from_leaf(leaf), LeafKind::Opaque)
            }
        };
        leaves.push(leaf.ok_or_else(|| {
            treedef.error_at_leaf(index, ErrorKind::LeafKind { expected: L::KIND, found })
        })?);
    }
    scalars.finish()?;
    match values.next() {
        None => Ok(leaves),
        Some(_) => Err(wire::invalid(VALUES, "there are too many")),
    }
}

/// The indices and paths of the leaves whose bytes are damaged.
fn name_damage(treedef: &TreeDef, rows: &ScalarRows, bytes: RangeInclusive<usize>) -> String {
    let leaf = |byte: &usize| usize::try_from(rows.scalar_at(wide(*byte))).unwrap_or(usize::MAX);
    let (first, last) = (leaf(bytes.start()), leaf(bytes.end()));
    match (treedef.leaf_path(first), treedef.leaf_path(last)) {
        (Ok(from), Ok(to)) if first < last => {
            format!("leaves {first} to {last}, `{}` to `{}`", from.brief(), to.brief())
        }
        (Ok(path), Ok(_)) => format!("leaf {first}, `{}`", path.brief()),
        _ => LEAVES.to_owned(), // the kinds do not match the structure
    }
}
