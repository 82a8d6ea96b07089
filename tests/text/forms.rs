//! The one form in which each thing prints, and the forms in which it may be read.

use treedef::{Key, Leaf, LeafKind, NodeKind, Path, Pattern, Tree, TreeDef, Value};

#[test]
fn a_scalar_prints_in_one_form() {
    let cases: [(Leaf, &str); 45] = [
        (true.into(), "true"),
        (false.into(), "false"),
        ((-1i8).into(), "-1i8"),
        ((-1i16).into(), "-1i16"),
        ((-1i32).into(), "-1"),
        ((-1i64).into(), "-1i64"),
        ((-1i128).into(), "-1i128"),
        (1u8.into(), "1u8"),
        (1u16.into(), "1u16"),
        (1u32.into(), "1u32"),
        (1u64.into(), "1u64"),
        (1u128.into(), "1u128"),
        (1f32.into(), "1.0f32"),
        (1e30f32.into(), "1e30f32"),
        (f32::INFINITY.into(), "inff32"),
        (f32::NEG_INFINITY.into(), "-inff32"),
        (f32::from_bits(0x7fc00001).into(), "nan(0x7fc00001)f32"),
        (1f64.into(), "1.0"),
        ((-0f64).into(), "-0.0"),
        (1e-7f64.into(), "1e-7"),
        (f64::INFINITY.into(), "inf"),
        (f64::NEG_INFINITY.into(), "-inf"),
        (f64::from_bits(0x7ff8 << 48).into(), "nan(0x7ff8000000000000)"),
        ('a'.into(), "'a'"),
        ('é'.into(), "'é'"),
        ('"'.into(), r#"'"'"#),
        ('\''.into(), r"'\''"),
        ('\\'.into(), r"'\\'"),
        ('\n'.into(), r"'\n'"),
        ('\r'.into(), r"'\r'"),
        ('\t'.into(), r"'\t'"),
        ('\0'.into(), r"'\u{0}'"),
        ('\u{7f}'.into(), r"'\u{7f}'"),
        ('\u{85}'.into(), r"'\u{85}'"),
        ('\u{202e}'.into(), r"'\u{202e}'"),
        ('\u{301}'.into(), "'\u{301}'"),
        ("a\u{2028}b\u{200b}".into(), r#""a\u{2028}b\u{200b}""#),
        ("❤\u{fe0f}".into(), "\"❤\u{fe0f}\""),
        ("".into(), r#""""#),
        ("a b".into(), r#""a b""#),
        ("\"'`\\\n\r\t\u{1b}é".into(), r#""\"'`\\\n\r\t\u{1b}é""#),
        (vec![].into(), r#"b"""#),
        (b" a~'`".to_vec().into(), r#"b" a~'`""#),
        (b"\"\\\n\x00\x1f\x7f\xff".to_vec().into(), r#"b"\"\\\x0a\x00\x1f\x7f\xff""#),
        (Leaf::None, "none"),
    ];
    for (leaf, text) in cases {
        assert_eq!(leaf.to_string(), text);
    }
}

#[test]
fn scalars_are_read_in_other_forms_too() {
    for (text, printed) in [
        (" 1 ", "1"),
        ("01", "1"),
        ("-0", "0"),
        ("1i32", "1"),
        ("1e5", "100000.0"),
        ("1e+5", "100000.0"),
        ("1e-5", "1e-5"),
        ("1.50", "1.5"),
        ("1.5e1", "15.0"),
        ("1f64", "1.0"),
        ("1.5f64", "1.5"),
        ("1f32", "1.0f32"),
        ("inff64", "inf"),
        ("-inff64", "-inf"),
        ("nan(0x7ff8000000000000)f64", "nan(0x7ff8000000000000)"),
        ("nan(0xFFF8000000000001)", "nan(0xfff8000000000001)"),
        (r"'\u{41}'", "'A'"),
        (r"'\`'", "'`'"),
        (r#"'\"'"#, r#"'"'"#),
        (r#""\'\`""#, r#""'`""#),
        (r#""\u{10FFFF}""#, "\"\u{10ffff}\""),
        (r#"b"\n\r\t\\\"\'\`\x41\xFF""#, r#"b"\x0a\x0d\x09\\\"'`A\xff""#),
    ] {
        let value: Value = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(value.to_string(), printed);
    }
}

#[test]
fn what_is_no_scalar_is_refused() {
    for text in [
        "",
        "-",
        "+1",
        "1.",
        ".5",
        "1.e5",
        "1e",
        "1e+",
        "1e-",
        "1E5",
        "1_000",
        "0x1",
        "1 u8",
        "- 1",
        "256u8",
        "-1u8",
        "128i8",
        "32768i16",
        "2147483648",
        "9223372036854775808i64",
        "65536u16",
        "4294967296u32",
        "18446744073709551616u64",
        "1.5u8",
        "1.0i32",
        "1e2i64",
        "1x",
        "1usize",
        "1e999",
        "1e999f64",
        "1e39f32",
        "-true",
        "-nan(0x7ff8000000000000)",
        "nan",
        "nan()",
        "nan(0x)",
        "nan(0x0)",
        "nan(7ff8000000000000)",
        "nan(0x7ff0000000000000)",
        "nan(0x7ff8000000000000",
        "nan(0x7fc00000)",
        "nan(0x7fc00000)u8",
        "nan(0x7f800000)f32",
        "nan(0x7ff8000000000000)f32",
        "nan(0x17fc00000)f32",
        "nan(0x17ff8000000000000)",
        "''",
        "'",
        "'a",
        "'ab'",
        "'\n'",
        r"'\'",
        r"'\x41'",
        r"'\u41'",
        r"'\u{}'",
        r"'\u{41'",
        r"'\u{110000}'",
        r"'\u{d800}'",
        r"'\u{g}'",
        r"'\u(41)'",
        r#"""#,
        r#""a"#,
        r#""\"#,
        r#""\0""#,
        "\"\t\"",
        "\"\u{7f}\"",
        r#"b""#,
        r#"b"a"#,
        r#"b"\"#,
        r#"b"\x""#,
        r#"b"\x4""#,
        r#"b"\x+1""#,
        r#"b"\u{41}""#,
        "b\"\n\"",
        "b\"\u{7f}\"",
        r#"b "a""#,
        "none",
        "u8",
    ] {
        assert!(text.parse::<Value>().is_err(), "{text} is {}", text.parse::<Value>().unwrap());
        let key = format!("{{{text}: *}}");
        assert!(key.parse::<TreeDef>().is_err(), "{key}");
    }
}

const RESERVED: [&str; 30] = [
    "static", "None", "Some", "true", "false", "inf", "nan", "none", "opaque", "_", "bool", "i8",
    "i16", "i32", "i64", "i128", "u8", "u16", "u32", "u64", "u128", "f32", "f64", "char", "str",
    "bytes", "usize", "isize", "inff32", "inff64",
];

#[test]
fn a_name_stands_bare_unless_it_could_be_something_else() {
    for name in ["a", "Z", "_a", "__", "a1", "A_1", "some", "none1", "i", "u16x", "nan_", "r"] {
        assert_eq!(Key::Field(name.into()).to_string(), format!(".{name}"));
        assert_eq!(
            format!("{name} {{ {name}: * }}").parse::<TreeDef>().unwrap().to_string(),
            format!("{name} {{ {name}: * }}")
        );
    }
    for name in RESERVED.into_iter().chain(["1", "1a", "a b", "a-b", "é", "aé", "r#a"]) {
        assert_eq!(Key::Field(name.into()).to_string(), format!(".`{name}`"));
        for text in ["NAME { x: * }", "A { NAME: * }", "A::NAME(*)", "NAME::A"] {
            let text = text.replace("NAME", name);
            assert!(text.parse::<TreeDef>().is_err(), "{text}");
        }
    }
    for name in ["", " a", "A::B"] {
        assert_eq!(Key::Field(name.into()).to_string(), format!(".`{name}`"));
    }
    let name = "`\"'\\\n\r\t\u{0}";
    assert_eq!(Key::Field(name.into()).to_string(), r#".`\`"'\\\n\r\t\u{0}`"#);
}

/// A structure after reading: its kind, and its text.
#[test]
fn a_structure_prints_in_one_form() {
    use NodeKind::*;
    for (text, kind, printed) in [
        (" * ", Leaf, "*"),
        ("None", None, "None"),
        ("Some ( * )", Some, "Some(*)"),
        ("( )", Unit, "()"),
        ("( , )", Tuple, "(,)"),
        ("(*,)", Tuple, "(*,)"),
        ("(*; 1)", Tuple, "(*,)"),
        ("( * , None , )", Tuple, "(*, None)"),
        ("(*; 5)", Tuple, "(*; 5)"),
        ("(*; 4)", Tuple, "(*, *, *, *)"),
        ("[ ]", Seq, "[]"),
        ("[*]", Seq, "[*]"),
        ("[*,]", Seq, "[*]"),
        ("[*; 1]", Seq, "[*]"),
        ("[*; 2, *; 3]", Seq, "[*; 5]"),
        ("[*; 2, None, *; 3,]", Seq, "[*, *, None, *, *, *]"),
        ("[(*,); 1, (*,)]", Seq, "[(*,); 2]"),
        ("[[]; 2]", Seq, "[[], []]"),
        ("[[]; 5]", Seq, "[[]; 5]"),
        ("[A { }; 2]", Seq, "[A {}, A {}]"),
        ("[\n*,\n\t*]", Seq, "[*, *]"),
        ("{}", Map, "{}"),
        (r#"{"b":*,"a":None,}"#, Map, r#"{"a": None, "b": *}"#),
        ("A", UnitStruct, "A"),
        ("A::B", UnitVariant, "A::B"),
        ("A :: B", UnitVariant, "A::B"),
        ("A(*)", NewtypeStruct, "A(*)"),
        ("A(*,)", TupleStruct, "A(*,)"),
        ("A(*; 1)", TupleStruct, "A(*,)"),
        ("A()", TupleStruct, "A()"),
        ("A(*, *)", TupleStruct, "A(*, *)"),
        ("A(*; 5)", TupleStruct, "A(*; 5)"),
        ("A::B(*)", NewtypeVariant, "A::B(*)"),
        ("A::B(*,)", TupleVariant, "A::B(*,)"),
        ("A::B()", TupleVariant, "A::B()"),
        ("A::B(*; 5)", TupleVariant, "A::B(*; 5)"),
        ("A{}", Struct, "A {}"),
        ("A{x:*,}", Struct, "A { x: * }"),
        ("A { x: *, y: *, z: *, u: *, v: * }", Struct, "A { x: *, y: *, z: *, u: *, v: * }"),
        ("A::B { x: * }", StructVariant, "A::B { x: * }"),
        ("A::B { }", StructVariant, "A::B {}"),
        ("`A b`::`c d`", UnitVariant, "`A b`::`c d`"),
        ("static 1", Static, "static 1"),
        ("static{2:1,1:2}", Static, "static {1: 2, 2: 1}"),
    ] {
        let treedef: TreeDef = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(treedef.root().kind(), kind, "{text}");
        assert_eq!(treedef.to_string(), printed, "{text}");
    }
}

#[test]
fn options_print_in_one_form() {
    for (text, printed) in [
        ("#[insertion]*", "#[insertion] *"),
        ("#[none_is_leaf] *", "#[none_is_leaf] *"),
        ("#[compact] *", "#[compact] *"),
        ("#[ compact , insertion ] *", "#[insertion, compact] *"),
        ("#[compact, none_is_leaf, insertion] *", "#[insertion, none_is_leaf, compact] *"),
        (r#"#[insertion] {"b": *, "a": *}"#, r#"#[insertion] {"b": *, "a": *}"#),
        (r#"#[compact] {"b": *, "a": None}"#, r#"#[compact] {"a": None, "b": *}"#),
    ] {
        assert_eq!(text.parse::<TreeDef>().unwrap().to_string(), printed);
    }
    for text in
        ["#[] *", "#[insertion,] *", "#[insertion compact] *", "# [insertion] *", "#[insertion]"]
    {
        assert!(text.parse::<TreeDef>().is_err(), "{text}");
    }
}

#[test]
fn leaves_of_values_are_in_order_and_follow_their_entries() {
    for (text, printed, leaves) in [
        ("[0, 1; 3, 2]", "[0, 1, 1, 1, 2]", vec![0, 1, 1, 1, 2]),
        ("[(0, 1); 2, 5; 5]", "[(0, 1); 2, 5; 5]", vec![0, 1, 0, 1, 5, 5, 5, 5, 5]),
        ("[[0; 2]; 2]", "[[0, 0]; 2]", vec![0; 4]),
        ("[(0, 1), (0, 2)]", "[(0, 1), (0, 2)]", vec![0, 1, 0, 2]),
        ("[(0, 1); 2, (0, 2)]", "[(0, 1); 2, (0, 2)]", vec![0, 1, 0, 1, 0, 2]),
        ("(7, {2: [3, 4], 1: 5}, 8)", "(7, {1: 5, 2: [3, 4]}, 8)", vec![7, 5, 3, 4, 8]),
        ("[(), (); 9]", "[(); 10]", vec![]),
        ("A(0; 2)", "A(0, 0)", vec![0, 0]),
    ] {
        let value: Value = text.parse().unwrap();
        assert_eq!(value.to_string(), printed);
        let (found, _) = treedef::flatten(&value).unwrap();
        assert_eq!(found, leaves.into_iter().map(Leaf::from).collect::<Vec<_>>(), "{text}");
    }
}

#[test]
fn signatures_have_kinds_for_leaves() {
    use LeafKind::*;
    for (kind, name) in [
        (Bool, "bool"),
        (I8, "i8"),
        (I16, "i16"),
        (I32, "i32"),
        (I64, "i64"),
        (I128, "i128"),
        (U8, "u8"),
        (U16, "u16"),
        (U32, "u32"),
        (U64, "u64"),
        (U128, "u128"),
        (F32, "f32"),
        (F64, "f64"),
        (Char, "char"),
        (Str, "str"),
        (Bytes, "bytes"),
        (LeafKind::None, "none"),
        (Opaque, "opaque"),
    ] {
        let signature: Tree<LeafKind> = format!("[{name}; 3, None]").parse().unwrap();
        assert_eq!(signature.leaves(), [kind; 3]);
        assert_eq!(signature.to_string(), format!("[{name}, {name}, {name}, None]"));
    }
    let signature: Tree<LeafKind> =
        r#"({"b": u8, "a": [f32; 6]}, A(str), static 1)"#.parse().unwrap();
    assert_eq!(signature.to_string(), r#"({"a": [f32; 6], "b": u8}, A(str), static 1)"#);
    for (text, error) in [
        ("*", "expected a node, or a kind such as `f32`, found `*` at byte 0"),
        ("[u8; *]", "expected a number, found `*]` at byte 5"),
        ("f31", "expected a node, or a kind such as `f32`, found `f31` at byte 0"),
    ] {
        match text.parse::<Tree<LeafKind>>() {
            Ok(signature) => assert_eq!(signature.to_string(), text),
            Err(found) => assert_eq!(found.to_string(), error),
        }
    }
}

#[test]
fn a_path_prints_in_one_form() {
    for (text, printed) in [
        ("", ""),
        ("?", "?"),
        (".a.0[1]?", ".a.0[1]?"),
        ("[01]", "[1]"),
        ("[1i32]", "[1i32]"),
        ("[1u8]", "[1u8]"),
        ("[1.5]", "[1.5f64]"),
        ("[1.5f32]", "[1.5f32]"),
        ("[a]", "[a]"),
        ("[1e5]", "[100000.0f64]"),
        (r#"["a"]['b'][b"c"][true][None][()]"#, r#"["a"]['b'][b"c"][true][None][()]"#),
        ("[18446744073709551616]", "[18446744073709551616i128]"),
        ("[-2147483649][-3]", "[-2147483649i64][-3i32]"),
        ("[[4294967296, 1]]", "[[4294967296i64, 1i32]]"),
        ("[(1, 2u8)][{1: 2}][[1, 2]]", "[(1i32, 2u8)][{1i32: 2i32}][[1i32, 2i32]]"),
        ("::A.0::B.x::`c d`.`e f`", "::A.0::B.x::`c d`.`e f`"),
        (".`1`.`a b`", ".`1`.`a b`"),
    ] {
        let path: Path = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(path.to_string(), printed);
        assert_eq!(format!("{path:?}"), format!("Path({printed})"));
        assert_eq!(printed.parse::<Path>().unwrap(), path);
    }
    assert_eq!("[1]".parse::<Key>().unwrap(), Key::Index(1));
    assert_eq!(".1".parse::<Key>().unwrap(), Key::Position(1));
    assert_eq!("[1i32]".parse::<Key>().unwrap(), Key::Entry(Value::from(Leaf::from(1))));
    for (text, printed) in [("a", ".a"), ("a.b", ".a.b"), ("0[1]", ".0[1]"), ("`a b`", ".`a b`")] {
        assert_eq!(text.parse::<Path>().unwrap().to_string(), printed);
    }
    for text in [
        ".",
        "..",
        ".a b",
        ". a",
        "[ 1]",
        "[1 ]",
        ":: A.0",
        "::A. 0",
        ".a .b",
        "[",
        "[]",
        "[1",
        "[1)",
        "[1 2]",
        "::",
        "::A",
        "::A.",
        "::A.0x",
        ":A.0",
        ".-1",
        "[-1",
        "[340282366920938463463374607431768211456]",
        ".18446744073709551616",
        "? .a",
        ".a?b",
        "*",
        ".*",
        "[*]",
    ] {
        assert!(text.parse::<Path>().is_err(), "{text}");
    }
}

#[test]
fn a_pattern_prints_in_one_form() {
    for (text, printed) in [
        ("", ""),
        ("*", ".*"),
        (".*", ".*"),
        ("[*]", "[*]"),
        ("**", "**"),
        ("***", "**.*"),
        ("a", ".a"),
        ("_a", "._a"),
        ("`a b`", ".`a b`"),
        ("layers[*].w", ".layers[*].w"),
        ("0.w", ".0.w"),
        ("w.**", ".w**"),
        ("w.**.b", ".w**.b"),
        ("**.bias", "**.bias"),
        ("*.a", ".*.a"),
        (".0[1]?::A.0", ".0[1]?::A.0"),
        (r#"["a"][*].*"#, r#"["a"][*].*"#),
    ] {
        match (text.parse::<Pattern>(), printed) {
            (Ok(pattern), _) => assert_eq!(pattern.to_string(), printed, "{text}"),
            (Err(error), "**.*") => assert!(error.to_string().ends_with("found `*` at byte 2")),
            (Err(error), _) => panic!("{text}: {error}"),
        }
    }
    let wide = ["[18446744073709551616]", "[18446744073709551616i128]", "[-5000000000]"];
    for text in wide {
        let path: Path = text.parse().unwrap();
        assert!(text.parse::<Pattern>().unwrap().matches(&path), "{text}");
    }
    for text in ["[18446744073709551616:]", "[:18446744073709551616]"] {
        assert!(text.parse::<Pattern>().is_err(), "{text}");
    }
    for text in ["a b", "a*", ".a*", "**a", "[*", "1a", "-", "a.*b", " a", "é"] {
        assert!(text.parse::<Pattern>().is_err(), "{text}");
    }
}
