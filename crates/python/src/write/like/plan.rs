//! The plan that an example is read into: the classes of the objects of a value.

use std::cell::OnceCell;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple, PyType};

use crate::error::Result;
use crate::read::class::ClassAttributes;
use crate::read::context::{ObjectPath, PathStep, ReadContext};
use crate::read::object::ObjectEntries;
use crate::write::like::array::ArrayLike;
use crate::write::like::scalar::ScalarKind;

/// The class of an object and its parts, from an example. Small, because a list has many.
pub(crate) enum Plan<'py> {
    /// The example is `None`, which allows any object.
    Any,
    /// A number or a text, of a class that inherits from Python's if there is one.
    Scalar(ScalarKind, Option<Bound<'py, PyType>>),
    /// A member of an `Enum`.
    Member(Bound<'py, PyType>),
    /// `bytes`, `bytearray` and the like.
    Bytes(Bound<'py, PyType>),
    Array(Box<ArrayLike<'py>>),
    Dict(Box<DictLike<'py>>),
    Object(Box<ObjectLike<'py>>),
    Sequence(Box<SequenceLike<'py>>),
    Set(Box<SetLike<'py>>),
    Range(Bound<'py, PyAny>),
    /// An object whose class does not list its attributes: it is read when a value needs it, because it may be
    /// any object, with many others behind it.
    Later(Box<(Bound<'py, PyAny>, OnceCell<Plan<'py>>)>),
    /// A function, a class, an object without attributes: it is kept, and no value replaces it.
    Kept(Bound<'py, PyAny>),
}

/// How a class makes an object of its attributes.
pub(crate) enum Constructor<'py> {
    /// `_make` of a named tuple.
    NamedTuple,
    /// `__init__`, of a class that lists its arguments.
    Init(Arc<ClassAttributes>),
    /// `__init__` of a `SimpleNamespace`, which accepts any arguments.
    Namespace,
    /// By JAX, which has its class in a registry: of the children, which are the first attributes.
    /// If the class lists its attributes, equal ones have equal treedefs.
    Registered { treedef: Bound<'py, PyAny>, children: usize, is_listed: bool },
    /// `__new__`, and each attribute.
    New,
}

/// An entry of a dict, or an attribute.
pub(crate) struct FieldLike<'py> {
    pub(crate) key: Bound<'py, PyAny>,
    pub(crate) plan: Plan<'py>,
    pub(crate) example: Bound<'py, PyAny>,
    /// The class makes it, or the example has it, where the value does not.
    pub(crate) is_optional: bool,
}

/// A mapping.
pub(crate) struct DictLike<'py> {
    pub(crate) example: Bound<'py, PyAny>,
    pub(crate) fields: Vec<FieldLike<'py>>,
}

/// An object with attributes.
pub(crate) struct ObjectLike<'py> {
    pub(crate) example: Bound<'py, PyAny>,
    pub(crate) class: Bound<'py, PyType>,
    pub(crate) fields: Vec<FieldLike<'py>>,
    pub(crate) make: Constructor<'py>,
}

/// A list, a tuple, a `deque`.
pub(crate) struct SequenceLike<'py> {
    pub(crate) example: Bound<'py, PyAny>,
    pub(crate) class: Bound<'py, PyType>,
    /// Equal elements that follow each other, and how many they are.
    pub(crate) runs: Vec<(Plan<'py>, usize)>,
    pub(crate) length: usize,
}

/// A set, and the plan of its elements.
pub(crate) struct SetLike<'py> {
    pub(crate) class: Bound<'py, PyType>,
    pub(crate) element: Plan<'py>,
}

impl<'py> Plan<'py> {
    pub(crate) fn is_array(&self) -> bool {
        matches!(self, Plan::Array(_))
    }

    /// Whether there are numbers in it, which a value has to have, too.
    pub(crate) fn has_numbers(&self) -> bool {
        match self {
            Plan::Any | Plan::Member(_) | Plan::Bytes(_) | Plan::Kept(_) => false,
            Plan::Scalar(kind, _) => !matches!(kind, ScalarKind::Bool | ScalarKind::Text),
            Plan::Array(array) => array.has_numbers,
            Plan::Range(_) | Plan::Later(_) => true,
            Plan::Dict(dict) => dict.fields.iter().any(|field| field.plan.has_numbers()),
            Plan::Object(object) => object.fields.iter().any(|field| field.plan.has_numbers()),
            Plan::Sequence(sequence) => sequence.runs.iter().any(|(plan, _)| plan.has_numbers()),
            Plan::Set(set) => set.element.has_numbers(),
        }
    }

    /// Whether the value already fits the plan.
    pub(crate) fn is_put(&self, value: &Bound<'py, PyAny>) -> bool {
        match self {
            Plan::Any => true,
            Plan::Scalar(kind, None) => kind.is_of(value),
            Plan::Array(array) => array.is_put(value),
            _ => false,
        }
    }

    /// Whether the plan of this example would be the same. Beyond the limits, none is.
    pub(crate) fn fits(&self, example: &Bound<'py, PyAny>, context: &ReadContext<'py>) -> bool {
        match self {
            Plan::Any => example.is_none(),
            Plan::Scalar(kind, None) => kind.is_of(example),
            Plan::Array(array) => array.fits(example),
            Plan::Member(class) | Plan::Bytes(class) => example.get_type().is(class),
            Plan::Dict(dict) => match example.cast_exact::<PyDict>() {
                Ok(found) if dict.example.is_exact_instance_of::<PyDict>() => {
                    found.len() == dict.fields.len()
                        && context.counts(found.len())
                        && dict.fields.iter().zip(found.iter()).all(|(field, (key, value))| {
                            is_same_key(&field.key, &key) && field.fits(&value, context)
                        })
                }
                _ => false,
            },
            Plan::Object(object) => {
                // Of other classes, an object may have other attributes than the one before it.
                let is_listed = match &object.make {
                    Constructor::Init(listed) => listed.is_direct,
                    Constructor::NamedTuple => true,
                    Constructor::Registered { is_listed, .. } => *is_listed,
                    Constructor::Namespace | Constructor::New => false,
                };
                let has = |field: &FieldLike<'py>| {
                    let value = field.key.cast().ok().and_then(|key| example.getattr(key).ok());
                    value.is_some_and(|value| field.fits(&value, context))
                };
                is_listed
                    && example.get_type().is(&object.class)
                    && context.counts(object.fields.len())
                    && object.fields.iter().all(has)
            }
            Plan::Sequence(sequence) => {
                let is_plain = example.is_exact_instance_of::<PyList>()
                    || example.is_exact_instance_of::<PyTuple>();
                let is_alike = |(plan, _): &(Plan<'py>, usize)| {
                    let mut items = example.try_iter().ok();
                    items.as_mut().is_some_and(|items| {
                        items.all(|item| item.is_ok_and(|item| plan.fits(&item, context)))
                    })
                };
                is_plain
                    && example.get_type().is(&sequence.class)
                    && example.len().is_ok_and(|length| length == sequence.length)
                    && context.counts(sequence.length)
                    && match sequence.runs.as_slice() {
                        [] => true,
                        [run] => is_alike(run),
                        _ => false,
                    }
            }
            _ => false,
        }
    }
}

impl<'py> FieldLike<'py> {
    /// Whether the example has the same field. A kept object has to be the identical one.
    fn fits(&self, example: &Bound<'py, PyAny>, context: &ReadContext<'py>) -> bool {
        self.example.is(example)
            || !self.is_optional && self.plan.has_numbers() && self.plan.fits(example, context)
    }

    /// How a path leads to it.
    pub(crate) fn step(&self, is_object: bool) -> PathStep<'_, 'py> {
        if is_object { PathStep::Attribute(&self.key) } else { PathStep::Key(&self.key) }
    }

    /// Whether it is an object without attributes, which stays where a value lacks it.
    pub(crate) fn has_nothing(
        &self,
        at: &ObjectPath<'_, 'py>,
        context: &ReadContext<'py>,
    ) -> Result<bool> {
        match &self.plan {
            Plan::Later(later) => {
                let entries = ObjectEntries::of(&later.0, at, context)?;
                Ok(entries.is_none_or(|entries| entries.len() == 0))
            }
            _ => Ok(false),
        }
    }
}

pub(crate) fn is_same_key<'py>(a: &Bound<'py, PyAny>, b: &Bound<'py, PyAny>) -> bool {
    a.is(b)
        || match (a.cast_exact::<PyString>(), b.cast_exact::<PyString>()) {
            (Ok(a), Ok(b)) => a.to_str().is_ok_and(|a| b.to_str().is_ok_and(|b| a == b)),
            _ => false,
        }
}
