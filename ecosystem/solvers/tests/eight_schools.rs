//! Eight schools (Rubin 1981), not centred, by nuts-rs: the means of the posterior database of Stan, within
//! the Monte Carlo errors of both, and draws that are named by the paths of the model.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;

use num_dual::{DualNum, DualSVec64};
use nuts_rs::rand::SeedableRng;
use nuts_rs::rand::rngs::ChaCha8Rng;
use nuts_rs::{
    Chain, CpuLogpFunc, CpuMath, CpuMathError, DiagNutsSettings, HasDims, ItemType, Settings,
    Storable, Value, rand,
};
use serde::{Deserialize, Serialize};
use treedef_ecosystem_solvers::Refused;
use treedef_optim::{Dims, Parameters};

const EFFECTS: [f64; 8] = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
const ERRORS: [f64; 8] = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];

/// The posterior database of Stan, `eight_schools-eight_schools_noncentered`: means and their Monte
/// Carlo errors, of the effects of the schools, of mu and of tau.
const MEANS: [f64; 10] = [
    6.150_502, 4.939_581, 3.905_906, 4.796_017, 3.614_436, 4.051_148, 6.317_170, 4.883_997,
    4.410_518, 3.602_060,
];
const MEAN_ERRORS: [f64; 10] = [
    0.055_738, 0.046_229, 0.054_231, 0.047_494, 0.046_145, 0.048_520, 0.049_877, 0.054_251,
    0.033_037, 0.031_862,
];

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct Schools<D: Clone + 'static> {
    /// How far each school is from `mu`, in units of `tau`.
    #[serde(with = "treedef::object::vec")]
    away: Vec<D>,
    #[serde(with = "treedef::object")]
    mu: D,
    #[serde(with = "treedef::object")]
    tau: D,
}

impl<D: DualNum<Primitive = f64> + Copy> Schools<D> {
    fn effects(&self) -> impl Iterator<Item = D> + '_ {
        self.away.iter().map(|away| self.mu + self.tau * *away)
    }

    /// The logarithm of the posterior density, up to a constant. Tau has a half Cauchy prior.
    fn log_density(&self) -> D {
        let normal = |x: D, sigma: f64| (x / sigma).powi(2) * -0.5;
        let priors = self.away.iter().map(|away| normal(*away, 1.0)).sum::<D>()
            + normal(self.mu, 5.0)
            - ((self.tau / 5.0).powi(2) + 1.0).ln();
        let measured = EFFECTS.iter().zip(ERRORS);
        let errors = self.effects().zip(measured);
        errors.map(|(effect, (measured, error))| normal(effect - *measured, error)).sum::<D>()
            + priors
    }
}

type Dual = DualSVec64<10>;

struct Posterior {
    p: Parameters<Schools<f64>>,
    dims: Vec<Dims>,
}

impl HasDims for Posterior {
    fn dim_sizes(&self) -> HashMap<String, u64> {
        let sizes = self.dims.iter().flat_map(|dims| dims.shape.iter().map(|n| (&dims.name, n)));
        sizes.map(|(name, n)| (name.clone(), *n as u64)).collect()
    }
}

impl CpuLogpFunc for Posterior {
    type LogpError = Refused;
    type FlowParameters = ();
    type ExpandedVector = Draw;

    fn dim(&self) -> usize {
        self.p.len()
    }

    fn logp(&mut self, x: &[f64], gradient: &mut [f64]) -> Result<f64, Refused> {
        let density = |schools: &Schools<Dual>| schools.log_density();
        let (density, slopes) = self.p.value_and_grad(density, x)?;
        gradient.copy_from_slice(&slopes);
        Ok(density + self.p.log_jacobian(x, Some(gradient))?)
    }

    fn expand_vector<R: rand::Rng + ?Sized>(
        &mut self,
        _: &mut R,
        x: &[f64],
    ) -> Result<Draw, CpuMathError> {
        self.p.leaves(x).map(Draw).map_err(|error| CpuMathError::ExpandError(error.to_string()))
    }
}

