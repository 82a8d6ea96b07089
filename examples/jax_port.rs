//! A script of JAX, line by line: `tree.map`, `vmap` with `in_axes`, and the state of an optimiser.
//!
//! ```sh
//! cargo run --example jax_port
//! ```
//!
//! ```python
//! params = {"w": jnp.array([0.0, 0.0]), "b": 0.0}
//!
//! def loss(params, x, y):
//!     return (params["w"] @ x + params["b"] - y) ** 2
//!
//! def batch_loss(params, xs, ys):
//!     return vmap(loss, in_axes=(None, 0, 0))(params, xs, ys).mean()
//!
//! m = v = jax.tree.map(jnp.zeros_like, params)
//! for step in range(1, 401):
//!     grads = jax.grad(batch_loss)(params, xs, ys)
//!     m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
//!     v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g ** 2, v, grads)
//!     m_hat = jax.tree.map(lambda m: m / (1 - 0.9 ** step), m)
//!     v_hat = jax.tree.map(lambda v: v / (1 - 0.99 ** step), v)
//!     params = jax.tree.map(lambda p, m, v: p - 0.05 * m / (jnp.sqrt(v) + 1e-8), params, m_hat, v_hat)
//! ```

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef::{Flattener, Leaf, Result, Tree, TreeDef};

#[derive(Debug, Serialize, Deserialize)]
struct Params {
    w: [f64; 2],
    b: f64,
}

fn loss((params, x, y): (Params, [f64; 2], f64)) -> f64 {
    let predicted = params.w[0] * x[0] + params.w[1] * x[1] + params.b;
    (predicted - y).powi(2)
}

/// Calls `f` once for each row of the arguments that have an axis in `in_axes`. A `None` there stands for a whole argument,
/// which is the same in all calls.
fn vmap<A: DeserializeOwned>(
    f: impl Fn(A) -> f64,
    in_axes: &impl Serialize,
    args: &Tree<Vec<f64>>,
) -> Result<Vec<f64>> {
    // `None` is a leaf here, as for JAX in this one place, so that it may stand for a subtree.
    let axes = Flattener::new().none_is_leaf(true).tree(in_axes)?.broadcast_to(args.treedef())?;
    let columns = args.as_ref().zip(axes)?;
    let mapped = columns.leaves().iter().filter(|(_, axis)| *axis != Leaf::None);
    let rows = mapped.map(|(column, _)| column.len()).min().unwrap_or(1);
    let call = |row: usize| {
        let one = columns.as_ref().map(|(column, axis)| match axis {
            Leaf::None => column[0],
            _ => column[row],
        });
        Ok(f(one.into_typed()?))
    };
    (0..rows).map(call).collect()
}

/// `jax.grad`, by differences.
fn grad(f: impl Fn(&Tree<f64>) -> Result<f64>, at: &Tree<f64>) -> Result<Tree<f64>> {
    let mut slopes = at.clone();
    for index in 0..at.leaves().len() {
        let shifted = |by: f64| {
            let mut at = at.clone();
            at.leaves_mut()[index] += by;
            f(&at)
        };
        slopes.leaves_mut()[index] = (shifted(1e-6)? - shifted(-1e-6)?) / 2e-6;
    }
    Ok(slopes)
}

fn main() -> Result<()> {
    let mut params = Tree::<f64>::of_as(&Params { w: [0.0; 2], b: 0.0 })?;

    // y = 2 x₀ - x₁ + 0.5. A batch has a column where a sample has a number.
    let xs: Vec<[f64; 2]> = (0..16).map(|i| [f64::from(i % 4), f64::from(i / 4)]).collect();
    let column = |f: &dyn Fn(&[f64; 2]) -> f64| xs.iter().map(f).collect::<Vec<_>>();
    let (x0, x1) = (column(&|x| x[0]), column(&|x| x[1]));
    let ys = column(&|x| 2.0 * x[0] - x[1] + 0.5);
    let batch = [Tree::new("(*, *)".parse()?, vec![x0, x1])?, Tree::leaf(ys)];

    let args: TreeDef = "(*, *, *)".parse()?;
    let batch_loss = |params: &Tree<f64>| -> Result<f64> {
        let params = params.clone().map(|number| vec![number]);
        let [xs, ys] = batch.clone();
        let args = Tree::new(args.clone(), vec![params, xs, ys])?.compose()?;
        let losses = vmap(loss, &(None::<u8>, 0, 0), &args)?;
        Ok(losses.iter().sum::<f64>() / losses.len() as f64)
    };

    let before = batch_loss(&params)?;
    let zeros = params.clone().map(|_| 0.0);
    let (mut m, mut v) = (zeros.clone(), zeros);
    for step in 1..=400 {
        let grads = grad(batch_loss, &params)?;
        m = m.zip_with(grads.clone(), |m, g| 0.9 * m + 0.1 * g)?;
        v = v.zip_with(grads, |v, g| 0.99 * v + 0.01 * g * g)?;
        let m_hat = m.clone().map(|m| m / (1.0 - 0.9f64.powi(step)));
        let v_hat = v.clone().map(|v| v / (1.0 - 0.99f64.powi(step)));
        let moments = m_hat.zip(v_hat)?;
        params = params.zip_with(moments, |p, (m, v)| p - 0.05 * m / (v.sqrt() + 1e-8))?;
    }
    let after = batch_loss(&params)?;
    println!("{before:.4} → {after:.6}: {params}");
    assert!(after < 1e-3, "{after}");

    // The state is of the structure of the parameters, so it has the same paths.
    assert_eq!(m.treedef(), params.treedef());
    println!("v at `.w.1`: {:.2e}", v.get(".w.1")?);
    let params: Params = params.into_typed()?;
    assert!((params.w[0] - 2.0).abs() < 0.05 && (params.b - 0.5).abs() < 0.1);

    // What does not fit is named.
    let too_few = vmap(loss, &(None::<u8>, 0), &Tree::new(args, vec![vec![0.0]; 3])?);
    let error = too_few.unwrap_err();
    println!("in_axes of two for three: {error}");
    assert!(error.to_string().starts_with("the prefix has 2 children, the tree 3"), "{error}");
    Ok(())
}
