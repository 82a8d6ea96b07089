//! The tensors of a file. Each is read on demand.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;

use sha2::{Digest, Sha256};
use treedef::__private::OrBug;
use treedef::{Dtype, Flattener, Leaf, Tree, TreeDef};
use treedef_tensors::{__STRUCTURE, __element, __leaf_names, Tensor};

use crate::args::Limits;
use crate::color::counted;
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::reading::input::Input;
use crate::reading::progress::Progress;
use crate::tensors::checkpoint::{Checkpoint, expect_room};
use crate::tensors::names::{NameTree, display_name, of_tensor};
use crate::tensors::trees::{self, HalfFormat, TensorLeaf, more_than, with_halves};
use crate::tensors::values::PatchTree;

/// The number of bytes that are compared at once.
const PIECE: usize = 1 << 20;

/// A file of tensors.
pub(crate) struct TensorFile {
    pub(crate) name: String,
    pub(crate) format: Format,
    /// By the parts of their names.
    pub(crate) tree: Tree<TensorSlot>,
    pub(crate) metadata: BTreeMap<String, String>,
    checkpoint: Checkpoint,
    /// The reason why its numbers are not read, if so.
    no_numbers: Option<String>,
    limits: Limits,
    progress: Progress,
}

/// A tensor, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TensorSlot {
    pub(crate) leaf: TensorLeaf,
    pub(crate) name: String,
    /// Its number in the checkpoint.
    pub(crate) number: usize,
}

impl TensorSlot {
    /// The type, if the tensor has numbers.
    pub(crate) fn dtype(&self) -> Option<Dtype> {
        Dtype::ALL.iter().copied().find(|dtype| dtype.name() == self.leaf.dtype)
    }
}

impl TensorFile {
    /// Shows the progress of reading.
    pub(crate) fn with_progress(self, progress: &Progress) -> Self {
        TensorFile { progress: progress.clone(), ..self }
    }

    /// The same tensors at other paths.
    pub(crate) fn with_tree(self, tree: Tree<TensorSlot>) -> Self {
        TensorFile { tree, ..self }
    }

    /// The names of the stored tensors.
    /// The metadata, and the format that says what they are.
    pub(crate) fn metadata(&self) -> (Format, &BTreeMap<String, String>) {
        (self.format, &self.metadata)
    }

    pub(crate) fn names(&self) -> HashSet<String> {
        self.tree.leaves().iter().map(|slot| slot.name.clone()).collect()
    }

    /// The same tensors, with tied ones at each of their names.
    pub(crate) fn with_aliases(self) -> Result<Self> {
        let aliases = self.checkpoint.aliases();
        self.with_tied(aliases)
    }

    /// The same tensors. A tied tensor is also at its other names, if another file has these.
    pub(crate) fn with_aliases_in(self, names: &HashSet<String>) -> Result<Self> {
        let mut aliases = self.checkpoint.aliases();
        aliases.retain(|alias, _| names.contains(alias));
        self.with_tied(aliases)
    }

    fn with_tied(self, aliases: BTreeMap<String, String>) -> Result<Self> {
        if let Checkpoint::Pytorch(_) = self.checkpoint {
            return Ok(self); // all names are in its tree
        }
        if aliases.is_empty() {
            return Ok(self);
        }
        let slots = || self.tree.leaves().iter().map(|slot| (slot.name.clone(), slot.clone()));
        let stored: HashMap<String, TensorSlot> = slots().collect();
        let tied = aliases.into_iter().filter_map(|(name, of)| {
            Some((name.clone(), TensorSlot { name, ..stored.get(&of)?.clone() }))
        });
        let tree = NameTree::of(slots().chain(tied)).into_tree()?;
        Ok(self.with_tree(tree))
    }

    /// The same tensors by the parts of their names, as in other formats, without values that are
    /// not tensors.
    pub(crate) fn by_names(self) -> Result<Self> {
        let slots = self.tree.leaves().iter().filter(|slot| slot.leaf.value.is_none());
        if let left @ 1.. = self.tree.leaves().len() - slots.clone().count() {
            let values = counted(u64::try_from(left).unwrap_or(u64::MAX), "value", "values");
            let message =
                format!("{values} beside the tensors, which the other file has no place for");
            message!("treedef: {}", Failure::at(&self.name, message));
        }
        let tree = NameTree::of(slots.map(|slot| (slot.name.clone(), slot.clone()))).into_tree()?;
        Ok(self.with_tree(tree))
    }

