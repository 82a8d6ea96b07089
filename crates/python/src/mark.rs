//! A value that no type accepts: the error that refuses it shows the request of the type.

use std::cell::RefCell;

use serde::de::{Expected, Unexpected};
use treedef::__private::OrBug;

/// No text, and no bytes that a value has.
pub(crate) const MARK: &[u8] = b"\xff\xfetreedef_python::MARK";

/// An error of a type, or of a variant that serde tried before the right one.
pub(crate) struct Failure {
    /// How many values were in buffers.
    pub(crate) values: usize,
    /// The request that got the mark.
    pub(crate) request: Option<String>,
}

thread_local! {
    /// The values in buffers, and the errors. `None` while they are not recorded.
    static RECORD: RefCell<Option<(usize, Vec<Failure>)>> = const { RefCell::new(None) };
}

/// Records that a value goes into a buffer.
pub(crate) fn buffered() {
    RECORD.with_borrow_mut(|record| {
        if let Some((values, _)) = record {
            *values += 1; // values that were read
        }
    });
}

/// Records an error.
pub(crate) fn failed() {
    RECORD.with_borrow_mut(|record| {
        if let Some((values, failures)) = record {
            failures.push(Failure { values: *values, request: None });
        }
    });
}

/// Records the visitor that refused a value, if the value is the mark, in the last error.
pub(crate) fn refused(found: Unexpected<'_>, expected: &dyn Expected) {
    if found == Unexpected::Bytes(MARK) {
        RECORD.with_borrow_mut(|record| {
            if let Some(last) = record.as_mut().and_then(|(_, failures)| failures.last_mut()) {
                last.request = Some(expected.to_string());
            }
        });
    }
}

/// Does work. Also returns the errors meanwhile.
pub(crate) fn recording<R>(work: impl FnOnce() -> R) -> (R, Vec<Failure>) {
    let around = RECORD.replace(Some((0, Vec::new())));
    let result = work();
    let (_, failures) = RECORD.replace(around).or_bug();
    (result, failures)
}
