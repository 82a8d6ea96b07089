//! flax's files: `flax.serialization.to_bytes`, msgpack with arrays as extensions.
//!
//! flax writes nested maps, also for lists, whose keys are `0`, `1`, … The name of a tensor here is the
//! keys that lead to it, joined by `/`. A lone array has the name of the root, `""`.
//!
//! Numbers and booleans of Python are tensors without dimensions: integers are i64 (u64 if they are
//! larger), floats f64, complex numbers c128. Other values are in [`Tensors::metadata`] under their
//! names: `null` for `None`, `{}` for an empty map, and the literals of strings (`"adam"`).
//!
//! ```
//! use treedef_tensors::{Dtype, Tensor, Tensors, flax};
//!
//! let bias = Tensor::new(Dtype::F32, vec![1], vec![0, 0, 128, 63])?;
//! let tensors = Tensors::new([("params/bias".to_owned(), bias)])?;
//!
//! let file = flax::to_bytes(&tensors)?; // `{"params": {"bias": array([1.])}}`
//! assert_eq!(file[..8], *b"\x81\xa6params");
//! assert_eq!(flax::from_bytes(&file)?, tensors);
//!
//! let file = b"\x82\xa4step\x07\xa3opt\xc0"; // {"step": 7, "opt": None}
//! let tensors = flax::from_bytes(file)?;
//! assert_eq!(tensors.get("step").unwrap().to_string(), "i64[]");
//! assert_eq!(tensors.metadata("opt"), Some("null"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::io::Write;
use std::path::Path;

use rmp::{Marker, decode, encode};
use treedef::Leaf;
use treedef_pytrees::__private::{MAX_DEPTH, NameBytes};

use crate::bug::OrBug;
use crate::error::{Error, ErrorKind, Result, malformed, quoted};
use crate::file;
use crate::literal::{self, ABSENT, EMPTY};
use crate::numpy_type::TYPES;
use crate::shape::MAX_DIMS;
use crate::structure::{is_of_file, is_of_structure, mark_values, would_be_tied};
use crate::tensor::{Dtype, Tensor, Tensors};

/// The numbers of flax's extensions.
const ARRAY: i8 = 1;
const COMPLEX: i8 = 2;
const SCALAR: i8 = 3;

/// The first key of a map that represents an array in pieces.
const CHUNKED: &str = "__msgpack_chunked_array__";

/// Larger arrays are written in pieces: `flax.serialization.MAX_CHUNK_SIZE`.
const MAX_CHUNK: usize = 1 << 30;

/// The maximum number of values without a counterpart that an error lists.
const LISTED: usize = 10;

/// The file that flax writes for the tensors as nested maps.
///
/// `/` in a name separates the keys. The keys of a map are in the order of the tensors, followed by
/// the keys of the metadata. [`from_bytes`] reads metadata in the order of its names. The
/// structure, which [`Export`](crate::Export) puts into the metadata, is left out.
///
/// # Errors
///
/// Returns an error when a name leads through a tensor (`a/b` beside `a`); when other metadata is
/// not `null`, `{}` or the literal of a string or a char; when a name has more than 200 parts, or a
/// tensor more than 64 dimensions.
pub fn to_bytes(tensors: &Tensors<'_>) -> Result<Vec<u8>> {
    __to_bytes_chunked(tensors, MAX_CHUNK)
}

/// As [`to_bytes`], with arrays in pieces if they have more than `max_chunk` bytes.
#[doc(hidden)]
pub fn __to_bytes_chunked(tensors: &Tensors<'_>, max_chunk: usize) -> Result<Vec<u8>> {
    let mut root = FlaxNode::Map(FlaxMap::default());
    for (name, tensor) in tensors.iter() {
        root.insert(name, FlaxNode::Array(tensor))?;
    }
    for (name, text) in &tensors.metadata {
        // flax may have a string of this name, too.
        let is_empty_map = text == EMPTY && tensors.tensors.is_empty();
        if is_of_structure(name) && (!is_metadata(text) || is_empty_map) {
            continue;
        }
        root.insert(name, FlaxNode::Metadata(name, text))?;
    }
    let size = tensors.iter().map(|(name, tensor)| name.len() + tensor.bytes().len() + 64).sum();
    let mut out = Vec::with_capacity(size);
    root.write(max_chunk.min(MAX_CHUNK), &mut out)?;
    Ok(out)
}

