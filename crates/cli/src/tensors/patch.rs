//! Patches of files of tensors. Parts that a patch does not change are copied from the file.

use std::collections::{HashMap, HashSet};

use half::{bf16, f16};
use treedef::__private::OrBug;
use treedef::{Dtype, Leaf, NodeKind, NodeRef, Path, Tree};
use treedef_tensors::{
    __is_of_structure, __leaf_names, __narrowed, __stored, Descriptor, Export, Source,
    StoredTensor, Tensor, Tensors,
};

use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::paths::{part_at, text_of};
use crate::tensors::files::{export, refused};
use crate::tensors::leaf::tensor_of;
use crate::tensors::names::{display_name, joined};
use crate::tensors::trees::has_arrays;
use crate::tensors::values::PatchTree;

/// The tensors of a file after a patch, and the losses. `is_plain` means that the patch has no widths of
/// numbers.
pub(crate) fn patched<'s>(
    source: &Source<'s>,
    old: &PatchTree,
    new: &Tree<Leaf>,
    (is_plain, format): (bool, Format),
) -> Result<(Source<'s>, Vec<String>)> {
    let Some(places) = &old.places else {
        return with_structure(source, &old.tree, new, (is_plain, format));
    };
    let above = places.iter().flat_map(|(path, _)| ancestors(path));
    let mut walk = PatchWalk {
        source,
        old: &old.tree,
        new,
        places: places.iter().map(|(path, name)| (path, name.as_str())).collect(),
        has_values: old.has_values,
        above: above.collect(),
        is_plain,
        kept: Vec::new(),
        made: Vec::new(),
        lost: Vec::new(),
        format,
    };
    walk.visit(&Path::root(), new.treedef().root())?;
    let PatchWalk { mut kept, made, mut lost, .. } = walk;
    // Unchanged tied tensors stay tied.
    let names: HashSet<String> = kept.iter().map(|it| it.name().to_owned()).collect();
    let ties: HashMap<&str, &str> = source.aliases().collect();
    kept.retain(|it| ties.get(it.name()).is_none_or(|of| !names.contains(*of)));
    let tensors = in_order(source, kept, made);
    let texts = texts_beside(source, &tensors, &mut lost);
    Ok((Source::of(tensors, texts)?, lost))
}

/// The tensors in the order of the file. New ones are at the position of their names, or at the end.
fn in_order<'s>(
    source: &Source<'s>,
    mut all: Vec<StoredTensor<'s>>,
    made: Vec<StoredTensor<'static>>,
) -> Vec<StoredTensor<'s>> {
    let places: HashMap<&str, usize> = source.iter().map(StoredTensor::name).zip(0..).collect();
    all.extend(made);
    all.sort_by_key(|it| places.get(it.name()).copied().unwrap_or(usize::MAX));
    all
}

