//! Models of dual numbers, and the derivatives of functions of them.

use std::any::Any;
use std::iter;
use std::ops::Range;

use num_dual::{Dual2_64, Dual3_64, Dual64, DualNum, HyperDual64, HyperHyperDual64};
use serde::Serialize;
use serde::de::DeserializeOwned;
use treedef::__private::OrBug;
use treedef::{TreeDef, flatten_as, unflatten, unflatten_objects};

use super::differentiable::Differentiable;
use super::error::{Error, Result};
use super::plan::Plan;
use crate::composed::composed;
use crate::dual::{Dual, Hessian};

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

/// How far a derivative is looked for beside a number that has none.
const NEARBY: f64 = 1e-6;

/// Numbers in their serialized form, and the structure of one of them. `None` for types without serde.
#[allow(clippy::ptr_arg, reason = "only a type with a size is `Any`")]
fn written<D: 'static>(numbers: &Vec<D>) -> Option<treedef::Result<(Vec<f64>, TreeDef)>> {
    fn floats<D: Serialize>(numbers: &[D]) -> treedef::Result<(Vec<f64>, TreeDef)> {
        let structure = match numbers.first() {
            Some(number) => flatten_as::<f64>(number)?.1,
            None => TreeDef::leaf(),
        };
        Ok((flatten_as::<f64>(numbers)?.0, structure))
    }
    macro_rules! of_types {
        ($($type:ty)*) => {
            $(if let Some(numbers) = (numbers as &dyn Any).downcast_ref::<Vec<$type>>() {
                return Some(floats(numbers));
            })*
        };
    }
    of_types! { f64 Dual64 Dual2_64 Dual3_64 HyperDual64 HyperHyperDual64 }
    None
}

/// How a type takes the numbers of a model.
enum Taking {
    AsObjects,
    /// As several floats each: the structure of the whole model.
    Written(TreeDef),
}

