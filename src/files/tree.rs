//! Encodes and decodes a tree: its structure, its leaves and the insertion orders of its maps.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use crate::arrays::collect::in_one_buffer;
use crate::bug::{OrBug, bug};
use crate::error::{Cause, Result};
use crate::leaf::leaf_type::{Emit, LeafType};
use crate::model::{Leaf, LeafKind, Limits, Tree, TreeDef, Value};

use super::container::{ByteSource, CHUNK, Container, KINDS, Kind, Part, VALUES};
use super::decode::{Decoded, EncodedBytes, decode};
use super::encode::encode_part;
use super::orders::{OrderReader, OrderWriter};
use super::scalars::{FileLeaf, IndexedRows, ScalarReader, ScalarRows, ScalarWriter, Selection};
use super::structure::structure_of;
use super::wire::{invalid, near, wide};

const LEAVES: &str = "the leaves";

pub(super) fn write<L: LeafType>(tree: &Tree<L>) -> Result<Vec<u8>> {
    let structure = encode_part(std::iter::empty(), Some(&tree.treedef))?;
    let (mut writer, mut opaque) = (ScalarWriter::default(), Vec::new());
    for leaf in &tree.leaves {
        match (leaf.as_scalar(), leaf.opaque()) {
            (Some(scalar), _) => writer.push(scalar),
            (None, Some(value)) => {
                writer.push_opaque();
                opaque.push(value);
            }
            (None, None) => return Err(bug!("a leaf is neither a scalar nor opaque")),
        }
    }
    let (mut kinds, mut orders, mut values) = (Vec::new(), OrderWriter::default(), Vec::new());
    writer.rows.write(&mut kinds);
    orders.add(&structure.orders, 0)?;
    if !opaque.is_empty() {
        let encoded = encode_part(opaque.iter().copied(), None)?;
        orders.add(&encoded.orders, structure.numbers)?;
        values = encoded.part()?;
    }
    expect_values(tree.treedef.limits, opaque.iter().copied(), values.len())?;
    tree.treedef.to_file(Kind::Tree, &structure, [&orders.part(), &values, &kinds, &writer.bits])
}

/// Reads a whole tree.
pub(super) fn read<'a, L: LeafType>(
    source: &mut dyn ByteSource<'a>,
    limits: Limits,
) -> Result<Tree<L>> {
    let (treedef, mut parts) = TreeParts::open(source, limits)?;
    let leaves = parts.leaves(source, &treedef, 0..treedef.num_leaves())?;
    Ok(Tree::from_parts(treedef, leaves))
}

/// The parts of a tree in a file that were read so far.
pub(super) struct TreeParts<'a> {
    container: Container,
    /// The checksums of the leaves, one for each chunk.
    checksums: Cow<'a, [u8]>,
    /// The tables of the leaves.
    rows: IndexedRows,
    /// The insertion orders of the values among the leaves.
    orders: OrderReader,
    /// The values among the leaves, once they were read.
    opaque: Option<Vec<Leaf>>,
    /// The chunks of leaves that were read last, and the range of their bytes.
    last: (Range<u64>, Cow<'a, [u8]>),
}

impl<'a> TreeParts<'a> {
    /// Reads everything except the leaves and the values among them.
    pub(super) fn open(source: &mut dyn ByteSource<'a>, limits: Limits) -> Result<(TreeDef, Self)> {
        let container = Container::open(source, Kind::Tree, limits)?;
        let mut orders = OrderReader::new(&container.part(source, Part::Orders)?)?;
        let treedef = structure_of(&container, source, &mut orders, limits)?;
        let kinds = container.part(source, Part::Kinds)?;
        let mut kinds = &*kinds;
        let rows = ScalarRows::read(&mut kinds, KINDS)?;
        if !kinds.is_empty() {
            return Err(invalid(KINDS, "there are bytes after the tables"));
        }
        let Range { start, end } = container.leaves;
        let rows = IndexedRows::new(rows, LEAVES, wide(treedef.num_leaves()), end - start)?;
        if container.is_empty(Part::Values) {
            orders.clone().finish()?;
        } else if rows.opaque() == 0 {
            return Err(invalid(VALUES, "there are too many"));
        }
        let checksums = container.part(source, Part::Chunks)?;
        let last = (0..0, Cow::default());
        Ok((treedef, TreeParts { container, checksums, rows, orders, opaque: None, last }))
    }

