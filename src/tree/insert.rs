//! Inserts entries and elements by path, and sets leaves by text.

use std::borrow::Cow;
use std::mem;

use crate::error::{Error, Result};
use crate::model::{Labels, Leaf, LeafKind, NodeData, NodeHead, NodeKind, Tree, TreeDef, Value};
use crate::path::{Key, Path};
use crate::treedef::builder::TreeDefBuilder;
use crate::treedef::insertion::insertion_order;
use crate::treedef::lookup::{enter, position};
use crate::treedef::node_ref::NodeRef;
use crate::treedef::pairs::equal_subtrees;
use crate::treedef::parts::PartsBuilder;

/// Inserts `new` at a path whose parent exists, or replaces the entry of a map.
pub(super) fn insert<L>(tree: &mut Tree<L>, path: &Path, new: Tree<L>) -> Result<Option<Tree<L>>> {
    let Some((key, above)) = path.keys().split_last() else { return Err(takes_no_child()) };
    let (mut parent_path, mut parent) = tree.treedef.find(&Path(above.to_vec()))?;
    enter(&mut parent, &mut parent_path, |inside| inside != key);
    let mut key = Cow::Borrowed(key);
    if parent.kind() == NodeKind::Map {
        let found = position(parent, &key).map_err(|error| error.at(parent_path.clone()))?;
        let known = found.and_then(|found| parent.key(found));
        // A number that is converted to the type of the keys may be there.
        let entry = || entry_key(&key, parent.entry_keys()).map(Key::Entry);
        key = match known.or_else(entry) {
            Some(known) => Cow::Owned(known),
            None => return Err(no_key(&key, parent.entry_keys()).at(path.clone())),
        };
        if parent.position(&key).is_some() {
            return tree.replace(parent_path.child(key.into_owned()), new).map(Some);
        }
    }
    let place = place_for(parent, &key).map_err(|error| error.at(path.clone()));
    let (position, data) = place?;
    let order = parent.is_sorted_map().then(|| {
        let mut ranks = parent.insertion_ranks();
        ranks.insert(position, parent.num_children()); // the new entry comes last
        insertion_order(&ranks)
    });
    let before = match parent.child(position) {
        Some(next) => next.first_leaf(),
        None => parent.leaf_range().end,
    };
    let replaced = tree.treedef.rebuilt(&parent_path, |builder, parent| {
        builder.allow(new.treedef.limits);
        builder.open_new(parent.kind(), data.as_ref().map(NodeData::as_ref), 1);
        builder.set_insertion_order(order.clone().flatten());
        for (child, repeat, is_next) in parent.runs_around(position) {
            if is_next {
                builder.insert(new.treedef.root(), 1)?;
            }
            builder.insert(child, repeat)?;
        }
        if position == parent.num_children() {
            builder.insert(new.treedef.root(), 1)?;
        }
        builder.close()
    })?;
    tree.leaves.splice(before..before, new.leaves);
    tree.treedef = replaced;
    Ok(None)
}

/// Parses `text` for the leaf, the `None` or the unit variant at a path, and returns the subtree that it replaces.
pub(super) fn set_text(tree: &mut Tree<Leaf>, path: &Path, text: &str) -> Result<Tree<Leaf>> {
    let (mut path, mut node) = tree.treedef.find(path)?;
    enter(&mut node, &mut path, |_| true);
    match node.kind() {
        NodeKind::Leaf => {
            let index = node.first_leaf();
            // An index of the structure, which has as many leaves as the tree.
            let kind = tree.leaves[index].kind();
            let leaf = match kind {
                LeafKind::None => Some(guess(text)),
                kind => Leaf::parsed(text, kind),
            };
            let expected = || {
                let expected = kind.name();
                Error::argument(format_args!("expected {expected}, found `{text}`"))
                    .at(path.clone())
            };
            let new = leaf.ok_or_else(expected)?;
            let old = node.to_treedef();
            Ok(Tree::from_parts(old, vec![mem::replace(&mut tree.leaves[index], new)]))
        }
        NodeKind::None => {
            // A `None` depends on the options, and so does its replacement.
            let mut builder = PartsBuilder::onto(node, tree.treedef.limits);
            builder.open_new(NodeKind::Some, None, 1);
            builder.insert(TreeDef::leaf().root(), 1)?;
            builder.close()?;
            let some = Tree::new(builder.finish()?, vec![guess(text)])?;
            tree.replace(path, some)
        }
        NodeKind::UnitVariant => {
            let mut builder = TreeDefBuilder::new();
            builder.open(NodeHead { variant: text, ..node.head() }, 1)?;
            tree.replace(path, Tree::new(builder.finish()?, Vec::new())?)
        }
        _ => Err(Error::not_a_leaf(node.brief()).at(path)),
    }
}

