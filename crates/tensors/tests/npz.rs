//! numpy's files: those that numpy 2.4.6 wrote, round trips, and damage.

use std::collections::BTreeMap;
use std::io::{Cursor, Write};

use fastrand::Rng;
use serde::{Deserialize, Serialize};
use treedef::{Flattener, Tree};
use treedef_tensors::npy::{self, ReadOptions};
use treedef_tensors::{Dtype, ErrorKind, Export, Loader, Tensor, Tensors, npz};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

#[allow(dead_code, reason = "the tests of flax need the rest")]
mod arrays;

/// A file of version 1 with this header.
fn npy_file(header: &str, elements: &[u8]) -> Vec<u8> {
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\0", &length[..], header.as_bytes(), elements].concat()
}

fn zip_file(members: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        let options = SimpleFileOptions::default().compression_method(method);
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// The only array of a file.
fn array(file: &[u8]) -> treedef_tensors::Result<Tensor<'_>> {
    let tensors = npy::from_bytes(file)?.read()?;
    assert_eq!(tensors.iter().len(), 1);
    Ok(tensors.get("").unwrap().clone())
}

fn one(name: &str, tensor: Tensor<'static>) -> Tensors<'static> {
    Tensors::new([(name.to_owned(), tensor)]).unwrap()
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: treedef_tensors::Result<T>, expected: &str) {
    let error = result.unwrap_err();
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn files_of_numpy_are_read_and_written_byte_for_byte() {
    let mut same = 0;
    for (row, file) in arrays::recorded(&["npy", "npz"]) {
        arrays::replay(&row, &file);
        if row["same"] == true {
            let source = npy::from_bytes_with(&file, &ReadOptions::new().bf16(true)).unwrap();
            assert_eq!(npy::to_bytes(source.get("").unwrap()).unwrap(), file, "{}", row["name"]);
            same += 1;
        }
    }
    assert_eq!(same, 20);
}

#[test]
fn tensors_come_back() {
    let mut rng = Rng::with_seed(1);
    let reading = ReadOptions::new().bf16(true);
    for _ in 0..1_000 {
        let tensors = arrays::tensors(&mut rng);
        let file = npz::to_bytes(&tensors).unwrap();
        assert_eq!(npz::from_bytes_with(&file, &reading).unwrap().read().unwrap(), tensors);
        for (_, tensor) in tensors.iter() {
            let file = npy::to_bytes(tensor).unwrap();
            let source = npy::from_bytes_with(&file, &reading).unwrap();
            assert_eq!(&source.get("").unwrap().read().unwrap(), tensor);
        }
    }
}

#[test]
fn serialized_tensors_are_arrays_of_the_same_numbers() {
    let mut rng = Rng::with_seed(2);
    for _ in 0..1_000 {
        let tensor = arrays::tensor(&mut rng);
        let tree = Flattener::new().arrays(true).tree(&tensor).unwrap();
        if tensor.bytes().is_empty() {
            assert_eq!(tree.to_string(), "[]", "{tensor}");
        } else if matches!(tensor.dtype(), Dtype::C64 | Dtype::C128) {
            let [leaf] = tree.leaves() else {
                assert!(tensor.shape().is_empty());
                continue;
            };
            assert_eq!(leaf.as_array().unwrap().to_string(), tensor.to_string());
        } else {
            let written = Tensors::of(&tree).unwrap();
            assert_eq!(written.get("").unwrap(), &tensor);
        }
    }
}

#[test]
fn what_cannot_be_serialized_is_told() {
    let bool = Tensor::new(Dtype::Bool, vec![2], vec![1, 2]).unwrap();
    let deep = Tensor::new(Dtype::U8, vec![1; 65], vec![0]).unwrap();
    let error = |tensor: &Tensor<'_>| Flattener::new().tree(tensor).unwrap_err().to_string();
    assert_eq!(error(&bool), "the byte 2 is not a bool at `[1]`");
    assert_eq!(error(&deep), "65 dimensions, at most 64 are written as sequences at the root");
}

#[test]
fn elements_are_aligned_and_borrowed() {
    let tensors = [("a", 1), ("long name", 7), ("b/c", 3)].map(|(name, count)| {
        (name.to_owned(), Tensor::new(Dtype::F64, vec![count], vec![1; 8 * count]).unwrap())
    });
    let file = npz::to_bytes(&Tensors::new(tensors).unwrap()).unwrap();
    for (name, tensor) in npz::from_bytes(&file).unwrap().read().unwrap().iter() {
        let at = tensor.bytes().as_ptr().addr() - file.as_ptr().addr();
        assert!(at < file.len() && at.is_multiple_of(64), "{name} is at {at}");
    }
    let big = npy_file("{'descr': '>f8', 'fortran_order': False, 'shape': (1,), }\n", &[0; 8]);
    let read = array(&big).unwrap();
    assert!(!big.as_ptr_range().contains(&read.bytes().as_ptr()));
}

#[test]
fn headers_that_are_none_are_refused() {
    let f4 =
        |shape: &str| format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
    let of = |descr: &str| format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (1,), }}");
    for (header, expected) in [
        ("", "expected `{`, found the end at byte 10"),
        ("[]", "expected `{`, found `[]` at byte 10"),
        ("{}", "the header has no key 'descr'"),
        ("{'descr': '<f4'}", "the header has no key 'fortran_order'"),
        ("{'descr': '<f4', 'fortran_order': False}", "the header has no key 'shape'"),
        ("{'descr': '<f4', 'descr': '<f4'}", "the key \"'descr'\" occurs twice, or is not known"),
        ("{'order': 1}", "the key \"'order'\" occurs twice, or is not known"),
        ("{'descr' '<f4'}", "expected `:`"),
        ("{'fortran_order': 0}", "expected `True` or `False`"),
        ("{'fortran_order': False 'shape': ()}", "expected `,` or `}`"),
        ("{'descr': 4}", "\"4\" is not a type of elements"),
        ("{'descr': __import__('os')}", "expected a literal"),
        ("{'descr': '<f3'}", "\"<f3\" is not read"),
        ("{'descr': '<<f4'}", "\"<<f4\" is not read"),
        ("{'descr': '<<?'}", "\"<<?\" is not read"),
        ("{'descr': ''}", "\"\" is not read"),
        (&of("'|O'"), "the elements are objects, which are pickled"),
        (&of("[('o', '|O')]"), "the elements are objects, which are pickled"),
        (&of("'<M8[s]'"), "4 bytes cannot be datetime64[s][1]"),
        (&of("'<U1'"), "is str[1], no numbers, see `StoredTensor::tree`"),
        (&of("'|V4'"), "\"|V4\" is bytes of any kind"),
        (&of("[('x', '<f4', 3 4)]"), "expected `)`"),
        (&of("[('x' '<f4')]"), "expected `,`"),
        (&of("[('x', '<f4') ('y', '<f4')]"), "expected `,` or `]`"),
        (&of("[(1, '<f4')]"), "expected a name before"),
        (&of("['x']"), "expected `(`"),
        (&of("[('x', '<f4', (-1,))]"), "\"-1\" is not the size of a dimension"),
        (&of("[('x', '<f4', (9223372036854775807, 9223372036854775807))]"), "more than 2⁶⁴ bytes"),
        (&of(&"[('x', ".repeat(40)), "records nested deeper than 32 levels"),
        (&of("'<M8[q]'"), "\"<M8[q]\" is not read"),
        (&f4("4"), "the shape \"4\" is not a tuple"),
        (&f4("(1)"), "the shape \"1\" is not a tuple"),
        (&f4("(-1,)"), "\"-1\" is not the size of a dimension"),
        (&f4("(True,)"), "\"True\" is not the size of a dimension"),
        (&f4("(1l,)"), "expected a number, found `1l,), }`"),
        (&f4("(1.0,)"), "\"1.0\" is not the size of a dimension"),
        (&f4("(99999999999999999999,)"), "is not the size of a dimension"),
        (&f4(&format!("({})", "1,".repeat(65))), "65 dimensions; numpy has at most 64"),
        (&f4("(2,)"), "4 bytes cannot be f32[2]"),
        (&f4("(4294967296, 4294967296, 4294967296)"), "4 bytes cannot be f32[4294967296"),
        (&f4("(0, 9223372036854775807, 9223372036854775807)"), "4 bytes cannot be f32[0"),
        (&(f4("(1,)") + "x"), "expected the end, found `x`"),
    ] {
        refused(array(&npy_file(header, &[0; 4])), expected);
    }
    assert!(array(&npy_file(&f4("(1, 1)"), &[0; 4])).is_ok());
}

