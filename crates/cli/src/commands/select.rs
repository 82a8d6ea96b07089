//! `select`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::Path as FilePath;
use std::sync::Arc;

use treedef::__private::OrBug;
use treedef::{Array, Edit, Leaf, NodeRef, Path, Pattern, Tree, TreeReader, Value};

use crate::args::{Limits, OneFile};
use crate::color::paint;
use crate::comparing::tensor_file::{TensorFile, TensorSlot};
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::formats::json::visible;
use crate::numbers::exact;
use crate::paths::{readable, shown as path_shown};
use crate::reading::documents::{DocumentPlace, Documents};
use crate::reading::input::{self, Input};
use crate::tensors::trees::{
    HalfFormat, has_arrays, numbers, of_array, with_halves, write_numbers,
};

use super::convert::part_in_json;
use super::nearest::no_match;
use super::print::warn_of_loss;
use super::scope::parse;

/// Longer arrays are shortened.
const LONG: usize = 100;
/// The maximum number of documents that are searched for a suggestion.
const LOOKED_AT: usize = 100;
/// The numbers that remain of each dimension.
const LEFT: u8 = 3;
/// A tensor with more bytes is not read as a whole.
const LARGE: u64 = 1 << 20;

pub(super) fn select(
    pattern: &str,
    file: &OneFile,
    full: bool,
    part: bool,
    json: bool,
) -> Result<bool> {
    let is_stdin = file.file.as_os_str() == "-";
    if FilePath::new(pattern).exists() && !file.file.exists() && !is_stdin {
        let other = file.file.display();
        let message = format!("the path comes first: `treedef select '{other}' {pattern}`");
        return Err(Failure::new(message));
    }
    let pattern = parse(pattern)?;
    let input = input::open(&file.file, file.reading, Format::Json)?;
    let name = input.name.clone();
    // Output to another program is written at once, because that program may stop reading early.
    let out = BufWriter::with_capacity(1 << 16, anstream::stdout().lock());
    let (found, options) = (false, (full, part, json));
    let mut selecting = Selection {
        pattern: &pattern,
        name: &name,
        options,
        out,
        found,
        unread: false,
        is_strict: file.reading.strict,
        limits: file.reading.limits,
    };
    let no_match = if input.format.is_of_tensors() {
        let stored = TensorFile::open(input)?;
        stored.expect_numbers()?;
        match stored.structured()? {
            Some(tree) => selecting.documents(Documents::of(name.clone(), tree))?,
            None => selecting.tensors(&stored.with_aliases()?.in_structure()?)?,
        }
    } else if input.format == Format::Tree && input.size.is_some() && !part {
        let is_found = selecting.parts(&file.file, &input).map_err(|it| it.in_file(&name))?;
        if is_found { None } else { selecting.documents(input.documents()?)? }
    } else {
        selecting.documents(input.documents()?)?
    };
    if let Some(message) = no_match {
        message!("treedef: {name}: {message}");
    }
    Ok(selecting.found)
}

/// The request, and the destination of the output.
struct Selection<'a, W> {
    pattern: &'a Pattern,
    name: &'a str,
    /// `--full`, `--tree` and `--json`.
    options: (bool, bool, bool),
    out: W,
    found: bool,
    /// Whether the reason why a tensor is not read was printed.
    unread: bool,
    is_strict: bool,
    limits: Limits,
}

