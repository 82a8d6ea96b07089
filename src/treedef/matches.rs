//! Finds the nodes that a pattern matches, without visiting all others.

use std::iter;
use std::ops::Range;

use hashbrown::HashTable;

use crate::path::{Key, Path};
use crate::pattern::Pattern;

use super::node_ref::{Children, NodeRef};
use super::walk::{Visits, Walk};

pub(crate) struct Matches<'a> {
    pattern: Pattern,
    /// The root, until it is visited.
    root: Option<NodeRef<'a>>,
    open: Vec<SearchedNode<'a>>,
    /// The path of the last open node.
    path: Path,
    /// Whether nodes without leaves are skipped.
    needs_leaves: bool,
    /// The number of nodes found so far.
    found: usize,
    /// The indices of stored nodes, each with a step that matches nothing below it.
    barren: HashTable<(u64, usize)>,
}

/// A node whose children are being visited.
struct SearchedNode<'a> {
    node: NodeRef<'a>,
    children: Children<'a>,
    run: Option<Run<'a>>,
    /// The steps of the pattern that may match a child.
    steps: Vec<usize>,
    /// The position of the last visited child.
    position: usize,
    /// The number of nodes that had been found before.
    found: usize,
    /// The stored node stands for several, so its result is used again.
    is_repeated: bool,
}

/// Equal siblings.
struct Run<'a> {
    first: NodeRef<'a>,
    start: usize,
    /// The positions that are left.
    left: Range<usize>,
    trial: Trial,
}

/// Whether something is found in those siblings that the pattern does not select by position.
#[derive(Clone, Copy)]
enum Trial {
    NotYet,
    /// The first sibling is being searched. With the number of nodes that had been found before.
    Begun(usize),
    Found,
    NotFound,
}

impl<'a> Matches<'a> {
    pub(super) fn new(root: NodeRef<'a>, pattern: Pattern) -> Self {
        Matches {
            pattern,
            root: Some(root),
            open: Vec::new(),
            path: Path::root(),
            needs_leaves: false,
            found: 0,
            barren: HashTable::new(),
        }
    }

    /// The leaves at and below these nodes: their paths and indices.
    pub(crate) fn leaves(mut self) -> impl Iterator<Item = (Path, usize)> + use<'a> {
        self.needs_leaves = true;
        self.flat_map(|(path, node)| {
            let mut walk = Walk::new(node, Visits::AboveLeaves);
            node.leaf_range().map(move |leaf| {
                let below = (!node.is_leaf()).then(|| walk.path_to_leaf(leaf));
                (below.map_or_else(|| path.clone(), |below| path.join(&below)), leaf)
            })
        })
    }

    /// The indices of these leaves. It builds no paths: for nested nodes that would take longer than
    /// finding the nodes.
    pub(crate) fn leaf_ranges(mut self) -> impl Iterator<Item = Range<usize>> + use<'a> {
        self.needs_leaves = true;
        iter::from_fn(move || self.next_node().map(|(_, node)| node.leaf_range()))
    }

    /// The next node with its key. The root has none. The path of its parent is [`path`](Self::path).
    fn next_node(&mut self) -> Option<(Option<Key>, NodeRef<'a>)> {
        if let Some(root) = self.root.take() {
            let steps = self.pattern.first_steps();
            if self.pattern.is_end(&steps) {
                return Some((None, root));
            }
            self.enter(None, root, steps);
        }
        while let Some(open) = self.open.last_mut() {
            let Some(child) = open.next(&self.pattern, self.needs_leaves, self.found) else {
                self.leave();
                continue;
            };
            let key = open.node.child_key(open.position);
            let steps = self.pattern.steps_behind(&open.steps, open.node.kind(), &key);
            if self.pattern.is_end(&steps) {
                self.found += 1;
                return Some((Some(key), child));
            }
            self.enter(Some(key), child, steps);
        }
        None
    }

    fn enter(&mut self, key: Option<Key>, node: NodeRef<'a>, mut steps: Vec<usize>) {
        let above = self.open.last();
        let is_repeated = above.is_some_and(|above| {
            above.is_repeated || above.run.as_ref().is_some_and(|run| run.first.repeat() > 1)
        });
        if is_repeated {
            steps.retain(|step| {
                let entry = (node.index() as u64, *step); // not wider
                self.barren.find(hash(entry), |known| *known == entry).is_none()
            });
        }
        if steps.is_empty() {
            return;
        }
        self.path.extend(key);
        self.open.push(SearchedNode {
            node,
            children: node.children(),
            run: None,
            steps,
            position: 0,
            found: self.found,
            is_repeated,
        });
    }

    fn leave(&mut self) {
        self.path.pop();
        if let Some(left) = self.open.pop()
            && left.is_repeated
            && left.found == self.found
        {
            for step in left.steps {
                let entry = (left.node.index() as u64, step); // not wider
                self.barren.insert_unique(hash(entry), entry, |known| hash(*known));
            }
        }
    }
}

impl<'a> Iterator for Matches<'a> {
    type Item = (Path, NodeRef<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, node) = self.next_node()?;
        let mut path = Path(Vec::with_capacity(self.path.0.len() + 1));
        path.0.extend_from_slice(self.path.keys());
        path.0.extend(key);
        Some((path, node))
    }
}

/// Mixes a node and a step. There are few steps.
fn hash((node, step): (u64, usize)) -> u64 {
    (node ^ (step as u64) << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32)
}

impl<'a> SearchedNode<'a> {
    /// The next child that has to be visited, where `found` nodes were found so far.
    fn next(&mut self, pattern: &Pattern, needs_leaves: bool, found: usize) -> Option<NodeRef<'a>> {
        let has_names = self.node.is_labelled();
        loop {
            let Some(run) = &mut self.run else {
                if needs_leaves {
                    self.children.skip_leafless();
                }
                let start = self.node.num_children() - self.children.len();
                let most = pattern.next_bound(&self.steps, start).map(|bound| bound - start);
                let (first, count) = self.children.next_up_to(most.unwrap_or(usize::MAX))?;
                let trial = if has_names { Trial::Found } else { Trial::NotYet };
                self.run = Some(Run { first, start, left: start..start + count, trial });
                continue;
            };
            if let Trial::Begun(before) = run.trial {
                run.trial = if before == found { Trial::NotFound } else { Trial::Found };
            }
            let asked = pattern.positions(&self.steps);
            if let Trial::NotFound = run.trial {
                let next = asked.filter(|position| run.left.contains(position)).min();
                run.left.start = next.unwrap_or(run.left.end);
            } else if let Trial::NotYet = run.trial
                && asked.into_iter().all(|position| position != run.left.start)
            {
                run.trial = Trial::Begun(found);
            }
            match run.left.next() {
                Some(position) => {
                    self.position = position;
                    return Some(run.first.later(position - run.start));
                }
                None => self.run = None,
            }
        }
    }
}
