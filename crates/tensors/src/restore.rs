//! Restores the leaves of a tree from its tensors and its structure.

use std::collections::{HashMap, HashSet};

use treedef::__private::{ArrayFields, array_struct, next_block};
use treedef::{Dtype, Leaf, NodeRef, Path, Tree, TreeDef, Value};
use treedef_pytrees::__private::half_float;

use crate::arrays;
use crate::bug::{OrBug, bug};
use crate::element::Element;
use crate::error::{Error, ErrorKind, Result};
use crate::export::{Export, Namer};
use crate::shape::num_elements;
use crate::source::Source;
use crate::structure::{
    BESIDE_ARRAYS, MATRICES, STRUCTURE, parse_structure, read_matrices, read_other_leaves,
};
use crate::tensor::{Tensor, Tensors};

/// The maximum number of arrays without numbers that are made. A file needs no bytes for them if
/// they are stacked.
const EMPTY_ARRAYS: usize = 1 << 18;

impl Export {
    /// Restores the tree that these options made into tensors. The order of the tensors does not
    /// matter.
    /// The entries of maps are in the order of their keys.
    ///
    /// # Errors
    ///
    /// Returns an error when the metadata has no structure, or a tensor is missing, is not part of
    /// it, or has another shape or type.
    ///
    /// ```
    /// use treedef::Tree;
    /// use treedef_tensors::Export;
    ///
    /// let tree = Tree::of(&([("w.x", 1.5f32)], vec![Some([1u8, 2])]))?;
    /// let export = Export::new().rest_in_metadata(true);
    /// assert_eq!(export.tree(&export.tensors(&tree)?)?, tree);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tree<L: Element>(&self, tensors: &Tensors<'_>) -> Result<Tree<L>> {
        self.expect_patterns()?;
        let treedef = parse_structure(tensors.metadata(STRUCTURE))?;
        let other_leaves = read_other_leaves(tensors.metadata(BESIDE_ARRAYS))?;
        let matrices = read_matrices(tensors.metadata(MATRICES))?;
        let source = Source::from(tensors);
        source.__check_ties()?;
        // A tied tensor has the name of an alias in the structure, too.
        let stored: HashMap<&str, &Tensor<'_>> = tensors.iter().collect();
        let aliases = source.aliases().filter_map(|(alias, name)| {
            let tensor = stored.get(name).copied();
            debug_assert!(tensor.is_some(), "an alias of a tensor that is not there");
            Some((alias, tensor?))
        });
        let restorer = LeafRestorer::new(self, tensors, &treedef, other_leaves, matrices, aliases)?;
        let leaves = restorer.leaves(&treedef)?;
        Ok(Tree::new(treedef, leaves)?)
    }
}

/// Restores the leaves of a tree from tensors, block by block.
struct LeafRestorer<'r, 'a, L> {
    export: &'r Export,
    tensors: &'r Tensors<'a>,
    by_name: HashMap<&'r str, &'r Tensor<'a>>,
    texts: HashMap<&'r str, &'r str>,
    namer: Namer<'r, 'r>,
    /// The other leaves of arrays, such as shapes, if they are unusual: literals, by path.
    other_leaves: HashMap<String, Vec<String>>,
    /// The paths of matrices that the structure stores by columns.
    matrices: HashSet<String>,
    /// The names that were read, and their indices in stacks.
    read: HashMap<String, HashSet<Vec<usize>>>,
    empty_arrays: usize,
    leaves: Vec<L>,
}

/// A tensor that is a struct with an array, or a matrix: its name, its indices in stacks, and its shape.
struct ArrayLocation {
    name: String,
    indices: Vec<usize>,
    shape: Vec<usize>,
    /// The number of dimensions of a matrix, without the dimensions of its elements.
    matrix: Option<usize>,
}

