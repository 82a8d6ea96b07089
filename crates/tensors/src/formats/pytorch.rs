//! The files of `torch.save`: `.pt`, `.pth`, `.bin`, `.ckpt`. They are pickles, which are programs that
//! make objects of Python, with the numbers of the tensors beside them.
//!
//! **Nothing in a file is run.** A small machine interprets the instructions of pickles, and describes the
//! objects that they would make. It knows the constructors that PyTorch uses for tensors, parameters and
//! the arrays of numpy. An object of any other class is a struct with the name of the class and its fields.
//!
//! Tensors are read on demand: to list a file, only its pickle is read.
//!
//! ```
//! use treedef_tensors::{pytorch, safetensors};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("pytorch_model.bin");
//! # let pickle = b"\x80\x02}(X\x05\0\0\0epochK\x07X\x01\0\0\0wctorch._utils\n_rebuild_tensor_v2\n\
//! #     ((X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpuK\x02tQK\0K\x02\x85K\x01\x85\x89}tRu.";
//! # let start = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}.";
//! # let numbers = b"\x02\0\0\0\0\0\0\0\0\0\0\x3f\0\0\xc0\x3f";
//! # std::fs::write(&path, [&start[..], pickle, b"](X\x01\0\0\x000e.", numbers].concat())?;
//! #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
//! struct Model { w: [f32; 2] }
//!
//! let file = pytorch::open(&path)?; // {"epoch": 7, "w": tensor([0.5, 1.5])}
//! assert_eq!(file.source()?.load::<Model>()?, Model { w: [0.5, 1.5] });
//! assert_eq!(file.tree()?.to_string(), r#"{"epoch": 7i64, "w": [0.5f32, 1.5f32]}"#);
//!
//! let output = folder.path().join("model.safetensors");
//! safetensors::save(&file.source()?, &output)?; // reads and writes piece by piece
//! assert_eq!(safetensors::open(&output)?.load::<Model>()?, Model { w: [0.5, 1.5] });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod object;
mod types;
mod pickle_input;
mod literal;
mod unpickler;
mod constructors;
mod container;
mod strided_reader;
mod tensor_locator;
mod tree;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use treedef::{Key, Leaf, NodeKind, Tree};

use crate::error::{Error, ErrorKind, Fault, Result};
use crate::file::{self, OpenFile};
use crate::file_bytes::FileBytes;
use crate::formats::pytorch::constructors::StorageView;
use crate::formats::pytorch::tensor_locator::TensorLocator;
use crate::formats::pytorch::tree::{PickledLeaf, PickledTree};
use crate::formats::safetensors::folder::FolderFormat;
use crate::formats::safetensors::open::OpenOptions;
use crate::names::push_parts;
use crate::source::{Source, StoredTensor};
use crate::structure::{is_of_file, would_be_tied};

/// The fields of a module that hold its tensors and its parts. Their names are not part of the
/// names in a `state_dict`.
const OF_MODULES: [&str; 3] = ["_modules", "_parameters", "_buffers"];
/// The tensors of a file may have this many times the bytes of the file, because they may be
/// expanded, and some more.
const MOST_EXPANDED: u64 = 64;
const MORE_EXPANDED: u64 = 1 << 26;

/// A file of `torch.save` whose pickle was read, from [`open`].
#[derive(Clone, Debug)]
pub struct Pytorch<'a> {
    tree: Tree<PickledLeaf>,
    tensors: Vec<(StorageView, StoredTensor<'a>)>,
    faults: Vec<Fault>,
    unknown: BTreeSet<String>,
    is_torchscript: bool,
    size: u64,
    /// The file that was opened.
    file: Option<PathBuf>,
}

/// A leaf of a file of PyTorch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum PytorchLeaf<'a> {
    /// A tensor, or an array of numpy.
    Tensor(StoredTensor<'a>),
    /// A number, a text, bytes.
    Value(Leaf),
}

/// Opens a file, and reads its pickle.
///
/// # Errors
///
/// Returns an error when the file is not from PyTorch, or is damaged, with the position in the
/// pickle. A tensor that cannot be read is not an error here, but one of the
/// [faults](Pytorch::faults).
///
/// ```
/// use treedef_tensors::pytorch;
///
/// let error = pytorch::open("no such file.pt").unwrap_err();
/// assert!(error.is_not_found());
/// ```
pub fn open(path: impl AsRef<Path>) -> Result<Pytorch<'static>> {
    let path = path.as_ref();
    Ok(Pytorch { file: Some(path.to_owned()), ..open_file(path, true)? })
}

fn open_file(path: &Path, hold: bool) -> Result<Pytorch<'static>> {
    let file = OpenFile::open(path, hold).map_err(|error| file::in_file(path, error))?;
    read(&FileBytes::File(Arc::new(file)), &path.display().to_string())
}