    /// Reads the leaves of these indices.
    pub(super) fn leaves<L: Emit>(
        &mut self,
        source: &mut dyn ByteSource<'a>,
        treedef: &TreeDef,
        range: Range<usize>,
    ) -> Result<Vec<L>> {
        let Selection { rows, bytes, opaque } =
            self.rows.select(&(wide(range.start)..wide(range.end)));
        self.read_chunks(source, treedef, &bytes)?;
        let mut values = Vec::new();
        if !opaque.is_empty() {
            let all = self.read_opaque(source, treedef.limits)?;
            values = all.get(near(opaque.start)..near(opaque.end)).or_bug().to_vec();
        }
        let (chunks, bits) = &self.last;
        let bits = bits.get(near(bytes.start - chunks.start)..near(bytes.end - chunks.start));
        let leaves = read_leaves(treedef, range, rows, bits.or_bug(), values.into_iter())?;
        if chunks.end - chunks.start > CHUNK {
            self.last = Default::default();
        }
        Ok(leaves)
    }

    /// Reads the chunks that contain these bytes, unless they were the last to be read.
    fn read_chunks(
        &mut self,
        source: &mut dyn ByteSource<'a>,
        treedef: &TreeDef,
        bytes: &Range<u64>,
    ) -> Result<()> {
        let (last, _) = &self.last;
        if bytes.is_empty() {
            self.last = (bytes.clone(), Cow::default());
        } else if bytes.start < last.start || last.end < bytes.end {
            let rows = &self.rows;
            let named = |damage| name_damage(treedef, rows, damage);
            self.last = self.container.chunks(source, &self.checksums, bytes, named)?;
        }
        Ok(())
    }

    /// The values among the leaves.
    fn read_opaque(&mut self, source: &mut dyn ByteSource<'a>, limits: Limits) -> Result<&[Leaf]> {
        if self.opaque.is_none() {
            let mut orders = self.orders.clone();
            let bytes = &self.container.part(source, Part::Values)?;
            let part = EncodedBytes { name: VALUES, bytes, structure: None };
            let Decoded { values, .. } = decode(&part, &mut orders, limits)?;
            orders.finish()?;
            expect_values(limits, values.iter(), bytes.len())
                .map_err(|error| error.in_part(VALUES))?;
            if wide(values.len()) != self.rows.opaque() {
                return Err(invalid(VALUES, "there are too many or too few"));
            }
            let opaque = |value| Leaf::Opaque(Arc::new(in_one_buffer(value)));
            self.opaque = Some(values.into_iter().map(opaque).collect());
        }
        Ok(self.opaque.as_deref().or_bug())
    }
}

/// Checks the values among the leaves, which have this number of bytes.
fn expect_values<'v>(
    limits: Limits,
    values: impl Iterator<Item = &'v Value> + Clone,
    bytes: usize,
) -> Result<()> {
    for value in values.clone() {
        let root = value.root();
        limits.expect_depth(root.levels())?;
        limits.expect_printed(&root.treedef.encoding)?;
    }
    let sum = |of: fn(&Value) -> usize| values.clone().map(of).fold(0, usize::saturating_add);
    limits.expect_work(sum(Value::work), sum(Value::stored))?;
    limits.expect_names(sum(Value::bytes_of_names), bytes)
}

/// The leaves of these indices: their `rows`, `bits` and `values`.
fn read_leaves<L: Emit>(
    treedef: &TreeDef,
    indices: Range<usize>,
    rows: ScalarRows,
    bits: &[u8],
    mut values: impl Iterator<Item = Leaf>,
) -> Result<Vec<L>> {
    let mut scalars = ScalarReader::new(LEAVES, rows, bits);
    let mut leaves = Vec::with_capacity(indices.len().min(scalars.at_most()));
    for index in indices {
        let (leaf, found) = match scalars.next()? {
            FileLeaf::Scalar(scalar) => (L::from_scalar(scalar), scalar.kind()),
            FileLeaf::Opaque => {
                let leaf = values.next();
                let leaf = leaf.ok_or_else(|| invalid(VALUES, "there are too few"))?;
                (L::from_leaf(leaf), LeafKind::Opaque)
            }
        };
        leaves.push(leaf.ok_or_else(|| {
            treedef.error_at_leaf(index, Cause::LeafKind { expected: L::KIND, found })
        })?);
    }
    scalars.finish()?;
    Ok(leaves)
}

/// The indices and paths of the leaves whose bytes are damaged.
fn name_damage(treedef: &TreeDef, rows: &IndexedRows, bytes: Range<u64>) -> String {
    let leaf_at = |byte| near(rows.scalar_at(byte));
    let (first, last) = (leaf_at(bytes.start), leaf_at(bytes.end - 1));
    match (treedef.leaf_path(first), treedef.leaf_path(last)) {
        (Ok(from), Ok(to)) if first < last => {
            format!("leaves {first} to {last}, `{}` to `{}`", from.brief(), to.brief())
        }
        (Ok(path), Ok(_)) => format!("leaf {first}, `{}`", path.brief()),
        _ => LEAVES.to_owned(), // the kinds do not match the structure
    }
}
