//! What the checks and copies here cost over bare MPI: `cargo bench --bench overhead [-- RANKS]`.
//!
//! The same buffer of 10⁷ `f32` is reduced by `all_reduce_into` and by `all_reduce_flat` in turn,
//! so that both meet the same weather. A turn takes as long as its slowest rank.

use std::process::Command;
use std::time::Instant;

use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};
use treedef_mpi::{Collective, Reduction};

const NUMBERS: usize = 10_000_000;
const TURNS: usize = 31;

fn main() {
    if std::env::var_os("OMPI_COMM_WORLD_RANK").is_none() {
        let ranks = std::env::args().skip(1).find(|argument| argument.parse::<u8>().is_ok());
        let mut mpirun = Command::new("mpirun");
        mpirun.args(["--oversubscribe", "--allow-run-as-root", "--bind-to", "none", "-np"]);
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
    let (mut message, mut small) = ([0u64; 4], Vec::new());
    for _ in 0..TURNS {
        small.push(timed(&world, || {
            (0..100).for_each(|_| {
                world.all_reduce_into(&[1u64; 4], &mut message, SystemOperation::max())
            });
        }));
    }
    if world.rank() == 0 {
        // Of pairs: what disturbs a turn disturbs its neighbour, too.
        let ratios = times[0].iter().zip(&times[1]).map(|(bare, ours)| ours / bare).collect();
        let [bare, ours, typed] = times.map(median);
        println!("{} ranks, {NUMBERS} f32, medians of {TURNS} turns", world.size());
        println!("all_reduce_into  {:7.2} ms", bare * 1e3);
        println!(
            "all_reduce_flat  {:7.2} ms, {:+.1} %; {:+.1} % in pairs",
            ours * 1e3,
            (ours / bare - 1.0) * 100.0,
            (median(ratios) - 1.0) * 100.0
        );
        println!("all_reduce_sum   {:7.2} ms, of a `Vec<f32>`: flattened and rebuilt", typed * 1e3);
        println!("agreement        {:7.4} ms", median(small) * 10.0);
    }
}

/// The seconds that the slowest rank takes.
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
