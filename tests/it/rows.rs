//! Rows of leaves, which are compared by the count that they claim.

use std::cell::Cell;

use fastrand::Rng;
use serde::Serialize;
use serde::ser::{SerializeTuple, Serializer};
use treedef::{Flattener, Leaf, Opaque};
use treedef_testing::cases::cases;

/// A tuple of numbers with a wrong length. One of the numbers may be of another kind, which is
/// easily overlooked.
struct Row {
    claimed: usize,
    given: usize,
    overlooked: Option<usize>,
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_tuple(self.claimed)?;
        for at in 0..self.given {
            if self.overlooked == Some(at) {
                drop(row.serialize_element("seven"))
            } else {
                row.serialize_element(&(at as f64))?
            }
        }
        row.end()
    }
}

/// Rows of leaves are compared with the count that they claim, which binds nobody.
#[test]
fn a_row_has_what_it_gives() {
    let treedef = treedef::structure(&[0.0; 3]).unwrap();
    for (claimed, given) in (0..6).flat_map(|claimed| (0..6).map(move |given| (claimed, given))) {
        let row = |overlooked| Row { claimed, given, overlooked };
        let mut leaves: Vec<f64> = Vec::new();
        let outcome = treedef.flatten_like(&row(None), &mut leaves);
        match given {
            3 => assert_eq!((outcome.is_ok(), leaves.as_slice()), (true, &[0.0, 1.0, 2.0][..])),
            _ => assert_eq!((outcome.is_err(), leaves.as_slice()), (true, &[][..])),
        }
        assert_eq!(treedef::structure(&row(None)).unwrap().num_leaves(), given);
        for overlooked in 0..given {
            let outcome = treedef.flatten_like(&row(Some(overlooked)), &mut leaves);
            assert!(outcome.is_err(), "{claimed} {given} {overlooked}");
        }
    }
}

/// An element with far more calls than the previous ones changes none of them.
#[test]
fn a_long_element_leaves_the_others_alone() {
    for long in [4, 40, 254, 255, 256, 257, 300, 600, 70_000] {
        let given = [3, 3, 3, 3, 3, long, 3, 3, 3, 3];
        let rows = given.map(|given| Row { claimed: 3, given, overlooked: None });
        let (leaves, _) = treedef::flatten_as::<f64>(&rows[..]).unwrap();
        let expected = given.into_iter().flat_map(|given| (0..given).map(|at| at as f64));
        assert!(leaves.into_iter().eq(expected), "{long}");
        // The error is ignored, and more elements follow.
        let many = |overlooked| Row { claimed: 3, given: long, overlooked };
        let rows = [many(None), many(None), many(None), many(None), many(None), many(Some(1))];
        assert!(treedef::flatten_as::<f64>(&rows[..]).is_err());
    }
}

/// A sequence of numbers whose iterator has this size hint.
struct Claimed {
    claimed: (usize, Option<usize>),
    given: usize,
}

impl Serialize for Claimed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Claiming(std::ops::Range<usize>, (usize, Option<usize>));

        impl Iterator for Claiming {
            type Item = f64;

            fn next(&mut self) -> Option<f64> {
                self.0.next().map(|at| at as f64)
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                self.1
            }
        }

        serializer.collect_seq(Claiming(0..self.given, self.claimed))
    }
}

/// A wrong size hint changes no result either.
#[test]
fn a_sequence_has_what_its_iterator_gives() {
    let expected: Vec<f64> = (0..100).map(|at| at as f64).collect();
    let treedef = treedef::structure(&expected).unwrap();
    for claimed in [(100, Some(100)), (0, None), (99, Some(101)), (7, Some(7)), (200, Some(200))] {
        for given in [0, 1, 7, 99, 100, 101, 200] {
            let sequence = Claimed { claimed, given };
            let mut leaves = vec![7.0; 3];
            let outcome = treedef.flatten_like(&sequence, &mut leaves);
            assert_eq!(outcome.is_ok(), given == 100, "{claimed:?} {given}");
            assert_eq!(leaves, if given == 100 { &expected[..] } else { &[] });
            assert_eq!(treedef::structure(&sequence).unwrap().num_leaves(), given);
        }
    }
}

#[derive(Clone, Serialize)]
struct Layer {
    rows: Vec<Vec<f64>>,
    name: Option<&'static str>,
    pairs: Vec<(f64, [f64; 2])>,
    whole: Opaque<(u8, u8)>,
    gain: Option<f64>,
}

