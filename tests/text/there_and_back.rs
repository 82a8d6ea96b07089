//! Texts: each valid text prints and parses back, each invalid one gives an error with the reason.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by a panic")]

use insta::assert_snapshot;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestCaseResult};
use treedef::{Key, Leaf, Path, Pattern, TreeDef, Value};

fn config(all: u32) -> Config {
    let rng_seed = proptest::test_runner::RngSeed::Fixed(7);
    Config { rng_seed, ..treedef_testing::cases::config(all) }
}

/// A parsed text has one printed form, which parses to the same structure.
fn check(text: &str) -> TestCaseResult {
    macro_rules! check {
        ($($type:ty),*) => {$(
            if let Ok(parsed) = text.parse::<$type>() {
                for printed in [parsed.to_string(), format!("{parsed:#}")] {
                    match printed.parse::<$type>() {
                        Ok(again) => {
                            prop_assert_eq!(&again, &parsed, "{:?} printed {:?}", text, printed);
                            prop_assert_eq!(again.to_string(), parsed.to_string());
                            prop_assert_eq!(format!("{again:#}"), format!("{parsed:#}"));
                        }
                        Err(error) => prop_assert!(false, "{text:?} printed {printed:?}: {error}"),
                    }
                }
            }
        )*};
    }
    check!(TreeDef, Value, Path, Key);
    if let Err(error) = text.parse::<TreeDef>() {
        let message = error.to_string();
        prop_assert!(message.len() < 256 && !message.contains(char::is_control), "{message:?}");
    }
    Ok(())
}

const TOKENS: [&str; 84] = [
    "*",
    "*",
    "*",
    "*",
    ",",
    ",",
    ", ",
    ":",
    ": ",
    ";",
    "; 2",
    "; 5",
    "(",
    ")",
    "(",
    ")",
    "[",
    "]",
    "[",
    "]",
    "{",
    "}",
    "{",
    "}",
    "::",
    ".",
    "?",
    "a",
    "b",
    "Abc",
    "_",
    "__",
    "x1",
    "None",
    "Some",
    "Some(",
    "true",
    "false",
    "static ",
    "static",
    "inf",
    "-inf",
    "nan",
    "nan(0x7ff8000000000001)",
    "nan(0x7fc00000)f32",
    "none",
    "leaf",
    "u8",
    "i32",
    "f64",
    "inff32",
    "str",
    "bytes",
    "#[",
    "#[insertion] ",
    "#[none_is_leaf, compact]",
    "0",
    "1",
    "1",
    "7",
    "255u8",
    "-1",
    "-128i8",
    "1.5",
    "1e5",
    "1e-7f32",
    "\"",
    "\"a\"",
    "\"\\n\\\"\\\\\\u{7f}\"",
    "'",
    "'a'",
    "'\\''",
    "b\"",
    "b\"\\xff\"",
    "`",
    "`a b`",
    "`\\``",
    "\\",
    "\\u{1f600}",
    "\u{1f600}",
    "\u{e9}",
    " ",
    "\n",
    "\u{0}",
];

fn soup() -> impl Strategy<Value = String> {
    vec(select(&TOKENS[..]), 0..14).prop_map(|tokens| tokens.concat())
}

/// Valid texts of all four types, with all there is in the grammar.
const VALID: [&str; 20] = [
    "*",
    "[*, *, (*, *); 3]",
    "Point { x: *, `a b`: Some(*) }",
    r#"{"a": *, 3u32: [*; 7], (1, 'c'): None}"#,
    "Shape::Circle(*)",
    "Shape::Line(*, *; 8)",
    "Shape::Box { w: *, h: Meters(*) }",
    "#[insertion, none_is_leaf, compact] {\"b\": *, \"a\": (,)}",
    "(Marker, (), Rgb(), Point {}, Shape::Empty, One(*,))",
    "Net { name: static \"relu\", sizes: static [1u8, 2u8, 2.5f32, -0.0], w: [[*; 9]; 9] }",
    "[1, 2u8, -3i64, 1.5, 1e300, inf, -inff32, nan(0x7ff8000000000001)]",
    r#"("a\"\\\n\u{7f}", 'x', '\'', b"a\x00\\\"", true, None, Some(Some(1)))"#,
    r#"{{1: 2}: 3, [1; 5]: "x", A::B(1): (2,)}"#,
    "[(1, 2); 2, (1, 3), 4; 6]",
    r#".layers[0].w["bias"]"#,
    r#".0[3u32][1.0f64]?::Circle.0::Box.w.`None`"#,
    r#"[[1u8, (2i32,)]][{"a": 1}]['c'][b"\xff"][true][a]"#,
    "?",
    "::`a::b`.`0`",
    "[18446744073709551615]",
];

