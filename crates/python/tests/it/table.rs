//! One row for each kind of object, and for each type and layout of arrays.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use half::{bf16, f16};
use nalgebra::{DMatrix, DVector, Matrix2x3, Vector3};
use ndarray::{Array2, ArrayD, array};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use treedef_python::{NdArray, Reader, from_python};

use crate::{eval, python};

#[derive(Debug, PartialEq, Deserialize)]
struct Point {
    x: f64,
    y: f64,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum Color {
    Red,
    #[serde(rename = "Rgb")]
    Rgb(u8, u8, u8),
    #[serde(rename = "Gray")]
    Gray {
        level: f32,
    },
    #[serde(rename = "Named")]
    Named(String),
}

#[derive(Debug, PartialEq, Deserialize)]
struct Complex {
    re: f64,
    im: f64,
}

fn row<T: DeserializeOwned + PartialEq + Debug>(
    names: &Bound<'_, PyDict>,
    expression: &str,
    expected: T,
) {
    match from_python::<T>(&eval(names, expression)) {
        Ok(found) => assert_eq!(found, expected, "{expression}"),
        Err(error) => panic!("{expression}: {error}"),
    }
}

#[test]
fn containers_and_scalars() {
    python(|names| {
        for object in [
            "{'x': 1.0, 'y': 2}",
            "OrderedDict(y=2.0, x=1.0)",
            "defaultdict(float, x=1.0, y=2.0)",
            "types.MappingProxyType({'x': 1.0, 'y': 2.0})",
            "collections.ChainMap({'x': 1.0}, {'y': 2.0})",
            "Point(1.0, 2.0)",
            "Data(1.0, 2.0)",
            "Slots(1.0, 2.0)",
            "Attrs(1.0, 2.0)",
            "Module(1.0, 2.0)",
            "Flax(1.0, 2.0)",
            "Registered(1.0, 2.0)",
            "Plain(x=1.0, y=2.0, z=3.0)",
            "types.SimpleNamespace(x=1.0, y=2.0)",
            "{'x': np.float64(1.0), 'y': np.array(2.0)}",
            "{'x': jnp.float64(1.0) if jax.config.jax_enable_x64 else 1.0, 'y': 2.0}",
        ] {
            row(names, object, Point { x: 1.0, y: 2.0 });
        }
        row(names, "[1.0, 2]", vec![1.0, 2.0]);
        row(names, "(1.0, 2)", vec![1.0, 2.0]);
        row(names, "(1, 'a', None)", (1u8, "a".to_owned(), None::<u8>));
        row(names, "deque([1, 2])", vec![1, 2]);
        row(names, "range(3)", vec![0, 1, 2]);
        row(names, "{1, 2}", BTreeSet::from([1, 2]));
        row(names, "frozenset({1})", BTreeSet::from([1]));
        row(names, "{1: 'a', 2: 'b'}", BTreeMap::from([(1, "a".to_owned()), (2, "b".to_owned())]));
        row(names, "{(1, 2): 3}", BTreeMap::from([((1, 2), 3)]));
        row(names, "{True: 3}", BTreeMap::from([(true, 3)]));
        row(names, "None", None::<f64>);
        row(names, "None", ());
        row(names, "()", ());
        row(names, "1.5", Some(1.5));
        row(names, "True", true);
        row(names, "np.True_", true);
        row(names, "2**63", 1u64 << 63);
        row(names, "-2**127", i128::MIN);
        row(names, "2**128 - 1", u128::MAX);
        row(names, "1j", (0.0, 1.0));
        row(names, "1 + 2j", Complex { re: 1.0, im: 2.0 });
        row(names, "'ä'", 'ä');
        row(names, "'text'", "text".to_owned());
        row(names, "b'ab'", vec![97u8, 98]);
        row(names, "bytearray(b'ab')", treedef_bytes(b"ab"));
        row(names, "np.array([97, 98], 'u1')", treedef_bytes(b"ab"));
        row(names, "'RED'", Color::Red);
        row(names, "Color.RED", Color::Red);
        row(names, "Mixed.RED", Color::Red);
        row(names, "{Mixed.RED: 1.5}", BTreeMap::from([("r".to_owned(), 1.5)]));
        row(
            names,
            "{None: 0.5, 'a': 1.5}",
            BTreeMap::from([(None, 0.5), (Some("a".to_owned()), 1.5)]),
        );
        row(names, "{'Rgb': (1, 2, 3)}", Color::Rgb(1, 2, 3));
        row(names, "{'Gray': {'level': 0.5}}", Color::Gray { level: 0.5 });
        row(names, "{'Named': 'x'}", Color::Named("x".to_owned()));
    });
}

/// The result for a type that requests bytes.
#[derive(Debug, PartialEq)]
struct Bytes(Vec<u8>);

fn treedef_bytes(bytes: &[u8]) -> Bytes {
    Bytes(bytes.to_vec())
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl serde::de::Visitor<'_> for Visitor {
            type Value = Bytes;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(treedef_bytes(bytes))
            }

            fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Bytes, E> {
                Ok(Bytes(bytes))
            }
        }

        deserializer.deserialize_bytes(Visitor)
    }
}

#[test]
fn types_of_numbers() {
    python(|names| {
        macro_rules! types {
            ($($name:literal $type:ty;)*) => {
                $(
                    let values = [0 as $type, 1 as $type, 2 as $type];
                    row(names, concat!("np.arange(3, dtype='", $name, "')"), values);
                    row(names, concat!("np.arange(3, dtype='", $name, "').astype('>' + np.dtype('", $name, "').str[1:])"), values);
                    row(names, concat!("list(np.arange(3, dtype='", $name, "'))"), values);
                    row(names, concat!("np.array(2, dtype='", $name, "')"), 2 as $type);
                    row(names, concat!("np.", $name, "(2)"), 2 as $type);
                    let array = NdArray::new(vec![3], values.to_vec()).unwrap();
                    row(names, concat!("np.arange(3, dtype='", $name, "')"), array);
                )*
            };
        }
        types! {
            "int8" i8;
            "int16" i16;
            "int32" i32;
            "int64" i64;
            "uint8" u8;
            "uint16" u16;
            "uint32" u32;
            "uint64" u64;
            "float32" f32;
            "float64" f64;
        }
        row(names, "np.array([True, False])", [true, false]);
        row(names, "np.array([True, False])", NdArray::new(vec![2], vec![true, false]).unwrap());
        // A byte that is neither 0 nor 1.
        row(names, "np.array([2, 0], 'u1').view(bool)", [true, false]);
        row(names, "np.array([1 + 2j, 3])", [[1.0, 2.0], [3.0, 0.0]]);
        row(names, "np.array([1 + 2j, 3])", [(1.0, 2.0), (3.0, 0.0)]);
        row(names, "np.array([1 + 2j])", [Complex { re: 1.0, im: 2.0 }]);
        row(names, "np.array([1 + 2j, 3], 'c8')", [[1.0f32, 2.0], [3.0, 0.0]]);
        row(names, "np.array([1 + 2j, 3], '>c8')", [[1.0f32, 2.0], [3.0, 0.0]]);
        row(names, "np.array(1 + 2j)", (1.0, 2.0));
        row(names, "np.complex64(1 + 2j)", [1.0f32, 2.0]);
        let halves = [f16::from_f32(0.5), f16::from_f32(2.0)];
        row(names, "np.array([0.5, 2.0], 'f2')", halves);
        row(names, "np.array([0.5, 2.0], '>f2')", halves);
        row(names, "[0.5, 2.0]", halves);
        let halves = [bf16::from_f32(0.5), bf16::from_f32(2.0)];
        row(names, "np.array([0.5, 2.0], ml_dtypes.bfloat16)", halves);
        row(names, "jnp.array([0.5, 2.0], jnp.bfloat16)", halves);
        for small in ["float8_e4m3fn", "float8_e5m2", "float8_e4m3", "float8_e3m4"] {
            row(names, &format!("np.array([0.5, 2.0], ml_dtypes.{small})"), [0.5f32, 2.0]);
        }
        row(names, "np.array([-1, 3], ml_dtypes.int4)", [-1i8, 3]);
        row(names, "np.array(['a', 'b'])", ["a".to_owned(), "b".to_owned()]);
        row(names, "np.array([1, 'a', None], object)", (1u8, "a".to_owned(), ()));
    });
}

