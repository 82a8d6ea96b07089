//! A smoke test: everything that can be done with a treedef, done, in bounded memory.
//!
//! A `drop(…)` means that either outcome is right for some treedef. Other tests check the outcomes for
//! known treedefs. This one asserts the properties that hold for every treedef.

use std::collections::HashSet;
use std::fmt::{self, Write};
use std::hash::{BuildHasher, RandomState};

use allocation_counter::measure;
use serde::de::IgnoredAny;
use treedef::{Edit, Flattener, Leaf, Limits, NodeRef, Path, Tree, TreeDef, Value};

use crate::layout::Loaded;

pub(crate) const MIB: u64 = 1 << 20;

/// Runs something that may hold a MiB and 16 bytes for every byte of a file.
#[track_caller]
pub(crate) fn within_bounds<R>(what: &str, file: usize, run: impl FnOnce() -> R) -> R {
    let mut result = None;
    let peak = measure(|| result = Some(run())).bytes_max;
    assert!(peak <= MIB + 16 * file as u64, "{what} held {peak} bytes for {file}");
    result.unwrap()
}

/// Counts a text that nobody holds, up to a MiB.
#[derive(Default)]
struct Length(u64);

impl Write for Length {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len() as u64;
        if self.0 <= MIB { Ok(()) } else { Err(fmt::Error) }
    }
}

#[track_caller]
fn assert_short(what: &str, text: fmt::Arguments<'_>) {
    assert!(Length::default().write_fmt(text).is_ok(), "{what} has a text beyond a MiB");
}

#[track_caller]
pub(crate) fn all_of_leaves(loaded: &Loaded, file: usize) {
    let Loaded::Tree(tree) = loaded else { return };
    within_bounds("a tree", file, || {
        assert_short("a tree", format_args!("{tree}"));
        assert_short("a tree", format_args!("{tree:#}"));
        assert_short("a tree", format_args!("{tree:?}"));
        let (treedef, leaves) = tree.clone().into_parts();
        assert_eq!(&Tree::new(treedef, leaves).unwrap(), tree);
        assert_eq!(HashSet::from([tree.clone()]).len(), 1);
        if tree.treedef().num_nodes() < 1 << 16 {
            tree.clone().into_typed::<IgnoredAny>().unwrap();
            let bytes = tree.to_bytes().unwrap();
            drop(Tree::from_bytes_as::<f64>(&bytes, Limits::default()));
        }
    });
}

#[track_caller]
pub(crate) fn all_of_treedef(treedef: &TreeDef, file: usize) {
    within_bounds("text", file, || texts(treedef));
    within_bounds("bytes", file, || bytes(treedef));
    within_bounds("reading", file, || walk(treedef));
    within_bounds("rebuilding", file, || rebuild(treedef));
    within_bounds("comparing", file, || compare(treedef));
    within_bounds("composing", file, || compose(treedef));
    within_bounds("changing", file, || change(treedef));
    // The buffer is made for the leaves that are expected, up to 2²⁰ of 24 bytes.
    let buffer = 2 * treedef.num_leaves().min(1 << 20);
    within_bounds("flattening", file + buffer, || flatten_alike(treedef));
}

fn texts(treedef: &TreeDef) {
    let root = treedef.root();
    assert_short("a treedef", format_args!("{treedef}"));
    assert_short("a treedef", format_args!("{treedef:#}"));
    assert_short("a treedef", format_args!("{treedef:?}"));
    assert_short("a treedef", format_args!("{root:?}"));
    assert_short("a node", format_args!("{root}"));
    assert_short("a node", format_args!("{root:#}"));
    let text = treedef.to_string();
    let parsed: TreeDef = text.parse().unwrap_or_else(|error| panic!("`{text}`: {error}"));
    assert_eq!(parsed, *treedef);
    drop(text.parse::<Value>());

    let json = serde_json::to_string(treedef).unwrap();
    assert_eq!(serde_json::from_str::<TreeDef>(&json).unwrap(), *treedef);
}

