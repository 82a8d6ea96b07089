//! Maps that have a key twice. Formats forbid them or leave their meaning open, and most programs
//! use the last entry.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use treedef::__private::key_form;
use treedef::{Edit, Key, Leaf, NodeRef, Path, Tree, Value};

use crate::args::DuplicateKeys;
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::formats::json::{json_failure, json_of};
use crate::paths::{readable, text_of};

/// The first map that has a key twice: its path, and the key.
pub(crate) fn first<L>(tree: &Tree<L>) -> Option<(Path, String)> {
    let mut path = Path::root();
    let twice =
        |keys: &[Value]| Some(text_of(&Key::Entry(keys.get(*twins(keys).first()?)?.clone())));
    let key = first_below(tree.treedef().root(), &mut path, &twice)?;
    Some((path, key))
}

/// The positions of keys that occur again later.
fn twins(keys: &[Value]) -> Vec<usize> {
    if keys.iter().all(|key| key.as_str().is_some()) {
        // Equal texts are neighbours.
        let pairs = keys.iter().zip(keys.iter().skip(1)).enumerate();
        return pairs.filter(|(_, (a, b))| a == b).map(|(at, _)| at).collect();
    }
    let mut later = HashSet::new();
    let again = keys.iter().enumerate().rev().filter(|(_, key)| !later.insert(key_form(key)));
    let mut again: Vec<usize> = again.map(|(at, _)| at).collect();
    again.reverse();
    again
}

/// The paths that several entries of a map have.
pub(crate) fn paths<L>(tree: &Tree<L>) -> HashSet<Path> {
    let mut paths = HashSet::new();
    for (path, node) in tree.treedef().nodes() {
        let keys = node.entry_keys();
        let again = twins(keys).into_iter().filter_map(|at| keys.get(at));
        paths.extend(again.map(|key| path.child(Key::Entry(key.clone()))));
    }
    paths
}

/// The first duplicate in the keys of maps. The recursion is as deep as the limits of the tree allow.
fn first_below(
    node: NodeRef<'_>,
    path: &mut Path,
    find: &dyn Fn(&[Value]) -> Option<String>,
) -> Option<String> {
    if let Some(found) = find(node.entry_keys()) {
        return Some(found);
    }
    let mut position = 0;
    for (child, count) in node.runs() {
        if child.num_children() > 0 {
            path.push(node.key(position)?);
            let found = first_below(child, path, find);
            if found.is_some() {
                return found;
            }
            path.pop();
        }
        position += count;
    }
    None
}

/// Describes the fault.
pub(crate) fn message(path: &Path, key: &str) -> String {
    let place = if path.is_root() { String::new() } else { format!(" at `{}`", readable(path)) };
    format!("the key `{key}` occurs twice in one map{place}")
}

/// The hint for a key that occurs twice.
pub(crate) const HINT: &str = "delete one, or pass `--duplicate-keys last` or `warn`";

/// Treats a document with a duplicate key as chosen. Returns the warning, too. `bytes` is the text
/// of the document.
pub(crate) fn resolved(
    tree: Tree<Leaf>,
    bytes: &[u8],
    format: Format,
    choice: DuplicateKeys,
) -> Result<(Tree<Leaf>, Option<String>)> {
    let Some((path, key)) = first(&tree) else { return Ok((tree, None)) };
    let twice = message(&path, &key);
    match choice {
        DuplicateKeys::Last => Ok((last_ones(tree)?, None)),
        DuplicateKeys::Warn => Ok((tree, Some(twice))),
        DuplicateKeys::Error => {
            let placed = unique(bytes).err().filter(|_| format == Format::Json);
            let failure = placed.map_or_else(|| Failure::new(twice), json_failure);
            let message = format!("{}: {HINT}", failure.message());
            Err(failure.with_message(message))
        }
    }
}

