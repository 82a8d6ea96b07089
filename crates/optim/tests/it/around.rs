//! Optimisers around others, and the sets in which parameters stay.

use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use treedef::Tree;
use treedef_optim::transform::{Projection, Transform, partition, project, scale};
use treedef_optim::{Error, Optimiser, Result, State, adam, chain, sgd, tree};

const BROKEN: [f64; 2] = [0.5, f64::INFINITY];

#[test]
fn gradients_in_a_row_that_are_not_finite_are_counted() {
    let optimiser = adam(0.1).apply_if_finite(2);
    let (mut model, mut state) = ([1.0, 2.0], optimiser.init::<f64, _>(&[1.0, 2.0]).unwrap());
    model = optimiser.step(model, [1.0, 1.0], &mut state).unwrap();
    let (held, memory) = (model, Tree::of(&state).unwrap().subtree("parts[0]").unwrap());
    let count = |state: &_| Tree::of(state).unwrap().get("count").unwrap().as_u64().unwrap();
    for errors in [1, 2] {
        model = optimiser.step(model, BROKEN, &mut state).unwrap();
        assert_eq!((model, count(&state), state.count()), (held, errors, 1));
    }
    // One too many, in every try, until a gradient is finite.
    for _ in 0..2 {
        let error = optimiser.step(model, BROKEN, &mut state).unwrap_err();
        assert_eq!(error.path().unwrap().to_string(), ".1");
        assert_eq!((count(&state), state.count()), (2, 1));
    }
    assert_eq!(Tree::of(&state).unwrap().subtree("parts[0]").unwrap(), memory);
    model = optimiser.step(model, [1.0, 1.0], &mut state).unwrap();
    assert!(model[0] < held[0] && count(&state) == 0 && state.count() == 2);
    // In a chain, what follows gets no update.
    let optimiser = chain!(sgd(1.0).apply_if_finite(1), scale(2.0));
    let mut state = optimiser.init::<f64, _>(&[1.0, 2.0]).unwrap();
    assert_eq!(optimiser.step([1.0, 2.0], BROKEN, &mut state).unwrap(), [1.0, 2.0]);
    // None may be skipped.
    let optimiser = sgd(1.0).apply_if_finite(0);
    let mut state = optimiser.init::<f64, _>(&[1.0, 2.0]).unwrap();
    assert!(optimiser.step([1.0, 2.0], BROKEN, &mut state).is_err());
}

