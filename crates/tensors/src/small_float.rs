//! Floats of at most 8 bits. An `f32` can represent all of them.

use std::collections::HashMap;

/// The meaning of the codes with the largest exponent, or of the code of the negative zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum SpecialCodes {
    /// Numbers, like all other codes.
    None,
    /// Infinities and NaN, as in wider floats.
    Ieee,
    /// NaN if all bits but the sign are set.
    AllOnes,
    /// NaN in place of the negative zero.
    NegativeZero,
    /// The codes have no sign and no mantissa: they are powers of two, and NaN if all bits are set.
    Powers,
}

/// A type of floats whose codes have a sign, an exponent and a mantissa.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct SmallFloat {
    /// The name in safetensors files, and the name in this crate.
    pub(crate) names: (&'static str, &'static str),
    pub(crate) bits: u8,
    mantissa_bits: u8,
    bias: u8,
    special: SpecialCodes,
}

const fn small(
    names: (&'static str, &'static str),
    [bits, mantissa_bits, bias]: [u8; 3],
    special: SpecialCodes,
) -> SmallFloat {
    SmallFloat { names, bits, mantissa_bits, bias, special }
}

/// All small floats of safetensors.
pub(crate) const SMALL_FLOATS: [SmallFloat; 8] = [
    small(("F4", "f4"), [4, 1, 1], SpecialCodes::None),
    small(("F6_E2M3", "f6_e2m3"), [6, 3, 1], SpecialCodes::None),
    small(("F6_E3M2", "f6_e3m2"), [6, 2, 3], SpecialCodes::None),
    small(("F8_E5M2", "f8_e5m2"), [8, 2, 15], SpecialCodes::Ieee),
    small(("F8_E4M3", "f8_e4m3"), [8, 3, 7], SpecialCodes::AllOnes),
    small(("F8_E8M0", "f8_e8m0"), [8, 0, 127], SpecialCodes::Powers),
    small(("F8_E4M3FNUZ", "f8_e4m3fnuz"), [8, 3, 8], SpecialCodes::NegativeZero),
    small(("F8_E5M2FNUZ", "f8_e5m2fnuz"), [8, 2, 16], SpecialCodes::NegativeZero),
];

impl SmallFloat {
    /// The numbers of all codes.
    pub(crate) fn table(&self) -> Vec<f32> {
        (0..=u8::MAX >> (8 - self.bits)).map(|code| self.number(code)).collect()
    }

    /// Encodes numbers. `None` if a number has no code, or if the last byte is not full.
    pub(crate) fn bytes(&self, numbers: impl IntoIterator<Item = f64>) -> Option<Vec<u8>> {
        // All NaNs are equal here, and a negative zero differs from a positive one.
        let bits = |number: f64| if number.is_nan() { f64::NAN } else { number }.to_bits();
        let table = self.table();
        let codes: HashMap<u64, u8> =
            table.into_iter().map(|number| bits(number.into())).zip(0..=u8::MAX).collect();
        let (mut bytes, mut rest, mut filled) = (Vec::new(), 0_u16, 0);
        for number in numbers {
            rest |= u16::from(*codes.get(&bits(number))?) << filled;
            filled += self.bits;
            if filled >= 8 {
                bytes.push((rest & 0xff) as u8);
                (rest, filled) = (rest >> 8, filled - 8);
            }
        }
        (filled == 0).then_some(bytes)
    }

    fn number(&self, code: u8) -> f32 {
        let (ones, sign) = (u8::MAX >> (8 - self.bits), 1 << (self.bits - 1));
        let size = code & (ones >> 1);
        let mantissa = size & ((1 << self.mantissa_bits) - 1);
        let exponent = size >> self.mantissa_bits;
        let largest = (ones >> 1) >> self.mantissa_bits;
        match self.special {
            // Below the smallest exponent of an `f32` is the upper half of its mantissa.
            SpecialCodes::Powers if code == 0 => return f32::from_bits(1 << 22),
            SpecialCodes::Powers if code == ones => return f32::NAN,
            SpecialCodes::Powers => return f32::from_bits(u32::from(code) << 23),
            SpecialCodes::Ieee if exponent == largest && mantissa > 0 => return f32::NAN,
            SpecialCodes::Ieee if exponent == largest && code & sign == 0 => return f32::INFINITY,
            SpecialCodes::Ieee if exponent == largest => return f32::NEG_INFINITY,
            SpecialCodes::AllOnes if size == ones >> 1 => return f32::NAN,
            SpecialCodes::NegativeZero if code == sign => return f32::NAN,
            _ => {}
        }
        let whole = if exponent > 0 { mantissa | 1 << self.mantissa_bits } else { mantissa };
        // An exponent of an `f32`, whose bias is 127, that is far from its ends.
        let scale = 127 + exponent.max(1) - self.bias - self.mantissa_bits;
        let number = f32::from(whole) * f32::from_bits(u32::from(scale) << 23);
        if code & sign == 0 { number } else { -number }
    }

    /// The code that begins at a bit. The lowest bits of a byte are first: of two floats in a byte, the
    /// first is the lower half.
    pub(crate) fn code(&self, bytes: &[u8], bit: usize) -> usize {
        let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
        let both = u16::from_le_bytes([byte(bit / 8), byte(bit / 8 + 1)]);
        usize::from(both >> (bit % 8)) & usize::from(u8::MAX >> (8 - self.bits))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_codes_and_others_none() {
        for float in &SMALL_FLOATS {
            // Each code twice, so that the last byte is always full.
            let table = float.table();
            let numbers = || table.iter().chain(&table).map(|number| f64::from(*number));
            let bytes = float.bytes(numbers()).unwrap();
            for (at, number) in numbers().enumerate() {
                let code = float.code(&bytes, at * usize::from(float.bits));
                let back = f64::from(*table.get(code).unwrap());
                let is_same =
                    back.to_bits() == number.to_bits() || back.is_nan() && number.is_nan();
                assert!(is_same, "{:?} {number}", float.names);
            }
            assert_eq!(float.bytes([1.0625e9; 8]), None);
            assert_eq!(float.bytes([1.0; 1]).is_some(), float.bits == 8);
        }
    }
}
