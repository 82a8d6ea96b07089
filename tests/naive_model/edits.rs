//! Nodes kept, replaced and removed by a function, from the root down and from the leaves up.

use proptest::prelude::*;
use treedef::{Edit, Key, Tree, TreeDef};

use crate::case::{Case, cases, path};
use crate::plain::{Node, Shape};

/// The edit of nodes of a certain form: some number of the form decides.
struct Verdicts {
    modulus: usize,
    removed: usize,
    replaced: usize,
}

impl Verdicts {
    fn draw(case: &mut Case) -> Verdicts {
        let modulus = 3 + case.tape.below(30);
        let (removed, replaced) = (case.tape.below(modulus), case.tape.below(modulus));
        case.note(|| format!("of {modulus}, {removed} are removed, {replaced} replaced"));
        Verdicts { modulus, removed, replaced }
    }

    fn of<T>(&self, form: usize, new: T) -> Edit<T> {
        match form % self.modulus {
            form if form == self.removed => Edit::Remove,
            form if form == self.replaced => Edit::Replace(new),
            _ => Edit::Keep,
        }
    }
}

/// A number for a node and its position.
fn form(path: &[Key], kind: treedef::NodeKind, children: usize, leaves: &[i32]) -> usize {
    let place = path.iter().flat_map(|key| key.to_string().into_bytes()).map(usize::from);
    let leaves = leaves.iter().enumerate().map(|(at, leaf)| (at + 1) * *leaf as usize);
    place.sum::<usize>() * 3 + kind as usize * 7 + children * 5 + leaves.sum::<usize>()
}

/// The node with those at and below it edited from the root down. Outside nothing, if one cannot
/// go; inside, if it went.
fn edited<L: Clone + PartialEq>(
    node: &Node<L>,
    keys: &[Key],
    f: &impl Fn(&[Key], &Node<L>) -> Edit<Node<L>>,
) -> Option<Option<Node<L>>> {
    match f(keys, node) {
        Edit::Remove => Some(None),
        Edit::Replace(other) => Some(Some(other)),
        Edit::Keep => below(node, keys, &|child, keys| edited(child, keys, f)).map(Some),
    }
}

/// As `edited`, from the leaves up.
fn edited_up<L: Clone + PartialEq>(
    node: &Node<L>,
    keys: &[Key],
    f: &impl Fn(&[Key], &Node<L>) -> Edit<Node<L>>,
) -> Option<Option<Node<L>>> {
    let made = below(node, keys, &|child, keys| edited_up(child, keys, f))?;
    Some(match f(keys, &made) {
        Edit::Remove => None,
        Edit::Replace(other) => Some(other),
        Edit::Keep => Some(made),
    })
}

/// The edit of a child at a path.
type Child<'a, L> = &'a dyn Fn(&Node<L>, &[Key]) -> Option<Option<Node<L>>>;

/// The node with its edited children.
fn below<L: Clone + PartialEq>(
    node: &Node<L>,
    keys: &[Key],
    child: Child<'_, L>,
) -> Option<Node<L>> {
    let Node::Inner(head, _) = node else { return Some(node.clone()) };
    let children: Option<Vec<_>> = node
        .entries()
        .into_iter()
        .map(|(key, below)| child(below, &[keys, &[key]].concat()))
        .collect();
    Node::without(head, children?)
}

#[test]
fn traversed_trees_are_those_of_the_model() {
    cases(|case| {
        let a = case.draw(5);
        let new = case.draw(2);
        let verdicts = Verdicts::draw(case);
        let (tree, new) = (case.numbers(&a), case.numbers(&new));
        let put = case.tree(&new);
        let verdict = |keys: &[Key], node: &Node<i32>| {
            let form = form(keys, node.kind(), node.children().len(), &node.leaves());
            verdicts.of(form, new.clone())
        };
        let found = case.tree(&tree).edit(|path, node, leaves| {
            assert_eq!(leaves.len(), node.num_leaves());
            let form = form(path.keys(), node.kind(), node.num_children(), leaves);
            Ok(verdicts.of(form, put.clone()))
        });
        case.gives_tree(found, edited(&tree, &[], &verdict).flatten())?;

        let found = case.tree(&tree).edit_up(|path, subtree: &Tree<i32>| {
            let node = subtree.treedef().root();
            let form = form(path.keys(), node.kind(), node.num_children(), subtree.leaves());
            Ok(verdicts.of(form, put.clone()))
        });
        case.gives_tree(found, edited_up(&tree, &[], &verdict).flatten())
    });
}

#[test]
fn edited_structures_are_those_of_the_model() {
    cases(|case| {
        let a = case.draw(5);
        let new = case.draw(2);
        let verdicts = Verdicts::draw(case);
        let (x, put) = (case.treedef(&a), case.treedef(&new));
        // Of equal neighbours the first stands for all, so where a node stands must not count.
        let verdict = |_: &[Key], node: &Shape| {
            let ones = vec![1; node.num_leaves()];
            verdicts.of(form(&[], node.kind(), node.children().len(), &ones), new.clone())
        };
        let of_node = |node: treedef::NodeRef<'_>| {
            let ones = vec![1; node.num_leaves()];
            Ok(verdicts.of(form(&[], node.kind(), node.num_children(), &ones), put.clone()))
        };
        let found = x.edit(of_node);
        case.gives_structure(found, edited(&a, &[], &verdict).flatten())?;
        let found = x.edit_up(|made: &TreeDef| of_node(made.root()));
        case.gives_structure(found, edited_up(&a, &[], &verdict).flatten())
    });
}

/// The visited nodes, in order.
#[test]
fn nodes_are_met_in_the_order_of_the_model() {
    cases(|case| {
        let a = case.draw(5);
        let tree = case.numbers(&a);
        let mut met = Vec::new();
        let kept = case.tree(&tree).edit(|path, node, leaves| {
            met.push((path.clone(), node.to_treedef(), leaves.to_vec()));
            Ok(Edit::Keep)
        });
        case.gives_tree(kept, Some(tree.clone()))?;
        let expected: Vec<_> = tree
            .nodes()
            .into_iter()
            .map(|(keys, node)| (path(&keys), case.treedef(&node.structure()), node.leaves()))
            .collect();
        prop_assert_eq!(met, expected);
        Ok(())
    });
}
