//! No file imports, over any number of others, from itself.
//!
//! A file imports from the last module on a path: `use crate::leaf::sink::Sink;` from `leaf/sink.rs`,
//! and `use super::Way;` from the `mod.rs` beside it. A re-export in a `mod.rs` is not an import.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::{files, read, root};

/// A path as its words.
type Names = Vec<String>;

#[test]
fn no_member_has_a_circle() {
    let members = ["cli", "mpi", "optim", "python", "pytrees", "structures", "tensors", "testing"];
    let members = members.map(|name| format!("crates/{name}/src"));
    for member in ["src", "fuzz"].map(str::to_owned).into_iter().chain(members) {
        let sources = sources(&member);
        let texts = sources.iter().map(|(module, file)| (module.clone(), read(file)));
        let found = in_circles(&texts.collect());
        assert!(found.is_empty(), "{member} has circles of imports through {found:?}");
    }
}

/// The files of a member by their modules.
fn sources(member: &str) -> BTreeMap<Names, PathBuf> {
    let folder = root().join(member);
    let module = |file: PathBuf| {
        let path = file.strip_prefix(&folder).unwrap().with_extension("");
        let mut names: Names = path.iter().map(|name| name.to_str().unwrap().to_owned()).collect();
        names.pop_if(|last| ["lib", "mod"].contains(&last.as_str()));
        (names, file)
    };
    let all: BTreeMap<_, _> = files(&folder).into_iter().map(module).collect();
    assert!(all.contains_key(&Names::new()) && all.len() > 5, "{member}: {all:?}");
    all
}

/// The modules that import from themselves over others.
fn in_circles(texts: &BTreeMap<Names, String>) -> BTreeSet<String> {
    let imports: BTreeMap<&Names, BTreeSet<Names>> = texts
        .iter()
        .map(|(module, text)| (module, imports(module, text, |module| texts.contains_key(module))))
        .collect();
    let reaches_itself = |module: &Names| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![module]);
        while let Some(next) = open.pop() {
            open.extend(imports[next].iter().filter(|other| seen.insert(*other)));
        }
        seen.contains(module)
    };
    let all = texts.keys().filter(|module| reaches_itself(module));
    all.map(|module| module.join("::")).collect()
}

/// The other modules that a source imports from.
fn imports(module: &Names, text: &str, is_module: impl Fn(&Names) -> bool) -> BTreeSet<Names> {
    let resolve = |path: Vec<&str>| {
        let mut found = module.clone();
        for (position, name) in path.into_iter().enumerate() {
            match name {
                "crate" => found.clear(),
                "super" => drop(found.pop()),
                "self" => {}
                name => {
                    let below = [&found[..], &[name.to_owned()]].concat();
                    if !is_module(&below) {
                        // A path to another crate begins with a name that is no module.
                        return Some(found).filter(|_| position > 0);
                    }
                    found = below;
                }
            }
        }
        Some(found)
    };
    let all = paths(text).into_iter().filter_map(resolve);
    all.filter(|found| found != module && is_module(found)).collect()
}

/// The paths that a source imports, and the paths from `crate`, `self` and `super` in its code. Tests in
/// it may import anything.
fn paths(text: &str) -> Vec<Vec<&str>> {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let words: Vec<&str> = code.flat_map(words).collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let before = at.checked_sub(1).and_then(|before| words.get(before)).copied();
        let rest = &words[at..];
        at += 1;
        if *word == "use" {
            let end = rest.iter().position(|word| *word == ";").unwrap_or(rest.len());
            if !matches!(before, Some("pub" | ")")) {
                found.extend(expanded(&rest[1..end]));
            }
            at += end;
        } else if ["crate", "self", "super"].contains(word) && before != Some("in") {
            let is_path = |(position, word): (usize, &&str)| (position % 2 == 1) == (*word == "::");
            let length =
                rest.iter().enumerate().take_while(|word| is_path((word.0, word.1))).count();
            found.extend(expanded(&rest[..length]).into_iter().filter(|path| path.len() > 1));
            at += length - 1;
        }
    }
    found
}

/// Names, `::`, and signs.
fn words(line: &str) -> Vec<&str> {
    let is_name = |sign: char| sign.is_alphanumeric() || sign == '_';
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            _ if is_name(first) => rest.find(|sign| !is_name(sign)).unwrap_or(rest.len()),
            _ if rest.starts_with("::") => 2,
            _ => first.len_utf8(),
        };
        let (word, after) = rest.split_at(length);
        words.push(word);
        rest = after.trim_start();
    }
    words
}

/// `a::{b, c::d}` as its paths.
fn expanded<'w>(words: &[&'w str]) -> Vec<Vec<&'w str>> {
    let (mut found, mut path, mut groups, mut has_name) =
        (Vec::new(), Vec::new(), Vec::new(), false);
    for word in words.iter().chain(&[","]) {
        match *word {
            "::" => {}
            "{" => groups.push(path.len()),
            "," | "}" => {
                if has_name {
                    found.push(path.clone());
                }
                has_name = false;
                path.truncate(groups.last().copied().unwrap_or(0));
                if *word == "}" {
                    groups.pop();
                }
            }
            name => {
                path.push(name);
                has_name = true;
            }
        }
    }
    found
}

#[test]
fn circles_are_found() {
    let texts = [
        ("", "mod a; pub use a::A; pub use b::{B, c::C};"),
        ("a", "use crate::b::{B, c::{self, C}};"),
        ("b", "mod c; use c::C; pub struct B;"),
        ("b::c", "use std::fmt; pub(in crate::a) struct C; fn f() { super::g::<crate::d::D>() }"),
        ("d", "// use crate::a::A;\n#[cfg(test)]\nmod tests { use crate::a::A; }"),
    ];
    let module =
        |name: &str| name.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let texts = texts.map(|(name, text)| (module(name), text.to_owned())).into();
    assert_eq!(in_circles(&texts), ["b", "b::c"].map(str::to_owned).into());
}
