//! Ready-made rules for the types of array crates, of which serde does not tell all.
//!
//! The rules use the names that these crates pass to serde. Tests in this repository check these
//! names. Such a rule is never reported as unmatched.

use crate::path::Key;
use crate::pattern::{Pattern, PatternStep};
use crate::selector::Selector;

use super::flattener::Flattener;
use super::rules::{ArrayHint, ArrayMeaning, Becomes, Rule};

/// What serde does not tell of the types of array crates: for [`Flattener::array_rule`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ArrayRule {
    /// The version and the shape of an `Array` of `ndarray` 0.15 to 0.17 are static.
    ///
    /// ```
    /// use serde::Serialize;
    /// use treedef::{ArrayRule, Flattener};
    ///
    /// // What an `ndarray::Array` looks like to serde.
    /// #[derive(Serialize)]
    /// struct Array { v: u8, dim: [usize; 2], data: Vec<f64> }
    ///
    /// let array = Array { v: 1, dim: [1, 2], data: vec![1.0, 2.0] };
    /// let flattener = Flattener::new().array_rule(ArrayRule::Ndarray);
    /// let (leaves, treedef) = flattener.flatten_as::<f64>(&array)?;
    /// assert_eq!(leaves, [1.0, 2.0]);
    /// assert_eq!(
    ///     treedef.to_string(),
    ///     "Array { v: static 1u8, dim: static (1u64, 2u64), data: [*, *] }"
    /// );
    /// # Ok::<(), treedef::Error>(())
    /// ```
    Ndarray,
    /// The numbers of rows and columns are static, of dynamic matrices and vectors of `nalgebra` 0.32
    /// to 0.35 at this pattern.
    ///
    /// A dynamic matrix serializes as a tuple `(numbers, rows, columns)` without a name, so only a
    /// path can find it. Matrices of fixed size consist of numbers only, and need no rule.
    ///
    /// ```
    /// use treedef::{ArrayRule, Flattener};
    ///
    /// let model = (0.5, (vec![1.0, 2.0], 1u64, 2u64));
    /// let flattener = Flattener::new().array_rule(ArrayRule::Nalgebra(".1".parse()?));
    /// let (leaves, _) = flattener.flatten_as::<f64>(&model)?;
    /// assert_eq!(leaves, [0.5, 1.0, 2.0]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    Nalgebra(Pattern),
    /// An `f16` or `bf16` of `half` 2.7 is an `f32` leaf, instead of a newtype of its bits, which are a
    /// `u16`.
    ///
    /// It is a leaf whatever [`leaves_where`](Flattener::leaves_where) says. The conversion is
    /// lossless: an unchanged leaf rebuilds the same 16 bits, also those of a NaN. A changed leaf is
    /// rounded to the nearest, ties to even; a finite number that would become infinite is an error.
    /// In `f64` leaves the floats are widened, as `f32`s are.
    ///
    /// Below `flatten`, `untagged` and an internal `tag` it does not come back: serde's buffers
    /// hold the float there, and `half` asks them for the bits.
    ///
    /// A field with `#[serde(serialize_with = "f16::serialize_as_f32")]` needs no rule: it is an
    /// `f32` in every format, and comes back in the same way.
    ///
    /// ```
    /// use serde::Serialize;
    /// use treedef::{ArrayRule, Flattener, LeafKind};
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
    /// let (leaves, treedef) =
    ///     floats.array_rule(ArrayRule::Half).flatten_as::<f32>(&one_and_a_half)?;
    /// assert_eq!((leaves, treedef.to_string().as_str()), (vec![1.5], "*"));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    Half,
    /// Pairs of floats are complex numbers, in the [arrays](Flattener::arrays) at this pattern and
    /// below.
    ///
    /// A `num_complex::Complex` is a pair to serde, like any other, so only a path can find it. A
    /// struct with the fields `re` and `im` needs no rule. A lone number stays two leaves.
    ///
    /// ```
    /// use treedef::{ArrayRule, Dtype, Flattener};
    ///
    /// let (signal, spectrum) = (vec![[0.5f32; 2]; 3], vec![(0.5f32, 1.0f32); 3]);
    /// let flattener = Flattener::new().arrays(true).array_rule(ArrayRule::Complex(".1".parse()?));
    /// let (leaves, treedef) = flattener.flatten(&(signal, &spectrum))?;
    /// let shapes: Vec<_> =
    ///     leaves.iter().filter_map(|leaf| Some(leaf.as_array()?.to_string())).collect();
    /// assert_eq!(shapes, ["f32[3, 2]", "c64[3]"]);
    /// assert_eq!(leaves[1].clone().into_typed::<Vec<(f32, f32)>>()?, spectrum);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    Complex(Pattern),
    /// Lists of `rows * columns` numbers are matrices, column by column, in the
    /// [arrays](Flattener::arrays) at this pattern and below.
    ///
    /// To serde, a matrix of fixed size is its numbers without its shape: an `SMatrix` of
    /// `nalgebra` 0.32 to 0.35, and a `Mat3` of `glam`. In a list of such matrices, each is an
    /// array.
    ///
    /// ```
    /// use treedef::{ArrayRule, Flattener};
    ///
    /// // What a `nalgebra::SMatrix<f64, 2, 3>` looks like to serde.
    /// let matrix = [1.0, 4.0, 2.0, 5.0, 3.0, 6.0];
    /// let rule = ArrayRule::Matrix("".parse()?, 2, 3);
    /// let (leaves, _) = Flattener::new().arrays(true).array_rule(rule).flatten(&matrix)?;
    /// let array = leaves[0].as_array().unwrap();
    /// assert_eq!((array.shape(), array.is_column_major()), (&[2, 3][..], true));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    Matrix(Pattern, usize, usize),
}

