//! The entries of a map keep their insertion order in every operation on the tree.
//!
//! Each operation is done twice: on a tree, and naively on a document whose maps are lists of
//! entries. The documents are compared as JSON, in which the order counts.
//!
//! | these do not keep it | why |
//! |---|---|
//! | text: `Display`, `parse`, `TreeDef` in JSON | the text of a structure is canonical |
//! | `TreeDef::to_bytes`, fingerprints | equal structures have equal bytes |
//! | a diff in a file: maps in keys | a path has a key as its text |
//! | `Structures` | one structure stands for many documents |
//! | more copies of a map than [`Limits::max_nodes`](treedef::Limits) | each needs memory of its own |

use proptest::prelude::*;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use treedef::{Edit, Limits, NodeKind, NodeRef, Tree, TreeDef, Value};
use treedef_testing::cases::cases;

#[derive(Clone, Debug, PartialEq)]
enum Doc {
    Number(i64),
    List(Vec<Doc>),
    Map(Vec<(String, Doc)>),
}

use Doc::{List, Map, Number};

impl Serialize for Doc {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Number(number) => serializer.serialize_i64(*number),
            List(items) => {
                let mut seq = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| seq.serialize_element(item))?;
                seq.end()
            }
            Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                entries.iter().try_for_each(|(key, item)| map.serialize_entry(key, item))?;
                map.end()
            }
        }
    }
}

impl Doc {
    fn tree(&self) -> Tree<i64> {
        Tree::of_as(self).unwrap()
    }

    /// This document with every number replaced.
    fn each(&self, f: &mut impl FnMut(i64) -> Doc) -> Doc {
        match self {
            Number(number) => f(*number),
            List(items) => List(items.iter().map(|item| item.each(f)).collect()),
            Map(entries) => {
                Map(entries.iter().map(|(key, item)| (key.clone(), item.each(f))).collect())
            }
        }
    }

    /// All places, parents first: for each step the index of a child.
    fn places(&self) -> Vec<Vec<usize>> {
        let mut all = vec![Vec::new()];
        for (at, child) in self.children().into_iter().enumerate() {
            all.extend(child.places().into_iter().map(|below| [vec![at], below].concat()));
        }
        all
    }

    fn children(&self) -> Vec<&Doc> {
        match self {
            Number(_) => Vec::new(),
            List(items) => items.iter().collect(),
            Map(entries) => entries.iter().map(|(_, item)| item).collect(),
        }
    }

    fn at(&mut self, place: &[usize]) -> &mut Doc {
        place.iter().fold(self, |doc, &at| match doc {
            Number(_) => unreachable!("a number has no places"),
            List(items) => &mut items[at],
            Map(entries) => &mut entries[at].1,
        })
    }

    fn path(&self, place: &[usize]) -> String {
        let Some((at, below)) = place.split_first() else { return String::new() };
        let (step, child) = match self {
            Number(_) => unreachable!("a number has no places"),
            List(items) => (format!("[{at}]"), &items[*at]),
            Map(entries) => (format!("[{:?}]", entries[*at].0), &entries[*at].1),
        };
        step + &child.path(below)
    }

    fn remove(&mut self, place: &[usize]) {
        let (at, above) = place.split_last().unwrap();
        match self.at(above) {
            Number(_) => unreachable!("a number has no places"),
            List(items) => drop(items.remove(*at)),
            Map(entries) => drop(entries.remove(*at)),
        }
    }

    /// Without the numbers that are dropped, and without containers that have no others.
    fn filtered(&self, keep: impl Fn(i64) -> bool + Copy) -> Option<Doc> {
        let had = self.numbers() > 0;
        let filtered = match self {
            Number(number) => return keep(*number).then(|| self.clone()),
            List(items) => List(items.iter().filter_map(|item| item.filtered(keep)).collect()),
            Map(entries) => {
                let kept = |(key, item): &(String, Doc)| Some((key.clone(), item.filtered(keep)?));
                Map(entries.iter().filter_map(kept).collect())
            }
        };
        (!had || filtered.numbers() > 0).then_some(filtered)
    }

    fn numbers(&self) -> usize {
        match self {
            Number(_) => 1,
            _ => self.children().into_iter().map(Doc::numbers).sum(),
        }
    }

    /// The entries of this map, and then those that only the other has.
    fn joined(&self, other: &Doc, removes: bool) -> Doc {
        let (Map(old), Map(new)) = (self, other) else { return other.clone() };
        let find = |all: &[(String, Doc)], key: &str| {
            all.iter().find(|(known, _)| known == key).map(|(_, item)| item.clone())
        };
        let stay = old.iter().filter_map(|(key, item)| match find(new, key) {
            Some(other) => Some((key.clone(), item.joined(&other, removes))),
            None => (!removes).then(|| (key.clone(), item.clone())),
        });
        let come = new.iter().filter(|(key, _)| find(old, key).is_none()).cloned();
        Map(stay.chain(come).collect())
    }
}

