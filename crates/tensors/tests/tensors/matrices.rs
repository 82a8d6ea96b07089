//! Matrices that serde sees by columns, without a name: of `nalgebra` and `glam`.

use insta::assert_snapshot;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef::{ArrayRule, Flattener, Leaf, Tree};
use treedef_tensors::{Dtype, Export, Loader, Tensor, Tensors, npz, safetensors};

use crate::{listed, refused};

/// An `SMatrix<u8, 2, 3>`, and a `DMatrix<u8>`.
type Static = (u8, u8, u8, u8, u8, u8);
type Dynamic = (Vec<u8>, u64, u64);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Model {
    fixed: Static,
    layers: Vec<Static>,
    dynamic: Dynamic,
    vector: (Vec<u8>, u64, ()),
    row: (Vec<u8>, (), u64),
    tall: (Vec<u8>, u64, ()),
    wide: (Vec<u8>, (), u64),
    best: Option<Dynamic>,
    other: Vec<u8>,
}

const COLUMNS: Static = (11, 21, 12, 22, 13, 23);

fn model() -> Model {
    let columns = vec![11, 21, 12, 22, 13, 23];
    Model {
        fixed: COLUMNS,
        layers: vec![COLUMNS; 2],
        dynamic: (columns.clone(), 2, 3),
        vector: (vec![1, 2, 3], 3, ()),
        row: (vec![1, 2, 3], (), 3),
        tall: (columns.clone(), 3, ()),
        wide: (columns.clone(), (), 3),
        best: Some((columns.clone(), 2, 3)),
        other: vec![1, 2, 3],
    }
}

const DYNAMIC: [&str; 6] = ["dynamic", "vector", "row", "tall", "wide", "best?"];

fn rules() -> Flattener {
    let rules = Flattener::new().array_rule(ArrayRule::Matrix(".fixed".parse().unwrap(), 2, 3));
    let rules = rules.array_rule(ArrayRule::Matrix(".layers[*]".parse().unwrap(), 2, 3));
    let rule = |rules: Flattener, field| {
        rules.array_rule(ArrayRule::Nalgebra(format!(".{field}").parse().unwrap()))
    };
    DYNAMIC.into_iter().fold(rules, rule)
}

fn loader() -> Loader {
    let fields = ["fixed", "layers.*", "dynamic", "vector", "row", "tall", "wide", "best"];
    fields.into_iter().fold(Loader::new(), Loader::column_major)
}

/// `[i, j]` is the number `10 (i + 1) + (j + 1)`.
const ROWS: [u8; 6] = [11, 12, 13, 21, 22, 23];

#[test]
fn matrices_are_the_tensors_that_they_are() {
    let tree = rules().arrays(true).tree(&model()).unwrap();
    let tensors = Tensors::of(&tree).unwrap();
    assert_snapshot!(listed(&tensors).join("; "), @"fixed: u8[2, 3]; layers.0: u8[2, 3]; layers.1: u8[2, 3]; dynamic: u8[2, 3]; vector: u8[3]; row: u8[3]; tall: u8[3, 2]; wide: u8[2, 3]; best: u8[2, 3]; other: u8[3]");
    for name in ["fixed", "layers.0", "layers.1", "dynamic", "best", "wide"] {
        assert_eq!(tensors.get(name).unwrap().bytes(), ROWS, "{name}");
    }
    assert_eq!(loader().load::<Model>(&tensors).unwrap(), model());
    let file = safetensors::to_bytes(&tensors).unwrap();
    let back: Tree<Leaf> =
        Export::new().tree(&safetensors::from_bytes(&file).unwrap().read().unwrap()).unwrap();
    assert_eq!(back, tree.clone().without_arrays().unwrap());
    assert_eq!(
        loader().load::<Model>(&safetensors::from_bytes(&file).unwrap().read().unwrap()).unwrap(),
        model()
    );
    let numpy = npz::to_bytes(&tensors).unwrap();
    assert_eq!(
        loader().load::<Model>(&npz::from_bytes(&numpy).unwrap().read().unwrap()).unwrap(),
        model()
    );
}

