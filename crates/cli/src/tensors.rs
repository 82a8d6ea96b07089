//! Files of tensors as trees, and trees as files of tensors.

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::io::Write;

use half::{bf16, f16};
use serde::Serialize;
use treedef::{
    Array, Dtype, Edit, Flattener, Key, Leaf, LeafKind, NodeKind, NodeRef, Tree, TreeDef,
};
use treedef_exchange::npy::Reading;
use treedef_exchange::pytorch::Entry;
use treedef_exchange::{
    __STRUCTURE, __display_shape, __is_of_structure, __leaf_names, Descriptor, Error, ErrorKind,
    Export, Source, Stored, Tensors, npy, npz, pytorch, safetensors,
};

use crate::args::Limits;
use crate::exact;
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::names::Names;
use crate::paint::{bare_numbers, counted};
use crate::paths::text_of;

/// What numpy calls an array that was saved without a name.
const NO_NAME: &str = "arr_0";
/// The most paths that an error lists.
const LISTED: usize = 10;

/// The type and the shape of a tensor, `bf16[4096, 4096]`; or a value that stands beside tensors.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorLeaf {
    pub(crate) dtype: String,
    pub(crate) shape: Vec<u64>,
    /// The number of bytes.
    pub(crate) size: u64,
    /// What is no tensor. The type is its kind then.
    pub(crate) value: Option<Leaf>,
}

impl TensorLeaf {
    pub(crate) fn of(tensor: &Descriptor) -> Self {
        let number = |number: &usize| u64::try_from(*number).unwrap_or(u64::MAX);
        let (shape, size) = (tensor.shape().iter().map(number).collect(), tensor.num_bytes());
        let dtype = tensor.type_name().to_owned();
        TensorLeaf { dtype, shape, size: size.unwrap_or_default(), value: None }
    }

    /// The same, with the number of bytes that are there: pickled objects have any.
    pub(crate) fn of_stored(stored: &Stored<'_>) -> Self {
        TensorLeaf { size: stored.num_bytes(), ..TensorLeaf::of(stored.descriptor()) }
    }

    /// Whether both are tensors of one type and one shape.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        let are_tensors = self.value.is_none() && other.value.is_none();
        are_tensors && (&self.dtype, &self.shape) == (&other.dtype, &other.shape)
    }

    pub(crate) fn of_value(value: Leaf) -> Self {
        let dtype = value.kind().to_string();
        TensorLeaf { dtype, shape: Vec::new(), size: 0, value: Some(value) }
    }

    pub(crate) fn of_entry(entry: &Entry<'_>) -> Self {
        match entry {
            Entry::Tensor(stored) => TensorLeaf::of_stored(stored),
            Entry::Value(value) => TensorLeaf::of_value(value.clone()),
            _ => TensorLeaf::of_value(Leaf::None),
        }
    }

    /// The number of elements of a tensor.
    pub(crate) fn count(&self) -> u64 {
        if self.value.is_some() {
            return 0;
        }
        self.shape.iter().fold(1, |product, size| product.saturating_mul(*size))
    }
}

impl fmt::Display for TensorLeaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value {
            Some(_) => f.write_str(&self.dtype),
            None => f.write_str(&__display_shape(&self.dtype, &self.shape)),
        }
    }
}

/// Says that something is too large.
pub(crate) fn more_than(most: usize) -> String {
    let most = counted(u64::try_from(most).unwrap_or(u64::MAX), "byte", "bytes");
    format!("more than {most}, `--max-bytes` allows more")
}

/// The tensors of a file.
pub(crate) fn source(bytes: &[u8], format: Format, limits: Limits) -> Result<Source<'_>> {
    // A file of numpy has bfloat16 as two bytes of any kind, and hardly anything else has these.
    let reading = Reading::new().bf16(true).max_bytes(limits.max_bytes());
    Ok(match format {
        Format::Npz => npz::source_with(bytes, &reading)?,
        Format::Pytorch => pytorch::from_bytes(bytes)?.source()?,
        Format::Npy => npy::source_with(bytes, &reading)?,
        _ => safetensors::source(bytes)?,
    })
}

/// The types and shapes by name.
pub(crate) fn shapes(source: &Source<'_>) -> Result<Tree<TensorLeaf>> {
    let leaves = source.iter().map(|it| (it.name().to_owned(), TensorLeaf::of_stored(it)));
    Names::of(leaves).into_tree()
}

