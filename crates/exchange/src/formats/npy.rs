//! numpy's files of one array: `.npy`.
//!
//! ```
//! use treedef_exchange::{Dtype, Tensor, npy};
//!
//! let numbers = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
//! let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
//! let tensor = Tensor::new(Dtype::F32, vec![2, 3], bytes)?;
//!
//! let file = npy::to_bytes(&tensor)?; // what `numpy.save` writes
//! let header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
//! assert_eq!(file[10..10 + header.len()], *header);
//! assert_eq!(npy::from_bytes(&file)?, tensor);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, ErrorKind, Result, malformed, quoted};
use crate::file;
use crate::formats::python::Parser;
use crate::pytree::PyKey;
use crate::shape::MAX_DIMS;
use crate::tensor::{Dtype, Tensor, Tensors};

const MAGIC: &[u8] = b"\x93NUMPY";

/// The digits to which the first dimension can grow without a new header: numpy leaves room.
const GROWTH_DIGITS: usize = 21;

/// What numpy calls the types: in the header of a file, and by name.
pub(crate) const TYPES: [(Dtype, &str, &str); 15] = [
    (Dtype::Bool, "b1", "bool"),
    (Dtype::U8, "u1", "uint8"),
    (Dtype::I8, "i1", "int8"),
    (Dtype::U16, "u2", "uint16"),
    (Dtype::I16, "i2", "int16"),
    (Dtype::U32, "u4", "uint32"),
    (Dtype::I32, "i4", "int32"),
    (Dtype::U64, "u8", "uint64"),
    (Dtype::I64, "i8", "int64"),
    (Dtype::F16, "f2", "float16"),
    (Dtype::Bf16, "V2", "bfloat16"), // two bytes of any kind, named by `ml_dtypes`
    (Dtype::F32, "f4", "float32"),
    (Dtype::F64, "f8", "float64"),
    (Dtype::C64, "c8", "complex64"),
    (Dtype::C128, "c16", "complex128"),
];

/// How `.npy` and `.npz` files are read.
#[derive(Clone, Debug)]
pub struct Reading {
    bf16: bool,
    pub(crate) max_bytes: usize,
}

impl Default for Reading {
    fn default() -> Self {
        Reading { bf16: false, max_bytes: 1 << 30 }
    }
}

impl Reading {
    /// `V2` is refused, and an `.npz` file has at most 2³⁰ bytes of compressed members.
    pub fn new() -> Self {
        Reading::default()
    }

    /// Reads elements of the type `V2`, two bytes of any kind, as [`Dtype::Bf16`].
    ///
    /// numpy has no such type of its own. Arrays of `ml_dtypes.bfloat16`, which JAX uses, become
    /// `V2` when numpy writes them, and when [`to_bytes`] does.
    pub fn bf16(self, bf16: bool) -> Self {
        Reading { bf16, ..self }
    }

    /// Sets how many bytes the compressed members of an `.npz` file may have when they are unpacked,
    /// all together. Members that are not compressed are only borrowed, and do not count.
    pub fn max_bytes(self, max_bytes: usize) -> Self {
        Reading { max_bytes, ..self }
    }
}

/// The file that numpy writes for the array, byte for byte.
///
/// bf16 is written as numpy writes `ml_dtypes.bfloat16`, as `<V2`. In Python the array is
/// `numpy.load(file).view(ml_dtypes.bfloat16)`, here see [`Reading::bf16`].
///
/// # Errors
///
/// Returns an error when the array has more than 64 dimensions, which numpy cannot have.
pub fn to_bytes(tensor: &Tensor<'_>) -> Result<Vec<u8>> {
    let mut file = header(tensor)?;
    file.extend_from_slice(tensor.bytes());
    Ok(file)
}

/// Writes a file with the array, as [`to_bytes`] makes it. The old contents stay until the new ones
/// are on the disk.
///
/// # Errors
///
/// As [`to_bytes`], and those of the operating system; the old file is then unchanged, unless only
/// flushing the folder failed.
///
/// ```
/// use treedef_exchange::{Dtype, Tensor, npy};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("steps.npy");
/// npy::save(&Tensor::new(Dtype::U8, vec![2, 1], vec![3, 4])?, &path)?;
/// assert_eq!(npy::load::<Vec<[u8; 1]>>(&std::fs::read(&path)?)?, [[3], [4]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save(tensor: &Tensor<'_>, path: impl AsRef<Path>) -> Result<()> {
    let header = header(tensor)?;
    file::save(path.as_ref(), |file| {
        file.write_all(&header)?;
        Ok(file.write_all(tensor.bytes())?)
    })
}

/// Reads a value from the bytes of a file: a number, or vectors and arrays of its shape.
///
/// # Errors
///
/// As [`from_bytes`] and [`Loader::load`](crate::Loader::load).
pub fn load<T: Serialize + DeserializeOwned>(file: &[u8]) -> Result<T> {
    Tensors::new([(String::new(), from_bytes(file)?)])?.load()
}

