//! Runs of equal elements are read by the requests of the first. A type whose requests change gets the
//! same values as without this.

use std::collections::BTreeMap;
use std::fmt::{self, Debug};
use std::marker::PhantomData;

use serde::de::{DeserializeOwned, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;
use treedef::{Leaf, LeafType, Limits, Opaque, TreeDef, flatten, flatten_as, unflatten};

/// A value as its leaves. Types are read from this, so that they are not compiled for each type of
/// values.
type Flat<L> = (Vec<L>, TreeDef);

/// A value as numbers of each type, where all its leaves are that.
struct Numbers(Option<Flat<f64>>, Option<Flat<f32>>);

impl Numbers {
    fn of(value: &impl Serialize) -> Numbers {
        Numbers(flatten_as(value).ok(), flatten_as(value).ok())
    }
}

/// A type reads equal elements with the same result as single elements, errors included. Leaves that are
/// handed over cannot be read twice, so there every element is read on its own.
#[track_caller]
fn assert_read_alike<T: DeserializeOwned + Debug>((leaves, treedef): &Flat<Leaf>) {
    let alike = unflatten::<Vec<T>>(treedef, leaves).map_err(|error| error.to_string());
    let leaves = leaves.clone();
    let one_by_one = unflatten::<Vec<T>>(treedef, leaves).map_err(|error| error.to_string());
    assert_eq!(format!("{alike:?}"), format!("{one_by_one:?}"), "{treedef}");
}

/// A type reads a whole value from numbers with the same result as from leaves that are handed over.
#[track_caller]
fn assert_whole_read_alike<T: DeserializeOwned + Debug>(Numbers(wide, narrow): &Numbers) {
    wide.as_ref().inspect(|numbers| assert_numbers_read_alike::<T, f64>(numbers));
    narrow.as_ref().inspect(|numbers| assert_numbers_read_alike::<T, f32>(numbers));
}

#[track_caller]
fn assert_numbers_read_alike<T: DeserializeOwned + Debug, L: LeafType + Copy + Into<Leaf>>(
    (numbers, treedef): &Flat<L>,
) {
    let leaves: Vec<Leaf> = numbers.iter().copied().map(L::into).collect();
    let whole = unflatten::<T>(treedef, numbers).map_err(|error| error.to_string());
    let by_node = unflatten::<T>(treedef, leaves).map_err(|error| error.to_string());
    assert_eq!(format!("{whole:?}"), format!("{by_node:?}"), "{treedef}");
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Point {
    x: f64,
    y: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Mixed<T> {
    place: Point,
    label: (String, [u8; 2]),
    size: Metres,
    pair: Pair,
    unit: (),
    kind: PhantomData<T>,
    number: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Metres(f64);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Pair(f64, f64);

fn mixed(at: usize) -> Mixed<u8> {
    let number = at as f64;
    Mixed {
        place: Point { x: number, y: -number },
        label: (number.to_string(), [1, 2]),
        size: Metres(number + 0.5),
        pair: Pair(number, 2.0 * number),
        unit: (),
        kind: PhantomData,
        number,
    }
}

#[test]
fn any_number_of_elements_is_read() {
    for count in 0..40 {
        let values: Vec<_> = (0..count).map(mixed).collect();
        let (leaves, treedef) = flatten(&values).unwrap();
        assert_eq!(unflatten::<Vec<Mixed<u8>>>(&treedef, &leaves).unwrap(), values);
        let values: Vec<_> =
            (0..count).map(|at| (at as f64, mixed(at).place, [[1.0; 2]; 2])).collect();
        let (numbers, treedef) = flatten_as::<f64>(&values).unwrap();
        type Read = Vec<(f64, Point, [[f64; 2]; 2])>;
        assert_eq!(unflatten::<Read>(&treedef, &numbers).unwrap(), values);
        assert_eq!(unflatten::<Read>(&treedef, numbers).unwrap(), values);
    }
}

/// Takes a mistake for nothing.
fn lenient<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    Ok(T::deserialize(from).ok())
}

macro_rules! reads {
    ($($name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty),* })*) => {$(
        #[derive(Debug, Deserialize)]
        #[allow(dead_code, reason = "printed")]
        struct $name { $($(#[$attribute])* $field: $type),* }
    )*};
}

reads! {
    Swapped { y: f64, x: f64 }
    Less { y: f64 }
    More { x: f64, y: f64, #[serde(default)] z: Option<f64> }
    Renamed { #[serde(rename = "y")] a: f64, #[serde(rename = "x")] b: f64 }
    Missing { x: f64, y: f64, z: f64 }
    Narrow { x: f32, y: f64 }
    Small { x: u8, y: i8 }
    Texts { x: String, y: f64 }
    Optional { x: Option<f64>, y: Option<f64> }
    Any { x: Untagged, y: Untagged }
    Ignored { x: IgnoredAny, y: f64 }
    LenientNarrow { #[serde(deserialize_with = "lenient")] x: Option<f32>, y: f64 }
    LenientText { #[serde(deserialize_with = "lenient")] x: Option<String>, y: f64 }
    LenientOption { #[serde(deserialize_with = "lenient")] x: Option<Option<f64>>, y: f64 }
    LenientPair { #[serde(deserialize_with = "lenient")] x: Option<(f64, f64)>, y: f64 }
    LenientUnit { #[serde(deserialize_with = "lenient")] x: Option<()>, y: f64 }
    Lists { x: Option<f64>, y: Vec<f64> }
    LenientList { x: Option<f64>, #[serde(deserialize_with = "lenient")] y: Option<Vec<f32>> }
    LenientNothing { #[serde(deserialize_with = "lenient")] x: Option<Nothing>, y: f64 }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Nothing {}

/// The first element of a sequence. It does not read the others.
#[derive(Debug)]
#[allow(dead_code, reason = "printed")]
struct First(Option<f64>);

impl<'de> Deserialize<'de> for First {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfSequence;

        impl<'de> Visitor<'de> for OfSequence {
            type Value = First;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sequence")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<First, A::Error> {
                elements.next_element().map(First)
            }
        }

        deserializer.deserialize_seq(OfSequence)
    }
}

/// A point of anything.
#[derive(Clone, Serialize)]
#[serde(rename = "Point")]
struct Of<X, Y> {
    x: X,
    y: Y,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
#[allow(dead_code, reason = "printed")]
enum Untagged {
    Number(f64),
    Text(String),
}

#[test]
fn types_that_ask_for_something_else_get_what_they_always_get() {
    macro_rules! assert_all_read_alike {
        ($values:ident, $alone:ident, $among:ident => $($type:ty,)*) => {$(
            assert_read_alike::<((), $type)>($values);
            assert_whole_read_alike::<$type>($alone);
            assert_whole_read_alike::<((), $type, Vec<$type>)>($among);
        )*};
    }
    fn assert_each(values: &Flat<Leaf>, alone: &Numbers, among: &Numbers) {
        assert_all_read_alike! { values, alone, among =>
            Point, Pair, Metres, (f64, f64), [f64; 2], Vec<f64>, Swapped, Less, More, Renamed, Missing, Narrow,
            Small, Texts, Optional, Any, Ignored, LenientNarrow, LenientText, LenientOption, LenientPair,
            LenientUnit, LenientNothing, LenientList, Nothing, Lists, First, (), f64, Untagged, IgnoredAny, Option<Point>, Opaque<Point>,
            BTreeMap<String, f64>,
        }
    }
    fn assert_all<T: Serialize + Clone>(element: T, odd: &[T]) {
        for odd in odd {
            let (alone, among) = (Numbers::of(odd), Numbers::of(&((), odd, [odd])));
            for at in [0, 1, 9, 39] {
                // A pair, because nodes with only leaves are read as a row.
                let mut values = vec![((), element.clone()); 40];
                values[at].1 = odd.clone();
                assert_each(&flatten(&values).unwrap(), &alone, &among);
            }
        }
    }
    let point = |x, y| Point { x, y };
    assert_all(point(1.0, 2.0), &[point(1.0, 2.0), point(1e300, -1e300), point(f64::NAN, 0.0)]);
    assert_all((1.0, 2.0), &[(1.0, 2.0), (1e300, 1.0)]);
    assert_all((1f32, 2f32), &[(1f32, 2f32), (f32::NAN, 1e-40)]);
    assert_all((1.0, (2.0, 3.0)), &[(1.0, (2.0, 3.0))]);
    assert_all((point(1.0, 2.0), 3.0), &[(point(1.0, 1e300), 4.0)]);
    assert_all(Of { x: Nothing {}, y: 1.0 }, &[Of { x: Nothing {}, y: 1e300 }]);
    assert_all(Of { x: ("a", ()), y: 1.0 }, &[Of { x: ("b", ()), y: 2.0 }]);
    assert_all(Of { x: "a", y: Metres(1.0) }, &[Of { x: "b", y: Metres(2.0) }]);
    assert_all(Of { x: Opaque(1.0), y: (1, 2) }, &[Of { x: Opaque(2.0), y: (3, 4) }]);
    assert_all((vec![1.0, 2.0], Some(3.0)), &[(vec![], None), (vec![4.0], Some(5.0))]);
    assert_all(vec![1.0, 2.0], &[vec![], vec![1.0], vec![1e300; 2], vec![1.0; 63]]);
    assert_all(Some(point(1.0, 2.0)), &[None, Some(point(3.0, 4.0))]);
    assert_all(Of { x: Some(1.0), y: vec![1.0] }, &[Of { x: None, y: vec![] }]);
    assert_all(
        json!({ "x": 1, "y": 2 }),
        &[json!({ "x": 1, "y": 2 }), json!({ "x": 300, "y": 2 })],
    );
}

#[test]
fn elements_that_are_too_deep_are_refused() {
    let values = vec![((1.0, (2.0, 3.0)), 4.0); 20];
    let (leaves, treedef) = flatten_as::<f64>(&values).unwrap();
    for depth in 0..8 {
        let treedef = treedef.clone().with_limits(Limits { max_depth: depth, ..Limits::default() });
        let read = unflatten::<Vec<((f64, (f64, f64)), f64)>>(&treedef, &leaves);
        assert_eq!(read.is_ok(), depth >= 4, "{depth}");
        assert_eq!(
            read.map_err(|error| error.to_string()),
            unflatten(&treedef, leaves[..].to_vec()).map_err(|error| error.to_string())
        );
        let first = treedef.root().child(0).unwrap().to_treedef();
        let whole = first.clone().with_limits(Limits { max_depth: depth, ..Limits::default() });
        let read = unflatten::<((f64, (f64, f64)), f64)>(&whole, &leaves[..4]);
        assert_eq!(read.is_ok(), depth >= 3, "{depth}");
    }
}

/// Structs of `f32` are read from a slice of `f32` with the same bits.
#[test]
fn structs_of_f32_come_back_from_numbers() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Body {
        place: [f32; 3],
        mass: Option<f32>,
        id: (Metre, ()),
    }
    #[derive(Debug, Serialize, Deserialize)]
    struct Metre(f32);
    let odd = [0.0, -0.0, f32::INFINITY, f32::from_bits(0x7f80_0001), f32::MIN_POSITIVE / 2.0];
    let bodies: Vec<Body> = (0..100)
        .map(|at| Body {
            place: [at as f32, odd[at % 5], 1.5],
            mass: (at < 50).then_some(odd[(at + 1) % 5]),
            id: (Metre(odd[(at + 2) % 5]), ()),
        })
        .collect();
    let (numbers, treedef) = flatten_as::<f32>(&bodies).unwrap();
    let bits = |numbers: &[f32]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
    let lent: Vec<Body> = unflatten(&treedef, &numbers).unwrap();
    assert_eq!(bits(&flatten_as::<f32>(&lent).unwrap().0), bits(&numbers));
    let moved: Vec<Body> = unflatten(&treedef, numbers.clone()).unwrap();
    assert_eq!(bits(&flatten_as::<f32>(&moved).unwrap().0), bits(&numbers));
    // Another type of numbers is converted, or refused, as without many of them.
    assert_whole_read_alike::<Vec<([f64; 3], Option<f64>, (f64, ()))>>(&Numbers::of(&bodies));
}

/// A struct can be read from a sequence: the elements are its fields, in order, and none is lost.
#[test]
fn a_struct_is_read_from_a_sequence() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Part {
        #[serde(rename = "n")]
        name: String,
        #[serde(skip)]
        cached: u8,
        size: Vec<f64>,
        #[serde(default)]
        tags: BTreeMap<String, u8>,
    }
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Renamed {
        #[serde(alias = "a", alias = "z")]
        first: String,
        second: Option<u8>,
    }
    #[derive(Debug, Deserialize)]
    struct Late {
        _early: u8,
        _late: Option<u8>,
    }
    #[derive(Debug, Deserialize)]
    enum Shape {
        Box { _width: String, _height: String },
    }
    fn read<T: DeserializeOwned + Debug>(value: impl Serialize) -> String {
        let (leaves, treedef) = flatten(&value).unwrap();
        let lent = unflatten::<T>(&treedef, &leaves).map_err(|error| error.to_string());
        let moved = unflatten::<T>(&treedef, leaves).map_err(|error| error.to_string());
        assert_eq!(format!("{lent:?}"), format!("{moved:?}"));
        match moved {
            Ok(value) => format!("{value:?}"),
            Err(error) => error,
        }
    }

    insta::assert_snapshot!(read::<Part>(("a", [1.5], json!({"b": 2}))), @r#"Part { name: "a", cached: 0, size: [1.5], tags: {"b": 2} }"#);
    insta::assert_snapshot!(read::<Part>(("a", [1.5])), @r#"Part { name: "a", cached: 0, size: [1.5], tags: {} }"#);
    insta::assert_snapshot!(read::<Vec<Part>>([json!(["a", []]), json!(["b", [2.0], {}])]), @r#"[Part { name: "a", cached: 0, size: [], tags: {} }, Part { name: "b", cached: 0, size: [2.0], tags: {} }]"#);
    insta::assert_snapshot!(read::<Part>(("a",)), @"missing field `size`; here is `n` at the root (new? `#[serde(default)]`)");
    insta::assert_snapshot!(read::<Part>(("a", [1.5], json!({}), 7)), @"the type read 3 of 4 children at the root");
    insta::assert_snapshot!(read::<[Part; 1]>([("a", ["b"])]), @r#"invalid type: string "b", expected f64 at `.0.1.0`"#);
    insta::assert_snapshot!(read::<Shape>(json!({"Box": ["w", "h"]})), @r#"Box { _width: "w", _height: "h" }"#);
    insta::assert_snapshot!(read::<Shape>(json!({"Box": ["w", "h", "d"]})), @r#"the type read 2 of 3 children at `["Box"]`"#);
    insta::assert_snapshot!(read::<Part>(json!([])), @"invalid type: sequence, expected struct Part at the root");
    // A missing option is `None`, as in a map.
    insta::assert_snapshot!(read::<Late>((1,)), @"Late { _early: 1, _late: None }");
    // serde lists aliases among the names of fields.
    insta::assert_snapshot!(read::<Renamed>(("a", Some(1))), @"duplicate field `first` at the root (the elements were read as the fields `a`, `first`)");
}
