//! Ranks that do not agree: the same error on all, at once.

use std::time::{Duration, Instant};

use mpi::topology::SimpleCommunicator;
use mpi::traits::Communicator;
use serde::{Deserialize, Serialize};
use treedef::{Flattener, LeafKind, Static};
use treedef_mpi::{Collective, Error, Reduction};

use crate::launch::on_ranks;
use crate::{assert_same, model};

/// The error of a handshake, which is the same on all ranks, at once: long before `mpirun` would
/// end the job.
fn refused(world: &SimpleCommunicator, example: &impl Serialize) -> String {
    let start = Instant::now();
    let error = Collective::new(world, example).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    let error = error.to_string();
    assert_same(world, &error);
    error
}

/// Another version of `Model`.
mod later {
    use super::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    pub(super) struct Layer {
        pub(super) w: Vec<[f32; 2]>,
        pub(super) bias: f64,
        #[serde(with = "treedef::as_static")]
        pub(super) activation: String,
    }
}

on_ranks! {
    fn one_more_layer(world: 4) {
        let mut example = model(0);
        if world.rank() == 2 {
            example.layers.push(example.layers[0].clone());
        }
        assert_eq!(
            refused(world, &example),
            "the ranks have different structures: at `.layers` ranks 0-1, 3 expected 3 children, \
             rank 2 found 4 children"
        );
    }

    fn a_rank_that_refuses(world: 3) {
        let mut collective = Collective::new(world, &model(0)).unwrap();
        let mut value = model(world.rank());
        let error = match world.rank() {
            1 => collective.refuse("there is no value"),
            _ => collective.all_reduce_sum(&mut value).unwrap_err(),
        };
        assert_eq!(error.to_string(), "rank 1: there is no value");
        assert_same(world, &error.to_string());
        assert_eq!(value, model(world.rank()));
        collective.all_reduce_sum(&mut value).unwrap();
        assert_eq!(value.head.0, 6.0 * model(0).head.0);
    }

    /// It has taken part for the last time, so nobody may wait for it in a later call.
    fn a_rank_that_leaves_while_others_refuse(world: 3) {
        for refusing in [1, 2] {
            let mut collective = Collective::new(world, &model(0)).unwrap();
            let mut value = model(world.rank());
            if world.rank() == 0 {
                continue;
            }
            if world.rank() <= refusing {
                value.layers.pop();
            }
            let left = "rank 0 left the collective: look there for the first error";
            let error = match (world.rank(), refusing) {
                (2, 2) => collective.refuse("there is no value"),
                _ => collective.all_reduce_sum(&mut value).unwrap_err(),
            };
            assert_eq!(error.to_string(), left);
            assert_eq!(collective.all_reduce_sum(&mut value).unwrap_err().to_string(), left);
            assert_eq!(collective.refuse("there is no value").to_string(), left);
        }
    }

    /// There are more reports than ranks exchange.
    fn a_rank_that_leaves_while_many_refuse(world: 10) {
        let mut collective = Collective::new(world, &model(0)).unwrap();
        if world.rank() < 9 {
            let error = collective.refuse(format!("number {}", world.rank())).to_string();
            assert_eq!(error, "rank 9 left the collective: look there for the first error");
        }
    }

    fn another_static(world: 4) {
        let mut example = model(0);
        if world.rank() == 0 {
            example.layers[1].activation = "tanh".to_owned();
        }
        // Three ranks outvote rank 0.
        assert_eq!(
            refused(world, &example),
            "the ranks have different structures: at `.layers[1].activation` ranks 1-3 expected \
             `static \"relu\"`, rank 0 found `static \"tanh\"`"
        );
    }

    fn another_version_of_a_struct(world: 4) {
        let activation = || "relu".to_owned();
        let error = match world.rank() {
            0 | 1 => refused(world, &crate::Layer { w: vec![[0.0; 2]], b: 0.0, activation: activation() }),
            _ => refused(world, &later::Layer { w: vec![[0.0; 2]], bias: 0.0, activation: activation() }),
        };
        // Two against two: the lower rank decides.
        assert_eq!(
            error,
            "the ranks have different structures: at `.b` ranks 0-1 expected `*`, ranks 2-3 found \
             nothing"
        );
    }

    fn another_kind_of_leaf(world: 3) {
        let error = match world.rank() {
            1 => refused(world, &(0f32, [0f64; 3])),
            _ => refused(world, &(0f32, [0f32; 3])),
        };
        assert_eq!(
            error,
            "the ranks have different structures: at `.1.0` ranks 0, 2 expected f32, rank 1 found f64"
        );
    }

    /// The text is too long to be exchanged whole.
    fn a_static_of_five_megabytes(world: 3) {
        let example = match world.rank() {
            0 => (Static("long".repeat(1_250_000)), 0.5),
            _ => (Static("short".to_owned()), 0.5),
        };
        let error = Collective::new(world, &example).unwrap_err().to_string();
        assert_eq!(
            error,
            "the ranks have different structures: at the root ranks 1-2 expected `handshake f64:1  \
             (static \"short\", *)`, rank 0 found `handshake f64:1  (static \"longlonglonglonglonglonglonglonglo…`"
        );
        assert_same(world, &error);
    }

    fn each_rank_another(world: 4) {
        let error = refused(world, &vec![0.5; world.rank().try_into().unwrap()]);
        assert_eq!(
            error,
            "the ranks have different structures: \
             at the root rank 0 expected 0 children, rank 1 found 1 child; \
             at the root rank 0 expected 0 children, rank 2 found 2 children; \
             at the root rank 0 expected 0 children, rank 3 found 3 children"
        );
    }

    fn a_leaf_that_is_no_number(world: 4) {
        let error = match world.rank() {
            3 => refused(world, &(0.5, vec!["a"])),
            _ => refused(world, &(0.5, vec![7.0])),
        };
        assert_eq!(
            error,
            "rank 3: expected a float, or an integer of up to 64 bits, found str at `.1[0]` (what is \
             equal on all ranks can be `treedef::as_static`; `treedef_mpi::gather` collects what is \
             not)"
        );
        let error = match world.rank() {
            3 => refused(world, &(0.5, vec![7u64])),
            _ => refused(world, &(0.5, vec![7.0])),
        };
        assert_eq!(
            error,
            "the ranks have different structures: at `.1[0]` ranks 0-2 expected f64, rank 3 found u64"
        );
        // Static fields are not part of the operation.
        let floats = Flattener::new().leaves_where(LeafKind::is_float);
        let mut value = (0.5, vec![7u64]);
        let mut collective = Collective::with_flattener(world, floats, &value).unwrap();
        collective.all_reduce_sum(&mut value).unwrap();
        assert_eq!(value, (2.0, vec![7]));
    }

    /// Each step, with the error of all ranks. The next step works as if nothing had happened.
    fn later_calls(world: 4) {
        let mut collective = Collective::new(world, &model(0)).unwrap();
        let works = |collective: &mut Collective| {
            let mut value = model(world.rank());
            collective.all_reduce_max(&mut value).unwrap();
            assert_eq!(value, model(3));
        };

        let mut value = model(world.rank());
        if world.rank() == 1 {
            value.layers[2].w.pop();
        }
        let before = value.clone();
        let error = collective.all_reduce_sum(&mut value).unwrap_err().to_string();
        assert_eq!(error, "rank 1: expected 4 children, found 3 children at `.layers[2].w`");
        assert_same(world, &error);
        assert_eq!(value, before);
        works(&mut collective);

        value = model(world.rank());
        if world.rank() == 1 {
            value.layers[2].activation.push('6');
        }
        let error = collective.all_reduce_sum(&mut value).unwrap_err().to_string();
        assert_eq!(
            error,
            "rank 1: expected `static \"relu\"`, found `static \"relu6\"` at `.layers[2].activation` \
             (statics are part of the structure; see `ignore_statics`)"
        );
        works(&mut collective);

        value = model(world.rank());
        let error = match world.rank() {
            3 => collective.all_reduce_mean(&mut value),
            2 => collective.reduce_part("**.head", Reduction::Sum, &mut value),
            _ => collective.all_reduce_sum(&mut value),
        };
        let error = error.unwrap_err().to_string();
        assert_eq!(
            error,
            "ranks 0-1 called the sum of all leaves, 262144 numbers a message, but rank 2 called \
             the sum of `**.head`, 262144 numbers a message"
        );
        assert_same(world, &error);
        works(&mut collective);

        let root = world.rank() / 3;
        let error = collective.broadcast(root, &mut value).unwrap_err().to_string();
        assert_eq!(
            error,
            "ranks 0-2 called a broadcast from rank 0 of all leaves, 262144 numbers a message, but \
             rank 3 called a broadcast from rank 1 of all leaves, 262144 numbers a message"
        );
        let error = collective.broadcast(-1, &mut value).unwrap_err().to_string();
        assert_eq!(error, "ranks 0-3: no rank -1, there are 4");
        works(&mut collective);
    }

    /// The kinds of leaves are not part of a structure, so a value may change them.
    fn a_leaf_that_changes_its_kind(world: 2) {
        #[derive(Serialize, Deserialize)]
        #[serde(untagged)]
        enum Number {
            Single(f32),
            Double(f64),
        }
        let example = (Number::Single(0.5), Number::Double(0.5));
        let mut collective = Collective::new(world, &example).unwrap();
        let mut value = match world.rank() {
            0 => (Number::Single(0.5), Number::Double(0.1)),
            _ => (Number::Double(0.1), Number::Double(0.1)),
        };
        let error = collective.all_reduce_sum(&mut value).unwrap_err().to_string();
        assert_eq!(error, "rank 1: expected f32, found f64 at `.0`");
    }

    /// The error is of one rank alone, which then leaves. The others learn of that.
    fn a_type_that_refuses_the_result(world: 3) {
        #[derive(Serialize, Deserialize)]
        #[serde(try_from = "f64")]
        struct Small(f64);

        impl TryFrom<f64> for Small {
            type Error = String;

            fn try_from(number: f64) -> Result<Self, String> {
                let rank = SimpleCommunicator::world().rank();
                if rank == 1 && number > 2.0 { Err(format!("{number} is too large")) } else { Ok(Small(number)) }
            }
        }
        let mut value = vec![Small(1.0)];
        let mut collective = Collective::new(world, &value).unwrap();
        let result = collective.all_reduce_sum(&mut value);
        if world.rank() == 1 {
            let error = result.unwrap_err().to_string();
            assert_eq!(error, "the result does not fit the type: 3 is too large at `[0]`");
            return;
        }
        result.unwrap();
        let error = collective.all_reduce_sum(&mut value).unwrap_err();
        assert!(matches!(&error, Error::Left(ranks) if ranks.as_slice() == [1]), "{error}");
        let error = collective.all_reduce_sum(&mut value).unwrap_err().to_string();
        assert_eq!(error, "rank 1 left the collective: look there for the first error");
    }
}
