//! Rendered docs have to fit: rustdoc's column has 936 px, 94 columns of code.

use std::fs;
use std::path::{Path, PathBuf};

/// The text on rustdoc's and repository pages: public doc comments, and the READMEs.
fn pages() -> Vec<(PathBuf, Vec<String>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = ["README.md", "crates/tensors/README.md", "crates/candle/FROM_CANDLE.md"]
        .map(|page| root.join(page))
        .to_vec();
    files.extend(
        ["candle", "mpi", "python"]
            .map(|member| root.join("crates").join(member).join("README.md")),
    );
    files.push(root.join("crates/python/JAX.md"));
    files.extend(
        ["README.md", "FROM_EQUINOX_AND_OPTAX.md"].map(|page| root.join("crates/optim").join(page)),
    );
    let members = ["candle", "mpi", "optim", "python", "pytrees", "structures", "tensors"];
    let mut folders = vec![root.join("src")];
    folders.extend(members.map(|member| root.join("crates").join(member).join("src")));
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            // A private module with a message of JAX.
            let private = path.ends_with("jax/proto.rs");
            match path.extension().and_then(|end| end.to_str()) {
                None => folders.push(path),
                Some("rs" | "md") if !private => files.push(path),
                _ => {}
            }
        }
    }
    let shown = |path: &PathBuf, line: &str| {
        if path.extension().is_some_and(|end| end == "md") {
            return line.to_owned();
        }
        let line = line.trim_start();
        let text = line.strip_prefix("//!").or(line.strip_prefix("///")).unwrap_or("");
        text.strip_prefix(' ').unwrap_or(text).to_owned()
    };
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().map(|line| shown(&path, line)).collect();
        (path, lines)
    };
    files.into_iter().map(read).collect()
}

#[test]
fn lines_of_code_fit() {
    let mut seen = 0;
    for (path, lines) in pages() {
        let mut in_code = false;
        for line in lines {
            if line.trim_start().starts_with("```") {
                in_code = !in_code;
            } else if in_code && !line.trim_start().starts_with("# ") {
                let columns = line.chars().count();
                assert!(columns <= 94, "{}, {columns} columns: {line}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 1000, "only {seen} lines of code were found");
}

/// The widest piece of a cell that cannot be broken, in px, and whether it is in a sentence. A
/// character of code takes 9.6 px; 8 are an upper bound for prose. The target of a link is not
/// shown.
fn widest(cell: &str) -> (f64, bool) {
    let (mut widest, mut piece, mut words) = (0.0f64, 0.0, 0);
    let (mut in_code, mut in_target, mut before) = (false, 0, ' ');
    for char in cell.chars() {
        match char {
            '`' if in_target == 0 => {
                in_code = !in_code;
                piece += 2.0;
            }
            '(' if !in_code && (before == ']' || in_target > 0) => in_target += 1,
            ')' if in_target > 0 => in_target -= 1,
            _ if in_target > 0 => {}
            ' ' => {
                words += usize::from(!in_code);
                widest = widest.max(piece);
                piece = 0.0;
            }
            '[' | ']' if !in_code => {}
            _ => piece += if in_code { 9.6 } else { 8.0 },
        }
        before = char;
    }
    (widest.max(piece), words >= 3)
}

#[test]
fn tables_fit() {
    let mut tables = 0;
    for (path, lines) in pages() {
        for table in lines.split(|line| !line.starts_with('|')).filter(|table| table.len() > 2) {
            let mut columns: Vec<f64> = Vec::new();
            for row in table.iter().filter(|row| !row.starts_with("|-")) {
                let row = row.trim_matches('|').replace("\\|", "¦");
                for (at, cell) in row.split('|').enumerate() {
                    let (piece, is_prose) = widest(cell.trim());
                    // A column of sentences is not readable below 200 px.
                    let least = if is_prose { 200.0f64 } else { 0.0 };
                    columns.resize(columns.len().max(at + 1), 0.0);
                    columns[at] = columns[at].max(piece).max(least);
                }
            }
            let px = columns.iter().map(|column| column + 17.0).sum::<f64>() + 1.0;
            assert!(px <= 936.0, "{}: {columns:?} below {}", path.display(), table[0]);
            tables += 1;
        }
    }
    assert!(tables > 30, "only {tables} tables were found");
}

/// rustdoc's search finds names of items and aliases, not text.
#[test]
fn words_that_people_search_for_are_found() {
    let sources: String = pages()
        .into_iter()
        .filter(|(path, _)| path.extension().is_some_and(|end| end == "rs"))
        .map(|(path, _)| fs::read_to_string(path).unwrap())
        .collect();
    for word in
        ["freeze", "autodiff", "gradient", "ravel", "pytree", "weight_decay", "argmin", "pytorch"]
    {
        let named = ["pub mod ", "pub fn "].map(|kind| format!("{kind}{word}"));
        let found = named.iter().any(|item| sources.contains(item))
            || sources.contains(&format!("doc(alias = \"{word}\")"));
        assert!(found, "no item is named `{word}`, and none has it as an alias");
    }
}

/// The page has the first line of code for each crate, and no test can have all of these crates.
#[test]
fn which_crate_names_all_crates_and_what_they_have() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("src/_guide/which_crate.rs")).unwrap();
    let entries = fs::read_dir(root.join("crates")).unwrap().map(Result::unwrap);
    for entry in entries.filter(|entry| entry.path().is_dir()) {
        let name = entry.file_name().into_string().unwrap();
        let is_named = page.contains(&format!("`treedef-{name}`"));
        assert!(is_named || name == "testing", "{name}");
    }
    let mut seen = 0;
    for code in page.split("`treedef_").skip(1).filter_map(|rest| rest.split('`').next()) {
        let (member, code) = code.split_once("::").unwrap();
        let folder = root.join("crates").join(member).join("src");
        let (source, lib) =
            (sources_below(&folder), fs::read_to_string(folder.join("lib.rs")).unwrap());
        let path = code.split(['(', '<']).next().unwrap();
        for name in path.split("::") {
            let is_item = ["fn", "struct", "mod"]
                .iter()
                .any(|kind| source.contains(&format!("pub {kind} {name}")));
            let mut words = lib.split(|char: char| !char.is_alphanumeric() && char != '_');
            assert!(is_item || words.any(|word| word == name), "{member}: {name}");
            seen += 1;
        }
    }
    assert!(seen > 12, "only {seen} names were found");
}

fn sources_below(folder: &Path) -> String {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let text = |path: PathBuf| {
        if path.is_dir() { sources_below(&path) } else { fs::read_to_string(path).unwrap() }
    };
    paths.map(text).collect()
}
