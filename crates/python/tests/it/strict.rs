//! Refused and accepted objects: numbers that do not fit, objects of another kind, and exceptions of objects.

use std::collections::{BTreeMap, BTreeSet};

use half::{bf16, f16};
use nalgebra::{DMatrix, DVector, Matrix3};
use ndarray::{Array2, ArrayD};
use pyo3::prelude::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use treedef_python::{NdArray, Reader, SharedArray, UnusedKeys};

use crate::{eval, python, reads, run};

const CONVERTS: &str = "(`Reader::convert_numbers` converts)";

#[test]
fn numbers_that_do_not_fit() {
    python(|names| {
        reads! { names, Reader::new();
            f16, "65504.0" => "65504.0";
            f16, "1e6" => "ValueError: expected f16, found float 1000000.0, which is out of its range";
            f16, "-1e6" => "ValueError: expected f16, found float -1000000.0, which is out of its range";
            f16, "float('inf')" => "inf";
            f16, "2048" => "2048.0";
            f16, "2049" => "ValueError: expected f16, found int 2049, which it does not have exactly";
            f16, "10**6" => "ValueError: expected f16, found int 1000000, which is out of its range";
            f16, "True" => "TypeError: expected f16, found True";
            f16, "np.float32(1)" => "TypeError: expected f16, found float32[]";
            bf16, "1e39" => "ValueError: expected bf16, found float 1e39, which is out of its range";
            bf16, "256" => "256.0";
            bf16, "257" => "ValueError: expected bf16, found int 257, which it does not have exactly";
            Vec<f16>, "[1, 0.5]" => "[1.0, 0.5]";
            f32, "10**39" => "ValueError: expected f32, found int 1000000000000000000000000000000000000000, which is out of its range";
            f32, "2**24 + 1" => "ValueError: expected f32, found int 16777217, which it does not have exactly";
            f64, "2**53 + 1" => "ValueError: expected f64, found int 9007199254740993, which it does not have exactly";
        }
    });
}

#[test]
fn numbers_that_are_converted() {
    python(|names| {
        let unfit = |expected: &str, found: &str| {
            format!("ValueError: expected {expected}, found {found}, which does not fit")
        };
        reads! { names, Reader::new().convert_numbers(true);
            Vec<f64>, "np.array([1, 0.1], 'f4')" => "[1.0, 0.10000000149011612]";
            Vec<f64>, "np.array([0.1], 'f2')" => "[0.0999755859375]";
            Vec<f64>, "np.array([1.5], ml_dtypes.bfloat16)" => "[1.5]";
            Vec<f64>, "np.array([2**53])" => "[9007199254740992.0]";
            Vec<f64>, "np.array([0, 2**53 + 1])" => unfit("f64[_]", "int64[2] with 9007199254740993");
            [f64; 1], "np.array([2**64 - 1], 'u8')" => unfit("f64[1]", "uint64[1] with 18446744073709551615");
            f64, "np.uint8(3)" => "3.0";
            Vec<f32>, "np.array([0.1, np.inf])" => "[0.1, inf]";
            Vec<f32>, "np.array([1e300])" => unfit("f32[_]", "float64[1] with 1e300");
            Vec<f32>, "np.array([2**24 + 1])" => unfit("f32[_]", "int64[1] with 16777217");
            Vec<f32>, "np.array([np.nan])" => "[NaN]";
            NdArray<f32>, "np.array([-1e300])" => unfit("f32[_]", "float64[1] with -1e300");
            Vec<u8>, "np.array([255, 256])" => unfit("u8[_]", "int64[2] with 256");
            Vec<u8>, "np.array([-1])" => unfit("u8[_]", "int64[1] with -1");
            Vec<i64>, "np.array([2**63], 'u8')" => unfit("i64[_]", "uint64[1] with 9223372036854775808");
            Vec<u128>, "np.array([2**64 - 1], 'u8')" => "[18446744073709551615]";
            Vec<u64>, "np.array([1.0])" => "TypeError: expected u64[_], found float64[1]";
            Vec<f64>, "np.array([True])" => "TypeError: expected f64[_], found bool[1]";
            Vec<bool>, "np.array([1])" => "TypeError: expected bool[_], found int64[1]";
            Vec<f16>, "np.array([1.0])" => "TypeError: expected f16[_], found float64[1]";
            Vec<[f64; 3]>, "np.zeros((0, 3), 'f4')" => "[]";
        }
    });
}

