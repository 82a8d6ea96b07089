//! The text of a migration, and its data.

use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use treedef::Tree;

use super::migrated;

/// Forty layers that are renamed alike are two lines, and forty entries as data.
#[test]
fn what_is_renamed_alike_is_one_line() {
    #[derive(Serialize)]
    struct Old {
        l: Vec<Layer>,
        m: Vec<Layer>,
        seed: u32,
    }
    #[derive(Serialize)]
    struct Layer {
        w: Vec<f64>,
        b: f64,
        gone: Option<f64>,
    }
    #[derive(Serialize, Deserialize)]
    struct New {
        #[serde(alias = "l")]
        body: Vec<Linear>,
        m: Vec<Linear>,
    }
    #[derive(Serialize, Deserialize)]
    struct Linear {
        #[serde(alias = "w")]
        weight: Vec<f32>,
        b: f64,
    }
    let layers = |count: usize| -> Vec<Layer> {
        let layer =
            |n: usize| Layer { w: vec![n as f64; n % 3 + 1], b: 0.5 + n as f64, gone: None };
        (0..count).map(layer).collect()
    };
    let old = Old { l: layers(40), m: layers(1), seed: 7 };
    let (_, migration) = Tree::of(&old).unwrap().migrate::<New>().unwrap();
    assert_snapshot!(migration, @"dropped `.l[*].gone` (×40), `.m[0].gone`, `.seed`; renamed `.l` to `.body`, `.l[*].w` to `.body[*].weight` (×40), `.m[0].w` to `.m[0].weight`; changed f64 to f32 at `.body[*].weight` (×40), f64 to f32 at `.m[0].weight`");
    assert_snapshot!(format!("{migration:#}"), @"
    dropped `.l[*].gone` (×40)
    dropped `.m[0].gone`
    dropped `.seed`
    renamed `.l` to `.body`
    renamed `.l[*].w` to `.body[*].weight` (×40)
    renamed `.m[0].w` to `.m[0].weight`
    changed f64 to f32 at `.body[*].weight` (×40)
    changed f64 to f32 at `.m[0].weight`
    ");
    let moved = migration.renamed.iter().filter(|(from, to)| {
        let expected = from.to_string().replacen(".l", ".body", 1).replacen(".w", ".weight", 1);
        from.to_string().starts_with(".l[") && to.to_string() == expected
    });
    assert_eq!(moved.count(), 40);
    // A leaf that went to two places has no new name.
    #[derive(Serialize)]
    struct Pair {
        x: Both,
    }
    #[derive(Serialize)]
    struct Both {
        a: f64,
        b: f64,
    }
    #[derive(Deserialize)]
    struct Read {
        x: Both2,
    }
    #[derive(Deserialize)]
    struct Both2 {
        a: f64,
        b: f64,
    }
    #[derive(Serialize, Deserialize)]
    #[serde(from = "Read")]
    struct Apart {
        y: One,
        z: One,
    }
    #[derive(Serialize, Deserialize)]
    struct One {
        c: f64,
    }
    impl From<Read> for Apart {
        fn from(read: Read) -> Self {
            Apart { y: One { c: read.x.a }, z: One { c: read.x.b } }
        }
    }
    assert_snapshot!(migrated::<Apart>(&Pair { x: Both { a: 1.0, b: 2.0 } }), @"renamed `.x.a` to `.y.c`, `.x.b` to `.z.c`");
}
