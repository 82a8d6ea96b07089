//! Comments, which are not in the tree.

use treedef::__private::OrBug;
use treedef::{Leaf, Tree};

use crate::args::Limits;
use crate::format::Format;
use crate::reading::parse::{Document, read_within};

/// The maximum number of places that are tried.
const TRIED: usize = 20;

/// Whether there are comments in a text from which `tree` was read.
pub(crate) fn has_comments(
    bytes: &[u8],
    format: Format,
    tree: &Tree<Leaf>,
    limits: Limits,
) -> bool {
    let marks: &[(&str, &str)] = match format {
        Format::Yaml | Format::Toml => &[("#", "\n")],
        Format::Ron | Format::Json5 => &[("//", "\n"), ("/*", "*/")],
        _ => return false,
    };
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    // A part that can be left out without any change is a comment; inside of a text, it would
    // change the text.
    let is_comment = |(mark, end): (&str, &str), at: usize| {
        let (before, rest) = text.split_at_checked(at).unwrap_or((text, ""));
        let inside = rest.get(mark.len()..).or_bug();
        let after = inside.split_once(end).map_or("", |(_, after)| after);
        let without = format!("{before}\n{after}");
        matches!(read_within(without.as_bytes(), format, limits), Ok(Document::Tree(it)) if it == *tree)
    };
    marks.iter().any(|mark| {
        let places = text.match_indices(mark.0).map(|(at, _)| at);
        places.take(TRIED).any(|at| is_comment(*mark, at))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn has(text: &str, format: Format) -> bool {
        let limits = Limits::default();
        let Document::Tree(tree) = read_within(text.as_bytes(), format, limits).unwrap() else {
            return false;
        };
        has_comments(text.as_bytes(), format, &tree, limits)
    }

    #[test]
    fn comments_are_told_from_texts() {
        for (text, yaml, toml) in [
            ("a: 1\n", false, false),
            ("a: 1 # one\n", true, false),
            ("# all\na: 1\n", true, false),
            ("a: \"# no\"\nb: 'x # y'\n", false, false),
            ("a: x#y\n", false, false),
            ("a: |\n  # in a text\n  x\n", false, false),
            ("a: |\n  # in a text\n# after\n", true, false),
            ("a = 1# one\n", false, true),
            ("a = \"# no\"\n", false, false),
            ("a = '''\n# no\n'''\n", false, false),
            ("# all\n[a]\nb = \"#\"\n", false, true),
        ] {
            if text.contains(':') {
                assert_eq!(has(text, Format::Yaml), yaml, "{text}");
            } else {
                assert_eq!(has(text, Format::Toml), toml, "{text}");
            }
        }
        assert!(has("{\"a\": 1, // one\n}", Format::Ron));
        assert!(has("{\"a\": /* one */ 1}", Format::Ron));
        assert!(!has("{\"a\": \"http://x /* */\"}", Format::Ron));
        assert!(!has("{\"a\": \"# x\"}", Format::Json));
        assert!(has("{a: /* one */ 1}", Format::Json5));
        assert!(!has("{a: '// one',}", Format::Json5));
    }
}
