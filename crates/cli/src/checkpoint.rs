//! Tensors that stay in their files: folders of safetensors, GGUF, orbax.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use treedef::{Leaf, Tree};
use treedef_exchange::{__INDEX, ErrorKind, Source, Tensors, gguf, orbax, safetensors};

use crate::args::Limits;
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::names::Names;
use crate::tensors::{self, TensorLeaf, more_than};

/// The file of orbax with the structure, the file that a step has beside its items, and the items of steps
/// that were written before there was such a file.
const ORBAX: &str = "_METADATA";
const STEP: &str = "_CHECKPOINT_METADATA";
const ITEMS: [&str; 3] = ["default", "items", "state"];
/// The largest metadata of orbax.
const LARGEST: u64 = 1 << 28;
/// The most faults that are printed.
const PRINTED: usize = 100;
/// A text of metadata that is compared as it is.
const SHORT: usize = 200;

/// A checkpoint whose tensors are read when they are asked for.
pub(crate) enum Checkpoint {
    Safetensors(Source<'static>),
    Gguf(gguf::Gguf),
    /// The arrays are not read.
    Orbax(Tree<TensorLeaf>),
}

/// Opens tensors that stay in their files: a folder, an index of shards, a file of safetensors or GGUF
/// that is not compressed. `None` if it is none of them, or another format was asked for.
pub(crate) fn open(path: &Path, format: Option<Format>) -> Result<Option<(Format, Checkpoint)>> {
    let of_file = |failure: Failure| failure.in_file(&path.display().to_string());
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    if path.is_dir() {
        return of_folder(path, format).map(Some);
    }
    let is = |of: Format, by_name: bool| format.map_or(by_name, |format| format == of);
    if is(Format::Safetensors, name.ends_with(__INDEX)) && name.ends_with(".json") {
        return Ok(Some((Format::Safetensors, shards(path)?)));
    }
    if is(Format::Safetensors, name.ends_with(".safetensors")) && path.is_file() {
        return Ok(Some((Format::Safetensors, shards(path)?)));
    }
    if is(Format::Gguf, name.ends_with(".gguf")) && path.is_file() {
        let gguf = gguf::open(path).map_err(|error| of_file(error.into()))?;
        return Ok(Some((Format::Gguf, Checkpoint::Gguf(gguf))));
    }
    if is(Format::Orbax, name == ORBAX.to_lowercase()) && path.is_file() {
        return Ok(Some((Format::Orbax, arrays(path)?)));
    }
    Ok(None)
}

/// The folder that is opened: of a folder with steps of orbax, such as `0` and `step_1000`, the newest
/// step. Numbers behind different names do not count the same.
pub(crate) fn newest(path: &Path) -> Result<PathBuf> {
    if !path.is_dir() || !of_orbax(path).is_empty() {
        return Ok(path.to_owned());
    }
    let mut newest = BTreeMap::<String, (u64, PathBuf)>::new();
    for folder in inside(path) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let (before, number) = name.rsplit_once('_').unwrap_or(("step", &name));
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        let Some(number) = number.parse().ok().filter(|_| is_number) else { continue };
        if !of_orbax(&folder).is_empty() {
            let step = newest.entry(before.to_owned()).or_default();
            *step = (number, folder).max(std::mem::take(step));
        }
    }
    let steps: Vec<PathBuf> = newest.into_values().map(|(_, folder)| folder).collect();
    match steps.as_slice() {
        [] => Ok(path.to_owned()),
        [step] => Ok(step.clone()),
        _ => {
            let message = format!("steps of several names, pass one: {}", listed(&steps));
            Err(Failure::at(path.display(), message))
        }
    }
}

