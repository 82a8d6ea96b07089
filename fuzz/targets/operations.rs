//! Operations on structures that stand for anything, up to more leaves than a machine can count: each gives a structure that
//! can be written and read, or a short error.

use std::fmt::Debug;
use std::hash::{BuildHasher, Hash, RandomState};

use serde::de::IgnoredAny;
use treedef::{
    Edit, Error, Key, Leaf, Limits, NodeKind, NodeRef, Path, Tolerance, Tree, TreeDef, Value,
    unflatten, unflatten_strict,
};

use treedef_testing::build::node;
use treedef_testing::plain::{Constant, Shape};
use treedef_testing::tape::Tape;

use super::load::{comes_back_from_bytes, text};
use super::structures::{count, grown, limits, pattern, place, structure};
use super::{checked, choice};

/// Leaves up to which something is done to each: a function that is called, a vector that is made.
const LEAVES: usize = 1 << 12;
/// Children and paths that are taken from an iterator.
const MANY: usize = 64;
/// The number of operations.
const OPERATIONS: u8 = 60;

pub fn run(bytes: &[u8]) {
    let (operation, tape) = choice(bytes, OPERATIONS);
    let tape = &mut Tape::of(tape);
    let x = structure(tape);
    let y = match tape.below(4) {
        0 => x.clone(),
        1 => grown(x.clone(), tape),
        _ => structure(tape),
    };
    // What the default allows takes seconds.
    let [x, y] = [x, y].map(|treedef| {
        if treedef.limits() == Limits::default() {
            treedef.with_limits(Limits { max_work: 1 << 14, ..Limits::default() })
        } else {
            treedef
        }
    });
    if operation < 25 {
        return on_structures(operation, &x, &y, tape);
    }
    let few = x.num_leaves().max(y.num_leaves()) <= LEAVES;
    match operation {
        25..50 if few && !tape.one_in(4) => on_trees(operation, (&x, 0u8), (&y, 1), tape),
        25..50 => on_trees(operation, (&x, ()), (&y, ()), tape),
        _ if few => on_trees_of_scalars(operation, &x, &y, tape),
        _ => {}
    }
}

/// A structure whose text is not too long comes back from its text and from a file. Other limits than the default may have
/// been set after it was made.
fn whole(treedef: &TreeDef) {
    if let Some(text) = text(format_args!("{treedef}")) {
        if treedef.limits() != Limits::default() {
            let generous = Limits { max_depth: 1 << 20, max_work: usize::MAX, ..Limits::default() };
            let parsed = TreeDef::parse_with(&text, generous).unwrap();
            assert_eq!(&parsed, treedef);
            let bytes = parsed.with_limits(generous).to_bytes().unwrap();
            assert_eq!(&TreeDef::from_bytes_with(&bytes, generous).unwrap(), treedef);
            return;
        }
        let parsed = text.parse::<TreeDef>().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(&parsed, treedef);
        // A value may have more nodes than a file of the default limits.
        if checked(treedef.to_bytes()).is_some() {
            comes_back_from_bytes(treedef);
        }
    }
}

fn is_structure(result: Result<TreeDef, Error>) {
    checked(result).iter().for_each(whole);
}

fn is_whole<L>(tree: &Tree<L>) {
    assert_eq!(tree.leaves().len(), tree.treedef().num_leaves());
    whole(tree.treedef());
}

fn is_tree<L>(result: Result<Tree<L>, Error>) {
    checked(result).iter().for_each(is_whole);
}

/// What becomes of a node, by a number.
fn edit<T: Clone>(number: usize, new: &T) -> Edit<T> {
    match number {
        0 => Edit::Replace(new.clone()),
        1 => Edit::Remove,
        _ => Edit::Keep,
    }
}