/// The exception tells whether a kind, a value or a key is wrong, with a hint where one helps.
#[test]
fn kinds_and_hints() {
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it is only shown")]
    struct Layer {
        #[serde(default)]
        w: f64,
    }

    python(|names| {
        reads! { names, Reader::new();
            Vec<f64>, "np.zeros(2, 'f4')" => format!("TypeError: expected f64[_], found float32[2] {CONVERTS}");
            Vec<f32>, "np.zeros(2)" => format!("TypeError: expected f32[_], found float64[2] {CONVERTS}");
            Vec<f64>, "np.zeros(2, int)" => format!("TypeError: expected f64[_], found int64[2] {CONVERTS}");
            Vec<u8>, "np.zeros(2, int)" => format!("TypeError: expected u8[_], found int64[2] {CONVERTS}");
            NdArray<f64>, "np.zeros(2, 'f4')" => format!("TypeError: expected an array of f64, found float32[2] {CONVERTS}");
            NdArray<f64>, "np.zeros(2, 'f2')" => format!("TypeError: expected an array of f64, found float16[2] {CONVERTS}");
            f64, "np.float32(1)" => format!("TypeError: expected f64, found float32[] {CONVERTS}");
            NdArray<u8>, "np.zeros(2)" => "TypeError: expected an array of u8, found float64[2]";
            NdArray<f64>, "np.zeros(2, bool)" => "TypeError: expected an array of f64, found bool[2]";
            Vec<u8>, "np.zeros(2)" => "TypeError: expected u8[_], found float64[2]";
            Vec<f64>, "np.zeros(2, bool)" => "TypeError: expected f64[_], found bool[2]";
            Vec<f16>, "np.zeros(2)" => "TypeError: expected f16[_], found float64[2]";
            Vec<f64>, "np.zeros(2, 'c8')" => "TypeError: expected f64[_], found complex64[2]";
            Vec<[f64; 3]>, "np.zeros((2, 2), 'f4')" => "TypeError: expected f64[_, 3], found float32[2, 2]";
            Vec<[f64; 3]>, "np.zeros((2, 2))" => "ValueError: expected f64[_, 3], found float64[2, 2]";
            f64, "np.zeros(2)" => "ValueError: expected f64, found float64[2]";
            Vec<String>, "np.zeros(2)" => "TypeError: expected str[_], found float64[2]";
            Vec<char>, "np.zeros(2)" => "TypeError: expected char[_], found float64[2]";
            Vec<()>, "np.zeros(2)" => "TypeError: expected None[_], found float64[2]";
            Vec<Layer>, "np.zeros(2)" => "TypeError: expected Layer[_], found float64[2]";
            Vec<BTreeMap<String, f64>>, "np.zeros(2)" => "TypeError: expected dict[_], found float64[2]";
            Layer, "np.zeros(2)" => "TypeError: expected Layer (a dict or an object with attributes), found float64[2]";
            Layer, "jnp.zeros(2)" => "TypeError: expected Layer (a dict or an object with attributes), found ArrayImpl";
            Layer, "np.matrix([[1.0]])" => "TypeError: expected Layer (a dict or an object with attributes), found float64[1, 1]";
            Layer, "np.ma.masked_array([1.0], [True])" => "TypeError: expected Layer (a dict or an object with attributes), found float64[1]";
            BTreeMap<String, f64>, "jnp.zeros(2)" => "TypeError: expected a dict or an object with attributes, found ArrayImpl";
            BTreeMap<String, f64>, "np.zeros(2)" => "TypeError: expected a dict or an object with attributes, found float64[2]";
        }
    });
}

