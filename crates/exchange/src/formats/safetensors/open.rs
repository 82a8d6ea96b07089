//! Opening files without reading their tensors.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io::{ErrorKind as ErrorKindOfIo, Read};
use std::path::Path;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Fault, Result, quoted};
use crate::file::{OpenFile, folder};
use crate::formats::safetensors::header::{self, Header, MAX_HEADER, Misplaced, PREFIX};
use crate::formats::safetensors::index::{EXTENSION, INDEX, Index, is_of_save, shard_number};
use crate::source::{Source, Stored};

/// So many files stay open. The others are opened when a tensor is read.
const HELD: usize = 64;

/// How files are opened.
///
/// ```
/// use treedef::Tree;
/// use treedef_exchange::{Tensors, safetensors};
///
/// let folder = tempfile::tempdir()?;
/// let tree = Tree::of(&vec![[0.5f32]; 2])?;
/// safetensors::save(&Tensors::of(&tree)?, folder.path().join("model.safetensors"))?;
/// let opening = safetensors::Opening::new().follow_links(true);
/// assert_eq!(opening.open(folder.path())?.num_bytes(), 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    follow_links: bool,
    total_size: bool,
}

impl Default for Opening {
    fn default() -> Self {
        Opening { follow_links: false, total_size: true }
    }
}

/// Opens a checkpoint: a folder, its index, or one file. Only headers are read.
///
/// A folder has one file `….safetensors`, or one index `….safetensors.index.json`, which says which
/// file has which tensor. Everything is compared, and all faults are in one error, with their files and
/// tensors:
///
/// - a shard that is missing, cut off, or no file of the format; in its data a hole, an overlap, a rest;
/// - a name in two shards; one that is in the index and not in the file, or in the file and not in the
///   index; another total size than that of the index;
/// - a path or a symbolic link that leads out of the folder. The cache of the Hugging Face hub, whose
///   links lead to its own folder `blobs`, is no fault;
/// - a file `….safetensors` in the folder that the index does not name. Where this is meant, open the
///   index itself;
/// - several files without an index. Where this is meant, use [`open_files`].
///
/// # Errors
///
/// Returns [`ErrorKind::Faults`], or an error of the operating system when the path cannot be opened.
///
/// ```
/// use treedef::Tree;
/// use treedef_exchange::{Tensors, safetensors};
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
/// let error = safetensors::open(folder.path()).unwrap_err();
/// assert!(error.to_string().ends_with(
///     "b.safetensors: the index does not name this file (open the index itself to leave it out)"
/// ));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open(path: impl AsRef<Path>) -> Result<Source<'static>> {
    Opening::new().open(path)
}

/// Opens files that belong together, without an index.
///
/// # Errors
///
/// As [`open`].
///
/// ```
/// use treedef::Tree;
/// use treedef_exchange::{Tensors, safetensors};
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
    shards.into_source()
}

/// Opens files that are in memory, such as those that a program has mapped, by their names. Their
/// tensors are borrowed.
///
/// # Errors
///
/// As [`open`].
///
/// ```
/// use treedef::Tree;
/// use treedef_exchange::{Tensors, safetensors};
///
/// let bytes = safetensors::to_bytes(&Tensors::of(&Tree::of(&vec![[0.5f32]; 2])?)?)?;
/// let source = safetensors::open_slices([("model.safetensors", bytes.as_slice())])?;
/// assert_eq!(source.load::<Vec<[f32; 1]>>()?, [[0.5], [0.5]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open_slices<'a>(
    files: impl IntoIterator<Item = (impl AsRef<str>, &'a [u8])>,
) -> Result<Source<'a>> {
    let mut shards = Shards::default();
    for (name, bytes) in files {
        shards.add(name.as_ref(), &Data::Memory(bytes));
    }
    shards.into_source()
}

