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

mod header;
pub(crate) mod index;
mod shards;
pub(crate) mod folder;
pub(crate) mod open;
mod writer;
mod sharded;

use std::io::{self, Read, Write};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use treedef::{Leaf, Tree};

use crate::descriptor::Descriptor;
use crate::error::{Error, ErrorKind, Result, malformed};
use crate::export::Export;
use crate::file;
use crate::formats::safetensors::header::{Header, MAX_HEADER, Misplaced, PREFIX, Placed};
use crate::source::{Source, Stored};
use crate::tensor::Tensors;

pub use open::{Opening, open, open_files, open_indexed_slices, open_slices};
pub use sharded::save_sharded;
pub use writer::Writer;

/// Reads the bytes of a file. The tensors borrow them, and are in the order of their data.
///
/// # Errors
///
/// As [`source`], and when a tensor has a type that [`Dtype`](crate::Dtype) does not have.
pub fn from_bytes(bytes: &[u8]) -> Result<Tensors<'_>> {
    source(bytes)?.read()
}

/// Lists the tensors in the bytes of a file, which each of them borrows, whatever their types are. They
/// are in the order of their data.
///
/// # Errors
///
/// Returns an error when the header is not JSON of the format, a name occurs twice, the data has a
/// hole, an overlap or a rest, or a shape does not fit.
///
/// ```
/// use treedef_exchange::safetensors;
///
/// let header = r#"{"w":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}}"#;
/// let file = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &[0xd3]].concat();
/// let source = safetensors::source(&file)?;
/// assert_eq!(source.get("w").unwrap().descriptor().to_string(), "f4[2]");
/// assert_eq!(source.get("w").unwrap().tree()?.to_string(), "[1.5f32, -3.0f32]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn source(bytes: &[u8]) -> Result<Source<'_>> {
    let short = || malformed(bytes.len(), "the file ends inside its header");
    let (prefix, rest) = bytes.split_first_chunk::<PREFIX>().ok_or_else(short)?;
    let length = header::length(*prefix).ok_or_else(|| too_long(*prefix))?;
    let (text, data) = rest.split_at_checked(length).ok_or_else(short)?;
    let header = Header::parse(text)?;
    let size = u64::try_from(data.len()).unwrap_or(u64::MAX); // a `usize` fits
    let (mut faults, mut rest) = (Vec::new(), None);
    let placed = header::placed(header.tensors, size, |fault| match fault {
        Misplaced::Tensor(name, what) => {
            faults.push(malformed(PREFIX, format!("{what} at the tensor `{name}`")));
        }
        Misplaced::Rest(start, what) => rest = Some((start, what)),
    });
    if let Some(fault) = faults.into_iter().next() {
        return Err(fault);
    }
    if let Some((start, what)) = rest {
        let start = usize::try_from(start).unwrap_or(usize::MAX); // it is in memory
        return Err(malformed(PREFIX.saturating_add(length).saturating_add(start), what));
    }
    let stored = placed.into_iter().map(|Placed { descriptor, start, end }| {
        let part = usize::try_from(start).ok().zip(usize::try_from(end).ok());
        let part = part.and_then(|(start, end)| data.get(start..end)).unwrap_or_default(); // checked
        Stored::in_memory(descriptor, part)
    });
    Ok(Source::new(stored.collect(), header.metadata))
}

