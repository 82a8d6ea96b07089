//! The options of the walk that made a treedef.

use std::fmt;

use crate::error::{Difference, DifferenceKind, Error};
use crate::message::joined;
use crate::model::Options;
use crate::path::Path;

/// `#[insertion]`, or nothing.
impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (self.insertion, "insertion"),
            (self.none_is_leaf, "none_is_leaf"),
            (self.compact, "compact"),
        ];
        let set = joined(names.iter().filter(|(set, _)| *set).map(|(_, name)| name), ", ");
        if set.is_empty() { Ok(()) } else { write!(f, "#[{set}]") }
    }
}

/// The error for two treedefs with different options.
#[cold]
pub(crate) fn options_mismatch(expected: Options, found: Options) -> Error {
    let print = |options: Options| {
        if options == Options::default() { "no options".to_owned() } else { format!("`{options}`") }
    };
    let difference = Difference {
        path: Path::root(),
        kind: DifferenceKind::Options,
        expected: print(expected),
        found: print(found),
    };
    let only_none = Options { none_is_leaf: !found.none_is_leaf, ..found } == expected;
    Error::structure(vec![difference]).with_hint(if only_none {
        "one was flattened with `none_is_leaf`, the other without: use one `Flattener` for both"
    } else {
        "use one `Flattener` for both"
    })
}
