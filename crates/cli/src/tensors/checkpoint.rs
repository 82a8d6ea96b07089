//! Tensors that stay in their files: folders of safetensors, GGUF, files of PyTorch, orbax.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use treedef::__private::{OrBug, entries};
use treedef::{Leaf, Tree};
use treedef_pytrees::orbax;
use treedef_tensors::pytorch::{self, Pytorch, PytorchLeaf};
use treedef_tensors::{
    __stand_in, Error, ErrorKind, Fault, Source, StoredTensor, gguf, safetensors,
};

use crate::args::{Limits, ReadArgs};
use crate::color::listed;
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::paths::text_of;
use crate::tensors::names::NameTree;
use crate::tensors::trees::{TensorLeaf, more_than};
use crate::tensors::values;

/// The file with the structure in orbax, the file that a step has beside its items, and the items of steps
/// that were written before that file was introduced.
const ORBAX: &str = "_METADATA";
const STEP: &str = "_CHECKPOINT_METADATA";
const ITEMS: [&str; 3] = ["default", "items", "state"];
/// The maximum size of orbax's metadata.
const LARGEST: u64 = 1 << 28;
/// The maximum number of faults that are printed.
const PRINTED: usize = 100;
/// The bytes at the beginning of a file that identify an index, because the metadata is first.
const INDEX_START: u64 = 1 << 16;
/// The reason why there are no numbers of orbax.
const NO_NUMBERS: &str =
    "the arrays of orbax are not read; `show`, `diff --structure` and `check` need none";
/// The bytes at the beginning of a file that identify its format.
const START: u64 = 1 << 10;
/// A text of metadata that is compared verbatim.
const SHORT: usize = 200;

/// A checkpoint whose tensors are read on demand.
pub(crate) enum Checkpoint {
    Safetensors(Source<'static>),
    Gguf(gguf::Gguf),
    Pytorch(Box<PytorchCheckpoint>),
    /// The arrays are not read.
    Orbax(Tree<TensorLeaf>),
}

/// A file of PyTorch, and its leaves.
pub(crate) struct PytorchCheckpoint {
    pub(crate) file: Pytorch<'static>,
    entries: Tree<PytorchLeaf<'static>>,
}

/// Opens tensors that stay in their files: a folder, an index of shards, an uncompressed file of
/// safetensors or GGUF. `None` for anything else, or if another format was requested.
pub(crate) fn open(path: &Path, reading: ReadArgs) -> Result<Option<(Format, Checkpoint)>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    if path.is_dir() {
        return of_folder(path, reading).map(Some);
    }
    // A pipe can be opened only once, by its reader.
    if !path.is_file() {
        return Ok(None);
    }
    let is_unknown = reading.format.is_none() && Format::of_path(path).is_err();
    let begun = if is_unknown && name != ORBAX.to_lowercase() { begun_as(path)? } else { None };
    let format = reading.format.or(begun);
    let is = |of: Format, by_name: bool| format.map_or(by_name, |format| format == of);
    let index = if name.ends_with(".json") { indexed(path)? } else { None };
    if let Some(of) = index.filter(|of| is(*of, true)) {
        return Ok(Some((Format::Safetensors, shards(path, of, reading)?)));
    }
    if is(Format::Safetensors, name.ends_with(".safetensors")) {
        return Ok(Some((Format::Safetensors, shards(path, Format::Safetensors, reading)?)));
    }
    if is(Format::Gguf, name.ends_with(".gguf")) {
        return of_gguf(path).map(Some);
    }
    if is(Format::Pytorch, [".pt", ".pth"].iter().any(|end| name.ends_with(end))) {
        return of_pytorch(path, reading).map(Some);
    }
    if is(Format::Orbax, name == ORBAX.to_lowercase()) {
        return Ok(Some((Format::Orbax, arrays(path)?)));
    }
    Ok(None)
}

