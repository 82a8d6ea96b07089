//! Finds the arrays of a structure and makes one leaf of each.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::arrays::array::late;
use crate::arrays::array_struct::{ArrayStruct, array_struct};
use crate::arrays::blocks::{Rectangle, is_list, num_elements, rectangle};
use crate::bug::bug;
use crate::error::Result;
use crate::flatten::{ArrayHint, ArrayMeaning};
use crate::leaf::Scalar;
use crate::leaf::column::{Columns, LeafVec, Segment, home};
use crate::model::{Array, Column, Content, Dtype, Leaf, LeafKind, Node, NodeKind, TreeDef, Value};
use crate::path::Path;
use crate::treedef::node_ref::NodeRef;
use crate::treedef::parts::PartsBuilder;
use crate::treedef::walk::{Event, Visits, Walk};

/// The shape of a matrix with `length` numbers. A size that is part of the type is `None`, and
/// follows from the other size. A matrix whose type has one row or column is a vector, with one
/// dimension.
pub fn matrix_shape(
    rows: Option<usize>,
    columns: Option<usize>,
    length: usize,
) -> Option<Vec<usize>> {
    let other = |size: usize| length.checked_div(size).filter(|other| *other != 1);
    Some(match (rows, columns) {
        (Some(rows), Some(columns)) => vec![rows, columns],
        (Some(rows), None) => [rows].into_iter().chain(other(rows)).collect(),
        (None, Some(columns)) => other(columns).into_iter().chain([columns]).collect(),
        (None, None) => return None,
    })
}

/// Makes one leaf of each array.
pub(crate) fn collect_arrays(
    treedef: &TreeDef,
    leaves: Columns,
    rules: &[ArrayHint],
) -> Result<(TreeDef, Vec<Leaf>)> {
    let mut arrays = Arrays::new(treedef, leaves, false);
    let mut path = Path::root();
    let mut builder = PartsBuilder::onto(treedef.root(), treedef.limits);
    let star = TreeDef::leaf();
    let mut leaves = Vec::new();
    let mut walk = Walk::new(treedef.root(), Visits::AtLeaflessRuns);
    while let Some(event) = walk.next() {
        if let Event::Enter { node, .. } = event
            && !rules.is_empty()
        {
            walk.lead(&mut path);
            arrays.follow(rules, &path, node);
        }
        match event {
            Event::Enter { node, repeat } if node.num_leaves() == 0 => {
                builder.insert(node, repeat)?;
                walk.skip();
            }
            Event::Enter { node, .. } if node.is_leaf() => {
                builder.insert(star.root(), 1)?;
                let leaf = arrays.leaf(node.first_leaf());
                leaves.push(leaf.ok_or_else(|| bug!("a leaf is missing"))?);
                walk.skip();
            }
            Event::Enter { node, .. } => match arrays.array_at(node) {
                Some(array) => {
                    builder.insert(star.root(), 1)?;
                    leaves.push(array.into());
                    walk.skip();
                }
                None => builder.open(node, 1)?,
            },
            Event::Leave => builder.close()?,
        }
    }
    let mut collected = builder.finish()?;
    collected.walked = treedef.walked;
    Ok((collected, leaves))
}

/// Stores a value as an array, if it is one.
#[cfg_attr(
    not(any(feature = "diff", feature = "persist")),
    allow(dead_code, reason = "values are read from diffs and files")
)]
pub(crate) fn in_one_buffer(value: Value) -> Value {
    let Content::Tree(treedef, leaves) = &value.0 else { return value };
    let may_be = |kind| Dtype::of_kind(kind).is_some() || kind == LeafKind::Bytes;
    if !leaves.iter().all(|leaf| may_be(leaf.kind())) {
        return value;
    }
    let columns = leaves.iter().cloned().collect();
    match Arrays::new(treedef, columns, true).array_at(treedef.root()) {
        Some(array) => Value(Content::Array(Arc::new(array))),
        None => value,
    }
}

