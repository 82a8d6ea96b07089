//! Reads an object again, to find information that serde's buffers hide.
//!
//! A buffer has no paths, and returns a number for a request of any type. The request becomes visible when a type
//! refuses a value: so an object is read again with a mark in the place of one value. In this way, the numbers of an
//! array are compared with the type, and the path of an error is found.

use std::any::type_name;
use std::cell::RefCell;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};

use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use treedef::__private::OrBug;

use crate::error::{Error, Origin, Result};
use crate::mark::asking;
use crate::read::array::is_converted;
use crate::read::buffer::{BufferLog, Mark, MarkedArray};
use crate::read::reader::Reader;
use crate::read::slice::CONVERT;

thread_local! {
    /// The structures whose arrays have the numbers that their types have.
    static STRICT: RefCell<HashSet<u64>> = RefCell::new(HashSet::new());
}

/// The most structures that a thread keeps.
const MOST_STRICT: usize = 1 << 10;

/// The most values among which the place of an error is looked for.
const MOST_VALUES: usize = 1 << 10;

/// An object that was read again.
struct Replay {
    buffered: BufferLog,
    error: Option<Error>,
    /// The requests that got the mark and refused it.
    requests: Vec<String>,
}

impl Replay {
    fn of<T: DeserializeOwned>(
        reader: &Reader,
        object: &Bound<'_, PyAny>,
        mark: Option<Mark>,
    ) -> Self {
        let mut context = reader.quiet_context(object.py());
        let paths = mark.is_none().then(RefCell::default);
        context.buffered = BufferLog { mark, paths, ..BufferLog::default() };
        let (error, requests) = asking(|| reader.read_in::<T>(object, &context).err());
        Replay { buffered: context.buffered, error, requests }
    }
}

/// The type of a number, by what its visitor expects.
fn number_type(expected: &str) -> Option<&str> {
    let name = expected.strip_prefix("a nonzero ").unwrap_or(expected);
    match name {
        "usize" => Some("u64"),
        "isize" => Some("i64"),
        "bool" | "f32" | "f64" | "i8" | "i16" | "i32" | "i64" | "i128" | "u8" | "u16" | "u32"
        | "u64" | "u128" => Some(name),
        _ => None,
    }
}

impl Reader {
    /// Whether the numbers in buffers are such as the types have: of arrays, once for each structure.
    pub(crate) fn expect_strict<T: DeserializeOwned>(
        &self,
        object: &Bound<'_, PyAny>,
        buffered: &BufferLog,
    ) -> Result<()> {
        for (number, name, error) in buffered.refusals.take() {
            let Replay { requests, .. } = Replay::of::<T>(self, object, Some(Mark::Value(number)));
            if requests.iter().any(|request| number_type(request) == Some(name)) {
                return Err(error);
            }
        }
        let arrays = buffered.arrays.take();
        if arrays.is_empty() || self.converts() {
            return Ok(());
        }
        type_name::<T>().hash(&mut *buffered.structure.borrow_mut());
        let structure = buffered.structure.borrow().finish();
        if STRICT.with_borrow(|strict| strict.contains(&structure)) {
            return Ok(());
        }
        for array in arrays {
            let replay = Replay::of::<T>(self, object, Some(Mark::Number(array)));
            let Some(MarkedArray { path, of, found }) = replay.buffered.marked.take() else {
                continue;
            };
            let mut wanted = replay.requests.iter().filter_map(|request| number_type(request));
            let Some(first) = wanted.next() else { continue };
            // An untagged enum asks for several types: one may be right.
            if first != of && !wanted.any(|name| name == of) {
                let help = if is_converted(of, first) { CONVERT } else { "" };
                let expected = format_args!("an array of {first}");
                return Err(Error::expected(expected, format_args!("{found}{help}")).at(|| path));
            }
        }
        STRICT.with_borrow_mut(|strict| {
            if strict.len() >= MOST_STRICT {
                strict.clear();
            }
            strict.insert(structure);
        });
        Ok(())
    }

    /// The error with the whole path, if it is about a value in a buffer.
    pub(crate) fn located<T: DeserializeOwned>(
        &self,
        error: Error,
        object: &Bound<'_, PyAny>,
    ) -> Error {
        let paths = match error.origin() {
            Origin::Other => return error,
            _ => Replay::of::<T>(self, object, None).buffered.paths.or_bug().into_inner(),
        };
        if paths.len() > MOST_VALUES {
            return error;
        }
        // The request that refused the mark, if the error is at its path.
        let refused = |mark| {
            let Replay { error: found, mut requests, .. } =
                Replay::of::<T>(self, object, Some(mark));
            requests.pop().filter(|_| found.is_some_and(|found| found.path() == error.path()))
        };
        let mut inside = paths.iter().enumerate().rev().filter(|(_, path)| {
            let rest = path.strip_prefix(error.path());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['[', '.']))
        });
        let place = match error.origin() {
            Origin::Other => None,
            Origin::Missing(name) => {
                inside.find(|(number, _)| refused(Mark::Entry(*number, name)).is_some())
            }
            // The last request.
            Origin::Value(expected) => inside
                .find_map(|(number, path)| {
                    let request = refused(Mark::Value(number))?;
                    Some(
                        (request == *expected
                            || refused(Mark::Number(number)).as_ref() == Some(expected))
                        .then_some((number, path)),
                    )
                })
                .flatten(),
        };
        match place {
            Some((_, path)) => error.moved_to(path.clone()),
            None => error,
        }
    }
}
