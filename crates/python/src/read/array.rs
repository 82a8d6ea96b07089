//! Arrays of numpy, and arrays of other libraries as numpy converts them.

use numpy::{
    PyArrayDescr, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn,
    PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

use crate::error::{Error, ErrorKind, Result};
use crate::read::names::{describe_array, dtype_name, type_name};
use crate::read::object::{is_scalar, is_sequence};

/// Defines the borrow of an array, and its numbers: one variant for each type that numpy and Rust
/// share. Booleans are bytes, because the booleans of a foreign array may be other bytes than 0
/// and 1; half floats are their bits.
macro_rules! numbers {
    ($($kind:ident $type:ty;)*) => {
        enum NumpyBorrow<'py> {
            $($kind(PyReadonlyArrayDyn<'py, $type>),)*
        }

        /// The numbers of an array in row-major order.
        #[derive(Clone, Copy)]
        pub enum Numbers<'a> {
            $($kind(&'a [$type]),)*
        }

        impl Numbers<'_> {
            /// None of their type.
            pub(crate) fn none(self) -> Numbers<'static> {
                match self {
                    $(Numbers::$kind(_) => Numbers::$kind(&[]),)*
                }
            }
        }

        impl NumpyBorrow<'_> {
            fn numbers(&self) -> Result<Numbers<'_>> {
                let numbers = match self {
                    $(NumpyBorrow::$kind(array) => array.as_slice().map(Numbers::$kind),)*
                };
                numbers.map_err(|error| Error::new(ErrorKind::Value, error))
            }
        }

        impl<'py> NumpyBorrow<'py> {
            fn new(kind: Kind, array: &Bound<'py, PyAny>) -> Result<Self> {
                match kind {
                    $(Kind::$kind => Ok(NumpyBorrow::$kind(borrow::<$type>(array)?)),)*
                }
            }
        }

        #[derive(Clone, Copy, PartialEq, Eq)]
        enum Kind {
            $($kind,)*
        }
    };
}

numbers! {
    Bool u8;
    I8 i8;
    I16 i16;
    I32 i32;
    I64 i64;
    U8 u8;
    U16 u16;
    U32 u32;
    U64 u64;
    F16 u16;
    Bf16 u16;
    F32 f32;
    F64 f64;
}

/// A number, in a type that has all of its kind.
#[derive(Clone, Copy)]
pub(crate) enum WideNumber {
    Integer(i128),
    Float(f64),
}

impl Numbers<'_> {
    /// Rust's name of their type.
    pub(crate) fn type_name(self) -> &'static str {
        match self {
            Numbers::Bool(_) => "bool",
            Numbers::I8(_) => "i8",
            Numbers::I16(_) => "i16",
            Numbers::I32(_) => "i32",
            Numbers::I64(_) => "i64",
            Numbers::U8(_) => "u8",
            Numbers::U16(_) => "u16",
            Numbers::U32(_) => "u32",
            Numbers::U64(_) => "u64",
            Numbers::F16(_) => "f16",
            Numbers::Bf16(_) => "bf16",
            Numbers::F32(_) => "f32",
            Numbers::F64(_) => "f64",
        }
    }

    /// One of them. `None` if it is a bool, or there are fewer.
    pub(crate) fn wide(self, index: usize) -> Option<WideNumber> {
        macro_rules! wide {
            ($($kind:ident $wide:ident $of:expr;)*) => {
                match self {
                    $(Numbers::$kind(numbers) => numbers.get(index).map(|number| WideNumber::$wide($of(*number))),)*
                    Numbers::Bool(_) => None,
                }
            };
        }
        wide! {
            I8 Integer i128::from;
            I16 Integer i128::from;
            I32 Integer i128::from;
            I64 Integer i128::from;
            U8 Integer i128::from;
            U16 Integer i128::from;
            U32 Integer i128::from;
            U64 Integer i128::from;
            F16 Float |bits| half::f16::from_bits(bits).to_f64();
            Bf16 Float |bits| half::bf16::from_bits(bits).to_f64();
            F32 Float f64::from;
            F64 Float f64::from;
        }
    }

    pub(crate) fn is_converted_to(self, name: &str) -> bool {
        is_converted(self.type_name(), name)
    }
}

