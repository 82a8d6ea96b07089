//! Prints a diff as a report with one line for each change.

use std::fmt;

use crate::message::counted;
use crate::path::Key;
use crate::treedef::text::brief;

use super::{Change, ChangeKind, Diff};

/// The maximum number of lines after the heading, unless the format is `{:#}`.
const LINES: usize = 20;

impl<T: fmt::Display> fmt::Display for Diff<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.changes.len();
        let shown = if f.alternate() || count <= LINES { count } else { LINES - 1 };
        if count == 0 {
            return f.write_str("no changes");
        }
        f.write_str(&counted(count, "change", "changes"))?;
        for change in self.changes.iter().take(shown) {
            write!(f, "\n{change}")?;
        }
        match count - shown {
            0 => Ok(()),
            rest => write!(f, "\n… and {rest} more"),
        }
    }
}

/// `- path: removed`, `+ path: added`, `~ path: old → new`.
impl<T: fmt::Display> fmt::Display for Change<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_root() { "the root".to_owned() } else { self.path.brief() };
        match &self.kind {
            ChangeKind::Removed(old) => write!(f, "- {path}: {}", brief(old))?,
            ChangeKind::Added { new, .. } => write!(f, "+ {path}: {}", brief(new))?,
            ChangeKind::Replaced { old, new, .. } => {
                write!(f, "~ {path}: {} → {}", brief(old), brief(new))?;
            }
            ChangeKind::Renamed { to } => {
                let above = self.path.parent().unwrap_or_default();
                write!(f, "~ {path} is now {}", above.child(to.clone()).brief())?;
            }
            ChangeKind::Retyped { old, new } => {
                write!(f, "~ {path}: type `{old}` → `{new}`")?;
            }
            ChangeKind::Reordered { keys } => {
                let keys: Vec<String> = keys.iter().map(Key::to_string).collect();
                write!(f, "~ {path}: now in the order {}", brief(&keys.join(" ")))?;
            }
        }
        match self.places() {
            1 => Ok(()),
            places => write!(f, ", and {} more like it", places - 1),
        }
    }
}
