//! Random structures and leaves of all kinds.

use fastrand::Rng;
use treedef::{NodeKind, TreeDef, Value};

use crate::build::node;

const NAMES: &[&str] = &[
    "a",
    "b",
    "w",
    "bias",
    "x1",
    "Beta",
    "x y",
    "key\n",
    "back\\slash",
    "it's",
    "\"",
    "",
    "é",
    "日本",
    "🎈",
];

/// A structure of at most this depth.
pub fn structure(rng: &mut Rng, depth: usize) -> TreeDef {
    let child = |rng: &mut Rng| structure(rng, depth - 1);
    let kind = if depth == 0 { rng.u8(0..4) } else { rng.u8(0..17) };
    let made = match kind {
        0..=2 => Ok(TreeDef::leaf()),
        3 => "None".parse(),
        4 => Ok(match rng.u8(0..3) {
            0 => "()".parse().unwrap(),
            1 => node(NodeKind::UnitStruct, ["Marker", ""], &[], []).unwrap(),
            _ => node(NodeKind::UnitVariant, ["Shape", "Empty"], &[], []).unwrap(),
        }),
        5 => node(NodeKind::Some, ["", ""], &[], [child(rng)]),
        6 => node(NodeKind::NewtypeStruct, ["Meters", ""], &[], [child(rng)]),
        7 => {
            let element = child(rng);
            TreeDef::seq_of(&element, rng.usize(0..5))
        }
        8 => {
            let children: Vec<TreeDef> = (0..rng.usize(0..4)).map(|_| child(rng)).collect();
            TreeDef::seq(children)
        }
        9 => {
            let children: Vec<TreeDef> = (0..rng.usize(0..4)).map(|_| child(rng)).collect();
            TreeDef::tuple(children)
        }
        10 => {
            let children: Vec<TreeDef> = (0..rng.usize(0..4)).map(|_| child(rng)).collect();
            node(NodeKind::TupleStruct, ["Pair", ""], &[], children)
        }
        11 | 12 => {
            let fields: Vec<(&str, TreeDef)> =
                names(rng).into_iter().map(|name| (name, child(rng))).collect();
            TreeDef::named_struct("Layer", fields)
        }
        13 => {
            let entries: Vec<(Value, TreeDef)> =
                names(rng).into_iter().map(|name| (Value::of(name).unwrap(), child(rng))).collect();
            TreeDef::map(entries)
        }
        14 => node(NodeKind::NewtypeVariant, ["Shape", "Circle"], &[], [child(rng)]),
        15 => node(NodeKind::TupleVariant, ["Shape", "Square"], &[], [child(rng), TreeDef::leaf()]),
        _ => {
            let fixed = treedef::structure(&treedef::Static((1, "fixed"))).unwrap();
            let children = [child(rng), fixed, TreeDef::leaf()];
            node(NodeKind::StructVariant, ["Shape", "Polygon"], &["w", "act", "b"], children)
        }
    };
    made.unwrap()
}

fn names(rng: &mut Rng) -> Vec<&'static str> {
    let mut names = NAMES.to_vec();
    rng.shuffle(&mut names);
    names.truncate(rng.usize(0..5));
    names
}

/// A leaf of any kind.
pub fn leaf(rng: &mut Rng) -> treedef::Leaf {
    let bits = rng.u64(..);
    match rng.u8(0..13) {
        0 => rng.bool().into(),
        1 => rng.u8(..).into(),
        2 => rng.i8(..).into(),
        3 => rng.u16(..).into(),
        4 => rng.i16(..).into(),
        5 => rng.u32(..).into(),
        6 => rng.i32(..).into(),
        7 => bits.into(),
        8 => bits.cast_signed().into(),
        9 => f32::from_bits(rng.u32(..)).into(),
        10 => f64::from_bits(bits).into(),
        11 => rng.u128(..).into(),
        _ => rng.choice(NAMES).copied().unwrap_or("").into(),
    }
}