/// As [`open_slices`], with the text of the index, which is compared as [`open`] does it. The files
/// have the names that the index has.
///
/// # Errors
///
/// As [`open`].
///
/// ```
/// use treedef::Tree;
/// use treedef_exchange::{Tensors, safetensors};
///
/// let bytes = safetensors::to_bytes(&Tensors::of(&Tree::of(&([0.5f32], [7u8]))?)?)?;
/// let files = || [("a.safetensors", bytes.as_slice())];
/// let index = br#"{"weight_map": {"0": "a.safetensors", "1": "a.safetensors"}}"#;
/// assert_eq!(safetensors::open_indexed_slices(index, files())?.num_bytes(), 5);
///
/// let index = br#"{"weight_map": {"0": "a.safetensors", "1": "b.safetensors"}}"#;
/// let error = safetensors::open_indexed_slices(index, files()).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "2 faults\n\
///      a.safetensors: \"1\": the index says that it is in \"b.safetensors\"\n\
///      b.safetensors: there is no such file"
/// );
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
        Some(bytes) => shards.add(file, &Data::Memory(bytes)),
        None => {
            shards.fault(file, None, "there is no such file");
            None
        }
    });
    let mut strays: Vec<&String> =
        files.keys().filter(|name| index.is_read && !index.files.contains_key(*name)).collect();
    strays.sort_unstable();
    strays
        .into_iter()
        .for_each(|name| shards.fault(name, None, "the index does not name this file"));
    shards.expect_total_size(&index, "the index");
    shards.into_source()
}

/// How the files of a format are found in a folder, and opened.
pub(crate) struct Files {
    /// What an error calls them: `*.safetensors`.
    pub(crate) what: &'static str,
    /// How the name of an index ends.
    pub(crate) index: &'static str,
    pub(crate) is_file: fn(&str) -> bool,
    /// Opens a file. Returns the names of its tensors if they could be read.
    pub(crate) add: fn(&mut Shards<'static>, &Path) -> Option<Vec<String>>,
}

const SAFETENSORS: Files = Files {
    what: "*.safetensors",
    index: INDEX,
    is_file: |name| name.ends_with(EXTENSION),
    add: Shards::add_path,
};

impl Opening {
    /// Links may not lead out of the folder, and the total size is compared.
    pub fn new() -> Self {
        Opening::default()
    }

    /// Follows symbolic links that lead out of the folder.
    #[must_use]
    pub fn follow_links(self, yes: bool) -> Self {
        Opening { follow_links: yes, ..self }
    }

    /// Sets whether the `total_size` of an index has to be that of its tensors. Some writers count
    /// other bytes than those that they write.
    #[must_use]
    pub fn check_total_size(self, yes: bool) -> Self {
        Opening { total_size: yes, ..self }
    }

    /// Opens a folder, an index or a file, as [`open`] does.
    ///
    /// # Errors
    ///
    /// As [`open`].
    pub fn open(self, path: impl AsRef<Path>) -> Result<Source<'static>> {
        self.open_as(path.as_ref(), &SAFETENSORS)
    }