    /// The number of bytes of all tensors.
    pub(crate) fn num_bytes(&self) -> u64 {
        self.tree.leaves().iter().map(|slot| slot.leaf.size).fold(0, u64::saturating_add)
    }

    /// Opens a file of tensors. Of safetensors, only the header is read, unless the file is
    /// compressed or a pipe.
    pub(crate) fn open(input: Input) -> Result<Self> {
        let (name, format, limits) = (input.name.clone(), input.format, input.limits);
        let progress = Progress::new(0);
        let checkpoint = match input.checkpoint {
            Some(checkpoint) => checkpoint,
            None => input.with_bytes(|bytes, format, limits| {
                let source = trees::source(bytes, format, limits)?.into_owned()?;
                Ok(Checkpoint::Safetensors(source))
            })?,
        };
        let tree =
            checkpoint.tensors()?.map(|(leaf, name, number)| TensorSlot { leaf, name, number });
        let metadata = checkpoint.metadata()?;
        let no_numbers = checkpoint.expect_numbers().err();
        let no_numbers = no_numbers.map(|failure| failure.in_file(&name).to_string());
        Ok(TensorFile { name, format, tree, metadata, checkpoint, no_numbers, limits, progress })
    }

    /// Checks that the numbers of all tensors can be read; otherwise none could be equal.
    pub(crate) fn expect_numbers(&self) -> Result<()> {
        self.no_numbers.as_ref().map_or(Ok(()), |why| Err(Failure::new(why)))
    }

    /// The tree in the structure of the metadata, if it is the structure of these tensors.
    pub(crate) fn structured(&self) -> Result<Option<Tree<Leaf>>> {
        if !self.has_structure() {
            return Ok(None);
        }
        let source = self.checkpoint.source(self.limits);
        let tree = source.and_then(|source| PatchTree::structured(&source, self.limits));
        Ok(tree.map_err(|failure| failure.in_file(&self.name))?.map(|it| it.tree))
    }

    /// The same tensors in the structure of the metadata, if it has these names. The structure also has
    /// plain values, which are statics.
    pub(crate) fn in_structure(self) -> Result<Self> {
        let text = self.metadata.get(__STRUCTURE).filter(|_| self.has_structure());
        let treedef = text.map(|text| TreeDef::parse_with(text, self.limits.of_trees()));
        let Some(Ok(treedef)) = treedef else { return Ok(self) };
        let named: HashMap<&str, &TensorSlot> =
            self.tree.leaves().iter().map(|slot| (slot.name.as_str(), slot)).collect();
        let slots = __leaf_names(&treedef).map(|name| named.get(name.as_str()).copied().cloned());
        match slots.collect::<Option<Vec<TensorSlot>>>() {
            Some(slots) if slots.len() == named.len() => {
                let visited = self.limits.expect_visits(&treedef, slots.len());
                visited.map_err(|failure| failure.in_file(&self.name))?;
                let tree = Tree::new(treedef, slots)?;
                Ok(self.with_tree(tree))
            }
            _ => Ok(self),
        }
    }

    /// All values as one tree, whose leaves have the types of all tensors.
    /// With `by_all_names`, tied tensors are at each of their names.
    pub(crate) fn by_name(&self, by_all_names: bool) -> Result<Tree<Leaf>> {
        self.read_by_name(by_all_names).map_err(|failure| failure.in_file(&self.name))
    }

    fn read_by_name(&self, by_all_names: bool) -> Result<Tree<Leaf>> {
        let source = || self.checkpoint.source(self.limits);
        match &self.checkpoint {
            Checkpoint::Safetensors(_) | Checkpoint::Pytorch(_) if by_all_names => {
                return Ok(PatchTree::by_name(&source()?.separate(), true, self.limits)?.tree);
            }
            Checkpoint::Safetensors(_) => {
                return Ok(PatchTree::by_name(&source()?, false, self.limits)?.tree);
            }
            Checkpoint::Pytorch(opened) => {
                expect_room(opened.file.num_bytes(), self.limits)?;
                return Ok(PatchTree::of_pytorch(&opened.file, self.limits)?.tree);
            }
            Checkpoint::Gguf(_) | Checkpoint::Orbax(_) => {}
        }
        let values = self.checkpoint.values(self.limits)?;
        values.ok_or_else(|| Failure::new("it has no values"))
    }

