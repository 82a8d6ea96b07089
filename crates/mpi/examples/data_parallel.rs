//! A network that learns a curve, with a shard of the data on each rank: `mpirun -np 4`.
//!
//! The same training runs on one rank, on two, on four, … so far as there are ranks. All must come
//! to the same loss. Prints how the time falls, and the share of it that is spent in MPI.

#[path = "network/mod.rs"]
mod network;

use std::time::{Duration, Instant};

use mpi::topology::Color;
use mpi::traits::{Communicator, CommunicatorCollectives};
use network::{Network, Step, samples};
use treedef_mpi::{Collective, gather, scatter};

const STEPS: usize = 25;
const RATE: f64 = 0.05;

fn descend(network: &mut Network, step: &Step) {
    let rate = RATE / step.samples;
    network.offset -= rate * step.gradient.offset;
    for (neuron, gradient) in network.hidden.iter_mut().zip(&step.gradient.hidden) {
        neuron.out -= rate * gradient.out;
        neuron.b -= rate * gradient.b;
        neuron.w[0] -= rate * gradient.w[0];
        neuron.w[1] -= rate * gradient.w[1];
    }
}

/// The last loss, the time of all steps and the time in MPI.
fn train(
    communicator: &impl Communicator,
) -> Result<(f64, Duration, Duration), treedef_mpi::Error> {
    let all = if communicator.rank() == 0 { samples() } else { Vec::new() };
    let shard = scatter(communicator, 0, &all)?;
    let mut network = Network::new();
    let mut step = Step { gradient: network.clone(), loss: 0.0, samples: 0.0 };
    let mut collective = Collective::new(communicator, &step)?;
    let (start, before) = (Instant::now(), collective.time_in_mpi());
    for _ in 0..STEPS {
        network.step(&shard, &mut step);
        collective.all_reduce_sum(&mut step)?;
        descend(&mut network, &step);
    }
    Ok((step.loss / step.samples, start.elapsed(), collective.time_in_mpi() - before))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let universe = mpi::initialize().ok_or("MPI is running already")?;
    let world = universe.world();
    let mut alone = None;
    let counts = std::iter::successors(Some(1), |count| Some(count * 2));
    for count in counts.take_while(|count| *count <= world.size()) {
        let color = if world.rank() < count { Color::with_value(0) } else { Color::undefined() };
        if let Some(some) = world.split_by_color(color) {
            let (loss, time, in_mpi) = train(&some)?;
            let shares = gather(&some, 0, &[in_mpi.as_secs_f64() / time.as_secs_f64()])?;
            if some.rank() == 0 {
                let (first_loss, first_time) = *alone.get_or_insert((loss, time));
                println!(
                    "{count} rank(s): loss {loss:.9}, {:6.1} ms, {:.2} times as fast, {:4.1} % in MPI",
                    time.as_secs_f64() * 1e3,
                    first_time.as_secs_f64() / time.as_secs_f64(),
                    shares.iter().sum::<f64>() / f64::from(count) * 100.0,
                );
                if (loss - first_loss).abs() > 1e-6 {
                    return Err(
                        format!("the loss is {loss}, of one rank it is {first_loss}").into()
                    );
                }
            }
        }
        wait(&world);
    }
    Ok(())
}

/// A barrier that leaves the processor to those who work.
fn wait(world: &impl Communicator) {
    mpi::request::scope(|_| {
        let mut barrier = world.immediate_barrier();
        while let Err(pending) = barrier.test() {
            barrier = pending;
            std::thread::sleep(Duration::from_millis(1));
        }
    });
}
