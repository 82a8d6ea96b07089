//! Transforms that look at an array as a whole: lamb and adafactor.

use serde::{Deserialize, Serialize};
use treedef::Object;
use treedef_optim::{Optimiser, adafactor, chain, lamb, transform::Transform};

use crate::leaves::Matrix;

fn moved<T: Serialize + for<'de> Deserialize<'de>>(
    optimiser: impl Transform<f64> + Optimiser,
    model: T,
    gradient: T,
) -> T {
    let mut state = optimiser.init::<f64, _>(&model).unwrap();
    optimiser.step(model, gradient, &mut state).unwrap()
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Model {
    name: String,
    rate: f64,
    rows: Vec<Vec<f64>>,
    points: Vec<Point>,
    pair: (f64, f64),
    empty: Vec<f64>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Point {
    x: f64,
    y: f64,
}

#[test]
fn numbers_of_a_sequence_are_one_array_and_fields_are_not() {
    let model = |by: f64| Model {
        name: "a".to_owned(),
        rate: by,
        rows: vec![vec![3.0 * by], vec![4.0 * by, 12.0 * by]],
        points: vec![Point { x: 5.0 * by, y: -7.0 * by }],
        pair: (8.0 * by, 6.0 * by),
        empty: Vec::new(),
    };
    // Each number of the update is 1, or its sign: a step is the norm of the array by the root of their count.
    let step = moved(lamb(1.0).eps(0.0), model(1.0), model(0.1));
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{step:?}");
    near(step.rate, 0.0);
    near(step.rows[0][0], 3.0 - 13.0 / 3f64.sqrt());
    near(step.rows[1][1], 12.0 - 13.0 / 3f64.sqrt());
    near(step.points[0].x, 0.0);
    near(step.points[0].y, 0.0);
    near(step.pair.0, 8.0 - 10.0 / 2f64.sqrt());
    // The root mean square of the array, times the rate.
    let step = moved(adafactor(0.5), model(1.0), model(0.1));
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{step:?}");
    near(step.rate, 0.5);
    near(step.rows[0][0], 3.0 - 0.5 * 13.0 / 3f64.sqrt());
    near(step.points[0].y, -3.5);
}

#[test]
fn what_is_frozen_in_an_array_is_no_part_of_it() {
    let [x, y, z] = moved(lamb(1.0).eps(0.0).freeze("[1]"), vec![3.0, 100.0, 4.0], vec![0.1; 3])
        .try_into()
        .unwrap();
    assert!((x - (3.0 - 5.0 / 2f64.sqrt())).abs() < 1e-9 && y == 100.0, "{x} {y}");
    assert!((z - (4.0 - 5.0 / 2f64.sqrt())).abs() < 1e-9);
}

#[test]
fn an_array_that_is_zero_leaves_zero() {
    // optax: the trust ratio is 1 there, and the smallest length of adafactor's parameters 0.001.
    let lamb = moved(lamb(0.5).eps(0.0), vec![0.0, 0.0], vec![3.0, -1.0]);
    assert_eq!(lamb, [-0.5, 0.5]);
    let moved = moved(adafactor(0.5), vec![0.0f64, 0.0], vec![3.0, -1.0]);
    assert!((moved[0] + 5e-4).abs() < 1e-12 && (moved[1] - 5e-4).abs() < 1e-12, "{moved:?}");
}

#[test]
fn means_of_rows_and_columns_are_of_the_two_largest_axes() {
    let shape = [2, 3, 4];
    let array = |number: &dyn Fn(usize) -> f64| {
        let numbers = (0..24).map(number).collect();
        Object(Matrix { shape: shape.to_vec(), data: std::rc::Rc::new(numbers) })
    };
    let gradient = |at: usize| (at as f64 + 1.0) / 7.0;
    let optimiser = adafactor(1.0).min_dim_size_to_factor(3).multiply_by_parameter_scale(false);
    let optimiser = optimiser.clipping_threshold(f64::INFINITY);
    let mut state = optimiser.init::<Matrix, _>(&array(&|_| 0.0)).unwrap();
    let found = optimiser.step(array(&|_| 0.0), array(&gradient), &mut state).unwrap();
    let square =
        |plane: usize, row: usize, column: usize| gradient(plane * 12 + row * 4 + column).powi(2);
    for (at, found) in found.0.data.iter().enumerate() {
        let (plane, row, column) = (at / 12, at / 4 % 3, at % 4);
        let of_row = (0..4).map(|column| square(plane, row, column)).sum::<f64>() / 4.0;
        let of_column = (0..3).map(|row| square(plane, row, column)).sum::<f64>() / 3.0;
        let all = (0..12).map(|at| square(plane, at / 4, at % 4)).sum::<f64>() / 12.0;
        let expected = -gradient(at) / (of_row / all * of_column).sqrt();
        assert!((found - expected).abs() < 1e-12, "{at}: {expected} {found}");
    }
}

#[test]
fn a_gradient_that_is_nan_makes_its_array_nan() {
    // As in optax, whose `maximum` keeps a NaN: without that, no number of the array would be clipped.
    let moved =
        moved(adafactor(1.0).decay_of_squares(0.0), vec![1.0, 1.0, 1.0], vec![f64::NAN, 1.0, 1.0]);
    assert!(moved.iter().all(|number| number.is_nan()), "{moved:?}");
}

#[test]
fn a_step_of_adafactor_that_fails_leaves_the_state() {
    let (model, gradient) = (vec![1.0, 7.0], vec![0.5, -3.0]);
    let mut state = adafactor(0.1).init::<f64, _>(&model).unwrap();
    let before = treedef::Tree::of(&state).unwrap();
    for other in [adafactor(0.1).momentum(0.9), adafactor(0.1).weight_decay(-1.0)] {
        assert!(other.step(model.clone(), gradient.clone(), &mut state).is_err());
        assert_eq!(treedef::Tree::of(&state).unwrap(), before);
    }
}

#[test]
fn settings_without_sense_are_refused() {
    let refused = |optimiser: Box<dyn Transform<f64>>| {
        optimiser.init::<f64, _>(&[1.0]).unwrap_err().to_string()
    };
    insta::assert_snapshot!(refused(Box::new(adafactor(-1.0))), @"expected a learning rate of 0 or more, found -1 at count 0 (to go uphill, negate the loss)");
    insta::assert_snapshot!(refused(Box::new(adafactor(0.1).decay_of_squares(1.0))), @"expected `decay_of_squares` at count 0 from 0 to below 1, found 1");
    insta::assert_snapshot!(refused(Box::new(adafactor(0.1).clipping_threshold(0.0))), @"expected `clipping_threshold` above 0, found 0");
    insta::assert_snapshot!(refused(Box::new(adafactor(0.1).momentum(1.0))), @"expected `momentum` from 0 to below 1, found 1");
    insta::assert_snapshot!(refused(Box::new(adafactor(0.1).eps(f64::NAN))), @"expected an eps of 0 or more, found NaN");
    insta::assert_snapshot!(refused(Box::new(adafactor(0.1).weight_decay(-1.0))), @"expected a weight decay of 0 or more, found -1");
    insta::assert_snapshot!(refused(Box::new(lamb(0.1).weight_decay(f64::NAN))), @"expected a weight decay of 0 or more, found NaN");
    insta::assert_snapshot!(refused(Box::new(lamb(0.1).b1(1.0))), @"expected `b1` from 0 to below 1, found 1");
    insta::assert_snapshot!(refused(Box::new(lamb(0.1).decay_only(".0"))), @"`decay_only` names `.0`, but without `weight_decay` nothing decays");
    assert!(lamb(0.1).weight_decay(0.0).decay_only(".0").init::<f64, _>(&[1.0]).is_ok());
}

#[test]
fn means_of_another_kind_are_not_taken_for_zeros() {
    let factored = |smallest| adafactor(0.1).min_dim_size_to_factor(smallest);
    let matrix = |rows: usize| {
        Object(Matrix { shape: vec![rows, 4], data: std::rc::Rc::new(vec![0.5; rows * 4]) })
    };
    let model = || (matrix(2), matrix(8));
    for (before, now) in [(2, 3), (3, 2), (3, 4)] {
        let mut state = factored(before).init::<Matrix, _>(&model()).unwrap();
        // Nothing is remembered yet.
        factored(now).step(model(), model(), &mut state.clone()).unwrap();
        factored(before).step(model(), model(), &mut state).unwrap();
        // In the first try, and after it.
        let first = factored(now).step(model(), model(), &mut state).map_err(|e| e.to_string());
        let other = factored(now).step(model(), model(), &mut state).map_err(|e| e.to_string());
        assert_eq!(first.clone().err(), other.clone().err());
        match (before, now) {
            (2, 3) => {
                insta::assert_snapshot!(other.unwrap_err(), @"the state has means of rows and columns, but with `min_dim_size_to_factor(3)` it needs those of each number: keep the setting, or begin a new state, at `.0`")
            }
            (3, 2) => {
                insta::assert_snapshot!(other.unwrap_err(), @"the state has means of each number, but with `min_dim_size_to_factor(2)` it needs those of rows and columns: keep the setting, or begin a new state, at `.0`")
            }
            _ => assert!(other.is_ok()), // it concerns no leaf
        }
        factored(before).step(model(), model(), &mut state).unwrap();
    }
}

#[test]
fn a_step_looks_at_the_smallest_mean_too() {
    let (model, optimiser) = (vec![1.0f32; 2], |eps| adafactor(0.1).eps(eps));
    let mut state = optimiser(1e-3).init::<f32, _>(&model).unwrap();
    let mut refused = || {
        let step = optimiser(1e-50).step(model.clone(), vec![0.0; 2], &mut state);
        step.unwrap_err().to_string()
    };
    let first = refused();
    insta::assert_snapshot!(first, @"f32 cannot hold the `eps` of Adafactor, 1e-50: use another type, such as bf16 or f32, or a larger `eps`, at `[0]`");
    assert_eq!(refused(), first);
    let chained = chain!(optimiser(1e-50));
    let mut state = chain!(optimiser(1e-3)).init::<f32, _>(&model).unwrap();
    chained.step(model.clone(), vec![0.0; 2], &mut state).unwrap_err();
    chain!(optimiser(1e-3)).step(model, vec![0.0; 2], &mut state).unwrap();
}

#[cfg(feature = "candle")]
mod of_tensors {
    use candle_core::{DType, Device, Tensor};
    use treedef::Tree;

    use super::*;

    #[test]
    fn means_of_rows_and_columns_take_a_row_and_a_column_of_memory() {
        for dtype in [DType::F64, DType::F32, DType::BF16] {
            let tensor = |number: f64| {
                let numbers = Tensor::full(number, (3, 4), &Device::Cpu).unwrap();
                vec![Object(numbers.to_dtype(dtype).unwrap())]
            };
            let optimiser = adafactor(0.5).min_dim_size_to_factor(2);
            let mut state = optimiser.init::<Tensor, _>(&tensor(1.0)).unwrap();
            let mut model = tensor(1.0);
            for _ in 0..2 {
                model = optimiser.step(model, tensor(0.25), &mut state).unwrap();
            }
            let tree = Tree::<Tensor>::of_objects(&state).unwrap();
            let stride = |name: &str| {
                let leaf = tree.get(format!("leaves.{name}[0]").as_str()).unwrap();
                assert_eq!((leaf.dims(), leaf.dtype()), (&[3, 4][..], dtype));
                leaf.stride().to_vec()
            };
            assert_eq!([stride("v"), stride("v_row"), stride("v_col")], [[0, 0], [1, 0], [0, 1]]);
            let found = model[0].to_dtype(DType::F64).unwrap().to_vec2::<f64>().unwrap();
            assert!((found[2][3] - 0.25).abs() < 2e-2, "{found:?}");
        }
    }

    #[test]
    fn a_type_that_cannot_hold_the_smallest_mean_is_refused() {
        let half = |length: usize| {
            let numbers = Tensor::full(0.5, (length, 2), &Device::Cpu).unwrap();
            vec![Object(numbers.to_dtype(DType::F16).unwrap())]
        };
        let error = adafactor(0.1).init::<Tensor, _>(&half(2)).unwrap_err();
        insta::assert_snapshot!(error, @"f16[2, 2] cannot hold the `eps` of Adafactor, 1e-30: use another type, such as bf16 or f32, or a larger `eps`, at `[0]`");
        assert!(adafactor(0.1).init::<Tensor, _>(&half(0)).is_ok());
        assert!(adafactor(0.1).eps(1e-6).init::<Tensor, _>(&half(2)).is_ok());
        assert!(adafactor(0.1).eps(1e-50).init::<f32, _>(&vec![1.0f32]).is_err());
    }
}
