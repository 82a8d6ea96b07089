//! The cost of the checks and copies here over bare MPI: `cargo bench --bench overhead [-- RANKS]`.
//!
//! The same buffer of 10⁷ `f32` is reduced alternately by `all_reduce_into` and by `all_reduce_flat`,
//! under the same conditions. The time of a turn is the time of its slowest rank.

use std::process::Command;
use std::time::Instant;

use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Source};
use treedef_mpi::{Collective, Reduction};

const NUMBERS: usize = 10_000_000;
const TURNS: usize = 31;

fn main() {
    if std::env::var_os("OMPI_COMM_WORLD_RANK").is_none() {
        let ranks = std::env::args().skip(1).find(|argument| argument.parse::<u8>().is_ok());
        let mut mpirun = Command::new("mpirun");
        mpirun.args(["--oversubscribe", "--allow-run-as-root", "--bind-to", "none"]);
        // Who waits leaves the processor to others, as there may be more of them than processors.
        mpirun.args(["--mca", "mpi_yield_when_idle", "1", "-np"]);
        mpirun.arg(ranks.as_deref().unwrap_or("2")).arg(std::env::current_exe().unwrap());
        assert!(mpirun.status().expect("mpirun is installed: see the README").success());
        return;
    }
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let mut flat = vec![0f32; NUMBERS];
    let mut received = flat.clone();
    let mut value = flat.clone();
    let mut collective = Collective::new(&world, &flat).unwrap();
    let mut times: [Vec<f64>; 3] = Default::default();
    for _ in 0..TURNS {
        let [bare, ours, typed] = &mut times;
        bare.push(timed(&world, || {
            world.all_reduce_into(&flat[..], &mut received[..], SystemOperation::sum());
        }));
        ours.push(timed(&world, || collective.all_reduce_flat(&mut flat, Reduction::Sum).unwrap()));
        typed.push(timed(&world, || collective.all_reduce_sum(&mut value).unwrap()));
    }
    let mut small = Vec::new();
    let mut most = [0u64; 4];
    for _ in 0..TURNS {
        small.push(timed(&world, || {
            let max = SystemOperation::max;
            (0..100).for_each(|_| world.all_reduce_into(&[1u64; 4], &mut most, max()));
        }));
    }
    let latency = there_and_back(&world, &mut [0f32; 1], 100);
    let long = there_and_back(&world, &mut flat, 1);
    let copies = (0..TURNS).map(|_| timed(&world, || received.copy_from_slice(&flat)));
    let copy = median(copies.collect());
    if world.rank() == 0 {
        // Ratios of pairs: a disturbance of a turn affects its neighbour, too.
        let pairs = times[0].iter().zip(&times[1]);
        let ratio = median(pairs.map(|(bare, ours)| ours / bare).collect());
        let least = times.clone().map(|times| times.into_iter().fold(f64::MAX, f64::min));
        let medians = times.map(median);
        println!("{} ranks, {NUMBERS} f32, {TURNS} turns: median and least ms", world.size());
        let names = ["all_reduce_into", "all_reduce_flat", "all_reduce_sum of a Vec<f32>"];
        for (name, (median, least)) in names.iter().zip(medians.iter().zip(least)) {
            println!("{name:28} {:8.2} {:8.2}", median * 1e3, least * 1e3);
        }
        let over = |times: [f64; 3]| (times[1] / times[0] - 1.0) * 100.0;
        println!(
            "all_reduce_flat over all_reduce_into: {:+.1} % of medians, {:+.1} % of pairs, {:+.1} % of least",
            over(medians),
            (ratio - 1.0) * 100.0,
            over(least),
        );
        println!("a copy           {:7.2} ms", copy * 1e3);
        println!("an agreement     {:7.2} us", median(small) * 1e4);
        println!(
            "one message      {:7.2} us, {:.2} GB/s",
            latency * 1e6,
            4e-9 * NUMBERS as f64 / long
        );
    }
}

/// The seconds of a message from rank 0 to rank 1, or back.
fn there_and_back(world: &SimpleCommunicator, message: &mut [f32], count: usize) -> f64 {
    let times = (0..TURNS).map(|_| {
        timed(world, || {
            for _ in 0..count {
                match world.rank() {
                    0 => {
                        world.process_at_rank(1).send(message);
                        world.process_at_rank(1).receive_into(message);
                    }
                    1 => {
                        world.process_at_rank(0).receive_into(message);
                        world.process_at_rank(0).send(message);
                    }
                    _ => {}
                }
            }
        })
    });
    median(times.collect()) / (2 * count) as f64
}

/// The seconds of the slowest rank.
fn timed(world: &SimpleCommunicator, mut turn: impl FnMut()) -> f64 {
    world.barrier();
    let start = Instant::now();
    turn();
    let (mine, mut slowest) = (start.elapsed().as_secs_f64(), 0f64);
    world.all_reduce_into(&mine, &mut slowest, SystemOperation::max());
    slowest
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
