//! Models of dual numbers.

use num_dual::DualNum;
use serde::de::DeserializeOwned;
use treedef::unflatten_objects;

use super::differentiable::Differentiable;
use super::error::Result;
use super::plan::Plan;

/// A dual number as a [`Differentiable`]: `f64` is one to both, so it needs a type of its own.
#[derive(Clone)]
struct Differentiated<D>(D);

impl<D: DualNum<Primitive = f64>> Differentiable for Differentiated<D> {
    fn of(value: f64) -> Self {
        Differentiated(D::from(value))
    }

    fn real(&self) -> f64 {
        self.0.re()
    }

    fn plus(self, other: Self) -> Self {
        Differentiated(self.0 + other.0)
    }

    fn times(self, other: Self) -> Self {
        Differentiated(self.0 * other.0)
    }

    fn exp(self) -> Self {
        Differentiated(self.0.exp())
    }

    fn ln_1p(self) -> Self {
        Differentiated(self.0.ln_1p())
    }

    fn recip(self) -> Self {
        Differentiated(self.0.recip())
    }
}

impl Plan {
    pub(super) fn value_as<U: DeserializeOwned, D: DualNum<Primitive = f64> + 'static>(
        &self,
        x: &[D],
    ) -> Result<U> {
        // The same errors as without derivatives.
        let real: Vec<f64> = x.iter().map(D::re).collect();
        self.with_leaves(&real, |_| Ok(()))?;
        let x: Vec<Differentiated<D>> = x.iter().cloned().map(Differentiated).collect();
        let leaves = self.leaves_as(&x).into_iter().map(|leaf| leaf.0).collect();
        Ok(unflatten_objects(&self.treedef, leaves)?)
    }
}
