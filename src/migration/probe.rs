//! Changes leaves so that they can be told apart, and compares values that were converted.

use std::collections::HashMap;

use crate::leaf::Integer;
use crate::leaf::each_scalar;
use crate::leaf::float::{narrow, widen};
use crate::model::{Leaf, Tree, Value};

/// The tree with changed values for the open leaves, and for texts only on request. Leaves that are
/// equal get different values, as far as their kind has enough.
///
/// The new values are close to the old ones, because a type may check them: a number stays in its
/// range, and a date stays a date.
pub(super) fn varied(tree: &Tree<Leaf>, open: &[bool], texts: bool) -> Tree<Leaf> {
    let (mut varied, mut equal) = (tree.clone(), HashMap::<&Leaf, u128>::new());
    let leaves = varied.leaves.iter_mut().zip(&tree.leaves).zip(open);
    for ((leaf, old), _) in leaves.filter(|(_, open)| **open) {
        if texts || !matches!(old, Leaf::Str(_)) {
            let number = equal.entry(old).or_default();
            vary(leaf, *number);
            *number += 1;
        }
    }
    varied
}

/// Changes the leaf to another one of the same kind. Equal leaves with different numbers become
/// different leaves.
fn vary(leaf: &mut Leaf, number: u128) {
    let integer = leaf.as_scalar().and_then(|scalar| varied_integer(scalar.as_integer()?, number));
    each_scalar! { [integers] ($kind $type) => {
        match leaf {
            $(Leaf::$kind(value) => {
                let new = integer.and_then(|integer| <$type>::try_from(integer).ok());
                *value = new.map_or(*value, Into::into);
            })*
            Leaf::Bool(value) => *value = !*value,
            Leaf::F32(value) => *value = varied_float(*value, number),
            Leaf::F64(value) => *value = widen(varied_float(narrow(*value), number)),
            Leaf::Char(value) => {
                let other = u32::try_from(near(u128::from(u32::from(*value)), number)).ok();
                *value = other.and_then(char::from_u32).unwrap_or(*value);
            }
            Leaf::Str(text) => *text = varied_text(text, number).into(),
            Leaf::Bytes(bytes) => {
                let bits = 1 + (number % 0xff) as u8; // less than 256
                bytes.iter_mut().take(1).for_each(|byte| *byte ^= bits);
            }
            Leaf::Opaque(value) => {
                let mut inside = value.to_tree();
                inside.leaves.iter_mut().take(1).for_each(|leaf| vary(leaf, number));
                *value = Value::from_tree(inside).into();
            }
            Leaf::None => {}
        }
    }}
}

/// Another magnitude, which is not greater if there are enough smaller ones, and also differs as an
/// `f32`.
fn near(magnitude: u128, number: u128) -> u128 {
    // A small number may be read as a byte, whatever its kind.
    let room = if magnitude < 128 { 120 } else { (magnitude - 1).min(60_000) };
    let below = (magnitude >> 16).max(1) * (number % room + 1);
    // Not the next number, which a counter would reach.
    if below < magnitude { magnitude - below } else { magnitude + below + 1 }
}

fn varied_integer(old: Integer, number: u128) -> Option<i128> {
    let near = |magnitude| i128::try_from(near(magnitude, number)).ok();
    match old {
        Integer::Signed(old) if old < 0 => near(old.unsigned_abs()).map(i128::wrapping_neg),
        Integer::Signed(old) => near(old.unsigned_abs()),
        Integer::Unsigned(old) => near(old),
    }
}

fn varied_float(old: f32, number: u128) -> f32 {
    // The bits of floats are in the order of their magnitudes.
    let near = u32::try_from(near(old.abs().to_bits().into(), number));
    near.map_or(old, |bits| f32::from_bits(bits).copysign(old))
}

/// Another text: with another last digit, so that a date or an address stays one, or else longer.
fn varied_text(text: &str, number: u128) -> String {
    match text.rsplit_once(|char: char| char.is_ascii_digit()) {
        Some((before, after)) => {
            let is_other = |digit: &char| !text[before.len()..].starts_with(*digit);
            let digits: Vec<char> = ('1'..='9').filter(is_other).collect();
            let digit = digits[number as usize % digits.len()];
            format!("{before}{digit}{after}")
        }
        None => format!("{text}_{number}"),
    }
}

/// The same leaf for all numbers of one value, whatever their kinds, and for texts of such numbers.
pub(super) fn exact(leaf: &Leaf) -> Leaf {
    let of_float = |float: f64| {
        let is_integer = float.fract() == 0.0
            && float.abs() < 1e30
            && (float != 0.0 || float.is_sign_positive());
        if is_integer { Leaf::from(float as i128) } else { Leaf::F64(float) }
    };
    let number = leaf.as_scalar().and_then(|scalar| match scalar.as_integer() {
        Some(Integer::Signed(integer)) => Some(Leaf::from(integer)),
        Some(Integer::Unsigned(integer)) => {
            Some(i128::try_from(integer).map_or(Leaf::from(integer), Leaf::from))
        }
        None => scalar.nearest_f64().map(of_float),
    });
    let text = || match leaf {
        Leaf::Str(text) => {
            let integer = text.parse::<i128>().map(Leaf::from);
            integer.ok().or_else(|| text.parse().ok().map(of_float))
        }
        Leaf::Char(char) => Some(Leaf::from(char.to_string())),
        Leaf::Bool(value) => Some(Leaf::from(value.to_string())),
        _ => None,
    };
    number.or_else(text).unwrap_or_else(|| leaf.clone())
}

/// As [`exact`], for all numbers with the same nearest `f32`.
pub(super) fn rounded(leaf: &Leaf) -> Leaf {
    let exact = exact(leaf);
    let float = exact.as_scalar().and_then(|scalar| scalar.nearest_f64());
    float.map_or(exact, |float| Leaf::F32(narrow(float)))
}
