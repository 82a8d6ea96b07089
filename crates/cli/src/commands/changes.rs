//! The changes of documents, and a line for each.

use std::fmt::Display;

use treedef::__private::OrBug;
use treedef::{Array, Change, ChangeKind, Diff, Leaf, Path, Pattern, Tolerance, Tree};

use crate::color::bare_numbers;
use crate::failure::Result;
use crate::numbers::exact;
use crate::paths::{leaf_at, readable, shown, shown_pattern, without_indices};
use crate::tensors::distance::ArrayDistance;
use crate::tensors::trees::{DocumentLeaf, has_arrays};

/// The changes of a diff. In a document, a child with another key is another child, because a
/// rename would be a guess. `part` is the old document at a path.
pub(super) fn without_renames<T: Clone>(
    diff: &Diff<T>,
    part: impl Fn(&Path) -> Option<T>,
) -> Vec<Change<T>> {
    let mut all = Vec::new();
    for change in &diff.changes {
        let renamed = match &change.kind {
            ChangeKind::Renamed { to } => Some(to).zip(part(&change.path)),
            _ => None,
        };
        let Some((to, it)) = renamed else {
            all.push(change.clone());
            continue;
        };
        let (mut removed, mut added) = (change.clone(), change.clone());
        added.path = change.path.parent().or_bug().child(to.clone());
        removed.kind = ChangeKind::Removed(it.clone());
        added.kind = ChangeKind::Added { position: 0, new: it };
        all.extend([removed, added]);
    }
    all
}

/// The new tree, with the old number wherever the two are close.
pub(super) fn snapped(
    old: &Tree<Leaf>,
    new: Tree<Leaf>,
    tolerance: Tolerance,
) -> Result<Tree<Leaf>> {
    if tolerance == Tolerance::default() {
        return Ok(new);
    }
    let snap = |old: &Leaf, leaf: Leaf| {
        if let (Some(was), Some(array)) = (old.as_array(), leaf.as_array()) {
            let is_close =
                ArrayDistance::between(was, array, tolerance).is_some_and(|far| far.count == 0);
            return if is_close { old.clone() } else { leaf };
        }
        let is_close = old != &leaf
            && leaf.kind().is_number()
            && Tree::leaf(leaf.clone()).check_close(&Tree::leaf(old.clone()), tolerance).is_ok();
        if is_close { old.clone() } else { leaf }
    };
    if old.treedef() == new.treedef() {
        let (treedef, leaves) = new.into_parts();
        let leaves = old.leaves().iter().zip(leaves).map(|(old, leaf)| snap(old, leaf)).collect();
        return Ok(Tree::new(treedef, leaves)?);
    }
    Ok(new.map_with_path(|path, leaf| match leaf_at(old, path) {
        Some(old) => snap(old, leaf),
        None => leaf,
    }))
}

/// One line for a change, with a readable path.
pub(super) fn line<T: Display>(change: &Change<T>) -> String {
    let text = change.to_string();
    if exact::is_printed(&text) {
        return line_of_numbers(change);
    }
    let path = change.path.to_string();
    match text.get(2..).and_then(|rest| rest.strip_prefix(&path)) {
        Some(rest) if !path.is_empty() => {
            format!("{}{}{rest}", text.get(..2).or_bug(), readable(&change.path))
        }
        _ => text,
    }
}

/// The line for a change with numbers that are kept as texts.
fn line_of_numbers<T: Display>(change: &Change<T>) -> String {
    let path = readable(&change.path);
    let brief = |part: &T| {
        let text = exact::printed(&part.to_string());
        match text.char_indices().nth(BRIEF) {
            Some((end, _)) => text.get(..end).or_bug().to_owned() + "…",
            None => text,
        }
    };
    match &change.kind {
        ChangeKind::Replaced { old, new, .. } => {
            format!("~ {path}: {} → {}", brief(old), brief(new))
        }
        ChangeKind::Removed(old) => format!("- {path}: {}", brief(old)),
        ChangeKind::Added { new, .. } => format!("+ {path}: {}", brief(new)),
        _ => change.to_string(),
    }
}

