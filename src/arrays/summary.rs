//! Trees for reading: an array is its kind, its shape and statistics of its numbers.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::{self, Write};

use crate::arrays::blocks::{have_one_kind, shape_of};
use crate::arrays::statistics::{SHORT_ARRAY, statistics_of};
use crate::bug::missing;
use crate::leaf::leaf_type::LeafType;
use crate::message::joined;
use crate::model::{Array, LeafKind, NodeKind, Tree, Value};
use crate::text::{LeafText, write_tree};
use crate::treedef::node_ref::NodeRef;

/// A tree that prints its arrays with statistics.
struct Summary<'a, L>(&'a Tree<L>);

impl<L: LeafType> Tree<L> {
    /// The tree in few lines: an array of more than six elements is its kind, its shape and
    /// statistics of its numbers. The kind is `number` for several of the kinds that documents have: `u64`, `i64`
    /// and `f64`.
    ///
    /// These are the mean, the standard deviation (sd) and the range of the finite numbers, rounded
    /// to three digits, and how many numbers are zero, NaN or infinite. `{:#}` prints one field a
    /// line.
    ///
    /// ```
    /// use serde::Serialize;
    /// use treedef::Tree;
    ///
    /// #[derive(Serialize)]
    /// struct Layer { name: &'static str, w: [[f32; 4]; 2], b: [f32; 2] }
    ///
    /// let w = [[0.5, -0.5, 0.0, 1.0], [2.0, f32::NAN, 0.0, 1.0]];
    /// let tree = Tree::of(&Layer { name: "in", w, b: [0.0, 1.0] })?;
    /// assert_eq!(
    ///     format!("{:#}", tree.summary()),
    ///     r#"Layer {
    ///   name: "in",
    ///   w: f32[2, 4] (mean 0.571, sd 0.776, -0.5 … 2, 2 zeros, 1 NaN),
    ///   b: (0.0f32, 1.0f32),
    /// }"#
    /// );
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn summary(&self) -> impl fmt::Display + fmt::Debug {
        Summary(self)
    }
}

impl<L: LeafType> fmt::Display for Summary<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let leaves = Shortened { leaves: &self.0.leaves, arrays: RefCell::default() };
        write_tree(f, &self.0.treedef, &leaves)
    }
}

impl<L: LeafType> fmt::Debug for Summary<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Summary({self})")
    }
}

/// Leaves as literals, and long arrays as one text.
struct Shortened<'a, L> {
    leaves: &'a [L],
    /// The texts of arrays by node and first leaf: the pretty form needs them several times.
    arrays: RefCell<HashMap<(usize, usize), Option<String>>>,
}

impl<L: LeafType> LeafText for Shortened<'_, L> {
    fn write(&self, index: usize, out: &mut dyn Write) -> fmt::Result {
        let Some(leaf) = self.leaves.get(index) else { return missing("a leaf") };
        let array = leaf.opaque().and_then(Value::as_array);
        match array.and_then(Array::in_few_words) {
            Some(text) => out.write_str(&text),
            None => write!(out, "{}", leaf.clone().into()),
        }
    }

    fn same(&self, a: usize, b: usize) -> bool {
        let of = |index| self.leaves.get(index).map(|leaf: &L| (leaf.as_scalar(), leaf.opaque()));
        of(a) == of(b)
    }

    fn array(&self, node: NodeRef<'_>) -> Option<String> {
        if node.num_leaves() <= SHORT_ARRAY || node.kind() == NodeKind::Struct {
            return None;
        }
        let place = (node.index(), node.first_leaf());
        if let Some(known) = self.arrays.borrow().get(&place) {
            return known.clone();
        }
        let text = summary_of(self.leaves, node);
        self.arrays.borrow_mut().insert(place, text.clone());
        text
    }
}

/// The text of the array at a node, if it is one.
fn summary_of<L: LeafType>(leaves: &[L], node: NodeRef<'_>) -> Option<String> {
    let shape = shape_of(node)?;
    let leaves = leaves.get(node.leaf_range())?;
    let scalars = || leaves.iter().filter_map(L::as_scalar);
    let kinds = || leaves.iter().map(L::kind);
    let kind = match leaves.first()?.kind() {
        kind if have_one_kind(kinds()) => kind.name(),
        // In a document, each number has a kind of its own.
        _ if kinds().all(|kind| matches!(kind, LeafKind::U64 | LeafKind::I64 | LeafKind::F64)) => {
            "number"
        }
        _ => return None,
    };
    Some(format!("{kind}[{}]{}", joined(&shape, ", "), statistics_of(scalars)))
}
