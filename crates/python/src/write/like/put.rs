//! From a value as plain objects to one like the example.

use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBytes, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PyRange, PySet, PyString, PyTuple, PyType,
};

use crate::error::{Error, ErrorKind, Result};
use crate::read::class::has_attribute;
use crate::read::context::{ObjectPath, PathStep, ReadContext};
use crate::read::names::{describe, literal};
use crate::read::object::{MOST_KEYS, ObjectEntries, is_sequence};
use crate::write::like::instance::with_attributes;
use crate::write::like::plan::{
    DictLike, FieldLike, ObjectLike, Plan, SequenceLike, SetLike, is_same_key,
};
use crate::write::like::scalar::ScalarKind;

/// Converts an object of dicts, lists, tuples and arrays of numpy to the classes of the example.
pub(crate) fn like<'py>(
    value: Bound<'py, PyAny>,
    example: &Bound<'py, PyAny>,
    at: &ObjectPath<'_, 'py>,
    context: &ReadContext<'py>,
) -> Result<Bound<'py, PyAny>> {
    Plan::of(example, at, context)?.put(value, at, context)
}

impl<'py> Plan<'py> {
    pub(crate) fn put(
        &self,
        value: Bound<'py, PyAny>,
        at: &ObjectPath<'_, 'py>,
        context: &ReadContext<'py>,
    ) -> Result<Bound<'py, PyAny>> {
        match self {
            Plan::Scalar(kind, None) if kind.is_of(&value) => Ok(value),
            _ => self.convert(value, at, context).map_err(|error| error.at(|| at.path())),
        }
    }

    fn convert(
        &self,
        value: Bound<'py, PyAny>,
        at: &ObjectPath<'_, 'py>,
        context: &ReadContext<'py>,
    ) -> Result<Bound<'py, PyAny>> {
        if value.is_none() {
            return Ok(value);
        }
        match self {
            Plan::Any => Ok(value),
            Plan::Scalar(kind, None) => kind.put(value),
            Plan::Scalar(kind, Some(class)) => Ok(class.call1((kind.put(value)?,))?),
            Plan::Member(class) => member(class, value),
            Plan::Bytes(class) => bytes(class, value),
            Plan::Array(array) => array.put(value),
            Plan::Dict(dict) => dict.put(value, at, context),
            Plan::Object(object) => object.put(value, at, context),
            Plan::Sequence(sequence) => sequence.put(value, at, context),
            Plan::Set(set) => set.put(value, at, context),
            Plan::Range(example) => range(example, value),
            Plan::Later(later) => {
                let (example, plan) = &**later;
                let plan = match plan.get() {
                    Some(plan) => plan,
                    None => {
                        let entries =
                            ObjectEntries::of(example, at, context)?.ok_or_else(|| {
                                Error::expected("an object with attributes", describe(example))
                            })?;
                        let read = Plan::object(example, &entries, at, context)?;
                        plan.get_or_init(|| read)
                    }
                };
                plan.put(value, at, context)
            }
            Plan::Kept(example) => Err(mismatch(&describe(example), &value)),
        }
    }
}

#[cold]
fn mismatch(expected: &str, value: &Bound<'_, PyAny>) -> Error {
    Error::expected(format_args!("{expected} as in the example"), describe(value))
}

/// The member of an `Enum` with this name, or this value. Another variant may have content.
fn member<'py>(class: &Bound<'py, PyType>, value: Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    if value.is_instance_of::<PyString>() {
        Ok(class.as_any().get_item(value)?)
    } else if value.is_instance_of::<PyFloat>() && class.is_subclass_of::<PyInt>()? {
        Ok(class.call1((ScalarKind::Int.put(value)?,))?)
    } else if value.is_instance_of::<PyInt>()
        || value.is_instance_of::<PyFloat>() && class.is_subclass_of::<PyFloat>()?
    {
        Ok(class.call1((value,))?)
    } else if value.cast::<PyDict>().is_ok_and(|dict| dict.len() == 1) {
        Ok(value)
    } else {
        Err(mismatch(&describe_class(class), &value))
    }
}

fn describe_class(class: &Bound<'_, PyType>) -> String {
    class.name().map_or_else(|_| "a member".to_owned(), |name| name.to_string_lossy().into_owned())
}

