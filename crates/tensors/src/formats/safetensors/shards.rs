//! The files of a checkpoint that were opened, and their faults.

use std::collections::{BTreeSet, HashMap};
use std::io::ErrorKind as ErrorKindOfIo;
use std::path::Path;
use std::sync::Arc;

use crate::error::{ErrorKind, Fault, Result, quoted};
use crate::file::OpenFile;
use crate::file_bytes::FileBytes;
use crate::formats::safetensors::header::{self, LayoutFault, PREFIX, SafetensorsHeader};
use crate::formats::safetensors::index::Index;
use crate::source::{Source, StoredTensor};

/// The maximum number of files that stay open. Others are opened when a tensor is read.
const MAX_OPEN_FILES: usize = 64;
/// The reason why a file or a tensor is left out.
pub(super) const LEFT_OUT: &str = "left out, as the index does not name it";

/// The files that were opened, and their faults.
#[derive(Default)]
pub(crate) struct Shards<'a> {
    tensors: Vec<StoredTensor<'a>>,
    /// The file of each name of a tensor.
    files: HashMap<String, Arc<str>>,
    metadata: Vec<(String, String)>,
    /// The position of each key in `metadata`.
    keys: HashMap<String, usize>,
    /// The file of each tensor according to the index, if there is one.
    expected: Option<HashMap<String, Arc<str>>>,
    pub(super) faults: Vec<Fault>,
    warnings: Vec<Fault>,
    open_files: usize,
}

impl<'a> Shards<'a> {
    pub(super) fn fault(&mut self, file: &str, tensor: Option<&str>, what: impl Into<String>) {
        self.faults.push(Fault::new(file, tensor, what));
    }

    pub(super) fn warn(&mut self, file: &str, tensor: Option<&str>, what: impl Into<String>) {
        self.warnings.push(Fault::new(file, tensor, what));
    }

    /// Opens the files of an index, and compares their tensors with it.
    pub(super) fn add_indexed(
        &mut self,
        index: &Index,
        shown: impl Fn(&str) -> String,
        mut open: impl FnMut(&mut Self, &str) -> Option<Vec<String>>,
    ) {
        let mut expected = HashMap::new();
        for (file, names) in &index.files {
            let shown: Arc<str> = shown(file).into();
            expected.extend(names.iter().map(|name| (name.clone(), shown.clone())));
        }
        self.expected = Some(expected);
        for (file, names) in &index.files {
            let Some(found) = open(self, file) else { continue };
            let shown = shown(file);
            let found: BTreeSet<String> = found.into_iter().collect();
            for name in names.iter().filter(|name| !found.contains(*name)) {
                self.fault(&shown, Some(name), "the index has it, and the file does not");
            }
        }
    }

    /// Compares the total size in an index, if there are no other faults.
    pub(super) fn expect_total_size(&mut self, index: &Index, name: &str) {
        self.warnings.extend(index.warnings.iter().cloned());
        let size = self.tensors.iter().map(StoredTensor::num_bytes).fold(0, u64::saturating_add);
        match index.total_size.filter(|_| self.faults.is_empty()) {
            Some(total) if total != size => {
                let what = format!("`total_size` is {total}, and the tensors have {size} bytes");
                self.warn(name, None, what);
            }
            _ => {}
        }
    }

