//! Nodes that plain data may be read from without a step of the cursor: structs, tuples, units and
//! `Option`s of leaves.
//!
//! A type mostly makes the same requests, which are known at compile time. So each is compared with
//! one number. Types whose requests vary work as well, but are slower.

use std::cell::Cell;

use crate::error::{Matched, Mismatch};
use crate::leaf::bits::MOST_PLAIN_LEAVES;
use crate::model::{Labels, Leaf, Node, NodeData, NodeKind};
use crate::treedef::node_ref::is_name;

/// The most compounds of a layout.
const MOST_COMPOUNDS: usize = MOST_PLAIN_LEAVES / 4;

/// The compounds of a node and its subtree in pre-order, and the leaves between them.
pub(super) struct Layout {
    compounds: [Compound; MOST_COMPOUNDS],
    num_compounds: usize,
    pub(super) leaves: usize,
    /// How many leaves come after the last compound begins.
    last_leaves: usize,
}

#[derive(Clone, Copy, Default)]
struct Compound {
    code: u64,
    /// The index of its node data.
    data: usize,
}

/// The code of a compound which comes after `leaves` leaves, at most [`MOST_PLAIN_LEAVES`], since the one
/// before.
#[inline(always)]
fn code(kind: NodeKind, children: usize, leaves: usize) -> u64 {
    const TOO_MANY: usize = 0xffff_ffff;
    (kind as u64) << 40 | (leaves as u64) << 32 | children.min(TOO_MANY) as u64
}

impl Layout {
    /// Becomes the layout of the first node with its subtree, if it has one.
    fn fill(&mut self, nodes: &[Node]) -> Option<()> {
        let node = nodes.first().filter(|node| node.leaves <= MOST_PLAIN_LEAVES)?;
        self.leaves = node.leaves;
        self.add(nodes)
    }

    /// Recursion ends at the latest when there are too many compounds.
    fn add(&mut self, nodes: &[Node]) -> Option<()> {
        use NodeKind as Is;
        let own = nodes.first()?;
        let code = code(own.kind, own.children, self.last_leaves);
        match own.kind {
            Is::Leaf => self.last_leaves += 1, // at most the leaves
            kind if kind.is_fixed() => {
                *self.compounds.get_mut(self.num_compounds)? = Compound { code, data: own.data() };
                self.num_compounds += 1;
                self.last_leaves = 0;
            }
            _ => return None,
        }
        let mut runs = nodes.get(1..own.span())?;
        while let Some(run) = runs.first() {
            match run.kind {
                Is::Leaf => self.last_leaves += run.repeat, // as above
                _ => (0..run.repeat).try_for_each(|_| self.add(runs))?,
            }
            runs = runs.get(run.span()..)?;
        }
        Some(())
    }
}

/// A node whose layout is known.
pub(super) struct FixedNode<'de> {
    pub(super) layout: Layout,
    node_data: &'de [NodeData],
    pub(super) compact: bool,
    /// For each compound, a type's list of fields that is known to match the node's.
    known_fields: [Cell<&'static [&'static str]>; MOST_COMPOUNDS],
    /// Room for leaves that are neither `f64` nor `Leaf`, and are converted before they are read.
    pub(super) converted: Vec<Leaf>,
}

impl<'de> FixedNode<'de> {
    /// One without a layout, for a node of a structure with this node data.
    #[inline(always)]
    pub(super) fn new(node_data: &'de [NodeData], compact: bool) -> Self {
        let compounds = [Compound::default(); MOST_COMPOUNDS];
        FixedNode {
            layout: Layout { compounds, num_compounds: 0, leaves: 0, last_leaves: 0 },
            node_data,
            compact,
            known_fields: [const { Cell::new(&[]) }; MOST_COMPOUNDS],
            converted: Vec::new(),
        }
    }

    /// Becomes the first of these nodes, if that has a layout. In its place: moving it takes as long as reading four
    /// numbers.
    pub(super) fn fill(&mut self, nodes: &[Node]) -> Option<()> {
        self.layout.fill(nodes)
    }

    /// Whether a type has the fields of a struct, in their order, if it has as many.
    #[inline(always)]
    fn has_fields(&self, compound: usize, fields: &'static [&'static str]) -> bool {
        self.known_fields.get(compound).is_some_and(|known| {
            known.get().as_ptr() == fields.as_ptr() || self.compare(compound, known, fields)
        })
    }

    #[inline(never)]
    fn compare(
        &self,
        compound: usize,
        known: &Cell<&'static [&'static str]>,
        fields: &'static [&'static str],
    ) -> bool {
        let data = self.layout.compounds.get(compound).and_then(|own| self.node_data.get(own.data));
        let Some(NodeData { labels: Labels::Fields(own), .. }) = data else { return false };
        let are_equal = own.len() == fields.len()
            && own.iter().zip(fields).all(|(own, field)| is_name(own, field));
        if are_equal {
            known.set(fields);
        }
        are_equal
    }
}

/// A walk over a value that should have a known layout. `window` is where the leaves come from.
pub(super) struct LayoutSteps<'w, 'n, W> {
    pub(super) node: &'w FixedNode<'n>,
    compounds: usize,
    pub(super) leaves: usize,
    /// How many leaves came since the last compound.
    last_leaves: usize,
    pub(super) window: W,
}

impl<'w, 'n, W> LayoutSteps<'w, 'n, W> {
    /// A walk before the first request.
    #[inline(always)]
    pub(super) fn new(node: &'w FixedNode<'n>, window: W) -> Self {
        LayoutSteps { node, compounds: 0, leaves: 0, last_leaves: 0, window }
    }

    /// Whether exactly the requests of the layout were made.
    #[inline(always)]
    pub(super) fn is_complete(&self) -> bool {
        let Layout { num_compounds, last_leaves, .. } = self.node.layout;
        (self.compounds, self.last_leaves) == (num_compounds, last_leaves)
    }

    /// Passes a leaf.
    #[inline(always)]
    pub(super) fn leaf(&mut self) -> Matched<()> {
        if self.leaves >= MOST_PLAIN_LEAVES {
            return Err(Mismatch);
        }
        self.leaves += 1;
        self.last_leaves += 1;
        Ok(())
    }

    /// Passes the beginning of a compound.
    #[inline(always)]
    pub(super) fn compound(&mut self, kind: NodeKind, children: usize) -> Matched<()> {
        if !self.is_next(kind, children) {
            return Err(Mismatch);
        }
        (self.compounds, self.last_leaves) = (self.compounds + 1, 0); // one of them
        Ok(())
    }

    /// Whether a compound of this kind comes next.
    #[inline(always)]
    pub(super) fn is_next(&self, kind: NodeKind, children: usize) -> bool {
        let Layout { compounds, .. } = &self.node.layout;
        let next = compounds.get(self.compounds);
        next.is_some_and(|next| next.code == code(kind, children, self.last_leaves))
    }

    /// Whether the next compound has these fields, if it is a struct.
    #[inline(always)]
    pub(super) fn has_fields(&self, fields: &'static [&'static str]) -> bool {
        self.node.has_fields(self.compounds, fields)
    }
}