/// Reads the header of a file and no tensor, from a pipe for example: what the tensors are, in the
/// order of their data.
///
/// # Errors
///
/// As [`from_bytes`], but what the file has behind its header is not known.
///
/// ```
/// use treedef::Tree;
/// use treedef_exchange::{Tensors, safetensors};
///
/// let bytes = safetensors::to_bytes(&Tensors::of(&Tree::of(&vec![([1.5f32; 2], 7u8)])?)?)?;
/// let tensors = safetensors::read_header(&bytes[..bytes.len() - 9])?;
/// assert_eq!(tensors[0].to_string(), "f32[2]");
/// assert_eq!(tensors[1].name(), "0.1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_header(mut reader: impl Read) -> Result<Vec<Descriptor>> {
    let mut prefix = [0; PREFIX];
    reader.read_exact(&mut prefix).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => malformed(0, "the file ends inside its header"),
        _ => error.into(),
    })?;
    let length = header::length(prefix).ok_or_else(|| too_long(prefix))?;
    let mut text = Vec::new();
    reader.take(u64::try_from(length).unwrap_or(u64::MAX)).read_to_end(&mut text)?;
    if text.len() < length {
        return Err(malformed(PREFIX + text.len(), "the file ends inside its header"));
    }
    let mut faults = Vec::new();
    let placed = header::placed(Header::parse(&text)?.tensors, u64::MAX, |fault| {
        if let Misplaced::Tensor(name, what) = fault {
            faults.push(malformed(PREFIX, format!("{what} at the tensor `{name}`")));
        }
    });
    match faults.into_iter().next() {
        Some(fault) => Err(fault),
        None => Ok(placed.into_iter().map(|placed| placed.descriptor).collect()),
    }
}

fn too_long(prefix: [u8; PREFIX]) -> Error {
    if let Some(what) = header::other_format(&prefix) {
        return ErrorKind::Malformed(format!("no safetensors: {what}")).into();
    }
    Error::from(ErrorKind::limit(
        "bytes of the header",
        format!("the header is longer than {MAX_HEADER} bytes"),
    ))
    .at_byte(0)
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
    source(bytes)?.load()
}

/// Whether a file of safetensors has elements of this type: all of [`Dtype`](crate::Dtype) but complex
/// numbers of 128 bits, and floats of at most 8 bits.
///
/// ```
/// use treedef_exchange::{Descriptor, Dtype, safetensors};
///
/// assert!(safetensors::holds(&Descriptor::new("w", Dtype::Bf16, [2])));
/// assert!(!safetensors::holds(&Descriptor::new("w", Dtype::C128, [2])));
/// ```
pub fn holds(descriptor: &Descriptor) -> bool {
    descriptor.element().is_some_and(|element| element.in_safetensors().is_some())
}

/// The bytes of a file with these tensors, in their order.
///
/// # Errors
///
/// Returns an error when a name is `__metadata__`, a tensor is of complex numbers of 128 bits, or
/// the header would be longer than readers accept.
pub fn to_bytes(tensors: &Tensors<'_>) -> Result<Vec<u8>> {
    let source = Source::from(tensors);
    let mut bytes = header_of(&source)?;
    let size = tensors.iter().map(|(_, tensor)| tensor.bytes().len());
    bytes.reserve_exact(size.sum());
    write_data(&source, &mut bytes)?;
    Ok(bytes)
}

/// Writes a file with these tensors, one after the other: [`Tensors`], whose numbers are not copied, or
/// a [`Source`], which is read piece by piece.
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
pub fn write<'s>(tensors: impl Into<Source<'s>>, mut writer: impl Write) -> Result<()> {
    let source = tensors.into();
    writer.write_all(&header_of(&source)?)?;
    write_data(&source, &mut writer)?;
    Ok(writer.flush()?)
}

/// Writes a file with these tensors, as [`write()`] does. The old contents stay
/// until the new ones are on the disk.
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
pub fn save<'s>(tensors: impl Into<Source<'s>>, path: impl AsRef<Path>) -> Result<()> {
    let source = tensors.into();
    let header = header_of(&source)?;
    file::save(path.as_ref(), |file| {
        file.write_all(&header)?;
        write_data(&source, file)
    })
}

fn write_data(source: &Source<'_>, writer: &mut impl Write) -> Result<()> {
    source.iter().try_for_each(|stored| stored.pieces(|piece| Ok(writer.write_all(piece)?)))
}

/// The header with its length, up to the data.
fn header_of(source: &Source<'_>) -> Result<Vec<u8>> {
    let descriptors: Vec<_> = source.iter().map(Stored::descriptor).collect();
    header::write(&descriptors, source.texts())
}