/// Elements that are too large for slots to be made before they are filled, and rows by themselves.
#[test]
fn large_elements_are_what_they_are_one_by_one() {
    let layer = Layer {
        rows: vec![(0..70).map(f64::from).collect(); 40],
        name: Some("w"),
        pairs: vec![(1.0, [2.0, 3.0]); 100],
        whole: Opaque((1, 2)),
        gain: Some(1.0),
    };
    let changes: [fn(&mut Layer); 12] = [
        |_| {},
        |layer| layer.rows[20].truncate(69),
        |layer| layer.rows[39].push(7.0),
        |layer| layer.rows[0].clear(),
        |layer| layer.rows.push(vec![]),
        |layer| drop(layer.rows.pop()),
        |layer| layer.name = None,
        |layer| layer.name = Some("a longer name"),
        |layer| layer.pairs.truncate(99),
        |layer| layer.pairs.push((1.0, [2.0, 3.0])),
        |layer| layer.whole = Opaque((3, 4)),
        |layer| layer.gain = None,
    ];
    let once = Flattener::new().serialize_once(true);
    for (change, at) in changes.iter().flat_map(|change| [0, 1, 4].map(|at| (change, at))) {
        let mut layers = vec![layer.clone(); 5];
        change(&mut layers[at]);
        assert_eq!(treedef::flatten(&layers).unwrap(), once.flatten(&layers).unwrap());
        let rows: Vec<_> = layers.iter().map(|layer| &layer.rows).collect();
        let numbers = once.flatten_as::<f64>(&rows).unwrap();
        assert_eq!(treedef::flatten_as::<f64>(&rows).unwrap(), numbers);
        let flat: Vec<_> = rows.into_iter().flatten().collect();
        assert_eq!(treedef::flatten(&flat).unwrap(), once.flatten(&flat).unwrap());
    }
}

#[test]
fn rows_of_large_elements_have_what_their_iterators_give() {
    let once = Flattener::new().serialize_once(true);
    for claimed in [(100, Some(100)), (0, None), (99, Some(101)), (7, Some(7)), (200, Some(200))] {
        for given in [0, 1, 7, 99, 100, 101, 200] {
            let row = |given| Claimed { claimed, given };
            for count in [3, 40] {
                let mut rows: Vec<Claimed> = (0..count).map(|_| row(100)).collect();
                rows[count - 2] = row(given);
                assert_eq!(treedef::flatten(&rows).unwrap(), once.flatten(&rows).unwrap());
                let layers = [&rows[1..], &rows[..], &rows[..]];
                assert_eq!(treedef::flatten(&layers).unwrap(), once.flatten(&layers).unwrap());
            }
        }
    }
}

/// One of its rows serializes a text only once.
#[test]
fn a_large_element_is_asked_once() {
    struct Once(Cell<bool>);

    impl Serialize for Once {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            if self.0.take() {
                ("once", 1.0).serialize(serializer)
            } else {
                2.0.serialize(serializer)
            }
        }
    }

    let rows = || vec![vec![1.0; 100]; 30];
    let values =
        || -> Vec<_> { (0..5).map(|at| (rows(), Once(Cell::new(at == 3)), rows())).collect() };
    let once = Flattener::new().serialize_once(true);
    assert_eq!(treedef::flatten(&values()).unwrap(), once.flatten(&values()).unwrap());
}

/// Parameters. Some of them are fixed.
enum Parameter {
    Free(f64),
    Fixed(f64),
}

impl Serialize for Parameter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Parameter::Free(number) => number.serialize(serializer),
            Parameter::Fixed(number) => treedef::as_static(number, serializer),
        }
    }
}

/// A mark is no number, also in a row of numbers.
#[test]
fn a_number_before_a_sequence_says_nothing_about_its_elements() {
    thread_local! {
        static CALLS: Cell<usize> = const { Cell::new(0) };
    }
    struct Counted(f64);

    impl Serialize for Counted {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            CALLS.set(CALLS.get() + 1);
            serializer.serialize_f64(self.0)
        }
    }

    let value = (0.5f32, (0..20).map(|i| Counted(f64::from(i))).collect::<Vec<_>>());
    for _ in 0..3 {
        CALLS.set(0);
        let (leaves, _) = treedef::flatten_as::<f64>(&value).unwrap();
        assert_eq!((leaves.len(), CALLS.get()), (21, 20));
    }
}

#[test]
fn a_static_among_numbers_stays_static() {
    let parameters: Vec<Parameter> = (0..12)
        .map(|at| if at % 4 == 3 { Parameter::Fixed(0.5) } else { Parameter::Free(0.25) })
        .collect();
    let once = Flattener::new().serialize_once(true);
    let (leaves, treedef) = once.flatten_as::<f64>(&parameters).unwrap();
    assert_eq!(leaves, [0.25; 9]);
    let third = "*, *, *, static 0.5";
    assert_eq!(treedef.to_string(), format!("[{third}, {third}, {third}]"));
    assert_eq!(treedef::flatten_as::<f64>(&parameters).unwrap(), (leaves, treedef.clone()));
    let pairs: Vec<_> = parameters.iter().map(|parameter| (1.0, parameter)).collect();
    assert_eq!(treedef::structure(&pairs).unwrap(), once.structure(&pairs).unwrap());
    let mut buffer: Vec<f64> = Vec::new();
    treedef.flatten_like(&parameters, &mut buffer).unwrap();
    assert_eq!(buffer, [0.25; 9]);
}

#[derive(Clone, Copy, Serialize)]
enum Unit {
    Metre,
    Second,
}

