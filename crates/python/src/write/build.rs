//! The nodes of a tree as objects.

use std::vec;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use treedef::__private::{OrBug, broken, entry};
use treedef::{Leaf, NodeKind, NodeRef, Value};

use crate::error::{Error, ErrorKind, Result};
use crate::read::names::{literal, text};
use crate::read::nd_array::{MOVED, take_moved};
use crate::write::numpy::to_numpy;

/// Makes the objects. The leaves are taken in order.
pub(crate) struct Builder<'py> {
    pub(crate) py: Python<'py>,
    pub(crate) namespaces: bool,
    /// A key is made: its sequences are tuples, because a list is no key.
    pub(crate) is_key: bool,
    pub(crate) leaves: vec::IntoIter<Leaf>,
}

impl<'py> Builder<'py> {
    pub(crate) fn object(&mut self, node: NodeRef<'_>) -> Result<Bound<'py, PyAny>> {
        let py = self.py;
        Ok(match node.kind() {
            NodeKind::Leaf => self.leaf()?,
            NodeKind::Some | NodeKind::NewtypeStruct => self.only_child(node)?,
            NodeKind::Seq if !self.is_key => {
                let items: Vec<_> = self.children(node)?;
                PyList::new(py, items)?.into_any()
            }
            NodeKind::Seq | NodeKind::Tuple | NodeKind::TupleStruct => {
                let items: Vec<_> = self.children(node)?;
                PyTuple::new(py, items)?.into_any()
            }
            NodeKind::Map => {
                let dict = PyDict::new(py);
                for (key, child) in node.entry_keys().iter().zip(node.children()) {
                    let key = self.value(key, true)?;
                    let object = self.below(child, || format!("[{}]", literal(&key)))?;
                    dict.set_item(key, object)?;
                }
                if dict.len() != node.num_children() {
                    return Err(self.equal_keys(node)?);
                }
                dict.into_any()
            }
            NodeKind::Struct => {
                let dict = self.fields(node)?;
                if self.namespaces { namespace(&dict)? } else { dict.into_any() }
            }
            NodeKind::UnitVariant => variant_name(py, node).into_any(),
            NodeKind::NewtypeVariant if node.name() == Some(MOVED) => self.take_moved()?,
            NodeKind::NewtypeVariant => {
                let content = self.only_child(node);
                self.variant(node, content)?
            }
            NodeKind::TupleVariant => {
                let items = self.children(node);
                let content = items.and_then(|items| Ok(PyTuple::new(py, items)?.into_any()));
                self.variant(node, content)?
            }
            NodeKind::StructVariant => {
                let content = self.fields(node).map(Bound::into_any);
                self.variant(node, content)?
            }
            NodeKind::Static => {
                let value = node.static_value().ok_or_else(|| broken("a static is missing"))?;
                self.value(value, self.is_key)?
            }
            _ => py.None().into_bound(py), // None, units
        })
    }

    fn children(&mut self, node: NodeRef<'_>) -> Result<Vec<Bound<'py, PyAny>>> {
        let children = node.children().enumerate();
        children.map(|(index, child)| self.below(child, || format!("[{index}]"))).collect()
    }

    /// The object of a child, whose step in the object is before the path of an error.
    fn below(
        &mut self,
        child: NodeRef<'_>,
        step: impl FnOnce() -> String,
    ) -> Result<Bound<'py, PyAny>> {
        self.object(child).map_err(|error| error.below(step))
    }

    /// The error for a map or a struct that has more entries than the dict: its keys are equal in Python.
    #[cold]
    fn equal_keys(&self, node: NodeRef<'_>) -> Result<Error> {
        let seen = PyDict::new(self.py);
        let names = node.fields().iter().map(|name| Ok(PyString::new(self.py, name).into_any()));
        let keys = node.entry_keys().iter().map(|key| self.value(key, true));
        for key in keys.chain(names) {
            let key = key?;
            if seen.contains(&key)? {
                let message = format_args!("two keys of the dict are {} to Python", key.repr()?);
                return Ok(Error::new(ErrorKind::Value, message));
            }
            seen.set_item(key, ())?;
        }
        Err(broken("a dict lacks a key").into())
    }

    fn only_child(&mut self, node: NodeRef<'_>) -> Result<Bound<'py, PyAny>> {
        self.object(entry(node, 0).1)
    }

    fn fields(&mut self, node: NodeRef<'_>) -> Result<Bound<'py, PyDict>> {
        let dict = PyDict::new(self.py);
        let namespaces = self.namespaces && node.kind() == NodeKind::Struct;
        for (name, child) in node.fields().iter().zip(node.children()) {
            let name = PyString::intern(self.py, name);
            let step = || {
                if namespaces {
                    format!(".{}", text(&name))
                } else {
                    format!("[{}]", literal(&name))
                }
            };
            let object = self.below(child, step)?;
            dict.set_item(name, object)?;
        }
        if dict.len() != node.num_children() {
            return Err(self.equal_keys(node)?);
        }
        Ok(dict)
    }

    fn variant(
        &self,
        node: NodeRef<'_>,
        content: Result<Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyAny>> {
        let (dict, name) = (PyDict::new(self.py), variant_name(self.py, node));
        let content = content.map_err(|error| error.below(|| format!("[{}]", literal(&name))));
        dict.set_item(name, content?)?;
        Ok(dict.into_any())
    }

    fn take_moved(&mut self) -> Result<Bound<'py, PyAny>> {
        let index = self.leaves.next().and_then(|leaf| usize::try_from(leaf.as_u64()?).ok());
        match index.and_then(take_moved) {
            Some(array) => Ok(array.into_numpy(self.py)?),
            None => Err(Error::new(ErrorKind::Value, "an array was given up twice")),
        }
    }

    fn leaf(&mut self) -> Result<Bound<'py, PyAny>> {
        match self.leaves.next() {
            Some(leaf) => self.scalar(leaf),
            None => Err(Error::new(ErrorKind::Value, "a tree has too few leaves")),
        }
    }

    fn scalar(&self, leaf: Leaf) -> Result<Bound<'py, PyAny>> {
        let py = self.py;
        Ok(match leaf {
            Leaf::Bool(value) => PyBool::new(py, value).to_owned().into_any(),
            Leaf::I8(value) => PyInt::new(py, value).into_any(),
            Leaf::I16(value) => PyInt::new(py, value).into_any(),
            Leaf::I32(value) => PyInt::new(py, value).into_any(),
            Leaf::I64(value) => PyInt::new(py, value).into_any(),
            Leaf::U8(value) => PyInt::new(py, value).into_any(),
            Leaf::U16(value) => PyInt::new(py, value).into_any(),
            Leaf::U32(value) => PyInt::new(py, value).into_any(),
            Leaf::U64(value) => PyInt::new(py, value).into_any(),
            Leaf::I128(value) => PyInt::new(py, value.get()).into_any(),
            Leaf::U128(value) => PyInt::new(py, value.get()).into_any(),
            Leaf::F32(value) => PyFloat::new(py, value.into()).into_any(),
            Leaf::F64(value) => PyFloat::new(py, value).into_any(),
            Leaf::Char(value) => PyString::new(py, value.encode_utf8(&mut [0; 4])).into_any(),
            Leaf::Str(text) => PyString::new(py, &text).into_any(),
            Leaf::Bytes(bytes) => PyBytes::new(py, &bytes).into_any(),
            Leaf::Opaque(ref value) => match leaf.as_array() {
                Some(array) => to_numpy(py, array)?,
                None => self.value(value, self.is_key)?,
            },
            _ => py.None().into_bound(py),
        })
    }

    /// A key, or another value without arrays.
    fn value(&self, value: &Value, is_key: bool) -> Result<Bound<'py, PyAny>> {
        if let ([leaf], true) = (value.leaves().as_ref(), value.root().is_leaf()) {
            return self.scalar(leaf.clone());
        }
        let leaves: Vec<Leaf> = value.leaves().iter().cloned().collect();
        let mut builder = Builder {
            py: self.py,
            namespaces: self.namespaces,
            is_key,
            leaves: leaves.into_iter(),
        };
        builder.object(value.root())
    }
}

fn variant_name<'py>(py: Python<'py>, node: NodeRef<'_>) -> Bound<'py, PyString> {
    PyString::intern(py, node.variant().or_bug())
}

pub(crate) fn namespace<'py>(dict: &Bound<'py, PyDict>) -> Result<Bound<'py, PyAny>> {
    static NAMESPACE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let class = NAMESPACE.import(dict.py(), "types", "SimpleNamespace")?;
    Ok(class.call((), Some(dict))?)
}
