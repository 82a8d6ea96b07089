//! Below tagged, untagged and flattened types, where serde reads from a buffer of its own.

use std::collections::BTreeMap;
use std::fmt::Debug;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use treedef_python::{NdArray, Reader, UnusedKeys};

use crate::{eval, python, read, reads, run};

#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
#[allow(dead_code, reason = "it is only shown")]
enum Tagged {
    #[serde(rename = "wide")]
    Wide { w: Vec<[f64; 2]>, b: Option<f64> },
    #[serde(rename = "narrow")]
    Narrow { w: Vec<[f32; 2]>, n: usize },
    #[serde(rename = "array")]
    Array { a: NdArray<f64> },
    #[serde(rename = "names")]
    Names { names: Vec<String>, inner: Option<Inner> },
}

#[derive(Debug, Deserialize)]
#[allow(dead_code, reason = "it is only shown")]
struct Inner {
    x: Vec<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
#[allow(dead_code, reason = "it is only shown")]
enum Untagged {
    Wide { w: Vec<f64> },
    Narrow { v: Vec<f32> },
    Either { u: Vec<f64>, more: u8 },
    Other { u: Vec<f32> },
}

#[derive(Debug, Deserialize)]
#[allow(dead_code, reason = "it is only shown")]
struct Flat {
    x: f64,
    #[serde(flatten)]
    inner: Inner2,
}

#[derive(Debug, Deserialize)]
#[allow(dead_code, reason = "it is only shown")]
struct Inner2 {
    w: Vec<f64>,
    n: u8,
}

#[derive(Debug, Deserialize)]
#[allow(dead_code, reason = "it is only shown")]
struct FlatMap {
    x: f64,
    #[serde(flatten)]
    rest: BTreeMap<String, Vec<f32>>,
}

/// The rule is the same as elsewhere: an array has the numbers that the type has.
#[test]
fn numbers_are_not_converted() {
    python(|names| {
        let error = |path: &str, wanted: &str, found: &str| {
            format!(
                "TypeError: {path}: expected an array of {wanted}, found {found} (`Reader::convert_numbers` converts)"
            )
        };
        for _ in 0..2 {
            reads! { names, Reader::new();
                Tagged, "{'type': 'wide', 'w': np.ones((1, 2))}" => "Wide { w: [[1.0, 1.0]], b: None }";
                Tagged, "{'type': 'wide', 'w': np.ones((1, 2), 'f4')}" => error("['w']", "f64", "float32[1, 2]");
                Tagged, "{'type': 'wide', 'w': np.ones((1, 2), int)}" => error("['w']", "f64", "int64[1, 2]");
                Tagged, "{'type': 'wide', 'w': [[1, 2.5]]}" => "Wide { w: [[1.0, 2.5]], b: None }";
                Tagged, "{'type': 'wide', 'w': [np.ones(2), np.ones(2, 'f2')]}" => error("['w'][1]", "f64", "float16[2]");
                Tagged, "{'type': 'wide', 'w': [], 'b': np.float32(1)}" => error("['b']", "f64", "float32[]");
                Tagged, "{'type': 'wide', 'w': [], 'b': np.float64(1)}" => "Wide { w: [], b: Some(1.0) }";
                Tagged, "Plain(type='wide', w=jnp.ones((1, 2)))" => error(".w", "f64", "float32[1, 2]");
                Tagged, "{'type': 'narrow', 'w': jnp.ones((1, 2)), 'n': 1}" => "Narrow { w: [[1.0, 1.0]], n: 1 }";
                Tagged, "{'type': 'narrow', 'w': np.ones((1, 2)), 'n': 1}" => error("['w']", "f32", "float64[1, 2]");
                Tagged, "{'type': 'narrow', 'w': [], 'n': np.uint64(1)}" => "Narrow { w: [], n: 1 }";
                Tagged, "{'type': 'narrow', 'w': [], 'n': np.int64(1)}" => error("['n']", "u64", "int64[]");
                Vec<Tagged>, "[{'type': 'narrow', 'w': np.ones((1, 2), 'f4'), 'n': 1}, {'type': 'wide', 'w': np.ones((1, 2), 'f4')}]" => error("[1]['w']", "f64", "float32[1, 2]");
                Untagged, "{'w': np.ones(2)}" => "Wide { w: [1.0, 1.0] }";
                Untagged, "{'w': np.ones(2, 'f4')}" => error("['w']", "f64", "float32[2]");
                Untagged, "{'v': np.ones(2, 'f4')}" => "Narrow { v: [1.0, 1.0] }";
                Untagged, "{'v': np.ones(2)}" => error("['v']", "f32", "float64[2]");
                Untagged, "{'u': np.ones(2, 'f4')}" => "Other { u: [1.0, 1.0] }";
                Flat, "{'x': 1.0, 'w': np.ones(2), 'n': 3}" => "Flat { x: 1.0, inner: Inner2 { w: [1.0, 1.0], n: 3 } }";
                Flat, "{'x': 1.0, 'w': np.ones(2, 'f4'), 'n': 3}" => error("['w']", "f64", "float32[2]");
                FlatMap, "{'x': 1.0, 'a': np.ones(1, 'f4'), 'b': np.ones(2, 'f4')}" => "FlatMap { x: 1.0, rest: {\"a\": [1.0], \"b\": [1.0, 1.0]} }";
                FlatMap, "{'x': 1.0, 'a': np.ones(1, 'f4'), 'b': np.ones(2)}" => error("['b']", "f32", "float64[2]");
            }
        }
        reads! { names, Reader::new().convert_numbers(true);
            Tagged, "{'type': 'wide', 'w': np.ones((1, 2), 'f4')}" => "Wide { w: [[1.0, 1.0]], b: None }";
            FlatMap, "{'x': 1.0, 'a': np.ones(1)}" => "FlatMap { x: 1.0, rest: {\"a\": [1.0]} }";
        }
    });
}

/// Whether the arrays of an object are compared with the types does not depend on objects that were read before.
#[test]
fn earlier_objects_decide_nothing() {
    #[derive(Debug, Deserialize)]
    #[serde(tag = "type")]
    #[allow(dead_code, reason = "it is only read")]
    enum Kinds {
        A { w: Vec<f64> },
        B { w: Vec<f32> },
    }

    #[derive(Debug, Deserialize)]
    #[serde(tag = "type")]
    #[allow(dead_code, reason = "it is only read")]
    enum Two<T> {
        A { w: Vec<T>, v: Vec<T> },
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it is only read")]
    struct Flattened<T> {
        #[serde(flatten)]
        inner: T,
    }

    #[derive(Debug, Deserialize)]
    #[serde(tag = "t", content = "c")]
    #[allow(dead_code, reason = "it is only read")]
    enum Adjacent {
        A(Two<f64>),
        B(Two<f32>),
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it is only read")]
    enum External {
        A(Two<f64>),
        B(Two<f32>),
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it is only read")]
    struct Either {
        a: Option<Two<f64>>,
        b: Option<Two<f32>>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "it is only read")]
    enum ByNumber {
        Small { n: u8, w: Vec<f64> },
        Large { n: i64, w: Vec<f32> },
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "it is only read")]
    enum ByLength {
        Two { n: [f32; 2], w: Vec<f64> },
        Any { n: Vec<f32>, w: Vec<f32> },
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "it is only read")]
    enum ByUnused {
        Small { n: u8 },
        Large { n: i64, w: Vec<f32> },
    }

    python(|names| {
        run(
            names,
            "Kind = enum.Enum('Kind', ['A', 'B'])\nclass Mixed(str, enum.Enum): A = 'x'; B = 'y'",
        );
        let wide = "np.array([1e300])";
        macro_rules! after {
            ($($type:ty: $first:expr, then $second:expr, at $path:literal;)*) => {
                $(
                    let first = read::<$type>(names, &Reader::new(), &$first);
                    assert!(!first.contains("Error"), "{}: {first}", $first);
                    let error = concat!("TypeError: ", $path, ": expected an array of f32, found float64[1] (`Reader::convert_numbers` converts)");
                    let second = read::<$type>(names, &Reader::new(), &$second);
                    assert_eq!(second, error, "{} as {}, after {}", $second, stringify!($type), $first);
                )*
            };
        }
        let kind = |tag: &str, w: &str| format!("{{'type': {tag}, 'w': {w}}}");
        let two = |w: &str, v: &str| format!("{{'type': 'A', 'w': {w}, 'v': {v}}}");
        let (one, two64, two32) = ("np.ones(1)", two("np.ones(1)", "np.ones(1)"), two(wide, wide));
        after! {
            Kinds: kind("'A'", one), then kind("'B'", wide), at "['w']";
            Kinds: kind("Kind.A", one), then kind("Kind.B", wide), at "['w']";
            Kinds: kind("Mixed.A", one), then kind("Mixed.B", wide), at "['w']";
            Kinds: kind("b'A'", one), then kind("b'B'", wide), at "['w']";
            Kinds: kind("np.uint8(0)", one), then kind("np.uint8(1)", wide), at "['w']";
            Flattened<Kinds>: kind("Kind.A", one), then kind("Kind.B", wide), at "['w']";
            Flattened<Kinds>: kind("Mixed.A", one), then kind("Mixed.B", wide), at "['w']";
            Flattened<Kinds>: kind("np.str_('A')", one), then kind("np.str_('B')", wide), at "['w']";
            Flattened<Kinds>: kind("Text('A')", one), then kind("Text('B')", wide), at "['w']";
            Two<f32>: two("np.ones(1, 'f4')", "np.zeros(0)"), then two("np.ones(1, 'f4')", wide), at "['v']";
            Adjacent: format!("{{'t': 'A', 'c': {two64}}}"), then format!("{{'t': 'B', 'c': {two32}}}"), at "['c']['w']";
            External: format!("{{'A': {two64}}}"), then format!("{{'B': {two32}}}"), at "['B']['w']";
            Either: format!("{{'a': {two64}, 'b': None}}"), then format!("{{'a': None, 'b': {two32}}}"), at "['b']['w']";
            ByNumber: "{'n': 1, 'w': np.ones(1)}", then "{'n': 300, 'w': np.ones(1)}", at "['w']";
            ByNumber: "{'n': np.int64(1), 'w': np.ones(1)}", then "{'n': np.int64(300), 'w': np.ones(1)}", at "['w']";
            ByLength: "{'n': np.ones(2, 'f4'), 'w': np.ones(1)}", then "{'n': np.ones(3, 'f4'), 'w': np.ones(1)}", at "['w']";
            ByUnused: "{'n': 1, 'w': np.ones(1)}", then "{'n': 300, 'w': np.ones(1)}", at "['w']";
        }
    });
}

/// The variant that serde took decides, also where another one would fit the numbers.
#[test]
fn a_variant_rounds_nothing() {
    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "it is only shown")]
    enum NarrowFirst {
        Named { name: String },
        Single(Vec<f32>),
        Double(Vec<f64>),
        One(f32),
        Two(f64),
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "it is only shown")]
    enum WideFirst {
        Double(Vec<f64>),
        Single(Vec<f32>),
        Integers(Vec<i64>),
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "it is only shown")]
    enum ByField {
        Single { w: Vec<f32>, n: u8 },
        Double { w: Vec<f64> },
    }

    python(|names| {
        let error = |path: &str, wanted: &str, found: &str| {
            let first = format!(
                "put the variant with {} first",
                if found.starts_with('f') { "f64" } else { "i64" }
            );
            format!("TypeError: {path}expected an array of {wanted}, found {found} ({first})")
        };
        for _ in 0..2 {
            reads! { names, Reader::new();
                NarrowFirst, "np.array([0.1, 1e300])" => error("", "f32", "float64[2]");
                NarrowFirst, "np.ones(1, 'f4')" => "Single([1.0])";
                Vec<NarrowFirst>, "[np.ones(1, 'f4'), np.ones(2), {'name': 'a'}]" => error("[1]: ", "f32", "float64[2]");
                WideFirst, "np.array([0.1, 1e300])" => "Double([0.1, 1e300])";
                WideFirst, "np.array([0.5], 'f4')" => "Double([0.5])";
                WideFirst, "np.array([2**53 + 1])" => error("", "f64", "int64[1]");
                ByField, "{'w': np.array([1e300])}" => "Double { w: [1e300] }";
                ByField, "{'w': np.array([1e300]), 'n': 1}" => error("['w']: ", "f32", "float64[1]");
                ByField, "{'w': [1e300]}" => "Double { w: [1e300] }";
            }
        }
    });
}

