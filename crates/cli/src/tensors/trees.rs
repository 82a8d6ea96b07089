//! Files of tensors as trees, and trees as files of tensors.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Write;

use half::{bf16, f16};
use treedef::__private::OrBug;
use treedef::{Array, Dtype, Edit, Leaf, LeafKind, NodeKind, NodeRef, Tree, TreeDef};
use treedef_tensors::npy::ReadOptions;
use treedef_tensors::pytorch::PytorchLeaf;
use treedef_tensors::{
    __display_shape, Descriptor, Source, StoredTensor, npy, npz, pytorch, safetensors,
};

use crate::args::Limits;
use crate::color::{bare_numbers, counted};
use crate::failure::{Failure, Result};
use crate::format::{Format, TensorFormat};
use crate::numbers::exact;
use crate::tensors::names::NameTree;

/// The type and the shape of a tensor, `bf16[4096, 4096]`; or a value beside tensors.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorLeaf {
    pub(crate) dtype: String,
    pub(crate) shape: Vec<u64>,
    /// The number of bytes.
    pub(crate) size: u64,
    /// Not a tensor. Then the type is its kind.
    pub(crate) value: Option<Leaf>,
}

impl TensorLeaf {
    pub(crate) fn of(tensor: &Descriptor) -> Self {
        let number = |number: &usize| u64::try_from(*number).unwrap_or(u64::MAX);
        let (shape, size) = (tensor.shape().iter().map(number).collect(), tensor.num_bytes());
        let dtype = tensor.type_name().to_owned();
        TensorLeaf { dtype, shape, size: size.unwrap_or_default(), value: None }
    }

