//! The texts of errors, and the exceptions that they are.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use ndarray::Array2;
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize};
use treedef::Limits;
use treedef_python::{Like, NdArray, Reader, UnusedKeys, into_python, to_python, to_python_like};

use crate::{eval, python, run};

#[derive(Debug, Deserialize)]
#[allow(dead_code, reason = "only errors are read")]
struct Layer {
    w: [[f64; 4]; 3],
    #[serde(default)]
    b: Option<Vec<f32>>,
}

#[derive(Debug, Deserialize)]
#[allow(dead_code, reason = "only errors are read")]
struct Params {
    layers: Vec<Layer>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Strict {
    #[serde(rename = "A", alias = "a")]
    _a: u8,
}

#[derive(Debug, Deserialize)]
enum Kind {
    Unit,
    Newtype(#[allow(dead_code, reason = "only errors are read")] u8),
}

fn error<T: DeserializeOwned>(expression: &str) -> String {
    python(|names| {
        let object = eval(names, expression);
        let error = Reader::new().name("params").read::<T>(&object).err().unwrap();
        let error = PyErr::from(error);
        error.value(names.py()).repr().unwrap().to_string()
    })
}

#[test]
fn of_arrays() {
    let params = |w: &str| format!("{{'layers': [{{'w': np.zeros((3, 4))}}, Plain(w={w})]}}");
    let error_of = |w| error::<Params>(&params(w));
    assert_snapshot!(error_of("np.zeros((4, 3), 'f4')"), @r#"TypeError("params['layers'][1].w: expected f64[3, 4], found float32[4, 3]")"#);
    assert_snapshot!(error_of("np.zeros((3, 4), 'f4')"), @r#"TypeError("params['layers'][1].w: expected f64[3, 4], found float32[3, 4] (`Reader::convert_numbers` converts)")"#);
    assert_snapshot!(error_of("np.zeros((3, 5))"), @r#"ValueError("params['layers'][1].w: expected f64[3, 4], found float64[3, 5]")"#);
    assert_snapshot!(error_of("np.zeros(3)"), @r#"ValueError("params['layers'][1].w: expected f64[3, 4], found float64[3]")"#);
    assert_snapshot!(error_of("np.zeros((3, 4, 2))"), @r#"ValueError("params['layers'][1].w: expected f64[3, 4], found float64[3, 4, 2]")"#);
    assert_snapshot!(error_of("np.zeros(3, 'M8[s]')"), @r#"TypeError("params['layers'][1].w: expected numbers, found datetime64[s][3] (times have units: convert them by `.astype('int64')`)")"#);
    assert_snapshot!(error_of("[[1.0, 2.0, 3.0, '4']] * 3"), @r#"TypeError("params['layers'][1].w[0][3]: expected f64, found str '4'")"#);
    assert_snapshot!(error_of("1.5"), @r#"TypeError("params['layers'][1].w: expected a sequence of 3, found float 1.5")"#);
    assert_snapshot!(error_of("Gives(np.zeros((3, 4), 'f4'))"), @r#"TypeError("params['layers'][1].w: expected f64[3, 4], found float32[3, 4] (`Reader::convert_numbers` converts)")"#);
    assert_snapshot!(error::<NdArray<f64>>("np.zeros(3, 'f4')"), @"TypeError('params: expected an array of f64, found float32[3] (`Reader::convert_numbers` converts)')");
    assert_snapshot!(error::<NdArray<f64>>("['a']"), @"TypeError('params: expected NdArray (a dict or an object with attributes), found list of 1')");
    assert_snapshot!(error::<Array2<f64>>("np.zeros(3)"), @"ValueError('params: expected an array with 2 dimensions, found float64[3]')");
    assert_snapshot!(error::<Vec<u8>>("np.zeros(3, 'i8')"), @"TypeError('params: expected u8[_], found int64[3] (`Reader::convert_numbers` converts)')");
    assert_snapshot!(error::<Vec<f64>>("np.zeros(2, [('a', 'f8')])"), @"TypeError('params: expected numbers, found void64[2] (a structured array: give its columns as a dict)')");
    assert_snapshot!(error::<Vec<f64>>("np.zeros(2, np.longdouble)"), @"TypeError('params: expected numbers, found float128[2] (Rust has no such float: convert it by `.astype`)')");
    assert_snapshot!(error::<String>("np.zeros(2)"), @"TypeError('params: expected str, found float64[2]')");
}

#[test]
fn of_objects() {
    assert_snapshot!(error::<Params>("{'layer': []}"), @r#"KeyError("params: `layers` is missing, found 'layer'")"#);
    assert_snapshot!(error::<Params>("{'layers': [{}]}"), @r#"KeyError("params['layers'][0]: `w` is missing, found nothing")"#);
    assert_snapshot!(error::<Params>("{'layers': [[]]}"), @r#"TypeError("params['layers'][0]: expected Layer (a dict or an object with attributes), found list of 0")"#);
    assert_snapshot!(error::<Params>("{'layers': None}"), @r#"TypeError("params['layers']: expected a sequence, found None")"#);
    assert_snapshot!(error::<Params>("3"), @"TypeError('params: expected Params (a dict or an object with attributes), found int 3')");
    assert_snapshot!(error::<Strict>("{'A': 1, 'B': 2}"), @r#"KeyError("params: `B` is unknown, expected `A`, `a`, found 'A', 'B'")"#);
    assert_snapshot!(error::<Strict>("{'A': 1, 'a': 2}"), @r#"KeyError("params: `A` is there twice, found 'A', 'a'")"#);
    assert_snapshot!(error::<Strict>("{'A': 256}"), @r#"ValueError("params['A']: expected u8, found int 256, which is out of its range")"#);
    assert_snapshot!(error::<Strict>("{'A': -1}"), @r#"ValueError("params['A']: expected u8, found int -1, which is out of its range")"#);
    assert_snapshot!(error::<Strict>("{'A': 2**200}"), @r#"ValueError("params['A']: expected u8, found int 160693804425899027554196209234116260252220299378279283530137…, which is out of its range")"#);
    assert_snapshot!(error::<Strict>("{'A': 1.0}"), @r#"TypeError("params['A']: expected u8, found float 1.0")"#);
    assert_snapshot!(error::<Strict>("{'A': True}"), @r#"TypeError("params['A']: expected u8, found True")"#);
    assert_snapshot!(error::<f32>("1e300"), @"ValueError('params: expected f32, found float 1e300, which is out of its range')");
    assert_snapshot!(error::<f64>("10**400"), @"ValueError('params: expected f64, found int 100000000000000000000000000000000000000000000000000000000000…, which is out of its range')");
    assert_snapshot!(error::<bool>("1"), @"TypeError('params: expected bool, found int 1')");
    assert_snapshot!(error::<char>("'ab'"), @r#"ValueError('params: expected a character, found string "ab"')"#);
    assert_snapshot!(error::<(u8, u8)>("[1, 2, 3]"), @"ValueError('params: expected a sequence of 2, found list of 3')");
    assert_snapshot!(error::<BTreeMap<String, u8>>("{'a': 1, 2: 3}"), @"TypeError('params[2]: expected str, found int 2')");
    assert_snapshot!(error::<Kind>("'Other'"), @"ValueError('params: unknown variant `Other`, expected `Unit` or `Newtype`')");
    assert_snapshot!(error::<Kind>("'Newtype'"), @r#"TypeError("params: expected a dict with the content of the variant, found str 'Newtype'")"#);
    assert_snapshot!(error::<Kind>("{'Newtype': 'a'}"), @r#"TypeError("params['Newtype']: expected u8, found str 'a'")"#);
    assert_snapshot!(error::<Kind>("{'Unit': 1}"), @r#"TypeError("params['Unit']: expected None, found int 1")"#);
    assert_snapshot!(error::<Kind>("{}"), @"TypeError('params: expected Kind as a dict with one key, its variant, found dict')");
    assert_snapshot!(error::<String>("'\\ud800'"), @r#"UnicodeEncodeError('utf-8', '\ud800', 0, 1, 'surrogates not allowed')"#);
}

#[test]
fn of_unused_keys() {
    python(|names| {
        let object = eval(names, "{'layers': [], 'more': 1, 'most': Plain(x=1)}");
        let read = |unused| Reader::new().name("params").unused(unused).read::<Params>(&object);
        assert!(read(UnusedKeys::Ignored).is_ok());
        assert_snapshot!(read(UnusedKeys::Error).unwrap_err(), @"unused: params['more'], params['most']");
        run(names, "import warnings; warnings.simplefilter('error')");
        assert_snapshot!(read(UnusedKeys::Warning).unwrap_err(), @"UserWarning: unused: params['more'], params['most']");
        run(names, "warnings.simplefilter('ignore')");
        assert!(read(UnusedKeys::Warning).is_ok());
    });
}

#[test]
fn of_limits() {
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only errors are read")]
    struct Nested(Vec<Nested>);

    python(|names| {
        run(
            names,
            "cyclic = []; cyclic.append(cyclic)\nlarge = []\nfor _ in range(40): large = [large] * 10",
        );
        let reader =
            Reader::new().limits(Limits { max_depth: 4, max_work: 1000, ..Limits::default() });
        let cyclic = eval(names, "cyclic");
        assert_snapshot!(reader.read::<Nested>(&cyclic).unwrap_err(), @"[0][0][0][0]: objects nest deeper than 4 levels (`Reader::limits` with another `max_depth` allows more; an object that contains itself has no end)");
        assert!(Reader::new().read::<Nested>(&cyclic).is_err());
        let reader = Reader::new().limits(Limits { max_work: 1000, ..Limits::default() });
        assert_snapshot!(reader.read::<Nested>(&eval(names, "large")).unwrap_err().to_string().split(": ").nth(1).unwrap(), @"more than 1000 objects (`Reader::limits` with another `max_work` allows more)");
        // Each says of itself that it has few.
        run(
            names,
            "
import itertools
class EndlessMapping(collections.abc.Mapping):
    def __getitem__(self, key): return key
    def __iter__(self): return itertools.count()
    def __len__(self): return 1
class EndlessDeque(deque):
    def __iter__(self): return itertools.count()
class EndlessSequence(collections.abc.Sequence):
    def __getitem__(self, key): return key
    def __iter__(self): return itertools.count()
    def __len__(self): return 1
class EndlessSet(set):
    def __iter__(self): return itertools.count()
",
        );
        let many = "more than 1000 objects (`Reader::limits` with another `max_work` allows more)";
        let read = reader.read::<BTreeMap<i64, i64>>(&eval(names, "EndlessMapping()"));
        assert_eq!(read.unwrap_err().to_string(), many);
        for object in ["EndlessDeque()", "EndlessSequence()", "EndlessSet()"] {
            let read = reader.read::<Vec<i64>>(&eval(names, object));
            assert_eq!(read.unwrap_err().to_string(), many, "{object}");
        }
    });
}

/// An example is bounded as an object that is read. Its elements are no part of the value.
#[test]
fn of_examples() {
    python(|names| {
        run(
            names,
            "
import itertools
class Endless(deque):
    def __iter__(self): return iter([0.5]) if self.few else itertools.repeat(0.5)
    few = False
endless = Endless([0.5])
large = range(10**10)
",
        );
        let (endless, large) = (eval(names, "endless"), eval(names, "large"));
        let many = "objects (`Reader::limits` with another `max_work` allows more)";
        let error = to_python_like(names.py(), &[0.5], &endless).unwrap_err().to_string();
        assert!(error.starts_with("more than ") && error.ends_with(many), "{error}");
        let like = |value: &[i64]| to_python_like(names.py(), value, &large).unwrap().to_string();
        assert_eq!(like(&[0, 1]), "range(0, 2)");
        assert_eq!(like(&[3, 5, 7]), "range(3, 9, 2)");
        let same = eval(names, "range(0, 3, 7)");
        let like = to_python_like(names.py(), &[0], &same).unwrap();
        assert!(like.is(&same), "{like}");
    });
}

/// Recursion and work are bounded for each kind of container that an example may nest or repeat.
#[test]
fn of_examples_without_end() {
    python(|names| {
        run(
            names,
            "
own_dict = {}; own_dict['a'] = own_dict
own_list = []; own_list.append(own_list)
own_tuple = ([],); own_tuple[0].append(own_tuple)
own_data = Data(0, 0); own_data.x = own_data
own_table = Table(); own_table['a'] = own_table
own_deque = deque(); own_deque.append(own_deque)
deep_dict, deep_list, deep_tuple, deep_set = {}, [], (), frozenset()
for _ in range(100_000):
    deep_dict, deep_list, deep_tuple, deep_set = {'a': deep_dict}, [deep_list], (deep_tuple,), frozenset([deep_set])
large = [0.5]
for _ in range(40): large = [{'a': list(large)} for _ in range(10)]
",
        );
        let error = |example: &str| {
            let like = Like::of(&eval(names, example)).map(drop);
            like.unwrap_err().to_string()
        };
        for own in ["own_dict", "own_list", "own_tuple", "own_data", "own_table", "own_deque"] {
            assert!(error(own).contains("objects nest deeper than"), "{own}: {}", error(own));
        }
        for deep in ["deep_dict", "deep_list", "deep_tuple", "deep_set"] {
            assert!(error(deep).contains("objects nest deeper than"), "{deep}: {}", error(deep));
        }
        assert!(error("large").contains("more than 16777216 objects"));
    });
}

/// A dict would have one entry for both keys.
#[test]
fn of_equal_keys() {
    #[derive(PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(untagged)]
    enum Key {
        Int(i64),
        Bool(bool),
        Text(String),
        Unit(()),
        Empty([u8; 0]),
    }

    struct Twice;

    impl Serialize for Twice {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map([("a", 1), ("a", 2)])
        }
    }

    struct TwoFields;

    impl Serialize for TwoFields {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut fields = serializer.serialize_struct("TwoFields", 2)?;
            fields.serialize_field("a", &1)?;
            fields.serialize_field("a", &2)?;
            fields.end()
        }
    }

    python(|names| {
        let write = |value: &dyn Fn(Python<'_>) -> treedef_python::Result<String>| {
            value(names.py()).unwrap_or_else(|error| PyErr::from(error).to_string())
        };
        let equal = BTreeMap::from([(Key::Int(1), 1), (Key::Bool(true), 2)]);
        let nested = BTreeMap::from([("x", vec![&equal])]);
        let empty =
            BTreeMap::from([(Key::Int(1), 1), (Key::Bool(false), 2), (Key::Text("1".into()), 3)]);
        let units = BTreeMap::from([(Key::Unit(()), 1), (Key::Empty([]), 2)]);
        assert_snapshot!(write(&|py| Ok(to_python(py, &empty)?.to_string())), @"{1: 1, False: 2, '1': 3}");
        assert_snapshot!(write(&|py| Ok(to_python(py, &units)?.to_string())), @"{None: 1, (): 2}");
        assert_snapshot!(write(&|py| Ok(to_python(py, &equal)?.to_string())), @"ValueError: two keys of the dict are True to Python");
        assert_snapshot!(write(&|py| Ok(to_python(py, &nested)?.to_string())), @"ValueError: ['x'][0]: two keys of the dict are True to Python");
        assert_snapshot!(write(&|py| Ok(into_python(py, &nested)?.to_string())), @"ValueError: ['x'][0]: two keys of the dict are True to Python");
        assert_snapshot!(write(&|py| Ok(to_python(py, &Twice)?.to_string())), @"ValueError: two keys of the dict are 'a' to Python");
        assert_snapshot!(write(&|py| Ok(to_python(py, &TwoFields)?.to_string())), @"ValueError: two keys of the dict are 'a' to Python");
        let (five, mixed) = (eval(names, "{5}"), eval(names, "frozenset({5, 'a'})"));
        assert_snapshot!(write(&|py| Ok(to_python_like(py, &[1, 1], &five)?.to_string())), @"ValueError: expected 2 elements that differ, for set as in the example, found 1");
        assert_snapshot!(write(&|py| Ok(to_python_like(py, &("a", 1, true), &mixed)?.to_string())), @"ValueError: expected 3 elements that differ, for frozenset as in the example, found 2");
    });
}
