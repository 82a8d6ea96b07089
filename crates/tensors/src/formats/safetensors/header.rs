//! The header of a file: its length, and JSON with the type, the shape and the place of each
//! tensor.

use std::collections::HashSet;
use std::fmt;
use std::io::Read;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use treedef_pytrees::__private::{Json, json_offset};

use crate::descriptor::{Descriptor, NumberType};
use crate::error::{Error, ErrorKind, Result, malformed, quoted as shown};
use crate::export::METADATA;
use crate::file_bytes::FileBytes;
use crate::source::StoredTensor;

/// The maximum number of bytes of a header, for all readers of the format.
pub(crate) const MAX_HEADER: u64 = 100_000_000;
/// The bytes of the header's length, and the number that divides this length.
pub(crate) const PREFIX: usize = 8;

/// Reads the JSON of the header. `size` is the size of the file, if it is known.
pub(crate) fn read(mut reader: impl Read, size: Option<u64>) -> Result<Vec<u8>> {
    let short = |found| malformed(found, "the file ends inside its header");
    let whole = size.map(|size| usize::try_from(size).unwrap_or(usize::MAX));
    let mut prefix = Vec::new();
    reader.by_ref().take(8).read_to_end(&mut prefix)?;
    let start = prefix.first_chunk().ok_or_else(|| short(prefix.len()))?;
    let length = u64::from_le_bytes(*start);
    if length > MAX_HEADER {
        return Err(no_header(&prefix));
    }
    if size.is_some_and(|size| length > size.saturating_sub(8)) {
        return Err(short(whole.unwrap_or(PREFIX)));
    }
    let mut text = Vec::new();
    reader.take(length).read_to_end(&mut text)?;
    if u64::try_from(text.len()) == Ok(length) {
        Ok(text)
    } else {
        Err(short(PREFIX.saturating_add(text.len())))
    }
}

/// The probable format of a file whose first bytes are not the length of a header.
fn no_header(prefix: &[u8]) -> Error {
    // Such as the answer of a server instead of the file.
    let text = str::from_utf8(prefix).ok();
    let text = text.filter(|text| !text.contains(|it: char| it.is_control()));
    match (other_format(prefix), text) {
        (Some(what), _) => ErrorKind::Malformed(format!("not a safetensors file: {what}")).into(),
        (None, Some(text)) => {
            let what = format!("not a safetensors file: it begins with the text {}", shown(text));
            ErrorKind::Malformed(what).into()
        }
        (None, None) => {
            let what = format!("not a safetensors file: a header of more than {MAX_HEADER} bytes");
            ErrorKind::limit("bytes of the header", what).into()
        }
    }
}

/// The format of a file by its first bytes, and the function that reads it.
fn other_format(prefix: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], &str); 4] = [
        (
            b"PK\x03\x04",
            "it is a zip file: `pytorch::open` reads those of PyTorch with the feature `pytorch`, \
             `npz::from_bytes` those of numpy with the feature `numpy`",
        ),
        (
            b"\x80\x02\x8a",
            "it is a pickle: `pytorch::open` reads those of PyTorch with the feature `pytorch`",
        ),
        (b"GGUF", "it is a file of GGUF, which `gguf::open` reads with the feature `gguf`"),
        (
            b"\x93NUMPY",
            "it is an array of numpy, which `npy::from_bytes` reads with the feature `numpy`",
        ),
    ];
    known.iter().find(|(start, _)| prefix.starts_with(start)).map(|(_, what)| *what)
}

/// A tensor, and the range of its bytes after the header.
pub(crate) struct TensorExtent {
    pub(crate) descriptor: Descriptor,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl TensorExtent {
    /// The tensor, in a file whose data begins at a byte.
    pub(crate) fn stored<'a>(self, bytes: &FileBytes<'a>, data: u64) -> StoredTensor<'a> {
        let TensorExtent { descriptor, start, end } = self;
        // All of it is inside of the file.
        StoredTensor::within(descriptor, end - start, bytes, data.saturating_add(start))
    }
}

/// A fault in the layout of the tensors.
pub(crate) enum LayoutFault {
    /// The name of a tensor, and its fault.
    Tensor(String, String),
    /// The end of the last tensor, and the number of bytes after it.
    Rest(u64, String),
}