    pub(super) fn into_source(mut self, strict: bool) -> Result<Source<'a>> {
        if strict {
            self.faults.append(&mut self.warnings);
        }
        if self.faults.is_empty() {
            Ok(Source::new(self.tensors, self.metadata).with_warnings(self.warnings))
        } else {
            Err(ErrorKind::Faults(self.faults).into())
        }
    }

    /// Opens a file. Returns the names of its tensors if its header could be read.
    pub(super) fn add_path(&mut self, path: &Path) -> Option<Vec<String>> {
        let name = path.display().to_string();
        match OpenFile::open(path, self.open_files < MAX_OPEN_FILES) {
            Ok(file) => {
                self.open_files = self.open_files.saturating_add(1);
                self.add(&name, &FileBytes::File(Arc::new(file)))
            }
            Err(error) if error.kind() == ErrorKindOfIo::NotFound => {
                self.fault(&name, None, "there is no such file");
                None
            }
            Err(error) => {
                self.fault(&name, None, error.to_string());
                None
            }
        }
    }

    /// Adds a file of another format, and opens it if it exists. `open` gets whether the file may stay
    /// open.
    pub(crate) fn add_source(
        &mut self,
        path: &Path,
        open: impl FnOnce(bool) -> Result<Source<'a>>,
    ) -> Option<Vec<String>> {
        let name = path.display().to_string();
        self.open_files = self.open_files.saturating_add(1);
        let source = match open(self.open_files <= MAX_OPEN_FILES) {
            Ok(source) => source,
            Err(error) => {
                match error.kind() {
                    ErrorKind::Faults(faults) => self.faults.extend(faults.iter().cloned()),
                    _ if error.is_not_found() => self.fault(&name, None, "there is no such file"),
                    _ => {
                        // Some errors name the file.
                        let (what, prefix) = (error.to_string(), format!("{name}: "));
                        self.fault(&name, None, what.strip_prefix(&prefix).unwrap_or(&what));
                    }
                }
                return None;
            }
        };
        let names =
            source.iter().map(StoredTensor::name).chain(source.aliases().map(|(name, _)| name));
        let names = names.map(str::to_owned).collect();
        self.put_all(&name.into(), &source);
        Some(names)
    }

    /// Adds the tensors of a file. The index may have some of them in other files or not at all.
    fn put_all(&mut self, file: &Arc<str>, source: &Source<'a>) {
        let Some(expected) = &self.expected else { return self.put(file, source) };
        let is_here = |name: &str| expected.get(name).is_some_and(|other| other == file);
        for name in source.iter().map(StoredTensor::name).filter(|name| !is_here(name)) {
            let what = match expected.get(name) {
                Some(other) => format!("passed over, as the index has it in {}", quoted(other)),
                None => LEFT_OUT.to_owned(),
            };
            self.warnings.push(Fault::new(file, Some(name), what));
        }
        // An index need not have the other names of a tensor.
        let tied: HashMap<&str, &str> = source.aliases().collect();
        let kept = source.filtered(|name| match (expected.get(name), tied.get(name)) {
            (None, Some(tensor)) => is_here(tensor),
            _ => is_here(name),
        });
        self.put(file, &kept);
    }

    /// Adds tensors under all of their names, which no other file may have, and the texts.
    fn put(&mut self, file: &Arc<str>, source: &Source<'a>) {
        for stored in source.iter() {
            if self.is_new(file, stored.name()) {
                self.tensors.push(stored.clone());
            }
        }
        let tied: HashMap<&str, &str> = source.aliases().collect();
        for (key, text) in source.texts() {
            let is_alias = tied.contains_key(key.as_str()) && self.is_new(file, key);
            let next = self.metadata.len();
            let at = *self.keys.entry(key.clone()).or_insert(next);
            match self.metadata.get_mut(at) {
                None => self.metadata.push((key.clone(), text.clone())),
                // No text of another file hides a tensor.
                Some((_, first)) if is_alias => first.clone_from(text),
                Some(_) => {}
            }
        }
    }

    /// Whether no file before has a tensor of this name; otherwise that is a fault.
    fn is_new(&mut self, file: &Arc<str>, name: &str) -> bool {
        let Some(other) = self.files.get(name) else {
            self.files.insert(name.to_owned(), file.clone());
            return true;
        };
        let what = format!("it is also in {}", quoted(other));
        self.faults.push(Fault::new(file, Some(name), what));
        false
    }

    pub(super) fn add(&mut self, name: &str, bytes: &FileBytes<'a>) -> Option<Vec<String>> {
        let size = bytes.len();
        let header = header::read(bytes.reader(0), Some(size)).and_then(|text| {
            let header = SafetensorsHeader::parse(&text)
                .map_err(|error| error.about("not a safetensors file"))?;
            Ok((header, (PREFIX + text.len()) as u64))
        });
        let (header, start) = match header {
            Ok(header) => header,
            Err(error) => {
                self.fault(name, None, error.to_string());
                return None;
            }
        };
        let mut names: Vec<String> = header.tensors.iter().map(|(name, _)| name.clone()).collect();
        let faults = &mut self.faults;
        let extents = header::extents(header.tensors, size.saturating_sub(start), |misplaced| {
            faults.push(match misplaced {
                LayoutFault::Tensor(tensor, what) => Fault::new(name, Some(&tensor), what),
                LayoutFault::Rest(_, what) => Fault::new(name, None, what),
            });
        });
        let tensors = extents.into_iter().map(|extents| extents.stored(bytes, start)).collect();
        let source = Source::new(tensors, header.metadata);
        names.extend(source.aliases().map(|(name, _)| name.to_owned()));
        self.put_all(&name.into(), &source);
        Some(names)
    }
}
