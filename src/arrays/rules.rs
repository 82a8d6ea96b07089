//! The option of a [`Flattener`] that makes one leaf of each array.

use crate::flatten::{Collector, Flattener};
use crate::leaf::column::Columns;
use crate::leaf::sink::Sink;
use crate::model::Tree;

use super::collect::collect_arrays;

/// Makes one leaf of each array.
const ARRAYS: Collector = Collector {
    sink: || Sink::Other(Box::<Columns>::default()),
    collect: |treedef, leaves, rules| {
        let (treedef, leaves) = collect_arrays(treedef, leaves.into_leaves(), rules)?;
        Ok(Tree::from_parts(treedef, leaves))
    },
};

impl Flattener {
    /// Makes each array one leaf, whose numbers are in one buffer.
    ///
    /// An array is a [block](crate::TreeDef::blocks) with at least one dimension whose leaves are numbers
    /// of one type or `bool`: `Vec<Vec<f32>>` with rows of one length, `[[f64; 3]; 3]`.
    ///
    /// The structs of array crates are arrays of their own shape, recognised by their fields: `v`, `dim`,
    /// `data` (`ndarray`), `shape` or `dim` and `data`, or `bytes`, `shape`, `dtype` (`burn`). A dynamic
    /// matrix of `nalgebra` is a list with two sizes; it is an array if the sizes are static and fit: see
    /// [`ArrayRule::Nalgebra`](crate::ArrayRule::Nalgebra).
    ///
    /// Elements may be newtypes named `f16` and `bf16` around a `u16` (`half`), and structs with the fields
    /// `re` and `im`. Everything else is unchanged, also rows of different lengths.
    ///
    /// For types that serialize without their shape, add an [`array_rule`](Self::array_rule).
    ///
    /// [`Leaf::as_array`](crate::Leaf::as_array) returns the [`Array`](crate::Array). Rebuilding gives
    /// an equal value.
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
}
