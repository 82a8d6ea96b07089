//! A value that no type takes: the error that refuses it says what asked for it.

use std::cell::RefCell;

use serde::de::{Expected, Unexpected};

/// No text, and no bytes that a value has.
pub(crate) const MARK: &[u8] = b"\xff\xfetreedef_python::MARK";

thread_local! {
    /// What asked for the mark. `None` while nobody wants to know.
    static ASKED: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Notes what refused a value, if that is the mark.
pub(crate) fn refused(found: Unexpected<'_>, expected: &dyn Expected) {
    if found == Unexpected::Bytes(MARK) {
        ASKED.with_borrow_mut(|asked| {
            if let Some(asked) = asked {
                asked.push(expected.to_string());
            }
        });
    }
}

/// Does work, and gives what asked for the mark meanwhile.
pub(crate) fn asking<R>(work: impl FnOnce() -> R) -> (R, Vec<String>) {
    let around = ASKED.replace(Some(Vec::new()));
    let result = work();
    (result, ASKED.replace(around).unwrap_or_default())
}