/// A type below a buffer of serde accepts the same as elsewhere, for each type of numbers and of arrays.
#[test]
fn the_rule_is_that_of_other_places() {
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it is only read")]
    struct Plain<T> {
        w: T,
    }

    #[derive(Debug, Deserialize)]
    #[serde(tag = "type")]
    #[allow(dead_code, reason = "it is only read")]
    enum OneTag<T> {
        A { w: T },
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it is only read")]
    struct Flattened<T> {
        #[serde(flatten)]
        plain: Plain<T>,
    }

    fn compare<T: DeserializeOwned + Debug>(names: &Bound<'_, PyDict>, w: &str, convert: bool) {
        let object = eval(names, &format!("{{'type': 'A', 'w': {w}}}"));
        let reader = Reader::new().convert_numbers(convert);
        let kind = |error: treedef_python::Error| (error.kind(), error.path().to_owned());
        let expected = reader.read::<Plain<T>>(&object).map(drop).map_err(kind);
        let tagged = reader.read::<OneTag<T>>(&object).map(drop).map_err(kind);
        let flattened = reader.read::<Flattened<T>>(&object).map(drop).map_err(kind);
        let name = std::any::type_name::<T>();
        assert_eq!(tagged, expected, "{w} as {name}");
        assert_eq!(flattened, expected, "{w} as {name}");
    }

    python(|names| {
        macro_rules! types {
            ($w:expr, $convert:expr; $($type:ty)*) => {
                $(compare::<$type>(names, $w, $convert);)*
            };
        }
        for dtype in [
            "bool",
            "int8",
            "int16",
            "int32",
            "int64",
            "uint8",
            "uint16",
            "uint32",
            "uint64",
            "float16",
            "float32",
            "float64",
            "ml_dtypes.bfloat16",
            "ml_dtypes.float8_e5m2",
            "ml_dtypes.int4",
        ] {
            let dtype = if dtype.contains('.') { dtype.to_owned() } else { format!("'{dtype}'") };
            let array = format!("np.ones(2, {dtype})");
            types! { &array, false; Vec<f64> Vec<f32> Vec<i64> Vec<i32> Vec<u8> Vec<u64> [u16; 2] Vec<bool> }
            let scalar = format!("np.ones((), {dtype})[()]");
            types! { &scalar, false; f64 f32 i64 u8 usize }
        }
        for array in [
            "[1e300]",
            "[1.0, -1e300]",
            "[np.inf, 1e30]",
            "[0, 2**24 + 1]",
            "[2**53 + 1]",
            "[2**40]",
            "[3, -1]",
            "[2**24 + 1], 'u4'",
            "[2**64 - 1], 'u8'",
            "[True]",
            "[1.5], 'f2'",
        ] {
            let array = format!("np.array({array})");
            types! { &array, true; Vec<f64> Vec<f32> Vec<i64> Vec<i32> Vec<u8> Vec<u64> Vec<bool> Vec<Option<f32>> }
            types! { &format!("{array}[0]"), true; f64 f32 i64 u8 }
            let rows = format!("np.stack([{array}] * 2)");
            types! { &rows, true; Vec<Vec<f32>> Vec<Vec<f64>> NdArray<f32> NdArray<f64> }
        }
        for scalar in ["2**53 + 1", "2**24 + 1", "1e300", "2.5", "3", "True", "'a'", "None"] {
            for convert in [false, true] {
                types! { scalar, convert; f64 f32 bool String }
                let list = format!("[0, {scalar}]");
                types! { &list, convert; Vec<f64> (f64, f32) }
            }
        }
    });
}

#[test]
fn paths_are_whole() {
    #[derive(Debug, Deserialize)]
    #[serde(tag = "type")]
    #[allow(dead_code, reason = "only errors are read")]
    enum Halves {
        A { w: Vec<half::f16> },
    }

    python(|names| {
        reads! { names, Reader::new().name("p");
            Tagged, "{'type': 'wide', 'w': [[1.0, 2.0], [1.0, 'a']]}" => "TypeError: p['w'][1][1]: expected f64, found string \"a\"";
            Tagged, "{'type': 'wide', 'w': 'a'}" => "TypeError: p['w']: expected a sequence, found string \"a\"";
            Tagged, "{'type': 'wide', 'w': [], 'b': 'x'}" => "TypeError: p['b']: expected f64, found string \"x\"";
            Tagged, "{'type': 'narrow', 'w': [], 'n': -1}" => "ValueError: p['n']: expected usize, found integer `-1`";
            Tagged, "{'type': 'names', 'names': ['a', 'b', 3, 'c']}" => "TypeError: p['names'][2]: expected a string, found integer `3`";
            Tagged, "{'type': 'names', 'names': [], 'inner': {'x': [0.0, None]}}" => "TypeError: p['inner']['x'][1]: expected f64, found unit value";
            Tagged, "{'type': 'other'}" => "ValueError: p['type']: unknown variant `other`, expected one of `wide`, `narrow`, `array`, `names`";
            BTreeMap<String, Vec<Tagged>>, "{'k': [{'type': 'narrow', 'w': np.ones((1, 2), 'f4'), 'n': 1}, {'type': 'wide', 'w': [[1.0, None]]}]}" => "TypeError: p['k'][1]['w'][0][1]: expected f64, found unit value";
            Halves, "{'type': 'A', 'w': [0.5]}" => "TypeError: p['w'][0]: expected u16, found floating point `0.5` (a half float cannot be read inside tagged, untagged and flattened types: read `f32`)";
            Halves, "{'type': 'A', 'w': np.ones(1, 'f2')}" => "TypeError: p['w']: expected u16, found floating point `1.0` (a half float cannot be read inside tagged, untagged and flattened types: read `f32`)";
            Tagged, "{'type': 'names', 'names': np.zeros(2)}" => "TypeError: p['names']: expected a string, found floating point `0.0`";
            Tagged, "{'type': 'narrow', 'n': 1}" => "KeyError: 'p: `w` is missing'";
            Tagged, "{'type': 'names', 'names': [], 'inner': {}}" => "KeyError: \"p['inner']: `x` is missing\"";
            Tagged, "{'type': 'names', 'inner': {'x': [1.0]}}" => "KeyError: 'p: `names` is missing'";
            Vec<Tagged>, "[{'type': 'names', 'names': [], 'inner': {}}]" => "KeyError: \"p[0]['inner']: `x` is missing\"";
            Flat, "{'x': 1.0, 'w': [1.0, 'a'], 'n': 3}" => "TypeError: p['w'][1]: expected f64, found string \"a\"";
            Flat, "{'x': 1.0, 'w': [], 'n': 300}" => "ValueError: p['n']: expected u8, found integer `300`";
            Flat, "{'x': 'a', 'w': [], 'n': 3}" => "TypeError: p['x']: expected f64, found str 'a'";
            Flat, "{'x': 1.0, 'w': []}" => "KeyError: \"p: `n` is missing, found 'x', 'w'\"";
        }
    });
}

/// serde takes unused keys into its buffer, so only its own attribute refuses them.
#[test]
fn unused_keys_are_refused_by_serde() {
    #[derive(Debug, Deserialize)]
    #[serde(tag = "type", deny_unknown_fields)]
    #[allow(dead_code, reason = "only errors are read")]
    enum Strict {
        A { w: f64 },
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged, deny_unknown_fields)]
    #[allow(dead_code, reason = "only errors are read")]
    enum Shape {
        Circle { radius: f64 },
    }

    python(|names| {
        reads! { names, Reader::new().unused(UnusedKeys::Error);
            Strict, "{'type': 'A', 'w': 1.0}" => "A { w: 1.0 }";
            Strict, "{'type': 'A', 'w': 1.0, 'typo': 2}" => "KeyError: '`typo` is unknown, expected `w`'";
            Shape, "{'radius': 1.0}" => "Circle { radius: 1.0 }";
            Shape, "{'radius': 1.0, 'typo': 2}" => "ValueError: data did not match any variant of untagged enum Shape";
            Flat, "{'x': 1.0, 'w': [], 'n': 3, 'typo': 2}" => "Flat { x: 1.0, inner: Inner2 { w: [], n: 3 } }";
        }
    });
}