/// A tensor that a patch made.
fn stored(name: &str, tensor: Tensor<'_>) -> Result<StoredTensor<'static>> {
    let dtype = tensor.dtype().name();
    Ok(__stored(name, dtype, tensor.shape().to_vec(), tensor.bytes().to_vec())?)
}

/// The metadata that still applies to the tensors.
fn texts_beside(
    source: &Source<'_>,
    tensors: &[StoredTensor<'_>],
    lost: &mut Vec<String>,
) -> Vec<(String, String)> {
    let names: HashSet<&str> = tensors.iter().map(StoredTensor::name).collect();
    let descriptors = tensors.iter().map(StoredTensor::descriptor);
    let is_same = descriptors.eq(source.iter().map(StoredTensor::descriptor));
    let ties: HashMap<&str, &str> = source.aliases().collect();
    let mut texts = Vec::new();
    for key in source.metadata_keys() {
        let text = source.metadata(key).or_bug();
        if __is_of_structure(key) && !is_same {
            lost.push(format!("the metadata `{key}`, which is of other tensors"));
        } else if ties.get(key).is_some_and(|of| !names.contains(of) || names.contains(key)) {
            lost.push(format!("the tie of `{key}` to `{text}`"));
        } else {
            texts.push((key.to_owned(), text.to_owned()));
        }
    }
    texts
}

/// The paths above a path, from the root on.
fn ancestors(path: &Path) -> impl Iterator<Item = Path> {
    std::iter::successors(path.parent(), Path::parent)
}

/// A walk over the patched tree of the names.
struct PatchWalk<'w, 's> {
    source: &'w Source<'s>,
    old: &'w Tree<Leaf>,
    new: &'w Tree<Leaf>,
    /// The names of the tensors by their paths.
    places: HashMap<&'w Path, &'w str>,
    has_values: bool,
    /// The paths above them.
    above: HashSet<Path>,
    is_plain: bool,
    format: Format,
    kept: Vec<StoredTensor<'s>>,
    made: Vec<StoredTensor<'static>>,
    lost: Vec<String>,
}

impl<'w, 's> PatchWalk<'w, 's> {
    /// The recursion is as deep as the limits of the tree allow.
    fn visit(&mut self, path: &Path, node: NodeRef<'_>) -> Result<()> {
        let leaves = self.new.leaves().get(node.leaf_range()).or_bug();
        let part = || Tree::new(node.to_treedef(), leaves.to_vec());
        let was = self.tensor_at(path);
        if let Some(stored) = &was
            && part_at(self.old, path) == Some(part()?)
        {
            self.kept.push(stored.clone());
            return Ok(());
        }
        // Sequences of numbers are arrays if the patch has no others. A tensor that is a number of one of
        // these kinds is another leaf.
        let is_other = |leaf: &Leaf| match leaf {
            Leaf::F64(_) | Leaf::U64(_) | Leaf::I64(_) | Leaf::Bool(_) => false,
            leaf => !self.is_plain || leaf.as_array().is_some(),
        };
        let is_one = match node.kind() {
            NodeKind::Seq | NodeKind::Tuple => {
                !self.above.contains(path) && !leaves.iter().any(is_other)
            }
            NodeKind::Map => false,
            _ => true,
        };
        let is_empty = node.num_children() == 0 && !path.is_root();
        if is_one || is_empty {
            return self.put(path, &part()?, was.as_ref());
        }
        for (position, child) in node.children().enumerate() {
            if let Some(key) = node.key(position) {
                self.visit(&path.child(key), child)?;
            }
        }
        Ok(())
    }

    fn tensor_at(&self, path: &Path) -> Option<StoredTensor<'s>> {
        let name = *self.places.get(path)?;
        Some(self.source.get(name)?.renamed(name))
    }

    /// Makes tensors of a part that a patch changed.
    fn put(
        &mut self,
        path: &Path,
        part: &Tree<Leaf>,
        was: Option<&StoredTensor<'_>>,
    ) -> Result<()> {
        // A patch of another format has the numbers of an array as one leaf at the most.
        let numbers = self.is_plain.then(|| part.clone().without_arrays()).transpose()?;
        let part = numbers.as_ref().unwrap_or(part);
        let name = was.map_or_else(|| joined(path), |was| was.name().to_owned());
        if let Some(stored) = tensor_of(&name, part)? {
            self.made.push(stored);
            return Ok(());
        }
        if let Some(tensor) = complex(part, was)? {
            self.made.push(stored(&name, tensor)?);
            return Ok(());
        }
        let is_value = !has_arrays(part) && was.is_none();
        if self.has_values && is_value {
            self.lost.push(format!("`{name}`, which is not a tensor"));
            return Ok(());
        }
        let has_type = !self.is_plain && !part.leaves().is_empty();
        let was = was.map(StoredTensor::descriptor).filter(|_| !has_type);
        if let Some(was) = was
            && let Some(shape) = shape_of(part.treedef().root())
            && let Some(bytes) = small_floats(was, part)
        {
            self.made.push(__stored(&name, was.type_name(), shape, bytes)?);
            return Ok(());
        }
        if let Some(dtype) = was.and_then(Descriptor::dtype)
            && let Some(shape) = shape_of(part.treedef().root())
            && let Some(bytes) = bytes_of(part, dtype)
        {
            self.made.push(stored(&name, Tensor::new(dtype, shape, bytes)?)?);
            return Ok(());
        }
        if let Some(was) = was
            && let Some(tensor) = wider(part)?
        {
            self.lost.push(lost_type(&name, was, &tensor));
            self.made.push(stored(&name, tensor)?);
            return Ok(());
        }
        if part.leaves().is_empty() {
            self.lost.push(format!(
                "{}, which is empty, so that its type is not known",
                display_name(&name)
            ));
            return Ok(());
        }
        let tensors = Export::new().tensors(part).map_err(|error| {
            let failure = refused(&error, self.format);
            Failure::new(format!("{}: {}", display_name(&name), failure.message()))
        })?;
        for (below, tensor) in tensors.iter() {
            let name = match (name.as_str(), below) {
                (name, "") => name.to_owned(),
                ("", below) => below.to_owned(),
                (name, below) => format!("{name}.{below}"),
            };
            if let Some(was) = was.filter(|was| was.dtype() != Some(tensor.dtype())) {
                self.lost.push(lost_type(&name, was, tensor));
            }
            self.made.push(stored(&name, tensor.clone())?);
        }
        Ok(())
    }
}

fn lost_type(name: &str, was: &Descriptor, new: &Tensor<'_>) -> String {
    format!(
        "the type of {}, {}, which is {} there",
        display_name(name),
        was.type_name(),
        new.dtype()
    )
}

/// Numbers of JSON as one tensor. Some of them may be integers and others floats.
fn wider(part: &Tree<Leaf>) -> Result<Option<Tensor<'static>>> {
    let shape = shape_of(part.treedef().root()).filter(|_| !part.leaves().is_empty());
    let types = [Dtype::U64, Dtype::I64, Dtype::F64];
    let held = types.iter().find_map(|dtype| Some((*dtype, bytes_of(part, *dtype)?)));
    let tensor = shape.zip(held).map(|(shape, (dtype, bytes))| Tensor::new(dtype, shape, bytes));
    Ok(tensor.transpose()?)
}