    /// Applies a function to the leaves of each tensor. Empty and unread tensors have none.
    pub(crate) fn with_leaves<T: Clone>(
        &self,
        make: impl Fn(&TensorSlot, Option<Leaf>) -> Result<T>,
    ) -> Result<Tree<T>> {
        expect_room(self.num_bytes(), self.limits).map_err(|it| it.in_file(&self.name))?;
        let trees = self.tree.as_ref().try_map(|slot| -> Result<_> {
            let is_empty = slot.leaf.size == 0 && slot.leaf.value.is_none();
            if is_empty || self.unread(slot).is_some() {
                return Ok(Tree::leaf(make(slot, None)?));
            }
            let tree = with_halves(self.read(slot)?, HalfFormat::Short)?;
            Ok(tree.try_map(|leaf| make(slot, Some(leaf)))?)
        })?;
        Ok(trees.compose()?)
    }

    /// The reason why a tensor has no values here, if so.
    pub(crate) fn unread(&self, slot: &TensorSlot) -> Option<String> {
        let (name, leaf) = (display_name(&slot.name), &slot.leaf);
        match self.checkpoint.stored(slot.number) {
            Some(stored) => {
                let why = stored.descriptor().unread()?;
                Some(format!("{name} is {leaf}, which is listed and compared, and not read: {why}"))
            }
            None if leaf.value.is_some() || slot.dtype().is_some() => None,
            None => {
                let dtype = &leaf.dtype;
                let why = "which is listed and compared, and has no numbers here";
                Some(format!("{name} is {dtype}, {why}"))
            }
        }
    }

    /// Whether no leaf of a patch can hold the type and the bytes of a tensor.
    pub(crate) fn is_in_no_patch(&self, slot: &TensorSlot) -> bool {
        let stored = self.checkpoint.stored(slot.number);
        slot.leaf.value.is_none()
            && stored.is_none_or(|stored| __element(stored.descriptor()).is_none())
    }

    /// Whether the metadata has another structure than the names.
    fn has_structure(&self) -> bool {
        let has_texts = matches!(self.checkpoint, Checkpoint::Safetensors(_));
        has_texts && self.metadata.contains_key(__STRUCTURE)
    }

    /// A tensor as a tree of one leaf.
    pub(crate) fn read(&self, slot: &TensorSlot) -> Result<Tree<Leaf>> {
        self.read_tensor(slot).map_err(|failure| failure.in_file(&self.name))
    }

    fn read_tensor(&self, slot: &TensorSlot) -> Result<Tree<Leaf>> {
        if let Some(value) = &slot.leaf.value {
            return Ok(Tree::leaf(value.clone()));
        }
        let most = self.limits.max_bytes();
        let size = usize::try_from(slot.leaf.size).ok().filter(|size| *size <= most);
        let size = size.ok_or_else(|| Failure::new(more_than(most)))?;
        if let Some(why) = self.unread(slot) {
            return Err(Failure::new(why));
        }
        let Some(dtype) = slot.dtype() else {
            let stored = self.checkpoint.stored(slot.number);
            let tree = stored.ok_or_else(|| Failure::new("no such tensor"))?.tree()?;
            self.progress.add(size);
            return Ok(tree);
        };
        let mut bytes = Vec::new();
        self.pieces(slot, |piece| {
            bytes.extend_from_slice(piece);
            Ok(true)
        })?;
        if bytes.len() != size {
            return Err(Failure::new("cut off, get the file again"));
        }
        let shape = slot.leaf.shape.iter().map(|size| usize::try_from(*size).ok());
        let shape: Option<Vec<usize>> = shape.collect();
        let shape = shape.ok_or_else(|| Failure::new("a dimension is too large for memory"))?;
        let tensor = Tensor::new(dtype, shape, bytes)?;
        let tree = Flattener::new().arrays(true).limits(self.limits.of_trees()).tree(&tensor);
        tree.map_err(|error| of_tensor(error, &slot.name))
    }

