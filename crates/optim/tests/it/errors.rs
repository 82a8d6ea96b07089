//! Wrong use is an error with the path and both sides.

use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use treedef::{Object, Tree};
use treedef_optim::transform::{
    Projection, Transform, check_finite, clip, clip_by_global_norm, ema, partition, project, scale,
    scale_by_schedule, weight_decay,
};
use treedef_optim::{
    Optimiser, State, adabelief, adafactor, adagrad, adam, adamw, chain, lamb, lion, radam,
    rmsprop, sgd, tree,
};

use crate::random::net;

#[test]
fn a_gradient_of_another_structure() {
    let optimiser = adam(0.1);
    let mut model = net(1, &[2, 2]);
    let mut state = optimiser.init::<f64, _>(&model).unwrap();
    let before = model.clone();
    let error = optimiser.step_in_place(&mut model, &net(1, &[2, 3]), &mut state).unwrap_err();
    assert_snapshot!(error, @"the gradient has another structure than the parameters: expected 2 children, found 3 children at `.layers[1].w`");
    assert_eq!(error.path().unwrap().to_string(), ".layers[1].w");
    assert_eq!(model, before);
    // The state is as before, too.
    assert_eq!(state.count(), 0);
    optimiser.step_in_place(&mut model, &net(1, &[2, 2]), &mut state).unwrap();
    let error = optimiser.step(net(1, &[2]), net(1, &[2]), &mut state).unwrap_err();
    assert_snapshot!(error, @"the model has another structure than the state (see `State::migrate`): expected 2 children, found 1 child at `.layers`");
}

#[test]
fn a_gradient_of_another_structure_in_a_model_of_objects() {
    let numbers = |count: usize| (Object(0.5), vec![Object(1.0); count]);
    let optimiser = adam(0.1);
    let mut state = optimiser.init::<f64, _>(&numbers(2)).unwrap();
    let error = optimiser.step(numbers(2), numbers(3), &mut state).unwrap_err();
    assert_snapshot!(error, @"the gradient has another structure than the parameters: expected 2 children, found 3 children at `.1`");
    assert_eq!(error.path().unwrap().to_string(), ".1");
}

#[test]
fn a_leaf_of_another_shape() {
    let optimiser = adam(0.1);
    let model = || vec![Object(vec![1.0f32; 2]), Object(vec![1.0; 3])];
    let mut state = optimiser.init::<Vec<f32>, _>(&model()).unwrap();
    let gradient = vec![Object(vec![1.0; 2]), Object(vec![1.0; 4])];
    let error = optimiser.step(model(), gradient, &mut state).unwrap_err();
    assert_snapshot!(error, @"the gradient is f32[4], the parameter is f32[3], at `[1]`");
    optimiser.step(model(), model(), &mut state).unwrap();
}

#[test]
fn a_model_of_another_shape_than_the_state() {
    let optimiser = adam(1.0);
    let model = |last: usize| (Object(vec![1.0f64; 2]), Object(vec![1.0; last]));
    let mut state = optimiser.init::<Vec<f64>, _>(&model(2)).unwrap();
    let before = format!("{state:?}");
    let error = optimiser.step(model(3), model(3), &mut state).unwrap_err();
    assert_snapshot!(error, @"the state is f64[2], the parameter is f64[3], at `.1` (see `State::migrate`)");
    assert_eq!(format!("{state:?}"), before);

    let mut tree = Tree::of_objects(&model(3)).unwrap();
    let mut gradients = tree.clone();
    let error = optimiser.step_tree(&mut tree, &mut gradients, &mut state).unwrap_err();
    assert_snapshot!(error, @"the state is f64[2], the parameter is f64[3], at `.1` (see `State::migrate`)");
    assert_eq!(format!("{state:?}"), before);
    optimiser.step(model(2), model(2), &mut state).unwrap();
}

#[test]
fn patterns_that_name_nothing_that_is_trained() {
    let model = ("a text", 7, 0.5);
    let none: Option<f64> = None;
    let of = |error: treedef_optim::Error| error.to_string();
    let decay = adamw(0.1).decay_only(".1").init::<f64, _>(&model);
    assert_snapshot!(of(decay.unwrap_err()), @"`.1` names nothing that is trained");
    let frozen = adam(0.1).freeze(".0").init::<f64, _>(&model);
    assert_snapshot!(of(frozen.unwrap_err()), @"`.0` names nothing that is trained");
    let absent = adam(0.1).only(".0").init::<f64, _>(&(none, 0.5));
    assert_snapshot!(of(absent.unwrap_err()), @"`.0` names nothing that is trained");
    let nothing = partition().group([""; 0], adam(0.1)).rest(sgd(0.1)).init::<f64, _>(&model);
    assert_snapshot!(of(nothing.unwrap_err()), @"a group has no pattern");
}

