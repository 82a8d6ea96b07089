//! Runs of equal elements are compared by their layout. Every difference must still be found.

use std::cell::Cell;

use allocation_counter::measure;
use serde::ser::{
    Serialize, SerializeSeq, SerializeStruct, SerializeTuple, SerializeTupleStruct, Serializer,
};
use treedef::{Flattener, Leaf, LeafType, Opaque, as_opaque, flatten, flatten_as};
use treedef_testing::cases::stride;

/// The calls of a `Serialize` implementation, with names that are sometimes wrong and counts that are
/// not kept.
#[derive(Clone, Debug)]
enum Call {
    Number(f64),
    Text(&'static str),
    Tuple(usize, Vec<Call>),
    Row(&'static str, usize, Vec<Call>),
    Struct(&'static str, usize, Vec<(&'static str, Call)>),
    Newtype(&'static str, Box<Call>),
    Seq(Vec<Call>),
    Collected(Vec<Call>),
    Present(Box<Call>),
    Absent,
    Unit,
    UnitStruct(&'static str),
    Variant(&'static str),
    Whole(Box<Call>),
    /// A tuple whose second element fails, which is overlooked.
    Overlooks(Box<[Call; 3]>),
}

use Call::*;

impl Serialize for Call {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Number(number) => serializer.serialize_f64(*number),
            Text(text) => serializer.serialize_str(text),
            Tuple(count, elements) => {
                let mut tuple = serializer.serialize_tuple(*count)?;
                elements.iter().try_for_each(|element| tuple.serialize_element(element))?;
                tuple.end()
            }
            Row(name, count, elements) => {
                let mut row = serializer.serialize_tuple_struct(name, *count)?;
                elements.iter().try_for_each(|element| row.serialize_field(element))?;
                row.end()
            }
            Struct(name, count, fields) => {
                let mut fields_of = serializer.serialize_struct(name, *count)?;
                fields.iter().try_for_each(|(key, value)| fields_of.serialize_field(key, value))?;
                fields_of.end()
            }
            Newtype(name, inside) => serializer.serialize_newtype_struct(name, inside),
            Seq(elements) => {
                let mut seq = serializer.serialize_seq(Some(elements.len()))?;
                elements.iter().try_for_each(|element| seq.serialize_element(element))?;
                seq.end()
            }
            Collected(elements) => serializer.collect_seq(elements),
            Present(inside) => serializer.serialize_some(inside),
            Absent => serializer.serialize_none(),
            Unit => serializer.serialize_unit(),
            UnitStruct(name) => serializer.serialize_unit_struct(name),
            Variant(name) => serializer.serialize_unit_variant("E", 0, name),
            Whole(inside) => as_opaque(inside, serializer),
            Overlooks(elements) => {
                let [first, second, third] = &**elements;
                let mut tuple = serializer.serialize_tuple(2)?;
                tuple.serialize_element(first)?;
                let _ = tuple.serialize_element(second);
                tuple.serialize_element(third)?;
                tuple.end()
            }
        }
    }
}

fn tuple(elements: &[Call]) -> Call {
    Tuple(elements.len(), elements.to_vec())
}

fn structure(name: &'static str, fields: &[(&'static str, Call)]) -> Call {
    Struct(name, fields.len(), fields.to_vec())
}