/// Plain data of few or many forms.
#[derive(Serialize)]
struct Reading {
    drift: Option<f64>,
    unit: Unit,
    place: Option<(f32, Option<f64>)>,
    value: f64,
}

fn reading(rng: &mut Rng, forms: u8) -> Reading {
    let form = rng.u8(..forms);
    let place = (form & 4 == 0).then(|| (rng.f32(), (form & 8 != 0).then(|| rng.f64())));
    Reading {
        drift: (form & 1 != 0).then(|| rng.f64()),
        unit: if form & 2 == 0 { Unit::Metre } else { Unit::Second },
        place,
        value: rng.f64(),
    }
}

/// Without and with a treedef, whose script is followed.
fn are_as_one_by_one(value: &impl Serialize, what: &str) {
    let once = Flattener::new().serialize_once(true);
    let (leaves, treedef) = once.flatten(value).unwrap();
    let found = treedef::flatten(value).unwrap();
    assert!(found == (leaves.clone(), treedef.clone()), "{what}: {} and {treedef}", found.1);
    for _ in 0..3 {
        let mut buffer: Vec<Leaf> = Vec::new();
        treedef.flatten_like(value, &mut buffer).unwrap();
        assert!(buffer == leaves, "{what}");
    }
}

#[test]
fn elements_of_few_forms_are_what_they_are_one_by_one() {
    let mut rng = Rng::with_seed(68);
    for forms in [1, 2, 3, 5, 16] {
        for length in [5, 6, 9, 40, 700, cases(9_000).max(1_500)] {
            let what = format!("{length} of {forms} forms");
            let readings: Vec<Reading> = (0..length).map(|_| reading(&mut rng, forms)).collect();
            are_as_one_by_one(&readings, &what);
            are_as_one_by_one(&("beside", &[&readings[..3], &readings]), &what);
            let drifts: Vec<_> = readings.iter().map(|reading| reading.drift).collect();
            are_as_one_by_one(&drifts, &what);
            are_as_one_by_one(&(&drifts, &drifts[1..]), &what);
            let places: Vec<_> = readings.iter().map(|reading| reading.place).collect();
            are_as_one_by_one(&places, &what);
            // No leaf, and a value that a node is made of.
            let units: Vec<_> = readings.iter().map(|reading| reading.unit).collect();
            are_as_one_by_one(&(&units, 1.0), &what);
            let flags: Vec<_> =
                drifts.iter().map(|drift| drift.map(|drift| (drift > 0.5).then_some(()))).collect();
            are_as_one_by_one(&flags, &what);
            are_as_one_by_one(&Opaque(&drifts), &what);
        }
    }
    // So many that nodes are made of their words before the row ends.
    let readings: Vec<Reading> = (0..40_000).map(|_| reading(&mut rng, 16)).collect();
    let drifts: Vec<_> = readings.iter().map(|reading| reading.drift).collect();
    are_as_one_by_one(&drifts, "many options");
    are_as_one_by_one(
        &readings.iter().map(|reading| reading.unit).collect::<Vec<_>>(),
        "many units",
    );
}

/// Gives an option once, and then another one.
struct Turns(Cell<bool>, Cell<Option<f64>>);

impl Serialize for Turns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.get() { self.1.take() } else { self.1.get() }.serialize(serializer)
    }
}

/// Elements of two forms are serialized once each. An element of a third form is serialized twice, and compared.
#[test]
fn an_option_that_is_there_once_is_not_lost() {
    for at in 0..40 {
        let turns: Vec<_> = (0..40)
            .map(|i| Turns(Cell::new(i == at), Cell::new((i == at || i % 3 != 0).then_some(0.5))))
            .collect();
        let there = turns.iter().filter(|turn| turn.1.get().is_some()).count();
        match treedef::flatten_as::<f64>(&turns) {
            Ok((leaves, _)) => assert_eq!(leaves.len(), there, "{at}"),
            Err(error) => assert!(error.to_string().contains("serialize_once"), "{at}: {error}"),
        }
    }
}

/// Two types of one name have it at two addresses, so an element that is serialized again is compared by the text.
#[test]
fn a_name_at_two_addresses_is_one_name() {
    static NAMES: &str = "PP";
    struct Item(bool);
    impl Serialize for Item {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let name = if self.0 { &NAMES[1..2] } else { &NAMES[0..1] };
            let mut tuple = serializer.serialize_tuple_struct(name, 2)?;
            for _ in 0..if self.0 { 3 } else { 2 } {
                serde::ser::SerializeTupleStruct::serialize_field(&mut tuple, &1.0)?;
            }
            serde::ser::SerializeTupleStruct::end(tuple)
        }
    }
    let items: Vec<Item> = (0..30).map(|at| Item(at == 20)).collect();
    let (leaves, treedef) = treedef::flatten_as::<f64>(&items).unwrap();
    assert_eq!(leaves.len(), 61);
    assert_eq!(treedef.to_string(), "[P(*, *); 20, P(*, *, *), P(*, *); 9]");
}
