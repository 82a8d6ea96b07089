//! Tests with a Python inside: what goes in, what comes out, and what is refused.

mod damage;
mod errors;
mod like;
mod out;
mod table;

use std::ffi::CString;

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// What the expressions of the tests may use.
const SETUP: &str = "
import array, collections, dataclasses, enum, types
from collections import OrderedDict, defaultdict, deque, namedtuple
import attrs, ml_dtypes, numpy as np
import jax, jax.numpy as jnp, equinox as eqx
Point = namedtuple('Point', ['x', 'y'])
@dataclasses.dataclass
class Data:
    x: float
    y: float
@dataclasses.dataclass(slots=True, frozen=True)
class Slots:
    x: float
    y: float
@attrs.define
class Attrs:
    x: float
    y: float
class Module(eqx.Module):
    x: float
    y: float
class Plain:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)
class Color(enum.Enum):
    RED = 1
class Gives:
    def __init__(self, array):
        self.array = array
    def __array__(self, dtype=None, copy=None):
        return self.array
class Lends:
    def __init__(self, array):
        self.array = array
    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)
    def __dlpack_device__(self):
        return self.array.__dlpack_device__()
";

/// Runs a test in a namespace of its own.
fn python<R>(test: impl for<'py> FnOnce(&Bound<'py, PyDict>) -> R) -> R {
    Python::attach(|py| {
        let names = PyDict::new(py);
        run(&names, SETUP);
        test(&names)
    })
}

fn run(names: &Bound<'_, PyDict>, code: &str) {
    let code = CString::new(code).unwrap();
    names.py().run(&code, Some(names), None).unwrap();
}

fn eval<'py>(names: &Bound<'py, PyDict>, expression: &str) -> Bound<'py, PyAny> {
    let code = CString::new(expression).unwrap();
    names
        .py()
        .eval(&code, Some(names), None)
        .unwrap_or_else(|error| panic!("{expression}: {error}"))
}
