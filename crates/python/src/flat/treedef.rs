//! A treedef as an object of Python.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple, PyType};
use treedef::{Limits, TreeDef};

use crate::error::{Error, ErrorKind, Result};
use crate::flat::class::{Class, Parts};
use crate::flat::flatten::LeafWalk;
use crate::flat::rules::Rules;
use crate::flat::unflatten::{KeystrPaths, Unflattener, check, damaged};
use crate::read::context::{ObjectPath, ReadContext, UnusedKeys};
use crate::read::names::describe;
use crate::registered::code;

/// The structure of a pytree: its containers, their classes and keys, without the leaves.
///
/// Equal structures have equal treedefs with equal hashes, so that a treedef keys a cache, in Rust and
/// in Python. There it is the class `TreeDef`, once [`PyTreeDef::add_to`] has put it into a module.
/// Static fields of registered classes are part of it, as in JAX.
///
/// ```
/// use pyo3::prelude::*;
/// use treedef_python::{PyTreeDef, Rules};
///
/// Python::attach(|py| {
///     let tree = py.eval(c"{'w': [1.0, (2.0, None)], 'b': 0.5}", None, None)?;
///     let (leaves, treedef) = PyTreeDef::flatten(&tree, Rules::Jax)?;
///     assert_eq!(leaves[0].extract::<f64>()?, 0.5); // dicts are sorted by key
///     assert_eq!(treedef.treedef().to_string(), r#"{"b": *, "w": [*, (*, None)]}"#);
///     assert_eq!(treedef.paths(py)?, ["['b']", "['w'][0]", "['w'][1][0]"]);
///     assert!(treedef.unflatten(py, leaves)?.eq(tree)?);
///     Ok::<_, PyErr>(())
/// })
/// # .unwrap();
/// ```
#[pyclass(frozen, name = "TreeDef")]
#[derive(Clone, Debug)]
pub struct PyTreeDef(Arc<PyTreeDefData>);

#[derive(Debug)]
struct PyTreeDefData {
    treedef: TreeDef,
    /// The classes of the structs and tuple structs, in pre-order.
    classes: Vec<Class>,
    rules: Rules,
}

impl PyTreeDef {
    pub(crate) fn new(treedef: TreeDef, classes: Vec<Class>, rules: Rules) -> Self {
        PyTreeDef(Arc::new(PyTreeDefData { treedef, classes, rules }))
    }

    /// The pytree with these leaves.
    ///
    /// # Errors
    ///
    /// Returns an error when there are more or fewer leaves, and the exceptions of a class.
    pub fn unflatten<'py>(
        &self,
        py: Python<'py>,
        leaves: Vec<Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyAny>> {
        let (expected, found) = (self.num_leaves(), leaves.len());
        if expected != found {
            let message = format!("expected {expected} leaves, found {found}");
            return Err(Error::new(ErrorKind::Value, message));
        }
        let (leaves, classes) = (leaves.into_iter(), self.0.classes.iter());
        Unflattener { py, leaves, classes }.object(self.0.treedef.root())
    }

    /// The structure of the library. A named tuple and an object of a registered class are structs
    /// there, with the name of the class.
    pub fn treedef(&self) -> &TreeDef {
        &self.0.treedef
    }

    /// The rules by which the pytree was flattened.
    pub fn rules(&self) -> Rules {
        self.0.rules
    }

    /// Adds the class `TreeDef` to a module, from which `pickle` imports it again.
    ///
    /// # Errors
    ///
    /// Returns the exceptions of the module.
    pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let class = module.py().get_type::<PyTreeDef>();
        class.setattr("__module__", module.name()?)?;
        module.add("TreeDef", class)
    }
}

/// Compares the classes, the keys and the static fields, too, by Python's `==`.
impl PartialEq for PyTreeDef {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&*self.0, &*other.0);
        Arc::ptr_eq(&self.0, &other.0)
            || a.rules == b.rules
                && a.treedef == b.treedef
                && a.classes.len() == b.classes.len()
                && (a.classes.is_empty()
                    || Python::attach(|py| {
                        a.classes.iter().zip(&b.classes).all(|(a, b)| a.same(py, b))
                    }))
    }
}

impl Eq for PyTreeDef {}

impl Hash for PyTreeDef {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let PyTreeDefData { treedef, classes, rules } = &*self.0;
        (treedef, rules).hash(state);
        classes.iter().for_each(|class| class.class.as_ptr().hash(state));
    }
}

