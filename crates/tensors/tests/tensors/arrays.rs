//! Structs that hold an array: they are written as the tensor that is read into them.

use std::collections::BTreeMap;
use std::fmt::Debug;

use half::{bf16, f16};
use insta::assert_snapshot;
use ndarray::{Array0, Array1, Array2, Array3, ArrayD, IxDyn, arr0, arr1, arr2};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef::{ArrayRule, Flattener, Leaf, Tree};
use treedef_tensors::{Dtype, Export, Loader, Tensor, Tensors, safetensors};

use crate::{listed, refused};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Matrix<S, N> {
    pub(crate) shape: S,
    pub(crate) data: Vec<N>,
}

/// The tensors of a value, which are read as the value and as its tree. The tensors of a tree whose arrays
/// are leaves are the same.
#[track_caller]
pub(crate) fn tensors<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) -> String {
    let tree = Tree::of(value).unwrap();
    let tensors = Tensors::of(&tree).unwrap();
    assert_eq!(&tensors.load::<T>().unwrap(), value);
    assert_eq!(Export::new().tree::<Leaf>(&tensors).unwrap(), tree);
    let arrays = Flattener::new().arrays(true).tree(value).unwrap();
    assert_eq!(Tensors::of(&arrays).unwrap(), tensors);
    let bytes = safetensors::to_bytes(&tensors).unwrap();
    assert_eq!(
        Export::new()
            .tree::<Leaf>(&safetensors::from_bytes(&bytes).unwrap().read().unwrap())
            .unwrap()
            .into_typed::<T>()
            .unwrap(),
        *value
    );
    listed(&tensors).join("; ")
}

#[test]
fn arrays_are_one_tensor() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Model {
        w: Array2<f32>,
        layers: Vec<Array1<f64>>,
        best: Option<Array3<u8>>,
        any: ArrayD<bool>,
    }
    let model = Model {
        w: arr2(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        layers: vec![arr1(&[0.5; 2]), arr1(&[1.5; 3])],
        best: Some(Array3::from_elem((2, 1, 2), 7)),
        any: ArrayD::from_elem(IxDyn(&[1, 1, 2, 1]), true),
    };
    assert_snapshot!(tensors(&model), @"w: f32[2, 3]; layers.0: f64[2]; layers.1: f64[3]; best: u8[2, 1, 2]; any: bool[1, 1, 2, 1]");
    assert_snapshot!(tensors(&arr0(1.5f32)), @": f32[]");
    assert_snapshot!(tensors(&arr1(&[f16::PI; 3])), @": f16[3]");
    assert_snapshot!(tensors(&arr2(&[[bf16::PI]])), @": bf16[1, 1]");
    assert_snapshot!(tensors(&Matrix { shape: [2usize, 1], data: vec![1u64, 2] }), @": u64[2, 1]");
    assert_snapshot!(tensors(&Matrix { shape: vec![2usize, 1, 1], data: vec![1i8, 2] }), @": i8[2, 1, 1]");
    assert_snapshot!(tensors(&Matrix { shape: Vec::<usize>::new(), data: vec![1i8] }), @": i8[]");
    assert_snapshot!(tensors(&(Matrix { shape: 3usize, data: vec![1i8; 3] }, 1u8)), @"0: i8[3]; 1: u8[]");
    // Its numbers are borrowed, as the numbers of blocks are.
    let tree = Flattener::new().array_rule(ArrayRule::Ndarray).tree_as::<f32>(&model.w).unwrap();
    let written = Tensors::of(&tree).unwrap();
    assert_eq!(written.get("").unwrap().bytes().as_ptr(), tree.leaves().as_ptr().cast());
    let arrays = Flattener::new().arrays(true).tree(&model.w).unwrap();
    let numbers = arrays.leaves()[0].as_array().unwrap().as_slice::<f32>().unwrap();
    assert_eq!(
        Tensors::of(&arrays).unwrap().get("").unwrap().bytes().as_ptr(),
        numbers.as_ptr().cast()
    );
}

