//! YAML. A file may have several documents.

use serde::de::{Deserialize, DeserializeSeed, IgnoredAny};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{Error, Options, with_deserializer_from_str_with_options as with_deserializer};
use treedef::__private::OrBug;
use treedef::{Leaf, Tree, TreeDef, TreeSeed};

use crate::args::Limits;
use crate::color::counted;
use crate::failure::{Failure, Result};
use crate::formats::duplicate_keys::{self, HINT};
use crate::formats::yaml_nodes::{Node, is_long_number, may_need, place};

/// A document of a file.
struct YamlDocument<'t> {
    /// The number of lines before it.
    lines: usize,
    text: &'t str,
}

/// The documents of a file. A line that begins with `---` or `...` ends a document anywhere, also
/// in a text, where YAML forbids it. `---` always begins a document; an empty document is null. A
/// file without any marker has one document, too.
fn documents(text: &str) -> Vec<YamlDocument<'_>> {
    let mut parts = Vec::new();
    let (mut lines, mut at) = (0, 0);
    let mut open = YamlDocument { lines: 0, text: "" };
    let (mut start, mut has_content, mut in_header) = (0, false, true);
    for line in text.split_inclusive('\n') {
        let is_start = is_marker(line, "---");
        let is_end = is_marker(line, "...");
        if is_end || is_start && !in_header {
            open.text = text.get(start..at).or_bug();
            if has_content {
                parts.push(open);
            }
            open = YamlDocument { lines, text: "" };
            (start, has_content, in_header) = (at, false, true);
            if !is_start {
                // The marker itself is not part of the next document.
                (open.lines, start) = (lines + 1, at + line.len());
            }
        }
        let content = line.strip_prefix("---").filter(|_| is_start).unwrap_or(line).trim();
        let is_directive = in_header && !is_start && line.starts_with('%');
        let is_blank = content.is_empty() || content.starts_with('#') || is_directive;
        if !is_end && (is_start || !is_blank) {
            (in_header, has_content) = (false, true);
        }
        (lines, at) = (lines + 1, at + line.len());
    }
    open.text = text.get(start..).or_bug();
    if has_content || parts.is_empty() {
        parts.push(open);
    }
    parts
}

fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

/// The documents of a file, in order. A text without any is one document, which is null. If
/// `strict`, no map may have a key twice.
pub(crate) fn trees(text: &str, limits: Limits, strict: bool) -> Result<Vec<Tree<Leaf>>> {
    let (mut all, mut nodes) = (Vec::new(), 0_usize);
    for (line, number) in text.lines().zip(1..).filter(|(line, _)| is_marker(line, "...")) {
        let rest = line.trim_start_matches("...").trim();
        if !rest.is_empty() && !rest.starts_with('#') {
            let message = "behind `...`, which ends a document: put `---` before it";
            return Err(Failure::at(number, format!("`{rest}` {message}")));
        }
    }
    for part in documents(text) {
        let tree = part_tree(&part, TreeSeed::new(limits.of_trees()), limits, strict)?;
        nodes = nodes.saturating_add(tree.treedef().num_nodes());
        if nodes > limits.max_nodes() {
            let most = limits.max_nodes();
            let message = format!("{nodes} nodes, the limit is {most} (`--max-nodes` allows more)");
            return Err(Failure::new(message));
        }
        all.push(tree);
    }
    Ok(all)
}

/// How many documents a file has.
pub(crate) fn num_documents(text: &str) -> usize {
    documents(text).len()
}

/// The document of a file, or a sequence of them if there are several.
pub(crate) fn tree(text: &str, limits: Limits, strict: bool) -> Result<Tree<Leaf>> {
    joined(trees(text, limits, strict)?)
}

/// The only document, or a sequence of several.
pub(crate) fn joined(mut all: Vec<Tree<Leaf>>) -> Result<Tree<Leaf>> {
    match (all.pop(), all.is_empty()) {
        (Some(only), true) => Ok(only),
        (last, _) => {
            let parts = all.into_iter().chain(last).map(Tree::into_parts);
            let (treedefs, leaves): (Vec<TreeDef>, Vec<_>) = parts.unzip();
            Ok(Tree::new(TreeDef::seq(treedefs)?, leaves.into_iter().flatten().collect())?)
        }
    }
}