#[test]
fn a_value_without_such_leaves() {
    assert_snapshot!(adam(0.1).init::<f64, _>(&vec![1, 2]).unwrap_err(), @"the value has no leaf of type `f64`: numbers need `f32` or `f64`, and objects the type that they have");
    assert_snapshot!(adam(0.1).init::<f32, _>(&(1.0f32, 0.5f64)).unwrap_err(), @"expected f32, found f64 at `.1` (`flatten_as::<f64>` takes both, `flatten` leaves of every kind)");
    assert_snapshot!(adam(0.1).init::<f64, _>(&Object('a')).unwrap_err(), @"a `char` is an object: the leaves have to be of this type, as in `treedef::flatten_objects::<char>` at the root");
    assert_snapshot!(adam(0.1).init::<Vec<f64>, _>(&1.0).unwrap_err(), @"the value has no leaf of type `alloc::vec::Vec<f64>`: numbers need `f32` or `f64`, and objects the type that they have");
}

#[test]
fn patterns_that_name_nothing() {
    let model = net(1, &[2]);
    let error =
        adamw(0.1).weight_decay(0.1).decay_only("**.weight").init::<f64, _>(&model).unwrap_err();
    assert_snapshot!(error, @"no node matches `**.weight` (did you mean `**.w`?)");
    assert_snapshot!(adam(0.1).freeze("layers[7]").init::<f64, _>(&model).unwrap_err(), @"no node matches `.layers[7]` (there is 1 element at `.layers`)");
    assert_snapshot!(adam(0.1).freeze("layers[").init::<f64, _>(&model).unwrap_err(), @"the pattern `layers[`: expected a value, found the end at byte 7");
    let groups = partition().group(["nothing"], sgd(0.1)).rest(adam(0.1));
    assert_snapshot!(groups.init::<f64, _>(&model).unwrap_err(), @"no node matches `.nothing`");
}

#[test]
fn groups_that_do_not_divide_the_leaves() {
    let model = net(1, &[2, 2]);
    let twice = partition().group(["layers[0]", "scale"], sgd(0.1)).group(["**.b"], adam(0.1));
    assert_snapshot!(twice.init::<f64, _>(&model).unwrap_err(), @"the groups `layers[0]`, `scale` and `**.b` both name `.layers[0].b`");
    let missing = partition().group(["**.w"], sgd(0.1)).group(["**.b"], adam(0.1));
    assert_snapshot!(missing.init::<f64, _>(&model).unwrap_err(), @"no group names `.scale` (add a group, or `rest`)");
}

#[test]
fn a_gradient_that_is_not_finite() {
    let optimiser = chain!(check_finite(), clip_by_global_norm(1.0), adam(0.1));
    let mut model = net(1, &[2, 2]);
    let (before, mut gradient) = (model.clone(), net(1, &[2, 2]));
    let mut state = optimiser.init::<f64, _>(&model).unwrap();
    gradient.layers[1].w[1] = f64::NEG_INFINITY;
    let error = optimiser.step_in_place(&mut model, &gradient, &mut state).unwrap_err();
    assert_snapshot!(error, @"the gradient is not finite at `.layers[1].w[1]`");
    assert_eq!(model, before);
    assert_eq!(state.count(), 0);
}