fn on_structures(operation: u8, x: &TreeDef, y: &TreeDef, tape: &mut Tape) {
    let many = |treedef: &TreeDef| {
        treedef.root().children().map(NodeRef::to_treedef).take(MANY).collect::<Vec<_>>()
    };
    match operation {
        0 => whole(x),
        1 => {
            let hashes = RandomState::new();
            assert!(x != y || hashes.hash_one(x) == hashes.hash_one(y));
            let (a, b) = (x.fingerprint(), y.fingerprint());
            assert_eq!(checked(a) == checked(b), x == y);
        }
        2 => {
            let leaves = x.num_leaves();
            for index in [0, leaves / 2, leaves.saturating_sub(1)] {
                let path = checked(x.leaf_path(index));
                assert_eq!(path.is_some(), index < leaves);
                path.map(|path| checked(x.node(&path)));
            }
            assert!(checked(x.leaf_path(leaves)).is_none());
            assert_eq!(x.leaf_paths().take(MANY).count(), leaves.min(MANY));
            assert!(x.num_nodes() >= leaves);
        }
        3 => {
            let path = place(x, tape);
            let node = checked(x.node(&path));
            node.iter().for_each(|node| {
                whole(&node.to_treedef());
                text(format_args!("{node} {node:#} {node:?}"));
            });
        }
        4 => is_structure(x.compose(y)),
        5 => {
            if let Some(both) = checked(x.compose(y)) {
                assert!(x.is_prefix_of(&both));
                let inner = checked(both.inner_of(x));
                assert!(inner.is_none_or(|inner| inner == *y || inner.compose(x).is_ok()));
            }
            is_structure(x.inner_of(y));
        }
        6 => {
            assert!(!(x.is_prefix_of(y) && y.is_prefix_of(x)) || x == y);
            is_structure(x.common_suffix(y));
        }
        7 => is_structure(x.replace(place(x, tape), y)),
        8 => is_structure(x.edit(|_| Ok(edit(tape.below(6), y)))),
        9 => is_structure(x.edit_up(|_| Ok(edit(tape.below(6), y)))),
        10 => many(x).iter().for_each(whole),
        11 => {
            let diff = x.diff(y);
            assert_eq!(diff.changes.is_empty(), x == y);
            text(format_args!("{diff}"));
            text(format_args!("{diff:#}"));
            diff.changes.iter().for_each(|change| assert!(change.places() > 0 || x == y));
            // The limits are the limits of the old structure.
            if let Some(patched) = checked(x.patch(&diff)) {
                assert_eq!(&patched, y);
            }
        }
        12 => is_structure(structure(tape).patch(&x.diff(y))),
        13 => {
            assert_eq!(checked(x.check_equal(y)).is_some(), x == y);
            checked(x.check_equivalent(y));
        }
        14 => is_structure(TreeDef::tuple(many(x).into_iter().chain([y.clone()]))),
        15 => {
            for kind in [NodeKind::Some, NodeKind::NewtypeStruct, NodeKind::NewtypeVariant] {
                is_structure(node(kind, ["a", "b"], &[], [x.clone()]));
            }
        }
        16 => {
            let parts = || [("a", x.clone()), ("b", y.clone()), ("a", x.clone())];
            is_structure(TreeDef::named_struct("", parts()));
            let parts = || parts().map(|(_, part)| part);
            let fields = ["a", "b", "a"];
            is_structure(node(NodeKind::StructVariant, ["A", "None"], &fields, parts()));
            is_structure(node(NodeKind::TupleStruct, ["A", ""], &[], parts()));
            is_structure(node(NodeKind::TupleVariant, ["A", "b"], &[], parts()));
        }
        17 => {
            let keys: Vec<Value> = (0..3).map(|_| Constant::draw(tape).value()).collect();
            is_structure(TreeDef::map(keys.into_iter().zip([x.clone(), y.clone(), x.clone()])));
        }
        18 => is_structure(TreeDef::seq_of(x, count(tape))),
        19 | 20 => {
            let printed = text(format_args!("{x}")).unwrap_or_default();
            is_structure(TreeDef::parse_with(&printed, limits(tape)));
            for pretty in [format_args!("{x:#}"), format_args!("{x:#9}")].map(text).iter().flatten()
            {
                assert_eq!(checked(pretty.parse::<TreeDef>()).as_ref(), Some(x));
            }
            text(format_args!("{x:?}"));
        }
        21 => {
            let bytes = checked(x.to_bytes()).unwrap_or_default();
            is_structure(TreeDef::from_bytes_with(&bytes, limits(tape)));
        }
        22 => {
            let mut buffer = vec![Leaf::from(1)];
            checked(x.flatten_like(&(1, ["a"], Some(2.5)), &mut buffer));
            checked(x.flatten_like(&vec![(); tape.below(8)], &mut buffer));
        }
        23 => {
            checked(unflatten::<IgnoredAny>(x, Vec::<f64>::new()));
            checked(unflatten::<Vec<()>>(x, Vec::<f64>::new()));
            checked(unflatten::<serde_json::Value>(x, vec![Leaf::from(1); tape.below(8)]));
            checked(unflatten_strict::<Vec<Option<Vec<f64>>>>(x, vec![1.5; tape.below(8)]));
        }
        _ => {
            let seq = serde_json::to_string(x);
            if let Ok(json) = seq {
                // What was made within other limits may be beyond the default ones.
                if let Ok(read) = serde_json::from_str::<TreeDef>(&json) {
                    assert_eq!(&read, x);
                }
            }
        }
    }
}

