//! The first dimension of a part as a sequence.

use serde::de::{DeserializeSeed, SeqAccess, Visitor};

use treedef::__private::OrBug;

use crate::error::{Error, Result};
use crate::read::array::Numbers;
use crate::read::probe::TypeRequest;
use crate::read::slice::array_slice::{ArraySlice, RequestedDim};
use crate::read::slice::row::FloatSeqAccess;

impl ArraySlice<'_> {
    pub(super) fn sequence<'de, V: Visitor<'de>>(
        self,
        length: Option<usize>,
        visitor: V,
    ) -> Result<V::Value> {
        match self.dims.split_first() {
            Some((&found, dims)) if length.is_none_or(|length| length == found) => {
                let requested = &RequestedDim { outer: self.requested, length };
                let step = dims.iter().product();
                let slice = ArraySlice { dims, requested: Some(requested), ..self };
                let end = self.start + found; // of a row
                match self.source.numbers {
                    _ if !dims.is_empty() || found == 0 => {}
                    Numbers::F64(numbers) => {
                        let numbers = numbers.get(self.start..end).or_bug().iter();
                        return visitor.visit_seq(FloatSeqAccess { slice, numbers });
                    }
                    Numbers::F32(numbers) => {
                        let numbers = numbers.get(self.start..end).or_bug().iter();
                        return visitor.visit_seq(FloatSeqAccess { slice, numbers });
                    }
                    _ => {}
                }
                visitor.visit_seq(SliceSeqAccess { slice, step, left: found, is_empty: found == 0 })
            }
            _ => Err(self.mismatch(TypeRequest::of_sequence(length, visitor))),
        }
    }

    #[cold]
    fn expect_none<'de, S: DeserializeSeed<'de>>(self, seed: S) -> Result<Option<S::Value>> {
        let wish = TypeRequest::of_seed(seed);
        if self.could_have(&wish) { Ok(None) } else { Err(self.mismatch(wish)) }
    }
}

/// The elements of the first dimension.
struct SliceSeqAccess<'a> {
    slice: ArraySlice<'a>,
    /// How many numbers each has.
    step: usize,
    left: usize,
    /// Whether there were none: then the requested type is compared with the other dimensions.
    is_empty: bool,
}

impl<'de> SeqAccess<'de> for SliceSeqAccess<'_> {
    type Error = Error;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        if self.left == 0 {
            return if self.is_empty { self.slice.expect_none(seed) } else { Ok(None) };
        }
        self.left -= 1;
        let slice = self.slice;
        self.slice.start += self.step; // at most the length of the numbers
        seed.deserialize(slice).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}
