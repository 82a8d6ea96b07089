//! Options for files of numpy.

/// Options for reading `.npy` and `.npz` files.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    pub(super) bf16: bool,
    pub(crate) max_bytes: usize,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions { bf16: false, max_bytes: 1 << 30 }
    }
}

impl ReadOptions {
    /// `V2` is refused, and an `.npz` file has at most 2³⁰ bytes of compressed members.
    pub fn new() -> Self {
        ReadOptions::default()
    }

    /// Reads elements of the type `V2`, two bytes of any kind, as [`Dtype::Bf16`](crate::Dtype::Bf16).
    ///
    /// numpy has no such type of its own. Arrays of `ml_dtypes.bfloat16`, which JAX uses, become
    /// `V2` when numpy writes them, and when [`to_bytes`](super::to_bytes) does.
    pub fn bf16(self, bf16: bool) -> Self {
        ReadOptions { bf16, ..self }
    }

    /// Sets how many bytes the compressed members of an `.npz` file may have in total after
    /// unpacking. Uncompressed members are borrowed, and do not count.
    pub fn max_bytes(self, max_bytes: usize) -> Self {
        ReadOptions { max_bytes, ..self }
    }
}
