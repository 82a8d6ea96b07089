//! Which keys of documents are the same: keys of one value, whatever the format writes.
//!
//! A number and its text are different keys, except for formats that have only texts as keys: `200` of YAML
//! becomes `"200"` in JSON.

use std::collections::{HashMap, HashSet, VecDeque};

use treedef::__private::{OrBug, entry, key_form};
use treedef::{
    Change, ChangeKind, Diff, Edit, Key, Leaf, Name, NodeKind, NodeRef, Path, Tree, TreeDef, Value,
};

use crate::failure::Result;
use crate::paths::part_at;

/// The maximum number of characters of a text that may be the number of a key.
const LONGEST: usize = 64;

/// The value of a key, by which keys are compared. `None` for a position.
pub(crate) fn value_of(key: &Key) -> Option<Value> {
    match key {
        Key::Field(name) | Key::VariantField(_, name) => Some(Leaf::from(&**name).into()),
        Key::Entry(value) => Some(key_form(value)),
        _ => None,
    }
}

/// Whether a map has a key that is not a text.
pub(crate) fn has_others(node: NodeRef<'_>) -> bool {
    node.entry_keys().iter().any(|key| key.as_str().is_none())
}

/// JSON's text for a key, if there is one.
pub(crate) fn json_text(key: &Value) -> Option<String> {
    let key = key_form(key);
    match key.as_leaf()? {
        Leaf::Bytes(_) => None,
        Leaf::F64(number) if !number.is_finite() => None,
        leaf => match leaf.as_str() {
            Some(text) => Some(text.to_owned()),
            None => serde_json::to_string(leaf).ok(),
        },
    }
}

/// The value that a text represents in a format with only texts as keys, as JSON writes it.
fn written_as(text: &str) -> Option<Value> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_padded =
        digits.starts_with('0') && digits.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    let leaf = match text {
        "true" | "false" => (text == "true").into(),
        _ if !digits.starts_with(|c: char| c.is_ascii_digit()) || is_padded => return None,
        _ if text.len() > LONGEST => return None,
        _ => match (text.parse::<i128>(), text.parse::<u128>()) {
            (Ok(number), _) => Leaf::from(number),
            (_, Ok(number)) => number.into(),
            _ => text.parse::<f64>().ok()?.into(),
        },
    };
    Some(key_form(&leaf.into()))
}

fn labels(node: NodeRef<'_>) -> (NodeKind, &[Name], &[Value]) {
    (node.kind(), node.fields(), node.entry_keys())
}

/// The values of the keys of a node.
fn values(node: NodeRef<'_>) -> Vec<Option<Value>> {
    (0..node.num_children()).map(|at| value_of(&node.key(at)?)).collect()
}

/// The children of two nodes that have the same keys.
pub(crate) struct Pairs {
    /// For each child of the first node, the position of its counterpart in the second.
    pub(crate) of_first: Vec<Option<usize>>,
    /// The other children of the second node.
    pub(crate) only_second: Vec<usize>,
}

impl Pairs {
    /// Pairs the fields and entries of two nodes. A key that occurs twice makes two pairs. With
    /// `are_texts`, a number matches its text if no other key does.
    pub(crate) fn of(first: NodeRef<'_>, second: NodeRef<'_>, are_texts: bool) -> Self {
        if labels(first) == labels(second) {
            let of_first = (0..first.num_children()).map(Some).collect();
            return Pairs { of_first, only_second: Vec::new() };
        }
        Self::of_values(&values(first), &values(second), are_texts)
    }

    fn of_values(first: &[Option<Value>], second: &[Option<Value>], are_texts: bool) -> Self {
        let mut pairs =
            Pairs { of_first: vec![None; first.len()], only_second: (0..second.len()).collect() };
        pairs.join(first, second, false, |value| Some(value.clone()));
        if are_texts {
            // As JSON writes it, and then in any other spelling.
            pairs.join(first, second, true, |value| Some(Leaf::from(json_text(value)?).into()));
            pairs.join(first, second, true, |value| match value.as_str() {
                Some(text) => written_as(text),
                None => Some(value.clone()),
            });
        }
        pairs
    }

