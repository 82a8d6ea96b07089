//! The names of fields as texts of Python, each made once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyString;

/// By address and length: a name of a type is in memory for ever.
type Known = HashMap<(usize, usize), Py<PyString>>;

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

/// The names so far. A second walk at the same time begins with an empty cache.
#[derive(Default)]
pub(crate) struct NameCache(Known);

impl NameCache {
    pub(crate) fn take() -> Self {
        NameCache(KNOWN.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default())
    }

    pub(crate) fn store(self) {
        *KNOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.0);
    }

    pub(crate) fn name<'py>(
        &mut self,
        py: Python<'py>,
        name: &'static str,
    ) -> Bound<'py, PyString> {
        let key = (name.as_ptr() as usize, name.len());
        let known = self.0.entry(key).or_insert_with(|| PyString::intern(py, name).unbind());
        known.bind(py).clone()
    }
}
