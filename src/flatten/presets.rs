//! Ready-made rules for array crates: numbers become leaves, while shapes and versions are static.
//!
//! The rules use the names that these crates pass to serde. Tests in this repository check these
//! names. A rule of a preset is never reported as unmatched.

use crate::error::Result;

use super::Flattener;
use super::rules::{Keep, Rule};

impl Flattener {
    /// `ndarray` 0.15 to 0.17: the version and the shape of an `Array` are static.
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
    /// assert_eq!(treedef.to_string(), "Array { v: static 1u8, dim: static (1u64, 2u64), data: [*, *] }");
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn with_ndarray_rules(self) -> Self {
        self.with_fields("Array", &["v", "dim"])
    }

    /// `sprs` 0.11: the shape and the indices of sparse matrices and vectors are static.
    pub fn with_sprs_rules(self) -> Self {
        self.with_fields("CsMatBase", &["nrows", "ncols", "indptr", "indices"])
            .with_fields("CsVecBase", &["dim", "indices"])
    }

    /// `petgraph` 0.8: the holes and the edge ends of a `Graph` or `StableGraph` are static.
    ///
    /// The ends are in an unnamed triple, so their rules are paths: `**.edges[*]?.0` and
    /// `**.edges[*]?.1`. To make the nodes of a `GraphMap` static as well, add
    /// `static_field("Graph", "nodes")`.
    pub fn with_petgraph_rules(self) -> Self {
        let ends = ["**.edges[*]?.0", "**.edges[*]?.1"];
        ends.iter()
            .filter_map(|pattern| pattern.parse().ok())
            .fold(self.with_fields("Graph", &["node_holes"]), |flattener, pattern| {
                flattener.with_preset(Rule::Path(pattern))
            })
    }

    /// `nalgebra` 0.32 to 0.35: the numbers of rows and columns are static, for dynamic matrices
    /// and vectors at `pattern`.
    ///
    /// A dynamic matrix serializes as a tuple `(numbers, rows, columns)` without a name, so only a
    /// path can find it. Matrices of fixed size consist of numbers only, and need no rule.
    ///
    /// # Errors
    ///
    /// When the text is not a valid [`Pattern`](crate::Pattern).
    ///
    /// ```
    /// use treedef::Flattener;
    ///
    /// let model = (0.5, (vec![1.0, 2.0], 1u64, 2u64));
    /// let (leaves, _) = Flattener::new().with_nalgebra_rules_at(".1")?.flatten_as::<f64>(&model)?;
    /// assert_eq!(leaves, [0.5, 1.0, 2.0]);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn with_nalgebra_rules_at(self, pattern: &str) -> Result<Self> {
        let (rows, columns) = (format!("{pattern}.1").parse()?, format!("{pattern}.2").parse()?);
        Ok(self.with_preset(Rule::Path(rows)).with_preset(Rule::Path(columns)))
    }

    fn with_fields(self, type_name: &str, fields: &[&str]) -> Self {
        fields.iter().fold(self, |flattener, field| {
            flattener.with_preset(Rule::Field {
                type_name: type_name.to_owned(),
                field: (*field).to_owned(),
            })
        })
    }

    fn with_preset(self, rule: Rule) -> Self {
        self.with_rules(|rules| {
            rules.presets.push(rules.rules.len());
            rules.rules.push((rule, Keep::Static));
        })
    }
}
