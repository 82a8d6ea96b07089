//! diffsol: the parameters of a differential equation are a struct, in the order of its leaves.

use diffsol::{MatrixCommon, NalgebraMat, OdeBuilder, OdeSolverMethod};
use serde::{Deserialize, Serialize};
use treedef_optim::Parameters;

#[derive(Serialize, Deserialize)]
struct Lotka {
    hares: Species,
    foxes: Species,
}

#[derive(Serialize, Deserialize)]
struct Species {
    growth: f64,
    loss: f64,
}

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let hares = Species { growth: 2.0 / 3.0, loss: 4.0 / 3.0 };
    let model = Lotka { hares, foxes: Species { growth: 1.0, loss: 1.0 } };
    let p = Parameters::new(&model)?.positive("**")?;
    assert_eq!(p.leaf_names(), [".hares.growth", ".hares.loss", ".foxes.growth", ".foxes.loss"]);

    let problem = OdeBuilder::<NalgebraMat<f64>>::new()
        .p(p.leaves(p.initial())?) // for a fit: the `x` of the solver
        .rhs(|y, p, _t, dy| {
            dy[0] = y[0] * (p[0] - p[1] * y[1]);
            dy[1] = y[1] * (p[2] * y[0] - p[3]);
        })
        .init(|_p, _t, y| y.iter_mut().for_each(|y| *y = 1.0), 2)
        .build()?;
    let (ys, _ts, _) = problem.tsit45()?.solve(5.0)?;
    let [hares, foxes] = [0, 1].map(|row| ys[(row, ys.ncols() - 1)]);
    // It is 7/3 along the solution.
    let constant = hares - hares.ln() + 4.0 / 3.0 * foxes - 2.0 / 3.0 * foxes.ln();
    assert!((constant - 7.0 / 3.0).abs() < 1e-3, "{constant}");
    Ok(())
}
