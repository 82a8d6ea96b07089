//! `diff`.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Display;
use std::path::Path;

use serde::Serialize;
use treedef::{Change, ChangeKind, Leaf, LeafKind, NodeKind, Tolerance, Tree};
use treedef_tensors::{__is_of_structure, __leaf_names};

use crate::args::{ReadArgs, Renaming};
use crate::color::{bare_numbers, paint_change, with_null, without_open_kinds};
use crate::comparing::common_form::{
    in_one_form, with_numbers_by_value, with_paths, with_plain_leaves,
};
use crate::comparing::tensor_file::TensorFile;
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::formats::keys::with_keys_of;
use crate::numbers::exact;
use crate::paths::{node_at, part_at, readable, shown};
use crate::reading::input::{self, DocumentExtras, Input};
use crate::reading::parse::Document;
use crate::reading::progress::Progress;
use crate::tensors::trees::{TensorLeaf, has_arrays, kinds};

use super::changes::{far, folded, line, line_of_values, snapped, without_renames};
use super::diff_tensors::{
    Line, are_equal, diff_tensors, lines_beside_values, metadata_lines, report_lines,
};
use super::print::{print, print_json, write_json};
use super::renames::{Renames, suggest};
use super::scope::{HasStructure, Scope, units};

/// How values are compared, and how the changes are printed.
#[derive(Clone, Copy)]
pub(super) struct Options<'a> {
    pub(super) tolerance: Tolerance,
    pub(super) patch: bool,
    /// The file of the patch, if it is not printed.
    pub(super) output: Option<&'a Path>,
    pub(super) json: bool,
}

pub(super) fn diff(
    files: [&Path; 2],
    reading: ReadArgs,
    (structure, folds_numbers): (bool, bool),
    options: Options<'_>,
    scope: &Scope,
) -> Result<bool> {
    let Options { tolerance, patch, json, .. } = options;
    let [old, new] = files.map(|file| input::open(file, reading, Format::Json));
    let (old, new) = (old?, new?);
    let of_tensors = [old.format, new.format].map(Format::is_of_tensors);
    if of_tensors == [true; 2] && folds_numbers {
        let message = "tensors are compared by their types, `--fold-numbers` is for documents";
        return Err(Failure::new(message));
    }
    let same_format = old.format == new.format || of_tensors == [true; 2];
    let style = Style {
        is_typed: same_format && old.format.is_typed(),
        has_null: old.format.has_null() || new.format.has_null(),
        scope,
    };
    if of_tensors == [true; 2] && !structure {
        let (old, new, progress) = opened(old, new)?;
        old.expect_numbers().and(new.expect_numbers())?;
        if !scope.is_whole() {
            let files = scope.of_files([old.in_structure()?, new.in_structure()?])?;
            let same = diff_tensors(files.each_ref(), tolerance, json, scope);
            progress.end();
            return same;
        }
        let are_equal = are_equal(&old, &new)?;
        progress.end();
        if are_equal {
            return no_changes(options);
        }
        return if let (Some(a), Some(b)) = (old.structured()?, new.structured()?) {
            diff_trees([&old, &new], [a, b], true, options, style)
        } else if patch {
            let is_mixed = (old.format == Format::Pytorch) != (new.format == Format::Pytorch);
            let trees = [old.by_name(is_mixed)?, new.by_name(is_mixed)?];
            diff_trees([&old, &new], trees, false, options, style)
        } else {
            let files = [old.in_structure()?, new.in_structure()?];
            diff_tensors(files.each_ref(), tolerance, json, scope)
        };
    }
    let has_ties = |it: &Input| {
        it.checkpoint.as_ref().is_some_and(|checkpoint| !checkpoint.aliases().is_empty())
    };
    let is_other = |it: &Input| it.format == Format::Pytorch || has_ties(it);
    if of_tensors == [true; 2] && old.format != new.format && [&old, &new].into_iter().any(is_other)
    {
        let (old, new, _) = opened(old, new)?;
        return diff_outlines(scope.of_files([old, new])?, json, scope);
    }
    // Names, types and shapes of tensors are known without reading numbers, and kinds without
    // values.
    let are_lines = [old.format, new.format] == [Format::Jsonl; 2];
    let is_outline = of_tensors == [true; 2] || structure && are_lines;
    let mut extras = Vec::new();
    let mut read = |input: Input| match input.format {
        Format::Toml | Format::Yaml if patch && same_format => {
            let (tree, rest) = input.tree_and_rest()?;
            extras.push(rest);
            Ok(Document::Tree(tree))
        }
        _ if is_outline => input.document(),
        _ => input.values(),
    };
    let formats = [old.format, new.format];
    let are_texts = formats.into_iter().any(Format::has_text_keys);
    let names = [old.name.clone(), new.name.clone()];
    let documents = [read(old)?, read(new)?];
    for (document, name) in documents.iter().zip(names) {
        document.expect_visits(reading.limits).map_err(|failure| failure.in_file(&name))?;
    }
    let are_values = |it: &Document| matches!(it, Document::Tree(_));
    if patch && !documents.iter().all(are_values) {
        let message = "a patch has values, and a structure has none: leave out `--patch`";
        return Err(Failure::new(message));
    }
    let [old, new] = scope.of_documents(documents, are_texts)?;
    match (old, new) {
        (Document::Tree(mut old), Document::Tree(mut new)) => {
            if folds_numbers {
                (old, new) = (with_numbers_by_value(old), with_numbers_by_value(new));
            }
            let [old, new] = match (same_format, patch) {
                // Such a patch makes the new document without changes.
                (true, true) if !formats[0].has_free_widths() => [old, new],
                (false, true) => {
                    let (old, new) = (with_paths(old)?, with_paths(new)?);
                    let new = with_keys_of(&old, new, are_texts)?;
                    [old, new]
                }
                _ => in_one_form([old, new], formats, reading.limits)?,
            };
            scope.expect_matches([&old, &new])?; // the keys may be spelled as those of the other side
            let plain = |tree: Tree<Leaf>| {
                if same_format { tree } else { with_plain_leaves(tree) }
            };
            if structure {
                let exact = (kinds(old.clone())?, kinds(new.clone())?);
                let kinds = |tree| {
                    let number = |kind: LeafKind| {
                        if folds_numbers && kind.is_number() { LeafKind::F64 } else { kind }
                    };
                    kinds(plain(tree)).map(|kinds| kinds.map(number))
                };
                let changes = changes(&kinds(old)?, &kinds(new)?);
                let changes = with_kinds(changes, &exact.0, &exact.1);
                return report(changes, json, style.typed());
            }
            let lines = match &*extras {
                [of_old, of_new] => not_in_patch([of_old, of_new], [&old, &new]),
                _ => Vec::new(),
            };
            diff_values(&plain(old), plain(new), options, style, lines)
        }
        (Document::Tensors(old), Document::Tensors(new)) => {
            let texts = |tree: Tree<TensorLeaf>| tree.map(|it| it.to_string());
            report(changes(&texts(old), &texts(new)), json, style.typed())
        }
        (Document::Signature(old), Document::Signature(new)) => {
            report(changes(&old, &new), json, style.typed())
        }
        (old, new) => {
            let (old, new) = (units(old.treedef())?, units(new.treedef())?);
            let new = with_keys_of(&old, new, are_texts)?;
            let (old, new) = (old.treedef(), new.treedef());
            let part = |path: &treedef::Path| node_at(old, path).map(|node| node.to_treedef());
            report(without_renames(&old.diff(new), part), json, style.typed())
        }
    }
}