/// Without arrays as leaves, static sizes show a dynamic matrix.
#[test]
fn matrices_with_static_sizes_are_tensors() {
    let value = (model().dynamic, model().vector, model().wide, vec![[0.5f32; 2]; 2]);
    let rules = [".0", ".1", ".2"];
    let rule =
        |rules: Flattener, path: &str| rules.array_rule(ArrayRule::Nalgebra(path.parse().unwrap()));
    let rules = rules.into_iter().fold(Flattener::new(), rule);
    let tree = rules.tree(&value).unwrap();
    let tensors = Tensors::of(&tree).unwrap();
    assert_snapshot!(listed(&tensors).join("; "), @"0: u8[2, 3]; 1: u8[3]; 2: u8[2, 3]; 3: f32[2, 2]");
    assert_eq!(tensors.get("0").unwrap().bytes(), ROWS);
    assert_eq!(Export::new().tree::<Leaf>(&tensors).unwrap(), tree);
    let typed = rules.tree_as::<u8>(&(model().dynamic, model().vector, model().wide)).unwrap();
    let tensors = Tensors::of(&typed).unwrap();
    assert_eq!(tensors.get("0").unwrap().bytes(), ROWS);
    assert_eq!(Export::new().tree::<u8>(&tensors).unwrap(), typed);
    // Pairs are the elements of a matrix, too.
    let pairs = (vec![[1u8, 2], [3, 4], [5, 6], [7, 8]], 2u64, 2u64);
    let rules = Flattener::new().array_rule(ArrayRule::Nalgebra("".parse().unwrap()));
    let tree = rules.tree(&pairs).unwrap();
    let tensors = Tensors::of(&tree).unwrap();
    assert_eq!(listed(&tensors), [": u8[2, 2, 2]"]);
    assert_eq!(tensors.get("").unwrap().bytes(), [1, 2, 5, 6, 3, 4, 7, 8]);
    assert_eq!(Export::new().tree::<Leaf>(&tensors).unwrap(), tree);
}

