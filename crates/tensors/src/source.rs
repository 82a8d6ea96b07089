//! Named tensors whose bytes are read on request.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::bug::OrBug;
use crate::descriptor::{Descriptor, NumberType};
use crate::error::{ErrorKind, Fault, Result, quoted};
use crate::file::{self, OpenFile};
use crate::file_bytes::FileBytes;
use crate::structure::{PART, STRUCTURE, is_of_file};
use crate::tensor::{Tensor, Tensors};

/// The number of bytes that are copied at once.
const PIECE: usize = 1 << 20;
/// The maximum size of a value, as a multiple of the file's size. A value can be larger than its
/// file because of aliases.
const MOST_TIES: u64 = 64;

/// Named tensors, from one file, from the shards of a checkpoint, or from memory. Each tensor is
/// read on request.
///
/// [`safetensors::open`](crate::safetensors::open) makes one, and so does `Source::from(&tensors)`.
/// Nothing is mapped into memory: a tensor is read from its position in the file. A [`Loader`]
/// reads from a source piece by piece.
///
/// Tied tensors are stored once, as `safetensors.torch.save_model` does it: for each other name,
/// its alias, the metadata has the name of the stored tensor. [`iter`] has the stored tensors,
/// [`aliases`] the other names, and [`get`] finds both.
///
/// [`Loader`]: crate::Loader
/// [`iter`]: Source::iter
/// [`aliases`]: Source::aliases
/// [`get`]: Source::get
///
/// ```
/// use treedef::Tree;
/// use treedef_tensors::{Source, Tensors, safetensors};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model.safetensors");
/// let tree = Tree::of(&vec![([0.5f32, 1.5], 7u8)])?;
/// safetensors::save(&Tensors::of(&tree)?, &path)?;
///
/// let source: Source<'_> = safetensors::open(&path)?; // reads the header
/// assert_eq!(source.get("0.0").unwrap().descriptor().to_string(), "f32[2]");
/// let tensor = source.get("0.0").unwrap().read()?; // reads 8 bytes
/// assert_eq!(tensor.as_slice::<f32>().unwrap(), [0.5, 1.5]);
/// assert_eq!(source.load::<Vec<([f32; 2], u8)>>()?, [([0.5, 1.5], 7)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Source<'a> {
    tensors: Vec<StoredTensor<'a>>,
    /// The positions of all names, including aliases.
    positions: HashMap<String, usize>,
    aliases: Vec<(String, usize)>,
    metadata: Vec<(String, String)>,
    /// The position of each key in the metadata.
    keys: HashMap<String, usize>,
    warnings: Arc<[Fault]>,
    /// The names of the arrays of records. Each field of such an array is a tensor.
    records: Arc<[String]>,
    /// The file or the folder that was opened.
    file: Option<Arc<str>>,
}

/// A tensor of a [`Source`]: its name, type and shape, and where its bytes are.
#[derive(Clone)]
pub struct StoredTensor<'a> {
    descriptor: Descriptor,
    size: u64,
    bytes: TensorBytes<'a>,
    observer: Option<Observer>,
}

/// Called with the number of bytes after each read.
type Observer = Arc<dyn Fn(u64) + Send + Sync>;

#[derive(Clone)]
enum TensorBytes<'a> {
    Memory(&'a [u8]),
    File(Arc<OpenFile>, u64),
    /// Read at any position.
    Reader(Arc<dyn ReadAt + 'a>),
}

/// Bytes that are gathered from several places.
pub(crate) trait ReadAt: Send + Sync {
    /// Reads bytes, which are there, from `offset` on.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// The file that the tensor is stored in, if it is stored in one.
    fn path(&self) -> Option<&Path>;

    /// The name of the type in the file, if it differs.
    fn type_in_file(&self) -> Option<&'static str> {
        None
    }
}

/// Bytes in memory that belong to the tensor alone.
impl ReadAt for Vec<u8> {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let part = usize::try_from(offset).ok().and_then(|start| self.get(start..));
        let part = part.and_then(|part| part.get(..buffer.len()));
        buffer.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?); // as long as the buffer
        Ok(())
    }

    fn path(&self) -> Option<&Path> {
        None
    }
}

/// Bytes that a function returns.
struct ReadFn<F>(F);

