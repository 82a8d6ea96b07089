//! What files of numpy may have, and how their types are called.

use crate::tensor::Dtype;

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
    pub(super) bf16: bool,
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
    /// `V2` when numpy writes them, and when [`to_bytes`](super::to_bytes) does.
    pub fn bf16(self, bf16: bool) -> Self {
        Reading { bf16, ..self }
    }

    /// Sets how many bytes the compressed members of an `.npz` file may have when they are unpacked,
    /// all together. Members that are not compressed are only borrowed, and do not count.
    pub fn max_bytes(self, max_bytes: usize) -> Self {
        Reading { max_bytes, ..self }
    }
}
