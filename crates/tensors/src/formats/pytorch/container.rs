//! The two forms of PyTorch's files: a zip file, and the older one, of pickles with storages behind them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, BufReader, Read, Seek};

use zip::read::{ArchiveOffset, Config};
use zip::{CompressionMethod, ZipArchive};

use crate::bug::OrBug;
use crate::error::{Error, ErrorKind, Result, malformed, quoted};
use crate::file_bytes::FileBytes;
use crate::formats::pytorch::constructors::{is_known, storage};
use crate::formats::pytorch::object::{Graph, Object, ObjectId};
use crate::formats::pytorch::pickle_input::{MAX_BYTES, PickleInput};
use crate::formats::pytorch::types;
use crate::formats::pytorch::unpickler;
use crate::formats::zipped::zip_error;

const PICKLE: &str = "data.pkl";
/// The beginning of the old form: a pickle of this number, one of the version, one of the sizes of C's
/// types.
const MAGIC: i128 = 0x1950_a86a_20f9_469c_fc6c;
const VERSION: i128 = 1001;
/// The position where a tar file identifies itself.
const TAR: (u64, &[u8]) = (257, b"ustar");

/// The content of a file: its objects, and the locations of its storages.
pub(super) struct Container {
    pub(super) graph: Graph,
    pub(super) root: ObjectId,
    pub(super) storages: StorageTable,
    pub(super) is_torchscript: bool,
    /// The classes and functions that do not belong to tensors.
    pub(super) unknown: BTreeSet<String>,
}

/// Everything that PyTorch would call in these pickles, even if nothing refers to the result.
fn unknown(graphs: &[&Graph]) -> BTreeSet<String> {
    let names = graphs.iter().flat_map(|graph| graph.globals());
    names.filter(|name| !is_known(name)).map(str::to_owned).collect()
}

/// The locations of the storages by their keys, or the reason why one cannot be read.
#[derive(Default)]
pub(super) struct StorageTable {
    pub(super) places: HashMap<String, Result<ByteRange, String>>,
    pub(super) big_endian: bool,
}

/// A part of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByteRange {
    pub(super) start: u64,
    pub(super) length: u64,
}

pub(super) fn read(bytes: &FileBytes<'_>) -> Result<Container> {
    let mut start = [0; 4];
    let length = bytes.len().min(4);
    let known = usize::try_from(length).ok().and_then(|length| start.get_mut(..length));
    bytes.read_exact_at(known.or_bug(), 0)?;
    match start {
        [b'P', b'K', 3 | 5, 4 | 6] => zipped(bytes),
        [0x80, 0..=5, ..] => old(bytes),
        _ if is_tar(bytes) => {
            let what = "the tar file of PyTorch 0.1, which is not read (load it with PyTorch, and save it again)";
            Err(ErrorKind::Unsupported(what.to_owned()).into())
        }
        _ => Err(malformed(0, "no file of PyTorch: neither a zip file nor a pickle")),
    }
}

fn is_tar(bytes: &FileBytes<'_>) -> bool {
    let mut found = [0; 5];
    bytes.read_exact_at(&mut found, TAR.0).is_ok() && found == TAR.1
}

