//! The distance of arrays.

use half::{bf16, f16};
use treedef::{Array, Dtype, Key, Leaf, Path, Tolerance, Tree};

use crate::tensors::trees::{HalfFormat, numeral, of_array};

/// The distance of two arrays of one type and shape.
pub(crate) struct ArrayDistance {
    /// Their type and shape.
    pub(crate) array: String,
    /// The number of elements that are not close.
    pub(crate) count: usize,
    pub(crate) of: usize,
    /// The place of the greatest difference, and both numbers there.
    pub(crate) most: Option<(Path, String, String)>,
}

impl ArrayDistance {
    /// `None` if the types or shapes differ.
    pub(crate) fn between(old: &Array, new: &Array, tolerance: Tolerance) -> Option<ArrayDistance> {
        if (old.dtype(), old.shape()) != (new.dtype(), new.shape()) {
            return None;
        }
        if let (Some(a), Some(b)) = (numbers_of(old), numbers_of(new)) {
            return Some(ArrayDistance::of(old, a.zip(b), tolerance, |index| {
                unravelled(old.shape(), index)
            }));
        }
        let exact = |array| of_array(array, HalfFormat::Exact).ok();
        let (a, b) = (exact(old)?, exact(new)?);
        if a.treedef() != b.treedef() {
            return None;
        }
        let pairs = a.leaves().iter().cloned().zip(b.leaves().iter().cloned());
        Some(ArrayDistance::of(old, pairs, tolerance, |index| a.treedef().leaf_path(index).ok()))
    }

    fn of(
        array: &Array,
        pairs: impl Iterator<Item = (Leaf, Leaf)>,
        tolerance: Tolerance,
        path: impl Fn(usize) -> Option<Path>,
    ) -> Self {
        let (mut count, mut of, mut most) = (0, 0, None);
        for (index, (a, b)) in pairs.enumerate() {
            of = index + 1;
            // Without a tolerance, zeros of different sign differ, as in other documents.
            let is_close = || {
                let (a, b) = (Tree::leaf(a.clone()), Tree::leaf(b.clone()));
                tolerance != Tolerance::default() && b.check_close(&a, tolerance).is_ok()
            };
            // A step of a half float is many steps of the wider one.
            let steps = || steps_of_halves(array.dtype(), &a, &b);
            let is_near = || tolerance.ulps > 0 && steps().is_some_and(|it| it <= tolerance.ulps);
            if a == b || is_close() || is_near() {
                continue;
            }
            count += 1;
            let apart = apart(&a, &b);
            if most.as_ref().is_none_or(|(_, _, furthest)| apart > *furthest) {
                most = Some((index, (a, b), apart));
            }
        }
        let text = |leaf: &Leaf| short(array.dtype(), leaf);
        let most = most.and_then(|(index, (a, b), _)| Some((path(index)?, text(&a), text(&b))));
        ArrayDistance { array: array.to_string(), count, of, most }
    }

    pub(crate) fn to_json(&self) -> serde_json::Value {
        serde_json::json!({"count": self.count, "of": self.of})
    }
}

/// The text of a number, which is a widened half float if the type is a half.
fn short(dtype: Dtype, leaf: &Leaf) -> String {
    match (dtype, leaf) {
        (Dtype::F16, Leaf::F32(number)) => {
            let bits = f16::from_f32(*number).to_bits();
            format!("{:?}", treedef::__private::shortest_half(bits, false))
        }
        (Dtype::Bf16, Leaf::F32(number)) => {
            let bits = bf16::from_f32(*number).to_bits();
            format!("{:?}", treedef::__private::shortest_half(bits, true))
        }
        _ => numeral(leaf),
    }
}

/// How many steps of their type two half floats are apart, which are widened here. `None` for other types,
/// and if one is NaN.
fn steps_of_halves(dtype: Dtype, a: &Leaf, b: &Leaf) -> Option<u64> {
    let rank = |leaf: &Leaf| {
        let Leaf::F32(number) = leaf else { return None };
        let bits = match dtype {
            Dtype::F16 => f16::from_f32(*number).to_bits(),
            Dtype::Bf16 => bf16::from_f32(*number).to_bits(),
            _ => return None,
        };
        let size = i32::from(bits & 0x7fff);
        Some(if bits >> 15 == 1 { -size } else { size }).filter(|_| !number.is_nan())
    };
    Some(rank(a)?.abs_diff(rank(b)?).into())
}

/// The numbers, row by row, one for each element. Half floats are widened.
fn numbers_of(array: &Array) -> Option<Box<dyn Iterator<Item = Leaf> + '_>> {
    if array.is_column_major() {
        return None;
    }
    let bits = array.as_slice::<u16>().unwrap_or_default().iter();
    macro_rules! numbers {
        ($($dtype:ident $type:ty;)*) => {
            match array.dtype() {
                Dtype::F16 => Box::new(bits.map(|bits| f16::from_bits(*bits).to_f32().into())),
                Dtype::Bf16 => Box::new(bits.map(|bits| bf16::from_bits(*bits).to_f32().into())),
                $(Dtype::$dtype => {
                    Box::new(array.as_slice::<$type>()?.iter().map(|number| (*number).into()))
                })*
                _ => return None,
            }
        };
    }
    Some(numbers! {
        Bool bool; U8 u8; I8 i8; U16 u16; I16 i16; U32 u32; I32 i32; U64 u64; I64 i64; F32 f32;
        F64 f64;
    })
}

/// The path of an element, by its index in row-major order.
fn unravelled(shape: &[usize], mut index: usize) -> Option<Path> {
    let mut keys = Vec::new();
    for size in shape.iter().rev() {
        keys.push(Key::Index(index.checked_rem(*size)?));
        index = index.checked_div(*size)?;
    }
    keys.reverse();
    Some(keys.into())
}

/// The difference of two numbers, for finding the greatest. NaN counts as the greatest difference.
fn apart(a: &Leaf, b: &Leaf) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "to compare differences")]
    let float = |leaf: &Leaf| match leaf {
        Leaf::F32(number) => f64::from(*number),
        leaf => leaf.as_f64().or(leaf.as_i128().map(|it| it as f64)).unwrap_or(f64::NAN),
    };
    let apart = (float(a) - float(b)).abs();
    if apart.is_nan() { f64::INFINITY } else { apart }
}
