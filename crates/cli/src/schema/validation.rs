//! Documents against a JSON Schema.

use std::cell::Cell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use jsonschema::Validator;
use treedef::__private::Decimal;
use treedef::{Edit, Key, Leaf, NodeKind, NodeRef, Path as TreePath, Tree};

use crate::color::listed;
use crate::failure::{Failure, Result};
use crate::formats::json_limits::{UnsupportedValue, in_json};
use crate::formats::keys::{json_text, value_of};
use crate::numbers::exact;
use crate::paths::readable;
use crate::schema::references::{References, nearest};

/// The keywords for which the nearest number may give a wrong answer.
const OF_DIGITS: [&str; 2] = ["multipleOf", "uniqueItems"];
/// The maximum number of paths of long numbers in a warning.
const LISTED: usize = 4;

/// A schema, ready to check documents.
pub(crate) struct Schema {
    validator: Validator,
    /// The numbers with which documents may be compared.
    numbers: Vec<f64>,
    /// Whether it has a keyword for which all digits of a number matter.
    is_of_digits: bool,
    has_told: Cell<bool>,
}

impl Schema {
    /// Reads a schema. Its references must be in it, or in a file beside it or in one of these folders:
    /// nothing is fetched from the network.
    pub(crate) fn read(path: &Path, folders: &[PathBuf], strict: bool) -> Result<Self> {
        let name = path.display().to_string();
        let references = References::of(path, folders);
        let schema = references.read(path)?;
        let built = jsonschema::options().with_retriever(references.clone()).build(&schema);
        let found = references.found();
        if let Some(failure) = found.failure {
            return Err(failure);
        }
        let draft = schema.get("$schema").and_then(|draft| draft.as_str()).unwrap_or_default();
        if found.missing.contains(draft.trim_end_matches('#')) {
            return Err(Failure::at(&name, other_draft(draft)));
        }
        if !found.missing.is_empty() {
            let missing: Vec<_> = found.missing.iter().map(|it| format!("`{it}`")).collect();
            let what = format!(
                "it refers to {}, which is neither next to it nor in a `--schema-dir` (nothing is downloaded)",
                listed(&missing, LISTED)
            );
            return Err(Failure::at(&name, what));
        }
        let validator =
            built.map_err(|error| Failure::at(&name, message_of(&error.to_string())))?;
        let (mut numbers, mut is_of_digits) = (Vec::new(), false);
        for (path, tree) in &found.schemas {
            let (name, long) = (path.display().to_string(), long_in(tree, |_| true));
            if !long.is_empty() {
                warn_of_numbers(&name, &long, strict).map_err(|failure| failure.in_file(&name))?;
            }
            is_of_digits |= tree.treedef().nodes().any(|(_, node)| {
                let mut keys = node.entry_keys().iter().filter_map(|key| key.as_str());
                keys.any(|key| OF_DIGITS.contains(&key))
            });
            numbers.extend(tree.leaves().iter().filter_map(|leaf| float(&nearest(leaf.clone()))));
        }
        Ok(Schema { validator, numbers, is_of_digits, has_told: Cell::new(false) })
    }

    /// Warns about numbers that are rounded for the comparison with the schema, if that may matter, for the
    /// first document that has such numbers.
    pub(crate) fn tell_rounding(
        &self,
        document: &Tree<Leaf>,
        name: &str,
        strict: bool,
    ) -> Result<()> {
        let long = long_in(document, |leaf| {
            let near = float(&nearest(leaf.clone())).unwrap_or(f64::NAN);
            let is_other = near.fract() == 0.0 && !is_integer(leaf);
            self.is_of_digits || is_other || self.numbers.contains(&near)
        });
        if long.is_empty() || self.has_told.replace(true) {
            return Ok(());
        }
        warn_of_numbers(name, &long, strict)
    }

    /// The violations of a document, with their places. At most `most`.
    pub(crate) fn violations(
        &self,
        document: &Tree<Leaf>,
        most: usize,
    ) -> Result<Vec<(TreePath, String)>> {
        let unheld = in_json(document, most);
        let described =
            |it: &UnsupportedValue| (it.path.clone(), format!("JSON cannot hold it: {}", it.what));
        let mut found: Vec<_> = unheld.iter().map(described).collect();
        // Of two keys that are one in JSON, each is checked once.
        let without = |keys: HashSet<TreePath>| {
            document
                .clone()
                .edit(|path, _, _| Ok(if keys.contains(path) { Edit::Remove } else { Edit::Keep }))
        };
        let of_keys = || unheld.iter().filter(|it| it.is_key);
        let mut all = vec![of_keys().map(|it| it.path.clone()).collect()];
        if of_keys().any(|it| it.same.is_some()) {
            let other = |it: &UnsupportedValue| it.same.clone().unwrap_or_else(|| it.path.clone());
            all.push(of_keys().map(other).collect::<HashSet<_>>());
        }
        let numbers = unheld.iter().filter(|it| !it.is_key);
        let is_told: HashSet<TreePath> = numbers.map(|it| it.path.clone()).collect();
        let mut known = HashSet::new();
        for keys in all {
            let tree = if keys.is_empty() { document.clone() } else { without(keys)? };
            let value = serde_json::to_value(tree.clone().map(nearest))?;
            for error in self.validator.iter_errors(&value) {
                if found.len() >= most {
                    break;
                }
                let path = path_of(error.instance_path().as_str(), tree.treedef().root());
                let new = (path, error.to_string());
                if !is_told.contains(&new.0) && !known.contains(&new) {
                    found.push(new);
                }
            }
            known.extend(found.iter().cloned());
        }
        found.truncate(most);
        Ok(found)
    }
}