/// numpy 2.4 reads all of them.
#[test]
fn headers_of_others_are_read() {
    let number = |value: f32| value.to_ne_bytes().to_vec();
    let rows = [
        ("=f4", "(1,)", number(1.5), "f32[1]"),
        ("|f4", "(1,)", number(1.5), "f32[1]"),
        ("f4", "(1,)", number(1.5), "f32[1]"),
        ("?", "(2,)", vec![1, 0], "bool[2]"),
        ("|?", "(2,)", vec![1, 0], "bool[2]"),
        ("<b1", "(2,)", vec![1, 0], "bool[2]"),
        // Python 2 wrote these.
        ("|u1", "(2L, 1L)", vec![1, 0], "u8[2, 1]"),
    ];
    for (descr, shape, elements, expected) in rows {
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let file = npy_file(&header, &elements);
        let tensor = array(&file).unwrap();
        assert_eq!(tensor.to_string(), expected, "{header}");
        if let Ok(number) = tensor.bytes().try_into().map(f32::from_le_bytes) {
            assert_eq!(number, 1.5, "{header}");
        }
    }
}

#[test]
fn what_stands_before_a_header_is_checked() {
    let file = npy_file("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }\n", &[0; 4]);
    for end in 0..file.len() {
        assert!(array(&file[..end]).is_err(), "cut at {end}");
    }
    for (at, byte, expected) in [
        (0, 0, "does not begin with"),
        (6, 4, "version 4.0 of the format"),
        (7, 1, "version 1.1 of the format"),
        (6, 2, "the file ends in its header of"),
        (9, 255, "the file ends in its header of"),
        (11, 0xff, "expected a literal"),
    ] {
        let mut wrong = file.clone();
        wrong[at] = byte;
        refused(array(&wrong), expected);
    }
}

