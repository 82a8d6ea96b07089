//! Tests with a Python inside: input, output, and errors.

mod buffers;
mod damage;
mod errors;
mod flat;
mod like;
mod like_tables;
mod out;
mod shared;
mod strict;
mod table;

use std::ffi::CString;
use std::fmt::Debug;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::de::DeserializeOwned;
use treedef_python::Reader;

/// The names that the expressions of the tests may use.
const SETUP: &str = "
import array, collections, dataclasses, enum, functools, types
from collections import OrderedDict, defaultdict, deque, namedtuple
import attrs, ml_dtypes, numpy as np
import jax, jax.numpy as jnp, equinox as eqx, flax.core, flax.struct
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
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Registered:
    x: float
    y: float
    name: str = dataclasses.field(default='r', metadata={'static': True})
@flax.struct.dataclass
class Flax:
    x: float
    y: float
    name: str = flax.struct.field(pytree_node=False, default='f')
@jax.tree_util.register_pytree_node_class
class Custom:
    def __init__(self, children, extra):
        self.children, self.extra = children, extra
    def tree_flatten(self):
        return self.children, self.extra
    @classmethod
    def tree_unflatten(cls, extra, children):
        return cls(tuple(children), extra)
class Plain:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)
class Color(enum.Enum):
    RED = 1
class Mixed(str, enum.Enum):
    RED = 'r'
    BLUE = 'RED'
class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2
class Text(str): pass
class Metres(float): pass
class Count(int): pass
class Ratio(float, enum.Enum):
    HALF = 0.5
    WHOLE = 1.0
class Names(list): pass
class Table(dict): pass
@dataclasses.dataclass
class Normed:
    x: float
    y: float
    made: int = dataclasses.field(init=False, default=0)
    norm: float = dataclasses.field(init=False)
    def __post_init__(self):
        self.norm = float(np.hypot(self.x, self.y))
@dataclasses.dataclass
class Counted:
    x: float
    count: int = dataclasses.field(init=False, default=0)
@dataclasses.dataclass
class Turned:
    x: float
    y: float
    def __init__(self, y, x):
        self.x, self.y = x, y
@dataclasses.dataclass(kw_only=True)
class ByName:
    x: float
    y: float
class Lazy:
    def __init__(self, x, y):
        self.x, self.y = x, y
    @functools.cached_property
    def norm(self):
        return float(np.hypot(self.x, self.y))
@dataclasses.dataclass
class LazyData:
    x: float
    y: float
    @functools.cached_property
    def norm(self):
        return float(np.hypot(self.x, self.y))
class Slotted:
    __slots__ = ('x', '__y')
    def __init__(self, x, y):
        self.x, self.__y = x, y
    @property
    def y(self):
        return self.__y
@attrs.define
class Private:
    _x: float
    y: float = attrs.field(alias='why')
    z: float = attrs.field(init=False, default=0.0)
class Static(eqx.Module):
    x: float
    n: int = eqx.field(static=True, default=3)
    act: object = eqx.field(static=True, default=len)
@jax.tree_util.register_pytree_node_class
class Keyless:
    def __init__(self, x, y, name='k'):
        if type(x) is str: raise TypeError('no text')
        self.y, self.x, self.name = y, x, name
    def tree_flatten(self):
        return (self.x, self.y), self.name
    @classmethod
    def tree_unflatten(cls, name, children):
        made = object.__new__(cls)
        made.__dict__.update(x=children[0], y=children[1], name=name, made_by='unflatten')
        return made
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

/// An object as a value that prints itself, or the exception.
fn read<T: DeserializeOwned + Debug>(
    names: &Bound<'_, PyDict>,
    reader: &Reader,
    expression: &str,
) -> String {
    match reader.read::<T>(&eval(names, expression)) {
        Ok(value) => format!("{value:?}"),
        Err(error) => PyErr::from(error).to_string(),
    }
}

macro_rules! reads {
    ($names:expr, $reader:expr; $($type:ty, $object:literal => $expected:expr;)*) => {
        $(assert_eq!($crate::read::<$type>($names, &$reader, $object), $expected, "{} as {}", $object, stringify!($type));)*
    };
}

pub(crate) use reads;
