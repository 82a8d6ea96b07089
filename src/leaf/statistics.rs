//! The numbers of long arrays in few words.

use crate::leaf::Scalar;
use crate::model::{Array, Leaf, LeafKind};

/// Arrays of at most this many elements print their elements.
pub(crate) const SHORT_ARRAY: usize = 6;

impl Array {
    /// Type, shape and statistics, if there are many numbers.
    pub(crate) fn in_few_words(&self) -> Option<String> {
        let size = self.shape().iter().product(); // as many as there are numbers
        let is_long = self.num_leaves().max(size) > SHORT_ARRAY;
        is_long.then(|| format!("{self}{}", statistics_of(|| self.numbers())))
    }
}

impl Leaf {
    /// The literal for a message. Of a long array only what a summary says.
    pub(crate) fn literal(&self) -> String {
        self.as_array().and_then(Array::in_few_words).unwrap_or_else(|| self.to_string())
    }
}

/// The statistics of booleans or numbers; nothing for other kinds.
pub(crate) fn statistics_of<'a, I: Iterator<Item = Scalar<'a>>>(scalars: impl Fn() -> I) -> String {
    match scalars().next().map(Scalar::kind) {
        Some(LeafKind::Bool) => {
            let count = |value| scalars().filter(|scalar| *scalar == Scalar::Bool(value)).count();
            format!(" true:{} false:{}", count(true), count(false))
        }
        Some(kind) if kind.is_number() => statistics(|| scalars().filter_map(Scalar::nearest_f64)),
        _ => String::new(),
    }
}

/// ` ≈0.1 ±1 [≥-2.3, ≤2.2] zero:3 nan:1 inf:2`
#[allow(clippy::cast_precision_loss, reason = "counts, for a mean of three digits")]
fn statistics<I: Iterator<Item = f64>>(numbers: impl Fn() -> I) -> String {
    let finite = || numbers().filter(|number| number.is_finite());
    let count = finite().count() as f64;
    let sum: f64 = finite().sum();
    // The sum of large numbers may be infinite, and that of their parts is not.
    let of_parts = || finite().map(|number| number / count).sum();
    let mean: f64 = if sum.is_finite() { sum / count } else { of_parts() };
    let deviation = finite().map(|number| (number - mean) / count.sqrt()).fold(0.0, f64::hypot);
    let counts = [
        ("zero", numbers().filter(|number| *number == 0.0).count()),
        ("nan", numbers().filter(|number| number.is_nan()).count()),
        ("inf", numbers().filter(|number| number.is_infinite()).count()),
    ];
    let range = finite().fold(None, |range, number| {
        let (low, high) = range.unwrap_or((number, number));
        Some((number.min(low), number.max(high)))
    });
    let mut text = String::new();
    if let Some((low, high)) = range {
        let [mean, deviation, low, high] = [mean, deviation, low, high].map(three_digits);
        text = format!(" ≈{mean} ±{deviation} [≥{low}, ≤{high}]");
    }
    for (name, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        text.push_str(&format!(" {name}:{count}"));
    }
    text
}

/// A number with three digits, e.g. `0.571`, `1230` or `1.5e-9`.
fn three_digits(number: f64) -> String {
    let scientific = format!("{number:.2e}");
    let Ok(near) = scientific.parse::<f64>() else { return scientific };
    match near.abs() {
        0.0 => "0".to_owned(),
        1e-3..1e6 => near.to_string(),
        _ => format!("{near:e}"),
    }
}
