//! The attributes that a class lists, found once for each class.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use numpy::PyUntypedArray;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple, PyType, PyWeakrefMethods, PyWeakrefReference};

use crate::error::Result;

/// Where a class lists its attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttributeSource {
    NamedTuple,
    Dataclass,
    Attrs,
    /// It lists at most its `__slots__`. An instance may have more in its `__dict__`.
    Slots,
}

/// The attributes that a class lists.
pub(crate) struct ClassAttributes {
    pub(crate) by: AttributeSource,
    pub(crate) names: Arc<[Py<PyString>]>,
    /// For each name, the argument of `__init__`. `None` where that has none.
    pub(crate) arguments: Vec<Option<Py<PyString>>>,
    /// Whether the arguments have the names of the attributes.
    pub(crate) is_direct: bool,
    /// Whether `__init__` has these attributes as positional arguments, in this order.
    pub(crate) is_positional: bool,
    /// Whether its objects are arrays, whose attributes are not read.
    pub(crate) is_array: bool,
    /// Whether code of the class goes on where the generated `__init__` ends.
    pub(crate) has_post_init: bool,
}

/// By address. The reference shows whether it is still the same class.
type KnownClasses = HashMap<usize, (Py<PyWeakrefReference>, Arc<ClassAttributes>)>;

static KNOWN: Mutex<Option<KnownClasses>> = Mutex::new(None);

/// Above this number, the entries of dropped classes are removed.
const MOST_KNOWN: usize = 1 << 10;

impl ClassAttributes {
    pub(crate) fn of(class: &Bound<'_, PyType>) -> Result<Arc<Self>> {
        let py = class.py();
        let key = class.as_ptr() as usize;
        // No code of Python runs while it is locked.
        let known =
            KNOWN.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(|known| {
                let (reference, listed) = known.get(&key)?;
                let is_same = reference.bind(py).upgrade().is_some_and(|found| found.is(class));
                is_same.then(|| listed.clone())
            });
        if let Some(listed) = known {
            return Ok(listed);
        }
        let listed = Arc::new(ClassAttributes::read(class)?);
        let reference = PyWeakrefReference::new(class)?.unbind();
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_default();
        if known.len() >= MOST_KNOWN {
            known.retain(|_, (reference, _)| reference.bind(py).upgrade().is_some());
        }
        known.insert(key, (reference, listed.clone()));
        Ok(listed)
    }

    fn read(class: &Bound<'_, PyType>) -> Result<Self> {
        let py = class.py();
        if class.is_subclass_of::<PyTuple>()?
            && let Some(fields) = class.getattr_opt(intern!(py, "_fields"))?
        {
            let names = fields.try_iter()?.map(|name| Ok(name?.cast_into::<PyString>()?.unbind()));
            return ClassAttributes::new(
                AttributeSource::NamedTuple,
                names.collect::<PyResult<_>>()?,
                Vec::new(),
            );
        }
        if class.hasattr(intern!(py, "__dataclass_fields__"))? {
            static FIELDS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
            let fields = FIELDS.import(py, "dataclasses", "fields")?.call1((class,))?;
            let has_post_init = class.hasattr(intern!(py, "__post_init__"))?;
            let listed = ClassAttributes::of_fields(AttributeSource::Dataclass, &fields)?;
            let is_positional = listed.is_direct && takes_by_position(class, &listed.names)?;
            return Ok(ClassAttributes { has_post_init, is_positional, ..listed });
        }
        if let Some(fields) = class.getattr_opt(intern!(py, "__attrs_attrs__"))? {
            let has_post_init = class.hasattr(intern!(py, "__attrs_post_init__"))?;
            let listed = ClassAttributes::of_fields(AttributeSource::Attrs, &fields)?;
            let is_positional = listed.is_direct && takes_by_position(class, &listed.names)?;
            return Ok(ClassAttributes { has_post_init, is_positional, ..listed });
        }
        let is_array = class.is_subclass_of::<PyUntypedArray>()?
            || class.hasattr(intern!(py, "__dlpack__"))?;
        let listed = ClassAttributes::new(AttributeSource::Slots, slots(class)?, Vec::new())?;
        Ok(ClassAttributes { is_array, ..listed })
    }

