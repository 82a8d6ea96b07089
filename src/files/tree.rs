//! A tree in a file: its structure and its leaves.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::arrays::collect::in_one_buffer;
use crate::error::{Cause, Result};
use crate::leaf::leaf_type::{Emit, LeafType};
use crate::model::{Leaf, LeafKind, Limits, Tree, TreeDef, Value};

use super::container::{Header, KINDS, Kind, Trailer, VALUES, damaged};
use super::decode::{Decoded, Part, decode};
use super::encode::encode_part;
use super::orders::{self, OrderReader};
use super::scalars::{ScalarReader, ScalarWriter, Stored};
use super::structure::structure_of;
use super::wire::{self, Orders, ScalarRows, wide};

pub(super) const LEAVES: &str = "the leaves";

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
    expect_values(tree.treedef.limits, opaque.iter().copied(), values.len())?;
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
    let values = read_values(parts.values, orders, limits)?;
    let rows = read_kinds(parts.kinds)?;
    if let Some(damage) = parts.damage() {
        return Err(damaged(&name_damage(&treedef, &rows, damage)));
    }
    let values = values.into_iter().map(opaque_leaf);
    let leaves = read_leaves(&treedef, 0..treedef.num_leaves(), rows, parts.leaves, values)?;
    Ok(Tree::from_parts(treedef, leaves))
}

/// Checks the values among the leaves, which take so many bytes.
fn expect_values<'v>(
    limits: Limits,
    values: impl Iterator<Item = &'v Value> + Clone,
    bytes: usize,
) -> Result<()> {
    let sum = |of: fn(&Value) -> usize| values.clone().map(of).fold(0, usize::saturating_add);
    limits.expect_work(sum(Value::work), sum(Value::stored))?;
    limits.expect_names(sum(Value::bytes_of_names), bytes)
}

/// The values among the leaves. `orders` are those that the structure left.
pub(super) fn read_values(
    bytes: &[u8],
    mut orders: OrderReader,
    limits: Limits,
) -> Result<Vec<Value>> {
    let mut values = Vec::new();
    if !bytes.is_empty() {
        let part = Part { name: VALUES, bytes, structure: None };
        Decoded { values, .. } = decode(&part, &mut orders, limits)?;
        if values.is_empty() {
            return Err(wire::invalid(VALUES, "there are none"));
        }
    }
    orders.finish()?;
    Ok(values)
}

pub(super) fn read_kinds(mut kinds: &[u8]) -> Result<ScalarRows> {
    let rows = wire::read(&mut kinds, KINDS)?;
    if kinds.is_empty() {
        Ok(rows)
    } else {
        Err(wire::invalid(KINDS, "they go on behind the tables"))
    }
}

/// An opaque leaf of a file.
pub(super) fn opaque_leaf(value: Value) -> Leaf {
    Leaf::Opaque(Arc::new(in_one_buffer(value)))
}

/// The leaves of these indices, of which `rows`, `bits` and `values` are.
pub(super) fn read_leaves<L: Emit>(
    treedef: &TreeDef,
    indices: impl Iterator<Item = usize>,
    rows: ScalarRows,
    bits: &[u8],
    mut values: impl Iterator<Item = Leaf>,
) -> Result<Vec<L>> {
    let mut scalars = ScalarReader::new(LEAVES, rows, bits)?;
    let count = indices.size_hint().0.min(scalars.at_most());
    let mut leaves = Vec::with_capacity(count);
    for index in indices {
        let (leaf, found) = match scalars.next()? {
            Stored::Scalar(scalar) => (L::from_scalar(scalar), scalar.kind()),
            Stored::Opaque => {
                let leaf = values.next();
                let leaf = leaf.ok_or_else(|| wire::invalid(VALUES, "there are too few"))?;
                (L::from_leaf(leaf), LeafKind::Opaque)
            }
        };
        leaves.push(leaf.ok_or_else(|| {
            treedef.error_at_leaf(index, Cause::LeafKind { expected: L::KIND, found })
        })?);
    }
    scalars.finish()?;
    match values.next() {
        None => Ok(leaves),
        Some(_) => Err(wire::invalid(VALUES, "there are too many")),
    }
}

/// The indices and paths of the leaves whose bytes are damaged.
pub(super) fn name_damage(
    treedef: &TreeDef,
    rows: &ScalarRows,
    bytes: RangeInclusive<usize>,
) -> String {
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
