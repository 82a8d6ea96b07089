//! Every way to fail, as a user reads it.

use std::collections::BTreeMap;
use std::fmt::Debug;

use insta::assert_snapshot;
use serde::de::DeserializeOwned;
use serde::ser::{SerializeMap, SerializeSeq, SerializeTuple};
use serde::{Deserialize, Serialize, Serializer};
use serde_spanned::Spanned;
use treedef::{
    Error, ErrorKind, Flattener, Key, Leaf, Limits, Path, Tree, TreeDef, Value, flatten, unflatten,
    unflatten_strict,
};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Layer {
    name: String,
    bits: u8,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Model {
    layers: Vec<Layer>,
    scale: Option<f32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Shape {
    Circle(f64),
    Box { w: f64 },
}

fn model() -> Model {
    let layer = |name: &str, bits| Layer { name: name.to_owned(), bits };
    Model { layers: vec![layer("a", 1), layer("b", 2)], scale: Some(0.5) }
}

/// Flattens, changes the leaves, and returns the error of unflattening.
#[track_caller]
fn refused<T: Serialize + DeserializeOwned + Debug>(
    value: &T,
    change: impl FnOnce(&mut Vec<Leaf>),
) -> Error {
    let (mut leaves, treedef) = flatten(value).unwrap();
    change(&mut leaves);
    unflatten::<T>(&treedef, leaves).unwrap_err()
}

/// Rebuilds a value as another type.
#[track_caller]
fn rebuilt_as<T: DeserializeOwned + Debug>(value: &impl Serialize) -> Error {
    let (leaves, treedef) = flatten(value).unwrap();
    unflatten::<T>(&treedef, leaves).unwrap_err()
}

#[test]
fn the_path_of_an_error_has_the_options_of_its_walk() {
    /// Fails if it is present.
    #[derive(Debug)]
    struct Failing;
    impl Serialize for Failing {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("no"))
        }
    }
    let value = [Some([Failing])];
    let path = |flattener: Flattener| flattener.flatten(&value).unwrap_err().path().to_string();
    // The thread reuses the buffers of the previous walk.
    for none_is_leaf in [false, true, false] {
        let expected = if none_is_leaf { ".0.0" } else { ".0?.0" };
        assert_eq!(path(Flattener::new().none_is_leaf(none_is_leaf)), expected);
        Flattener::new().none_is_leaf(none_is_leaf).flatten(&[Some(1)]).unwrap();
    }
}

