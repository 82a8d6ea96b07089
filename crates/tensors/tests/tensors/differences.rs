//! Tensors that do not fit the type, and the reports about them.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use half::{bf16, f16};
use insta::assert_snapshot;
use ndarray::Array2;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef::{Object, Tree};
use treedef_tensors::{
    Descriptor, Dtype, Error, ErrorKind, Export, LoadReport, Loader, StoredTensor, Tensor, Tensors,
};

use crate::{Layer, layer, message, read};

#[derive(Debug, Serialize, Deserialize)]
enum Act {
    Leaky(f32),
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
    let LoadReport { missing, dropped, renamed, changed, filled, stopped, .. } = &**report;
    assert_eq!((missing.len(), dropped.len(), renamed.len()), (1, 1, 1));
    assert_eq!((changed.len(), filled.len(), stopped), (3, 0, &None));
    assert_snapshot!(report, @"dropped `extra` (u8[2]); renamed `layers.1.bias` to `layers.1.b`; refused `embed` (f32[5, 3], expected f32[5, 4]), `layers.1.w` (f32[6], expected f32[6, 2]), `step` (i64[], expected u64[]); missing `layers.2.w` (f32[_, 2])");
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
    `` is f32[4, 3], expected f32[3, 4] (see `Loader::transpose`)
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
    `` is f16[3], expected bf16[3] (see `Loader::convert_floats`)
    ");
    assert_snapshot!(message::<(Layer, [f32; 2])>(&(layer(), 1u8)), @"
    the tensors do not fit the type
    `1` is u8[], expected f32[2]
    ");
    assert_snapshot!(message::<Act>(&BTreeMap::from([("Relu", 1.0f32)])), @"
    the tensors do not fit the type
    stopped: expected the name of one variant of Act, found `Relu` at the root
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
    assert_eq!((report.missing.len(), report.dropped.len()), (1_000, 0));
    assert_snapshot!(message::<Vec<Option<f32>>>(&BTreeMap::from([("4294967296", 1.0f32)])), @"
    the tensors do not fit the type
    stopped: too many elements that take no bytes of the file
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
    assert_snapshot!(report, @"filled `embed`, `layers.0.w`, `layers.1.b` and 2 more; dropped `other` (u8[]); refused `embed` (f32[5, 3], expected f32[5, 4])");
    assert_eq!(LoadReport::default().to_string(), "");
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

/// A sequence reads only the existing elements, so the report names a tensor that has fewer.
#[test]
fn fewer_elements_than_the_model_has_are_told() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Model<T> {
        a: T,
    }
    fn said<T: Serialize + DeserializeOwned>(start: T, file: T) -> [String; 2] {
        let (start, file) = (Model { a: start }, Model { a: file });
        let tree = Tree::of(&file).unwrap();
        let tensors = Export::new().rest_in_metadata(true).tensors(&tree).unwrap();
        let loader = Loader::new().fill_from(&start).unwrap();
        let (_, report) = loader.load_partial::<Model<T>>(&tensors).unwrap();
        let error = loader.load::<Model<T>>(&tensors).err();
        let error = error.and_then(|it| it.to_string().lines().nth(1).map(str::to_owned));
        [report.to_string(), error.unwrap_or_default()]
    }
    let numbers = said(vec![1.0f32, 2.0, 3.0], vec![5.0]);
    assert_eq!(
        numbers,
        ["filled `a`; refused `a` (f32[1], expected f32[3])", "`a` is f32[1], expected f32[3]"]
    );
    // Of other lengths than its neighbours, an element has a tensor of its own.
    let ragged = said(vec![vec![1.0f32, 2.0], vec![3.0]], vec![vec![5.0, 6.0]]);
    assert_eq!(
        ragged,
        [
            "filled `a.0`, `a.1`; refused `a` (f32[1, 2], expected f32[2, 2])",
            "`a` is f32[1, 2], expected f32[2, 2]"
        ]
    );
    let inner = said(vec![vec![1.0f32, 2.0], vec![3.0]], vec![vec![5.0], vec![6.0]]);
    assert_eq!(inner[1], "`a` is f32[2, 1], expected f32[2, 2]");
    assert_eq!(said(vec![(), (), ()], vec![()])[0], "filled `a.1`, `a.2`");
    assert_eq!(said(vec!["a".to_owned(), "b".into()], vec!["c".into()])[0], "filled `a.1`");
    // More is no loss.
    assert_eq!(said(vec![1.0f32], vec![5.0, 6.0])[1], "");
    assert_eq!(said(vec![vec![1.0f32], vec![]], vec![vec![5.0, 6.0], vec![7.0, 8.0]]), ["", ""]);
}

/// Tens of thousands of unused names are reported in linear time.
#[test]
fn names_that_are_all_others_are_told_soon() {
    let name = |at| format!("model.layers.{at}.self_attn.q_proj.weight");
    let tensor = || Tensor::new(Dtype::F32, vec![2], vec![0; 8]).unwrap();
    let tensors = Tensors::new((0..40_000).map(|at| (name(at), tensor()))).unwrap();
    type Bytes = Rc<[u8]>;
    let said = |asked: &mut dyn Iterator<Item = String>| {
        let value: BTreeMap<String, Object<Bytes>> =
            asked.map(|name| (name, Object(Bytes::from([0; 8])))).collect();
        let tree = Tree::<Bytes>::of_objects(&value).unwrap();
        let described =
            |name: &str, _: &Bytes| Ok::<_, Error>(Descriptor::new(name, Dtype::F32, [2]));
        let read = |_: &Bytes, stored: &StoredTensor<'_>| {
            Ok::<_, Error>(Bytes::from(&*stored.read_bytes()?))
        };
        let start = Instant::now();
        let error = Loader::new().objects_like(&tree, &tensors, described, read).unwrap_err();
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        error.to_string().lines().nth(1).map(str::to_owned).unwrap()
    };
    let nearest = said(&mut ["layers.39999.self_attn.q_proj.weight".to_owned()].into_iter());
    assert_eq!(
        nearest,
        "missing `layers.39999.self_attn.q_proj.weight`: f32[2] (the nearest name is `model.layers.39999.self_attn.q_proj.weight`, f32[2])"
    );
    let all = said(&mut (0..40_000).map(|at| format!("blocks {at}")));
    assert!(all.starts_with("missing `blocks 0`: f32[2]"), "{all}");
}

/// Files with too few or too many elements for the type.
#[test]
fn nothing_grows_beyond_the_file() {
    use treedef_tensors::safetensors;
    let file = |header: &str| {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.bytes());
        bytes
    };
    let empty = file(r#"{"a":{"dtype":"F32","shape":[1000000000000,0],"data_offsets":[0,0]}}"#);
    let load =
        |file: &[u8]| safetensors::from_bytes(file)?.load::<BTreeMap<String, Vec<Vec<f32>>>>();
    assert_snapshot!(load(&empty).unwrap_err(), @"
    the tensors do not fit the type
    stopped: too many elements that take no bytes of the file
    ");
    let small = file(r#"{"a":{"dtype":"F32","shape":[1000,0],"data_offsets":[0,0]}}"#);
    assert_eq!(load(&small).unwrap()["a"].len(), 1000);
    let tensors = safetensors::from_bytes(&empty).unwrap().read().unwrap();
    let stacked = Loader::new().stack("");
    assert_snapshot!(stacked.load::<Vec<BTreeMap<String, Vec<f32>>>>(&tensors).unwrap_err(), @"
    the tensors do not fit the type
    stopped: too many elements that take no bytes of the file
    ");
    // Numbers of one tensor do not pay for elements of others, which have none.
    let empty = |index: usize| {
        let tensor = Tensor::new(Dtype::U8, vec![100_000, 0], vec![]).unwrap();
        (format!("e{index}"), tensor)
    };
    let full = Tensor::new(Dtype::U8, vec![100_000, 1], vec![7; 100_000]).unwrap();
    let tensors = (0..100).map(empty).chain([("f".to_owned(), full)]);
    let tensors = Tensors::new(tensors.collect::<Vec<_>>()).unwrap();
    assert_snapshot!(stacked.load::<Vec<BTreeMap<String, Vec<u8>>>>(&tensors).unwrap_err(), @"
    the tensors do not fit the type
    stopped: too many elements that take no bytes of the file
    ");
    let deep = file(&format!(
        r#"{{"{}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}}}"#,
        vec!["a"; 10_000].join(".")
    ));
    let error = safetensors::from_bytes(&deep)
        .and_then(|it| it.load::<serde_json::Value>())
        .unwrap_err()
        .to_string();
    assert_snapshot!(error.replace(&".a".repeat(9_998), "…"), @"
    the tensors do not fit the type
    stopped: names of more than 128 parts
    ");
    let dims = file(&format!(
        r#"{{"a":{{"dtype":"F32","shape":[{}],"data_offsets":[0,0]}}}}"#,
        vec!["0"; 65].join(",")
    ));
    assert_snapshot!(safetensors::from_bytes(&dims).and_then(|it| it.load::<serde_json::Value>()).unwrap_err(), @"`a` has 65 dimensions, the limit is 64");
    #[derive(Debug, Serialize, Deserialize)]
    struct List {
        next: Box<List>,
    }
    assert_snapshot!(Tensors::default().load::<List>().unwrap_err(), @"
    the tensors do not fit the type
    stopped: missing field `next`
    ");
}

fn named(names: &[&str]) -> Tensors<'static> {
    let tensors = names.iter().zip(1..).map(|(name, number)| {
        let tensor = Tensor::new(Dtype::U8, vec![1], vec![number]).unwrap();
        ((*name).to_owned(), tensor)
    });
    Tensors::new(tensors.collect::<Vec<_>>()).unwrap()
}

#[test]
fn keys_that_are_one_number_are_named() {
    type Value<K> = BTreeMap<String, BTreeMap<K, [u8; 1]>>;
    let tensors = named(&["v.1", "v.01"]);
    assert_snapshot!(tensors.load::<Value<u8>>().unwrap_err(), @"
    the tensors do not fit the type
    stopped: the keys `01` and `1` are one number at `v`
    ");
    assert_snapshot!(named(&["0", "-0"]).load::<BTreeMap<i128, [u8; 1]>>().unwrap_err(), @"
    the tensors do not fit the type
    stopped: the keys `-0` and `0` are one number at the root
    ");
    assert_eq!(tensors.load::<Value<String>>().unwrap()["v"].len(), 2);
    let read: Value<u8> = named(&["v.01", "v.2", "w.1"]).load().unwrap();
    assert_eq!((read["v"][&1], read["v"][&2], read["w"][&1]), ([1], [2], [3]));
}

/// A type would read one, and lose the other.
#[test]
fn a_text_and_a_tensor_have_two_names() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Value {
        a: [u8; 1],
    }
    let values = |names: &[&str]| named(names).with_metadata("treedef.values", "true");
    let both = values(&["a"]).with_metadata("a", "\"x\"");
    assert_snapshot!(both.load::<Value>().unwrap_err(), @"a tensor and a text of the metadata are both named `a`");
    let renamed = values(&["b"]).with_metadata("a", "\"x\"");
    assert_snapshot!(Loader::new().rename("b", "a").load::<Value>(&renamed).unwrap_err(), @"`b` and `a` are both named `a`");
    // A text of another program is not part of the value.
    let beside = named(&["a"]).with_metadata("a", "\"x\"");
    assert_eq!(beside.load::<Value>().unwrap(), Value { a: [1] });
    // These texts belong to the file, and the texts of aliases are not values.
    let tree = Tree::of(&BTreeMap::from([("format", [1u8]), ("treedef", [2])])).unwrap();
    let tensors = Tensors::of(&tree).unwrap().with_metadata("format", "pt");
    let read: BTreeMap<String, [u8; 1]> = tensors.load().unwrap();
    assert_eq!((read["format"], read["treedef"]), ([1], [2]));
    let tied = named(&["b"]).with_metadata("a", "b").with_metadata("author", "Ada");
    assert_eq!(Loader::new().ignore("b").load::<Value>(&tied).unwrap(), Value { a: [1] });
}

/// A tensor without numbers has a shape, too. `[0]` may be a list of anything.
#[test]
fn empty_tensors_have_the_shape_of_the_type() {
    fn found<T: Serialize + DeserializeOwned>(shape: &[usize]) -> String {
        let tensor = Tensor::new(Dtype::F32, shape.to_vec(), vec![]).unwrap();
        let tensors = Tensors::new([("w".to_owned(), tensor)]).unwrap();
        match tensors.load::<BTreeMap<String, T>>() {
            Ok(_) => "read".to_owned(),
            Err(error) => error.to_string().replace("the tensors do not fit the type\n", ""),
        }
    }
    assert_snapshot!(found::<Vec<[f32; 3]>>(&[0, 5]), @"`w` is f32[0, 5], expected f32[0, 3]");
    assert_snapshot!(found::<Vec<[f32; 0]>>(&[0, 5]), @"`w` is f32[0, 5], expected a sequence of 0");
    assert_snapshot!(found::<[[f32; 0]; 3]>(&[0, 5]), @"`w` is f32[0, 5], expected a sequence of 0");
    assert_snapshot!(found::<Vec<Vec<[f32; 2]>>>(&[3, 0]), @"`w` is f32[3, 0], expected f32[3, 0, 2]");
    assert_snapshot!(found::<Vec<Vec<[f32; 2]>>>(&[0, 3, 4]), @"`w` is f32[0, 3, 4], expected f32[0, _, 2]");
    assert_snapshot!(found::<Vec<f32>>(&[0, 3]), @"`w` is f32[0, 3], expected f32[0]");
    assert_snapshot!(found::<Array2<f32>>(&[0, 3, 1]), @"`w` is f32[0, 3, 1], expected f32[0, 3]");
    assert_snapshot!(found::<Vec<[f64; 3]>>(&[0, 3]), @"read");
    assert_snapshot!(found::<Vec<Vec<f32>>>(&[0, 1 << 60]), @"read");
    assert_snapshot!(found::<Array2<f32>>(&[3, 0]), @"read");
    assert_snapshot!(found::<Vec<serde_json::Value>>(&[0, 3]), @"read");
    assert_snapshot!(found::<serde_json::Value>(&[0, 3]), @"read");
    assert_snapshot!(found::<Vec<Vec<f32>>>(&[0]), @"read");
    assert_snapshot!(found::<Vec<Layer>>(&[0]), @"read");
}

/// A type that has itself in a sequence would be missing without end.
#[test]
fn a_missing_part_of_a_recursive_type_is_one_line() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Node<C> {
        w: f32,
        children: C,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Tree(Node<Vec<Tree>>);
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Turn {
        angle: f32,
        inner: Turns,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Turns {
        turns: Vec<Turn>,
    }
    #[derive(Serialize)]
    struct File {
        w: f32,
    }
    assert_snapshot!(message::<Tree>(&File { w: 1.0 }), @"
    the tensors do not fit the type
    missing `children`: a sequence
    ");
    assert_snapshot!(message::<Tree>(&Node { w: 1.0, children: [File { w: 2.0 }, File { w: 3.0 }] }), @"
    the tensors do not fit the type
    missing `children.0.children`: a sequence
    missing `children.1.children`: a sequence
    ");
    assert_snapshot!(message::<Turns>(&()), @"
    the tensors do not fit the type
    missing `turns.0.angle`: f32[]
    ");
    // Tuples have all of their elements.
    #[derive(Debug, Serialize, Deserialize)]
    struct Pair(f32, Vec<Pair>);
    #[derive(Debug, Serialize, Deserialize)]
    struct Spin {
        spins: Vec<(f32, Spin)>,
    }
    assert_snapshot!(message::<Pair>(&()), @"
    the tensors do not fit the type
    missing ``: f32[2]
    ");
    assert_snapshot!(message::<Vec<Spin>>(&()), @"
    the tensors do not fit the type
    missing `0.spins`: f32[_, 2]
    ");
    // With our structure, it is empty.
    let tree = Tree(Node { w: 1.0, children: vec![] });
    let written = treedef::Tree::of(&tree).unwrap();
    assert_eq!(Tensors::of(&written).unwrap().load::<Tree>().unwrap(), tree);
}
