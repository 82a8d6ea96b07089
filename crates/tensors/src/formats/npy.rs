//! numpy's files of one array: `.npy`.
//!
//! ```
//! use treedef_tensors::{Dtype, Tensor, npy};
//!
//! let numbers = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
//! let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
//! let tensor = Tensor::new(Dtype::F32, vec![2, 3], bytes)?;
//!
//! let file = npy::to_bytes(&tensor)?; // what `numpy.save` writes
//! let header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
//! assert_eq!(file[10..10 + header.len()], *header);
//! let array: [[f32; 3]; 2] = npy::from_bytes(&file)?.load()?;
//! assert_eq!(array, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod read_options;
mod npy_dtype;

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

use treedef_pytrees::__private::{Parser, PyKey};

use crate::bug::{OrBug, bug};
use crate::descriptor::{Descriptor, NumberType};
use crate::error::{Error, ErrorKind, Result, malformed, quoted};
use crate::file;
use crate::formats::npy::npy_dtype::{NpyDtype, NpyDtypeKind, joined, read_shape};
use crate::numpy_type::TYPES;
use crate::shape::{MAX_DIMS, display, num_elements};
use crate::source::{Source, StoredTensor};
use crate::tensor::Dtype;

pub use read_options::ReadOptions;

const MAGIC: &[u8] = b"\x93NUMPY";

/// The digits reserved for the first dimension, so that it can grow without a new header, as in
/// numpy.
const GROWTH_DIGITS: usize = 21;

/// The file that numpy writes for the array, byte for byte. The array is a [`Tensor`](crate::Tensor) or a
/// [`StoredTensor`] array with any elements.
///
/// bf16 is written as numpy writes `ml_dtypes.bfloat16`, as `<V2`. In Python the array is
/// `numpy.load(file).view(ml_dtypes.bfloat16)`, here see [`ReadOptions::bf16`].
///
/// # Errors
///
/// As [`StoredTensor::read_bytes`]; also when the array has more than 64 dimensions, or elements that numpy does
/// not support.
///
/// ```
/// use treedef_tensors::npy;
///
/// let header = "{'descr': '<U2', 'fortran_order': False, 'shape': (1,), }";
/// let start = [b"\x93NUMPY\x01\0", &(header.len() as u16).to_le_bytes()[..]].concat();
/// let file = [&start, header.as_bytes(), b"a\0\0\0b\0\0\0"].concat();
///
/// let source = npy::from_bytes(&file)?; // `numpy.array(["ab"])`
/// let copy = npy::to_bytes(source.get("").unwrap())?;
/// assert_eq!(npy::from_bytes(&copy)?.load::<Vec<String>>()?, ["ab"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn to_bytes<'s>(array: impl Into<StoredTensor<'s>>) -> Result<Vec<u8>> {
    let array = array.into();
    let mut file = header_of(array.descriptor())?;
    file.extend_from_slice(&array.read_bytes()?);
    Ok(file)
}

/// Writes a file with the array, as [`to_bytes`] makes it. The old contents stay until the new ones
/// are on the disk.
///
/// # Errors
///
/// As [`to_bytes`], and errors of the operating system; the old file is then unchanged, unless only
/// flushing the folder failed.
///
/// ```
/// use treedef_tensors::{Dtype, Tensor, npy};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("steps.npy");
/// npy::save(&Tensor::new(Dtype::U8, vec![2, 1], vec![3, 4])?, &path)?;
/// assert_eq!(npy::from_bytes(&std::fs::read(&path)?)?.load::<Vec<[u8; 1]>>()?, [[3], [4]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save<'s>(array: impl Into<StoredTensor<'s>>, path: impl AsRef<Path>) -> Result<()> {
    let array = array.into();
    let header = header_of(array.descriptor())?;
    file::save(path.as_ref(), |file| {
        file.write_all(&header)?;
        array.pieces(|piece| Ok(file.write_all(piece)?))
    })
}

