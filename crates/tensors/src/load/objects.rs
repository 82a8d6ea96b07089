//! Loads objects, such as the tensors of a framework, from named tensors.

use std::collections::{HashMap, HashSet};

use treedef::Tree;

use crate::arrays::transposed;
use crate::bug::bug;
use crate::descriptor::Descriptor;
use crate::error::{ErrorKind, Result};
use crate::export::Export;
use crate::load::Loader;
use crate::load::entry::is_float;
use crate::load::entry_builder::{NamedTensor, named_tensors};
use crate::load::rules::Rule;
use crate::report::LoadReport;
use crate::source::{Source, StoredTensor};
use crate::structure::{RENAMES, STRUCTURE, parse_structure, read_renames};

type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// The maximum number of pairs of names that are compared to find the nearest.
const COMPARED: usize = 1 << 17;

/// The number of candidates that are compared character by character.
const NEAR: usize = 32;

/// The tensors of a source by their names after the rules of a load.
struct NamedTensors<'t> {
    tensors: Vec<NamedTensor<'t>>,
    positions: HashMap<String, usize>,
}

impl Loader {
    /// Reads the tree that [`Export::objects`] wrote, by the structure in the metadata: `object` makes each
    /// object. For a tensor that several names share, it is called each time with the name of the stored
    /// one.
    ///
    /// # Errors
    ///
    /// Returns an error when the metadata has no structure; when tensors are missing or unused, with all of
    /// them; when a rule matches nothing; and the first error of `object`, with the path of its leaf.
    pub fn objects<'s, O, E: Into<AnyError>>(
        &self,
        source: impl Into<Source<'s>>,
        mut object: impl FnMut(&StoredTensor<'_>) -> Result<O, E>,
    ) -> Result<Tree<O>> {
        let source = source.into();
        let treedef = parse_structure(source.metadata(STRUCTURE))?;
        let mut export = Export::new().separator(&self.separator);
        if self.rules.is_empty() {
            let renames = read_renames(source.metadata(RENAMES))?.into_iter();
            export = renames.fold(export, |export, (from, to)| export.rename(&from, &to));
        }
        let names = export.names_of(&treedef)?;
        let named = self.named(&source)?;
        let missing = |name: &&String| !named.positions.contains_key(name.as_str());
        let missing = names.iter().filter(missing).map(|name| (name.clone(), None));
        let report = named.report(missing.collect(), Vec::new(), &names);
        if !report.is_exact() {
            return Err(ErrorKind::Load(Box::new(report)).into());
        }
        let read = |name: String| match named.get(&name) {
            Some(tensor) => tensor.read(&mut object),
            None => Err(bug!("a name was compared that is not there").into()),
        };
        Ok(Tree::new(treedef, names)?.try_map(read)?)
    }

    /// Reads the objects of a tree by their names. `described` returns the type and the shape of an object,
    /// under the name that it is passed. `object` makes the new object from the existing one and its
    /// tensor. The tensor has this shape, and this type or, with [`convert_floats`](Self::convert_floats),
    /// floats of another width.
    ///
    /// # Errors
    ///
    /// Returns an error when tensors are missing, unused, or of another type or shape, with all of them and
    /// the nearest names; when a rule matches nothing; and the first error of a function, with the path of
    /// its leaf.
    ///
    /// ```
    /// use std::rc::Rc;
    ///
    /// use treedef::{Object, Tree};
    /// use treedef_tensors::{Descriptor, Dtype, Error, Loader, StoredTensor, Tensor, Tensors};
    ///
    /// type Bytes = Rc<[u8]>; // stands for a tensor of your framework
    /// let value = [Object(Bytes::from([0, 0])), Object(Bytes::from([0]))];
    /// let tree = Tree::<Bytes>::of_objects(&value)?;
    /// let described = |name: &str, old: &Bytes| {
    ///     Ok::<_, Error>(Descriptor::new(name, Dtype::U8, [old.len()]))
    /// };
    /// let read = |_: &Bytes, stored: &StoredTensor<'_>| Ok(Bytes::from(&*stored.read_bytes()?));
    ///
    /// let tensor = Tensor::new(Dtype::U8, vec![2], vec![1, 2])?;
    /// let tensors = Tensors::new([("w.0".to_owned(), tensor)])?;
    /// let loader = Loader::new().rename("w.*", "*");
    /// let error = loader.objects_like(&tree, &tensors, described, read).unwrap_err();
    /// assert_eq!(error.to_string(), "the tensors do not fit the type\nmissing `1`: u8[1]");
    ///
    /// let (tree, report) = loader.objects_partly(&tree, &tensors, described, read)?;
    /// assert_eq!((&**tree.get(".0")?, &**tree.get(".1")?), (&[1, 2][..], &[0][..]));
    /// assert_eq!(report.to_string(), "filled `1`");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn objects_like<'s, O: Clone, E: Into<AnyError>>(
        &self,
        like: &Tree<O>,
        source: impl Into<Source<'s>>,
        described: impl FnMut(&str, &O) -> Result<Descriptor, E>,
        object: impl FnMut(&O, &StoredTensor<'_>) -> Result<O, E>,
    ) -> Result<Tree<O>> {
        let (tree, report) = self.read_objects(like, &source.into(), described, object, false)?;
        if report.is_exact() { Ok(tree) } else { Err(ErrorKind::Load(Box::new(report)).into()) }
    }

