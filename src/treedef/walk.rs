//! The pre-order walk through one structure, and through two structures in step.

use std::fmt;

use crate::model::{NodeKind, TreeDef};
use crate::path::Path;
use crate::treedef::node_ref::{Children, NodeRef, Overlap, Overlaps};

/// A walk through a structure. Each node is entered before its children, and left after them.
pub(crate) struct Walk<'a> {
    root: Option<NodeRef<'a>>,
    open: Vec<Entered<'a>>,
    visits: Visits,
}

/// Which nodes a walk visits.
#[derive(Clone, Copy)]
pub(crate) enum Visits {
    /// Every node.
    Everywhere,
    /// The first of equal siblings. Siblings whose maps have other insertion orders are separate.
    AtRuns,
    /// Every node that has leaves at or below it.
    AboveLeaves,
    /// Every node that has leaves at or below it, and the first of other equal siblings.
    AtLeaflessRuns,
}

pub(crate) enum Event<'a> {
    /// The first of `repeat` equal siblings.
    Enter {
        node: NodeRef<'a>,
        repeat: usize,
    },
    Leave,
}

/// A node that was entered and not left.
struct Entered<'a> {
    node: NodeRef<'a>,
    children: Children<'a>,
    /// The index of the child that was entered last.
    position: usize,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(root: NodeRef<'a>, visits: Visits) -> Self {
        Walk { root: Some(root), open: Vec::new(), visits }
    }

    /// The next event. Omits the children of the last node if it was [skipped](Self::skip).
    pub(crate) fn next(&mut self) -> Option<Event<'a>> {
        if let Some(root) = self.root.take() {
            return Some(self.enter(root, 1));
        }
        let Entered { node, children, position } = self.open.last_mut()?;
        if let Visits::AboveLeaves = self.visits {
            children.skip_leafless();
        }
        *position = node.num_children() - children.len();
        let child = match self.visits {
            Visits::AtRuns => children.next_in_same_order(),
            Visits::AtLeaflessRuns if children.next_is_leafless() => children.next_run(),
            _ => children.next().map(|child| (child, 1)),
        };
        match child {
            Some((child, repeat)) => Some(self.enter(child, repeat)),
            None => self.open.pop().map(|_| Event::Leave),
        }
    }

    fn enter(&mut self, node: NodeRef<'a>, repeat: usize) -> Event<'a> {
        self.open.push(Entered { node, children: node.children(), position: 0 });
        Event::Enter { node, repeat }
    }

    /// The path of a leaf. The index must be greater in each call.
    pub(crate) fn path_to_leaf(&mut self, index: usize) -> Path {
        self.seek(NodeRef::is_leaf, |children| children.with_leaf(index));
        let above = self.open.split_last().map_or(&[][..], |(_, above)| above);
        above.iter().map(|open| open.node.child_key(open.position)).collect()
    }

    /// The map with this index. The index must be greater in each call.
    #[cfg(feature = "persist")]
    pub(crate) fn map(&mut self, index: usize) -> Option<NodeRef<'a>> {
        let is_wanted =
            |node: NodeRef<'_>| node.kind() == NodeKind::Map && node.first_map() == index;
        self.seek(is_wanted, |children| children.with_map(index))
    }

    /// Moves to a node, through the children that `next` chooses.
    fn seek(
        &mut self,
        is_wanted: impl Fn(NodeRef<'a>) -> bool,
        next: impl Fn(&mut Children<'a>) -> Option<NodeRef<'a>>,
    ) -> Option<NodeRef<'a>> {
        let mut entered = self.root.take();
        loop {
            if let Some(node) = entered {
                self.enter(node, 1);
                if is_wanted(node) {
                    return Some(node);
                }
            }
            let Entered { node, children, position } = self.open.last_mut()?;
            entered = next(children);
            if entered.is_none() {
                self.open.pop();
            } else {
                *position = node.num_children() - children.len() - 1; // one was taken
            }
        }
    }

    /// Skips the children of the node that was just entered. The node gets no `Leave` event.
    pub(crate) fn skip(&mut self) {
        self.open.pop();
    }

    /// The parent of the node that was just entered, and the node's index in it.
    pub(crate) fn parent(&self) -> Option<(NodeRef<'a>, usize)> {
        let above = self.open.iter().rev().nth(1)?;
        Some((above.node, above.position))
    }

    /// The index in its parent of the node that was just left or skipped.
    pub(crate) fn position(&self) -> Option<usize> {
        Some(self.open.last()?.position)
    }

    /// Changes `path` from the previous node to the node that was just entered.
    pub(crate) fn lead(&self, path: &mut Path) {
        path.0.truncate(self.open.len().saturating_sub(2)); // keeps the path of the parent
        path.0.extend(self.parent().map(|(above, position)| above.child_key(position)));
    }
}

