//! Subtrees replaced and taken, by path and by pattern.

use proptest::prelude::*;
use treedef::{Edit, Key, Path, Tree};

use crate::case::{cases, path};
use crate::paths::{Placed, Step, draw_pattern, has_all, is_lenient, is_newtype, matches};
use crate::plain::Node;

/// The tree without the node at these positions; nothing, if it cannot go.
fn without(tree: &Node<i32>, positions: &[usize]) -> Option<Node<i32>> {
    let (first, rest) = positions.split_first()?;
    let Node::Inner(head, children) = tree else { return None };
    let mut left: Vec<Option<Node<i32>>> = children.iter().cloned().map(Some).collect();
    if rest.is_empty() {
        left[*first] = None;
    } else {
        left[*first] = Some(without(&children[*first], rest)?);
    }
    Node::without(head, left)
}

fn bare(keys: &[Placed]) -> Vec<Key> {
    keys.iter().map(|(key, _)| key.clone()).collect()
}

/// The edit of the node at a path, if the steps match it.
type Change<'a> = &'a dyn Fn(&[Key], &Node<i32>) -> Option<Node<i32>>;

/// The tree with the topmost nodes that steps stand for changed. Outside nothing, if one cannot go;
/// inside, if it went.
fn changed(
    tree: &Node<i32>,
    keys: &[Placed],
    steps: &[Step],
    change: Change<'_>,
) -> Option<Option<Node<i32>>> {
    if matches(steps, keys) {
        return Some(change(&bare(keys), tree));
    }
    let Node::Inner(head, _) = tree else { return Some(Some(tree.clone())) };
    let children: Option<Vec<_>> = tree
        .entries()
        .into_iter()
        .map(|(key, child)| {
            changed(child, &[keys, &[(key, is_newtype(tree))]].concat(), steps, change)
        })
        .collect();
    Node::without(head, children?).map(Some)
}

/// The topmost nodes that steps stand for, with their paths.
fn taken(tree: &Node<i32>, keys: &[Placed], steps: &[Step]) -> Vec<(Path, Node<i32>)> {
    if matches(steps, keys) {
        return vec![(path(&bare(keys)), tree.clone())];
    }
    let below = |(key, child)| taken(child, &[keys, &[(key, is_newtype(tree))]].concat(), steps);
    tree.entries().into_iter().flat_map(below).collect()
}

#[test]
fn replaced_trees_are_those_of_the_model() {
    cases(|case| {
        let (a, b) = case.pair();
        let new = case.draw(2);
        let (tree, new) = (case.numbers(&a), case.numbers(&new));
        for keys in a.nodes().into_iter().chain(b.nodes()).map(|(keys, _)| keys).take(40) {
            let path = path(&keys);
            if is_lenient(&case.treedef(&a), &path) {
                continue;
            }
            let positions = tree.positions(&keys);
            let replaced = positions.as_ref().map(|positions| tree.replaced(positions, &new));
            let found = case.treedef(&a).replace(&path, &case.treedef(&new.structure()));
            case.gives_structure(found, replaced.as_ref().map(Node::structure))?;
            let expected = replaced.zip(tree.at(&keys));
            let mut found = case.tree(&tree);
            let old = found.replace(&path, case.tree(&new)).map(|old| (found, old));
            case.gives(old, expected, |(found, old), (expected, taken)| {
                case.is_tree(found, expected)?;
                case.is_tree(old, taken)
            })?;
        }
        Ok(())
    });
}

#[test]
fn taken_trees_are_those_of_the_model() {
    cases(|case| {
        let (a, b) = case.pair();
        let tree = case.numbers(&a);
        for keys in a.nodes().into_iter().chain(b.nodes()).map(|(keys, _)| keys).take(40) {
            if is_lenient(&case.treedef(&a), &path(&keys)) {
                continue;
            }
            let rest = tree.positions(&keys).and_then(|positions| without(&tree, &positions));
            let mut found = case.tree(&tree);
            let old = found.remove(path(&keys)).map(|old| (found, old));
            case.gives(old, rest.zip(tree.at(&keys)), |(found, old), (expected, taken)| {
                case.is_tree(found, expected)?;
                case.is_tree(old, taken)
            })?;
        }
        Ok(())
    });
}

#[test]
fn what_a_pattern_takes_is_that_of_the_model() {
    cases(|case| {
        let a = case.draw(5);
        let (pattern, steps) = draw_pattern(case, &a);
        let tree = case.numbers(&a);
        let rest = changed(&tree, &[], &steps, &|_, _| None).flatten();
        let expected = rest.map(|rest| (rest, taken(&tree, &[], &steps)));
        // A pattern that names nothing, or one of whose alternatives does.
        let expected = expected.filter(|_| has_all(&steps, &a));
        let mut found = case.tree(&tree);
        let old = found.edit_at(&pattern, |_, _, _| Ok(Edit::Remove)).map(|old| (found, old));
        case.gives(old, expected, |found, expected| {
            case.is_tree(&found.0, &expected.0)?;
            prop_assert_eq!(found.1.len(), expected.1.len());
            for ((path, found), (expected_path, expected)) in found.1.iter().zip(&expected.1) {
                prop_assert_eq!(path, expected_path);
                case.is_tree(found, expected)?;
            }
            Ok(())
        })
    });
}

#[test]
fn what_a_pattern_replaces_is_that_of_the_model() {
    cases(|case| {
        let a = case.draw(5);
        let new = case.draw(2);
        let (pattern, steps) = draw_pattern(case, &a);
        let (tree, new) = (case.numbers(&a), case.numbers(&new));
        // The new node depends on the old one and its path.
        let sum = |path: &Path, leaves: &[i32]| {
            leaves.iter().sum::<i32>() * 100 + path.keys().len() as i32
        };
        let change = |keys: &[Key], old: &Node<i32>| {
            let sum = sum(&path(keys), &old.leaves());
            Some(if sum % 2 == 0 { Node::Leaf(sum) } else { new.map(&mut |leaf| leaf + sum) })
        };
        let names_all = has_all(&steps, &a);
        let expected = changed(&tree, &[], &steps, &change).flatten().filter(|_| names_all);
        let template = case.tree(&new);
        let mut found = case.tree(&tree);
        let old = found.edit_at(&pattern, |path, _, leaves| {
            let sum = sum(path, leaves);
            let new = if sum % 2 == 0 {
                Tree::leaf(sum)
            } else {
                template.clone().map(|leaf| leaf + sum)
            };
            Ok(Edit::Replace(new))
        });
        // The returned node is the one that a removal would return, unless that is not allowed.
        if let Ok(old) = &old {
            let expected = taken(&tree, &[], &steps);
            prop_assert_eq!(old.len(), expected.len());
            for ((path, found), (expected_path, expected)) in old.iter().zip(&expected) {
                prop_assert_eq!(path, expected_path);
                case.is_tree(found, expected)?;
            }
        }
        case.gives_tree(old.map(|_| found), expected)
    });
}
