//! Blocks: the rectangular parts of a structure, which are arrays without an array type.

use std::fmt;
use std::ops::Range;

use crate::model::{Leaf, LeafKind, NodeKind, TreeDef, Value};
use crate::path::Path;
use crate::treedef::node_ref::NodeRef;
use crate::treedef::walk::{Event, Visits, Walk};

/// The fields that hold the shape of an array: `dim` in `ndarray`, `shape` elsewhere.
const SHAPE_FIELDS: [&str; 2] = ["dim", "shape"];

/// A rectangular part of a structure: `[[*; 4]; 3]` is one block of shape `[3, 4]`. See
/// [`TreeDef::blocks`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Block<'a> {
    /// The path of the outermost node of the block.
    pub path: Path,
    /// The outermost node of the block. Its [`leaf_range`](NodeRef::leaf_range) has the indices of the leaves, whose
    /// number is the product of the shape.
    pub node: NodeRef<'a>,
    /// The number of elements in each dimension, outermost first. It is empty for a lone leaf.
    ///
    /// The leaves are in row-major order: the last index changes fastest.
    pub shape: Vec<usize>,
}

/// The blocks of a structure, in leaf order. See [`TreeDef::blocks`].
#[must_use = "iterators are lazy"]
pub struct Blocks<'a> {
    walk: Walk<'a>,
    path: Path,
}

impl TreeDef {
    /// The blocks: the largest rectangular parts, in leaf order. Every leaf is in exactly one.
    ///
    /// A node is rectangular if all leaves below it are reached through sequences, tuples and tuple
    /// structs whose children are all alike. A newtype changes nothing. A struct is rectangular if
    /// one field is a flat array and a static field `dim` or `shape` holds its shape, as `ndarray`
    /// arrays do under [`ArrayRule::Ndarray`](crate::ArrayRule::Ndarray).
    ///
    /// The iterator is lazy, and visits equal neighbours inside a block once.
    ///
    /// ```
    /// let treedef = treedef::structure(&([[0.5f32; 4]; 3], Some(vec![1.0, 2.0]), "a"))?;
    /// let blocks: Vec<_> = treedef
    ///     .blocks()
    ///     .map(|block| (block.path.to_string(), block.shape, block.node.leaf_range()))
    ///     .collect();
    /// assert_eq!(blocks[0], (".0".to_owned(), vec![3, 4], 0..12));
    /// assert_eq!(blocks[1], (".1?".to_owned(), vec![2], 12..14));
    /// assert_eq!(blocks[2], (".2".to_owned(), vec![], 14..15));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    #[doc(alias = "shape")]
    #[doc(alias = "ShapeDtypeStruct")]
    pub fn blocks(&self) -> Blocks<'_> {
        Blocks { walk: Walk::new(self.root(), Visits::AboveLeaves), path: Path::root() }
    }
}

impl<'a> Blocks<'a> {
    /// The next block whose leaves belong together. Where they do not, the children are blocks.
    pub(crate) fn next_where(
        &mut self,
        belong_together: impl Fn(Range<usize>) -> bool,
    ) -> Option<Block<'a>> {
        self.next_or_struct(|_, _| None, belong_together)
    }

    /// The next block. Other containers are blocks as a whole if `shape_as_whole` returns their shape; all
    /// leaves of the container are in the block. If the leaves of a block do not `belong_together`, its
    /// children are the blocks.
    ///
    /// [`array_struct`](super::array_struct::array_struct) finds the shape of structs that hold an array.
    pub(crate) fn next_or_struct(
        &mut self,
        mut shape_as_whole: impl FnMut(&Path, NodeRef<'a>) -> Option<Vec<usize>>,
        belong_together: impl Fn(Range<usize>) -> bool,
    ) -> Option<Block<'a>> {
        loop {
            let Event::Enter { node, .. } = self.walk.next()? else { continue };
            self.walk.lead(&mut self.path);
            let as_whole = if node.is_leaf() { None } else { shape_as_whole(&self.path, node) };
            let is_whole = as_whole.is_some();
            let Some(shape) = as_whole.or_else(|| shape_of(node)) else { continue };
            if is_whole || node.is_leaf() || belong_together(node.leaf_range()) {
                self.walk.skip();
                return Some(Block { path: self.path.clone(), node, shape });
            }
        }
    }
}

