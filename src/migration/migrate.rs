//! The method [`Tree::migrate`].

use std::collections::HashSet;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Result;
use crate::flatten::Flattener;
use crate::leaf::leaf_type::{Flat, LeafType};
use crate::model::{Leaf, LeafKind, NodeKind, Tree, TreeDef, Value};
use crate::treedef::Edit;
use crate::treedef::node_ref::NodeRef;
use crate::unflatten::unflatten;

use super::following::{Rebuild, what_became};
use super::report::Migration;

/// # Save and load
impl<L: LeafType> Tree<L> {
    /// Rebuilds the typed value as [`into_typed`](Tree::into_typed) does, and reports what serde
    /// filled, dropped or changed.
    ///
    /// Needs the feature `migrate`.
    ///
    /// A saved value may be older than the definition of its type. serde decides which changes it
    /// accepts: a new field needs `default`, a renamed field needs `alias`, and a removed field is
    /// ignored.
    ///
    /// If the value lacks something and has something else instead, it is rebuilt again with other
    /// leaves, a few hundred times at most, to see which of its leaves came from which.
    ///
    /// # Errors
    ///
    /// As [`unflatten`], e.g. when a field is missing and has no default.
    ///
    /// ```
    /// use serde::{Deserialize, Serialize};
    /// use treedef::Tree;
    ///
    /// #[derive(Serialize)]
    /// struct Old {
    ///     w: f64,
    ///     seed: u32,
    /// }
    ///
    /// #[derive(Serialize, Deserialize)]
    /// struct New {
    ///     #[serde(alias = "w")]
    ///     weight: f64,
    ///     #[serde(default)]
    ///     momentum: f64,
    /// }
    ///
    /// let (new, migration) = Tree::of(&Old { w: 2.0, seed: 7 })?.migrate::<New>()?;
    /// assert_eq!((new.weight, new.momentum), (2.0, 0.0));
    /// assert_eq!(
    ///     migration.to_string(),
    ///     "filled `.momentum`; dropped `.seed`; renamed `.w` to `.weight`"
    /// );
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn migrate<T: Serialize + DeserializeOwned>(self) -> Result<(T, Migration)> {
        let (treedef, widened) = (self.treedef, L::KIND == LeafKind::F64);
        let old = Tree { treedef, leaves: self.leaves.into_iter().map(Flat::into_leaf).collect() };
        let value_of = |tree: &Tree<Leaf>| unflatten::<T>(&tree.treedef, &tree.leaves);
        let flattener = Flattener::with_options_of(&old.treedef);
        let value = value_of(&old)?;
        let plain = flattener.tree(&value)?;
        let old = without_other_opaques(without_statics(old, &flattener), &plain);
        let has_statics = has_statics(&plain.treedef);
        let new = without_statics(plain, &flattener);
        let tree_of = |tree: &Tree<Leaf>| {
            let plain = flattener.tree(&value_of(tree)?)?;
            Ok(without_statics(plain, &flattener))
        };
        let leaves = |tree: &Tree<Leaf>, leaves: &mut Vec<Leaf>| {
            if has_statics {
                let found = tree_of(tree)?;
                new.treedef.check_equal(&found.treedef)?;
                *leaves = found.leaves;
                return Ok(());
            }
            flattener.flatten_like(&new.treedef, &value_of(tree)?, leaves)
        };
        let rebuild = Rebuild { tree: &tree_of, leaves: &leaves };
        let migration = what_became(&old, &new, widened, &rebuild);
        Ok((value, migration))
    }
}

fn has_statics(treedef: &TreeDef) -> bool {
    treedef.root().subtree().iter().any(|node| node.kind == NodeKind::Static)
}

/// The tree with the scalars of its statics as leaves. What is static in a tree by a rule is a leaf
/// of the value.
fn without_statics(tree: Tree<Leaf>, flattener: &Flattener) -> Tree<Leaf> {
    if !has_statics(&tree.treedef) {
        return tree;
    }
    opened(tree, |node, _| node.static_value().map(|value| flattener.tree(value)).transpose())
}

/// The tree with what is inside some of its nodes in their places.
fn opened(
    tree: Tree<Leaf>,
    inside: impl Fn(NodeRef<'_>, &[Leaf]) -> Result<Option<Tree<Leaf>>>,
) -> Tree<Leaf> {
    let edited = tree
        .clone()
        .edit(|_, node, leaves| Ok(inside(node, leaves)?.map_or(Edit::Keep, Edit::Replace)));
    edited.unwrap_or(tree) // there are more leaves than the limits allow
}

/// The tree with the leaves of those opaque leaves, e.g. arrays, that are no leaves of the value. So
/// they are followed as the value has them.
fn without_other_opaques(tree: Tree<Leaf>, value: &Tree<Leaf>) -> Tree<Leaf> {
    let is_opaque = |leaf: &&Leaf| leaf.opaque().is_some();
    if !tree.leaves.iter().any(|leaf| is_opaque(&leaf)) {
        return tree;
    }
    let whole: HashSet<&Leaf> = value.leaves.iter().filter(is_opaque).collect();
    opened(tree, |node, leaves| {
        let leaf = leaves.first().filter(|leaf| node.is_leaf() && !whole.contains(leaf));
        Ok(leaf.and_then(Leaf::opaque).map(Value::to_tree))
    })
}
