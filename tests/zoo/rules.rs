//! Rules change only the nodes that they match.

use indexmap::IndexMap;
use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use treedef::{
    ArrayRule, Flattener, Leaf, LeafKind, MapOrder, NodeKind, NodeRef, Selector, Tree, TreeDef,
    flatten_as,
};
use treedef_testing::cases::{sample, stride};

use crate::specimens::{Specimen, Way, zoo};

/// Scalars below a node that are static, and statics.
fn statics(node: NodeRef<'_>) -> (usize, usize) {
    match node.static_value() {
        Some(value) => (value.leaves().len(), 1),
        None => node.runs().fold((0, 0), |(scalars, count), (child, repeat)| {
            let (inside, statics) = statics(child);
            (scalars + repeat * inside, count + repeat * statics)
        }),
    }
}

/// Scalars of a whole tree, wherever they are.
fn scalars(leaves: &[Leaf], treedef: &TreeDef) -> usize {
    let of_leaf = |leaf: &Leaf| match leaf {
        Leaf::Opaque(value) => value.leaves().len(),
        Leaf::None => 0,
        _ => 1,
    };
    leaves.iter().map(of_leaf).sum::<usize>() + statics(treedef.root()).0
}

#[track_caller]
fn for_all(law: impl Fn(&Specimen)) {
    for specimen in zoo() {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| law(&specimen)));
        assert!(outcome.is_ok(), "`{}`, see above", specimen.name);
    }
}

fn rule_sets() -> Vec<Flattener> {
    let new = Flattener::new;
    let mark_static = |pattern| new().mark_static(pattern).unwrap();
    let mark_opaque = |pattern| new().mark_opaque(pattern).unwrap();
    vec![
        mark_static("**[0]").mark_opaque("**.1").unwrap(),
        mark_opaque("**.a").mark_static("**[*]?").unwrap().mark_static("**.0").unwrap(),
        new().opaque_where(|_, node| node.kind == NodeKind::Tuple),
        new().opaque_where(|_, node| {
            matches!(node.kind, NodeKind::None | NodeKind::Unit | NodeKind::UnitStruct)
        }),
        new().opaque_where(|path, _| path.keys().len() == 1),
        new()
            .mark_opaque("Point")
            .unwrap()
            .mark_static("Shape")
            .unwrap()
            .mark_static("Point.x")
            .unwrap(),
        mark_static("**.*").leaves_where(LeafKind::is_integer),
        mark_static("**.*").none_is_leaf(true),
        mark_opaque("**[0]").none_is_leaf(true),
        mark_static("**"),
        mark_opaque("**"),
    ]
}

/// A seed that differs between specimens, so that together they are rebuilt under all rules.
fn seed(specimen: &Specimen) -> u64 {
    specimen.name.bytes().map(u64::from).sum()
}

#[test]
fn every_value_comes_back_under_every_set_of_rules() {
    for_all(|specimen| {
        let (plain, structure) = specimen.laws.flatten(&Flattener::new()).unwrap();
        for flattener in sample(seed(specimen), rule_sets()) {
            let (leaves, treedef) = specimen.laws.flatten(&flattener).unwrap();
            assert_eq!(leaves.len(), treedef.num_leaves());
            assert_eq!(scalars(&leaves, &treedef), scalars(&plain, &structure), "{treedef}");
            assert_eq!(treedef.to_string().parse::<TreeDef>().unwrap(), treedef);
            let rebuilt = specimen.laws.rebuild(Way::Owned, &treedef, &leaves).unwrap();
            // Equal static maps are restored in the order of the first: see `MapOrder`.
            let ordered = specimen.name.contains("index map") && statics(treedef.root()).1 > 1;
            assert!(
                ordered || specimen.laws.equals(&*rebuilt),
                "{} from {treedef}",
                rebuilt.debug()
            );
            if !ordered {
                specimen.laws.rebuild(Way::Strict, &treedef, &leaves).unwrap();
            }
            let again = rebuilt.flatten(&flattener).unwrap();
            assert_eq!(again, (leaves, treedef));
        }
    });
}

