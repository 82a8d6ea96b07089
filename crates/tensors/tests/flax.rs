//! flax's files: those that flax 0.12 wrote, round trips, and damage.

use std::collections::BTreeMap;

use fastrand::Rng;
use treedef::Tree;
use treedef_tensors::{Dtype, ErrorKind, Export, Loader, Tensor, Tensors, flax};

#[allow(dead_code, reason = "the tests of npz need the rest")]
mod arrays;

fn tensor(dtype: Dtype, shape: &[usize]) -> Tensor<'static> {
    let size = shape.iter().product::<usize>() * dtype.size();
    Tensor::new(dtype, shape.to_vec(), vec![1; size]).unwrap()
}

fn named(names: &[&str]) -> Tensors<'static> {
    let tensors = names.iter().map(|name| (name.to_string(), tensor(Dtype::U8, &[2])));
    Tensors::new(tensors.collect::<Vec<_>>()).unwrap()
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: treedef_tensors::Result<T>, expected: &str) {
    let error = result.unwrap_err();
    assert!(error.to_string().contains(expected), "{error}");
}

/// `{"a": value}`
fn map(value: &[u8]) -> Vec<u8> {
    [b"\x81\xa1a", value].concat()
}

/// `{"a": Extension(code, data)}`
fn extension(code: u8, data: &[u8]) -> Vec<u8> {
    map(&[&[0xc7, u8::try_from(data.len()).unwrap(), code], data].concat())
}

#[test]
fn files_of_flax_are_read_and_written_byte_for_byte() {
    let mut same = 0;
    for (row, file) in arrays::recorded(&["flax"]) {
        arrays::replay(&row, &file);
        if row["same"] == true {
            let tensors = flax::from_bytes(&file).unwrap();
            assert_eq!(flax::to_bytes(&tensors).unwrap(), file, "{}", row["name"]);
            same += 1;
        }
        if row["name"] == "pieces" {
            let tensors = flax::from_bytes(&file).unwrap();
            assert_eq!(flax::__to_bytes_chunked(&tensors, 4).unwrap(), file);
            same += 1;
        }
    }
    assert_eq!(same, 4);
}

#[test]
fn tensors_come_back() {
    let mut rng = Rng::with_seed(1);
    for _ in 0..1_000 {
        let tensors = arrays::tensors(&mut rng);
        let max_chunk = [0, 1, 8, 100, usize::MAX][rng.usize(0..5)];
        let file = flax::__to_bytes_chunked(&tensors, max_chunk).unwrap();
        let read = flax::from_bytes(&file).unwrap();
        assert_eq!(read.iter().len(), tensors.iter().len());
        // Names with a common part are in one map.
        for (name, tensor) in tensors.iter() {
            assert_eq!(read.get(name), Some(tensor), "{name:?}");
        }
    }
}

#[test]
fn elements_are_borrowed() {
    let file = flax::to_bytes(&named(&["a", "b"])).unwrap();
    for (_, tensor) in flax::from_bytes(&file).unwrap().iter() {
        assert!(file.as_ptr_range().contains(&tensor.bytes().as_ptr()));
    }
}