/// The tree that was written, if the file has its structure, or that of the names. Each array is
/// one leaf, and what is not read is a text that says why.
pub(crate) fn tree(source: &Source<'_>, limits: Limits) -> Result<Tree<Leaf>> {
    match structured(source)? {
        Some((tree, _)) => Ok(tree),
        None => named(source.iter(), limits),
    }
}

/// The tree without what is not read, and what it does not have of these tensors.
pub(crate) fn tree_and_beside(
    source: &Source<'_>,
    limits: Limits,
) -> Result<(Tree<Leaf>, BesideTree)> {
    if let Some(read) = structured(source)? {
        return Ok(read);
    }
    let read = source.iter().filter(|it| it.descriptor().unread().is_none());
    let tree = named(read, limits)?;
    Ok((tree, BesideTree::of(source, None)))
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
fn named<'s>(tensors: impl Iterator<Item = &'s Stored<'s>>, limits: Limits) -> Result<Tree<Leaf>> {
    let flattener = Flattener::new().arrays(true).limits(limits.of_trees());
    let named = tensors.map(|stored| {
        let (descriptor, widened) = (stored.descriptor(), stored.widened());
        let tree = match descriptor.unread() {
            Some(why) => {
                Tree::leaf(format!("<{descriptor}, which is not read: {why}>").as_str().into())
            }
            None if widened.descriptor().dtype().is_some() => flattener.tree(&widened.read()?)?,
            None => stored.tree()?,
        };
        Ok((stored.name().to_owned(), tree))
    });
    let named = named.collect::<Result<Vec<_>>>()?;
    Ok(Names::of(named).into_tree()?.compose()?)
}

/// The types of the elements.
pub(crate) fn types(source: &Source<'_>) -> BTreeSet<String> {
    source.iter().map(|stored| stored.descriptor().type_name().to_owned()).collect()
}

/// The shapes that a tree does not have.
fn lost_shapes(source: &Source<'_>) -> impl Iterator<Item = String> {
    let empty = source
        .iter()
        .map(Stored::descriptor)
        .filter(|it| it.unread().is_none() && it.shape().contains(&0) && it.shape() != [0]);
    empty.map(|it| format!("the shape of `{}`, {it}", it.name()))
}

fn lost_metadata<'k>(keys: impl Iterator<Item = &'k str>) -> Option<String> {
    let keys: Vec<String> = keys.map(|key| format!("`{key}`")).collect();
    (!keys.is_empty()).then(|| format!("the metadata {}", keys.join(", ")))
}

/// What a tree of tensors does not have.
#[derive(Debug, Default)]
pub(crate) struct BesideTree {
    /// The metadata, but for what is about the structure.
    texts: Vec<Text>,
    /// The shapes of empty tensors, and what is not read.
    shapes: Vec<String>,
}

#[derive(Debug)]
struct Text {
    key: String,
    text: String,
    /// Whether the key is one more name of the tensor that the text names.
    is_tie: bool,
}

impl Text {
    fn lost_tie(&self) -> String {
        format!("the tie of `{}` to `{}`", self.key, self.text)
    }
}

impl BesideTree {
    /// Beside the tree of this structure, if the tensors have one that was read.
    fn of(tensors: &Source<'_>, structure: Option<&TreeDef>) -> Self {
        let names: HashSet<&str> = tensors.iter().map(Stored::name).collect();
        let in_tree: HashSet<String> = structure.into_iter().flat_map(__leaf_names).collect();
        let texts = tensors.metadata_keys().filter_map(|key| {
            let text = tensors.metadata(key)?.to_owned();
            let is_tie = key != "format" && names.contains(text.as_str());
            let is_in_tree = in_tree.contains(key) || structure.is_some() && __is_of_structure(key);
            (is_tie || !is_in_tree).then(|| Text { key: key.to_owned(), text, is_tie })
        });
        let shapes = lost_shapes(tensors).filter(|_| structure.is_none());
        let unread = tensors.iter().map(Stored::descriptor);
        let unread =
            unread.filter_map(|it| Some(format!("`{}`, {it}: {}", it.name(), it.unread()?)));
        BesideTree { texts: texts.collect(), shapes: unread.chain(shapes).collect() }
    }

    /// What another format than safetensors loses.
    fn lost(&self) -> Vec<String> {
        let (ties, texts): (Vec<&Text>, _) = self.texts.iter().partition(|text| text.is_tie);
        let metadata = lost_metadata(texts.into_iter().map(|text| text.key.as_str()));
        let ties = ties.into_iter().map(Text::lost_tie);
        metadata.into_iter().chain(ties).chain(self.shapes.iter().cloned()).collect()
    }