    /// As [`objects_like`](Self::objects_like), but objects that the tensors do not fit are unchanged. The
    /// report lists them, and the unused tensors.
    ///
    /// # Errors
    ///
    /// Returns an error when a rule matches nothing, and the first error of a function, with the path of its
    /// leaf.
    pub fn objects_partly<'s, O: Clone, E: Into<AnyError>>(
        &self,
        like: &Tree<O>,
        source: impl Into<Source<'s>>,
        described: impl FnMut(&str, &O) -> Result<Descriptor, E>,
        object: impl FnMut(&O, &StoredTensor<'_>) -> Result<O, E>,
    ) -> Result<(Tree<O>, LoadReport)> {
        self.read_objects(like, &source.into(), described, object, true)
    }

    fn read_objects<O: Clone, E: Into<AnyError>>(
        &self,
        like: &Tree<O>,
        source: &Source<'_>,
        mut described: impl FnMut(&str, &O) -> Result<Descriptor, E>,
        mut object: impl FnMut(&O, &StoredTensor<'_>) -> Result<O, E>,
        partly: bool,
    ) -> Result<(Tree<O>, LoadReport)> {
        let names = Export::new().separator(&self.separator).names_of(like.treedef())?;
        let named = self.named(source)?;
        let with_names = Tree::new(like.treedef().clone(), names.clone())?;
        let mut missing = Vec::new();
        let (mut filled, mut changed) = (Vec::new(), Vec::new());
        let requested = like.as_ref().zip(with_names)?;
        // The source of each object, if something fits it.
        let fitting = requested.try_map(|(old, name)| -> Result<_, E> {
            let expected = described(&name, old)?;
            let Some(tensor) = named.get(&name) else {
                if partly {
                    filled.push(name);
                } else {
                    missing.push((name, Some(expected)));
                }
                return Ok((old, None));
            };
            let found = tensor.descriptor();
            if found.shape() == expected.shape() && self.accepts(&found, &expected) {
                return Ok((old, Some(tensor)));
            }
            if partly {
                filled.push(name.clone());
            }
            changed.push((name, expected.to_string(), found.to_string()));
            Ok((old, None))
        })?;
        let mut report = named.report(missing, changed, &names);
        report.filled = filled;
        if !partly && !report.is_exact() {
            return Ok((like.clone(), report));
        }
        let read = |(old, tensor): (&O, Option<&NamedTensor<'_>>)| match tensor {
            Some(tensor) => tensor.read(|stored| object(old, stored)),
            None => Ok(old.clone()),
        };
        Ok((fitting.try_map(read)?, report))
    }

    /// Whether an object of one type can be made from a tensor of another.
    fn accepts(&self, found: &Descriptor, expected: &Descriptor) -> bool {
        let is_float = |it: &Descriptor| it.dtype().is_some_and(is_float);
        found.type_name() == expected.type_name()
            || self.convert && is_float(found) && is_float(expected)
    }

    fn named<'t>(&'t self, source: &'t Source<'t>) -> Result<NamedTensors<'t>> {
        source.__check_ties()?;
        let is_of_numbers = |rule: &&Rule| matches!(rule, Rule::ColumnMajor(_));
        if !self.stacks.is_empty() || self.rules.iter().find(is_of_numbers).is_some() {
            let what =
                "`stack` and `column_major` are for numbers: objects are loaded without them";
            return Err(ErrorKind::Rule(what.to_owned()).into());
        }
        let tensors = named_tensors(source, &self.rules, &self.separator)?;
        let mut positions = HashMap::<String, usize>::new();
        for (at, tensor) in tensors.iter().enumerate() {
            let before = positions.insert(tensor.name.to_string(), at);
            if let Some(other) = before.and_then(|at| tensors.get(at)) {
                let (one, other) = (other.stored.name(), tensor.stored.name());
                let what = format!("`{one}` and `{other}` are both named `{}`", tensor.name);
                return Err(ErrorKind::Rule(what).into());
            }
        }
        Ok(NamedTensors { tensors, positions })
    }
}

