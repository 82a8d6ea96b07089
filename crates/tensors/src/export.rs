//! Writes trees as named tensors, and restores them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value as Json;
use treedef::{Edit, Key, Leaf, Path, Pattern, Tree, TreeDef, Value};

use crate::arrays::transposed;
use crate::bug::OrBug;
use crate::element::Element;
use crate::error::{Error, ErrorKind, Result};
use crate::name_mapping::{NameMapping, TwoWayRenames};
use crate::names::{NamePrinter, StackPattern, TensorName};
use crate::shape::{display, num_elements};
use crate::structure::{
    MATRICES, VALUES, is_of_file, is_of_structure, mark_values, would_be_tied, write_other_leaves,
    write_renames, write_structure,
};
use crate::tensor::{Dtype, Tensor, Tensors};
use crate::tensor_blocks::{TensorBlock, array, parts};

/// The name that safetensors reserves.
pub(crate) const METADATA: &str = "__metadata__";
/// The hint if elements differ.
const ALIKE: &str = " (name what is alike: see `Export::stack`)";

/// Rules that turn a tree into named tensors: one for each block of leaves of one kind, and one for
/// each array.
///
/// The name of a tensor is the path of its block, joined by `.`:
///
/// | here | in the name |
/// |---|---|
/// | field of a struct | its name |
/// | element of a sequence, a tuple or a tuple struct | its index |
/// | entry of a map | its key |
/// | newtype, `Some` | nothing |
/// | variant | its name, and then its field or index if it has several |
///
/// An array in newtypes is one tensor. Newtypes named `f16` and `bf16` around a `u16` are half
/// floats. Nodes without leaves have no tensor: `None`, an empty sequence, a unit, a static.
///
/// A struct that holds an array is one tensor: `{ v, dim, data }` of `ndarray`, `{ shape, data }`
/// and `{ dim, data }` of others, `{ bytes, shape, dtype }` of `burn`, if the number of elements
/// fits the shape. An empty array is an `f32`, because it does not show its type.
///
/// Matrices of `nalgebra` and `glam` have no name in serde: a static matrix is a tuple of its
/// numbers, and a dynamic one is a tuple of numbers, rows and columns. By default they are exported
/// as tuples. With [a rule](treedef::ArrayRule) of the flattener, each is one tensor, and `[i, j]`
/// is the same number here and in Python. [`Loader::column_major`](crate::Loader::column_major)
/// reads them.
///
/// ```
/// use treedef::{ArrayRule, Flattener};
/// use treedef_tensors::{Loader, Tensors};
///
/// // An `SMatrix<f64, 2, 3>` and a `DMatrix<f64>` as serde sees them: by columns.
/// let columns = vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0];
/// let model = ((1.0, 4.0, 2.0, 5.0, 3.0, 6.0), (columns, 2u64, 3u64));
/// let rules = Flattener::new()
///     .arrays(true)
///     .array_rule(ArrayRule::Matrix(".0".parse()?, 2, 3))
///     .array_rule(ArrayRule::Nalgebra(".1".parse()?));
/// let tree = rules.tree(&model)?;
/// let tensors = Tensors::of(&tree)?;
/// for name in ["0", "1"] {
///     let tensor = tensors.get(name).unwrap();
///     assert_eq!(tensor.shape(), [2, 3]);
///     assert_eq!(tensor.as_slice::<f64>().unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
/// }
/// # type Model = ((f64, f64, f64, f64, f64, f64), (Vec<f64>, u64, u64));
/// assert_eq!(Loader::new().column_major("*").load::<Model>(&tensors)?, model);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// ```
/// use treedef::Tree;
/// use treedef_tensors::Tensors;
///
/// #[derive(serde::Serialize)]
/// struct Linear { w: ndarray::Array2<f32>, b: Vec<f32> }
///
/// let layers = vec![Linear { w: ndarray::Array2::zeros((2, 3)), b: vec![0.5; 2] }];
/// let tree = Tree::of(&layers)?;
/// let tensors = Tensors::of(&tree)?;
/// assert_eq!(tensors.get("0.w").unwrap().to_string(), "f32[2, 3]");
/// assert_eq!(tensors.iter().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// ```
/// use treedef::Tree;
/// use treedef_tensors::Export;
///
/// let tree = Tree::of(&[("a", [[1f32, 2.0], [3.0, 4.0]])])?;
/// let error = Export::new().tensors(&tree).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "tensors hold no str at `.0.0` (see `Export::rest_in_metadata`)"
/// );
///
/// let tensors = Export::new().separator("/").rest_in_metadata(true).tensors(&tree)?;
/// assert_eq!(tensors.get("0/1").unwrap().to_string(), "f32[2, 2]");
/// assert_eq!(tensors.metadata("0/0"), Some("\"a\""));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Export {
    separator: String,
    function: Option<Arc<NameOf>>,
    renames: Vec<(String, String)>,
    pub(crate) stacks: Vec<StackPattern>,
    /// The last text in the place of a pattern that is none.
    not_a_pattern: Option<String>,
    rest: bool,
    structure: bool,
}