fn bytes<'py>(class: &Bound<'py, PyType>, value: Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    let is_exact = class.is(class.py().get_type::<PyBytes>());
    match value.cast::<PyBytes>() {
        Ok(_) if is_exact => Ok(value),
        Ok(_) => Ok(class.call1((value,))?),
        // An empty sequence does not show the type of its elements.
        Err(_) if is_sequence(&value) && value.len()? == 0 => Ok(class.call0()?),
        Err(_) => {
            let is_u8 = |array: &Bound<'py, PyUntypedArray>| {
                array.ndim() == 1 && array.dtype().kind() == b'u' && array.dtype().itemsize() == 1
            };
            if value.cast::<PyUntypedArray>().is_ok_and(is_u8) {
                Ok(class.call1((value.call_method0(intern!(value.py(), "tobytes"))?,))?)
            } else {
                Err(mismatch(&describe_class(class), &value))
            }
        }
    }
}

/// The list that a sequence, or an array of numpy, is.
fn list<'py>(value: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyList>>> {
    if let Ok(list) = value.cast::<PyList>() {
        return Ok(Some(list.clone()));
    }
    if let Ok(tuple) = value.cast::<PyTuple>() {
        return Ok(Some(tuple.to_list()));
    }
    match value.cast::<PyUntypedArray>() {
        Ok(array) => {
            let list = array.call_method0(intern!(value.py(), "tolist"))?;
            Ok(list.cast_into().ok())
        }
        Err(_) => Ok(None),
    }
}

fn range<'py>(example: &Bound<'py, PyAny>, value: Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    let found = list(&value)?.ok_or_else(|| mismatch("range", &value))?;
    let numbers = PyList::empty(value.py());
    for number in found {
        numbers.append(ScalarKind::Int.put(number)?)?;
    }
    let item = |index| -> PyResult<i64> { numbers.get_item(index)?.extract() };
    let length = numbers.len();
    let made = match length {
        0 => Some((0, 0, 1)),
        1 => item(0).ok().and_then(|start| Some((start, start.checked_add(1)?, 1))),
        _ => item(0).ok().zip(item(1).ok()).and_then(|(start, next)| {
            let step = next.checked_sub(start)?;
            let all = step.checked_mul(i64::try_from(length).ok()?)?;
            Some((start, start.checked_add(all)?, step))
        }),
    };
    let py = value.py();
    // The range of an example may be longer than memory.
    if example.len().is_ok_and(|found| found == length)
        && numbers.eq(py.get_type::<PyList>().call1((example,))?)?
    {
        return Ok(example.clone());
    }
    if let Some((start, end, step)) = made.filter(|(_, _, step)| *step != 0) {
        let made = py.get_type::<PyRange>().call1((start, end, step))?;
        if numbers.eq(py.get_type::<PyList>().call1((&made,))?)? {
            return Ok(made);
        }
    }
    let message = format_args!(
        "expected range as in the example, found {}, whose numbers are at no equal distances",
        describe(&value)
    );
    Err(Error::new(ErrorKind::Value, message))
}

/// A key or an element of a set: its lists are tuples, because they have to be hashable.
fn hashable<'py>(
    value: Bound<'py, PyAny>,
    at: &ObjectPath<'_, 'py>,
    context: &ReadContext<'py>,
) -> Result<Bound<'py, PyAny>> {
    match list(&value)? {
        Some(items) => {
            context.enter(at, items.len())?;
            let items = items.iter().enumerate();
            let items = items
                .map(|(index, item)| hashable(item, &at.child(PathStep::Item(index)), context));
            Ok(PyTuple::new(value.py(), items.collect::<Result<Vec<_>>>()?)?.into_any())
        }
        None => Ok(value),
    }
}

impl<'py> SetLike<'py> {
    fn put(
        &self,
        value: Bound<'py, PyAny>,
        at: &ObjectPath<'_, 'py>,
        context: &ReadContext<'py>,
    ) -> Result<Bound<'py, PyAny>> {
        let items = list(&value)?.ok_or_else(|| mismatch(&describe_class(&self.class), &value))?;
        context.enter(at, items.len())?;
        for index in 0..items.len() {
            let at = at.child(PathStep::Item(index));
            let item = self.element.put(items.get_item(index)?, &at, context)?;
            items.set_item(index, hashable(item, &at, context)?)?;
        }
        let (py, length) = (value.py(), items.len());
        let made = if self.class.is(py.get_type::<PySet>()) {
            PySet::new(py, items)?.into_any()
        } else if self.class.is(py.get_type::<PyFrozenSet>()) {
            PyFrozenSet::new(py, items)?.into_any()
        } else {
            self.class.call1((items,))?
        };
        match made.len()? {
            found if found == length => Ok(made),
            found => {
                let message = format_args!(
                    "expected {length} elements that differ, for {} as in the example, found {found}",
                    describe_class(&self.class)
                );
                Err(Error::new(ErrorKind::Value, message))
            }
        }
    }
}

