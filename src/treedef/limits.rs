//! The guard: what an operation is about to make is counted first, and refused if that is beyond the [`Limits`].
//!
//! - *Structures.* [`Limits::check`] is passed by every structure that an operation or a parser makes. What is read from
//!   a file, and what is saved, passes the same bounds with the bytes of the file at hand. So what is built prints,
//!   parses back, saves and loads.
//! - *Leaves, columns and trees.* [`Limits::expect_work`] is passed before they are made, unless they are as many as
//!   leaves that are in memory already.
//! - A [`Tree`] has no more leaves than memory holds or the limits allow: [`Tree::new`] counts leaves without a size.

use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Content, Encoding, Labels, Leaf, Limits, Node, NodeKind, Shape, TreeDef, Value,
};
use crate::treedef::node::NodeRef;

/// What is allowed beyond a limit for each leaf, or byte, that is there.
const WORK_A_LEAF: usize = 64;
const A_BYTE: usize = 16;

impl Limits {
    /// Refuses to visit or make more than the limits allow where so many leaves are in memory.
    pub(crate) fn expect_work(self, needed: usize, leaves: usize) -> Result<()> {
        let limit = self.max_work.saturating_add(leaves.saturating_mul(WORK_A_LEAF));
        match needed <= limit {
            true => Ok(()),
            false => {
                Err(Error::from(ErrorKind::Work { needed, limit })
                    .with_hint("see `Limits::max_work`"))
            }
        }
    }

    pub(crate) fn expect_depth(self, depth: usize) -> Result<()> {
        match depth <= self.max_depth {
            true => Ok(()),
            false => {
                let error = Error::from(ErrorKind::Depth { limit: self.max_depth });
                Err(error.with_hint("see `Limits::max_depth`"))
            }
        }
    }

    pub(crate) fn expect_nodes(self, nodes: usize) -> Result<()> {
        at_most("nodes", nodes, self.max_nodes)
            .map_err(|error| error.with_hint("see `Limits::max_nodes`"))
    }

    #[cfg(feature = "persist")]
    pub(crate) fn expect_bytes(self, bytes: usize) -> Result<()> {
        at_most("bytes", bytes, self.max_bytes)
            .map_err(|error| error.with_hint("see `Limits::max_bytes`"))
    }

    /// Refuses names beyond the limits that a part of a file, of so many bytes, makes in memory.
    #[cfg(feature = "persist")]
    pub(crate) fn expect_names(self, names: usize, bytes: usize) -> Result<()> {
        let limit = self.max_names.saturating_add(bytes.saturating_mul(A_BYTE));
        at_most("bytes of names", names, limit)
            .map_err(|error| error.with_hint("see `Limits::max_names`"))
    }

    /// Refuses a text beyond the limits, where it stands for so many bytes.
    pub(crate) fn expect_printed(self, printed: PrintCost, bytes: usize) -> Result<()> {
        self.expect_work(printed.work(), 0)?;
        self.expect_text(printed.text, bytes)
    }

    /// As [`expect_printed`](Self::expect_printed), where the leaves of keys and statics are in memory.
    #[cfg(feature = "persist")]
    pub(crate) fn expect_stored(self, printed: PrintCost, bytes: usize) -> Result<()> {
        self.expect_work(printed.nodes, 0)?;
        self.expect_text(printed.text, bytes)
    }

    fn expect_text(self, text: usize, bytes: usize) -> Result<()> {
        let limit = self.max_text.saturating_add(bytes.saturating_mul(A_BYTE));
        at_most("bytes of text", text, limit)
            .map_err(|error| error.with_hint("see `Limits::max_text`"))
    }

    /// Refuses a structure that is beyond the limits.
    pub(crate) fn check(self, encoding: &Encoding) -> Result<()> {
        self.expect_nodes(encoding.nodes.len())?;
        self.expect_depth(encoding.root().levels())?;
        self.expect_printed(PrintCost::of(encoding), bytes_of(encoding))
    }
}

/// Refuses what is beyond a limit.
pub(crate) fn at_most(what: &'static str, needed: usize, limit: usize) -> Result<()> {
    match needed <= limit {
        true => Ok(()),
        false => Err(ErrorKind::Limit { what, needed: needed as u64, limit }.into()), // never wider
    }
}

#[cfg(feature = "persist")]
impl Encoding {
    /// Bytes of all names in memory, those of keys and statics too. Recurses as deep as keys may nest.
    pub(crate) fn bytes_of_names(&self) -> usize {
        let own = self.shapes.iter().flat_map(Shape::names).map(str::len);
        let values = self.shapes.iter().flat_map(Shape::values).map(Value::bytes_of_names);
        own.chain(values).fold(0, usize::saturating_add)
    }
}

impl Encoding {
    /// What a copy takes, in nodes; 16 bytes of a text are one.
    pub(crate) fn stored(&self) -> usize {
        let shapes = self.shapes.iter().map(|shape| PrintCost::of_shape(shape).text / 16 + 1);
        shapes.fold(self.nodes.len(), usize::saturating_add)
    }
}

/// No more bytes than a file of the structure has: its rows of nodes, and those and the scalars of keys and statics.
/// Recurses as deep as keys may nest.
fn bytes_of(encoding: &Encoding) -> usize {
    const ROW: usize = 17;
    let inside = |value: &Value| match &value.0 {
        Content::Scalar(_) => 1,
        Content::Tree(tree) => bytes_of(&tree.treedef.encoding).saturating_add(tree.leaves.len()),
    };
    let values = encoding.shapes.iter().flat_map(Shape::values).map(inside);
    values.fold(encoding.nodes.len().saturating_mul(ROW), usize::saturating_add)
}