/// An array without elements still has their type.
#[test]
fn arrays_of_no_numbers() {
    python(|names| {
        reads! { names, Reader::new();
            Vec<[f64; 3]>, "np.zeros((0, 3))" => "[]";
            Vec<[f64; 3]>, "np.zeros((0, 4))" => "ValueError: expected f64[_, 3], found float64[0, 4]";
            Vec<[f64; 3]>, "np.zeros(0)" => "ValueError: expected f64[_, 3], found float64[0]";
            Vec<[f64; 3]>, "np.zeros((0, 3), 'f4')" => "TypeError: expected f64[_, 3], found float32[0, 3]";
            Vec<f64>, "np.zeros(0)" => "[]";
            Vec<f64>, "np.zeros((0, 4))" => "ValueError: expected f64[_], found float64[0, 4]";
            Vec<Vec<f64>>, "np.zeros((0, 4))" => "[]";
            Vec<Vec<f64>>, "np.zeros((2, 0))" => "[[], []]";
            Vec<[[f64; 2]; 3]>, "np.zeros((0, 3, 2))" => "[]";
            Vec<[[f64; 2]; 3]>, "np.zeros((0, 2, 3))" => "ValueError: expected f64[_, 3, 2], found float64[0, 2, 3]";
            Vec<Option<[f64; 2]>>, "np.zeros((0, 2))" => "[]";
            Vec<(f64, f64)>, "np.zeros((0, 2))" => "[]";
            Vec<(f64, f64)>, "np.zeros(0, complex)" => "[]";
            Vec<Matrix3<f64>>, "np.zeros((0, 3, 3))" => "[]";
            Vec<Matrix3<f64>>, "np.zeros((0, 3, 2))" => "ValueError: expected f64[_, 3, 3], found float64[0, 3, 2]";
            Vec<DMatrix<f64>>, "np.zeros((0, 3, 2))" => "[]";
            Vec<f16>, "np.zeros(0, 'f2')" => "[]";
            Vec<[f64; 3]>, "[]" => "[]";
            [f64; 0], "np.zeros(0)" => "[]";
        }
        let shape = |expression| {
            Reader::new().read::<Array2<f64>>(&eval(names, expression)).unwrap().shape().to_vec()
        };
        assert_eq!(shape("np.zeros((0, 4))"), [0, 4]);
        assert_eq!(shape("np.zeros((3, 0))"), [3, 0]);
    });
}

/// Where an array is expected, nested lists are read as numpy would convert them.
#[test]
fn lists_as_arrays() {
    python(|names| {
        let array = |shape: &str, data: &str| format!("NdArray {{ shape: {shape}, data: {data} }}");
        reads! { names, Reader::new();
            NdArray<f64>, "[[1, 2.5], (True, 4)]" => array("[2, 2]", "[1.0, 2.5, 1.0, 4.0]");
            NdArray<f64>, "[1, 2]" => array("[2]", "[1.0, 2.0]");
            NdArray<f32>, "[0.1]" => array("[1]", "[0.1]");
            NdArray<u8>, "[1, 2]" => array("[2]", "[1, 2]");
            NdArray<f64>, "[]" => array("[0]", "[]");
            NdArray<f64>, "[[], []]" => array("[2, 0]", "[]");
            NdArray<f64>, "[np.zeros(2), [1, 2]]" => array("[2, 2]", "[0.0, 0.0, 1.0, 2.0]");
            NdArray<u8>, "[256]" => "ValueError: expected u8[_], found int64[1] with 256, which does not fit";
            NdArray<f32>, "[1e300]" => "ValueError: expected f32[_], found float64[1] with 1e300, which does not fit";
            NdArray<f64>, "[np.float32(1)]" => format!("TypeError: expected f64[_], found float32[1] {CONVERTS}");
            NdArray<f64>, "[[1.0], [1.0, 2.0]]" => "TypeError: expected NdArray (a dict or an object with attributes), found list of 2";
        }
        let list = eval(names, "[[1, 2.5], (3, 4)]");
        let read = Reader::new();
        let expected = ndarray::array![[1.0, 2.5], [3.0, 4.0]];
        assert_eq!(read.read::<Array2<f64>>(&list).unwrap(), expected);
        assert_eq!(read.read::<ArrayD<f64>>(&list).unwrap(), expected.into_dyn());
    });
}

