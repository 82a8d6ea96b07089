//! The 27 sets of NIST's Statistical Reference Datasets for nonlinear regression, from both starting
//! points: `Parameters`, levenberg-marquardt as it is, and the derivatives of dual numbers.
//!
//! The files in `nist` are in the public domain: <https://www.itl.nist.gov/div898/strd/>.

use std::collections::BTreeSet;
use std::f64::consts::PI;
use std::path::Path;

use levenberg_marquardt::LevenbergMarquardt;
use num_dual::{DualNum, DualSVec64};
use serde::{Deserialize, Serialize};
use treedef_optim::{Parameters, ParametersError};

/// What is not found, from which starting point, and the end of the solver.
const FAILURES: &[(&str, usize, &str)] = &[
    // The solver stops after 100 evaluations for each parameter and one more.
    ("Bennett5", 1, "LostPatience"),
    ("MGH09", 1, "LostPatience"),
    // The parameters have 10 digits. The residuals are the rounding of the data, 10⁻¹³, so of the
    // deviations 3 digits are right.
    ("Lanczos1", 1, "Converged { ftol: false, xtol: true }"),
    ("Lanczos1", 2, "Converged { ftol: false, xtol: true }"),
];

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct Fit<D: Clone + 'static> {
    #[serde(with = "treedef::object::vec")]
    b: Vec<D>,
}

/// The numbers of a file.
struct Set {
    name: String,
    starts: [Vec<f64>; 2],
    certified: Vec<f64>,
    deviations: Vec<f64>,
    sum_of_squares: f64,
    /// The response, then the predictors.
    rows: Vec<Vec<f64>>,
}

fn set(name: &str) -> Set {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("nist").join(format!("{name}.dat"));
    let text = std::fs::read_to_string(path).unwrap();
    let numbers = |text: &str| -> Vec<f64> {
        text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    };
    let mut set = Set {
        name: name.to_owned(),
        starts: Default::default(),
        certified: Vec::new(),
        deviations: Vec::new(),
        sum_of_squares: f64::NAN,
        rows: Vec::new(),
    };
    // The line «Data:» occurs three times: in the table of contents, above the description, and above
    // the data.
    let (head, data) = text.rsplit_once("Data:").unwrap();
    for line in head.lines() {
        if let Some((_, sum)) = line.split_once("Residual Sum of Squares:") {
            set.sum_of_squares = sum.trim().parse().unwrap();
        }
        if let Some((parameter, columns)) = line.split_once('=')
            && parameter.trim().strip_prefix('b').is_some_and(|at| at.parse::<usize>().is_ok())
        {
            let [first, second, certified, deviation] = numbers(columns)[..] else {
                panic!("{line}")
            };
            set.starts[0].push(first);
            set.starts[1].push(second);
            set.certified.push(certified);
            set.deviations.push(deviation);
        }
    }
    set.rows = data.lines().skip(1).map(numbers).filter(|row| !row.is_empty()).collect();
    set
}

fn predicted<D: DualNum<Primitive = f64> + Copy>(name: &str, b: &[D], x: &[f64]) -> D {
    let one = D::from(1.0);
    let number = |x: f64| D::from(x);
    let polynomial = |b: &[D], x: f64| b.iter().rev().fold(D::from(0.0), |sum, b| sum * x + *b);
    let with_one = |b: &[D]| [&[one], b].concat();
    let bell = |height: D, at: D, width: D| height * (-((number(x[0]) - at) / width).powi(2)).exp();
    let decay = |height: D, rate: D| height * (-rate * x[0]).exp();
    match name {
        "Bennett5" => b[0] * ((b[1] + x[0]).ln() * (-b[2].recip())).exp(),
        "BoxBOD" | "Misra1a" => b[0] * (one - (-b[1] * x[0]).exp()),
        "Chwirut1" | "Chwirut2" => (-b[0] * x[0]).exp() / (b[1] + b[2] * x[0]),
        "DanWood" => b[0] * (b[1] * x[0].ln()).exp(),
        "ENSO" => {
            let wave = |cosine: D, sine: D, period: D| {
                let (sin, cos) = (period.recip() * (2.0 * PI * x[0])).sin_cos();
                cosine * cos + sine * sin
            };
            b[0] + wave(b[1], b[2], number(12.0)) + wave(b[4], b[5], b[3]) + wave(b[7], b[8], b[6])
        }
        "Eckerle4" => b[0] / b[1] * ((((number(x[0]) - b[2]) / b[1]).powi(2)) * -0.5).exp(),
        "Gauss1" | "Gauss2" | "Gauss3" => {
            decay(b[0], b[1]) + bell(b[2], b[3], b[4]) + bell(b[5], b[6], b[7])
        }
        "Hahn1" | "Thurber" => polynomial(&b[..4], x[0]) / polynomial(&with_one(&b[4..]), x[0]),
        "Kirby2" => polynomial(&b[..3], x[0]) / polynomial(&with_one(&b[3..]), x[0]),
        "Lanczos1" | "Lanczos2" | "Lanczos3" => {
            decay(b[0], b[1]) + decay(b[2], b[3]) + decay(b[4], b[5])
        }
        "MGH09" => {
            let square = number(x[0] * x[0]);
            b[0] * (square + b[1] * x[0]) / (square + b[2] * x[0] + b[3])
        }
        "MGH10" => b[0] * (b[1] / (b[2] + x[0])).exp(),
        "MGH17" => b[0] + decay(b[1], b[3]) + decay(b[2], b[4]),
        "Misra1b" => b[0] * (one - (b[1] * (x[0] / 2.0) + 1.0).powi(-2)),
        "Misra1c" => b[0] * (one - (b[1] * (2.0 * x[0]) + 1.0).sqrt().recip()),
        "Misra1d" => b[0] * b[1] * x[0] / (b[1] * x[0] + 1.0),
        "Nelson" => b[0] - b[1] * x[0] * (-b[2] * x[1]).exp(),
        "Rat42" => b[0] / ((b[1] - b[2] * x[0]).exp() + 1.0),
        "Rat43" => b[0] / (((b[1] - b[2] * x[0]).exp() + 1.0).ln() * b[3].recip()).exp(),
        "Roszman1" => b[0] - b[1] * x[0] - (b[2] / (number(x[0]) - b[3])).atan() / PI,
        _ => unreachable!("no set {name}"),
    }
}

