//! Reading a value (of a key, a static or an opaque leaf) as a structure with leaves.

use std::sync::LazyLock;

use crate::model::{Content, Encoding, Leaf, Node, NodeKind, Shape, Tree, Value};
use crate::treedef::node::NodeRef;

/// The structure of every scalar: one leaf.
static LEAF: LazyLock<Encoding> = LazyLock::new(|| Encoding {
    options: Default::default(),
    nodes: Box::new([Node {
        kind: NodeKind::Leaf,
        depth: 0,
        shape: Shape::NONE,
        repeat: 1,
        span: 1,
        children: 0,
        leaves: 1,
        maps: 0,
        work: 1,
    }]),
    shapes: Box::new([]),
});

pub(crate) fn scalar_root() -> NodeRef<'static> {
    LEAF.root()
}

impl Value {
    /// The structure and the leaves of the value.
    pub(crate) fn parts(&self) -> (NodeRef<'_>, &[Leaf]) {
        match &self.0 {
            Content::Scalar(leaf) => (scalar_root(), std::slice::from_ref(leaf)),
            Content::Tree(tree) => (tree.treedef.root(), &tree.leaves),
        }
    }

    pub(crate) fn from_tree(mut tree: Tree<Leaf>) -> Self {
        if tree.treedef.root().kind() == NodeKind::Leaf
            && let Some(leaf) = tree.leaves.pop()
        {
            return Value(Content::Scalar(leaf));
        }
        Value(Content::Tree(Box::new(tree)))
    }

    /// The structure of the value.
    pub fn root(&self) -> NodeRef<'_> {
        self.parts().0
    }

    /// The scalars of the value, in order.
    pub fn leaves(&self) -> &[Leaf] {
        self.parts().1
    }

    /// The number of nodes that are visited when the value is compared, printed or rebuilt.
    pub(crate) fn work(&self) -> usize {
        self.root().work()
    }

    /// The nesting depth of compounds.
    pub(crate) fn depth(&self) -> u32 {
        self.root().depth()
    }

    /// The text, if this value is a string.
    pub fn as_str(&self) -> Option<&str> {
        self.as_leaf()?.as_str()
    }

    /// The scalar, if this value is one.
    pub fn as_leaf(&self) -> Option<&Leaf> {
        match &self.0 {
            Content::Scalar(leaf) => Some(leaf),
            Content::Tree(_) => None,
        }
    }
}
