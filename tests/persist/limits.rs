//! Under the default limits, every structure that can be built prints and parses back, saves and loads;
//! or it is refused, with the limit to raise.

use std::collections::BTreeMap;

use allocation_counter::measure;
use insta::assert_snapshot;
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use treedef::{
    Flattener, Leaf, Limits, NodeKind, Opaque, Static, Tree, TreeDef, Value, flatten, structure,
    unflatten,
};
use treedef_testing::build::node;
use treedef_testing::cases::{all, cases};

#[track_caller]
fn prints_and_parses(treedef: &TreeDef) {
    assert!(treedef.to_string().parse::<TreeDef>().unwrap() == *treedef);
    assert!(format!("{treedef:#}").parse::<TreeDef>().unwrap() == *treedef);
}

#[track_caller]
fn saves_and_loads(treedef: &TreeDef) {
    let loaded = TreeDef::from_bytes(&treedef.to_bytes().unwrap()).unwrap();
    assert!(loaded == *treedef && loaded.limits() == Limits::default());
}

#[track_caller]
fn goes_everywhere<T: Serialize + DeserializeOwned + PartialEq>(value: &T) {
    let tree = Tree::of(value).unwrap();
    prints_and_parses(tree.treedef());
    saves_and_loads(tree.treedef());
    let loaded = Tree::from_bytes(&tree.to_bytes().unwrap()).unwrap();
    assert!(loaded.into_typed::<T>().unwrap() == *value);
    let (leaves, treedef) = flatten(value).unwrap();
    let parsed: TreeDef = treedef.to_string().parse().unwrap();
    assert!(unflatten::<T>(&parsed, leaves).unwrap() == *value);
}

#[test]
fn millions_without_a_leaf_go_everywhere() {
    let millions = cases(2_000_000) as usize;
    goes_everywhere(&vec![None::<f32>; millions]);
    goes_everywhere(&vec![(); millions]);
    #[derive(Serialize, serde::Deserialize, PartialEq, Clone)]
    enum Kind {
        Only,
    }
    goes_everywhere(&vec![Kind::Only; millions]);
}

#[test]
fn large_statics_and_names_go_everywhere() {
    let [a, b] = ["a", "b"].map(|text| text.repeat(2_000));
    let alternating = (0..2_000).map(|at| Static(if at % 2 == 0 { a.clone() } else { b.clone() }));
    goes_everywhere(&alternating.collect::<Vec<_>>());
    let millions = cases(4_000_000) as usize;
    goes_everywhere(&Static("x".repeat(millions)));
    goes_everywhere(&Static(vec![7u8; millions]));
    for length in [70_000, millions] {
        let name = "n".repeat(length);
        let named = TreeDef::named_struct(&name, [(&*name, TreeDef::leaf())]).unwrap();
        prints_and_parses(&named);
        saves_and_loads(&named);
    }
}

/// A structure beyond [`Limits::max_work`] is harmless if a value was walked, but looks like a bomb in a
/// file.
#[test]
fn what_a_file_would_not_give_back_is_not_saved() {
    if !all() {
        return;
    }
    let many = vec![(); 1 << 24];
    let tree = Tree::of(&many).unwrap();
    assert_eq!(tree.clone().into_typed::<Vec<()>>().unwrap().len(), many.len());
    assert_snapshot!(tree.to_bytes().unwrap_err(), @"16777217 nodes to visit, the limit is 16777216 (see `Limits::max_work`)");
    let limits = Limits { max_work: 1 << 25, ..Limits::default() };
    let (treedef, leaves) = tree.into_parts();
    let tree = Tree::new(treedef.with_limits(limits), leaves).unwrap();
    let loaded = Tree::from_bytes_as::<u8>(&tree.to_bytes().unwrap(), limits).unwrap();
    assert_eq!(loaded.into_typed::<Vec<()>>().unwrap().len(), many.len());

    let table = Static(vec![0u8; 1 << 24]);
    assert_snapshot!(structure(&table).unwrap_err(), @"16777217 nodes to visit, the limit is 16777216 (see `Limits::max_work`)");
    let large = Flattener::new().limits(limits).structure(&table).unwrap();
    assert!(TreeDef::parse_with(&large.to_string(), limits).unwrap() == large);
}

