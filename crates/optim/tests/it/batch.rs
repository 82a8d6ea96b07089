//! The statistics of many models, against those of numpy 2.

use serde::{Deserialize, Serialize};
use treedef::{Object, Tree};
use treedef_optim::batch;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Fit {
    sample: String,
    rate: f64,
    offset: (f64, u8),
}

fn fits() -> Vec<Fit> {
    let numbers = [(0.7, 3.0), (0.5, 1.5), (1.1, -2.0), (0.9, 1e-3), (0.65, 7.25)];
    let fit = |(at, (rate, offset))| Fit { sample: format!("{at}"), rate, offset: (offset, 1) };
    numbers.into_iter().enumerate().map(fit).collect()
}

fn near(found: &Tree<f64>, expected: [f64; 2]) {
    for (found, expected) in found.leaves().iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-15 * expected.abs(), "{found} {expected}");
    }
}

#[test]
fn statistics_are_those_of_numpy() {
    let stack = batch::stack(&fits()).unwrap();
    assert_eq!(stack.get("rate").unwrap(), &[0.7, 0.5, 1.1, 0.9, 0.65]);
    assert_eq!(stack.leaves().len(), 2);
    near(&batch::mean(&stack).unwrap(), [0.7699999999999999, 1.9502]);
    near(&batch::standard_deviation(&stack).unwrap(), [0.23345235059857508, 3.4927102943129995]);
    for (quantile, expected) in [
        (0.0, [0.5, -2.0]),
        (0.025, [0.515, -1.7999]),
        (0.25, [0.65, 0.001]),
        (0.5, [0.7, 1.5]),
        (0.9, [1.02, 5.550000000000001]),
        (1.0, [1.1, 7.25]),
    ] {
        near(&batch::quantile(&stack, quantile).unwrap(), expected);
    }
    // Numbers that are objects, as in a model for duals.
    let objects = [1.0, 3.0].map(|rate| (Object(rate), 0.5));
    assert_eq!(batch::mean(&batch::stack(&objects).unwrap()).unwrap().leaves(), [2.0]);
}

#[test]
fn extreme_numbers_have_statistics() {
    let of = |numbers: &[f64]| batch::stack(numbers).unwrap();
    let huge = of(&[1e308, 1.5e308, 1.7e308]);
    assert!((batch::mean(&huge).unwrap().leaves()[0] / 1.4e308 - 1.0).abs() < 1e-15);
    let far: Vec<f64> = (0..10).map(|at| if at == 0 { 1.7e308 } else { -1.7e308 }).collect();
    let far = batch::standard_deviation(&of(&far)).unwrap().leaves()[0];
    assert!((far / 1.7e308 - 0.4f64.sqrt()).abs() < 1e-15, "{far}");
    let sd = batch::standard_deviation(&huge).unwrap();
    assert!((sd.leaves()[0] / 3.605551275463989e307 - 1.0).abs() < 1e-15, "{sd}");
    let tiny = batch::standard_deviation(&of(&[1e-300, 2e-300, 3e-300])).unwrap();
    assert!((tiny.leaves()[0] / 1e-300 - 1.0).abs() < 1e-15, "{tiny}");
    assert_eq!(batch::mean(&of(&[0.1; 3])).unwrap().leaves(), [0.1]);
    assert_eq!(batch::standard_deviation(&of(&[0.1; 10])).unwrap().leaves(), [0.0]);
    let infinite = of(&[1.0, f64::INFINITY, f64::INFINITY]);
    assert_eq!(batch::mean(&infinite).unwrap().leaves(), [f64::INFINITY]);
    assert!(batch::standard_deviation(&infinite).unwrap().leaves()[0].is_nan());
    assert_eq!(batch::quantile(&infinite, 0.75).unwrap().leaves(), [f64::INFINITY]);
    assert!(batch::quantile(&of(&[1.0, f64::NAN]), 0.0).unwrap().leaves()[0].is_nan());
}

#[test]
fn what_has_no_statistics_is_an_error() {
    let message = |error: treedef_optim::Error| error.to_string();
    insta::assert_snapshot!(message(batch::stack::<f64>(&[]).unwrap_err()), @"there are no models to stack");
    insta::assert_snapshot!(message(batch::stack(&[1u8]).unwrap_err()), @"the value has no leaf of type `f64`: numbers need `f32` or `f64`, and objects the type that they have");
    insta::assert_snapshot!(message(batch::stack(&[vec![(1.0, 2.0)], vec![]]).unwrap_err()), @"model 1 has another structure than the first: expected 1 child, found 0 children at the root");
    let one = batch::stack(&[(1.0, 2.0)]).unwrap();
    insta::assert_snapshot!(message(batch::standard_deviation(&one).unwrap_err()), @"expected at least 2 models, found 1 at `.0`");
    let none = Tree::new("(*, *)".parse().unwrap(), vec![vec![1.0], vec![]]).unwrap();
    insta::assert_snapshot!(message(batch::mean(&none).unwrap_err()), @"expected at least 1 model, found 0 at `.1`");
    insta::assert_snapshot!(message(batch::quantile(&one, f64::NAN).unwrap_err()), @"expected a quantile from 0 to 1, found NaN");
}

#[cfg(feature = "csv")]
#[test]
fn a_table_has_all_digits() {
    let fits =
        [("a", 0.1f64, [1.0 / 3.0]), ("b", 1e-300, [f64::NAN]), ("c", -0.0, [f64::INFINITY])];
    let stack = batch::stack(&fits).unwrap();
    let mut table = Vec::new();
    batch::write_csv(&stack, &mut table).unwrap();
    insta::assert_snapshot!(String::from_utf8(table.clone()).unwrap(), @"
    .1,.2.0
    0.1,0.3333333333333333
    1e-300,NaN
    -0.0,inf
    ");
    let mut rows = csv::Reader::from_reader(&*table);
    let rows: Vec<[f64; 2]> = rows.deserialize().map(Result::unwrap).collect();
    for (row, (_, a, [b])) in rows.iter().zip(fits) {
        assert_eq!((row[0].to_bits(), row[1].is_nan()), (a.to_bits(), b.is_nan()));
        assert!(b.is_nan() || row[1] == b);
    }
    let uneven = Tree::new("(*, *)".parse().unwrap(), vec![vec![1.0], vec![]]).unwrap();
    let error = batch::write_csv(&uneven, Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "expected 1 number as in the first leaf, found 0 at `.1`");
}

#[test]
fn a_quantile_between_numbers_of_a_large_difference_is_finite() {
    let stack = batch::stack(&[-1e308, 1e308]).unwrap();
    assert_eq!(batch::quantile(&stack, 0.5).unwrap().leaves(), [0.0]);
}

#[cfg(feature = "csv")]
#[test]
fn a_table_of_unequal_columns_is_not_begun() {
    let stack =
        Tree::new(batch::stack(&[(1.0, 2.0)]).unwrap().treedef().clone(), vec![vec![1.0], vec![]]);
    let mut table = Vec::new();
    assert!(batch::write_csv(&stack.unwrap(), &mut table).is_err());
    assert!(table.is_empty());
}

#[test]
fn a_mean_whose_differences_are_too_large_is_finite() {
    for numbers in [[1.7e308, -1.7e308, -1.7e308], [-f64::MAX, f64::MAX, f64::MAX]] {
        let mean = batch::mean(&batch::stack(&numbers).unwrap()).unwrap().leaves()[0];
        assert!((mean / (numbers[2] / 3.0) - 1.0).abs() < 1e-15, "{mean}");
    }
}