/// The tree whose arrays are collected.
struct Arrays<'a> {
    treedef: &'a TreeDef,
    /// Whether this is the tree of a stored value, in which statics are leaves.
    is_stored: bool,
    /// Whether a rule makes pairs complex numbers here, and the shape of matrices here by a rule.
    complex: bool,
    columns_of: Option<(usize, usize)>,
    /// Whether a rule is about a part of the rectangle here.
    is_divided: bool,
    segments: Vec<Segment>,
    columns: Vec<Arc<Column>>,
    /// The structures of arrays by their nodes, because many arrays share one.
    structures: HashMap<(Node, &'a [Node]), TreeDef>,
}

/// Which leaves of a node are numbers, and their meaning.
struct Numbers {
    dtype: Dtype,
    shape: Vec<usize>,
    column_major: bool,
    leaves: Range<usize>,
    /// The numbers, if the only one of these leaves is a byte string.
    bytes: Option<Column>,
    before: Vec<Leaf>,
    after: Vec<Leaf>,
}

impl<'a> Arrays<'a> {
    fn new(treedef: &'a TreeDef, mut leaves: Columns, is_stored: bool) -> Self {
        leaves.shrink();
        let columns = leaves.columns.into_iter().map(Arc::new).collect();
        let (segments, structures) = (leaves.segments, HashMap::new());
        Arrays {
            treedef,
            is_stored,
            complex: false,
            columns_of: None,
            is_divided: false,
            segments,
            columns,
            structures,
        }
    }

    /// Applies the rules to a node.
    fn follow(&mut self, rules: &[ArrayHint], path: &Path, node: NodeRef<'_>) {
        (self.complex, self.columns_of, self.is_divided) = (false, None, false);
        for ArrayHint { pattern, means } in rules {
            match (pattern.covers(path), *means) {
                (true, ArrayMeaning::Complex) => self.complex = true,
                (true, ArrayMeaning::Columns(rows, columns)) => {
                    self.columns_of = Some((rows, columns));
                }
                (false, means) => {
                    let levels = above_arrays(node, means);
                    let key_of = |above: &NodeRef<'_>, position| above.key(position);
                    self.is_divided |= pattern.names_below(path.keys(), &levels, key_of);
                }
            }
        }
    }

    /// The kind of a range of leaves if all have the same, with their column and their place in it.
    fn find(&self, leaves: Range<usize>) -> Option<(LeafKind, &Arc<Column>, Range<usize>)> {
        let segment = self.segments.partition_point(|segment| segment.leaves.end <= leaves.start);
        let segment = self.segments.get(segment).filter(|found| leaves.end <= found.leaves.end)?;
        let column = self.columns.iter().find(|column| column.home() == home(segment.kind))?;
        let start = segment.offset + (leaves.start - segment.leaves.start); // it contains `leaves`
        Some((segment.kind, column, start..start + leaves.len()))
    }

    fn kind(&self, node: NodeRef<'_>) -> Option<LeafKind> {
        self.find(node.leaf_range()).map(|(kind, ..)| kind)
    }

    fn leaf(&self, index: usize) -> Option<Leaf> {
        let (_, column, place) = self.find(index..index + 1)?;
        column.leaf(place.start)
    }

    /// The array at a node, if there is one.
    fn array_at(&mut self, node: NodeRef<'a>) -> Option<Array> {
        let Numbers { dtype, shape, column_major, leaves, bytes, before, after } =
            self.numbers_at(node)?;
        let treedef = self.structure(node)?;
        let (numbers, range, bytes) = match bytes {
            Some(column) => {
                let range = 0..column.len();
                (Arc::new(column), range, Some(late()))
            }
            None => {
                let (_, numbers, range) = self.find(leaves)?;
                (numbers.clone(), range, None)
            }
        };
        Some(Array {
            treedef,
            before: before.into(),
            numbers,
            range,
            after: after.into(),
            dtype,
            shape: shape.into(),
            column_major,
            bytes,
        })
    }