/// The tree with only the last of the entries with the same key.
pub(crate) fn last_ones(tree: Tree<Leaf>) -> treedef::Result<Tree<Leaf>> {
    // How many entries with this path are still to be removed.
    let mut more: HashMap<Path, usize> = HashMap::new();
    tree.edit(|path, node, _| {
        let keys = node.entry_keys();
        if let Some(more) = more.get_mut(path).filter(|more| **more > 0) {
            *more -= 1;
            return Ok(Edit::Remove);
        }
        for key in twins(keys).into_iter().filter_map(|at| keys.get(at)) {
            *more.entry(path.child(Key::Entry(key.clone()))).or_default() += 1;
        }
        Ok(Edit::Keep)
    })
}

/// Reads a document in JSON. Fails at the second occurrence of a key, or if the document is not
/// valid JSON.
pub(crate) fn unique(bytes: &[u8]) -> serde_json::Result<()> {
    let (mut json, mut path) = (json_of(bytes), Path::root());
    UniqueKeySeed { path: &mut path }.deserialize(&mut json)?;
    json.end()
}

/// Reads any value. Numbers and texts are skipped.
struct UniqueKeySeed<'p> {
    /// That of the value.
    path: &'p mut Path,
}

impl<'de> DeserializeSeed<'de> for UniqueKeySeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, document: D) -> Result<(), D::Error> {
        document.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for UniqueKeySeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        for index in 0.. {
            self.path.push(Key::Index(index));
            if seq.next_element_seed(UniqueKeySeed { path: self.path })?.is_none() {
                break;
            }
            self.path.pop();
        }
        self.path.pop();
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if keys.contains(&key) {
                return Err(de::Error::custom(message(self.path, &key)));
            }
            self.path.push(Key::Entry(Value::from(Leaf::from(key.clone()))));
            keys.insert(key);
            map.next_value_seed(UniqueKeySeed { path: self.path })?;
            self.path.pop();
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str) -> Tree<Leaf> {
        serde_json::from_str(text).unwrap()
    }

    /// Every document that has a key twice is found by its tree and by its text, and `last` keeps
    /// the entries that serde_json keeps.
    #[test]
    fn keys_that_occur_twice_are_found_and_resolved() {
        let mut rng = fastrand::Rng::with_seed(7);
        fn document(rng: &mut fastrand::Rng, depth: usize) -> String {
            let many = rng.usize(0..4);
            match rng.usize(0..if depth == 0 { 1 } else { 3 }) {
                0 => rng.u8(..).to_string(),
                1 => {
                    let all: Vec<_> = (0..many).map(|_| document(rng, depth - 1)).collect();
                    format!("[{}]", all.join(","))
                }
                _ => {
                    let entry = |_| {
                        let key = *rng.choice(&["a", "b", "c", "d e", "é"]).unwrap();
                        format!("{key:?}:{}", document(rng, depth - 1))
                    };
                    format!("{{{}}}", (0..many).map(entry).collect::<Vec<_>>().join(","))
                }
            }
        }
        let mut twice = 0;
        for _ in 0..3_000 {
            let text = document(&mut rng, 4);
            let tree = read(&text);
            let found = first(&tree);
            assert_eq!(found.is_some(), unique(text.as_bytes()).is_err(), "{text}");
            twice += usize::from(found.is_some());
            let last = last_ones(tree).unwrap();
            assert_eq!(first(&last), None, "{text}");
            let expected: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(serde_json::to_value(&last).unwrap(), expected, "{text}");
        }
        assert!((300..2_500).contains(&twice), "{twice}");
    }

    #[test]
    fn the_place_is_that_of_the_second() {
        let error = unique(b"[1,\n {\"b\": [{\"c\": 1, \"d\": [], \"c\": 2}]}]").unwrap_err();
        let expected = "the key `c` occurs twice in one map at `[1].b[0]` at line 2 column 29";
        assert_eq!(error.to_string(), expected);
    }
}
