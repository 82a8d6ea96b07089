//! Checks of [`Limits`]: the size of a result is computed first, and refused if it exceeds a limit.
//!
//! - *Structures.* Every structure that an operation or a parser makes is checked by
//!   [`Limits::check`]. Structures that are loaded or saved are checked against the same limits and
//!   the file's size. So every built structure can be printed, parsed back, saved and loaded.
//! - *Leaves, columns and trees.* [`Limits::expect_work`] is called before they are made, unless as
//!   many leaves are already in memory.
//! - A [`Tree`] has at most as many leaves as fit into memory or as the limits allow: [`Tree::new`]
//!   counts leaves without a size.

use crate::error::{Error, ErrorKind, Result};
use crate::leaf::Scalar;
use crate::model::{Encoding, Labels, Limits, Node, NodeData, NodeKind, TreeDef, Value};
use crate::treedef::node_ref::NodeRef;

/// What is allowed in addition to a limit, for each leaf or byte in memory.
const WORK_PER_LEAF: usize = 64;
const PER_BYTE: usize = 16;

/// The bytes of text for each node that may be visited, and the nodes for each byte of names.
const TEXT_PER_NODE: usize = 8;
#[cfg(feature = "persist")]
const NODES_PER_NAME_BYTE: usize = 16;

/// The bytes of a node in a file.
pub(crate) const NODE_ROW: usize = 17;

const MORE_WORK: &str = "see `Limits::max_work`";

impl Limits {
    /// Checks that `needed` nodes may be visited or made while `leaves` leaves are in memory.
    pub(crate) fn expect_work(self, needed: usize, leaves: usize) -> Result<()> {
        let limit = self.max_work.saturating_add(leaves.saturating_mul(WORK_PER_LEAF));
        if needed <= limit { Ok(()) } else { Err(too_much_work(needed, limit)) }
    }

    pub(crate) fn expect_depth(self, depth: usize) -> Result<()> {
        if depth <= self.max_depth {
            return Ok(());
        }
        let error = Error::from(ErrorKind::Depth { limit: self.max_depth });
        Err(error.with_hint("see `Limits::max_depth`"))
    }

    pub(crate) fn expect_nodes(self, nodes: usize) -> Result<()> {
        at_most("nodes", nodes, self.max_nodes, "see `Limits::max_nodes`")
    }

    #[cfg(feature = "persist")]
    pub(crate) fn expect_bytes(self, bytes: usize) -> Result<()> {
        at_most("bytes", bytes, self.max_bytes, "see `Limits::max_bytes`")
    }

    /// Checks the bytes of names in memory that a part of a file needs. The part has `bytes` bytes.
    #[cfg(feature = "persist")]
    pub(crate) fn expect_names(self, names: usize, bytes: usize) -> Result<()> {
        let limit =
            (self.max_work / NODES_PER_NAME_BYTE).saturating_add(bytes.saturating_mul(PER_BYTE));
        at_most("bytes of names", names, limit, MORE_WORK)
    }

    /// Checks the cost of printing a structure that takes `bytes` bytes in a file.
    pub(crate) fn expect_printed(self, printed: PrintCost, bytes: usize) -> Result<()> {
        self.expect_work(printed.work(), 0)?;
        self.expect_text(printed.text, bytes)
    }

    /// Like [`expect_printed`](Self::expect_printed), if leaves of keys and statics are in memory.
    #[cfg(feature = "persist")]
    pub(crate) fn expect_stored(self, printed: PrintCost, bytes: usize) -> Result<()> {
        self.expect_work(printed.nodes, 0)?;
        self.expect_text(printed.text, bytes)
    }

    fn expect_text(self, text: usize, bytes: usize) -> Result<()> {
        let text_of_work = self.max_work.saturating_mul(TEXT_PER_NODE);
        let limit = text_of_work.saturating_add(bytes.saturating_mul(PER_BYTE));
        at_most("bytes of text", text, limit, MORE_WORK)
    }

    /// Checks a structure against all limits.
    fn check(self, treedef: &TreeDef) -> Result<()> {
        let encoding = &*treedef.encoding;
        self.expect_nodes(encoding.nodes.len())?;
        self.expect_depth(treedef.root().levels())?;
        self.expect_printed(PrintCost::of(encoding), bytes_of(encoding))
    }
}

/// The error of an operation that would visit or make more nodes, leaves or parts than it may.
#[cold]
pub(crate) fn too_much_work(needed: usize, limit: usize) -> Error {
    beyond("nodes to visit", needed, limit).with_hint(MORE_WORK)
}

