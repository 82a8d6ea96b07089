//! Reads an object again, to find information that serde's buffers hide.
//!
//! A buffer has no paths, and returns a number for a request of any type. The request becomes visible when a type
//! refuses a value: so an object is read again with a mark in the place of one value. In this way, the numbers of an
//! array are compared with the type, and the path of an error is found.

use std::any::type_name;
use std::cell::{LazyCell, RefCell};
use std::collections::HashSet;
use std::hash::{Hash, Hasher};

use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use treedef::__private::OrBug;

use crate::error::{Error, Origin, Result};
use crate::mark::{Failure, recording};
use crate::read::array::{is_converted, rounds};
use crate::read::buffer::{BufferLog, Mark, MarkedArray};
use crate::read::reader::Reader;
use crate::read::slice::CONVERT;

thread_local! {
    /// The structures whose arrays have the numbers that their types have, where variants are tried with the details.
    static STRICT: RefCell<HashSet<u64>> = RefCell::new(HashSet::new());
}

/// The most structures that a thread keeps.
const MOST_STRICT: usize = 1 << 10;

/// The hint at the end of an error about a float where bits were requested.
const HALF: &str =
    " (a half float cannot be read inside tagged, untagged and flattened types: read `f32`)";

/// The most values among which the place of an error is looked for.
const MOST_VALUES: usize = 1 << 10;

/// The object without a mark, read again where variants are tried.
type Unmarked<F> = LazyCell<Replay, F>;

/// An object that was read again.
struct Replay {
    buffered: BufferLog,
    error: Option<Error>,
    failures: Vec<Failure>,
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
        let (error, failures) = recording(|| reader.read_in::<T>(object, &context).err());
        Replay { buffered: context.buffered, error, failures }
    }

    /// The requests that got the mark and refused it.
    fn requests(&self) -> impl Iterator<Item = &str> {
        self.failures.iter().filter_map(|failure| failure.request.as_deref())
    }

    /// Whether a variant after the first request may have been read. If not, the error is the refusal of the mark.
    fn has_variants(&self) -> bool {
        !self.error.as_ref().is_some_and(|error| matches!(error.origin(), Origin::Value(_)))
    }

    /// The types that the number in place of the mark may have. None if no type requested it.
    fn number_types(&self, unmarked: &Unmarked<impl FnOnce() -> Replay>) -> Vec<&str> {
        let Some(first) = self.failures.iter().find(|failure| failure.request.is_some()) else {
            return Vec::new();
        };
        if !self.has_variants() {
            return self.requests().filter_map(number_type).collect();
        }
        // The variants before the right one failed without the mark, too.
        let of_buffer = |failure: &&Failure| failure.values == first.values;
        let failed = unmarked.failures.iter().filter(of_buffer).count();
        match self.failures.iter().filter(of_buffer).nth(failed) {
            Some(Failure { request: Some(request), .. }) => {
                number_type(request).into_iter().collect()
            }
            _ if self.error.is_none() => Vec::new(),
            _ => self.requests().filter_map(number_type).collect(),
        }
    }

    /// Whether the numbers of an array, the first of which is the mark, are such as the type has.
    fn expect_array(&self, unmarked: &Unmarked<impl FnOnce() -> Replay>) -> Result<()> {
        let Some(MarkedArray { path, of, found }) = self.buffered.marked.take() else {
            return Ok(());
        };
        let types = self.number_types(unmarked);
        let Some(first) = types.first().filter(|_| !types.contains(&of)) else { return Ok(()) };
        let is_variant = self.requests().any(|request| number_type(request) == Some(of));
        let help = match is_variant {
            true if !types.iter().any(|name| rounds(of, name)) => return Ok(()),
            true => format!(" (put the variant with {of} first)"),
            false if is_converted(of, first) => CONVERT.to_owned(),
            false => String::new(),
        };
        let expected = format_args!("an array of {first}");
        Err(Error::expected(expected, format_args!("{found}{help}")).at(|| path))
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
        let unmarked = Unmarked::new(|| Replay::of::<T>(self, object, None));
        for (mark, name, error) in buffered.refusals.take() {
            let replay = Replay::of::<T>(self, object, Some(mark));
            if replay.number_types(&unmarked).contains(&name) {
                return Err(error);
            }
        }
        let arrays = buffered.arrays.take();
        if arrays.is_empty() || self.converts() {
            return Ok(());
        }
        type_name::<T>().hash(&mut *buffered.structure.borrow_mut());
        let structure = buffered.structure.borrow().finish();
        structure.hash(&mut *buffered.details.borrow_mut());
        let details = buffered.details.borrow().finish();
        if STRICT.with_borrow(|strict| strict.contains(&structure) || strict.contains(&details)) {
            return Ok(());
        }
        let mut has_variants = false;
        for (array, outermost) in arrays {
            let replay = Replay::of::<T>(self, object, Some(Mark::Number(array)));
            has_variants |= if replay.requests().next().is_some() {
                replay.has_variants()
            } else {
                // No type read the array. Another variant may.
                Replay::of::<T>(self, object, Some(Mark::Value(outermost))).has_variants()
            };
            replay.expect_array(&unmarked)?;
        }
        let found = if has_variants { details } else { structure };
        STRICT.with_borrow_mut(|strict| {
            if strict.len() >= MOST_STRICT {
                strict.clear();
            }
            strict.insert(found);
        });
        Ok(())
    }

    /// The error with the whole path, if it is about a value in a buffer, and with a hint for a half float, which is two bytes to
    /// serde.
    pub(crate) fn located<T: DeserializeOwned>(
        &self,
        error: Error,
        object: &Bound<'_, PyAny>,
    ) -> Error {
        let is_half = matches!(error.origin(), Origin::Value(name) if name == "u16")
            && error.to_string().contains("found floating point");
        let error = if is_half { error.and(HALF) } else { error };
        let paths = match error.origin() {
            Origin::Other => return error,
            _ => Replay::of::<T>(self, object, None).buffered.paths.or_bug().into_inner(),
        };
        if paths.len() > MOST_VALUES {
            return error;
        }
        // The request that refused the mark, if the error is at its path.
        let refused = |mark| {
            let replay = Replay::of::<T>(self, object, Some(mark));
            let is_there = replay.error.as_ref().is_some_and(|found| found.path() == error.path());
            replay.requests().last().filter(|_| is_there).map(str::to_owned)
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