impl TreeDef {
    /// What rebuilding from this treedef may cost.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The same treedef with other limits. They then bound the work of rebuilding, too, that is else allowed because a
    /// value was walked to make the treedef.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        (self.limits, self.walked) = (limits, false);
        self
    }

    /// The structure, unless it is beyond its limits.
    pub(crate) fn within_limits(self) -> Result<TreeDef> {
        self.limits.check(&self.encoding)?;
        Ok(self)
    }

    /// Refuses to visit every node of what has more of them than the limits allow for so many leaves.
    pub(crate) fn expect_work(&self, leaves: usize) -> Result<()> {
        self.expect_made(self.root().work(), leaves)
    }

    /// Refuses to make so many parts of this structure where so many leaves are in memory, unless a walk made as many.
    pub(crate) fn expect_made(&self, needed: usize, leaves: usize) -> Result<()> {
        if self.walked { Ok(()) } else { self.limits.expect_work(needed, leaves) }
    }
}

impl NodeRef<'_> {
    /// Compounds inside each other at and below this node: more than memory holds, if they are that many.
    pub(crate) fn levels(self) -> usize {
        usize::try_from(self.depth()).unwrap_or(usize::MAX)
    }
}

/// How many of these are in memory: none that have no size.
pub(crate) fn in_memory<T>(items: &[T]) -> usize {
    if size_of::<T>() == 0 { 0 } else { items.len() }
}

/// What printing costs, and parsing what was printed.
#[derive(Clone, Copy, Default)]
pub(crate) struct PrintCost {
    /// Bytes, about: what is escaped counts as one.
    pub(crate) text: usize,
    /// Nodes of keys and statics, which a parser has to expand: those that are no leaves, and those that are.
    pub(crate) nodes: usize,
    pub(crate) leaves: usize,
}

impl PrintCost {
    /// `*, `, or what is around children.
    pub(crate) const NODE: PrintCost = PrintCost { text: 3, nodes: 0, leaves: 0 };

    pub(crate) fn of(encoding: &Encoding) -> Self {
        let shapes: Vec<PrintCost> = encoding.shapes.iter().map(PrintCost::of_shape).collect();
        PrintCost::of_nodes(&encoding.nodes, &shapes)
    }

    /// From the last node to the first, so that children come before their parent.
    fn of_nodes(nodes: &[Node], shapes: &[PrintCost]) -> Self {
        // Of the subtrees that are complete, the first one last; with where each stands.
        let mut complete: Vec<(usize, PrintCost)> = Vec::new();
        for (at, node) in nodes.iter().enumerate().rev() {
            let own = shapes.get(node.shape).copied().unwrap_or_default();
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

    fn of_shape(shape: &Shape) -> Self {
        let text = shape.names().map(|name| name.len().saturating_add(2));
        let own = PrintCost::of_text(text.fold(0, usize::saturating_add));
        let values =
            shape.values().iter().map(|value| PrintCost::of_value(value).and(PrintCost::NODE));
        values.fold(own, PrintCost::and)
    }

    /// Recurses as deep as keys may nest.
    pub(crate) fn of_value(value: &Value) -> Self {
        let leaves = value.leaves();
        let printed =
            leaves.iter().map(PrintCost::of_leaf).fold(PrintCost::default(), PrintCost::and);
        printed.and(value.printed_structure())
    }

    /// Nodes of keys and statics, leaves included.
    pub(crate) fn work(self) -> usize {
        self.nodes.saturating_add(self.leaves)
    }

    pub(crate) fn of_text(text: usize) -> Self {
        PrintCost { text, ..PrintCost::default() }
    }

    pub(crate) fn of_leaf(leaf: &Leaf) -> Self {
        PrintCost::of_text(match leaf {
            Leaf::Str(text) => text.len().saturating_add(2),
            Leaf::Bytes(bytes) => bytes.len().saturating_mul(4),
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

    /// Without what was added before.
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

/// How often a run of children is printed: once as `x; n`, which stands where n is 5 or x has children.
pub(crate) fn times_printed(parent: NodeKind, child: &Node) -> usize {
    use NodeKind as Is;
    let as_run = matches!(parent, Is::Seq | Is::Tuple | Is::TupleStruct | Is::TupleVariant)
        && (child.repeat >= 5 || child.children > 0);
    if as_run { 1 } else { child.repeat }
}

impl Shape {
    /// All names: of the type, of the variant, of the fields.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let fields = match &self.labels {
            Labels::Fields(fields) => &fields[..],
            _ => &[],
        };
        [&self.name, &self.variant].into_iter().chain(fields).map(|name| name.as_ref())
    }
}

impl Shape {
    /// The keys, or the static.
    fn values(&self) -> &[Value] {
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
        match &self.0 {
            Content::Scalar(_) => 0,
            Content::Tree(tree) => tree.treedef.encoding.bytes_of_names(),
        }
    }

    fn printed_structure(&self) -> PrintCost {
        let Content::Tree(tree) = &self.0 else { return PrintCost::default() };
        let leaves = tree.leaves.len();
        let nodes = self.work().saturating_sub(leaves);
        PrintCost::of(&tree.treedef.encoding).and(PrintCost { text: 0, nodes, leaves })
    }
}
