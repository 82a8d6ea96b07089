//! nuts-rs: draws of a model. The density is over the model, so the volume of the transforms is added.

use nuts_rs::rand::{SeedableRng, rngs::ChaCha8Rng};
use nuts_rs::{CpuMath, DiagNutsSettings, sample_sequentially};
use treedef_ecosystem_solvers::{Decay, Dual, LogDensity, derivatives, duals, parameters};

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let p = parameters()?;
    let log_density = LogDensity(p.len(), |x: &[f64], gradient: &mut [f64]| {
        let density = p.value_as::<Decay<Dual>>(&duals(x))?.loss() * -50.0; // errors of 0.1
        gradient.copy_from_slice(&derivatives(&density));
        Ok(density.re + p.log_jacobian(x, Some(gradient))?)
    });
    let settings = DiagNutsSettings { num_tune: 300, ..Default::default() };
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let math = CpuMath::new(log_density);
    let draws = sample_sequentially(math, settings, p.initial(), 1300, 0, &mut rng)?;
    let mut rates = Vec::new();
    for draw in draws.skip(300) {
        rates.push(p.value(&draw?.0)?.rate);
    }
    let mean = rates.iter().sum::<f64>() / 1000.0;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / 999.0;
    // The standard error by least squares, 0.1 (JᵀJ)^(-1/2), is 0.036.
    assert!(
        (mean - 0.7).abs() < 0.03 && (variance.sqrt() - 0.036).abs() < 0.01,
        "{mean} {variance}"
    );
    Ok(())
}
