//! A model struct ⇄ the flat vector that an optimiser wants.
//!
//! `cargo run -p cookbook --example parameters`

use argmin::core::{CostFunction, Error, Executor, Gradient, State};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;
use serde::{Deserialize, Serialize};
use treedef::{TreeDef, flatten_as, map, unflatten};

/// A network with one hidden layer, as its author writes it: nothing here knows of treedef but two attributes.
#[derive(Clone, Serialize, Deserialize)]
struct Network {
    #[serde(serialize_with = "treedef::as_static")]
    name: String,
    hidden: Vec<Neuron>,
    bias: f64,
}

#[derive(Clone, Serialize, Deserialize)]
struct Neuron {
    #[serde(serialize_with = "treedef::as_static")]
    activation: Activation,
    input: f64,
    bias: f64,
    output: f64,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum Activation {
    Tanh,
    Sine,
}

impl Network {
    fn predict(&self, x: f64) -> f64 {
        let neuron = |n: &Neuron| {
            let z = n.input * x + n.bias;
            n.output * if let Activation::Tanh = n.activation { z.tanh() } else { z.sin() }
        };
        self.hidden.iter().map(neuron).sum::<f64>() + self.bias
    }

    /// The mean squared error against x² on [-2, 2].
    fn loss(&self) -> f64 {
        let points = (-20..=20).map(|i| f64::from(i) / 10.0);
        points.map(|x| (self.predict(x) - x * x).powi(2)).sum::<f64>() / 41.0
    }
}

/// What argmin sees: a function of a `Vec<f64>`.
struct Problem {
    treedef: TreeDef,
}

impl CostFunction for Problem {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, parameters: &Vec<f64>) -> Result<f64, Error> {
        Ok(unflatten::<Network>(&self.treedef, parameters)?.loss())
    }
}

impl Gradient for Problem {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, parameters: &Vec<f64>) -> Result<Vec<f64>, Error> {
        let step = 1e-6;
        let mut moved = parameters.clone();
        let mut partial = |i: usize| -> Result<f64, Error> {
            moved[i] = parameters[i] + step;
            let above = self.cost(&moved)?;
            moved[i] = parameters[i] - step;
            let below = self.cost(&moved)?;
            moved[i] = parameters[i];
            Ok((above - below) / (2.0 * step))
        };
        (0..parameters.len()).map(&mut partial).collect()
    }
}

fn main() -> Result<(), Error> {
    let neuron = |i: i32| Neuron {
        activation: if i % 2 == 0 { Activation::Tanh } else { Activation::Sine },
        input: 1.0 + 0.1 * f64::from(i),
        bias: -0.5 * f64::from(i),
        output: 0.3,
    };
    let network =
        Network { name: "parabola".to_owned(), hidden: (0..4).map(neuron).collect(), bias: 0.0 };

    let (parameters, treedef) = flatten_as::<f64>(&network)?;
    println!("{treedef:#}\n\n{} parameters, loss {:.6}", parameters.len(), network.loss());

    let mut trained = parameters;
    for _ in 0..5 {
        let solver = LBFGS::new(MoreThuenteLineSearch::new(), 7);
        let problem = Problem { treedef: treedef.clone() };
        let run = Executor::new(problem, solver)
            .configure(|state| state.param(trained).max_iters(10))
            .run()?;
        trained = run.state().get_best_param().cloned().unwrap_or_default();
        println!("after 10 iterations more: loss {:.6}", run.state().get_best_cost());
    }

    // The vector becomes the model again, name and activations included.
    let trained: Network = unflatten(&treedef, trained)?;
    assert_eq!(trained.name, "parabola");
    assert!(trained.loss() < network.loss() / 100.0);
    println!("\n{}(1.5) = {:.3}, and 1.5² is 2.25", trained.name, trained.predict(1.5));

    // Without an optimiser: a function of every parameter.
    let pruned = map(&trained, |x: f64| if x.abs() < 0.5 { 0.0 } else { x })?;
    println!("small parameters set to zero: loss {:.6}", pruned.loss());
    Ok(())
}