    /// Pairs unpaired children of the same form. If the pair `crosses`, one of the two keys is a text.
    fn join(
        &mut self,
        first: &[Option<Value>],
        second: &[Option<Value>],
        crosses: bool,
        form: impl Fn(&Value) -> Option<Value>,
    ) {
        let form = |values: &[Option<Value>], at: usize| {
            let value = values.get(at)?.as_ref()?;
            Some((form(value)?, value.as_str().is_some()))
        };
        let mut places: HashMap<(Value, bool), VecDeque<usize>> = HashMap::new();
        for at in &self.only_second {
            if let Some(form) = form(second, *at) {
                places.entry(form).or_default().push_back(*at);
            }
        }
        let mut paired = HashSet::new();
        for (at, pair) in self.of_first.iter_mut().enumerate().filter(|(_, it)| it.is_none()) {
            let Some((form, is_text)) = form(first, at) else { continue };
            *pair = places.get_mut(&(form, is_text != crosses)).and_then(VecDeque::pop_front);
            paired.extend(*pair);
        }
        self.only_second.retain(|at| !paired.contains(at));
    }
}

/// The path as a structure spells its keys, if it has one with the same keys.
pub(crate) fn path_in(treedef: &TreeDef, path: &Path, are_texts: bool) -> Option<Path> {
    let (mut node, mut found) = (treedef.root(), Path::root());
    for key in path.keys() {
        let value = match key {
            // Written as an index, a number may be the key of a map.
            Key::Index(index) if node.kind() == NodeKind::Map => {
                Some(key_form(&Leaf::from(*index as u64).into())) // not wider
            }
            key => value_of(key),
        };
        let at = match value {
            Some(value) => {
                *Pairs::of_values(&[Some(value)], &values(node), are_texts).of_first.first()?
            }
            None => (0..node.num_children()).find(|at| node.key(*at).as_ref() == Some(key)),
        };
        let (key, child) = entry(node, at?);
        found.push(key);
        node = child;
    }
    Some(found)
}

/// The new tree, with the old spelling of keys that are the same.
pub(crate) fn with_keys_of<L: Clone>(
    old: &Tree<L>,
    new: Tree<L>,
    are_texts: bool,
) -> Result<Tree<L>> {
    let (first, second) = (old.treedef().root(), new.treedef().root());
    if old.treedef() == new.treedef() || !any_has_others(first) && !any_has_others(second) {
        return Ok(new);
    }
    let mut found = RespelledKeys { are_texts, keys: HashMap::new() };
    found.compare(first, second, &mut Path::root());
    let RespelledKeys { keys, .. } = found;
    if keys.is_empty() {
        return Ok(new);
    }
    Ok(new.edit_up(|path, made| match keys.get(path) {
        Some(keys) => Ok(Edit::Replace(with_keys(made, keys)?)),
        None => Ok(Edit::Keep),
    })?)
}

/// Whether a key at or below a node is not a text. The recursion is as deep as the limits of the tree
/// allow.
fn any_has_others(node: NodeRef<'_>) -> bool {
    has_others(node) || node.runs().any(|(child, _)| any_has_others(child))
}

/// The keys of maps that are the same in another tree but spelled differently there, by the paths of the
/// maps.
struct RespelledKeys {
    are_texts: bool,
    keys: HashMap<Path, Vec<Value>>,
}

