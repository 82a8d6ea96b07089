//! Structs that hold an array, and matrices stored by columns. Each is one tensor, and the leaves beside
//! its numbers are known.

use std::ops::Range;

use treedef::__private::{ArrayFields, ArrayStruct, array_struct};
use treedef::{Array, Dtype, Leaf, NodeKind, NodeRef, Tree};
use treedef_pytrees::__private::half_float;

use crate::bug::OrBug;
use crate::element::Element;
use crate::shape::{num_elements, size_in_bytes};

/// The numbers of an array that is a struct or a matrix.
pub(crate) struct ArrayLeaves {
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<usize>,
    pub(crate) leaves: Range<usize>,
    /// The number of dimensions of a matrix: its numbers are its columns, one after the other.
    pub(crate) matrix: Option<usize>,
}

/// The array at a node of a tree, if its numbers can be a tensor.
pub(crate) fn numbers<L: Element>(tree: &Tree<L>, node: NodeRef<'_>) -> Option<ArrayLeaves> {
    match node.kind() {
        NodeKind::Struct => numbers_of_struct(tree, node),
        NodeKind::Tuple => numbers_of_matrix(tree, node),
        _ => None,
    }
}

/// The numbers of a matrix of `nalgebra` whose numbers of rows and columns are static.
fn numbers_of_matrix<L: Element>(tree: &Tree<L>, node: NodeRef<'_>) -> Option<ArrayLeaves> {
    let data = matrix_data(node)?;
    let size = |position| {
        let value = node.child(position)?.static_value()?;
        match (value.root().kind(), value.leaves().as_ref()) {
            (NodeKind::Unit, []) => Some(None),
            (NodeKind::Leaf, [size]) => Some(Some(usize::try_from(size.as_u64()?).ok()?)),
            _ => None,
        }
    };
    let treedef = data.to_treedef();
    let block = treedef.blocks().next()?;
    let is_whole = block.path.is_root() && block.node.leaf_range().len() == treedef.num_leaves();
    let (length, inner) = block.shape.split_first().filter(|_| is_whole)?;
    let shape = treedef::__private::matrix_shape(size(1)?, size(2)?, *length);
    let mut shape = shape.filter(|shape| num_elements(shape) == Some(*length))?;
    let matrix = Some(shape.len());
    shape.extend(inner);
    let leaves = data.leaf_range();
    let numbers = tree.leaves().get(leaves.clone())?;
    let dtype = L::dtype(numbers).filter(|_| L::have_one_kind(numbers))?;
    let dtype = half_float(data).filter(|_| dtype == Dtype::U16).unwrap_or(dtype);
    Some(ArrayLeaves { dtype, shape, leaves, matrix })
}

/// The numbers of a tuple of numbers, rows and columns.
pub(crate) fn matrix_data(node: NodeRef<'_>) -> Option<NodeRef<'_>> {
    let data = node.child(0)?;
    let is_list = matches!(data.kind(), NodeKind::Seq) && data.num_children() > 0;
    (node.kind() == NodeKind::Tuple && node.num_children() == 3 && is_list).then_some(data)
}

/// The array that a struct holds.
fn numbers_of_struct<L: Element>(tree: &Tree<L>, node: NodeRef<'_>) -> Option<ArrayLeaves> {
    let array = array_struct(node, |leaf| tree.leaves().get(leaf)?.as_size())?;
    let (data, shape) = (array.data(), full_shape(node, &array)?);
    let leaves = data.leaf_range();
    let numbers = tree.leaves().get(leaves.clone())?;
    let dtype = match array.dtype() {
        Some((dtype, _)) => {
            let Leaf::Bytes(bytes) = numbers.first()?.as_leaf()? else { return None };
            let is_bool = dtype != Dtype::Bool || bytes.iter().all(|byte| *byte <= 1);
            let is_whole = size_in_bytes(dtype, &shape) == Some(bytes.len());
            Some(dtype).filter(|_| is_bool && is_whole)?
        }
        // An empty array does not show its type; most are of this one.
        None if numbers.is_empty() => L::dtype(&[]).unwrap_or(Dtype::F32),
        None => {
            let is_number = !matches!(numbers.first()?.as_leaf(), Some(Leaf::Opaque(_)));
            let dtype = L::dtype(numbers).filter(|_| is_number && L::have_one_kind(numbers))?;
            half_float(data).filter(|_| dtype == Dtype::U16).unwrap_or(dtype)
        }
    };
    Some(ArrayLeaves { dtype, shape, leaves, matrix: None })
}

/// The shape of an array whose elements may be arrays with a shape of their own: `[[f32; 3]]` with
/// the shape `(2, 4)` is `f32[2, 4, 3]`. A type with a variable number of dimensions has no such
/// elements, because it would be read with all of these dimensions.
pub(crate) fn full_shape(node: NodeRef<'_>, array: &ArrayStruct<'_>) -> Option<Vec<usize>> {
    let (data, mut shape) = (array.data(), array.shape().to_vec());
    if array.dtype().is_some() || data.num_children() == 0 {
        return Some(shape);
    }
    let treedef = data.to_treedef();
    let block = treedef.blocks().next()?;
    let is_whole = block.path.is_root() && block.node.leaf_range().len() == treedef.num_leaves();
    let (_, inner) = block.shape.split_first().filter(|_| is_whole)?;
    if !inner.is_empty() {
        let dims = node.child(array.fields().shape())?.inside_newtypes();
        let dims = dims.static_value().map_or(dims, |value| value.root());
        shape.extend(Some(inner).filter(|_| dims.kind() != NodeKind::Seq)?);
    }
    Some(shape)
}

/// The usual leaves beside the numbers: the version 1, and a `usize` for each dimension. Statics
/// have no leaves.
pub(crate) fn usual_leaves(node: NodeRef<'_>, fields: ArrayFields, shape: &[usize]) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    for (position, child) in node.children().enumerate() {
        if child.num_leaves() > 0 && Some(position) == fields.version() {
            leaves.push(Leaf::from(1u8));
        } else if position == fields.shape() {
            let dims = shape.iter().take(child.num_leaves());
            leaves.extend(dims.map(|dim| Leaf::from(u64::try_from(*dim).unwrap_or(u64::MAX))));
        }
    }
    leaves
}

