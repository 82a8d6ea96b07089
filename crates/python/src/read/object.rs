//! What an object of Python is: its entries, if it has some, and what an error calls it.

use std::rc::Rc;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple, PyType};

use crate::error::Result;
use crate::read::names::literal;
use crate::read::place::{Context, Step};

/// Names and values. The keys of a dict are copied first, because reading a value may run code that
/// changes the dict.
pub(crate) enum Entries<'py> {
    Items { keys: Bound<'py, PyList>, values: Bound<'py, PyList> },
    Attributes { names: Rc<[Py<PyString>]>, object: Bound<'py, PyAny> },
}

impl<'py> Entries<'py> {
    /// The entries of a mapping, a named tuple, or an object with attributes. `None` for all others.
    pub(crate) fn of(object: &Bound<'py, PyAny>, context: &Context<'py>) -> Result<Option<Self>> {
        if let Ok(dict) = object.cast::<PyDict>() {
            return Ok(Some(Entries::Items { keys: dict.keys(), values: dict.values() }));
        }
        let class = object.get_type();
        // A class is never freed while one of its instances is read.
        let key = class.as_ptr() as usize;
        if let Some(names) = context.attributes.borrow().get(&key) {
            let (names, object) = (names.clone(), object.clone());
            return Ok(Some(Entries::Attributes { names, object }));
        }
        if let Some(names) = declared(&class)? {
            context.attributes.borrow_mut().insert(key, names.clone());
            return Ok(Some(Entries::Attributes { names, object: object.clone() }));
        }
        if is_scalar(object) || is_sequence(object) {
            return Ok(None);
        }
        if let Ok(mapping) = object.cast::<PyMapping>() {
            let keys = mapping.keys()?;
            let values = PyList::empty(context.py);
            for key in &keys {
                values.append(mapping.get_item(key)?)?;
            }
            return Ok(Some(Entries::Items { keys, values }));
        }
        if !class.hasattr(intern!(context.py, "__dict__"))? || object.cast::<PyType>().is_ok() {
            return Ok(None);
        }
        // A `SimpleNamespace`, and any class without a list of its fields.
        let Ok(Ok(attributes)) =
            object.getattr(intern!(context.py, "__dict__")).map(|dict| dict.cast_into::<PyDict>())
        else {
            return Ok(None);
        };
        let names = attributes.keys().iter().filter_map(|name| name.cast_into().ok());
        let names = names.map(Bound::unbind).collect();
        Ok(Some(Entries::Attributes { names, object: object.clone() }))
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Entries::Items { keys, .. } => keys.len(),
            Entries::Attributes { names, .. } => names.len(),
        }
    }

    pub(crate) fn key(&self, index: usize, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        match self {
            Entries::Items { keys, .. } => Ok(keys.get_item(index)?),
            Entries::Attributes { names, .. } => {
                let name = names.get(index).map(|name| name.bind(py).clone().into_any());
                Ok(name.unwrap_or_else(|| py.None().into_bound(py)))
            }
        }
    }

    /// How a path leads to an entry.
    pub(crate) fn step<'a>(&self, key: &'a Bound<'py, PyAny>) -> Step<'a, 'py> {
        match self {
            Entries::Items { .. } => Step::Key(key),
            Entries::Attributes { .. } => Step::Attribute(key),
        }
    }

    pub(crate) fn value(&self, index: usize, key: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        match self {
            Entries::Items { values, .. } => Ok(values.get_item(index)?),
            Entries::Attributes { object, .. } => match key.cast::<PyString>() {
                Ok(name) => Ok(object.getattr(name)?),
                Err(error) => Err(PyErr::from(error).into()),
            },
        }
    }

    /// The keys, for an error.
    pub(crate) fn found(&self, py: Python<'py>) -> String {
        let keys = (0..self.len().min(MOST_KEYS)).filter_map(|index| self.key(index, py).ok());
        let mut keys: Vec<String> = keys.map(|key| literal(&key)).collect();
        if self.len() > MOST_KEYS {
            keys.push("…".to_owned());
        }
        if keys.is_empty() { "nothing".to_owned() } else { keys.join(", ") }
    }
}

/// The most keys that an error lists.
const MOST_KEYS: usize = 8;

/// The names that a class lists: of a named tuple, a dataclass or a class of attrs.
fn declared(class: &Bound<'_, PyType>) -> Result<Option<Rc<[Py<PyString>]>>> {
    let py = class.py();
    let listed = if class.is_subclass_of::<PyTuple>()? {
        match class.getattr_opt(intern!(py, "_fields"))? {
            Some(fields) => fields.try_iter()?.collect::<PyResult<Vec<_>>>()?,
            None => return Ok(None),
        }
    } else if class.hasattr(intern!(py, "__dataclass_fields__"))? {
        static FIELDS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let fields = FIELDS.import(py, "dataclasses", "fields")?.call1((class,))?;
        names(&fields)?
    } else if let Some(fields) = class.getattr_opt(intern!(py, "__attrs_attrs__"))? {
        names(&fields)?
    } else {
        return Ok(None);
    };
    let names: PyResult<Vec<_>> =
        listed.into_iter().map(|name| Ok(name.cast_into::<PyString>()?.unbind())).collect();
    Ok(Some(names?.into()))
}

fn names<'py>(fields: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    fields.try_iter()?.map(|field| field?.getattr(intern!(fields.py(), "name"))).collect()
}

pub(crate) fn is_scalar(object: &Bound<'_, PyAny>) -> bool {
    object.is_none()
        || object.is_instance_of::<PyFloat>()
        || object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyBytes>()
}

pub(crate) fn is_sequence(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>()
}

/// The name of a member of an `enum.Enum`.
pub(crate) fn member_name<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    static ENUM: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let class = ENUM.import(object.py(), "enum", "Enum").ok()?;
    object.is_instance(class).ok()?.then(|| object.getattr(intern!(object.py(), "name")).ok())?
}