/// Bytes are an array of `u8`, and a complex number is two floats: as long as the type, and with its numbers.
#[test]
fn bytes_and_complex_numbers() {
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it is only shown")]
    struct Holder {
        z: (f64,),
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "it is only shown")]
    enum Untagged {
        Narrow(f32, f32),
        Wide(f64, f64),
    }

    python(|names| {
        reads! { names, Reader::new();
            [u8; 3], "b'abc'" => "[97, 98, 99]";
            (u8, u8), "b'ab'" => "(97, 98)";
            Vec<Option<u8>>, "b'a'" => "[Some(97)]";
            Vec<f64>, "b''" => format!("TypeError: expected f64[_], found bytes of 0 {CONVERTS}");
            [u8; 2], "b'abc'" => "ValueError: expected u8[2], found bytes of 3";
            [u8; 0], "b'abc'" => "ValueError: expected an array[0], found bytes of 3";
            [u8; 4], "b'abc'" => "ValueError: expected u8[4], found bytes of 3";
            Vec<f64>, "b'12'" => format!("TypeError: expected f64[_], found bytes of 2 {CONVERTS}");
            Vec<i64>, "b'12'" => format!("TypeError: expected i64[_], found bytes of 2 {CONVERTS}");
            Vec<String>, "b'12'" => "TypeError: expected str[_], found bytes of 2";
            (f64, f64), "1 + 2j" => "(1.0, 2.0)";
            (f64,), "1 + 2j" => "ValueError: expected a sequence of 1, found complex";
            [f64; 3], "1 + 2j" => "ValueError: expected a sequence of 3, found complex";
            Holder, "{'z': 1 + 2j}" => "ValueError: ['z']: expected a sequence of 1, found complex";
            [f32; 2], "complex(0.1, 2)" => "[0.1, 2.0]";
            [f32; 2], "complex(1, 1e300)" => "ValueError: [1]: expected f32, found float 1e300, which is out of its range";
            Vec<u8>, "1 + 2j" => "TypeError: [0]: expected u8, found float 1.0";
            Untagged, "complex(0, 1e300)" => "ValueError: [1]: expected f32, found float 1e300, which is out of its range";
        }
        reads! { names, Reader::new().convert_numbers(true);
            Vec<f64>, "b'12'" => "[49.0, 50.0]";
            Vec<i8>, "b'\\xff'" => "ValueError: expected i8[_], found bytes of 1 with 255, which does not fit";
        }
    });
}

/// A mixed list is an array of floats to numpy, which rounds integers.
#[test]
fn integers_beside_floats() {
    python(|names| {
        let array = |data: &str| format!("NdArray {{ shape: [2], data: {data} }}");
        for (found, list) in [
            ("9007199254740993", "[2**53 + 1, 0.5]"),
            ("9007199254740993", "[0.5, 2**53 + 1]"),
            ("9223372036854775809", "[2**63 + 1, -1]"),
            ("9007199254740993", "[np.float64(0.5), 2**53 + 1]"),
            ("9007199254740993", "[np.int64(2**53 + 1), 0.5]"),
            ("9223372036854775809", "[np.uint64(2**63 + 1), -1]"),
        ] {
            let text = crate::read::<NdArray<f64>>(names, &Reader::new(), list);
            let expected =
                format!("expected f64, found int {found}, which it does not have exactly");
            assert!(
                text.starts_with("ValueError: ") && text.ends_with(&expected),
                "{list}: {text}"
            );
        }
        reads! { names, Reader::new();
            NdArray<f64>, "[2**53, 0.5]" => array("[9007199254740992.0, 0.5]");
            NdArray<f64>, "[-2**60, 0.5]" => array("[-1.152921504606847e18, 0.5]");
            NdArray<f64>, "[2**63, -1]" => array("[9.223372036854776e18, -1.0]");
            NdArray<f64>, "[[2**54, 0.5], [2**24 + 1, 1]]" => "NdArray { shape: [2, 2], data: [1.8014398509481984e16, 0.5, 16777217.0, 1.0] }";
            NdArray<f32>, "[2**24, 0.5]" => array("[16777216.0, 0.5]");
            NdArray<f32>, "[16777217.0, 0.5]" => array("[16777216.0, 0.5]");
            NdArray<f32>, "[0.5, 2**24 + 1]" => "ValueError: expected f32[_], found float64[2] with 16777217, which does not fit";
            NdArray<f32>, "[np.arange(2.0), [2**24 + 1, 1]]" => format!("TypeError: expected f32[_], found float64[2, 2] {CONVERTS}");
            NdArray<f32>, "[[0.5, 1], np.array([2**24 + 1, 0])]" => "ValueError: expected f32[_], found float64[2, 2] with 16777217, which does not fit";
            DVector<f32>, "[0.5, 2**24 + 1]" => "ValueError: expected f32, found float64[2] with 16777217, which does not fit";
            NdArray<u64>, "[2**64 - 1, 1]" => array("[18446744073709551615, 1]");
            NdArray<u64>, "[np.uint64(2**64 - 1), 1]" => array("[18446744073709551615, 1]");
            NdArray<i64>, "[2**63, 1]" => "ValueError: expected i64[_], found uint64[2] with 9223372036854775808, which does not fit";
            NdArray<f64>, "[2**64 - 1, 1]" => "ValueError: expected f64[_], found uint64[2] with 18446744073709551615, which does not fit";
            NdArray<i64>, "[2**63 - 1, -1]" => array("[9223372036854775807, -1]");
        }
    });
}

