//! Leaves that are separated by dropping the others, and merged again.

use proptest::prelude::*;
use treedef::Tree;

use crate::case::{Case, cases};
use crate::plain::{Head, Node};

/// The node without the leaves that go; nothing, if it has leaves and all of them go.
fn thinned(node: &Node<i32>, stays: &impl Fn(i32) -> bool) -> Option<Node<i32>> {
    let leaves = node.leaves();
    if !leaves.is_empty() && !leaves.iter().any(|leaf| stays(*leaf)) {
        return None;
    }
    let Node::Inner(head, children) = node else { return Some(node.clone()) };
    Node::without(head, children.iter().map(|child| thinned(child, stays)).collect())
}

/// As `thinned`, but that the root stays, if it is a container.
fn filtered(root: &Node<i32>, stays: &impl Fn(i32) -> bool) -> Option<Node<i32>> {
    let Node::Inner(head, children) = root else { return thinned(root, stays) };
    Node::without(head, children.iter().map(|child| thinned(child, stays)).collect())
}

/// The fields and entries of both; sequences and tuples have equal lengths.
fn merged(case: &Case, a: &Node<i32>, b: &Node<i32>) -> Option<Node<i32>> {
    let (Node::Inner(head, children), Node::Inner(other, others)) = (a, b) else { return None };
    if head.without_labels() != other.without_labels() {
        return None;
    }
    if !head.is_labelled() {
        let same = children.len() == others.len();
        let pairs = children.iter().zip(others).filter(|_| same);
        let both: Option<Vec<_>> = pairs.map(|(a, b)| merged(case, a, b)).collect();
        return same.then_some(Node::Inner(head.clone(), both?));
    }
    // Of one key twice the first goes with the first, and so on.
    let mut rest: Vec<_> = b.entries().into_iter().enumerate().collect();
    let mut labels = head.clone();
    let mut both = Vec::new();
    for (key, child) in a.entries() {
        match rest.iter().position(|(_, (other, _))| *other == key) {
            Some(at) => both.push(merged(case, child, rest.remove(at).1.1)?),
            None => both.push(child.clone()),
        }
    }
    for (at, (_, child)) in rest {
        labels.push_label_of(other, at);
        both.push(child.clone());
    }
    let node = Node::Inner(labels, both);
    Some(match node {
        Node::Inner(Head::Map(_), _) => case.ordered(node),
        other => other,
    })
}

#[test]
fn filtered_and_split_trees_are_those_of_the_model() {
    cases(|case| {
        let shape = case.draw(5);
        let tree = case.numbers(&shape);
        let bound = case.tape.below(4) as i32;
        let found = case.tree(&tree).filter(|_: &_, leaf: &i32| *leaf < bound);
        case.gives_tree(found, filtered(&tree, &|leaf| leaf < bound))?;

        let parts: Vec<_> = (0..4).map(|part| filtered(&tree, &|leaf| leaf == part)).collect();
        let expected: Option<Vec<_>> = parts.into_iter().collect();
        let found = case.tree(&tree).split_into(4, |_, leaf| *leaf as usize);
        case.gives(found, expected, |found, expected| {
            let pairs = found.iter().zip(expected);
            pairs.into_iter().try_for_each(|(found, expected)| case.is_tree(found, expected))
        })?;
        let too_few = case.tree(&tree).split_into(2, |_, leaf| *leaf as usize);
        prop_assert!(too_few.is_err() || tree.leaves().iter().all(|leaf| *leaf < 2));
        Ok(())
    });
}

#[test]
fn merged_trees_are_those_of_the_model() {
    cases(|case| {
        let (a, b) = case.pair();
        let (a, b) = (case.numbers(&a), case.numbers(&b));
        for (a, b) in [(&a, &b), (&b, &a)] {
            let found = Tree::merge([case.tree(a), case.tree(b)]);
            case.gives_tree(found, merged(case, a, b))?;
        }
        let all = (0..4).map(|part| filtered(&a, &|leaf| leaf == part));
        if let Some(parts) = all.collect::<Option<Vec<_>>>() {
            let mut expected = Some(parts[0].clone());
            for part in &parts[1..] {
                expected = expected.and_then(|merging| merged(case, &merging, part));
            }
            let parts = case.tree(&a).split_into(4, |_, leaf| *leaf as usize).unwrap();
            case.gives_tree(Tree::merge(parts), expected)?;
        }
        Ok(())
    });
}
