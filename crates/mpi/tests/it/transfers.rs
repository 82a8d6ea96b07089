//! Values of any structure from one rank to others.

use std::collections::BTreeMap;

use mpi::traits::Communicator;
use serde::{Deserialize, Serialize};
use treedef::Tree;

use crate::launch::on_ranks;
use crate::{assert_same, model};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Document {
    Empty,
    Text { title: String, words: BTreeMap<String, u64> },
    Numbers(Vec<u128>, Option<char>),
}

fn document(number: usize) -> Document {
    match number % 3 {
        0 => Document::Empty,
        1 => Document::Text {
            title: format!("the {number}th"),
            words: (0..number as u64).map(|n| (format!("word {n}"), n)).collect(),
        },
        _ => Document::Numbers(vec![u128::MAX - number as u128; number], Some('é')),
    }
}

on_ranks! {
    fn ranks_without_an_example_get_the_value(world: 4) {
        let mine = (world.rank() == 2).then(|| model(7));
        assert_eq!(treedef_mpi::broadcast(world, 2, mine.as_ref()).unwrap(), model(7));

        let tree = Tree::of(&model(7)).unwrap();
        let mine = (world.rank() == 1).then_some(&tree);
        assert_eq!(treedef_mpi::broadcast_tree(world, 1, mine).unwrap(), tree);
    }

    /// 40 MB are three messages.
    fn long_values_arrive(world: 2) {
        let text = |rank: i32| format!("{rank}{}", "-".repeat(40_000_000));
        let mine = text(world.rank());
        assert!(treedef_mpi::broadcast(world, 1, Some(&mine)).unwrap() == text(1));
        let all = treedef_mpi::gather(world, 0, &[mine]).unwrap();
        assert!(all == if world.rank() == 0 { vec![text(0), text(1)] } else { Vec::new() });
    }

    fn what_is_scattered_is_gathered(world: 4) {
        for count in [0, 1, 3, 4, 5, 11] {
            let all: Vec<Document> = (0..count).map(document).collect();
            let mine = if world.rank() == 1 { &all[..] } else { &[] };
            let shard = treedef_mpi::scatter(world, 1, mine).unwrap();
            let rank = usize::try_from(world.rank()).unwrap();
            assert_eq!(shard.len(), count / 4 + usize::from(rank < count % 4));
            let gathered = treedef_mpi::gather(world, 3, &shard).unwrap();
            assert_eq!(gathered, if rank == 3 { all } else { Vec::new() });
        }
    }

    fn errors_of_one_rank_reach_all(world: 4) {
        // Each line: the operation, and the error of all ranks.
        let error = treedef_mpi::broadcast::<f64>(world, 1, None).unwrap_err().to_string();
        assert_eq!(error, "rank 1: the root of a broadcast has no value");

        let error = treedef_mpi::broadcast(world, 9, Some(&1.0)).unwrap_err().to_string();
        assert_eq!(error, "ranks 0-3: no rank 9, there are 4");

        // Rank 2 wants a type that the value does not fit.
        let result = match world.rank() {
            2 => treedef_mpi::broadcast::<Vec<f64>>(world, 0, None).map(drop),
            _ => treedef_mpi::broadcast(world, 0, Some(&(1, "a".to_owned()))).map(drop),
        };
        let error = result.unwrap_err().to_string();
        assert_eq!(error, "rank 2: invalid type: string \"a\", expected f64 at `.1`");
        assert_same(world, &error);

        // Rank 3 sends elements that the root cannot read.
        let result = match world.rank() {
            3 => treedef_mpi::gather(world, 0, &["three".to_owned()]).map(drop),
            rank => treedef_mpi::gather(world, 0, &[rank]).map(drop),
        };
        let error = result.unwrap_err().to_string();
        assert_eq!(error, "rank 0: from rank 3: invalid type: string \"three\", expected i32 at `[0]`");
        assert_same(world, &error);

        // Ranks call different functions.
        let result = match world.rank() {
            0 => treedef_mpi::scatter::<i32>(world, 0, &[]).map(drop),
            _ => treedef_mpi::gather::<i32>(world, 0, &[]).map(drop),
        };
        let error = result.unwrap_err().to_string();
        assert_eq!(
            error,
            "ranks 1-3 called gather to rank 0, but rank 0 called scatter from rank 0"
        );
        assert_same(world, &error);
    }
}
