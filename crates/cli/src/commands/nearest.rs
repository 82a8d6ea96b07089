//! What a pattern was perhaps to find.

use std::collections::HashSet;

use treedef::{Key, Leaf, NodeKind, NodeRef, Path, Pattern, Tree};

use crate::paths::{readable, text_of};

/// The most keys that are listed.
const LISTED: usize = 5;
/// The most nodes whose keys are looked at, and the most keys.
const LOOKED_AT: usize = 10_000;

/// Says why a pattern finds nothing: how far it leads, and what is there.
pub(super) fn no_match(tree: &Tree<Leaf>, pattern: &Pattern) -> String {
    let whole = pattern.to_string();
    let (prefix, step) = longest_match(tree, &whole);
    let place = match prefix {
        "" | "**" => "the document".to_owned(),
        prefix => format!("`{prefix}`"),
    };
    let keys = keys_below(tree, prefix);
    let mut message = format!("no match: nothing in {place} fits `{step}`");
    if keys.is_empty() {
        let mut nodes = matching(tree, prefix);
        return match (nodes.next(), nodes.next()) {
            (Some((_, node)), None) => {
                let what = what_is(tree, node);
                format!("no match: nothing in {place}, which is {what}, fits `{step}`")
            }
            _ => message,
        };
    }
    if let Some(path) = nearest(step, &keys) {
        message += &format!("; did you mean `{}`?", readable(path));
    }
    let listed = keys.iter().take(LISTED).map(|path| {
        let key = path.keys().last().cloned().into_iter();
        format!("`{}`", readable(&key.fold(Path::root(), |path, key| path.child(key))))
    });
    let listed: Vec<String> = listed.collect();
    let end = if message.ends_with('?') { " There " } else { "; there " };
    let are = if keys.len() == 1 { "is" } else { "are" };
    let more = match keys.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    message + end + are + " " + &listed.join(", ") + &more
}

fn what_is(tree: &Tree<Leaf>, node: NodeRef<'_>) -> String {
    let leaf = tree.leaves().get(node.leaf_range().start).filter(|_| node.is_leaf());
    match (leaf, node.kind()) {
        (Some(leaf), _) => {
            leaf.as_array().map_or_else(|| leaf.kind().to_string(), ToString::to_string)
        }
        (None, NodeKind::None | NodeKind::Unit | NodeKind::UnitStruct) => "null".to_owned(),
        _ => "empty".to_owned(),
    }
}

/// The longest beginning of a pattern that finds something, maybe nothing of it, and the step
/// behind it.
fn longest_match<'p>(tree: &Tree<Leaf>, whole: &'p str) -> (&'p str, &'p str) {
    let mut end = whole.len();
    for (at, _) in whole.char_indices().rev() {
        let (prefix, rest) = whole.split_at_checked(at).unwrap_or(("", whole));
        // A dot or a bracket may also be in a quoted key: then what is before it is no pattern.
        let is_step = rest.starts_with(['.', '[', '?', ':', '*'])
            && prefix.parse::<Pattern>().is_ok_and(|pattern| pattern.to_string() == prefix);
        if at > 0 && !is_step {
            continue;
        }
        if at == 0 || matching(tree, prefix).next().is_some() {
            return (prefix, whole.get(at..end).unwrap_or(rest));
        }
        end = at;
    }
    ("", whole)
}

/// The nodes that are named; by an empty text, the root.
fn matching<'t>(tree: &'t Tree<Leaf>, prefix: &str) -> impl Iterator<Item = (Path, NodeRef<'t>)> {
    let pattern = prefix.parse::<Pattern>().ok();
    let is_root = prefix.is_empty();
    tree.treedef().nodes().filter(move |(path, _)| {
        if is_root { path.is_root() } else { pattern.as_ref().is_some_and(|it| it.matches(path)) }
    })
}

/// A path for each distinct key below the nodes that are named.
fn keys_below(tree: &Tree<Leaf>, prefix: &str) -> Vec<Path> {
    let mut known = HashSet::new();
    let mut all = Vec::new();
    for (path, node) in matching(tree, prefix).take(LOOKED_AT) {
        for at in 0..node.num_children().min(LOOKED_AT) {
            let Some(key) = node.key(at) else { continue };
            if all.len() < LOOKED_AT && known.insert(text_of(&key)) {
                all.push(path.child(key));
            }
        }
    }
    // Among names, indices tell nothing.
    let is_index = |path: &Path| matches!(path.keys().last(), Some(Key::Index(_)));
    if !all.iter().all(is_index) {
        all.retain(|path| !is_index(path));
    }
    all
}

/// The path whose last key is most like a step, if one is alike.
fn nearest<'k>(step: &str, keys: &'k [Path]) -> Option<&'k Path> {
    let name = step.trim_start_matches(['.', '[', '"']).trim_end_matches(['"', ']']);
    let likeness = |path: &&Path| {
        let key = path.keys().last().map(text_of).unwrap_or_default();
        let likeness = strsim::jaro_winkler(&name.to_lowercase(), &key.to_lowercase());
        let is_index = matches!(path.keys().last(), Some(Key::Index(_)));
        (!is_index && likeness > 0.8).then_some(likeness)
    };
    let alike = keys.iter().filter_map(|path| Some((likeness(&path)?, path)));
    alike.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, path)| path)
}