impl<'py> SequenceLike<'py> {
    fn put(
        &self,
        value: Bound<'py, PyAny>,
        at: &ObjectPath<'_, 'py>,
        context: &ReadContext<'py>,
    ) -> Result<Bound<'py, PyAny>> {
        context.enter(at, self.length)?;
        let array = value.cast::<PyUntypedArray>().ok();
        // Numbers of numpy become Python's, unless the example has arrays in their place.
        let items = match array {
            Some(array) if array.ndim() > 0 && self.has_arrays() => {
                PyList::new(value.py(), array.try_iter()?.collect::<PyResult<Vec<_>>>()?)?
            }
            _ => list(&value)?.ok_or_else(|| self.mismatch(&value))?,
        };
        if items.len() != self.length {
            return Err(self.mismatch(&value));
        }
        if !array.is_some_and(|array| self.is_of_numbers(array)) {
            self.put_items(&items, at, context)?;
        }
        self.instance(items)
    }

    /// Whether the array has the numbers of all elements, so that none is converted.
    fn is_of_numbers(&self, array: &Bound<'py, PyUntypedArray>) -> bool {
        let kind = match self.runs.as_slice() {
            [(Plan::Scalar(kind, None), _)] if array.ndim() == 1 => *kind,
            _ => return false,
        };
        match array.dtype().kind() {
            b'f' => kind == ScalarKind::Float,
            b'i' | b'u' => kind == ScalarKind::Int,
            b'b' => kind == ScalarKind::Bool,
            _ => false,
        }
    }

    fn has_arrays(&self) -> bool {
        self.runs.iter().any(|(plan, _)| match plan {
            Plan::Sequence(sequence) => sequence.has_arrays(),
            plan => plan.is_array(),
        })
    }

    fn put_items(
        &self,
        items: &Bound<'py, PyList>,
        at: &ObjectPath<'_, 'py>,
        context: &ReadContext<'py>,
    ) -> Result<()> {
        let mut index = 0;
        for (plan, count) in &self.runs {
            for _ in 0..*count {
                let old = items.get_item(index)?;
                let new = plan.put(old.clone(), &at.child(PathStep::Item(index)), context)?;
                if !new.is(&old) {
                    items.set_item(index, new)?;
                }
                index += 1; // at most the length
            }
        }
        Ok(())
    }

    fn instance(&self, items: Bound<'py, PyList>) -> Result<Bound<'py, PyAny>> {
        let py = items.py();
        if self.class.is(py.get_type::<PyList>()) {
            return Ok(items.into_any());
        }
        if self.class.is(py.get_type::<PyTuple>()) {
            return Ok(items.to_tuple().into_any());
        }
        let made = match self.example.getattr_opt(intern!(py, "maxlen"))? {
            Some(most) => self.class.call1((items, most))?,
            None => self.class.call1((items,))?,
        };
        with_attributes(made, &self.example)
    }

    #[cold]
    fn mismatch(&self, value: &Bound<'py, PyAny>) -> Error {
        let found = describe(&self.example);
        let is_counted = found.contains(" of ");
        let length = if is_counted { String::new() } else { format!(" of {}", self.length) };
        mismatch(&format!("{found}{length}"), value)
    }
}

impl<'py> DictLike<'py> {
    fn put(
        &self,
        value: Bound<'py, PyAny>,
        at: &ObjectPath<'_, 'py>,
        context: &ReadContext<'py>,
    ) -> Result<Bound<'py, PyAny>> {
        static DEFAULT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let (py, example) = (value.py(), &self.example);
        let value = match value.cast_into::<PyDict>() {
            Ok(value) => value,
            Err(error) => {
                let value = error.into_inner();
                // The name of a variant, where the variant of the example has content.
                let is_variant = value.is_instance_of::<PyString>() && self.fields.len() == 1;
                let found = || mismatch(&describe(example), &value);
                return if is_variant { Ok(value) } else { Err(found()) };
            }
        };
        let filled = fill(value, &self.fields, at, false, context, |_| Ok(false))?;
        if example.is_exact_instance_of::<PyDict>() {
            return Ok(filled.into_any());
        }
        let class = example.get_type();
        let made = if example.is_instance(DEFAULT.import(py, "collections", "defaultdict")?)? {
            class.call1((example.getattr(intern!(py, "default_factory"))?, filled))?
        } else {
            class.call1((filled,))?
        };
        with_attributes(made, example)
    }
}