#[test]
fn what_numpy_cannot_have_is_not_written() {
    let deep = Tensor::new(Dtype::U8, vec![1; 65], vec![0]).unwrap();
    refused(npy::to_bytes(&deep), "numpy has at most 64 dimensions, not 65");
    refused(npz::to_bytes(&one("deep", deep)), "\"deep\": numpy has at most 64 dimensions");
    let scalar = Tensor::new(Dtype::U8, vec![], vec![0]).unwrap();
    refused(npz::to_bytes(&one("a\0b", scalar.clone())), "\"a\\0b\": Python ends a name at `\\0`");
    refused(npz::to_bytes(&one(&"a".repeat(1 << 16), scalar)), "64KiB");
}

#[test]
fn members_that_are_no_arrays_are_refused() {
    let array = npy_file("{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }\n", &[7]);
    let stored = |members: &[(&str, &[u8])]| zip_file(members, CompressionMethod::Stored);
    for (file, expected) in [
        (vec![], "not a zip file, or cut off: there is no list of files at its end"),
        (b"PK".to_vec(), "not a zip file, or cut off: there is no list of files at its end"),
        (stored(&[("a", &array)]), "\"a\" is file[]: it is not a `.npy` file"),
        (stored(&[("a/", b"")]), "\"a/\" is file[]: it is not a `.npy` file"),
        (stored(&[("a.npy", b"")]), "\"a.npy\": no npy file"),
        (stored(&[("a.npy", &array), ("b.npy", &array[..9])]), "\"b.npy\": the file ends"),
    ] {
        refused(npz::from_bytes(&file).and_then(|it| it.read()), expected);
    }
    // The second is renamed to the first, in both of its headers.
    let mut file = stored(&[("a.npy", &array), ("b.npy", &array)]);
    for at in 0..file.len() - 5 {
        if file[at..].starts_with(b"b.npy") {
            file[at] = b'a';
        }
    }
    refused(npz::from_bytes(&file).and_then(|it| it.read()), "two of its files have one name");
}