/// The format of the files in an index. Libraries use several names for the index of shards.
fn indexed(path: &Path) -> Result<Option<Format>> {
    let mut start = Vec::new();
    let of_file = |error: io::Error| Failure::from(error).in_file(&path.display().to_string());
    let Ok(file) = fs::File::open(path) else { return Ok(None) }; // reported where the file is read
    file.take(INDEX_START).read_to_end(&mut start).map_err(of_file)?;
    let start = String::from_utf8_lossy(&start);
    let Some((_, files)) = start.split_once("\"weight_map\"") else { return Ok(None) };
    let endings = [(".safetensors\"", Format::Safetensors), (".bin\"", Format::Pytorch)];
    Ok(endings.into_iter().find(|(end, _)| files.contains(end)).map(|(_, format)| format))
}

/// The folder to open. In a folder with steps of orbax, such as `0` and `step_1000`, the newest step.
/// Numbers with different prefixes cannot be compared.
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
            let message = format!("steps of several names, pass one: {}", all_of(&steps));
            Err(Failure::at(path.display(), message))
        }
    }
}

/// The format of tensors by the first bytes of a file whose extension does not determine it.
fn begun_as(path: &Path) -> Result<Option<Format>> {
    let mut start = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(START).read_to_end(&mut start));
    let begun = read.map_err(Failure::from).and_then(|_| match __stand_in(&start) {
        Some(what) => Err(Failure::new(what)),
        None => Format::of_start(&start),
    });
    begun.map_err(|failure| failure.in_file(&path.display().to_string()))
}

fn of_pytorch(path: &Path, reading: ReadArgs) -> Result<(Format, Checkpoint)> {
    let name = path.display().to_string();
    let file = pytorch::open(path).map_err(|error| Failure::from(error).in_file(&name))?;
    if !reading.allow_damage {
        expect_sound(&file, &name)?;
    }
    warn_of(&file, &name);
    let entries = file.lazy_tree();
    Ok((Format::Pytorch, Checkpoint::Pytorch(Box::new(PytorchCheckpoint { file, entries }))))
}

/// Checks that no tensor is damaged.
pub(crate) fn expect_sound(file: &Pytorch<'_>, name: &str) -> Result<()> {
    match file.faults() {
        [] => Ok(()),
        faults => Err(faults_of(Path::new(name), &ErrorKind::Faults(faults.to_vec()).into())),
    }
}

/// A GGUF file with the other parts of the model, or the model in a folder.
fn of_gguf(path: &Path) -> Result<(Format, Checkpoint)> {
    let name = path.display().to_string();
    let gguf = gguf::open(path).map_err(|error| Failure::from(error).in_file(&name))?;
    Ok((Format::Gguf, Checkpoint::Gguf(gguf)))
}

fn names_in(folder: &Path) -> Vec<String> {
    let name = |path: PathBuf| Some(path.file_name()?.to_string_lossy().into_owned());
    let names = inside(folder).into_iter().filter_map(name);
    names.filter(|name| !name.starts_with('.')).collect()
}

fn is_index_of_pytorch(name: &str) -> bool {
    name.contains(".bin.") && name.ends_with(".json")
}

/// The format of the model in a folder, and the files of other formats, which are left out.
fn format_in(folder: &Path) -> (Format, Vec<String>) {
    let names = names_in(folder);
    let of = |is: fn(&str) -> bool| -> Vec<String> {
        names.iter().filter(|name| is(name)).cloned().collect()
    };
    let (pytorch, gguf) = (of(pytorch::is_of_model), of(|name| name.ends_with(".gguf")));
    if names.iter().any(|name| name.contains(".safetensors")) {
        (Format::Safetensors, [pytorch, gguf].concat())
    } else if !pytorch.is_empty() || names.iter().any(|name| is_index_of_pytorch(name)) {
        (Format::Pytorch, gguf)
    } else if !gguf.is_empty() {
        (Format::Gguf, Vec::new())
    } else {
        (Format::Safetensors, Vec::new()) // it says that there is none
    }
}

/// The model of PyTorch in a folder: its only file, or shards.
fn model_of_pytorch(folder: &Path, reading: ReadArgs) -> Result<(Format, Checkpoint)> {
    let names = names_in(folder);
    let is_index = |name: &String| is_index_of_pytorch(name);
    let files: Vec<&String> = names.iter().filter(|name| pytorch::is_of_model(name)).collect();
    match files.as_slice() {
        // It may have values beside tensors.
        [file]
            if !names.iter().any(is_index)
                && !file.contains("-of-")
                && reading.variant.is_none() =>
        {
            of_pytorch(&folder.join(file), reading)
        }
        _ => Ok((Format::Safetensors, shards(folder, Format::Pytorch, reading)?)),
    }
}