/// The methods that Python has, too.
#[pymethods]
impl PyTreeDef {
    /// Takes a pytree apart: its leaves in order, and its structure.
    ///
    /// # Errors
    ///
    /// Returns an error when the keys of a dict cannot be sorted, when objects nest too deep or are too
    /// many, and the exceptions of an object.
    #[staticmethod]
    #[pyo3(signature = (tree, rules = Rules::Jax), text_signature = "(tree, rules='jax')")]
    pub fn flatten<'py>(
        tree: &Bound<'py, PyAny>,
        rules: Rules,
    ) -> Result<(Vec<Bound<'py, PyAny>>, Self)> {
        let context = ReadContext::new(tree.py(), Limits::default(), UnusedKeys::Ignored, false);
        let mut leaves = Vec::new();
        let (treedef, classes) =
            LeafWalk::flatten(tree, &ObjectPath::root(""), &context, rules, |leaf, _| {
                leaves.push(leaf.clone());
                Ok(())
            })?;
        Ok((leaves, PyTreeDef::new(treedef, classes, rules)))
    }

    /// The number of leaves.
    #[getter]
    pub fn num_leaves(&self) -> usize {
        self.0.treedef.num_leaves()
    }

    /// The paths of the leaves in Python's notation, as `jax.tree_util.keystr` writes them.
    ///
    /// # Errors
    ///
    /// Returns the exceptions of the `__repr__` of a key.
    pub fn paths(&self, py: Python<'_>) -> Result<Vec<String>> {
        let (path, paths) = Default::default();
        let mut visit = KeystrPaths { py, classes: self.0.classes.iter(), path, paths };
        visit.visit(self.0.treedef.root())?;
        Ok(visit.paths)
    }

    /// The structure of a treedef of JAX.
    ///
    /// # Errors
    ///
    /// Returns an error when the object is not a treedef, or has classes that do not accept any object as a child.
    #[staticmethod]
    pub fn from_jax(treedef: &Bound<'_, PyAny>) -> Result<Self> {
        let filled = code(treedef.py())?.getattr("filled")?.call1((treedef,))?;
        let Some((leaves, tree)) =
            filled.extract::<Option<(Bound<'_, PyList>, Bound<'_, PyAny>)>>()?
        else {
            return Err(Error::expected("a treedef of JAX", describe(treedef)));
        };
        let (found, structure) = PyTreeDef::flatten(&tree, Rules::Jax)?;
        if leaves.eq(found)? {
            Ok(structure)
        } else {
            Err(Error::new(ErrorKind::Value, "the treedef has leaves that are containers"))
        }
    }

    /// The same structure as a treedef of JAX.
    ///
    /// # Errors
    ///
    /// Returns an error when it has the rules of PyTorch, or JAX is not there.
    pub fn to_jax<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        if self.0.rules != Rules::Jax {
            let message = "expected a treedef with the rules 'jax', found 'torch': leaves come in another order";
            return Err(Error::new(ErrorKind::Value, message));
        }
        let leaves = PyList::new(py, 0..self.num_leaves())?.iter().collect();
        Ok(code(py)?.getattr("structure")?.call1((self.unflatten(py, leaves)?,))?)
    }

    /// The pytree with these leaves.
    #[pyo3(name = "unflatten")]
    fn py_unflatten<'py>(&self, leaves: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = leaves.py();
        Ok(self.unflatten(py, leaves.try_iter()?.collect::<PyResult<_>>()?)?)
    }

    /// 'jax' or 'torch': the rules for leaves and their order.
    #[getter(rules)]
    fn py_rules(&self) -> &'static str {
        self.0.rules.name()
    }

    fn __eq__(&self, other: &Bound<'_, Self>) -> bool {
        self == other.get()
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        format!("TreeDef({})", self.0.treedef)
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, PyTreeDefData { treedef, classes, rules }) = (slf.py(), &*slf.get().0);
        let bytes = PyBytes::new(py, &treedef.to_bytes().map_err(Error::from)?);
        let classes = classes.iter().map(|class| (&class.class, &class.keys, &class.data));
        let classes = PyList::new(py, classes.collect::<Vec<_>>())?;
        let state = (bytes, classes, rules.name()).into_pyobject(py)?;
        Ok((slf.get_type().getattr("_restore")?, state))
    }

    /// The function that `pickle` calls.
    #[classmethod]
    fn _restore(
        class: &Bound<'_, PyType>,
        bytes: &[u8],
        classes: Vec<Parts<'_>>,
        rules: &str,
    ) -> PyResult<Self> {
        let treedef = TreeDef::from_bytes(bytes).map_err(Error::from)?;
        let classes = classes.into_iter().map(Class::of_parts).collect::<Result<Vec<_>>>()?;
        let mut left = classes.iter();
        check(treedef.root(), &mut left, class.py())?;
        if left.next().is_some() {
            return Err(damaged().into());
        }
        Ok(PyTreeDef::new(treedef, classes, Rules::named(rules)?))
    }
}
