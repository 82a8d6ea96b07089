//! The elements of a list by their positions. One stored element may stand for any number of them.

use crate::treedef::node_ref::NodeRef;

use super::node::DiffNode;

/// The elements of a list, in groups of equal neighbours that are handled together.
pub(super) struct ElementGroups<'a> {
    runs: Vec<GroupRun<'a>>,
    len: usize,
    /// Whether leaves are compared.
    has_leaves: bool,
}

/// Groups of one stored node.
struct GroupRun<'a> {
    /// The position of the first group.
    start: usize,
    first: NodeRef<'a>,
    /// The number of elements in each group.
    count: usize,
}

impl<'a> ElementGroups<'a> {
    /// If elements `are_grouped`, a run is one group, unless it has leaves that are compared.
    pub(super) fn of<L>(list: DiffNode<'a, L>, are_grouped: bool) -> Self {
        let (mut runs, mut len, mut has_leaves) = (Vec::new(), 0, false);
        for (first, repeat) in list.node.runs() {
            let has = list.at(first).counts_leaves();
            let is_one = are_grouped && !has;
            has_leaves |= has;
            let (groups, count) = if is_one { (1, repeat) } else { (repeat, 1) };
            runs.push(GroupRun { start: len, first, count });
            len += groups; // at most the number of children
        }
        ElementGroups { runs, len, has_leaves }
    }

    /// The number of groups.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The first element of a group, and their number.
    pub(super) fn get(&self, at: usize) -> Option<(NodeRef<'a>, usize)> {
        let run = self.runs.get(self.run_of(at)?)?;
        Some((run.first.later(at - run.start), run.count))
    }

    /// Whether two nodes are elements of one run that need not be told apart.
    pub(super) fn are_one(&self, a: NodeRef<'_>, b: NodeRef<'_>) -> bool {
        a.is_same_stored_node(b) && !(self.has_leaves && a.num_leaves() > 0)
    }

    fn run_of(&self, at: usize) -> Option<usize> {
        self.runs.partition_point(|run| run.start <= at).checked_sub(1)
    }

    /// Takes the first elements of a group, or with `is_end` the last ones. Returns the number of
    /// groups that are used up: 0 or 1.
    pub(super) fn take(&mut self, at: usize, count: usize, is_end: bool) -> usize {
        let run = self.run_of(at).and_then(|run| self.runs.get_mut(run));
        match run.filter(|run| run.count > count) {
            Some(run) => {
                run.count -= count;
                run.first = run.first.later(if is_end { 0 } else { count });
                0
            }
            None => 1,
        }
    }
}
