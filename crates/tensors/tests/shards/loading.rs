//! Types that are read from files, piece by piece.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use treedef::Tree;
use treedef_tensors::{Export, Loader, Source, Tensors, safetensors};

use crate::Folder;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Layer {
    w: Vec<[f32; 3]>,
    b: Option<Vec<f64>>,
    on: bool,
    bytes: ndarray::Array2<u8>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Model {
    layers: Vec<Layer>,
    name: String,
    rest: BTreeMap<String, (i32, f32)>,
}

fn model() -> Model {
    let layer = |number: u8| Layer {
        // More than is read at once.
        w: (0..200_000).map(|at| [at as f32, f32::from(number), -1.0]).collect(),
        b: (number > 0).then(|| vec![0.5; 3]),
        on: number == 1,
        bytes: ndarray::Array2::from_shape_fn((3, 2), |(a, b)| (3 * a + b) as u8 + number),
    };
    Model {
        layers: (0..3).map(layer).collect(),
        name: "x".to_owned(),
        rest: BTreeMap::from([("y".to_owned(), (-1, 0.5))]),
    }
}

/// The tensors of a value, each in a file of its own.
fn in_files(folder: &Folder, tensors: &Tensors<'_>) -> Source<'static> {
    let mut paths = Vec::new();
    let keys: Vec<&str> = tensors.metadata_keys().collect();
    for (number, (name, tensor)) in tensors.iter().enumerate() {
        let mut one = Tensors::new([(name.to_owned(), tensor.clone())]).unwrap();
        for key in &keys {
            one = one.with_metadata(*key, tensors.metadata(key).unwrap());
        }
        paths.push(folder.join(&format!("{number}.safetensors")));
        safetensors::save(&one, &paths[number]).unwrap();
    }
    safetensors::open_files(&paths).unwrap()
}

#[test]
fn a_value_is_read_from_its_files() {
    let (folder, value) = (Folder::new(), model());
    let tree = Tree::of(&value).unwrap();
    let tensors = Export::new().rest_in_metadata(true).tensors(&tree).unwrap();
    let source = in_files(&folder, &tensors);
    assert_eq!(source.load::<Model>().unwrap(), value);
    assert_eq!(source.read().unwrap(), tensors);
    assert_eq!(Export::new().rest_in_metadata(true).tree(&source.read().unwrap()).unwrap(), tree);
}

/// Numbers of all sizes, in rows that are longer and shorter than one read.
#[test]
fn long_rows_are_read_by_pieces() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Rows {
        bytes: Vec<u8>,
        floats: Vec<f64>,
        halves: Vec<half::f16>,
        signs: Vec<bool>,
        matrix: ndarray::Array2<i16>,
        complex: Vec<[f32; 2]>,
        columns: Vec<Vec<u32>>,
        few: Vec<u64>,
    }
    let value = Rows {
        bytes: (0..3_000_001u32).map(|at| (at % 251) as u8).collect(),
        floats: (0..300_001).map(f64::from).collect(),
        halves: (0..1_100).map(half::f16::from_bits).collect(),
        signs: (0..2_049).map(|at| at % 3 == 0).collect(),
        matrix: ndarray::Array2::from_shape_fn((1_025, 1_023), |(a, b)| (31 * a + b) as i16),
        complex: (0..1_500).map(|at| [at as f32, 0.5]).collect(),
        columns: (0..70).map(|a| (0..65).map(|b| 100 * a + b).collect()).collect(),
        few: (0..63).collect(),
    };
    let tree = Tree::of(&value).unwrap();
    let source = in_files(&Folder::new(), &Tensors::of(&tree).unwrap());
    // The files are open, though their folder is removed.
    assert_eq!(source.load::<Rows>().unwrap(), value);
    let wide: BTreeMap<String, Vec<f32>> =
        Loader::new().convert_floats(true).load(source.select("halves").unwrap()).unwrap();
    assert!(wide["halves"].iter().zip(&value.halves).all(|(a, b)| *a == f32::from(*b)));
}

#[test]
fn rules_hold_for_files() {
    let folder = Folder::new();
    let wide: Vec<Vec<f32>> =
        (0..700).map(|a| (0..800).map(|b| (a * 1000 + b) as f32).collect()).collect();
    let narrow: Vec<Vec<f64>> =
        (0..800).map(|b| (0..700).map(|a| f64::from(a * 1000 + b)).collect()).collect();
    let value = BTreeMap::from([("w", &wide)]);
    let tree = Tree::of(&value).unwrap();
    let source = in_files(&folder, &Tensors::of(&tree).unwrap());
    let loader = Loader::new().rename("w", "v").transpose("v").convert_floats(true);
    let read: BTreeMap<String, Vec<Vec<f64>>> = loader.load(&source).unwrap();
    assert_eq!(read["v"], narrow);
}

/// Elements of stacked tensors are read by turns.
#[test]
fn stacked_tensors_are_read_by_turns() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Particle {
        pos: [f64; 3],
        mass: f32,
        near: Vec<u16>,
    }
    let particle = |at: u16| Particle {
        pos: [f64::from(at), 1.0, 2.0],
        mass: f32::from(at),
        near: vec![at; usize::from(1 + at % 3)],
    };
    let value: Vec<Particle> = (0..9_000).map(particle).collect();
    let tree = Tree::of(&value).unwrap();
    let export = Export::new().stack("[*].pos").stack("[*].mass");
    let folder = Folder::new();
    let path = folder.join("a.safetensors");
    safetensors::save(&export.tensors(&tree).unwrap(), &path).unwrap();
    let loader = Loader::new().stack("[*].pos").stack("[*].mass");
    let source = safetensors::open(&path).unwrap();
    assert!(source.iter().len() > 3_000);
    assert_eq!(loader.load::<Vec<Particle>>(&source).unwrap(), value);
}

