//! The smallest cases of values like an example, one by one.

use std::collections::BTreeMap;

use nalgebra::{DMatrix, DVector, Matrix2x3, Matrix3, RowVector3, Vector3};
use ndarray::{Array2, ArrayD};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use treedef_python::{
    Like, NdArray, Reader, Rules, flat_from_python, flat_to_python, from_python, to_python_like,
};

use crate::like::SAME;
use crate::{eval, python, run};

/// A value in the form of an example: its `repr` in Python, or the error.
fn shown(names: &Bound<'_, PyDict>, value: &(impl Serialize + ?Sized), example: &str) -> String {
    match to_python_like(names.py(), value, &eval(names, example)) {
        Ok(object) => format!("{object:?}").replace('\n', "").replace("  ", ""),
        Err(error) => PyErr::from(error).to_string(),
    }
}

macro_rules! table {
    ($names:expr; $($value:expr, $example:literal => $expected:expr;)*) => {
        $(assert_eq!(shown($names, &$value, $example), $expected, "{} like {}", stringify!($value), $example);)*
    };
}

#[test]
fn numbers() {
    python(|names| {
        let unfit = |kind: &str, found: &str| {
            format!(
                "ValueError: expected {kind} as in the example, found {found}, which does not fit"
            )
        };
        table! { names;
            3, "0" => "3";
            3.0, "0" => "3";
            -0.0, "0" => "0";
            1e300, "0" => format!("{}", eval(names, "int(1e300)"));
            2.7, "0" => unfit("an integer", "float 2.7");
            f64::NAN, "0" => unfit("an integer", "float NaN");
            f64::INFINITY, "0" => unfit("an integer", "float inf");
            u128::MAX, "0" => u128::MAX.to_string();
            true, "0" => "1";
            3, "0.5" => "3.0";
            1u64 << 53, "0.5" => "9007199254740992.0";
            (1u64 << 53) + 1, "0.5" => unfit("a float", "int 9007199254740993");
            u64::MAX, "0.5" => unfit("a float", "int 18446744073709551615");
            0.1f32, "0.5" => "0.10000000149011612";
            f64::NAN, "0.5" => "nan";
            true, "0.5" => "1.0";
            false, "True" => "False";
            1, "True" => "True";
            0.0, "True" => "False";
            2, "True" => unfit("a bool", "int 2");
            0.5, "True" => unfit("a bool", "float 0.5");
            (1.0, 2.0), "1j" => "(1+2j)";
            1.5, "1j" => "(1.5+0j)";
            (1, 2), "1j" => "(1+2j)";
            "a", "1j" => "TypeError: expected a complex number as in the example, found str 'a'";
            "ab", "1j" => "TypeError: expected a complex number as in the example, found str 'ab'";
            (1, 2, 3), "1j" => "TypeError: expected a complex number as in the example, found int32[3]";
            "a", "0" => "TypeError: expected an integer as in the example, found str 'a'";
            "1", "0" => "TypeError: expected an integer as in the example, found str '1'";
            vec![1], "0" => "TypeError: expected an integer as in the example, found int32[1]";
            1, "'a'" => "TypeError: expected a str as in the example, found int 1";
            "b", "'a'" => "'b'";
            'b', "'a'" => "'b'";
            2, "Level.LOW" => "<Level.HIGH: 2>";
            "HIGH", "Level.LOW" => "<Level.HIGH: 2>";
            "RED", "Color.RED" => "<Color.RED: 1>";
            "BLUE", "Mixed.RED" => "<Mixed.BLUE: 'RED'>";
            2.0, "Level.LOW" => "<Level.HIGH: 2>";
            0.5, "Level.LOW" => unfit("an integer", "float 0.5");
            1.0, "Ratio.HALF" => "<Ratio.WHOLE: 1.0>";
            "BLUE", "Color.RED" => "KeyError: 'BLUE'";
            0.5, "Color.RED" => "TypeError: expected Color as in the example, found float 0.5";
            "b", "Text('a')" => "'b'";
            None::<f64>, "0.5" => "None";
            0.5, "None" => "0.5";
            "x", "len" => "TypeError: expected builtin_function_or_method as in the example, found str 'x'";
        }
    });
}

