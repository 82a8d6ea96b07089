//! Paths as people write them, and as they were stored before a type changed.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use treedef::{Flattener, Key, Leaf, Limits, NodeKind, Path, Pattern, Tree, TreeDef};
use treedef_testing::cases::{all, config};
use treedef_testing::found::resolved;
use treedef_testing::hostile::{Plain, with_tapes};

fn def(text: &str) -> TreeDef {
    text.parse().unwrap()
}

/// Other ways to write a key.
fn forms(key: &Key) -> Vec<Key> {
    let mut forms = vec![key.clone()];
    match key {
        Key::Field(name) | Key::VariantField(_, name) => {
            forms.push(Key::Field(name.clone()));
            forms.push(Key::Entry(Leaf::from(&**name).into_value()));
        }
        Key::Position(index) | Key::Index(index) | Key::VariantPosition(_, index) => {
            forms.extend([Key::Position(*index), Key::Index(*index)]);
            forms.push(Key::Entry(Leaf::from(*index as u16).into_value()));
        }
        Key::Entry(value) => {
            forms.extend(value.as_str().map(|text| Key::Field(text.to_owned().into())));
            let index = value.as_leaf().and_then(Leaf::as_u64);
            forms.extend(index.map(|index| Key::Index(index as usize)));
        }
        _ => {}
    }
    forms
}

trait IntoValue {
    fn into_value(self) -> treedef::Value;
}

impl IntoValue for Leaf {
    fn into_value(self) -> treedef::Value {
        self.into()
    }
}

/// A path that is printed is a path and a pattern, and both name its node.
fn is_read_back(path: &Path) {
    let text = path.to_string();
    assert_eq!(text.parse::<Path>().unwrap(), *path);
    assert!(text.parse::<Pattern>().unwrap().matches(path), "{text}");
}

/// A printed path is found. So is any other form of it, unless the error names two nodes.
fn finds_all(treedef: &TreeDef) {
    for (path, node) in treedef.nodes() {
        let found = treedef.node(&path).unwrap();
        // Of equal keys the first is found.
        if treedef.leaf_paths().filter(|other| *other == path).count() < 2 {
            assert_eq!(found.to_string(), node.to_string(), "{path}");
        }
        assert_eq!(resolved(treedef, &path).unwrap(), path);
        let newtypes: Vec<bool> = (0..path.keys().len())
            .map(|at| Path::from(path.keys()[..at].to_vec()))
            .map(|above| treedef.node(&above).unwrap().kind() == NodeKind::NewtypeStruct)
            .collect();
        is_read_back(&path);
        for at in 0..path.keys().len() {
            // An index names an element inside the newtype.
            let key = &path.keys()[at];
            for form in if newtypes[at] { vec![key.clone()] } else { forms(key) } {
                let mut keys = path.keys().to_vec();
                keys[at] = form;
                let asked = Path::from(keys);
                match resolved(treedef, &asked) {
                    Ok(found) if found == path => {}
                    // The form is the key of another child.
                    Ok(found) => assert_eq!(found, asked, "{path}"),
                    Err(error) => {
                        assert!(error.to_string().contains(" can mean "), "{asked}: {error}");
                    }
                }
            }
        }
        // A `?` is optional, and so is the `.0` of a newtype, unless another `.0` follows.
        let mut spelled: Vec<Key> = Vec::new();
        for (key, is_newtype) in path.keys().iter().zip(&newtypes).rev() {
            let is_meant = *is_newtype && spelled.last() == Some(&Key::Position(0));
            if *key != Key::Some && !is_newtype || is_meant {
                spelled.push(key.clone());
            }
        }
        spelled.reverse();
        let is_inner = newtypes.last() == Some(&true) || path.keys().last() == Some(&Key::Some);
        let spelled = Path::from(spelled);
        let found = resolved(treedef, &spelled).unwrap();
        let inside = matches!(node.kind(), NodeKind::Some | NodeKind::NewtypeStruct) || is_inner;
        assert!(found == path || inside, "{spelled}: {found} {path}");
        if node.is_leaf() {
            let found = treedef.node(&spelled).unwrap();
            assert_eq!(found.leaf_range(), treedef.node(&path).unwrap().leaf_range());
        }
    }
}

#[test]
fn whatever_prints_is_found_in_every_form() {
    for text in [
        "Cfg { server: Server { port: *, tls: Some(Tls { lr: * }) }, layers: [(*, *); 3] }",
        r#"{"server": {"port": *, "tls": Some(Some(*))}, "layers": [Shape::Box { w: *, h: * }]}"#,
        r#"{3u8: *, 4u32: [*], "a": Shape::Circle(*), 'c': Meters(*)}"#,
        r#"{3u8: *, 3u32: *, "x": *}"#,
        "W(W((W(*), W([*, V(Some((*, S { a: *, b: W(S { c: * }) })))]))))",
        "#[insertion] {9: *, \"b\": (Some(*), None), 1u64: [Some(*); 2]}",
    ] {
        finds_all(&def(text));
    }
    for specimen in crate::specimens::zoo() {
        let (_, treedef) = specimen.laws.flatten(&Flattener::new()).unwrap();
        // Each node is compared with all others.
        if treedef.num_nodes() < if all() { 200 } else { 60 } {
            finds_all(&treedef);
        }
    }
    proptest::proptest!(config(256), |(data in treedef_testing::data::data())| finds_all(&treedef::structure(&data).unwrap()));
}

