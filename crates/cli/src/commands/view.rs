//! `view`: a page with a collapsible tree.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::Path;

use treedef::{Change, Tree};

use crate::args::{ReadArgs, Report};
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::paths::part_at;
use crate::reading::input;

use super::changes;
use super::diff_tensors::metadata_lines;
use super::page_leaf::{self, PageLeaf};
use super::print::{report_json, write_to};
use super::view_nodes::{Changes, NodePosition, PageTree, Traits, quoted};

const PAGE: &str = include_str!("../page/page.html");
const STYLE: &str = include_str!("../page/page.css");
const SCRIPT: &str = include_str!("../page/page.js");

pub(super) fn view(
    file: &Path,
    new: Option<&Path>,
    reading: ReadArgs,
    output: Option<&Path>,
    report: Report,
) -> Result<bool> {
    if output.is_none() && std::io::stdout().is_terminal() {
        let message = "a page is nothing to read in a terminal, pass `--output page.html`";
        return Err(Failure::new(message));
    }
    let (mut metadata, mut of_new, mut notes) = Default::default();
    let (name, format, mut old, mut traits) = viewed(file, reading, &mut metadata)?;
    let of_file = |error: treedef::Error| Failure::from(error).in_file(&name);
    let (title, diff) = match new {
        None => {
            old = page_leaf::shown(old)?;
            (name.clone(), None)
        }
        Some(new) => {
            let (new_name, new_format, new, also) = viewed(new, reading, &mut of_new)?;
            if traits.is_gguf || also.is_gguf {
                let message =
                    "a page has no tensors of GGUF to compare; `treedef diff` compares them";
                return Err(Failure::at(name, message));
            }
            traits.has_null |= also.has_null;
            let formats = [format, new_format];
            let trees = page_leaf::in_one_form([old, new], formats, reading.limits)?;
            let [before, new] = trees.map(page_leaf::shown);
            old = before?;
            let diff = old.diff(&new?);
            let changes = changes::without_renames(&diff, |path| part_at(&old, path));
            let metadata = [(format, &metadata), (new_format, &of_new)];
            notes = metadata_lines(metadata, false, |_| false);
            (format!("{name} → {new_name}"), Some(changes))
        }
    };
    let notes: Vec<String> = notes.into_iter().map(|(line, _)| line).collect();
    let page = page((&title, &notes), &old, diff.as_deref(), traits).map_err(of_file)?;
    write_to(output, page.as_bytes())?;
    if !report.json {
        return Ok(true);
    }
    let report = serde_json::json!({
        "title": title,
        "output": output.map(|path| path.display().to_string()),
        "bytes": page.len(),
        "nodes": old.treedef().num_nodes(),
        "changes": diff.map(|changes| changes.len() + notes.len()),
    });
    report_json(&report, output.is_some())
}

/// The name of a file, its format, its tree, and the properties of its format.
fn viewed(
    file: &Path,
    reading: ReadArgs,
    metadata: &mut BTreeMap<String, String>,
) -> Result<(String, Format, Tree<PageLeaf>, Traits)> {
    let input = input::open(file, reading, Format::Json)?;
    let (name, format) = (input.name.clone(), input.format);
    let Some(tree) = page_leaf::read(input, metadata)? else {
        return Err(Failure::at(name, "it has no leaves; `show` can print it"));
    };
    let visited = reading.limits.expect_visits(tree.treedef(), tree.leaves().len());
    visited.map_err(|failure| failure.in_file(&name))?;
    let (has_null, is_of_tensors) = (format.has_null(), format.is_of_tensors());
    let is_gguf = format == Format::Gguf;
    Ok((name, format, tree, Traits { has_null, is_of_tensors, is_gguf }))
}

/// The page. It contains the document as JSON, and the script creates elements when a node is
/// unfolded. The notes are changes without a place in the tree.
fn page(
    (title, notes): (&str, &[String]),
    tree: &Tree<PageLeaf>,
    diff: Option<&[Change<Tree<PageLeaf>>]>,
    traits: Traits,
) -> treedef::Result<String> {
    let mut changes = Changes::default();
    for change in diff.unwrap_or_default() {
        changes.put(change);
    }
    let mut data = format!("{{\"title\":{},\"changes\":", quoted(title));
    let count = |changes: &[_]| (changes.len() + notes.len()).to_string();
    data += &diff.map_or(String::from("null"), count);
    data += &format!(",\"notes\":{}", serde_json::Value::from(notes));
    data += ",\"root\":";
    let changes = diff.map(|_| &changes);
    let place = NodePosition { key: "\"\"", repeat: 1, changes, added: false, depth: 0 };
    PageTree::of(tree, traits).node(tree.treedef().root(), place, &mut data)?;
    data.push('}');
    let parts = PAGE.replace("/*STYLE*/", STYLE).replace("/*SCRIPT*/", SCRIPT);
    Ok(parts.replacen("/*DATA*/", &in_script(&data), 1))
}