type NameOf = dyn Fn(&Path) -> String + Send + Sync;

impl Default for Export {
    fn default() -> Self {
        Export {
            separator: ".".to_owned(),
            function: None,
            renames: Vec::new(),
            stacks: Vec::new(),
            not_a_pattern: None,
            rest: false,
            structure: true,
        }
    }
}

impl fmt::Debug for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Export").field("stacks", &self.stacks).finish_non_exhaustive()
    }
}

impl<'a> Tensors<'a> {
    /// The tensors of a tree, named and ordered as [`Export`] does by default.
    ///
    /// # Errors
    ///
    /// As [`Export::tensors`].
    ///
    /// ```
    /// use treedef::Tree;
    /// use treedef_tensors::Tensors;
    ///
    /// let tree = Tree::of(&vec![(1u8, [[0.5f32; 4]; 3])])?;
    /// let tensors = Tensors::of(&tree)?.with_metadata("format", "pt");
    /// assert_eq!(tensors.get("0.1").unwrap().to_string(), "f32[3, 4]");
    /// assert_eq!(tensors.metadata("format"), Some("pt"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of<L: Element>(tree: &'a Tree<L>) -> Result<Self> {
        Export::new().tensors(tree)
    }
}

/// The blocks that make one tensor: a single one, or the blocks of all elements of a sequence.
struct BlockGroup {
    name: String,
    /// The path of the first block.
    path: Path,
    /// The same path without the indices of stacked sequences.
    key: Path,
    dtype: Dtype,
    shape: Vec<usize>,
    /// The indices of the last block in the stacked sequences, and the lengths of these.
    last: Vec<usize>,
    dims: Vec<usize>,
    /// The leaves, and whether they are the columns of a matrix of two dimensions.
    leaves: Vec<(Range<usize>, bool)>,
}

/// Names the paths of a structure by the rules of an export.
pub(crate) struct Namer<'e, 't> {
    export: &'e Export,
    printer: NamePrinter<'t>,
    names: TwoWayRenames<'e>,
}

impl Export {
    /// Names joined by `.`, one tensor for each block, and the structure in the metadata.
    pub fn new() -> Self {
        Export::default()
    }

    /// Sets the separator of the parts of a name, also in patterns: `/` instead of `.`, for example.
    #[must_use]
    pub fn separator(self, separator: &str) -> Self {
        Export { separator: separator.to_owned(), ..self }
    }