impl Flattener {
    /// Adds what serde does not tell of the types of an array crate: shapes and versions are not
    /// numbers of the model, a list is a matrix, two bytes are a float. The page about
    /// [arrays](crate::_guide::arrays) says which types need it.
    ///
    /// ```
    /// use treedef::{ArrayRule, Flattener};
    ///
    /// let model = (0.5, (vec![1.0, 2.0], 1u64, 2u64));
    /// let flattener = Flattener::new().array_rule(ArrayRule::Nalgebra(".1".parse()?));
    /// assert_eq!(
    ///     flattener.structure(&model)?.to_string(),
    ///     "(*, ([*, *], static 1u64, static 2u64))"
    /// );
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn array_rule(self, rule: ArrayRule) -> Self {
        let field = |name: &'static str| Rule::At(Selector::Field("Array".into(), name.into()));
        let below = |mut pattern: Pattern, position| {
            pattern.0.push(PatternStep::Key(Key::Position(position)));
            Rule::At(Selector::Path(pattern))
        };
        match rule {
            ArrayRule::Ndarray => self.with_preset([field("v"), field("dim")], Becomes::Static),
            ArrayRule::Nalgebra(at) => {
                let (rows, columns) = (below(at.clone(), 1), below(at, 2));
                self.with_preset([rows, columns], Becomes::Static)
            }
            ArrayRule::Half => self.with_preset([Rule::Half], Becomes::Half),
            ArrayRule::Complex(at) => self.with_hint(at, ArrayMeaning::Complex),
            ArrayRule::Matrix(at, rows, columns) => {
                self.with_hint(at, ArrayMeaning::Columns(rows, columns))
            }
        }
    }

    fn with_preset<const N: usize>(self, preset: [Rule; N], becomes: Becomes) -> Self {
        self.with_rules(|rules| {
            for rule in preset {
                rules.presets.push(rules.rules.len());
                rules.rules.push((rule, becomes));
            }
        })
    }

    fn with_hint(mut self, pattern: Pattern, means: ArrayMeaning) -> Self {
        self.array_hints.push(ArrayHint { pattern, means });
        self
    }
}
