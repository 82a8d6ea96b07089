//! Any value as an object: the library makes a tree of it, whose nodes become objects.

use pyo3::prelude::*;
use serde::Serialize;
use treedef::{Flattener, Leaf, Limits, MapOrder, TreeDef};

use crate::error::Result;
use crate::write::build::Builder;
use crate::write::matrices::WithShapes;

/// The options of the writer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) namespaces: bool,
    pub(crate) limits: Limits,
}

impl Options {
    pub(crate) fn flattener(&self) -> Flattener {
        Flattener::new().arrays(true).map_order(MapOrder::Insertion).limits(self.limits)
    }

    /// The objects of a tree. Its arrays were moved out by the current walk.
    pub(crate) fn build<'py>(
        &self,
        py: Python<'py>,
        treedef: &TreeDef,
        leaves: Vec<Leaf>,
    ) -> Result<Bound<'py, PyAny>> {
        let (namespaces, leaves) = (self.namespaces, leaves.into_iter());
        Builder { py, namespaces, is_key: false, leaves }.object(treedef.root())
    }

    pub(crate) fn object<'py>(
        &self,
        py: Python<'py>,
        value: &(impl Serialize + ?Sized),
    ) -> Result<Bound<'py, PyAny>> {
        let (leaves, treedef) = self.flattener().flatten(&WithShapes(value))?;
        self.build(py, &treedef, leaves)
    }
}
