//! Leaves and treedefs, with `jax.tree_util` beside them.

use std::collections::HashMap;

use insta::assert_snapshot;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use treedef_python::{PyTreeDef, Reader, Rules, flat_from_python, flat_to_python};

use crate::like::{RANDOM, SAME};
use crate::{eval, python, run};

const LAWS: &str = "
import copy, pickle
from jax import tree_util as tu
def check(tree):
    leaves, treedef = TreeDef.flatten(tree)
    expected, jax_treedef = tu.tree_flatten(tree)
    assert len(leaves) == len(expected) == treedef.num_leaves
    assert all(a is b for a, b in zip(leaves, expected)), (leaves, expected)
    assert treedef.paths() == [tu.keystr(path) for path, _ in tu.tree_flatten_with_path(tree)[0]]
    back = treedef.unflatten(leaves)
    same(tu.tree_unflatten(jax_treedef, leaves), back)
    assert tu.tree_structure(back) == jax_treedef == treedef.to_jax()
    for other in [TreeDef.from_jax(jax_treedef), TreeDef.flatten(back)[1], copy.copy(treedef)]:
        assert other == treedef and hash(other) == hash(treedef) and repr(other) == repr(treedef)
    # A module of Equinox has marks that are others after a copy, so JAX's treedefs differ, too.
    if pickle.loads(pickle.dumps(jax_treedef)) == jax_treedef:
        copied = pickle.loads(pickle.dumps(treedef))
        assert copied == treedef and hash(copied) == hash(treedef) and copied.paths() == treedef.paths()
        return 1
    return 0
def small(rng, depth=0):
    below = lambda: small(rng, depth + 1)
    match rng.randrange(18) if depth < 2 else 0:
        case 0 | 1 | 2: return rng.choice([1.5, None])
        case 3: return [below() for _ in range(rng.randrange(3))]
        case 4: return tuple(below() for _ in range(rng.randrange(3)))
        case 5: return {key: below() for key in rng.sample('ab', rng.randrange(3))}
        case 6: return OrderedDict((key, below()) for key in rng.sample('ab', rng.randrange(3)))
        case 7: return defaultdict(rng.choice([list, None]), {key: below() for key in rng.sample('ab', rng.randrange(3))})
        case 8: return rng.choice([Point, Other])(below(), below())
        case 9: return rng.choice([Registered, Flax])(below(), below(), rng.choice('rf'))
        case 10: return Custom((below(),) * rng.randrange(2), rng.choice([None, 'x']))
        case 11: return Module(below(), below())
        case 12: return {key: below() for key in rng.sample([1, 2, 2**70], rng.randrange(3))}
        case 13: return {key: below() for key in rng.sample([(1,), (2,)], rng.randrange(3))}
        case 14: return {key: below() for key in rng.sample(['\\ud800', 'a', ''], rng.randrange(3))}
        case 16: return rng.choice([Sub(below(), below()), Pair((below(), below())), Pair(), Bare((below(),))])
        case 17: return Turn(below(), below(), rng.choice('rf'))
        case 15: return rng.choice([Data(1, 2), deque([1]), type('D', (dict,), {})(a=1), jax.tree_util.Partial(max, below())])
";

/// The classes of the tests are in no module, so no pickle finds them.
const CLASSES: &str = "
import sys
Other = namedtuple('Point', ['x', 'y'])
class Sub(Point): pass
class Bare(tuple): pass
class Pair(tuple): pass
jax.tree_util.register_pytree_node(Pair, lambda pair: (tuple(pair), None), lambda _, children: Pair(children))
class Turn(namedtuple('Turn', ['x', 'y', 'name'])): pass
jax.tree_util.register_pytree_node(Turn, lambda t: ((t.y, t.x), t.name), lambda name, c: Turn(c[1], c[0], name))
this = types.ModuleType(f'classes_{id(Point)}')
sys.modules[this.__name__] = this
for name in ['Point', 'Other', 'Data', 'Slots', 'Attrs', 'Module', 'Registered', 'Flax', 'Custom', 'Sub', 'Bare', 'Pair', 'Turn']:
    setattr(this, name, globals()[name])
    globals()[name].__module__ = this.__name__
    globals()[name].__qualname__ = name
";

