//! Conversion of leaves that fit into 64 bits.

use std::cell::Cell;

use crate::bug::OrBug;
use crate::leaf::Scalar;
use crate::leaf::each_scalar;
use crate::model::LeafKind;

/// The most leaves of a struct or a tuple that is walked and rebuilt as plain data.
pub(crate) const MOST_PLAIN_LEAVES: usize = 64;

/// Whether leaves of a kind fit into 64 bits.
pub(crate) fn is_number(kind: LeafKind) -> bool {
    kind.size().is_some_and(|bytes| bytes <= 8)
}

/// The scalar of a kind with these bits.
#[inline(always)] // callers know the kind, so only one arm is compiled
pub(crate) fn scalar(kind: LeafKind, bits: u64) -> Option<Scalar<'static>> {
    each_scalar! { [signed unsigned] ($kind $type) => {
        Some(match kind {
            LeafKind::Bool => Scalar::Bool(bits != 0),
            // The upper bits repeat the sign.
            $(LeafKind::$kind => Scalar::$kind(bits as $type),)*
            LeafKind::F32 => Scalar::F32(f32_of(bits)),
            LeafKind::F64 => Scalar::F64(f64::from_bits(bits)),
            LeafKind::Char => Scalar::Char(char::from_u32(bits.try_into().ok()?)?),
            _ => return None,
        })
    }}
}

#[inline(always)]
pub(crate) fn f32_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32) // the upper half is zero
}

/// Numbers of one kind, as their bits: numbers of at most 32 bits, floats of 64 bits, and all
/// others.
#[derive(Clone, Copy)]
pub enum Bits<'b> {
    Narrow(&'b [u32]),
    Doubles(&'b [f64]),
    Wide(&'b [Cell<u64>]),
}

impl Bits<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Bits::Narrow(bits) => bits.len(),
            Bits::Doubles(bits) => bits.len(),
            Bits::Wide(bits) => bits.len(),
        }
    }

    /// The bits of an existing number.
    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> u64 {
        match self {
            Bits::Narrow(bits) => bits.get(index).copied().map(u64::from).or_bug(),
            Bits::Doubles(numbers) => numbers.get(index).map(|number| number.to_bits()).or_bug(),
            Bits::Wide(bits) => bits.get(index).map(Cell::get).or_bug(),
        }
    }
}
