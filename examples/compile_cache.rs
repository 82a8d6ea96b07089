//! Work that depends on the structure of its input alone, done once for each structure and kept across runs.
//!
//! `cargo run --example compile_cache`

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use treedef::{Fingerprint, NodeRef, TreeDef, structure};

/// What a service is asked for. Its shape is known at run time only.
#[derive(Serialize)]
struct Batch {
    positions: Vec<[f64; 2]>,
    weights: Option<Vec<f64>>,
}

/// The «compiled» form of a structure: the places of its numbers in the flat vector.
#[derive(Serialize, Deserialize)]
struct Plan {
    structure: TreeDef,
    positions: Vec<usize>,
    weights: Vec<usize>,
}

impl Plan {
    fn compile(structure: TreeDef) -> Result<Self, Box<dyn Error>> {
        println!("  compiling for {structure}");
        let leaves = |path: &str| structure.node(path).map(NodeRef::leaf_range);
        let (positions, weights) = (leaves(".positions")?.collect(), leaves(".weights")?.collect());
        Ok(Plan { positions, weights, structure })
    }

    /// The weighted mean of the positions: flat code over a flat buffer.
    fn run(&self, batch: &Batch, buffer: &mut Vec<f64>) -> Result<[f64; 2], Box<dyn Error>> {
        self.structure.flatten_like(batch, buffer)?;
        let (mut mean, mut total) = ([0.0; 2], 0.0);
        for (number, position) in self.positions.chunks(2).enumerate() {
            let weight = self.weights.get(number).map_or(1.0, |leaf| buffer[*leaf]);
            mean = [0, 1].map(|axis| mean[axis] + weight * buffer[position[axis]]);
            total += weight;
        }
        Ok(mean.map(|sum| sum / total))
    }
}

/// Plans by fingerprint: in memory, and as files that the next process finds.
struct Cache {
    folder: PathBuf,
    plans: HashMap<Fingerprint, Plan>,
    compiled: usize,
}

impl Cache {
    fn plan(&mut self, structure: TreeDef) -> Result<&Plan, Box<dyn Error>> {
        let fingerprint = structure.fingerprint()?;
        if !self.plans.contains_key(&fingerprint) {
            let file = self.folder.join(format!("{fingerprint}.json"));
            let plan = match fs::read(&file) {
                Ok(json) => serde_json::from_slice(&json)?,
                Err(_) => {
                    self.compiled += 1;
                    let plan = Plan::compile(structure)?;
                    fs::write(&file, serde_json::to_vec(&plan)?)?;
                    plan
                }
            };
            self.plans.insert(fingerprint, plan);
        }
        Ok(&self.plans[&fingerprint])
    }
}

fn batch(size: u32, weighted: bool) -> Batch {
    let numbers = || (0..size).map(f64::from);
    Batch {
        positions: numbers().map(|x| [x, 1.0]).collect(),
        weights: weighted.then(|| numbers().collect()),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("treedef-cache-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let (mut compiled, mut buffer) = (Vec::new(), Vec::new());
    // Two processes, as it were: the second finds what the first has kept.
    for process in 1..=2 {
        println!("process {process}");
        let mut cache = Cache { folder: folder.clone(), plans: HashMap::new(), compiled: 0 };
        for batch in [batch(3, false), batch(3, true), batch(3, false), batch(5, false)] {
            let plan = cache.plan(structure(&batch)?)?;
            println!("  mean of {}: {:.2?}", batch.positions.len(), plan.run(&batch, &mut buffer)?);
        }
        compiled.push(cache.compiled);
    }
    assert_eq!(compiled, [3, 0]);
    fs::remove_dir_all(&folder)?;
    println!("three structures were compiled, once each, for eight batches");
    Ok(())
}
