//! From an example to its plan.

use std::cell::OnceCell;

use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PyRange, PySet,
    PyString, PyTuple, PyType,
};

use crate::error::{Error, Result};
use crate::read::array::is_array;
use crate::read::class::{AttributeSource, ClassAttributes};
use crate::read::context::{ObjectPath, PathStep, ReadContext};
use crate::read::object::{ObjectEntries, is_deque, is_sequence, member_name};
use crate::write::like::array::ArrayLike;
use crate::write::like::instance::{is_namespace, registered};
use crate::write::like::plan::{
    Constructor, DictLike, FieldLike, ObjectLike, Plan, SequenceLike, SetLike,
};
use crate::write::like::scalar::ScalarKind;

impl<'py> Plan<'py> {
    /// The plan of the example at a path.
    pub(crate) fn of(
        example: &Bound<'py, PyAny>,
        at: &ObjectPath<'_, 'py>,
        context: &ReadContext<'py>,
    ) -> Result<Self> {
        match Plan::plain(example) {
            Some(plan) => Ok(plan),
            None => Plan::other(example, at, context).map_err(|error| error.at(|| at.path())),
        }
    }

    /// Numbers, texts and `None`, of Python's own classes.
    fn plain(example: &Bound<'py, PyAny>) -> Option<Self> {
        let kind = if example.is_exact_instance_of::<PyFloat>() {
            ScalarKind::Float
        } else if example.is_exact_instance_of::<PyInt>() {
            ScalarKind::Int
        } else if example.is_exact_instance_of::<PyString>() {
            ScalarKind::Text
        } else if example.is_exact_instance_of::<PyBool>() {
            ScalarKind::Bool
        } else {
            return example.is_none().then_some(Plan::Any);
        };
        Some(Plan::Scalar(kind, None))
    }

    fn other(
        example: &Bound<'py, PyAny>,
        at: &ObjectPath<'_, 'py>,
        context: &ReadContext<'py>,
    ) -> Result<Self> {
        if let Ok(dict) = example.cast_exact::<PyDict>() {
            return Plan::dict(example, dict.len(), dict.iter(), at, context);
        }
        if example.is_exact_instance_of::<PyList>() || example.is_exact_instance_of::<PyTuple>() {
            return Plan::sequence(example, at, context);
        }
        if example.cast::<PyUntypedArray>().is_ok() {
            return Ok(Plan::Array(Box::new(ArrayLike::of(example)?)));
        }
        let class = example.get_type();
        if example.is_instance_of::<PyBytes>() || example.is_instance_of::<PyByteArray>() {
            return Ok(Plan::Bytes(class));
        }
        if member_name(example)?.is_some() {
            return Ok(Plan::Member(class));
        }
        if is_array(example)? {
            return Ok(Plan::Array(Box::new(ArrayLike::of(example)?)));
        }
        if let Some(kind) = ScalarKind::of(example) {
            return Ok(Plan::Scalar(kind, (!kind.is_of(example)).then_some(class)));
        }
        if example.is_instance_of::<PySet>() || example.is_instance_of::<PyFrozenSet>() {
            return Plan::set(example, at, context);
        }
        if example.is_instance_of::<PyRange>() {
            return Ok(Plan::Range(example.clone()));
        }
        let by = ClassAttributes::of(&class)?.by;
        if by == AttributeSource::Slots && (is_sequence(example) || is_deque(example)?) {
            return Plan::sequence(example, at, context);
        }
        if example.cast::<PyType>().is_ok() || by == AttributeSource::Slots && example.is_callable()
        {
            // A module that is called is an object with attributes, too.
            let is_data =
                ObjectEntries::of(example, at, context)?.is_some_and(|entries| entries.len() > 0);
            return Ok(if is_data { Plan::later(example) } else { Plan::Kept(example.clone()) });
        }
        let is_root = at.is_root();
        match ObjectEntries::of(example, at, context)? {
            Some(ObjectEntries::Items { keys, values }) => {
                Plan::dict(example, keys.len(), keys.iter().zip(values), at, context)
            }
            Some(_) if by == AttributeSource::Slots && !is_root && !is_namespace(&class)? => {
                Ok(Plan::later(example))
            }
            Some(entries) => Plan::object(example, &entries, at, context),
            None => Ok(Plan::Kept(example.clone())),
        }
    }

    fn later(example: &Bound<'py, PyAny>) -> Self {
        Plan::Later(Box::new((example.clone(), OnceCell::new())))
    }

    fn dict(
        example: &Bound<'py, PyAny>,
        length: usize,
        entries: impl Iterator<Item = (Bound<'py, PyAny>, Bound<'py, PyAny>)>,
        at: &ObjectPath<'_, 'py>,
        context: &ReadContext<'py>,
    ) -> Result<Self> {
        context.enter(at, length)?;
        let mut fields = Vec::with_capacity(length);
        for (key, example) in entries {
            let plan = match Plan::plain(&example) {
                Some(plan) => plan,
                None => Plan::of(&example, &at.child(PathStep::Key(&key)), context)?,
            };
            fields.push(FieldLike { key, plan, example, is_optional: false });
        }
        Ok(Plan::Dict(Box::new(DictLike { example: example.clone(), fields })))
    }

