//! The header of a safetensors file: a length, and JSON with the type and the shape of each tensor.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};

use serde::Deserialize;
use treedef::{Tree, TreeDef, Value};

use crate::failure::{Failure, Result};
use crate::input::json_failure;

/// The longest header that safetensors allows.
const LONGEST: u64 = 100_000_000;

/// The type and the shape of a tensor: `bf16[4096, 4096]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorLeaf {
    dtype: String,
    shape: Vec<u64>,
    /// The number of bytes.
    pub(crate) size: u64,
}

impl TensorLeaf {
    /// The number of elements.
    pub(crate) fn count(&self) -> u64 {
        self.shape.iter().fold(1, |product, size| product.saturating_mul(*size))
    }
}

impl fmt::Display for TensorLeaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        write!(f, "{}[{}]", self.dtype, sizes.join(", "))
    }
}

#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

#[derive(Deserialize)]
struct Header {
    #[serde(rename = "__metadata__", default)]
    _metadata: serde::de::IgnoredAny,
    #[serde(flatten)]
    tensors: BTreeMap<String, Entry>,
}

/// Reads the header, and no tensor. Names are split at their dots, and numbers are indices.
pub(crate) fn read(reader: &mut dyn Read, size: Option<u64>) -> Result<Tree<TensorLeaf>> {
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
    let Header { tensors, .. } = serde_json::from_slice(&header).map_err(json_failure)?;
    let end = tensors.values().map(|tensor| tensor.data_offsets.1).max().unwrap_or(0);
    let expected = end.saturating_add(length).saturating_add(8);
    if let Some(size) = size.filter(|size| *size < expected) {
        let message = format!("cut off: {size} of {expected} bytes, get the file again");
        return Err(Failure::new(message));
    }
    let mut root = Names::Inner(BTreeMap::new());
    for (name, Entry { dtype, shape, data_offsets: (start, end) }) in tensors {
        let size = end.saturating_sub(start);
        root.insert(&name, DEEPEST, TensorLeaf { dtype: dtype.to_lowercase(), shape, size });
    }
    let mut leaves = Vec::new();
    let treedef = root.into_treedef(&mut leaves)?;
    Ok(Tree::new(treedef, leaves)?)
}

enum Names {
    Leaf(TensorLeaf),
    Inner(BTreeMap<Part, Names>),
}

/// A part of a name. Numbers come in their order.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Number(usize),
    Name(String),
}

impl Part {
    fn of(text: &str) -> Self {
        let number = text.parse::<usize>().ok().filter(|number| number.to_string() == text);
        number.map_or_else(|| Part::Name(text.to_owned()), Part::Number)
    }
}

/// The most parts of a name that are levels of the tree.
const DEEPEST: usize = 32;

impl Names {
    /// A name that is also the beginning of another keeps its dots.
    fn insert(&mut self, name: &str, levels: usize, tensor: TensorLeaf) {
        let Names::Inner(inner) = self else { return };
        if let Some((part, rest)) = name.split_once('.').filter(|_| levels > 0) {
            let next = inner.entry(Part::of(part)).or_insert_with(|| Names::Inner(BTreeMap::new()));
            if matches!(next, Names::Inner(_)) {
                return next.insert(rest, levels - 1, tensor);
            }
        }
        let part = Part::of(name);
        let part = if inner.contains_key(&part) { Part::Name(format!("{name}.")) } else { part };
        inner.insert(part, Names::Leaf(tensor));
    }

    /// The structure, with the leaves in its order.
    fn into_treedef(self, leaves: &mut Vec<TensorLeaf>) -> Result<TreeDef> {
        let inner = match self {
            Names::Leaf(tensor) => {
                leaves.push(tensor);
                return Ok(TreeDef::leaf());
            }
            Names::Inner(inner) => inner,
        };
        let is_seq = !inner.is_empty()
            && inner.keys().enumerate().all(|(index, part)| *part == Part::Number(index));
        // A map sorts its keys as texts, and the leaves have to come in that order.
        let mut children: Vec<(Part, Names)> = inner.into_iter().collect();
        let key = |part: &Part| match part {
            Part::Number(number) => number.to_string(),
            Part::Name(name) => name.clone(),
        };
        if is_seq {
            let all = children.into_iter().map(|(_, child)| child.into_treedef(leaves));
            return Ok(TreeDef::seq(all.collect::<Result<Vec<_>>>()?)?);
        }
        children.sort_by_key(|(part, _)| key(part));
        let entries = children.into_iter().map(|(part, child)| {
            Ok((Value::from(treedef::Leaf::from(key(&part))), child.into_treedef(leaves)?))
        });
        Ok(TreeDef::map(entries.collect::<Result<Vec<_>>>()?)?)
    }
}