#[test]
fn a_leaf_of_the_wrong_kind_or_size() {
    assert_snapshot!(refused(&model(), |leaves| leaves[3] = 300.into()),
        @"invalid value: integer `300`, expected u8 at `.layers[1].bits`");
    assert_snapshot!(refused(&model(), |leaves| leaves[0] = 1.into()),
        @"invalid type: integer `1`, expected a string at `.layers[0].name`");
    assert_snapshot!(refused(&model(), |leaves| leaves[4] = 1e300.into()),
        @"invalid value: floating point `1e300`, expected f32 at `.scale?`");
    assert_snapshot!(refused(&vec![Shape::Box { w: 1.0 }], |leaves| leaves[0] = "x".into()),
        @r#"invalid type: string "x", expected f64 at `[0]::Box.w`"#);
    assert_snapshot!(refused(&BTreeMap::from([((1, 'c'), 1u8)]), |leaves| leaves[0] = Leaf::from(-1)),
        @"invalid value: integer `-1`, expected u8 at `[(1i32, 'c')]`");
    assert_snapshot!(treedef::flatten_as::<f64>(&model()).unwrap_err(),
        @"expected f64, found str at `.layers[0].name` (mark it `treedef::as_static`, or choose the leaves with `Flattener::leaves_where`)");
    assert_snapshot!(f32::try_from(Leaf::from(1u8)).unwrap_err(), @"expected f32, found u8 at the root");
}

#[test]
fn another_number_of_leaves() {
    assert_snapshot!(refused(&model(), |leaves| leaves.truncate(4)), @"expected 5 leaves, found 4");
    assert_snapshot!(refused(&1, |leaves| leaves.push(2.into())), @"expected 1 leaf, found 2");
    assert_snapshot!(treedef::Tree::new(treedef::structure(&()).unwrap(), vec![1.0]).unwrap_err(),
        @"expected 0 leaves, found 1");
}

#[test]
fn another_structure() {
    assert_snapshot!(rebuilt_as::<[u8; 2]>(&[1u8, 2, 3]), @"the type read 2 of 3 children at the root");
    assert_snapshot!(rebuilt_as::<[u8; 3]>(&[1u8, 2]), @"invalid length 2, expected an array of length 3 at the root");
    assert_snapshot!(rebuilt_as::<Vec<Layer>>(&vec![1]), @"invalid type: integer `1`, expected struct Layer at `[0]`");
    assert_snapshot!(rebuilt_as::<Vec<Shape>>(&["Circle", "Square"]),
        @"invalid type: unit variant, expected newtype variant at `.0`");
    assert_snapshot!(rebuilt_as::<Shape>(&"Square"),
        @"unknown variant `Square`, the type has `Circle` or `Box` at the root");
    assert_snapshot!(rebuilt_as::<Layer>(&BTreeMap::from([("name", "x"), ("bit", "y")])),
        @"missing field `bits`; here are `bit`, `name` at the root (new? `#[serde(default)]`)");
    assert_snapshot!(rebuilt_as::<u8>(&()), @"invalid type: unit value, expected u8 at the root");
}

#[test]
fn what_strict_rebuilding_reports() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Older {
        layers: Vec<BTreeMap<String, Leafy>>,
    }
    #[derive(Debug, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Leafy {
        Number(u64),
        Text(String),
    }
    let (leaves, treedef) = flatten(&model()).unwrap();
    let error = unflatten_strict::<Older>(&treedef, &leaves).unwrap_err();
    assert_snapshot!(error, @r#"expected `Layer { name: *, bits: * }`, found `{"bits": *, "name": *}` at `.layers[0]`, and 2 more differences (the type dropped `.scale`)"#);
    let differences: Vec<_> = error
        .differences()
        .iter()
        .map(|d| format!("{}: {} {}", d.path, d.expected, d.found))
        .collect();
    assert_snapshot!(differences.join("\n"), @r#"
    .layers[0]: `Layer { name: *, bits: * }` `{"bits": *, "name": *}`
    .layers[1]: `Layer { name: *, bits: * }` `{"bits": *, "name": *}`
    .scale: `Some(*)` nothing
    "#);
}

/// Equal siblings without leaves are compared once, and are all listed.
#[test]
fn what_strict_rebuilding_reports_of_equal_siblings() {
    #[derive(Debug, Serialize, Deserialize)]
    enum Mark {
        #[serde(alias = "Old")]
        New,
    }
    #[derive(Serialize)]
    enum OldMark {
        Old,
    }
    let old = vec![("a", [OldMark::Old, OldMark::Old]), ("b", [OldMark::Old, OldMark::Old])];
    let (leaves, treedef) = flatten(&old).unwrap();
    let error = unflatten_strict::<Vec<(String, [Mark; 2])>>(&treedef, &leaves).unwrap_err();
    let paths: Vec<_> = error.differences().iter().map(|d| d.path.to_string()).collect();
    assert_eq!(paths, ["[0].1.0", "[0].1.1", "[1].1.0", "[1].1.1"]);
    let many: Vec<_> = (0..5_000).map(|_| [(OldMark::Old, OldMark::Old)]).collect();
    let (leaves, treedef) = flatten(&many).unwrap();
    let error = unflatten_strict::<Vec<[(Mark, Mark); 1]>>(&treedef, &leaves).unwrap_err();
    let paths: Vec<_> = error.differences().iter().map(|d| d.path.to_string()).collect();
    assert_eq!(paths[..3], ["[0].0.0", "[0].0.1", "[1].0.0"]);
    assert_eq!(paths.len(), 10_000);
    let (leaves, treedef) = flatten(&[[OldMark::Old], [OldMark::Old]]).unwrap();
    let error = unflatten_strict::<[[Mark; 1]; 2]>(&treedef, &leaves).unwrap_err();
    assert_snapshot!(error, @"expected `OldMark::Old`, found `Mark::New` at `.0.0`, and 1 more difference");
}

#[test]
fn too_deep_too_much_too_large() {
    assert_snapshot!(Flattener::new().limits(Limits { max_depth: 1, ..Limits::default() }).flatten(&model()).unwrap_err(),
        @"nested deeper than 1 level at `.layers` (see `Limits::max_depth`)");
    #[derive(Serialize)]
    struct List {
        next: Option<Box<List>>,
    }
    let long = (0..70).fold(None, |next, _| Some(Box::new(List { next })));
    assert_snapshot!(treedef::structure(&long).unwrap_err(),
        @"nested deeper than 128 levels at `?.next?.next?.next?.next?.next?.next? …` (see `Limits::max_depth`)");

    let nested = Flattener::new()
        .limits(Limits { max_depth: 200, ..Limits::default() })
        .flatten(
            &serde_json::from_str::<serde_json::Value>(&("[".repeat(120) + &"]".repeat(120)))
                .unwrap(),
        )
        .unwrap()
        .1;
    assert_snapshot!(unflatten::<serde_json::Value>(&nested.with_limits(Limits { max_depth: 3, ..Limits::default() }), Vec::<Leaf>::new())
        .unwrap_err(), @"nested deeper than 3 levels at `[0][0][0]` (see `Limits::max_depth`)");
    assert_snapshot!(unflatten::<Vec<()>>(&"[(); 99999999]".parse().unwrap(), Vec::<Leaf>::new()).unwrap_err(),
        @"100000000 nodes to visit, the limit is 16777216 (see `Limits::max_work`)");
    let doubled = (0..64).fold("*".to_owned(), |inside, _| format!("[{inside}; 2]"));
    assert_snapshot!(doubled.parse::<TreeDef>().unwrap_err(), @"too large: a count exceeds 64 bits at byte 321");
}

#[test]
fn paths_that_lead_nowhere() {
    let treedef = treedef::structure(&model()).unwrap();
    let at = |path: &str| treedef.node(path.parse::<Path>().unwrap()).unwrap_err();
    assert_snapshot!(at(".layers[2].bits"),
        @"no child `[2]` in `[Layer { name: *, bits: * }; 2]` at `.layers`");
    assert_snapshot!(at(".layer"),
        @"no child `.layer` in `Model { layers: [Layer { name: *, bits: * }; 2], scale: Some…` at the root (did you mean `.layers`?)");
    assert_snapshot!(at(".layers[0].bits.0"), @"no child `.0` in `*` at `.layers[0].bits`");
    assert_snapshot!(Tree::of(&model()).unwrap().get(".layers").unwrap_err(), @"expected a leaf, found `[Layer { name: *, bits: * }; 2]` at `.layers`");
    assert_snapshot!(treedef.leaf_path(5).unwrap_err(), @"no leaf 5, the treedef has 5 leaves");
}

#[test]
fn texts_that_are_none() {
    assert_snapshot!("[*, ".parse::<TreeDef>().unwrap_err(), @"expected a node (literals are only for keys and statics), found the end at byte 4");
    assert_snapshot!("[1]".parse::<TreeDef>().unwrap_err(), @"expected a node (literals are only for keys and statics), found `1]` at byte 1");
    assert_snapshot!("(*)".parse::<TreeDef>().unwrap_err(),
        @"expected `,`, as in a tuple of one: `(*,)`, found `)` at byte 2");
    assert_snapshot!("[300u8]".parse::<Value>().unwrap_err(),
        @"expected a number that its kind can hold, found `300u8]` at byte 1");
    assert_snapshot!(".a b".parse::<Path>().unwrap_err(),
        @r#"expected a key: one of `.name .0 [0] ["key"] ? ::Variant.0`, found `b` at byte 3 (a name with such a character has backquotes around it)"#);
    assert_snapshot!("[0".parse::<Key>().unwrap_err(), @"expected `]`, found the end at byte 2");
}

#[test]
fn what_an_implementation_says() {
    struct Refuses;
    impl Serialize for Refuses {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("the lock is poisoned"))
        }
    }
    #[derive(Serialize)]
    struct Holds {
        cell: (u8, BTreeMap<&'static str, Refuses>),
    }
    assert_snapshot!(flatten(&Holds { cell: (0, BTreeMap::from([("inside", Refuses)])) }).unwrap_err(),
        @r#"the lock is poisoned at `.cell.1["inside"]`"#);
}

#[test]
fn implementations_that_break_the_protocol() {
    struct Swallows;
    impl Serialize for Swallows {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut seq = serializer.serialize_seq(None)?;
            let _ = seq.serialize_element(&Keyless);
            seq.serialize_element(&1)?;
            seq.end()
        }
    }
    struct Keyless;
    impl Serialize for Keyless {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(None)?;
            map.serialize_value(&1)?;
            map.end()
        }
    }
    assert_snapshot!(flatten(&vec![Keyless]).unwrap_err(), @"a map's value came without its key at `[0]`");
    assert_snapshot!(flatten(&Some(Swallows)).unwrap_err(),
        @"a `Serialize` implementation swallowed an error and went on at `?`");
    // Only the end followed it.
    struct Ends;
    impl Serialize for Ends {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut tuple = serializer.serialize_tuple(2)?;
            let _ = tuple.serialize_element(&1.5);
            let _ = tuple.serialize_element(&Keyless);
            tuple.end()
        }
    }
    assert_snapshot!(flatten(&(0, [Ends])).unwrap_err(),
        @"a `Serialize` implementation swallowed an error and went on at `.1.0`");
}