impl<F: Fn(u64, &mut [u8]) -> io::Result<()> + Send + Sync> ReadAt for ReadFn<F> {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        (self.0)(offset, buffer)
    }

    fn path(&self) -> Option<&Path> {
        None
    }
}

impl<'a> StoredTensor<'a> {
    /// A tensor of `size` bytes from `start` on, which are in the file.
    pub(crate) fn within(
        descriptor: Descriptor,
        size: u64,
        bytes: &FileBytes<'a>,
        start: u64,
    ) -> Self {
        match bytes {
            FileBytes::File(file) => {
                let bytes = TensorBytes::File(file.clone(), start);
                StoredTensor { descriptor, size, bytes, observer: None }
            }
            FileBytes::Memory(bytes) => {
                let part = usize::try_from(start).ok().zip(usize::try_from(size).ok());
                let part = part.and_then(|(start, size)| bytes.get(start..)?.get(..size));
                StoredTensor::in_memory(descriptor, part.or_bug())
            }
        }
    }

    /// A tensor that is in memory, under a name.
    ///
    /// ```
    /// use treedef_tensors::{Dtype, Source, StoredTensor, Tensor};
    ///
    /// let tensor = Tensor::new(Dtype::U8, vec![3], vec![1, 2, 3])?;
    /// let source = Source::of([StoredTensor::of("w", tensor)], [])?;
    /// assert_eq!(source.get("w").unwrap().read_bytes()?[..], [1, 2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(name: impl Into<String>, tensor: Tensor<'a>) -> Self {
        let element = NumberType::Dtype(tensor.dtype());
        let descriptor = Descriptor::of(name.into(), element, tensor.shape().to_vec());
        match tensor.into_bytes() {
            Cow::Borrowed(bytes) => StoredTensor::in_memory(descriptor, bytes),
            Cow::Owned(bytes) => StoredTensor::owned(descriptor, bytes),
        }
    }

    pub(crate) fn in_memory(descriptor: Descriptor, bytes: &'a [u8]) -> Self {
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX); // a `usize` fits
        StoredTensor { descriptor, size, bytes: TensorBytes::Memory(bytes), observer: None }
    }

    pub(crate) fn owned(descriptor: Descriptor, bytes: Vec<u8>) -> Self {
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        StoredTensor::read_by(descriptor, size, Arc::new(bytes))
    }

    pub(crate) fn read_by(descriptor: Descriptor, size: u64, bytes: Arc<dyn ReadAt + 'a>) -> Self {
        StoredTensor { descriptor, size, bytes: TensorBytes::Reader(bytes), observer: None }
    }

    /// A tensor whose bytes are written into a buffer by a function, from an offset on. When the tensor is
    /// saved, the function is called once for each piece, in order, and never beyond the end.
    ///
    /// # Errors
    ///
    /// Returns an error when the size in bytes cannot be computed from the type and the shape.
    ///
    /// ```
    /// use treedef_tensors::{Descriptor, Dtype, Source, StoredTensor, safetensors};
    ///
    /// let zeros = StoredTensor::read_from(Descriptor::new("w", Dtype::F32, [3]), |_, bytes| {
    ///     bytes.fill(0);
    ///     Ok(())
    /// })?;
    /// let mut file = Vec::new();
    /// safetensors::write(Source::of([zeros], [])?, &mut file)?;
    /// assert_eq!(safetensors::from_bytes(&file)?.get("w").unwrap().read_bytes()?[..], [0; 12]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_from(
        descriptor: Descriptor,
        read: impl Fn(u64, &mut [u8]) -> io::Result<()> + Send + Sync + 'a,
    ) -> Result<Self> {
        let size = descriptor.num_bytes().ok_or_else(|| {
            ErrorKind::Unsupported(format!("{descriptor} has no number of bytes"))
        })?;
        Ok(StoredTensor::read_by(descriptor, size, Arc::new(ReadFn(read))))
    }

    /// Whether the number of bytes fits the type and the shape.
    fn is_sound(&self) -> bool {
        let size = self.descriptor.dtype().and_then(|_| self.descriptor.num_bytes());
        size.is_none_or(|size| size == self.size)
    }

    /// The same tensor under another name.
    #[must_use]
    pub fn renamed(&self, name: impl Into<String>) -> Self {
        StoredTensor { descriptor: self.descriptor.renamed(name), ..self.clone() }
    }

    /// Its name, type and shape.
    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// The name of the tensor.
    pub fn name(&self) -> &str {
        self.descriptor.name()
    }

    /// The number of bytes.
    pub fn num_bytes(&self) -> u64 {
        self.size
    }

    /// The file that the tensor is stored in, if it is stored in one.
    pub fn file(&self) -> Option<&Path> {
        match &self.bytes {
            TensorBytes::Memory(_) => None,
            TensorBytes::File(file, _) => Some(file.path()),
            TensorBytes::Reader(bytes) => bytes.path(),
        }
    }

    /// The name of the type in the file. For small floats that are [`widened`](Self::widened), it
    /// is the name of the small type.
    pub(crate) fn type_in_file(&self) -> &str {
        let other = match &self.bytes {
            TensorBytes::Reader(bytes) => bytes.type_in_file(),
            TensorBytes::Memory(_) | TensorBytes::File(..) => None,
        };
        other.unwrap_or(self.descriptor.type_name())
    }

    /// The bytes, if they are in memory.
    pub fn as_bytes(&self) -> Option<&'a [u8]> {
        match &self.bytes {
            TensorBytes::Memory(bytes) => Some(bytes),
            TensorBytes::File(..) | TensorBytes::Reader(_) => None,
        }
    }

    /// Fills the buffer with the bytes from `offset` on.
    ///
    /// # Errors
    ///
    /// Returns an error when the tensor has fewer bytes, or when the file cannot be read. Of many files, some
    /// are opened for each read: then it is also an error when such a file was replaced since.
    ///
    /// ```
    /// use treedef_tensors::{Dtype, Source, Tensor, Tensors};
    ///
    /// let tensor = Tensor::new(Dtype::U8, vec![2, 2], vec![1, 2, 3, 4])?;
    /// let tensors = Tensors::new([("w".to_owned(), tensor)])?;
    /// let source = Source::from(&tensors);
    /// let mut row = [0; 2];
    /// source.get("w").unwrap().read_at(2, &mut row)?;
    /// assert_eq!(row, [3, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let length = u64::try_from(buffer.len()).unwrap_or(u64::MAX);
        let end = offset.checked_add(length).filter(|end| *end <= self.size);
        let outside = || {
            let name = quoted(self.name());
            let what = format!("{name} has {} bytes, none up to {offset} + {length}", self.size);
            io::Error::new(io::ErrorKind::UnexpectedEof, what)
        };
        let end = end.ok_or_else(outside)?;
        match &self.bytes {
            TensorBytes::Memory(bytes) => {
                let (start, end) = (usize::try_from(offset), usize::try_from(end));
                let part = start.ok().zip(end.ok()).and_then(|(start, end)| bytes.get(start..end));
                buffer.copy_from_slice(part.ok_or_else(outside)?); // as long as the buffer
            }
            // The whole is inside of the file, so no sum overflows.
            TensorBytes::File(file, start) => {
                file.read_exact_at(buffer, start.saturating_add(offset))?
            }
            TensorBytes::Reader(bytes) => bytes.read_exact_at(buffer, offset)?,
        }
        if let (TensorBytes::File(..) | TensorBytes::Reader(_), Some(observer)) =
            (&self.bytes, &self.observer)
        {
            observer(length);
        }
        Ok(())
    }

    /// Passes all bytes to a function, piece by piece: 1 MiB at a time for a file.
    ///
    /// # Errors
    ///
    /// See [`read_at`](Self::read_at); errors of the function are returned as well.
    pub fn pieces(&self, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        if let TensorBytes::Memory(bytes) = &self.bytes {
            return each(bytes);
        }
        let most = usize::try_from(self.size).map_or(PIECE, |size| size.min(PIECE));
        let (mut buffer, mut at) = (vec![0; most], 0_u64);
        while at < self.size {
            let length = usize::try_from(self.size - at).map_or(most, |left| left.min(most));
            let piece = buffer.get_mut(..length).or_bug();
            self.read_at(at, piece)?;
            each(piece)?;
            at = at.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
        }
        Ok(())
    }

    /// Reads all bytes, for any type. They are borrowed if they are in memory.
    ///
    /// # Errors
    ///
    /// See [`read_at`](Self::read_at). Also returns an error when memory is short.
    pub fn read_bytes(&self) -> Result<Cow<'a, [u8]>> {
        if let TensorBytes::Memory(bytes) = self.bytes {
            return Ok(bytes.into());
        }
        let size = usize::try_from(self.size).ok().filter(|size| file::has_room(*size));
        let size = size.ok_or_else(|| {
            let name = quoted(self.name());
            ErrorKind::limit(
                "bytes of memory",
                format!("memory has no room for the {} bytes of {name}", self.size),
            )
        })?;
        let mut bytes = vec![0; size];
        self.read_at(0, &mut bytes)?;
        Ok(bytes.into())
    }

    /// Reads the tensor.
    ///
    /// # Errors
    ///
    /// See [`read_bytes`](Self::read_bytes). Also returns an error when the type is not a
    /// [`Dtype`](crate::Dtype).
    pub fn read(&self) -> Result<Tensor<'a>> {
        let dtype = self.descriptor.dtype().ok_or_else(|| {
            let (name, descriptor) = (quoted(self.name()), &self.descriptor);
            ErrorKind::Unsupported(match (descriptor.unread(), descriptor.number_type()) {
                (Some(why), _) => format!("{name} is {descriptor}: {why}"),
                (None, Some(_)) => format!(
                    "{name} is {descriptor}, whose numbers are read as f32, see `StoredTensor::widened`"
                ),
                (None, None) => format!("{name} is {descriptor}, no numbers, see `StoredTensor::tree`"),
            })
        })?;
        Tensor::new(dtype, self.descriptor.shape().to_vec(), self.read_bytes()?)
    }
}