#[test]
fn a_state_of_another_optimiser() {
    let mut state: State<_, f64> = sgd(0.1).momentum(0.5).init(&[1.0]).unwrap();
    let error = adam(0.1).step([1.0], [1.0], &mut state).unwrap_err();
    assert_snapshot!(error, @"the state is that of `sgd` with `trace`, the optimiser is `adam` with `mu`, `nu` (see `State::migrate`)");
    let mut state: State<_, f64> = chain!(clip(1.0), adam(0.1)).init(&[1.0]).unwrap();
    assert_snapshot!(adam(0.1).step([1.0], [1.0], &mut state).unwrap_err(), @"the state is that of `chain` of 2 transforms, the optimiser is `adam` with `mu`, `nu` (see `State::migrate`)");
    assert_snapshot!(
        chain!(clip(1.0), clip(1.0), adam(0.1)).step([1.0], [1.0], &mut state).unwrap_err(), @"the state is that of `chain` of 2 transforms, the optimiser is `chain` of 3 transforms (see `State::migrate`)"
    );
    assert_snapshot!(
        chain!(clip(1.0), adam(0.1).accumulate(2)).step([1.0], [1.0], &mut state).unwrap_err(), @"the state is that of `adam` with `mu`, `nu`, the optimiser is `accumulate` with `mean` of one transform (see `State::migrate`)"
    );
    assert_snapshot!(sgd(1.0).freeze("[0]").step([1.0], [1.0], &mut state).unwrap_err(), @"the state is that of `chain` of 2 transforms, the optimiser is `frozen` of one transform (see `State::migrate`)");
    let groups = || partition().group([".0"], adam(0.1));
    assert_snapshot!(groups().step([1.0], [1.0], &mut state).unwrap_err(), @"the state is that of `chain` of 2 transforms, the optimiser is `partition` of one transform (see `State::migrate`)");
}

#[test]
fn arguments_that_make_no_sense() {
    assert_snapshot!(clip(-1.0).init::<f64, _>(&1.0).unwrap_err(), @"expected a limit above 0, found -1");
    assert_snapshot!(clip_by_global_norm(f64::NAN).init::<f64, _>(&1.0).unwrap_err(), @"expected a limit above 0, found NaN");
    assert_snapshot!(ema(1.0).init::<f64, _>(&1.0).unwrap_err(), @"expected the decay of `ema` from 0 to below 1, found 1");
    assert_snapshot!(adam(0.1).b1(f64::NAN).init::<f64, _>(&1.0).unwrap_err(), @"expected `b1` from 0 to below 1, found NaN");
    assert_snapshot!(adamw(0.1).b2(1.5).init::<f64, _>(&1.0).unwrap_err(), @"expected `b2` from 0 to below 1, found 1.5");
    let nan = f64::NAN;
    assert_snapshot!(adam(nan).init::<f64, _>(&1.0).unwrap_err(), @"expected a learning rate of 0 or more, found NaN at count 0 (to go uphill, negate the loss)");
    type Any = Box<dyn Transform<f64>>;
    let wrong: Vec<(Any, &str)> = vec![
        (Box::new(adam(f64::INFINITY)), "a learning rate of 0 or more, found inf"),
        (Box::new(adam(0.1).eps(-1.0)), "an eps of 0 or more, found -1"),
        (Box::new(adam(0.1).eps_root(nan)), "an eps_root of 0 or more, found NaN"),
        (Box::new(adam(0.1).b2(1.0)), "`b2` from 0 to below 1, found 1"),
        (Box::new(adamw(nan)), "a learning rate of 0 or more, found NaN"),
        (Box::new(adamw(0.1).weight_decay(nan)), "a weight decay of 0 or more, found NaN"),
        (Box::new(lion(-0.1)), "a learning rate of 0 or more, found -0.1"),
        (Box::new(lion(0.1).b1(1.5)), "`b1` from 0 to below 1, found 1.5"),
        (Box::new(lion(0.1).weight_decay(-0.5)), "a weight decay of 0 or more, found -0.5"),
        (Box::new(sgd(nan)), "a learning rate of 0 or more, found NaN"),
        (Box::new(sgd(0.1).momentum(nan)), "a momentum of 0 or more, found NaN"),
        (Box::new(rmsprop(nan)), "a learning rate of 0 or more, found NaN"),
        (Box::new(rmsprop(0.1).decay(nan)), "`decay` from 0 to below 1, found NaN"),
        (Box::new(rmsprop(0.1).eps(nan)), "an eps of 0 or more, found NaN"),
        (Box::new(rmsprop(0.1).initial_scale(-1.0)), "an initial scale of 0 or more, found -1"),
        (Box::new(rmsprop(0.1).momentum(-0.5)), "a momentum of 0 or more, found -0.5"),
        (Box::new(adabelief(nan)), "a learning rate of 0 or more, found NaN"),
        (Box::new(adabelief(0.1).b1(1.0)), "`b1` from 0 to below 1, found 1"),
        (Box::new(radam(nan)), "a learning rate of 0 or more, found NaN"),
        (Box::new(radam(0.1).threshold(3.5)), "a threshold of 4 or more, found 3.5"),
        (Box::new(radam(0.1).threshold(nan)), "a threshold of 4 or more, found NaN"),
        (Box::new(adagrad(nan)), "a learning rate of 0 or more, found NaN"),
        (Box::new(adagrad(0.1).eps(nan)), "an eps above 0, found NaN"),
        (Box::new(adagrad(0.1).eps(0.0)), "an eps above 0, found 0"),
        (
            Box::new(adagrad(0.1).initial_accumulator(nan)),
            "an initial accumulator of 0 or more, found NaN",
        ),
        (Box::new(scale(nan)), "a finite factor, found NaN"),
        (Box::new(scale_by_schedule(nan)), "a finite factor, found NaN"),
        (Box::new(weight_decay(nan)), "a weight decay of 0 or more, found NaN"),
        (Box::new(clip(nan)), "a limit above 0, found NaN"),
        (Box::new(ema(nan)), "the decay of `ema` from 0 to below 1, found NaN"),
    ];
    for (optimiser, expected) in &wrong {
        let error = optimiser.init::<f64, _>(&1.0).unwrap_err().to_string();
        assert!(
            error.strip_prefix("expected ").is_some_and(|it| it.starts_with(expected)),
            "{error}"
        );
    }
    // A state that others made does not let them in.
    let mut state = adamw(0.1).init::<f64, _>(&1.0).unwrap();
    let error = adamw(0.1).weight_decay(nan).step(1.0, 1.0, &mut state).unwrap_err();
    assert_snapshot!(error, @"expected a weight decay of 0 or more, found NaN");
    let error = adamw(0.1).eps(nan).step(1.0, 1.0, &mut state).unwrap_err();
    assert_snapshot!(error, @"expected an eps of 0 or more, found NaN");
    // A schedule may go wrong later.
    let broken = sgd(|count: u64| if count < 2 { 0.5 } else { f64::NAN });
    let (mut model, mut state) = (8.0, broken.init::<f64, _>(&8.0).unwrap());
    broken.step_in_place(&mut model, &1.0, &mut state).unwrap();
    broken.step_in_place(&mut model, &1.0, &mut state).unwrap();
    let error = broken.step_in_place(&mut model, &1.0, &mut state).unwrap_err();
    assert_snapshot!(error, @"expected a learning rate of 0 or more, found NaN at count 2 (to go uphill, negate the loss)");
    assert_eq!((model, state.count()), (7.0, 2));
    assert_snapshot!(adam(0.1).accumulate(0).init::<f64, _>(&1.0).unwrap_err(), @"expected 1 or more gradients for a step, found 0");
}

