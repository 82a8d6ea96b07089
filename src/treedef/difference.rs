//! Finds the places where two trees or structures differ.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use crate::error::{Difference, DifferenceKind, Error, ErrorKind, Result, counted};
use crate::leaf::float::widen;
use crate::model::{Array, Leaf, Name, NodeKind, Options, Tree, TreeDef, Value};
use crate::path::{Key, Path};
use crate::treedef::node_ref::NodeRef;
use crate::treedef::text::brief;

/// A node, with the leaves of its tree if they are compared.
#[derive(Clone, Copy)]
struct Side<'a> {
    node: NodeRef<'a>,
    leaves: Option<SideLeaves<'a>>,
    /// Whether the node is inside a static or an opaque leaf. These have no options.
    inside: bool,
}

/// The leaves of a tree, or the scalars of a value.
#[derive(Clone, Copy)]
enum SideLeaves<'a> {
    Tree(&'a [Leaf]),
    Value(&'a Value),
}

/// A task of the comparison. Tasks are in pre-order, and the next is last.
struct Pending<'a> {
    /// The number of keys in the path of the parent, and the next key if the task is about a child.
    above: usize,
    key: Option<Key>,
    what: What<'a>,
}

enum What<'a> {
    Compare(Side<'a>, Side<'a>),
    /// A difference: its kind, what was expected, and what was found.
    Report(DifferenceKind, String, String),
    /// Pairs without leaves that equal an earlier pair, and how many differences there were before
    /// that pair was compared.
    Alike(Alike<'a>, usize),
}

/// Neighbouring pairs of children that are equal apart from their leaves.
#[derive(Clone, Copy)]
struct Alike<'a> {
    parent: NodeRef<'a>,
    /// The index of the first pair.
    position: usize,
    a: Side<'a>,
    b: Side<'a>,
    count: usize,
}

/// What is a difference, besides kinds, labels, variants and lengths.
struct Comparison {
    /// Whether the names of types are compared.
    names: bool,
    /// Whether the values of statics are compared.
    statics: bool,
    /// Whether the trees have this option.
    none_is_leaf: bool,
    /// Whether an `f64` equals the `f32` that it was widened from.
    widened: bool,
    /// Whether an expected leaf matches any subtree.
    prefix: bool,
    /// Whether a sequence differs from a tuple, and a map from a struct.
    exact: bool,
    /// A `Some` may be around a node on one side only.
    any_some: bool,
    /// The current path.
    path: Path,
    differences: Vec<Difference>,
}

/// All places where `found` differs from `expected`, including leaves, in the order of `expected`.
///
/// The names of types are ignored, and so is whether a value is static or an opaque leaf. If two
/// nodes have different kinds, their children are not compared: that is one difference.
pub(crate) fn tree_differences(
    expected: &Tree<Leaf>,
    found: &Tree<Leaf>,
    widened: bool,
) -> Vec<Difference> {
    Comparison { widened, ..Comparison::of_values() }.run_trees(expected, found)
}

/// As [`tree_differences`], for what a type made of the tree: a map may be a struct, a sequence a
/// tuple, and a `Some` may be around a value on one side only.
pub(crate) fn migration_differences(
    expected: &Tree<Leaf>,
    found: &Tree<Leaf>,
    widened: bool,
) -> Vec<Difference> {
    Comparison { widened, exact: false, any_some: true, ..Comparison::of_values() }
        .run_trees(expected, found)
}

/// All places where `found` differs from `expected`, without leaves. Of equal siblings that differ
/// in the same way, only the first is reported.
#[cold]
pub(crate) fn structure_differences(
    expected: &TreeDef,
    found: &TreeDef,
    ignore_statics: bool,
) -> Vec<Difference> {
    let comparison = Comparison { statics: !ignore_statics, ..Comparison::of_structures() };
    comparison.run(Side::of(expected.root()), Side::of(found.root()))
}

/// All places where `prefix` is not a prefix of `full`.
#[cold]
pub(crate) fn prefix_differences(prefix: NodeRef<'_>, full: NodeRef<'_>) -> Vec<Difference> {
    let comparison = Comparison { prefix: true, ..Comparison::of_structures() };
    comparison.run(Side::of(prefix), Side::of(full))
}

/// All places where `found` differs from `expected`, except in kinds of containers and type names.
#[cold]
pub(crate) fn loose_differences(expected: &TreeDef, found: &TreeDef) -> Vec<Difference> {
    let comparison = Comparison { names: false, exact: false, ..Comparison::of_structures() };
    comparison.run(Side::of(expected.root()), Side::of(found.root()))
}