/// Writes a file with these tensors, as [`to_bytes`] makes it. The old contents stay until the new
/// ones are on the disk.
///
/// # Errors
///
/// As [`to_bytes`], and errors of the operating system; the old file is then unchanged, unless only
/// flushing the folder failed.
///
/// ```
/// use std::collections::BTreeMap;
/// use treedef::Tree;
/// use treedef_tensors::{Export, Loader, flax};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model.msgpack");
/// let value = BTreeMap::from([("params".to_owned(), vec![(vec![[1.5f32; 2]; 3], 7u8)])]);
/// let tree = Tree::of(&value)?;
/// let export = Export::new().separator("/");
/// flax::save(&export.tensors(&tree)?, &path)?; // {"params": {"0": {"0": array, "1": 7}}}
///
/// let file = std::fs::read(&path)?;
/// let read: BTreeMap<String, Vec<(Vec<[f32; 2]>, u8)>> =
///     Loader::new().separator("/").load(&flax::from_bytes(&file)?)?;
/// assert_eq!(read, value);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save(tensors: &Tensors<'_>, path: impl AsRef<Path>) -> Result<()> {
    let bytes = to_bytes(tensors)?;
    file::save(path.as_ref(), |file| Ok(file.write_all(&bytes)?))
}

/// The content of a file at a place.
enum FlaxNode<'t> {
    Array(&'t Tensor<'t>),
    /// Metadata: its name and text.
    Metadata(&'t str, &'t str),
    Map(FlaxMap<'t>),
}

/// Entries in order, and the position of each key.
#[derive(Default)]
struct FlaxMap<'t> {
    entries: Vec<(&'t str, FlaxNode<'t>)>,
    positions: HashMap<&'t str, usize>,
}

impl<'t> FlaxNode<'t> {
    fn insert(&mut self, name: &'t str, leaf: FlaxNode<'t>) -> Result<()> {
        let clash = || {
            ErrorKind::Malformed(format!(
                "{} is inside another tensor, or one is inside it",
                quoted(name)
            ))
        };
        let mut node = self;
        // The name "" has no parts.
        for (depth, key) in name.split('/').filter(|_| !name.is_empty()).enumerate() {
            if depth == MAX_DEPTH {
                let what = format!("a name has more than {MAX_DEPTH} parts");
                return Err(ErrorKind::limit("levels", what).into());
            }
            if !is_key(key, depth) {
                return Err(ErrorKind::Malformed(not_a_key(key)).into());
            }
            let FlaxNode::Map(map) = node else { return Err(clash().into()) };
            let end = map.entries.len();
            let position = *map.positions.entry(key).or_insert(end);
            if position == end {
                map.entries.push((key, FlaxNode::Map(FlaxMap::default())));
            }
            let entry = map.entries.get_mut(position);
            node = entry.map(|(_, child)| child).ok_or_else(clash)?; // it is there
        }
        match node {
            // No other leads through a map that is empty yet.
            FlaxNode::Map(map) if map.entries.is_empty() => *node = leaf,
            _ => return Err(clash().into()),
        }
        Ok(())
    }

    fn write(&self, max_chunk: usize, out: &mut Vec<u8>) -> Result<()> {
        match self {
            FlaxNode::Array(tensor) => write_array(tensor, max_chunk, out),
            FlaxNode::Metadata(_, ABSENT) => encode::write_nil(out).map_err(write_error),
            FlaxNode::Metadata(_, EMPTY) => write_map(0, out),
            FlaxNode::Metadata(name, text) => {
                let string = literal::string(text).ok_or_else(|| {
                    let what = "is not metadata of flax, which has `null`, `{}`, and literals of strings and chars";
                    let shown = format!("{} for {}", quoted(text), quoted(name));
                    ErrorKind::Unsupported(format!("{shown} {what}"))
                })?;
                encode::write_str(out, &string).map_err(write_error)
            }
            FlaxNode::Map(map) => {
                write_map(map.entries.len(), out)?;
                map.entries.iter().try_for_each(|(key, node)| {
                    encode::write_str(out, key).map_err(write_error)?;
                    node.write(max_chunk, out)
                })
            }
        }
    }
}

