//! The header of GGUF files, in which llama.cpp and others keep models: metadata, and the names,
//! types and shapes of the tensors.
//!
//! Numbers are not converted, because most types are blocks of quantised numbers. The bytes of a tensor can
//! be read.

mod split_files;

use std::collections::HashSet;
use std::fmt;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use treedef::{Leaf, Tree, TreeDef, Value};

use crate::bug::bug;
use crate::error::{Error, ErrorKind, Result, malformed, quoted};
use crate::file::{self, OpenFile};
use crate::file_bytes::FileBytes;
use crate::shape::display;

const MAGIC: &[u8] = b"GGUF";
/// The maximum number of bytes of a header. Vocabularies have some ten million.
const MAX_HEADER: u64 = 1 << 28;
/// The maximum number of dimensions, as in ggml.
const MAX_DIMS: u32 = 8;
/// The maximum nesting of arrays in arrays.
const MAX_DEPTH: usize = 8;
/// The maximum number of values in the metadata, which use more memory than in the file.
const MAX_VALUES: usize = 1 << 24;
const ALIGNMENT: &str = "general.alignment";

/// The types by their numbers: the name, how many elements a block has, and how many bytes.
const TYPES: [(u32, &str, u64, u64); 34] = [
    (0, "f32", 1, 4),
    (1, "f16", 1, 2),
    (2, "q4_0", 32, 18),
    (3, "q4_1", 32, 20),
    (6, "q5_0", 32, 22),
    (7, "q5_1", 32, 24),
    (8, "q8_0", 32, 34),
    (9, "q8_1", 32, 36), // as in ggml; the table of gguf-py has 40, as ggml had it before
    (10, "q2_k", 256, 84),
    (11, "q3_k", 256, 110),
    (12, "q4_k", 256, 144),
    (13, "q5_k", 256, 176),
    (14, "q6_k", 256, 210),
    (15, "q8_k", 256, 292),
    (16, "iq2_xxs", 256, 66),
    (17, "iq2_xs", 256, 74),
    (18, "iq3_xxs", 256, 98),
    (19, "iq1_s", 256, 50),
    (20, "iq4_nl", 32, 18),
    (21, "iq3_s", 256, 110),
    (22, "iq2_s", 256, 82),
    (23, "iq4_xs", 256, 136),
    (24, "i8", 1, 1),
    (25, "i16", 1, 2),
    (26, "i32", 1, 4),
    (27, "i64", 1, 8),
    (28, "f64", 1, 8),
    (29, "iq1_m", 256, 56),
    (30, "bf16", 1, 2),
    (34, "tq1_0", 256, 54),
    (35, "tq2_0", 256, 66),
    (39, "mxfp4", 32, 17),
    (40, "nvfp4", 64, 36),
    (41, "q1_0", 128, 18),
];

/// A file whose header was read.
#[derive(Clone, Debug)]
pub struct Gguf {
    metadata: Tree<Leaf>,
    tensors: Vec<GgufTensor>,
    /// The open files. A header from a reader has none.
    files: Vec<Arc<OpenFile>>,
}

/// A tensor of a GGUF file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GgufTensor {
    /// The name.
    pub name: String,
    /// The type of the elements: `f32`, `q4_k`; `type_99` if it is unknown.
    pub type_name: String,
    /// The number of elements in each dimension, outermost first, as elsewhere in this crate. The
    /// file has them innermost first.
    pub shape: Vec<u64>,
    /// The position of the first byte in the file.
    pub start: u64,
    /// The number of bytes. If the type is unknown, the bytes up to the next tensor.
    pub num_bytes: u64,
    /// The number of its file among the parts of the model.
    file: usize,
}

/// `q4_k[4096, 4096]`
impl fmt::Display for GgufTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&display(&self.type_name, &self.shape))
    }
}

