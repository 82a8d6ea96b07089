//! All formats hold the same typed value, and no input makes a reader panic.

use serde::{Deserialize, Serialize};
use treedef::{Leaf, Tree};
use treedef_cli::{Document, Format, read, write};

const FORMATS: [Format; 8] = [
    Format::Json,
    Format::Toml,
    Format::Yaml,
    Format::Cbor,
    Format::Msgpack,
    Format::Ron,
    Format::Tree,
    Format::Safetensors,
];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Config {
    name: String,
    port: u16,
    offset: i64,
    ratio: f64,
    on: bool,
    servers: Vec<Server>,
    weights: [[f64; 2]; 2],
    words: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Server {
    host: String,
    port: u16,
}

fn config() -> Config {
    let server = |host: &str, port| Server { host: host.to_owned(), port };
    let words =
        ["yes", "no", "1", "1.5", "null", "~", "", " x ", "a: b", "- c", "\u{7f}\n\t\"'\\", "ü"];
    Config {
        name: "demo".to_owned(),
        port: 8080,
        offset: i64::MIN,
        ratio: 0.1,
        on: true,
        servers: vec![server("x", 1), server("y", u16::MAX)],
        weights: [[1.0, -2.5], [1e300, 5e-324]],
        words: words.map(str::to_owned).to_vec(),
    }
}

fn tree_of(bytes: &[u8], format: Format) -> Tree<Leaf> {
    match read(bytes, format) {
        Ok(Document::Tree(tree)) => tree,
        other => panic!("{format:?}: {other:?}"),
    }
}

#[test]
fn every_format_gives_the_typed_value_back() {
    let (config, tree) = (config(), Tree::of(&config()).unwrap());
    for format in FORMATS {
        let bytes = write(&tree, format).unwrap();
        let back = tree_of(&bytes, format).into_typed::<Config>().unwrap();
        assert_eq!(back, config, "{format:?}");
    }
}

#[test]
fn documents_are_read_as_the_formats_own_values() {
    let tree = Tree::of(&config()).unwrap();
    let text = |format| String::from_utf8(write(&tree, format).unwrap()).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text(Format::Json)).unwrap();
    assert_eq!(tree_of(text(Format::Json).as_bytes(), Format::Json), Tree::of(&json).unwrap());
    let toml: toml::Value = toml::from_str(&text(Format::Toml)).unwrap();
    assert_eq!(tree_of(text(Format::Toml).as_bytes(), Format::Toml), Tree::of(&toml).unwrap());
    let cbor = write(&tree, Format::Cbor).unwrap();
    let value: ciborium::Value = ciborium::from_reader(&cbor[..]).unwrap();
    assert_eq!(tree_of(&cbor, Format::Cbor).to_string(), by_value(&value));
}

/// ciborium writes each integer in the kind that fits it, so its value is compared by numbers.
fn by_value(value: &ciborium::Value) -> String {
    let tree: Tree<Leaf> = value.deserialized().unwrap();
    tree.to_string()
}