/// The numbers of rows and columns of a matrix, where they are leaves, as in `nalgebra`. `node` is the
/// tuple, and the shape belongs to the matrix.
pub(crate) fn usual_sizes(node: NodeRef<'_>, shape: &[usize]) -> Vec<Leaf> {
    let sizes = match shape {
        [rows, columns] => [*rows, *columns],
        [size] => [*size; 2], // of a vector: the other is none
        _ => return Vec::new(),
    };
    let leaf = |size| Leaf::from(u64::try_from(size).unwrap_or(u64::MAX));
    let has_leaf = |position| node.child(position).is_some_and(NodeRef::is_leaf);
    let sizes = [1, 2].into_iter().zip(sizes);
    sizes.filter(|(position, _)| has_leaf(*position)).map(|(_, size)| leaf(size)).collect()
}

/// Converts numbers from columns to rows. An element has `size` bytes.
pub(crate) fn transposed(bytes: &[u8], rows: usize, columns: usize, size: usize) -> Vec<u8> {
    let mut all = Vec::with_capacity(bytes.len());
    for row in 0..rows {
        for column in 0..columns {
            let start = column.saturating_mul(rows).saturating_add(row).saturating_mul(size);
            let element = bytes.get(start..start.saturating_add(size));
            all.extend_from_slice(element.or_bug());
        }
    }
    all
}

/// The leaves beside the numbers, if they are not the usual ones.
pub(crate) fn unusual_leaves<L: Element>(
    tree: &Tree<L>,
    node: NodeRef<'_>,
    numbers: &ArrayLeaves,
) -> Option<Vec<Leaf>> {
    let fields = ArrayFields::of(node.fields())?;
    let other_leaves = node.leaf_range().filter(|leaf| !numbers.leaves.contains(leaf));
    // Only an untyped tree has leaves of several kinds.
    let leaves: Option<Vec<Leaf>> =
        other_leaves.map(|leaf| tree.leaves().get(leaf)?.as_leaf().cloned()).collect();
    leaves.filter(|leaves| *leaves != usual_leaves(node, fields, &numbers.shape))
}

/// The same for an array that is one leaf.
pub(crate) fn unusual_leaves_of(array: &Array, root: NodeRef<'_>) -> Option<Vec<Leaf>> {
    let root = root.inside_newtypes();
    if array.is_column_major() {
        let leaves: Vec<Leaf> = array.other_leaves().cloned().collect();
        return Some(leaves).filter(|leaves| *leaves != usual_sizes(root, array.shape()));
    }
    let fields = ArrayFields::of(root.fields()).filter(|_| root.kind() == NodeKind::Struct)?;
    let leaves: Vec<Leaf> = array.other_leaves().cloned().collect();
    Some(leaves).filter(|leaves| *leaves != usual_leaves(root, fields, array.shape()))
}