/// Opens a file, and reads its header. If a model is split into several files, `model-00001-of-00003.gguf`
/// and so on, naming one opens all. For a folder, opens the only model in it.
///
/// # Errors
///
/// Returns an error when the file is not GGUF of version 2 or 3 in little endian; when it is cut
/// off, a name occurs twice, tensors overlap or lie outside of the file; or when the header has
/// more than 2²⁸ bytes. The error has the position. Also when a part of the model is missing.
///
/// ```
/// use treedef_tensors::gguf;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model.gguf");
/// let mut file = b"GGUF\x03\0\0\0".to_vec();
/// file.extend(1u64.to_le_bytes()); // tensors
/// file.extend(0u64.to_le_bytes()); // entries of metadata
/// file.extend([1, 0, 0, 0, 0, 0, 0, 0, b'w', 2, 0, 0, 0]); // a name and two dimensions
/// file.extend([3u64, 2].map(u64::to_le_bytes).concat()); // innermost first
/// file.extend([0; 4 + 8]); // f32, at the beginning of the data
/// file.resize(96 + 24, 0);
/// std::fs::write(&path, file)?;
///
/// let gguf = gguf::open(&path)?;
/// let tensor = &gguf.tensors()[0];
/// assert_eq!((tensor.name.as_str(), tensor.to_string()), ("w", "f32[2, 3]".to_owned()));
/// assert_eq!(gguf.read_bytes(tensor)?, [0; 24]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open(path: impl AsRef<Path>) -> Result<Gguf> {
    let asked = path.as_ref();
    let path = if asked.is_dir() { split_files::model_in(asked)? } else { asked.to_owned() };
    // The fault of another file than the one that was asked for names it.
    let open_file = |path: &Path, number| {
        let is_other = path != asked;
        let about = |error: Error| error.about(&path.display().to_string());
        open_file(path, number).map_err(|error| if is_other { about(error) } else { error })
    };
    let first = open_file(&path, 0)?;
    let Some(part) = first.part() else { return Ok(first) };
    let mut parts = Vec::new();
    for (number, path) in split_files::part_paths(&path, part)?.iter().enumerate() {
        let part = open_file(path, number)?;
        let found = part.part().map(|(number, count)| format!("part {number} of {count}"));
        let expected =
            format!("part {} of {}", number + 1, first.part().map_or(1, |(_, count)| count));
        if found.as_ref() != Some(&expected) {
            let found = found.unwrap_or_else(|| "no part".to_owned());
            let what = format!("{}: {found}, and its name says {expected}", path.display());
            return Err(ErrorKind::Malformed(what).into());
        }
        parts.push(part);
    }
    joined(parts)
}

fn open_file(path: &Path, number: usize) -> Result<Gguf> {
    const HELD: usize = 64; // so many stay open
    let file = OpenFile::open(path, number < HELD).map_err(|error| file::in_file(path, error))?;
    let (size, file) = (file.len(), Arc::new(file));
    let gguf = read(FileBytes::File(file.clone()).reader(0), Some(size))?;
    Ok(Gguf { files: vec![file], ..gguf })
}

/// The parts as one model, with the metadata of the first: the others only have their part numbers.
fn joined(parts: Vec<Gguf>) -> Result<Gguf> {
    let mut seen = HashSet::new();
    let (mut metadata, mut tensors, mut files) = (None, Vec::new(), Vec::new());
    for (number, part) in parts.into_iter().enumerate() {
        metadata.get_or_insert(part.metadata);
        for tensor in part.tensors {
            if !seen.insert(tensor.name.clone()) {
                let name = quoted(&tensor.name);
                let what = format!("the name {name} occurs in two parts");
                return Err(ErrorKind::Malformed(what).into());
            }
            tensors.push(GgufTensor { file: number, ..tensor });
        }
        files.extend(part.files);
    }
    let metadata = metadata.ok_or_else(|| bug!("a model without parts"))?;
    let expected = split_files::num_tensors(&metadata);
    if let Some(expected) = expected.filter(|it| usize::try_from(*it) != Ok(tensors.len())) {
        let what = format!(
            "the parts have {} tensors, and the first says that there are {expected}",
            tensors.len()
        );
        return Err(ErrorKind::Malformed(what).into());
    }
    Ok(Gguf { metadata, tensors, files })
}

