//! Checks of [`Limits`]: the size of a result is computed first, and refused if it exceeds a limit.
//!
//! - *Structures.* Every structure that an operation or a parser makes is checked by
//!   [`Limits::check`]. Structures that are loaded or saved are checked against the same limits and
//!   the file's size. So every built structure can be printed, parsed back, saved and loaded.
//!   All sizes are counted in nodes, and 16 bytes of names or texts are one more.
//! - *Leaves, columns and trees.* [`Limits::expect_work`] is called before they are made, unless as
//!   many leaves are already in memory.
//! - A [`Tree`] has at most as many leaves as fit into memory or as the limits allow: [`Tree::new`]
//!   counts leaves without a size.

use crate::error::{Cause, Error, Result};
use crate::leaf::Scalar;
use crate::model::{Content, Encoding, Labels, Leaf, Limits, NodeData, NodeKind, TreeDef, Value};
use crate::treedef::node_ref::NodeRef;

/// An addition to a limit, for each leaf or node in memory.
const WORK_PER_LEAF: usize = 64;

/// The bytes of names for each byte of a file, and the nodes for each byte of names beyond that.
#[cfg(feature = "persist")]
const NAMES_PER_BYTE: usize = 16;

#[cfg(feature = "persist")]
const NODES_PER_NAME_BYTE: usize = 16;

const MORE_WORK: &str = "see `Limits::max_work`";

impl Limits {
    /// The greater of the two for each field: the limits of a structure that is made from two.
    pub(crate) fn max(self, other: Limits) -> Self {
        Limits {
            max_depth: self.max_depth.max(other.max_depth),
            max_work: self.max_work.max(other.max_work),
            max_bytes: self.max_bytes.max(other.max_bytes),
            max_nodes: self.max_nodes.max(other.max_nodes),
        }
    }

    /// Checks that `needed` nodes may be visited or made while `leaves` leaves are in memory.
    pub(crate) fn expect_work(self, needed: usize, leaves: usize) -> Result<()> {
        let limit = self.max_work.saturating_add(leaves.saturating_mul(WORK_PER_LEAF));
        if needed <= limit { Ok(()) } else { Err(too_much_work(needed, limit)) }
    }

    pub(crate) fn expect_depth(self, depth: usize) -> Result<()> {
        if depth <= self.max_depth {
            return Ok(());
        }
        let error = Error::from(Cause::Depth { limit: self.max_depth });
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
        let limit = (self.max_work / NODES_PER_NAME_BYTE)
            .saturating_add(bytes.saturating_mul(NAMES_PER_BYTE));
        at_most("bytes of names", names, limit, MORE_WORK)
    }

    /// Checks the size to which a parser expands the text, and which printing visits.
    pub(crate) fn expect_printed(self, encoding: &Encoding) -> Result<()> {
        self.expect_work(encoding.printed(&NodeData::expanded), 0)?;
        self.expect_work(encoding.printed(&|data| 1 + data.work()), encoding.stored())
    }

    /// Checks a structure against all limits.
    pub(super) fn check(self, treedef: &TreeDef) -> Result<()> {
        let encoding = &*treedef.encoding;
        self.expect_nodes(encoding.nodes.len())?;
        self.expect_depth(treedef.root().levels())?;
        self.expect_printed(encoding)
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
    Cause::Limit { what, needed: needed as u64, limit }.into()
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
    /// The bytes of all names in memory, including the names in keys and statics. The recursion is as
    /// deep as the nesting of keys.
    pub(crate) fn bytes_of_names(&self) -> usize {
        let mut bytes = 0usize;
        for data in &self.node_data {
            bytes = bytes.saturating_add(data.bytes_of_names());
            for value in data.values() {
                bytes = bytes.saturating_add(value.bytes_of_names());
            }
        }
        bytes
    }
}

impl Encoding {
    /// The size in memory, in nodes. 16 bytes of text count as one.
    pub(crate) fn stored(&self) -> usize {
        let of_data = |data: &NodeData| {
            let values = data.values().iter().map(Value::stored);
            values.fold(data.names_in_nodes(), usize::saturating_add)
        };
        self.node_data.iter().map(of_data).fold(self.nodes.len(), usize::saturating_add)
    }

