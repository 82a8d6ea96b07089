//! Values in the containers of an example.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::{Deserialize, Serialize};
use treedef::TreeSeed;
use treedef_python::{Like, Reader, from_python, to_python_like};

use crate::{eval, python, run};

/// How two objects differ, in classes, types of numbers, shapes and bits.
pub(crate) const SAME: &str = "
def same(a, b):
    assert type(a) is type(b), (type(a), type(b))
    if isinstance(a, jax.Array):
        assert a.weak_type == b.weak_type and a.sharding == b.sharding, (a, b)
        assert a.committed == b.committed, (a.committed, b.committed)
    if isinstance(a, np.ma.MaskedArray):
        assert np.array_equal(np.ma.getmaskarray(a), np.ma.getmaskarray(b)), (a, b)
        assert repr(a.fill_value) == repr(b.fill_value), (a.fill_value, b.fill_value)
    if hasattr(a, 'dtype'):
        assert a.dtype == b.dtype and a.shape == b.shape, (a.dtype, b.dtype, a.shape, b.shape)
        if a.dtype == object: return same(a.tolist(), b.tolist())
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes(), (a, b)
    elif isinstance(a, memoryview):
        assert (a.format, a.shape, a.tobytes()) == (b.format, b.shape, b.tobytes())
    elif isinstance(a, collections.abc.Mapping):
        assert repr(list(a)) == repr(list(b)), (list(a), list(b))
        if isinstance(a, defaultdict): assert a.default_factory is b.default_factory
        for x, y in zip(a.values(), b.values()): same(x, y)
        assert getattr(a, '__dict__', {}).keys() == getattr(b, '__dict__', {}).keys()
    elif isinstance(a, (set, frozenset)):
        assert a == b and sorted(map(repr, a)) == sorted(map(repr, b)), (a, b)
    elif isinstance(a, (list, tuple, deque)):
        assert len(a) == len(b) and getattr(a, 'maxlen', None) == getattr(b, 'maxlen', None)
        for x, y in zip(a, b): same(x, y)
    elif dataclasses.is_dataclass(a):
        for field in dataclasses.fields(a): same(getattr(a, field.name), getattr(b, field.name))
    elif isinstance(a, Slotted):
        same((a.x, a.y), (b.x, b.y))
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
def tree(rng, depth=0, inside=None):
    kind = rng.randrange(22 if depth < 4 else 9)
    shape = tuple(rng.randrange(4) for _ in range(rng.randrange(4)))
    def array(dtype):
        numbers = np.array([rng.randrange(128) for _ in range(int(np.prod(shape)))])
        return numbers.reshape(shape).astype(dtype)
    below = lambda: (inside or tree)(rng, depth + 1)
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

/// Pytrees, also with the containers that are leaves for JAX.
const EVERY: &str = "
def every(rng, depth=0):
    kind = rng.randrange(60 if depth < 4 else 30)
    below = lambda: every(rng, depth + 1)
    numbers = [rng.randrange(100) for _ in range(rng.randrange(4))]
    match kind:
        case 0: return rng.choice([set, frozenset])(numbers)
        case 1: return rng.choice([set, frozenset])([(1, 'a'), (2.5, 'b')][:rng.randrange(3)])
        case 2: return rng.choice([range(3), range(0), range(5, -1, -2), range(7, 8)])
        case 3: return rng.choice([bytearray(b'ab'), b'', bytearray(), memoryview(np.arange(3.0))])
        case 4: return array.array(rng.choice('bBhHiIlLfd'), numbers)
        case 5: return np.ma.masked_array(np.arange(3.0), mask=[0, 0, 0], fill_value=7)
        case 6: return np.ma.masked_array(np.arange(3))
        case 7: return jnp.broadcast_to(jnp.asarray(rng.choice([1.0, 2])), (len(numbers),))
        case 8: return jax.device_put(jnp.arange(3.0), jax.devices()[0])
        case 9: return jnp.asarray(rng.choice([1.5, 2, 1 + 2j]))
        case 10: return rng.choice([Level.LOW, Color.RED, Text('a'), np.str_('b'), np.bool_(True)])
        case 11: return np.matrix([[1.0, 2.0]])
        case 12: return np.array(['a', 'bc'][:rng.randrange(1, 3)])
        case 13: return np.array([1, 'a', None], object)
        case 14: return jnp.asarray(numbers, rng.choice(['int8', 'uint32', 'bfloat16', 'bool', 'complex64']))
        case 30: return deque([below() for _ in range(rng.randrange(3))], rng.choice([None, 5]))
        case 31: return types.MappingProxyType({'a': below()})
        case 32: return Names([below(), below()])
        case 33: return Table(a=below(), b=below())
        case 34: return Static(below(), 3, 'relu')
        case 35: return Plain(x=below(), s='name')
        case 36: return flax.core.freeze({'a': below()})
        case 37: return Private(below(), below())
        case 38: return [{'a': 1.0, 'b': number} for number in numbers]
        case 39: return [[float(number)] * 2 for number in numbers]
        case 40: return [Data(number, 0.5) for number in numbers]
        case 41: return [Static(number, 3, 'relu') for number in numbers]
        case 42: return Slotted(below(), below())
        case 43: return [np.full(2, number) for number in numbers]
        case _: return tree(rng, depth, every)
