//! Floats of at most 8 bits beside `ml_dtypes`: `python/small_floats.py` wrote the vectors.

use std::collections::BTreeMap;

use half::bf16;
use insta::assert_snapshot;
use serde::Deserialize;
use treedef_tensors::{Loader, Source, safetensors};

#[derive(Deserialize)]
struct Vector {
    dtype: String,
    bits: usize,
    numbers: Vec<String>,
}

fn vectors() -> Vec<Vector> {
    let lines = include_str!("../vectors/small_floats.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn file(dtype: &str, count: usize, data: &[u8]) -> Vec<u8> {
    let end = data.len();
    let header =
        format!(r#"{{"w":{{"dtype":"{dtype}","shape":[{count}],"data_offsets":[0,{end}]}}}}"#);
    let length = u64::try_from(header.len()).unwrap().to_le_bytes();
    [&length, header.as_bytes(), data].concat()
}

fn source(file: &[u8]) -> Source<'_> {
    safetensors::from_bytes(file).unwrap()
}

/// All codes, the first in the lowest bits.
fn packed(bits: usize) -> Vec<u8> {
    let mut bytes = vec![0_u8; (bits << bits) / 8];
    for bit in 0..bits << bits {
        let is_set = ((bit / bits) >> (bit % bits)) & 1 == 1;
        bytes[bit / 8] |= u8::from(is_set) << (bit % 8);
    }
    bytes
}

fn expected(numbers: &[String]) -> Vec<f32> {
    let number = |text: &String| match u32::from_str_radix(text, 16) {
        Ok(bits) => f32::from_bits(bits),
        Err(_) => f32::NAN,
    };
    numbers.iter().map(number).collect()
}

fn bits(numbers: &[f32]) -> Vec<u32> {
    numbers.iter().map(|it| if it.is_nan() { u32::MAX } else { it.to_bits() }).collect()
}

#[test]
fn each_code_is_the_number_of_ml_dtypes() {
    let all = vectors();
    assert_eq!(all.len(), 8);
    for Vector { dtype, bits: width, numbers } in all {
        assert_eq!(numbers.len(), 1 << width);
        let expected = expected(&numbers);
        let file = file(&dtype, numbers.len(), &packed(width));
        let source = source(&file);
        let read = source.load::<BTreeMap<String, Vec<f32>>>().unwrap();
        assert_eq!(bits(&read["w"]), bits(&expected), "{dtype}");
        // Each part, wherever it begins.
        let widened = source.get("w").unwrap().widened();
        let whole = widened.read_bytes().unwrap();
        for (start, length) in
            [(0, 1), (1, 3), (3, 6), (4, 8), (7, 9), (12, 4), (whole.len() - 5, 5)]
        {
            let mut part = vec![0; length];
            widened.read_at(u64::try_from(start).unwrap(), &mut part).unwrap();
            assert_eq!(part, whole[start..start + length], "{dtype} {start}");
        }
        assert!(widened.read_at(u64::try_from(whole.len()).unwrap() - 1, &mut [0; 2]).is_err());
        // They are copied as they were.
        let mut copy = Vec::new();
        safetensors::write(&source, &mut copy).unwrap();
        assert!(copy.ends_with(&packed(width)), "{dtype}");
    }
}

#[test]
fn small_floats_are_f32_to_types() {
    let file = file("F8_E4M3", 3, &[0x38, 0x7f, 0xc4]);
    let source = source(&file);
    let error = source.load::<BTreeMap<String, Vec<u8>>>().unwrap_err();
    assert_snapshot!(error, @r"
    the tensors do not fit the type
    `w` is f8_e4m3[3], expected u8[3]
    ");
    let error = source.load::<BTreeMap<String, f32>>().unwrap_err();
    assert_snapshot!(error, @r"
    the tensors do not fit the type
    `w` is f8_e4m3[3], expected f32[]
    ");
    let wide: BTreeMap<String, Vec<f64>> =
        Loader::new().convert_floats(true).load(&source).unwrap();
    assert!(wide["w"][1].is_nan());
    assert_eq!([wide["w"][0], wide["w"][2]], [1.0, -3.0]);
    let narrow: BTreeMap<String, Vec<bf16>> =
        Loader::new().convert_floats(true).load(&source).unwrap();
    assert_eq!(narrow["w"][2], bf16::from_f32(-3.0));
    let error = source.read().unwrap_err();
    assert_snapshot!(error, @r#""w" is f8_e4m3[3], whose numbers are read as f32, see `StoredTensor::widened`"#);
}

#[test]
fn no_small_floats_are_no_numbers() {
    let empty = file("F4", 0, &[]);
    let read = source(&empty).load::<BTreeMap<String, Vec<f32>>>().unwrap();
    assert!(read["w"].is_empty());
}