impl Plan {
    pub(super) fn value_as<U: DeserializeOwned, D: DualNum<Primitive = f64> + 'static>(
        &self,
        x: &[D],
    ) -> Result<U> {
        self.expect_valid(&x.iter().map(D::re).collect::<Vec<_>>())?;
        Ok(self.begun(x)?.1)
    }

    /// The same errors as without derivatives.
    fn expect_valid(&self, x: &[f64]) -> Result<()> {
        self.with_leaves(x, |_| Ok(()))
    }

    /// The first model of a type, and how the type takes numbers.
    fn begun<U: DeserializeOwned, D: DualNum<Primitive = f64> + 'static>(
        &self,
        x: &[D],
    ) -> Result<(Taking, U)> {
        let structure = match written(&self.duals(x)) {
            Some(written) => composed(&self.treedef, &written?.1)?,
            None => return Ok((Taking::AsObjects, self.model(&Taking::AsObjects, x)?)),
        };
        let written = Taking::Written(structure);
        let (first, second) =
            if self.objects { (Taking::AsObjects, written) } else { (written, Taking::AsObjects) };
        match self.model(&first, x) {
            Ok(model) => Ok((first, model)),
            // If both fail, the first error is about the form that the model has.
            Err(error) => match self.model(&second, x) {
                Ok(model) => Ok((second, model)),
                Err(_) => Err(error),
            },
        }
    }

    fn duals<D: DualNum<Primitive = f64> + 'static>(&self, x: &[D]) -> Vec<D> {
        let x: Vec<Differentiated<D>> = x.iter().cloned().map(Differentiated).collect();
        self.leaves_as(&x).into_iter().map(|leaf| leaf.0).collect()
    }

    fn model<U: DeserializeOwned, D: DualNum<Primitive = f64> + 'static>(
        &self,
        taking: &Taking,
        x: &[D],
    ) -> Result<U> {
        let duals = self.duals(x);
        Ok(match taking {
            Taking::AsObjects => unflatten_objects(&self.treedef, duals)?,
            Taking::Written(treedef) => match written(&duals) {
                Some(written) => unflatten(treedef, written?.0)?,
                None => unflatten_objects(&self.treedef, duals)?,
            },
        })
    }

    /// The value of a function of a model over any numbers, without derivatives.
    pub(super) fn value_of<U: DeserializeOwned, D: DualNum<Primitive = f64> + 'static, R>(
        &self,
        function: impl FnOnce(&U) -> R,
        x: &[f64],
    ) -> Result<R> {
        let x: Vec<D> = x.iter().copied().map(D::from).collect();
        Ok(function(&self.value_as::<U, D>(&x)?))
    }

    /// Calls a function with models whose numbers have derivatives by one group of the vector after another. A
    /// group has as many numbers as a dual number has lanes. Without a vector, it is called once.
    fn each_group<U: DeserializeOwned, D: Dual + DualNum<Primitive = f64>, R>(
        &self,
        function: impl Fn(&U) -> R,
        x: &[f64],
        groups: impl Iterator<Item = Range<usize>>,
        mut take: impl FnMut(Range<usize>, R) -> Result<()>,
    ) -> Result<()> {
        self.expect_valid(x)?;
        let mut duals: Vec<D> = x.iter().copied().map(<D as Dual>::of).collect();
        let mut taking: Option<Taking> = None;
        for group in groups {
            for (lane, at) in group.clone().enumerate() {
                duals[at] = <D as Dual>::of(x[at]).along(lane);
            }
            let model = match &taking {
                Some(taking) => self.model(taking, &duals)?,
                None => {
                    let (first, model) = self.begun(&duals)?;
                    taking = Some(first);
                    model
                }
            };
            group.clone().for_each(|at| duals[at] = <D as Dual>::of(x[at]));
            take(group, function(&model))?;
        }
        Ok(())
    }

    /// The values of functions and their derivatives by the vector, a row for each function.
    fn derivatives<U, D, R>(&self, function: impl Fn(&U) -> R, x: &[f64]) -> Result<Rows>
    where
        U: DeserializeOwned,
        D: Dual + DualNum<Primitive = f64>,
        R: IntoIterator<Item = D>,
    {
        let (lanes, count) = (D::LANES.max(1), x.len());
        let groups = (0..count.max(1)).step_by(lanes).map(|at| at..count.min(at + lanes));
        let mut rows: Option<Rows> = None;
        self.each_group::<U, D, R>(&function, x, groups, |group, results| {
            let results: Vec<D> = results.into_iter().collect();
            let rows = rows.get_or_insert_with(|| Rows {
                values: results.iter().map(Dual::re).collect(),
                rows: vec![Vec::with_capacity(count); results.len()],
            });
            if rows.rows.len() != results.len() {
                let (what, expected) = ("the residuals of this call", rows.rows.len());
                return Err(Error::Length { what, expected, found: results.len() });
            }
            for (row, result) in rows.rows.iter_mut().zip(&results) {
                row.extend((0..group.len()).map(|lane| result.lane(lane)));
            }
            Ok(())
        })?;
        let rows = rows.unwrap_or_default();
        match rows.rows.iter().position(|row| row.iter().any(|slope| !slope.is_finite())) {
            Some(row) => Err(self.no_derivative(&function, x, row)?),
            None => Ok(rows),
        }
    }

    /// The error for a derivative that is not finite.
    #[cold]
    fn no_derivative<U, D, R>(
        &self,
        function: &impl Fn(&U) -> R,
        x: &[f64],
        row: usize,
    ) -> Result<Error>
    where
        U: DeserializeOwned,
        D: Dual + DualNum<Primitive = f64>,
        R: IntoIterator<Item = D>,
    {
        let alone = |x: &[f64], at: usize| {
            let mut slope = 0.0;
            let group = iter::once(at..at + 1);
            self.each_group::<U, D, R>(function, x, group, |_, results| {
                slope = results.into_iter().nth(row).map_or(0.0, |result| result.lane(0));
                Ok(())
            })?;
            Ok::<_, Error>(slope)
        };
        let (at, slope) = cause(x, alone)?.unwrap_or((0, f64::NAN));
        Ok(self.outside(self.leaf_of(at), slope, "a finite derivative"))
    }

    pub(super) fn value_and_grad<U, D>(
        &self,
        function: impl Fn(&U) -> D,
        x: &[f64],
    ) -> Result<(f64, Vec<f64>)>
    where
        U: DeserializeOwned,
        D: Dual + DualNum<Primitive = f64>,
    {
        let Rows { values, rows } = self.derivatives(|model| iter::once(function(model)), x)?;
        let (value, gradient) = values.into_iter().zip(rows).next().or_bug(); // one function was given
        Ok((finite_value(value)?, gradient))
    }

    pub(super) fn residuals_and_jacobian<U, D, R>(
        &self,
        residuals: impl Fn(&U) -> R,
        x: &[f64],
    ) -> Result<(Vec<f64>, Vec<f64>)>
    where
        U: DeserializeOwned,
        D: Dual + DualNum<Primitive = f64>,
        R: IntoIterator<Item = D>,
    {
        let Rows { values, rows } = self.derivatives(residuals, x)?;
        expect_finite_residuals(&values)?;
        let columns = (0..x.len()).flat_map(|by| rows.iter().map(move |row| row[by]));
        Ok((values, columns.collect()))
    }

    pub(super) fn hessian<U: DeserializeOwned>(
        &self,
        function: impl Fn(&U) -> HyperDual64,
        x: &[f64],
    ) -> Result<Hessian<Vec<f64>>> {
        // This reports errors about first derivatives.
        let (value, gradient) = self.value_and_grad(&function, x)?;
        self.expect_valid(x)?;
        let mut duals: Vec<HyperDual64> = x.iter().copied().map(HyperDual64::from_re).collect();
        let mut rows = vec![vec![0.0; x.len()]; x.len()];
        let mut taking = None;
        for (first, second) in (0..x.len()).flat_map(|first| (0..=first).map(move |at| (first, at)))
        {
            duals[first] = duals[first].derivative1();
            duals[second] = duals[second].derivative2();
            let taking = match &taking {
                Some(taking) => taking,
                None => taking.insert(self.begun::<U, _>(&duals)?.0),
            };
            let slope = function(&self.model(taking, &duals)?).eps1eps2;
            for at in [first, second] {
                duals[at] = HyperDual64::from_re(x[at]);
            }
            if !slope.is_finite() {
                let alone = |x: &[f64], at: usize| {
                    let mut duals: Vec<_> = x.iter().copied().map(HyperDual64::from_re).collect();
                    duals[at] = duals[at].derivative1().derivative2();
                    Ok(function(&self.model(taking, &duals)?).eps1eps2)
                };
                // If each number alone has a second derivative, only the mixed one is missing.
                let (at, slope) = cause(x, alone)?.unwrap_or((first, slope));
                return Err(self.outside(self.leaf_of(at), slope, "a finite second derivative"));
            }
            (rows[first][second], rows[second][first]) = (slope, slope);
        }
        Ok(Hessian { value, gradient, rows })
    }
}