/// The maximum number of class names in a warning.
const NAMED: usize = 4;

/// Warns about everything that PyTorch would call when it loads the file, and about unreadable
/// parts.
pub(crate) fn warn_of(file: &Pytorch<'_>, name: &str) {
    let names: Vec<String> =
        file.unknown().map(|name| format!("`{}`", name.escape_debug())).collect();
    if !names.is_empty() {
        let what = "which PyTorch may call when it loads the file; here nothing was called";
        let what = format!("names {}, {what}", listed(&names, NAMED));
        message!("treedef: {}", Failure::at(name, what));
    }
    if file.is_torchscript() {
        let what = "a program of TorchScript: its tensors and attributes are read, its code is not";
        message!("treedef: {}", Failure::at(name, what));
    }
    for fault in file.faults().iter().take(PRINTED) {
        message!("treedef: {}", Failure::from(fault));
    }
}

/// The content of a folder, sorted by name.
fn inside(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn all_of(paths: &[PathBuf]) -> String {
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

fn of_folder(folder: &Path, reading: ReadArgs) -> Result<(Format, Checkpoint)> {
    let format = reading.format;
    let found = of_orbax(folder);
    match (format, found.as_slice()) {
        (None | Some(Format::Orbax), [file]) => Ok((Format::Orbax, arrays(file)?)),
        (None, []) => {
            let (format, others) = format_in(folder);
            let opened = of_folder(folder, ReadArgs { format: Some(format), ..reading })?;
            leave_out(folder, format, &others, reading)?;
            Ok(opened)
        }
        (None | Some(Format::Orbax), [_, ..]) => {
            let message = format!("several checkpoints of orbax, pass one: {}", all_of(&found));
            Err(Failure::at(folder.display(), message))
        }
        (Some(Format::Safetensors), _) => {
            Ok((Format::Safetensors, shards(folder, Format::Safetensors, reading)?))
        }
        (Some(Format::Pytorch), _) => model_of_pytorch(folder, reading),
        (Some(Format::Gguf), _) => of_gguf(folder),
        (Some(format), _) => {
            let message = format!("a folder, which is not {}; pass the files in it", format.name());
            Err(Failure::at(folder.display(), message))
        }
    }
}

/// Warns about files of other formats that are left out.
fn leave_out(folder: &Path, of: Format, others: &[String], reading: ReadArgs) -> Result<()> {
    if others.is_empty() {
        return Ok(());
    }
    let names: Vec<String> =
        others.iter().map(|name| format!("`{}`", name.escape_debug())).collect();
    let what = format!(
        "{}: left out, as there are files of {} (`--format` opens others)",
        listed(&names, 1),
        of.name()
    );
    let failure = Failure::at(folder.display(), what);
    if reading.strict {
        return Err(failure);
    }
    message!("treedef: {failure}");
    Ok(())
}

/// Opens a folder, an index or a file, and warns about skipped parts.
fn shards(path: &Path, of: Format, reading: ReadArgs) -> Result<Checkpoint> {
    let opening =
        safetensors::OpenOptions::new().strict(reading.strict).follow_links(reading.follow_links);
    let opening = reading.variant.into_iter().fold(opening, safetensors::OpenOptions::variant);
    let source = match of {
        Format::Pytorch => pytorch::open_shards(path, &opening),
        _ => opening.open(path),
    };
    let source = source.map_err(|error| faults_of(path, &error))?;
    for line in passed_over(source.warnings()) {
        message!("treedef: {line}");
    }
    Ok(Checkpoint::Safetensors(source))
}

/// A line for each reason: the files that are left out, and for each file the tensors.
fn passed_over(warnings: &[Fault]) -> Vec<String> {
    let mut groups = Vec::<(String, &str, Vec<String>)>::new();
    for fault in warnings {
        let path = Path::new(&fault.file);
        let (place, name) = match &fault.tensor {
            Some(tensor) => (fault.file.clone(), tensor.clone()),
            None => {
                let folder = path.parent().unwrap_or(path).display().to_string();
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                (folder, name.into_owned())
            }
        };
        let name = format!("`{}`", name.escape_debug());
        let same =
            groups.iter_mut().find(|(other, what, _)| (other, *what) == (&place, &fault.what));
        match same {
            Some((.., names)) => names.push(name),
            None => groups.push((place, &fault.what, vec![name])),
        }
    }
    let line = |(place, what, names): (String, &str, Vec<String>)| {
        Failure::at(place, format!("{}: {what}", listed(&names, NAMED))).to_string()
    };
    groups.into_iter().map(line).collect()
}

/// Prints all faults in the files of a checkpoint.
fn faults_of(path: &Path, error: &Error) -> Failure {
    match error.kind() {
        // Each has a line of its own.
        ErrorKind::Faults(faults) if faults.len() > 1 => {
            for fault in faults.iter().take(PRINTED) {
                message!("treedef: {}", Failure::from(fault));
            }
            let message = format!("{} faults, nothing was read", faults.len());
            Failure::at(path.display(), message)
        }
        _ => error.clone().into(),
    }
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
        // In a structure, words alone are types.
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
        let dtype = leaf.value_type.replace(|c| !is_word(c), "_");
        TensorLeaf { dtype, shape, size: 0, value: None }
    };
    Ok(Checkpoint::Orbax(metadata.tree.map(leaf)))
}

/// Checks that this number of bytes may be in memory.
pub(crate) fn expect_room(bytes: u64, limits: Limits) -> Result<()> {
    if bytes <= u64::try_from(limits.max_bytes()).unwrap_or(u64::MAX) {
        return Ok(());
    }
    let hint = "; `show` and `diff --structure` read only the headers";
    Err(Failure::new(more_than(limits.max_bytes()) + hint))
}

impl Checkpoint {
    /// The tensors by their names, each with its number in the checkpoint.
    pub(crate) fn tensors(&self) -> Result<Tree<(TensorLeaf, String, usize)>> {
        let named: Vec<(String, TensorLeaf)> = match self {
            Checkpoint::Safetensors(source) => source
                .iter()
                .map(|stored| (stored.name().to_owned(), TensorLeaf::of_stored(stored)))
                .collect(),
            Checkpoint::Gguf(gguf) => gguf
                .tensors()
                .iter()
                .map(|tensor| {
                    let (dtype, shape) = (tensor.type_name.clone(), tensor.shape.clone());
                    let size = tensor.num_bytes;
                    (tensor.name.clone(), TensorLeaf { dtype, shape, size, value: None })
                })
                .collect(),
            Checkpoint::Pytorch(opened) => {
                let mut numbers = 0..;
                return Ok(opened.entries.as_ref().map_with_path(|path, entry| {
                    let name = match entry {
                        PytorchLeaf::Tensor(stored) => stored.name().to_owned(),
                        _ => path.to_joined_string("."),
                    };
                    (TensorLeaf::of_entry(entry), name, numbers.next().unwrap_or(usize::MAX))
                }));
            }
            Checkpoint::Orbax(tree) => {
                let mut numbers = 0..;
                return Ok(tree.clone().map_with_path(|path, leaf| {
                    (leaf, path.to_joined_string("."), numbers.next().unwrap_or(usize::MAX))
                }));
            }
        };
        let numbered = named.into_iter().zip(0..);
        let numbered = numbered.map(|((name, leaf), at)| (name.clone(), (leaf, name, at)));
        NameTree::of(numbered).into_tree()
    }

    /// The other names of tied tensors, each with the name of the tensor that is stored.
    pub(crate) fn aliases(&self) -> BTreeMap<String, String> {
        let owned = |(alias, stored): (&str, &str)| (alias.to_owned(), stored.to_owned());
        match self {
            Checkpoint::Safetensors(source) => source.aliases().map(owned).collect(),
            Checkpoint::Pytorch(opened) => match opened.file.source() {
                Ok(source) => source.aliases().map(owned).collect(),
                Err(_) => BTreeMap::new(), // reported where the tensors are read
            },
            Checkpoint::Gguf(_) | Checkpoint::Orbax(_) => BTreeMap::new(),
        }
    }

    /// Checks that the numbers of all tensors can be read, in a time that is limited by the size of
    /// the file.
    pub(crate) fn expect_numbers(&self) -> Result<()> {
        match self {
            Checkpoint::Safetensors(_) | Checkpoint::Gguf(_) => Ok(()),
            Checkpoint::Pytorch(opened) => Ok(opened.file.__expect_readable()?),
            Checkpoint::Orbax(_) => Err(Failure::new(NO_NUMBERS)),
        }
    }

    /// The types and shapes.
    pub(crate) fn shapes(&self) -> Result<Tree<TensorLeaf>> {
        Ok(self.tensors()?.map(|(leaf, ..)| leaf))
    }

    /// The values: the tensors of safetensors, the metadata of GGUF. `None` if it has none.
    pub(crate) fn values(&self, limits: Limits) -> Result<Option<Tree<Leaf>>> {
        match self {
            Checkpoint::Safetensors(_) => values::tree(&self.source(limits)?, limits).map(Some),
            Checkpoint::Gguf(gguf) => Ok(Some(gguf.metadata().clone())),
            Checkpoint::Pytorch(opened) => {
                expect_room(opened.file.num_bytes(), limits)?;
                Ok(Some(opened.file.tree()?))
            }
            Checkpoint::Orbax(_) => Ok(None),
        }
    }

    /// All tensors, if they fit into memory.
    pub(crate) fn source(&self, limits: Limits) -> Result<Source<'static>> {
        let source = match self {
            Checkpoint::Safetensors(source) => source.clone(),
            Checkpoint::Pytorch(opened) => opened.file.source()?,
            Checkpoint::Gguf(_) | Checkpoint::Orbax(_) => {
                return Err(Failure::new("its tensors are not converted"));
            }
        };
        expect_room(source.num_bytes(), limits)?;
        Ok(source)
    }

    /// The tensor with this number, if it can hold more than numbers of a type.
    pub(crate) fn stored(&self, number: usize) -> Option<&StoredTensor<'static>> {
        match self {
            Checkpoint::Safetensors(source) => source.iter().nth(number),
            Checkpoint::Pytorch(opened) => match opened.entries.leaves().get(number)? {
                PytorchLeaf::Tensor(stored) => Some(stored),
                _ => None,
            },
            Checkpoint::Gguf(_) | Checkpoint::Orbax(_) => None,
        }
    }

    /// The texts of the whole file. Long values of GGUF, such as vocabularies, are represented by
    /// their length and a hash.
    pub(crate) fn metadata(&self) -> Result<BTreeMap<String, String>> {
        match self {
            Checkpoint::Safetensors(source) => {
                let text = |key: &str| source.metadata(key).or_bug().to_owned();
                Ok(source.metadata_keys().map(|key| (key.to_owned(), text(key))).collect())
            }
            Checkpoint::Gguf(gguf) => {
                let tree = gguf.metadata();
                let mut all = BTreeMap::new();
                let root = tree.treedef().root();
                for (key, node) in entries(root) {
                    let leaves = tree.leaves().get(node.leaf_range()).or_bug();
                    let value = Tree::new(node.to_treedef(), leaves.to_vec())?;
                    let text = value.to_string();
                    let text = if text.len() <= SHORT {
                        text
                    } else {
                        let mut hasher = std::hash::DefaultHasher::new();
                        std::hash::Hash::hash(&text, &mut hasher);
                        let hash = std::hash::Hasher::finish(&hasher);
                        format!("{} values, {hash:016x}", leaves.len())
                    };
                    all.insert(text_of(&key), text);
                }
                Ok(all)
            }
            // It is in the tree.
            Checkpoint::Pytorch(_) | Checkpoint::Orbax(_) => Ok(BTreeMap::new()),
        }
    }

    /// Reads bytes of the tensor with this number.
    pub(crate) fn read_at(&self, number: usize, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let missing = || Failure::new("no such tensor");
        match self {
            Checkpoint::Safetensors(_) | Checkpoint::Pytorch(_) => {
                Ok(self.stored(number).ok_or_else(missing)?.read_at(offset, buffer)?)
            }
            Checkpoint::Gguf(gguf) => {
                let tensor = gguf.tensors().get(number).ok_or_else(missing)?;
                Ok(gguf.read_at(tensor, offset, buffer)?)
            }
            Checkpoint::Orbax(_) => Err(Failure::new(NO_NUMBERS)),
        }
    }
}