#[test]
fn rules_make_the_same_of_a_tree_as_of_its_value() {
    for_all(|specimen| {
        for (at, order) in [MapOrder::Canonical, MapOrder::Insertion].into_iter().enumerate() {
            for none_is_leaf in [false, true] {
                let seed = seed(specimen) + 2 * at as u64 + u64::from(none_is_leaf);
                let sets: Vec<_> = sample(seed, rule_sets()).collect();
                if sets.is_empty() {
                    continue;
                }
                let with = |rules: Flattener| rules.map_order(order).none_is_leaf(none_is_leaf);
                let (leaves, treedef) = specimen.laws.flatten(&with(Flattener::new())).unwrap();
                let tree = Tree::new(treedef, leaves).unwrap();
                let loaded = Tree::from_bytes(&tree.to_bytes().unwrap()).unwrap();
                for rules in sets {
                    let (leaves, treedef) = specimen.laws.flatten(&with(rules.clone())).unwrap();
                    let expected = Tree::new(treedef, leaves).unwrap();
                    for tree in [&tree, &loaded] {
                        let ruled = rules.apply_rules(tree.clone()).unwrap();
                        assert_eq!(ruled, expected, "{rules:?}");
                    }
                    // Statics and opaque leaves are taken out again. A static itself is not a node.
                    if expected.treedef().root().static_value().is_some() {
                        continue;
                    }
                    let whole = Flattener::new().opaque_where(|path, _| path.is_root());
                    let (again, once) =
                        (whole.apply_rules(expected), whole.apply_rules(tree.clone()));
                    assert_eq!(again.unwrap().leaves(), once.unwrap().leaves(), "{rules:?}");
                }
            }
        }
    });
}

#[test]
fn leaves_where_takes_exactly_the_floats() {
    let floats = Flattener::new().leaves_where(LeafKind::is_float);
    let is_float = |leaf: &&Leaf| leaf.kind().is_float();
    let doubled = |leaf: &Leaf| match leaf {
        Leaf::F32(x) => Leaf::F32(2.0 * x),
        Leaf::F64(x) => Leaf::F64(2.0 * x),
        other => other.clone(),
    };
    let mut changed = 0;
    for_all(|specimen| {
        let (plain, structure) = specimen.laws.flatten(&Flattener::new()).unwrap();
        let (leaves, treedef) = specimen.laws.flatten(&floats).unwrap();
        assert!(leaves.iter().filter(is_float).eq(plain.iter().filter(is_float)));
        let (before, after) = (statics(structure.root()).1, statics(treedef.root()).1);
        assert_eq!(after - before + leaves.len(), plain.len());

        let scaled: Vec<_> = leaves.iter().map(doubled).collect();
        let rebuilt = specimen.laws.rebuild(Way::Owned, &treedef, &scaled).unwrap();
        let (again, same) = rebuilt.flatten(&Flattener::new()).unwrap();
        assert_eq!(same, structure);
        assert!(again.iter().eq(&plain.iter().map(doubled).collect::<Vec<_>>()));
    });
    for specimen in zoo() {
        changed += specimen.laws.flatten(&floats).unwrap().0.len();
    }
    assert!(changed > 100, "only {changed} floats in the zoo");
}

#[test]
fn a_value_flattens_like_itself_and_like_nothing_else() {
    let zoo = zoo();
    let flattened: Vec<_> =
        zoo.iter().map(|specimen| specimen.laws.flatten(&Flattener::new()).unwrap()).collect();
    let others = flattened.iter().map(|(_, treedef)| treedef).step_by(stride());
    for (specimen, (leaves, own)) in zoo.iter().zip(&flattened) {
        for treedef in others.clone().chain([own]) {
            match specimen.laws.flatten_like(&Flattener::new(), treedef) {
                Ok(found) => {
                    assert_eq!(treedef, own, "`{}` in another structure", specimen.name);
                    assert_eq!(&found, leaves, "`{}`", specimen.name);
                }
                Err(error) => {
                    assert_ne!(treedef, own, "`{}` in its own structure: {error}", specimen.name);
                    assert!(!error.differences().is_empty(), "`{}`: {error}", specimen.name);
                }
            }
        }
    }
}

