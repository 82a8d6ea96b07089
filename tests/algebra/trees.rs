//! Laws of trees with leaves of any type.

use std::collections::HashSet;

use insta::assert_snapshot;
use proptest::prelude::*;
use treedef::{Flattener, Leaf, Path, Tree, TreeDef};
use treedef_testing::cases::config;

use crate::data::data;

/// A random structure with few distinct leaves.
fn trees() -> impl Strategy<Value = Tree<u8>> {
    (data(), any::<u64>()).prop_map(|(data, seed)| {
        let treedef = treedef::structure(&data).unwrap();
        let mut random = fastrand::Rng::with_seed(seed);
        let leaves = (0..treedef.num_leaves()).map(|_| random.u8(..5)).collect();
        Tree::new(treedef, leaves).unwrap()
    })
}

proptest! {
    #![proptest_config(config(1_000))]

    #[test]
    fn mapping_is_a_functor(tree in trees()) {
        prop_assert_eq!(&tree.clone().map(|leaf| leaf), &tree);
        let (f, g) = (|leaf: u8| i32::from(leaf) - 2, |leaf: i32| leaf.to_string());
        prop_assert_eq!(tree.clone().map(f).map(g), tree.clone().map(|leaf| g(f(leaf))));
        prop_assert_eq!(tree.clone().try_map(|leaf| Ok::<_, String>(f(leaf))).unwrap(), tree.clone().map(f));
        let paths = tree.clone().map_with_path(|path, _| path.clone());
        prop_assert_eq!(paths.leaves(), tree.treedef().leaf_paths().collect::<Vec<_>>());
        for (path, leaf) in tree.iter() {
            prop_assert!(tree.get(&path).is_ok_and(|found| found == leaf) || repeats_a_field(&tree));
        }
    }

    #[test]
    fn combining_undoes_partitions(tree in trees(), parts in 5..7usize) {
        let (low, high) = tree.clone().partition(|_: &_, leaf: &u8| *leaf < 2).unwrap();
        prop_assert_eq!(low.treedef(), high.treedef());
        let alternate = low.leaves().iter().zip(high.leaves());
        prop_assert!(alternate.clone().all(|(a, b)| a.is_some() != b.is_some()));
        prop_assert_eq!(&Tree::combine([high, low]).unwrap(), &tree);

        let part = |number| {
            let is_there = move |_: &_, leaf: &u8| usize::from(*leaf) == number;
            tree.clone().partition(is_there).unwrap().0
        };
        prop_assert_eq!(&Tree::combine((0..parts).map(part)).unwrap(), &tree);

        let mask = tree.clone().map(|leaf| leaf == 3);
        let (masked, rest) = tree.clone().partition(&mask).unwrap();
        prop_assert_eq!((masked, rest), tree.partition(|_: &_, leaf: &u8| *leaf == 3).unwrap());
    }

    #[test]
    fn unstacking_undoes_stacking(tree in trees(), count in 1..5u8) {
        let batch: Vec<_> = (0..count).map(|n| tree.clone().map(|leaf| leaf + n)).collect();
        let stacked = Tree::stack(batch.clone()).unwrap();
        prop_assert!(stacked.leaves().iter().all(|column| column.len() == usize::from(count)));
        match stacked.unstack() {
            Ok(unstacked) => prop_assert_eq!(unstacked, batch),
            Err(_) => prop_assert_eq!(tree.leaves().len(), 0),
        }
    }

    #[test]
    fn distinct_leaves_rebuild_the_tree(tree in trees()) {
        let unique = tree.clone().unique_by(Clone::clone);
        let distinct: HashSet<u8> = tree.leaves().iter().copied().collect();
        prop_assert_eq!(unique.leaves.len(), distinct.len());
        prop_assert_eq!(&unique.rebuild(&unique.leaves).unwrap(), &tree);
        let squares: Vec<u32> = unique.leaves.iter().map(|leaf| u32::from(*leaf).pow(2)).collect();
        prop_assert_eq!(unique.rebuild(&squares).unwrap(), tree.map(|leaf| u32::from(leaf).pow(2)));
    }

    #[test]
    fn a_subtree_is_replaced_and_nothing_else(tree in trees(), other in trees(), place: prop::sample::Index) {
        prop_assume!(!tree.leaves().is_empty() && !repeats_a_field(&tree));
        let leaf = place.index(tree.leaves().len());
        let path = tree.treedef().leaf_path(leaf).unwrap();
        // Somewhere on the way to a leaf.
        let path: Path = path.keys().iter().take(leaf % (path.keys().len() + 1)).cloned().collect();
        let mut replaced = tree.clone();
        let old = replaced.replace(&path, other.clone()).unwrap();
        prop_assert_eq!(&old, &tree.subtree(&path).unwrap());
        prop_assert_eq!(&replaced.subtree(&path).unwrap(), &other);
        let reparsed: TreeDef = replaced.treedef().to_string().parse().unwrap();
        prop_assert_eq!(&reparsed, replaced.treedef());
        let elsewhere = |tree: &Tree<u8>| -> Vec<(Path, u8)> {
            tree.iter().filter(|(at, _)| !at.keys().starts_with(path.keys())).map(|(at, leaf)| (at, *leaf)).collect()
        };
        prop_assert_eq!(elsewhere(&replaced), elsewhere(&tree));
        let mut back = replaced;
        let new = back.replace(&path, old).unwrap();
        prop_assert_eq!((back, new), (tree, other));
    }

    /// Leaves that fit are restored bit by bit, in their own kind. The first one that does not is an error.
    #[test]
    fn unravelling_undoes_ravelling(leaves in prop::collection::vec(number(), 0..6)) {
        let tree = Tree::new(format!("[{}]", vec!["*"; leaves.len()].join(", ")).parse().unwrap(), leaves).unwrap();
        match tree.ravel() {
            Ok((vector, ravel)) => {
                prop_assert!(tree.leaves().iter().all(fits_an_f64));
                prop_assert_eq!(vector.len(), tree.leaves().len());
                prop_assert_eq!(ravel.unravel(&vector).unwrap(), tree);
            }
            Err(error) => {
                let first = tree.iter().find(|(_, leaf)| !fits_an_f64(leaf)).map(|(path, _)| path);
                prop_assert_eq!(Some(error.path().clone()), first);
            }
        }
    }

    #[test]
    fn zipping_goes_leaf_by_leaf(tree in trees()) {
        let pairs = tree.clone().zip_with(tree.clone(), |a, b| (a, b)).unwrap();
        prop_assert!(pairs.leaves().iter().all(|(a, b)| a == b));
        prop_assert_eq!(tree.clone().zip(tree.clone()).unwrap(), pairs);
        let ones = Tree::leaf(1).broadcast_to(tree.treedef()).unwrap();
        let sums = ones.zip_with(tree.clone(), |one, leaf| one + leaf).unwrap();
        prop_assert_eq!(sums, tree.map(|leaf| leaf + 1));
    }
}

