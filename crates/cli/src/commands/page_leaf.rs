//! The leaves of the page that `view` makes.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use treedef::{Array, Leaf, LeafKind, Tree};
use treedef_tensors::{__is_of_structure, __leaf_names};

use crate::args::Limits;
use crate::comparing::common_form::{self, with_plain_leaves};
use crate::comparing::tensor_file::TensorFile;
use crate::failure::Result;
use crate::format::Format;
use crate::formats::keys::with_keys_of;
use crate::numbers::exact;
use crate::reading::input::Input;
use crate::reading::parse::Document;
use crate::tensors::trees::{DocumentLeaf, HalfFormat, with_halves};

/// A leaf of a page.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PageLeaf {
    Value(Leaf),
    /// A kind, or the type and the shape of a tensor that is empty or not read, with the hash of its bytes.
    Type(String, Option<String>),
}

impl fmt::Display for PageLeaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PageLeaf::Value(leaf) => leaf.fmt(f),
            PageLeaf::Type(text, _) => f.write_str(text),
        }
    }
}

impl DocumentLeaf for PageLeaf {
    fn as_array(&self) -> Option<&Array> {
        self.value().and_then(Leaf::as_array)
    }

    fn summary(tree: &Tree<Self>) -> String {
        match values(tree) {
            Some(values) => Leaf::summary(&values),
            None => tree.as_ref().map(PageLeaf::type_text).to_string(),
        }
    }
}

impl PageLeaf {
    pub(super) fn value(&self) -> Option<&Leaf> {
        match self {
            PageLeaf::Value(leaf) => Some(leaf),
            PageLeaf::Type(..) => None,
        }
    }

    pub(super) fn kind(&self) -> Option<LeafKind> {
        self.value().map(exact::kind)
    }

    /// `f32[4, 5]`, `u64`
    pub(super) fn type_text(&self) -> String {
        match self {
            PageLeaf::Value(leaf) => {
                leaf.as_array().map_or_else(|| exact::kind(leaf).to_string(), ToString::to_string)
            }
            PageLeaf::Type(text, _) => text.clone(),
        }
    }
}

/// The leaves of a file. `None` if it has none. Fills in the metadata that are not part of a structure.
pub(super) fn read(
    input: Input,
    metadata: &mut BTreeMap<String, String>,
) -> Result<Option<Tree<PageLeaf>>> {
    if matches!(input.format, Format::Safetensors | Format::Npz | Format::Npy) {
        let stored = TensorFile::open(input)?;
        metadata.clone_from(&stored.metadata);
        // A file from the library has another structure than the names.
        if let Some(tree) = stored.structured()? {
            let parts: HashSet<String> = __leaf_names(tree.treedef()).collect();
            metadata.retain(|key, _| !parts.contains(key) && !__is_of_structure(key));
            return Ok(Some(tree.map(PageLeaf::Value)));
        }
        return stored
            .with_leaves(|slot, leaf| match leaf {
                Some(leaf) => Ok(PageLeaf::Value(leaf)),
                None => Ok(PageLeaf::Type(slot.leaf.to_string(), Some(stored.sha256(slot)?))),
            })
            .map(Some);
    }
    Ok(match input.values()? {
        Document::Tree(tree) => Some(tree.map(PageLeaf::Value)),
        Document::Tensors(tree) => {
            Some(tree.map(|tensor| PageLeaf::Type(tensor.to_string(), None)))
        }
        Document::Signature(tree) => Some(tree.map(|kind| PageLeaf::Type(kind.to_string(), None))),
        Document::Structure(_) => None,
    })
}

/// The tree as it is shown, with short half floats.
pub(super) fn shown(tree: Tree<PageLeaf>) -> Result<Tree<PageLeaf>> {
    match values(&tree) {
        Some(values) => Ok(with_halves(values, HalfFormat::Short)?.map(PageLeaf::Value)),
        None => Ok(tree),
    }
}

/// Two trees as `diff` compares them, if all leaves are values.
pub(super) fn in_one_form(
    [old, new]: [Tree<PageLeaf>; 2],
    formats: [Format; 2],
    limits: Limits,
) -> Result<[Tree<PageLeaf>; 2]> {
    let (Some(before), Some(after)) = (values(&old), values(&new)) else {
        let new = with_keys_of(&old, new, formats.into_iter().any(Format::has_text_keys))?;
        return Ok([old, new]);
    };
    let trees = common_form::in_one_form([before, after], formats, limits)?;
    let is_one = formats[0] == formats[1];
    let plain = |tree| if is_one { tree } else { with_plain_leaves(tree) };
    Ok(trees.map(|tree| plain(tree).map(|leaf| PageLeaf::Value(exact::by_value(leaf)))))
}

/// The tree of the values, if all leaves are some.
fn values(tree: &Tree<PageLeaf>) -> Option<Tree<Leaf>> {
    let values = tree.leaves().iter().map(|leaf| leaf.value().cloned()).collect::<Option<_>>()?;
    Tree::new(tree.treedef().clone(), values).ok()
}