/// The differences of TOML or YAML that no patch has.
fn not_in_patch([old, new]: [&DocumentExtras; 2], trees: [&Tree<Leaf>; 2]) -> Vec<Line> {
    let [is_list, becomes_list] = trees.map(|tree| tree.treedef().root().kind() == NodeKind::Seq);
    let documents = match (old.is_many, new.is_many) {
        (false, true) if becomes_list => Some("the documents, which are one list there"),
        (true, false) if is_list && becomes_list => Some("the list, which is documents there"),
        _ => None,
    };
    let dates = new.dates.not_made_from(&old.dates);
    let dates =
        dates.iter().map(|path| format!("the date at {}, which is a text there", readable(path)));
    documents.map(str::to_owned).into_iter().chain(dates).map(|line| (line, None)).collect()
}

/// Opens two files of tensors, and shows the progress of reading.
fn opened(old: Input, new: Input) -> Result<(TensorFile, TensorFile, Progress)> {
    let (mut old, mut new) = (TensorFile::open(old)?, TensorFile::open(new)?);
    // Files of PyTorch have a tree of their own, others a tree of the names. Other formats than safetensors may
    // have a tied tensor once for each name.
    if old.format != new.format {
        (old, new) = if [old.format, new.format].contains(&Format::Pytorch) {
            (old.with_aliases()?.by_names()?, new.with_aliases()?.by_names()?)
        } else {
            let names = [&old, &new].map(TensorFile::names);
            (old.with_aliases_in(&names[1])?, new.with_aliases_in(&names[0])?)
        };
    }
    let progress = Progress::new(old.num_bytes());
    Ok((old.with_progress(&progress), new, progress))
}