/// The array of a file of numpy, in the versions 1, 2 and 3 of its format, as a tensor without a name. Its
/// elements may be of any type. Each field of records is a tensor with the name of the field.
///
/// The elements are borrowed, unless they are big endian or in Fortran order; those are converted. Elements
/// whose type has no byte order (`=f8`, `|f4`) have the order of this machine, as in numpy.
///
/// Objects of Python, which are pickled and could run any code, are not read, nor are floats of
/// more than 64 bits: see [`Descriptor::unread`]. [`StoredTensor::tree`] reads texts and dates.
///
/// # Errors
///
/// Returns an error when the file is not of the format, with the byte, or has more or fewer elements
/// than its shape.
pub fn from_bytes(file: &[u8]) -> Result<Source<'_>> {
    from_bytes_with(file, &ReadOptions::new())
}

/// As [`from_bytes`], with options.
///
/// # Errors
///
/// As [`from_bytes`].
///
/// ```
/// use treedef_tensors::npy::{self, ReadOptions};
/// use treedef_tensors::{Dtype, Tensor};
///
/// let tensor = Tensor::new(Dtype::Bf16, vec![1], vec![0x80, 0x3f])?;
/// let file = npy::to_bytes(&tensor)?;
/// let error = npy::from_bytes(&file)?.read().unwrap_err();
/// assert!(error.to_string().contains("see `npy::ReadOptions::bf16`"));
/// let source = npy::from_bytes_with(&file, &ReadOptions::new().bf16(true))?;
/// assert_eq!(source.get("").unwrap().read()?, tensor);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn from_bytes_with<'a>(file: &'a [u8], reading: &ReadOptions) -> Result<Source<'a>> {
    let (mut tensors, array) = (Vec::new(), NpyArray::read(Cow::Borrowed(file), reading)?);
    let records = array.is_of_records().then(String::new);
    array.push_to("", &mut tensors)?;
    Ok(Source::of(tensors, [])?.with_records(records.into_iter().collect()))
}

/// Whether a file of numpy can have elements of this type: all of [`Dtype`], and types that were read from
/// such a file unchanged.
#[doc(hidden)]
pub fn __holds(descriptor: &Descriptor) -> bool {
    code(descriptor).is_some()
}

/// The name by which [`__stored`] knows the type of the elements. `None` if it is not an array.
#[doc(hidden)]
pub fn __element(descriptor: &Descriptor) -> Option<String> {
    match descriptor.number_type() {
        Some(element) => Some(element.name().to_owned()),
        None => code(descriptor),
    }
}

/// A tensor with these bytes, in our order.
///
/// # Errors
///
/// Returns an error when the type is unknown, or its elements have another number of bytes.
#[doc(hidden)]
pub fn __stored(
    name: &str,
    element: &str,
    shape: Vec<usize>,
    bytes: Vec<u8>,
) -> Result<StoredTensor<'static>> {
    if let Some(element) = NumberType::of_name(element) {
        let descriptor = Descriptor::of(name.to_owned(), element, shape);
        if descriptor.num_bytes() == u64::try_from(bytes.len()).ok() {
            return Ok(StoredTensor::owned(descriptor, bytes));
        }
        let what = format!("{}: {} bytes cannot be {descriptor}", quoted(name), bytes.len());
        return Err(ErrorKind::Malformed(what).into());
    }
    let (mut file, mut arrays) = (header(element, &shape)?, Vec::new());
    file.extend(bytes);
    NpyArray::read(Cow::Owned(file), &ReadOptions::new())?.push_to(name, &mut arrays)?;
    let wrong = || {
        let what = format!("{}: {} is not a type of elements", quoted(name), quoted(element));
        Error::from(ErrorKind::Malformed(what))
    };
    arrays.pop().filter(|_| arrays.is_empty()).ok_or_else(wrong)
}

