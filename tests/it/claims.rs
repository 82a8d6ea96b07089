//! The README's claims about other crates.

use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Old {
    z: f64,
    a: u32,
}

/// The fields of `Old` in another order, and one more type.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct New {
    a: u32,
    z: f64,
}

#[test]
fn serde_json_sorts_fields_and_drops_nan() {
    let value = serde_json::to_value(Old { z: f64::NAN, a: 1 }).unwrap();
    assert_eq!(value.to_string(), r#"{"a":1,"z":null}"#);
    assert!(serde_json::from_value::<Old>(value).is_err());
    let mut weights = serde_json::to_value([0.5, 1.5].to_vec()).unwrap();
    weights.as_array_mut().unwrap().push(2.5.into());
    assert_eq!(serde_json::from_value::<Vec<f64>>(weights).unwrap(), [0.5, 1.5, 2.5]);
    // All of it is kept, or noticed.
    let (leaves, treedef) = treedef::flatten(&Old { z: f64::NAN, a: 1 }).unwrap();
    assert_eq!(treedef.to_string(), "Old { z: *, a: * }");
    assert!(treedef::unflatten::<Old>(&treedef, &leaves).unwrap().z.is_nan());
    assert!(treedef::unflatten::<Old>(&treedef, [&leaves[..], &leaves[..1]].concat()).is_err());
}

#[test]
fn bincode_reads_the_wrong_fields() {
    let config = bincode::config::standard().with_fixed_int_encoding();
    let old = Old { z: 0.5, a: 7 };
    let bytes = bincode::serde::encode_to_vec(&old, config).unwrap();
    let (new, _): (New, usize) = bincode::serde::decode_from_slice(&bytes, config).unwrap();
    assert_ne!((new.z, new.a), (old.z, old.a));
    let (leaves, treedef) = treedef::flatten(&old).unwrap();
    assert_eq!(treedef::unflatten::<New>(&treedef, &leaves).unwrap(), New { a: 7, z: 0.5 });
}
