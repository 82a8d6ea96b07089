//! Conversions between `f32` and `f64` that keep the bits of NaNs where they fit.

/// Converts an `f32` to `f64`. In optimised code, `as` would turn a signalling NaN into a quiet
/// one.
#[inline]
pub(crate) fn widen(value: f32) -> f64 {
    if !value.is_nan() {
        return value.into();
    }
    let bits = u64::from(value.to_bits());
    let (sign, payload) = (bits >> 31, bits & 0x7f_ffff);
    f64::from_bits(sign << 63 | 0x7ff << 52 | payload << 29)
}

/// Converts to the nearest `f32`. What was [widened](widen) from an `f32` becomes that `f32` again.
/// A NaN stays a NaN.
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
    // If no bit of the payload fits, make a quiet NaN.
    let payload = if payload == 0 { 0x40_0000 } else { payload };
    f32::from_bits(sign << 31 | 0xff << 23 | payload)
}
