//! Dates of TOML, which are texts in all other formats.

use std::collections::HashSet;
use std::str::FromStr;

use toml::value::Datetime;
use treedef::{Edit, Key, Leaf, NodeKind, Path, Tree, TreeDef, Value};

/// A date is a map with this one key, to serde. Where TOML is written, such a map is a date again.
const KEY: &str = "$__toml_private_datetime";

/// Where there are dates in a document.
#[derive(Debug, Default)]
pub(crate) struct Dates {
    paths: HashSet<Path>,
    /// Paths without the indices of lists, at which each text is a date.
    places: HashSet<Path>,
}

/// The path with 0 for all indices.
fn place_of(path: &Path) -> Path {
    let key = |key: &Key| match key {
        Key::Index(_) => Key::Index(0),
        key => key.clone(),
    };
    path.keys().iter().map(key).collect()
}

/// Whether a map has this key, by which a format names what serde does not have.
pub(crate) fn has_key(tree: &Tree<Leaf>, key: &str) -> bool {
    let is_it = |found: &Value| found.as_str() == Some(key);
    tree.treedef().nodes().any(|(_, node)| node.entry_keys().iter().any(is_it))
}

impl Dates {
    /// The tree with texts for its dates, and where they are.
    pub(crate) fn taken_from(tree: Tree<Leaf>) -> treedef::Result<(Tree<Leaf>, Self)> {
        let mut dates = Dates::default();
        if !has_key(&tree, KEY) {
            return Ok((tree, dates));
        }
        let tree =
            tree.edit(|path, node, leaves| match (node.kind(), node.entry_keys(), leaves) {
                (NodeKind::Map, [key], [date]) if key.as_str() == Some(KEY) => {
                    dates.paths.insert(path.clone());
                    dates.places.insert(place_of(path));
                    Ok(Edit::Replace(Tree::leaf(date.clone())))
                }
                _ => Ok(Edit::Keep),
            })?;
        for (path, leaf) in tree.treedef().leaf_paths().zip(tree.leaves()) {
            if leaf.as_str().is_some() && !dates.paths.contains(&path) {
                dates.places.remove(&place_of(&path));
            }
        }
        Ok((tree, dates))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// The tree with dates where they were, also in lists that have become longer or shorter.
    pub(crate) fn put_into(&self, tree: Tree<Leaf>) -> treedef::Result<Tree<Leaf>> {
        if self.is_empty() {
            return Ok(tree);
        }
        let key = Value::from(Leaf::from(KEY));
        let date = TreeDef::map([(key, TreeDef::leaf())])?;
        tree.edit(|path, node, leaves| {
            let text = leaves.first().filter(|_| node.is_leaf()).and_then(Leaf::as_str);
            let is_date = text.is_some_and(|text| Datetime::from_str(text).is_ok())
                && (self.paths.contains(path) || self.places.contains(&place_of(path)));
            if is_date {
                return Ok(Edit::Replace(Tree::new(date.clone(), leaves.to_vec())?));
            }
            Ok(Edit::Keep)
        })
    }
}
