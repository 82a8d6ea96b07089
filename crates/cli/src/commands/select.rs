//! `select`.

use std::io::{BufWriter, Write};
use std::sync::Arc;

use treedef::{Array, Edit, Key, Leaf, NodeRef, Path, Pattern, Tree, Value};

use crate::args::OneFile;
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::input;
use crate::output;
use crate::paint::paint;
use crate::paths::{readable, shown as path_shown};
use crate::tensors::{Halves, numbers, of_array, with_short_halves, write_numbers};

use super::nearest::no_match;
use super::write_bytes;

/// An array with more numbers is shortened.
const LONG: usize = 100;
/// The numbers that are left of each dimension.
const LEFT: usize = 3;

pub(super) fn select(
    pattern: &str,
    file: &OneFile,
    full: bool,
    part: bool,
    json: bool,
) -> Result<bool> {
    let parsed = parse(pattern)?;
    let input = input::open(&file.file, file.reading, Format::Json)?;
    let name = input.name.clone();
    let (tree, lines) = input.tree_with_lines()?;
    let mut tree = with_short_halves(tree)?;
    let of_file = |error: treedef::Error| Failure::from(error).in_file(&name);
    let is_found = |tree: &Tree<Leaf>| selected(tree, &parsed).next().is_some();
    if !is_found(&tree) {
        tree = into_arrays(tree, &parsed).map_err(of_file)?;
        if !is_found(&tree) {
            anstream::eprintln!("treedef: {name}: {}", no_match(&tree, &parsed));
            return Ok(false);
        }
    }
    if part {
        let kept = with_empty_leaves(tree).map_err(of_file)?;
        let kept = kept.filter(|path, _| parsed.covers(path)).map_err(of_file)?;
        return write_bytes(&output::write(&numbers(kept, Halves::Short)?, Format::Json)?);
    }
    // What is read by another program is written as it is found: it may have read enough.
    let mut out = BufWriter::with_capacity(1 << 16, anstream::stdout().lock());
    for (path, node) in selected(&tree, &parsed) {
        let line = line_of(&path, lines.as_deref());
        let leaf = tree.leaves().get(node.leaf_range().start).filter(|_| node.is_leaf());
        if json {
            out.write_all(b"{")?;
            if let Some((number, _)) = line {
                write!(out, "\"file\":{},\"line\":{number},", serde_json::Value::from(&*name))?;
            }
            write!(out, "\"path\":{},\"value\":", serde_json::Value::from(path_shown(&path)))?;
            match leaf.and_then(Leaf::as_array) {
                Some(array) => write_array(&mut out, array)?,
                None => out.write_all(shown(node, leaf).as_bytes())?,
            }
            out.write_all(b"}\n")?;
            continue;
        }
        let dim = anstyle::Style::new().dimmed();
        match &line {
            Some((number, below)) => {
                write!(out, "{dim}{}:{number}:{dim:#} {}", name.escape_debug(), readable(below))?;
            }
            None => write!(out, "{}", readable(&path))?,
        }
        write!(out, "{dim}:{dim:#} ")?;
        match leaf.and_then(Leaf::as_array) {
            Some(array) if !full && array.shape().iter().product::<usize>() > LONG => {
                write!(out, "{array} ")?;
                if !write_numbers(&mut out, array, LEFT)? {
                    out.write_all("…".as_bytes())?;
                }
            }
            Some(array) => write_array(&mut out, array)?,
            None => out.write_all(paint(&shown(node, leaf)).as_bytes())?,
        }
        out.write_all(b"\n")?;
    }
    out.flush()?;
    Ok(true)
}

fn parse(pattern: &str) -> Result<Pattern> {
    if let Some(rest) = pattern.strip_prefix('$')
        && (rest.is_empty() || rest.starts_with(['.', '[']))
    {
        let path = rest.replace("..", "**.").replace("['", "[\"").replace("']", "\"]");
        let path = if path.is_empty() { "**" } else { &path };
        return Err(Failure::new(format!(
            "the path `{pattern}` is JSONPath; paths have no `$` here: `{path}`"
        )));
    }
    pattern.parse().map_err(|error: treedef::Error| {
        Failure::new(format!("the path `{pattern}`: {error}; try e.g. `'**.name'`"))
    })
}

/// The number of the line that a path leads into, and the path in its document.
fn line_of(path: &Path, lines: Option<&[u64]>) -> Option<(u64, Path)> {
    let (Key::Index(index), below) = path.keys().split_first()? else { return None };
    let number = *lines?.get(*index)?;
    Some((number, below.iter().fold(Path::root(), |path, key| path.child(key.clone()))))
}

/// The leaves that are selected, and what has nothing in it, such as `null`.
fn selected<'t>(
    tree: &'t Tree<Leaf>,
    pattern: &Pattern,
) -> impl Iterator<Item = (Path, NodeRef<'t>)> {
    let nodes = tree.treedef().nodes().filter(|(_, node)| node.num_children() == 0);
    nodes.filter(|(path, _)| pattern.covers(path))
}

/// The tree with the numbers of those arrays that the pattern leads into.
fn into_arrays(tree: Tree<Leaf>, pattern: &Pattern) -> treedef::Result<Tree<Leaf>> {
    tree.edit(|path, node, leaves| {
        let array = leaves.first().filter(|_| node.is_leaf()).and_then(Leaf::as_array);
        let inner = array.map(|array| of_array(array, Halves::Short)).transpose()?;
        let is_named = |inner: &Tree<Leaf>| {
            inner.treedef().nodes().any(|(below, _)| pattern.matches(&path.join(&below)))
        };
        Ok(inner.filter(is_named).map_or(Edit::Keep, Edit::Replace))
    })
}

/// The tree with nodes that have nothing in them, such as `null`, as leaves, which are selected.
fn with_empty_leaves(tree: Tree<Leaf>) -> treedef::Result<Tree<Leaf>> {
    tree.edit(|_, node, _| {
        let is_empty = node.num_children() == 0 && !node.is_leaf();
        let value = is_empty.then(|| node.to_treedef().to_string().parse::<Value>());
        let leaf =
            value.and_then(std::result::Result::ok).map(|value| Leaf::Opaque(Arc::new(value)));
        Ok(leaf.map_or(Edit::Keep, |leaf| Edit::Replace(Tree::leaf(leaf))))
    })
}

/// Writes all numbers. Where that can be, one at a time.
fn write_array(out: &mut impl Write, array: &Array) -> Result<()> {
    if !write_numbers(out, array, usize::MAX)? {
        serde_json::to_writer(out, &of_array(array, Halves::Short)?)?;
    }
    Ok(())
}

/// A leaf, or a node without children, as JSON has it, or its text where JSON does not have it.
fn shown(node: NodeRef<'_>, leaf: Option<&Leaf>) -> String {
    let json = match leaf {
        Some(leaf) => serde_json::to_string(leaf),
        None => match Tree::<Leaf>::new(node.to_treedef(), Vec::new()) {
            Ok(tree) => serde_json::to_string(&tree),
            Err(_) => Ok("null".to_owned()),
        },
    };
    let text = || leaf.map_or_else(|| node.to_treedef().to_string(), Leaf::to_string);
    json.unwrap_or_else(|_| serde_json::Value::from(text()).to_string())
}
