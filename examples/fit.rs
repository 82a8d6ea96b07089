//! Fits a model of `f32`, `f64` and integers to measurements: the method of Levenberg and Marquardt sees one slice of numbers.
//!
//! ```sh
//! cargo run --example fit
//! ```

use std::fmt;

use serde::{Deserialize, Serialize};
use treedef::{Error, Flattener, LeafKind, Result, unflatten};

/// A sum of decays. Its author chose the types: a height is as exact as the detector, a rate is not.
#[derive(Clone, Serialize, Deserialize)]
struct Decays {
    isotope: String,
    channel: u8,
    offset: f32,
    parts: Vec<Part>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Part {
    height: f32,
    rate: f64,
}

/// No isotope grows.
#[derive(Debug, PartialEq)]
struct Growing(f64);

impl fmt::Display for Growing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a rate of {} per hour", self.0)
    }
}

impl std::error::Error for Growing {}

impl Decays {
    fn at(&self, hour: f64) -> Result<f64, Growing> {
        self.parts.iter().try_fold(f64::from(self.offset), |sum, part| {
            if part.rate > 0.0 {
                Ok(sum + f64::from(part.height) * (-part.rate * hour).exp())
            } else {
                Err(Growing(part.rate))
            }
        })
    }

    fn residuals(&self, measured: &[(f64, f64)]) -> Result<Vec<f64>, Growing> {
        measured.iter().map(|(hour, count)| Ok(self.at(*hour)? - count)).collect()
    }
}

/// The solution of a symmetric positive system, by elimination.
fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let size = b.len();
    for row in 0..size {
        let (above, below) = a.split_at_mut(row + 1);
        let (pivot, known) = (&above[row], b[row]);
        for (line, right) in below.iter_mut().zip(&mut b[row + 1..]) {
            let factor = line[row] / pivot[row];
            line.iter_mut().zip(pivot).for_each(|(entry, above)| *entry -= factor * above);
            *right -= factor * known;
        }
    }
    for row in (0..size).rev() {
        let known: f64 = (row + 1..size).map(|column| a[row][column] * b[column]).sum();
        b[row] = (b[row] - known) / a[row][row];
    }
    b
}

/// Minimises the sum of the squares of `f`. A step to where `f` fails is shortened, as one that leads upwards.
fn fit<E>(
    mut f: impl FnMut(&[f64]) -> Result<Vec<f64>, E>,
    steps: &[f64],
    mut x: Vec<f64>,
) -> Result<Vec<f64>, E> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (mut here, mut damping) = (f(&x)?, 1e-3);
    for _ in 0..100 {
        let mut slopes = Vec::with_capacity(x.len());
        for (at, step) in steps.iter().enumerate() {
            let step = step * x[at].abs().max(0.01);
            let mut shifted = |by: f64| {
                let mut x = x.clone();
                x[at] += by;
                f(&x)
            };
            let (up, down) = (shifted(step)?, shifted(-step)?);
            slopes.push(
                up.iter()
                    .zip(&down)
                    .map(|(up, down)| (up - down) / (2.0 * step))
                    .collect::<Vec<_>>(),
            );
        }
        let damped = |row: usize, column: usize| {
            dot(&slopes[row], &slopes[column]) * if row == column { 1.0 + damping } else { 1.0 }
        };
        let matrix =
            (0..x.len()).map(|row| (0..x.len()).map(|column| damped(row, column)).collect());
        let change =
            solve(matrix.collect(), slopes.iter().map(|slope| dot(slope, &here)).collect());
        let next: Vec<f64> = x.iter().zip(change).map(|(x, change)| x - change).collect();
        match f(&next) {
            Ok(there) if dot(&there, &there) < dot(&here, &here) => {
                (x, here, damping) = (next, there, damping / 10.0);
            }
            _ => damping *= 10.0,
        }
    }
    Ok(x)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let part = |height, rate| Part { height, rate };
    let isotope = "Ba-137m".to_owned();
    let truth =
        Decays { isotope, channel: 3, offset: 2.0, parts: vec![part(60.0, 0.7), part(20.0, 0.1)] };
    let hours = (0..40).map(|half_hour| f64::from(half_hour) / 2.0);
    let measured: Vec<(f64, f64)> = hours
        .map(|hour| Ok((hour, truth.at(hour)?)))
        .collect::<Result<_, Growing>>()
        .map_err(Error::custom)?;

    // Only floats are leaves. As `f64` they hold both kinds; name and channel stay in the structure.
    let floats = Flattener::new().leaves_where(LeafKind::is_float);
    let start =
        Decays { offset: 0.0, parts: vec![part(30.0, 1.5), part(30.0, 0.3)], ..truth.clone() };
    let (numbers, treedef) = floats.flatten_as::<f64>(&start)?;
    println!("{treedef}");

    // A step has to be one that the leaf can hold: an `f32` rounds smaller ones away.
    let kinds = floats.signature(&start)?;
    println!("{kinds}");
    let steps: Vec<f64> =
        kinds.map(|kind| if kind == LeafKind::F32 { 1e-3 } else { 1e-6 }).into_parts().1;

    // The solver calls a typed function, whose own error comes back.
    let residuals = |numbers: &[f64]| -> Result<Vec<f64>, Box<dyn std::error::Error>> {
        Ok(unflatten::<Decays>(&treedef, numbers)?.residuals(&measured)?)
    };
    let fitted = fit(residuals, &steps, numbers.clone())?;
    let fitted: Decays = unflatten(&treedef, fitted)?;
    for (found, expected) in fitted.parts.iter().zip(&truth.parts) {
        println!("{:.3} · exp(-{:.4} t)", found.height, found.rate);
        assert!((found.height - expected.height).abs() < 0.1);
        assert!((found.rate - expected.rate).abs() < 1e-3);
    }
    assert_eq!((&*fitted.isotope, fitted.channel), ("Ba-137m", 3));

    let growing = treedef.node(".parts[0].rate")?.leaf_range().start;
    let mut numbers = numbers;
    numbers[growing] = -1.0;
    let error = residuals(&numbers).unwrap_err();
    println!("{error}");
    assert_eq!(error.downcast_ref(), Some(&Growing(-1.0)));
    Ok(())
}
