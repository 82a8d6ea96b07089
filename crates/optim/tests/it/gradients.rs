//! Gradients from candle, from duals and by differences are the same.

use candle_core::{DType, Device, Tensor};
use insta::assert_snapshot;
use num_dual::{Dual64, DualNum, DualSVec64, HyperDual64};
use serde::{Deserialize, Serialize};
use treedef::{Object, Tree};
use treedef_optim::candle::{self, Gradient, Unreached};
use treedef_optim::{Optimiser, adam, dual, finite};

/// A model that serde knows by its derives alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Orbit<T> {
    name: String,
    mass: T,
    velocity: Vec<T>,
    spin: Option<T>,
}

impl<T: DualNum<Primitive = f64> + Copy> Orbit<T> {
    fn energy(&self) -> T {
        let kinetic = self.velocity.iter().map(|v| *v * *v).sum::<T>() * self.mass * 0.5;
        kinetic + self.spin.map_or(T::from(0.0), |spin| (spin * self.mass).sin())
    }
}

fn orbit() -> Orbit<f64> {
    Orbit { name: "a".to_owned(), mass: 2.0, velocity: vec![3.0, 4.0], spin: Some(0.5) }
}

fn expected() -> Orbit<f64> {
    let cos = 1.0f64.cos();
    Orbit {
        name: "a".to_owned(),
        mass: 12.5 + 0.5 * cos,
        velocity: vec![6.0, 8.0],
        spin: Some(2.0 * cos),
    }
}

/// The same with objects, for duals that have no serde.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
struct ObjectOrbit<T: Clone + 'static> {
    #[serde(with = "treedef::object")]
    mass: T,
    #[serde(with = "treedef::object::vec")]
    velocity: Vec<T>,
    #[serde(with = "treedef::object::option")]
    spin: Option<T>,
}

impl<T: DualNum<Primitive = f64> + Copy> ObjectOrbit<T> {
    fn energy(&self) -> T {
        let (name, velocity) = (String::new(), self.velocity.clone());
        Orbit { name, mass: self.mass, velocity, spin: self.spin }.energy()
    }
}

#[test]
fn duals_of_both_kinds_give_the_gradient() {
    let (energy, gradient) =
        dual::value_and_grad(|p: &Orbit<Dual64>| p.energy(), &orbit()).unwrap();
    assert_eq!(energy, 25.0 + 1.0f64.sin());
    assert_eq!(gradient, expected());
    let Orbit { mass, velocity, spin, .. } = orbit();
    let objects = ObjectOrbit { mass, velocity, spin };
    let [first, second, third] = [
        dual::value_and_grad(|p: &ObjectOrbit<Dual64>| p.energy(), &objects).unwrap().1,
        dual::value_and_grad(|p: &ObjectOrbit<DualSVec64<3>>| p.energy(), &objects).unwrap().1,
        dual::value_and_grad(|p: &ObjectOrbit<DualSVec64<8>>| p.energy(), &objects).unwrap().1,
    ];
    assert_eq!((&first, &first), (&second, &third));
    assert_eq!((first.mass, first.spin), (expected().mass, expected().spin));
}

#[test]
fn second_derivatives() {
    let hessian = dual::hessian(|p: &Orbit<HyperDual64>| p.energy(), &orbit()).unwrap();
    assert_eq!(hessian.gradient, expected());
    assert_eq!(hessian.rows.len(), 4);
    // Each row against the differences of the gradient.
    for (at, row) in hessian.rows.iter().enumerate() {
        let moved = |by: f64| {
            let (mut leaves, treedef) = treedef::flatten(&orbit()).unwrap();
            // The name is the first leaf.
            leaves[at + 1] = (leaves[at + 1].as_f64().unwrap() + by).into();
            let orbit: Orbit<f64> = treedef::unflatten(&treedef, leaves).unwrap();
            dual::value_and_grad(|p: &Orbit<Dual64>| p.energy(), &orbit).unwrap().1
        };
        let (above, below) = (moved(1e-5), moved(-1e-5));
        let slope = |above: f64, below: f64| (above - below) / 2e-5;
        assert!((row.mass - slope(above.mass, below.mass)).abs() < 1e-8);
        assert!((row.velocity[1] - slope(above.velocity[1], below.velocity[1])).abs() < 1e-8);
        assert!((row.spin.unwrap() - slope(above.spin.unwrap(), below.spin.unwrap())).abs() < 1e-8);
    }
}

