//! Writes a file tensor by tensor.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use treedef::__private::sweep;

use crate::bug::bug;
use crate::descriptor::Descriptor;
use crate::error::{ErrorKind, Result, quoted};
use crate::file::PendingFile;
use crate::formats::safetensors::header;
use crate::source::{StoredTensor, expect_distinct_keys};

/// Writes a file whose names, types and shapes are known in advance. The bytes may be written in any order,
/// so memory needs to hold only one tensor, or a piece of one.
///
/// The file is in its place only after [`finish`](Self::finish); until then it is a temporary file
/// beside it. Dropping the writer removes the temporary file, and the old file stays.
///
/// ```
/// use treedef_tensors::safetensors::{self, Writer};
/// use treedef_tensors::{Descriptor, Dtype};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model.safetensors");
/// let descriptors =
///     [Descriptor::new("a", Dtype::U8, [4]), Descriptor::new("b", Dtype::F32, [1])];
/// let mut writer = Writer::create(&path, descriptors, [])?;
/// writer.write("b", &1.5f32.to_le_bytes())?;
/// writer.write("a", &[1, 2])?; // a piece
/// writer.write("a", &[3, 4])?; // and the rest
/// assert!(!path.exists());
/// writer.finish()?;
/// let source = safetensors::open(&path)?;
/// assert_eq!(source.get("a").unwrap().read()?.bytes(), [1, 2, 3, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Writer {
    file: PendingFile,
    positions: HashMap<String, usize>,
    tensors: Vec<PendingTensor>,
}

struct PendingTensor {
    descriptor: Descriptor,
    start: u64,
    size: u64,
    written: u64,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tensors = self.tensors.iter();
        let tensors = tensors.map(|it| (it.descriptor.name(), (it.written, it.size)));
        f.debug_map().entries(tensors).finish()
    }
}

impl Writer {
    /// Begins a file with tensors in this order, and texts for the whole file.
    ///
    /// # Errors
    ///
    /// Returns an error when two tensors have one name, a name is `__metadata__`, a tensor is of
    /// complex numbers of 128 bits or has no number of bytes, or the header would be longer than
    /// readers accept; and errors of the operating system.
    pub fn create(
        path: impl AsRef<Path>,
        descriptors: impl IntoIterator<Item = Descriptor>,
        metadata: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self> {
        sweep(path.as_ref());
        Writer::create_in_swept(path.as_ref(), descriptors, metadata)
    }

    /// The same, without a search for leftovers of killed writers, which takes time.
    pub(crate) fn create_in_swept(
        path: &Path,
        descriptors: impl IntoIterator<Item = Descriptor>,
        metadata: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self> {
        let descriptors: Vec<_> = descriptors.into_iter().collect();
        let texts: Vec<(String, String)> = metadata.into_iter().collect();
        expect_distinct_keys(&texts)?;
        let refs: Vec<&Descriptor> = descriptors.iter().collect();
        let header = header::write(&refs, &texts)?;
        let mut start = u64::try_from(header.len()).unwrap_or(u64::MAX); // below the limit
        let (mut positions, mut tensors) = (HashMap::new(), Vec::new());
        for descriptor in descriptors {
            if positions.insert(descriptor.name().to_owned(), tensors.len()).is_some() {
                let what = format!("two tensors have the name {}", quoted(descriptor.name()));
                return Err(ErrorKind::Malformed(what).into());
            }
            let size = descriptor.num_bytes().ok_or_else(|| bug!("a header without a size"))?;
            tensors.push(PendingTensor { descriptor, start, size, written: 0 });
            start = start.checked_add(size).ok_or_else(|| {
                ErrorKind::limit("bytes", "the file would have more than 2⁶⁴ bytes")
            })?;
        }
        let file = PendingFile::create(path)?;
        file.write_at(&header, 0)?;
        Ok(Writer { file, positions, tensors })
    }

    /// Writes bytes of a tensor: all of them, or the next piece. Tensors may be written in any order, and
    /// alternate.
    ///
    /// # Errors
    ///
    /// Returns an error when there is no such tensor, or it has fewer bytes; and errors of the operating
    /// system.
    pub fn write(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let position = self.positions.get(name);
        let tensor = position.and_then(|position| self.tensors.get_mut(*position));
        let tensor = tensor.ok_or_else(|| {
            ErrorKind::Malformed(format!("the file was created without a tensor {}", quoted(name)))
        })?;
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let end = tensor.written.checked_add(length).filter(|end| *end <= tensor.size);
        let end = end.ok_or_else(|| {
            let (name, of, size) = (quoted(name), &tensor.descriptor, tensor.size);
            let written = tensor.written;
            ErrorKind::Malformed(format!(
                "{name}, {of}, has {size} bytes: {written} were written, and {length} more were given"
            ))
        })?;
        self.file.write_at(bytes, tensor.start.saturating_add(tensor.written))?; // below the end
        tensor.written = end;
        Ok(())
    }

    /// Copies a tensor, piece by piece.
    pub(crate) fn copy(&mut self, stored: &StoredTensor<'_>) -> Result<()> {
        stored.pieces(|piece| self.write(stored.name(), piece))
    }

    /// Puts the file in its place. The old contents, if there were any, stay until the new ones are on
    /// the disk.
    ///
    /// # Errors
    ///
    /// Returns an error when tensors lack bytes, with all of their names; and errors of the operating
    /// system. The old file is then unchanged, unless only flushing the folder failed.
    pub fn finish(self) -> Result<()> {
        self.whole()?.finish()
    }

    /// The file, if all bytes were written.
    pub(crate) fn whole(self) -> Result<PendingFile> {
        const LISTED: usize = 10;
        let missing = self.tensors.iter().filter(|tensor| tensor.written < tensor.size);
        let missing: Vec<String> = missing
            .map(|it| {
                let (name, written, size) = (quoted(it.descriptor.name()), it.written, it.size);
                format!("{name} ({written} of {size} bytes)")
            })
            .collect();
        if !missing.is_empty() {
            let mut list = missing.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
            if missing.len() > LISTED {
                list += &format!(" and {} more", missing.len() - LISTED);
            }
            return Err(ErrorKind::Malformed(format!("not all was written: {list}")).into());
        }
        Ok(self.file)
    }
}