/// Compares files of tensors whose names differ.
pub(super) fn diff_renamed(
    files: [&Path; 2],
    reading: ReadArgs,
    renaming: &Renaming,
    (structure, tolerance, json): (bool, Tolerance, bool),
    scope: &Scope,
) -> Result<bool> {
    let [old, new] = files.map(|file| {
        let input = input::open(file, reading, Format::Json)?;
        if input.format.is_of_tensors() {
            return Ok(input);
        }
        let message = format!("{} has no tensors to rename", input.format.name());
        Err(Failure::at(input.name, message))
    });
    let (old, new, progress) = opened(old?, new?)?;
    let [old, new] = scope.of_files([old, new])?;
    if !structure && !renaming.suggest {
        old.expect_numbers().and(new.expect_numbers())?;
    }
    let renames = Renames::read(renaming)?;
    let old = if renames.is_empty() { old } else { renames.apply(old)? };
    if renaming.suggest {
        return suggest(&old, &new, json);
    }
    if structure {
        return diff_outlines([old, new], json, scope);
    }
    let same = diff_tensors([&old, &new], tolerance, json, scope);
    progress.end();
    same
}

/// Compares the names, types and shapes of tensors.
fn diff_outlines(files: [TensorFile; 2], json: bool, scope: &Scope) -> Result<bool> {
    let [old, new] = files.map(|stored| stored.tree.map(|slot| slot.leaf.to_string()));
    let style = Style { is_typed: true, has_null: false, scope };
    report(changes(&old, &new), json, style)
}

/// Prints that two documents are equal.
fn no_changes(options: Options<'_>) -> Result<bool> {
    if options.patch {
        let same = Tree::leaf(Leaf::None);
        write_json(options.output, &same.diff(&same))?;
    } else if options.json {
        print("[]\n")?;
    }
    Ok(true)
}

fn changes<L: Clone + PartialEq>(old: &Tree<L>, new: &Tree<L>) -> Vec<Change<Tree<L>>> {
    without_renames(&old.diff(new), |path| part_at(old, path))
}

/// Options for the lines of changes.
#[derive(Clone, Copy)]
struct Style<'s> {
    /// Whether the lines have the kinds of numbers.
    is_typed: bool,
    has_null: bool,
    scope: &'s Scope,
}

impl Style<'_> {
    fn typed(self) -> Self {
        Style { is_typed: true, ..self }
    }

    fn of(self, line: String) -> String {
        let line = if self.is_typed {
            without_open_kinds(&line).into_owned()
        } else {
            bare_numbers(&line)
        };
        if self.has_null { with_null(&line) } else { line }
    }
}

/// The changes with the kinds of each side, not with the kinds by which they are compared.
fn with_kinds(
    mut changes: Vec<Change<Tree<LeafKind>>>,
    old: &Tree<LeafKind>,
    new: &Tree<LeafKind>,
) -> Vec<Change<Tree<LeafKind>>> {
    for Change { path, kind, .. } in &mut changes {
        let exact = |part: &mut Tree<LeafKind>, all: &Tree<LeafKind>| {
            // After a removed element, the path of the new one differs.
            if let Some(it) = part_at(all, path).filter(|it| it.treedef() == part.treedef()) {
                *part = it;
            }
        };
        match kind {
            ChangeKind::Removed(part) => exact(part, old),
            ChangeKind::Added { new: part, .. } => exact(part, new),
            ChangeKind::Replaced { old: part, new: other, .. } => {
                exact(part, old);
                exact(other, new);
            }
            _ => {}
        }
    }
    changes
}

/// Compares files of tensors by their trees: the structures in their metadata, or the trees of the names.
fn diff_trees(
    files: [&TensorFile; 2],
    [a, b]: [Tree<Leaf>; 2],
    is_structured: bool,
    options: Options<'_>,
    style: Style<'_>,
) -> Result<bool> {
    let is_metadata = files[0].format == Format::Gguf;
    let parts = [&a, &b].into_iter().filter(|_| is_structured);
    let parts: HashSet<String> = parts.flat_map(|tree| __leaf_names(tree.treedef())).collect();
    let is_part = |key: &str| is_metadata || parts.contains(key) || __is_of_structure(key);
    let mut lines = metadata_lines(files.map(TensorFile::metadata), options.json, is_part);
    lines.extend(lines_beside_values(files, is_structured, options.json)?);
    diff_values(&a, b, options, style, lines)
}