impl RespelledKeys {
    /// The recursion is as deep as the limits of the trees allow.
    fn compare(&mut self, old: NodeRef<'_>, new: NodeRef<'_>, path: &mut Path) {
        let are_texts = self.are_texts;
        let mut below = |old: NodeRef<'_>, at: usize| {
            let (key, child) = entry(new, at);
            path.push(key);
            self.compare(old, child, path);
            path.pop();
        };
        let is_named =
            |node: NodeRef<'_>| !node.fields().is_empty() || node.kind() == NodeKind::Map;
        if !is_named(old) || !is_named(new) {
            let pairs = old.children().zip(0..new.num_children());
            return pairs.for_each(|(old, at)| below(old, at));
        }
        let pairs = Pairs::of(old, new, are_texts);
        let mut keys = new.entry_keys().to_vec();
        for ((at, child), pair) in old.children().enumerate().zip(pairs.of_first) {
            let Some(pair) = pair else { continue };
            below(child, pair);
            let spelled = old.entry_keys().get(at);
            keys.get_mut(pair).zip(spelled).into_iter().for_each(|(key, it)| *key = it.clone());
        }
        // An unsorted map is in a tree that keeps the order, which only a file of the library does.
        if keys != new.entry_keys() && new.entry_keys().is_sorted() {
            self.keys.insert(path.clone(), keys);
        }
    }
}

/// The tree with one spelling of each key, for formats whose programs choose the widths of numbers.
pub(crate) fn with_free_keys<L: Clone>(tree: Tree<L>) -> treedef::Result<Tree<L>> {
    if !any_has_others(tree.treedef().root()) {
        return Ok(tree);
    }
    tree.edit_up(|_, made| {
        let root = made.treedef().root();
        let keys: Vec<Value> = root.entry_keys().iter().map(key_form).collect();
        if keys == root.entry_keys() {
            return Ok(Edit::Keep);
        }
        Ok(Edit::Replace(with_keys(made, &keys)?))
    })
}

/// A map with other keys.
fn with_keys<L: Clone>(map: &Tree<L>, keys: &[Value]) -> treedef::Result<Tree<L>> {
    let mut entries: Vec<_> = keys.iter().zip(map.treedef().root().children()).collect();
    entries.sort_by_key(|(key, _)| *key);
    let part = |node: &NodeRef<'_>| map.leaves().get(node.leaf_range()).or_bug().to_vec();
    let leaves = entries.iter().flat_map(|(_, node)| part(node)).collect();
    let entries = entries.iter().map(|(key, node)| ((*key).clone(), node.to_treedef()));
    Tree::new(TreeDef::map(entries)?, leaves)
}

/// The patch with the spelling and the order of keys in its target tree. A number matches its text if the
/// tree or the patch comes from a format with only `text_keys`.
pub(crate) fn with_keys_for(
    tree: &Tree<Leaf>,
    mut diff: Diff<Tree<Leaf>>,
    text_keys: bool,
) -> Result<Diff<Tree<Leaf>>> {
    let changes = &mut diff.changes;
    let named = |change| TargetedChange { change, path: Path::root(), positions: Vec::new() };
    let mut all: Vec<TargetedChange> = changes.drain(..).map(named).collect();
    let are_texts = text_keys || !all.iter_mut().any(|named| named.has_others());
    let named = all.iter_mut().collect();
    follow((tree, tree.treedef().root()), named, are_texts, &mut Path::root())?;
    all.sort_by(|a, b| a.positions.cmp(&b.positions));
    changes.extend(all.into_iter().map(TargetedChange::into_change));
    Ok(diff)
}

/// A change, and its target in the tree.
struct TargetedChange {
    change: Change<Tree<Leaf>>,
    /// The existing part of its path, and the positions on it.
    path: Path,
    positions: Vec<usize>,
}

impl TargetedChange {
    /// The keys that the tree has before the patch.
    fn keys(&self) -> &[Key] {
        match (&self.change.kind, self.change.path.keys()) {
            (ChangeKind::Added { .. }, [above @ .., _]) => above,
            (_, keys) => keys,
        }
    }

    /// The part that the tree has before the patch.
    fn old(&mut self) -> Option<&mut Tree<Leaf>> {
        match &mut self.change.kind {
            ChangeKind::Removed(old) | ChangeKind::Replaced { old, .. } => Some(old),
            _ => None,
        }
    }