/// Also the values of opaque leaves.
#[test]
fn opaque_leaves_that_a_file_would_not_give_back_are_not_saved() {
    let limits = |max_work| Limits { max_work, ..Limits::default() };
    let value = Value::of(&BTreeMap::from([((1u8, 2u8), 0u8)])).unwrap();
    let saved = |max_work| {
        let treedef = TreeDef::leaf().with_limits(limits(max_work));
        Tree::new(treedef, vec![Leaf::from(value.clone())]).unwrap().to_bytes()
    };
    assert_snapshot!(saved(2).unwrap_err(), @"3 nodes to visit, the limit is 2 (see `Limits::max_work`)");
    let bytes = saved(8).unwrap();
    assert_eq!(Tree::from_bytes_as::<Leaf>(&bytes, limits(8)).unwrap().leaves(), [value.into()]);

    let deep = (0..150).fold(serde_json::json!([]), |inside, _| serde_json::json!([inside]));
    let deeper = Limits { max_depth: 200, ..Limits::default() };
    let (leaves, _) = Flattener::new().limits(deeper).flatten(&Opaque(&deep)).unwrap();
    let tree = Tree::new(TreeDef::leaf(), leaves.clone()).unwrap();
    assert_snapshot!(tree.to_bytes().unwrap_err(), @"nested deeper than 128 levels at the root (see `Limits::max_depth`)");
    let bytes = Tree::new(TreeDef::leaf().with_limits(deeper), leaves).unwrap().to_bytes().unwrap();
    let loaded = Tree::from_bytes_as::<Leaf>(&bytes, deeper).unwrap();
    assert_eq!(loaded.leaves()[0].clone().into_typed::<serde_json::Value>().unwrap(), deep);
}

#[test]
fn what_is_too_deep_is_not_built() {
    let nested: TreeDef = format!("{}*{}", "[".repeat(100), "]".repeat(100)).parse().unwrap();
    assert_snapshot!(nested.compose(&nested).unwrap_err(), @"nested deeper than 128 levels at the root (see `Limits::max_depth`)");
    let mut some = TreeDef::leaf();
    let error = loop {
        match node(NodeKind::Some, ["", ""], &[], [some.clone()]) {
            Ok(deeper) => some = deeper,
            Err(error) => break error,
        }
    };
    assert_snapshot!(error, @"nested deeper than 128 levels at the root (see `Limits::max_depth`)");
    prints_and_parses(&some);
    saves_and_loads(&some);
    // Raised limits also hold for structures that are derived from it.
    let raised = nested.clone().with_limits(Limits { max_depth: 300, ..Limits::default() });
    let composed = nested.compose(&raised).unwrap();
    assert_eq!(TreeDef::parse_with(&composed.to_string(), composed.limits()).unwrap(), composed);
    let bytes = composed.to_bytes().unwrap();
    assert_eq!(TreeDef::from_bytes_with(&bytes, composed.limits()).unwrap(), composed);
    assert_snapshot!(composed.with_limits(Limits::default()).to_bytes().unwrap_err(), @"nested deeper than 128 levels at the root (see `Limits::max_depth`)");
}

#[test]
fn what_prints_too_much_is_not_built() {
    let mut doubled = TreeDef::leaf();
    let error = loop {
        match TreeDef::named_struct("S", [("a", doubled.clone()), ("b", doubled.clone())]) {
            Ok(larger) => doubled = larger,
            Err(error) => break error,
        }
    };
    assert_snapshot!(error, @"33554431 nodes to visit, the limit is 16778816 (see `Limits::max_work`)");
    saves_and_loads(&doubled);
}

/// A name of 160 bytes costs as much as ten nodes wherever it is rebuilt, and a text of 32 as two.
#[test]
fn names_and_texts_are_work() {
    let work = |text: String| {
        let treedef: TreeDef = text.parse().unwrap();
        let strict = treedef.with_limits(Limits { max_work: 9, ..Limits::default() });
        unflatten::<IgnoredAny>(&strict, Vec::<u8>::new()).unwrap_err().to_string()
    };
    let (name, text) = ("N".repeat(160), "t".repeat(32));
    assert_snapshot!(work(format!("[{name}; 1000]")), @"11001 nodes to visit, the limit is 9 (see `Limits::max_work`)");
    assert_snapshot!(work(format!("[{{\"{text}\": ()}}; 1000]")), @"5001 nodes to visit, the limit is 9 (see `Limits::max_work`)");
}

