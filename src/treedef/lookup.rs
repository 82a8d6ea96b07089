//! Finding a node by a path, as somebody writes it.

use std::ops::Range;

use crate::argument::ToPath;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Leaf, NodeKind, TreeDef, Value};
use crate::path::{Key, Path};
use crate::treedef::node_ref::NodeRef;

/// At most this many keys of a node are compared with one that it does not have.
pub(crate) const COMPARED: usize = 1 << 10;

/// Names of more bytes are not compared: that takes the product of two lengths.
const LONGEST_NAME: usize = 64;

impl TreeDef {
    /// The node at a path.
    ///
    /// A key that the node does not have finds the one that it can mean, if there is just one. So a
    /// stored path still leads to its node when `#[serde(flatten)]` has turned a struct into a map.
    ///
    /// | written | finds |
    /// |---|---|
    /// | `.name` | the field; else the entry `["name"]`, or the field of the variant that is there |
    /// | `["name"]` | the entry; else the field |
    /// | `[3]`, `.3` | the element of a sequence or a tuple; else the entry `[3u32]` of any integer type |
    /// | any key below a `Some` | also without the `?` |
    ///
    /// The time grows with the depth, and with the logarithm of the number of different siblings
    /// and of the number of entries of each map along the path. It grows with the number of fields
    /// of a struct, and with that of entries under
    /// [`MapOrder::Insertion`](crate::MapOrder::Insertion). The first such call on a structure
    /// visits all its nodes once. So does an error, which looks for the nearest key.
    ///
    /// # Errors
    ///
    /// Returns an error when no node is at the path, with the part that exists and the nearest key;
    /// and when a key can mean two entries, with both.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// let value = BTreeMap::from([("tls", Some((443, "a")))]);
    /// let treedef = treedef::structure(&value)?;
    /// assert_eq!(treedef.leaf_index(r#"["tls"]?.0"#)?, treedef.leaf_index(".tls.0")?);
    ///
    /// let error = treedef.node(".tsl").unwrap_err();
    /// assert!(error.to_string().ends_with("at the root (did you mean `[\"tls\"]`?)"));
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn node(&self, path: impl ToPath) -> Result<NodeRef<'_>> {
        self.find(&*path.to_path()?).map(|(_, node)| node)
    }

    /// The path of the node that a [lookup](Self::node) of this path finds, as it prints here; in the
    /// same time.
    ///
    /// # Errors
    ///
    /// As [`node`](Self::node).
    ///
    /// ```
    /// use treedef::TreeDef;
    ///
    /// let treedef: TreeDef = r#"{"server": Some(Server { port: * })}"#.parse()?;
    /// assert_eq!(treedef.resolve("server.port")?.to_string(), r#"["server"]?.port"#);
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn resolve(&self, path: impl ToPath) -> Result<Path> {
        self.find(&*path.to_path()?).map(|(path, _)| path)
    }

    /// The index of the leaf at a path, in the time of [`node`](Self::node). A `Some` around it need not
    /// be in the path.
    ///
    /// # Errors
    ///
    /// As [`node`](Self::node), and if the node is not a leaf. A static has no leaf, and a
    /// container may have many.
    ///
    /// ```
    /// let treedef = treedef::structure(&vec![("a", Some(1)), ("b", Some(2))])?;
    /// assert_eq!(treedef.leaf_index("[1].0")?, 2);
    /// assert_eq!(treedef.leaf_index("[1].1")?, 3);
    /// assert!(treedef.leaf_index("[1]").is_err());
    /// # Ok::<(), treedef::Error>(())
    /// ```
    pub fn leaf_index(&self, path: impl ToPath) -> Result<usize> {
        let (mut path, mut node) = self.find(&*path.to_path()?)?;
        let found = node;
        enter_somes(&mut node, &mut path);
        match node.kind() {
            NodeKind::Leaf => Ok(node.first_leaf()),
            _ => Err(Error::not_a_leaf(found.brief()).at(path)),
        }
    }

    /// The node that a path finds, and its own path.
    pub(crate) fn find(&self, asked: &Path) -> Result<(Path, NodeRef<'_>)> {
        let (mut path, mut node) = (Path::root(), self.root());
        for (depth, key) in asked.keys().iter().enumerate() {
            if !child(&mut node, &mut path, key)? {
                let rest = asked.keys().get(depth + 1..).unwrap_or_default();
                let nearest = nearest(node, &path, key, rest);
                let (key, here) = (key.clone(), node.brief());
                let missing = ErrorKind::NoSuchChild { key, node: here, nearest };
                return Err(Error::from(missing).at(path));
            }
        }
        Ok((path, node))
    }
}

/// Goes to the child that a key finds. Returns whether there is one; if not, to the inside of any
/// `Some` that is here.
fn child(node: &mut NodeRef<'_>, path: &mut Path, key: &Key) -> Result<bool> {
    if *key != Key::Some {
        enter_somes(node, path);
    }
    match position(*node, key).map_err(|error| error.at(path.clone()))? {
        Some(found) => Ok(descend(node, path, found)),
        None => Ok(false),
    }
}