#[track_caller]
fn same<L: Serialize>(tree: &Tree<L>, expected: &Doc) {
    assert_eq!(serde_json::to_string(tree).unwrap(), serde_json::to_string(expected).unwrap());
}

/// Documents with few keys, so that neighbours often have equal structures and other orders.
fn docs(lists: bool) -> impl Strategy<Value = Doc> {
    let number = (0..100_i64).prop_map(Number);
    number.prop_recursive(4, 40, 4, move |inner| {
        let keys = Just(["z", "a", "m", "b", "q"]).prop_shuffle();
        let items = prop::collection::vec(inner.clone(), usize::from(!lists)..5);
        let map = (keys, items).prop_map(|(keys, items)| {
            Map(keys.into_iter().map(str::to_owned).zip(items).collect())
        });
        let twins = (inner.clone(), 1..4_usize).prop_perturb(|(item, count), mut random| {
            let turned = |_| {
                turned(&item, &mut |entries| {
                    entries.rotate_left(random.random_range(0..entries.len()))
                })
            };
            List((0..count).map(turned).collect())
        });
        if lists { prop_oneof![3 => map, 1 => twins].boxed() } else { map.boxed() }
    })
}

/// The same document with entries in another order.
fn turned(doc: &Doc, turn: &mut impl FnMut(&mut [(String, Doc)])) -> Doc {
    match doc {
        Number(number) => Number(*number),
        List(items) => List(items.iter().map(|item| turned(item, turn)).collect()),
        Map(entries) => {
            let mut entries: Vec<_> =
                entries.iter().map(|(key, item)| (key.clone(), turned(item, turn))).collect();
            if entries.len() > 1 {
                turn(&mut entries);
            }
            Map(entries)
        }
    }
}

/// Numbers the leaves, so that nothing is equal by chance.
fn numbered(doc: &Doc, from: i64) -> Doc {
    let mut next = from;
    doc.each(&mut |_| {
        next += 1;
        Number(next)
    })
}