impl<W: Write> Selection<'_, W> {
    /// Prints selected leaves of documents. If there are none, explains what is there instead.
    fn documents(&mut self, mut documents: Documents) -> Result<Option<String>> {
        let mut without = Vec::new();
        while let Some((place, tree)) = documents.next()? {
            let visited = self.limits.expect_visits(tree.treedef(), tree.leaves().len());
            visited.map_err(|failure| failure.in_file(self.name))?;
            let tree = self.document(place, &Path::root(), tree);
            let tree = tree.map_err(|failure| failure.in_file(self.name))?;
            if let Some(tree) = tree.filter(|_| !self.found && without.len() < LOOKED_AT) {
                without.push(tree);
            }
        }
        self.out.flush()?;
        documents.warn();
        let what = |leaf: &Leaf| {
            leaf.as_array().map_or_else(|| exact::kind(leaf).to_string(), ToString::to_string)
        };
        Ok((!self.found).then(|| no_match(&without, self.pattern, what)))
    }

    /// Prints a part of a tree that the library saved, and reads only that part. Returns whether
    /// there is something, or whether the tree is small enough to be read as a whole.
    fn parts(&mut self, file: &FilePath, input: &Input) -> Result<bool> {
        let limits = self.limits;
        let mut reader = TreeReader::new(File::open(file)?, limits.of_trees())?;
        limits.expect_visits(reader.treedef(), reader.treedef().num_leaves())?;
        for pattern in leading_to(self.pattern) {
            let Ok(parts) = reader.subtrees(&pattern) else { continue };
            for part in parts {
                let (path, tree) = part?;
                self.document(DocumentPlace::Whole, &path, tree)?;
            }
            break;
        }
        self.out.flush()?;
        let most = u64::try_from(limits.max_bytes()).unwrap_or(u64::MAX);
        if !self.found && input.size.is_some_and(|size| size > most) {
            let error = reader.subtrees(self.pattern).err();
            return Err(error.map_or_else(|| Failure::new("no match"), Failure::from));
        }
        Ok(self.found)
    }

    /// As [`documents`](Self::documents), for tensors. Only selected ones are read.
    fn tensors(&mut self, stored: &TensorFile) -> Result<Option<String>> {
        let slots = || stored.tree.treedef().leaf_paths().zip(stored.tree.leaves());
        let ends = || stored.tree.treedef().nodes().filter(|(_, node)| node.num_children() == 0);
        let wanted = wanted_by(self.pattern, || ends().map(|(path, _)| path));
        if self.is_strict {
            for (_, slot) in slots().filter(|(path, _)| wanted(path)) {
                self.is_unread(stored, slot);
            }
            if self.unread {
                let message = "nothing was printed, as something is not read (`--strict`)";
                return Err(Failure::at(self.name, message));
            }
        }
        if self.options.1 {
            let nothing = Tree::of(&())?;
            let trees = slots().map(|(path, slot)| {
                let is_read = wanted(&path) && !self.is_unread(stored, slot);
                if is_read { stored.read(slot) } else { Ok(nothing.clone()) }
            });
            let trees = trees.collect::<Result<Vec<_>>>()?;
            let tree = Tree::new(stored.tree.treedef().clone(), trees)?.compose()?;
            self.document(DocumentPlace::Whole, &Path::root(), tree)?;
        } else {
            for (path, node) in ends().filter(|(path, _)| wanted(path)) {
                let slot = stored.tree.leaves().get(node.leaf_range().start);
                let Some(slot) = slot.filter(|_| node.is_leaf()) else {
                    // A plain value beside the tensors.
                    let value = Tree::new(node.to_treedef(), Vec::new())?;
                    self.document(DocumentPlace::Whole, &path, value)?;
                    continue;
                };
                if self.is_unread(stored, slot) {
                    continue;
                }
                if self.large(stored, &path, slot).map_err(|it| it.in_file(self.name))? {
                    continue;
                }
                self.document(DocumentPlace::Whole, &path, stored.read(slot)?)?;
            }
        }
        self.out.flush()?;
        let trees = [stored.tree.clone()];
        let what = |slot: &TensorSlot| slot.leaf.to_string();
        Ok((!self.found && !self.unread).then(|| no_match(&trees, self.pattern, what)))
    }

    /// Explains why a tensor is not read, if so.
    fn is_unread(&mut self, stored: &TensorFile, slot: &TensorSlot) -> bool {
        let why = stored.unread(slot);
        if let Some(why) = &why {
            message!("treedef: {}", Failure::at(self.name, why));
            self.unread = true;
        }
        why.is_some()
    }

    /// Prints the requested part of a large tensor, and reads only that part, or prints it piece by
    /// piece. Returns `false` for a small one, and for one that is not a plain nested sequence.
    fn large(&mut self, stored: &TensorFile, path: &Path, slot: &TensorSlot) -> Result<bool> {
        let (full, _, json) = self.options;
        let Some(count) = slot.leaf.shape.first().copied() else { return Ok(false) };
        let row = slot.leaf.size.checked_div(count).unwrap_or_default();
        let first = 0..u64::from(LEFT) + 1;
        let is_large = slot.leaf.size >= LARGE && row < LARGE && count > first.end;
        if !is_large || slot.dtype().is_none() || !self.pattern.covers(path) {
            return Ok(false);
        }
        let Some(text) = text_of_rows(stored, slot, first, (HalfFormat::Short, true), LEFT.into())?
        else {
            return Ok(false);
        };
        self.found = true;
        let dim = anstyle::Style::new().dimmed();
        if json {
            let path = serde_json::Value::from(path_shown(path)).to_string();
            write!(self.out, "{{\"path\":{},\"value\":", visible(&path))?;
        } else {
            write!(self.out, "{}{dim}:{dim:#} ", readable(path))?;
        }
        if full || json {
            let step = LARGE.checked_div(row).unwrap_or(1).max(1);
            self.all_rows(stored, slot, (halves(json), !json), step)?;
        } else {
            write!(self.out, "{} ", slot.leaf)?;
            self.out.write_all(&text)?;
        }
        self.out.write_all(if json { b"}\n" } else { b"\n" })?;
        Ok(true)
    }

    /// Writes all numbers of a tensor, some rows at a time.
    fn all_rows(
        &mut self,
        stored: &TensorFile,
        slot: &TensorSlot,
        form: (HalfFormat, bool),
        step: u64,
    ) -> Result<()> {
        let count = slot.leaf.shape.first().copied().or_bug();
        let mut start = 0;
        while start < count {
            let end = (start + step).min(count); // a tensor of so many rows fits
            let text = text_of_rows(stored, slot, start..end, form, usize::MAX)?.or_bug();
            self.out.write_all(if start == 0 { b"[" } else { b"," })?;
            // Without the brackets around these rows.
            self.out.write_all(text.get(1..text.len().saturating_sub(1)).or_bug())?;
            start = end;
        }
        Ok(self.out.write_all(b"]")?)
    }

    /// Prints a document as a line of JSON.
    fn line_of(&mut self, tree: &Tree<Leaf>) -> Result<()> {
        serde_json::to_writer(&mut self.out, tree)?;
        Ok(self.out.write_all(b"\n")?)
    }

    /// Prints the selected leaves of the part of a document at a path. Returns the part if there
    /// are none.
    fn document(
        &mut self,
        place: DocumentPlace,
        above: &Path,
        tree: Tree<Leaf>,
    ) -> Result<Option<Tree<Leaf>>> {
        let (pattern, (full, part, json)) = (self.pattern, self.options);
        let halves = halves(json || part);
        let tree = into_arrays(with_halves(tree, halves)?, halves, above, pattern)?;
        if selected(&tree, above, pattern).next().is_none() {
            return Ok(Some(tree));
        }
        self.found = true;
        if part {
            let kept = without_empty_leaves(with_empty_leaves(tree)?.filter(pattern)?)?;
            let kept = numbers(kept, halves)?;
            if let DocumentPlace::Line(_) = place {
                return self.line_of(&kept).map(|()| None);
            }
            let (bytes, lost) = part_in_json(&kept, Format::Json, self.limits)?;
            let name = place.in_file(self.name);
            lost.iter().for_each(|loss| warn_of_loss(&name, loss, Format::Json));
            if self.is_strict && !lost.is_empty() {
                return Err(Failure::new("something would be lost (`--strict`)"));
            }
            match place {
                DocumentPlace::Whole => self.out.write_all(&bytes)?,
                _ => self.line_of(&kept)?,
            }
            return Ok(None);
        }
        for (path, node) in selected(&tree, above, pattern) {
            let found = Match { tree: &tree, node, path: &path, place, name: self.name };
            if json {
                found.write_json(&mut self.out)?;
            } else {
                found.write_text(&mut self.out, full)?;
            }
        }
        Ok(None)
    }
}

