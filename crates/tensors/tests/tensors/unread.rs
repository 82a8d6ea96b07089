//! Every number of every tensor is in the value, or its tensor is named as unused.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::fmt::{self, Debug};

use fastrand::Rng;
use insta::assert_snapshot;
use ndarray::Array2;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use treedef_tensors::{Dtype, Loader, Tensor, Tensors, flax, npy, npz, safetensors};

/// All fields may be missing, so only the count of numbers shows that one was not read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Layer {
    w: Vec<f32>,
    b: Option<f32>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Model<T> {
    layers: T,
}

fn f32s(shape: &[usize]) -> Tensor<'static> {
    let bytes = (0..shape.iter().product()).flat_map(|number: usize| (number as f32).to_le_bytes());
    Tensor::new(Dtype::F32, shape.to_vec(), bytes.collect::<Vec<u8>>()).unwrap()
}

/// The report about one tensor `layers`, which is the same for all formats.
fn refusal<T: Serialize + DeserializeOwned + Debug>(shape: &[usize]) -> String {
    let tensors = Tensors::new([("layers".to_owned(), f32s(shape))]).unwrap();
    let error = tensors.load::<Model<T>>().unwrap_err().to_string();
    if let Ok((value, report)) = Loader::new().load_partial::<Model<T>>(&tensors) {
        assert!(!report.is_exact() && !report.dropped.is_empty(), "{value:?}");
    }
    let bytes = safetensors::to_bytes(&tensors).unwrap();
    assert_eq!(
        safetensors::from_bytes(&bytes)
            .and_then(|it| it.load::<Model<T>>())
            .unwrap_err()
            .to_string(),
        error
    );
    let bytes = npz::to_bytes(&tensors).unwrap();
    assert_eq!(
        npz::from_bytes(&bytes).and_then(|it| it.load::<Model<T>>()).unwrap_err().to_string(),
        error
    );
    let bytes = flax::to_bytes(&tensors).unwrap();
    assert_eq!(
        flax::from_bytes(&bytes)
            .and_then(|it| Loader::new().separator("/").load::<Model<T>>(&it))
            .unwrap_err()
            .to_string(),
        error
    );
    npy::from_bytes(&npy::to_bytes(&f32s(shape)).unwrap())
        .and_then(|it| it.load::<T>())
        .unwrap_err();
    error.replace("the tensors do not fit the type\n", "")
}

#[test]
fn numbers_where_a_type_has_none_are_named() {
    const NONE: &str = "unused `layers`: f32[3, 2], of which the type reads no number (`Loader::ignore` leaves it out)";
    assert_eq!(refusal::<Vec<Layer>>(&[3, 2]), NONE);
    assert_eq!(refusal::<[Layer; 3]>(&[3, 2]), NONE);
    assert_eq!(refusal::<Vec<()>>(&[3, 2]), NONE);
    assert_eq!(refusal::<Vec<Option<Layer>>>(&[3, 2]), NONE);
    assert_eq!(refusal::<Option<Vec<Layer>>>(&[3, 2]), NONE);
    assert_eq!(refusal::<Vec<Vec<Layer>>>(&[3, 2]), NONE);
    assert_eq!(refusal::<(Layer, (), Layer)>(&[3, 2]), NONE);
    assert_snapshot!(refusal::<Layer>(&[3]), @"unused `layers`: f32[3]");
    assert_snapshot!(refusal::<()>(&[3]), @"unused `layers`: f32[3]");
    assert_snapshot!(refusal::<Vec<Layer>>(&[]), @"`layers` is f32[], expected a sequence");
    assert_snapshot!(refusal::<[Layer; 2]>(&[3, 2]), @"`layers` is f32[3, 2], expected a sequence of 2");
    assert_snapshot!(refusal::<[f32; 0]>(&[3]), @"`layers` is f32[3], expected a sequence of 0");
    assert_snapshot!(refusal::<Vec<(f32, ())>>(&[3, 2]), @"unused `layers`: f32[3, 2], of which the type does not read 3 of 6 numbers");
    assert_snapshot!(refusal::<Vec<(f32, Layer)>>(&[3, 2]), @"unused `layers`: f32[3, 2], of which the type does not read 3 of 6 numbers");
    assert_snapshot!(refusal::<Array2<()>>(&[3, 2]), @"unused `layers`: f32[3, 2], of which the type reads no number (`Loader::ignore` leaves it out)");
}

