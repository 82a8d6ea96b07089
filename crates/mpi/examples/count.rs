//! The structures of JSON lines in many files, counted on all ranks: `mpirun -np 8 count *.jsonl`.
//!
//! Each rank counts neighbouring files. The counts are small, however long the files are: rank 0
//! gathers and merges them. The result is what one process counts that reads all files in turn.
//! Without files, eight shards are generated, and rank 0 also counts them alone, to compare.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor};
use std::path::PathBuf;

use mpi::traits::Communicator;
use serde::de::DeserializeSeed;
use serde::{Deserialize, Serialize};
use serde_json::json;
use treedef_mpi::{gather, scatter};
use treedef_structures::Structures;

#[derive(Debug, Serialize, Deserialize)]
enum Shard {
    File(PathBuf),
    /// The lines that belong to a seed.
    Generated(u64),
}

impl Shard {
    fn open(&self) -> io::Result<Box<dyn BufRead>> {
        Ok(match self {
            Shard::File(path) => Box::new(BufReader::new(File::open(path)?)),
            Shard::Generated(seed) => Box::new(Cursor::new(generated(*seed))),
        })
    }
}

/// A log. Two users occur in each shard.
fn generated(seed: u64) -> String {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut line = |number: u64| match random.u8(..) {
        0 => json!({"id": number, "error": {"code": 503}}),
        1 if seed == 5 => json!({"id": number.to_string(), "seconds": {}}),
        2..10 => json!({"id": number, "tags": null, "seconds": {}}),
        _ => {
            let user = format!("user {}", 2 * seed + random.u64(..2));
            json!({"id": number, "tags": vec!["a"; random.usize(..4)], "seconds": {user: 0.5}})
        }
    };
    (0..1000).map(|number| format!("{}\n", line(number))).collect()
}

/// Counts the lines of the shards, one after another.
fn count(shards: &[Shard]) -> Result<Structures, String> {
    // More than ten keys at one place are data, such as the names of users.
    let mut structures = Structures::new().fold_lengths(true).fold_keys(10);
    for shard in shards {
        let lines = shard.open().map_err(|error| format!("{shard:?}: {error}"))?.lines();
        for (line, number) in lines.zip(1..) {
            let counted = line.map_err(serde_json::Error::io).and_then(|line| {
                let mut document = serde_json::Deserializer::from_str(&line);
                structures.seed().deserialize(&mut document)?;
                document.end()
            });
            counted.map_err(|error| format!("{shard:?}, line {number}: {error}"))?;
        }
    }
    Ok(structures)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files: Vec<_> = std::env::args_os().skip(1).map(|path| Shard::File(path.into())).collect();
    let is_generated = files.is_empty();
    let all = if is_generated { (0..8).map(Shard::Generated).collect() } else { files };

    let universe = mpi::initialize().ok_or("MPI is running already")?;
    let world = universe.world();
    let mine = scatter(&world, 0, &all)?;
    // A rank that fails sends its error: if it ended here, the others would wait for it.
    let parts: Vec<Result<Structures, String>> = gather(&world, 0, &[count(&mine)])?;
    let mut parts = parts.into_iter();
    let Some(first) = parts.next() else { return Ok(()) }; // only rank 0 has them

    let mut sum = first?;
    for part in parts {
        let mut part = part?;
        part.shift(sum.next_index()); // its lines follow the lines of the ranks before
        sum.merge(&part)?;
    }
    if is_generated && sum != count(&all)? {
        return Err("the ranks have counted something else than one process".into());
    }
    println!("{} lines of {} shards, on {} rank(s)", sum.documents(), all.len(), world.size());
    for it in sum.by_count()? {
        println!("{:5} from line {:4}: {}", it.count, it.first + 1, it.structure);
    }
    Ok(())
}
