//! The values that serde reads into a buffer of its own, below tagged, untagged and flattened types.

use std::any::type_name;
use std::cell::{Cell, RefCell};
use std::hash::{DefaultHasher, Hash};

use crate::error::Error;
use crate::mark;

/// Where a mark stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// In the place of the value with this number.
    Value(usize),
    /// In the place of the first number of an array.
    Number(usize),
    /// As one more entry of a map.
    Entry(usize, &'static str),
}

/// An array whose first number is a mark.
pub(crate) struct MarkedArray {
    pub(crate) path: String,
    /// Rust's name of the type of its numbers.
    pub(crate) of: &'static str,
    /// Its type and shape.
    pub(crate) found: String,
}

/// The values that went into buffers while an object was read.
#[derive(Default)]
pub(crate) struct BufferLog {
    pub(crate) mark: Option<Mark>,
    /// The paths, if they are to be noted.
    pub(crate) paths: Option<RefCell<Vec<String>>>,
    /// The numbers of the arrays among the values, and of the outermost value around each that is in the same buffer.
    pub(crate) arrays: RefCell<Vec<(usize, usize)>>,
    /// The numbers that a float of this type would refuse, where a mark shows whether it is requested, and how.
    pub(crate) refusals: RefCell<Vec<(Mark, &'static str, Error)>>,
    pub(crate) marked: RefCell<Option<MarkedArray>>,
    pub(crate) count: Cell<usize>,
    /// Whether a value is read that goes into a buffer.
    pub(crate) is_inside: Cell<bool>,
    /// The number of the last value that was not inside another one in its buffer.
    pub(crate) outermost: Cell<usize>,
    /// A hash of everything except the numbers and the shapes.
    pub(crate) structure: RefCell<DefaultHasher>,
    /// A hash of the integers and the shapes, by which serde may choose a variant.
    pub(crate) details: RefCell<DefaultHasher>,
}

/// Whether a visitor fills a buffer of serde.
pub(crate) fn is_buffer<V>() -> bool {
    let name = type_name::<V>();
    name.starts_with("serde::") && name.contains("::content::")
}

impl BufferLog {
    /// The number of a value that goes into a buffer. `None` if the mark is in its place.
    pub(crate) fn next(
        &self,
        path: impl FnOnce() -> String,
        hash: impl FnOnce(&mut DefaultHasher),
    ) -> Option<usize> {
        let number = self.count.replace(self.count.get() + 1); // values that were read
        hash(&mut self.structure.borrow_mut());
        if !self.is_inside.get() {
            self.outermost.set(number);
        }
        if let Some(paths) = &self.paths {
            paths.borrow_mut().push(path());
        }
        if self.is_replay() {
            mark::buffered();
        }
        (self.mark != Some(Mark::Value(number))).then_some(number)
    }

    /// Whether the object is read again.
    pub(crate) fn is_replay(&self) -> bool {
        self.paths.is_some() || self.mark.is_some()
    }

    /// Does work that reads a value into a buffer.
    pub(crate) fn inside<R>(&self, work: impl FnOnce() -> R) -> R {
        let around = self.is_inside.replace(true);
        let result = work();
        self.is_inside.set(around);
        result
    }

    /// The key of the mark, if that is an entry of this value.
    pub(crate) fn entry(&self, number: Option<usize>) -> Option<&'static str> {
        match self.mark {
            Some(Mark::Entry(marked, name)) if number == Some(marked) => Some(name),
            _ => None,
        }
    }

    /// Whether the mark is in the place of the first number of this array.
    pub(crate) fn array(
        &self,
        number: usize,
        of: &'static str,
        shape: &[usize],
        path: impl FnOnce() -> String,
        found: impl FnOnce() -> String,
    ) -> bool {
        let is_empty = shape.contains(&0);
        // Of no numbers, the type is not compared.
        (of, shape.len(), is_empty).hash(&mut *self.structure.borrow_mut());
        shape.hash(&mut *self.details.borrow_mut());
        if !is_empty {
            self.arrays.borrow_mut().push((number, self.outermost.get()));
        }
        let is_marked = self.mark == Some(Mark::Number(number));
        if is_marked {
            self.marked.replace(Some(MarkedArray { path: path(), of, found: found() }));
        }
        is_marked
    }
}
