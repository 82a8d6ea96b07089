//! The nodes of the page that `view` makes.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use treedef::__private::OrBug;
use treedef::{Change, ChangeKind, Key, Leaf, LeafKind, NodeKind, NodeRef, Tolerance, Tree};

use crate::color::{bare_numbers, counted, with_null};
use crate::paths::{readable, text_of};
use crate::tensors::trees::{DocumentLeaf, HalfFormat, SHORT, numeral, of_array};

use super::changes;
use super::page_leaf::PageLeaf;

/// The classes of nodes, as the script knows them.
const CLASSES: [&str; 6] = ["node", "array", "text", "number", "bool", "none"];
/// The maximum number of tensors of a node that are listed with their shapes.
const FEW: usize = 3;
/// The maximum number of changes of an array that get a line.
const LINES: usize = 20;
/// The maximum number of numbers of an array that are in the page.
const NUMBERS: usize = 100;

/// The properties of a format.
#[derive(Clone, Copy, Default)]
pub(super) struct Traits {
    pub(super) has_null: bool,
    pub(super) is_of_tensors: bool,
    pub(super) is_gguf: bool,
}

pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The changes at a node and below it.
#[derive(Default)]
pub(super) struct Changes<'d> {
    here: Vec<&'d Change<Tree<PageLeaf>>>,
    /// The children that only the new node has, in its order.
    added: Vec<&'d Change<Tree<PageLeaf>>>,
    below: BTreeMap<&'d Key, Changes<'d>>,
}

impl<'d> Changes<'d> {
    pub(super) fn put(&mut self, change: &'d Change<Tree<PageLeaf>>) {
        let is_added = matches!(change.kind, ChangeKind::Added { .. });
        let keys = change.path.keys();
        // The last key of an added node is its key in the new tree.
        let old = keys.len() - usize::from(is_added).min(keys.len());
        let place = keys.iter().take(old).fold(self, |at, key| at.below.entry(key).or_default());
        if is_added { place.added.push(change) } else { place.here.push(change) }
    }

    fn is_inside(&self) -> bool {
        !self.below.is_empty() || !self.added.is_empty()
    }

    fn is_removed(&self) -> bool {
        self.here.iter().any(|change| matches!(change.kind, ChangeKind::Removed(_)))
    }

    /// Appends the changes inside. The recursion is as deep as the paths of the changes.
    fn collect(&self, all: &mut Vec<&'d Change<Tree<PageLeaf>>>) {
        all.extend(&self.added);
        for below in self.below.values() {
            all.extend(&below.here);
            below.collect(all);
        }
    }
}

/// The index of the added node.
fn new_index(change: &Change<Tree<PageLeaf>>) -> Option<usize> {
    match change.kind {
        ChangeKind::Added { position, .. } => Some(position),
        _ => None,
    }
}

/// The position of a node.
#[derive(Clone, Copy)]
pub(super) struct NodePosition<'a> {
    /// As JSON: an index, or the text of the key.
    pub(super) key: &'a str,
    /// The number of equal neighbours that it represents.
    pub(super) repeat: usize,
    /// The changes, if two trees are compared.
    pub(super) changes: Option<&'a Changes<'a>>,
    pub(super) added: bool,
    /// The number of keys in its path.
    pub(super) depth: usize,
}

/// A tree that becomes JSON: each node is `[key, class, label, children or text, extra]`.
pub(super) struct PageTree<'t> {
    leaves: &'t [PageLeaf],
    /// The leaves of each array, and its depth: the nodes around an array that have no other
    /// leaves.
    arrays: HashMap<Range<usize>, usize>,
    traits: Traits,
}