#[derive(Clone, Debug)]
enum Edit {
    Delete(Index),
    Double(Index, usize),
    Swap(Index, Index),
    Insert(Index, &'static str),
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        any::<Index>().prop_map(Edit::Delete),
        (any::<Index>(), 1..6usize).prop_map(|(at, length)| Edit::Double(at, length)),
        any::<(Index, Index)>().prop_map(|(a, b)| Edit::Swap(a, b)),
        (any::<Index>(), select(&TOKENS[..])).prop_map(|(at, token)| Edit::Insert(at, token)),
    ]
}

fn edited(text: &str, edits: &[Edit]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for edit in edits {
        if chars.is_empty() {
            break;
        }
        let index = |at: &Index| at.index(chars.len());
        match edit {
            Edit::Delete(at) => drop(chars.remove(index(at))),
            Edit::Double(at, length) => {
                let (from, to) = (index(at), chars.len().min(index(at) + length));
                let part = chars[from..to].to_vec();
                chars.splice(to..to, part);
            }
            Edit::Swap(a, b) => {
                let (a, b) = (index(a), index(b));
                chars.swap(a, b);
            }
            Edit::Insert(at, token) => {
                let at = index(at);
                chars.splice(at..at, token.chars());
            }
        }
    }
    chars.into_iter().collect()
}

#[test]
fn valid_texts_are_valid() {
    for text in VALID {
        let treedef = text.parse::<TreeDef>().is_ok();
        let path = text.parse::<Path>().is_ok();
        assert!(treedef || path || text.parse::<Value>().is_ok(), "{text}");
        check(text).unwrap();
    }
}

proptest! {
    #![proptest_config(config(20_000))]

    #[test]
    fn token_soup_comes_back_or_errs(text in soup()) {
        check(&text)?;
    }

    #[test]
    fn edited_texts_come_back_or_err(text in select(&VALID[..]), edits in vec(edit(), 1..4)) {
        check(&edited(text, &edits))?;
    }

    #[test]
    fn any_text_comes_back_or_errs(text in ".{0,12}") {
        check(&text)?;
    }

    #[test]
    fn any_string_comes_back_as_a_scalar_a_name_and_a_key(text in ".{0,12}", char in any::<char>(), bytes in any::<Vec<u8>>()) {
        come_back(Leaf::from(&*text));
        come_back(Leaf::from(char));
        come_back(Leaf::from(&*bytes));
        for key in [
            Key::Field(text.clone().into()),
            Key::VariantPosition(text.clone().into(), 3),
            Key::VariantField("a".into(), text.clone().into()),
        ] {
            prop_assert_eq!(&key.to_string().parse::<Key>().unwrap(), &key);
        }
    }

    #[test]
    fn any_number_comes_back(a in any::<i128>(), b in any::<u64>(), c in any::<u32>()) {
        come_back(Leaf::from(a));
        come_back(Leaf::from(a as u128));
        come_back(Leaf::from(b));
        come_back(Leaf::from(b as i64));
        come_back(Leaf::from(c));
        come_back(Leaf::from(c as i32));
        come_back(Leaf::from(f64::from_bits(b)));
        come_back(Leaf::from(f32::from_bits(c)));
    }
}

