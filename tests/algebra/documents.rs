//! Trees as nested documents, vectors of floats, and functions over flat leaves.

use indexmap::IndexMap;
use insta::assert_snapshot;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{json, to_value};
use treedef::{Flattener, Leaf, LeafKind, Limits, MapOrder, Static, Tree, TreeDef, Value};
use treedef_testing::cases::config;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Model {
    #[serde(serialize_with = "treedef::as_static")]
    name: String,
    layers: Vec<Layer>,
    #[serde(serialize_with = "treedef::as_opaque")]
    shape: (u8, u8),
    step: u64,
    best: Option<f64>,
    unit: (),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Layer {
    Identity,
    Scale(f32),
    Linear(f32, Vec<i8>),
    Norm { mean: f64, tags: IndexMap<String, bool> },
}

fn model() -> Model {
    let tags = [("z".to_owned(), true), ("a".to_owned(), false)].into();
    let norm = Layer::Norm { mean: -0.5, tags };
    let layers = vec![Layer::Identity, Layer::Scale(0.1), Layer::Linear(1.5, vec![1, -2]), norm];
    let name = "mlp".to_owned();
    Model { name, layers, shape: (2, 3), step: u64::MAX, best: None, unit: () }
}

#[test]
fn a_tree_is_the_document_of_its_value() {
    let model = model();
    for options in [
        Flattener::new(),
        Flattener::new().map_order(MapOrder::Insertion),
        Flattener::new().none_is_leaf(true),
        Flattener::new().leaves_where(LeafKind::is_float),
    ] {
        let (leaves, treedef) = options.flatten(&model).unwrap();
        let tree = Tree::new(treedef, leaves).unwrap();
        // As text, so that the order of the entries counts.
        assert_eq!(serde_json::to_string(&tree).unwrap(), serde_json::to_string(&model).unwrap());
    }
    assert_eq!(to_value(Value::of(&model).unwrap()).unwrap(), to_value(&model).unwrap());
}

#[test]
fn leaves_of_other_types_stand_in_the_document() {
    let paths = Tree::of(&model())
        .unwrap()
        .map_with_path(|path, leaf: Leaf| (leaf.kind() == LeafKind::F64).then(|| path.to_string()));
    let document = to_value(&paths).unwrap();
    assert_eq!(document["layers"][3]["Norm"]["mean"], json!(".layers[3]::Norm.mean"));
    assert_eq!((&document["step"], &document["name"]), (&json!(null), &json!("mlp")));
}

#[test]
fn what_is_too_much_is_no_document() {
    let bomb: TreeDef = "[(); 1152921504606846976]".parse().unwrap();
    let bomb = Tree::<u8>::new(bomb, Vec::new()).unwrap();
    assert_snapshot!(to_value(&bomb).unwrap_err(), @"1152921504606846977 nodes to visit, the limit is 16777216 (see `Limits::max_work`)");
    let deep: TreeDef = format!("{}{}", "[".repeat(100), "]".repeat(100)).parse().unwrap();
    let shallow = Limits { max_depth: 50, ..deep.limits() };
    let deep = Tree::<u8>::new(deep.with_limits(shallow), Vec::new()).unwrap();
    assert_snapshot!(to_value(&deep).unwrap_err(), @"nested deeper than 50 levels at the root (see `Limits::max_depth`)");
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn numbers_survive_the_vector(
        floats: Vec<(u32, u64)>,
        small: Vec<(i8, u16, i32, u32, bool)>,
        wide: Vec<(i64, u64)>,
    ) {
        let floats: Vec<_> = floats.iter().map(|(a, b)| (f32::from_bits(*a), f64::from_bits(*b))).collect();
        let exact = |n: i128| n.unsigned_abs() >> n.unsigned_abs().trailing_zeros() < 1 << 53;
        let fits = wide.iter().all(|(a, b)| exact((*a).into()) && exact((*b).into()));
        let quiet = floats.iter().all(|(a, _)| !a.is_nan() || a.to_bits() & 0x0040_0000 != 0);
        let tree = Tree::of(&(floats, small, wide)).unwrap();
        match tree.ravel() {
            Ok((vector, ravel)) => {
                prop_assert!(fits);
                prop_assert_eq!(ravel.unravel(&vector).unwrap(), tree);
            }
            Err(error) => prop_assert!(!fits || !quiet, "{}", error),
        }
    }
}

/// JAX and optree return another integer (2⁵³ and 2²⁴).
#[test]
fn integers_are_not_rounded() {
    for integer in [(1i64 << 53) + 1, (1 << 24) + 1] {
        match Tree::of(&(integer, 0.5f64)).unwrap().ravel() {
            Ok((vector, ravel)) => {
                let back: (i64, f64) = ravel.unravel(&vector).unwrap().into_typed().unwrap();
                assert_eq!((integer, back), ((1 << 24) + 1, (integer, 0.5)));
            }
            Err(error) => {
                assert_snapshot!(error, @"9007199254740993i64 does not fit into f64 at `.0`")
            }
        }
    }
    let (_, ravel) = Tree::of(&(1u8, 2i16, true, 0.5f32)).unwrap().ravel().unwrap();
    let refused = |vector: [f64; 4]| ravel.unravel(&vector).unwrap_err();
    assert_snapshot!(refused([256.0, 0.0, 0.0, 0.0]), @"256.0 does not fit into u8 at `.0`");
    assert_snapshot!(refused([0.0, 0.5, 0.0, 0.0]), @"0.5 does not fit into i16 at `.1`");
    assert_snapshot!(refused([0.0, f64::NAN, 0.0, 0.0]), @"nan(0x7ff8000000000000) does not fit into i16 at `.1`");
    assert_snapshot!(refused([0.0, 0.0, 2.0, 0.0]), @"2.0 does not fit into bool at `.2`");
    assert_snapshot!(refused([0.0, 0.0, 1.0, 1e300]), @"1e300 does not fit into f32 at `.3`");
    assert_snapshot!(ravel.unravel(&[1.0]).unwrap_err(), @"expected 4 leaves, found 1");
    assert_snapshot!(Tree::of(&("a", 1)).unwrap().ravel().unwrap_err(), @r#"expected a number, found `"a"` at `.0` (make it static with `Flattener::leaves_where`)"#);
    let rounded = ravel.unravel(&[-0.0, 1.0, 1.0, 0.1]).unwrap();
    assert_eq!(rounded.into_typed::<(u8, i16, bool, f32)>().unwrap(), (0, 1, true, 0.1));
}

/// A static is its value, not an option of it: formats that distinguish the two read it back.
#[test]
fn a_static_is_its_value_in_a_document() {
    let tree = Tree::of(&Static(7u8)).unwrap();
    assert_eq!(tree.to_string(), "static 7u8");
    assert_eq!(serde_value::to_value(&tree).unwrap(), serde_value::Value::U8(7));
}
