//! Refused calls, and their errors.

use insta::assert_snapshot;
use treedef::{
    Error, ErrorKind, Leaf, Limits, NodeHead, NodeKind, Result, Tree, TreeDef, TreeDefBuilder,
    Value,
};

fn treedef(text: &str) -> TreeDef {
    text.parse().unwrap()
}

fn numbered(text: &str) -> Tree<usize> {
    let treedef = treedef(text);
    let leaves = (0..treedef.num_leaves()).collect();
    Tree::new(treedef, leaves).unwrap()
}

/// The error blames the argument that was wrong.
#[test]
fn the_kind_says_who_is_wrong() {
    let is_argument = |error: Error| error.kind() == ErrorKind::Argument;
    let mut tree = numbered("(*, [*])");
    assert!(is_argument(tree.insert("2", Tree::leaf(0)).unwrap_err()));
    assert!(is_argument(tree.insert("1[2]", Tree::leaf(0)).unwrap_err()));
    assert!(is_argument(tree.clone().split_into(1, |_, leaf| *leaf).unwrap_err()));
    assert!(is_argument(tree.clone().map(|leaf| vec![(); leaf]).unstack().unwrap_err()));
    assert!(is_argument(Tree::of(&(1, "a")).unwrap().ravel().unwrap_err()));
    let (_, ravel) = Tree::of(&(1u8, 2u8)).unwrap().ravel().unwrap();
    assert!(is_argument(ravel.unravel(&[0.5, 256.0]).unwrap_err()));

    let (first, _) = tree.clone().partition(|_: &_, leaf: &usize| *leaf == 0).unwrap();
    for parts in [vec![first.clone(), first.clone()], vec![first]] {
        assert_eq!(Tree::combine(parts).unwrap_err().kind(), ErrorKind::Argument);
    }
    let diff = treedef("[None; 9]").diff(&treedef("[(); 9]"));
    let error = treedef("[None; 8]").patch(&diff).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Structure, "{error}");
    let function = tree.try_map(|_| Err::<Leaf, _>("no")).unwrap_err();
    assert_eq!(function.kind(), ErrorKind::Function, "{function}");
}

/// Only the leaves of a prefix are used, so its statics need not equal the statics of the whole.
#[test]
fn a_static_of_a_prefix_stands_for_any() {
    let full = numbered("[L { s: static 1, w: [*, *] }, L { s: static 2, w: [*] }, None]");
    let prefix = numbered("[L { s: static 7, w: * }; 2, None]");
    let expected = [0, 0, 1];
    assert_eq!(prefix.broadcast_to(full.treedef()).unwrap().leaves(), expected);
    let whole = prefix.broadcast_to(full.treedef()).unwrap();
    assert_eq!(whole.zip_with(full.clone(), |leaf, _| leaf).unwrap().leaves(), expected);
    assert!(!prefix.treedef().is_prefix_of(full.treedef()));
    let mask = prefix.clone().map(|leaf| leaf == 0);
    assert_eq!(full.partition(&mask).unwrap().1.leaves(), [None, None, Some(2)]);

    // It represents no other node, and the other differences are still reported.
    let error = prefix.broadcast_to(&treedef("[L { s: *, w: * }, L { s: static 1, w: () }, *]"));
    assert_snapshot!(error.unwrap_err(), @"the prefix has `static 7`, the tree `*` at `[0].s`, and 1 more difference");
}