/// Characters without a shape, which may reverse or hide their neighbours, are escaped.
#[test]
fn invisible_characters_come_back() {
    let escaped = |char: char| !Leaf::from(char).to_string().contains(char);
    for char in ('\u{80}'..=char::MAX).filter(|char| escaped(*char)) {
        come_back(Leaf::from(char));
        let text = format!("a{char}b");
        come_back(Leaf::from(&*text));
        let (key, code) = (Leaf::from(&*text), u32::from(char));
        let treedef = format!("{{{key}: `a\\u{{{code:x}}}b` {{ x: * }}}}");
        let treedef: TreeDef = treedef.parse().unwrap();
        assert!(!treedef.to_string().contains(char), "{treedef}");
        assert_eq!(treedef.to_string().parse::<TreeDef>().unwrap(), treedef);
        let path = treedef.leaf_path(0).unwrap().to_string();
        assert!(!path.contains(char), "{path}");
        assert_eq!(treedef.node(&path).unwrap().leaf_range(), 0..1);
    }
    for char in "\u{ad}\u{61c}\u{180e}\u{200b}\u{200d}\u{200e}\u{2028}\u{2029}\u{202a}\u{202e}\u{2066}\u{2069}\u{3164}\u{feff}\u{fff9}\u{e0041}".chars() {
        assert!(escaped(char), "{:x}", u32::from(char));
    }
    for char in "é中\u{301}\u{fe0f}😀\u{a0}\u{3000}\u{e000}".chars() {
        assert!(!escaped(char), "{:x}", u32::from(char));
    }
}

/// A scalar round-trips as a value, inside one, and as a key of a path and of a treedef.
#[track_caller]
fn come_back(leaf: Leaf) {
    let value = Value::from(leaf.clone());
    assert_eq!(value.to_string(), leaf.to_string());
    assert_eq!(value.to_string().parse::<Value>().unwrap(), value);
    let nested = format!("[Some({value}), ({value},)]");
    assert_eq!(nested.parse::<Value>().unwrap().to_string(), nested);

    let key = Key::Entry(value);
    assert_eq!(key.to_string().parse::<Key>().unwrap(), key);
    let path = Path::root().child(key.clone()).child(Key::Index(0));
    assert_eq!(path.to_string().parse::<Path>().unwrap(), path);
    let text = format!("{{{leaf}: [static {leaf}, *]}}");
    let treedef: TreeDef = text.parse().unwrap();
    assert_eq!(treedef.to_string(), text);
    assert_eq!(treedef.leaf_path(0).unwrap(), Path::root().child(key).child(Key::Index(1)));
}

#[test]
fn scalars_come_back_at_their_extremes() {
    macro_rules! integers {
        ($($type:ty),*) => {$(
            for value in [<$type>::MIN, <$type>::MAX, 0, 1, 42] {
                come_back(value.into());
            }
        )*};
    }
    integers!(i8, i16, i32, i64, i128, u8, u16, u32, u64, u128);
    macro_rules! floats {
        ($($type:ident, $unsigned:ty),*) => {$(
            let quiet = $type::NAN.to_bits();
            let infinity = $type::INFINITY.to_bits();
            let sign = (-0.0 as $type).to_bits();
            for value in [
                0.0, -0.0, 1.0, 0.1, 1.0 / 3.0, 1e15, 1e16, 1e17, 1e-4, 1e-5, 1e-6, $type::MAX, $type::MIN,
                $type::MIN_POSITIVE, $type::EPSILON, $type::INFINITY, $type::NEG_INFINITY, $type::NAN, -$type::NAN,
            ] {
                come_back(value.into());
            }
            // Subnormals; quiet and signalling NaNs of both signs.
            for bits in [1, 2, $type::MIN_POSITIVE.to_bits() - 1, sign + 1, quiet + 1, infinity + 1, sign - 1, <$unsigned>::MAX] {
                come_back($type::from_bits(bits).into());
            }
        )*};
    }
    floats!(f32, u32, f64, u64);
    for code in (0..0x300).chain([0x2028, 0xd7ff, 0xe000, 0xfeff, 0xfffd, 0xffff, 0x10ffff]) {
        let char = char::from_u32(code).unwrap();
        come_back(char.into());
        come_back(Leaf::from(format!("{char}{char}")));
    }
    come_back(Leaf::from((0..=u8::MAX).collect::<Vec<_>>()));
    come_back(Leaf::from("\\ \" ' ` \n \r \t \0 \u{7f} \u{1f600} \\u{41} \\x41 `a` #[x] */ ;3"));
    for scalar in [Leaf::from(true), Leaf::from(false), Leaf::from(""), Leaf::from(Vec::new())] {
        come_back(scalar);
    }
}

