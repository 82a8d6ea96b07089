//! torch's own description of its files: an `expected.json` in each folder.

use serde_json::{Value as Json, json};
use treedef::{Dtype, Key, NodeKind, NodeRef};
use treedef_tensors::pytorch::{self, PytorchLeaf};
use treedef_tensors::{ErrorKind, StoredTensor};

/// The names of torch.
const DTYPES: [(&str, &str); 18] = [
    ("f64", "float64"),
    ("f32", "float32"),
    ("f16", "float16"),
    ("bf16", "bfloat16"),
    ("i64", "int64"),
    ("i32", "int32"),
    ("i16", "int16"),
    ("i8", "int8"),
    ("u8", "uint8"),
    ("u16", "uint16"),
    ("u32", "uint32"),
    ("u64", "uint64"),
    ("bool", "bool"),
    ("c64", "complex64"),
    ("c128", "complex128"),
    ("f8_e4m3", "float8_e4m3fn"),
    ("f8_e5m2", "float8_e5m2"),
    ("f8_e8m0", "float8_e8m0fnu"),
];

fn number(value: f64) -> Json {
    match value {
        value if value.is_nan() => json!("nan"),
        f64::INFINITY => json!("inf"),
        f64::NEG_INFINITY => json!("-inf"),
        value => json!(value),
    }
}

/// A float of 8 bits with this number of exponent bits. The exponent is biased by half of its range.
fn small(byte: u8, exponent_bits: i32) -> f64 {
    let mantissa_bits = 7 - exponent_bits;
    let exponent = i32::from(byte & 0x7f) >> mantissa_bits;
    let mantissa = f64::from(byte & ((1 << mantissa_bits) - 1)) / f64::from(1 << mantissa_bits);
    let bias = (1 << (exponent_bits - 1)) - 1;
    let size = match exponent {
        0 => mantissa * 2_f64.powi(1 - bias),
        _ => (1.0 + mantissa) * 2_f64.powi(exponent - bias),
    };
    if byte >= 0x80 { -size } else { size }
}

fn numbers(tensor: &StoredTensor<'_>) -> Vec<Json> {
    let bytes = tensor.read_bytes().unwrap();
    macro_rules! each {
        ($type:ty, $to:expr) => {
            bytes
                .chunks_exact(size_of::<$type>())
                .map(|chunk| number(($to)(<$type>::from_le_bytes(chunk.try_into().unwrap()))))
                .collect()
        };
    }
    match tensor.descriptor().dtype() {
        Some(Dtype::Bool | Dtype::U8) => each!(u8, f64::from),
        Some(Dtype::I8) => each!(i8, f64::from),
        Some(Dtype::U16) => each!(u16, f64::from),
        Some(Dtype::I16) => each!(i16, f64::from),
        Some(Dtype::U32) => each!(u32, f64::from),
        Some(Dtype::I32) => each!(i32, f64::from),
        Some(Dtype::U64) => each!(u64, |it| it as f64),
        Some(Dtype::I64) => each!(i64, |it| it as f64),
        Some(Dtype::F16) => each!(u16, |it| half::f16::from_bits(it).to_f64()),
        Some(Dtype::Bf16) => each!(u16, |it| half::bf16::from_bits(it).to_f64()),
        Some(Dtype::F32 | Dtype::C64) => each!(f32, f64::from),
        Some(Dtype::F64 | Dtype::C128) => each!(f64, f64::from),
        _ => match tensor.descriptor().type_name() {
            "f8_e4m3" => bytes.iter().map(|it| number(small(*it, 4))).collect(),
            "f8_e5m2" => bytes.iter().map(|it| number(small(*it, 5))).collect(),
            other => panic!("{other}"),
        },
    }
}

fn leaf(entry: &PytorchLeaf<'_>) -> Json {
    let value = match entry {
        PytorchLeaf::Tensor(tensor) => {
            let dtype = tensor.descriptor().type_name();
            let (_, dtype) = DTYPES.iter().find(|(name, _)| *name == dtype).unwrap();
            let shape = tensor.descriptor().shape();
            return json!({"dtype": dtype, "shape": shape, "numbers": numbers(tensor)});
        }
        PytorchLeaf::Value(value) => value,
        _ => unreachable!(),
    };
    let text = value.as_str().map(|text| json!(text));
    let float = || value.as_f64().map(number);
    let integer = || value.as_i128().map(|integer| integer.to_string().parse::<Json>().unwrap());
    let bool = || value.as_bool().map(|bool| json!(bool));
    json!({"value": text.or_else(bool).or_else(integer).or_else(float).unwrap()})
}

