//! Values as objects of Python.

use std::collections::BTreeMap;

use half::{bf16, f16};
use insta::assert_snapshot;
use nalgebra::{DMatrix, Matrix2x3};
use ndarray::array;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use pyo3::prelude::*;
use serde::Serialize;
use treedef::{Limits, Static, Tree};
use treedef_python::{NdArray, Writer, into_python, to_python};
use treedef_testing::cases::config;
use treedef_testing::data::{Data, data};

use crate::like::SAME;
use crate::{eval, python, run};

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
}

/// A matrix of nalgebra has its numbers column by column, and numpy has them row by row.
#[test]
fn matrices() {
    use nalgebra::{
        DVector, Matrix2, Matrix3, Point2, Projective2, Rotation2, RowDVector, RowVector3, Vector3,
    };
    use std::borrow::Cow;

    #[derive(Serialize)]
    struct Weights(Matrix2<f64>);

    let object = |value: &dyn Fn(Python<'_>) -> Py<PyAny>| {
        python(|names| {
            let array = eval(names, "np.asarray").call1((value(names.py()),)).unwrap();
            array.call_method0("tolist").unwrap().to_string()
        })
    };
    macro_rules! rows {
        ($value:expr) => {
            object(&|py| to_python(py, &$value).unwrap().unbind())
        };
    }
    let m = Matrix2x3::new(1.0, 2.0, 3.0, 4.0, 5.0, 6.0);
    assert_snapshot!(rows!(m), @"[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]");
    assert_snapshot!(rows!(Some(m)), @"[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]");
    assert_snapshot!(rows!(vec![m, m * 2.0]), @"[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[2.0, 4.0, 6.0], [8.0, 10.0, 12.0]]]");
    assert_snapshot!(rows!(DMatrix::from_row_slice(2, 3, &[1, 2, 3, 4, 5, 6])), @"[[1, 2, 3], [4, 5, 6]]");
    assert_snapshot!(rows!(DMatrix::<f32>::zeros(0, 3)), @"[]");
    assert_snapshot!(rows!(Vector3::new(1.0, 2.0, 3.0)), @"[1.0, 2.0, 3.0]");
    assert_snapshot!(rows!(RowVector3::new(1.0, 2.0, 3.0)), @"[[1.0, 2.0, 3.0]]");
    assert_snapshot!(rows!(DVector::from_vec(vec![1u8, 2])), @"[1, 2]");
    assert_snapshot!(rows!(RowDVector::from_vec(vec![1u8, 2])), @"[[1, 2]]");
    assert_snapshot!(rows!(Weights(Matrix2::new(1.0, 2.0, 3.0, 4.0))), @"[[1.0, 2.0], [3.0, 4.0]]");
    assert_snapshot!(rows!(Box::new(m)), @"[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]");
    assert_snapshot!(rows!(vec![Some(Box::new(Cow::Borrowed(&m)))]), @"[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]");
    assert_snapshot!(rows!(Box::new(DMatrix::from_row_slice(2, 2, &[1, 2, 3, 4]))), @"[[1, 2], [3, 4]]");
    assert_snapshot!(rows!(Rotation2::from_matrix_unchecked(Matrix2::new(1.0, 2.0, 3.0, 4.0))), @"[[1.0, 2.0], [3.0, 4.0]]");
    assert_snapshot!(rows!(Projective2::from_matrix_unchecked(Matrix3::from_row_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]))), @"[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]");
    assert_snapshot!(rows!(Point2::new(1.0, 2.0)), @"[1.0, 2.0]");
    python(|names| {
        let both = (DMatrix::from_row_slice(1, 2, &[1.0, 2.0]), m);
        let both = to_python(names.py(), &both).unwrap().to_string().replace("\n      ", "");
        assert_snapshot!(both, @"(array([[1., 2.]]), array([[1., 2., 3.], [4., 5., 6.]]))");
        let entries = BTreeMap::from([("m", m)]);
        let entries = to_python(names.py(), &entries).unwrap().to_string().replace("\n      ", "");
        assert_snapshot!(entries, @"{'m': array([[1., 2., 3.], [4., 5., 6.]])}");
    });
}