impl<'t> PageTree<'t> {
    pub(super) fn of(tree: &'t Tree<PageLeaf>, traits: Traits) -> Self {
        let kinds = |range: Range<usize>| {
            let leaves = tree.leaves().get(range).or_bug();
            leaves.iter().map(PageLeaf::kind)
        };
        let is_array = |kind: LeafKind| kind.is_number() || kind == LeafKind::Bool;
        let is_alike = |range: Range<usize>| {
            let first = kinds(range.clone()).next();
            kinds(range).all(|kind| Some(kind) == first)
        };
        let mut blocks = tree.treedef().blocks();
        let blocks = std::iter::from_fn(|| {
            treedef::__private::next_block(&mut blocks, |_, _| None, is_alike)
        });
        let arrays = blocks.filter(|block| {
            block.node.leaf_range().len() > SHORT
                && !block.shape.is_empty()
                && kinds(block.node.leaf_range()).next().flatten().is_some_and(is_array)
        });
        let arrays =
            arrays.map(|block| (block.node.leaf_range(), block.path.keys().len())).collect();
        PageTree { leaves: tree.leaves(), arrays, traits }
    }

    /// As [`heading`], with the shapes if there are few tensors, or the number of parameters.
    fn tensors_at(&self, node: NodeRef<'_>) -> String {
        let leaves = self.leaves.get(node.leaf_range()).or_bug();
        let number = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let size = |leaf: &PageLeaf| match (leaf, leaf.as_array()) {
            (_, Some(array)) => array.shape().iter().product(),
            (PageLeaf::Value(_), None) => 1,
            (PageLeaf::Type(..), None) => 0,
        };
        if node.kind() == NodeKind::Map
            && node.children().all(NodeRef::is_leaf)
            && leaves.len() <= FEW
        {
            let keys = (0..leaves.len()).filter_map(|at| node.key(at));
            let tensors = keys.zip(leaves);
            let tensors =
                tensors.map(|(key, leaf)| format!("{}: {}", self.short(&key), leaf.type_text()));
            return format!("{{{}}}", tensors.collect::<Vec<_>>().join(", "));
        }
        let tensors = counted(number(leaves.len()), "tensor", "tensors");
        let sum = leaves.iter().map(size).fold(0, usize::saturating_add);
        format!(
            "{} {tensors}, {}",
            self.heading(node),
            counted(number(sum), "parameter", "parameters")
        )
    }

    fn shown(&self, text: String) -> String {
        if self.traits.has_null { with_null(&text) } else { text }
    }

    /// The kind of a node, and its number of children.
    fn heading(&self, node: NodeRef<'_>) -> String {
        let name = match (node.name(), node.variant()) {
            (Some(name), Some(variant)) => format!("{name}::{variant} "),
            (Some(name), None) => format!("{name} "),
            _ => String::new(),
        };
        let children = node.num_children();
        match node.kind() {
            NodeKind::Seq => format!("{name}[{children}]"),
            NodeKind::Some => "Some".to_owned(),
            NodeKind::Tuple | NodeKind::TupleStruct | NodeKind::TupleVariant => {
                format!("{name}({children})")
            }
            NodeKind::Map | NodeKind::Struct | NodeKind::StructVariant => {
                let keys = (0..children).map_while(|at| node.key(at)).take(5);
                let keys: Vec<String> = keys.map(|key| self.short(&key)).collect();
                let more = if children > keys.len() { ", …" } else { "" };
                format!("{name}{{{}{more}}}", keys.join(", "))
            }
            _ => name.trim_end().to_owned(),
        }
    }

    fn short(&self, key: &Key) -> String {
        let text = match key {
            Key::Entry(value) if value.as_str().is_none() => {
                self.shown(bare_numbers(&value.to_string()))
            }
            key => text_of(key),
        };
        match text.char_indices().nth(24) {
            Some((end, _)) => text.get(..end).or_bug().to_owned() + "…",
            None => text,
        }
    }