impl<'r, 'a, L: Element> LeafRestorer<'r, 'a, L> {
    fn new(
        export: &'r Export,
        tensors: &'r Tensors<'a>,
        treedef: &'r TreeDef,
        other_leaves: HashMap<String, Vec<String>>,
        matrices: HashSet<String>,
        aliases: impl Iterator<Item = (&'r str, &'r Tensor<'a>)>,
    ) -> Result<Self> {
        // There is a byte for each number, so a hostile structure cannot reserve more.
        let texts = tensors.metadata.iter().map(|(key, text)| (key.as_str(), text.as_str()));
        let numbers: usize = tensors.iter().map(|(_, tensor)| tensor.len()).sum();
        Ok(LeafRestorer {
            export,
            tensors,
            by_name: tensors.iter().chain(aliases).collect(),
            texts: texts.collect(),
            namer: export.namer(treedef)?,
            other_leaves,
            matrices,
            read: HashMap::new(),
            empty_arrays: 0,
            leaves: Vec::with_capacity(treedef.num_leaves().min(numbers)),
        })
    }

    /// All leaves of the structure. All numbers of all tensors have to be in it.
    fn leaves(mut self, treedef: &TreeDef) -> Result<Vec<L>> {
        let mut blocks = treedef.blocks();
        loop {
            let mut array = None;
            let shape = |path: &Path, node: NodeRef<'_>| {
                array = self.find_array(path, node);
                array.as_ref().map(|found| found.shape.clone())
            };
            let Some(block) = next_block(&mut blocks, shape, |_| true) else { break };
            match array {
                Some(found) if found.matrix.is_some() => {
                    self.matrix(&block.path, block.node, found)?;
                }
                Some(found) => self.array(&block.path, block.node, found)?,
                None => self.block(&block.path, block.node, Some(&block.shape))?,
            }
        }
        let is_read = |(name, tensor): &(&str, &Tensor<'_>)| {
            let Some(places) = self.read.get(*name) else { return false };
            let stacked = places.iter().next().map_or(0, Vec::len);
            num_elements(tensor.shape().iter().take(stacked)) == Some(places.len())
        };
        if let Some((name, tensor)) = self.tensors.iter().find(|tensor| !is_read(tensor)) {
            let what = format!("the tensor `{name}`, {tensor}, is not part of the structure");
            return Err(ErrorKind::Structure(what).into());
        }
        Ok(self.leaves)
    }

    /// The tensor for a node that has the fields and the shape of an array, or is a matrix.
    fn find_array(&mut self, path: &Path, node: NodeRef<'_>) -> Option<ArrayLocation> {
        if let Some(found) = self.find_matrix(path, node) {
            return Some(found);
        }
        let fields = ArrayFields::of(node.fields())?;
        let (name, place) = self.namer.name(path, &self.export.stacks).ok()?;
        let indices = place.indices;
        let (dtype, shape) = real(self.by_name.get(name.as_str())?);
        let shape = shape.get(indices.len()..)?.to_vec();
        // The expected leaves beside the numbers.
        let ranges = node.children().enumerate().filter_map(|(position, child)| {
            let is_version = Some(position) == fields.version();
            let is_shape = position == fields.shape();
            (is_version || is_shape).then_some((child.leaf_range(), is_version))
        });
        let ranges: Vec<_> = ranges.collect();
        let integer = |leaf: usize| {
            let (range, is_version) = ranges.iter().find(|(range, _)| range.contains(&leaf))?;
            match shape.get(leaf.checked_sub(range.start)?) {
                _ if *is_version => Some(1),
                dim => u64::try_from(*dim?).ok(),
            }
        };
        let array = array_struct(node, integer)?;
        let is_type = match array.dtype() {
            Some((expected, _)) => expected == dtype,
            None => is_half(array.data(), dtype),
        };
        let fits = is_type && arrays::full_shape(node, &array)? == shape;
        fits.then_some(ArrayLocation { name, indices, shape, matrix: None })
    }

    /// The tensor for a matrix with numbers by columns: a list of the numbers, or a tuple of a
    /// list, rows and columns.
    fn find_matrix(&mut self, path: &Path, node: NodeRef<'_>) -> Option<ArrayLocation> {
        if self.matrices.is_empty() || !self.matrices.contains(&path.to_string()) {
            return None;
        }
        let (name, place) = self.namer.name(path, &self.export.stacks).ok()?;
        let indices = place.indices;
        let (dtype, shape) = real(self.by_name.get(name.as_str())?);
        let shape = shape.get(indices.len()..)?.to_vec();
        let node = node.inside_newtypes();
        let treedef = arrays::matrix_data(node).unwrap_or(node).to_treedef();
        let block = treedef.blocks().next()?;
        let is_whole =
            block.path.is_root() && block.node.leaf_range().len() == treedef.num_leaves();
        let (length, inner) = block.shape.split_first().filter(|_| is_whole)?;
        let sizes = shape.strip_suffix(inner).filter(|sizes| matches!(sizes.len(), 1 | 2))?;
        let fits = num_elements(sizes) == Some(*length) && is_half(block.node, dtype);
        let matrix = Some(sizes.len());
        fits.then_some(ArrayLocation { name, indices, shape, matrix })
    }

