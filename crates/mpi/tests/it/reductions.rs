//! The results of the collective operations.

use mpi::traits::Communicator;
use serde::{Deserialize, Serialize};
use treedef_mpi::{Collective, Reduction};

use crate::launch::on_ranks;
use crate::{Model, mapped, model};

/// The sums of `rank + 1` over 4 ranks is 10.
const SUM: f64 = 10.0;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Counts {
    steps: Vec<u64>,
    losses: [f32; 2],
    signed: i64,
    small: (u8, i8, u16, i16, u32, i32),
    mean: f64,
}

on_ranks! {
    fn values_are_summed_averaged_and_compared(world: 4) {
        let mut collective = Collective::new(world, &model(0)).unwrap();
        let unit = model(0);

        let mut value = model(world.rank());
        collective.all_reduce_sum(&mut value).unwrap();
        assert_eq!(value, mapped(&unit, |x| x * SUM));

        let mut value = model(world.rank());
        collective.all_reduce_mean(&mut value).unwrap();
        assert_eq!(value, mapped(&unit, |x| x * SUM / 4.0));

        let mut value = model(world.rank());
        collective.all_reduce_max(&mut value).unwrap();
        assert_eq!(value, mapped(&unit, |x| x * 4.0));

        let mut value = model(world.rank());
        collective.broadcast(2, &mut value).unwrap();
        assert_eq!(value, model(2));
    }

    /// One kind of leaves is reduced where it is, two kinds are packed.
    fn one_kind_is_as_good_as_two(world: 3) {
        let singles: Vec<[f32; 5]> = vec![[world.rank() as f32; 5]; 7];
        let doubles: Vec<[f64; 5]> = vec![[f64::from(world.rank()); 5]; 7];
        let mut both = (singles.clone(), doubles.clone(), singles.clone());
        let (mut s, mut d) = (singles.clone(), doubles.clone());
        Collective::new(world, &s).unwrap().all_reduce_sum(&mut s).unwrap();
        Collective::new(world, &d).unwrap().all_reduce_sum(&mut d).unwrap();
        Collective::new(world, &both).unwrap().all_reduce_sum(&mut both).unwrap();
        assert_eq!((&s, &d), (&vec![[3.0; 5]; 7], &vec![[3.0; 5]; 7]));
        assert_eq!(both, (s.clone(), d, s));
    }

    fn a_part_is_reduced_and_the_rest_stays(world: 4) {
        let mine = model(world.rank());
        let sum = mapped(&model(0), |x| x * SUM);
        let mut collective = Collective::new(world, &mine).unwrap();

        let mut value = mine.clone();
        collective.reduce_part("**.head", Reduction::Sum, &mut value).unwrap();
        assert_eq!(value, Model { layers: mine.layers.clone(), head: sum.head });

        // Leaves that are not neighbours.
        let mut value = mine.clone();
        collective.reduce_part("**.b", Reduction::Sum, &mut value).unwrap();
        let mut expected = mine.clone();
        for (layer, sum) in expected.layers.iter_mut().zip(&sum.layers) {
            layer.b = sum.b;
        }
        assert_eq!(value, expected);

        let mut value = mine.clone();
        collective.reduce_part(".layers[1]", Reduction::Max, &mut value).unwrap();
        let mut expected = mine.clone();
        expected.layers[1] = model(3).layers[1].clone();
        assert_eq!(value, expected);

        let error = collective.reduce_part("**.tail", Reduction::Sum, &mut value).unwrap_err();
        assert_eq!(error.to_string(), "ranks 0-3: no node matches `**.tail`");
    }

    /// Integers of each kind beside floats, exactly.
    fn integers_are_summed_exactly(world: 4) {
        let rank = world.rank();
        let unsigned = u64::try_from(rank).unwrap();
        let value = || Counts {
            steps: vec![unsigned + (1 << 60); 3],
            losses: [0.5 * rank as f32; 2],
            signed: i64::from(rank) - (1 << 60),
            small: (rank as u8, -(rank as i8), rank as u16, -(rank as i16), rank as u32, -rank),
            mean: f64::from(rank),
        };
        let mut collective = Collective::new(world, &value()).unwrap();
        let mut summed = value();
        collective.all_reduce_sum(&mut summed).unwrap();
        let expected = Counts {
            steps: vec![6 + (4 << 60); 3],
            losses: [3.0; 2],
            signed: 6 - (4 << 60),
            small: (6, -6, 6, -6, 6, -6),
            mean: 6.0,
        };
        assert_eq!(summed, expected);

        let mut greatest = Counts { signed: -i64::from(rank), ..value() };
        greatest.steps[1] = u64::MAX - unsigned;
        collective.all_reduce_max(&mut greatest).unwrap();
        assert_eq!(greatest.steps, [3 + (1 << 60), u64::MAX, 3 + (1 << 60)]);
        assert_eq!((greatest.signed, greatest.small), (0, (3, 0, 3, 0, 3, 0)));

        let mut theirs = Counts { signed: i64::MIN + i64::from(rank), ..value() };
        theirs.steps[0] = u64::MAX - unsigned;
        collective.broadcast(2, &mut theirs).unwrap();
        assert_eq!((theirs.steps[0], theirs.signed), (u64::MAX - 2, i64::MIN + 2));

        // So few words a message that integers are parted from each other, but not in themselves.
        for longest in [1, 2, 3, 4] {
            let mut short = Collective::new(world, &value()).unwrap().max_message(longest);
            let mut summed = value();
            short.all_reduce_sum(&mut summed).unwrap();
            assert_eq!(summed, expected);
        }
    }

    /// An `f32` fits where the handshake had an `f64`, beside integers, too.
    fn a_narrower_float(world: 2) {
        let mut floats = Collective::new(world, &(0.0f64, 0.0f64)).unwrap();
        let mut both = Collective::new(world, &(0.0f64, 0u32)).unwrap();
        let (mut single, mut beside) = ((0.1f32, 0.1f64), (0.1f32, 1u32));
        floats.all_reduce_sum(&mut single).unwrap();
        assert_eq!(single, (0.2, 0.2));
        both.all_reduce_sum(&mut beside).unwrap();
        assert_eq!(beside, (0.2, 2));
        // Ranks may differ in it: the sum has all bits where there is room for them.
        let mut double = (0.1f64, 1u32);
        if world.rank() == 0 {
            both.all_reduce_sum(&mut beside).unwrap();
            assert_eq!(beside, (0.3, 3));
        } else {
            both.all_reduce_sum(&mut double).unwrap();
            assert_eq!(double, (0.1 + f64::from(0.2f32), 3));
        }
    }

    fn a_sum_that_is_too_large_is_the_same_error_everywhere(world: 4) {
        let mut collective = Collective::new(world, &(0.5, vec![0u64; 3], 0i64, 0u8)).unwrap();
        let large = |place: usize| {
            let mut value = (1.5, vec![1u64; 3], 1i64, 1u8);
            value.1[place] = u64::MAX / 4 + 1;
            value
        };
        let mut value = large(2);
        let error = collective.all_reduce_sum(&mut value).unwrap_err().to_string();
        assert_eq!(error, "ranks 0-3: the sum 18446744073709551616 does not fit into u64 at `.1[2]`");
        assert_eq!(value, large(2)); // nothing has changed
        for (signed, sum) in [(i64::MAX, "36893488147419103228"), (i64::MIN, "-36893488147419103232")] {
            let error = collective.all_reduce_sum(&mut (0.5, vec![0u64; 3], signed, 0u8)).unwrap_err();
            let expected = format!("ranks 0-3: the sum {sum} does not fit into i64 at `.2`");
            assert_eq!(error.to_string(), expected);
        }
        let error = collective.all_reduce_sum(&mut (0.5, vec![0u64; 3], 0i64, 64u8)).unwrap_err();
        assert_eq!(error.to_string(), "ranks 0-3: the sum 256 does not fit into u8 at `.3`");
        // The next call works, and reaches the limits.
        let mut value = (0.5, vec![u64::MAX / 4; 3], i64::MIN / 4, 63u8);
        collective.all_reduce_sum(&mut value).unwrap();
        assert_eq!(value, (2.0, vec![u64::MAX - 3; 3], i64::MIN, 252));
    }

    fn the_mean_of_integers_says_what_to_do(world: 3) {
        let mut value = (vec![3u32; 2], vec![f64::from(world.rank()); 2]);
        let mut collective = Collective::new(world, &value).unwrap();
        let error = collective.all_reduce_mean(&mut value).unwrap_err().to_string();
        assert_eq!(
            error,
            "ranks 0-2: the mean of integers is none: found u32 at `.0[0]` (take the sum and divide \
             it, or the mean of a part without it: `reduce_part`)"
        );
        collective.reduce_part(".1", Reduction::Mean, &mut value).unwrap();
        assert_eq!(value, (vec![3; 2], vec![1.0; 2]));
        collective.reduce_part(".0", Reduction::Sum, &mut value).unwrap();
        assert_eq!(value, (vec![9; 2], vec![1.0; 2]));
        // Another kind than in the handshake.
        let error = collective.all_reduce_sum(&mut (vec![3u64; 2], vec![0.5; 2])).unwrap_err();
        assert_eq!(error.to_string(), "ranks 0-2: expected u32, found u64 at `.0[0]`");
    }

    /// The limit represents the 2³¹ − 1 of MPI.
    fn long_buffers_go_in_several_messages(world: 4) {
        let example = (vec![0f32; 10], vec![0f64; 7]);
        for longest in [1, 2, 3, 9, 10, 11, 1 << 40] {
            let mut collective = Collective::new(world, &example).unwrap().max_message(longest);
            let mut value = example.clone();
            for (place, number) in value.0.iter_mut().enumerate() {
                *number = (place as i32 * (world.rank() + 1)) as f32;
            }
            value.1.fill(world.rank().into());
            collective.all_reduce_sum(&mut value).unwrap();
            assert_eq!(value.0, (0..10).map(|place| place as f32 * 10.0).collect::<Vec<_>>());
            assert_eq!(value.1, [6.0; 7]);
        }
    }

    fn flat_buffers_are_reduced_in_place(world: 4) {
        let (mut flat, treedef) = treedef::flatten_as::<f64>(&model(world.rank())).unwrap();
        let mut collective = Collective::new(world, &model(0)).unwrap().max_message(4);
        collective.all_reduce_flat(&mut flat, Reduction::Mean).unwrap();
        let mean: Model = treedef::unflatten(&treedef, &flat).unwrap();
        assert_eq!(mean, mapped(&model(0), |x| x * SUM / 4.0));

        let mut flat = [1f32; 3];
        let error = collective.all_reduce_flat(&mut flat, Reduction::Sum).unwrap_err();
        assert_eq!(error.to_string(), "ranks 0-3: expected 29 numbers, found 3");
    }

    fn what_has_no_leaves_and_who_is_alone(world: 2) {
        let mut nothing: Vec<f64> = Vec::new();
        Collective::new(world, &nothing).unwrap().all_reduce_sum(&mut nothing).unwrap();

        let alone = mpi::topology::SimpleCommunicator::self_comm();
        let mut value = model(6);
        Collective::new(&alone, &value).unwrap().all_reduce_mean(&mut value).unwrap();
        assert_eq!(value, model(6));
    }

    /// NaNs, infinities, signed zeros and the smallest numbers arrive as they are.
    fn odd_numbers_arrive(world: 2) {
        let odd = (vec![-0.0f32, f32::INFINITY, f32::from_bits(1), f32::MAX], vec![-0.0f64, f64::MIN]);
        let mut value = odd.clone();
        let mut collective = Collective::new(world, &odd).unwrap();
        collective.broadcast(1, &mut value).unwrap();
        assert_eq!(treedef::flatten(&value).unwrap().0, treedef::flatten(&odd).unwrap().0);

        let mut nan = (vec![f32::NAN; 4], vec![f64::NAN; 2]);
        collective.all_reduce_sum(&mut nan).unwrap();
        assert!(nan.0.iter().all(|x| x.is_nan()) && nan.1.iter().all(|x| x.is_nan()));
    }
}
