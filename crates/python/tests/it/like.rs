//! Values in the containers of an example.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use treedef::TreeSeed;
use treedef_python::{Reader, from_python, to_python_like};

use crate::{eval, python, run};

/// How two objects differ, in classes, types of numbers, shapes and bits.
pub(crate) const SAME: &str = "
def same(a, b):
    assert type(a) is type(b), (type(a), type(b))
    if hasattr(a, 'dtype'):
        assert a.dtype == b.dtype and a.shape == b.shape, (a.dtype, b.dtype, a.shape, b.shape)
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes(), (a, b)
    elif isinstance(a, dict):
        assert repr(list(a)) == repr(list(b)), (list(a), list(b))
        for x, y in zip(a.values(), b.values()): same(x, y)
    elif isinstance(a, (list, tuple, deque)):
        assert len(a) == len(b)
        for x, y in zip(a, b): same(x, y)
    elif dataclasses.is_dataclass(a):
        for field in dataclasses.fields(a): same(getattr(a, field.name), getattr(b, field.name))
    elif attrs.has(type(a)):
        for field in attrs.fields(type(a)): same(getattr(a, field.name), getattr(b, field.name))
    elif hasattr(a, '__dict__') and not callable(a) and not isinstance(a, enum.Enum):
        same(a.__dict__, b.__dict__)
    else:
        assert repr(a) == repr(b), (a, b)
";

/// Random pytrees, and those that a law once failed for.
pub(crate) const RANDOM: &str = "
import random
def tree(rng, depth=0):
    kind = rng.randrange(22 if depth < 4 else 9)
    shape = tuple(rng.randrange(4) for _ in range(rng.randrange(4)))
    def array(dtype):
        numbers = np.array([rng.randrange(128) for _ in range(int(np.prod(shape)))])
        return numbers.reshape(shape).astype(dtype)
    below = lambda: tree(rng, depth + 1)
    match kind:
        case 0: return rng.choice([0.0, -0.0, 1.5, float('inf'), float('nan')])
        case 1: return rng.choice([0, -1, 2**63, 3])
        case 2: return rng.choice([True, None, 'text', b'ab', ''])
        case 3 | 4: return array(rng.choice(['f4', 'f8', 'i1', 'i2', 'i4', 'i8', 'u1', 'u2', 'u4', 'u8', '?']))
        case 5: return np.asfortranarray(array('f8'))[..., ::-1] if shape else array('>f4')
        case 6: return jnp.asarray(array('f4'))
        case 7: return array(rng.choice(['f2', 'c8', 'c16', ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn]))
        case 8: return rng.choice([np.float32(1.5), np.int8(3), np.float64(2.5), 1 + 2j])
        case 9 | 10: return {key: below() for key in rng.sample(['a', 'b', 'c', 'z y'], rng.randrange(4))}
        case 11: return [below() for _ in range(rng.randrange(4))]
        case 12: return tuple(below() for _ in range(rng.randrange(4)))
        case 13: return Point(below(), below())
        case 14: return Data(below(), below())
        case 15: return OrderedDict(b=below(), a=below())
        case 16: return types.SimpleNamespace(x=below())
        case 17: return rng.choice([Slots, Attrs, Module])(below(), below())
        case 18: return rng.choice([Registered, Flax])(below(), below())
        case 19: return {key: below() for key in rng.sample([3, -1, 2**31, 0], rng.randrange(4))}
        case 20: return {key: below() for key in rng.sample([(0, 'a'), (0, 'A'), (-1, 'b')], rng.randrange(3))}
        case 21: return defaultdict(list, b=below(), a=below())
";

#[test]
fn random_trees_come_back() {
    python(|names| {
        run(names, SAME);
        run(names, RANDOM);
        for seed in 0..400 {
            let object = eval(names, &format!("tree(random.Random({seed}))"));
            let tree = Reader::new().read_seed(TreeSeed::default(), &object);
            let back = tree.and_then(|tree| to_python_like(names.py(), &tree, &object));
            let back = back.unwrap_or_else(|error| panic!("{seed}: {object}: {error}"));
            names.set_item("a", &object).unwrap();
            names.set_item("b", &back).unwrap();
            let same = names.py().eval(c"same(a, b)", Some(names), None);
            same.unwrap_or_else(|error| panic!("{seed}: {object} became {back}: {error}"));
        }
    });
}

#[derive(Serialize, Deserialize)]
struct Model {
    w: Vec<Vec<f64>>,
    b: Option<f64>,
}

#[test]
fn classes_and_arrays_are_those_of_the_example() {
    python(|names| {
        let model = Model { w: vec![vec![1.0, 2.0]], b: Some(0.5) };
        let shown = |example: &str| {
            let example = eval(names, example);
            match to_python_like(names.py(), &model, &example) {
                Ok(object) => format!("{object:?}"),
                Err(error) => PyErr::from(error).to_string(),
            }
        };
        assert_snapshot!(shown("Plain(w=np.zeros(1, 'f4'), b=1, f=len, s='name').__dict__"), @"{'w': array([[1., 2.]], dtype=float32), 'b': 0.5, 'f': <built-in function len>, 's': 'name'}");
        assert_snapshot!(shown("types.SimpleNamespace(b=None, w=jnp.zeros(3))"), @"namespace(b=0.5, w=Array([[1., 2.]], dtype=float32))");
        assert_snapshot!(shown("OrderedDict(b=np.float32(0), w=[(0, 0)])"), @"OrderedDict([('b', np.float32(0.5)), ('w', [(1.0, 2.0)])])");
        assert_snapshot!(shown("{'w': np.zeros(1, '>f4'), 'b': np.zeros(())}"), @"{'w': array([[1., 2.]], dtype='>f4'), 'b': array(0.5)}");
        assert_snapshot!(shown("{'w': np.zeros(1, 'i8'), 'b': 1}"), @"TypeError: Cannot cast array data from dtype('float64') to dtype('int64') according to the rule 'same_kind'");
        assert_snapshot!(shown("{'w': [[0, 0, 0]], 'b': 1}"), @"TypeError: ['w'][0]: expected list of 3 as in the example, found list of 2");
        assert_snapshot!(shown("{'w': 0.0, 'b': 1}"), @"TypeError: ['w']: expected a number as in the example, found float64[1, 2]");
        assert_snapshot!(shown("{'w': {'x': 1}, 'b': 1}"), @"TypeError: ['w']: expected dict as in the example, found float64[1, 2]");
        assert_snapshot!(shown("{'w': [[0, 0]]}"), @r#"KeyError: "the example lacks 'b', found 'w'""#);
        assert_snapshot!(shown("{'w': [[0, 0]], 'b': 1, 'more': np.zeros(2)}"), @r#"KeyError: "['more']: the value has none, the example has float64[2]""#);
        assert_snapshot!(shown("[0, 0]"), @"TypeError: expected list of 2 as in the example, found dict");
    });
}

#[test]
fn a_struct_comes_back() {
    python(|names| {
        run(names, SAME);
        let object =
            eval(names, "{'x': Plain(w=np.ones((2, 3)), b=1.5), 'y': Plain(w=[[1.0]], b=None)}");
        let models: BTreeMap<String, Model> = from_python(&object).unwrap();
        let back = to_python_like(names.py(), &models, &object).unwrap();
        eval(names, "same").call1((object, back)).unwrap();
    });
}
