//! What values become.

use std::collections::BTreeMap;

use half::{bf16, f16};
use insta::assert_snapshot;
use nalgebra::{DMatrix, Matrix2x3};
use ndarray::array;
use pyo3::prelude::*;
use serde::Serialize;
use treedef_python::{NdArray, Writer, into_python, to_python};

use crate::python;

#[derive(Serialize)]
struct Unit;

#[derive(Serialize)]
struct Newtype(f64);

#[derive(Serialize)]
struct Point {
    x: f64,
    y: u8,
}

#[derive(Serialize)]
enum Kind {
    Unit,
    Newtype(u8),
    Tuple(u8, &'static str),
    Struct { a: u8 },
}

fn object(value: impl Serialize) -> String {
    python(|names| to_python(names.py(), &value).unwrap().to_string())
}

#[test]
fn containers_and_scalars() {
    assert_snapshot!(object((1, 2.5, "a", 'b', true, (), None::<u8>)), @"(1, 2.5, 'a', 'b', True, None, None)");
    assert_snapshot!(object((Unit, Newtype(0.5), Point { x: 0.5, y: 1 })), @"(None, 0.5, {'x': 0.5, 'y': 1})");
    assert_snapshot!(object((Kind::Unit, Kind::Newtype(1), Kind::Tuple(1, "a"), Kind::Struct { a: 1 })), @"('Unit', {'Newtype': 1}, {'Tuple': (1, 'a')}, {'Struct': {'a': 1}})");
    assert_snapshot!(object(BTreeMap::from([(2, "b"), (1, "a")])), @"{1: 'a', 2: 'b'}");
    assert_snapshot!(object(BTreeMap::from([((1, "a"), 1.5)])), @"{(1, 'a'): 1.5}");
    assert_snapshot!(object(BTreeMap::from([(vec![vec![1]], 1.5)])), @"{((1,),): 1.5}");
    assert_snapshot!(object((u128::MAX, i128::MIN)), @"(340282366920938463463374607431768211455, -170141183460469231731687303715884105728)");
    assert_snapshot!(object(vec!["a"; 2]), @"['a', 'a']");
    assert_snapshot!(object(Vec::<f64>::new()), @"[]");
    python(|names| {
        let point = Writer::new().namespaces(true).write(names.py(), &Point { x: 0.5, y: 1 });
        assert_snapshot!(point.unwrap(), @"namespace(x=0.5, y=1)");
    });
}

#[test]
fn arrays() {
    let shown = |value: &dyn Fn(pyo3::Python<'_>) -> pyo3::Py<pyo3::PyAny>| {
        python(|names| {
            let array = value(names.py()).into_bound(names.py());
            let shape = array.getattr("shape").unwrap();
            let dtype = array.getattr("dtype").unwrap();
            let values = array.call_method1("astype", ("complex128",)).unwrap();
            let values = values.call_method0("tolist").unwrap();
            format!("{dtype}{shape} {values}")
        })
    };
    macro_rules! shown {
        ($value:expr) => {
            shown(&|py| to_python(py, &$value).unwrap().unbind())
        };
    }
    assert_snapshot!(shown!(vec![[1.0, 2.0]]), @"float64(1, 2) [[(1+0j), (2+0j)]]");
    assert_snapshot!(shown!([1u8, 2]), @"uint8(2,) [(1+0j), (2+0j)]");
    assert_snapshot!(shown!([-1i64, 2]), @"int64(2,) [(-1+0j), (2+0j)]");
    assert_snapshot!(shown!([true, false]), @"bool(2,) [(1+0j), 0j]");
    assert_snapshot!(shown!([f16::from_f32(0.5)]), @"float16(1,) [(0.5+0j)]");
    assert_snapshot!(shown!([bf16::from_f32(0.5)]), @"bfloat16(1,) [(0.5+0j)]");
    assert_snapshot!(shown!(array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), @"float64(2, 3) [[(1+0j), (2+0j), (3+0j)], [(4+0j), (5+0j), (6+0j)]]");
    assert_snapshot!(shown!(NdArray::new(vec![2, 1], vec![1i8, 2]).unwrap()), @"int8(2, 1) [[(1+0j)], [(2+0j)]]");
    assert_snapshot!(shown!(NdArray::new(vec![], vec![1.5]).unwrap()), @"float64() (1.5+0j)");
    assert_snapshot!(shown!(NdArray::<f64>::new(vec![0, 2], vec![]).unwrap()), @"float64(0, 2) []");
    assert_snapshot!(object((DMatrix::from_row_slice(1, 2, &[1.0, 2.0]), Matrix2x3::<f64>::zeros())), @"((array([1., 2.]), 1, 2), array([0., 0., 0., 0., 0., 0.]))");
}

#[test]
fn arrays_are_moved() {
    python(|names| {
        let arrays = vec![NdArray::new(vec![2, 2], vec![1.0; 4]).unwrap(); 1];
        let addresses: Vec<_> = arrays.iter().map(|array| array.data().as_ptr() as usize).collect();
        let shared = NdArray::new(vec![1], vec![1u8]).unwrap();
        let moved = into_python(names.py(), (arrays, shared.clone())).unwrap();
        let first = moved.get_item(0).unwrap().get_item(0).unwrap();
        let address = first.getattr("ctypes").unwrap().getattr("data").unwrap();
        assert_eq!(address.extract::<usize>().unwrap(), addresses[0]);
        assert_snapshot!(moved.to_string().replace("\n      ", ""), @"([array([[1., 1.], [1., 1.]])], array([1], dtype=uint8))");
        assert_eq!(shared.data(), [1]);
    });
}
