//! Paths, in one notation everywhere, as in `select`: `.name` also for the key `["name"]`, and keys of
//! other kinds as in JSON: `[200]`, `[null]`, `[[1, 2]]`.

use treedef::__private::bare_key;
use treedef::{Key, Name, NodeRef, Path, Pattern, Tree, TreeDef};

/// The node at a path. Unlike the library, it does not search for suggestions.
pub(crate) fn node_at<'t>(treedef: &'t TreeDef, path: &Path) -> Option<NodeRef<'t>> {
    path.keys().iter().try_fold(treedef.root(), |node, key| node.child(node.position(key)?))
}

/// The leaf at a path, if there is one.
pub(crate) fn leaf_at<'t, L>(tree: &'t Tree<L>, path: &Path) -> Option<&'t L> {
    let node = node_at(tree.treedef(), path).filter(|node| node.is_leaf())?;
    tree.leaves().get(node.leaf_range().start)
}

/// The part at a path, if there is one.
pub(crate) fn part_at<L: Clone>(tree: &Tree<L>, path: &Path) -> Option<Tree<L>> {
    let node = node_at(tree.treedef(), path)?;
    Tree::new(node.to_treedef(), tree.leaves().get(node.leaf_range())?.to_vec()).ok()
}

/// The text of a path, which is empty for the root.
pub(crate) fn shown(path: &Path) -> String {
    path.keys().iter().map(key_shown).collect()
}

/// The text of a path in a sentence.
pub(crate) fn readable(path: &Path) -> String {
    if path.is_root() { "the root".to_owned() } else { shown(path) }
}

/// The text of a path with `[*]` for each index.
pub(crate) fn without_indices(path: &Path) -> String {
    let text = |key: &Key| match key {
        Key::Index(_) => "[*]".to_owned(),
        key => key_shown(key),
    };
    path.keys().iter().map(text).collect()
}

/// The text of a pattern.
pub(crate) fn shown_pattern(pattern: &Pattern) -> String {
    with_bare_keys(&pattern.to_string())
}

fn key_shown(key: &Key) -> String {
    let Key::Entry(value) = key else { return key.to_string() };
    // A name that is not a plain word is in backquotes; then the quotes of the key are clearer.
    let field = value.as_str().map(|name| Key::Field(Name::from(name.to_owned())).to_string());
    field.filter(|field| !field.contains('`')).unwrap_or_else(|| format!("[{}]", bare_key(value)))
}

/// The key itself, as in JSON.
pub(crate) fn text_of(key: &Key) -> String {
    match key {
        Key::Field(name) => name.to_string(),
        Key::Entry(value) => value.as_str().map_or_else(|| bare_key(value), str::to_owned),
        key => key.to_string(),
    }
}

/// A message of the library, with its backquoted paths and patterns in this notation.
pub(crate) fn with_shown_paths(message: &str) -> String {
    let part = |(index, part): (usize, &str)| match part.parse::<Pattern>() {
        Ok(_) if index % 2 == 1 => with_bare_keys(part),
        _ => part.to_owned(),
    };
    message.split('`').enumerate().map(part).collect::<Vec<_>>().join("`")
}

/// A pattern with each key in this notation.
fn with_bare_keys(pattern: &str) -> String {
    let (mut shown, mut rest) = (String::new(), pattern);
    while let Some(start) = rest.find(['[', '`']) {
        let (before, step) = rest.split_at(start);
        let (step, after) = step.split_at(end_of(step));
        shown += before;
        shown += &step.parse().map_or_else(|_| step.to_owned(), |key| key_shown(&key));
        rest = after;
    }
    shown + rest
}

/// The end of the brackets or the backquotes with which a text begins.
fn end_of(text: &str) -> usize {
    let (mut depth, mut quote, mut is_escaped) = (0_usize, None, false);
    for (at, c) in text.char_indices() {
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if c == '\\' => is_escaped = true,
            Some(open) if c == open => quote = None,
            None if "\"'`".contains(c) => quote = Some(c),
            None if "[({".contains(c) => depth += 1,
            None if "])}".contains(c) => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && quote.is_none() {
            return at + c.len_utf8();
        }
    }
    text.len()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use treedef::{Leaf, Value};

    use super::*;

    /// `select` finds the place whose path was printed, and no other key there.
    #[test]
    fn what_is_printed_is_a_pattern_for_it() {
        let names = [
            "a", "A_1", "größe", "none", "None", "true", "static", "u8", "inf", "nan", "", " ",
            "a b", "a.b", "[0]", "0", "`", "\"", "\\", "?", "*", "**", "a*", "$ref", "::A",
            "\u{2028}", "日本", "_", "\n", "🦀",
        ];
        let path = |name: &str| {
            let key = Key::Entry(Value::from(Leaf::from(name)));
            Path::root().child(Key::Index(0)).child(key)
        };
        for name in names {
            let text = shown(&path(name));
            let pattern: Pattern = text.parse().unwrap();
            for other in names {
                assert_eq!(pattern.matches(&path(other)), name == other, "{text} and {other:?}");
            }
        }
        assert_eq!(shown(&path("a")), "[0].a");
        assert_eq!(shown(&path("none")), "[0][\"none\"]");
        assert!("".parse::<Pattern>().unwrap().matches(&Path::root()));
    }

    #[test]
    fn only_paths_are_changed_in_messages() {
        let message = r#"deeper at `["a"][0]["b c"]`, found `{"x": str}`, pass `--max`; `["a"`, `**["b"][*]`, `[["x"]][-2i32]["]"]`"#;
        let shown = r#"deeper at `.a[0]["b c"]`, found `{"x": str}`, pass `--max`; `["a"`, `**.b[*]`, `[["x"]][-2]["]"]`"#;
        assert_eq!(with_shown_paths(message), shown);
    }
}
