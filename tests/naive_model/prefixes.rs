//! Structures that are prefixes of others, and the operations that use them.

use proptest::prelude::*;
use treedef::Tree;

use crate::case::cases;
use crate::plain::Node;

#[test]
fn prefixes_are_those_of_the_model() {
    cases(|case| {
        let (a, b) = case.pair();
        let (x, y) = (case.treedef(&a), case.treedef(&b));
        prop_assert_eq!(x.is_prefix_of(&y), a.is_prefix_of(&b), "{} before {}", x, y);
        prop_assert_eq!(y.is_prefix_of(&x), b.is_prefix_of(&a), "{} before {}", y, x);
        for (short, full) in [(&a, &b), (&b, &a)] {
            let (few, many) = (case.numbers(short), case.numbers(full));
            // A static stands for any, as only the leaves are used.
            let beside = few.with_statics_of(&many).beside(&many);

            let stretched = beside.as_ref().map(|beside| {
                beside.map(&mut |(leaf, subtree)| subtree.map(&mut |_| *leaf)).joined()
            });
            case.gives_tree(case.tree(&few).broadcast_to(&case.treedef(full)), stretched)?;

            let zipped = beside.as_ref().map(|beside| {
                beside.map(&mut |(leaf, subtree)| subtree.map(&mut |of| (*leaf, *of))).joined()
            });
            let found = case.tree(&few).broadcast_to(&case.treedef(full));
            let found = found.and_then(|found| found.zip(case.tree(&many)));
            case.gives_tree(found, zipped)?;

            let chosen = |wanted: bool| {
                beside.as_ref().map(|beside| {
                    let pick = |leaf: i32, of: i32| ((leaf > 1) == wanted).then_some(of);
                    let inside = &mut |(leaf, subtree): &(i32, Node<i32>)| {
                        subtree.map(&mut |of| pick(*leaf, *of))
                    };
                    beside.map(inside).joined()
                })
            };
            let mask = case.tree(&few).map(|leaf| leaf > 1);
            let found = case.tree(&many).partition(&mask);
            let expected = chosen(true).zip(chosen(false));
            case.gives(found, expected, |found, expected| {
                case.is_tree(&found.0, &expected.0)?;
                case.is_tree(&found.1, &expected.1)
            })?;
        }
        Ok(())
    });
}

#[test]
fn subtrees_are_those_of_the_model() {
    cases(|case| {
        let (a, b) = case.pair();
        for (short, full) in [(&a, &b), (&b, &a)] {
            let many = case.numbers(full);
            let found = case.tree(&many).flatten_up_to(&case.treedef(short));
            let subtrees =
                short.beside(&many).map(|beside| beside.map(&mut |(_, subtree)| subtree.clone()));
            let tree = case.tree(&many);
            case.gives(found, subtrees, |found, expected| {
                case.is_structure(found.treedef(), &expected.structure())?;
                for (found, expected) in found.leaves().iter().zip(expected.leaves()) {
                    case.is_tree(found, &expected)?;
                }
                prop_assert_eq!(found.leaves().len(), expected.num_leaves());
                prop_assert_eq!(&found.clone().compose().unwrap(), &tree);
                Ok(())
            })?;
        }
        Ok(())
    });
}

#[test]
fn a_tree_of_trees_becomes_the_tree_of_the_model() {
    cases(|case| {
        let a = case.draw(4);
        let first = case.draw(2);
        let second = case.relative(&first);
        let trees = [case.numbers(&first), case.numbers(&second)];
        let nested = a.map(&mut |()| trees[case.tape.below(2)].clone());
        let trees = nested.leaves().iter().map(|tree| case.tree(tree)).collect();
        let found = Tree::new(case.treedef(&a), trees).unwrap().compose();
        case.gives_tree(found, Some(nested.joined()))
    });
}