fn code(descriptor: &Descriptor) -> Option<String> {
    descriptor.dtype().map(code_of).or_else(|| descriptor.numpy()?.code.clone())
}

/// The name of the type in a file.
fn code_of(dtype: Dtype) -> String {
    let code = TYPES.iter().find(|(known, ..)| *known == dtype).map(|(_, code, _)| *code).or_bug();
    format!("{}{code}", if dtype.size() == 1 { '|' } else { '<' })
}

/// The header before the elements of an array. An error if numpy does not support such elements.
pub(crate) fn header_of(descriptor: &Descriptor) -> Result<Vec<u8>> {
    let code = code(descriptor).ok_or_else(|| {
        let what = format!("numpy has no array for {descriptor}");
        Error::from(ErrorKind::Unsupported(what))
    })?;
    header(&code, descriptor.shape())
}

fn header(code: &str, shape: &[usize]) -> Result<Vec<u8>> {
    if shape.len() > MAX_DIMS {
        let what = format!("numpy has at most {MAX_DIMS} dimensions, not {}", shape.len());
        return Err(ErrorKind::limit("dimensions", what).into());
    }
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let growth = sizes.first().map_or(0, |size| GROWTH_DIGITS - size.len()); // at most 20 digits
    let sizes = sizes.join(", ");
    let mut text =
        format!("{{'descr': '{code}', 'fortran_order': False, 'shape': ({sizes}{comma}), }}");
    text.push_str(&" ".repeat(growth));
    // The elements begin at a multiple of 64.
    let before = MAGIC.len() + 4;
    text.push_str(&" ".repeat(64 - (before + text.len() + 1) % 64));
    text.push('\n');
    let length = u16::try_from(text.len())
        .map_err(|error| ErrorKind::limit("bytes of the header", error.to_string()))?;
    Ok([MAGIC, &[1, 0], &length.to_le_bytes(), text.as_bytes()].concat())
}

/// An array of any elements, in our order.
pub(crate) struct NpyArray<'a> {
    dtype: NpyDtype,
    shape: Vec<usize>,
    bytes: Cow<'a, [u8]>,
}

impl<'a> NpyArray<'a> {
    pub(crate) fn read(file: Cow<'a, [u8]>, reading: &ReadOptions) -> Result<Self> {
        let (start, end) = header_range(&file)?;
        let NpyHeader { dtype, fortran, shape } =
            NpyHeader::read(file.get(..end).or_bug(), start, reading)?;
        let bytes = match file {
            Cow::Borrowed(file) => Cow::Borrowed(file.get(end..).or_bug()),
            Cow::Owned(mut file) => {
                file.drain(..end);
                Cow::Owned(file)
            }
        };
        if let NpyDtypeKind::Pickled { is_record } = dtype.kind {
            let code = (!is_record).then_some("|O");
            let dtype = NpyDtype::unread("object", code, 0, npy_dtype::pickled());
            return Ok(NpyArray { dtype, shape, bytes });
        }
        // A zero anywhere makes the whole zero, also beside dimensions whose product is too large.
        let count = if shape.contains(&0) { Some(0) } else { num_elements(&shape) };
        if count.and_then(|count| count.checked_mul(dtype.size)) != Some(bytes.len()) {
            let (shape, found) = (display(dtype.name(), &shape), bytes.len());
            return Err(ErrorKind::Malformed(format!("{found} bytes cannot be {shape}")).into());
        }
        let is_other = fortran && shape.iter().filter(|dim| **dim != 1).count() > 1;
        let bytes = if is_other { row_major(&bytes, &shape, dtype.size).into() } else { bytes };
        Ok(NpyArray { dtype, shape, bytes })
    }

    pub(crate) fn is_of_records(&self) -> bool {
        matches!(&self.dtype.kind, NpyDtypeKind::Record(fields) if !fields.is_empty())
    }