#[test]
fn numbers_of_arrays() {
    python(|names| {
        run(names, "t = np.array([2], 'i4'); half = np.zeros(1, 'f2')");
        let unfit = |dtype: &str, found: &str| {
            format!(
                "ValueError: expected {dtype} as in the example, found {found}, which does not fit"
            )
        };
        table! { names;
            [3.0], "t" => "array([3], dtype=int32)";
            [2.7], "t" => unfit("int32", "2.7");
            [1i64 << 40], "t" => unfit("int32", "1099511627776");
            [1.0, f64::NAN], "t" => unfit("int32", "nan");
            [2147483647.0], "t" => "array([2147483647], dtype=int32)";
            [2147483648.0], "t" => unfit("int32", "2147483648.0");
            [-2147483648.0], "t" => "array([-2147483648], dtype=int32)";
            [300], "np.array([2], 'u1')" => unfit("uint8", "300");
            [-1], "np.array([2], 'u1')" => unfit("uint8", "-1");
            [-1.0], "np.array([2], 'u8')" => unfit("uint64", "-1.0");
            [u64::MAX], "np.array([2])" => unfit("int64", "18446744073709551615");
            [9.223372036854776e18], "np.array([2])" => unfit("int64", "9.223372036854776e+18");
            [(1u64 << 53) + 1], "np.zeros(1)" => unfit("float64", "9007199254740993");
            // Beside floats, or beside integers of another sign, numpy makes floats of integers.
            ((1i64 << 53) + 1, 0.5), "np.zeros(2)" => unfit("float64", "9007199254740993");
            (0.5, (1i64 << 53) + 1), "jnp.zeros(2)" => unfit("float32", "9007199254740993");
            (16_777_217, 0.5), "np.zeros(2, 'f4')" => unfit("float32", "16777217");
            (16_777_217, 0.5), "np.zeros(2)" => "array([1.6777217e+07, 5.0000000e-01])";
            ((1i64 << 53) + 1, 2.0), "np.zeros(2, int)" => "array([9007199254740993,2])";
            ((1i64 << 53) + 1, 0.5), "np.zeros(2, int)" => unfit("int64", "0.5");
            (u64::MAX, 1i8), "np.zeros(2, 'u8')" => "array([18446744073709551615,1], dtype=uint64)";
            (u64::MAX, -1i8), "np.zeros(2, 'u8')" => unfit("uint64", "-1");
            [((1i64 << 53) + 1, 0.5)], "np.zeros(1, 'c16')" => unfit("float64", "9007199254740993");
            [(16_777_217, 0.5)], "np.zeros(1, 'c8')" => unfit("float32", "16777217");
            [(1i64 << 30, 0.5)], "np.zeros(1, 'c8')" => "array([1.0737418e+09+0.5j], dtype=complex64)";
            [1u64 << 63], "np.zeros(1)" => "array([9.22337204e+18])";
            [u64::MAX], "np.zeros(1)" => unfit("float64", "18446744073709551615");
            [16777217], "np.zeros(1, 'f4')" => unfit("float32", "16777217");
            [0.1], "np.zeros(1, 'f4')" => "array([0.1], dtype=float32)";
            [1e300], "np.zeros(1, 'f4')" => unfit("float32", "1e+300");
            [f64::INFINITY], "np.zeros(1, 'f4')" => "array([inf], dtype=float32)";
            [1e6], "half" => unfit("float16", "1000000.0");
            [100_000], "half" => unfit("float16", "100000");
            [2049], "half" => unfit("float16", "2049");
            [2048], "half" => "array([2.048e+03], dtype=float16)";
            [257], "np.zeros(1, ml_dtypes.bfloat16)" => unfit("bfloat16", "257");
            [0.1], "np.zeros(1, ml_dtypes.bfloat16)" => "array([0.100098], dtype=bfloat16)";
            [f64::INFINITY], "np.zeros(1, ml_dtypes.float8_e4m3fn)" => unfit("float8_e4m3fn", "inf");
            [f64::INFINITY], "np.zeros(1, ml_dtypes.float8_e5m2)" => "array([inf], dtype='float8_e5m2')";
            [f64::NEG_INFINITY], "np.zeros(1, ml_dtypes.float4_e2m1fn)" => unfit("float4_e2m1fn", "-inf");
            [f64::NAN], "np.zeros(1, ml_dtypes.float4_e2m1fn)" => unfit("float4_e2m1fn", "nan");
            [f64::NAN], "np.zeros(1, ml_dtypes.float8_e4m3fn)" => "array([nan], dtype='float8_e4m3fn')";
            [1e6], "np.zeros(1, ml_dtypes.float4_e2m1fn)" => unfit("float4_e2m1fn", "1000000.0");
            [-7.5], "np.zeros(1, ml_dtypes.float4_e2m1fn)" => unfit("float4_e2m1fn", "-7.5");
            [6.9], "np.zeros(1, ml_dtypes.float4_e2m1fn)" => "array([6], dtype='float4_e2m1fn')";
            [1000], "np.zeros(1, ml_dtypes.float6_e2m3fn)" => unfit("float6_e2m3fn", "1000");
            [448.0], "np.zeros(1, ml_dtypes.float8_e4m3fn)" => "array([448], dtype='float8_e4m3fn')";
            [449.0], "np.zeros(1, ml_dtypes.float8_e4m3fn)" => "array([448], dtype='float8_e4m3fn')";
            [500.0], "np.zeros(1, ml_dtypes.float8_e4m3fn)" => unfit("float8_e4m3fn", "500.0");
            [3.39e38], "np.zeros(1, ml_dtypes.bfloat16)" => "array([3.38953e+38], dtype=bfloat16)";
            [3.4e38], "np.zeros(1, ml_dtypes.bfloat16)" => unfit("bfloat16", "3.4e+38");
            [7], "np.zeros(1, ml_dtypes.int4)" => "array([7], dtype=int4)";
            [8], "np.zeros(1, ml_dtypes.int4)" => unfit("int4", "8");
            [1, 0], "np.zeros(1, '?')" => "array([ True, False])";
            [2], "np.zeros(1, '?')" => unfit("bool", "2");
            [true], "np.zeros(1)" => "array([1.])";
            [[1.0, 2.0]], "np.zeros(1, 'c16')" => "array([1.+2.j])";
            [1.0], "np.zeros(1, 'c8')" => "array([1.+0.j], dtype=complex64)";
            2.0, "np.int8(3)" => "np.int8(2)";
            2.5, "np.int8(3)" => unfit("int8", "2.5");
            [2.5], "np.float32(3)" => "TypeError: expected a number as in the example, found float32[1]";
            2.5, "np.array(0.0)" => "array(2.5)";
            2.5, "jnp.float32(0)" => "Array(2.5, dtype=float32)";
            2.5, "jnp.int32(0)" => unfit("int32", "2.5");
            "a", "np.zeros(1)" => "TypeError: expected an array as in the example, found str";
            ["a"], "np.zeros(1)" => "TypeError: expected numbers as in the example, found str32[1]";
            Vec::<f64>::new(), "np.zeros((0, 4))" => "array([], shape=(0, 4), dtype=float64)";
            Vec::<f64>::new(), "np.zeros(4, 'i4')" => "array([], dtype=int32)";
            [1.0, 2.0], "np.matrix([[0]])" => "matrix([[1, 2]])";
            [1.0, 2.0], "np.ma.masked_array([0, 0], [1, 0])" => "masked_array(data=[--, 2], mask=[ True, False], fill_value=999999)";
            [1.0], "np.ma.masked_array([0, 0], [1, 0])" => "ValueError: expected a masked array of the shape [2] as its mask in the example, found [1]";
            [1.0, 2.0], "array.array('i', [0])" => "array('i', [1, 2])";
            [1.5], "array.array('i', [0])" => unfit("int32", "1.5");
            ["b", "cd"], "np.array(['a'])" => "array(['b', 'cd'], dtype='<U2')";
            [1.0], "Gives(np.zeros(1))" => "TypeError: Gives as in the example gives arrays, but none becomes one";
        }
        let weak = eval(names, "jnp.asarray(1.0)");
        let back = to_python_like(names.py(), &2.5, &weak).unwrap();
        assert!(back.getattr("weak_type").unwrap().is_truthy().unwrap());
        run(names, "x = {'a': [np.array([2], 'i4')]}");
        let text =
            "ValueError: ['a'][0]: expected int32 as in the example, found 2.5, which does not fit";
        assert_eq!(shown(names, &BTreeMap::from([("a", vec![vec![2.5]])]), "x"), text);
    });
}

