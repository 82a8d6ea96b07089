//! Applies rules about types, fields and paths while nodes are made.
//!
//! The walk knows nothing of these rules. It puts the leaves into a vector. From there each leaf
//! goes to the leaves of the tree, or into a value that is kept as a whole.

use std::sync::Arc;

use crate::error::Result;
use crate::leaf::float::Half;
use crate::leaf::sink::Sink;
use crate::model::{Leaf, Limits, NodeData, NodeHead, NodeKind, Options, Tree, TreeDef, Value};
use crate::path::Path;
use crate::treedef::node_ref::NodeRef;

use super::labels::Label;
use super::nodes::{Count, KeptNodes, Ruled, WordReader};
use super::refused::{no_object, object_is_kept, put_opaque, wrong_scalar};
use super::rules::{Keep, Objects, Rules};
use super::word::{self, Tag, Word};

/// The structure of a value, its leaves, and whether each rule applied anywhere.
pub(super) type RuledTree = (TreeDef, Sink, Vec<bool>);

/// The rules of a walk, and whether its leaves are objects.
pub(super) struct RulesOf {
    pub(super) rules: Arc<Rules>,
    pub(super) objects: Objects,
}

impl WordReader {
    /// Makes the structure of a whole value, whose leaves are in `from`.
    pub(super) fn made_by_rules(
        &mut self,
        words: &[Word],
        labels: &mut [Label],
        options: Options,
        rules: RulesOf,
        from: Vec<Leaf>,
        to: Sink,
    ) -> Result<RuledTree> {
        let RulesOf { rules, objects } = rules;
        self.options = options;
        let hits = vec![false; rules.rules.len()];
        let from = from.into_iter();
        self.ruled = Some(Ruled { rules, objects, hits, path: Path::root(), from, to, kept: None });
        let read = self.read(words, labels);
        let ruled = self.ruled.take();
        let insertions = std::mem::take(&mut self.insertions);
        let made = match (read, ruled) {
            (Err(error), Some(ruled)) => Err(error.at(ruled.path)),
            (Err(error), None) => Err(error),
            (Ok(()), ruled) => {
                let treedef = self.builder.finish(options, insertions, Limits::default());
                let (to, hits) = ruled.map(|ruled| (ruled.to, ruled.hits)).unwrap_or_default();
                Ok((treedef, to, hits))
            }
        };
        self.clear();
        made
    }

    pub(super) fn is_keeping(&self) -> bool {
        self.ruled.as_ref().is_some_and(|ruled| ruled.kept.is_some())
    }

    /// Called before each value, of which so many words were read. A rule about its place may keep
    /// it.
    pub(super) fn begin_child(&mut self, words: usize) {
        if let Some(parent) = self.open.last_mut() {
            let word = self.so_far.word - words; // they were read
            parent.child = Count { word, ..self.so_far };
        }
        if self.ruled.is_none() || self.is_keeping() {
            return;
        }
        let Some(parent) = self.open.last().filter(|parent| parent.node.is_some()) else { return };
        let (key, parent) = (self.key(parent), parent.head());
        let Some(Ruled { rules, hits, path, .. }) = &mut self.ruled else { return };
        path.push(key);
        if let Some(keep) = rules.place(parent, path, hits) {
            self.keep(keep, false);
        }
    }

    /// Called when a child was added to its parent.
    pub(super) fn end_child(&mut self) {
        let has_key = self.open.last().is_some_and(|parent| parent.node.is_some());
        if let Some(ruled) = &mut self.ruled
            && ruled.kept.is_none()
            && has_key
        {
            ruled.path.pop();
        }
    }

    /// A rule about a node may keep it.
    pub(super) fn apply_rules(&mut self, head: NodeHead<'static>) {
        if let Some(Ruled { rules, hits, path, kept: None, .. }) = &mut self.ruled
            && let Some(keep) = rules.node(head, path, hits)
        {
            self.keep(keep, false);
        }
    }

    /// A mark keeps its child, except inside a value that is kept already.
    pub(super) fn open_mark(&mut self, tag: Tag) -> Result<()> {
        self.begin_child(1);
        if self.ruled.is_some() && !self.is_keeping() {
            self.keep(if tag == word::MARKED_STATIC { Keep::Static } else { Keep::Leaf }, true);
        }
        self.push(NodeHead::new(NodeKind::NewtypeStruct), None);
        Ok(())
    }