#[test]
fn what_has_no_numbers_is_metadata_and_comes_back() {
    // {"b": None, "a": {"name": "ad\"am", "state": {}, "count": 1}}
    let file = b"\x82\xa1b\xc0\xa1a\x83\xa4name\xa5ad\"am\xa5state\x80\xa5count\x01";
    let read = flax::from_bytes(file).unwrap();
    assert_eq!(read.metadata("b"), Some("null"));
    assert_eq!(read.metadata("a/name"), Some(r#""ad\"am""#));
    assert_eq!(read.metadata("a/state"), Some("{}"));
    assert_eq!(read.get("a/count").unwrap().bytes(), 1i64.to_le_bytes());
    let again = flax::to_bytes(&read).unwrap();
    assert_eq!(flax::from_bytes(&again).unwrap(), read);
}

#[test]
fn a_root_without_entries_has_no_tensors() {
    for file in [&b"\x80"[..], b"\xde\0\0", b"\xdf\0\0\0\0"] {
        let read = flax::from_bytes(file).unwrap();
        assert_eq!((read.iter().len(), read.metadata("")), (0, Some("{}")), "{file:x?}");
        assert_eq!(flax::to_bytes(&read).unwrap(), b"\x80");
        assert_eq!(
            Loader::new()
                .separator("/")
                .load::<Vec<f32>>(&flax::from_bytes(file).unwrap())
                .unwrap(),
            [0.0; 0]
        );
        assert_eq!(
            Loader::new()
                .separator("/")
                .load::<BTreeMap<String, f32>>(&flax::from_bytes(file).unwrap())
                .unwrap(),
            BTreeMap::new()
        );
        assert_eq!(
            Loader::new()
                .separator("/")
                .load::<serde_json::Value>(&flax::from_bytes(file).unwrap())
                .unwrap(),
            serde_json::json!({})
        );
    }
    assert_eq!(flax::to_bytes(&Tensors::default()).unwrap(), b"\x80");
}

#[test]
fn names_that_cannot_be_keys_are_refused() {
    for (names, expected) in [
        (&["a", "a/b"][..], "\"a/b\" is inside another tensor, or one is inside it"),
        (&["a/b", "a"], "\"a\" is inside another tensor, or one is inside it"),
        (&["", "a"], "\"a\" is inside another tensor, or one is inside it"),
        (&["a", ""], "\"\" is inside another tensor, or one is inside it"),
        (&["/a"], "\"\" cannot be a key"),
        (&["a/__msgpack_chunked_array__"], "\"__msgpack_chunked_array__\" cannot be a key"),
        (&[&"a/".repeat(200)], "a name has more than 200 parts"),
    ] {
        refused(flax::to_bytes(&named(names)), expected);
    }
    for name in ["", "a//b", "a/", &"a/".repeat(199)] {
        let tensors = named(&[name]);
        let file = flax::to_bytes(&tensors).unwrap();
        assert_eq!(flax::from_bytes(&file).unwrap(), tensors);
    }
    let deep = Tensors::new([("a".to_owned(), tensor(Dtype::U8, &[1; 65]))]).unwrap();
    refused(flax::to_bytes(&deep), "numpy has at most 64 dimensions");
}

#[test]
fn files_that_are_none_are_refused() {
    let array = b"\x93\x91\x01\xa5uint8\xc4\x01\x07"; // (1,), "uint8", one byte
    assert!(flax::from_bytes(&extension(1, array)).is_ok());
    let chunked = |rest: &[u8]| {
        map(&[b"\x83\xb9__msgpack_chunked_array__\xc3\xa5shape\x81\xa10", rest].concat())
    };
    let piece = |name: &[u8]| [b"\xc7\x0c\x01\x93\x91\x01\xa5", name, b"\xc4\x01\x07"].concat();
    let pieces = [&b"\x02\xa6chunks\x82\xa11"[..], &piece(b"uint8"), b"\xa10", &piece(b"uint8")];
    assert!(flax::from_bytes(&chunked(&pieces.concat())).is_ok());
    for (file, expected) in [
        (vec![], "expected a value at byte 0"),
        (vec![0xc1], "expected a value at byte 0"),
        (b"\x80\x80".to_vec(), "expected the end at byte 1"),
        (b"\x81".to_vec(), "expected a string at byte 1"),
        (b"\x81\x01\x01".to_vec(), "expected a string at byte 1"),
        (b"\x81\xa1\xff\x01".to_vec(), "a string that is not UTF-8 at byte 2"),
        (b"\x81\xa3a/b\x01".to_vec(), "\"a/b\" cannot be a key"),
        (b"\x81\xa0\x01".to_vec(), "\"\" cannot be a key"),
        (b"\x82\xa1a\x01\xa1a\x01".to_vec(), "the key \"a\" occurs twice at byte 4"),
        (b"\xdf\xff\xff\xff\xff".to_vec(), "expected a string at byte 5"),
        (b"\xdb\xff\xff\xff\xff".to_vec(), "4294967295 bytes are declared"),
        (b"\x81\xa1a".repeat(201), "nested deeper than 200 levels at byte 600"),
        (map(b"\xc9\xff\xff\xff\xff\x01"), "4294967295 bytes are declared"),
        (map(b"\xc4\x01\x01"), "no tensors: \"a\" is 1 bytes of Python"),
        (map(b"\xd4\xff\x01"), "no tensors: \"a\" is the extension -1 of msgpack"),
        (map(b"\x91\x01"), "\"a\" is a list"),
        (extension(1, b""), "expected an array of flax"),
        (extension(1, b"\x92\x91\x01\xa5uint8"), "2 parts and 1 dimensions"),
        (extension(1, b"\x93\xdd\xff\xff\xff\xff"), "3 parts and 4294967295 dimensions"),
        (extension(1, b"\x93\x91\xff\xa5uint8\xc4\x01\x07"), "expected a size"),
        (extension(1, b"\x93\x91\x02\xa5uint8\xc4\x01\x07"), "1 bytes cannot be u8[2]"),
        (extension(1, b"\x93\x91\x01\xa5uint8\xc4\x02\x07"), "2 bytes are declared"),
        (extension(1, b"\x93\x91\x01\xa5uint8\xc4\x01\x07\0"), "expected the end"),
        (extension(1, b"\x93\x91\x01\xa3str\xc4\x01\x07"), "\"a\" is an array of str"),
        (extension(2, b"\x91\x01"), "expected two floats"),
        (extension(2, b"\x92\x01\x01"), "expected a float"),
        (extension(3, array), "a number that is u8[1]"),
        (map(b"\x82\xa1b\x01\xb9__msgpack_chunked_array__\xc3"), "cannot be a key"),
        (map(b"\x81\xb9__msgpack_chunked_array__\xc3"), "a shape and chunks, nothing else"),
        (map(b"\x81\xb9__msgpack_chunked_array__\xc2"), "a shape and chunks, nothing else"),
        (map(b"\x82\xb9__msgpack_chunked_array__\xc3\xa1x\x01"), "has no \"x\""),
        (chunked(b"\x02\xa6chunks\x80"), "an array of no pieces"),
        (chunked(b"\x02\xa6chunks\x81\xa11\x01"), "expected an extension"),
        (chunked(&[&b"\x02\xa6chunks\x81\xa11"[..], &piece(b"uint8")].concat()), "not 0, 1, …"),
        (chunked(&[&b"\x02\xa6chunks\x81\xa10"[..], &piece(b"uint8")].concat()), "cannot be u8[2]"),
        (
            chunked(
                &[&b"\x02\xa6chunks\x82\xa10"[..], &piece(b"uint8"), b"\xa11", &piece(b"i\0int")]
                    .concat(),
            ),
            "\"a\" is an array of i\0int",
        ),
    ] {
        refused(flax::from_bytes(&file), expected);
    }
}

#[test]
fn all_that_are_no_tensors_are_listed() {
    let mut file = vec![0xde, 0, 30];
    for key in 0..30 {
        file.extend([0xa2, b'a', b'A' + key, 0xc4, 0]);
    }
    let error = flax::from_bytes(&file).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Unsupported(_)));
    let message = error.to_string();
    assert!(message.starts_with("no tensors: \"aA\" is 0 bytes of Python, \"aB\" is"), "{message}");
    assert!(message.ends_with(" and 20 more"), "{message}");
}

