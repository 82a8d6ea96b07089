//! Structures of structures.

use crate::case::cases;
use crate::plain::{Node, Shape};

/// Another structure in the place of every leaf.
fn composed(outer: &Shape, inner: &Shape) -> Shape {
    outer.map(&mut |()| inner.clone()).joined()
}

/// The subtree at every leaf of a prefix.
fn inner_of(full: &Shape, outer: &Shape) -> Option<Shape> {
    let inner = outer.beside(full)?.leaves();
    let (_, first) = inner.first()?;
    inner.iter().all(|(_, other)| other == first).then(|| first.clone())
}

/// For each leaf of the one, the subtree of the other.
fn common_suffix(a: &Shape, b: &Shape) -> Option<Shape> {
    match (a, b) {
        (Node::Leaf(()), other) | (other, Node::Leaf(())) => Some(other.clone()),
        (Node::Inner(head, children), Node::Inner(other, others)) => {
            if head != other || children.len() != others.len() {
                return None;
            }
            let pairs = children.iter().zip(others);
            let children: Option<Vec<Shape>> = pairs.map(|(a, b)| common_suffix(a, b)).collect();
            Some(Node::Inner(head.clone(), children?))
        }
    }
}

#[test]
fn compositions_are_those_of_the_model() {
    cases(|case| {
        let (a, b) = case.pair();
        let inner = case.draw(2);
        let (x, y, z) = (case.treedef(&a), case.treedef(&b), case.treedef(&inner));
        let both = composed(&a, &inner);
        case.gives_structure(x.compose(&z), Some(both.clone()))?;
        case.gives_structure(z.compose(&x), Some(composed(&inner, &a)))?;
        case.gives_structure(case.treedef(&both).inner_of(&x), inner_of(&both, &a))?;
        case.gives_structure(y.inner_of(&x), inner_of(&b, &a))?;
        case.gives_structure(x.inner_of(&y), inner_of(&a, &b))
    });
}

#[test]
fn common_suffixes_are_those_of_the_model() {
    cases(|case| {
        let (a, b) = case.pair();
        let (x, y) = (case.treedef(&a), case.treedef(&b));
        case.gives_structure(x.common_suffix(&y), common_suffix(&a, &b))?;
        case.gives_structure(y.common_suffix(&x), common_suffix(&b, &a))?;
        let c = case.relative(&a);
        case.gives_structure(x.common_suffix(&case.treedef(&c)), common_suffix(&a, &c))
    });
}

#[test]
fn transpositions_are_those_of_the_model() {
    cases(|case| {
        let (outer, inner) = (case.draw(3), case.draw(3));
        let both = composed(&outer, &inner);
        let both = if case.tape.one_in(4) { case.relative(&both) } else { both };
        let tree = case.numbered(&both);
        let rows = outer.beside(&tree).map(|beside| beside.map(&mut |(_, row)| row.clone()));
        // Every leaf of the inner structure stands for one leaf of each row.
        let turned = rows.filter(|_| both == composed(&outer, &inner)).map(|rows| {
            let mut column = 0;
            let columns = inner.map(&mut |()| {
                column += 1;
                rows.map(&mut |row| row.leaves()[column - 1])
            });
            columns.joined()
        });
        let found = case.tree(&tree).transpose(&case.treedef(&outer), &case.treedef(&inner));
        case.gives_tree(found, turned)
    });
}