#[test]
fn a_jacobian_has_a_gradient_for_each_result() {
    let function = |p: &Orbit<Dual64>| vec![p.energy(), p.mass * p.velocity[0]];
    let (values, rows) = dual::jacobian(function, &orbit()).unwrap();
    assert_eq!(values, [25.0 + 1.0f64.sin(), 6.0]);
    assert_eq!(rows[0], expected());
    assert_eq!((rows[1].mass, &*rows[1].velocity), (3.0, &[2.0, 0.0][..]));
    let calls = std::cell::Cell::new(0);
    let other = |p: &Orbit<Dual64>| {
        calls.set(calls.get() + 1);
        vec![p.mass; calls.get()]
    };
    assert_snapshot!(dual::jacobian(other, &orbit()).unwrap_err(), @"the function has given 1 and 2 results");
}

#[test]
fn duals_of_a_model_that_cannot_hold_them() {
    // The closure asks for another field.
    #[derive(Deserialize)]
    struct Other {
        weight: Dual64,
    }
    let error = dual::value_and_grad(|p: &Other| p.weight, &orbit()).unwrap_err();
    assert_snapshot!(error, @"missing field `weight`; here are `name`, `mass`, `velocity`, `spin` at the root (renamed? `#[serde(alias)]`; new? `#[serde(default)]`)");
    assert_snapshot!(dual::value_and_grad(|p: &Vec<Dual64>| p[0], &[1, 2]).unwrap_err(), @"the value has no leaf of type `f64`: numbers need `f32` or `f64`, and objects the type that they have");
}

#[derive(Clone, Serialize, Deserialize)]
struct Net {
    layers: Vec<Layer>,
    #[serde(with = "treedef::object")]
    ids: Tensor,
}

#[derive(Clone, Serialize, Deserialize)]
struct Layer {
    #[serde(with = "treedef::object")]
    w: Tensor,
    #[serde(with = "treedef::object::option", default)]
    b: Option<Tensor>,
}

fn net() -> Net {
    let tensor = |from: usize| {
        let numbers: Vec<f64> = (from..from + 4).map(|at| (at as f64).sin()).collect();
        Tensor::from_vec(numbers, (2, 2), &Device::Cpu).unwrap()
    };
    let bias = Tensor::new(&[0.1, -0.2], &Device::Cpu).unwrap();
    let layers = vec![Layer { w: tensor(1), b: Some(bias) }, Layer { w: tensor(9), b: None }];
    Net { layers, ids: Tensor::new(&[1u32, 0], &Device::Cpu).unwrap() }
}

impl Net {
    fn loss(&self) -> candle_core::Result<Tensor> {
        let mut h = Tensor::new(&[[0.3, -0.4], [1.0, 2.0]], &Device::Cpu)?;
        for layer in &self.layers {
            h = h.matmul(&layer.w)?.tanh()?;
            if let Some(b) = &layer.b {
                h = h.broadcast_add(b)?;
            }
        }
        h.index_select(&self.ids, 1)?.narrow(1, 0, 1)?.sqr()?.mean_all()
    }

    fn number(&self) -> candle_core::Result<f64> {
        self.loss()?.to_scalar()
    }
}

#[test]
fn gradients_of_candle_are_those_by_differences() {
    let (loss, gradient) = candle::value_and_grad(Net::loss, &net()).unwrap();
    assert_eq!(loss, net().number().unwrap());
    // Integers have no derivatives: their gradient is zero, and they are not moved.
    assert_eq!(gradient.ids.to_vec1::<u32>().unwrap(), [0, 0]);
    let floats = |net: &Net| net.layers.clone();
    let with = |layers: &Vec<Layer>| Net { layers: layers.clone(), ids: net().ids }.number();
    let worst =
        finite::check_gradient::<Tensor, _, _>(with, &floats(&net()), &floats(&gradient)).unwrap();
    assert!(worst.error < 1e-8, "{worst}");
    // A mistake is found, with its place.
    let mut wrong = floats(&gradient);
    wrong[0].b = Some((wrong[0].b.as_ref().unwrap() + 0.5).unwrap());
    let worst = finite::check_gradient::<Tensor, _, _>(with, &floats(&net()), &wrong).unwrap();
    assert_eq!(worst.path.to_string(), ".[0].b?".trim_start_matches('.'));
    assert!((worst.found - worst.expected - 0.5).abs() < 1e-6, "{worst}");
    let larger = worst.found.abs().max(worst.expected.abs());
    assert!((worst.error - 0.5 / larger).abs() < 1e-6, "{worst}");
}

/// An angle between 0 and 2π.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "f64", into = "f64")]
struct Angle(f64);