    /// Renames the tensors that match, and the texts that are values. The patterns are as in
    /// [`Loader::rename`], which renames them back. Each rule is applied to all names before the next. A
    /// loader needs the rules in the opposite order; use [`with_names`](Self::with_names) for both. It is
    /// an error if a pattern matches nothing. The metadata `treedef.renames` stores the patterns, so that
    /// values without a tensor are also found.
    ///
    /// If a field has one name in all files, let serde rename it: `#[serde(rename = "weight")]`.
    ///
    /// [`Loader::rename`]: crate::Loader::rename
    ///
    /// ```
    /// use serde::{Deserialize, Serialize};
    /// use treedef::Tree;
    /// use treedef_tensors::{Export, Loader};
    ///
    /// #[derive(Debug, PartialEq, Serialize, Deserialize)]
    /// enum Act { Relu, Prelu { slope: f32 } }
    ///
    /// #[derive(Debug, PartialEq, Serialize, Deserialize)]
    /// struct Layer { w: Vec<[f32; 2]>, act: Act }
    ///
    /// let layer = |act| Layer { w: vec![[1.0, 2.0]; 3], act };
    /// let model = vec![layer(Act::Relu), layer(Act::Prelu { slope: 0.5 })];
    /// let tree = Tree::of(&model)?;
    /// let torch = Export::new().rename("**.w", "**.weight").rename("**.Prelu.slope", "**.slope");
    /// let tensors = torch.tensors(&tree)?;
    /// let names: Vec<&str> = tensors.iter().map(|(name, _)| name).collect();
    /// assert_eq!(names, ["0.weight", "1.weight", "1.act.slope"]);
    ///
    /// let loader = Loader::new().rename("**.slope", "**.Prelu.slope").rename("**.weight", "**.w");
    /// assert_eq!(loader.load::<Vec<Layer>>(&tensors)?, model);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn rename(mut self, from: &str, to: &str) -> Self {
        self.renames.push((from.to_owned(), to.to_owned()));
        self
    }

    /// Renames the tensors, and the texts that are values, from the names of the type to the names in
    /// files: as [`rename`](Self::rename) with each of the rules. [`Loader::with_names`] reads such a file.
    ///
    /// [`Loader::with_names`]: crate::Loader::with_names
    #[must_use]
    pub fn with_names(mut self, names: &NameMapping) -> Self {
        self.renames.extend_from_slice(names.rules());
        self
    }

    /// Names each tensor by a function of its path, for names that [`rename`](Self::rename) cannot make,
    /// such as `block_0`. A [`Loader`](crate::Loader) does not read such names of variants: it expects the
    /// variant in the name, which [`Path::to_joined_string`] leaves out.
    ///
    /// ```
    /// use treedef::Tree;
    /// use treedef_tensors::Export;
    ///
    /// let export = Export::new().names(|path| path.to_string());
    /// let tree = Tree::<f32>::of_as(&vec![[0.5f32], [1.0]])?;
    /// let tensors = export.tensors(&tree)?;
    /// assert_eq!(tensors.iter().len(), 1); // the root, whose path is empty
    /// assert_eq!(tensors.get("").unwrap().shape(), [2, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn names(self, name: impl Fn(&Path) -> String + Send + Sync + 'static) -> Self {
        Export { function: Some(Arc::new(name)), ..self }
    }

    /// Stacks the elements that a `[*]` in the pattern stands for: everything that the pattern
    /// names below them becomes one tensor with a leading axis, whose name has no index. All
    /// elements must have the same parts there.
    ///
    /// | pattern | stacked parts |
    /// |---|---|
    /// | `layers[*]`, or `layers` | everything in the elements of `layers` |
    /// | `layers[*].w` | only `w`; the rest stays `layers.0.b`, `layers.1.b` |
    /// | `layers[*].heads[*].q` | `q`, with an axis for each |
    /// | `**.heads[*]`, or `**.heads` | everything in the elements of each sequence `heads`; sequences that `**` passes keep their index |
    /// | `[*]`, or `""` | everything in the elements of the root |
    /// | `**` | the elements of all sequences |
    ///
    /// `[*]` is also any element of a tuple, as fixed arrays are tuples. A pattern without it names
    /// the sequence. It does not stack the sequences in its elements.
    ///
    /// Strings and other values that can go into the metadata keep their indices. A text that is not a
    /// pattern is an error of [`tensors`](Self::tensors) and [`tree`](Self::tree).
    ///
    /// ```
    /// use serde::Serialize;
    /// use treedef::Tree;
    /// use treedef_tensors::Export;
    ///
    /// #[derive(Clone, Serialize)]
    /// struct Particle { pos: [f64; 3], mass: f64 }
    ///
    /// let tree = Tree::<f64>::of_as(&vec![Particle { pos: [0.0; 3], mass: 1.0 }; 100])?;
    /// assert_eq!(Export::new().tensors(&tree)?.get("99.pos").unwrap().shape(), [3]);
    ///
    /// let export = Export::new().stack("[*]"); // or `[*].pos`, for that alone
    /// let tensors = export.tensors(&tree)?;
    /// assert_eq!(tensors.get("pos").unwrap().shape(), [100, 3]);
    /// assert_eq!(tensors.get("mass").unwrap().shape(), [100]);
    /// assert_eq!(export.tree::<f64>(&tensors)?, tree);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stack(mut self, pattern: &str) -> Self {
        match pattern.parse().map_err(Error::from).and_then(StackPattern::new) {
            Ok(stack) => self.stacks.push(stack),
            Err(_) => self.not_a_pattern = Some(pattern.to_owned()),
        }
        self
    }

    /// Returns an error if a text is not a pattern.
    pub(crate) fn expect_patterns(&self) -> Result<()> {
        self.not_a_pattern.as_ref().map_or(Ok(()), |text| Ok(text.parse::<Pattern>().map(drop)?))
    }

    /// Puts leaves that no tensor holds (strings, chars, bytes, absent values and integers of 128
    /// bits) into the metadata, as literals under the names that their tensors would have.
    /// Otherwise they are an error. Without a structure in the metadata, `treedef.values` marks them there: a
    /// text of another program is not part of the value.
    #[must_use]
    pub fn rest_in_metadata(self, yes: bool) -> Self {
        Export { rest: yes, ..self }
    }

    /// Sets whether the metadata has the structure, so that [`tree`](Self::tree) can read the
    /// tensors. The default is `true`. The order in which the entries of maps arrived is not part
    /// of it: they are restored in the order of their keys.
    #[must_use]
    pub fn structure_in_metadata(self, yes: bool) -> Self {
        Export { structure: yes, ..self }
    }

    /// The tensors of a tree, in its order. On a little-endian machine, the tensors of a tree of numbers
    /// borrow its leaves, except stacked ones. An [`Array`](treedef::Array) that is one leaf becomes the
    /// same tensor as its numbers as leaves would, and is borrowed, unless it is column-major: then its rows
    /// are written.
    ///
    /// # Errors
    ///
    /// - When leaves have no dtype; the error has all their paths.
    /// - When two paths have the same name, a tensor has the name `__metadata__`, or a value in the metadata has a
    ///   name that is reserved for the structure.
    /// - When the text of a value in the metadata is the name of a tensor: a loader would take it for a tie.
    /// - When the elements of a stacked sequence differ, or a pattern matches nodes below
    ///   elements, but stacks none, or matches nothing at all.
    /// - When a pattern of [`rename`](Self::rename) matches nothing, or does not have the wildcards of
    ///   the other, or when the loader would not restore a name.
    pub fn tensors<'a, L: Element>(&self, tree: &'a Tree<L>) -> Result<Tensors<'a>> {
        self.expect_patterns()?;
        match L::without_arrays(tree)? {
            Some(tree) => Ok(self.tensors_of(&tree)?.into_owned()),
            None => self.tensors_of(tree),
        }
    }

    /// The tensors of a tree whose arrays are tensors as they are.
    fn tensors_of<'a, L: Element>(&self, tree: &'a Tree<L>) -> Result<Tensors<'a>> {
        let mut namer = self.namer(tree.treedef())?;
        let (mut groups, mut by_name) = (Vec::<BlockGroup>::new(), HashMap::<String, usize>::new());
        let (mut rest, mut other_leaves, mut matrices) = (Vec::new(), Vec::new(), Vec::new());
        // The patterns that stacked nothing yet, and the nodes that they match without stacking them.
        let stacks = self.stacks.iter().enumerate();
        let mut idle: Vec<_> = stacks.map(|(index, stack)| (index, stack, None)).collect();
        let mut idle_renames: Vec<usize> = (0..self.renames.len()).collect();
        for part in parts(tree) {
            let mut part = part?;
            if part.matrix.is_some() {
                matrices.push(part.path.to_string());
            }
            if let Some(leaves) = part.other_leaves.take() {
                let literals: Vec<String> = leaves.iter().map(Leaf::to_string).collect();
                other_leaves.push((part.path.to_string(), literals));
            }
            let Some(dtype) = part.dtype else {
                rest.push((part.path, part.leaves));
                continue;
            };
            let (name, place) = namer.name(&part.path, &self.stacks)?;
            idle.retain(|(stack, ..)| !place.stacked_by.contains(stack));
            idle_renames.retain(|rule| !place.renamed_by.contains(rule));
            if place.key.keys().iter().any(|key| matches!(key, Key::Index(_))) {
                for (_, stack, named) in idle.iter_mut().filter(|(.., named)| named.is_none()) {
                    let path = Some(&part.path).filter(|path| stack.pattern.covers(path));
                    *named = path.cloned();
                }
            }
            match by_name.get(&name).and_then(|index| groups.get_mut(*index)) {
                Some(group) => group.push(part, dtype, place)?,
                None => {
                    by_name.insert(name.clone(), groups.len());
                    groups.push(BlockGroup::new(name, part, dtype, place));
                }
            }
        }
        for (_, stack, named) in idle {
            let pattern = &stack.pattern;
            if let Some(path) = named {
                let what = format!(
                    "`{pattern}` stacks nothing: `[*]` stands for the elements, as in `layers[*].w`"
                );
                return Err(Error::from(ErrorKind::Rule(what)).at_path(path));
            }
            if !stack.is_in(tree.treedef()) {
                let what = format!("`{pattern}` names nothing here");
                return Err(ErrorKind::Rule(what).into());
            }
        }
        let path = |name: &str| Some(&groups.get(*by_name.get(name)?)?.path);
        let mut metadata = self.rest(tree, rest, path, &mut namer, &mut idle_renames)?;
        if let Some((from, _)) = idle_renames.first().and_then(|rule| self.renames.get(*rule)) {
            return Err(ErrorKind::Rule(format!("`{from}` matches no tensor")).into());
        }
        if self.structure {
            write_structure(structure(tree)?.as_ref(), &mut metadata)?;
            write_other_leaves(other_leaves, &mut metadata)?;
            write_renames(&self.renames, &mut metadata)?;
            if !matrices.is_empty() {
                metadata.push((MATRICES.to_owned(), Json::from(matrices).to_string()));
            }
        } else {
            mark_values(&mut metadata);
        }
        debug_assert!(is_distinct(&metadata), "a key is twice in the metadata");
        let tensors = groups.into_iter().map(|group| group.tensor(tree));
        Ok(Tensors { tensors: tensors.collect::<Result<_>>()?, metadata })
    }

    pub(crate) fn writes_structure(&self) -> bool {
        self.structure
    }

    pub(crate) fn renames(&self) -> &[(String, String)] {
        &self.renames
    }

    /// A namer for the paths of a structure.
    pub(crate) fn namer<'a>(&'a self, treedef: &'a TreeDef) -> Result<Namer<'a, 'a>> {
        Ok(Namer {
            export: self,
            printer: NamePrinter::new(treedef),
            names: TwoWayRenames::of(&self.renames, &self.separator)?,
        })
    }

    /// Metadata with the leaves that have no dtype. `of_tensor` returns the path of the tensor of a name.
    fn rest<'p, L: Element>(
        &self,
        tree: &Tree<L>,
        rest: Vec<(Path, Range<usize>)>,
        of_tensor: impl Fn(&str) -> Option<&'p Path>,
        namer: &mut Namer<'_, '_>,
        idle_renames: &mut Vec<usize>,
    ) -> Result<Vec<(String, String)>> {
        let (mut metadata, mut paths) = (Vec::new(), HashMap::new());
        let mut refused = Vec::new();
        for (path, range) in rest {
            let leaves = tree.leaves().get(range.clone()).or_bug();
            let leaves: Vec<&Leaf> = leaves.iter().filter_map(L::as_leaf).collect();
            let texts: Option<Vec<String>> = leaves.iter().map(|leaf| literal(leaf)).collect();
            if let Some(texts) = texts.filter(|_| self.rest) {
                for (leaf, text) in range.zip(texts) {
                    let path = tree.treedef().leaf_path(leaf)?;
                    let (name, place) = namer.name(&path, &[])?;
                    idle_renames.retain(|rule| !place.renamed_by.contains(rule));
                    if is_of_structure(&name) && (self.structure || name == VALUES) {
                        return Err(Error::from(ErrorKind::Reserved(name)).at_path(path));
                    }
                    if let Some(first) = of_tensor(&name).or_else(|| paths.get(&name)).cloned() {
                        return Err(Error::from(ErrorKind::Clash { name, first }).at_path(path));
                    }
                    if of_tensor(&text).is_some() && !is_of_file(&name) {
                        return Err(would_be_tied(&text).at_path(path));
                    }
                    paths.insert(name.clone(), path);
                    metadata.push((name, text));
                }
            } else if let Some(leaf) = leaves.first() {
                refused.push((path, leaf.kind()));
            }
        }
        if refused.is_empty() { Ok(metadata) } else { Err(ErrorKind::NoDtype(refused).into()) }
    }
}

