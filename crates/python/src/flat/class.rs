//! The data of a node beside the treedef: its class, and values that only Python can compare.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};
use treedef::{NodeKind, NodeRef};

use crate::error::Result;

/// How the children of an object of a class are found, and the object is made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClassKind {
    Dict,
    OrderedDict,
    DefaultDict,
    Deque,
    NamedTuple,
    /// By JAX, which has its class in a registry.
    Registered,
}

impl ClassKind {
    /// The form of a class that is a node, if JAX does not know it otherwise.
    pub(crate) fn of(class: &Bound<'_, PyType>) -> Result<Self> {
        static ORDERED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        static DEFAULT: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        static DEQUE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let py = class.py();
        Ok(if class.is(py.get_type::<PyDict>()) {
            ClassKind::Dict
        } else if class.is(ORDERED.import(py, "collections", "OrderedDict")?) {
            ClassKind::OrderedDict
        } else if class.is(DEFAULT.import(py, "collections", "defaultdict")?) {
            ClassKind::DefaultDict
        } else if class.is(DEQUE.import(py, "collections", "deque")?) {
            ClassKind::Deque
        } else if class.is_subclass_of::<PyTuple>()? {
            ClassKind::NamedTuple
        } else {
            ClassKind::Registered
        })
    }
}

/// The class of a node that is a struct or a tuple struct in the treedef.
#[derive(Debug)]
pub(crate) struct Class {
    pub(crate) form: ClassKind,
    pub(crate) class: Py<PyType>,
    /// The keys of the children, unless they are names, which the treedef has, or positions. Of a
    /// class that JAX knows, they are parts of a path.
    pub(crate) keys: Option<Py<PyTuple>>,
    /// The `default_factory`, the `maxlen`, JAX's treedef of this level; or `None`.
    pub(crate) data: Py<PyAny>,
}

impl Class {
    /// Whether both are the same class with equal data. Data whose comparison raises is not equal.
    pub(crate) fn same(&self, py: Python<'_>, other: &Class) -> bool {
        let keys = match (&self.keys, &other.keys) {
            (Some(keys), Some(other)) => keys.bind(py).eq(other).unwrap_or(false),
            (keys, other) => keys.is_none() && other.is_none(),
        };
        let is_same = |data: &Bound<'_, PyAny>| data.is(&other.data);
        let data = self.data.bind(py);
        self.class.is(&other.class)
            && keys
            && (is_same(data) || data.eq(&other.data).unwrap_or(false))
    }

    /// An object of the class.
    pub(crate) fn instance<'py>(
        &self,
        py: Python<'py>,
        node: NodeRef<'_>,
        children: Vec<Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyAny>> {
        let class = self.class.bind(py);
        let children = PyList::new(py, children)?;
        let data = self.data.bind(py);
        Ok(match self.form {
            ClassKind::Dict => self.dict(py, node, &children)?.into_any(),
            ClassKind::OrderedDict => class.call1((self.dict(py, node, &children)?,))?,
            ClassKind::DefaultDict => class.call1((data, self.dict(py, node, &children)?))?,
            ClassKind::Deque => class.call1((children, data))?,
            ClassKind::NamedTuple => class.call1(children.to_tuple())?,
            ClassKind::Registered => data.call_method1("unflatten", (children,))?,
        })
    }

    fn dict<'py>(
        &self,
        py: Python<'py>,
        node: NodeRef<'_>,
        children: &Bound<'py, PyList>,
    ) -> Result<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        match &self.keys {
            Some(keys) => {
                for (key, child) in keys.bind(py).iter().zip(children) {
                    dict.set_item(key, child)?;
                }
            }
            None => {
                for (name, child) in node.fields().iter().zip(children) {
                    dict.set_item(name.as_ref(), child)?;
                }
            }
        }
        Ok(dict)
    }
}

impl Class {
    /// Builds the class from its parts, which `pickle` stored.
    pub(crate) fn of_parts((class, keys, data): Parts<'_>) -> Result<Self> {
        let form = match ClassKind::of(&class)? {
            // Only a class that JAX knows has a treedef.
            ClassKind::NamedTuple if !data.is_none(class.py()) => ClassKind::Registered,
            form => form,
        };
        Ok(Class { form, class: class.unbind(), keys, data })
    }
}

/// The parts of a [`Class`], as `pickle` has them.
pub(crate) type Parts<'py> = (Bound<'py, PyType>, Option<Py<PyTuple>>, Py<PyAny>);

/// Whether a node of the treedef has a [`Class`].
pub(crate) fn has_class(node: NodeRef<'_>) -> bool {
    matches!(node.kind(), NodeKind::Struct | NodeKind::TupleStruct)
}