/// Reads the header from a reader. If `size`, the size of the whole file, is known, tensors outside
/// of it are an error.
///
/// # Errors
///
/// As [`open`].
///
/// ```
/// use treedef_tensors::gguf;
///
/// let error = gguf::read(&b"GGUF\x01\0\0\0"[..], None).unwrap_err();
/// assert_eq!(error.to_string(), "GGUF of the version 1, which is not read at byte 4");
/// ```
pub fn read(reader: impl Read, size: Option<u64>) -> Result<Gguf> {
    let mut header = GgufHeaderReader { reader, at: 0, values: 0 };
    if header.bytes(4)? != MAGIC {
        return Err(malformed(0, "no GGUF file"));
    }
    let version = header.u32()?;
    if !(2..=3).contains(&version) {
        let big = matches!(version.swap_bytes(), 2 | 3);
        let what = if big {
            "GGUF in big endian, which is not read".to_owned()
        } else {
            format!("GGUF of the version {version}, which is not read")
        };
        return Err(malformed(4, what));
    }
    let (num_tensors, num_entries) = (header.u64()?, header.u64()?);
    let (metadata, alignment) = header.metadata(num_entries)?;
    let tensors = header.tensors(num_tensors)?;
    let start = header.at.next_multiple_of(alignment);
    let tensors = placed(tensors, (start, alignment), size)?;
    Ok(Gguf { metadata, tensors, files: Vec::new() })
}

impl Gguf {
    /// The metadata: a map whose keys are sorted. A number has the kind that it has in the file, and an
    /// array is a sequence.
    pub fn metadata(&self) -> &Tree<Leaf> {
        &self.metadata
    }

    /// The tensors, in the order of the file.
    pub fn tensors(&self) -> &[GgufTensor] {
        &self.tensors
    }

    /// The number of this part of a model, from 1 on, and the number of parts, if it is a part. [`open`]
    /// opens all of them, [`read`] this one.
    pub fn part(&self) -> Option<(u64, u64)> {
        split_files::part_of(&self.metadata)
    }

    /// Fills the buffer with bytes of a tensor, from `offset` on.
    ///
    /// # Errors
    ///
    /// Returns an error when the tensor has fewer bytes, or the file cannot be read. A header from [`read`]
    /// has no file.
    pub fn read_at(&self, tensor: &GgufTensor, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let outside = || {
            let name = quoted(&tensor.name);
            Error::from(ErrorKind::Malformed(format!("{name} has no such bytes")))
        };
        let length = u64::try_from(buffer.len()).unwrap_or(u64::MAX);
        let end = offset.checked_add(length).filter(|end| *end <= tensor.num_bytes);
        end.ok_or_else(outside)?;
        let start = tensor.start.checked_add(offset).ok_or_else(outside)?;
        let file = self.files.get(tensor.file).ok_or_else(outside)?;
        Ok(file.read_exact_at(buffer, start)?)
    }

    /// Reads all bytes of a tensor.
    ///
    /// # Errors
    ///
    /// As [`read_at`](Self::read_at), and when the tensor does not fit into memory.
    pub fn read_bytes(&self, tensor: &GgufTensor) -> Result<Vec<u8>> {
        let size = usize::try_from(tensor.num_bytes).ok().filter(|size| file::has_room(*size));
        let size = size.ok_or_else(|| {
            let name = quoted(&tensor.name);
            ErrorKind::limit(
                "bytes of memory",
                format!("memory has no room for the bytes of {name}"),
            )
        })?;
        let mut bytes = vec![0; size];
        self.read_at(tensor, 0, &mut bytes)?;
        Ok(bytes)
    }
}

/// A tensor as in the header, with its type and its offset in the data.
struct GgufTensorInfo {
    tensor: GgufTensor,
    kind: u32,
    byte: u64,
}

struct GgufHeaderReader<R> {
    reader: R,
    at: u64,
    values: usize,
}

impl<R: Read> GgufHeaderReader<R> {
    fn fail(&self, what: impl Into<String>) -> Error {
        malformed(usize::try_from(self.at).unwrap_or(usize::MAX), what)
    }

