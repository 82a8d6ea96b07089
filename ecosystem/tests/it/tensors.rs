//! Arrays of other crates as tensors: what the crate `safetensors`, which is the one of Python, writes and reads.

use std::collections::{BTreeMap, HashMap};

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde::{Deserialize, Serialize};
use treedef::{ArrayRule, Flattener, Leaf, Tree};
use treedef_tensors::{Export, Loader, Tensors};

use crate::laws::Subject;

/// Name, type, shape and bytes.
type Listed = BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)>;

/// An array wherever a model has one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Model<T> {
    first: T,
    layers: Vec<T>,
    named: BTreeMap<String, T>,
    best: Option<T>,
    wrapped: Wrapped<T>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Wrapped<T>(T);

impl<T: Clone> Model<T> {
    fn new(value: &T) -> Self {
        let copy = || value.clone();
        Model {
            first: copy(),
            layers: vec![copy(); 2],
            named: [("a".to_owned(), copy())].into(),
            best: Some(copy()),
            wrapped: Wrapped(copy()),
        }
    }
}

fn read(file: &[u8]) -> Listed {
    let tensors = SafeTensors::deserialize(file).unwrap().tensors().into_iter();
    tensors
        .map(|(name, view)| (name, (view.dtype(), view.shape().to_vec(), view.data().to_vec())))
        .collect()
}

fn write(tensors: &Listed) -> Vec<u8> {
    let views = tensors.iter().map(|(name, (dtype, shape, bytes))| {
        (name.clone(), TensorView::new(*dtype, shape.clone(), bytes).unwrap())
    });
    safetensors::serialize(views, None::<HashMap<_, _>>).unwrap()
}

/// Says what serde does not: how to flatten, and how to load.
struct Rules {
    flattener: Flattener,
    loader: Loader,
}

impl Rules {
    fn none() -> Self {
        Rules { flattener: Flattener::new(), loader: Loader::new() }
    }
}

/// Holds that a value comes back from the tensors that it is written as, and that a file of these which
/// another wrote is read and written as it is: by default, and where arrays are leaves.
#[track_caller]
fn comes_back<T: Subject>(value: &T, rules: &Rules) -> Listed {
    comes_back_by(value, rules, |tensors| rules.loader.load(tensors))
}

/// The same of a value that is read as an example has it.
#[track_caller]
fn comes_back_by<T: Subject>(
    value: &T,
    rules: &Rules,
    load: impl Fn(&Tensors) -> treedef_tensors::Result<T>,
) -> Listed {
    let file = |tree: &Tree<Leaf>| {
        let tensors = Tensors::of(tree).unwrap();
        treedef_tensors::safetensors::to_bytes(&tensors).unwrap()
    };
    let tree = rules.flattener.tree(value).unwrap();
    let saved = read(&file(&tree));
    let there = write(&saved);
    let there = treedef_tensors::safetensors::from_bytes(&there).unwrap().read().unwrap();
    let loaded: T = load(&there).unwrap();
    assert_eq!(loaded, *value);
    assert_eq!(read(&file(&rules.flattener.tree(&loaded).unwrap())), saved);
    let arrays = rules.flattener.clone().arrays(true).tree(&loaded).unwrap();
    assert_eq!(read(&file(&arrays)), saved);
    let back: Tree<Leaf> = Export::new().tree(&Tensors::of(&tree).unwrap()).unwrap();
    assert_eq!(back, tree.without_arrays().unwrap());
    saved
}

/// serde does not say what is asked for below `flatten`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Outer<T> {
    epoch: u64,
    #[serde(flatten)]
    inner: Inner<T>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Inner<T> {
    array: T,
    list: Vec<f32>,
}

/// `f32[2, 3]`, the one tensor of an array, or all of what is none.
#[track_caller]
fn tensors<T: Subject>(value: T) -> String {
    tensors_by(value, &|_| Rules::none())
}

