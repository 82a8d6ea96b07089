//! Schedules against their formulas.

use treedef_optim::schedules::{
    Schedule, cosine_decay, cosine_onecycle, exponential_decay, join, linear, linear_onecycle,
    piecewise_constant, polynomial, warmup_cosine,
};

fn rates(schedule: Schedule, counts: impl IntoIterator<Item = u64>) -> Vec<f64> {
    counts.into_iter().map(|count| schedule.at(count)).collect()
}

fn near(found: Vec<f64>, expected: &[f64]) {
    let pairs = found.iter().zip(expected);
    let all = found.len() == expected.len() && pairs.clone().all(|(a, b)| (a - b).abs() < 1e-15);
    assert!(all, "{found:?} {expected:?}");
}

#[test]
fn schedules_have_the_values_of_their_formulas() {
    near(rates(Schedule::from(0.5), [0, 9]), &[0.5, 0.5]);
    near(rates(linear(1.0, 0.0, 4), 0..6), &[1.0, 0.75, 0.5, 0.25, 0.0, 0.0]);
    near(rates(polynomial(1.0, 0.0, 2.0, 2), 0..4), &[1.0, 0.25, 0.0, 0.0]);
    near(rates(exponential_decay(8.0, 2, 0.25), [0, 1, 2, 4]), &[8.0, 4.0, 2.0, 0.5]);
    near(rates(cosine_decay(2.0, 4, 0.5), [0, 2, 4, 99]), &[2.0, 1.5, 1.0, 1.0]);
    let warm = warmup_cosine(0.0, 1.0, 2, 6, 0.2);
    near(rates(warm, [0, 1, 2, 4, 6, 7]), &[0.0, 0.5, 1.0, 0.6, 0.2, 0.2]);
    let steps = piecewise_constant(1.0, [(2, 0.5), (5, 0.1)]);
    near(rates(steps, 0..7), &[1.0, 1.0, 0.5, 0.5, 0.5, 0.05, 0.05]);
    let at = [0, 3, 6, 13, 20, 30];
    near(rates(cosine_onecycle(20, 0.5), at), &[0.02, 0.26, 0.5, 0.250001, 2e-6, 2e-6]);
    let at = [0, 3, 6, 17, 20, 30];
    near(rates(linear_onecycle(20, 0.5), at), &[0.02, 0.26, 0.5, 0.02, 2e-6, 2e-6]);
    let joined = join([Schedule::from(1.0), linear(5.0, 6.0, 2), Schedule::from(9.0)], [1, 4]);
    near(rates(joined, 0..6), &[1.0, 5.0, 5.5, 6.0, 9.0, 9.0]);
}

#[test]
fn schedules_without_steps_are_no_division_by_zero() {
    for schedule in [
        linear(1.0, 0.5, 0),
        cosine_decay(1.0, 0, 0.5),
        exponential_decay(1.0, 0, 0.5),
        warmup_cosine(0.0, 1.0, 0, 0, 0.0),
        cosine_onecycle(0, 0.5),
        linear_onecycle(0, 0.5),
        linear_onecycle(u64::MAX, 0.5),
        warmup_cosine(0.0, 0.0, 5, 2, 0.0),
        join([], []),
    ] {
        assert!(rates(schedule, [0, 1, 2, u64::MAX]).iter().all(|rate| rate.is_finite()));
    }
}