#[test]
#[cfg(target_pointer_width = "64")] // the counts have more than 32 bits
fn what_an_operation_would_make_is_counted_first() {
    let bomb: TreeDef = "[*; 18446744073709551615]".parse().unwrap();
    let error = Tree::leaf(1u32).broadcast_to(&bomb).unwrap_err();
    assert_snapshot!(error, @"18446744073709551615 nodes to visit, the limit is 16777280 (see `Limits::max_work`)");
    let error =
        Tree::new("[*; 1152921504606846976]".parse().unwrap(), vec![(); 1 << 60]).unwrap_err();
    assert_snapshot!(error, @"1152921504606846976 nodes to visit, the limit is 16777216 (see `Limits::max_work`)");
    let units = Tree::<u8>::new("[(); 10000000000]".parse().unwrap(), Vec::new()).unwrap();
    let outer: TreeDef = "[*; 10000000000]".parse().unwrap();
    assert_snapshot!(units.flatten_up_to(&outer).unwrap_err(), @"10000000000 nodes to visit, the limit is 16777216 (see `Limits::max_work`)");
    let outer: TreeDef = "[()]".parse().unwrap();
    let inner: TreeDef = "[*; 10000000000]".parse().unwrap();
    let empty = Tree::<u8>::new(outer.clone(), Vec::new()).unwrap();
    assert_eq!(empty.transpose(&outer, &inner).unwrap().to_string(), "[[()]; 10000000000]");
    assert_snapshot!(Tree::leaf(1u8).split_into(usize::MAX, |_, _| 0).unwrap_err(), @"18446744073709551615 nodes to visit, the limit is 16777280 (see `Limits::max_work`)");
    let apart: TreeDef = format!("[{}]", vec!["*, ()"; 5_000].join(", ")).parse().unwrap();
    let cost = measure(
        || assert_snapshot!(apart.compose(&apart).unwrap_err(), @"50010001 nodes, the limit is 16777216 (see `Limits::max_nodes`)"),
    );
    assert!(cost.bytes_total < 1 << 16, "{} bytes", cost.bytes_total);
    // A structure that a walk has counted is allowed.
    let wide = structure(&vec![0u8; 100]).unwrap();
    assert_eq!(Tree::leaf(1u32).broadcast_to(&wide).unwrap().leaves().len(), 100);
}

/// Time and memory of the depth, not of its square.
#[test]
fn one_change_far_down_is_found_at_once() {
    const DEPTH: usize = 40_000;
    let limits = Limits { max_depth: 1 << 20, ..Limits::default() };
    let chain = |end: &str| {
        let text = "N { next: Some(".repeat(DEPTH / 2) + end + &") }".repeat(DEPTH / 2);
        TreeDef::parse_with(&text, limits).unwrap()
    };
    let (old, new) = (chain("*"), chain("()"));
    let cheap = |what: &str, run: &mut dyn FnMut()| {
        let cost = measure(run);
        assert!(cost.bytes_total < 128 << 20, "{what}: {} bytes", cost.bytes_total);
    };
    let mut diff = None;
    cheap("diff", &mut || diff = Some(old.diff(&new)));
    let diff = diff.unwrap();
    assert_eq!(diff.changes.len(), 1);
    let mut patched = None;
    cheap("patch", &mut || patched = Some(old.patch(&diff).unwrap()));
    assert!(patched.unwrap() == new);
    cheap("differences", &mut || {
        assert_eq!(new.check_equal(&old).unwrap_err().differences().len(), 1)
    });
    let mut pretty = String::new();
    cheap("printing", &mut || pretty = format!("{old:#}"));
    assert!(pretty.len() < 200 * DEPTH, "{}", pretty.len());
}

#[test]
fn keys_compare_by_what_is_distinct() {
    let [a, b]: [Value; 2] = ["[(); 8000000]", "[(); 8000001]"].map(|text| text.parse().unwrap());
    let cost = measure(|| assert!(a < b));
    assert!(cost.bytes_total < 1 << 14);
}

/// A structure that is made of others has the most generous of their limits.
#[test]
fn what_is_made_of_strict_parts_is_strict() {
    let strict = |text: &str| {
        TreeDef::parse_with(text, Limits { max_nodes: 6, max_depth: 2, ..Limits::default() })
            .unwrap()
    };
    let part = || strict("[*, ()]");
    let key = |key: &str| treedef::Value::of(key).unwrap();
    let made = [
        TreeDef::seq([part(), part()]),
        TreeDef::seq_of(&part(), 2),
        TreeDef::tuple([part(), strict("((),)")]),
        TreeDef::map([(key("a"), part()), (key("b"), part())]),
        TreeDef::named_struct("A", [("a", part()), ("b", part())]),
        strict("[*, ()]").common_suffix(&strict("[[*], ()]")),
    ];
    for made in made {
        let made = made.unwrap();
        assert_eq!(made.limits(), part().limits());
    }
    let deep = || strict("[[*]]");
    let wide = || strict("[*, (), *, (), *]");
    let refused = [
        TreeDef::seq([deep()]),
        TreeDef::tuple([wide(), part()]),
        TreeDef::map([(key("a"), deep())]),
        TreeDef::named_struct("A", [("a", deep())]),
        strict("[*, [*, ()]]").common_suffix(&strict("[[(), *, ()], *]")),
    ];
    for refused in refused {
        assert!(refused.is_err(), "{refused:?}");
    }
    let mixed = TreeDef::seq([deep(), TreeDef::leaf()]).unwrap();
    assert_eq!(mixed.limits(), Limits::default());
}
