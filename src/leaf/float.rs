//! Floats of one width as those of the other, without a change of any bit that has a place.

/// The `f64` that stands for an `f32`. A conversion by `as` makes a signalling NaN a quiet one, in optimised code.
#[inline]
pub(crate) fn widen(value: f32) -> f64 {
    if !value.is_nan() {
        return value.into();
    }
    let bits = u64::from(value.to_bits());
    let (sign, payload) = (bits >> 31, bits & 0x7f_ffff);
    f64::from_bits(sign << 63 | 0x7ff << 52 | payload << 29)
}

/// The nearest `f32`: of what was [widened](widen), the very same. A NaN stays one.
#[inline]
#[allow(
    clippy::cast_possible_truncation,
    reason = "the upper half of a NaN's bits, and what rounding is"
)]
pub(crate) fn narrow(value: f64) -> f32 {
    if !value.is_nan() {
        return value as f32;
    }
    let bits = value.to_bits();
    let (sign, payload) = ((bits >> 63) as u32, (bits >> 29) as u32 & 0x7f_ffff);
    // A payload that has no place is a quiet NaN's.
    let payload = if payload == 0 { 0x40_0000 } else { payload };
    f32::from_bits(sign << 31 | 0xff << 23 | payload)
}