fn bytes(treedef: &TreeDef) {
    let bytes = treedef.to_bytes().unwrap();
    let again = TreeDef::from_bytes_with(&bytes, treedef.limits()).unwrap();
    assert_eq!(again, *treedef);
    assert_eq!(again.fingerprint().unwrap(), treedef.fingerprint().unwrap());
    let legacy = bincode::config::legacy();
    let embedded = bincode::serde::encode_to_vec(treedef, legacy).unwrap();
    drop(bincode::serde::decode_from_slice::<TreeDef, _>(&embedded, legacy));
}

fn compare(treedef: &TreeDef) {
    let clone = treedef.clone().with_limits(Limits::default());
    let text: TreeDef = treedef.to_string().parse().unwrap();
    assert!(clone == *treedef && text == *treedef);
    let hasher = RandomState::new();
    assert_eq!(hasher.hash_one(&text), hasher.hash_one(treedef));
}

/// The structures that others are made of, and those that they are prefixes of.
fn compose(treedef: &TreeDef) {
    let (leaf, pair) = (TreeDef::leaf(), "(*, None)".parse::<TreeDef>());
    assert!(leaf.is_prefix_of(treedef) || treedef.to_string().starts_with("#["));
    assert_eq!(treedef.is_prefix_of(&leaf), *treedef == leaf);
    drop(treedef.common_suffix(&leaf));
    drop(treedef.compose(&pair.unwrap()));
    drop(treedef.inner_of(&leaf));
    drop(treedef.check_equal(&leaf));
    drop(treedef.check_equivalent(&leaf));
    treedef.check_equal(treedef).unwrap();
    treedef.check_equivalent(treedef).unwrap();
    assert_eq!(treedef.edit(|_| Ok(Edit::Keep)).unwrap(), *treedef);
    if treedef.num_nodes() < 1 << 10 || treedef.to_string().len() < 1 << 10 {
        assert_eq!(treedef.edit_up(|_| Ok(Edit::Keep)).unwrap(), *treedef);
    }
}

fn change(treedef: &TreeDef) {
    let parsed = |text: &str| text.parse::<TreeDef>().unwrap();
    let many = parsed(&format!("[(); {}]", usize::MAX >> 5));
    let mut others = vec![TreeDef::leaf(), parsed("[*]"), many];
    // The same with something else at the first and the last leaf, or in place of both.
    for index in [0, treedef.num_leaves().saturating_sub(1)] {
        let last = others.last().filter(|_| index > 0).unwrap_or(treedef);
        let path = treedef.leaf_path(index).unwrap_or_default();
        others.extend(last.replace(&path, &"None".parse().unwrap()));
    }
    for other in others {
        for (old, new) in [(treedef, &other), (&other, treedef)] {
            let diff = old.diff(new);
            assert_short("a diff", format_args!("{diff}"));
            assert_eq!(old.patch(&diff).unwrap(), *new);
        }
    }
    assert!(treedef.diff(treedef).changes.is_empty());
}

fn flatten_alike(treedef: &TreeDef) {
    let mut buffer: Vec<Leaf> = Vec::new();
    for flattener in [Flattener::new(), Flattener::new().none_is_leaf(true)] {
        drop(flattener.flatten_like(treedef, &((1, "a"), [None, Some(2.5)]), &mut buffer));
        drop(flattener.flatten_like(treedef, &vec![(); 3], &mut buffer));
    }
    drop(treedef.flatten_like(&[[()]], &mut buffer));
}