    /// The sum of `of` over all nodes of the text. The text has each field and entry, but a run of elements
    /// once, as `x; n`, if there are at least five or `x` has children.
    pub(crate) fn printed(&self, of: &dyn Fn(&NodeData) -> usize) -> usize {
        use NodeKind as Is;
        let costs: Vec<usize> = self.node_data.iter().map(of).collect();
        let without_data = of(&NodeData::default());
        let mut sum = 0usize;
        // For each open parent: its end, its kind, and how often the text has it.
        let mut open: Vec<(usize, NodeKind, usize)> = Vec::new();
        for (at, node) in self.nodes.iter().enumerate() {
            while open.pop_if(|(end, ..)| *end <= at).is_some() {}
            let (parent, around) =
                open.last().map_or((Is::Some, 1), |(_, kind, times)| (*kind, *times));
            let listed = matches!(parent, Is::Seq | Is::Tuple | Is::TupleStruct | Is::TupleVariant);
            let once = listed && (node.repeat >= 5 || node.children > 0);
            let times = if once { around } else { around.saturating_mul(node.repeat) };
            let own = costs.get(node.data()).copied().unwrap_or(without_data);
            sum = sum.saturating_add(own.saturating_mul(times));
            open.push((at + node.span(), node.kind, times));
        }
        sum
    }
}

impl NodeRef<'_> {
    /// The nesting depth of compounds at and below this node, as a `usize`.
    pub(crate) fn levels(self) -> usize {
        usize::try_from(self.depth()).unwrap_or(usize::MAX)
    }
}

/// The number of items that use memory: 0 if their type is zero-sized.
pub(crate) fn in_memory<T>(items: &[T]) -> usize {
    if size_of::<T>() == 0 { 0 } else { items.len() }
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

impl NodeData {
    /// The part of a node's work that comes from its names, keys or static.
    pub(crate) fn work(&self) -> usize {
        self.values().iter().map(Value::work).fold(self.names_in_nodes(), usize::saturating_add)
    }

    /// The bytes of the type, the variant and the fields.
    fn bytes_of_names(&self) -> usize {
        let mut bytes = self.name.len().saturating_add(self.variant.len());
        if let Labels::Fields(fields) = &self.labels {
            for field in fields {
                bytes = bytes.saturating_add(field.len());
            }
        }
        bytes
    }

    fn names_in_nodes(&self) -> usize {
        in_nodes(self.bytes_of_names())
    }

    /// The nodes, leaves and texts of keys and statics to which `; n` in the text expands.
    pub(crate) fn expanded(&self) -> usize {
        let compounds = self.values().iter().filter(|value| value.treedef().is_some());
        compounds.map(Value::work).fold(0, usize::saturating_add)
    }
}

impl Value {
    #[cfg(feature = "persist")]
    pub(crate) fn bytes_of_names(&self) -> usize {
        self.treedef().map_or(0, |treedef| treedef.encoding.bytes_of_names())
    }

    /// The number of nodes that are visited when the value is compared, printed or rebuilt.
    #[inline]
    pub(crate) fn work(&self) -> usize {
        match &self.0 {
            Content::Scalar(Leaf::Str(text)) => 1 + in_nodes(text.len()), // most are of this kind
            _ => self.work_of_any(),
        }
    }

    fn work_of_any(&self) -> usize {
        self.root_node().map_or(1, |root| root.work).saturating_add(self.text_in_nodes())
    }

    pub(crate) fn stored(&self) -> usize {
        let nodes = self.treedef().map_or(0, |treedef| treedef.encoding.stored());
        nodes.saturating_add(self.num_leaves()).saturating_add(self.text_in_nodes())
    }

    fn text_in_nodes(&self) -> usize {
        let is_text = |leaf: &Leaf| matches!(leaf, Leaf::Str(_) | Leaf::Bytes(_));
        match &self.0 {
            Content::Tree(_, leaves) if !leaves.iter().any(is_text) => 0, // as in most keys
            _ => self.texts_in_nodes(),
        }
    }

    #[inline(never)]
    fn texts_in_nodes(&self) -> usize {
        self.scalars().map(Scalar::text_in_nodes).fold(0, usize::saturating_add)
    }
}

impl Scalar<'_> {
    pub(crate) fn text_in_nodes(self) -> usize {
        match self {
            Scalar::Str(text) => in_nodes(text.len()),
            Scalar::Bytes(bytes) => in_nodes(bytes.len()),
            _ => 0,
        }
    }
}

/// 16 bytes of text cost as much as a node.
pub(crate) fn in_nodes(bytes: usize) -> usize {
    bytes / 16
}