/// The same of a matrix, with rules for where it is.
#[track_caller]
fn matrix<T: Subject>(value: T, rule: impl Fn(Flattener, &str) -> Flattener) -> String {
    tensors_by(value, &|places| {
        let places = places.iter();
        places.fold(Rules::none(), |Rules { flattener, loader }, (path, name)| Rules {
            flattener: rule(flattener.arrays(true), path),
            loader: loader.column_major(name),
        })
    })
}

/// A path and a name.
type Place = (&'static str, &'static str);

/// Where a [`Model`] has arrays.
const PLACES: [Place; 5] = [
    (".first", "first"),
    (".layers[*]", "layers.*"),
    (".named[*]", "named.*"),
    (".best?", "best"),
    (".wrapped", "wrapped"),
];

#[track_caller]
fn tensors_by<T: Subject>(value: T, rules: &dyn Fn(&[Place]) -> Rules) -> String {
    let model = comes_back(&Model::new(&value), &rules(&PLACES));
    let show = |(dtype, shape, _): &(Dtype, Vec<usize>, Vec<u8>)| format!("{dtype:?}{shape:?}");
    let alone = comes_back(&value, &rules(&[("", "")]));
    // There a tuple with a unit in it looks like a map.
    if alone.keys().all(|name| name.parse::<usize>().is_err()) {
        let inner = Inner { array: value, list: vec![0.5, 1.5] };
        let (outer, rules) = (Outer { epoch: 7, inner }, rules(&[(r#"["array"]"#, "array")]));
        comes_back_by(&outer, &rules, |tensors| rules.loader.load_like(&outer, tensors));
    }
    // A vector of equal blocks is one tensor; arrays that are structs are one each.
    assert!(
        [5, 6].contains(&(model.len() / alone.len())) && model.len().is_multiple_of(alone.len())
    );
    let show_all = |(name, tensor): (&String, &_)| match name.as_str() {
        "" => show(tensor),
        name => format!("{name}: {}", show(tensor)),
    };
    alone.iter().map(show_all).collect::<Vec<_>>().join("; ")
}

/// A `flex32` is an `f32` in files, and is read as one.
#[track_caller]
fn flex32(value: burn_tensor::TensorData) -> String {
    let tree = Tree::of(&value).unwrap();
    let tensors = Tensors::of(&tree).unwrap();
    let file = treedef_tensors::safetensors::to_bytes(&tensors).unwrap();
    let loaded: burn_tensor::TensorData =
        treedef_tensors::safetensors::from_bytes(&file).unwrap().load().unwrap();
    assert_eq!(loaded.dtype, burn_tensor::DType::F32);
    assert_eq!((&loaded.bytes, &loaded.shape), (&value.bytes, &value.shape));
    // The structure has the type.
    let back = treedef_tensors::safetensors::from_bytes(&file).unwrap().read().unwrap();
    let back: Tree<Leaf> = treedef_tensors::Export::new().tree(&back).unwrap();
    assert_eq!(back, tree);
    assert_eq!(back.into_typed::<burn_tensor::TensorData>().unwrap().dtype, value.dtype);
    self::tensors(loaded)
}

/// The element at a row and a column is the same number here and in a file.
#[test]
fn matrices_have_their_rows_and_columns() {
    use nalgebra::{DMatrix, SMatrix};

    let number = |row: usize, column: usize| (row * 10 + column) as f64;
    let value = (
        DMatrix::from_fn(2, 3, number),
        SMatrix::<f64, 2, 3>::from_fn(number),
        ndarray::Array2::from_shape_fn((2, 3), |(row, column)| number(row, column)),
    );
    let rules =
        Flattener::new().arrays(true).array_rule(ArrayRule::Nalgebra(".0".parse().unwrap()));
    let tree =
        rules.array_rule(ArrayRule::Matrix(".1".parse().unwrap(), 2, 3)).tree(&value).unwrap();
    let tensors = Tensors::of(&tree).unwrap();
    for name in ["0", "1", "2"] {
        let tensor = tensors.get(name).unwrap();
        assert_eq!(tensor.shape(), [2, 3]);
        let numbers: &[f64] = tensor.as_slice().unwrap();
        assert_eq!(numbers, [0.0, 1.0, 2.0, 10.0, 11.0, 12.0], "{name}");
    }
}

#[test]
fn arrays_are_the_tensors_that_python_has() {
    use burn_tensor::{DType, TensorData};
    use euclid::{Point2D, UnknownUnit};
    use half::{bf16, f16};
    use nalgebra::{
        DMatrix, DVector, Isometry3, Matrix2, Matrix2xX, MatrixXx3, RowDVector, SMatrix, Vector3,
    };
    use ndarray::{Array3, ArrayD, IxDyn, ShapeBuilder, arr0, arr1, arr2};
    use num_complex::Complex;
    use sprs::{CsMat, CsVec};

    let columns = ndarray::Array2::from_shape_fn((2, 3).f(), |(i, j)| (i * 3 + j) as f64);
    let dynamic = |rules: Flattener, path: &str| {
        let inside = path.replace(".wrapped", ".wrapped.0"); // the tuple is in the newtype
        rules.array_rule(ArrayRule::Nalgebra(inside.parse().unwrap()))
    };
    let fixed = |rows, columns| {
        move |rules: Flattener, path: &str| {
            rules.array_rule(ArrayRule::Matrix(path.parse().unwrap(), rows, columns))
        }
    };
    let by_rows = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let flex = TensorData { dtype: DType::Flex32, ..TensorData::from([1.5f32, 2.5]) };
    let rows = [
        ("ndarray::Array0<f64>", tensors(arr0(0.5))),
        ("ndarray::Array1<i32>", tensors(arr1(&[1, 2, 3]))),
        ("ndarray::Array2<f32>", tensors(arr2(&[[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]))),
        ("ndarray::Array2<f64>, columns", tensors(columns)),
        ("ndarray::Array3<bool>", tensors(Array3::from_shape_fn((2, 1, 2), |(i, ..)| i > 0))),
        ("ndarray::ArrayD<u8>", tensors(ArrayD::from_elem(IxDyn(&[2, 1, 3]), 7u8))),
        ("ndarray::Array1<f16>", tensors(arr1(&[f16::ONE, f16::PI]))),
        ("ndarray::Array1<Complex<f32>>", tensors(arr1(&[Complex::new(1.0f32, 2.0); 3]))),
        ("ndarray::Array1<[u8; 4]>", tensors(arr1(&[[1u8, 2, 3, 4]; 3]))),
        ("ndarray::Array2<f32>, empty", tensors(ndarray::Array2::<f32>::zeros((0, 3)))),
        ("ndarray 0.16", tensors(ndarray_0_16::arr2(&[[1.0, 2.0], [3.0, 4.0]]))),
        ("burn TensorData, f32", tensors(TensorData::from([[1.0f32, 2.0], [3.0, 4.0]]))),
        ("burn TensorData, f64", tensors(TensorData::from([1.0f64]))),
        ("burn TensorData, f16", tensors(TensorData::from([f16::PI; 2]))),
        ("burn TensorData, bf16", tensors(TensorData::from([bf16::PI; 3]))),
        ("burn TensorData, bool", tensors(TensorData::from([true, false]))),
        ("burn TensorData, i64", tensors(TensorData::new(vec![7i64; 6], [1, 2, 3]))),
        ("burn TensorData, u8, empty", tensors(TensorData::new(Vec::<u8>::new(), [0, 3]))),
        ("burn TensorData, i16, scalar", tensors(TensorData::new(vec![-3i16], [0usize; 0]))),
        ("burn TensorData, flex32", flex32(flex)),
        ("Vec<Vec<f32>>", tensors(vec![vec![0.5f32; 4]; 3])),
        ("[half::bf16; 2]", tensors([bf16::ONE; 2])),
        ("[Complex<f64>; 2]", tensors([Complex::new(0.5, 1.5); 2])),
        ("nalgebra::Vector3<f64>", tensors(Vector3::new(1.0, 2.0, 3.0))),
        (
            "nalgebra::SMatrix<f64, 2, 3>",
            tensors(SMatrix::<f64, 2, 3>::from_fn(|i, j| (i + j) as f64)),
        ),
        (
            "nalgebra::DMatrix<f64>",
            tensors(DMatrix::from_row_slice(2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])),
        ),
        (
            "nalgebra::Matrix2xX<f32>",
            tensors(Matrix2xX::from_column_slice(&[1.0f32, 2.0, 3.0, 4.0])),
        ),
        ("nalgebra::DVector<f64>", tensors(DVector::from_vec(vec![1.0, 2.0]))),
        ("nalgebra::Isometry3<f64>", tensors(Isometry3::rotation(Vector3::new(0.1, 0.2, 0.3)))),
        ("by rule:", String::new()),
        ("nalgebra::SMatrix<f64, 2, 3>", {
            matrix(SMatrix::<f64, 2, 3>::from_row_slice(&by_rows), fixed(2, 3))
        }),
        ("nalgebra::SMatrix<f32, 1, 3>", {
            matrix(SMatrix::<f32, 1, 3>::new(1.0, 2.0, 3.0), fixed(1, 3))
        }),
        ("nalgebra::Matrix2<Complex<f32>>", {
            let complex = |rules: Flattener, path: &str| {
                fixed(2, 2)(rules.array_rule(ArrayRule::Complex("**".parse().unwrap())), path)
            };
            matrix(Matrix2::from_element(Complex::new(1.0f32, 2.0)), complex)
        }),
        ("nalgebra::DMatrix<f64>", matrix(DMatrix::from_row_slice(2, 3, &by_rows), dynamic)),
        ("nalgebra::DMatrix<f16>", matrix(DMatrix::from_element(3, 1, f16::PI), dynamic)),
        ("nalgebra::DVector<i64>", matrix(DVector::from_vec(vec![1i64, 2]), dynamic)),
        ("nalgebra::RowDVector<u8>", matrix(RowDVector::from_vec(vec![1u8, 2]), dynamic)),
        ("nalgebra::Matrix2xX<f32>", {
            matrix(Matrix2xX::from_column_slice(&[1.0f32, 2.0, 3.0, 4.0]), dynamic)
        }),
        ("nalgebra::MatrixXx3<u8>", matrix(MatrixXx3::from_column_slice(&[1u8, 2, 3]), dynamic)),
        ("nalgebra 0.33", matrix(nalgebra_0_33::DMatrix::from_row_slice(2, 3, &by_rows), dynamic)),
        ("glam::Mat3", matrix(glam::Mat3::from_rotation_x(0.5), fixed(3, 3))),
        ("without a rule again:", String::new()),
        ("nalgebra 0.33", tensors(nalgebra_0_33::DVector::from_vec(vec![1.0, 2.0]))),
        ("glam::Vec3", tensors(glam::Vec3::new(1.0, 2.0, 3.0))),
        ("glam::Mat4", tensors(glam::Mat4::from_rotation_x(0.5))),
        ("euclid::Point2D<f32>", tensors(Point2D::<f32, UnknownUnit>::new(1.0, 2.0))),
        ("sprs::CsVec<f64>", tensors(CsVec::new(5, vec![0, 2], vec![0.5, 2.5]))),
        ("geo_types::Point<f32>", tensors(geo_types::Point::new(1.0f32, 2.0))),
        ("arrayvec::ArrayVec<f32, 4>", tensors(arrayvec::ArrayVec::<f32, 4>::from([0.5; 4]))),
        (
            "smallvec::SmallVec<[u8; 2]>",
            tensors(smallvec::SmallVec::<[u8; 2]>::from_slice(&[1, 2, 3])),
        ),
    ];
    let table: Vec<String> = rows.iter().map(|(of, shape)| format!("{of}: {shape}")).collect();
    insta::assert_snapshot!(table.join("\n"), @"
    ndarray::Array0<f64>: F64[]
    ndarray::Array1<i32>: I32[3]
    ndarray::Array2<f32>: F32[2, 3]
    ndarray::Array2<f64>, columns: F64[2, 3]
    ndarray::Array3<bool>: BOOL[2, 1, 2]
    ndarray::ArrayD<u8>: U8[2, 1, 3]
    ndarray::Array1<f16>: F16[2]
    ndarray::Array1<Complex<f32>>: F32[3, 2]
    ndarray::Array1<[u8; 4]>: U8[3, 4]
    ndarray::Array2<f32>, empty: F32[0, 3]
    ndarray 0.16: F64[2, 2]
    burn TensorData, f32: F32[2, 2]
    burn TensorData, f64: F64[1]
    burn TensorData, f16: F16[2]
    burn TensorData, bf16: BF16[3]
    burn TensorData, bool: BOOL[2]
    burn TensorData, i64: I64[1, 2, 3]
    burn TensorData, u8, empty: U8[0, 3]
    burn TensorData, i16, scalar: I16[]
    burn TensorData, flex32: F32[2]
    Vec<Vec<f32>>: F32[3, 4]
    [half::bf16; 2]: BF16[2]
    [Complex<f64>; 2]: F64[2, 2]
    nalgebra::Vector3<f64>: F64[3]
    nalgebra::SMatrix<f64, 2, 3>: F64[6]
    nalgebra::DMatrix<f64>: 0: F64[6]; 1: U64[]; 2: U64[]
    nalgebra::Matrix2xX<f32>: 0: F32[4]; 2: U64[]
    nalgebra::DVector<f64>: 0: F64[2]; 1: U64[]
    nalgebra::Isometry3<f64>: rotation: F64[4]; translation: F64[3]
    by rule:: 
    nalgebra::SMatrix<f64, 2, 3>: F64[2, 3]
    nalgebra::SMatrix<f32, 1, 3>: F32[1, 3]
    nalgebra::Matrix2<Complex<f32>>: C64[2, 2]
    nalgebra::DMatrix<f64>: F64[2, 3]
    nalgebra::DMatrix<f16>: F16[3, 1]
    nalgebra::DVector<i64>: I64[2]
    nalgebra::RowDVector<u8>: U8[2]
    nalgebra::Matrix2xX<f32>: F32[2, 2]
    nalgebra::MatrixXx3<u8>: U8[1, 3]
    nalgebra 0.33: F64[2, 3]
    glam::Mat3: F32[3, 3]
    without a rule again:: 
    nalgebra 0.33: 0: F64[2]; 1: U64[]
    glam::Vec3: F32[3]
    glam::Mat4: F32[16]
    euclid::Point2D<f32>: F32[2]
    sprs::CsVec<f64>: data: F64[2]; dim: U64[]; indices: U64[2]
    geo_types::Point<f32>: x: F32[]; y: F32[]
    arrayvec::ArrayVec<f32, 4>: F32[4]
    smallvec::SmallVec<[u8; 2]>: U8[3]
    ");
    // A sparse matrix is no array. Its variant has no tensor, so only its tree comes back.
    let text = |matrix: CsMat<f32>| {
        let tree = Tree::of(&matrix).unwrap();
        let export = Export::new().rest_in_metadata(true);
        let tensors = export.tensors(&tree).unwrap();
        let back: Tree<Leaf> = export.tree(&tensors).unwrap();
        assert_eq!(back.into_typed::<CsMat<f32>>().unwrap(), matrix);
        tensors
            .iter()
            .map(|(name, tensor)| format!("{name}: {tensor}"))
            .collect::<Vec<_>>()
            .join("; ")
    };
    insta::assert_snapshot!(text(CsMat::eye(2)), @"nrows: u64[]; ncols: u64[]; indptr: u64[3]; indices: u64[2]; data: f32[2]");
}