#[test]
fn containers() {
    python(|names| {
        let two = BTreeMap::from([("a", 1.0), ("b", 2.0)]);
        table! { names;
            [1, 2], "{5}" => "{1, 2}";
            [1.0, 2.0], "{5}" => "{1, 2}";
            [1.5], "{5}" => "ValueError: [0]: expected an integer as in the example, found float 1.5, which does not fit";
            [1, 2], "frozenset({5.0})" => "frozenset({1.0, 2.0})";
            [(1, "a")], "{(0, 'b')}" => "{(1, 'a')}";
            [vec![1, 2]], "set()" => "{(1, 2)}";
            Vec::<u8>::new(), "{5}" => "set()";
            1.5, "{5}" => "TypeError: expected set as in the example, found float 1.5";
            [1, 2], "deque([0, 0], 3)" => "deque([1, 2], maxlen=3)";
            [1, 2, 3], "deque([0, 0], 3)" => "TypeError: expected deque of 2 as in the example, found int32[3]";
            [1.0, 3.0], "range(2)" => "range(1, 5, 2)";
            [0, 1], "range(2)" => "range(0, 2)";
            [3, 1, -1], "range(3)" => "range(3, -3, -2)";
            [7], "range(3)" => "range(7, 8)";
            Vec::<i64>::new(), "range(3)" => "range(0, 0)";
            [1, 2, 4], "range(3)" => "ValueError: expected range as in the example, found int32[3], whose numbers are at no equal distances";
            [1, 1], "range(3)" => "ValueError: expected range as in the example, found int32[2], whose numbers are at no equal distances";
            [1.5], "range(3)" => "ValueError: expected an integer as in the example, found float 1.5, which does not fit";
            b"ab".to_vec(), "b'x'" => "b'ab'";
            b"ab".to_vec(), "bytearray(b'x')" => "bytearray(b'ab')";
            Vec::<u8>::new(), "b'x'" => "b''";
            [1.0], "b'x'" => "TypeError: expected bytes as in the example, found float64[1]";
            "ab", "b'x'" => "TypeError: expected bytes as in the example, found str 'ab'";
            [1, 2], "Point(0.0, 0.0)" => "Point(x=1.0, y=2.0)";
            [1, 2, 3], "Point(0, 0)" => "TypeError: expected Point as in the example, found int32[3]";
            [1, 2], "Names([0, 0])" => "[1, 2]";
            [1, 2], "(0, 0.0)" => "(1, 2.0)";
            [[1, 2], [3, 4]], "[(0, 0), [0.0, 0.0]]" => "[(1, 2), [3.0, 4.0]]";
            [[1, 2], [3, 4]], "[np.zeros(2), (0, 0)]" => "[array([1., 2.]), (3, 4)]";
            two, "OrderedDict(b=0, a=0)" => "OrderedDict([('b', 2), ('a', 1)])";
            two, "defaultdict(list, b=0, a=0)" => "defaultdict(<class 'list'>, {'b': 2, 'a': 1})";
            two, "types.MappingProxyType(dict(a=0, b=0))" => "mappingproxy({'a': 1, 'b': 2})";
            two, "collections.Counter(a=0, b=0)" => "Counter({'b': 2, 'a': 1})";
            two, "flax.core.freeze(dict(a=0, b=0))" => "FrozenDict({a: 1,b: 2,})";
            two, "{'a': 0.0}" => "KeyError: \"the example lacks 'b', found 'a'\"";
            two, "{'a': 0.0, 'b': 0, 'c': None, 'd': [], 'e': {'x': ['y']}}" => "{'a': 1.0, 'b': 2, 'c': None, 'd': [], 'e': {'x': ['y']}}";
            two, "{'a': 0.0, 'b': 0, 'c': {'x': ['y', 1]}}" => "KeyError: \"['c']: the value has none, the example has dict\"";
            1.5, "{'a': 0.0}" => "TypeError: expected dict as in the example, found float 1.5";
        }
        // It is ours, and not the example itself.
        run(names, "example = {'x': [0.0], 'names': ['a']}");
        let example = eval(names, "example");
        let like = Like::of(&example).unwrap();
        let value = BTreeMap::from([("x", vec![1.0])]);
        let (a, b) = (like.to_python(&value).unwrap(), like.to_python(&value).unwrap());
        assert!(!a.is(&b) && a.eq(&b).unwrap());
        assert_eq!(example.to_string(), "{'x': [0.0], 'names': ['a']}");
    });
}

