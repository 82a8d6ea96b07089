//! Maps: keys of every kind, orders, repeated keys.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_bytes::ByteBuf;

use super::{Specimen, key_types, specimens, types};

// Keys of our own.
key_types! {
    enum Key { Unit, Newtype(u8), Tuple(u8, char), Struct { a: i32, b: Option<u8> } }
    struct Id(u32);
    struct At { x: i8, y: i8 }
    struct Pair(u8, String);
    struct Nothing;
    #[serde(untagged)]
    enum Any { Bool(bool), Number(i64), Text(String), List(Vec<Any>), Map(BTreeMap<String, Any>) }
}

/// A key that is a float, ordered by `total_cmp`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct Float(f64);

impl PartialEq for Float {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Float {}

impl PartialOrd for Float {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Float {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// A map that differs when its order does.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Ordered<K: Hash + Eq, V>(IndexMap<K, V>);

impl<K: Hash + Eq, V: PartialEq> PartialEq for Ordered<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.0.iter().eq(other.0.iter())
    }
}

pub(super) fn ordered<K: Hash + Eq, V, const N: usize>(entries: [(K, V); N]) -> Ordered<K, V> {
    Ordered(entries.into())
}

/// A map whose keys repeat.
#[derive(Clone, Debug, PartialEq)]
struct Multi<K, V>(Vec<(K, V)>);

impl<K: Serialize, V: Serialize> Serialize for Multi<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl<'de, K: Deserialize<'de>, V: Deserialize<'de>> Deserialize<'de> for Multi<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<K, V>(std::marker::PhantomData<(K, V)>);
        impl<'de, K: Deserialize<'de>, V: Deserialize<'de>> de::Visitor<'de> for Visitor<K, V> {
            type Value = Multi<K, V>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Multi(entries))
            }
        }
        deserializer.deserialize_map(Visitor(std::marker::PhantomData))
    }
}

// Maps inside everything.
types! {
    struct Table { rows: BTreeMap<String, Vec<u8>>, index: HashMap<Id, At> }
    struct OfMap(BTreeMap<u8, u8>);
    struct History { versions: Vec<Ordered<String, u8>>, latest: Option<Ordered<u8, Ordered<char, ()>>> }
    enum Holder { Map(BTreeMap<u8, Key>), Pair(HashMap<u8, u8>, BTreeMap<Key, Key>), Fields { map: OfMap } }
}

fn map<K: Ord, V, const N: usize>(entries: [(K, V); N]) -> BTreeMap<K, V> {
    entries.into()
}

fn abc() -> [Ordered<String, u8>; 3] {
    let [a, b, c] = ["a", "b", "c"].map(str::to_owned);
    [
        ordered([(c.clone(), 3), (a.clone(), 1), (b.clone(), 2)]),
        ordered([(b.clone(), 2), (c.clone(), 3), (a.clone(), 1)]),
        ordered([(a, 1), (b, 2), (c, 3)]),
    ]
}

fn keys() -> [Key; 6] {
    [
        Key::Unit,
        Key::Newtype(1),
        Key::Newtype(0),
        Key::Tuple(0, 'a'),
        Key::Struct { a: -1, b: Some(1) },
        Key::Struct { a: -1, b: None },
    ]
}