impl fmt::Debug for StoredTensor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoredTensor({})", self.descriptor)
    }
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tensors = self.tensors.iter().map(|stored| (stored.name(), &stored.descriptor));
        f.debug_map().entries(tensors).finish()
    }
}

impl<'a> Source<'a> {
    /// Puts tensors with distinct names together. An entry of the metadata is an alias if its value is the
    /// name of a tensor and its key is not.
    pub(crate) fn new(tensors: Vec<StoredTensor<'a>>, metadata: Vec<(String, String)>) -> Self {
        debug_assert!(tensors.iter().all(StoredTensor::is_sound), "a tensor has another size");
        Source { tensors, metadata, ..Source::default() }.with_aliases()
    }

    /// Finds the aliases in the metadata.
    fn with_aliases(self) -> Self {
        let names = self.tensors.iter().map(|stored| stored.name().to_owned());
        let mut positions: HashMap<String, usize> = names.zip(0..).collect();
        debug_assert_eq!(positions.len(), self.tensors.len(), "two tensors have one name");
        let alias = |(key, text): &(String, String)| {
            let is_free = !positions.contains_key(key) && !is_of_file(key);
            Some((key.clone(), *positions.get(text).filter(|_| is_free)?))
        };
        let aliases: Vec<_> = self.metadata.iter().filter_map(alias).collect();
        positions.extend(aliases.iter().cloned());
        let keys: HashMap<String, usize> =
            self.metadata.iter().map(|(key, _)| key.clone()).zip(0..).collect();
        debug_assert_eq!(keys.len(), self.metadata.len(), "two texts have one key");
        Source { positions, aliases, keys, ..self }
    }