fn on_trees<L: Clone + Eq + Hash + Debug + 'static>(
    operation: u8,
    (x, leaf): (&TreeDef, L),
    (y, other): (&TreeDef, L),
    tape: &mut Tape,
) {
    // Of leaves without a size there may be any number.
    let a = checked(Tree::new(x.clone(), vec![leaf.clone(); x.num_leaves()]));
    let b = checked(Tree::new(y.clone(), vec![other.clone(); y.num_leaves()]));
    let (Some(a), Some(b)) = (a, b) else { return };
    let few = x.num_leaves().max(y.num_leaves()) <= LEAVES;
    match operation {
        25 => {
            let wrong = vec![leaf; [0, 1, 7, 100][tape.below(4)]];
            is_tree(Tree::new(x.clone(), wrong));
        }
        26 => {
            let path = place(x, tape);
            let mut tree = a;
            checked(tree.get(&path).map(drop));
            checked(tree.get_mut(&path).map(|leaf| *leaf = other));
            is_tree(tree.subtree(&path));
        }
        27 => is_tree(a.broadcast_to(y)),
        28 => {
            if let Some(subtrees) = checked(b.flatten_up_to(x)) {
                is_whole(&subtrees);
                subtrees.leaves().iter().take(MANY).for_each(is_whole);
                is_tree(subtrees.compose());
            }
        }
        29 => {
            let inner = checked(x.inner_of(y));
            is_tree(a.clone().transpose(y, &inner.unwrap_or_else(TreeDef::leaf)));
            is_tree(a.transpose(x, y));
        }
        30 => {
            // Without leaves on one side there are none together, however many the other has.
            let empty = TreeDef::seq([]).unwrap();
            let none = || Tree::<L>::new(empty.clone(), Vec::new()).unwrap();
            is_tree(none().transpose(&empty, x));
            if let Some(both) = checked(x.compose(&empty)) {
                is_tree(Tree::<L>::new(both, Vec::new()).unwrap().transpose(x, &empty));
            }
        }
        31 => {
            let diff = a.diff(&b);
            if let Some(patched) = checked(a.patch(&diff)) {
                assert_eq!(patched.treedef(), y);
                if few {
                    assert_eq!(diff.changes.is_empty(), a == b);
                    assert_eq!(patched, b);
                }
            }
            let third = structure(tape);
            let leaves = vec![leaf; third.num_leaves().min(LEAVES)];
            if let Some(third) = checked(Tree::new(third, leaves)) {
                is_tree(third.patch(&diff));
            }
        }
        32 => is_tree(a.filter(|_: &_, _: &_| tape.one_in(3))),
        33 => {
            if let Some((yes, no)) = checked(a.split(|_: &_, _: &_| tape.one_in(2))) {
                [&yes, &no].into_iter().for_each(is_whole);
                is_tree(Tree::merge([yes, no]));
            }
        }
        34 => {
            let parts = checked(a.split_into(count(tape).min(LEAVES), |_, _| tape.below(4)));
            parts.iter().flatten().for_each(is_whole);
        }
        35 => is_tree(Tree::merge([a, b])),
        36 => {
            let mut tree = a;
            checked(tree.replace(place(x, tape), b)).iter().for_each(is_whole);
            is_whole(&tree);
        }
        37 => {
            let mut tree = a;
            checked(tree.remove(place(x, tape))).iter().for_each(is_whole);
            is_whole(&tree);
        }
        38 => {
            let mut tree = a;
            let old = tree.edit_at(pattern(x, tape), |_, _, _| Ok(Edit::Remove));
            let old = checked(old).unwrap_or_default();
            old.iter().take(MANY).for_each(|(_, old)| is_whole(old));
            is_whole(&tree);
        }
        39 => {
            let new = Tree::leaf(other);
            let mut tree = a;
            let old = tree.edit_at(pattern(x, tape), |_, _, _| Ok(Edit::Replace(new.clone())));
            let old = checked(old).unwrap_or_default();
            old.iter().take(MANY).for_each(|(_, old)| is_whole(old));
            is_whole(&tree);
        }
        40 => {
            let new = Tree::leaf(other);
            is_tree(a.edit(|_, _, _| Ok(edit(tape.below(6), &new))));
        }
        41 => {
            let new = Tree::leaf(other);
            is_tree(a.edit_up(|_, _| Ok(edit(tape.below(6), &new))));
        }
        42 => {
            let outer = Shape::draw(tape, 2).sorted().constructed();
            let trees =
                (0..outer.num_leaves()).map(|at| if at % 2 == 0 { a.clone() } else { b.clone() });
            is_tree(Tree::new(outer, trees.collect()).unwrap().compose());
        }
        43 if few => {
            is_tree(a.clone().zip(b.clone()));
            is_tree(a.broadcast_to(y).and_then(|a| a.zip(b)));
        }
        44 if few => {
            if let Some(stacked) = checked(Tree::stack([a.clone(), b, a.clone()])) {
                is_whole(&stacked);
                // All have the options that one of them has.
                let same = stacked.treedef() == a.treedef();
                if let Some(trees) = checked(stacked.unstack()) {
                    assert!(trees[2].leaves() == a.leaves() && (trees[2] == a) == same);
                }
            }
            assert!(checked(Tree::<L>::stack([])).is_none());
        }
        45 if few => {
            let (yes, no) = a.clone().partition(|_: &_, _: &_| tape.one_in(2)).unwrap();
            assert_eq!(checked(Tree::combine([yes, no])), Some(a));
        }
        46 if few => {
            let mask = b.map(|_| tape.one_in(2));
            let parts = checked(a.clone().partition(&mask));
            assert!(
                parts.is_none_or(|(yes, no)| Tree::combine([yes, no]).is_ok_and(|all| all == a))
            );
        }
        47 if few => {
            let unique = a.clone().unique_by(Clone::clone);
            assert_eq!(checked(unique.rebuild(&unique.leaves)), Some(a));
            checked(unique.rebuild(&[0; 9]));
        }
        48 if few => {
            let pattern = pattern(x, tape);
            // A path does not tell the `.0` of a newtype from the `.0` of a tuple.
            let is_newtype = |path: &[Key]| {
                let above = a.treedef().node(path.iter().cloned().collect::<Path>());
                above.is_ok_and(|node| node.kind() == NodeKind::NewtypeStruct)
            };
            let is_in_newtype = |path: &Path| {
                (0..path.keys().len()).any(|length| is_newtype(&path.keys()[..length]))
            };
            if a.iter().any(|(path, _)| is_in_newtype(&path)) {
                return;
            }
            let covers = |path: &Path, _: &_| pattern.covers(path);
            let selected = a.select(covers).unwrap().count();
            // Each alternative in braces has to name something.
            let is_refused = selected == 0 || pattern.to_string().contains('{');
            let strict = a.select(&pattern).map(Iterator::count);
            assert!(strict.as_ref().map_or(is_refused, |count| *count == selected), "{strict:?}");
            let mut tree = a.map_with_path(|path, _| pattern.covers(path));
            assert_eq!(tree.leaves().iter().filter(|matches| **matches).count(), selected);
            let chosen = tree.select_mut(&pattern).map(Iterator::count);
            assert_eq!(chosen.ok(), strict.ok());
            is_tree(tree.try_map(|matches| if matches { Err("no") } else { Ok(()) }));
        }
        49 if few => {
            let hashes = RandomState::new();
            assert!(a != b || hashes.hash_one(&a) == hashes.hash_one(&b));
            text(format_args!("{a:?}"));
            let (treedef, leaves) = a.clone().into_parts();
            assert_eq!(checked(Tree::new(treedef, leaves)), Some(a));
        }
        _ => assert_eq!(a.iter().take(MANY).count(), x.num_leaves().min(MANY)),
    }
}