/// JSON has doubles. A text has the fewest digits, as elsewhere.
fn halves(is_json: bool) -> HalfFormat {
    if is_json { HalfFormat::Double } else { HalfFormat::Short }
}

/// Some rows of a tensor as JSON or as text. `None` if they are not a plain nested sequence.
fn text_of_rows(
    stored: &TensorFile,
    slot: &TensorSlot,
    rows: Range<u64>,
    form: (HalfFormat, bool),
    most: usize,
) -> Result<Option<Vec<u8>>> {
    let (tree, mut text) = (stored.read_rows(slot, rows)?, Vec::new());
    let [leaf] = tree.leaves() else { return Ok(None) };
    let Some(array) = leaf.as_array() else { return Ok(None) };
    Ok(write_numbers(&mut text, array, form, most)?.then_some(text))
}

/// Calls back with the paths of tensors that a pattern matches, or leads into if it matches none.
fn wanted_by<P: Iterator<Item = Path>>(
    pattern: &Pattern,
    paths: impl Fn() -> P,
) -> impl Fn(&Path) -> bool {
    let mut names = vec![pattern.clone()];
    if !paths().any(|path| pattern.covers(&path)) {
        names.extend(leading_to(pattern));
    }
    move |path| names.iter().any(|pattern| pattern.covers(path))
}

