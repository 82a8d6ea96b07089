//! What has no leaves, inside of a node that was followed by its leaves.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::error::{Difference, DifferenceKind};
use crate::path::Path;
use crate::treedef::difference::differences_below;
use crate::treedef::node_ref::NodeRef;

use super::following::{Following, Rebuild};
use super::sides::{Side, ways};

impl Following<'_> {
    /// Finds what has no leaves and only one of two nodes has, of which one became the other. So
    /// far only these nodes themselves are on the two sides.
    pub(super) fn follow_leafless(&mut self, rebuild: &Rebuild<'_>) {
        let (mut missing, mut extra) = (Counted::default(), Counted::default());
        let whole = self.whole_nodes().map(|(from, to)| (from.path.clone(), to.path.clone()));
        let (whole, links): (BTreeSet<_>, _) = (whole.collect(), self.links());
        for (from, to) in links.union(&whole) {
            // Of two wholes one has no leaves, so those of the other were dropped or filled.
            let is_whole = whole.contains(&(from.clone(), to.clone()));
            missing.partners(from);
            extra.partners(to);
            let (old, new) = (&self.before.tree.treedef, &self.after.tree.treedef);
            let Some((a, b)) = old.node(from).ok().zip(new.node(to).ok()) else { continue };
            for difference in differences_below(a, b) {
                let (was, is) = (from.join(&difference.path), to.join(&difference.path));
                let empty = |found: Option<(Path, NodeRef<'_>)>| {
                    let found = found.filter(|(_, node)| is_whole || node.num_leaves() == 0);
                    found.map(|(path, _)| path)
                };
                let (was, is) = (empty(old.find(&was).ok()), empty(new.find(&is).ok()));
                match (difference.kind, was, is) {
                    (DifferenceKind::Missing, Some(was), _) => missing.count(from, was),
                    (DifferenceKind::Extra, _, Some(is)) => extra.count(to, is),
                    (
                        DifferenceKind::Missing | DifferenceKind::Extra | DifferenceKind::Name,
                        ..,
                    ) => {}
                    (_, Some(_), Some(path)) => {
                        self.migration.changed.push(Difference { path, ..difference });
                    }
                    _ => {}
                }
            }
        }
        let first = self.before.nodes.len();
        missing.in_all().for_each(|path| self.before.push(&path, None));
        extra.in_all().for_each(|path| self.after.push(&path, None));
        if first == self.before.nodes.len() {
            return;
        }
        // There are no leaves that could differ.
        drop(self.follow_fixed(first, &HashSet::new(), rebuild));
    }

    /// The nodes that leaves went from and to: those that only one side has, and those below them
    /// whose paths end differently.
    fn links(&mut self) -> BTreeSet<(Path, Path)> {
        self.pairs.sort_unstable();
        let mut links = BTreeSet::new();
        let mut last = None;
        for (from, to) in &self.pairs {
            let nodes = self.before.index_of(*from).zip(self.after.index_of(*to));
            let Some((a, b)) = nodes.filter(|_| nodes != last) else { continue };
            last = nodes;
            if let Some((a, b)) = self.before.nodes.get(a).zip(self.after.nodes.get(b))
                && (has_leafless(a.node) || has_leafless(b.node))
            {
                links.insert((a.path.clone(), b.path.clone()));
            }
        }
        if !links.is_empty() {
            let ways = ways(&self.before, &self.after, &self.pairs);
            let is_node = |side: &Side<'_>, path: &Path| {
                side.tree.treedef.node(path).is_ok_and(|node| has_leafless(Some(node)))
            };
            let ways = ways.into_iter().map(|way| (way.from, way.to));
            links.extend(
                ways.filter(|(from, to)| is_node(&self.before, from) || is_node(&self.after, to)),
            );
        }
        links
    }
}

/// Whether something at or below a node has no leaves.
fn has_leafless(node: Option<NodeRef<'_>>) -> bool {
    node.is_some_and(|node| node.subtree().iter().any(|node| node.leaves == 0))
}

/// What some nodes lack that are partners of one node.
#[derive(Default)]
struct Counted {
    partners: HashMap<Path, usize>,
    /// What a partner lacks, behind the node that has it.
    lacking: Vec<(Path, Path)>,
}

impl Counted {
    fn partners(&mut self, of: &Path) {
        *self.partners.entry(of.clone()).or_default() += 1;
    }

    fn count(&mut self, of: &Path, path: Path) {
        self.lacking.push((of.clone(), path));
    }

    /// What all partners lack.
    fn in_all(self) -> impl Iterator<Item = Path> {
        let mut counts = HashMap::<Path, usize>::new();
        for (_, path) in &self.lacking {
            *counts.entry(path.clone()).or_default() += 1;
        }
        let mut seen = HashSet::new();
        let partners = self.partners;
        self.lacking.into_iter().filter_map(move |(of, path)| {
            let all = counts.get(&path) >= partners.get(&of);
            (all && seen.insert(path.clone())).then_some(path)
        })
    }
}