    /// Puts the metadata into a file of safetensors. Returns what is lost then, or in another format.
    pub(crate) fn put_into(&self, bytes: &mut Vec<u8>, format: Format) -> Result<Vec<String>> {
        if format != Format::Safetensors {
            return Ok(self.lost());
        }
        let mut lost = self.shapes.clone();
        let texts = self.texts.iter().filter(|text| !__is_of_structure(&text.key));
        let texts: Vec<&Text> = texts.collect();
        if !texts.is_empty() {
            let mut tensors = safetensors::from_bytes(bytes)?;
            let names: HashSet<String> = tensors.iter().map(|(name, _)| name.to_owned()).collect();
            for it in texts {
                let Text { key, text, is_tie } = it;
                if *is_tie && (!names.contains(text) || names.contains(key)) {
                    lost.push(it.lost_tie());
                } else {
                    tensors = tensors.with_metadata(key, text);
                }
            }
            *bytes = safetensors::to_bytes(&tensors)?;
        }
        Ok(lost)
    }
}

/// How a half float becomes a float of another type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Halves {
    /// An `f32` inside of the newtype, without loss.
    Exact,
    /// The shortest decimal that is read as the same half float.
    Short,
}

/// A leaf of documents that are compared.
pub(crate) trait DocumentLeaf: Clone + fmt::Display {
    fn as_array(&self) -> Option<&Array>;

    /// The text of a part with arrays, which are not printed number by number.
    fn summary(tree: &Tree<Self>) -> String;
}

impl DocumentLeaf for Leaf {
    fn as_array(&self) -> Option<&Array> {
        Leaf::as_array(self)
    }

    fn summary(tree: &Tree<Leaf>) -> String {
        let tree = with_short_halves(tree.clone()).unwrap_or_else(|_| tree.clone());
        bare_numbers(&tree.summary().to_string())
    }
}

pub(crate) fn has_arrays<L: DocumentLeaf>(tree: &Tree<L>) -> bool {
    tree.leaves().iter().any(|leaf| leaf.as_array().is_some())
}

/// The kinds of the leaves, also of those in arrays.
pub(crate) fn kinds(tree: Tree<Leaf>) -> Result<Tree<LeafKind>> {
    let tree = if has_arrays(&tree) { tree.without_arrays()? } else { tree };
    Ok(tree.map(|leaf| exact::kind(&leaf)))
}

/// The tree with each number of an array as a leaf.
pub(crate) fn numbers(tree: Tree<Leaf>, halves: Halves) -> Result<Tree<Leaf>> {
    let is_other = |leaf: &Leaf| leaf.as_array().is_some() || matches!(leaf, Leaf::U16(_));
    if !tree.leaves().iter().any(is_other) {
        return Ok(tree);
    }
    Ok(tree.edit(|_, node, leaves| match leaves {
        [leaf] if node.is_leaf() => match leaf.as_array() {
            Some(array) => Ok(Edit::Replace(of_array(array, halves)?)),
            None => Ok(Edit::Keep),
        },
        [leaf] => half_at(node, leaf, halves),
        _ => Ok(Edit::Keep),
    })?)
}

/// The tree with half floats that are in no array as the shortest decimals.
pub(crate) fn with_short_halves(tree: Tree<Leaf>) -> treedef::Result<Tree<Leaf>> {
    if !tree.leaves().iter().any(|leaf| matches!(leaf, Leaf::U16(_))) {
        return Ok(tree);
    }
    tree.edit(|_, node, leaves| match leaves {
        [leaf] => half_at(node, leaf, Halves::Short),
        _ => Ok(Edit::Keep),
    })
}

/// The float at a node, if it is the newtype of a half float.
fn half_at(node: NodeRef<'_>, leaf: &Leaf, halves: Halves) -> treedef::Result<Edit<Tree<Leaf>>> {
    let is_bf16 = match node.name().filter(|_| node.kind() == NodeKind::NewtypeStruct) {
        Some("f16") => false,
        Some("bf16") => true,
        _ => return Ok(Edit::Keep),
    };
    let Leaf::U16(bits) = leaf else { return Ok(Edit::Keep) };
    Ok(Edit::Replace(match halves {
        Halves::Short => Tree::leaf(treedef::__private::shortest_half(*bits, is_bf16).into()),
        Halves::Exact => Tree::new(node.to_treedef(), vec![widened(*bits, is_bf16).into()])?,
    }))
}