#[test]
fn a_lookahead_that_is_added_or_taken_away_keeps_the_moments() {
    let (plain, slow) = (adam(0.1), adam(0.1).lookahead(2, 0.5));
    let mut state = plain.init::<f64, _>(&vec![1.0, 2.0]).unwrap();
    let mut model = plain.step(vec![1.0, 2.0], vec![0.5, 0.5], &mut state).unwrap();
    let (mut state, report) = state.migrate(&slow, &model).unwrap();
    assert_snapshot!(report, @r#"filled `.leaves["slow"]`; renamed the root to `.parts[0]`"#);
    model = slow.step(model, vec![0.5, 0.5], &mut state).unwrap();
    model.push(7.0);
    let (state, report) = state.migrate(&slow, &model).unwrap();
    assert_snapshot!(report, @r#"filled `.leaves["slow"][2]`, `.parts[0].leaves["mu"][2]`, `.parts[0].leaves["nu"][2]`"#);
    // What is new begins at its value.
    let tree = Tree::of(&state).unwrap();
    assert_eq!(tree.get("leaves.slow[2]").unwrap().as_f64(), Some(7.0));
    let (state, report) = state.migrate(&plain, &model).unwrap();
    assert_snapshot!(report, @r#"dropped `.count`, `.leaves["slow"]`; renamed `.parts[0]` to the root"#);
    assert_eq!(state.count(), 2);
}

#[test]
fn a_lookahead_is_refused_without_steps() {
    let refused = |optimiser: Box<dyn Transform<f64>>| {
        optimiser.init::<f64, _>(&[1.0]).unwrap_err().to_string()
    };
    assert_snapshot!(refused(Box::new(sgd(0.1).lookahead(0, 0.5))), @"expected 1 or more steps between the slow ones, found 0");
    assert_snapshot!(refused(Box::new(sgd(0.1).lookahead(2, 1.5))), @"expected a step size from 0 to 1, found 1.5");
}

#[test]
fn a_projection_is_refused_onto_nothing() {
    let refused = |optimiser: Box<dyn Transform<f64>>| {
        optimiser.init::<f64, _>(&[1.0]).unwrap_err().to_string()
    };
    assert_snapshot!(refused(Box::new(chain!(project(Projection::Simplex { sum: 0.0 })))), @"expected the sum of a simplex above 0, found 0");
    assert_snapshot!(refused(Box::new(chain!(project(Projection::L2Ball { radius: f64::NAN })))), @"expected the radius of a ball above 0, found NaN");
    let upside_down = Projection::Interval { lower: 1.0, upper: 0.0 };
    assert_snapshot!(refused(Box::new(chain!(project(upside_down)))), @"expected an interval that contains a number, found 1 to 0");
}

#[test]
fn projections_are_the_nearest_points() {
    let on = |onto: Projection| tree::project::<f64, _>(vec![2.0, -1.0, 0.5], onto).unwrap();
    assert_eq!(on(Projection::NonNegative), [2.0, 0.0, 0.5]);
    assert_eq!(on(Projection::Interval { lower: -0.25, upper: f64::INFINITY }), [2.0, -0.25, 0.5]);
    assert_eq!(on(Projection::Simplex { sum: 1.0 }), [1.0, 0.0, 0.0]);
    assert_eq!(on(Projection::Simplex { sum: 3.0 }), [2.25, 0.0, 0.75]);
    assert_eq!(on(Projection::L1Ball { radius: 2.0 }), [1.5, -0.5, 0.0]);
    assert_eq!(on(Projection::L1Ball { radius: 3.5 }), [2.0, -1.0, 0.5]);
    assert_eq!(on(Projection::L2Ball { radius: 3.0 }), [2.0, -1.0, 0.5]);
    let norm = tree::norm::<f64, _>(&on(Projection::L2Ball { radius: 0.1 })).unwrap();
    assert!((norm - 0.1).abs() < 1e-16);
    // Where the sum is lost beside the numbers, as 1 is beside 1e300.
    let far = tree::project::<f64, _>([1e300, -1e300], Projection::Simplex { sum: 1.0 }).unwrap();
    assert_eq!(far, [1.0, 0.0]);
    let nowhere = tree::project::<f64, _>([1.0, f64::NAN], Projection::L1Ball { radius: 1.0 });
    assert_snapshot!(nowhere.unwrap_err(), @"a number that is projected is not finite at `.1`");
}

#[test]
fn parameters_stay_in_their_set_exactly() {
    #[derive(Clone, Copy, Serialize, Deserialize)]
    struct Model {
        rate: f64,
        shares: [f64; 3],
    }
    let rates = project(Projection::Interval { lower: 0.1, upper: 0.7 }).only("rate");
    let shares = project(Projection::Simplex { sum: 1.0 }).only("shares");
    let optimiser = chain!(adam(0.3), rates, shares);
    let mut model = Model { rate: 0.3, shares: [0.2, 0.3, 0.5] };
    let mut state = optimiser.init::<f64, _>(&model).unwrap();
    let step = |model: &mut Model, state: &mut _, turn: usize| -> Result<(), Error> {
        let gradient = |at: usize| ((turn * 7 + at * 3) as f64).sin();
        let gradient = Model { rate: gradient(0), shares: [1, 2, 3].map(gradient) };
        optimiser.step_in_place(model, &gradient, state)
    };
    let mut at_the_edge = 0;
    for turn in 0..200 {
        step(&mut model, &mut state, turn).unwrap();
        assert!((0.1..=0.7).contains(&model.rate), "{}", model.rate);
        assert!(model.shares.iter().all(|share| *share >= 0.0), "{:?}", model.shares);
        assert!((model.shares.iter().sum::<f64>() - 1.0).abs() < 1e-15, "{:?}", model.shares);
        at_the_edge += usize::from([0.1, 0.7].contains(&model.rate) && model.shares.contains(&0.0));
    }
    assert!(at_the_edge > 5, "{at_the_edge}");
}

#[test]
fn a_small_radius_beside_large_numbers_is_kept() {
    let ball = Projection::L1Ball { radius: 1.0 };
    assert_eq!(tree::project::<f64, _>([1e17, -1e17], ball).unwrap(), [0.5, -0.5]);
    assert_eq!(tree::project::<f32, _>([1e8f32, -1e8, 0.0], ball).unwrap(), [0.5, -0.5, 0.0]);
    // The norm is more than the largest number.
    let far = [f64::MAX, f64::MAX];
    let near = tree::project::<f64, _>(far, Projection::L2Ball { radius: 1.0 }).unwrap();
    assert!(near.iter().all(|x| (x - 0.5f64.sqrt()).abs() < 1e-15), "{near:?}");
}

#[test]
fn what_cannot_be_projected_is_an_error() {
    let on = |numbers: Vec<f64>, onto| tree::project::<f64, _>(numbers, onto).unwrap_err();
    let interval = |lower, upper| Projection::Interval { lower, upper };
    for onto in [Projection::NonNegative, interval(0.0, 1.0), Projection::L2Ball { radius: 1.0 }] {
        assert_eq!(on(vec![1.0, f64::NAN], onto).path().unwrap().to_string(), "[1]");
    }
    assert_snapshot!(on(vec![1.0], interval(f64::INFINITY, f64::INFINITY)), @"expected an interval that contains a number, found inf to inf");
    assert_snapshot!(on(vec![], Projection::Simplex { sum: 1.0 }), @"expected numbers with the sum 1, found no number");
    let narrow = tree::project::<f32, _>([1.0f32], interval(1e39, 2e39)).unwrap_err();
    assert_snapshot!(narrow, @"the bound of an interval, in the type of the number, is not finite at `.0`");
}

#[test]
fn a_lookahead_that_is_new_does_not_restart_the_count() {
    let (mut model, mut state) = ([1.0], adam(0.1).init::<f64, _>(&[1.0]).unwrap());
    for _ in 0..10 {
        model = adam(0.1).step(model, [1.0], &mut state).unwrap();
    }
    let around = adam(0.1).lookahead(5, 0.5);
    let (mut state, _) = state.migrate(&around, &model).unwrap();
    assert_eq!(state.count(), 10);
    around.step(model, [1.0], &mut state).unwrap();
    assert_eq!(state.count(), 11);
}

#[test]
fn errors_in_a_row_move_with_the_state() {
    let (one, two) = (adam(0.1).apply_if_finite(2), adam(0.1).apply_if_finite(2).freeze(".1"));
    let mut state = one.init::<f64, _>(&[1.0, 2.0]).unwrap();
    let model = one.step([1.0, 2.0], [1.0, 1.0], &mut state).unwrap();
    let model = one.step(model, BROKEN, &mut state).unwrap();
    let model = one.step(model, BROKEN, &mut state).unwrap();
    let (dropped, report) = state.clone().migrate(&adam(0.1), &model).unwrap();
    assert_snapshot!(report, @"dropped `.count`; renamed `.parts[0]` to the root");
    assert_eq!(dropped.count(), 1);
    let (mut same, report) = state.clone().migrate(&one, &model).unwrap();
    assert_snapshot!(report, @"");
    one.step(model, BROKEN, &mut same).unwrap_err();
    let (mut fewer, report) = state.migrate(&two, &model).unwrap();
    assert_snapshot!(report, @r#"dropped `.parts[0].leaves["mu"].1`, `.parts[0].leaves["nu"].1`; renamed the root to `.parts[0]`, `.parts[0]` to `.parts[0].parts[0]`"#);
    two.step(model, [f64::NAN, 1.0], &mut fewer).unwrap_err();
}

#[cfg(feature = "candle")]
#[test]
fn integers_beside_floats_are_not_projected() {
    use candle_core::{Device, Tensor};
    use treedef::Object;

    let floats = Tensor::new(&[0.5, 1.0], &Device::Cpu).unwrap();
    let model = (Object(floats), Object(Tensor::new(&[7i64], &Device::Cpu).unwrap()));
    let found = tree::project::<Tensor, _>(model, Projection::Simplex { sum: 1.0 }).unwrap();
    assert_eq!(found.0.0.to_vec1::<f64>().unwrap(), [0.25, 0.75]);
    assert_eq!(found.1.0.to_vec1::<i64>().unwrap(), [7]);
}

#[test]
fn parameters_stay_in_their_set_wherever_the_projection_is() {
    let inside = || project(Projection::Interval { lower: 0.1, upper: 0.7 });
    let next = || project(Projection::NonNegative).only(".1");
    let optimisers: [Box<dyn Transform<f64>>; 6] = [
        Box::new(chain!(sgd(1.0), inside().only(".0"), next())),
        Box::new(chain!(inside().only(".0"), sgd(1.0), inside().only(".0"), scale(1.0))),
        Box::new(chain!(sgd(1.0), inside().only(".0"), next()).lookahead(1, 0.9)),
        Box::new(chain!(sgd(1.0), inside()).accumulate(1).freeze(".1")),
        Box::new(chain!(sgd(1.0), inside()).apply_if_finite(1).only("*")),
        Box::new(partition().group([".0"], chain!(sgd(1.0), inside(), scale(1.0))).rest(sgd(1.0))),
    ];
    // By updates that are added, the first ends at 0.09999999999999998.
    for (at, optimiser) in optimisers.into_iter().enumerate() {
        let mut state = optimiser.init::<f64, _>(&[0.4, 1.0]).unwrap();
        let model: [f64; 2] = optimiser.step([0.4, 1.0], [1.0, 0.0], &mut state).unwrap();
        let least = if at == 2 { 0.1 + 0.1 * 0.3 } else { 0.1 };
        assert!((model[0] - least).abs() < 1e-15 && model[0] >= 0.1, "{at}: {model:?}");
    }
}

#[test]
fn slow_parameters_begin_where_each_period_has_ended() {
    let slow = |state: &_, at: &str| -> [f64; 3] {
        Tree::of::<State<[f64; 3], f64>>(state).unwrap().subtree(at).unwrap().into_typed().unwrap()
    };
    let begin = [0.1, 0.7, -1.3];
    let step = |optimiser: &dyn Transform<f64>, model: &mut [f64; 3], state: &mut _, turn: u32| {
        let gradient = [0.3, 0.37, -0.11].map(|x: f64| (x * f64::from(turn)).cos());
        optimiser.step_in_place(model, &gradient, state).unwrap();
    };
    for reset in [false, true] {
        let optimiser = adam(0.03).lookahead(3, 0.7).reset_state(reset);
        let nested = optimiser.clone().lookahead(2, 0.3);
        let mut state = optimiser.init::<f64, _>(&begin).unwrap();
        let mut nested_state = nested.init::<f64, _>(&begin).unwrap();
        let (mut model, mut nested_model) = (begin, begin);
        for turn in 1..40 {
            let (before, nested_before) = (model, nested_model);
            step(&optimiser, &mut model, &mut state, turn);
            step(&nested, &mut nested_model, &mut nested_state, turn);
            let (plain, outer) = (slow(&state, "leaves.slow"), slow(&nested_state, "leaves.slow"));
            assert_eq!(plain == before, turn % 3 == 1, "{turn}");
            assert_eq!(outer == nested_before, turn % 2 == 1, "{turn}");
            // The inner ones, also where the outer one has drawn back.
            let inner = slow(&nested_state, "parts[0].leaves.slow");
            assert_eq!(inner == nested_before, turn % 3 == 1, "{turn}");
            if turn % 3 == 0 {
                assert!(plain.iter().zip(model).all(|(slow, x)| (slow - x).abs() < 1e-15));
            }
        }
    }
}

#[test]
fn slow_parameters_stay_in_the_set_of_a_projection_that_follows() {
    let inside = || project(Projection::NonNegative);
    let optimisers: [Box<dyn Transform<f64>>; 3] = [
        Box::new(chain!(sgd(1.0).lookahead(1, 0.5), inside())),
        Box::new(chain!(chain!(sgd(1.0)).lookahead(1, 0.5), inside().only(".0"))),
        Box::new(chain!(sgd(1.0).lookahead(1, 0.5).freeze(".1"), inside(), scale(1.0))),
    ];
    for (at, optimiser) in optimisers.into_iter().enumerate() {
        let (mut model, mut state) = ([1.0, 1.0], optimiser.init::<f64, _>(&[1.0, 1.0]).unwrap());
        for _ in 0..20 {
            optimiser.step_in_place(&mut model, &[3.0, 0.0], &mut state).unwrap();
            assert_eq!(model[0], 0.0, "{at}");
        }
        optimiser.step_in_place(&mut model, &[-1.0, 0.0], &mut state).unwrap();
        assert_eq!(model[0], 0.5, "{at}");
    }
}