    /// The same, with the number of bytes in the file: pickled objects have any number.
    pub(crate) fn of_stored(stored: &StoredTensor<'_>) -> Self {
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

    pub(crate) fn of_entry(entry: &PytorchLeaf<'_>) -> Self {
        match entry {
            PytorchLeaf::Tensor(stored) => TensorLeaf::of_stored(stored),
            PytorchLeaf::Value(value) => TensorLeaf::of_value(value.clone()),
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

/// The error for something that is too large.
pub(crate) fn more_than(most: usize) -> String {
    let most = counted(u64::try_from(most).unwrap_or(u64::MAX), "byte", "bytes");
    format!("more than {most}, `--max-bytes` allows more")
}

/// The tensors of a file.
pub(crate) fn source(bytes: &[u8], format: Format, limits: Limits) -> Result<Source<'_>> {
    // numpy's files have bfloat16 as two bytes of any kind, and hardly anything else has these.
    let reading = ReadOptions::new().bf16(true).max_bytes(limits.max_bytes());
    Ok(match format.of_tensors() {
        Some(TensorFormat::Safetensors) => safetensors::from_bytes(bytes)?,
        Some(TensorFormat::Npz) => npz::from_bytes_with(bytes, &reading)?,
        Some(TensorFormat::Npy) => npy::from_bytes_with(bytes, &reading)?,
        Some(TensorFormat::Pytorch) => pytorch::from_bytes(bytes)?.source()?,
        // They are read where they are opened.
        Some(TensorFormat::Gguf | TensorFormat::Orbax) | None => {
            let message = format!("no tensors are read from the bytes of {}", format.name());
            return Err(Failure::new(message));
        }
    })
}

/// The types and shapes by name.
pub(crate) fn shapes(source: &Source<'_>) -> Result<Tree<TensorLeaf>> {
    let leaves = source.iter().map(|it| (it.name().to_owned(), TensorLeaf::of_stored(it)));
    NameTree::of(leaves).into_tree()
}

/// The types of the elements.
pub(crate) fn types(source: &Source<'_>) -> BTreeSet<String> {
    source.iter().map(|stored| stored.descriptor().type_name().to_owned()).collect()
}

/// How a half float becomes a float of another type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HalfFormat {
    /// An `f32` inside of the newtype, without loss.
    Exact,
    /// The double of the same value, like every `f32`: for readers of doubles.
    Double,
    /// The shortest decimal that identifies the half float: if the type is shown.
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
        let tree = with_halves(tree.clone(), HalfFormat::Short).unwrap_or_else(|_| tree.clone());
        bare_numbers(&tree.summary().to_string())
    }
}

pub(crate) fn has_arrays<L: DocumentLeaf>(tree: &Tree<L>) -> bool {
    tree.leaves().iter().any(|leaf| leaf.as_array().is_some())
}

/// The kinds of the leaves, including leaves in arrays.
pub(crate) fn kinds(tree: Tree<Leaf>) -> Result<Tree<LeafKind>> {
    let tree = if has_arrays(&tree) { tree.without_arrays()? } else { tree };
    Ok(tree.map(|leaf| exact::kind(&leaf)))
}

/// The tree with each number of an array as a leaf.
pub(crate) fn numbers(tree: Tree<Leaf>, halves: HalfFormat) -> Result<Tree<Leaf>> {
    let is_other = |leaf: &Leaf| leaf.as_array().is_some() || matches!(leaf, Leaf::U16(_));
    let is_double = halves == HalfFormat::Double;
    if is_double && tree.leaves().iter().any(|leaf| matches!(leaf, Leaf::F32(_))) {
        return numbers(exact::with_doubles(tree), halves);
    }
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

/// The tree with other floats for half floats outside of arrays.
pub(crate) fn with_halves(tree: Tree<Leaf>, halves: HalfFormat) -> treedef::Result<Tree<Leaf>> {
    let tree = if halves == HalfFormat::Double { exact::with_doubles(tree) } else { tree };
    if !tree.leaves().iter().any(|leaf| matches!(leaf, Leaf::U16(_))) {
        return Ok(tree);
    }
    tree.edit(|_, node, leaves| match leaves {
        [leaf] => half_at(node, leaf, halves),
        _ => Ok(Edit::Keep),
    })
}

/// The float at a node, if it is the newtype of a half float.
fn half_at(
    node: NodeRef<'_>,
    leaf: &Leaf,
    halves: HalfFormat,
) -> treedef::Result<Edit<Tree<Leaf>>> {
    let is_bf16 = match node.name().filter(|_| node.kind() == NodeKind::NewtypeStruct) {
        Some("f16") => false,
        Some("bf16") => true,
        _ => return Ok(Edit::Keep),
    };
    let Leaf::U16(bits) = leaf else { return Ok(Edit::Keep) };
    Ok(Edit::Replace(match halves {
        HalfFormat::Double => Tree::leaf(f64::from(widened(*bits, is_bf16)).into()),
        HalfFormat::Short => Tree::leaf(treedef::__private::shortest_half(*bits, is_bf16).into()),
        HalfFormat::Exact => Tree::new(node.to_treedef(), vec![widened(*bits, is_bf16).into()])?,
    }))
}

/// The maximum number of elements of an array that the library prints. For more it prints
/// statistics.
pub(crate) const SHORT: usize = 6;

/// The numbers of an array.
pub(crate) fn of_array(array: &Array, halves: HalfFormat) -> treedef::Result<Tree<Leaf>> {
    let tree = array.to_tree();
    match (array.dtype(), halves) {
        (dtype @ (Dtype::F16 | Dtype::Bf16), HalfFormat::Exact) => {
            Ok(tree.map(|leaf| match leaf {
                Leaf::U16(bits) => widened(bits, dtype == Dtype::Bf16).into(),
                other => other,
            }))
        }
        (dtype @ (Dtype::F16 | Dtype::Bf16), HalfFormat::Short) => {
            let bits = array.as_slice::<u16>().or_bug();
            if array.is_column_major() || bits.len() != array.shape().iter().product::<usize>() {
                return with_halves(tree, HalfFormat::Short);
            }
            let seq = |of: TreeDef, size: &usize| TreeDef::seq_of(&of, *size);
            let treedef = array.shape().iter().rev().try_fold(TreeDef::leaf(), seq)?;
            let short =
                |bits: &u16| treedef::__private::shortest_half(*bits, dtype == Dtype::Bf16).into();
            Tree::new(treedef, bits.iter().map(short).collect())
        }
        (Dtype::F16 | Dtype::Bf16, HalfFormat::Double) => {
            Ok(exact::with_doubles(of_array(array, HalfFormat::Exact)?))
        }
        (_, HalfFormat::Double) => Ok(exact::with_doubles(tree)),
        _ => Ok(tree),
    }
}

/// The text of a number without its kind, or the text of another leaf.
pub(crate) fn numeral(leaf: &Leaf) -> String {
    match leaf {
        Leaf::F32(number) => format!("{number:?}"),
        Leaf::F64(number) => format!("{number:?}"),
        leaf => leaf.as_i128().map_or_else(|| leaf.to_string(), |number| number.to_string()),
    }
}

/// Writes the numbers of an array as nested sequences in JSON, or as text, which has NaN and infinities. For each sequence it writes at most
/// the first `most` elements, and `…` for the others. Returns `false`, and writes nothing, for an
/// array that is not a plain nested sequence in serde, e.g. a matrix that is stored by columns.
pub(crate) fn write_numbers(
    out: &mut dyn Write,
    array: &Array,
    (halves, is_text): (HalfFormat, bool),
    most: usize,
) -> Result<bool> {
    macro_rules! write {
        ($($type:ty)*) => {
            $(if let Some(numbers) = array.as_slice::<$type>() {
                return write_rows(out, (array.shape(), is_text), numbers, most, &|it| (*it).into())
                    .map(|()| true);
            })*
        };
    }
    if array.is_column_major() || !is_plain(array) {
        return Ok(false);
    }
    let is_short = halves == HalfFormat::Short;
    let half: fn(&u16) -> f64 = match array.dtype() {
        Dtype::F16 if !is_short => |bits| widened(*bits, false).into(),
        Dtype::Bf16 if !is_short => |bits| widened(*bits, true).into(),
        Dtype::F32 if !is_short => {
            let Some(numbers) = array.as_slice::<f32>() else { return Ok(false) };
            let number = |it: &f32| f64::from(*it).into();
            return write_rows(out, (array.shape(), is_text), numbers, most, &number)
                .map(|()| true);
        }
        Dtype::F16 => |bits| treedef::__private::shortest_half(*bits, false),
        Dtype::Bf16 => |bits| treedef::__private::shortest_half(*bits, true),
        _ => {
            write!(f32 f64 u8 u16 u32 u64 i8 i16 i32 i64 bool);
            return Ok(false);
        }
    };
    let Some(bits) = array.as_slice::<u16>() else { return Ok(false) };
    write_rows(out, (array.shape(), is_text), bits, most, &|bits| half(bits).into()).map(|()| true)
}

/// Whether serde sees exactly one leaf for each number.
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
fn write_rows<L>(
    out: &mut dyn Write,
    (shape, is_text): (&[usize], bool),
    numbers: &[L],
    most: usize,
    number: &impl Fn(&L) -> Leaf,
) -> Result<()> {
    let Some((size, inner)) = shape.split_first() else {
        let Some(leaf) = numbers.first().map(number) else { return Ok(()) };
        if let Some(name) = exact::name_of(&leaf).filter(|_| is_text) {
            return Ok(out.write_all(name.as_bytes())?);
        }
        return Ok(serde_json::to_writer(out, &leaf)?);
    };
    let width = numbers.len().checked_div(*size).unwrap_or(0);
    out.write_all(b"[")?;
    for at in 0..*size.min(&most) {
        if at > 0 {
            out.write_all(b",")?;
        }
        let row = numbers.get(at * width..(at + 1) * width).or_bug();
        write_rows(out, (inner, is_text), row, most, number)?;
    }
    if *size > most {
        out.write_all(",…".as_bytes())?;
    }
    Ok(out.write_all(b"]")?)
}

fn widened(bits: u16, is_bf16: bool) -> f32 {
    if is_bf16 { bf16::from_bits(bits).to_f32() } else { f16::from_bits(bits).to_f32() }
}
