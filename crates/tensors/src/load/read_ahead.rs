//! The next numbers of a tensor, for a type that requests them one after another.
//!
//! This exists only for speed: numbers that were not copied are read one by one by a
//! [`ValueDeserializer`](super::value_deserializer::ValueDeserializer).

use std::cell::Cell;
use std::mem::needs_drop;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::forward_to_deserialize_any;

use crate::bug::OrBug;
use crate::tensor::Dtype;

use super::failure::Failure;
use super::primitive::{Primitive, deserialize_numbers};
use super::tensor_slice::TensorSlice;

/// The number of bytes that are copied at once.
const BYTES: usize = 512;

/// Whether a type may be a number.
pub(crate) const fn may_be_number<T>() -> bool {
    !needs_drop::<T>() && matches!(size_of::<T>(), 1 | 2 | 4 | 8)
}

/// Copies of the next numbers.
pub(crate) struct ReadAhead {
    bytes: [u8; BYTES],
    /// The position of the next number, and the end of the last one.
    next: usize,
    end: usize,
    dtype: Dtype,
    /// The size of a number, or 0 if no numbers are copied.
    size: usize,
}

impl ReadAhead {
    /// For elements at this distance.
    pub(crate) fn of(elements: TensorSlice<'_>, stride: Option<usize>) -> Self {
        let dtype = elements.array.dtype;
        let size = if stride == Some(1) { dtype.size() } else { 0 };
        ReadAhead { bytes: [0; BYTES], next: 0, end: 0, dtype, size }
    }

    /// The next number, if the type can be such a number.
    #[inline]
    pub(crate) fn next<'a, T: Deserialize<'a>>(&mut self) -> Option<T> {
        if self.next == self.end || size_of::<T>() != self.size {
            return None;
        }
        let end = self.next + size_of::<T>(); // at most `self.end`: the numbers are whole
        let (bytes, is_read) = (self.bytes.get(self.next..end)?, Cell::new(false));
        let number = NumberDeserializer { bytes, dtype: self.dtype, is_read: &is_read };
        match T::deserialize(number) {
            Ok(number) if is_read.get() => {
                self.next = end;
                Some(number)
            }
            _ => {
                self.size = 0;
                None
            }
        }
    }

    /// Whether numbers of a size may be copied, because none are left.
    pub(crate) fn may_copy(&self, size: usize) -> bool {
        self.size == size && self.next == self.end
    }

    /// Copies the numbers from an element on, at most `most`, as far as they are in memory. Returns
    /// their number.
    pub(crate) fn copy(&mut self, first: TensorSlice<'_>, most: usize) -> usize {
        let room = most.saturating_mul(self.size).min(BYTES);
        let bytes = self.bytes.get_mut(..room).or_bug();
        (self.next, self.end) = (0, first.copy_numbers(bytes));
        self.end.checked_div(self.size).unwrap_or(0)
    }

    /// Forgets the remaining numbers, and returns their count.
    pub(crate) fn forget(&mut self) -> usize {
        let left = self.left();
        self.next = self.end;
        left
    }

    pub(crate) fn left(&self) -> usize {
        (self.end - self.next).checked_div(self.dtype.size()).unwrap_or(0)
    }
}

/// A number for a type that asks for nothing else.
struct NumberDeserializer<'a> {
    bytes: &'a [u8],
    dtype: Dtype,
    /// A type may request something else and make a value without it.
    is_read: &'a Cell<bool>,
}

impl NumberDeserializer<'_> {
    #[inline]
    fn number<N: Primitive>(self) -> Result<N, Failure> {
        let number = N::read(self.bytes).filter(|_| self.dtype == N::DTYPE);
        self.is_read.set(number.is_some());
        number.ok_or(Failure::Reported)
    }
}

impl<'de> Deserializer<'de> for NumberDeserializer<'_> {
    type Error = Failure;

    deserialize_numbers! {}

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Failure> {
        Err(Failure::Reported)
    }

    forward_to_deserialize_any! {
        bool i128 u128 char str string bytes byte_buf option unit unit_struct newtype_struct seq tuple
        tuple_struct map struct enum identifier ignored_any
    }
}
