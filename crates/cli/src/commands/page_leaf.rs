//! The leaves of the page that `view` makes.

use std::fmt;

use treedef::{Array, Leaf, LeafKind, Tree};

use crate::comparing::tensor_file::TensorFile;
use crate::failure::Result;
use crate::format::Format;
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
        let values = tree.leaves().iter().map(|leaf| leaf.value().cloned());
        let values = values.collect::<Option<Vec<_>>>();
        match values.and_then(|values| Tree::new(tree.treedef().clone(), values).ok()) {
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

/// The leaves of a file. `None` if it has none.
pub(super) fn read(input: Input) -> Result<Option<Tree<PageLeaf>>> {
    if matches!(input.format, Format::Safetensors | Format::Npz | Format::Npy) {
        let stored = TensorFile::open(input)?;
        // A file from the library has another structure than the names.
        if let Some(tree) = stored.structured()? {
            return Ok(Some(with_halves(tree, HalfFormat::Short)?.map(PageLeaf::Value)));
        }
        return stored
            .with_leaves(|slot, leaf| match leaf {
                Some(leaf) => Ok(PageLeaf::Value(leaf)),
                None => Ok(PageLeaf::Type(slot.leaf.to_string(), Some(stored.sha256(slot)?))),
            })
            .map(Some);
    }
    Ok(match input.values()? {
        Document::Tree(tree) => Some(with_halves(tree, HalfFormat::Short)?.map(PageLeaf::Value)),
        Document::Tensors(tree) => {
            Some(tree.map(|tensor| PageLeaf::Type(tensor.to_string(), None)))
        }
        Document::Signature(tree) => Some(tree.map(|kind| PageLeaf::Type(kind.to_string(), None))),
        Document::Structure(_) => None,
    })
}
