//! Converts documents of different formats to one form, to compare them.

use serde::{Serialize, Serializer};
use treedef::__private::key_form;
use treedef::{Edit, Flattener, Key, Leaf, NodeKind, NodeRef, Tree};

use crate::args::Limits;
use crate::failure::Result;
use crate::format::Format;
use crate::formats::keys::{has_others, with_keys_of};
use crate::numbers::exact::{self, with_free_width};
use crate::paths::{part_at, text_of};
use crate::tensors::trees::{HalfFormat, numbers};

/// A tree in the form that JSON would give it, as far as the formats have it: a struct is a map of its
/// fields, a tuple is a list, a variant is its name or a map with it, and wrappers around a value are
/// removed.
fn lowered(tree: Tree<Leaf>, formats: [Format; 2], limits: Limits) -> Result<Tree<Leaf>> {
    let tree = numbers(tree, HalfFormat::Exact)?;
    let is = |of: fn(Format) -> bool| formats.into_iter().any(of);
    let form = Features { has_null: is(Format::has_null), skips_none: is(|it| it == Format::Toml) };
    // Most documents have this form already, unless they have a duplicate key.
    let is_plain = |node: NodeRef<'_>| match node.kind() {
        NodeKind::Leaf | NodeKind::Seq => true,
        // Formats have different kinds of integers.
        NodeKind::Map => !has_others(node),
        kind => kind == NodeKind::Unit && form.has_null,
    };
    if tree.treedef().nodes().all(|(_, node)| is_plain(node)) {
        return Ok(tree);
    }
    let node =
        CommonNode { node: tree.treedef().root(), leaves: tree.leaves(), form, is_inside: false };
    Ok(exact::as_leaves(Flattener::new().limits(limits.of_trees()).tree(&node)?)?)
}

/// Two documents as `diff` compares them, with one spelling of each key. The values of formats that differ
/// are in the form that JSON would give them.
pub(crate) fn in_one_form(
    [old, new]: [Tree<Leaf>; 2],
    formats: [Format; 2],
    limits: Limits,
) -> Result<[Tree<Leaf>; 2]> {
    let of_tensors = formats.iter().all(|format| format.is_of_tensors());
    let form = |tree| match formats {
        [one, other] if one == other || of_tensors => Ok(tree),
        _ => lowered(tree, formats, limits),
    };
    let (old, new) = (form(old)?, form(new)?);
    let new = with_keys_of(&old, new, formats.into_iter().any(Format::has_text_keys))?;
    Ok([old, new])
}

/// The features of the formats of two documents.
#[derive(Clone, Copy)]
struct Features {
    has_null: bool,
    skips_none: bool,
}

#[derive(Clone, Copy)]
struct CommonNode<'t> {
    node: NodeRef<'t>,
    leaves: &'t [Leaf],
    form: Features,
    /// Whether it is the content of the variant.
    is_inside: bool,
}

impl<'t> CommonNode<'t> {
    fn of(self, node: NodeRef<'t>) -> Self {
        CommonNode { node, is_inside: false, ..self }
    }

    fn entries(self) -> impl Iterator<Item = (CommonKey, Self)> {
        let children = self.node.children().enumerate();
        let skips = move |node: NodeRef<'_>| self.form.skips_none && node.kind() == NodeKind::None;
        let children = children.filter(move |(_, child)| !skips(*child));
        children.filter_map(move |(at, child)| {
            let key = match self.node.key(at)? {
                Key::VariantField(_, field) => Key::Field(field),
                key => key,
            };
            Some((CommonKey(key), self.of(child)))
        })
    }
}

/// The recursion is as deep as the limits of the tree allow.
impl Serialize for CommonNode<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        use NodeKind as Is;
        let node = self.node;
        if let (false, Some(variant)) = (self.is_inside, node.variant()) {
            return match node.kind() {
                Is::UnitVariant => to.serialize_str(variant),
                _ => to.collect_map([(variant, CommonNode { is_inside: true, ..*self })]),
            };
        }
        let leaf = self.leaves.get(node.leaf_range().start).filter(|_| node.is_leaf());
        if let Some(leaf) = leaf {
            return leaf.serialize(to);
        }
        match (node.kind(), node.child(0), node.static_value()) {
            (Is::Some | Is::NewtypeStruct | Is::NewtypeVariant, Some(child), _) => {
                self.of(child).serialize(to)
            }
            (Is::Seq | Is::Tuple | Is::TupleStruct | Is::TupleVariant, ..) => {
                to.collect_seq(node.children().map(|child| self.of(child)))
            }
            (Is::Map | Is::Struct | Is::StructVariant, ..) => to.collect_map(self.entries()),
            (Is::Static, _, Some(value)) => value.serialize(to),
            _ if self.form.has_null => to.serialize_unit(),
            _ => to.serialize_none(),
        }
    }
}

struct CommonKey(Key);

impl Serialize for CommonKey {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Key::Entry(value) = &self.0 else { return to.serialize_str(&text_of(&self.0)) };
        Leaf::from(key_form(value)).serialize(to)
    }
}

/// A leaf for the comparison of formats, which have different kinds of integers. A short float
/// becomes the double of the same value.
fn plain_leaf(leaf: Leaf) -> Leaf {
    match &leaf {
        Leaf::F32(number) => f64::from(*number).into(),
        Leaf::Char(c) => Leaf::from(c.to_string()),
        Leaf::Opaque(_) => exact::by_value(leaf),
        _ => with_free_width(leaf),
    }
}

pub(crate) fn with_plain_leaves(tree: Tree<Leaf>) -> Tree<Leaf> {
    tree.map(plain_leaf)
}

/// The tree with an integer for each integral float.
pub(crate) fn with_numbers_by_value(tree: Tree<Leaf>) -> Tree<Leaf> {
    /// Below it, an `i128` holds each integer.
    const LIMIT: f64 = (1_u128 << 127) as f64;
    tree.map(|leaf| match with_free_width(exact::by_integer(plain_leaf(leaf))) {
        Leaf::F64(number) if number.fract() == 0.0 && number.abs() < LIMIT => {
            #[allow(clippy::cast_possible_truncation, reason = "nothing is behind the point")]
            let integer = number as i128;
            with_free_width(integer.into())
        }
        leaf => leaf,
    })
}

/// A tree for a patch between formats, which have different kinds of integers and of nothing. Its paths are
/// the paths of the document.
pub(crate) fn with_paths(tree: Tree<Leaf>) -> Result<Tree<Leaf>> {
    let unit = Tree::of(&())?;
    let tree = with_plain_leaves(numbers(tree, HalfFormat::Exact)?);
    Ok(tree.edit(|_, node, leaves| match (node.kind(), leaves) {
        (NodeKind::None, _) => Ok(Edit::Replace(unit.clone())),
        (NodeKind::NewtypeStruct, [leaf]) => Ok(Edit::Replace(Tree::leaf(leaf.clone()))),
        _ => Ok(Edit::Keep),
    })?)
}

/// The patched tree, in which unchanged parts have their old form again.
pub(crate) fn restored(
    old: &Tree<Leaf>,
    plain: &Tree<Leaf>,
    patched: &Tree<Leaf>,
) -> Result<Tree<Leaf>> {
    Ok(patched.clone().edit(|path, node, leaves| {
        let is_same = part_at(plain, path)
            .is_some_and(|plain| plain.leaves() == leaves && *plain.treedef() == node.to_treedef());
        // In an array that the patch changed, the other numbers have no path in the old tree.
        let old = if is_same { part_at(old, path) } else { None };
        Ok(old.map_or(Edit::Keep, Edit::Replace))
    })?)
}
