//! Comparison of trees with a tolerance for numbers.

use crate::error::{Difference, DifferenceKind, Result};
use crate::leaf::Integer;
use crate::model::{Array, Leaf, Tree};
use crate::path::Path;
use crate::treedef::difference::expect_none;
use crate::treedef::walk::{Visits, Walk};

/// The difference that two numbers may have; none by default.
///
/// ```
/// use treedef::{Tolerance, Tree};
///
/// let (a, b) = (Tree::of(&[1.0, 2.0])?, Tree::of(&[1.0, 2.001])?);
/// assert!(a.check_close(&b, Tolerance { rtol: 1e-2, ..Tolerance::default() }).is_ok());
///
/// let error = a.check_close(&b, Tolerance { atol: 1e-6, ..Tolerance::default() }).unwrap_err();
/// assert_eq!(error.to_string(), "expected 2.001, found 2.0 at `.1`");
/// # Ok::<(), treedef::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tolerance {
    /// Allows a difference of `rtol` times the expected number.
    pub rtol: f64,
    /// Allows this difference, in addition to `rtol`, as in NumPy.
    pub atol: f64,
    /// Allows two floats of the same kind to be at most `ulps` steps apart, independently of `rtol` and
    /// `atol`.
    pub ulps: u64,
}

impl Tolerance {
    fn allows(self, found: &Leaf, expected: &Leaf) -> bool {
        if found == expected {
            return true;
        }
        let steps = match (found, expected) {
            (Leaf::F32(a), Leaf::F32(b)) => rank_f32(*a).abs_diff(rank_f32(*b)),
            (Leaf::F64(a), Leaf::F64(b)) => rank_f64(*a).abs_diff(rank_f64(*b)),
            _ => u64::MAX,
        };
        match (Magnitude::of(found), Magnitude::of(expected)) {
            (Some(a), Some(b)) if a.float.is_nan() || b.float.is_nan() => {
                a.float.is_nan() && b.float.is_nan()
            }
            (Some(a), Some(b)) if a.float.is_infinite() || b.float.is_infinite() => {
                a.float == b.float
            }
            (Some(a), Some(b)) => steps <= self.ulps || self.spans(a, b),
            _ => false,
        }
    }

    /// Whether the difference of two finite numbers is allowed.
    fn spans(self, found: Magnitude, expected: Magnitude) -> bool {
        if let Some(difference) = found.exact_difference(expected) {
            return difference <= self.atol + self.rtol * expected.float.abs();
        }
        // The difference of the largest floats would be infinite.
        let large = found.float.abs().max(expected.float.abs()) > f64::MAX / 4.0;
        let scale = if large { 0.125 } else { 1.0 };
        let (a, b) = (found.float * scale, expected.float * scale);
        (a - b).abs() <= self.atol * scale + self.rtol * b.abs()
    }
}

/// The index of a float among all floats of its kind; 0.0 has index 0.
fn rank_f32(value: f32) -> i64 {
    let bits = i64::from(value.to_bits() & 0x7fff_ffff);
    if value.is_sign_negative() { -bits } else { bits }
}

/// As [`rank_f32`].
fn rank_f64(value: f64) -> i64 {
    let bits = (value.to_bits() & !(1 << 63)).cast_signed();
    if value.is_sign_negative() { -bits } else { bits }
}

/// A number as the nearest float.
#[derive(Clone, Copy)]
struct Magnitude {
    float: f64,
    /// An integer of up to 128 bits as its sign (true if negative) and its magnitude.
    integer: Option<(bool, u128)>,
}

/// 2¹²⁸
const BEYOND: f64 = 340_282_366_920_938_463_463_374_607_431_768_211_456.0;

impl Magnitude {
    fn of(leaf: &Leaf) -> Option<Self> {
        let scalar = leaf.as_scalar()?;
        let float = scalar.nearest_f64()?;
        let integer = match scalar.as_integer() {
            Some(Integer::Signed(value)) => Some((value < 0, value.unsigned_abs())),
            Some(Integer::Unsigned(value)) => Some((false, value)),
            None if float.fract() == 0.0 && float.abs() < BEYOND => {
                Some((float < 0.0, float.abs() as u128))
            }
            None => None,
        };
        Some(Magnitude { float, integer })
    }

    /// The float nearest to the difference of two integers, which is 0 only if they are equal.
    #[allow(clippy::cast_precision_loss, reason = "the nearest float is asked for")]
    fn exact_difference(self, other: Magnitude) -> Option<f64> {
        match (self.integer, other.integer) {
            (Some((negative, a)), Some((sign, b))) if negative == sign => {
                Some(a.abs_diff(b) as f64)
            }
            (Some((_, a)), Some((_, b))) => Some(a as f64 + b as f64),
            // The nearest float of the largest integers is 2¹²⁸, which is not one of them.
            (Some((negative, value)), None) | (None, Some((negative, value))) => {
                let beyond = if negative { -BEYOND } else { BEYOND };
                (self.float == beyond && other.float == beyond)
                    .then(|| (u128::MAX - value) as f64 + 1.0)
            }
            (None, None) => None,
        }
    }
}

fn difference(path: Path, found: &Leaf, expected: &Leaf) -> Difference {
    let (expected, found) = (expected.literal(), found.literal());
    Difference { path, kind: DifferenceKind::Leaf, expected, found }
}

/// The differences between the numbers of two arrays with the same structure.
fn in_array(path: &Path, found: &Array, expected: &Array, tolerance: Tolerance) -> Vec<Difference> {
    let mut walk = Walk::new(found.treedef.root(), Visits::Everywhere);
    let mut differences = Vec::new();
    for (index, (found, expected)) in found.scalars().zip(expected.scalars()).enumerate() {
        let (found, expected) = (Leaf::from(found), Leaf::from(expected));
        if !tolerance.allows(&found, &expected) {
            let path = path.join(&walk.path_to_leaf(index));
            differences.push(difference(path, &found, &expected));
        }
    }
    differences
}

/// Whether the numbers of two arrays are close. To serde they are byte strings, so single numbers
/// have no paths.
fn in_bytes(found: &Array, expected: &Array, tolerance: Tolerance) -> bool {
    let numbers = |array: &Array| array.numbers().map(Leaf::from).collect::<Vec<_>>();
    let (found_numbers, expected_numbers) = (numbers(found), numbers(expected));
    found.shape() == expected.shape()
        && !found_numbers.is_empty()
        && found_numbers.len() == expected_numbers.len()
        && found_numbers.iter().zip(&expected_numbers).all(|(a, b)| tolerance.allows(a, b))
}

pub(super) fn check_close(
    found: &Tree<Leaf>,
    expected: &Tree<Leaf>,
    tolerance: Tolerance,
) -> Result<()> {
    found.treedef.check_equal(&expected.treedef)?;
    let mut walk = Walk::new(found.treedef.root(), Visits::Everywhere);
    let mut differences = Vec::new();
    for (index, (found, expected)) in found.leaves.iter().zip(&expected.leaves).enumerate() {
        if tolerance.allows(found, expected) {
            continue;
        }
        let path = walk.path_to_leaf(index);
        match (found.as_array(), expected.as_array()) {
            (Some(a), Some(b)) if a.bytes.is_some() && in_bytes(a, b, tolerance) => {}
            (Some(a), Some(b))
                if a.bytes.is_none() && a.shape() == b.shape() && a.treedef == b.treedef =>
            {
                differences.extend(in_array(&path, a, b, tolerance));
            }
            _ => differences.push(difference(path, found, expected)),
        }
    }
    expect_none(differences)
}