/// Elements that are all different, and most of them only a little.
fn elements() -> Vec<Call> {
    let one = || Number(1.0);
    let pair = || tuple(&[one(), one()]);
    let point = |name, x, y| structure(name, &[(x, one()), (y, one())]);
    let nested = |depth| (0..depth).fold(one(), |inside, _| tuple(&[inside, one()]));
    let names = |count| tuple(&vec![Newtype("N", one().into()); count]);
    vec![
        one(),
        pair(),
        tuple(&[]),
        tuple(&[one()]),
        tuple(&[one(), one(), one()]),
        tuple(&[pair(), one()]),
        tuple(&[one(), pair()]),
        tuple(&[pair(), pair()]),
        tuple(&[tuple(&[pair(), one()]), one()]),
        tuple(&[tuple(&[one(), pair()]), one()]),
        Row("Row", 2, vec![one(), one()]),
        Row("Other", 2, vec![one(), one()]),
        point("Point", "x", "y"),
        point("Point", "x", "z"),
        point("Point", "z", "y"),
        point("Point", "y", "x"),
        point("Other", "x", "y"),
        point("Poin", "x", "y"),
        structure("Point", &[("x", one())]),
        structure("Point", &[("x", one()), ("y", one()), ("z", one())]),
        structure("Point", &[("x", pair()), ("y", one())]),
        structure("Line", &[("a", point("P", "x", "y")), ("b", point("P", "x", "y"))]),
        structure("Line", &[("a", point("P", "x", "y")), ("b", point("P", "x", "z"))]),
        structure("Line", &[("a", point("P", "x", "y")), ("b", point("Q", "x", "y"))]),
        structure("Line", &[("a", point("Q", "x", "y")), ("b", point("P", "x", "y"))]),
        Newtype("N", one().into()),
        Newtype("M", one().into()),
        Newtype("N", pair().into()),
        Newtype("N", Newtype("N", one().into()).into()),
        tuple(&[one(), Unit]),
        tuple(&[Unit, one()]),
        tuple(&[one(), UnitStruct("U")]),
        tuple(&[one(), UnitStruct("V")]),
        tuple(&[one(), tuple(&[])]),
        tuple(&[one(), Variant("A")]),
        tuple(&[one(), Variant("B")]),
        tuple(&[one(), Absent]),
        tuple(&[one(), Present(one().into())]),
        tuple(&[one(), Present(Absent.into())]),
        tuple(&[Present(one().into()), Present(one().into())]),
        tuple(&[one(), Seq(vec![one()])]),
        tuple(&[one(), Collected(vec![one()])]),
        tuple(&[one(), Collected(vec![one(), one()])]),
        tuple(&[one(), Collected(vec![])]),
        tuple(&[Collected(vec![one()]), Collected(vec![one()])]),
        tuple(&[one(), Collected(vec![pair()])]),
        tuple(&[one(), Collected(vec![one(), pair()])]),
        tuple(&[one(), Collected(vec![Whole(one().into())])]),
        tuple(&[Collected(vec![one(); 7]), one()]),
        tuple(&[Collected(vec![one(); 8]), one()]),
        tuple(&[Collected(vec![one(); 63]), one()]),
        tuple(&[Collected(vec![one(); 64]), one()]),
        tuple(&[one(), Whole(pair().into())]),
        // As much as a window, a layout and the list of names hold, and more.
        tuple(&vec![one(); 63]),
        tuple(&vec![one(); 64]),
        tuple(&vec![one(); 65]),
        tuple(&vec![one(); 127]),
        tuple(&vec![one(); 128]),
        tuple(&vec![pair(); 5]),
        tuple(&vec![pair(); 12]),
        nested(8),
        nested(11),
        nested(20),
        names(7),
        names(8),
        names(9),
        tuple(&vec![Unit; 10]),
        tuple(&vec![Unit; 11]),
    ]
}

/// The reference: nothing is expected, so nothing is compared.
fn recorded<L: LeafType>(values: &[Call]) -> (Vec<L>, treedef::TreeDef) {
    Flattener::new().serialize_once(true).flatten_as(values).unwrap()
}

/// So many that there are windows even if each has one leaf.
const MANY: usize = 70;

/// Many of one element, but at one place another.
fn with(expected: &Call, found: &Call, at: usize) -> Vec<Call> {
    let mut values = vec![expected.clone(); MANY];
    values[at] = found.clone();
    values
}

#[test]
fn an_element_that_is_different_is_found() {
    let elements = elements();
    for expected in &elements {
        let alike = vec![expected.clone(); MANY];
        let (_, treedef) = recorded::<Leaf>(&alike);
        let mut leaves: Vec<Leaf> = Vec::new();
        treedef.flatten_like(&alike, &mut leaves).unwrap();
        for found in elements.iter().step_by(stride()) {
            for at in [1, 5] {
                let values = with(expected, found, at);
                let (own, other) = recorded(&values);
                assert_eq!(flatten(&values).unwrap(), (own.clone(), other.clone()));
                let matched = treedef.flatten_like(&values, &mut leaves).is_ok();
                assert_eq!(matched, treedef == other, "{expected:?} {found:?} {at}");
                assert_eq!(leaves, if matched { own } else { vec![] });
            }
        }
    }
}