/// Elements that are arrays have the last dimensions.
#[test]
fn elements_have_a_shape_of_their_own() {
    let colours = Array2::from_shape_fn((2, 3), |(row, column)| [row as u8, column as u8, 7, 9]);
    assert_snapshot!(tensors(&colours), @": u8[2, 3, 4]");
    assert_snapshot!(tensors(&arr0([1.5f32, 2.5])), @": f32[2]");
    let complex = arr1(&[(1.5f32, -0.5f32), (0.0, 2.0)]);
    assert_snapshot!(tensors(&complex), @": f32[2, 2]");
    // Complex numbers of a file are such pairs, and stay complex where the tree has a rule for it.
    let bytes: Vec<u8> =
        [1.5f32, -0.5, 0.0, 2.0].iter().flat_map(|part| part.to_le_bytes()).collect();
    let tensor = Tensor::new(Dtype::C64, vec![2], bytes).unwrap();
    let file = Tensors::new([(String::new(), tensor)]).unwrap();
    assert_eq!(file.load::<Array1<(f32, f32)>>().unwrap(), complex);
    let rules = Flattener::new().arrays(true).array_rule(ArrayRule::Complex("**".parse().unwrap()));
    for tree in [rules.tree(&complex).unwrap(), rules.tree(&complex.to_vec()).unwrap()] {
        let written = Tensors::of(&tree).unwrap();
        assert_eq!(written.get(""), file.get(""));
        let back = Export::new().tree::<Leaf>(&written).unwrap();
        assert_eq!(back, tree.without_arrays().unwrap());
    }
    // With any number of dimensions, the dimensions of the elements could not be distinguished from the others.
    let any = complex.clone().into_dyn();
    assert_snapshot!(tensors(&any), @"v: u8[]; dim: u64[1]; data: f32[2, 2]");
}

#[test]
fn arrays_without_elements_are_f32_or_of_the_type_of_the_tree() {
    assert_snapshot!(tensors(&Array2::<f64>::zeros((0, 3))), @": f32[0, 3]");
    assert_snapshot!(tensors(&vec![Array1::<u8>::zeros(0), arr1(&[1])]), @"0: f32[0]; 1: u8[1]");
    assert_snapshot!(tensors(&Matrix { shape: vec![2usize, 0], data: Vec::<u64>::new() }), @": f32[2, 0]");
    let tree = Tree::<u64>::of_as(&Matrix { shape: [0u64], data: Vec::<u64>::new() }).unwrap();
    assert_snapshot!(Tensors::of(&tree).unwrap().get("").unwrap(), @"u64[0]");
    assert_eq!(Export::new().tree::<u64>(&Tensors::of(&tree).unwrap()).unwrap(), tree);
}

/// A struct that only resembles an array is not read as one.
#[test]
fn other_structs_stay_as_they_are() {
    assert_snapshot!(tensors(&Matrix { shape: [2usize, 3], data: vec![1u8; 5] }), @"shape: u64[2]; data: u8[5]");
    assert_snapshot!(tensors(&Matrix { shape: [2.0f32], data: vec![1u8; 2] }), @"shape: f32[1]; data: u8[2]");
    assert_snapshot!(tensors(&Matrix { shape: [-1i64, -2], data: vec![1u8; 2] }), @"shape: i64[2]; data: u8[2]");
    assert_snapshot!(tensors(&Matrix { shape: [2usize], data: vec![(1u8, 1u16); 2] }), @"shape: u64[1]; data.0.0: u8[]; data.0.1: u16[]; data.1.0: u8[]; data.1.1: u16[]");
    assert_snapshot!(tensors(&Matrix { shape: [2usize], data: vec![vec![1u8], vec![2, 3]] }), @"shape: u64[1]; data.0: u8[1]; data.1: u8[2]");
    assert_snapshot!(tensors(&Matrix { shape: [2usize], data: vec![arr1(&[1u8]), arr1(&[2])] }), @"shape: u64[1]; data.0: u8[1]; data.1: u8[1]");
    /// A vector of mostly zeros.
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Sparse {
        dim: usize,
        indices: Vec<usize>,
        data: Vec<f64>,
    }
    let sparse = Sparse { dim: 2, indices: vec![0, 1], data: vec![0.5, 1.5] };
    assert_snapshot!(tensors(&sparse), @"dim: u64[]; indices: u64[2]; data: f64[2]");
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Later {
        v: u8,
        dim: [usize; 1],
        data: [f32; 1],
    }
    assert_snapshot!(tensors(&Later { v: 2, dim: [1], data: [0.5] }), @"v: u8[]; dim: u64[1]; data: f32[1]");
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Variant {
        Array { shape: [usize; 1], data: [f32; 1] },
    }
    let variant = Variant::Array { shape: [1], data: [0.5] };
    assert_snapshot!(tensors(&variant), @"Array.shape: u64[1]; Array.data: f32[1]");
    let tree = Tree::of(&BTreeMap::from([("Array", [0.5f32])])).unwrap();
    refused(
        Tensors::of(&tree).unwrap().load::<Variant>(),
        "the tensors do not fit the type\nmissing `Array.data`: perhaps it is `Array`, which is unused\n\
         missing `Array.shape`: u64[1]",
    );
    // A part of a tensor would be written as a tensor of its own.
    let tree = Tree::of(&[[1.0f32, 2.0], [3.0, 4.0]]).unwrap();
    let written = Tensors::of(&tree).unwrap();
    refused(
        written.load::<Vec<Array1<f32>>>(),
        "the tensors do not fit the type\n\
         `` is f32[2, 2], expected a tensor for each array (see `Loader::stack`)",
    );
    let stacked: Vec<Array1<f32>> = Loader::new().stack("").load(&written).unwrap();
    assert_eq!(stacked, [arr1(&[1.0, 2.0]), arr1(&[3.0, 4.0])]);
}