#[test]
fn differences_are_told_as_those_of_memory() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Other {
        w: Vec<[f32; 2]>,
        // The type refuses zeros, which replace numbers after an error.
        count: std::num::NonZeroU64,
        gone: Vec<f32>,
    }
    #[derive(Debug, Serialize, Deserialize)]
    struct Others {
        layers: Vec<Other>,
        last: std::num::NonZeroU8,
    }
    let value = serde_json::json!({
        "layers": [{"w": [[0.5, 1.5, 2.5]], "count": 7}, {"w": [[0.5, 1.5]], "count": 9}],
        "last": 255
    });
    let tree = Tree::of(&value).unwrap();
    let tensors = Export::new().tensors(&tree).unwrap();
    let source = in_files(&Folder::new(), &tensors);
    let of_files = Loader::new().convert_floats(true).load::<Others>(&source).unwrap_err();
    let of_memory = Loader::new().convert_floats(true).load::<Others>(&tensors).unwrap_err();
    assert_eq!(of_files.to_string(), of_memory.to_string());
    assert_snapshot!(of_files, @"
    the tensors do not fit the type
    stopped: invalid value: integer `0`, expected a nonzero u8 at `last`
    `layers.0.w` is f64[1, 3], expected f32[1, 2]
    `last` is u64[], expected u8[]
    missing `layers.0.gone`: f32[_]
    missing `layers.1.gone`: f32[_]
    ");
}

#[test]
fn a_file_that_fails_is_the_error() {
    let folder = Folder::new();
    folder.shard("a.safetensors", &[("a", &[1; 9]), ("b", &[2; 9])]);
    let source = safetensors::open(folder.join("a.safetensors")).unwrap();
    let file = std::fs::File::options().write(true).open(folder.join("a.safetensors")).unwrap();
    file.set_len(100).unwrap();
    let read = source.load::<BTreeMap<String, Vec<u8>>>();
    assert_snapshot!(folder.refused(read), @"a.safetensors: it became shorter while it was open");
}

