//! Transformations of typed functions: `vmap` with a prefix that says what is batched, and learning rates by pattern.
//!
//! ```sh
//! cargo run --example transforms
//! ```

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef::{Result, Tree, TreeDef, flatten_as, unflatten};

#[derive(Serialize, Deserialize)]
struct Model {
    layers: Vec<Layer>,
}

#[derive(Serialize, Deserialize)]
struct Layer {
    w: Vec<Vec<f64>>,
    b: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct Sample {
    x: [f64; 2],
    y: f64,
}

impl Model {
    fn predict(&self, x: &[f64]) -> f64 {
        self.layers.iter().fold(x.to_vec(), |x, layer| layer.apply(&x))[0]
    }
}

impl Layer {
    fn apply(&self, x: &[f64]) -> Vec<f64> {
        let dot = |row: &Vec<f64>| row.iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
        self.w.iter().zip(&self.b).map(|(row, b)| (dot(row) + b).tanh()).collect()
    }
}

/// The error of one sample: the code knows nothing of batches.
fn error((model, sample): (Model, Sample)) -> f64 {
    (model.predict(&sample.x) - sample.y).powi(2)
}

/// A function of many inputs at once out of one of a single input, as `jax.vmap`. Where `batched` says so, a leaf has an element
/// for every input; elsewhere its only element is that of all. One leaf of `batched` may stand for a whole argument.
fn vmap<A: DeserializeOwned, B: Serialize>(
    f: impl Fn(A) -> B,
    batched: &Tree<bool>,
    inputs: &Tree<Vec<f64>>,
) -> Result<Tree<Vec<f64>>> {
    let batched = batched.broadcast_to(inputs.treedef())?;
    let columns = inputs.as_ref().zip(batched)?;
    let size =
        columns.leaves().iter().filter(|(_, batched)| *batched).map(|(column, _)| column.len());
    let outputs = (0..size.min().unwrap_or(1)).map(|row| {
        let input =
            columns.as_ref().map(|(column, batched)| column[if *batched { row } else { 0 }]);
        let (leaves, treedef) = flatten_as::<f64>(&f(input.into_typed()?))?;
        Tree::new(treedef, leaves)
    });
    Tree::stack(outputs.collect::<Result<Vec<_>>>()?)
}

fn main() -> Result<()> {
    let model = Model {
        layers: vec![
            Layer {
                w: vec![vec![0.9, -0.6], vec![-0.7, 0.8], vec![0.5, 0.4]],
                b: vec![0.1, -0.1, 0.2],
            },
            Layer { w: vec![vec![0.6, 0.7, -0.5]], b: vec![0.0] },
        ],
    };
    let xor = [([-1.0, -1.0], -1.0), ([-1.0, 1.0], 1.0), ([1.0, -1.0], 1.0), ([1.0, 1.0], -1.0)];
    let samples = xor.map(|(x, y)| {
        let (leaves, treedef) = flatten_as::<f64>(&Sample { x, y })?;
        Tree::new(treedef, leaves)
    });
    let batch = Tree::stack(samples.into_iter().collect::<Result<Vec<_>>>()?)?;
    println!("a batch: {}", batch.as_ref().map(|column| format!("{column:?}")));

    // The model is that of all samples: the first of two leaves stands for all of it.
    let pair: TreeDef = "(*, *)".parse()?;
    let batched = Tree::new(pair.clone(), vec![false, true])?;
    let loss = |treedef: &TreeDef, parameters: &[f64]| -> Result<f64> {
        let model = Tree::new(treedef.clone(), parameters.iter().map(|p| vec![*p]).collect())?;
        let inputs = Tree::new(pair.clone(), vec![model, batch.clone()])?.compose()?;
        let errors = vmap(error, &batched, &inputs)?;
        Ok(errors.leaves()[0].iter().sum::<f64>() / 4.0)
    };

    // The biases of the last layer are frozen, the others learn slowly.
    let (mut parameters, treedef) = flatten_as::<f64>(&model)?;
    let mut rates = Tree::leaf(0.4).broadcast_to(&treedef)?;
    rates.select_mut("**.b[*]")?.for_each(|(_, rate)| *rate = 0.1);
    rates.select_mut("layers[1].b[*]")?.for_each(|(_, rate)| *rate = 0.0);
    println!("rates: {rates:#}");

    let before = loss(&treedef, &parameters)?;
    for _ in 0..400 {
        let mut gradient = Vec::with_capacity(parameters.len());
        for at in 0..parameters.len() {
            let mut shifted = parameters.clone();
            shifted[at] += 1e-6;
            let up = loss(&treedef, &shifted)?;
            shifted[at] -= 2e-6;
            gradient.push((up - loss(&treedef, &shifted)?) / 2e-6);
        }
        let gradient = Tree::new(treedef.clone(), gradient)?;
        let steps = gradient.zip_with(rates.clone(), |slope, rate| slope * rate)?;
        parameters.iter_mut().zip(steps.leaves()).for_each(|(p, step)| *p -= step);
    }
    let after = loss(&treedef, &parameters)?;
    println!("the mean error went from {before:.3} to {after:.3}");
    assert!(after < 0.05, "{after}");

    let trained: Model = unflatten(&treedef, &parameters)?;
    for (x, y) in xor {
        println!("{x:?} → {:+.2}, wanted {y:+}", trained.predict(&x));
    }
    assert_eq!(trained.layers[1].b, [0.0]);

    // What does not fit is named.
    let error = vmap(
        error,
        &Tree::new("(*, *, *)".parse()?, vec![true; 3])?,
        &Tree::new(pair, vec![vec![0.0]; 2])?,
    );
    println!("three for two: {}", error.unwrap_err());
    Ok(())
}
