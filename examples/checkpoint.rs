//! Training that is killed in the middle of a save, goes on from its checkpoint, and outlives the definition of its type.
//!
//! `cargo run --example checkpoint`

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use treedef::{Flattener, LeafKind, Tree, TreeDef};

/// What training has to remember. The name is structure, everything else changes.
#[derive(Serialize, Deserialize)]
struct Training {
    #[serde(serialize_with = "treedef::as_static")]
    name: String,
    step: u64,
    weights: Vec<f64>,
}

/// The same a year later: a field has another name, one is new, one is gone.
#[derive(Serialize, Deserialize)]
struct TrainingToday {
    #[serde(serialize_with = "treedef::as_static")]
    name: String,
    #[serde(alias = "weights")]
    parameters: Vec<f64>,
    #[serde(default)]
    momentum: Vec<f64>,
}

impl Training {
    fn new() -> Self {
        Training { name: "square roots".to_owned(), step: 0, weights: vec![1.0; 1000] }
    }

    /// A step of Newton's method for the square root of each index, slowed down.
    fn advance(&mut self) {
        for (index, weight) in self.weights.iter_mut().enumerate() {
            *weight -= 0.01 * (*weight * *weight - index as f64) / (2.0 * *weight);
        }
        self.step += 1;
    }

    fn error(&self) -> f64 {
        let roots = self.weights.iter().enumerate();
        roots.map(|(index, weight)| (weight * weight - index as f64).abs()).fold(0.0, f64::max)
    }
}

/// Trains until it is killed, and saves after every fifty steps.
fn train(checkpoint: &Path) -> Result<(), Box<dyn Error>> {
    let mut training =
        if checkpoint.exists() { Tree::load(checkpoint)?.into_typed()? } else { Training::new() };
    println!("  from step {}", training.step);
    loop {
        (0..50).for_each(|_| training.advance());
        Tree::of(&training)?.save(checkpoint)?;
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("treedef-checkpoint-{}", std::process::id()));
    let checkpoint = folder.join("training.tree");
    if let Some(path) = std::env::args().nth(1) {
        return train(Path::new(&path));
    }
    std::fs::create_dir_all(&folder)?;
    let mut last = 0;
    for round in 1..=3 {
        println!("round {round}");
        let mut child = Command::new(std::env::current_exe()?).arg(&checkpoint).spawn()?;
        while !checkpoint.exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(300));
        child.kill()?; // at whatever point of a step or a save
        child.wait()?;
        let training: Training = Tree::load(&checkpoint)?.into_typed()?;
        println!("  killed after step {}, error {:.3}", training.step, training.error());
        assert!(training.step > last);
        last = training.step;
    }

    let (today, migration) = Tree::load(&checkpoint)?.migrate::<TrainingToday>()?;
    println!("{}, today: {migration}", today.name);
    assert_eq!(
        migration.to_string(),
        "filled `.momentum`; dropped `.step`; renamed `.weights` to `.parameters`"
    );
    assert_eq!(today.parameters.len(), 1000);
    assert!(today.momentum.is_empty());

    // A file can be checked against an expected structure before a value is made of it.
    let structure = folder.join("structure.treedef");
    Flattener::new()
        .leaves_where(LeafKind::is_float)
        .structure(&Training::new())?
        .save(&structure)?;
    println!("{}", TreeDef::load(&structure)?);
    println!("{}", Tree::load(&structure).unwrap_err());
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