/// The array of a file of numpy, in the versions 1, 2 and 3 of its format.
///
/// The elements are borrowed, unless they are big endian or in Fortran's order. Those are brought
/// into ours. Elements whose type names no order (`=f8`, `|f4`) are in that of this machine, as for
/// numpy.
///
/// # Errors
///
/// Returns an error when the file is not of the format, with the byte, or has more or fewer
/// elements than its shape; when its elements are not numbers of a [`Dtype`]: strings, records,
/// Python's objects (which are pickled and could run anything), or `V2` (see [`Reading::bf16`]).
pub fn from_bytes(file: &[u8]) -> Result<Tensor<'_>> {
    from_bytes_with(file, &Reading::new())
}

/// As [`from_bytes`], with a choice of what is read.
///
/// # Errors
///
/// As [`from_bytes`].
///
/// ```
/// use treedef_exchange::npy::{self, Reading};
/// use treedef_exchange::{Dtype, Tensor};
///
/// let tensor = Tensor::new(Dtype::Bf16, vec![1], vec![0x80, 0x3f])?;
/// let file = npy::to_bytes(&tensor)?;
/// let error = npy::from_bytes(&file).unwrap_err();
/// assert!(error.to_string().contains("see `npy::Reading::bf16`"));
/// assert_eq!(npy::from_bytes_with(&file, &Reading::new().bf16(true))?, tensor);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn from_bytes_with<'a>(file: &'a [u8], reading: &Reading) -> Result<Tensor<'a>> {
    read(Cow::Borrowed(file), reading)
}

/// What stands before the elements.
pub(crate) fn header(tensor: &Tensor<'_>) -> Result<Vec<u8>> {
    let shape = tensor.shape();
    if shape.len() > MAX_DIMS {
        let what = format!("numpy has at most {MAX_DIMS} dimensions, not {}", shape.len());
        return Err(ErrorKind::limit("dimensions", what).into());
    }
    let code =
        TYPES.iter().find(|(dtype, ..)| *dtype == tensor.dtype()).map_or("", |(_, code, _)| code);
    let order = if tensor.dtype().size() == 1 { '|' } else { '<' };
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let growth = sizes.first().map_or(0, |size| GROWTH_DIGITS - size.len()); // at most 20 digits
    let sizes = sizes.join(", ");
    let mut text = format!(
        "{{'descr': '{order}{code}', 'fortran_order': False, 'shape': ({sizes}{comma}), }}"
    );
    text.push_str(&" ".repeat(growth));
    // The elements begin at a multiple of 64.
    let before = MAGIC.len() + 4;
    text.push_str(&" ".repeat(64 - (before + text.len() + 1) % 64));
    text.push('\n');
    let length = u16::try_from(text.len())
        .map_err(|error| ErrorKind::limit("bytes of the header", error.to_string()))?;
    Ok([MAGIC, &[1, 0], &length.to_le_bytes(), text.as_bytes()].concat())
}

pub(crate) fn read<'a>(file: Cow<'a, [u8]>, reading: &Reading) -> Result<Tensor<'a>> {
    let (start, end) = header_range(&file)?;
    // It is ASCII, apart from names of fields, which are refused in any encoding.
    let text = String::from_utf8_lossy(file.get(start..end).unwrap_or_default());
    let header =
        Header::read(&without_longs(&text), reading).map_err(|error| match error.offset() {
            Some(at) => error.at_byte(start + at),
            None => error,
        })?;
    let elements = match file {
        Cow::Borrowed(file) => Cow::Borrowed(file.get(end..).unwrap_or_default()),
        Cow::Owned(mut file) => {
            file.drain(..end);
            Cow::Owned(file)
        }
    };
    let Header { dtype, big_endian, fortran, shape } = header;
    let mut tensor = Tensor::new(dtype, shape.clone(), elements)?;
    if fortran && shape.iter().filter(|dim| **dim != 1).count() > 1 {
        tensor = Tensor::new(dtype, shape, row_major(&tensor))?;
    }
    if big_endian && dtype.size() > 1 {
        let part =
            if matches!(dtype, Dtype::C64 | Dtype::C128) { dtype.size() / 2 } else { dtype.size() };
        let shape = tensor.shape().to_vec();
        let mut bytes = tensor.into_bytes();
        bytes.chunks_exact_mut(part).for_each(<[u8]>::reverse);
        tensor = Tensor::new(dtype, shape, bytes)?;
    }
    Ok(tensor)
}

/// Where the text of the header starts and ends.
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

/// Python 2 wrote long integers with an `L` behind them, which stands nowhere else behind a digit.
fn without_longs(text: &str) -> String {
    let mut before = ' ';
    let char = |char| match (std::mem::replace(&mut before, char), char) {
        ('0'..='9', 'L') => ' ',
        _ => char,
    };
    text.chars().map(char).collect()
}

struct Header {
    dtype: Dtype,
    big_endian: bool,
    fortran: bool,
    shape: Vec<usize>,
}