/// `None` as a leaf is not a scalar of the grammar, but a key can be made of it.
#[test]
fn a_key_of_an_absent_leaf_comes_back() {
    let key = Key::Entry(Value::from(Leaf::None));
    assert_eq!(key.to_string().parse::<Key>().unwrap(), key);
}

fn error<T: std::str::FromStr<Err = treedef::Error> + std::fmt::Debug>(text: &str) -> String {
    text.parse::<T>().unwrap_err().to_string()
}

#[test]
#[rustfmt::skip]
fn errors_of_a_treedef_say_what_was_expected() {
    assert_snapshot!(error::<TreeDef>(""), @"expected a node (literals are only for keys and statics), found the end at byte 0");
    assert_snapshot!(error::<TreeDef>("[*"), @"expected `,`, `;` or `]`, found the end at byte 2");
    assert_snapshot!(error::<TreeDef>("[*,, *]"), @"expected a node (literals are only for keys and statics), found `, *]` at byte 3");
    assert_snapshot!(error::<TreeDef>("[* *]"), @"expected `,`, `;` or `]`, found `*]` at byte 3");
    assert_snapshot!(error::<TreeDef>("[*; 0]"), @"expected a count above 0, found `0]` at byte 4");
    assert_snapshot!(error::<TreeDef>("[*; -1]"), @"expected a number, found `-1]` at byte 4");
    assert_snapshot!(error::<TreeDef>("[*; 99999999999999999999]"), @"too large: a count exceeds 64 bits at byte 24");
    assert_snapshot!(error::<TreeDef>("(*)"), @"expected `,`, as in a tuple of one: `(*,)`, found `)` at byte 2");
    assert_snapshot!(error::<TreeDef>("(,,)"), @"expected `)`, for an empty tuple, found `,)` at byte 2");
    assert_snapshot!(error::<TreeDef>("Some()"), @"expected a node: `Some` holds one, found `)` at byte 5");
    assert_snapshot!(error::<TreeDef>("Some(*, *)"), @"expected one node in `Some`, without a comma, found `)` at byte 9");
    assert_snapshot!(error::<TreeDef>("{*: *}"), @"expected a value, found `*: *}` at byte 1");
    assert_snapshot!(error::<TreeDef>(r#"{"a" *}"#), @"expected `:`, found `*}` at byte 5");
    assert_snapshot!(error::<TreeDef>(r#"{"a": *"#), @"expected `,` or `}`, found the end at byte 7");
    assert_snapshot!(error::<TreeDef>("Point { x *}"), @"expected `:`, found `*}` at byte 10");
    assert_snapshot!(error::<TreeDef>("Point { 1: * }"), @"expected a name, found `1: * }` at byte 8");
    assert_snapshot!(error::<TreeDef>("Shape::"), @"expected a name, found the end at byte 7");
    assert_snapshot!(error::<TreeDef>("Shape::Circle(* *)"), @"expected `,`, `;` or `)`, found `*)` at byte 16");
    assert_snapshot!(error::<TreeDef>("true"), @"expected a node (literals are only for keys and statics), found `true` at byte 0");
    assert_snapshot!(error::<TreeDef>("1"), @"expected a node (literals are only for keys and statics), found `1` at byte 0");
    assert_snapshot!(error::<TreeDef>("static"), @"expected a value, found the end at byte 6");
    assert_snapshot!(error::<TreeDef>("* *"), @"expected the end, found `*` at byte 2");
    assert_snapshot!(error::<TreeDef>("`a"), @"expected a closing quote, found the end at byte 2");
    assert_snapshot!(error::<TreeDef>(r#"`a\q`"#), @r#"expected an escape: one of `\\ \" \' \` \n \r \t \u{…}`, found `\q`` at byte 2"#);
    assert_snapshot!(error::<TreeDef>("#[sorted] *"), @"expected `insertion`, `none_is_leaf` or `compact`, found `sorted] *` at byte 2");
    assert_snapshot!(error::<TreeDef>("#[insertion *"), @"expected `,` or `]`, found `*` at byte 12");
    assert_snapshot!(error::<TreeDef>("{300u8: *}"), @"expected a number that its kind can hold, found `300u8: *}` at byte 1");
    assert_snapshot!(error::<TreeDef>("static static 1"), @"expected a value, found `static 1` at byte 7");
}

#[test]
#[rustfmt::skip]
fn errors_of_a_value_say_what_was_expected() {
    assert_snapshot!(error::<Value>("*"), @"expected a value, found `*` at byte 0");
    assert_snapshot!(error::<Value>("1e999"), @"expected a number that its kind can hold, found `1e999` at byte 0");
    assert_snapshot!(error::<Value>("nan"), @"expected the bits of the NaN, as in `nan(0x7ff8000000000000)`, found `nan` at byte 0");
    assert_snapshot!(error::<Value>("'ab'"), @"expected one character in single quotes, found `b'` at byte 2");
    assert_snapshot!(error::<Value>("\"a\nb\""), @r#"expected a closing quote, found `\nb"` at byte 2"#);
    assert_snapshot!(error::<Value>(r#""\u{d800}""#), @r#"expected a character's code, such as `\u{7f}`, found `\u{d800}"` at byte 1"#);
    assert_snapshot!(error::<Value>(r#"b"\xg0""#), @r#"expected two hexadecimal digits after `\x`, found `\xg0"` at byte 2"#);
    assert_snapshot!(error::<Value>(r#"b"é""#), @r#"expected an ASCII character, an escape or a closing quote, found `é"` at byte 2"#);
    assert_snapshot!(error::<Value>("[1; 99999999]"), @"99999985 nodes to visit, the limit is 16777216 at byte 12 (see `Limits::max_work`)");
    assert_snapshot!(error::<Value>("none"), @"expected a name, found `none` at byte 0 (a name such as `none`, a word of the notation, has backquotes around it)");
}

#[test]
#[rustfmt::skip]
fn errors_of_a_path_say_what_was_expected() {
    assert_snapshot!(error::<Path>("a b"), @r#"expected a key: one of `.name .0 [0] ["key"] ? ::Variant.0`, found `b` at byte 2 (a name with such a character has backquotes around it)"#);
    assert_snapshot!(error::<Path>("my-layer.w"), @r#"expected a key: one of `.name .0 [0] ["key"] ? ::Variant.0`, found `-layer.w` at byte 2 (a name with such a character has backquotes around it)"#);
    assert_snapshot!(error::<Path>("resp.bytes"), @"expected a name, found `bytes` at byte 5 (a name such as `bytes`, a word of the notation, has backquotes around it)");
    assert_snapshot!(error::<Path>("..a"), @"expected a name, found `.a` at byte 1");
    assert_snapshot!(error::<Path>("["), @"expected a value, found the end at byte 1");
    assert_snapshot!(error::<Path>("[]"), @"expected a value, found `]` at byte 1");
    assert_snapshot!(error::<Path>("[0"), @"expected `]`, found the end at byte 2 (did you mean `[0]`?)");
    assert_snapshot!(error::<Path>("::A"), @"expected a field of the variant: `.name` or `.0`, found the end at byte 3");
    assert_snapshot!(error::<Path>("? ?"), @r#"expected a key: one of `.name .0 [0] ["key"] ? ::Variant.0`, found `?` at byte 2"#);
}

#[test]
#[rustfmt::skip]
fn errors_of_a_pattern_say_what_was_expected() {
    assert_snapshot!(error::<Pattern>("layers[0..2].w"), @"expected an index, `*`, or a range from a lower to a higher index: `[2:5]`, `[2:]` or `[:5]`, found `[0..2].w` at byte 6");
    assert_snapshot!(error::<Pattern>("[:]"), @"expected an index, `*`, or a range from a lower to a higher index: `[2:5]`, `[2:]` or `[:5]`, found `[:]` at byte 0");
    assert_snapshot!(error::<Pattern>("[3:3]"), @"expected an index, `*`, or a range from a lower to a higher index: `[2:5]`, `[2:]` or `[:5]`, found `[3:3]` at byte 0");
    assert_snapshot!(error::<Pattern>("[5:2].w"), @"expected an index, `*`, or a range from a lower to a higher index: `[2:5]`, `[2:]` or `[:5]`, found `[5:2].w` at byte 0");
    assert_snapshot!(error::<Pattern>("[-1:]"), @"expected an index, `*`, or a range from a lower to a higher index: `[2:5]`, `[2:]` or `[:5]`, found `[-1:]` at byte 0");
    assert_snapshot!(error::<Pattern>("[1:2"), @"expected an index, `*`, or a range from a lower to a higher index: `[2:5]`, `[2:]` or `[:5]`, found `[1:2` at byte 0 (did you mean `[1:2]`?)");
    assert_snapshot!(error::<Pattern>("[layers"), @"expected `]`, found the end at byte 7 (did you mean `[layers]`?)");
    assert!(error::<Pattern>("['layers'][0].w").ends_with(r#"(did you mean `["layers"][0].w`?)"#));
    assert!(error::<Pattern>("layers[0.w").ends_with("(did you mean `layers[0].w`?)"));
    assert_snapshot!(error::<Pattern>(".{}"), @"expected a name, as in `.{w,bias}`, found `}` at byte 2");
    assert_snapshot!(error::<Pattern>("a,b"), @"expected several names in braces: `.{q_proj,v_proj}`, found `,b` at byte 1");
    assert_snapshot!(error::<Pattern>(".{a"), @"expected whole names in the braces, with commas: `.{q_proj,v_proj}`, found the end at byte 3");
    assert_snapshot!(error::<Pattern>(".{a,}"), @"expected a name, as in `.{w,bias}`, found `}` at byte 4");
    assert_snapshot!(error::<Pattern>(".{a, b}"), @"expected no space inside a path, found ` b}` at byte 4");
    assert_snapshot!(error::<Pattern>(".{q,v}_proj"), @"expected whole names in the braces, with commas: `.{q_proj,v_proj}`, found `_proj` at byte 6");
    assert_snapshot!(error::<Pattern>(".{a.b,c}"), @"expected whole names in the braces, with commas: `.{q_proj,v_proj}`, found `.b,c}` at byte 3");
    assert_snapshot!(error::<Pattern>(".{[0],[1]}"), @"expected a name, as in `.{w,bias}`, found `[0],[1]}` at byte 2");
    assert_snapshot!(error::<Pattern>(".{*,a}"), @"expected a name, as in `.{w,bias}`, found `*,a}` at byte 2");
    let many = format!(".{{{}a}}", "a,".repeat(256));
    assert_snapshot!(error::<Pattern>(&many), @"expected `}` after at most 256 names, found `,a}` at byte 513");
}

#[test]
fn patterns_are_printed_as_they_are_written() {
    for text in [".{a,b}", "**.{q_proj,`k-proj`,0}.w", "[2:]", "[:2]", "[2:5].*", ".{a}"] {
        assert_eq!(text.parse::<Pattern>().unwrap().to_string(), text);
    }
    for (text, printed) in [("{a,b}.w", ".{a,b}.w"), ("l[0:2]", ".l[:2]"), ("**.{a}", "**.{a}")] {
        assert_eq!(text.parse::<Pattern>().unwrap().to_string(), printed);
    }
}

#[test]
#[rustfmt::skip]
fn errors_of_a_key_say_what_was_expected() {
    assert_snapshot!(error::<Key>(""), @r#"expected a key: one of `.name .0 [0] ["key"] ? ::Variant.0`, found the end at byte 0"#);
    assert_snapshot!(error::<Key>(".a.b"), @"expected the end, found `.b` at byte 2");
}