#[test]
fn a_value_flattens_like_itself_under_rules() {
    for_all(|specimen| {
        for flattener in rule_sets() {
            let (leaves, treedef) = specimen.laws.flatten(&flattener).unwrap();
            assert_eq!(specimen.laws.flatten_like(&flattener, &treedef).unwrap(), leaves);
        }
    });
}

#[test]
fn signatures_parse_back() {
    for_all(|specimen| {
        let signature = specimen.laws.signature().unwrap();
        for text in [signature.to_string(), format!("{signature:#}")] {
            assert_eq!(text.parse::<Tree<LeafKind>>().unwrap(), signature, "{text}");
        }
        let (leaves, treedef) = specimen.laws.flatten(&Flattener::new()).unwrap();
        assert!(leaves.iter().map(Leaf::kind).eq(signature.leaves().iter().copied()));
        assert_eq!(signature.treedef(), &treedef);
    });
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Layer {
    name: String,
    w: Vec<f64>,
    next: Option<Box<Layer>>,
}

fn layers() -> Layer {
    let last = Layer { name: "b".to_owned(), w: vec![3.0], next: None };
    Layer { name: "a".to_owned(), w: vec![1.0, 2.0], next: Some(Box::new(last)) }
}

#[test]
fn rules_find_what_they_name_at_any_depth() {
    let text = |flattener: Flattener| flattener.structure(&layers()).unwrap().to_string();
    let all = r#"Layer { name: static "a", w: [*, *], next: Some(Layer { name: static "b", w: [*], next: None }) }"#;
    assert_eq!(text(Flattener::new().mark_static("Layer.name").unwrap()), all);
    assert_eq!(text(Flattener::new().mark_static("**.name").unwrap()), all);
    assert_eq!(
        text(Flattener::new().mark_static(".next?.name").unwrap()),
        r#"Layer { name: *, w: [*, *], next: Some(Layer { name: static "b", w: [*], next: None }) }"#
    );
    assert_eq!(
        text(Flattener::new().mark_opaque("Layer.next").unwrap()),
        "Layer { name: *, w: [*, *], next: * }"
    );
    assert_eq!(text(Flattener::new().mark_opaque("Layer").unwrap()), "*");
    // The first rule that matches a node wins, also for the nodes inside of it.
    let both = Flattener::new().mark_opaque(".next?").unwrap().mark_static("Layer").unwrap();
    assert_eq!(both.unmatched_rules(&layers().next).unwrap(), [".next?"]);
}

#[test]
fn a_selector_is_a_type_a_field_or_a_path_and_its_text_parses_back() {
    let field =
        |of: &str, name: &str| Selector::Field(of.to_owned().into(), name.to_owned().into());
    for (text, expected) in [
        ("Layer", Selector::Type("Layer".into())),
        ("Layer.w", field("Layer", "w")),
        ("Meters.0", field("Meters", "0")),
        ("`a type`.`a.b`", field("a type", "a.b")),
        ("`static`", Selector::Type("static".into())),
        ("", Selector::Path("".parse().unwrap())),
        (".w", Selector::Path(".w".parse().unwrap())),
        ("**.w", Selector::Path("**.w".parse().unwrap())),
        ("[*]?.w", Selector::Path("[*]?.w".parse().unwrap())),
        (".{a,b}", Selector::Path(".{a,b}".parse().unwrap())),
    ] {
        let selector: Selector = text.parse().unwrap();
        assert_eq!((&selector, &*selector.to_string()), (&expected, text));
    }
    let error = |text: &str| Flattener::new().mark_static(text).unwrap_err();
    insta::assert_snapshot!(error("layers[*].w"), @"expected a type, or a type and its field, as in `Linear.w`, found `[*].w` at byte 6 (a path begins with a dot: `.layers[*].w`)");
    insta::assert_snapshot!(error("next?"), @"expected a type, or a type and its field, as in `Linear.w`, found `?` at byte 4 (a path begins with a dot: `.next?`)");
    insta::assert_snapshot!(error("a.b.c"), @"expected a type, or a type and its field, as in `Linear.w`, found `.c` at byte 3 (a path begins with a dot: `.a.b.c`)");
    insta::assert_snapshot!(error("Layer."), @"expected a type, or a type and its field, as in `Linear.w`, found the end at byte 6");
    insta::assert_snapshot!(error("a b"), @"expected a type, or a type and its field, as in `Linear.w`, found `b` at byte 2");
    insta::assert_snapshot!(error(".w["), @"expected a value, found the end at byte 3");
}

#[test]
fn unmatched_rules_are_the_typos() {
    let flattener = Flattener::new()
        .mark_static("Layer.name")
        .unwrap()
        .mark_static("Layer.nmae")
        .unwrap()
        .mark_opaque("Lair")
        .unwrap()
        .mark_static(".next.w")
        .unwrap()
        .mark_static(".nxt.w")
        .unwrap();
    // All rules about one node have matched it, although one applies.
    let place = || Flattener::new().mark_static("**.name").unwrap();
    let field = || Flattener::new().mark_opaque("Layer.name").unwrap();
    for both in [
        place().mark_opaque("Layer.name").unwrap(),
        field().mark_static("**.name").unwrap(),
        Flattener::new().mark_static("Layer.next").unwrap().mark_opaque(".next").unwrap(),
    ] {
        assert_eq!(both.unmatched_rules(&layers()).unwrap(), [] as [&str; 0], "{both:?}");
    }
    // A `?` need not be written.
    assert_eq!(flattener.unmatched_rules(&layers()).unwrap(), ["Layer.nmae", "Lair", ".nxt.w"]);
}

#[test]
fn structures_with_other_statics_differ_and_say_where() {
    let flattener = Flattener::new().mark_static("Layer.name").unwrap();
    let mut other = layers();
    if let Some(next) = &mut other.next {
        next.name = "c".to_owned();
    }
    let (mut leaves, treedef) = flattener.flatten(&layers()).unwrap();
    assert_ne!(flattener.structure(&other).unwrap(), treedef);
    let error = flattener.flatten_like(&treedef, &other, &mut leaves).unwrap_err();
    insta::assert_snapshot!(error, @r#"expected `static "b"`, found `static "c"` at `.next?.name` (statics are part of the structure; see `ignore_statics`)"#);
    assert_eq!(error.path().to_string(), ".next?.name");
}

#[test]
fn typed_leaves_go_there_and_back() {
    macro_rules! typed {
        ($($type:ty: $($value:expr),+;)*) => {$(
            let value: Vec<($type, Option<$type>)> = vec![$(($value, Some($value))),+];
            let (leaves, treedef) = treedef::flatten_as::<$type>(&value).unwrap();
            assert_eq!(leaves.len(), 2 * value.len());
            assert_eq!(treedef::unflatten::<Vec<($type, Option<$type>)>>(&treedef, &leaves).unwrap(), value);
            assert_eq!(treedef::unflatten::<Vec<($type, Option<$type>)>>(&treedef, leaves.clone()).unwrap(), value);
            let mut buffer = leaves.clone();
            treedef.flatten_like(&value, &mut buffer).unwrap();
            assert_eq!(buffer, leaves);
            assert!(treedef::flatten_as::<$type>(&((), vec![(b"no", "x")])).is_err());
        )*};
    }
    typed! {
        bool: true, false;
        i8: i8::MIN, 1;
        i16: i16::MIN, 1;
        i32: i32::MIN, 1;
        i64: i64::MIN, 1;
        i128: i128::MIN, 1;
        u8: u8::MAX, 1;
        u16: u16::MAX, 1;
        u32: u32::MAX, 1;
        u64: u64::MAX, 1;
        u128: u128::MAX, 1;
        f32: f32::MIN_POSITIVE, -0.0;
        f64: f64::MIN_POSITIVE, -0.0;
        char: 'a', '\u{10ffff}';
        String: "a".to_owned(), String::new();
    }
}

/// Entries of maps are found by their keys, with statics ignored or not.
#[test]
fn statics_can_be_ignored_whatever_the_order_of_maps() {
    use indexmap::IndexMap;
    use treedef::Static;
    let map =
        |entries: [(&'static str, i32, f64); 2]| -> IndexMap<&'static str, (Static<i32>, f64)> {
            entries.into_iter().map(|(key, step, x)| (key, (Static(step), x))).collect()
        };
    let (mut buffer, treedef) =
        treedef::flatten_as::<f64>(&map([("a", 1, 1.0), ("b", 2, 2.0)])).unwrap();
    for other in [map([("b", 7, 20.0), ("a", 8, 10.0)]), map([("a", 8, 10.0), ("b", 7, 20.0)])] {
        Flattener::new().ignore_statics(true).flatten_like(&treedef, &other, &mut buffer).unwrap();
        assert_eq!(buffer, [10.0, 20.0]);
        assert!(treedef.flatten_like(&other, &mut buffer).is_err() && buffer.is_empty());
    }
    let longer = map([("a", 1, 1.0), ("c", 2, 2.0)]);
    let error = Flattener::new()
        .ignore_statics(true)
        .flatten_like(&treedef, &longer, &mut buffer)
        .unwrap_err();
    assert_eq!(error.path().to_string(), r#"["b"]"#);
}

/// A `Some` around nothing stays when `None` is a leaf, with any marks between.
#[test]
fn options_of_marked_nothings_come_back() {
    use treedef::{Opaque, Static};
    let flattener = Flattener::new().none_is_leaf(true);
    macro_rules! comes_back {
        ($($type:ty: $value:expr;)*) => {$(
            let value: $type = $value;
            let (leaves, treedef) = flattener.flatten(&value).unwrap();
            assert_eq!(treedef::unflatten::<$type>(&treedef, leaves).unwrap(), value, "{treedef}");
        )*};
    }
    comes_back! {
        [Option<Static<Option<u8>>>; 3]: [Some(Static(Some(1))), Some(Static(None)), None];
        [Option<Opaque<Option<u8>>>; 3]: [Some(Opaque(Some(1))), Some(Opaque(None)), None];
        [Option<Static<Option<Option<u8>>>>; 2]: [Some(Static(Some(None))), None];
        [Option<Option<Static<Option<u8>>>>; 3]: [Some(Some(Static(None))), Some(None), None];
        [Option<Static<()>>; 2]: [Some(Static(())), None];
    }
}

/// The leaves would stand in each other's places.
#[test]
fn what_stands_in_another_order_is_no_like() {
    #[derive(Serialize)]
    struct Point {
        x: f64,
        y: f64,
    }
    #[derive(Serialize)]
    #[serde(rename = "Point")]
    struct Turned {
        y: f64,
        x: f64,
    }
    let (mut leaves, treedef) = flatten_as::<f64>(&Point { x: 1.0, y: 2.0 }).unwrap();
    let error = treedef.flatten_like(&Turned { y: 2.0, x: 1.0 }, &mut leaves).unwrap_err();
    assert_eq!(error.to_string(), "expected `.x`, `.y`, found `.y`, `.x` at the root");

    let map =
        |keys: [&'static str; 2]| keys.into_iter().zip([1.0, 2.0]).collect::<IndexMap<_, _>>();
    let ordered = Flattener::new().map_order(MapOrder::Insertion);
    let treedef = ordered.structure(&map(["a", "b"])).unwrap();
    let error = ordered.flatten_like(&treedef, &map(["b", "a"]), &mut leaves).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"expected `["a"]`, `["b"]`, found `["b"]`, `["a"]` at the root"#
    );
    assert!(leaves.is_empty());
}

/// Maps in keys, statics and opaque leaves are sorted, also if the maps around them are in insertion order.
#[test]
fn what_is_kept_is_sorted_beside_maps_in_order_of_insertion() {
    #[derive(Serialize)]
    struct Both {
        a: IndexMap<&'static str, f64>,
        #[serde(serialize_with = "treedef::as_static")]
        b: IndexMap<&'static str, u8>,
        #[serde(serialize_with = "treedef::as_opaque")]
        c: IndexMap<&'static str, u8>,
        d: IndexMap<&'static str, u8>,
    }

    let map = || IndexMap::from([("y", 1), ("x", 2)]);
    let both = Both { a: [("y", 1.0), ("x", 2.0)].into(), b: map(), c: map(), d: map() };
    let ordered = || Flattener::new().map_order(MapOrder::Insertion);
    let (leaves, treedef) = ordered().flatten(&both).unwrap();
    let expected = r#"#[insertion] Both { a: {"y": *, "x": *}, b: static {"x": 2u8, "y": 1u8}, c: *, d: {"y": *, "x": *} }"#;
    assert_eq!(treedef.to_string(), expected);
    let opaque = Leaf::from(treedef::Value::of(&map()).unwrap());
    for rules in [
        ordered().array_rule(ArrayRule::Ndarray),
        ordered().array_rule(ArrayRule::Half),
        ordered().opaque_where(|_, _| false),
        ordered().mark_opaque(".c").unwrap().mark_static(".b").unwrap(),
    ] {
        let (ruled_leaves, ruled) = rules.flatten(&both).unwrap();
        assert_eq!((&ruled_leaves, &ruled), (&leaves, &treedef), "{rules:?}");
        assert!(ruled_leaves.contains(&opaque));
        assert_eq!(TreeDef::from_bytes(&ruled.to_bytes().unwrap()).unwrap(), treedef);
        let mut again: Vec<Leaf> = Vec::new();
        rules.flatten_like(&treedef, &both, &mut again).unwrap();
        assert_eq!(again, leaves);
    }
}

/// `TreeDef::flatten_like` knows no rules.
#[test]
fn a_treedef_that_rules_made_asks_for_the_flattener_that_has_them() {
    let refused = |rules: Flattener| {
        let (_, treedef) = rules.flatten(&layers()).unwrap();
        rules.flatten_like(&treedef, &layers(), &mut Vec::<Leaf>::new()).unwrap();
        treedef.flatten_like(&layers(), &mut Vec::<Leaf>::new()).unwrap_err().to_string()
    };
    assert_snapshot!(refused(Flattener::new().mark_static("Layer.name").unwrap()), @r#"expected `static "a"`, found `*` at `.name`, and 1 more difference (did a `Flattener` with rules make the treedef? `Flattener::flatten_like` applies them)"#);
    assert_snapshot!(refused(Flattener::new().mark_opaque("Layer.w").unwrap()), @"expected `*`, found `[*, *]` at `.w`, and 1 more difference (did a `Flattener` with rules make the treedef? `Flattener::flatten_like` applies them)");
    assert_snapshot!(refused(Flattener::new().leaves_where(LeafKind::is_float)), @r#"expected `static "a"`, found `*` at `.name`, and 1 more difference (did a `Flattener` with rules make the treedef? `Flattener::flatten_like` applies them)"#);
    let floats = Flattener::new().leaves_where(LeafKind::is_float);
    let (mut leaves, treedef) = floats.flatten_as::<f64>(&layers()).unwrap();
    let error = treedef.flatten_like(&layers(), &mut leaves).unwrap_err();
    assert_snapshot!(error, @"expected f64, found str at `.name` (did a `Flattener` with rules make the treedef? `Flattener::flatten_like` applies them)");
}
