//! Loads values of any type from named tensors.
//!
//! Only the type gives a name its meaning: if its `Deserialize` requests a sequence, `0` is an
//! index; if it requests numbers, or sequences of numbers, a tensor is read.

mod failure;
mod tensor_reader;
mod entry;
mod report;
mod diagnostics;
mod array_repr;
mod empty_values;
mod rules;
mod entry_builder;
mod key;
mod context;
mod tensor_slice;
mod name_scope;
mod primitive;
mod value_deserializer;
mod read_ahead;
mod access;
mod array_access;
mod deserializer;
mod matrix;
mod objects;

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use serde::de::DeserializeOwned;
use treedef::{Key, Leaf, NodeKind, NodeRef, Tree, TreeDef};

use crate::error::{ErrorKind, Result};
use crate::export::Export;
use crate::glob::{Glob, parts};
use crate::load::array_repr::{ArrayRepr, ArrayReprs};
use crate::load::context::{LoadContext, with_reprs};
use crate::load::entry::is_float;
use crate::load::failure::Failure;
use crate::load::name_scope::NameScope;
use crate::load::primitive::overflow;
use crate::load::report::UnusedTensor;
use crate::load::rules::Rule;
use crate::load::value_deserializer::ValueDeserializer;
use crate::name_mapping::NameMapping;
use crate::report::LoadReport;
use crate::shape::display;
use crate::source::Source;
use crate::structure::{STRUCTURE, parse_structure, structure_of};
use crate::tensor::{Dtype, Tensor, Tensors};

/// serde stops at the first missing field. To report all, a load starts again up to this many
/// times.
const WALKS: usize = 64;

/// The hint if a type refuses a value that it would accept elsewhere.
const BUFFER: &str = " (in a buffer of serde, as below `flatten`, where a tensor is nested sequences and a key a text: \
                      `Loader::load_like` reads what an example has there)";

/// The hint if a key cannot be read without the structure.
const KEYS: &str =
    " (the structure in the metadata tells keys such as tuples to a load without rules)";

/// Rules for loading a value from named tensors, and for allowed differences.
///
/// Only the type gives names their meaning. A struct requests its fields, a sequence or a tuple
/// `0`, `1`, …, a map everything below its name, and a newtype and `Some` add no part to the name,
/// as in [`Export`]. If the type has numbers, a tensor is read: nested vectors and arrays,
/// `ndarray` arrays, `{ shape, data }`, burn's `TensorData`, half floats. `Option` and
/// `#[serde(default)]` may be missing; any other difference is an error, which lists them all. If a
/// number of a tensor is not in the value, the tensor is reported as unused, so even a type whose
/// fields all have defaults loses no numbers silently.
///
/// The rules change the names of the file into the names of the type. Each is applied to all tensors before
/// the next. Patterns are written like [`Pattern`](treedef::Pattern)s: `*` or `[*]` is one part of a name,
/// `**` any number of parts, `{w,bias}` one of these, and `[2:5]` a number from 2 to 4. A pattern also
/// matches everything below: `rename("model.norm", "norm")` also renames `model.norm.weight`.
///
/// If Rust wrote the file with the structure in its metadata, [`Export::tree`] returns the original tree,
/// and [`Tree::into_typed`] its value. A loader also reads files of other programs, and of types that have
/// changed since.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use treedef::Tree;
/// use treedef_tensors::{Loader, Tensors};
///
/// #[derive(Debug, PartialEq, Serialize, Deserialize)]
/// struct Linear { w: Vec<[f32; 2]>, b: Option<Vec<f32>> }
///
/// #[derive(Debug, PartialEq, Serialize, Deserialize)]
/// struct Model { layers: Vec<Linear> }
///
/// # #[derive(Serialize)] struct Torch { weight: [[f32; 3]; 2] }
/// # #[derive(Serialize)] struct Net { layers: [Torch; 2] }
/// # let torch = || Torch { weight: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]] };
/// # let file = Tree::of(&Net { layers: [torch(), torch()] })?;
/// // PyTorch calls it `weight`, with the shape `[out, in]`.
/// let tensors = Tensors::of(&file)?;
/// assert_eq!(tensors.get("layers.0.weight").unwrap().shape(), [2, 3]);
///
/// let loader = Loader::new().rename("**.weight", "**.w").transpose("**.w");
/// let model: Model = loader.load(&tensors)?;
/// assert_eq!(model.layers[1], Linear { w: vec![[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]], b: None });
///
/// let error = Loader::new().load::<Model>(&tensors).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "the tensors do not fit the type\n\
///      missing `layers.0.w`: f32[_, 2]\n\
///      missing `layers.1.w`: f32[_, 2]\n\
///      unused `layers.0.weight`: f32[2, 3]\n\
///      unused `layers.1.weight`: f32[2, 3]"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Loader {
    separator: String,
    rules: Vec<Rule>,
    stacks: Vec<String>,
    convert: bool,
    base: Option<Tensors<'static>>,
}