/// Goes to the child at a position. Returns whether there is one.
fn descend(node: &mut NodeRef<'_>, path: &mut Path, position: usize) -> bool {
    let (Some(key), Some(child)) = (node.key(position), node.child(position)) else { return false };
    path.push(key);
    *node = child;
    true
}

/// Goes to the inside of any `Some` that is here.
pub(crate) fn enter_somes(node: &mut NodeRef<'_>, path: &mut Path) {
    while node.kind() == NodeKind::Some && descend(node, path, 0) {}
}

/// The position of the child that has this key, or the only one that it can mean.
pub(crate) fn position(node: NodeRef<'_>, key: &Key) -> Result<Option<usize>> {
    if let Some(position) = node.position(key) {
        return Ok(Some(position));
    }
    if !node.is_labelled() {
        // All keys are alike there, so the one at the position says whether it is meant.
        let index = match key {
            Key::Position(index) | Key::Index(index) | Key::VariantPosition(_, index) => *index,
            Key::Entry(value) => match value.as_leaf().and_then(|leaf| leaf.as_u64()) {
                Some(index) => usize::try_from(index).unwrap_or(usize::MAX),
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        return Ok(node.key(index).filter(|actual| key.can_mean(actual)).map(|_| index));
    }
    let mut found: Option<(usize, Key)> = None;
    for position in candidates(node, key) {
        let Some(actual) = node.key(position).filter(|actual| key.can_mean(actual)) else {
            continue;
        };
        match &found {
            None => found = Some((position, actual)),
            // Of equal keys the first is meant.
            Some((_, first)) if *first == actual => {}
            Some((_, first)) => {
                let (key, first) = (key.clone(), first.clone());
                return Err(ErrorKind::Ambiguous { key, first, second: actual }.into());
            }
        }
    }
    Ok(found.map(|(position, _)| position))
}

/// The positions of the children that a key can mean, and perhaps of others. In a sorted map the
/// entries of one text, and those of one number of any type, are neighbours.
fn candidates(node: NodeRef<'_>, key: &Key) -> Range<usize> {
    let keys = node.entry_keys();
    let (first, count): (usize, usize) = match (key.place(), key.text()) {
        _ if !node.is_sorted_map() => (0, node.num_children()),
        (Some(number), _) => {
            let first = keys.partition_point(|known| known.is_below(number));
            let is_it = |known: &&Value| known.as_leaf().and_then(Leaf::as_i128) == Some(number);
            (first, keys.iter().skip(first).take_while(is_it).count())
        }
        (None, Some(text)) => {
            let text = Value::from(Leaf::from(text));
            let first = keys.partition_point(|known| *known < text);
            (first, keys.iter().skip(first).take_while(|known| **known == text).count())
        }
        (None, None) => (0, 0),
    };
    first..first + count
}

/// What was perhaps meant by a key that is not there: one that is spelled nearly so; or what the
/// rest of the path finds here, as below a struct that `#[serde(flatten)]` dissolved.
#[cold]
fn nearest(node: NodeRef<'_>, path: &Path, key: &Key, rest: &[Key]) -> Option<Path> {
    let without = || {
        let (mut node, mut path) = (node, path.clone());
        let found = rest.iter().all(|key| child(&mut node, &mut path, key).unwrap_or(false));
        (found && !rest.is_empty()).then_some(path)
    };
    let text = key.text()?;
    let close = |actual: Key| Some((distance(text, actual.text()?)?, actual));
    let keys = (0..node.num_children().min(COMPARED)).filter_map(|position| node.key(position));
    let spelled = keys.filter_map(close).min_by_key(|(distance, _)| *distance);
    spelled.map(|(_, actual)| path.child(actual)).or_else(without)
}

/// How near a name is to a text. The nearest is the least.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Nearness {
    /// It is spelled nearly so, except for this many edits.
    Spelled(usize),
    /// One is the beginning of the other, as `w` of `weight`. One is this much longer.
    Begins(usize),
}

/// How near a name is to a text, if it can be what the text means.
pub(crate) fn nearness(text: &str, name: &str) -> Option<Nearness> {
    let begins =
        !text.is_empty() && !name.is_empty() && (text.starts_with(name) || name.starts_with(text));
    let begins = begins.then(|| Nearness::Begins(text.len().abs_diff(name.len())));
    distance(text, name).map(Nearness::Spelled).or(begins)
}

/// The number of edits from a text to a name, if they are so few that the name can be meant.
pub(crate) fn distance(text: &str, name: &str) -> Option<usize> {
    if text.len() > LONGEST_NAME || name.len() > LONGEST_NAME {
        return None;
    }
    let distance = strsim::damerau_levenshtein(text, name);
    let length = text.chars().count();
    (distance < length && distance <= 1 + length / 4).then_some(distance)
}
