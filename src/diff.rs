//! Where two trees differ.

use std::collections::{HashMap, VecDeque};

use crate::error::{Difference, Error, ErrorKind, counted};
use crate::model::{Leaf, NodeKind, Tree, TreeDef};
use crate::node::NodeRef;
use crate::path::{Key, Path};

/// A path, and what two trees have there.
type Place<'a> = (Path, NodeRef<'a>, NodeRef<'a>);

/// What counts as a difference beside kinds, labels, variants, statics and lengths.
struct Comparison<'l> {
    /// The names of types.
    names: bool,
    /// The leaves of both.
    leaves: Option<(&'l [Leaf], &'l [Leaf])>,
    differences: Vec<Difference>,
}

/// All places in which `found` differs from `expected`, leaves included, in the order of `expected`. The names of types
/// do not count.
///
/// Below a node of another kind there is nothing to compare, so that is one difference.
pub(crate) fn tree_differences(expected: &Tree<Leaf>, found: &Tree<Leaf>) -> Vec<Difference> {
    let leaves = Some((expected.leaves(), found.leaves()));
    let comparison = Comparison { names: false, leaves, differences: Vec::new() };
    comparison.run(expected.treedef.root(), found.treedef.root())
}

/// The error that says where `found` differs from `expected`; of equal neighbours that differ alike, the first.
#[cold]
pub(crate) fn structure_error(expected: &TreeDef, found: &TreeDef) -> Error {
    let comparison = Comparison { names: true, leaves: None, differences: Vec::new() };
    structure_mismatch(comparison.run(expected.root(), found.root()))
}

pub(crate) fn structure_mismatch(differences: Vec<Difference>) -> Error {
    let first = differences.first();
    let path = first.map(|first| first.path.clone()).unwrap_or_default();
    let is_static = |side: &String| side.starts_with("`static ");
    let statics = first.is_some_and(|first| is_static(&first.expected) && is_static(&first.found));
    let error = Error::from(ErrorKind::Structure(differences)).at(path);
    match statics {
        true => error.hint("statics are part of the structure; see `ignore_statics`"),
        false => error,
    }
}

impl Comparison<'_> {
    fn run(mut self, expected: NodeRef<'_>, found: NodeRef<'_>) -> Vec<Difference> {
        let mut pending = vec![(Path::root(), expected, found)];
        while let Some((path, a, b)) = pending.pop() {
            let same_type = !self.names || a.name() == b.name();
            if !same_type
                || a.kind() != b.kind()
                || a.variant() != b.variant()
                || a.static_value() != b.static_value()
            {
                self.report(path, quoted(a), quoted(b));
                continue;
            }
            let below = match a.kind() {
                NodeKind::Leaf => self.leaf(path, a, b),
                NodeKind::Struct | NodeKind::StructVariant | NodeKind::Map => {
                    self.labelled(&path, a, b)
                }
                _ => self.listed(&path, a, b),
            };
            pending.extend(below.into_iter().rev());
        }
        self.differences
    }

    fn report(&mut self, path: Path, expected: String, found: String) {
        self.differences.push(Difference { path, expected, found });
    }

    fn leaf<'a>(&mut self, path: Path, a: NodeRef<'a>, b: NodeRef<'a>) -> Vec<Place<'a>> {
        if let Some((expected, found)) = self.leaves
            && let (Some(a), Some(b)) = (expected.get(a.first_leaf()), found.get(b.first_leaf()))
            && a != b
        {
            self.report(path, brief(a), brief(b));
        }
        Vec::new()
    }

    /// Compares children by their fields or keys.
    fn labelled<'a>(&mut self, path: &Path, a: NodeRef<'a>, b: NodeRef<'a>) -> Vec<Place<'a>> {
        let entries = |node: NodeRef<'a>| {
            let keys = (0..node.num_children()).filter_map(move |position| node.key(position));
            keys.zip(node.children())
        };
        let nothing = || "nothing".to_owned();
        // A map may hold a key twice: then the first goes with the first, and so on.
        let mut others: HashMap<Key, VecDeque<NodeRef<'a>>> = HashMap::new();
        entries(b).for_each(|(key, other)| others.entry(key).or_default().push_back(other));
        let mut shared = Vec::new();
        for (key, child) in entries(a) {
            match others.get_mut(&key).and_then(VecDeque::pop_front) {
                Some(other) => shared.push((path.child(key), child, other)),
                None => self.report(path.child(key), quoted(child), nothing()),
            }
        }
        for (key, _) in entries(b) {
            if let Some(other) = others.get_mut(&key).and_then(VecDeque::pop_front) {
                self.report(path.child(key), nothing(), quoted(other));
            }
        }
        shared
    }

    /// Compares children by their positions.
    fn listed<'a>(&mut self, path: &Path, a: NodeRef<'a>, b: NodeRef<'a>) -> Vec<Place<'a>> {
        if a.num_children() != b.num_children() {
            self.report(path.clone(), children(a), children(b));
        }
        let at = |position: usize| path.child(a.key(position).unwrap_or(Key::Position(position)));
        if self.leaves.is_some() {
            let pairs = a.children().zip(b.children()).enumerate();
            return pairs.map(|(position, (child, other))| (at(position), child, other)).collect();
        }
        // Where two runs overlap, all pairs are alike.
        let (mut runs, mut others) = (a.runs(), b.runs());
        let (mut run, mut other) = (runs.next(), others.next());
        let (mut position, mut pairs) = (0, Vec::new());
        while let (Some((child, left)), Some((found, remaining))) = (run, other) {
            pairs.push((at(position), child, found));
            let alike = left.min(remaining);
            position += alike;
            run = if left > alike { Some((child, left - alike)) } else { runs.next() };
            other =
                if remaining > alike { Some((found, remaining - alike)) } else { others.next() };
        }
        pairs
    }
}

fn quoted(node: NodeRef<'_>) -> String {
    format!("`{}`", node.brief())
}

fn children(node: NodeRef<'_>) -> String {
    counted(node.num_children(), "child", "children")
}

/// A leaf as its literal, cut off where it gets long.
fn brief(leaf: &Leaf) -> String {
    let text = leaf.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("`{}…`", text.get(..end).unwrap_or_default()),
        None => format!("`{text}`"),
    }
}