#[test]
fn complex_and_other_sizes_come_back() {
    let complex =
        Flattener::new().arrays(true).array_rule(ArrayRule::Complex("**".parse().unwrap()));
    let value = (vec![(1.0f32, 2.0f32), (3.0, 4.0), (5.0, 6.0), (7.0, 8.0)], 1u64, 4u64);
    let tree = complex.array_rule(ArrayRule::Nalgebra("".parse().unwrap())).tree(&value).unwrap();
    let tensors = Tensors::of(&tree).unwrap();
    assert_eq!(listed(&tensors), [": c64[1, 4]"]);
    assert_eq!(
        Export::new().tree::<Leaf>(&tensors).unwrap(),
        tree.clone().without_arrays().unwrap()
    );
    type Complex = (Vec<(f32, f32)>, u64, u64);
    assert_eq!(Loader::new().column_major("").load::<Complex>(&tensors).unwrap(), value);
    // Sizes of another type are in the metadata.
    let value = (vec![1.5f32; 6], 2u8, 3u16);
    let rules = Flattener::new().arrays(true).array_rule(ArrayRule::Nalgebra("".parse().unwrap()));
    let tree = rules.tree(&value).unwrap();
    let tensors = Tensors::of(&tree).unwrap();
    assert_eq!(tensors.metadata("treedef.arrays"), Some(r#"{"":["2u8","3u16"]}"#));
    assert_eq!(
        Export::new().tree::<Leaf>(&tensors).unwrap(),
        tree.clone().without_arrays().unwrap()
    );
}

/// An array that is written number by number changes nothing of a matrix beside it.
#[test]
fn matrices_beside_other_arrays_come_back() {
    let colours = ndarray::arr2(&[[[1u8, 2, 3], [4, 5, 6]]]);
    let value = (colours, model().dynamic);
    let rules =
        Flattener::new().arrays(true).array_rule(ArrayRule::Nalgebra(".1".parse().unwrap()));
    let tree = rules.tree(&value).unwrap();
    let tensors = Tensors::of(&tree).unwrap();
    assert_eq!(listed(&tensors), ["0: u8[1, 2, 3]", "1: u8[2, 3]"]);
    assert_eq!(tensors.get("1").unwrap().bytes(), ROWS);
    assert_eq!(
        Export::new().tree::<Leaf>(&tensors).unwrap(),
        tree.clone().without_arrays().unwrap()
    );
}

#[test]
fn stacked_matrices_come_back() {
    let value = vec![COLUMNS; 4];
    let rules =
        Flattener::new().arrays(true).array_rule(ArrayRule::Matrix("[*]".parse().unwrap(), 2, 3));
    let tree = rules.tree(&value).unwrap();
    let export = Export::new().stack("[*]");
    let tensors = export.tensors(&tree).unwrap();
    assert_eq!(listed(&tensors), [": u8[4, 2, 3]"]);
    assert_eq!(tensors.get("").unwrap().bytes(), ROWS.repeat(4));
    assert_eq!(export.tree::<Leaf>(&tensors).unwrap(), tree.clone().without_arrays().unwrap());
    let loader = Loader::new().column_major("").stack("");
    assert_eq!(loader.load::<Vec<Static>>(&tensors).unwrap(), value);
    let dynamic: Vec<Dynamic> = loader.load(&tensors).unwrap();
    assert_eq!(dynamic[3], model().dynamic);
}

#[test]
fn matrices_below_flatten_come_back() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Outer {
        #[serde(flatten)]
        inner: Model,
    }
    let value = Outer { inner: model() };
    let tree = rules().arrays(true).tree(&value).unwrap();
    let tensors = Tensors::of(&tree).unwrap();
    assert_eq!(loader().load::<Outer>(&tensors).unwrap(), value);
}

#[test]
fn shapes_that_do_not_fit_have_both_sides() {
    let file = |shape: &[usize]| {
        let bytes: Vec<u8> = (0..shape.iter().product::<usize>()).map(|byte| byte as u8).collect();
        let tensor = Tensor::new(Dtype::U8, shape.to_vec(), bytes).unwrap();
        Tensors::new([("w".to_owned(), tensor)]).unwrap()
    };
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Net<T> {
        w: T,
    }
    fn message<T: Serialize + DeserializeOwned>(tensors: &Tensors<'_>) -> String {
        match Loader::new().column_major("w").load::<Net<T>>(tensors) {
            Ok(_) => panic!("it was read"),
            Err(error) => error.to_string().replace("the tensors do not fit the type\n", ""),
        }
    }
    assert_snapshot!(message::<Static>(&file(&[2, 2])), @"`w` is u8[2, 2], expected a matrix of 6 numbers");
    assert_snapshot!(message::<[u8; 3]>(&file(&[2, 2])), @"`w` is u8[2, 2], expected a matrix of 3 numbers");
    assert_snapshot!(message::<[f32; 4]>(&file(&[2, 2])), @"`w` is u8[2, 2], expected f32[2, 2]");
    assert_snapshot!(message::<Dynamic>(&file(&[4])), @"`w` is u8[4], expected a matrix, which has two dimensions");
    assert_snapshot!(message::<(Vec<u8>, u64, ())>(&file(&[4, 1])), @"`w` is u8[4, 1], expected a vector, which has one dimension");
    assert_snapshot!(message::<(Vec<u8>, (), u64)>(&file(&[1, 4])), @"`w` is u8[1, 4], expected a vector, which has one dimension");
    assert_snapshot!(message::<Dynamic>(&file(&[4, 1, 1])), @"`w` is u8[4, 1, 1], expected a matrix, which has two dimensions");
    assert_snapshot!(message::<Vec<Vec<u8>>>(&file(&[2, 2])), @"`w` is u8[2, 2], expected nested sequences, which are read without `column_major`");
    assert_snapshot!(message::<Vec<[u8; 4]>>(&file(&[3, 2, 2])), @"`w` is u8[3, 2, 2], expected a matrix, which has two dimensions");
    assert_snapshot!(message::<(Vec<f32>, u64, u64)>(&file(&[2, 3])), @"`w` is u8[2, 3], expected f32[3, 2]");
    // A tuple of three numbers is a static matrix or vector.
    let loader = Loader::new().column_major("w");
    assert_eq!(loader.load::<Net<[u8; 3]>>(&file(&[3])).unwrap().w, [0, 1, 2]);
    assert_eq!(loader.load::<Net<[u8; 3]>>(&file(&[1, 3])).unwrap().w, [0, 1, 2]);
    let vector: Net<(Vec<u8>, u64, ())> = loader.load(&file(&[3])).unwrap();
    assert_eq!(vector.w, (vec![0, 1, 2], 3, ()));
    let matrix: Net<Dynamic> = loader.load(&file(&[3, 1])).unwrap();
    assert_eq!(matrix.w, (vec![0, 1, 2], 3, 1));
    let none: Net<Dynamic> = loader.load(&file(&[0, 2])).unwrap();
    assert_eq!(none.w, (vec![], 0, 2));
    // Transposed before it is read.
    let transposed = Loader::new().transpose("w").column_major("w");
    assert_eq!(
        transposed.load::<Net<Dynamic>>(&file(&[2, 3])).unwrap().w,
        ((0..6).collect(), 3, 2)
    );
    // Damaged metadata.
    let tree = rules().arrays(true).tree(&model()).unwrap();
    let tensors = Tensors::of(&tree).unwrap();
    let changed = tensors.clone().with_metadata("treedef.matrices", r#"[".other"]"#);
    refused(
        Export::new().tree::<Leaf>(&changed),
        "the tensor `fixed`, u8[2, 3], is not what the structure has at `.fixed`",
    );
    let changed = tensors.clone().with_metadata("treedef.matrices", "1");
    assert!(Export::new().tree::<Leaf>(&changed).is_err());
    // The value to fill from has no matrices.
    let filled = Loader::new().column_major("w").fill_from(&Net { w: COLUMNS }).unwrap();
    let (net, report) = filled.load_partial::<Net<Static>>(&file(&[2, 3])).unwrap();
    assert_eq!((net.w, report.is_exact()), ((0, 3, 1, 4, 2, 5), true));
}
