//! The header of a safetensors file: a length, and JSON with the type and the shape of each tensor.

use std::collections::BTreeMap;
use std::io::{self, Read};

use serde::Deserialize;
use treedef::Tree;

use crate::failure::{Failure, Result};
use crate::json::json_failure;
use crate::names::Names;
use crate::tensors::TensorLeaf;

/// The longest header that safetensors allows.
const LONGEST: u64 = 100_000_000;

#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

#[derive(Deserialize)]
struct Header {
    #[serde(rename = "__metadata__", default)]
    metadata: BTreeMap<String, String>,
    #[serde(flatten)]
    tensors: BTreeMap<String, Entry>,
}

/// What the header says.
pub(crate) struct Contents {
    pub(crate) metadata: BTreeMap<String, String>,
    /// Each with its name, and where its bytes begin among those of all.
    pub(crate) tensors: Vec<(String, TensorLeaf, u64)>,
    /// Where they begin in the file.
    pub(crate) start: u64,
}

/// Reads the header, and no tensor.
pub(crate) fn read(reader: &mut dyn Read, size: Option<u64>) -> Result<Tree<TensorLeaf>> {
    let tensors = header(reader, size)?.tensors.into_iter();
    Names::of(tensors.map(|(name, leaf, _)| (name, leaf))).into_tree()
}

/// Reads the header. `size` is that of the file.
pub(crate) fn header(reader: &mut dyn Read, size: Option<u64>) -> Result<Contents> {
    let cut_off = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => Failure::new("cut off in the header, get the file again"),
        _ => Failure::from(error),
    };
    let mut length = [0; 8];
    reader.read_exact(&mut length).map_err(cut_off)?;
    let length = u64::from_le_bytes(length);
    if length > LONGEST {
        return Err(Failure::new(format!("not safetensors: a header of {length} bytes")));
    }
    let mut header = Vec::new();
    reader.take(length).read_to_end(&mut header).map_err(cut_off)?;
    if u64::try_from(header.len()).is_ok_and(|found| found < length) {
        return Err(cut_off(io::ErrorKind::UnexpectedEof.into()));
    }
    let Header { tensors, metadata } = serde_json::from_slice(&header).map_err(json_failure)?;
    let end = tensors.values().map(|tensor| tensor.data_offsets.1).max().unwrap_or(0);
    let expected = end.saturating_add(length).saturating_add(8);
    if let Some(size) = size.filter(|size| *size < expected) {
        let message = format!("cut off: {size} of {expected} bytes, get the file again");
        return Err(Failure::new(message));
    }
    let named = tensors.into_iter().map(|(name, Entry { dtype, shape, data_offsets })| {
        let size = data_offsets.1.saturating_sub(data_offsets.0);
        (name, TensorLeaf { dtype: dtype.to_lowercase(), shape, size }, data_offsets.0)
    });
    let (tensors, start) = (named.collect(), length.saturating_add(8));
    Ok(Contents { metadata, tensors, start })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    /// The header of a file with such entries.
    fn header(json: &str) -> Vec<u8> {
        let length = u64::try_from(json.len()).unwrap();
        [&length.to_le_bytes()[..], json.as_bytes()].concat()
    }

    #[test]
    fn names_of_tensors_are_paths() {
        let json = r#"{"__metadata__": {"format": "pt"},
            "layers.0.w": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 0]},
            "layers.1.w": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 0]},
            "layers.10.b": {"dtype": "F32", "shape": [], "data_offsets": [0, 0]},
            "a": {"dtype": "F8_E4M3", "shape": [3], "data_offsets": [0, 0]},
            "a.b": {"dtype": "F32", "shape": [4], "data_offsets": [0, 0]}}"#;
        let bytes = header(json);
        let tree = read(&mut bytes.as_slice(), None).unwrap();
        assert_eq!(
            tree.to_string(),
            r#"{"a": f8_e4m3[3], "a.b": f32[4], "layers": {"0": {"w": bf16[2, 2]}, "1": {"w": bf16[2, 2]}, "10": {"b": f32[]}}}"#
        );
        let cut = read(&mut &bytes[..20], None).unwrap_err();
        assert_eq!(cut.to_string(), "cut off in the header, get the file again");
    }
}