type Dual = DualSVec64<9>; // no set has more parameters

/// The number of digits that agree: the least of all parameters.
fn digits(found: impl IntoIterator<Item = f64>, certified: &[f64]) -> f64 {
    let of = |(found, certified): (f64, &f64)| {
        -((found - certified).abs() / certified.abs()).max(1e-11).log10()
    };
    found
        .into_iter()
        .zip(certified)
        .map(of)
        .fold(11.0, |a, b| if b < a || b.is_nan() { b } else { a })
}

struct Found {
    parameters: f64,
    deviations: f64,
    evaluations: usize,
    sum_of_squares: f64,
    end: String,
}

/// A fit, with the digits of the parameters and of the standard deviations in its report.
fn fit(
    set: &Set,
    p: &Parameters<Fit<f64>>,
    solver: LevenbergMarquardt<f64>,
) -> Result<Found, ParametersError> {
    let residual = |fit: &Fit<Dual>, row: &Vec<f64>| {
        let measured = if set.name == "Nelson" { row[0].ln() } else { row[0] };
        predicted(&set.name, &fit.b, &row[1..]) - measured
    };
    let residuals =
        |fit: &Fit<Dual>| -> Vec<Dual> { set.rows.iter().map(|row| residual(fit, row)).collect() };
    let (fit, end) = solver.minimize(p.problem(residuals).least_squares());
    let mut found = Found {
        parameters: digits(p.value(fit.x())?.b, &set.certified),
        deviations: f64::NAN,
        evaluations: end.number_of_evaluations,
        sum_of_squares: 2.0 * end.objective_function,
        end: format!("{:?}", end.termination),
    };
    if let Ok(covariance) = fit.covariance() {
        let rows = p.report(fit.x()).errors(&covariance)?.rows()?;
        let errors = rows.iter().map(|row| row.error.unwrap_or(f64::NAN));
        found.deviations = digits(errors, &set.deviations);
    }
    Ok(found)
}

fn names() -> BTreeSet<String> {
    let files = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("nist")).unwrap();
    let stems = files.map(|file| file.unwrap().path().file_stem().unwrap().to_owned());
    stems.map(|name| name.into_string().unwrap()).collect()
}

impl Found {
    fn is_certified(&self) -> bool {
        self.parameters >= 6.0 && self.deviations >= 5.0
    }

    fn described(&self, set: &Set, start: usize) -> String {
        let Found { parameters, deviations, evaluations, sum_of_squares, end } = self;
        format!(
            "{:8} {start}: {parameters:4.1} and {deviations:5.1} digits, {evaluations:3} evaluations, \
             sum {sum_of_squares:.10e} of {:.10e}, {end}",
            set.name, set.sum_of_squares
        )
    }
}

#[test]
fn certified_parameters_and_deviations_are_found() -> Result<(), ParametersError> {
    let names = names();
    assert_eq!(names.len(), 27);
    let mut wrong = Vec::new();
    for name in &names {
        let set = set(name);
        for (start, b) in (1..).zip(&set.starts) {
            let p = Parameters::new(&Fit { b: b.clone() })?;
            let found = fit(&set, &p, LevenbergMarquardt::new())?;
            let line = found.described(&set, start);
            println!("{line}");
            let failure = FAILURES.iter().find(|(failing, at, _)| failing == name && *at == start);
            let as_expected = match failure {
                None => found.is_certified(),
                Some((.., end)) => !found.is_certified() && found.end == *end,
            };
            if !as_expected {
                wrong.push(line);
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// What fails by the solver's patience is found with more of it.
#[test]
fn failures_are_those_of_the_solver() -> Result<(), ParametersError> {
    for name in ["Bennett5", "MGH09"] {
        let set = set(name);
        let p = Parameters::new(&Fit { b: set.starts[0].clone() })?;
        let found = fit(&set, &p, LevenbergMarquardt::new().with_patience(5000))?;
        assert!(found.is_certified(), "{}", found.described(&set, 1));
    }
    Ok(())
}

/// The deviations are the same if all parameters go through eˣ: by the delta method.
#[test]
fn deviations_come_through_transforms() -> Result<(), ParametersError> {
    let mut found_by_exp = 0;
    for name in names() {
        let set = set(&name);
        let b = &set.starts[1];
        if b.iter().chain(&set.certified).any(|b| *b <= 0.0) || name == "Lanczos1" {
            continue;
        }
        let p = Parameters::new(&Fit { b: b.clone() })?.positive("b")?;
        let found = fit(&set, &p, LevenbergMarquardt::new())?;
        println!("{}", found.described(&set, 2));
        assert!(found.is_certified(), "{}", found.described(&set, 2));
        found_by_exp += 1;
    }
    assert!(found_by_exp >= 15, "{found_by_exp}");
    Ok(())
}
