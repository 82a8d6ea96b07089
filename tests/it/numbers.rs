//! Numbers of sequences, which are taken in blocks: the same as one by one.

use std::cell::Cell;
use std::fmt::Debug;

use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde::ser::{Error as _, Serialize, Serializer};
use treedef::{Flattener, Leaf, LeafKind, LeafType, Limits, Opaque, Static, flatten, flatten_as};

/// An element that may be anything.
#[derive(Clone)]
enum Item {
    F32(f32),
    F64(f64),
    I64(i64),
    I32(i32),
    I8(i8),
    U8(u8),
    Bool(bool),
    Char(char),
    Wide(i128),
    Text(&'static str),
    Pair(f64, f64),
    Some(f64),
    Nothing,
    Unit,
    Inner(Vec<f64>),
    Fixed(f64),
    Whole(f64),
    Fails,
    /// Fails behind a number.
    FailsLate(f64),
    /// Gives a number only once.
    Once(Cell<Option<f64>>),
}

impl Serialize for Item {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Item::F32(x) => x.serialize(serializer),
            Item::F64(x) => x.serialize(serializer),
            Item::I64(x) => x.serialize(serializer),
            Item::I32(x) => x.serialize(serializer),
            Item::I8(x) => x.serialize(serializer),
            Item::U8(x) => x.serialize(serializer),
            Item::Bool(x) => x.serialize(serializer),
            Item::Char(x) => x.serialize(serializer),
            Item::Wide(x) => x.serialize(serializer),
            Item::Text(x) => x.serialize(serializer),
            Item::Pair(x, y) => (x, y).serialize(serializer),
            Item::Some(x) => Some(x).serialize(serializer),
            Item::Nothing => serializer.serialize_none(),
            Item::Unit => serializer.serialize_unit(),
            Item::Inner(all) => all.serialize(serializer),
            Item::Fixed(x) => Static(x).serialize(serializer),
            Item::Whole(x) => Opaque(x).serialize(serializer),
            Item::Fails => Err(S::Error::custom("it fails")),
            Item::FailsLate(x) => {
                x.serialize(serializer)?;
                Err(S::Error::custom("it fails late"))
            }
            Item::Once(number) => match number.take() {
                Some(number) => serializer.serialize_f64(number),
                None => serializer.serialize_unit(),
            },
        }
    }
}

/// A sequence whose iterator has this size hint.
struct Items<'i>(&'i [Item], Option<(usize, Option<usize>)>);

struct Claiming<'i>(std::slice::Iter<'i, Item>, Option<(usize, Option<usize>)>);

impl<'i> Iterator for Claiming<'i> {
    type Item = &'i Item;

    fn next(&mut self) -> Option<&'i Item> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.1.unwrap_or_else(|| self.0.size_hint())
    }
}

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(Claiming(self.0.iter(), self.1))
    }
}

/// All numbers, each with its bits.
fn numbers() -> [Item; 8] {
    [
        Item::F64(f64::from_bits(0x7ff0_0000_0000_0001)),
        Item::F32(f32::from_bits(0xff80_0001)),
        Item::I64(i64::MIN),
        Item::I32(-7),
        Item::I8(-128),
        Item::U8(255),
        Item::Bool(true),
        Item::Char('\u{10ffff}'),
    ]
}

fn others() -> Vec<Item> {
    let mut others = numbers().to_vec();
    others.extend([
        Item::F32(0.1),
        Item::Wide(1),
        Item::Text("a"),
        Item::Pair(1.0, 2.0),
        Item::Some(1.0),
        Item::Nothing,
        Item::Unit,
        Item::Inner(vec![1.0; 20]),
        Item::Fixed(1.0),
        Item::Whole(1.0),
        Item::Fails,
        Item::FailsLate(1.0),
    ]);
    others
}

fn flatteners() -> [Flattener; 5] {
    [
        Flattener::new(),
        Flattener::new().none_is_leaf(true),
        Flattener::new().leaves_where(LeafKind::is_float),
        Flattener::new().leaves_where(|kind| kind != LeafKind::F64),
        Flattener::new().limits(Limits { max_depth: 1, ..Limits::default() }),
    ]
}

/// Results, with the bits of floats.
fn shown<T: Debug>(result: treedef::Result<T>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => error.to_string(),
    }
}

