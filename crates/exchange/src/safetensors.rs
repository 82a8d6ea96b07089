//! `safetensors` files: a header in JSON, and the numbers behind it.
//!
//! ```
//! use treedef::Tree;
//! use treedef_exchange::{Tensors, safetensors};
//!
//! let tree = Tree::<f32>::of_as(&vec![([0.5f32, 1.5], 2.5f32)])?;
//! let bytes = safetensors::to_bytes(&Tensors::of(&tree)?.with_metadata("format", "pt"))?;
//!
//! let tensors = safetensors::from_bytes(&bytes)?;
//! assert_eq!(tensors.get("0.0").unwrap().shape(), [2]);
//! assert_eq!(safetensors::to_tree(&bytes)?, Tree::of(&vec![([0.5f32, 1.5], 2.5f32)])?);
//! // The tensors stand in the order of the tree, so the data of a tree of numbers is its leaves.
//! assert!(bytes.ends_with(&[0.5f32, 1.5, 2.5].map(f32::to_le_bytes).concat()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::HashSet;
use std::fmt;
use std::io::Write;
use std::path::Path;

use serde::de::{DeserializeOwned, Deserializer, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use treedef::{Leaf, Tree};

use crate::error::{Error, ErrorKind, Result, malformed};
use crate::export::{Export, METADATA};
use crate::file;
use crate::json::{Json, offset};
use crate::tensor::{Dtype, Tensor, Tensors, display, size_in_bytes};

/// The most bytes of a header, for all readers of the format.
const MAX_HEADER: usize = 100_000_000;
/// The bytes of its length, and what its length is a multiple of.
const PREFIX: usize = 8;

/// The names of the types that both sides have.
const DTYPES: [(&str, Dtype); 14] = [
    ("BOOL", Dtype::Bool),
    ("U8", Dtype::U8),
    ("I8", Dtype::I8),
    ("U16", Dtype::U16),
    ("I16", Dtype::I16),
    ("U32", Dtype::U32),
    ("I32", Dtype::I32),
    ("U64", Dtype::U64),
    ("I64", Dtype::I64),
    ("F16", Dtype::F16),
    ("BF16", Dtype::Bf16),
    ("F32", Dtype::F32),
    ("F64", Dtype::F64),
    ("C64", Dtype::C64),
];

/// Reads the bytes of a file. The tensors borrow them, and are in the order of their data.
///
/// # Errors
///
/// Returns an error when the header is not JSON of the format, a name occurs twice, the data has a
/// hole, an overlap or a rest, a shape does not fit, or a tensor has a type that [`Dtype`] does not
/// have.
pub fn from_bytes(bytes: &[u8]) -> Result<Tensors<'_>> {
    let short = || malformed(bytes.len(), "the file ends inside its header");
    let (prefix, rest) = bytes.split_first_chunk::<PREFIX>().ok_or_else(short)?;
    let length = u64::from_le_bytes(*prefix);
    let length = usize::try_from(length).ok().filter(|length| *length <= MAX_HEADER);
    let length = length.ok_or_else(|| {
        let what = format!("the header is longer than {MAX_HEADER} bytes");
        Error::from(ErrorKind::Limit(what)).at_byte(0)
    })?;
    let (header, data) = rest.split_at_checked(length).ok_or_else(short)?;
    if header.first() != Some(&b'{') {
        return Err(malformed(PREFIX, "the header does not begin with `{`"));
    }
    let text = str::from_utf8(header)
        .map_err(|error| malformed(PREFIX + error.valid_up_to(), "the header is not UTF-8"))?;
    let Header { mut tensors, metadata } = serde_json::from_str(text)
        .map_err(|error| malformed(PREFIX + offset(text, &error), error.to_string()))?;

    tensors.sort_by_key(|(_, info)| info.data_offsets);
    let mut end = 0;
    let tensors = tensors.into_iter().map(|(name, info)| {
        let (begin, start) = (info.data_offsets.0, end);
        end = info.data_offsets.1;
        let wrong = |what: String| malformed(PREFIX, format!("{what} at the tensor `{name}`"));
        if begin != start {
            let what = if begin < start { "an overlap" } else { "a hole" };
            return Err(wrong(format!("the data has {what}")));
        }
        let dtype = DTYPES.iter().find(|(name, _)| *name == info.dtype);
        let (_, dtype) =
            dtype.ok_or_else(|| wrong(format!("the dtype {} is not supported", info.dtype)))?;
        let part =
            data.get(begin..end).ok_or_else(|| wrong("no such bytes are there".to_owned()))?;
        if size_in_bytes(*dtype, &info.shape) != Some(part.len()) {
            let shape = display(*dtype, &info.shape);
            return Err(wrong(format!("{} bytes cannot be {shape}", part.len())));
        }
        let tensor = Tensor::new(*dtype, info.shape, part)?;
        Ok((name, tensor))
    });
    let tensors: Vec<_> = tensors.collect::<Result<_>>()?;
    if end != data.len() {
        let what = format!("{} bytes behind the last tensor", data.len() - end);
        return Err(malformed(PREFIX + length + end, what));
    }
    Ok(Tensors { tensors, metadata })
}