#[test]
fn what_is_no_array_is_listed_beside_the_arrays() {
    let array = npy_file("{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }\n", &[7]);
    let file = zip_file(&[("a.npy", &array), ("notes.txt", b"hello")], CompressionMethod::Deflated);
    let source = npz::from_bytes(&file).unwrap();
    let listed: Vec<String> = source.iter().map(|it| it.descriptor().to_string()).collect();
    assert_eq!(listed, ["u8[1]", "file[]"]);
    let notes = source.get("notes.txt").unwrap();
    assert_eq!(*notes.read_bytes().unwrap(), *b"hello");
    refused(notes.read(), "\"notes.txt\" is file[]: it is not a `.npy` file");
    refused(source.load::<BTreeMap<String, Vec<u8>>>(), "which has no numbers");
    let loader = Loader::new().ignore("notes.**");
    assert_eq!(loader.load::<BTreeMap<String, Vec<u8>>>(&source).unwrap()["a"], [7]);
    // A record and an array of one name are an error.
    let record =
        npy_file("{'descr': [('x', '|u1')], 'fortran_order': False, 'shape': (1,), }\n", &[7]);
    let file = zip_file(&[("r.x.npy", &array), ("r.npy", &record)], CompressionMethod::Stored);
    refused(npz::from_bytes(&file), "two tensors have the name \"r.x\"");
}

#[test]
fn texts_dates_and_records_become_values() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Sample {
        x: Vec<f32>,
        name: Vec<String>,
        day: Option<Vec<String>>,
    }
    let descr = "[('x', '>f4'), ('', '|V3'), ('name', '<U2'), ('day', '<M8[D]')]";
    let header =
        |shape| format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}");
    let record = |x: f32, name: &[u8; 8], day: i64| {
        [&x.to_be_bytes()[..], b"\0\0\0", name, &day.to_le_bytes()].concat()
    };
    let records =
        [record(1.5, b"a\0\0\0\0\0\0\0", 0), record(-2.0, b"b\0\0\0c\0\0\0", -1)].concat();
    let file = npy_file(&header("(2,)"), &records);
    let sample: Sample = npy::from_bytes(&file).unwrap().load().unwrap();
    let [name, day] = [["a", "bc"], ["1970-01-01", "1969-12-31"]].map(|it| it.map(String::from));
    let expected = Sample { x: vec![1.5, -2.0], name: name.to_vec(), day: Some(day.to_vec()) };
    assert_eq!(sample, expected);
    let file = zip_file(&[("s.npy", &file)], CompressionMethod::Deflated);
    assert_eq!(
        npz::from_bytes(&file).unwrap().load::<BTreeMap<String, Sample>>().unwrap()["s"],
        expected
    );

    let none: Sample = npy::from_bytes(&npy_file(&header("(0,)"), &[])).unwrap().load().unwrap();
    assert_eq!(none, Sample { x: vec![], name: vec![], day: Some(vec![]) });
    let grid = npy_file("{'descr': '|S1', 'fortran_order': True, 'shape': (2, 2), }\n", b"acbd");
    assert_eq!(
        npy::from_bytes(&grid).unwrap().load::<[[String; 2]; 2]>().unwrap(),
        [["a", "b"], ["c", "d"]]
    );
    let one = npy_file("{'descr': '|S1', 'fortran_order': True, 'shape': (), }\n", b"a");
    assert_eq!(npy::from_bytes(&one).unwrap().load::<String>().unwrap(), "a");
    refused(
        npy::from_bytes(&grid).and_then(|it| it.load::<Vec<f32>>()),
        "the tensors do not fit the type",
    );

    // The error names the array that the type does not read.
    #[derive(Debug, Serialize, Deserialize)]
    struct Part {
        x: Vec<f32>,
        name: [String; 1],
    }
    let file = npy_file(&header("(2,)"), &records);
    let error = npy::from_bytes(&file).and_then(|it| it.load::<Part>()).unwrap_err().to_string();
    insta::assert_snapshot!(error, @r"
    the tensors do not fit the type
    unused `name`: str[2], of which the type does not read 1 elements
    unused `day`: datetime64[D][2], of which the type does not read 2 elements
    ");
    let source = npy::from_bytes(&file).unwrap();
    let loader = Loader::new().ignore("name").ignore("day");
    assert_eq!(loader.load::<BTreeMap<String, Vec<f32>>>(&source).unwrap()["x"], [1.5, -2.0]);
    let renamed = Loader::new().ignore("x").ignore("day").rename("name", "label");
    let labels = renamed.load::<BTreeMap<String, Vec<String>>>(&source).unwrap();
    assert_eq!(labels["label"], name);
}

