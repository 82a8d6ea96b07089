//! The values that are flattened and rebuilt, the same in every bench and in `peers`.

#![allow(dead_code, reason = "not every bench uses all")]

use std::collections::{BTreeMap, HashMap};

use fastrand::Rng;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Eight numbers in four fields.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Particle {
    pub(crate) position: [f64; 3],
    pub(crate) velocity: [f64; 3],
    pub(crate) mass: f64,
    pub(crate) charge: f64,
}

/// Particles with so many leaves in all.
pub(crate) fn particles(leaves: usize) -> Vec<Particle> {
    let mut rng = Rng::with_seed(1);
    let mut triple = || [rng.f64(), rng.f64(), rng.f64()];
    (0..leaves / 8)
        .map(|_| Particle { position: triple(), velocity: triple(), mass: 1.0, charge: -1.0 })
        .collect()
}

/// A network of twenty layers, 200 × 200 each.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Mlp {
    pub(crate) layers: Vec<Layer>,
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Layer {
    pub(crate) w: Vec<Vec<f32>>,
    pub(crate) b: Vec<f32>,
    pub(crate) gain: f32,
}

pub(crate) fn mlp() -> Mlp {
    let mut rng = Rng::with_seed(2);
    let mut row = || (0..200).map(|_| rng.f32()).collect::<Vec<f32>>();
    let layers =
        (0..20).map(|_| Layer { w: (0..200).map(|_| row()).collect(), b: row(), gain: 1.0 });
    Mlp { layers: layers.collect() }
}

/// 28 leaves, as the parameters of a small fit have them.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Small {
    pub(crate) matrix: [[f64; 4]; 4],
    pub(crate) bias: [f64; 4],
    pub(crate) prior: Prior,
    pub(crate) points: Vec<f64>,
    pub(crate) scale: f64,
    pub(crate) offset: Option<f64>,
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Prior {
    pub(crate) mean: f64,
    pub(crate) deviation: f64,
    pub(crate) weight: f64,
}

pub(crate) fn small() -> Small {
    Small {
        matrix: [[1.0, 2.0, 3.0, 4.0]; 4],
        bias: [0.5; 4],
        prior: Prior { mean: 0.0, deviation: 1.0, weight: 0.1 },
        points: vec![1.0, 2.0, 3.0],
        scale: 10.0,
        offset: Some(0.25),
    }
}

macro_rules! wide {
    ($($field:ident)*) => {
        /// 64 numbers in 64 fields.
        #[derive(Clone, Default, Serialize, Deserialize)]
        pub(crate) struct Wide {
            $(pub(crate) $field: f64,)*
        }

        impl Wide {
            pub(crate) fn numbers(&self) -> [f64; 64] {
                [$(self.$field),*]
            }

            pub(crate) fn from_numbers([$($field),*]: [f64; 64]) -> Self {
                Wide { $($field),* }
            }
        }
    };
}

wide! {
    alpha_00 alpha_01 alpha_02 alpha_03 alpha_04 alpha_05 alpha_06 alpha_07
    beta_00 beta_01 beta_02 beta_03 beta_04 beta_05 beta_06 beta_07
    gamma_00 gamma_01 gamma_02 gamma_03 gamma_04 gamma_05 gamma_06 gamma_07
    delta_00 delta_01 delta_02 delta_03 delta_04 delta_05 delta_06 delta_07
    epsilon_00 epsilon_01 epsilon_02 epsilon_03 epsilon_04 epsilon_05 epsilon_06 epsilon_07
    zeta_00 zeta_01 zeta_02 zeta_03 zeta_04 zeta_05 zeta_06 zeta_07
    eta_00 eta_01 eta_02 eta_03 eta_04 eta_05 eta_06 eta_07
    theta_00 theta_01 theta_02 theta_03 theta_04 theta_05 theta_06 theta_07
}

pub(crate) fn wide() -> Vec<Wide> {
    vec![Wide { beta_00: 1.0, theta_07: 2.0, ..Wide::default() }; 1_000]
}

/// 10,000 entries of three numbers under texts.
pub(crate) fn table() -> HashMap<String, [f64; 3]> {
    let mut rng = Rng::with_seed(3);
    (0..10_000).map(|i| (format!("entry {i:05}"), [rng.f64(), rng.f64(), rng.f64()])).collect()
}

/// 10,000 maps with the same five keys.
pub(crate) fn objects() -> Vec<BTreeMap<String, f64>> {
    let mut rng = Rng::with_seed(4);
    let keys = ["height", "identity", "mass", "radius", "speed"];
    (0..10_000).map(|_| keys.map(|key| (key.to_owned(), rng.f64())).into()).collect()
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum Shape {
    Empty,
    Circle(f64),
    Line([f64; 2], [f64; 2]),
    Box { w: f64, h: f64 },
}

/// 100,000 variants in random order.
pub(crate) fn enums() -> Vec<Shape> {
    let mut rng = Rng::with_seed(5);
    let mut shape = || match rng.u8(..4) {
        0 => Shape::Empty,
        1 => Shape::Circle(rng.f64()),
        2 => Shape::Line([rng.f64(), 0.0], [1.0, rng.f64()]),
        _ => Shape::Box { w: rng.f64(), h: 1.0 },
    };
    (0..100_000).map(|_| shape()).collect()
}

/// 100,000 texts of up to 30 letters.
pub(crate) fn text() -> Vec<String> {
    let mut rng = Rng::with_seed(6);
    (0..100_000).map(|_| (0..rng.usize(..30)).map(|_| rng.alphabetic()).collect()).collect()
}

/// A document of about a megabyte, of all that JSON has.
pub(crate) fn json() -> Value {
    let mut rng = Rng::with_seed(7);
    let mut records = Vec::new();
    let mut bytes = 0;
    while bytes < 1_000_000 {
        let record = record(&mut rng, 0);
        bytes += record.to_string().len();
        records.push(record);
    }
    serde_json::json!({ "version": 3, "records": records })
}

fn record(rng: &mut Rng, depth: usize) -> Value {
    match rng.u8(..if depth < 4 { 9 } else { 6 }) {
        0 => Value::Null,
        1 => Value::from(rng.bool()),
        2 => Value::from(rng.i32(..)),
        3 | 4 => Value::from(rng.f64()),
        5 => Value::from((0..rng.usize(..20)).map(|_| rng.alphabetic()).collect::<String>()),
        6 => (0..rng.usize(..8)).map(|_| record(rng, depth + 1)).collect(),
        7 => Value::Array((0..rng.usize(..30)).map(|_| Value::from(rng.f64())).collect()),
        _ => {
            let keys = ["id", "name", "tags", "score", "owner", "parent", "at"];
            let entries = keys.iter().take(rng.usize(1..=keys.len()));
            entries
                .map(|key| ((*key).to_owned(), record(rng, depth + 1)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        }
    }
}
