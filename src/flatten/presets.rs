//! Ready-made rules for array crates: numbers become leaves, while shapes and versions are static.
//! And for floats of 16 bits, which are integers to serde.
//!
//! The rules use the names that these crates pass to serde. Tests in this repository check these
//! names. A rule of a preset is never reported as unmatched.

use crate::argument::ToPattern;
use crate::error::Result;
use crate::path::Key;
use crate::pattern::PatternStep;

use super::flattener::Flattener;
use super::rules::{Becomes, Rule};

impl Flattener {
    /// Makes the version and the shape of an `Array` of `ndarray` 0.15 to 0.17 static.
    ///
    /// ```
    /// use serde::Serialize;
    /// use treedef::Flattener;
    ///
    /// // What an `ndarray::Array` looks like to serde.
    /// #[derive(Serialize)]
    /// struct Array { v: u8, dim: [usize; 2], data: Vec<f64> }
    ///
    /// let array = Array { v: 1, dim: [1, 2], data: vec![1.0, 2.0] };
    /// let (leaves, treedef) = Flattener::new().with_ndarray_rules().flatten_as::<f64>(&array)?;
    /// assert_eq!(leaves, [1.0, 2.0]);
    /// assert_eq!(
    ///     treedef.to_string(),
    ///     "Array { v: static 1u8, dim: static (1u64, 2u64), data: [*, *] }"
    /// );
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn with_ndarray_rules(self) -> Self {
        let rule = |field: &str| Rule::Field { type_name: "Array".into(), field: field.into() };
        self.with_preset(rule("v")).with_preset(rule("dim"))
    }

    /// Makes the numbers of rows and columns static, for dynamic matrices and vectors of `nalgebra`
    /// 0.32 to 0.35 at `pattern`.
    ///
    /// A dynamic matrix serializes as a tuple `(numbers, rows, columns)` without a name, so only a
    /// path can find it. Matrices of fixed size consist of numbers only, and need no rule.
    ///
    /// # Errors
    ///
    /// Returns an error when the text is not a valid [`Pattern`](crate::Pattern).
    ///
    /// ```
    /// use treedef::Flattener;
    ///
    /// let model = (0.5, (vec![1.0, 2.0], 1u64, 2u64));
    /// let (leaves, _) = Flattener::new().with_nalgebra_rules_at(".1")?.flatten_as::<f64>(&model)?;
    /// assert_eq!(leaves, [0.5, 1.0, 2.0]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn with_nalgebra_rules_at(self, pattern: impl ToPattern) -> Result<Self> {
        let pattern = pattern.to_pattern()?.into_owned();
        let below = |position| {
            let mut pattern = pattern.clone();
            pattern.0.push(PatternStep::Key(Key::Position(position)));
            Rule::Path(pattern)
        };
        Ok(self.with_preset(below(1)).with_preset(below(2))) // rows and columns
    }

    /// Makes an `f16` or `bf16` of `half` 2.7 an `f32` leaf, instead of a newtype of its bits, which
    /// are a `u16`.
    ///
    /// It is a leaf whatever [`leaves_where`](Self::leaves_where) says. The conversion is lossless:
    /// an unchanged leaf rebuilds the same 16 bits, also those of a NaN. A changed leaf is rounded to
    /// the nearest, ties to even; a finite number that would become infinite is an error. In `f64`
    /// leaves the floats are widened, as `f32`s are.
    ///
    /// Below `flatten`, `untagged` and an internal `tag` it does not come back: serde's buffers
    /// hold the float there, and `half` asks them for the bits.
    ///
    /// A field with `#[serde(serialize_with = "f16::serialize_as_f32")]` needs no rule: it is an
    /// `f32` in every format, and comes back in the same way.
    ///
    /// ```
    /// use serde::Serialize;
    /// use treedef::{Flattener, LeafKind};
    ///
    /// // What a `half::f16` looks like to serde.
    /// #[derive(Serialize)]
    /// #[allow(non_camel_case_types)]
    /// struct f16(u16);
    ///
    /// let one_and_a_half = f16(0x3e00);
    /// let floats = Flattener::new().leaves_where(LeafKind::is_float);
    /// let (_, treedef) = floats.flatten(&one_and_a_half)?;
    /// assert_eq!(treedef.to_string(), "f16(static 15872u16)");
    ///
    /// let (leaves, treedef) = floats.with_half_rules().flatten_as::<f32>(&one_and_a_half)?;
    /// assert_eq!((leaves, treedef.to_string().as_str()), (vec![1.5], "*"));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn with_half_rules(self) -> Self {
        self.with_preset_of(Rule::Half, Becomes::Half)
    }

    fn with_preset(self, rule: Rule) -> Self {
        self.with_preset_of(rule, Becomes::Static)
    }

    fn with_preset_of(self, rule: Rule, becomes: Becomes) -> Self {
        self.with_rules(|rules| {
            rules.presets.push(rules.rules.len());
            rules.rules.push((rule, becomes));
        })
    }
}