/// Whether metadata can be a value in a file of flax.
fn is_metadata(text: &str) -> bool {
    matches!(text, ABSENT | EMPTY) || literal::string(text).is_some()
}

/// Whether a name can have this part: the first marks arrays in pieces, and the name of a lone
/// array is "".
fn is_key(key: &str, depth: usize) -> bool {
    key != CHUNKED && !key.contains('/') && (depth > 0 || !key.is_empty())
}

fn not_a_key(key: &str) -> String {
    format!("{} cannot be a key: names are keys joined by `/`", quoted(key))
}

fn write_error(error: impl Display) -> Error {
    ErrorKind::limit("bytes", format!("msgpack cannot hold it: {error}")).into()
}

fn write_map(length: usize, out: &mut Vec<u8>) -> Result<()> {
    let length = u32::try_from(length).map_err(write_error)?;
    encode::write_map_len(out, length).map(drop).map_err(write_error)
}

fn write_array(tensor: &Tensor<'_>, max_chunk: usize, out: &mut Vec<u8>) -> Result<()> {
    let (dtype, shape) = (tensor.dtype(), tensor.shape());
    if shape.len() > MAX_DIMS {
        return Err(ErrorKind::limit(
            "dimensions",
            format!("numpy has at most {MAX_DIMS} dimensions"),
        )
        .into());
    }
    if tensor.bytes().len() <= max_chunk {
        return write_extension(dtype, shape, tensor.bytes(), out);
    }
    write_map(3, out)?;
    encode::write_str(out, CHUNKED).map_err(write_error)?;
    encode::write_bool(out, true).map_err(write_error)?;
    encode::write_str(out, "shape").map_err(write_error)?;
    write_map(shape.len(), out)?;
    for (index, dim) in shape.iter().enumerate() {
        encode::write_str(out, &index.to_string()).map_err(write_error)?;
        encode::write_uint(out, *dim as u64).map_err(write_error)?; // a `usize` fits
    }
    encode::write_str(out, "chunks").map_err(write_error)?;
    let chunk = (max_chunk / dtype.size()).max(1) * dtype.size();
    write_map(tensor.bytes().len().div_ceil(chunk), out)?;
    for (index, bytes) in tensor.bytes().chunks(chunk).enumerate() {
        encode::write_str(out, &index.to_string()).map_err(write_error)?;
        write_extension(dtype, &[bytes.len() / dtype.size()], bytes, out)?;
    }
    Ok(())
}

fn write_extension(dtype: Dtype, shape: &[usize], bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let length = |length: usize| u32::try_from(length).map_err(write_error);
    let mut head = Vec::new();
    encode::write_array_len(&mut head, 3).map_err(write_error)?;
    encode::write_array_len(&mut head, length(shape.len())?).map_err(write_error)?;
    for dim in shape {
        encode::write_uint(&mut head, *dim as u64).map_err(write_error)?; // a `usize` fits
    }
    let name = TYPES.iter().find(|(other, ..)| *other == dtype).map(|(.., name)| *name).or_bug();
    encode::write_str(&mut head, name).map_err(write_error)?;
    encode::write_bin_len(&mut head, length(bytes.len())?).map_err(write_error)?;
    encode::write_ext_meta(out, length(head.len() + bytes.len())?, ARRAY).map_err(write_error)?;
    out.extend_from_slice(&head);
    out.extend_from_slice(bytes);
    Ok(())
}