#[derive(Serialize, Deserialize)]
struct Both {
    x: f64,
    y: f64,
}

#[derive(Serialize, Deserialize)]
struct WithNorm {
    x: f64,
    y: f64,
    norm: f64,
}

#[derive(Serialize)]
struct One {
    x: f64,
}

/// An object is made as its class makes it.
#[test]
fn objects() {
    python(|names| {
        let (one, both) = (One { x: 1.0 }, Both { x: 1.0, y: 0.0 });
        run(names, "def touched(a): a.norm; return a");
        run(
            names,
            "def changed(a, **more):\n for k, v in more.items(): object.__setattr__(a, k, v)\n return a",
        );
        let norm = |example: &str| {
            let back = to_python_like(names.py(), &both, &eval(names, example)).unwrap();
            back.getattr("norm").unwrap().to_string()
        };
        assert_eq!(norm("touched(Lazy(3, 4))"), "1.0");
        assert_eq!(norm("touched(LazyData(3, 4))"), "1.0");
        assert_eq!(norm("Normed(3, 4)"), "1.0");
        let with_norm = from_python::<WithNorm>(&eval(names, "touched(LazyData(3, 4))")).unwrap();
        assert_eq!(with_norm.norm, 5.0);
        table! { names;
            both, "Normed(3.0, 4.0)" => "Normed(x=1.0, y=0.0, made=0, norm=1.0)";
            one, "changed(Counted(3.0), count=7)" => "Counted(x=1.0, count=7)";
            one, "Static(3.0, 5)" => "Static(x=1.0, n=5)";
            both, "Registered(3.0, 4.0, 'n')" => "Registered(x=1.0, y=0.0, name='n')";
            both, "Flax(3.0, 4.0, 'n')" => "Flax(x=1.0, y=0.0, name='n')";
            both, "Slots(3.0, 4)" => "Slots(x=1.0, y=0)";
            both, "Attrs(3.0, 4.0)" => "Attrs(x=1.0, y=0.0)";
            both, "types.SimpleNamespace(x=0.0, y=0, f=len)" => "namespace(x=1.0, y=0, f=<built-in function len>)";
            both, "Turned(4.0, 3.0)" => "Turned(x=1.0, y=0.0)";
            both, "ByName(x=3.0, y=4.0)" => "ByName(x=1.0, y=0.0)";
            both, "Data(3.0, 4.5)" => "Data(x=1.0, y=0.0)";
            one, "Data(3.0, 4.5)" => "KeyError: '.y: the value has none, the example has float 4.5'";
            one, "Data(3.0, np.array(['kept']))" => "Data(x=1.0, y=array(['kept'], dtype='<U4'))";
            one, "Data(3.0, np.array('2020', 'M8[Y]'))" => "Data(x=1.0, y=array('2020', dtype='datetime64[Y]'))";
            one, "Data(3.0, jax.random.key(0))" => "Data(x=1.0, y=Array((), dtype=key<fry>) overlaying:[0 0])";
            one, "Data(3.0, jnp.ones(2))" => "KeyError: '.y: the value has none, the example has ArrayImpl'";
            one, "Data(3.0, 'kept')" => "Data(x=1.0, y='kept')";
            both, "Counted(3.0)" => "KeyError: \"the example lacks 'y', found 'x', 'count'\"";
            [1.0, 0.0], "Data(3.0, 4.5)" => "TypeError: expected Data as in the example, found float64[2]";
        }
        // The children of a class that JAX takes apart without names are found in the result.
        let keyless = eval(names, "Keyless(np.float32(3.0), 4)");
        let back = to_python_like(names.py(), &both, &keyless).unwrap();
        let dict = back.getattr("__dict__").unwrap().to_string();
        assert_eq!(dict, "{'x': np.float32(1.0), 'y': 0, 'name': 'k', 'made_by': 'unflatten'}");
        let slotted = eval(names, "Slotted(3.0, 4.0)");
        let value = BTreeMap::from([("x", 1.0), ("_Slotted__y", 2.0)]);
        let back = to_python_like(names.py(), &value, &slotted).unwrap();
        assert_eq!(back.getattr("y").unwrap().to_string(), "2.0");
        // A static field of the value replaces the field of the example.
        let value = BTreeMap::from([("x", 1.0), ("n", 6.0)]);
        assert_eq!(shown(names, &value, "Static(3.0, 5)"), "Static(x=1.0, n=6)");
        // An object that refers to itself is not followed where no value needs it.
        run(
            names,
            "loop = Plain(x=1.0, log=Plain()); loop.log.owner = loop; loop = {'x': 0.0, 's': loop}",
        );
        let text = "KeyError: \"['s']: the value has none, the example has Plain\"";
        assert_eq!(shown(names, &one, "loop"), text);
    });
}