/// The result is the same in blocks and one by one, for all kinds of leaves, the first and the third time.
#[track_caller]
fn are_as_one_by_one(value: &impl Serialize, flatteners: &[Flattener]) {
    fn as_kind<L: LeafType + Debug>(by: &Flattener, value: &impl Serialize) -> String {
        // As leaves, which are equal if their bits are.
        let bits = |(leaves, treedef): (Vec<L>, _)| {
            let leaves: Vec<Leaf> = leaves.into_iter().map(Into::into).collect();
            let bits = leaves.iter().map(|leaf| match leaf {
                Leaf::F64(x) => format!("{:x}", x.to_bits()),
                Leaf::F32(x) => format!("{:x}f32", x.to_bits()),
                other => format!("{other:?}"),
            });
            (bits.collect::<Vec<_>>(), treedef)
        };
        let found = by.flatten_as::<L>(value);
        if let Ok((leaves, treedef)) = &found {
            let mut again: Vec<L> = Vec::new();
            by.flatten_like(treedef, value, &mut again).unwrap();
            let all = |leaves: &[L]| leaves.iter().cloned().map(Into::into).collect::<Vec<Leaf>>();
            assert_eq!(all(&again), all(leaves));
        }
        shown(found.map(bits))
    }
    for by in flatteners {
        let once = by.clone().serialize_once(true);
        for _ in 0..2 {
            assert_eq!(as_kind::<Leaf>(by, value), as_kind::<Leaf>(&once, value));
            assert_eq!(as_kind::<f64>(by, value), as_kind::<f64>(&once, value));
            assert_eq!(as_kind::<f32>(by, value), as_kind::<f32>(&once, value));
            assert_eq!(as_kind::<i64>(by, value), as_kind::<i64>(&once, value));
            assert_eq!(as_kind::<usize>(by, value), as_kind::<usize>(&once, value));
            assert_eq!(as_kind::<i8>(by, value), as_kind::<i8>(&once, value));
            assert_eq!(as_kind::<u8>(by, value), as_kind::<u8>(&once, value));
            assert_eq!(as_kind::<bool>(by, value), as_kind::<bool>(&once, value));
            assert_eq!(as_kind::<char>(by, value), as_kind::<char>(&once, value));
            assert_eq!(shown(by.structure(value)), shown(once.structure(value)));
            assert_eq!(shown(by.signature(value)), shown(once.signature(value)));
        }
    }
}

#[test]
fn numbers_in_blocks_are_those_one_by_one() {
    for number in numbers() {
        for length in [0, 1, 4, 5, 12, 13, 14, 64, 512, 513, 514, 1_026] {
            are_as_one_by_one(&Items(&vec![number.clone(); length], None), &flatteners()[..3]);
        }
    }
}

/// An element of another kind, at the edges of a block.
#[test]
fn an_element_that_is_no_such_number_is_what_it_is() {
    for (at, other) in others().into_iter().enumerate() {
        for (base, number) in numbers().into_iter().enumerate() {
            let places = [1, 2, 3, 13, 20, 512, 513, 514];
            // Each pair at one place; over all pairs, at each.
            let mut items = vec![number; 540];
            items[places[(at + base) % places.len()]] = other.clone();
            let by = (at + base) % flatteners().len();
            are_as_one_by_one(&Items(&items, None), &flatteners()[by..=by]);
        }
    }
}

/// Nothing is alike for long.
#[test]
fn elements_that_change_all_the_time_are_what_they_are() {
    let others = others();
    for (seed, stay) in [(1, 2), (2, 3), (3, 7), (5, 20), (7, 600)] {
        let mut rng = fastrand::Rng::with_seed(seed);
        let fails = |item: &Item| matches!(item, Item::Fails | Item::FailsLate(_));
        let mut item = others[0].clone();
        let items: Vec<Item> = (0..800)
            .map(|_| {
                if rng.usize(..stay) == 0 {
                    item = others[rng.usize(..others.len())].clone();
                }
                if fails(&item) { Item::Unit } else { item.clone() }
            })
            .collect();
        are_as_one_by_one(&Items(&items, None), &flatteners());
        // In a key, in a static and in one leaf.
        are_as_one_by_one(
            &(Static(Items(&items, None)), Opaque(Items(&items, None))),
            &flatteners(),
        );
    }
}

#[test]
fn the_path_of_an_error_has_the_index() {
    for index in [0, 1, 4, 13, 100, 512, 513, 514, 1_100] {
        for fails in [Item::Fails, Item::FailsLate(2.0), Item::Text("a")] {
            let mut items = vec![Item::F64(1.0); 1_200];
            items[index] = fails;
            let error = flatten_as::<f64>(&("w", Items(&items, None))).unwrap_err();
            assert_eq!(error.path().to_string(), ".0", "the text comes first");
            let error = flatten_as::<f64>(&(0.5, Items(&items, None))).unwrap_err();
            assert_eq!(error.path().to_string(), format!(".1[{index}]"));
        }
    }
}