impl Namer<'_, '_> {
    /// The name of a path, with its place in a stack.
    pub(crate) fn name(
        &mut self,
        path: &Path,
        stacks: &[StackPattern],
    ) -> Result<(String, TensorName)> {
        let mut place = self.printer.name(path, stacks);
        let before = match &self.export.function {
            Some(function) => function(&place.key),
            None => place.parts.join(&self.export.separator),
        };
        let name = self.names.in_file(&before, |rule| place.renamed_by.push(rule));
        let name = name.map_err(|error| error.at_path(path.clone()))?;
        if name == METADATA {
            Err(Error::from(ErrorKind::Reserved(name)).at_path(path.clone()))
        } else {
            Ok((name, place))
        }
    }
}

impl BlockGroup {
    fn new(name: String, part: TensorBlock, dtype: Dtype, place: TensorName) -> Self {
        let TensorBlock { path, shape, leaves, matrix, .. } = part;
        let TensorName { key, indices: last, dims, .. } = place;
        BlockGroup {
            name,
            path,
            key,
            dtype,
            shape,
            last,
            dims,
            leaves: vec![(leaves, matrix == Some(2))],
        }
    }

    /// Adds the block of a later element.
    fn push(&mut self, part: TensorBlock, dtype: Dtype, place: TensorName) -> Result<()> {
        let TensorBlock { path, shape, leaves, matrix, .. } = part;
        // The tree is in the order of the indices, and all blocks have the same number of them.
        let is_next = place.indices.len() == self.last.len() && place.indices > self.last;
        if place.key != self.key || !is_next {
            let (name, first) = (self.name.clone(), self.path.clone());
            return Err(Error::from(ErrorKind::Clash { name, first }).at_path(path));
        }
        if (dtype, &shape) != (self.dtype, &self.shape) {
            let (here, first) = (display(dtype, &shape), display(self.dtype, &self.shape));
            let what = format!("{here} cannot be stacked with {first} at `{}`{ALIKE}", self.path);
            return Err(Error::from(ErrorKind::Structure(what)).at_path(path));
        }
        // Where lengths differ, there are fewer blocks than the longest dimensions have places.
        for (dim, other) in self.dims.iter_mut().zip(place.dims) {
            *dim = other.max(*dim);
        }
        self.last = place.indices;
        self.leaves.push((leaves, matrix == Some(2)));
        Ok(())
    }