fn number() -> impl Strategy<Value = Leaf> {
    // Around the last integers that all fit.
    let near = |bits: u32| (-3..3i64).prop_map(move |step| (1i64 << bits) + step);
    prop_oneof![
        any::<bool>().prop_map(Leaf::from),
        any::<i8>().prop_map(Leaf::from),
        any::<i32>().prop_map(Leaf::from),
        near(53).prop_map(Leaf::from),
        near(53).prop_map(|value| Leaf::from(-value)),
        near(54).prop_map(|value| Leaf::from(value.cast_unsigned())),
        any::<i128>().prop_map(|value| Leaf::from(value >> 40 << 40)),
        (0..128u32).prop_map(|bit| Leaf::from(1u128 << bit)),
        any::<u128>().prop_map(Leaf::from),
        any::<u32>().prop_map(|bits| Leaf::from(f32::from_bits(bits))),
        any::<u64>().prop_map(|bits| Leaf::from(f64::from_bits(bits))),
    ]
}

/// Whether the digits of an integer fit into the 53 bits of a float. The digits of a float do, except for the
/// bit of a signalling NaN.
fn fits_an_f64(leaf: &Leaf) -> bool {
    let magnitude = match leaf {
        Leaf::I64(value) => value.unsigned_abs().into(),
        Leaf::U64(value) => (*value).into(),
        Leaf::I128(value) => value.get().unsigned_abs(),
        Leaf::U128(value) => value.get(),
        _ => 0,
    };
    magnitude == 0 || 128 - magnitude.leading_zeros() - magnitude.trailing_zeros() <= 53
}

