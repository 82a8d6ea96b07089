//! Dual numbers: the derivative part is not lost.

use std::ops::{Add, Mul};

use nalgebra::{Const, U1};
use num_dual::{Dual64, DualSVec64};
use serde::{Deserialize, Serialize};
use treedef::{Tree, object};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
struct Orbit<T: Clone + 'static> {
    #[serde(with = "object")]
    mass: T,
    #[serde(with = "object::vec")]
    velocity: Vec<T>,
}

impl<T: Copy + Add<Output = T> + Mul<Output = T> + Mul<f64, Output = T>> Orbit<T> {
    /// The kinetic energy in two dimensions.
    fn energy(&self) -> T {
        let [x, y] = [self.velocity[0], self.velocity[1]];
        (x * x + y * y) * self.mass * 0.5
    }
}

#[test]
fn a_struct_goes_from_numbers_to_duals_and_back() -> treedef::Result<()> {
    let orbit = Orbit { mass: 2.0, velocity: vec![3.0, 4.0] };
    let tree = Tree::<f64>::of_objects(&orbit)?;
    let numbers = Tree::new(tree.treedef().clone(), (0..3).collect())?;

    // One derivative at a time.
    let derivative = |at: usize| -> treedef::Result<f64> {
        let dual = |x: f64, number: usize| {
            if number == at { Dual64::from_re(x).derivative() } else { Dual64::from_re(x) }
        };
        let duals = tree.clone().zip_with(numbers.clone(), dual)?;
        Ok(duals.into_objects::<Orbit<Dual64>>()?.energy().eps)
    };
    let one_by_one = (0..3).map(derivative).collect::<treedef::Result<Vec<f64>>>()?;
    assert_eq!(one_by_one, [12.5, 6.0, 8.0]);

    // All at once: the derivative part is a vector, for which num-dual has no serde.
    let unit = |x: f64, number: usize| DualSVec64::<3>::from_re(x).derivative(number);
    let all: Orbit<DualSVec64<3>> = tree.zip_with(numbers, unit)?.into_objects()?;
    let gradient = all.energy().eps.unwrap_generic(Const::<3>, U1);
    assert_eq!(gradient.as_slice(), one_by_one);
    let back = Tree::<DualSVec64<3>>::of_objects(&all)?;
    assert_eq!(back.map(|dual| dual.re).into_objects::<Orbit<f64>>()?, orbit);
    Ok(())
}
