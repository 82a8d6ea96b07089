//! Laws of lowering and reading, refused structures, and damaged input.

use fastrand::Rng;
use treedef::{Limits, Tree, TreeDef, Value};
use treedef_pytrees::jax::{self, ShapeDtype};
use treedef_pytrees::{Error, ErrorKind, Lowering, orbax, python, torch};
use treedef_testing::structures;

fn def(text: &str) -> TreeDef {
    text.parse().unwrap()
}

#[test]
fn what_was_lowered_comes_back() {
    let mut rng = Rng::with_seed(1);
    for _ in 0..5_000 {
        let treedef = structure(&mut rng);
        let leaves: Vec<usize> = (0..treedef.num_leaves()).collect();
        let tree = Tree::new(treedef.clone(), leaves).unwrap();

        let literal = python::literal(&treedef, &Lowering::new()).unwrap();
        let proto = jax::proto(&treedef, &Lowering::new()).unwrap();
        let flatbuffer = jax::flatbuffer(&treedef, &Lowering::new()).unwrap();
        let spec = torch::treespec(&treedef, &Lowering::new()).unwrap();
        for (order, there) in [
            (&literal.order, literal.permute(tree.leaves()).unwrap()),
            (&proto.order, proto.permute(tree.leaves()).unwrap()),
            (&flatbuffer.order, flatbuffer.permute(tree.leaves()).unwrap()),
            (&spec.order, spec.permute(tree.leaves()).unwrap()),
        ] {
            assert_eq!(*order, there);
        }
        assert_eq!(spec.restore(spec.order.iter().flatten().copied()).unwrap(), tree);
        assert_eq!(proto.restore(proto.order.iter().flatten().copied()).unwrap(), tree);

        // The same structure in every format.
        let raised = python::from_literal(&literal.data).unwrap();
        assert_eq!(jax::from_proto(&proto.data).unwrap().treedef, raised.treedef);
        assert_eq!(jax::from_flatbuffer(&flatbuffer.data).unwrap().treedef, raised.treedef);
        // Containers of Python are lowered to themselves.
        let again = python::literal(&raised.treedef, &Lowering::strict()).unwrap();
        assert_eq!(python::from_literal(&again.data).unwrap().treedef, raised.treedef);
        assert!(again.statics.is_empty());
    }
}

fn structure(rng: &mut Rng) -> TreeDef {
    loop {
        let treedef = structures::structure(rng, 4);
        if python::literal(&treedef, &Lowering::new()).is_ok() {
            return treedef;
        }
    }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, expected: &str) {
    assert_eq!(result.unwrap_err().to_string(), expected);
}

#[test]
fn strict_lowering_names_the_path() {
    let rows = [
        ("(*, A { a: * })", "a struct has no counterpart in Python (see `Lowering`) at `.1`"),
        ("[A(*, *)]", "a tuple struct has no counterpart in Python (see `Lowering`) at `[0]`"),
        ("[A(*)]", "a newtype has no counterpart in Python (see `Lowering`) at `[0]`"),
        ("[Some(*)]", "a `Some` has no counterpart in Python (see `Lowering`) at `[0]`"),
        ("[()]", "a unit has no counterpart in Python (see `Lowering`) at `[0]`"),
        ("[A::B(*)]", "a variant has no counterpart in Python (see `Lowering`) at `[0]`"),
        ("[*, static 1]", "a static has no counterpart in Python (see `Lowering`) at `[1]`"),
    ];
    for (text, message) in rows {
        refused(python::literal(&def(text), &Lowering::strict()), message);
        refused(jax::proto(&def(text), &Lowering::strict()), message);
        refused(jax::flatbuffer(&def(text), &Lowering::strict()), message);
        refused(torch::treespec(&def(text), &Lowering::strict()), message);
    }
    for text in ["[*, (*, None), {\"a\": *}]", "(,)", "{}"] {
        python::literal(&def(text), &Lowering::strict()).unwrap();
    }
}

