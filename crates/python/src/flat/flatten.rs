//! From a pytree to its leaves and its treedef.

use std::collections::HashMap;

use numpy::PyUntypedArray;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};
use treedef::{Leaf, NodeHead, NodeKind, TreeDef, TreeDefBuilder};

use crate::error::{Error, ErrorKind, Result};
use crate::flat::class::{Class, ClassKind};
use crate::flat::rules::Rules;
use crate::read::context::{ObjectPath, PathStep, ReadContext};
use crate::registered::{RegisteredNode, is_registered_tuple, one_level};

/// Walks a pytree, and passes each leaf to a function.
pub(crate) struct LeafWalk<'a, 'py, F> {
    context: &'a ReadContext<'py>,
    rules: Rules,
    each_leaf: F,
    builder: TreeDefBuilder,
    classes: Vec<Class>,
    /// The kind of the objects of each class.
    forms: HashMap<usize, Option<ClassKind>>,
}

impl<'a, 'py, F> LeafWalk<'a, 'py, F>
where
    F: FnMut(&Bound<'py, PyAny>, &ObjectPath<'_, 'py>) -> Result<()>,
{
    /// The treedef, and the classes of its nodes in pre-order.
    pub(crate) fn flatten(
        object: &Bound<'py, PyAny>,
        at: &ObjectPath<'_, 'py>,
        context: &'a ReadContext<'py>,
        rules: Rules,
        each_leaf: F,
    ) -> Result<(TreeDef, Vec<Class>)> {
        let builder = TreeDefBuilder::new().limits(context.limits);
        let (classes, forms) = Default::default();
        let mut walk = LeafWalk { context, rules, each_leaf, builder, classes, forms };
        walk.node(object, at).map_err(|error| error.at(|| at.path()))?;
        Ok((walk.builder.finish()?, walk.classes))
    }

    fn node(&mut self, object: &Bound<'py, PyAny>, at: &ObjectPath<'_, 'py>) -> Result<()> {
        if let Ok(dict) = object.cast_exact::<PyDict>() {
            return self.dict(dict, at);
        }
        if let Ok(list) = object.cast_exact::<PyList>() {
            return self.items(NodeKind::Seq.into(), list, at);
        }
        if let Ok(tuple) = object.cast_exact::<PyTuple>() {
            return self.items(NodeKind::Tuple.into(), &tuple.to_list(), at);
        }
        if is_plain_leaf(object) {
            return self.leaf(object, at);
        }
        if object.is_none() && self.rules == Rules::Jax {
            return Ok(self.builder.open(NodeKind::None, 1)?);
        }
        match self.form(object)? {
            None => self.leaf(object, at),
            Some(ClassKind::Registered) => match one_level(object)? {
                Some(level) => self.level(&object.get_type(), level, at),
                None => Err(Error::expected("a node, as others of its class are", "a leaf")),
            },
            Some(form) => self.known(form, object, at),
        }
    }

    fn leaf(&mut self, object: &Bound<'py, PyAny>, at: &ObjectPath<'_, 'py>) -> Result<()> {
        self.builder.leaves(1)?;
        (self.each_leaf)(object, at)
    }

    /// The kind of the object as a node. `None` if it is a leaf.
    fn form(&mut self, object: &Bound<'py, PyAny>) -> Result<Option<ClassKind>> {
        let class = object.get_type();
        // A class is never freed while one of its instances is read.
        let key = class.as_ptr() as usize;
        if let Some(form) = self.forms.get(&key) {
            return Ok(*form);
        }
        let form = match (ClassKind::of(&class)?, self.rules) {
            (ClassKind::Deque, Rules::Jax) | (ClassKind::Registered, Rules::Torch) => None,
            // JAX looks into its registry first.
            (ClassKind::NamedTuple, Rules::Jax) if is_registered_tuple(object)? => {
                Some(ClassKind::Registered)
            }
            (ClassKind::NamedTuple, _) if !class.hasattr(intern!(class.py(), "_fields"))? => None,
            (ClassKind::Registered, Rules::Jax) => {
                one_level(object)?.map(|_| ClassKind::Registered)
            }
            (form, _) => Some(form),
        };
        self.forms.insert(key, form);
        Ok(form)
    }

    /// The items of a list or a tuple, or of an object that has them by position.
    fn items(
        &mut self,
        head: NodeHead<'_>,
        items: &Bound<'py, PyList>,
        at: &ObjectPath<'_, 'py>,
    ) -> Result<()> {
        self.context.enter(at, items.len())?;
        self.builder.open(head, 1)?;
        for (index, item) in items.iter().enumerate() {
            self.child(&item, at.child(PathStep::Item(index)))?;
        }
        Ok(self.builder.close()?)
    }

    fn child(&mut self, object: &Bound<'py, PyAny>, at: ObjectPath<'_, 'py>) -> Result<()> {
        self.node(object, &at).map_err(|error| error.at(|| at.path()))
    }

    fn dict(&mut self, dict: &Bound<'py, PyDict>, at: &ObjectPath<'_, 'py>) -> Result<()> {
        let keys = dict.keys();
        if self.rules == Rules::Torch {
            return self.entries(ClassKind::Dict, dict, &keys, at);
        }
        keys.sort()?;
        let Some(plain) = keys.iter().map(|key| plain(&key)).collect::<Option<Vec<_>>>() else {
            return self.entries(ClassKind::Dict, dict, &keys, at);
        };
        self.context.enter(at, keys.len())?;
        self.builder.open(NodeKind::Map, 1)?;
        for (key, plain) in keys.iter().zip(plain) {
            self.builder.key(plain.into())?;
            self.child(&entry(dict, &key)?, at.child(PathStep::Key(&key)))?;
        }
        Ok(self.builder.close()?)
    }

    /// An object whose class needs no registry.
    fn known(
        &mut self,
        form: ClassKind,
        object: &Bound<'py, PyAny>,
        at: &ObjectPath<'_, 'py>,
    ) -> Result<()> {
        let (py, class) = (object.py(), object.get_type());
        if let Ok(dict) = object.cast::<PyDict>() {
            let keys = dict.keys();
            if form == ClassKind::DefaultDict && self.rules == Rules::Jax {
                keys.sort()?;
            }
            return self.entries(form, dict, &keys, at);
        }
        if form == ClassKind::NamedTuple {
            let names = class.getattr(intern!(py, "_fields"))?.extract::<Vec<String>>()?;
            let children = object.cast::<PyTuple>().map_err(PyErr::from)?.to_list();
            self.class(form, &class, None, py.None());
            return self.named(&class, &names, &children, at);
        }
        self.class(form, &class, None, object.getattr(intern!(py, "maxlen"))?.unbind());
        let items = PyList::empty(py);
        for item in object.try_iter()? {
            items.append(item?)?;
        }
        self.items(NodeHead { name: &name_of(&class)?, ..NodeKind::TupleStruct.into() }, &items, at)
    }

    /// Notes the class of the node that is opened next.
    fn class(
        &mut self,
        form: ClassKind,
        class: &Bound<'py, PyType>,
        keys: Option<Py<PyTuple>>,
        data: Py<PyAny>,
    ) {
        self.classes.push(Class { form, class: class.clone().unbind(), keys, data });
    }

    /// A dict whose order is part of the structure, or with keys that only Python compares.
    fn entries(
        &mut self,
        form: ClassKind,
        dict: &Bound<'py, PyDict>,
        keys: &Bound<'py, PyList>,
        at: &ObjectPath<'_, 'py>,
    ) -> Result<()> {
        self.context.enter(at, keys.len())?;
        let (py, class) = (dict.py(), dict.get_type());
        let names = keys.iter().map(|key| text(&key)).collect::<Option<Vec<_>>>();
        let data = match form {
            ClassKind::DefaultDict => dict.getattr(intern!(py, "default_factory"))?.unbind(),
            _ => py.None(),
        };
        let kind = if names.is_some() { NodeKind::Struct } else { NodeKind::TupleStruct };
        self.class(form, &class, names.is_none().then(|| keys.to_tuple().unbind()), data);
        self.builder.open(NodeHead { name: &name_of(&class)?, ..kind.into() }, 1)?;
        let mut names = names.into_iter().flatten();
        for key in keys {
            if let Some(name) = names.next() {
                self.builder.field(name)?;
            }
            self.child(&entry(dict, &key)?, at.child(PathStep::Key(&key)))?;
        }
        Ok(self.builder.close()?)
    }

    /// An object of a class that is registered with JAX.
    fn level(
        &mut self,
        class: &Bound<'py, PyType>,
        level: RegisteredNode<'py>,
        at: &ObjectPath<'_, 'py>,
    ) -> Result<()> {
        let RegisteredNode { names, steps, children, treedef } = level;
        self.class(ClassKind::Registered, class, steps.map(Bound::unbind), treedef.unbind());
        match names {
            Some(names) => self.named(class, &names, &children, at),
            None => {
                let name = name_of(class)?;
                self.items(NodeHead { name: &name, ..NodeKind::TupleStruct.into() }, &children, at)
            }
        }
    }

    /// An object whose children are attributes.
    fn named(
        &mut self,
        class: &Bound<'py, PyType>,
        names: &[String],
        children: &Bound<'py, PyList>,
        at: &ObjectPath<'_, 'py>,
    ) -> Result<()> {
        if names.len() != children.len() {
            let found = format!("{} with {}", names.len(), children.len());
            return Err(Error::expected("as many names as children", found));
        }
        self.context.enter(at, children.len())?;
        self.builder.open(NodeHead { name: &name_of(class)?, ..NodeKind::Struct.into() }, 1)?;
        for (name, child) in names.iter().zip(children) {
            self.builder.field(name.clone())?;
            let name = PyString::new(child.py(), name).into_any();
            self.child(&child, at.child(PathStep::Attribute(&name)))?;
        }
        Ok(self.builder.close()?)
    }
}

/// Objects that are leaves by all rules.
fn is_plain_leaf(object: &Bound<'_, PyAny>) -> bool {
    object.is_exact_instance_of::<PyFloat>()
        || object.is_exact_instance_of::<PyInt>()
        || object.is_exact_instance_of::<PyBool>()
        || object.is_exact_instance_of::<PyString>()
        || object.is_exact_instance_of::<PyUntypedArray>()
}

fn name_of(class: &Bound<'_, PyType>) -> Result<String> {
    Ok(class.name()?.to_string_lossy().into_owned())
}

/// A key that Rust compares as Python does: a text, or an integer.
fn plain(key: &Bound<'_, PyAny>) -> Option<Leaf> {
    match text(key) {
        Some(text) => Some(Leaf::from(text.as_str())),
        None => key.cast_exact::<PyInt>().ok()?.extract::<i64>().ok().map(Leaf::from),
    }
}

/// A text without lone surrogates.
fn text(key: &Bound<'_, PyAny>) -> Option<String> {
    key.cast_exact::<PyString>().ok()?.to_str().ok().map(str::to_owned)
}

/// The entry of a key that the dict had a moment ago: comparing keys may run code.
fn entry<'py>(dict: &Bound<'py, PyDict>, key: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    dict.get_item(key)?
        .ok_or_else(|| Error::new(ErrorKind::Key, "a dict changed while it was flattened"))
}
