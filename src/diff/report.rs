//! Prints a diff as a report with one line for each change.

use std::collections::HashMap;
use std::fmt;

use crate::bug::OrBug;
use crate::message::{brief, counted, joined};
use crate::path::Path;
use crate::pattern::Pattern;

use super::change::{Change, ChangeKind, Diff};

/// The maximum number of lines after the heading, unless the format is `{:#}`.
const LINES: usize = 20;

/// The maximum number of changes that are read to make these lines.
const LOOKED_AT: usize = 1 << 12;

/// The number of equal changes from which one line stands for all. Two changes still get a line
/// each.
const FOLDED: usize = 3;

/// The same change at several paths that differ only in indices is one line from three on, with
/// `[*]` for the indices that differ: ``~ .l[*].w: 1 → 2 (×40)``.
impl<T: fmt::Display> fmt::Display for Diff<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.changes.len();
        if count == 0 {
            return f.write_str("no changes");
        }
        f.write_str(&counted(count, "change", "changes"))?;
        let looked_at = if f.alternate() { count } else { LOOKED_AT.min(count) };
        let lines = lines(self.changes.get(..looked_at).or_bug());
        let all = f.alternate() || lines.len() <= LINES && looked_at == count;
        let shown = if all { lines.len() } else { LINES - 1 };
        let mut rest = count;
        for changes in lines.iter().take(shown) {
            rest -= changes.len();
            match &changes[..] {
                [change] => write!(f, "\n{change}")?,
                changes => write!(f, "\n{}", folded(changes))?,
            }
        }
        match rest {
            0 => Ok(()),
            rest => write!(f, "\n… and {rest} more"),
        }
    }
}

/// The changes of each line, in the order of the first.
fn lines<T: fmt::Display>(changes: &[Change<T>]) -> Vec<Vec<&Change<T>>> {
    let lines = changes.iter().map(|change| {
        let general =
            |path: &Path| Pattern::with_indices(path, &vec![None; path.keys().len()]).to_string();
        // The texts may differ after the part that is shown.
        Some(change.line(&general(&change.path), general)).filter(|line| !line.contains('…'))
    });
    let groups = alike(lines).into_iter();
    groups.map(|places| places.into_iter().map(|at| &changes[at]).collect()).collect()
}

/// The places of lines in groups: equal lines, if there are at least three, and each other
/// place alone. They are in the order of their first places.
pub fn alike(lines: impl IntoIterator<Item = Option<String>>) -> Vec<Vec<usize>> {
    let mut known = HashMap::<String, usize>::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, line) in lines.into_iter().enumerate() {
        let group = line.map_or(at, |line| *known.entry(line).or_insert(at));
        groups.push(Vec::new());
        groups[group].push(at); // at most the last
    }
    for at in 0..groups.len() {
        if (2..FOLDED).contains(&groups[at].len()) {
            for other in groups[at].split_off(1) {
                groups[other].push(other); // a place of a line
            }
        }
    }
    groups.retain(|group| !group.is_empty());
    groups
}

/// The line of several changes.
fn folded<T: fmt::Display>(changes: &[&Change<T>]) -> String {
    let alike = |paths: Vec<Path>| {
        Pattern::of_alike(&paths).map_or_else(String::new, |pattern| pattern.to_string())
    };
    let path = alike(changes.iter().map(|change| change.path.clone()).collect());
    let places = changes.iter().fold(0usize, |all, change| all.saturating_add(change.places()));
    let line = changes.first().map_or_else(String::new, |first| {
        first.line(&path, |to| {
            let key = to.keys().last();
            let paths = changes.iter().filter_map(|it| Some(it.path.parent()?.child(key?.clone())));
            alike(paths.collect())
        })
    });
    format!("{line} (×{places})")
}

impl<T: fmt::Display> Change<T> {
    /// `- path: removed`, `+ path: added`, `~ path: old → new`. `text_of` prints the path of a
    /// renamed child.
    fn line(&self, path: &str, text_of: impl FnOnce(&Path) -> String) -> String {
        match &self.kind {
            ChangeKind::Removed(old) => format!("- {path}: {}", brief(old)),
            ChangeKind::Added { new, .. } => format!("+ {path}: {}", brief(new)),
            ChangeKind::Replaced { old, new, .. } => {
                format!("~ {path}: {} → {}", brief(old), brief(new))
            }
            ChangeKind::Renamed { to } => {
                let above = self.path.parent().or_bug();
                format!("~ {path} is now {}", text_of(&above.child(to.clone())))
            }
            ChangeKind::Retyped { old, new } => format!("~ {path}: type `{old}` → `{new}`"),
            ChangeKind::Reordered { keys } => {
                format!("~ {path}: now in the order {}", brief(&joined(keys, " ")))
            }
        }
    }
}

/// One line.
impl<T: fmt::Display> fmt::Display for Change<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_root() { "the root".to_owned() } else { self.path.brief() };
        f.write_str(&self.line(&path, Path::brief))?;
        match self.places() {
            1 => Ok(()),
            places => write!(f, ", and {} more like it", places - 1),
        }
    }
}
