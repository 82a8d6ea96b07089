//! Writing documents.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{Serialize, SerializeSeq, Serializer};
use serde_json::ser::{CompactFormatter, Formatter};
use treedef::{Key, Leaf, NodeKind, Path, Tree};

use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::formats::cbor_numbers::for_cbor;
use crate::formats::cbor_tags::wrong_tag_at;
use crate::formats::duplicate_keys;
use crate::formats::json_limits;
use crate::formats::json5;
use crate::formats::toml_dates::wrong_date_at;
use crate::numbers::exact;
use crate::numbers::long_numbers;
use crate::paths::readable;
use crate::tensors::files;
use crate::tensors::trees::{self, HalfFormat};

/// Writes a tree as a document.
///
/// # Errors
///
/// Returns an error when the format cannot hold the tree, e.g. TOML if the root is not a map.
pub fn write(tree: &Tree<Leaf>, format: Format) -> Result<Vec<u8>> {
    let refused = |error: &dyn std::fmt::Display| {
        let message = error.to_string();
        let first = message.lines().next().unwrap_or_default();
        Failure::new(format!("{} cannot hold it: {first}", format.name()))
    };
    let mut bytes = Vec::new();
    let is_short = |leaf: &Leaf| matches!(leaf, Leaf::F32(_) | Leaf::U16(_) | Leaf::Opaque(_));
    let has_short = format.is_text() && tree.leaves().iter().any(is_short);
    let doubles =
        has_short.then(|| trees::numbers(tree.clone(), HalfFormat::Double)).transpose()?;
    let tree = doubles.as_ref().unwrap_or(tree);
    let rounded = match format {
        Format::Json
        | Format::Json5
        | Format::Jsonl
        | Format::Yaml
        | Format::Toml
        | Format::Tree => None,
        Format::Ron => exact::has_texts(tree).then(|| exact::for_ron(tree.clone())),
        Format::Msgpack => Some(tree.clone().map(exact::within_64_bits)),
        Format::Cbor if exact::has_texts(tree) => Some(exact::all_rounded(for_cbor(tree)?)),
        _ => exact::has_texts(tree).then(|| exact::all_rounded(tree.clone())),
    };
    let tree = rounded.as_ref().unwrap_or(tree);
    if matches!(format, Format::Json | Format::Json5 | Format::Jsonl | Format::Toml)
        && let Some(it) = json_limits::keys(tree, format, 1).first()
    {
        return Err(refused(&format!("{}, at `{}`", it.what, readable(&it.path))));
    }
    let wrong = match format {
        Format::Toml => wrong_date_at(tree).map(|path| (path, "an invalid date")),
        Format::Cbor => wrong_tag_at(tree).map(|path| (path, "a tag without a number")),
        _ => None,
    };
    if let Some((path, what)) = wrong {
        return Err(refused(&format!("{what}, at `{}`", readable(&path))));
    }
    match format {
        Format::Json => {
            serde_json::to_writer_pretty(&mut bytes, tree).map_err(|error| refused(&error))?;
            bytes.push(b'\n');
        }
        Format::Json5 => {
            let text = long_numbers::to_json5(tree, json5::number_of, serde_json::to_string_pretty);
            bytes = (text.map_err(|error| refused(&error))? + "\n").into_bytes();
        }
        Format::Jsonl => {
            if !matches!(tree.treedef().root().kind(), NodeKind::Seq | NodeKind::Tuple) {
                return Err(refused(&"the root is not a sequence of documents"));
            }
            let mut lines =
                serde_json::Serializer::with_formatter(&mut bytes, LineFormatter::default());
            tree.serialize(&mut lines).map_err(|error| refused(&error))?;
        }
        Format::Toml => {
            if matches!(tree.treedef().root().kind(), NodeKind::Seq | NodeKind::Leaf) {
                return Err(refused(&"the root has to be a map"));
            }
            if let Some((path, key)) = duplicate_keys::first(tree) {
                return Err(refused(&duplicate_keys::message(&path, &key)));
            }
            let mut nodes = tree.treedef().nodes();
            if let Some((path, _)) = nodes.find(|(_, node)| node.kind() == NodeKind::Unit) {
                let path = readable(&path);
                let message = format!(
                    "it has no null, and there is one at `{path}`: remove it, or write yaml or json"
                );
                return Err(refused(&message));
            }
            let text = long_numbers::to_toml(tree, toml::to_string_pretty);
            bytes = text.map_err(|error| refused(&error))?.into_bytes();
        }
        Format::Yaml => {
            bytes = match (tree.treedef().root().kind(), tree.leaves()) {
                // The writer has the tag of bytes only below the root.
                (NodeKind::Leaf, [Leaf::Bytes(root)]) => {
                    format!("!!binary {}\n", STANDARD.encode(root)).into_bytes()
                }
                _ => {
                    let text = long_numbers::to_yaml(tree, serde_saphyr::to_string);
                    text.map_err(|error| refused(&error))?.into_bytes()
                }
            };
        }
        Format::Cbor => {
            ciborium::into_writer(tree, &mut bytes).map_err(|error| refused(&error))?;
        }
        Format::Msgpack => {
            rmp_serde::encode::write(&mut bytes, tree).map_err(|error| refused(&error))?;
        }
        Format::Ron => {
            let pretty = ron::ser::PrettyConfig::new();
            // The tree is not deeper than its limits allow.
            let options = ron::Options::default().without_recursion_limit();
            let text = options.to_string_pretty(tree, pretty).map_err(|error| refused(&error))?;
            bytes = (text + "\n").into_bytes();
        }
        Format::Tree => bytes = tree.to_bytes()?,
        Format::Treedef => bytes = tree.treedef().to_bytes()?,
        Format::Safetensors | Format::Npz | Format::Npy => bytes = files::write(tree, format)?,
        Format::Gguf | Format::Pytorch | Format::Orbax => {
            return Err(Failure::new(format!("{} is only read", format.name())));
        }
    }
    Ok(bytes)
}