/// Whether a readable text has its own tags, such as `!Ref`, which are ignored.
pub(crate) fn has_tags(text: &str, limits: Limits) -> bool {
    let is_refused = |part: &YamlDocument<'_>| {
        let options = options(limits, true);
        // The reader refuses these for their length.
        let text = with_long_integers_as("!!str ", part.text);
        with_deserializer(&text, options, |yaml| IgnoredAny::deserialize(yaml)).is_err()
    };
    text.contains('!') && documents(text).iter().any(is_refused)
}

/// Whether a readable text has anchors, whose values are written out.
pub(crate) fn has_anchors(text: &str, limits: Limits) -> bool {
    let is_refused = |part: &YamlDocument<'_>| {
        let mut options = options(limits, false);
        options.budget.iter_mut().for_each(|budget| budget.max_anchors = 0);
        let text = with_long_integers_as("!!str ", part.text);
        let text = without_times(&text).unwrap_or(text);
        let read = with_deserializer(&text, options, |yaml| IgnoredAny::deserialize(yaml));
        read.is_err_and(|error| {
            let breach = error.without_snippet();
            matches!(breach, Error::Budget { breach: BudgetBreach::Anchors { .. }, .. })
        })
    };
    text.contains('&') && documents(text).iter().any(is_refused)
}

/// Without tags if `refuses_tags`.
fn options(limits: Limits, refuses_tags: bool) -> Options {
    use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: limits.max_depth(),
            max_nodes: limits.max_nodes(),
            max_events: limits.max_nodes().saturating_mul(4),
            max_total_scalar_bytes: limits.max_bytes(),
        },
        // The reader compares the texts of keys, so a number and a text may be equal.
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        // They become bytes afterwards.
        ignore_binary_tag_for_string: true,
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        reject_unsupported_tags: refuses_tags,
        with_snippet: false,
    }
}

/// Reads one document. If `strict`, no map may have a key twice.
fn part_tree(
    part: &YamlDocument<'_>,
    seed: TreeSeed,
    limits: Limits,
    strict: bool,
) -> Result<Tree<Leaf>> {
    let tree = if may_need(part.text) {
        on_large_stack(|| node(part, limits)?.into_tree(limits))?
    } else {
        let tree =
            with_deserializer(part.text, options(limits, false), |yaml| seed.deserialize(yaml));
        tree.map_err(|error| failure(&error, part, limits))?
    };
    let Some((path, key)) = duplicate_keys::first(&tree).filter(|_| strict) else {
        return Ok(tree);
    };
    let place = on_large_stack(|| Ok(node(part, limits)?.place_of_second_key()))?;
    let twice = Failure::new(format!("{}: {HINT}", duplicate_keys::message(&path, &key)));
    Err(match place {
        Some(place) => twice.in_file(&place),
        None => twice,
    })
}

/// Reads one document with its tags, its places and long numbers.
fn node(part: &YamlDocument<'_>, limits: Limits) -> Result<Node> {
    let read = |text: &str| {
        with_deserializer(text, options(limits, false), |yaml| Node::deserialize(yaml))
    };
    let settled = |node: Node| node.settled(part.text, part.lines);
    let first = read(part.text);
    if let Some(text) = retagged(part.text).filter(|_| first.is_err())
        && let Ok(node) = read(&text)
    {
        let node = settled(node);
        // The text that looks like the tag may be in a string.
        let is_in_text = |node: &Node| [TEXT, UNKNOWN].iter().any(|tag| node.has_text(tag));
        if !node.as_ref().is_ok_and(is_in_text) {
            return node;
        }
    }
    first.map_err(|error| failure(&error, part, limits)).and_then(settled)
}

/// The stack of a reader that remembers places: without optimisation, a level of a document takes 50 KB.
const STACK: usize = 1 << 26;

fn on_large_stack<T: Send>(read: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, read)?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

const TIME: &str = "timestamp";
/// As long as the name of the tag of times.
const TEXT: &str = "str      ";