/// The tree has the kinds of the dimensions, which a tensor does not have.
#[test]
fn dimensions_of_any_type_come_back() {
    let value = (Matrix { shape: [2u32, 1], data: vec![0.5f32; 2] }, arr1(&[1u8, 2]));
    let tree = Tree::of(&value).unwrap();
    let written = Tensors::of(&tree).unwrap();
    assert_eq!(written.metadata("treedef.arrays"), Some(r#"{".0":["2u32","1u32"]}"#));
    assert_snapshot!(tensors(&value), @"0: f32[2, 1]; 1: u8[2]");
    for wrong in [r#"{".0":["2u32","2u32"]}"#, r#"{".0":["2u32"]}"#, r#"{".0":["\"a\"","1u32"]}"#] {
        let changed = written.clone().with_metadata("treedef.arrays", wrong);
        refused(
            Export::new().tree::<Leaf>(&changed),
            "the tensor `0` is not what the structure has at `.0`",
        );
    }
    let changed = written.clone().with_metadata("treedef.arrays", "[1]");
    assert!(Export::new().tree::<Leaf>(&changed).is_err());
    let plain = Export::new().structure_in_metadata(false);
    assert_eq!(plain.tensors(&tree).unwrap().metadata_keys().len(), 0);
    // Typed leaves have no kinds of their own.
    let typed = Tree::<u8>::of_as(&Matrix { shape: [2u8, 1], data: vec![7u8, 8] }).unwrap();
    let written = Tensors::of(&typed).unwrap();
    assert_eq!(listed(&written), [": u8[2, 1]"]);
    assert_eq!(written.metadata_keys().collect::<Vec<_>>(), ["treedef"]);
    assert_eq!(Export::new().tree::<u8>(&written).unwrap(), typed);
}

#[test]
fn arrays_are_stacked() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Layer {
        w: Array2<f32>,
        b: Array1<f16>,
        none: Array1<u8>,
    }
    let layer = |scale: f32| Layer {
        w: arr2(&[[scale, 2.0, 3.0], [4.0, 5.0, scale]]),
        b: arr1(&[f16::from_f32(scale); 2]),
        none: Array1::zeros(0),
    };
    let layers = vec![layer(1.0), layer(2.0), layer(3.0)];
    let tree = Tree::of(&layers).unwrap();
    let export = Export::new().stack("[*]");
    let written = export.tensors(&tree).unwrap();
    assert_eq!(listed(&written), ["w: f32[3, 2, 3]", "b: f16[3, 2]", "none: f32[3, 0]"]);
    assert_eq!(export.tree::<Leaf>(&written).unwrap(), tree);
    assert_eq!(Loader::new().stack("[*]").load::<Vec<Layer>>(&written).unwrap(), layers);
    // As many arrays without bytes as a small file can have.
    let many = "treedef";
    let none = Tensor::new(Dtype::F32, vec![1 << 40, 0], vec![]).unwrap();
    let file = Tensors::new([(String::new(), none)])
        .unwrap()
        .with_metadata(many, "[A { shape: *, data: [] }; 1099511627776]");
    let error = export.tree::<Leaf>(&file).unwrap_err().to_string();
    assert!(error.starts_with("more than 262144 arrays without numbers at "), "{error}");
}

/// Files of versions that wrote the fields of the struct.
#[test]
fn files_with_the_fields_of_an_array_are_read() {
    let array = arr2(&[[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let tree = Tree::of(&("w", array.clone())).unwrap();
    let fields: [(&str, Tensor<'_>); 3] = [
        ("1.v", Tensor::new(Dtype::U8, vec![], vec![1]).unwrap()),
        (
            "1.dim",
            Tensor::new(Dtype::U64, vec![2], [2u64, 3].map(u64::to_le_bytes).concat()).unwrap(),
        ),
        (
            "1.data",
            Tensor::new(
                Dtype::F32,
                vec![6],
                [1f32, 2., 3., 4., 5., 6.].map(f32::to_le_bytes).concat(),
            )
            .unwrap(),
        ),
    ];
    let old = Tensors::new(fields.map(|(name, tensor)| (name.to_owned(), tensor))).unwrap();
    let old = old.with_metadata("treedef", tree.treedef().to_string()).with_metadata("0", "\"w\"");
    assert_eq!(Export::new().tree::<Leaf>(&old).unwrap(), tree);
    assert_eq!(old.load::<(String, Array2<f32>)>().unwrap(), ("w".to_owned(), array));
}

#[test]
fn shapes_that_do_not_fit_have_both_sides() {
    let load = |tensor: &[[f32; 3]; 2]| {
        let tree = Tree::of(tensor).unwrap();
        Tensors::of(&tree).unwrap().into_owned()
    };
    let file = load(&[[1.0; 3]; 2]);
    let message =
        |error: treedef_tensors::Error| error.to_string().lines().last().unwrap().to_owned();
    assert_snapshot!(message(file.load::<Array1<f32>>().unwrap_err()), @"`` is f32[2, 3], expected f32[2]");
    assert_snapshot!(message(file.load::<Array0<f32>>().unwrap_err()), @"`` is f32[2, 3], expected f32[]");
    assert_snapshot!(message(file.load::<Array3<f32>>().unwrap_err()), @"`` is f32[2, 3], expected f32[_, _, _]");
    assert_snapshot!(message(file.load::<Array2<f64>>().unwrap_err()), @"`` is f32[2, 3], expected f64[2, 3] (see `Loader::convert_floats`)");
    assert_snapshot!(message(file.load::<Matrix<usize, f32>>().unwrap_err()), @"`` is f32[2, 3], expected f32[2]");
    assert_snapshot!(message(file.load::<Array1<[f32; 4]>>().unwrap_err()), @"`` is f32[2, 3], expected f32[2, 4]");
    assert_eq!(file.load::<Array1<[f32; 3]>>().unwrap(), arr1(&[[1.0; 3]; 2]));
    // Rounded, and with its axes swapped.
    let rounded: Array2<f16> =
        Loader::new().convert_floats(true).transpose("").load(&file).unwrap();
    assert_eq!(rounded, Array2::from_elem((3, 2), f16::ONE));
}

/// A shape that requests more dimensions than there can be, and reads none.
#[derive(Debug, Serialize)]
struct Endless;

impl<'de> Deserialize<'de> for Endless {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl<'de> serde::de::Visitor<'de> for Any {
            type Value = Endless;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a shape")
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, _: A) -> Result<Endless, A::Error> {
                Ok(Endless)
            }
        }

        deserializer.deserialize_tuple(usize::MAX, Any)
    }
}

#[test]
fn a_shape_of_any_length_is_an_error() {
    let tree = Tree::of(&[1f32; 2]).unwrap();
    let tensors = Tensors::of(&tree).unwrap();
    let error = tensors.load::<Matrix<Endless, f32>>().unwrap_err().to_string();
    assert!(error.contains("f32[2]") && error.contains("f32[_, _,"), "{error}");
}
