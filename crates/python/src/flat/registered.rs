//! The classes that are registered with JAX, by its public functions.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyTuple};

use crate::error::Result;

/// One object of a registered class, taken apart.
#[derive(FromPyObject)]
pub(crate) struct Level<'py> {
    /// The names of the attributes that the children are, if all of them are.
    pub(crate) names: Option<Vec<String>>,
    /// The steps to the children, as `jax.tree_util.keystr` writes them.
    pub(crate) steps: Bound<'py, PyTuple>,
    pub(crate) children: Bound<'py, PyList>,
    /// JAX's treedef, with the children as leaves.
    pub(crate) treedef: Bound<'py, PyAny>,
}

/// Takes an object apart. `None` if it is a leaf: also where JAX is not imported, because nothing can be
/// registered then.
pub(crate) fn one_level<'py>(object: &Bound<'py, PyAny>) -> Result<Option<Level<'py>>> {
    Ok(code(object.py())?.getattr("one_level")?.call1((object,))?.extract()?)
}

/// The code in Python.
pub(crate) fn code(py: Python<'_>) -> Result<&Bound<'_, PyAny>> {
    static MODULE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || -> PyResult<_> {
        Ok(PyModule::from_code(py, CODE, c"jax.py", c"treedef_python_jax")?.into_any().unbind())
    })?;
    Ok(module.bind(py))
}

const CODE: &std::ffi::CStr = cr#"
import sys
from types import SimpleNamespace

def one_level(tree):
    util = sys.modules.get("jax.tree_util")
    if util is None:
        return None
    below, treedef = util.tree_flatten_with_path(tree, is_leaf=lambda child: child is not tree)
    children = [child for _, child in below]
    if len(children) == 1 and children[0] is tree:
        return None
    keys = [path[0] for path, _ in below]
    is_named = all(isinstance(key, util.GetAttrKey) for key in keys)
    names = [key.name for key in keys] if is_named else None
    steps = tuple(util.keystr((key,)) for key in keys)
    return SimpleNamespace(names=names, steps=steps, children=children, treedef=treedef)

def filled(treedef):
    """A tree of this structure, and its leaves. `None` if it is no treedef."""
    from jax import tree_util
    if not isinstance(treedef, tree_util.PyTreeDef):
        return None
    leaves = list(range(treedef.num_leaves))
    return leaves, treedef.unflatten(leaves)

def structure(tree):
    from jax import tree_util
    return tree_util.tree_structure(tree)
"#;
