//! A solver that knows only arrays of doubles, as one in C would, and the typed system that it solves.
//!
//! ```sh
//! cargo run --example adapter
//! ```

use serde::{Deserialize, Serialize};
use treedef::{Result, flatten_as, unflatten};

/// One step of the classical Runge–Kutta method: `y` becomes what it is after `h`, `f` writes its derivative.
fn rk4(f: &mut dyn FnMut(&[f64], &mut [f64]), y: &mut [f64], h: f64) {
    let n = y.len();
    let mut slopes = vec![vec![0.0; n]; 4];
    for stage in 0..4 {
        let ahead = [0.0, h / 2.0, h / 2.0, h][stage];
        let at: Vec<f64> = match stage {
            0 => y.to_vec(),
            _ => y.iter().zip(&slopes[stage - 1]).map(|(y, k)| y + ahead * k).collect(),
        };
        f(&at, &mut slopes[stage]);
    }
    for i in 0..n {
        y[i] += h / 6.0 * (slopes[0][i] + 2.0 * slopes[1][i] + 2.0 * slopes[2][i] + slopes[3][i]);
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Body {
    /// A constant: it travels in the structure, and the solver never sees it.
    #[serde(serialize_with = "treedef::as_static")]
    mass: f64,
    #[serde(serialize_with = "treedef::as_static")]
    name: String,
    position: [f64; 2],
    velocity: [f64; 2],
}

/// How fast everything changes: the same types, other numbers.
fn derivative(bodies: Vec<Body>) -> Vec<Body> {
    let pull = |of: &Body| {
        bodies.iter().filter(|other| other.name != of.name).fold([0.0, 0.0], |pull, other| {
            let apart = [0, 1].map(|axis| other.position[axis] - of.position[axis]);
            let distance = apart[0].hypot(apart[1]);
            [0, 1].map(|axis| pull[axis] + other.mass * apart[axis] / distance.powi(3))
        })
    };
    bodies
        .iter()
        .map(|body| Body { position: body.velocity, velocity: pull(body), ..body.clone() })
        .collect()
}

fn energy(bodies: &[Body]) -> f64 {
    let moving = |body: &Body| body.mass * body.velocity.iter().map(|v| v * v).sum::<f64>() / 2.0;
    let mut total: f64 = bodies.iter().map(moving).sum();
    for (i, a) in bodies.iter().enumerate() {
        for b in &bodies[i + 1..] {
            total -= a.mass * b.mass
                / (a.position[0] - b.position[0]).hypot(a.position[1] - b.position[1]);
        }
    }
    total
}

fn main() -> Result<()> {
    let body = |name: &str, mass, x, speed| Body {
        name: name.to_owned(),
        mass,
        position: [x, 0.0],
        velocity: [0.0, speed],
    };
    let system = vec![
        body("sun", 1.0, 0.0, 0.0),
        body("earth", 3e-6, 1.0, 1.0),
        body("mars", 3e-7, 1.524, 0.81),
    ];

    let (mut state, treedef) = flatten_as::<f64>(&system)?;
    println!("in:  {treedef}");
    println!("the solver gets {} doubles", state.len());

    // From doubles to doubles; a derivative of another structure is an error.
    let mut slopes = Vec::new();
    let mut flat = |y: &[f64], slope: &mut [f64]| -> Result<()> {
        treedef.flatten_like(&derivative(unflatten(&treedef, y)?), &mut slopes)?;
        slope.copy_from_slice(&slopes); // as many as the treedef has leaves
        Ok(())
    };

    let mut failed = None;
    let year = std::f64::consts::TAU;
    for _ in 0..1000 {
        let mut f = |y: &[f64], slope: &mut [f64]| failed = flat(y, slope).err().or(failed.take());
        rk4(&mut f, &mut state, year / 1000.0);
    }
    assert!(failed.is_none());

    let after: Vec<Body> = unflatten(&treedef, &state)?;
    for body in &after {
        println!("{:>5} at {:+.3?}", body.name, body.position);
    }
    let drift = (energy(&after) / energy(&system) - 1.0).abs();
    println!("after a year the energy is off by {drift:.1e}");
    assert!(drift < 1e-9);
    assert!((after[1].position[0] - 1.0).abs() < 1e-2, "the earth is back");

    // What has another structure, or another constant, is refused, and where.
    let heavier = vec![
        body("sun", 2.0, 0.0, 0.0),
        body("earth", 3e-6, 1.0, 1.0),
        body("mars", 3e-7, 1.524, 0.81),
    ];
    println!("another sun: {}", treedef.flatten_like(&heavier, &mut state).unwrap_err());
    let (fewer, _) = flatten_as::<f64>(&heavier[1..].to_vec())?;
    println!("two bodies:  {}", flat(&fewer, &mut []).unwrap_err());
    Ok(())
}