/// The position of a new child, and the new node data of the parent, if it changes.
fn place_for(parent: NodeRef<'_>, key: &Key) -> Result<(usize, Option<NodeData>)> {
    match (parent.kind(), key) {
        (NodeKind::Map, Key::Entry(entry)) => {
            let keys = parent.entry_keys();
            let position = if parent.is_sorted_map() {
                keys.partition_point(|key| key < entry)
            } else {
                keys.len()
            };
            let mut keys = keys.to_vec();
            keys.insert(position, entry.clone()); // at most the length
            let labels = Labels::Keys(keys.into());
            Ok((position, parent.data().map(|data| NodeData { labels, ..data.clone() })))
        }
        (NodeKind::Seq, Key::Index(index) | Key::Position(index)) => {
            let most = parent.num_children();
            if *index <= most {
                Ok((*index, None))
            } else {
                Err(Error::argument(format_args!("expected an index up to {most}")))
            }
        }
        _ => Err(takes_no_child()),
    }
}

#[cold]
fn no_key(key: &Key, keys: &[Value]) -> Error {
    Error::argument(match keys.first() {
        Some(first) => {
            format!("expected a key such as `{}`, found `{key}`", Key::Entry(first.clone()))
        }
        None => "the map is empty, so the key needs its type, as in `[3u8]`".to_owned(),
    })
}

#[cold]
fn takes_no_child() -> Error {
    Error::argument("only maps and sequences can get a new child")
}

/// A bool, an integer, a float or a string: the first that the text parses as.
fn guess(text: &str) -> Leaf {
    use LeafKind as Is;
    let kinds = [Is::Bool, Is::I64, Is::U64, Is::I128, Is::U128, Is::F64];
    // `nan` and `inf` are also words.
    let is_number = text.contains(|char: char| char.is_ascii_digit());
    let kinds = kinds.into_iter().filter(|kind| is_number || *kind == Is::Bool);
    let read = kinds.into_iter().find_map(|kind| Leaf::parsed(text, kind));
    read.unwrap_or_else(|| Leaf::from(text))
}

/// The key of a new entry beside others. If the others are all of one kind, a number is converted
/// to that kind, and a text of one character to a `char`.
fn entry_key(key: &Key, others: &[Value]) -> Option<Value> {
    let written = match key {
        Key::Field(name) => Value::from(Leaf::from(&**name)),
        Key::Entry(value) => value.clone(),
        Key::Index(index) | Key::Position(index) => Value::from(Leaf::from(*index as u64)), // as wide
        _ => return None,
    };
    let has_type = !matches!(key, Key::Index(_) | Key::Position(_));
    let Some(first) = others.first() else { return Some(written).filter(|_| has_type) };
    if !others.iter().all(|other| is_like(other, first)) {
        return Some(written).filter(|_| has_type);
    }
    if has_type && is_like(&written, first) {
        return Some(written);
    }
    let (leaf, kind) = (written.as_leaf()?, first.as_leaf()?.kind());
    let text = match leaf {
        Leaf::Str(text) if kind == LeafKind::Char => text.to_string(),
        Leaf::F32(number) if kind.is_float() => number.to_string(),
        Leaf::F64(number) if kind.is_float() => number.to_string(),
        number if kind.is_number() => number.as_i128()?.to_string(),
        _ => return None,
    };
    let made = Leaf::parsed(&text, kind)?;
    // A rounded one is the key of another number.
    let is_same = match (leaf.as_i128(), made.as_f64()) {
        // Beyond the range, `as` would return the greatest integer.
        (Some(integer), Some(float)) => float < 2f64.powi(127) && float as i128 == integer,
        _ => !kind.is_float() || Value::from(made.clone()).is_same_key(&written),
    };
    is_same.then(|| made.into())
}

/// Whether two keys can be of one type. Two variants always can, as far as is known.
fn is_like(a: &Value, b: &Value) -> bool {
    if let (Some(a), Some(b)) = (a.as_leaf(), b.as_leaf()) {
        return a.kind() == b.kind();
    }
    let (x, y) = (a.root(), b.root());
    let (variants, equal) = (x.kind().is_variant() && y.kind().is_variant(), equal_subtrees(x, y));
    let kinds = |value: &Value| value.leaves().iter().map(Leaf::kind).collect::<Vec<_>>();
    x.name() == y.name() && (variants || x.kind() == y.kind()) && (!equal || kinds(a) == kinds(b))
}
