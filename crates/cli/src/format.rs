//! The formats, by their names and extensions.

use std::path::Path;

use clap::ValueEnum;

use treedef::__private::OrBug;

use crate::failure::{Failure, Result};

/// A format of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[non_exhaustive]
pub enum Format {
    /// JSON: one document
    Json,
    /// JSON5, and JSON with comments
    Json5,
    /// JSON lines: one document a line
    Jsonl,
    /// TOML
    Toml,
    /// YAML
    Yaml,
    /// CBOR
    Cbor,
    /// MessagePack
    Msgpack,
    /// RON
    Ron,
    /// a tree as the library `treedef` saves it
    Tree,
    /// a structure, as `treedef` saves it or as text
    Treedef,
    /// tensors by name
    Safetensors,
    /// numpy's arrays by name
    Npz,
    /// numpy's file of one array
    Npy,
    /// models of llama.cpp: the metadata, and the names, types and shapes of tensors
    Gguf,
    /// PyTorch's files: .pt, .pth, .bin, .ckpt; nothing in them is run
    Pytorch,
    /// checkpoints of orbax: the structure and the shapes
    Orbax,
}

/// A format whose files hold tensors.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TensorFormat {
    Safetensors,
    Npz,
    Npy,
    Gguf,
    Pytorch,
    Orbax,
}

impl Format {
    /// The name, which is the extension too.
    pub fn name(self) -> String {
        self.to_possible_value().map(|it| it.get_name().to_owned()).or_bug()
    }

    /// The same, if a file holds tensors.
    pub(crate) fn of_tensors(self) -> Option<TensorFormat> {
        use Format::{Cbor, Json, Json5, Jsonl, Msgpack, Ron, Toml, Tree, Treedef, Yaml};
        match self {
            Format::Safetensors => Some(TensorFormat::Safetensors),
            Format::Npz => Some(TensorFormat::Npz),
            Format::Npy => Some(TensorFormat::Npy),
            Format::Gguf => Some(TensorFormat::Gguf),
            Format::Pytorch => Some(TensorFormat::Pytorch),
            Format::Orbax => Some(TensorFormat::Orbax),
            Json | Json5 | Jsonl | Toml | Yaml | Cbor | Msgpack | Ron | Tree | Treedef => None,
        }
    }

    /// Whether a file holds tensors.
    pub(crate) fn is_of_tensors(self) -> bool {
        self.of_tensors().is_some()
    }

    /// Whether a file is text, which may begin with a byte order mark.
    pub(crate) fn is_text(self) -> bool {
        use Format::{Json, Json5, Jsonl, Ron, Toml, Treedef, Yaml};
        matches!(self, Json | Json5 | Jsonl | Toml | Yaml | Ron | Treedef)
    }

    /// Whether the kinds of numbers are meaningful.
    pub(crate) fn is_typed(self) -> bool {
        self == Format::Tree || self.is_of_tensors()
    }

    /// Whether programs choose the widths of numbers freely, so that the widths have no meaning.
    pub(crate) fn has_free_widths(self) -> bool {
        matches!(self, Format::Cbor | Format::Msgpack | Format::Ron | Format::Toml)
    }

    /// Whether only texts are keys, so that a key that is a number becomes one.
    pub(crate) fn has_text_keys(self) -> bool {
        use Format::{Gguf, Json, Json5, Jsonl, Npz, Safetensors, Toml};
        matches!(self, Gguf | Json | Json5 | Jsonl | Npz | Safetensors | Toml)
    }

    /// Whether there is a null in it.
    pub(crate) fn has_null(self) -> bool {
        use Format::{Cbor, Json, Json5, Jsonl, Msgpack, Yaml};
        matches!(self, Cbor | Json | Json5 | Jsonl | Msgpack | Yaml)
    }

    /// The format of tensors by the first bytes of a file, if neither its name nor an option
    /// determines it.
    ///
    /// # Errors
    ///
    /// Returns an error when it begins like a format that is not supported.
    pub(crate) fn of_start(start: &[u8]) -> Result<Option<Self>> {
        // The name of the first file is after thirty bytes.
        let is_of_arrays = |rest: &[u8]| {
            let length = rest.first_chunk().map_or(0, |length| u16::from_le_bytes(*length));
            let name = rest.get(4..).unwrap_or_default();
            match name.get(..length.into()) {
                Some(name) => name.ends_with(b".npy"),
                // PyTorch has all files in a folder.
                None => !name.contains(&b'/'),
            }
        };
        Ok(match start {
            [b'G', b'G', b'U', b'F', ..] => Some(Format::Gguf),
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Some(Format::Npy),
            [0x80, 0..=5, ..] => Some(Format::Pytorch),
            [b'P', b'K', 3, 4, rest @ ..] => {
                let is_of_arrays = rest.get(22..).is_some_and(is_of_arrays);
                Some(if is_of_arrays { Format::Npz } else { Format::Pytorch })
            }
            // The length of the header, and its brace.
            [_, _, _, _, 0, 0, 0, 0, b'{', ..] => Some(Format::Safetensors),
            [0x89, b'H', b'D', b'F', ..] => {
                return Err(Failure::new("it begins as HDF5, which is not read"));
            }
            _ => None,
        })
    }

    /// The format of a file with this name; `.gz` and `.zst` at its end are ignored.
    ///
    /// # Errors
    ///
    /// Returns an error when the extension is unknown.
    pub fn of_path(path: &Path) -> Result<Self> {
        Format::of_path_or(path, "--format")
    }

    /// As [`of_path`](Self::of_path). The error names the option to state the format.
    pub(crate) fn of_path_or(path: &Path, option: &str) -> Result<Self> {
        Ok(match &*extension(path) {
            "json" | "geojson" | "ipynb" | "webmanifest" => Format::Json,
            "json5" | "jsonc" => Format::Json5,
            "jsonl" | "ndjson" | "jsonlines" | "log" => Format::Jsonl,
            "toml" | "lock" => Format::Toml,
            "yaml" | "yml" => Format::Yaml,
            "cbor" => Format::Cbor,
            "msgpack" | "mpk" | "mp" => Format::Msgpack,
            "ron" => Format::Ron,
            "tree" => Format::Tree,
            "treedef" => Format::Treedef,
            "safetensors" => Format::Safetensors,
            "npz" => Format::Npz,
            "npy" => Format::Npy,
            "gguf" => Format::Gguf,
            "pt" | "pth" => Format::Pytorch,
            _ => {
                let message = format!(
                    "the format is not clear from the name, pass `{option}`, e.g. `{option} json`"
                );
                return Err(Failure::at(path.display(), message));
            }
        })
    }
}

/// The extension in lower case, without the one of a compression. A path without a name has none.
pub(crate) fn extension(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let inner = [".gz", ".zst", ".zstd"].iter().find_map(|end| name.strip_suffix(end));
    inner.unwrap_or(&name).rsplit_once('.').map_or("", |(_, end)| end).to_owned()
}