/// The sizes of nested sequences that form an array. The recursion is as deep as the limits of the tree
/// allow.
fn shape_of(node: NodeRef<'_>) -> Option<Vec<usize>> {
    if node.is_leaf() {
        return Some(Vec::new());
    }
    let is_seq = matches!(node.kind(), NodeKind::Seq | NodeKind::Tuple);
    if is_seq && node.num_children() == 0 {
        return Some(vec![0]);
    }
    let mut shapes = node.children().filter(|_| is_seq).map(shape_of);
    let inner = shapes.next()??;
    shapes
        .all(|shape| shape.as_ref() == Some(&inner))
        .then(|| [&[node.num_children()], &*inner].concat())
}

/// Complex numbers as one tensor: an array of them, or nested sequences of structs or maps of their parts.
fn complex(part: &Tree<Leaf>, was: Option<&StoredTensor<'_>>) -> Result<Option<Tensor<'static>>> {
    let is_complex = |dtype: &Dtype| matches!(dtype, Dtype::C64 | Dtype::C128);
    let float = |dtype| if dtype == Dtype::C64 { Dtype::F32 } else { Dtype::F64 };
    let array = part.leaves().first().filter(|_| part.treedef().root().is_leaf());
    if let Some(array) = array.and_then(Leaf::as_array).filter(|it| is_complex(&it.dtype())) {
        let bytes = bytes_of(part, float(array.dtype()));
        let tensor = |bytes| Tensor::new(array.dtype(), array.shape().to_vec(), bytes);
        return Ok(bytes.map(tensor).transpose()?);
    }
    let mut leaves = Vec::new();
    let Some(shape) = complex_parts(part.treedef().root(), part.leaves(), &mut leaves) else {
        return Ok(None);
    };
    let dtype = was.and_then(|was| was.descriptor().dtype()).filter(is_complex);
    let is_wide = leaves.iter().any(|leaf| !matches!(leaf, Leaf::F32(_)));
    let dtype = dtype.unwrap_or(if is_wide { Dtype::C128 } else { Dtype::C64 });
    let mut bytes = Vec::new();
    let is_held = leaves.iter().all(|leaf| put_number(leaf, float(dtype), &mut bytes).is_some());
    Ok(is_held.then(|| Tensor::new(dtype, shape, bytes)).transpose()?)
}

/// The sizes of nested sequences of complex numbers, and their parts. The recursion is as deep as the
/// limits of the tree allow.
fn complex_parts(node: NodeRef<'_>, leaves: &[Leaf], to: &mut Vec<Leaf>) -> Option<Vec<usize>> {
    if matches!(node.kind(), NodeKind::Seq | NodeKind::Tuple) {
        let mut shapes = node.children().map(|child| complex_parts(child, leaves, to));
        let inner = shapes.next()??;
        let are_alike = shapes.all(|shape| shape.as_ref() == Some(&inner));
        return are_alike.then(|| [&[node.num_children()], &*inner].concat());
    }
    let named = |name: &str| {
        let mut children = node.children().enumerate();
        let child = children.find(|(at, _)| node.key(*at).is_some_and(|key| text_of(&key) == name));
        leaves.get(child.filter(|(_, child)| child.is_leaf())?.1.leaf_range().start)
    };
    let is_pair =
        matches!(node.kind(), NodeKind::Struct | NodeKind::Map) && node.num_children() == 2;
    let (re, im) = named("re").zip(named("im")).filter(|_| is_pair)?;
    to.extend([re.clone(), im.clone()]);
    Some(Vec::new())
}

/// The bytes of numbers as another type, if it holds all of them exactly.
fn bytes_of(part: &Tree<Leaf>, dtype: Dtype) -> Option<Vec<u8>> {
    let part = if has_arrays(part) { part.clone().without_arrays().ok()? } else { part.clone() };
    let mut bytes = Vec::new();
    for leaf in part.leaves() {
        put_number(leaf, dtype, &mut bytes)?;
    }
    Some(bytes)
}

/// The bytes of floats of at most 8 bits, if the tensor has such a type and it holds them.
fn small_floats(was: &Descriptor, part: &Tree<Leaf>) -> Option<Vec<u8>> {
    let part = if has_arrays(part) { part.clone().without_arrays().ok()? } else { part.clone() };
    let numbers: Option<Vec<f64>> = part.leaves().iter().map(float_of).collect();
    __narrowed(was.type_name(), numbers?)
}

/// The number as a float of the same value.
fn float_of(leaf: &Leaf) -> Option<f64> {
    match leaf {
        Leaf::F64(number) => Some(*number),
        Leaf::F32(number) => Some(f64::from(*number)),
        leaf => {
            let number = leaf.as_i128()?;
            Some(number as f64).filter(|float| *float as i128 == number)
        }
    }
}

fn put_number(leaf: &Leaf, dtype: Dtype, to: &mut Vec<u8>) -> Option<()> {
    macro_rules! integer {
        ($type:ty) => {
            to.extend(<$type>::try_from(leaf.as_i128()?).ok()?.to_le_bytes())
        };
    }
    let float = || float_of(leaf);
    // A half float is identified by its shortest decimal.
    let is_half = |bits: u16, is_bf16| {
        let exact =
            if is_bf16 { bf16::from_bits(bits).to_f64() } else { f16::from_bits(bits).to_f64() };
        let number = float();
        number == Some(exact) || number == Some(treedef::__private::shortest_half(bits, is_bf16))
    };
    match dtype {
        Dtype::Bool => match leaf {
            Leaf::Bool(bool) => to.push(u8::from(*bool)),
            _ => return None,
        },
        Dtype::U8 => integer!(u8),
        Dtype::I8 => integer!(i8),
        Dtype::U16 => integer!(u16),
        Dtype::I16 => integer!(i16),
        Dtype::U32 => integer!(u32),
        Dtype::I32 => integer!(i32),
        Dtype::U64 => integer!(u64),
        Dtype::I64 => integer!(i64),
        Dtype::F16 => {
            let bits = f16::from_f64(float()?).to_bits();
            is_half(bits, false).then(|| to.extend(bits.to_le_bytes()))?;
        }
        Dtype::Bf16 => {
            let bits = bf16::from_f64(float()?).to_bits();
            is_half(bits, true).then(|| to.extend(bits.to_le_bytes()))?;
        }
        Dtype::F32 => {
            // A conversion makes a signalling NaN a quiet one.
            if let Leaf::F32(number) = leaf {
                to.extend(number.to_le_bytes());
                return Some(());
            }
            let number = float()?;
            let near = number as f32;
            // As it is printed.
            let is_exact = f64::from(near) == number || near.to_string().parse() == Ok(number);
            (is_exact || number.is_nan()).then(|| to.extend(near.to_le_bytes()))?;
        }
        Dtype::F64 => to.extend(float()?.to_le_bytes()),
        _ => return None,
    }
    Some(())
}

/// The tensors of a tree whose structure is in the metadata of the file.
fn with_structure<'s>(
    source: &Source<'s>,
    old: &Tree<Leaf>,
    new: &Tree<Leaf>,
    (is_plain, format): (bool, Format),
) -> Result<(Source<'s>, Vec<String>)> {
    let export = export(format);
    let before = export.tensors(old).map_err(|error| refused(&error, format))?;
    let after = export.tensors(new).map_err(|error| refused(&error, format))?;
    let by_name = |tensors| Tensors::iter(tensors).collect::<HashMap<_, _>>();
    let (was, is) = (by_name(&before), by_name(&after));
    let is_kept = |name: &str| is.get(name).is_some_and(|it| was.get(name) == Some(it));
    let ties: HashMap<&str, &str> = source.aliases().collect();
    let is_tied = |name: &str| ties.get(name).is_some_and(|of| is_kept(of) && is_kept(name));
    let (mut kept, mut made, mut lost) = (Vec::new(), Vec::new(), Vec::new());
    for (name, tensor) in after.iter().filter(|(name, _)| !is_tied(name)) {
        match source.get(name).filter(|_| is_kept(name)) {
            Some(stored) => kept.push(stored.renamed(name)),
            None => made.push(as_it_was(source, (name, tensor), is_plain, &mut lost)?),
        }
    }
    let tensors = in_order(source, kept, made);
    let made_texts = Source::from(&after);
    let text = |key: &str| made_texts.metadata(key).or_bug().to_owned();
    let mut texts: Vec<(String, String)> =
        made_texts.metadata_keys().map(|key| (key.to_owned(), text(key))).collect();
    let in_tree: HashSet<String> =
        [old, new].iter().flat_map(|it| __leaf_names(it.treedef())).collect();
    for key in source.metadata_keys().filter(|key| !__is_of_structure(key)) {
        let text = source.metadata(key).or_bug();
        match ties.contains_key(key) {
            true if is_tied(key) => texts.push((key.to_owned(), text.to_owned())),
            true => lost.push(format!("the tie of `{key}` to `{text}`")),
            false if in_tree.contains(key) => {}
            false => texts.push((key.to_owned(), text.to_owned())),
        }
    }
    Ok((Source::of(tensors, texts)?, lost))
}

/// A tensor that a patch made, with its type in the file, if that type holds the numbers. In a tree, small
/// floats are wider.
fn as_it_was(
    source: &Source<'_>,
    (name, tensor): (&str, &Tensor<'_>),
    is_plain: bool,
    lost: &mut Vec<String>,
) -> Result<StoredTensor<'static>> {
    let new = stored(name, tensor.clone())?;
    let was = source.get(name).map(StoredTensor::descriptor);
    let is_small = |was: &&Descriptor| was.dtype().is_none();
    let is_other = |was: &&Descriptor| was.type_name() != tensor.dtype().name();
    let Some(was) = was.filter(|was| is_other(was) && (is_plain || is_small(was))) else {
        return Ok(new);
    };
    let part = new.tree()?;
    let bytes = match was.dtype() {
        Some(dtype) => bytes_of(&part, dtype),
        None => small_floats(was, &part),
    };
    if let Some(bytes) = bytes {
        return Ok(__stored(name, was.type_name(), tensor.shape().to_vec(), bytes)?);
    }
    lost.push(lost_type(name, was, tensor));
    Ok(new)
}
