//! `check`: a gate for documents.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use treedef::{Key, LeafKind, NodeKind, NodeRef, Tree};

use crate::args::Folds;
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::input::{self, Document};
use crate::paint::counted;

use super::{document, kinds, print, print_json, readable};

/// The most violations of one file.
const MOST: usize = 1_000;

pub(super) fn check(
    files: &[PathBuf],
    like: &Path,
    format: Option<Format>,
    folds: Folds,
    json: bool,
) -> Result<bool> {
    let (name, expected) = document(like, None)?;
    let unchecked = |tree: &treedef::TreeDef| vec![None; tree.num_leaves()];
    let expected = match expected {
        Document::Tree(tree) => kinds(tree).map(Some),
        Document::Signature(tree) => tree.map(Some),
        Document::Structure(treedef) => Tree::new(treedef.clone(), unchecked(&treedef))?,
        Document::Tensors(_) => {
            return Err(Failure::at(name, "tensors are compared by `treedef diff`"));
        }
    };
    let mut all = Vec::new();
    for file in files {
        let input = input::open(file, format, Format::Json)?;
        let (name, is_lines) = (input.name.clone(), input.format == Format::Jsonl);
        let found = kinds(input.tree()?);
        let mut checker = Checker {
            expected: expected.leaves(),
            found: found.leaves(),
            folds,
            violations: Vec::new(),
        };
        let (root, found) = (expected.treedef().root(), found.treedef().root());
        if is_lines && like_is_one(like) {
            for (index, document) in found.children().enumerate() {
                checker.node(root, document, &mut treedef::Path::root().child(Key::Index(index)));
            }
        } else {
            checker.node(root, found, &mut treedef::Path::root());
        }
        all.extend(checker.violations.into_iter().map(|violation| (name.clone(), violation)));
    }
    let ok = all.is_empty();
    if json {
        let object = |(file, Violation { path, message }): (String, Violation)| serde_json::json!({"file": file, "path": path.to_string(), "message": message});
        print_json(&all.into_iter().map(object).collect::<Vec<_>>())?;
        return Ok(ok);
    }
    let red = anstyle::AnsiColor::Red.on_default();
    let line = |(file, Violation { path, message }): &(String, Violation)| {
        format!("{}: {red}{}{red:#}: {message}\n", file.escape_debug(), readable(path))
    };
    print(&all.iter().map(line).collect::<String>())?;
    if !ok {
        let count = u64::try_from(all.len()).unwrap_or(u64::MAX);
        anstream::eprintln!("treedef: {}", counted(count, "violation", "violations"));
    }
    Ok(ok)
}

/// Whether the expectation is about one document, and not about JSON lines.
fn like_is_one(like: &Path) -> bool {
    Format::of_path(like).is_ok_and(|format| format != Format::Jsonl)
}

struct Violation {
    path: treedef::Path,
    message: String,
}

struct Checker<'a> {
    expected: &'a [Option<LeafKind>],
    found: &'a [LeafKind],
    folds: Folds,
    violations: Vec<Violation>,
}

fn is_list(node: NodeRef<'_>) -> bool {
    matches!(node.kind(), NodeKind::Seq | NodeKind::Tuple | NodeKind::TupleStruct)
}

fn is_named(node: NodeRef<'_>) -> bool {
    matches!(node.kind(), NodeKind::Map | NodeKind::Struct)
}

fn is_nothing(node: NodeRef<'_>) -> bool {
    matches!(node.kind(), NodeKind::None | NodeKind::Unit | NodeKind::UnitStruct)
}

/// A key as JSON would have it.
fn text_of(key: &Key) -> String {
    match key {
        Key::Field(name) => name.to_string(),
        Key::Entry(value) => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
        key => key.to_string(),
    }
}

