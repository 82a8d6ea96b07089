//! Equality, hashes, counts, texts, files and fingerprints of structures; their parts.

use std::hash::{BuildHasher, RandomState};

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use treedef::{Fingerprint, NodeRef, Path, TreeDef};

use crate::case::{Case, cases};
use crate::plain::{Head, LEAF, Node, Shape};

#[test]
fn structures_are_equal_where_the_model_is() {
    cases(|case| {
        let (a, b) = case.pair();
        let (x, y) = (case.treedef(&a), case.treedef(&b));
        let hashes = RandomState::new();
        prop_assert_eq!(x == y, a == b, "{} == {}", x, y);
        prop_assert_eq!(x.check_equal(&y).is_ok(), a == b);
        prop_assert_eq!(hashes.hash_one(&x) == hashes.hash_one(&y), a == b);
        let bytes = |treedef: &TreeDef| treedef.to_bytes().unwrap();
        prop_assert_eq!(bytes(&x) == bytes(&y), a == b, "the bytes of {} and {}", x, y);
        let name = |treedef: &TreeDef| treedef.fingerprint().unwrap();
        prop_assert_eq!(name(&x) == name(&y), a == b, "the names of {} and {}", x, y);
        prop_assert_eq!(name(&x).to_string().parse::<Fingerprint>().unwrap(), name(&x));
        case.is_structure(&TreeDef::from_bytes(&bytes(&x)).unwrap(), &a)
    });
}

#[test]
fn texts_are_those_of_the_model() {
    cases(|case| {
        let a = case.draw(5);
        let x = case.treedef(&a);
        let options = if case.insertion { "#[insertion] " } else { "" };
        prop_assert_eq!(x.to_string(), format!("{}{}", options, a.text(true)));
        prop_assert_eq!(&x.to_string().parse::<TreeDef>().unwrap(), &x);
        case.is_structure(&a.parsed(options, false), &a)?;
        let widths = [format!("{x:#}"), format!("{x:#10}"), format!("{x:#200}")];
        for pretty in widths {
            let parsed = pretty.parse::<TreeDef>();
            prop_assert!(parsed.as_ref().is_ok_and(|parsed| *parsed == x), "{}", pretty);
        }
        Ok(())
    });
}

#[test]
fn parts_are_those_of_the_model() {
    cases(|case| {
        let a = case.draw(5);
        let x = case.treedef(&a);
        prop_assert_eq!(x.num_leaves(), a.num_leaves());
        prop_assert_eq!(x.num_nodes(), a.num_nodes());
        has_parts(case, x.root(), &a, &mut 0)?;
        let children: Vec<TreeDef> = x.root().children().map(NodeRef::to_treedef).collect();
        prop_assert_eq!(children.len(), a.children().len());
        for (child, expected) in children.iter().zip(a.children()) {
            case.is_structure(child, expected)?;
        }
        Ok(())
    });
}

fn has_parts(case: &Case, node: NodeRef<'_>, plain: &Shape, leaf: &mut usize) -> TestCaseResult {
    case.is_structure(&node.to_treedef(), plain)?;
    prop_assert_eq!(node.to_treedef().num_nodes(), plain.num_nodes());
    prop_assert_eq!(node.leaf_range(), *leaf..*leaf + plain.num_leaves());
    *leaf += usize::from(*plain == LEAF);
    let last = plain.children().len();
    prop_assert!(node.key(last).is_none() && node.child(last).is_none());
    for (at, ((key, child), found)) in plain.entries().iter().zip(node.children()).enumerate() {
        prop_assert_eq!(node.key(at), Some(key.clone()));
        prop_assert_eq!(node.position(key), plain.position(key));
        prop_assert_eq!(node.child(at).map(NodeRef::leaf_range), Some(found.leaf_range()));
        has_parts(case, found, child, leaf)?;
    }
    Ok(())
}

/// Structures that differ in nothing but the kinds of containers, the names of types and the order
/// of fields and entries.
fn is_equivalent(a: &Shape, b: &Shape) -> bool {
    use Head::*;
    let in_step = |a: &[Shape], b: &[Shape]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equivalent(a, b))
    };
    let (Node::Inner(head, children), Node::Inner(other, others)) = (a, b) else { return a == b };
    let listed = |head: &Head| matches!(head, Seq | Tuple | TupleStruct(_));
    match (head, other) {
        (a, b) if listed(a) && listed(b) => in_step(children, others),
        (Unit | UnitStruct(_), Unit | UnitStruct(_)) => true,
        (NewtypeStruct(_), NewtypeStruct(_)) => in_step(children, others),
        (UnitVariant(_, a), UnitVariant(_, b))
        | (NewtypeVariant(_, a), NewtypeVariant(_, b))
        | (TupleVariant(_, a), TupleVariant(_, b)) => a == b && in_step(children, others),
        (StructVariant(_, a, x), StructVariant(_, b, y)) => {
            a == b && x == y && in_step(children, others)
        }
        (Struct(_, x), Struct(_, y)) => x == y && in_step(children, others),
        (a, b) => a == b && in_step(children, others),
    }
}

#[test]
fn what_is_the_same_but_for_names_is_equivalent() {
    cases(|case| {
        let (a, b) = case.pair();
        let found = case.treedef(&a).check_equivalent(&case.treedef(&b));
        if is_equivalent(&a, &b) {
            prop_assert!(found.is_ok(), "{:?}", found);
        }
        let error = found.err();
        for difference in error.iter().flat_map(|error| error.differences()) {
            prop_assert_eq!(
                &difference.path.to_string().parse::<Path>().unwrap(),
                &difference.path
            );
        }
        Ok(())
    });
}