    fn keep(&mut self, keep: Keep, by_mark: bool) {
        let (depth, node) = (self.open.len(), self.builder.nodes.len());
        let (leaf, map) = (std::mem::take(&mut self.so_far.leaf), self.so_far.map);
        let insertion = self.insertions.len();
        if let Some(ruled) = &mut self.ruled {
            let (keep, leaves) = (keep.among(ruled.objects), Vec::new());
            ruled.kept =
                Some(KeptNodes { keep, by_mark, depth, node, leaf, map, insertion, leaves });
        }
    }

    /// Puts a complete value that was kept in its place.
    pub(super) fn end_keeping(&mut self) -> Result<()> {
        let Some(ruled) = &mut self.ruled else { return Ok(()) };
        let depth = self.open.len();
        let Some(kept) = ruled.kept.take_if(|kept| kept.depth == depth) else { return Ok(()) };
        let KeptNodes { keep, by_mark, node, leaf, map, insertion, leaves, .. } = kept;
        (self.so_far.leaf, self.so_far.map) = (leaf, map);
        let mut insertions = self.insertions.split_off(insertion);
        self.so_far.insertion = insertion;
        insertions.iter_mut().for_each(|insertion| insertion.map -= map); // it is inside
        let treedef = self.builder.extract(node, Options::default(), insertions);
        let value = Value::from_tree(Tree::from_parts(treedef, leaves));
        match keep {
            Keep::Static | Keep::Key | Keep::Object => {
                self.open_static(&value);
                Ok(())
            }
            Keep::Leaf | Keep::Half => {
                let leaf = if keep == Keep::Half { float_of(value) } else { Leaf::from(value) };
                self.builder.open(NodeKind::Leaf, NodeData::NONE);
                self.so_far.leaf += 1; // at most the calls
                put_opaque(&mut ruled.to, leaf, if by_mark { "a mark" } else { "a rule" })
            }
        }
    }

    /// Takes the next leaf. Returns whether it is one of the tree or of a value that is kept, and
    /// not static.
    pub(super) fn take_leaf(&mut self) -> Result<bool> {
        let Some(Ruled { rules, objects, from, to, kept, .. }) = &mut self.ruled else {
            return Ok(true);
        };
        let Some(leaf) = from.next() else { return Ok(true) }; // there are as many
        if let Some(kept) = kept {
            kept.leaves.push(leaf);
            return Ok(true);
        }
        let kind = leaf.kind();
        if *objects == Objects::Alone {
            return Err(no_object(kind));
        }
        if *objects == Objects::AmongStatics || !rules.is_leaf_kind(kind) {
            self.open_static(&leaf.into());
            return Ok(false);
        }
        if to.push_leaf(leaf) { Ok(true) } else { Err(wrong_scalar(to.kind(), kind)) }
    }

    /// A leaf that is an object.
    pub(super) fn object(&mut self) -> Result<()> {
        self.begin_child(1);
        if self.is_keeping() {
            return Err(object_is_kept());
        }
        if let Some(Ruled { from, to, .. }) = &mut self.ruled
            && let Some(number) = from.next()
        {
            to.push_leaf(number);
        }
        self.builder.open(NodeKind::Leaf, NodeData::NONE);
        self.so_far.leaf += 1; // at most the calls
        self.complete()
    }

    /// Passes over a leaf for an absent value, which is no leaf in a value that is kept.
    pub(super) fn drop_leaf(&mut self) {
        if let Some(ruled) = &mut self.ruled {
            ruled.from.next();
        }
    }

    /// Swaps leaves of the current value, and of nothing around it.
    pub(super) fn swap_now(&mut self, before: usize) {
        let swaps = self.take_swaps(before);
        match &mut self.ruled {
            Some(Ruled { kept: Some(kept), .. }) => {
                swaps.into_iter().for_each(|(a, b)| kept.leaves.swap(a, b)); // its leaves
            }
            Some(ruled) => ruled.to.swap(&swaps),
            None => {}
        }
    }
}

/// The float whose bits are in a newtype. Another newtype of that name holds a scalar already, or
/// is one opaque leaf.
fn float_of(value: Value) -> Leaf {
    let half = value.root().name().and_then(Half::named);
    match (half, &*value.leaves()) {
        (Some(half), [Leaf::U16(bits)]) => Leaf::F32(half.widen(*bits)),
        (Some(_), [leaf]) if value.root().child(0).is_some_and(NodeRef::is_leaf) => leaf.clone(),
        _ => Leaf::from(value),
    }
}
