//! nuts-rs: draws of a model. The density is over the model, so the volume of the transforms is added.

use nuts_rs::rand::{SeedableRng, rngs::ChaCha8Rng};
use nuts_rs::{CpuMath, DiagNutsSettings, sample_sequentially};
use treedef_ecosystem_solvers::{Decay, Dual, LogDensity, parameters};

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let p = parameters()?;
    let log_density = LogDensity(p.len(), |x: &[f64], gradient: &mut [f64]| {
        let density = |model: &Decay<Dual>| model.loss() * -50.0; // errors of 0.1
        let (density, slopes) = p.value_and_grad(density, x)?;
        gradient.copy_from_slice(&slopes);
        Ok(density + p.log_jacobian(x, Some(gradient))?)
    });
    let settings = DiagNutsSettings { num_tune: 300, ..Default::default() };
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let math = CpuMath::new(log_density);
    let draws = sample_sequentially(math, settings, p.initial(), 1300, 0, &mut rng)?;
    let (mut rates, mut diverging) = (Vec::new(), 0);
    for draw in draws.skip(300) {
        let (draw, progress) = draw?;
        rates.push(p.value(&draw)?.rate);
        diverging += u32::from(progress.diverging);
    }
    assert!(diverging < 10, "{diverging} of 1,000 draws diverged");
    let mean = rates.iter().sum::<f64>() / 1000.0;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / 999.0;
    // The standard error by least squares, 0.1 (JᵀJ)^(-1/2), is 0.036.
    assert!(
        (mean - 0.7).abs() < 0.03 && (variance.sqrt() - 0.036).abs() < 0.01,
        "{mean} {variance}"
    );
    Ok(())
}