const INTEGER: &str = "!!int ";
/// A tag of the same length that the reader ignores.
const UNKNOWN: &str = "!!inT ";

/// The document with other tags for its times and long integers, whose tags the reader refuses.
fn retagged(text: &str) -> Option<String> {
    if [TEXT, UNKNOWN].iter().any(|tag| text.contains(tag)) {
        return None;
    }
    let all = with_long_integers_as(UNKNOWN, &without_times(text)?);
    (all != text).then_some(all)
}

fn with_long_integers_as(tag: &str, text: &str) -> String {
    let mut parts = text.split(INTEGER);
    let mut all = parts.next().or_bug().to_owned();
    for part in parts {
        let is_end = |c: char| c.is_whitespace() || ",]}".contains(c);
        let word = part.trim_start_matches(' ').split(is_end).next();
        all += if word.is_some_and(is_long_number) { tag } else { INTEGER };
        all += part;
    }
    all
}

/// The document with texts for its times.
fn without_times(text: &str) -> Option<String> {
    let mut without = text.to_owned();
    for (at, _) in text.match_indices(TIME) {
        let (before, behind) = (text.get(..at)?, text.get(at + TIME.len()..)?);
        let word = before.rsplit(|c: char| c.is_whitespace() || "[{".contains(c)).next()?;
        let is_whole = word.rsplit_once("!<").is_some_and(|(_, tag)| !tag.contains('>'));
        let is_tag = is_whole || word.rsplit(',').next()?.starts_with('!');
        let end = usize::from(is_whole && behind.starts_with('>'));
        let is_end = behind.get(end..)?.chars().next().is_none_or(|c| c.is_whitespace());
        if is_tag && is_end {
            let text = format!("str{}      ", behind.get(..end)?);
            without.replace_range(at..at + TIME.len() + end, &text);
        }
    }
    Some(without)
}

fn failure(error: &Error, part: &YamlDocument<'_>, limits: Limits) -> Failure {
    let message = not_as_tagged(error, part.text).unwrap_or_else(|| message_of(error, limits));
    let Some(at) = error.location() else { return Failure::new(message) };
    let line = usize::try_from(at.line()).unwrap_or(usize::MAX).saturating_add(part.lines);
    Failure::at(format!("{line}:{}", at.column()), message)
}

/// The fault of a scalar that does not fit its tag.
fn not_as_tagged(error: &Error, text: &str) -> Option<String> {
    let (tag, expected, location) = match error.without_snippet() {
        Error::InvalidScalar { ty: "u64" | "i64", location } => {
            ("!!int", "an integer such as `11`", location)
        }
        Error::InvalidScalar { ty: "floating point", location } => {
            ("!!float", "a number such as `1.5`", location)
        }
        Error::InvalidBooleanStrict { location } => ("!!bool", "`true` or `false`", location),
        _ => return None,
    };
    let word = text.get(place(*location)?)?;
    Some(format!("`{word}` is tagged as `{tag}`, expected {expected}"))
}

/// The fault, without the options and functions of the library that reads YAML.
fn message_of(error: &Error, limits: Limits) -> String {
    let number = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    match error.without_snippet() {
        Error::AliasError { error, .. } => message_of(error, limits),
        Error::Budget { breach, .. } => match breach {
            BudgetBreach::Depth { .. } => {
                let most = counted(number(limits.max_depth()), "level", "levels");
                format!("nested deeper than {most} (`--max-depth` allows more)")
            }
            BudgetBreach::Nodes { .. } | BudgetBreach::Events { .. } => {
                let most = counted(number(limits.max_nodes()), "node", "nodes");
                format!(
                    "more than {most}, aliases such as `*name` written out (`--max-nodes` allows more)"
                )
            }
            BudgetBreach::ScalarBytes { .. } => {
                let most = counted(number(limits.max_bytes()), "byte", "bytes");
                format!(
                    "more than {most} of text, aliases such as `*name` written out (`--max-bytes` allows more)"
                )
            }
            BudgetBreach::Aliases { aliases } => {
                format!(
                    "{} or more, too many to read",
                    counted(number(*aliases), "alias", "aliases")
                )
            }
            BudgetBreach::Anchors { anchors } => {
                format!(
                    "{} or more, too many to read",
                    counted(number(*anchors), "anchor", "anchors")
                )
            }
            _ => {
                "aliases and merge keys expand to more than can be read: write them out".to_owned()
            }
        },
        Error::AliasReplayLimitExceeded { max_total_replayed_events: most, .. } => format!(
            "aliases such as `*name` stand for more than {}: write them out",
            counted(number(*most), "value", "values")
        ),
        Error::AliasReplayStackDepthExceeded { .. } | Error::AliasExpansionLimitExceeded { .. } => {
            "aliases such as `*name` expand to more than can be read: write them out".to_owned()
        }
        error => match plain(error) {
            text if text.contains("recursion limit exceeded") => "nested too deep".to_owned(),
            text => text,
        },
    }
}

