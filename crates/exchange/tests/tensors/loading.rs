//! Types that are read from tensors by nothing but themselves.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;

use half::{bf16, f16};
use insta::assert_snapshot;
use ndarray::{Array2, Array3, ArrayD, arr0};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef::Tree;
use treedef_exchange::{Error, ErrorKind, Export, LoadReport, Loader, Tensors};

/// What a type reads from the tensors of a value.
fn read<T: Serialize + DeserializeOwned>(
    loader: &Loader,
    value: &impl Serialize,
) -> Result<T, Error> {
    let tree = Tree::of(value).unwrap();
    let export = Export::new().rest_in_metadata(true).structure_in_metadata(false);
    loader.load(&export.tensors(&tree).unwrap())
}

fn message<T: Serialize + DeserializeOwned>(value: &impl Serialize) -> String {
    match read::<T>(&Loader::new(), value) {
        Ok(_) => panic!("it was read"),
        Err(error) => error.to_string(),
    }
}

#[track_caller]
fn comes_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T) {
    assert_eq!(read::<T>(&Loader::new(), &value).unwrap(), value);
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Layer {
    w: Vec<[f32; 2]>,
    b: f32,
}

fn layer() -> Layer {
    Layer { w: vec![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], b: 7.0 }
}

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
    `w` is f32[2, 3], expected f64[2, 3]
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
    `x` is f64[1], expected f32[1]
    unused `y`: u16[]
    ");
    assert_snapshot!(message::<Outer<F64>>(&Outer { a: 1.0, inner: F32 { x: vec![1.0] } }), @"
    the tensors do not fit the type
    `x` is f32[1], expected f64[1]
    ");
    assert_snapshot!(message::<Outer<F32>>(&Outer { a: 1.0, inner: Half { x: vec![f16::PI] } }), @"
    the tensors do not fit the type
    stopped: invalid type: newtype struct, expected f32 at the root
    ");
    assert_snapshot!(message::<Outer<Half>>(&Outer { a: 1.0, inner: F32 { x: vec![1.0] } }), @"
    the tensors do not fit the type
    stopped: invalid type: floating point `1.0`, expected u16 at the root
    ");
    assert_snapshot!(message::<Outer<F32>>(&BTreeMap::from([("y", vec![1.0f32])])), @"
    the tensors do not fit the type
    missing `a`: f32[]
    missing `x`: anything
    stopped: invalid type: unit value, expected a sequence at the root
    ");
    let wide = Loader::new().convert_floats(true);
    let x = read::<Outer<F32>>(&wide, &Outer { a: 1.0, inner: Half { x: vec![f16::PI] } }).unwrap();
    assert_eq!(x.inner.x, [f16::PI.to_f32()]);
}

#[derive(Debug, Serialize, Deserialize)]
struct Model {
    embed: Vec<[f32; 4]>,
    layers: Vec<Layer>,
    step: u64,
    name: Option<String>,
}

#[test]
fn all_differences_are_listed_with_both_shapes() {
    #[derive(Serialize)]
    struct File {
        embed: [[f32; 3]; 5],
        layers: (Layer, Bad, BTreeMap<&'static str, f32>),
        step: i64,
        extra: [u8; 2],
    }
    #[derive(Serialize)]
    struct Bad {
        w: [f32; 6],
        bias: f32,
    }
    let file = File {
        embed: [[0.5; 3]; 5],
        layers: (layer(), Bad { w: [1.0; 6], bias: 1.0 }, BTreeMap::from([("b", 1.0)])),
        step: -1,
        extra: [1, 2],
    };
    assert_snapshot!(message::<Model>(&file), @"
    the tensors do not fit the type
    `embed` is f32[5, 3], expected f32[5, 4]
    `layers.1.w` is f32[6], expected f32[6, 2]
    `step` is i64[], expected u64[]
    missing `layers.1.b`: perhaps it is `layers.1.bias`, which is unused
    missing `layers.2.w`: f32[_, 2]
    unused `extra`: u8[2]
    ");
    let error = read::<Model>(&Loader::new(), &file).unwrap_err();
    let ErrorKind::Load(report) = error.kind() else { panic!("{error}") };
    let LoadReport { missing, unused, renamed, changed, filled, stopped, .. } = &**report;
    assert_eq!((missing.len(), unused.len(), renamed.len()), (1, 1, 1));
    assert_eq!((changed.len(), filled.len(), stopped), (3, 0, &None));
}

#[test]
fn shapes_are_those_that_the_type_asks_for() {
    assert_snapshot!(message::<f32>(&[1.0f32]), @"
    the tensors do not fit the type
    `` is f32[1], expected f32[]
    ");
    assert_snapshot!(message::<Vec<f32>>(&1.0f32), @"
    the tensors do not fit the type
    `` is f32[], expected f32[_]
    ");
    assert_snapshot!(message::<[[f32; 4]; 3]>(&[[1.0f32; 3]; 4]), @"
    the tensors do not fit the type
    `` is f32[4, 3], expected f32[3, 4]
    ");
    assert_snapshot!(message::<Vec<[[f32; 5]; 2]>>(&[[[1.0f32; 4]; 2]; 3]), @"
    the tensors do not fit the type
    `` is f32[3, 2, 4], expected f32[3, 2, 5]
    ");
    assert_snapshot!(message::<Vec<f32>>(&[[1.0f32; 3]; 4]), @"
    the tensors do not fit the type
    `` is f32[4, 3], expected f32[4]
    ");
    assert_snapshot!(message::<Layer>(&[1.0f32; 3]), @"
    the tensors do not fit the type
    missing `w`: f32[_, 2]
    missing `b`: f32[]
    unused ``: f32[3]
    ");
    assert_snapshot!(message::<BTreeMap<String, Vec<f32>>>(&[1.0f32; 3]), @"
    the tensors do not fit the type
    unused ``: f32[3]
    ");
    assert_snapshot!(message::<Vec<bool>>(&[1u8; 3]), @"
    the tensors do not fit the type
    `` is u8[3], expected bool[3]
    ");
    assert_snapshot!(message::<Vec<f16>>(&[1u16; 3]), @"
    the tensors do not fit the type
    `` is u16[3], expected f16[3]
    ");
    assert_snapshot!(message::<Vec<u16>>(&[f16::ONE; 3]), @"
    the tensors do not fit the type
    `` is f16[3], expected u16[3]
    ");
    assert_snapshot!(message::<Vec<bf16>>(&[f16::ONE; 3]), @"
    the tensors do not fit the type
    `` is f16[3], expected bf16[3]
    ");
    assert_snapshot!(message::<(Layer, [f32; 2])>(&(layer(), 1u8)), @"
    the tensors do not fit the type
    `1` is u8[], expected f32[2]
    ");
    assert_snapshot!(message::<Act>(&BTreeMap::from([("Relu", 1.0f32)])), @"
    the tensors do not fit the type
    unused `Relu`: f32[]
    stopped: expected the name of one variant of Act at the root
    ");
    assert_snapshot!(message::<BTreeMap<String, String>>(&BTreeMap::from([("a", 1.0f32)])), @"
    the tensors do not fit the type
    missing `a`: str
    unused `a`: f32[]
    ");
}

#[test]
fn gaps_and_elements_too_many_are_listed() {
    let elements = |names: &[&'static str]| {
        names.iter().map(|name| (*name, layer())).collect::<BTreeMap<_, _>>()
    };
    assert_snapshot!(message::<Vec<Layer>>(&elements(&["0", "2"])), @"
    the tensors do not fit the type
    missing `1.w`: f32[_, 2]
    missing `1.b`: f32[]
    ");
    assert_snapshot!(message::<[Layer; 2]>(&elements(&["0", "1", "2"])), @"
    the tensors do not fit the type
    unused `2.b`: f32[]
    unused `2.w`: f32[3, 2]
    ");
    assert_snapshot!(message::<[Layer; 2]>(&elements(&["0"])), @"
    the tensors do not fit the type
    missing `1.w`: f32[_, 2]
    missing `1.b`: f32[]
    ");
    assert_snapshot!(message::<Vec<Layer>>(&elements(&["0", "01", "x"])), @"
    the tensors do not fit the type
    unused `01.b`: f32[]
    unused `01.w`: f32[3, 2]
    unused `x.b`: f32[]
    unused `x.w`: f32[3, 2]
    ");
    assert_snapshot!(message::<Vec<Layer>>(&elements(&["x"])), @"
    the tensors do not fit the type
    missing `0.b`: perhaps it is `x.b`, which is unused
    missing `0.w`: perhaps it is `x.w`, which is unused
    ");
    let far = BTreeMap::from([("0", layer()), ("50000", layer())]);
    let error = read::<Vec<Layer>>(&Loader::new(), &far).unwrap_err();
    let ErrorKind::Load(report) = error.kind() else { panic!("{error}") };
    assert_eq!((report.missing.len(), report.unused.len()), (1_000, 0));
    assert_snapshot!(message::<Vec<Option<f32>>>(&BTreeMap::from([("4294967296", 1.0f32)])), @"
    the tensors do not fit the type
    unused `4294967296`: f32[]
    stopped: too many elements that take no bytes of the file
    ");
}

#[test]
fn floats_are_converted_on_request() {
    let loader = Loader::new().convert_floats(true);
    let value = [0.1f32, 1e30, f32::INFINITY, f32::NAN];
    let wide: [f64; 4] = read(&loader, &value).unwrap();
    assert_eq!(wide.map(|value| (value as f32).to_bits()), value.map(f32::to_bits));
    assert_eq!(
        read::<[f32; 4]>(&loader, &wide).unwrap().map(f32::to_bits),
        value.map(f32::to_bits)
    );
    let small = [0.1f32, -65504.0];
    assert_eq!(read::<[f16; 2]>(&loader, &small).unwrap(), small.map(f16::from_f32));
    assert_eq!(read::<[bf16; 2]>(&loader, &small).unwrap(), small.map(bf16::from_f32));
    assert_eq!(read::<[f32; 2]>(&loader, &[f16::PI; 2]).unwrap(), [f16::PI.to_f32(); 2]);
    assert_eq!(read::<[f16; 1]>(&loader, &[bf16::ONE]).unwrap(), [f16::ONE]);
    let refused = |error: Error| error.to_string();
    assert_snapshot!(refused(read::<[f32; 1]>(&loader, &[1e300]).unwrap_err()), @"
    the tensors do not fit the type
    stopped: 1e300 is no f32 at the root
    ");
    assert_snapshot!(refused(read::<[f16; 2]>(&loader, &[1.0f32, 1e6]).unwrap_err()), @"
    the tensors do not fit the type
    stopped: 1e6 is no f16 at the root
    ");
    assert_snapshot!(refused(read::<[f32; 1]>(&loader, &[1i32]).unwrap_err()), @"
    the tensors do not fit the type
    `` is i32[1], expected f32[1]
    ");
    assert_snapshot!(refused(read::<[f32; 2]>(&Loader::new(), &[0.5f64; 2]).unwrap_err()), @"
    the tensors do not fit the type
    `` is f64[2], expected f32[2]
    ");
}

#[test]
fn rules_change_names_in_their_order() {
    #[derive(Serialize)]
    struct File {
        h: Vec<BTreeMap<&'static str, [[f32; 3]; 2]>>,
        mask: u8,
    }
    let file = File {
        h: vec![BTreeMap::from([("c_attn", [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])]); 2],
        mask: 1,
    };
    type Layers = BTreeMap<String, Vec<BTreeMap<String, Vec<[f32; 2]>>>>;
    let loader = Loader::new()
        .rename("h.*.**", "layers.*.**")
        .rename("**.c_attn", "**.w")
        .transpose("layers.**")
        .ignore("mask");
    let layers: Layers = read(&loader, &file).unwrap();
    assert_eq!(layers["layers"][1]["w"], [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]);
    let refused = |loader: Loader| read::<Layers>(&loader, &file).unwrap_err().to_string();
    assert_snapshot!(refused(Loader::new().rename("h.*", "layers.*")), @"`h.*` matches no tensor");
    assert_snapshot!(refused(Loader::new().rename("**.c_attn", "w")), @"`**.c_attn` and `w` do not have the same wildcards in the same order");
    assert_snapshot!(refused(Loader::new().rename("h.**", "h.*")), @"`h.**` and `h.*` do not have the same wildcards in the same order");
    assert_snapshot!(refused(Loader::new().rename("h.0.c_attn", "w").rename("h.1.c_attn", "w")), @"`h.0.c_attn` and `h.1.c_attn` are both named `w`");
    assert_snapshot!(refused(Loader::new().transpose("**.attn")), @"`**.attn` matches no tensor");
    assert_snapshot!(refused(Loader::new().transpose("mask")), @"`mask`, u8[], cannot be transposed");
    // Errors have the names of the file.
    assert_snapshot!(refused(loader.rename("layers.1.**", "last.**")), @"
    the tensors do not fit the type
    missing `last`: a map
    unused `h.1.c_attn`: f32[2, 3]
    ");
}

#[test]
fn wildcards_stand_for_parts() {
    let names = ["a", "a.b", "a.b.c", "x.a.b.a.b", "a.x.b", "b"];
    let rows = [
        ("**", "p.**", "p.a p.a.b p.a.b.c p.x.a.b.a.b p.a.x.b p.b"),
        ("a.**", "q.**", "q q.b q.b.c - q.x.b -"),
        ("**.b", "**.c", "- a.c - x.a.b.a.c a.x.c c"),
        ("*.b", "*", "- a - - - -"),
        ("**.a.**.b", "**.z.**.y", "- z.y - x.z.b.a.y z.x.y -"),
        ("a.*.*", "*.*", "- - b.c - x.b -"),
    ];
    for (from, to, expected) in rows {
        let renamed = names.map(|name| {
            let value = BTreeMap::from([(name, 1.5f64)]);
            match read(&Loader::new().rename(from, to), &value) {
                Ok(json) => only_name(&json),
                Err(error) => {
                    assert!(error.to_string().contains("matches no tensor"), "{error}");
                    "-".to_owned()
                }
            }
        });
        assert_eq!(renamed.join(" "), expected, "{from} => {to}");
    }
}

/// The name of the only number.
fn only_name(json: &serde_json::Value) -> String {
    match json.as_object().and_then(|map| map.iter().next()) {
        Some((key, inside)) if inside.is_object() => format!("{key}.{}", only_name(inside)),
        Some((key, _)) => key.clone(),
        None => String::new(),
    }
}

#[test]
fn stacked_sequences_are_read() {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Head {
        q: [f32; 2],
        k: u8,
    }
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Block {
        heads: Vec<Head>,
        b: f32,
    }
    let head = |index: u8| Head { q: [f32::from(index), 0.5], k: index };
    let block = |index: u8| Block { heads: vec![head(index), head(index + 1)], b: 0.5 };
    let blocks: Vec<Block> = (0..3).map(block).collect();
    let tree = Tree::of(&blocks).unwrap();
    let export = Export::new().stack("").unwrap().stack("**.heads").unwrap();
    let tensors = export.tensors(&tree).unwrap();
    assert_eq!(tensors.get("heads.q").unwrap().to_string(), "f32[3, 2, 2]");
    let loader = Loader::new().stack("").stack("**.heads");
    assert_eq!(loader.load::<Vec<Block>>(&tensors).unwrap(), blocks);
    assert_eq!(loader.load::<[Block; 3]>(&tensors).unwrap().to_vec(), blocks);
    let message = |error: Error| error.to_string();
    assert_snapshot!(message(loader.load::<[Block; 2]>(&tensors).unwrap_err()), @"
    the tensors do not fit the type
    `b` is f32[3], expected f32[2]
    `heads.k` is u8[3, 2], expected u8[2, 2]
    `heads.q` is f32[3, 2, 2], expected f32[2, 2, 2]
    ");
    assert_snapshot!(message(Loader::new().load::<Vec<Block>>(&tensors).unwrap_err()), @"
    the tensors do not fit the type
    missing `0.heads.0.q`: f32[2]
    missing `0.heads.0.k`: u8[]
    missing `0.b`: f32[]
    unused `b`: f32[3]
    unused `heads.k`: u8[3, 2]
    unused `heads.q`: f32[3, 2, 2]
    ");
    assert_snapshot!(message(Loader::new().stack("").load::<Vec<Block>>(&tensors).unwrap_err()), @"
    the tensors do not fit the type
    missing `heads.0.q`: f32[2]
    missing `heads.0.k`: u8[]
    unused `heads.k`: u8[3, 2]
    unused `heads.q`: f32[3, 2, 2]
    ");
    #[derive(Serialize)]
    struct Ragged {
        q: [[f32; 2]; 3],
        k: [u8; 2],
    }
    let ragged = Ragged { q: [[0.0; 2]; 3], k: [0; 2] };
    assert_snapshot!(message(read::<Vec<Head>>(&Loader::new().stack(""), &ragged).unwrap_err()), @"
    the tensors do not fit the type
    `q` is f32[3, 2], expected f32[2, 2]
    ");
}

#[test]
fn what_is_missing_can_be_filled() {
    let start = Model {
        embed: vec![[0.0; 4]; 5],
        layers: vec![layer(); 2],
        step: 9,
        name: Some("start".to_owned()),
    };
    #[derive(Serialize)]
    struct File {
        embed: [[f32; 3]; 5],
        layers: BTreeMap<&'static str, f32>,
        step: u64,
        other: u8,
    }
    let file =
        File { embed: [[1.0; 3]; 5], layers: BTreeMap::from([("0.b", 2.0)]), step: 1, other: 1 };
    let tree = Tree::of(&file).unwrap();
    let tensors = Tensors::of(&tree).unwrap();
    let loader = Loader::new().fill_from(&start).unwrap();
    let (model, report) = loader.load_partial::<Model>(&tensors).unwrap();
    assert_eq!(
        (model.step, model.embed.len(), model.layers[0].b, model.layers[1].b),
        (1, 5, 2.0, 7.0)
    );
    assert_eq!(model.name.as_deref(), Some("start"));
    assert_snapshot!(report, @"
    `embed` is f32[5, 3], expected f32[5, 4]
    unused `other`: u8[]
    filled `embed`
    filled `layers.0.w`
    filled `layers.1.b`
    filled `layers.1.w`
    filled `name`
    ");
    assert_snapshot!(loader.load::<Model>(&tensors).unwrap_err(), @"
    the tensors do not fit the type
    `embed` is f32[5, 3], expected f32[5, 4]
    unused `other`: u8[]
    filled `layers.0.w`
    filled `layers.1.b`
    filled `layers.1.w`
    filled `name`
    ");
    assert_snapshot!(Loader::new().load_partial::<Model>(&tensors).unwrap_err(), @"
    the tensors do not fit the type
    `embed` is f32[5, 3], expected f32[5, 4]
    missing `layers.0.w`: f32[_, 2]
    unused `other`: u8[]
    ");
}

#[test]
fn separators_are_chosen() {
    let tree = Tree::of(&vec![Wrapped(layer())]).unwrap();
    for separator in ["/", "::", ""] {
        let tensors = Export::new().separator(separator).tensors(&tree).unwrap();
        let loader = Loader::new().separator(separator);
        let read = loader.load::<Vec<Wrapped>>(&tensors);
        assert_eq!(read.is_ok(), !separator.is_empty(), "{separator}");
    }
}

/// The type asks for what a file has not enough of, or too much.
#[test]
fn nothing_grows_beyond_the_file() {
    use treedef_exchange::safetensors;
    let file = |header: &str| {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.bytes());
        bytes
    };
    let empty = file(r#"{"a":{"dtype":"F32","shape":[1000000000000,0],"data_offsets":[0,0]}}"#);
    let load = safetensors::load::<BTreeMap<String, Vec<Vec<f32>>>>;
    assert_snapshot!(load(&empty).unwrap_err(), @"
    the tensors do not fit the type
    stopped: too many elements that take no bytes of the file
    ");
    let small = file(r#"{"a":{"dtype":"F32","shape":[1000,0],"data_offsets":[0,0]}}"#);
    assert_eq!(load(&small).unwrap()["a"].len(), 1000);
    let tensors = safetensors::from_bytes(&empty).unwrap();
    let stacked = Loader::new().stack("");
    assert_snapshot!(stacked.load::<Vec<BTreeMap<String, Vec<f32>>>>(&tensors).unwrap_err(), @"
    the tensors do not fit the type
    stopped: too many elements that take no bytes of the file
    ");
    let deep = file(&format!(
        r#"{{"{}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}}}"#,
        vec!["a"; 10_000].join(".")
    ));
    assert_snapshot!(safetensors::load::<serde_json::Value>(&deep).unwrap_err(), @"
    the tensors do not fit the type
    unused `a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a`: f32[0]
    stopped: names of more than 128 parts
    ");
    let dims = file(&format!(
        r#"{{"a":{{"dtype":"F32","shape":[{}],"data_offsets":[0,0]}}}}"#,
        vec!["0"; 65].join(",")
    ));
    assert_snapshot!(safetensors::load::<serde_json::Value>(&dims).unwrap_err(), @"`a` has 65 dimensions, the limit is 64");
    #[derive(Debug, Serialize, Deserialize)]
    struct List {
        next: Box<List>,
    }
    assert_snapshot!(Tensors::default().load::<List>().unwrap_err(), @"
    the tensors do not fit the type
    stopped: missing field `next`
    ");
}

/// A type that takes two elements, however many there are.
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
