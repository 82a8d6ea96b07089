//! Losses, and their derivatives by duals, are those of optax 0.2.8 in float64.

use std::collections::BTreeMap;

use num_dual::{Dual2_64, DualNum};
use treedef_optim::losses::{
    huber_loss, log_cosh, log_softmax, sigmoid_binary_cross_entropy as sigmoid,
};

fn loss<T: DualNum<Primitive = f64> + Copy>(name: &str, x: T) -> T {
    let softmax = || log_softmax(&[x, x * 0.5, -x + 1.0]);
    match name {
        "huber" => huber_loss(x, 1.0),
        "huber of 0.3" => huber_loss(x, 0.3),
        "log_cosh" => log_cosh(x),
        "sigmoid of 0" => sigmoid(x, 0.0),
        "sigmoid of 0.25" => sigmoid(x, 0.25),
        "sigmoid of 1" => sigmoid(x, 1.0),
        "softmax" => -softmax()[1],
        "softmax of shares" => {
            softmax().into_iter().zip([0.2, 0.5, 0.3]).map(|(score, share)| -score * share).sum()
        }
        other => panic!("no loss `{other}`"),
    }
}

#[test]
fn losses_are_those_of_optax() {
    let rows: BTreeMap<String, Vec<[f64; 4]>> =
        serde_json::from_str(include_str!("../losses.json")).unwrap();
    assert_eq!(rows.values().map(Vec::len).sum::<usize>(), 72);
    for (name, rows) in rows {
        for [x, value, first, second] in rows {
            let found = loss(&name, Dual2_64::from_re(x).derivative());
            // optax loses the digits of a small `log_cosh`: its terms are around 1.
            let limit = |expected: f64| 1e-12 * expected.abs().max(1e-3);
            for (expected, found) in [(value, found.re), (first, found.v1), (second, found.v2)] {
                let off = (expected - found).abs();
                assert!(off <= limit(expected), "{name} at {x}: {expected} {found}");
            }
            assert_eq!(loss(&name, x), found.re);
        }
    }
}

/// What the formulas lose.
#[test]
fn small_losses_have_all_digits() {
    assert!((log_cosh(1e-10f64) / 5e-21 - 1.0).abs() < 1e-15);
    assert_eq!(log_cosh(0.0f64), 0.0);
    assert_eq!(sigmoid(-50.0f64, 0.0), (-50f64).exp());
    assert_eq!(-log_softmax(&[50.0f64, 0.0])[0], (-50f64).exp());
    assert!(log_softmax::<f64>(&[]).is_empty());
    assert!(log_softmax(&[1.0, f64::NAN]).iter().all(|score| score.is_nan()));
    assert_eq!(huber_loss(-2f32, 0.5), 0.875);
}

#[test]
fn a_certain_and_right_score_has_no_loss() {
    for (score, label) in [(f64::INFINITY, 1.0), (f64::NEG_INFINITY, 0.0)] {
        assert_eq!(sigmoid(score, label), 0.0);
        assert_eq!(sigmoid(-score, label), f64::INFINITY);
    }
}
