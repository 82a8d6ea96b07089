//! The place of a conversion in the object.

use std::cell::{Cell, RefCell};
use std::hash::{Hash, Hasher};

use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use treedef::{__private as private, Limits};

use crate::error::{Error, ErrorKind, Result};
use crate::read::buffer::BufferLog;
use crate::read::names::{literal, text};

/// One step from an object to a part of it.
#[derive(Clone, Copy)]
pub(crate) enum PathStep<'a, 'py> {
    Root(&'a str),
    Item(usize),
    Key(&'a Bound<'py, PyAny>),
    Attribute(&'a Bound<'py, PyAny>),
}

/// The steps from the root, each on the stack of the call that took it.
#[derive(Clone, Copy)]
pub(crate) struct ObjectPath<'a, 'py> {
    parent: Option<&'a ObjectPath<'a, 'py>>,
    step: PathStep<'a, 'py>,
    depth: usize,
}

/// The handling of keys and attributes that the type does not request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnusedKeys {
    /// They are left, as by most formats of serde.
    #[default]
    Ignored,
    /// A `UserWarning` lists them.
    Warning,
    /// A `KeyError` lists them.
    Error,
}

/// The state of a whole conversion: its options and its counters.
pub(crate) struct ReadContext<'py> {
    pub(crate) py: Python<'py>,
    pub(crate) convert: bool,
    pub(crate) unused_keys: UnusedKeys,
    pub(crate) limits: Limits,
    deepest: usize,
    work: Cell<usize>,
    /// The paths of the keys that the type did not request.
    pub(crate) unused: RefCell<Vec<String>>,
    pub(crate) buffered: BufferLog,
}

/// An object that is read, and where it is.
#[derive(Clone, Copy)]
pub(crate) struct ObjectDeserializer<'a, 'py> {
    pub(crate) object: &'a Bound<'py, PyAny>,
    pub(crate) at: &'a ObjectPath<'a, 'py>,
    pub(crate) context: &'a ReadContext<'py>,
}

impl<'a, 'py> ObjectPath<'a, 'py> {
    pub(crate) fn root(name: &'a str) -> Self {
        ObjectPath { parent: None, step: PathStep::Root(name), depth: 0 }
    }

    pub(crate) fn child(&'a self, step: PathStep<'a, 'py>) -> Self {
        ObjectPath { parent: Some(self), step, depth: self.depth + 1 } // below the limit
    }

    /// The last step and how many are before it.
    pub(crate) fn hash_step(&self, state: &mut impl Hasher) {
        self.depth.hash(state);
        match self.step {
            PathStep::Root(_) => {}
            PathStep::Item(index) => index.hash(state),
            PathStep::Key(name) | PathStep::Attribute(name) => match name.cast::<PyString>() {
                Ok(name) => name.to_string_lossy().hash(state),
                Err(_) => literal(name).hash(state),
            },
        }
    }

    /// All steps.
    pub(crate) fn hash(&self, state: &mut impl Hasher) {
        let mut at = Some(self);
        while let Some(path) = at {
            path.hash_step(state);
            at = path.parent;
        }
    }

    pub(crate) fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    /// The path in Python's notation.
    pub(crate) fn path(&self) -> String {
        let mut steps = Vec::new();
        let mut at = Some(self);
        while let Some(ObjectPath { parent, step, .. }) = at {
            steps.push(match step {
                PathStep::Root(name) => (*name).to_owned(),
                PathStep::Item(index) => format!("[{index}]"),
                PathStep::Key(key) => format!("[{}]", literal(key)),
                PathStep::Attribute(name) => format!(".{}", text(name)),
            });
            at = *parent;
        }
        steps.into_iter().rev().collect()
    }
}

impl<'py> ReadContext<'py> {
    pub(crate) fn new(
        py: Python<'py>,
        limits: Limits,
        unused_keys: UnusedKeys,
        convert: bool,
    ) -> Self {
        let deepest = private::deepest(limits);
        let (work, unused, buffered) = Default::default();
        ReadContext { py, convert, unused_keys, limits, deepest, work, unused, buffered }
    }

    /// The items of an iterable, which may have no end.
    pub(crate) fn list(
        &self,
        iterable: &Bound<'py, PyAny>,
        at: &ObjectPath<'_, 'py>,
    ) -> Result<Bound<'py, PyList>> {
        let list = PyList::empty(self.py);
        for item in iterable.try_iter()? {
            self.enter(at, 1)?;
            list.append(item?)?;
        }
        Ok(list)
    }

    /// Counts elements. Returns whether they are within the limit, as none after them are.
    pub(crate) fn counts(&self, elements: usize) -> bool {
        let work = self.work.get().saturating_add(elements);
        self.work.set(work);
        work <= self.limits.max_work
    }

    /// Counts an object with this number of elements.
    pub(crate) fn enter(&self, at: &ObjectPath<'_, 'py>, elements: usize) -> Result<()> {
        if at.depth >= self.deepest {
            let message = format!(
                "objects nest deeper than {} levels (`Reader::limits` with another `max_depth` allows \
                 more; an object that contains itself has no end)",
                self.deepest
            );
            return Err(Error::new(ErrorKind::Value, message).at(|| at.path()));
        }
        if !self.counts(elements) {
            let message = format!(
                "more than {} objects (`Reader::limits` with another `max_work` allows more)",
                self.limits.max_work
            );
            return Err(Error::new(ErrorKind::Value, message).at(|| at.path()));
        }
        Ok(())
    }
}