    /// Puts the tensors of one or several sources together, with metadata for all of them. Nothing is read.
    /// An entry of the metadata is an alias if its value is the name of a tensor and its key is not.
    ///
    /// # Errors
    ///
    /// Returns an error when two tensors have the same name, or two texts the same key.
    ///
    /// ```
    /// use treedef_tensors::{Dtype, Source, Tensor, Tensors, safetensors};
    ///
    /// let byte = |name: &str, byte| Tensors::new([(
    ///     name.to_owned(),
    ///     Tensor::new(Dtype::U8, vec![1], vec![byte])?,
    /// )]);
    /// let (model, ema) = (byte("w", 1)?, byte("w", 2)?);
    /// let (model, ema) = (Source::from(&model), Source::from(&ema));
    /// let renamed = ema.iter().map(|stored| stored.renamed(format!("ema.{}", stored.name())));
    /// let both = Source::of(model.iter().cloned().chain(renamed), [])?;
    /// let file = safetensors::to_bytes(&both.read()?)?;
    /// assert_eq!(safetensors::from_bytes(&file)?.get("ema.w").unwrap().read_bytes()?[..], [2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(
        tensors: impl IntoIterator<Item = StoredTensor<'a>>,
        metadata: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self> {
        let (tensors, mut seen): (Vec<StoredTensor<'a>>, _) =
            (tensors.into_iter().collect(), HashSet::new());
        let metadata: Vec<(String, String)> = metadata.into_iter().collect();
        expect_distinct_keys(&metadata)?;
        match tensors.iter().find(|stored| !seen.insert(stored.name())) {
            Some(stored) => {
                let what = format!("two tensors have the name {}", quoted(stored.name()));
                Err(ErrorKind::Malformed(what).into())
            }
            None => Ok(Source::new(tensors, metadata)),
        }
    }

    /// The stored tensors, in the order of their files.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &StoredTensor<'a>> {
        self.tensors.iter()
    }

