//! The values of files of tensors as trees, and the parts that such a tree lacks.

use std::borrow::Borrow;
use std::collections::HashSet;

use treedef::{Edit, Flattener, Leaf, Path, Tree, TreeDef};
use treedef_tensors::pytorch::{Pytorch, PytorchLeaf};
use treedef_tensors::{__STRUCTURE, __is_of_structure, __leaf_names, Export, Source, StoredTensor};

use crate::args::Limits;
use crate::failure::{Failure, Result};
use crate::tensors::leaf::{leaf_of, tensor_of};
use crate::tensors::names::{NameTree, display_name, of_tensor};

/// The tree that was written, if the file has its structure, otherwise the tree of the names. Each
/// array is one leaf, and an unreadable value is a text with the reason.
pub(crate) fn tree(source: &Source<'_>, limits: Limits) -> Result<Tree<Leaf>> {
    match structured(source)? {
        Some((tree, _)) => Ok(tree),
        None => named(source.iter(), limits),
    }
}

/// The tree without unreadable values, and the parts of these tensors that it lacks.
pub(crate) fn tree_and_beside(
    source: &Source<'_>,
    limits: Limits,
) -> Result<(Tree<Leaf>, BesideTree)> {
    if let Some((tree, beside)) = structured(source)? {
        limits.expect_visits(tree.treedef(), tree.leaves().len())?;
        return Ok((tree, beside));
    }
    let read = || source.iter().filter(|it| it.descriptor().unread().is_none());
    let mut unread =
        source.iter().filter_map(|it| Some((it.descriptor(), it.descriptor().unread()?)));
    if let (None, Some((first, why))) = (read().next(), unread.next()) {
        let name = display_name(first.name());
        return Err(Failure::new(format!("nothing of it is read: {name}, {first}: {why}")));
    }
    let tree = named(read(), limits)?;
    Ok((tree, BesideTree::of(source, None)))
}

/// The tree that a patch is made from and applied to.
pub(crate) struct PatchTree {
    pub(crate) tree: Tree<Leaf>,
    /// The place of each tensor, with its name, unless the tree has the structure of the file.
    pub(crate) places: Option<Vec<(Path, String)>>,
    /// Whether there are values beside the tensors, as in files of PyTorch.
    pub(crate) has_values: bool,
}

impl PatchTree {
    /// The tree that was written, if the file has its structure.
    pub(crate) fn structured(source: &Source<'_>, limits: Limits) -> Result<Option<Self>> {
        let Some((tree, _)) = structured(source)? else { return Ok(None) };
        limits.expect_visits(tree.treedef(), tree.leaves().len())?;
        Ok(Some(PatchTree { tree, places: None, has_values: false }))
    }

    /// The tree of the names. Its leaves have the types of all tensors. If the other file has values, the
    /// leaves also show which numbers are tensors.
    pub(crate) fn by_name(source: &Source<'_>, has_values: bool, limits: Limits) -> Result<Self> {
        let named = source.iter().map(|stored| (stored.name().to_owned(), stored));
        PatchTree::of(NameTree::of(named).into_document()?.map(Ok), has_values, limits)
    }

    /// The tree of a file of PyTorch. Its leaves have the types of all tensors.
    pub(crate) fn of_pytorch(file: &Pytorch<'_>, limits: Limits) -> Result<Self> {
        let entries = file.lazy_tree();
        let of_entry = |entry| match entry {
            PytorchLeaf::Tensor(stored) => Ok(stored),
            PytorchLeaf::Value(value) => Err(value),
            _ => Err(Leaf::None),
        };
        PatchTree::of(entries.map(of_entry), true, limits)
    }

    fn of<'s>(
        parts: Tree<std::result::Result<impl Borrow<StoredTensor<'s>>, Leaf>>,
        has_values: bool,
        limits: Limits,
    ) -> Result<Self> {
        let mut places = Vec::new();
        for (path, part) in parts.treedef().leaf_paths().zip(parts.leaves()) {
            if let Ok(stored) = part {
                places.push((path, stored.borrow().name().to_owned()));
            }
        }
        let trees = parts.try_map(|part| match part {
            Err(value) => Ok(Tree::leaf(value)),
            Ok(stored) => match leaf_of(stored.borrow(), has_values)? {
                Some(leaf) => Ok(Tree::leaf(leaf)),
                None => values(stored.borrow(), limits),
            },
        });
        Ok(PatchTree { tree: trees?.compose()?, places: Some(places), has_values })
    }
}

/// The tree with the elements of tensors that are one leaf. An unreadable value is a text, or left out.
pub(crate) fn with_values(
    tree: Tree<Leaf>,
    tells_unread: bool,
    limits: Limits,
) -> Result<Tree<Leaf>> {
    let mut failed = None;
    let tree = tree.edit(|_, node, leaves| {
        let leaf = leaves.first().filter(|_| node.is_leaf());
        let tensor = leaf.map(|leaf| tensor_of("", &Tree::leaf(leaf.clone()))).transpose();
        let tensor = tensor.map(Option::flatten);
        Ok(match tensor {
            Ok(Some(it)) if it.descriptor().unread().is_some() && !tells_unread => Edit::Remove,
            Ok(Some(it)) => values(&it, limits).map_or_else(
                |failure| {
                    failed.get_or_insert(failure);
                    Edit::Keep
                },
                Edit::Replace,
            ),
            Ok(None) => Edit::Keep,
            Err(failure) => {
                failed.get_or_insert(failure);
                Edit::Keep
            }
        })
    })?;
    failed.map_or(Ok(tree), Err)
}

