//! Arithmetic of values.

use treedef_optim::tree;

use crate::random::net;

#[test]
fn a_sum_is_pairwise() {
    // One after another, f32 stops at 2^24, and f64 loses all of the small ones.
    assert_eq!(tree::sum::<f32, _>(&vec![1.0f32; 20_000_000]).unwrap(), 2e7);
    let tenths = vec![0.1; 10_000_000];
    let naive: f64 = tenths.iter().sum();
    let pairwise = tree::sum::<f64, _>(&tenths).unwrap();
    let [pairwise, naive] = [pairwise, naive].map(|sum| (sum - 1e6).abs());
    assert!(pairwise < 1e-8 && naive > 1e-5, "{pairwise} {naive}");
}

#[test]
fn sums_of_all_lengths_are_right() {
    for length in (0..70).chain([511, 512, 513, 1_025, 4_097]) {
        let numbers: Vec<f64> = (0..length).map(f64::from).collect();
        let sum = tree::sum::<f64, _>(&numbers).unwrap();
        assert_eq!(sum, f64::from(length * (length - 1) / 2).max(0.0), "{length}");
    }
}

#[test]
fn operations_are_those_of_their_numbers() {
    let (a, b) = (net(1, &[3, 2]), net(2, &[3, 2]));
    let numbers = |net: &crate::random::Net| f64_leaves(net);
    let pairs = || numbers(&a).into_iter().zip(numbers(&b));
    let found = tree::add_scaled::<f64, _>(a.clone(), -0.5, &b).unwrap();
    assert_eq!(numbers(&found), pairs().map(|(a, b)| a + -0.5 * b).collect::<Vec<_>>());
    assert_eq!(found.name, "net");
    let found = tree::sub::<f64, _>(a.clone(), &b).unwrap();
    assert_eq!(numbers(&found), pairs().map(|(a, b)| a - b).collect::<Vec<_>>());
    let found = tree::scale::<f64, _>(3.0, a.clone()).unwrap();
    assert_eq!(numbers(&found), numbers(&a).iter().map(|a| a * 3.0).collect::<Vec<_>>());
    let dot: f64 = pairs().map(|(a, b)| a * b).sum();
    assert!((tree::dot::<f64, _>(&a, &b).unwrap() - dot).abs() < 1e-15);
    let zeros = tree::zeros_like::<f64, _>(&a).unwrap();
    assert_eq!(tree::norm::<f64, _>(&zeros).unwrap(), 0.0);
    let mut broken = a.clone();
    assert!(tree::is_finite::<f64, _>(&broken).unwrap());
    broken.layers[1].b = f64::INFINITY;
    assert!(!tree::is_finite::<f64, _>(&broken).unwrap());
}

#[test]
fn norms_have_squares_of_any_size() {
    let norm = |x: f64| tree::norm::<f64, _>(&[3.0 * x, 4.0 * x]).unwrap() / x;
    for power in [-1060, -600, -200, -60, 0, 60, 64, 200, 600, 1020] {
        let x = 2f64.powi(power / 2) * 2f64.powi(power / 2);
        assert_eq!(norm(x), 5.0, "2^{power}");
    }
    let small = |x: f32| tree::norm::<f32, _>(&[3.0 * x, 4.0 * x]).unwrap() / f64::from(x);
    for power in [-140, -60, 0, 64, 120] {
        assert_eq!(small(2f32.powi(power / 2) * 2f32.powi(power / 2)), 5.0, "2^{power}");
    }
    assert_eq!(tree::norm::<f64, _>(&[0.0, -0.0]).unwrap(), 0.0);
    assert_eq!(tree::norm::<f64, _>(&[f64::NEG_INFINITY, 1.0]).unwrap(), f64::INFINITY);
    assert!(tree::norm::<f64, _>(&[f64::NAN, 1.0]).unwrap().is_nan());
}

#[test]
fn limits_and_gradients_are_of_any_size() {
    use treedef_optim::transform::{Projection, clip_by_global_norm};
    use treedef_optim::{Optimiser, chain, sgd};

    for (size, limit) in [(1e-38f32, 1e-40f32), (1e-38, 1e-44), (1e-44, 3e-45), (1e38, 1e-40)] {
        let (gradient, zeros) = ([size, 0.0], [0.0f32; 2]);
        let optimiser = chain!(clip_by_global_norm(limit.into()), sgd(1.0));
        let mut state = optimiser.init::<f32, _>(&zeros).unwrap();
        assert_eq!(optimiser.step(zeros, gradient, &mut state).unwrap(), [-limit, 0.0]);
        let ball = Projection::L2Ball { radius: limit.into() };
        assert_eq!(tree::project::<f32, _>(gradient, ball).unwrap(), [limit, 0.0]);
    }
    for (size, limit) in [(1e-308f64, 1e-310), (1e-320, 5e-324), (1e308, 1e-308), (1e308, 1e300)] {
        let ball = Projection::L2Ball { radius: limit };
        assert_eq!(tree::project::<f64, _>([size, 0.0], ball).unwrap(), [limit, 0.0]);
    }
}

fn f64_leaves(value: &impl serde::Serialize) -> Vec<f64> {
    let floats = treedef::Flattener::new().leaves_where(treedef::LeafKind::is_float);
    floats.flatten_as(value).unwrap().0
}

#[test]
fn a_static_that_differs_is_that_of_the_first() {
    let (a, b) = (("a", 1, 0.5), ("b", 2, 0.25));
    let a = (a.0.to_owned(), a.1, a.2);
    let b = (b.0.to_owned(), b.1, b.2);
    assert_eq!(tree::add::<f64, _>(a.clone(), &b).unwrap(), ("a".to_owned(), 1, 0.75));
    let mut average = b;
    tree::incremental_update::<f64, _>(&a, &mut average, 0.5).unwrap();
    assert_eq!(average, ("a".to_owned(), 1, 0.375));
    let error = tree::incremental_update::<f64, _>(&a, &mut average, f64::NAN).unwrap_err();
    assert_eq!(error.to_string(), "expected a step size from 0 to 1, found NaN");
    assert_eq!(average.2, 0.375);
}

#[cfg(feature = "candle")]
mod of_tensors {
    use candle_core::{Device, Tensor};
    use treedef::Object;
    use treedef_optim::tree;

    fn with_count(number: f32, count: i64) -> [Object<Tensor>; 2] {
        let cpu = &Device::Cpu;
        [Tensor::new(number, cpu), Tensor::new(count, cpu)].map(|tensor| Object(tensor.unwrap()))
    }

    #[test]
    fn an_average_has_the_new_integers() {
        let (new, mut average) = (with_count(1.0, 7), with_count(2.0, 0));
        tree::incremental_update::<Tensor, _>(&new, &mut average, 0.5).unwrap();
        assert_eq!(average[0].to_scalar::<f32>().unwrap(), 1.5);
        assert_eq!(average[1].to_scalar::<i64>().unwrap(), 7);
    }

    #[test]
    fn integers_are_in_no_sum() {
        let both = with_count(3.0, 4);
        assert_eq!(tree::sum::<Tensor, _>(&both).unwrap(), 3.0);
        assert_eq!(tree::norm::<Tensor, _>(&both).unwrap(), 3.0);
        let [_, count] = &both;
        insta::allow_duplicates! { for error in [
            tree::sum::<Tensor, _>(count),
            tree::norm::<Tensor, _>(count),
            tree::dot::<Tensor, _>(count, count),
        ] {
            insta::assert_snapshot!(error.unwrap_err(), @"the value has no floats: the leaf at the root is i64[]");
        }}
    }
}
