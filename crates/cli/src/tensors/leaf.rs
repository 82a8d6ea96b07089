//! Leaves of a patch for tensors whose type no array can hold: empty ones, small floats, and numpy's
//! elements that are not numbers.

use serde::{Serialize, Serializer};
use treedef::{Dtype, Leaf, Tree, Value};
use treedef_tensors::{__element, __stored, StoredTensor};

use crate::failure::Result;

/// The name of such a leaf.
const NAME: &str = "Tensor";

#[derive(Serialize)]
#[serde(rename = "Tensor")]
struct PatchTensor<'a> {
    dtype: String,
    dims: &'a [usize],
    #[serde(serialize_with = "as_bytes")]
    data: &'a [u8],
}

fn as_bytes<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bytes(bytes)
}

/// The tensor as a leaf. `None` if an array or a number can hold its type, or nothing can. A number can,
/// unless there are others beside the tensors, or JSON has numbers of that type.
pub(crate) fn leaf_of(stored: &StoredTensor<'_>, has_values: bool) -> Result<Option<Leaf>> {
    let descriptor = stored.descriptor();
    let is_of_json =
        matches!(descriptor.dtype(), Some(Dtype::F64 | Dtype::I64 | Dtype::U64 | Dtype::Bool));
    let is_number = descriptor.shape().is_empty() && (has_values || is_of_json);
    if descriptor.dtype().is_some() && stored.num_bytes() > 0 && !is_number {
        return Ok(None);
    }
    let Some(dtype) = __element(descriptor) else { return Ok(None) };
    let whole = PatchTensor { dtype, dims: descriptor.shape(), data: &stored.read_bytes()? };
    Ok(Some(Value::of(&whole)?.into()))
}

/// The tensor of this name in such a leaf, if the part is one.
pub(crate) fn tensor_of(name: &str, part: &Tree<Leaf>) -> Result<Option<StoredTensor<'static>>> {
    let [Leaf::Opaque(value)] = part.leaves() else { return Ok(None) };
    let leaves = value.leaves();
    let [Leaf::Str(dtype), dims @ .., Leaf::Bytes(bytes)] = &*leaves else { return Ok(None) };
    if value.root().name() != Some(NAME) || !part.treedef().root().is_leaf() {
        return Ok(None);
    }
    let dim = |leaf: &Leaf| usize::try_from(leaf.as_u64()?).ok();
    let Some(dims) = dims.iter().map(dim).collect() else { return Ok(None) };
    Ok(Some(__stored(name, dtype, dims, bytes.to_vec())?))
}