impl Default for Loader {
    fn default() -> Self {
        let separator = ".".to_owned();
        Loader { separator, rules: Vec::new(), stacks: Vec::new(), convert: false, base: None }
    }
}

impl Loader {
    /// Names joined by `.`, and no rules.
    pub fn new() -> Self {
        Loader::default()
    }

    /// Sets the separator of the names, also in patterns.
    #[must_use]
    pub fn separator(self, separator: &str) -> Self {
        Loader { separator: separator.to_owned(), ..self }
    }

    /// Renames the tensors of the file that match, and the texts that are values, to names of the type.
    /// The other pattern has the same wildcards in the same order:
    /// `rename("**.attn.c_attn.weight", "**.qkv.w")`.
    #[must_use]
    pub fn rename(mut self, from: &str, to: &str) -> Self {
        let (from, to) = (from.to_owned(), to.to_owned());
        self.rules.push(Rule::Rename { from, to, may_match_nothing: false });
        self
    }

    /// As [`rename`](Self::rename), for names that only some files have: it is not an error if nothing
    /// matches. PyTorch puts `module.` before the names of a model in `DataParallel`, and `_orig_mod.`
    /// before the names of a compiled one.
    ///
    /// ```
    /// use treedef_tensors::{Dtype, Loader, Tensor, Tensors};
    ///
    /// #[derive(serde::Serialize, serde::Deserialize)]
    /// struct Model { w: [u8; 2] }
    ///
    /// let loader = Loader::new()
    ///     .rename_if_present("module.**", "**")
    ///     .rename_if_present("_orig_mod.**", "**");
    /// for name in ["w", "module.w", "module._orig_mod.w"] {
    ///     let tensor = Tensor::new(Dtype::U8, vec![2], vec![1, 2])?;
    ///     let tensors = Tensors::new([(name.to_owned(), tensor)])?;
    ///     assert_eq!(loader.load::<Model>(&tensors)?.w, [1, 2]);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn rename_if_present(mut self, from: &str, to: &str) -> Self {
        let (from, to) = (from.to_owned(), to.to_owned());
        self.rules.push(Rule::Rename { from, to, may_match_nothing: true });
        self
    }

    /// Renames the tensors of the file, and the texts that are values, from the names in files to the names
    /// of the type: as [`rename`](Self::rename) with each of the rules, the last one first.
    /// [`Export::with_names`] writes such a file.
    ///
    /// Loading is an error if a rule matches nothing, or if the names cannot be reversed: see [`NameMapping`].
    #[must_use]
    pub fn with_names(mut self, names: &NameMapping) -> Self {
        self.rules.push(Rule::Names(names.clone()));
        self
    }

    /// Reads the tensors that match `stored` also under another name, for a type with two fields
    /// for one tensor of the file. If the file has a tensor with that name, it is not replaced. The
    /// other pattern has the same wildcards in the same order; later rules apply to each of the
    /// names.
    ///
    /// ```
    /// use treedef_tensors::{Dtype, Loader, Tensor, Tensors};
    ///
    /// #[derive(serde::Serialize, serde::Deserialize)]
    /// struct Weight { weight: [u8; 2] }
    /// #[derive(serde::Serialize, serde::Deserialize)]
    /// struct Model { wte: Weight, lm_head: Weight }
    ///
    /// let tensor = Tensor::new(Dtype::U8, vec![2], vec![1, 2])?;
    /// let tensors = Tensors::new([("wte.weight".to_owned(), tensor)])?;
    /// let model: Model = Loader::new().tie("lm_head.weight", "wte.weight").load(&tensors)?;
    /// assert_eq!(model.lm_head.weight, model.wte.weight);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn tie(mut self, alias: &str, stored: &str) -> Self {
        self.rules.push(Rule::Tie(alias.to_owned(), stored.to_owned()));
        self
    }

    /// Swaps the last two axes of the tensors that match.
    #[must_use]
    pub fn transpose(mut self, pattern: &str) -> Self {
        self.rules.push(Rule::Transpose(pattern.to_owned()));
        self
    }

    /// Reads the tensors that match into matrices of `nalgebra` and `glam`, which are serialized by
    /// columns: a static matrix is a tuple of its numbers, a dynamic one a tuple of the numbers, the rows
    /// and the columns. `[i, j]` is the same number in the file and in the matrix. A vector is a tensor of
    /// one dimension.
    ///
    /// ```
    /// use treedef_tensors::{Dtype, Loader, Tensor, Tensors};
    ///
    /// let numbers = [1u8, 2, 3, 4, 5, 6]; // `[[1, 2, 3], [4, 5, 6]]`
    /// let tensor = Tensor::new(Dtype::U8, vec![2, 3], numbers.to_vec())?;
    /// let tensors = Tensors::new([("w".to_owned(), tensor)])?;
    ///
    /// // An `SMatrix<u8, 2, 3>` and a `DMatrix<u8>` as serde sees them.
    /// #[derive(serde::Serialize, serde::Deserialize)]
    /// struct Model<T> { w: T }
    ///
    /// let loader = Loader::new().column_major("w");
    /// assert_eq!(loader.load::<Model<[u8; 6]>>(&tensors)?.w, [1, 4, 2, 5, 3, 6]);
    /// let dynamic: Model<(Vec<u8>, usize, usize)> = loader.load(&tensors)?;
    /// assert_eq!(dynamic.w, (vec![1, 4, 2, 5, 3, 6], 2, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn column_major(mut self, pattern: &str) -> Self {
        self.rules.push(Rule::ColumnMajor(pattern.to_owned()));
        self
    }

    /// Leaves out the tensors that match, and the texts that are values. It is not an error if nothing
    /// matches.
    #[must_use]
    pub fn ignore(mut self, pattern: &str) -> Self {
        self.rules.push(Rule::Ignore(pattern.to_owned()));
        self
    }

    /// Reads the parts that the pattern matches from tensors with a leading axis, which
    /// [`Export::stack`] makes. The pattern is the same as for [`Export::stack`], with names joined
    /// by `.`: `[*]` stands for the stacked elements, and a pattern without it names the sequence.
    /// `*` and `**` are parts as in other rules. If elements are tuples, stack all of them: in the
    /// names, `0` of a tuple cannot be distinguished from `0` of the sequence. It is an error if the pattern
    /// matches no tensor.
    ///
    /// ```
    /// use treedef::Tree;
    /// use treedef_tensors::{Export, Loader};
    ///
    /// #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    /// struct Particle { pos: [f32; 2], near: Vec<u8> }
    ///
    /// let particle = |near| Particle { pos: [1.5; 2], near };
    /// let value = vec![particle(vec![1]), particle(vec![0, 2]), particle(vec![1])];
    /// let tree = Tree::of(&value)?;
    /// let tensors = Export::new().stack("[*].pos").tensors(&tree)?;
    /// assert_eq!(tensors.get("pos").unwrap().shape(), [3, 2]);
    /// assert_eq!(tensors.get("1.near").unwrap().shape(), [2]); // not all have as many
    /// assert_eq!(Loader::new().stack("[*].pos").load::<Vec<Particle>>(&tensors)?, value);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stack(mut self, pattern: &str) -> Self {
        self.stacks.push(pattern.to_owned());
        self
    }

    /// Reads floats of one width as floats of another, rounded: `f16`, `bf16`, `f32`, `f64`. A
    /// number that would become infinite is an error.
    #[must_use]
    pub fn convert_floats(self, yes: bool) -> Self {
        Loader { convert: yes, ..self }
    }

    /// Takes missing parts from this value, and reports them: tensors, texts, and parts that have neither
    /// in a file from Python, such as variants without fields. With [`load_partial`], also tensors of
    /// another shape or type. If a tensor has fewer elements than a sequence of the value, a
    /// [`load`](Self::load) is an error.
    ///
    /// # Errors
    ///
    /// Returns an error when the value cannot be flattened or exported.
    ///
    /// [`load_partial`]: Self::load_partial
    ///
    /// ```
    /// use treedef::Tree;
    /// use treedef_tensors::{Loader, Tensors};
    /// # #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    /// # struct Model { w: [f32; 2], b: f32 }
    /// # #[derive(serde::Serialize)]
    /// # struct Old { w: [f32; 2], c: f32 }
    ///
    /// let old = Tree::of(&Old { w: [1.0, 2.0], c: 3.0 })?;
    /// let start = Model { w: [0.0; 2], b: 0.5 };
    /// let (model, report) =
    ///     Loader::new().fill_from(&start)?.load_partial::<Model>(&Tensors::of(&old)?)?;
    /// assert_eq!(model, Model { w: [1.0, 2.0], b: 0.5 });
    /// assert_eq!(report.to_string(), "filled `b`; dropped `c` (f32[])");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fill_from(self, value: &impl Serialize) -> Result<Self> {
        // The structure has the parts without tensors: variants without fields, and empty
        // sequences.
        let export = Export::new().separator(&self.separator).rest_in_metadata(true);
        let base = export.tensors(&Tree::of(value)?)?.into_owned();
        Ok(Loader { base: Some(base), ..self })
    }

    /// Reads a value from [`Tensors`] or a [`Source`], piece by piece: beside the value, one
    /// mebibyte of a tensor is in memory, or the whole of a transposed one. A tied tensor is read
    /// under each of its names that the type requests. If serde keeps a part in a buffer, as below
    /// `#[serde(flatten)]`, the value is also serialized, because only that shows the types there.
    /// Floats of at most 8 bits are read as `f32`.
    ///
    /// # Errors
    ///
    /// Returns an error when a tensor is missing, unused, or of another shape or type, with all of
    /// them (see [`ErrorKind::Load`]); when a rule matches nothing, or two tensors get one name;
    /// when the type refuses a value.
    pub fn load<'s, T: Serialize + DeserializeOwned>(
        &self,
        tensors: impl Into<Source<'s>>,
    ) -> Result<T> {
        self.load_from(&tensors.into().widened(), None)
    }

    /// Reads a value as [`load`](Self::load) does; below `#[serde(flatten)]` and similar attributes, this
    /// example determines the types. There, serde reads from a buffer and does not show which types are
    /// requested. Without an example, a tensor becomes nested sequences and a key of a map a text, unless the
    /// file has a structure in its metadata. The numbers and lengths of the example do not matter.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load), and when the example cannot be flattened.
    ///
    /// ```
    /// use serde::{Deserialize, Serialize};
    /// use treedef::Tree;
    /// use treedef_tensors::{Export, Loader};
    ///
    /// /// As arrays of many crates are.
    /// #[derive(Debug, PartialEq, Serialize, Deserialize)]
    /// struct Array { shape: Vec<usize>, data: Vec<f32> }
    ///
    /// #[derive(Debug, PartialEq, Serialize, Deserialize)]
    /// struct Inner { w: Array }
    ///
    /// #[derive(Debug, PartialEq, Serialize, Deserialize)]
    /// struct Model { step: u64, #[serde(flatten)] inner: Inner }
    ///
    /// let model = |step, rows| Model {
    ///     step,
    ///     inner: Inner { w: Array { shape: vec![rows, 2], data: vec![0.5; rows * 2] } },
    /// };
    /// // As Python writes it, without our structure.
    /// let export = Export::new().structure_in_metadata(false);
    /// let tree = Tree::of(&model(7, 3))?;
    /// let tensors = export.tensors(&tree)?;
    /// assert!(Loader::new().load::<Model>(&tensors).is_err());
    /// assert_eq!(Loader::new().load_like(&model(0, 1), &tensors)?, model(7, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load_like<'s, T: Serialize + DeserializeOwned>(
        &self,
        example: &T,
        tensors: impl Into<Source<'s>>,
    ) -> Result<T> {
        let example = Tree::of(example)?;
        self.load_from(&tensors.into().widened(), Some(example.treedef()))
    }

    fn load_from<T: Serialize + DeserializeOwned>(
        &self,
        source: &Source<'_>,
        example: Option<&TreeDef>,
    ) -> Result<T> {
        let (value, report) = self.read(source, false, example)?;
        let value = value.filter(|_| report.is_exact()).or_else(|| self.by_structure(source));
        value.ok_or_else(|| ErrorKind::Load(Box::new(report)).into())
    }

    /// Reads a value by the structure in the metadata, if it has keys that names cannot represent,
    /// such as tuples.
    fn by_structure<T: Serialize + DeserializeOwned>(&self, source: &Source<'_>) -> Option<T> {
        if !self.is_plain() || source.is_part() || !self.has_untold_keys(source) {
            return None;
        }
        let export = Export::new().separator(&self.separator);
        let tree = export.tree::<Leaf>(&source.read().ok()?).ok()?;
        let value: T = tree.clone().into_typed().ok()?;
        // The value must have the structure and the types of the file.
        let kinds = |tree: Tree<Leaf>| tree.map(|leaf| leaf.kind());
        (kinds(Tree::of(&value).ok()?) == kinds(tree)).then_some(value)
    }

    /// Whether there are no rules, so that a file of Rust is read unchanged.
    fn is_plain(&self) -> bool {
        self.rules.is_empty() && self.stacks.is_empty() && self.base.is_none()
    }

    fn has_untold_keys(&self, source: &Source<'_>) -> bool {
        let structure = source.metadata(STRUCTURE).map(|text| parse_structure(Some(text)));
        let structure = structure.and_then(Result::ok);
        structure.is_some_and(|treedef| has_untold_keys(treedef.root(), &self.separator))
    }

    /// Reads a value and reports how it differs from the tensors. Tensors may be unused; a missing
    /// tensor or one of another shape is still an error, unless [`fill_from`](Self::fill_from) has
    /// it.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn load_partial<'s, T: Serialize + DeserializeOwned>(
        &self,
        tensors: impl Into<Source<'s>>,
    ) -> Result<(T, LoadReport)> {
        let source = tensors.into().widened();
        let (value, report) = self.read(&source, true, None)?;
        if !report.is_exact()
            && let Some(value) = self.by_structure(&source)
        {
            return Ok((value, LoadReport::default()));
        }
        match (value, report) {
            (Some(value), report) if report.missing.is_empty() && report.renamed.is_empty() => {
                Ok((value, report))
            }
            (_, report) => Err(ErrorKind::Load(Box::new(report)).into()),
        }
    }

    fn read<T: Serialize + DeserializeOwned>(
        &self,
        tensors: &Source<'_>,
        partial: bool,
        example: Option<&TreeDef>,
    ) -> Result<(Option<T>, LoadReport)> {
        tensors.__check_ties()?;
        let options = (self.separator.as_str(), self.convert);
        let base = self.base.as_ref().map(Source::from);
        let base = base.as_ref();
        let context = LoadContext::new(tensors, base, &self.rules, &self.stacks, options, partial)?;
        let mut report = LoadReport::default();
        let value = with_reprs(&context, || self.reprs(example, tensors, &context), walk::<T>);
        if let Some(error) = context.reading.take_error() {
            return Err(error);
        }
        let mut is_stopped = false;
        let value = match value {
            Ok(value) => {
                let stopped = self.check_buffered(&value, &context)?;
                report.stopped = stopped.map(|failure| failure.to_string());
                let fits = report.stopped.is_none() && context.diagnostics().changed.is_empty();
                fits.then_some(value)
            }
            Err(Failure::Reported | Failure::Restart) => None,
            // The type refused the placeholder for a missing value.
            Err(Failure::Custom(_, Some(place)))
                if context.diagnostics().missing.iter().any(|(name, _)| *name == place) =>
            {
                is_stopped = true;
                None
            }
            Err(failure) => {
                let in_buffer = context.entries.iter().any(|entry| entry.buffered.get());
                let hint = match failure {
                    Failure::Custom(..) if !self.is_plain() && self.has_untold_keys(tensors) => {
                        KEYS
                    }
                    Failure::Custom(..)
                        if in_buffer && context.diagnostics().missing.is_empty() =>
                    {
                        BUFFER
                    }
                    _ => "",
                };
                report.stopped = Some(format!("{failure}{hint}"));
                None
            }
        };
        is_stopped |= report.stopped.is_some();
        report.changed = std::mem::take(&mut context.diagnostics().changed);
        let known: HashSet<String> = report.changed.iter().map(|(name, ..)| name.clone()).collect();
        let replaced = context.replaced.iter().filter(|(name, ..)| !known.contains(name));
        report.changed.extend(replaced.cloned());
        // A number of tied tensors is in the value under any of their names.
        let entries = context.entries.iter().filter(|entry| !entry.filled && entry.unread() == 0);
        let ties: HashSet<usize> = entries.filter_map(|entry| entry.tie).collect();
        let unused: Vec<UnusedTensor<'_>> = context
            .entries
            .iter()
            .filter(|entry| !entry.filled && !entry.is_alias && entry.unread() > 0)
            .filter(|entry| entry.tie.is_none_or(|tie| !ties.contains(&tie)))
            // If the type stopped early, its further requests are unknown.
            .filter(|_| !is_stopped)
            .filter_map(|entry| {
                let array = entry.array()?;
                let unread = entry.requested.get().then(|| (entry.unread(), array.num_numbers()));
                let (name, tensor) = (entry.original.to_string(), &array.tensor);
                let renamed = (entry.name != name).then(|| entry.name.to_string());
                Some(UnusedTensor { name, renamed, tensor, unread })
            })
            .collect();
        report.find_renamed(&context.diagnostics().missing, &unused);
        if !is_stopped {
            report.drop_texts(tensors, &context.entries, &self.separator);
        }
        let filled = context.entries.iter().filter(|entry| entry.filled && entry.is_read());
        report.filled = filled.map(|entry| entry.name.to_string()).collect();
        Ok((value, report))
    }

    /// The representations of buffered tensors: from the example, the value to fill from, or the file.
    fn reprs(
        &self,
        example: Option<&TreeDef>,
        source: &Source<'_>,
        context: &LoadContext<'_>,
    ) -> ArrayReprs {
        let of_file = structure_of(source.metadata(STRUCTURE), source.iter().len() > 0);
        let base = self.base.as_ref().filter(|_| example.is_none());
        let of_base = base.and_then(|base| structure_of(base.metadata(STRUCTURE), true));
        ArrayReprs::new(
            example.or(of_base.as_ref()),
            of_file.as_ref(),
            context.separator,
            context.entries.len(),
        )
    }

    /// Checks the tensors that serde kept in a buffer: the value must have numbers of their types
    /// and shapes, and none that became infinite.
    fn check_buffered<T: Serialize>(
        &self,
        value: &T,
        context: &LoadContext<'_>,
    ) -> Result<Option<Failure>> {
        if context.entries.iter().all(|entry| !entry.buffered.get()) {
            return Ok(None);
        }
        let tree = Tree::of(value)?;
        let export = Export::new().separator(&self.separator).rest_in_metadata(true);
        let saved = export.structure_in_metadata(false).tensors(&tree)?;
        let saved: HashMap<&str, &Tensor<'_>> = saved.iter().collect();
        for entry in context.entries.iter().filter(|entry| entry.buffered.get()) {
            let Some(array) = entry.array().filter(|array| !array.tensor.is_empty()) else {
                continue;
            };
            // A matrix stored by columns is flat there, or the first element of a tuple.
            let first = [&entry.name, "0"].join(&self.separator);
            let name =
                if let ArrayRepr::Matrix(_) = context.repr(entry) { &first } else { &*entry.name };
            let mut dims = array.dims.clone();
            if array.column_major {
                dims.splice(..array.tensor.shape().len(), [array.tensor.len()]);
            }
            let Some((dtype, found)) = self.saved(&saved, name) else {
                entry.forget();
                continue;
            };
            let is_type =
                dtype == array.dtype || self.convert && is_float(dtype) && is_float(array.dtype);
            if !is_type || found != dims {
                context.report_mismatch(entry, display(dtype, found));
            } else if dtype != array.dtype
                && let Some(failure) = overflow(entry, dtype, &context.reading)
            {
                return Ok(Some(failure));
            }
        }
        Ok(None)
    }

    /// The type and the shape of the data with a name: a tensor, or an element of one.
    fn saved<'t>(
        &self,
        saved: &HashMap<&str, &'t Tensor<'_>>,
        mut name: &str,
    ) -> Option<(Dtype, &'t [usize])> {
        for depth in 0.. {
            if let Some(tensor) = saved.get(name) {
                return Some((tensor.dtype(), tensor.shape().get(depth..)?));
            }
            let (above, index) = name.rsplit_once(self.separator.as_str()).unwrap_or(("", name));
            index.parse::<usize>().ok()?;
            name = above;
        }
        None
    }
}

