//! Lists of types that were drawn at random: combinations that nobody chose, among which the worst is looked for.

use std::collections::BTreeMap;

use fastrand::Rng;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Shapes, Unit};

#[derive(Serialize, Deserialize)]
pub(crate) struct Pair<A, B> {
    first: A,
    second: B,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct One<A>(A);

#[derive(Serialize, Deserialize)]
pub(crate) enum Either<A, B> {
    Neither,
    First(A),
    Second { second: B, weight: f64 },
}

pub(crate) trait Draw: Serialize + DeserializeOwned {
    fn draw(rng: &mut Rng) -> Self;
}

macro_rules! draw {
    ($([$($type:ident)*] $of:ty, $rng:ident => $value:expr;)*) => {$(
        impl<$($type: Draw),*> Draw for $of {
            fn draw($rng: &mut Rng) -> Self {
                $value
            }
        }
    )*};
}

draw! {
    [] f64, rng => rng.f64();
    [] f32, rng => rng.f32();
    [] u8, rng => rng.u8(..);
    [] i64, rng => rng.i64(..);
    [] bool, rng => rng.bool();
    [] String, rng => (0..rng.usize(..12)).map(|_| rng.alphabetic()).collect();
    [] Unit, rng => [Unit::Metre, Unit::Second, Unit::Gram][rng.usize(..3)];
    [A] Option<A>, rng => (rng.u8(..3) > 0).then(|| A::draw(rng));
    [A] Vec<A>, rng => (0..rng.usize(..5)).map(|_| A::draw(rng)).collect();
    [A] One<A>, rng => One(A::draw(rng));
    [A] Box<A>, rng => Box::new(A::draw(rng));
    [A] BTreeMap<String, A>, rng =>
        (0..rng.usize(..5)).map(|_| (["a", "b", "c", "d"][rng.usize(..4)].to_owned(), A::draw(rng))).collect();
    [A] BTreeMap<u32, A>, rng => (0..rng.usize(..5)).map(|_| (rng.u32(..8), A::draw(rng))).collect();
    [A] [A; 3], rng => std::array::from_fn(|_| A::draw(rng));
    [A B] Pair<A, B>, rng => Pair { first: A::draw(rng), second: B::draw(rng) };
    [A B] (A, B), rng => (A::draw(rng), B::draw(rng));
    [A B] Either<A, B>, rng => match rng.u8(..3) {
        0 => Either::Neither,
        1 => Either::First(A::draw(rng)),
        _ => Either::Second { second: B::draw(rng), weight: 0.5 },
    };
}

/// 2,000 values of a type.
pub(crate) fn list<A: Draw>() -> Vec<A> {
    let rng = &mut Rng::with_seed(9);
    (0..2_000).map(|_| A::draw(rng)).collect()
}

/// A list of each type.
pub(crate) fn generated(seen: &mut impl Shapes) {
    macro_rules! lists {
        ($($type:ty;)*) => {
            $(seen.see(stringify!($type), &list::<$type>());)*
        };
    }
    lists! {
        Vec<(Pair<bool, f64>, [String; 3])>;
        Option<One<Option<i64>>>;
        BTreeMap<String, Option<BTreeMap<u32, Unit>>>;
        Pair<One<Option<f64>>, f64>;
        Either<BTreeMap<u32, Either<f32, f32>>, Pair<f32, Either<f64, f64>>>;
        One<BTreeMap<String, Option<bool>>>;
        Option<Pair<[i64; 3], Box<f64>>>;
        BTreeMap<u32, (Either<f64, String>, BTreeMap<u32, bool>)>;
        Pair<Box<f32>, Option<Option<Unit>>>;
        Option<Vec<Option<i64>>>;
        Either<Either<Option<i64>, Option<f32>>, Option<BTreeMap<u32, f64>>>;
        Box<Pair<(i64, f64), (f64, u8)>>;
        [Option<One<Unit>>; 3];
        Either<One<f64>, (Option<f32>, f64)>;
        Pair<Vec<Pair<f64, bool>>, Vec<Option<f64>>>;
        (Option<One<f64>>, Pair<BTreeMap<u32, f64>, BTreeMap<String, u8>>);
        Pair<(Pair<i64, f64>, Unit), ((String, u8), i64)>;
        Either<BTreeMap<String, Vec<bool>>, BTreeMap<String, Option<bool>>>;
        Either<Either<(f64, f64), One<bool>>, Either<f64, Option<u8>>>;
        [Pair<(f64, i64), Vec<f64>>; 3];
        Vec<One<Pair<f64, bool>>>;
        BTreeMap<u32, One<Either<f64, bool>>>;
        [Option<One<f32>>; 3];
        Vec<Option<(Unit, f64)>>;
        Either<Either<Vec<String>, String>, String>;
        Option<Box<(f64, u8)>>;
        (Pair<Option<i64>, Vec<String>>, BTreeMap<String, Either<f64, f32>>);
        Option<[Either<f64, f64>; 3]>;
        Pair<f32, (BTreeMap<String, String>, bool)>;
        BTreeMap<u32, Option<bool>>;
        [Box<Option<u8>>; 3];
        Box<Pair<Pair<String, f32>, [bool; 3]>>;
        Either<Unit, Option<Box<Unit>>>;
        Box<Option<[bool; 3]>>;
        BTreeMap<String, [bool; 3]>;
        Option<Option<Pair<i64, String>>>;
        BTreeMap<u32, One<Pair<f64, f64>>>;
        Vec<Option<f32>>;
        One<Either<One<String>, (u8, String)>>;
        Vec<Option<[Unit; 3]>>;
    }
}
