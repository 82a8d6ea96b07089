//! Arrays below `#[serde(flatten)]`, where serde keeps tensors in a buffer and hides the requests of the
//! type.

use std::collections::BTreeMap;
use std::fmt::Debug;

use half::f16;
use insta::assert_snapshot;
use ndarray::{Array1, Array2, ArrayD, IxDyn, arr0, arr1, arr2};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef::Tree;
use treedef_tensors::{Export, Loader, Source, Tensors, flax, npz, safetensors};

use crate::arrays::{Matrix, tensors};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Outer<T> {
    a: f32,
    #[serde(flatten)]
    inner: T,
}

fn outer<T>(inner: T) -> Outer<T> {
    Outer { a: 1.0, inner }
}

/// The value round-trips with and without our metadata, in each format.
#[track_caller]
fn comes_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(inner: T) -> String {
    let value = outer(inner);
    let tree = Tree::of(&value).unwrap();
    let plain = Export::new().structure_in_metadata(false).tensors(&tree).unwrap();
    let like = |source: Source<'_>| Loader::new().load_like(&value, source).unwrap();
    assert_eq!(like((&plain).into()), value);
    let bytes = safetensors::to_bytes(&plain).unwrap();
    assert_eq!(like(safetensors::from_bytes(&bytes).unwrap()), value);
    let bytes = npz::to_bytes(&plain).unwrap();
    assert_eq!(like(npz::from_bytes(&bytes).unwrap()), value);
    let nested = Export::new().separator("/").tensors(&tree).unwrap();
    let bytes = flax::to_bytes(&nested).unwrap();
    let of_flax =
        Loader::new().separator("/").load_like(&value, &flax::from_bytes(&bytes).unwrap());
    assert_eq!(of_flax.unwrap(), value);
    // The structure in the metadata has the same information.
    assert_eq!(Tensors::of(&tree).unwrap().load::<Outer<T>>().unwrap(), value);
    tensors(&value)
}

