//! `fingerprint --tensors`: a hash of the bytes of each tensor.

use std::path::PathBuf;

use crate::args::ReadArgs;
use crate::comparing::tensor_file::TensorFile;
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::reading::input;
use crate::reading::progress::Progress;

use super::print::{print, print_json};

pub(super) fn hashes(files: &[PathBuf], reading: ReadArgs, json: bool) -> Result<bool> {
    let mut all = Vec::new();
    for file in files {
        let input = input::open(file, reading, Format::Json)?;
        if !input.format.is_of_tensors() {
            let message = format!("{} has no tensors", input.format.name());
            return Err(Failure::at(input.name, message));
        }
        let stored = TensorFile::open(input)?;
        let progress = Progress::new(stored.num_bytes());
        let stored = stored.with_progress(&progress);
        stored.expect_numbers()?;
        for slot in stored.tree.leaves() {
            let hash = stored.sha256(slot).map_err(|failure| failure.in_file(&stored.name))?;
            all.push((hash, stored.name.clone(), slot.name.clone(), slot.leaf.clone()));
        }
        progress.end();
    }
    if json {
        let object = |(hash, file, name, leaf): &(String, String, String, _)| {
            let leaf: &crate::tensors::trees::TensorLeaf = leaf;
            let (dtype, shape) = (&leaf.dtype, &leaf.shape);
            serde_json::json!({"file": file, "tensor": name, "type": dtype, "shape": shape, "sha256": hash})
        };
        return print_json(&all.iter().map(object).collect::<Vec<_>>());
    }
    let is_one = files.len() == 1;
    let line = |(hash, file, name, leaf): &(String, String, String, _)| {
        let file = if is_one { String::new() } else { format!("{}: ", file.escape_debug()) };
        let leaf: &crate::tensors::trees::TensorLeaf = leaf;
        format!("{hash}  {file}{}  {leaf}\n", name.escape_debug())
    };
    print(&all.iter().map(line).collect::<String>())
}
