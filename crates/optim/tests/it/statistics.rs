//! The running statistics of a norm are no parameters.

use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use treedef::{Object, Tree};
use treedef_optim::transform::{Transform, partition, weight_decay};
use treedef_optim::{Optimiser, State, adamw, chain, lion, rmsprop, sgd};

type Numbers = Object<Vec<f64>>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Norm {
    weight: Numbers,
    running_mean: Numbers,
    running_var: Numbers,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Model {
    layers: Vec<Norm>,
    /// No statistics, as there is no mean beside it.
    running_var: Numbers,
}

fn model() -> Model {
    let numbers = |number: f64| Object(vec![number; 2]);
    let norm = Norm { weight: numbers(1.0), running_mean: numbers(4.0), running_var: numbers(9.0) };
    Model { layers: vec![norm.clone(), norm], running_var: numbers(1.0) }
}

#[test]
fn no_optimiser_changes_them() {
    let optimisers: Vec<Box<dyn Transform<Vec<f64>>>> = vec![
        Box::new(sgd(0.1).momentum(0.9)),
        Box::new(adamw(0.1).weight_decay(0.1)),
        Box::new(lion(0.1)),
        Box::new(rmsprop(0.1)),
        Box::new(chain!(weight_decay(0.1), sgd(0.1))),
        Box::new(partition().group(["layers[0]"], sgd(0.1)).rest(adamw(0.1))),
        Box::new(adamw(0.1).decay_only("layers").accumulate(1)),
        Box::new(adamw(0.1).freeze("running_var")),
        Box::new(adamw(0.1).only("**.layers")),
    ];
    for optimiser in optimisers {
        let (before, mut after) = (model(), model());
        let mut state: State<Model, Vec<f64>> = optimiser.init(&before).unwrap();
        for step in 0..4 {
            if step == 2 {
                // A state that was read finds them again.
                state = Tree::<Vec<f64>>::of_objects(&state).unwrap().into_objects().unwrap();
            }
            optimiser.step_in_place(&mut after, &model(), &mut state).unwrap();
        }
        for (before, after) in before.layers.iter().zip(&after.layers) {
            assert_eq!(before.running_mean, after.running_mean);
            assert_eq!(before.running_var, after.running_var);
            assert!(after.weight[0] < before.weight[0]);
        }
        let tree = |model: &Model| Tree::<Vec<f64>>::of_objects(model).unwrap();
        let (mut trained, mut gradient) = (tree(&before), tree(&before));
        let mut state = optimiser.init_tree(&trained).unwrap();
        optimiser.step_tree(&mut trained, &mut gradient, &mut state).unwrap();
        assert_eq!(trained.leaves()[1..3], tree(&before).leaves()[1..3]);
        assert!(trained.leaves()[0] != tree(&before).leaves()[0]);
    }
}

/// Numbers are no other than arrays.
#[test]
fn those_of_numbers_neither() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Plain {
        running_mean: Vec<f64>,
        running_var: Vec<f64>,
        weight: Vec<f64>,
    }
    let plain = |weight: f64| Plain {
        running_mean: vec![4.0; 3],
        running_var: vec![9.0; 3],
        weight: vec![weight; 3],
    };
    let mut state = sgd(0.5).init::<f64, _>(&plain(2.0)).unwrap();
    let stepped = sgd(0.5).step(plain(2.0), plain(1.0), &mut state).unwrap();
    assert_eq!(stepped, plain(1.5));
}

#[test]
fn no_pattern_may_name_them_alone() {
    let of =
        |optimiser: &dyn Transform<Vec<f64>>| optimiser.init(&model()).unwrap_err().to_string();
    assert_snapshot!(of(&adamw(0.1).freeze("**.running_mean")), @"`**.running_mean` names nothing that is trained");
    let groups = partition().group(["**.running_mean", "**.weight"], sgd(0.1)).rest(sgd(0.1));
    assert_snapshot!(of(&groups), @"`**.running_mean` names nothing that is trained");
    assert_snapshot!(of(&adamw(0.1).only("layers[*].running_var")), @"`layers[*].running_var` names nothing that is trained");
}
