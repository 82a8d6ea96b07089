//! Matrices of `nalgebra`, by the names of their types.
//!
//! To serde, such a matrix is a tuple of numbers, column by column, like other tuples. Only the name of the type shows
//! that it is a matrix, and its shape. If `nalgebra` changes the names, a matrix is written as an array of numbers, and
//! reading one is an error: the tests would show it.

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
    /// The shape of a value, if it is a matrix.
    #[inline]
    pub(crate) fn of_value<T: ?Sized>() -> Option<Self> {
        const MATRIX: &str = "nalgebra::base::matrix::Matrix<";
        // For a number, this is a constant: it is called for each one.
        if type_name::<T>().len() < MATRIX.len() {
            return None;
        }
        // An element of a sequence is a reference.
        let mut name = type_name::<T>().trim_start_matches('&');
        let pointers = ["boxed::Box<", "rc::Rc<", "sync::Arc<", "borrow::Cow<"];
        while let Some(inside) = name.strip_prefix("alloc::") {
            let inside = pointers.iter().find_map(|pointer| inside.strip_prefix(pointer))?;
            // A `Cow` has a lifetime, which not every compiler prints.
            name = inside.trim_start_matches("'_, ").trim_start_matches('&');
        }
        if name.starts_with(MATRIX) {
            return MatrixShape::fixed(name, "::ArrayStorage<").or(Some(MatrixShape::Dynamic));
        }
        MatrixShape::of_geometry(name.strip_prefix("nalgebra::geometry::")?)
    }

    /// That of a type which is its matrix to serde, and has the number of dimensions of space in its name.
    fn of_geometry(name: &str) -> Option<Self> {
        let (kind, arguments) = name.split_once('<')?;
        let dims = || arguments.trim_end_matches('>').rsplit(", ").next()?.parse::<usize>().ok();
        let size = match kind {
            "rotation::Rotation" => dims()?,
            "transform::Transform" => dims()?.checked_add(1)?,
            "orthographic::Orthographic3" | "perspective::Perspective3" => 4,
            _ => return None,
        };
        Some(MatrixShape::Fixed(size, size))
    }

    /// The shape of the value that a visitor makes, if it is a matrix.
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
