//! Values without a tensor are read by the structure in the metadata.

use std::collections::BTreeMap;
use std::fmt::Debug;

use insta::assert_snapshot;
use ndarray::Array2;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef::Tree;
use treedef_tensors::{Export, Loader, Source, Tensors, flax, safetensors};

use crate::refused;

fn saved(value: &impl Serialize) -> Tensors<'static> {
    let tree = Tree::of(value).unwrap();
    Export::new().rest_in_metadata(true).tensors(&tree).unwrap().into_owned()
}

#[track_caller]
fn back<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: T) {
    let tensors = saved(&value).with_metadata("format", "pt");
    let bytes = safetensors::to_bytes(&tensors).unwrap();
    assert_eq!(safetensors::from_bytes(&bytes).unwrap().load::<T>().unwrap(), value);
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Layer {
    w: Vec<f32>,
    b: Option<f32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Bare {
    b: Option<f32>,
    unit: (),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Outer {
    a: f32,
    #[serde(flatten)]
    inner: Layer,
    #[serde(flatten)]
    rest: BTreeMap<String, Vec<f32>>,
}

fn map<T: Clone>(entries: &[(&str, T)]) -> BTreeMap<String, T> {
    entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Act {
    Relu,
    Leaky(f32),
    Clip { low: Option<f32> },
    Both(),
}

#[test]
fn variants_without_fields_come_back() {
    back(Act::Relu);
    back(vec![Act::Leaky(1.0), Act::Relu, Act::Clip { low: None }, Act::Both()]);
    back(map(&[("a", Act::Relu), ("b", Act::Clip { low: Some(1.0) })]));
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Model {
        act: Act,
        w: [f32; 1],
    }
    let model = Model { act: Act::Relu, w: [1.0] };
    back(vec![model]);
    // {"act": "Relu", "w": {"0": 1.5}}
    let file = |act: &[u8]| [b"\x82\xa3act", act, b"\xa1w\x81\xa10\xca\x3f\xc0\0\0"].concat();
    let read: Model =
        Loader::new().separator("/").load(&flax::from_bytes(&file(b"\xa4Relu")).unwrap()).unwrap();
    assert_eq!(read, Model { act: Act::Relu, w: [1.5] });
    assert_snapshot!(flax::from_bytes(&file(b"\xa4relu")).and_then(|it| Loader::new().separator("/").load::<Model>(&it)).unwrap_err(), @r#"
    the tensors do not fit the type
    stopped: expected the name of one variant of Act, found "relu" at `act`
    "#);
    let tensors = saved(&map(&[("w", [1.0f32])]));
    assert_snapshot!(tensors.load::<Model>().unwrap_err(), @"
    the tensors do not fit the type
    stopped: expected the name of one variant of Act, found nothing (`Loader::fill_from` has what a file without our metadata does not say) at `act`
    ");
}

#[test]
fn empty_values_come_back() {
    back(vec![vec![1.0f32], vec![]]);
    back(vec![vec![], vec![1.0f32], vec![], vec![]]);
    back([vec![vec![vec![1u8], vec![]], vec![]], vec![]]);
    back(map(&[("v", vec![]), ("w", vec![1.0f32])]));
    back(map(&[("v", map(&[])), ("w", map(&[("x", 1.0f32), ("y", 2.0)]))]));
    back(vec![Some(1.0f32), None, Some(2.0), None, None]);
    back(map(&[("v", None), ("w", Some(1.0f32))]));
    back(vec![Some(vec![1.0f32]), Some(vec![]), None]);
    back((1.0f32, vec![(), ()], ((),)));
    back(vec![("a".to_owned(), vec![1u8]), ("b".to_owned(), vec![])]);
    back(vec![Layer { w: vec![1.0], b: None }, Layer::default()]);
    back(vec![Bare { b: Some(1.0), unit: () }, Bare { b: None, unit: () }]);
    back(map(&[("x", Bare { b: None, unit: () })]));
    back(Layer::default());
    back(Vec::<f32>::new());
    back(BTreeMap::<String, f32>::new());
    back(vec![Array2::<f32>::zeros((0, 3)), Array2::zeros((2, 0))]);
    let layer = Layer { w: vec![], b: Some(1.0) };
    back(Outer { a: 1.0, inner: layer, rest: map(&[("x", vec![1.0])]) });
    back(serde_json::json!({"a": 1.5, "b": [], "c": {}, "d": null, "e": [{}, []]}));
}

/// Rules also rename empty values, and values without a tensor may be filled.
#[test]
fn empty_values_follow_rules() {
    let tensors = saved(&map(&[("h", vec![vec![1.0f32], vec![]]), ("g", vec![])]));
    type Value = BTreeMap<String, Vec<Vec<f32>>>;
    let loader = Loader::new().rename("h.*", "k.*").ignore("g");
    assert_eq!(loader.load::<Value>(&tensors).unwrap(), map(&[("k", vec![vec![1.0], vec![]])]));
    refused(
        Loader::new().rename("h.0", "g").load::<Value>(&tensors),
        "`h.0` and `g` are both named `g`",
    );
    // A selection has only the selected tensors.
    let source = Source::from(&tensors).select("h.*").unwrap();
    assert_eq!(source.load::<Value>().unwrap(), map(&[("h", vec![vec![1.0]])]));
    // Another separator makes other names.
    let tree = Tree::of(&map(&[("a", map(&[("v", vec![]), ("w", vec![1.0f32])]))])).unwrap();
    let tensors = Export::new().separator("/").tensors(&tree).unwrap();
    let read: BTreeMap<String, Vec<f32>> = tensors.load().unwrap();
    assert_eq!(read, map(&[("a/w", vec![1.0])]));
    // Values without a tensor in the file are filled.
    let tensors = saved(&vec![Layer { w: vec![], b: None }, Layer { w: vec![], b: None }]);
    let start = vec![Layer { w: vec![2.0], b: Some(3.0) }];
    let loader = Loader::new().fill_from(&start).unwrap();
    let (layers, report) = loader.load_partial::<Vec<Layer>>(&tensors).unwrap();
    assert_eq!(layers, [start[0].clone(), Layer::default()]);
    assert_snapshot!(report, @"filled `0.b`, `0.w`");
}

/// Python keeps the tensors and drops the metadata: the missing values are filled from another value.
#[test]
fn empty_values_are_filled() {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Model {
        act: Act,
        acts: Vec<Act>,
        e: Vec<f32>,
        name: String,
        w: Vec<f32>,
    }
    let start = Model {
        act: Act::Relu,
        acts: vec![Act::Relu, Act::Both()],
        e: vec![],
        name: "start".to_owned(),
        w: vec![0.0],
    };
    let bare = |value: &Model| {
        let tree = Tree::of(value).unwrap();
        let export = Export::new().rest_in_metadata(true).structure_in_metadata(false);
        let tensors = export.tensors(&tree).unwrap();
        let tensors = tensors.iter().map(|(name, tensor)| (name.to_owned(), tensor.clone()));
        Tensors::new(tensors).unwrap().into_owned()
    };
    let loader = Loader::new().fill_from(&start).unwrap();
    let trained = Model { w: vec![1.0, 2.0], ..start.clone() };
    let loaded: Model = loader.load(&bare(&trained)).unwrap();
    assert_eq!(loaded, trained);
    let (_, report) = loader.load_partial::<Model>(&bare(&trained)).unwrap();
    assert_snapshot!(report, @"filled `act`, `acts.0`, `acts.1.Both` and 3 more; refused `w` (f32[2], expected f32[1])");
    // Values in the file are not replaced.
    let other =
        Model { act: Act::Leaky(0.5), e: vec![3.0], acts: vec![Act::Leaky(1.0)], ..trained };
    let loaded: Model = loader.load(&bare(&other)).unwrap();
    let acts = vec![Act::Leaky(1.0), Act::Both()];
    assert_eq!(loaded, Model { acts, ..other });
    // Of two variants, the one in the file is read.
    let clip = |low| Act::Clip { low };
    let all = [Act::Relu, Act::Leaky(2.0), Act::Both(), clip(Some(3.0)), clip(None)];
    for (start, file) in all.iter().flat_map(|start| all.iter().map(move |file| (start, file))) {
        let [start, file] = [start, file].map(|act| map(&[("act", act.clone())]));
        let loader = Loader::new().fill_from(&start).unwrap();
        let loaded: BTreeMap<String, Act> = loader.load(&saved(&file)).unwrap();
        let filled = file["act"] == clip(None) && start["act"] == clip(Some(3.0));
        assert_eq!(loaded, if filled { start } else { file });
    }
    // A value that is empty as a whole.
    let loader = Loader::new().fill_from(&Act::Relu).unwrap();
    let tensors = Tensors::default().with_metadata("format", "pt");
    assert_eq!(loader.load::<Act>(&tensors).unwrap(), Act::Relu);
}

#[test]
fn empty_values_are_beside_stacks() {
    let value = map(&[
        ("layers", vec![Layer { w: vec![1.0], b: None }, Layer { w: vec![2.0], b: None }]),
        ("none", vec![]),
    ]);
    let tree = Tree::of(&value).unwrap();
    let tensors = Export::new().stack("*[*]").tensors(&tree).unwrap();
    assert_eq!(tensors.get("layers.w").unwrap().shape(), [2, 1]);
    let read: BTreeMap<String, Vec<Layer>> = Loader::new().stack("*[*]").load(&tensors).unwrap();
    assert_eq!(read, value);
}

/// A structure is small to write down, and describes more than memory has.
#[test]
fn empty_values_are_bounded() {
    let tensors = Tensors::default();
    for text in ["[[]; 1000000000]", "[[[None; 1000000]; 1000000]; 1000000]"] {
        let result = tensors.clone().with_metadata("treedef", text).load::<Vec<Vec<f32>>>();
        refused(result, "the structure in the metadata has more than 262208 empty values");
    }
    // Values that are not in the file are not made.
    let text = "[[[*, []]; 1000000000]; 1000000000]";
    let result = tensors.with_metadata("treedef", text).load::<Vec<Vec<f32>>>();
    assert_snapshot!(result.unwrap_err(), @"
    the tensors do not fit the type
    missing ``: f32[_, _]
    ");
}

/// An option in an option can be `None` or `Some(None)`, which the structure distinguishes.
#[test]
fn nothing_in_a_present_option_comes_back() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Rate {
        inner: Option<Option<f32>>,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Rates {
        rate: Rate,
        all: Vec<Option<Option<f32>>>,
        #[serde(flatten)]
        rest: BTreeMap<String, Option<Option<u8>>>,
    }
    for inner in [None, Some(None), Some(Some(0.5))] {
        let all = vec![Some(None), None, inner, Some(Some(1.5))];
        let rest = [("a".to_owned(), Some(Some(7)))].into();
        back(Rates { rate: Rate { inner }, all, rest });
    }
}

/// A program that changes a file may keep the metadata of who wrote it.
#[test]
fn a_tensor_is_there_whatever_the_structure_says() {
    let tensors = saved(&Layer { w: vec![0.5], b: Some(1.5) });
    let tensors = tensors.with_metadata("treedef", "Layer { w: [], b: Some(None) }");
    let read: Layer = tensors.load().unwrap();
    assert_eq!(read, Layer { w: vec![0.5], b: Some(1.5) });
}