    fn bytes(&mut self, length: u64) -> Result<Vec<u8>> {
        let end =
            self.at.checked_add(length).filter(|end| *end <= MAX_HEADER).ok_or_else(|| {
                let what = format!("the header has more than {MAX_HEADER} bytes");
                let at = usize::try_from(self.at).unwrap_or(usize::MAX);
                Error::from(ErrorKind::limit("bytes of the header", what)).at_byte(at)
            })?;
        // The vector grows with the data that is there, not with a declared length.
        let mut bytes = Vec::new();
        self.reader.by_ref().take(length).read_to_end(&mut bytes)?;
        if u64::try_from(bytes.len()) != Ok(length) {
            return Err(self.fail("the file ends inside its header"));
        }
        self.at = end;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        self.reader.read_exact(&mut array).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.fail("the file ends inside its header"),
            _ => error.into(),
        })?;
        self.at = self.at.saturating_add(u64::try_from(N).unwrap_or(u64::MAX));
        Ok(array)
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn text(&mut self) -> Result<String> {
        let length = self.u64()?;
        let start = self.at;
        let bytes = self.bytes(length)?;
        String::from_utf8(bytes).map_err(|error| {
            let at =
                start.saturating_add(u64::try_from(error.utf8_error().valid_up_to()).unwrap_or(0));
            malformed(usize::try_from(at).unwrap_or(usize::MAX), "a text that is not UTF-8")
        })
    }

    /// The entries as a map, and the alignment of the data.
    fn metadata(&mut self, count: u64) -> Result<(Tree<Leaf>, u64)> {
        let (mut entries, mut seen, mut alignment) = (Vec::new(), HashSet::new(), 32);
        for _ in 0..count {
            let at = usize::try_from(self.at).unwrap_or(usize::MAX);
            let key = self.text()?;
            if !seen.insert(key.clone()) {
                return Err(malformed(at, format!("the key {} occurs twice", quoted(&key))));
            }
            let kind = self.u32()?;
            let mut leaves = Vec::new();
            let treedef = self.value(kind, &mut leaves, 0)?;
            if key == ALIGNMENT {
                // The data would be read from another place than the writer put it.
                let only = leaves.first().filter(|_| treedef.root().is_leaf());
                let Some(Leaf::U32(number)) = only else {
                    let found = only.map_or("an array".to_owned(), |leaf| leaf.kind().to_string());
                    return Err(malformed(at, format!("`{ALIGNMENT}` is {found}, expected u32")));
                };
                alignment = u64::from(*number);
                if !alignment.is_power_of_two() {
                    let what = format!("the alignment {alignment} is not a power of two");
                    return Err(malformed(at, what));
                }
            }
            entries.push((key, treedef, leaves));
        }
        entries.sort_by(|(a, ..), (b, ..)| a.cmp(b));
        let (mut children, mut leaves) = (Vec::with_capacity(entries.len()), Vec::new());
        for (key, treedef, of_entry) in entries {
            children.push((Value::from(Leaf::from(key)), treedef));
            leaves.extend(of_entry);
        }
        Ok((Tree::new(TreeDef::map(children)?, leaves)?, alignment))
    }

    fn value(&mut self, kind: u32, leaves: &mut Vec<Leaf>, depth: usize) -> Result<TreeDef> {
        self.values = self.values.saturating_add(1);
        if self.values > MAX_VALUES {
            let what = format!("more than {MAX_VALUES} values of metadata");
            let at = usize::try_from(self.at).unwrap_or(usize::MAX);
            return Err(Error::from(ErrorKind::limit("values of metadata", what)).at_byte(at));
        }
        leaves.push(match kind {
            0 => Leaf::from(u8::from_le_bytes(self.array()?)),
            1 => Leaf::from(i8::from_le_bytes(self.array()?)),
            2 => Leaf::from(u16::from_le_bytes(self.array()?)),
            3 => Leaf::from(i16::from_le_bytes(self.array()?)),
            4 => Leaf::from(self.u32()?),
            5 => Leaf::from(i32::from_le_bytes(self.array()?)),
            6 => Leaf::from(f32::from_le_bytes(self.array()?)),
            7 => match self.array::<1>()? {
                [0] => Leaf::from(false),
                [1] => Leaf::from(true),
                [byte] => return Err(self.fail(format!("the byte {byte} is not a bool"))),
            },
            8 => Leaf::from(self.text()?),
            9 => return self.values(leaves, depth),
            10 => Leaf::from(self.u64()?),
            11 => Leaf::from(i64::from_le_bytes(self.array()?)),
            12 => Leaf::from(f64::from_le_bytes(self.array()?)),
            kind => {
                return Err(self.fail(format!("a value of the type {kind}, which is not known")));
            }
        });
        Ok(TreeDef::leaf())
    }

    fn values(&mut self, leaves: &mut Vec<Leaf>, depth: usize) -> Result<TreeDef> {
        let (kind, count) = (self.u32()?, self.u64()?);
        if depth >= MAX_DEPTH {
            return Err(self.fail(format!("arrays nested deeper than {MAX_DEPTH} levels")));
        }
        if kind != 9 {
            let before = leaves.len();
            for _ in 0..count {
                self.value(kind, leaves, depth)?;
            }
            return Ok(TreeDef::seq_of(&TreeDef::leaf(), leaves.len() - before)?);
        }
        let mut children = Vec::new();
        for _ in 0..count {
            children.push(self.value(kind, leaves, depth + 1)?);
        }
        Ok(TreeDef::seq(children)?)
    }

    fn tensors(&mut self, count: u64) -> Result<Vec<GgufTensorInfo>> {
        let (mut entries, mut seen) = (Vec::new(), HashSet::new());
        for _ in 0..count {
            let byte = self.at;
            let name = self.text()?;
            if !seen.insert(name.clone()) {
                return Err(self.fail(format!("the name {} occurs twice", quoted(&name))));
            }
            let num_dims = self.u32()?;
            if num_dims > MAX_DIMS {
                let name = quoted(&name);
                return Err(self.fail(format!("{num_dims} dimensions at the tensor {name}")));
            }
            let mut shape = (0..num_dims).map(|_| self.u64()).collect::<Result<Vec<_>>>()?;
            shape.reverse();
            let (kind, start) = (self.u32()?, self.u64()?);
            let known = TYPES.iter().find(|(number, ..)| *number == kind);
            let type_name =
                known.map_or(format!("type_{kind}"), |(_, name, ..)| (*name).to_owned());
            let tensor = GgufTensor { name, type_name, shape, start, num_bytes: 0, file: 0 };
            entries.push(GgufTensorInfo { tensor, kind, byte });
        }
        Ok(entries)
    }
}

