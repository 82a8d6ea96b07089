//! The entries of an object of Python, and its name in errors.

use std::sync::Arc;

use pyo3::exceptions::PyAttributeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBytes, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyString, PyTuple, PyType,
};

use treedef::__private::broken;

use crate::error::Result;
use crate::read::class::{AttributeSource, ClassAttributes, has_attribute, is_cached};
use crate::read::context::{ObjectPath, PathStep, ReadContext};
use crate::read::names::literal;

/// Names and values. The keys of a dict are copied first, because reading a value may run code that
/// changes the dict.
pub(crate) enum ObjectEntries<'py> {
    Items { keys: Bound<'py, PyList>, values: Bound<'py, PyList> },
    Attributes { names: Arc<[Py<PyString>]>, object: Bound<'py, PyAny> },
}

impl<'py> ObjectEntries<'py> {
    /// The entries of a mapping, a named tuple, or an object with attributes. `None` for all others.
    pub(crate) fn of(
        object: &Bound<'py, PyAny>,
        at: &ObjectPath<'_, 'py>,
        context: &ReadContext<'py>,
    ) -> Result<Option<Self>> {
        let py = object.py();
        if let Ok(dict) = object.cast::<PyDict>() {
            return Ok(Some(ObjectEntries::Items { keys: dict.keys(), values: dict.values() }));
        }
        if is_plain(object) {
            return Ok(None);
        }
        let class = object.get_type();
        let listed = ClassAttributes::of(&class)?;
        if listed.by != AttributeSource::Slots {
            let (names, object) = (listed.names.clone(), object.clone());
            return Ok(Some(ObjectEntries::Attributes { names, object }));
        }
        if is_scalar(object) || is_sequence(object) || listed.is_array {
            return Ok(None);
        }
        if is_mapping(object)? {
            let keys = context.list(object, at)?;
            let values = PyList::empty(py);
            for key in &keys {
                values.append(object.get_item(key)?)?;
            }
            return Ok(Some(ObjectEntries::Items { keys, values }));
        }
        if object.cast::<PyType>().is_ok() {
            return Ok(None);
        }
        // A `SimpleNamespace`, and any class without a list of its fields.
        let attributes = match object.getattr_opt(intern!(py, "__dict__"))? {
            Some(attributes) => attributes.cast_into::<PyDict>().ok(),
            None => None,
        };
        if attributes.is_none() && listed.names.is_empty() {
            return Ok(None);
        }
        let mut names = Vec::new();
        for name in listed.names.iter() {
            if object.hasattr(name.bind(py))? {
                names.push(name.clone_ref(py));
            }
        }
        for name in attributes.iter().flat_map(|attributes| attributes.keys()) {
            // Computed attributes are not entries.
            if let Ok(name) = name.cast_into::<PyString>()
                && !is_cached(&class, &name)?
            {
                names.push(name.unbind());
            }
        }
        Ok(Some(ObjectEntries::Attributes { names: names.into(), object: object.clone() }))
    }

    /// The attributes that a type requests, of an object whose attributes are defined by its class alone, such as a class in
    /// C or Rust.
    pub(crate) fn requested(
        object: &Bound<'py, PyAny>,
        requested: &[&str],
    ) -> Result<Option<Self>> {
        let class = object.get_type();
        if is_scalar(object)
            || is_sequence(object)
            || object.cast::<PyType>().is_ok()
            || ClassAttributes::of(&class)?.is_array
        {
            return Ok(None);
        }
        let (names, object) = (Arc::default(), object.clone());
        let entries =
            ObjectEntries::Attributes { names, object }.with_requested(requested, class.py())?;
        Ok((entries.len() > 0).then_some(entries))
    }

