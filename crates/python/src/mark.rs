//! A value that no type accepts: the error that refuses it shows the request of the type.

use std::cell::RefCell;

use serde::de::{Expected, Unexpected};
use treedef::__private::OrBug;

/// No text, and no bytes that a value has.
pub(crate) const MARK: &[u8] = b"\xff\xfetreedef_python::MARK";

thread_local! {
    /// The requests that got the mark. `None` while they are not recorded.
    static ASKED: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Records the visitor that refused a value, if the value is the mark.
pub(crate) fn refused(found: Unexpected<'_>, expected: &dyn Expected) {
    if found == Unexpected::Bytes(MARK) {
        ASKED.with_borrow_mut(|asked| {
            if let Some(asked) = asked {
                asked.push(expected.to_string());
            }
        });
    }
}

/// Does work. Also returns the requests that got the mark meanwhile.
pub(crate) fn asking<R>(work: impl FnOnce() -> R) -> (R, Vec<String>) {
    let around = ASKED.replace(Some(Vec::new()));
    let result = work();
    (result, ASKED.replace(around).or_bug())
}