/// The most numbers of an array that the library prints. Of more it prints statistics.
pub(crate) const SHORT: usize = 6;

/// The numbers of an array.
pub(crate) fn of_array(array: &Array, halves: Halves) -> treedef::Result<Tree<Leaf>> {
    let tree = array.to_tree();
    match (array.dtype(), halves) {
        (dtype @ (Dtype::F16 | Dtype::Bf16), Halves::Exact) => Ok(tree.map(|leaf| match leaf {
            Leaf::U16(bits) => widened(bits, dtype == Dtype::Bf16).into(),
            other => other,
        })),
        (dtype @ (Dtype::F16 | Dtype::Bf16), Halves::Short) => {
            let bits = array.as_slice::<u16>().unwrap_or_default();
            if array.is_column_major() || bits.len() != array.shape().iter().product::<usize>() {
                return with_short_halves(tree);
            }
            let seq = |of: TreeDef, size: &usize| TreeDef::seq_of(&of, *size);
            let treedef = array.shape().iter().rev().try_fold(TreeDef::leaf(), seq)?;
            let short =
                |bits: &u16| treedef::__private::shortest_half(*bits, dtype == Dtype::Bf16).into();
            Tree::new(treedef, bits.iter().map(short).collect())
        }
        _ => Ok(tree),
    }
}

/// The text of a number without its kind, or that of another leaf.
pub(crate) fn numeral(leaf: &Leaf) -> String {
    match leaf {
        Leaf::F32(number) => format!("{number:?}"),
        Leaf::F64(number) => format!("{number:?}"),
        leaf => leaf.as_i128().map_or_else(|| leaf.to_string(), |number| number.to_string()),
    }
}

/// The text of a key, and whether it is one without being printed.
pub(crate) fn key_text(key: &Key) -> (String, bool) {
    let Key::Entry(value) = key else { return (text_of(key), true) };
    match Leaf::from(value.clone()) {
        Leaf::Char(char) => (char.to_string(), true),
        leaf => leaf.as_str().map_or_else(|| (numeral(&leaf), false), |it| (it.to_owned(), true)),
    }
}

/// Writes the numbers of an array as JSON has nested sequences; of each sequence at most the first
/// `most` elements, and `…` for the others. Returns `false` for an array that is no plain nested
/// sequence to serde, e.g. a matrix that is stored by columns; nothing is written then.
pub(crate) fn write_numbers(out: &mut dyn Write, array: &Array, most: usize) -> Result<bool> {
    macro_rules! write {
        ($($type:ty)*) => {
            $(if let Some(numbers) = array.as_slice::<$type>() {
                return write_rows(out, array.shape(), numbers, most, &|it| *it).map(|()| true);
            })*
        };
    }
    if array.is_column_major() || !is_plain(array) {
        return Ok(false);
    }
    let half: fn(&u16) -> f64 = match array.dtype() {
        Dtype::F16 => |bits| treedef::__private::shortest_half(*bits, false),
        Dtype::Bf16 => |bits| treedef::__private::shortest_half(*bits, true),
        _ => {
            write!(f32 f64 u8 u16 u32 u64 i8 i16 i32 i64 bool);
            return Ok(false);
        }
    };
    let Some(bits) = array.as_slice::<u16>() else { return Ok(false) };
    write_rows(out, array.shape(), bits, most, &half).map(|()| true)
}

/// Whether serde sees one leaf for each number, and nothing else.
fn is_plain(array: &Array) -> bool {
    let leaf = Leaf::from(array.clone());
    let Leaf::Opaque(value) = &leaf else { return false };
    let (mut node, mut expected) = (value.root(), 1_usize);
    for size in array.shape() {
        if !matches!(node.kind(), NodeKind::Seq | NodeKind::Tuple) || node.num_children() != *size {
            return false;
        }
        expected = expected.saturating_mul(*size);
        let Some(child) = node.child(0) else { return true };
        node = child;
    }
    value.root().leaf_range().len() == expected
}

