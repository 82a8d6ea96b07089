//! The rules that the source itself keeps.

mod circles;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The `mod` lines of a module, in order, and the files that they name.
fn modules(folder: &str, file: &str) -> Vec<(String, Vec<PathBuf>)> {
    let names = read(Path::new(folder).join(file));
    let bare = |line| {
        let visible = ["pub ", "pub(crate) ", "pub(super) "];
        visible.iter().find_map(|it| str::strip_prefix(line, it)).unwrap_or(line)
    };
    let names = names
        .lines()
        .map(bare)
        .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';').map(str::to_owned));
    let files_of = |name: &str| {
        let module = root().join(folder).join(name);
        let file = Some(module.with_extension("rs")).filter(|file| file.exists());
        file.into_iter().chain(files(&module)).collect()
    };
    names.map(|name| (name.clone(), files_of(&name))).collect()
}

/// All sources below a folder, if there are any.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let is_source = |path: &PathBuf| path.extension().is_some_and(|end| end == "rs");
    let below = |path: PathBuf| match path.is_dir() {
        true if path.ends_with("target") => Vec::new(),
        true => files(&path),
        false => Some(path).filter(is_source).into_iter().collect(),
    };
    paths.into_iter().flat_map(below).collect()
}

/// The folders with the sources of the library and of the members.
fn sources() -> Vec<String> {
    let members = fs::read_dir(root().join("crates")).unwrap();
    let members = members.map(|member| member.unwrap().file_name().into_string().unwrap());
    let folders = members.map(|name| format!("crates/{name}/src"));
    let folders = folders.filter(|folder| root().join(folder).exists());
    let mut all: Vec<String> = ["src".to_owned()].into_iter().chain(folders).collect();
    all.sort();
    assert!(all.len() > 6, "{all:?}");
    all
}

/// A source without its comments, whose links may lead anywhere, and without spaces.
fn code(file: &Path) -> String {
    let text = read(file);
    let lines = text.lines().map(str::trim_start).filter(|line| !line.starts_with("//"));
    lines.flat_map(str::split_whitespace).collect()
}

/// Whether a text without spaces imports something from a module: `prefix::module::…`, or inside
/// `prefix::{…}`.
fn imports(text: &str, prefix: &str, module: &str) -> bool {
    let grouped = text.split(&format!("{prefix}::{{")).skip(1).any(|group| {
        let group = group.split(";").next().unwrap_or("");
        group.starts_with(&format!("{module}::")) || group.contains(&format!(",{module}::"))
    });
    grouped || text.contains(&format!("{prefix}::{module}::"))
}