/// An array is one below tagged types, too.
#[test]
fn arrays_of_many_dimensions() {
    python(|names| {
        let array = |shape: &str, data: &str| {
            format!("Array {{ a: NdArray {{ shape: {shape}, data: {data} }} }}")
        };
        reads! { names, Reader::new();
            Tagged, "{'type': 'array', 'a': np.arange(4.0).reshape(2, 1, 2)}" => array("[2, 1, 2]", "[0.0, 1.0, 2.0, 3.0]");
            Tagged, "{'type': 'array', 'a': np.zeros((2, 0))}" => array("[2, 0]", "[]");
            Tagged, "{'type': 'array', 'a': [[1, 2.5]]}" => array("[1, 2]", "[1.0, 2.5]");
            Tagged, "{'type': 'array', 'a': np.ones((1, 2), 'f4')}" => "TypeError: ['a']: expected an array of f64, found float32[1, 2] (`Reader::convert_numbers` converts)";
            Tagged, "{'type': 'array', 'a': [[1.0], [2.0, 3.0]]}" => "ValueError: expected rows of 1, found one of 2";
            Tagged, "{'type': 'array', 'a': [[1.0], 2.0]}" => "ValueError: expected rows of one length, found a number beside a row";
            Tagged, "{'type': 'array', 'a': [1.0, [2.0]]}" => "ValueError: expected rows of one length, found a row beside a number";
            Tagged, "{'type': 'array', 'a': [1.0, 'x']}" => "TypeError: ['a'][1]: expected f64, found string \"x\"";
        }
        let json =
            serde_json::to_string(&NdArray::new(vec![1, 2], vec![1.0, 2.0]).unwrap()).unwrap();
        for json in [json.as_str(), "[[1.0, 2.0]]"] {
            let array: NdArray<f64> = serde_json::from_str(json).unwrap();
            assert_eq!((array.shape(), array.data()), (&[1, 2][..], &[1.0, 2.0][..]), "{json}");
        }
    });
}