    /// Adds the array, or an array for each field of records.
    pub(crate) fn push_to(self, name: &str, to: &mut Vec<StoredTensor<'a>>) -> Result<()> {
        let NpyArray { dtype, shape, bytes } = self;
        let fields = match dtype.kind {
            NpyDtypeKind::One { elements, reversed } => {
                let descriptor = Descriptor::with(name.to_owned(), elements, shape);
                to.push(match in_order(bytes, reversed) {
                    Cow::Borrowed(bytes) => StoredTensor::in_memory(descriptor, bytes),
                    Cow::Owned(bytes) => StoredTensor::owned(descriptor, bytes),
                });
                return Ok(());
            }
            NpyDtypeKind::Record(fields) => fields,
            NpyDtypeKind::Pickled { .. } => return Err(bug!("a pickle was read as elements")),
        };
        if fields.is_empty() {
            let dtype =
                NpyDtype::unread("record", None, dtype.size, "records without fields".to_owned());
            return NpyArray { dtype, shape, bytes }.push_to(name, to);
        }
        for field in fields {
            let end = field.at.saturating_add(field.size()); // inside of the record
            let mut of_field = Vec::new();
            // Fields without bytes could be any number.
            if end > field.at {
                for record in bytes.chunks_exact(dtype.size) {
                    of_field.extend_from_slice(record.get(field.at..end).or_bug());
                }
            }
            let shape = joined(&shape, &field.dims)?;
            let name = match name {
                "" => field.name,
                name => format!("{name}.{}", field.name),
            };
            NpyArray { dtype: field.dtype, shape, bytes: of_field.into() }.push_to(&name, to)?;
        }
        Ok(())
    }
}

/// A member of an npz file that is not an array.
pub(crate) fn other_file<'a>(name: &str, bytes: Cow<'a, [u8]>) -> StoredTensor<'a> {
    let elements =
        npy_dtype::unread("file", None, bytes.len(), "it is not a `.npy` file".to_owned());
    StoredTensor::owned(Descriptor::with(name.to_owned(), elements, Vec::new()), bytes.into_owned())
}