const FILES: FolderFormat = FolderFormat {
    what: "*pytorch_model*.bin",
    ending: "bin",
    whole: "pytorch_model.bin",
    is_file: is_of_model,
    // The total size that transformers writes may count tied tensors twice.
    has_total_size: false,
    add: |shards, path| shards.add_source(path, |hold| open_file(path, hold)?.source()),
};

/// Whether a file has a name that transformers, diffusers and peft use for the files of a model.
#[doc(hidden)]
pub fn is_of_model(name: &str) -> bool {
    name.ends_with(".bin") && (name.contains("pytorch_model") || name.contains("adapter_model"))
}

/// Opens the tensors of a model in shards: a folder, or its index `pytorch_model.bin.index.json`, which
/// maps tensors to files. Faults are reported as by [`safetensors::open`]; other `.bin` files in the
/// folder, such as `training_args.bin`, are skipped.
///
/// # Errors
///
/// As [`safetensors::open`], [`open`](open()) and [`Pytorch::source`].
///
/// ```
/// use treedef_tensors::{pytorch, safetensors::OpenOptions};
///
/// let folder = tempfile::tempdir()?;
/// let error = pytorch::open_shards(folder.path(), &OpenOptions::new()).unwrap_err();
/// assert!(error.to_string().ends_with("there is no file `*pytorch_model*.bin` in it"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`safetensors::open`]: crate::safetensors::open
pub fn open_shards(path: impl AsRef<Path>, opening: &OpenOptions) -> Result<Source<'static>> {
    opening.open_as(path.as_ref(), &FILES)
}

/// Reads the bytes of a file. The tensors borrow them.
///
/// # Errors
///
/// As [`open`].
///
/// ```
/// use treedef_tensors::pytorch;
///
/// let error = pytorch::from_bytes(b"GGUF").unwrap_err();
/// let expected = "no file of PyTorch: neither a zip file nor a pickle at byte 0";
/// assert_eq!(error.to_string(), expected);
/// ```
pub fn from_bytes(bytes: &[u8]) -> Result<Pytorch<'_>> {
    read(&FileBytes::Memory(bytes), "the file")
}

fn read<'a>(bytes: &FileBytes<'a>, name: &str) -> Result<Pytorch<'a>> {
    let container = container::read(bytes)?;
    let (graph, storages) = (&container.graph, &container.storages);
    let locator = TensorLocator { bytes, graph, storages, pickled: HashMap::new() };
    let PickledTree { tree, mut tensors, faults } = tree::tree(container.root, locator)?;
    let faults = faults.into_iter().map(|(path, why)| Fault::new(name, Some(&joined(&path)), why));
    let faults = faults.collect();
    for (path, slot) in tree.treedef().leaf_paths().zip(tree.leaves()) {
        if let PickledLeaf::Tensor(at) = slot
            && let Some((_, stored)) = tensors.get_mut(*at)
        {
            *stored = stored.renamed(joined(&path));
        }
    }
    let (is_torchscript, size) = (container.is_torchscript, bytes.len());
    let unknown = container.unknown;
    Ok(Pytorch { tree, tensors, faults, unknown, is_torchscript, size, file: None })
}

/// The name of a tensor: the keys on its path, as a `state_dict` joins them.
fn joined(path: &treedef::Path) -> String {
    let mut parts = Vec::new();
    for key in path.keys() {
        let is_of_module = |name: &str| OF_MODULES.contains(&name);
        if !matches!(key, Key::Field(name) if is_of_module(name)) {
            push_parts(NodeKind::Struct, key, &mut parts);
        }
    }
    parts.join(".")
}

/// A value as JSON, with Python's names for infinite floats and NaN. A value that JSON cannot hold is its
/// text in this library's notation.
fn json_of(leaf: &Leaf) -> String {
    let float = match leaf {
        Leaf::F32(float) => Some(f64::from(*float)),
        Leaf::F64(float) => Some(*float),
        _ => None,
    };
    match float {
        Some(float) if float.is_nan() => "NaN".to_owned(),
        Some(float) if float.is_infinite() && float > 0.0 => "Infinity".to_owned(),
        Some(float) if float.is_infinite() => "-Infinity".to_owned(),
        Some(float) => format!("{float:?}"),
        None => match (leaf.as_i128(), leaf.as_bool()) {
            (Some(integer), _) => integer.to_string(),
            (_, Some(bool)) => bool.to_string(),
            _ => {
                let text = leaf.as_str().map_or_else(|| leaf.to_string(), str::to_owned);
                serde_json::Value::from(text).to_string()
            }
        },
    }
}