/// Only a new structure is read a second time.
#[test]
fn objects_are_read_again_once_for_a_structure() {
    python(|names| {
        run(
            names,
            "
class Counts:
    calls = 0
    def __array__(self, dtype=None, copy=None):
        Counts.calls += 1
        return np.full((2, 2), float(Counts.calls))
def calls():
    found = Counts.calls
    Counts.calls = 0
    return found
",
        );
        let calls = || eval(names, "calls()").extract::<usize>().unwrap();
        let object = eval(names, "{'type': 'wide', 'w': Counts()}");
        let read = || Reader::new().read::<Tagged>(&object).unwrap();
        read();
        assert_eq!(calls(), 2);
        read();
        assert_eq!(calls(), 1);
        // An array that no type reads, beside integers that differ.
        for (step, expected) in [(1, 3), (2, 1)] {
            let unused = format!("'unused': np.ones(1), 'step': {step}");
            let object = eval(names, &format!("{{'type': 'wide', 'w': Counts(), {unused}}}"));
            Reader::new().read::<Tagged>(&object).unwrap();
            assert_eq!(calls(), expected);
        }
        let _ =
            Reader::new().read::<BTreeMap<String, Vec<[f64; 2]>>>(&eval(names, "{'w': Counts()}"));
        assert_eq!(calls(), 1);
    });
}
