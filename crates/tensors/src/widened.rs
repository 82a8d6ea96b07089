//! Tensors of small floats as tensors of `f32`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::bug::OrBug;
use crate::descriptor::{Descriptor, NumberType};
use crate::small_float::SmallFloat;
use crate::source::{ReadAt, Source, StoredTensor};
use crate::tensor::Dtype;

/// The size of an `f32` in bytes.
const WIDE: u64 = 4;

/// A tensor of small floats, whose numbers are widened when they are read.
struct WidenedTensor<'a> {
    stored: StoredTensor<'a>,
    float: &'static SmallFloat,
    table: Vec<f32>,
    path: Option<PathBuf>,
}

impl ReadAt for WidenedTensor<'_> {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let too_long = |_| io::Error::from(io::ErrorKind::OutOfMemory);
        let length = u64::try_from(buffer.len()).map_err(too_long)?;
        let bits = u64::from(self.float.bits);
        // Nothing saturates: the bytes of the stored tensor are counted in 64 bits.
        let (first, end) = (offset / WIDE, offset.saturating_add(length).div_ceil(WIDE));
        let (start, stop) = (first.saturating_mul(bits) / 8, end.saturating_mul(bits).div_ceil(8));
        let mut codes = vec![0; usize::try_from(stop - start).map_err(too_long)?];
        self.stored.read_at(start, &mut codes).map_err(io::Error::other)?;
        let skipped = usize::try_from(offset % WIDE).map_err(too_long)?;
        let bit = usize::try_from(first.saturating_mul(bits) % 8).map_err(too_long)?;
        let bits = usize::from(self.float.bits);
        let number = |at: usize| self.table.get(self.float.code(&codes, bit + at * bits));
        let bytes = |at: usize| number(at).copied().or_bug().to_le_bytes();
        if skipped == 0 && buffer.len().is_multiple_of(4) {
            buffer
                .chunks_exact_mut(4)
                .enumerate()
                .for_each(|(at, to)| to.copy_from_slice(&bytes(at)));
        } else {
            let all = (0..).flat_map(bytes).skip(skipped);
            buffer.iter_mut().zip(all).for_each(|(to, byte)| *to = byte);
        }
        Ok(())
    }

    fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    fn type_in_file(&self) -> Option<&'static str> {
        Some(self.float.names.1)
    }
}

impl<'a> StoredTensor<'a> {
    /// The same tensor, with floats of at most 8 bits as `f32`. They are widened when they are read,
    /// without loss.
    ///
    /// ```
    /// use treedef_tensors::{Dtype, safetensors};
    ///
    /// let header = r#"{"w":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]}}"#;
    /// let file = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &[0x38, 0xc4]].concat();
    /// let source = safetensors::from_bytes(&file)?;
    /// let stored = source.get("w").unwrap();
    /// assert_eq!(stored.descriptor().to_string(), "f8_e4m3[2]");
    /// let tensor = stored.widened().read()?;
    /// assert_eq!(tensor.dtype(), Dtype::F32);
    /// assert_eq!(tensor.bytes(), [1f32, -3.0].map(f32::to_le_bytes).as_flattened());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn widened(&self) -> Self {
        let descriptor = self.descriptor();
        let Some(NumberType::Small(float)) = descriptor.number_type() else { return self.clone() };
        let (name, shape) = (self.name().to_owned(), descriptor.shape().to_vec());
        let wide = Descriptor::new(name, Dtype::F32, shape);
        // More than fits into memory, so that it is not read.
        let size = wide.num_bytes().unwrap_or(u64::MAX);
        let (stored, path) = (self.clone(), self.file().map(Path::to_owned));
        let widened = WidenedTensor { stored, float, table: float.table(), path };
        StoredTensor::read_by(wide, size, Arc::new(widened))
    }
}

/// Encodes numbers as the type of small floats with this name. `None` if there is no such type, or if it
/// cannot hold these numbers exactly.
pub fn narrowed(type_name: &str, numbers: impl IntoIterator<Item = f64>) -> Option<Vec<u8>> {
    match NumberType::of_name(type_name)? {
        NumberType::Small(float) => float.bytes(numbers),
        NumberType::Dtype(_) => None,
    }
}

impl Source<'_> {
    /// The same tensors, with floats of at most 8 bits [`widened`](StoredTensor::widened).
    ///
    /// ```
    /// use treedef_tensors::safetensors;
    ///
    /// let header = r#"{"w":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}}"#;
    /// let file = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &[0xd3]].concat();
    /// let source = safetensors::from_bytes(&file)?;
    /// assert!(source.read().is_err()); // their type is none of `Dtype`
    /// assert_eq!(source.widened().read()?.get("w").unwrap().to_string(), "f32[2]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn widened(&self) -> Self {
        self.map(StoredTensor::widened)
    }
}