/// The bytes, with the byte order of each group of this size reversed.
fn in_order(bytes: Cow<'_, [u8]>, reversed: usize) -> Cow<'_, [u8]> {
    if reversed < 2 {
        return bytes;
    }
    let mut bytes = bytes.into_owned();
    bytes.chunks_exact_mut(reversed).for_each(<[u8]>::reverse);
    bytes.into()
}

/// Where the text of the header begins and ends.
fn header_range(file: &[u8]) -> Result<(usize, usize)> {
    let Some(after) = file.strip_prefix(MAGIC) else {
        return Err(malformed(0, "no npy file: it does not begin with `\\x93NUMPY`"));
    };
    let (start, length): (usize, usize) = match *after {
        [1, 0, a, b, ..] => (10, usize::from(u16::from_le_bytes([a, b]))),
        [2 | 3, 0, a, b, c, d, ..] => {
            (12, usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap_or(usize::MAX))
        }
        [1..=3, 0, ..] | [_] | [] => {
            return Err(malformed(file.len(), "the file ends in its header"));
        }
        [major, minor, ..] => {
            let what = format!("version {major}.{minor} of the format; 1.0, 2.0 and 3.0 are known");
            return Err(malformed(MAGIC.len(), what));
        }
    };
    match start.checked_add(length).filter(|end| *end <= file.len()) {
        Some(end) => Ok((start, end)),
        None => {
            Err(malformed(file.len(), format!("the file ends in its header of {length} bytes")))
        }
    }
}

/// Python 2 wrote long integers with an `L` after them. Elsewhere, no `L` follows a digit.
fn without_longs(text: &str) -> String {
    let mut before = ' ';
    let char = |char| match (std::mem::replace(&mut before, char), char) {
        ('0'..='9', 'L') => ' ',
        _ => char,
    };
    text.chars().map(char).collect()
}

struct NpyHeader {
    dtype: NpyDtype,
    fortran: bool,
    shape: Vec<usize>,
}

impl NpyHeader {
    /// Reads the header that begins at a byte of the file and ends with these bytes.
    fn read(file: &[u8], start: usize, reading: &ReadOptions) -> Result<Self> {
        let bytes = file.get(start..).or_bug();
        // Names of fields are in Latin-1 up to version 2.
        let is_old = file.get(MAGIC.len()).is_some_and(|major| *major < 3);
        let text = match (is_old, str::from_utf8(bytes)) {
            (true, _) => bytes.iter().map(|byte| char::from(*byte)).collect(),
            (false, Ok(text)) => text.to_owned(),
            (false, Err(error)) => {
                return Err(malformed(start + error.valid_up_to(), "the header is not UTF-8"));
            }
        };
        let old = || NpyHeader::parse(&without_longs(&text), reading).ok().filter(|_| is_old);
        let read = NpyHeader::parse(&text, reading).or_else(|error| old().ok_or(error));
        read.map_err(|error| match error.offset() {
            Some(at) => error.at_byte(start + at),
            None => error,
        })
    }

    /// Parses the literal of a dict with exactly the keys `descr`, `fortran_order` and `shape`.
    fn parse(text: &str, reading: &ReadOptions) -> Result<Self> {
        let mut parser = Parser::new(text);
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        let mut comma = parser.eat("{");
        if !comma {
            return Err(parser.expected("`{`").into());
        }
        while !parser.eat("}") {
            if !comma {
                return Err(parser.expected("`,` or `}`").into());
            }
            let key = parser.key(0)?;
            if !parser.eat(":") {
                return Err(parser.expected("`:`").into());
            }
            let known = match &key {
                PyKey::Str(key) if key == "descr" => {
                    descr.replace(NpyDtype::read(&mut parser, reading, 0)?).is_none()
                }
                PyKey::Str(key) if key == "fortran_order" => match parser.key(0)? {
                    PyKey::Bool(value) => fortran.replace(value).is_none(),
                    _ => return Err(parser.expected("`True` or `False` before").into()),
                },
                PyKey::Str(key) if key == "shape" => {
                    shape.replace(read_shape(parser.key(0)?)?).is_none()
                }
                _ => false,
            };
            if !known {
                let what =
                    format!("the key {} occurs twice, or is not known", quoted(&key.to_string()));
                return Err(ErrorKind::Malformed(what).into());
            }
            comma = parser.eat(",");
        }
        parser.end()?;
        let missing =
            |key| Error::from(ErrorKind::Malformed(format!("the header has no key '{key}'")));
        let dtype = descr.ok_or_else(|| missing("descr"))?;
        let fortran = fortran.ok_or_else(|| missing("fortran_order"))?;
        let shape = shape.ok_or_else(|| missing("shape"))?;
        Ok(NpyHeader { dtype, fortran, shape })
    }
}

/// Reorders elements from Fortran order to ours. Each has `size` bytes.
fn row_major(bytes: &[u8], shape: &[usize], size: usize) -> Vec<u8> {
    fn gather(from: &[u8], at: usize, dims: &[(usize, usize)], size: usize, to: &mut Vec<u8>) {
        match dims.split_first() {
            None => to.extend_from_slice(from.get(at..at + size).or_bug()),
            Some(((dim, stride), inner)) => {
                (0..*dim).for_each(|index| gather(from, at + index * stride, inner, size, to));
            }
        }
    }
    if bytes.is_empty() {
        return Vec::new();
    }
    // The first index changes fastest. Nothing overflows: the last product is the number of bytes.
    let mut stride = size;
    let mut dims = Vec::new();
    for dim in shape.iter().filter(|dim| **dim != 1) {
        dims.push((*dim, stride));
        stride *= dim;
    }
    let mut all = Vec::with_capacity(bytes.len());
    gather(bytes, 0, &dims, size, &mut all);
    all
}
