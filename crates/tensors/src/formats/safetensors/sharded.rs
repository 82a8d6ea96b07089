//! Writing a checkpoint in shards.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Read;
use std::path::{Path, PathBuf};

use treedef::__private::{flush_folder, sweep_folder};

use crate::error::{ErrorKind, Result, quoted};
use crate::file::{self, PendingFile};
use crate::formats::safetensors::index::{EXTENSION, INDEX, Index, is_of_save, shard_number};
use crate::formats::safetensors::writer::Writer;
use crate::source::{Source, StoredTensor};
use crate::structure::is_of_structure;

/// The name of a checkpoint in one file.
const WHOLE: &str = "model.safetensors";

/// Writes a checkpoint into a folder, in files of at most `max_bytes` bytes of tensors, with an index in
/// the format of transformers. A tensor is never divided: a larger one gets a file of its own. If one file
/// is enough, and the folder has no index, it is `model.safetensors`, without an index.
///
/// The tensors are [`Tensors`](crate::Tensors) or a [`Source`], which is copied piece by piece:
/// `save_sharded(&open(old)?, new, max_bytes)` makes other shards of a checkpoint of any size, in
/// little memory.
///
/// The texts of the metadata are in each file, because transformers requires `format` there. The
/// texts of the structure are in the first file, and an alias is in the file of its tensor.
///
/// The folder always has either the old checkpoint or the new one, even if the process is killed:
/// the new index is written in one step. Then the old files are removed: those of the index, or without an
/// index `model.safetensors` and files such as `model-00001-of-00003.safetensors`. Beside files of tensors, the new
/// ones have other names, such as `model-5f3a9c01-00001-of-00003.safetensors`. The next save removes
/// leftovers of a killed process. Other files in the folder are not touched. Two saves into one folder at
/// the same time are not supported.
///
/// Returns the files: the shards, and then the index, if there is one.
///
/// # Errors
///
/// As [`Writer::create`], when the folder has an index of another name, and errors of the operating
/// system. The old checkpoint is then unchanged, unless only flushing the folder failed.
///
/// ```
/// use treedef::Tree;
/// use treedef_tensors::{Tensors, safetensors};
///
/// let folder = tempfile::tempdir()?;
/// let value = vec![([1.5f32; 8], [2.5f64; 8]); 2];
/// let tree = Tree::of(&value)?;
/// let tensors = Tensors::of(&tree)?.with_metadata("format", "pt");
/// let files = safetensors::save_sharded(&tensors, folder.path(), 100)?;
/// let names = files.iter().map(|path| path.file_name().unwrap().to_str().unwrap());
/// assert_eq!(
///     names.collect::<Vec<_>>(),
///     [
///         "model-00001-of-00002.safetensors",
///         "model-00002-of-00002.safetensors",
///         "model.safetensors.index.json"
///     ]
/// );
/// assert_eq!(safetensors::open(folder.path())?.load::<Vec<([f32; 8], [f64; 8])>>()?, value);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save_sharded<'s>(
    tensors: impl Into<Source<'s>>,
    folder: impl AsRef<Path>,
    max_bytes: u64,
) -> Result<Vec<PathBuf>> {
    let (source, folder) = (tensors.into(), folder.as_ref());
    let shards = shards(&source, max_bytes);
    let _made = CreatedFolders::create(folder)?;
    sweep_folder(folder);
    let old = PreviousCheckpoint::find(folder)?;
    let metadata = ShardMetadata::of(&source);
    if let ([shard], None) = (shards.as_slice(), &old.index) {
        let path = folder.join(WHOLE);
        write_shard(&path, shard, metadata.of_shard(shard, true))?.finish()?;
        remove(folder, old.files.iter().filter(|name| *name != WHOLE));
        return Ok(vec![path]);
    }
    // Files that may be a model, also without an index, keep their names and contents until there is a new
    // index.
    let tag = if old.has_tensors { format!("{}-", tag()) } else { String::new() };
    let count = shards.len();
    let mut index = Index { total_size: Some(source.num_bytes()), ..Index::default() };
    let (mut files, mut paths) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for (number, shard) in (1..).zip(&shards) {
        let name = format!("model-{tag}{number:05}-of-{count:05}.safetensors");
        let path = folder.join(&name);
        files.push(write_shard(&path, shard, metadata.of_shard(shard, number == 1))?.flush()?);
        index.files.insert(name, shard.iter().map(|stored| stored.name().to_owned()).collect());
        paths.push(path);
    }
    let is_there = |name: &String| fs::symlink_metadata(folder.join(name)).is_ok();
    let replaced = old.files.into_iter().filter(|it| !index.files.contains_key(it));
    index.replaced = replaced.filter(is_there).collect();
    let path = folder.join(format!("model{INDEX}"));
    let pending = PendingFile::create(&path)?;
    pending.write_at(index.to_text().as_bytes(), 0)?;
    let index_file = pending.flush()?;
    for file in files {
        file.persist()?;
    }
    let flush = || flush_folder(folder).map_err(|error| file::in_file(folder, error));
    flush()?;
    index_file.persist()?;
    flush()?;
    remove(folder, index.replaced.iter());
    paths.push(path);
    Ok(paths)
}

/// The folders that a save made. If the save fails, the empty ones are removed.
struct CreatedFolders(Vec<PathBuf>);