#[test]
fn damaged_texts_and_records_are_refused_or_read() {
    let mut rng = Rng::with_seed(3);
    let mut recorded = arrays::recorded(&["npy"]);
    recorded.retain(|(row, _)| row["values"].is_array());
    let (mut refused, mut read) = (0, 0);
    for _ in 0..2_000 {
        let (_, file) = &recorded[rng.usize(0..recorded.len())];
        let mut damaged = file.clone();
        for _ in 0..rng.usize(1..4) {
            arrays::damage(&mut damaged, &mut rng);
        }
        let Ok(source) = arrays::source("npy", &damaged) else {
            refused += 1;
            continue;
        };
        for stored in source.iter() {
            let tree = stored.tree();
            assert!(tree.is_err() || stored.descriptor().unread().is_none());
            read += 1;
        }
        drop(source.load::<Vec<String>>());
    }
    assert!(refused > 200 && read > 100, "{refused} {read}");
}

/// The number of elements without bytes is not bounded by the file: they are listed in no time.
#[test]
fn elements_without_bytes_are_not_read() {
    for descr in ["'|V0'", "'<U0'", "[]", "[('x', '|S0'), ('y', '|V0')]"] {
        for fortran in ["True", "False"] {
            let header = format!(
                "{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': (1000000000, 1000000000), }}"
            );
            let file = npy_file(&header, &[]);
            let source = npy::from_bytes(&file).unwrap();
            assert!(source.iter().len() > 0);
            assert!(source.iter().all(|stored| stored.tree().is_err()), "{descr}");
        }
    }
}

#[test]
fn what_unpacks_to_too_much_is_refused() {
    let zeros = Tensor::new(Dtype::U8, vec![1 << 20], vec![0; 1 << 20]).unwrap();
    let bytes = npy::to_bytes(&zeros).unwrap();
    let members: [(&str, &[u8]); 2] = [("a.npy", &bytes), ("b.npy", &bytes)];
    let file = zip_file(&members, CompressionMethod::Deflated);
    assert!(file.len() < 1 << 12);
    let limit = 2 * bytes.len();
    assert!(
        npz::from_bytes_with(&file, &ReadOptions::new().max_bytes(limit))
            .and_then(|it| it.read())
            .is_ok()
    );
    let error = npz::from_bytes_with(&file, &ReadOptions::new().max_bytes(limit - 1))
        .and_then(|it| it.read())
        .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit { .. }));
    refused(Err::<(), _>(error), "\"b.npy\" unpacks to 1048704 bytes, 1048703 are left");
    // Uncompressed members are borrowed, and do not count.
    let file = zip_file(&members, CompressionMethod::Stored);
    assert!(
        npz::from_bytes_with(&file, &ReadOptions::new().max_bytes(0))
            .and_then(|it| it.read())
            .is_ok()
    );
}

/// If a member is larger than its declared size, only the declared size is unpacked.
#[test]
fn declared_sizes_are_not_believed() {
    let zeros = npy::to_bytes(&Tensor::new(Dtype::U8, vec![1 << 20], vec![0; 1 << 20]).unwrap());
    let zeros = zeros.unwrap();
    let size = u32::try_from(zeros.len()).unwrap().to_le_bytes();
    let file = zip_file(&[("a.npy", &zeros)], CompressionMethod::Deflated);
    for (declared, expected) in [(200_u32, "\"a.npy\": "), (u32::MAX - 1, "see `npy::ReadOptions")]
    {
        let mut wrong = file.clone();
        for at in 0..wrong.len() - 4 {
            if wrong[at..].starts_with(&size) {
                wrong[at..at + 4].copy_from_slice(&declared.to_le_bytes());
            }
        }
        assert_ne!(wrong, file);
        refused(npz::from_bytes(&wrong).and_then(|it| it.read()), expected);
    }
}

