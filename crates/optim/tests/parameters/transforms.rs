//! Each transform on 10,000 random points and at the ends of the range: round trip, derivatives and
//! volumes against finite differences, and nothing that is not finite.

use treedef_optim::{Parameters, ParametersError};

type Result<T = ()> = std::result::Result<T, ParametersError>;

const POINTS: usize = 10_000;

/// Where the transforms change their form, and where floats end.
const ENDS: [f64; 27] = [
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    1e-300,
    -1e-17,
    1e-9,
    -1e-9,
    1.0,
    -1.0,
    36.7,
    -36.7,
    37.5,
    -37.5,
    88.7,
    -103.9,
    708.3,
    -708.3,
    709.78,
    -745.1,
    709.79,
    -745.2,
    1e5,
    -1e5,
    1e300,
    -1e300,
    f64::MAX,
];

/// Parameters whose leaves are all made by one transform, with its name.
type Named = (&'static str, Parameters<Vec<f64>>);

fn transforms() -> Result<Vec<Named>> {
    let p = |start: &[f64]| Parameters::new(&start.to_vec());
    Ok(vec![
        ("exp", p(&[1.0])?.positive("")?),
        ("softplus", p(&[1.0])?.softplus("")?),
        ("logistic", p(&[0.3])?.interval("", 0.0..=1.0)?),
        ("logistic, open", p(&[0.3])?.interval("", 0.0..1.0)?),
        ("logistic of another range", p(&[-3.0])?.interval("", -7.5..=2.0)?),
        ("above", p(&[3.0])?.interval("", 2.0..)?),
        ("below", p(&[1.0])?.interval("", ..2.0)?),
        ("a simplex of one", p(&[1.0])?.simplex("")?),
        ("a simplex of two", p(&[0.25, 0.75])?.simplex("")?),
        ("a simplex of five", p(&[0.1, 0.2, 0.3, 0.25, 0.15])?.simplex("")?),
        ("ordered", p(&[-1.0, 0.0, 5.0, 6.0])?.ordered("")?),
    ])
}

fn random(scale: f64) -> f64 {
    scale * (fastrand::f64() + fastrand::f64() + fastrand::f64() - 1.5)
}

/// The derivatives of all leaves, as a matrix by rows.
fn dense(p: &Parameters<Vec<f64>>, x: &[f64]) -> Result<Vec<Vec<f64>>> {
    let jacobian = p.jacobian(x)?;
    let mut rows = vec![vec![0.0; x.len()]; p.leaf_names().len()];
    let columns = (0..x.len()).flat_map(|by| {
        jacobian.column(by).into_iter().map(move |(leaf, derivative)| (leaf, by, derivative))
    });
    columns.for_each(|(leaf, by, derivative)| rows[leaf][by] = derivative);
    Ok(rows)
}

/// The determinant of as many of the first rows as there are columns, by elimination.
fn log_determinant(mut rows: Vec<Vec<f64>>) -> f64 {
    let count = rows[0].len();
    let mut log = 0.0;
    for at in 0..count {
        let pivot = (at..count).max_by(|a, b| rows[*a][at].abs().total_cmp(&rows[*b][at].abs()));
        rows.swap(at, pivot.unwrap());
        log += rows[at][at].abs().ln();
        for below in at + 1..count {
            let factor = rows[below][at] / rows[at][at];
            let pivot = rows[at].clone();
            rows[below].iter_mut().zip(pivot).for_each(|(to, from)| *to -= factor * from);
        }
    }
    log
}

#[track_caller]
fn assert_near(found: f64, expected: f64, relative: f64, absolute: f64, what: &str) {
    let far = (found - expected).abs();
    assert!(far <= absolute + relative * expected.abs(), "{what}: {found}, not {expected}");
}

#[test]
fn a_vector_comes_back() -> Result {
    for (name, p) in transforms()? {
        fastrand::seed(1);
        for _ in 0..POINTS {
            let x: Vec<f64> = p.initial().iter().map(|_| random(12.0)).collect();
            let y = p.value(&x)?;
            let back = p.point(&y)?;
            let rows = dense(&p, &x)?;
            for (at, (x, back)) in x.iter().zip(&back).enumerate() {
                // A leaf is rounded; so much of it moves the number in the vector.
                let rounding = (0..=at.min(y.len() - 1))
                    .map(|leaf| 4.0 * f64::EPSILON * y[leaf].abs() / rows[at][at].abs())
                    .fold(0.0, f64::max);
                assert_near(*back, *x, 1e-12, 1e-13 + rounding, &format!("{name} at {x}"));
            }
            // And the model comes back from that vector.
            for (again, y) in p.value(&back)?.iter().zip(&y) {
                assert_near(*again, *y, 1e-12, 0.0, name);
            }
        }
    }
    Ok(())
}

#[test]
fn derivatives_are_those_of_finite_differences() -> Result {
    for (name, p) in transforms()? {
        fastrand::seed(2);
        for point in 0..POINTS {
            let x: Vec<f64> = p.initial().iter().map(|_| random(8.0)).collect();
            let rows = dense(&p, &x)?;
            let weights: Vec<f64> = rows.iter().map(|_| random(2.0)).collect();
            let gradient = p.gradient(&x, &weights)?;
            for by in 0..x.len() {
                let h = 1e-5;
                let moved = |step: f64| {
                    let mut x = x.clone();
                    x[by] += step;
                    p.leaves(&x)
                };
                let (before, after) = (moved(-h)?, moved(h)?);
                let mut sum = 0.0;
                for (leaf, row) in rows.iter().enumerate() {
                    let slope = (after[leaf] - before[leaf]) / (2.0 * h);
                    let size = before[leaf].abs().max(1e-3);
                    let what = format!("{name}, point {point}, leaf {leaf} by {by}");
                    assert_near(row[by], slope, 1e-7, 1e-9 * size, &what);
                    sum += weights[leaf] * row[by];
                }
                let size: f64 = rows.iter().map(|row| row[by].abs()).sum();
                assert_near(gradient[by], sum, 1e-12, 1e-12 * size, name);
            }
        }
    }
    Ok(())
}

#[test]
fn volumes_are_determinants_and_their_slopes_finite_differences() -> Result {
    for (name, p) in transforms()? {
        fastrand::seed(3);
        for _ in 0..POINTS {
            let x: Vec<f64> = p.initial().iter().map(|_| random(8.0)).collect();
            let rows = dense(&p, &x)?;
            let mut gradient = vec![0.5; x.len()];
            let log = p.log_jacobian(&x, Some(&mut gradient))?;
            assert_eq!(log, p.log_jacobian(&x, None)?);
            if !x.is_empty() {
                assert_near(log, log_determinant(rows), 1e-10, 1e-10, name);
            }
            for by in 0..x.len() {
                let moved = |step: f64| {
                    let mut x = x.clone();
                    x[by] += step;
                    p.log_jacobian(&x, None)
                };
                let slope = (moved(1e-4)? - moved(-1e-4)?) / 2e-4;
                assert_near(gradient[by] - 0.5, slope, 1e-6, 1e-7, name);
            }
        }
    }
    Ok(())
}

/// A number is finite and in its range, or there is an error with the path.
#[test]
fn nothing_is_infinite_at_the_ends() -> Result {
    let others = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    for (name, p) in transforms()? {
        let mut refused = 0;
        for by in 0..p.len() {
            for end in ENDS.iter().chain(&others) {
                let mut x = p.initial().to_vec();
                x[by] = *end;
                let y = match p.value(&x) {
                    Ok(y) => y,
                    Err(error) => {
                        let text = error.to_string();
                        assert!(text.contains("` ") || text.ends_with('`'), "{name}: {text}");
                        refused += 1;
                        continue;
                    }
                };
                let what = format!("{name} at {end}");
                assert!(end.is_finite() && y.iter().all(|y| y.is_finite()), "{what}: {y:?}");
                let volume = p.log_jacobian(&x, None)?;
                assert!(volume.is_finite(), "{what}: {volume}");
                for row in dense(&p, &x)? {
                    assert!(row.iter().all(|slope| slope.is_finite()), "{what}: {row:?}");
                }
                // An end that was reached by rounding is no point.
                match p.point(&y) {
                    Ok(x) => assert!(x.iter().all(|x| x.is_finite()), "{what}: {x:?}"),
                    Err(error) => assert!(error.to_string().contains('`'), "{what}: {error}"),
                }
            }
        }
        assert!(refused >= 3 * p.len(), "{name}: {refused}");
    }
    Ok(())
}

/// Far from zero, where differences of floats say nothing, the digits are those of the formulas.
#[test]
fn no_digit_is_lost_far_out() -> Result {
    let p = Parameters::new(&[0.5, 1.0])?.interval(".0", 0.0..=1.0)?.softplus(".1")?;
    // e⁻⁵⁰⁰, to which both are equal in all digits of a float.
    let tiny = 7.124_576_406_741_286e-218;
    let [y, z] = p.value(&[-500.0, -500.0])?;
    assert_near(y, tiny, 1e-14, 0.0, "logistic");
    assert_near(z, tiny, 1e-14, 0.0, "softplus");
    let back = p.point(&[y, z])?;
    assert_near(back[0], -500.0, 1e-15, 0.0, "logistic");
    assert_near(back[1], -500.0, 1e-15, 0.0, "softplus");
    assert_eq!(p.value(&[0.0, 500.0])?[1], 500.0);
    assert_eq!(p.value(&[500.0, 1.0])?[0], 1.0);
    assert_near(p.log_jacobian(&[-500.0, 0.0], None)?, -500.0 - 2f64.ln(), 1e-15, 0.0, "volume");
    assert_near(p.log_jacobian(&[500.0, 0.0], None)?, -500.0 - 2f64.ln(), 1e-15, 0.0, "volume");
    Ok(())
}

/// `Stan Reference Manual`, «Unit simplex»: x = 0 is the middle.
#[test]
fn sticks_are_broken_as_stan_does() -> Result {
    let p = Parameters::new(&vec![0.2; 5])?.simplex("")?;
    let logit = |p: f64| (p / (1.0 - p)).ln();
    // z₁ = y₁, z₂ = y₂ / (1 − y₁), and x = logit z + ln(K − k).
    let y = vec![0.1, 0.2, 0.3, 0.25, 0.15];
    let mut rest = 1.0;
    let mut expected = Vec::new();
    for (k, y) in (1..5).zip(&y) {
        expected.push(logit(y / rest) + f64::from(5 - k).ln());
        rest -= y;
    }
    for (found, expected) in p.point(&y)?.iter().zip(expected) {
        assert_near(*found, expected, 1e-14, 1e-15, "a stick");
    }
    Ok(())
}

#[test]
fn large_blocks_stay_linear() -> Result {
    let count = 20_000;
    let p = Parameters::new(&vec![1.0 / 20_000.0; count])?.simplex("")?;
    let x: Vec<f64> = (0..count - 1).map(|at| (at as f64 * 0.7).sin()).collect();
    let y = p.value(&x)?;
    assert_near(y.iter().sum(), 1.0, 1e-12, 0.0, "the sum");
    assert_eq!(p.gradient(&x, &y)?.len(), count - 1);
    for (found, x) in p.point(&y)?.iter().zip(&x) {
        assert_near(*found, *x, 1e-10, 1e-10, "a stick");
    }
    assert!(p.log_jacobian(&x, None)?.is_finite());
    Ok(())
}
