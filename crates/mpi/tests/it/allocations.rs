//! A step allocates nothing: all buffers were made in the first.

use mpi::traits::Communicator;
use treedef_mpi::{Collective, Reduction};

use crate::launch::on_ranks;

type Parameters = (Vec<Vec<f32>>, [[f64; 3]; 2], f32);

fn parameters(rank: i32) -> Parameters {
    (vec![vec![rank as f32; 50]; 20], [[rank.into(); 3]; 2], 1.0)
}

on_ranks! {
    fn steps_allocate_nothing(world: 2) {
        let mut mixed = parameters(world.rank());
        let mut single = mixed.0.clone();
        let mut flat = vec![0f64; 1007];
        let mut ours = Collective::new(world, &mixed).unwrap().max_message(64);
        let mut of_singles = Collective::new(world, &single).unwrap();
        let mut step = || {
            ours.all_reduce_mean(&mut mixed).unwrap();
            ours.all_reduce_max(&mut mixed).unwrap();
            ours.broadcast(0, &mut mixed).unwrap();
            ours.reduce_part(".0[*]", Reduction::Sum, &mut mixed).unwrap();
            ours.all_reduce_flat(&mut flat, Reduction::Sum).unwrap();
            of_singles.all_reduce_sum(&mut single).unwrap();
        };
        let first = allocation_counter::measure(&mut step);
        assert!(first.count_total > 0);
        let others = allocation_counter::measure(|| (0..10).for_each(|_| step()));
        assert_eq!(others.count_total, 0);
    }
}
