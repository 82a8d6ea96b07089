//! The parts of a tree that are tensors.

use std::cell::Cell;
use std::ops::Range;

use treedef::{Array, Dtype, Leaf, Path, Tree};
use treedef_pytrees::__private::half_float;

use crate::arrays::{self, ArrayLeaves};
use crate::bug::OrBug;
use crate::element::Element;
use crate::error::Result;

/// Leaves that are a tensor or a part of one, and its type if it has one.
pub(crate) struct TensorBlock {
    pub(crate) path: Path,
    pub(crate) shape: Vec<usize>,
    pub(crate) dtype: Option<Dtype>,
    pub(crate) leaves: Range<usize>,
    /// The number of dimensions of a matrix: the numbers are its columns, one after the other.
    pub(crate) matrix: Option<usize>,
    /// The leaves beside the numbers of an array, if they do not follow from its shape.
    pub(crate) other_leaves: Option<Vec<Leaf>>,
}

/// The blocks of leaves of one kind, structs that hold an array, and arrays that are leaves.
pub(crate) fn parts<L: Element>(tree: &Tree<L>) -> impl Iterator<Item = Result<TensorBlock>> {
    let mut blocks = tree.treedef().blocks();
    let of = |range: Range<usize>| tree.leaves().get(range).or_bug();
    let next = move || {
        let found = Cell::<Option<ArrayLeaves>>::new(None);
        let shape = |_: &Path, node| {
            let numbers = arrays::numbers(tree, node)?;
            let shape = numbers.shape.clone();
            found.set(Some(numbers));
            Some(shape)
        };
        let block = treedef::__private::next_block(&mut blocks, shape, |leaves| {
            L::have_one_kind(of(leaves))
        })?;
        let path = block.path.clone();
        if let Some(numbers) = found.into_inner() {
            let other_leaves = arrays::unusual_leaves(tree, block.node, &numbers);
            let ArrayLeaves { dtype, shape, leaves, matrix } = numbers;
            let dtype = Some(dtype);
            return Some(vec![Ok(TensorBlock {
                path,
                shape,
                dtype,
                leaves,
                matrix,
                other_leaves,
            })]);
        }
        let leaves = of(block.node.leaf_range());
        let is_opaque = matches!(leaves.first().and_then(L::as_leaf), Some(Leaf::Opaque(_)));
        if is_opaque && leaves.iter().any(|leaf| array(leaf).is_some()) {
            return Some(block.node.leaf_range().map(|index| single(tree, index)).collect());
        }
        let dtype = L::dtype(leaves);
        let half = half_float(block.node).filter(|_| dtype == Some(Dtype::U16));
        let (shape, dtype, leaves) = (block.shape.clone(), half.or(dtype), block.node.leaf_range());
        Some(vec![Ok(TensorBlock { path, shape, dtype, leaves, matrix: None, other_leaves: None })])
    };
    std::iter::from_fn(next).flatten()
}

/// An array that is one leaf, or another leaf beside it.
fn single<L: Element>(tree: &Tree<L>, index: usize) -> Result<TensorBlock> {
    let leaves = tree.leaves().get(index..=index).or_bug();
    let leaf = leaves.first();
    let other_leaves = match leaf.and_then(L::as_leaf) {
        Some(Leaf::Opaque(value)) => {
            value.as_array().and_then(|array| arrays::unusual_leaves_of(array, value.root()))
        }
        _ => None,
    };
    Ok(TensorBlock {
        path: tree.treedef().leaf_path(index)?,
        shape: leaf.and_then(array).map(|array| array.shape().to_vec()).unwrap_or_default(),
        dtype: L::dtype(leaves),
        leaves: index..index + 1, // the index of an existing leaf
        matrix: leaf
            .and_then(array)
            .filter(|array| array.is_column_major())
            .map(|array| array.shape().len()),
        other_leaves,
    })
}

pub(crate) fn array<L: Element>(leaf: &L) -> Option<&Array> {
    leaf.as_leaf()?.as_array()
}
