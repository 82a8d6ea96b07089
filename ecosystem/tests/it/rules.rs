//! Rules that leave an array only its numbers, wherever it stands. What serde gives no name is found by its path.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use treedef::{ArrayRule, Flattener, Leaf, LeafKind, flatten, unflatten};

use crate::graphs::{graph, graph_map, with_holes};
use crate::laws::{Subject, doubled, texts_parse_back};

fn paths(flattener: Flattener, patterns: &[&str]) -> Flattener {
    patterns.iter().fold(flattener, |flattener, text| flattener.mark_static(*text).unwrap())
}

/// A dynamic matrix is `(numbers, rows, columns)` without a name, so each field that holds one is named.
fn nalgebra_rules(flattener: Flattener, fields: &[&str]) -> Flattener {
    fields.iter().fold(flattener, |flattener, field| {
        flattener.array_rule(ArrayRule::Nalgebra(format!("**.{field}").parse().unwrap()))
    })
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Bigger<T> {
    seq: Vec<T>,
    option: Option<(T,)>,
    map: BTreeMap<String, T>,
    variants: (Variant<T>, Variant<T>, Variant<T>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Variant<T> {
    Newtype(T),
    Tuple((), T),
    Struct { value: T },
}

impl<T: Clone> Bigger<T> {
    const COPIES: usize = 8;

    fn new(value: T) -> Self {
        let copy = || value.clone();
        Bigger {
            seq: vec![copy(); 2],
            option: Some((copy(),)),
            map: [("a".to_owned(), copy()), ("b".to_owned(), copy())].into(),
            variants: (
                Variant::Newtype(copy()),
                Variant::Tuple((), copy()),
                Variant::Struct { value: copy() },
            ),
        }
    }
}

/// Holds that the leaves are the numbers, alone and inside a bigger value, that no rule is idle, that all comes back.
#[track_caller]
fn only<T: Subject>(flattener: &Flattener, value: T, numbers: &[impl Into<Leaf> + Clone]) {
    let numbers: Vec<Leaf> = numbers.iter().cloned().map(Into::into).collect();
    leaves_are(flattener, &value, numbers.clone());
    leaves_are(flattener, &Bigger::new(value), vec![numbers; Bigger::<T>::COPIES].concat());
}

#[track_caller]
fn leaves_are<T: Subject>(flattener: &Flattener, value: &T, numbers: Vec<Leaf>) {
    let (leaves, treedef) = flattener.flatten(value).unwrap();
    assert_eq!(leaves, numbers, "{treedef}");
    assert!(flattener.unmatched_rules(value).unwrap().is_empty());
    texts_parse_back(&treedef);
    let rebuilt: T = unflatten(&treedef, &leaves).unwrap();
    assert_eq!(rebuilt, *value);
    assert_eq!(flatten(&rebuilt).unwrap(), flatten(value).unwrap());

    let leaves = doubled(&leaves);
    let scaled: T = unflatten(&treedef, &leaves).unwrap();
    assert_eq!(flattener.flatten(&scaled).unwrap(), (leaves, treedef));
}

#[test]
fn ndarray() {
    use ndarray::{ArrayD, IxDyn, arr0, arr1, arr2};

    let rules = Flattener::new().array_rule(ArrayRule::Ndarray);
    only(&rules, arr0(1.5), &[1.5]);
    only(&rules, arr2(&[[1.0, 2.0], [3.0, 4.0]]), &[1.0, 2.0, 3.0, 4.0]);
    only(&rules, arr1(&[1u64, 2]), &[1u64, 2]);
    only(&rules, ArrayD::from_elem(IxDyn(&[1, 2, 1]), 0.5f32), &[0.5f32; 2]);
    only(&rules, arr1(&[arr1(&[1.0]), arr1(&[2.0, 3.0])]), &[1.0, 2.0, 3.0]);

    let (_, treedef) = rules.flatten(&vec![arr2(&[[1.0, 2.0]]); 3]).unwrap();
    insta::assert_snapshot!(treedef, @"[Array { v: static 1u8, dim: static (1u64, 2u64), data: [*, *] }; 3]");
}

/// What the documentation of the rules promises of versions: they look alike to serde.
#[test]
fn earlier_versions_of_ndarray_and_nalgebra() {
    let rules = Flattener::new().array_rule(ArrayRule::Ndarray);
    let earlier = ndarray_0_16::arr2(&[[1.0, 2.0], [3.0, 4.0]]);
    only(&rules, earlier.clone(), &[1.0, 2.0, 3.0, 4.0]);
    assert_eq!(
        rules.flatten(&earlier).unwrap(),
        rules.flatten(&ndarray::arr2(&[[1.0, 2.0], [3.0, 4.0]])).unwrap()
    );
    let dynamic = ndarray_0_16::ArrayD::from_elem(ndarray_0_16::IxDyn(&[1, 2, 1]), 0.5f32);
    only(&rules, dynamic, &[0.5f32; 2]);

    let rules = Flattener::new().array_rule(ArrayRule::Nalgebra("[*]".parse().unwrap()));
    let numbers = [1.0, 2.0, 3.0, 4.0];
    let earlier = vec![nalgebra_0_33::DMatrix::from_row_slice(2, 2, &numbers)];
    leaves_are(&rules, &earlier, [1.0, 3.0, 2.0, 4.0].map(Leaf::from).into());
    assert_eq!(
        rules.flatten(&earlier).unwrap(),
        rules.flatten(&[nalgebra::DMatrix::from_row_slice(2, 2, &numbers)].to_vec()).unwrap()
    );
    let rows = vec![nalgebra_0_33::DVector::from_vec(vec![0.5f32, 1.5])];
    leaves_are(&rules, &rows, [0.5f32, 1.5].map(Leaf::from).into());
}

#[test]
fn ndarray_below_flatten() {
    use ndarray::Array1;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Tensor {
        #[serde(flatten)]
        array: Array1<f64>,
        scale: f64,
    }

    // There the array is part of a map, which has no name.
    let tensor = Tensor { array: Array1::from(vec![1.0, 2.0]), scale: 0.5 };
    let by_name =
        Flattener::new().mark_static("Array.v").unwrap().mark_static("Array.dim").unwrap();
    assert_eq!(by_name.unmatched_rules(&tensor).unwrap(), ["Array.v", "Array.dim"]);
    let by_path = paths(Flattener::new(), &["**.v", "**.dim"]);
    only(&by_path, tensor, &[1.0, 2.0, 0.5]);
}

#[test]
fn ndarray_as_one_leaf() {
    use ndarray::{Array1, arr1};

    let arrays = vec![arr1(&[1.0, 2.0]), arr1(&[3.0])];
    let (mut leaves, treedef) =
        Flattener::new().mark_opaque("Array").unwrap().flatten(&arrays).unwrap();
    assert_eq!(treedef.to_string(), "[*, *]");
    assert_eq!(leaves[0].clone().into_typed::<Array1<f64>>().unwrap(), arrays[0]);
    leaves[1] = Leaf::from(treedef::Value::of(&arr1(&[4.0, 5.0, 6.0])).unwrap());
    let rebuilt: Vec<Array1<f64>> = unflatten(&treedef, leaves).unwrap();
    assert_eq!(rebuilt, [arr1(&[1.0, 2.0]), arr1(&[4.0, 5.0, 6.0])]);
}

/// Makes the shape and the indices of sparse matrices static.
fn sparse_matrices(rules: Flattener) -> Flattener {
    let fields = ["nrows", "ncols", "indptr", "indices"];
    fields
        .iter()
        .fold(rules, |rules, field| rules.mark_static(format!("CsMatBase.{field}")).unwrap())
}

fn sparse_vectors(rules: Flattener) -> Flattener {
    rules.mark_static("CsVecBase.dim").unwrap().mark_static("CsVecBase.indices").unwrap()
}

/// Makes the holes and the ends of the edges static. The ends are in a triple without a name.
fn graphs(rules: Flattener) -> Flattener {
    let rules = rules.mark_static("Graph.node_holes").unwrap();
    rules.mark_static("**.edges[*]?.0").unwrap().mark_static("**.edges[*]?.1").unwrap()
}

#[test]
fn sprs() {
    use sprs::{CsMat, CsVec, TriMat};

    let rules = sparse_matrices(Flattener::new());
    only(&rules, CsMat::<f32>::eye(2), &[1.0f32, 1.0]);
    let mut triplets = TriMat::new((3, 4));
    triplets.add_triplet(2, 0, 25u64);
    triplets.add_triplet(0, 1, 15);
    let matrix: CsMat<u64> = triplets.to_csc();
    only(&rules, matrix.clone(), &[25u64, 15]);
    let (_, treedef) = rules.flatten(&matrix).unwrap();
    insta::assert_snapshot!(treedef, @"CsMatBase { storage: CompressedStorage::CSC, nrows: static 3u64, ncols: static 4u64, indptr: static [0u64, 1u64, 2u64, 2u64, 2u64], indices: static [2u64, 0u64], data: [*, *] }");

    let rules = sparse_vectors(Flattener::new());
    only(&rules, CsVec::new(5, vec![0, 4], vec![0.5, 4.5]), &[0.5, 4.5]);
}

#[test]
fn petgraph() {
    let rules = graphs(Flattener::new());
    let leaves = [Leaf::from("a"), "b".into(), "c".into(), 1.5.into(), 2.5.into()];
    only(&rules, graph(), &leaves);
    let leaves = [1.0f32, 2.0, 3.0].map(Leaf::from).into_iter().chain([Leaf::from(2.5)]);
    only(&rules, with_holes(), &leaves.collect::<Vec<_>>());
    let (_, treedef) = rules.flatten(&with_holes()).unwrap();
    insta::assert_snapshot!(treedef, @"Graph { nodes: [*, *, *], node_holes: static [0u32], edge_property: EdgeProperty::directed, edges: [None, None, Some((static 2u32, static 3u32, *))] }");

    // In a `GraphMap` the nodes are keys.
    let rules = rules.mark_static("Graph.nodes").unwrap();
    only(&rules, graph_map(), &[0.5, 1.5]);
}

#[test]
fn nalgebra_by_path() {
    use nalgebra::{DMatrix, DVector};

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Layer {
        w: DMatrix<u64>,
        bs: Vec<DVector<f64>>,
    }

    let layer = Layer {
        w: DMatrix::from_row_slice(2, 2, &[1, 2, 3, 4]),
        bs: vec![DVector::from_vec(vec![0.5]), DVector::from_vec(vec![1.5, 2.5])],
    };
    let leaves = [1u64, 3, 2, 4].map(Leaf::from).into_iter();
    let leaves: Vec<Leaf> = leaves.chain([0.5, 1.5, 2.5].map(Leaf::from)).collect();
    let rules = nalgebra_rules(Flattener::new(), &["w", "bs[*]"]);
    only(&rules, layer.clone(), &leaves);
    let (_, treedef) = rules.flatten(&layer).unwrap();
    insta::assert_snapshot!(treedef, @"Layer { w: ([*, *, *, *], static 2u64, static 2u64), bs: [([*], static 1u64, static ()), ([*, *], static 2u64, static ())] }");
}

#[test]
fn nalgebra_by_kind() {
    use nalgebra::{DMatrix, DVector, Isometry3};

    // Rows and columns are `u64`: where the numbers are of another kind, that tells them apart in any place.
    let floats = Flattener::new().leaves_where(LeafKind::is_float);
    only(&floats, DMatrix::from_row_slice(2, 2, &[1.0, 2.0, 3.0, 4.0]), &[1.0, 3.0, 2.0, 4.0]);
    only(&floats, vec![DVector::from_vec(vec![1.0f32, 2.0])], &[1.0f32, 2.0]);
    let bytes = Flattener::new().leaves_where(|kind| kind == LeafKind::U8);
    only(&bytes, DMatrix::from_row_slice(1, 2, &[1u8, 2]), &[1u8, 2]);
    // Static dimensions are part of the type, and there are only numbers.
    let identity = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
    only(&Flattener::new(), Isometry3::<f64>::identity(), &identity);
}

#[test]
fn nalgebra_decompositions() {
    use nalgebra::DMatrix;

    use crate::laws::ByDebug;

    let matrix = DMatrix::from_row_slice(2, 2, &[2.0, 0.0, 0.0, 1.0]);
    let lu = nalgebra_rules(Flattener::new(), &["lu"]).mark_static("LU.p").unwrap();
    only(&lu, ByDebug(matrix.clone().lu()), &[2.0, 0.0, 0.0, 1.0]);
    let svd = nalgebra_rules(Flattener::new(), &["u?", "v_t?", "singular_values"]);
    let (leaves, treedef) = svd.flatten(&matrix.svd(true, true)).unwrap();
    assert!(leaves.iter().all(|leaf| leaf.kind().is_float()), "{treedef}");
    insta::assert_snapshot!(treedef, @"SVD { u: Some(([*, *, *, *], static 2u64, static 2u64)), v_t: Some(([*, *, *, *], static 2u64, static 2u64)), singular_values: ([*, *], static 2u64, static ()) }");
}

#[test]
fn slotmap() {
    use slotmap::{DefaultKey, SlotMap};

    use crate::laws::ByDebug;

    let mut slots: SlotMap<DefaultKey, f64> = SlotMap::new();
    let key = slots.insert(1.0);
    slots.insert(2.0);
    slots.remove(key);
    let rules = Flattener::new().mark_static("SerdeSlot.version").unwrap();
    only(&rules, ByDebug(slots), &[2.0]);
}

/// All rules at once, on a value that holds one of each.
#[test]
fn together() {
    use ndarray::arr1;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Model {
        dense: ndarray::Array1<f64>,
        sparse: sprs::CsMat<f64>,
        gaps: sprs::CsVec<f64>,
        weights: nalgebra::DMatrix<f64>,
        rotation: nalgebra::Matrix2<f64>,
        graph: crate::graphs::Graph<nalgebra::Vector2<f64>, ndarray::Array1<f64>>,
    }

    let mut graph = petgraph::graph::DiGraph::new();
    let node = graph.add_node(nalgebra::Vector2::new(10.0, 11.0));
    graph.add_edge(node, node, arr1(&[12.0]));
    let model = Model {
        dense: arr1(&[1.0, 2.0]),
        sparse: sprs::CsMat::eye(1),
        gaps: sprs::CsVec::new(3, vec![1], vec![3.0]),
        weights: nalgebra::DMatrix::from_element(1, 2, 4.0),
        rotation: nalgebra::Matrix2::new(5.0, 7.0, 6.0, 8.0),
        graph: crate::graphs::Graph(graph),
    };
    let rules = sparse_matrices(sparse_vectors(Flattener::new().array_rule(ArrayRule::Ndarray)));
    let rules = graphs(rules);
    let rules = nalgebra_rules(rules, &["weights"]);
    let numbers = [1.0, 2.0, 1.0, 3.0, 4.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 11.0, 12.0];
    only(&rules, model.clone(), &numbers);
    let (leaves, treedef) = rules.flatten_as::<f64>(&model).unwrap();
    assert_eq!(leaves, numbers);
    assert_eq!(unflatten::<Model>(&treedef, leaves).unwrap(), model);
}
