//! Finds a node by a path as a user writes it.

use std::ops::Range;

use crate::error::{Cause, Result};
use crate::model::{Leaf, NodeKind, Value};
use crate::path::{Key, Path};
use crate::treedef::node_ref::NodeRef;

/// Longer names, in bytes, are not compared, because that takes time in the product of two lengths.
const LONGEST_NAME: usize = 64;

/// The maximum number of keys of a path that may be one name with dots.
const MOST_JOINED: usize = 16;

/// Goes into the `Some`s and newtypes at this node that the key does not name, then to the child that
/// the key finds. Returns whether there is one.
pub(super) fn child(node: &mut NodeRef<'_>, path: &mut Path, key: &Key) -> Result<bool> {
    enter(node, path, |inside| inside != key);
    match position(*node, key).map_err(|error| error.at(path.clone()))? {
        Some(found) => Ok(descend(node, path, found)),
        None => Ok(false),
    }
}

/// Goes to the child at a position. Returns whether there is one.
fn descend(node: &mut NodeRef<'_>, path: &mut Path, position: usize) -> bool {
    let Some(child) = node.child(position) else { return false };
    path.push(node.child_key(position));
    *node = child;
    true
}

/// Goes into all `Some`s and newtypes at this node, unless the key asks for their content.
pub(crate) fn enter(node: &mut NodeRef<'_>, path: &mut Path, is_passed: impl Fn(&Key) -> bool) {
    let inside = |node: &NodeRef<'_>| match node.kind() {
        NodeKind::Some => Some(Key::Some),
        NodeKind::NewtypeStruct => Some(Key::Position(0)),
        _ => None,
    };
    while inside(node).is_some_and(|key| is_passed(&key)) && descend(node, path, 0) {}
}

/// The position of the child with this key, or of the only child that the key can mean.
pub(crate) fn position(node: NodeRef<'_>, key: &Key) -> Result<Option<usize>> {
    if let Some(position) = node.position(key) {
        return Ok(Some(position));
    }
    if !node.is_labelled() {
        // All keys are alike there, so the one at the position decides whether it is meant.
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
    for position in candidates(node, key).into_iter().flatten() {
        let Some(actual) = node.key(position).filter(|actual| key.can_mean(actual)) else {
            continue;
        };
        match &found {
            None => found = Some((position, actual)),
            // Of equal keys the first counts.
            Some((_, first)) if *first == actual => {}
            Some((_, first)) => {
                let (key, first) = (key.clone(), first.clone());
                return Err(Cause::Ambiguous { key, first, second: actual }.into());
            }
        }
    }
    Ok(found.map(|(position, _)| position))
}

/// The positions of the children that a key can mean, and perhaps of others. In a sorted map, entries of
/// one text are neighbours, and so are entries of one number in any type; compounds are last.
fn candidates(node: NodeRef<'_>, key: &Key) -> Vec<Range<usize>> {
    let (keys, mut ranges) = (node.entry_keys(), Vec::new());
    if !node.is_sorted_map() {
        ranges.push(0..node.num_children());
        return ranges;
    }
    let mut meet = |is_before: &dyn Fn(&Value) -> bool, has_value: &dyn Fn(&Value) -> bool| {
        let first = keys.partition_point(is_before);
        let mut end = first;
        while keys.get(end).is_some_and(has_value) {
            end += 1;
        }
        ranges.push(first..end);
    };
    if let Some(number) = key.place() {
        let has_value = |known: &Value| known.as_leaf().and_then(Leaf::as_i128) == Some(number);
        meet(&|known| known.is_below(number), &has_value);
    }
    for leaf in same_scalars(key) {
        let value = Value::from(leaf);
        meet(&|known| *known < value, &|known| *known == value);
    }
    meet(&|known| known.as_leaf().is_some(), &|_| true);
    ranges
}

/// The texts, characters and floats that are the same key.
fn same_scalars(key: &Key) -> Vec<Leaf> {
    let mut same: Vec<Leaf> = Vec::new();
    let form = key.entry().map(Value::key_form);
    if let Some(text) = key.text().or_else(|| form.as_ref()?.as_str()) {
        same.push(text.into());
        let mut chars = text.chars();
        if let (Some(char), None) = (chars.next(), chars.next()) {
            same.push(char.into());
        }
    }
    if let Some(float) = form.as_ref().and_then(|it| it.as_leaf()?.as_f64()) {
        same.extend([float.into(), (float as f32).into()]);
    }
    same
}

/// The path that was probably meant by a key that the node does not have:
///
/// - a key with a similar spelling;
/// - several keys of the path as one: `["a.c"]` for `a.c`;
/// - one key as a path: `a.c` for `["a.c"]`;
/// - the rest of the path without this key, as below a struct that `#[serde(flatten)]` dissolved.
#[cold]
pub(super) fn nearest(node: NodeRef<'_>, path: &Path, key: &Key, rest: &[Key]) -> Option<Path> {
    let found = |keys: &[Key]| {
        let (mut node, mut path) = (node, path.clone());
        let found = keys.iter().all(|key| child(&mut node, &mut path, key).unwrap_or(false));
        (found && !keys.is_empty()).then_some(path)
    };
    let whole = || found(key.text()?.parse::<Path>().ok()?.keys());
    if let Some(near) = nearest_key(node, key, rest) {
        return Some(path.child(near));
    }
    whole().or_else(|| key.text().and_then(|_| found(rest)))
}

/// The key of a node that is nearest to a missing one.
fn nearest_key(node: NodeRef<'_>, key: &Key, rest: &[Key]) -> Option<Key> {
    if !node.is_labelled() {
        return None;
    }
    let asked = RequestedKey::new(&[&[key], &*rest.iter().collect::<Vec<_>>()].concat())?;
    let mut nearest: Option<(usize, Key)> = None;
    for (actual, _) in node.entries() {
        let Some(distance) = asked.distance(&actual) else { continue };
        if nearest.as_ref().is_none_or(|(least, _)| distance < *least) {
            nearest = Some((distance, actual));
        }
    }
    let (_, near) = nearest?;
    let short = RequestedKey::short(&near);
    Some(if matches!(position(node, &short), Ok(Some(_))) { short } else { near })
}

/// The texts that a missing key can mean: its own text, or the texts of the following keys, too, joined by
/// dots.
pub(crate) struct RequestedKey {
    texts: Vec<String>,
    is_number: bool,
}

impl RequestedKey {
    /// `None` for a key that is neither a text nor a number.
    pub(crate) fn new(keys: &[&Key]) -> Option<Self> {
        let mut texts: Vec<String> = Vec::new();
        for key in keys.iter().take(MOST_JOINED) {
            let Some(text) = bare(key) else { break };
            texts.push(match texts.last() {
                Some(above) => format!("{above}.{text}"),
                None => text,
            });
        }
        let is_number = keys.first()?.place().is_some();
        (!texts.is_empty()).then_some(RequestedKey { texts, is_number })
    }

    /// The number of edits from a missing key to a present one, if it can be meant. A number only fits its
    /// own text.
    pub(crate) fn distance(&self, actual: &Key) -> Option<usize> {
        let is_number = self.is_number || actual.place().is_some();
        let name = bare(actual)?;
        let distance = |(at, text): (usize, &String)| {
            let is_exact = at == 0 && is_number;
            let is_joined = at == 0 || name.matches('.').count() >= at;
            match distance(text, &name).filter(|_| is_joined) {
                Some(1..) if is_exact => None,
                distance => distance,
            }
        };
        self.texts.iter().enumerate().filter_map(distance).min()
    }

    /// A key as a user writes it: a bare number finds a key of any integer type.
    pub(crate) fn short(key: &Key) -> Key {
        let index = key.entry().and(key.place()).and_then(|place| usize::try_from(place).ok());
        index.map_or_else(|| key.clone(), Key::Index)
    }
}

/// The text or the number of a key.
fn bare(key: &Key) -> Option<String> {
    key.text().map(str::to_owned).or_else(|| key.place().map(|place| place.to_string()))
}

/// How near a name is to a text. Less is nearer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Nearness {
    /// It is spelled similarly, with this many edits.
    Spelled(usize),
    /// One is the beginning of the other, as `w` of `weight`. One is longer by this number.
    Begins(usize),
}