    /// Opens files of another format.
    pub(crate) fn open_as(self, path: &Path, of: &Files) -> Result<Source<'static>> {
        if named(path, fs::metadata(path))?.is_dir() {
            return self.open_folder(path, of);
        }
        if path.extension().is_some_and(|it| it.eq_ignore_ascii_case("json")) {
            return self.open_index(path, None, of);
        }
        let mut shards = Shards::default();
        (of.add)(&mut shards, path);
        shards.into_source()
    }

    fn open_folder(self, folder: &Path, of: &Files) -> Result<Source<'static>> {
        let (mut indexes, mut files) = (BTreeSet::new(), BTreeSet::new());
        for entry in named(folder, fs::read_dir(folder))? {
            let name = named(folder, entry)?.file_name().to_string_lossy().into_owned();
            if name.ends_with(of.index) {
                indexes.insert(name);
            } else if (of.is_file)(&name) && !name.starts_with('.') {
                files.insert(name);
            }
        }
        let list = |names: &BTreeSet<String>| {
            let shown: Vec<String> = names.iter().take(4).map(|name| quoted(name)).collect();
            let more = names.len().saturating_sub(shown.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            shown.join(", ") + &more
        };
        let fault = |what: String| {
            Err(ErrorKind::Faults(vec![Fault::new(&folder.display().to_string(), None, what)])
                .into())
        };
        // A save that was ended before it wrote its index left the old file as it was.
        let mut several = files.iter().filter(|name| !is_of_save(name));
        let mut all = indexes.iter();
        match (all.next(), all.next(), several.next(), several.next()) {
            (Some(index), None, ..) => self.open_index(&folder.join(index), Some(&files), of),
            (Some(_), Some(_), ..) => {
                fault(format!("several indexes, {}: open one of them", list(&indexes)))
            }
            (None, _, Some(file), None) => match shard_number(file) {
                Some((_, count)) if count > 1 => fault(format!(
                    "{} is one of {count} shards, and there is no index (`open_files` needs none)",
                    quoted(file)
                )),
                _ => {
                    let mut shards = Shards::default();
                    let path = folder.join(file);
                    match self.leads_out(folder, &path) {
                        Some(what) => shards.fault(&path.display().to_string(), None, what),
                        None => drop((of.add)(&mut shards, &path)),
                    }
                    shards.into_source()
                }
            },
            (None, _, Some(_), Some(_)) => fault(format!(
                "several files and no index, {}: which belong together? Open these with `open_files`",
                list(&files)
            )),
            (None, _, None, _) => fault(format!("there is no file `{}` in it", of.what)),
        }
    }

    /// Opens the files that an index names. `beside` are the files in its folder, if none may be left
    /// out.
    fn open_index(
        self,
        path: &Path,
        beside: Option<&BTreeSet<String>>,
        of: &Files,
    ) -> Result<Source<'static>> {
        let name = path.display().to_string();
        let mut text = Vec::new();
        let limit = u64::try_from(MAX_HEADER).unwrap_or(u64::MAX);
        let file = named(path, fs::File::open(path))?;
        named(path, file.take(limit.saturating_add(1)).read_to_end(&mut text))?;
        if text.len() > MAX_HEADER {
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
        shards.add_indexed(&index, shown, |shards, file| {
            let path = folder.join(file);
            match self.leads_out(folder, &path) {
                Some(what) => {
                    shards.fault(&path.display().to_string(), None, what);
                    None
                }
                None => (of.add)(shards, &path),
            }
        });
        for stray in beside.into_iter().flatten().filter(|_| index.is_read) {
            // What a save that was ended left is known by its name.
            let is_known = index.files.contains_key(stray)
                || index.replaced.contains(stray)
                || is_of_save(stray);
            if !is_known {
                let what =
                    "the index does not name this file (open the index itself to leave it out)";
                shards.fault(&folder.join(stray).display().to_string(), None, what);
            }
        }
        if self.total_size {
            shards.expect_total_size(&index, &name);
        }
        shards.into_source()
    }

    /// Says where a link leads, if that is out of the folder.
    fn leads_out(self, folder: &Path, file: &Path) -> Option<String> {
        // What is not there is told where it is opened.
        let (folder, target) = (fs::canonicalize(folder).ok()?, fs::canonicalize(file).ok()?);
        if self.follow_links || target.starts_with(&folder) || is_blob(&folder, &target) {
            return None;
        }
        let target = quoted(&target.display().to_string());
        Some(format!("a link out of the folder, to {target} (see `Opening::follow_links`)"))
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

/// Where the bytes of a file are.
enum Data<'a> {
    File(Arc<OpenFile>),
    Memory(&'a [u8]),
}

/// The files that were opened, and what is wrong with them.
#[derive(Default)]
pub(crate) struct Shards<'a> {
    tensors: Vec<Stored<'a>>,
    /// The file of each tensor.
    files: HashMap<String, Arc<str>>,
    metadata: Vec<(String, String)>,
    keys: HashSet<String>,
    faults: Vec<Fault>,
    held: usize,
}