/// Between the files of a room, only circles are refused: see `circles`.
#[test]
fn rooms_import_only_upwards() {
    let mut checked = 0;
    for source in sources() {
        let rooms = modules(&source, "lib.rs");
        for (position, (_, files)) in rooms.iter().enumerate() {
            for file in files {
                let text = code(file);
                for (later, _) in rooms.iter().skip(position + 1) {
                    assert!(
                        !imports(&text, "crate", later),
                        "{} imports `{later}`, which comes later in {source}/lib.rs",
                        file.display()
                    );
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 250, "only {checked} files were found");
}

/// Who looks for a method finds it in one file. `model` has the constructor that checks nothing and the
/// checks of debug builds. A room above adds the methods that need it.
#[test]
fn methods_of_a_type_are_in_one_file() {
    let homes = [
        ("Tree", "tree/", &["tree/methods.rs"][..]),
        ("TreeDef", "treedef/", &["treedef/methods.rs", "treedef/invariants.rs"]),
    ];
    let above = ["text/", "flatten/flattener.rs", "arrays/", "files/", "diff/", "migration/"];
    let mut checked = 0;
    for file in files(&root().join("src")) {
        let place = file.strip_prefix(root().join("src")).unwrap().to_str().unwrap().to_owned();
        for line in read(&file).lines().filter(|line| line.starts_with("impl")) {
            let head = line.split(" {").next().unwrap_or(line);
            let is_inherent = !head.contains(" for ");
            let of = head.rsplit(' ').next().unwrap_or("").split('<').next();
            for (_, room, home) in homes.iter().filter(|(name, ..)| is_inherent && of == Some(name))
            {
                let is_above =
                    !place.starts_with(room) && above.iter().any(|it| place.starts_with(it));
                assert!(
                    is_above || place == "model.rs" || home.contains(&place.as_str()),
                    "{place}: `{head}` belongs in src/{}",
                    home[0]
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 20, "only {checked} were found");
}

/// They are tables of contents.
#[test]
fn lib_and_mod_define_nothing() {
    let tables = sources().into_iter().flat_map(|source| files(&root().join(source)));
    let tables = tables.filter(|file| file.ends_with("lib.rs") || file.ends_with("mod.rs"));
    let tables: Vec<PathBuf> =
        tables.filter(|file| !file.iter().any(|of| of == "_guide")).collect();
    assert!(tables.len() > 24, "{tables:?}");
    for file in tables {
        let text = read(&file);
        for line in text.lines() {
            let item =
                line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub ")).unwrap_or(line);
            let words = [
                "fn ",
                "struct ",
                "enum ",
                "trait ",
                "impl",
                "macro_rules",
                "type ",
                "const ",
                "static ",
            ];
            assert!(
                !words.iter().any(|word| item.starts_with(word)),
                "{} defines: {line}",
                file.display()
            );
        }
    }
}

/// A name means one thing in a crate. Associated types have the names that their traits give
/// them, a file may have a type once for each system, and a public trait may be sealed by one of its name.
/// The errors of two modules are both `Error`.
#[test]
fn each_type_has_a_name_of_its_own() {
    let all: usize = sources().iter().map(|source| distinct_types(source)).sum();
    assert!(all > 600, "only {all} types were found");
}

/// The number of types below a folder, all of other names.
fn distinct_types(source: &str) -> usize {
    let mut known = HashMap::new();
    for file in files(&root().join(source)) {
        let text = read(&file);
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for line in code.lines().map(str::trim_start).filter(|line| !line.starts_with("//")) {
            let mut words = line.split(|char: char| !char.is_alphanumeric() && char != '_');
            let declares = |word: &str| ["struct", "enum", "trait"].contains(&word);
            let name = words.find(|word| declares(word)).and_then(|_| words.next());
            if let Some(name) = name.filter(|name| name.starts_with(char::is_uppercase)) {
                let other = known.insert(name.to_owned(), file.clone());
                let is_other = other.as_ref().is_some_and(|other| *other != file);
                assert!(
                    !is_other || name == "Error",
                    "{} and {other:?} have a `{name}`",
                    file.display()
                );
            }
        }
    }
    known.len()
}

#[test]
fn every_dependency_says_why() {
    let members = fs::read_dir(root().join("crates")).unwrap();
    let members = members.map(|member| member.unwrap().path().join("Cargo.toml"));
    let manifests = members.filter(|path| path.exists()).chain([root().join("Cargo.toml")]);
    let mut checked = 0;
    for path in manifests {
        let mut in_dependencies = false;
        for line in fs::read_to_string(&path).unwrap().lines() {
            if line.starts_with('[') {
                in_dependencies = line.ends_with("dependencies]");
            } else if in_dependencies && line.contains('=') && !line.starts_with(' ') {
                assert!(line.contains('#'), "{path:?} does not say why: {line}");
            }
        }
        checked += 1;
    }
    assert!(checked > 8, "only {checked}");
}

/// A format that nobody would find, or that no test and no fuzzer has seen.
#[test]
fn each_format_has_its_rows() {
    let below = |folder: &str| -> String {
        files(&root().join(folder))
            .iter()
            .filter_map(|file| fs::read_to_string(file).ok())
            .collect()
    };
    let (mut missing, mut checked) = (Vec::new(), 0);
    for (member, modules) in [("pytrees", "src/lib.rs"), ("tensors", "src/formats/mod.rs")] {
        let folder = format!("crates/{member}");
        let readme = format!("{folder}/README.md");
        let tests = format!("{folder}/tests");
        let places = [
            (format!("the first table of {readme}"), read(&readme), "`NAME::"),
            (tests.clone(), below(&tests), "NAME::"),
            ("fuzz/targets".to_owned(), below("fuzz/targets"), "NAME::"),
        ];
        let modules = read(format!("{folder}/{modules}"));
        let modules = modules.lines();
        for name in modules.filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')) {
            for (place, text, row) in &places {
                if !text.contains(&row.replace("NAME", name)) {
                    missing.push(format!("the format `{name}` is not in {place}"));
                }
            }
            checked += 1;
        }
    }
    assert!(checked > 8, "only {checked} formats were found");
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// A stage that GitHub does not run would be missed by who changes the project there.
#[test]
fn the_workflow_runs_all_stages() {
    let (script, workflow) = (read(".ci/run"), read(".github/workflows/ci.yml"));
    let list = |text: &str, from: &str, to: char| {
        let (_, rest) = text.split_once(from).unwrap();
        let words = rest.split(to).next().unwrap().split([' ', ',']);
        words.filter(|word| !word.is_empty()).map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let stages = list(&script, "stages=(", ')');
    assert_eq!(stages, list(&workflow, "stages: [", ']'));
    assert!(stages.len() > 10);
    let paper = read("CONTRIBUTING.md");
    for stage in &stages {
        assert!(
            paper.contains(&format!("| `{stage}` |")),
            "CONTRIBUTING.md: what does `{stage}` find?"
        );
    }
}

/// They work where the file is shown in a repository.
#[test]
fn links_of_the_readme_lead_to_files() {
    for (folder, text) in [
        ("", read("README.md")),
        ("crates", read("crates/README.md")),
        ("tests", read("tests/README.md")),
    ] {
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            assert!(root().join(folder).join(link).exists(), "{folder}/README.md: {link}");
        }
    }
}

/// The papers name files by their paths. `print.rs` alone is a file of a folder that the sentence names.
#[test]
fn papers_name_files_that_exist() {
    let mut names = HashSet::new();
    for folder in ["src", "crates", "tests", "benches"] {
        let files = files(&root().join(folder)).into_iter();
        names.extend(files.filter_map(|file| file.file_name()?.to_str().map(str::to_owned)));
    }
    for paper in ["ARCHITECTURE.md", "CONTRIBUTING.md", "TASKS.md"] {
        let text = read(paper);
        let prose: String = text.split("```").step_by(2).collect();
        let mut checked = 0;
        for named in prose.split('`').skip(1).step_by(2) {
            let path = named.split(['<', ' ']).next().unwrap_or_default();
            if path.contains('/') {
                assert!(root().join(path).exists(), "{paper}: {named}");
            } else if path.ends_with(".rs") {
                assert!(names.contains(path), "{paper}: {named}");
            } else {
                continue;
            }
            checked += 1;
        }
        assert!(checked > 3, "{paper} names only {checked} files");
    }
}

/// rustdoc shows some of these files, and all comments, on pages that are not in a repository: there a
/// path leads nowhere, and an anchor only to a heading of the page. rustdoc itself checks the names of items.
#[test]
fn links_of_the_docs_lead_to_pages_or_items() {
    let mut pages = vec![("src/overview.md".to_owned(), read("src/overview.md"))];
    for package in fs::read_dir(root().join("crates")).unwrap() {
        let folder = package.unwrap().path();
        let source = fs::read_to_string(folder.join("src/lib.rs")).unwrap_or_default();
        if source.contains(r#"#![doc = include_str!("../README.md")]"#) {
            let readme = folder.join("README.md");
            pages.push((readme.display().to_string(), read(readme)));
        }
        pages.extend(doc_comments(&folder.join("src")));
    }
    pages.extend(doc_comments(&root().join("src")));
    assert!(pages.len() > 100);
    let anchors: HashSet<String> = pages.iter().flat_map(|(_, text)| anchors(text)).collect();
    for (file, text) in pages {
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let is_page = link.starts_with("https://");
            // `Item`, `#heading` or `Item#heading`.
            let (item, anchor) = link.split_once('#').unwrap_or((link, "method."));
            let is_anchor = anchor.starts_with("method.") || anchors.contains(anchor);
            let is_item = !item.contains('/') && !item.ends_with(".md") && is_anchor;
            // The command has no docs of its own: its page is the repository's.
            let is_picture = file.ends_with("crates/cli/README.md") && link.ends_with(".png");
            assert!(is_page || is_item || is_picture, "{file}: {link}");
        }
    }
}

/// The comments of each source below a folder that rustdoc shows.
fn doc_comments(folder: &Path) -> Vec<(String, String)> {
    let comment = |line: &str| {
        let line = line.trim_start();
        let text = line.strip_prefix("//!").or(line.strip_prefix("///"))?;
        Some(text.to_owned() + "\n")
    };
    let page = |file: PathBuf| {
        let text = read(&file).lines().filter_map(comment).collect();
        (file.display().to_string(), text)
    };
    files(folder).into_iter().map(page).collect()
}

/// The anchors of the headings of a page, as rustdoc makes them.
fn anchors(page: &str) -> Vec<String> {
    let slug = |heading: &str| -> String {
        let letters = heading.trim().chars().filter_map(|letter| match letter {
            ' ' | '-' => Some('-'),
            '_' => Some('_'),
            letter => letter.is_alphanumeric().then(|| letter.to_ascii_lowercase()),
        });
        letters.collect()
    };
    let lines = page.lines().map(str::trim).filter(|line| line.starts_with('#'));
    lines.map(|line| slug(line.trim_start_matches('#'))).collect()
}
