//! Suggestions for a pattern that matches nothing.

use std::collections::HashSet;

use treedef::__private::{entries, nearest};
use treedef::{Key, NodeKind, NodeRef, Path, Pattern, Tree};

use crate::color::listed;
use crate::paths::{readable, text_of, with_shown_paths};

/// The maximum number of keys that are listed.
const LISTED: usize = 5;
/// The maximum number of nodes whose keys are searched, and of keys.
const LOOKED_AT: usize = 10_000;

/// Explains why a pattern matches nothing in some documents: how far it leads, and what is there. `what` is
/// the text of a leaf.
pub(super) fn no_match<L>(
    documents: &[Tree<L>],
    pattern: &Pattern,
    what: impl Fn(&L) -> String,
) -> String {
    with_shown_paths(&explanation(documents, pattern, what))
}

fn explanation<L>(documents: &[Tree<L>], pattern: &Pattern, what: impl Fn(&L) -> String) -> String {
    let whole = pattern.to_string();
    let (prefix, step) = longest_match(documents, &whole);
    let place = match prefix {
        "" | "**" if documents.len() == 1 => "the document".to_owned(),
        "" | "**" => "the documents".to_owned(),
        prefix => format!("`{prefix}`"),
    };
    let keys = keys_below(documents, prefix);
    let mut message = format!("no match: nothing in {place} fits `{step}`");
    if keys.is_empty() {
        let mut nodes = matching(documents, prefix);
        return match (nodes.next(), nodes.next()) {
            (Some((tree, _, node)), None) => {
                let what = what_is(tree, node, what);
                format!("no match: nothing in {place}, which is {what}, fits `{step}`")
            }
            _ => message,
        };
    }
    let deeper = format!("**{}{whole}", if whole.starts_with(['.', '[', '*']) { "" } else { "." });
    if matching(documents, &deeper).next().is_some() {
        message += &format!("; did you mean `{deeper}`?");
    } else if let Some(meant) = documents.iter().find_map(|tree| meant(tree, pattern)) {
        message += &format!("; {meant}");
    }
    let name = |path: &Path| {
        let key = path.keys().last().cloned().into_iter();
        format!("`{}`", readable(&key.fold(Path::root(), |path, key| path.child(key))))
    };
    let names: Vec<String> = keys.iter().map(name).collect();
    let end = if message.ends_with('?') { " There " } else { "; there " };
    let are = if keys.len() == 1 { "is" } else { "are" };
    message + end + are + " " + &listed(&names, LISTED)
}

/// The suggestion of the library: `did you mean …?`.
fn meant<L>(tree: &Tree<L>, pattern: &Pattern) -> Option<String> {
    let error = tree.select(pattern).err()?;
    nearest(&error).map(|meant| format!("did you mean `{meant}`?"))
}

fn what_is<L>(tree: &Tree<L>, node: NodeRef<'_>, what: impl Fn(&L) -> String) -> String {
    let leaf = tree.leaves().get(node.leaf_range().start).filter(|_| node.is_leaf());
    match (leaf, node.kind()) {
        (Some(leaf), _) => what(leaf),
        (None, NodeKind::None | NodeKind::Unit | NodeKind::UnitStruct) => "null".to_owned(),
        _ => "empty".to_owned(),
    }
}

/// The longest beginning of a pattern that matches something, perhaps the empty one, and the step
/// after it.
fn longest_match<'p, L>(documents: &[Tree<L>], whole: &'p str) -> (&'p str, &'p str) {
    let mut end = whole.len();
    for (at, _) in whole.char_indices().rev() {
        let (prefix, rest) = whole.split_at_checked(at).unwrap_or(("", whole));
        // A dot or a bracket may also be in a quoted key: then the text before it is not a pattern.
        let is_step = rest.starts_with(['.', '[', '?', ':', '*'])
            && prefix.parse::<Pattern>().is_ok_and(|pattern| pattern.to_string() == prefix);
        if at > 0 && !is_step {
            continue;
        }
        if at == 0 || matching(documents, prefix).next().is_some() {
            return (prefix, whole.get(at..end).unwrap_or(rest));
        }
        end = at;
    }
    ("", whole)
}

/// The matching nodes, with their documents; for an empty text, the roots.
fn matching<'t, L>(
    documents: &'t [Tree<L>],
    prefix: &str,
) -> impl Iterator<Item = (&'t Tree<L>, Path, NodeRef<'t>)> {
    let pattern = prefix.parse::<Pattern>().ok();
    let is_root = prefix.is_empty();
    let nodes = documents
        .iter()
        .flat_map(|tree| tree.treedef().nodes().map(move |(path, node)| (tree, path, node)));
    nodes.filter(move |(_, path, _)| {
        if is_root { path.is_root() } else { pattern.as_ref().is_some_and(|it| it.matches(path)) }
    })
}

/// A path for each distinct key below the matching nodes.
fn keys_below<L>(documents: &[Tree<L>], prefix: &str) -> Vec<Path> {
    let mut known = HashSet::new();
    let mut all = Vec::new();
    for (_, path, node) in matching(documents, prefix).take(LOOKED_AT) {
        for (key, _) in entries(node).take(LOOKED_AT) {
            if all.len() < LOOKED_AT && known.insert(text_of(&key)) {
                all.push(path.child(key));
            }
        }
    }
    // Beside names, indices do not help.
    let is_index = |path: &Path| matches!(path.keys().last(), Some(Key::Index(_)));
    if !all.iter().all(is_index) {
        all.retain(|path| !is_index(path));
    }
    all
}