/// A wrong size hint changes no result, and reserves no memory that is not needed.
#[test]
fn an_iterator_may_be_wrong_about_its_length() {
    let lies = [0, 1, 3, 100, 1 << 20, usize::MAX / 16, usize::MAX];
    for length in [0, 1, 5, 30, 600] {
        let items = vec![Item::F64(1.5); length];
        for most in lies.map(Some).into_iter().chain([None]) {
            for least in [0, most.unwrap_or(7)] {
                let (leaves, treedef) =
                    flatten_as::<f64>(&Items(&items, Some((least, most)))).unwrap();
                assert_eq!((&leaves, treedef.num_leaves()), (&vec![1.5; length], length));
                assert!(leaves.capacity() <= 1 << 17, "{} for {length}", leaves.capacity());
            }
        }
    }
}

/// A number is never lost silently, with any neighbours.
#[test]
fn a_number_that_is_there_once_is_not_lost() {
    for (number, place) in numbers()
        .into_iter()
        .flat_map(|number| [1, 2, 13, 20, 512, 513].map(|at| (number.clone(), at)))
    {
        let items = || {
            let mut items = vec![number.clone(); 600];
            items[place] = Item::Once(Cell::new(Some(2.5)));
            items
        };
        let once = Flattener::new().serialize_once(true);
        let (expected, _) = once.flatten(&Items(&items(), None)).unwrap();
        assert_eq!((expected.len(), &expected[place]), (600, &Leaf::F64(2.5)));
        match flatten(&Items(&items(), None)) {
            Ok((leaves, _)) => assert_eq!(leaves, expected),
            Err(error) => assert!(error.to_string().contains("returned less on its second call")),
        }
    }
    // Numbers of one kind are requested once.
    let onces = |count| vec![Item::Once(Cell::new(Some(2.5))); count];
    for count in [1, 13, 600] {
        assert_eq!(flatten_as::<f64>(&Items(&onces(count), None)).unwrap().0, vec![2.5; count]);
        assert_eq!(flatten(&Items(&onces(count), None)).unwrap().0, vec![Leaf::F64(2.5); count]);
    }
}

/// Numbers with another form in a compact walk.
macro_rules! two_forms {
    ($($name:ident $type:ty),*) => {$(
        #[derive(Clone, Copy, Debug, PartialEq)]
        struct $name($type);

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let more = <$type>::from(u8::from(serializer.is_human_readable()));
                (self.0 + more).serialize(serializer)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let more = <$type>::from(u8::from(deserializer.is_human_readable()));
                Ok($name(<$type>::deserialize(deserializer)? - more))
            }
        }
    )*};
}

two_forms! { Double f64, Single f32, Integer i32 }

#[test]
fn a_number_with_two_forms_is_read_in_that_of_its_walk() {
    fn comes_back<L: LeafType, T>(by: &Flattener, numbers: Vec<T>)
    where
        T: Serialize + DeserializeOwned + PartialEq + Debug + Clone,
    {
        let (leaves, treedef) = by.flatten(&numbers).unwrap();
        assert_eq!(treedef::unflatten::<Vec<T>>(&treedef, &leaves).unwrap(), numbers);
        let (typed, treedef) = by.flatten_as::<L>(&numbers).unwrap();
        assert_eq!(treedef::unflatten::<Vec<T>>(&treedef, &typed).unwrap(), numbers);
        let (arrays, treedef) = by.clone().arrays(true).flatten(&numbers).unwrap();
        assert_eq!(treedef::unflatten::<Vec<T>>(&treedef, arrays).unwrap(), numbers);
        #[cfg(feature = "in_place")]
        {
            let mut first = numbers[..1].to_vec();
            let (_, treedef) = by.flatten(&numbers).unwrap();
            treedef::unflatten_into(&mut first, &treedef, typed).unwrap();
            assert_eq!(first, numbers);
        }
    }
    for by in [Flattener::new(), Flattener::new().compact(true)] {
        comes_back::<f64, _>(&by, [1.5, 2.5, 3.5].map(Double).to_vec());
        comes_back::<f32, _>(&by, [1.5, 2.5, 3.5].map(Single).to_vec());
        comes_back::<i32, _>(&by, [1, 2, 3].map(Integer).to_vec());
    }
}
