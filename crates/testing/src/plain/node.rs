//! The nodes and their operations.

use std::cmp::Ordering;

use treedef::{Key, Name};

/// A tree with leaves of any type; with leaves `()`, a structure.
#[derive(Clone, Debug, PartialEq)]
pub enum Node<L> {
    Leaf(L),
    Inner(Head, Vec<Node<L>>),
}

/// The content of a node, without its children: one variant for each kind of node except the leaf.
#[derive(Clone, Debug, PartialEq)]
pub enum Head {
    None,
    Some,
    Unit,
    UnitStruct(&'static str),
    NewtypeStruct(&'static str),
    Seq,
    Tuple,
    TupleStruct(&'static str),
    /// The keys, one for each child.
    Map(Vec<Constant>),
    /// The fields, one for each child.
    Struct(&'static str, Vec<&'static str>),
    UnitVariant(&'static str, &'static str),
    NewtypeVariant(&'static str, &'static str),
    TupleVariant(&'static str, &'static str),
    /// The fields, one for each child.
    StructVariant(&'static str, &'static str, Vec<&'static str>),
    Static(Constant),
}

/// The content of a key or a static. The order of the variants is the order of keys in maps.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Constant {
    Bool(bool),
    /// Ordered by value, then by width, with signed before unsigned.
    Integer(i64, Width),
    Float(Total),
    Char(char),
    Text(&'static str),
    None,
    Some(Box<Constant>),
    Unit,
    Seq(Vec<Constant>),
    Tuple(Vec<Constant>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    I8,
    U8,
    I32,
    I64,
}

/// A float that equals itself, ordered by `total_cmp`.
#[derive(Clone, Copy, Debug)]
pub struct Total(pub f64);

impl PartialEq for Total {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Total {}

impl PartialOrd for Total {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Total {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// A structure.
pub type Shape = Node<()>;

pub const LEAF: Shape = Node::Leaf(());

impl Head {
    /// The labels of the children, if the kind has labels.
    pub fn num_labels(&self) -> Option<usize> {
        match self {
            Head::Map(keys) => Some(keys.len()),
            Head::Struct(_, fields) | Head::StructVariant(_, _, fields) => Some(fields.len()),
            _ => None,
        }
    }

    pub fn is_labelled(&self) -> bool {
        self.num_labels().is_some()
    }

    pub fn is_newtype(&self) -> bool {
        matches!(self, Head::NewtypeStruct(_) | Head::NewtypeVariant(..))
    }

    /// Whether any number of children is allowed.
    pub fn has_any_number(&self) -> bool {
        use Head::*;
        self.is_labelled() || matches!(self, Seq | Tuple | TupleStruct(_) | TupleVariant(..))
    }

    /// The same head without labels.
    pub fn without_labels(&self) -> Head {
        match self {
            Head::Map(_) => Head::Map(Vec::new()),
            Head::Struct(name, _) => Head::Struct(name, Vec::new()),
            Head::StructVariant(name, variant, _) => Head::StructVariant(name, variant, Vec::new()),
            other => other.clone(),
        }
    }

    /// The same head with the labels at these positions.
    pub fn with_labels_at(&self, positions: &[usize]) -> Head {
        let fields = |fields: &[&'static str]| positions.iter().map(|at| fields[*at]).collect();
        match self {
            Head::Map(keys) => Head::Map(positions.iter().map(|at| keys[*at].clone()).collect()),
            Head::Struct(name, all) => Head::Struct(name, fields(all)),
            Head::StructVariant(name, variant, all) => {
                Head::StructVariant(name, variant, fields(all))
            }
            other => other.clone(),
        }
    }

    /// Copies a label from another head of the same kind.
    pub fn push_label_of(&mut self, other: &Head, at: usize) {
        match (self, other) {
            (Head::Map(keys), Head::Map(others)) => keys.push(others[at].clone()),
            (
                Head::Struct(_, fields) | Head::StructVariant(_, _, fields),
                Head::Struct(_, others) | Head::StructVariant(_, _, others),
            ) => fields.push(others[at]),
            _ => {}
        }
    }

    /// The key of the child at a position.
    pub fn key(&self, at: usize) -> Key {
        let name = |name: &'static str| Name::Borrowed(name);
        match self {
            Head::Some => Key::Some,
            Head::Seq => Key::Index(at),
            Head::Map(keys) => Key::Entry(keys[at].value()),
            Head::Struct(_, fields) => Key::Field(name(fields[at])),
            Head::NewtypeVariant(_, variant) | Head::TupleVariant(_, variant) => {
                Key::VariantPosition(name(variant), at)
            }
            Head::StructVariant(_, variant, fields) => {
                Key::VariantField(name(variant), name(fields[at]))
            }
            _ => Key::Position(at),
        }
    }
}

impl<L: Clone + PartialEq> Node<L> {
    pub fn children(&self) -> &[Node<L>] {
        match self {
            Node::Leaf(_) => &[],
            Node::Inner(_, children) => children,
        }
    }

    pub fn leaves(&self) -> Vec<L> {
        match self {
            Node::Leaf(leaf) => vec![leaf.clone()],
            Node::Inner(_, children) => children.iter().flat_map(Node::leaves).collect(),
        }
    }

    pub fn num_leaves(&self) -> usize {
        self.leaves().len()
    }

    pub fn num_nodes(&self) -> usize {
        1 + self.children().iter().map(Node::num_nodes).sum::<usize>()
    }

    pub fn map<M>(&self, f: &mut impl FnMut(&L) -> M) -> Node<M> {
        match self {
            Node::Leaf(leaf) => Node::Leaf(f(leaf)),
            Node::Inner(head, children) => {
                Node::Inner(head.clone(), children.iter().map(|child| child.map(f)).collect())
            }
        }
    }

    /// The same structure with other leaves.
    pub fn with_leaves<M: Clone>(&self, leaves: &[M]) -> Node<M> {
        let mut leaves = leaves.iter().cloned();
        self.map(&mut |_| leaves.next().expect("as many leaves"))
    }

    pub fn structure(&self) -> Shape {
        self.map(&mut |_| ())
    }

    /// The children and their keys.
    pub fn entries(&self) -> Vec<(Key, &Node<L>)> {
        match self {
            Node::Leaf(_) => Vec::new(),
            Node::Inner(head, children) => {
                children.iter().enumerate().map(|(at, child)| (head.key(at), child)).collect()
            }
        }
    }

    /// The position of the first child with this key.
    pub fn position(&self, key: &Key) -> Option<usize> {
        self.entries().iter().position(|(known, _)| known == key)
    }

    /// The positions along a path: at each node, the first child with the key.
    pub fn positions(&self, path: &[Key]) -> Option<Vec<usize>> {
        let Some((first, rest)) = path.split_first() else { return Some(Vec::new()) };
        let at = self.position(first)?;
        let mut positions = vec![at];
        positions.extend(self.children()[at].positions(rest)?);
        Some(positions)
    }

    /// The node at a path.
    pub fn at(&self, path: &[Key]) -> Option<&Node<L>> {
        let positions = self.positions(path)?;
        Some(positions.iter().fold(self, |node, at| &node.children()[*at]))
    }

    /// The number of leaves before the node at these positions.
    pub fn leaves_before(&self, positions: &[usize]) -> usize {
        let Some((first, rest)) = positions.split_first() else { return 0 };
        let before: usize = self.children()[..*first].iter().map(Node::num_leaves).sum();
        before + self.children()[*first].leaves_before(rest)
    }

    /// All nodes with their paths, in pre-order.
    pub fn nodes(&self) -> Vec<(Vec<Key>, &Node<L>)> {
        let mut nodes = vec![(Vec::new(), self)];
        for (key, child) in self.entries() {
            let below = child.nodes().into_iter();
            nodes.extend(below.map(|(path, node)| ([vec![key.clone()], path].concat(), node)));
        }
        nodes
    }

    /// The paths of all leaves.
    pub fn leaf_paths(&self) -> Vec<Vec<Key>> {
        let nodes = self.nodes().into_iter();
        nodes.filter(|(_, node)| matches!(node, Node::Leaf(_))).map(|(path, _)| path).collect()
    }

    /// The same node, with the entries of maps sorted by their keys.
    pub fn sorted(self) -> Self {
        let Node::Inner(head, children) = self else { return self };
        let children: Vec<Node<L>> = children.into_iter().map(Node::sorted).collect();
        let Head::Map(keys) = head else { return Node::Inner(head, children) };
        let mut entries: Vec<_> = keys.into_iter().zip(children).collect();
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        let (keys, children) = entries.into_iter().unzip();
        Node::Inner(Head::Map(keys), children)
    }

    /// A node without the children that are `None`, and without their labels. `None` if it has to
    /// have them.
    pub fn without(head: &Head, children: Vec<Option<Node<L>>>) -> Option<Node<L>> {
        let stay: Vec<usize> = (0..children.len()).filter(|at| children[*at].is_some()).collect();
        let all = stay.len() == children.len();
        let head = match head {
            head if head.is_newtype() && !all => return None,
            Head::Some if !all => Head::None,
            head => head.with_labels_at(&stay),
        };
        Some(Node::Inner(head, children.into_iter().flatten().collect()))
    }

    /// This node, with the node at these positions replaced.
    pub fn replaced(&self, positions: &[usize], new: &Node<L>) -> Node<L> {
        let (Some((first, rest)), Node::Inner(head, children)) = (positions.split_first(), self)
        else {
            return new.clone();
        };
        let mut children = children.clone();
        children[*first] = children[*first].replaced(rest, new);
        Node::Inner(head.clone(), children)
    }

    /// Whether this is a prefix of another node: equal to it, except that each leaf can be any
    /// subtree there.
    pub fn is_prefix_of<M: Clone + PartialEq>(&self, full: &Node<M>) -> bool {
        match (self, full) {
            (Node::Leaf(_), _) => true,
            (Node::Inner(head, children), Node::Inner(other, others)) => {
                head == other
                    && children.len() == others.len()
                    && children.iter().zip(others).all(|(a, b)| a.is_prefix_of(b))
            }
            _ => false,
        }
    }

    /// This node, with statics of another tree: each static that both have at the same position.
    pub fn with_statics_of<M>(&self, other: &Node<M>) -> Node<L> {
        match (self, other) {
            (Node::Inner(Head::Static(_), _), Node::Inner(Head::Static(value), _)) => {
                Node::Inner(Head::Static(value.clone()), Vec::new())
            }
            (Node::Inner(head, children), Node::Inner(_, others))
                if children.len() == others.len() =>
            {
                let pairs = children.iter().zip(others);
                Node::Inner(head.clone(), pairs.map(|(a, b)| a.with_statics_of(b)).collect())
            }
            _ => self.clone(),
        }
    }

    /// The subtrees of another tree at the leaves of this one, each with the leaf.
    pub fn beside<M: Clone + PartialEq>(&self, full: &Node<M>) -> Option<Node<(L, Node<M>)>> {
        if !self.is_prefix_of(full) {
            return None;
        }
        Some(match (self, full) {
            (Node::Leaf(leaf), full) => Node::Leaf((leaf.clone(), full.clone())),
            (Node::Inner(head, children), full) => {
                let pairs = children.iter().zip(full.children());
                Node::Inner(head.clone(), pairs.filter_map(|(a, b)| a.beside(b)).collect())
            }
        })
    }
}

impl<L: Clone + PartialEq> Node<Node<L>> {
    /// The tree with each leaf replaced by its tree.
    pub fn joined(&self) -> Node<L> {
        match self {
            Node::Leaf(tree) => tree.clone(),
            Node::Inner(head, children) => {
                Node::Inner(head.clone(), children.iter().map(Node::joined).collect())
            }
        }
    }
}