    fn tensor<L: Element>(mut self, tree: &Tree<L>) -> Result<(String, Tensor<'_>)> {
        if num_elements(&self.dims) != Some(self.leaves.len()) {
            let name = &self.name;
            let what = format!("not all elements have `{name}`, so they cannot be stacked{ALIKE}");
            return Err(Error::from(ErrorKind::Structure(what)).at_path(self.path));
        }
        let bytes = |(range, by_columns): &(Range<usize>, bool)| {
            let bytes = L::bytes(tree.leaves().get(range.clone()).or_bug());
            match self.shape.as_slice() {
                [rows, columns, inner @ ..] if *by_columns => {
                    let size = num_elements(inner).or_bug().saturating_mul(self.dtype.size());
                    Cow::Owned(transposed(&bytes, *rows, *columns, size))
                }
                _ => bytes,
            }
        };
        let all = match self.leaves.as_slice() {
            [range] => bytes(range),
            ranges => ranges.iter().flat_map(|range| bytes(range).into_owned()).collect(),
        };
        self.shape.splice(0..0, self.dims);
        Ok((self.name, Tensor::new(self.dtype, self.shape, all)?))
    }
}

/// The structure with each number of an array as a leaf.
fn structure<L: Element>(tree: &Tree<L>) -> Result<Cow<'_, TreeDef>> {
    if tree.leaves().iter().all(|leaf| array(leaf).is_none()) {
        return Ok(Cow::Borrowed(tree.treedef()));
    }
    let units = |treedef: TreeDef| {
        let leaves = vec![(); treedef.num_leaves()];
        Tree::new(treedef, leaves)
    };
    let edited = units(tree.treedef().clone())?.edit(|_, node, _| {
        let leaf = tree.leaves().get(node.leaf_range().start).filter(|_| node.is_leaf());
        match leaf.and_then(L::as_leaf) {
            Some(Leaf::Opaque(value)) if value.as_array().is_some() => {
                Ok(Edit::Replace(units(value.root().to_treedef())?))
            }
            _ => Ok(Edit::Keep),
        }
    })?;
    Ok(Cow::Owned(edited.treedef().clone()))
}

/// A leaf as a literal that is read as the same leaf.
fn literal(leaf: &Leaf) -> Option<String> {
    let text = match leaf {
        Leaf::None => "None".to_owned(),
        leaf => leaf.to_string(),
    };
    let read: Value = text.parse().ok()?;
    (Leaf::from(read) == *leaf).then_some(text)
}

fn is_distinct(metadata: &[(String, String)]) -> bool {
    let keys: HashSet<_> = metadata.iter().map(|(key, _)| key).collect();
    keys.len() == metadata.len()
}