/// The number of bytes of a number of rows of a type.
fn num_bytes(shape: &[u64], block: u64, bytes: u64) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    // Each row has whole blocks.
    let (row, rows) = shape.split_last().map_or((1, shape), |(row, rows)| (*row, rows));
    let blocks = (row % block == 0).then(|| row / block)?;
    rows.iter().try_fold(blocks, |product, size| product.checked_mul(*size))?.checked_mul(bytes)
}

/// The tensors with their places in the file, inside of it and without overlaps.
fn placed(
    entries: Vec<GgufTensorInfo>,
    (start, alignment): (u64, u64),
    size: Option<u64>,
) -> Result<Vec<GgufTensor>> {
    let wrong = |entry: &GgufTensorInfo, what: &str| {
        let (name, byte) = (quoted(&entry.tensor.name), usize::try_from(entry.byte));
        malformed(
            byte.unwrap_or(usize::MAX),
            format!("{what} at the tensor {name}, {}", entry.tensor),
        )
    };
    let mut order: Vec<usize> = (0..entries.len()).collect();
    let offset = |at: usize| entries.get(at).map_or(u64::MAX, |entry| entry.tensor.start);
    order.sort_by_key(|at| offset(*at));
    let mut sizes = vec![0; entries.len()];
    let mut end = 0;
    for (position, at) in order.iter().enumerate() {
        let entry = entries.get(*at).ok_or_else(|| bug!("an entry is not there"))?;
        let begin = entry.tensor.start;
        if begin % alignment != 0 {
            return Err(wrong(entry, &format!("an offset that is not a multiple of {alignment}")));
        }
        if begin < end {
            return Err(wrong(entry, "an overlap"));
        }
        let known = TYPES.iter().find(|(kind, ..)| *kind == entry.kind);
        let length = match known {
            Some((_, _, block, bytes)) => num_bytes(&entry.tensor.shape, *block, *bytes)
                .ok_or_else(|| {
                    wrong(entry, "rows that are not whole blocks, or too many bytes,")
                })?,
            None => {
                let next = order.get(position + 1).map(|next| offset(*next));
                let rest = size.map(|size| size.saturating_sub(start));
                next.or(rest).unwrap_or(begin).saturating_sub(begin)
            }
        };
        end = begin.checked_add(length).ok_or_else(|| wrong(entry, "too many bytes"))?;
        let last = start.checked_add(end).ok_or_else(|| wrong(entry, "too many bytes"))?;
        if size.is_some_and(|size| last > size) {
            return Err(wrong(entry, "the file ends before the bytes"));
        }
        if let Some(place) = sizes.get_mut(*at) {
            *place = length;
        }
    }
    let placed = entries.into_iter().zip(sizes).map(|(entry, num_bytes)| {
        let start = start.saturating_add(entry.tensor.start); // it was added above
        GgufTensor { start, num_bytes, ..entry.tensor }
    });
    Ok(placed.collect())
}
