//! How a value becomes objects.

use pyo3::prelude::*;
use serde::Serialize;
use treedef::Limits;

use crate::error::Result;
use crate::read::context::{ObjectPath, ReadContext, UnusedKeys};
use crate::read::nd_array::moving_arrays;
use crate::write::library::Options;
use crate::write::like::Plan;
use crate::write::matrices::WithShapes;
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
        moving_arrays(|| {
            // The library counts the limited quantities.
            let is_bounded = self.options.limits != Limits::default();
            let plain = if is_bounded { None } else { plain(py, &self.options, value) };
            plain.map_or_else(|| self.options.object(py, value), Ok)
        })
    }

    /// Writes an owned value: the numbers of an [`NdArray`](crate::NdArray) are moved.
    ///
    /// # Errors
    ///
    /// As [`to_python`].
    pub fn write_owned<'py>(
        &self,
        py: Python<'py>,
        value: impl Serialize,
    ) -> Result<Bound<'py, PyAny>> {
        moving_arrays(|| {
            // A second walk would share the numbers.
            let flattener = self.options.flattener().serialize_once(true);
            let (leaves, treedef) = flattener.flatten(&WithShapes(&value))?;
            drop(value); // now the numbers are ours alone
            self.options.build(py, &treedef, leaves)
        })
    }
}

/// Makes objects of Python from a value. Structs and maps become dicts, sequences lists, tuples tuples, and
/// variants `"Name"` or `{"Name": …}`. Numbers of one type that are a rectangle become an array of numpy: nested
/// `Vec`s, `[T; N]`, tuples, arrays of `ndarray` and [`NdArray`](crate::NdArray). An empty `Vec` is an empty list,
/// because the type of its elements is unknown.
///
/// # Errors
///
/// Returns an error when the value does not serialize or exceeds the limits, or when two keys of a map are equal in
/// Python, such as `1` and `true`.
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

/// An example, read once: values become objects in its containers and classes, with its kinds of arrays and
/// their type of numbers. So a function takes and gives pytrees of JAX and PyTorch as they are.
///
/// What comes back is new. An object is made as its class makes it: by `__init__` with the fields of a dataclass
/// or a class of attrs, by JAX if the class is registered there, otherwise by `__new__` and each attribute.
/// If the value lacks fields with `init=False`, static fields, or fields without numbers (a text, a function), the
/// example's are used. What a class computes, as a `cached_property`, is not copied.
///
/// No number changes: an integer becomes a float, and a float an integer, only where that has it exactly. Floats
/// are rounded to floats of another width alone. The shape of an array may be another than in the example.
///
/// ```
/// use pyo3::prelude::*;
/// use treedef_python::Like;
///
/// #[derive(serde::Serialize)]
/// struct State { step: f64, x: Vec<f64> }
///
/// Python::attach(|py| {
///     let example = py.eval(c"{'step': 0, 'x': (0.0, 0.0), 'name': 'chain'}", None, None)?;
///     let like = Like::of(&example)?;
///     for step in [1.0, 2.0] {
///         let object = like.to_python(&State { step, x: vec![0.5; 2] })?;
///         let expected = format!("{{'step': {step}, 'x': (0.5, 0.5), 'name': 'chain'}}");
///         assert_eq!(object.to_string(), expected);
///     }
///     let error = like.to_python(&State { step: 2.5, x: vec![0.5; 2] }).unwrap_err();
///     let text = "expected an integer as in the example, found float 2.5, which does not fit";
///     assert_eq!(error.to_string(), format!("['step']: {text}"));
///     Ok::<_, PyErr>(())
/// })
/// # .unwrap();
/// ```
pub struct Like<'py> {
    py: Python<'py>,
    plan: Plan<'py>,
}

impl<'py> Like<'py> {
    /// Reads an example. Its containers must not be changed while the plan is used.
    ///
    /// # Errors
    ///
    /// Returns an error when the example nests too deep, and the exceptions of an object.
    pub fn of(example: &Bound<'py, PyAny>) -> Result<Self> {
        let py = example.py();
        let plan = Plan::of(example, &ObjectPath::root(""), &context(py))?;
        Ok(Like { py, plan })
    }

    /// Writes a value.
    ///
    /// # Errors
    ///
    /// Returns an error with the path when the value has another key, attribute or number of elements than
    /// the example, or a number that does not convert; and as [`to_python`].
    pub fn to_python(&self, value: &(impl Serialize + ?Sized)) -> Result<Bound<'py, PyAny>> {
        self.put(to_python(self.py, value)?)
    }

    /// Writes an owned value, as [`into_python`].
    ///
    /// # Errors
    ///
    /// As [`Like::to_python`].
    pub fn into_python(&self, value: impl Serialize) -> Result<Bound<'py, PyAny>> {
        self.put(into_python(self.py, value)?)
    }

    fn put(&self, value: Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        self.plan.put(value, &ObjectPath::root(""), &context(self.py))
    }
}

fn context(py: Python<'_>) -> ReadContext<'_> {
    ReadContext::new(py, Limits::default(), UnusedKeys::Ignored, false)
}

/// As [`to_python`], like an example: [`Like`] for one value.
///
/// # Errors
///
/// As [`Like::to_python`].
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
    Like::of(example)?.put(to_python(py, value)?)
}

/// As [`to_python_like`], for an owned value, as [`into_python`].
///
/// # Errors
///
/// As [`Like::to_python`].
pub fn into_python_like<'py>(
    py: Python<'py>,
    value: impl Serialize,
    example: &Bound<'py, PyAny>,
) -> Result<Bound<'py, PyAny>> {
    Like::of(example)?.put(into_python(py, value)?)
}