/// The maximum number of characters of a value in a line.
const BRIEF: usize = 60;

/// The lines of changes. The same change at several paths that differ only in indices is one line,
/// with `[*]` for the indices that differ.
/// `changes` has the path of each, and the number of its places.
pub(super) fn folded<'p>(
    changes: impl Iterator<Item = (&'p Path, usize)>,
    lines: &[String],
) -> Vec<String> {
    let changes: Vec<(&Path, usize)> = changes.collect();
    let general = changes.iter().zip(lines).map(|((path, places), line)| {
        // The texts may differ after the part that is shown.
        let is_whole = *places == 1 && !line.contains('…');
        let (sign, rest) = parted(line, path).filter(|_| is_whole)?;
        Some(format!("{sign}{}{rest}", without_indices(path)))
    });
    let one = |places: &[usize]| {
        let paths = places.iter().filter_map(|at| changes.get(*at)).map(|(path, _)| *path);
        let pattern = Pattern::of_alike(paths.clone())?;
        let (sign, rest) = parted(lines.get(*places.first()?)?, paths.clone().next()?)?;
        Some(format!("{sign}{}{rest} (×{})", shown_pattern(&pattern), places.len()))
    };
    let of_group = |places: Vec<usize>| match Some(&*places).filter(|it| it.len() > 1).and_then(one)
    {
        Some(line) => vec![line],
        None => places.iter().filter_map(|at| lines.get(*at).cloned()).collect(),
    };
    treedef::__private::alike(general).into_iter().flat_map(of_group).collect()
}

/// The text before and after the path in the line of a change.
fn parted<'l>(line: &'l str, path: &Path) -> Option<(&'l str, &'l str)> {
    let (sign, rest) = line.split_at_checked(2)?;
    Some((sign, rest.strip_prefix(&shown(path)).filter(|_| !path.is_root())?))
}

/// One line for a change. Arrays are not printed number by number.
pub(super) fn line_of_values<L: DocumentLeaf>(
    change: &Change<Tree<L>>,
    tolerance: Tolerance,
) -> String {
    let path = readable(&change.path);
    match &change.kind {
        ChangeKind::Replaced { old, new, .. } if has_arrays(old) || has_arrays(new) => {
            replaced(&path, old, new, far(old, new, tolerance).as_ref())
        }
        ChangeKind::Removed(old) if has_arrays(old) => format!("- {path}: {}", L::summary(old)),
        ChangeKind::Added { new, .. } if has_arrays(new) => {
            format!("+ {path}: {}", L::summary(new))
        }
        // If only the kind changed, the kinds are printed.
        ChangeKind::Replaced { old, new, .. }
            if bare_numbers(&old.to_string()) == bare_numbers(&new.to_string()) =>
        {
            line(change)
        }
        _ => bare_numbers(&line(change)),
    }
}

/// The line for a part that was replaced, where there are arrays.
pub(super) fn replaced<L: DocumentLeaf>(
    path: &str,
    old: &Tree<L>,
    new: &Tree<L>,
    far: Option<&ArrayDistance>,
) -> String {
    let Some(ArrayDistance { array, count, of, most }) = far else {
        return format!("~ {path}: {} → {}", L::summary(old), L::summary(new));
    };
    let differ = if *of == 1 { "1 number differs" } else { &format!("{of} numbers differ") };
    let most = most.as_ref().map_or_else(String::new, |(place, a, b)| {
        format!(", most at {}: {a} → {b}", readable(place))
    });
    format!("~ {path}: {array}: {count} of {differ}{most}")
}

/// The distance of two trees that are one array each.
pub(super) fn far<L: DocumentLeaf>(
    old: &Tree<L>,
    new: &Tree<L>,
    tolerance: Tolerance,
) -> Option<ArrayDistance> {
    fn array<L: DocumentLeaf>(tree: &Tree<L>) -> Option<&Array> {
        tree.leaves().first().filter(|_| tree.treedef().root().is_leaf())?.as_array()
    }
    ArrayDistance::between(array(old)?, array(new)?, tolerance)
}
