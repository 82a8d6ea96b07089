//! One set of optimisers for all leaves.

use std::rc::Rc;
use std::sync::Arc;

use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use treedef::{Flattener, LeafKind, Object, Tree};
use treedef_optim::transform::clip_by_global_norm;
use treedef_optim::{Optimiser, Trainable, TrainableArray, adamw, chain, sgd};

const NUMBERS: [f64; 3] = [0.5, -1.5, 2.0];

/// Trains a model that is made of the same three numbers.
fn trained<L: Trainable, T: Serialize + for<'de> Deserialize<'de>>(
    make: impl Fn(&[f64; 3]) -> T,
    numbers: impl Fn(&T) -> Vec<f64>,
) -> Vec<f64> {
    let optimiser = chain!(clip_by_global_norm(0.7), adamw(0.05).weight_decay(0.1));
    let mut model = make(&NUMBERS);
    let mut state = optimiser.init::<L, _>(&model).unwrap();
    for _ in 0..20 {
        let now = numbers(&model);
        let gradient = make(&[now[0] - 1.0, now[1] * now[1], 0.25 * now[2]]);
        model = optimiser.step(model, gradient, &mut state).unwrap();
    }
    numbers(&model)
}

fn array(numbers: &[f64; 3]) -> Vec<f64> {
    numbers.to_vec()
}

#[test]
fn all_leaves_are_trained_alike() {
    let expected = trained::<f64, [f64; 3]>(|numbers| *numbers, array);
    let same = |found: Vec<f64>| assert_eq!(found, expected);
    same(trained::<f64, Vec<f64>>(array, Vec::clone));
    same(trained::<Vec<f64>, Object<Vec<f64>>>(|n| Object(n.to_vec()), |m| m.0.clone()));
    same(trained::<Arc<[f64]>, Object<Arc<[f64]>>>(|n| Object(Arc::new(*n)), |m| m.to_vec()));
    same(trained::<Rc<[f64]>, Object<Rc<[f64]>>>(|n| Object(Rc::new(*n)), |m| m.to_vec()));
    same(trained::<Box<[f64]>, Object<Box<[f64]>>>(|n| Object(Box::new(*n)), |m| m.to_vec()));
    // Numbers that are objects, as in a model that is generic over duals.
    same(trained::<f64, [Object<f64>; 3]>(|n| n.map(Object), |m| m.map(|x| x.0).to_vec()));
    #[cfg(feature = "candle")]
    same(trained::<candle_core::Tensor, Object<candle_core::Tensor>>(
        |n| Object(candle_core::Tensor::new(n, &candle_core::Device::Cpu).unwrap()),
        |m| m.to_vec1().unwrap(),
    ));
    // In f32, only the rounding differs.
    let found = trained::<f32, [f32; 3]>(|n| n.map(|x| x as f32), |m| m.map(f64::from).to_vec());
    assert!(found.iter().zip(&expected).all(|(found, expected)| (found - expected).abs() < 1e-5));
}

#[test]
fn arrays_that_nobody_else_holds_stay_where_they_are() {
    let model = Object(Arc::new(vec![1.0f32; 100]));
    let (address, optimiser) = (model.as_ptr(), adamw(0.1));
    let mut state = optimiser.init::<Arc<Vec<f32>>, _>(&model).unwrap();
    let gradient = || Object(Arc::new(vec![1.0f32; 100]));
    let model = optimiser.step(model, gradient(), &mut state).unwrap();
    assert_eq!(model.as_ptr(), address);
    // Somebody else holds them: theirs stay as they are.
    let held = Arc::clone(&model.0);
    let before = held.to_vec();
    let model = optimiser.step(model, gradient(), &mut state).unwrap();
    assert_ne!(model.as_ptr(), address);
    assert_eq!(*held, before);
    // Nor does a copy of the state change with it.
    let copy = state.clone();
    let [first, second] = [copy, state]
        .map(|mut state| optimiser.step(Object(Arc::clone(&model)), gradient(), &mut state));
    assert_eq!(first.unwrap(), second.unwrap());
}

/// The array of the documentation.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    pub(crate) shape: Vec<usize>,
    pub(crate) data: Rc<Vec<f64>>,
}

impl TrainableArray for Matrix {
    type Number = f64;

    fn numbers(&self) -> &[f64] {
        &self.data
    }

    fn numbers_mut(&mut self) -> &mut [f64] {
        &mut Rc::make_mut(&mut self.data)[..]
    }

    fn shape(&self) -> Vec<usize> {
        self.shape.clone()
    }
}

