//! Covariances by the delta method, and the table.

use treedef_optim::{Parameters, ParametersError};

type Result<T = ()> = std::result::Result<T, ParametersError>;

#[test]
fn a_covariance_is_that_of_the_delta_method() -> Result {
    let p = Parameters::new(&(2.0, vec![0.2, 0.3, 0.5], 2.0, 7.0))?
        .positive(".0")?
        .positive(".2")?
        .tie([".0", ".2"])?
        .simplex(".1")?
        .fix(".3")?;
    let x = [0.4, 0.1, -0.3];
    let c = [0.04, 0.01, 0.0, 0.01, 0.09, -0.02, 0.0, -0.02, 0.16];
    let found = p.covariance(&x, &c)?.matrix()?;

    // J by finite differences, then J C Jᵀ.
    let leaves = p.leaf_names().len();
    let slope = |leaf: usize, by: usize| -> Result<f64> {
        let moved = |step: f64| {
            let mut x = x;
            x[by] += step;
            p.leaves(&x).map(|leaves| leaves[leaf])
        };
        Ok((moved(1e-5)? - moved(-1e-5)?) / 2e-5)
    };
    for a in 0..leaves {
        for b in 0..leaves {
            let mut expected = 0.0;
            for i in 0..3 {
                for j in 0..3 {
                    expected += slope(a, i)? * c[3 * i + j] * slope(b, j)?;
                }
            }
            let found = found[a * leaves + b];
            assert!((found - expected).abs() < 1e-9, "{a}, {b}: {found}, not {expected}");
        }
    }
    // The sum of a simplex has no variance, and what is fixed has none.
    let of_sum: f64 =
        (1..4).flat_map(|a| (1..4).map(move |b| (a, b))).map(|(a, b)| found[a * leaves + b]).sum();
    assert!(of_sum.abs() < 1e-16);
    assert!((0..leaves).all(|leaf| found[5 * leaves + leaf] == 0.0));
    Ok(())
}

#[test]
fn a_report_has_all_leaves() -> Result {
    let model = (vec![1.92, 1234.5], 0.25, 0.25, 1e-9, 3.0f32, 0.999_999_99, 5e12);
    let p = Parameters::new(&model)?
        .positive(".0[0]")?
        .tie([".1", ".2"])?
        .fix(".4")?
        .bounds(".3", 0.0..=1.0)?
        .interval(".5", 0.0..=1.0)?;
    let x = p.initial();
    assert_eq!(
        p.report(x).to_string(),
        "\
.0[0]  1.92
.0[1]  1234.5
.1     0.25
.2     0.25         tied to `.1`
.3     0.000000001  at the lower bound 0
.4     3            fixed
.5     0.99999999   at the upper bound 1
.6     5e12
"
    );
    let mut matrix = vec![0.0; 36];
    for (at, error) in [0.0156, 12.3, 0.0995, 1e-10, 1.0, 2.5e10f64].into_iter().enumerate() {
        matrix[7 * at] = error * error;
    }
    let covariance = p.covariance(x, &matrix)?;
    let report = p.report(x).errors(&covariance)?;
    assert_eq!(
        report.to_string(),
        "\
.0[0]  1.920 ± 0.030
.0[1]  1234 ± 12
.1     0.25 ± 0.10
.2     0.25 ± 0.10                tied to `.1`
.3     (1.00 ± 0.10)e-9
.4     3                          fixed
.5     0.999999990 ± 0.000000010  at the upper bound 1
.6     (5.000 ± 0.025)e12
"
    );
    let rows = report.rows()?;
    assert_eq!((rows[1].error, rows[5].error), (Some(12.3), None));
    assert_eq!(
        p.report(&[1.0]).to_string(),
        "no report: expected 6 numbers in the vector, found 1\n"
    );
    assert!(p.report(&[1.0]).rows().is_err());
    Ok(())
}

#[test]
fn what_is_away_from_a_bound_by_more_than_its_error_is_not_there() -> Result {
    let one = |p: &Parameters<(f64,)>, x: f64, error: f64| {
        let covariance = p.covariance(&[x], &[error * error]).unwrap();
        p.report(&[x]).errors(&covariance).unwrap().to_string()
    };
    let wide = Parameters::new(&(5e8,))?.bounds(".0", 0.0..=1e9)?;
    assert_eq!(one(&wide, 900.0, 1.0), ".0  900.0 ± 1.0\n");
    assert_eq!(one(&wide, 0.0, 1.0), ".0  0.0 ± 1.0  at the lower bound 0\n");
    let positive = Parameters::new(&(1e6,))?.positive(".0")?;
    assert_eq!(one(&positive, 0.9f64.ln(), 0.01), ".0  0.9000 ± 0.0090\n");
    Ok(())
}