/// How near a name is to a text, if it can be meant.
pub(crate) fn nearness(text: &str, name: &str) -> Option<Nearness> {
    let begins =
        !text.is_empty() && !name.is_empty() && (text.starts_with(name) || name.starts_with(text));
    let begins = begins.then(|| Nearness::Begins(text.len().abs_diff(name.len())));
    distance(text, name).map(Nearness::Spelled).or(begins)
}

/// The number of edits from a text to a name, if it is small enough for the name to be meant.
pub(crate) fn distance(text: &str, name: &str) -> Option<usize> {
    if text == name && !text.is_empty() {
        return Some(0);
    }
    if text.len() > LONGEST_NAME || name.len() > LONGEST_NAME {
        return None;
    }
    let length = text.chars().count();
    let most = 1 + length / 4;
    if least_distance(text, name) > most {
        return None;
    }
    let distance = edits(text, name);
    (distance < length && distance <= most).then_some(distance)
}

/// The number of edits from a text to another. An edit inserts, removes or replaces a character, or swaps
/// it with the next one.
pub fn edits(from: &str, to: &str) -> usize {
    let [from, to]: [Vec<char>; 2] = [from.chars().collect(), to.chars().collect()];
    // For each prefix of `from`, the edits to each prefix of `to`, including the empty and the whole one.
    let mut rows = vec![(0..=to.len()).collect::<Vec<usize>>()];
    for (i, a) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in to.iter().enumerate() {
            let replaced = rows[i][j] + usize::from(a != b);
            let mut least = replaced.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == to[j - 1] && *b == from[i - 1] {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

/// There are at least as many edits as characters that only one of the two has. This is faster to compute
/// than the distance itself, and rules out most of many names.
fn least_distance(text: &str, name: &str) -> usize {
    let mut counts = [0i8; 64]; // neither has more characters
    text.chars().for_each(|char| counts[char as usize % 64] += 1);
    name.chars().for_each(|char| counts[char as usize % 64] -= 1);
    let sum = |sign: i8| {
        counts.iter().map(|count| usize::from((count * sign).max(0).unsigned_abs())).sum()
    };
    usize::max(sum(1), sum(-1))
}