/// Returns an error if there are differences.
pub(crate) fn expect_none(differences: Vec<Difference>) -> Result<()> {
    if differences.is_empty() { Ok(()) } else { Err(structure_mismatch(differences)) }
}

/// The error for a list of differences. Its path is that of the first.
#[cold]
pub(crate) fn structure_mismatch(differences: Vec<Difference>) -> Error {
    let first = differences.first();
    let path = first.map(|first| first.path.clone()).unwrap_or_default();
    Error::from(ErrorKind::Structure(differences)).at(path)
}

/// The error for two nodes that differ, without comparing their children.
#[cold]
pub(crate) fn mismatch_at(path: Path, expected: NodeRef<'_>, found: NodeRef<'_>) -> Error {
    let report = |Pending { key, what, .. }| match what {
        What::Report(kind, expected, found) => {
            let path = key.map_or_else(|| path.clone(), |key| path.child(key));
            Some(differ(path, kind, expected, found))
        }
        What::Compare(..) | What::Alike(..) => None,
    };
    let (a, b) = (Side::of(expected), Side::of(found));
    let differences = match Comparison::of_structures().head_difference(expected, found) {
        Some(kind) => vec![differ(path, kind, quoted(expected), quoted(found))],
        None if expected.fields().is_empty() && expected.entry_keys().is_empty() => {
            vec![differ(path, DifferenceKind::Length, children(expected), children(found))]
        }
        None => compare_labelled(0, a, b, true).into_iter().filter_map(report).collect(),
    };
    structure_mismatch(differences)
}

/// The error for two treedefs with different options.
#[cold]
pub(crate) fn options_mismatch(expected: Options, found: Options) -> Error {
    let print = |options: Options| match options == Options::default() {
        true => "no options".to_owned(),
        false => format!("`{options}`"),
    };
    let (path, kind) = (Path::root(), DifferenceKind::Options);
    let error = structure_mismatch(vec![differ(path, kind, print(expected), print(found))]);
    error.with_hint(match expected.none_is_leaf == found.none_is_leaf {
        true => "use one `Flattener` for both",
        false => {
            "one was flattened with `none_is_leaf`, the other without: use one `Flattener` for both"
        }
    })
}

/// The maximum number of listed differences between structures. Small ones may have 2⁶⁰.
const MOST: usize = 1 << 12;

impl Comparison {
    fn of_structures() -> Self {
        Comparison {
            names: true,
            statics: true,
            none_is_leaf: false,
            widened: false,
            prefix: false,
            exact: true,
            any_some: false,
            path: Path::root(),
            differences: Vec::new(),
        }
    }

    fn of_values() -> Self {
        Comparison { names: false, ..Comparison::of_structures() }
    }

