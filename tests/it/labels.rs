//! Fields and keys: neighbours may have all of them in common, the first, others or none.

use indexmap::IndexMap;
use serde::Serialize;
use treedef::{Flattener, Leaf, Limits, MapOrder, TreeDef, Value, flatten, unflatten};

use treedef_testing::cases::sample;

use crate::data::{Data, Read};

const NAMES: [&[&str]; 11] = [
    &[],
    &["a"],
    &["b"],
    &["a", "b"],
    &["b", "a"],
    &["a", "c"],
    &["a", "b", "c"],
    &["c", "a", "b"],
    &["b", "c"],
    &["a", "b", "c", "d"],
    &["d"],
];

fn map(names: &[&'static str], child: impl Fn(usize) -> Data) -> Data {
    let keys = names.iter().map(|name| Data::Str((*name).to_owned()));
    Data::Map(keys.enumerate().map(|(at, key)| (key, child(at))).collect())
}

fn fields(
    names: &[&'static str],
    child: impl Fn(usize) -> Data,
) -> impl Iterator<Item = (&'static str, Data)> {
    names.iter().enumerate().map(move |(at, name)| (*name, child(at)))
}

/// A map, a struct and a variant with these labels; their children are leaves, all but the one at a
/// position.
fn compounds(names: &'static [&'static str], other: usize) -> [Data; 3] {
    let child =
        |at| if at == other { Data::Seq(vec![Data::U8(1); 2]) } else { Data::F64(at as u64) };
    [
        map(names, child),
        Data::Struct("S", fields(names, child).collect()),
        Data::StructVariant("E", "V", fields(names, child).collect()),
    ]
}

fn flatteners() -> [Flattener; 3] {
    let usual = Flattener::new();
    [usual.clone(), usual.clone().map_order(MapOrder::Insertion), usual.serialize_once(true)]
}

/// A value beside others must be flattened as it is alone.
fn check(flattener: &Flattener, elements: &[&Data]) {
    let all = Data::Seq(elements.iter().copied().cloned().collect());
    let (leaves, treedef) = flattener.flatten(&all).unwrap();
    let (texts, alone): (Vec<String>, Vec<Vec<Leaf>>) = elements
        .iter()
        .map(|element| {
            let (leaves, treedef) = flattener.flatten(element).unwrap();
            (treedef.to_string().trim_start_matches("#[insertion] ").to_owned(), leaves)
        })
        .unzip();
    let options = if treedef.to_string().starts_with('#') { "#[insertion] " } else { "" };
    let expected = format!("{options}[{}]", texts.join(", ")).parse::<TreeDef>().unwrap();
    assert_eq!(treedef, expected);
    assert_eq!(leaves, alone.concat(), "{treedef}");
    let rebuilt: Read = Read::like(&all, || unflatten(&treedef, leaves)).unwrap();
    assert_eq!(rebuilt.0, all, "{treedef}");
}

fn pairs_of_names() -> impl Iterator<Item = (&'static [&'static str], &'static [&'static str])> {
    NAMES.into_iter().flat_map(|a| NAMES.into_iter().map(move |b| (a, b)))
}

/// Twice each, with something else in front of the second.
fn check_both(flattener: &Flattener, a: &Data, b: &Data) {
    check(flattener, &[a, &Data::Unit, b, a, b]);
}

#[test]
fn neighbours_with_labels_in_common_are_what_they_are_alone() {
    for (seed, flattener) in (0..).zip(flatteners()) {
        for (first, second) in sample(seed, pairs_of_names()) {
            for other in 0..3 {
                for (a, b) in compounds(first, 9).iter().zip(&compounds(second, other)) {
                    check_both(&flattener, a, b);
                    check_both(&flattener, b, a);
                }
            }
        }
    }
}

/// Not by its next key alone.
#[test]
fn a_known_map_is_recognised_by_all_its_keys() {
    let maps = NAMES.map(|names| map(names, |at| Data::U8(at as u8)));
    for (a, b) in maps.iter().flat_map(|a| maps.iter().map(move |b| (a, b))) {
        for c in &maps {
            check(&Flattener::new(), &[a, b, &Data::Unit, c]);
        }
    }
}

#[test]
fn what_stands_inside_has_labels_of_its_own() {
    for (seed, flattener) in (0..).zip(flatteners()) {
        for (outer, inner) in sample(seed, pairs_of_names()) {
            for (a, b) in compounds(inner, 1).into_iter().zip(compounds(outer, 9)) {
                let nested = [
                    map(outer, |_| a.clone()),
                    map(outer, |at| if at == 1 { a.clone() } else { Data::None }),
                    Data::Struct("S", fields(outer, |_| a.clone()).collect()),
                ];
                nested.iter().for_each(|nested| check_both(&flattener, nested, &b));
            }
        }
    }
}