#[test]
fn what_is_no_covariance_is_refused() -> Result {
    let p = Parameters::new(&(1.0, 2.0))?;
    let x = p.initial();
    let refused = |matrix: &[f64]| p.covariance(x, matrix).map(|_| ()).unwrap_err().to_string();
    assert_eq!(refused(&[1.0; 3]), "expected 4 numbers in the covariance, found 3");
    assert_eq!(refused(&[1.0, 0.0, 0.0, -1.0]), "no covariance: the variance of `.1` is -1");
    assert_eq!(refused(&[1.0, 0.0, 0.0, f64::NAN]), "no covariance: the variance of `.1` is NaN");
    assert_eq!(
        refused(&[1.0, 0.5, 0.25, 1.0]),
        "no covariance: of `.0` and `.1` there are two numbers, 0.25 and 0.5"
    );
    assert_eq!(
        refused(&[1.0, 5.0, 5.0, 1.0]),
        "no covariance: the correlation of `.0` and `.1` is 5"
    );
    // What a solver leaves of a zero.
    assert!(p.covariance(x, &[1.0, -1.1e-17, -1.3e-17, 1.0]).is_ok());
    // All pairs are possible, and all three are not.
    let three = Parameters::new(&[1.0, 2.0, 3.0])?.ordered("")?;
    let matrix = [1.0, -0.9, -0.9, -0.9, 1.0, -0.9, -0.9, -0.9, 1.0];
    let error = three.covariance(three.initial(), &matrix).unwrap_err().to_string();
    assert_eq!(
        error,
        "no covariance: it is not positive semidefinite: where others are known, `.0` would have a negative variance (is it the inverse of a Hessian at a minimum?)"
    );

    let clone = p.clone();
    let covariance = clone.covariance(x, &[1.0, 0.0, 0.0, 1.0])?;
    assert!(p.report(x).errors(&covariance).is_ok());
    let other = Parameters::new(&(1.0, 3.0))?;
    let covariance = other.covariance(x, &[1.0, 0.0, 0.0, 1.0])?;
    let error = p.report(x).errors(&covariance).unwrap_err().to_string();
    assert_eq!(error, "no covariance: it is one of other parameters, or at another vector");
    assert!(other.report(&[1.0, 3.0]).errors(&covariance).is_err());
    Ok(())
}

#[test]
fn long_reports_end() -> Result {
    let report = Parameters::new(&vec![1.0; 1_000_000])?;
    let text = report.report(report.initial()).to_string();
    assert_eq!(text.lines().count(), 1001);
    assert!(text.ends_with("… and 999000 more\n"));
    Ok(())
}

#[test]
fn a_matrix_that_is_not_positive_semidefinite_is_no_covariance() -> Result {
    // Sums of squares are, also where some are others times a number, and in any units.
    let mut random = fastrand::Rng::with_seed(3);
    for count in 1..6 {
        for rank in 0..=count {
            let units: Vec<f64> = (0..count).map(|_| 10f64.powi(random.i32(-9..9))).collect();
            let rows: Vec<Vec<f64>> = (0..rank)
                .map(|_| units.iter().map(|unit| unit * (random.f64() - 0.5)).collect())
                .collect();
            let matrix: Vec<f64> = (0..count * count)
                .map(|at| rows.iter().map(|row| row[at / count] * row[at % count]).sum())
                .collect();
            let p = Parameters::new(&vec![1.0; count])?;
            p.covariance(p.initial(), &matrix)?;
            // All are pairs, and no pair contradicts: only all together.
            if count >= 3 {
                let pairs = (0..count * count).map(|at| {
                    let (a, b) = (at / count, at % count);
                    units[a] * units[b] * if a == b { 1.0 } else { -0.6 }
                });
                let pairs: Vec<f64> = pairs.collect();
                let error = p.covariance(p.initial(), &pairs).unwrap_err().to_string();
                assert!(error.contains("it is not positive semidefinite"), "{error}");
            }
        }
    }
    Ok(())
}

