//! A chain of springs: typed structs in Rust, pytrees in Python.

use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use treedef_python::{PyTreeDef, Reader, Rules, detached, flat_to_python, to_python_like};

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Params {
    stiffness: f64,
    hardening: f64,
}

#[derive(Serialize, Deserialize)]
struct State {
    position: Vec<[f64; 3]>,
    velocity: Vec<[f64; 3]>,
}

/// `k / 2` times the squares of the distances, and `a / 4` times the fourth powers of positions.
fn energy_of(params: Params, position: &[[f64; 3]]) -> f64 {
    let mut energy = 0.0;
    for (i, x) in position.iter().enumerate() {
        energy += params.hardening / 4.0 * square(x).powi(2);
        if let Some(next) = position.get(i + 1) {
            energy += params.stiffness / 2.0 * square(&difference(next, x));
        }
    }
    energy
}

/// The derivatives by the parameters and the positions.
fn gradient_of(params: Params, position: &[[f64; 3]]) -> (Params, Vec<[f64; 3]>) {
    let mut by_params = Params { stiffness: 0.0, hardening: 0.0 };
    let mut by_position = vec![[0.0; 3]; position.len()];
    for (i, x) in position.iter().enumerate() {
        by_params.hardening += square(x).powi(2) / 4.0;
        for (d, x_d) in x.iter().enumerate() {
            by_position[i][d] += params.hardening * square(x) * x_d;
        }
        if let Some(next) = position.get(i + 1) {
            let apart = difference(next, x);
            by_params.stiffness += square(&apart) / 2.0;
            for (d, apart) in apart.iter().enumerate() {
                by_position[i][d] -= params.stiffness * apart;
                by_position[i + 1][d] += params.stiffness * apart;
            }
        }
    }
    (by_params, by_position)
}

fn square(x: &[f64; 3]) -> f64 {
    x.iter().map(|x| x * x).sum()
}

fn difference(a: &[f64; 3], b: &[f64; 3]) -> [f64; 3] {
    std::array::from_fn(|d| a[d] - b[d])
}

/// The energy of positions.
#[pyfunction]
fn energy(py: Python<'_>, params: &Bound<'_, PyAny>, position: &Bound<'_, PyAny>) -> PyResult<f64> {
    let params: Params = Reader::new().name("params").read(params)?;
    let position: Vec<[f64; 3]> = Reader::new().name("position").read(position)?;
    Ok(detached(py, || energy_of(params, &position))?)
}

/// Its gradient, as pytrees like the arguments.
#[pyfunction]
fn energy_grad<'py>(
    py: Python<'py>,
    params: &Bound<'py, PyAny>,
    position: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let at: Params = Reader::new().name("params").read(params)?;
    let x: Vec<[f64; 3]> = Reader::new().name("position").read(position)?;
    let (by_params, by_position) = detached(py, || gradient_of(at, &x))?;
    let by_params = to_python_like(py, &by_params, params)?;
    Ok((by_params, to_python_like(py, &by_position, position)?))
}

/// Some steps in time. The result is a pytree like the state.
#[pyfunction]
fn simulate<'py>(
    py: Python<'py>,
    params: &Bound<'py, PyAny>,
    state: &Bound<'py, PyAny>,
    steps: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let params: Params = Reader::new().name("params").read(params)?;
    let mut moving: State = Reader::new().name("state").read(state)?;
    detached(py, || {
        assert_eq!(moving.position.len(), moving.velocity.len(), "one velocity for each position");
        for _ in 0..steps {
            let (_, force) = gradient_of(params, &moving.position);
            for ((x, v), f) in moving.position.iter_mut().zip(&mut moving.velocity).zip(force) {
                for d in 0..3 {
                    v[d] -= 0.01 * f[d];
                    x[d] += 0.01 * v[d];
                }
            }
        }
    })?;
    Ok(to_python_like(py, &moving, state)?)
}

/// Scales a pytree of any structure so that the norm of all its numbers is at most this, as
/// `optax.clip_by_global_norm`.
#[pyfunction]
fn clip<'py>(
    py: Python<'py>,
    tree: &Bound<'py, PyAny>,
    most: f64,
) -> PyResult<(Bound<'py, PyAny>, PyTreeDef)> {
    let reader = Reader::new().name("tree").convert_numbers(true);
    let (mut numbers, treedef) = reader.read_flat::<f64>(tree, Rules::Jax)?;
    let norm = numbers.iter().map(|x| x * x).sum::<f64>().sqrt();
    if norm > most {
        numbers.iter_mut().for_each(|x| *x *= most / norm);
    }
    Ok((flat_to_python(py, &numbers, tree, Rules::Jax)?, treedef))
}

#[pymodule]
fn engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(energy, module)?)?;
    module.add_function(wrap_pyfunction!(energy_grad, module)?)?;
    module.add_function(wrap_pyfunction!(simulate, module)?)?;
    module.add_function(wrap_pyfunction!(clip, module)?)?;
    PyTreeDef::add_to(module)
}