    fn run_trees(mut self, expected: &Tree<Leaf>, found: &Tree<Leaf>) -> Vec<Difference> {
        fn side(tree: &Tree<Leaf>) -> Side<'_> {
            Side { leaves: Some(SideLeaves::Tree(&tree.leaves)), ..Side::of(tree.treedef.root()) }
        }
        self.none_is_leaf = expected.treedef.encoding.options.none_is_leaf;
        self.run(side(expected), side(found))
    }

    fn run(mut self, expected: Side<'_>, found: Side<'_>) -> Vec<Difference> {
        let mut pending =
            vec![Pending { above: 0, key: None, what: What::Compare(expected, found) }];
        while let Some(Pending { above, key, what }) = pending.pop() {
            if expected.leaves.is_none() && self.differences.len() >= MOST {
                break;
            }
            self.path.0.truncate(above);
            self.path.0.extend(key);
            let depth = self.path.0.len();
            let (a, b) = match what {
                What::Compare(a, b) => (a.seen(), b.seen()),
                What::Report(kind, expected, found) => {
                    self.report(kind, expected, found);
                    continue;
                }
                What::Alike(alike, before) => {
                    if self.differences.len() > before {
                        let (first, rest) = alike.split(above, self.differences.len());
                        pending.extend(rest.into_iter().chain([first]));
                    }
                    continue;
                }
            };
            if a.is_none() && b.is_none() || self.prefix && a.node.kind() == NodeKind::Leaf {
                continue;
            }
            if let Some((a, b)) = self.without_some(a, b) {
                pending.push(Pending { above: depth, key: None, what: What::Compare(a, b) });
                continue;
            }
            let (node, other) = (a.node, b.node);
            if let Some(kind) = self.head_difference(node, other) {
                self.report(kind, quoted(node), quoted(other));
                if kind != DifferenceKind::Name {
                    continue;
                }
            }
            match node.kind() {
                NodeKind::Leaf => self.compare_leaves(a, b),
                NodeKind::Struct | NodeKind::StructVariant | NodeKind::Map => {
                    let below = compare_labelled(depth, a, b, self.exact);
                    pending.extend(below.into_iter().rev());
                }
                _ => {
                    let below = compare_listed(depth, a, b, self.differences.len());
                    pending.extend(below.into_iter().rev());
                }
            }
        }
        self.differences
    }

    fn report(&mut self, kind: DifferenceKind, expected: String, found: String) {
        self.differences.push(differ(self.path.clone(), kind, expected, found));
    }

    fn compare_leaves(&mut self, a: Side<'_>, b: Side<'_>) {
        let (Some(expected), Some(found)) = (a.leaf(), b.leaf()) else { return };
        if expected != found && !(self.widened && is_widened(&expected, &found)) {
            self.report(DifferenceKind::Leaf, quoted_leaf(&expected), quoted_leaf(&found));
        }
    }

    /// How two nodes differ, apart from their children.
    fn head_difference(&self, node: NodeRef<'_>, other: NodeRef<'_>) -> Option<DifferenceKind> {
        if !self.same_kind(node.kind(), other.kind()) {
            Some(DifferenceKind::Node)
        } else if self.names && node.name() != other.name() {
            Some(DifferenceKind::Name)
        } else if node.variant() != other.variant() {
            Some(DifferenceKind::Variant)
        } else if self.statics && node.static_value() != other.static_value() {
            Some(DifferenceKind::Static)
        } else {
            None
        }
    }

    fn same_kind(&self, a: NodeKind, b: NodeKind) -> bool {
        use NodeKind as Is;
        let class = |kind| match kind {
            Is::Tuple | Is::TupleStruct => Is::Seq,
            Is::Struct => Is::Map,
            Is::UnitStruct => Is::Unit,
            other => other,
        };
        a == b || !self.exact && class(a) == class(b)
    }

    /// With `none_is_leaf`, `None` is a leaf, but a node inside a static. So a `Some` that is only
    /// on one side is skipped.
    fn without_some<'a>(&self, a: Side<'a>, b: Side<'a>) -> Option<(Side<'a>, Side<'a>)> {
        let inside = self.none_is_leaf && (a.inside || b.inside);
        if !inside && !self.any_some {
            return None;
        }
        match (a.node.kind(), b.node.kind()) {
            (NodeKind::Some, NodeKind::Some) => None,
            (NodeKind::Some, _) => Some((a.child(a.node.child(0)?), b)),
            (_, NodeKind::Some) => Some((a, b.child(b.node.child(0)?))),
            _ => None,
        }
    }
}

impl<'a> Side<'a> {
    fn of(node: NodeRef<'a>) -> Self {
        Side { node, leaves: None, inside: false }
    }

    fn leaf(self) -> Option<Cow<'a, Leaf>> {
        let index = Some(self.node.first_leaf()).filter(|_| self.node.is_leaf())?;
        match self.leaves? {
            SideLeaves::Tree(leaves) => leaves.get(index).map(Cow::Borrowed),
            SideLeaves::Value(value) => value.scalar(index).map(|leaf| Cow::Owned(leaf.into())),
        }
    }

    /// Returns the value inside a static or an opaque leaf. If leaves are compared, it does not
    /// matter where a value is kept.
    fn seen(self) -> Self {
        let value = match self.leaf() {
            Some(Cow::Borrowed(Leaf::Opaque(value))) => Some(&**value),
            _ => self.node.static_value().filter(|_| self.leaves.is_some()),
        };
        match value {
            Some(value) => {
                Side { node: value.root(), leaves: Some(SideLeaves::Value(value)), inside: true }
            }
            None => self,
        }
    }

    /// Whether this is `None`, as a node or as a leaf.
    fn is_none(self) -> bool {
        self.node.kind() == NodeKind::None || self.leaf().as_deref() == Some(&Leaf::None)
    }

    fn child(self, node: NodeRef<'a>) -> Self {
        Side { node, ..self }
    }

    fn entries(self) -> impl Iterator<Item = (Key, Side<'a>)> {
        self.node.entries().map(move |(key, child)| (key, self.child(child)))
    }
}

