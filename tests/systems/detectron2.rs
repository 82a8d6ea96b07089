//! Detectron2: `flatten_to_tuple` and `TracingAdapter`.

use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use treedef::{Flattener, Leaf, LeafKind, Static, Tree, Value};

use crate::common::{def, said};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Names {
    name: Vec<i32>,
    name2: i32,
}

/// `[3, ([5, 6], {"name": [7, 9], "name2": 3})]`: a list of different types is a tuple, a dict of
/// them a struct.
type Obj = (i32, (Vec<i32>, Names));

fn obj() -> Obj {
    (3, (vec![5, 6], Names { name: vec![7, 9], name2: 3 }))
}

#[test]
fn a_nested_value_is_flattened_and_comes_back() {
    let (res, schema) = treedef::flatten_as::<i32>(&obj()).unwrap();
    assert_eq!(res, [3, 5, 6, 7, 9, 3]);
    assert_snapshot!(schema, @"(*, ([*, *], Names { name: [*, *], name2: * }))");
    assert_eq!(treedef::unflatten::<Obj>(&schema, &res).unwrap(), obj());
    let letters = Tree::new(schema.clone(), ('u'..='z').collect()).unwrap();
    assert_eq!(letters.to_string(), "(u, ([v, w], Names { name: [x, y], name2: z }))");
    // `Values has length 5 but expect length 6.`
    assert_snapshot!(said(treedef::unflatten::<Obj>(&schema, &res[..5])), @"expected 6 leaves, found 5");
}

/// Schemas go through JSON there, as dumped dataclasses.
#[test]
#[cfg(feature = "persist")]
fn a_schema_goes_through_json() {
    let schema = treedef::structure(&(7, vec![(5, 6)])).unwrap();
    let json = serde_json::to_string(&schema).unwrap();
    assert_eq!(json, "\"(*, [(*, *)])\"");
    assert_eq!(serde_json::from_str::<treedef::TreeDef>(&json).unwrap(), schema);
    assert_ne!(def("(,)"), def("[]"));
}

/// A 1-D tensor of floats: one leaf.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Tensor(Vec<f64>);

fn t<const N: usize>(numbers: [f64; N]) -> Tensor {
    Tensor(numbers.to_vec())
}

impl Tensor {
    fn plus(&self, other: &Tensor) -> Tensor {
        Tensor(self.0.iter().zip(&other.0).map(|(a, b)| a + b).collect())
    }
}

fn leaf(tensor: &Tensor) -> Leaf {
    Leaf::from(Value::of(tensor).unwrap())
}

fn tensors() -> Flattener {
    Flattener::new().mark_opaque("Tensor").unwrap()
}

#[derive(Serialize, Deserialize)]
struct Input {
    a: Tensor,
    b: Vec<Tensor>,
}

/// Detectron2 sorts keys. Ours: fields stand in declared order, here the sorted one.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Output {
    parts: (Tensor, (Tensor,)),
    sum: Tensor,
}

fn model(x: Input) -> Output {
    let doubled = x.a.plus(&x.a);
    Output { sum: x.a.plus(&x.b[0]), parts: (doubled, (x.b[0].clone(),)) }
}

/// `TracingAdapter`: a closure over flat tensors. Its inputs and outputs have treedefs.
#[test]
fn a_model_is_called_with_flat_tensors() {
    let input = Input { a: t([1.0, 2.0]), b: vec![t([10.0, 20.0])] };
    let (mut flattened, inputs) = tensors().flatten(&input).unwrap();
    assert_eq!(flattened, [leaf(&t([1.0, 2.0])), leaf(&t([10.0, 20.0]))]);
    assert_eq!(inputs.to_string(), "Input { a: *, b: [*] }");

    let adapter = |leaves: &[Leaf]| {
        tensors().flatten(&model(treedef::unflatten(&inputs, leaves).unwrap())).unwrap()
    };
    let (out, outputs) = adapter(&flattened);
    assert_eq!(out, [t([2.0, 4.0]), t([10.0, 20.0]), t([11.0, 22.0])].map(|it| leaf(&it)));
    assert_eq!(outputs.to_string(), "Output { parts: (*, (*,)), sum: * }");
    let rebuilt = Output { parts: (t([2.0, 4.0]), (t([10.0, 20.0]),)), sum: t([11.0, 22.0]) };
    assert_eq!(treedef::unflatten::<Output>(&outputs, out).unwrap(), rebuilt);

    // `_create_wrapper(traced)`: the compiled model is called with the model's own types.
    let traced = |flat: &[Leaf]| -> Vec<Leaf> {
        let of = |leaf: &Leaf| leaf.clone().into_typed::<Tensor>().unwrap();
        let (a, b) = (of(&flat[0]), of(&flat[1]));
        [a.plus(&a), b.clone(), a.plus(&b)].iter().map(leaf).collect()
    };
    let other = Input { a: t([0.0, 1.0]), b: vec![t([5.0, 5.0])] };
    tensors().flatten_like(&inputs, &other, &mut flattened).unwrap();
    let expected = Output { parts: (t([0.0, 2.0]), (t([5.0, 5.0]),)), sum: t([5.0, 6.0]) };
    assert_eq!(treedef::unflatten::<Output>(&outputs, traced(&flattened)).unwrap(), expected);
}