#[cold]
pub(crate) fn beyond(what: &'static str, needed: usize, limit: usize) -> Error {
    // `usize` is at most 64 bits wide.
    ErrorKind::Limit { what, needed: needed as u64, limit }.into()
}

/// Returns an error with a hint if `needed` exceeds `limit`.
pub(crate) fn at_most(
    what: &'static str,
    needed: usize,
    limit: usize,
    hint: &'static str,
) -> Result<()> {
    if needed <= limit { Ok(()) } else { Err(beyond(what, needed, limit).with_hint(hint)) }
}

#[cfg(feature = "persist")]
impl Encoding {
    /// The bytes of all names in memory, including those of keys and statics. The recursion is as
    /// deep as the nesting of keys.
    pub(crate) fn bytes_of_names(&self) -> usize {
        let own = self.node_data.iter().flat_map(NodeData::names).map(str::len);
        let values = self.node_data.iter().flat_map(NodeData::values).map(Value::bytes_of_names);
        own.chain(values).fold(0, usize::saturating_add)
    }
}

impl Encoding {
    /// The size of a copy, in nodes. 16 bytes of text count as one node.
    pub(crate) fn stored(&self) -> usize {
        let node_data = self.node_data.iter().map(|data| PrintCost::of_data(data).text / 16 + 1);
        node_data.fold(self.nodes.len(), usize::saturating_add)
    }
}

/// A lower bound for the size of the structure in a file: its rows of nodes, and the rows and
/// scalars of its keys and statics. The recursion is as deep as the nesting of keys.
fn bytes_of(encoding: &Encoding) -> usize {
    let inside = |value: &Value| match value.treedef() {
        None => 1,
        Some(treedef) => bytes_of(&treedef.encoding).saturating_add(treedef.num_leaves()),
    };
    let values = encoding.node_data.iter().flat_map(NodeData::values).map(inside);
    values.fold(encoding.nodes.len().saturating_mul(NODE_ROW), usize::saturating_add)
}

impl TreeDef {
    /// The limits on what this treedef may cost.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Replaces the limits.
    ///
    /// They also bound the work of rebuilding. Without this call, a treedef that was made from a
    /// value allows any amount of that work.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        (self.limits, self.walked) = (limits, false);
        self
    }

    /// Returns the structure, or an error if it exceeds its limits.
    pub(crate) fn within_limits(self) -> Result<TreeDef> {
        self.limits.check(&self)?;
        Ok(self)
    }

    /// Checks that all nodes may be visited while `leaves` leaves are in memory.
    pub(crate) fn expect_work(&self, leaves: usize) -> Result<()> {
        self.expect_made(self.root().work(), leaves)
    }

    /// Checks that `needed` parts of this structure may be made while `leaves` leaves are in
    /// memory. Always succeeds if the treedef was made from a value.
    pub(crate) fn expect_made(&self, needed: usize, leaves: usize) -> Result<()> {
        if self.walked { Ok(()) } else { self.limits.expect_work(needed, leaves) }
    }
}

impl NodeRef<'_> {
    /// The nesting depth of compounds at and below this node, as a `usize`.
    pub(crate) fn levels(self) -> usize {
        usize::try_from(self.depth()).unwrap_or(usize::MAX)
    }
}

/// The number of items that take memory: 0 if their type has no size.
pub(crate) fn in_memory<T>(items: &[T]) -> usize {
    if size_of::<T>() == 0 { 0 } else { items.len() }
}

/// The cost of printing, and of parsing the printed text.
#[derive(Clone, Copy, Default)]
pub(crate) struct PrintCost {
    /// Approximate number of bytes. An escaped byte counts as one.
    pub(crate) text: usize,
    /// Nodes of keys and statics that a parser has to expand: `nodes` without leaves, and `leaves`.
    pub(crate) nodes: usize,
    pub(crate) leaves: usize,
}

impl PrintCost {
    /// `*, ` or the delimiters around children.
    pub(crate) const NODE: PrintCost = PrintCost { text: 3, nodes: 0, leaves: 0 };

    pub(crate) fn of(encoding: &Encoding) -> Self {
        let node_data: Vec<PrintCost> = encoding.node_data.iter().map(PrintCost::of_data).collect();
        PrintCost::of_nodes(&encoding.nodes, &node_data)
    }

