//! Files that are nearly right: none is read in silence.

use std::collections::BTreeMap;

use fastrand::Rng;
use half::f16;
use ndarray::Array2;
use serde::{Deserialize, Serialize};
use treedef::{Leaf, Tree};
use treedef_tensors::{ErrorKind, Export, LoadReport, Tensors, safetensors};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Layer {
    w: Vec<Vec<f32>>,
    b: Vec<f64>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Extra {
    steps: [u32; 2],
    trained: bool,
    moments: Vec<Layer>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Model {
    layers: Vec<Layer>,
    heads: BTreeMap<String, Layer>,
    embed: Vec<[f16; 3]>,
    table: Table,
    ends: (f32, i64, [[u8; 2]; 2]),
    #[serde(flatten)]
    extra: Extra,
}

/// An array of `ndarray`.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Table {
    rows: Array2<f32>,
}

/// A tensor of a file.
#[derive(Clone, PartialEq)]
struct Part {
    name: String,
    dtype: String,
    shape: Vec<usize>,
    data: Vec<u8>,
}

fn encode(parts: &[Part]) -> Vec<u8> {
    let (mut entries, mut data) = (Vec::new(), Vec::new());
    for Part { name, dtype, shape, data: part } in parts {
        let (begin, end) = (data.len(), data.len() + part.len());
        data.extend(part);
        entries.push(format!(
            r#""{name}":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{begin},{end}]}}"#
        ));
    }
    let header = format!("{{{}}}", entries.join(","));
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat()
}

fn model(rng: &mut Rng) -> Model {
    let layer = |rng: &mut Rng| {
        let (rows, columns) = (rng.usize(2..5), rng.usize(2..4));
        let row = |rng: &mut Rng| (0..columns).map(|_| rng.f32()).collect();
        Layer { w: (0..rows).map(|_| row(rng)).collect(), b: vec![rng.f64(); rows] }
    };
    let many = |rng: &mut Rng| (0..rng.usize(1..4)).map(|_| layer(rng)).collect();
    Model {
        layers: many(rng),
        heads: BTreeMap::from([("a".to_owned(), layer(rng)), ("b c".to_owned(), layer(rng))]),
        embed: vec![[f16::from_f32(rng.f32()); 3]; 4],
        table: Table { rows: Array2::from_shape_fn((2, 3), |_| rng.f32()) },
        ends: (rng.f32(), rng.i64(..), [[rng.u8(..); 2]; 2]),
        extra: Extra { steps: [rng.u32(..); 2], trained: rng.bool(), moments: many(rng) },
    }
}

/// The parts of a model, whose array is one tensor.
fn parts(model: &Model) -> Vec<Part> {
    let tree = Tree::of(model).unwrap();
    let tensors = Tensors::of(&tree).unwrap();
    let parts = tensors.iter();
    parts
        .map(|(name, tensor)| Part {
            name: name.to_owned(),
            dtype: tensor.dtype().name().to_uppercase(),
            shape: tensor.shape().to_vec(),
            data: tensor.bytes().to_vec(),
        })
        .collect()
}

/// Changes one tensor; returns the names that an error has to have.
fn mutate(kind: usize, parts: &mut Vec<Part>, rng: &mut Rng) -> Vec<String> {
    let at = rng.usize(0..parts.len());
    let name = parts[at].name.clone();
    match kind {
        0 => drop(parts.remove(at)),
        1 => {
            let above = name.rsplit_once('.').map_or("", |(above, _)| above);
            let extra = Part {
                name: format!("{above}.extra").trim_start_matches('.').to_owned(),
                ..parts[at].clone()
            };
            let extra_name = extra.name.clone();
            parts.insert(at, extra);
            return vec![extra_name];
        }
        2 => parts[at].name.push('_'),
        3 => match parts[at].shape.len() {
            0 => parts[at].shape = vec![1],
            1 => parts[at].shape.push(1),
            _ if rng.bool() => parts[at].shape = vec![parts[at].shape.iter().product()],
            _ => parts[at].shape.insert(0, 1),
        },
        _ => {
            let others: &[&str] = match parts[at].dtype.as_str() {
                "F32" | "U32" => &["I32", "U32", "F32"],
                "F64" | "I64" => &["U64", "I64", "F64"],
                "F16" => &["BF16", "U16"],
                _ => &["I8"],
            };
            let others: Vec<_> = others.iter().filter(|other| **other != parts[at].dtype).collect();
            parts[at].dtype = (*rng.choice(others).unwrap()).to_string();
        }
    }
    vec![name]
}

#[test]
fn no_changed_file_is_read_in_silence() {
    let mut rng = Rng::with_seed(20);
    let mut kinds = BTreeMap::<&str, usize>::new();
    for case in 0..500 {
        let model = model(&mut rng);
        let mut parts = parts(&model);
        rng.shuffle(&mut parts); // in any order, as other writers sort them
        assert_eq!(
            safetensors::from_bytes(&encode(&parts)).unwrap().load::<Model>().unwrap(),
            model
        );

        let names = mutate(case % 5, &mut parts, &mut rng);
        let error = match safetensors::from_bytes(&encode(&parts)).and_then(|it| it.load::<Model>())
        {
            Ok(read) => panic!("{names:?} was read in silence: {read:?}"),
            Err(error) => error,
        };
        let ErrorKind::Load(report) = error.kind() else { panic!("{error}") };
        let LoadReport { missing, dropped, renamed, changed, stopped, .. } = &**report;
        let text = error.to_string();
        let is_named = names.iter().all(|name| text.contains(&format!("`{name}`")));
        // Inside a buffer of serde, it is the place of the buffer that is known.
        assert!(is_named || stopped.is_some(), "{names:?}: {text}");
        *kinds.entry(if is_named { "named" } else { "stopped" }).or_default() += 1;
        let total = missing.len() + dropped.len() + renamed.len() + changed.len();
        assert!(total > 0 || stopped.is_some());
    }
    assert!(kinds["named"] > 400, "{kinds:?}");
}

/// Randomly changed bytes are refused, or read as tensors that round-trip.
#[test]
fn damaged_files_are_refused_or_read() {
    let mut rng = Rng::with_seed(21);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..1_500 {
        let model = model(&mut rng);
        let tree = Tree::of(&model).unwrap();
        let mut bytes = safetensors::to_bytes(&Tensors::of(&tree).unwrap()).unwrap();
        let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize + 8;
        for _ in 0..rng.usize(1..4) {
            let at = rng.usize(0..header.min(bytes.len()));
            match rng.u8(0..4) {
                0 => bytes[at] = rng.u8(..),
                1 => bytes[at] ^= 1 << rng.u8(0..8),
                2 => drop(bytes.remove(at)),
                _ => bytes.insert(at, rng.u8(..)),
            }
        }
        match safetensors::from_bytes(&bytes).and_then(|it| it.read()) {
            Ok(tensors) => {
                read += 1;
                let again = safetensors::to_bytes(&tensors).unwrap();
                assert_eq!(safetensors::from_bytes(&again).unwrap().read().unwrap(), tensors);
                let _ = (tensors.load::<Model>(), Export::new().tree::<Leaf>(&tensors));
            }
            Err(error) => {
                refused += 1;
                assert!(error.to_string().len() < 2_000, "{error}");
            }
        }
    }
    assert!(read > 0 && refused > 0, "{read} {refused}");
}
