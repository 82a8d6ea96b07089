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