/// The recursion is as deep as the array has dimensions.
fn write_rows<L, N: Serialize>(
    out: &mut dyn Write,
    shape: &[usize],
    numbers: &[L],
    most: usize,
    number: &impl Fn(&L) -> N,
) -> Result<()> {
    let Some((size, inner)) = shape.split_first() else {
        let first = numbers.first();
        return Ok(first.map_or(Ok(()), |first| serde_json::to_writer(out, &number(first)))?);
    };
    let width = numbers.len().checked_div(*size).unwrap_or(0);
    out.write_all(b"[")?;
    for at in 0..*size.min(&most) {
        if at > 0 {
            out.write_all(b",")?;
        }
        let row = numbers.get(at * width..(at + 1) * width).unwrap_or_default();
        write_rows(out, inner, row, most, number)?;
    }
    if *size > most {
        out.write_all(",…".as_bytes())?;
    }
    Ok(out.write_all(b"]")?)
}

fn widened(bits: u16, is_bf16: bool) -> f32 {
    if is_bf16 { bf16::from_bits(bits).to_f32() } else { f16::from_bits(bits).to_f32() }
}

/// A tree as a file of tensors. In safetensors, the metadata has the structure and what is no
/// number.
pub(crate) fn write(tree: &Tree<Leaf>, format: Format) -> Result<Vec<u8>> {
    let is_safetensors = format == Format::Safetensors;
    let export =
        Export::new().structure_in_metadata(is_safetensors).rest_in_metadata(is_safetensors);
    let tensors = export.tensors(tree).map_err(|error| refused(&error, format))?;
    to_bytes(&tensors, format)
}

/// Writes tensors as they are, and says what the format does not hold of them, also of the metadata that
/// the file had.
pub(crate) fn rewrite(
    source: &Source<'_>,
    format: Format,
    has_metadata: bool,
) -> Result<(Vec<u8>, Vec<String>)> {
    let (mut lost, mut tensors) = (Vec::new(), Vec::new());
    if has_metadata && format != Format::Safetensors {
        lost.extend(lost_metadata(source.metadata_keys()));
    }
    for stored in source.iter() {
        let (name, descriptor, widened) = (stored.name(), stored.descriptor(), stored.widened());
        match (name, format) {
            _ if widened.descriptor().dtype().is_none() => {
                lost.push(format!("`{name}`, {descriptor}, which has no numbers"));
                continue;
            }
            _ if descriptor.dtype().is_none() => {
                lost.push(format!("the type of `{name}`, {descriptor}, which is f32 there"));
            }
            _ => {}
        }
        match (name, format) {
            ("", Format::Npz) => lost.push(format!("an array without a name became `{NO_NAME}`")),
            (_, Format::Npy) if !name.is_empty() => lost.push(format!("the name `{name}`")),
            _ => {}
        }
        tensors.push((name.to_owned(), widened.read()?));
    }
    let mut tensors = Tensors::new(tensors)?;
    for key in source.metadata_keys() {
        tensors = tensors.with_metadata(key, source.metadata(key).unwrap_or_default());
    }
    Ok((to_bytes(&tensors, format)?, lost))
}

fn to_bytes(tensors: &Tensors<'_>, format: Format) -> Result<Vec<u8>> {
    let named = tensors.iter().map(|(name, tensor)| {
        let name = if name.is_empty() { NO_NAME } else { name };
        (name.to_owned(), tensor.clone())
    });
    let written = match format {
        Format::Npz => Tensors::new(named).and_then(|named| npz::to_bytes(&named)),
        Format::Npy => {
            let mut all = tensors.iter();
            let (Some((_, tensor)), None) = (all.next(), all.next()) else {
                let message = "npy holds one array, and here are others: `--to npz` holds them";
                return Err(Failure::new(message));
            };
            npy::to_bytes(tensor)
        }
        Format::Safetensors => safetensors::to_bytes(tensors),
        format => return Err(Failure::new(format!("{} is only read", format.name()))),
    };
    written.map_err(|error| refused(&error, format))
}

/// Why a format cannot hold it, with the paths and what to do.
fn refused(error: &Error, format: Format) -> Failure {
    let reason = match error.kind() {
        ErrorKind::NoDtype(leaves) => {
            let listed = leaves.iter().take(LISTED);
            let listed: Vec<String> =
                listed.map(|(path, kind)| format!("{kind} at `{path}`")).collect();
            let more = match leaves.len().saturating_sub(LISTED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("there are {}{more}; `--to safetensors` holds them", listed.join(", "))
        }
        _ => error.to_string(),
    };
    Failure::new(format!("{} cannot hold it: {reason}", format.name()))
}