#[test]
fn what_is_no_prefix() {
    let refused = |prefix: &str, full: &str| {
        let error = numbered(full).flatten_up_to(&treedef(prefix)).unwrap_err();
        if !prefix.contains("static") {
            let broadcast = numbered(prefix).broadcast_to(&treedef(full)).unwrap_err();
            assert_eq!(error.to_string(), broadcast.to_string());
        }
        error.to_string()
    };
    assert_snapshot!(refused("[*]", "(*,)"), @"the prefix has `[*]`, the tree `(*,)` at the root");
    assert_snapshot!(refused("[*, *]", "[*]"), @"the prefix has 2 children, the tree 1 child at the root");
    assert_snapshot!(refused("{\"a\": [None, *]}", "{\"a\": [*, *]}"), @r#"the prefix has `None`, the tree `*` at `["a"][0]` (for a `None` in the place of a leaf, flatten the prefix with `none_is_leaf`)"#);
    assert_snapshot!(refused("P { x: *, y: * }", "P { x: *, z: * }"), @"the prefix has `*`, the tree nothing at `.y`, and 1 more difference");
    assert_snapshot!(refused("P { x: *, y: * }", "P { y: *, x: * }"), @"the prefix has `.x`, `.y`, the tree `.y`, `.x` at the root");
    assert_snapshot!(refused("P { x: * }", "Q { x: * }"), @"the prefix has `P { x: * }`, the tree `Q { x: * }` at the root");
    assert_snapshot!(refused("(E::A(*), *)", "(E::B(*), *)"), @"the prefix has `E::A(*)`, the tree `E::B(*)` at `.0`");
    assert_snapshot!(refused("[static 1, *]", "[static 2, *]"), @"the prefix has `static 1`, the tree `static 2` at `[0]`");
    assert_snapshot!(refused("[(None, *); 5]", "[(None, *); 3, (*, *), (None, *)]"), @"the prefix has `None`, the tree `*` at `[3].0` (for a `None` in the place of a leaf, flatten the prefix with `none_is_leaf`)");
    assert_snapshot!(refused("#[insertion] {\"a\": *}", "{\"a\": *}"), @"expected `#[insertion]`, found no options at the root (use one `Flattener` for both)");
}

/// JAX compares the numbers of leaves alone, and returns the wrong tree (jax issue 19810).
#[test]
fn what_cannot_be_transposed() {
    let refused = |tree: &str, outer: &str, inner: &str| {
        numbered(tree).transpose(&treedef(outer), &treedef(inner)).unwrap_err().to_string()
    };
    assert_snapshot!(refused("[(*, *, *), (*, *, *)]", "(*, *, *)", "[*, *]"), @"expected `([*, *]; 3)`, found `[(*, *, *); 2]` at the root");
    assert_snapshot!(refused("[(*, *)]", "[*]", "(*, *, *)"), @"expected 3 children, found 2 children at `[0]`");
    assert_snapshot!(refused("[(*, *), [*, *]]", "[*, *]", "(*, *)"), @"expected `(*, *)`, found `[*, *]` at `[1]`");
    // JAX: an index out of range.
    assert_eq!(
        numbered("[]").transpose(&treedef("[]"), &treedef("(*, *)")).unwrap().treedef().to_string(),
        "([], [])"
    );
}

#[test]
fn what_has_no_common_suffix() {
    let refused = |a: &str, b: &str| treedef(a).common_suffix(&treedef(b)).unwrap_err().to_string();
    assert_snapshot!(refused("[*, (*, [*])]", "[*, (*, (*,))]"), @"expected `[*]`, found `(*,)` at `[1].1`");
    assert_snapshot!(refused("[*, *, *, (*,)]", "[*, *, *, [*]]"), @"expected `(*,)`, found `[*]` at `[3]`");
    assert_snapshot!(refused("{1: None}", "{1: [*]}"), @"expected `None`, found `[*]` at `[1i32]`");
}

#[test]
fn what_has_no_inner_structure() {
    let refused =
        |full: &str, outer: &str| treedef(full).inner_of(&treedef(outer)).unwrap_err().to_string();
    assert_snapshot!(refused("[(*, *), [*, *]]", "[*, *]"), @"expected `(*, *)`, found `[*, *]` at `[1]`");
    assert_snapshot!(refused("[(*, *), (*, *), *]", "[*, *, *]"), @"expected `(*, *)`, found `*` at `[2]`");
    assert_snapshot!(refused("[(*, *)]", "(*,)"), @"the prefix has `(*,)`, the tree `[(*, *)]` at the root");
    assert_snapshot!(refused("[[(*, *)], [(*,)]]", "[*, *]"), @"expected 2 children, found 1 child at `[1][0]`");
    assert_snapshot!(refused("[]", "[]"), @"a structure without leaves has no inner structure");
}

#[test]
fn what_cannot_be_constructed() {
    let children = [treedef("#[insertion] {}"), treedef("{}")];
    assert_snapshot!(TreeDef::seq(children).unwrap_err(), @"expected `#[insertion]`, found no options at the root (use one `Flattener` for both)");
    assert_snapshot!(treedef("#[none_is_leaf] [*, Some(())]").compose(&treedef("None")).unwrap_err(), @"expected `#[none_is_leaf]`, found no options at the root (one was flattened with `none_is_leaf`, the other without: use one `Flattener` for both)");
    assert_snapshot!(TreeDef::seq([treedef("[*; 10000000000000000000]"), treedef("[*; 10000000000000000000]")]).unwrap_err(), @"too large: a count exceeds 64 bits at the root");
    assert_snapshot!(TreeDef::seq_of(&treedef("[*; 100]"), usize::MAX).unwrap_err(), @"too large: a count exceeds 64 bits at the root");
}

/// Each call that does not fit, as a user reads it.
#[test]
fn what_the_builder_refuses() {
    fn refused(build: impl FnOnce(&mut TreeDefBuilder) -> Result<()>) -> String {
        let mut builder = TreeDefBuilder::new();
        let built = build(&mut builder).and_then(|()| builder.finish().map(drop));
        built.unwrap_err().to_string()
    }
    let net = || NodeHead { name: "Net", ..NodeKind::Struct.into() };
    assert_snapshot!(refused(|_| Ok(())), @"expected a node, found none at the root");
    assert_snapshot!(refused(|b| b.close()), @"expected an open node, found none at the root");
    assert_snapshot!(refused(|b| b.leaves(2)), @"expected one root, found more at the root");
    assert_snapshot!(refused(|b| b.leaves(1).and_then(|()| b.leaves(1))), @"expected one root, found more at the root");
    assert_snapshot!(refused(|b| b.open(NodeKind::Seq, 1)), @"expected `TreeDefBuilder::close` before the end at the root");
    assert_snapshot!(refused(|b| { b.open(NodeKind::Seq, 1)?; b.leaves(0) }), @"expected a child that occurs at least once, found 0 times at the root");
    assert_snapshot!(refused(|b| { b.open(net(), 1)?; b.leaves(1) }), @"expected a field or a key before this child at the root");
    assert_snapshot!(refused(|b| { b.open(net(), 1)?; b.key(Value::of("w")?) }), @r#"the key "w" is not expected here at the root"#);
    assert_snapshot!(refused(|b| { b.open(net(), 1)?; b.field("w")?; b.field("b") }), @"the field `b` is not expected here at the root");
    assert_snapshot!(refused(|b| { b.open(net(), 1)?; b.field("w")?; b.close() }), @"the child `.w` is missing at the root");
    assert_snapshot!(refused(|b| {
        b.open(net(), 1)?;
        b.field("layers")?;
        b.open(NodeKind::Seq, 1)?;
        b.leaves(3)?;
        b.open(NodeKind::Some, 1)?;
        b.leaves(1)?;
        b.leaves(1)
    }), @"expected one child, found a second at `.layers[3]`");
    assert_snapshot!(refused(|b| { b.open(NodeHead { name: "N", ..NodeKind::NewtypeStruct.into() }, 1)?; b.close() }), @"the child `.0` is missing at the root");
    assert_snapshot!(refused(|b| b.open(NodeKind::Static, 1)), @"a static has a value: see `TreeDefBuilder::static_value` at the root");
    assert_snapshot!(refused(|b| { b.open(NodeKind::Map, 1)?; b.field("w") }), @"the field `w` is not expected here at the root");
    assert_snapshot!(refused(|b| { b.open(NodeKind::Seq, 1)?; b.open(NodeKind::Tuple, usize::MAX)?; b.leaves(2)?; b.close()?; b.close() }), @"too large: a count exceeds 64 bits at the root");
}

/// A child that was counted is missing.
#[test]
fn the_builder_adds_nothing_behind_an_error() {
    let mut builder = TreeDefBuilder::new();
    builder.open(NodeKind::Map, 1).unwrap();
    builder.key(Value::of("b").unwrap()).unwrap();
    builder.insert(&treedef(r#"{"x": *}"#), 1).unwrap();
    builder.key(Value::of("a").unwrap()).unwrap();
    let other = treedef("#[none_is_leaf] {\"x\": None}");
    assert_snapshot!(builder.insert(&other, 1).unwrap_err(), @"expected no options, found `#[none_is_leaf]` at the root (one was flattened with `none_is_leaf`, the other without: use one `Flattener` for both)");
    assert_snapshot!(builder.close().unwrap_err(), @"an earlier node could not be added, so the structure is incomplete at the root");
    assert_snapshot!(builder.leaves(1).unwrap_err(), @"an earlier node could not be added, so the structure is incomplete at the root");
    assert_snapshot!(builder.finish().unwrap_err(), @"an earlier node could not be added, so the structure is incomplete at the root");

    let mut builder = TreeDefBuilder::new();
    builder.open(NodeKind::Map, 1).unwrap();
    builder.key(Value::of("b").unwrap()).unwrap();
    builder.open(NodeKind::Seq, 1).unwrap();
    builder.leaves(usize::MAX).unwrap();
    builder.open(NodeKind::None, 1).unwrap();
    builder.leaves(usize::MAX).unwrap();
    assert_snapshot!(builder.close().unwrap_err(), @"too large: a count exceeds 64 bits at the root");
    assert_snapshot!(builder.close().unwrap_err(), @"an earlier node could not be added, so the structure is incomplete at the root");
}

/// Whatever the reason, a node that was not added is missing.
#[test]
fn the_builder_is_incomplete_after_any_refused_node() {
    let limits = Limits { max_nodes: 2, ..Limits::default() };
    let unit = treedef("()");
    let refused: [fn(&mut TreeDefBuilder, &TreeDef) -> Result<()>; 6] = [
        |b, _| b.open(NodeKind::None, 1),
        |b, _| b.leaves(1),
        |b, _| b.static_value(&Value::of(&1).unwrap(), 1),
        |b, _| b.leaves(0),
        |b, _| b.open(NodeKind::Static, 1),
        |b, unit| b.insert(unit, 0),
    ];
    for add in refused {
        let mut builder = TreeDefBuilder::new().limits(limits);
        builder.open(NodeKind::Seq, 1).unwrap();
        builder.open(NodeKind::Unit, 1).unwrap();
        add(&mut builder, &unit).unwrap_err();
        assert!(builder.close().unwrap_err().to_string().starts_with("an earlier node could not"));
        builder.finish().unwrap_err();
    }
}

#[test]
fn the_builder_takes_the_options_of_its_parts() {
    let part = treedef(r#"#[insertion] {"d": *, "c": *}"#);
    let mut builder = TreeDefBuilder::new();
    builder.open(NodeKind::Map, 1).unwrap();
    for key in ["b", "a"] {
        builder.key(Value::of(key).unwrap()).unwrap();
        builder.insert(&part, 1).unwrap();
    }
    builder.close().unwrap();
    let text = r#"#[insertion] {"b": {"d": *, "c": *}, "a": {"d": *, "c": *}}"#;
    assert_eq!(builder.finish().unwrap(), treedef(text));

    for kind in [NodeKind::None, NodeKind::Map] {
        let mut builder = TreeDefBuilder::new();
        builder.open(NodeKind::Tuple, 1).unwrap();
        builder.open(kind, 1).unwrap();
        if kind == NodeKind::Map {
            builder.close().unwrap();
        }
        let error = builder.insert(&part, 1).unwrap_err().to_string();
        assert!(error.starts_with("expected no options, found `#[insertion]`"), "{error}");
    }
}