#[test]
fn a_whole_value_that_is_different_is_found() {
    let mut values = elements();
    values.extend([Collected(vec![Number(1.0); 3]), Collected(vec![]), Absent, Unit]);
    let values: Vec<_> = values
        .iter()
        .filter_map(|value| {
            let recorded = Flattener::new().serialize_once(true).flatten_as::<f64>(value).ok();
            recorded.map(|(leaves, treedef)| (value, leaves, treedef))
        })
        .collect();
    let mut buffer = Vec::<f64>::new();
    for (expected, _, treedef) in &values {
        for (found, leaves, other) in &values {
            let matched = treedef.flatten_like(found, &mut buffer).is_ok();
            assert_eq!(matched, treedef == other, "{expected:?} {found:?}");
            assert_eq!(buffer, if matched { &leaves[..] } else { &[] });
        }
    }
}

/// Windows end before the slots do.
#[test]
fn any_number_of_elements_fits() {
    let element = |width: usize| tuple(&(0..width).map(|at| Number(at as f64)).collect::<Vec<_>>());
    for width in [1, 3, 21, 63, 64, 65] {
        for count in 0..70 {
            let values = vec![element(width); count];
            let (leaves, treedef) = recorded::<f64>(&values);
            assert_eq!(flatten_as::<f64>(&values).unwrap(), (leaves.clone(), treedef.clone()));
            let mut buffer = vec![7.0; 5];
            treedef.flatten_like(&values, &mut buffer).unwrap();
            assert_eq!(buffer, leaves);
        }
    }
}

#[test]
fn counts_that_are_not_kept_bind_nobody() {
    let row = |count| Tuple(count, vec![Number(1.0), Number(2.0)]);
    let point = |count| Struct("P", count, vec![("x", Number(1.0)), ("y", Number(2.0))]);
    for (honest, claims) in [(row(2), row as fn(usize) -> Call), (point(2), point)] {
        let (leaves, treedef) = recorded::<f64>(&vec![honest.clone(); MANY]);
        for (count, at) in (0..5).flat_map(|count| [0, 1, 7].map(|at| (count, at))) {
            let values = with(&honest, &claims(count), at);
            let mut buffer: Vec<f64> = Vec::new();
            treedef.flatten_like(&values, &mut buffer).unwrap();
            assert_eq!(buffer, leaves);
            assert_eq!(flatten_as::<f64>(&values).unwrap(), (leaves.clone(), treedef.clone()));
            let whole = Flattener::new().structure(&honest).unwrap();
            whole.flatten_like(&claims(count), &mut buffer).unwrap();
            assert_eq!(buffer, [1.0, 2.0]);
        }
    }
}

#[test]
fn who_overlooks_a_mismatch_does_not_match() {
    let pair = tuple(&[Number(1.0), Number(2.0)]);
    let (_, treedef) = recorded::<f64>(&vec![pair.clone(); MANY]);
    let failing = [Text("seven"), tuple(&[]), tuple(&[Number(3.0), Text("seven")])];
    for (second, at) in
        failing.into_iter().flat_map(|second| [0, 1, 7].map(|at| (second.clone(), at)))
    {
        let overlooks = Overlooks(Box::new([Number(1.0), second, Number(2.0)]));
        let values = with(&pair, &overlooks, at);
        assert!(treedef.flatten_like(&values, &mut Vec::<f64>::new()).is_err());
        // A failure that needs another structure to compare with is none here.
        let recorded = Flattener::new().serialize_once(true).flatten_as::<f64>(&values);
        assert_eq!(flatten_as::<f64>(&values).ok(), recorded.ok());
        let pair = Flattener::new().structure(&pair).unwrap();
        let whole = Flattener::new().serialize_once(true).flatten_as::<f64>(&overlooks);
        let matched = pair.flatten_like(&overlooks, &mut Vec::<f64>::new()).is_ok();
        assert_eq!(matched, whole.is_ok_and(|(_, treedef)| treedef == pair));
    }
}

/// A value that counts how often it is serialized.
struct Asked<'c>(&'c Cell<usize>, Opaque<(u8, u8)>);

impl Serialize for Asked<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.set(self.0.get() + 1);
        (1.0, &self.1).serialize(serializer)
    }
}

#[test]
fn what_matches_is_asked_once() {
    let asked = Cell::new(0);
    let values: Vec<_> = (0..100).map(|_| Asked(&asked, Opaque((1, 2)))).collect();
    let (mut leaves, treedef) = flatten(&values).unwrap();
    assert_eq!((asked.get(), leaves.len()), (100, 200));
    treedef.flatten_like(&values, &mut leaves).unwrap();
    assert_eq!(asked.get(), 200);
}