/// Writes the elements of a sequence as documents of YAML.
pub(crate) fn write_yaml_documents(all: &Tree<Leaf>) -> Result<Vec<u8>> {
    let mut text = String::new();
    for index in 0..all.treedef().root().num_children() {
        let document = all.subtree(Path::root().child(Key::Index(index)))?;
        text += "---\n";
        text += &String::from_utf8_lossy(&write(&document, Format::Yaml)?);
    }
    Ok(text.into_bytes())
}

/// Writes documents as the elements of one sequence, in JSON or as lines. None is kept in memory.
pub(crate) fn write_documents(
    out: &mut dyn Write,
    as_lines: bool,
    next: impl FnMut() -> Result<Option<Tree<Leaf>>>,
) -> Result<()> {
    fn write<W: Write, F: Formatter>(
        json: &mut serde_json::Serializer<W, F>,
        mut next: impl FnMut() -> Result<Option<Tree<Leaf>>>,
    ) -> Result<()> {
        let mut all = json.serialize_seq(None)?;
        while let Some(tree) = next()? {
            all.serialize_element(&tree)?;
        }
        Ok(all.end()?)
    }

    if as_lines {
        let formatter = LineFormatter::default();
        return write(&mut serde_json::Serializer::with_formatter(out, formatter), next);
    }
    write(&mut serde_json::Serializer::pretty(&mut *out), next)?;
    Ok(out.write_all(b"\n")?)
}

/// Writes the elements of the outermost sequence as lines.
#[derive(Default)]
struct LineFormatter {
    depth: usize,
}

impl Formatter for LineFormatter {
    fn begin_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        if self.depth == 1 { Ok(()) } else { CompactFormatter.begin_array(out) }
    }

    fn end_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth -= 1;
        if self.depth == 0 { Ok(()) } else { CompactFormatter.end_array(out) }
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if self.depth == 1 { Ok(()) } else { CompactFormatter.begin_array_value(out, first) }
    }

    fn end_array_value<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        if self.depth == 1 { out.write_all(b"\n") } else { Ok(()) }
    }

    fn begin_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        CompactFormatter.begin_object(out)
    }

    fn end_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth -= 1;
        CompactFormatter.end_object(out)
    }
}