/// A value that is checked after it was written fails at its own path, not at the path of its neighbour.
#[test]
fn a_value_that_fails_when_it_is_complete() {
    #[derive(Clone, Copy)]
    struct Checked<T>(T, bool);
    impl<T: Serialize> Serialize for Checked<T> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let done = self.0.serialize(serializer)?;
            if self.1 { Ok(done) } else { Err(serde::ser::Error::custom("out of range")) }
        }
    }
    #[derive(Serialize)]
    struct Layer<T> {
        b: f32,
        w: Checked<T>,
    }
    fn layers<T: Serialize + Copy>(value: T) -> String {
        let mut layers: Vec<_> =
            (0..8).map(|_| Layer { b: 0.0, w: Checked(value, true) }).collect();
        layers[7].w.1 = false;
        flatten(&layers).unwrap_err().to_string()
    }
    fn in_all<T: Serialize + Copy>(value: T) {
        let fails = Checked(value, false);
        let paths: Vec<String> = [
            flatten(&BTreeMap::from([("k", fails)])).unwrap_err(),
            flatten(&(1.0, (Checked(value, true), Either::Right { right: fails }))).unwrap_err(),
            flatten(&(1.0, Some(fails))).unwrap_err(),
            flatten(&(1.0, Newtype(Newtype(fails)))).unwrap_err(),
            flatten(&(1.0, Either::Left(fails), 2.0)).unwrap_err(),
        ]
        .map(|error| error.to_string().replace("out of range at ", ""))
        .into();
        let expected = ["`[\"k\"]`", "`.1.1::Right.right`", "`.1?`", "`.1.0.0`", "`.1::Left.0`"];
        assert_eq!(paths, expected);
        assert_eq!(layers(value), "out of range at `[7].w`");
        // With this option, `Some` has a node only around another option.
        let options = Flattener::new().none_is_leaf(true);
        let error = options.flatten(&(1.0, Some(Some(fails)))).unwrap_err();
        assert_eq!(error.to_string(), "out of range at `.1?`");
        let error = options.flatten(&(1.0, Some(fails))).unwrap_err();
        assert_eq!(error.to_string(), "out of range at `.1`");
        let fine = Checked(value, true);
        let error = flatten(&(fine, fails, fine)).unwrap_err().to_string();
        assert_eq!(error, "out of range at `.1`");
        // After elements in rows, and after those that a row is not tried for.
        for len in [2, 8, 100] {
            let mut elements = vec![fine; len];
            elements[len - 1] = fails;
            let error = flatten(&elements).unwrap_err().to_string();
            assert_eq!(error, format!("out of range at `[{}]`", len - 1));
        }
    }
    #[derive(Serialize)]
    struct Newtype<T>(T);
    #[derive(Serialize)]
    enum Either<T> {
        Left(T),
        Right { right: T },
    }
    in_all(1.5f32);
    in_all(1.5f64);
    in_all(7u8);
    in_all("text");
    in_all(());
    in_all([1.5f32; 3]);
    in_all(Some(1.5));
    in_all(None::<f64>);
}