";

fn same<'py>(names: &Bound<'py, PyDict>, a: &Bound<'py, PyAny>, b: &Bound<'py, PyAny>) {
    let result = eval(names, "same").call1((a, b));
    result.unwrap_or_else(|error| panic!("{error}: {a} became {b}"));
}

#[test]
fn random_trees_come_back() {
    python(|names| {
        run(names, SAME);
        run(names, RANDOM);
        run(names, EVERY);
        for seed in 0..2000 {
            let object = eval(names, &format!("every(random.Random({seed}))"));
            let tree = Reader::new().read_seed(TreeSeed::default(), &object);
            let back = tree.and_then(|tree| to_python_like(names.py(), &tree, &object));
            let back = back.unwrap_or_else(|error| panic!("{seed}: {object}: {error}"));
            same(names, &object, &back);
        }
    });
}

/// For an unchanged example, our result equals JAX's.
#[test]
fn random_trees_are_those_of_tree_map() {
    python(|names| {
        run(names, SAME);
        run(names, RANDOM);
        run(names, EVERY);
        let mapped = eval(names, "lambda example: jax.tree.map(lambda x: x, example)");
        for seed in 2000..2500 {
            let object = eval(names, &format!("every(random.Random({seed}))"));
            // Keys of two types are no tree of JAX.
            let Ok(expected) = mapped.call1((&object,)) else { continue };
            // JAX sorts a dict; here it stays in its order.
            let like = Like::of(&expected).unwrap();
            let tree = Reader::new().read_seed(TreeSeed::default(), &object).unwrap();
            for _ in 0..2 {
                same(names, &expected, &like.to_python(&tree).unwrap());
            }
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
        assert_snapshot!(shown("Plain(w=np.zeros(1, 'f4'), b=1.0, f=len, s='name').__dict__"), @"{'w': array([[1., 2.]], dtype=float32), 'b': 0.5, 'f': <built-in function len>, 's': 'name'}");
        assert_snapshot!(shown("types.SimpleNamespace(b=None, w=jnp.zeros(3))"), @"namespace(b=0.5, w=Array([[1., 2.]], dtype=float32))");
        assert_snapshot!(shown("OrderedDict(b=np.float32(0), w=[(0, 0)])"), @"OrderedDict([('b', np.float32(0.5)), ('w', [(1, 2)])])");
        assert_snapshot!(shown("{'w': np.zeros(1, '>f4'), 'b': np.zeros(())}"), @"{'w': array([[1., 2.]], dtype='>f4'), 'b': array(0.5)}");
        assert_snapshot!(shown("{'w': np.zeros(1, 'i8'), 'b': 1}"), @"ValueError: ['b']: expected an integer as in the example, found float 0.5, which does not fit");
        assert_snapshot!(shown("{'w': [[0, 0, 0]], 'b': 1}"), @"TypeError: ['w'][0]: expected list of 3 as in the example, found list of 2");
        assert_snapshot!(shown("{'w': 0.0, 'b': 1}"), @"TypeError: ['w']: expected a float as in the example, found float64[1, 2]");
        assert_snapshot!(shown("{'w': {'x': 1}, 'b': 1}"), @"TypeError: ['w']: expected dict as in the example, found float64[1, 2]");
        assert_snapshot!(shown("{'w': [[0, 0]]}"), @r#"KeyError: "the example lacks 'b', found 'w'""#);
        assert_snapshot!(shown("{'w': [[0, 0]], 'b': 1.0, 'more': np.zeros(2)}"), @r#"KeyError: "['more']: the value has none, the example has float64[2]""#);
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
