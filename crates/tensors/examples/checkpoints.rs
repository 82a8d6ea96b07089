//! Opens and saves checkpoints for `python/checkpoints.py`: a command on each line, and a line of JSON for each.
//!
//! `open PATH`, `save OLD NEW MAX_BYTES`, `gguf PATH`, `orbax PATH`

use std::error::Error;
use std::io::{BufRead, Write};

use serde_json::{Value, json};
use treedef_pytrees::orbax;
use treedef_tensors::{gguf, safetensors};

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let answer = answer(&line.split('\t').collect::<Vec<_>>());
        let answer = answer.unwrap_or_else(|error| json!({"error": error.to_string()}));
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn answer(words: &[&str]) -> Result<Value, Box<dyn Error>> {
    Ok(match words {
        ["open", path] => {
            let source = safetensors::OpenOptions::new().strict(true).open(path)?;
            let mut tensors = serde_json::Map::new();
            for stored in source.iter() {
                let (of, bytes) = (stored.descriptor(), stored.read_bytes()?);
                let value = json!([of.type_name(), of.shape(), hex(&bytes)]);
                tensors.insert(stored.name().to_owned(), value);
            }
            let aliases = source.aliases().map(|(alias, of)| (alias.to_owned(), of.into()));
            let aliases: serde_json::Map<String, Value> = aliases.collect();
            json!({"tensors": tensors, "aliases": aliases})
        }
        ["save", old, new, max_bytes] => {
            let source = safetensors::open(old)?;
            let files = safetensors::save_sharded(&source, new, max_bytes.parse()?)?;
            json!({"files": files.len()})
        }
        ["gguf", path] => {
            let gguf = gguf::open(path)?;
            let mut tensors = serde_json::Map::new();
            for tensor in gguf.tensors() {
                let bytes = hex(&gguf.read_bytes(tensor)?);
                let value = json!([tensor.type_name, tensor.shape, bytes]);
                tensors.insert(tensor.name.clone(), value);
            }
            let metadata = gguf.metadata().clone().map(|leaf| leaf.to_string());
            json!({"tensors": tensors, "metadata": metadata})
        }
        ["orbax", path] => {
            let text = std::fs::read_to_string(path)?;
            let metadata = orbax::metadata(&text)?;
            json!({"structure": metadata.tree.treedef().to_string()})
        }
        _ => return Err(format!("no command: {words:?}").into()),
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