/// A number that is there once, and then another call.
struct Once(Cell<Option<f64>>, Call);

impl Serialize for Once {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = self.0.take().map_or(Unit, Number);
        (1.0, number, &self.1).serialize(serializer)
    }
}

#[test]
fn what_is_there_once_is_not_lost() {
    let newtype = |name| Newtype(name, Number(2.0).into());
    let next = [Unit, tuple(&[]), tuple(&[Number(2.0), Number(3.0)]), Absent, Variant("A")];
    let next = next.map(|next| (Number(2.0), next)).into_iter();
    let next = next.chain([(Number(2.0), Number(2.0)), (newtype("N"), newtype("M"))]);
    for (next, at) in next.flat_map(|next| [1, 7, 69].map(|at| (next.clone(), at))) {
        let values = || -> Vec<Once> {
            let once = |number| Once(Cell::new(Some(1.0)), number);
            let next_at = |own| if own == at { next.1.clone() } else { next.0.clone() };
            (0..MANY).map(|own| once(next_at(own))).collect()
        };
        let truth = Flattener::new().serialize_once(true).flatten(&values()).unwrap();
        match flatten(&values()) {
            Ok(found) => assert_eq!(found, truth),
            Err(error) => assert!(error.to_string().contains("returned less"), "{error}"),
        }
        let mut leaves: Vec<Leaf> = Vec::new();
        truth.1.flatten_like(&values(), &mut leaves).unwrap();
        assert_eq!(leaves, truth.0);
    }
}

/// A value that occurs only once is missing at the second look, and then everything is as expected.
#[test]
fn what_is_as_expected_only_later_is_not_taken_for_it() {
    let once = |number: Option<f64>| Once(Cell::new(number), Number(2.0));
    let gave_less = |error: treedef::Error| error.to_string().contains("returned less");
    for at in [1, 7, 69] {
        let values =
            || -> Vec<Once> { (0..MANY).map(|own| once((own == at).then_some(1.0))).collect() };
        let truth = Flattener::new().serialize_once(true).flatten(&values()).unwrap();
        assert!(flatten(&values()).map_or_else(gave_less, |found| found == truth), "{at}");
        let absent: Vec<Once> = (0..MANY).map(|_| once(None)).collect();
        let expected = Flattener::new().structure(&absent).unwrap();
        let mut leaves: Vec<f64> = Vec::new();
        // It owns memory, so it is serialized once, and the difference is found.
        let error = expected.flatten_like(&values(), &mut leaves).unwrap_err();
        assert_eq!(error.to_string(), format!("expected `()`, found `*` at `[{at}].1`"));
        assert!(leaves.is_empty());
    }
    let (leaves, treedef) = flatten_as::<f64>(&once(None)).unwrap();
    let mut buffer = leaves.clone();
    treedef.flatten_like(&once(None), &mut buffer).unwrap();
    assert_eq!(buffer, leaves);
    let error = treedef.flatten_like(&once(Some(1.0)), &mut buffer).unwrap_err();
    assert_eq!(error.to_string(), "expected `()`, found `*` at `.1`");
    // There is no other value from which to expect a whole one.
    assert_eq!(flatten_as::<f64>(&once(Some(1.0))).unwrap().0, [1.0, 1.0, 2.0]);
}

#[test]
fn texts_of_elements_that_are_different_are_freed() {
    let pair = tuple(&[Text("a text"), Number(1.0)]);
    for found in [
        tuple(&[Text("a text"), tuple(&[])]),
        tuple(&vec![Text("a text"); 30]),
        tuple(&[Text("a text")]),
    ] {
        let mut values = vec![pair.clone(); 40];
        let (_, treedef) = recorded::<Leaf>(&values);
        values[7] = found;
        let flatten_all = || {
            drop(flatten(&values).unwrap());
            let mut leaves: Vec<Leaf> = Vec::new();
            for _ in 0..3 {
                assert!(treedef.flatten_like(&values, &mut leaves).is_err());
            }
        };
        flatten_all(); // what a thread remembers stays
        let held = measure(flatten_all);
        assert_eq!(held.bytes_current, 0);
    }
}
