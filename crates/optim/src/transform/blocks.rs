//! The arrays of a model, for transforms that look at an array as a whole.

use std::iter;
use std::ops::Range;

use treedef::{NodeKind, NodeRef, TreeDef};

use super::{Number, Scope, Term};
use crate::error::Result;
use crate::leaf::Trainable;

/// The arrays of a scope. Each is a leaf, unless leaves are numbers: then the numbers of a sequence, an array
/// or a tuple are one array, in any depth, as are the weights in a `Vec<Vec<f64>>`.
#[derive(Clone, Debug)]
pub(crate) struct NumberArrays {
    pub(crate) all: Vec<ArrayPart>,
    among: Vec<Range<usize>>,
}

/// An array, or the part of it that is in a scope.
#[derive(Clone, Debug)]
pub(crate) struct ArrayPart {
    pub(crate) ranges: Vec<Range<usize>>,
    /// The number of its numbers.
    pub(crate) len: f64,
}

impl NumberArrays {
    pub(crate) fn of<L: Trainable>(scope: Scope<'_>, leaves: &[L]) -> Result<Self> {
        let parts: Vec<Vec<Range<usize>>> = if L::IS_NUMBER {
            arrays(scope.treedef).into_iter().map(|array| inside(scope.ranges, &array)).collect()
        } else {
            scope
                .ranges
                .iter()
                .cloned()
                .flatten()
                .map(|leaf| iter::once(leaf..leaf + 1).collect())
                .collect()
        };
        let blocks = parts.into_iter().filter(|ranges| !ranges.is_empty()).map(|ranges| {
            let len = Scope { ranges: &ranges, ..scope }.sum(&One, [leaves])?;
            Ok(ArrayPart { ranges, len })
        });
        Ok(NumberArrays { all: blocks.collect::<Result<_>>()?, among: scope.ranges.to_vec() })
    }

    pub(crate) fn is_of(&self, scope: Scope<'_>) -> bool {
        self.among == scope.ranges
    }
}

/// The parts of sorted ranges that are inside another.
fn inside(ranges: &[Range<usize>], array: &Range<usize>) -> Vec<Range<usize>> {
    let first = ranges.partition_point(|range| range.end <= array.start);
    let found = ranges.iter().skip(first).take_while(|range| range.start < array.end);
    found.map(|range| range.start.max(array.start)..range.end.min(array.end)).collect()
}

/// The leaves of each array, in order.
fn arrays(treedef: &TreeDef) -> Vec<Range<usize>> {
    let (mut nodes, mut found) = (vec![treedef.root()], Vec::new());
    while let Some(node) = nodes.pop() {
        if is_array(node) {
            found.push(node.leaf_range());
        } else {
            let children = nodes.len();
            nodes.extend(node.children());
            nodes.get_mut(children..).unwrap_or_default().reverse();
        }
    }
    found
}

/// Whether there is nothing but numbers in a node.
fn is_array(node: NodeRef<'_>) -> bool {
    let mut nodes = vec![node];
    while let Some(node) = nodes.pop() {
        match node.kind() {
            NodeKind::Leaf => {}
            NodeKind::Seq | NodeKind::Tuple | NodeKind::NewtypeStruct => {
                nodes.extend(node.runs().map(|(child, _)| child));
            }
            _ => return false,
        }
    }
    true
}

/// The number 1 for each number.
#[derive(Clone, Copy)]
struct One;

impl Term<1> for One {
    #[inline(always)]
    fn term<X: Number>(&self, [x]: [X; 1]) -> X {
        x.zero().plus(1.0)
    }
}
