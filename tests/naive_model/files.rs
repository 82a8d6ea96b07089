//! Trees as the bytes of a file.

use proptest::prelude::*;
use treedef::{Limits, Tree};

use crate::case::cases;

#[test]
fn trees_come_back_from_their_bytes() {
    cases(|case| {
        let tree = case.leaves(false);
        let real = case.tree(&tree);
        let bytes = real.to_bytes().unwrap();
        case.gives_tree(Tree::from_bytes(&bytes), Some(tree.clone()))?;

        let mut leaves = tree.leaves();
        if !leaves.is_empty() && case.tape.one_in(2) {
            let at = case.tape.below(leaves.len());
            leaves[at] = crate::numbers::draw_leaf(case);
        }
        let other = case.tree(&tree.with_leaves(&leaves));
        prop_assert_eq!(other == real, leaves == tree.leaves());
        prop_assert_eq!(
            other.to_bytes().unwrap() == bytes,
            other == real,
            "{} and {}",
            other,
            real
        );

        let shape = case.draw(5);
        let numbers = case.numbers(&shape);
        let bytes = case.tree(&numbers).to_bytes().unwrap();
        let found = Tree::from_bytes_as::<i32>(&bytes, Limits::default());
        case.gives_tree(found, Some(numbers.clone()))?;
        let found = Tree::from_bytes_as::<i64>(&bytes, Limits::default());
        prop_assert_eq!(found.is_ok(), numbers.num_leaves() == 0);
        Ok(())
    });
}
