//! Requests that arrive one by one, answered by a kernel that wants columns: stack, run, unstack.
//!
//! ```sh
//! cargo run --example batching
//! ```

use serde::{Deserialize, Serialize};
use treedef::{Result, Tree, flatten_as, structure};

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Contract {
    spot: f64,
    strike: f64,
    market: Market,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Market {
    rate: f64,
    volatility: f64,
    years: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Price {
    call: f64,
    put: f64,
}

/// Prices a column of contracts at once, by Black and Scholes: a loop over flat arrays that a compiler makes vector code of.
fn price(
    spot: &[f64],
    strike: &[f64],
    rate: &[f64],
    volatility: &[f64],
    years: &[f64],
) -> [Vec<f64>; 2] {
    // A logistic function close to the normal distribution.
    let normal = |x: f64| 1.0 / (1.0 + (-1.5976 * x - 0.070_565_992 * x.powi(3)).exp());
    let (mut calls, mut puts) = (Vec::new(), Vec::new());
    for i in 0..spot.len() {
        let spread = volatility[i] * years[i].sqrt();
        let drift = (rate[i] + volatility[i] * volatility[i] / 2.0) * years[i];
        let d = ((spot[i] / strike[i]).ln() + drift) / spread;
        let discounted = strike[i] * (-rate[i] * years[i]).exp();
        let call = spot[i] * normal(d) - discounted * normal(d - spread);
        calls.push(call);
        puts.push(call - spot[i] + discounted);
    }
    [calls, puts]
}

/// A value as a tree of numbers.
fn tree(value: &impl Serialize) -> Result<Tree<f64>> {
    let (leaves, treedef) = flatten_as(value)?;
    Tree::new(treedef, leaves)
}

/// Any number of requests through one call of the kernel.
fn answer(requests: &[Contract]) -> Result<Vec<Price>> {
    // Who asks the same gets the same answer; it is computed once.
    let asked = Tree::new(format!("[*; {}]", requests.len().max(1)).parse()?, requests.to_vec())?;
    let unique = asked.unique_by(|request| format!("{request:?}"));

    // An array of structs becomes a struct of arrays.
    let batch = Tree::stack(unique.leaves.iter().map(tree).collect::<Result<Vec<_>>>()?)?;
    let column = |path: &str| batch.get(path).map(Vec::as_slice);
    let [call, put] = price(
        column(".spot")?,
        column(".strike")?,
        column(".market.rate")?,
        column(".market.volatility")?,
        column(".market.years")?,
    );

    // And the answer an array of structs again.
    let answers =
        Tree::new(structure(&Price { call: 0.0, put: 0.0 })?, vec![call, put])?.unstack()?;
    let answers = answers.into_iter().map(Tree::into_typed).collect::<Result<Vec<Price>>>()?;
    Ok(unique.rebuild(&answers)?.into_parts().1)
}

fn main() -> Result<()> {
    let market = Market { rate: 0.05, volatility: 0.2, years: 1.0 };
    let contract = |strike| Contract { spot: 100.0, strike, market: market.clone() };
    let requests: Vec<Contract> = [90.0, 100.0, 110.0, 100.0].map(contract).to_vec();

    let prices = answer(&requests)?;
    for (request, price) in requests.iter().zip(&prices) {
        println!(
            "strike {:>5.1}: call {:>6.2}, put {:>6.2}",
            request.strike, price.call, price.put
        );
    }
    assert_eq!(prices[1], prices[3]);

    // One by one it is the same.
    let alone: Vec<Price> = requests
        .iter()
        .map(|request| Ok(answer(std::slice::from_ref(request))?.remove(0)))
        .collect::<Result<_>>()?;
    Tree::of(&prices)?.check_close(&Tree::of(&alone)?, Default::default())?;

    // Requests of other shapes do not go together, and the error says why.
    let odd = tree(&(100.0, 90.0))?;
    println!("mixed: {}", Tree::stack([tree(&requests[0])?, odd]).unwrap_err());
    Ok(())
}