/// Whether `Reader::convert_numbers` converts numbers of one type to another, where they fit.
pub(crate) fn is_converted(from: &str, to: &str) -> bool {
    let is_integer = |name: &str| name.starts_with(['i', 'u']);
    from != "bool" && (matches!(to, "f32" | "f64") || is_integer(from) && is_integer(to))
}

/// Whether a float of this type lacks numbers of another type.
pub(crate) fn rounds(of: &str, float: &str) -> bool {
    match float {
        "f32" => matches!(of, "f64" | "i32" | "u32" | "i64" | "u64"),
        "f64" => matches!(of, "i64" | "u64"),
        _ => false,
    }
}

/// An array that is borrowed from Python while it is read.
pub(crate) struct BorrowedArray<'py> {
    borrow: NumpyBorrow<'py>,
    /// The dimensions; the parts of complex numbers are the last one.
    pub(crate) shape: Vec<usize>,
    source: Bound<'py, PyUntypedArray>,
}

impl<'py> BorrowedArray<'py> {
    /// The numbers of an array. `None` if its elements are objects or texts.
    pub(crate) fn of(source: &Bound<'py, PyUntypedArray>) -> Result<Option<Self>> {
        let py = source.py();
        let dtype = source.dtype();
        if is_of_objects(&dtype) {
            return Ok(None);
        }
        let (kind, conversion) = plan(&dtype).ok_or_else(|| unsupported(source))?;
        expect_unmasked(source)?;
        let shape = conversion.shape(source);
        let mut array = source.as_any().clone();
        let is_native = dtype.is_native_byteorder() != Some(false);
        if let Conversion::Cast(name) = conversion {
            array = array.call_method1(intern!(py, "astype"), (name,))?;
        } else if !is_native {
            let native = dtype.call_method1(intern!(py, "newbyteorder"), ("=",))?;
            array = array.call_method1(intern!(py, "astype"), (native,))?;
        }
        let untyped = array.cast::<PyUntypedArray>().map_err(PyErr::from)?;
        if !(untyped.is_c_contiguous() && untyped.is_aligned()) {
            array = array.call_method1(intern!(py, "copy"), ("C",))?;
        }
        if let Conversion::View(name) = conversion {
            array = array.call_method1(intern!(py, "view"), (name,))?;
        } else if let Conversion::Pairs(name) = conversion {
            // A view has another last dimension, which an array without dimensions lacks.
            array = array.call_method1(intern!(py, "reshape"), (-1,))?;
            array = array.call_method1(intern!(py, "view"), (name,))?;
        }
        Ok(Some(BorrowedArray {
            borrow: NumpyBorrow::new(kind, &array)?,
            shape,
            source: source.clone(),
        }))
    }

    pub(crate) fn source(&self) -> Bound<'py, PyUntypedArray> {
        self.source.clone()
    }

    pub(crate) fn describe(&self) -> String {
        describe_array(&self.source)
    }

    pub(crate) fn numbers(&self) -> Result<Numbers<'_>> {
        self.borrow.numbers()
    }
}

/// Whether it is a masked array of numpy in which numbers are masked: they are there, but mean nothing.
pub(crate) fn is_masked(array: &Bound<'_, PyUntypedArray>) -> Result<bool> {
    static MASKED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    if array.is_exact_instance_of::<PyUntypedArray>() {
        return Ok(false);
    }
    // Whether any is, as numpy says itself.
    Ok(MASKED.import(array.py(), "numpy.ma", "is_masked")?.call1((array,))?.is_truthy()?)
}

pub(crate) fn expect_unmasked(array: &Bound<'_, PyUntypedArray>) -> Result<()> {
    if is_masked(array)? {
        let help = "(`.filled(…)` has a number in each place)";
        let found = format!("{} with a mask {help}", describe_array(array));
        return Err(Error::expected("numbers", found));
    }
    Ok(())
}

/// The shape of the numbers of an array, as [`Array`] has it.
pub(crate) fn shape(source: &Bound<'_, PyUntypedArray>) -> Result<Vec<usize>> {
    let (_, conversion) = plan(&source.dtype()).ok_or_else(|| unsupported(source))?;
    Ok(conversion.shape(source))
}