/// The tensors of a file of flax, in the order of the file. Their elements are borrowed, unless an
/// array is in pieces.
///
/// A [`Loader`](crate::Loader) with the separator `/` reads a value from them: an empty map is any empty
/// container, and `None` an absent value.
///
/// # Errors
///
/// - When the file is not valid, with the position, or has maps deeper than 200 levels.
/// - When a key occurs twice, is not a string, or contains `/`.
/// - When values are neither tensors nor metadata, with their names: lists (`flax.serialization.to_bytes`
///   writes maps for them), bytes, and arrays whose elements have no [`Dtype`].
///
/// ```
/// use treedef_tensors::{Loader, flax};
///
/// #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
/// struct State { step: i64, moments: Vec<f32>, scale: Option<f64>, name: String }
///
/// // {"step": 7, "moments": {}, "scale": None, "name": "adam"}
/// let file = b"\x84\xa4step\x07\xa7moments\x80\xa5scale\xc0\xa4name\xa4adam";
/// let state = State { step: 7, moments: vec![], scale: None, name: "adam".to_owned() };
/// let loader = Loader::new().separator("/");
/// assert_eq!(loader.load::<State>(&flax::from_bytes(file)?)?, state);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn from_bytes(file: &[u8]) -> Result<Tensors<'_>> {
    let mut reader = MsgpackReader::new(file);
    let mut read = StateDict::default();
    reader.value(&mut String::new(), 0, &mut read)?;
    reader.end()?;
    if read.refused > 0 {
        let (listed, more) = (read.listed.join(", "), read.refused - read.listed.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        return Err(ErrorKind::Unsupported(format!("no tensors: {listed}{more}")).into());
    }
    read.metadata.sort();
    let names: HashSet<&str> = read.tensors.iter().map(|(name, _)| name.as_str()).collect();
    let would_be = |(name, text): &&(String, String)| names.contains(&**text) && !is_of_file(name);
    if let Some((name, text)) = read.metadata.iter().find(would_be) {
        return Err(would_be_tied(text).about(name));
    }
    mark_values(&mut read.metadata);
    Ok(Tensors { tensors: read.tensors, metadata: read.metadata })
}

/// The result so far.
#[derive(Default)]
struct StateDict<'a> {
    tensors: Vec<(String, Tensor<'a>)>,
    metadata: Vec<(String, String)>,
    /// The first of the other values, and their number.
    listed: Vec<String>,
    refused: usize,
    names: NameBytes,
}

impl<'a> StateDict<'a> {
    fn name(&mut self, name: &str) -> Result<String> {
        self.names.spend(name.len(), "names")?;
        Ok(name.to_owned())
    }

    fn add(&mut self, name: &str, tensor: Result<Tensor<'a>, String>) -> Result<()> {
        match tensor {
            Ok(tensor) => {
                let name = self.name(name)?;
                self.tensors.push((name, tensor));
            }
            Err(what) => {
                self.refused += 1;
                if self.listed.len() < LISTED {
                    self.listed.push(format!("{} is {what:.100}", quoted(name)));
                }
            }
        }
        Ok(())
    }

    fn add_metadata(&mut self, name: &str, text: String) -> Result<()> {
        let name = self.name(name)?;
        self.metadata.push((name, text));
        Ok(())
    }
}

/// A place in the file.
struct MsgpackReader<'a> {
    rest: &'a [u8],
    /// Where the rest ends.
    end: usize,
}

/// An array, or the name of its elements' type.
type TensorOrTypeName<'a> = Result<Tensor<'a>, String>;

impl<'a> MsgpackReader<'a> {
    fn new(file: &'a [u8]) -> Self {
        MsgpackReader { rest: file, end: file.len() }
    }

    fn at(&self) -> usize {
        self.end - self.rest.len()
    }