    /// Whether the tree, before the patch, has a key that is not a text.
    fn has_others(&mut self) -> bool {
        let is_other = |key: &Key| value_of(key).is_some_and(|key| key.as_str().is_none());
        self.keys().iter().any(is_other)
            || self.old().is_some_and(|old| any_has_others(old.treedef().root()))
    }

    fn into_change(mut self) -> Change<Tree<Leaf>> {
        let rest = self.change.path.keys().iter().skip(self.path.keys().len()).cloned();
        self.path.extend(rest);
        self.change.path = self.path;
        self.change
    }
}

/// Follows the paths of changes at and below a node. The recursion is as deep as the limits of the tree
/// allow.
fn follow(
    (tree, node): (&Tree<Leaf>, NodeRef<'_>),
    changes: Vec<&mut TargetedChange>,
    are_texts: bool,
    path: &mut Path,
) -> Result<()> {
    let (mut here, mut groups) = (Vec::new(), Vec::<(Key, Vec<&mut TargetedChange>)>::new());
    let mut places = HashMap::new();
    for named in changes {
        let Some(key) = named.keys().get(path.keys().len()).cloned() else {
            here.push(named);
            continue;
        };
        let place = *places.entry(key.clone()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, group)) => group.push(named),
            None => groups.push((key, vec![named])),
        }
    }
    // Such a change is always alone.
    if let [named] = &mut *here
        && let Some(old) = named.old()
        && let Some(part) = part_at(tree, path)
    {
        *old = with_keys_of(&part, old.clone(), are_texts)?;
    }
    let keys: Vec<_> = groups.iter().map(|(key, _)| value_of(key)).collect();
    let pairs = Pairs::of_values(&keys, &values(node), are_texts);
    for ((key, mut group), pair) in groups.into_iter().zip(pairs.of_first) {
        let position = pair.or_else(|| node.position(&key));
        let Some(position) = position else { continue };
        let (key, child) = entry(node, position);
        for named in &mut group {
            named.path.push(key.clone());
            named.positions.push(position);
        }
        path.push(key);
        follow((tree, child), group, are_texts, path)?;
        path.pop();
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn tree(text: &str) -> Tree<Leaf> {
        let treedef: TreeDef = text.parse().unwrap();
        let leaves = (0..treedef.num_leaves()).map(|leaf| (leaf as u64).into()).collect();
        Tree::new(treedef, leaves).unwrap()
    }

    /// Each leaf stays with its key, wherever that is then.
    #[test]
    fn keys_are_those_of_the_other_tree() {
        for (old, new, expected) in [
            ("{3u8: *}", "{3u64: *, 4u64: *}", "{3u8: 0, 4u64: 1}"),
            ("{\"10\": *, \"9\": *}", "{9u8: *, 10u8: *}", "{\"10\": 1, \"9\": 0}"),
            ("{1.5f32: {(): *}}", "{\"1.50\": {None: *}, \"x\": *}", "{1.5f32: {(): 0}, \"x\": 1}"),
            ("[P { a: {1: *} }]", "[{\"a\": {1u8: *}}, *]", "[{\"a\": {1: 0}}, 1]"),
            ("{\"1\": *}", "{\"1\": *, 1: *}", "{1: 0, \"1\": 1}"),
            (
                "#[insertion] {2: *, 1: *}",
                "#[insertion] {2u8: *, 1u8: *}",
                "#[insertion] {2u8: 0, 1u8: 1}",
            ),
        ] {
            let found = with_keys_of(&tree(old), tree(new), true).unwrap().to_string();
            assert_eq!(
                found.replace("u64,", ",").replace("u64}", "}").replace("u64]", "]"),
                expected
            );
        }
        let found = with_keys_of(&tree("{\"1\": *}"), tree("{1: *}"), false).unwrap();
        assert_eq!(found.to_string(), "{1: 0u64}");
    }
}