    /// Appends a node. The recursion is as deep as the limits of the tree allow.
    pub(super) fn node(
        &self,
        node: NodeRef<'_>,
        place: NodePosition<'_>,
        out: &mut String,
    ) -> treedef::Result<()> {
        let NodePosition { key, repeat, changes, added, depth } = place;
        let leaves = self.leaves.get(node.leaf_range()).or_bug();
        // The numbers of an array that is one leaf exist only while it is drawn.
        let stored = leaves.first().filter(|_| node.is_leaf()).and_then(PageLeaf::as_array);
        let stored = stored.map(|array| of_array(array, HalfFormat::Short)).transpose()?;
        let array = stored.is_some() || self.arrays.get(&node.leaf_range()) == Some(&depth);
        let numbers: Vec<&Leaf> = match &stored {
            Some(stored) => stored.leaves().iter().collect(),
            None if array => leaves.iter().filter_map(PageLeaf::value).collect(),
            None => Vec::new(),
        };
        let (class, label) = match (node.kind(), leaves) {
            _ if array => {
                let whole = Tree::new(node.to_treedef(), leaves.to_vec())?;
                ("array", PageLeaf::summary(&whole))
            }
            (NodeKind::Leaf, [leaf]) => (class_of(leaf), bare_numbers(&leaf.to_string())),
            _ if node.num_children() == 0 => ("none", self.shown(node.to_treedef().to_string())),
            _ if self.traits.is_of_tensors => ("node", self.tensors_at(node)),
            _ => ("node", self.heading(node)),
        };
        let class = CLASSES.iter().position(|known| *known == class).unwrap_or(0);
        out.push_str(&format!("[{key},{class},{}", quoted(&label)));
        if array {
            out.push(',');
            let some = numbers.iter().take(NUMBERS).map(|leaf| numeral(leaf));
            let more = if numbers.len() > NUMBERS { ", …" } else { "" };
            out.push_str(&quoted(&(some.collect::<Vec<_>>().join(", ") + more)));
        } else if node.num_children() > 0 || changes.is_some_and(Changes::is_inside) {
            out.push(',');
            self.children(node, place, out)?;
        } else if repeat > 1 || added || changes.is_some() {
            out.push_str(",[]");
        }
        let mut extra = Vec::new();
        if repeat > 1 {
            extra.push(format!("\"repeat\":{repeat}"));
        }
        if array {
            extra.push(format!("\"histogram\":{}", quoted(&histogram(&numbers))));
        }
        if added {
            extra.push("\"status\":\"added\"".to_owned());
        }
        self.changed(array, changes, &mut extra);
        if extra.is_empty() {
            out.push(']')
        } else {
            out.push_str(&format!(",{{{}}}]", extra.join(",")))
        }
        Ok(())
    }

    fn changed(&self, array: bool, changes: Option<&Changes<'_>>, extra: &mut Vec<String>) {
        let Some(changes) = changes else { return };
        let mut lines = Vec::new();
        let mut status = None;
        for change in &changes.here {
            if let ChangeKind::Removed(_) = change.kind {
                status = Some("removed");
                continue;
            }
            status = Some("changed");
            let line = changes::line_of_values(change, Tolerance::default());
            let line = self.shown(bare_numbers(&line));
            let prefix = format!("~ {}: ", readable(&change.path));
            lines.push(line.strip_prefix(&prefix).unwrap_or(&line).to_owned());
        }
        if array && changes.is_inside() {
            status = Some("changed");
            let mut inner = Vec::new();
            changes.collect(&mut inner);
            inner.sort_by(|a, b| a.path.cmp(&b.path));
            let more = inner.len().saturating_sub(LINES);
            let inner = inner.into_iter().take(LINES);
            lines.extend(inner.map(|change| self.shown(bare_numbers(&changes::line(change)))));
            if more > 0 {
                lines.push(format!("… and {more} more"));
            }
        }
        if let Some(status) = status {
            extra.push(format!("\"status\":\"{status}\",\"note\":{}", quoted(&lines.join("\n"))));
        } else if changes.is_inside() {
            extra.push("\"status\":\"inside\"".to_owned());
        }
    }

