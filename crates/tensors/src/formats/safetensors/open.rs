//! Opening files without reading their tensors.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use crate::error::{ErrorKind, Fault, Result, quoted};
use crate::file::{folder, open_regular};
use crate::file_bytes::FileBytes;
use crate::formats::safetensors::folder::{FolderFormat, ModelFiles, SAFETENSORS, find};
use crate::formats::safetensors::header::MAX_HEADER;
use crate::formats::safetensors::index::{Index, is_of_save};
use crate::formats::safetensors::shards::{LEFT_OUT, Shards};
use crate::source::Source;

/// Options for opening files.
///
/// ```
/// use treedef::Tree;
/// use treedef_tensors::{Tensors, safetensors};
///
/// let folder = tempfile::tempdir()?;
/// let tree = Tree::of(&vec![[0.5f32]; 2])?;
/// safetensors::save(&Tensors::of(&tree)?, folder.path().join("model.safetensors"))?;
/// let opening = safetensors::OpenOptions::new().follow_links(true);
/// assert_eq!(opening.open(folder.path())?.num_bytes(), 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    follow_links: bool,
    strict: bool,
    variant: Option<String>,
}

/// Opens a checkpoint: a folder, its index, or one file. Only headers are read.
///
/// A folder has an index `….safetensors.index.json`, which maps tensors to files; or one file,
/// `model.safetensors` among others; or all shards of one model, by their names. If there are variants,
/// such as `model.fp16.safetensors` or `model.safetensors.index.fp16.json`, the plain model is opened,
/// unless [`OpenOptions::variant`] names another.
///
/// The index decides. Files and tensors that are not in it, copies of tensors in other files than it names,
/// and a wrong total size are listed in [`Source::warnings`](crate::Source::warnings). Everything is
/// compared, and one error lists all faults with their files and tensors:
///
/// - a shard that is missing, cut off, or not a file of the format; a gap, an overlap or a rest in its
///   data;
/// - a name in two shards without an index; a name in the index that is not in the file;
/// - a path or a symbolic link that leads out of the folder. The cache of the Hugging Face hub, whose links
///   lead to its own folder `blobs`, is allowed;
/// - several files without an index. To open such files, use [`open_files`].
///
/// # Errors
///
/// Returns [`ErrorKind::Faults`], or an error of the operating system when the path cannot be opened.
///
/// ```
/// use treedef::Tree;
/// use treedef_tensors::{Tensors, safetensors};
///
/// let folder = tempfile::tempdir()?;
/// let tree = Tree::of(&vec![[0.5f32; 4]; 2])?;
/// safetensors::save(&Tensors::of(&tree)?, folder.path().join("a.safetensors"))?;
/// std::fs::write(
///     folder.path().join("model.safetensors.index.json"),
///     r#"{"metadata": {"total_size": 32}, "weight_map": {"": "a.safetensors"}}"#,
/// )?;
/// assert_eq!(safetensors::open(folder.path())?.load::<[[f32; 4]; 2]>()?, [[0.5; 4]; 2]);
///
/// std::fs::copy(folder.path().join("a.safetensors"), folder.path().join("b.safetensors"))?;
/// let source = safetensors::open(folder.path())?;
/// let left_out = source.warnings()[0].to_string();
/// assert!(left_out.ends_with("b.safetensors: left out, as the index does not name it"));
/// assert!(safetensors::OpenOptions::new().strict(true).open(folder.path()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open(path: impl AsRef<Path>) -> Result<Source<'static>> {
    OpenOptions::new().open(path)
}

/// Opens files of one model, without an index.
///
/// # Errors
///
/// As [`open`].
///
/// ```
/// use treedef::Tree;
/// use treedef_tensors::{Tensors, safetensors};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model.safetensors");
/// safetensors::save(&Tensors::of(&Tree::of(&vec![[0.5f32]; 2])?)?, &path)?;
/// let error = safetensors::open_files([&path, &path]).unwrap_err();
/// assert!(error.to_string().contains("is also in"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open_files(files: impl IntoIterator<Item = impl AsRef<Path>>) -> Result<Source<'static>> {
    let mut shards = Shards::default();
    for file in files {
        shards.add_path(file.as_ref());
    }
    shards.into_source(false)
}