/// JSON that can neither close its element nor open a comment.
fn in_script(json: &str) -> String {
    json.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use sha2::{Digest, Sha256};
    use treedef::Leaf;

    use super::*;

    const EVIL: &str =
        "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>&\u{2028}\"'";

    fn tree_of(text: &str) -> Tree<PageLeaf> {
        serde_json::from_str::<Tree<Leaf>>(text).unwrap().map(PageLeaf::Value)
    }

    fn page_of(text: &str) -> String {
        page((EVIL, &[EVIL.to_owned()]), &tree_of(text), None, Traits::default()).unwrap()
    }

    fn data_of(page: &str) -> &str {
        page.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap()
    }

    #[test]
    fn nothing_in_a_document_becomes_markup() {
        let text = serde_json::json!({ EVIL: [EVIL, {EVIL: EVIL}] }).to_string();
        let page = page_of(&text);
        let data = data_of(&page);
        assert!(!data.contains(['<', '>', '&']));
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(data["title"], EVIL);
        assert_eq!(data["root"][3][0][3][0][2], Leaf::from(EVIL).to_string());
        // The page has its own two elements and no other.
        assert_eq!(page.matches("</script>").count(), 2);
    }

    /// So no other script runs, with any document.
    #[test]
    fn the_policy_names_script_and_style_by_their_hashes() {
        let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
        let (style, script) = (hash(STYLE), hash(SCRIPT));
        let policy = format!("default-src 'none'; style-src {style}; script-src {script}");
        let page = page_of("1");
        assert!(page.contains(&format!("content=\"{policy}\"")), "page.html has to say: {policy}");
        for element in [format!("<style>{STYLE}</style>"), format!("<script>{SCRIPT}</script>")] {
            assert_eq!(page.matches(&element).count(), 1);
        }
        // The data is not a script, and no attributes act as one.
        let outside = PAGE.replace("<script>/*SCRIPT*/</script>", "");
        assert_eq!(outside.matches("<script").count(), 1);
        assert!(outside.contains("<script type=\"application/json\""));
        assert!(
            !outside.contains("unsafe") && !outside.contains(" on") && !outside.contains("style=")
        );
    }

    #[test]
    fn the_script_makes_no_markup_of_text() {
        for banned in
            ["innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "http"]
        {
            assert!(!SCRIPT.contains(banned) && !STYLE.contains(banned), "{banned}");
        }
        assert!(!SCRIPT.contains("</script") && !STYLE.contains("</style"));
    }

    #[test]
    fn equal_neighbours_and_arrays_are_one_node() {
        let page = page_of(r#"{"w": [[1, 2, 3, 4], [5, 6, 7, 8]], "t": ["a", "a", "b"]}"#);
        let data: serde_json::Value = serde_json::from_str(data_of(&page)).unwrap();
        let children = &data["root"][3];
        assert_eq!(children[0][3].as_array().unwrap().len(), 2);
        assert_eq!(children[0][3][0][4]["repeat"], 2);
        assert_eq!(children[1][2], "u64[2, 4] (mean 4.5, sd 2.29, 1 … 8)");
        assert_eq!(children[1][3], "1, 2, 3, 4, 5, 6, 7, 8");
    }

    #[test]
    fn an_array_that_is_one_leaf_looks_like_its_numbers() {
        let tree: Tree<Leaf> =
            serde_json::from_str(r#"{"w": [[1, 2, 3, 4], [5, 6, 7, 8]], "t": "a"}"#).unwrap();
        let stored = tree.clone().with_arrays().unwrap();
        assert_eq!(stored.leaves().len(), 2);
        let pages = [tree, stored].map(|tree| {
            page(("t", &[]), &tree.map(PageLeaf::Value), None, Traits::default()).unwrap()
        });
        assert_eq!(data_of(&pages[0]), data_of(&pages[1]));
    }

    #[test]
    fn the_nodes_around_an_array_stay() {
        let page = page_of(r#"{"a": [[{"w": [1, 2, 3, 4, 5, 6, 7], "n": null}]]}"#);
        let data: serde_json::Value = serde_json::from_str(data_of(&page)).unwrap();
        let inner = &data["root"][3][0][3][0][3][0];
        assert_eq!(inner[2], "{n, w}");
        assert_eq!(inner[3][1][2], "u64[7] (mean 4, sd 2, 1 … 7)");
    }

    #[test]
    fn keys_in_headings_have_no_kinds() {
        let tree: Tree<Leaf> = serde_saphyr::from_str("{1: a, null: b, 7u8: c}").unwrap();
        let traits = Traits { has_null: true, ..Traits::default() };
        let page = page(("t", &[]), &tree.map(PageLeaf::Value), None, traits).unwrap();
        let data: serde_json::Value = serde_json::from_str(data_of(&page)).unwrap();
        assert_eq!(data["root"][2], "{1, 7u8, null}");
    }

    #[test]
    fn changes_are_at_their_nodes() {
        let root =
            nodes_of_changes(r#"{"a": [1, 1, 1], "b": "x"}"#, r#"{"a": [1, 2, 1], "c": true}"#);
        let status = |node: &serde_json::Value| node[4]["status"].as_str().map(str::to_owned);
        let children = root[3].as_array().unwrap();
        let found: Vec<_> =
            children.iter().map(|node| (node[0].as_str().unwrap(), status(node))).collect();
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            found,
            [("[\"a\"]", some("inside")), ("[\"b\"]", some("removed")), ("[\"c\"]", some("added"))]
        );
        assert_eq!(status(&children[0][3][1]), some("changed"));
    }

    fn nodes_of_changes(old: &str, new: &str) -> serde_json::Value {
        let (old, new) = (tree_of(old), tree_of(new));
        let page =
            page(("t", &[]), &old, Some(&old.diff(&new).changes), Traits::default()).unwrap();
        serde_json::from_str::<serde_json::Value>(data_of(&page)).unwrap()["root"].take()
    }

    /// The text and the status of each child.
    fn children_of_changes(old: &str, new: &str) -> String {
        let root = nodes_of_changes(old, new);
        let text = |node: &serde_json::Value| {
            let sign = match node[4]["status"].as_str() {
                Some("added") => "+",
                Some("removed") => "-",
                _ => "",
            };
            let repeat = node[4]["repeat"].as_u64().map_or(String::new(), |it| format!("x{it}"));
            format!("{sign}{}{}{repeat}", node[0], node[2].as_str().unwrap())
        };
        root[3].as_array().unwrap().iter().map(text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_was_added_to_a_list_is_in_its_place() {
        let list = |all: &[&str]| serde_json::to_string(all).unwrap();
        let twelve: Vec<String> = (0..12).map(|at| at.to_string()).collect();
        let mut new: Vec<&str> = vec!["x"];
        new.extend(twelve.iter().map(String::as_str));
        let added = (0..12).map(|at| format!(" +{}\"{at}\"", at + 1));
        let expected = format!("0\"x\"{}", added.collect::<String>());
        assert_eq!(children_of_changes(&list(&["x"]), &list(&new)), expected);
        let front = children_of_changes(&list(&["x", "x", "y"]), &list(&["a", "x", "b", "x"]));
        assert_eq!(front, "+0\"a\" 0\"x\" +2\"b\" 1\"x\" -2\"y\"");
        let same = children_of_changes(&list(&["x", "x", "y"]), &list(&["x", "x", "y", "z"]));
        assert_eq!(same, "0\"x\"x2 2\"y\" +3\"z\"");
    }

    #[test]
    fn the_changes_of_an_array_are_in_its_order_and_counted() {
        let list =
            |plus: i32| serde_json::to_string(&(0..30).map(|at| at + plus).collect::<Vec<_>>());
        let root = nodes_of_changes(&list(0).unwrap(), &list(100).unwrap());
        let note = root[4]["note"].as_str().unwrap();
        let lines: Vec<&str> = note.lines().collect();
        assert_eq!((lines[2], lines[10]), ("~ [2]: 2 → 102", "~ [10]: 10 → 110"));
        assert_eq!((lines.len(), lines[20]), (21, "… and 10 more"));
    }
}
