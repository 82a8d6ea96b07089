//! Tags of CBOR, which no other format has.

use std::collections::{HashMap, HashSet};

use treedef::__private::OrBug;
use treedef::{
    Change, ChangeKind, Edit, Leaf, NodeHead, NodeKind, NodeRef, Path, Tree, TreeDefBuilder,
};

use crate::formats::duplicate_keys;
use crate::formats::toml_dates::{has_name, moved_lists, wrong_at};

/// To serde, a tagged value is this variant of an enum: the number of the tag beside the value. When CBOR
/// is written, such a variant becomes a tag again.
const NAME: &str = "@@TAG@@";
const TAG: NodeHead<'_> =
    NodeHead { kind: NodeKind::TupleVariant, name: NAME, variant: "@@TAGGED@@" };

/// The tags of a document.
#[derive(Debug, Default)]
pub(crate) struct Tags {
    /// The numbers of the tags around a value, from the outside in.
    pub(crate) paths: HashMap<Path, Vec<Leaf>>,
    /// Whether some tags of the document were dropped.
    pub(crate) has_dropped: bool,
}

/// The number of a tag, and the value with its leaves.
fn tagged<'n, 'l>(
    node: NodeRef<'n>,
    leaves: &'l [Leaf],
) -> Option<(&'l Leaf, NodeRef<'n>, &'l [Leaf])> {
    if node.name() != Some(NAME) || !node.child(0)?.is_leaf() {
        return None;
    }
    let (number, rest) = leaves.split_first()?;
    number.as_u64().is_some().then(|| Some((number, node.child(1)?, rest)))?
}

/// A tag without a number.
pub(crate) fn wrong_tag_at(tree: &Tree<Leaf>) -> Option<Path> {
    wrong_at(tree, NAME, |number| number.as_u64().is_some())
}

/// The value with a tag.
pub(crate) fn with_tag(number: &Leaf, value: Tree<Leaf>) -> treedef::Result<Tree<Leaf>> {
    let mut builder = TreeDefBuilder::new();
    builder.open(TAG, 1)?;
    builder.leaves(1)?;
    builder.insert(value.treedef(), 1)?;
    builder.close()?;
    let leaves = std::iter::once(number).chain(value.leaves()).cloned().collect();
    Tree::new(builder.finish()?, leaves)
}

/// The tree without its tags. The recursion is as deep as the limits of the tree allow.
fn untagged(
    tree: Tree<Leaf>,
    above: &Path,
    tags: &mut HashMap<Path, Vec<Leaf>>,
) -> treedef::Result<Tree<Leaf>> {
    tree.edit(|path, mut node, mut leaves| {
        let mut numbers = Vec::new();
        while let Some((number, value, rest)) = tagged(node, leaves) {
            numbers.push(number.clone());
            (node, leaves) = (value, rest);
        }
        if numbers.is_empty() {
            return Ok(Edit::Keep);
        }
        let path = above.join(path);
        let value = Tree::new(node.to_treedef(), leaves.to_vec())?;
        let value = untagged(value, &path, tags)?;
        tags.insert(path, numbers);
        Ok(Edit::Replace(value))
    })
}

impl Tags {
    /// The tree with the values themselves, and the places of the tags.
    pub(crate) fn taken_from(tree: Tree<Leaf>) -> treedef::Result<(Tree<Leaf>, Self)> {
        let mut tags = Tags::default();
        if !has_name(&tree, NAME) {
            return Ok((tree, tags));
        }
        let tree = untagged(tree, &Path::root(), &mut tags.paths)?;
        Ok((tree, tags))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Drops the tags of entries that have one path, so that none of them gets the tag of another.
    pub(crate) fn drop_twins(&mut self, tree: &Tree<Leaf>) {
        if self.is_empty() || duplicate_keys::first(tree).is_none() {
            return;
        }
        let twins = duplicate_keys::paths(tree);
        let before = self.paths.len();
        self.paths.retain(|path, _| {
            let keys = path.keys();
            let above = |len| keys.get(..len).or_bug().iter().cloned().collect();
            !(1..=keys.len()).any(|len| twins.contains::<Path>(&above(len)))
        });
        self.has_dropped |= self.paths.len() < before;
    }

    /// Drops the tags of values that were replaced by another kind of value, or whose index may
    /// have changed.
    pub(crate) fn drop_changed(&mut self, changes: &[Change<Tree<Leaf>>]) {
        let (mut replaced, lists) = (HashSet::new(), moved_lists(changes));
        for change in changes {
            let keys = change.path.keys();
            let is_new = match &change.kind {
                ChangeKind::Added { .. } | ChangeKind::Removed(_) | ChangeKind::Renamed { .. } => {
                    true
                }
                ChangeKind::Replaced { old, new, .. } => !is_like(old, new),
                _ => false,
            };
            if is_new {
                replaced.insert(keys);
            }
        }
        let before = self.paths.len();
        self.paths.retain(|path, _| {
            let mut above = path.keys();
            let mut stays = !replaced.contains(above);
            while let Some((_, list)) = above.split_last().filter(|_| stays) {
                stays = !lists.contains(list) && !replaced.contains(list);
                above = list;
            }
            stays
        });
        self.has_dropped |= self.paths.len() < before;
    }

    /// The tree with tags where they were.
    pub(crate) fn put_into(&self, tree: Tree<Leaf>) -> treedef::Result<Tree<Leaf>> {
        tree.edit_up(|path, value| {
            let Some(numbers) = self.paths.get(path) else { return Ok(Edit::Keep) };
            let mut value = value.clone();
            for number in numbers.iter().rev() {
                value = with_tag(number, value)?;
            }
            Ok(Edit::Replace(value))
        })
    }
}

/// Whether both are a leaf of one kind.
fn is_like(old: &Tree<Leaf>, new: &Tree<Leaf>) -> bool {
    let kind = |tree: &Tree<Leaf>| {
        let is_leaf = tree.treedef().root().kind() == NodeKind::Leaf;
        tree.leaves().first().filter(|_| is_leaf).map(Leaf::kind)
    };
    kind(old).is_some() && kind(old) == kind(new)
}
