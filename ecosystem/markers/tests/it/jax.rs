//! JAX's documented examples of registering a type, and what does the same job here.

use std::collections::HashMap;

use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use treedef::{
    Flattener, Leaf, Static, TreeDef, flatten_as, structure, unflatten, unflatten_strict,
};

/// A custom container with the children `x` and `y`: a derive is the registration.
#[test]
fn register_pytree_node() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Special {
        x: f64,
        y: f64,
    }

    let specials = vec![Special { x: 0.0, y: 1.0 }, Special { x: 2.0, y: 4.0 }];
    let (leaves, treedef) = flatten_as::<f64>(&specials).unwrap();
    assert_eq!(leaves, [0.0, 1.0, 2.0, 4.0]);
    assert_snapshot!(treedef, @"[Special { x: *, y: * }; 2]");
    assert_eq!(unflatten_strict::<Vec<Special>>(&treedef, &leaves).unwrap(), specials);

    let plus_one: Vec<f64> = leaves.iter().map(|leaf| leaf + 1.0).collect();
    let rebuilt: Vec<Special> = unflatten(&treedef, plus_one).unwrap();
    assert_eq!(rebuilt, [Special { x: 1.0, y: 2.0 }, Special { x: 3.0, y: 5.0 }]);
}

/// `data_fields=["x", "y"], meta_fields=["op"]`: a mark on the field is the registration.
#[test]
fn register_dataclass() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct MyStruct {
        x: [f64; 3],
        y: [f64; 3],
        #[serde(serialize_with = "treedef::as_static")]
        op: String,
    }

    let of = |op: &str, x: f64| MyStruct { x: [x; 3], y: [0.0, 1.0, 2.0], op: op.to_owned() };
    let add = of("add", 1.0);
    let (leaves, treedef) = flatten_as::<f64>(&add).unwrap();
    assert_eq!(leaves, [1.0, 1.0, 1.0, 0.0, 1.0, 2.0]);
    assert_snapshot!(treedef, @r#"MyStruct { x: (*, *, *), y: (*, *, *), op: static "add" }"#);
    assert_eq!(unflatten_strict::<MyStruct>(&treedef, &leaves).unwrap(), add);

    // Other data is the same structure, other meta another one.
    assert_eq!(structure(&of("add", 7.0)).unwrap(), treedef);
    assert_ne!(structure(&of("mul", 1.0)).unwrap(), treedef);
    let error = treedef.flatten_like(&of("mul", 1.0), &mut Vec::<f64>::new()).unwrap_err();
    assert_snapshot!(error, @r#"expected `static "add"`, found `static "mul"` at `.op` (statics are part of the structure; see `ignore_statics`)"#);

    // As the key of a cache of compiled functions: once for each `op`.
    let mut compiled: HashMap<TreeDef, u8> = HashMap::new();
    for value in [of("add", 1.0), of("add", 2.0), of("mul", 1.0), of("add", 3.0)] {
        *compiled.entry(structure(&value).unwrap()).or_default() += 1;
    }
    assert_eq!(compiled.len(), 2);
    assert_eq!(compiled[&treedef], 3);
}

/// A type without children, whose values compare as wholes: where it stands, or wherever it stands.
#[test]
fn register_static() {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Config {
        activation: String,
        widths: Vec<u32>,
        dropout: Option<f32>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Model<C> {
        config: C,
        w: Vec<f64>,
    }

    let config = Config { activation: "relu".to_owned(), widths: vec![8, 4], dropout: None };
    assert_eq!(treedef::flatten(&Static(&config)).unwrap().0, []);

    let model = Model { config: Static(config.clone()), w: vec![1.0, 2.0] };
    let (leaves, treedef) = flatten_as::<f64>(&model).unwrap();
    assert_eq!(leaves, [1.0, 2.0]);
    assert_snapshot!(treedef, @r#"Model { config: static Config { activation: "relu", widths: [8u32, 4u32], dropout: None }, w: [*, *] }"#);
    assert_eq!(unflatten_strict::<Model<Static<Config>>>(&treedef, &leaves).unwrap(), model);

    // By the type's name, without a change to any type.
    let by_name = Flattener::new().mark_static("Config").unwrap();
    let (_, same) = by_name.flatten(&Model { config: config.clone(), w: vec![3.0, 4.0] }).unwrap();
    assert_eq!(same, treedef);

    // By the type itself: its only field is marked.
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(transparent)]
    struct Always {
        #[serde(serialize_with = "treedef::as_static")]
        config: Config,
    }
    let always = Model { config: Always { config: config.clone() }, w: vec![5.0, 6.0] };
    assert_eq!(structure(&always).unwrap(), treedef);
    assert_eq!(unflatten::<Model<Always>>(&treedef, [5.0, 6.0]).unwrap(), always);

    let wider = Config { widths: vec![8, 8], ..config };
    let other = Model { config: Static(wider), w: vec![1.0, 2.0] };
    assert_ne!(structure(&other).unwrap(), treedef);
    let error = treedef.flatten_like(&other, &mut Vec::<Leaf>::new()).unwrap_err();
    assert_eq!(error.path().to_string(), ".config");
    assert_snapshot!(error, @r#"expected `static Config { activation: "relu", widths: [8u32, 4u32], dr…`, found `static Config { activation: "relu", widths: [8u32, 8u32], dr…` at `.config` (statics are part of the structure; see `ignore_statics`)"#);
}
