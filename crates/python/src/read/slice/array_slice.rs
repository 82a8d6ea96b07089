//! An array, and where in it a type is.

use crate::error::{Error, ErrorKind};
use crate::read::array::Numbers;
use crate::read::probe::TypeRequest;

/// The hint at the end of an error about a type of numbers.
pub(crate) const CONVERT: &str = " (`Reader::convert_numbers` converts)";

/// A whole array.
#[derive(Clone, Copy)]
pub(crate) struct ArraySource<'a> {
    pub(crate) numbers: Numbers<'a>,
    pub(crate) shape: &'a [usize],
    /// Whether numbers of another type are converted.
    pub(crate) convert: bool,
    /// Whether a mark is in the place of the first number.
    pub(crate) marked: bool,
    /// The places of large integers, in ascending order, which numpy made floats of.
    pub(crate) integers: &'a [usize],
    /// Its type and shape, for errors.
    pub(crate) describe: &'a dyn Fn() -> String,
}

impl<'a> ArraySource<'a> {
    pub(crate) fn new(
        numbers: Numbers<'a>,
        shape: &'a [usize],
        convert: bool,
        describe: &'a dyn Fn() -> String,
    ) -> Self {
        ArraySource { numbers, shape, convert, marked: false, integers: &[], describe }
    }
}

/// A dimension that the type requested, and the outer ones.
#[derive(Clone, Copy)]
pub(super) struct RequestedDim<'a> {
    pub(super) outer: Option<&'a RequestedDim<'a>>,
    pub(super) length: Option<usize>,
}

/// A part of an array: an element, an element of an element, …
#[derive(Clone, Copy)]
pub(crate) struct ArraySlice<'a> {
    pub(super) source: &'a ArraySource<'a>,
    /// The dimensions that are left.
    pub(super) dims: &'a [usize],
    /// Where its numbers begin.
    pub(super) start: usize,
    pub(super) requested: Option<&'a RequestedDim<'a>>,
}

impl<'a> ArraySlice<'a> {
    pub(crate) fn new(source: &'a ArraySource<'a>) -> Self {
        ArraySlice { source, dims: source.shape, start: 0, requested: None }
    }

    /// The error for a type that requests something else here.
    #[cold]
    pub(super) fn mismatch(&self, wish: TypeRequest) -> Error {
        let ArraySource { numbers, convert, describe, .. } = self.source;
        let is_same = wish.is_unknown() || wish.number_type() == Some(numbers.type_name());
        let kind = if is_same { ErrorKind::Value } else { ErrorKind::Type };
        // Where the shape is another one, too, converting does not help.
        let helps = self.dims.is_empty()
            && !convert
            && wish.scalar_type().is_some_and(|name| !is_same && numbers.is_converted_to(name));
        let help = if helps { CONVERT } else { "" };
        let (expected, found) = (wish.inside(self.requested_dims()), describe());
        Error::new(kind, format_args!("expected {expected}, found {found}{help}"))
    }

    /// The dimensions that the type requested so far.
    pub(super) fn requested_dims(&self) -> Vec<Option<usize>> {
        let mut dims = Vec::new();
        let mut requested = self.requested;
        while let Some(RequestedDim { outer, length }) = requested {
            dims.push(*length);
            requested = *outer;
        }
        dims.reverse();
        dims
    }

    /// Whether the requested elements could be here, if there are none.
    pub(super) fn could_have(&self, wish: &TypeRequest) -> bool {
        let ArraySource { numbers, convert, .. } = self.source;
        let Some(name) = wish.number_type() else { return true };
        wish.has_dims(self.dims)
            && (name == numbers.type_name() || *convert && numbers.is_converted_to(name))
    }

    /// The index of a number, if it is one.
    #[inline]
    pub(super) fn index(&self) -> Option<usize> {
        self.dims.is_empty().then_some(self.start)
    }
}