/// The first line of the message, without the position, which is printed before it.
fn plain(error: &Error) -> String {
    let message = error.render_with_options(serde_saphyr::render_options! {
        formatter: &serde_saphyr::UserMessageFormatter,
    });
    let first = message.trim_start_matches("error: ").lines().next().unwrap_or_default();
    match error.location() {
        Some(at) => {
            let prefix = format!("line {} column {}: ", at.line(), at.column());
            let suffix = format!(" at line {}, column {}", at.line(), at.column());
            first.trim_start_matches(&prefix).trim_end_matches(&suffix).to_owned()
        }
        None => first.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::numbers::exact;

    /// The first line of each document, and its text.
    fn split(text: &str) -> Vec<(usize, &str)> {
        documents(text).iter().map(|part| (part.lines + 1, part.text)).collect()
    }

    #[test]
    fn directives_stand_before_each_document() {
        let (first, second) = ("%YAML 1.2\n---\na\n", "# x\n%TAG !e! tag:e,2000:\n---\nb\n");
        assert_eq!(split(&format!("{first}...\n{second}")), [(1, first), (5, second)]);
    }

    #[test]
    fn tags_of_bytes_and_times_are_read() {
        let read = |text: &str| tree(text, Limits::default(), true).unwrap();
        let text = "a: !!binary |\n  AP+A\n  gQ==\nb: !!binary aGk=\nc: \"!!binary aGk=\"\n";
        let leaves = [Leaf::from(vec![0, 255, 128, 129]), Leaf::from(b"hi".to_vec())];
        assert_eq!(read(text).leaves()[..2], leaves);
        assert_eq!(read(text).leaves()[2], Leaf::from("!!binary aGk="));
        let text = "- !!timestamp 2001-12-14\n- !!binary AA==\n- !!timestamp '2002-01-01'\n";
        let leaves = ["2001-12-14".into(), Leaf::from(vec![0]), "2002-01-01".into()];
        assert_eq!(read(text).leaves(), leaves);
        let error = tree("a: !!binary _\n", Limits::default(), true).unwrap_err();
        assert_eq!(error.to_string(), "1:13: tagged as `!!binary`, and is not base64");
    }

    #[test]
    fn a_tag_is_known_however_it_is_spelled() {
        let read = |text: &str| tree(text, Limits::default(), true);
        let text = "%TAG !y! tag:yaml.org,2002:\n%TAG !z! tag:yaml.org,2002:bin\n---\n\
             - !<tag:yaml.org,2002:binary> aGk=\n- !y!binary aGk=\n- !z!ary aGk=\n\
             - [!<tag:yaml.org,2002:timestamp> 2001,!y!timestamp 2001-01-01]\n- !y!int '1'\n";
        let hi = Leaf::from(b"hi".to_vec());
        let leaves =
            [hi.clone(), hi.clone(), hi, "2001".into(), "2001-01-01".into(), Leaf::from(1_u64)];
        assert_eq!(read(text).unwrap().leaves(), leaves);
        // The handle may belong to other tags.
        let text = "%TAG !! tag:example.com,2000:\n---\n!!binary aGk=\n";
        assert_eq!(read(text).unwrap().leaves(), ["aGk=".into()]);
        let key = read("!!binary aGk=: 1").unwrap();
        assert_eq!(key.treedef().root().entry_keys(), [Leaf::from(b"hi".to_vec()).into()]);
        // A text that looks like a tag is not changed.
        let text = "- !!timestamp 2001\n- 'see !!timestamp 2001'\n";
        assert!(read(text).is_err());
    }

    #[test]
    fn integers_in_other_bases_are_numbers_of_any_width() {
        let text = "- 0xFFFFFFFFFFFFFFFFFF\n- '0xFFFFFFFFFFFFFFFFFF'\n- !!str 0xFFFFFFFFFFFFFFFFFF\n\
             - 0o7777777777777777777777777\n- |\n 0xFFFFFFFFFFFFFFFFFF\n- !!float \"1e400\"\n- 0x1F\n\
             - 0x100000000000000000000000000000000\n- 0o4000000000000000000000000000000000000000000\n";
        let read = tree(text, Limits::default(), true).unwrap();
        let hex = "0xFFFFFFFFFFFFFFFFFF";
        let leaves = [
            Leaf::from((1_i128 << 72) - 1),
            hex.into(),
            hex.into(),
            Leaf::from((1_i128 << 75) - 1),
            (hex.to_owned() + "\n").into(),
            exact::long("1e400").unwrap(),
            Leaf::from(31_u64),
            exact::long("340282366920938463463374607431768211456").unwrap(),
            exact::long("340282366920938463463374607431768211456").unwrap(),
        ];
        assert_eq!(read.leaves(), leaves);
        // A number that takes long to convert to decimals is a text.
        for (digits, is_text) in [(1024, false), (1025, true)] {
            let read = tree(&format!("0x{}", "f".repeat(digits)), Limits::default(), true).unwrap();
            assert_eq!(read.leaves()[0].as_str().is_some(), is_text);
        }
    }

    #[test]
    fn a_document_with_tags_may_be_as_deep_as_others() {
        for start in ["", "! "] {
            let text =
                |depth: usize| format!("{start}{}1e400{}", "[".repeat(depth), "]".repeat(depth));
            let limits = Limits::default();
            assert_eq!(tree(&text(127), limits, true).unwrap().leaves().len(), 1);
            let error = tree(&text(129), limits, true).unwrap_err().to_string();
            assert!(error.contains("nested"), "{error}");
        }
    }

    #[test]
    fn nothing_stands_behind_an_end() {
        let read = |text: &str| trees(text, Limits::default(), true);
        assert_eq!(read("a\n... # x\n---\nb\n").unwrap().len(), 2);
        let error = read("a\n... b\n---\nc\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "2: `b` behind `...`, which ends a document: put `---` before it"
        );
    }

    #[test]
    fn markers_part_documents() {
        assert_eq!(split("a: 1\n"), [(1, "a: 1\n")]);
        assert_eq!(split("---\na: 1\n"), [(1, "---\na: 1\n")]);
        assert_eq!(
            split("a: 1\n---\nb: 2\n--- 3\n"),
            [(1, "a: 1\n"), (2, "---\nb: 2\n"), (4, "--- 3\n")]
        );
        assert_eq!(split("# x\n%YAML 1.2\n---\na: 1\n...\n# y\n---\nb\n").len(), 2);
        assert_eq!(split("a: 1\n...\n---\nb\n"), [(1, "a: 1\n"), (3, "---\nb\n")]);
        assert_eq!(split("---a: 1\n---- b\n").len(), 1);
    }

    #[test]
    fn documents_without_content_count_as_they_do_elsewhere() {
        assert_eq!(
            split("---\n# x\n---\na: 1\n---\n"),
            [(1, "---\n# x\n"), (3, "---\na: 1\n"), (5, "---\n")]
        );
        assert_eq!(split(""), [(1, "")]);
        assert_eq!(split("a\n...\n# x\n"), [(1, "a\n")]);
        assert_eq!(split("---\n---\n").len(), 2);
        assert_eq!(split("---\n~\n---\na\n").len(), 2);
    }
}