/// Opens files in memory, e.g. memory-mapped files, by the text of their index, with the same checks as
/// [`open`]. The files have their names in the index. Their tensors are borrowed.
///
/// Without an index, use [`from_bytes`](super::from_bytes) for one file, and [`Source::of`] to combine
/// tensors of several.
///
/// # Errors
///
/// As [`open`].
///
/// ```
/// use treedef::Tree;
/// use treedef_tensors::{Tensors, safetensors};
///
/// let bytes = safetensors::to_bytes(&Tensors::of(&Tree::of(&([0.5f32], [7u8]))?)?)?;
/// let files = || [("a.safetensors", bytes.as_slice())];
/// let index = br#"{"weight_map": {"0": "a.safetensors", "1": "a.safetensors"}}"#;
/// assert_eq!(safetensors::open_indexed_slices(index, files())?.num_bytes(), 5);
///
/// let index = br#"{"weight_map": {"0": "a.safetensors", "1": "b.safetensors"}}"#;
/// let error = safetensors::open_indexed_slices(index, files()).unwrap_err();
/// assert_eq!(error.to_string(), "b.safetensors: there is no such file");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open_indexed_slices<'a>(
    index: &[u8],
    files: impl IntoIterator<Item = (impl AsRef<str>, &'a [u8])>,
) -> Result<Source<'a>> {
    let files = files.into_iter().map(|(name, bytes)| (name.as_ref().to_owned(), bytes));
    let files: HashMap<String, &'a [u8]> = files.collect();
    let mut shards = Shards::default();
    let index = Index::parse(index, "the index", &mut shards.faults);
    shards.add_indexed(&index, str::to_owned, |shards, file| match files.get(file) {
        Some(bytes) => shards.add(file, &FileBytes::Memory(bytes)),
        None => {
            shards.fault(file, None, "there is no such file");
            None
        }
    });
    let mut strays: Vec<&String> =
        files.keys().filter(|name| index.is_read && !index.files.contains_key(*name)).collect();
    strays.sort_unstable();
    strays.into_iter().for_each(|name| shards.warn(name, None, LEFT_OUT));
    shards.expect_total_size(&index, "the index");
    shards.into_source(false)
}

impl OpenOptions {
    /// Links may not lead out of the folder, and skipped files are listed.
    pub fn new() -> Self {
        OpenOptions::default()
    }

    /// Follows symbolic links that lead out of the folder.
    #[must_use]
    pub fn follow_links(self, yes: bool) -> Self {
        OpenOptions { follow_links: yes, ..self }
    }

    /// Turns everything that [`Source::warnings`](crate::Source::warnings) would list into an
    /// error.
    #[must_use]
    pub fn strict(self, yes: bool) -> Self {
        OpenOptions { strict: yes, ..self }
    }