/// Reads the tree that [`Tensors::of`] made into these bytes, by the structure in the metadata.
///
/// # Errors
///
/// As [`from_bytes`] and [`Export::tree`].
pub fn to_tree(bytes: &[u8]) -> Result<Tree<Leaf>> {
    Export::new().tree(&from_bytes(bytes)?)
}

/// Reads a value from the bytes of a file by the names of its tensors, whoever wrote it. A
/// [`Loader`](crate::Loader) has rules for other names.
///
/// # Errors
///
/// As [`from_bytes`] and [`Loader::load`](crate::Loader::load).
///
/// ```
/// use treedef::Tree;
/// use treedef_exchange::{Tensors, safetensors};
///
/// let bytes = safetensors::to_bytes(&Tensors::of(&Tree::of(&vec![([1.5f32; 2], 7u8)])?)?)?;
/// assert_eq!(safetensors::load::<Vec<([f32; 2], u8)>>(&bytes)?, [([1.5, 1.5], 7)]);
///
/// let error = safetensors::load::<Vec<([f32; 3], u8)>>(&bytes).unwrap_err();
/// let expected = "the tensors do not fit the type\n`0.0` is f32[2], expected f32[3]";
/// assert_eq!(error.to_string(), expected);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    from_bytes(bytes)?.load()
}

/// The bytes of a file with these tensors, in their order.
///
/// # Errors
///
/// Returns an error when a name is `__metadata__`, a tensor is of complex numbers of 128 bits, or
/// the header would be longer than readers accept.
pub fn to_bytes(tensors: &Tensors<'_>) -> Result<Vec<u8>> {
    let mut bytes = header(tensors)?;
    let size = tensors.iter().map(|(_, tensor)| tensor.bytes().len());
    bytes.reserve_exact(size.sum());
    write_data(tensors, &mut bytes)?;
    Ok(bytes)
}

/// Writes a file with these tensors, one after the other. The numbers are not copied.
///
/// # Errors
///
/// As [`to_bytes`], and those of the writer.
///
/// ```
/// use treedef::Tree;
/// use treedef_exchange::{Tensors, safetensors};
///
/// let tree = Tree::of(&[1u8, 2])?;
/// let tensors = Tensors::of(&tree)?;
/// let mut file = Vec::new();
/// safetensors::write(&tensors, &mut file)?;
/// assert_eq!(file, safetensors::to_bytes(&tensors)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(tensors: &Tensors<'_>, mut writer: impl Write) -> Result<()> {
    writer.write_all(&header(tensors)?)?;
    write_data(tensors, &mut writer)?;
    Ok(writer.flush()?)
}