#[test]
fn keys_that_python_does_not_tell_apart_are_refused() {
    refused(
        python::literal(&def("[{1u8: *, 1u64: *}]"), &Lowering::new()),
        "two keys of the dict are 1 to Python at `[0]`",
    );
    refused(
        python::literal(&def("{true: *, 1.0: *}"), &Lowering::new()),
        "two keys of the dict are 1.0 to Python at the root",
    );
    refused(
        python::literal(&def("{[1]: *}"), &Lowering::new()),
        "`[1]` cannot be the key of a dict at the root",
    );
    refused(
        jax::proto(&def("[{1: *}]"), &Lowering::new()),
        "the key 1 is not a string, as JAX's files want at `[0]`",
    );
    refused(
        torch::treespec(&def("{(1, 2): *}"), &Lowering::new()),
        "the key (1, 2) has no JSON, in which torch stores keys at the root",
    );
    refused(
        python::literal(&def("[{2.5: *, b\"x\": *}]"), &Lowering::new()),
        "the keys 2.5 and b'x' have no order in Python, so JAX takes neither at `[0]`",
    );
    refused(
        python::literal(&def("{(1, 2): *, (1, \"a\"): *}"), &Lowering::new()),
        "the keys (1, 2) and (1, 'a') have no order in Python, so JAX takes neither at the root",
    );
    assert!(torch::treespec(&def("{2.5: *, \"a\": *}"), &Lowering::new()).is_ok());
    let order = |text: &str| python::literal(&def(text), &Lowering::new()).unwrap().data;
    assert_eq!(order("{(None, 1.5): *, (None, 2): *}"), "{(None, 1.5): 1, (None, 2): 0}");
    assert_eq!(order("{(2, \"a\"): *, (1, 2): *}"), "{(1, 2): 0, (2, 'a'): 1}");
    assert_eq!(
        order("{9007199254740992.0: *, 9007199254740993i64: *, 2.5: *, 3: *, true: *}"),
        "{True: 0, 2.5: 3, 3: 1, 9007199254740992.0: 4, 9007199254740993: 2}"
    );
    refused(
        python::literal(
            &def("{1152921504606846976i64: *, 1.152921504606847e18: *}"),
            &Lowering::new(),
        ),
        "two keys of the dict are 1.152921504606847e+18 to Python at the root",
    );
    assert!(
        python::literal(
            &def("{1152921504606847000i64: *, 1.152921504606847e18: *}"),
            &Lowering::new()
        )
        .is_ok()
    );
    assert_eq!(
        python::literal(&def("{\"b\": *, \"a\": *}"), &Lowering::new()).unwrap().data,
        "{'a': 0, 'b': 1}"
    );
    assert_eq!(
        python::literal(&def("{10: *, 9: *, -1: *}"), &Lowering::new()).unwrap().data,
        "{-1: 0, 9: 1, 10: 2}"
    );
}

#[test]
fn statics_are_beside_the_data() {
    let treedef = def("M { a: static 1, b: [static 2, *], c: N(static 3) }");
    let lowered = python::literal(&treedef, &Lowering::new()).unwrap();
    assert_eq!(lowered.data, "{'b': [0]}");
    let paths: Vec<String> = lowered.statics.iter().map(|(path, _)| path.to_string()).collect();
    assert_eq!(paths, [".a", ".b[0]", ".c.0"]);
    assert_eq!(lowered.statics[2].1, Value::of(&3).unwrap());
    assert_eq!(lowered.restore([7]).unwrap().treedef(), &treedef);
    refused(
        python::literal(&def("static 1"), &Lowering::new()),
        "nothing is left without the statics",
    );
}

