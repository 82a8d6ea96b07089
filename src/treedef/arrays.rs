//! Finds the arrays of a structure and makes one leaf of each.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::error::Result;
use crate::leaf::column::{Columns, Segment, home};
use crate::model::{Array, Column, Dtype, Leaf, LeafKind, Node, NodeKind, TreeDef};
#[cfg(feature = "persist")]
use crate::model::{Content, Value};
use crate::treedef::blocks::{Rectangle, SHAPE_FIELDS, is_list, rectangle};
use crate::treedef::node::NodeRef;
use crate::treedef::treedef_builder::TreeDefBuilder;
use crate::treedef::walk::{Event, Stops, Walk};

/// The fields of structs that hold an array: of `ndarray`, and of `rten` and others.
const ARRAY_TYPES: [&[&str]; 2] = [&["v", "dim", "data"], &["shape", "data"]];

/// The number of fields of the largest of them.
const MOST_FIELDS: usize = 3;

/// Makes one leaf of each array.
pub(crate) fn collect_arrays(treedef: &TreeDef, leaves: Columns) -> Result<(TreeDef, Vec<Leaf>)> {
    let mut arrays = Arrays::new(treedef, leaves, false);
    let mut builder = TreeDefBuilder::onto(treedef.root(), treedef.limits);
    let star = TreeDef::leaf();
    let mut leaves = Vec::new();
    let mut walk = Walk::new(treedef.root(), Stops::AtLeaflessRuns);
    while let Some(event) = walk.next() {
        match event {
            Event::Enter { node, repeat } if node.num_leaves() == 0 => {
                builder.insert(node, repeat)?;
                walk.skip();
            }
            Event::Enter { node, .. } if node.is_leaf() => {
                builder.insert(star.root(), 1)?;
                leaves.extend(arrays.leaf(node.first_leaf()));
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
            Event::Leave(_) => builder.close()?,
        }
    }
    let mut collected = builder.finish()?;
    // An array has no maps, so the remaining maps have the same numbers.
    collected.arrivals.clone_from(&treedef.arrivals);
    collected.walked = treedef.walked;
    Ok((collected, leaves))
}

/// Stores a value as an array, if it is one.
#[cfg(feature = "persist")]
pub(crate) fn in_one_buffer(value: Value) -> Value {
    let Content::Tree(tree) = &value.0 else { return value };
    let root = tree.treedef.root();
    let is_number = |leaf: &Leaf| Dtype::of_kind(leaf.kind()).is_some();
    if !tree.leaves.iter().all(is_number) {
        return value;
    }
    let columns = tree.leaves.iter().cloned().collect();
    match Arrays::new(&tree.treedef, columns, true).array_at(root) {
        Some(array) => Value(Content::Array(Arc::new(array))),
        None => value,
    }
}

/// The tree whose arrays are collected.
struct Arrays<'a> {
    treedef: &'a TreeDef,
    /// Whether this is the tree of a stored value, in which statics are leaves.
    is_stored: bool,
    layout: Vec<Segment>,
    columns: Vec<Arc<Column>>,
    /// The structures of arrays, by their nodes: many arrays have the same.
    structures: HashMap<(Node, &'a [Node]), TreeDef>,
}

/// Which leaves of a node are numbers, and what they mean.
struct Numbers {
    dtype: Dtype,
    shape: Vec<usize>,
    column_major: bool,
    leaves: Range<usize>,
    before: Vec<Leaf>,
    after: Vec<Leaf>,
}

impl<'a> Arrays<'a> {
    fn new(treedef: &'a TreeDef, leaves: Columns, is_stored: bool) -> Self {
        let mut columns = leaves.columns;
        columns.iter_mut().for_each(Column::shrink);
        let columns = columns.into_iter().map(Arc::new).collect();
        Arrays { treedef, is_stored, layout: leaves.layout, columns, structures: HashMap::new() }
    }

    /// The kind of leaves that all have one, their column, and their place in it.
    fn find(&self, leaves: Range<usize>) -> Option<(LeafKind, &Arc<Column>, Range<usize>)> {
        let segment = self.layout.partition_point(|segment| segment.leaves.end <= leaves.start);
        let segment = self.layout.get(segment).filter(|found| leaves.end <= found.leaves.end)?;
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
        let Numbers { dtype, shape, column_major, leaves, before, after } =
            self.numbers_at(node)?;
        let treedef = self.structure(node)?;
        let (_, numbers, range) = self.find(leaves)?;
        Some(Array {
            treedef,
            before: before.into(),
            numbers: numbers.clone(),
            range,
            after: after.into(),
            dtype,
            shape: shape.into(),
            column_major,
        })
    }

    fn numbers_at(&self, node: NodeRef<'_>) -> Option<Numbers> {
        let outer = rectangle(node);
        match self.dtype(&outer) {
            None if outer.shape.is_empty() => self.in_array_type(outer.element),
            Some(dtype) if !outer.shape.is_empty() => Some(Numbers {
                dtype,
                shape: outer.shape,
                column_major: false,
                leaves: node.leaf_range(),
                before: Vec::new(),
                after: Vec::new(),
            }),
            _ => None,
        }
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

    /// The numbers of a struct with flat `data` and a `dim` or `shape`, or of a tuple of flat data
    /// with static numbers of rows and columns. All else in them must be integers: other leaves and
    /// maps cannot be part of an array.
    fn in_array_type(&self, node: NodeRef<'_>) -> Option<Numbers> {
        let children: Vec<_> = node.children().take(MOST_FIELDS + 1).collect();
        let named = |name: &str| node.fields().iter().position(|field| field == name);
        let (data, shape) = match node.kind() {
            NodeKind::Struct if ARRAY_TYPES.iter().any(|fields| same_names(node, fields)) => {
                let shape = SHAPE_FIELDS.iter().find_map(|field| named(field))?;
                (named("data")?, shape..shape + 1)
            }
            NodeKind::Tuple if children.len() == 3 && self.has_known_sizes(&children) => (0, 1..3),
            _ => return None,
        };
        let flat = rectangle(*children.get(data)?);
        let dtype = self.dtype(&flat)?;
        let shape = self.sizes(children.get(shape)?)?;
        let size = shape.iter().try_fold(1usize, |size, dim| size.checked_mul(*dim))?;
        if flat.shape != [size] {
            return None;
        }
        let (before, data_and_after) = children.split_at(data);
        let (data, after) = data_and_after.split_first()?;
        Some(Numbers {
            dtype,
            shape,
            column_major: node.kind() == NodeKind::Tuple,
            leaves: data.leaf_range(),
            before: self.integers(before)?,
            after: self.integers(after)?,
        })
    }

    /// Whether the numbers of rows and columns after some data are known as such: they are static.
    /// In a value that was stored, they are leaves.
    fn has_known_sizes(&self, children: &[NodeRef<'_>]) -> bool {
        let is_static = |size: &NodeRef<'_>| size.kind() == NodeKind::Static;
        self.is_stored || children.iter().skip(1).all(is_static)
    }

    fn sizes(&self, nodes: &[NodeRef<'_>]) -> Option<Vec<usize>> {
        let size = |leaf: &Leaf| usize::try_from(leaf.as_u64()?).ok();
        self.integers(nodes)?.iter().map(size).collect()
    }

    /// The integers of some nodes, each of which is an integer or a list of them.
    fn integers(&self, nodes: &[NodeRef<'_>]) -> Option<Vec<Leaf>> {
        let mut integers = Vec::new();
        for node in nodes {
            match node.static_value() {
                Some(value) if is_list(value.root()) => integers.extend_from_slice(&value.leaves()),
                None if is_list(*node) => {
                    let leaves = node.leaf_range().map(|index| self.leaf(index));
                    integers.extend(leaves.collect::<Option<Vec<_>>>()?);
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
        let mut builder = TreeDefBuilder::default();
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

/// Whether the fields of a struct are these, in any order.
fn same_names(node: NodeRef<'_>, names: &[&str]) -> bool {
    let has = |name: &&str| node.fields().iter().any(|field| field == name);
    node.fields().len() == names.len() && names.iter().all(has)
}