/// Runs a test with the class `TreeDef`, in a module from which `pickle` imports it.
fn with_class<R>(test: impl for<'py> FnOnce(&Bound<'py, PyDict>) -> R) -> R {
    python(|names| {
        let py = names.py();
        let module = PyModule::new(py, "treedef_of_the_tests").unwrap();
        PyTreeDef::add_to(&module).unwrap();
        let modules = py.import("sys").unwrap().getattr("modules").unwrap();
        modules.set_item("treedef_of_the_tests", &module).unwrap();
        names.set_item("TreeDef", module.getattr("TreeDef").unwrap()).unwrap();
        run(names, CLASSES);
        run(names, SAME);
        run(names, RANDOM);
        run(names, LAWS);
        test(names)
    })
}

#[test]
fn leaves_and_treedefs_are_those_of_jax() {
    with_class(|names| {
        let mut pickled = 0;
        for seed in 0..400 {
            for tree in ["tree", "small"] {
                let code = format!("check({tree}(random.Random({seed})))");
                pickled += eval(names, &code).extract::<usize>().unwrap();
            }
        }
        assert!(pickled > 600, "{pickled}");
    });
}

/// JAX looks into its registry before it asks whether a class is a named tuple.
#[test]
fn tuples_of_registered_classes() {
    with_class(|names| {
        let shown = |tree: &str| eval(names, &format!("TreeDef.flatten({tree})")).to_string();
        assert_snapshot!(shown("Pair((1.0, 2.0))"), @"([1.0, 2.0], TreeDef(Pair(*, *)))");
        assert_snapshot!(shown("Turn(1.0, 2.0, 'r')"), @"([2.0, 1.0], TreeDef(Turn(*, *)))");
        assert_snapshot!(shown("Sub(1.0, 2.0)"), @"([1.0, 2.0], TreeDef(Sub { x: *, y: * }))");
        assert_snapshot!(shown("Bare((1.0, 2.0))"), @"([(1.0, 2.0)], TreeDef(*))");
        let paths = |tree: &str| eval(names, &format!("TreeDef.flatten({tree})[1].paths()"));
        assert_snapshot!(paths("[Turn(1.0, 2.0, 'r'), Sub(1.0, 2.0)]"), @"['[0][<flat index 0>]', '[0][<flat index 1>]', '[1].x', '[1].y']");
        let tree = eval(names, "[Turn(1.0, 2.0, 'r'), Pair((3.0,)), Sub(4.0, 5.0)]");
        let (numbers, treedef) = flat_from_python::<f64>(&tree, Rules::Jax).unwrap();
        assert_eq!(numbers, [2.0, 1.0, 3.0, 4.0, 5.0]);
        let back = flat_to_python(names.py(), &numbers, &tree, Rules::Jax).unwrap();
        eval(names, "same").call1((&tree, back)).unwrap();
        let (torch, _) = PyTreeDef::flatten(&tree, Rules::Torch).unwrap();
        assert_eq!(torch.len(), 6); // the fields of the named tuples, and the pair
        assert_ne!(
            treedef,
            PyTreeDef::flatten(
                &eval(names, "[Turn(1.0, 2.0, 'f'), Pair((3.0,)), Sub(4.0, 5.0)]"),
                Rules::Jax
            )
            .unwrap()
            .1
        );
    });
}

#[test]
fn treedefs_are_equal_where_those_of_jax_are() {
    with_class(|names| {
        run(
            names,
            "
trees = [small(random.Random(seed)) for seed in range(250)]
rust = [TreeDef.flatten(tree)[1] for tree in trees]
jax_ = [tu.tree_structure(tree) for tree in trees]
equal = 0
for a, x in zip(rust, jax_):
    for b, y in zip(rust, jax_):
        assert (a == b) == (x == y), (a, b, x, y)
        assert a != b or hash(a) == hash(b)
        equal += a == b
assert len(trees) < equal < len(trees) ** 2 / 2, equal
one, true, float = [TreeDef.flatten({key: 0})[1] for key in (1, True, 1.0)]
assert true == float != one, 'where JAX takes all three for equal'
assert len({treedef: None for treedef in rust}) == len(set(jax_)), 'as keys of a dict'
",
        );
    });
}

#[test]
fn a_treedef_is_a_key_in_rust() {
    with_class(|names| {
        let mut plans = HashMap::new();
        let mut treedef = |tree: &str| {
            let (_, treedef) = PyTreeDef::flatten(&eval(names, tree), Rules::Jax).unwrap();
            let next = plans.len();
            *plans.entry(treedef).or_insert(next)
        };
        assert_eq!(treedef("[Point(1, 2), Flax(1, 2, 'a')]"), 0);
        assert_eq!(treedef("[Point(1, 2), Flax(1, 2, 'b')]"), 1);
        assert_eq!(treedef("[Other(1, 2), Flax(1, 2, 'a')]"), 2);
        assert_eq!(treedef("[Point([], 2), Flax(1, 2, 'a')]"), 3);
        assert_eq!(treedef("[Point(3, 4), Flax(5, 6, 'a')]"), 0);
    });
}