fn scalar(tape: &mut Tape) -> Leaf {
    match tape.below(10) {
        0 => Leaf::from(f64::from_bits(u64::from_le_bytes(tape.array()))),
        1 => Leaf::from(f32::from_bits(u32::from_le_bytes(tape.array()))),
        2 => Leaf::from(i128::from_le_bytes(tape.array())),
        3 => Leaf::from(u64::from_le_bytes(tape.array())),
        4 => Leaf::from(["", "a"][tape.below(2)]),
        5 => Leaf::from(Constant::draw(tape).value()),
        6 => Leaf::None,
        number => Leaf::from(number as u8),
    }
}

fn on_trees_of_scalars(operation: u8, x: &TreeDef, y: &TreeDef, tape: &mut Tape) {
    let mut tree = |of: &TreeDef| {
        let leaves = (0..of.num_leaves()).map(|_| scalar(tape)).collect();
        Tree::new(of.clone(), leaves).unwrap()
    };
    let (a, b) = (tree(x), tree(y));
    match operation {
        50 => {
            if let Some((mut vector, ravel)) = checked(a.ravel()) {
                assert_eq!(checked(ravel.unravel(&vector)), Some(a));
                vector.push(0.5);
                assert!(checked(ravel.unravel(&vector)).is_none());
                vector.remove(tape.below(vector.len().min(256)));
                is_tree(ravel.unravel(&vector));
            }
        }
        51 => {
            if let Some(arrays) = checked(a.with_arrays()) {
                is_tree(arrays.without_arrays());
            }
        }
        52 => {
            if let Some(bytes) = checked(a.to_bytes()) {
                assert_eq!(checked(Tree::from_bytes(&bytes)), Some(a));
                checked(Tree::from_bytes_as::<f64>(&bytes, limits(tape)));
            }
        }
        53 => {
            assert!(checked(a.check_close(&a, Tolerance::default())).is_some());
            checked(a.check_close(&b, Tolerance { rtol: 0.5, ulps: 3, ..Tolerance::default() }));
        }
        54 => {
            let (treedef, leaves) = a.into_parts();
            checked(unflatten::<IgnoredAny>(&treedef, &leaves));
            checked(unflatten_strict::<serde_json::Value>(&treedef, &leaves));
            checked(unflatten::<Vec<Option<String>>>(&treedef, leaves));
        }
        55 => drop(checked(a.migrate::<Vec<(f64, String)>>())),
        56 => {
            // A document may have keys that JSON has not, and its values take 200 bytes each.
            if a.treedef().num_nodes() <= 1 << 20 {
                let _ = serde_json::to_value(&a);
            }
            checked(Tree::of(&a)).iter().for_each(is_whole);
        }
        57 => {
            let diff = a.diff(&b);
            text(format_args!("{diff:#}"));
            // The limits are the limits of the old tree.
            if let Some(patched) = checked(a.patch(&diff)) {
                assert_eq!(patched, b);
            }
        }
        58 => {
            let kinds = a.clone().map(|leaf| leaf.kind());
            if let Some(printed) = text(format_args!("{kinds}")) {
                let kinds = Tree::<treedef::LeafKind>::parse_with(&printed, limits(tape));
                checked(kinds);
            }
            text(format_args!("{a} {a:#} {a:?}"));
        }
        _ => {
            let numbers = a.filter(|_: &_, leaf: &Leaf| leaf.kind().is_number());
            let numbers =
                checked(numbers).filter(|tree| tree.treedef().root().kind() != NodeKind::Leaf);
            numbers.map(|numbers| checked(numbers.ravel()));
        }
    }
}
