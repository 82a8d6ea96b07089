//! Vectors, maps and sets.

use crate::laws::{holds, holds_flattened};

#[test]
fn indexmap() {
    use indexmap::{IndexMap, IndexSet};

    let map: IndexMap<String, f64> =
        [("z", 1.0), ("a", 2.0), ("m", 3.0)].map(|(key, value)| (key.to_owned(), value)).into();
    holds_flattened(map.clone());
    let nested: IndexMap<String, _> = [("q".to_owned(), map.clone()), ("b".to_owned(), map)].into();
    holds_flattened(nested.clone());
    let (leaves, treedef) = treedef::flatten(&nested).unwrap();
    let rebuilt: IndexMap<String, IndexMap<String, f64>> =
        treedef::unflatten(&treedef, leaves).unwrap();
    assert_eq!(format!("{rebuilt:?}"), format!("{nested:?}"));

    // Keys that are not strings cannot stand below `flatten`, nor in a buffer as what they were.
    holds(IndexMap::<(u8, char), bool>::from([((2, 'a'), true), ((1, 'b'), false)]));
    holds(IndexMap::<Option<i64>, Vec<f32>>::from([(Some(-1), vec![1.0]), (None, vec![])]));
    holds(IndexSet::<String>::from(["z", "a"].map(str::to_owned)));
    holds(IndexSet::<u128>::new());
}

#[test]
fn hashbrown() {
    use hashbrown::{HashMap, HashSet};

    let map: HashMap<String, f64> = (0..20).map(|i| (format!("key {i}"), f64::from(i))).collect();
    holds_flattened(map);
    holds::<HashMap<u8, [f64; 2]>>(HashMap::from([(3, [1.5, 2.5]), (1, [3.5, 4.5])]));
    // A set of several would come in another order each time.
    holds::<HashSet<String>>(HashSet::from(["a".to_owned()]));
}

#[test]
fn smallvec() {
    use smallvec::{SmallVec, smallvec};

    holds::<SmallVec<[f64; 4]>>(smallvec![1.0, 2.0]);
    holds::<SmallVec<[f64; 2]>>(smallvec![1.0, 2.0, 3.0]);
    holds::<SmallVec<[SmallVec<[String; 1]>; 1]>>(smallvec![
        smallvec!["a".to_owned()],
        smallvec![]
    ]);
}

#[test]
fn arrayvec() {
    use arrayvec::{ArrayString, ArrayVec};

    holds(ArrayVec::<f32, 4>::from_iter([1.0, 2.0]));
    holds(ArrayVec::<Option<bool>, 2>::from([Some(true), None]));
    holds(ArrayString::<8>::from("short").unwrap());

    let (leaves, treedef) = treedef::flatten(&[("a", vec![1, 2, 3])]).unwrap();
    let error =
        treedef::unflatten::<[(String, ArrayVec<i32, 2>); 1]>(&treedef, leaves).unwrap_err();
    insta::assert_snapshot!(error, @"invalid length 3, expected an array with no more than 2 items at `.0.1`");
    let (leaves, treedef) = treedef::flatten(&["too long"]).unwrap();
    let error = treedef::unflatten::<[ArrayString<4>; 1]>(&treedef, leaves).unwrap_err();
    insta::assert_snapshot!(error, @"invalid length 8, expected a string no more than 4 bytes long at `.0`");
}

#[test]
fn tinyvec() {
    use tinyvec::{ArrayVec, TinyVec, array_vec, tiny_vec};

    holds::<ArrayVec<[f64; 4]>>(array_vec!([f64; 4] => 1.0, 2.0));
    holds::<TinyVec<[u16; 2]>>(tiny_vec!([u16; 2] => 1, 2, 3));
}

#[test]
fn bytes() {
    use bytes::{Bytes, BytesMut};

    holds(Bytes::from_static(b"\x00\xff"));
    holds(BytesMut::from(&b""[..]));
    assert_eq!(treedef::structure(&Bytes::from_static(b"abc")).unwrap().num_leaves(), 1);

    // Numbers in a sequence are bytes too.
    let (leaves, treedef) = treedef::flatten(&vec![1u8, 2]).unwrap();
    assert_eq!(treedef::unflatten::<Bytes>(&treedef, leaves).unwrap(), [1, 2][..]);
}

#[test]
fn serde_bytes() {
    use serde::{Deserialize, Serialize};
    use serde_bytes::{ByteArray, ByteBuf};

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Blob {
        #[serde(with = "serde_bytes")]
        data: Vec<u8>,
        #[serde(with = "serde_bytes")]
        option: Option<Vec<u8>>,
        scale: f32,
    }

    holds(ByteBuf::from(vec![1, 2, 3]));
    holds(ByteArray::new([4u8; 4]));
    holds_flattened(Blob { data: vec![0, 255], option: Some(vec![]), scale: 0.5 });
}

#[test]
fn either() {
    use either::Either;
    use serde::{Deserialize, Serialize};

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Bare {
        #[serde(with = "either::serde_untagged")]
        value: Either<Vec<f64>, String>,
    }

    holds_flattened(Either::<f64, String>::Left(1.5));
    holds_flattened(Either::<f64, String>::Right("a".to_owned()));
    holds_flattened(Either::<Either<u8, ()>, Option<f32>>::Left(Either::Right(())));
    holds_flattened(Bare { value: Either::Left(vec![1.0, 2.0]) });
    holds_flattened(Bare { value: Either::Right("a".to_owned()) });
}

#[test]
fn enum_map() {
    use enum_map::{Enum, EnumMap, enum_map};
    use serde::{Deserialize, Serialize};

    #[derive(Clone, Copy, Debug, PartialEq, Enum, Serialize, Deserialize)]
    enum Axis {
        Z,
        X,
    }

    holds::<EnumMap<Axis, f64>>(enum_map! { Axis::Z => 1.0, Axis::X => 2.0 });
    holds::<EnumMap<bool, Vec<u8>>>(enum_map! { true => vec![1], false => vec![] });
}

#[test]
fn slotmap() {
    use slotmap::{DefaultKey, SecondaryMap, SlotMap};

    use crate::laws::ByDebug;

    let mut slots = SlotMap::new();
    let keys: Vec<DefaultKey> = (0..3).map(|i| slots.insert(f64::from(i))).collect();
    slots.remove(keys[1]);
    let mut names = SecondaryMap::new();
    names.insert(keys[2], "c".to_owned());
    holds(ByDebug(slots));
    holds(ByDebug(names));
    holds_flattened(keys[2]);
}

#[test]
fn fixedbitset() {
    use fixedbitset::FixedBitSet;

    let mut bits = FixedBitSet::with_capacity(100);
    bits.insert_range(3..70);
    // It asks for bytes that it can borrow.
    let (leaves, treedef) = treedef::flatten(&bits).unwrap();
    assert_eq!(treedef::unflatten_borrowed::<FixedBitSet>(&treedef, &leaves).unwrap(), bits);
    assert_eq!(treedef::unflatten::<FixedBitSet>(&treedef, &leaves).unwrap(), bits);
    let error = treedef::unflatten::<FixedBitSet>(&treedef, leaves).unwrap_err();
    insta::assert_snapshot!(error, @"invalid type: byte array, expected a borrowed byte array at `.data` (a type that borrows its bytes needs `unflatten_borrowed`)");
}
