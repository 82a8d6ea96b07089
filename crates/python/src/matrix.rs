//! What the name of a type says of a matrix of `nalgebra`.
//!
//! To serde, such a matrix is a tuple of numbers, column by column, and so is any other: that it is a matrix, and of
//! which shape, stands in the name alone. If the names change, an array of numbers is what goes out, and what
//! comes in is an error: the tests see it.

use std::any::type_name;

/// The shape of a matrix type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatrixShape {
    /// Rows and columns.
    Fixed(usize, usize),
    /// The value has it.
    Dynamic,
}

impl MatrixShape {
    /// That of a value.
    #[inline]
    pub(crate) fn of_value<T: ?Sized>() -> Option<Self> {
        const MATRIX: &str = "nalgebra::base::matrix::Matrix<";
        // Of a number, a constant: this is asked for each.
        if type_name::<T>().len() < MATRIX.len() {
            return None;
        }
        // An element of a sequence is a reference.
        let name = type_name::<T>().trim_start_matches('&');
        if name.starts_with(MATRIX) {
            MatrixShape::fixed(name, "::ArrayStorage<").or(Some(MatrixShape::Dynamic))
        } else {
            None
        }
    }

    /// That of the value of a visitor.
    pub(crate) fn of_visitor<V>() -> Option<Self> {
        let name = type_name::<V>();
        if !name.contains("nalgebra::") {
            return None;
        }
        // A dynamic matrix is a tuple of numbers, rows and columns.
        let is_size = |name: &str| {
            let size = name.strip_prefix("nalgebra::base::dimension::");
            size.is_some_and(|size| {
                size == "Dyn" || size.starts_with("Const<") && size.ends_with('>')
            })
        };
        let mut parts = name.strip_suffix('>').unwrap_or(name).rsplit(", ");
        let is_dynamic = is_size(parts.next()?) && is_size(parts.next()?);
        let fixed = MatrixShape::fixed(name, "::ArrayStorageVisitor<");
        fixed.or(is_dynamic.then_some(MatrixShape::Dynamic))
    }

    fn fixed(name: &str, storage: &str) -> Option<Self> {
        let (_, arguments) = name.rsplit_once(storage)?;
        let mut sizes = arguments.trim_end_matches('>').rsplit(", ");
        let columns = sizes.next()?.parse().ok()?;
        Some(MatrixShape::Fixed(sizes.next()?.parse().ok()?, columns))
    }
}
