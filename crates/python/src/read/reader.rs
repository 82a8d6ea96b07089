//! How objects become a value.

use pyo3::prelude::*;
use serde::de::{DeserializeOwned, DeserializeSeed};
use treedef::Limits;

use crate::error::Result;
use crate::read::context::{ObjectDeserializer, ObjectPath, ReadContext, UnusedKeys};

/// How objects become a value.
///
/// ```
/// use pyo3::prelude::*;
/// use treedef_python::{Reader, UnusedKeys};
///
/// #[derive(serde::Deserialize)]
/// struct Params { w: Vec<[f64; 2]> }
///
/// Python::attach(|py| {
///     let object = py.eval(c"{'w': [[1.0, 2.0, 3.0]], 'b': 0}", None, None)?;
///     let error = Reader::new().name("p").read::<Params>(&object).err().unwrap();
///     assert_eq!(error.to_string(), "p['w'][0]: expected a sequence of 2, found list of 3");
///
///     let object = py.eval(c"{'w': [[1.0, 2.0]], 'b': 0}", None, None)?;
///     let strict = Reader::new().unused(UnusedKeys::Error);
///     assert_eq!(strict.read::<Params>(&object).err().unwrap().to_string(), "unused: ['b']");
///     assert_eq!(Reader::new().read::<Params>(&object)?.w, [[1.0, 2.0]]);
///     Ok::<_, PyErr>(())
/// })
/// # .unwrap();
/// ```
#[derive(Clone, Debug, Default)]
pub struct Reader {
    name: String,
    unused: UnusedKeys,
    convert: bool,
    limits: Limits,
}

impl Reader {
    /// Reads as [`from_python`] does.
    pub fn new() -> Self {
        Reader::default()
    }

    /// Sets the name of the object in errors, before the path in it: `params['w']`.
    #[must_use]
    pub fn name(self, name: &str) -> Self {
        Reader { name: name.to_owned(), ..self }
    }

    /// Sets the handling of keys and attributes that the type does not request. Inside tagged, untagged and flattened types, and
    /// in a struct with a flattened field, none is found, because serde takes all of them into a buffer of its own. In tagged
    /// and untagged types, `#[serde(deny_unknown_fields)]` makes them errors.
    #[must_use]
    pub fn unused(self, unused: UnusedKeys) -> Self {
        Reader { unused, ..self }
    }

    /// Reads arrays whose numbers have another type than the field: integers as other integers and as floats, if these
    /// hold them exactly, and floats as floats of another width, rounded, but never to infinity. Half floats and
    /// complex numbers are not converted to.
    #[must_use]
    pub fn convert_numbers(self, yes: bool) -> Self {
        Reader { convert: yes, ..self }
    }

    /// Sets the limits: `max_depth` for nested containers, and `max_work` for objects. The numbers of an
    /// array do not count.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Reader { limits, ..self }
    }

    /// Reads a value.
    ///
    /// # Errors
    ///
    /// As [`from_python`].
    pub fn read<T: DeserializeOwned>(&self, object: &Bound<'_, PyAny>) -> Result<T> {
        let context = self.context(object.py());
        match self.read_in(object, &context) {
            Ok(value) => {
                self.expect_strict::<T>(object, &context.buffered)?;
                context.finish().map(|()| value)
            }
            Err(error) if context.buffered.count.get() == 0 => Err(error),
            Err(error) => Err(self.located::<T>(error, object)),
        }
    }

    pub(crate) fn read_in<T: DeserializeOwned>(
        &self,
        object: &Bound<'_, PyAny>,
        context: &ReadContext<'_>,
    ) -> Result<T> {
        let at = self.root();
        T::deserialize(ObjectDeserializer { object, at: &at, context })
            .map_err(|error| error.at(|| at.path()))
    }

    /// Reads with a seed of serde, such as [`treedef::TreeSeed`]. A seed reads once: below tagged, untagged and
    /// flattened types, numbers are not compared with the type, and an error has the path of the outermost of them.
    ///
    /// # Errors
    ///
    /// As [`from_python`].
    pub fn read_seed<'de, S: DeserializeSeed<'de>>(
        &self,
        seed: S,
        object: &Bound<'_, PyAny>,
    ) -> Result<S::Value> {
        let (context, at) = (self.context(object.py()), self.root());
        let value = seed.deserialize(ObjectDeserializer { object, at: &at, context: &context });
        let value = value.map_err(|error| error.at(|| at.path()))?;
        context.finish()?;
        Ok(value)
    }

    pub(crate) fn context<'py>(&self, py: Python<'py>) -> ReadContext<'py> {
        ReadContext::new(py, self.limits, self.unused, self.convert)
    }

    pub(crate) fn converts(&self) -> bool {
        self.convert
    }

    /// The context of a second reading: unused keys were reported by the first.
    pub(crate) fn quiet_context<'py>(&self, py: Python<'py>) -> ReadContext<'py> {
        ReadContext::new(py, self.limits, UnusedKeys::Ignored, self.convert)
    }

    pub(crate) fn root(&self) -> ObjectPath<'_, '_> {
        ObjectPath::root(&self.name)
    }
}

/// Reads a value from objects of Python: dicts, lists, tuples, named tuples, dataclasses, classes of
/// attrs, `SimpleNamespace` and other objects with attributes, `None`, numbers, texts, bytes, and
/// arrays of numpy, JAX, PyTorch and all others that numpy reads.
///
/// A field finds the key or the attribute of its name. An array becomes nested `Vec`s and `[T; N]`, an
/// array of `ndarray`, a matrix of `nalgebra` or an [`NdArray`](crate::NdArray), or without a copy a
/// [`SharedArray`](crate::SharedArray). Its shape and the type of its numbers must be as in the Rust type. An
/// `Option` is `None` or the value, an enum the name of a variant or `{"Name": content}`. [`Reader`] has the
/// options.
///
/// # Errors
///
/// Returns an error with the path, what was expected and what was found, when an object is of another
/// type or shape, a number does not fit, or a key is missing; when objects nest too deep or are too
/// many; and what an object raises.
///
/// ```
/// use pyo3::prelude::*;
///
/// #[derive(serde::Deserialize)]
/// struct Params { w: Vec<[f64; 2]>, #[serde(default)] steps: u32 }
///
/// Python::attach(|py| {
///     let object = py.eval(c"{'w': __import__('numpy').ones((3, 2))}", None, None)?;
///     let params: Params = treedef_python::from_python(&object)?;
///     assert_eq!((params.w, params.steps), (vec![[1.0, 1.0]; 3], 0));
///     Ok::<_, PyErr>(())
/// })
/// # .unwrap();
/// ```
pub fn from_python<T: DeserializeOwned>(object: &Bound<'_, PyAny>) -> Result<T> {
    Reader::new().read(object)
}