    /// The tensor of this name, which may be an alias.
    pub fn get(&self, name: &str) -> Option<&StoredTensor<'a>> {
        self.tensors.get(*self.positions.get(name)?)
    }

    /// The other names of tied tensors, each with the name of the stored tensor.
    pub fn aliases(&self) -> impl Iterator<Item = (&str, &str)> {
        self.tied().map(|(alias, _, stored)| (alias, stored.name()))
    }

    /// The number of bytes of all tensors.
    pub fn num_bytes(&self) -> u64 {
        self.tensors.iter().fold(0, |sum, stored| sum.saturating_add(stored.size))
    }

    /// The keys of the metadata. If a key occurs in several files, the text of the first file is used.
    pub fn metadata_keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.metadata.iter().map(|(key, _)| key.as_str())
    }

    /// The text of this key in the metadata.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        self.metadata.get(*self.keys.get(key)?).map(|(_, text)| text.as_str())
    }

    /// Adds a text to the metadata, and replaces one with the same key. If the text is the name of a tensor,
    /// and the key is not, the key becomes an alias.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, text: impl Into<String>) -> Self {
        let (key, text) = (key.into(), text.into());
        self.metadata.retain(|(other, _)| *other != key);
        self.metadata.push((key, text));
        self.with_aliases()
    }

    /// Faults that were ignored when the files were opened: files that an index does not list, copies of
    /// tensors in other files than the index names, a wrong total size.
    /// [`OpenOptions::strict`](crate::safetensors::OpenOptions::strict) makes these errors.
    pub fn warnings(&self) -> &[Fault] {
        &self.warnings
    }

    pub(crate) fn with_warnings(self, warnings: Vec<Fault>) -> Self {
        Source { warnings: warnings.into(), ..self }
    }

    pub(crate) fn of_file(self, path: &Path) -> Self {
        Source { file: Some(path.display().to_string().into()), ..self }
    }

    /// The file or the folder that was opened, for errors about its content.
    #[doc(hidden)]
    pub fn file(&self) -> Option<Arc<str>> {
        self.file.clone()
    }

    #[cfg(feature = "numpy")]
    pub(crate) fn with_records(self, records: Vec<String>) -> Self {
        Source { records: records.into(), ..self }
    }

    /// The names of the arrays of records. Each field of such an array is a tensor here.
    #[doc(hidden)]
    pub fn __records(&self) -> &[String] {
        &self.records
    }

    /// Whether it has only some tensors of the structure. That is part of the metadata, so that a copy of the
    /// source in a file is read like the source.
    pub(crate) fn is_part(&self) -> bool {
        self.metadata(PART).is_some()
    }

    pub(crate) fn into_part(self) -> Self {
        if self.metadata(STRUCTURE).is_some() { self.with_metadata(PART, "true") } else { self }
    }

    pub(crate) fn texts(&self) -> &[(String, String)] {
        &self.metadata
    }

    /// The same names with other tensors.
    pub(crate) fn map(&self, make: impl Fn(&StoredTensor<'a>) -> StoredTensor<'a>) -> Self {
        Source { tensors: self.tensors.iter().map(make).collect(), ..self.clone() }
    }

    /// The same tensors; those in memory get bytes of their own.
    ///
    /// # Errors
    ///
    /// See [`StoredTensor::read_bytes`].
    ///
    /// ```
    /// use treedef_tensors::{Dtype, Source, Tensor, Tensors};
    ///
    /// let tensor = Tensor::new(Dtype::U8, vec![2], vec![1, 2])?;
    /// let source: Source<'static> = {
    ///     let tensors = Tensors::new([("w".to_owned(), tensor)])?;
    ///     Source::from(&tensors).into_owned()?
    /// };
    /// assert_eq!(source.load::<std::collections::BTreeMap<String, [u8; 2]>>()?["w"], [1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_owned(self) -> Result<Source<'static>> {
        let owned = |stored: StoredTensor<'a>| match stored.bytes {
            TensorBytes::File(file, start) => {
                let bytes = TensorBytes::File(file, start);
                Ok(StoredTensor {
                    bytes,
                    descriptor: stored.descriptor,
                    size: stored.size,
                    observer: stored.observer,
                })
            }
            _ => {
                let bytes = stored.read_bytes()?.into_owned();
                Ok(StoredTensor::owned(stored.descriptor, bytes))
            }
        };
        let tensors = self.tensors.into_iter().map(owned).collect::<Result<_>>()?;
        let Source { positions, aliases, metadata, keys, warnings, records, file, .. } = self;
        Ok(Source { tensors, positions, aliases, metadata, keys, warnings, records, file })
    }

    /// The tensors whose names are kept. If an alias is kept and its stored tensor is not, the
    /// alias becomes a tensor.
    pub(crate) fn filtered(&self, keep: impl Fn(&str) -> bool) -> Self {
        let mut tensors: Vec<StoredTensor<'a>> =
            self.tensors.iter().filter(|stored| keep(stored.name())).cloned().collect();
        let (mut metadata, mut instead) = (self.metadata.clone(), HashMap::new());
        let aliases: HashMap<_, _> =
            self.tied().map(|(alias, at, stored)| (alias, (at, stored))).collect();
        metadata.retain_mut(|(key, text)| {
            let Some((at, stored)) = aliases.get(key.as_str()) else { return true };
            if !keep(key) || keep(stored.name()) {
                return keep(key);
            }
            match instead.get(at) {
                Some(name) => {
                    String::clone_from(text, name);
                    true
                }
                None => {
                    tensors.push(stored.renamed(key.as_str()));
                    instead.insert(*at, key.clone());
                    false
                }
            }
        });
        self.with(tensors, metadata)
    }

    /// Other tensors and texts from the same files.
    fn with(&self, tensors: Vec<StoredTensor<'a>>, metadata: Vec<(String, String)>) -> Self {
        let (warnings, records) = (Arc::clone(&self.warnings), Arc::clone(&self.records));
        Source { warnings, records, file: self.file.clone(), ..Source::new(tensors, metadata) }
    }

    /// The same tensors, with each alias as a tensor of its own. Saving them stores tied numbers once for
    /// each name.
    ///
    /// ```
    /// use treedef_tensors::{Dtype, Source, Tensor, Tensors};
    ///
    /// let tensor = Tensor::new(Dtype::U8, vec![2], vec![1, 2])?;
    /// let tensors = Tensors::new([("wte".to_owned(), tensor)])?.with_metadata("head", "wte");
    /// let source = Source::from(&tensors);
    /// assert_eq!((source.iter().len(), source.aliases().count()), (1, 1));
    /// let separate = source.separate();
    /// assert_eq!((separate.iter().len(), separate.aliases().count()), (2, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn separate(&self) -> Self {
        let mut tensors = self.tensors.clone();
        tensors.extend(self.tied().map(|(alias, _, stored)| stored.renamed(alias)));
        let names: HashSet<&str> = self.tied().map(|(alias, ..)| alias).collect();
        let metadata = self.metadata.iter().filter(|(key, _)| !names.contains(key.as_str()));
        self.with(tensors, metadata.cloned().collect())
    }

    /// The same tensors. The function is called with the number of bytes after each read, except of borrowed
    /// memory, for example to show the progress of loading or saving.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// use treedef::Tree;
    /// use treedef_tensors::{Tensors, safetensors};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("model.safetensors");
    /// safetensors::save(&Tensors::of(&Tree::of(&vec![[0.5f32; 4]; 2])?)?, &path)?;
    /// let read = Arc::new(AtomicU64::new(0));
    /// let counted = read.clone();
    /// let source = safetensors::open(&path)?
    ///     .observed(move |bytes| drop(counted.fetch_add(bytes, Ordering::Relaxed)));
    /// source.load::<Vec<[f32; 4]>>()?;
    /// assert_eq!(read.load(Ordering::Relaxed), 32);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn observed(mut self, observer: impl Fn(u64) + Send + Sync + 'static) -> Self {
        let observer: Observer = Arc::new(observer);
        for stored in &mut self.tensors {
            stored.observer = Some(observer.clone());
        }
        self
    }

    /// Reads all stored tensors. Tensors in memory are borrowed.
    ///
    /// # Errors
    ///
    /// See [`StoredTensor::read`].
    ///
    /// ```
    /// use treedef::Tree;
    /// use treedef_tensors::{Source, Tensors};
    ///
    /// let tree = Tree::of(&vec![([0.5f32, 1.5], 7u8)])?;
    /// let tensors = Tensors::of(&tree)?;
    /// assert_eq!(Source::from(&tensors).read()?, tensors);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(&self) -> Result<Tensors<'a>> {
        let tensors = self.tensors.iter().map(|stored| {
            let tensor = stored.read()?;
            Ok((stored.name().to_owned(), tensor))
        });
        Ok(Tensors { tensors: tensors.collect::<Result<_>>()?, metadata: self.metadata.clone() })
    }

    /// The aliases, with the stored tensors and their positions.
    pub(crate) fn tied(&self) -> impl Iterator<Item = (&str, usize, &StoredTensor<'a>)> {
        self.aliases.iter().filter_map(|(alias, at)| {
            let stored = self.tensors.get(*at);
            debug_assert!(stored.is_some(), "an alias of a tensor that is not there");
            Some((alias.as_str(), *at, stored?))
        })
    }

    /// Checks that a value with each tensor under all of its names is not much larger than the files.
    #[doc(hidden)]
    pub fn __check_ties(&self) -> Result<()> {
        let tied = self.tied().map(|(_, _, stored)| stored.num_bytes());
        let tied = tied.fold(0, u64::saturating_add);
        if tied <= self.num_bytes().saturating_mul(MOST_TIES) {
            return Ok(());
        }
        let what = format!(
            "the aliases of tied tensors have {tied} bytes, more than {MOST_TIES} times those of the tensors"
        );
        Err(ErrorKind::limit("bytes of aliases", what).into())
    }
}