impl From<f64> for Angle {
    fn from(angle: f64) -> Self {
        Angle(angle.rem_euclid(std::f64::consts::TAU))
    }
}

impl From<Angle> for f64 {
    fn from(angle: Angle) -> Self {
        angle.0
    }
}

#[test]
fn a_type_that_changes_its_numbers_has_no_differences_and_no_moments() {
    let loss = |model: &(f64, Angle)| model.0 * model.1.0;
    let gradient = finite::gradient::<f64, _, _>(loss, &(2.0, Angle(1.0))).unwrap().gradient;
    assert!((gradient.1.0 - 2.0).abs() < 1e-9);
    let error = finite::gradient::<f64, _, _>(loss, &(2.0, Angle(0.0))).unwrap_err();
    assert_snapshot!(error, @"the type makes 6.283161085361777 of -0.000024221817809573358 at `.1`: it has no differences there");
    let fall = |model: &(f64, Angle)| -model.0 * model.1.0;
    let error = finite::gradient::<f64, _, _>(fall, &(2.0, Angle(1.0))).unwrap_err();
    assert!(error.to_string().ends_with("at `.1`: it cannot hold a derivative"), "{error}");
    let fall = |model: &(Dual64, Dual64)| -model.0 * model.1;
    assert_snapshot!(dual::value_and_grad(fall, &(2.0, Angle(1.0))).unwrap_err(), @"the type makes 4.283185307179586 of -2 at `.1`: it cannot hold a derivative");
    let optimiser = adam(0.1);
    let mut state = optimiser.init::<f64, _>(&(2.0, Angle(0.0))).unwrap();
    // A gradient of an angle is one, too, so it is no negative number.
    let gradient = || (1.0, Angle::from(-1.0));
    let moved = optimiser.step((2.0, Angle(0.0)), gradient(), &mut state).unwrap();
    assert!((moved.1.0 - (std::f64::consts::TAU - 0.1)).abs() < 1e-6);
    let tree = Tree::of(&state).unwrap();
    assert_eq!(tree.get("leaves.mu.1").unwrap().as_f64().map(|mu| mu > 0.5), Some(true));
    // A mean that is negative cannot be saved.
    let mut tree = Tree::<f64>::of_as(&moved).unwrap();
    let mut gradient = tree.clone();
    gradient.leaves_mut()[1] = -20.0;
    optimiser.step_tree(&mut tree, &mut gradient, &mut state).unwrap();
    assert_snapshot!(Tree::of(&state).unwrap_err(), @"the type makes 4.7586719848257495 of -1.5245133223538367 at `.1`: it cannot hold a moment at the root");
}

#[test]
fn integers_have_no_differences() {
    let tensor = |numbers: &[f64]| Object(Tensor::new(numbers, &Device::Cpu).unwrap());
    let index = || Object(Tensor::new(&[1u32, 0], &Device::Cpu).unwrap());
    let model = (tensor(&[1.0, 2.0]), index());
    let loss = |(w, index): &(Object<Tensor>, Object<Tensor>)| -> candle_core::Result<f64> {
        w.0.index_select(&index.0, 0)?.get(0)?.sqr()?.to_scalar()
    };
    let gradient = finite::gradient::<Tensor, _, _>(loss, &model).unwrap().gradient;
    assert_eq!(gradient.1.0.to_vec1::<u32>().unwrap(), [0, 0]);
    let worst =
        finite::check_gradient::<Tensor, _, _>(loss, &model, &(tensor(&[0.0, 4.0]), index()));
    assert!(worst.unwrap().error < 1e-8);
    let error = candle::value_and_grad(|(_, index)| index.0.get(0), &model);
    assert_snapshot!(error.unwrap_err(), @"expected a loss of floats, found one of u32");
}