impl<'a> Shards<'a> {
    fn fault(&mut self, file: &str, tensor: Option<&str>, what: impl Into<String>) {
        self.faults.push(Fault::new(file, tensor, what));
    }

    /// Opens the files of an index, and compares their tensors with it.
    fn add_indexed(
        &mut self,
        index: &Index,
        shown: impl Fn(&str) -> String,
        mut open: impl FnMut(&mut Self, &str) -> Option<Vec<String>>,
    ) {
        let mut expected: HashMap<&str, &str> = HashMap::new();
        for (file, names) in &index.files {
            expected.extend(names.iter().map(|name| (name.as_str(), file.as_str())));
        }
        for (file, names) in &index.files {
            let Some(found) = open(self, file) else { continue };
            let shown = shown(file);
            let found: BTreeSet<String> = found.into_iter().collect();
            for name in &found {
                match expected.get(name.as_str()) {
                    Some(other) if other == file => {}
                    Some(other) => {
                        let what = format!("the index says that it is in {}", quoted(other));
                        self.fault(&shown, Some(name), what);
                    }
                    None => self.fault(&shown, Some(name), "the index does not name it"),
                }
            }
            for name in names.iter().filter(|name| !found.contains(*name)) {
                self.fault(&shown, Some(name), "the index has it, and the file does not");
            }
        }
    }

    /// Compares the total size of an index, if nothing else is wrong.
    fn expect_total_size(&mut self, index: &Index, name: &str) {
        let size = self.tensors.iter().map(Stored::num_bytes).fold(0, u64::saturating_add);
        match index.total_size.filter(|_| self.faults.is_empty()) {
            Some(total) if total != size => {
                let what = format!(
                    "`total_size` is {total}, and the tensors have {size} bytes \
                     (see `Opening::check_total_size`)"
                );
                self.fault(name, None, what);
            }
            _ => {}
        }
    }

    fn into_source(self) -> Result<Source<'a>> {
        if self.faults.is_empty() {
            Ok(Source::new(self.tensors, self.metadata))
        } else {
            Err(ErrorKind::Faults(self.faults).into())
        }
    }

    /// Opens a file. Returns the names of its tensors if its header could be read.
    fn add_path(&mut self, path: &Path) -> Option<Vec<String>> {
        let name = path.display().to_string();
        match OpenFile::open(path, self.held < HELD) {
            Ok(file) => {
                self.held = self.held.saturating_add(1);
                self.add(&name, &Data::File(Arc::new(file)))
            }
            Err(error) if error.kind() == ErrorKindOfIo::NotFound => {
                self.fault(&name, None, "there is no such file");
                None
            }
            Err(error) => {
                self.fault(&name, None, error.to_string());
                None
            }
        }
    }

    /// Adds a file of another format, and opens it unless it is not there. `open` is told whether it may
    /// stay open.
    pub(crate) fn add_source(
        &mut self,
        path: &Path,
        open: impl FnOnce(bool) -> Result<Source<'a>>,
    ) -> Option<Vec<String>> {
        let name = path.display().to_string();
        self.held = self.held.saturating_add(1);
        let source = match open(self.held <= HELD) {
            Ok(source) => source,
            Err(error) => {
                match error.kind() {
                    ErrorKind::Faults(faults) => self.faults.extend(faults.iter().cloned()),
                    _ if error.is_not_found() => self.fault(&name, None, "there is no such file"),
                    _ => self.fault(&name, None, error.to_string()),
                }
                return None;
            }
        };
        let names = source.iter().map(Stored::name).chain(source.aliases().map(|(name, _)| name));
        let names = names.map(str::to_owned).collect();
        let file: Arc<str> = name.into();
        for stored in source.iter() {
            self.put(&file, stored.clone());
        }
        self.put_metadata(source.texts().to_vec());
        Some(names)
    }

    /// Adds a tensor, unless it is in another file.
    fn put(&mut self, file: &Arc<str>, stored: Stored<'a>) {
        let tensor = stored.name();
        if let Some(other) = self.files.get(tensor) {
            let what = format!("it is also in {}", quoted(other));
            self.faults.push(Fault::new(file, Some(tensor), what));
            return;
        }
        self.files.insert(tensor.to_owned(), file.clone());
        self.tensors.push(stored);
    }

    fn put_metadata(&mut self, metadata: Vec<(String, String)>) {
        for (key, text) in metadata {
            if self.keys.insert(key.clone()) {
                self.metadata.push((key, text));
            }
        }
    }

    fn add(&mut self, name: &str, data: &Data<'a>) -> Option<Vec<String>> {
        let (header, start, size) = match data.header() {
            Ok(header) => header,
            Err(error) => {
                self.fault(name, None, error.to_string());
                return None;
            }
        };
        let names = header.tensors.iter().map(|(name, _)| name.clone()).collect();
        let faults = &mut self.faults;
        let placed = header::placed(header.tensors, size, |misplaced| {
            faults.push(match misplaced {
                Misplaced::Tensor(tensor, what) => Fault::new(name, Some(&tensor), what),
                Misplaced::Rest(_, what) => Fault::new(name, None, what),
            });
        });
        let file: Arc<str> = name.into();
        for placed in placed {
            self.put(&file, data.stored(placed, start));
        }
        self.put_metadata(header.metadata);
        Some(names)
    }
}