/// A matrix is an array only of numbers; with any other elements, it is as serde has it, column by column.
#[test]
fn elements_of_matrices() {
    use nalgebra::{Complex, Matrix1x2};

    #[derive(Clone, Debug, PartialEq, Serialize)]
    struct Metres(f16);

    let (half, brain) = (f16::from_f32(0.5), bf16::from_f32(0.5));
    let text = |object: String| object.replace("\n      ", "");
    assert_snapshot!(object(DMatrix::from_element(1, 2, half)), @"[[0.5 0.5]]");
    python(|names| {
        let array = |value: &dyn Fn(Python<'_>) -> Py<PyAny>| {
            let array = value(names.py()).into_bound(names.py());
            let list = array.call_method0("tolist").unwrap();
            format!("{} {list}", array.getattr("dtype").unwrap())
        };
        macro_rules! array {
            ($value:expr) => {
                array(&|py| to_python(py, &$value).unwrap().unbind())
            };
        }
        assert_snapshot!(array!(DMatrix::from_element(1, 2, half)), @"float16 [[0.5, 0.5]]");
        assert_snapshot!(array!(Matrix1x2::new(brain, brain)), @"bfloat16 [[0.5, 0.5]]");
        assert_snapshot!(array!(DMatrix::from_element(2, 1, Metres(half))), @"float16 [[0.5], [0.5]]");
        assert_snapshot!(array!(Matrix1x2::new(Complex::new(1.0, 2.0), Complex::new(3.0, 4.0))), @"float64 [[[1.0, 2.0], [3.0, 4.0]]]");
        assert_snapshot!(array!(DMatrix::from_element(1, 2, true)), @"bool [[True, True]]");
    });
    assert_snapshot!(text(object(DMatrix::from_element(1, 2, None::<f64>))), @"([None, None], 1, 2)");
    assert_snapshot!(text(object(DMatrix::from_element(1, 2, ()))), @"([None, None], 1, 2)");
    assert_snapshot!(text(object(DMatrix::from_row_slice(2, 1, &[Some((1.0, 2.0)), None]))), @"([array([1., 2.]), None], 2, 1)");
    assert_snapshot!(text(object(DMatrix::from_row_slice(1, 2, &["a", "b"]))), @"(['a', 'b'], 1, 2)");
    assert_snapshot!(text(object(DMatrix::from_element(1, 2, 1i128))), @"([1, 1], 1, 2)");
    assert_snapshot!(text(object(DMatrix::from_element(1, 1, (1.0, 2u8)))), @"([(1.0, 2)], 1, 1)");
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

/// Sequences and tuples of numbers that nest as the rows of an array do, or nearly.
fn rows() -> impl Strategy<Value = Data> {
    let number = prop_oneof![
        6 => any::<u64>().prop_map(Data::F64),
        1 => any::<u32>().prop_map(Data::F32),
        1 => any::<bool>().prop_map(Data::Bool),
        1 => any::<i8>().prop_map(Data::I8),
        1 => any::<u16>().prop_map(Data::U16),
        1 => any::<i128>().prop_map(Data::I128),
    ];
    let shape = prop::collection::vec((any::<bool>(), 0usize..4), 0..4);
    let flaw = (0usize..4, 0usize..4, prop::option::of(data()));
    (number, shape, prop::option::weighted(0.3, flaw)).prop_map(|(number, shape, flaw)| {
        let nest = |inside, (is_tuple, length)| {
            let children = vec![inside; length];
            if is_tuple { Data::Tuple(children) } else { Data::Seq(children) }
        };
        let mut rows = shape.into_iter().fold(number, nest);
        if let Some((outer, inner, flaw)) = flaw {
            let around = children(&mut rows).and_then(|rows| rows.get_mut(outer));
            if let Some(child) = around {
                spoil(child, inner, flaw);
            }
        }
        rows
    })
}

fn children(rows: &mut Data) -> Option<&mut Vec<Data>> {
    match rows {
        Data::Seq(children) | Data::Tuple(children) => Some(children),
        _ => None,
    }
}

/// Puts something else into a row, or makes it shorter; or makes a tuple of a sequence.
fn spoil(row: &mut Data, at: usize, flaw: Option<Data>) {
    *row = match (row.clone(), flaw) {
        (Data::Seq(mut row), Some(flaw)) => {
            match row.get_mut(at) {
                Some(child) => *child = flaw,
                None => drop(row.pop()),
            }
            Data::Seq(row)
        }
        (Data::Seq(row), None) => Data::Tuple(row),
        (Data::Tuple(row), None) => Data::Seq(row),
        (_, Some(flaw)) => flaw,
        (row, None) => row,
    };
}

/// Types that mean something to the library, inside of plain ones.
#[test]
fn special_types_in_plain_values_are_those_of_the_library() {
    #[derive(Serialize)]
    struct Around<T> {
        before: f64,
        value: T,
        option: Option<T>,
        list: Vec<T>,
        map: BTreeMap<&'static str, T>,
        pair: (T, T),
    }

    python(|names| {
        run(names, SAME);
        let (py, same) = (names.py(), eval(names, "same"));
        macro_rules! same {
            ($($value:expr,)*) => {
                $({
                    let value = || $value;
                    let map = BTreeMap::from([("x", value()), ("y", value())]);
                    let (list, pair) = (vec![value(), value()], (value(), value()));
                    let around = Around { before: 0.5, value: value(), option: Some(value()), list, map, pair };
                    let by_library = Writer::new().limits(Limits { max_depth: 127, ..Limits::default() });
                    let expected = by_library.write(py, &around).unwrap();
                    same.call1((to_python(py, &around).unwrap(), expected)).unwrap();
                })*
            };
        }
        same! {
            array![[1.0, 2.0], [3.0, 4.0]],
            NdArray::new(vec![1, 2], vec![1u8, 2]).unwrap(),
            DMatrix::from_row_slice(1, 2, &[1.0, 2.0]),
            Matrix2x3::<f32>::zeros(),
            f16::from_f32(0.5),
            vec![bf16::from_f32(0.5); 2],
            Newtype(1.5),
            Unit,
            Kind::Struct { a: 1 },
            Kind::Unit,
            Point { x: 0.5, y: 1 },
            Static("relu"),
            Tree::of(&[(1.0, "a")]).unwrap(),
            "text",
            Some(1.5),
            vec![Some("a"), None],
            BTreeMap::from([(1, 2.0)]),
            BTreeMap::from([("a", [1.0; 2])]),
            Vec::<f64>::new(),
            [0.0; 0],
            u128::MAX,
        }
    });
}

#[test]
fn plain_values_are_those_of_the_library() {
    python(|names| {
        run(names, SAME);
        let (py, same) = (names.py(), eval(names, "same"));
        let parts = prop::collection::vec(prop_oneof![1 => data(), 2 => rows()], 1..5);
        let value = parts.prop_map(|parts| {
            let names = ["x", "shape", "data", "w", "b"];
            Data::Struct("Plain", names.into_iter().zip(parts).collect())
        });
        let values = prop_oneof![2 => value, 1 => data(), 1 => rows()];
        let result = TestRunner::new(config(20_000)).run(&values, |value| {
            // With limits, no value is plain.
            let by_library = Writer::new().limits(Limits { max_depth: 127, ..Limits::default() });
            match (to_python(py, &value), by_library.write(py, &value)) {
                (Ok(found), Ok(expected)) => {
                    let result = same.call1((&found, &expected));
                    let reason =
                        |error| TestCaseError::fail(format!("{found:?} {expected:?} {error}"));
                    result.map(drop).map_err(reason)
                }
                (found, expected) => {
                    let [found, expected] = [found, expected].map(|it| it.unwrap_err().to_string());
                    prop_assert_eq!(found, expected);
                    Ok(())
                }
            }
        });
        result.unwrap();
    });
}
