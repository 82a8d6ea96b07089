//! From a treedef and leaves to a pytree, and to the paths of the leaves.

use std::slice;
use std::vec;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PyString, PyTuple};
use treedef::{Leaf, NodeKind, NodeRef, Value};

use crate::error::{Error, ErrorKind, Result};
use crate::flat::class::{Class, ClassKind, has_class};

/// Makes objects of nodes. The leaves are taken in order.
pub(crate) struct Unflattener<'a, 'py> {
    pub(crate) py: Python<'py>,
    pub(crate) leaves: vec::IntoIter<Bound<'py, PyAny>>,
    pub(crate) classes: slice::Iter<'a, Class>,
}

impl<'py> Unflattener<'_, 'py> {
    pub(crate) fn object(&mut self, node: NodeRef<'_>) -> Result<Bound<'py, PyAny>> {
        let py = self.py;
        Ok(match node.kind() {
            NodeKind::Leaf => self.leaves.next().ok_or_else(damaged)?,
            NodeKind::None => py.None().into_bound(py),
            NodeKind::Seq => PyList::new(py, self.children(node)?)?.into_any(),
            NodeKind::Tuple => PyTuple::new(py, self.children(node)?)?.into_any(),
            NodeKind::Map => {
                let dict = PyDict::new(py);
                for (key, child) in node.entry_keys().iter().zip(node.children()) {
                    dict.set_item(key_object(py, key)?, self.object(child)?)?;
                }
                dict.into_any()
            }
            _ => {
                let class = self.classes.next().ok_or_else(damaged)?;
                let children = self.children(node)?;
                class.instance(py, node, children)?
            }
        })
    }

    fn children(&mut self, node: NodeRef<'_>) -> Result<Vec<Bound<'py, PyAny>>> {
        node.children().map(|child| self.object(child)).collect()
    }
}

/// The paths of the leaves below a node, as `jax.tree_util.keystr` writes them.
pub(crate) struct KeystrPaths<'a, 'py> {
    pub(crate) py: Python<'py>,
    pub(crate) classes: slice::Iter<'a, Class>,
    pub(crate) path: String,
    pub(crate) paths: Vec<String>,
}

impl KeystrPaths<'_, '_> {
    pub(crate) fn visit(&mut self, node: NodeRef<'_>) -> Result<()> {
        if node.is_leaf() {
            self.paths.push(self.path.clone());
            return Ok(());
        }
        let class = if has_class(node) { self.classes.next() } else { None };
        let length = self.path.len();
        for (index, child) in node.children().enumerate() {
            self.step(node, class, index)?;
            self.visit(child)?;
            self.path.truncate(length);
        }
        Ok(())
    }

    fn step(&mut self, node: NodeRef<'_>, class: Option<&Class>, index: usize) -> Result<()> {
        let py = self.py;
        let is_object = class.is_some_and(|class| {
            matches!(class.form, ClassKind::NamedTuple | ClassKind::Registered)
        });
        let keys = class.and_then(|class| class.keys.as_ref());
        let key = if let Some(keys) = keys {
            keys.bind(py).get_item(index)?
        } else if let Some(key) = node.entry_keys().get(index) {
            key_object(py, key)?
        } else if let Some(name) = node.fields().get(index) {
            PyString::new(py, name).into_any()
        } else {
            PyInt::new(py, index).into_any()
        };
        let step = match (is_object, keys) {
            (true, None) => format!(".{}", key.str()?),
            (true, Some(_)) => key.str()?.to_string(),
            (false, _) => format!("[{}]", key.repr()?),
        };
        self.path.push_str(&step);
        Ok(())
    }
}

/// A key of a map, which is a text or an integer.
fn key_object<'py>(py: Python<'py>, key: &Value) -> Result<Bound<'py, PyAny>> {
    match key.as_leaf() {
        Some(Leaf::Str(text)) => Ok(PyString::new(py, text).into_any()),
        Some(Leaf::I64(number)) => Ok(PyInt::new(py, *number).into_any()),
        _ => Err(damaged()),
    }
}

/// Whether each node is one that a pytree of Python becomes.
pub(crate) fn check(
    node: NodeRef<'_>,
    classes: &mut slice::Iter<'_, Class>,
    py: Python<'_>,
) -> Result<()> {
    let has_plain_keys = |key: &Value| matches!(key.as_leaf(), Some(Leaf::Str(_) | Leaf::I64(_)));
    match node.kind() {
        NodeKind::Leaf | NodeKind::None | NodeKind::Seq | NodeKind::Tuple => {}
        NodeKind::Map if node.entry_keys().iter().all(has_plain_keys) => {}
        NodeKind::Struct | NodeKind::TupleStruct => {
            let class = classes.next().ok_or_else(damaged)?;
            let keys = class.keys.as_ref().map(|keys| keys.bind(py).len());
            if keys.is_some_and(|keys| keys != node.num_children()) {
                return Err(damaged());
            }
        }
        _ => return Err(damaged()),
    }
    node.children().try_for_each(|child| check(child, classes, py))
}

pub(crate) fn damaged() -> Error {
    Error::new(ErrorKind::Value, "this is no treedef of a pytree of Python")
}