/// An absent sequence is missing, also if one of its elements could be made of defaults.
#[test]
fn sequences_are_not_made_of_nothing() {
    let none = Tensors::default();
    let refused = |error: treedef_tensors::Error| error.to_string();
    assert_snapshot!(refused(none.load::<Model<Vec<Layer>>>().unwrap_err()), @"
    the tensors do not fit the type
    missing `layers`: a sequence
    ");
    assert_snapshot!(refused(none.load::<Model<Vec<Vec<Option<f32>>>>>().unwrap_err()), @"
    the tensors do not fit the type
    missing `layers`: a sequence
    ");
    // These need no tensor.
    let value = Model { layers: [None::<f32>; 2] };
    assert_eq!(none.load::<Model<[Option<f32>; 2]>>().unwrap(), value);
    assert_eq!(none.load::<Model<(Layer, ())>>().unwrap().layers, (Layer::default(), ()));
    let named = Tensors::new([("layers.x.w".to_owned(), f32s(&[1]))]).unwrap();
    assert_snapshot!(refused(Loader::new().load_partial::<Model<Vec<Layer>>>(&named).unwrap_err()), @"
    the tensors do not fit the type
    missing `layers`: a sequence
    unused `layers.x.w`: f32[1]
    ");
}

#[test]
fn buffered_tensors_have_the_shape_of_the_value() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Matrix {
        shape: Vec<u32>,
        data: Vec<u32>,
    }
    #[derive(Debug, Serialize, Deserialize)]
    struct Outer {
        #[serde(flatten)]
        inner: Model<Matrix>,
    }
    // In a buffer the two rows look like the two fields.
    let bytes: Vec<u8> = [1u32, 2, 3, 4].iter().flat_map(|number| number.to_le_bytes()).collect();
    let tensor = Tensor::new(Dtype::U32, vec![2, 2], bytes).unwrap();
    let tensors = Tensors::new([("layers".to_owned(), tensor)]).unwrap();
    assert_snapshot!(tensors.load::<Outer>().unwrap_err(), @"
    the tensors do not fit the type
    `layers` is u32[2, 2], expected u32[1, 2]
    ");
}

/// The requests of a type, chosen at random.
#[derive(Clone, Debug)]
enum Ask {
    F32,
    U32,
    U8,
    Unit,
    Ignored,
    Bytes,
    Option(Box<Ask>),
    Newtype(Box<Ask>),
    Seq(Box<Ask>),
    /// Only this number of elements is requested.
    First(usize, Box<Ask>),
    Tuple(Vec<Ask>),
    /// Fields that may all be missing.
    Struct(&'static [&'static str], Vec<Ask>),
    Map(Box<Ask>),
    /// Numbers with a shape, whose length is known or not.
    Array(Option<usize>, Box<Ask>),
    Buffered,
}

const FIELDS: [&[&str]; 5] =
    [&["a"], &["a", "b"], &["b", "w", "0"], &["w", "data"], &["a", "b", "w", "0", "1"]];
const ARRAY: &[&str] = &["shape", "data"];

fn ask(rng: &mut Rng, depth: usize) -> Ask {
    let inside = |rng: &mut Rng| Box::new(ask(rng, depth - 1));
    match if depth == 0 { rng.u8(0..6) } else { rng.u8(0..22) } {
        0..=2 => Ask::F32,
        3 => Ask::U32,
        4 => [Ask::U8, Ask::Unit][rng.usize(0..2)].clone(),
        5 => [Ask::Ignored, Ask::Bytes, Ask::Buffered][rng.usize(0..3)].clone(),
        6 => Ask::Option(inside(rng)),
        7 => Ask::Newtype(inside(rng)),
        8..=11 => Ask::Seq(inside(rng)),
        12 => Ask::First(rng.usize(0..3), inside(rng)),
        13 | 14 => Ask::Tuple((0..rng.usize(0..4)).map(|_| ask(rng, depth - 1)).collect()),
        15..=18 => {
            let fields = FIELDS[rng.usize(0..FIELDS.len())];
            Ask::Struct(fields, fields.iter().map(|_| ask(rng, depth - 1)).collect())
        }
        19 => Ask::Map(inside(rng)),
        _ => Ask::Array([None, Some(1), Some(2)][rng.usize(0..3)], inside(rng)),
    }
}

/// Reads the requested values, and returns all their numbers.
struct Seed<'a>(&'a Ask);

/// The numbers of an array. They follow the shape, whose numbers do not belong to the tensor.
struct Shape(Option<usize>);

impl<'de> DeserializeSeed<'de> for Shape {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.0 {
            None => Vec::<u64>::deserialize(deserializer).map(drop),
            Some(length) => deserializer.deserialize_tuple(length, Ignoring),
        }
    }
}