/// Compares the values of two documents. `lines` were found already.
fn diff_values(
    old: &Tree<Leaf>,
    new: Tree<Leaf>,
    Options { tolerance, patch, output, json }: Options<'_>,
    style: Style<'_>,
    mut lines: Vec<Line>,
) -> Result<bool> {
    let of_one_value = |tree: Tree<Leaf>| {
        let is_exact = tolerance == Tolerance::default();
        tree.map(if is_exact { exact::by_value } else { exact::rounded })
    };
    let has_texts = [old, &new].into_iter().any(exact::has_texts);
    let (old, new) = match has_texts {
        true if patch => (Cow::Borrowed(old), exact::as_in(old, new)),
        true => (Cow::Owned(of_one_value(old.clone())), of_one_value(new)),
        false => (Cow::Borrowed(old), new),
    };
    let old = &*old;
    let close = snapped(old, new, tolerance)?;
    let diff = old.diff(&close);
    if patch {
        write_json(output, &diff)?;
        for (line, _) in &lines {
            message!("treedef: not in the patch: {line}");
        }
        return Ok(diff.changes.is_empty() && lines.is_empty());
    }
    let changes = without_renames(&diff, |path| part_at(old, path));
    if lines.is_empty() && !has_arrays(old) && !has_arrays(&close) {
        return report(changes, json, style);
    }
    let changes = style.scope.changes(changes);
    // Arrays are not printed number by number. As JSON, each has its line.
    let line = |change| {
        let line = line_of_values(change, tolerance);
        if style.has_null { with_null(&line) } else { line }
    };
    if !json {
        let of_changes = folded(places(&changes), &changes.iter().map(line).collect::<Vec<_>>());
        lines.extend(of_changes.into_iter().map(|line| (line, None)));
        return report_lines(&lines, json);
    }
    lines.extend(changes.iter().map(|change| {
        let far = match &change.kind {
            ChangeKind::Replaced { old, new, .. } => far(old, new, tolerance),
            _ => None,
        };
        let (line, numbers) = (line(change), far.map(|far| far.to_json()));
        let path = shown(&change.path);
        let object = serde_json::json!({"path": path, "line": line, "numbers": numbers});
        (line, Some(object))
    }));
    report_lines(&lines, json)
}

/// The path of each change, and the number of its places.
fn places<T>(changes: &[Change<T>]) -> impl Iterator<Item = (&treedef::Path, usize)> {
    changes.iter().map(|change| (&change.path, change.places()))
}

/// A change as JSON.
#[derive(Serialize)]
struct JsonChange<'a, T> {
    path: String,
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<JsonPart<'a, T>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new: Option<JsonPart<'a, T>>,
    /// The number of consecutive siblings with this change, if it is more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    places: Option<usize>,
}

/// A part of a document, or a name.
#[derive(Serialize)]
#[serde(untagged)]
enum JsonPart<'a, T> {
    Of(&'a T),
    Named(String),
}

fn json_change<T>(change: &Change<T>) -> JsonChange<'_, T> {
    let names = |old: &dyn Display, new: &dyn Display| {
        (Some(JsonPart::Named(old.to_string())), Some(JsonPart::Named(new.to_string())))
    };
    let (what, (old, new)) = match &change.kind {
        ChangeKind::Removed(old) => ("removed", (Some(JsonPart::Of(old)), None)),
        ChangeKind::Added { new, .. } => ("added", (None, Some(JsonPart::Of(new)))),
        ChangeKind::Replaced { old, new, .. } => {
            ("replaced", (Some(JsonPart::Of(old)), Some(JsonPart::Of(new))))
        }
        ChangeKind::Renamed { to } => ("renamed", (None, Some(JsonPart::Named(to.to_string())))),
        ChangeKind::Retyped { old, new } => ("retyped", names(old, new)),
        ChangeKind::Reordered { keys } => {
            let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
            ("reordered", (None, Some(JsonPart::Named(keys.join(" ")))))
        }
        _ => ("changed", (None, None)),
    };
    let places = Some(change.places()).filter(|places| *places > 1);
    JsonChange { path: shown(&change.path), change: what, old, new, places }
}

/// Prints the changes. The kinds of integers are left out unless the documents are typed.
fn report<T: Display + Serialize + HasStructure>(
    changes: Vec<Change<T>>,
    json: bool,
    style: Style<'_>,
) -> Result<bool> {
    let changes = style.scope.changes(changes);
    if json {
        print_json(&changes.iter().map(json_change).collect::<Vec<_>>())?;
    } else {
        let lines: Vec<String> = changes.iter().map(|change| style.of(line(change))).collect();
        let lines =
            folded(places(&changes), &lines).into_iter().map(|line| paint_change(&line) + "\n");
        print(&lines.collect::<String>())?;
    }
    Ok(changes.is_empty())
}
