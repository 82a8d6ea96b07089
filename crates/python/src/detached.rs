//! Work without the lock of the interpreter.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::Python;

use crate::error::{Error, ErrorKind, Result};

/// Does work while other threads run Python: the interpreter's lock is released. A panic becomes a
/// `RuntimeError`, where PyO3 alone makes a `PanicException`, which `except Exception` does not catch.
///
/// # Errors
///
/// Returns an error when the work panics.
///
/// ```
/// use pyo3::prelude::*;
///
/// Python::attach(|py| {
///     assert_eq!(treedef_python::detached(py, || (1..=10).sum::<u32>())?, 55);
///     let error = treedef_python::detached(py, || assert_eq!(1, 2)).unwrap_err();
///     assert!(error.to_string().starts_with("a panic in Rust: assertion"));
///     Ok::<_, PyErr>(())
/// })
/// # .unwrap();
/// ```
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> Result<T> {
    // Values that the work borrowed are dropped or returned to the caller, who gets the error.
    let result = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    result.map_err(|panic| {
        Error::new(ErrorKind::Panic, format_args!("a panic in Rust: {}", message(&*panic)))
    })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "without a message",
    }
}