/// numpy gives the numbers under a mask as if it were not there.
#[test]
fn masked_numbers() {
    python(|names| {
        let masked = "expected numbers, found float64[2] with a mask (`.filled(…)` has a number in each place)";
        reads! { names, Reader::new().name("m");
            Vec<f64>, "np.ma.masked_array([1.0, 2.0])" => "[1.0, 2.0]";
            Vec<f64>, "np.ma.masked_array([1.0, 2.0], [False, False])" => "[1.0, 2.0]";
            Vec<f64>, "np.ma.masked_array([1.0, 2.0], [False, True])" => format!("TypeError: m: {masked}");
            NdArray<f64>, "np.ma.masked_array([1.0, 2.0], True)" => format!("TypeError: m: {masked}");
            SharedArray<f64>, "np.ma.masked_array([1.0, 2.0], True)" => format!("TypeError: m: {masked}");
            SharedArray<f64>, "np.ma.masked_array([1.0, 2.0], False)" => "SharedArray(float64[2])";
            NdArray<f64>, "[np.ma.masked_array([1.0, 2.0], True)]" => "TypeError: m: expected NdArray (a dict or an object with attributes), found list of 1";
            BTreeMap<String, Vec<f64>>, "{'a': np.ma.masked_array([1.0, 2.0], [1, 0])}" => format!("TypeError: m['a']: {masked}");
            Vec<f64>, "[1.0, np.ma.masked]" => "TypeError: m[1]: expected numbers, found float64[] with a mask (`.filled(…)` has a number in each place)";
            Vec<Option<u8>>, "np.ma.masked_array([1, None], [0, 1], object)" => "[Some(1), None]";
        }
        let object = eval(names, "[np.ma.masked_array([1.0, 2.0], [0, 1])]");
        let error = treedef_python::flat_from_python::<f64>(&object, treedef_python::Rules::Jax);
        assert_eq!(error.unwrap_err().to_string(), format!("[0]: {masked}"));
    });
}