#[test]
fn a_type_of_ones_own_is_trained() {
    let make = |n: &[f64; 3]| Object(Matrix { shape: vec![1, 3], data: Rc::new(n.to_vec()) });
    let found = trained::<Matrix, Object<Matrix>>(make, |model| model.data.to_vec());
    assert_eq!(found, trained::<f64, [f64; 3]>(|numbers| *numbers, array));
    let optimiser = adamw(0.1);
    let mut state = optimiser.init::<Matrix, _>(&make(&NUMBERS)).unwrap();
    let wrong = Object(Matrix { shape: vec![3, 1], data: Rc::new(NUMBERS.to_vec()) });
    let error = optimiser.step(make(&NUMBERS), wrong, &mut state).err().unwrap();
    insta::assert_snapshot!(error, @"the gradient is f64[3, 1], the parameter is f64[1, 3], at the root");
}

/// Optimisers and states go to other threads.
#[test]
fn optimisers_and_states_are_send_and_sync() {
    fn both<T: Send + Sync>(_: T) {}
    let optimiser = chain!(
        clip_by_global_norm(1.0),
        treedef_optim::transform::partition::<f64>()
            .group([""], adamw(0.1))
            .rest(adamw(|_: u64| 0.1))
    );
    both(optimiser);
    both(adamw(0.1).init::<f64, _>(&[1.0]).unwrap());
}

#[test]
fn a_static_of_the_model_may_change() {
    let optimiser = adamw(0.1);
    let mut model = (0.5, 0, "a".to_owned());
    let mut state = optimiser.init::<f64, _>(&model).unwrap();
    for epoch in 1..4 {
        model = optimiser.step(model, (1.0, 0, String::new()), &mut state).unwrap();
        assert_eq!((model.1, &*model.2), (epoch - 1, "a"));
        model.1 = epoch;
    }
}

#[test]
fn a_static_of_a_tree_may_change() {
    let floats = Flattener::new().leaves_where(LeafKind::is_float);
    let tree = |epoch: usize, w: f64| floats.tree_as::<f64>(&(epoch, w, "a".repeat(epoch)));
    let optimiser = sgd(0.5);
    let mut state = optimiser.init_tree(&tree(0, 1.0).unwrap()).unwrap();
    for epoch in 1..4 {
        let mut model = tree(epoch, 1.0).unwrap();
        optimiser.step_tree(&mut model, &mut tree(0, 0.5).unwrap(), &mut state).unwrap();
        assert_eq!(model, tree(epoch, 0.75).unwrap());
    }
    let mut other = floats.tree_as::<f64>(&(3usize, 1.0, [7])).unwrap();
    let error = optimiser.step_tree(&mut other, &mut tree(0, 0.5).unwrap(), &mut state);
    assert_snapshot!(error.unwrap_err(), @r#"the model has another structure than the state (see `State::migrate`): expected `static "aaa"`, found `(static 7,)` at `.2`"#);
    let mut nested = floats.tree_as::<f64>(&(0usize, [1.0], "")).unwrap();
    let error = optimiser.step_tree(&mut tree(0, 1.0).unwrap(), &mut nested, &mut state);
    assert_snapshot!(error.unwrap_err(), @"the gradient has another structure than the parameters: expected `*`, found `(*,)` at `.1`");
}

#[test]
fn trees_are_trained_as_values_are() {
    let optimiser = chain!(clip_by_global_norm(0.7), adamw(0.05).decay_only("[0]"));
    let (model, gradient) = (vec![1.0, 2.0, 3.0], vec![0.5, -0.25, 9.0]);
    let mut state = optimiser.init::<f64, _>(&model).unwrap();
    let mut tree = Tree::<f64>::of_as(&model).unwrap();
    let mut tree_state = optimiser.init_tree(&tree).unwrap();
    let mut model = model;
    for _ in 0..5 {
        model = optimiser.step(model, gradient.clone(), &mut state).unwrap();
        let mut gradients = Tree::<f64>::of_as(&gradient).unwrap();
        optimiser.step_tree(&mut tree, &mut gradients, &mut tree_state).unwrap();
        assert_eq!(tree.leaves(), model);
    }
    // The state of a value serves for its tree, too.
    let mut gradients = Tree::<f64>::of_as(&gradient).unwrap();
    optimiser.step_tree(&mut tree, &mut gradients, &mut state).unwrap();
    let mut shorter = Tree::<f64>::of_as(&[0.5]).unwrap();
    let error = optimiser.step_tree(&mut tree, &mut shorter, &mut state).unwrap_err();
    insta::assert_snapshot!(error, @"the gradient has another structure than the parameters: expected `[*, *, *]`, found `(*,)` at the root");
}

#[test]
fn plain_floats_beside_objects_are_static() {
    use treedef::Object;
    let model = || (Object(1.0f64), 1.0f64);
    let mut state = treedef_optim::sgd(0.5).init::<f64, _>(&model()).unwrap();
    let moved = treedef_optim::sgd(0.5).step(model(), model(), &mut state).unwrap();
    assert_eq!((*moved.0, moved.1), (0.5, 1.0));
}
