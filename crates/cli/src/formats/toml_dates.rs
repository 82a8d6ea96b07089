//! Dates of TOML, which are texts in all other formats.

use std::collections::HashSet;
use std::str::FromStr;

use toml::value::Datetime;
use treedef::__private::OrBug;
use treedef::{Change, ChangeKind, Edit, Key, Leaf, NodeRef, Path, Tree, TreeDef};

/// To serde, a date is a struct of this name with this one field. When TOML is written, such a struct
/// becomes a date again.
const NAME: &str = "$__toml_private_Datetime";
const FIELD: &str = "$__toml_private_datetime";

/// The places of dates in a document.
#[derive(Debug, Default)]
pub(crate) struct Dates {
    paths: HashSet<Path>,
    /// Paths without the indices of lists, at which each text is a date.
    places: HashSet<Path>,
    /// Whether some dates of the document became texts.
    pub(crate) has_dropped: bool,
    /// Whether digits of a time were cut off.
    pub(crate) has_cut: bool,
}

/// The path with 0 for all indices.
fn place_of(path: &Path) -> Path {
    let key = |key: &Key| match key {
        Key::Index(_) => Key::Index(0),
        key => key.clone(),
    };
    path.keys().iter().map(key).collect()
}

/// Whether a node has this name, by which a format passes values outside of serde's data model.
pub(crate) fn has_name(tree: &Tree<Leaf>, name: &str) -> bool {
    tree.treedef().nodes().any(|(_, node)| node.name() == Some(name))
}

/// A node of this name with an unexpected content, which only a file of the library can have.
pub(crate) fn wrong_at(
    tree: &Tree<Leaf>,
    name: &str,
    is_right: impl Fn(&Leaf) -> bool,
) -> Option<Path> {
    let first = |node: NodeRef<'_>| tree.leaves().get(node.leaf_range().start);
    let is_wrong =
        |node: NodeRef<'_>| node.name() == Some(name) && !first(node).is_some_and(&is_right);
    tree.treedef().nodes().find(|(_, node)| is_wrong(*node)).map(|(path, _)| path)
}

/// A date that is not valid.
pub(crate) fn wrong_date_at(tree: &Tree<Leaf>) -> Option<Path> {
    wrong_at(tree, NAME, |leaf| leaf.as_str().is_some_and(|text| Datetime::from_str(text).is_ok()))
}

/// The paths of the lists in which a patch adds or removes elements.
pub(crate) fn moved_lists(changes: &[Change<Tree<Leaf>>]) -> HashSet<&[Key]> {
    changes.iter().filter_map(list_of).collect()
}

/// The path of the list whose indices a change moves.
fn list_of(change: &Change<Tree<Leaf>>) -> Option<&[Key]> {
    match (&change.kind, change.path.keys().split_last()?) {
        (ChangeKind::Added { .. } | ChangeKind::Removed(_), (Key::Index(_), list)) => Some(list),
        _ => None,
    }
}

impl Dates {
    /// The tree with texts for its dates, and the places of the dates.
    pub(crate) fn taken_from(tree: Tree<Leaf>) -> treedef::Result<(Tree<Leaf>, Self)> {
        let mut dates = Dates::default();
        if !has_name(&tree, NAME) {
            return Ok((tree, dates));
        }
        let tree = tree.edit(|path, node, leaves| match leaves {
            [date] if node.name() == Some(NAME) => {
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
        self.paths.is_empty() && self.places.is_empty()
    }

    /// The paths at which a patch of the old document makes texts of these dates.
    pub(crate) fn not_made_from(&self, old: &Self) -> Vec<Path> {
        let is_kept =
            |path: &Path| old.paths.contains(path) || old.places.contains(&place_of(path));
        let mut lost: Vec<Path> =
            self.paths.iter().filter(|path| !is_kept(path)).cloned().collect();
        lost.sort_by_cached_key(ToString::to_string);
        lost
    }

    /// Forgets the places in lists whose indices a patch changed. In a list of nothing but dates, each text
    /// remains one.
    pub(crate) fn drop_moved(&mut self, changes: &[Change<Tree<Leaf>>]) {
        let lists = moved_lists(changes);
        let (places, has_dropped) = (&self.places, &mut self.has_dropped);
        self.paths.retain(|path| {
            let above = path.keys().len();
            let is_moved = (0..above).any(|len| lists.contains(path.keys().get(..len).or_bug()));
            *has_dropped |= is_moved && !places.contains(&place_of(path));
            !is_moved
        });
    }

    /// The tree with dates where they were, also in lists that have become longer or shorter.
    pub(crate) fn put_into(&self, tree: Tree<Leaf>) -> treedef::Result<Tree<Leaf>> {
        if self.is_empty() {
            return Ok(tree);
        }
        let date = TreeDef::named_struct(NAME, [(FIELD, TreeDef::leaf())])?;
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