/// One long key over many short ones would be copied into each name.
/// Metadata has the names of tied tensors, too.
#[test]
fn a_text_that_would_be_read_as_a_tensor_is_refused() {
    refused(
        flax::from_bytes(b"\x82\xa4null\x01\xa1a\xc0"),
        "a: the value null is the name of a tensor, of which it would be a tie",
    );
    refused(
        flax::from_bytes(b"\x82\xa3\"s\"\x01\xa1a\xa1s"),
        "a: the value \"s\" is the name of a tensor, of which it would be a tie",
    );
    assert!(flax::from_bytes(b"\x82\xa4null\x01\xa6format\xc0").is_ok());
}

#[test]
fn names_are_bounded() {
    let long = vec![b'a'; 1 << 20];
    let mut file = [b"\x81\xdb\0\x10\0\0", &long[..], b"\xde\x03\xe8"].concat();
    for key in 100..1100 {
        file.push(0xa4);
        file.extend(format!("{key:04}").bytes());
        file.push(1);
    }
    refused(flax::from_bytes(&file), "names of more than 268435456 bytes in all");
}

#[test]
fn damaged_files_are_refused_or_read() {
    let mut rng = Rng::with_seed(2);
    let recorded = arrays::recorded(&["flax"]);
    let (mut refused, mut read) = (0, 0);
    for _ in 0..2_000 {
        let (row, file) = &recorded[rng.usize(0..recorded.len())];
        let mut damaged = file.clone();
        for _ in 0..rng.usize(1..4) {
            arrays::damage(&mut damaged, &mut rng);
        }
        match flax::from_bytes(&damaged) {
            Err(error) => {
                assert!(error.to_string().len() < 2048, "{error}");
                refused += 1;
            }
            // There is no checksum. The tensors are complete, as their sizes fit.
            Ok(tensors) => {
                let again = flax::to_bytes(&tensors).unwrap();
                assert_eq!(flax::from_bytes(&again).unwrap(), tensors, "{}", row["name"]);
                read += 1;
            }
        }
    }
    assert!(refused > 500 && read > 100, "{refused} {read}");
}

