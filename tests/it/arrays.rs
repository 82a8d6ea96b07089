//! Arrays as leaves.

use insta::assert_snapshot;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use treedef::{
    ArrayRule, Flattener, Leaf, LeafKind, LeafType, MapOrder, Static, Tolerance, Tree, TreeDef,
    Value, flatten_as, unflatten,
};
use treedef_testing::cases::config;

use crate::blocks::arrays;
use crate::data::{Data, Read, data};

fn flattener() -> Flattener {
    Flattener::new().arrays(true)
}

/// The types and shapes of the arrays of a value, and the other leaves.
fn shapes(value: &impl Serialize) -> Vec<String> {
    let (leaves, _) = flattener().flatten(value).unwrap();
    let text = |leaf: &Leaf| leaf.as_array().map_or(leaf.to_string(), |array| array.to_string());
    leaves.iter().map(text).collect()
}

proptest! {
    #![proptest_config(config(2_000))]

    #[test]
    fn an_array_is_a_block_of_numbers(value in prop_oneof![data(), arrays()]) {
        let plain = Tree::of(&value).unwrap();
        let tree = plain.clone().with_arrays().unwrap();
        let is_number = |kind: LeafKind| {
            let is_wide = matches!(kind, LeafKind::I128 | LeafKind::U128);
            kind.is_number() && !is_wide || kind == LeafKind::Bool
        };
        let expected: Vec<String> = plain
            .blocks()
            .filter(|(block, leaves)| !block.shape.is_empty() && is_number(leaves[0].kind()))
            .map(|(block, leaves)| format!("{}{:?}", leaves[0].kind(), block.shape))
            .collect();
        let found: Vec<String> =
            tree.leaves().iter().filter_map(Leaf::as_array).map(|array| array.to_string()).collect();
        prop_assert_eq!(found, expected);
        let again = tree.clone().without_arrays().unwrap();
        let in_order: Read = Read::like(&value, || again.clone().into_typed()).unwrap();
        prop_assert_eq!(&in_order.0, &value);
        prop_assert_eq!(again, plain);
        let rebuilt: Read = Read::like(&value, || tree.into_typed()).unwrap();
        prop_assert_eq!(rebuilt.0, value);
    }

    #[test]
    fn an_array_is_the_value_that_it_stands_for(value in arrays()) {
        let Data::Seq(children) = &value else { return Ok(()) };
        for child in children {
            let tree = flattener().tree(child).unwrap();
            let [leaf] = tree.leaves() else { continue };
            if !tree.treedef().root().is_leaf() || leaf.as_array().is_none() {
                continue;
            }
            let (array, plain) = (Value::from(leaf.clone()), Value::of(child).unwrap());
            prop_assert_eq!(&array, &plain);
            prop_assert_eq!(hash(&array), hash(&plain));
            prop_assert!(array.cmp(&plain).is_eq());
            prop_assert_eq!(array.to_string(), plain.to_string());
            prop_assert_eq!(array.leaves(), plain.leaves());
            prop_assert_eq!(
                serde_json::to_string(&array).unwrap(),
                serde_json::to_string(&plain).unwrap()
            );
            prop_assert_eq!(Leaf::from(array), Leaf::from(plain));
        }
    }
}

