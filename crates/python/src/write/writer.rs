//! How a value becomes objects.

use pyo3::prelude::*;
use serde::Serialize;
use treedef::Limits;

use crate::error::Result;
use crate::read::nd_array::giving_up;
use crate::read::place::{At, Context, Unused};
use crate::write::library::Options;
use crate::write::like::like;
use crate::write::plain::plain;

/// How a value becomes objects.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    options: Options,
}

impl Writer {
    /// Writes as [`to_python`] does.
    pub fn new() -> Self {
        Writer::default()
    }

    /// Writes structs as `types.SimpleNamespace`, not as dicts: `params.w` in place of `params['w']`.
    ///
    /// ```
    /// use pyo3::prelude::*;
    /// use treedef_python::Writer;
    ///
    /// #[derive(serde::Serialize)]
    /// struct Params { w: [f64; 2] }
    ///
    /// Python::attach(|py| {
    ///     let params = Writer::new().namespaces(true).write(py, &Params { w: [1.0, 2.0] })?;
    ///     assert_eq!(params.getattr("w")?.call_method0("sum")?.extract::<f64>()?, 3.0);
    ///     Ok::<_, PyErr>(())
    /// })
    /// # .unwrap();
    /// ```
    #[must_use]
    pub fn namespaces(self, yes: bool) -> Self {
        Writer { options: Options { namespaces: yes, ..self.options } }
    }

    /// Bounds the structure of the value.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Writer { options: Options { limits, ..self.options } }
    }

    /// Writes a value.
    ///
    /// # Errors
    ///
    /// As [`to_python`].
    pub fn write<'py>(
        &self,
        py: Python<'py>,
        value: &(impl Serialize + ?Sized),
    ) -> Result<Bound<'py, PyAny>> {
        giving_up(|| {
            // The library counts what a limit is about.
            let is_bounded = self.options.limits != Limits::default();
            let plain = if is_bounded { None } else { plain(py, &self.options, value) };
            plain.map_or_else(|| self.options.object(py, value), Ok)
        })
    }

    /// Writes a value that is given up: the numbers of an [`NdArray`](crate::NdArray) are moved.
    ///
    /// # Errors
    ///
    /// As [`to_python`].
    pub fn write_owned<'py>(
        &self,
        py: Python<'py>,
        value: impl Serialize,
    ) -> Result<Bound<'py, PyAny>> {
        giving_up(|| {
            // A second walk would share the numbers.
            let flattener = self.options.flattener().serialize_once(true);
            let (leaves, treedef) = flattener.flatten(&value)?;
            drop(value); // now the numbers are ours alone
            self.options.build(py, &treedef, leaves)
        })
    }
}

/// Makes objects of Python from a value: dicts of structs and maps, lists of sequences, tuples of
/// tuples, `None`, `"Name"` and `{"Name": …}` of variants, and arrays of numpy where numbers of one type
/// are a rectangle: nested `Vec`s and `[T; N]`, also tuples of such numbers, arrays of `ndarray` and
/// [`NdArray`](crate::NdArray). An empty `Vec` is an empty list, because it does not show what it has none of.
///
/// # Errors
///
/// Returns an error when the value does not serialize or exceeds the limits.
///
/// ```
/// use pyo3::prelude::*;
///
/// #[derive(serde::Serialize)]
/// struct Params { w: Vec<[f64; 2]>, name: &'static str, b: Option<f64> }
///
/// Python::attach(|py| {
///     let params = Params { w: vec![[1.0, 2.0]], name: "dense", b: None };
///     let object = treedef_python::to_python(py, &params)?;
///     assert_eq!(object.to_string(), "{'w': array([[1., 2.]]), 'name': 'dense', 'b': None}");
///     Ok::<_, PyErr>(())
/// })
/// # .unwrap();
/// ```
pub fn to_python<'py>(
    py: Python<'py>,
    value: &(impl Serialize + ?Sized),
) -> Result<Bound<'py, PyAny>> {
    Writer::new().write(py, value)
}

/// As [`to_python`], of a value that is given up: the numbers of an [`NdArray`](crate::NdArray) become
/// numpy's without a copy, unless a clone still shares them.
///
/// # Errors
///
/// As [`to_python`].
///
/// ```
/// use pyo3::prelude::*;
/// use treedef_python::NdArray;
///
/// Python::attach(|py| {
///     let array = NdArray::new(vec![2], vec![1.0, 2.0]).unwrap();
///     let address = array.data().as_ptr() as usize;
///     let moved = treedef_python::into_python(py, ("x", array))?.get_item(1)?;
///     assert_eq!(moved.getattr("ctypes")?.getattr("data")?.extract::<usize>()?, address);
///     Ok::<_, PyErr>(())
/// })
/// # .unwrap();
/// ```
pub fn into_python<'py>(py: Python<'py>, value: impl Serialize) -> Result<Bound<'py, PyAny>> {
    Writer::new().write_owned(py, value)
}

/// As [`to_python`], in the containers and classes of an example, with its kinds of arrays and their
/// type of numbers: so a function takes and gives pytrees of JAX and PyTorch as they are.
///
/// Numbers are converted to the type that the example has, as far as numpy's `same_kind` goes; a shape
/// may be another. What the value lacks and has no numbers (a text, a function) stays as in the example.
///
/// # Errors
///
/// Returns an error with the path when the value has another key, attribute or number of elements than
/// the example, or numbers that do not convert; and as [`to_python`].
///
/// ```
/// use pyo3::prelude::*;
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Params { w: Vec<f32>, scale: f64 }
///
/// Python::attach(|py| {
///     let example = py.eval(
///         c"__import__('types').SimpleNamespace(\
///             w=__import__('jax').numpy.ones(2), scale=2.0, name='dense')",
///         None,
///         None,
///     )?;
///     let params: Params = treedef_python::from_python(&example)?;
///     let like = treedef_python::to_python_like(py, &params, &example)?;
///     let expected = "namespace(w=Array([1., 1.], dtype=float32), scale=2.0, name='dense')";
///     assert_eq!(like.to_string(), expected);
///     Ok::<_, PyErr>(())
/// })
/// # .unwrap();
/// ```
pub fn to_python_like<'py>(
    py: Python<'py>,
    value: &(impl Serialize + ?Sized),
    example: &Bound<'py, PyAny>,
) -> Result<Bound<'py, PyAny>> {
    put_like(&to_python(py, value)?, example)
}

/// As [`to_python_like`], of a value that is given up, as by [`into_python`].
///
/// # Errors
///
/// As [`to_python_like`].
pub fn into_python_like<'py>(
    py: Python<'py>,
    value: impl Serialize,
    example: &Bound<'py, PyAny>,
) -> Result<Bound<'py, PyAny>> {
    put_like(&into_python(py, value)?, example)
}

fn put_like<'py>(
    value: &Bound<'py, PyAny>,
    example: &Bound<'py, PyAny>,
) -> Result<Bound<'py, PyAny>> {
    let context = Context::new(value.py(), Limits::default(), Unused::Ignored, false);
    like(value, example, &At::root(""), &context)
}