    /// Adds the attributes that a type requests and the object has by its class, such as properties.
    pub(crate) fn with_requested(self, requested: &[&str], py: Python<'py>) -> Result<Self> {
        let ObjectEntries::Attributes { names, object } = self else { return Ok(self) };
        let is_name =
            |name: &Py<PyString>, text: &str| name.bind(py).to_str().is_ok_and(|name| name == text);
        let is_all = requested.len() == names.len()
            && names.iter().zip(requested).all(|(name, requested)| is_name(name, requested));
        let mut more = Vec::new();
        if !is_all {
            let class = object.get_type();
            let listed = ClassAttributes::of(&class)?;
            for requested in requested {
                let name = PyString::intern(py, requested);
                // A slot that is listed and was not found has no value.
                let mut known = names.iter().chain(listed.names.iter());
                if !known.any(|name| is_name(name, requested)) && has_attribute(&class, &name)? {
                    more.push(name.unbind());
                }
            }
        }
        let names = if more.is_empty() {
            names
        } else {
            names.iter().map(|name| name.clone_ref(py)).chain(more).collect()
        };
        Ok(ObjectEntries::Attributes { names, object })
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            ObjectEntries::Items { keys, .. } => keys.len(),
            ObjectEntries::Attributes { names, .. } => names.len(),
        }
    }

    pub(crate) fn key(&self, index: usize, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        match self {
            ObjectEntries::Items { keys, .. } => Ok(keys.get_item(index)?),
            ObjectEntries::Attributes { names, .. } => {
                let name = names.get(index).ok_or_else(|| broken("an attribute has no name"))?;
                Ok(name.bind(py).clone().into_any())
            }
        }
    }

    /// How a path leads to an entry.
    pub(crate) fn step<'a>(&self, key: &'a Bound<'py, PyAny>) -> PathStep<'a, 'py> {
        match self {
            ObjectEntries::Items { .. } => PathStep::Key(key),
            ObjectEntries::Attributes { .. } => PathStep::Attribute(key),
        }
    }

    /// `None` for a listed attribute that is not set: the class sets it later, if at all.
    pub(crate) fn value(
        &self,
        index: usize,
        key: &Bound<'py, PyAny>,
    ) -> Result<Option<Bound<'py, PyAny>>> {
        match self {
            ObjectEntries::Items { values, .. } => Ok(Some(values.get_item(index)?)),
            ObjectEntries::Attributes { object, .. } => {
                let name = key.cast::<PyString>().map_err(PyErr::from)?;
                match object.getattr(name) {
                    Ok(value) => Ok(Some(value)),
                    Err(error) if error.is_instance_of::<PyAttributeError>(key.py()) => {
                        if is_unset(&object.get_type(), name)? {
                            Ok(None)
                        } else {
                            Err(error.into())
                        }
                    }
                    Err(error) => Err(error.into()),
                }
            }
        }
    }

    /// The keys, for an error.
    pub(crate) fn found(&self, py: Python<'py>) -> String {
        let is_set = |key: &Bound<'py, PyAny>| match (self, key.cast::<PyString>()) {
            (ObjectEntries::Attributes { object, .. }, Ok(name)) => {
                object.hasattr(name).unwrap_or(true)
            }
            _ => true,
        };
        let keys = (0..self.len().min(MOST_KEYS)).filter_map(|index| self.key(index, py).ok());
        let mut keys: Vec<String> = keys.filter(is_set).map(|key| literal(&key)).collect();
        if self.len() > MOST_KEYS {
            keys.push("…".to_owned());
        }
        if keys.is_empty() { "nothing".to_owned() } else { keys.join(", ") }
    }
}

/// Whether an attribute that an object lacks has no code in its class that could have raised: at most a slot.
fn is_unset(class: &Bound<'_, PyType>, name: &Bound<'_, PyString>) -> Result<bool> {
    static SLOT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    match class.getattr_opt(name)? {
        Some(value) => {
            Ok(value.is_instance(SLOT.import(class.py(), "types", "MemberDescriptorType")?)?)
        }
        None => Ok(true),
    }
}

/// The most keys that an error lists.
pub(crate) const MOST_KEYS: usize = 8;

/// Whether it is of a class of Python that has no entries, which most objects are.
fn is_plain(object: &Bound<'_, PyAny>) -> bool {
    object.is_exact_instance_of::<PyFloat>()
        || object.is_exact_instance_of::<PyInt>()
        || object.is_exact_instance_of::<PyString>()
        || object.is_exact_instance_of::<PyList>()
        || object.is_exact_instance_of::<PyTuple>()
        || object.is_none()
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
pub(crate) fn member_name<'py>(object: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyAny>>> {
    static ENUM: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    if object.is_exact_instance_of::<PyString>() {
        return Ok(None);
    }
    let class = ENUM.import(object.py(), "enum", "Enum")?;
    let is_member = object.get_type().is_subclass(class)?;
    is_member.then(|| Ok(object.getattr(intern!(object.py(), "name"))?)).transpose()
}

/// Whether it is a `deque`.
pub(crate) fn is_deque(object: &Bound<'_, PyAny>) -> Result<bool> {
    static DEQUE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    Ok(object.get_type().is_subclass(DEQUE.import(object.py(), "collections", "deque")?)?)
}

/// Whether its class is a mapping: an object may answer anything, and PyO3 prints its exceptions.
fn is_mapping(object: &Bound<'_, PyAny>) -> Result<bool> {
    static MAPPING: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    Ok(object.get_type().is_subclass(MAPPING.import(
        object.py(),
        "collections.abc",
        "Mapping",
    )?)?)
}

/// A set, a `deque`, a range. Texts and maps are no sequences.
pub(crate) fn is_iterable(object: &Bound<'_, PyAny>) -> Result<bool> {
    static SEQUENCE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    if is_scalar(object) || object.is_instance_of::<PyDict>() {
        return Ok(false);
    }
    let sequence = SEQUENCE.import(object.py(), "collections.abc", "Sequence")?;
    Ok(object.is_instance_of::<PySet>()
        || object.is_instance_of::<PyFrozenSet>()
        || object.get_type().is_subclass(sequence)?
        || is_deque(object)?)
}
