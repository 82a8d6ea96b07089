//! Names of tensors as paths: they are split at their dots, and numbers are indices.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use treedef::{Key, Leaf, Path, Tree, TreeDef, Value};

use crate::failure::{Failure, Result};
use crate::paths::text_of;

/// The name of a tensor in a message. The array in a `.npy` file has none.
pub(crate) fn display_name(name: &str) -> String {
    if name.is_empty() { "the array".to_owned() } else { format!("`{name}`") }
}

/// The failure of numbers that are not read. Its path begins in the tensor.
pub(crate) fn of_tensor(error: treedef::Error, name: &str) -> Failure {
    let failure = Failure::from(error);
    if name.is_empty() {
        return failure;
    }
    let message = format!("{}: {}", display_name(name), failure.message());
    failure.with_message(message)
}

/// Named values as a tree.
pub(crate) enum NameTree<T> {
    Leaf(T),
    Inner(BTreeMap<NamePart, NameTree<T>>),
}

/// A part of a name. Numbers are sorted numerically.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NamePart {
    Number(usize),
    Name(String),
}

impl NamePart {
    fn of(text: &str) -> Self {
        let number = text.parse::<usize>().ok().filter(|number| number.to_string() == text);
        number.map_or_else(|| NamePart::Name(text.to_owned()), NamePart::Number)
    }

    fn text(&self) -> String {
        match self {
            NamePart::Number(number) => number.to_string(),
            NamePart::Name(name) => name.clone(),
        }
    }

    /// Its key in a map, in which a number has the path that it has in a sequence.
    fn key(self) -> Leaf {
        match self {
            // The text of an `i32` has no kind: `{1: {"w": f32[3]}}`.
            NamePart::Number(number) => match i32::try_from(number) {
                Ok(number) => number.into(),
                Err(_) => Leaf::from(number as u64), // not wider
            },
            NamePart::Name(name) => Leaf::from(name),
        }
    }
}

/// The maximum number of parts of a name that are levels of the tree.
const DEEPEST: usize = 32;

impl<T> NameTree<T> {
    /// The tree of these names, which are distinct. If there is only one and it is empty, it is the
    /// root.
    pub(crate) fn of(named: impl IntoIterator<Item = (String, T)>) -> Self {
        // If names clash, the result must not depend on their order in the file.
        let mut named: BTreeMap<String, T> = named.into_iter().collect();
        if named.len() == 1
            && let Some(only) = named.remove("")
        {
            return NameTree::Leaf(only);
        }
        let mut root = NameTree::Inner(BTreeMap::new());
        named.into_iter().for_each(|(name, it)| root.insert(&name, DEEPEST, it));
        root
    }

    /// A name that is also the beginning of another one keeps its dots.
    fn insert(&mut self, name: &str, levels: usize, it: T) {
        let NameTree::Inner(inner) = self else { return };
        if let Some((part, rest)) = name.split_once('.').filter(|_| levels > 0) {
            let next =
                inner.entry(NamePart::of(part)).or_insert_with(|| NameTree::Inner(BTreeMap::new()));
            if matches!(next, NameTree::Inner(_)) {
                return next.insert(rest, levels - 1, it);
            }
        }
        let mut part = NamePart::of(name);
        while inner.contains_key(&part) {
            part = NamePart::Name(part.text() + ".");
        }
        inner.insert(part, NameTree::Leaf(it));
    }

    /// Whether the parts are the indices of a sequence.
    fn is_seq(inner: &BTreeMap<NamePart, NameTree<T>>) -> bool {
        let parts = inner.keys().enumerate();
        !inner.is_empty() && parts.into_iter().all(|(index, part)| *part == NamePart::Number(index))
    }

    /// The tree in which tensors are found and named: `[2]` is the number 2, whether or not 0 and 1 are there.
    pub(crate) fn into_tree(self) -> Result<Tree<T>> {
        self.with_keys(NamePart::key)
    }

    /// The tree as a document, whose keys are texts.
    pub(crate) fn into_document(self) -> Result<Tree<T>> {
        self.with_keys(|part| part.text().into())
    }

    fn with_keys(self, key: fn(NamePart) -> Leaf) -> Result<Tree<T>> {
        let mut leaves = Vec::new();
        let treedef = self.into_treedef(key, &mut leaves)?;
        Ok(Tree::new(treedef, leaves)?)
    }

    /// The structure, with the leaves in its order.
    fn into_treedef(self, key: fn(NamePart) -> Leaf, leaves: &mut Vec<T>) -> Result<TreeDef> {
        let inner = match self {
            NameTree::Leaf(it) => {
                leaves.push(it);
                return Ok(TreeDef::leaf());
            }
            NameTree::Inner(inner) => inner,
        };
        if NameTree::is_seq(&inner) {
            let all = inner.into_values().map(|child| child.into_treedef(key, leaves));
            return Ok(TreeDef::seq(all.collect::<Result<Vec<_>>>()?)?);
        }
        // A map sorts its keys, and the leaves have to be in that order.
        let mut children: Vec<_> =
            inner.into_iter().map(|(part, child)| (Value::from(key(part)), child)).collect();
        children.sort_by(|(a, _), (b, _)| a.cmp(b));
        let entries =
            children.into_iter().map(|(name, child)| Ok((name, child.into_treedef(key, leaves)?)));
        Ok(TreeDef::map(entries.collect::<Result<Vec<_>>>()?)?)
    }
}

/// The tree of names, with the aliases that another tree has, such as the tree of an npz file, which has no ties.
pub(crate) fn with_ties<T: Clone>(
    tree: &Tree<T>,
    aliases: &BTreeMap<String, String>,
    other: &TreeDef,
) -> Result<Option<Tree<T>>> {
    if aliases.is_empty() {
        return Ok(None);
    }
    let names: HashSet<String> = other.leaf_paths().map(|path| joined(&path)).collect();
    let paths = tree.treedef().leaf_paths().map(|path| joined(&path));
    let stored: HashMap<String, T> = paths.zip(tree.leaves().iter().cloned()).collect();
    let tied = aliases.iter().filter(|(alias, _)| names.contains(*alias));
    let tied = tied.filter_map(|(alias, of)| Some((alias.clone(), stored.get(of)?.clone())));
    let tied: Vec<(String, T)> = tied.collect();
    NameTree::of(stored.into_iter().chain(tied)).into_tree().map(Some)
}

/// The name at a path of such a tree.
pub(crate) fn joined(path: &Path) -> String {
    let part = |key: &Key| match key {
        Key::Index(index) => index.to_string(),
        key => text_of(key),
    };
    path.keys().iter().map(part).collect::<Vec<_>>().join(".")
}

/// Serializes nested maps and sequences.
impl<T: Serialize> Serialize for NameTree<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            NameTree::Leaf(it) => it.serialize(serializer),
            NameTree::Inner(inner) if NameTree::is_seq(inner) => {
                let mut seq = serializer.serialize_seq(Some(inner.len()))?;
                inner.values().try_for_each(|child| seq.serialize_element(child))?;
                seq.end()
            }
            NameTree::Inner(inner) => {
                let mut map = serializer.serialize_map(Some(inner.len()))?;
                for (part, child) in inner {
                    map.serialize_entry(&part.text(), child)?;
                }
                map.end()
            }
        }
    }
}