fn a_place(doc: &Doc, choice: prop::sample::Index) -> Vec<usize> {
    choice.get(&doc.places()).clone()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(100)))]

    #[test]
    fn what_keeps_the_structure_keeps_the_order(doc in docs(true)) {
        let tree = doc.tree();
        let twice = doc.each(&mut |number| Number(2 * number));
        let even = |_: &treedef::Path, leaf: &i64| leaf % 2 == 0;
        same(&tree, &doc);
        same(&tree.clone().map(|x| 2 * x), &twice);
        same(&tree.clone().map_with_path(|_, x| 2 * x), &twice);
        same(&tree.clone().try_map(|x| Ok::<_, treedef::Error>(2 * x)).unwrap(), &twice);
        same(&tree.as_ref(), &doc);
        same(&tree.clone().zip_with(tree.clone(), |a, b| a + b).unwrap(), &twice);
        same(&tree.clone().zip(tree.clone()).unwrap().map(|(leaf, _)| leaf), &doc);
        let two = Tree::leaf(2).broadcast_to(tree.treedef()).unwrap();
        same(&two.zip_with(tree.clone(), |a, b| a * b).unwrap(), &twice);
        same(&Tree::leaf(7).broadcast_to(tree.treedef()).unwrap(), &doc.each(&mut |_| Number(7)));
        let (yes, no) = tree.clone().partition(even).unwrap();
        same(&Tree::combine([no, yes]).unwrap(), &doc);
        let (yes, no) = tree.clone().partition(&tree.clone().map(|x| x > 50)).unwrap();
        same(&Tree::combine([yes, no]).unwrap(), &doc);
        if doc.numbers() > 0 {
            let rows = Tree::stack([tree.clone(), tree.clone()]).unwrap().unstack().unwrap();
            same(&rows[1], &doc);
        }
        let unique = tree.clone().unique_by(Clone::clone);
        same(&unique.rebuild(&unique.leaves).unwrap(), &doc);
        same(&Tree::of(&doc).unwrap().with_arrays().unwrap().without_arrays().unwrap(), &doc);
        #[cfg(feature = "persist")]
        same(&Tree::from_bytes(&tree.to_bytes().unwrap()).unwrap(), &doc);
        same(&tree.clone().edit(|_, _, _| Ok(Edit::Keep)).unwrap(), &doc);
        same(&tree.clone().edit_up(|_, _| Ok(Edit::Keep)).unwrap(), &doc);
        let new = |treedef: treedef::Result<TreeDef>| Tree::new(treedef.unwrap(), tree.leaves().to_vec());
        same(&new(tree.treedef().edit(|_| Ok(Edit::Keep))).unwrap(), &doc);
        same(&new(tree.treedef().edit_up(|_| Ok(Edit::Keep))).unwrap(), &doc);
        same(&new(TreeDef::leaf().common_suffix(tree.treedef())).unwrap(), &doc);
        same(&new(tree.treedef().common_suffix(tree.treedef())).unwrap(), &doc);
        same(&new(tree.treedef().compose(&TreeDef::leaf())).unwrap(), &doc);
        same(&new(tree.treedef().inner_of(&TreeDef::leaf())).unwrap(), &doc);
        same(&tree.clone().filter(|_: &_, _: &_| true).unwrap(), &doc);
        let mut is_root = true;
        let level = tree.treedef().edit(|_| {
            let is_root = std::mem::take(&mut is_root);
            Ok(if is_root { Edit::Keep } else { Edit::Replace(TreeDef::leaf()) })
        });
        let level = level.unwrap();
        let apart = tree.flatten_up_to(&level).unwrap();
        same(&apart, &doc);
        same(&apart.clone().compose().unwrap(), &doc);
        let children = tree.treedef().root().children().map(NodeRef::to_treedef);
        for ((treedef, tree), child) in children.zip(apart.leaves()).zip(sorted(&doc)) {
            same(tree, child);
            same(&Tree::new(treedef, tree.leaves().to_vec()).unwrap(), child);
        }
    }

    #[test]
    fn parts_have_their_order(doc in docs(true), choice: prop::sample::Index) {
        let place = a_place(&doc, choice);
        let part = doc.clone().at(&place).clone();
        same(&doc.tree().subtree(&*doc.path(&place)).unwrap(), &part);
        let treedef = doc.tree().treedef().node(&*doc.path(&place)).unwrap().to_treedef();
        same(&Tree::new(treedef, part.tree().leaves().to_vec()).unwrap(), &part);
    }

    #[test]
    fn edits_keep_the_order(doc in docs(true), new in docs(true), choice: prop::sample::Index) {
        let place = a_place(&doc, choice);
        let path = doc.path(&place);
        let (mut tree, mut expected) = (doc.tree(), doc.clone());
        let part = expected.at(&place).clone();
        same(&tree.replace(&*path, new.tree()).unwrap(), &part);
        *expected.at(&place) = new.clone();
        same(&tree, &expected);

        let (mut tree, mut expected) = (doc.tree(), doc.clone());
        if !place.is_empty() {
            same(&tree.remove(&*path).unwrap(), &part);
            expected.remove(&place);
            same(&tree, &expected);
        }

        let (mut tree, mut expected) = (doc.tree(), doc.clone());
        match expected.at(&place) {
            Number(_) => return Ok(()),
            List(items) => {
                items.insert(0, new.clone());
                tree.insert(&*format!("{path}[0]"), new.tree()).unwrap();
            }
            Map(entries) => {
                entries.push(("c".to_owned(), new.clone()));
                tree.insert(&*format!("{path}[\"c\"]"), new.tree()).unwrap();
            }
        }
        same(&tree, &expected);
    }

    #[test]
    fn structures_that_are_put_together_have_the_order_of_both(a in docs(true), b in docs(true)) {
        let expected = a.each(&mut |_| b.clone());
        let trees = a.tree().map(|_| b.tree());
        same(&trees.compose().unwrap(), &expected);
        let composed = a.tree().treedef().compose(b.tree().treedef()).unwrap();
        let leaves = b.tree().leaves().repeat(a.numbers());
        let tree = Tree::new(composed, leaves).unwrap();
        same(&tree, &expected);
        let inner = tree.transpose(a.tree().treedef(), b.tree().treedef()).unwrap();
        same(&inner, &b.each(&mut |number| a.each(&mut |_| Number(number))));
        let entries = [("z", &a), ("a", &b)].map(|(key, doc)| (Value::of(key).unwrap(), doc.tree()));
        let [(_, x), (_, y)] = &entries;
        let leaves = [y.leaves(), x.leaves()].concat(); // in the order of the keys
        let map = TreeDef::map(entries.clone().map(|(key, tree)| (key, tree.treedef().clone()))).unwrap();
        same(
            &Tree::new(map, leaves).unwrap(),
            &Map(vec![("z".to_owned(), a.clone()), ("a".to_owned(), b.clone())]),
        );
        let many = TreeDef::seq_of(a.tree().treedef(), 3).unwrap();
        same(&Tree::new(many, a.tree().leaves().repeat(3)).unwrap(), &List(vec![a.clone(), a.clone(), a]));
    }

    #[test]
    fn filters_keep_the_order(doc in docs(true)) {
        if let Some(expected) = doc.filtered(|number| number % 2 == 0) {
            same(&doc.tree().filter(|_: &_, leaf: &i64| leaf % 2 == 0).unwrap(), &expected);
        }
    }

    #[test]
    fn new_entries_come_last(a in docs(false), b in docs(false)) {
        // A difference of numbers is distinguished from a renamed key.
        let (a, b) = (numbered(&a, 0), numbered(&b, 1000));
        let (old, new) = (a.tree(), b.tree());
        let patched = old.patch(&old.diff(&new)).unwrap();
        prop_assert_eq!(&patched, &new);
        same(&patched, &a.joined(&b, true));
    }

    #[test]
    fn merged_entries_come_last(doc in docs(false)) {
        let root = |part: Option<Doc>| part.filter(|part| matches!(part, Map(_)));
        let doc = numbered(&doc, 0);
        let even = root(doc.filtered(|number| number % 2 == 0));
        let odd = root(doc.filtered(|number| number % 2 == 1));
        if let (Some(a), Some(b)) = (even, odd) {
            same(&Tree::merge([a.tree(), b.tree()]).unwrap(), &a.joined(&b, false));
            same(&Tree::merge([b.tree(), a.tree()]).unwrap(), &b.joined(&a, false));
        }
    }
}