/// The leaves of a model: what nuts-rs stores of it, by the names and the shapes of `dims`.
struct Draw(Vec<f64>);

impl Storable<Posterior> for Draw {
    fn names(posterior: &Posterior) -> Vec<&str> {
        posterior.dims.iter().map(|dims| &*dims.name).collect()
    }

    fn item_type(_: &Posterior, _: &str) -> ItemType {
        ItemType::F64
    }

    fn dims<'a>(posterior: &'a Posterior, item: &str) -> Vec<&'a str> {
        let dims = posterior.dims.iter().filter(|dims| dims.name == item);
        dims.flat_map(|dims| dims.shape.iter().map(|_| &*dims.name)).collect()
    }

    fn get_all<'a>(&'a mut self, posterior: &'a Posterior) -> Vec<(&'a str, Option<Value>)> {
        let value = |dims: &Dims| match dims.shape.is_empty() {
            true => Value::ScalarF64(self.0[dims.leaves.start]),
            false => Value::F64(self.0[dims.leaves.clone()].to_vec()),
        };
        posterior.dims.iter().map(|dims| (&*dims.name, Some(value(dims)))).collect()
    }
}

/// The mean, and its error by the means of batches.
fn mean_and_error(draws: &[f64]) -> (f64, f64) {
    let mean = |draws: &[f64]| draws.iter().sum::<f64>() / draws.len() as f64;
    let all = mean(draws);
    let batches: Vec<f64> = draws.chunks_exact(draws.len() / 40).map(mean).collect();
    let count = batches.len() as f64;
    let variance = batches.iter().map(|batch| (batch - all).powi(2)).sum::<f64>() / (count - 1.0);
    (all, (variance / count).sqrt())
}

#[test]
fn means_are_those_of_stan() -> Result<(), Box<dyn Error>> {
    let start = Schools { away: vec![0.0; 8], mu: 0.0, tau: 1.0 };
    let p = Parameters::new(&start)?.positive("tau")?;
    let settings = DiagNutsSettings { num_tune: 1000, ..Default::default() };
    let mut by_name: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut divergences = 0;
    for chain in 0..4 {
        let mut rng = ChaCha8Rng::seed_from_u64(chain);
        let posterior = Posterior { dims: p.dims(), p: p.clone() };
        let mut sampler = settings.new_chain(chain, CpuMath::new(posterior), &mut rng)?;
        sampler.set_position(p.initial())?;
        for at in 0..3500 {
            let (_, mut draw, _, progress) = sampler.expanded_draw()?;
            if at < 1000 {
                continue;
            }
            divergences += u32::from(progress.diverging);
            let math = sampler.math();
            let values = draw.get_all(&math);
            let names: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
            assert_eq!(names, [".away", ".mu", ".tau"]);
            let model =
                match values.into_iter().filter_map(|(_, value)| value).collect::<Vec<_>>()[..] {
                    [Value::F64(ref away), Value::ScalarF64(mu), Value::ScalarF64(tau)] => {
                        Schools { away: away.clone(), mu, tau }
                    }
                    ref other => panic!("{other:?}"),
                };
            for (school, effect) in model.effects().enumerate() {
                by_name.entry(format!(".effects[{school}]")).or_default().push(effect);
            }
            by_name.entry(".mu".to_owned()).or_default().push(model.mu);
            by_name.entry(".tau".to_owned()).or_default().push(model.tau);
        }
    }
    assert!(divergences < 50, "{divergences} of 10,000 draws diverged");
    for ((name, draws), (mean, error)) in by_name.iter().zip(MEANS.iter().zip(MEAN_ERRORS)) {
        let (found, own_error) = mean_and_error(draws);
        println!("{name:12} {found:7.3} ± {own_error:.3}, {mean:.3} ± {error:.3}");
        let both = own_error.hypot(error);
        assert!(
            own_error < 0.15 && (found - mean).abs() < 3.5 * both,
            "{name}: {found}, not {mean}"
        );
    }
    Ok(())
}