#[test]
fn every_flipped_bit_of_an_npz_file_is_found_or_changes_nothing() {
    let tensors = Tensors::new([
        ("w".to_owned(), Tensor::new(Dtype::F32, vec![2], vec![1; 8]).unwrap()),
        ("é/b".to_owned(), Tensor::new(Dtype::U8, vec![], vec![7]).unwrap()),
    ])
    .unwrap();
    let packed: Vec<_> = tensors.iter().map(|(_, tensor)| npy::to_bytes(tensor).unwrap()).collect();
    let members: [(&str, &[u8]); 2] = [("w.npy", &packed[0]), ("é/b.npy", &packed[1])];
    let mut found = 0;
    for file in [npz::to_bytes(&tensors).unwrap(), zip_file(&members, CompressionMethod::Deflated)]
    {
        for bit in 0..8 * file.len() {
            let mut damaged = file.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            match npz::from_bytes(&damaged).and_then(|it| it.read()) {
                Ok(read) => assert_eq!(read, tensors, "bit {bit}"),
                Err(_) => found += 1,
            }
        }
        for end in 0..file.len() {
            assert!(
                npz::from_bytes(&file[..end]).and_then(|it| it.read()).is_err(),
                "cut at {end}"
            );
        }
    }
    assert!(found > 4_000, "{found}");
}

#[test]
fn damaged_files_are_refused_or_read() {
    let mut rng = Rng::with_seed(2);
    let reading = ReadOptions::new().bf16(true);
    let mut recorded = arrays::recorded(&["npy", "npz"]);
    recorded.retain(|(row, _)| row["values"].is_null());
    let (mut refused, mut changed) = (0, 0);
    for _ in 0..2_000 {
        let (row, file) = &recorded[rng.usize(0..recorded.len())];
        let mut damaged = file.clone();
        for _ in 0..rng.usize(1..4) {
            arrays::damage(&mut damaged, &mut rng);
        }
        let format = row["format"].as_str().unwrap();
        match arrays::read(format, &damaged) {
            Err(error) => {
                assert!(error.to_string().len() < 1024, "{error}");
                refused += 1;
            }
            // The checksum finds every change of an array.
            Ok(read) if format == "npz" => {
                assert_eq!(arrays::described(&read), row["tensors"], "{}", row["name"]);
            }
            Ok(read) => {
                let (_, tensor) = read.iter().next().unwrap();
                let again = npy::to_bytes(tensor).unwrap();
                let again = npy::from_bytes_with(&again, &reading).unwrap();
                assert_eq!(&again.get("").unwrap().read().unwrap(), tensor);
                changed += 1;
            }
        }
    }
    assert!(refused > 1_000 && changed > 50, "{refused} {changed}");
}

#[test]
fn files_are_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let tensors = arrays::tensors(&mut Rng::with_seed(3));
    npz::save(&tensors, &path).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), npz::to_bytes(&tensors).unwrap());

    let error = npz::save(&tensors.clone().with_metadata("author", "me"), &path).unwrap_err();
    let expected = "an npz file has no place for metadata, such as \"author\": \"me\" \
                    (write a safetensors file)";
    assert_eq!(error.to_string(), expected);
    assert_eq!(std::fs::read(&path).unwrap(), npz::to_bytes(&tensors).unwrap());
    let error = npz::save(&tensors, folder.path().join("none/a.npz")).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Io(_)), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// The structure that `Tensors::of` adds, and the format that PyTorch's files name, are no metadata of
/// the user.
#[test]
fn tensors_of_a_tree_are_saved_as_they_are() {
    let value = vec![(vec![[1.5f32; 2]; 3], 7u8)];
    let tree = Tree::of(&value).unwrap();
    let tensors = Tensors::of(&tree).unwrap().with_metadata("format", "pt");
    assert!(tensors.metadata("treedef").is_some());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    npz::save(&tensors, &path).unwrap();
    assert_eq!(
        npz::from_bytes(&std::fs::read(&path).unwrap())
            .unwrap()
            .load::<Vec<(Vec<[f32; 2]>, u8)>>()
            .unwrap(),
        value
    );
    // A text is a part of the value, and would be lost.
    let tree = Tree::of(&("text", 1u8)).unwrap();
    let rest = Export::new().rest_in_metadata(true).tensors(&tree).unwrap();
    refused(npz::to_bytes(&rest), r#"such as "0": "\"text\"""#);
}