/// The conversion of an array before its numbers are read.
#[derive(Clone, Copy)]
enum Conversion {
    None,
    View(&'static str),
    Pairs(&'static str),
    Cast(&'static str),
}

impl Conversion {
    /// The shape of the numbers: the parts of complex ones are the last dimension.
    fn shape(self, source: &Bound<'_, PyUntypedArray>) -> Vec<usize> {
        let parts: &[usize] = if let Conversion::Pairs(_) = self { &[2] } else { &[] };
        [source.shape(), parts].concat()
    }
}

/// How the numbers of a type are read. `None` if they are no numbers.
fn plan(dtype: &Bound<'_, PyArrayDescr>) -> Option<(Kind, Conversion)> {
    Some(match (dtype.kind(), dtype.itemsize()) {
        (b'f', 8) => (Kind::F64, Conversion::None),
        (b'f', 4) => (Kind::F32, Conversion::None),
        (b'i', 8) => (Kind::I64, Conversion::None),
        (b'i', 4) => (Kind::I32, Conversion::None),
        (b'i', 2) => (Kind::I16, Conversion::None),
        (b'i', 1) => (Kind::I8, Conversion::None),
        (b'u', 8) => (Kind::U64, Conversion::None),
        (b'u', 4) => (Kind::U32, Conversion::None),
        (b'u', 2) => (Kind::U16, Conversion::None),
        (b'u', 1) => (Kind::U8, Conversion::None),
        (b'b', 1) => (Kind::Bool, Conversion::View("uint8")),
        (b'c', 16) => (Kind::F64, Conversion::Pairs("float64")),
        (b'c', 8) => (Kind::F32, Conversion::Pairs("float32")),
        (b'f', 2) if dtype.char() == b'e' => (Kind::F16, Conversion::View("uint16")),
        _ => return small(&dtype_name(dtype)),
    })
}

/// The types of `ml_dtypes`, which numpy knows by name only.
fn small(name: &str) -> Option<(Kind, Conversion)> {
    match name {
        "bfloat16" => Some((Kind::Bf16, Conversion::View("uint16"))),
        name if name.starts_with("float8_")
            || name.starts_with("float6_")
            || name.starts_with("float4_") =>
        {
            Some((Kind::F32, Conversion::Cast("float32")))
        }
        "int2" | "int4" => Some((Kind::I8, Conversion::Cast("int8"))),
        "uint2" | "uint4" => Some((Kind::U8, Conversion::Cast("uint8"))),
        _ => None,
    }
}

fn borrow<'py, T: numpy::Element>(array: &Bound<'py, PyAny>) -> Result<PyReadonlyArrayDyn<'py, T>> {
    let array = array.cast::<PyArrayDyn<T>>().map_err(PyErr::from)?;
    array.try_readonly().map_err(|error| Error::new(ErrorKind::Value, error))
}

/// An array of `numpy.datetime64` and the like.
fn unsupported(array: &Bound<'_, PyUntypedArray>) -> Error {
    let name = describe_array(array);
    let help = match array.dtype().kind() {
        b'M' | b'm' => " (times have units: convert them by `.astype('int64')`)",
        b'V' => " (a structured array: give its columns as a dict)",
        b'f' | b'c' => " (Rust has no such float: convert it by `.astype`)",
        _ => "",
    };
    Error::expected("numbers", format_args!("{name}{help}"))
}

/// Whether the elements of an array are objects or texts, which are read as nested lists.
fn is_of_objects(dtype: &Bound<'_, PyArrayDescr>) -> bool {
    matches!(dtype.kind(), b'O' | b'U' | b'S' | b'T')
}

/// The array of numpy for an object that is an array, or returns one by `__array__`, DLPack or the buffer
/// protocol. The attributes are looked up in the class, because an object may answer to any name.
pub(crate) fn as_array<'py>(
    object: &Bound<'py, PyAny>,
) -> Result<Option<Bound<'py, PyUntypedArray>>> {
    if let Ok(array) = object.cast::<PyUntypedArray>() {
        return Ok(Some(array.clone()));
    }
    if is_sequence(object) {
        return Ok(None);
    }
    let py = object.py();
    let class = object.get_type();
    let has = |name| class.hasattr(name);
    if gives_array(object, &class)? {
        let given = match tensor_of_torch(object)? {
            Some(tensor) => tensor,
            None => asarray(object)?,
        };
        return expect_array(object, given).map(Some);
    }
    if has(intern!(py, "__dlpack__"))? {
        static FROM_DLPACK: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let given = FROM_DLPACK.import(py, "numpy", "from_dlpack")?.call1((object,))?;
        return expect_array(object, given).map(Some);
    }
    Ok(None)
}