/// Whether a map has a key that no part of a name can represent. The recursion is as deep as the
/// limits of a structure allow.
fn has_untold_keys(node: NodeRef<'_>, separator: &str) -> bool {
    let is_parted = |text: &str| text.is_empty() || text.contains(separator);
    let is_untold = |key: Key| match key {
        Key::Entry(value) => match Leaf::from(value) {
            Leaf::Opaque(_) | Leaf::None => true,
            Leaf::Char(char) => is_parted(char.encode_utf8(&mut [0; 4])),
            leaf => leaf.as_str().is_some_and(is_parted),
        },
        Key::Field(name) => is_parted(&name),
        Key::VariantPosition(variant, _) => is_parted(&variant),
        Key::VariantField(variant, field) => is_parted(&variant) || is_parted(&field),
        _ => false,
    };
    let are_named = !matches!(node.kind(), NodeKind::Seq | NodeKind::Tuple);
    are_named && (0..node.num_children()).any(|at| node.key(at).is_some_and(is_untold))
        || node.runs().any(|(child, _)| has_untold_keys(child, separator))
}

/// Reads a value. If serde misses a field, the walk starts again and continues after it.
fn walk<T: DeserializeOwned>(context: &LoadContext<'_>) -> Result<T, Failure> {
    for number in 0..WALKS {
        context.reset();
        // A value without a required field cannot be made: the other missing parts are found
        // without reading numbers.
        if number > 0 {
            context.reading.stop();
        }
        let value = T::deserialize(ValueDeserializer::Scope(NameScope::root(context)));
        match value {
            Err(Failure::Restart) => {}
            Err(Failure::Custom(..) | Failure::Field(_))
                if context.reading.retry_with_numbers() => {}
            Ok(_) if !context.diagnostics().missing.is_empty() => return Err(Failure::Reported),
            other => return other,
        }
    }
    Err(Failure::Limit(format!("more than {WALKS} fields are missing")))
}