    /// Visits the nodes from last to first, so that children come before their parent.
    fn of_nodes(nodes: &[Node], node_data: &[PrintCost]) -> Self {
        // Complete subtrees without a parent yet: the index and cost of each, the first on top.
        let mut complete: Vec<(usize, PrintCost)> = Vec::new();
        for (at, node) in nodes.iter().enumerate().rev() {
            let own = node_data.get(node.data).copied().unwrap_or_default();
            let mut printed = own.and(PrintCost::NODE);
            let end = at + node.span;
            while let Some((child, below)) = complete.pop_if(|(child, _)| *child < end) {
                let times = nodes.get(child).map_or(1, |child| times_printed(node.kind, child));
                printed = printed.and(below.times(times));
            }
            complete.push((at, printed));
        }
        complete.pop().map(|(_, printed)| printed).unwrap_or_default()
    }

    fn of_data(data: &NodeData) -> Self {
        let text = data.names().map(|name| name.len().saturating_add(2));
        let own = PrintCost::of_text(text.fold(0, usize::saturating_add));
        let values =
            data.values().iter().map(|value| PrintCost::of_value(value).and(PrintCost::NODE));
        values.fold(own, PrintCost::and)
    }

    /// The recursion is as deep as the nesting of keys.
    pub(crate) fn of_value(value: &Value) -> Self {
        let scalars = value.scalars().map(PrintCost::of_scalar);
        scalars.fold(PrintCost::default(), PrintCost::and).and(value.printed_structure())
    }

    /// The nodes of keys and statics, including leaves.
    pub(crate) fn work(self) -> usize {
        self.nodes.saturating_add(self.leaves)
    }

    pub(crate) fn of_text(text: usize) -> Self {
        PrintCost { text, ..PrintCost::default() }
    }

    #[cfg(feature = "persist")]
    pub(crate) fn of_leaf(leaf: &crate::model::Leaf) -> Self {
        leaf.as_scalar().map(PrintCost::of_scalar).unwrap_or_default()
    }

    fn of_scalar(scalar: Scalar<'_>) -> Self {
        PrintCost::of_text(match scalar {
            Scalar::Str(text) => text.len().saturating_add(2),
            Scalar::Bytes(bytes) => bytes.len().saturating_mul(4),
            _ => 16,
        })
    }

    pub(crate) fn and(self, other: Self) -> Self {
        PrintCost {
            text: self.text.saturating_add(other.text),
            nodes: self.nodes.saturating_add(other.nodes),
            leaves: self.leaves.saturating_add(other.leaves),
        }
    }

    /// Subtracts a cost that was added before.
    #[cfg(feature = "persist")]
    pub(crate) fn without(self, other: Self) -> Self {
        PrintCost {
            text: self.text.saturating_sub(other.text),
            nodes: self.nodes.saturating_sub(other.nodes),
            leaves: self.leaves.saturating_sub(other.leaves),
        }
    }

    pub(crate) fn times(self, times: usize) -> Self {
        PrintCost {
            text: self.text.saturating_mul(times),
            nodes: self.nodes.saturating_mul(times),
            leaves: self.leaves.saturating_mul(times),
        }
    }
}

/// How often a run of children is printed: once if it prints as `x; n`, otherwise `n` times. The
/// form `x; n` needs a sequence or tuple, and an `n` of at least 5 or an `x` with children.
pub(crate) fn times_printed(parent: NodeKind, child: &Node) -> usize {
    use NodeKind as Is;
    let as_run = matches!(parent, Is::Seq | Is::Tuple | Is::TupleStruct | Is::TupleVariant)
        && (child.repeat >= 5 || child.children > 0);
    if as_run { 1 } else { child.repeat }
}

impl NodeData {
    /// All names: the type, the variant and the fields.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let fields = match &self.labels {
            Labels::Fields(fields) => &fields[..],
            _ => &[],
        };
        [&self.name, &self.variant].into_iter().chain(fields).map(|name| name.as_ref())
    }
}

impl NodeData {
    /// The keys or the static.
    pub(crate) fn values(&self) -> &[Value] {
        match &self.labels {
            Labels::Keys(keys) => keys,
            Labels::Static(value) => std::slice::from_ref(value),
            Labels::None | Labels::Fields(_) => &[],
        }
    }
}

impl Value {
    #[cfg(feature = "persist")]
    pub(crate) fn bytes_of_names(&self) -> usize {
        self.treedef().map_or(0, |treedef| treedef.encoding.bytes_of_names())
    }

    fn printed_structure(&self) -> PrintCost {
        let Some(treedef) = self.treedef() else { return PrintCost::default() };
        let leaves = treedef.num_leaves();
        let nodes = self.work().saturating_sub(leaves);
        PrintCost::of(&treedef.encoding).and(PrintCost { text: 0, nodes, leaves })
    }
}
