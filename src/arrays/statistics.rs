//! The numbers of long arrays in few words.

use crate::bug::OrBug;
use crate::leaf::Scalar;
use crate::leaf::float::Half;
use crate::message::{counted, joined};
use crate::model::{Array, Leaf, LeafKind};

/// Arrays of at most this many elements print their elements.
pub(crate) const SHORT_ARRAY: usize = 6;

impl Array {
    /// Type, shape, and statistics or, for few numbers, the numbers. `None` for few elements that
    /// are not single numbers, such as complex ones.
    pub(crate) fn in_few_words(&self) -> Option<String> {
        let size = self.shape().iter().product(); // as many as there are numbers
        if self.num_leaves().max(size) > SHORT_ARRAY {
            return Some(format!("{self}{}", statistics_of(|| self.numbers())));
        }
        let numbers = self.numbers_as_text();
        let is_plain = numbers.len() == size && !self.is_column_major();
        is_plain.then(|| format!("{self} {}", nested(self.shape(), &numbers)))
    }

    /// The numbers without their kind, which the array has.
    fn numbers_as_text(&self) -> Vec<String> {
        let mut texts = Vec::new();
        if let Some(half) = Half::named(self.dtype().name()) {
            for bits in self.as_slice::<u16>().or_bug() {
                texts.push(format!("{:?}", half.shortest(*bits)));
            }
            return texts;
        }
        for number in self.numbers() {
            texts.push(match number {
                Scalar::F32(number) => format!("{number:?}"),
                Scalar::F64(number) => format!("{number:?}"),
                Scalar::Bool(value) => value.to_string(),
                number => Leaf::from(number).as_i128().or_bug().to_string(),
            });
        }
        texts
    }
}

impl Leaf {
    /// The literal for a message: for a long array, its summary.
    pub(crate) fn literal(&self) -> String {
        self.as_array().and_then(Array::in_few_words).unwrap_or_else(|| self.to_string())
    }
}

/// `[[1.0, 2.0], [3.0, 4.0]]`. The recursion depth is the number of dimensions.
fn nested(shape: &[usize], numbers: &[String]) -> String {
    let Some((size, inner)) = shape.split_first() else { return joined(numbers, "") };
    let width = numbers.len().checked_div(*size).unwrap_or(0);
    let rows = numbers.chunks(width.max(1)).map(|row| nested(inner, row));
    format!("[{}]", joined(rows, ", "))
}

/// The statistics of booleans or numbers; nothing for other kinds.
pub(crate) fn statistics_of<'a, I: Iterator<Item = Scalar<'a>>>(scalars: impl Fn() -> I) -> String {
    match scalars().next().map(Scalar::kind) {
        Some(LeafKind::Bool) => {
            let count = |value| scalars().filter(|scalar| *scalar == Scalar::Bool(value)).count();
            format!(" ({} true, {} false)", count(true), count(false))
        }
        Some(kind) if kind.is_number() => {
            let are_integers = scalars().all(|scalar| short_integer(scalar).is_some());
            let first = scalars().next().and_then(short_integer).filter(|_| are_integers);
            let origin = first.unwrap_or(0);
            let distance = |scalar| match short_integer(scalar) {
                Some(integer) => Some((integer - origin) as f64), // both have 64 bits
                None => scalar.nearest_f64(),
            };
            let zeros = scalars().filter(|scalar| scalar.nearest_f64() == Some(0.0)).count();
            let distances = |see: &mut dyn FnMut(f64)| scalars().filter_map(distance).for_each(see);
            statistics(&distances, origin as f64, zeros)
        }
        _ => String::new(),
    }
}

/// An integer of at most 64 bits. As an `f64`, a large one may be wrong by more than the distance between such integers.
fn short_integer(scalar: Scalar<'_>) -> Option<i128> {
    let is_short = !matches!(scalar.kind(), LeafKind::I128 | LeafKind::U128);
    Leaf::from(scalar).as_i128().filter(|_| is_short)
}

/// The result of one pass over the numbers.
struct Totals {
    finite: usize,
    sum: f64,
    low: f64,
    high: f64,
    nans: usize,
    infinite: usize,
}

/// Calls a function with each number.
type Numbers<'a> = &'a dyn Fn(&mut dyn FnMut(f64));

impl Totals {
    fn at(numbers: Numbers<'_>) -> Self {
        let (sum, low, high) = (0.0, f64::INFINITY, f64::NEG_INFINITY);
        let mut totals = Totals { finite: 0, sum, low, high, nans: 0, infinite: 0 };
        numbers(&mut |number| {
            if number.is_finite() {
                totals.finite += 1; // at most the numbers, as the other counts
                totals.sum += number;
                totals.low = totals.low.min(number);
                totals.high = totals.high.max(number);
            } else if number.is_nan() {
                totals.nans += 1;
            } else {
                totals.infinite += 1;
            }
        });
        totals
    }
}

/// The sum of a function over the finite numbers.
fn sum_of(numbers: Numbers<'_>, f: &dyn Fn(f64) -> f64) -> f64 {
    let mut sum = 0.0;
    numbers(&mut |number| sum += if number.is_finite() { f(number) } else { 0.0 });
    sum
}

/// ` (mean 0.1, sd 1, -2.3 … 2.2, 3 zeros, 1 NaN, 2 infinite)`
///
/// The numbers are relative to an origin.
#[allow(clippy::cast_precision_loss, reason = "counts, for a mean of three digits")]
fn statistics(numbers: Numbers<'_>, origin: f64, zeros: usize) -> String {
    let Totals { finite, sum, low, high, nans, infinite } = Totals::at(numbers);
    let mut parts = Vec::new();
    if finite > 0 {
        let count = finite as f64;
        // The sum of large numbers may be infinite where the sum of their fractions is not.
        let mean = match sum / count {
            mean if sum.is_finite() => mean,
            _ => sum_of(numbers, &|number| number / count),
        };
        // The square of a distance must not overflow or vanish, so distances are measured in
        // widths of the range. The width itself is finite because it is computed from halves.
        let part = if low.abs().max(high.abs()) < f64::MAX / 4.0 { 1.0 } else { 0.5 };
        let width = high * part - low * part;
        let square = |number: f64| ((number * part - mean * part) / width).powi(2);
        let deviation = if width > 0.0 {
            (sum_of(numbers, &square) / count).sqrt() * width / part
        } else {
            0.0
        };
        parts.push(format!("mean {}", three_digits(origin + mean)));
        parts.push(format!("sd {}", three_digits(deviation)));
        parts.push(format!("{} … {}", three_digits(origin + low), three_digits(origin + high)));
    }
    if zeros > 0 {
        parts.push(counted(zeros, "zero", "zeros"));
    }
    if nans > 0 {
        parts.push(format!("{nans} NaN"));
    }
    if infinite > 0 {
        parts.push(format!("{infinite} infinite"));
    }
    format!(" ({})", joined(parts, ", "))
}

/// A number with three digits, e.g. `0.571`, `1230` or `1.5e-9`.
fn three_digits(number: f64) -> String {
    let scientific = format!("{number:.2e}");
    let near: f64 = scientific.parse().ok().or_bug();
    match near.abs() {
        f64::INFINITY => scientific, // rounded up from the largest number
        0.0 => "0".to_owned(),
        1e-3..1e6 => near.to_string(),
        _ => format!("{near:e}"),
    }
}