#[test]
fn any_value_as_a_key_is_read_back_and_found() {
    with_tapes(4096, 64, |mut tape| {
        let key = treedef::Value::of(&Plain::draw(&mut tape, 3)).unwrap();
        let path = Path::from(vec![Key::Entry(key.clone())]);
        is_read_back(&path);
        let others = ["a", "z"].map(|name| (Leaf::from(name).into_value(), TreeDef::leaf()));
        let map = TreeDef::map(others.into_iter().chain([(key, TreeDef::leaf())])).unwrap();
        let tree = Tree::new(map, vec![0, 1, 2]).unwrap();
        let found: Vec<_> = tree.select(path.to_string()).unwrap().map(|(path, _)| path).collect();
        assert!(found.contains(&path), "{path}");
        assert_eq!(resolved(tree.treedef(), path.to_string()).unwrap(), path);
        Ok(())
    });
}

/// Keys are the same if they are the same value, for a path and for a pattern.
#[test]
fn a_key_is_found_by_its_value() {
    let keys = r#"-3i64 18446744073709551616u128 0.1f32 'c' b"x" None [1u64,2u64] {"a":1u8,"b":()} Some(3u8) Id("x") K::Red K::Of(1)"#;
    let ways = [
        "[-3] [-3i8] [-3i128] [Some(-3)]",
        "[18446744073709551616] [18446744073709551616i128]",
        "[0.1] [0.1f32]",
        r#"["c"] ['c']"#,
        r#"[b"x"]"#,
        "[()] [null] [None] [Marker]",
        "[[1,2]] [(1u8,2)] [[Some(1),2i128]]",
        r#"[{"b":null,"a":1}] [{"a":1u64,"b":None}] [P{a:1,b:()}]"#,
        "[3] [3i64] [Some(3)]",
        r#"["x"] [Name("x")]"#,
        r#"["Red"] [K::Red]"#,
        r#"[{"Of":1}]"#,
    ];
    let (all, count) = (keys.replace(' ', ": *, ") + ": *", keys.split(' ').count());
    let others =
        (0..300).map(|n| format!("\"key {n}\": *, {}u16: *, ", n + 1000)).collect::<String>();
    for (options, others) in [("", ""), ("#[insertion] ", ""), ("", &*others)] {
        let treedef = def(&format!("{options}{{{others}{all}}}"));
        let tree = Tree::new(treedef.clone(), (0..treedef.num_leaves()).collect()).unwrap();
        assert_eq!(ways.len(), count);
        for (key, ways) in keys.split(' ').zip(ways) {
            let path = Path::from(vec![Key::Entry(key.parse().unwrap())]);
            let leaf = *tree.get(&path).unwrap();
            for way in ways.split(' ') {
                assert_eq!(*tree.get(way).unwrap(), leaf, "{way}");
                let found: Vec<_> = tree.select(way).unwrap().collect();
                assert_eq!(found, [(path.clone(), &leaf)], "{way}");
            }
        }
        for none in
            [r#"["-3"]"#, r#"["3"]"#, "[3.0]", r#"["null"]"#, "[[1]]", r#"[["1","2"]]"#, "[0.2]"]
        {
            assert!(tree.get(none).is_err() && tree.select(none).is_err(), "{none}");
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Server {
    port: u16,
    tls: Option<u8>,
}

#[derive(Serialize, Deserialize)]
struct Flat {
    #[serde(flatten)]
    server: Server,
    name: String,
}

#[test]
fn a_field_is_found_where_flatten_made_a_map() {
    let flat = Flat { server: Server { port: 80, tls: Some(3) }, name: "a".to_owned() };
    let mut tree = Tree::of(&flat).unwrap();
    assert_eq!(tree.get(".port").unwrap(), &Leaf::U16(80));
    assert_eq!(tree.get("tls").unwrap(), &Leaf::U8(3));
    *tree.get_mut("port").unwrap() = Leaf::U16(443);
    assert_eq!(resolved(tree.treedef(), "tls").unwrap().to_string(), r#"["tls"]"#);
    let removed = tree.remove("tls").unwrap();
    assert_eq!(removed.to_string(), "Some(3u8)");
    assert_eq!(tree.into_typed::<Flat>().unwrap().server.port, 443);
}

#[test]
fn patterns_name_nodes() {
    let tree = Tree::of(&HashMap::from([("w", vec![1, 2])])).unwrap();
    for pattern in ["**.w", "w", "w.**", "w[*]", r#"["w"]"#, "*", "[*]", "**"] {
        assert_eq!(tree.select(pattern).into_iter().flatten().count(), 2, "{pattern}");
    }
    // `.*` is a name or a position: no index, and no key of a map that is a number.
    let numbered = Tree::of(&(vec![1], BTreeMap::from([(7u8, 2)]))).unwrap();
    assert_eq!(numbered.select(".*.*").into_iter().flatten().count(), 0);
    assert_eq!(numbered.select(".*[*]").unwrap().count(), 2);
    let tree = Tree::of(&(Some(Some(1)), BTreeMap::from([(7u8, (2, 3))]))).unwrap();
    assert_eq!(tree.select("0").unwrap().count(), 1);
    assert_eq!(tree.select("1[7].1").unwrap().count(), 1);
    assert_eq!(tree.select("*[*].*").unwrap().count(), 2);
    // A number is a key of any kind, also if it is written with one. An index has none.
    let kinds = r#"{"a": {1u8: *}, "b": {1i64: *, 2i64: *}, "c": [*, *]}"#.parse().unwrap();
    let kinds = Tree::new(kinds, vec!['a', 'b', 'x', 'x', 'c']).unwrap();
    for (pattern, expected) in
        [("**[1]", "abc"), ("**[1u8]", "abc"), ("**[1i64]", "abc"), ("**[1.0]", "")]
    {
        let found: String =
            kinds.select(pattern).into_iter().flatten().map(|(_, leaf)| *leaf).collect();
        assert_eq!(found, expected, "{pattern}");
    }
    // A node without leaves is named, too.
    let none = Tree::of(&(None::<i32>, 1)).unwrap();
    assert_eq!(none.select("0").unwrap().count(), 0);
    assert_snapshot!(none.select("0.x").err().unwrap(), @"no node matches `.0.x`");
    assert_eq!(tree.mask("0").unwrap().leaves(), [true, false, false]);
    assert_eq!(tree.mask("**").unwrap().leaves(), [true; 3]);
    assert_eq!(tree.mask(".1".parse::<Path>().unwrap()).unwrap().leaves(), [false, true, true]);
    assert_eq!(none.mask("0").unwrap().leaves(), [false]);
}

/// A visit of each node would take years.
#[test]
fn a_pattern_passes_over_what_it_does_not_name() {
    let mut text =
        "M { a: [[*; 1000000000]; 1000000], b: [L { w: [*; 3], x: S(*) }; 1000000000000]"
            .to_owned();
    // Of each list, the pattern `**[1].w` asks for one element by its position.
    let nested = (0..36).fold("N { v: * }".to_owned(), |inner, _| format!("[{inner}; 2]"));
    text += &format!(", c: {nested} }}");
    let treedef = def(&text).with_limits(Limits { max_work: usize::MAX, ..Limits::default() });
    let tree = Tree::new(treedef.clone(), vec![(); treedef.num_leaves()]).unwrap();
    let found = |pattern: &str| -> Vec<String> {
        tree.select(pattern)
            .into_iter()
            .flatten()
            .take(5)
            .map(|(path, ())| path.to_string())
            .collect()
    };
    assert_eq!(found("**[1].w"), [".b[1].w[0]", ".b[1].w[1]", ".b[1].w[2]"]);
    assert_eq!(found("**[1].v").len(), 5);
    assert_eq!(found("**[1].u"), [""; 0]);
    assert_eq!(found("**[1].**[0].u"), [""; 0]);
    assert_eq!(found("a[999999][999999999]"), [".a[999999][999999999]"]);
    assert_eq!(found("*[999999999999].x.0"), [".b[999999999999].x.0"]);
    assert_eq!(found("a[*][1000000000]"), [""; 0]);
    assert_eq!(found("b[*].**.v"), [""; 0]);
    let first = [".b[0].w[2]", ".b[1].w[2]", ".b[2].w[2]", ".b[3].w[2]", ".b[4].w[2]"];
    assert_eq!(found("**.w[2]"), first);
    assert_snapshot!(tree.select("**.ww").err().unwrap(), @"no node matches `**.ww` (did you mean `**.w`?)");
    assert_snapshot!(tree.select("b[*].w[3]").err().unwrap(), @"no node matches `.b[*].w[3]` (there are 3 elements at `.b[0].w`)");
    assert_eq!(tree.clone().select_mut("b[7].x").unwrap().count(), 1);
}

#[test]
fn errors_say_what_was_perhaps_meant() {
    let treedef = def(
        r#"Cfg { server: Server { port: *, weights: Some([*]) }, by_number: {3u8: *, 3u32: *}, flat: {"port": *} }"#,
    );
    let at = |path: &str| treedef.node(path).unwrap_err();
    assert_snapshot!(at(".server.wieghts"), @"no child `.wieghts` in `Server { port: *, weights: Some([*]) }` at `.server` (did you mean `.server.weights`?)");
    assert_snapshot!(at("sever.port"), @r#"no child `.sever` in `Cfg { server: Server { port: *, weights: Some([*]) }, by_num…` at the root (did you mean `.server`?)"#);
    assert_snapshot!(at(".flat.server.port"), @r#"no child `.server` in `{"port": *}` at `.flat` (did you mean `.flat["port"]`?)"#);
    assert_snapshot!(at(".by_number[3]"), @"`[3]` can mean `[3u8]` or `[3u32]` at `.by_number`");
    assert_snapshot!(at(".server.weights[1]"), @"no child `[1]` in `[*]` at `.server.weights?`");
    assert_snapshot!(at(".server.port.x"), @"no child `.x` in `*` at `.server.port`");
    assert_snapshot!(at(".server.x"), @"no child `.x` in `Server { port: *, weights: Some([*]) }` at `.server`");

    // Of several keys, the name of one, and the other way round; a number and its text; in a newtype.
    let treedef = def(
        r#"M { m: {"a.b": *, "a.c": *, "x": {"l.0.w": *}}, by: {6: *, 7: *, -1: *}, at: {"7": *}, both: {7u8: *, 7: *}, wrap: Wrap(Inner { id: *, at: W([*]) }) }"#,
    );
    let at = |path: &str| {
        let error = treedef.node(path).unwrap_err().to_string();
        error.split_once("did you mean ").map(|(_, meant)| meant.to_owned()).unwrap_or(error)
    };
    assert_snapshot!(at("m.a.c"), @r#"`.m["a.c"]`?)"#);
    assert_snapshot!(at("m.a.cc"), @r#"`.m["a.c"]`?)"#);
    assert_snapshot!(at("m.x.l[0].w"), @r#"`.m["x"]["l.0.w"]`?)"#);
    assert_snapshot!(at(r#"["wrap.id"]"#), @"`.wrap.0.id`?)");
    assert_snapshot!(at(r#"by["7"]"#), @"`.by[7]`?)");
    assert_snapshot!(at(r#"by["-1"]"#), @"`.by[-1i32]`?)");
    assert_snapshot!(at("by[8]"), @"no child `[8]` in `{-1: *, 6: *, 7: *}` at `.by`");
    assert_snapshot!(at("at[7]"), @r#"`.at["7"]`?)"#);
    assert_snapshot!(at(r#"both["7"]"#), @"`.both[7u8]`?)");
    assert_snapshot!(at("wrap.Id"), @"`.wrap.0.id`?)");
    assert_snapshot!(at("wrap.at[1]"), @"no child `[1]` in `[*]` at `.wrap.0.at.0`");
    let said = |pattern: &str| {
        let tree = Tree::new(treedef.clone(), vec![(); treedef.num_leaves()]).unwrap();
        let error = tree.mask(pattern).unwrap_err().to_string();
        error.split_once("did you mean ").map(|(_, meant)| meant.to_owned()).unwrap_or(error)
    };
    assert_snapshot!(said("*.a.c"), @r#"`.*["a.c"]`?)"#);
    assert_snapshot!(said("m.x.l[0].w.*"), @r#"`.m.x["l.0.w"]`?)"#);
    assert_snapshot!(said(r#"by["7"]"#), @"`.by[7]`?)");
    assert_snapshot!(said("[2].wrap"), @"no node matches `[2].wrap`");
    assert_snapshot!(said("at[7]"), @r#"`.at["7"]`?)"#);
    assert_snapshot!(said("wrap.Id"), @"`.wrap.id`?)");

    // However many names there are.
    let names: Vec<String> = (0..40_000).map(|at| format!("layers.{at}.weight")).collect();
    let map = treedef::structure(&names.iter().map(|name| (name, 0)).collect::<BTreeMap<_, _>>());
    let map = map.unwrap();
    let error = map.node("layers.39999.wieght").unwrap_err().to_string();
    assert!(error.ends_with(r#"(did you mean `["layers.39999.weight"]`?)"#), "{error}");
}

/// `[*]` and `[0:]` match the same nodes, among them the node of `[0]`.
#[test]
fn any_index_is_one_of_a_tuple_an_array_and_a_map_too() {
    let text = "M { seq: [*, *], tuple: (*, *), pair: P(*, *), line: S::Line(*, *), \
        map: {0u8: *, 1u8: *}, wrap: W((*, *)), wraps: W(V([*, *])), some: Some((*, *)), one: W(*) }";
    let tree = Tree::new(def(text), (0..17).collect()).unwrap();
    let found = |pattern: &str| -> Vec<String> {
        tree.select(pattern).into_iter().flatten().map(|(path, _)| path.to_string()).collect()
    };
    for field in ["seq", "tuple", "pair", "line", "map", "wrap", "wraps", "some"] {
        let all = found(field);
        assert_eq!(all.len(), 2);
        assert_eq!(found(&format!("{field}[*]")), all);
        assert_eq!(found(&format!("{field}[0:]")), all);
        assert_eq!(found(&format!("{field}[0]")), all[..1]);
        assert_eq!(found(&format!("{field}[1]")), all[1..]);
        assert_eq!(found(&format!("**.{field}[1:2]")), all[1..]);
        assert_eq!(resolved(tree.treedef(), format!("{field}[1]")).unwrap().to_string(), all[1]);
    }
    assert_eq!(found("one[*]"), [""; 0]);
    assert_eq!(found("one.0"), found("one"));
    assert_eq!(found("*[*]").len(), 16);
    // A rule of a flattener, too.
    let rules = Flattener::new().mark_static("**[*].w[*]").unwrap();
    let value = vec![BTreeMap::from([("w", [1.5, 2.5]), ("b", [0.5, 0.25])])];
    assert_snapshot!(rules.structure(&value).unwrap(), @r#"[{"b": (*, *), "w": (static 1.5, static 2.5)}]"#);
}

/// A path is as long as its place is deep, so a mask makes none.
#[test]
fn masks_of_deep_values_take_time_for_their_nodes() {
    let depth = 8_000;
    let text =
        (0..depth).fold("None".to_owned(), |inner, _| format!("Some(N {{ v: *, next: {inner} }})"));
    let limits = Limits { max_depth: usize::MAX, ..Limits::default() };
    let treedef = TreeDef::parse_with(&text, limits).unwrap();
    let tree = Tree::new(treedef, vec![1; depth]).unwrap();
    let start = Instant::now();
    let mask = tree.mask("**.v").unwrap();
    let took = start.elapsed();
    assert_eq!(mask.leaves().iter().filter(|it| **it).count(), depth);
    // The paths have 64 million keys.
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn a_pattern_that_names_nothing_says_what_was_perhaps_meant() {
    let text = r#"M { layers: [Layer { w: [*, *], bias: * }; 2], head: {"scale": *}, act: A::Gelu { alpha: * } }"#;
    let tree = Tree::new(def(text), vec![(); 8]).unwrap();
    let said = |pattern: &str| tree.mask(pattern).unwrap_err().to_string();
    assert_snapshot!(said("**.weights"), @"no node matches `**.weights` (did you mean `**.w`?)");
    assert_snapshot!(said("**.bais"), @"no node matches `**.bais` (did you mean `**.bias`?)");
    assert_snapshot!(said("**.{w,bais}"), @"no node matches `**.bais` (did you mean `**.bias`?)");
    assert_snapshot!(said("layers[2:].w"), @"no node matches `.layers[2:].w` (there are 2 elements at `.layers`)");
    assert_snapshot!(said("layer[*].w"), @"no node matches `.layer[*].w` (did you mean `.layers[*].w`?)");
    assert_snapshot!(said("layers[*].bais[0]"), @"no node matches `.layers[*].bais[0]` (did you mean `.layers[*].bias`?)");
    assert_snapshot!(said("layer[*].x"), @"no node matches `.layer[*].x` (did you mean `.layers`?)");
    assert_snapshot!(said("**.scales"), @r#"no node matches `**.scales` (did you mean `**["scale"]`?)"#);
    assert_snapshot!(said("act::Relu.alpha"), @"no node matches `.act::Relu.alpha` (did you mean `.act::Gelu.alpha`?)");
    assert_snapshot!(said("head.bias"), @"no node matches `.head.bias`");
    assert_snapshot!(said("**.q"), @"no node matches `**.q`");
    assert_snapshot!(said("layers[2].w"), @"no node matches `.layers[2].w` (there are 2 elements at `.layers`)");
    // The commonest slips: no `**`, and one wildcard for the other.
    assert_snapshot!(said("w"), @"no node matches `.w` (did you mean `**.w`?)");
    assert_snapshot!(said("layers.*.w"), @"no node matches `.layers.*.w` (did you mean `.layers[*].w`?)");
    assert_snapshot!(said("act[*]"), @"no node matches `.act[*]` (did you mean `.act.*`?)");
    assert_snapshot!(said("layers.*.q"), @"no node matches `.layers.*.q`");
    assert_snapshot!(said("act::Gelu"), @"expected a field of the variant: `.name` or `.0`, found the end at byte 9");
    assert_snapshot!(tree.get("**.w").unwrap_err(), @"expected a key: one of `.name .0 [0] [\"key\"] ? ::Variant.0`, found `**.w` at byte 0 (a path has no wildcards: it names one node)");
    assert_snapshot!(tree.select("**.bais").err().unwrap(), @"no node matches `**.bais` (did you mean `**.bias`?)");
    assert_snapshot!(tree.clone().select_mut("**.q").err().unwrap(), @"no node matches `**.q`");
}

#[test]
fn what_is_suggested_for_a_pattern_names_something() {
    proptest::proptest!(config(256), |(data in treedef_testing::data::data(), name in "[a-c]{1,3}", rest in "(|\\[\\*\\]|\\.[a-c]{1,2})")| {
        let tree = Tree::of(&data).unwrap();
        for pattern in [format!("**.{name}{rest}"), format!("{name}{rest}")] {
            let Err(error) = tree.mask(pattern.as_str()) else { continue };
            let text = error.to_string();
            if let Some((_, meant)) = text.split_once("did you mean `") {
                assert!(tree.mask(meant.trim_end_matches("`?)")).is_ok(), "{text}: {tree}");
            }
        }
    });
    if !all() {
        return;
    }
    // For any number of leaves before it.
    let large = Tree::new(def("{\"wieght\": *, \"l\": [[*; 1000]; 1000]}"), vec![(); 1_000_001]);
    let error = large.unwrap().mask("**.weight").unwrap_err();
    assert!(error.to_string().ends_with("(did you mean `**[\"wieght\"]`?)"), "{error}");
}

#[test]
fn texts_set_leaves_of_every_kind() {
    let mut tree =
        Tree::of(&(true, 1i8, 2u128, 0.5f32, 'c', "s", None::<bool>, Some(1u64))).unwrap();
    for (path, text) in [
        ("0", "false"),
        ("1", "-7"),
        ("2", "340282366920938463463374607431768211455"),
        ("3", "1e3"),
        ("4", "é"),
        ("5", "42"),
        ("6", "true"),
        ("7", "9"),
    ] {
        tree.set_text(path, text).unwrap();
    }
    type Row = (bool, i8, u128, f32, char, String, Option<bool>, Option<u64>);
    assert_eq!(
        tree.clone().into_typed::<Row>().unwrap(),
        (false, -7, u128::MAX, 1000.0, 'é', "42".to_owned(), Some(true), Some(9))
    );
    let mut said = |path: &str, text: &str| tree.set_text(path, text).unwrap_err().to_string();
    assert_snapshot!(said("1", "128"), @"expected i8, found `128` at `.1`");
    assert_snapshot!(said("4", "ab"), @"expected char, found `ab` at `.4`");
    assert_snapshot!(said("7", "x"), @"expected u64, found `x` at `.7?`");
    assert_snapshot!(said("9", "x"), @"no child `.9` in `(*; 6, Some(*); 2)` at the root");
    assert_snapshot!(said("", "x"), @"expected a leaf, found `(*; 6, Some(*); 2)` at the root");

    let mut was = |path: &str, text: &str| tree.set_text(path, text).unwrap().to_string();
    assert_eq!((was("1", "1"), was("6", "false")), ("-7i8".to_owned(), "true".to_owned()));
    let mut absent = Tree::new(def("(None, Mode::Fast)"), vec![]).unwrap();
    assert_eq!(absent.set_text("0", "7").unwrap().to_string(), "None");
    assert_eq!(absent.set_text("1", "Slow").unwrap().to_string(), "Mode::Fast");
    assert_eq!(absent.to_string(), "(Some(7i64), Mode::Slow)");

    let unset = treedef::Flattener::new().none_is_leaf(true).tree(&(None::<f64>, 1)).unwrap();
    let mut set = unset.clone();
    let was = set.set_text("0", "2.5").unwrap();
    assert_eq!(set.treedef(), unset.treedef());
    assert_eq!(was.treedef().to_string(), "#[none_is_leaf] *");
    assert_eq!(set.into_typed::<(Option<f64>, i32)>().unwrap(), (Some(2.5), 1));
}

#[test]
fn entries_and_elements_are_put_in() {
    let mut tree =
        Tree::new(def(r#"M { by: {"a": *, "c": [None; 2]}, l: Some([*; 3]) }"#), vec![1, 2, 3, 4])
            .unwrap();
    assert_eq!(tree.insert(r#"by["b"]"#, Tree::leaf(9)).unwrap(), None);
    tree.insert("l[0]", Tree::leaf(7)).unwrap();
    tree.insert("l[4]", Tree::leaf(8)).unwrap();
    tree.insert("by.c[1]", Tree::leaf(5)).unwrap();
    assert_eq!(
        tree.to_string(),
        r#"M { by: {"a": 1, "b": 9, "c": [None, 5, None]}, l: Some([7, 2, 3, 4, 8]) }"#
    );
    assert_eq!(tree.insert("by.b", Tree::leaf(0)).unwrap(), Some(Tree::leaf(9)));
    let before = tree.clone();
    let mut said = |path: &str| tree.insert(path, Tree::leaf(0)).unwrap_err().to_string();
    assert_snapshot!(said("l[6]"), @"expected an index up to 5 at `.l[6]`");
    assert_snapshot!(said("x"), @"only maps and sequences can get a new child at `.x`");
    assert_snapshot!(said(""), @"only maps and sequences can get a new child at the root");
    assert_snapshot!(said("bye.x"), @r#"no child `.bye` in `M { by: {"a": *, "b": *, "c": [None, *, None]}, l: Some([*; …` at the root (did you mean `.by`?)"#);
    assert_eq!(tree, before);
    let said = |map: &str, path: &str| {
        let tree = Tree::new(def(map), vec![0; def(map).num_leaves()]).unwrap();
        tree.clone().insert(path, Tree::leaf(0)).unwrap_err().to_string()
    };
    assert_snapshot!(said("{3u8: *}", "[300]"), @"expected a key such as `[3u8]`, found `[300]` at `[300]`");
    assert_snapshot!(said("{\"a\": *}", "[1]"), @r#"expected a key such as `["a"]`, found `[1]` at `[1]`"#);
    assert_snapshot!(said("{(1, 2): *}", "[1]"), @"expected a key such as `[(1i32, 2i32)]`, found `[1]` at `[1]`");
    assert_snapshot!(said("{E::Red: *}", ".Red"), @"expected a key such as `[E::Red]`, found `.Red` at `.Red`");
    assert_snapshot!(said("{(1u8, 2u8): *}", "[(1, 3)]"), @"expected a key such as `[(1u8, 2u8)]`, found `[(1i32, 3i32)]` at `[(1i32, 3i32)]`");
    assert_snapshot!(said("{Id(\"x\"): *}", "x"), @r#"expected a key such as `[Id("x")]`, found `.x` at `.x`"#);
    assert_snapshot!(said("{}", "[3]"), @"the map is empty, so the key needs its type, as in `[3u8]` at `[3]`");
    let put = |map: &str, path: &str| {
        let mut tree = Tree::new(def(map), vec![0; def(map).num_leaves()]).unwrap();
        tree.insert(path, Tree::leaf(1)).unwrap();
        tree.to_string()
    };
    assert_eq!(put("{'a': *}", ".b"), "{'a': 0, 'b': 1}");
    assert_eq!(put("{0.5f32: *}", "[1.5]"), "{0.5f32: 0, 1.5f32: 1}");
    assert_eq!(put("{E::Red: *}", "[E::Blue]"), "{E::Blue: 1, E::Red: 0}");
    let mut ordered = Tree::new(def(r#"#[insertion] {"b": *}"#), vec![1]).unwrap();
    ordered.insert("a", Tree::leaf(2)).unwrap();
    assert_eq!(ordered.to_string(), r#"#[insertion] {"b": 1, "a": 2}"#);
}

#[test]
fn a_variant_that_is_written_has_to_be_there() {
    let tree = Tree::new(def("S { a: V::X(*), b: V::Y(*) }"), vec![1, 2]).unwrap();
    assert!(tree.get("b::X.0").is_err());
    assert_eq!(tree.get("b.0").unwrap(), &2);
    assert!(tree.select("b::X.0").is_err());
}

#[test]
fn integer_keys_are_of_the_kind_of_their_map() {
    let mut tree = Tree::of(&BTreeMap::from([(-1i64, 1u8), (3, 2)])).unwrap();
    assert_eq!(tree.get("[-1]").unwrap(), &Leaf::U8(1));
    assert!(tree.insert("[-1]", Tree::leaf(Leaf::U8(9))).unwrap().is_some());
    assert!(tree.insert("[2]", Tree::leaf(Leaf::U8(7))).unwrap().is_none());
    assert!(tree.insert("[4u8]", Tree::leaf(Leaf::U8(5))).unwrap().is_none());
    let expected = BTreeMap::from([(-1i64, 9u8), (2, 7), (3, 2), (4, 5)]);
    assert_eq!(tree, Tree::of(&expected).unwrap());

    let mut mixed = Tree::new(def("{1u8: *, 1u16: *}"), vec![1, 2]).unwrap();
    let error = mixed.insert("[1u32]", Tree::leaf(3)).unwrap_err();
    assert!(error.to_string().contains(" can mean "), "{error}");
    assert_eq!(mixed.get("[1u16]").unwrap(), &2);
    assert_eq!(mixed.select("[1u8]").unwrap().count(), 2);
    assert_eq!(mixed.select("[1]").unwrap().count(), 2);
}

#[test]
fn a_text_that_a_leaf_cannot_hold_is_refused() {
    let mut tree = Tree::of(&(1.5f32, None::<String>, None::<u128>)).unwrap();
    assert!(tree.set_text("0", "1e60").is_err());
    tree.set_text("0", "-inf").unwrap();
    tree.set_text("1", "nan").unwrap();
    tree.set_text("2", "340282366920938463463374607431768211455").unwrap();
    let back = tree.into_typed::<(f32, Option<String>, Option<u128>)>().unwrap();
    assert_eq!(back, (f32::NEG_INFINITY, Some("nan".to_owned()), Some(u128::MAX)));
}

/// Every lookup agrees with a walk through the whole structure.
fn lookups_agree_with_walks(treedef: &TreeDef) {
    for (_, node) in treedef.nodes() {
        for (position, child) in node.children().enumerate() {
            let found = node.child(position).unwrap();
            assert_eq!(found.leaf_range(), child.leaf_range());
            assert_eq!(found.kind(), child.kind());
        }
        assert!(node.child(node.num_children()).is_none());
    }
    for (leaf, path) in treedef.leaf_paths().enumerate() {
        assert_eq!(treedef.leaf_path(leaf).unwrap(), path);
        assert_eq!(treedef.node(&path).unwrap().leaf_range(), leaf..leaf + 1);
    }
}

#[test]
fn children_are_found_among_many_different_ones() {
    #[derive(Clone, Debug, Serialize)]
    enum Row {
        Leaf(u8),
        Empty,
        Many(Vec<u8>),
        Map(BTreeMap<u8, u8>),
    }
    for len in [15, 16, 17, 31, 32, 33, 64, 65, 500] {
        let kinds =
            [Row::Leaf(1), Row::Empty, Row::Many(vec![1, 2]), Row::Map(BTreeMap::from([(1, 2)]))];
        let rows: Vec<Row> = kinds.into_iter().cycle().take(len).collect();
        lookups_agree_with_walks(&treedef::structure(&rows).unwrap());
        lookups_agree_with_walks(&treedef::structure(&(7, &rows, [&rows[..]; 2])).unwrap());
        // Maps that were inserted in another order are found by their number.
        let maps: Vec<HashMap<u8, Option<u8>>> = (0..len)
            .map(|n| (0..3).map(|key| (key, (n % 3 == 0).then_some(key))).collect())
            .collect();
        let tree = Tree::of(&maps).unwrap();
        lookups_agree_with_walks(tree.treedef());
        assert_eq!(tree.into_typed::<Vec<HashMap<u8, Option<u8>>>>().unwrap(), maps);
    }
    proptest::proptest!(config(256), |(rows in proptest::collection::vec(0usize..4, 0..200))| {
        let row = |kind: &usize| [Row::Leaf(1), Row::Empty, Row::Many(vec![3; 2]), Row::Many(vec![])][*kind].clone();
        let rows: Vec<Row> = rows.iter().map(row).collect();
        lookups_agree_with_walks(&treedef::structure(&(0, rows)).unwrap());
    });
}

#[test]
fn keys_of_large_maps_are_found_in_every_form() {
    let names: BTreeMap<String, u32> = (0..200).map(|n| (format!("key {n}"), n)).collect();
    let tree = Tree::of(&names).unwrap();
    for n in 0..200 {
        let field = Path::from(vec![Key::Field(format!("key {n}").into())]);
        assert_eq!(tree.get(&field).unwrap(), &Leaf::U32(n));
    }
    let numbers: BTreeMap<i64, i64> = (-100..100).map(|n| (n, n)).collect();
    let tree = Tree::of(&numbers).unwrap();
    for n in 0..100 {
        assert_eq!(tree.get(Path::from(vec![Key::Index(n)])).unwrap(), &Leaf::I64(n as i64));
    }
    let mixed = def(
        r#"{false: *, true: *, 2u8: *, 3i8: *, 3u8: *, 3u128: *, 4i128: *, 340282366920938463463374607431768211455u128: *, 3.0: *, '3': *, "3": *, b"3": *, (3,): *}"#,
    );
    assert_eq!(resolved(&mixed, "[4]").unwrap().to_string(), "[4i128]");
    assert_eq!(resolved(&mixed, "[2]").unwrap().to_string(), "[2u8]");
    assert_eq!(resolved(&mixed, "`3`").unwrap().to_string(), r#"["3"]"#);
    let error = resolved(&mixed, "[3]").unwrap_err();
    assert_snapshot!(error, @"`[3]` can mean `[3i8]` or `[3u8]` at the root");
    assert!(resolved(&mixed, "[5]").is_err());
}

/// A run is cut where a range or a position begins and ends, and is not walked.
#[test]
fn ranges_and_braces_select_of_runs() {
    let text = "M { layers: [L { w: [*; 3], b: * }; 1000000], ends: (*, [*; 9], *, *) }";
    let treedef = def(text);
    let leaves = vec![(); treedef.num_leaves()];
    let tree = Tree::new(treedef, leaves).unwrap();
    let first = |pattern: &str, count: usize| {
        let paths = tree.select(pattern).unwrap().map(|(path, _)| path.to_string());
        paths.take(count).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(first("layers[999998:].b", 9), ".layers[999998].b .layers[999999].b");
    let expected = ".layers[5].w[0] .layers[5].w[1] .layers[5].w[2] .layers[5].b .layers[6].w[0]";
    assert_eq!(first("**[5:7].{w,b}", 5), expected);
    assert_eq!(first("**[7:].b", 2), ".layers[7].b .layers[8].b");
    assert_eq!(first("**.{b,0}", 2), ".layers[0].w[0] .layers[0].w[1]");
    assert_eq!(first("ends[2:]", 9), ".ends.2 .ends.3");
    assert_eq!(first("ends.{0,3}", 9), ".ends.0 .ends.3");
    assert_eq!(first("ends[:2][7:]", 9), ".ends.1[7] .ends.1[8]");
}

#[test]
fn rules_are_about_ranges() {
    let numbers: Vec<f64> = (0..9).map(f64::from).collect();
    let leaves = |pattern: &str| {
        let flattener = Flattener::new().mark_static(pattern).unwrap();
        flattener.flatten_as::<f64>(&(&numbers, &numbers)).unwrap().0
    };
    assert_eq!(leaves(".0[2:7]"), [&[0.0, 1.0, 7.0, 8.0], &numbers[..]].concat());
    assert_eq!(leaves("**[1:]"), [0.0]); // `.1` is a position behind the first, too
    assert_eq!(leaves(".{0,1}[:8]"), [8.0, 8.0]);
}
