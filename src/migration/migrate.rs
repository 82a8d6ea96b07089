//! The method [`Tree::migrate`].

use std::cell::RefCell;
use std::collections::HashSet;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Result;
use crate::flatten::Flattener;
use crate::leaf::leaf_type::{Flat, LeafType};
use crate::model::{Leaf, LeafKind, NodeKind, Tree, TreeDef, Value};
use crate::path::Path;
use crate::treedef::Edit;
use crate::treedef::node_ref::NodeRef;
use crate::unflatten::unflatten;

use super::following::what_became;
use super::report::Migration;

/// # Save and load
impl<L: LeafType> Tree<L> {
    /// Rebuilds the typed value as [`into_typed`](Tree::into_typed) does, and reports what serde
    /// filled, dropped or changed.
    ///
    /// Needs the feature `migrate`.
    ///
    /// A saved value may be older than the definition of its type. serde decides which changes it accepts:
    /// a new field needs `default`, a renamed field needs `alias`, and a removed field is ignored.
    ///
    /// To report renamed fields, the value is rebuilt once more from changed leaves, which shows where each
    /// leaf goes. If the type refuses these leaves, e.g. because it checks a text, the texts are not
    /// changed. Parts that still cannot be followed are reported as dropped and filled.
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
        let old = Tree { treedef, leaves: self.leaves.into_iter().map(L::into).collect() };
        let flattener = Flattener::with_options_of(&old.treedef);
        let value = unflatten::<T>(&old.treedef, &old.leaves)?;
        let old = without_statics(old, &flattener);
        let new = without_statics(flattener.tree(&value)?, &flattener);
        let [of_old, of_new] = [&old, &new].map(opaque_leaves);
        let old = with_opened(old, &|_, leaf| !of_new.contains(leaf));
        let whole = RefCell::new(HashSet::new());
        let new = with_opened(new, &|path, leaf| {
            let is_whole = of_old.contains(leaf);
            is_whole.then(|| whole.borrow_mut().insert(path.clone()));
            !is_whole
        });
        let migration = what_became(&old, &new, widened, &|tree| {
            let value = unflatten::<T>(&tree.treedef, &tree.leaves)?;
            let tree = without_statics(flattener.tree(&value)?, &flattener);
            Ok(with_opened(tree, &|path, _| !whole.borrow().contains(path)))
        });
        Ok((value, migration))
    }
}

fn has_statics(treedef: &TreeDef) -> bool {
    treedef.root().subtree().iter().any(|node| node.kind == NodeKind::Static)
}

/// The tree with the scalars of its statics as leaves, because a value that a rule made static is a
/// leaf of the rebuilt value.
fn without_statics(tree: Tree<Leaf>, flattener: &Flattener) -> Tree<Leaf> {
    if !has_statics(&tree.treedef) {
        return tree;
    }
    opened(tree, |_, node, _| node.static_value().map(|value| flattener.tree(value)).transpose())
}

/// The tree in which some nodes are replaced by their content.
fn opened(
    tree: Tree<Leaf>,
    inside: impl Fn(&Path, NodeRef<'_>, &[Leaf]) -> Result<Option<Tree<Leaf>>>,
) -> Tree<Leaf> {
    let edited = tree.clone().edit(|path, node, leaves| {
        Ok(inside(path, node, leaves)?.map_or(Edit::Keep, Edit::Replace))
    });
    edited.unwrap_or(tree) // there are more leaves than the limits allow
}

/// The leaves that are whole values, e.g. arrays.
fn opaque_leaves(tree: &Tree<Leaf>) -> HashSet<Leaf> {
    tree.leaves.iter().filter(|leaf| leaf.opaque().is_some()).cloned().collect()
}

/// The tree in which some opaque leaves are replaced by their leaves, because the other tree has
/// leaves there.
fn with_opened(tree: Tree<Leaf>, opens: &dyn Fn(&Path, &Leaf) -> bool) -> Tree<Leaf> {
    if !tree.leaves.iter().any(|leaf| leaf.opaque().is_some()) {
        return tree;
    }
    opened(tree, |path, node, leaves| {
        let leaf = leaves.first().filter(|_| node.is_leaf());
        let value = leaf.and_then(|leaf| leaf.opaque().filter(|_| opens(path, leaf)));
        Ok(value.map(Value::to_tree))
    })
}