#[test]
fn layouts() {
    python(|names| {
        let expected = vec![vec![0.0, 1.0, 2.0], vec![3.0, 4.0, 5.0]];
        for array in [
            "np.arange(6.0).reshape(2, 3)",
            "np.asfortranarray(np.arange(6.0).reshape(2, 3))",
            "np.arange(12.0).reshape(2, 6)[:, ::2] / 2",
            "np.arange(24.0).reshape(4, 6)[::2, ::2].astype('i8') // 2 * 1.0 - np.array([[0], [3]])",
            "np.arange(6.0)[::-1].reshape(2, 3)[::-1, ::-1]",
            "np.arange(6.0).reshape(3, 2).T.copy('F').ravel('K').reshape(3, 2).ravel()[[0, 2, 4, 1, 3, 5]].argsort().reshape(2, 3) * 0.0 + np.arange(6.0).reshape(2, 3)",
            "np.arange(6, dtype='>f8').reshape(2, 3)",
            "np.frombuffer(np.arange(6.0).tobytes()).reshape(2, 3)",
            "np.frombuffer(b'x' + np.arange(6.0).tobytes(), 'u1')[1:].view('f8').reshape(2, 3)",
            "Gives(np.arange(6.0).reshape(2, 3))",
            "Lends(np.arange(6.0).reshape(2, 3))",
            "memoryview(np.arange(6.0).reshape(2, 3))",
            "np.arange(6.0).reshape(2, 3).tolist()",
            "[np.arange(3.0), np.arange(3.0) + 3]",
            "np.matrix([[0.0, 1, 2], [3, 4, 5]])",
        ] {
            row(names, array, expected.clone());
            row(names, array, [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]);
            if !array.contains("tolist") && !array.starts_with('[') {
                row(names, array, array![[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]);
                row(names, array, array![[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]].into_dyn());
                row(names, array, Matrix2x3::new(0.0, 1.0, 2.0, 3.0, 4.0, 5.0));
                row(names, array, DMatrix::from_row_slice(2, 3, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]));
                let data = (0..6).map(f64::from).collect();
                row(names, array, NdArray::new(vec![2, 3], data).unwrap());
            }
        }
        row(names, "array.array('d', [1.0, 2.0])", vec![1.0, 2.0]);
        row(names, "jnp.arange(3, dtype='float32')", vec![0.0f32, 1.0, 2.0]);
        row(names, "np.arange(3.0)", Vector3::new(0.0, 1.0, 2.0));
        row(names, "np.arange(3.0)", DVector::from_vec(vec![0.0, 1.0, 2.0]));
        row(names, "np.zeros((0, 3))", Vec::<[f64; 3]>::new());
        row(names, "np.zeros((2, 0))", vec![Vec::<f64>::new(); 2]);
        row(names, "np.zeros((2, 0))", Array2::<f64>::zeros((2, 0)));
        row(names, "np.zeros((0, 2))", NdArray::<f64>::new(vec![0, 2], vec![]).unwrap());
        row(names, "np.array(1.5)", ArrayD::from_elem(vec![], 1.5));
        row(names, "np.array(1.5)", 1.5);
        row(names, "np.arange(2.0)", (0.0, 1.0));
        row(names, "np.arange(2.0)", Some(vec![Some(0.0), Some(1.0)]));
        // Read-only.
        crate::run(names, "a = np.arange(3.0); a.flags.writeable = False");
        row(names, "a", vec![0.0, 1.0, 2.0]);
    });
}

#[test]
fn numbers_are_converted_on_request() {
    python(|names| {
        let reader = Reader::new().convert_numbers(true);
        let read = |expression| reader.read::<Vec<f32>>(&eval(names, expression)).unwrap();
        assert_eq!(read("np.arange(3)"), [0.0, 1.0, 2.0]);
        assert_eq!(read("np.array([0.1])"), [0.1]);
        assert_eq!(read("np.array([0.5], 'f2')"), [0.5]);
        let array: NdArray<f32> = reader.read(&eval(names, "np.arange(3)")).unwrap();
        assert_eq!(array.data(), [0.0, 1.0, 2.0]);
        let bytes: Vec<u8> = reader.read(&eval(names, "np.array([0, 255])")).unwrap();
        assert_eq!(bytes, [0, 255]);
    });
}
