//! Parts of the library that are tested alone, because few values of users reach all of their cases.

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use treedef::__private::{edits, is_json, is_one_ron, key_form};
use treedef::{Flattener, Key, Path, TreeDef, Value};

use crate::data::Data;

/// Two numbers, and whether they were asked for by their positions.
#[derive(Debug, PartialEq)]
struct Pair(f64, f64, bool);

impl<'de> Deserialize<'de> for Pair {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairVisitor;

        impl<'de> Visitor<'de> for PairVisitor {
            type Value = Pair;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("two numbers")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Pair, A::Error> {
                let mut next = || seq.next_element()?.ok_or_else(|| A::Error::custom("too few"));
                Ok(Pair(next()?, next()?, true))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pair, A::Error> {
                let mut next = || Ok(map.next_entry::<IgnoredAny, f64>()?.map_or(0.0, |(_, x)| x));
                Ok(Pair(next()?, next()?, false))
            }
        }

        deserializer.deserialize_struct("Pair", &["x", "y"], PairVisitor)
    }
}

#[test]
fn structs_of_numbers_are_read_by_position() {
    let read = |text: &str| {
        let treedef: TreeDef = text.parse().unwrap();
        treedef::unflatten::<Pair>(&treedef, [1.0, 2.0]).unwrap()
    };
    assert_eq!(read("Pair { x: *, y: * }"), Pair(1.0, 2.0, true));
    // In another order they have to be named.
    assert_eq!(read("Pair { y: *, x: * }"), Pair(1.0, 2.0, false));
}

#[test]
fn texts_are_sorted_by_their_bytes_and_equal_ones_stay_in_order() {
    let endings = ["", "b", "a", "\0", "a\0", "ä", "12345678", "123456789", "12345678\0", "a"];
    for start in ["", "in common: ", "in"] {
        let texts = endings.map(|ending| format!("{start}{ending}"));
        let mut expected: Vec<usize> = (0..texts.len()).collect();
        expected.sort_by_key(|&position| &texts[position]);
        let entries = texts.iter().enumerate();
        let entry = |(at, text): (usize, &String)| (Data::Str(text.clone()), Data::U64(at as u64));
        let (leaves, _) =
            Flattener::new().flatten(&Data::Map(entries.map(entry).collect())).unwrap();
        let sorted: Vec<usize> =
            leaves.iter().map(|leaf| leaf.as_u64().unwrap() as usize).collect();
        assert_eq!(sorted, expected, "{start:?}");
    }
}

#[test]
fn keys_of_one_value_have_one_form() {
    let same = [
        "200u8 200i64 200u128 Some(200u16) Meters(200u64)",
        "-1i8 -1i128",
        "18446744073709551616i128 18446744073709551616u128",
        "340282366920938463463374607431768211455u128",
        "1.0 1.0f32",
        "0.1 0.1f32",
        "0.0 0.0f32",
        "-0.0 -0.0f32",
        "nan(0x7ff8000000000000) nan(0x7fc00000)f32 nan(0xfff8000000000000)",
        "inf inff32",
        "'a' \"a\" E::a Id(\"a\")",
        "true Some(true)",
        "b\"a\"",
        "() None Marker null Some(None)",
        "[1u8,2u8] [1i64,2i64] (1u16,2u16) P(1u8,2u8)",
        "[] P() (,)",
        "[(),None] [None,None]",
        "{\"a\":1u8} Q{a:1} E::a(1u8) Some({'a':1u64})",
        "{\"E\":[1]} T::E(1,)",
        "{\"E\":{\"x\":1u8,\"y\":2}} T::E{y:2,x:1}",
        "{1u8:2,\"x\":()} {'x':None,1:2u8}",
        "\"200\"",
        "\"1.0\"",
        "\"true\"",
        "\"null\"",
        "[\"1\",2]",
    ];
    let values =
        |line: &str| -> Vec<Value> { line.split(' ').map(|text| text.parse().unwrap()).collect() };
    for (at, line) in same.iter().enumerate() {
        for (other, there) in same.iter().enumerate() {
            for (a, b) in values(line).iter().zip(values(there).iter().cycle()) {
                let treedef: TreeDef = format!("{{{a}: *}}").parse().unwrap();
                let found = treedef.node(Path::root().child(Key::Entry(b.clone())));
                assert_eq!(found.is_ok(), at == other, "{a} and {b}");
            }
        }
        for value in values(line) {
            let form = key_form(&value);
            assert_eq!(key_form(&form), form, "{value}");
        }
    }
}

#[test]
fn edits_are_counted() {
    let cases = [
        ("", "", 0),
        ("", "abc", 3),
        ("weight", "weight", 0),
        ("weight", "wieght", 1),
        ("weigth", "weights", 2),
        ("kitten", "sitting", 3),
        ("größe", "grosse", 3),
        ("ab", "ba", 1),
        ("abcd", "badc", 2),
    ];
    for (from, to, count) in cases {
        assert_eq!((edits(from, to), edits(to, from)), (count, count), "{from} {to}");
    }
}

#[test]
fn a_text_of_json_is_one_value_and_nothing_else() {
    for text in ["1", " [1, {\"a\": [], \"\\u00e9\\n\": {}}] ", "-0.5e+3", "\"x\"", "null", "[[]]"]
    {
        assert!(is_json(text), "{text}");
    }
    for text in [
        "",
        " ",
        "\"x\", \"admin\": true",
        "1 2",
        "[1",
        "1]",
        "{\"a\" 1}",
        "{1: 2}",
        "[1,]",
        "01",
        "1.",
        "+1",
        "1ee3",
        "\"\n\"",
        "\"\\x\"",
        "\"\\u12\"",
        "nul",
        "x",
        "{\"a\": 1,}",
        "// 1\n1",
        "-",
        "[,]",
        "}",
        "\"x",
    ] {
        assert!(!is_json(text), "{text}");
    }
}

/// The texts of a few characters that serde_json accepts.
#[test]
fn it_is_what_serde_json_reads() {
    let all = b"[]{}\",:1-0e. nul\\t";
    let mut rng = fastrand::Rng::with_seed(5);
    let mut read = 0;
    for _ in 0..200_000 {
        let text: Vec<u8> = (0..rng.usize(1..9)).map(|_| all[rng.usize(..all.len())]).collect();
        let text = String::from_utf8_lossy(&text);
        let expected = serde_json::from_str::<IgnoredAny>(&text).is_ok();
        assert_eq!(is_json(&text), expected, "{text}");
        read += usize::from(expected);
    }
    assert!(read > 1_000, "{read}");
}

#[test]
fn a_text_of_ron_is_closed() {
    for text in [
        "Some(  (1, 'x'))",
        "{\"a\": [1, '\\'', ')']}",
        "1e400",
        " -0x1F ",
        "A (b: \"\\\"]\", c: b\"x\")",
        "b\"x\"",
        "()",
    ] {
        assert!(is_one_ron(text), "{text}");
    }
    for text in [
        "",
        "1, 2",
        "a: 1",
        "(1",
        "1)",
        "(1]",
        "\"x",
        "'",
        "1 // x",
        "r#\"x\"#",
        "r\"\\\", (1\"",
        "1), (2",
        "1 2",
        "() Evil(x: 3)",
        "[1, 2] [3]",
        "A(1)(2)",
        "A [1]",
        "\"a\" \"b\"",
        "\"a\"b",
        "(1)b",
        "!",
        "=",
    ] {
        assert!(!is_one_ron(text), "{text}");
    }
}