    fn numbers_at(&self, node: NodeRef<'_>) -> Option<Numbers> {
        let outer = rectangle(node);
        if outer.shape.is_empty() {
            return self.in_array_type(outer.element);
        }
        let (dtype, shape) = self.elements(outer).filter(|_| !self.is_divided)?;
        let matrix = self.columns_of.filter(|(rows, columns)| {
            shape.last().is_some_and(|size| rows.checked_mul(*columns) == Some(*size))
        });
        let (shape, column_major) = match matrix {
            Some((rows, columns)) if shape.len() == 1 => (vec![rows, columns], true),
            Some(_) => return None, // each element is an array
            None => (shape, false),
        };
        Some(Numbers {
            dtype,
            shape,
            column_major,
            leaves: node.leaf_range(),
            bytes: None,
            before: Vec::new(),
            after: Vec::new(),
        })
    }

    /// The type of the elements of a rectangle, and its shape without the nodes inside of an
    /// element.
    fn elements(&self, mut found: Rectangle<'_>) -> Option<(Dtype, Vec<usize>)> {
        let mut dtype = self.dtype(&found)?;
        let pairs = match (dtype, found.shape.last()) {
            (Dtype::F32, Some(2)) => Some(Dtype::C64),
            (Dtype::F64, Some(2)) => Some(Dtype::C128),
            _ => None,
        };
        if let Some(complex) = pairs.filter(|_| self.complex) {
            found.shape.pop();
            dtype = complex;
        }
        (!found.shape.is_empty()).then_some((dtype, found.shape))
    }

