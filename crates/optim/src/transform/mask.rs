//! Selects leaves by a pattern or by their shapes.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use treedef::__private::OrBug;
use treedef::{Pattern, Tree, TreeDef};

use super::statistics::{parameters_of, trained};
use crate::error::{Error, Result};
use crate::leaf::Trainable;

/// Selects leaves: optax's `mask`. It is made from a pattern, or from a test of shapes for leaves that are
/// tensors or arrays:
///
/// ```
/// use treedef::Object;
/// use treedef_optim::{Optimiser, adamw};
///
/// // Matrices have two dimensions. Plain numbers have none: select them by a pattern.
/// let matrices = |shape: &[usize]| shape.len() > 1;
/// let error = adamw(0.1).decay_only(matrices).init::<f64, _>(&[1.0]).unwrap_err();
/// assert!(error.to_string().starts_with("numbers have no shapes"));
///
/// let optimiser = adamw(0.5).weight_decay(1.0).decay_only(|shape: &[usize]| shape == [2]);
/// let model = || (Object(vec![1.0; 2]), Object(vec![1.0; 3]));
/// let zeros = (Object(vec![0.0; 2]), Object(vec![0.0; 3]));
/// let mut state = optimiser.init::<Vec<f64>, _>(&model())?;
/// let (decayed, kept) = optimiser.step(model(), zeros, &mut state)?;
/// assert_eq!((decayed.0, kept.0), (vec![0.5; 2], vec![1.0; 3]));
/// # Ok::<(), treedef_optim::Error>(())
/// ```
#[derive(Clone)]
pub struct Mask(Test);

#[derive(Clone)]
enum Test {
    Pattern(String),
    Shape(Arc<OfShape>),
}

type OfShape = dyn Fn(&[usize]) -> bool + Send + Sync;

macro_rules! of_text {
    ($($text:ty),*) => {$(
        impl From<$text> for Mask {
            fn from(pattern: $text) -> Self {
                Mask(Test::Pattern(pattern.into()))
            }
        }
    )*};
}

of_text! { &str, String, &String }

impl<F: Fn(&[usize]) -> bool + Send + Sync + 'static> From<F> for Mask {
    fn from(test: F) -> Self {
        Mask(Test::Shape(Arc::new(test)))
    }
}

/// Two tests of shapes are equal if they are the same object.
impl PartialEq for Mask {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Test::Pattern(a), Test::Pattern(b)) => a == b,
            (Test::Shape(a), Test::Shape(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

/// The pattern.
impl fmt::Display for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Test::Pattern(pattern) => f.write_str(pattern),
            Test::Shape(_) => f.write_str("a test of shapes"),
        }
    }
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

impl Mask {
    pub(crate) fn tests_shapes(&self) -> bool {
        matches!(self.0, Test::Shape(_))
    }

    /// For each leaf of a structure, whether it is selected.
    fn of<L: Trainable>(&self, tree: &Tree<bool>, leaves: &[L]) -> Result<Vec<bool>> {
        match &self.0 {
            Test::Pattern(pattern) => {
                let parsed: Pattern = pattern.parse().map_err(|error| {
                    Error::Argument(format!("the pattern `{pattern}`: {error}"))
                })?;
                Ok(tree.mask(parsed)?.leaves().to_vec())
            }
            Test::Shape(_) if L::IS_NUMBER => Err(Error::Argument(
                "numbers have no shapes: name those that are meant by a pattern".to_owned(),
            )),
            Test::Shape(test) => Ok(leaves.iter().map(|leaf| test(&leaf.shape())).collect()),
        }
    }
}

/// For each leaf, whether one of the masks selects it. Each mask must select a leaf that is trained.
pub(crate) fn mask<L: Trainable>(
    treedef: &TreeDef,
    leaves: &[L],
    masks: &[Mask],
) -> Result<Vec<bool>> {
    let parameters_at = parameters_of(treedef);
    let trained = &*trained(leaves, &parameters_at);
    let mut named = vec![false; treedef.num_leaves()];
    let tree = Tree::new(treedef.clone(), named.clone())?;
    for mask in masks {
        let found = mask.of(&tree, leaves)?;
        let is_found = |range: &Range<usize>| found.get(range.clone()).or_bug().contains(&true);
        if !trained.iter().any(is_found) {
            return Err(Error::Argument(format!("`{mask}` names nothing that is trained")));
        }
        named.iter_mut().zip(found).for_each(|(named, found)| *named |= found);
    }
    Ok(named)
}

/// Masks in a message, without the first and the last quote.
pub(crate) fn joined(masks: &[Mask]) -> String {
    masks.iter().map(Mask::to_string).collect::<Vec<_>>().join("`, `")
}