impl<'a> Iterator for Blocks<'a> {
    type Item = Block<'a>;

    fn next(&mut self) -> Option<Block<'a>> {
        self.next_where(|_| true)
    }
}

impl fmt::Debug for Blocks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocks").field("at", &self.path).finish_non_exhaustive()
    }
}

/// Containers whose children are all alike, from the outside in, and the element inside.
pub(crate) struct Rectangle<'a> {
    pub(crate) shape: Vec<usize>,
    pub(crate) element: NodeRef<'a>,
    /// The name of the innermost newtype around the element.
    pub(crate) newtype: Option<&'a str>,
}

/// Goes down from a node as long as there is only one kind of child.
pub(crate) fn rectangle(root: NodeRef<'_>) -> Rectangle<'_> {
    let mut found = Rectangle { shape: Vec::new(), element: root, newtype: None };
    while let Some(inside) = found.element.only_run() {
        match found.element.kind() {
            NodeKind::NewtypeStruct => found.newtype = found.element.name(),
            NodeKind::Seq | NodeKind::Tuple | NodeKind::TupleStruct => {
                found.newtype = None;
                found.shape.push(found.element.num_children());
            }
            _ => break,
        }
        found.element = inside;
    }
    found
}

/// The shape of a rectangular node. `None` for other nodes, and for nodes without leaves.
pub(crate) fn shape_of(node: NodeRef<'_>) -> Option<Vec<usize>> {
    let Rectangle { shape, element, .. } = rectangle(node);
    match element.kind() {
        NodeKind::Leaf => Some(shape),
        NodeKind::Struct if shape.is_empty() => shape_of_array(element),
        _ => None,
    }
}

/// The shape of a struct with one flat array and a static that holds its shape.
fn shape_of_array(node: NodeRef<'_>) -> Option<Vec<usize>> {
    let mut with_leaves = node.children().filter(|child| child.num_leaves() > 0);
    let data = with_leaves.next().filter(|_| with_leaves.next().is_none())?;
    let is_flat = data.is_leaf() || data.only_run().is_some_and(NodeRef::is_leaf);
    let mut named = node.fields().iter().zip(node.children());
    let (_, shape) = named.find(|(name, _)| SHAPE_FIELDS.contains(&name.as_ref()))?;
    let shape = dims(shape.static_value()?)?;
    (is_flat && num_elements(&shape) == Some(data.num_leaves())).then_some(shape)
}

/// The number of elements of a shape.
pub(crate) fn num_elements(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1usize, |size, dim| size.checked_mul(*dim))
}

/// The dimensions that a value lists: a sequence or a tuple of integers, or one integer.
pub(crate) fn dims(value: &Value) -> Option<Vec<usize>> {
    let size = |leaf: &Leaf| usize::try_from(leaf.as_u64()?).ok();
    if is_list(value.root()) { value.leaves().iter().map(size).collect() } else { None }
}

/// Whether a node is a leaf, or a sequence or tuple of leaves.
pub(crate) fn is_list(node: NodeRef<'_>) -> bool {
    let is_sequence = matches!(node.kind(), NodeKind::Seq | NodeKind::Tuple);
    node.is_leaf() || is_sequence && node.runs().all(|(child, _)| child.is_leaf())
}

/// Whether all leaves of a range have the kind of the first.
pub(crate) fn have_one_kind(mut kinds: impl Iterator<Item = LeafKind>) -> bool {
    let first = kinds.next();
    kinds.all(|kind| Some(kind) == first)
}