#[test]
fn json_lines_are_a_sequence() {
    let tree = tree_of(b"{\"a\": 1}\n\n[2]\n3", Format::Jsonl);
    assert_eq!(tree.to_string(), r#"[{"a": 1u64}, [2u64], 3u64]"#);
    assert_eq!(write(&tree, Format::Jsonl).unwrap(), b"{\"a\":1}\n[2]\n3\n");
}

#[test]
fn dates_of_toml_are_texts() {
    let tree = tree_of(b"a = 1979-05-27T07:32:00Z\nb = {c = 07:32:00}", Format::Toml);
    assert_eq!(tree.to_string(), r#"{"a": "1979-05-27T07:32:00Z", "b": {"c": "07:32:00"}}"#);
}

#[test]
fn aliases_of_yaml_cannot_fill_the_memory() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..20 {
        let alias = format!("*a{},", level - 1).repeat(8);
        text += &format!("a{level}: &a{level} [{alias}]\n");
    }
    let error = read(text.as_bytes(), Format::Yaml).unwrap_err().to_string();
    assert!(error.contains("budget") || error.contains("alias"), "{error}");
}

#[test]
fn deep_documents_are_refused() {
    for (format, open) in
        [(Format::Json, "["), (Format::Yaml, "["), (Format::Ron, "["), (Format::Toml, "a=[")]
    {
        assert!(read(open.repeat(100_000).as_bytes(), format).is_err(), "{format:?}");
    }
    for (format, open) in [(Format::Cbor, 0x81), (Format::Msgpack, 0x91)] {
        assert!(read(&vec![open; 100_000], format).is_err(), "{format:?}");
    }
}

/// A random document.
fn random(rng: &mut fastrand::Rng, depth: usize) -> serde_json::Value {
    use serde_json::Value;
    let text = |rng: &mut fastrand::Rng| -> String {
        (0..rng.usize(0..6)).map(|_| rng.char('\0'..='\u{2fff}')).collect()
    };
    match rng.u8(0..if depth == 0 { 6 } else { 9 }) {
        0 => Value::Null,
        1 => rng.bool().into(),
        2 => rng.u64(..).into(),
        3 => rng.i64(..).into(),
        4 => f64::from_bits(rng.u64(..)).into(),
        5 => text(rng).into(),
        6 => (0..rng.usize(0..9)).map(|_| random(rng, depth - 1)).collect(),
        7 => vec![random(rng, depth - 1); rng.usize(0..9)].into(),
        _ => {
            let entries = (0..rng.usize(0..6)).map(|_| (text(rng), random(rng, depth - 1)));
            Value::Object(entries.collect())
        }
    }
}

fn damaged(rng: &mut fastrand::Rng, mut bytes: Vec<u8>) -> Vec<u8> {
    for _ in 0..rng.usize(1..4) {
        let at = rng.usize(0..=bytes.len());
        match rng.u8(0..4) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, rng.u8(..)),
            2 if at < bytes.len() => bytes[at] ^= 1 << rng.u8(0..8),
            _ if at < bytes.len() => drop(bytes.drain(at..bytes.len().min(at + 4))),
            _ => {}
        }
    }
    bytes
}

/// `TREEDEF_DOCUMENTS=100000` tries as many as was promised.
#[test]
fn random_documents_come_back_and_damaged_ones_do_no_harm() {
    let documents = std::env::var("TREEDEF_DOCUMENTS").map_or(400, |text| text.parse().unwrap());
    let mut rng = fastrand::Rng::with_seed(21);
    for _ in 0..documents {
        let value = random(&mut rng, 4);
        let tree = Tree::of(&value).unwrap();
        for format in FORMATS {
            // TOML has no null and no other root than a table.
            let Ok(bytes) = write(&tree, format) else { continue };
            if format != Format::Toml && format != Format::Yaml && format != Format::Ron {
                let back = tree_of(&bytes, format);
                assert_eq!(serde_json::to_value(&back).unwrap(), value, "{format:?}");
            }
            for _ in 0..10 {
                // A file with checksums is damaged, and the others may be.
                let damage = damaged(&mut rng, bytes.clone());
                let result = read(&damage, format);
                assert!(format != Format::Tree || damage == bytes || result.is_err());
            }
        }
    }
}

#[test]
fn damaged_files_of_tensors_do_no_harm() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands/tensors.in");
    let mut rng = fastrand::Rng::with_seed(22);
    for (name, format) in [
        ("model.safetensors", Format::Safetensors),
        ("model.npz", Format::Npz),
        ("big_endian.npy", Format::Npy),
    ] {
        let bytes = std::fs::read(format!("{folder}/{name}")).unwrap();
        let tree = tree_of(&bytes, format);
        assert!(
            tree.leaves().iter().all(|leaf| leaf.as_array().is_some() || leaf.as_i64() == Some(7))
        );
        let mut refused = 0;
        for _ in 0..500 {
            let damage = damaged(&mut rng, bytes.clone());
            refused += usize::from(read(&damage, format).is_err());
        }
        assert!(refused > 100, "{name}: {refused}");
    }
}
