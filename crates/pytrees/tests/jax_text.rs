//! Structures and paths as JAX prints them: 300 vectors, and cases that no vector has.

use std::collections::{BTreeMap, VecDeque};

use insta::assert_snapshot;
use serde::Serialize;
use treedef::{Flattener, Static, Tree, TreeDef, Value};
use treedef_pytrees::jax;
use treedef_testing::vectors::{Vector, texts, vectors};

#[test]
fn structures_print_as_in_jax() {
    for vector in vectors() {
        let treedef = treedef::structure(&Vector(&vector["value"])).unwrap();
        assert_eq!(jax::text(&treedef).unwrap().data, vector["jax"].as_str().unwrap());
    }
}

#[test]
fn paths_print_as_in_jax() {
    for vector in vectors() {
        let treedef = treedef::structure(&Vector(&vector["value"])).unwrap();
        assert_eq!(jax::keystrs(&treedef).unwrap().data, texts(&vector["keystr"]));
    }
}

/// JAX has an option that makes None a leaf.
#[test]
fn none_is_a_leaf_when_told_so() {
    let flattener = Flattener::new().none_is_leaf(true);
    for vector in vectors() {
        let treedef = flattener.structure(&Vector(&vector["value"])).unwrap();
        let expected = vector["jax"].as_str().unwrap().replace("None", "*");
        assert_eq!(jax::text(&treedef).unwrap().data, expected);
    }
}

#[test]
fn subtrees_below_a_prefix_are_those_of_jax() {
    for vector in vectors() {
        let prefix = treedef::structure(&Vector(&vector["value"])).unwrap();
        let other = Tree::of(&Vector(&vector["other"])).unwrap();
        if let Ok(subtrees) = other.flatten_up_to(&prefix) {
            let text = |tree: &Tree<_>| jax::text(tree.treedef()).unwrap().data;
            let printed: Vec<String> = subtrees.leaves().iter().map(text).collect();
            assert_eq!(printed, texts(&vector["other_up_to"]));
        }
    }
}

fn text(value: &impl Serialize) -> String {
    inside(&treedef::structure(value).unwrap())
}

fn inside(treedef: &TreeDef) -> String {
    let text = jax::text(treedef).unwrap().data;
    text.strip_prefix("PyTreeDef(").unwrap().strip_suffix(")").unwrap().to_owned()
}

#[test]
fn values_print_as_what_they_become() {
    #[derive(Serialize)]
    struct Pair<T> {
        x: u8,
        y: T,
    }

    #[derive(Serialize)]
    enum Shape {
        Point,
        Circle(f64),
        Box { w: f64, h: f64 },
    }

    let rows = [
        (text(&1), "*"),
        (text(&None::<u8>), "None"),
        (text(&Some(1)), "*"),
        (text(&()), "()"),
        (text(&Vec::<u8>::new()), "[]"),
        (text(&(1,)), "(*,)"),
        (text(&vec![1]), "[*]"),
        (text(&((),)), "((),)"),
        (text(&(None::<u8>,)), "(None,)"),
        (text(&VecDeque::from([1, 2])), "[*, *]"),
        (text(&BTreeMap::<u8, u8>::new()), "{}"),
        (text(&BTreeMap::from([(2, 1), (1, 0)])), "{1: *, 2: *}"),
        (text(&BTreeMap::from([((1, 2), 0)])), "{(1, 2): *}"),
        (text(&BTreeMap::from([(true, 0), (false, 1)])), "{False: *, True: *}"),
        (text(&Pair { x: 1, y: (2, 3) }), "{'x': *, 'y': (*, *)}"),
        (text(&Shape::Point), "{'Point': ()}"),
        (text(&Shape::Circle(1.0)), "{'Circle': *}"),
        (text(&Shape::Box { w: 1.0, h: 2.0 }), "{'Box': {'h': *, 'w': *}}"),
        (text(&(1, Static("hi"))), "(*,)"),
    ];
    for (found, expected) in rows {
        assert_eq!(found, expected);
    }
}

