//! The options and rules of a [`Flattener`] that are about arrays.

use crate::argument::ToPattern;
use crate::bug::bug;
use crate::error::Result;
use crate::flatten::{ArrayMeaning, ArrayRule, Collector, Flattener};
use crate::leaf::column::Columns;
use crate::leaf::sink::Sink;
use crate::model::Tree;

use super::collect::collect_arrays;

/// Makes one leaf of each array.
const ARRAYS: Collector = Collector {
    sink: || Sink::Other(Box::<Columns>::default()),
    collect: |treedef, leaves, rules| {
        let leaves = match leaves {
            Sink::Other(leaves) => leaves.into_any().downcast::<Columns>().ok(),
            _ => None,
        };
        let leaves = leaves.ok_or_else(|| bug!("arrays were not recorded in columns"))?;
        let (treedef, leaves) = collect_arrays(treedef, *leaves, rules)?;
        Ok(Tree::from_parts(treedef, leaves))
    },
};

impl Flattener {
    /// Makes each array one leaf, whose numbers are in one buffer.
    ///
    /// An array is what [`TreeDef::blocks`](crate::TreeDef::blocks) calls a block, if it has dimensions and its leaves are
    /// numbers of one type or `bool`: `Vec<Vec<f32>>` with rows of one length, `[[f64; 3]; 3]`. The
    /// structs of array crates are arrays of their own shape: those with the fields `v`, `dim`,
    /// `data` (`ndarray`), `shape` or `dim` and `data`, or `bytes`, `shape`, `dtype` (`burn`; see
    /// [`ArrayFields`](crate::ArrayFields)). A dynamic matrix of `nalgebra` is a list with two sizes,
    /// and is an array if these are static and fit: see
    /// [`with_nalgebra_rules_at`](Self::with_nalgebra_rules_at).
    /// Elements may be newtypes named `f16` and `bf16` around a `u16` (`half`), and structs with
    /// the fields `re` and `im`. Everything else stays as it is, also rows of different lengths.
    ///
    /// For types that serialize without their shape, add a rule:
    /// [`with_complex_rules_at`](Self::with_complex_rules_at) and
    /// [`with_matrix_rules_at`](Self::with_matrix_rules_at).
    ///
    /// [`Leaf::as_array`](crate::Leaf::as_array) gives the [`Array`](crate::Array). It comes back exactly, whatever its
    /// form was.
    ///
    /// ```
    /// use serde::{Deserialize, Serialize};
    /// use treedef::Flattener;
    ///
    /// #[derive(Debug, PartialEq, Serialize, Deserialize)]
    /// struct Layer { w: Vec<[f32; 2]>, b: Vec<f32>, step: u64 }
    ///
    /// let layer = Layer { w: vec![[0.5, 1.0]; 3], b: vec![0.0; 2], step: 7 };
    /// let (leaves, treedef) = Flattener::new().arrays(true).flatten(&layer)?;
    /// assert_eq!(treedef.to_string(), "Layer { w: *, b: *, step: * }");
    /// assert_eq!(leaves[0].as_array().unwrap().shape(), [3, 2]);
    /// assert_eq!(treedef::unflatten::<Layer>(&treedef, leaves)?, layer);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn arrays(mut self, yes: bool) -> Self {
        self.arrays = yes.then_some(ARRAYS);
        self
    }

    /// Takes pairs of floats for complex numbers, in the [arrays](Self::arrays) at `pattern` and
    /// below.
    ///
    /// A `num_complex::Complex` is a pair to serde, like any other, so only a path can find it. A
    /// struct with the fields `re` and `im` needs no rule. A lone number stays two leaves.
    ///
    /// # Errors
    ///
    /// Returns an error when the text is not a valid [`Pattern`](crate::Pattern).
    ///
    /// ```
    /// use treedef::{Dtype, Flattener};
    ///
    /// let (signal, spectrum) = (vec![[0.5f32; 2]; 3], vec![(0.5f32, 1.0f32); 3]);
    /// let flattener = Flattener::new().arrays(true).with_complex_rules_at(".1")?;
    /// let (leaves, treedef) = flattener.flatten(&(signal, &spectrum))?;
    /// let shapes: Vec<_> =
    ///     leaves.iter().filter_map(|leaf| Some(leaf.as_array()?.to_string())).collect();
    /// assert_eq!(shapes, ["f32[3, 2]", "c64[3]"]);
    /// assert_eq!(leaves[1].clone().into_typed::<Vec<(f32, f32)>>()?, spectrum);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn with_complex_rules_at(self, pattern: impl ToPattern) -> Result<Self> {
        self.with_array_rule(pattern, ArrayMeaning::Complex)
    }

    /// Takes lists of `rows * columns` numbers for matrices, column by column, in the
    /// [arrays](Self::arrays) at `pattern` and below.
    ///
    /// To serde, a matrix of fixed size is its numbers without its shape: an `SMatrix` of
    /// `nalgebra` 0.32 to 0.35, and a `Mat3` of `glam`. In a list of such matrices, each is an
    /// array.
    ///
    /// # Errors
    ///
    /// Returns an error when the text is not a valid [`Pattern`](crate::Pattern).
    ///
    /// ```
    /// use treedef::Flattener;
    ///
    /// // What a `nalgebra::SMatrix<f64, 2, 3>` looks like to serde.
    /// let matrix = [1.0, 4.0, 2.0, 5.0, 3.0, 6.0];
    /// let flattener = Flattener::new().arrays(true).with_matrix_rules_at("", 2, 3)?;
    /// let (leaves, _) = flattener.flatten(&matrix)?;
    /// let array = leaves[0].as_array().unwrap();
    /// assert_eq!((array.shape(), array.is_column_major()), (&[2, 3][..], true));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn with_matrix_rules_at(
        self,
        pattern: impl ToPattern,
        rows: usize,
        columns: usize,
    ) -> Result<Self> {
        self.with_array_rule(pattern, ArrayMeaning::Columns(rows, columns))
    }

    fn with_array_rule(mut self, pattern: impl ToPattern, means: ArrayMeaning) -> Result<Self> {
        let pattern = pattern.to_pattern()?.into_owned();
        self.array_rules.push(ArrayRule { pattern, means });
        Ok(self)
    }
}
