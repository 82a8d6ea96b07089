//! Trees for reading: an array is its kind, its shape and statistics of its numbers.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::{self, Write};

use crate::leaf::leaf_type::LeafType;
use crate::leaf::{Integer, Scalar};
use crate::model::{LeafKind, NodeKind, Tree, Value};
use crate::treedef::blocks::{have_one_kind, shape_of};
use crate::treedef::node::NodeRef;
use crate::treedef::text::{LeafText, first_other, write_tree};

/// Arrays of at most this many elements print their elements.
const SHORT: usize = 6;

/// A tree that prints its arrays with statistics. See [`Tree::summary`].
pub struct Summary<'a, L>(&'a Tree<L>);

impl<L: LeafType> Tree<L> {
    /// The tree in few lines: an array of more than six elements is its kind, its shape and
    /// statistics of its numbers, in the style of treescope.
    ///
    /// `≈` is the mean, `±` the standard deviation and `[≥, ≤]` the range of the finite numbers,
    /// rounded to three digits. Zeros, NaNs and infinities are counted. `{:#}` prints one field a
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
    ///   w: f32[2, 4] ≈0.571 ±0.776 [≥-0.5, ≤2] zero:2 nan:1,
    ///   b: (0.0f32, 1.0f32),
    /// }"#
    /// );
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn summary(&self) -> Summary<'_, L> {
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
    /// The texts of arrays by node and first leaf. The pretty form asks for them several times.
    arrays: RefCell<HashMap<(usize, usize), Option<String>>>,
}

impl<L: LeafType> LeafText for Shortened<'_, L> {
    fn write(&self, index: usize, out: &mut dyn Write) -> fmt::Result {
        let Some(leaf) = self.leaves.get(index) else { return Ok(()) };
        match leaf.opaque().and_then(Value::as_array) {
            Some(array) if array.num_leaves() > SHORT => {
                write!(out, "{array}{}", statistics_of(|| array.numbers()))
            }
            _ => write!(out, "{}", leaf.clone().into_leaf()),
        }
    }

    fn equal(&self, first: usize, leaves: usize, count: usize) -> usize {
        let of = |sibling: usize| {
            let first = first + sibling * leaves;
            self.leaves.get(first..first + leaves).unwrap_or_default()
        };
        let same = |a: &L, b: &L| a.as_scalar() == b.as_scalar() && a.opaque() == b.opaque();
        first_other(leaves, count, |sibling| {
            of(sibling).iter().zip(of(sibling - 1)).all(|(a, b)| same(a, b))
        })
    }

    fn array(&self, node: NodeRef<'_>) -> Option<String> {
        if node.num_leaves() <= SHORT || node.kind() == NodeKind::Struct {
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
    let kind = leaves.first()?.kind();
    let scalars = || leaves.iter().filter_map(L::as_scalar);
    have_one_kind(leaves.iter().map(L::kind)).then(|| {
        let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
        format!("{kind}[{}]{}", sizes.join(", "), statistics_of(scalars))
    })
}

/// The statistics of booleans or numbers; nothing for other kinds.
fn statistics_of<'a, I: Iterator<Item = Scalar<'a>>>(scalars: impl Fn() -> I) -> String {
    match scalars().next().map(Scalar::kind) {
        Some(LeafKind::Bool) => {
            let count = |value| scalars().filter(|scalar| *scalar == Scalar::Bool(value)).count();
            format!(" true:{} false:{}", count(true), count(false))
        }
        Some(kind) if kind.is_number() => statistics(|| scalars().filter_map(approximate)),
        _ => String::new(),
    }
}

/// The nearest `f64`.
#[allow(clippy::cast_precision_loss, reason = "for statistics of three digits")]
fn approximate(scalar: Scalar<'_>) -> Option<f64> {
    match scalar {
        Scalar::F32(value) => Some(value.into()),
        Scalar::F64(value) => Some(value),
        other => other.as_integer().map(|integer| match integer {
            Integer::Signed(value) => value as f64,
            Integer::Unsigned(value) => value as f64,
        }),
    }
}

/// ` ≈0.1 ±1 [≥-2.3, ≤2.2] zero:3 nan:1 inf:2`
#[allow(clippy::cast_precision_loss, reason = "counts, for a mean of three digits")]
fn statistics<I: Iterator<Item = f64>>(numbers: impl Fn() -> I) -> String {
    let finite = || numbers().filter(|number| number.is_finite());
    let count = finite().count() as f64;
    let sum: f64 = finite().sum();
    // The sum of large numbers may be infinite, and that of their parts is not.
    let of_parts = || finite().map(|number| number / count).sum();
    let mean: f64 = if sum.is_finite() { sum / count } else { of_parts() };
    let deviation = finite().map(|number| (number - mean) / count.sqrt()).fold(0.0, f64::hypot);
    let counts = [
        ("zero", numbers().filter(|number| *number == 0.0).count()),
        ("nan", numbers().filter(|number| number.is_nan()).count()),
        ("inf", numbers().filter(|number| number.is_infinite()).count()),
    ];
    let range = finite().fold(None, |range, number| {
        let (low, high) = range.unwrap_or((number, number));
        Some((number.min(low), number.max(high)))
    });
    let mut text = String::new();
    if let Some((low, high)) = range {
        let [mean, deviation, low, high] = [mean, deviation, low, high].map(rounded);
        text = format!(" ≈{mean} ±{deviation} [≥{low}, ≤{high}]");
    }
    for (name, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        text.push_str(&format!(" {name}:{count}"));
    }
    text
}

/// A number with three digits, e.g. `0.571`, `1230` or `1.5e-9`.
fn rounded(number: f64) -> String {
    let scientific = format!("{number:.2e}");
    let Ok(near) = scientific.parse::<f64>() else { return scientific };
    match near.abs() {
        0.0 => "0".to_owned(),
        1e-3..1e6 => near.to_string(),
        _ => format!("{near:e}"),
    }
}
