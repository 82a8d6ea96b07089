//! Arrays as leaves.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::error::{Cause, Error, Result};
use crate::leaf::Scalar;
use crate::leaf::column::home;
use crate::leaf::float::Half;
use crate::leaf::leaf_type::LeafType;
use crate::message::joined;
use crate::model::{Array, Column, Content, Dtype, Lazy, Leaf, Tree, Value};

impl Array {
    /// The type of the elements.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The number of elements in each dimension, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Whether the first index changes fastest, as in a matrix of `nalgebra`. In all other arrays
    /// the last one does.
    pub fn is_column_major(&self) -> bool {
        self.column_major
    }

    /// The leaves before and after the numbers: the version and the dimensions of an `ndarray`
    /// array.
    pub fn other_leaves(&self) -> impl Iterator<Item = &Leaf> {
        self.before.iter().chain(&self.after)
    }

    /// The numbers, if they are of this type: `u16` for `F16` and `Bf16`, two `f32` for each `C64`.
    /// A `usize` is a `u64` here, and an `isize` an `i64`.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::of(&[[1.0f32, 2.0], [3.0, 4.0]])?.with_arrays()?;
    /// let array = tree.leaves()[0].as_array().unwrap();
    /// assert_eq!(array.shape(), [2, 2]);
    /// assert_eq!(array.as_slice::<f32>(), Some(&[1.0, 2.0, 3.0, 4.0][..]));
    /// assert_eq!(array.as_slice::<f64>(), None);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn as_slice<L: LeafType>(&self) -> Option<&[L]> {
        self.numbers.get::<L>()?.get(self.range.clone())
    }

    /// The same array with other numbers of the same type and count.
    ///
    /// # Errors
    ///
    /// Returns an error when there are more or fewer numbers, or when they are of another type.
    ///
    /// ```
    /// use treedef::{Leaf, Tree};
    ///
    /// let tree = Tree::of(&vec![vec![1.0, 2.0], vec![3.0, 4.0]])?.with_arrays()?;
    /// let array = tree.leaves()[0].as_array().unwrap();
    /// let doubled = array.with_numbers(vec![2.0, 4.0, 6.0, 8.0])?;
    /// let rebuilt: Vec<Vec<f64>> = Leaf::from(doubled).into_typed()?;
    /// assert_eq!(rebuilt, [[2.0, 4.0], [6.0, 8.0]]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn with_numbers<L: LeafType>(&self, mut numbers: Vec<L>) -> Result<Array> {
        if numbers.len() != self.range.len() {
            let (expected, found) = (self.range.len(), numbers.len());
            return Err(Cause::LeafCount { expected, found }.into());
        }
        let (expected, found) = (self.numbers.home(), home(L::KIND));
        if expected != found {
            return Err(Cause::LeafKind { expected, found: L::KIND }.into());
        }
        let range = 0..numbers.len();
        let column = Column::of(&mut numbers).unwrap_or_else(|| {
            // A `usize` is a `u64`.
            let mut column = Column::new(expected);
            numbers.into_iter().for_each(|number| column.push(number.into()));
            column
        });
        let (before, after) = (self.before.clone(), self.after.clone());
        let (treedef, shape) = (self.treedef.clone(), self.shape.clone());
        let (numbers, bytes) = (Arc::new(column), self.bytes.as_ref().map(|_| late()));
        Ok(Array { treedef, before, numbers, range, after, shape, bytes, ..*self })
    }

    /// The array with `f` applied to each number.
    ///
    /// # Errors
    ///
    /// Returns an error when the numbers are of another type.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::of(&[1.0f32, 2.0])?.with_arrays()?;
    /// let halved = tree.leaves()[0].as_array().unwrap().map(|x: f32| x / 2.0)?;
    /// assert_eq!(halved.as_slice::<f32>(), Some(&[0.5, 1.0][..]));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn map<L: LeafType>(&self, f: impl FnMut(L) -> L) -> Result<Array> {
        self.with_numbers(self.expect_slice::<L>()?.iter().cloned().map(f).collect())
    }

    /// The array with `f` applied to each number and the number of `other` at the same index.
    ///
    /// # Errors
    ///
    /// Returns an error when the types, the shapes or the orders differ, or when the numbers are of
    /// another type.
    ///
    /// ```
    /// use treedef::{Leaf, Tree};
    ///
    /// let (w, gradient) =
    ///     (Tree::of(&[1.0, 2.0])?.with_arrays()?, Tree::of(&[0.5, 0.5])?.with_arrays()?);
    /// let stepped = w.zip_with(gradient, |w, g: Leaf| match (w.as_array(), g.as_array()) {
    ///     (Some(w), Some(g)) => w.zip(g, |w: f64, g| w - 0.5 * g).map_or(Leaf::None, Leaf::from),
    ///     _ => w,
    /// })?;
    /// assert_eq!(stepped.into_typed::<[f64; 2]>()?, [0.75, 1.75]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn zip<L: LeafType>(&self, other: &Array, mut f: impl FnMut(L, L) -> L) -> Result<Array> {
        let (a, b) = (self.expect_slice::<L>()?, other.expect_slice::<L>()?);
        if self.form() != other.form() {
            let order =
                |array: &Array| if array.column_major { " in column-major order" } else { "" };
            let (in_self, in_other) = (order(self), order(other));
            let message = format!("expected an array `{self}`{in_self}, found `{other}`{in_other}");
            return Err(Error::argument(message));
        }
        self.with_numbers(a.iter().zip(b).map(|(a, b)| f(a.clone(), b.clone())).collect())
    }

    /// The array as a tree with a leaf for each number, and for each other scalar that serde sees
    /// in it.
    ///
    /// ```
    /// use treedef::Tree;
    ///
    /// let tree = Tree::of(&[[1u8, 2], [3, 4]])?;
    /// assert_eq!(tree.clone().with_arrays()?.leaves()[0].as_array().unwrap().to_tree(), tree);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn to_tree(&self) -> Tree<Leaf> {
        Tree::from_parts(self.treedef.clone(), self.scalars().map(Leaf::from).collect())
    }

    /// The rule that maps an index to a number.
    fn form(&self) -> (Dtype, &[usize], bool) {
        (self.dtype, &self.shape, self.column_major)
    }

    fn expect_slice<L: LeafType>(&self) -> Result<&[L]> {
        self.as_slice().ok_or_else(|| {
            let (expected, found) = (L::KIND, self.numbers.home());
            let error = Error::from(Cause::LeafKind { expected, found });
            if expected == found {
                error.with_hint(format!("sizes are stored as `{found}`"))
            } else {
                error
            }
        })
    }

    /// The numbers of a range of leaves, if all of these leaves are numbers.
    pub(crate) fn numbers_at<L: LeafType>(&self, leaves: Range<usize>) -> Option<&[L]> {
        let before = self.before.len();
        if self.bytes.is_some() {
            return None;
        }
        self.as_slice()?.get(leaves.start.checked_sub(before)?..leaves.end.checked_sub(before)?)
    }

    /// The number of leaves that serde sees: the numbers, and the leaves before and after them.
    pub(crate) fn num_leaves(&self) -> usize {
        self.before.len() + self.num_middle() + self.after.len()
    }

    /// The number of leaves for the numbers.
    fn num_middle(&self) -> usize {
        self.bytes.as_ref().map_or(self.range.len(), |_| 1)
    }

    /// The leaf at an index.
    pub(crate) fn scalar(&self, index: usize) -> Option<Scalar<'_>> {
        let Some(number) = index.checked_sub(self.before.len()) else {
            return self.before.get(index)?.as_scalar();
        };
        match (number.checked_sub(self.num_middle()), &self.bytes) {
            (None, None) => self.numbers.scalar(self.range.start + number),
            (None, Some(bytes)) => {
                let leaf = || Leaf::Bytes(self.numbers.to_bytes(self.range.clone()).into());
                bytes.get(&leaf).as_scalar()
            }
            (Some(after), _) => self.after.get(after)?.as_scalar(),
        }
    }

    pub(crate) fn scalars(&self) -> impl Iterator<Item = Scalar<'_>> {
        (0..self.num_leaves()).filter_map(|index| self.scalar(index))
    }

    /// The numbers as scalars, and half floats as `f32`. `None` for complex numbers, where each
    /// leaf is a part of a number.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = Scalar<'_>> {
        let half = Half::named(self.dtype.name());
        let plain = half.is_some() || Dtype::of_kind(self.numbers.home()) == Some(self.dtype);
        let scalars = self.range.clone().filter(move |_| plain);
        scalars.filter_map(move |index| match (half, self.numbers.scalar(index)?) {
            (Some(half), Scalar::U16(bits)) => Some(Scalar::F32(half.widen(bits))),
            (_, scalar) => Some(scalar),
        })
    }
}

pub(crate) fn late() -> Arc<dyn Lazy<Leaf>> {
    Arc::new(OnceLock::new())
}

/// `f32[3, 4]`
impl fmt::Display for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.dtype, joined(&self.shape, ", "))
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Array({self})")
    }
}

impl From<Array> for Leaf {
    fn from(array: Array) -> Self {
        Leaf::Opaque(Arc::new(Value(Content::Array(Arc::new(array)))))
    }
}

impl Leaf {
    /// The array, if the leaf is one. See [`Flattener::arrays`](crate::Flattener::arrays).
    pub fn as_array(&self) -> Option<&Array> {
        match self {
            Leaf::Opaque(value) => value.as_array(),
            _ => None,
        }
    }
}

impl Value {
    /// The array, if the value is stored as one.
    pub fn as_array(&self) -> Option<&Array> {
        match &self.0 {
            Content::Array(array) => Some(array),
            Content::Scalar(_) | Content::Tree(..) => None,
        }
    }
}