    /// Opens this variant of the model in a folder, as libraries name them: `fp16` is
    /// `model.fp16.safetensors`, or the index `model.safetensors.index.fp16.json` with its shards.
    ///
    /// ```
    /// use treedef::Tree;
    /// use treedef_tensors::{Tensors, safetensors};
    ///
    /// let folder = tempfile::tempdir()?;
    /// for (name, number) in [("model.safetensors", 1.0f32), ("model.ema.safetensors", 2.0)] {
    ///     safetensors::save(&Tensors::of(&Tree::of(&[number])?)?, folder.path().join(name))?;
    /// }
    /// assert_eq!(safetensors::open(folder.path())?.load::<[f32; 1]>()?, [1.0]);
    /// let ema = safetensors::OpenOptions::new().variant("ema").open(folder.path())?;
    /// assert_eq!(ema.load::<[f32; 1]>()?, [2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn variant(self, name: impl Into<String>) -> Self {
        OpenOptions { variant: Some(name.into()), ..self }
    }

    /// Opens a folder, an index or a file, as [`open`] does.
    ///
    /// # Errors
    ///
    /// As [`open`].
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Source<'static>> {
        let path = path.as_ref();
        Ok(self.open_as(path, &SAFETENSORS)?.of_file(path))
    }

    /// Opens files of another format.
    pub(crate) fn open_as(&self, path: &Path, of: &FolderFormat) -> Result<Source<'static>> {
        if named(path, fs::metadata(path))?.is_dir() {
            return self.open_folder(path, of);
        }
        if path.extension().is_some_and(|it| it.eq_ignore_ascii_case("json")) {
            return self.open_index(path, &[], of);
        }
        let mut shards = Shards::default();
        (of.add)(&mut shards, path);
        shards.into_source(self.strict)
    }

    fn open_folder(&self, folder: &Path, of: &FolderFormat) -> Result<Source<'static>> {
        let mut names = Vec::new();
        for entry in named(folder, fs::read_dir(folder))? {
            names.push(named(folder, entry)?.file_name().to_string_lossy().into_owned());
        }
        let found = find(names, self.variant.as_deref(), of).map_err(|what| {
            let fault = Fault::new(&folder.display().to_string(), None, what);
            ErrorKind::Faults(vec![fault])
        })?;
        let (files, others) = match found {
            ModelFiles::Index(index, others) => {
                let path = folder.join(index);
                if let Some(what) = self.leads_out(folder, &path) {
                    let fault = Fault::new(&path.display().to_string(), None, what);
                    return Err(ErrorKind::Faults(vec![fault]).into());
                }
                return self.open_index(&path, &others, of);
            }
            ModelFiles::Files(files, others) => (files, others),
        };
        let mut shards = Shards::default();
        for file in &files {
            self.add(&mut shards, folder, file, of);
        }
        let model = match files.as_slice() {
            [one] => format!("{} is the model", quoted(one)),
            all => {
                let first = all.first().map_or("", String::as_str);
                format!("{} and the other shards are the model", quoted(first))
            }
        };
        for name in others {
            let what = format!("left out, as {model}");
            shards.warn(&folder.join(name).display().to_string(), None, what);
        }
        shards.into_source(self.strict)
    }

    fn add(
        &self,
        shards: &mut Shards<'static>,
        folder: &Path,
        file: &str,
        of: &FolderFormat,
    ) -> Option<Vec<String>> {
        let path = folder.join(file);
        if let Some(what) = self.leads_out(folder, &path) {
            shards.fault(&path.display().to_string(), None, what);
            return None;
        }
        (of.add)(shards, &path)
    }

    /// Opens the files in an index. `others` are the other files in its folder.
    fn open_index(
        &self,
        path: &Path,
        others: &[String],
        of: &FolderFormat,
    ) -> Result<Source<'static>> {
        let name = path.display().to_string();
        let mut text = Vec::new();
        let file = named(path, open_regular(path))?;
        named(path, file.take(MAX_HEADER + 1).read_to_end(&mut text))?;
        if u64::try_from(text.len()).is_ok_and(|length| length > MAX_HEADER) {
            return Err(ErrorKind::limit(
                "bytes of the index",
                format!("{name}: more than {MAX_HEADER} bytes"),
            )
            .into());
        }
        let mut shards = Shards::default();
        let index = Index::parse(&text, &name, &mut shards.faults);
        let folder = folder(path);
        let shown = |file: &str| folder.join(file).display().to_string();
        shards.add_indexed(&index, shown, |shards, file| self.add(shards, folder, file, of));
        for stray in others.iter().filter(|_| index.is_read) {
            // Leftovers of an interrupted save are recognised by their names.
            let is_known = index.files.contains_key(stray)
                || index.replaced.contains(stray)
                || is_of_save(stray);
            if !is_known {
                shards.warn(&folder.join(stray).display().to_string(), None, LEFT_OUT);
            }
        }
        if of.has_total_size {
            shards.expect_total_size(&index, &name);
        }
        shards.into_source(self.strict)
    }

    /// Returns the target of a link, if it is out of the folder.
    fn leads_out(&self, folder: &Path, file: &Path) -> Option<String> {
        // A missing file is reported when it is opened.
        let (folder, target) = (fs::canonicalize(folder).ok()?, fs::canonicalize(file).ok()?);
        if self.follow_links || target.starts_with(&folder) || is_blob(&folder, &target) {
            return None;
        }
        let target = quoted(&target.display().to_string());
        Some(format!("a link out of the folder, to {target} (see `OpenOptions::follow_links`)"))
    }
}

/// Whether a link leads from `snapshots/…` to `blobs` beside it, as in the cache of the hub.
fn is_blob(folder: &Path, target: &Path) -> bool {
    let snapshots = folder.ancestors().find(|it| it.ends_with("snapshots"));
    let blobs = snapshots.and_then(Path::parent).map(|cache| cache.join("blobs"));
    blobs.is_some_and(|blobs| target.parent() == Some(blobs.as_path()))
}

fn named<T>(path: &Path, result: std::io::Result<T>) -> Result<T> {
    result.map_err(|error| {
        std::io::Error::new(error.kind(), format!("{}: {error}", path.display())).into()
    })
}
