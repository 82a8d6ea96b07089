//! Shapes: how many numbers and bytes they have, and their notation.

use std::fmt;

use treedef::Dtype;

/// The maximum number of dimensions, as in numpy.
pub(crate) const MAX_DIMS: usize = 64;

/// The number of elements of an array with these dimensions.
pub(crate) fn num_elements<'a>(dims: impl IntoIterator<Item = &'a usize>) -> Option<usize> {
    dims.into_iter().try_fold(1usize, |all, dim| all.checked_mul(*dim))
}

/// The number of bytes of an array. `None` if it is larger than memory can be.
pub(crate) fn size_in_bytes(dtype: Dtype, shape: &[usize]) -> Option<usize> {
    // A zero makes the product zero, even if the product of the other dimensions is too large.
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(dtype.size(), |size, dim| size.checked_mul(*dim))
}

/// The type and the shape in JAX's notation: `f32[3, 4]`.
pub fn display(dtype: impl fmt::Display, shape: &[impl fmt::Display]) -> String {
    let sizes: Vec<String> = shape.iter().map(ToString::to_string).collect();
    format!("{dtype}[{}]", sizes.join(", "))
}