/// Compares children by their fields or keys. `above` is the length of the path to the nodes.
fn compare_labelled<'a>(above: usize, a: Side<'a>, b: Side<'a>, exact: bool) -> Vec<Pending<'a>> {
    let nothing = || "nothing".to_owned();
    let label = |key: &Key| match key {
        Key::Entry(text) if !exact && text.as_str().is_some() => {
            Key::Field(Name::from(text.as_str().unwrap_or_default().to_owned()))
        }
        key => key.clone(),
    };
    // A map may contain a key twice. The first is then compared with the first, and so on.
    let mut others: HashMap<Key, VecDeque<Side<'a>>> = HashMap::new();
    b.entries().for_each(|(key, other)| others.entry(label(&key)).or_default().push_back(other));
    let mut pending = Vec::new();
    for (key, child) in a.entries() {
        let other = others.get_mut(&label(&key)).and_then(VecDeque::pop_front);
        let what = match other {
            Some(other) => What::Compare(child, other),
            None => What::Report(DifferenceKind::Missing, quoted(child.node), nothing()),
        };
        pending.push(Pending { above, key: Some(key), what });
    }
    let listed = |side: Side<'_>| {
        let keys: Vec<String> = side.entries().map(|(key, _)| key.to_string()).collect();
        format!("`{}`", keys.join("`, `"))
    };
    let matched = others.values().all(VecDeque::is_empty) && pending.len() == b.node.num_children();
    if exact && a.leaves.is_none() && matched && !a.node.same_labels(b.node) {
        let what = What::Report(DifferenceKind::Order, listed(a), listed(b));
        pending.insert(0, Pending { above, key: None, what });
    }
    for (key, _) in b.entries() {
        if let Some(other) = others.get_mut(&label(&key)).and_then(VecDeque::pop_front) {
            let what = What::Report(DifferenceKind::Extra, nothing(), quoted(other.node));
            pending.push(Pending { above, key: Some(key), what });
        }
    }
    pending
}

impl<'a> Alike<'a> {
    /// The task for the first pair, and a task for the remaining pairs if the first pair differs.
    fn split(self, above: usize, differences: usize) -> (Pending<'a>, Option<Pending<'a>>) {
        let Alike { parent, position, a, b, count } = self;
        let next = |side: Side<'a>| side.child(side.node.later(1));
        let rest =
            Alike { position: position + 1, a: next(a), b: next(b), count: count - 1, ..self };
        let rest = (count > 1).then_some(Pending {
            above,
            key: None,
            what: What::Alike(rest, differences),
        });
        let key = Some(parent.key(position).unwrap_or(Key::Position(position)));
        (Pending { above, key, what: What::Compare(a, b) }, rest)
    }
}

/// Compares children by position. `differences` is the number of differences found before.
fn compare_listed<'a>(
    above: usize,
    a: Side<'a>,
    b: Side<'a>,
    differences: usize,
) -> Vec<Pending<'a>> {
    let mut pending = Vec::new();
    if a.node.num_children() != b.node.num_children() {
        let what = What::Report(DifferenceKind::Length, children(a.node), children(b.node));
        pending.push(Pending { above, key: None, what });
    }
    let mut position = 0;
    for (child, found, alike) in a.node.overlaps(b.node) {
        let (parent, first, second) = (a.node, a.child(child), b.child(found));
        // If leaves are not compared, only the first pair is.
        let count = if a.leaves.is_some() { alike } else { 1 };
        let pairs = Alike { parent, position, a: first, b: second, count };
        match child.num_leaves() == 0 && found.num_leaves() == 0 {
            true => {
                let (first, rest) = pairs.split(above, differences);
                pending.push(first);
                pending.extend(rest);
            }
            false => pending.extend((0..count).map(|skip| {
                let (a, b) = (a.child(child.later(skip)), b.child(found.later(skip)));
                let key = parent.key(position + skip).unwrap_or(Key::Position(position + skip));
                Pending { above, key: Some(key), what: What::Compare(a, b) }
            })),
        }
        position += alike;
    }
    pending
}

/// An `f32` that was flattened into `f64` leaves.
pub(crate) fn is_widened(wide: &Leaf, narrow: &Leaf) -> bool {
    match (wide, narrow) {
        (Leaf::F64(wide), Leaf::F32(narrow)) => wide.to_bits() == widen(*narrow).to_bits(),
        _ => false,
    }
}

fn differ(path: Path, kind: DifferenceKind, expected: String, found: String) -> Difference {
    Difference { path, kind, expected, found }
}

fn quoted(node: NodeRef<'_>) -> String {
    format!("`{}`", node.brief())
}

fn children(node: NodeRef<'_>) -> String {
    counted(node.num_children(), "child", "children")
}

/// The literal of a leaf, cut off if it is long. A long array is its type, shape and statistics.
fn quoted_leaf(leaf: &Leaf) -> String {
    let words = leaf.as_array().and_then(Array::in_few_words);
    format!("`{}`", words.unwrap_or_else(|| brief(leaf)))
}