/// A walk through two structures in step. It pairs the children of two nodes by their positions, as
/// far as both have them.
pub(crate) struct PairWalk<'a, 'b> {
    root: Option<(NodeRef<'a>, NodeRef<'b>)>,
    open: Vec<EnteredPair<'a, 'b>>,
    most: MostPairs,
}

/// For a node of the first structure, the first of several equal pairs below it, and their number: how many of them
/// are one event.
pub(crate) type MostPairs = fn(NodeRef<'_>, NodeRef<'_>, NodeRef<'_>, usize) -> usize;

pub(crate) enum PairEvent<'a, 'b> {
    /// The first of several equal pairs.
    Enter(Overlap<'a, 'b>),
    Leave(NodeRef<'a>, NodeRef<'b>),
}

/// Two nodes that were entered and not left.
struct EnteredPair<'a, 'b> {
    a: NodeRef<'a>,
    b: NodeRef<'b>,
    children: Overlaps<'a, 'b>,
    /// The position of the children that were entered last.
    position: usize,
}

impl<'a, 'b> PairWalk<'a, 'b> {
    pub(crate) fn new(a: NodeRef<'a>, b: NodeRef<'b>, most: MostPairs) -> Self {
        PairWalk { root: Some((a, b)), open: Vec::new(), most }
    }

    /// The next event. Omits the children of the last pair if it was [skipped](Self::skip).
    pub(crate) fn next(&mut self) -> Option<PairEvent<'a, 'b>> {
        let pair = match self.root.take() {
            Some((a, b)) => Some(Overlap { position: 0, a, b, count: 1 }),
            None => {
                let (most, EnteredPair { a, children, .. }) = (self.most, self.open.last_mut()?);
                children.next_up_to(|child, other, count| most(*a, child, other, count))
            }
        };
        match pair {
            Some(pair) => {
                let Overlap { position, a, b, .. } = pair;
                self.open.last_mut().into_iter().for_each(|above| above.position = position);
                self.open.push(EnteredPair { a, b, children: a.overlaps(b), position: 0 });
                Some(PairEvent::Enter(pair))
            }
            None => self.open.pop().map(|open| PairEvent::Leave(open.a, open.b)),
        }
    }

    /// Skips the children of the pair that was just entered. The pair gets no `Leave` event.
    pub(crate) fn skip(&mut self) {
        self.open.pop();
    }

    /// The parents of the pair that was just entered.
    pub(crate) fn parents(&self) -> Option<(NodeRef<'a>, NodeRef<'b>)> {
        self.open.iter().rev().nth(1).map(|above| (above.a, above.b))
    }

    /// The path of the pair that was just entered, in the first structure.
    pub(crate) fn path(&self) -> Path {
        let above = self.open.split_last().map_or(&[][..], |(_, above)| above);
        above.iter().map(|open| open.a.child_key(open.position)).collect()
    }
}

/// All nodes of a structure with their paths, parents before children. See [`TreeDef::nodes`].
#[must_use = "iterators are lazy"]
pub struct Nodes<'a> {
    walk: Walk<'a>,
    path: Path,
}

impl<'a> Nodes<'a> {
    pub(super) fn of(treedef: &'a TreeDef) -> Self {
        Nodes { walk: Walk::new(treedef.root(), Visits::Everywhere), path: Path::root() }
    }
}

impl<'a> Iterator for Nodes<'a> {
    type Item = (Path, NodeRef<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Event::Enter { node, .. } = self.walk.next()? {
                self.walk.lead(&mut self.path);
                return Some((self.path.clone(), node));
            }
        }
    }
}

impl fmt::Debug for Nodes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nodes").field("at", &self.path).finish_non_exhaustive()
    }
}

/// The paths of the leaves of a structure. See [`TreeDef::leaf_paths`].
#[must_use = "iterators are lazy"]
pub struct LeafPaths<'a>(Nodes<'a>);

impl fmt::Debug for LeafPaths<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeafPaths").field("at", &self.0.path).finish_non_exhaustive()
    }
}

impl<'a> LeafPaths<'a> {
    pub(super) fn of(treedef: &'a TreeDef) -> Self {
        LeafPaths(Nodes {
            walk: Walk::new(treedef.root(), Visits::AboveLeaves),
            path: Path::root(),
        })
    }
}

impl Iterator for LeafPaths<'_> {
    type Item = Path;

    fn next(&mut self) -> Option<Path> {
        let Nodes { walk, path } = &mut self.0;
        loop {
            let Event::Enter { node, .. } = walk.next()? else { continue };
            walk.lead(path);
            if node.kind() == NodeKind::Leaf {
                return Some(path.clone());
            }
        }
    }
}
