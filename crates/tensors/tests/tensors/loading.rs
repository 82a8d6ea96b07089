//! Types that are read from tensors by nothing but themselves.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;

use half::{bf16, f16};
use insta::assert_snapshot;
use ndarray::{Array2, Array3, ArrayD, arr0};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef::Tree;
use treedef_tensors::{Dtype, Export, Loader, Tensor, Tensors};

use crate::{Layer, comes_back, layer, message, read};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Act {
    Leaky(f32),
    Pair(f32, Vec<u8>),
    Clip { low: f32, high: f64 },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Wrapped(Layer);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Pair(Layer, [u16; 2]);

#[test]
fn values_of_all_kinds_come_back() {
    comes_back(1.5f32);
    comes_back([[1u8, 2], [3, 4]]);
    comes_back(vec![vec![[1i64; 2]; 3]; 4]);
    comes_back(vec![vec![1.0f64], vec![2.0, 3.0]]);
    comes_back((true, [false, true], 1i8, -2i16, 3u32, -4i32, u64::MAX, f64::NEG_INFINITY, 'c'));
    comes_back(vec![layer(), layer()]);
    comes_back(Wrapped(layer()));
    comes_back(Pair(layer(), [1, 2]));
    comes_back(Some(Some(layer())));
    comes_back(BTreeMap::from([("a".to_owned(), layer()), ("b c".to_owned(), layer())]));
    comes_back(HashMap::from([(3u8, 1.5f32), (20, 2.5)]));
    comes_back(BTreeMap::from([(-3i64, vec![Wrapped(layer())])]));
    comes_back(HashMap::from([(true, 1u8), (false, 2)]));
    comes_back(vec![
        Act::Leaky(0.5),
        Act::Pair(1.5, vec![1, 2]),
        Act::Clip { low: 0.0, high: 1.0 },
    ]);
    comes_back((f16::from_f32(1.5), [bf16::from_f32(0.1); 3], vec![[f16::NEG_ONE]; 2]));
    comes_back(vec![Some(1u8), None, Some(3)]);
    comes_back(("text".to_owned(), i128::MIN, vec![("a".to_owned(), u128::MAX)], 1.5f32));
    comes_back((0..12).map(|index| index as f32).collect::<Vec<_>>());
    comes_back(BTreeMap::from([("k".to_owned(), "text".to_owned())]).get("k").map(|_| 1u8));
    // More elements than one digit counts.
    comes_back(
        (0..120)
            .map(|index| (index, vec![0.5f32; index as usize % 3 + 1]))
            .collect::<Vec<(i32, _)>>(),
    );
}

#[test]
fn arrays_of_ndarray_have_the_shape_of_the_tensor() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Model {
        w: Array2<f32>,
        d: ArrayD<i64>,
    }
    #[derive(Serialize)]
    struct Plain {
        w: [[f32; 3]; 2],
        d: [[[i64; 1]; 2]; 3],
    }
    let plain =
        Plain { w: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], d: [[[1], [2]], [[3], [4]], [[5], [6]]] };
    let model: Model = read(&Loader::new(), &plain).unwrap();
    assert_eq!(model.w, ndarray::arr2(&plain.w));
    assert_eq!(model.d.shape(), [3, 2, 1]);
    let turned = Loader::new().transpose("*");
    let model: Model = read(&turned, &plain).unwrap();
    assert_eq!(model.w, ndarray::arr2(&plain.w).t());
    assert_eq!(model.d.iter().copied().collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(model.d.shape(), [3, 1, 2]);
    let scalar: ndarray::Array0<f32> = read(&Loader::new(), &1.5f32).unwrap();
    assert_eq!(scalar, arr0(1.5));

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Other {
        shape: Vec<usize>,
        data: Vec<f32>,
    }
    let other: Other = read(&Loader::new(), &plain.w).unwrap();
    assert_eq!(other, Other { shape: vec![2, 3], data: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0] });
    assert_snapshot!(message::<BTreeMap<String, Array3<f32>>>(&plain), @"
    the tensors do not fit the type
    `d` is i64[3, 2, 1], expected f32[3, 2, 1]
    `w` is f32[2, 3], expected f32[_, _, _]
    ");
    assert_snapshot!(message::<BTreeMap<String, Array2<f64>>>(&BTreeMap::from([("w", plain.w)])), @"
    the tensors do not fit the type
    `w` is f32[2, 3], expected f64[2, 3] (see `Loader::convert_floats`)
    ");
    // An array inside a file that has its struct as it is.
    let w = BTreeMap::from([("w".to_owned(), ndarray::arr2(&plain.w))]);
    assert_eq!(read::<BTreeMap<String, Array2<f32>>>(&Loader::new(), &w).unwrap(), w);
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Renamed {
    #[serde(rename = "weight", alias = "w")]
    first: Vec<[f32; 2]>,
    #[serde(alias = "b")]
    bias: Option<f32>,
    #[serde(default)]
    scale: f32,
    #[serde(skip)]
    cache: Vec<u8>,
}

#[test]
fn what_serde_says_of_fields_holds() {
    let expected = Renamed { first: layer().w, bias: Some(7.0), scale: 0.0, cache: vec![] };
    assert_eq!(read::<Renamed>(&Loader::new(), &layer()).unwrap(), expected);
    #[derive(Serialize)]
    struct File {
        weight: [[f32; 2]; 1],
        scale: f32,
    }
    let read: Renamed = read(&Loader::new(), &File { weight: [[1.0, 2.0]], scale: 3.0 }).unwrap();
    assert_eq!(read, Renamed { first: vec![[1.0, 2.0]], bias: None, scale: 3.0, cache: vec![] });
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Flat {
    b: f32,
    #[serde(flatten)]
    inner: Inner,
    #[serde(flatten)]
    rest: BTreeMap<String, Vec<Vec<f32>>>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Inner {
    w: Vec<[f32; 2]>,
    step: u64,
    layers: Vec<Layer>,
    half: Vec<f16>,
}

fn flat() -> Flat {
    let inner = Inner { w: layer().w, step: 3, layers: vec![layer()], half: vec![f16::PI] };
    let rest = BTreeMap::from([("x".to_owned(), vec![vec![1.0], vec![2.0]])]);
    Flat { b: 1.0, inner, rest }
}

/// serde keeps such fields in a buffer, so their types are checked in the value.
#[test]
fn flattened_fields_are_read_and_checked() {
    comes_back(flat());
    #[derive(Serialize, Deserialize)]
    struct Outer<T> {
        a: f32,
        #[serde(flatten)]
        inner: T,
    }
    #[derive(Serialize, Deserialize)]
    struct F32 {
        x: Vec<f32>,
    }
    #[derive(Serialize, Deserialize)]
    struct F64 {
        x: Vec<f64>,
        #[serde(default)]
        y: u16,
    }
    #[derive(Serialize, Deserialize)]
    struct Half {
        x: Vec<f16>,
    }
    let file = |x: F64| Outer { a: 1.0, inner: x };
    assert_snapshot!(message::<Outer<F32>>(&file(F64 { x: vec![1.0], y: 0 })), @"
    the tensors do not fit the type
    `x` is f64[1], expected f32[1] (see `Loader::convert_floats`)
    unused `y`: u16[]
    ");
    assert_snapshot!(message::<Outer<F64>>(&Outer { a: 1.0, inner: F32 { x: vec![1.0] } }), @"
    the tensors do not fit the type
    `x` is f32[1], expected f64[1] (see `Loader::convert_floats`)
    ");
    assert_snapshot!(message::<Outer<F32>>(&Outer { a: 1.0, inner: Half { x: vec![f16::PI] } }), @"
    the tensors do not fit the type
    stopped: invalid type: newtype struct, expected f32 at the root (in a buffer of serde, as below `flatten`, where a tensor is nested sequences and a key a text: `Loader::load_like` reads what an example has there)
    ");
    assert_snapshot!(message::<Outer<Half>>(&Outer { a: 1.0, inner: F32 { x: vec![1.0] } }), @"
    the tensors do not fit the type
    stopped: invalid type: floating point `1.0`, expected u16 at the root (in a buffer of serde, as below `flatten`, where a tensor is nested sequences and a key a text: `Loader::load_like` reads what an example has there)
    ");
    assert_snapshot!(message::<Outer<F32>>(&BTreeMap::from([("y", vec![1.0f32])])), @"
    the tensors do not fit the type
    stopped: invalid type: unit value, expected a sequence at the root
    missing `a`: f32[]
    missing `x`: anything
    ");
    let wide = Loader::new().convert_floats(true);
    let x = read::<Outer<F32>>(&wide, &Outer { a: 1.0, inner: Half { x: vec![f16::PI] } }).unwrap();
    assert_eq!(x.inner.x, [f16::PI.to_f32()]);
}

#[test]
fn separators_are_chosen() {
    let tree = Tree::of(&vec![Wrapped(layer())]).unwrap();
    for separator in ["/", "::", ""] {
        let export = Export::new().separator(separator).structure_in_metadata(false);
        let tensors = export.tensors(&tree).unwrap();
        let loader = Loader::new().separator(separator);
        let read = loader.load::<Vec<Wrapped>>(&tensors);
        assert_eq!(read.is_ok(), !separator.is_empty(), "{separator}");
    }
}

/// A type that reads two elements of any number.
#[test]
fn elements_that_a_type_leaves_are_told() {
    struct Two(Vec<f32>);
    impl Serialize for Two {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            self.0.serialize(serializer)
        }
    }
    impl<'de> Deserialize<'de> for Two {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Visitor;
            impl<'de> serde::de::Visitor<'de> for Visitor {
                type Value = Two;
                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("two")
                }
                fn visit_seq<A: serde::de::SeqAccess<'de>>(
                    self,
                    mut seq: A,
                ) -> Result<Two, A::Error> {
                    let two = [seq.next_element()?, seq.next_element()?];
                    Ok(Two(two.into_iter().flatten().collect()))
                }
            }
            deserializer.deserialize_seq(Visitor)
        }
    }
    assert_eq!(read::<Two>(&Loader::new(), &[1.0f32, 2.0]).unwrap().0, [1.0, 2.0]);
    assert_snapshot!(message::<Two>(&[1.0f32, 2.0, 3.0]), @"
    the tensors do not fit the type
    `` is f32[3], expected f32[2]
    ");
}

/// Texts at the root belong to the value, if the structure in the metadata has them.
#[test]
fn texts_at_the_root_come_back() {
    #[track_caller]
    fn back<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T) {
        let tree = Tree::of(&value).unwrap();
        let tensors = Export::new().rest_in_metadata(true).tensors(&tree).unwrap();
        let tensors = tensors.with_metadata("format", "pt");
        assert_eq!(Loader::new().load::<T>(&tensors).unwrap(), value);
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Inner {
        name: Option<String>,
        w: Vec<f32>,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Outer {
        a: f32,
        #[serde(flatten)]
        inner: Inner,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Named {
        name: String,
        w: Option<f32>,
    }
    let text = |text: &str| text.to_owned();
    back(BTreeMap::from([(text("x"), text("b")), (text("y"), text("c"))]));
    back(Outer { a: 1.0, inner: Inner { name: Some(text("n")), w: vec![2.0] } });
    back(vec![Named { name: text("a"), w: Some(1.0) }, Named { name: text("b"), w: None }]);
    back(vec![text("a"), text("b")]);
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Around(Option<BTreeMap<String, String>>);
    back(Around(Some(BTreeMap::from([(text("x"), text("b"))]))));
    back(serde_json::json!({"a": "s", "b": 1.5}));

    // Without a structure, all literals are the value's, if they are marked.
    let value = BTreeMap::from([(text("x"), text("b")), (text("y"), text("c"))]);
    let tree = Tree::of(&value).unwrap();
    let export = Export::new().rest_in_metadata(true).structure_in_metadata(false);
    let tensors = export.tensors(&tree).unwrap().with_metadata("format", "pt");
    assert_eq!(tensors.load::<BTreeMap<String, String>>().unwrap(), value);
    let tensors = tensors.with_metadata("author", "Ada");
    assert_eq!(tensors.load::<BTreeMap<String, String>>().unwrap(), value);
    let named = BTreeMap::from([(text("treedef.values"), text("b"))]);
    let refused = export.tensors(&Tree::of(&named).unwrap()).unwrap_err();
    assert!(refused.to_string().contains("treedef.values"), "{refused}");
}

/// A float of 64 bits is rounded to a half once.
#[test]
fn halves_are_the_nearest() {
    let half = |value: f64| {
        let tree = Tree::of(&vec![value]).unwrap();
        let tensors = Export::new().tensors(&tree).unwrap();
        let loader = Loader::new().convert_floats(true);
        let f16: Vec<half::f16> = loader.load(&tensors).unwrap();
        let bf16: Vec<half::bf16> = loader.load(&tensors).unwrap();
        (f64::from(f16[0]), f64::from(bf16[0]))
    };
    let tiny = 2f64.powi(-40);
    assert_eq!(half(1.0 + 2f64.powi(-11) + tiny).0, 1.0 + 2f64.powi(-10));
    assert_eq!(half(1.0 + 2f64.powi(-11)).0, 1.0);
    assert_eq!(half(2f64.powi(-25) * (1.0 + tiny)).0, 2f64.powi(-24));
    assert_eq!(half(1.0 + 2f64.powi(-8) + tiny).1, 1.0 + 2f64.powi(-7));
}

/// Keys that no name can represent are read by the structure in the metadata, and a value of another type
/// does not read them as numbers.
#[test]
fn keys_of_any_kind_come_back_by_the_structure() {
    #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    enum Part {
        Bias,
        Layer(u8),
        Head { index: u8 },
    }
    fn back<K>(keys: [K; 2])
    where
        K: Ord + std::fmt::Debug + Serialize + serde::de::DeserializeOwned,
    {
        let map: BTreeMap<K, Vec<f32>> = keys.into_iter().map(|key| (key, vec![1.0])).collect();
        let tree = Tree::of(&map).unwrap();
        let tensors = Tensors::of(&tree).unwrap();
        assert_eq!(Loader::new().load::<BTreeMap<K, Vec<f32>>>(&tensors).unwrap(), map);
        let (partial, report) = Loader::new().load_partial(&tensors).unwrap();
        assert_eq!((partial, report.is_exact()), (map, true));
        assert!(Loader::new().load::<BTreeMap<K, [f32; 2]>>(&tensors).is_err());
        assert!(Loader::new().load::<BTreeMap<K, Vec<f64>>>(&tensors).is_err());
    }
    back([(1u8, "a"), (2, "b")].map(|(number, text)| (number, text.to_owned())));
    back([(), ()]);
    back([None, Some(3u8)]);
    back([Part::Layer(1), Part::Head { index: 2 }]);
    back([Part::Bias, Part::Layer(7)]);
    back([vec![1u8, 2], vec![]]);
    back(["a.b".to_owned(), "a".to_owned()]);
    back([String::new(), "a".to_owned()]);

    // Rules are for names.
    let tree = Tree::of(&BTreeMap::from([((1u8, 2u8), [1.0f32])])).unwrap();
    let tensors = Tensors::of(&tree).unwrap();
    let loader = Loader::new().rename_if_present("module.**", "**");
    let error = loader.load::<BTreeMap<(u8, u8), [f32; 1]>>(&tensors).unwrap_err();
    assert_snapshot!(error, @r#"
    the tensors do not fit the type
    stopped: invalid type: string "(1, 2)", expected a tuple of size 2 at the root (the structure in the metadata tells keys such as tuples to a load without rules)
    "#);
}

/// A name of the type may contain the separator: the structure shows that it is one part.
#[test]
fn names_with_a_separator_come_back() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Fields {
        #[serde(rename = "running.mean")]
        mean: f32,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Variants {
        #[serde(rename = "v1.0")]
        Tuple(f32, u8),
        #[serde(rename = "v1.1")]
        Struct {
            #[serde(rename = "")]
            w: Vec<f32>,
        },
    }
    fn back<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T) {
        let tree = Tree::of(&value).unwrap();
        assert_eq!(Tensors::of(&tree).unwrap().load::<T>().unwrap(), value);
    }
    back(Fields { mean: 0.5 });
    back(vec![Variants::Tuple(0.5, 1), Variants::Struct { w: vec![1.5] }]);
    back(BTreeMap::from([('.', vec![0.5f32]), ('1', vec![1.5])]));
}

#[test]
fn names_of_any_length_make_no_long_report() {
    let tensor = |shape| Tensor::new(Dtype::U8, shape, vec![0]).unwrap();
    let long = "é".repeat(1 << 20);
    let tensors = (0..9).map(|at| (format!("{long}{at}"), tensor(vec![1; at])));
    let tensors = Tensors::new(tensors).unwrap();
    let error = tensors.load::<Layer>().unwrap_err().to_string();
    assert!(error.len() < 30_000 && error.contains('…'), "{} bytes", error.len());
}