/// A path leads to the first of two fields with one name.
fn repeats_a_field(tree: &Tree<u8>) -> bool {
    let paths: HashSet<_> = tree.treedef().leaf_paths().collect();
    paths.len() < tree.leaves().len()
}

fn numbered(text: &str) -> Tree<usize> {
    let treedef: TreeDef = text.parse().unwrap();
    let leaves = (0..treedef.num_leaves()).collect();
    Tree::new(treedef, leaves).unwrap()
}

/// Equinox's holes are `None`, so there a tree with a `None` leaf of its own combines to another
/// one.
#[test]
fn a_hole_is_no_absent_leaf() {
    let (leaves, treedef) =
        Flattener::new().none_is_leaf(true).flatten(&[Some(1.5), None, Some(2.5)]).unwrap();
    let tree = Tree::new(treedef, leaves).unwrap();
    let (absent, present) =
        tree.clone().partition(|_: &_, leaf: &Leaf| *leaf == Leaf::None).unwrap();
    assert_eq!(absent.leaves(), [None, Some(Leaf::None), None]);
    assert_eq!(Tree::combine([present, absent]).unwrap(), tree);
}

#[test]
fn what_is_refused() {
    let (a, b) = (numbered("[*, (*, *)]"), numbered("[*, [*, *]]"));
    let zipped = a.clone().zip_with(b.clone(), |a, b| a + b);
    assert_snapshot!(zipped.unwrap_err(), @"expected `(*, *)`, found `[*, *]` at `[1]`");
    assert_snapshot!(b.broadcast_to(a.treedef()).unwrap_err(), @"the prefix has `[*, *]`, the tree `(*, *)` at `[1]`");
    assert_snapshot!(Tree::stack([a.clone(), b.clone()]).unwrap_err(), @"tree 1: expected `(*, *)`, found `[*, *]` at `[1]`");
    assert_snapshot!(Tree::<u8>::stack([]).unwrap_err(), @"there are no trees to stack");
    let uneven = a.clone().map(|leaf| vec![0; leaf / 2]);
    assert_snapshot!(uneven.unstack().unwrap_err(), @"expected 0 elements as in the first leaf, found 1 at `[1].1`");
    assert_snapshot!(numbered("[]").map(|_| vec![0]).unstack().unwrap_err(), @"without leaves there is nothing to unstack");
    assert_snapshot!(a.clone().split_into(2, |_, leaf| *leaf).unwrap_err(), @"there is no part 2 among 2 at `[1].1`");
    assert_snapshot!(a.clone().partition(&numbered("[*]").map(|_| true)).unwrap_err(), @"the prefix has 1 child, the tree 2 children at the root");
    assert_snapshot!(Tree::combine([a.clone().map(Some), b.clone().map(Some)]).unwrap_err(), @"expected `(*, *)`, found `[*, *]` at `[1]`");
    assert_snapshot!(Tree::combine([a.clone().map(|_| None::<u8>)]).unwrap_err(), @"no part has this leaf at `[0]`");
    assert_snapshot!(Tree::<Option<u8>>::combine([]).unwrap_err(), @"there are no parts to combine");
    assert_snapshot!(a.clone().unique_by(Clone::clone).rebuild(&[1]).unwrap_err(), @"expected 3 leaves, found 1");
    assert_snapshot!(a.get("[1]").unwrap_err(), @"expected a leaf, found `(*, *)` at `[1]`");
    assert_snapshot!(a.subtree("[2]").unwrap_err(), @"no child `[2]` in `[*, (*, *)]` at the root");
    assert_snapshot!(a.clone().try_map(|leaf| if leaf < 2 { Ok(leaf) } else { Err("two") }).unwrap_err(), @"two at `[1].1`");
    let nowhere = a.clone().replace("[1].2.0", a.clone());
    assert_snapshot!(nowhere.unwrap_err(), @"no child `.2` in `(*, *)` at `[1]`");
    let nested =
        a.try_map(|_| treedef::unflatten::<Vec<u8>>(&"[*]".parse().unwrap(), ["x".to_owned()]));
    assert_snapshot!(nested.unwrap_err(), @r#"invalid type: string "x", expected u8 at `[0]` at `[0]`"#);
}

/// To serde they are integers of 64 bits.
#[test]
fn leaves_of_the_size_of_a_pointer() {
    let value = (vec![1usize, usize::MAX], [Some(3usize)]);
    let (mut leaves, treedef) = treedef::flatten_as::<usize>(&value).unwrap();
    assert_eq!(leaves, [1, usize::MAX, 3]);
    assert_eq!(treedef::flatten_as::<u64>(&value).unwrap().0, [1, usize::MAX as u64, 3]);
    assert_eq!(
        treedef::unflatten::<(Vec<usize>, [Option<usize>; 1])>(&treedef, &leaves).unwrap(),
        value
    );
    leaves[1] = 300;
    assert_eq!(
        treedef::unflatten::<(Vec<u64>, [Option<u8>; 1])>(&treedef, leaves).unwrap().0,
        [1, 300]
    );
    assert_eq!(treedef::map(&[-1isize, 2], |x: isize| x - 1).unwrap(), [-2, 1]);
    treedef.flatten_like(&value, &mut vec![0usize]).unwrap();

    let tree = Tree::<isize>::of_as(&(-1i64, isize::MIN)).unwrap();
    assert_eq!(tree.leaves(), [-1, isize::MIN]);
    assert_eq!(tree.clone().into_typed::<(i64, isize)>().unwrap(), (-1, isize::MIN));
    let leaves: Vec<Leaf> = tree.leaves().iter().map(|leaf| Leaf::from(*leaf)).collect();
    assert_eq!(leaves, [Leaf::I64(-1), Leaf::I64(i64::MIN)]);
    #[cfg(feature = "persist")]
    {
        let bytes = tree.to_bytes().unwrap();
        assert_eq!(Tree::from_bytes_as::<isize>(&bytes, Default::default()).unwrap(), tree);
        assert_eq!(Tree::from_bytes_as::<i64>(&bytes, Default::default()).unwrap().leaves()[0], -1);
    }
    let leaf = |leaf: Leaf| usize::try_from(leaf).map_err(|error| error.to_string());
    assert_eq!(leaf(Leaf::U64(7)), Ok(7));
    // As with the other types of leaves, the kind has to be the same.
    assert_snapshot!(leaf(Leaf::I64(7)).unwrap_err(), @"expected u64, found i64 at the root");
    assert_snapshot!(treedef::flatten_as::<usize>(&(1usize, 2u32)).unwrap_err(), @"expected u64, found u32 at `.1` (`flatten_as::<u32>` if all are u32, else `flatten`)");
    assert_snapshot!(treedef::flatten_as::<isize>(&(1usize,)).unwrap_err(), @"expected i64, found u64 at `.0` (`flatten_as::<u64>` if all are u64, else `flatten`)");
}