pub(super) fn specimens() -> Vec<Specimen> {
    let floats =
        [0.0, -0.0, 1.5, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-320, -1e300];
    let any = |text: &str| Any::Text(text.to_owned());
    specimens! {
        "empty map" => BTreeMap::<u8, u8>::new(),
        "map of strings" => map(["", "a", "b c", "`", "\"", "ä", "\u{1f600}"].map(|key| (key.to_owned(), 1))),
        "map of u8" => map([(3u8, 'c'), (1, 'a')]),
        "map of i8" => map([(-128i8, 1), (-1, 2), (0, 3), (127, 4)]),
        "map of i128" => map([(i128::MIN, 'a'), (-1, 'b'), (0, 'c'), (i128::MAX, 'd')]),
        "map of u128" => map([(0u128, ()), (u128::MAX, ())]),
        "map of u64" => map([(0u64, vec![1]), (u64::MAX, vec![])]),
        "map of bool" => map([(true, 1u8), (false, 2)]),
        "map of char" => map([('b', 1u8), ('\'', 2), ('\n', 3)]),
        "map of floats" => floats.map(|key| (Float(key), 1u8)).into_iter().collect::<BTreeMap<_, _>>(),
        "map of bytes" => map([(ByteBuf::from([0, 255]), 1u8), (ByteBuf::from(*b"\"\\a"), 2), (ByteBuf::new(), 3)]),
        "map of unit" => map([((), 1u8)]),
        "map of unit structs" => map([(Nothing, 1u8)]),
        "map of options" => map([(None, 1u8), (Some(None), 2), (Some(Some(1u8)), 3)]),
        "map of newtypes" => map([(Id(2), 1u8), (Id(1), 2)]),
        "map of tuples" => map([((1u8, 'a'), 1u8), ((0, 'b'), 2), ((0, 'a'), 3)]),
        "map of tuples of one" => map([((1u8,), 1u8)]),
        "map of arrays" => map([([1u8, 2], 1u8), ([0, 3], 2)]),
        "map of tuple structs" => map([(Pair(1, "a".to_owned()), 1u8), (Pair(0, "b".to_owned()), 2)]),
        "map of structs" => map([(At { x: 1, y: 0 }, 1u8), (At { x: -1, y: 2 }, 2)]),
        "map of enums" => keys().into_iter().zip(0u8..).collect::<BTreeMap<_, _>>(),
        "map of seqs" => map([(vec![], 1u8), (vec![1u8], 2), (vec![1, 1], 3), (vec![0, 5], 4)]),
        "map of maps" => map([(map([(1u8, 2u8)]), 1u8), (map([]), 2), (map([(1, 1), (2, 2)]), 3)]),
        "map of mixed kinds" => map([
            (Any::Bool(true), 1u8), (Any::Number(-1), 2), (any("a"), 3), (Any::List(vec![any("a")]), 4),
            (Any::Map(map([("k".to_owned(), any("v"))])), 5), (Any::List(vec![]), 6), (Any::Number(1), 7),
        ]),
        "hash map" => (0..20u8).map(|key| (key, i32::from(key))).collect::<HashMap<_, _>>(),
        "hash map of enums" => keys().into_iter().zip(0u8..).collect::<HashMap<_, _>>(),
        "hash map of hash maps" => (0..9u8)
            .map(|key| (key, (0..key).map(|key| (key, vec![key; key.into()])).collect()))
            .collect::<HashMap<_, HashMap<_, _>>>(),
        "hash map of one value each" => (0..9u8).map(|key| (key, [Some(key); 2])).collect::<HashMap<_, _>>(),
        "index map" => abc()[0].clone(),
        "index maps in their own orders" => abc().to_vec(),
        "index map of index maps" => ordered([(9u8, abc()[0].clone()), (1, abc()[1].clone()), (5, abc()[2].clone())]),
        "history" => History {
            versions: [abc(), abc()].concat(),
            latest: Some(ordered([(2, ordered([('b', ()), ('a', ())])), (1, ordered([('d', ()), ('c', ())]))])),
        },
        "maps of differing values" => ordered([(3u8, Some(1u8)), (1, None), (2, Some(2)), (0, Some(3))]),
        "repeated keys" => Multi(vec![(2u8, 'a'), (1, 'b'), (2, 'c'), (1, 'd')]),
        "repeated entries" => Multi(vec![(1u8, 'a'), (1, 'a')]),
        "table" => Table {
            rows: map([("b".to_owned(), vec![1]), ("a".to_owned(), vec![])]),
            index: [(Id(1), At { x: 1, y: 2 }), (Id(0), At { x: 3, y: 4 })].into(),
        },
        "newtype of map" => OfMap(map([(1, 2), (3, 4)])),
        "variant of map" => Holder::Map(map([(1, Key::Unit), (0, Key::Newtype(1))])),
        "variant of maps" => Holder::Pair([(1, 2)].into(), map([(Key::Unit, Key::Tuple(1, 'a'))])),
        "variant with a map field" => Holder::Fields { map: OfMap(map([(7, 8)])) },
        "vec of maps" => vec![map([(1u8, 1u8)]), map([(1, 2)]), map([(2, 1)]), map([]), map([(2, 3)])],
    }
}
