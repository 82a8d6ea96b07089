//! Conversion of leaves that fit into 64 bits.

use crate::leaf::Scalar;
use crate::model::LeafKind;

/// Whether leaves of a kind fit into 64 bits.
pub(crate) fn is_number(kind: LeafKind) -> bool {
    use LeafKind as Is;
    !matches!(kind, Is::I128 | Is::U128 | Is::Str | Is::Bytes | Is::None | Is::Opaque)
}

/// The scalar of a kind with these bits.
#[inline(always)] // callers know the kind, so only one arm is compiled
pub(crate) fn scalar(kind: LeafKind, bits: u64) -> Option<Scalar<'static>> {
    let signed = bits.cast_signed();
    Some(match kind {
        LeafKind::Bool => Scalar::Bool(bits != 0),
        LeafKind::I8 => Scalar::I8(signed.try_into().ok()?),
        LeafKind::I16 => Scalar::I16(signed.try_into().ok()?),
        LeafKind::I32 => Scalar::I32(signed.try_into().ok()?),
        LeafKind::I64 => Scalar::I64(signed),
        LeafKind::U8 => Scalar::U8(bits.try_into().ok()?),
        LeafKind::U16 => Scalar::U16(bits.try_into().ok()?),
        LeafKind::U32 => Scalar::U32(bits.try_into().ok()?),
        LeafKind::U64 => Scalar::U64(bits),
        LeafKind::F32 => Scalar::F32(f32_of(bits)),
        LeafKind::F64 => Scalar::F64(f64::from_bits(bits)),
        LeafKind::Char => Scalar::Char(char::from_u32(bits.try_into().ok()?)?),
        _ => return None,
    })
}

#[inline(always)]
pub(crate) fn f32_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32) // the upper half is zero
}