#[test]
fn limits_hold() {
    refused(
        python::literal(&def("[*; 100000000]"), &Lowering::new()),
        "100000001 nodes, the limit is 16777216 (see `Lowering::max_nodes`)",
    );
    let lowering = Lowering::new().max_nodes(3);
    assert!(python::literal(&def("[*; 2]"), &lowering).is_ok());
    assert!(python::literal(&def("[*; 3]"), &lowering).is_err());
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    refused(python::from_literal(&deep), "nested deeper than 200 levels at byte 200");
    assert!(matches!(torch::from_treespec(&deep).unwrap_err().kind(), ErrorKind::Limit { .. }));
    let nested = |count: usize| {
        let text = format!("{}*{}", "[".repeat(count), "]".repeat(count));
        TreeDef::parse_with(&text, Limits { max_depth: 300, ..Limits::default() }).unwrap()
    };
    for count in [63, 100, 200] {
        let spec = torch::treespec(&nested(count), &Lowering::new()).unwrap();
        assert_eq!(torch::from_treespec(&spec.data).unwrap().treedef, nested(count));
        let literal = python::literal(&nested(count), &Lowering::new()).unwrap();
        assert_eq!(python::from_literal(&literal.data).unwrap().treedef, nested(count));
    }
    assert!(python::literal(&nested(201), &Lowering::new()).is_err());
    // Python refuses 201 brackets, and a variant has two.
    let levels = |count: usize| {
        python::from_literal(&format!("{}0{}", "[".repeat(count), "]".repeat(count)))
    };
    assert!(levels(200).is_ok());
    refused(levels(201), "nested deeper than 200 levels at byte 200");
    let variants =
        |count: usize| def(&format!("{}*{}", "E::A(*, ".repeat(count), ")".repeat(count)));
    assert_eq!(
        python::literal(&variants(100), &Lowering::new()).unwrap().data.matches('(').count(),
        100
    );
    assert!(python::literal(&variants(101), &Lowering::new()).is_err());
    let key = |count: usize| {
        let around = format!("{}{{((1,),): *}}{}", "[".repeat(count), "]".repeat(count));
        TreeDef::parse_with(&around, Limits { max_depth: 300, ..Limits::default() }).unwrap()
    };
    assert!(python::literal(&key(197), &Lowering::new()).is_ok());
    assert!(python::literal(&key(198), &Lowering::new()).is_err());
    // One long string at many places.
    let long = "x".repeat(1 << 20);
    let many = def(&format!("[{{\"{long}\": *}}; 1000]"));
    assert!(matches!(
        jax::proto(&many, &Lowering::new()).unwrap_err().kind(),
        ErrorKind::Limit { .. }
    ));
    assert!(matches!(
        python::from_literal(&"{".repeat(300)).unwrap_err().kind(),
        ErrorKind::Limit { .. } | ErrorKind::Malformed(_)
    ));
    let keys: String = (0..20_000).map(|_| r#"{"key": "a", "key_type": 2},"#).collect();
    let orbax = format!(
        r#"{{"tree_metadata": {{"x": {{"key_metadata": [{}], "value_metadata": {{"value_type": "a"}}}}}}}}"#,
        keys.trim_end_matches(',')
    );
    assert!(matches!(orbax::metadata(&orbax).unwrap_err().kind(), ErrorKind::Limit { .. }));
    let mut proto = b"\x0a\x02\x10\x01".to_vec();
    (0..100_000).for_each(|_| proto.extend(b"\x0a\x04\x08\x01\x10\x02"));
    assert!(matches!(jax::from_proto(&proto).unwrap_err().kind(), ErrorKind::Limit { .. }));
}

#[test]
fn leaves_are_counted() {
    let lowered = jax::proto(&def("[*, *]"), &Lowering::new()).unwrap();
    refused(lowered.permute(&[1]), "expected 2 leaves, found 1");
    refused(lowered.restore([1, 2, 3]), "expected 2 leaves, found 3");
    let spec = torch::treespec(&def("(None, *)"), &Lowering::new()).unwrap();
    assert_eq!(spec.restore([1, 2]).unwrap().leaves(), [2]);
    assert_eq!(spec.restore([2]).unwrap().leaves(), [2]);
    refused(spec.restore([1, 2, 3]), "expected 2 leaves, found 3");
    let shapes = Tree::new(def("[*]"), vec!["Array(float32[2])".parse().unwrap()]).unwrap();
    let json = jax::pytreedef_json(&shapes).unwrap().data;
    refused(
        jax::from_pytreedef_json(&json.replace("[2])\"", "[2])\", \"int\"")),
        "expected 1 leaves, found 2",
    );
}

/// The types of leaves are in JAX's notation: the name of a type, an array, or null for `None`.
#[test]
fn types_of_leaves_come_back() {
    let treedef = def("[*, *, *]");
    let shapes = ["null", "Array(bfloat16[3, 4])", "int"].map(|text| text.parse().unwrap());
    let shapes = Tree::<ShapeDtype>::new(treedef, shapes.to_vec()).unwrap();
    let json = jax::pytreedef_json(&shapes).unwrap().data;
    assert!(json.ends_with(r#"[null, "Array(bfloat16[3, 4])", "int"]}"#), "{json}");
    let (raised, read) = jax::from_pytreedef_json(&json).unwrap();
    assert_eq!(raised.restore(read).unwrap(), shapes);

    let rows = [
        ("7", "the number 7"),
        ("true", "true"),
        (r#"{"a": 1}"#, "an object"),
        ("[]", "a list"),
        ("0.5", "the number 0.5"),
    ];
    for (id, found) in rows {
        let expected = format!(
            "`__jax_leaf_ids` has {found}, where a type of leaves is expected, as \
             \"Array(float32[3])\" or null"
        );
        refused(jax::from_pytreedef_json(&json.replace("null", id)), &expected);
    }
    for (text, expected) in [
        ("Array([])", r#""Array([])" has no dtype, as in `Array(float32[3])`"#),
        ("Array(a b[3])", r#""Array(a b[3])" has no dtype, as in `Array(float32[3])`"#),
        ("Array(u1[,3])", r#""Array(u1[,3])" has an axis that is not a number"#),
        ("Array(u1[3,])", r#""Array(u1[3,])" has an axis that is not a number"#),
    ] {
        refused(text.parse::<ShapeDtype>(), expected);
    }
    assert_eq!(
        "Array(u1[ 3,4 ])".parse::<ShapeDtype>().unwrap(),
        ShapeDtype::Array { dtype: "u1".to_owned(), shape: vec![3, 4] }
    );
    assert_eq!(
        "Array(u1[ ])".parse::<ShapeDtype>().unwrap(),
        ShapeDtype::Array { dtype: "u1".to_owned(), shape: vec![] }
    );
}

/// As the tensors of the same values.
#[test]
fn half_floats_have_their_dtype() {
    let rows = [
        ("[f16(u16), f16(u16)]", "Array(float16[2])"),
        ("[[bf16(u16); 3]; 2]", "Array(bfloat16[2, 3])"),
        ("(bf16(u16), u16)", "(Array(bfloat16[]), Array(uint16[]))"),
        ("[f16(u8); 2]", "Array(uint8[2])"),
        ("[Half(u16); 2]", "Array(uint16[2])"),
    ];
    for (signature, expected) in rows {
        let shapes = jax::shapes(&signature.parse().unwrap()).unwrap();
        assert_eq!(shapes.to_string(), expected, "{signature}");
    }
}

#[test]
fn literals_that_are_none_are_refused_where_they_go_wrong() {
    let rows = [
        ("", "expected a literal, found the end at byte 0"),
        ("[1 2]", "expected `,` or `]`, found `2]` at byte 3"),
        ("{'a': 1, 'a': 2}", "the key 'a' occurs twice at byte 9"),
        ("{1: 0, True: 0}", "the key True occurs twice at byte 7"),
        ("{'a' 1}", "expected `:`, found `1}` at byte 5"),
        ("'abc", "a string that does not end at byte 4"),
        ("'\\N{BULLET}'", "an escape that is not known at byte 1"),
        (
            "{340282366920938463463374607431768211456: 0}",
            "no key here: it is complex, `...`, or has more than 128 bits at byte 1",
        ),
        ("{ (1, 2j): 0}", "no key here: it is complex, `...`, or has more than 128 bits at byte 2"),
        ("{1, set()}", "expected a literal, found `set()}` at byte 4"),
        ("{1: 2, 3}", "expected `:`, found `}` at byte 8"),
        ("{1, 2: 3}", "expected `,` or `}`, found `: 3}` at byte 5"),
        ("[01]", "expected a number, found `01]` at byte 1"),
        ("1__0", "expected a number, found `1__0` at byte 0"),
        ("0b_x", "expected a number, found `0b_x` at byte 0"),
        ("1_e5", "expected a number, found `1_e5` at byte 0"),
        ("1jj", "expected a number, found `1jj` at byte 0"),
        ("0x1j", "expected a number, found `0x1j` at byte 0"),
        ("+-9", "expected a number, found `+-9` at byte 0"),
        ("1+-2j", "expected the end, found `+-2j` at byte 1"),
        ("-\n9", "expected a number, found `-\n9` at byte 0"),
        ("1,\n2", "expected the end, found `2` at byte 3"),
        ("'a'\n'b'", "expected the end, found `'b'` at byte 4"),
        ("#c\n 1", "expected no space before, found `1` at byte 4"),
        ("['\0']", "a null byte, which no literal has at byte 2"),
        ("b'\\é'", "bytes have ASCII characters only at byte 3"),
        ("nan", "expected a literal, found `nan` at byte 0"),
        ("[1] 2", "expected the end, found `2` at byte 4"),
        ("1x", "expected a number, found `1x` at byte 0"),
        ("f'{x}'", "expected a literal, found `f'{x}'` at byte 0"),
    ];
    for (text, message) in rows {
        refused(python::from_literal(text), message);
    }
}

/// `ast.literal_eval` reads all of them.
#[test]
fn literals_are_read_as_python_reads_them() {
    let rows = [
        ("(1)", "*"),
        ("((1,),)", "((*,),)"),
        ("()", "(,)"),
        (" { 'a' : - 1 } ", r#"{"a": *}"#),
        ("[1_000, 1e999, -1+2j, 01j, 0_1.5j, 00, 0x_ff, .5, 5.]", "[*, *, *, *, *, *, *, *, *]"),
        ("1, 2", "(*, *)"),
        ("1, [2], # a comment\n#another\n", "(*, [*])"),
        ("[{2j}, {...}, {(1, 2j), None}, set ( )]", "[*, *, *, *]"),
        ("1, \\\n\\\r\n 2", "(*, *)"),
        ("\n#c\r1", "*"),
        ("[-\n9, 'a'\n'b', #c\n]", "[*, *]"),
        ("{'''a\r\nb''': 0}", r#"{"a\nb": *}"#),
        ("{r'''a\\\r\nb''': 0}", r#"{"a\\\nb": *}"#),
        ("{r'a\\\r\nb': 0}", r#"{"a\\\nb": *}"#),
        ("{r'a\\\rb': 0}", r#"{"a\\\nb": *}"#),
    ];
    for (text, expected) in rows {
        assert_eq!(python::from_literal(text).unwrap().treedef, def(expected), "{text}");
    }
}

#[test]
fn classes_of_python_are_named() {
    let leaf = r#"{"type": null, "context": null, "children_spec": []}"#;
    let spec = |class: &str, context: &str, children: usize| {
        let children = vec![leaf; children].join(", ");
        let text = format!(
            r#"[1, {{"type": "{class}", "context": {context}, "children_spec": [{children}]}}]"#
        );
        torch::from_treespec(&text).map(|raised| {
            let class = raised.classes.first().map_or("", |(_, class)| class.as_str());
            format!("{} {class}", raised.treedef)
        })
    };
    let rows = [
        (
            "collections.OrderedDict",
            r#""[\"b\", \"a\"]""#,
            r#"{"a": *, "b": *} collections.OrderedDict"#,
        ),
        ("collections.deque", r#""3""#, "[*, *] collections.deque"),
        ("collections.namedtuple", r#""demo.Point""#, "`demo.Point`(*, *) demo.Point"),
        (
            "demo.Linear",
            r#""[[\"w\", \"b\"], [\"c\"]]""#,
            "`demo.Linear` { w: *, b: *, c: None } demo.Linear",
        ),
        ("demo.Other", r#""7""#, "`demo.Other`(*, *) demo.Other"),
        (
            "collections.defaultdict",
            r#"{"default_factory_module": "builtins", "default_factory_name": "list", "dict_context": ["a", 1]}"#,
            r#"{1i64: *, "a": *} collections.defaultdict"#,
        ),
    ];
    for (class, context, expected) in rows {
        assert_eq!(spec(class, context, 2).unwrap(), expected);
    }
    assert_eq!(spec("demo.One", r#""7""#, 1).unwrap(), "`demo.One`(*,) demo.One");
    assert_eq!(spec("demo.Nothing", "null", 0).unwrap(), "`demo.Nothing`() demo.Nothing");
    assert!(spec("builtins.dict", r#""[\"a\"]""#, 2).is_err());
    assert!(spec("builtins.dict", r#""[\"a\", \"a\"]""#, 2).is_err());
}

#[test]
fn keys_that_are_not_read_are_told() {
    let leaf = r#"{"type": null, "context": null, "children_spec": []}"#;
    let spec = |context: &str| {
        let context = serde_json::to_string(context).unwrap();
        format!(
            r#"[1, {{"type": "builtins.dict", "context": {context}, "children_spec": [{leaf}]}}]"#
        )
    };
    let rows = [
        (
            "[Infinity]",
            "the context \"[Infinity]\" is not read as JSON: expected value at line 1 column 2 at byte 1",
        ),
        (
            "[NaN]",
            "the context \"[NaN]\" is not read as JSON: expected value at line 1 column 2 at byte 1",
        ),
        (
            r#"["\ud800"]"#,
            "the context \"[\\\"\\\\ud800\\\"]\" is not read as JSON: unexpected end of hex escape at line 1 column 9 at byte 8",
        ),
        (r#"{"a": 1}"#, "a context that is an object, not a list of keys"),
        (
            r#"[{"__enum__": true, "fqn": "m:E", "name": "A"}]"#,
            "a key that is an object, as those of enums",
        ),
        ("[1e20]", "the key 1e20 may be a float or a large integer"),
    ];
    for (context, expected) in rows {
        refused(torch::from_treespec(&spec(context)), &format!("{expected} at the root"));
    }
}

/// More elements than the treespec would be lost.
#[test]
fn a_treespec_is_all_of_its_text() {
    let leaf = r#"{"type": null, "context": null, "children_spec": []}"#;
    assert_eq!(torch::from_treespec(&format!("[1, {leaf}]")).unwrap().treedef, def("*"));
    for text in [format!("[1, {leaf}, {leaf}]"), format!("[1, {leaf}, null]"), "[1]".to_owned()] {
        refused(torch::from_treespec(&text), "no list of a protocol and a treespec at byte 0");
    }
}

/// A key that torch wrote is that key, to the last bit: also where this crate alone decides the features of `serde_json`.
#[test]
fn float_keys_of_torch_come_back() {
    let mut rng = Rng::with_seed(7);
    let near = [0.9452706955539223, 1.602176634e-19, 9.109e-31, 5e-324, -0.0];
    let random = (0..1000).map(|_| rng.f64() * 10f64.powi(rng.i32(-300..15)));
    for key in near.into_iter().chain(random.collect::<Vec<_>>()) {
        let treedef = def(&format!("{{{key:?}: *}}"));
        let spec = torch::treespec(&treedef, &Lowering::new()).unwrap();
        let raised = torch::from_treespec(&spec.data).unwrap();
        assert_eq!(raised.treedef, treedef, "{key:?}");
    }
}

/// A number of 64 bits has at most one in its tenth byte.
#[test]
fn numbers_of_a_proto_have_64_bits() {
    let proto = |last: u8| {
        let arity = [&[0x08][..], &[0x80; 9], &[last]].concat();
        let node = [&arity[..], b"\x10\x01"].concat();
        jax::from_proto(&[&[0x0a, node.len() as u8][..], &node].concat())
    };
    assert_eq!(proto(0).unwrap().treedef, def("*"));
    refused(proto(1), "a node of 9223372036854775808 children, where 0 came before it at byte 0");
    for last in [2, 3, 0x7e] {
        refused(proto(last), "a number of more than 64 bits at byte 3");
    }
    refused(proto(0x80), "a number of more than 64 bits at byte 3");
}

/// The keys of an `OrderedDict` are JSON in a flatbuffer. JAX writes only strings.
#[test]
fn the_keys_of_an_ordered_dict_are_strings() {
    let flatbuffer = |keys: &str| {
        let mut bytes = vec![];
        let name = "collections.OrderedDict";
        bytes.extend(20u32.to_le_bytes()); // the root
        bytes.extend([14u16, 20, 4, 0, 0, 8, 12, 0].map(u16::to_le_bytes).concat()); // its vtable
        bytes.extend(16i32.to_le_bytes());
        bytes.extend([5, 0, 0, 0]);
        bytes.extend(8u32.to_le_bytes());
        bytes.extend((8 + name.len() as u32).to_le_bytes());
        for text in [name, keys] {
            bytes.extend((text.len() as u32).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
        jax::from_flatbuffer(&bytes)
    };
    let empty = flatbuffer("[]").unwrap();
    assert_eq!(empty.treedef, def("{}"));
    assert_eq!(empty.classes[0].1, "collections.OrderedDict");
    refused(flatbuffer("[1]"), "the keys of an OrderedDict are not a list of strings at byte 20");
}

/// Two interned strings may be the same, though JAX writes none twice.
#[test]
fn a_key_may_not_stand_twice_under_two_numbers() {
    let proto = b"\x0a\x02\x10\x01\x0a\x02\x10\x01\x0a\x0a\x08\x02\x10\x05\x1a\x04\x0a\x02\x00\x01\x12\x01b\x12\x01b";
    refused(jax::from_proto(proto), "the key \"b\" occurs twice at byte 8");
}

/// How many damaged files are tried: a million where somebody waits for them.
fn mutations() -> usize {
    let set = std::env::var("TREEDEF_EXCHANGE_MUTATIONS").ok();
    set.and_then(|count| count.parse().ok()).unwrap_or(50_000)
}

/// Damaged files are refused, or read as a structure that round-trips.
#[test]
fn damaged_files_are_refused_or_read() {
    let mut rng = Rng::with_seed(7);
    let metadata = include_bytes!("vectors/orbax_metadata.json");
    let (mut accepted, mut refused) = (0, 0);
    for index in 0..mutations() {
        let treedef = structure(&mut rng);
        let mut bytes = match index % 5 {
            0 => jax::proto(&treedef, &Lowering::new()).unwrap().data,
            1 => jax::flatbuffer(&treedef, &Lowering::new()).unwrap().data,
            2 => torch::treespec(&treedef, &Lowering::new()).unwrap().data.into_bytes(),
            3 => python::literal(&treedef, &Lowering::new()).unwrap().data.into_bytes(),
            _ => metadata.to_vec(),
        };
        for _ in 0..rng.usize(1..4) {
            let at = rng.usize(0..bytes.len());
            match rng.u8(0..4) {
                0 => bytes[at] = rng.u8(..),
                1 => bytes[at] ^= 1 << rng.u8(0..8),
                2 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, rng.u8(..)),
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        let read = match index % 5 {
            0 => jax::from_proto(&bytes),
            1 => jax::from_flatbuffer(&bytes),
            2 => torch::from_treespec(&text),
            3 => python::from_literal(&text),
            _ => orbax::metadata(&text).map(|metadata| metadata.raised),
        };
        let Ok(raised) = read else {
            refused += 1;
            continue;
        };
        accepted += 1;
        let leaves = raised.order.iter().flatten().count();
        assert_eq!(leaves, raised.treedef.num_leaves());
        let literal = match python::literal(&raised.treedef, &Lowering::new()) {
            Ok(literal) => literal,
            // Keys that Python keeps, and cannot put in order.
            Err(error) => {
                assert!(error.to_string().contains("have no order in Python"), "{error}");
                continue;
            }
        };
        let lowered = python::from_literal(&literal.data).unwrap().treedef;
        let again = match index % 5 {
            0 => jax::from_proto(&jax::proto(&raised.treedef, &Lowering::new()).unwrap().data),
            1 => jax::from_flatbuffer(
                &jax::flatbuffer(&raised.treedef, &Lowering::new()).unwrap().data,
            ),
            _ => continue,
        };
        assert_eq!(again.unwrap().treedef, lowered);
    }
    assert!(accepted > 0 && refused > 0, "{accepted} {refused}");
}

/// `_METADATA` with these entries: the keys, and the description of the leaf.
fn orbax_file(entries: &[(&[&str], &str)]) -> String {
    let entry = |(keys, value): &(&[&str], &str)| {
        let name = keys.join(".");
        let keys = keys.iter().map(|key| format!(r#"{{"key": "{key}", "key_type": 2}}"#));
        let keys = keys.collect::<Vec<_>>().join(", ");
        format!(r#""{name}": {{"key_metadata": [{keys}]{value}}}"#)
    };
    let entries: Vec<String> = entries.iter().map(entry).collect();
    format!(r#"{{"tree_metadata": {{{}}}}}"#, entries.join(", "))
}

#[test]
fn leaves_of_orbax_stand_in_the_order_of_the_file() {
    let leaf = r#", "value_metadata": {"value_type": "scalar"}"#;
    let none = r#", "value_metadata": {"value_type": "None"}"#;
    let file =
        orbax_file(&[(&["a", "x"], leaf), (&["b"], leaf), (&["n"], none), (&["a", "y"], leaf)]);
    let metadata = orbax::metadata(&file).unwrap();
    assert_eq!(metadata.tree.treedef(), &def(r#"{"a": {"x": *, "y": *}, "b": *, "n": None}"#));
    assert_eq!(metadata.raised.order, [Some(0), Some(2), Some(1)]);
}

#[test]
fn metadata_of_orbax_that_is_wrong_is_told() {
    let rows = [
        ("", "`value_metadata` is missing"),
        (r#", "value_metadata": {}"#, "`value_type` is missing"),
        (r#", "value_metadata": {"value_type": 1}"#, "`value_type` is the number 1, not a text"),
        (
            r#", "value_metadata": {"value_type": "a", "write_shape": [3, -1]}"#,
            "`write_shape` has the number -1, no size",
        ),
        (
            r#", "value_metadata": {"value_type": "a", "write_shape": "3"}"#,
            "`write_shape` is the text \"3\", not a list",
        ),
    ];
    for (value, expected) in rows {
        let file = orbax_file(&[(&["a", "x"], value)]);
        refused(orbax::metadata(&file), &format!("`a.x`: {expected}"));
    }
    let rich = |node: &str| {
        serde_json::json!({ "value_metadata_tree": format!(r#"{{"a": {node}}}"#) }).to_string()
    };
    let tuple = r#"{"category": "custom", "clazz": "tuple", "entries": []}"#;
    let metadata = orbax::metadata(&rich(tuple)).unwrap();
    assert_eq!(metadata.tree.treedef().to_string(), r#"{"a": (,)}"#);
    for node in [
        r#"{"category": "custom", "clazz": "tuple"}"#,
        r#"{"category": "custom", "clazz": "tuple", "entries": {}}"#,
        r#"{"category": "namedtuple", "clazz": "P", "entires": []}"#,
    ] {
        refused(orbax::metadata(&rich(node)), r#"a tuple without `entries` at `["a"]`"#);
    }
}
