//! The types below `#[serde(flatten)]`, where serde keeps tensors in a buffer and does not show the
//! requested type: they are in the structure of an example, or of the file.

use std::collections::HashMap;

use treedef::__private::ArrayFields;
use treedef::{Leaf, NodeKind, NodeRef, TreeDef, Value};

use crate::arrays::matrix_data;
use crate::glob::parts;
use crate::load::entry::{LoadEntry, element_budget};
use crate::names::push_parts;

/// How a type represents an array in serde's data model, for a tensor in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArrayRepr {
    /// Nested sequences, or the numbers of a matrix of columns.
    Nested,
    /// A struct with an array.
    Struct {
        names: &'static [&'static str],
        /// The number of dimensions of the elements. The shape has the others.
        inner: usize,
        /// Whether the shape is one integer.
        is_size: bool,
        /// Whether the type of a boolean includes its form in memory, as in later versions of burn.
        has_store: bool,
    },
    /// A tuple of numbers, rows and columns. The type may fix one of the sizes.
    Matrix([bool; 2]),
}

/// The type of the keys of a map in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyType {
    Texts,
    /// Integers and bools, if a key is one.
    Numbers,
}

/// The representations at and below a name of a structure.
#[derive(Default)]
struct ReprNode {
    repr: Option<ArrayRepr>,
    keys: Option<KeyType>,
    below: HashMap<String, ReprNode>,
    /// Below any index that is not in `below`.
    element: Option<Box<ReprNode>>,
}

/// The representations in the structures of an example and of a file.
#[derive(Default)]
pub(crate) struct ArrayReprs {
    example: Option<ReprNode>,
    file: Option<ReprNode>,
}

impl ArrayReprs {
    pub(crate) fn new(
        example: Option<&TreeDef>,
        file: Option<&TreeDef>,
        separator: &str,
        tensors: usize,
    ) -> Self {
        let node = |treedef: &TreeDef| {
            let mut node = ReprNode::default();
            node.add(treedef.root(), separator, &mut element_budget(tensors));
            node
        };
        ArrayReprs { example: example.map(node), file: file.map(node) }
    }

    /// Whether no structure is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.example.is_none() && self.file.is_none()
    }

    pub(crate) fn repr(&self, entry: &LoadEntry<'_>, separator: &str) -> ArrayRepr {
        let example = self.example.as_ref().and_then(|it| it.at(&entry.name, separator)?.repr);
        let file = self.file.as_ref().filter(|_| !entry.filled);
        let file = || file.and_then(|it| it.at(&entry.original, separator)?.repr);
        let repr = example.or_else(file).unwrap_or(ArrayRepr::Nested);
        let is_matrix = entry.array().is_some_and(|array| array.column_major);
        if is_matrix == matches!(repr, ArrayRepr::Matrix(_)) { repr } else { ArrayRepr::Nested }
    }

    /// The type of the keys below a name. `None` if no structure has a map there.
    pub(crate) fn keys(&self, name: &str, separator: &str) -> Option<KeyType> {
        let node = [&self.example, &self.file].into_iter().flatten();
        node.filter_map(|it| it.at(name, separator)?.keys).next()
    }
}

impl ReprNode {
    fn at(&self, name: &str, separator: &str) -> Option<&ReprNode> {
        parts(name, separator).into_iter().try_fold(self, |node, part| node.child(part))
    }

    fn child(&self, part: &str) -> Option<&ReprNode> {
        let element = || self.element.as_deref().filter(|_| part.parse::<usize>().is_ok());
        self.below.get(part).or_else(element)
    }

    /// Adds the representations at and below a node, as long as visits are left. The recursion is as deep as the
    /// limits of a structure allow.
    fn add(&mut self, node: NodeRef<'_>, separator: &str, left: &mut usize) {
        let Some(rest) = left.checked_sub(1) else { return };
        *left = rest;
        let fields = ArrayFields::of(node.fields());
        self.repr =
            fields.and_then(|fields| array_repr(node, &fields)).or_else(|| matrix_repr(node));
        // A text that looks like a number is a text. Beside a flattened map there may be fields.
        let is_text = |key: &Value| matches!(Leaf::from(key.clone()), Leaf::Str(_) | Leaf::Char(_));
        let keys = node.entry_keys();
        let are_texts = keys.iter().all(is_text);
        self.keys =
            (!keys.is_empty()).then_some(if are_texts { KeyType::Texts } else { KeyType::Numbers });
        let are_elements =
            matches!(node.kind(), NodeKind::Seq | NodeKind::Tuple | NodeKind::TupleStruct);
        let mut position = 0;
        for (child, count) in node.runs() {
            let is_alike = are_elements && count == node.num_children();
            if are_elements && self.element.is_none() {
                self.element.get_or_insert_default().add(child, separator, left);
            }
            for at in (position..position + count).filter(|_| !is_alike) {
                if *left == 0 {
                    return;
                }
                let mut names = Vec::new();
                node.key(at).into_iter().for_each(|key| push_parts(node.kind(), &key, &mut names));
                let names = names.iter().flat_map(|name| parts(name, separator));
                let below = names
                    .fold(&mut *self, |node, name| node.below.entry(name.to_owned()).or_default());
                below.add(child, separator, left);
            }
            position += count; // at most the children
        }
    }
}

/// The representation by a struct with the fields of an array.
fn array_repr(node: NodeRef<'_>, fields: &ArrayFields) -> Option<ArrayRepr> {
    let (shape, mut data) =
        (node.child(fields.shape())?, node.child(fields.data())?.inside_newtypes());
    let dtype = fields.dtype().and_then(|position| node.child(position));
    let mut inner = 0;
    while dtype.is_none()
        && let Some(element) = data.child(0)
    {
        data = element.inside_newtypes();
        inner += usize::from(!data.is_leaf()); // as deep as the structure
    }
    Some(ArrayRepr::Struct {
        names: fields.names(),
        inner,
        is_size: shape.inside_newtypes().is_leaf(),
        has_store: dtype.is_some_and(|dtype| dtype.kind() == NodeKind::NewtypeVariant),
    })
}

/// The representation by a tuple of the numbers, rows and columns of a matrix.
fn matrix_repr(node: NodeRef<'_>) -> Option<ArrayRepr> {
    let node = node.inside_newtypes();
    matrix_data(node)?;
    let has_size = |position| node.child(position).map(NodeRef::is_leaf);
    Some(ArrayRepr::Matrix([has_size(1)?, has_size(2)?]))
}
