//! Finds a child among many different ones without visiting those before it.

use crate::model::{Node, RunIndex, RunMark};

/// The number of runs of children between two marks of a node.
const STEP: usize = 16;

/// A structure with fewer nodes has no index: visiting them all takes about as long as using an
/// index.
pub(crate) const INDEXED: usize = 4 * STEP;

impl Node {
    /// Whether this node may have enough runs of children for marks in the index.
    #[inline]
    pub(crate) fn is_wide(&self) -> bool {
        self.children > STEP && self.span() > STEP
    }
}

impl RunIndex {
    /// Visits each node once, as a child.
    pub(crate) fn of(nodes: &[Node]) -> Self {
        let (mut wide, mut marks) = (Vec::new(), Vec::new());
        for (at, node) in nodes.iter().enumerate().filter(|(_, node)| node.is_wide()) {
            let first = marks.len();
            let mut mark = RunMark { run: at + 1, children: 0, leaves: 0, maps: 0 };
            let mut runs = 0;
            while let Some(run) = nodes.get(mark.run).filter(|_| mark.run < at + node.span()) {
                if runs > 0 && runs % STEP == 0 {
                    marks.push(mark);
                }
                runs += 1;
                // No overflow: the node has the sums (invariant 2).
                mark.children += run.repeat;
                mark.leaves += run.repeat * run.leaves;
                mark.maps += run.repeat * run.maps;
                mark.run += run.span();
            }
            if marks.len() > first {
                wide.push((at, first));
            }
        }
        RunIndex { wide, marks }
    }

    /// The last mark of a node that is not after the wanted child.
    pub(crate) fn last_mark(
        &self,
        node: usize,
        is_before: impl Fn(&RunMark) -> bool,
    ) -> Option<RunMark> {
        let at = self.wide.binary_search_by_key(&node, |(node, _)| *node).ok()?;
        let (_, first) = self.wide.get(at)?;
        let end = self.wide.get(at + 1).map_or(self.marks.len(), |(_, next)| *next);
        let marks = self.marks.get(*first..end)?;
        marks.partition_point(is_before).checked_sub(1).and_then(|last| marks.get(last)).copied()
    }
}