/// The value is read from tensors without our metadata, with the help of an example.
#[track_caller]
fn comes_back_alike<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T) {
    let tree = Tree::of(&value).unwrap();
    let export = Export::new().rest_in_metadata(true).structure_in_metadata(false);
    let tensors = export.tensors(&tree).unwrap();
    assert!(Loader::new().load_like(&value, &tensors).unwrap() == value);
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Inner {
    b: Vec<[f32; 2]>,
    half: Array1<f16>,
    layers: Vec<Matrix<Vec<usize>, u8>>,
    w: Array2<f32>,
}

fn inner() -> Inner {
    Inner {
        b: vec![[1.0, 2.0]; 3],
        half: arr1(&[f16::PI]),
        layers: vec![Matrix { shape: vec![1, 2], data: vec![3, 4] }; 3],
        w: arr2(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
    }
}

#[test]
fn flattened_arrays_come_back() {
    assert_snapshot!(comes_back(inner()), @"a: f32[]; b: f32[3, 2]; half: f16[1]; layers.0: u8[1, 2]; layers.1: u8[1, 2]; layers.2: u8[1, 2]; w: f32[2, 3]");
    assert_snapshot!(comes_back(outer2(inner())), @"a: f32[]; b: f32[3, 2]; c: u16[2]; half: f16[1]; layers.0: u8[1, 2]; layers.1: u8[1, 2]; layers.2: u8[1, 2]; w: f32[2, 3]");
    type Named<T> = BTreeMap<String, T>;
    let named = |value: Array2<i64>| Named::from([("x".to_owned(), value)]);
    assert_snapshot!(comes_back(named(arr2(&[[1, 2], [3, 4]]))), @"a: f32[]; x: i64[2, 2]");
    let mixed = (arr1(&[1u8; 3]), Matrix { shape: 3usize, data: vec![0.5f64; 3] }, vec![2u8, 3]);
    assert_snapshot!(comes_back(Named::from([("m".to_owned(), mixed)])), @"a: f32[]; m.0: u8[3]; m.1: f64[3]; m.2: u8[2]");
    let scalars = Named::from([("s".to_owned(), (arr0(1.5f32), 2.5f32))]);
    assert_snapshot!(comes_back(scalars), @"a: f32[]; s.0: f32[]; s.1: f32[]");
    // Elements with a shape of their own: nothing shows where it begins.
    let colours = Array2::from_shape_fn((2, 3), |(row, column)| [row as u8, column as u8, 7, 9]);
    assert_snapshot!(comes_back(Named::from([("c".to_owned(), colours)])), @"a: f32[]; c: u8[2, 3, 4]");
    let any = ArrayD::from_elem(IxDyn(&[1, 2, 1]), true);
    assert_snapshot!(comes_back(Named::from([("d".to_owned(), any)])), @"a: f32[]; d: bool[1, 2, 1]");
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Between {
    c: Array1<u16>,
    #[serde(flatten)]
    inner: Inner,
}

fn outer2(inner: Inner) -> Between {
    Between { c: arr1(&[1, 2]), inner }
}

/// Elements of a sequence are requested at once, and one by one where they differ.
#[test]
fn elements_may_differ() {
    type Alike = (Vec<f32>, Array1<f32>, Vec<f32>, Matrix<[usize; 1], f32>);
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Mixed {
        m: Alike,
    }
    let numbers = || vec![0.5f32, 1.5];
    let m = (numbers(), arr1(&[0.5, 1.5]), numbers(), Matrix { shape: [2], data: numbers() });
    assert_snapshot!(comes_back(Mixed { m }), @"a: f32[]; m.0: f32[2]; m.1: f32[2]; m.2: f32[2]; m.3: f32[2]");
}

/// Many tensors need few walks.
#[test]
fn many_arrays_are_read() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Many {
        layers: Vec<BTreeMap<String, Array1<f32>>>,
    }
    let names = ["q", "k", "v", "o"];
    let layer = || names.map(|name| (name.to_owned(), arr1(&[0.5; 3]))).into();
    comes_back(Many { layers: (0..500).map(|_| layer()).collect() });
}

/// The report names tensors that fit no representation, in the words of the type, and changed numbers.
#[test]
fn what_does_not_fit_is_told() {
    let plain = |value: &Outer<Inner>| {
        let tree = Tree::of(value).unwrap();
        let export = Export::new().structure_in_metadata(false);
        export.tensors(&tree).unwrap().into_owned()
    };
    let file = plain(&outer(inner()));
    #[derive(Debug, Serialize, Deserialize)]
    struct Other {
        b: Vec<[f32; 2]>,
        half: Array1<f16>,
        layers: Vec<Matrix<Vec<usize>, u8>>,
        w: Array2<u8>,
    }
    assert_snapshot!(file.load::<Outer<Other>>().unwrap_err(), @"
    the tensors do not fit the type
    stopped: invalid type: newtype struct, expected u8 at the root (in a buffer of serde, as below `flatten`, where a tensor is nested sequences and a key a text: `Loader::load_like` reads what an example has there)
    ");
    assert!(file.load::<Outer<Inner>>().is_err());
    // The example may have other lengths, and its other values do not matter.
    let first = |layer: usize| Matrix { shape: vec![1, layer], data: vec![9; layer] };
    let other =
        Inner { b: Vec::new(), half: arr1(&[]), layers: vec![first(3)], w: Array2::zeros((1, 1)) };
    assert_eq!(Loader::new().load_like(&outer(other), &file).unwrap(), outer(inner()));
    let without = Inner { layers: Vec::new(), ..inner() };
    assert_snapshot!(Loader::new().load_like(&outer(without), &file).unwrap_err(), @"
    the tensors do not fit the type
    stopped: invalid length 1, expected struct Matrix with 2 elements at the root (in a buffer of serde, as below `flatten`, where a tensor is nested sequences and a key a text: `Loader::load_like` reads what an example has there)
    ");
    #[derive(Debug, Serialize, Deserialize)]
    struct Text {
        b: String,
    }
    assert_snapshot!(file.load::<Outer<Text>>().unwrap_err(), @"
    the tensors do not fit the type
    stopped: invalid type: sequence, expected a string at the root (in a buffer of serde, as below `flatten`, where a tensor is nested sequences and a key a text: `Loader::load_like` reads what an example has there)
    ");
    let b = Tensors::new(
        [("a", "a"), ("b", "b")]
            .map(|(name, from)| (name.to_owned(), file.get(from).unwrap().clone())),
    );
    type Named = Outer<BTreeMap<String, Vec<[f32; 2]>>>;
    assert!(Loader::new().load_partial::<Named>(&b.unwrap()).unwrap().1.is_exact());
}

/// Keys that are numbers round-trip, although serde keeps them as texts in a buffer.
#[test]
fn keys_of_all_kinds_come_back() {
    #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    struct Id(u16);
    #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    enum Side {
        Left,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Flat<K: Ord> {
        a: f32,
        #[serde(flatten)]
        inside: Inside<K>,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Inside<K: Ord> {
        map: BTreeMap<K, Vec<f32>>,
        #[serde(flatten)]
        deep: Deep<K>,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Deep<K: Ord> {
        arrays: Vec<BTreeMap<K, Array1<f32>>>,
        names: BTreeMap<String, u8>,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Untagged<K: Ord> {
        Pair(u8, u8),
        Map(BTreeMap<K, Vec<f32>>),
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Beside<K: Ord> {
        a: f32,
        #[serde(flatten)]
        rest: BTreeMap<K, Vec<f32>>,
    }
    fn back<K>(keys: [K; 2])
    where
        K: Ord + Clone + std::fmt::Debug + Serialize + serde::de::DeserializeOwned,
    {
        let map = || keys.clone().map(|key| (key, vec![1.0f32, 2.0])).into_iter().collect();
        let arrays = keys.clone().map(|key| (key, arr1(&[0.5f32, 1.5]))).into_iter().collect();
        let names = [("1".to_owned(), 1), ("9".to_owned(), 2)].into();
        let deep = Deep { arrays: vec![arrays], names };
        comes_back_alike(Flat { a: 1.0, inside: Inside { map: map(), deep } });
        comes_back_alike((Untagged::Map(map()), 1u8));
        comes_back_alike(vec![Beside { a: 1.0, rest: map() }, Beside { a: 2.0, rest: map() }]);
    }
    back([3u32, 7]);
    back([0u8, 1]);
    back([-5i64, 2]);
    back([-1i8, 1]);
    back([u64::MAX, 0]);
    back([false, true]);
    back(['1', 'x']);
    back([Id(4), Id(0)]);
    back([Side::Left, Side::Left]);
    back(["0".to_owned(), "1".to_owned()]);
    // Missing tensors are reported with them.
    let file = Tree::of(&BTreeMap::from([(3u32, [0.5f32])])).unwrap();
    let example = Beside { a: 1.0, rest: [(9u32, vec![1.0])].into() };
    let message = Loader::new().load_like(&example, &Tensors::of(&file).unwrap()).unwrap_err();
    assert_snapshot!(message, @"
    the tensors do not fit the type
    missing `a`: f32[]
    ");
    #[derive(Debug, Serialize, Deserialize)]
    struct Small {
        #[serde(flatten)]
        map: BTreeMap<String, BTreeMap<u8, Vec<f32>>>,
    }
    let large = BTreeMap::from([("m", BTreeMap::from([(300, [0.5f32])]))]);
    assert_snapshot!(crate::message::<Small>(&large), @r#"
    the tensors do not fit the type
    stopped: invalid type: string "300", expected u8 at the root (in a buffer of serde, as below `flatten`, where a tensor is nested sequences and a key a text: `Loader::load_like` reads what an example has there)
    "#);
}

/// A map of many arrays is not read once for each of them.
#[test]
fn many_arrays_are_read_below_flatten() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Arrays<A> {
        arrays: BTreeMap<String, A>,
        lists: BTreeMap<String, Vec<f32>>,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Model<A> {
        scale: f32,
        #[serde(flatten)]
        arrays: Arrays<A>,
    }
    let arrays = (0..1100).map(|at| (format!("k{at}"), arr1(&[1.0f32, 2.0]))).collect();
    let lists = (0..30).map(|at| (format!("v{at}"), vec![0.5])).collect();
    let model = Model { scale: 0.5, arrays: Arrays { arrays, lists } };
    comes_back_alike(model);
}

/// serde's buffer makes an `f32` of every double.
#[test]
fn a_number_that_becomes_infinite_below_flatten_is_an_error() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Flat {
        #[serde(flatten)]
        map: BTreeMap<String, Vec<f32>>,
    }
    let read = |numbers: &[f64]| {
        let tree = Tree::of(&BTreeMap::from([("a", numbers)])).unwrap();
        Loader::new().convert_floats(true).load::<Flat>(&Tensors::of(&tree).unwrap())
    };
    assert_eq!(read(&[0.1, f64::INFINITY]).unwrap().map["a"], [0.1, f32::INFINITY]);
    assert_snapshot!(read(&[0.1, 1e300]).unwrap_err(), @"
    the tensors do not fit the type
    stopped: 1e300 does not fit into f32 at `a`
    ");
}

/// The error does not complain about the placeholder of a missing text.
#[test]
fn a_tag_that_is_missing_is_all_that_is_told() {
    #[derive(Debug, Serialize, Deserialize)]
    #[serde(tag = "type")]
    enum Tagged {
        A { w: Vec<f32> },
    }
    assert_snapshot!(crate::message::<Tagged>(&BTreeMap::from([("w", [0.5f32])])), @"
    the tensors do not fit the type
    missing `type`: str
    ");
}