impl Checker<'_> {
    fn violation(&mut self, path: &treedef::Path, message: String) {
        if self.violations.len() < MOST {
            self.violations.push(Violation { path: path.clone(), message });
        }
    }

    fn said(&self, node: NodeRef<'_>, kind: Option<LeafKind>) -> String {
        match (node.kind(), kind) {
            (NodeKind::Leaf, Some(kind)) => kind.to_string(),
            (NodeKind::Leaf, None) => "a scalar".to_owned(),
            _ if is_list(node) => {
                format!("a sequence of {}", node.num_children())
            }
            _ if is_named(node) => "a map".to_owned(),
            _ if is_nothing(node) => "nothing".to_owned(),
            (kind, _) => kind.to_string(),
        }
    }

    /// Whether a kind is the expected one, as far as kinds are told apart.
    fn is_kind(&self, expected: Option<LeafKind>, found: LeafKind) -> bool {
        let Some(expected) = expected else { return true };
        let Folds { fold_widths, fold_numbers, .. } = self.folds;
        expected == found
            || fold_numbers && expected.is_number() && found.is_number()
            || fold_widths && expected.is_integer() && found.is_integer()
            || fold_widths && expected.is_float() && found.is_float()
    }

    /// Compares two nodes. The recursion is as deep as the limits of the trees allow.
    fn node(&mut self, expected: NodeRef<'_>, found: NodeRef<'_>, path: &mut treedef::Path) {
        use NodeKind as Is;
        let wanted = self.expected.get(expected.leaf_range().start).copied().flatten();
        let kind = self.found.get(found.leaf_range().start).copied();
        let fits = match (expected.kind(), found.kind()) {
            (Is::Leaf, Is::Leaf) => kind.is_some_and(|kind| self.is_kind(wanted, kind)),
            (Is::Some, Is::None | Is::Unit) | (Is::Static, Is::Static | Is::Leaf) => true,
            (Is::Some | Is::NewtypeStruct, other) => {
                let inner = if other == expected.kind() { found.child(0) } else { Some(found) };
                let (Some(child), Some(inner)) = (expected.child(0), inner) else { return };
                return self.node(child, inner, path);
            }
            _ if is_nothing(expected) => is_nothing(found),
            _ if is_list(expected) && is_list(found) => return self.list(expected, found, path),
            _ if is_named(expected) && is_named(found) => return self.named(expected, found, path),
            (a, b) if a == b && a.is_variant() && expected.variant() == found.variant() => {
                return self.pairs(expected, found, path);
            }
            _ => false,
        };
        if !fits {
            let (wanted, kind) = (self.said(expected, wanted), self.said(found, kind));
            self.violation(path, format!("expected {wanted}, found {kind}"));
        }
    }

    fn pairs(&mut self, expected: NodeRef<'_>, found: NodeRef<'_>, path: &mut treedef::Path) {
        let (wanted, there) = (expected.num_children(), found.num_children());
        if wanted != there {
            self.violation(path, format!("expected {wanted} elements, found {there}"));
        }
        for (at, (expected, element)) in expected.children().zip(found.children()).enumerate() {
            let Some(key) = found.key(at) else { continue };
            path.push(key);
            self.node(expected, element, path);
            path.pop();
        }
    }

    fn list(&mut self, expected: NodeRef<'_>, found: NodeRef<'_>, path: &mut treedef::Path) {
        if !self.folds.fold_lengths || expected.kind() != NodeKind::Seq {
            return self.pairs(expected, found, path);
        }
        let mut known = HashSet::new();
        let forms: Vec<NodeRef<'_>> = expected
            .children()
            .filter(|form| known.insert((form.to_treedef(), self.expected.get(form.leaf_range()))))
            .collect();
        for (at, element) in found.children().enumerate() {
            path.push(Key::Index(at));
            let before = self.violations.len();
            let mut best: Option<Vec<Violation>> = None;
            for form in &forms {
                self.node(*form, element, path);
                let violations = self.violations.split_off(before);
                if best.as_ref().is_none_or(|best| violations.len() < best.len()) {
                    best = Some(violations);
                }
                if best.as_ref().is_some_and(Vec::is_empty) {
                    break;
                }
            }
            self.violations.extend(best.unwrap_or_default());
            path.pop();
        }
    }

    fn named(&mut self, expected: NodeRef<'_>, found: NodeRef<'_>, path: &mut treedef::Path) {
        let entries = |node: NodeRef<'_>| -> BTreeMap<String, (Key, usize)> {
            let keys = (0..node.num_children()).filter_map(|at| Some((node.key(at)?, at)));
            keys.map(|(key, at)| (text_of(&key), (key, at))).collect()
        };
        let (wanted, mut there) = (entries(expected), entries(found));
        let (expected, found): (Vec<_>, Vec<_>) =
            (expected.children().collect(), found.children().collect());
        for (name, (key, at)) in wanted {
            let Some(expected) = expected.get(at) else { continue };
            match there.remove(&name).and_then(|(key, at)| Some((key, *found.get(at)?))) {
                Some((key, found)) => {
                    path.push(key);
                    self.node(*expected, found, path);
                    path.pop();
                }
                None if expected.kind() == NodeKind::Some => {}
                None => self.violation(&path.child(key), "missing".to_owned()),
            }
        }
        for (key, _) in there.into_values() {
            self.violation(&path.child(key), "not expected here".to_owned());
        }
    }
}