/// As `value_and_grad`, whose gradient for them is zero, though the loss depends on them.
#[test]
fn running_statistics_have_no_differences() {
    #[derive(Serialize, Deserialize)]
    struct Norm {
        weight: Object<Tensor>,
        running_mean: Object<Tensor>,
        running_var: Object<Tensor>,
    }
    let tensor = |numbers: &[f64]| Object(Tensor::new(numbers, &Device::Cpu).unwrap());
    let model = Norm {
        weight: tensor(&[2.0, 3.0]),
        running_mean: tensor(&[0.5, 0.25]),
        running_var: tensor(&[1.0, 4.0]),
    };
    let loss = |norm: &Norm| {
        let centred = (&norm.weight.0 - &norm.running_mean.0)?;
        (centred / norm.running_var.0.sqrt()?)?.sqr()?.sum_all()
    };
    let (_, gradient) = candle::value_and_grad(loss, &model).unwrap();
    let number = |norm: &Norm| loss(norm)?.to_scalar::<f64>();
    let worst = finite::check_gradient::<Tensor, _, _>(number, &model, &gradient).unwrap();
    assert!(worst.error < 1e-8, "{worst}");
    let estimate = finite::gradient::<Tensor, _, _>(number, &model).unwrap();
    for norm in [&estimate.gradient, &estimate.error, &gradient] {
        assert_eq!(norm.running_mean.to_vec1::<f64>().unwrap(), [0.0; 2]);
        assert_eq!(norm.running_var.to_vec1::<f64>().unwrap(), [0.0; 2]);
    }
}

#[test]
fn a_loss_of_many_numbers_or_none_that_is_reached() {
    let tensor = |x: f64| Object(Tensor::new(&[x, x], &Device::Cpu).unwrap());
    let model = (tensor(1.0), tensor(2.0));
    type Model = (Object<Tensor>, Object<Tensor>);
    let error = candle::value_and_grad(|m: &Model| &m.0.0 * 2.0, &model).unwrap_err();
    assert_snapshot!(error, @"expected a loss of one number, found the shape [2] (take the mean, or the sum)");
    let first = |m: &Model| m.0.sum_all().map(|loss| (loss, ()));
    let strict = Gradient::new().unreached(Unreached::Error);
    let error = candle::value_and_grad_with(&strict, first, &model).unwrap_err();
    assert_snapshot!(error, @"the loss does not depend on the parameter at `.1`: its gradient is zero (see `Unreached`)");
    // What is constant by choice is not missing.
    let strict = strict.constant(".1");
    assert!(candle::value_and_grad_with(&strict, first, &model).is_ok());
    let error = candle::value_and_grad_with(&strict.constant("bias"), first, &model).unwrap_err();
    assert_snapshot!(error, @"no node matches `.bias`");
    // The error of the loss itself.
    let error = candle::value_and_grad(|m: &Model| m.0.matmul(&m.1), &model).unwrap_err();
    assert_snapshot!(error.to_string().lines().next().unwrap(), @"shape mismatch in matmul, lhs: [2], rhs: [2]");
    assert_snapshot!(candle::value_and_grad(|_: &f64| Tensor::new(1.0, &Device::Cpu), &1.0).unwrap_err(), @"the value has no leaf of type `candle_core::Tensor`: numbers need `f32` or `f64`, and objects the type that they have");
}

#[test]
fn a_loss_that_depends_on_no_parameter() {
    let model = Object(Tensor::new(&[1.0, 2.0], &Device::Cpu).unwrap());
    let constant = |_: &Object<Tensor>| Tensor::new(3.0, &Device::Cpu);
    let outside = |_: &Object<Tensor>| model.0.sum_all();
    let detached = |model: &Object<Tensor>| model.0.detach().sum_all();
    for error in [
        candle::value_and_grad(constant, &model).unwrap_err(),
        candle::value_and_grad(outside, &model).unwrap_err(),
        candle::value_and_grad(detached, &model).unwrap_err(),
    ] {
        assert_eq!(
            error.to_string(),
            "the loss depends on no parameter (is it computed from another model than its argument, or from tensors that are detached?)"
        );
    }
    let first = |(a, _): &(Object<Tensor>, Object<Tensor>)| a.0.sum_all();
    let (_, (_, zeros)) = candle::value_and_grad(first, &(model.clone(), model.clone())).unwrap();
    assert_eq!(zeros.to_vec1::<f64>().unwrap(), [0.0, 0.0]);
}

#[test]
fn differences_of_halves() {
    for dtype in [DType::F16, DType::BF16] {
        let tensor = |numbers: &[f32]| Tensor::new(numbers, &Device::Cpu)?.to_dtype(dtype);
        let model = Object(tensor(&[0.0, 1.0, -3.0]).unwrap());
        let loss =
            |x: &Object<Tensor>| x.to_dtype(DType::F32)?.sqr()?.sum_all()?.to_scalar::<f32>();
        let loss = |x: &Object<Tensor>| -> candle_core::Result<f32> { loss(x) };
        let worst = finite::check_gradient::<Tensor, _, _>(
            loss,
            &model,
            &Object(tensor(&[0.0, 2.0, -6.0]).unwrap()),
        );
        assert!(worst.unwrap().error < 0.02);
    }
}