/// There the wrapper does not look at the structure of the input.
#[test]
fn another_input_is_refused() {
    let input = |tensors: usize| Input { a: t([0.0]), b: vec![t([0.0]); tensors] };
    let (mut leaves, inputs) = tensors().flatten(&input(1)).unwrap();
    assert_snapshot!(said(tensors().flatten_like(&inputs, &input(2), &mut leaves)), @"expected 1 child, found 2 children at `.b`");
}

/// N(x) = [x] if the sum is positive, else [x, x].
#[test]
fn an_output_of_another_structure_is_refused() {
    let n = |x: f64| if x > 0.0 { vec![x] } else { vec![x, x] };
    let (mut out, outputs) = treedef::flatten_as::<f64>(&n(1.0)).unwrap();
    assert_snapshot!(said(outputs.flatten_like(&n(-1.0), &mut out)), @"expected 1 child, found 2 children at the root");
    outputs.flatten_like(&n(2.0), &mut out).unwrap();
    assert_eq!(out, [2.0]);
}

/// `allow_non_tensor`: there the schema is lost, and only the identical objects are accepted again.
/// Ours are stored in the structure.
#[test]
fn constants_are_kept_in_the_structure() {
    let scale = |(x, times, _): (f64, i32, String)| x * f64::from(times);
    let floats = Flattener::new().leaves_where(LeafKind::is_float);
    let example = (1.0, 3, "relu".to_owned());
    let (mut leaves, inputs) = floats.flatten_as::<f64>(&example).unwrap();
    assert_eq!(inputs.to_string(), "(*, static 3, static \"relu\")");
    assert_eq!(scale(treedef::unflatten(&inputs, [2.0]).unwrap()), 6.0);
    let other = (1.0, 4, "relu".to_owned());
    assert_snapshot!(said(floats.flatten_like(&inputs, &other, &mut leaves)), @"expected `static 3`, found `static 4` at `.1` (statics are part of the structure; see `ignore_statics`)");
    // `Inputs for tracing must only contain tensors.`
    assert_snapshot!(said(treedef::flatten_as::<f64>(&example)), @"expected f64, found i32 at `.1` (mark it `treedef::as_static`, or choose the leaves with `Flattener::leaves_where`)");
}

/// `Instances((5, 6), scores, boxes)`, whose size is a tensor there. Ours: fields in declared
/// order, the size static.
#[test]
fn instances_keep_their_size() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Boxes {
        tensor: Tensor,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Instances {
        boxes: Boxes,
        scores: Tensor,
        image_size: Static<(u32, u32)>,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Outputs {
        inst: Instances,
        n: Vec<Tensor>,
    }
    let boxes = Boxes { tensor: t([0.0, 0.0, 1.0, 1.0]) };
    let inst = Instances { boxes, scores: t([0.5]), image_size: Static((5, 6)) };
    let outputs = Outputs { inst, n: vec![t([7.0])] };
    let (leaves, schema) = tensors().flatten(&outputs).unwrap();
    assert_eq!(leaves, [t([0.0, 0.0, 1.0, 1.0]), t([0.5]), t([7.0])].map(|it| leaf(&it)));
    assert_snapshot!(schema, @"Outputs { inst: Instances { boxes: Boxes { tensor: * }, scores: *, image_size: static (5u32, 6u32) }, n: [*] }");
    assert_eq!(treedef::unflatten::<Outputs>(&schema, leaves).unwrap(), outputs);
}

/// `Only support flattening dictionaries if keys are str.` Ours: keys of any kind.
#[test]
fn keys_of_any_kind_are_flattened() {
    let dict = std::collections::BTreeMap::from([(2, 1.5), (1, 0.5)]);
    let (leaves, schema) = treedef::flatten_as::<f64>(&dict).unwrap();
    assert_eq!((leaves, schema), (vec![0.5, 1.5], def("{1: *, 2: *}")));
}
