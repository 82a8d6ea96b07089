//! Maps whose entries arrive in any order.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::hash::{Hash, RandomState};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use treedef::{Flattener, Key, MapOrder, TreeDef};

use super::hash;

/// Flattens two values that ought to be the same to a treedef.
#[track_caller]
fn assert_alike(one: &impl Serialize, other: &impl Serialize) {
    let [one, other] = [treedef::flatten(one), treedef::flatten(other)].map(Result::ok);
    assert!(one.is_some());
    assert_eq!(one, other);
    assert_eq!(hash(&one), hash(&other));
    let text = |tree: &Option<(_, TreeDef)>| tree.as_ref().map(|(_, treedef)| treedef.to_string());
    assert_eq!(text(&one), text(&other));
}

/// By their `Debug`, because an `IndexMap` equals one of another order.
#[track_caller]
fn assert_keeps_order<T>(value: &T)
where
    T: Serialize + for<'de> Deserialize<'de> + Debug,
{
    let rebuilt = || {
        let (leaves, treedef) = treedef::flatten(value)?;
        let strict = treedef::unflatten_strict(&treedef, &leaves)?;
        let lent = treedef::unflatten_borrowed(&treedef, &leaves)?;
        Ok::<[T; 4], treedef::Error>([
            strict,
            lent,
            treedef::unflatten(&treedef, &leaves)?,
            treedef::unflatten(&treedef, leaves.clone())?,
        ])
    };
    let shown = rebuilt().map(|values| values.map(|value| format!("{value:?}")));
    let expected = format!("{value:?}");
    assert_eq!(shown.ok(), Some([(); 4].map(|()| expected.clone())));
}

fn index_map<K: Hash + Eq, V>(entries: impl IntoIterator<Item = (K, V)>) -> IndexMap<K, V> {
    entries.into_iter().collect()
}

fn reversed<K: Hash + Eq + Clone, V: Clone>(map: &IndexMap<K, V>) -> IndexMap<K, V> {
    map.iter().rev().map(|(key, value)| (key.clone(), value.clone())).collect()
}

#[test]
fn hash_maps_of_any_seed_are_alike() {
    let entries = || (0..50u8).map(|n| (format!("k{}", n % 37), vec![Some(n); usize::from(n % 4)]));
    let sorted: BTreeMap<_, _> = entries().collect();
    for _ in 0..8 {
        let forwards: HashMap<_, _, RandomState> = entries().collect();
        let mut backwards: HashMap<_, _, RandomState> = HashMap::default();
        let mut unique: Vec<_> = forwards.clone().into_iter().collect();
        unique.sort();
        backwards.extend(unique.into_iter().rev());
        assert_alike(&forwards, &backwards);
        assert_alike(&forwards, &sorted);
        assert_alike(&vec![&forwards, &backwards], &vec![&sorted, &sorted]);
        assert_alike(&HashMap::from([(1, forwards)]), &BTreeMap::from([(1, sorted.clone())]));
    }
}

#[test]
fn index_maps_of_any_order_are_alike_and_keep_theirs() {
    let leaves = index_map((0..7u8).rev().map(|n| (n ^ 2, n)));
    let uneven = index_map((0..7u8).rev().map(|n| (n ^ 5, vec![Some(n); usize::from(n)])));
    let nested = index_map(
        (0..4u8).map(|n| (n ^ 3, if n % 2 == 0 { leaves.clone() } else { reversed(&leaves) })),
    );
    for_both_orders(&leaves);
    for_both_orders(&uneven);
    for_both_orders(&nested);
    for_both_orders(&index_map([(2, nested.clone()), (1, reversed(&nested))]));
    for_both_orders(&index_map([(2, vec![uneven.clone(), reversed(&uneven)]), (1, vec![uneven])]));
}

#[track_caller]
fn for_both_orders<K, V>(map: &IndexMap<K, V>)
where
    K: Serialize + for<'de> Deserialize<'de> + Hash + Eq + Clone + Debug,
    V: Serialize + for<'de> Deserialize<'de> + Clone + Debug,
{
    let back = reversed(map);
    assert_alike(map, &back);
    assert_keeps_order(map);
    assert_keeps_order(&back);
    // Equal elements, whose orders differ, are one run.
    let list = vec![map.clone(), back.clone(), map.clone(), map.clone(), back.clone()];
    assert_alike(&list, &vec![map; 5]);
    let runs = treedef::structure(&list).map(|treedef| treedef.root().runs().count());
    assert_eq!(runs.ok(), Some(1));
    assert_keeps_order(&list);
    assert_keeps_order(&(Some(list.clone()), vec![list], map.clone()));
    assert_keeps_order(&index_map([("z", map.clone()), ("a", back.clone())].map(owned)));
    assert_keeps_order(&Flattened {
        m: map.clone(),
        rest: index_map([("z", back.clone()), ("a", map.clone())].map(owned)),
        b: back,
    });
}

fn owned<V>((key, value): (&str, V)) -> (String, V) {
    (key.to_owned(), value)
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "M: Deserialize<'de>"))]
struct Flattened<M> {
    m: M,
    #[serde(flatten)]
    rest: IndexMap<String, M>,
    b: M,
}

#[test]
fn insertion_order_is_structure_when_asked_for() {
    let map = index_map([("b", 1), ("a", 2)]);
    let flattener = Flattener::new().map_order(MapOrder::Insertion);
    let (leaves, treedef) = flattener.flatten(&map).unwrap();
    let (_, other) = flattener.flatten(&reversed(&map)).unwrap();
    assert_ne!(treedef, other);
    assert_eq!(leaves, [1.into(), 2.into()]);
    let key = treedef.root().key(0).unwrap();
    assert!(matches!(&key, Key::Entry(value) if value.as_str() == Some("b")));
}

/// A key that is itself a map with an order.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(transparent)]
struct MapKey(IndexMap<u8, u8>);

impl Hash for MapKey {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.len().hash(state);
    }
}

#[test]
fn index_maps_inside_keys_keep_their_order() {
    let key = index_map([(2, 1), (3, 4), (1, 5)]);
    assert_keeps_order(&index_map([(MapKey(key.clone()), 1)]));
    assert_alike(&index_map([(MapKey(key.clone()), 1)]), &index_map([(MapKey(reversed(&key)), 1)]));
}

/// Equal keys and statics are stored once, so all are restored in the order of the first.
#[test]
fn equal_keys_share_the_order_of_the_first() {
    let key = index_map([(2, 1), (3, 4), (1, 5)]);
    let keys = [MapKey(key.clone()), MapKey(reversed(&key))];
    let maps = keys.map(|key| index_map([(key, 1)]));
    let (leaves, treedef) = treedef::flatten(&maps).unwrap();
    let back: [IndexMap<MapKey, i32>; 2] = treedef::unflatten(&treedef, leaves).unwrap();
    assert_eq!(back, maps);
    for map in &back {
        assert!(map.keys().next().unwrap().0.iter().eq(key.iter()));
    }
}
