//! Names that text has to quote, and lines that do not fit.

use std::collections::BTreeMap;

use super::{Specimen, key_types, specimens, types};

// Words of the grammar and primitive types.
types! {
    struct Words { r#static: u8, #[serde(rename = "None")] none: u8, #[serde(rename = "Some")] some: u8, r#true: u8, inf: u8, nan: u8, leaf: u8, i32: u8, str: u8, bytes: u8, inff32: u8 }
    struct Raw { r#type: u8, r#fn: u8, r#async: u8 }
    #[serde(rename = "static")]
    struct Static(u8);
    #[serde(rename = "None")]
    struct NamedNone;
    #[serde(rename = "Some")]
    struct NamedSome(u8);
    #[serde(rename = "i32")]
    struct NamedI32 { x: u8 }
    #[serde(rename = "_")]
    enum Words2 { #[serde(rename = "true")] True, #[serde(rename = "inf")] Inf(u8), #[serde(rename = "nan")] Nan { #[serde(rename = "nan")] nan: u8 } }
}

// Empty, spaced, quoted, broken and foreign names.
types! {
    #[serde(rename = "")]
    struct Nameless { #[serde(rename = "")] nameless: u8, #[serde(rename = "a b")] spaced: u8 }
    #[serde(rename = "`")]
    struct Quoted { #[serde(rename = "`")] a: u8, #[serde(rename = "\"'\\")] b: u8, #[serde(rename = "\n\t\r\0\u{7f}")] c: u8 }
    #[serde(rename = "größe")]
    struct Foreign { größe: u8, #[serde(rename = "\u{1f600}")] face: u8, #[serde(rename = "\u{2028}\u{85}")] line: u8 }
    #[serde(rename = "a::b<c>")]
    struct Qualified(u8, #[serde(default)] u8);
    #[serde(rename = "0")]
    enum Numbered { #[serde(rename = "0")] Zero(u8), #[serde(rename = "1.5")] Float { #[serde(rename = "0")] zero: u8 }, #[serde(rename = "")] Empty, #[serde(rename = "a.b[0]?")] Path(u8, u8) }
}

// Texts of more than a line.
types! {
    struct AStructWithAVeryLongNameThatTakesMostOfALine { and_a_field_with_a_long_name_too: Vec<Option<Short>> }
    struct Short { a: u8, b: u8 }
    struct AFieldForEveryColumnOfTheLine {
        first_of_the_fields: u8, second_of_the_fields: u8, third_of_the_fields: (u8, u8), fourth_of_the_fields: u8,
    }
    struct Hugging(Vec<Option<AFieldForEveryColumnOfTheLine>>);
}

// Keys that are long, or look like something else.
key_types! {
    #[serde(rename = "static")]
    enum LongKey { #[serde(rename = "a variant")] Variant { a_long_name: String, another_long_name: Option<Vec<u8>> }, Unit }
}

fn long(seed: u8) -> AFieldForEveryColumnOfTheLine {
    AFieldForEveryColumnOfTheLine {
        first_of_the_fields: seed,
        second_of_the_fields: 2,
        third_of_the_fields: (3, 3),
        fourth_of_the_fields: 4,
    }
}

fn long_key(bytes: usize) -> LongKey {
    LongKey::Variant { a_long_name: "é".repeat(60), another_long_name: Some(vec![1; bytes]) }
}

pub(super) fn specimens() -> Vec<Specimen> {
    specimens! {
        "words" => Words {
            r#static: 1, none: 2, some: 3, r#true: 4, inf: 5, nan: 6, leaf: 7, i32: 8, str: 9, bytes: 10, inff32: 11,
        },
        "raw identifiers" => Raw { r#type: 1, r#fn: 2, r#async: 3 },
        "named static" => Static(1),
        "named None" => NamedNone,
        "named Some" => NamedSome(1),
        "named i32" => NamedI32 { x: 1 },
        "named _" => vec![Words2::True, Words2::Inf(1), Words2::Nan { nan: 1 }],
        "nameless" => Nameless { nameless: 1, spaced: 2 },
        "quoted" => Quoted { a: 1, b: 2, c: 3 },
        "foreign" => Foreign { größe: 1, face: 2, line: 3 },
        "qualified" => Qualified(1, 2),
        "numbered" => vec![Numbered::Zero(1), Numbered::Float { zero: 1 }, Numbered::Empty, Numbered::Path(1, 2)],
        "long name" => AStructWithAVeryLongNameThatTakesMostOfALine {
            and_a_field_with_a_long_name_too: vec![Some(Short { a: 1, b: 2 }), None],
        },
        "long line" => long(1),
        "long lines" => vec![Some(long(1)), Some(long(2)), None],
        "long lines in newtypes" => Hugging(vec![Some(long(1)), None, Some(long(2))]),
        "long keys" => BTreeMap::from([(long_key(9), vec![Some(long(1)); 2]), (long_key(2), vec![]), (LongKey::Unit, vec![None])]),
        "wide tuple" => (vec![None, Some(1u8), None, Some(2), None, Some(3), None, Some(4), None, Some(5)], vec![[[1u8; 2]; 3]; 9]),
        "keys with marks" => ["a]", "[\"", "::", "\\u{0}", "\u{0}", "{", "*", "; 3", "\r\n"].map(|key| (key.to_owned(), 1u8)).into_iter().collect::<BTreeMap<_, _>>(),
    }
}