impl Header {
    /// Reads the literal of a dict with exactly the keys `descr`, `fortran_order` and `shape`.
    fn read(text: &str, reading: &Reading) -> Result<Self> {
        let mut parser = Parser::new(text);
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        let mut comma = parser.eat("{");
        if !comma {
            return Err(parser.expected("`{`"));
        }
        while !parser.eat("}") {
            if !comma {
                return Err(parser.expected("`,` or `}`"));
            }
            let key = parser.key(0)?;
            if !parser.eat(":") {
                return Err(parser.expected("`:`"));
            }
            let known = match &key {
                PyKey::Str(key) if key == "descr" => {
                    descr.replace(read_descr(&mut parser, reading)?).is_none()
                }
                PyKey::Str(key) if key == "fortran_order" => match parser.key(0)? {
                    PyKey::Bool(value) => fortran.replace(value).is_none(),
                    _ => return Err(parser.expected("`True` or `False` before")),
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
        let (dtype, big_endian) = descr.ok_or_else(|| missing("descr"))?;
        let fortran = fortran.ok_or_else(|| missing("fortran_order"))?;
        let shape = shape.ok_or_else(|| missing("shape"))?;
        Ok(Header { dtype, big_endian, fortran, shape })
    }
}

/// The type of the elements, and whether they are big endian.
fn read_descr(parser: &mut Parser<'_>, reading: &Reading) -> Result<(Dtype, bool)> {
    if parser.eat("[") {
        let what = "the elements are records: save an array for each field";
        return Err(ErrorKind::Unsupported(what.to_owned()).into());
    }
    let descr = match parser.key(0)? {
        PyKey::Str(descr) => descr,
        other => {
            return Err(ErrorKind::Malformed(format!(
                "{} is not a type of elements",
                quoted(&other.to_string())
            ))
            .into());
        }
    };
    let shown = quoted(&descr);
    let code = descr.trim_start_matches(['<', '>', '|', '=']);
    let big_endian = match descr.strip_suffix(code).unwrap_or_default() {
        "<" => Some(false),
        ">" => Some(true),
        "" | "=" | "|" => Some(cfg!(target_endian = "big")),
        _ => None,
    };
    let code = if code == "?" { "b1" } else { code };
    let found = TYPES.iter().find(|(_, other, _)| *other == code).map(|(dtype, ..)| *dtype);
    match (big_endian, found) {
        (Some(false), Some(Dtype::Bf16)) if reading.bf16 => Ok((Dtype::Bf16, false)),
        (_, Some(Dtype::Bf16)) => Err(ErrorKind::Unsupported(format!(
            "{shown} is two bytes of any kind: if they are bfloat16, see `npy::Reading::bf16`"
        ))
        .into()),
        (Some(big_endian), Some(dtype)) => Ok((dtype, big_endian)),
        _ if code.starts_with('O') => Err(ErrorKind::Unsupported(format!(
            "{shown} are objects, which are pickled: save numbers, as by `array.astype(float)`"
        ))
        .into()),
        _ => Err(ErrorKind::Unsupported(format!(
            "{shown} is not read, only bool, integers, floats up to `f8` and complex numbers"
        ))
        .into()),
    }
}

fn read_shape(key: PyKey) -> Result<Vec<usize>> {
    let wrong = |what: String| Error::from(ErrorKind::Malformed(what));
    let PyKey::Tuple(dims) = &key else {
        return Err(wrong(format!("the shape {} is not a tuple", quoted(&key.to_string()))));
    };
    if dims.len() > MAX_DIMS {
        return Err(wrong(format!("{} dimensions; numpy has at most {MAX_DIMS}", dims.len())));
    }
    let dim = |dim: &PyKey| match dim {
        PyKey::Int(dim) => usize::try_from(*dim).ok(),
        _ => None,
    };
    dims.iter()
        .map(|size| {
            dim(size).ok_or_else(|| {
                wrong(format!("{} is not the size of a dimension", quoted(&size.to_string())))
            })
        })
        .collect()
}

/// The elements of an array in Fortran's order, in ours.
fn row_major(tensor: &Tensor<'_>) -> Vec<u8> {
    fn gather(from: &[u8], at: usize, dims: &[(usize, usize)], size: usize, to: &mut Vec<u8>) {
        match dims.split_first() {
            None => to.extend_from_slice(from.get(at..at + size).unwrap_or_default()),
            Some(((dim, stride), inner)) => {
                (0..*dim).for_each(|index| gather(from, at + index * stride, inner, size, to));
            }
        }
    }
    if tensor.is_empty() {
        return Vec::new();
    }
    // The first index changes fastest. Nothing overflows: the last product is the number of bytes.
    let size = tensor.dtype().size();
    let mut stride = size;
    let mut dims = Vec::new();
    for dim in tensor.shape().iter().filter(|dim| **dim != 1) {
        dims.push((*dim, stride));
        stride *= dim;
    }
    let mut bytes = Vec::with_capacity(tensor.bytes().len());
    gather(tensor.bytes(), 0, &dims, size, &mut bytes);
    bytes
}
