//! The form on several lines, and the forms for those who debug.

use insta::assert_snapshot;
use treedef::{Flattener, Leaf, Tree, TreeDef, Value};

fn pretty(text: &str) -> String {
    let treedef: TreeDef = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    let pretty = format!("{treedef:#}");
    assert_eq!(pretty.parse::<TreeDef>().unwrap(), treedef);
    if !text.starts_with('#') {
        assert_eq!(format!("{:#}", treedef.root()), pretty);
    }
    pretty
}

/// A leaf whose text is as long as wanted.
fn long(width: usize) -> String {
    "n".repeat(width)
}

/// One column is left for the comma that may follow.
#[test]
fn a_line_has_79_columns() {
    let fits = format!("[{}]", long(77));
    assert_eq!(pretty(&fits), fits);
    assert_eq!(pretty(&format!("[{}]", long(78))), format!("[\n  {},\n]", long(78)));
    let nested = format!("[\n  A {{ x: {} }},\n  *,\n]", long(68));
    assert_eq!(pretty(&nested), nested);
    assert_eq!(
        pretty(&format!("[A {{ x: {} }}, *]", long(69))),
        format!("[\n  A {{\n    x: {},\n  }},\n  *,\n]", long(69))
    );
    // Columns are characters, not bytes.
    let fits = format!("[`{}`]", "é".repeat(75));
    assert_eq!(pretty(&fits), fits);
    // The text before a node on its line counts.
    let labelled = format!("{{\n  \"{}\": [*],\n  \"b\": *,\n}}", long(70));
    assert_eq!(pretty(&labelled.replacen("b", "zz", 1)), labelled.replacen("b", "zz", 1));
    let options = format!("#[insertion] [{}]", long(64));
    assert_eq!(pretty(&options), options);
    assert_eq!(
        pretty(&format!("#[insertion] [{}]", long(65))),
        format!("#[insertion] [\n  {},\n]", long(65))
    );
}

#[test]
fn every_kind_breaks_in_its_way() {
    let a = long(50);
    let [first, second] = [1, 2].map(|number| format!("{a}{number}"));
    assert_snapshot!(pretty(&format!("[{first}, {second}]")), @"
    [
      nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn1,
      nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn2,
    ]
    ");
    assert_snapshot!(pretty(&format!("({first}, {second})")), @"
    (
      nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn1,
      nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn2,
    )
    ");
    assert_snapshot!(pretty(&format!("(({first}, {second}),)")), @"
    (
      (
        nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn1,
        nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn2,
      ),
    )
    ");
    assert_snapshot!(pretty(&format!("A({first}, {second})")), @"
    A(
      nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn1,
      nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn2,
    )
    ");
    assert_snapshot!(pretty(&format!("A::B({first}, {second})")), @"
    A::B(
      nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn1,
      nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn2,
    )
    ");
    assert_snapshot!(pretty(&format!("A {{ x: {first}, y: {second} }}")), @"
    A {
      x: nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn1,
      y: nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn2,
    }
    ");
    assert_snapshot!(pretty(&format!("A::B {{ x: {first}, y: A({second}) }}")), @"
    A::B {
      x: nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn1,
      y: A(nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn2),
    }
    ");
    assert_snapshot!(pretty(&format!("{{1: {first}, 2: {second}}}")), @"
    {
      1: nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn1,
      2: nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn2,
    }
    ");
    assert_snapshot!(pretty(&format!("Some([{first}, {second}])")), @"
    Some([
      nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn1,
      nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn2,
    ])
    ");
    assert_snapshot!(pretty(&format!("A(A::B(Some(({first}, {second}))))")), @"
    A(A::B(Some((
      nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn1,
      nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn2,
    ))))
    ");
    assert_snapshot!(pretty(&format!("[[{first}, {second}]; 3, *]")), @"
    [
      [
        nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn1,
        nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn2,
      ]; 3,
      *,
    ]
    ");
    assert_snapshot!(pretty(&format!("[A {{ x: [{first}, {second}] }}; 3]")), @"
    [
      A {
        x: [
          nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn1,
          nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn2,
        ],
      }; 3,
    ]
    ");
    assert_snapshot!(pretty(&format!("static [{first}, {second}, [1, 2]]")), @"
    static [
      nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn1,
      nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn2,
      [1, 2],
    ]
    ");
    assert_snapshot!(pretty(&format!("A {{ x: static {{1: [{first}, {second}]}}, y: * }}")), @"
    A {
      x: static {
        1: [
          nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn1,
          nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn2,
        ],
      },
      y: *,
    }
    ");
    assert_snapshot!(pretty(&format!("[{}]", long(100))), @"
    [
      nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn,
    ]
    ");
    assert_snapshot!(pretty(&format!("{}([])", long(100))), @"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn([])");
    assert_snapshot!(pretty(&format!("[{}(), {0} {{}}, {{}}, []]", long(100))), @"
    [
      nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn(),
      nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn {},
      {},
      [],
    ]
    ");
}

#[test]
fn trees_print_with_their_leaves() {
    let tree = Tree::of(&(vec![1u8; 6], vec![1u8, 2], ["a"; 2], [[1, 2], [1, 2], [1, 3]])).unwrap();
    assert_snapshot!(tree, @r#"([1u8; 6], [1u8, 2u8], ("a", "a"), ((1, 2); 2, (1, 3)))"#);
    assert_snapshot!(format!("{tree:#}"), @r#"([1u8; 6], [1u8, 2u8], ("a", "a"), ((1, 2); 2, (1, 3)))"#);
    let tree = Tree::of(&[[long(60), long(61)]]).unwrap();
    assert_snapshot!(format!("{tree:#}"), @r#"
    (
      (
        "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
        "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
      ),
    )
    "#);
    let signature = Tree::of(&((1u8, 2.0), [(1, 'a'), (2, 'b')], [1.0; 7]))
        .unwrap()
        .map(|leaf: Leaf| leaf.kind());
    assert_snapshot!(signature, @"((u8, f64), ((i32, char); 2), (f64; 7))");
}

/// A leaf that is a whole value prints as that value.
#[test]
fn opaque_leaves_print_as_values() {
    let point = std::collections::BTreeMap::from([("Point", Some((1u8, "a")))]);
    let flattener = Flattener::new().mark_opaque("[*]").unwrap();
    let (leaves, treedef) = flattener.flatten(&point).unwrap();
    assert_snapshot!(leaves[0], @r#"Some((1u8, "a"))"#);
    assert_snapshot!(Tree::new(treedef, leaves).unwrap(), @r#"{"Point": Some((1u8, "a"))}"#);
}

#[test]
fn debug_names_the_type() {
    let (_, treedef) = treedef::flatten(&(1, [2])).unwrap();
    assert_snapshot!(format!("{treedef:?}"), @"TreeDef((*, (*,)))");
    assert_snapshot!(format!("{:?}", treedef.root()), @"NodeRef((*, (*,)))");
    assert_snapshot!(format!("{:?}", "[1u8]".parse::<Value>().unwrap()), @"Value([1u8])");
    assert_snapshot!(format!("{:?}", Tree::of(&[1u8]).unwrap()), @"Tree { treedef: TreeDef((*,)), leaves: [U8(1)] }");
    assert_snapshot!(treedef.root(), @"(*, (*,))");
}
