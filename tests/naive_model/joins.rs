//! Leaf by leaf over trees of one structure: partitions, stacks, pairs, equal leaves once.

use proptest::prelude::*;
use treedef::{Path, Tree};

use crate::case::{Case, cases, path};
use crate::plain::Node;

/// The one part that has a leaf, everywhere.
fn combined(parts: &[Node<Option<i32>>]) -> Option<Node<i32>> {
    let first = parts.first()?;
    if parts.iter().any(|part| part.structure() != first.structure()) {
        return None;
    }
    let columns: Vec<Vec<Option<i32>>> = parts.iter().map(Node::leaves).collect();
    let leaves: Option<Vec<i32>> = (0..first.num_leaves())
        .map(|at| {
            let here: Vec<i32> = columns.iter().filter_map(|column| column[at]).collect();
            if let [leaf] = here[..] { Some(leaf) } else { None }
        })
        .collect();
    Some(first.with_leaves(&leaves?))
}

#[test]
fn partitions_are_those_of_the_model() {
    cases(|case| {
        let (a, b) = case.pair();
        let a = case.numbers(&a);
        let part = |part: i32| a.map(&mut |leaf| (*leaf == part).then_some(*leaf));
        let is_part = |part| move |_: &_, leaf: &i32| *leaf == part;
        let found = |part| case.tree(&a).partition(is_part(part)).unwrap().0;
        let found: Vec<_> = (0..4).map(found).collect();
        for (number, found) in found.iter().enumerate() {
            case.is_tree(found, &part(number as i32))?;
        }
        case.gives_tree(Tree::combine(found), Some(a.clone()))?;
        let (first, rest) = case.tree(&a).partition(|_: &_, leaf: &i32| *leaf > 1).unwrap();
        case.is_tree(&first, &a.map(&mut |leaf| (*leaf > 1).then_some(*leaf)))?;
        case.is_tree(&rest, &a.map(&mut |leaf| (*leaf <= 1).then_some(*leaf)))?;

        // Leaves may stand in none or in two of these, and the structures may differ.
        let draw = |case: &mut Case, of: &Node<i32>| {
            of.map(&mut |leaf| if case.tape.one_in(3) { None } else { Some(*leaf) })
        };
        let other = case.numbers(&b);
        let holes = [part(0), draw(case, &a), draw(case, &other)];
        for parts in [&holes[..0], &holes[..1], &holes[..2], &holes[1..], &[first_of(&a), part(0)]]
        {
            let trees = parts.iter().map(|part| case.tree(part));
            case.gives_tree(Tree::combine(trees), combined(parts))?;
        }
        Ok(())
    });
}

/// All leaves except the leaves of part 0.
fn first_of(tree: &Node<i32>) -> Node<Option<i32>> {
    tree.map(&mut |leaf| (*leaf != 0).then_some(*leaf))
}

#[test]
fn stacks_are_those_of_the_model() {
    cases(|case| {
        let (a, b) = case.pair();
        let mut trees: Vec<Node<i32>> = (0..case.tape.below(4)).map(|_| case.numbers(&a)).collect();
        if case.tape.one_in(3) {
            trees.push(case.numbers(&b));
        }
        let same = trees.windows(2).all(|two| two[0].structure() == two[1].structure());
        let stacked = trees.first().filter(|_| same).map(|first| {
            let rows: Vec<Vec<i32>> = trees.iter().map(Node::leaves).collect();
            let mut column = 0;
            first.map(&mut |_| {
                column += 1;
                rows.iter().map(|row| row[column - 1]).collect::<Vec<i32>>()
            })
        });
        let found = Tree::stack(trees.iter().map(|tree| case.tree(tree)));
        case.gives_tree(found, stacked.clone())?;

        let Some(mut stacked) = stacked else { return Ok(()) };
        let mut expected = (stacked.num_leaves() > 0).then_some(trees);
        if stacked.num_leaves() > 1 && case.tape.one_in(4) {
            let mut leaves = stacked.leaves();
            let uneven = case.tape.below(leaves.len());
            leaves[uneven].push(7);
            stacked = stacked.with_leaves(&leaves);
            expected = None;
        }
        case.gives(case.tree(&stacked).unstack(), expected, |found, expected| {
            prop_assert_eq!(found.len(), expected.len());
            let mut pairs = found.iter().zip(expected);
            pairs.try_for_each(|(found, expected)| case.is_tree(found, expected))
        })
    });
}

#[test]
fn pairs_are_those_of_the_model() {
    cases(|case| {
        let (a, b) = case.pair();
        let (a, b) = (case.numbers(&a), case.numbers(&b));
        let (mut left, right) = (a.leaves().into_iter(), b.leaves());
        let zipped = (a.structure() == b.structure())
            .then(|| b.with_leaves(&right).map(&mut |leaf| (left.next().unwrap(), *leaf)));
        case.gives_tree(case.tree(&a).zip(case.tree(&b)), zipped.clone())?;
        let sum = zipped.map(|zipped| zipped.map(&mut |(a, b)| a * 10 + b));
        case.gives_tree(case.tree(&a).zip_with(case.tree(&b), |a, b| a * 10 + b), sum)?;

        case.is_tree(&case.tree(&a).map(|leaf| leaf + 1), &a.map(&mut |leaf| leaf + 1))?;
        let small = |leaf: i32| if leaf < 3 { Ok(leaf) } else { Err("too large") };
        let all = a.leaves().iter().all(|leaf| *leaf < 3).then(|| a.clone());
        let found = case.tree(&a).try_map(small);
        let wrong =
            a.leaves().iter().position(|leaf| *leaf >= 3).map(|at| path(&a.leaf_paths()[at]));
        prop_assert_eq!(found.as_ref().err().map(|error| error.path().clone()), wrong);
        case.gives_tree(found, all)?;

        let tree = case.tree(&a);
        let expected: Vec<(Path, i32)> =
            a.leaf_paths().iter().map(|keys| path(keys)).zip(a.leaves()).collect();
        let found: Vec<(Path, i32)> = tree.iter().map(|(path, leaf)| (path, *leaf)).collect();
        prop_assert_eq!(found, &*expected);
        let found = tree.map_with_path(|path, leaf| (path.clone(), leaf));
        case.is_tree(&found, &a.with_leaves(&expected))
    });
}

#[test]
fn equal_leaves_are_found_once() {
    cases(|case| {
        let shape = case.draw(5);
        let tree = case.numbers(&shape);
        let mut distinct = Vec::new();
        for leaf in tree.leaves() {
            if !distinct.contains(&leaf) {
                distinct.push(leaf);
            }
        }
        let place = |leaf: &i32| distinct.iter().position(|known| known == leaf).unwrap();
        let unique = case.tree(&tree).unique_by(Clone::clone);
        prop_assert_eq!(&unique.leaves, &distinct);
        case.is_tree(&unique.inverse, &tree.map(&mut |leaf| place(leaf)))?;
        let results: Vec<i32> = distinct.iter().map(|leaf| leaf * 7).collect();
        let expected = tree.map(&mut |leaf| leaf * 7);
        case.gives_tree(unique.rebuild(&results), Some(expected))?;
        prop_assert!(unique.rebuild(&[results, vec![0]].concat()).is_err());

        // Of leaves with one key, the first.
        let halves = case.tree(&tree).unique_by(|leaf| leaf / 2);
        let first = |half: i32| tree.leaves().into_iter().find(|leaf| leaf / 2 == half);
        let rebuilt = halves.rebuild(&halves.leaves);
        case.gives_tree(rebuilt, Some(tree.map(&mut |leaf| first(leaf / 2).unwrap())))
    });
}
