//! PyTorch: `torch.utils._pytree`.

use indexmap::IndexMap;
use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use treedef::{Flattener, Leaf, LeafKind, MapOrder, Static, Tree};

use crate::common::{def, of, path, paths, said, tree};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Linear {
    w: Vec<f64>,
    b: f64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Act {
    #[serde(rename = "RELU")]
    Relu,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
enum Key {
    Act(Act),
    Name(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Entry {
    Step(i32),
    Enc(Linear),
    Flags((bool, Option<f64>)),
}

type Dict = IndexMap<Key, Entry>;

fn value() -> Dict {
    let name = |name: &str| Key::Name(name.to_owned());
    IndexMap::from([
        (name("step"), Entry::Step(3)),
        (name("enc"), Entry::Enc(Linear { w: vec![1.0, 2.0], b: 0.5 })),
        (Key::Act(Act::Relu), Entry::Flags((true, None))),
    ])
}

/// In torch, dicts keep their order, and None is a leaf.
fn torch() -> Flattener {
    Flattener::new().map_order(MapOrder::Insertion).none_is_leaf(true)
}

fn flattened() -> Tree<Leaf> {
    let (leaves, treedef) = torch().flatten(&value()).unwrap();
    Tree::new(treedef, leaves).unwrap()
}

#[test]
fn a_dict_of_anything_is_flattened() {
    let tree = flattened();
    let leaves: [Leaf; 6] = [3.into(), 1.0.into(), 2.0.into(), 0.5.into(), true.into(), Leaf::None];
    assert_eq!(tree.leaves(), leaves);
    let treedef = tree.treedef();
    assert_eq!(
        (treedef.num_nodes(), treedef.num_leaves(), treedef.root().num_children()),
        (10, 6, 3)
    );
    assert_snapshot!(treedef, @r#"#[insertion, none_is_leaf] {"step": *, "enc": Linear { w: [*, *], b: * }, Act::RELU: (*, *)}"#);
    assert_eq!(tree.into_typed::<Dict>().unwrap(), value());
}

/// torch writes JSON inside JSON, with the names that types were registered under.
#[test]
fn the_structure_is_written_and_read() {
    let treedef = flattened().into_parts().0;
    assert_eq!(def(&treedef.to_string()), treedef);
    #[cfg(feature = "persist")]
    {
        assert_eq!(treedef::TreeDef::from_bytes(&treedef.to_bytes().unwrap()).unwrap(), treedef);
        let json = serde_json::to_string(&treedef).unwrap();
        assert_eq!(serde_json::from_str::<treedef::TreeDef>(&json).unwrap(), treedef);
    }
}

#[test]
fn leaves_have_their_paths() {
    let tree = flattened();
    assert_eq!(
        paths(tree.treedef()),
        [
            "[\"step\"]",
            "[\"enc\"].w[0]",
            "[\"enc\"].w[1]",
            "[\"enc\"].b",
            "[Act::RELU].0",
            "[Act::RELU].1"
        ]
    );
    let third = tree.treedef().leaf_path(2).unwrap();
    assert_eq!(tree.get(&third).unwrap(), &Leaf::F64(2.0));
    assert_eq!(tree.get(path("[Act::RELU].1")).unwrap(), &Leaf::None);
    // torch's KeyError has no path.
    assert_snapshot!(said(tree.get(path("[\"enc\"].c"))), @r#"no child `.c` in `Linear { w: [*, *], b: * }` at `["enc"]`"#);
}

/// `tree_map_only(float, …)`. Ours: with a type, `map` wants all leaves of that kind.
#[test]
fn leaves_of_one_kind_are_mapped() {
    let scaled = treedef::map(&value(), |leaf| match leaf {
        Leaf::F64(x) => Leaf::F64(10.0 * x),
        other => other,
    });
    let mut expected = value();
    expected[1] = Entry::Enc(Linear { w: vec![10.0, 20.0], b: 5.0 });
    assert_eq!(scaled.unwrap(), expected);
    assert_snapshot!(said(treedef::map(&value(), |x: f64| 10.0 * x)), @r#"expected f64, found i32 at `["step"]` (mark it `treedef::as_static`, or choose the leaves with `Flattener::leaves_where`)"#);
}

#[test]
fn leaves_are_asked() {
    let tree = flattened();
    assert!(tree.leaves().iter().any(|leaf| leaf.kind() == LeafKind::None));
    let mut floats = tree.leaves().iter().filter_map(|leaf| f64::try_from(leaf.clone()).ok());
    assert!(floats.all(|x| x > 0.0));
    let empty = of(&Vec::<f64>::new());
    assert!(empty.leaves().iter().all(|_| false) && !empty.leaves().iter().any(|_| true));
}

#[test]
fn prefixes_are_broadcast() {
    let full = flattened().into_parts().0;
    let prefix = "#[insertion, none_is_leaf] {\"step\": *, \"enc\": *, Act::RELU: *}";
    let broadcast = tree(prefix, [0, 1, 2]).broadcast_to(&full).unwrap();
    assert_eq!(broadcast.leaves(), [0, 1, 1, 1, 2, 2]);
    // torch returns None; ours returns the path of the difference.
    let list = tree("#[insertion, none_is_leaf] [*, *, *]", [0, 1, 2]);
    assert_snapshot!(said(list.broadcast_to(&full)), @r#"the prefix has `[*, *, *]`, the tree `{"step": *, "enc": Linear { w: [*, *], b: * }, Act::RELU: (*…` at the root"#);
}

/// A prefix, its leaves, and the leaves of the whole.
type Row<'a> = (&'a str, &'a [i32], Option<[i32; 3]>);

#[test]
fn prefixes_are_broadcast_as_in_the_table() {
    let full = def("[*, (*, {\"k\": *})]");
    let rows: [Row<'_>; 7] = [
        ("*", &[5], Some([5, 5, 5])),
        ("[*, *]", &[5, 6], Some([5, 6, 6])),
        ("[*, (*, *)]", &[1, 2, 3], Some([1, 2, 3])),
        ("[*, (*, {\"k\": *})]", &[1, 2, 3], Some([1, 2, 3])),
        ("(*, *)", &[1, 2], None),
        ("[*]", &[1], None),
        ("[*, (*, {\"z\": *})]", &[1, 2, 3], None),
    ];
    for (prefix, leaves, expected) in rows {
        let broadcast = tree(prefix, leaves).broadcast_to(&full).ok();
        assert_eq!(
            broadcast.map(|tree| tree.leaves().to_vec()),
            expected.map(Vec::from),
            "{prefix}"
        );
    }
}

#[test]
fn constants_belong_to_the_structure() {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct C {
        norm: String,
    }
    let constant = |norm: &str| C { norm: norm.to_owned() };
    let by_type = Flattener::new().mark_static("C").unwrap();
    let (leaves, treedef) = by_type.flatten(&(1, constant("l2"))).unwrap();
    assert_eq!(leaves, [Leaf::I32(1)]);
    let back: (i32, C) = treedef::unflatten(&treedef, [9]).unwrap();
    assert_eq!(back, (9, constant("l2")));
    assert_ne!(
        by_type.structure(&constant("a")).unwrap(),
        by_type.structure(&constant("b")).unwrap()
    );
    let marked = treedef::structure(&(1, Static(constant("l2")))).unwrap();
    assert_eq!(marked, treedef);
}

/// torch prints each child of a node on a line of its own. Ours: one line as long as it fits, then
/// one for each child.
#[test]
fn structures_print_over_several_lines() {
    let treedef = def("#[insertion, none_is_leaf] {\"b\": *, \"a\": [*, (*, *)]}");
    assert_eq!(treedef.to_string(), "#[insertion, none_is_leaf] {\"b\": *, \"a\": [*, (*, *)]}");
    assert_snapshot!(format!("{treedef:#12}"), @r#"
    #[insertion, none_is_leaf] {
      "b": *,
      "a": [
        *,
        (*, *),
      ],
    }
    "#);
}

#[test]
fn what_torch_refuses_is_refused() {
    let spec = def("{\"a\": [*, (*, *)], \"b\": *}");
    assert_snapshot!(said(Tree::new(spec.clone(), vec![1, 2])), @"expected 4 leaves, found 2");
    let refused = |expected: &str, found: &str| said(def(found).check_equal(&def(expected)));
    assert_snapshot!(refused("[*, *]", "[*]"), @"expected 2 children, found 1 child at the root");
    assert_snapshot!(refused("[*]", "(*,)"), @"expected `[*]`, found `(*,)` at the root");
    assert_snapshot!(refused("{\"a\": *}", "{\"b\": *}"), @r#"expected `*`, found nothing at `["a"]`, and 1 more difference"#);
    assert_snapshot!(refused("D { x: * }", "[*]"), @"expected `D { x: * }`, found `[*]` at the root");
    assert_snapshot!(refused("P { x: * }", "Q { x: * }"), @"expected `P { x: * }`, found `Q { x: * }` at the root");
    assert_snapshot!(said(spec.node(path("[\"a\"][2]"))), @r#"no child `[2]` in `[*, (*, *)]` at `["a"]`"#);
    #[cfg(feature = "persist")]
    assert_snapshot!(said(treedef::TreeDef::from_bytes(b"[2, {\"type\": null}]")), @r#"expected a file with a treedef, found a text that begins with `[2, {"type": null}]`"#);
}

/// torch: a subclass of dict is silently a leaf. Ours: a type that serde serializes as a map is a map.
#[test]
fn a_map_of_any_type_is_a_node() {
    let json: serde_json::Map<String, serde_json::Value> =
        [("a".to_owned(), serde_json::json!([1, 2]))].into_iter().collect();
    assert_eq!(treedef::structure(&json).unwrap(), def("{\"a\": [*, *]}"));
}