/// Writes a file with these tensors. The old contents stay until the new ones are on the disk.
///
/// # Errors
///
/// As [`to_bytes`], and those of the operating system; the old file is then unchanged, unless only
/// flushing the folder failed.
///
/// ```
/// use treedef::Tree;
/// use treedef_exchange::{Tensors, safetensors};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model.safetensors");
/// let tree = Tree::of(&vec![[1.5f32]; 2])?;
/// safetensors::save(&Tensors::of(&tree)?, &path)?;
/// assert_eq!(safetensors::to_tree(&std::fs::read(&path)?)?, tree);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save(tensors: &Tensors<'_>, path: impl AsRef<Path>) -> Result<()> {
    let header = header(tensors)?;
    file::save(path.as_ref(), |file| {
        file.write_all(&header)?;
        write_data(tensors, file)
    })
}

fn write_data(tensors: &Tensors<'_>, writer: &mut impl Write) -> Result<()> {
    for (_, tensor) in tensors.iter() {
        writer.write_all(tensor.bytes())?;
    }
    Ok(())
}

/// The header with its length, up to the data.
fn header(tensors: &Tensors<'_>) -> Result<Vec<u8>> {
    let mut entries = Vec::new();
    if !tensors.metadata.is_empty() {
        let texts = tensors.metadata.iter();
        let texts: Vec<String> =
            texts.map(|(key, text)| format!("{}:{}", quoted(key), quoted(text))).collect();
        entries.push(format!("{}:{{{}}}", quoted(METADATA), texts.join(",")));
    }
    let mut end = 0;
    for (name, tensor) in tensors.iter() {
        if name == METADATA {
            return Err(ErrorKind::Reserved(name.to_owned()).into());
        }
        let dtype = DTYPES.iter().find(|(_, dtype)| *dtype == tensor.dtype());
        let (dtype, _) = dtype.ok_or_else(|| {
            let what = format!("safetensors has no {}, which `{name}` has", tensor.dtype());
            Error::from(ErrorKind::Malformed(what))
        })?;
        let (begin, shape) = (end, tensor.shape());
        end += tensor.bytes().len(); // all of them are in memory
        entries.push(format!(
            r#"{}:{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{begin},{end}]}}"#,
            quoted(name)
        ));
    }
    let mut json = format!("{{{}}}", entries.join(","));
    let padding = json.len().next_multiple_of(PREFIX) - json.len();
    json.extend(std::iter::repeat_n(' ', padding));
    if json.len() > MAX_HEADER {
        let what = format!("the header has {} bytes, the limit is {MAX_HEADER}", json.len());
        return Err(ErrorKind::Limit(what).into());
    }
    let length = u64::try_from(json.len()).unwrap_or(u64::MAX); // below the limit
    Ok([&length.to_le_bytes()[..], json.as_bytes()].concat())
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

struct Header {
    tensors: Vec<(String, Info)>,
    metadata: Vec<(String, String)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Info {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(HeaderVisitor)
    }
}

struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = Header;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
        let (mut tensors, mut metadata, mut seen) = (Vec::new(), None, HashSet::new());
        while let Some(name) = map.next_key::<String>()? {
            if name == METADATA && metadata.is_none() {
                metadata = Some(texts(map.next_value()?).map_err(A::Error::custom)?);
            } else if name == METADATA || !seen.insert(name.clone()) {
                return Err(A::Error::custom(format_args!("the name {name:?} occurs twice")));
            } else {
                tensors.push((name, map.next_value()?));
            }
        }
        Ok(Header { tensors, metadata: metadata.unwrap_or_default() })
    }
}

/// The metadata, which is an object of strings.
fn texts(json: Json) -> Result<Vec<(String, String)>, &'static str> {
    const REFUSED: &str = "the metadata is not an object of strings";
    let Json::Object(entries) = json else { return Err(REFUSED) };
    let texts = entries.into_iter().map(|(key, value)| match value {
        Json::Str(text) => Ok((key, text)),
        _ => Err(REFUSED),
    });
    texts.collect()
}