fn zipped(bytes: &FileBytes<'_>) -> Result<Container> {
    // The archive begins at the beginning of the file. `zip` would search for the beginning, and place it
    // after the first entry if that has as many bytes as the two zip64 records that PyTorch writes.
    let config = Config { archive_offset: ArchiveOffset::Known(0) };
    let mut archive = ZipArchive::with_config(config, bytes.reader(0)).map_err(zip_error)?;
    // Names are distinct, members do not overlap, and headers agree with the directory.
    archive.validate_header_consistency().map_err(zip_error)?;
    let names: Vec<String> = archive.file_names().filter_map(|it| Some(it.ok()?.into())).collect();
    // The files are in one folder, the one of the first file.
    let folder = names.iter().filter_map(|name| {
        let folder = name.strip_suffix(PICKLE)?;
        (folder.matches('/').count() <= 1 && (folder.is_empty() || folder.ends_with('/')))
            .then_some(folder)
    });
    let folder = folder.min_by_key(|folder| folder.len()).ok_or_else(|| {
        let what = "a zip file without `data.pkl`, so not a file of PyTorch";
        Error::from(ErrorKind::Malformed(what.to_owned()))
    })?;
    let is_torchscript = names.iter().any(|name| *name == format!("{folder}constants.pkl"));
    let big_endian = is_big_endian(&mut archive, folder)?;
    let (graph, root) = unzipped_pickle(&mut archive, &format!("{folder}{PICKLE}"))
        .map_err(|error| error.about(PICKLE))?;
    let mut places = HashMap::new();
    for key in keys(&graph).into_keys() {
        let place = place(&mut archive, &format!("{folder}data/{key}"), bytes.len());
        places.insert(key, place.map_err(|error| error.to_string()));
    }
    let storages = StorageTable { places, big_endian };
    let unknown = unknown(&[&graph]);
    Ok(Container { graph, root, storages, is_torchscript, unknown })
}

fn unzipped_pickle<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    name: &str,
) -> Result<(Graph, ObjectId)> {
    let entry = archive.by_name(name).map_err(zip_error)?;
    // PyTorch has an option to leave out checksums.
    let has_checksum = entry.crc32() != 0;
    let mut reader = BufReader::new(entry.take(MAX_BYTES));
    let read = unpickler::read(&mut PickleInput::new(&mut reader, 0))?;
    if has_checksum {
        let rest = io::copy(&mut reader, &mut io::sink());
        rest.map_err(|error| Error::from(ErrorKind::Malformed(error.to_string())))?;
    }
    Ok(read)
}

fn is_big_endian<R: Read + Seek>(archive: &mut ZipArchive<R>, folder: &str) -> Result<bool> {
    let name = format!("{folder}byteorder");
    if archive.index_for_name(&name).is_none() {
        return Ok(false);
    }
    let mut text = Vec::new();
    archive.by_name(&name).map_err(zip_error)?.take(16).read_to_end(&mut text)?;
    match text.trim_ascii() {
        b"little" => Ok(false),
        b"big" => Ok(true),
        other => {
            let other = quoted(&String::from_utf8_lossy(other));
            let what = format!("the byte order {other}, expected `little` or `big`");
            Err(Error::from(ErrorKind::Malformed(what)).about("byteorder"))
        }
    }
}

/// Where a file in the zip file is, which has `most` bytes.
fn place<R: Read + Seek>(archive: &mut ZipArchive<R>, name: &str, most: u64) -> Result<ByteRange> {
    let missing = || malformed_at(name, "there is no such file in the zip file");
    let index = archive.index_for_name(name).ok_or_else(missing)?;
    let entry = archive.by_index_raw(index).map_err(zip_error)?;
    if entry.compression() != CompressionMethod::Stored || entry.encrypted() {
        let what = format!(
            "{name}: it is compressed, which PyTorch never does (unpack the zip file, and pack it without)"
        );
        return Err(ErrorKind::Unsupported(what).into());
    }
    let (start, length) = (entry.data_start().ok_or_else(missing)?, entry.size());
    if start.checked_add(length).is_none_or(|end| end > most) {
        return Err(malformed_at(name, "the file ends before its bytes"));
    }
    Ok(ByteRange { start, length })
}

fn malformed_at(name: &str, what: &str) -> Error {
    ErrorKind::Malformed(format!("{name}: {what}")).into()
}

/// The keys of the storages that a pickle names, with the bytes of an element.
fn keys(graph: &Graph) -> BTreeMap<String, u64> {
    let ids = 0..ObjectId::try_from(graph.len()).unwrap_or(ObjectId::MAX);
    let storages = ids.filter_map(|id| storage(graph, id));
    storages.map(|storage| (storage.key.to_owned(), types::size_of(storage.element))).collect()
}