struct Ignoring;

impl<'de> Visitor<'de> for Ignoring {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element::<u64>()?.is_some() {}
        Ok(())
    }
}

type Numbers = Vec<u32>;

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Numbers;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Numbers, D::Error> {
        let ask = self.0;
        match ask {
            Ask::F32 => deserializer.deserialize_f32(self),
            Ask::U32 => deserializer.deserialize_u32(self),
            Ask::U8 => deserializer.deserialize_u8(self),
            Ask::Unit => deserializer.deserialize_unit(self),
            Ask::Ignored => IgnoredAny::deserialize(deserializer).map(|_| Vec::new()),
            Ask::Bytes => deserializer.deserialize_bytes(self),
            Ask::Option(_) => deserializer.deserialize_option(self),
            Ask::Newtype(_) => deserializer.deserialize_newtype_struct("N", self),
            Ask::Seq(_) | Ask::First(..) => deserializer.deserialize_seq(self),
            Ask::Tuple(all) => deserializer.deserialize_tuple(all.len(), self),
            Ask::Struct(fields, _) => deserializer.deserialize_struct("S", fields, self),
            Ask::Map(_) => deserializer.deserialize_map(self),
            Ask::Array(..) => deserializer.deserialize_struct("A", ARRAY, self),
            Ask::Buffered => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Numbers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
    fn visit_f32<E>(self, number: f32) -> Result<Numbers, E> {
        Ok(vec![number as u32])
    }
    fn visit_u32<E>(self, number: u32) -> Result<Numbers, E> {
        Ok(vec![number])
    }
    fn visit_u8<E>(self, number: u8) -> Result<Numbers, E> {
        Ok(vec![number.into()])
    }
    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Numbers, E> {
        Ok(bytes.iter().map(|byte| u32::from(*byte)).collect())
    }
    fn visit_unit<E>(self) -> Result<Numbers, E> {
        Ok(Vec::new())
    }
    fn visit_none<E>(self) -> Result<Numbers, E> {
        Ok(Vec::new())
    }
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Numbers, D::Error> {
        self.inside().deserialize(deserializer)
    }
    fn visit_newtype_struct<D: Deserializer<'de>>(self, inside: D) -> Result<Numbers, D::Error> {
        self.inside().deserialize(inside)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Numbers, A::Error> {
        let mut numbers = Vec::new();
        for index in 0.. {
            let element = match self.0 {
                Ask::Seq(element) => element,
                Ask::First(length, element) if index < *length => element,
                Ask::Tuple(all) if index < all.len() => &all[index],
                Ask::Buffered => &Ask::Buffered,
                _ => break,
            };
            match seq.next_element_seed(Seed(element))? {
                Some(found) => numbers.extend(found),
                None if matches!(self.0, Ask::Tuple(_)) => {
                    return Err(A::Error::invalid_length(index, &self));
                }
                None => break,
            }
        }
        Ok(numbers)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Numbers, A::Error> {
        let mut numbers = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            match self.0 {
                Ask::Struct(fields, asks) => match fields.iter().position(|field| *field == key) {
                    Some(at) => numbers.extend(map.next_value_seed(Seed(&asks[at]))?),
                    None => drop(map.next_value::<IgnoredAny>()?),
                },
                Ask::Array(length, _) if key == "shape" => map.next_value_seed(Shape(*length))?,
                Ask::Array(_, element) => {
                    numbers.extend(map.next_value_seed(Seed(&Ask::Seq(element.clone())))?);
                }
                Ask::Map(inside) => numbers.extend(map.next_value_seed(Seed(inside))?),
                _ => numbers.extend(map.next_value_seed(Seed(&Ask::Buffered))?),
            }
        }
        Ok(numbers)
    }
}

impl Seed<'_> {
    fn inside(&self) -> Self {
        match self.0 {
            Ask::Option(inside) | Ask::Newtype(inside) => Seed(inside),
            other => Seed(other),
        }
    }
}

thread_local! {
    static ASK: RefCell<Ask> = const { RefCell::new(Ask::Unit) };
}