impl<'a> Pytorch<'a> {
    /// The whole tree: the value that `torch.load` would return. Lists and sets are sequences, dicts are
    /// maps, and an object of another class is a struct with the name of the class: `<argparse.Namespace>`.
    /// Attributes of dicts, such as the `_metadata` of a `state_dict`, are left out.
    /// Tensors are not read.
    pub fn lazy_tree(&self) -> Tree<PytorchLeaf<'a>> {
        self.tree.clone().map(|slot| match slot {
            PickledLeaf::Value(leaf) => PytorchLeaf::Value(leaf),
            PickledLeaf::Tensor(at) => {
                let tensor = self.tensors.get(at);
                debug_assert!(tensor.is_some(), "a tensor that was not found");
                tensor.map_or(PytorchLeaf::Value(Leaf::None), |(_, it)| {
                    PytorchLeaf::Tensor(it.clone())
                })
            }
        })
    }

    /// The tensors by their names: the keys on their paths, joined by dots. Tied tensors, which are the
    /// same part of a storage, are stored once; the others are aliases.
    ///
    /// # Errors
    ///
    /// Returns the [faults](Self::faults), if there are any; or an error when two tensors have one name (see
    /// [`with_distinct_names`](Self::with_distinct_names)), or expanded tensors are many times larger than the file.
    pub fn source(&self) -> Result<Source<'a>> {
        self.__expect_readable()?;
        self.expect_names()?;
        // The alphabetically first of several names is the tensor's own, as in `safetensors.torch`.
        let mut first: HashMap<&StorageView, &str> = HashMap::new();
        for (view, stored) in self.tensors.iter().filter(|(_, stored)| stored.num_bytes() > 0) {
            let name = first.entry(view).or_insert(stored.name());
            *name = (*name).min(stored.name());
        }
        let (mut tensors, mut metadata) =
            (Vec::new(), vec![("format".to_owned(), "pt".to_owned())]);
        for (view, stored) in &self.tensors {
            match first.get(view) {
                // A key that belongs to the file is not an alias.
                Some(name) if *name != stored.name() && !is_of_file(stored.name()) => {
                    metadata.push((stored.name().to_owned(), (*name).to_owned()));
                }
                _ => tensors.push(stored.clone()),
            }
        }
        Ok(self.named(Source::new(tensors, metadata)))
    }

    fn named<'s>(&self, source: Source<'s>) -> Source<'s> {
        self.file.iter().fold(source, |source, file| source.of_file(file))
    }

    /// As [`source`](Self::source). The metadata also has the values that are not tensors, each under its
    /// name as JSON; a value with the name of another leaf is named by the text of its path. `None` is
    /// `null`, and empty containers are `{}` or `[]`.
    ///
    /// # Errors
    ///
    /// As [`source`](Self::source), and when a value has a name that belongs to the file, such as `format`;
    /// or when its text equals the name of a tensor.
    pub fn source_with_values(&self) -> Result<Source<'a>> {
        let source = self.source()?;
        let tensors = self.tensors.iter().map(|(_, stored)| stored.name().to_owned());
        let mut names: HashMap<String, treedef::Path> =
            tensors.map(|name| (name, treedef::Path::root())).collect();
        let mut texts = source.texts().to_vec();
        let values = self.values().map(|(path, leaf)| (path, json_of(leaf)));
        let empties = self.__empties().map(|(path, text)| (path, text.to_owned()));
        for (path, text) in values.chain(empties) {
            let name = joined(&path);
            let is_taken = names.contains_key(&name);
            let name = if is_taken { path.to_string() } else { name };
            if is_of_file(&name) {
                return Err(Error::from(ErrorKind::Reserved(name)).at_path(path));
            }
            if let Some(first) = names.insert(name.clone(), path.clone()) {
                return Err(Error::from(ErrorKind::Clash { name, first }).at_path(path));
            }
            if source.get(&text).is_some() {
                return Err(would_be_tied(&text).at_path(path));
            }
            texts.push((name, text));
        }
        Ok(self.named(Source::new(source.iter().cloned().collect(), texts)))
    }

    /// The number of bytes of all tensors, also of those that are tied.
    pub fn num_bytes(&self) -> u64 {
        let all = self.tensors.iter().map(|(_, stored)| stored.num_bytes());
        all.fold(0, u64::saturating_add)
    }

    /// The leaves that are not tensors: numbers, texts and bytes with their paths.
    pub fn values(&self) -> impl Iterator<Item = (treedef::Path, &Leaf)> {
        let slots = self.tree.treedef().leaf_paths().zip(self.tree.leaves());
        slots.filter_map(|(path, slot)| match slot {
            PickledLeaf::Value(leaf) => Some((path, leaf)),
            PickledLeaf::Tensor(_) => None,
        })
    }

    /// `None` and empty containers as JSON.
    #[doc(hidden)]
    pub fn __empties(&self) -> impl Iterator<Item = (treedef::Path, &'static str)> {
        self.tree.treedef().nodes().filter_map(|(path, node)| {
            let is_empty = node.num_children() == 0 && !node.is_leaf();
            let text = match node.kind() {
                NodeKind::None | NodeKind::Unit => "null",
                NodeKind::Seq | NodeKind::Tuple | NodeKind::TupleStruct => "[]",
                _ => "{}",
            };
            is_empty.then_some((path, text))
        })
    }

    /// Checks that all tensors can be read, and are not much larger than the file.
    #[doc(hidden)]
    pub fn __expect_readable(&self) -> Result<()> {
        if !self.faults.is_empty() {
            return Err(ErrorKind::Faults(self.faults.clone()).into());
        }
        let most = self.size.saturating_mul(MOST_EXPANDED).max(MORE_EXPANDED);
        if self.num_bytes() <= most {
            return Ok(());
        }
        let what = format!(
            "the tensors have {} bytes, as their elements are repeated; of a file of {} bytes at most {most} are read",
            self.num_bytes(),
            self.size
        );
        Err(ErrorKind::limit("bytes of tensors", what).into())
    }

    /// Checks that no two tensors have one name.
    fn expect_names(&self) -> Result<()> {
        let mut paths = HashMap::new();
        let slots = self.tree.treedef().leaf_paths().zip(self.tree.leaves());
        for (path, slot) in slots.filter(|(_, slot)| matches!(slot, PickledLeaf::Tensor(_))) {
            let name = self.name(&path, slot);
            if let Some(first) = paths.insert(name.clone(), path.clone()) {
                return Err(Error::from(ErrorKind::Clash { name, first }).at_path(path));
            }
        }
        Ok(())
    }

    fn name(&self, path: &treedef::Path, slot: &PickledLeaf) -> String {
        let stored = match slot {
            PickledLeaf::Tensor(at) => self.tensors.get(*at),
            PickledLeaf::Value(_) => None,
        };
        stored.map_or_else(|| joined(path), |(_, stored)| stored.name().to_owned())
    }

    /// The same file, in which a tensor with the name of an earlier one is named by the text of its path, with
    /// a `_` if another tensor has that name. This happens with the keys `1` and `"1"`, and with `a.b` and `b`
    /// in `a`. The other result lists their old and new names.
    pub fn with_distinct_names(&self) -> (Self, Vec<(String, String)>) {
        let (mut file, mut renamed) = (self.clone(), Vec::new());
        let all: HashSet<String> =
            self.tensors.iter().map(|(_, stored)| stored.name().to_owned()).collect();
        let mut names = HashSet::new();
        for (path, slot) in self.tree.treedef().leaf_paths().zip(self.tree.leaves()) {
            let PickledLeaf::Tensor(at) = slot else { continue };
            let name = self.name(&path, slot);
            if names.insert(name.clone()) {
                continue;
            }
            let mut distinct = path.to_string();
            while all.contains(&distinct) || names.contains(&distinct) {
                distinct.push('_');
            }
            if let Some((_, stored)) = file.tensors.get_mut(*at) {
                *stored = stored.renamed(&*distinct);
            }
            names.insert(distinct.clone());
            renamed.push((name, distinct));
        }
        (file, renamed)
    }

    /// Reads the whole tree. Tensors are leaves that are arrays, of `f32` for floats of at most 8 bits.
    ///
    /// # Errors
    ///
    /// As [`source`](Self::source), but for names, and [`StoredTensor::read`].
    pub fn tree(&self) -> Result<Tree<Leaf>> {
        self.__expect_readable()?;
        let whole = self.lazy_tree().try_map(|entry| match entry {
            PytorchLeaf::Value(leaf) => Ok(Tree::leaf(leaf)),
            PytorchLeaf::Tensor(stored) => stored.tree(),
        })?;
        Ok(whole.compose()?)
    }

    /// The tensors that cannot be read, with the reasons. Reading one fails; if its shape is not valid, the
    /// tree has a text in its place.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// The classes and functions that the file names and that do not belong to tensors, such as
    /// `torch.nn.modules.linear.Linear`, or `posix.system` in a file that attacks the program that loads
    /// it. PyTorch calls them unless it loads only weights; this crate never does.
    pub fn unknown(&self) -> impl Iterator<Item = &str> {
        self.unknown.iter().map(String::as_str)
    }

    /// Whether it is a program of TorchScript. Only its tensors and attributes are read.
    pub fn is_torchscript(&self) -> bool {
        self.is_torchscript
    }
}
