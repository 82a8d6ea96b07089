//! Optimisers around others, and the sets in which parameters stay.

use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use treedef::Tree;
use treedef_optim::transform::{Projection, Transform, project, scale};
use treedef_optim::{Error, Optimiser, Result, adam, chain, sgd, tree};

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
    assert_snapshot!(report, @"fresh transforms `lookahead` (the state has `adam`)");
    model = slow.step(model, vec![0.5, 0.5], &mut state).unwrap();
    model.push(7.0);
    let (state, report) = state.migrate(&slow, &model).unwrap();
    assert_snapshot!(report, @"fresh moments for `[2]`");
    // What is new begins at its value.
    let tree = Tree::of(&state).unwrap();
    assert_eq!(tree.get("leaves.slow[2]").unwrap().as_f64(), Some(7.0));
    let (state, report) = state.migrate(&plain, &model).unwrap();
    assert_snapshot!(report, @"dropped `lookahead`");
    assert_eq!(state.count(), 2);
}

#[test]
fn a_lookahead_is_refused_without_steps() {
    let refused = |optimiser: Box<dyn Transform<f64>>| {
        optimiser.init::<f64, _>(&[1.0]).unwrap_err().to_string()
    };
    assert_snapshot!(refused(Box::new(sgd(0.1).lookahead(0, 0.5))), @"expected 1 or more steps between the slow ones, found 0");
    assert_snapshot!(refused(Box::new(sgd(0.1).lookahead(2, 1.5))), @"expected a step size from 0 to 1, found 1.5");
    assert_snapshot!(refused(Box::new(chain!(project(Projection::Simplex { sum: 0.0 })))), @"expected the sum of a simplex above 0, found 0");
    assert_snapshot!(refused(Box::new(chain!(project(Projection::L2Ball { radius: f64::NAN })))), @"expected the radius of a ball above 0, found NaN");
    let upside_down = Projection::Box { lower: 1.0, upper: 0.0 };
    assert_snapshot!(refused(Box::new(chain!(project(upside_down)))), @"expected a box with a lower bound below the upper one, found 1 and 0");
}

#[test]
fn projections_are_the_nearest_points() {
    let on = |onto: Projection| tree::project::<f64, _>(vec![2.0, -1.0, 0.5], onto).unwrap();
    assert_eq!(on(Projection::NonNegative), [2.0, 0.0, 0.5]);
    assert_eq!(on(Projection::Box { lower: -0.25, upper: f64::INFINITY }), [2.0, -0.25, 0.5]);
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
    let rates = project(Projection::Box { lower: 0.1, upper: 0.7 }).only("rate");
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
