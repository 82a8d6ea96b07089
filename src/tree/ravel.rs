//! Numbers of all kinds in one vector of floats, without loss.
//!
//! The idea is JAX's `ravel_pytree`, which promotes all leaves to one type: 2⁵³ + 1 beside a float
//! becomes 2⁵³. Here, a number that an `f64` cannot hold is an error.

use crate::error::{Error, Result};
use crate::leaf::each_scalar;
use crate::leaf::float::narrow;
use crate::message::brief;
use crate::model::{Leaf, LeafKind, Tree, TreeDef};

/// Turns a vector back into a tree: the result of [`Tree::ravel`], which has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ravel {
    treedef: TreeDef,
    kinds: Vec<LeafKind>,
}

impl Ravel {
    pub(super) fn of(tree: &Tree<Leaf>) -> Result<(Vec<f64>, Ravel)> {
        let mut vector = Vec::with_capacity(tree.leaves.len());
        for (index, leaf) in tree.leaves.iter().enumerate() {
            // It is exact if the inverse conversion returns the same leaf.
            let exact =
                to_f64(leaf).filter(|number| from_f64(*number, leaf.kind()).as_ref() == Some(leaf));
            vector.push(exact.ok_or_else(|| refused(&tree.treedef, index, leaf, LeafKind::F64))?);
        }
        let kinds = tree.leaves.iter().map(Leaf::kind).collect();
        Ok((vector, Ravel { treedef: tree.treedef.clone(), kinds }))
    }

    /// The structure of the tree.
    pub fn treedef(&self) -> &TreeDef {
        &self.treedef
    }

    /// The tree with these numbers, each converted to the kind that the leaf had.
    ///
    /// # Errors
    ///
    /// Returns an error when there are too many or too few numbers; when an integer or a `bool`
    /// would not be equal to its number, or a finite number would become an infinite `f32`. The
    /// error has the path. Rounding to `f32` is not an error.
    pub fn unravel(&self, vector: &[f64]) -> Result<Tree<Leaf>> {
        self.treedef.expect_leaves(vector.len())?;
        let mut leaves = Vec::with_capacity(vector.len());
        for (index, (number, kind)) in vector.iter().zip(&self.kinds).enumerate() {
            let leaf = from_f64(*number, *kind).filter(|leaf| holds(leaf, *number));
            let number = || Leaf::F64(*number);
            leaves.push(leaf.ok_or_else(|| refused(&self.treedef, index, &number(), *kind))?);
        }
        Ok(Tree::from_parts(self.treedef.clone(), leaves))
    }
}

/// Whether the leaf is equal to the number that it was made from; an `f32` may be rounded.
fn holds(leaf: &Leaf, number: f64) -> bool {
    match leaf {
        Leaf::F64(_) => true,
        Leaf::F32(value) => value.is_finite() || !number.is_finite(),
        integer => to_f64(integer) == Some(number),
    }
}

#[cold]
fn refused(treedef: &TreeDef, index: usize, leaf: &Leaf, kind: LeafKind) -> Error {
    let at_leaf = |said: String| treedef.error_at_leaf(index, Error::argument(said));
    match to_f64(leaf) {
        Some(_) => at_leaf(format!("{leaf} does not fit into {kind}")),
        None => at_leaf(format!("expected a number, found `{}`", brief(leaf)))
            .with_hint("make it static with `Flattener::leaves_where`"),
    }
}

/// Converts to the nearest `f64`.
fn to_f64(leaf: &Leaf) -> Option<f64> {
    match leaf {
        Leaf::Bool(value) => Some(f64::from(u8::from(*value))),
        leaf => leaf.as_scalar()?.nearest_f64(),
    }
}

/// Converts to the nearest number of a kind.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "callers compare with the way back"
)]
fn from_f64(number: f64, kind: LeafKind) -> Option<Leaf> {
    each_scalar! { [integers] ($kind $type) => {
        Some(match kind {
            LeafKind::Bool if number == 0.0 || number == 1.0 => Leaf::Bool(number == 1.0),
            // Beyond its range, `as` would return the greatest number of the kind.
            $(LeafKind::$kind if number >= <$type>::MAX as f64 + 1.0 => return None,)*
            $(LeafKind::$kind => Leaf::from(number as $type),)*
            LeafKind::F32 => Leaf::F32(narrow(number)),
            LeafKind::F64 => Leaf::F64(number),
            _ => return None,
        })
    }}
}