/// Maps in keys and statics are in the order of their keys, also if the maps around them are in another
/// order.
#[test]
fn what_is_kept_has_its_own_order() {
    let flattener = Flattener::new().map_order(MapOrder::Insertion);
    let map = |names: &[&'static str]| map(names, |at| Data::U8(at as u8));
    let (ba, ab) = (map(&["b", "a"]), map(&["a", "b"]));
    let key = Data::Map(vec![(ba.clone(), Data::Unit)]);
    let treedef = flattener.structure(&Data::Tuple(vec![ba, key.clone(), ab])).unwrap();
    insta::assert_snapshot!(treedef, @r#"#[insertion] ({"b": *, "a": *}, {{"a": 1u8, "b": 0u8}: ()}, {"a": *, "b": *})"#);
    assert_eq!(treedef.to_string().parse::<TreeDef>().unwrap(), treedef);

    let alone = flattener.structure(&key).unwrap().to_string();
    assert_eq!(alone, r#"#[insertion] {{"a": 1u8, "b": 0u8}: ()}"#);
}

/// Keys that are equal may have arrived in different orders of their own, and keep them.
/// A value that is equal to another one, but for the order of entries in a static, is walked like it.
#[test]
fn a_static_keeps_its_order_after_a_walk_like_another_value() {
    #[derive(Serialize)]
    struct Kept {
        #[serde(serialize_with = "treedef::as_static")]
        names: IndexMap<&'static str, i32>,
        w: f64,
    }
    let kept =
        |names: [&'static str; 2]| Kept { names: names.map(|name| (name, 1)).into(), w: 0.5 };
    let (a, b) = (kept(["a", "b"]), kept(["b", "a"]));
    let like = std::thread::spawn(move || treedef::structure(&a).unwrap()).join().unwrap();
    let order = |treedef: &TreeDef| {
        let value = treedef.node("names").unwrap().static_value().unwrap().clone();
        value.into_typed::<IndexMap<String, i32>>().unwrap().into_keys().collect::<Vec<_>>()
    };
    assert_eq!(order(&like), ["a", "b"]);
    like.flatten_like(&b, &mut Vec::<f64>::new()).unwrap();
    for _ in 0..4 {
        assert_eq!(order(&flatten(&b).unwrap().1), ["b", "a"]);
        like.flatten_like(&b, &mut Vec::<f64>::new()).unwrap();
    }
}

/// The limits of a walk are not those of the next one.
#[test]
fn a_static_has_the_limits_of_its_walk() {
    #[derive(Serialize)]
    struct Kept(
        #[serde(serialize_with = "treedef::as_static")] Vec<()>,
        #[serde(serialize_with = "treedef::as_opaque")] Vec<()>,
    );
    let value = Kept(vec![(); 1000], vec![(); 1000]);
    let small = Limits { max_work: 100, ..Limits::default() };
    for _ in 0..3 {
        for _ in 0..2 {
            assert!(Flattener::new().limits(small).structure(&value).is_err());
        }
        let (leaves, treedef): (Vec<Leaf>, _) = flatten(&value).unwrap();
        Value::from(leaves[0].clone()).into_typed::<Vec<()>>().unwrap();
        let node = treedef.node(".0").unwrap();
        node.static_value().unwrap().clone().into_typed::<Vec<()>>().unwrap();
        treedef.with_limits(small).flatten_like(&value, &mut Vec::<Leaf>::new()).unwrap();
    }
}

#[test]
fn equal_keys_keep_their_orders() {
    let key = |names| map(names, |at| Data::Str(names[at].to_owned()));
    let entries = |keys: [Data; 2]| Data::Map(keys.into_iter().map(|k| (k, Data::U8(1))).collect());
    let first = entries([key(&["b", "a"]), key(&["c"])]);
    let second = entries([key(&["a", "b"]), key(&["d"])]);
    check(&Flattener::new(), &[&first, &Data::Unit, &second]);
    check(&Flattener::new(), &[&second, &Data::Unit, &first]);
}

/// A key that is a map may be equal to an earlier one whose entries came in another order, also where many maps with
/// other keys came before.
#[test]
fn equal_keys_are_equal_among_many_others() {
    let key = |names| map(names, |at| Data::Str(names[at].to_owned()));
    let entry = |key| Data::Map(vec![(key, Data::U8(1))]);
    let mut all: Vec<Data> = (0..20).map(|i| entry(Data::U8(i))).collect();
    all.extend([entry(key(&["b", "a"])), Data::Unit, entry(key(&["a", "b"]))]);
    let (_, treedef) = flatten(&Data::Seq(all)).unwrap();
    assert_eq!(treedef, treedef.to_string().parse().unwrap());
}

/// Keys that are maps may have equal leaves, or no leaves. Each is looked for among the others in one step: otherwise, this
/// would take minutes.
#[test]
fn many_keys_that_differ_only_in_their_structure_are_told_apart() {
    let by_keys = (0..12_000u32).map(|i| (Data::U32(i), Data::U8(1)));
    let keys = by_keys.map(|entry| Data::Map(vec![entry, (Data::Str("x".into()), Data::U8(2))]));
    let nested =
        |i: u32| (0..15).map(move |bit| if i >> bit & 1 == 1 { Data::Unit } else { Data::None });
    let empty = || Data::Map(Vec::new());
    let others = (0..12_000).map(|i| Data::Seq(nested(i).chain([empty()]).collect()));
    for keys in [keys.collect::<Vec<_>>(), others.collect()] {
        let count = keys.len();
        let all = Data::Map(keys.into_iter().map(|key| (key, Data::Bool(true))).collect());
        let (leaves, treedef) = flatten(&all).unwrap();
        assert_eq!((leaves.len(), treedef.root().num_children()), (count, count));
    }
}

/// Many maps with few keys or many, in any order, which have all keys in common with an earlier one, or some, or none.
#[test]
fn maps_in_long_lists_are_what_they_are_alone() {
    for (seed, flattener) in (0..).zip(flatteners()) {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut number = 0;
        let mut entries = |rng: &mut fastrand::Rng| {
            number += 1;
            let len = if rng.u8(..20) == 0 { 50 } else { rng.usize(..4) };
            let of = [6, 60, 100_000][rng.usize(..3)];
            let mut keys: Vec<u32> = (0..len).map(|i| rng.u32(..of) + i as u32 * 10).collect();
            keys.sort_unstable();
            keys.dedup();
            rng.shuffle(&mut keys);
            let entry = |key| (Data::Str(format!("key {key}")), Data::U16(number));
            Data::Map(keys.into_iter().map(entry).collect())
        };
        let maps: Vec<Data> = (0..200).map(|_| entries(&mut rng)).collect();
        check(&flattener, &maps.iter().collect::<Vec<_>>());
    }
}

/// An error has its path, among expected and unexpected labels.
#[test]
fn an_error_names_the_label_that_it_was_at() {
    #[derive(Serialize)]
    struct Failing(#[serde(serialize_with = "fail")] ());

    fn fail<S: serde::Serializer>(_: &(), _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("no"))
    }

    let value = |position: usize, names: [&'static str; 3]| {
        let entries = names.into_iter().enumerate();
        let entries = entries.map(|(at, name)| (name, (at == position).then_some(Failing(()))));
        indexmap::IndexMap::<_, _>::from_iter(entries)
    };
    for (position, path) in [(0, "a"), (1, "b"), (2, "c")] {
        let known = value(9, ["a", "b", "d"]);
        let error = treedef::flatten(&(&known, 1, value(position, ["a", "b", "c"]))).unwrap_err();
        assert_eq!(error.path().to_string(), format!(".2[\"{path}\"]?.0"));
        let error = treedef::flatten(&[known, value(position, ["a", "b", "c"])]).unwrap_err();
        assert_eq!(error.path().to_string(), format!(".1[\"{path}\"]?.0"));
    }
    assert_eq!(
        Value::of(&value(9, ["a", "b", "c"])).unwrap().to_string(),
        r#"{"a": None, "b": None, "c": None}"#
    );
}

/// While a map is open, the number of leaves before a value is unknown: a later entry may be sorted before
/// it.
#[test]
fn an_entry_may_come_after_one_that_differs() {
    let map = |entries: &[(&'static str, Option<bool>)]| -> IndexMap<&'static str, Option<bool>> {
        entries.iter().copied().collect()
    };
    let known = map(&[("b", Some(true)), ("c", Some(true))]);
    let other = map(&[("b", Some(true)), ("c", None), ("a", None)]);
    let (mut leaves, treedef) = flatten(&known).unwrap();
    let error = treedef.flatten_like(&other, &mut leaves).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"expected `Some(*)`, found `None` at `["c"]`, and 1 more difference"#
    );
    let (_, found) = flatten(&other).unwrap();
    assert_eq!(found.to_string(), r#"{"a": None, "b": Some(*), "c": None}"#);
}

/// The numbers of keys in a key belong to one walk. The next walk has others.
#[test]
fn keys_that_are_maps_are_told_apart_from_those_of_the_walk_before() {
    use std::collections::BTreeMap;

    type Inner = BTreeMap<i8, i8>;
    let value = |inner: &[i8], more: &[i8]| -> Vec<BTreeMap<Inner, Vec<BTreeMap<i8, i8>>>> {
        let more = more.iter().map(|key| [(*key, 0)].into()).collect();
        vec![[(inner.iter().map(|key| (*key, -1)).collect(), more)].into()]
    };
    for (first, second) in [(2, -1), (-1, 2), (7, 3)] {
        for more in [&[][..], &[5, 6], &[6, 5, 2], &[-1, 2, 3]] {
            for inner in [first, second] {
                let value = value(&[inner], more);
                let (leaves, treedef) = treedef::flatten(&value).unwrap();
                let text = treedef.to_string();
                assert!(text.starts_with(&format!("[{{{{{inner}i8: -1i8}}: ")), "{text}");
                let back: Vec<BTreeMap<Inner, Vec<BTreeMap<i8, i8>>>> =
                    treedef::unflatten(&treedef, leaves).unwrap();
                assert_eq!(back, value);
            }
        }
    }
}