/// The tree that was written, if the file has its structure.
fn structured(source: &Source<'_>) -> Result<Option<(Tree<Leaf>, BesideTree)>> {
    if source.metadata(__STRUCTURE).is_none() {
        return Ok(None);
    }
    let Ok(tree) = Export::new().tree::<Leaf>(&source.widened().read()?) else { return Ok(None) };
    let tree = tree.with_arrays()?;
    let beside = BesideTree::of(source, Some(tree.treedef()));
    Ok(Some((tree, beside)))
}

/// The tree of the names.
fn named<'s>(
    tensors: impl Iterator<Item = &'s StoredTensor<'s>>,
    limits: Limits,
) -> Result<Tree<Leaf>> {
    let named = tensors.map(|stored| Ok((stored.name().to_owned(), values(stored, limits)?)));
    let named = named.collect::<Result<Vec<_>>>()?;
    Ok(NameTree::of(named).into_document()?.compose()?)
}

/// The elements of a tensor, or a text with the reason why they are not read.
fn values(stored: &StoredTensor<'_>, limits: Limits) -> Result<Tree<Leaf>> {
    let (descriptor, widened) = (stored.descriptor(), stored.widened());
    Ok(match descriptor.unread() {
        Some(why) => {
            Tree::leaf(format!("<{descriptor}, which is not read: {why}>").as_str().into())
        }
        None if widened.descriptor().dtype().is_some() => {
            let flattener = Flattener::new().arrays(true).limits(limits.of_trees());
            let tree = flattener.tree(&widened.read()?);
            tree.map_err(|error| of_tensor(error, stored.name()))?
        }
        None => stored.tree()?,
    })
}

/// The shapes that a tree lacks.
fn lost_shapes(source: &Source<'_>) -> impl Iterator<Item = String> {
    let empty = source
        .iter()
        .map(StoredTensor::descriptor)
        .filter(|it| it.unread().is_none() && it.shape().contains(&0) && it.shape() != [0]);
    empty.map(|it| format!("the shape of {}, {it}", display_name(it.name())))
}

pub(crate) fn lost_metadata<'k>(keys: impl Iterator<Item = &'k str>) -> Option<String> {
    let keys: Vec<String> = keys.map(|key| format!("`{key}`")).collect();
    (!keys.is_empty()).then(|| format!("the metadata {}", keys.join(", ")))
}

/// The parts that a tree of tensors lacks.
#[derive(Debug, Default)]
pub(crate) struct BesideTree {
    /// The metadata, except the structure.
    texts: Vec<MetadataText>,
    /// The shapes of empty tensors, and unread values.
    shapes: Vec<String>,
}

#[derive(Debug)]
struct MetadataText {
    key: String,
    text: String,
    /// Whether the key is an additional name of the tensor that the text names.
    is_tie: bool,
}

impl MetadataText {
    fn lost_tie(&self) -> String {
        format!("the tie of `{}` to `{}`", self.key, self.text)
    }
}

impl BesideTree {
    /// The data beside the tree of this structure, if it is the structure of the tensors.
    fn of(tensors: &Source<'_>, structure: Option<&TreeDef>) -> Self {
        let names: HashSet<&str> = tensors.iter().map(StoredTensor::name).collect();
        let in_tree: HashSet<String> = structure.into_iter().flat_map(__leaf_names).collect();
        let texts = tensors.metadata_keys().filter_map(|key| {
            let text = tensors.metadata(key)?.to_owned();
            let is_tie = key != "format" && names.contains(text.as_str());
            let is_in_tree = in_tree.contains(key) || structure.is_some() && __is_of_structure(key);
            (is_tie || !is_in_tree).then(|| MetadataText { key: key.to_owned(), text, is_tie })
        });
        let shapes = lost_shapes(tensors).filter(|_| structure.is_none());
        let unread = tensors.iter().map(StoredTensor::descriptor);
        let unread = unread
            .filter_map(|it| Some(format!("{}, {it}: {}", display_name(it.name()), it.unread()?)));
        BesideTree { texts: texts.collect(), shapes: unread.chain(shapes).collect() }
    }

    /// The losses in another format than safetensors.
    pub(crate) fn lost(&self) -> Vec<String> {
        let (ties, texts): (Vec<&MetadataText>, _) =
            self.texts.iter().partition(|text| text.is_tie);
        let metadata = lost_metadata(texts.into_iter().map(|text| text.key.as_str()));
        let ties = ties.into_iter().map(MetadataText::lost_tie);
        metadata.into_iter().chain(ties).chain(self.shapes.iter().cloned()).collect()
    }
}