/// The children in the order of their keys.
fn sorted(doc: &Doc) -> Vec<&Doc> {
    match doc {
        Map(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_by_key(|(key, _)| key);
            entries.into_iter().map(|(_, item)| item).collect()
        }
        other => other.children(),
    }
}

#[test]
fn a_renamed_key_stays_in_its_place() {
    let doc = |key: &str| {
        let entries = [("z", 1), (key, 2), ("b", 3)];
        Map(entries.map(|(key, number)| (key.to_owned(), Number(number))).into())
    };
    let (old, new) = (doc("y").tree(), doc("a").tree());
    same(&old.patch(&old.diff(&new)).unwrap(), &doc("a"));
}

#[test]
fn a_run_is_changed_where_its_maps_came_in_two_orders() {
    let row = |keys: [&str; 2]| Map(keys.map(|key| (key.to_owned(), Number(0))).into());
    let rows = List(vec![row(["z", "a"]), row(["a", "z"]), row(["z", "a"])]);
    let treedef = rows.tree().treedef().clone();
    let marked = |treedef: TreeDef| {
        let count = treedef.num_leaves();
        serde_json::to_string(&Tree::new(treedef, vec![0; count]).unwrap()).unwrap()
    };
    let nested = treedef
        .edit(|node| {
            Ok(if node.is_leaf() {
                Edit::Replace(TreeDef::seq([TreeDef::leaf()])?)
            } else {
                Edit::Keep
            })
        })
        .unwrap();
    assert_eq!(marked(nested), r#"[{"z":[0],"a":[0]},{"a":[0],"z":[0]},{"z":[0],"a":[0]}]"#);
    let up = treedef
        .edit_up(|node| {
            let is_map = node.root().kind() == NodeKind::Map;
            Ok(if is_map { Edit::Replace(TreeDef::seq([node.clone()])?) } else { Edit::Keep })
        })
        .unwrap();
    assert_eq!(marked(up), r#"[[{"z":0,"a":0}],[{"a":0,"z":0}],[{"z":0,"a":0}]]"#);
    let new: TreeDef = r#"[{"a": *, "k": *, "z": *}; 3]"#.parse().unwrap();
    let patched = treedef.patch(&treedef.diff(&new)).unwrap();
    assert_eq!(marked(patched), r#"[{"z":0,"a":0,"k":0},{"a":0,"z":0,"k":0},{"z":0,"a":0,"k":0}]"#);
}

#[test]
fn too_many_copies_are_in_the_order_of_keys() {
    let map = Map(["z", "a"].map(|key| (key.to_owned(), Number(0))).into()).tree();
    let few = map.treedef().clone().with_limits(Limits { max_nodes: 4, ..Limits::default() });
    let copies = |count: usize| {
        let treedef = TreeDef::seq_of(&few, count).unwrap();
        serde_json::to_string(&Tree::new(treedef, vec![0; 2 * count]).unwrap()).unwrap()
    };
    assert_eq!(copies(4), format!("[{}]", [r#"{"z":0,"a":0}"#; 4].join(",")));
    assert_eq!(copies(5), format!("[{}]", [r#"{"a":0,"z":0}"#; 5].join(",")));
    let huge = TreeDef::seq_of(map.treedef(), 1 << 60).unwrap();
    assert_eq!(huge.to_string(), r#"[{"a": *, "z": *}; 1152921504606846976]"#);
}