    fn new(
        by: AttributeSource,
        names: Vec<Py<PyString>>,
        arguments: Vec<Option<Py<PyString>>>,
    ) -> Result<Self> {
        let is_same = |(name, argument): (&Py<PyString>, &Option<Py<PyString>>)| {
            argument.as_ref().is_some_and(|argument| argument.is(name))
        };
        let is_direct = names.len() == arguments.len() && names.iter().zip(&arguments).all(is_same);
        Ok(ClassAttributes {
            by,
            names: names.into(),
            arguments,
            is_direct,
            is_positional: false,
            is_array: false,
            has_post_init: false,
        })
    }

    /// The fields of a dataclass, or of a class of attrs.
    fn of_fields(by: AttributeSource, fields: &Bound<'_, PyAny>) -> Result<Self> {
        let py = fields.py();
        let (mut names, mut arguments) = (Vec::new(), Vec::new());
        for field in fields.try_iter()? {
            let field = field?;
            let text = |name| field.getattr(name)?.cast_into::<PyString>().map_err(PyErr::from);
            let name = text(intern!(py, "name"))?;
            let argument = match by {
                AttributeSource::Attrs => text(intern!(py, "alias"))?,
                _ => name.clone(),
            };
            let argument = if argument.as_any().eq(&name)? { name.clone() } else { argument };
            let is_init = field.getattr(intern!(py, "init"))?.is_truthy()?;
            names.push(name.unbind());
            arguments.push(is_init.then(|| argument.unbind()));
        }
        ClassAttributes::new(by, names, arguments)
    }
}

/// Whether `__init__` is a function whose parameters have these names, in this order.
fn takes_by_position(class: &Bound<'_, PyType>, names: &[Py<PyString>]) -> Result<bool> {
    let py = class.py();
    let init = class.getattr(intern!(py, "__init__"))?;
    let Some(code) = init.getattr_opt(intern!(py, "__code__"))? else { return Ok(false) };
    let count = code.getattr(intern!(py, "co_argcount"))?.extract::<usize>()?;
    let variables = code.getattr(intern!(py, "co_varnames"))?.cast_into::<PyTuple>();
    let parameters = variables.map_err(PyErr::from)?.get_slice(1, count);
    Ok(count == names.len() + 1 && parameters.eq(PyTuple::new(py, names)?)?) // names in memory
}

/// The `__slots__` of a class and of those it inherits from.
fn slots(class: &Bound<'_, PyType>) -> Result<Vec<Py<PyString>>> {
    let py = class.py();
    let mut names = Vec::new();
    for class in class.mro().iter().rev() {
        let class = class.cast_into::<PyType>().map_err(PyErr::from)?;
        let own = class.getattr(intern!(py, "__dict__"))?;
        if !own.contains(intern!(py, "__slots__"))? {
            continue;
        }
        let slots = own.get_item(intern!(py, "__slots__"))?;
        let slots = match slots.cast_into::<PyString>() {
            Ok(name) => vec![name],
            Err(error) => error
                .into_inner()
                .try_iter()?
                .map(|name| Ok(name?.cast_into::<PyString>()?))
                .collect::<PyResult<Vec<_>>>()?,
        };
        for name in slots {
            let text = name.to_str()?;
            let is_mangled = text.starts_with("__") && !text.ends_with("__");
            if is_mangled {
                let class = class.name()?;
                let class = class.to_str()?.trim_start_matches('_');
                names.push(PyString::intern(py, &format!("_{class}{text}")).unbind());
            } else if text != "__dict__" && text != "__weakref__" {
                names.push(name.unbind());
            }
        }
    }
    Ok(names)
}

/// Whether the class computes the attribute of this name once, and keeps it in the `__dict__`.
pub(crate) fn is_cached(class: &Bound<'_, PyType>, name: &Bound<'_, PyString>) -> Result<bool> {
    static CACHED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    match class.getattr_opt(name)? {
        Some(value) => {
            Ok(value.is_instance(CACHED.import(class.py(), "functools", "cached_property")?)?)
        }
        None => Ok(false),
    }
}

/// Whether instances have an attribute by their class: a property, a slot, a constant.
pub(crate) fn has_attribute(class: &Bound<'_, PyType>, name: &Bound<'_, PyString>) -> Result<bool> {
    Ok(class.getattr_opt(name)?.is_some_and(|value| !value.is_callable()))
}