/// A plan has the same result as a single call, for each element of a long list.
#[test]
fn elements_that_are_alike_and_others() {
    python(|names| {
        run(names, SAME);
        let same = eval(names, "same");
        for example in [
            "[{'x': 1.0, 'y': 2.0} for _ in range(50)]",
            "[Data(1.0, 2.0) for _ in range(50)]",
            "[Data(1.0, 2.0) if i % 3 else {'x': 1, 'y': np.float32(2)} for i in range(50)]",
            "[Point(i, 2.0 * i) for i in range(50)]",
            "[Registered(1.0, 2.0, 'abc'[i % 3]) for i in range(50)]",
            "[{'x': 1.0, 'y': 2.0, 'name': str(i)} for i in range(50)]",
            "[{'y': 1.0, 'x': 2} if i % 2 else {'x': True, 'y': 2} for i in range(50)]",
        ] {
            let example = eval(names, example);
            let values: Vec<Both> = Reader::new()
                .read(&eval(names, "[{'x': 1.0, 'y': i} for i in range(50)]"))
                .unwrap();
            let whole = to_python_like(names.py(), &values, &example).unwrap();
            for (index, value) in values.iter().enumerate() {
                let one = to_python_like(names.py(), value, &example.get_item(index).unwrap());
                same.call1((whole.get_item(index).unwrap(), one.unwrap())).unwrap();
            }
        }
    });
}