    /// Reads a matrix from its tensor.
    fn matrix(&mut self, path: &Path, node: NodeRef<'_>, found: ArrayLocation) -> Result<()> {
        let ArrayLocation { name, indices, shape, matrix } = found;
        let other = || {
            let what = format!("the tensor `{name}` is not what the structure has");
            Error::from(ErrorKind::Structure(what)).at_path(path.clone())
        };
        let node = node.inside_newtypes();
        let tensor = self.by_name.get(name.as_str()).ok_or_else(other)?;
        let (dtype, _) = real(tensor);
        let size = num_elements(&shape).and_then(|number| number.checked_mul(dtype.size()));
        let bytes = size.and_then(|size| slice(tensor, &indices, size)).ok_or_else(other)?;
        let is_read = match shape.as_slice() {
            [rows, columns, inner @ ..] if matrix == Some(2) => {
                let size = num_elements(inner).map(|number| number.saturating_mul(dtype.size()));
                let bytes = arrays::transposed(bytes, *columns, *rows, size.unwrap_or(0));
                L::read(dtype, &bytes, &mut self.leaves)
            }
            _ => L::read(dtype, bytes, &mut self.leaves),
        };
        if !is_read {
            return Err(other());
        }
        if arrays::matrix_data(node).is_some() {
            let sizes = matrix.and_then(|matrix| shape.get(..matrix)).or_bug();
            let usual = arrays::usual_sizes(node, sizes);
            for leaf in self.find_other_leaves(path, usual).ok_or_else(other)? {
                self.leaves.push(L::from_integer(leaf).ok_or_else(other)?);
            }
        }
        self.mark(name, indices, path)
    }

    /// The other leaves of an array: the usual ones, or others with the same numbers.
    fn find_other_leaves(&self, path: &Path, usual: Vec<Leaf>) -> Option<Vec<Leaf>> {
        let Some(literals) = self.other_leaves.get(&path.to_string()) else { return Some(usual) };
        let read = literals.iter().map(|text| text.parse::<Value>().ok().map(Leaf::from));
        let read: Option<Vec<Leaf>> = read.collect();
        let integers = |leaves: &[Leaf]| -> Vec<_> { leaves.iter().map(Leaf::as_u64).collect() };
        read.filter(|read| integers(read) == integers(&usual))
    }

    /// Reads a struct that holds an array from its tensor.
    fn array(&mut self, path: &Path, node: NodeRef<'_>, found: ArrayLocation) -> Result<()> {
        let ArrayLocation { name, indices, shape, .. } = found;
        let wrong = |what: String| Error::from(ErrorKind::Structure(what)).at_path(path.clone());
        let other = || wrong(format!("the tensor `{name}` is not what the structure has"));
        let fields = ArrayFields::of(node.fields()).ok_or_else(other)?;
        let usual = arrays::usual_leaves(node, fields, &shape);
        let other_leaves = self.find_other_leaves(path, usual).ok_or_else(other)?;
        let tensor = self.by_name.get(name.as_str()).ok_or_else(other)?;
        let (dtype, _) = real(tensor);
        let numbers = num_elements(&shape).and_then(|number| number.checked_mul(dtype.size()));
        let bytes = numbers.and_then(|size| slice(tensor, &indices, size)).ok_or_else(other)?;
        if shape.contains(&0) {
            self.empty_arrays += 1; // it is at most the limit
            if self.empty_arrays > EMPTY_ARRAYS {
                let what = format!("more than {EMPTY_ARRAYS} arrays without numbers");
                return Err(
                    Error::from(ErrorKind::limit("empty values", what)).at_path(path.clone())
                );
            }
        }
        let mut other_leaves = other_leaves.into_iter();
        for (position, child) in node.children().enumerate() {
            if position != fields.data() {
                for leaf in other_leaves.by_ref().take(child.num_leaves()) {
                    self.leaves.push(L::from_integer(leaf).ok_or_else(other)?);
                }
            } else if fields.dtype().is_some() {
                let leaf = Leaf::Bytes(bytes.into());
                self.leaves.push(L::from_rest(leaf).ok_or_else(other)?);
            } else if !L::read(dtype, bytes, &mut self.leaves) {
                return Err(other());
            }
        }
        self.mark(name, indices, path)
    }

