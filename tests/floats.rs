//! No float changes in a single bit on any way through the crate.
//!
//! `cargo test` runs this without optimisation, `.ci/run` with it: a conversion by `as` keeps a
//! signalling NaN without, and makes it quiet with optimisation.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef::{Leaf, LeafKind, Limits, Tree, TreeDef, Value};
use treedef_testing::cases::cases;

/// NaNs of both signs, quiet and signalling, with payloads; zeros, infinities, the smallest and the
/// largest; and others.
fn bits() -> impl Iterator<Item = u32> {
    let special = [
        0x7fa0_0001,
        0xffa0_0001,
        0x7f80_0001,
        0xff80_0001,
        0x7fbf_ffff,
        0x7fc0_0000,
        0xffc0_0000,
        0x7fff_ffff,
        0,
        0x8000_0000,
        1,
        0x8000_0001,
        0x007f_ffff,
        0x0080_0000,
        0x3f80_0000,
        0x7f7f_ffff,
        0x7f80_0000,
        0xff80_0000,
    ];
    let mut random = fastrand::Rng::with_seed(7);
    let nans = (0..cases(200)).map(move |_| 0x7f80_0000 | random.u32(..));
    let mut random = fastrand::Rng::with_seed(8);
    special.into_iter().chain(nans).chain((0..cases(500)).map(move |_| random.u32(..)))
}

/// The `f64` that stands for an `f32`, by the definition of the two formats.
fn wide(bits: u32) -> u64 {
    match f32::from_bits(bits) {
        nan if nan.is_nan() => {
            u64::from(bits >> 31) << 63 | 0x7ff << 52 | u64::from(bits & 0x7f_ffff) << 29
        }
        number => f64::from(number).to_bits(),
    }
}

#[derive(Serialize, Deserialize, Clone, Copy)]
struct Pair<F> {
    x: F,
    y: F,
}

/// A struct that owns memory is read another way.
#[derive(Serialize, Deserialize, Clone)]
struct Named<F> {
    name: String,
    x: Option<F>,
}

fn same<A: Serialize + ?Sized, B: Serialize + ?Sized>(a: &A, b: &B) -> bool {
    Tree::of(a).unwrap() == Tree::of(b).unwrap()
}

/// All ways that floats of one kind go through leaves of their own kind.
fn keeps<F: Copy + Serialize + DeserializeOwned + Debug>(x: F) {
    fn round_trip<T: Serialize + DeserializeOwned>(value: &T) {
        let tree = Tree::of(value).unwrap();
        let again: T = treedef::unflatten(tree.treedef(), tree.leaves()).unwrap();
        assert!(same(value, &again), "{tree}");
        let again: T = tree.clone().into_typed().unwrap();
        assert!(same(value, &again), "{tree}");
        assert_eq!(Tree::from_bytes(&tree.to_bytes().unwrap()).unwrap(), tree);
        let kept = Value::of(value).unwrap();
        assert_eq!(kept.to_string().parse::<Value>().unwrap(), kept);
        let again: T = kept.into_typed().unwrap();
        assert!(same(value, &again), "{tree}");
    }
    round_trip(&x);
    round_trip(&(x, [x, x]));
    round_trip(&vec![x; 100]);
    round_trip(&vec![Pair { x, y: x }; 100]);
    round_trip(&vec![Named { name: "a".to_owned(), x: Some(x) }; 3]);
    let tree = Tree::of(&(x, 1u8, [x])).unwrap();
    let (vector, ravel) = tree.ravel().unwrap();
    assert_eq!(ravel.unravel(&vector).unwrap(), tree);
}

#[test]
fn floats_come_back_as_they_were() {
    for bits in bits() {
        keeps(f32::from_bits(bits));
        keeps(f64::from_bits(wide(bits)));
        keeps(f64::from_bits(u64::from(bits) << 32 | u64::from(bits)));
    }
}

/// `f32` fields with `f64` leaves: out by one function, back by the other.
#[test]
fn narrow_fields_take_wide_leaves() {
    fn through<T: Serialize + DeserializeOwned>(value: &T, bits: u32) {
        let (leaves, treedef) = treedef::flatten_as::<f64>(value).unwrap();
        assert!(leaves.iter().all(|leaf| leaf.to_bits() == wide(bits)), "{bits:#x}");
        let mut again = Vec::new();
        treedef.flatten_like(value, &mut again).unwrap();
        assert!(again.iter().all(|leaf: &f64| leaf.to_bits() == wide(bits)), "{bits:#x}");
        let file = Tree::of(value).unwrap().to_bytes().unwrap();
        let loaded = Tree::from_bytes_as::<f64>(&file, Limits::default()).unwrap();
        assert!(loaded.leaves().iter().all(|leaf| leaf.to_bits() == wide(bits)), "{bits:#x}");
        assert!(same(value, &treedef::unflatten::<T>(&treedef, &leaves).unwrap()), "{bits:#x}");
        assert!(
            same(value, &treedef::unflatten_strict::<T>(&treedef, leaves).unwrap()),
            "{bits:#x}"
        );
        let all: Vec<Leaf> = again.into_iter().map(Leaf::from).collect();
        assert!(same(value, &treedef::unflatten::<T>(&treedef, all).unwrap()), "{bits:#x}");
    }
    for bits in bits() {
        let x = f32::from_bits(bits);
        through(&x, bits);
        through(&(x, Some(x)), bits);
        through(&vec![x; 100], bits);
        through(&vec![Pair { x, y: x }; 100], bits);
        through(&vec![Pair { x: Some(x), y: Some(x) }; 3], bits);
        let ravelled = Tree::of(&[x]).unwrap().ravel().unwrap().0;
        assert_eq!(ravelled[0].to_bits(), wide(bits), "{bits:#x}");
    }
}

#[test]
fn wide_fields_take_narrow_leaves() {
    let pairs: TreeDef = "[Pair { x: *, y: * }; 50]".parse().unwrap();
    for bits in bits() {
        let leaves = vec![f32::from_bits(bits); 100];
        let wide = |values: Vec<Pair<f64>>| {
            assert!(values.iter().all(|pair| pair.x.to_bits() == wide(bits)), "{bits:#x}");
            assert!(values.iter().all(|pair| pair.y.to_bits() == wide(bits)), "{bits:#x}");
        };
        wide(treedef::unflatten(&pairs, &leaves).unwrap());
        let leaves: Vec<Leaf> = leaves.into_iter().map(Leaf::from).collect();
        wide(treedef::unflatten(&pairs, leaves).unwrap());
    }
}

#[test]
fn a_wide_nan_without_room_stays_a_nan() {
    let payload = f64::from_bits(0x7ff0_0000_0000_0001);
    let narrow: f32 = treedef::unflatten(&TreeDef::leaf(), [payload]).unwrap();
    assert!(narrow.is_nan());
    let (_, ravel) = Tree::of(&1f32).unwrap().ravel().unwrap();
    let tree = ravel.unravel(&[payload]).unwrap();
    assert_eq!(tree.leaves()[0].kind(), LeafKind::F32);
    assert!(f32::try_from(tree.leaves()[0].clone()).unwrap().is_nan());
}
