//! Training by `treedef-optim` with a shard of the data on each rank: `mpirun -np 4`.
//!
//! Each rank takes the gradient of its samples, the ranks add theirs up, and all take the same step of Adam
//! with clipping and a schedule. The losses are those of one process that has all samples, and all ranks
//! end with the same bits.

#[path = "network/mod.rs"]
mod network;

use mpi::traits::Communicator;
use network::{Network, Sample, Step, samples};
use treedef_mpi::{Collective, gather, scatter};
use treedef_optim::schedules::warmup_cosine;
use treedef_optim::transform::clip_by_global_norm;
use treedef_optim::{Optimiser, adam, chain, tree};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const STEPS: u64 = 40;

/// The losses of all steps, and the network. `add_up` makes one step of those of all ranks.
fn train(
    shard: &[Sample],
    mut add_up: impl FnMut(&mut Step) -> Result<()>,
) -> Result<(Vec<f64>, Network)> {
    let rate = warmup_cosine(0.0, 0.03, 5, STEPS, 0.003);
    let optimiser = chain!(clip_by_global_norm(1.0), adam(rate));
    let mut network = Network::new();
    let mut state = optimiser.init::<f64, _>(&network)?;
    let mut losses = Vec::new();
    for _ in 0..STEPS {
        let mut step = Step { gradient: network.clone(), loss: 0.0, samples: 0.0 };
        network.step(shard, &mut step);
        add_up(&mut step)?;
        losses.push(step.loss / step.samples);
        let gradient = tree::scale::<f64, _>(1.0 / step.samples, step.gradient)?;
        network = optimiser.step(network, gradient, &mut state)?;
    }
    Ok((losses, network))
}

fn main() -> Result<()> {
    let universe = mpi::initialize().ok_or("MPI is running already")?;
    let world = universe.world();
    let all = if world.rank() == 0 { samples() } else { Vec::new() };
    let shard = scatter(&world, 0, &all)?;
    let example = Step { gradient: Network::new(), loss: 0.0, samples: 0.0 };
    let mut collective = Collective::new(&world, &example)?;
    let (losses, network) = train(&shard, |step| Ok(collective.all_reduce_sum(step)?))?;

    let bits: Vec<u64> =
        treedef::flatten_as::<f64>(&network)?.0.into_iter().map(f64::to_bits).collect();
    let networks = gather(&world, 0, &[bits])?;
    if world.rank() > 0 {
        return Ok(());
    }
    let (alone, _) = train(&all, |_| Ok(()))?;
    let far = losses.iter().zip(&alone).map(|(loss, alone)| (loss - alone).abs());
    let far = far.fold(0.0, f64::max);
    println!(
        "{} ranks: loss {:.6} to {:.6} in {STEPS} steps, at most {far:.1e} from one process",
        world.size(),
        losses.first().ok_or("no step")?,
        losses.last().ok_or("no step")?,
    );
    if far > 1e-6 || losses.last() > losses.first() {
        return Err("the losses are not those of one process".into());
    }
    if networks.iter().any(|bits| Some(bits) != networks.first()) {
        return Err("the ranks have different networks".into());
    }
    Ok(())
}
