//! All numbers of a pytree as one vector.

use numpy::{PyArray1, PyArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use treedef::Limits;

use crate::error::{Error, ErrorKind, Result};
use crate::flat::flatten::LeafWalk;
use crate::flat::rules::Rules;
use crate::flat::treedef::PyTreeDef;
use crate::read::array::{self, as_array, is_array};
use crate::read::context::{ObjectDeserializer, ObjectPath, ReadContext, UnusedKeys};
use crate::read::names::describe;
use crate::read::nd_array::Number;
use crate::read::object::ObjectEntries;
use crate::read::reader::Reader;
use crate::write::like::like;

/// All numbers of a pytree whose structure Rust does not know, as one vector, with the structure: as
/// `jax.flatten_util.ravel_pytree`. The leaves come in the order of the rules, and the numbers of an
/// array row by row. A complex number is two.
///
/// A function that takes such a vector, an optimiser or a sampler, so works on any model.
/// [`flat_to_python`] is the way back.
///
/// # Errors
///
/// Returns an error with the path when a leaf is no number or array of the type. [`Reader::read_flat`]
/// has options, among them to convert numbers.
///
/// ```
/// use pyo3::prelude::*;
/// use treedef_python::{Rules, flat_from_python, flat_to_python};
///
/// Python::attach(|py| {
///     let text = c"{'w': __import__('numpy').ones((2, 2)), 'b': [0.5, None]}";
///     let tree = py.eval(text, None, None)?;
///     let (mut x, treedef) = flat_from_python::<f64>(&tree, Rules::Jax)?;
///     assert_eq!(x, [0.5, 1.0, 1.0, 1.0, 1.0]);
///     assert_eq!(treedef.treedef().to_string(), r#"{"b": [*, None], "w": *}"#);
///
///     x.iter_mut().for_each(|x| *x *= 2.0);
///     let doubled = flat_to_python(py, &x, &tree, Rules::Jax)?;
///     let text = doubled.to_string().replace('\n', "");
///     assert_eq!(text, "{'b': [1.0, None], 'w': array([[2., 2.],       [2., 2.]])}");
///     Ok::<_, PyErr>(())
/// })
/// # .unwrap();
/// ```
pub fn flat_from_python<T: Number + DeserializeOwned>(
    object: &Bound<'_, PyAny>,
    rules: Rules,
) -> Result<(Vec<T>, PyTreeDef)> {
    Reader::new().read_flat(object, rules)
}

impl Reader {
    /// Reads all numbers of a pytree: [`flat_from_python`] with the options of the reader.
    ///
    /// # Errors
    ///
    /// As [`flat_from_python`].
    ///
    /// ```
    /// use pyo3::prelude::*;
    /// use treedef_python::{Reader, Rules};
    ///
    /// Python::attach(|py| {
    ///     let tree = py.eval(c"[1, __import__('numpy').float32(2)]", None, None)?;
    ///     let error = Reader::new().name("x").read_flat::<f64>(&tree, Rules::Jax).unwrap_err();
    ///     let text = "x[1]: expected f64, found float32[] (`Reader::convert_numbers` converts)";
    ///     assert_eq!(error.to_string(), text);
    ///     let reader = Reader::new().convert_numbers(true);
    ///     assert_eq!(reader.read_flat::<f64>(&tree, Rules::Jax)?.0, [1.0, 2.0]);
    ///     Ok::<_, PyErr>(())
    /// })
    /// # .unwrap();
    /// ```
    pub fn read_flat<T: Number + DeserializeOwned>(
        &self,
        object: &Bound<'_, PyAny>,
        rules: Rules,
    ) -> Result<(Vec<T>, PyTreeDef)> {
        let (context, at) = (self.context(object.py()), self.root());
        let mut numbers = Vec::new();
        let (treedef, classes) = LeafWalk::flatten(object, &at, &context, rules, |object, at| {
            read(ObjectDeserializer { object, at, context: &context }, &mut numbers)
        })?;
        Ok((numbers, PyTreeDef::new(treedef, classes, rules)))
    }
}

/// Appends the numbers of a leaf.
fn read<T: Number + DeserializeOwned>(
    leaf: ObjectDeserializer<'_, '_>,
    numbers: &mut Vec<T>,
) -> Result<()> {
    if !is_plain_number(leaf.object)
        && let Some(array) = leaf.array()?
    {
        if let Some(found) = T::of(array.numbers()?) {
            numbers.extend_from_slice(&found);
            return Ok(());
        }
        if !array.shape.is_empty() {
            let length = [array.shape.iter().product()];
            let row = leaf.as_shaped(&array, &length, |row| Vec::deserialize(row));
            return row.map(|mut row| numbers.append(&mut row));
        }
    }
    if leaf.object.is_instance_of::<PyComplex>() {
        let (real, imaginary): (T, T) = Deserialize::deserialize(leaf)?;
        numbers.extend([real, imaginary]);
    } else {
        numbers.push(T::deserialize(leaf).map_err(|error| explain(error, leaf))?);
    }
    Ok(())
}

/// Says why an object with fields is a leaf.
fn explain(error: Error, leaf: ObjectDeserializer<'_, '_>) -> Error {
    match ObjectEntries::of(leaf.object, leaf.at, leaf.context) {
        Ok(Some(_)) => error.and(
            ", which is a leaf (`jax.tree_util.register_dataclass` and the like make a class a node)",
        ),
        _ => error,
    }
}

fn is_plain_number(object: &Bound<'_, PyAny>) -> bool {
    object.is_exact_instance_of::<PyFloat>()
        || object.is_exact_instance_of::<PyInt>()
        || object.is_exact_instance_of::<PyBool>()
}

/// Puts numbers into the containers and the kinds of arrays of an example, from which
/// [`flat_from_python`] reads as many, in the same order. They are converted as by
/// [`to_python_like`](crate::to_python_like).
///
/// # Errors
///
/// Returns an error when there are more or fewer numbers than the example has, when they do not convert,
/// and as [`PyTreeDef::flatten`].
pub fn flat_to_python<'py, T: Number>(
    py: Python<'py>,
    numbers: &[T],
    example: &Bound<'py, PyAny>,
    rules: Rules,
) -> Result<Bound<'py, PyAny>> {
    let context = ReadContext::new(py, Limits::default(), UnusedKeys::Ignored, false);
    let (mut leaves, mut taken) = (Vec::new(), 0usize);
    let (treedef, classes) =
        LeafWalk::flatten(example, &ObjectPath::root(""), &context, rules, |leaf, at| {
            let shape = shape(leaf)?;
            let end = taken.saturating_add(shape.iter().product());
            // Without enough numbers, it goes on to count how many the example has.
            if let Some(numbers) = numbers.get(taken..end) {
                leaves.push(put(numbers, shape, leaf, at, &context)?);
            }
            taken = end;
            Ok(())
        })?;
    if taken != numbers.len() {
        let found = numbers.len();
        let message = format!("expected {taken} numbers as in the example, found {found}");
        return Err(Error::new(ErrorKind::Value, message));
    }
    PyTreeDef::new(treedef, classes, rules).unflatten(py, leaves)
}

/// The shape of the numbers of a leaf. The parts of complex numbers are the last dimension.
fn shape(leaf: &Bound<'_, PyAny>) -> Result<Vec<usize>> {
    if is_plain_number(leaf) {
        return Ok(Vec::new());
    }
    match as_array(leaf)? {
        Some(array) => array::shape(&array),
        None if leaf.is_instance_of::<PyComplex>() => Ok(vec![2]),
        None if leaf.is_instance_of::<PyFloat>() || leaf.is_instance_of::<PyInt>() => {
            Ok(Vec::new())
        }
        None => Err(Error::expected("numbers", describe(leaf))),
    }
}

fn put<'py, T: Number>(
    numbers: &[T],
    shape: Vec<usize>,
    example: &Bound<'py, PyAny>,
    at: &ObjectPath<'_, 'py>,
    context: &ReadContext<'py>,
) -> Result<Bound<'py, PyAny>> {
    let array = PyArray1::from_slice(context.py, numbers);
    let value = if shape.is_empty() && !is_array(example)? {
        array.get_item(0)?.call_method0(intern!(context.py, "item"))?
    } else if shape.len() == 1 {
        array.into_any()
    } else {
        array.reshape(shape)?.into_any()
    };
    like(value, example, at, context)
}