/// A value of a type that is chosen at random.
#[derive(Debug)]
struct Random(Numbers);

impl<'de> Deserialize<'de> for Random {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ask = ASK.with_borrow(Ask::clone);
        Seed(&ask).deserialize(deserializer).map(Random)
    }
}

/// It is serialized to find the numbers that a buffer had, and shows none of them.
impl Serialize for Random {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

/// Tensors whose numbers are all different.
fn random_tensors(rng: &mut Rng) -> (Tensors<'static>, BTreeMap<String, Vec<u32>>) {
    const PARTS: [&str; 6] = ["a", "b", "w", "0", "1", "data"];
    let (mut next, mut all) = (1u32, BTreeMap::new());
    let mut tensors: Vec<(String, Tensor<'static>)> = Vec::new();
    for _ in 0..rng.usize(1..5) {
        let parts: Vec<&str> = (0..rng.usize(0..4)).map(|_| PARTS[rng.usize(0..6)]).collect();
        let name = parts.join("/");
        let clashes = |other: &String| {
            let below = |a: &str, b: &str| b.is_empty() || a.starts_with(&format!("{b}/"));
            *other == name || below(other, &name) || below(&name, other)
        };
        if all.keys().any(clashes) {
            continue; // flax has no such maps
        }
        let shape: Vec<usize> = (0..rng.usize(0..4)).map(|_| rng.usize(0..4)).collect();
        let numbers: Vec<u32> = (next..).take(shape.iter().product()).collect();
        next += numbers.len() as u32;
        let (dtype, bytes): (_, Vec<u8>) = match rng.u8(0..4) {
            0 => (Dtype::U32, numbers.iter().flat_map(|number| number.to_le_bytes()).collect()),
            1 => (Dtype::U8, numbers.iter().map(|number| *number as u8).collect()),
            _ => (Dtype::F32, numbers.iter().flat_map(|n| (*n as f32).to_le_bytes()).collect()),
        };
        tensors.push((name.clone(), Tensor::new(dtype, shape, bytes).unwrap()));
        all.insert(name, numbers);
    }
    (Tensors::new(tensors).unwrap(), all)
}

#[test]
fn every_number_is_in_the_value_or_its_tensor_is_named() {
    let mut rng = Rng::with_seed(33);
    let (mut exact, mut partial) = (0, 0);
    for case in 0..20_000 {
        let (tensors, all) = random_tensors(&mut rng);
        ASK.set(ask(&mut rng, 4));
        let mut loader = Loader::new().separator("/");
        if case % 4 == 0 {
            loader = loader.stack(["", "[*]", "a[*]", "**"][rng.usize(0..4)]);
        }
        let file = match case % 3 {
            0 => safetensors::to_bytes(&tensors).unwrap(),
            1 => npz::to_bytes(&tensors).unwrap(),
            _ => flax::to_bytes(&tensors).unwrap(),
        };
        let tensors = match case % 3 {
            0 => safetensors::from_bytes(&file).unwrap().read().unwrap(),
            1 => npz::from_bytes(&file).unwrap().read().unwrap(),
            _ => flax::from_bytes(&file).unwrap(),
        };
        let Ok((Random(numbers), report)) = loader.load_partial::<Random>(&tensors) else {
            assert!(loader.load::<Random>(&tensors).is_err());
            continue;
        };
        let found: HashSet<u32> = numbers.iter().copied().collect();
        let named: HashSet<&String> = report.dropped.iter().map(|(name, _)| name).collect();
        for (name, expected) in &all {
            let has_all = expected.iter().all(|number| found.contains(number));
            let text = || ASK.with_borrow(|ask| format!("{name} of {tensors:?}: {ask:?}"));
            assert!(has_all || named.contains(name), "{} gave {numbers:?}, {report}", text());
            // A tensor with all its numbers in the value is not listed.
            let is_buffered = || text().contains("Buffered");
            assert!(
                !named.contains(name) || !has_all || expected.is_empty() || is_buffered(),
                "{} gave {numbers:?}, {report}",
                text()
            );
        }
        assert_eq!(loader.load::<Random>(&tensors).is_ok(), report.is_exact());
        *(if report.is_exact() { &mut exact } else { &mut partial }) += 1;
    }
    assert!(exact > 300 && partial > 3_000, "{exact} {partial}");
}

/// A stacked tensor is read slice by slice.
#[test]
fn slices_that_are_not_read_are_named() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Block<T> {
        heads: T,
    }
    let tensors = Tensors::new([("heads".to_owned(), f32s(&[3, 2]))]).unwrap();
    let loader = Loader::new().stack("[*].heads");
    let values: Vec<Block<[f32; 2]>> = loader.load(&tensors).unwrap();
    assert_eq!(values[2].heads, [4.0, 5.0]);
    assert_snapshot!(loader.load::<Vec<Block<(f32, Layer)>>>(&tensors).unwrap_err(), @"
    the tensors do not fit the type
    unused `heads`: f32[3, 2], of which the type does not read 3 of 6 numbers
    ");
    assert_snapshot!(loader.load::<Vec<Block<Vec<Layer>>>>(&tensors).unwrap_err(), @"
    the tensors do not fit the type
    unused `heads`: f32[3, 2], of which the type reads no number (`Loader::ignore` leaves it out)
    ");
}

/// A number for a type that requests something else first, and accepts the result.
#[derive(Debug, PartialEq, Serialize)]
struct Lenient(f32);

impl<'de> Deserialize<'de> for Lenient {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Any {
            Number(f32),
            Other(IgnoredAny),
        }
        Ok(match Any::deserialize(deserializer) {
            Ok(Any::Number(number)) => Lenient(number),
            Ok(Any::Other(_)) | Err(_) => Lenient(-1.0),
        })
    }
}

/// Reads numbers alternately as such, by a seed, and as a type that resembles a number; optionally only
/// some of them.
#[derive(Debug, PartialEq)]
struct ByTurns<const MOST: usize>(Vec<f32>);

impl<const MOST: usize> Serialize for ByTurns<MOST> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, const MOST: usize> Deserialize<'de> for ByTurns<MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Turns<const MOST: usize>;

        impl<'de, const MOST: usize> Visitor<'de> for Turns<MOST> {
            type Value = ByTurns<MOST>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("numbers")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let (length, mut numbers) = (seq.size_hint().unwrap(), Vec::new());
                while numbers.len() < MOST {
                    let next = match numbers.len() % 7 {
                        2 => seq.next_element_seed(std::marker::PhantomData::<f32>)?,
                        5 => seq.next_element::<Lenient>()?.map(|Lenient(number)| number),
                        _ => seq.next_element()?,
                    };
                    let Some(next) = next else { break };
                    numbers.push(next);
                    assert_eq!(seq.size_hint(), Some(length - numbers.len()));
                }
                Ok(ByTurns(numbers))
            }
        }