/// A number as a float.
#[allow(clippy::cast_precision_loss, reason = "so the validator compares integers with floats")]
fn float(leaf: &Leaf) -> Option<f64> {
    leaf.as_f64().or_else(|| leaf.as_i128().map(|integer| integer as f64))
}

/// Whether a number has no fraction.
fn is_integer(leaf: &Leaf) -> bool {
    let digits = |it: &Decimal| i64::try_from(it.digits.len()).unwrap_or(i64::MAX);
    let decimal = exact::text_of(leaf).and_then(|text| Decimal::of(&text));
    decimal.map_or(leaf.as_i128().is_some() || matches!(leaf, Leaf::U128(_)), |decimal| {
        decimal.exponent >= digits(&decimal) - 1
    })
}

/// Whether a number does not fit into 64 bits.
fn is_long(leaf: &Leaf) -> bool {
    exact::text_of(leaf).is_some() || exact::within_64_bits(leaf.clone()) != *leaf
}

/// The paths of numbers that do not fit into 64 bits.
fn long_in(tree: &Tree<Leaf>, is_told: impl Fn(&Leaf) -> bool) -> Vec<String> {
    let long = tree.treedef().leaf_paths().zip(tree.leaves());
    let long = long.filter(|(_, leaf)| is_long(leaf) && is_told(leaf));
    long.map(|(path, _)| format!("`{}`", readable(&path))).collect()
}

/// Warns that the validator has only 64-bit numbers. It is an error if `strict`.
fn warn_of_numbers(name: &str, long: &[String], strict: bool) -> Result<()> {
    let failure = Failure::new(format!(
        "{}: more digits than 64 bits hold, so the nearest number is compared, and the answer may be wrong",
        listed(long, LISTED)
    ));
    if strict {
        return Err(failure);
    }
    message!("treedef: {}", failure.in_file(name));
    Ok(())
}

fn other_draft(draft: &str) -> String {
    format!("its `$schema` is `{draft}`, expected a draft from 4 to 2020-12")
}

/// The reason why a schema cannot be used, without the features of the library that reads it.
fn message_of(error: &str) -> String {
    let between = |start, end| Some(error.strip_prefix(start)?.split_once(end)?.0);
    match between("Unknown meta-schema: '", "'.") {
        Some(draft) => other_draft(draft),
        None => format!("not a JSON Schema: {error}"),
    }
}

/// The path that a JSON pointer names in a document.
fn path_of(pointer: &str, root: NodeRef<'_>) -> TreePath {
    let (mut path, mut at) = (TreePath::root(), Some(root));
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        let text = Key::Entry(Leaf::from(part.as_str()).into());
        let is_named = |node: &NodeRef<'_>| value_of(&node.key(0)?).map(|_| ());
        let (key, below) = match (at.map(inside), part.parse()) {
            (Some(node), Ok(index)) if is_named(&node).is_none() => {
                (Key::Index(index), node.child(index))
            }
            (Some(node), _) => match position(node, &text, &part) {
                Some(position) => (node.key(position).unwrap_or(text), node.child(position)),
                None => (text, None),
            },
            (None, _) => (text, None),
        };
        path.push(key);
        at = below;
    }
    path
}

/// The inside of a `Some` or a newtype, which JSON does not have.
fn inside(mut node: NodeRef<'_>) -> NodeRef<'_> {
    while let (NodeKind::Some | NodeKind::NewtypeStruct, Some(child)) = (node.kind(), node.child(0))
    {
        node = child;
    }
    node
}

/// The child whose key JSON writes as this text.
fn position(node: NodeRef<'_>, key: &Key, text: &str) -> Option<usize> {
    let is_equal = |at: &usize| {
        let value = node.key(*at).and_then(|key| value_of(&key));
        value.and_then(|value| json_text(&value)).as_deref() == Some(text)
    };
    node.position(key).or_else(|| (0..node.num_children()).find(is_equal))
}