#[test]
fn numbers_come_back() {
    with_class(|names| {
        run(
            names,
            "
def numbers(rng, depth=0):
    below = lambda: numbers(rng, depth + 1)
    def array(dtype):
        shape = tuple(rng.randrange(4) for _ in range(rng.randrange(4)))
        return np.array([rng.random() for _ in range(int(np.prod(shape)))]).reshape(shape).astype(dtype)
    match rng.randrange(15 if depth < 4 else 5):
        case 0: return rng.choice([0.0, -0.0, 1.5, float('inf'), float('nan'), None])
        case 1: return rng.choice([1 + 2j, np.float64(2.5), np.complex128(3 - 1j)])
        case 2: return array('f8')
        case 3: return array('>f8').T
        case 4: return np.flip(array('c16'))
        case 5 | 6: return [below() for _ in range(rng.randrange(4))]
        case 7: return tuple(below() for _ in range(rng.randrange(4)))
        case 8 | 9: return {key: below() for key in rng.sample('abc', rng.randrange(4))}
        case 10: return OrderedDict((key, below()) for key in rng.sample('abc', rng.randrange(4)))
        case 11: return defaultdict(list, {key: below() for key in rng.sample('abc', rng.randrange(4))})
        case 12: return rng.choice([Point, Registered, Flax, Module])(below(), below())
        case 13: return {key: below() for key in rng.sample([2, 1], rng.randrange(3))}
        case 14: return Custom((below(), below()), 'extra')
def row(leaf):
    leaf = np.ascontiguousarray(leaf)
    return leaf.astype(leaf.dtype.newbyteorder('=')).view('f8').ravel()
def expected(tree):
    return np.concatenate([np.zeros(0)] + [row(leaf) for leaf in tu.tree_leaves(tree)])
",
        );
        for seed in 0..400 {
            let tree = eval(names, &format!("numbers(random.Random({seed}))"));
            names.set_item("tree", &tree).unwrap();
            let expected: Vec<f64> = eval(names, "expected(tree).tolist()").extract().unwrap();
            let (numbers, treedef) = flat_from_python::<f64>(&tree, Rules::Jax).unwrap();
            let bits = |numbers: &[f64]| numbers.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&numbers), bits(&expected), "{seed}: {tree}");
            assert_eq!(treedef, PyTreeDef::flatten(&tree, Rules::Jax).unwrap().1);
            let back = flat_to_python(names.py(), &numbers, &tree, Rules::Jax).unwrap();
            names.set_item("back", back).unwrap();
            run(
                names,
                "same(tu.tree_unflatten(tu.tree_structure(tree), tu.tree_leaves(tree)), back)",
            );
        }
    });
}

#[test]
fn numbers_have_the_type_of_the_example() {
    python(|names| {
        let shown = |example: &str| {
            let tree = eval(names, example);
            let reader = Reader::new().convert_numbers(true);
            let flat = reader.read_flat::<f64>(&tree, Rules::Jax);
            let back = flat.and_then(|(x, _)| flat_to_python(names.py(), &x, &tree, Rules::Jax));
            back.map_or_else(|error| PyErr::from(error).to_string(), |back| format!("{back:?}"))
        };
        assert_snapshot!(shown("[np.zeros((1, 2), 'f4'), jnp.zeros(1), 1.5]"), @"[array([[0., 0.]], dtype=float32), Array([0.], dtype=float32), 1.5]");
        assert_snapshot!(shown("[np.float32(1.5), np.array(2.0, 'f2')]"), @"[np.float32(1.5), array(2., dtype=float16)]");
        assert_snapshot!(shown("{'x': np.zeros(2), 'n': [np.arange(2)]}"), @"{'n': [array([0, 1])], 'x': array([0., 0.])}");
        assert_snapshot!(shown("[3, np.zeros((0, 2))]"), @"[3, array([], shape=(0, 2), dtype=float64)]");
        assert_snapshot!(shown("{'x': ['text']}"), @"TypeError: ['x'][0]: expected f64, found str 'text'");
        assert_snapshot!(shown("{'x': Data(1.0, 2.0)}"), @"TypeError: ['x']: expected f64, found Data, which is a leaf (`jax.tree_util.register_dataclass` and the like make a class a node)");
        assert_snapshot!(shown("{'x': 1.0, 2: 3.0}"), @"TypeError: '<' not supported between instances of 'int' and 'str'");
        let tree = eval(names, "{'w': np.zeros(3), 'b': 0.5}");
        let error = flat_from_python::<f32>(&tree, Rules::Jax).unwrap_err();
        assert_snapshot!(error, @"['w']: expected f32[_], found float64[3] (`Reader::convert_numbers` converts)");
        let error = flat_to_python(names.py(), &[1.0; 3], &tree, Rules::Jax).unwrap_err();
        assert_snapshot!(error, @"expected 4 numbers as in the example, found 3");
        let (bytes, _) = flat_from_python::<u8>(
            &eval(names, "[[1, 255], np.arange(2, dtype='u1')]"),
            Rules::Jax,
        )
        .unwrap();
        assert_eq!(bytes, [1, 255, 0, 1]);
        let (bools, _) = flat_from_python::<bool>(
            &eval(names, "[True, np.array([2, 0], 'u1').view(bool)]"),
            Rules::Jax,
        )
        .unwrap();
        assert_eq!(bools, [true, true, false]);
    });
}

