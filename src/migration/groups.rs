//! Groups equal changes of a migration.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;

use crate::bug::OrBug;
use crate::error::Difference;
use crate::message::joined;
use crate::path::Path;
use crate::pattern::{Pattern, generalised, keep_common};

use super::report::Migration;

/// The fate of a part of a tree: the lists of a [`Migration`].
#[derive(Clone, Copy, PartialEq)]
enum MigrationKind {
    Filled,
    Dropped,
    Renamed,
    Changed,
}

/// Entries of one list of a [`Migration`] whose paths differ only in indices.
///
/// It prints as one line, e.g. ``renamed `.l[*].w` to `.body[*].weight` (×40)``.
struct MigrationGroup {
    kind: MigrationKind,
    /// The paths in the tree, with `[*]` for the indices that differ. `None` for filled and changed
    /// entries.
    from: Option<Pattern>,
    /// The paths in the value. `None` for dropped entries.
    to: Option<Pattern>,
    /// The number of entries.
    count: usize,
    /// The first entry, in the list of changed leaves.
    first: Option<Difference>,
}

impl Migration {
    /// The entries of all lists, grouped if their paths differ only in indices.
    ///
    /// Entries with two paths are in one group only if their indices are the same on both sides:
    /// `.l[0].w` to `.body[0].weight` and `.l[1].w` to `.body[1].weight`.
    fn groups(&self) -> Vec<MigrationGroup> {
        use MigrationKind as Is;
        let one = |kind, paths: &[Path]| {
            let (from, to) = (kind == Is::Dropped, kind == Is::Filled);
            let path = |wanted: bool, path: &Path| Some(path.clone()).filter(|_| wanted);
            let entry =
                |it: &Path| MigrationEntry { from: path(from, it), to: path(to, it), about: () };
            grouped(kind, paths.iter().map(entry))
        };
        let two = |(from, to): &(Path, Path)| MigrationEntry {
            from: Some(from.clone()),
            to: Some(to.clone()),
            about: (),
        };
        let change = |it: &Difference| MigrationEntry {
            from: None,
            to: Some(it.path.clone()),
            about: (it.kind, it.expected.clone(), it.found.clone()),
        };
        let changed = grouped(Is::Changed, self.changed.iter().map(change));
        let changed = changed
            .into_iter()
            .map(|(at, group)| MigrationGroup { first: self.changed.get(at).cloned(), ..group });
        let groups = [
            one(Is::Filled, &self.filled),
            one(Is::Dropped, &self.dropped),
            grouped(Is::Renamed, self.renamed.iter().map(two)),
        ];
        groups.into_iter().flatten().map(|(_, group)| group).chain(changed).collect()
    }
}

/// An entry of a list. The entries of one group have equal `about`.
struct MigrationEntry<A> {
    from: Option<Path>,
    to: Option<Path>,
    about: A,
}

/// The entries of a group so far: the paths of the first entry, the indices of these that all
/// entries share, and the number of entries.
struct GroupEntries {
    first: usize,
    paths: [Option<Path>; 2],
    indices: Vec<Option<usize>>,
    count: usize,
}

/// The groups, each with the position of its first entry.
fn grouped<A: Eq + Hash>(
    kind: MigrationKind,
    entries: impl Iterator<Item = MigrationEntry<A>>,
) -> Vec<(usize, MigrationGroup)> {
    let (mut groups, mut known) = (Vec::<GroupEntries>::new(), HashMap::new());
    for (first, MigrationEntry { from, to, about }) in entries.enumerate() {
        let paths = [from, to];
        let parts = [0, 1].map(|side| paths[side].as_ref().map(generalised));
        let [indices, others] = [0, 1].map(|side| parts[side].as_ref().map(|(_, found)| found));
        // If the indices differ between the two paths, an entry does not describe every element.
        let own = match (indices, others) {
            (Some(a), Some(b)) if a != b => Some(first),
            _ => None,
        };
        let indices: Vec<Option<usize>> =
            indices.or(others).into_iter().flatten().map(|index| Some(*index)).collect();
        let general = parts.map(|part| part.map(|(path, _)| path));
        let at = *known.entry((general, about, own)).or_insert(groups.len());
        match groups.get_mut(at) {
            Some(alike) => {
                alike.count += 1;
                keep_common(&mut alike.indices, indices.into_iter().flatten());
            }
            None => groups.push(GroupEntries { first, paths, indices, count: 1 }),
        }
    }
    let group = |GroupEntries { first, paths, indices, count }: GroupEntries| {
        // A path with indices of its own belongs to one entry, so none is lost.
        let [from, to] = paths.map(|path| Some(Pattern::with_indices(&path?, &indices)));
        (first, MigrationGroup { kind, from, to, count, first: None })
    };
    groups.into_iter().map(group).collect()
}

impl MigrationKind {
    fn verb(self) -> &'static str {
        match self {
            MigrationKind::Filled => "filled",
            MigrationKind::Dropped => "dropped",
            MigrationKind::Renamed => "renamed",
            MigrationKind::Changed => "changed",
        }
    }
}

impl MigrationGroup {
    /// The line without its verb.
    fn rest(&self) -> String {
        let times = if self.count > 1 { format!(" (×{})", self.count) } else { String::new() };
        let place = |path: &Pattern| {
            if path.0.is_empty() { "the root".to_owned() } else { format!("`{path}`") }
        };
        let [from, to] = [&self.from, &self.to].map(|path| path.as_ref().map(place));
        let text = match (&self.first, from, to) {
            (Some(Difference { expected, found, .. }), _, to) => {
                format!("{expected} to {found} at {}", to.or_bug())
            }
            (None, Some(from), Some(to)) => format!("{from} to {to}"),
            (None, from, to) => from.or(to).or_bug(), // every entry has a path
        };
        text + &times
    }
}

impl fmt::Display for MigrationGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.verb(), self.rest())
    }
}

/// One line with the first few groups of each list; with `{:#}`, a line for each group.
impl fmt::Display for Migration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 3;
        let groups = self.groups();
        if f.alternate() {
            return f.write_str(&joined(&groups, "\n"));
        }
        let clause = |groups: &[MigrationGroup]| {
            let verb = groups.first().map_or("", |group| group.kind.verb());
            let shown = joined(groups.iter().take(SHOWN).map(MigrationGroup::rest), ", ");
            let listed = format!("{verb} {shown}");
            match groups.len().saturating_sub(SHOWN) {
                0 => listed,
                more => format!("{listed} and {more} more"),
            }
        };
        let clauses = groups.chunk_by(|a, b| a.kind == b.kind).map(clause);
        f.write_str(&joined(clauses, "; "))
    }
}