/// The number whose derivative, alone, is not finite. If one has none, as a root at 0, the duals of all other
/// numbers have NaN, too: 0 times infinity. So it is a number that has a derivative a little further on, if there is one.
#[cold]
fn cause(x: &[f64], alone: impl Fn(&[f64], usize) -> Result<f64>) -> Result<Option<(usize, f64)>> {
    let mut first = None;
    for at in 0..x.len() {
        let slope = alone(x, at)?;
        if slope.is_finite() {
            continue;
        }
        let step = NEARBY * x[at].abs().max(1.0);
        let near = [step, -step].map(|step| {
            let mut x = x.to_vec();
            x[at] += step;
            x
        });
        if near.iter().any(|x| alone(x, at).is_ok_and(f64::is_finite)) {
            return Ok(Some((at, slope)));
        }
        first = first.or(Some((at, slope)));
    }
    Ok(first)
}

/// The value of a function, which has to be finite.
pub(super) fn finite_value(value: f64) -> Result<f64> {
    let what = || "the value of the function".to_owned();
    if value.is_finite() { Ok(value) } else { Err(Error::NotFinite { what: what(), value }) }
}

/// Returns an error for the first residual that is not finite.
pub(super) fn expect_finite_residuals(residuals: &[f64]) -> Result<()> {
    match residuals.iter().position(|residual| !residual.is_finite()) {
        Some(at) => {
            Err(Error::NotFinite { what: format!("the residual [{at}]"), value: residuals[at] })
        }
        None => Ok(()),
    }
}

/// Values of functions, and the derivatives of each.
#[derive(Default)]
struct Rows {
    values: Vec<f64>,
    rows: Vec<Vec<f64>>,
}