/// Checks that no key occurs twice: readers of a file with such metadata differ.
pub(crate) fn expect_distinct_keys(metadata: &[(String, String)]) -> Result<()> {
    let mut seen = HashSet::new();
    match metadata.iter().find(|(key, _)| !seen.insert(key)) {
        Some((key, _)) => {
            let what = format!("the metadata has {} twice", quoted(key));
            Err(ErrorKind::Malformed(what).into())
        }
        None => Ok(()),
    }
}

impl<'a> From<&'a Tensors<'_>> for Source<'a> {
    fn from(tensors: &'a Tensors<'_>) -> Self {
        let stored = tensors.iter().map(|(name, tensor)| StoredTensor::from(tensor).renamed(name));
        Source::new(stored.collect(), tensors.metadata.clone())
    }
}

/// A tensor without a name, whose numbers are borrowed.
impl<'a> From<&'a Tensor<'_>> for StoredTensor<'a> {
    fn from(tensor: &'a Tensor<'_>) -> Self {
        let element = NumberType::Dtype(tensor.dtype());
        let descriptor = Descriptor::of(String::new(), element, tensor.shape().to_vec());
        StoredTensor::in_memory(descriptor, tensor.bytes())
    }
}

/// The same tensor.
impl<'a> From<&StoredTensor<'a>> for StoredTensor<'a> {
    fn from(stored: &StoredTensor<'a>) -> Self {
        stored.clone()
    }
}

/// The same tensors; files stay open and are shared.
impl<'a> From<&Source<'a>> for Source<'a> {
    fn from(source: &Source<'a>) -> Self {
        source.clone()
    }
}