impl Tensors<'_> {
    /// Reads a value from tensors with its names, like [`Loader::load`] without rules.
    ///
    /// # Errors
    ///
    /// As [`Loader::load`].
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use treedef::Tree;
    /// use treedef_tensors::Tensors;
    ///
    /// let value = BTreeMap::from([("w".to_owned(), vec![[0.5f32, 1.5]]), ("v".to_owned(), vec![])]);
    /// let tree = Tree::of(&value)?;
    /// let read: BTreeMap<String, Vec<[f32; 2]>> = Tensors::of(&tree)?.load()?;
    /// assert_eq!(read, value); // the structure in the metadata has the empty sequence
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load<T: Serialize + DeserializeOwned>(&self) -> Result<T> {
        Loader::new().load(self)
    }
}

impl<'a> Source<'a> {
    /// Reads a value from tensors with its names, like [`Loader::load`] without rules.
    ///
    /// # Errors
    ///
    /// As [`Loader::load`].
    ///
    /// ```
    /// use treedef::Tree;
    /// use treedef_tensors::{Source, Tensors};
    ///
    /// let tree = Tree::of(&[[0.5f32, 1.5]; 2])?;
    /// let tensors = Tensors::of(&tree)?;
    /// assert_eq!(Source::from(&tensors).load::<[[f32; 2]; 2]>()?, [[0.5, 1.5]; 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load<T: Serialize + DeserializeOwned>(&self) -> Result<T> {
        Loader::new().load(self)
    }

    /// The tensors at and below the [names](Loader) that a pattern matches. Only their bytes are read.
    ///
    /// # Errors
    ///
    /// Returns an error when no name matches.
    ///
    /// ```
    /// use treedef::Tree;
    /// use treedef_tensors::{Source, Tensors};
    ///
    /// let tree = Tree::of(&vec![([0.5f32, 1.5], 7u8); 2])?;
    /// let tensors = Tensors::of(&tree)?;
    /// let source = Source::from(&tensors).select("*.0")?;
    /// assert_eq!(source.iter().map(|it| it.name()).collect::<Vec<_>>(), ["0.0", "1.0"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn select(&self, pattern: &str) -> Result<Self> {
        let glob = Glob::new(pattern, ".")?;
        let selected = self.filtered(|name| glob.covers(&parts(name, ".")));
        if selected.iter().len() == 0 {
            return Err(ErrorKind::Rule(format!("`{pattern}` matches no tensor")).into());
        }
        Ok(selected.into_part())
    }
}
