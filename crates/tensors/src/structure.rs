//! The structure of a tree, in the metadata of its tensors.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::{self, Write};

use treedef::{Limits, NodeKind, TreeDef};

use crate::error::{Error, ErrorKind, Result};
use crate::literal::{self, EMPTY};
use crate::names::push_parts;

/// The key of the metadata that has the structure.
pub const STRUCTURE: &str = "treedef";
/// The key of the metadata that has the leaves of arrays that are in no tensor.
pub(crate) const BESIDE_ARRAYS: &str = "treedef.arrays";
/// The key of the metadata that has the paths of matrices that the tree stores by columns.
pub(crate) const MATRICES: &str = "treedef.matrices";
/// The key of the metadata that has the patterns of `Export::rename`, because the structure has the
/// names before renaming.
pub(crate) const RENAMES: &str = "treedef.renames";
/// The key of the metadata of a part that was selected: the structure has more than its tensors.
pub(crate) const PART: &str = "treedef.part";
/// The key of the metadata that marks all texts that can be values as values, where there is no structure.
pub(crate) const VALUES: &str = "treedef.values";
/// The maximum number of bytes of patterns that are matched with each name.
const MAX_RENAMES: usize = 1 << 16;
/// The maximum depth of a structure that is read without more stack.
const MAX_DEPTH: usize = 200;
/// The maximum length of the text of a structure.
const MAX_TEXT: usize = 1 << 26;

/// A text that is not too long for a file.
struct BoundedText(String);

impl Write for BoundedText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.push_str(text);
        if self.0.len() > MAX_TEXT { Err(fmt::Error) } else { Ok(()) }
    }
}

pub(crate) fn write_structure(
    treedef: &TreeDef,
    metadata: &mut Vec<(String, String)>,
) -> Result<()> {
    let mut text = BoundedText(String::new());
    if write!(text, "{treedef}").is_err() {
        let what = "the text of the structure is longer than 2²⁶ bytes";
        return Err(ErrorKind::limit("bytes of the structure", what).into());
    }
    metadata.push((STRUCTURE.to_owned(), text.0));
    Ok(())
}

/// Writes the other leaves of arrays: a map of JSON from paths to literals.
pub(crate) fn write_other_leaves(
    other_leaves: Vec<(String, Vec<String>)>,
    metadata: &mut Vec<(String, String)>,
) -> Result<()> {
    if !other_leaves.is_empty() {
        let all: BTreeMap<_, _> = other_leaves.into_iter().collect();
        let text = serde_json::to_string(&all).map_err(|error| {
            ErrorKind::Malformed(format!("the leaves other_leaves arrays have no JSON: {error}"))
        })?;
        metadata.push((BESIDE_ARRAYS.to_owned(), text));
    }
    Ok(())
}

/// Marks the texts as values, where no structure tells which are.
pub(crate) fn mark_values(metadata: &mut Vec<(String, String)>) {
    if !metadata.is_empty() && metadata.iter().all(|(key, _)| key != VALUES) {
        metadata.push((VALUES.to_owned(), "true".to_owned()));
    }
}

/// Writes how the names of the tensors are made from the names in the structure.
pub(crate) fn write_renames(
    renames: &[(String, String)],
    metadata: &mut Vec<(String, String)>,
) -> Result<()> {
    if !renames.is_empty() {
        let text = serde_json::to_string(renames).map_err(|error| {
            ErrorKind::Malformed(format!("the patterns of names have no JSON: {error}"))
        })?;
        expect_few_renames(&text)?;
        metadata.push((RENAMES.to_owned(), text));
    }
    Ok(())
}

pub(crate) fn read_renames(text: Option<&str>) -> Result<Vec<(String, String)>> {
    let Some(text) = text else { return Ok(Vec::new()) };
    expect_few_renames(text)?;
    serde_json::from_str(text).map_err(|error| {
        let what = format!("the metadata `{RENAMES}` is not a list of pairs of texts: {error}");
        ErrorKind::Structure(what).into()
    })
}

fn expect_few_renames(text: &str) -> Result<()> {
    if text.len() <= MAX_RENAMES {
        return Ok(());
    }
    let what = format!("the patterns of names have {} bytes, the limit is 2¹⁶", text.len());
    Err(ErrorKind::limit("bytes of patterns", what).into())
}

