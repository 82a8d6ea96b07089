//! Objects that raise, lie, or change while they are read: an error, and no panic.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use treedef::{Limits, TreeSeed};
use treedef_python::{NdArray, PyTreeDef, Reader, Rules, flat_to_python, from_python};

use crate::{eval, python, run};

const DAMAGED: &str = "
def fail(*args, **kwargs):
    raise RuntimeError('no')
class Raises:
    __getattr__ = fail
    __array__ = fail
    __len__ = fail
    __iter__ = fail
    __getitem__ = fail
    __repr__ = fail
    __eq__ = fail
    __hash__ = None
class Answers:
    def __getattr__(self, name):
        return 3
class Lies(list):
    def __len__(self):
        return 10**18
    def __getitem__(self, index):
        raise IndexError
    def __iter__(self):
        return iter([self])
class Endless(collections.abc.Sequence):
    def __len__(self):
        return 3
    def __getitem__(self, index):
        return 0.0
class NoArray:
    def __array__(self, dtype=None, copy=None):
        return 'text'
class Itself:
    def __array__(self, dtype=None, copy=None):
        return self
class Dict(dict):
    keys = fail
    items = fail
class Mapping(collections.abc.Mapping):
    def __getitem__(self, key):
        raise KeyError(key)
    def __iter__(self):
        return iter(['w', 'w'])
    def __len__(self):
        return 10**18
class Changes:
    def __init__(self, change):
        self.change = change
    def __array__(self, dtype=None, copy=None):
        self.change()
        return np.zeros(1)
@dataclasses.dataclass
class Deleted:
    w: float
    b: float
deleted = Deleted(1.0, 2.0); del deleted.w
class Listed:
    __dataclass_fields__ = 3
class Named(tuple):
    _fields = ['w', 3]
class Fields(tuple):
    _fields = property(fail)
class Float(float):
    __float__ = fail
class Int(int):
    __int__ = fail
    __index__ = fail
class Text(str):
    __str__ = fail
    __hash__ = fail
shrinking = [None, None, None]; shrinking[0] = Changes(lambda: shrinking.clear())
changing = {}; changing.update(w=Changes(lambda: changing.update({str(i): i for i in range(99)})), b=1)
objects = [Raises(), Answers(), Lies([1]), Endless(), NoArray(), Itself(), Dict(w=1), Mapping(), shrinking,
  changing, deleted, Listed(), Named([1, 2]), Fields([1]), Float(1), Int(1), Text('w'),
  np.ma.masked_array([1.0], [True]), np.zeros((2,), 'M8'), np.zeros(2, 'V4'), np.recarray((2,), [('w', 'f8')]),
  memoryview(b'ab')[::-1], memoryview(b''), type, int, len, lambda: 0, object(), ..., NotImplemented, 1 .__add__,
  np.broadcast_to(np.float64(1), (2, 3)), float('nan'), Color, np, collections, iter([1]), {1: 2}.keys(), {Int(1): 1},
  np.array([[1.0], None], object), np.array(None), np.array('text')]
objects += [[o] for o in objects] + [{'w': o} for o in objects] + [Plain(w=o) for o in objects] + [(o, o) for o in objects]
";

#[test]
fn is_an_error() {
    #[derive(Debug, serde::Deserialize)]
    #[allow(dead_code, reason = "it is only read")]
    struct Model<T> {
        w: T,
        b: Option<T>,
    }

    python(|names| {
        run(names, DAMAGED);
        let objects = eval(names, "objects");
        let mut read = 0;
        for object in objects.try_iter().unwrap() {
            let object = object.unwrap();
            let limits = Limits { max_work: 10_000, ..Limits::default() };
            let reader = Reader::new().limits(limits);
            let texts = [
                reader.read::<f64>(&object).map(drop),
                reader.read::<u8>(&object).map(drop),
                reader.read::<bool>(&object).map(drop),
                reader.read::<String>(&object).map(drop),
                reader.read::<Vec<f64>>(&object).map(drop),
                reader.read::<Vec<Vec<f64>>>(&object).map(drop),
                reader.read::<(f64, f64)>(&object).map(drop),
                reader.read::<Option<[u8; 2]>>(&object).map(drop),
                reader.read::<BTreeMap<String, f64>>(&object).map(drop),
                reader.read::<Model<f64>>(&object).map(drop),
                reader.read::<Model<Vec<f64>>>(&object).map(drop),
                reader.read::<NdArray<f64>>(&object).map(drop),
                reader.read::<serde::de::IgnoredAny>(&object).map(drop),
                reader.read_seed(TreeSeed::new(limits), &object).map(drop),
                reader.read_flat::<f64>(&object, Rules::Jax).map(drop),
                PyTreeDef::flatten(&object, Rules::Torch).map(drop),
                flat_to_python(names.py(), &[1.5], &object, Rules::Torch).map(drop),
            ];
            for result in texts {
                match result {
                    Ok(()) => read += 1,
                    Err(error) => {
                        assert!(!error.to_string().is_empty());
                        let _ = PyErr::from(error);
                    }
                }
            }
        }
        assert!(read > 100, "{read}");
    });
}

#[test]
fn what_an_object_raises_keeps_its_class() {
    python(|names| {
        run(names, DAMAGED);
        let object = eval(names, "{'a': [Raises()]}");
        let error = from_python::<BTreeMap<String, Vec<f64>>>(&object).unwrap_err();
        let error = PyErr::from(error);
        let value = error.value(names.py());
        let notes = value.getattr("__notes__").unwrap();
        assert_eq!(
            format!("{} {notes}", value.repr().unwrap()),
            "RuntimeError('no') [\"while `['a'][0]` was converted\"]"
        );
    });
}