impl CreatedFolders {
    fn create(folder: &Path) -> Result<Self> {
        let above = folder.ancestors().filter(|it| !it.as_os_str().is_empty());
        let made =
            CreatedFolders(above.take_while(|it| !it.exists()).map(Path::to_owned).collect());
        fs::create_dir_all(folder).map_err(|error| file::in_file(folder, error))?;
        Ok(made)
    }
}

impl Drop for CreatedFolders {
    fn drop(&mut self) {
        for folder in &self.0 {
            let _ = fs::remove_dir(folder); // only of an empty one
        }
    }
}

/// Removes files that are in no index any more. Files that cannot be removed now are left to the
/// next save.
fn remove<'n>(folder: &Path, names: impl Iterator<Item = &'n String>) {
    for name in names {
        let _ = fs::remove_file(folder.join(name));
    }
}

/// The tensors of each file. There is at least one file.
fn shards<'t, 'a>(source: &'t Source<'a>, max_bytes: u64) -> Vec<Vec<&'t StoredTensor<'a>>> {
    let (mut shards, mut shard, mut size) = (Vec::new(), Vec::new(), 0_u64);
    for stored in source.iter() {
        let sum = size.saturating_add(stored.num_bytes());
        if sum > max_bytes && !shard.is_empty() {
            shards.push(std::mem::take(&mut shard));
            size = stored.num_bytes();
        } else {
            size = sum;
        }
        shard.push(stored);
    }
    shards.push(shard);
    shards
}

/// Writes a file beside its place.
fn write_shard(
    path: &Path,
    shard: &[&StoredTensor<'_>],
    metadata: Vec<(String, String)>,
) -> Result<PendingFile> {
    let descriptors = shard.iter().map(|stored| stored.descriptor().clone());
    let mut writer = Writer::create_in_swept(path, descriptors, metadata)?;
    for stored in shard {
        writer.copy(stored)?;
    }
    writer.whole()
}

/// The texts for each file.
struct ShardMetadata<'t> {
    all: &'t [(String, String)],
    /// The tensor of each alias.
    aliases: HashMap<&'t str, &'t str>,
}

impl<'t> ShardMetadata<'t> {
    fn of(source: &'t Source<'_>) -> Self {
        ShardMetadata { all: source.texts(), aliases: source.aliases().collect() }
    }

    fn of_shard(&self, shard: &[&StoredTensor<'_>], is_first: bool) -> Vec<(String, String)> {
        let names: HashSet<&str> = shard.iter().map(|stored| stored.name()).collect();
        let belongs = |(key, _): &&(String, String)| match self.aliases.get(key.as_str()) {
            Some(name) => names.contains(name),
            None => is_first || !is_of_structure(key),
        };
        self.all.iter().filter(belongs).cloned().collect()
    }
}

/// The checkpoint that is in the folder.
struct PreviousCheckpoint {
    index: Option<Index>,
    /// The names of its files, and of leftovers of interrupted saves.
    files: BTreeSet<String>,
    /// Whether there are files that could be read as a model.
    has_tensors: bool,
}

impl PreviousCheckpoint {
    fn find(folder: &Path) -> Result<Self> {
        let (mut index, mut files, mut has_tensors) = (None, BTreeSet::new(), false);
        // With an index, these are other models.
        let mut without_index = BTreeSet::new();
        for entry in fs::read_dir(folder).map_err(|error| file::in_file(folder, error))? {
            let entry = entry.map_err(|error| file::in_file(folder, error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            has_tensors |= name.ends_with(EXTENSION) || name.ends_with(INDEX);
            if name == format!("model{INDEX}") {
                let (path, mut text) = (entry.path(), Vec::new());
                let read = file::open_regular(&path).and_then(|mut it| it.read_to_end(&mut text));
                read.map_err(|error| file::in_file(&path, error))?;
                // An index that cannot be read names no files, and is replaced.
                index = Some(Index::parse(&text, &name, &mut Vec::new()));
            } else if name.ends_with(INDEX) {
                let what = format!(
                    "{}: the checkpoint in it has the index {}, remove it or take another folder",
                    folder.display(),
                    quoted(&name)
                );
                return Err(ErrorKind::Malformed(what).into());
            } else if is_of_save(&name) {
                files.insert(name);
            } else if name == WHOLE || is_shard(&name) {
                without_index.insert(name);
            }
        }
        match &index {
            Some(index) => {
                files.extend(index.files.keys().chain(&index.replaced).cloned());
            }
            None => files.append(&mut without_index),
        }
        // Only files of tensors in this folder are removed, even if an index lists others.
        let is_here = |name: &str| Path::new(name).file_name().is_some_and(|it| it == name);
        files.retain(|name| is_here(name) && name.ends_with(EXTENSION));
        Ok(PreviousCheckpoint { index, files, has_tensors })
    }
}

/// Whether a file has the name of a shard: `model-00001-of-00003.safetensors`.
fn is_shard(name: &str) -> bool {
    let number = name.strip_prefix("model-").and_then(|rest| rest.split("-of-").next());
    let is_number = number.is_some_and(|text| text.bytes().all(|it| it.is_ascii_digit()));
    is_number && name.ends_with(EXTENSION) && shard_number(name).is_some()
}

/// Eight hexadecimal digits that no other save uses.
fn tag() -> String {
    let hash = RandomState::new().build_hasher().finish();
    format!("{:08x}", hash & 0xffff_ffff)
}