fn rebuild(treedef: &TreeDef) {
    let nothing: Vec<Leaf> = Vec::new();
    drop(treedef::unflatten::<Vec<()>>(treedef, Vec::<f64>::new()));
    drop(treedef::unflatten::<[(); 2]>(treedef, &nothing));
    drop(treedef::unflatten::<Vec<u8>>(treedef, [1u8, 2, 3]));
    drop(treedef::unflatten::<IgnoredAny>(treedef, [1.5; 7]));
    drop(treedef::unflatten_borrowed::<IgnoredAny>(treedef, &nothing));
    drop(treedef::unflatten_strict::<Vec<()>>(treedef, nothing));
    assert_eq!(Tree::new(treedef.clone(), vec![0u8; 5]).is_ok(), treedef.num_leaves() == 5);
}

fn walk(treedef: &TreeDef) {
    let leaves = treedef.num_leaves();
    assert!(leaves.max(1) <= treedef.num_nodes().saturating_add(1));
    assert_eq!(treedef.root().leaf_range(), 0..leaves);
    for index in [0, 1, leaves / 2, leaves.saturating_sub(1)] {
        let Ok(path) = treedef.leaf_path(index) else {
            assert!(index >= leaves);
            continue;
        };
        // Of equal keys a path leads to the first.
        assert!(
            treedef.node(&path).is_ok_and(|found| found.leaf_range().start == index)
                || repeats_a_label(treedef)
        );
        assert_eq!(path.to_string().parse::<Path>().unwrap(), path);
        assert_short("a path", format_args!("{path:?}"));
        assert_short("a path", format_args!("{}", path.to_joined_string("/")));
        drop(treedef.node(path.parent().unwrap_or_default()));
    }
    assert!(treedef.leaf_path(leaves).is_err());
    assert!(treedef.leaf_path(usize::MAX).is_err());
    assert_eq!(treedef.leaf_paths().take(3).count(), leaves.min(3));
    for last in [false, true] {
        let mut node = Some(treedef.root());
        while let Some(above) = node {
            visit(above);
            let position = if last { above.num_children().checked_sub(1) } else { Some(0) };
            node = position.and_then(|position| above.child(position));
        }
    }
}

fn repeats_a_label(treedef: &TreeDef) -> bool {
    let mut open = vec![treedef.root()];
    while let Some(node) = open.pop() {
        let (fields, keys) = (node.fields(), node.entry_keys());
        let distinct = (
            fields.iter().collect::<HashSet<_>>().len(),
            keys.iter().collect::<HashSet<_>>().len(),
        );
        if distinct != (fields.len(), keys.len()) {
            return true;
        }
        open.extend(node.runs().map(|(child, _)| child));
    }
    false
}

fn visit(node: NodeRef<'_>) {
    let children = node.num_children();
    assert_eq!(node.children().len(), children);
    assert_eq!(node.children().size_hint(), (children, Some(children)));
    assert_eq!(node.children().take(3).count(), children.min(3));
    assert!(node.children().nth(children).is_none());
    assert!(node.to_treedef().num_nodes() > children.min(usize::MAX - 1));
    let runs: usize = node.runs().map(|(_, repeat)| repeat).sum();
    assert_eq!(runs, children);
    for position in [0, children / 2, children.saturating_sub(1)] {
        let key = node.key(position);
        assert_eq!(key.is_some(), position < children);
        let Some(key) = key else { continue };
        let first = node.position(&key).unwrap();
        assert!(first <= position);
        let nodes = [node.child(first), node.children().nth(first)];
        let [found, expected] = nodes.map(|child| child.map(NodeRef::leaf_range));
        assert_eq!(found, expected);
        assert_short("a key", format_args!("{key}"));
        assert_short("a key", format_args!("{key:?}"));
    }
    assert!(node.variant().is_some() == node.kind().is_variant());
    assert!(node.variant().is_none() || node.name().is_some());
    assert!(node.fields().len() <= children && node.entry_keys().len() <= children);
    if let Some(value) = node.static_value() {
        assert_short("a static", format_args!("{value}"));
        assert_short("a static", format_args!("{value:?}"));
        assert_eq!(value.root().num_leaves(), value.leaves().len());
        assert_eq!(value.cmp(value), std::cmp::Ordering::Equal);
    }
}
