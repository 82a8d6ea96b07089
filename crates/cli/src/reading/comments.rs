//! Comments, which are not in the tree.

use treedef::__private::OrBug;
use treedef::{Leaf, Tree};

use crate::args::Limits;
use crate::format::Format;
use crate::reading::parse::{Document, read_within};

/// The maximum number of places that are tried.
const TRIED: usize = 20;

/// Whether there are comments in a readable text.
pub(crate) fn has_comments(bytes: &[u8], format: Format, limits: Limits) -> bool {
    let marks: &[(&str, &str)] = match format {
        Format::Yaml | Format::Toml => &[("#", "\n")],
        Format::Ron | Format::Json5 => &[("//", "\n"), ("/*", "*/")],
        _ => return false,
    };
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    if !marks.iter().any(|(mark, _)| text.contains(mark)) {
        return false;
    }
    let read = |text: &str| match read_within(text.as_bytes(), format, limits) {
        Ok(Document::Tree(tree)) => Some(tree),
        _ => None,
    };
    let Some(tree) = read(text) else { return false };
    // A part that can be left out without any change is a comment; inside of a text, it would
    // change the text.
    let is_comment = |(mark, end): (&str, &str), at: usize| {
        let (before, rest) = text.split_at_checked(at).unwrap_or((text, ""));
        let inside = rest.get(mark.len()..).or_bug();
        let after = inside.split_once(end).map_or("", |(_, after)| after);
        read(&format!("{before}\n{after}")).is_some_and(|it| it == tree)
    };
    marks.iter().any(|mark| {
        let places = places_outside_of_texts(text, mark.0, read);
        places.into_iter().take(TRIED).any(|at| is_comment(*mark, at))
    })
}

/// The places of a mark that are in no text of the document, or all if that is not clear. A number is put
/// behind each mark: the numbers that are in no text afterwards belong to comments, or to tags and names.
fn places_outside_of_texts(
    text: &str,
    mark: &str,
    read: impl Fn(&str) -> Option<Tree<Leaf>>,
) -> Vec<usize> {
    let mut places: Vec<usize> = text.match_indices(mark).map(|(at, _)| at).collect();
    let mut name = "at".to_owned();
    while text.contains(&name) {
        name.push('t');
    }
    let mut numbered = String::with_capacity(text.len() + places.len() * (name.len() + 8));
    for (number, part) in text.split(mark).enumerate() {
        if let Some(number) = number.checked_sub(1) {
            numbered += &format!("{mark}{name}{number}.");
        }
        numbered += part;
    }
    // This format writes texts as they are, also in keys.
    let Some(bytes) = read(&numbered).and_then(|tree| rmp_serde::to_vec(&tree).ok()) else {
        return places;
    };
    let mut in_texts = vec![false; places.len()];
    for at in memchr::memmem::find_iter(&bytes, &name) {
        let rest = bytes.get(at + name.len()..).or_bug();
        let digits =
            rest.split(|byte| *byte == b'.').next().and_then(|it| std::str::from_utf8(it).ok());
        let number = digits.and_then(|digits| digits.parse::<usize>().ok());
        if let Some(is_in_text) = number.and_then(|number| in_texts.get_mut(number)) {
            *is_in_text = true;
        }
    }
    let mut in_texts = in_texts.into_iter();
    places.retain(|_| !in_texts.next().or_bug());
    places
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn has(text: &str, format: Format) -> bool {
        let limits = Limits::default();
        assert!(matches!(read_within(text.as_bytes(), format, limits).unwrap(), Document::Tree(_)));
        has_comments(text.as_bytes(), format, limits)
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

    /// Colours and addresses are no comments, and hide none.
    #[test]
    fn a_comment_is_found_behind_any_number_of_marks() {
        let many = |entry: fn(usize) -> String| (0..50).map(entry).collect::<String>();
        let cases = [
            (
                Format::Yaml,
                many(|at| format!("c{at}: '#f{at}'\n? 'k#{at}'\n: \"\\x61 # {at}\"\n")),
                "# x\n",
            ),
            (Format::Yaml, format!("run: |\n{}", many(|at| format!("  # {at}\n"))), "b: 1 # x\n"),
            (
                Format::Toml,
                many(|at| format!("c{at} = '#f{at}'\n\"k#{at}\" = \"\"\"\n# {at}\"\"\"\n")),
                "# x\n",
            ),
            (
                Format::Json5,
                format!("{{{}", many(|at| format!("u{at}: 'https://x/{at}/*',"))),
                "/* x */}",
            ),
            (
                Format::Json5,
                format!("{{{}", many(|at| format!("'//{at}': \"\\//{at}\","))),
                "// x\n}",
            ),
            (
                Format::Ron,
                format!("{{{}", many(|at| format!("\"//{at}\": r\"/*{at}\","))),
                "// x\n}",
            ),
        ];
        for (format, text, comment) in cases {
            let without = comment.replace("# x", "").replace("/* x */", "").replace("// x", "");
            assert!(!has(&format!("{text}{without}"), format), "{text}");
            assert!(has(&format!("{text}{comment}"), format), "{text}");
        }
    }
}
