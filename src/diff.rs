//! Where two trees differ.

use crate::error::Difference;
use crate::model::{Leaf, NodeKind, Tree};
use crate::node::NodeRef;
use crate::path::{Key, Path};

/// All places in which `found` differs from `expected`, in the order of `expected`. The names of types do not count.
///
/// Below a node of another kind there is nothing to compare, so that is one difference.
pub(crate) fn differences(expected: &Tree<Leaf>, found: &Tree<Leaf>) -> Vec<Difference> {
    let mut differences = Vec::new();
    let mut pending = vec![(Path::root(), expected.treedef.root(), found.treedef.root())];
    while let Some((path, a, b)) = pending.pop() {
        let differs =
            |expected: String, found: String| Difference { path: path.clone(), expected, found };
        if a.kind() != b.kind()
            || a.variant() != b.variant()
            || a.static_value() != b.static_value()
        {
            differences.push(differs(quoted(a), quoted(b)));
            continue;
        }
        match a.kind() {
            NodeKind::Leaf => {
                let leaves =
                    (expected.leaves.get(a.first_leaf()), found.leaves.get(b.first_leaf()));
                if let (Some(a), Some(b)) = leaves
                    && a != b
                {
                    differences.push(differs(brief(a), brief(b)));
                }
            }
            NodeKind::Struct | NodeKind::StructVariant | NodeKind::Map => {
                labelled(&path, a, b, &mut differences, &mut pending);
            }
            _ => {
                if a.num_children() != b.num_children() {
                    differences.push(differs(children(a), children(b)));
                }
                let shared = a.children().zip(b.children()).enumerate().collect::<Vec<_>>();
                pending.extend(shared.into_iter().rev().map(|(position, (child, other))| {
                    (a.key(position).map_or_else(Path::root, |key| path.child(key)), child, other)
                }));
            }
        }
    }
    differences
}

/// Compares children by their fields or keys.
fn labelled<'a>(
    path: &Path,
    a: NodeRef<'a>,
    b: NodeRef<'a>,
    differences: &mut Vec<Difference>,
    pending: &mut Vec<(Path, NodeRef<'a>, NodeRef<'a>)>,
) {
    let keys =
        |node: NodeRef<'a>| (0..node.num_children()).filter_map(move |position| node.key(position));
    let differs = |key: &Key, expected: String, found: String| Difference {
        path: path.child(key.clone()),
        expected,
        found,
    };
    let nothing = || "nothing".to_owned();
    let mut shared = Vec::new();
    for (key, child) in keys(a).zip(a.children()) {
        match b.child_at(&key) {
            Some(other) => shared.push((path.child(key), child, other)),
            None => differences.push(differs(&key, quoted(child), nothing())),
        }
    }
    for (key, child) in keys(b).zip(b.children()) {
        if a.position(&key).is_none() {
            differences.push(differs(&key, nothing(), quoted(child)));
        }
    }
    pending.extend(shared.into_iter().rev());
}

fn quoted(node: NodeRef<'_>) -> String {
    format!("`{}`", node.brief())
}

fn children(node: NodeRef<'_>) -> String {
    format!("{} children", node.num_children())
}

/// A leaf as its literal, cut off where it gets long.
fn brief(leaf: &Leaf) -> String {
    let text = leaf.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("`{}…`", text.get(..end).unwrap_or_default()),
        None => format!("`{text}`"),
    }
}
