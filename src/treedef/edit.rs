//! Replacing or removing nodes of structures and trees.

use std::ops::Range;

use crate::bug::OrBug;
use crate::error::{Cause, Error, Result};
use crate::model::{Labels, NodeData, NodeKind, TreeDef};
use crate::path::Path;
use crate::treedef::node_ref::NodeRef;
use crate::treedef::walk::{Event, Visits, Walk};

use super::insertion::insertion_order;
use super::parts::PartsBuilder;

/// The action for a node and everything below it: the result of a function that edits a
/// [`TreeDef`] or a [`Tree`](crate::Tree). [`TreeDef::edit`] and [`Tree::edit`](crate::Tree::edit) have
/// examples.
///
/// The idea is from dm-tree's `traverse`, whose function returns either `None` or a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit<T> {
    /// Keeps the node.
    Keep,
    /// Replaces the node.
    Replace(T),
    /// Removes the node, with its field or key. Later elements move up. A `Some` that loses its
    /// child becomes `None`. The child of a newtype cannot be removed.
    Remove,
}

/// A walk through a structure. The caller enters, keeps, replaces or removes each visited node.
pub(crate) struct EditWalk<'a> {
    builder: PartsBuilder,
    walk: Walk<'a>,
    /// The nodes that were entered and not left.
    open: Vec<EnteredNode<'a>>,
    /// The node that was visited last, the first of its equal siblings, and their number.
    here: (NodeRef<'a>, usize),
    /// Its path.
    path: Path,
    /// Whether the children of `here` were not visited.
    is_before: bool,
    root_was_removed: bool,
}

/// A node that was entered.
struct EnteredNode<'a> {
    node: NodeRef<'a>,
    repeat: usize,
    /// The indices of the children that were removed.
    removed: Vec<Range<usize>>,
}

impl<'a> EditWalk<'a> {
    /// A walk that visits equal siblings once.
    pub(crate) fn runs(treedef: &'a TreeDef) -> Self {
        EditWalk::new(treedef, Visits::AtRuns)
    }

    /// A walk that visits every node, if the limits allow it with `leaves` leaves in memory.
    pub(crate) fn singly(treedef: &'a TreeDef, leaves: usize) -> Result<Self> {
        treedef.expect_work(leaves)?;
        Ok(EditWalk::new(treedef, Visits::Everywhere))
    }

    fn new(treedef: &'a TreeDef, visits: Visits) -> Self {
        let root = treedef.root();
        EditWalk {
            builder: PartsBuilder::onto(root, treedef.limits),
            walk: Walk::new(root, visits),
            open: Vec::new(),
            here: (root, 1),
            path: Path::root(),
            is_before: false,
            root_was_removed: false,
        }
    }