/// Keys as `repr` prints them.
#[test]
fn every_key_has_a_form() {
    for (keys, expected) in [
        ("true: *, false: *", "False: *, True: *"),
        ("-1i8: *, 300u64: *", "-1: *, 300: *"),
        (
            "340282366920938463463374607431768211455u128: *",
            "340282366920938463463374607431768211455: *",
        ),
        ("1.5f32: *, 1.0: *", "1.0: *, 1.5: *"),
        ("-0.0: *", "-0.0: *"),
        ("1e15: *, 1e16: *, 1.5e300: *", "1000000000000000.0: *, 1e+16: *, 1.5e+300: *"),
        ("1e-4: *, -1e-5: *, 1.5e-7: *", "-1e-05: *, 1.5e-07: *, 0.0001: *"),
        ("inf: *, -inf: *", "-inf: *, inf: *"),
        ("None: *", "None: *"),
        (r#"(1, "a"): *, (1,): *"#, "(1,): *, (1, 'a'): *"),
        (r#""a b": *, "é": *, 'c': *"#, "'a b': *, 'c': *, 'é': *"),
        (r#""it's": *, "\"": *, "'\"": *"#, r#"'"': *, '\'"': *, "it's": *"#),
        (r#""\n\r\t\\": *"#, r"'\n\r\t\\': *"),
        (r#""\u{0}\u{1f}\u{7f}\u{a0}\u{3000}": *"#, r"'\x00\x1f\x7f\xa0\u3000': *"),
        (
            r#""\u{ad}\u{200b}\u{feff}\u{e000}\u{e0001}": *"#,
            r"'\xad\u200b\ufeff\ue000\U000e0001': *",
        ),
        (r#""e\u{301}": *, "😀": *"#, "'e\u{301}': *, '😀': *"),
        (r#"b"a": *, b"'": *"#, r#"b"'": *, b'a': *"#),
        (r#"b"\n\x00\xff": *"#, r"b'\n\x00\xff': *"),
    ] {
        let treedef: TreeDef = format!("{{{keys}}}").parse().unwrap();
        assert_eq!(inside(&treedef), format!("{{{expected}}}"));
        let paths = jax::keystrs(&treedef).unwrap().data;
        let entries: Vec<String> =
            paths.iter().map(|path| format!("{}: *", &path[1..path.len() - 1])).collect();
        assert_eq!(entries.join(", "), expected);
    }
}

#[test]
fn leaves_have_their_paths_in_the_order_of_jax() {
    let treedef: TreeDef =
        r#"Net { w: [(*, Some(*)), None], b: {2: *, 1: A::B(*)} }"#.parse().unwrap();
    let paths = jax::keystrs(&treedef).unwrap();
    assert_eq!(paths.data, ["['b'][1]['B']", "['b'][2]", "['w'][0][0]", "['w'][0][1]"]);
    assert_eq!(
        paths.permute(&["w0", "w1", "b1", "b2"]).unwrap(),
        ["b1", "b2", "w0", "w1"].map(Some)
    );
}

#[test]
fn what_python_does_not_have_is_refused() {
    let said = |text: &str| jax::text(&text.parse().unwrap()).unwrap_err();
    assert_snapshot!(said("{[1]: *}"), @"`[1]` cannot be the key of a dict at the root");
    assert_snapshot!(said("{1: *, true: *}"), @"two keys of the dict are 1 to Python at the root");
    assert_snapshot!(said("{1: *, \"a\": *}"), @"the keys 1 and 'a' have no order in Python, so JAX takes neither at the root");
    assert_snapshot!(said("static 1"), @"nothing is left without the statics");
    assert_snapshot!(said("[*; 16777216]"), @"16777217 nodes, the limit is 16777216 (see `Lowering::max_nodes`)");
}

/// Its paths would need 800 MB.
#[test]
fn paths_are_bounded() {
    let name = "n".repeat(100_000);
    let map = TreeDef::map([(
        Value::of(&name).unwrap(),
        TreeDef::seq_of(&TreeDef::leaf(), 8_000).unwrap(),
    )]);
    let error = jax::keystrs(&map.unwrap()).unwrap_err();
    assert_snapshot!(error, @"paths of more than 268435456 bytes in all");
}