    /// Appends the children. An added element of a list is at its position in the new list.
    fn children(
        &self,
        node: NodeRef<'_>,
        NodePosition { changes, depth, .. }: NodePosition<'_>,
        out: &mut String,
    ) -> treedef::Result<()> {
        out.push('[');
        let start = out.len();
        let indexed =
            matches!(node.kind(), NodeKind::Seq | NodeKind::Tuple | NodeKind::TupleStruct);
        let below = |key: &Key| changes.and_then(|changes| changes.below.get(key));
        let mut added = changes.map_or(&[][..], |changes| &changes.added).iter().peekable();
        let mut new = 0;
        let mut children = node.children().enumerate().peekable();
        while let Some((at, child)) = children.next() {
            let is_here = |added: &&Change<_>, new| indexed && new_index(added) == Some(new);
            while let Some(change) = added.next_if(|added| is_here(added, new)) {
                self.added(change, start, out)?;
                new += 1;
            }
            let Some(key) = node.key(at) else { continue };
            let changes = below(&key);
            let same = |(at, next): &(usize, NodeRef<'_>)| {
                self.leaves.get(next.leaf_range()) == self.leaves.get(child.leaf_range())
                    && next.to_treedef() == child.to_treedef()
                    && node.key(*at).is_some_and(|key| below(&key).is_none())
            };
            let mut repeat = 1;
            while indexed
                && changes.is_none()
                && !added.peek().is_some_and(|added| is_here(added, new + repeat))
                && children.next_if(same).is_some()
            {
                repeat += 1;
            }
            new += if changes.is_some_and(Changes::is_removed) { 0 } else { repeat };
            separate(start, out);
            let place = NodePosition {
                key: &key_json(&key),
                repeat,
                changes,
                added: false,
                depth: depth + 1,
            };
            self.node(child, place, out)?;
        }
        added.try_for_each(|change| self.added(change, start, out))?;
        out.push(']');
        Ok(())
    }

    fn added(
        &self,
        change: &Change<Tree<PageLeaf>>,
        start: usize,
        out: &mut String,
    ) -> treedef::Result<()> {
        let (ChangeKind::Added { new, .. }, Some(key)) = (&change.kind, change.path.keys().last())
        else {
            return Ok(());
        };
        separate(start, out);
        let place =
            NodePosition { key: &key_json(key), repeat: 1, changes: None, added: true, depth: 0 };
        PageTree::of(new, self.traits).node(new.treedef().root(), place, out)
    }
}

fn separate(start: usize, out: &mut String) {
    if out.len() > start {
        out.push(',');
    }
}

fn key_json(key: &Key) -> String {
    if let Key::Index(at) = key { at.to_string() } else { quoted(&key.to_string()) }
}

fn class_of(leaf: &PageLeaf) -> &'static str {
    match leaf.kind() {
        Some(LeafKind::Str | LeafKind::Char) => "text",
        Some(LeafKind::Bool) => "bool",
        Some(kind) if kind.is_number() => "number",
        _ => "none",
    }
}

/// The distribution of the finite numbers in sixteen bars.
fn histogram(leaves: &[&Leaf]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    #[allow(clippy::cast_precision_loss, reason = "for sixteen bars")]
    let number = |leaf: &Leaf| match leaf {
        Leaf::F32(number) => Some(f64::from(*number)),
        Leaf::F64(number) => Some(*number),
        Leaf::Bool(yes) => Some(f64::from(u8::from(*yes))),
        leaf => leaf.as_i128().map(|number| number as f64),
    };
    let numbers =
        || leaves.iter().filter_map(|leaf| number(leaf)).filter(|number| number.is_finite());
    let (low, high) = numbers().fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(x), b.max(x)));
    let mut counts = [0usize; 16];
    for number in numbers() {
        let share = (number / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
        let bin = if share.is_finite() { ((share * 16.0) as usize).min(15) } else { 7 };
        if let Some(count) = counts.get_mut(bin) {
            *count += 1;
        }
    }
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let bar = |count: usize| match count {
        0 => ' ',
        count => *BARS.get(count.saturating_mul(7).div_ceil(most)).unwrap_or(&'█'),
    };
    counts.map(bar).iter().collect()
}