    /// An object with attributes.
    pub(crate) fn object(
        example: &Bound<'py, PyAny>,
        entries: &ObjectEntries<'py>,
        at: &ObjectPath<'_, 'py>,
        context: &ReadContext<'py>,
    ) -> Result<Self> {
        let (py, class) = (example.py(), example.get_type());
        context.enter(at, entries.len())?;
        let listed = ClassAttributes::of(&class)?;
        let mut keys = Vec::with_capacity(entries.len());
        for index in 0..entries.len() {
            keys.push(entries.key(index, py)?);
        }
        let found = match listed.by {
            AttributeSource::NamedTuple => None,
            _ => registered(example, &keys)?,
        };
        let children = found.as_ref().map(|(children, _)| children.len());
        let make = match (found, listed.by) {
            (Some((children, treedef)), _) => {
                let is_static = |key: &Bound<'py, PyAny>| {
                    !children.iter().any(|child| child.eq(key).unwrap_or(false))
                };
                let statics: Vec<_> = keys.into_iter().filter(is_static).collect();
                let is_listed = listed.by != AttributeSource::Slots;
                let make = Constructor::Registered { treedef, children: children.len(), is_listed };
                keys = children.into_iter().chain(statics).collect();
                make
            }
            (None, AttributeSource::NamedTuple) => Constructor::NamedTuple,
            (None, AttributeSource::Slots) if is_namespace(&class)? => Constructor::Namespace,
            (None, AttributeSource::Slots) => Constructor::New,
            (None, AttributeSource::Dataclass | AttributeSource::Attrs) => {
                Constructor::Init(listed.clone())
            }
        };
        let mut fields = Vec::with_capacity(keys.len());
        for (index, key) in keys.into_iter().enumerate() {
            let is_optional = match (children, &make) {
                (Some(children), _) => index >= children,
                (None, Constructor::Init(listed)) => {
                    listed.arguments.get(index).is_some_and(|argument| argument.is_none())
                }
                _ => false,
            };
            let name = key.cast::<PyString>().map_err(PyErr::from)?;
            let example = match example.getattr_opt(name)? {
                Some(example) => example,
                // The class makes it later, if at all.
                None if is_optional => py.None().into_bound(py),
                None => example.getattr(name)?,
            };
            let at = at.child(PathStep::Attribute(&key));
            let plan = Plan::of(&example, &at, context)?;
            fields.push(FieldLike { key, plan, example, is_optional });
        }
        let example = example.clone();
        Ok(Plan::Object(Box::new(ObjectLike { example, class, fields, make })))
    }

    fn sequence(
        example: &Bound<'py, PyAny>,
        at: &ObjectPath<'_, 'py>,
        context: &ReadContext<'py>,
    ) -> Result<Self> {
        let mut runs: Vec<(Plan<'py>, usize)> = Vec::new();
        let mut length = 0;
        let mut push = |item: Bound<'py, PyAny>| {
            match runs.last_mut() {
                Some((plan, count)) if plan.fits(&item, context) => *count += 1, // at most the length
                _ => {
                    let at = at.child(PathStep::Item(length));
                    runs.push((Plan::of(&item, &at, context)?, 1));
                }
            }
            length += 1;
            Ok::<_, Error>(())
        };
        if let Ok(list) = example.cast::<PyList>() {
            context.enter(at, list.len())?;
            list.iter().try_for_each(&mut push)?;
        } else if let Ok(tuple) = example.cast::<PyTuple>() {
            context.enter(at, tuple.len())?;
            tuple.iter().try_for_each(&mut push)?;
        } else {
            let items = context.list(example, at)?;
            context.enter(at, 0)?;
            items.iter().try_for_each(&mut push)?;
        }
        let (example, class) = (example.clone(), example.get_type());
        Ok(Plan::Sequence(Box::new(SequenceLike { example, class, runs, length })))
    }

    /// A set has no places: its elements have one plan if they are all alike, or none.
    fn set(
        example: &Bound<'py, PyAny>,
        at: &ObjectPath<'_, 'py>,
        context: &ReadContext<'py>,
    ) -> Result<Self> {
        let mut element = None;
        for item in example.try_iter()? {
            let item = item?;
            context.enter(at, 1)?;
            match &element {
                None => {
                    element = Some(Plan::of(&item, &at.child(PathStep::Item(0)), context)?);
                }
                Some(Plan::Any) => break,
                Some(plan) if plan.fits(&item, context) => {}
                Some(_) => element = Some(Plan::Any),
            }
        }
        let element = element.unwrap_or(Plan::Any);
        Ok(Plan::Set(Box::new(SetLike { class: example.get_type(), element })))
    }
}