fn hash(value: &impl std::hash::Hash) -> u64 {
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
    BuildHasherDefault::<DefaultHasher>::default().hash_one(value)
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Array<D, T> {
    v: u8,
    dim: D,
    data: Vec<T>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Tensor {
    data: Vec<f32>,
    shape: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Complex {
    re: f64,
    im: f64,
}

#[allow(non_camel_case_types, reason = "the names of the crate `half`")]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct bf16(u16);

#[test]
fn the_types_of_array_crates_have_their_own_shapes() {
    let array = Array { v: 1, dim: [2usize, 3], data: vec![0.5f32; 6] };
    assert_eq!(shapes(&array), ["f32[2, 3]"]);
    assert_eq!(shapes(&Array { v: 1, dim: vec![6usize], data: vec![true; 6] }), ["bool[6]"]);
    assert_eq!(shapes(&Array { v: 1, dim: (), data: vec![0.5] }), ["1u8", "f64[1]"]);
    assert_eq!(shapes(&Tensor { data: vec![1.0; 6], shape: vec![3, 2] }), ["f32[3, 2]"]);
    assert_eq!(shapes(&vec![Complex { re: 1.0, im: 2.0 }; 3]), ["c128[3]"]);
    assert_eq!(shapes(&[[bf16(0x3f80); 2]; 2]), ["bf16[2, 2]"]);
    assert_eq!(shapes(&bf16(0x3f80)), ["16256u16"]);
    // The shape does not fit the numbers, so they are only a list.
    assert_eq!(shapes(&Tensor { data: vec![1.0; 6], shape: vec![3, 3] }), ["f32[6]", "u32[2]"]);
    assert_eq!(shapes(&vec![vec![1u8], vec![]]), ["u8[1]"]);
    assert_eq!(shapes(&vec![vec![1u8], vec![2, 3]]), ["u8[1]", "u8[2]"]);
    assert_eq!(shapes(&("a", 'b', vec!["c"; 2], 1u128, [2u128; 2])).len(), 7);
}

#[test]
fn statics_of_an_array_are_leaves_inside_it() {
    let array = Array { v: 1, dim: (2usize, 3usize), data: vec![0.5f32; 6] };
    let rules = flattener().array_rule(ArrayRule::Ndarray);
    let (leaves, treedef) = rules.flatten(&array).unwrap();
    assert_eq!(treedef.to_string(), "*");
    assert_eq!(leaves[0].as_array().unwrap().to_string(), "f32[2, 3]");
    assert_eq!(unflatten::<Array<(usize, usize), f32>>(&treedef, leaves).unwrap(), array);

    // A dynamic matrix of `nalgebra`.
    let model = (0.5, (vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2u64, 3u64));
    let (leaves, treedef) =
        flattener().array_rule(ArrayRule::Nalgebra(".1".parse().unwrap())).flatten(&model).unwrap();
    let matrix = leaves[1].as_array().unwrap();
    assert_eq!((matrix.shape(), matrix.is_column_major()), (&[2, 3][..], true));
    assert_eq!(unflatten::<(f64, (Vec<f64>, u64, u64))>(&treedef, &leaves).unwrap(), model);
}

/// The sizes may be static inside of newtypes: an array contains them all.
#[test]
fn statics_inside_of_newtypes_are_leaves_inside_an_array() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Rows(Vec<usize>);
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Dim<T>(Static<T>);
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Rowed<D> {
        dim: D,
        data: Vec<f32>,
    }
    fn check<T>(flattener: &Flattener, value: &T, array: &str)
    where
        T: Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
    {
        let tree = flattener.tree(value).unwrap();
        assert_eq!(tree.leaves()[0].as_array().unwrap().to_string(), array);
        assert_eq!(&tree.clone().into_typed::<T>().unwrap(), value);
        let plain = tree.clone().without_arrays().unwrap();
        assert_eq!(&plain.with_arrays().unwrap().into_typed::<T>().unwrap(), value);
        let loaded = Tree::from_bytes(&tree.to_bytes().unwrap()).unwrap();
        assert_eq!(&loaded.into_typed::<T>().unwrap(), value);
    }
    let data = vec![0.5f32, 1.0, 1.5, 2.0, 2.5, 3.0];
    check(
        &flattener(),
        &Rowed { dim: Dim(Static(vec![2usize, 3])), data: data.clone() },
        "f32[2, 3]",
    );
    let marked = flattener().mark_static("Rows.0").unwrap();
    check(&marked, &Rowed { dim: Rows(vec![2, 3]), data: data.clone() }, "f32[2, 3]");
    check(&flattener(), &(data, Dim(Static(2usize)), Dim(Static(3usize))), "f32[2, 3]");
}

/// Has the fields of an array of `ndarray`, whose `v` is a number.
#[derive(Serialize)]
struct Other<V> {
    v: V,
    dim: [u64; 1],
    data: Vec<f32>,
}

#[test]
fn an_array_type_with_more_than_numbers_is_no_array() {
    fn check<V: Serialize>(v: V) {
        let value = Other { v, dim: [2], data: vec![1.0, 2.0] };
        for flattener in [Flattener::new(), Flattener::new().none_is_leaf(true)] {
            let flattener = flattener.arrays(true);
            let tree = flattener.tree(&value).unwrap();
            assert!(tree.leaves().iter().any(|leaf| leaf.to_string() == "[1.0f32, 2.0f32]"));
            let json = serde_json::to_string(&tree).unwrap();
            assert_eq!(json, serde_json::to_string(&value).unwrap());
        }
    }
    check(None::<u8>);
    check("1");
    check(treedef::Opaque((1, "a")));
    check(Static((1, "a")));
    check(vec![vec![1]]);
}

#[test]
fn maps_beside_an_array_keep_their_order() {
    let map = |keys: &str| keys.chars().map(|key| (key, 1)).collect::<indexmap::IndexMap<_, _>>();
    let array = Other { v: map("cab"), dim: [2], data: vec![1.0, 2.0] };
    let value = (array, map("zbya"), map("cab"));
    for order in [MapOrder::Canonical, MapOrder::Insertion] {
        let tree = flattener().map_order(order).tree(&value).unwrap();
        assert_eq!(serde_json::to_string(&tree).unwrap(), serde_json::to_string(&value).unwrap());
    }
}

#[test]
fn an_array_may_become_a_static_or_a_key() {
    let rows = vec![vec![1.0f32; 2]; 2];
    let leaf = flattener().tree(&rows).unwrap().leaves()[0].clone();
    let treedef = treedef::structure(&Static(Value::from(leaf))).unwrap();
    assert_eq!(treedef, treedef::structure(&Static(&rows)).unwrap());
    treedef.flatten_like(&Static(&rows), &mut Vec::<Leaf>::new()).unwrap();
    let error = treedef.flatten_like(&Static([0.0]), &mut Vec::<Leaf>::new()).unwrap_err();
    assert_snapshot!(error, @"expected `static [[1.0f32, 1.0f32]; 2]`, found `static (0.0,)` at the root (statics are part of the structure; see `ignore_statics`)");
    assert_eq!(unflatten::<Vec<Vec<f32>>>(&treedef, Vec::<Leaf>::new()).unwrap(), rows);
}

#[test]
fn numbers_of_arrays_are_compared_with_a_tolerance() {
    let tree = |x: f32| flattener().tree(&("w", vec![vec![1.0, x]; 2])).unwrap();
    let close = |a: &Tree<Leaf>, b: &Tree<Leaf>| {
        a.check_close(b, Tolerance { atol: 0.1, ..Tolerance::default() })
    };
    assert!(close(&tree(2.0), &tree(2.05)).is_ok());
    let error = close(&tree(2.0), &tree(2.5)).unwrap_err();
    assert_snapshot!(error, @"expected 2.5f32, found 2.0f32 at `.1[0][1]`, and 1 more difference");
    let other = flattener().tree(&("w", vec![vec![1.0f32, 2.0]; 3])).unwrap();
    assert_snapshot!(close(&tree(2.0), &other).unwrap_err(), @"expected f32[3, 2] [[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]], found f32[2, 2] [[1.0, 2.0], [1.0, 2.0]] at `.1`");
}

#[test]
fn arrays_of_different_types_do_not_go_together() {
    let array = |value: &dyn Fn(Flattener) -> Tree<Leaf>| {
        value(flattener()).leaves()[0].as_array().unwrap().clone()
    };
    let doubles = array(&|flattener| flattener.tree(&[1.0, 2.0]).unwrap());
    let complex = array(&|flattener| flattener.tree(&[Complex { re: 1.0, im: 2.0 }; 2]).unwrap());
    assert_snapshot!(doubles.zip(&complex, |a: f64, _| a).unwrap_err(), @"expected an array `f64[2]`, found `c128[2]` at the root");
    let square = array(&|flattener| flattener.tree(&[[1.0, 2.0], [3.0, 4.0]]).unwrap());
    let columns = array(&|flattener| {
        let flattener = flattener.array_rule(ArrayRule::Nalgebra("".parse().unwrap()));
        flattener.tree(&([1.0, 2.0, 3.0, 4.0], 2u64, 2u64)).unwrap()
    });
    assert_snapshot!(square.zip(&columns, |a: f64, _| a).unwrap_err(), @"expected an array `f64[2, 2]`, found `f64[2, 2]` in column-major order at the root");
    let sizes = array(&|flattener| flattener.tree(&[1usize, 2]).unwrap());
    assert_eq!(sizes.as_slice::<u64>(), Some(&[1, 2][..]));
    assert_snapshot!(sizes.map(|x: usize| x).unwrap_err(), @"expected u64, found u64 at the root (sizes are stored as `u64`)");
}

#[test]
fn an_array_takes_other_numbers() {
    let tensor = Tensor { data: vec![1.0, 2.0], shape: vec![2, 1] };
    let (leaves, treedef) = flattener().flatten(&tensor).unwrap();
    let array = leaves[0].as_array().unwrap();
    let scaled = array.map(|x: f32| 10.0 * x).unwrap();
    let rebuilt: Tensor = unflatten(&treedef, [Leaf::from(scaled.clone())]).unwrap();
    assert_eq!(rebuilt, Tensor { data: vec![10.0, 20.0], shape: vec![2, 1] });
    let sum = array.zip(&scaled, |a: f32, b| a + b).unwrap();
    assert_eq!(sum.as_slice::<f32>(), Some(&[11.0, 22.0][..]));
    assert_eq!(array.as_slice::<f32>(), Some(&[1.0, 2.0][..]));

    assert_snapshot!(array.with_numbers(vec![1.0f32]).unwrap_err(), @"expected 2 leaves, found 1");
    assert_snapshot!(array.with_numbers(vec![1.0f64; 2]).unwrap_err(), @"expected f32, found f64 at the root");
    assert_snapshot!(array.map(|x: u8| x).unwrap_err(), @"expected u8, found f32 at the root");
    let row = flattener().tree(&[1.0f32, 2.0]).unwrap();
    let row = row.leaves()[0].as_array().unwrap();
    assert_snapshot!(array.zip(row, |a: f32, _| a).unwrap_err(), @"expected an array `f32[2, 1]`, found `f32[2]` at the root");
}

#[test]
fn other_walks_see_arrays_too() {
    let value = (vec![vec![1.0f32; 2]; 2], 7u8);
    let flattener = flattener();
    assert_snapshot!(flattener.structure(&value).unwrap(), @"(*, *)");
    assert_snapshot!(flattener.signature(&value).unwrap(), @"(opaque, u8)");
    assert_snapshot!(flattener.tree(&value).unwrap().summary(), @"(f32[2, 2] [[1.0, 1.0], [1.0, 1.0]], 7u8)");
    let long = (vec![[0.5f32, 1.5]; 8], [bf16(0x3f80); 7], vec![false; 7]);
    assert_snapshot!(flattener.tree(&long).unwrap().summary(), @"(f32[8, 2] (mean 1, sd 0.5, 0.5 … 1.5), bf16[7] (mean 1, sd 0, 1 … 1), bool[7] (0 true, 7 false))");
    let (mut leaves, treedef) = flattener.flatten(&value).unwrap();
    let other = (vec![vec![2.0f32; 2]; 3], 8u8);
    flattener.flatten_like(&treedef, &other, &mut leaves).unwrap();
    assert_eq!(leaves[0].as_array().unwrap().shape(), [3, 2]);
    assert_snapshot!(flattener.flatten_as::<f32>(&value).unwrap_err(), @"expected f32, found opaque at `.0` (see `Flattener::arrays`)");
    let error = flattener.flatten_like(&treedef, &(1, 2, 3), &mut leaves).unwrap_err();
    assert_snapshot!(error, @"expected `(*, *)`, found `*` at the root");
    let map = std::collections::HashMap::from([("b", [1.0, 2.0]), ("a", [3.0, 4.0])]);
    let (leaves, treedef) = flattener.flatten(&map).unwrap();
    assert_eq!(leaves[0].as_array().unwrap().as_slice::<f64>(), Some(&[3.0, 4.0][..]));
    assert_eq!(treedef.to_string(), r#"{"a": *, "b": *}"#);
}

/// The shortest decimal that is read as the same float; there is none with fewer digits.
#[test]
fn half_floats_are_printed_as_short_as_they_can_be_read() {
    #[derive(Serialize, Deserialize)]
    #[allow(non_camel_case_types)]
    struct f16(u16);

    fn check<T: Serialize + serde::de::DeserializeOwned>(of: fn(u16) -> T, bits: fn(T) -> u16) {
        let read = |decimal: &str| {
            let number: f64 = decimal.parse().unwrap();
            treedef::unflatten(&TreeDef::leaf(), [Leaf::F64(number)]).map(bits).ok()
        };
        for first in (0..=u16::MAX).step_by(97) {
            let all: Vec<u16> = (0..5).map(|next| first.wrapping_add(next)).collect();
            let text = flattener().tree(&all.iter().map(|bits| of(*bits)).collect::<Vec<_>>());
            let text = text.unwrap().summary().to_string();
            let numbers = text.split_once(" [").unwrap().1.trim_end_matches(']').split(", ");
            for (number, expected) in numbers.zip(all) {
                if matches!(number, "NaN" | "inf" | "-inf") {
                    continue;
                }
                assert_eq!(read(number), Some(expected), "{number}");
                let exact = format!("{:e}", number.parse::<f64>().unwrap().abs());
                let (digits, exponent) = exact.split_once('e').unwrap();
                let digits: u64 = digits.replace('.', "").parse().unwrap();
                let exponent = exponent.parse::<i32>().unwrap() - digits.max(1).ilog10() as i32;
                let sign = if number.starts_with('-') { "-" } else { "" };
                if digits >= 10 {
                    for fewer in [digits / 10, digits / 10 + 1] {
                        let fewer = format!("{sign}{fewer}e{}", exponent + 1);
                        assert_ne!(read(&fewer), Some(expected), "{number}: {fewer}");
                    }
                }
            }
        }
    }

    check(f16, |half| half.0);
    check(bf16, |half| half.0);
    let weights = flattener().tree(&[f16(0x36e1), f16(0xb800), f16(0x7e00)]).unwrap();
    assert_snapshot!(weights.summary(), @"f16[3] [0.43, -0.5, NaN]");
}

#[test]
fn numbers_of_every_kind_keep_their_values() {
    fn check<T>(numbers: [T; 3])
    where
        T: LeafType + Serialize + for<'de> Deserialize<'de> + PartialEq + std::fmt::Debug,
    {
        // Enough elements for rows.
        let numbers: Vec<T> = numbers.iter().cycle().take(300).cloned().collect();
        let rows: Vec<[T; 1]> = numbers.iter().map(|number| [number.clone()]).collect();
        let (leaves, treedef) = flattener().flatten(&(&numbers, &rows)).unwrap();
        for leaf in &leaves {
            assert_eq!(leaf.as_array().unwrap().as_slice::<T>(), Some(&*numbers));
        }
        assert_eq!(flatten_as::<T>(&rows).unwrap().0, numbers);
        assert_eq!(unflatten::<(Vec<T>, Vec<[T; 1]>)>(&treedef, leaves).unwrap(), (numbers, rows));
    }
    check([true, false, false]);
    check([i8::MIN, -1, i8::MAX]);
    check([i16::MIN, -1, i16::MAX]);
    check([i32::MIN, -1, i32::MAX]);
    check([i64::MIN, -1, i64::MAX]);
    check([u8::MIN, 1, u8::MAX]);
    check([u16::MIN, 1, u16::MAX]);
    check([u32::MIN, 1, u32::MAX]);
    check([u64::MIN, 1, u64::MAX]);
    check([f32::MIN, -0.0, f32::MAX]);
    check([f64::MIN, -0.0, f64::MAX]);
}

#[test]
fn rules_say_what_pairs_and_lists_mean() {
    fn check<T>(flattener: &Flattener, value: &T, expected: &[&str])
    where
        T: Serialize + for<'de> Deserialize<'de> + PartialEq + std::fmt::Debug,
    {
        let (mut leaves, treedef) = flattener.flatten(value).unwrap();
        let texts: Vec<String> = leaves
            .iter()
            .map(|leaf| match leaf.as_array() {
                Some(array) if array.is_column_major() => format!("{array} by columns"),
                Some(array) => array.to_string(),
                None => leaf.to_string(),
            })
            .collect();
        assert_eq!(texts, expected);
        assert_eq!(flattener.structure(value).unwrap(), treedef);
        assert_eq!(&unflatten::<T>(&treedef, &leaves).unwrap(), value);
        flattener.flatten_like(&treedef, value, &mut leaves).unwrap();
        assert_eq!(&unflatten::<T>(&treedef, leaves).unwrap(), value);
    }
    let of = |pattern: &str| flattener().array_rule(ArrayRule::Complex(pattern.parse().unwrap()));
    let pairs = vec![(0.5f32, 1.5f32); 3];
    check(&of("**"), &pairs, &["c64[3]"]);
    check(&of(""), &vec![vec![(0.5, -0.0); 2]; 3], &["c128[3, 2]"]);
    check(&of(".1"), &(pairs.clone(), pairs.clone()), &["f32[3, 2]", "c64[3]"]);
    check(&of("[1]"), &vec![pairs.clone(); 2], &["f32[3, 2]", "c64[3]"]);
    check(&of("**.1"), &vec![(pairs.clone(), pairs.clone())], &["f32[3, 2]", "c64[3]"]);
    check(&of("[*]"), &pairs, &["f32[3, 2]"]);
    check(&of(""), &Array { v: 1, dim: [3, 1], data: pairs.clone() }, &["c64[3, 1]"]);
    // A lone number, and values that are not pairs of floats.
    check(&of(""), &(0.5f32, 1.5f32), &["0.5f32", "1.5f32"]);
    check(&of(""), &vec![[1u8; 2]; 3], &["u8[3, 2]"]);
    check(&of(""), &vec![[1.0; 3]; 3], &["f64[3, 3]"]);

    let of =
        |pattern: &str| flattener().array_rule(ArrayRule::Matrix(pattern.parse().unwrap(), 2, 3));
    check(&of(""), &[1.0; 6], &["f64[2, 3] by columns"]);
    check(&of("**.1"), &([1u8; 6], [1u8; 6]), &["u8[6]", "u8[2, 3] by columns"]);
    check(&of(""), &vec![[1.0; 6]; 2], &["f64[2, 3] by columns"; 2]);
    check(&of("[1]"), &vec![vec![1.0; 6], vec![1.0; 7]], &["f64[6]", "f64[7]"]);
    check(&of(""), &vec![[1.0; 3]; 2], &["f64[2, 3]"]);
    check(&of("[*]"), &vec![[1.0; 6]; 2], &["f64[2, 3] by columns"; 2]);
    check(&of("[1]"), &vec![[1.0; 6]; 2], &["f64[6]", "f64[2, 3] by columns"]);
    check(&of(".9"), &vec![[1.0; 6]; 2], &["f64[2, 6]"]);
    let both = of("").array_rule(ArrayRule::Complex("".parse().unwrap()));
    check(&both, &vec![(0.5f32, 1.5f32); 6], &["c64[2, 3] by columns"]);
    assert!(
        flattener()
            .array_rule(ArrayRule::Matrix("".parse().unwrap(), usize::MAX, 2))
            .flatten(&[1.0])
            .is_ok()
    );
}

/// The `TensorData` of burn as serde sees it, in 0.17 and 0.22.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct TensorData {
    #[serde(with = "serde_bytes")]
    bytes: Vec<u8>,
    shape: Vec<usize>,
    dtype: DType,
}

/// In 0.22 a `Bool` has its representation. The types that are left out look like `I16`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum DType {
    F32,
    Flex32,
    BF16,
    I16,
    Bool(BoolStore),
    QFloat(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum BoolStore {
    Native,
    U32,
}

fn tensor(bytes: &[u8], shape: &[usize], dtype: DType) -> TensorData {
    TensorData { bytes: bytes.to_vec(), shape: shape.to_vec(), dtype }
}

fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}

#[test]
fn a_byte_string_with_shape_and_type_is_an_array_of_that_type() {
    let check = |tensor: TensorData, expected: &[&str]| {
        assert_eq!(shapes(&tensor), expected, "{tensor:?}");
        let tree = flattener().tree(&tensor).unwrap();
        assert_eq!(tree.clone().into_typed::<TensorData>().unwrap(), tensor);
        assert_eq!(tree.clone().without_arrays().unwrap(), Tree::of(&tensor).unwrap());
        assert_eq!(Tree::of(&tensor).unwrap().with_arrays().unwrap(), tree);
        let again = (tree.leaves()[0].clone().into_typed::<TensorData>(), tree.leaves().len());
        assert!(again.1 > 1 || again.0.unwrap() == tensor);
        let text = tree.to_string();
        assert_eq!(text, Tree::of(&tensor).unwrap().to_string());
    };
    let numbers = floats(&[1.0, -0.0, f32::NAN, 2.0, 3.0, 4.0]);
    check(tensor(&numbers, &[2, 3], DType::F32), &["f32[2, 3]"]);
    check(tensor(&numbers, &[6], DType::Flex32), &["f32[6]"]);
    check(tensor(&numbers, &[2, 3, 2], DType::BF16), &["bf16[2, 3, 2]"]);
    check(tensor(&[1, 0], &[1], DType::I16), &["i16[1]"]);
    check(tensor(&[1, 0], &[2], DType::Bool(BoolStore::Native)), &["bool[2]"]);
    check(tensor(&[], &[0, 3], DType::F32), &["f32[0, 3]"]);
    check(tensor(&numbers[..4], &[], DType::F32), &["f32[]"]);
    // Other bytes than the type allows, or another number than the shape.
    check(tensor(&[1, 2], &[2], DType::Bool(BoolStore::Native)), &["b\"\\x01\\x02\"", "u64[1]"]);
    check(tensor(&[1, 0], &[2], DType::Bool(BoolStore::U32)), &["b\"\\x01\\x00\"", "u64[1]"]);
    check(tensor(&[1, 0], &[2], DType::QFloat(8)), &["b\"\\x01\\x00\"", "u64[1]", "8u8"]);
    check(tensor(&[1, 0], &[2], DType::I16), &["b\"\\x01\\x00\"", "u64[1]"]);
    check(tensor(&[1], &[1], DType::I16), &["b\"\\x01\"", "u64[1]"]);
    check(tensor(&[1, 0], &[usize::MAX, 2], DType::I16), &["b\"\\x01\\x00\"", "u64[2]"]);
}

#[test]
fn the_numbers_of_a_byte_string_are_numbers() {
    let tree = |numbers: &[f32]| {
        let tensor = tensor(&floats(numbers), &[numbers.len()], DType::F32);
        flattener().tree(&("w", tensor)).unwrap()
    };
    let ramp: Vec<f32> = (0..8u8).map(f32::from).collect();
    let weights = tree(&ramp);
    let array = weights.leaves()[1].as_array().unwrap();
    assert_eq!(array.as_slice::<f32>(), Some(&*ramp));
    let halved = array.map(|x: f32| x / 2.0).unwrap();
    let rebuilt: TensorData = Leaf::from(halved).into_typed().unwrap();
    assert_eq!(rebuilt.bytes, floats(&[0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5]));
    assert_snapshot!(weights.summary(), @r#"("w", f32[8] (mean 3.5, sd 2.29, 0 … 7, 1 zero))"#);

    let near: Vec<f32> = ramp.iter().map(|x| x + 0.01).collect();
    assert!(
        weights.check_close(&tree(&near), Tolerance { atol: 0.1, ..Tolerance::default() }).is_ok()
    );
    let error = weights.check_close(&tree(&near), Tolerance::default()).unwrap_err();
    assert_snapshot!(error, @"expected f32[8] (mean 3.51, sd 2.29, 0.01 … 7.01), found f32[8] (mean 3.5, sd 2.29, 0 … 7, 1 zero) at `.1`");
}

#[test]
fn a_message_does_not_have_all_numbers() {
    let tree = |rows: usize| flattener().tree(&vec![vec![0.5f32; 1_000]; rows]).unwrap();
    let error = tree(3).check_close(&tree(2), Tolerance::default()).unwrap_err();
    assert_snapshot!(error, @"expected f32[2, 1000] (mean 0.5, sd 0, 0.5 … 0.5), found f32[3, 1000] (mean 0.5, sd 0, 0.5 … 0.5) at the root");
}

#[test]
#[cfg(feature = "persist")]
fn an_array_comes_back_from_a_file() {
    let bytes = flattener().tree(&tensor(&floats(&[1.0, 2.0]), &[2, 1], DType::F32)).unwrap();
    let read = Tree::<Leaf>::from_bytes(&bytes.to_bytes().unwrap()).unwrap();
    assert_eq!(read, bytes);
    assert_eq!(read.leaves()[0].as_array().unwrap().to_string(), "f32[2, 1]");

    let tree = flattener().tree(&(vec![vec![1.0f32; 2]; 2], "a", vec![true; 3])).unwrap();
    let read = Tree::<Leaf>::from_bytes(&tree.to_bytes().unwrap()).unwrap();
    assert_eq!(read, tree);
    let shapes: Vec<_> =
        read.leaves().iter().filter_map(Leaf::as_array).map(ToString::to_string).collect();
    assert_eq!(shapes, ["f32[2, 2]", "bool[3]"]);

    let matrix = flattener().array_rule(ArrayRule::Nalgebra(".1".parse().unwrap()));
    let matrix = matrix.tree(&(1, (vec![1.0, 2.0], 2u64, 1u64))).unwrap();
    let read = Tree::<Leaf>::from_bytes(&matrix.to_bytes().unwrap()).unwrap();
    let array = read.leaves()[1].as_array().unwrap();
    assert_eq!((array.shape(), array.is_column_major()), (&[2, 1][..], true));
}

#[test]
fn an_array_needs_no_more_memory_than_its_numbers() {
    let value = vec![vec![0.5f32; 1_000]; 1_001];
    let bytes = 4 * 1_000 * 1_001;
    let mut leaves = Vec::new();
    let used = allocation_counter::measure(|| {
        leaves = flattener().flatten(&value).unwrap().0;
    });
    assert_eq!(leaves[0].as_array().unwrap().to_string(), "f32[1001, 1000]");
    let kept = usize::try_from(used.bytes_current).unwrap();
    assert!(kept <= bytes * 21 / 20, "{kept} bytes for {bytes} bytes of numbers");
}

#[test]
fn an_unsorted_map_of_arrays_is_sorted_in_their_buffer() {
    struct Unsorted(Vec<f32>);

    impl Serialize for Unsorted {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map([("b", &self.0), ("a", &self.0)])
        }
    }

    let value = Unsorted(vec![0.5; 500_000]);
    let bytes = 4 * 1_000_000;
    let used = allocation_counter::measure(|| drop(flattener().flatten(&value).unwrap()));
    let most = usize::try_from(used.bytes_max).unwrap();
    // A leaf of its own for each number would take 24 bytes more.
    assert!(most <= bytes * 10, "{most} bytes for {bytes} bytes of numbers");
}

#[test]
fn equal_structures_of_small_arrays_are_stored_once() {
    let rows: Vec<Vec<f32>> = (0..10_000).map(|row| vec![0.5; 1 + row % 7]).collect();
    // The first walk leaves memory to the second.
    let first = flattener().flatten(&rows).unwrap().0;
    let mut leaves = Vec::new();
    let used = allocation_counter::measure(|| leaves = flattener().flatten(&rows).unwrap().0);
    assert_eq!(leaves, first);
    assert!(used.bytes_current < 350 * 10_000, "{} bytes", used.bytes_current);
}