/// A pattern, and shorter versions without its last indices and without the part of a complex number, which
/// may lead into an array.
fn leading_to(pattern: &Pattern) -> Vec<Pattern> {
    let text = pattern.to_string();
    let (mut patterns, mut rest) = (vec![pattern.clone()], text.as_str());
    if let Some(before) = [".re", ".im"].iter().find_map(|part| rest.strip_suffix(part)) {
        rest = before;
        patterns.extend(before.parse::<Pattern>());
    }
    while let Some((before, _)) = rest.strip_suffix(']').and_then(|it| it.rsplit_once('[')) {
        rest = before;
        patterns.extend(before.parse::<Pattern>());
    }
    patterns
}

/// A match.
struct Match<'a> {
    tree: &'a Tree<Leaf>,
    node: NodeRef<'a>,
    path: &'a Path,
    place: DocumentPlace,
    name: &'a str,
}

impl Match<'_> {
    fn leaf(&self) -> Option<&Leaf> {
        let at = self.node.leaf_range().start;
        self.tree.leaves().get(at).filter(|_| self.node.is_leaf())
    }

    fn write_json(&self, out: &mut impl Write) -> Result<()> {
        out.write_all(b"{")?;
        if self.place != DocumentPlace::Whole {
            let place = serde_json::Value::from(self.place.to_json(self.name)).to_string();
            write!(out, "{},", place.trim_matches(['{', '}']))?;
        }
        let path = serde_json::Value::from(path_shown(self.path)).to_string();
        write!(out, "\"path\":{},\"value\":", visible(&path))?;
        match self.leaf().and_then(Leaf::as_array) {
            Some(array) => write_array(out, array, (halves(true), false))?,
            None => out.write_all(shown(self.node, self.leaf()).as_bytes())?,
        }
        Ok(out.write_all(b"}\n")?)
    }

    fn write_text(&self, out: &mut impl Write, full: bool) -> Result<()> {
        let dim = anstyle::Style::new().dimmed();
        if self.place != DocumentPlace::Whole {
            write!(out, "{dim}{}:{dim:#} ", self.place.in_file(self.name).escape_debug())?;
        }
        write!(out, "{}{dim}:{dim:#} ", readable(self.path))?;
        match self.leaf().and_then(Leaf::as_array) {
            Some(array) if !full && array.shape().iter().product::<usize>() > LONG => {
                write!(out, "{array} ")?;
                if !write_numbers(out, array, (HalfFormat::Short, true), LEFT.into())? {
                    out.write_all("…".as_bytes())?;
                }
            }
            Some(array) => write_array(out, array, (halves(false), true))?,
            None => {
                let name = self.leaf().and_then(exact::name_of);
                let text = name.unwrap_or_else(|| shown(self.node, self.leaf()));
                out.write_all(paint(&text).as_bytes())?;
            }
        }
        Ok(out.write_all(b"\n")?)
    }
}

