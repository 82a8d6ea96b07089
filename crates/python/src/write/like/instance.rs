//! A new object, as its class makes it.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyString, PyType};

use crate::error::Result;
use crate::read::class::{ClassAttributes, is_cached};
use crate::registered::{RegisteredNode, code, one_level};
use crate::write::like::plan::{Constructor, ObjectLike};

impl<'py> ObjectLike<'py> {
    /// A new object. The dict has the attributes in the order of the fields, without some that are optional.
    pub(crate) fn instance(&self, filled: Bound<'py, PyDict>) -> Result<Bound<'py, PyAny>> {
        let py = filled.py();
        match &self.make {
            Constructor::NamedTuple => {
                Ok(self.class.call_method1(intern!(py, "_make"), (filled.values(),))?)
            }
            Constructor::Namespace => Ok(self.class.call((), Some(&filled))?),
            Constructor::Init(listed) => self.initialised(listed, filled),
            Constructor::Registered { treedef, children, .. } => {
                let values = filled.values();
                let made = treedef.call_method1("unflatten", (values.get_slice(0, *children),))?;
                // Static fields that differ from the example.
                for (name, value) in filled.iter().skip(*children) {
                    set(&made, &name, &value)?;
                }
                Ok(made)
            }
            Constructor::New => {
                let made = self.class.call_method1(intern!(py, "__new__"), (&self.class,))?;
                for (name, value) in &filled {
                    set(&made, &name, &value)?;
                }
                Ok(made)
            }
        }
    }

    fn initialised(
        &self,
        listed: &ClassAttributes,
        filled: Bound<'py, PyDict>,
    ) -> Result<Bound<'py, PyAny>> {
        let py = filled.py();
        if listed.is_positional && filled.len() == self.fields.len() {
            return Ok(self.class.call1(filled.values().to_tuple())?);
        }
        if listed.is_direct {
            return Ok(self.class.call((), Some(&filled))?);
        }
        let arguments = PyDict::new(py);
        for (field, argument) in self.fields.iter().zip(&listed.arguments) {
            if let (Some(argument), Some(value)) = (argument, filled.get_item(&field.key)?) {
                arguments.set_item(argument, value)?;
            }
        }
        let made = self.class.call((), Some(&arguments))?;
        for (field, argument) in self.fields.iter().zip(&listed.arguments) {
            if argument.is_some() {
                continue;
            }
            match filled.get_item(&field.key)? {
                Some(value) => set(&made, &field.key, &value)?,
                None if listed.has_post_init && has(&made, &field.key)? => {}
                None => set(&made, &field.key, &field.example)?,
            }
        }
        Ok(made)
    }
}

fn has<'py>(object: &Bound<'py, PyAny>, name: &Bound<'py, PyAny>) -> Result<bool> {
    Ok(object.hasattr(name.cast::<PyString>().map_err(PyErr::from)?)?)
}

/// Sets an attribute, also of a frozen class: the object is still being made.
fn set<'py>(
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> Result<()> {
    static SET: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = object.py();
    let set = SET.get_or_try_init(py, || -> PyResult<_> {
        Ok(py.get_type::<PyAny>().getattr("__setattr__")?.unbind())
    })?;
    set.bind(py).call1((object, name, value))?;
    Ok(())
}

/// Gives a new container the attributes that the example has beside its elements.
pub(crate) fn with_attributes<'py>(
    made: Bound<'py, PyAny>,
    example: &Bound<'py, PyAny>,
) -> Result<Bound<'py, PyAny>> {
    let py = made.py();
    let Some(attributes) = example.getattr_opt(intern!(py, "__dict__"))? else { return Ok(made) };
    let class = example.get_type();
    for (name, value) in attributes.cast::<PyDict>().map_err(PyErr::from)? {
        if !is_cached(&class, name.cast().map_err(PyErr::from)?)? {
            set(&made, &name, &value)?;
        }
    }
    Ok(made)
}

/// The names of the attributes that are children, and the treedef.
type Children<'py> = (Vec<Bound<'py, PyAny>>, Bound<'py, PyAny>);

/// The attributes that are the children of an object of a class that is registered with JAX, and its treedef.
/// `None` if it is not registered, or its children are no attributes.
pub(crate) fn registered<'py>(
    example: &Bound<'py, PyAny>,
    names: &[Bound<'py, PyAny>],
) -> Result<Option<Children<'py>>> {
    let py = example.py();
    if !code(py)?.call_method1(intern!(py, "is_node"), (example,))?.is_truthy()? {
        return Ok(None);
    }
    let Some(RegisteredNode { names: known, children, treedef, .. }) = one_level(example)? else {
        return Ok(None);
    };
    if let Some(known) = known {
        let known = known.iter().map(|name| PyString::intern(py, name).into_any()).collect();
        return Ok(Some((known, treedef)));
    }
    let names = PyList::new(py, names)?;
    let found = code(py)?
        .call_method1(intern!(py, "attributes"), (treedef.clone(), children.len(), names))?;
    Ok(found.extract::<Option<Vec<_>>>()?.map(|names| (names, treedef)))
}

/// Whether objects of the class are a `SimpleNamespace`.
pub(crate) fn is_namespace(class: &Bound<'_, PyType>) -> Result<bool> {
    static NAMESPACE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    Ok(class.is(NAMESPACE.import(class.py(), "types", "SimpleNamespace")?))
}