/// Errors for limitations of serde have the reason, and a way out.
#[test]
fn what_serde_makes_impossible() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Flat {
        #[serde(flatten)]
        wide: Wide,
    }
    #[derive(Debug, Serialize, Deserialize)]
    struct Wide {
        big: i128,
    }
    assert_snapshot!(rebuilt_as::<Vec<Flat>>(&[Flat { wide: Wide { big: 1 } }]), @r#"invalid type: integer `1` as i128, expected any value at `.0["big"]` (below `flatten`, `untagged` and an internal `tag` serde buffers values, and its buffer has no 128-bit integers: serde issue 1682; serialize them as strings there)"#);

    #[derive(Debug, Serialize, Deserialize)]
    struct Renamed {
        #[serde(rename(serialize = "out", deserialize = "in"))]
        field: u8,
    }
    assert_snapshot!(rebuilt_as::<(u8, Renamed)>(&(1u8, Renamed { field: 1 })), @r#"missing field `in`; here is `out` at `.1` (renamed? `#[serde(alias = "out")]`; new? `#[serde(default)]`)"#);

    #[derive(Debug, Serialize, Deserialize)]
    enum RenamedVariant {
        #[serde(rename(serialize = "out", deserialize = "in"))]
        Variant,
    }
    assert_snapshot!(rebuilt_as::<Vec<RenamedVariant>>(&[RenamedVariant::Variant]), @r#"unknown variant `out`, the type has `in` at `.0` (renamed? `#[serde(alias = "out")]`)"#);

    assert_snapshot!(rebuilt_as::<Vec<Spanned<String>>>(&[Spanned::new(0..1, "x".to_owned())]), @r#"invalid type: string "x", expected a spanned value at `.0` (a `Spanned` serializes as its value alone and cannot come back: keep spans elsewhere)"#);

    #[derive(Debug, Serialize, Deserialize)]
    struct Plain<'a> {
        bytes: &'a [u8],
    }
    let (leaves, treedef) = flatten(&Plain { bytes: &[1, 2] }).unwrap();
    assert_snapshot!(treedef::unflatten_borrowed::<Plain<'_>>(&treedef, &leaves).unwrap_err(), @"invalid type: byte array, expected a borrowed byte array at `.`bytes`` (a plain `&[u8]` serializes as a sequence and cannot come back: annotate it with `serde_bytes`)");
}

/// An unknown field is not always the old name of a missing one.
#[test]
fn an_old_name_is_suggested_only_if_it_can_be_one() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Net {
        layers: Vec<f64>,
        seed: u64,
    }
    let net = |tree: &str| {
        let treedef: treedef::TreeDef = tree.parse().unwrap();
        let leaves = vec![Leaf::from(1u64); treedef.num_leaves()];
        treedef::unflatten::<Net>(&treedef, leaves).unwrap_err()
    };
    // Spelled nearly so, wherever it stands.
    assert_snapshot!(net("Net { comment: *, laeyrs: [*], layer: [*], seed: * }"), @r#"missing field `layers`; here are `comment`, `laeyrs`, `layer`, `seed` at the root (renamed? `#[serde(alias = "laeyrs")]`; new? `#[serde(default)]`)"#);
    // The only unknown field, and the only missing one.
    assert_snapshot!(net("Net { blocks: [*], seed: * }"), @r#"missing field `layers`; here are `blocks`, `seed` at the root (renamed? `#[serde(alias = "blocks")]`; new? `#[serde(default)]`)"#);
    // One of two that are missing; one of two that are unknown; none.
    assert_snapshot!(net("Net { comment: * }"), @"missing field `layers`; here is `comment` at the root (renamed? `#[serde(alias)]`; new? `#[serde(default)]`)");
    assert_snapshot!(net("Net { comment: *, name: *, seed: * }"), @"missing field `layers`; here are `comment`, `name`, `seed` at the root (renamed? `#[serde(alias)]`; new? `#[serde(default)]`)");
    assert_snapshot!(net("Net { seed: * }"), @"missing field `layers`; here is `seed` at the root (new? `#[serde(default)]`)");

    // With a flattened field, serde does not know the fields of the type.
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it is only read")]
    struct Flat {
        w1: f64,
        w2: f64,
        #[serde(flatten)]
        rest: std::collections::BTreeMap<String, f64>,
    }
    let treedef = "Flat { w1: *, b: * }".parse().unwrap();
    assert_snapshot!(treedef::unflatten::<Flat>(&treedef, [1.0, 2.0]).unwrap_err(), @"missing field `w2`; here are `w1`, `b` at the root (new? `#[serde(default)]`)");
}

/// Leaves of two kinds of one class: types that accept both.
#[test]
fn a_number_of_another_width_names_what_takes_it() {
    let floats = treedef::Flattener::new().leaves_where(treedef::LeafKind::is_float);
    let value = (1.0f64, 2.0f32, 1u8);
    assert_snapshot!(floats.flatten_as::<f32>(&value).unwrap_err(), @"expected f32, found f64 at `.0` (`flatten_as::<f64>` takes both, `flatten` leaves of every kind)");
    assert_eq!(floats.flatten_as::<f64>(&value).unwrap().0, [1.0, 2.0]);
    assert_snapshot!(treedef::flatten_as::<u64>(&vec![1u32]).unwrap_err(), @"expected u64, found u32 at `[0]` (`flatten_as::<u32>` if all are u32, else `flatten`)");
    assert_eq!(treedef::flatten_as::<u32>(&vec![1u32]).unwrap().0, [1]);
    assert_snapshot!(treedef::flatten_as::<i64>(&(1i64, 2u8)).unwrap_err(), @"expected i64, found u8 at `.1` (`flatten_as::<u8>` if all are u8, else `flatten`)");
    assert_eq!(treedef::flatten(&(1i64, 2u8)).unwrap().0.len(), 2);
    // Of two classes: one of them is no leaf.
    assert_snapshot!(treedef::flatten_as::<f64>(&(1.0, 2u8)).unwrap_err(), @"expected f64, found u8 at `.1` (mark it `treedef::as_static`, or choose the leaves with `Flattener::leaves_where`)");
}

#[test]
fn an_error_is_small_and_crosses_threads() {
    fn crosses<T: Send + Sync + 'static>() {}
    crosses::<Error>();
    assert_eq!(size_of::<Error>(), size_of::<usize>());
    let error = treedef::Tree::of(&vec![1]).unwrap().try_map(|_| Err::<Leaf, _>("no")).unwrap_err();
    assert!(std::error::Error::source(&error).is_some_and(|source| source.to_string() == "no"));
    assert_eq!(error.kind(), ErrorKind::Function);
    assert_eq!(format!("{error:?}"), "no at `[0]`");
}

#[test]
fn the_error_of_a_function_is_the_source() {
    use std::error::Error;
    use std::num::ParseIntError;

    let tree = treedef::Tree::of(&("1", "one")).unwrap();
    let parse = |leaf: Leaf| leaf.as_str().unwrap_or_default().parse::<i32>();
    let error = tree.clone().try_map(parse).unwrap_err();
    assert_snapshot!(error, @"invalid digit found in string at `.1`");
    assert!(error.source().unwrap().is::<ParseIntError>());
    // One of this crate is not wrapped, unless it is about a place of its own.
    let error = tree.clone().try_map(f64::try_from).unwrap_err();
    assert!(error.kind() == ErrorKind::Value && error.source().is_none());
    let inner = |_| treedef::unflatten::<[u8; 1]>(&"[*]".parse().unwrap(), [300]);
    let error = tree.try_map(inner).unwrap_err();
    assert_snapshot!(error, @"invalid value: integer `300`, expected u8 at `[0]` at `.0`");
    assert!(error.source().unwrap().is::<treedef::Error>());
}

#[test]
fn a_float_for_an_integer_names_what_keeps_integers() {
    let (_, treedef) = treedef::flatten(&(1u64,)).unwrap();
    let said = |error: treedef::Error| error.hint().is_some_and(|hint| hint.contains("ravel"));
    assert!(said(unflatten::<(usize,)>(&treedef, [1.5]).unwrap_err()));
    assert!(said(unflatten::<(i8,)>(&treedef, [1.5]).unwrap_err()));
    // Most of those are no floats.
    assert!(!said(unflatten::<(u128,)>(&treedef, [1.5]).unwrap_err()));
    assert!(!said(unflatten::<(String,)>(&treedef, [1.5]).unwrap_err()));
}

/// A message may quote foreign text.
#[test]
fn messages_turn_nothing_round() {
    let evil = "a\u{202e}b\u{1b}[31mc\u{2028}d\u{200b}";
    assert_snapshot!(Error::custom(evil), @r"a\u{202e}b\u{1b}[31mc\u{2028}d\u{200b} at the root");
    let document = BTreeMap::from([(evil, 0.5)]);
    let (leaves, treedef) = flatten(&document).unwrap();
    assert_snapshot!(unflatten::<Shape>(&treedef, &leaves).unwrap_err(), @r"unknown variant `a\u{202e}b\u{1b}[31mc\u{2028}d\u{200b}`, the type has `Circle` or `Box` at the root");
    assert_snapshot!(unflatten::<BTreeMap<u8, f64>>(&treedef, &leaves).unwrap_err(), @r#"invalid type: string "a\u{202e}b\u{1b}[31mc\u{2028}d\u{200b}", expected u8 at `["a\u{202e}b\u{1b}[31mc\u{2028}d\u{200b}"]`"#);
    assert_snapshot!(evil.parse::<TreeDef>().unwrap_err(), @r"expected the end, found `\u{202e}b\u{1b}[31mc\u{2028}d\u{200b}` at byte 1");
}

/// serde calls a struct a map.
#[test]
fn a_struct_that_is_refused_has_its_name() {
    let (leaves, treedef) = flatten(&vec![("a", model().layers.remove(0))]).unwrap();
    let said = unflatten::<Vec<(String, Vec<u8>)>>(&treedef, &leaves).unwrap_err();
    assert_snapshot!(said, @"invalid type: struct `Layer`, expected a sequence at `[0].1`");
    let (leaves, treedef) = flatten(&model()).unwrap();
    assert_snapshot!(unflatten::<Vec<u8>>(&treedef, &leaves).unwrap_err(), @"invalid type: struct `Model`, expected a sequence at the root");
    assert_snapshot!(unflatten::<f64>(&treedef, &leaves).unwrap_err(), @"invalid type: struct `Model`, expected f64 at the root");
    let (leaves, treedef) = flatten(&BTreeMap::from([("a", 1)])).unwrap();
    assert_snapshot!(unflatten::<Vec<u8>>(&treedef, &leaves).unwrap_err(), @"invalid type: map, expected a sequence at the root");
}

/// serde drops the newtype that is the mark. Without an error, the field would be leaves.
#[test]
fn a_mark_that_serde_hides_is_an_error() {
    #[derive(Serialize)]
    struct Flat {
        #[serde(flatten, serialize_with = "treedef::as_static")]
        shared: Layer,
    }

    #[derive(Serialize)]
    #[serde(tag = "type")]
    enum Tagged {
        Newtype(treedef::Opaque<Layer>),
    }

    let layer = || Layer { name: "a".to_owned(), bits: 8 };
    assert_snapshot!(flatten(&Flat { shared: layer() }).unwrap_err(), @"a mark on a flattened field, or on the newtype payload of an internally tagged variant, is hidden by serde: mark the inner fields at the root");
    let tagged = Tagged::Newtype(treedef::Opaque(layer()));
    assert_snapshot!(flatten(&vec![tagged]).unwrap_err(), @"a mark on a flattened field, or on the newtype payload of an internally tagged variant, is hidden by serde: mark the inner fields at `[0]`");
}