/// Integers and floats that are equal are one to JSON.
fn plain(json: Json) -> Json {
    match json {
        Json::Number(number) => json!(number.to_string().parse::<f64>().unwrap()),
        Json::Array(items) => items.into_iter().map(plain).collect(),
        Json::Object(entries) => {
            let mut entries: serde_json::Map<String, Json> =
                entries.into_iter().map(|(key, value)| (key, plain(value))).collect();
            if let Some(Json::Array(map)) = entries.get_mut("map") {
                map.sort_by_key(|entry| entry[0].to_string()); // dicts are equal in any order
            }
            entries.into()
        }
        other => other,
    }
}

fn key(key: &Key) -> Json {
    let Key::Entry(value) = key else { panic!("{key:?}") };
    node(value.root(), &value.leaves().iter().cloned().map(PytorchLeaf::Value).collect::<Vec<_>>())
}

fn node(it: NodeRef<'_>, leaves: &[PytorchLeaf<'_>]) -> Json {
    let children = || it.children().map(|child| node(child, leaves)).collect::<Vec<_>>();
    match it.kind() {
        NodeKind::Leaf => leaf(&leaves[it.leaf_range().start]),
        NodeKind::None => json!({"value": null}),
        NodeKind::Seq => json!({"list": children()}),
        NodeKind::Tuple => json!({"tuple": children()}),
        NodeKind::Map => {
            let keys = (0..).map_while(|position| it.key(position));
            let entries = keys.zip(children()).map(|(name, child)| json!([key(&name), child]));
            json!({"map": entries.collect::<Vec<_>>()})
        }
        _ => {
            let name = it.name().unwrap().trim_matches(['<', '>']);
            match name {
                _ if name.starts_with("torch.sparse") => json!({"sparse": true}),
                "Complex" => json!({"complex": children()}),
                _ => json!({"other": name}),
            }
        }
    }
}

/// Arrays of numpy are tensors here; for other objects, the file only records that they exist.
fn expected(json: &Json) -> Json {
    match json {
        Json::Object(entries) if entries.get("other") == Some(&json!("numpy.ndarray")) => {
            json!({"dtype": "int64", "shape": [4], "numbers": [0, 1, 2, 3]})
        }
        Json::Object(entries) => {
            entries.iter().map(|(key, value)| (key.clone(), expected(value))).collect()
        }
        Json::Array(items) => items.iter().map(expected).collect(),
        other => other.clone(),
    }
}

/// Compares the files of a folder with their descriptions. Returns their number.
fn check(folder: &str) -> usize {
    let all = std::fs::read_to_string(format!("{folder}/expected.json")).unwrap();
    let all: serde_json::Map<String, Json> = serde_json::from_str(&all).unwrap();
    for (name, json) in &all {
        let path = format!("{folder}/{name}");
        let bytes = std::fs::read(&path).unwrap();
        for file in [pytorch::open(&path).unwrap(), pytorch::from_bytes(&bytes).unwrap()] {
            assert_eq!(file.faults(), []);
            let tree = file.lazy_tree();
            let found = node(tree.treedef().root(), tree.leaves());
            if json.is_object() {
                assert_eq!(plain(found), plain(expected(json)), "{name}");
            }
            // The keys `0` and `"0"` have the same name.
            if let Err(error) = file.source() {
                assert!(matches!(error.kind(), ErrorKind::Clash { .. }), "{name}: {error}");
            }
        }
    }
    all.len()
}

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/torch");

#[test]
fn files_of_torch_have_what_torch_says() {
    assert_eq!(check(FOLDER), 12);
}

/// `python/pytorch.py` wrote them. `TREEDEF_TORCH` is a folder with more of them.
#[test]
fn random_files_of_torch_have_what_torch_says() {
    assert_eq!(check(&format!("{FOLDER}/random")), 24);
    if let Ok(folder) = std::env::var("TREEDEF_TORCH") {
        println!("{} files of torch", check(&folder));
    }
}