impl<'py> ObjectLike<'py> {
    fn put(
        &self,
        value: Bound<'py, PyAny>,
        at: &ObjectPath<'_, 'py>,
        context: &ReadContext<'py>,
    ) -> Result<Bound<'py, PyAny>> {
        let filled = match value.cast_into::<PyDict>() {
            Ok(value) => {
                // Attributes that the class computes are not set.
                let is_computed = |key: &Bound<'py, PyAny>| {
                    key.cast().map_or(Ok(false), |name| has_attribute(&self.class, name))
                };
                fill(value, &self.fields, at, true, context, is_computed)?
            }
            // A tuple in Rust may be a named tuple in Python.
            Err(error) => self.tuple(error.into_inner(), at, context)?,
        };
        self.instance(filled)
    }

    fn tuple(
        &self,
        value: Bound<'py, PyAny>,
        at: &ObjectPath<'_, 'py>,
        context: &ReadContext<'py>,
    ) -> Result<Bound<'py, PyDict>> {
        let items = match (list(&value)?, self.example.is_instance_of::<PyTuple>()) {
            (Some(items), true) if items.len() == self.fields.len() => items,
            _ => return Err(mismatch(&describe(&self.example), &value)),
        };
        context.enter(at, items.len())?;
        let filled = PyDict::new(value.py());
        for (index, field) in self.fields.iter().enumerate() {
            let item = items.get_item(index)?;
            let at = at.child(PathStep::Item(index));
            filled.set_item(&field.key, field.plan.put(item, &at, context)?)?;
        }
        Ok(filled)
    }
}

/// The entries of the value in the order of the fields, each like its example.
fn fill<'py>(
    value: Bound<'py, PyDict>,
    fields: &[FieldLike<'py>],
    at: &ObjectPath<'_, 'py>,
    is_object: bool,
    context: &ReadContext<'py>,
    is_computed: impl Fn(&Bound<'py, PyAny>) -> Result<bool>,
) -> Result<Bound<'py, PyDict>> {
    context.enter(at, fields.len())?;
    let py = value.py();
    if value.len() == fields.len()
        && let Some(changed) = changed(&value, fields)
    {
        // It is filled in place.
        for (old, field) in changed {
            let new = field.plan.put(old.clone(), &at.child(field.step(is_object)), context)?;
            if !new.is(&old) {
                value.set_item(&field.key, new)?;
            }
        }
        return Ok(value);
    }
    let filled = PyDict::new(py);
    let mut taken = 0;
    for field in fields {
        let new = match value.get_item(&field.key)? {
            Some(new) => {
                taken += 1; // at most the fields
                field.plan.put(new, &at.child(field.step(is_object)), context)?
            }
            None if field.is_optional => continue,
            None if !field.plan.has_numbers() => field.example.clone(),
            None if field.has_nothing(at, context)? => field.example.clone(),
            None => {
                let found = describe(&field.example);
                let message = format_args!("the value has none, the example has {found}");
                return Err(Error::new(ErrorKind::Key, message)
                    .at(|| at.child(field.step(is_object)).path()));
            }
        };
        filled.set_item(&field.key, new)?;
    }
    if taken < value.len() {
        for key in value.keys() {
            if !filled.contains(&key)? && !is_computed(&key)? {
                let message =
                    format_args!("the example lacks {}, found {}", literal(&key), keys(fields));
                return Err(Error::new(ErrorKind::Key, message));
            }
        }
    }
    Ok(filled)
}

/// A value, and its plan.
type Changed<'a, 'py> = (Bound<'py, PyAny>, &'a FieldLike<'py>);

/// The values that are not yet like their fields. `None` if the keys are others, or in another order.
fn changed<'a, 'py>(
    value: &Bound<'py, PyDict>,
    fields: &'a [FieldLike<'py>],
) -> Option<Vec<Changed<'a, 'py>>> {
    let mut changed = Vec::new();
    for ((key, old), field) in value.iter().zip(fields) {
        if !is_same_key(&key, &field.key) {
            return None;
        }
        if !field.plan.is_put(&old) {
            changed.push((old, field));
        }
    }
    Some(changed)
}

/// The keys of the example, for an error.
fn keys(fields: &[FieldLike<'_>]) -> String {
    let keys = fields.iter().take(MOST_KEYS).map(|field| literal(&field.key));
    let more = (fields.len() > MOST_KEYS).then(|| "…".to_owned());
    let keys: Vec<String> = keys.chain(more).collect();
    if keys.is_empty() { "nothing".to_owned() } else { keys.join(", ") }
}