/// The selected leaves, and selected nodes without content, such as `null`. The tree is at a path.
fn selected<'t>(
    tree: &'t Tree<Leaf>,
    above: &Path,
    pattern: &Pattern,
) -> impl Iterator<Item = (Path, NodeRef<'t>)> {
    let nodes = tree.treedef().nodes().filter(|(_, node)| node.num_children() == 0);
    let nodes = nodes.map(|(path, node)| (above.join(&path), node));
    nodes.filter(|(path, _)| pattern.covers(path))
}

/// The tree in which arrays that the pattern leads into are replaced by their numbers, if it
/// matches nothing else.
fn into_arrays(
    tree: Tree<Leaf>,
    halves: HalfFormat,
    above: &Path,
    pattern: &Pattern,
) -> treedef::Result<Tree<Leaf>> {
    if !has_arrays(&tree) || selected(&tree, above, pattern).next().is_some() {
        return Ok(tree);
    }
    tree.edit(|path, node, leaves| {
        let array = leaves.first().filter(|_| node.is_leaf()).and_then(Leaf::as_array);
        let inner = array.map(|array| of_array(array, halves)).transpose()?;
        let path = above.join(path);
        let is_named = |inner: &Tree<Leaf>| {
            inner.treedef().nodes().any(|(below, _)| pattern.matches(&path.join(&below)))
        };
        Ok(inner.filter(is_named).map_or(Edit::Keep, Edit::Replace))
    })
}

/// The tree with nodes without content, such as `null`, as leaves, which can be selected.
fn with_empty_leaves(tree: Tree<Leaf>) -> treedef::Result<Tree<Leaf>> {
    tree.edit(|_, node, _| {
        let is_empty = node.num_children() == 0 && !node.is_leaf();
        let value = is_empty.then(|| node.to_treedef().to_string().parse::<Value>());
        let leaf =
            value.and_then(std::result::Result::ok).map(|value| Leaf::Opaque(Arc::new(value)));
        Ok(leaf.map_or(Edit::Keep, |leaf| Edit::Replace(Tree::leaf(leaf))))
    })
}

/// The tree in which such leaves are nodes again.
fn without_empty_leaves(tree: Tree<Leaf>) -> treedef::Result<Tree<Leaf>> {
    tree.edit(|_, node, leaves| {
        let Some(Leaf::Opaque(value)) = leaves.first().filter(|_| node.is_leaf()) else {
            return Ok(Edit::Keep);
        };
        let part = Tree::<Leaf>::of(&**value)?;
        Ok(if part.leaves().is_empty() { Edit::Replace(part) } else { Edit::Keep })
    })
}

/// Writes all numbers, one at a time if possible.
fn write_array(out: &mut impl Write, array: &Array, form: (HalfFormat, bool)) -> Result<()> {
    if !write_numbers(out, array, form, usize::MAX)? {
        let (halves, is_text) = form;
        let tree = of_array(array, halves)?;
        if !is_text {
            return Ok(serde_json::to_writer(out, &tree)?);
        }
        // Among numbers, a text is a name.
        let named = |leaf: Leaf| exact::name_of(&leaf).map_or(leaf, Leaf::from);
        let text = serde_json::to_string(&tree.map(named))?;
        let names = ["NaN", "inf", "-inf"].iter();
        let text = names.fold(text, |text, name| text.replace(&format!("\"{name}\""), name));
        out.write_all(text.as_bytes())?;
    }
    Ok(())
}

/// A leaf, or a node without children, as JSON, or as its text if JSON cannot hold it.
fn shown(node: NodeRef<'_>, leaf: Option<&Leaf>) -> String {
    let json = match leaf {
        Some(leaf) => serde_json::to_string(leaf),
        None => match Tree::<Leaf>::new(node.to_treedef(), Vec::new()) {
            Ok(tree) => serde_json::to_string(&tree),
            Err(_) => Ok("null".to_owned()),
        },
    };
    let text = || leaf.map_or_else(|| node.to_treedef().to_string(), Leaf::to_string);
    let json = json.unwrap_or_else(|_| serde_json::Value::from(text()).to_string());
    visible(&json).into_owned()
}