/// numpy's `inv(J.T @ J) * (r @ r) / 2`.
#[test]
fn the_covariance_of_residuals_is_that_of_numpy() -> Result {
    let p = Parameters::new(&(1.0, 2.0))?;
    let jacobian = [1.0, 2.0, 0.25, 1.5, 0.5, -1.0, 3.0, 1e-2];
    let residuals = [0.1, -0.2, 0.3, 0.05];
    let covariance = p.covariance_of_residuals(&[1.0, 2.0], &residuals, &jacobian)?;
    let expected =
        [0.00981432585310101, 0.0007037521099334876, 0.0007037521099334876, 0.007001615379440311];
    for (found, expected) in covariance.matrix()?.into_iter().zip(expected) {
        assert!((found - expected).abs() < 1e-14 * expected, "{found} {expected}");
    }
    // The same in other units: 10⁻²⁰⁰ of the first.
    let scaled: Vec<f64> =
        jacobian.iter().enumerate().map(|(at, j)| if at < 4 { j * 1e100 } else { *j }).collect();
    let scaled = p.covariance_of_residuals(&[1.0, 2.0], &residuals, &scaled)?;
    let ratio = scaled.standard_error(".0")? / covariance.standard_error(".0")?;
    assert!((ratio / 1e-100 - 1.0).abs() < 1e-14);

    let message = |residuals: &[f64], jacobian: &[f64]| {
        p.covariance_of_residuals(&[1.0, 2.0], residuals, jacobian).unwrap_err().to_string()
    };
    assert_eq!(
        message(&[0.1, 0.2], &[1.0, 0.0, 0.0, 1.0]),
        "no covariance: the variance of 2 residuals is unknown after a fit of 2 parameters"
    );
    assert_eq!(
        message(&[0.1, 0.2, 0.3], &[1.0, 2.0, 3.0, 0.1, 0.2, 0.3]),
        "no covariance: the residuals do not determine `.1` beside the parameters before it"
    );
    assert_eq!(
        message(&[0.1, 0.2, 0.3], &[0.0, 0.0, 0.0, 0.1, 0.2, 0.3]),
        "no covariance: the residuals do not depend on `.0`"
    );
    assert_eq!(message(&[0.1; 3], &[1.0; 5]), "expected 6 numbers in the Jacobian, found 5");
    Ok(())
}

#[test]
fn a_covariance_of_residuals_says_what_is_wrong() -> Result {
    let p = Parameters::new(&3.0)?;
    let of = |x: &[f64], residuals: &[f64], jacobian: &[f64]| {
        p.covariance_of_residuals(x, residuals, jacobian).unwrap_err().to_string()
    };
    let slopes = [1.0, 2.0, 3.0, 4.0, 4.0, 3.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0];
    let error = of(&[1.0, 2.0, 3.0], &[1.0; 4], &slopes);
    assert_eq!(error, "expected 1 numbers in the vector, found 3");
    let error = of(&[1.0], &[1.0, f64::NAN], &[1.0, 1.0]);
    assert_eq!(error, "no covariance: the residual [1] is NaN");
    let error = of(&[1.0], &[1.0, 2.0], &[1.0, f64::INFINITY]);
    assert_eq!(error, "no covariance: the derivative of residual [1] by the root is inf");
    let error = of(&[0.0], &[2e-170, 1e-170, -3e-170], &[1.0; 3]);
    assert_eq!(
        error,
        "no covariance: the variance of the root is below the smallest `f64` (use a smaller unit)"
    );
    let error = of(&[0.0], &[2.0, 1.0, -3.0], &[1e170; 3]);
    assert!(error.ends_with("is below the smallest `f64` (use a smaller unit)"), "{error}");
    // Only the squares are too small, or too large.
    for unit in [1e-170, 1e170] {
        let residuals = [2.0, 1.0, -3.0].map(|residual| residual * unit);
        let covariance = p.covariance_of_residuals(&[0.0], &residuals, &[unit; 3])?;
        let expected = (7.0f64 / 3.0).sqrt();
        assert!((covariance.standard_error("")? - expected).abs() < 1e-14);
    }
    assert_eq!(p.covariance_of_residuals(&[0.0], &[0.0; 3], &[1.0; 3])?.standard_error("")?, 0.0);
    let error = of(&[1.0], &[1.0, 2.0], &[0.0, 0.0]);
    assert_eq!(error, "no covariance: the residuals do not depend on the root");
    Ok(())
}