pub(crate) fn read_other_leaves(text: Option<&str>) -> Result<HashMap<String, Vec<String>>> {
    let Some(text) = text else { return Ok(HashMap::new()) };
    serde_json::from_str(text).map_err(|error| {
        let what =
            format!("the metadata `{BESIDE_ARRAYS}` is not a map of lists of texts: {error}");
        ErrorKind::Structure(what).into()
    })
}

pub(crate) fn read_matrices(text: Option<&str>) -> Result<HashSet<String>> {
    let Some(text) = text else { return Ok(HashSet::new()) };
    serde_json::from_str(text).map_err(|error| {
        let what = format!("the metadata `{MATRICES}` is not a list of texts: {error}");
        ErrorKind::Structure(what).into()
    })
}

pub(crate) fn parse_structure(text: Option<&str>) -> Result<TreeDef> {
    let text = text.ok_or_else(|| {
        let what = "the metadata has no `treedef` (see `Loader`, which needs none)".to_owned();
        Error::from(ErrorKind::Structure(what))
    })?;
    Ok(TreeDef::parse_with(text, Limits { max_depth: MAX_DEPTH, ..Limits::default() })?)
}

/// The structure of the saved value, if the metadata has it.
pub(crate) fn structure_of(text: Option<&str>, has_tensors: bool) -> Option<TreeDef> {
    let text = text?;
    // A file of flax can have a value of this name.
    let is_value = literal::is_value(text) && (text != EMPTY || has_tensors);
    parse_structure(Some(text)).ok().filter(|_| !is_value)
}

/// Selects the texts of the metadata that are parts of the value. The others describe the whole
/// file.
pub(crate) enum ValueTexts {
    /// All texts that can be, in a file of flax or of [`Export`](crate::Export) without a structure.
    Values,
    /// The texts below these children of the root: names, and indices up to a length.
    Below(HashSet<String>, usize),
}

impl ValueTexts {
    pub(crate) fn of(structure: Option<&TreeDef>, are_values: bool) -> Self {
        let Some(treedef) = structure else {
            return if are_values {
                ValueTexts::Values
            } else {
                ValueTexts::Below(HashSet::new(), 0)
            };
        };
        let mut root = treedef.root();
        // These are not part of a name.
        while matches!(root.kind(), NodeKind::Some | NodeKind::NewtypeStruct)
            && let Some(inside) = root.child(0)
        {
            root = inside;
        }
        if matches!(root.kind(), NodeKind::Seq | NodeKind::Tuple | NodeKind::TupleStruct) {
            return ValueTexts::Below(HashSet::new(), root.num_children());
        }
        let keys = (0..root.num_children()).flat_map(|position| {
            let key = root.key(position);
            debug_assert!(key.is_some(), "a child has no key");
            key
        });
        let names = keys.filter_map(|key| {
            let mut parts = Vec::new();
            push_parts(root.kind(), &key, &mut parts);
            parts.into_iter().next()
        });
        ValueTexts::Below(names.collect(), 0)
    }

    /// Whether a text is a part of the value, by the first part of its key.
    pub(crate) fn contains(&self, first: &str, text: &str) -> bool {
        match self {
            ValueTexts::Values => literal::is_value(text),
            ValueTexts::Below(names, indices) => {
                names.contains(first) || first.parse().is_ok_and(|index: usize| index < *indices)
            }
        }
    }
}

/// Whether metadata with this key describes the whole file, in any format.
pub(crate) fn is_of_file(key: &str) -> bool {
    key == "format" || is_of_structure(key)
}

/// The error for a value with a text that is the name of a tensor.
pub(crate) fn would_be_tied(text: &str) -> Error {
    let what = format!("the value {text} is the name of a tensor, of which it would be a tie");
    ErrorKind::Unsupported(what).into()
}

/// Whether metadata with this key is about the structure. Formats without metadata leave it out.
pub fn is_of_structure(key: &str) -> bool {
    matches!(key, STRUCTURE | BESIDE_ARRAYS | MATRICES | RENAMES | PART | VALUES)
}