/// In, out, and out like the input, for each crate of arrays.
#[test]
fn arrays_of_other_crates() {
    fn there_and_back<T: Serialize + DeserializeOwned>(names: &Bound<'_, PyDict>, example: &str) {
        let example = eval(names, example);
        let value: T = from_python(&example).unwrap_or_else(|error| panic!("{example}: {error}"));
        let back = to_python_like(names.py(), &value, &example).unwrap();
        eval(names, "same").call1((&example, back)).unwrap();
    }
    python(|names| {
        run(names, SAME);
        for example in [
            "np.arange(9.0).reshape(3, 3)",
            "jnp.arange(9.0).reshape(3, 3).astype('float64') if jax.config.jax_enable_x64 else np.arange(9.0).reshape(3, 3)",
            "np.arange(9.0).reshape(3, 3).T",
            "np.arange(9.0).reshape(3, 3).tolist()",
            "[np.arange(3.0)] * 3",
            "[(0.0, 1.0, 2.0), [3.0, 4.0, 5.0], np.arange(3.0)]",
        ] {
            there_and_back::<Matrix3<f64>>(names, example);
            there_and_back::<DMatrix<f64>>(names, example);
            there_and_back::<Array2<f64>>(names, example);
            there_and_back::<ArrayD<f64>>(names, example);
            there_and_back::<NdArray<f64>>(names, example);
            there_and_back::<[[f64; 3]; 3]>(names, example);
            there_and_back::<Vec<Vec<f64>>>(names, example);
        }
        for example in
            ["np.arange(3.0)", "[0.0, 1.0, 2.0]", "(0.0, 1, 2.5)", "np.arange(3.0).reshape(3, 1)"]
        {
            there_and_back::<Vector3<f64>>(names, example);
            there_and_back::<DVector<f64>>(names, example);
        }
        there_and_back::<RowVector3<f64>>(names, "np.arange(3.0).reshape(1, 3)");
        there_and_back::<Matrix2x3<f32>>(names, "np.arange(6, dtype='f4').reshape(2, 3)");
        there_and_back::<Vec<Matrix2x3<f64>>>(names, "np.arange(12.0).reshape(2, 2, 3)");
        there_and_back::<BTreeMap<String, Matrix2x3<i64>>>(
            names,
            "{'m': np.arange(6).reshape(2, 3)}",
        );
        there_and_back::<NdArray<i64>>(names, "[[1, 2], [3, 4]]");
        there_and_back::<Array2<i64>>(names, "((1, 2), (3, 4))");
    });
}