    /// Reads a block. If it has no tensor, its children are read as blocks. Each call except the
    /// last reads a part of the tensors, so this ends.
    fn block(&mut self, path: &Path, node: NodeRef<'_>, shape: Option<&[usize]>) -> Result<()> {
        if let Some(found) = self.find_matrix(path, node) {
            return self.matrix(path, node, found);
        }
        let stacks = &self.export.stacks;
        let (name, place) = self.namer.name(path, stacks)?;
        let tensor = self.by_name.get(name.as_str());
        let part = tensor.and_then(|tensor| part(tensor, &place.indices, node, shape));
        // A tuple can have the name of its element that is stacked.
        let may_be_below = !stacks.is_empty() && part.is_none() && !node.is_leaf();
        if let Some(tensor) = tensor.filter(|_| !may_be_below) {
            let read = part.is_some_and(|part| L::read(real(tensor).0, part, &mut self.leaves));
            if !read {
                let what = format!("the tensor `{name}`, {tensor}, is not what the structure has");
                return Err(Error::from(ErrorKind::Structure(what)).at_path(path.clone()));
            }
            return self.mark(name, place.indices, path);
        }
        if !node.is_leaf() {
            for (position, child) in node.children().enumerate() {
                if child.num_leaves() > 0 {
                    let key = node.key(position).ok_or_else(|| bug!("a child has no key"))?;
                    self.block(&path.child(key), child, None)?;
                }
            }
            return Ok(());
        }
        let (name, place) = self.namer.name(path, &[])?;
        let literal = self.texts.get(name.as_str()).and_then(|text| text.parse::<Value>().ok());
        let leaf = literal.and_then(|value| L::from_rest(value.into()));
        let missing = || Error::from(ErrorKind::Structure(format!("there is no tensor `{name}`")));
        self.leaves.push(leaf.ok_or_else(|| missing().at_path(path.clone()))?);
        self.mark(name, place.indices, path)
    }

    /// Records a read. Nothing may be read twice.
    fn mark(&mut self, name: String, indices: Vec<usize>, path: &Path) -> Result<()> {
        if self.read.entry(name.clone()).or_default().insert(indices) {
            Ok(())
        } else {
            let what = format!("the name `{name}` is that of two paths");
            Err(Error::from(ErrorKind::Structure(what)).at_path(path.clone()))
        }
    }
}

/// The bytes of a tensor at these indices in its stacks, if it has the shape and type of the
/// node.
fn part<'t>(
    tensor: &'t Tensor<'_>,
    indices: &[usize],
    node: NodeRef<'_>,
    shape: Option<&[usize]>,
) -> Option<&'t [u8]> {
    let (dtype, dims) = real(tensor);
    let rest = dims.get(indices.len()..)?;
    let has_shape = match shape {
        Some(shape) => rest == shape,
        None => node
            .to_treedef()
            .blocks()
            .next()
            .is_some_and(|block| block.path.is_root() && block.shape == rest),
    };
    let size = node.num_leaves().checked_mul(dtype.size())?;
    slice(tensor, indices, size).filter(|_| has_shape && is_half(node, dtype))
}

/// The bytes at these indices in stacks of the given lengths.
fn slice<'t>(tensor: &'t Tensor<'_>, indices: &[usize], size: usize) -> Option<&'t [u8]> {
    let dims = tensor.shape();
    let number = indices.iter().zip(dims).try_fold(0usize, |number, (index, dim)| {
        number.checked_mul(*dim)?.checked_add(*index).filter(|_| index < dim)
    })?;
    let start = number.checked_mul(size)?;
    tensor.bytes().get(start..start.checked_add(size)?)
}

/// The type and the shape, with each complex number as two numbers.
fn real(tensor: &Tensor<'_>) -> (Dtype, Vec<usize>) {
    let mut shape = tensor.shape().to_vec();
    let dtype = match tensor.dtype() {
        Dtype::C64 => Dtype::F32,
        Dtype::C128 => Dtype::F64,
        dtype => return (dtype, shape),
    };
    shape.push(2);
    (dtype, shape)
}

/// Whether the block and the tensor agree about half floats.
fn is_half(node: NodeRef<'_>, dtype: Dtype) -> bool {
    let half = Some(dtype).filter(|dtype| matches!(dtype, Dtype::F16 | Dtype::Bf16));
    half_float(node) == half || half.is_none() && dtype != Dtype::U16
}
