//! Ranks in Rust beside ranks in Python: see `../python/peer.py`.
//!
//! `mixed --fingerprint` prints the fingerprint that the peers need.

use mpi::traits::Communicator;
use serde::{Deserialize, Serialize};
use treedef_mpi::{Collective, Reduction};

#[derive(Serialize, Deserialize)]
struct Model {
    w: Vec<[f32; 3]>,
    b: f64,
}

/// Numbers that are exact in any sum of a few ranks.
fn model(rank: i32) -> Model {
    let number = |place: i32| (rank * 100 + place) as f32 / 8.0;
    Model {
        w: vec![[number(0), number(1), number(2)], [number(3), number(4), number(5)]],
        b: f64::from(rank) + 0.5,
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().any(|argument| argument == "--fingerprint") {
        println!("{}", treedef_mpi::fingerprint(&model(0))?);
        return Ok(());
    }
    let universe = mpi::initialize().ok_or("MPI is running already")?;
    let world = universe.world();
    let mut collective = Collective::new(&world, &model(0))?;

    let mut value = model(world.rank());
    collective.all_reduce_sum(&mut value)?;
    let (mut flat, _) = treedef::flatten_as::<f64>(&model(world.rank()))?;
    collective.all_reduce_flat(&mut flat, Reduction::Max)?;

    let singles = value.w.iter().flatten().map(|number| format!("{:08x}", number.to_bits()));
    let doubles =
        [value.b].into_iter().chain(flat).map(|number| format!("{:016x}", number.to_bits()));
    println!("{}", singles.chain(doubles).collect::<Vec<_>>().join(" "));
    Ok(())
}