    /// Reads one value of msgpack.
    fn step<T, E>(
        &mut self,
        what: &str,
        read: impl FnOnce(&mut &'a [u8]) -> Result<T, E>,
    ) -> Result<T> {
        let at = self.at();
        read(&mut self.rest).map_err(|_| malformed(at, format!("expected {what}")))
    }

    fn take(&mut self, length: u32) -> Result<&'a [u8]> {
        let parts =
            usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length));
        let missing = || malformed(self.at(), format!("{length} bytes are declared, fewer there"));
        let (taken, rest) = parts.ok_or_else(missing)?;
        self.rest = rest;
        Ok(taken)
    }

    fn end(&self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(malformed(self.at(), "expected the end")) }
    }

    fn text(&mut self) -> Result<&'a str> {
        let length = self.step("a string", decode::read_str_len)?;
        let at = self.at();
        str::from_utf8(self.take(length)?).map_err(|_| malformed(at, "a string that is not UTF-8"))
    }

    fn size(&mut self) -> Result<usize> {
        self.step("a size", decode::read_int::<usize, _>)
    }

    fn value(&mut self, name: &mut String, depth: usize, read: &mut StateDict<'a>) -> Result<()> {
        let first = *self.rest.first().ok_or_else(|| malformed(self.at(), "expected a value"))?;
        match Marker::from_u8(first) {
            Marker::FixMap(_) | Marker::Map16 | Marker::Map32 => self.map(name, depth, read),
            Marker::FixArray(_) | Marker::Array16 | Marker::Array32 => {
                let what = "a list, which `flax.serialization.to_bytes` writes as a map";
                let what = ErrorKind::Unsupported(format!("{} is {what}", quoted(name)));
                Err(Error::from(what).at_byte(self.at()))
            }
            Marker::FixExt1
            | Marker::FixExt2
            | Marker::FixExt4
            | Marker::FixExt8
            | Marker::FixExt16
            | Marker::Ext8
            | Marker::Ext16
            | Marker::Ext32 => {
                let array = self.extension()?;
                read.add(name, array)
            }
            Marker::Null => {
                self.step("nil", decode::read_nil)?;
                read.add_metadata(name, ABSENT.to_owned())
            }
            Marker::FixStr(_) | Marker::Str8 | Marker::Str16 | Marker::Str32 => {
                let text = Leaf::from(self.text()?);
                read.add_metadata(name, text.to_string())
            }
            Marker::Bin8 | Marker::Bin16 | Marker::Bin32 => {
                let length = self.step("bytes", decode::read_bin_len)?;
                self.take(length)?;
                read.add(name, Err(format!("{length} bytes of Python")))
            }
            _ => {
                let number = self.number()?;
                read.add(name, Ok(number))
            }
        }
    }

    fn map(&mut self, name: &mut String, depth: usize, read: &mut StateDict<'a>) -> Result<()> {
        if depth == MAX_DEPTH {
            let what = format!("nested deeper than {MAX_DEPTH} levels");
            return Err(Error::from(ErrorKind::limit("levels", what)).at_byte(self.at()));
        }
        let length = self.step("a map", decode::read_map_len)?;
        if length == 0 {
            return read.add_metadata(name, EMPTY.to_owned());
        }
        let mut seen = HashSet::new();
        for index in 0..length {
            let at = self.at();
            let key = self.text()?;
            if key == CHUNKED && index == 0 {
                let array = self.chunked(length)?;
                return read.add(name, array);
            }
            if !is_key(key, depth) {
                return Err(malformed(at, not_a_key(key)));
            }
            if !seen.insert(key) {
                return Err(malformed(at, format!("the key {} occurs twice", quoted(key))));
            }
            let end = name.len();
            name.push_str(if depth == 0 { "" } else { "/" });
            name.push_str(key);
            self.value(name, depth + 1, read)?;
            name.truncate(end);
        }
        Ok(())
    }

    /// A number or boolean of Python.
    fn number(&mut self) -> Result<Tensor<'a>> {
        let marker = self.rest.first().map(|first| Marker::from_u8(*first));
        let (dtype, bytes) = match marker {
            Some(Marker::True | Marker::False) => {
                (Dtype::Bool, vec![u8::from(self.step("a boolean", decode::read_bool)?)])
            }
            Some(Marker::F32) => {
                (Dtype::F32, self.step("a float", decode::read_f32)?.to_le_bytes().to_vec())
            }
            Some(Marker::F64) => {
                (Dtype::F64, self.step("a float", decode::read_f64)?.to_le_bytes().to_vec())
            }
            _ => {
                let value = self.step("a value", decode::read_int::<i128, _>)?;
                let dtype = if value > i64::MAX.into() { Dtype::U64 } else { Dtype::I64 };
                // It has at most 64 bits.
                (dtype, value.to_le_bytes().get(..8).unwrap_or_default().to_vec())
            }
        };
        Tensor::new(dtype, Vec::new(), bytes)
    }

    fn extension(&mut self) -> Result<TensorOrTypeName<'a>> {
        let at = self.at();
        let meta = self.step("an extension", decode::read_ext_meta)?;
        let data = self.take(meta.size)?;
        let mut inside = MsgpackReader { rest: data, end: self.at() };
        match meta.typeid {
            ARRAY | SCALAR => {
                let array = inside.array()?;
                match &array {
                    Ok(tensor) if meta.typeid == SCALAR && !tensor.shape().is_empty() => {
                        Err(malformed(at, format!("a number that is {tensor}")))
                    }
                    _ => Ok(array),
                }
            }
            COMPLEX => {
                inside.step("two floats", |rest| match decode::read_array_len(rest) {
                    Ok(2) => Ok(()),
                    _ => Err(()),
                })?;
                let [real, imaginary] = [
                    inside.step("a float", decode::read_f64)?,
                    inside.step("a float", decode::read_f64)?,
                ];
                inside.end()?;
                let bytes = [real.to_le_bytes(), imaginary.to_le_bytes()].concat();
                Tensor::new(Dtype::C128, Vec::new(), bytes).map(Ok)
            }
            other => Ok(Err(format!("the extension {other} of msgpack"))),
        }
    }

    /// `(shape, name of the type, bytes)`
    fn array(&mut self) -> Result<TensorOrTypeName<'a>> {
        let at = self.at();
        let parts = self.step("an array of flax", decode::read_array_len)?;
        let dims = self.step("a shape", decode::read_array_len)?;
        let fits = usize::try_from(dims).is_ok_and(|dims| dims <= MAX_DIMS);
        if parts != 3 || !fits {
            let what = format!("{parts} parts and {dims} dimensions, not 3 and at most {MAX_DIMS}");
            return Err(malformed(at, what));
        }
        let shape = (0..dims).map(|_| self.size()).collect::<Result<Vec<_>>>()?;
        let name = self.text()?;
        let length = self.step("bytes", decode::read_bin_len)?;
        let bytes = self.take(length)?;
        self.end()?;
        match TYPES.iter().find(|(.., other)| *other == name) {
            Some((dtype, ..)) => {
                Tensor::new(*dtype, shape, bytes).map(Ok).map_err(|error| error.at_byte(at))
            }
            None => Ok(Err(format!("an array of {name}"))),
        }
    }

    /// The rest after the first key of an array in pieces, `true`: its shape and its pieces.
    fn chunked(&mut self, length: u32) -> Result<TensorOrTypeName<'a>> {
        let at = self.at();
        let is_true = self.step("`true`", decode::read_bool)?;
        let (mut shape, mut chunks) = (None, None);
        for _ in 1..length {
            match self.text()? {
                "shape" => shape = Some(self.indexed(MsgpackReader::size)?),
                "chunks" => chunks = Some(self.indexed(MsgpackReader::extension)?),
                key => {
                    return Err(malformed(
                        at,
                        format!("an array in pieces has no {}", quoted(key)),
                    ));
                }
            }
        }
        let (Some(shape), Some(chunks), true, 3) = (shape, chunks, is_true, length) else {
            return Err(malformed(at, "an array in pieces has a shape and chunks, nothing else"));
        };
        let chunks = match chunks.into_iter().collect::<Result<Vec<_>, String>>() {
            Ok(chunks) => chunks,
            Err(what) => return Ok(Err(what)),
        };
        let dtype = chunks
            .first()
            .map(Tensor::dtype)
            .ok_or_else(|| malformed(at, "an array of no pieces"))?;
        if shape.len() > MAX_DIMS
            || chunks.iter().any(|chunk| chunk.dtype() != dtype || chunk.shape().len() != 1)
        {
            return Err(malformed(at, "pieces of several types or dimensions"));
        }
        let bytes = chunks.iter().map(Tensor::bytes).collect::<Vec<_>>().concat();
        Tensor::new(dtype, shape, bytes).map(Ok).map_err(|error| error.at_byte(at))
    }

    /// The values of a map whose keys are `0`, `1`, … in any order.
    fn indexed<T>(&mut self, read: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let at = self.at();
        let length = self.step("a map", decode::read_map_len)?;
        let mut items = Vec::new();
        for _ in 0..length {
            let key = self.text()?;
            let index = key.parse::<usize>().ok().filter(|index| index.to_string() == key);
            items.push((index, read(self)?));
        }
        items.sort_by_key(|(index, _)| *index);
        if items.iter().enumerate().all(|(at, (index, _))| *index == Some(at)) {
            Ok(items.into_iter().map(|(_, item)| item).collect())
        } else {
            Err(malformed(at, "its keys are not 0, 1, …"))
        }
    }
}
