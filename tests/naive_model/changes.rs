//! Diffs and patches: a patch turns the old value into the new one.

use std::collections::HashSet;

use proptest::prelude::*;
use treedef::NodeRef;

use crate::case::{cases, is_short, is_whole};

#[test]
fn a_structure_with_its_changes_is_the_new_one() {
    cases(|case| {
        let (a, b) = case.pair();
        let third = case.relative(&a);
        let (x, y) = (case.treedef(&a), case.treedef(&b));
        for (old, new, plain) in [(&x, &y, &b), (&y, &x, &a), (&x, &x, &a)] {
            let diff = old.diff(new);
            prop_assert_eq!(diff.changes.is_empty(), old == new, "{} to {}: {}", old, new, diff);
            case.gives_structure(old.patch(&diff), Some(plain.clone()))?;
            // It may differ where nothing changes; elsewhere it is refused.
            match case.treedef(&third).patch(&diff) {
                Ok(patched) => is_whole(&patched)?,
                Err(error) => is_short(&error)?,
            }
        }
        Ok(())
    });
}

#[test]
fn a_tree_with_its_changes_is_the_new_one() {
    cases(|case| {
        let (a, b) = case.pair();
        let third = case.relative(&a);
        let (a, b, third) = (case.numbers(&a), case.numbers(&b), case.numbers(&third));
        let (x, y) = (case.tree(&a), case.tree(&b));
        for (old, new, plain) in [(&x, &y, &b), (&y, &x, &a), (&x, &x, &a)] {
            let diff = old.diff(new);
            prop_assert_eq!(diff.changes.is_empty(), old == new, "{} to {}: {}", old, new, diff);
            case.gives_tree(old.patch(&diff), Some(plain.clone()))?;
            match case.tree(&third).patch(&diff) {
                Ok(patched) => {
                    prop_assert_eq!(patched.leaves().len(), patched.treedef().num_leaves());
                    is_whole(patched.treedef())?;
                }
                Err(error) => is_short(&error)?,
            }
        }
        Ok(())
    });
}

/// The same leaves but for one: one change, at its path.
#[test]
fn one_leaf_is_one_change() {
    cases(|case| {
        let shape = case.draw(5);
        let old = case.numbers(&shape);
        let mut leaves = old.leaves();
        if leaves.is_empty() {
            return Ok(());
        }
        let at = case.tape.below(leaves.len());
        leaves[at] += 1;
        let new = old.with_leaves(&leaves);
        let diff = case.tree(&old).diff(&case.tree(&new));
        prop_assert_eq!(diff.changes.len(), 1, "{}", diff);
        let (told, leaf) = (diff.changes[0].path.keys(), &*old.leaf_paths()[at]);
        // Where a field or key occurs twice no path leads to the second, so all of the node is
        // replaced.
        let whole = told.len() < leaf.len() && leaf.starts_with(told);
        let node = case.tree(&old);
        let node = node.treedef().node(&diff.changes[0].path).unwrap();
        prop_assert!(told == leaf || whole && has_twins(node), "{}", diff);
        case.gives_tree(case.tree(&old).patch(&diff), Some(new))
    });
}

fn has_twins(node: NodeRef<'_>) -> bool {
    let fields: HashSet<_> = node.fields().iter().collect();
    let keys: HashSet<_> = node.entry_keys().iter().collect();
    fields.len() < node.fields().len() || keys.len() < node.entry_keys().len()
}
