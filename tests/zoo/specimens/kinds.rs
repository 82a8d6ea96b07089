//! The 29 kinds of the data model, with the extreme values of each.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

use serde_bytes::{ByteArray, ByteBuf};

use super::{Specimen, specimens, types};

// Scalars of every width.
types! {
    struct Signed { a: i8, b: i16, c: i32, d: i64, e: i128, f: isize }
    struct Unsigned { a: u8, b: u16, c: u32, d: u64, e: u128, f: usize }
    struct Others { yes: bool, no: bool, single: f32, double: f64, char: char, text: String }
    struct Wide(i128, u128);
    struct Chars([char; 6]);
}

/// Floats that compare by their bits, as leaves do.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct Single(f32);

#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct Double(f64);

impl PartialEq for Single {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl PartialEq for Double {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

// Strings and bytes in their owners.
types! {
    struct Texts {
        string: String,
        boxed: Box<str>,
        cow: Cow<'static, str>,
        rc: Rc<str>,
        arc: Arc<str>,
    }
    struct ByteStrings {
        buffer: ByteBuf,
        array: ByteArray<4>,
        #[serde(with = "serde_bytes")]
        vec: Vec<u8>,
        #[serde(with = "serde_bytes")]
        boxed: Box<[u8]>,
        #[serde(with = "serde_bytes")]
        option: Option<Vec<u8>>,
        plain: Vec<u8>,
    }
    /// Written as a sequence of `u8`, read as bytes.
    struct LateBytes(#[serde(deserialize_with = "serde_bytes::deserialize")] Vec<u8>);
    struct Shared { a: Arc<Meters>, b: Arc<Meters>, c: Rc<[u8]>, d: Box<[Meters]> }
}

// Units, unit structs, PhantomData.
types! {
    struct Unit;
    struct NoFields {}
    struct NoPositions();
    struct Units { a: (), b: Unit, c: NoFields, d: NoPositions, e: PhantomData<u8> }
    struct Tagged<T> { marker: PhantomData<T>, value: u8 }
}

// Newtypes around every kind.
types! {
    struct Meters(f64);
    struct Nested(Inner);
    struct Inner(Meters);
    struct OfUnit(());
    struct OfUnitStruct(Unit);
    struct OfOption(Option<u8>);
    struct OfSeq(Vec<u8>);
    struct OfTuple((u8, char));
    struct OfOneTuple((u8,));
    struct OfBool(bool);
    struct OfString(String);
    struct OfBytes(ByteBuf);
}

// Options, around values that other formats lose.
types! {
    struct Options {
        none: Option<u8>,
        some: Option<u8>,
        none_unit: Option<()>,
        some_unit: Option<()>,
        none_marker: Option<Unit>,
        some_marker: Option<Unit>,
        newtype: Option<OfOption>,
        list: Option<Vec<Option<u8>>>,
    }
}

// Tuple structs.
types! {
    struct One(#[serde(skip)] u8, u8);
    struct Two(u8, String);
    struct Rgb(u8, u8, u8);
    struct Mixed(u8, (), Option<u8>, Rgb, Meters, Vec<Rgb>, Unit, [Two; 2]);
    struct Deep(Two, Two, Two, Rgb);
}

// Structs.
types! {
    struct Point { x: f64, y: f64 }
    struct Line { from: Point, to: Point, colour: Rgb }
    struct Box1 { only: u8 }
}

fn singles() -> Vec<Single> {
    let bits = [0x7fc0_0000, 0x7f80_0001, 0xffc1_2345, 0x8000_0000, 1, 0x007f_ffff, 0x7f7f_ffff];
    let infinite = [f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE, 0.1, 1e-40, 1e30];
    bits.into_iter().map(f32::from_bits).chain(infinite).map(Single).collect()
}

fn doubles() -> Vec<Double> {
    let bits = [0x7ff8_0000_0000_0001, 0x7ff0_0000_0000_0001, 0xfff8_1234_5678_9abc, 1 << 63, 1];
    let infinite = [f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, f64::MAX, 0.1, 1e-310];
    bits.into_iter().map(f64::from_bits).chain(infinite).map(Double).collect()
}

fn two(text: &str) -> Two {
    Two(1, text.to_owned())
}

pub(super) fn specimens() -> Vec<Specimen> {
    specimens! {
        "bool" => true,
        "i8" => i8::MIN,
        "i16" => i16::MIN,
        "i32" => i32::MIN,
        "i64" => i64::MIN,
        "i128" => i128::MIN,
        "u8" => u8::MAX,
        "u16" => u16::MAX,
        "u32" => u32::MAX,
        "u64" => u64::MAX,
        "u128" => u128::MAX,
        "usize" => usize::MAX,
        "f32" => 1.5f32,
        "f64" => -2.5,
        "f32 nan" => Single(f32::from_bits(0x7fa0_0001)),
        "f64 nan" => Double(f64::from_bits(0xfff0_0000_0000_0001)),
        "f32 -0.0" => Single(-0.0),
        "f32 bits" => singles(),
        "f64 bits" => doubles(),
        "signed" => Signed { a: -1, b: -300, c: 70_000, d: i64::MAX, e: i128::MAX, f: -1 },
        "signed zeros" => Signed { a: 0, b: 0, c: 0, d: 0, e: 0, f: 0 },
        "unsigned" => Unsigned { a: 1, b: 300, c: 70_000, d: u64::MAX, e: u128::MAX, f: 1 },
        "other scalars" => Others {
            yes: true, no: false, single: 0.1, double: 0.1, char: 'é', text: "\u{1f600}".to_owned(),
        },
        "wide" => Wide(-1, 1),
        "char" => '\u{10ffff}',
        "chars" => Chars(['\0', '\'', '"', '\\', '\n', '\u{301}']),
        "str" => "two\nlines\t\"quoted\" \\ \0 \u{7f}".to_owned(),
        "empty str" => String::new(),
        "boxed str" => Box::<str>::from("boxed"),
        "texts" => Texts {
            string: "a".to_owned(), boxed: "".into(), cow: "c".into(), rc: "d".into(), arc: "e".into(),
        },
        "bytes" => ByteBuf::from(*b"\0\xff\"\\ a"),
        "empty bytes" => ByteBuf::new(),
        "byte strings" => ByteStrings {
            buffer: ByteBuf::from([1, 2]), array: ByteArray::new([3, 4, 5, 6]), vec: vec![7],
            boxed: Box::new([]), option: Some(vec![8]), plain: vec![9, 9],
        },
        "byte strings without option" => ByteStrings {
            buffer: ByteBuf::new(), array: ByteArray::new([0; 4]), vec: vec![], boxed: Box::new([1]),
            option: None, plain: vec![],
        },
        "late bytes" => LateBytes(vec![1, 2, 3]),
        "empty late bytes" => LateBytes(vec![]),
        "shared" => {
            let meters = Arc::new(Meters(1.0));
            Shared { a: meters.clone(), b: meters, c: [1, 2].into(), d: [Meters(2.0)].into() }
        },
        "unit" => (),
        "unit struct" => Unit,
        "struct without fields" => NoFields {},
        "tuple struct without fields" => NoPositions(),
        "phantom" => PhantomData::<u8>,
        "units" => Units { a: (), b: Unit, c: NoFields {}, d: NoPositions(), e: PhantomData },
        "phantom beside a value" => Tagged::<Vec<u8>> { marker: PhantomData, value: 1 },
        "newtype" => Meters(1.5),
        "newtypes in newtypes" => Nested(Inner(Meters(1.0))),
        "newtype of unit" => OfUnit(()),
        "newtype of unit struct" => OfUnitStruct(Unit),
        "newtype of none" => OfOption(None),
        "newtype of some" => OfOption(Some(1)),
        "newtype of seq" => OfSeq(vec![1, 2]),
        "newtype of tuple" => OfTuple((1, 'a')),
        "newtype of tuple of one" => OfOneTuple((1,)),
        "newtype of bool" => OfBool(false),
        "newtype of string" => OfString("a".to_owned()),
        "newtype of bytes" => OfBytes(ByteBuf::from([0])),
        "none" => None::<u8>,
        "some" => Some(1u8),
        "some none" => Some(None::<u8>),
        "some some" => Some(Some(1u8)),
        "some some none" => Some(Some(None::<u8>)),
        "some unit" => Some(()),
        "some none unit" => Some(None::<()>),
        "some unit struct" => Some(Unit),
        "none unit struct" => None::<Unit>,
        "some newtype of none" => Some(OfOption(None)),
        "some newtype of unit" => Some(OfUnit(())),
        "options" => Options {
            none: None, some: Some(1), none_unit: None, some_unit: Some(()), none_marker: None,
            some_marker: Some(Unit), newtype: Some(OfOption(None)), list: Some(vec![None, Some(1)]),
        },
        "no options" => Options {
            none: Some(0), some: None, none_unit: Some(()), some_unit: None, none_marker: Some(Unit),
            some_marker: None, newtype: None, list: None,
        },
        "tuple struct of one" => One(0, 1),
        "tuple struct of two" => two("a"),
        "tuple struct of three" => Rgb(1, 2, 3),
        "tuple struct of many" => Mixed(
            1, (), None, Rgb(1, 2, 3), Meters(1.0), vec![Rgb(4, 5, 6); 3], Unit, [two("a"), two("b")],
        ),
        "tuple struct with a run" => Deep(two("a"), two("b"), two("c"), Rgb(1, 2, 3)),
        "struct" => Point { x: 1.0, y: -0.0 },
        "structs in struct" => Line {
            from: Point { x: 0.0, y: 1.0 }, to: Point { x: 2.0, y: 3.0 }, colour: Rgb(1, 2, 3),
        },
        "struct of one field" => Box1 { only: 1 },
    }
}