fn loaded<T: serde::Serialize + serde::de::DeserializeOwned>(file: &[u8]) -> T {
    Loader::new().separator("/").load(&flax::from_bytes(file).unwrap()).unwrap()
}

/// All texts of a file of flax are values, also at the root.
#[test]
fn what_has_no_numbers_is_read_at_the_root() {
    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Layer {
        w: Option<f64>,
        name: String,
    }
    // {"0": {"w": 1.5, "name": "x"}, "1": {"w": None, "name": "y"}}
    let file =
        b"\x82\xa10\x82\xa1w\xcb\x3f\xf8\0\0\0\0\0\0\xa4name\xa1x\xa11\x82\xa1w\xc0\xa4name\xa1y";
    let layer = |w, name: &str| Layer { w, name: name.to_owned() };
    let layers = [layer(Some(1.5), "x"), layer(None, "y")];
    assert_eq!(loaded::<Vec<Layer>>(file), layers);
    assert_eq!(loaded::<BTreeMap<u8, Layer>>(file).into_values().collect::<Vec<_>>(), layers);
    let text = |text: &str| text.to_owned();
    // {"a": {"b": "x"}}
    let inner = BTreeMap::from([(text("b"), text("x"))]);
    let nested = BTreeMap::from([(text("a"), inner.clone())]);
    let file = b"\x81\xa1a\x81\xa1b\xa1x";
    assert_eq!(loaded::<BTreeMap<String, BTreeMap<String, String>>>(file), nested);
    let renamed = Loader::new().separator("/").rename("a/*", "c/*");
    let renamed = renamed.load::<serde_json::Value>(&flax::from_bytes(file).unwrap()).unwrap();
    assert_eq!(renamed, serde_json::json!({"c": {"b": "x"}}));
    assert_eq!(loaded::<BTreeMap<String, String>>(b"\x81\xa1b\xa1x"), inner);
    assert_eq!(loaded::<Vec<Vec<i64>>>(b"\x81\xa10\x80"), [[0; 0]]); // {"0": {}}
    assert_eq!(loaded::<Vec<Option<u8>>>(b"\x82\xa11\xc0\xa10\xc0"), [None; 2]);
    assert_eq!(loaded::<String>(b"\xa1x"), "x");
    // {"treedef": {}, "x": 1.5}
    let file = b"\x82\xa7treedef\x80\xa1x\xcb\x3f\xf8\0\0\0\0\0\0";
    assert_eq!(loaded::<serde_json::Value>(file), serde_json::json!({"treedef": {}, "x": 1.5}));
    let rest =
        Loader::new().ignore("treedef").load::<serde_json::Value>(&flax::from_bytes(file).unwrap());
    assert_eq!(rest.unwrap(), serde_json::json!({"x": 1.5}));
}

/// flax has any characters in its strings, and no chars.
#[test]
fn strings_of_all_characters_are_read_and_written() {
    for text in [
        "adam",
        "",
        "\"\\/'",
        "\n\t\r",
        "\x0c\x08\0\x01",
        "\x1b[31mred",
        "a\x7fb",
        "\u{85}\u{a0}",
        "👨\u{200d}👩\u{200d}👧",
        "\u{ad}\u{200b}\u{feff}",
        "\u{2028}\u{2029}",
        "\u{10ffff}",
        "{}",
        "null",
    ] {
        let mut file = b"\x81\xa1s\xd9".to_vec();
        file.push(u8::try_from(text.len()).unwrap());
        file.extend(text.bytes());
        let value = BTreeMap::from([("s".to_owned(), text.to_owned())]);
        #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        struct Inside {
            s: String,
        }
        assert_eq!(
            Loader::new()
                .separator("/")
                .load::<Inside>(&flax::from_bytes(&file).unwrap())
                .unwrap()
                .s,
            text
        );
        let tree = Tree::of(&value).unwrap();
        let export = Export::new().separator("/").rest_in_metadata(true);
        let saved = flax::to_bytes(&export.tensors(&tree).unwrap()).unwrap();
        assert_eq!(
            Loader::new()
                .separator("/")
                .load::<Inside>(&flax::from_bytes(&saved).unwrap())
                .unwrap()
                .s,
            text
        );
        let read = flax::from_bytes(&file).unwrap();
        assert_eq!(flax::to_bytes(&read).unwrap(), saved);
    }
    let tree = Tree::of(&BTreeMap::from([("c", '\u{200b}')])).unwrap();
    let tensors = Export::new().rest_in_metadata(true).tensors(&tree).unwrap();
    let file = flax::to_bytes(&tensors).unwrap();
    assert_eq!(file, b"\x81\xa1c\xa3\xe2\x80\x8b");
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Char {
        c: char,
    }
    assert_eq!(
        Loader::new().separator("/").load::<Char>(&flax::from_bytes(&file).unwrap()).unwrap().c,
        '\u{200b}'
    );
}

