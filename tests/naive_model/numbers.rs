//! Leaves of all kinds in one vector of floats.

use proptest::prelude::*;
use treedef::{Leaf, LeafKind, Packed};

use crate::case::{Case, cases};
use crate::plain::Node;

/// A leaf of any kind, whose numbers are often at a bound.
pub(crate) fn draw_leaf(case: &mut Case) -> Leaf {
    let kind = case.tape.below(18);
    let wide = u128::from_le_bytes(case.tape.array());
    let bits = match case.tape.below(4) {
        0 => wide,
        1 => wide & 3,
        // One bit, or all but the lowest ones.
        2 => 1u128.wrapping_shl(wide as u32 & 127),
        _ => u128::MAX.wrapping_shl(wide as u32 & 127) ^ ((wide >> 120 & 1) * u128::MAX),
    };
    match kind {
        0 => Leaf::Bool(bits & 1 == 1),
        1 => Leaf::I8(bits as i8),
        2 => Leaf::I16(bits as i16),
        3 => Leaf::I32(bits as i32),
        4 => Leaf::I64(bits as i64),
        5 => Leaf::I128(Packed(bits as i128)),
        6 => Leaf::U8(bits as u8),
        7 => Leaf::U16(bits as u16),
        8 => Leaf::U32(bits as u32),
        9 => Leaf::U64(bits as u64),
        10 => Leaf::U128(Packed(bits)),
        11 | 12 => Leaf::F32(f32::from_bits(draw_f32(case, bits as u32))),
        13 | 14 => Leaf::F64(f64::from_bits(draw_f64(case, bits as u64))),
        15 => Leaf::from(["", "a", "é"][case.tape.below(3)]),
        16 => Leaf::from('c'),
        _ => [Leaf::None, Leaf::from(&b"b"[..]), Leaf::from(case.value())][case.tape.below(3)]
            .clone(),
    }
}

/// The bits of an `f32`, often of a NaN.
fn draw_f32(case: &mut Case, bits: u32) -> u32 {
    if case.tape.one_in(3) { bits | 0x7f80_0000 } else { bits }
}

/// The bits of an `f64`, often of a NaN.
fn draw_f64(case: &mut Case, bits: u64) -> u64 {
    if case.tape.one_in(3) { bits | 0x7ff0_0000_0000_0000 } else { bits }
}

/// The number of a leaf, if an `f64` is exactly that. An integer is one of 53 bits, with zeros
/// behind.
fn exact(leaf: &Leaf) -> Option<f64> {
    let fits = |size: u128| size == 0 || 128 - size.leading_zeros() - size.trailing_zeros() <= 53;
    let signed = |value: i128| fits(value.unsigned_abs()).then_some(value as f64);
    let unsigned = |value: u128| fits(value).then_some(value as f64);
    match *leaf {
        Leaf::Bool(value) => Some(if value { 1.0 } else { 0.0 }),
        Leaf::I8(value) => signed(value.into()),
        Leaf::I16(value) => signed(value.into()),
        Leaf::I32(value) => signed(value.into()),
        Leaf::I64(value) => signed(value.into()),
        Leaf::I128(value) => signed(value.get()),
        Leaf::U8(value) => unsigned(value.into()),
        Leaf::U16(value) => unsigned(value.into()),
        Leaf::U32(value) => unsigned(value.into()),
        Leaf::U64(value) => unsigned(value.into()),
        Leaf::U128(value) => unsigned(value.get()),
        Leaf::F32(value) => Some(value.into()),
        Leaf::F64(value) => Some(value),
        _ => None,
    }
}

/// Whether a kind has a number, or for an `f32` one near it.
fn has(kind: LeafKind, number: f64) -> bool {
    let whole = |low: f64, end: f64| number.fract() == 0.0 && low <= number && number < end;
    let signed = |bits: i32| whole(-f64::powi(2.0, bits - 1), f64::powi(2.0, bits - 1));
    let unsigned = |bits: i32| whole(0.0, f64::powi(2.0, bits));
    match kind {
        LeafKind::Bool => number == 0.0 || number == 1.0,
        LeafKind::I8 => signed(8),
        LeafKind::I16 => signed(16),
        LeafKind::I32 => signed(32),
        LeafKind::I64 => signed(64),
        LeafKind::I128 => signed(128),
        LeafKind::U8 => unsigned(8),
        LeafKind::U16 => unsigned(16),
        LeafKind::U32 => unsigned(32),
        LeafKind::U64 => unsigned(64),
        LeafKind::U128 => unsigned(128),
        LeafKind::F32 => (number as f32).is_finite() || !number.is_finite(),
        _ => true,
    }
}

impl Case {
    /// The structure with leaves of all kinds, or only with numbers.
    pub(crate) fn leaves(&mut self, numbers: bool) -> Node<Leaf> {
        let shape = self.draw(3);
        let tree = shape.map(&mut |()| {
            let leaf = draw_leaf(self);
            if numbers && !leaf.kind().is_number() && !self.tape.one_in(8) {
                Leaf::F32(0.5)
            } else {
                leaf
            }
        });
        self.note(|| format!("{:?}", tree.leaves()));
        tree
    }
}

#[test]
fn numbers_are_ravelled_without_loss() {
    cases(|case| {
        let tree = case.leaves(true);
        let found = case.tree(&tree).ravel();
        let expected: Option<Vec<f64>> = tree.leaves().iter().map(exact).collect();
        prop_assert_eq!(found.is_ok(), expected.is_some(), "{:?}: {:?}", tree.leaves(), found);
        let (Ok((mut vector, ravel)), Some(expected)) = (found, expected) else { return Ok(()) };
        for (found, expected) in vector.iter().zip(&expected) {
            prop_assert!(found == expected || found.is_nan() && expected.is_nan());
        }
        prop_assert_eq!(vector.len(), expected.len());
        case.gives_tree(ravel.unravel(&vector), Some(tree.clone()))?;
        prop_assert!(ravel.unravel(&[vector.clone(), vec![0.0]].concat()).is_err());
        if vector.is_empty() {
            return Ok(());
        }

        // Another number in the place of one.
        let at = case.tape.below(vector.len());
        let bits = u64::from_le_bytes(case.tape.array());
        let power = f64::powi(2.0, case.tape.below(130) as i32);
        let numbers = [f64::from_bits(bits), power, -power, power - 1.0, 0.5, -0.0, f64::NAN];
        vector[at] = numbers[case.tape.below(numbers.len())];
        case.note(|| format!("{} at {at}", vector[at]));
        let kind = tree.leaves()[at].kind();
        let found = ravel.unravel(&vector);
        prop_assert_eq!(found.is_ok(), has(kind, vector[at]), "{} as {}", vector[at], kind);
        let Ok(found) = found else { return Ok(()) };
        let leaf = &found.leaves()[at];
        prop_assert_eq!(leaf.kind(), kind);
        match leaf {
            Leaf::F32(value) => {
                let near = vector[at] as f32;
                prop_assert!(*value == near || value.is_nan() && near.is_nan());
            }
            leaf => {
                let again = exact(leaf).unwrap();
                prop_assert!(again == vector[at] || again.is_nan() && vector[at].is_nan());
            }
        }
        Ok(())
    });
}