        deserializer.deserialize_seq(Turns::<MOST>)
    }
}

/// Several numbers are copied at once, but only the numbers that the type reads count.
#[test]
fn numbers_are_read_one_by_one_however_they_are_asked_for() {
    const LENGTH: usize = 1_000;
    let numbers: Vec<f32> = (0..LENGTH).map(|number| number as f32).collect();
    let tensors = Tensors::new([("layers".to_owned(), f32s(&[LENGTH]))]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("numbers.safetensors");
    safetensors::save(&tensors, &file).unwrap();
    let source = safetensors::open(&file).unwrap();
    macro_rules! loaded {
        ($type:ty) => {{
            let of_file = source.load::<Model<$type>>().map_err(|error| error.to_string());
            let value = tensors.load::<Model<$type>>().map_err(|error| error.to_string());
            assert_eq!(value, of_file);
            value.map(|model| model.layers)
        }};
    }
    assert_eq!(loaded!(Vec<f32>).unwrap(), numbers);
    assert_eq!(
        loaded!(Vec<Lenient>).unwrap(),
        numbers.iter().map(|it| Lenient(*it)).collect::<Vec<_>>()
    );
    assert_eq!(loaded!(ByTurns<LENGTH>).unwrap().0, numbers);
    let what = |error: String| error.replace("the tensors do not fit the type\n", "");
    assert_snapshot!(what(loaded!(ByTurns<100>).unwrap_err()), @"`layers` is f32[1000], expected f32[100]");
    assert_snapshot!(what(loaded!(Vec<[f32; 1]>).unwrap_err()), @"`layers` is f32[1000], expected f32[1000, 1]");
    assert_snapshot!(what(loaded!(Vec<f64>).unwrap_err()), @"`layers` is f32[1000], expected f64[1000] (see `Loader::convert_floats`)");
    assert_snapshot!(what(loaded!(Vec<u32>).unwrap_err()), @"`layers` is f32[1000], expected u32[1000]");
}