    /// The type of the elements of a rectangle.
    fn dtype(&self, of: &Rectangle<'_>) -> Option<Dtype> {
        let Rectangle { element, newtype, .. } = of;
        match element.kind() {
            NodeKind::Leaf => match (newtype, self.kind(*element)?) {
                (Some("f16"), LeafKind::U16) => Some(Dtype::F16),
                (Some("bf16"), LeafKind::U16) => Some(Dtype::Bf16),
                (_, kind) => Dtype::of_kind(kind),
            },
            NodeKind::Struct if *element.fields() == ["re", "im"] => {
                match (element.children().all(NodeRef::is_leaf), self.kind(*element)?) {
                    (true, LeafKind::F32) => Some(Dtype::C64),
                    (true, LeafKind::F64) => Some(Dtype::C128),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The numbers of a struct that holds an array, or of a tuple of flat data with static numbers
    /// of rows and columns. All else in them must be integers: other leaves and maps cannot be part
    /// of an array.
    fn in_array_type(&self, node: NodeRef<'_>) -> Option<Numbers> {
        if node.kind() == NodeKind::Struct {
            let integer = |leaf| self.leaf(leaf)?.as_u64();
            return self.in_struct(node, &array_struct(node, integer)?);
        }
        let is_matrix = node.kind() == NodeKind::Tuple && node.num_children() == 3;
        let children: Vec<_> = node.children().take(3).collect();
        let [data, sizes @ ..] = children.as_slice() else { return None };
        if !is_matrix || !self.has_known_sizes(sizes) {
            return None;
        }
        let (dtype, flat) = self.elements(rectangle(*data))?;
        let [length] = flat.as_slice() else { return None };
        let shape = self.shape_of_matrix(sizes, *length)?;
        (num_elements(&shape) == Some(*length)).then_some(Numbers {
            dtype,
            shape,
            column_major: true,
            leaves: data.leaf_range(),
            bytes: None,
            before: Vec::new(),
            after: self.integers(sizes)?,
        })
    }

    /// The numbers of a struct that holds an array.
    fn in_struct(&self, node: NodeRef<'_>, array: &ArrayStruct<'_>) -> Option<Numbers> {
        let (data, shape) = (array.data(), array.shape().to_vec());
        let (dtype, bytes) = match array.dtype() {
            Some((dtype, kind)) => {
                let (_, found, place) = self.find(data.leaf_range())?;
                let Scalar::Bytes(bytes) = found.scalar(place.start)? else { return None };
                let column = Column::from_bytes(kind, bytes)?;
                if num_elements(&shape) != Some(column.len()) {
                    return None;
                }
                (dtype, Some(column))
            }
            None => {
                let (dtype, flat) = self.elements(rectangle(data))?;
                if flat != [num_elements(&shape)?] {
                    return None;
                }
                (dtype, None)
            }
        };
        // The variant that names the type has no leaves.
        let others = node.children().filter(|child| child.num_leaves() > 0 || is_static(child));
        let others: Vec<_> = others.collect();
        let at = others.iter().position(|child| child.leaf_range() == data.leaf_range())?;
        let (before, data_and_after) = others.split_at_checked(at)?;
        let (_, after) = data_and_after.split_first()?;
        Some(Numbers {
            dtype,
            shape,
            column_major: false,
            leaves: data.leaf_range(),
            bytes,
            before: self.integers(before)?,
            after: self.integers(after)?,
        })
    }

    /// Whether the numbers of rows and columns after some data are known to be sizes: they are
    /// static, or in a stored value leaves.
    fn has_known_sizes(&self, sizes: &[NodeRef<'_>]) -> bool {
        self.is_stored || sizes.iter().all(is_static)
    }

    /// The numbers of rows and columns of a matrix. A number that the type has is a unit.
    fn shape_of_matrix(&self, sizes: &[NodeRef<'_>], length: usize) -> Option<Vec<usize>> {
        let size = |node: &NodeRef<'_>| match self.integers(&[*node])?.as_slice() {
            [] => Some(None),
            [size] => Some(Some(usize::try_from(size.as_u64()?).ok()?)),
            _ => None,
        };
        let [rows, columns] = sizes else { return None };
        matrix_shape(size(rows)?, size(columns)?, length)
    }

    /// The integers in some nodes, each of which is an integer, a list of integers, or a unit.
    fn integers(&self, nodes: &[NodeRef<'_>]) -> Option<Vec<Leaf>> {
        let mut integers = Vec::new();
        for node in nodes {
            let node = node.inside_newtypes();
            match node.static_value() {
                Some(value) if is_list(value.root()) => integers.extend_from_slice(&value.leaves()),
                Some(value) if value.root().kind() == NodeKind::Unit => {}
                None if node.kind() == NodeKind::Unit => {}
                None if is_list(node) => {
                    for index in node.leaf_range() {
                        integers.push(self.leaf(index)?);
                    }
                }
                _ => return None,
            }
        }
        integers.iter().all(|leaf| leaf.kind().is_integer()).then_some(integers)
    }

    /// The structure of an array, as the structure of a value: with default options, and with a
    /// leaf for each scalar of a static.
    fn structure(&mut self, node: NodeRef<'a>) -> Option<TreeDef> {
        let (root, below) = node.subtree().split_first()?;
        let nodes = (Node { repeat: 1, ..*root }, below);
        if let Some(known) = self.structures.get(&nodes) {
            return Some(known.clone());
        }
        let mut builder = PartsBuilder::default();
        let copied = builder.copy(node, |builder, part, repeat| match part.static_value() {
            Some(value) => builder.insert(value.root(), repeat).map(|()| true),
            None => Ok(false),
        });
        copied.ok()?;
        let structure = builder.finish_value(self.treedef.limits);
        self.structures.insert(nodes, structure.clone());
        Some(structure)
    }
}

/// The nodes of a rectangle from the outside in whose children may be arrays of their own. These
/// children are neither numbers nor, where pairs may be numbers, pairs.
fn above_arrays(node: NodeRef<'_>, means: ArrayMeaning) -> Vec<NodeRef<'_>> {
    let mut above: Vec<_> = std::iter::successors(Some(node), |node| node.only_run()).collect();
    let inside = match means {
        ArrayMeaning::Complex => 3,
        ArrayMeaning::Columns(..) => 2,
    };
    above.truncate(above.len().saturating_sub(inside));
    above
}

/// Whether a node is a static value, maybe in newtypes, whose scalars are leaves of an array.
fn is_static(node: &NodeRef<'_>) -> bool {
    node.inside_newtypes().kind() == NodeKind::Static
}