/// `None` and empty maps are read as the type requests them.
#[test]
fn what_has_no_numbers_is_read_by_type() {
    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct State {
        count: i64,
        mu: Option<Vec<f32>>,
        nu: BTreeMap<String, f32>,
        list: Vec<u8>,
        pair: Option<[u8; 0]>,
        empty: (),
        name: Option<String>,
    }
    // {"count": 7, "mu": None, "nu": {}, "list": {}, "pair": {}, "empty": {}, "name": "adam"}
    let file = b"\x87\xa5count\x07\xa2mu\xc0\xa2nu\x80\xa4list\x80\xa4pair\x80\xa5empty\x80\xa4name\xa4adam";
    let state = State {
        count: 7,
        mu: None,
        nu: BTreeMap::new(),
        list: vec![],
        pair: Some([]),
        empty: (),
        name: Some("adam".to_owned()),
    };
    assert_eq!(
        Loader::new().separator("/").load::<State>(&flax::from_bytes(file).unwrap()).unwrap(),
        state
    );
    // {"s": {"x": 1.0, "mu": None, …}}
    let inside = [b"\x81\xa1s\x87\xa1x\xcb\x3f\xf0\0\0\0\0\0\0", &file[8..]].concat();
    let any = Loader::new()
        .separator("/")
        .load::<serde_json::Value>(&flax::from_bytes(&inside).unwrap())
        .unwrap();
    let state = serde_json::json!({
        "x": 1.0, "mu": null, "nu": {}, "list": {}, "pair": {}, "empty": {}, "name": "adam"
    });
    assert_eq!(any["s"], state);
    #[derive(Debug, serde::Serialize, serde::Deserialize)]
    struct One {
        a: [u8; 1],
    }
    let error = flax::from_bytes(b"\x81\xa1a\x80")
        .and_then(|it| Loader::new().separator("/").load::<One>(&it))
        .unwrap_err();
    assert_eq!(error.to_string(), "the tensors do not fit the type\nmissing `a/0`: u8[]");
}

/// The structure that `Tensors::of` adds is no metadata of the user.
#[test]
fn tensors_of_a_tree_are_written_as_they_are() {
    let value = BTreeMap::from([("params".to_owned(), vec![1.5f32, 2.5])]);
    let tree = Tree::of(&value).unwrap();
    let tensors = Tensors::of(&tree).unwrap();
    assert!(tensors.metadata("treedef").is_some());
    let file = flax::to_bytes(&tensors).unwrap();
    assert_eq!(
        Loader::new()
            .separator("/")
            .load::<BTreeMap<String, Vec<f32>>>(&flax::from_bytes(&file).unwrap())
            .unwrap(),
        value
    );
    assert_eq!(flax::from_bytes(&file).unwrap().metadata_keys().len(), 0);
    let empty = Tree::of(&BTreeMap::<String, f32>::new()).unwrap();
    assert_eq!(flax::to_bytes(&Tensors::of(&empty).unwrap()).unwrap(), b"\x80");
    // A text of flax under that name is kept.
    let text = b"\x82\xa7treedef\xa1x\xa1w\x01".to_vec();
    let read = flax::from_bytes(&text).unwrap();
    assert_eq!(flax::from_bytes(&flax::to_bytes(&read).unwrap()).unwrap(), read);
    assert_eq!(read.metadata("treedef"), Some("\"x\""));
    refused(flax::to_bytes(&tensors.with_metadata("format", "pt")), "is not metadata of flax");
}
