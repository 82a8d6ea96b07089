//! Random tensors, files that numpy and flax wrote, and damage to files.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use fastrand::Rng;
use serde_json::{Value as Json, json};
use treedef_tensors::npy::{self, ReadOptions};
use treedef_tensors::{Dtype, Result, Source, Tensor, Tensors, flax, npz};

const PARTS: [&str; 12] =
    ["a", "layers", "0", "1", "é", "日本", "x y", "..", "~", "a.npy", "", "C:\\"];

/// Tensors whose names are paths, no one's path leading through another.
pub(crate) fn tensors(rng: &mut Rng) -> Tensors<'static> {
    let count = rng.usize(0..6);
    let tensors = (0..count).map(|index| {
        let mut name = "params/".to_owned();
        for _ in 0..rng.usize(0..3) {
            name += PARTS[rng.usize(0..PARTS.len())];
            name += "/";
        }
        (format!("{name}t{index}"), tensor(rng))
    });
    Tensors::new(tensors.collect::<Vec<_>>()).unwrap()
}

pub(crate) fn tensor(rng: &mut Rng) -> Tensor<'static> {
    let dtype = Dtype::ALL[rng.usize(0..Dtype::ALL.len())];
    let shape: Vec<usize> = (0..rng.usize(0..5)).map(|_| rng.usize(0..5)).collect();
    let size = shape.iter().product::<usize>() * dtype.size();
    let byte = |_| if dtype == Dtype::Bool { rng.u8(0..2) } else { rng.u8(..) };
    Tensor::new(dtype, shape.clone(), (0..size).map(byte).collect::<Vec<_>>()).unwrap()
}

/// Reads a file of `npy`, `npz` or `flax`. A lone array has the name `""`.
pub(crate) fn read<'a>(format: &str, file: &'a [u8]) -> Result<Tensors<'a>> {
    let reading = ReadOptions::new().bf16(true);
    match format {
        "npy" => npy::from_bytes_with(file, &reading)?.read(),
        "npz" => npz::from_bytes_with(file, &reading).and_then(|it| it.read()),
        "flax" => flax::from_bytes(file),
        other => panic!("{other}"),
    }
}

/// Names, types, shapes and numbers, as `python/check_arrays.py` describes them.
pub(crate) fn described(tensors: &Tensors<'_>) -> Json {
    let row = |(name, tensor): (&str, &Tensor<'_>)| {
        let bytes = BASE64.encode(tensor.bytes());
        json!([name, tensor.dtype().name(), tensor.shape(), bytes])
    };
    tensors.iter().map(row).collect()
}

/// Lists a file of `npy` or `npz`, with elements of any type.
pub(crate) fn source<'a>(format: &str, file: &'a [u8]) -> Result<Source<'a>> {
    let reading = ReadOptions::new().bf16(true);
    match format {
        "npy" => npy::from_bytes_with(file, &reading),
        _ => npz::from_bytes_with(file, &reading),
    }
}

/// Names, types and shapes, with the numbers, the texts, or nothing where the elements are not read.
pub(crate) fn values(source: &Source<'_>) -> Json {
    let row = |stored: &treedef_tensors::StoredTensor<'_>| {
        let descriptor = stored.descriptor();
        let values = match (descriptor.dtype(), descriptor.unread()) {
            (Some(_), _) => json!(BASE64.encode(stored.read().unwrap().bytes())),
            (None, None) => serde_json::to_value(stored.tree().unwrap()).unwrap(),
            (None, Some(_)) => {
                stored.tree().unwrap_err();
                Json::Null
            }
        };
        json!([stored.name(), descriptor.type_name(), descriptor.shape(), values])
    };
    source.iter().map(row).collect()
}

/// The output of `python/check_arrays.py record` in one format: the row and its file.
pub(crate) fn recorded(formats: &[&str]) -> Vec<(Json, Vec<u8>)> {
    let rows = include_str!("../vectors/arrays.jsonl").lines();
    let rows = rows.map(|line| serde_json::from_str::<Json>(line).unwrap());
    let rows = rows.filter(|row| formats.contains(&row["format"].as_str().unwrap()));
    let rows: Vec<_> = rows
        .map(|row| (row.clone(), BASE64.decode(row["file"].as_str().unwrap()).unwrap()))
        .collect();
    assert!(rows.len() > 5);
    rows
}

/// A file is read as Python described it, or refused if Python had no type for it.
pub(crate) fn replay(row: &Json, file: &[u8]) {
    let format = row["format"].as_str().unwrap();
    if row["values"].is_array() {
        let source = source(format, file).unwrap();
        assert_eq!(values(&source), row["values"], "{}", row["name"]);
        let are_numbers = source.iter().all(|it| it.descriptor().dtype().is_some());
        assert_eq!(source.read().is_ok(), are_numbers, "{}", row["name"]);
        return;
    }
    match (read(format, file), row["error"].as_str()) {
        (Ok(tensors), None) => assert_eq!(described(&tensors), row["tensors"], "{}", row["name"]),
        (Err(error), Some(expected)) => {
            assert!(error.to_string().contains(expected), "{}: {error}", row["name"]);
        }
        (result, _) => panic!("{}: {result:?}", row["name"]),
    }
}

/// Changes, removes or inserts a byte, or cuts the file.
pub(crate) fn damage(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let at = rng.usize(..=bytes.len());
    match (rng.u8(..6), bytes.get_mut(at)) {
        (0 | 1, Some(byte)) => *byte ^= 1 << rng.u8(..8),
        (2, Some(byte)) => *byte = rng.u8(..),
        (3, Some(_)) => drop(bytes.remove(at)),
        (4, _) => bytes.truncate(at),
        _ => bytes.insert(at, rng.u8(..)),
    }
}
