//! Snapshot tests of the shape of data: what a change of a type, or of a document, does to its structure.
//!
//! `cargo run --example snapshots --features insta`, where the same lines stand in tests: a snapshot that differs is an
//! error, shows the changes path by path, and is reviewed with `cargo insta review`.

use serde::Serialize;
use treedef::{assert_signature_snapshot, assert_structure_snapshot};

#[derive(Serialize)]
struct Model {
    #[serde(serialize_with = "treedef::as_static")]
    name: &'static str,
    layers: Vec<Linear>,
}

#[derive(Clone, Serialize)]
struct Linear {
    w: [f32; 9],
    b: f32,
}

fn main() -> treedef::Result<()> {
    let model = Model { name: "mlp", layers: vec![Linear { w: [0.5; 9], b: 0.0 }; 3] };

    assert_structure_snapshot!(model, @r#"Model { name: static "mlp", layers: [Linear { w: (*; 9), b: * }; 3] }"#);
    assert_signature_snapshot!(model, @r#"Model { name: static "mlp", layers: [Linear { w: (f32; 9), b: f32 }; 3] }"#);

    // Of a document with any number of entries: its snapshot stays when there are more.
    let log = |lines: usize| vec![("at", [0u8; 3], vec!["words"; lines]); lines];
    assert_signature_snapshot!(without_lengths: log(2), @"[(str, (u8, u8, u8), [str; _]); _]");
    assert_signature_snapshot!(without_lengths: log(9), @"[(str, (u8, u8, u8), [str; _]); _]");

    println!(
        "the shape of the model is what the snapshots say:\n{:#}",
        treedef::signature(&model)?
    );
    Ok(())
}