    /// The elements of the first dimension in a range, as a tree of one leaf.
    pub(crate) fn read_rows(&self, slot: &TensorSlot, rows: Range<u64>) -> Result<Tree<Leaf>> {
        let count = slot.leaf.shape.first().copied().or_bug();
        let row = slot.leaf.size.checked_div(count).or_bug();
        let (start, length) = (rows.start * row, (rows.end - rows.start) * row); // within the size
        let memory = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let mut bytes = vec![0; memory(length)];
        self.read_at(slot, start, &mut bytes)?;
        let dtype = slot.dtype().ok_or_else(|| Failure::new("it has no numbers here"))?;
        let inner = slot.leaf.shape.iter().skip(1).copied();
        let shape = [rows.end - rows.start].into_iter().chain(inner).map(memory).collect();
        let tensor = Tensor::new(dtype, shape, bytes)?;
        let tree = Flattener::new().arrays(true).limits(self.limits.of_trees()).tree(&tensor);
        tree.map_err(|error| {
            let failure = of_tensor(error, &slot.name);
            let message = format!("in the rows from {} on: {}", rows.start, failure.message());
            failure.with_message(message)
        })
    }

    /// Reads bytes of a tensor that is in a file.
    fn read_at(&self, slot: &TensorSlot, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.checkpoint.read_at(slot.number, offset, buffer)
    }

    /// Calls `each` with the bytes of a tensor, piece by piece, until it returns `false`.
    pub(crate) fn pieces(
        &self,
        slot: &TensorSlot,
        mut each: impl FnMut(&[u8]) -> Result<bool>,
    ) -> Result<()> {
        self.expect_numbers()?;
        let (mut at, all) = (0_u64, slot.leaf.size);
        let mut buffer = vec![0; usize::try_from(all).unwrap_or(PIECE).min(PIECE)];
        while at < all {
            let size = usize::try_from(all - at).unwrap_or(PIECE).min(PIECE);
            let piece = buffer.get_mut(..size).or_bug();
            self.read_at(slot, at, piece)?;
            at = at.saturating_add(u64::try_from(size).unwrap_or(u64::MAX));
            self.progress.add(size);
            if !each(piece)? {
                break;
            }
        }
        Ok(())
    }

    /// Whether two tensors have the same type, shape and bytes.
    pub(crate) fn is_same(
        &self,
        slot: &TensorSlot,
        other: (&TensorFile, &TensorSlot),
    ) -> Result<bool> {
        let (there, its_slot) = other;
        if slot.leaf != its_slot.leaf {
            return Ok(false);
        }
        let mut same = true;
        let mut at = 0_u64;
        self.pieces(slot, |piece| {
            // Files are read one after the other, in pieces of one size.
            let length = u64::try_from(piece.len()).unwrap_or(u64::MAX);
            same = there.has_at(its_slot, at, piece)?;
            at = at.saturating_add(length);
            Ok(same)
        })?;
        Ok(same)
    }

    /// Whether a tensor has these bytes from `at` on.
    fn has_at(&self, slot: &TensorSlot, at: u64, expected: &[u8]) -> Result<bool> {
        let mut found = vec![0; expected.len()];
        self.read_at(slot, at, &mut found)?;
        Ok(found == expected)
    }

    /// The SHA-256 of the bytes of a tensor, or of the text of another value.
    pub(crate) fn sha256(&self, slot: &TensorSlot) -> Result<String> {
        let mut hasher = Sha256::new();
        if let Some(value) = &slot.leaf.value {
            hasher.update(value.to_string());
        }
        self.pieces(slot, |piece| {
            hasher.update(piece);
            Ok(true)
        })?;
        Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// A number that is the same for equal tensors, and almost never for others.
    pub(crate) fn hash(&self, slot: &TensorSlot, keys: &RandomState) -> Result<u64> {
        let mut hasher = keys.build_hasher();
        self.pieces(slot, |piece| {
            hasher.write(piece);
            Ok(true)
        })?;
        Ok(hasher.finish())
    }
}