impl<'a> Data<'a> {
    fn len(&self) -> u64 {
        match self {
            Data::File(file) => file.len(),
            Data::Memory(bytes) => u64::try_from(bytes.len()).unwrap_or(u64::MAX),
        }
    }

    /// The header, where the bytes of the tensors begin, and how many there are.
    fn header(&self) -> Result<(Header, u64, u64)> {
        let short = || {
            let what = format!("the file ends inside its header, it has {} bytes", self.len());
            Error::from(ErrorKind::Malformed(what))
        };
        let mut prefix = [0; PREFIX];
        let after_prefix = self.len().checked_sub(8).ok_or_else(short)?;
        self.read(&mut prefix, 0)?;
        let length = header::length(prefix).ok_or_else(|| {
            ErrorKind::Malformed(format!(
                "no safetensors: a header of more than {MAX_HEADER} bytes"
            ))
        })?;
        let size = u64::try_from(length).ok().and_then(|length| after_prefix.checked_sub(length));
        let size = size.ok_or_else(short)?;
        let mut text = vec![0; length]; // the file has so many
        self.read(&mut text, 8)?;
        Ok((Header::parse(&text)?, self.len() - size, size))
    }

    fn read(&self, buffer: &mut [u8], offset: usize) -> Result<()> {
        match self {
            Data::File(file) => {
                file.read_exact_at(buffer, u64::try_from(offset).unwrap_or(u64::MAX))?;
            }
            Data::Memory(bytes) => {
                let part = bytes.get(offset..).and_then(|rest| rest.get(..buffer.len()));
                buffer.copy_from_slice(part.unwrap_or_default()); // the length was compared
            }
        }
        Ok(())
    }

    fn stored(&self, placed: header::Placed, start: u64) -> Stored<'a> {
        let header::Placed { descriptor, start: from, end } = placed;
        // All of it is inside of the file.
        let (begin, size) = (start.saturating_add(from), end - from);
        match self {
            Data::File(file) => Stored::in_file(descriptor, size, file, begin),
            Data::Memory(bytes) => {
                let begin = usize::try_from(begin).unwrap_or(usize::MAX);
                let size = usize::try_from(size).unwrap_or(usize::MAX);
                let part = bytes.get(begin..).and_then(|rest| rest.get(..size));
                Stored::in_memory(descriptor, part.unwrap_or_default())
            }
        }
    }
}