type Any = Box<dyn Transform<f64> + Send + Sync>;

/// Each transform, and the same with a setting or a mask that is wrong, perhaps only in the second step.
fn right_and_wrong() -> Vec<[Any; 2]> {
    let late = |count: u64| if count == 0 { 0.1 } else { f64::NAN };
    vec![
        [Box::new(sgd(late)), Box::new(sgd(late))],
        [Box::new(sgd(0.1).momentum(0.5)), Box::new(sgd(0.1).momentum(-0.5))],
        [Box::new(adam(0.1)), Box::new(adam(0.1).b1(1.0))],
        [Box::new(adamw(0.1)), Box::new(adamw(0.1).decay_only(".7"))],
        [Box::new(adabelief(0.1)), Box::new(adabelief(0.1).b2(1.0))],
        [Box::new(radam(0.1)), Box::new(radam(0.1).threshold(1.0))],
        [Box::new(adagrad(0.1)), Box::new(adagrad(0.1).eps(-1.0))],
        [Box::new(rmsprop(0.1).centered(true)), Box::new(rmsprop(0.1).centered(true).decay(1.0))],
        [Box::new(lion(0.1)), Box::new(lion(0.1).decay_only(".7"))],
        [Box::new(lamb(0.1)), Box::new(lamb(0.1).weight_decay(0.1).decay_only(".7"))],
        [Box::new(lamb(late)), Box::new(lamb(late))],
        [Box::new(adafactor(0.1)), Box::new(adafactor(0.1).weight_decay(0.1).decay_only(".7"))],
        [Box::new(adafactor(0.1)), Box::new(adafactor(0.1).momentum(0.9))],
        [Box::new(ema(0.9)), Box::new(ema(1.0))],
        [Box::new(clip(1.0)), Box::new(clip(-1.0))],
        [Box::new(clip_by_global_norm(1.0)), Box::new(clip_by_global_norm(0.0))],
        [Box::new(scale(1.0)), Box::new(scale(f64::NAN))],
        [Box::new(scale_by_schedule(late)), Box::new(scale_by_schedule(late))],
        [Box::new(weight_decay(0.1)), Box::new(weight_decay(-0.1))],
        [
            Box::new(project(Projection::NonNegative)),
            Box::new(project(Projection::L2Ball { radius: 0.0 })),
        ],
        [Box::new(adam(0.1).only(".0")), Box::new(adam(0.1).only(".7"))],
        [Box::new(adam(0.1).freeze(".0")), Box::new(adam(0.1).freeze(".7"))],
        [Box::new(adam(0.1).lookahead(2, 0.5)), Box::new(adam(0.1).lookahead(0, 0.5))],
        [Box::new(sgd(late).lookahead(2, 0.5)), Box::new(sgd(late).lookahead(2, 0.5))],
        [Box::new(adam(0.1).accumulate(2)), Box::new(adam(0.1).b1(1.0).accumulate(2))],
        [Box::new(adam(0.1).accumulate(2)), Box::new(adam(0.1).accumulate(0))],
        [Box::new(sgd(late).apply_if_finite(1)), Box::new(sgd(late).apply_if_finite(1))],
        [Box::new(adam(0.1)), Box::new(sgd(0.1).momentum(0.5))],
    ]
}

