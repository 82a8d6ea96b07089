//! The files that a schema refers to. Nothing is fetched from the network.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::{Retrieve, Uri};
use serde_json::Value;
use treedef::__private::OrBug;
use treedef::{Leaf, Tree, TreeSeed};

use crate::failure::{Failure, Result};
use crate::formats::json::{json_failure, json_tree};
use crate::numbers::exact;
use crate::numbers::long_numbers;
use crate::reading::input::read_beside;

/// The base of references in a schema without an identifier.
const NO_BASE: &str = "json-schema:///";

/// The places where the files may be, and the files found so far.
#[derive(Clone)]
pub(crate) struct References {
    /// Folders from the command line, and the folder of the schema.
    folders: Arc<[PathBuf]>,
    found: Arc<Mutex<SchemaFiles>>,
}

/// The documents that were read for a schema.
#[derive(Default)]
pub(crate) struct SchemaFiles {
    /// The files, with their numbers verbatim.
    pub(crate) schemas: BTreeMap<PathBuf, Tree<Leaf>>,
    pub(crate) failure: Option<Failure>,
    /// References to missing files.
    pub(crate) missing: BTreeSet<String>,
    /// The files of the folders from the command line, by their identifiers.
    by_id: Option<BTreeMap<String, PathBuf>>,
}

impl References {
    pub(crate) fn of(schema: &Path, given: &[PathBuf]) -> Self {
        let beside = schema.parent().filter(|folder| !folder.as_os_str().is_empty());
        let beside = beside.unwrap_or(Path::new(".")).to_owned();
        let folders = given.iter().cloned().chain([beside]).collect();
        References { folders, found: Arc::default() }
    }

    /// Takes out the result so far.
    pub(crate) fn found(&self) -> SchemaFiles {
        std::mem::take(&mut *self.found.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads a schema.
    pub(crate) fn read(&self, path: &Path) -> Result<Value> {
        let of_file = |error| json_failure(error).in_file(&path.display().to_string());
        let bytes = read_beside(path)?;
        let read = |bytes: &[u8]| json_tree(bytes, TreeSeed::default());
        let tree = long_numbers::of_json(&bytes, read).map_err(of_file)?;
        let mut schema = serde_json::to_value(tree.clone().map(nearest))?;
        escape(&mut schema);
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.schemas.insert(path.to_owned(), tree);
        Ok(schema)
    }

    /// The file that a reference names: by the end of its path, as long as possible, or by its identifier.
    fn file_of(&self, reference: &str) -> Option<PathBuf> {
        let names = reference.split_once("://").map_or(reference, |(_, rest)| rest);
        let names: Vec<String> = names.split(['?', '#']).next()?.split('/').map(decoded).collect();
        let is_name = |name: &String| {
            !name.contains(['/', '\\', ':', '\0']) && !matches!(name.as_str(), "" | "." | "..")
        };
        let first = names.iter().rposition(|name| !is_name(name)).map_or(0, |at| at + 1);
        for start in first..names.len() {
            let end: PathBuf = names.get(start..)?.iter().collect();
            let with_ending = end.with_file_name(format!("{}.json", names.last()?));
            let files = self.folders.iter().flat_map(|it| [it.join(&end), it.join(&with_ending)]);
            if let Some(file) = files.into_iter().find(|file| file.is_file()) {
                return Some(file);
            }
        }
        self.by_id(reference)
    }

    fn by_id(&self, reference: &str) -> Option<PathBuf> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let by_id = found.by_id.get_or_insert_with(|| {
            let (_, given) = self.folders.split_last().unwrap_or((&PathBuf::new(), &[]));
            let entries = given.iter().flat_map(fs::read_dir).flatten().flatten();
            let files = entries.map(|entry| entry.path()).filter(|path| path.is_file());
            files.filter_map(|path| Some((id_of(&path)?, path))).collect()
        });
        by_id.get(reference.trim_end_matches('#')).cloned()
    }
}

impl Retrieve for References {
    /// Until all references are known, a missing file counts as any schema.
    fn retrieve(
        &self,
        uri: &Uri<String>,
    ) -> std::result::Result<Value, Box<dyn Error + Send + Sync>> {
        let read = self.file_of(uri.as_str()).map(|path| self.read(&path));
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        match read {
            Some(Ok(schema)) => return Ok(schema),
            Some(Err(failure)) => drop(found.failure.get_or_insert(failure)),
            None => {
                let name = uri.as_str();
                found.missing.insert(decoded(name.strip_prefix(NO_BASE).unwrap_or(name)));
            }
        }
        Ok(Value::Bool(true))
    }
}

/// The leaf as a finite 64-bit number, which is zero only if the number is, for checks.
pub(crate) fn nearest(leaf: Leaf) -> Leaf {
    let is_text = exact::text_of(&leaf).is_some();
    match exact::within_64_bits(leaf) {
        Leaf::F64(number) if is_text && number.is_infinite() => f64::MAX.copysign(number).into(),
        Leaf::F64(number) if is_text && number == 0.0 => f64::from_bits(1).copysign(number).into(),
        leaf => leaf,
    }
}

/// The identifier of the schema in a file.
fn id_of(path: &Path) -> Option<String> {
    let tree = json_tree(&read_beside(path).ok()?, TreeSeed::default()).ok()?;
    let id = ["[\"$id\"]", "[\"id\"]"].into_iter().find_map(|id| {
        let id = tree.get(id).ok()?;
        id.as_str().map(str::to_owned)
    })?;
    Some(id.trim_end_matches('#').to_owned())
}

/// The text with percent escapes decoded.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let digits = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte =
            digits.filter(|_| first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { behind.get(2..).or_bug() } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Escapes invalid characters in the references and identifiers of a schema: generic types have names such
/// as `Inputs<alloc::string::String>`. The recursion is as deep as the limits of the tree allow.
fn escape(schema: &mut Value) {
    match schema {
        Value::Array(all) => all.iter_mut().for_each(escape),
        Value::Object(entries) => {
            for (key, value) in entries {
                match (key.as_str(), value) {
                    (
                        "$ref" | "$dynamicRef" | "$recursiveRef" | "$id" | "id",
                        Value::String(reference),
                    ) => *reference = escaped(reference),
                    ("const" | "enum" | "default" | "examples", _) => {}
                    (
                        "properties" | "patternProperties" | "$defs" | "definitions"
                        | "dependentSchemas" | "dependencies",
                        Value::Object(schemas),
                    ) => schemas.values_mut().for_each(escape),
                    (_, value) => escape(value),
                }
            }
        }
        _ => {}
    }
}

fn escaped(reference: &str) -> String {
    let (before, fragment) = match reference.split_once('#') {
        Some((before, fragment)) => (before, Some(fragment)),
        None => (reference, None),
    };
    let mut all = part_escaped(before, b"-._~:/?@!$&'()*+,;=[]");
    if let Some(fragment) = fragment {
        all.push('#');
        all += &part_escaped(fragment, b"-._~:/?@!$&'()*+,;=");
    }
    all
}

fn part_escaped(text: &str, kept: &[u8]) -> String {
    let bytes = text.as_bytes();
    let is_escape = |at: usize| {
        let digits = bytes.get(at + 1..at + 3);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    let escaped = bytes.iter().enumerate().map(|(at, byte)| match byte {
        b'%' if is_escape(at) => "%".to_owned(),
        byte if byte.is_ascii_alphanumeric() || kept.contains(byte) => {
            char::from(*byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    });
    escaped.collect()
}
