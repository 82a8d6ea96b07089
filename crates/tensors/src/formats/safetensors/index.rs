//! The index of a checkpoint in shards, which maps tensors to files.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use treedef_pytrees::__private::Json;

use crate::error::Fault;
use crate::file::{STAND_IN, stand_in};
use crate::formats::safetensors::header::quoted;

/// The extension of an index.
pub(crate) const INDEX: &str = ".safetensors.index.json";
/// The extension of a file.
pub(crate) const EXTENSION: &str = ".safetensors";
/// The entry of the metadata with the names of the files that a save replaced. If one still exists, the
/// save was interrupted before it could remove it.
pub(crate) const REPLACED: &str = "replaced_files";

/// The content of an index.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// The names of the tensors of each file.
    pub(crate) files: BTreeMap<String, Vec<String>>,
    /// The bytes of all tensors.
    pub(crate) total_size: Option<u64>,
    pub(crate) replaced: Vec<String>,
    /// Whether the text is an index at all.
    pub(crate) is_read: bool,
    /// Oddities that have no consequences.
    pub(crate) warnings: Vec<Fault>,
}

impl Index {
    /// Reads an index. Faults are added to the list.
    pub(crate) fn parse(text: &[u8], name: &str, faults: &mut Vec<Fault>) -> Self {
        let mut index = Index::default();
        let mut fault =
            |tensor: Option<&str>, what: String| faults.push(Fault::new(name, tensor, what));
        if let Some(what) = stand_in(text.get(..STAND_IN).unwrap_or(text)) {
            fault(None, what.to_owned());
            return index;
        }
        let json = match std::str::from_utf8(text) {
            Ok(text) => {
                Json::parse(text.trim_start_matches('\u{feff}')).map_err(|error| error.to_string())
            }
            Err(error) => Err(format!("not UTF-8 at byte {}", error.valid_up_to())),
        };
        let json = match json {
            Ok(json) => json,
            Err(what) => {
                fault(None, what);
                return index;
            }
        };
        let Some(map) = json.get("weight_map").and_then(Json::as_entries) else {
            fault(None, "it has no object `weight_map`".to_owned());
            return index;
        };
        index.is_read = true;
        for (tensor, file) in map {
            match file.as_str().map(|file| file.trim_start_matches("./")) {
                Some(file) if is_inside(file) => {
                    index.files.entry(file.to_owned()).or_default().push(tensor.clone());
                }
                Some(file) => {
                    let what =
                        format!("{} is not a file below the folder", crate::error::quoted(file));
                    fault(Some(tensor), what);
                }
                None => fault(Some(tensor), "its file is not a string".to_owned()),
            }
        }
        let metadata = json.get("metadata");
        match metadata.and_then(|metadata| metadata.get("total_size")) {
            None | Some(Json::Null) => {}
            Some(size) => {
                index.total_size = number(size);
                if index.total_size.is_none() {
                    let what = "`total_size` is not a number of bytes";
                    index.warnings.push(Fault::new(name, None, what));
                }
            }
        }
        let replaced = metadata.and_then(|metadata| metadata.get(REPLACED)).and_then(Json::as_list);
        let replaced = replaced.unwrap_or_default().iter().filter_map(Json::as_str);
        index.replaced = replaced.map(str::to_owned).collect();
        index
    }

    /// The text that transformers writes: sorted, with two spaces.
    pub(crate) fn to_text(&self) -> String {
        let mut metadata = Vec::new();
        if !self.replaced.is_empty() {
            let names: Vec<String> = self.replaced.iter().map(|name| quoted(name)).collect();
            metadata.push(format!("    \"{REPLACED}\": [{}]", names.join(", ")));
        }
        metadata.push(format!("    \"total_size\": {}", self.total_size.unwrap_or(0)));
        let pairs = self.files.iter();
        let pairs = pairs.flat_map(|(file, names)| names.iter().map(move |name| (name, file)));
        let mut pairs: Vec<_> = pairs.collect();
        pairs.sort_unstable();
        let pairs: Vec<String> = pairs
            .into_iter()
            .map(|(name, file)| format!("    {}: {}", quoted(name), quoted(file)))
            .collect();
        format!(
            "{{\n  \"metadata\": {{\n{}\n  }},\n  \"weight_map\": {{\n{}\n  }}\n}}\n",
            metadata.join(",\n"),
            pairs.join(",\n")
        )
    }
}

/// Some writers have a float there.
fn number(json: &Json) -> Option<u64> {
    match json {
        Json::Int(size) => u64::try_from(*size).ok(),
        // Below this each integer is a float.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is checked")]
        Json::Float(size) if size.fract() == 0.0 && (0.0..9e15).contains(size) => {
            Some(*size as u64)
        }
        _ => None,
    }
}

/// Whether a path leads to a place below the folder, judging by its text.
fn is_inside(file: &str) -> bool {
    let mut parts = Path::new(file).components();
    !file.is_empty()
        && !file.contains(['\\', '\0'])
        && parts.all(|it| matches!(it, Component::Normal(_)))
}

/// The number and the count of a shard by its name: `model-00001-of-00003.safetensors`.
pub(crate) fn shard_number(name: &str) -> Option<(u64, u64)> {
    let (before, count) = name.rsplit_once('.')?.0.rsplit_once("-of-")?;
    let (_, number) = before.rsplit_once('-')?;
    Some((number.parse().ok()?, count.parse().ok()?))
}

/// The names of the files of a save that replace others:
/// `model-5f3a9c01-00001-of-00003.safetensors`. A file with such a name that is in no index is a
/// leftover of an interrupted save.
pub(crate) fn is_of_save(name: &str) -> bool {
    let rest = name.strip_prefix("model-").and_then(|rest| rest.split_once('-'));
    let is_hex = |text: &str| text.len() == 8 && text.bytes().all(|it| it.is_ascii_hexdigit());
    let is_shard = name.ends_with(EXTENSION) && shard_number(name).is_some();
    is_shard && rest.is_some_and(|(tag, _)| is_hex(tag))
}