impl<'t> NamedTensors<'t> {
    fn get(&self, name: &str) -> Option<&NamedTensor<'t>> {
        self.tensors.get(*self.positions.get(name)?)
    }

    /// The requested names for which nothing fits, with the unused tensors that may be meant.
    fn report(
        &self,
        missing: Vec<(String, Option<Descriptor>)>,
        changed: Vec<(String, String, String)>,
        names: &[String],
    ) -> LoadReport {
        let mut report = LoadReport { changed, ..LoadReport::default() };
        // A tensor is used under any of its names.
        let used = names.iter().filter_map(|name| Some(self.get(name)?.stored.name()));
        let used: HashSet<&str> = used.collect();
        let unused =
            self.tensors.iter().filter(|it| !it.is_tied && !used.contains(it.stored.name()));
        let unused: Vec<_> = unused.map(|it| (&*it.name, it.descriptor())).collect();
        let mut nearest = NearestName::new(&unused);
        for (name, expected) in missing {
            let what = expected.as_ref().map_or_else(|| "a tensor".to_owned(), ToString::to_string);
            let shape = expected.as_ref().map(Descriptor::shape);
            let what = match nearest.of(&name, shape) {
                Some((other, found)) => format!("{what} (the nearest name is `{other}`, {found})"),
                None => what,
            };
            report.missing.push((name, what));
        }
        let unused = unused.iter().map(|(name, found)| ((*name).to_owned(), found.to_string()));
        report.dropped = unused.collect();
        report
    }
}

/// Finds the nearest of many names, with a limit on the total time.
struct NearestName<'u> {
    unused: &'u [(&'u str, Descriptor)],
    counts: Vec<CharCounts>,
    /// The number of pairs that may still be compared.
    left: usize,
}

/// How often each character is in a name. Characters share a fixed number of counters.
type CharCounts = [u16; 32];

impl<'u> NearestName<'u> {
    fn new(unused: &'u [(&'u str, Descriptor)]) -> Self {
        NearestName {
            unused,
            counts: unused.iter().map(|(name, _)| counts(name)).collect(),
            left: COMPARED,
        }
    }

    /// The nearest name, among the names of the same shape if there are any. A name of another shape is a
    /// candidate if it is spelled similarly, or has more in front.
    fn of(&mut self, name: &str, shape: Option<&[usize]>) -> Option<&'u (&'u str, Descriptor)> {
        self.left = self.left.checked_sub(self.unused.len())?;
        let here = counts(name);
        let has_other = |found: &Descriptor| shape.is_some_and(|shape| found.shape() != shape);
        // There are at least as many edits as different characters, which are faster to count.
        let least = self.unused.iter().zip(&self.counts).map(|(it, there)| {
            let differing =
                here.iter().zip(there).map(|(a, b)| usize::from(a.abs_diff(*b))).sum::<usize>();
            ((has_other(&it.1), if it.0.ends_with(name) { 0 } else { differing }), it)
        });
        let mut least: Vec<_> = least.collect();
        if least.len() > NEAR {
            least.select_nth_unstable_by_key(NEAR, |(key, _)| *key);
            least.truncate(NEAR);
        }
        let distance = |((has_other, _), it): ((bool, usize), &'u (&'u str, Descriptor))| {
            ((has_other, treedef::__private::edits(name, it.0)), it)
        };
        let ((has_other, far), it) = least.into_iter().map(distance).min_by_key(|(key, _)| *key)?;
        let is_meant = !has_other || far <= name.chars().count() / 3 || it.0.ends_with(name);
        is_meant.then_some(it)
    }
}

fn counts(name: &str) -> CharCounts {
    let mut counts = CharCounts::default();
    for char in name.chars() {
        if let Some(count) = counts.get_mut(char as usize % 32) {
            *count = count.saturating_add(1);
        }
    }
    counts
}

impl NamedTensor<'_> {
    /// Its type, and its shape after the rules.
    fn descriptor(&self) -> Descriptor {
        let descriptor = self.stored.descriptor();
        if !self.transposed {
            return descriptor.clone();
        }
        let mut shape = descriptor.shape().to_vec();
        if let [.., rows, columns] = shape.as_mut_slice() {
            std::mem::swap(rows, columns);
        }
        descriptor.with_shape(shape)
    }

    /// Passes the tensor to a function, transposed if a rule requires it.
    fn read<O, E: Into<AnyError>>(
        &self,
        object: impl FnOnce(&StoredTensor<'_>) -> Result<O, E>,
    ) -> Result<O, AnyError> {
        let descriptor = self.descriptor();
        let (true, [.., rows, columns]) = (self.transposed, descriptor.shape()) else {
            return object(self.stored).map_err(Into::into);
        };
        let Some(size) = descriptor.dtype().map(|dtype| dtype.size()) else {
            return Err(format!("{descriptor} cannot be transposed").into());
        };
        let bytes = self.stored.read_bytes()?;
        let matrix = rows.saturating_mul(*columns).saturating_mul(size);
        // Without elements there are no bytes.
        let matrices = bytes.chunks_exact(matrix.max(1));
        let swapped =
            matrices.flat_map(|matrix| transposed(matrix, *rows, *columns, size)).collect();
        // Another name, because it is another tensor than the one of the file.
        let name = format!("{} (transposed)", self.stored.name());
        object(&StoredTensor::owned(descriptor.renamed(name), swapped)).map_err(Into::into)
    }
}
