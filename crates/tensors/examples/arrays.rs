//! Arrays in files of numpy and flax, one JSON object a line, for `python/check_arrays.py`: `-- write COUNT SEED` makes
//! files of random arrays, `-- read` says what is in those of its input, and `-- values` also of elements that are no
//! numbers.

#[path = "../tests/arrays/mod.rs"]
#[allow(dead_code, reason = "the tests need the rest")]
mod arrays;

use std::error::Error;
use std::io::{BufRead, BufWriter, Write, stdin, stdout};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use fastrand::Rng;
use serde_json::{Map, Value as Json, json};
use treedef_tensors::{flax, npy, npz};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", count, seed] => write(count.parse()?, seed.parse()?),
        ["read"] => read(|format, file| {
            let tensors = arrays::read(format, file)?;
            Ok(json!({ "tensors": arrays::described(&tensors) }))
        }),
        ["values"] => read(|format, file| {
            Ok(json!({ "values": arrays::values(&arrays::source(format, file)?) }))
        }),
        _ => Err("write COUNT SEED, read, or values".into()),
    }
}

fn write(count: usize, seed: u64) -> Result<(), Box<dyn Error>> {
    let (mut rng, mut out) = (Rng::with_seed(seed), BufWriter::new(stdout()));
    for _ in 0..count {
        let tensors = arrays::tensors(&mut rng);
        let mut single = Map::new();
        for (name, tensor) in tensors.iter() {
            single.insert(name.to_owned(), BASE64.encode(npy::to_bytes(tensor)?).into());
        }
        let line = json!({
            "tensors": arrays::described(&tensors),
            "npy": single,
            "npz": BASE64.encode(npz::to_bytes(&tensors)?),
            "flax": BASE64.encode(flax::to_bytes(&tensors)?),
            "pieces": BASE64.encode(flax::__to_bytes_chunked(&tensors, 16)?),
        });
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn read(say: impl Fn(&str, &[u8]) -> treedef_tensors::Result<Json>) -> Result<(), Box<dyn Error>> {
    let mut out = BufWriter::new(stdout());
    for line in stdin().lock().lines() {
        let case: Json = serde_json::from_str(&line?)?;
        let (Some(format), Some(file)) = (case["format"].as_str(), case["file"].as_str()) else {
            return Err("no format and file".into());
        };
        let said = say(format, &BASE64.decode(file)?);
        let said = said.unwrap_or_else(|error| json!({ "error": error.to_string() }));
        writeln!(out, "{said}")?;
    }
    Ok(())
}