    /// Goes to the next node. The last one must have been entered, kept, replaced, removed or left.
    pub(crate) fn step(&mut self) -> Option<Event<'a>> {
        let event = self.walk.next()?;
        match event {
            Event::Enter { node, repeat } => {
                self.walk.lead(&mut self.path);
                (self.here, self.is_before) = ((node, repeat), true);
            }
            Event::Leave => {
                self.is_before = false;
                self.path.0.truncate(self.open.len().saturating_sub(1));
            }
        }
        Some(event)
    }

    /// The path of the visited node, in the original structure.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the node itself, and continues with its children.
    pub(crate) fn enter(&mut self) -> Result<()> {
        let (node, repeat) = self.here;
        self.builder.open(node, repeat)?;
        self.open.push(EnteredNode { node, repeat, removed: Vec::new() });
        Ok(())
    }

    /// Keeps the node and everything below it.
    pub(crate) fn keep(&mut self) -> Result<()> {
        self.pass();
        self.builder.insert(self.here.0, self.here.1)
    }

    /// Replaces the node by another subtree.
    pub(crate) fn put(&mut self, other: &TreeDef) -> Result<()> {
        self.pass();
        self.builder.allow(other.limits);
        self.builder.insert_copies(other, self.here.1)
    }

    /// Removes the node.
    pub(crate) fn remove(&mut self) -> Result<()> {
        self.pass();
        let (Some(entered), Some(position)) = (self.open.last_mut(), self.walk.position()) else {
            self.root_was_removed = true;
            return Ok(());
        };
        if let Err(error) = expect_removable_child(entered.node) {
            self.path.0.pop();
            return Err(error.at(self.path.clone()));
        }
        entered.removed.push(position..position + self.here.1); // in range: these siblings exist
        Ok(())
    }

    /// Skips the children, unless they were visited.
    fn pass(&mut self) {
        if std::mem::take(&mut self.is_before) {
            self.walk.skip();
        }
    }

    /// Closes the node that was entered last.
    pub(crate) fn leave(&mut self) -> Result<()> {
        if let Some(entered) = self.open.pop() {
            entered.relabel(&mut self.builder);
        }
        self.builder.close()
    }

    /// Closes the node that was entered last and returns its structure. `here` is now that node.
    pub(crate) fn leave_apart(&mut self) -> Result<TreeDef> {
        if let Some(entered) = self.open.pop() {
            entered.relabel(&mut self.builder);
            self.here = (entered.node, entered.repeat);
        }
        self.builder.close_apart()
    }

    pub(crate) fn finish(self) -> Result<TreeDef> {
        if self.root_was_removed { Err(nothing_left()) } else { self.builder.finish() }
    }
}

/// Adds a node without the child at a position.
pub(crate) fn insert_without(
    builder: &mut PartsBuilder,
    node: NodeRef<'_>,
    position: usize,
) -> Result<()> {
    expect_removable_child(node)?;
    builder.open(node, 1)?;
    for (child, repeat, is_removed) in node.runs_around(position) {
        if !is_removed {
            builder.insert(child, repeat)?;
        }
    }
    let mut entered = EnteredNode { node, repeat: 1, removed: Vec::new() };
    entered.removed.push(position..position + 1); // there is a child
    entered.relabel(builder);
    builder.close()
}

fn expect_removable_child(node: NodeRef<'_>) -> Result<()> {
    if matches!(node.kind(), NodeKind::NewtypeStruct | NodeKind::NewtypeVariant) {
        let message = format!("`{}` cannot lose its child", node.brief());
        return Err(Error::argument(message));
    }
    Ok(())
}

pub(crate) fn nothing_left() -> Error {
    Cause::Nothing("nothing is left of the tree").into()
}

impl EnteredNode<'_> {
    /// Changes the kind and the labels of the builder's current node if children were removed.
    fn relabel(&self, builder: &mut PartsBuilder) {
        if self.removed.is_empty() {
            return;
        }
        let kind = match self.node.kind() {
            NodeKind::Some => NodeKind::None,
            kind => kind,
        };
        let data = self.node.data();
        let labels = data.map_or(Labels::None, |data| self.without_removed(&data.labels));
        let data = data.map(|data| NodeData { labels, ..data.clone() });
        let order = self
            .node
            .insertion_order()
            .and_then(|_| insertion_order(&without(&self.node.insertion_ranks(), &self.removed)));
        builder.relabel(kind, data.as_ref(), order);
    }

    fn without_removed(&self, labels: &Labels) -> Labels {
        match labels {
            Labels::Fields(fields) => Labels::Fields(without(fields, &self.removed)),
            Labels::Keys(keys) => Labels::Keys(without(keys, &self.removed)),
            Labels::None | Labels::Static(_) => labels.clone(),
        }
    }
}

/// All items except those in the ranges, which are in order.
fn without<T: Clone>(all: &[T], removed: &[Range<usize>]) -> Box<[T]> {
    let (mut kept, mut from) = (Vec::new(), 0);
    for range in removed {
        kept.extend_from_slice(all.get(from..range.start).or_bug());
        from = range.end;
    }
    kept.extend_from_slice(all.get(from..).or_bug());
    kept.into()
}
