//! What the collective operations compute.

use mpi::traits::Communicator;
use treedef_mpi::{Collective, Reduction};

use crate::launch::on_ranks;
use crate::{Model, mapped, model};

/// The sums of `rank + 1` over 4 ranks is 10.
const SUM: f64 = 10.0;

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

    /// The limit stands for the 2³¹ − 1 of MPI.
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
        assert_eq!(treedef::leaves(&value).unwrap(), treedef::leaves(&odd).unwrap());

        let mut nan = (vec![f32::NAN; 4], vec![f64::NAN; 2]);
        collective.all_reduce_sum(&mut nan).unwrap();
        assert!(nan.0.iter().all(|x| x.is_nan()) && nan.1.iter().all(|x| x.is_nan()));
    }
}