#[test]
fn treedefs_print() {
    with_class(|names| {
        let shown = |tree: &str| eval(names, &format!("TreeDef.flatten({tree})[1]")).to_string();
        assert_snapshot!(shown("{'b': [1, 2, 3], 'a': (1, None)}"), @r#"TreeDef({"a": (*, None), "b": [*, *, *]})"#);
        assert_snapshot!(shown("[Point(1, Data(1, 2)), Module(1, 2), Flax(1, 2), OrderedDict(b=1, a=2)]"), @"TreeDef([Point { x: *, y: * }, Module { x: *, y: * }, Flax { x: *, y: * }, OrderedDict { b: *, a: * }])");
        assert_snapshot!(shown("[Custom((1, 2), 'x'), {(1, 'a'): 2}, OrderedDict({3: 1}), {2**70: 1}, {3: 1}]"), @"TreeDef([Custom(*, *), dict(*,), OrderedDict(*,), dict(*,), {3i64: *}])");
        assert_snapshot!(shown("[{'x y': 1}, OrderedDict({'x y': 1}), {}, OrderedDict(), Custom((), 1)]"), @r#"TreeDef([{"x y": *}, OrderedDict { `x y`: * }, {}, OrderedDict {}, Custom {}])"#);
        let paths =
            |tree: &str| eval(names, &format!("TreeDef.flatten({tree})[1].paths()")).to_string();
        assert_snapshot!(paths("[Point(1, {'a': 2}), Custom((1, [2]), 'x'), {(1, 'a'): 2, (0, 'b'): 1}]"), @r#"['[0].x', "[0].y['a']", '[1][<flat index 0>]', '[1][<flat index 1>][0]', "[2][(0, 'b')]", "[2][(1, 'a')]"]"#);
        let error = |code: &str| {
            let code = std::ffi::CString::new(code).unwrap();
            let error = names.py().eval(&code, Some(names), None).unwrap_err();
            error.to_string()
        };
        assert_snapshot!(error("TreeDef.flatten([1, 2])[1].unflatten([1])"), @"ValueError: expected 2 leaves, found 1");
        assert_snapshot!(error("TreeDef.flatten([1, 2], 'numpy')"), @"ValueError: expected the rules 'jax' or 'torch', found 'numpy'");
        assert_snapshot!(error("TreeDef.flatten([1, 2], 'torch')[1].to_jax()"), @"ValueError: expected a treedef with the rules 'jax', found 'torch': leaves come in another order");
        assert_snapshot!(error("TreeDef.flatten({1: 2, 'a': 3})"), @"TypeError: '<' not supported between instances of 'str' and 'int'");
        assert_snapshot!(error("TreeDef.from_jax(3)"), @"TypeError: expected a treedef of JAX, found int 3");
        assert_snapshot!(error("TreeDef()"), @"TypeError: cannot create 'builtins.TreeDef' instances");
    });
}

#[test]
fn the_rules_of_torch() {
    with_class(|names| {
        let flat = |tree: &str| {
            let (leaves, treedef) = PyTreeDef::flatten(&eval(names, tree), Rules::Torch).unwrap();
            let back = treedef.unflatten(names.py(), leaves.clone()).unwrap();
            let paths = treedef.paths(names.py()).unwrap().join(" ");
            format!("{leaves:?} {} {paths} {back}", treedef.treedef())
        };
        assert_snapshot!(flat("{'b': 1, 'a': [2, None]}"), @"[1, 2, None] dict { b: *, a: [*, *] } ['b'] ['a'][0] ['a'][1] {'b': 1, 'a': [2, None]}");
        assert_snapshot!(flat("[deque([1, 2], 3), Point(3, 4), defaultdict(list, b=5, a=6)]"), @"[1, 2, 3, 4, 5, 6] [deque(*, *), Point { x: *, y: * }, defaultdict { b: *, a: * }] [0][0] [0][1] [1].x [1].y [2]['b'] [2]['a'] [deque([1, 2], maxlen=3), Point(x=3, y=4), defaultdict(<class 'list'>, {'b': 5, 'a': 6})]");
        assert_snapshot!(flat("[{(1, 2): 3, None: 4}, Flax(1, 2)]"), @"[3, 4, Flax(x=1, y=2, name='f')] [dict(*, *), *] [0][(1, 2)] [0][None] [1] [{(1, 2): 3, None: 4}, Flax(x=1, y=2, name='f')]");
        run(
            names,
            "
def structure(tree): return TreeDef.flatten(tree, 'torch')[1]
assert structure(dict(a=1, b=2)) == structure(dict(a=3, b=4)) != structure(dict(b=1, a=2))
assert structure(dict(a=1)) not in [structure(OrderedDict(a=1)), TreeDef.flatten(dict(a=1))[1]]
assert structure(deque([1], 3)) != structure(deque([1]))
for tree in [{'b': {(1, 2): None}}, deque([1], 3), defaultdict(list, a=1)]:
    assert pickle.loads(pickle.dumps(structure(tree))) == structure(tree)
try:
    from torch.utils import _pytree
except ImportError:
    _pytree = None
if _pytree is not None:
    for seed in range(400):
        tree = small(random.Random(seed))
        leaves, treedef = TreeDef.flatten(tree, 'torch')
        expected, spec = _pytree.tree_flatten(tree)
        assert len(leaves) == len(expected) and all(a is b for a, b in zip(leaves, expected)), tree
        same(_pytree.tree_unflatten(leaves, spec), treedef.unflatten(leaves))
    trees = [small(random.Random(seed)) for seed in range(100)]
    rust, torch_ = [structure(tree) for tree in trees], [_pytree.tree_structure(tree) for tree in trees]
    for a, x in zip(rust, torch_):
        assert [a == b for b in rust] == [x == y for y in torch_], a
",
        );
    });
}

#[test]
fn what_is_damaged_is_refused() {
    with_class(|names| {
        run(
            names,
            "
def refused(*state, errors=ValueError):
    try:
        TreeDef._restore(*state)
    except errors:
        return
    raise AssertionError(state)
_, (data, classes, rules) = TreeDef.flatten([{'a': 1}, Point(1, 2), OrderedDict({3: 4})])[1].__reduce__()
assert TreeDef._restore(data, classes, rules)
refused(data, classes, 'numpy')
refused(data, classes[:1], rules)
refused(data, classes * 2, rules)
refused(data, [*classes[:1], (OrderedDict, (3, 4), None)], rules)
refused(data, [(3, None, None)] * 2, rules, errors=TypeError)
for index in range(len(data)):
    for bit in range(8):
        changed = bytes(byte ^ (1 << bit if i == index else 0) for i, byte in enumerate(data))
        refused(changed, classes, rules)
    refused(data[:index], classes, rules)
@tu.register_pytree_node_class
class Itself:
    def tree_flatten(self): return (self,), None
    @classmethod
    def tree_unflatten(cls, extra, children): return cls()
@tu.register_pytree_node_class
class Endless:
    def tree_flatten(self): return (Endless(),), None
    @classmethod
    def tree_unflatten(cls, extra, children): return cls()
cyclic = []; cyclic.append(cyclic)
class Key:
    def __init__(self, name): self.name = name
    def __lt__(self, other): changing.clear(); return True
changing = {Key('a'): 1, Key('b'): 2}
for tree in [cyclic, Itself(), Endless(), changing, {'a': {object(): 1, object(): 2}}]:
    try:
        TreeDef.flatten(tree)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        continue
    raise AssertionError(tree)
",
        );
    });
}