fn old(bytes: &FileBytes<'_>) -> Result<Container> {
    let mut input = PickleInput::new(bytes.reader(0), 0);
    let magic = unpickler::read(&mut input)?;
    if magic.0.integer(magic.1) != Some(MAGIC) {
        let what =
            "a pickle that `torch.save` did not write: it does not begin with PyTorch's number";
        return Err(malformed(0, what));
    }
    let at = input.at();
    let version = unpickler::read(&mut input)?;
    if version.0.integer(version.1) != Some(VERSION) {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        return Err(malformed(
            at,
            format!("another version than {VERSION} of PyTorch's old files"),
        ));
    }
    let system = unpickler::read(&mut input)?;
    let is_of_big_endian = is_of_big_endian(&system);
    let (graph, root) = unpickler::read(&mut input)?;
    let sizes = keys(&graph);
    let at = input.at();
    let (list, keys) = unpickler::read(&mut input)?;
    let keys: Option<Vec<&str>> =
        list.elements(keys).and_then(|ids| ids.iter().map(|id| list.text(*id)).collect());
    let keys = keys.ok_or_else(|| {
        malformed(usize::try_from(at).unwrap_or(usize::MAX), "no list of the keys of storages")
    })?;
    let places = behind(bytes, (input.at(), is_of_big_endian), &keys, &sizes);
    // Each machine writes the numbers with the lowest byte first.
    let storages = StorageTable { places, big_endian: false };
    let unknown = unknown(&[&magic.0, &version.0, &system.0, &graph, &list]);
    Ok(Container { graph, root, storages, is_torchscript: false, unknown })
}

fn is_of_big_endian((graph, root): &(Graph, ObjectId)) -> bool {
    let Object::Dict(entries) = graph.get(*root) else { return false };
    let mut order = entries.iter().filter(|(key, _)| graph.text(*key) == Some("little_endian"));
    order.next().is_some_and(|(_, value)| matches!(graph.get(*value), Object::Bool(false)))
}

/// Where the storages are behind the pickles: each has the number of its elements before it. Old
/// versions of PyTorch wrote this number, and nothing else, in the byte order of the machine.
fn behind(
    bytes: &FileBytes<'_>,
    (mut at, is_of_big_endian): (u64, bool),
    keys: &[&str],
    sizes: &BTreeMap<String, u64>,
) -> HashMap<String, Result<ByteRange, String>> {
    let (mut places, mut failed) = (HashMap::new(), None::<String>);
    for key in keys {
        let next = |at: u64| {
            let mut count = [0; 8];
            let cut = |_| format!("the file ends before the storage {} at byte {at}", quoted(key));
            bytes.read_exact_at(&mut count, at).map_err(cut)?;
            let size = sizes.get(*key);
            let size = size.ok_or_else(|| format!("nothing says the type of {}", quoted(key)))?;
            let start = at.saturating_add(8);
            let fits = |it: &u64| start.checked_add(*it).is_some_and(|end| end <= bytes.len());
            let length = |count: u64| count.checked_mul(*size).filter(fits);
            let of_big_endian = || length(u64::from_be_bytes(count)).filter(|_| is_of_big_endian);
            let length = length(u64::from_le_bytes(count)).or_else(of_big_endian);
            let length = length.ok_or_else(|| {
                format!("the file ends inside of the storage {} at byte {at}", quoted(key))
            })?;
            Ok(ByteRange { start, length })
        };
        let span = match &failed {
            Some(why) => Err(why.clone()),
            None => next(at),
        };
        match &span {
            Ok(span) => at = span.start.saturating_add(span.length),
            Err(why) => failed = Some(why.clone()), // where the next one begins is not known
        }
        places.insert((*key).to_owned(), span);
    }
    places
}