/// What is in a folder, in the order of the names.
fn inside(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn listed(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    paths.join(", ")
}

/// The files with structures of orbax, in a folder or in the items of a step.
fn of_orbax(folder: &Path) -> Vec<PathBuf> {
    let items = if folder.join(STEP).is_file() {
        inside(folder)
    } else {
        ITEMS.map(|item| folder.join(item)).to_vec()
    };
    std::iter::once(folder.to_owned())
        .chain(items)
        .map(|folder| folder.join(ORBAX))
        .filter(|file| file.is_file())
        .collect()
}

fn of_folder(folder: &Path, format: Option<Format>) -> Result<(Format, Checkpoint)> {
    let found = of_orbax(folder);
    match (format, found.as_slice()) {
        (None | Some(Format::Orbax), [file]) => Ok((Format::Orbax, arrays(file)?)),
        (None | Some(Format::Safetensors), []) => Ok((Format::Safetensors, shards(folder)?)),
        (None | Some(Format::Orbax), [_, ..]) => {
            let message = format!("several checkpoints of orbax, pass one: {}", listed(&found));
            Err(Failure::at(folder.display(), message))
        }
        (Some(Format::Safetensors), _) => Ok((Format::Safetensors, shards(folder)?)),
        (Some(format), _) => {
            let message = format!("a folder, which is no {}; pass the files in it", format.name());
            Err(Failure::at(folder.display(), message))
        }
    }
}

fn shards(path: &Path) -> Result<Checkpoint> {
    let source = safetensors::open(path).map_err(|error| match error.kind() {
        // Each has a line of its own.
        ErrorKind::Faults(faults) if faults.len() > 1 => {
            for fault in faults.iter().take(PRINTED) {
                anstream::eprintln!("treedef: {}", Failure::new(fault));
            }
            let message = format!("{} faults, nothing was read", faults.len());
            Failure::at(path.display(), message)
        }
        _ => error.into(),
    })?;
    Ok(Checkpoint::Safetensors(source))
}

fn arrays(file: &Path) -> Result<Checkpoint> {
    let of_file = |failure: Failure| failure.in_file(&file.display().to_string());
    let size = fs::metadata(file).map_err(|error| of_file(error.into()))?.len();
    if size > LARGEST {
        return Err(of_file(Failure::new(format!("more than {LARGEST} bytes of metadata"))));
    }
    let text = fs::read_to_string(file).map_err(|error| of_file(error.into()))?;
    let metadata = orbax::metadata(&text).map_err(|error| of_file(error.into()))?;
    let leaf = |leaf: orbax::LeafMetadata| {
        let shape = leaf.write_shape.unwrap_or_default();
        let shape = shape.into_iter().map(|dim| u64::try_from(dim).unwrap_or(u64::MAX)).collect();
        TensorLeaf { dtype: leaf.value_type, shape, size: 0 }
    };
    Ok(Checkpoint::Orbax(metadata.tree.map(leaf)))
}

impl Checkpoint {
    /// The tensors by their names, each with its number in the checkpoint.
    pub(crate) fn tensors(&self) -> Result<Tree<(TensorLeaf, String, usize)>> {
        let named: Vec<(String, TensorLeaf)> = match self {
            Checkpoint::Safetensors(source) => source
                .iter()
                .map(|stored| (stored.name().to_owned(), TensorLeaf::of(stored.descriptor())))
                .collect(),
            Checkpoint::Gguf(gguf) => gguf
                .tensors()
                .iter()
                .map(|tensor| {
                    let (dtype, shape) = (tensor.type_name.clone(), tensor.shape.clone());
                    let size = tensor.num_bytes;
                    (tensor.name.clone(), TensorLeaf { dtype, shape, size })
                })
                .collect(),
            Checkpoint::Orbax(tree) => {
                let mut numbers = 0..;
                return Ok(tree.clone().map_with_path(|path, leaf| {
                    (leaf, path.to_joined_string("."), numbers.next().unwrap_or(usize::MAX))
                }));
            }
        };
        let numbered = named.into_iter().zip(0..);
        let numbered = numbered.map(|((name, leaf), at)| (name.clone(), (leaf, name, at)));
        Names::of(numbered).into_tree()
    }

    /// The other names of tied tensors, each with the name of the tensor that is stored.
    pub(crate) fn aliases(&self) -> BTreeMap<String, String> {
        let Checkpoint::Safetensors(source) = self else { return BTreeMap::new() };
        let owned = |(alias, stored): (&str, &str)| (alias.to_owned(), stored.to_owned());
        source.aliases().map(owned).collect()
    }

    /// The types and shapes.
    pub(crate) fn shapes(&self) -> Result<Tree<TensorLeaf>> {
        Ok(self.tensors()?.map(|(leaf, ..)| leaf))
    }

    /// The values: the tensors of safetensors, the metadata of GGUF. `None` if it has none.
    pub(crate) fn values(&self, limits: Limits) -> Result<Option<Tree<Leaf>>> {
        match self {
            Checkpoint::Safetensors(_) => tensors::tree(&self.read(limits)?, limits).map(Some),
            Checkpoint::Gguf(gguf) => Ok(Some(gguf.metadata().clone())),
            Checkpoint::Orbax(_) => Ok(None),
        }
    }

    /// All tensors of safetensors.
    pub(crate) fn read(&self, limits: Limits) -> Result<Tensors<'static>> {
        let Checkpoint::Safetensors(source) = self else {
            return Err(Failure::new("its tensors are not converted"));
        };
        let most = u64::try_from(limits.max_bytes()).unwrap_or(u64::MAX);
        if source.num_bytes() > most {
            let hint = "; `show` and `diff --structure` read only the headers";
            return Err(Failure::new(more_than(limits.max_bytes()) + hint));
        }
        Ok(source.read()?)
    }

    /// The texts of the whole. Long values of GGUF, such as vocabularies, are told by their number
    /// and a hash.
    pub(crate) fn metadata(&self) -> Result<BTreeMap<String, String>> {
        match self {
            Checkpoint::Safetensors(source) => {
                let text = |key: &str| source.metadata(key).unwrap_or_default().to_owned();
                Ok(source.metadata_keys().map(|key| (key.to_owned(), text(key))).collect())
            }
            Checkpoint::Gguf(gguf) => {
                let tree = gguf.metadata();
                let mut all = BTreeMap::new();
                let root = tree.treedef().root();
                for (position, node) in root.children().enumerate() {
                    let Some(key) = root.key(position) else { continue };
                    let leaves = tree.leaves().get(node.leaf_range()).unwrap_or_default();
                    let value = Tree::new(node.to_treedef(), leaves.to_vec())?;
                    let text = value.to_string();
                    let text = if text.len() <= SHORT {
                        text
                    } else {
                        let hash = value.map(|leaf| leaf.to_string());
                        let mut hasher = std::hash::DefaultHasher::new();
                        std::hash::Hash::hash(hash.leaves(), &mut hasher);
                        let hash = std::hash::Hasher::finish(&hasher);
                        format!("{} values, {hash:016x}", leaves.len())
                    };
                    all.insert(treedef::Path::root().child(key).to_joined_string("."), text);
                }
                Ok(all)
            }
            Checkpoint::Orbax(_) => Ok(BTreeMap::new()),
        }
    }

    /// Reads bytes of the tensor of this number.
    pub(crate) fn read_at(&self, number: usize, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let missing = || Failure::new("no such tensor");
        match self {
            Checkpoint::Safetensors(source) => {
                let stored = source.iter().nth(number).ok_or_else(missing)?;
                Ok(stored.read_at(offset, buffer)?)
            }
            Checkpoint::Gguf(gguf) => {
                let tensor = gguf.tensors().get(number).ok_or_else(missing)?;
                Ok(gguf.read_at(tensor, offset, buffer)?)
            }
            Checkpoint::Orbax(_) => Err(Failure::new(
                "the arrays of orbax are not read; `show`, `diff --structure` and `check` need none",
            )),
        }
    }
}