#[test]
fn small_floats_are_listed_and_copied() {
    let header = r#"{"a":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"F4","shape":[2,2],"data_offsets":[3,5]},"c":{"dtype":"U8","shape":[1],"data_offsets":[5,6]}}"#;
    let length = u64::try_from(header.len()).unwrap().to_le_bytes();
    let bytes = [&length[..], header.as_bytes(), &[1, 2, 3, 4, 5, 6]].concat();
    let source = safetensors::from_bytes(&bytes).unwrap();
    assert_eq!(source.get("b").unwrap().descriptor().to_string(), "f4[2, 2]");
    assert_eq!(*source.get("b").unwrap().read_bytes().unwrap(), [4, 5]);
    let error = source.get("b").unwrap().read().unwrap_err();
    assert_snapshot!(error, @r#""b" is f4[2, 2], whose numbers are read as f32, see `StoredTensor::widened`"#);
    let loader = Loader::new().ignore("a").ignore("b");
    assert_eq!(loader.load::<BTreeMap<String, Vec<u8>>>(&source).unwrap()["c"], [6]);
}

#[test]
fn what_is_selected_is_all_that_is_read() {
    let folder = Folder::new();
    folder.shard("a.safetensors", &[("x.a", &[1; 3]), ("y.a", &[2; 3])]);
    folder.shard("b.safetensors", &[("x.b", &[3; 3])]);
    let all = safetensors::open_files([folder.join("a.safetensors"), folder.join("b.safetensors")]);
    let source = all.unwrap().select("x.*").unwrap();
    // The bytes of `y.a` are not there any more.
    let path = folder.join("a.safetensors");
    let length = std::fs::metadata(&path).unwrap().len();
    std::fs::File::options().write(true).open(path).unwrap().set_len(length - 3).unwrap();
    let read: BTreeMap<String, BTreeMap<String, [u8; 3]>> = source.load().unwrap();
    assert_eq!(read["x"]["a"], [1; 3]);
    assert_eq!(read["x"]["b"], [3; 3]);
    assert_snapshot!(source.select("z.**").unwrap_err(), @"`z.**` matches no tensor");
}

/// What was told about the files is told of a part of them.
#[test]
fn a_part_has_the_warnings_of_the_whole() {
    let folder = Folder::new();
    folder.shard("model.safetensors", &[("x", &[1]), ("y", &[2])]);
    folder.shard("stray.safetensors", &[("z", &[3])]);
    let source = safetensors::open(folder.path()).unwrap();
    let warned = folder.warned(&source);
    assert!(warned.starts_with("stray.safetensors: left out"), "{warned}");
    assert_eq!(folder.warned(&source.select("x").unwrap()), warned);
    assert_eq!(folder.warned(&source.separate()), warned);
}

#[test]
fn tied_tensors_are_read_under_each_name() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Both {
        wte: Vec<u8>,
        head: Vec<u8>,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct One {
        head: Vec<u8>,
    }
    let folder = Folder::new();
    let bytes = crate::file(&[("wte", &[1, 2])]);
    let tensors =
        safetensors::from_bytes(&bytes).unwrap().read().unwrap().with_metadata("head", "wte");
    let tensors = tensors.with_metadata("format", "wte");
    safetensors::save(&tensors, folder.join("a.safetensors")).unwrap();
    let source = safetensors::open(folder.path()).unwrap();
    assert_eq!(source.aliases().collect::<Vec<_>>(), [("head", "wte")]);
    assert_eq!(source.get("head").unwrap().read().unwrap().bytes(), [1, 2]);
    let both = Both { wte: vec![1, 2], head: vec![1, 2] };
    assert_eq!(source.load::<Both>().unwrap(), both);
    assert_eq!(tensors.load::<Both>().unwrap(), both); // also without files
    assert_eq!(source.load::<One>().unwrap(), One { head: vec![1, 2] });
    assert_eq!(source.separate().load::<Both>().unwrap(), both);
    assert_eq!(source.separate().iter().len(), 2);
    // Separate tensors are read separately.
    assert_snapshot!(source.separate().load::<One>().unwrap_err(), @"
    the tensors do not fit the type
    unused `wte`: u8[2]
    ");
    let head = source.select("head").unwrap();
    assert_eq!(head.load::<One>().unwrap(), One { head: vec![1, 2] });
    assert_eq!((head.iter().len(), head.aliases().count()), (1, 0));
}
