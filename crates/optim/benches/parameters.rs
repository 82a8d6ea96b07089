//! `cargo bench --bench parameters --features in_place`: what a solver pays for `Parameters`, beside
//! `unflatten` of the same numbers. Each figure is the least of rounds that take turns.

mod turns;

use std::hint::black_box;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef::{Flattener, LeafKind, unflatten};
use treedef_optim::Parameters;

use turns::{Result, least};

#[derive(Clone, Serialize, Deserialize)]
struct Ten {
    a: f64,
    b: f64,
    c: f64,
    d: f64,
    e: f64,
    f: f64,
    g: f64,
    h: f64,
    i: f64,
    j: f64,
}

#[derive(Clone, Serialize, Deserialize)]
struct Layer {
    w: [f64; 4],
    b: f64,
}

fn main() -> Result {
    let ten = Ten { a: 1., b: 2., c: 3., d: 4., e: 5., f: 6., g: 7., h: 8., i: 9., j: 10. };
    println!("| model | unflatten | value | all positive | value_into | gradient |");
    println!("|---|---|---|---|---|---|");
    row("30 numbers in a `Vec`", 20_000, &vec![1.5; 30])?;
    row("ten triples", 20_000, &[(1.0, 2.0, 3.0); 10])?;
    row("three structs of ten fields", 20_000, &[ten.clone(), ten.clone(), ten])?;
    row("six structs with arrays", 20_000, &vec![Layer { w: [0.5; 4], b: 0.1 }; 6])?;
    row("10⁶ numbers in a `Vec`", 3, &vec![1.5; 1_000_000])?;
    row("10⁶ numbers in structs with arrays", 3, &vec![Layer { w: [0.5; 4], b: 0.1 }; 200_000])
}

/// A line of the table: nanoseconds for small models, milliseconds for large ones.
fn row<T: Serialize + DeserializeOwned + Clone>(what: &str, times: usize, model: &T) -> Result {
    let free = Parameters::new(model)?;
    let positive = free.clone().positive("**")?;
    let floats = Flattener::new().leaves_where(LeafKind::is_float);
    let (leaves, treedef) = floats.flatten_as::<f64>(model)?;
    let moved: Vec<f64> = positive.initial().iter().map(|x| x + 0.5).collect();
    let mut into = model.clone();
    let least = least(
        9,
        times,
        [
            &mut || unused(unflatten::<T>(&treedef, black_box(&leaves[..]))),
            &mut || unused(free.value(black_box(&leaves))),
            &mut || unused(positive.value(black_box(&moved))),
            &mut || unused(free.value_into(black_box(&leaves), &mut into)),
            &mut || unused(positive.gradient(black_box(&moved), model)),
        ],
    )?;
    let shown = least.map(|time| match times {
        1_000.. => format!("{time:.0} ns"),
        _ => format!("{:.2} ms", time / 1e6),
    });
    println!("| {what} | {} |", shown.join(" | "));
    Ok(())
}

/// A result that the compiler cannot leave out.
fn unused<T>(result: std::result::Result<T, impl std::error::Error + 'static>) -> Result {
    black_box(result?);
    Ok(())
}