/// Alone, and where others have had their turn before.
#[test]
fn a_step_that_fails_leaves_the_state_as_it_was() {
    let text = |state: &State<[f64; 3], f64>| serde_json::to_string(state).unwrap();
    let around: [fn(Any) -> Any; 6] = [
        |alone| alone,
        |last| Box::new(chain!(ema(0.9), last)),
        |first| Box::new(chain!(first, ema(0.9))),
        |inner| Box::new(chain!(ema(0.9), chain!(ema(0.5), inner).lookahead(3, 0.5))),
        |rest| Box::new(partition().group([".2"], adam(0.1)).rest(rest)),
        |inner| Box::new(chain!(ema(0.9), inner.accumulate(1).apply_if_finite(2).freeze(".2"))),
    ];
    let (model, gradient) = ([0.5, -1.5, 2.0], [0.1, 0.2, -0.3]);
    for (how, wrap) in around.into_iter().enumerate() {
        for (at, pair) in right_and_wrong().into_iter().enumerate() {
            let [right, wrong] = pair.map(wrap);
            let mut state = right.init::<f64, _>(&model).unwrap();
            let mut held = right.step(model, gradient, &mut state).unwrap();
            let (before, was) = (text(&state), held);
            wrong.step_in_place(&mut held, &gradient, &mut state).unwrap_err();
            assert_eq!((text(&state), held), (before, was), "{at} in {how}");
        }
    }
}

/// A number that a type refuses, after others that it has taken.
#[test]
fn a_type_that_refuses_a_step_gets_its_numbers_back() {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(try_from = "f64", into = "f64")]
    struct Positive(f64);

    impl TryFrom<f64> for Positive {
        type Error = String;

        fn try_from(value: f64) -> Result<Self, String> {
            if value > 0.0 { Ok(Positive(value)) } else { Err(format!("{value} is not positive")) }
        }
    }

    impl From<Positive> for f64 {
        fn from(value: Positive) -> f64 {
            value.0
        }
    }

    let before = (vec![1.0, 2.0], vec![Positive(2.0), Positive(0.5)], 3.0);
    let gradient = (vec![1.0, 1.0], vec![Positive(1.0), Positive(1.0)], 1.0);
    let (mut model, mut state) = (before.clone(), sgd(1.0).init::<f64, _>(&before).unwrap());
    let error = sgd(1.0).step_in_place(&mut model, &gradient, &mut state).unwrap_err();
    assert_snapshot!(error, @"-0.5 is not positive at `.1[1]`");
    assert_eq!(model, before);
    let mut average = before.clone();
    let new = (vec![0.0, 1.0], vec![Positive(1.0), Positive(1e-30)], 5.0);
    tree::incremental_update::<f64, _>(&new, &mut average, 0.5).unwrap();
    assert_eq!(average, (vec![0.5, 1.5], vec![Positive(1.5), Positive(0.25)], 4.0));
}
