//! Reading a value (of a key, a static or an opaque leaf) as a structure with leaves.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock, Mutex};

use crate::leaf::Scalar;
use crate::model::{
    Content, Encoding, Leaf, Limits, Node, NodeData, NodeKind, Tree, TreeDef, Value,
};
use crate::treedef::node_ref::NodeRef;

/// The structure of every scalar: one leaf.
static LEAF: LazyLock<TreeDef> = LazyLock::new(|| {
    let encoding = Encoding {
        options: Default::default(),
        nodes: Box::new([Node {
            kind: NodeKind::Leaf,
            depth: 0,
            data: NodeData::NONE as u32,
            span: 1,
            repeat: 1,
            children: 0,
            leaves: 1,
            maps: 0,
            work: 1,
        }]),
        node_data: Box::new([]),
        run_index: None,
        script: Box::new(Mutex::new(None)),
    };
    let limits = Limits::default();
    TreeDef { encoding: Arc::new(encoding), insertions: None, limits, walked: false }.checked()
});

pub(crate) fn scalar_root() -> NodeRef<'static> {
    LEAF.root()
}

impl Value {
    /// The structure with its options; `None` for a scalar.
    pub(crate) fn treedef(&self) -> Option<&TreeDef> {
        match &self.0 {
            Content::Scalar(_) => None,
            Content::Tree(treedef, _) => Some(treedef),
            Content::Array(array) => Some(&array.treedef),
        }
    }

    pub(crate) fn num_leaves(&self) -> usize {
        self.root().num_leaves()
    }

    /// The scalar at an index.
    pub(crate) fn scalar(&self, index: usize) -> Option<Scalar<'_>> {
        match &self.0 {
            Content::Scalar(leaf) => leaf.as_scalar().filter(|_| index == 0),
            Content::Tree(_, leaves) => leaves.get(index)?.as_scalar(),
            Content::Array(array) => array.scalar(index),
        }
    }

    pub(crate) fn scalars(&self) -> impl Iterator<Item = Scalar<'_>> {
        (0..self.num_leaves()).filter_map(|index| self.scalar(index))
    }

    pub(crate) fn from_tree(mut tree: Tree<Leaf>) -> Self {
        if tree.treedef.root().kind() == NodeKind::Leaf
            && let Some(leaf) = tree.leaves.pop()
        {
            return Value(Content::Scalar(leaf));
        }
        Value::compound(tree.treedef.into(), tree.leaves.into())
    }

    /// A value that is no scalar.
    pub(crate) fn compound(treedef: Arc<TreeDef>, leaves: Box<[Leaf]>) -> Self {
        debug_assert_eq!(treedef.num_leaves(), leaves.len());
        debug_assert_ne!(treedef.root().kind(), NodeKind::Leaf);
        Value(Content::Tree(treedef, leaves))
    }

    /// The value as a tree with leaves of its own.
    pub(crate) fn to_tree(&self) -> Tree<Leaf> {
        let treedef = self.treedef().cloned().unwrap_or_else(TreeDef::leaf);
        Tree::from_parts(treedef, self.leaves().into_owned())
    }

    /// Stores an array as any other value, because keys and statics are compared leaf by leaf.
    pub(crate) fn unpack(&mut self) {
        if let Content::Array(_) = &self.0 {
            *self = Value::from_tree(self.to_tree());
        }
    }

    /// The structure of the value.
    pub fn root(&self) -> NodeRef<'_> {
        match self.treedef() {
            Some(treedef) => treedef.root(),
            None => scalar_root(),
        }
    }

    /// The scalars of the value, in order. They are borrowed, except the scalars of an
    /// [`Array`](crate::Array).
    pub fn leaves(&self) -> Cow<'_, [Leaf]> {
        match &self.0 {
            Content::Scalar(leaf) => std::slice::from_ref(leaf).into(),
            Content::Tree(_, leaves) => (&**leaves).into(),
            Content::Array(array) => array.scalars().map(Leaf::from).collect(),
        }
    }

    /// The first node of a value that is no scalar.
    #[inline]
    pub(crate) fn root_node(&self) -> Option<&Node> {
        self.treedef()?.encoding.nodes.first()
    }

    /// The nesting depth of compounds.
    pub(crate) fn depth(&self) -> u32 {
        self.root_node().map_or(0, |root| root.depth)
    }

    /// The text, if this value is a string.
    pub fn as_str(&self) -> Option<&str> {
        self.as_leaf()?.as_str()
    }

    /// The scalar, if this value is one.
    pub fn as_leaf(&self) -> Option<&Leaf> {
        match &self.0 {
            Content::Scalar(leaf) => Some(leaf),
            Content::Tree(..) | Content::Array(_) => None,
        }
    }
}

/// An array equals a tree with the same structure and scalars.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Content::Scalar(a), Content::Scalar(b)) => a == b,
            (Content::Tree(a, leaves), Content::Tree(b, others)) => a == b && leaves == others,
            _ => self.treedef() == other.treedef() && self.scalars().eq(other.scalars()),
        }
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Content::Scalar(leaf) => leaf.hash(state),
            Content::Tree(treedef, leaves) => (treedef, leaves).hash(state),
            Content::Array(array) => {
                array.treedef.hash(state);
                array.num_leaves().hash(state); // as a vector of leaves does
                array.scalars().for_each(|scalar| Leaf::from(scalar).hash(state));
            }
        }
    }
}
