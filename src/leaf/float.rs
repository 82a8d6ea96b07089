//! Conversions between floats of 16, 32 and 64 bits that keep the bits of NaNs where they fit.

use crate::bug::OrBug;

/// A float of 16 bits, as the crate `half` has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    /// Of IEEE 754, with a mantissa of 10 bits.
    F16,
    /// An `f32` without its lower 16 bits.
    Bf16,
}

impl Half {
    /// The type that has this name in serde.
    #[inline]
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "f16" => Some(Half::F16),
            "bf16" => Some(Half::Bf16),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Half::F16 => "f16",
            Half::Bf16 => "bf16",
        }
    }

    /// The float with these bits. It is exact, for NaNs too.
    pub(crate) fn widen(self, bits: u16) -> f32 {
        let bits = u32::from(bits);
        let (sign, exponent, mantissa) = ((bits & 0x8000) << 16, bits >> 10 & 0x1f, bits & 0x3ff);
        match (self, exponent) {
            (Half::Bf16, _) => f32::from_bits(bits << 16),
            (Half::F16, 0x1f) => f32::from_bits(sign | 0xff << 23 | mantissa << 13),
            (Half::F16, 0) => {
                // A small integer is exact, and so is a power of two.
                let magnitude = f32::from(mantissa as u16) * TINY;
                f32::from_bits(sign | magnitude.to_bits())
            }
            (Half::F16, _) => f32::from_bits(sign | (exponent + 112) << 23 | mantissa << 13),
        }
    }

    /// The shortest decimal that parses to the float with these bits, as an `f64`.
    pub(crate) fn shortest(self, bits: u16) -> f64 {
        let exact = f64::from(self.widen(bits));
        if !exact.is_normal() {
            return exact;
        }
        // Five digits tell apart all floats with a mantissa of 10 bits.
        for places in 0..5 {
            for near in decimals(exact, places) {
                if self.narrow(narrow_to_odd(near)) == bits {
                    return near;
                }
            }
        }
        None.or_bug()
    }

    /// The bits of the nearest float, with ties to even. A [widened](Self::widen) float becomes the
    /// same bits again. A NaN stays a NaN, and a number that is too large becomes infinite.
    pub(crate) fn narrow(self, value: f32) -> u16 {
        let bits = value.to_bits();
        let (sign, magnitude) = (bits >> 16 & 0x8000, bits & 0x7fff_ffff);
        let (infinity, payload, dropped) = match self {
            Half::F16 => (0x7c00, 0x3ff, 13),
            Half::Bf16 => (0x7f80, 0x7f, 16),
        };
        let half = if value.is_nan() {
            // If no bit of the payload fits, make a quiet NaN.
            let kept = magnitude >> dropped & payload;
            infinity | if kept == 0 { (payload + 1) >> 1 } else { kept }
        } else {
            match self {
                Half::Bf16 => rounded(magnitude, dropped),
                Half::F16 if magnitude < SMALLEST_NORMAL => {
                    (f32::from_bits(magnitude) / TINY).round_ties_even() as u32
                }
                // The exponents differ by 112.
                Half::F16 => rounded(magnitude - (112 << 23), dropped).min(infinity),
            }
        };
        (sign | half) as u16 // 16 bits: the greatest is a NaN
    }
}

/// The shortest decimal that parses to the same half float, for the members of this workspace.
#[doc(hidden)]
pub fn shortest_half(bits: u16, is_bf16: bool) -> f64 {
    if is_bf16 { Half::Bf16 } else { Half::F16 }.shortest(bits)
}

/// The nearest decimal with `places` digits after its first, and the next one away from zero,
/// because floats are further apart above a power of two.
fn decimals(number: f64, places: u8) -> [f64; 2] {
    let text = format!("{number:.*e}", usize::from(places));
    let (digits, exponent) = text.split_once('e').or_bug();
    let digits: i32 = digits.replace('.', "").parse().ok().or_bug();
    let exponent = exponent.parse::<i32>().ok().or_bug() - i32::from(places);
    let decimal = |digits: i32| format!("{digits}e{exponent}").parse().ok().or_bug();
    [decimal(digits), decimal(digits + digits.signum())]
}

/// The smallest `f16` above zero.
const TINY: f32 = 1.0 / (1 << 24) as f32;

/// The bits of the smallest normal `f16`, 2⁻¹⁴, as an `f32`.
const SMALLEST_NORMAL: u32 = 113 << 23;

/// Without the lower bits, rounded to the nearest, with ties to even.
fn rounded(bits: u32, dropped: u32) -> u32 {
    let odd = bits >> dropped & 1;
    (bits + (1 << (dropped - 1)) - 1 + odd) >> dropped // far below 2³²: a magnitude has 31 bits
}

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

/// Converts to one of the two nearest `f32`s: the odd one unless the conversion is exact. Rounding
/// the result again to fewer bits then gives the same as rounding once.
#[doc(hidden)]
#[allow(clippy::cast_possible_truncation, reason = "what rounding is")]
pub fn narrow_to_odd(value: f64) -> f32 {
    let near = narrow(value);
    if value.is_nan() || f64::from(near) == value {
        return near;
    }
    let beyond = u32::from(f64::from(near).abs() > value.abs());
    f32::from_bits((near.to_bits() - beyond) | 1) // beyond it, `near` is not zero
}

/// Converts to the nearest `f32`. A number that was [widened](widen) from an `f32` becomes that
/// `f32` again. A NaN stays a NaN.
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

/// The same, but `None` for a finite number that would become infinite.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "what rounding is")]
pub(crate) fn narrow_in_range(value: f64) -> Option<f32> {
    let near = value as f32;
    if near.is_finite() { Some(near) } else { narrow_to_infinite(value) }
}

#[cold]
#[inline(never)]
fn narrow_to_infinite(value: f64) -> Option<f32> {
    if value.is_finite() { None } else { Some(narrow(value)) }
}
