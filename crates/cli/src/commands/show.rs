//! `show`, `summary` and `fingerprint`.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::PathBuf;

use serde::ser::{SerializeSeq, Serializer};
use treedef::{Array, Edit, Leaf, LeafKind, NodeKind, Tree, TreeDef};

use crate::args::{OneFile, ReadArgs};
use crate::color::{
    bare_numbers, bare_scalars, counted, grouped, paint, short_strings, width, with_null,
};
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::numbers::exact;
use crate::paths::shown;
use crate::reading::input;
use crate::reading::parse::Document;
use crate::tensors::checkpoint::Checkpoint;
use crate::tensors::trees::{HalfFormat, TensorLeaf, kinds, with_halves};

use super::print::{print, print_json};

/// The maximum number of aliases that are listed.
const LISTED: usize = 20;

#[derive(serde::Serialize)]
struct ShowReport {
    file: String,
    leaves: usize,
    nodes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    tensors: Option<Totals>,
    /// The other names of tied tensors, each with the name of the stored one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    aliases: BTreeMap<String, String>,
    fingerprint: String,
    structure: String,
}

#[derive(serde::Serialize)]
struct Totals {
    parameters: u64,
    bytes: u64,
    /// The number of leaves that are not tensors.
    #[serde(skip_serializing_if = "is_zero")]
    values: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

pub(super) fn show(
    file: &OneFile,
    fold_lengths: bool,
    depth: Option<usize>,
    json: bool,
) -> Result<bool> {
    let reading = ReadArgs { allow_damage: !file.reading.strict, ..file.reading };
    let input = input::open(&file.file, reading, Format::Json)?;
    let (name, has_null) = (input.name.clone(), input.format.has_null());
    let of_file = |error: treedef::Error| Failure::from(error).in_file(&name);
    let width = width();
    let aliases = input.checkpoint.as_ref().map(Checkpoint::aliases).unwrap_or_default();
    let (document, is_many) = input.document_of_many()?;
    let (treedef, totals, text) = match document {
        Document::Tree(tree) => signature(kinds(tree)?, fold_lengths, depth, width),
        Document::Signature(tree) => signature(tree, fold_lengths, depth, width),
        Document::Structure(treedef) => structure(treedef, fold_lengths, depth, width),
        Document::Tensors(tree) => tensors(tree, fold_lengths, depth, width),
    }
    .map_err(of_file)?;
    let text = if has_null { with_null(&text) } else { text };
    let (leaves, nodes) = (treedef.num_leaves(), treedef.num_nodes());
    if json {
        let fingerprint = treedef.fingerprint().map_err(of_file)?.to_string();
        let structure = text;
        let tensors = totals;
        let shown =
            ShowReport { file: name, leaves, nodes, tensors, aliases, fingerprint, structure };
        return print_json(&shown);
    }
    let number = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let counts = match totals {
        Some(Totals { parameters, bytes, values }) => {
            let tensors = leaves.saturating_sub(values);
            let mut counts = counted(number(tensors), "tensor", "tensors");
            counts += &format!(", {}", counted(parameters, "parameter", "parameters"));
            // orbax does not record the types of the arrays.
            if bytes > 0 || parameters == 0 {
                counts += &format!(", {}", human(bytes));
            }
            if values > 0 {
                counts += &format!(", {}", counted(number(values), "other leaf", "other leaves"));
            }
            counts
        }
        None => format!(
            "{}, {}",
            counted(number(nodes), "node", "nodes"),
            counted(number(leaves), "leaf", "leaves"),
        ),
    };
    // `check --like` recognises this line.
    let counts = if is_many {
        let documents = number(treedef.root().num_children());
        format!("{counts}, {}", counted(documents, "document", "documents"))
    } else {
        counts
    };
    let dim = anstyle::Style::new().dimmed();
    let is_seen = std::io::stdout().is_terminal();
    let text = paint(&if is_seen { short_strings(&text) } else { text });
    let mut tied = String::new();
    for (alias, stored) in aliases.iter().take(LISTED) {
        let (alias, stored) = (alias.escape_debug(), stored.escape_debug());
        tied += &format!("{dim}# tied: {alias} is {stored}{dim:#}\n");
    }
    if let more @ 1.. = aliases.len().saturating_sub(LISTED) {
        tied += &format!("{dim}# tied: {more} more{dim:#}\n");
    }
    print(&format!("{dim}# {}: {counts}{dim:#}\n{text}\n{tied}", name.escape_debug()))
}

/// Bytes in a readable form: `13.5 GB`.
fn human(bytes: u64) -> String {
    #[allow(clippy::cast_precision_loss, reason = "for three digits")]
    let mut size = bytes as f64;
    for unit in ["B", "kB", "MB", "GB", "TB"] {
        if size < 999.95 || unit == "TB" {
            let digits = usize::from(unit != "B");
            return format!("{size:.digits$} {unit}");
        }
        size /= 1000.0;
    }
    format!("{} B", grouped(bytes))
}

type StructureText = treedef::Result<(TreeDef, Option<Totals>, String)>;

fn signature(
    tree: Tree<LeafKind>,
    fold: bool,
    depth: Option<usize>,
    width: usize,
) -> StructureText {
    let treedef = tree.treedef().clone();
    let text = match (depth, fold) {
        (None, false) => bare_scalars(&format!("{:#width$}", tree.with_shapes())),
        _ => outline(tree, fold, depth, width)?,
    };
    Ok((treedef, None, text))
}

fn structure(treedef: TreeDef, fold: bool, depth: Option<usize>, width: usize) -> StructureText {
    let text = match (depth, fold) {
        (Some(_), _) => {
            let leaves = vec!["*"; treedef.num_leaves()];
            outline(Tree::new(treedef.clone(), leaves)?, fold, depth, width)?
        }
        (None, true) => format!("{:#width$}", treedef.without_lengths()?),
        (None, false) => format!("{treedef:#width$}"),
    };
    Ok((treedef, None, text))
}

fn tensors(
    tree: Tree<TensorLeaf>,
    fold: bool,
    depth: Option<usize>,
    width: usize,
) -> StructureText {
    let treedef = tree.treedef().clone();
    let sum =
        |of: fn(&TensorLeaf) -> u64| tree.leaves().iter().map(of).fold(0, u64::saturating_add);
    let values = tree.leaves().iter().filter(|leaf| leaf.value.is_some()).count();
    let (parameters, bytes) = (sum(TensorLeaf::count), sum(|tensor| tensor.size));
    let totals = Totals { parameters, bytes, values };
    Ok((treedef, Some(totals), outline(tree, fold, depth, width)?))
}

/// The text of a tree down to a depth, without the lengths of sequences if they are folded.
fn outline<L: Display>(
    tree: Tree<L>,
    fold: bool,
    depth: Option<usize>,
    width: usize,
) -> treedef::Result<String> {
    let texts = tree.map(|leaf| leaf.to_string());
    let texts = match depth {
        Some(depth) => cut(texts, depth)?,
        None => texts,
    };
    if fold {
        return Ok(format!("{:#width$}", texts.without_lengths()?));
    }
    Ok(format!("{texts:#width$}"))
}

/// The tree with `…` in place of everything deeper than `depth` levels.
fn cut(tree: Tree<String>, depth: usize) -> treedef::Result<Tree<String>> {
    tree.edit(|path, node, _| {
        let children = node.num_children();
        let what = match node.kind() {
            NodeKind::Map | NodeKind::Struct => "{…}".to_owned(),
            _ => "[…]".to_owned(),
        };
        Ok(if path.keys().len() >= depth && children > 0 {
            Edit::Replace(Tree::leaf(what))
        } else {
            Edit::Keep
        })
    })
}

pub(super) fn summary(file: &OneFile, json: bool) -> Result<bool> {
    let input = input::open(&file.file, file.reading, Format::Json)?;
    let (name, format) = (input.name.clone(), input.format);
    // In a tree that was saved, the kinds of numbers are meaningful.
    let bare = |text: String| {
        let text = if format == Format::Tree { exact::printed(&text) } else { bare_numbers(&text) };
        if format.has_null() { with_null(&text) } else { text }
    };
    let mut documents = input.documents()?;
    let mut out = BufWriter::with_capacity(1 << 16, anstream::stdout().lock());
    let of_file = |error: treedef::Error| Failure::from(error).in_file(&name);
    if json {
        let mut json = serde_json::Serializer::pretty(&mut out);
        let mut all = json.serialize_seq(None)?;
        while let Some((place, tree)) = documents.next()? {
            for (block, leaves) in tree.blocks() {
                let array = leaves.first().and_then(Leaf::as_array);
                let kind = match array {
                    Some(array) => Some(array.dtype().to_string()),
                    None => leaves.first().map(|leaf| exact::kind(leaf).to_string()),
                };
                let shape = array.map_or_else(|| &block.shape[..], Array::shape);
                let tree = Tree::new(block.node.to_treedef(), leaves.to_vec());
                let tree =
                    tree.and_then(|it| with_halves(it, HalfFormat::Short)).map_err(of_file)?;
                let summary = bare(tree.summary().to_string());
                let object = serde_json::json!({"path": shown(&block.path), "kind": kind, "shape": shape, "summary": summary});
                all.serialize_element(&place.with(&name, object))?;
            }
        }
        all.end()?;
        out.write_all(b"\n")?;
    } else {
        let width = width();
        while let Some((_, tree)) = documents.next()? {
            let tree = with_halves(tree, HalfFormat::Short).map_err(of_file)?;
            let text = format!("{:#width$}", tree.summary());
            writeln!(out, "{}", paint(&bare(text)))?;
        }
    }
    out.flush()?;
    documents.warn();
    Ok(true)
}

pub(super) fn fingerprint(files: &[PathBuf], reading: ReadArgs, json: bool) -> Result<bool> {
    let mut all = Vec::new();
    for file in files {
        let input = input::open(file, reading, Format::Json)?;
        let name = input.name.clone();
        let treedef = match input.document()? {
            Document::Tree(tree) => tree.treedef().clone(),
            Document::Signature(tree) => tree.treedef().clone(),
            Document::Structure(treedef) => treedef,
            Document::Tensors(tree) => tree.treedef().clone(),
        };
        let fingerprint = treedef.fingerprint().map_err(|it| Failure::from(it).in_file(&name))?;
        all.push((name, fingerprint.to_string()));
    }
    if json {
        let object =
            |(file, fingerprint)| serde_json::json!({"file": file, "fingerprint": fingerprint});
        return print_json(&all.into_iter().map(object).collect::<Vec<_>>());
    }
    print(
        &all.iter()
            .map(|(name, hash)| format!("{hash}  {}\n", name.escape_debug()))
            .collect::<String>(),
    )
}