/// The tensors in the order of their bytes. `size` is the number of bytes. Each tensor must have
/// the bytes of its shape, and there must be no overlap, no gap and no rest. Violations are
/// reported, and these tensors left out.
pub(crate) fn extents(
    mut tensors: Vec<(String, TensorInfo)>,
    size: u64,
    mut report: impl FnMut(LayoutFault),
) -> Vec<TensorExtent> {
    tensors.sort_by_key(|(_, info)| info.data_offsets);
    let mut last = 0;
    let mut all = Vec::with_capacity(tensors.len());
    for (name, TensorInfo { dtype, shape, data_offsets: (start, end) }) in tensors {
        let expected = last;
        last = last.max(end);
        let mut wrong = |name: String, what: String| report(LayoutFault::Tensor(name, what));
        if start != expected {
            let what = if start < expected { "an overlap" } else { "a hole" };
            wrong(name, format!("the data has {what}"));
            continue;
        }
        let Some(element) = NumberType::of_safetensors(&dtype) else {
            wrong(name, format!("the dtype {} is not supported", dtype.escape_debug()));
            continue;
        };
        if end < start || end > size {
            let is_cut = start <= end;
            let what = if is_cut {
                "cut off by the end of the file"
            } else {
                "an end before its beginning"
            };
            wrong(name, what.to_owned());
            continue;
        }
        let descriptor = Descriptor::of(name, element, shape);
        if descriptor.num_bytes() != Some(end - start) {
            let what = format!("{} bytes cannot be {descriptor}", end - start);
            wrong(descriptor.name().to_owned(), what);
            continue;
        }
        all.push(TensorExtent { descriptor, start, end });
    }
    if last < size {
        report(LayoutFault::Rest(last, format!("{} bytes behind the last tensor", size - last)));
    }
    debug_assert!(all.is_sorted_by(|a, b| a.end <= b.start), "two tensors overlap");
    all
}

/// The header with its length, up to the data, in which the tensors are in this order.
pub(crate) fn write(descriptors: &[&Descriptor], metadata: &[(String, String)]) -> Result<Vec<u8>> {
    let mut entries = Vec::with_capacity(descriptors.len().saturating_add(1));
    if !metadata.is_empty() {
        let texts = metadata.iter();
        let texts: Vec<String> =
            texts.map(|(key, text)| format!("{}:{}", quoted(key), quoted(text))).collect();
        entries.push(format!("{}:{{{}}}", quoted(METADATA), texts.join(",")));
    }
    let mut end = 0_u64;
    for descriptor in descriptors {
        let (name, shape) = (descriptor.name(), descriptor.shape());
        if name == METADATA {
            return Err(ErrorKind::Reserved(name.to_owned()).into());
        }
        let dtype =
            descriptor.number_type().and_then(NumberType::in_safetensors).ok_or_else(|| {
                let what =
                    format!("safetensors has no {}, which `{name}` has", descriptor.type_name());
                Error::from(ErrorKind::Malformed(what))
            })?;
        let begin = end;
        let size = descriptor.num_bytes().and_then(|size| end.checked_add(size));
        end = size.ok_or_else(|| {
            ErrorKind::limit("bytes", format!("`{name}`, {descriptor}, has no number of bytes"))
        })?;
        entries.push(format!(
            r#"{}:{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{begin},{end}]}}"#,
            quoted(name)
        ));
    }
    let mut json = format!("{{{}}}", entries.join(","));
    let padding = json.len().next_multiple_of(PREFIX) - json.len();
    json.extend(std::iter::repeat_n(' ', padding));
    let length = u64::try_from(json.len()).unwrap_or(u64::MAX);
    if length > MAX_HEADER {
        let what = format!("the header has {} bytes, the limit is {MAX_HEADER}", json.len());
        return Err(ErrorKind::limit("bytes of the header", what).into());
    }
    Ok([&length.to_le_bytes()[..], json.as_bytes()].concat())
}

pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The content of a header.
pub(crate) struct SafetensorsHeader {
    pub(crate) tensors: Vec<(String, TensorInfo)>,
    pub(crate) metadata: Vec<(String, String)>,
}

impl SafetensorsHeader {
    /// Parses the JSON. An error has the position in the file.
    pub(crate) fn parse(header: &[u8]) -> Result<Self> {
        if header.first() != Some(&b'{') {
            return Err(malformed(PREFIX, "the header does not begin with `{`"));
        }
        let text = str::from_utf8(header)
            .map_err(|error| malformed(PREFIX + error.valid_up_to(), "the header is not UTF-8"))?;
        serde_json::from_str(text)
            .map_err(|error| malformed(PREFIX + json_offset(text, &error), error.to_string()))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TensorInfo {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (u64, u64),
}

impl<'de> Deserialize<'de> for SafetensorsHeader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(SafetensorsHeaderVisitor)
    }
}

struct SafetensorsHeaderVisitor;

impl<'de> Visitor<'de> for SafetensorsHeaderVisitor {
    type Value = SafetensorsHeader;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SafetensorsHeader, A::Error> {
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
        Ok(SafetensorsHeader { tensors, metadata: metadata.unwrap_or_default() })
    }
}

/// The metadata, an object of strings.
fn texts(json: Json) -> Result<Vec<(String, String)>, &'static str> {
    const REFUSED: &str = "the metadata is not an object of strings";
    let entries = match json {
        Json::Object(entries) => entries,
        Json::Null => return Ok(Vec::new()), // safetensors reads it as none
        _ => return Err(REFUSED),
    };
    let texts = entries.into_iter().map(|(key, value)| match value {
        Json::Str(text) => Ok((key, text)),
        _ => Err(REFUSED),
    });
    texts.collect()
}