/// A parameter is read without its gradient. What was computed from one would lose it.
#[test]
fn tensors_that_require_a_gradient() {
    python(|names| {
        // A stand-in for a tensor, where PyTorch is not installed.
        run(
            names,
            "
import sys
try:
    import torch
    parameter = torch.nn.Parameter(torch.tensor([1.0, 2.0], dtype=torch.float64))
    computed, plain = parameter * 2, torch.tensor([1.0, 2.0], dtype=torch.float64)
except ImportError:
    class Tensor:
        dtype = 'torch.float64'
        def __init__(self, numbers, requires_grad=False, is_leaf=True):
            self.numbers, self.requires_grad, self.is_leaf = numbers, requires_grad, is_leaf
        def __array__(self, dtype=None, copy=None):
            if self.requires_grad:
                raise RuntimeError('Can\\'t call numpy() on Tensor that requires grad.')
            return np.array(self.numbers)
        def detach(self):
            return Tensor(self.numbers)
    sys.modules['torch'] = torch = types.ModuleType('torch')
    torch.Tensor = Tensor
    plain, parameter = Tensor([1.0, 2.0]), Tensor([1.0, 2.0], True)
    computed = Tensor([2.0, 4.0], True, False)
",
        );
        reads! { names, Reader::new().name("t");
            Vec<f64>, "plain" => "[1.0, 2.0]";
            Vec<f64>, "parameter" => "[1.0, 2.0]";
            NdArray<f64>, "parameter" => "NdArray { shape: [2], data: [1.0, 2.0] }";
            BTreeMap<String, Vec<f64>>, "{'w': parameter}" => "{\"w\": [1.0, 2.0]}";
            BTreeMap<String, Vec<f64>>, "{'w': computed}" => "TypeError: t['w']: expected numbers, found Tensor with a gradient, which would be lost (`.detach()` removes it)";
        }
        let object = eval(names, "[parameter, plain]");
        let rules = treedef_python::Rules::Torch;
        let (numbers, _) = treedef_python::flat_from_python::<f64>(&object, rules).unwrap();
        assert_eq!(numbers, [1.0, 2.0, 1.0, 2.0]);
        run(names, "if not hasattr(torch, 'nn'): del sys.modules['torch']");
    });
}

/// A field that its object does not have, because the class sets it later, is not there.
#[test]
fn fields_that_are_not_set() {
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it is only shown")]
    struct Params {
        w: f64,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it is only shown")]
    struct Cached {
        w: f64,
        cache: Option<f64>,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it is only shown")]
    struct Needed {
        w: f64,
        cache: f64,
    }

    python(|names| {
        run(
            names,
            "
@dataclasses.dataclass
class Lacking:
    w: float
    cache: object = dataclasses.field(init=False, repr=False)
@dataclasses.dataclass(slots=True)
class LackingSlots:
    w: float
    cache: object = dataclasses.field(init=False, repr=False)
@attrs.define
class LackingAttrs:
    w: float
    cache: object = attrs.field(init=False, repr=False)
@dataclasses.dataclass
class OwnInit:
    w: float
    cache: float
    def __init__(self, w): self.w = w
@dataclasses.dataclass
class Failing:
    w: float
    cache: float = dataclasses.field(init=False)
    @property
    def cache(self): raise AttributeError('no cache today')
",
        );
        for class in ["Lacking", "LackingSlots", "LackingAttrs", "OwnInit"] {
            let object = format!("{class}(1.0)");
            let read = |reader: Reader| crate::read::<Params>(names, &reader, &object);
            assert_eq!(read(Reader::new()), "Params { w: 1.0 }", "{class}");
            assert_eq!(
                read(Reader::new().unused(UnusedKeys::Error)),
                "Params { w: 1.0 }",
                "{class}"
            );
            let cached = crate::read::<Cached>(names, &Reader::new(), &object);
            assert_eq!(cached, "Cached { w: 1.0, cache: None }", "{class}");
            let needed = crate::read::<Needed>(names, &Reader::new(), &object);
            assert_eq!(needed, "KeyError: \"`cache` is missing, found 'w'\"", "{class}");
            let map = crate::read::<BTreeMap<String, f64>>(names, &Reader::new(), &object);
            assert_eq!(map, "{\"w\": 1.0}", "{class}");
        }
        reads! { names, Reader::new();
            Needed, "object.__new__(Failing)" => "AttributeError: no cache today";
        }
    });
}

/// A key that is no text is no field.
#[test]
fn keys_that_are_no_texts() {
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it is only shown")]
    struct Point {
        x: f64,
        y: f64,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "it is only shown")]
    struct Strict {
        x: f64,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it is only shown")]
    struct Rest {
        x: f64,
        #[serde(flatten)]
        rest: BTreeMap<i64, f64>,
    }

    python(|names| {
        let point = "Point { x: 1.0, y: 2.0 }";
        reads! { names, Reader::new();
            Point, "{'x': 1.0, 'y': 2.0, 3: 4}" => point;
            Point, "{0: 7.0, 1: 8.0, 'x': 1.0, 'y': 2.0}" => point;
            Point, "{'x': 1.0, 'y': 2.0, (1, 2): 4, None: 0, 2.5: 1, b'x': 3}" => point;
            Point, "{0: 1.0, 1: 2.0}" => "KeyError: '`x` is missing, found 0, 1'";
            Strict, "{'x': 1.0, 3: 4}" => "KeyError: \"`int 3` is unknown, expected `x`, found 'x', 3\"";
            Rest, "{'x': 1.0, 3: 4.0}" => "Rest { x: 1.0, rest: {3: 4.0} }";
            BTreeMap<String, u8>, "{'a': 1, 2: 3}" => "TypeError: [2]: expected str, found int 2";
        }
        reads! { names, Reader::new().unused(UnusedKeys::Error);
            Point, "{'x': 1.0, 'y': 2.0, 3: 4}" => "KeyError: 'unused: [3]'";
        }
    });
}

/// Attributes by the class alone: slots, properties, and classes in C.
#[test]
fn attributes_of_classes() {
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it is only shown")]
    struct Point {
        x: f64,
        y: f64,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it is only shown")]
    struct Time {
        days: i64,
        seconds: u32,
    }

    python(|names| {
        run(
            names,
            "
import datetime
class Base:
    __slots__ = ('x',)
class Derived(Base):
    __slots__ = ('y',)
    def __init__(self): self.x, self.y = 1.0, 2.0
class Computed:
    __slots__ = ()
    x = property(lambda self: 1.0)
    y = property(lambda self: 2.0)
class Mixed(Base):
    def __init__(self): self.x = 1.0; self.__dict__['hidden'] = 3
    @property
    def y(self): return 2.0
class Constant:
    x, y = 1.0, 2.0
",
        );
        let point = "Point { x: 1.0, y: 2.0 }";
        reads! { names, Reader::new();
            Point, "Derived()" => point;
            Point, "Computed()" => point;
            Point, "Mixed()" => point;
            Point, "Constant()" => point;
            Point, "Slotted(1.0, 2.0)" => point;
            Time, "datetime.timedelta(3, 4)" => "Time { days: 3, seconds: 4 }";
            Point, "object()" => "TypeError: expected Point (a dict or an object with attributes), found object";
            Point, "Base()" => "KeyError: '`x` is missing, found nothing'";
            BTreeMap<String, f64>, "Derived()" => "{\"x\": 1.0, \"y\": 2.0}";
        }
    });
}

/// An exception of an object, raised at any request, keeps its class.
#[test]
fn what_is_raised() {
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it is only read")]
    struct Point {
        #[serde(default)]
        x: Option<f64>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "it is only read")]
    enum Untagged {
        Number(f64),
        Text(String),
        Any(BTreeMap<String, f64>),
    }

    fn raised<T: DeserializeOwned>(object: &Bound<'_, PyAny>) -> Option<String> {
        let error = Reader::new().name("o").read::<BTreeMap<String, T>>(object).err()?;
        let error = PyErr::from(error);
        let py = object.py();
        let class = error.get_type(py).name().unwrap().to_string();
        let notes = error.value(py).getattr_opt("__notes__").unwrap();
        Some(notes.map_or(class.clone(), |notes| format!("{class} {notes}")))
    }

    python(|names| {
        run(
            names,
            "
def raising(error, *names):
    def fail(self, *arguments): raise error('no')
    return type('Raising', (), {name: fail for name in names})()
class Asked(collections.abc.Mapping):
    def __init__(self, error, name):
        self.error, self.name = error, name
    def __getitem__(self, key):
        if self.name == 'item': raise self.error('no')
        return 1.0
    def __iter__(self):
        if self.name == 'iter': raise self.error('no')
        return iter(['x'])
    def __len__(self):
        return 1
",
        );
        for class in ["KeyboardInterrupt", "SystemExit", "RuntimeError", "MemoryError", "KeyError"]
        {
            for object in [
                "{'a': raising(CLASS, '__getattribute__')}",
                "{'a': Asked(CLASS, 'item')}",
                "{'a': Asked(CLASS, 'iter')}",
                "{'a': raising(CLASS, '__getattribute__', '__array__')}",
            ] {
                let object = eval(names, &object.replace("CLASS", class));
                let expected = Some(format!("{class} [\"while `o['a']` was converted\"]"));
                assert_eq!(raised::<Point>(&object), expected, "{class} {object}");
                assert_eq!(raised::<Untagged>(&object), expected, "{class} {object}");
                assert_eq!(raised::<BTreeMap<String, f64>>(&object), expected, "{class} {object}");
            }
            let object = eval(names, &format!("{{'a': raising({class}, '__array__')}}"));
            let expected = Some(format!("{class} [\"while `o['a']` was converted\"]"));
            assert_eq!(raised::<Vec<f64>>(&object), expected, "{class}");
            assert_eq!(raised::<f64>(&object), expected, "{class}");
            assert_eq!(raised::<NdArray<f64>>(&object), expected, "{class}");
            assert_eq!(raised::<BTreeSet<String>>(&object), expected, "{class}");
        }
    });
}