/// Whether it is an array, or an object that returns one.
pub(crate) fn is_array(object: &Bound<'_, PyAny>) -> Result<bool> {
    if object.cast::<PyUntypedArray>().is_ok() {
        return Ok(true);
    }
    let class = object.get_type();
    Ok(!is_sequence(object)
        && (gives_array(object, &class)? || class.hasattr(intern!(object.py(), "__dlpack__"))?))
}

fn gives_array(object: &Bound<'_, PyAny>, class: &Bound<'_, PyType>) -> Result<bool> {
    let py = object.py();
    let gives = class.hasattr(intern!(py, "__array__"))?
        || class.hasattr(intern!(py, "__array_interface__"))?
        || (!is_scalar(object) && lends_buffer(object)?);
    Ok(gives && object.cast::<PyType>().is_err())
}

/// Whether it has the buffer protocol. A class may implement that in Python, which may raise anything.
fn lends_buffer(object: &Bound<'_, PyAny>) -> Result<bool> {
    match PyUntypedBuffer::get(object) {
        Ok(_) => Ok(true),
        Err(error)
            if error.is_instance_of::<PyTypeError>(object.py())
                || error.is_instance_of::<PyBufferError>(object.py()) =>
        {
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

fn expect_array<'py>(
    object: &Bound<'py, PyAny>,
    given: Bound<'py, PyAny>,
) -> Result<Bound<'py, PyUntypedArray>> {
    let array = given.cast_into::<PyUntypedArray>().map_err(PyErr::from)?;
    if is_of_objects(&array.dtype()) {
        let found = format!("{}, which gives {}", type_name(object), describe_array(&array));
        return Err(Error::expected("an array of numbers", found));
    }
    Ok(array)
}

fn asarray<'py>(object: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    static ASARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    Ok(ASARRAY.import(object.py(), "numpy", "asarray")?.call1((object,))?)
}

/// A tensor of torch as an array: parameters without their gradient, and numbers whose type numpy lacks in the type
/// that `ml_dtypes` has.
fn tensor_of_torch<'py>(object: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyAny>>> {
    static MODULES: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = object.py();
    let modules = MODULES.import(py, "sys", "modules")?.cast::<PyDict>().map_err(PyErr::from)?;
    let Some(torch) = modules.get_item(intern!(py, "torch"))? else { return Ok(None) };
    if !object.is_instance(&torch.getattr(intern!(py, "Tensor"))?)? {
        return Ok(None);
    }
    let truth = |name| object.getattr(name)?.is_truthy();
    let tensor = match truth(intern!(py, "requires_grad"))? {
        false => object.clone(),
        true if truth(intern!(py, "is_leaf"))? => object.call_method0(intern!(py, "detach"))?,
        true => {
            let help = "(`.detach()` removes it)";
            let found =
                format!("{} with a gradient, which would be lost {help}", type_name(object));
            return Err(Error::expected("numbers", found));
        }
    };
    let dtype = tensor.getattr(intern!(py, "dtype"))?.str()?;
    let name = dtype.to_string_lossy().replace("torch.", "");
    let bits = match name.as_str() {
        "bfloat16" => "int16",
        name if name.starts_with("float8_") => "int8",
        _ => return asarray(&tensor).map(Some),
    };
    let array = tensor.call_method1("view", (torch.getattr(bits)?,))?.call_method0("numpy")?;
    let dtype = py.import("ml_dtypes")?.getattr(name.as_str())?;
    Ok(Some(array.call_method1("view", (dtype,))?))
}
