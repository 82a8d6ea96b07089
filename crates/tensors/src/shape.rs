//! Shapes: how many numbers and bytes they have, and their notation.

use std::fmt;

use treedef::Dtype;

/// As many dimensions as an array of numpy can have.
pub(crate) const MAX_DIMS: usize = 64;

/// The number of elements that dimensions have.
pub(crate) fn num_elements<'a>(dims: impl IntoIterator<Item = &'a usize>) -> Option<usize> {
    dims.into_iter().try_fold(1usize, |all, dim| all.checked_mul(*dim))
}

/// The number of bytes of an array. `None` if there are more than memory can have.
pub(crate) fn size_in_bytes(dtype: Dtype, shape: &[usize]) -> Option<usize> {
    // A zero anywhere makes the whole zero, also beside dimensions whose product is too large.
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
