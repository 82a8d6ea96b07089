//! Gradients by differences, in the units of nature and of numbers near 1.

use serde::Serialize;
use serde::de::DeserializeOwned;
use treedef_optim::{Trainable, finite};

const K: f64 = 1.380649e-23;
const H: f64 = 6.62607015e-34;
const C: f64 = 299_792_458.0;
const G: f64 = 6.6743e-11;
const EPS0: f64 = 8.8541878128e-12;
const CHARGE: f64 = 1.602176634e-19;

/// A quantity, a function of it, its derivative, and a value of it in SI units.
type Case = (&'static str, fn(f64) -> f64, fn(f64) -> f64, f64);

const CASES: &[Case] = &[
    ("a constant of binding", |k| 1e-9 / (k + 1e-9), |k| -1e-9 / (k + 1e-9).powi(2), 1e-9),
    (
        "a large number",
        |x| x * (x * 1e-9 - 2.0).powi(2),
        |x| (x * 1e-9 - 2.0) * (3e-9 * x - 2.0),
        1e9,
    ),
    ("a frequency of light", |f| H * f, |_| H, 5e14),
    ("a wavelength", |l| H * C / l, |l| -H * C / (l * l), 5e-7),
    (
        "a wavelength that is fitted",
        |l| (l / 5e-7 - 1.5).powi(2),
        |l| 2.0 * (l / 5e-7 - 1.5) / 5e-7,
        5.1e-7,
    ),
    ("a capacity", |c| (-1e-3 / (1e6 * c)).exp(), |c| (-1e-9 / c).exp() * 1e-9 / (c * c), 1e-9),
    ("a charge", |q| q * q / (4.0 * EPS0), |q| q / (2.0 * EPS0), CHARGE),
    (
        "a force of charges",
        |r| CHARGE * CHARGE / (EPS0 * r * r),
        |r| -2.0 * CHARGE * CHARGE / (EPS0 * r.powi(3)),
        5.29e-11,
    ),
    ("an energy", |e| (-e / (K * 300.0)).exp(), |e| -(-e / (K * 300.0)).exp() / (K * 300.0), 4e-21),
    (
        "a temperature",
        |t| (-4e-21 / (K * t)).exp(),
        |t| (-4e-21 / (K * t)).exp() * 4e-21 / (K * t * t),
        300.0,
    ),
    ("a temperature of a plasma", |t| (1.5 * K * t).ln(), |t| 1.0 / t, 1.5e8),
    ("a mass of a star", |m| (m / 2e30).powf(3.5), |m| 3.5 * (m / 2e30).powf(2.5) / 2e30, 3e30),
    ("a distance from Earth", |r| G * 6e24 / r, |r| -G * 6e24 / (r * r), 6.4e6),
    ("an age", |t| (-t / 1.8e17).exp(), |t| -(-t / 1.8e17).exp() / 1.8e17, 4.3e17),
    ("a density of stars", |n| n * (n / 1e-50).ln(), |n| (n / 1e-50).ln() + 1.0, 1e-48),
    ("a viscosity", |v| 1e3 * 0.1 * 0.01 / v, |v| -1.0 / (v * v), 1e-3),
    (
        "a constant of diffusion",
        |d| (-1e-10 / (4.0 * d)).exp() / d.sqrt(),
        |d| (-2.5e-11 / d).exp() / d.sqrt() * (2.5e-11 / (d * d) - 0.5 / d),
        1e-9,
    ),
    (
        "a rate of decay",
        |l| 1e20 * l * (-l * 5e10).exp(),
        |l| 1e20 * (1.0 - 5e10 * l) * (-l * 5e10).exp(),
        3.8e-12,
    ),
    ("a concentration", |c| c / (c + 3e-6), |c| 3e-6 / (c + 3e-6).powi(2), 5e-6),
    (
        "a concentration of Hill",
        |c| c.powi(4) / (c.powi(4) + 1e-24),
        |c| 4e-24 * c.powi(3) / (c.powi(4) + 1e-24).powi(2),
        1.3e-6,
    ),
    ("an acidity", |h| -h.log10(), |h| -1.0 / (h * std::f64::consts::LN_10), 1e-7),
    ("a pressure", |p| (p / 101_325.0).ln() * 8.314 * 298.0, |p| 8.314 * 298.0 / p, 2.5e5),
    ("an elasticity", |e| 1e3 * 8.0 / (3.0 * e * 1e-6), |e| -8e9 / (3.0 * e * e), 2.1e11),
    ("a current of a diode", |i| 0.025 * (i / 1e-12 + 1.0).ln(), |i| 0.025 / (i + 1e-12), 1e-9),
    ("a field of light", |e| 0.5 * EPS0 * e * e, |e| EPS0 * e, 1e11),
    ("an oscillation", |w| (w * 3e-10).sin(), |w| 3e-10 * (w * 3e-10).cos(), 6e9),
    ("a time constant", |t| 1.0 - (-2e-9 / t).exp(), |t| -(-2e-9 / t).exp() * 2e-9 / (t * t), 1e-9),
    ("a cross section", |s| (-s * 6e28 * 0.01).exp(), |s| -6e26 * (-s * 6e26).exp(), 2e-28),
    ("a shift beside a large number", |s| (s - 2.0).powi(2), |s| 2.0 * (s - 2.0), 1e-12),
    ("nothing of a small scale", |k| 1e-9 / (k + 1e-9), |k| -1e-9 / (k + 1e-9).powi(2), 0.0),
];

#[test]
fn derivatives_are_right_in_any_unit_and_a_wrong_sign_is_found() {
    assert_eq!(CASES.len(), 30);
    for (name, loss, derivative, at) in CASES {
        let (loss, expected) = (|x: &f64| loss(*x), derivative(*at));
        let found = finite::gradient::<f64, _, _>(loss, at).unwrap();
        let off = (found.gradient - expected).abs();
        assert!(off <= 1e-7 * expected.abs(), "{name}: {found:?}, not {expected:e}");
        assert!(off <= found.error, "{name}: {found:?} is {off:e} off");
        assert!(found.error <= 1e-5 * expected.abs(), "{name}: {found:?}");
        let worst =
            |gradient: f64| finite::check_gradient::<f64, _, _>(loss, at, &gradient).unwrap();
        assert!(worst(expected).error < 1e-7, "{name}: {}", worst(expected));
        assert!(worst(expected).untold.is_empty(), "{name}: {}", worst(expected));
        assert!(worst(-expected).error > 1.9, "{name}: {}", worst(-expected));
        assert!(worst(1.01 * expected).error > 9e-3, "{name}: {}", worst(1.01 * expected));
        assert!(worst(0.0).error > 0.9, "{name}: {}", worst(0.0));
    }
}

#[test]
fn what_differences_cannot_tell_is_said() {
    // The second changes the loss by less than it is rounded, whatever its derivative is.
    let loss = |p: &(f64, f64)| 1e9 + p.0.powi(2) + 1e-30 * p.1;
    let worst =
        |by: f64| finite::check_gradient::<f64, _, _>(loss, &(2.0, 1.0), &(4.0, by)).unwrap();
    let paths =
        |worst: &finite::Worst| worst.untold.iter().map(ToString::to_string).collect::<Vec<_>>();
    let (right, wrong) = (worst(1e-30), worst(-1e-30));
    assert_eq!((paths(&right), paths(&wrong)), (vec![".1".to_owned()], vec![".1".to_owned()]));
    assert!(right.error < 1e-6 && wrong.error < 1e-6);
    assert!(right.to_string().ends_with("; differences cannot tell the sign at `.1`"), "{right}");
    // It is told that it is not that large.
    assert!(paths(&worst(1.0)).is_empty() && worst(1.0).error > 0.9);
    let estimate = finite::gradient::<f64, _, _>(loss, &(2.0, 1.0)).unwrap();
    assert!(estimate.error.1 > 1e-30 && estimate.error.0 < 1e-3);
    // A number that is zero, and one that the loss does not have.
    let worst =
        finite::check_gradient::<f64, _, _>(|p: &[f64; 2]| p[0].powi(2), &[0.0, 3.0], &[0.0, 0.0]);
    let worst = worst.unwrap();
    assert_eq!((worst.error, worst.untold.len()), (0.0, 0));
    let text = "the worst number is at `.0`: 0 in the gradient, 0 ± ";
    assert!(worst.to_string().starts_with(text), "{worst}");
}

/// The relative error of the derivative by differences.
fn error_of<X: Copy + Serialize + DeserializeOwned + Into<f64>, L: Trainable>(
    loss: impl Fn(X) -> X,
    at: X,
    expected: f64,
) -> f64 {
    let estimate = finite::gradient::<L, _, _>(|x: &X| loss(*x).into(), &at).unwrap();
    (estimate.gradient.into() - expected).abs() / expected.abs().max(1.0)
}

#[test]
fn differences_know_the_precision_of_the_numbers() {
    let loss = |p: &(f32, [f32; 2])| p.0 * p.1[0] + p.1[1].sin();
    let gradient = finite::gradient::<f32, _, _>(loss, &(2.0, [3.0, 1.0])).unwrap().gradient;
    let expected = (3.0, [2.0, 1.0f32.cos()]);
    assert!((gradient.0 - expected.0).abs() < 1e-3);
    assert!((gradient.1[1] - expected.1[1]).abs() < 1e-3);
    let worst = finite::check_gradient::<f32, _, _>(loss, &(2.0, [3.0, 1.0]), &expected).unwrap();
    assert!(worst.error < 1e-3, "{worst}");
    let nan =
        finite::check_gradient::<f32, _, _>(loss, &(2.0, [3.0, 1.0]), &(3.0, [f32::NAN, 9.0]))
            .unwrap();
    assert_eq!(nan.path.to_string(), ".1.0");
}

#[test]
fn differences_know_what_the_model_rounds() {
    let loss = |(x, y): &(f32, f64)| f64::from(*x).powi(3) + y.powi(3);
    let model = (0.3f32, 0.3f64);
    let x = f64::from(model.0);
    let worst =
        finite::check_gradient::<f64, _, _>(loss, &model, &((3.0 * x * x) as f32, 0.27)).unwrap();
    assert!(worst.error < 1e-4, "{worst}");
}

#[test]
fn differences_near_zero_have_the_digits_that_are_promised() {
    for x in [0.0f32, 1e-3, -1e-6, 1e-12, 0.5, -3.0, 700.0] {
        let cos = f64::from(x).cos();
        assert!(error_of::<f32, f32>(f32::sin, x, cos) < 1e-4, "{x}");
        assert!(error_of::<f32, f64>(f32::sin, x, cos) < 1e-4, "{x}");
        assert!(error_of::<f32, f32>(|x| x * x + x, x, 2.0 * f64::from(x) + 1.0) < 1e-4, "{x}");
    }
    for x in [0.0, 1e-3, -1e-6, 1e-12, 0.5, -3.0, 700.0] {
        assert!(error_of::<f64, f64>(f64::sin, x, x.cos()) < 1e-9, "{x}");
        assert!(error_of::<f64, f64>(|x| (x - 1.0).powi(2), x, 2.0 * (x - 1.0)) < 1e-9, "{x}");
    }
    for x in [1e-9, 1e-6, 1e-5, 1e-3, 1.0, 1e9] {
        assert!(error_of::<f64, f64>(f64::ln, x, 1.0 / x) < 1e-9, "{x}");
        assert!(error_of::<f64, f64>(f64::sqrt, x, 0.5 / x.sqrt()) < 1e-9, "{x}");
    }
    assert!(error_of::<f64, f64>(|x| (1e4 * x).sin(), 0.0, 1e4) < 1e-9);
    assert!(error_of::<f64, f64>(f64::abs, 1e-6, 1.0) < 1e-9);
    assert!(error_of::<f32, f32>(f32::ln, 1e-3, 1e3) < 1e-3);
    assert_eq!(error_of::<f64, f64>(|x| x * x, 0.0, 0.0), 0.0);
    assert!(error_of::<f64, f64>(|_| f64::NAN, 0.5, 0.0).is_nan());
}

#[test]
fn differences_of_a_loss_that_ends_or_is_rounded() {
    // The loss has no value on one side of the first steps.
    let ended = |x: f64| if x <= 0.0 { f64::INFINITY } else { -x.ln() };
    for x in [2e-6, 4e-6, 5e-6, 1e-9] {
        assert!(error_of::<f64, f64>(ended, x, -1.0 / x) < 1e-9, "{x}");
    }
    let line = |x: f64| if x <= 0.0 { f64::INFINITY } else { 1.0 - x };
    assert!(error_of::<f64, f64>(line, 5e-6, -1.0) < 1e-9);
    // Rounded losses have few digits, but no derivative is lost.
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..2_000 {
        let x = 0.1 + 0.9 * random.f64();
        let rounded = |x: f64| f64::from((100.0 + x) as f32);
        assert!(error_of::<f64, f64>(rounded, x, 1.0) < 0.7, "{x}");
        let cancelled = |x: f64| (1e10 + x * x) - 1e10;
        assert!(error_of::<f64, f64>(cancelled, x, 2.0 * x) < 0.7, "{x}");
        let noisy = |x: f64| x * x + 1e-8 * (1e12 * x).sin();
        assert!(error_of::<f64, f64>(noisy, x, 2.0 * x) < 0.02, "{x}");
    }
}

/// The dual numbers of a root at 0 are NaN in every direction.
#[cfg(feature = "num-dual")]
#[test]
fn what_has_no_derivative_is_named() {
    use num_dual::{Dual64, DualNum};
    use treedef_optim::dual;

    let model = [1.0, 0.0, 2.0, 0.0];
    let dual = |m: &[Dual64; 4]| m[0] * m[0] + m[1].sqrt() * m[2] + m[3].powf(0.5);
    let (_, gradient) = dual::value_and_grad(dual, &model).unwrap();
    assert!(gradient.iter().all(|slope: &f64| slope.is_nan()), "{gradient:?}");
    let loss = |m: &[f64; 4]| m[0] * m[0] + m[1].sqrt() * m[2] + m[3].powf(0.5);
    let worst = finite::check_gradient::<f64, _, _>(loss, &model, &gradient).unwrap();
    assert_eq!((worst.path.to_string(), worst.error), (".1".to_owned(), f64::INFINITY));
    assert_eq!(worst.undefined.iter().map(ToString::to_string).collect::<Vec<_>>(), [".1", ".3"]);
    insta::assert_snapshot!(worst, @"the worst number is at `.1`: NaN in the gradient, NaN ± inf by differences, relative error inf; there is no derivative at `.1`, `.3`");
}
