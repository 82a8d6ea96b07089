//! The classes that are registered with JAX, by its public functions.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyTuple};

use crate::error::Result;

/// One object of a registered class, taken apart.
pub(crate) struct RegisteredNode<'py> {
    /// The names of the attributes that the children are, if all of them are.
    pub(crate) names: Option<Vec<String>>,
    /// Otherwise the steps to the children, as `jax.tree_util.keystr` writes them.
    pub(crate) steps: Option<Bound<'py, PyTuple>>,
    pub(crate) children: Bound<'py, PyList>,
    /// JAX's treedef, with the children as leaves.
    pub(crate) treedef: Bound<'py, PyAny>,
}

/// Takes an object apart. `None` if it is a leaf: also where JAX is not imported, because nothing can be
/// registered then.
pub(crate) fn one_level<'py>(object: &Bound<'py, PyAny>) -> Result<Option<RegisteredNode<'py>>> {
    let py = object.py();
    let level = code(py)?.call_method1(intern!(py, "one_level"), (object,))?;
    let level = level.extract::<Option<(_, _, _, _)>>()?;
    Ok(level.map(|(names, steps, children, treedef)| RegisteredNode {
        names,
        steps,
        children,
        treedef,
    }))
}

/// Whether JAX takes a tuple of a subclass apart as its registry says, and not as a named tuple or a leaf.
pub(crate) fn is_registered_tuple(object: &Bound<'_, PyAny>) -> Result<bool> {
    let py = object.py();
    Ok(code(py)?.call_method1(intern!(py, "is_registered_tuple"), (object,))?.is_truthy()?)
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

def one_level(tree):
    util = sys.modules.get("jax.tree_util")
    if util is None:
        return None
    below, treedef = util.tree_flatten_with_path(tree, lambda child: child is not tree)
    if len(below) == 1 and below[0][1] is tree:
        return None
    children, names = [], []
    for (key,), child in below:
        children.append(child)
        if type(key) is util.GetAttrKey:
            names.append(key.name)
    if len(names) == len(children):
        return names, None, children, treedef
    return None, tuple(util.keystr(path) for path, _ in below), children, treedef

def is_registered_tuple(tree):
    util = sys.modules.get("jax.tree_util")
    if util is None:
        return False
    treedef = util.tree_structure(tree, lambda child: child is not tree)
    if treedef.node_data() is None:
        return False
    try:
        # Only the text tells the two apart: the class of a named tuple is not in the place of a name there.
        return not str(treedef).startswith(f"PyTreeDef(CustomNode(namedtuple[{type(tree).__name__}], [")
    except Exception:
        return True  # the text of its static fields

def is_node(tree):
    """Whether the class of an object is registered, faster than taking it apart."""
    util = sys.modules.get("jax.tree_util")
    return util is not None and not util.all_leaves((tree,))

def attributes(treedef, length, names):
    """The names of the attributes that an object has of its children. `None` if they are no attributes."""
    children = [object() for _ in range(length)]
    try:
        made = treedef.unflatten(children)
        found = {id(getattr(made, name, None)): name for name in names}
        found = [found.get(id(child)) for child in children]
    except Exception:
        return None  # its class takes no such children
    return None if None in found else found

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