/// The flat functions remember which leaves were integers.
#[test]
fn integers_come_back_from_a_vector_of_floats() {
    python(|names| {
        run(names, SAME);
        let reader = Reader::new().convert_numbers(true);
        for example in [
            "{'n': 3}",
            "np.array([3])",
            "[1, 2.5, np.array([7], 'i1'), np.float32(0.5), np.uint8(255)]",
            "{'a': jnp.arange(3), 'b': (2**53, -1)}",
            "[Level.LOW, 0.5, Metres(1.5), Count(3), Ratio.HALF]",
        ] {
            let example = eval(names, example);
            let read = reader.read_flat::<f64>(&example, Rules::Jax);
            let (numbers, _) = read.unwrap_or_else(|error| panic!("{example}: {error}"));
            let back = flat_to_python(names.py(), &numbers, &example, Rules::Jax).unwrap();
            eval(names, "same").call1((&example, back)).unwrap();
        }
        let example = eval(names, "{'a': [1, np.arange(2)]}");
        let error = |numbers: &[f64]| {
            flat_to_python(names.py(), numbers, &example, Rules::Jax).unwrap_err().to_string()
        };
        assert_eq!(
            error(&[0.5, 0.0, 1.0]),
            "['a'][0]: expected an integer as in the example, found float 0.5, which does not fit"
        );
        assert_eq!(
            error(&[1.0, 0.5, 1.0]),
            "['a'][1]: expected int64 as in the example, found 0.5, which does not fit"
        );
        let large = eval(names, "{'n': 2**53 + 1}");
        let error = flat_from_python::<f64>(&large, Rules::Jax).unwrap_err();
        assert_eq!(
            error.to_string(),
            "['n']: expected f64, found int 9007199254740993, which it does not have exactly"
        );
    });
}
